#include "chains/evmchain/atomic/trie.h"

#include "base/mem/mem.h"
#include "codec/linear.h"

#include <stdlib.h>

enum {
    TABLE = 'z',
    LOG = 'r',
    NODES = 'n',
    ROOTS = 'R',
    CURSOR = 'c',
    LOGGED = 'v',
    KEY_MAX = 2 + CD_ATOMIC_KEY,
    PIECE = 2048, /* leafs, or heights, of one step */
    VALUE_MAX = 16 << 20,
};

/* --- records --- */

static cd_bytes key_of(u8 out[KEY_MAX], u8 kind, const u8 *rest, usize n)
{
    out[0] = TABLE;
    out[1] = kind;
    if (n != 0) {
        memcpy(out + 2, rest, n);
    }
    return cd_bytes_of(out, 2 + n);
}

static cd_bytes height_key(u8 out[KEY_MAX], u8 kind, u64 height)
{
    u8 be[8];
    cd_put_be64(be, height);
    return key_of(out, kind, be, sizeof be);
}

/* A height, or a root, by its key. */
static cd_err get(const cd_atomic_trie *t, u8 *out, usize n, cd_bytes key)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(t->kv, &v, key);
    e = e == CD_OK && v.n != n ? CD_ECORRUPT : e;
    if (e == CD_OK) {
        memcpy(out, v.p, n);
    }
    cd_buf_fini(&v);
    return e;
}

/* --- requests --- */

typedef struct element {
    cd_bytes key;
    cd_bytes value;
    cd_linear_list traits; /* of cd_bytes */
} element;

typedef struct requests {
    cd_linear_list removes; /* of cd_bytes */
    cd_linear_list puts;    /* of element */
} requests;

static const cd_linear_field bytes_elem = {.kind = CD_LINEAR_BYTES};
static const cd_linear_field element_fields[] = {
    CD_LINEAR_FIELD(BYTES, element, key, NULL),
    CD_LINEAR_FIELD(BYTES, element, value, NULL),
    CD_LINEAR_FIELD(LIST, element, traits, NULL, .elem = &bytes_elem),
};
static const cd_linear_type element_type = CD_LINEAR_TYPE(element, element_fields);
static const cd_linear_field element_elem = {.kind = CD_LINEAR_STRUCT, .of = &element_type};
static const cd_linear_field requests_fields[] = {
    CD_LINEAR_FIELD(LIST, requests, removes, NULL, .elem = &bytes_elem),
    CD_LINEAR_FIELD(LIST, requests, puts, NULL, .elem = &element_elem),
};
static const cd_linear_type requests_type = CD_LINEAR_TYPE(requests, requests_fields);

/* Appends the requests of changes with one peer, in the order given. */
static void put_requests(cd_buf *out, cd_arena *a, const cd_vm_shared_change *changes, usize cnt, const cd_hash32 *peer)
{
    usize removes = 0;
    usize puts = 0;
    for (usize i = 0; i < cnt; i++) {
        bool is_its = cd_hash32_eq(&changes[i].peer, peer);
        removes += is_its ? changes[i].remove_cnt : 0;
        puts += is_its ? changes[i].put_cnt : 0;
    }
    cd_bytes *keys = cd_arena_array(a, cd_bytes, removes);
    element *elems = cd_arena_array(a, element, puts);
    requests r = {.removes = {.v = keys}, .puts = {.v = elems}};
    for (usize i = 0; i < cnt; i++) {
        const cd_vm_shared_change *c = &changes[i];
        if (!cd_hash32_eq(&c->peer, peer)) {
            continue;
        }
        for (usize k = 0; k < c->remove_cnt; k++) {
            keys[r.removes.cnt++] = c->removes[k];
        }
        for (usize k = 0; k < c->put_cnt; k++) {
            const cd_vm_shared_elem *e = &c->puts[k];
            elems[r.puts.cnt++] = (element){
                .key = e->key,
                .value = e->value,
                .traits = {.v = (void *)(uintptr_t)e->traits, .cnt = (u32)e->trait_cnt},
            };
        }
    }
    cd_linear_put(out, &requests_type, &r);
}

static int by_id(const void *x, const void *y)
{
    const cd_atomic_tx *const *a = x;
    const cd_atomic_tx *const *b = y;
    return memcmp((*a)->id.b, (*b)->id.b, 32);
}

