#include "p2p/tcp.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "net/tls/tls.h"

enum { DIAL_MS = 30000, TLS_MS = 15000, TICK_MIN_MS = 10, TICK_MAX_MS = 1000 };

/* A connection, from the moment it is secured to the event closed. */
typedef struct stream {
    cd_p2p_conn conn; /* first */
    cd_p2p_tcp *owner;
    cd_tcp *tcp;
    cd_p2p_peer *peer; /* NULL: the peer has closed the connection */
    cd_shared *flying[CD_TCP_PARTS_MAX];
    usize flying_cnt;
} stream;

/* A connection that is being made. */
typedef struct dial {
    cd_list all;
    cd_p2p_tcp *owner;
    cd_node_id ticket;
    cd_p2p_ip ip;
    cd_connect *connect; /* NULL: connected, TLS is being set up */
} dial;

struct cd_p2p_tcp {
    cd_loop *loop;
    cd_p2p_tcp_cfg cfg;
    const cd_clock *clock;
    cd_p2p_net *net;
    cd_tls *server;
    cd_tls *client;
    cd_listener *listener;
    cd_timer *timer;
    cd_list dials;
    usize refs; /* number of streams, and one for the owner */
};

static void unref(cd_p2p_tcp *t)
{
    if (--t->refs == 0) {
        cd_free(t);
    }
}

/* --- time --- */

static void on_timer(void *ctx)
{
    cd_p2p_tcp *t = ctx;
    u64 next = cd_p2p_net_tick(t->net);
    u64 now = cd_clock_mono_ns(t->clock);
    u64 ms = next <= now ? 0 : (next - now) / CD_NS_PER_MS;
    ms = ms < TICK_MIN_MS ? TICK_MIN_MS : ms > TICK_MAX_MS ? TICK_MAX_MS : ms;
    cd_timer_start(t->timer, ms, 0);
}

void cd_p2p_tcp_wake(cd_p2p_tcp *t)
{
    cd_timer_start(t->timer, 0, 0);
}

/* --- bytes --- */

static void release(stream *s)
{
    for (usize i = 0; i < s->flying_cnt; i++) {
        cd_shared_unref(s->flying[i]);
    }
    s->flying_cnt = 0;
}

static cd_err conn_write(cd_p2p_conn *c, cd_shared *const *frames, usize cnt)
{
    stream *s = (stream *)(void *)c;
    cd_bytes parts[CD_TCP_PARTS_MAX];
    CD_ASSERT(s->flying_cnt == 0 && cnt <= CD_TCP_PARTS_MAX);
    for (usize i = 0; i < cnt; i++) {
        s->flying[i] = cd_shared_ref(frames[i]);
        parts[i] = cd_shared_bytes(frames[i]);
    }
    s->flying_cnt = cnt;
    cd_err e = cd_tcp_write(s->tcp, parts, cnt);
    if (e != CD_EAGAIN) {
        release(s);
    }
    return e;
}

static void conn_pause(cd_p2p_conn *c, bool is_paused)
{
    stream *s = (stream *)(void *)c;
    if (is_paused) {
        cd_tcp_pause(s->tcp);
    } else {
        cd_tcp_resume(s->tcp);
    }
}

static void conn_close(cd_p2p_conn *c)
{
    stream *s = (stream *)(void *)c;
    s->peer = NULL;
    cd_tcp_close(s->tcp);
    if (s->owner->timer != NULL) {
        cd_p2p_tcp_wake(s->owner);
    }
}

static void on_data(void *ctx, cd_bytes data)
{
    stream *s = ctx;
    if (s->peer != NULL) {
        cd_p2p_peer_data(s->peer, data);
    }
}

static void on_end(void *ctx, cd_err err)
{
    stream *s = ctx;
    (void)err;
    if (s->peer != NULL) {
        cd_p2p_peer_over(s->peer);
    }
}

static void on_written(void *ctx, cd_err err)
{
    stream *s = ctx;
    release(s);
    if (s->peer != NULL) {
        cd_p2p_peer_written(s->peer, err);
    }
}

static void on_closed(void *ctx)
{
    stream *s = ctx;
    release(s);
    unref(s->owner);
    cd_free(s);
}

static const cd_tcp_events stream_events = {.data = on_data, .end = on_end, .written = on_written, .closed = on_closed};

/* Takes a secured connection to the network, which decides whether it is wanted. */
static void begin(cd_p2p_tcp *t, cd_tcp *tcp, const cd_node_id *ticket)
{
    cd_buf cert = {0};
    stream *s = cd_new(stream);
    s->conn = (cd_p2p_conn){.write = conn_write, .pause = conn_pause, .close = conn_close};
    s->owner = t;
    s->tcp = tcp;
    (void)cd_tls_peer_cert(tcp, &cert); /* an empty certificate does not parse, and is refused as such */
    s->peer = cd_p2p_net_opened(t->net, &s->conn, cd_buf_bytes(&cert), ticket);
    cd_buf_fini(&cert);
    if (s->peer == NULL) {
        if (ticket == NULL) {
            cd_p2p_net_rejected(t->net);
        }
        cd_free(s);
        cd_tcp_close(tcp);
        return;
    }
    t->refs++;
    cd_tcp_start(tcp, &stream_events, s);
    cd_p2p_tcp_wake(t);
}

/* --- in --- */

