/* Makes and follows proofs of single keys. */
#include "store/trie_priv.h"

/* --- making --- */

/* Nodes on the way to a key: at most a branch and an extension per nibble, and a leaf. */
enum { WAY_MAX = 2 * CD__MAX_NIBBLES + 2 };

typedef struct way {
    cd_arena *arena;
    usize cnt;
    cd_bytes node[WAY_MAX];
} way;

/* Begins a node of the proof if its parent refers to it by hash; the root is always listed. */
static u8 *open_node(way *w, usize d, const cd__enc *enc, usize n)
{
    if (enc->n != 32 && d != 0) {
        return NULL;
    }
    u8 *p = cd_arena_alloc(w->arena, n + CD__BRANCH_SLACK);
    w->node[w->cnt++] = cd_bytes_of(p, n);
    return p;
}

static void list_leaf(way *w, const cd__leaf *l, usize d)
{
    cd_bytes key = cd__leaf_key(l);
    cd_bytes value = cd__leaf_value(l);
    usize payload = cd__leaf_payload(key, value, d);
    u8 *p = open_node(w, d, &l->enc, cd__hdr_size(payload) + payload);
    if (p != NULL) {
        cd__leaf_put(p, key, value, d);
    }
}

static void list_ext(way *w, const cd__branch *b, usize d)
{
    usize payload = cd__ext_payload(b->skip_n, &b->skip->enc);
    u8 *p = open_node(w, d, &b->enc, cd__hdr_size(payload) + payload);
    if (p != NULL) {
        cd__ext_put(p, b->skip->nib, b->skip_n, &b->skip->enc);
    }
}

static void list_branch(way *w, const cd__branch *b, usize d)
{
    usize payload = cd__branch_payload(b);
    const cd__enc *enc = b->skip_n != 0 ? &b->skip->enc : &b->enc;
    u8 *p = open_node(w, d, enc, cd__hdr_size(payload) + payload);
    if (p != NULL) {
        cd__branch_put(p, b, payload);
    }
}

cd_err cd_trie_prove(cd_trie *t, cd_trie_proof *out, cd_arena *a, cd_bytes key)
{
    if (key.n > CD_TRIE_MAX_KEY) {
        return CD_ELIMIT;
    }
    cd_hash32 root;
    cd_trie_root(t, &root);
    way w;
    w.arena = a;
    w.cnt = 0;
    cd__ref *slot = &t->root;
    usize d = 0;
    while (*slot != 0) {
        cd__ref r = *slot;
        if (cd__kind(r) == CD__HASH) {
            CD_TRY(cd__load(t, slot, key.p, d));
            continue;
        }
        if (cd__kind(r) == CD__LEAF) {
            list_leaf(&w, cd__leaf_of(r), d);
            break;
        }
        cd__branch *b = cd__branch_of(r);
        usize same = 0;
        if (b->skip_n != 0) {
            list_ext(&w, b, d);
            same = cd__match_skip(b, key, d);
        }
        if (same != b->skip_n) {
            break;
        }
        d += same;
        list_branch(&w, b, d);
        unsigned n = cd__nib(key.p, 2 * key.n, d);
        if (n == CD__END) {
            break;
        }
        slot = &b->kid[n];
        d++;
    }
    cd_bytes *node = cd_arena_array(a, cd_bytes, w.cnt);
    memcpy(node, w.node, w.cnt * sizeof *node);
    *out = (cd_trie_proof){.node = node, .cnt = w.cnt};
    return CD_OK;
}

cd_err cd_trie_prove_many(cd_trie *t, cd_trie_proof *out, cd_arena *a, const cd_bytes *keys, usize cnt)
{
    /* So few that loaded nodes are still in the processor's cache when they are encoded. */
    enum { CHUNK = 128 };
    for (usize at = 0; at < cnt; at += CHUNK) {
        usize n = cnt - at < CHUNK ? cnt - at : CHUNK;
        CD_TRY(cd_trie_load_many(t, keys + at, n));
        for (usize i = 0; i < n; i++) {
            CD_TRY(cd_trie_prove(t, &out[at + i], a, keys[at + i]));
        }
    }
    return CD_OK;
}

/* --- following --- */

/* Takes the next listed node, which must hash to hash. */
static bool take(cd_bytes *enc, const cd_trie_proof *proof, usize *at, const u8 hash[32])
{
    if (*at == proof->cnt) {
        return false;
    }
    *enc = proof->node[(*at)++];
    cd_hash32 h;
    cd_keccak256(&h, *enc);
    return memcmp(h.b, hash, 32) == 0;
}

cd_err cd_trie_verify(cd_bytes *value, const cd_hash32 *root, cd_bytes key, const cd_trie_proof *proof)
{
    usize at = 0;
    usize nibbles = 2 * key.n;
    if (key.n > CD_TRIE_MAX_KEY) {
        return CD_ELIMIT;
    }
    cd_bytes found = {0};
    cd__raw_ref ref = {.p = root->b, .n = 32};
    if (cd_hash32_eq(root, &CD_TRIE_EMPTY_ROOT)) {
        ref.n = 0;
    }
    for (usize d = 0; ref.n != 0;) {
        cd_bytes enc = cd_bytes_of(ref.p, ref.n);
        cd__raw raw;
        if ((ref.n == 32 && !take(&enc, proof, &at, ref.p)) || !cd__raw_dec(&raw, enc)) {
            return CD_EPROOF;
        }
        if (raw.kind == CD__RAW_BRANCH) {
            unsigned n = cd__nib(key.p, nibbles, d);
            if (n == CD__END) {
                found = raw.value;
                break;
            }
            ref = raw.kid[n];
            d++;
            continue;
        }
        usize same = 0;
        while (same < raw.path_n && raw.path[same] == cd__nib(key.p, nibbles, d + same)) {
            same++;
        }
        if (same != raw.path_n) {
            break; /* the key would fork off here: it is absent */
        }
        d += same;
        if (raw.kind == CD__RAW_LEAF) {
            if (d == nibbles) {
                found = raw.value;
            }
            break;
        }
        ref = raw.kid[0];
    }
    if (at != proof->cnt) {
        return CD_EPROOF;
    }
    *value = found;
    return CD_OK;
}
