#include "store/trie.h"

#include "base/mem/mem.h"
#include "store/trie_priv.h"

/* --- life --- */

cd_trie *cd_trie_new_mem(void)
{
    return cd_new(cd_trie);
}

cd_err cd_trie_open(cd_trie **out, const cd_trie_cfg *cfg, cd_errinfo *why)
{
    CD_ASSERT(cfg->ns.n <= CD_TRIE_MAX_NS);
    cd_trie *t = cd_trie_new_mem();
    t->nodes = cfg->nodes;
    t->scheme = cfg->scheme;
    t->pool = cfg->pool;
    t->ns_n = (u8)cfg->ns.n;
    if (cfg->ns.n != 0) {
        memcpy(t->ns, cfg->ns.p, cfg->ns.n);
    }
    if (!cd_hash32_is_zero(&cfg->root) && !cd_hash32_eq(&cfg->root, &CD_TRIE_EMPTY_ROOT)) {
        cd__enc *h = cd__slab_alloc(&t->slab, sizeof *h);
        memcpy(h->b, cfg->root.b, 32);
        h->n = 32;
        t->root = (cd__ref)h | CD__HASH;
        cd_err err = cd__load(t, &t->root, NULL, 0);
        if (err != CD_OK) {
            cd_trie_close(t);
            return cd_fail(why, err, "trie root %02x%02x%02x%02x...: %s", cfg->root.b[0], cfg->root.b[1],
                           cfg->root.b[2], cfg->root.b[3], cd_err_str(err));
        }
    }
    *out = t;
    return CD_OK;
}

void cd_trie_close(cd_trie *t)
{
    if (t == NULL) {
        return;
    }
    if (t->level != NULL) {
        for (usize i = 0; i <= CD__MAX_NIBBLES; i++) {
            cd_free(t->level[i].slot);
        }
        cd_free(t->level);
    }
    cd_buf_fini(&t->gone);
    cd_buf_fini(&t->raw);
    cd_arena_fini(&t->slab.arena);
    cd_free(t);
}

usize cd_trie_mem(const cd_trie *t)
{
    return t->slab.used;
}

/* --- reading --- */

cd_err cd_trie_get(cd_trie *t, cd_bytes *value, cd_bytes key)
{
    if (key.n > CD_TRIE_MAX_KEY) {
        return CD_ENOENT;
    }
    cd__ref *slot = &t->root;
    usize d = 0;
    while (*slot != 0) {
        cd__ref r = *slot;
        switch (cd__kind(r)) {
        case CD__HASH:
            CD_TRY(cd__load(t, slot, key.p, d));
            continue;
        case CD__LEAF:
            if (!cd_bytes_eq(cd__leaf_key(cd__leaf_of(r)), key)) {
                return CD_ENOENT;
            }
            *value = cd__leaf_value(cd__leaf_of(r));
            return CD_OK;
        case CD__SKIPPER:
            if (cd__match_skip(cd__branch_of(r), key, d) != cd__branch_of(r)->skip_n) {
                return CD_ENOENT;
            }
            d += cd__branch_of(r)->skip_n;
        }
        slot = cd__kid(cd__branch_of(r), cd__nib(key.p, 2 * key.n, d));
        d++;
    }
    return CD_ENOENT;
}

/* --- writing --- */

/* Notes that no node is stored at the first d nibbles of path any more. */
static void note_gone(cd_trie *t, const u8 *path, usize d)
{
    if (t->scheme == CD_TRIE_BY_PATH) {
        u8 key[CD__MAX_STORE_KEY];
        usize n = cd__store_key(key, CD_TRIE_BY_PATH, path, d, NULL);
        cd_buf_put(&t->gone, cd_bytes_of(key, n));
    }
}

/* The first nibble, from d on, in which two keys differ; the end of a key counts as one. */
static usize fork_of(cd_bytes a, cd_bytes b, usize d)
{
    usize n = a.n < b.n ? a.n : b.n;
    usize i = d / 2;
    for (; i + 8 <= n; i += 8) {
        u64 diff = cd_be64(a.p + i) ^ cd_be64(b.p + i);
        if (diff != 0) {
            return 2 * i + (usize)__builtin_clzll(diff) / 4;
        }
    }
    for (; i < n; i++) {
        u8 diff = a.p[i] ^ b.p[i];
        if (diff != 0) {
            return 2 * i + (diff < 16 ? 1 : 0);
        }
    }
    return 2 * n;
}

static void set_skip(cd_trie *t, cd__branch *b, cd_bytes key, usize d, usize n)
{
    if (n == 0) {
        return;
    }
    b->skip = cd__skip_new(t, n);
    b->skip_n = (u8)n;
    for (usize i = 0; i < n; i++) {
        b->skip->nib[i] = (u8)cd__nib(key.p, 2 * key.n, d + i);
    }
}

static cd__ref branch_ref(cd__branch *b)
{
    return (cd__ref)b | (b->skip_n != 0 ? CD__SKIPPER : CD__BRANCH) | CD__MARKS;
}

