/* A WebSocket connection on a connection of the HTTP server. */
#include "net/ws/handshake.h"
#include "net/ws/ws_priv.h"

#include <stdio.h>

static cd_err up_write(void *io, const cd_bytes *parts, usize cnt)
{
    return cd_http_up_write(io, parts, cnt);
}

static void up_pause(void *io)
{
    cd_http_up_pause(io);
}

static void up_resume(void *io)
{
    cd_http_up_resume(io);
}

static void up_shutdown(void *io)
{
    cd_http_up_shutdown(io);
}

static void up_close(void *io)
{
    cd_http_up_close(io);
}

static void on_data(void *ctx, cd_bytes data)
{
    cd__ws_on_data(ctx, data);
}

static void on_end(void *ctx, cd_err err)
{
    cd__ws_on_end(ctx, err);
}

static void on_written(void *ctx, cd_err err)
{
    cd__ws_on_written(ctx, err);
}

static void on_stop(void *ctx)
{
    cd_ws_close(ctx, CD_WS_GOING_AWAY, cd_bytes_str("the server stops"));
}

static void on_closed(void *ctx)
{
    cd__ws_on_closed(ctx);
}

/* As the Go nodes answer [spec:eth-rpc#7]. */
static void refuse(cd_http_req *r, u32 status, const char *text)
{
    cd_http_req_add_header(r, "Sec-WebSocket-Version", "13");
    cd_http_reply_error(r, status, text);
}

cd_ws *cd_ws_accept(cd_ws_hub *h, cd_http_req *r, const cd_ws_events *events, void *ctx)
{
    static const cd__ws_io io = {
        .write = up_write,
        .pause = up_pause,
        .resume = up_resume,
        .shutdown = up_shutdown,
        .close = up_close,
    };
    static const cd_http_up_events up_events = {
        .data = on_data,
        .end = on_end,
        .written = on_written,
        .stop = on_stop,
        .closed = on_closed,
    };
    cd_bytes key = cd_http_req_header(r, "sec-websocket-key");
    if (cd_http_req_method(r) != CD_HTTP_GET || !cd_http_req_offers_upgrade(r, "websocket") ||
        !cd_bytes_eq(cd_http_req_header(r, "sec-websocket-version"), cd_bytes_str("13")) || !cd_ws_key_ok(key)) {
        refuse(r, 400, "Bad Request");
        return NULL;
    }
    if (!cd_http_req_origin_allowed(r)) {
        refuse(r, 403, "Forbidden");
        return NULL;
    }
    char accept[CD_WS_ACCEPT_LEN + 1] = {0};
    char extensions[CD_WS_ANSWER_MAX];
    u32 bits =
        h->cfg.no_deflate ? 0 : cd_ws_deflate_agree(extensions, cd_http_req_header(r, "sec-websocket-extensions"));
    cd_ws_accept_fmt(accept, key);
    cd_http_req_add_header(r, "Sec-WebSocket-Accept", accept);
    if (bits != 0) {
        cd_http_req_add_header(r, "Sec-WebSocket-Extensions", extensions);
    }
    const cd_ws_rules rules = {.from_client = true, .has_deflate = bits != 0};
    cd_ws *w = cd__ws_new(h, rules, bits, events, ctx);
    cd_http_up *up = cd_http_req_upgrade(r, "websocket", &up_events, w);
    if (up == NULL) {
        cd__ws_drop(w);
        return NULL;
    }
    cd__ws_attach(w, &io, up);
    return w;
}
