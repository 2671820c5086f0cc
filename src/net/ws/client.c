#define _GNU_SOURCE /* memmem */
#include "net/ws/client.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/rng.h"
#include "base/text.h"
#include "net/ws/handshake.h"
#include "net/ws/ws_priv.h"

enum { HEAD_MAX = 16 * 1024, HOST_MAX = 256, PORT = 80, PORT_TLS = 443 };

/* ws://host[:port][/path] or wss://…; host may be an IPv6 address in brackets. */
typedef struct ws_url {
    bool is_tls;
    char host[HOST_MAX]; /* without brackets */
    u16 port;
    cd_bytes authority, target;
} ws_url;

/* Lives as long as the connection: once the handshake is over it only passes on what the socket tells. */
struct cd_ws_dial {
    cd_ws_hub *hub;
    const cd_ws_events *events;
    cd_ws_opened_fn *opened; /* NULL: told */
    void *ctx;
    cd_connect *connect; /* NULL: it is over */
    cd_timer *timer;     /* ends the handshakes that take too long */
    u32 timeout_ms;
    bool is_tls;
    char host[HOST_MAX];
    cd_tcp *tcp; /* NULL: TLS has it, when connect is NULL */
    cd_ws *ws;   /* NULL: the handshake is not over */
    cd_buf ask;
    cd_buf answer;
    char accept[CD_WS_ACCEPT_LEN];
};

static void dial_free(cd_ws_dial *d)
{
    cd_timer_free(d->timer);
    cd_buf_fini(&d->ask);
    cd_buf_fini(&d->answer);
    cd_free(d);
}

/* Ends the attempt; the socket's last event releases it. */
static void dial_fail(cd_ws_dial *d, const char *reason)
{
    cd_ws_opened_fn *opened = d->opened;
    d->opened = NULL;
    cd_timer_stop(d->timer);
    if (d->tcp != NULL) {
        cd_tcp_close(d->tcp);
    }
    if (opened != NULL) {
        opened(d->ctx, NULL, reason);
    }
}

/* --- the transport of an open connection --- */

static cd_err io_write(void *io, const cd_bytes *parts, usize cnt)
{
    return cd_tcp_write(io, parts, cnt);
}
static void io_pause(void *io)
{
    cd_tcp_pause(io);
}
static void io_resume(void *io)
{
    cd_tcp_resume(io);
}
static void io_shutdown(void *io)
{
    cd_tcp_shutdown(io);
}
static void io_close(void *io)
{
    cd_tcp_close(io);
}

/* --- the opening handshake --- */

/* The next line of *rest without its end. */
static cd_bytes line_next(cd_bytes *rest)
{
    const u8 *end = memmem(rest->p, rest->n, "\r\n", 2);
    cd_bytes line = *rest;
    line.n = end == NULL ? rest->n : (usize)(end - rest->p);
    usize used = end == NULL ? rest->n : line.n + 2;
    *rest = cd_bytes_sub(*rest, used, rest->n - used);
    return line;
}

/* NULL, or what is wrong with the server's answer. */
static const char *answer_check(const cd_ws_dial *d, cd_bytes head)
{
    static const char status[] = "HTTP/1.1 101";
    bool upgrades = false;
    bool connects = false;
    bool accepts = false;
    cd_bytes line = line_next(&head);
    if (line.n < sizeof status - 1 || memcmp(line.p, status, sizeof status - 1) != 0) {
        return "the server does not switch to WebSocket";
    }
    while (head.n != 0) {
        line = line_next(&head);
        const u8 *colon = line.n == 0 ? NULL : memchr(line.p, ':', line.n);
        if (colon == NULL) {
            continue;
        }
        usize at = (usize)(colon - line.p);
        cd_bytes name = cd_bytes_sub(line, 0, at);
        cd_bytes value = cd_text_trim(cd_bytes_sub(line, at + 1, line.n - at - 1), " \t");
        if (cd_http_name_eq(name, cd_bytes_str("upgrade"))) {
            upgrades = cd_http_list_has(value, "websocket");
        } else if (cd_http_name_eq(name, cd_bytes_str("connection"))) {
            connects = cd_http_list_has(value, "upgrade");
        } else if (cd_http_name_eq(name, cd_bytes_str("sec-websocket-accept"))) {
            accepts = cd_bytes_eq(value, cd_bytes_of(d->accept, CD_WS_ACCEPT_LEN));
        } else if (cd_http_name_eq(name, cd_bytes_str("sec-websocket-extensions")) ||
                   cd_http_name_eq(name, cd_bytes_str("sec-websocket-protocol"))) {
            return "the server asserts what was not offered";
        }
    }
    return upgrades && connects && accepts ? NULL : "the server's handshake is not valid";
}

