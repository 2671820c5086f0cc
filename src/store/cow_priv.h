/* store/cow_priv.h - a sorted map whose copies cost one reference: the memory engine and the overlay
 * layers are made of it.
 *
 *          [ c0 | c1 | c2 ]            B+tree, all cells in the leaves. A node or cell with one
 *          /      |       \            reference is changed in place, a shared one is copied first,
 *     [a b c]  [d e]  [f g h]          so whoever holds an older root sees it frozen.
 *
 * Threading: a map is confined; maps that share nodes may live on different threads. */
#ifndef CD_STORE_COW_PRIV_H
#define CD_STORE_COW_PRIV_H

#include "base/bytes.h"

#include <stdatomic.h>

/* A key with its value or, in an overlay, the mark that the key is deleted. Immutable. */
typedef struct cd__cow_cell {
    atomic_uint refs;
    u32 key_n;
    u32 value_n;
    bool is_tomb;
    u8 data[]; /* the key, then the value */
} cd__cow_cell;

typedef struct cd__cow_node cd__cow_node;

/* A map; all zero is an empty one. */
typedef struct cd__cow {
    cd__cow_node *root;
    u64 cnt;
    u64 bytes; /* bytes of all keys and values */
} cd__cow;

CD_INLINE cd_bytes cd__cow_key(const cd__cow_cell *c)
{
    return cd_bytes_of(c->data, c->key_n);
}

CD_INLINE cd_bytes cd__cow_value(const cd__cow_cell *c)
{
    return cd_bytes_of(c->data + c->key_n, c->value_n);
}

/* cd__cow_fini gives up this map's references; the map is empty and usable again. */
void cd__cow_fini(cd__cow *m);

/* cd__cow_share makes a copy in constant time. */
cd__cow cd__cow_share(const cd__cow *m);

/* cd__cow_put sets key to value, or to a tombstone. */
void cd__cow_put(cd__cow *m, cd_bytes key, cd_bytes value, bool is_tomb);

/* cd__cow_del removes the cell of key, if there is one. */
void cd__cow_del(cd__cow *m, cd_bytes key);

/* cd__cow_get borrows the cell of key until the next change, or gives NULL. */
const cd__cow_cell *cd__cow_get(const cd__cow *m, cd_bytes key);

/* cd__cow_get_many does cd__cow_get for cnt <= CD__COW_MANY keys at once, whose waits for memory overlap. */
enum { CD__COW_MANY = 64 };
void cd__cow_get_many(const cd__cow *m, const cd__cow_cell **out, const cd_bytes *keys, usize cnt);

enum { CD__COW_MAX_DEPTH = 16 };

/* A walk over a map that must not change meanwhile (take a share to be sure). */
typedef struct cd__cow_iter {
    const cd__cow_node *node[CD__COW_MAX_DEPTH];
    u32 at[CD__COW_MAX_DEPTH]; /* index in node[i]; the last one is the current cell */
    u32 depth;                 /* 0 = ended */
    bool reverse;
} cd__cow_iter;

/* cd__cow_seek stands on the first cell >= key, or the last <= key when reverse; has_key false = the
 * edge. cd__cow_next steps. cd__cow_cell_at borrows the current cell, NULL at the end. */
void cd__cow_seek(cd__cow_iter *it, const cd__cow *m, cd_bytes key, bool has_key, bool reverse);
void cd__cow_next(cd__cow_iter *it);
const cd__cow_cell *cd__cow_at(const cd__cow_iter *it);

#endif
