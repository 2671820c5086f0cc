#include "chains/platform/state/l1.h"

#include "chains/platform/state/records_priv.h"
#include "chains/platform/state/sets_priv.h"

/* --- a validator as bytes --- */

static const cd_linear_field address = {.kind = CD_LINEAR_FIXED, .len = 20};
static const cd_linear_field owner_fields[] = {
    CD_LINEAR_FIELD(U32, cd_p_l1_owner, threshold, NULL),
    CD_LINEAR_FIELD(LIST, cd_p_l1_owner, addrs, NULL, .elem = &address),
};
static const cd_linear_type owner_type = CD_LINEAR_TYPE(cd_p_l1_owner, owner_fields);
static const cd_linear_field l1_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_l1, validation_id, NULL, .len = 32),
    CD_LINEAR_FIELD(FIXED, cd_p_l1, net_id, NULL, .len = 32),
    CD_LINEAR_FIELD(FIXED, cd_p_l1, node_id, NULL, .len = 20),
    CD_LINEAR_FIELD(FIXED, cd_p_l1, key, NULL, .len = 96),
    CD_LINEAR_FIELD(STRUCT, cd_p_l1, remaining_balance_owner, NULL, .of = &owner_type),
    CD_LINEAR_FIELD(STRUCT, cd_p_l1, deactivation_owner, NULL, .of = &owner_type),
    CD_LINEAR_FIELD(U64, cd_p_l1, start, NULL),
    CD_LINEAR_FIELD(U64, cd_p_l1, weight, NULL),
    CD_LINEAR_FIELD(U64, cd_p_l1, min_nonce, NULL),
    CD_LINEAR_FIELD(U64, cd_p_l1, end_fee, NULL),
};
static const cd_linear_type l1_type = CD_LINEAR_TYPE(cd_p_l1, l1_fields);

cd_err cd_pstate_l1_get(const cd_pstate *s, cd_p_l1 *out, cd_arena *a, const cd_hash32 *validation_id)
{
    cd__key k = cd__key_id('l', validation_id);
    cd_buf v = {0};
    cd_p_l1 l1 = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK && cd_linear_parse(&l1, &l1_type, a, cd_buf_bytes(&v), 0, NULL) != CD_OK) {
        e = CD_ECORRUPT;
    }
    cd_buf_fini(&v);
    if (e == CD_OK) {
        *out = l1;
    }
    return e;
}

/* --- keys --- */

static cd__key active_key(const cd_p_l1 *v)
{
    cd__key k = cd__key_of('a');
    cd__key_be64(&k, v->end_fee);
    cd__key_put(&k, v->validation_id.b, 32);
    return k;
}

static cd__key of_net_key(const cd_p_l1 *v)
{
    cd__key k = cd__key_id('m', &v->net_id);
    cd__key_put(&k, v->validation_id.b, 32);
    return k;
}

/* --- changes --- */

static bool is_active(const cd_p_l1 *v)
{
    return v->weight != 0 && v->end_fee != 0;
}

/* Who v counts as: itself, or nobody in particular. */
static const cd_node_id *seat_of(const cd_p_l1 *v)
{
    static const cd_node_id nobody;
    return is_active(v) ? &v->node_id : &nobody;
}

static cd_err weight_change(const cd_pstate *s, const cd_p_l1 *v, u64 before)
{
    u64 total;
    CD_TRY(cd_pstate_l1_weight(s, &total, &v->net_id));
    if (!cd_sub_u64(&total, total, before)) {
        return CD_ECORRUPT;
    }
    if (!cd_add_u64(&total, total, v->weight)) {
        return CD_ERANGE;
    }
    cd__key k = cd__key_id('w', &v->net_id);
    return cd__num_or_del(s->kv, &k, total);
}

static cd_err active_change(const cd_pstate *s, const cd_p_l1 *old, const cd_p_l1 *v)
{
    u64 active;
    CD_TRY(cd_pstate_num_get(s, &active, CD_PSTATE_ACTIVE_L1));
    if (is_active(old)) {
        cd__key k = active_key(old);
        CD_TRY(cd_kv_del(s->kv, cd__key_bytes(&k)));
    }
    if (is_active(v)) {
        cd__key k = active_key(v);
        CD_TRY(cd_kv_put(s->kv, cd__key_bytes(&k), (cd_bytes){0}));
    }
    if (is_active(old) == is_active(v)) {
        return CD_OK;
    }
    return cd_pstate_num_set(s, CD_PSTATE_ACTIVE_L1, is_active(v) ? active + 1 : active - 1);
}

static cd_err seat_change(const cd_pstate *s, const cd_p_l1 *old, const cd_p_l1 *v)
{
    if (is_active(old) == is_active(v) && old->weight == v->weight) {
        return CD_OK;
    }
    if (old->weight != 0) {
        CD_TRY(cd__seat_sub(s, &v->net_id, seat_of(old), old->weight));
    }
    if (v->weight != 0) {
        CD_TRY(cd__seat_add(s, &v->net_id, seat_of(v), v->weight, is_active(v) ? v->key : NULL));
    }
    return CD_OK;
}

static cd_err remove_l1(const cd_pstate *s, const cd_p_l1 *v)
{
    const cd__key keys[] = {cd__key_id('l', &v->validation_id), of_net_key(v),
                            cd__key_net_node('k', &v->net_id, &v->node_id)};
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        CD_TRY(cd_kv_del(s->kv, cd__key_bytes(&keys[i])));
    }
    return CD_OK;
}

