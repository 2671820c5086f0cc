#include "chains/platform/state/stakers.h"

#include "chains/platform/state/records_priv.h"
#include "chains/platform/state/sets_priv.h"

/* When the staker leaves its set. */
static u64 next_time(const cd_p_staker *t)
{
    return cd_p_priority_set(t->priority) == CD_P_PENDING ? t->start : t->end;
}

/* --- a staker as bytes --- */

static void staker_enc(cd_buf *out, const cd_p_staker *t)
{
    cd_buf_put(out, cd_bytes_of(t->tx_id.b, 32));
    cd_buf_put(out, cd_bytes_of(t->net_id.b, 32));
    cd_buf_put(out, cd_bytes_of(t->node_id.b, 20));
    cd_buf_u8(out, (u8)t->priority);
    const u64 numbers[] = {t->weight, t->start, t->end, t->potential_reward};
    for (usize i = 0; i < CD_COUNT(numbers); i++) {
        cd_put_be64(cd_buf_extend(out, 8), numbers[i]);
    }
    if (t->has_key) {
        cd_buf_put(out, cd_bytes_of(t->key, sizeof t->key));
    }
}

static cd_err staker_dec(cd_p_staker *out, cd_bytes in)
{
    cd_p_staker t = {0};
    cd_rd r = cd_rd_init(in);
    cd_rd_copy(&r, t.tx_id.b, 32);
    cd_rd_copy(&r, t.net_id.b, 32);
    cd_rd_copy(&r, t.node_id.b, 20);
    u8 priority = cd_rd_u8(&r);
    t.weight = cd_rd_be64(&r);
    t.start = cd_rd_be64(&r);
    t.end = cd_rd_be64(&r);
    t.potential_reward = cd_rd_be64(&r);
    t.has_key = cd_rd_left(&r) != 0;
    if (t.has_key) {
        cd_rd_copy(&r, t.key, sizeof t.key);
    }
    if (cd_rd_end(&r) != CD_OK || priority < CD_P_PENDING_DELEGATOR_APRICOT || priority > CD_P_CURRENT_VALIDATOR) {
        return CD_ECORRUPT;
    }
    t.priority = (cd_p_priority)priority;
    t.next_time = next_time(&t);
    *out = t;
    return CD_OK;
}

/* --- keys --- */

static cd__key set_key(char kind, cd_p_set set)
{
    cd__key k = cd__key_of(kind);
    cd__key_u8(&k, (u8)set);
    return k;
}

static cd__key net_key(char kind, cd_p_set set, const cd_hash32 *net)
{
    cd__key k = set_key(kind, set);
    cd__key_put(&k, net->b, 32);
    return k;
}

static cd__key node_key(char kind, cd_p_set set, const cd_hash32 *net, const cd_node_id *node)
{
    cd__key k = net_key(kind, set, net);
    cd__key_put(&k, node->b, 20);
    return k;
}

static void key_place(cd__key *k, const cd_p_staker *t)
{
    cd__key_be64(k, next_time(t));
    cd__key_u8(k, (u8)t->priority);
    cd__key_put(k, t->tx_id.b, 32);
}

/* The records that hold a staker: by time, by net, by node. */
enum { PLACES = 3 };
static void places(cd__key out[PLACES], const cd_p_staker *t)
{
    cd_p_set set = cd_p_priority_set(t->priority);
    out[0] = set_key('s', set);
    key_place(&out[0], t);
    out[1] = net_key('n', set, &t->net_id);
    key_place(&out[1], t);
    bool is_delegator = cd_p_priority_delegates(t->priority);
    out[2] = node_key(is_delegator ? 'd' : 'v', set, &t->net_id, &t->node_id);
    if (is_delegator) {
        key_place(&out[2], t);
    }
}

/* --- changes --- */

cd_err cd_pstate_delegated_get(const cd_pstate *s, cd_p_delegated *out, cd_p_set set, const cd_hash32 *net,
                               const cd_node_id *node)
{
    cd__key k = node_key('g', set, net, node);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK && v.n != 16) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        *out = (cd_p_delegated){.cnt = cd_be64(v.p), .weight = cd_be64(v.p + 8)};
    } else if (e == CD_ENOENT) {
        *out = (cd_p_delegated){0};
        e = CD_OK;
    }
    cd_buf_fini(&v);
    return e;
}

static cd_err delegated_set(const cd_pstate *s, const cd_p_staker *t, const cd_p_delegated *d)
{
    cd__key k = node_key('g', cd_p_priority_set(t->priority), &t->net_id, &t->node_id);
    if (d->cnt == 0) {
        return cd_kv_del(s->kv, cd__key_bytes(&k));
    }
    u8 b[16];
    cd_put_be64(b, d->cnt);
    cd_put_be64(b + 8, d->weight);
    return cd_kv_put(s->kv, cd__key_bytes(&k), cd_bytes_of(b, sizeof b));
}

/* What delegators of t's validator have once t has come, or gone. */
static cd_err delegated_change(const cd_pstate *s, const cd_p_staker *t, bool comes)
{
    if (!cd_p_priority_delegates(t->priority)) {
        return CD_OK;
    }
    cd_p_delegated d;
    CD_TRY(cd_pstate_delegated_get(s, &d, cd_p_priority_set(t->priority), &t->net_id, &t->node_id));
    if (comes) {
        if (!cd_add_u64(&d.weight, d.weight, t->weight)) {
            return CD_ERANGE;
        }
        d.cnt++;
    } else {
        if (d.cnt == 0 || !cd_sub_u64(&d.weight, d.weight, t->weight)) {
            return CD_ECORRUPT;
        }
        d.cnt--;
    }
    return delegated_set(s, t, &d);
}

