/* Hashing and committing.
 *
 * Hashing goes level by level: the stale slots are listed by depth, then from the deepest level up
 * the nodes of one level, which do not depend on each other, are encoded side by side and hashed in
 * batches (crypto/hash/keccak.h takes eight at once). A level is also what threads share. Committing walks the
 * dirty slots in path order and encodes once more, straight into the batch. */
#include "base/mem/mem.h"
#include "store/trie_priv.h"

/* --- the list of stale slots --- */

enum { INNER = 1 }; /* bit 0 of a listed slot */

static void list_slot(cd_trie *t, usize d, cd__ref *slot, uintptr_t mark)
{
    cd__level *l = &t->level[d];
    if (l->cnt == l->cap) {
        l->cap = l->cap == 0 ? 16 : 2 * l->cap;
        l->slot = cd_realloc(l->slot, l->cap * sizeof *l->slot);
    }
    l->slot[l->cnt++] = (uintptr_t)slot | mark;
}

/* How many entries ahead nodes are fetched into the cache. */
enum { AHEAD = 8 };

/* The lines of a branch, or of a leaf of the usual size. */
static void fetch_node(cd__ref r)
{
    const char *p = cd__node(r);
    __builtin_prefetch(p);
    __builtin_prefetch(p + 64);
    __builtin_prefetch(p + 128);
}

static void fetch_ahead(const cd__level *l, usize i)
{
    if (i + AHEAD < l->cnt) {
        fetch_node(*(cd__ref *)(l->slot[i + AHEAD] & ~(uintptr_t)INNER));
    }
}

/* Lists every stale slot; gives the number of levels in use. */
static usize list_stale(cd_trie *t)
{
    if (t->level == NULL) {
        t->level = cd_new_array(cd__level, CD__MAX_NIBBLES + 1);
    }
    list_slot(t, 0, &t->root, 0);
    usize end = 1;
    for (usize d = 0; d < end; d++) {
        for (u32 i = 0; i < t->level[d].cnt; i++) {
            fetch_ahead(&t->level[d], i);
            uintptr_t entry = t->level[d].slot[i];
            cd__ref *slot = (cd__ref *)(entry & ~(uintptr_t)INNER);
            cd__ref r = *slot;
            if (cd__kind(r) == CD__LEAF) {
                continue;
            }
            cd__branch *b = cd__branch_of(r);
            usize low = d;
            if (cd__kind(r) == CD__SKIPPER && !(entry & INNER)) {
                low = d + b->skip_n;
                list_slot(t, low, slot, INNER);
            } else {
                for (unsigned k = 0; k < 16; k++) {
                    if (b->kid[k] & CD__STALE) {
                        low = d + 1;
                        list_slot(t, low, &b->kid[k], 0);
                    }
                }
            }
            end = end > low + 1 ? end : low + 1;
        }
    }
    return end;
}

/* --- hashing a level --- */

enum {
    ROUND = 128,           /* messages hashed at a time */
    ROUND_BYTES = 1 << 16, /* room for their encodings */
};

/* Encodings waiting for their hashes. */
typedef struct round {
    u32 cnt;
    usize used;
    cd_bytes msg[ROUND];
    cd__enc *enc[ROUND];
    cd_hash32 hash[ROUND];
    u8 text[ROUND_BYTES];
} round;

static void round_flush(round *r)
{
    cd_keccak256_many(r->hash, r->msg, r->cnt);
    for (u32 i = 0; i < r->cnt; i++) {
        memcpy(r->enc[i]->b, r->hash[i].b, 32);
        r->enc[i]->n = 32;
    }
    r->cnt = 0;
    r->used = 0;
}

/* Takes the n bytes that were written at the end of text as enc's encoding. */
static void round_take(round *r, cd__enc *enc, usize n)
{
    if (n < 32) {
        memcpy(enc->b, r->text + r->used, n);
        enc->n = (u8)n;
        return;
    }
    r->msg[r->cnt] = cd_bytes_of(r->text + r->used, n);
    r->enc[r->cnt++] = enc;
    r->used += n;
    if (r->cnt == ROUND) {
        round_flush(r);
    }
}

