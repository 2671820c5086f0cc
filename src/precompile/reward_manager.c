/* Who gets the fees: an address, anyone who builds a block, or nobody. [spec:precompiles-core#8] */
#include "precompile/module_priv.h"
#include "precompile/policy.h"

enum {
    GAS_READ_POLICY = CD__MOD_GAS_READ,
    GAS_CHANGE = CD__MOD_GAS_WRITE + CD__MOD_GAS_READ,
    GAS_EVENT = CD__MOD_GAS_LOG + 2 * CD__MOD_GAS_TOPIC,
    GAS_EVENT_ADDRESS = CD__MOD_GAS_LOG + 4 * CD__MOD_GAS_TOPIC + CD__MOD_GAS_READ,
};

/* FeeRecipientsAllowed(address indexed sender) */
static const cd_hash32 ALLOWED = {.b = {0xab, 0xb1, 0x94, 0x9b, 0xd1, 0x29, 0xfe, 0xf9, 0xb8, 0x46, 0x01,
                                        0xa4, 0x8a, 0xee, 0x89, 0xd6, 0x00, 0xd9, 0x00, 0x74, 0xca, 0x10,
                                        0x21, 0x6a, 0x02, 0xce, 0x43, 0x99, 0x6b, 0xe5, 0x59, 0x91}};
/* RewardAddressChanged(address indexed sender, address indexed oldRewardAddress,
 *                      address indexed newRewardAddress) */
static const cd_hash32 CHANGED = {.b = {0xc2, 0xa9, 0xe0, 0x7c, 0xba, 0x6f, 0x49, 0x20, 0xac, 0xaa, 0x59,
                                        0x33, 0xbd, 0x04, 0x06, 0x94, 0x9d, 0x5d, 0xbe, 0xf7, 0xee, 0x69,
                                        0x8e, 0x78, 0x6e, 0xa2, 0x3e, 0x87, 0x08, 0xf3, 0x2a, 0x6c}};
/* RewardsDisabled(address indexed sender) */
static const cd_hash32 DISABLED = {.b = {0xeb, 0x12, 0x1f, 0x03, 0x35, 0xef, 0xe8, 0xf4, 0xb8, 0xeb, 0xef,
                                         0x77, 0x93, 0xc1, 0x8c, 0x17, 0x18, 0x34, 0x69, 0x69, 0x89, 0x65,
                                         0x6a, 0x8c, 0x34, 0x5a, 0xcc, 0x55, 0x83, 0x59, 0xfa, 0xbf}};

cd_u256 cd__reward_key(void)
{
    return cd__mod_key_at_front("rask");
}

/* The stored value that stands for "any coinbase". */
static cd_u256 any_coinbase(void)
{
    return cd__mod_key_at_front("afrav");
}

bool cd__reward_is_free(const cd_u256 *stored)
{
    cd_u256 any = any_coinbase();
    return cd_u256_eq(stored, &any);
}

static cd_u256 stored(cd_precompile_call *call, const cd__mod_env *env)
{
    cd_u256 key = cd__reward_key();
    return cd__mod_load(call, env, &key);
}

cd_precompile_outcome cd__reward_current(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    (void)args;
    if (!cd__mod_charge(call, GAS_READ_POLICY)) {
        return CD_PRE_OUT_OF_GAS;
    }
    cd_u256 value = stored(call, env);
    cd_addr20 addr = cd_u256_to_addr(&value);
    value = cd_u256_from_addr(&addr);
    return cd__mod_return_words(call, &value, 1);
}

cd_precompile_outcome cd__reward_are_allowed(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    (void)args;
    if (!cd__mod_charge(call, GAS_READ_POLICY)) {
        return CD_PRE_OUT_OF_GAS;
    }
    cd_u256 value = stored(call, env);
    value = cd_u256_from_u64(cd__reward_is_free(&value) ? 1 : 0);
    return cd__mod_return_words(call, &value, 1);
}

