/* Loads trie nodes from the store: one on the way to a key, or all on the ways to many keys at once. */
#include "base/mem/mem.h"
#include "store/trie_priv.h"

#include <stdlib.h>

/* --- from bytes to nodes --- */

static cd_err build(cd_trie *t, cd__ref *out, cd_bytes enc, const cd__enc *ref, const u8 *path, usize d,
                    bool is_stored);

/* A child of a decoded node: a HASH node, or the embedded node itself. Embedded nodes nest at most
 * ten deep, being shorter than 32 bytes and shrinking. */
static cd_err build_ref(cd_trie *t, cd__ref *out, const cd__raw_ref *raw, const u8 *path, usize d)
{
    if (raw->n == 32) {
        cd__enc *h = cd__slab_alloc(&t->slab, sizeof *h);
        memcpy(h->b, raw->p, 32);
        h->n = 32;
        *out = (cd__ref)h | CD__HASH;
        return CD_OK;
    }
    cd__enc enc = {.n = raw->n};
    memcpy(enc.b, raw->p, raw->n);
    return build(t, out, cd_bytes_of(raw->p, raw->n), &enc, path, d, false);
}

static cd_err build_leaf(cd_trie *t, cd__ref *out, const cd__raw *raw, const cd__enc *ref, const u8 *path, usize d,
                         bool is_stored)
{
    usize nibbles = d + raw->path_n;
    if (nibbles > CD__MAX_NIBBLES || nibbles & 1) {
        return CD_ECORRUPT;
    }
    u8 key[CD_TRIE_MAX_KEY];
    memcpy(key, path, (d + 1) / 2);
    for (usize i = 0; i < raw->path_n; i++) {
        cd__path_set(key, d + i, raw->path[i]);
    }
    cd__leaf *l = cd__leaf_new(t, cd_bytes_of(key, nibbles / 2), raw->value);
    l->enc = *ref;
    l->is_stored = is_stored;
    *out = (cd__ref)l | CD__LEAF;
    return CD_OK;
}

static cd_err build_branch(cd_trie *t, cd__ref *out, const cd__raw *raw, const cd__enc *ref, const u8 *path, usize d,
                           bool is_stored)
{
    if (d >= CD__MAX_NIBBLES && raw->kind == CD__RAW_BRANCH) {
        return CD_ECORRUPT;
    }
    cd__branch *b = cd__branch_new(t);
    b->enc = *ref;
    b->is_stored = is_stored;
    cd_err err = CD_OK;
    u8 kid_path[CD_TRIE_MAX_KEY + 1];
    memcpy(kid_path, path, (d + 1) / 2);
    for (unsigned i = 0; i < 16 && err == CD_OK; i++) {
        if (raw->kid[i].n != 0) {
            cd__path_set(kid_path, d, i);
            err = build_ref(t, &b->kid[i], &raw->kid[i], kid_path, d + 1);
        }
    }
    if (err == CD_OK && raw->value.n != 0) {
        if (d & 1) {
            err = CD_ECORRUPT;
        } else {
            b->end = (cd__ref)cd__leaf_new(t, cd_bytes_of(path, d / 2), raw->value) | CD__LEAF;
        }
    }
    if (err != CD_OK) {
        cd__ref_free(t, (cd__ref)b | CD__BRANCH);
        return err;
    }
    *out = (cd__ref)b | CD__BRANCH;
    return CD_OK;
}

/* Makes the branch that stands behind an extension its skipper. */
static cd_err build_ext(cd_trie *t, cd__ref *out, const cd__raw *raw, const cd__enc *ref, const u8 *path, usize d,
                        bool is_stored)
{
    usize end = d + raw->path_n;
    if (end >= CD__MAX_NIBBLES) {
        return CD_ECORRUPT;
    }
    u8 inner_path[CD_TRIE_MAX_KEY + 1];
    memcpy(inner_path, path, (d + 1) / 2);
    for (usize i = 0; i < raw->path_n; i++) {
        cd__path_set(inner_path, d + i, raw->path[i]);
    }
    cd__ref inner = 0;
    CD_TRY(build_ref(t, &inner, &raw->kid[0], inner_path, end));
    cd_err err = CD_OK;
    if (cd__kind(inner) == CD__HASH) {
        err = cd__load(t, &inner, inner_path, end);
    }
    if (err == CD_OK && cd__kind(inner) != CD__BRANCH) {
        err = CD_ECORRUPT;
    }
    if (err != CD_OK) {
        cd__ref_free(t, inner);
        return err;
    }
    cd__branch *b = cd__branch_of(inner);
    b->skip = cd__skip_new(t, raw->path_n);
    b->skip_n = raw->path_n;
    b->skip->enc = b->enc;
    b->skip->is_stored = b->is_stored;
    memcpy(b->skip->nib, raw->path, raw->path_n);
    b->enc = *ref;
    b->is_stored = is_stored;
    *out = (cd__ref)b | CD__SKIPPER;
    return CD_OK;
}

