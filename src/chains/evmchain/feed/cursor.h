/* chains/evmchain/feed/cursor.h - a place in the accepted chain to read on from.
 *
 *   0.17.3.1 = epoch 0, block 17, its transaction 3, from item 1 of that on: everything before was told
 *
 * The accepted chain is the feed: what a reader has to keep is its cursor. Nothing accepted goes away, so a cursor
 * is for ever; only a development network can go back (a cut, core/cuts.h), which begins a new epoch. Threading: pure.
 * [spec:architecture#8] [spec:dev-rpc#1.2] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_CURSOR_H
#define CD_CHAINS_EVMCHAIN_FEED_CURSOR_H

#include "base/bytes.h"

/* A place in the chain's feed. */
typedef struct cd_cursor {
    u64 epoch;
    u64 height;
    u32 tx;
    u32 item; /* a log of the transaction */
} cd_cursor;

enum { CD_CURSOR_TEXT_SIZE = 64 }; /* with its NUL */

/* cd_cursor_fmt writes the text form; cd_cursor_parse reads it. Errors: CD_EFORMAT. */
void cd_cursor_fmt(char out[CD_CURSOR_TEXT_SIZE], const cd_cursor *c);
cd_err cd_cursor_parse(cd_cursor *out, cd_bytes text) CD_CHECK;

/* cd_cursor_is_past: something at or below the cut's height was not told yet, or everything was. */
CD_INLINE bool cd_cursor_is_past(const cd_cursor *c, u64 cut)
{
    return c->height > cut + 1 || (c->height == cut + 1 && (c->tx != 0 || c->item != 0));
}

#endif
