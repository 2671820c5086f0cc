/* The client against the server of the same loop: handshake, messages both ways, TLS with certificates that fit and
 * that do not, and servers that do not play. */
#include "net/ws/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <unistd.h>

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *hub, *server_hub;
    cd_tls *tls;
    cd_listener *mute; /* takes connections and says nothing, or text */
    const char *text;
    cd_tcp *muted;
    cd_ws *client;
    char heard[64];
    char reason[128];
    u16 code;
    bool is_over;
} rig;

static void server_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    (void)ctx;
    if (cd_bytes_eq(data, cd_bytes_str("bye"))) {
        cd_ws_close(w, 4000, cd_bytes_str("as you say"));
    } else {
        assert_int_equal(cd_ws_send_bytes(w, kind, data), CD_OK);
    }
}

static void server_closed(void *ctx, u16 code, cd_bytes reason)
{
    (void)ctx;
    (void)code;
    (void)reason;
}

static void on_ws(void *ctx, cd_http_req *r)
{
    static const cd_ws_events events = {.message = server_message, .closed = server_closed};
    rig *g = ctx;
    cd_ws *w = cd_ws_accept(g->server_hub, r, &events, g);
    if (w != NULL) {
        assert_int_equal(cd_ws_send_bytes(w, CD_WS_TEXT, cd_bytes_str("hello")), CD_OK);
    }
}

static void on_plain(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_http_reply_error(r, 404, "Not Found");
}

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    rig *g = ctx;
    usize n = strlen(g->heard);
    assert_int_equal(kind, CD_WS_TEXT);
    (void)snprintf(g->heard + n, sizeof g->heard - n, "%.*s;", (int)data.n, (const char *)data.p);
    if (n != 0) {
        assert_int_equal(cd_ws_send_bytes(w, CD_WS_TEXT, cd_bytes_str("bye")), CD_OK);
    }
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    rig *g = ctx;
    g->code = code;
    (void)snprintf(g->reason, sizeof g->reason, "%.*s", (int)reason.n, (const char *)reason.p);
    g->is_over = true;
    cd_loop_stop(g->loop);
}

static void on_opened(void *ctx, cd_ws *w, const char *reason)
{
    rig *g = ctx;
    g->client = w;
    if (w == NULL) {
        (void)snprintf(g->reason, sizeof g->reason, "%s", reason);
        g->is_over = true;
        cd_loop_stop(g->loop);
    } else {
        assert_int_equal(cd_ws_send_bytes(w, CD_WS_TEXT, cd_bytes_str("one")), CD_OK);
    }
}

static void mute_data(void *ctx, cd_bytes data)
{
    rig *g = ctx;
    (void)data;
    if (g->text != NULL) {
        cd_bytes text = cd_bytes_str(g->text);
        assert_int_equal(cd_tcp_write(g->muted, &text, 1), CD_OK);
        g->text = NULL;
    }
}
static void mute_end(void *ctx, cd_err err)
{
    rig *g = ctx;
    (void)err;
    cd_tcp_close(g->muted);
}
static void mute_closed(void *ctx)
{
    ((rig *)ctx)->muted = NULL;
}

static void mute_accept(void *ctx, cd_tcp *tcp)
{
    static const cd_tcp_events events = {.data = mute_data, .end = mute_end, .closed = mute_closed};
    rig *g = ctx;
    g->muted = tcp;
    cd_tcp_start(tcp, &events, g);
}

static const cd_ws_events client_events = {.message = on_message, .closed = on_closed};