/* Puts a branch where the leaf l stood, at depth d, with l and the new leaf below it. */
static void split_leaf(cd_trie *t, cd__ref *slot, usize d, usize fork, cd_bytes key, cd__leaf *fresh)
{
    cd__leaf *l = cd__leaf_of(*slot);
    cd__branch *b = cd__branch_new(t);
    set_skip(t, b, key, d, fork - d);
    b->is_stored = l->is_stored;
    l->is_stored = false;
    *cd__kid(b, cd__nib(l->data, 2 * (usize)l->key_n, fork)) = (cd__ref)l | CD__LEAF | CD__MARKS;
    *cd__kid(b, cd__nib(key.p, 2 * key.n, fork)) = (cd__ref)fresh | CD__LEAF | CD__MARKS;
    *slot = branch_ref(b);
}

/* Puts a branch inside the skip of *slot, after its first `same` nibbles. */
static void split_skip(cd_trie *t, cd__ref *slot, usize d, usize same, cd_bytes key, cd__leaf *fresh)
{
    cd__branch *low = cd__branch_of(*slot);
    cd__ref marks = *slot & CD__MARKS;
    cd__skip *skip = low->skip;
    usize skip_n = low->skip_n;
    cd__branch *b = cd__branch_new(t);
    set_skip(t, b, key, d, same);
    b->is_stored = low->is_stored;
    usize rest = skip_n - same - 1;
    low->enc = skip->enc;
    low->is_stored = skip->is_stored;
    low->skip = NULL;
    low->skip_n = (u8)rest;
    if (rest != 0) {
        /* The extension is shortened: a new outer node; the inner branch stays as it is. */
        low->skip = cd__skip_new(t, rest);
        low->skip->enc = skip->enc;
        low->skip->is_stored = skip->is_stored;
        memcpy(low->skip->nib, skip->nib + same + 1, rest);
        low->is_stored = false;
        marks = CD__MARKS;
    }
    b->kid[skip->nib[same]] = (cd__ref)low | (rest != 0 ? CD__SKIPPER : CD__BRANCH) | marks;
    *cd__kid(b, cd__nib(key.p, 2 * key.n, d + same)) = (cd__ref)fresh | CD__LEAF | CD__MARKS;
    cd__skip_free(t, skip, skip_n);
    *slot = branch_ref(b);
}

static void set_value(cd_trie *t, cd__ref *slot, cd_bytes value)
{
    cd__leaf *l = cd__leaf_of(*slot);
    usize size = sizeof *l + l->key_n + value.n;
    if (size == l->size) {
        memmove(l->data + l->key_n, value.p, value.n);
    } else {
        cd__leaf *n = cd__leaf_new(t, cd__leaf_key(l), value);
        n->is_stored = l->is_stored;
        cd__leaf_free(t, l);
        l = n;
    }
    *slot = (cd__ref)l | CD__LEAF | CD__MARKS;
}

cd_err cd_trie_put(cd_trie *t, cd_bytes key, cd_bytes value)
{
    if (value.n == 0) {
        return cd_trie_del(t, key);
    }
    if (key.n > CD_TRIE_MAX_KEY || value.n > CD_KV_MAX_VALUE / 2) {
        return CD_ELIMIT;
    }
    cd__ref *slot = &t->root;
    usize d = 0;
    for (;;) {
        cd__ref r = *slot;
        if (r == 0) {
            *slot = (cd__ref)cd__leaf_new(t, key, value) | CD__LEAF | CD__MARKS;
            return CD_OK;
        }
        switch (cd__kind(r)) {
        case CD__HASH:
            CD_TRY(cd__load(t, slot, key.p, d));
            continue;
        case CD__LEAF: {
            cd_bytes old = cd__leaf_key(cd__leaf_of(r));
            usize fork = fork_of(key, old, d);
            if (fork == 2 * key.n && fork == 2 * old.n) {
                set_value(t, slot, value);
            } else {
                split_leaf(t, slot, d, fork, key, cd__leaf_new(t, key, value));
            }
            return CD_OK;
        }
        case CD__SKIPPER: {
            usize same = cd__match_skip(cd__branch_of(r), key, d);
            if (same != cd__branch_of(r)->skip_n) {
                split_skip(t, slot, d, same, key, cd__leaf_new(t, key, value));
                return CD_OK;
            }
            d += same;
        }
        }
        *slot = r | CD__MARKS;
        slot = cd__kid(cd__branch_of(r), cd__nib(key.p, 2 * key.n, d));
        d++;
    }
}

/* The only other child of b beside the one at gone, or CD__END + 1 when there are more. */
static unsigned only_other(cd__branch *b, unsigned gone)
{
    unsigned other = CD__END + 1;
    for (unsigned i = 0; i <= CD__END; i++) {
        if (i != gone && *cd__kid(b, i) != 0) {
            if (other <= CD__END) {
                return CD__END + 1;
            }
            other = i;
        }
    }
    return other;
}

