#include "precompile/module.h"

#include "precompile/module_priv.h"

/* A function belongs to one module, or to every module with roles. */
enum { EVERY_ALLOW_LIST = CD_MODULE_COUNT };
enum {
#define MODULE(id, symbol, key, address, legacy) OF_##symbol = (id),
#include "precompile/modules.def"
};

static const cd_module_info infos[CD_MODULE_COUNT] = {
#define MODULE(row_id, symbol, config_key, address, upstream)                                                          \
    [row_id] = {                                                                                                       \
        .id = (row_id),                                                                                                \
        .key = (config_key),                                                                                           \
        .addr = address,                                                                                               \
        .legacy = upstream,                                                                                            \
        .has_roles = (row_id) != CD_MODULE_WARP,                                                                       \
        .is_predicate = (row_id) == CD_MODULE_WARP,                                                                    \
    },
#include "precompile/modules.def"
};

static const struct {
    u32 module; /* cd_module_id or EVERY_ALLOW_LIST */
    u32 selector;
    cd__mod_fn run;
} fns[] = {
#define FN(symbol, selector_bytes, signature, handler)                                                                 \
    {.module = OF_##symbol, .selector = (selector_bytes), .run = (handler)},
#define ALLOW_LIST_FN(selector_bytes, signature, handler)                                                              \
    {.module = EVERY_ALLOW_LIST, .selector = (selector_bytes), .run = (handler)},
#include "precompile/modules.def"
};

const cd_module_info *cd_module_get(cd_module_id id)
{
    CD_ASSERT(id < CD_MODULE_COUNT);
    return &infos[id];
}

const cd_module_info *cd_module_by_key(cd_bytes key)
{
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        if (cd_bytes_eq(key, cd_bytes_str(infos[i].key))) {
            return &infos[i];
        }
    }
    return NULL;
}

/* --- calls --- */

cd_precompile_outcome cd__mod_run(cd_precompile_call *call, const void *cfg)
{
    enum { SELECTOR = 4 };
    const cd__mod_env *env = cfg;
    cd_module_id id = env->config->module;
    if (call->is_delegated) {
        return CD_PRE_REVERT; /* a module acts in its own name only [spec:decisions#D6] */
    }
    if (call->input.n < SELECTOR) {
        return cd__mod_refuse(call, "missing function selector to precompile - input length (%zu)", call->input.n);
    }
    u32 selector = cd_be32(call->input.p);
    for (usize i = 0; i < CD_COUNT(fns); i++) {
        bool is_ours = fns[i].module == id || (fns[i].module == EVERY_ALLOW_LIST && infos[id].has_roles);
        if (is_ours && fns[i].selector == selector) {
            return fns[i].run(call, env, cd_bytes_sub(call->input, SELECTOR, call->input.n - SELECTOR));
        }
    }
    return cd__mod_refuse(call, "invalid function selector: 0x%08x", selector);
}

const char *cd__mod_args_complaint(cd_precompile_call *call, cd_bytes args, usize cnt, const char *prefix)
{
    enum { WORD = 32 };
    if (args.n >= cnt * WORD) {
        return NULL;
    }
    if (args.n == 0) {
        return cd_arena_fmt(call->arena,
                            "%sabi: attempting to unmarshal an empty string while arguments are "
                            "expected",
                            prefix);
    }
    return cd_arena_fmt(call->arena, "%sabi: cannot marshal in to go type: length insufficient %zu require %zu", prefix,
                        args.n, (args.n / WORD + 1) * WORD);
}

cd_precompile_outcome cd__mod_return_words(cd_precompile_call *call, const cd_u256 *words, usize cnt)
{
    u8 *p = cd_arena_alloc(call->arena, 32 * cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_u256_store_be(p + 32 * i, &words[i]);
    }
    call->output = cd_bytes_of(p, 32 * cnt);
    return CD_PRE_OK;
}

cd_u256 cd__mod_load(cd_precompile_call *call, const cd__mod_env *env, const cd_u256 *key)
{
    return cd_state_slot(call->state, cd_state_acct(call->state, &env->addr), key)->value;
}

void cd__mod_store(cd_precompile_call *call, const cd__mod_env *env, const cd_u256 *key, const cd_u256 *value)
{
    cd_state *st = call->state;
    cd_state_set_slot(st, cd_state_slot(st, cd_state_acct(st, &env->addr), key), value);
}

cd_u256 cd__mod_key_at_front(const char *text)
{
    u8 bytes[32] = {0};
    cd_u256 key;
    for (usize i = 0; text[i] != '\0'; i++) {
        bytes[i] = (u8)text[i];
    }
    cd_u256_load_be(&key, bytes);
    return key;
}

void cd__mod_emit(cd_precompile_call *call, const cd__mod_env *env, const cd__mod_event *e)
{
    cd_log log = {.addr = env->addr, .topic_cnt = 1 + e->indexed_cnt, .data = e->data};
    log.topics[0] = e->topic;
    for (u32 i = 0; i < e->indexed_cnt; i++) {
        log.topics[1 + i] = cd_u256_to_hash(&e->indexed[i]);
    }
    cd_state_log(call->state, &log);
}

/* --- activation --- */

void cd__mod_activate(const cd__mod_activation *x)
{
    switch (x->config->module) {
    case CD_MODULE_DEPLOYER:
    case CD_MODULE_TX_ALLOW:
        break;
    case CD_MODULE_MINTER:
        cd__minter_activate(x);
        break;
    case CD_MODULE_FEE:
        cd__fee_activate(x);
        break;
    case CD_MODULE_REWARD:
        cd__reward_activate(x);
        break;
    case CD_MODULE_WARP:
        return; /* it has an account without storage */
    case CD_MODULE_COUNT:
        CD_UNREACHABLE();
    }
    cd__allow_activate(x);
}