static cd_err write_l1(const cd_pstate *s, const cd_p_l1 *v, bool is_new)
{
    if (is_new) {
        cd__key k = of_net_key(v);
        CD_TRY(cd_kv_put(s->kv, cd__key_bytes(&k), (cd_bytes){0}));
        k = cd__key_net_node('k', &v->net_id, &v->node_id);
        CD_TRY(cd_kv_put(s->kv, cd__key_bytes(&k), cd_bytes_of(v->validation_id.b, 32)));
    }
    cd__key k = cd__key_id('l', &v->validation_id);
    cd_buf b = {0};
    cd_linear_put(&b, &l1_type, v);
    cd_err e = cd_kv_put(s->kv, cd__key_bytes(&k), cd_buf_bytes(&b));
    cd_buf_fini(&b);
    return e;
}

cd_err cd_pstate_l1_put(const cd_pstate *s, const cd_p_l1 *v)
{
    cd_arena a = {0};
    cd_p_l1 old = {0};
    cd_err e = cd_pstate_l1_get(s, &old, &a, &v->validation_id);
    bool is_new = e == CD_ENOENT;
    cd_arena_fini(&a);
    if (e != CD_OK && !is_new) {
        return e;
    }
    cd_hash32 holder;
    e = cd_pstate_l1_find(s, &holder, &v->net_id, &v->node_id);
    if (e == CD_OK && !cd_hash32_eq(&holder, &v->validation_id)) {
        return CD_EEXIST;
    }
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    CD_TRY(weight_change(s, v, old.weight));
    CD_TRY(active_change(s, &old, v));
    CD_TRY(seat_change(s, &old, v));
    return v->weight == 0 ? remove_l1(s, v) : write_l1(s, v, is_new);
}

/* --- finding --- */

cd_err cd_pstate_l1_find(const cd_pstate *s, cd_hash32 *validation_id, const cd_hash32 *net, const cd_node_id *node)
{
    cd__key k = cd__key_net_node('k', net, node);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK && v.n != 32) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        memcpy(validation_id->b, v.p, 32);
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_pstate_l1_weight(const cd_pstate *s, u64 *out, const cd_hash32 *net)
{
    cd__key k = cd__key_id('w', net);
    return cd__num_get(s->kv, out, &k, false);
}

/* The validator whose ID ends the key that an index walk stands at. */
static cd_err from_index(const cd_pstate *s, cd_p_l1 *out, cd_arena *a, cd_bytes key)
{
    cd_hash32 id;
    memcpy(id.b, key.p + key.n - 32, 32);
    cd_err e = cd_pstate_l1_get(s, out, a, &id);
    return e == CD_ENOENT ? CD_ECORRUPT : e;
}

cd_err cd_pstate_l1_first(const cd_pstate *s, cd_p_l1 *out, cd_arena *a)
{
    cd__key k = cd__key_of('a');
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&k)}));
    cd_err e = cd_kv_iter_next(it) ? from_index(s, out, a, cd_kv_iter_key(it)) : cd_kv_iter_err(it);
    bool is_empty = e == CD_OK && cd_kv_iter_key(it).n == 0;
    cd_kv_iter_free(it);
    return is_empty ? CD_ENOENT : e;
}

cd_err cd_pstate_l1_of_net(const cd_pstate *s, cd_p_l1 **out, usize *cnt, cd_arena *a, const cd_hash32 *net,
                           const cd_hash32 *after, usize max)
{
    cd__key prefix = cd__key_id('m', net);
    cd__key start = prefix;
    cd__key_put(&start, after->b, 32);
    cd_kv_iter *it;
    CD_TRY(
        cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&prefix), .start = cd__key_bytes(&start)}));
    cd_buf found = {0};
    usize n = 0;
    cd_err e = CD_OK;
    while (e == CD_OK && n < max && cd_kv_iter_next(it)) {
        if (cd_bytes_eq(cd_kv_iter_key(it), cd__key_bytes(&start))) {
            continue;
        }
        cd_p_l1 l1;
        e = from_index(s, &l1, a, cd_kv_iter_key(it));
        if (e == CD_OK) {
            cd_buf_put(&found, cd_bytes_of(&l1, sizeof l1));
            n++;
        }
    }
    e = e != CD_OK ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    if (e == CD_OK) {
        *out = cd_arena_array(a, cd_p_l1, n);
        *cnt = n;
        if (n != 0) {
            memcpy(*out, found.p, found.n);
        }
    }
    cd_buf_fini(&found);
    return e;
}

/* --- expiries --- */

static cd__key expiry_key(u64 time, const cd_hash32 *validation_id)
{
    cd__key k = cd__key_of('e');
    cd__key_be64(&k, time);
    cd__key_put(&k, validation_id->b, 32);
    return k;
}

cd_err cd_pstate_expiry_has(const cd_pstate *s, bool *found, u64 time, const cd_hash32 *validation_id)
{
    cd__key k = expiry_key(time, validation_id);
    return cd_kv_has(s->kv, found, cd__key_bytes(&k));
}

cd_err cd_pstate_expiry_put(const cd_pstate *s, u64 time, const cd_hash32 *validation_id)
{
    cd__key k = expiry_key(time, validation_id);
    return cd_kv_put(s->kv, cd__key_bytes(&k), (cd_bytes){0});
}

cd_err cd_pstate_expiry_drop(const cd_pstate *s, u64 time)
{
    cd__key k = cd__key_of('e');
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&k)}));
    cd_kv_batch b = {0};
    while (cd_kv_iter_next(it) && cd_be64(cd_kv_iter_key(it).p + 1) <= time) {
        cd_kv_batch_del(&b, cd_kv_iter_key(it));
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    e = e != CD_OK ? e : cd_kv_commit(s->kv, &b, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&b);
    return e;
}