/* The branch in *slot, its outer node at depth d of path, has one child left, at nibble n: the child
 * takes its place. Leaves just lie higher; a branch gets the nibbles between as its skip. */
static void collapse(cd_trie *t, cd__ref *slot, const u8 *path, usize d, unsigned n)
{
    cd__branch *b = cd__branch_of(*slot);
    usize inner = d + b->skip_n;
    u8 kid_path[CD_TRIE_MAX_KEY + 1];
    memcpy(kid_path, path, (inner + 1) / 2);
    cd__ref kid = *cd__kid(b, n);
    if (n != CD__END) {
        cd__path_set(kid_path, inner, n);
    }
    if (b->skip_n != 0 && b->skip->is_stored) {
        note_gone(t, path, inner);
    }
    if (cd__kind(kid) == CD__LEAF) {
        cd__leaf *l = cd__leaf_of(kid);
        if (l->is_stored) {
            note_gone(t, kid_path, inner + 1);
        }
        l->is_stored = b->is_stored;
        *slot = (cd__ref)l | CD__LEAF | CD__MARKS;
    } else {
        cd__branch *low = cd__branch_of(kid);
        usize skip_n = b->skip_n + 1u + low->skip_n;
        cd__skip *skip = cd__skip_new(t, skip_n);
        if (b->skip_n != 0) {
            memcpy(skip->nib, b->skip->nib, b->skip_n);
        }
        skip->nib[b->skip_n] = (u8)n;
        if (low->skip_n != 0) {
            memcpy(skip->nib + b->skip_n + 1, low->skip->nib, low->skip_n);
            skip->is_stored = low->skip->is_stored;
            if (low->is_stored) {
                note_gone(t, kid_path, inner + 1);
            }
            cd__skip_free(t, low->skip, low->skip_n);
        } else {
            skip->is_stored = low->is_stored;
        }
        low->skip = skip;
        low->skip_n = (u8)skip_n;
        low->is_stored = b->is_stored;
        *slot = (cd__ref)low | CD__SKIPPER | CD__MARKS;
    }
    cd__branch_free(t, b);
}

cd_err cd_trie_del(cd_trie *t, cd_bytes key)
{
    static const u8 no_key[1];
    if (key.n > CD_TRIE_MAX_KEY) {
        return CD_OK;
    }
    if (key.n == 0) {
        key.p = no_key;
    }
    cd__ref *way[CD__MAX_NIBBLES + 2]; /* slots of the branches above */
    usize top = 0;
    usize outer = 0; /* depth of the lowest branch's outer node */
    usize d = 0;
    cd__ref *slot = &t->root;
    for (;;) {
        cd__ref r = *slot;
        if (r == 0) {
            return CD_OK;
        }
        unsigned kind = cd__kind(r);
        if (kind == CD__LEAF) {
            break;
        }
        if (kind == CD__HASH) {
            CD_TRY(cd__load(t, slot, key.p, d));
            continue;
        }
        cd__branch *b = cd__branch_of(r);
        if (kind == CD__SKIPPER && cd__match_skip(b, key, d) != b->skip_n) {
            return CD_OK;
        }
        way[top++] = slot;
        outer = d;
        d += b->skip_n;
        slot = cd__kid(b, cd__nib(key.p, 2 * key.n, d));
        d++;
    }
    cd__leaf *l = cd__leaf_of(*slot);
    if (!cd_bytes_eq(cd__leaf_key(l), key)) {
        return CD_OK;
    }
    cd__branch *b = top == 0 ? NULL : cd__branch_of(*way[top - 1]);
    unsigned other = CD__END + 1;
    if (b != NULL) {
        other = only_other(b, cd__nib(key.p, 2 * key.n, d - 1));
        if (other < CD__END && cd__kind(b->kid[other]) == CD__HASH) {
            u8 path[CD_TRIE_MAX_KEY + 1];
            memcpy(path, key.p, d / 2);
            cd__path_set(path, d - 1, other);
            CD_TRY(cd__load(t, &b->kid[other], path, d));
        }
    }
    /* Nothing can fail from here on. */
    if (l->is_stored) {
        note_gone(t, key.p, d);
    }
    cd__leaf_free(t, l);
    *slot = 0;
    for (usize i = 0; i < top; i++) {
        *way[i] |= CD__MARKS;
    }
    if (other <= CD__END) {
        collapse(t, way[top - 1], key.p, outer, other);
    }
    return CD_OK;
}

cd_err cd_trie_update_many(cd_trie *t, const cd_trie_item *items, usize cnt)
{
    enum { CHUNK = 256 };
    cd_bytes keys[CHUNK];
    for (usize at = 0; at < cnt; at += CHUNK) {
        usize n = cnt - at < CHUNK ? cnt - at : CHUNK;
        for (usize i = 0; i < n; i++) {
            keys[i] = items[at + i].key;
        }
        CD_TRY(cd_trie_load_many(t, keys, n));
        for (usize i = 0; i < n; i++) {
            CD_TRY(cd_trie_put(t, items[at + i].key, items[at + i].value));
        }
    }
    return CD_OK;
}
