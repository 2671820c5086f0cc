/* Roles: who may change them, and their storage, one slot for each address. [spec:precompiles-core#3] */
#include "precompile/module_priv.h"

enum {
    GAS_READ_ROLE = CD__MOD_GAS_READ,
    GAS_SET_ROLE = CD__MOD_GAS_WRITE,
    GAS_EVENT = CD__MOD_GAS_LOG + 4 * CD__MOD_GAS_TOPIC + 32 * CD__MOD_GAS_LOG_BYTE,
};

/* RoleSet(uint256 indexed role, address indexed account, address indexed sender, uint256 oldRole) */
static const cd_hash32 ROLE_SET = {.b = {0xcd, 0xb7, 0xea, 0x01, 0xf0, 0x0a, 0x41, 0x4d, 0x78, 0x75, 0x7b,
                                         0xdb, 0x0f, 0x63, 0x91, 0x66, 0x4b, 0xa3, 0xfe, 0xdf, 0x98, 0x7e,
                                         0xed, 0x28, 0x09, 0x27, 0xc1, 0xe7, 0xd6, 0x95, 0xbe, 0x3e}};

static const char *role_name(cd_role role)
{
    switch (role) {
    case CD_ROLE_NONE:
        return "NoRole";
    case CD_ROLE_ENABLED:
        return "EnabledRole";
    case CD_ROLE_ADMIN:
        return "AdminRole";
    case CD_ROLE_MANAGER:
        return "ManagerRole";
    }
    CD_UNREACHABLE();
}

/* may_change tells whether a caller may change a role: an admin may change any, a manager only between
 * none and enabled. */
static bool may_change(cd_role caller, cd_role from, cd_role to)
{
    bool is_low = (from == CD_ROLE_NONE || from == CD_ROLE_ENABLED) && (to == CD_ROLE_NONE || to == CD_ROLE_ENABLED);
    return caller == CD_ROLE_ADMIN || (caller == CD_ROLE_MANAGER && is_low);
}

cd_role cd__mod_role_of(cd_precompile_call *call, const cd__mod_env *env, const cd_addr20 *who)
{
    cd_u256 key = cd_u256_from_addr(who);
    cd_u256 v = cd__mod_load(call, env, &key);
    return (cd_role)(v.w[0] & 3); /* only roles are ever stored */
}

bool cd__mod_has_access(cd_precompile_call *call, const cd__mod_env *env)
{
    return cd__mod_role_of(call, env, &call->caller) != CD_ROLE_NONE;
}

cd_precompile_outcome cd__allow_read(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    if (!cd__mod_charge(call, GAS_READ_ROLE)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (!env->is_durango && args.n != 32) {
        return cd__mod_refuse(call, "invalid input length for read allow list: %zu", args.n);
    }
    call->reason = cd__mod_args_complaint(call, args, 1, "");
    if (call->reason != NULL) {
        return CD_PRE_FAIL;
    }
    cd_addr20 who = cd__mod_arg_addr(args, 0);
    cd_u256 role = cd_u256_from_u64(cd__mod_role_of(call, env, &who));
    return cd__mod_return_words(call, &role, 1);
}

static void log_role(cd_precompile_call *call, const cd__mod_env *env, const cd_addr20 *who, cd_role from, cd_role to)
{
    u8 data[32] = {[31] = (u8)from};
    cd__mod_emit(call, env,
                 &(cd__mod_event){
                     .topic = ROLE_SET,
                     .indexed = {cd_u256_from_u64(to), cd_u256_from_addr(who), cd_u256_from_addr(&call->caller)},
                     .indexed_cnt = 3,
                     .data = cd_bytes_of(data, sizeof data),
                 });
}

static cd_precompile_outcome set_role(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args, cd_role to)
{
    if (!cd__mod_charge(call, GAS_SET_ROLE)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (!env->is_durango && args.n != 32) {
        return cd__mod_refuse(call, "invalid input length for modifying allow list: %zu", args.n);
    }
    call->reason = cd__mod_args_complaint(call, args, 1, "");
    if (call->reason != NULL) {
        return CD_PRE_FAIL;
    }
    if (call->is_static) {
        return cd__mod_write_protection(call);
    }
    cd_addr20 who = cd__mod_arg_addr(args, 0);
    cd_role from = cd__mod_role_of(call, env, &who);
    if (!may_change(cd__mod_role_of(call, env, &call->caller), from, to)) {
        char caller[CD_ADDR_TEXT_SIZE];
        return cd__mod_deny(call, "cannot modify allow list: modify address: %s, from role: %s, to role: %s",
                            cd_addr_fmt(caller, &call->caller), role_name(from), role_name(to));
    }
    if (env->is_durango) {
        if (!cd__mod_charge(call, GAS_EVENT)) {
            return CD_PRE_OUT_OF_GAS;
        }
        log_role(call, env, &who, from, to);
    }
    cd_u256 key = cd_u256_from_addr(&who);
    cd_u256 value = cd_u256_from_u64(to);
    cd__mod_store(call, env, &key, &value);
    return CD_PRE_OK;
}

cd_precompile_outcome cd__allow_set_admin(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    return set_role(call, env, args, CD_ROLE_ADMIN);
}

cd_precompile_outcome cd__allow_set_enabled(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    return set_role(call, env, args, CD_ROLE_ENABLED);
}

cd_precompile_outcome cd__allow_set_manager(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    if (!env->is_durango) {
        return cd__mod_refuse(call, "invalid non-activated function selector: 0x%08x", cd_be32(call->input.p));
    }
    return set_role(call, env, args, CD_ROLE_MANAGER);
}

cd_precompile_outcome cd__allow_set_none(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    return set_role(call, env, args, CD_ROLE_NONE);
}

static void grant(const cd__mod_activation *x, const cd_addr_list *list, cd_role role)
{
    cd_u256 value = cd_u256_from_u64(role);
    for (usize i = 0; i < list->cnt; i++) {
        cd_u256 key = cd_u256_from_addr(&list->items[i]);
        cd_state_set_slot(x->st, cd_state_slot(x->st, x->acct, &key), &value);
    }
}

void cd__allow_activate(const cd__mod_activation *x)
{
    grant(x, &x->config->enabled, CD_ROLE_ENABLED);
    grant(x, &x->config->admins, CD_ROLE_ADMIN);
    grant(x, &x->config->managers, CD_ROLE_MANAGER);
}
