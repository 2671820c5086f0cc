#include "warp/sets.h"

#include "base/mem/mem.h"
#include "base/table/lru.h"
#include "base/thread/thread.h"
#include "crypto/hash/sha2.h"

#include <stdatomic.h>
#include <stdlib.h>

struct cd_warp_sets {
    const cd_vm_validators *validators;
    cd_mutex lock;     /* protects both */
    cd_lru *by_height; /* (subnet, height) → cd_warp_signers */
    cd_lru *by_digest;
};

typedef struct place {
    cd_hash32 subnet;
    u64 height;
} place;

static void drop(void *ctx, void *val)
{
    (void)ctx;
    cd_warp_signers_unref(val);
}

static cd_warp_signers *ref(cd_warp_signers *s)
{
    (void)atomic_fetch_add(&s->own.refs, 1);
    return s;
}

void cd_warp_signers_unref(cd_warp_signers *s)
{
    if (s != NULL && atomic_fetch_sub(&s->own.refs, 1) == 1) {
        cd_arena_fini(&s->own.mem);
        cd_free(s);
    }
}

cd_warp_sets *cd_warp_sets_new(const cd_vm_validators *validators)
{
    cd_warp_sets *s = cd_new(cd_warp_sets);
    s->validators = validators;
    cd_mutex_init(&s->lock);
    s->by_height = cd_lru_new(CD_HASH_KEYED, sizeof(place), CD_WARP_SETS_MAX, drop, NULL);
    s->by_digest = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), CD_WARP_SETS_MAX, drop, NULL);
    return s;
}

void cd_warp_sets_free(cd_warp_sets *s)
{
    if (s != NULL) {
        cd_lru_free(s->by_height);
        cd_lru_free(s->by_digest);
        cd_mutex_fini(&s->lock);
        cd_free(s);
    }
}

/* --- making one --- */

static void digest_of(cd_hash32 *out, const cd_vm_validator *v, usize cnt)
{
    cd_buf text = {0};
    for (usize i = 0; i < cnt; i++) {
        cd_buf_put(&text, cd_bytes_of(v[i].node_id.b, sizeof v[i].node_id.b));
        cd_put_be64(cd_buf_extend(&text, 8), v[i].weight);
        cd_buf_u8(&text, v[i].has_key);
        if (v[i].has_key) {
            cd_buf_put(&text, cd_bytes_of(v[i].key, sizeof v[i].key));
        }
    }
    cd_sha256(out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static int member_cmp(const void *key, const void *member)
{
    return memcmp(key, ((const cd_warp_member *)member)->raw, sizeof((const cd_warp_member *)member)->raw);
}

/* The place of a validator's key among the members; SIZE_MAX: it has none that is good. */
static usize member_of(const cd_warp_set *set, const cd_vm_validator *v)
{
    const cd_warp_member *m = NULL;
    if (v->has_key && set->cnt != 0) {
        m = bsearch(v->key, set->members, set->cnt, sizeof *set->members, member_cmp);
    }
    return m == NULL ? SIZE_MAX : (usize)(m - set->members);
}

static const cd_warp_nodes *nodes_of(cd_arena *a, const cd_warp_set *set, const cd_vm_validator *v, usize cnt)
{
    cd_warp_nodes *of = cd_arena_array(a, cd_warp_nodes, set->cnt + 1);
    usize *at = cd_arena_array(a, usize, cnt + 1);
    for (usize i = 0; i < cnt; i++) {
        at[i] = member_of(set, &v[i]);
        if (at[i] != SIZE_MAX) {
            of[at[i]].cnt++;
        }
    }
    for (usize i = 0; i < set->cnt; i++) {
        of[i].nodes = cd_arena_array(a, cd_node_id, of[i].cnt);
        of[i].cnt = 0;
    }
    for (usize i = 0; i < cnt; i++) {
        if (at[i] != SIZE_MAX) {
            cd_warp_nodes *one = &of[at[i]];
            ((cd_node_id *)(usize)one->nodes)[one->cnt++] = v[i].node_id;
        }
    }
    return of;
}

/* A key that does not parse is none: the P-Chain has checked it, but the bytes may come from elsewhere. */
static cd_err make(cd_warp_signers **out, const cd_vm_validator *v, usize cnt, const cd_hash32 *digest)
{
    cd_warp_signers *s = cd_new(cd_warp_signers);
    cd_arena *a = &s->own.mem;
    cd_warp_validator *all = cd_arena_array(a, cd_warp_validator, cnt + 1);
    for (usize i = 0; i < cnt; i++) {
        all[i].weight = v[i].weight;
        all[i].has_key = v[i].has_key && cd_bls_pk_dec(&all[i].key, cd_bytes_of(v[i].key, sizeof v[i].key)) == CD_OK;
    }
    s->digest = *digest;
    atomic_init(&s->own.refs, 1);
    cd_err e = cd_warp_set_make(&s->set, a, all, cnt);
    if (e != CD_OK) {
        cd_warp_signers_unref(s);
        return e;
    }
    s->of = nodes_of(a, &s->set, v, cnt);
    *out = s;
    return CD_OK;
}

/* --- the sets that are kept --- */

static cd_warp_signers *find(cd_warp_sets *s, cd_lru *in, const void *key)
{
    cd_mutex_lock(&s->lock);
    cd_warp_signers *got = cd_lru_get(in, key);
    if (got != NULL) {
        (void)ref(got);
    }
    cd_mutex_unlock(&s->lock);
    return got;
}

static void keep(cd_warp_sets *s, const place *at, cd_warp_signers *got)
{
    cd_mutex_lock(&s->lock);
    bool is_kept = cd_lru_put(s->by_height, at, ref(got), 1);
    bool is_known = cd_lru_put(s->by_digest, &got->digest, ref(got), 1);
    CD_ASSERT(is_kept && is_known);
    cd_mutex_unlock(&s->lock);
}

cd_err cd_warp_sets_get(cd_warp_sets *s, cd_warp_signers **out, const cd_hash32 *subnet, u64 height)
{
    place at;
    memset(&at, 0, sizeof at);
    at.subnet = *subnet;
    at.height = height;
    *out = find(s, s->by_height, &at);
    if (*out != NULL) {
        return CD_OK;
    }
    const cd_vm_validator *v = NULL;
    usize cnt = 0;
    cd_hash32 digest;
    cd_arena a = {0};
    cd_err e = s->validators == NULL ? CD_ENOENT : s->validators->at(s->validators, &v, &cnt, &a, subnet, height);
    if (e == CD_OK) {
        digest_of(&digest, v, cnt);
        *out = find(s, s->by_digest, &digest);
        e = *out != NULL ? CD_OK : make(out, v, cnt, &digest);
    }
    if (e == CD_OK) {
        keep(s, &at, *out);
    }
    cd_arena_fini(&a);
    return e;
}
