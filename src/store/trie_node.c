/* Trie nodes: memory, decoding, loading from the store. */
#include "base/mem.h"
#include "store/trie_priv.h"

enum { PAGE_MIN = 2048, PAGE_MAX = 1 << 18 };

/* --- memory ------------------------------------------------------------------------------------- */

/* Rounds *n up to what its class holds; gives the class. Up to 1 KiB in steps of 16, then powers of
 * two. */
static u32 slab_class(usize *n)
{
    if (*n <= CD__SLAB_SMALL) {
        u32 c = (u32)((*n + CD__SLAB_STEP - 1) / CD__SLAB_STEP);
        *n = (usize)c * CD__SLAB_STEP;
        return c - 1;
    }
    u32 log = 64 - (u32)__builtin_clzll(*n - 1);
    CD_ASSERT(log < 32);
    *n = (usize)1 << log;
    return CD__SLAB_CLASSES - 22 + (log - 11);
}

void *cd__slab_alloc(cd__slab *s, usize n)
{
    u32 c = slab_class(&n);
    s->used += n;
    void *p = s->free_list[c];
    if (p != NULL) {
        memcpy(&s->free_list[c], p, sizeof p);
        return p;
    }
    if (n > s->page_left) {
        if (n > PAGE_MAX / 4) {
            return cd_arena_alloc(&s->arena, n);
        }
        s->page_size = s->page_size == 0 ? PAGE_MIN : s->page_size;
        if (s->used > 2 * s->page_size && s->page_size < PAGE_MAX) {
            s->page_size *= 2;
        }
        s->page_left = s->page_size < n ? n : s->page_size;
        s->page = cd_arena_alloc(&s->arena, s->page_left);
    }
    p = s->page;
    s->page += n;
    s->page_left -= n;
    return p;
}

void cd__slab_free(cd__slab *s, void *p, usize n)
{
    u32 c = slab_class(&n);
    s->used -= n;
    memcpy(p, &s->free_list[c], sizeof p);
    s->free_list[c] = p;
}

cd__leaf *cd__leaf_new(cd_trie *t, cd_bytes key, cd_bytes value)
{
    usize size = sizeof(cd__leaf) + key.n + value.n;
    cd__leaf *l = cd__slab_alloc(&t->slab, size);
    l->enc.n = 0;
    l->key_n = (u8)key.n;
    l->is_stored = false;
    l->value_n = (u32)value.n;
    l->size = (u32)size;
    if (key.n != 0) {
        memcpy(l->data, key.p, key.n);
    }
    if (value.n != 0) {
        memcpy(l->data + key.n, value.p, value.n);
    }
    return l;
}

void cd__leaf_free(cd_trie *t, cd__leaf *l)
{
    cd__slab_free(&t->slab, l, l->size);
}

cd__branch *cd__branch_new(cd_trie *t)
{
    cd__branch *b = cd__slab_alloc(&t->slab, sizeof *b);
    memset(b, 0, sizeof *b);
    return b;
}

void cd__branch_free(cd_trie *t, cd__branch *b)
{
    if (b->skip != NULL) {
        cd__skip_free(t, b->skip, b->skip_n);
    }
    cd__slab_free(&t->slab, b, sizeof *b);
}

cd__skip *cd__skip_new(cd_trie *t, usize n)
{
    cd__skip *s = cd__slab_alloc(&t->slab, sizeof *s + n);
    s->enc.n = 0;
    s->is_stored = false;
    return s;
}

void cd__skip_free(cd_trie *t, cd__skip *s, usize n)
{
    cd__slab_free(&t->slab, s, sizeof *s + n);
}

