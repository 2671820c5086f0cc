#include "chains/platform/state/state.h"

#include "chains/platform/state/records_priv.h"

/* --- numbers --- */

cd_err cd__num_get(cd_kv *kv, u64 *out, const cd__key *k, bool is_needed)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd__key_bytes(k));
    if (e == CD_ENOENT && !is_needed) {
        *out = 0;
        e = CD_OK;
    } else if (e == CD_OK) {
        if (v.n == 8) {
            *out = cd_be64(v.p);
        } else {
            e = CD_ECORRUPT;
        }
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd__num_put(cd_kv *kv, const cd__key *k, u64 v)
{
    u8 b[8];
    cd_put_be64(b, v);
    return cd_kv_put(kv, cd__key_bytes(k), cd_bytes_of(b, sizeof b));
}

cd_err cd__num_or_del(cd_kv *kv, const cd__key *k, u64 v)
{
    return v == 0 ? cd_kv_del(kv, cd__key_bytes(k)) : cd__num_put(kv, k, v);
}

static cd__key num_key(u8 which)
{
    cd__key k = cd__key_of('S');
    cd__key_u8(&k, which);
    return k;
}

cd_err cd__next_number(cd_kv *kv, u64 *out)
{
    cd__key k = num_key(UINT8_MAX);
    u64 n = 0;
    CD_TRY(cd__num_get(kv, &n, &k, false));
    CD_TRY(cd__num_put(kv, &k, n + 1));
    *out = n;
    return CD_OK;
}

cd_err cd_pstate_num_get(const cd_pstate *s, u64 *out, cd_pstate_num which)
{
    cd__key k = num_key((u8)which);
    return cd__num_get(s->kv, out, &k, false);
}

cd_err cd_pstate_num_set(const cd_pstate *s, cd_pstate_num which, u64 v)
{
    cd__key k = num_key((u8)which);
    return cd__num_put(s->kv, &k, v);
}

/* An ID as a value. */
static cd_err id_get(cd_kv *kv, cd_hash32 *out, const cd__key *k)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd__key_bytes(k));
    if (e == CD_OK && v.n != 32) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        memcpy(out->b, v.p, 32);
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_pstate_last_get(const cd_pstate *s, cd_hash32 *id)
{
    cd__key k = cd__key_of('L');
    return id_get(s->kv, id, &k);
}

cd_err cd_pstate_last_set(const cd_pstate *s, const cd_hash32 *id, u64 height)
{
    cd__key k = cd__key_of('L');
    CD_TRY(cd_kv_put(s->kv, cd__key_bytes(&k), cd_bytes_of(id->b, 32)));
    return cd_pstate_num_set(s, CD_PSTATE_LAST_HEIGHT, height);
}

cd_err cd_pstate_supply_get(const cd_pstate *s, u64 *out, const cd_hash32 *net)
{
    cd__key k = cd__key_id('P', net);
    return cd__num_get(s->kv, out, &k, true);
}

cd_err cd_pstate_supply_set(const cd_pstate *s, const cd_hash32 *net, u64 v)
{
    cd__key k = cd__key_id('P', net);
    return cd__num_put(s->kv, &k, v);
}

/* --- transactions, blocks --- */

cd_err cd_pstate_tx_get(const cd_pstate *s, cd_bytes *tx, cd_p_status *status, cd_arena *a, const cd_hash32 *id)
{
    cd__key k = cd__key_id('t', id);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK && (v.n == 0 || (v.p[0] != CD_P_STATUS_COMMITTED && v.p[0] != CD_P_STATUS_ABORTED))) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK && status != NULL) {
        *status = (cd_p_status)v.p[0];
    }
    if (e == CD_OK && a != NULL) {
        *tx = cd_arena_dup(a, cd_bytes_of(v.p + 1, v.n - 1));
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_pstate_tx_put(const cd_pstate *s, const cd_hash32 *id, cd_bytes tx, cd_p_status status)
{
    CD_ASSERT(status == CD_P_STATUS_COMMITTED || status == CD_P_STATUS_ABORTED);
    cd__key k = cd__key_id('t', id);
    cd_buf v = {0};
    cd_buf_u8(&v, (u8)status);
    cd_buf_put(&v, tx);
    cd_err e = cd_kv_put(s->kv, cd__key_bytes(&k), cd_buf_bytes(&v));
    cd_buf_fini(&v);
    return e;
}

cd_err cd_pstate_block_get(const cd_pstate *s, cd_bytes *out, cd_arena *a, const cd_hash32 *id)
{
    cd__key k = cd__key_id('b', id);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK) {
        *out = cd_arena_dup(a, cd_buf_bytes(&v));
    }
    cd_buf_fini(&v);
    return e;
}

