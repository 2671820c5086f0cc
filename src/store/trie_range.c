/* Proofs that a run of items is complete.
 *
 * The verifier does not patch a partial trie: it rebuilds the root with the sorted builder out of
 *
 *   subtrees left of start ── items ── subtrees right of the last item
 *
 * where the subtrees are what the edge nodes refer to beside the two edge paths. If the builder gets
 * the trusted root, then by collision resistance nothing between the edges was left out or added. */
#include "base/mem/mem.h"
#include "store/trie_build_priv.h"

/* --- making --- */

cd_err cd_trie_prove_range(cd_trie *t, cd_trie_range *out, cd_arena *a, cd_bytes start, cd_bytes end, usize limit)
{
    if (start.n > CD_TRIE_MAX_KEY) {
        return CD_ELIMIT;
    }
    cd_hash32 root;
    cd_trie_root(t, &root);
    cd_trie_iter *it = cd_trie_iter_new(t, start, false);
    cd_trie_item *items = NULL;
    usize cnt = 0;
    usize cap = 0;
    bool more = false;
    cd_err err;
    cd_trie_item item;
    while ((err = cd_trie_iter_next(it, &item)) == CD_OK) {
        bool is_beyond = cnt >= limit || (end.n != 0 && cd_bytes_cmp(item.key, end) > 0);
        if (is_beyond && cnt != 0) {
            more = true;
            break;
        }
        if (cnt == cap) {
            cap = cap == 0 ? 64 : 2 * cap;
            items = cd_realloc(items, cap * sizeof *items);
        }
        items[cnt++] = (cd_trie_item){.key = cd_arena_dup(a, item.key), .value = cd_arena_dup(a, item.value)};
    }
    cd_trie_iter_free(it);
    if (err != CD_OK && err != CD_ENOENT) {
        goto out;
    }
    cd_trie_item *kept = cd_arena_array(a, cd_trie_item, cnt);
    if (cnt != 0) {
        memcpy(kept, items, cnt * sizeof *kept);
    }
    cd_trie_range range = {.items = kept, .cnt = cnt, .more = more};
    err = CD_OK;
    if (start.n == 0 && !more) {
        *out = range;
        goto out;
    }
    /* The way to start and the way to the last item; an empty start stands for all zero nibbles. */
    static const u8 zero[CD_TRIE_MAX_KEY];
    cd_trie_proof left;
    cd_trie_proof right = {0};
    err = cd_trie_prove(t, &left, a, start.n != 0 ? start : cd_bytes_of(zero, kept[0].key.n));
    if (err == CD_OK && cnt != 0) {
        err = cd_trie_prove(t, &right, a, kept[cnt - 1].key);
    }
    if (err != CD_OK) {
        goto out;
    }
    /* Lists each node once: the two ways share their beginning. */
    usize same = 0;
    while (same < left.cnt && same < right.cnt && cd_bytes_eq(left.node[same], right.node[same])) {
        same++;
    }
    cd_bytes *node = cd_arena_array(a, cd_bytes, left.cnt + right.cnt - same);
    memcpy(node, left.node, left.cnt * sizeof *node);
    if (right.cnt != same) {
        memcpy(node + left.cnt, right.node + same, (right.cnt - same) * sizeof *node);
    }
    range.proof = (cd_trie_proof){.node = node, .cnt = left.cnt + right.cnt - same};
    *out = range;
out:
    cd_free(items);
    return err;
}

/* Two ways from the root; a longer list cannot be honest. */
enum { PROOF_MAX = 2 * (2 * CD__MAX_NIBBLES + 2) };

/* --- verifying --- */

typedef struct node_set {
    const cd_trie_proof *proof;
    cd_hash32 *hash;
} node_set;

static bool find(cd_bytes *enc, const node_set *set, const u8 hash[32])
{
    for (usize i = 0; i < set->proof->cnt; i++) {
        if (memcmp(set->hash[i].b, hash, 32) == 0) {
            *enc = set->proof->node[i];
            return true;
        }
    }
    return false;
}

/* A subtree beside an edge path. */
typedef struct beside {
    u8 path[CD_TRIE_MAX_KEY + 1];
    u8 nibbles;
    cd__raw_ref ref;
} beside;

/* What an edge walk finds: at most fifteen subtrees per nibble. */
typedef struct edge {
    usize cnt;
    usize cap;
    beside *list;
} edge;

static void note(edge *e, const u8 *path, usize nibbles, const cd__raw_ref *ref)
{
    if (e->cnt == e->cap) {
        e->cap = e->cap == 0 ? 64 : 2 * e->cap;
        e->list = cd_realloc(e->list, e->cap * sizeof *e->list);
    }
    beside *b = &e->list[e->cnt++];
    memset(b->path, 0, sizeof b->path);
    memcpy(b->path, path, (nibbles + 1) / 2);
    b->nibbles = (u8)nibbles;
    b->ref = *ref;
}

/* Walks from the root towards key and collects the subtrees beside the way: those that come before key
 * (left) or after it. The way may end early: then the whole rest lies on one side of key. */
