#include "chains/platform/state/nets.h"

#include "chains/platform/state/records_priv.h"

/* --- owners --- */

static cd_err put_new(cd_kv *kv, const cd__key *k, cd_bytes v)
{
    bool found;
    CD_TRY(cd_kv_has(kv, &found, cd__key_bytes(k)));
    return found ? CD_EEXIST : cd_kv_put(kv, cd__key_bytes(k), v);
}

/* Notes id behind all others of a list whose keys begin with prefix. */
static cd_err list_add(cd_kv *kv, cd__key prefix, const cd_hash32 *id)
{
    u64 number;
    CD_TRY(cd__next_number(kv, &number));
    cd__key_be64(&prefix, number);
    return cd_kv_put(kv, cd__key_bytes(&prefix), cd_bytes_of(id->b, 32));
}

cd_err cd_pstate_net_put(const cd_pstate *s, const cd_hash32 *net, const cd_owners *owners)
{
    cd__key k = cd__key_id('N', net);
    cd_buf v = {0};
    cd_linear_put(&v, &cd_owners_type, owners);
    cd_err e = put_new(s->kv, &k, cd_buf_bytes(&v));
    cd_buf_fini(&v);
    return e == CD_OK ? list_add(s->kv, cd__key_of('O'), net) : e;
}

cd_err cd_pstate_net_owner_set(const cd_pstate *s, const cd_hash32 *net, const cd_owners *owners)
{
    cd__key k = cd__key_id('N', net);
    cd_buf v = {0};
    cd_linear_put(&v, &cd_owners_type, owners);
    cd_err e = cd_kv_put(s->kv, cd__key_bytes(&k), cd_buf_bytes(&v));
    cd_buf_fini(&v);
    return e;
}

cd_err cd_pstate_net_owner_get(const cd_pstate *s, cd_owners *out, cd_arena *a, const cd_hash32 *net)
{
    cd__key k = cd__key_id('N', net);
    cd_buf v = {0};
    cd_owners owners = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK && cd_linear_parse(&owners, &cd_owners_type, a, cd_buf_bytes(&v), 0, NULL) != CD_OK) {
        e = CD_ECORRUPT;
    }
    cd_buf_fini(&v);
    if (e == CD_OK) {
        *out = owners;
    }
    return e;
}

/* --- what became of a net --- */

cd_err cd_pstate_conversion_set(const cd_pstate *s, const cd_hash32 *net, const cd_p_conversion *c)
{
    cd__key k = cd__key_id('V', net);
    cd_buf v = {0};
    cd_buf_put(&v, cd_bytes_of(c->id.b, 32));
    cd_buf_put(&v, cd_bytes_of(c->chain_id.b, 32));
    cd_buf_put(&v, c->address);
    cd_err e = cd_kv_put(s->kv, cd__key_bytes(&k), cd_buf_bytes(&v));
    cd_buf_fini(&v);
    return e;
}

cd_err cd_pstate_conversion_get(const cd_pstate *s, cd_p_conversion *out, cd_arena *a, const cd_hash32 *net)
{
    cd__key k = cd__key_id('V', net);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK && v.n < 64) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        memcpy(out->id.b, v.p, 32);
        memcpy(out->chain_id.b, v.p + 32, 32);
        out->address = cd_arena_dup(a, cd_bytes_of(v.p + 64, v.n - 64));
    }
    cd_buf_fini(&v);
    return e;
}

/* --- chains --- */

cd_err cd_pstate_chain_put(const cd_pstate *s, const cd_p_chain *c)
{
    usize name_n = strnlen(c->name, sizeof c->name);
    if (name_n == sizeof c->name) {
        return CD_ELIMIT;
    }
    cd__key k = cd__key_id('B', &c->id);
    cd_buf v = {0};
    cd_buf_put(&v, cd_bytes_of(c->net_id.b, 32));
    cd_buf_put(&v, cd_bytes_of(c->vm_id.b, 32));
    cd_buf_put(&v, cd_bytes_of(c->name, name_n));
    cd_err e = put_new(s->kv, &k, cd_buf_bytes(&v));
    cd_buf_fini(&v);
    return e == CD_OK ? list_add(s->kv, cd__key_id('K', &c->net_id), &c->id) : e;
}

cd_err cd_pstate_chain_get(const cd_pstate *s, cd_p_chain *out, const cd_hash32 *id)
{
    cd__key k = cd__key_id('B', id);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK && (v.n < 64 || v.n >= 64 + sizeof out->name)) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        *out = (cd_p_chain){.id = *id};
        memcpy(out->net_id.b, v.p, 32);
        memcpy(out->vm_id.b, v.p + 32, 32);
        memcpy(out->name, v.p + 64, v.n - 64);
    }
    cd_buf_fini(&v);
    return e;
}

/* --- lists --- */

/* The newest max IDs of a list. */
static cd_err list_get(cd_kv *kv, cd_hash32 **out, usize *cnt, bool *more, cd_arena *a, const cd__key *prefix,
                       usize max)
{
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd__key_bytes(prefix), .reverse = true}));
    cd_buf ids = {0};
    usize n = 0;
    cd_err e = CD_OK;
    bool goes_on = cd_kv_iter_next(it);
    while (e == CD_OK && goes_on && n < max) {
        cd_bytes v = cd_kv_iter_value(it);
        e = v.n == 32 ? CD_OK : CD_ECORRUPT;
        cd_buf_put(&ids, v);
        n++;
        goes_on = cd_kv_iter_next(it);
    }
    e = e != CD_OK ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    if (e == CD_OK) {
        cd_hash32 *v = cd_arena_array(a, cd_hash32, n);
        if (n != 0) {
            memcpy(v, ids.p, ids.n);
        }
        *out = v;
        *cnt = n;
        *more = goes_on;
    }
    cd_buf_fini(&ids);
    return e;
}

cd_err cd_pstate_nets(const cd_pstate *s, cd_hash32 **out, usize *cnt, bool *more, cd_arena *a, usize max)
{
    cd__key k = cd__key_of('O');
    return list_get(s->kv, out, cnt, more, a, &k, max);
}

cd_err cd_pstate_chains(const cd_pstate *s, cd_p_chain **out, usize *cnt, bool *more, cd_arena *a, const cd_hash32 *net,
                        usize max)
{
    cd__key k = cd__key_id('K', net);
    cd_hash32 *ids;
    usize n;
    bool others;
    CD_TRY(list_get(s->kv, &ids, &n, &others, a, &k, max));
    cd_p_chain *v = cd_arena_array(a, cd_p_chain, n);
    for (usize i = 0; i < n; i++) {
        cd_err e = cd_pstate_chain_get(s, &v[i], &ids[i]);
        if (e != CD_OK) {
            return e == CD_ENOENT ? CD_ECORRUPT : e;
        }
    }
    *out = v;
    *cnt = n;
    *more = others;
    return CD_OK;
}
