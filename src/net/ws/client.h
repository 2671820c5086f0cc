/* net/ws/client.h - opens a WebSocket connection to a server; from then on it is a cd_ws like any other.
 *
 *   cd_ws_dial_new ─► look-up ─► TCP ─► (wss: TLS, verified) ─► handshake ─► opened(ws) ─► events of net/ws/ws.h
 *
 * Neither extensions nor subprotocols are offered.
 * Threading: confined to the hub's loop. [RFC 6455 4.1] */
#ifndef CD_NET_WS_CLIENT_H
#define CD_NET_WS_CLIENT_H

#include "net/ws/ws.h"

typedef struct cd_ws_dial cd_ws_dial;

/* Called once: with the connection, whose events follow, or NULL and why there is none (a sentence, borrowed). */
typedef void cd_ws_opened_fn(void *ctx, cd_ws *w, const char *reason);

/* cd_ws_url_check: url is one that cd_ws_dial_new takes. Errors: CD_EINVAL. */
cd_err cd_ws_url_check(const char *url, cd_errinfo *why) CD_CHECK;

/* cd_ws_dial_new begins to open url, with timeout_ms for the connection and again for the handshakes; opened is never
 * called before it returns. events and ctx as for cd_ws_accept. Errors: CD_EINVAL for what is no ws:// or wss:// URL,
 * CD_EFORMAT for the hub's ca_file, at the first wss://. */
cd_err cd_ws_dial_new(cd_ws_dial **out, cd_ws_hub *h, const char *url, u32 timeout_ms, const cd_ws_events *events,
                      cd_ws_opened_fn *opened, void *ctx, cd_errinfo *why) CD_CHECK;

/* cd_ws_dial_drop, before opened was called: it will not be. */
void cd_ws_dial_drop(cd_ws_dial *d);

#endif
