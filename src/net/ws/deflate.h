/* net/ws/deflate.h - permessage-deflate payloads: one message compressed or inflated by itself.
 *
 * The only file that knows zlib. Neither side keeps a window from one message to the next, so one
 * deflater serves all connections of a thread, and an inflater is only held while a message is
 * arriving. Threading: confined. [RFC 7692 7.2] */
#ifndef CD_NET_WS_DEFLATE_H
#define CD_NET_WS_DEFLATE_H

#include "base/mem/buf.h"

typedef struct cd_ws_deflater cd_ws_deflater;
typedef struct cd_ws_inflater cd_ws_inflater;

/* A deflater takes its 260 KB at the first message. free: NULL is allowed. */
cd_ws_deflater *cd_ws_deflater_new(void);
void cd_ws_deflater_free(cd_ws_deflater *d);

/* cd_ws_deflate appends the compressed form of a whole message to out, with a window of 2^bits bytes (9
 * to 15). It begins and ends at a byte and refers to nothing before its first byte, so it may stand
 * behind stored blocks. */
void cd_ws_deflate(cd_ws_deflater *d, cd_buf *out, u32 bits, cd_bytes message);

enum { CD_WS_STORED_HEAD = 5 };

/* cd_ws_stored_enc writes what makes n raw bytes that follow a deflate block. */
void cd_ws_stored_enc(u8 out[CD_WS_STORED_HEAD], u16 n);

/* An inflater takes 7 KB, and 32 KB more as it is used. cd_ws_inflater_reset makes it ready for the
 * next message. free: NULL is allowed. */
cd_ws_inflater *cd_ws_inflater_new(void);
void cd_ws_inflater_free(cd_ws_inflater *f);
void cd_ws_inflater_reset(cd_ws_inflater *f);

/* cd_ws_inflate appends to out what the next part of a message gives, as long as out holds at most max
 * bytes; is_last: no more parts come.
 * Errors: CD_EFORMAT (no deflate data, or cut off), CD_ELIMIT (more than max). */
cd_err cd_ws_inflate(cd_ws_inflater *f, cd_buf *out, cd_bytes part, bool is_last, usize max) CD_CHECK;

#endif
