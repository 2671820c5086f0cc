/* store/trie_priv.h - the trie's nodes in memory, their encoding, and what its files share.
 *
 * A reference is a pointer to a node with its kind and two marks in the low bits; the marks live in
 * the parent's slot, so that a walk to a leaf touches one cache line per level:
 *
 *   STALE  the node's hash must be computed again       DIRTY  the node differs from the stored one
 *
 * Both are set on every slot from the root to a change. A node knows its own encoding's hash, or the
 * encoding itself when that is shorter than 32 bytes (it is then inside its parent's).
 *
 * A branch below an extension keeps the extension's nibbles as its `skip`: in memory they are one node
 * (BRANCH or SKIPPER by kind), in the store and in proofs two. "Outer" is what the parent refers to,
 * "inner" the bare branch; without a skip they are the same.
 *
 * Threading: as the trie. */
#ifndef CD_STORE_TRIE_PRIV_H
#define CD_STORE_TRIE_PRIV_H

#include "base/mem/arena.h"
#include "store/trie.h"

typedef uintptr_t cd__ref; /* 0 = no node */

enum {
    CD__HASH = 0, /* not loaded */
    CD__LEAF = 1,
    CD__BRANCH = 2,
    CD__SKIPPER = 3, /* a branch with a skip */
    CD__KIND = 3,
    CD__STALE = 4,
    CD__DIRTY = 8,
    CD__MARKS = CD__STALE | CD__DIRTY,
};

enum {
    CD__MAX_NIBBLES = 2 * CD_TRIE_MAX_KEY,
    CD__END = 16, /* what follows the last nibble of a key; also the slot of a branch's value */
};

/* A node as its parent sees it: n == 32: a hash; n < 32: the whole encoding; 0: not computed. It is the
 * first member of every node, and all that there is of a node that is not loaded. */
typedef struct cd__enc {
    u8 b[32];
    u8 n;
} cd__enc;

typedef struct cd__leaf {
    cd__enc enc; /* meaningless for a branch's value */
    u8 key_n;
    bool is_stored; /* a node of its own exists in the store at this leaf's path */
    u32 value_n;
    u32 size;  /* bytes taken from the slab */
    u8 data[]; /* key, value */
} cd__leaf;

typedef struct cd__skip {
    cd__enc enc; /* of the inner branch; the branch's own enc is that of the outer node */
    bool is_stored;
    u8 nib[];
} cd__skip;

typedef struct cd__branch {
    cd__enc enc;
    bool is_stored; /* the outer node */
    u8 skip_n;
    cd__skip *skip;
    cd__ref kid[16];
    cd__ref end; /* the leaf whose key ends here */
} cd__branch;

CD_INLINE unsigned cd__kind(cd__ref r)
{
    return (unsigned)(r & CD__KIND);
}
CD_INLINE void *cd__node(cd__ref r)
{
    return (void *)(r & ~(cd__ref)15);
}
CD_INLINE cd__leaf *cd__leaf_of(cd__ref r)
{
    return cd__node(r);
}
CD_INLINE cd__branch *cd__branch_of(cd__ref r)
{
    return cd__node(r);
}
CD_INLINE cd__enc *cd__enc_of(cd__ref r)
{
    return cd__node(r);
}
CD_INLINE bool cd__is_branch(cd__ref r)
{
    return (r & CD__BRANCH) != 0;
}
CD_INLINE cd_bytes cd__leaf_key(const cd__leaf *l)
{
    return cd_bytes_of(l->data, l->key_n);
}

CD_INLINE cd_bytes cd__leaf_value(const cd__leaf *l)
{
    return cd_bytes_of(l->data + l->key_n, l->value_n);
}

/* The slot of nibble n of a branch. */
CD_INLINE cd__ref *cd__kid(cd__branch *b, unsigned n)
{
    return n == CD__END ? &b->end : &b->kid[n];
}

/* Nibble d of a key; CD__END behind the last. */
CD_INLINE unsigned cd__nib(const u8 *key, usize nibbles, usize d)
{
    if (d >= nibbles) {
        return CD__END;
    }
    return d & 1 ? key[d >> 1] & 15u : key[d >> 1] >> 4;
}

/* The nibbles of b's skip that key continues with from d on. */
CD_INLINE usize cd__match_skip(const cd__branch *b, cd_bytes key, usize d)
{
    usize i = 0;
    while (i < b->skip_n && b->skip->nib[i] == cd__nib(key.p, 2 * key.n, d + i)) {
        i++;
    }
    return i;
}

/* Sets nibble d of a packed path; the low half behind an odd end is kept zero. */
CD_INLINE void cd__path_set(u8 *path, usize d, unsigned n)
{
    if (d & 1) {
        path[d >> 1] = (u8)((path[d >> 1] & 0xf0) | n);
    } else {
        path[d >> 1] = (u8)(n << 4);
    }
}