/* Transactions of a block count in the order of their IDs. */
void cd_atomic_trie_log(cd_kv_batch *batch, u64 height, const cd_atomic_tx *txs, usize cnt)
{
    cd_arena a = {0};
    cd_buf value = {0};
    const cd_atomic_tx **sorted = cd_arena_array(&a, const cd_atomic_tx *, cnt);
    cd_vm_shared_change *changes = cd_arena_array(&a, cd_vm_shared_change, cnt);
    for (usize i = 0; i < cnt; i++) {
        sorted[i] = &txs[i];
    }
    if (cnt > 1) {
        qsort(sorted, cnt, sizeof *sorted, by_id);
    }
    for (usize i = 0; i < cnt; i++) {
        cd_atomic_change(&changes[i], &a, sorted[i]);
    }
    for (usize i = 0; i < cnt; i++) {
        u8 key[KEY_MAX];
        u8 rest[CD_ATOMIC_KEY];
        bool is_first = true;
        for (usize k = 0; k < i && is_first; k++) {
            is_first = !cd_hash32_eq(&changes[k].peer, &changes[i].peer);
        }
        if (is_first) {
            cd_put_be64(rest, height);
            memcpy(rest + 8, changes[i].peer.b, 32);
            cd_buf_clear(&value);
            put_requests(&value, &a, changes, cnt, &changes[i].peer);
            cd_kv_batch_put(batch, key_of(key, LOG, rest, sizeof rest), cd_buf_bytes(&value));
        }
    }
    cd_buf_fini(&value);
    cd_arena_fini(&a);
}

/* --- where it stands --- */

cd_err cd_atomic_trie_open(cd_atomic_trie *t, cd_kv *kv, u64 interval)
{
    const u8 prefix[2] = {TABLE, ROOTS};
    u8 key[KEY_MAX];
    u8 be[8];
    cd_kv_iter *it;
    CD_ASSERT(interval != 0);
    *t = (cd_atomic_trie){.kv = kv, .interval = interval, .root = CD_TRIE_EMPTY_ROOT};
    cd_err e = get(t, be, sizeof be, key_of(key, CURSOR, NULL, 0));
    t->has_cursor = e == CD_OK;
    t->cursor = e == CD_OK ? cd_be64(be) : 0;
    CD_TRY(e == CD_ENOENT ? CD_OK : e);
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(prefix, 2), .reverse = true}));
    if (cd_kv_iter_next(it)) {
        bool is = cd_kv_iter_key(it).n == 10 && cd_kv_iter_value(it).n == 32;
        e = is ? CD_OK : CD_ECORRUPT;
        if (is) {
            t->last = cd_be64(cd_kv_iter_key(it).p + 2);
            memcpy(t->root.b, cd_kv_iter_value(it).p, 32);
        }
    }
    e = e == CD_ECORRUPT ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

void cd_atomic_trie_close(cd_atomic_trie *t)
{
    cd_trie_close(t->built);
    cd_kv_batch_fini(&t->batch);
    *t = (cd_atomic_trie){.kv = NULL};
}

cd_err cd_atomic_trie_is_logged(const cd_atomic_trie *t, bool *is)
{
    u8 key[KEY_MAX];
    return cd_kv_has(t->kv, is, key_of(key, LOGGED, NULL, 0));
}

void cd_atomic_trie_logged(cd_kv_batch *batch)
{
    u8 key[KEY_MAX];
    cd_kv_batch_put(batch, key_of(key, LOGGED, NULL, 0), cd_bytes_str("\x01"));
}

cd_err cd_atomic_trie_root_at(const cd_atomic_trie *t, cd_hash32 *out, u64 height)
{
    u8 key[KEY_MAX];
    return get(t, out->b, 32, height_key(key, ROOTS, height));
}

cd_err cd_atomic_trie_at(const cd_atomic_trie *t, cd_trie **out, const cd_hash32 *root)
{
    static const u8 ns[2] = {TABLE, NODES};
    const cd_trie_cfg cfg = {.nodes = t->kv, .ns = cd_bytes_of(ns, 2), .root = *root, .scheme = CD_TRIE_BY_HASH};
    return cd_trie_open(out, &cfg, NULL);
}

/* --- roots --- */