static void hash_big_leaf(cd__leaf *l, usize d)
{
    cd_buf enc = {0};
    u8 *p = cd_buf_reserve(&enc, l->size + CD__LEAF_EXTRA);
    usize n = (usize)(cd__leaf_put(p, cd__leaf_key(l), cd__leaf_value(l), d) - p);
    cd_hash32 hash;
    cd_keccak256(&hash, cd_bytes_of(p, n));
    memcpy(l->enc.b, hash.b, 32);
    l->enc.n = 32;
    cd_buf_fini(&enc);
}

static void hash_big_branch(cd__branch *b, usize payload)
{
    cd_buf enc = {0};
    u8 *p = cd_buf_reserve(&enc, payload + 9 + CD__BRANCH_SLACK);
    usize n = (usize)(cd__branch_put(p, b, payload) - p);
    cd__enc *out = b->skip_n != 0 ? &b->skip->enc : &b->enc;
    cd_hash32 hash;
    cd_keccak256(&hash, cd_bytes_of(p, n));
    memcpy(out->b, hash.b, 32);
    out->n = 32;
    cd_buf_fini(&enc);
}

/* Encodes the node of one listed slot of depth d and clears its mark. */
static void encode(round *r, uintptr_t entry, usize d)
{
    cd__ref *slot = (cd__ref *)(entry & ~(uintptr_t)INNER);
    cd__ref ref = *slot;
    if (cd__kind(ref) == CD__LEAF) {
        cd__leaf *l = cd__leaf_of(ref);
        *slot = ref & ~(cd__ref)CD__STALE;
        usize bound = l->key_n + (usize)l->value_n + CD__LEAF_EXTRA;
        if (bound > ROUND_BYTES - r->used) {
            round_flush(r);
        }
        if (bound > ROUND_BYTES) {
            hash_big_leaf(l, d);
            return;
        }
        u8 *p = r->text + r->used;
        u8 *end = cd__leaf_put(p, cd__leaf_key(l), cd__leaf_value(l), d);
        round_take(r, &l->enc, (usize)(end - p));
        return;
    }
    cd__branch *b = cd__branch_of(ref);
    if (cd__kind(ref) == CD__SKIPPER && !(entry & INNER)) {
        *slot = ref & ~(cd__ref)CD__STALE;
        if (CD__EXT_MAX > ROUND_BYTES - r->used) {
            round_flush(r);
        }
        u8 *p = r->text + r->used;
        u8 *end = cd__ext_put(p, b->skip->nib, b->skip_n, &b->skip->enc);
        round_take(r, &b->enc, (usize)(end - p));
        return;
    }
    if (!(entry & INNER)) {
        *slot = ref & ~(cd__ref)CD__STALE;
    }
    usize payload = cd__branch_payload(b);
    usize bound = payload + 9 + CD__BRANCH_SLACK;
    if (bound > ROUND_BYTES - r->used) {
        round_flush(r);
    }
    if (bound > ROUND_BYTES) {
        hash_big_branch(b, payload);
        return;
    }
    u8 *p = r->text + r->used;
    u8 *end = cd__branch_put(p, b, payload);
    round_take(r, b->skip_n != 0 ? &b->skip->enc : &b->enc, (usize)(end - p));
}

/* Prefetches the children of a branch that is encoded soon: it contains their hashes. */
static void fetch_kids(const cd__level *l, usize i)
{
    if (i + AHEAD / 2 >= l->cnt) {
        return;
    }
    cd__ref r = *(cd__ref *)(l->slot[i + AHEAD / 2] & ~(uintptr_t)INNER);
    if (cd__is_branch(r)) {
        for (unsigned k = 0; k < 16; k++) {
            __builtin_prefetch(cd__node(cd__branch_of(r)->kid[k]));
        }
    }
}

/* A level cut into pieces for the pool; slot numbers choose the scratch area. */
typedef struct level_job {
    const cd__level *level;
    usize d;
    round **scratch;
} level_job;

enum { PIECE = 512 };

static void hash_piece(void *arg, usize i, u32 slot)
{
    level_job *job = arg;
    round *r = job->scratch[slot];
    usize end = (i + 1) * PIECE;
    end = end < job->level->cnt ? end : job->level->cnt;
    for (usize at = i * PIECE; at < end; at++) {
        fetch_ahead(job->level, at);
        fetch_kids(job->level, at);
        encode(r, job->level->slot[at], job->d);
    }
    round_flush(r);
}