/* Memory of nodes: free lists by size over arena pages; given back when the trie closes. */
enum { CD__SLAB_STEP = 16, CD__SLAB_SMALL = 1024, CD__SLAB_CLASSES = 64 + 22 };

typedef struct cd__slab {
    cd_arena arena;
    u8 *page; /* free rest of the newest page */
    usize page_left;
    usize page_size;
    usize used;
    void *free_list[CD__SLAB_CLASSES];
} cd__slab;

/* Slots that are to be hashed, by depth (cd_trie_root). Bit 0 marks the inner branch of a skipper. */
typedef struct cd__level {
    uintptr_t *slot;
    u32 cnt;
    u32 cap;
} cd__level;

struct cd_trie {
    cd__ref root;
    cd_kv *nodes;
    cd_pool *pool;
    cd_trie_scheme scheme;
    u8 ns_n;
    u8 ns[CD_TRIE_MAX_NS];
    cd_buf gone;      /* store paths of nodes that are no more: count, packed nibbles */
    cd_buf raw;       /* the node being loaded */
    cd__level *level; /* CD__MAX_NIBBLES + 1 of them */
    cd__slab slab;
};

/* --- trie_node.c --- */

void *cd__slab_alloc(cd__slab *s, usize n) __attribute__((returns_nonnull));
void cd__slab_free(cd__slab *s, void *p, usize n);

cd__leaf *cd__leaf_new(cd_trie *t, cd_bytes key, cd_bytes value);
void cd__leaf_free(cd_trie *t, cd__leaf *l);
cd__branch *cd__branch_new(cd_trie *t);
void cd__branch_free(cd_trie *t, cd__branch *b);
cd__skip *cd__skip_new(cd_trie *t, usize n);
void cd__skip_free(cd_trie *t, cd__skip *s, usize n);

/* cd__ref_free frees the node and everything loaded below it. */
void cd__ref_free(cd_trie *t, cd__ref r);

/* --- trie_load.c --- */

/* cd__load replaces the HASH node in *slot by what the store holds for it. path: its position, d
 * nibbles packed. Errors: CD_EMISSING, CD_ECORRUPT, the store's. */
cd_err cd__load(cd_trie *t, cd__ref *slot, const u8 *path, usize d) CD_CHECK;

/* cd__store_key writes the store's key of a node behind the namespace and gives its length. */
enum { CD__MAX_STORE_KEY = 1 + CD_TRIE_MAX_KEY };
usize cd__store_key(u8 out[CD__MAX_STORE_KEY], cd_trie_scheme scheme, const u8 *path, usize d, const u8 hash[32]);

/* --- encoding (inline: it is what hashing and committing consist of) --- */

enum {
    CD__BRANCH_SLACK = 32, /* bytes behind a branch that its writer may touch */
    CD__EXT_MAX = 1 + 3 + CD_TRIE_MAX_KEY + 33,
    CD__LEAF_EXTRA = 9 + 3 + 1 + 9, /* headers and the path's flag byte */
};

/* Bytes of an RLP header for a string or list of n bytes. */
CD_INLINE usize cd__hdr_size(usize n)
{
    return n < 56 ? 1 : n < 256 ? 2 : n < 65536 ? 3 : n < (1u << 24) ? 4 : 5;
}

/* Writes the header; base is 0x80 for strings, 0xc0 for lists. */
CD_INLINE u8 *cd__hdr_put(u8 *p, u8 base, usize n)
{
    if (n < 56) {
        *p = (u8)(base + n);
        return p + 1;
    }
    usize size = cd__hdr_size(n);
    *p++ = (u8)(base + 54 + size);
    for (usize i = size - 1; i-- > 0;) {
        *p++ = (u8)(n >> (8 * i));
    }
    return p;
}

CD_INLINE usize cd__str_size(cd_bytes s)
{
    return s.n == 1 && s.p[0] < 0x80 ? 1 : cd__hdr_size(s.n) + s.n;
}

CD_INLINE u8 *cd__str_put(u8 *p, cd_bytes s)
{
    if (s.n != 1 || s.p[0] >= 0x80) {
        p = cd__hdr_put(p, 0x80, s.n);
    }
    memcpy(p, s.p, s.n);
    return p + s.n;
}

/* A leaf's path string: flag byte (with the first nibble when odd), then whole bytes of the key. */
CD_INLINE usize cd__leaf_path_size(usize key_n, usize d)
{
    usize n = 1 + (2 * key_n - d) / 2;
    return n == 1 ? 1 : cd__hdr_size(n) + n;
}

