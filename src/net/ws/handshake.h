/* net/ws/handshake.h - the opening handshake's values: keys and the offer of compression. No I/O.
 *
 * permessage-deflate is only agreed on without context takeover in both directions, which a server may
 * demand of any client [RFC 7692 7.1.1]: then no connection needs a window of its own, and one
 * compressed message suits every connection. Threading: pure. [RFC 6455 4, RFC 7692 7.1] */
#ifndef CD_NET_WS_HANDSHAKE_H
#define CD_NET_WS_HANDSHAKE_H

#include "base/bytes.h"

enum {
    CD_WS_KEY_LEN = 24,
    CD_WS_ACCEPT_LEN = 28,
    CD_WS_ANSWER_MAX = 128,
    CD_WS_WINDOW_BITS_MIN = 9, /* zlib cannot do 8 */
    CD_WS_WINDOW_BITS_MAX = 15,
};

/* cd_ws_key_ok: Sec-WebSocket-Key is the base64 of 16 bytes. cd_ws_key_fmt writes one. */
bool cd_ws_key_ok(cd_bytes key);
void cd_ws_key_fmt(char out[CD_WS_KEY_LEN], const u8 nonce[16]);

/* cd_ws_accept_fmt gives Sec-WebSocket-Accept for a key, without a NUL. */
void cd_ws_accept_fmt(char out[CD_WS_ACCEPT_LEN], cd_bytes key);

/* cd_ws_deflate_agree picks the first offer of permessage-deflate in the client's
 * Sec-WebSocket-Extensions that can be met, and writes the server's, with a NUL. Gives the window that
 * the server may use, as a power of two; 0: no compression. */
u32 cd_ws_deflate_agree(char answer[CD_WS_ANSWER_MAX], cd_bytes offers);

/* What a client offers, and cd_ws_deflate_agreed, how it takes the answer: *has_deflate, or
 * CD_EPROTO when the server asserts what was not offered. */
#define CD_WS_DEFLATE_OFFER "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
cd_err cd_ws_deflate_agreed(bool *has_deflate, cd_bytes answer) CD_CHECK;

#endif
