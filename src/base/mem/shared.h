/* base/mem/shared.h - bytes that never change and that many hold at once, and places where they go into a text.
 *
 *   renderer ── take ──► cd_shared ◄── ref ── a cache, answers on their way to clients
 *
 * A cd_shared is counted: who holds a reference may read it on any thread. A cd_splices says where such bytes belong
 * in a text that is written to a cd_buf, so that the text can be sent piece by piece and they are never copied:
 *
 *   buf  [head……][tail…]        pieces of the whole:  head…… │ shared │ tail…
 *               └ at: shared
 *
 * Threading: cd_shared is frozen, its references are counted atomically; cd_splices is confined. */
#ifndef CD_BASE_SHARED_H
#define CD_BASE_SHARED_H

#include "base/mem/buf.h"

typedef struct cd_shared cd_shared;

/* cd_shared_take makes the contents of b shared, gives back memory that is not needed for them, and leaves b empty; one
 * reference is the caller's. */
cd_shared *cd_shared_take(cd_buf *b) __attribute__((returns_nonnull));
cd_shared *cd_shared_ref(cd_shared *s) __attribute__((returns_nonnull));
void cd_shared_unref(cd_shared *s); /* NULL is allowed */
cd_bytes cd_shared_bytes(const cd_shared *s);

enum { CD_SPLICES_MAX = 16, CD_SPLICE_PIECES_MAX = 2 * CD_SPLICES_MAX + 1 };

/* All zero is a valid, empty list. Places ascend. */
typedef struct cd_splices {
    u32 cnt;
    struct {
        usize at; /* how many bytes of the buffer come before s */
        cd_shared *s;
    } items[CD_SPLICES_MAX];
} cd_splices;

/* cd_splices_add puts s, whose reference it takes, behind what buf holds now; false when the list is full, then the
 * reference stays the caller's. */
bool cd_splices_add(cd_splices *l, const cd_buf *buf, cd_shared *s) CD_CHECK;

/* cd_splices_size adds up the shared bytes from entry `from` on. */
usize cd_splices_size(const cd_splices *l, u32 from);

/* cd_splices_cut gives up the entries from the cnt-th on. */
void cd_splices_cut(cd_splices *l, u32 cnt);

/* cd_splices_pieces gives the whole text in pieces, in order, and their number; borrowed from both. */
u32 cd_splices_pieces(const cd_splices *l, cd_bytes out[CD_SPLICE_PIECES_MAX], const cd_buf *buf);

/* cd_splices_flatten copies everything into buf and empties the list: for those who need one piece. */
void cd_splices_flatten(cd_splices *l, cd_buf *buf);

#endif