/* Makes the node enc, which its parent refers to by ref, at path. */
static cd_err build(cd_trie *t, cd__ref *out, cd_bytes enc, const cd__enc *ref, const u8 *path, usize d, bool is_stored)
{
    cd__raw raw;
    if (!cd__raw_dec(&raw, enc)) {
        return CD_ECORRUPT;
    }
    switch (raw.kind) {
    case CD__RAW_BRANCH:
        return build_branch(t, out, &raw, ref, path, d, is_stored);
    case CD__RAW_EXT:
        return build_ext(t, out, &raw, ref, path, d, is_stored);
    case CD__RAW_LEAF:
        return build_leaf(t, out, &raw, ref, path, d, is_stored);
    }
    CD_UNREACHABLE();
}

usize cd__store_key(u8 out[CD__MAX_STORE_KEY], cd_trie_scheme scheme, const u8 *path, usize d, const u8 hash[32])
{
    if (scheme == CD_TRIE_BY_HASH) {
        memcpy(out, hash, 32);
        return 32;
    }
    usize n = (d + 1) / 2;
    out[0] = (u8)d;
    if (n != 0) {
        memcpy(out + 1, path, n);
    }
    if (d & 1) {
        out[n] &= 0xf0;
    }
    return 1 + n;
}

/* The store's key of the unloaded node in slot. */
enum { FULL_KEY = CD_TRIE_MAX_NS + CD__MAX_STORE_KEY };

static cd_bytes full_key(u8 out[FULL_KEY], const cd_trie *t, cd__ref slot, const u8 *path, usize d)
{
    memcpy(out, t->ns, t->ns_n);
    usize n = cd__store_key(out + t->ns_n, t->scheme, path, d, cd__enc_of(slot)->b);
    return cd_bytes_of(out, t->ns_n + n);
}

/* Puts the node that raw, which hashes to hash, encodes in the place of the unloaded one. */
static cd_err install(cd_trie *t, cd__ref *slot, cd_bytes raw, const cd_hash32 *hash, const u8 *path, usize d)
{
    cd__enc *h = cd__enc_of(*slot);
    if (memcmp(hash->b, h->b, 32) != 0) {
        return CD_ECORRUPT;
    }
    cd__enc ref = *h;
    cd__ref node = 0;
    CD_TRY(build(t, &node, raw, &ref, path, d, t->scheme == CD_TRIE_BY_PATH));
    cd__slab_free(&t->slab, h, sizeof *h);
    *slot = node | (*slot & CD__MARKS);
    return CD_OK;
}

/* Stands in for the pointer of an empty path, which may be NULL. */
static const u8 no_path[1];

cd_err cd__load(cd_trie *t, cd__ref *slot, const u8 *path, usize d)
{
    if (t->nodes == NULL) {
        return CD_EMISSING;
    }
    path = d == 0 ? no_path : path;
    /* Loading an extension loads the branch inside with the same scratch buffer: it is taken out of the trie
     * meanwhile. */
    cd_buf raw = t->raw;
    t->raw = (cd_buf){0};
    u8 key[FULL_KEY];
    cd_err err = cd_kv_get(t->nodes, &raw, full_key(key, t, *slot, path, d));
    err = err == CD_ENOENT ? CD_EMISSING : err;
    if (err == CD_OK) {
        cd_hash32 hash;
        cd_keccak256(&hash, cd_buf_bytes(&raw));
        err = install(t, slot, cd_buf_bytes(&raw), &hash, path, d);
    }
    cd_buf_fini(&t->raw);
    t->raw = raw;
    return err;
}