/* Puts what the log has from the key at up to a height, PIECE leafs at most; *more false: that was all. at moves on. */
static cd_err put_log(const cd_atomic_trie *t, cd_trie *trie, u8 at[CD_ATOMIC_KEY], u64 height, bool *more)
{
    const u8 prefix[2] = {TABLE, LOG};
    u8 key[KEY_MAX];
    cd_kv_iter *it;
    const cd_kv_range range = {.prefix = cd_bytes_of(prefix, 2), .start = key_of(key, LOG, at, CD_ATOMIC_KEY)};
    CD_TRY(cd_kv_iter_new(&it, t->kv, &range));
    cd_err e = CD_OK;
    *more = true;
    for (u32 i = 0; i < PIECE && e == CD_OK && *more; i++) {
        *more = cd_kv_iter_next(it);
        cd_bytes k = *more ? cd_kv_iter_key(it) : (cd_bytes){0};
        if (*more && k.n != KEY_MAX) {
            e = CD_ECORRUPT;
        } else if (*more && cd_be64(k.p + 2) > height) {
            *more = false;
        } else if (*more) {
            memcpy(at, k.p + 2, CD_ATOMIC_KEY);
            e = cd_trie_put(trie, cd_bytes_of(k.p + 2, CD_ATOMIC_KEY), cd_kv_iter_value(it));
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    return e;
}

/* Writes the changed nodes, and the root of a height (0: of none). */
static cd_err commit(cd_atomic_trie *t, cd_trie *trie, u64 height, cd_hash32 *root, cd_errinfo *why)
{
    u8 key[KEY_MAX];
    cd_kv_batch_for(&t->batch, t->kv);
    cd_trie_commit(trie, root, &t->batch);
    if (height != 0) {
        cd_kv_batch_put(&t->batch, height_key(key, ROOTS, height), cd_bytes_of(root->b, 32));
    }
    return cd_kv_commit(t->kv, &t->batch, CD_KV_NOSYNC, why);
}

static cd_err make_root(cd_atomic_trie *t, u64 height, cd_errinfo *why)
{
    cd_trie *trie = NULL;
    cd_hash32 root;
    u8 at[CD_ATOMIC_KEY] = {0};
    bool more = true;
    cd_put_be64(at, t->last + 1);
    cd_err e = cd_atomic_trie_at(t, &trie, &t->root);
    while (e == CD_OK && more) {
        e = put_log(t, trie, at, height, &more);
    }
    e = e == CD_OK ? commit(t, trie, height, &root, why) : e;
    cd_trie_close(trie);
    if (e == CD_OK) {
        t->last = height;
        t->root = root;
    }
    return e;
}

cd_err cd_atomic_trie_advance(cd_atomic_trie *t, u64 height, cd_errinfo *why)
{
    cd_err e = CD_OK;
    while (e == CD_OK && height - height % t->interval > t->last) {
        e = make_root(t, t->last - t->last % t->interval + t->interval, why);
    }
    return e;
}

void cd_atomic_trie_own(cd_atomic_trie *t, cd_kv_batch *batch, u64 height)
{
    u8 key[KEY_MAX];
    if (!t->has_cursor || height < t->cursor) {
        return;
    }
    if (batch != NULL) {
        cd_kv_batch_del(batch, key_of(key, CURSOR, NULL, 0));
    } else {
        t->has_cursor = cd_kv_del(t->kv, key_of(key, CURSOR, NULL, 0)) != CD_OK;
    }
}

/* --- sync --- */

cd_err cd_atomic_trie_take(cd_kv_batch *batch, const cd_trie_item *leaf, cd_errinfo *why)
{
    u8 key[KEY_MAX];
    requests r;
    cd_arena a = {0};
    cd_err e = leaf->key.n == CD_ATOMIC_KEY ? CD_OK : CD_ECORRUPT;
    e = e != CD_OK ? e : cd_linear_parse(&r, &requests_type, &a, leaf->value, VALUE_MAX, NULL);
    cd_arena_fini(&a);
    if (e != CD_OK) {
        return cd_fail(why, CD_ECORRUPT, "the atomic trie has a leaf that is no request");
    }
    cd_kv_batch_put(batch, key_of(key, LOG, leaf->key.p, CD_ATOMIC_KEY), leaf->value);
    return CD_OK;
}

/* Durably, and before the chain stands there: a stop behind that moment finds what is left to do. */
static cd_err put_cursor(cd_atomic_trie *t, u64 own, cd_errinfo *why)
{
    u8 key[KEY_MAX];
    u8 be[8];
    cd_put_be64(be, own + 1);
    cd_kv_batch_for(&t->batch, t->kv);
    cd_kv_batch_put(&t->batch, key_of(key, CURSOR, NULL, 0), cd_bytes_of(be, sizeof be));
    CD_TRY(cd_kv_commit(t->kv, &t->batch, CD_KV_SYNC, why));
    t->has_cursor = true;
    t->cursor = own + 1;
    return CD_OK;
}

cd_err cd_atomic_trie_build(cd_atomic_trie *t, u64 own, u64 height, const cd_hash32 *root, bool *more, cd_errinfo *why)
{
    cd_hash32 got;
    bool has_log = true;
    if (t->built == NULL || t->built_to != height) {
        cd_trie_close(t->built);
        t->built = NULL;
        CD_TRY(cd_atomic_trie_at(t, &t->built, &t->root));
        t->built_to = height;
        memset(t->built_at, 0, sizeof t->built_at);
        cd_put_be64(t->built_at, t->last + 1);
    }
    CD_TRY(put_log(t, t->built, t->built_at, height, &has_log));
    *more = has_log;
    if (has_log) {
        return commit(t, t->built, 0, &got, why);
    }
    cd_trie_root(t->built, &got);
    cd_err e = cd_hash32_eq(&got, root) ? commit(t, t->built, height, &got, why)
                                        : cd_fail(why, CD_EPROOF, "what was taken is not the atomic trie of block %llu",
                                                  (unsigned long long)height);
    cd_trie_close(t->built);
    t->built = NULL;
    if (e == CD_OK) {
        t->last = height;
        t->root = got;
        e = put_cursor(t, own, why);
    }
    return e;
}

/* --- shared memory --- */

/* Appends the change that a record of the log tells, in the arena. */
static cd_err change_of(cd_vm_shared_change *out, cd_arena *a, const u8 peer[32], cd_bytes value)
{
    requests r;
    CD_TRY(cd_linear_parse(&r, &requests_type, a, cd_arena_dup(a, value), VALUE_MAX, NULL));
    const element *elems = r.puts.v;
    cd_vm_shared_elem *puts = cd_arena_array(a, cd_vm_shared_elem, r.puts.cnt);
    for (u32 i = 0; i < r.puts.cnt; i++) {
        puts[i] = (cd_vm_shared_elem){.key = elems[i].key,
                                      .value = elems[i].value,
                                      .traits = elems[i].traits.v,
                                      .trait_cnt = elems[i].traits.cnt};
    }
    *out =
        (cd_vm_shared_change){.removes = r.removes.v, .remove_cnt = r.removes.cnt, .puts = puts, .put_cnt = r.puts.cnt};
    memcpy(out->peer.b, peer, 32);
    return CD_OK;
}

/* A block has no more peers than this. */
enum { PEERS_MAX = 8 };

/* Brings shared memory behind the next height that has requests, up to height, in one write. */
static cd_err apply_next(cd_atomic_trie *t, const cd_vm_shared *shared, u64 height, bool *more, cd_errinfo *why)
{
    const u8 prefix[2] = {TABLE, LOG};
    u8 key[KEY_MAX];
    u8 be[8];
    u64 at = height;
    cd_vm_shared_change changes[PEERS_MAX];
    usize cnt = 0;
    cd_arena a = {0};
    cd_kv_iter *it;
    const cd_kv_range range = {.prefix = cd_bytes_of(prefix, 2), .start = height_key(key, LOG, t->cursor)};
    CD_TRY(cd_kv_iter_new(&it, t->kv, &range));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        u64 its = k.n == KEY_MAX ? cd_be64(k.p + 2) : 0;
        if (its > height || (cnt != 0 && its != at)) {
            break;
        }
        at = its;
        e = k.n == KEY_MAX && cnt < PEERS_MAX ? change_of(&changes[cnt++], &a, k.p + 10, cd_kv_iter_value(it))
                                              : CD_ECORRUPT;
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    *more = cnt != 0 && at < height;
    cd_kv_batch_for(&t->batch, t->kv);
    if (*more) {
        cd_put_be64(be, at + 1);
        cd_kv_batch_put(&t->batch, key_of(key, CURSOR, NULL, 0), cd_bytes_of(be, sizeof be));
    } else {
        cd_kv_batch_del(&t->batch, key_of(key, CURSOR, NULL, 0));
    }
    if (e == CD_OK && cnt != 0) {
        e = shared->apply(shared, &t->batch, changes, cnt); /* the batch is for the whole store afterwards */
        e = e == CD_OK ? CD_OK
                       : cd_fail(why, e, "shared memory does not take what block %llu did: %s", (unsigned long long)at,
                                 cd_err_str(e));
    }
    cd_kv_batch_narrow(&t->batch, t->kv);
    e = e == CD_OK ? cd_kv_commit(t->kv, &t->batch, *more ? CD_KV_NOSYNC : CD_KV_SYNC, why) : e;
    if (e == CD_OK) {
        t->cursor = at + 1;
        t->has_cursor = *more;
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_atomic_trie_apply(cd_atomic_trie *t, const cd_vm_shared *shared, u64 height, bool *more, cd_errinfo *why)
{
    cd_err e = CD_OK;
    *more = t->has_cursor;
    for (u32 i = 0; i < PIECE / 8 && e == CD_OK && *more; i++) {
        e = apply_next(t, shared, height, more, why);
    }
    return e;
}