static void on_answer(cd_ws_dial *d, cd_bytes data)
{
    static const cd__ws_io io = {
        .write = io_write,
        .pause = io_pause,
        .resume = io_resume,
        .shutdown = io_shutdown,
        .close = io_close,
    };
    cd_buf_put(&d->answer, data);
    const u8 *end = memmem(d->answer.p, d->answer.n, "\r\n\r\n", 4);
    if (end == NULL) {
        if (d->answer.n > HEAD_MAX) {
            dial_fail(d, "the server's answer is too long");
        }
        return;
    }
    usize head_n = (usize)(end - d->answer.p);
    const char *wrong = answer_check(d, cd_bytes_of(d->answer.p, head_n));
    if (wrong != NULL) {
        dial_fail(d, wrong);
        return;
    }
    const cd_ws_rules rules = {.from_client = false};
    cd_ws_opened_fn *opened = d->opened;
    d->opened = NULL;
    cd_timer_stop(d->timer);
    d->ws = cd__ws_new(d->hub, rules, 0, d->events, d->ctx);
    cd__ws_attach(d->ws, &io, d->tcp);
    opened(d->ctx, d->ws, NULL);
    cd_bytes rest = cd_bytes_sub(cd_buf_bytes(&d->answer), head_n + 4, d->answer.n - head_n - 4);
    if (rest.n != 0) {
        cd__ws_on_data(d->ws, rest);
    }
    cd_buf_fini(&d->answer);
}

static void on_data(void *ctx, cd_bytes data)
{
    cd_ws_dial *d = ctx;
    if (d->ws != NULL) {
        cd__ws_on_data(d->ws, data);
    } else if (d->opened != NULL) {
        on_answer(d, data);
    }
}

static void on_end(void *ctx, cd_err err)
{
    cd_ws_dial *d = ctx;
    if (d->ws != NULL) {
        cd__ws_on_end(d->ws, err);
    } else {
        dial_fail(d, "the server closed the connection");
    }
}

static void on_written(void *ctx, cd_err err)
{
    cd_ws_dial *d = ctx;
    if (d->ws != NULL) {
        cd__ws_on_written(d->ws, err);
    }
}

static void on_closed(void *ctx)
{
    cd_ws_dial *d = ctx;
    if (d->ws != NULL) {
        cd__ws_on_closed(d->ws);
    }
    dial_free(d);
}

static void ask_send(cd_ws_dial *d, cd_tcp *tcp)
{
    static const cd_tcp_events events = {
        .data = on_data,
        .end = on_end,
        .written = on_written,
        .closed = on_closed,
    };
    d->tcp = tcp;
    cd_tcp_start(tcp, &events, d);
    cd_bytes ask = cd_buf_bytes(&d->ask);
    cd_err err = cd_tcp_write(tcp, &ask, 1);
    if (err != CD_OK && err != CD_EAGAIN) {
        dial_fail(d, cd_err_str(err));
    }
}

static void on_secured(void *ctx, cd_tcp *tcp, const char *reason)
{
    cd_ws_dial *d = ctx;
    if (tcp == NULL) {
        dial_fail(d, reason);
        dial_free(d);
        return;
    }
    ask_send(d, tcp);
}

static void on_connected(void *ctx, cd_tcp *tcp, cd_err err)
{
    cd_ws_dial *d = ctx;
    d->connect = NULL;
    if (tcp == NULL) {
        dial_fail(d, cd_err_str(err));
        dial_free(d);
        return;
    }
    cd_timer_start(d->timer, d->timeout_ms, 0);
    if (d->is_tls) {
        cd_tls_connect(d->hub->tls, tcp, d->host, on_secured, d);
    } else {
        ask_send(d, tcp);
    }
}