static cd_err walk(edge *e, const node_set *set, const cd_hash32 *root, cd_bytes key, bool left)
{
    u8 path[CD_TRIE_MAX_KEY + 1] = {0};
    usize nibbles = 2 * key.n;
    cd__raw_ref ref = {.p = root->b, .n = 32};
    for (usize d = 0; ref.n != 0;) {
        cd_bytes enc = cd_bytes_of(ref.p, ref.n);
        cd__raw raw;
        if ((ref.n == 32 && !find(&enc, set, ref.p)) || !cd__raw_dec(&raw, enc)) {
            return CD_EPROOF;
        }
        if (raw.kind == CD__RAW_BRANCH) {
            unsigned n = cd__nib(key.p, nibbles, d);
            if (n == CD__END || raw.value.n != 0) {
                return CD_EPROOF; /* keys of different lengths */
            }
            for (unsigned i = left ? 0 : n + 1; i < (left ? n : 16); i++) {
                if (raw.kid[i].n != 0) {
                    cd__path_set(path, d, i);
                    note(e, path, d + 1, &raw.kid[i]);
                }
            }
            cd__path_set(path, d, n);
            ref = raw.kid[n];
            d++;
            continue;
        }
        if (d + raw.path_n > nibbles || (raw.kind == CD__RAW_LEAF && d + raw.path_n != nibbles)) {
            return CD_EPROOF;
        }
        for (usize i = 0; i < raw.path_n; i++) {
            unsigned want = cd__nib(key.p, nibbles, d + i);
            if (raw.path[i] != want) {
                if ((raw.path[i] < want) == left) {
                    note(e, path, d, &ref);
                }
                return CD_OK;
            }
            cd__path_set(path, d + i, raw.path[i]);
        }
        if (raw.kind == CD__RAW_LEAF) {
            return CD_OK; /* key itself: one of the items */
        }
        d += raw.path_n;
        ref = raw.kid[0];
    }
    return CD_OK;
}

/* The subtrees of a right edge were noted from the top down; in key order the deepest comes first, and
 * those of one branch stay in their order. */
static cd_err add_right(cd_trie_build *b, const edge *e)
{
    for (usize end = e->cnt; end > 0;) {
        usize first = end - 1;
        while (first > 0 && e->list[first - 1].nibbles == e->list[end - 1].nibbles) {
            first--;
        }
        for (usize i = first; i < end; i++) {
            CD_TRY(cd__build_subtree(b, e->list[i].path, e->list[i].nibbles, &e->list[i].ref));
        }
        end = first;
    }
    return CD_OK;
}

static cd_err rebuild(cd_trie_build *b, cd_hash32 *out, const edge *left, const cd_trie_item *items, usize cnt,
                      const edge *right)
{
    for (usize i = 0; i < left->cnt; i++) {
        CD_TRY(cd__build_subtree(b, left->list[i].path, left->list[i].nibbles, &left->list[i].ref));
    }
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_trie_build_add(b, items[i].key, items[i].value));
    }
    CD_TRY(add_right(b, right));
    return cd__build_end(b, out);
}

cd_err cd_trie_verify_range(bool *more, const cd_hash32 *root, cd_bytes start, const cd_trie_item *items, usize cnt,
                            const cd_trie_proof *proof)
{
    if (proof->cnt > PROOF_MAX) {
        return CD_EPROOF;
    }
    usize key_n = cnt != 0 ? items[0].key.n : start.n;
    if (key_n > CD_TRIE_MAX_KEY || (start.n != 0 && start.n != key_n)) {
        return CD_EPROOF;
    }
    for (usize i = 0; i < cnt; i++) {
        if (items[i].key.n != key_n) {
            return CD_EPROOF;
        }
    }
    if (start.n != 0 && cnt != 0 && cd_bytes_cmp(items[0].key, start) < 0) {
        return CD_EPROOF;
    }
    edge left = {0};
    edge right = {0};
    node_set set = {.proof = proof};
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    cd_err err = CD_OK;
    /* Without nodes in the proof the items must be the whole trie, whatever start is. */
    if (proof->cnt != 0) {
        set.hash = cd_new_array(cd_hash32, proof->cnt);
        cd_keccak256_many(set.hash, proof->node, proof->cnt);
        if (start.n != 0) {
            err = walk(&left, &set, root, start, true);
        }
        if (err == CD_OK && (cnt != 0 || start.n != 0)) {
            err = walk(&right, &set, root, cnt != 0 ? items[cnt - 1].key : start, false);
        }
        if (err != CD_OK) {
            goto out;
        }
        if (cnt == 0 && right.cnt != 0) {
            err = CD_EPROOF; /* keys >= start exist and were left out */
            goto out;
        }
    }
    cd_hash32 got;
    err = rebuild(b, &got, &left, items, cnt, &right);
    if (err != CD_OK || !cd_hash32_eq(&got, root)) {
        err = CD_EPROOF;
        goto out;
    }
    *more = right.cnt != 0;
out:
    cd_trie_build_free(b);
    cd_free(set.hash);
    cd_free(left.list);
    cd_free(right.list);
    return err;
}
