#include "chains/platform/txs/exec_priv.h"

/* What a proposal does on one of its two branches. */
typedef struct branch {
    const cd_pstate *s;
    cd_kv_batch b;
    u32 next_idx; /* of the next output of the staker's transaction */
} branch;

/* One more output of the staker's transaction, noted as a reward. */
static cd_err pay(branch *br, const cd_p_staker *staker, const cd_hash32 *asset_id, const cd_owners *owner, u64 amount)
{
    cd_buf bytes = {0};
    cd_transfer_output own = {.amount = amount, .owners = *owner};
    const cd_utxo u = {.tx_id = staker->tx_id,
                       .output_idx = br->next_idx,
                       .asset_id = *asset_id,
                       .out = cd_p_part(CD_P_TRANSFER_OUTPUT, &own)};
    cd_linear_put(&bytes, &cd_p_utxo_table, &u);
    cd_utxo_put(&br->b, &cd_p_utxo_table, &u);
    cd_err e = cd_pstate_reward_utxo_put(br->s, &staker->tx_id, br->next_idx, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    br->next_idx++;
    return e;
}

/* What was staked goes back, behind the outputs that the transaction had. */
static void unstake(branch *br, const cd_p_staker *staker, const cd_p_base *base, const cd_linear_list *stake)
{
    const cd_p_output *v = stake->v;
    br->next_idx = base->outs.cnt;
    for (u32 i = 0; i < stake->cnt; i++) {
        cd__utxo_add(&br->b, &staker->tx_id, br->next_idx++, &v[i].asset_id, &v[i].out);
    }
}

/* A validator gets its own reward on commit; what delegators left it was earned, and is paid on either branch. */
static cd_err reward_validator(branch *commit, branch *abort, const cd_p_staker *staker, const cd_ptx_staker *t,
                               const cd_hash32 *asset_id)
{
    u64 delegated;
    if (staker->potential_reward != 0) {
        CD_TRY(pay(commit, staker, asset_id, t->owner, staker->potential_reward));
    }
    CD_TRY(cd_pstate_delegatee_get(commit->s, &delegated, &staker->net_id, &staker->node_id));
    if (delegated == 0) {
        return CD_OK;
    }
    CD_TRY(pay(commit, staker, asset_id, t->delegation_owner, delegated));
    return pay(abort, staker, asset_id, t->delegation_owner, delegated);
}

/* A delegator shares with its validator, whose part waits until it leaves. */
static cd_err reward_delegator(branch *commit, cd_arena *a, const cd_p_staker *staker, const cd_ptx_staker *t,
                               const cd_hash32 *asset_id, cd_errinfo *why)
{
    cd_p_staker validator;
    cd_ptx tx;
    cd_ptx_staker v;
    cd_bytes bytes;
    u64 share;
    u64 rest;
    u64 waiting;
    cd_err e = cd_pstate_validator_get(commit->s, &validator, CD_P_CURRENT, &staker->net_id, &staker->node_id);
    e = e != CD_OK ? e : cd_pstate_tx_get(commit->s, &bytes, NULL, a, &validator.tx_id);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to get whether %s is a validator", cd_text_node(&staker->node_id).s);
    }
    CD_TRY(cd_ptx_parse(&tx, a, bytes, bytes.n, why));
    if (!cd_ptx_staker_of(&v, &tx.tx) || v.delegation_owner == NULL) {
        return cd_fail(why, CD_EINVAL, "wrong transaction type");
    }
    cd_reward_split(&share, &rest, staker->potential_reward, v.shares);
    if (rest != 0) {
        CD_TRY(pay(commit, staker, asset_id, t->owner, rest));
    }
    if (share == 0) {
        return CD_OK;
    }
    CD_TRY(cd_pstate_delegatee_get(commit->s, &waiting, &staker->net_id, &staker->node_id));
    return cd_pstate_delegatee_set(commit->s, &staker->net_id, &staker->node_id, waiting + share);
}