void cd__ref_free(cd_trie *t, cd__ref r)
{
    /* The way up is kept in the first slot of each branch once its child there is done. */
    struct {
        cd__branch *b;
        unsigned at;
    } stack[CD__MAX_NIBBLES + 1];
    usize depth = 0;
    for (;;) {
        if (r != 0 && cd__is_branch(r)) {
            CD_ASSERT(depth < CD_COUNT(stack));
            stack[depth].b = cd__branch_of(r);
            stack[depth++].at = 0;
        } else if (r != 0 && cd__kind(r) == CD__LEAF) {
            cd__leaf_free(t, cd__leaf_of(r));
        } else if (r != 0) {
            cd__slab_free(&t->slab, cd__node(r), sizeof(cd__enc));
        }
        while (depth != 0 && stack[depth - 1].at > CD__END) {
            cd__branch_free(t, stack[--depth].b);
        }
        if (depth == 0) {
            return;
        }
        r = *cd__kid(stack[depth - 1].b, stack[depth - 1].at++);
    }
}

/* --- decoding ----------------------------------------------------------------------------------- */

typedef struct rlp_item {
    cd_bytes body;
    cd_bytes whole; /* with its header */
    bool is_list;
} rlp_item;

/* Reads the item at *in and moves on; strict: shortest headers only. */
static bool rlp_next(rlp_item *out, cd_bytes *in)
{
    if (in->n == 0) {
        return false;
    }
    const u8 *p = in->p;
    u8 c = p[0];
    usize hdr = 1;
    usize n;
    if (c < 0x80) {
        hdr = 0;
        n = 1;
    } else {
        u8 base = c >= 0xc0 ? 0xc0 : 0x80;
        n = (usize)c - base;
        if (n > 55) {
            usize size = n - 55;
            if (size > 4 || in->n < 1 + size || p[1] == 0) {
                return false;
            }
            n = 0;
            for (usize i = 1; i <= size; i++) {
                n = n << 8 | p[i];
            }
            hdr = 1 + size;
            if (n < 56) {
                return false;
            }
        }
    }
    if (in->n - hdr < n || (c == 0x81 && p[1] < 0x80)) {
        return false;
    }
    out->body = cd_bytes_of(p + hdr, n);
    out->whole = cd_bytes_of(p, hdr + n);
    out->is_list = c >= 0xc0;
    *in = cd_bytes_of(p + hdr + n, in->n - hdr - n);
    return true;
}

/* A child reference: nothing, a hash, or an embedded list of less than 32 bytes. */
static bool raw_ref(cd__raw_ref *out, const rlp_item *item)
{
    if (item->is_list) {
        *out = (cd__raw_ref){.p = item->whole.p, .n = (u8)item->whole.n};
        return item->whole.n < 32;
    }
    *out = (cd__raw_ref){.p = item->body.p, .n = (u8)item->body.n};
    return item->body.n == 0 || item->body.n == 32;
}

/* The path string of an extension or leaf. */
static bool raw_path(cd__raw *out, const rlp_item *item)
{
    if (item->is_list || item->body.n == 0 || item->body.n > 1 + CD_TRIE_MAX_KEY) {
        return false;
    }
    const u8 *p = item->body.p;
    u8 flag = p[0] >> 4;
    if (flag > 3 || (!(flag & 1) && (p[0] & 15) != 0) ||
        (item->body.n > CD_TRIE_MAX_KEY && flag & 1)) {
        return false;
    }
    usize n = 0;
    if (flag & 1) {
        out->path[n++] = p[0] & 15;
    }
    for (usize i = 1; i < item->body.n; i++) {
        out->path[n++] = p[i] >> 4;
        out->path[n++] = p[i] & 15;
    }
    out->path_n = (u8)n;
    out->kind = flag & 2 ? CD__RAW_LEAF : CD__RAW_EXT;
    return true;
}