static void hash_stale(cd_trie *t)
{
    usize levels = list_stale(t);
    u32 slots = cd_pool_slots(t->pool);
    round **scratch = cd_new_array(round *, slots);
    scratch[0] = cd_realloc(NULL, sizeof(round));
    scratch[0]->cnt = 0;
    scratch[0]->used = 0;
    for (usize d = levels; d-- > 0;) {
        level_job job = {.level = &t->level[d], .d = d, .scratch = scratch};
        usize pieces = (job.level->cnt + PIECE - 1) / PIECE;
        if (pieces > 1 && slots > 1) {
            for (u32 i = 1; i < slots && scratch[i] == NULL; i++) {
                scratch[i] = cd_realloc(NULL, sizeof(round));
                scratch[i]->cnt = 0;
                scratch[i]->used = 0;
            }
            cd_pool_for(t->pool, pieces, hash_piece, &job);
        } else {
            for (usize i = 0; i < pieces; i++) {
                hash_piece(&job, i, 0);
            }
        }
        t->level[d].cnt = 0;
    }
    for (u32 i = 0; i < slots; i++) {
        cd_free(scratch[i]);
    }
    cd_free(scratch);
}

void cd_trie_root(cd_trie *t, cd_hash32 *out)
{
    if (t->root == 0) {
        *out = CD_TRIE_EMPTY_ROOT;
        return;
    }
    if (t->root & CD__STALE) {
        hash_stale(t);
    }
    const cd__enc *e = cd__enc_of(t->root);
    if (e->n == 32) {
        memcpy(out->b, e->b, 32);
    } else {
        cd_keccak256(out, cd_bytes_of(e->b, e->n));
    }
}

/* --- committing --- */

/* The state of a commit: the position as a packed path, and the batch that it fills. */
typedef struct commit {
    cd_trie *t;
    cd_kv_batch *batch;
    u8 path[CD_TRIE_MAX_KEY + 1];
} commit;

/* Opens a record for a node of n bytes at depth d; gives the place for its encoding. */
static u8 *node_record(commit *c, usize d, const cd__enc *enc, usize n)
{
    u8 key[CD__MAX_STORE_KEY];
    usize key_n = cd__store_key(key, c->t->scheme, c->path, d, enc->b);
    return cd_kv_batch_put2(c->batch, cd_bytes_of(c->t->ns, c->t->ns_n), cd_bytes_of(key, key_n), n);
}

/* Only nodes that their parent refers to by hash are stored on their own; the root always is. *enc is
 * replaced by the hash for a short root. */
static bool has_record(commit *c, usize d, cd__enc *enc, bool *is_stored)
{
    if (enc->n != 32 && d == 0) {
        cd_hash32 hash;
        cd_keccak256(&hash, cd_bytes_of(enc->b, enc->n));
        memcpy(enc->b, hash.b, 32);
        enc->n = 32;
    }
    bool is_own = enc->n == 32;
    if (!is_own && *is_stored && c->t->scheme == CD_TRIE_BY_PATH) {
        u8 key[CD__MAX_STORE_KEY];
        usize key_n = cd__store_key(key, CD_TRIE_BY_PATH, c->path, d, NULL);
        cd_kv_batch_del2(c->batch, cd_bytes_of(c->t->ns, c->t->ns_n), cd_bytes_of(key, key_n));
    }
    *is_stored = is_own;
    return is_own;
}

static void commit_leaf(commit *c, cd__leaf *l, usize d)
{
    if (!has_record(c, d, &l->enc, &l->is_stored)) {
        return;
    }
    cd_bytes key = cd__leaf_key(l);
    cd_bytes value = cd__leaf_value(l);
    usize payload = cd__leaf_payload(key, value, d);
    u8 *p = node_record(c, d, &l->enc, cd__hdr_size(payload) + payload);
    cd__leaf_put(p, key, value, d);
}

/* Commits the branch's own nodes; the path holds the outer position and is led on to the inner one. */
static void commit_branch(commit *c, cd__branch *b, usize d)
{
    cd__enc *inner = &b->enc;
    bool *inner_stored = &b->is_stored;
    if (b->skip_n != 0) {
        inner = &b->skip->enc;
        inner_stored = &b->skip->is_stored;
        /* A short inner node is part of the extension also at the root: encode it before the root's
         * enc may be replaced. */
        if (has_record(c, d, &b->enc, &b->is_stored)) {
            usize payload = cd__ext_payload(b->skip_n, inner);
            u8 *p = node_record(c, d, &b->enc, cd__hdr_size(payload) + payload);
            cd__ext_put(p, b->skip->nib, b->skip_n, inner);
        }
        for (usize i = 0; i < b->skip_n; i++) {
            cd__path_set(c->path, d + i, b->skip->nib[i]);
        }
        d += b->skip_n;
    }
    if (has_record(c, d, inner, inner_stored)) {
        usize payload = cd__branch_payload(b);
        u8 *p = node_record(c, d, inner, cd__hdr_size(payload) + payload);
        cd__branch_put(p, b, payload);
    }
}

