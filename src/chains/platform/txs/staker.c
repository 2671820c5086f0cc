#include "chains/platform/state/nets.h"
#include "chains/platform/txs/exec_priv.h"

#include "crypto/bls/bls.h"

#include <stdlib.h>

/* A staker of before Durango may begin this far ahead. [spec:decisions#D3] */
enum { FUTURE_MAX_S = 14 * 24 * 3600 };

/* All stake on a validator is at most so many times its own. */
enum { WEIGHT_FACTOR = 5 };

/* Only the primary network may be validated by anybody. No other was opened to all before Etna, and none is after. */
static bool is_open(const cd_hash32 *net)
{
    return cd_hash32_eq(net, &cd__p_primary);
}

cd_err cd__staker_reward(const cd_pstate *s, const cd_p_rules *rules, cd_p_staker *staker)
{
    u64 supply;
    CD_TRY(cd_pstate_supply_get(s, &supply, &staker->net_id));
    if (!is_open(&staker->net_id)) {
        return CD_ENOENT;
    }
    staker->potential_reward = cd_reward(&rules->reward, staker->end - staker->start, staker->weight, supply);
    return cd_pstate_supply_set(s, &staker->net_id, supply + staker->potential_reward);
}

/* --- who validates already --- */

/* Now, or later on. Errors: CD_ENOENT. */
static cd_err validator_of(const cd_pstate *s, cd_p_staker *out, const cd_hash32 *net, const cd_node_id *node)
{
    cd_err e = cd_pstate_validator_get(s, out, CD_P_CURRENT, net, node);
    return e == CD_ENOENT ? cd_pstate_validator_get(s, out, CD_P_PENDING, net, node) : e;
}

static cd_err not_yet(const cd_pstate *s, const cd_ptx_staker *t, cd_errinfo *why)
{
    cd_p_staker there;
    cd_err e = validator_of(s, &there, &t->net_id, &t->who.node_id);
    if (e == CD_ENOENT) {
        return CD_OK;
    }
    if (e != CD_OK) {
        return e;
    }
    if (t->is_legacy) {
        return cd_fail(why, CD_EINVAL, "%s is already a validator of the primary network",
                       cd_text_node(&t->who.node_id).s);
    }
    if (t->stake == NULL) {
        return cd_fail(why, CD_EINVAL, "attempted to issue duplicate validator for %s on net %s",
                       cd_text_node(&t->who.node_id).s, cd_text_id(&t->net_id).s);
    }
    return cd_fail(why, CD_EINVAL, "duplicate validator: %s on %s", cd_text_node(&t->who.node_id).s,
                   cd_text_id(&t->net_id).s);
}

static cd_err within(u64 start, u64 end, const cd_p_staker *v, cd_errinfo *why)
{
    if (start >= v->start && end <= v->end && end >= start) {
        return CD_OK;
    }
    return cd_fail(why, CD_EINVAL, "proposed staking period is not inside dependent staking period");
}

/* Who validates a net validates the primary network all the time. */
static cd_err on_primary(const cd_pstate *s, const cd_ptx_staker *t, u64 start, cd_errinfo *why)
{
    cd_p_staker v;
    cd_err e = validator_of(s, &v, &cd__p_primary, &t->who.node_id);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EINVAL, "%s isn't a current or pending validator of the primary network",
                       cd_text_node(&t->who.node_id).s);
    }
    return e != CD_OK ? e : within(start, t->who.end, &v, why);
}

/* --- how much is delegated --- */

/* Weight that comes and goes at a time. */
typedef struct event {
    u64 time;
    u64 weight;
    bool is_added;
} event;

/* What comes at a second counts before what goes at it. */
static int event_cmp(const void *a, const void *b)
{
    const event *x = a;
    const event *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (int)y->is_added - (int)x->is_added;
}

typedef struct events {
    event *v;
    usize cnt;
    usize cap;
    u64 now; /* delegated at present */
} events;

static void event_add(events *all, cd_arena *a, u64 time, u64 weight, bool is_added)
{
    if (all->cnt == all->cap) {
        usize cap = all->cap == 0 ? 64 : 2 * all->cap;
        event *v = cd_arena_array(a, event, cap);
        if (all->cnt != 0) {
            memcpy(v, all->v, all->cnt * sizeof *v);
        }
        all->v = v;
        all->cap = cap;
    }
    all->v[all->cnt++] = (event){time, weight, is_added};
}