static void on_secured(void *ctx, cd_tcp *tcp)
{
    begin(ctx, tcp, NULL);
}

static void on_accept(void *ctx, cd_tcp *tcp)
{
    cd_p2p_tcp *t = ctx;
    char text[CD_TCP_PEER_MAX];
    cd_p2p_ip from;
    cd_tcp_peer(tcp, text);
    if (cd_p2p_ip_addr_parse(&from, cd_bytes_str(text)) != CD_OK || !cd_p2p_net_may_accept(t->net, &from)) {
        cd_tcp_close(tcp);
        return;
    }
    cd_tls_accept(t->server, tcp, on_secured, t);
}

/* --- out --- */

static void dial_end(dial *d, bool has_failed)
{
    cd_p2p_tcp *t = d->owner;
    cd_list_del(&d->all);
    if (has_failed) {
        cd_p2p_net_failed(t->net, &d->ticket);
        cd_p2p_tcp_wake(t);
    }
    cd_free(d);
}

static void on_tls(void *ctx, cd_tcp *tcp, const char *reason)
{
    dial *d = ctx;
    (void)reason;
    if (tcp == NULL) {
        dial_end(d, true);
        return;
    }
    begin(d->owner, tcp, &d->ticket);
    dial_end(d, false);
}

static void on_connect(void *ctx, cd_tcp *tcp, cd_err err)
{
    dial *d = ctx;
    char host[CD_P2P_IP_TEXT_MAX];
    (void)err;
    d->connect = NULL;
    if (tcp == NULL) {
        dial_end(d, true);
        return;
    }
    cd_p2p_ip_host(host, &d->ip);
    cd_tls_connect(d->owner->client, tcp, host, on_tls, d);
}

static void on_dial(void *ctx, const cd_node_id *ticket, const cd_p2p_ip *ip)
{
    cd_p2p_tcp *t = ctx;
    char host[CD_P2P_IP_TEXT_MAX];
    dial *d = cd_new(dial);
    d->owner = t;
    d->ticket = *ticket;
    d->ip = *ip;
    cd_list_push_back(&t->dials, &d->all);
    cd_p2p_ip_host(host, ip);
    d->connect = cd_connect_new(t->loop, host, ip->port, t->cfg.dial_timeout_ms, on_connect, d);
}

/* --- life --- */

static cd_err open_all(cd_p2p_tcp *t, const cd_p2p_identity *id, cd_errinfo *why)
{
    cd_bytes cert = cd_buf_bytes(&id->cert_pem);
    cd_bytes key = cd_bytes_of(id->key_pem.p, id->key_pem.n);
    cd_tls_cfg cfg = {.cert = cert, .key = key, .is_mutual = true, .handshake_timeout_ms = t->cfg.handshake_timeout_ms};
    CD_TRY(cd_tls_new(&t->server, t->loop, &cfg, why));
    CD_TRY(cd_tls_mutual_client_new(&t->client, t->loop, cert, key, why));
    return cd_listener_open(&t->listener, t->loop, t->cfg.host, t->cfg.port, on_accept, t, why);
}

static void close_all(cd_p2p_tcp *t)
{
    cd_timer_free(t->timer);
    t->timer = NULL;
    cd_listener_close(t->listener);
    cd_list_each_safe(it, &t->dials)
    {
        dial *d = cd_list_of(it, dial, all);
        if (d->connect != NULL) {
            cd_connect_drop(d->connect);
        }
        cd_list_del(it);
        cd_tls_drop(t->client, d);
        cd_free(d);
    }
    cd_p2p_net_free(t->net);
    cd_tls_free(t->client);
    cd_tls_free(t->server);
    unref(t);
}

cd_err cd_p2p_tcp_open(cd_p2p_tcp **out, cd_loop *loop, const cd_p2p_tcp_cfg *cfg, const cd_p2p_net_cfg *net,
                       const cd_p2p_owner *owner, cd_errinfo *why)
{
    cd_p2p_tcp *t = cd_new(cd_p2p_tcp);
    t->loop = loop;
    t->cfg = *cfg;
    t->cfg.dial_timeout_ms = cfg->dial_timeout_ms != 0 ? cfg->dial_timeout_ms : DIAL_MS;
    t->cfg.handshake_timeout_ms = cfg->handshake_timeout_ms != 0 ? cfg->handshake_timeout_ms : TLS_MS;
    t->clock = net->clock;
    t->refs = 1;
    cd_list_init(&t->dials);
    cd_err e = open_all(t, net->id, why);
    if (e != CD_OK) {
        close_all(t);
        return e;
    }
    cd_p2p_ip own = cfg->own;
    own.port = own.port != 0 ? own.port : cd_listener_port(t->listener);
    const cd_p2p_transport transport = {.ctx = t, .dial = on_dial};
    t->net = cd_p2p_net_new(net, owner, &transport, &own);
    t->timer = cd_timer_new(loop, on_timer, t);
    cd_p2p_tcp_wake(t);
    *out = t;
    return CD_OK;
}

void cd_p2p_tcp_close(cd_p2p_tcp *t)
{
    if (t != NULL) {
        close_all(t);
    }
}

cd_p2p_net *cd_p2p_tcp_net(cd_p2p_tcp *t)
{
    return t->net;
}

u16 cd_p2p_tcp_port(const cd_p2p_tcp *t)
{
    return cd_listener_port(t->listener);
}