/* The key under which a validator signs: its own, or that of the same node in the primary network. */
static cd_err key_of(const cd_pstate *s, const u8 **out, cd__seat *primary, const cd_p_staker *t)
{
    static const cd_hash32 primary_net;
    *out = t->has_key ? t->key : NULL;
    if (!t->has_key && !cd_hash32_is_zero(&t->net_id) && !cd_p_priority_delegates(t->priority)) {
        CD_TRY(cd__seat_get(s, primary, &primary_net, &t->node_id));
        *out = primary->has_key ? primary->key : NULL;
    }
    return CD_OK;
}

cd_err cd_pstate_staker_put(const cd_pstate *s, const cd_p_staker *staker)
{
    cd__key at[PLACES];
    places(at, staker);
    bool found;
    CD_TRY(cd_kv_has(s->kv, &found, cd__key_bytes(&at[PLACES - 1])));
    if (found) {
        return CD_EEXIST;
    }
    if (cd_p_priority_set(staker->priority) == CD_P_CURRENT) {
        cd__seat primary;
        const u8 *key;
        CD_TRY(key_of(s, &key, &primary, staker));
        CD_TRY(cd__seat_add(s, &staker->net_id, &staker->node_id, staker->weight, key));
    }
    CD_TRY(delegated_change(s, staker, true));
    cd_buf v = {0};
    staker_enc(&v, staker);
    cd_kv_batch b = {0};
    for (usize i = 0; i < PLACES; i++) {
        cd_kv_batch_put(&b, cd__key_bytes(&at[i]), cd_buf_bytes(&v));
    }
    cd_buf_fini(&v);
    cd_err e = cd_kv_commit(s->kv, &b, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&b);
    return e;
}

cd_err cd_pstate_staker_del(const cd_pstate *s, const cd_p_staker *staker)
{
    cd__key at[PLACES];
    places(at, staker);
    bool found;
    CD_TRY(cd_kv_has(s->kv, &found, cd__key_bytes(&at[0])));
    if (!found) {
        return CD_ENOENT;
    }
    if (cd_p_priority_set(staker->priority) == CD_P_CURRENT) {
        CD_TRY(cd__seat_sub(s, &staker->net_id, &staker->node_id, staker->weight));
        if (!cd_p_priority_delegates(staker->priority)) {
            CD_TRY(cd_pstate_delegatee_set(s, &staker->net_id, &staker->node_id, 0));
        }
    }
    CD_TRY(delegated_change(s, staker, false));
    cd_kv_batch b = {0};
    for (usize i = 0; i < PLACES; i++) {
        cd_kv_batch_del(&b, cd__key_bytes(&at[i]));
    }
    cd_err e = cd_kv_commit(s->kv, &b, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&b);
    return e;
}

cd_err cd_pstate_validator_get(const cd_pstate *s, cd_p_staker *out, cd_p_set set, const cd_hash32 *net,
                               const cd_node_id *node)
{
    cd__key k = node_key('v', set, net, node);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK) {
        e = staker_dec(out, cd_buf_bytes(&v));
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_pstate_delegatee_get(const cd_pstate *s, u64 *out, const cd_hash32 *net, const cd_node_id *node)
{
    cd__key k = cd__key_net_node('r', net, node);
    return cd__num_get(s->kv, out, &k, false);
}

cd_err cd_pstate_delegatee_set(const cd_pstate *s, const cd_hash32 *net, const cd_node_id *node, u64 v)
{
    cd__key k = cd__key_net_node('r', net, node);
    return cd__num_or_del(s->kv, &k, v);
}

/* --- walks --- */

static cd_err walk(const cd_pstate *s, cd_p_staker_iter *out, const cd__key *prefix)
{
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(prefix)}));
    *out = (cd_p_staker_iter){.it = it};
    return CD_OK;
}

cd_err cd_pstate_stakers(const cd_pstate *s, cd_p_staker_iter *out, cd_p_set set)
{
    cd__key k = set_key('s', set);
    return walk(s, out, &k);
}

cd_err cd_pstate_stakers_of_net(const cd_pstate *s, cd_p_staker_iter *out, cd_p_set set, const cd_hash32 *net)
{
    cd__key k = net_key('n', set, net);
    return walk(s, out, &k);
}

cd_err cd_pstate_delegators(const cd_pstate *s, cd_p_staker_iter *out, cd_p_set set, const cd_hash32 *net,
                            const cd_node_id *node)
{
    cd__key k = node_key('d', set, net, node);
    return walk(s, out, &k);
}

bool cd_p_staker_next(cd_p_staker_iter *it, cd_p_staker *out)
{
    if (it->it == NULL || it->err != CD_OK) {
        return false;
    }
    if (!cd_kv_iter_next(it->it)) {
        it->err = cd_kv_iter_err(it->it);
        return false;
    }
    it->err = staker_dec(out, cd_kv_iter_value(it->it));
    return it->err == CD_OK;
}

void cd_p_staker_iter_fini(cd_p_staker_iter *it)
{
    cd_kv_iter_free(it->it);
    *it = (cd_p_staker_iter){0};
}

cd_err cd_pstate_staker_first(const cd_pstate *s, cd_p_staker *out, cd_p_set set)
{
    cd_p_staker_iter it;
    CD_TRY(cd_pstate_stakers(s, &it, set));
    bool found = cd_p_staker_next(&it, out);
    cd_err e = it.err;
    cd_p_staker_iter_fini(&it);
    return e == CD_OK && !found ? CD_ENOENT : e;
}
