/* The client against a server that misbehaves on command, on loopback. */
#include "net/http/client.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "base/thread/thread.h"
#include "net/http/server.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((usize)1 << 20)

/* --- a server for one connection at a time, in a thread of its own --- */

typedef struct bad_server {
    int fd;
    u16 port;
    cd_thread thread;
    _Atomic u32 conns;
    _Atomic u32 requests;
    _Atomic bool is_over;
    cd_mutex lock;   /* of last */
    char last[8192]; /* the newest request, whole */
} bad_server;

static void say(int fd, const char *text)
{
    usize n = strlen(text);
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        text += sent;
        n -= (usize)sent;
    }
}

static void say_many(int fd, const char *text, usize times)
{
    for (usize i = 0; i < times; i++) {
        say(fd, text);
    }
}

/* True when the client's end of the connection is open still after ms. */
static bool pause_ms(int fd, u32 ms)
{
    char c;
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = (i64)(ms % 1000) * 1000};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    ssize_t n = recv(fd, &c, 1, MSG_PEEK);
    tv = (struct timeval){.tv_sec = 10};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    return n != 0;
}

/* One answer; false closes the connection. */
static bool answer(int fd, const char *path)
{
    if (strcmp(path, "/ok") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-One:  a b \r\nx-one: second\r\n\r\nhello");
        return true;
    }
    if (strcmp(path, "/chunked") == 0) {
        say(fd, "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n"
                "HTTP/1.1 429 Slow Down\r\nTransfer-Encoding: chunked\r\nRetry-After: 7\r\n\r\n"
                "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
        return true;
    }
    if (strcmp(path, "/close") == 0) {
        return false; /* read, and not a word */
    }
    if (strcmp(path, "/redirect") == 0) {
        say(fd, "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n");
        return true;
    }
    if (strcmp(path, "/half") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    } else if (strcmp(path, "/half-head") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Le");
    } else if (strcmp(path, "/bad-chunks") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\nhello\r\n");
    } else if (strcmp(path, "/cut-chunks") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
    } else if (strcmp(path, "/no-http") == 0) {
        say(fd, "SSH-2.0-OpenSSH_9.2\r\n");
    } else if (strcmp(path, "/two-lengths") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: nine\r\n\r\nhello");
    } else if (strcmp(path, "/long-header") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nX-Long: ");
        say_many(fd, "0123456789abcdef", 8192);
        say(fd, "\r\n\r\n");
    } else if (strcmp(path, "/many-headers") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\n");
        say_many(fd, "X-Again: and again\r\n", 10000);
        say(fd, "\r\n");
    } else if (strcmp(path, "/endless") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\n\r\n");
        say_many(fd, "0123456789abcdef0123456789abcdef", 40000);
    } else if (strcmp(path, "/drip") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        for (u32 i = 0; i < 1000 && pause_ms(fd, 20); i++) {
            say(fd, "x");
        }
    } else if (strcmp(path, "/hang") == 0) {
        (void)pause_ms(fd, 10000);
    } else if (strcmp(path, "/reset") == 0) {
        struct linger now = {.l_onoff = 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    return false;
}

static void serve(bad_server *s, int fd)
{
    char buf[8192];
    usize n = 0;
    bool goes_on = true;
    struct timeval tv = {.tv_sec = 10};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    while (goes_on) {
        ssize_t got = recv(fd, buf + n, sizeof buf - 1 - n, 0);
        if (got <= 0) {
            break;
        }
        n += (usize)got;
        buf[n] = '\0';
        const char *end = strstr(buf, "\r\n\r\n");
        const char *length = strstr(buf, "Content-Length: ");
        usize body = length == NULL ? 0 : (usize)strtoul(length + 16, NULL, 10);
        if (end == NULL || n < (usize)(end + 4 - buf) + body) {
            continue;
        }
        char path[200] = "";
        (void)sscanf(buf, "%*s %199s", path);
        atomic_fetch_add(&s->requests, 1);
        cd_mutex_lock(&s->lock);
        memcpy(s->last, buf, n + 1);
        cd_mutex_unlock(&s->lock);
        n = 0;
        goes_on = answer(fd, path);
    }
    (void)close(fd);
}

static void server_run(void *arg)
{
    bad_server *s = arg;
    for (;;) {
        int fd = accept(s->fd, NULL, NULL);
        if (atomic_load(&s->is_over)) {
            (void)close(fd);
            return;
        }
        atomic_fetch_add(&s->conns, 1);
        serve(s, fd);
    }
}

static int listen_any(u16 *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    assert_true(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static bad_server *server_new(void)
{
    bad_server *s = cd_new(bad_server);
    cd_mutex_init(&s->lock);
    s->fd = listen_any(&s->port);
    assert_int_equal(listen(s->fd, 64), 0);
    assert_int_equal(cd_thread_start(&s->thread, "bad-server", server_run, s, NULL), CD_OK);
    return s;
}

static void server_free(bad_server *s)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(s->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    atomic_store(&s->is_over, true);
    assert_true(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    cd_thread_join(&s->thread);
    (void)close(fd);
    (void)close(s->fd);
    cd_mutex_fini(&s->lock);
    cd_free(s);
}

/* The newest request held text. */
static bool has_sent(bad_server *s, const char *text)
{
    cd_mutex_lock(&s->lock);
    bool found = strstr(s->last, text) != NULL;
    cd_mutex_unlock(&s->lock);
    return found;
}

/* --- a client and what it was told --- */

typedef struct rig {
    cd_loop *loop;
    cd_http_client *client;
    bad_server *server;
    u32 refused;
} rig;

typedef struct got {
    rig *rig;
    u32 times;
    cd_err err;
    u32 status;
    cd_buf body;
    char header[64];
    const char *wants; /* header */
    u32 *left;         /* calls that the loop runs for */
} got;

static void rig_init_cfg(rig *r, const cd_http_client_cfg *cfg)
{
    *r = (rig){.loop = NULL};
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    assert_int_equal(cd_http_client_new(&r->client, r->loop, cfg, NULL), CD_OK);
    r->server = server_new();
}

static void rig_init(rig *r)
{
    const cd_http_client_cfg cfg = {.conns_max = 0};
    rig_init_cfg(r, &cfg);
}

static void rig_fini(rig *r)
{
    cd_http_client_free(r->client);
    server_free(r->server);
    cd_loop_free(r->loop);
}

static void on_result(void *ctx, const cd_http_result *res)
{
    got *g = ctx;
    g->times++;
    g->err = res->err;
    g->status = res->status;
    assert_non_null(res->reason);
    cd_http_times times;
    cd_http_call_times(res->call, &times);
    cd_bytes head = cd_http_call_head(res->call);
    if (res->status != 0) {
        assert_true(times.was_sent && times.ttfb_ms <= res->ms && times.connect_ms <= times.ttfb_ms);
        assert_true(head.n > 8 && (memcmp(head.p, "HTTP/1.1", 8) == 0 || memcmp(head.p, "HTTP/2", 6) == 0));
    }
    cd_buf_put(&g->body, res->body);
    if (g->wants != NULL) {
        cd_bytes v = cd_http_call_header(res->call, g->wants);
        (void)snprintf(g->header, sizeof g->header, "%.*s", (int)v.n, (const char *)v.p);
    }
    if (--*g->left == 0) {
        cd_loop_stop(g->rig->loop);
    }
}

static void url_of(const rig *r, char out[128], const char *path)
{
    (void)snprintf(out, 128, "http://127.0.0.1:%u%s", r->server->port, path);
}

/* One call, to its end. */
static void ask(rig *r, got *g, const char *path, const cd_http_ask *more)
{
    char url[128];
    u32 left = 1;
    cd_http_ask a = *more;
    url_of(r, url, path);
    const char *wants = g->wants;
    cd_buf_fini(&g->body);
    *g = (got){.rig = r, .left = &left, .wants = wants};
    a.url = a.url != NULL ? a.url : url;
    (void)cd_http_client_call(r->client, &a, on_result, g);
    assert_int_equal(g->times, 0);
    cd_loop_run(r->loop);
    assert_int_equal(g->times, 1);
}

static const cd_http_ask plain = {.timeout_ms = 5000};

static void test_answers(void **state)
{
    (void)state;
    rig r;
    got g = {.wants = "X-One"};
    rig_init(&r);
    for (u32 i = 0; i < 3; i++) {
        ask(&r, &g, "/ok", &plain);
        assert_int_equal(g.err, CD_OK);
        assert_int_equal(g.status, 200);
        assert_string_equal(cd_buf_cstr(&g.body), "hello");
        assert_string_equal(g.header, "a b");
    }
    g.wants = "retry-after";
    ask(&r, &g, "/chunked", &plain);
    assert_int_equal(g.err, CD_OK);
    assert_int_equal(g.status, 429);
    assert_string_equal(cd_buf_cstr(&g.body), "abcde");
    assert_string_equal(g.header, "7");
    g.wants = "x-early";
    ask(&r, &g, "/chunked", &plain);
    assert_string_equal(g.header, "");
    ask(&r, &g, "/redirect", &plain);
    assert_int_equal(g.status, 302);
    assert_int_equal(atomic_load(&r.server->conns), 1); /* all over one connection */
    cd_buf_fini(&g.body);
    rig_fini(&r);
}

static void test_requests(void **state)
{
    (void)state;
    rig r;
    got g = {.wants = NULL};
    rig_init(&r);
    const char *const headers[] = {"X-Key: secret", "Content-Type: application/json"};
    const cd_http_ask post = {.method = CD_HTTP_POST,
                              .headers = headers,
                              .headers_cnt = 2,
                              .body = cd_bytes_str("{\"a\":1}"),
                              .timeout_ms = 5000};
    ask(&r, &g, "/ok", &post);
    assert_int_equal(g.status, 200);
    assert_true(has_sent(r.server, "POST /ok HTTP/1.1\r\n"));
    assert_true(has_sent(r.server, "\r\nX-Key: secret\r\n"));
    assert_true(has_sent(r.server, "\r\nUser-Agent: candela\r\n"));
    assert_true(has_sent(r.server, "\r\nContent-Type: application/json\r\n"));
    assert_true(has_sent(r.server, "\r\n\r\n{\"a\":1}"));
    /* Lines of any length arrive whole. */
    static const usize lens[] = {2000, 2046, 2047, 2048, 5000};
    for (usize i = 0; i < CD_COUNT(lens); i++) {
        char line[5100] = "X-Long: ";
        memset(line + strlen(line), 'y', lens[i] - 8);
        memcpy(line + lens[i], "\r\n", 3);
        const cd_http_ask lines = {.method = CD_HTTP_POST, .lines = cd_bytes_str(line), .timeout_ms = 5000};
        ask(&r, &g, "/ok", &lines);
        assert_int_equal(g.status, 200);
        assert_true(has_sent(r.server, line));
    }
    const cd_http_ask del = {.method = CD_HTTP_DELETE, .timeout_ms = 5000};
    ask(&r, &g, "/ok", &del);
    assert_true(has_sent(r.server, "DELETE /ok "));
    /* nothing of a call is left for the next */
    ask(&r, &g, "/ok", &plain);
    assert_true(has_sent(r.server, "GET /ok "));
    assert_false(has_sent(r.server, "X-Key") || has_sent(r.server, "Content-") || has_sent(r.server, "{"));
    const cd_http_ask bare = {.method = CD_HTTP_POST, .timeout_ms = 5000};
    ask(&r, &g, "/ok", &bare);
    assert_true(has_sent(r.server, "POST /ok ") && has_sent(r.server, "Content-Length: 0\r\n"));
    const char *const split[] = {"X: a\r\nY: b"};
    const cd_http_ask bad = {.headers = split, .headers_cnt = 1};
    ask(&r, &g, "/ok", &bad);
    assert_int_equal(g.err, CD_EINVAL);
    static const char *const urls[] = {"file:///etc/passwd", "gopher://127.0.0.1/", "http://", "nonsense:// x"};
    for (usize i = 0; i < CD_COUNT(urls); i++) {
        const cd_http_ask no = {.url = urls[i]};
        ask(&r, &g, "", &no);
        assert_int_equal(g.err, CD_EINVAL);
    }
    cd_buf_fini(&g.body);
    rig_fini(&r);
}

static void test_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        cd_err err;
        u32 timeout_ms;
    } cases[] = {
        {"/half", CD_EPROTO, 5000},         {"/bad-chunks", CD_EIO, 5000},     {"/cut-chunks", CD_EPROTO, 5000},
        {"/no-http", CD_EPROTO, 5000},      {"/two-lengths", CD_EPROTO, 5000}, {"/long-header", CD_ELIMIT, 5000},
        {"/many-headers", CD_ELIMIT, 5000}, {"/endless", CD_ELIMIT, 5000},     {"/drip", CD_ETIMEOUT, 300},
        {"/hang", CD_ETIMEOUT, 200},        {"/reset", CD_EIO, 5000},          {"/half-head", CD_EPROTO, 5000},
    };
    rig r;
    got g = {.wants = NULL};
    rig_init(&r);
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        const cd_http_ask a = {.timeout_ms = cases[i].timeout_ms, .body_max = MIB};
        ask(&r, &g, cases[i].path, &a);
        if (g.err != cases[i].err) {
            print_error("%s: %s\n", cases[i].path, cd_err_name(g.err));
        }
        assert_int_equal(g.err, cases[i].err);
        assert_true(g.body.n <= MIB);
    }
    ask(&r, &g, "/half-head", &plain);
    assert_int_equal(g.status, 0); /* its first line alone is no answer */
    ask(&r, &g, "/ok", &plain);    /* and the client is well */
    assert_int_equal(g.err, CD_OK);
    cd_buf_fini(&g.body);
    rig_fini(&r);
}

static void test_no_server(void **state)
{
    (void)state;
    rig r;
    got g = {.wants = NULL};
    u16 port;
    char url[64];
    rig_init(&r);
    int fd = listen_any(&port); /* bound, not listening */
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/", port);
    cd_http_ask a = {.url = url, .timeout_ms = 5000};
    ask(&r, &g, "", &a);
    assert_int_equal(g.err, CD_EIO);
    assert_int_equal(g.status, 0);
    a.url = "http://no-such-host.invalid/";
    ask(&r, &g, "", &a);
    assert_int_equal(g.err, CD_ENOENT);
    (void)close(fd);
    cd_buf_fini(&g.body);
    rig_fini(&r);
}

/* A server that reads the request on a kept connection and closes it: who may ask again does, who may not does not. */
static void test_once(void **state)
{
    (void)state;
    rig r;
    rig_init(&r);
    const cd_http_ask again = {.method = CD_HTTP_POST, .body = cd_bytes_str("{}")};
    cd_http_ask once = again;
    once.is_once = true;
    const cd_http_ask *const rows[] = {&once, &again};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        got g = {0};
        ask(&r, &g, "/ok", &once);
        assert_int_equal(g.err, CD_OK);
        u32 before = atomic_load(&r.server->requests);
        ask(&r, &g, "/close", rows[i]);
        assert_int_not_equal(g.err, CD_OK);
        if (rows[i]->is_once) {
            assert_int_equal(g.err, CD_EPROTO);
            assert_int_equal(atomic_load(&r.server->requests), before + 1);
        } else {
            assert_true(atomic_load(&r.server->requests) > before + 1);
        }
        cd_buf_fini(&g.body);
    }
    rig_fini(&r);
}

static bool refuse_loopback(void *ctx, cd_bytes address, u16 port)
{
    rig *r = ctx;
    r->refused += port == r->server->port;
    return !(address.n == 4 && address.p[0] == 127);
}

static void test_may_connect(void **state)
{
    (void)state;
    rig r;
    got g = {.wants = NULL};
    const cd_http_client_cfg cfg = {.may_connect = refuse_loopback, .may_connect_ctx = &r};
    rig_init_cfg(&r, &cfg);
    ask(&r, &g, "/ok", &plain);
    assert_int_equal(g.err, CD_EACCES);
    assert_int_equal(r.refused, 1);
    assert_int_equal(atomic_load(&r.server->conns), 0);
    rig_fini(&r);
    /* a name is pinned to the address that was checked */
    rig_init(&r);
    char url[64];
    (void)snprintf(url, sizeof url, "http://no-such-host.invalid:%u/ok", r.server->port);
    cd_http_ask pinned = {.url = url, .address = "127.0.0.1", .timeout_ms = 5000};
    ask(&r, &g, "", &pinned);
    assert_int_equal(g.err, CD_OK);
    assert_true(has_sent(r.server, "\r\nHost: no-such-host.invalid:"));
    pinned.address = "not an address";
    ask(&r, &g, "", &pinned);
    assert_int_equal(g.err, CD_EINVAL);
    cd_buf_fini(&g.body);
    rig_fini(&r);
}

static void on_never(void *ctx, const cd_http_result *res)
{
    (void)ctx;
    (void)res;
    fail();
}

typedef struct canceller {
    got got;
    cd_http_call *other;
} canceller;

static void on_cancel_other(void *ctx, const cd_http_result *res)
{
    canceller *c = ctx;
    cd_http_call_cancel(c->other);
    on_result(&c->got, res);
}

static void test_cancel(void **state)
{
    (void)state;
    rig r;
    char url[128];
    u32 left = 1;
    rig_init(&r);
    url_of(&r, url, "/ok");
    const cd_http_ask ok = {.url = url};
    cd_http_call_cancel(cd_http_client_call(r.client, &ok, on_never, NULL)); /* at once */
    char hang[128];
    url_of(&r, hang, "/hang");
    const cd_http_ask slow = {.url = hang};
    canceller c = {.got = {.rig = &r, .left = &left}};
    (void)cd_http_client_call(r.client, &ok, on_cancel_other, &c); /* from a callback */
    c.other = cd_http_client_call(r.client, &slow, on_never, NULL);
    cd_loop_run(r.loop);
    assert_int_equal(c.got.err, CD_OK);
    (void)cd_http_client_call(r.client, &ok, on_never, NULL); /* by the client's end */
    const cd_http_ask doomed = {.url = "gopher://x/"};
    (void)cd_http_client_call(r.client, &doomed, on_never, NULL);
    cd_buf_fini(&c.got.body);
    rig_fini(&r);
}

/* --- our own server: TLS, HTTP/2, gzip, many calls --- */

static void on_get(void *ctx, cd_http_req *req)
{
    (void)ctx;
    cd_buf_fill(cd_http_req_out(req), 'x', 4 * MIB);
    cd_http_reply(req, 200, "text/plain");
}

static void on_stopped(void *ctx)
{
    cd_loop_stop(ctx);
}

/* A certificate for localhost, signed by itself. */
static void make_cert(const char *cert_file, const char *key_file)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_EXTENSION *alt = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost");
    assert_int_equal(X509_set_version(cert, 2), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(cert), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), -60));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), 3600));
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const u8 *)"test", -1, -1, 0), 1);
    assert_int_equal(X509_set_issuer_name(cert, name), 1);
    assert_int_equal(X509_set_pubkey(cert, key), 1);
    assert_int_equal(X509_add_ext(cert, alt, -1), 1);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    FILE *f = fopen(cert_file, "we");
    assert_true(f != NULL && PEM_write_X509(f, cert) == 1 && fclose(f) == 0);
    f = fopen(key_file, "we");
    assert_true(f != NULL && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(f) == 0);
    X509_EXTENSION_free(alt);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void test_tls(void **state)
{
    (void)state;
    static const char *const protocols[] = {"h2", "http/1.1"};
    char dir[] = "/tmp/http-client-test-XXXXXX";
    char cert[64];
    char key[64];
    rig r = {.loop = NULL};
    got g = {.wants = NULL};
    assert_non_null(mkdtemp(dir));
    (void)snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    (void)snprintf(key, sizeof key, "%s/key.pem", dir);
    make_cert(cert, key);
    assert_int_equal(cd_loop_new(&r.loop, NULL), CD_OK);
    cd_tls *tls = NULL;
    const cd_tls_cfg tls_cfg = {.cert_file = cert, .key_file = key, .protocols = protocols, .protocols_cnt = 2};
    assert_int_equal(cd_tls_new(&tls, r.loop, &tls_cfg, NULL), CD_OK);
    const cd_http_cfg http_cfg = {.gzip = true};
    cd_http_server *server = cd_http_server_new(r.loop, &http_cfg);
    const cd_http_route route = {.path = "/big", .methods = CD_HTTP_GET, .handler = on_get};
    cd_http_server_route(server, &route);
    assert_int_equal(cd_http_server_listen_tls(server, "127.0.0.1", 0, tls, NULL), CD_OK);
    char url[64];
    char wrong[64];
    (void)snprintf(url, sizeof url, "https://localhost:%u/big", cd_http_server_port(server));
    (void)snprintf(wrong, sizeof wrong, "https://127.0.0.1:%u/big", cd_http_server_port(server));
    /* unknown to the system: refused */
    const cd_http_client_cfg strange = {.conns_max = 0};
    assert_int_equal(cd_http_client_new(&r.client, r.loop, &strange, NULL), CD_OK);
    const cd_http_ask big = {.url = url, .address = "127.0.0.1", .timeout_ms = 20000};
    u32 left = 1;
    g = (got){.rig = &r, .left = &left};
    (void)cd_http_client_call(r.client, &big, on_result, &g);
    cd_loop_run(r.loop);
    assert_int_equal(g.err, CD_ESIG);
    cd_http_client_free(r.client);
    /* known: many calls at once, over few connections, decompressed */
    const cd_http_client_cfg known = {.ca_file = cert};
    assert_int_equal(cd_http_client_new(&r.client, r.loop, &known, NULL), CD_OK);
    got all[8];
    left = CD_COUNT(all);
    for (usize i = 0; i < CD_COUNT(all); i++) {
        all[i] = (got){.rig = &r, .left = &left};
        (void)cd_http_client_call(r.client, &big, on_result, &all[i]);
    }
    cd_loop_run(r.loop);
    for (usize i = 0; i < CD_COUNT(all); i++) {
        assert_int_equal(all[i].err, CD_OK);
        assert_int_equal(all[i].body.n, 4 * MIB);
        cd_buf_fini(&all[i].body);
    }
    /* what is small on the wire and large behind it is bounded as what it becomes */
    cd_http_ask bomb = big;
    bomb.body_max = MIB;
    left = 1;
    g = (got){.rig = &r, .left = &left};
    (void)cd_http_client_call(r.client, &bomb, on_result, &g);
    cd_loop_run(r.loop);
    assert_int_equal(g.err, CD_ELIMIT);
    cd_buf_fini(&g.body);
    /* the right certificate for another name */
    const cd_http_ask other = {.url = wrong, .timeout_ms = 20000};
    left = 1;
    g = (got){.rig = &r, .left = &left};
    (void)cd_http_client_call(r.client, &other, on_result, &g);
    cd_loop_run(r.loop);
    assert_int_equal(g.err, CD_ESIG);
    cd_http_client_free(r.client);
    cd_http_server_stop(server, 100, on_stopped, r.loop);
    cd_loop_run(r.loop);
    cd_http_server_free(server);
    cd_tls_free(tls);
    cd_loop_free(r.loop);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), dir, NULL), CD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_requests),    cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_server), cmocka_unit_test(test_may_connect), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_once),      cmocka_unit_test(test_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