/* A server that speaks TLS when tls is given. */
static void rig_open_with(rig *g, const cd_tls_cfg *tls)
{
    const cd_http_route routes[] = {
        {.path = "/ws", .methods = CD_HTTP_GET, .handler = on_ws, .ctx = g},
        {.path = "/plain", .methods = CD_HTTP_GET, .handler = on_plain, .ctx = g},
    };
    const cd_http_cfg cfg = {0};
    *g = (rig){0};
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    g->server = cd_http_server_new(g->loop, &cfg);
    g->hub = cd_ws_hub_new(g->loop, NULL);
    g->server_hub = cd_ws_hub_new(g->loop, NULL);
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(g->server, &routes[i]);
    }
    if (tls != NULL) {
        assert_int_equal(cd_tls_new(&g->tls, g->loop, tls, NULL), CD_OK);
        assert_int_equal(cd_http_server_listen_tls(g->server, "127.0.0.1", 0, g->tls, NULL), CD_OK);
    } else {
        assert_int_equal(cd_http_server_listen(g->server, "127.0.0.1", 0, NULL), CD_OK);
    }
    assert_int_equal(cd_listener_open(&g->mute, g->loop, "127.0.0.1", 0, mute_accept, g, NULL), CD_OK);
}

static void rig_open(rig *g)
{
    rig_open_with(g, NULL);
}

static void on_stopped(void *ctx)
{
    cd_loop_stop(((rig *)ctx)->loop);
}

static void rig_close(rig *g)
{
    cd_listener_close(g->mute);
    cd_http_server_stop(g->server, 1000, on_stopped, g);
    cd_loop_run(g->loop);
    cd_http_server_free(g->server);
    cd_tls_free(g->tls);
    if (g->muted != NULL) {
        cd_tcp_close(g->muted);
    }
    cd_ws_hub_free(g->server_hub);
    cd_ws_hub_free(g->hub);
    cd_loop_free(g->loop);
}

static cd_ws_dial *dial_to(rig *g, const char *scheme_host, u16 port, const char *path, u32 timeout_ms)
{
    char url[128];
    cd_ws_dial *d = NULL;
    (void)snprintf(url, sizeof url, "%s:%u%s", scheme_host, port, path);
    g->is_over = false;
    g->reason[0] = '\0';
    assert_int_equal(cd_ws_dial_new(&d, g->hub, url, timeout_ms, &client_events, on_opened, g, NULL), CD_OK);
    return d;
}

static cd_ws_dial *dial(rig *g, u16 port, const char *path, u32 timeout_ms)
{
    return dial_to(g, "ws://127.0.0.1", port, path, timeout_ms);
}

static void test_talk(void **state)
{
    (void)state;
    rig g;
    rig_open(&g);
    (void)dial(&g, cd_http_server_port(g.server), "/ws", 3000);
    cd_loop_run(g.loop);
    assert_true(g.is_over);
    assert_string_equal(g.heard, "hello;one;");
    assert_int_equal(g.code, 4000);
    assert_string_equal(g.reason, "as you say");
    rig_close(&g);
}

static void test_refused(void **state)
{
    (void)state;
#define HEAD "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\n\r\n",
        HEAD "\r\n",
        HEAD "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", /* of another key */
        HEAD "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        "nonsense\r\n\r\n",
    };
    rig g;
    rig_open(&g);
    for (usize i = 0; i < CD_COUNT(answers); i++) {
        g.text = answers[i];
        (void)dial(&g, cd_listener_port(g.mute), "", 3000);
        cd_loop_run(g.loop);
        assert_null(g.client);
        assert_string_not_equal(g.reason, "");
    }
    (void)dial(&g, cd_http_server_port(g.server), "/plain", 3000);
    cd_loop_run(g.loop);
    assert_string_equal(g.reason, "the server does not switch to WebSocket");
    (void)dial(&g, cd_listener_port(g.mute), "/", 50); /* silence */
    cd_loop_run(g.loop);
    assert_string_equal(g.reason, "the server does not answer");
    (void)dial(&g, 1, "/", 3000); /* nobody there */
    cd_loop_run(g.loop);
    assert_string_not_equal(g.reason, "");
    cd_ws_dial_drop(dial(&g, cd_http_server_port(g.server), "/ws", 3000));
    rig_close(&g);
    assert_string_equal(g.reason, "");
}

