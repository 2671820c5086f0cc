#include "chains/platform/txs/exec.h"

#include "chains/platform/txs/exec_priv.h"
#include "chains/platform/txs/shape.h"
#include "types/warp_set.h"

const cd_hash32 cd__p_primary;

cd_err cd_p_price(u64 *out, const cd_pstate *s, const cd_p_rules *rules)
{
    u64 excess;
    CD_TRY(cd_pstate_num_get(s, &excess, CD_PSTATE_FEE_EXCESS));
    *out = cd_gas_price(rules->gas.min_price, excess, rules->gas.k);
    return CD_OK;
}

static cd_err standard(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    u32 type = f->tx->tx.body.is->id;
    const cd_p_base *base = cd_ptx_base(&f->tx->tx);
    if (type == CD_P_ADD_VALIDATOR && !x->rules->legacy_stakers) {
        return cd_fail(why, CD_EINVAL, "AddValidatorTx is not permitted post-Durango");
    }
    if (type == CD_P_ADD_DELEGATOR && !x->rules->legacy_stakers) {
        return cd_fail(why, CD_EINVAL, "AddDelegatorTx is not permitted post-Durango");
    }
    CD_TRY(cd_ptx_shape(&f->tx->tx, x->rules, why));
    if (base->memo.n != 0) {
        return cd_fail(why, CD_EINVAL, "memo exceeds maximum length: %zu > 0", base->memo.n);
    }
    switch ((cd_p_tx_type)type) {
    case CD_P_BASE_TX:
        CD_TRY(cd__flow_check(x, f, why));
        return cd__flow_write(x, f, NULL);
    case CD_P_ADD_VALIDATOR:
    case CD_P_ADD_NET_VALIDATOR:
    case CD_P_ADD_DELEGATOR:
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR:
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR:
        return cd__exec_staker(x, f, why);
    case CD_P_REMOVE_NET_VALIDATOR:
        return cd__exec_removal(x, f, why);
    case CD_P_CREATE_CHAIN:
    case CD_P_CREATE_NET:
    case CD_P_TRANSFER_NET_OWNERSHIP:
        return cd__exec_net(x, f, why);
    case CD_P_IMPORT:
    case CD_P_EXPORT:
        return cd__exec_move(x, f, why);
    case CD_P_CONVERT_NET_TO_L1:
    case CD_P_REGISTER_L1_VALIDATOR:
    case CD_P_SET_L1_VALIDATOR_WEIGHT:
    case CD_P_INCREASE_L1_BALANCE:
    case CD_P_DISABLE_L1_VALIDATOR:
        return cd__exec_l1(x, f, why);
    case CD_P_ADVANCE_TIME:
    case CD_P_REWARD_VALIDATOR:
    case CD_P_TRANSFORM_NET:
        break;
    }
    CD_UNREACHABLE(); /* refused by cd_ptx_shape */
}

cd_err cd_p_exec_standard(cd_p_exec *x, const cd_ptx *tx, cd_errinfo *why)
{
    cd_arena a = {0};
    cd__flow f = {.a = &a, .tx = tx, .cred_cnt = tx->tx.creds.cnt};
    cd_err e = cd_pstate_num_get(x->state, &f.now, CD_PSTATE_TIME);
    e = e != CD_OK ? e : standard(x, &f, why);
    if (e != CD_OK) {
        (void)cd_fail_under(why, e, "standard tx %s failed execution", cd_text_id(&tx->id).s);
    }
    cd_arena_fini(&a);
    return e;
}

/* --- Warp --- */

static cd_err set_of(cd_warp_set *out, cd_arena *a, const cd_vm_validators *validators, const cd_hash32 *chain,
                     u64 height, cd_errinfo *why)
{
    cd_hash32 net;
    const cd_vm_validator *v;
    usize cnt;
    cd_err e = validators == NULL ? CD_ENOENT : validators->subnet_of(validators, &net, chain);
    e = e != CD_OK ? e : validators->at(validators, &v, &cnt, a, &net, height);
    if (e != CD_OK) {
        return cd_fail(why, e, "cannot retrieve validator set: %s", cd_err_str(e));
    }
    cd_warp_validator *all = cd_arena_array(a, cd_warp_validator, cnt);
    for (usize i = 0; i < cnt; i++) {
        all[i].weight = v[i].weight;
        all[i].has_key = v[i].has_key && cd_bls_pk_dec(&all[i].key, cd_bytes_of(v[i].key, sizeof v[i].key)) == CD_OK;
    }
    return cd_warp_set_make(out, a, all, cnt);
}

cd_err cd_p_warp_check(const cd_p_tx *tx, const cd_vm_validators *validators, u32 network_id, u64 height,
                       cd_errinfo *why)
{
    enum { QUORUM = 67, WHOLE = 100 };
    cd_arena a = {0};
    cd_bytes message;
    cd_warp_message m;
    cd_warp_set set = {.cnt = 0};
    if (!cd_ptx_is_warp(&message, tx)) {
        return CD_OK;
    }
    cd_err e = cd_warp_message_dec(&m, message);
    if (e != CD_OK) {
        return cd_fail_codec(why, e);
    }
    e = set_of(&set, &a, validators, &m.body.source_chain, height, why);
    e = e != CD_OK ? e : cd_warp_check(&m, network_id, &set, QUORUM, WHOLE, why);
    cd_arena_fini(&a);
    return e;
}