static cd_err events_of(events *all, cd_arena *a, const cd_pstate *s, cd_p_set set, const cd_p_staker *v)
{
    cd_p_staker_iter it;
    cd_p_staker d;
    CD_TRY(cd_pstate_delegators(s, &it, set, &v->net_id, &v->node_id));
    while (cd_p_staker_next(&it, &d)) {
        if (set == CD_P_PENDING) {
            event_add(all, a, d.start, d.weight, true);
        } else {
            all->now += d.weight; /* what was staked exists: it fits */
        }
        event_add(all, a, d.end, d.weight, false);
    }
    cd_err e = it.err;
    cd_p_staker_iter_fini(&it);
    return e;
}

/* The most that is staked on a validator at any time from start to end, its own stake included. */
static cd_err max_weight(u64 *out, cd_arena *a, const cd_pstate *s, const cd_p_staker *v, u64 start, u64 end)
{
    events all = {.cnt = 0};
    CD_TRY(events_of(&all, a, s, CD_P_CURRENT, v));
    CD_TRY(events_of(&all, a, s, CD_P_PENDING, v));
    if (all.cnt != 0) {
        qsort(all.v, all.cnt, sizeof *all.v, event_cmp);
    }
    u64 weight = v->weight + all.now;
    u64 max = 0;
    for (usize i = 0; i < all.cnt && all.v[i].time <= end; i++) {
        if (all.v[i].time >= start && weight > max) {
            max = weight;
        }
        weight = all.v[i].is_added ? weight + all.v[i].weight : weight - all.v[i].weight;
    }
    *out = weight > max ? weight : max;
    return CD_OK;
}

static cd_err not_over(cd_arena *a, const cd_pstate *s, const cd_p_staker *v, const cd_p_rules *r, u64 weight,
                       u64 start, u64 end, cd_errinfo *why)
{
    u64 limit;
    u64 most = 0;
    cd_p_delegated pending;
    cd_p_delegated now;
    CD_TRY(cd_pstate_delegated_get(s, &pending, CD_P_PENDING, &v->net_id, &v->node_id));
    CD_TRY(cd_pstate_delegated_get(s, &now, CD_P_CURRENT, &v->net_id, &v->node_id));
    u64 time;
    CD_TRY(cd_pstate_num_get(s, &time, CD_PSTATE_TIME));
    if (!cd_mul_u64(&limit, WEIGHT_FACTOR, v->weight) || limit > r->max_validator_stake) {
        limit = r->max_validator_stake;
    }
    if (pending.cnt == 0 && start <= time) {
        most = v->weight + now.weight; /* from here on it only falls */
    } else {
        CD_TRY(max_weight(&most, a, s, v, start, end));
    }
    if (!cd_add_u64(&most, most, weight) || most > limit) {
        return cd_fail(why, CD_EINVAL, "validator would be over delegated");
    }
    return CD_OK;
}

/* --- the checks --- */

static cd_err refuse(cd_errinfo *why, const char *words)
{
    return cd_fail(why, CD_EINVAL, "%s", words);
}

static cd_err period_ok(const cd_ptx_staker *t, const cd_p_rules *r, u64 start, cd_errinfo *why)
{
    if (t->who.end < start || t->who.end - start < r->min_stake_s) {
        return refuse(why, "staking period is too short");
    }
    return t->who.end - start > r->max_stake_s ? refuse(why, "staking period is too long") : CD_OK;
}

static cd_err asset_ok(const cd_ptx_staker *t, const cd_p_rules *r, cd_errinfo *why)
{
    const cd_p_output *first = t->stake->v;
    if (t->stake->cnt == 0 || cd_hash32_eq(&first->asset_id, &r->asset_id)) {
        return CD_OK;
    }
    return cd_fail(why, CD_EINVAL, "incorrect staked assetID: %s != %s", cd_text_id(&r->asset_id).s,
                   cd_text_id(&first->asset_id).s);
}

static cd_err future_ok(u64 start, u64 now, cd_errinfo *why)
{
    return start > now && start - now > FUTURE_MAX_S
               ? refuse(why, "staker is attempting to start staking more than 336h0m0s ahead of the current chain time")
               : CD_OK;
}

static cd_err validator_allowed(cd_p_exec *x, const cd_ptx_staker *t, u64 start, u64 now, cd_errinfo *why)
{
    const cd_p_rules *r = x->rules;
    if (!is_open(&t->net_id)) {
        return refuse(why, "not found");
    }
    if (t->who.weight < r->min_validator_stake) {
        return refuse(why, "weight of this validator is too low");
    }
    if (t->who.weight > r->max_validator_stake) {
        return refuse(why, "weight of this validator is too large");
    }
    if (t->shares < r->min_delegation_fee) {
        return refuse(why, "staker charges an insufficient delegation fee");
    }
    CD_TRY(period_ok(t, r, start, why));
    CD_TRY(asset_ok(t, r, why));
    CD_TRY(future_ok(start, now, why));
    return not_yet(x->state, t, why);
}