/* --- TLS --- */

/* A certificate that is its own authority, for names, valid until `until` seconds from now. */
static void pair_write(cd_buf *cert, cd_buf *key, const char *names, long until)
{
    X509 *x = X509_new();
    EVP_PKEY *k = EVP_EC_gen("P-256");
    X509V3_CTX v3;
    X509_NAME *subject = X509_get_subject_name(x);
    BIO *bio[2] = {BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};
    cd_buf *out[2] = {cert, key};
    char *p;
    assert_int_equal(X509_set_version(x, X509_VERSION_3), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), -3600));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), until));
    assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const u8 *)"node", -1, -1, 0), 1);
    assert_int_equal(X509_set_issuer_name(x, subject), 1);
    assert_int_equal(X509_set_pubkey(x, k), 1);
    X509V3_set_ctx(&v3, x, x, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &v3, NID_subject_alt_name, names);
    assert_int_equal(X509_add_ext(x, ext, -1), 1);
    X509_EXTENSION_free(ext);
    assert_true(X509_sign(x, k, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(bio[0], x), 1);
    assert_int_equal(PEM_write_bio_PrivateKey(bio[1], k, NULL, NULL, 0, NULL, NULL), 1);
    for (usize i = 0; i < 2; i++) {
        long n = BIO_get_mem_data(bio[i], &p);
        cd_buf_put(out[i], cd_bytes_of(p, (usize)n));
        BIO_free(bio[i]);
    }
    X509_free(x);
    EVP_PKEY_free(k);
}

typedef struct tls_rig {
    rig g;
    char ca_file[64];
} tls_rig;

/* A server with a certificate for names, and a client that believes it when is_known. */
static u16 tls_open(tls_rig *t, const char *names, long until, bool is_known)
{
    cd_buf cert = {0};
    cd_buf key = {0};
    pair_write(&cert, &key, names, until);
    const cd_tls_cfg cfg = {.cert = cd_buf_bytes(&cert), .key = cd_buf_bytes(&key)};
    rig_open_with(&t->g, &cfg);
    (void)snprintf(t->ca_file, sizeof t->ca_file, "/tmp/candela-ws-ca-XXXXXX");
    int fd = mkstemp(t->ca_file);
    assert_true(fd >= 0);
    if (!is_known) {
        cd_buf_clear(&cert);
        pair_write(&cert, &key, names, until);
    }
    assert_int_equal(write(fd, cert.p, cert.n), (ssize_t)cert.n);
    assert_int_equal(close(fd), 0);
    cd_ws_hub_free(t->g.hub);
    t->g.hub = cd_ws_hub_new(t->g.loop, &(cd_ws_cfg){.ca_file = t->ca_file});
    cd_buf_fini(&cert);
    cd_buf_fini(&key);
    return cd_http_server_port(t->g.server);
}

static void tls_close(tls_rig *t)
{
    (void)unlink(t->ca_file);
    rig_close(&t->g);
}

static void test_tls(void **state)
{
    (void)state;
    static const char *const hosts[] = {"wss://127.0.0.1", "wss://localhost"};
    tls_rig t;
    u16 port = tls_open(&t, "DNS:localhost,IP:127.0.0.1", 3600, true);
    for (usize i = 0; i < CD_COUNT(hosts); i++) {
        t.g.heard[0] = '\0';
        (void)dial_to(&t.g, hosts[i], port, "/ws", 3000);
        cd_loop_run(t.g.loop);
        assert_string_equal(t.g.heard, "hello;one;");
        assert_int_equal(t.g.code, 4000);
    }
    /* no TLS there: an answer that is none, and silence */
    t.g.text = "HTTP/1.1 400 Bad Request\r\n\r\n";
    (void)dial_to(&t.g, "wss://127.0.0.1", cd_listener_port(t.g.mute), "/ws", 3000);
    cd_loop_run(t.g.loop);
    assert_memory_equal(t.g.reason, "TLS with the server: ", 21);
    (void)dial_to(&t.g, "wss://127.0.0.1", cd_listener_port(t.g.mute), "/ws", 50);
    cd_loop_run(t.g.loop);
    assert_string_equal(t.g.reason, "the server does not answer");
    cd_ws_dial_drop(dial_to(&t.g, "wss://127.0.0.1", port, "/ws", 3000));
    tls_close(&t);
    assert_string_equal(t.g.reason, "");
}

