/* net/ws/frame.h - the bytes of WebSocket frames: headers, masks, UTF-8 across fragments, close codes.
 *
 * Threading: pure. [RFC 6455 5] */
#ifndef CD_NET_WS_FRAME_H
#define CD_NET_WS_FRAME_H

#include "base/bytes.h"

/* Opcodes of frames [RFC 6455 5.2]. */
typedef enum cd_ws_op {
    CD_WS_OP_CONT = 0,
    CD_WS_OP_TEXT = 1,
    CD_WS_OP_BINARY = 2,
    CD_WS_OP_CLOSE = 8,
    CD_WS_OP_PING = 9,
    CD_WS_OP_PONG = 10,
} cd_ws_op;

enum {
    CD_WS_FRAME_HEAD_MAX = 14,
    CD_WS_CONTROL_MAX = 125, /* payload of a control frame */
};

/* One frame's header. */
typedef struct cd_ws_frame {
    bool is_fin;
    bool is_deflated; /* RSV1 */
    bool is_masked;
    u8 key[4];
    cd_ws_op op;
    u64 len;
} cd_ws_frame;

/* What the two sides have agreed on, as seen by the reader. */
typedef struct cd_ws_rules {
    bool from_client; /* frames must be masked, else must not */
    bool has_deflate; /* RSV1 may be set on the first frame of a message */
} cd_ws_rules;

/* cd_ws_frame_need: how many bytes the header at p has, given that n of them are there; more than n
 * means: read on. */
usize cd_ws_frame_need(const u8 *p, usize n);

/* cd_ws_frame_dec reads a header of which all bytes that cd_ws_frame_need wants, or the first two, are
 * there; then only what these say is checked and set. NULL, or one sentence why the peer breaks the
 * protocol (close with 1002). */
const char *cd_ws_frame_dec(cd_ws_frame *out, const cd_ws_rules *rules, cd_bytes head);

/* cd_ws_frame_enc writes the header and gives its size. */
usize cd_ws_frame_enc(u8 out[CD_WS_FRAME_HEAD_MAX], const cd_ws_frame *f);

/* cd_ws_mask applies (or removes) the mask to n bytes that begin at offset `at` of the payload; out may
 * be in. */
void cd_ws_mask(u8 *out, const u8 *in, usize n, const u8 key[4], u64 at);

/* cd_ws_code_ok: the code may stand in a Close frame [RFC 6455 7.4, and IANA's 1012 to 1014]. */
bool cd_ws_code_ok(u16 code);

#endif