static cd_err delegator_allowed(cd_p_exec *x, cd_arena *a, const cd_ptx_staker *t, u64 start, u64 now, cd_errinfo *why)
{
    const cd_p_rules *r = x->rules;
    cd_p_staker v;
    if (!is_open(&t->net_id)) {
        return refuse(why, "not found");
    }
    if (t->who.weight < r->min_delegator_stake) {
        return refuse(why, "weight of this validator is too low");
    }
    CD_TRY(period_ok(t, r, start, why));
    CD_TRY(asset_ok(t, r, why));
    CD_TRY(future_ok(start, now, why));
    cd_err e = validator_of(x->state, &v, &t->net_id, &t->who.node_id);
    if (e == CD_ENOENT && t->is_legacy) {
        return cd_fail(why, CD_EINVAL, "failed to fetch the primary network validator for %s: not found",
                       cd_text_node(&t->who.node_id).s);
    }
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EINVAL, "failed to fetch the validator for %s on %s: not found",
                       cd_text_node(&t->who.node_id).s, cd_text_id(&t->net_id).s);
    }
    CD_TRY(e);
    CD_TRY(within(start, t->who.end, &v, why));
    return not_over(a, x->state, &v, r, t->who.weight, start, t->who.end, why);
}

static cd_err permissioned_allowed(cd_p_exec *x, cd__flow *f, const cd_ptx_staker *t, u64 start, cd_errinfo *why)
{
    const cd_p_add_net_validator *v = f->tx->tx.body.v;
    CD_TRY(period_ok(t, x->rules, start, why));
    CD_TRY(not_yet(x->state, t, why));
    CD_TRY(on_primary(x->state, t, start, why));
    return cd__net_auth(x, f, &t->net_id, &v->net_auth, true, why);
}

static cd_err flow_failed(cd_errinfo *why, cd_err e)
{
    return cd_fail_under(why, e, "flow check failed");
}

/* --- what follows --- */

static cd_err put_staker(cd_p_exec *x, const cd_ptx *tx, const cd_ptx_staker *t, u64 start, u64 now)
{
    bool is_later = start > now;
    cd_p_staker s;
    memset(&s, 0, sizeof s);
    s.tx_id = tx->id;
    s.net_id = t->net_id;
    s.node_id = t->who.node_id;
    s.priority = is_later ? t->pending : t->current;
    s.weight = t->who.weight;
    s.start = start;
    s.end = t->who.end;
    s.next_time = is_later ? start : t->who.end;
    if (t->pop != NULL) {
        cd_bls_pk key;
        CD_TRY(cd_bls_pk_dec(&key, cd_bytes_of(t->pop->key, sizeof t->pop->key)));
        cd_bls_pk_enc_raw(s.key, &key);
        s.has_key = true;
    }
    if (t->stake != NULL && !is_later) {
        CD_TRY(cd__staker_reward(x->state, x->rules, &s));
    }
    return cd_pstate_staker_put(x->state, &s);
}

cd_err cd__exec_staker(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    cd_ptx_staker t;
    bool is_staker = cd_ptx_staker_of(&t, &f->tx->tx);
    CD_ASSERT(is_staker);
    u64 start = t.is_legacy && t.who.start > f->now ? t.who.start : f->now;
    cd_err e;
    if (t.stake == NULL) {
        e = permissioned_allowed(x, f, &t, start, why);
    } else if (cd_p_priority_delegates(t.current)) {
        e = delegator_allowed(x, f->a, &t, start, f->now, why);
    } else {
        e = validator_allowed(x, &t, start, f->now, why);
    }
    CD_TRY(e);
    f->outs = t.stake;
    e = cd__flow_check(x, f, why);
    if (e != CD_OK) {
        return flow_failed(why, e);
    }
    CD_TRY(put_staker(x, f->tx, &t, start, f->now));
    return cd__flow_write(x, f, NULL);
}

cd_err cd__exec_removal(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_remove_net_validator *t = f->tx->tx.body.v;
    cd_p_staker v;
    cd_err e = validator_of(x->state, &v, &t->net_id, &t->node_id);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EINVAL, "%s isn't a current or pending validator of %s: not found",
                       cd_text_node(&t->node_id).s, cd_text_id(&t->net_id).s);
    }
    CD_TRY(e);
    if (v.priority != CD_P_CURRENT_PERMISSIONED && v.priority != CD_P_PENDING_PERMISSIONED) {
        return refuse(why, "attempting to remove permissionless validator");
    }
    CD_TRY(cd__net_auth(x, f, &t->net_id, &t->net_auth, false, why));
    e = cd__flow_check(x, f, why);
    if (e != CD_OK) {
        return flow_failed(why, e);
    }
    CD_TRY(cd_pstate_staker_del(x->state, &v));
    return cd__flow_write(x, f, NULL);
}