static void on_late(void *ctx)
{
    cd_ws_dial *d = ctx;
    bool in_tls = d->tcp == NULL;
    if (in_tls) {
        cd_tls_drop(d->hub->tls, d);
    }
    dial_fail(d, "the server does not answer");
    if (in_tls) {
        dial_free(d);
    }
}

static cd_err url_parse(ws_url *out, const char *url, cd_errinfo *why)
{
    ws_url u = {.is_tls = strncmp(url, "wss://", 6) == 0};
    usize skip = u.is_tls ? 6 : 5;
    if (!u.is_tls && strncmp(url, "ws://", skip) != 0) {
        return cd_fail(why, CD_EINVAL, "not a ws:// or wss:// URL");
    }
    cd_bytes rest = cd_bytes_str(url + skip);
    usize n = strcspn(url + skip, "/?#");
    u64 number = u.is_tls ? PORT_TLS : PORT;
    u.authority = cd_bytes_sub(rest, 0, n);
    u.target = cd_bytes_sub(rest, n, rest.n - n);
    usize host_n = n;
    usize at = 0;
    if (n != 0 && rest.p[0] == '[') {
        const u8 *end = memchr(rest.p, ']', n);
        at = 1;
        host_n = end == NULL ? 0 : (usize)(end - rest.p) - 1;
    } else if (n != 0 && memchr(rest.p, ':', n) != NULL) {
        host_n = (usize)((const u8 *)memchr(rest.p, ':', n) - rest.p);
    }
    usize port_at = at + host_n + at;
    bool has_port = port_at < n;
    if (host_n == 0 || host_n >= HOST_MAX || (u.target.n != 0 && u.target.p[0] != '/') ||
        (has_port && (rest.p[port_at] != ':' ||
                      cd_u64_parse(&number, cd_bytes_sub(rest, port_at + 1, n - port_at - 1)) != CD_OK)) ||
        number == 0 || number > UINT16_MAX) {
        return cd_fail(why, CD_EINVAL, "not a valid %s URL", u.is_tls ? "wss://" : "ws://");
    }
    memcpy(u.host, rest.p + at, host_n);
    u.port = (u16)number;
    *out = u;
    return CD_OK;
}

cd_err cd_ws_url_check(const char *url, cd_errinfo *why)
{
    ws_url u;
    return url_parse(&u, url, why);
}

cd_err cd_ws_dial_new(cd_ws_dial **out, cd_ws_hub *h, const char *url, u32 timeout_ms, const cd_ws_events *events,
                      cd_ws_opened_fn *opened, void *ctx, cd_errinfo *why)
{
    char key[CD_WS_KEY_LEN];
    u8 nonce[16];
    ws_url u;
    cd_rng rng = cd_rng_os();
    CD_TRY(url_parse(&u, url, why));
    if (u.is_tls && h->tls == NULL) {
        CD_TRY(cd_tls_client_new(&h->tls, h->loop, h->cfg.ca_file, why));
    }
    cd_ws_dial *d = cd_new(cd_ws_dial);
    d->hub = h;
    d->events = events;
    d->opened = opened;
    d->ctx = ctx;
    d->is_tls = u.is_tls;
    memcpy(d->host, u.host, sizeof d->host);
    cd_rng_fill(&rng, nonce, sizeof nonce);
    cd_ws_key_fmt(key, nonce);
    cd_ws_accept_fmt(d->accept, cd_bytes_of(key, sizeof key));
    cd_buf_fmt(&d->ask,
               "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %.*s\r\n\r\n",
               u.target.n == 0 ? 1 : (int)u.target.n, u.target.n == 0 ? "/" : (const char *)u.target.p,
               (int)u.authority.n, (const char *)u.authority.p, CD_WS_KEY_LEN, key);
    d->timeout_ms = timeout_ms;
    d->timer = cd_timer_new(h->loop, on_late, d);
    d->connect = cd_connect_new(h->loop, u.host, u.port, timeout_ms, on_connected, d);
    *out = d;
    return CD_OK;
}

void cd_ws_dial_drop(cd_ws_dial *d)
{
    d->opened = NULL;
    if (d->connect != NULL) {
        cd_connect_drop(d->connect);
        dial_free(d);
    } else if (d->tcp == NULL) {
        cd_tls_drop(d->hub->tls, d);
        dial_free(d);
    } else {
        cd_tcp_close(d->tcp);
    }
}