/* --- transactions of an address --- */

static cd__key listed_key(const cd_addr20 *addr, const cd_pstate_place *at)
{
    cd__key k = cd__key_of('q');
    cd__key_put(&k, addr->b, sizeof addr->b);
    if (at != NULL) {
        cd__key_be64(&k, UINT64_MAX - at->height);
        cd__key_put(&k, at->tx_id.b, sizeof at->tx_id.b);
    }
    return k;
}

void cd_pstate_list_tx(const cd_pstate *s, cd_kv_batch *b, const cd_addr20 *addr, const cd_hash32 *tx_id)
{
    cd__key k = listed_key(addr, &(cd_pstate_place){.height = s->height, .tx_id = *tx_id});
    cd_kv_batch_put(b, cd__key_bytes(&k), (cd_bytes){0});
}

cd_err cd_pstate_listed(const cd_pstate *s, cd_pstate_place **out, usize *cnt, cd_arena *a, const cd_addr20 *addr,
                        const cd_pstate_place *behind, usize max)
{
    static const cd_pstate_place none;
    cd__key prefix = listed_key(addr, NULL);
    bool is_first = memcmp(behind, &none, sizeof none) == 0;
    cd__key start = is_first ? prefix : listed_key(addr, behind);
    cd_pstate_place *v = cd_arena_array(a, cd_pstate_place, max);
    cd_kv_iter *it;
    usize n = 0;
    CD_TRY(
        cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&prefix), .start = cd__key_bytes(&start)}));
    cd_err e = CD_OK;
    while (e == CD_OK && n < max && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        if (key.n != 1 + 20 + 8 + 32) {
            e = CD_ECORRUPT;
        } else if (is_first || !cd_bytes_eq(key, cd__key_bytes(&start))) {
            v[n].height = UINT64_MAX - cd_be64(key.p + 21);
            memcpy(v[n++].tx_id.b, key.p + 29, 32);
        }
    }
    e = e != CD_OK ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    *out = v;
    *cnt = n;
    return e;
}

static cd__key height_key(u64 height)
{
    cd__key k = cd__key_of('h');
    cd__key_be64(&k, height);
    return k;
}

cd_err cd_pstate_block_id_get(const cd_pstate *s, cd_hash32 *out, u64 height)
{
    cd__key k = height_key(height);
    return id_get(s->kv, out, &k);
}

cd_err cd_pstate_block_put(const cd_pstate *s, const cd_hash32 *id, u64 height, cd_bytes block)
{
    cd__key k = cd__key_id('b', id);
    CD_TRY(cd_kv_put(s->kv, cd__key_bytes(&k), block));
    k = height_key(height);
    return cd_kv_put(s->kv, cd__key_bytes(&k), cd_bytes_of(id->b, 32));
}

/* --- rewards --- */

cd_err cd_pstate_reward_utxo_put(const cd_pstate *s, const cd_hash32 *tx_id, u32 output_idx, cd_bytes utxo)
{
    cd__key k = cd__key_id('R', tx_id);
    u8 idx[4];
    cd_put_be32(idx, output_idx);
    cd__key_put(&k, idx, sizeof idx);
    return cd_kv_put(s->kv, cd__key_bytes(&k), utxo);
}

cd_err cd_pstate_reward_utxos_get(const cd_pstate *s, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *tx_id)
{
    enum { REWARDS_MAX = 2 };
    cd__key k = cd__key_id('R', tx_id);
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&k)}));
    cd_bytes *v = cd_arena_array(a, cd_bytes, REWARDS_MAX);
    usize n = 0;
    while (n < REWARDS_MAX && cd_kv_iter_next(it)) {
        v[n++] = cd_arena_dup(a, cd_kv_iter_value(it));
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    if (e == CD_OK) {
        *out = v;
        *cnt = n;
    }
    return e;
}