/* --- many at once --- */

enum { LOAD_BATCH = 64 };

/* How far the way to a key is loaded. */
typedef struct cursor {
    cd__ref *slot;
    cd_bytes key;
    usize d;
} cursor;

/* Follows the nodes that are loaded; true when the way ends at one that is not. */
static bool follow(cursor *c)
{
    for (;;) {
        cd__ref r = *c->slot;
        if (r == 0 || cd__kind(r) == CD__LEAF) {
            return false;
        }
        if (cd__kind(r) == CD__HASH) {
            return true;
        }
        cd__branch *b = cd__branch_of(r);
        if (cd__match_skip(b, c->key, c->d) != b->skip_n) {
            return false;
        }
        c->d += b->skip_n;
        c->slot = cd__kid(b, cd__nib(c->key.p, 2 * c->key.n, c->d));
        c->d++;
    }
}

/* Room for the nodes of one round. */
typedef struct batch {
    usize cnt;
    cursor *at[LOAD_BATCH];
    u8 key_text[LOAD_BATCH][FULL_KEY];
    cd_bytes key[LOAD_BATCH];
    cd_buf raw[LOAD_BATCH];
    cd_err err[LOAD_BATCH];
    cd_bytes bytes[LOAD_BATCH];
    cd_hash32 hash[LOAD_BATCH];
} batch;

/* Loads the nodes at which the cursors stand, all different: read together, hashed side by side. */
static cd_err load_batch(cd_trie *t, batch *b)
{
    for (usize i = 0; i < b->cnt; i++) {
        const cursor *c = b->at[i];
        const u8 *path = c->d == 0 ? no_path : c->key.p;
        b->key[i] = full_key(b->key_text[i], t, *c->slot, path, c->d);
    }
    cd_kv_get_many(t->nodes, b->raw, b->err, b->key, b->cnt);
    for (usize i = 0; i < b->cnt; i++) {
        if (b->err[i] != CD_OK) {
            return b->err[i] == CD_ENOENT ? CD_EMISSING : b->err[i];
        }
        b->bytes[i] = cd_buf_bytes(&b->raw[i]);
    }
    cd_keccak256_many(b->hash, b->bytes, b->cnt);
    for (usize i = 0; i < b->cnt; i++) {
        const cursor *c = b->at[i];
        const u8 *path = c->d == 0 ? no_path : c->key.p;
        CD_TRY(install(t, c->slot, b->bytes[i], &b->hash[i], path, c->d));
    }
    b->cnt = 0;
    return CD_OK;
}

static int by_key(const void *x, const void *y)
{
    return cd_bytes_cmp(((const cursor *)x)->key, ((const cursor *)y)->key);
}

cd_err cd_trie_load_many(cd_trie *t, const cd_bytes *keys, usize cnt)
{
    if (t->nodes == NULL) {
        return CD_OK;
    }
    cursor *c = cd_new_array(cursor, cnt);
    batch *b = cd_new(batch);
    cd_err err = CD_OK;
    usize live = 0;
    bool is_sorted = true;
    for (usize i = 0; i < cnt; i++) {
        if (keys[i].n <= CD_TRIE_MAX_KEY) {
            c[live] = (cursor){.slot = &t->root, .key = keys[i]};
            is_sorted = is_sorted && (live == 0 || by_key(&c[live - 1], &c[live]) <= 0);
            live++;
        }
    }
    if (!is_sorted) {
        qsort(c, live, sizeof *c, by_key);
    }
    while (live != 0 && err == CD_OK) {
        usize kept = 0;
        for (usize i = 0; i < live && err == CD_OK; i++) {
            if (!follow(&c[i])) {
                continue;
            }
            if (kept == 0 || c[kept - 1].slot != c[i].slot) {
                b->at[b->cnt++] = &c[kept];
            }
            c[kept++] = c[i];
            if (b->cnt == LOAD_BATCH) {
                err = load_batch(t, b);
            }
        }
        if (err == CD_OK) {
            err = load_batch(t, b);
        }
        live = kept;
    }
    for (usize i = 0; i < LOAD_BATCH; i++) {
        cd_buf_fini(&b->raw[i]);
    }
    cd_free(b);
    cd_free(c);
    return err;
}