/* The next to leave is the one that is named, and now is its time. */
static cd_err find_staker(cd_p_staker *out, cd_ptx *tx, cd_arena *a, const cd_pstate *s, const cd_hash32 *id,
                          cd_errinfo *why)
{
    u64 now;
    cd_bytes bytes;
    cd_err e = cd_pstate_staker_first(s, out, CD_P_CURRENT);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to get next staker to remove");
    }
    if (!cd_hash32_eq(&out->tx_id, id)) {
        return cd_fail(why, CD_EINVAL, "attempting to remove wrong staker: %s != %s", cd_text_id(&out->tx_id).s,
                       cd_text_id(id).s);
    }
    CD_TRY(cd_pstate_num_get(s, &now, CD_PSTATE_TIME));
    if (out->end != now) {
        return cd_fail(why, CD_EINVAL, "attempting to remove staker before their end time: TxID = %s with %s < %s",
                       cd_text_id(id).s, cd_text_time(now).s, cd_text_time(out->end).s);
    }
    e = cd_pstate_tx_get(s, &bytes, NULL, a, id);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to get next removed staker tx");
    }
    return cd_ptx_parse(tx, a, bytes, bytes.n, why);
}

static cd_err supply_back(const cd_pstate *s, const cd_p_staker *staker)
{
    u64 supply;
    CD_TRY(cd_pstate_supply_get(s, &supply, &staker->net_id));
    if (!cd_sub_u64(&supply, supply, staker->potential_reward)) {
        return CD_ECORRUPT;
    }
    return cd_pstate_supply_set(s, &staker->net_id, supply);
}

static cd_err reward(branch *commit, branch *abort, cd_arena *a, const cd_ptx *proposal, cd_errinfo *why)
{
    const cd_p_reward_validator *t = proposal->tx.body.v;
    cd_p_staker staker;
    cd_ptx tx;
    cd_ptx_staker what;
    if (cd_hash32_is_zero(&t->tx_id)) {
        return cd_fail(why, CD_EINVAL, "invalid ID");
    }
    if (proposal->tx.creds.cnt != 0) {
        return cd_fail(why, CD_EINVAL, "wrong number of credentials");
    }
    CD_TRY(find_staker(&staker, &tx, a, commit->s, &t->tx_id, why));
    if (!cd_ptx_staker_of(&what, &tx.tx) || what.stake == NULL || what.stake->cnt == 0) {
        return cd_fail(why, CD_EINVAL, "unexpected staker transaction type");
    }
    const cd_hash32 *asset_id = &((const cd_p_output *)what.stake->v)->asset_id;
    unstake(commit, &staker, cd_ptx_base(&tx.tx), what.stake);
    unstake(abort, &staker, cd_ptx_base(&tx.tx), what.stake);
    if (cd_p_priority_delegates(staker.priority)) {
        CD_TRY(reward_delegator(commit, a, &staker, &what, asset_id, why));
    } else {
        CD_TRY(reward_validator(commit, abort, &staker, &what, asset_id));
    }
    CD_TRY(cd_pstate_staker_del(commit->s, &staker));
    CD_TRY(cd_pstate_staker_del(abort->s, &staker));
    CD_TRY(supply_back(abort->s, &staker));
    CD_TRY(cd_kv_commit(commit->s->kv, &commit->b, CD_KV_NOSYNC, why));
    CD_TRY(cd_kv_commit(abort->s->kv, &abort->b, CD_KV_NOSYNC, why));
    CD_TRY(cd_pstate_tx_put(commit->s, &proposal->id, proposal->bytes, CD_P_STATUS_COMMITTED));
    return cd_pstate_tx_put(abort->s, &proposal->id, proposal->bytes, CD_P_STATUS_ABORTED);
}

cd_err cd_p_exec_reward(const cd_pstate *commit, const cd_pstate *abort, const cd_ptx *tx, cd_errinfo *why)
{
    cd_arena a = {0};
    branch c = {.s = commit};
    branch n = {.s = abort};
    cd_err e = tx->tx.body.is->id == CD_P_REWARD_VALIDATOR ? reward(&c, &n, &a, tx, why)
                                                           : cd_fail(why, CD_EINVAL, "wrong transaction type");
    if (e != CD_OK) {
        (void)cd_fail_under(why, e, "proposal tx %s failed execution", cd_text_id(&tx->id).s);
    }
    cd_kv_batch_fini(&c.b);
    cd_kv_batch_fini(&n.b);
    cd_arena_fini(&a);
    return e;
}