bool cd__raw_dec(cd__raw *out, cd_bytes enc)
{
    rlp_item list;
    if (!rlp_next(&list, &enc) || !list.is_list || enc.n != 0) {
        return false;
    }
    cd_bytes in = list.body;
    rlp_item first;
    rlp_item second;
    if (!rlp_next(&first, &in) || !rlp_next(&second, &in)) {
        return false;
    }
    if (in.n == 0) {
        if (!raw_path(out, &first)) {
            return false;
        }
        if (out->kind == CD__RAW_LEAF) {
            out->value = second.body;
            return !second.is_list && second.body.n != 0;
        }
        return out->path_n != 0 && raw_ref(&out->kid[0], &second) && out->kid[0].n != 0;
    }
    out->kind = CD__RAW_BRANCH;
    out->path_n = 0;
    if (!raw_ref(&out->kid[0], &first) || !raw_ref(&out->kid[1], &second)) {
        return false;
    }
    unsigned cnt = (out->kid[0].n != 0 ? 1u : 0u) + (out->kid[1].n != 0 ? 1u : 0u);
    for (unsigned i = 2; i < 16; i++) {
        /* The two common forms without the general reader. */
        if (in.n != 0 && in.p[0] == 0x80) {
            out->kid[i] = (cd__raw_ref){0};
            in = cd_bytes_of(in.p + 1, in.n - 1);
        } else if (in.n >= 33 && in.p[0] == 0xa0) {
            out->kid[i] = (cd__raw_ref){.p = in.p + 1, .n = 32};
            in = cd_bytes_of(in.p + 33, in.n - 33);
            cnt++;
        } else {
            rlp_item item;
            if (!rlp_next(&item, &in) || !raw_ref(&out->kid[i], &item)) {
                return false;
            }
            cnt += out->kid[i].n != 0;
        }
    }
    rlp_item value;
    if (!rlp_next(&value, &in) || value.is_list || in.n != 0) {
        return false;
    }
    out->value = value.body;
    return cnt + (value.body.n != 0) >= 2;
}

/* --- loading ------------------------------------------------------------------------------------ */

static cd_err build(cd_trie *t, cd__ref *out, cd_bytes enc, const cd__enc *ref, const u8 *path,
                    usize d, bool is_stored);

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

static cd_err build_leaf(cd_trie *t, cd__ref *out, const cd__raw *raw, const cd__enc *ref,
                         const u8 *path, usize d, bool is_stored)
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

static cd_err build_branch(cd_trie *t, cd__ref *out, const cd__raw *raw, const cd__enc *ref,
                           const u8 *path, usize d, bool is_stored)
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
static cd_err build_ext(cd_trie *t, cd__ref *out, const cd__raw *raw, const cd__enc *ref,
                        const u8 *path, usize d, bool is_stored)
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
static cd_err build(cd_trie *t, cd__ref *out, cd_bytes enc, const cd__enc *ref, const u8 *path,
                    usize d, bool is_stored)
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

usize cd__store_key(u8 out[CD__MAX_STORE_KEY], cd_trie_scheme scheme, const u8 *path, usize d,
                    const u8 hash[32])
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

cd_err cd__load(cd_trie *t, cd__ref *slot, const u8 *path, usize d)
{
    cd__enc *h = cd__enc_of(*slot);
    if (t->nodes == NULL) {
        return CD_EMISSING;
    }
    static const u8 no_path[1];
    if (d == 0) {
        path = no_path; /* an empty key's pointer may be NULL */
    }
    u8 key[CD_TRIE_MAX_NS + CD__MAX_STORE_KEY];
    memcpy(key, t->ns, t->ns_n);
    usize key_n = cd__store_key(key + t->ns_n, t->scheme, path, d, h->b);
    cd_err err = cd_kv_get(t->nodes, &t->raw, cd_bytes_of(key, t->ns_n + key_n));
    if (err != CD_OK) {
        return err == CD_ENOENT ? CD_EMISSING : err;
    }
    cd_hash32 hash;
    cd_keccak256(&hash, cd_buf_bytes(&t->raw));
    if (memcmp(hash.b, h->b, 32) != 0) {
        return CD_ECORRUPT;
    }
    cd__enc ref = *h;
    /* An extension loads its branch through the same scratch buffer: keep this one apart. */
    cd_buf raw = t->raw;
    t->raw = (cd_buf){0};
    cd__ref node = 0;
    err = build(t, &node, cd_buf_bytes(&raw), &ref, path, d, t->scheme == CD_TRIE_BY_PATH);
    cd_buf_fini(&t->raw);
    t->raw = raw;
    if (err != CD_OK) {
        return err;
    }
    cd__slab_free(&t->slab, h, sizeof *h);
    *slot = node | (*slot & CD__MARKS);
    return CD_OK;
}