static void on_drop(void *ctx)
{
    cd_loop_stop(((rig *)ctx)->loop);
}

/* Dropped while the server keeps silent: nothing is told, nothing leaks. */
static void test_tls_dropped(void **state)
{
    (void)state;
    for (u64 ms = 0; ms < 20; ms += 5) {
        tls_rig t;
        (void)tls_open(&t, "IP:127.0.0.1", 3600, true);
        cd_timer *timer = cd_timer_new(t.g.loop, on_drop, &t.g);
        cd_ws_dial *d = dial_to(&t.g, "wss://127.0.0.1", cd_listener_port(t.g.mute), "/", 3000);
        cd_timer_start(timer, ms, 0);
        cd_loop_run(t.g.loop);
        assert_false(t.g.is_over);
        cd_ws_dial_drop(d);
        cd_timer_free(timer);
        tls_close(&t);
        assert_false(t.g.is_over);
    }
}

static void test_tls_refused(void **state)
{
    (void)state;
    static const struct {
        const char *names;
        long until;
        bool is_known;
        const char *reason;
    } cases[] = {
        {"DNS:localhost,IP:127.0.0.2", 3600, true, "the server's certificate: IP address mismatch"},
        {"IP:127.0.0.1", -60, true, "the server's certificate: certificate has expired"},
        {"IP:127.0.0.1", 3600, false, "the server's certificate: "},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        tls_rig t;
        u16 port = tls_open(&t, cases[i].names, cases[i].until, cases[i].is_known);
        (void)dial_to(&t.g, "wss://127.0.0.1", port, "/ws", 3000);
        cd_loop_run(t.g.loop);
        assert_null(t.g.client);
        assert_memory_equal(t.g.reason, cases[i].reason, strlen(cases[i].reason));
        tls_close(&t);
    }
    /* certificates to believe that are none */
    rig g;
    cd_ws_dial *d;
    rig_open(&g);
    cd_ws_hub *hub = cd_ws_hub_new(g.loop, &(cd_ws_cfg){.ca_file = "/dev/null"});
    assert_int_equal(cd_ws_dial_new(&d, hub, "wss://127.0.0.1:1/", 1000, &client_events, on_opened, &g, NULL),
                     CD_EFORMAT);
    cd_ws_hub_free(hub);
    rig_close(&g);
}

static void test_urls(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "http://a/",
        "wss:/a/",
        "ws://",
        "ws:///",
        "ws://a:0/",
        "wss://",
        "wss://:1/",
        "wss://a:0",
        "ws://a:x/",
        "ws://a:1:2/",
        "ws://[::1/",
        "ws://[::1]x",
        "ws://a?x=1",
        "ws://a:65536/",
    };
    cd_loop *loop;
    assert_int_equal(cd_loop_new(&loop, NULL), CD_OK);
    cd_ws_hub *hub = cd_ws_hub_new(loop, NULL);
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_ws_dial *d;
        cd_errinfo why;
        assert_int_equal(cd_ws_dial_new(&d, hub, bad[i], 1000, &client_events, on_opened, NULL, &why), CD_EINVAL);
    }
    cd_ws_hub_free(hub);
    cd_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_talk),        cmocka_unit_test(test_refused),     cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_dropped), cmocka_unit_test(test_tls_refused), cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