static cd_precompile_outcome deny(cd_precompile_call *call, const char *function)
{
    char caller[CD_ADDR_TEXT_SIZE];
    return cd__mod_deny(call, "non-enabled cannot call %s: %s", function, cd_addr_fmt(caller, &call->caller));
}

static void store(cd_precompile_call *call, const cd__mod_env *env, const cd_u256 *value)
{
    cd_u256 key = cd__reward_key();
    cd__mod_store(call, env, &key, value);
}

/* switch_policy is what allowFeeRecipients and disableRewards have in common. */
static cd_precompile_outcome switch_policy(cd_precompile_call *call, const cd__mod_env *env, const char *function,
                                           const cd_hash32 *event, const cd_u256 *value)
{
    if (!cd__mod_charge(call, GAS_CHANGE)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (call->is_static) {
        return cd__mod_write_protection(call);
    }
    if (!cd__mod_has_access(call, env)) {
        return deny(call, function);
    }
    if (env->is_durango) {
        if (!cd__mod_charge(call, GAS_EVENT)) {
            return CD_PRE_OUT_OF_GAS;
        }
        cd__mod_emit(
            call, env,
            &(cd__mod_event){.topic = *event, .indexed = {cd_u256_from_addr(&call->caller)}, .indexed_cnt = 1});
    }
    store(call, env, value);
    return CD_PRE_OK;
}

cd_precompile_outcome cd__reward_allow(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    (void)args;
    cd_u256 any = any_coinbase();
    return switch_policy(call, env, "allowFeeRecipients", &ALLOWED, &any);
}

cd_precompile_outcome cd__reward_disable(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    (void)args;
    cd_u256 nobody = cd_u256_from_addr(&CD_BLACKHOLE);
    return switch_policy(call, env, "disableRewards", &DISABLED, &nobody);
}

cd_precompile_outcome cd__reward_set(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    if (!cd__mod_charge(call, GAS_CHANGE)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (call->is_static) {
        return cd__mod_write_protection(call);
    }
    if (!env->is_durango && args.n != 32) {
        return cd__mod_refuse(call, "invalid input length for setting reward address: %zu", args.n);
    }
    call->reason = cd__mod_args_complaint(call, args, 1, "");
    if (call->reason != NULL) {
        return CD_PRE_FAIL;
    }
    if (!cd__mod_has_access(call, env)) {
        return deny(call, "setRewardAddress");
    }
    cd_addr20 to = cd__mod_arg_addr(args, 0);
    if (cd_addr20_is_zero(&to)) {
        return cd__mod_refuse(call, "reward address cannot be empty");
    }
    cd_u256 now = cd_u256_from_addr(&to);
    if (env->is_durango) {
        if (!cd__mod_charge(call, GAS_EVENT_ADDRESS)) {
            return CD_PRE_OUT_OF_GAS;
        }
        cd_u256 before = stored(call, env);
        cd_addr20 old = cd_u256_to_addr(&before);
        cd__mod_emit(call, env,
                     &(cd__mod_event){
                         .topic = CHANGED,
                         .indexed = {cd_u256_from_addr(&call->caller), cd_u256_from_addr(&old), now},
                         .indexed_cnt = 3,
                     });
    }
    store(call, env, &now);
    return CD_PRE_OK;
}

void cd__reward_activate(const cd__mod_activation *x)
{
    const cd_module_config *c = x->config;
    bool own = c->own.reward.has_initial;
    bool any = own ? c->own.reward.allow_fee_recipients : x->allow_fee_recipients;
    bool has_addr = own && !cd_addr20_is_zero(&c->own.reward.address);
    cd_u256 key = cd__reward_key();
    cd_u256 value = cd_u256_from_addr(has_addr ? &c->own.reward.address : &CD_BLACKHOLE);
    if (any) {
        value = any_coinbase();
    }
    cd_state_set_slot(x->st, cd_state_slot(x->st, x->acct, &key), &value);
}
