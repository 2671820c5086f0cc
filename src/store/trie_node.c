/* Trie nodes: memory and decoding. */
#include "base/mem/mem.h"
#include "store/trie_priv.h"

enum { PAGE_MIN = 2048, PAGE_MAX = 1 << 18 };

/* --- memory --- */

/* Rounds *n up to the size of its class, and gives the class: steps of 16 up to 1 KiB, then powers of two. */
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
    /* The way back up is kept in the first slot of each branch, once the child there is done. */
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

/* --- decoding --- */

typedef struct rlp_item {
    cd_bytes body;
    cd_bytes whole; /* with its header */
    bool is_list;
} rlp_item;

/* Reads the item at *in and moves *in behind it; only the shortest headers are accepted. */
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
    if (flag > 3 || (!(flag & 1) && (p[0] & 15) != 0) || (item->body.n > CD_TRIE_MAX_KEY && flag & 1)) {
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
        /* The two usual forms are read without the general reader. */
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