CD_INLINE usize cd__leaf_payload(cd_bytes key, cd_bytes value, usize d)
{
    return cd__leaf_path_size(key.n, d) + cd__str_size(value);
}

CD_INLINE u8 *cd__leaf_put(u8 *p, cd_bytes key, cd_bytes value, usize d)
{
    p = cd__hdr_put(p, 0xc0, cd__leaf_payload(key, value, d));
    usize whole = (2 * key.n - d) / 2;
    if (whole != 0) {
        p = cd__hdr_put(p, 0x80, 1 + whole);
    }
    *p++ = (u8)(d & 1 ? 0x30 | (key.p[d >> 1] & 15) : 0x20);
    memcpy(p, key.p + key.n - whole, whole);
    return cd__str_put(p + whole, value);
}

/* A reference inside a branch or extension. */
CD_INLINE usize cd__enc_size(const cd__enc *e)
{
    return e->n == 32 ? 33 : e->n;
}

CD_INLINE u8 *cd__enc_put(u8 *p, const u8 b[32], usize n)
{
    if (n == 32) {
        *p++ = 0xa0;
    }
    memcpy(p, b, n);
    return p + n;
}

CD_INLINE usize cd__ext_payload(usize skip_n, const cd__enc *inner)
{
    usize path = 1 + skip_n / 2;
    return (path == 1 ? 1 : cd__hdr_size(path) + path) + cd__enc_size(inner);
}

CD_INLINE u8 *cd__ext_put(u8 *p, const u8 *nib, usize skip_n, const cd__enc *inner)
{
    p = cd__hdr_put(p, 0xc0, cd__ext_payload(skip_n, inner));
    if (skip_n >= 2) {
        p = cd__hdr_put(p, 0x80, 1 + skip_n / 2);
    }
    usize i = skip_n & 1;
    *p++ = (u8)(i ? 0x10 | nib[0] : 0x00);
    for (; i < skip_n; i += 2) {
        *p++ = (u8)(nib[i] << 4 | nib[i + 1]);
    }
    return cd__enc_put(p, inner->b, inner->n);
}

/* Bit i: child i is there. */
CD_INLINE unsigned cd__kid_mask(const cd__branch *b)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < 16; i++) {
        mask |= (b->kid[i] != 0 ? 1u : 0u) << i;
    }
    return mask;
}

/* The hashes of all children must be current. */
CD_INLINE usize cd__branch_payload(const cd__branch *b)
{
    usize n = 16 + (b->end == 0 ? 1 : cd__str_size(cd__leaf_value(cd__leaf_of(b->end))));
    for (unsigned mask = cd__kid_mask(b); mask != 0; mask &= mask - 1) {
        n += cd__enc_size(cd__enc_of(b->kid[__builtin_ctz(mask)])) - 1;
    }
    return n;
}

/* Writes the node; up to 32 bytes behind it are overwritten, too. */
CD_INLINE u8 *cd__branch_put(u8 *p, const cd__branch *b, usize payload)
{
    p = cd__hdr_put(p, 0xc0, payload);
    unsigned next = 0;
    for (unsigned mask = cd__kid_mask(b); mask != 0; mask &= mask - 1) {
        unsigned i = (unsigned)__builtin_ctz(mask);
        const cd__enc *e = cd__enc_of(b->kid[i]);
        memset(p, 0x80, 16);
        p += i - next;
        next = i + 1;
        if (CD_LIKELY(e->n == 32)) {
            *p = 0xa0;
            memcpy(p + 1, e->b, 32);
            p += 33;
        } else {
            memcpy(p, e->b, 32);
            p += e->n;
        }
    }
    memset(p, 0x80, 17);
    p += 16 - next;
    return b->end == 0 ? p + 1 : cd__str_put(p, cd__leaf_value(cd__leaf_of(b->end)));
}

/* --- decoding --- */

/* One child or value as encoded: empty, a hash (32 bytes), or an embedded node (its whole list). */
typedef struct cd__raw_ref {
    const u8 *p;
    u8 n; /* 0, 32, or the length of an embedded node (< 32) */
} cd__raw_ref;

typedef enum cd__raw_kind {
    CD__RAW_BRANCH,
    CD__RAW_EXT,
    CD__RAW_LEAF,
} cd__raw_kind;

typedef struct cd__raw {
    cd__raw_kind kind;
    u8 path_n; /* nibbles of an extension or leaf */
    u8 path[CD__MAX_NIBBLES];
    cd_bytes value;      /* leaf; branch (empty = none) */
    cd__raw_ref kid[16]; /* branch; an extension uses kid[0] */
} cd__raw;

/* cd__raw_dec takes a node apart, borrowing from enc; false when it is not a canonical node. */
bool cd__raw_dec(cd__raw *out, cd_bytes enc) CD_CHECK;

#endif