static void commit_dirty(commit *c)
{
    struct {
        cd__branch *b;
        u16 d; /* depth of the nibble that tells its children apart */
        u8 at;
    } stack[CD__MAX_NIBBLES + 1];
    usize depth = 0;
    cd__ref *slot = &c->t->root;
    usize d = 0;
    for (;;) {
        cd__ref r = *slot;
        if (r & CD__DIRTY) {
            *slot = r & ~(cd__ref)CD__DIRTY;
            if (cd__kind(r) == CD__LEAF) {
                commit_leaf(c, cd__leaf_of(r), d);
            } else {
                cd__branch *b = cd__branch_of(r);
                commit_branch(c, b, d);
                b->end &= ~(cd__ref)CD__MARKS;
                for (unsigned k = 0; k < 16; k++) {
                    if (b->kid[k] & CD__DIRTY) {
                        fetch_node(b->kid[k]);
                    }
                }
                CD_ASSERT(depth < CD_COUNT(stack));
                stack[depth].b = b;
                stack[depth].d = (u16)(d + b->skip_n);
                stack[depth++].at = 0;
            }
        }
        while (depth != 0 && stack[depth - 1].at == 16) {
            depth--;
        }
        if (depth == 0) {
            return;
        }
        unsigned n = stack[depth - 1].at++;
        slot = &stack[depth - 1].b->kid[n];
        d = stack[depth - 1].d;
        cd__path_set(c->path, d, n);
        d++;
    }
}

void cd_trie_commit(cd_trie *t, cd_hash32 *root, cd_kv_batch *batch)
{
    cd_trie_root(t, root);
    cd_bytes ns = cd_bytes_of(t->ns, t->ns_n);
    for (usize at = 0; at < t->gone.n;) {
        usize n = 1 + ((usize)t->gone.p[at] + 1) / 2;
        cd_kv_batch_del2(batch, ns, cd_bytes_of(t->gone.p + at, n));
        at += n;
    }
    cd_buf_clear(&t->gone);
    if (t->root != 0) {
        commit c = {.t = t, .batch = batch};
        commit_dirty(&c);
    }
}

/* --- trimming --- */

/* Replaces committed nodes whose slots lie at depth `cut` or deeper by their hashes. */
static void unload_below(cd_trie *t, usize cut)
{
    struct {
        cd__branch *b;
        u16 d;
        u8 at;
    } stack[CD__MAX_NIBBLES + 1];
    usize depth = 0;
    cd__ref *slot = &t->root;
    usize d = 0;
    for (;;) {
        cd__ref r = *slot;
        if (r != 0 && cd__kind(r) != CD__HASH) {
            const cd__enc *e = cd__enc_of(r);
            if (d >= cut && !(r & CD__MARKS) && e->n == 32) {
                cd__enc *h = cd__slab_alloc(&t->slab, sizeof *h);
                *h = *e;
                cd__ref_free(t, r);
                *slot = (cd__ref)h | CD__HASH;
            } else if (cd__is_branch(r)) {
                cd__branch *b = cd__branch_of(r);
                stack[depth].b = b;
                stack[depth].d = (u16)(d + b->skip_n);
                stack[depth++].at = 0;
            }
        }
        while (depth != 0 && stack[depth - 1].at == 16) {
            depth--;
        }
        if (depth == 0) {
            return;
        }
        slot = &stack[depth - 1].b->kid[stack[depth - 1].at++];
        d = stack[depth - 1].d + 1u;
    }
}

void cd_trie_trim(cd_trie *t, usize max_bytes)
{
    if (t->nodes == NULL || t->root == 0) {
        return;
    }
    /* Random keys make a level sixteen times the one above: few steps find the cut. */
    for (usize cut = 12; cut > 0 && t->slab.used > max_bytes; cut--) {
        unload_below(t, cut);
    }
}
