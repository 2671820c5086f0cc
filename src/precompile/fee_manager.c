/* The chain's fee configuration in storage, and who may change it. [spec:precompiles-core#7] */
#include "precompile/module_priv.h"

enum {
    GAS_GET = CD__MOD_GAS_READ * CD__FEE_FIELDS,
    GAS_GET_CHANGED = CD__MOD_GAS_READ,
    GAS_SET = CD__MOD_GAS_WRITE * (CD__FEE_FIELDS + 1),
    EVENT_DATA = 2 * 32 * CD__FEE_FIELDS,
    GAS_EVENT = GAS_GET + CD__MOD_GAS_LOG + 2 * CD__MOD_GAS_TOPIC + EVENT_DATA * CD__MOD_GAS_LOG_BYTE,
};

/* FeeConfigChanged(address indexed sender, (8 x uint256) oldFeeConfig, (8 x uint256) newFeeConfig) */
static const cd_hash32 CHANGED = {.b = {0x4c, 0x98, 0xe4, 0x3a, 0xdb, 0x59, 0x62, 0xc1, 0x8f, 0x3f, 0x0e,
                                        0x6d, 0xd0, 0x66, 0xe2, 0xa2, 0xde, 0x25, 0x8d, 0x3b, 0x4f, 0x69,
                                        0x5b, 0x31, 0x7b, 0x77, 0xc8, 0xf2, 0x7c, 0xd0, 0x44, 0xfc}};

void cd__fee_to_words(cd_u256 out[CD__FEE_FIELDS], const cd_fee_config *f)
{
    const cd_u256 words[CD__FEE_FIELDS] = {
        f->gas_limit,
        cd_u256_from_u64(f->target_block_rate),
        f->min_base_fee,
        f->target_gas,
        f->base_fee_change_denominator,
        f->min_block_gas_cost,
        f->max_block_gas_cost,
        f->block_gas_cost_step,
    };
    memcpy(out, words, sizeof words);
}

cd_fee_config cd__fee_of_words(const cd_u256 w[CD__FEE_FIELDS])
{
    return (cd_fee_config){
        .gas_limit = w[0],
        .target_block_rate = w[1].w[0], /* the low 64 bits, as upstream reads it */
        .min_base_fee = w[2],
        .target_gas = w[3],
        .base_fee_change_denominator = w[4],
        .min_block_gas_cost = w[5],
        .max_block_gas_cost = w[6],
        .block_gas_cost_step = w[7],
    };
}

cd_u256 cd__fee_key(usize field)
{
    return (cd_u256){.w = {[3] = (u64)(field + 1) << 56}}; /* the first byte counts from 1 */
}

cd_u256 cd__fee_key_changed(void)
{
    return cd__mod_key_at_front("lca");
}

static void load(cd_precompile_call *call, const cd__mod_env *env, cd_u256 w[CD__FEE_FIELDS])
{
    for (usize i = 0; i < CD__FEE_FIELDS; i++) {
        cd_u256 key = cd__fee_key(i);
        w[i] = cd__mod_load(call, env, &key);
    }
    w[1] = cd_u256_from_u64(w[1].w[0]);
}

static void store(cd_state *st, cd_acct *a, const cd_fee_config *f, u64 number)
{
    cd_u256 words[CD__FEE_FIELDS];
    cd__fee_to_words(words, f);
    for (usize i = 0; i < CD__FEE_FIELDS; i++) {
        cd_u256 key = cd__fee_key(i);
        cd_state_set_slot(st, cd_state_slot(st, a, &key), &words[i]);
    }
    cd_u256 key = cd__fee_key_changed();
    cd_u256 changed = cd_u256_from_u64(number);
    cd_state_set_slot(st, cd_state_slot(st, a, &key), &changed);
}

cd_precompile_outcome cd__fee_get(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    (void)args;
    if (!cd__mod_charge(call, GAS_GET)) {
        return CD_PRE_OUT_OF_GAS;
    }
    cd_u256 words[CD__FEE_FIELDS];
    load(call, env, words);
    return cd__mod_return_words(call, words, CD__FEE_FIELDS);
}

cd_precompile_outcome cd__fee_last_changed(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    (void)args;
    if (!cd__mod_charge(call, GAS_GET_CHANGED)) {
        return CD_PRE_OUT_OF_GAS;
    }
    cd_u256 key = cd__fee_key_changed();
    cd_u256 number = cd__mod_load(call, env, &key);
    return cd__mod_return_words(call, &number, 1);
}

static void log_change(cd_precompile_call *call, const cd__mod_env *env, const cd_fee_config *now)
{
    cd_u256 words[2 * CD__FEE_FIELDS];
    u8 data[EVENT_DATA];
    load(call, env, words);
    cd__fee_to_words(words + CD__FEE_FIELDS, now);
    for (usize i = 0; i < CD_COUNT(words); i++) {
        cd_u256_store_be(data + 32 * i, &words[i]);
    }
    cd__mod_emit(call, env,
                 &(cd__mod_event){
                     .topic = CHANGED,
                     .indexed = {cd_u256_from_addr(&call->caller)},
                     .indexed_cnt = 1,
                     .data = cd_bytes_of(data, sizeof data),
                 });
}

cd_precompile_outcome cd__fee_set(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    if (!cd__mod_charge(call, GAS_SET)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (call->is_static) {
        return cd__mod_write_protection(call);
    }
    if (!env->is_durango && args.n != (usize)32 * CD__FEE_FIELDS) {
        return cd__mod_refuse(call, "invalid input length for fee config Input: %zu", args.n);
    }
    call->reason = cd__mod_args_complaint(call, args, CD__FEE_FIELDS, "failed to unpack input: ");
    if (call->reason != NULL) {
        return CD_PRE_FAIL;
    }
    if (!cd__mod_has_access(call, env)) {
        char caller[CD_ADDR_TEXT_SIZE];
        return cd__mod_deny(call, "non-enabled cannot change fee config: %s", cd_addr_fmt(caller, &call->caller));
    }
    cd_u256 words[CD__FEE_FIELDS];
    for (usize i = 0; i < CD__FEE_FIELDS; i++) {
        words[i] = cd__mod_arg(args, i);
    }
    cd_fee_config now = cd__fee_of_words(words);
    if (env->is_durango) {
        if (!cd__mod_charge(call, GAS_EVENT)) {
            return CD_PRE_OUT_OF_GAS;
        }
        log_change(call, env, &now);
    }
    cd_errinfo why = {0};
    if (cd_fee_config_check(&now, &why) != CD_OK) {
        return cd__mod_refuse(call, "cannot verify fee config: %s", why.msg);
    }
    store(call->state, cd_state_acct(call->state, &env->addr), &now, call->block->number);
    return CD_PRE_OK;
}

void cd__fee_activate(const cd__mod_activation *x)
{
    bool own = x->config->own.fee.has_initial;
    store(x->st, x->acct, own ? &x->config->own.fee.initial : x->fee, x->number);
}
