/* An echo server behind TLS on loopback; OpenSSL is the client. The loop runs in a thread of its own. */
#include "net/tls/tls.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct rig rig;

/* A connection of the server: what comes is sent back, in order, one write at a time. */
typedef struct echo {
    rig *g;
    cd_tcp *tcp;
    cd_buf in;      /* arrived during a write */
    cd_buf sending; /* the write has it */
    bool is_writing;
    bool has_ended;
} echo;

struct rig {
    cd_loop *loop;
    cd_tls *tls;
    cd_listener *listener;
    cd_thread thread;
    u16 port;
    cd_loop_task stop;
    _Atomic int ends_ok;
    _Atomic int ends_bad;
    _Atomic int closed;
    _Atomic int ready;
    _Atomic int reloads;
    _Atomic int failed_reloads;
    char protocol[16];
    cd_buf peer;
    char dir[64];
    char cert[96];
    char key[96];
};

/* --- the server --- */

static void echo_close(echo *e)
{
    cd_tcp_close(e->tcp);
}

static void echo_send(echo *e)
{
    while (!e->is_writing && e->in.n != 0) {
        cd_buf spare = e->sending;
        e->sending = e->in;
        e->in = spare;
        cd_buf_clear(&e->in);
        /* In two parts, to see them put together. */
        usize half = e->sending.n / 2;
        const cd_bytes parts[] = {
            cd_bytes_of(e->sending.p, half), {0}, cd_bytes_of(e->sending.p + half, e->sending.n - half)};
        cd_err err = cd_tcp_write(e->tcp, parts, CD_COUNT(parts));
        e->is_writing = err == CD_EAGAIN;
        if (err != CD_OK && err != CD_EAGAIN) {
            echo_close(e);
            return;
        }
    }
    if (e->is_writing) {
        cd_tcp_pause(e->tcp);
    } else if (e->has_ended) {
        cd_tcp_shutdown(e->tcp);
        echo_close(e);
    }
}

static void on_data(void *ctx, cd_bytes data)
{
    echo *e = ctx;
    cd_buf_put(&e->in, data);
    echo_send(e);
}

static void on_end(void *ctx, cd_err err)
{
    echo *e = ctx;
    atomic_fetch_add(err == CD_OK ? &e->g->ends_ok : &e->g->ends_bad, 1);
    e->has_ended = true;
    if (err != CD_OK) {
        echo_close(e);
    } else {
        echo_send(e);
    }
}

static void on_written(void *ctx, cd_err err)
{
    echo *e = ctx;
    e->is_writing = false;
    if (err != CD_OK) {
        echo_close(e);
        return;
    }
    cd_tcp_resume(e->tcp);
    echo_send(e);
}

static void on_closed(void *ctx)
{
    echo *e = ctx;
    atomic_fetch_add(&e->g->closed, 1);
    cd_buf_fini(&e->in);
    cd_buf_fini(&e->sending);
    cd_free(e);
}

static void on_ready(void *ctx, cd_tcp *tcp)
{
    static const cd_tcp_events events = {.data = on_data, .end = on_end, .written = on_written, .closed = on_closed};
    rig *g = ctx;
    echo *e = cd_new(echo);
    cd_bytes protocol = cd_tls_protocol(tcp);
    (void)snprintf(g->protocol, sizeof g->protocol, "%.*s", (int)protocol.n,
                   protocol.n == 0 ? (const u8 *)"" : protocol.p);
    cd_buf_clear(&g->peer);
    bool has_cert = cd_tls_peer_cert(tcp, &g->peer);
    assert_int_equal(has_cert, g->peer.n != 0);
    *e = (echo){.g = g, .tcp = tcp};
    cd_tcp_start(tcp, &events, e);
    atomic_fetch_add(&g->ready, 1);
}

static void on_accept(void *ctx, cd_tcp *tcp)
{
    rig *g = ctx;
    cd_tls_accept(g->tls, tcp, on_ready, g);
}

static void on_reloaded(void *ctx, const cd_errinfo *why)
{
    rig *g = ctx;
    atomic_fetch_add(why == NULL ? &g->reloads : &g->failed_reloads, 1);
}

static void loop_main(void *arg)
{
    cd_loop_run(((rig *)arg)->loop);
}

static void on_stop(cd_loop_task *t)
{
    rig *g = (rig *)(void *)((char *)t - offsetof(rig, stop));
    cd_listener_close(g->listener);
    cd_tls_free(g->tls);
    cd_loop_stop(g->loop);
}

/* --- certificates --- */

typedef struct pair {
    X509 *cert;
    EVP_PKEY *key;
} pair;

static pair pair_new(const char *name)
{
    pair p = {.cert = X509_new(), .key = EVP_EC_gen("P-256")};
    X509_NAME *subject = X509_get_subject_name(p.cert);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(p.cert), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(p.cert), -60));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(p.cert), 3600));
    assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const u8 *)name, -1, -1, 0), 1);
    assert_int_equal(X509_set_issuer_name(p.cert, subject), 1);
    assert_int_equal(X509_set_pubkey(p.cert, p.key), 1);
    assert_true(X509_sign(p.cert, p.key, EVP_sha256()) > 0);
    return p;
}

static void pair_free(pair *p)
{
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
}

static void write_text(const char *path, const char *text)
{
    char tmp[128];
    (void)snprintf(tmp, sizeof tmp, "%s.new", path);
    FILE *f = fopen(tmp, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(tmp, path), 0);
}

/* The key first: the certificate is what is looked at. */
static void write_pair(const rig *g, const pair *p)
{
    char tmp[128];
    FILE *f = fopen(g->key, "w");
    assert_non_null(f);
    assert_int_equal(PEM_write_PrivateKey(f, p->key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(f), 0);
    (void)snprintf(tmp, sizeof tmp, "%s.new", g->cert);
    f = fopen(tmp, "w");
    assert_non_null(f);
    assert_int_equal(PEM_write_X509(f, p->cert), 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(tmp, g->cert), 0);
}

static void rig_prepare(rig *g)
{
    *g = (rig){0};
    (void)snprintf(g->dir, sizeof g->dir, "/tmp/candela-tls-XXXXXX");
    assert_non_null(mkdtemp(g->dir));
    (void)snprintf(g->cert, sizeof g->cert, "%s/cert.pem", g->dir);
    (void)snprintf(g->key, sizeof g->key, "%s/key.pem", g->dir);
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
}

static void rig_open(rig *g, cd_tls_cfg cfg)
{
    static const char *const protocols[] = {"h2", "http/1.1"};
    rig_prepare(g);
    pair p = pair_new("first");
    write_pair(g, &p);
    pair_free(&p);
    cfg.cert_file = g->cert;
    cfg.key_file = g->key;
    cfg.protocols = protocols;
    cfg.protocols_cnt = CD_COUNT(protocols);
    cfg.reloaded = on_reloaded;
    cfg.ctx = g;
    assert_int_equal(cd_tls_new(&g->tls, g->loop, &cfg, NULL), CD_OK);
    assert_int_equal(cd_listener_open(&g->listener, g->loop, "127.0.0.1", 0, on_accept, g, NULL), CD_OK);
    g->port = cd_listener_port(g->listener);
    assert_int_equal(cd_thread_start(&g->thread, "loop", loop_main, g, NULL), CD_OK);
}

static void rig_fini(rig *g)
{
    cd_loop_free(g->loop);
    cd_buf_fini(&g->peer);
    (void)unlink(g->cert);
    (void)unlink(g->key);
    (void)rmdir(g->dir);
}

static void rig_close(rig *g)
{
    g->stop.fn = on_stop;
    cd_loop_post(g->loop, &g->stop);
    cd_thread_join(&g->thread);
    rig_fini(g);
}

static void nap(u32 ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

/* Waits until *n is at least want; a minute is for ever. */
static void await(_Atomic int *n, int want)
{
    for (u32 i = 0; i < 12000 && atomic_load(n) < want; i++) {
        nap(5);
    }
    assert_true(atomic_load(n) >= want);
}

/* --- the client --- */

static int dial(const rig *g)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    addr.sin_port = htons(g->port);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    return fd;
}

static SSL_CTX *client_new(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    assert_non_null(ctx);
    SSL_CTX_set_security_level(ctx, 0); /* what is refused is refused by the server */
    return ctx;
}

static SSL *attach(SSL_CTX *ctx, int fd)
{
    SSL *s = SSL_new(ctx);
    assert_non_null(s);
    assert_int_equal(SSL_set_fd(s, fd), 1);
    return s;
}

/* Connects; NULL when the handshake fails (with TLS 1.3 the client may see that only later). */
static SSL *tls_dial(const rig *g, SSL_CTX *ctx)
{
    int fd = dial(g);
    SSL *s = attach(ctx, fd);
    if (SSL_connect(s) != 1) {
        ERR_clear_error();
        SSL_free(s);
        (void)close(fd);
        return NULL;
    }
    return s;
}

static void hang_up(SSL *s)
{
    int fd = SSL_get_fd(s);
    (void)SSL_shutdown(s);
    SSL_free(s);
    (void)close(fd);
}

static void say(SSL *s, const void *data, usize n)
{
    usize put;
    assert_int_equal(SSL_write_ex(s, data, n, &put), 1);
    assert_int_equal(put, n);
}

static void hear(SSL *s, void *out, usize n)
{
    usize got;
    for (usize at = 0; at < n; at += got) {
        assert_int_equal(SSL_read_ex(s, (u8 *)out + at, n - at, &got), 1);
    }
}

static void assert_echo(SSL *s)
{
    char b[6];
    say(s, "hello", 6);
    hear(s, b, 6);
    assert_string_equal(b, "hello");
}

/* --- tests --- */

static void test_versions(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *ciphers; /* of TLS 1.2 and below */
        bool ok;
    } rows[] = {
        {TLS1_3_VERSION, NULL, true},
        {TLS1_2_VERSION, NULL, true},
        {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256", true},
        {TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305", true},
        {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA", false},
        {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA384", false},
        {TLS1_2_VERSION, "AES128-GCM-SHA256", false},
        {TLS1_2_VERSION, "AECDH-AES128-SHA", false},
        {TLS1_1_VERSION, NULL, false},
        {TLS1_VERSION, NULL, false},
    };
    rig g;
    rig_open(&g, (cd_tls_cfg){0});
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        SSL_CTX *ctx = client_new();
        assert_int_equal(SSL_CTX_set_min_proto_version(ctx, rows[i].version), 1);
        assert_int_equal(SSL_CTX_set_max_proto_version(ctx, rows[i].version), 1);
        if (rows[i].ciphers != NULL) {
            assert_int_equal(SSL_CTX_set_cipher_list(ctx, rows[i].ciphers), 1);
        }
        SSL *s = tls_dial(&g, ctx);
        if ((s != NULL) != rows[i].ok) {
            fail_msg("version %x, %s", (unsigned)rows[i].version, rows[i].ciphers);
        }
        if (s != NULL) {
            assert_int_equal(SSL_version(s), rows[i].version);
            assert_echo(s);
            assert_string_equal(g.protocol, "");
            hang_up(s);
        }
        SSL_CTX_free(ctx);
    }
    rig_close(&g);
}

static void test_protocols(void **state)
{
    (void)state;
    static const struct {
        const char *offer; /* with their lengths */
        const char *want;  /* NULL: refused */
    } rows[] = {
        {"\x02h2\x08http/1.1", "h2"}, {"\x08http/1.1\x02h2", "h2"}, {"\x08http/1.1", "http/1.1"}, {"\x06spdy/3", NULL}};
    rig g;
    rig_open(&g, (cd_tls_cfg){0});
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        SSL_CTX *ctx = client_new();
        const u8 *offer = (const u8 *)rows[i].offer;
        assert_int_equal(SSL_CTX_set_alpn_protos(ctx, offer, (unsigned)strlen(rows[i].offer)), 0);
        SSL *s = tls_dial(&g, ctx);
        assert_int_equal(s != NULL, rows[i].want != NULL);
        if (s != NULL) {
            assert_echo(s);
            assert_string_equal(g.protocol, rows[i].want);
            hang_up(s);
        }
        SSL_CTX_free(ctx);
    }
    rig_close(&g);
}

/* Large amounts both ways: records, full sockets, pauses. One thread may use an SSL at a time, so the client
 * sends and receives in turn, ahead by more than the sockets hold. */
static void test_bulk(void **state)
{
    (void)state;
    enum { TOTAL = 24 << 20, STEP = 100000 };
    rig g;
    rig_open(&g, (cd_tls_cfg){0});
    SSL_CTX *ctx = client_new();
    SSL *s = tls_dial(&g, ctx);
    cd_buf sent = {0};
    cd_buf got = {0};
    assert_int_equal(RAND_bytes(cd_buf_extend(&sent, TOTAL), TOTAL), 1);
    (void)SSL_set_mode(s, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    struct timeval soon = {.tv_usec = 1000};
    assert_int_equal(setsockopt(SSL_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon), 0);
    assert_int_equal(setsockopt(SSL_get_fd(s), SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon), 0);
    for (usize at = 0; got.n < TOTAL;) {
        usize n = 0;
        if (at < TOTAL && at - got.n < 8 << 20 && SSL_write_ex(s, sent.p + at, cd_min_u64(STEP, TOTAL - at), &n) == 1) {
            at += n;
        }
        if ((at == TOTAL || at - got.n >= 6 << 20 || n == 0) &&
            SSL_read_ex(s, cd_buf_reserve(&got, STEP), STEP, &n) == 1) {
            got.n += n;
        }
    }
    assert_true(cd_bytes_eq(cd_buf_bytes(&sent), cd_buf_bytes(&got)));
    hang_up(s);
    cd_buf_fini(&sent);
    cd_buf_fini(&got);
    SSL_CTX_free(ctx);
    rig_close(&g);
}

/* A client that says it is done, one that only hangs up, one that sends no TLS in the middle. */
static void test_ends(void **state)
{
    (void)state;
    rig g;
    char b[16];
    usize n;
    rig_open(&g, (cd_tls_cfg){0});
    SSL_CTX *ctx = client_new();
    SSL *s = tls_dial(&g, ctx);
    say(s, "bye", 4);
    assert_int_equal(SSL_shutdown(s), 0);
    hear(s, b, 4); /* the answer still comes, then the server's own end */
    assert_int_equal(SSL_read_ex(s, b, sizeof b, &n), 0);
    assert_int_equal(SSL_get_error(s, 0), SSL_ERROR_ZERO_RETURN);
    await(&g.ends_ok, 1);
    hang_up(s);

    s = tls_dial(&g, ctx);
    assert_echo(s);
    (void)close(SSL_get_fd(s));
    SSL_free(s);
    await(&g.ends_bad, 1);

    s = tls_dial(&g, ctx);
    assert_echo(s);
    assert_int_equal(send(SSL_get_fd(s), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
    await(&g.ends_bad, 2);
    assert_int_equal(SSL_read_ex(s, b, sizeof b, &n), 0);
    hang_up(s);
    await(&g.closed, 3);
    assert_int_equal(atomic_load(&g.ends_ok), 1);
    SSL_CTX_free(ctx);
    rig_close(&g);
}

static int on_session(SSL *s, SSL_SESSION *session)
{
    SSL_SESSION **out = SSL_get_app_data(s);
    SSL_SESSION_free(*out);
    *out = session;
    return 1;
}

static void test_resumption(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    rig g;
    rig_open(&g, (cd_tls_cfg){0});
    for (usize i = 0; i < CD_COUNT(versions); i++) {
        SSL_SESSION *session = NULL;
        SSL_CTX *ctx = client_new();
        assert_int_equal(SSL_CTX_set_max_proto_version(ctx, versions[i]), 1);
        (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT);
        SSL_CTX_sess_set_new_cb(ctx, on_session);
        for (u32 round = 0; round < 2; round++) {
            int fd = dial(&g);
            SSL *s = attach(ctx, fd);
            SSL_set_app_data(s, &session);
            assert_true(session == NULL || SSL_set_session(s, session) == 1);
            assert_int_equal(SSL_connect(s), 1);
            assert_echo(s);
            assert_int_equal(SSL_session_reused(s), round);
            hang_up(s);
            assert_non_null(session);
        }
        SSL_SESSION_free(session);
        SSL_CTX_free(ctx);
    }
    rig_close(&g);
}

/* New keys may be asked for at any time in TLS 1.3; a new handshake inside of TLS 1.2 may not. */
static void test_rekeying(void **state)
{
    (void)state;
    rig g;
    char b[16];
    usize n;
    rig_open(&g, (cd_tls_cfg){0});
    SSL_CTX *ctx = client_new();
    SSL *s = tls_dial(&g, ctx);
    for (u32 i = 0; i < 50; i++) {
        assert_int_equal(SSL_key_update(s, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_echo(s);
    }
    hang_up(s);
    assert_int_equal(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION), 1);
    s = tls_dial(&g, ctx);
    assert_echo(s);
    assert_int_equal(SSL_renegotiate(s), 1);
    bool renegotiated = SSL_do_handshake(s) == 1 && SSL_read_ex(s, b, sizeof b, &n) == 1;
    assert_false(renegotiated);
    hang_up(s);
    SSL_CTX_free(ctx);
    rig_close(&g);
}

/* What is no TLS at all: HTTP is told so, the rest is closed; so is who says nothing, and who is too many. */
static void test_strangers(void **state)
{
    (void)state;
    rig g;
    char b[512];
    rig_open(&g, (cd_tls_cfg){.handshakes_max = 2, .handshake_timeout_ms = 200});
    int fd = dial(&g);
    assert_int_equal(send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27, MSG_NOSIGNAL), 27);
    ssize_t n = recv(fd, b, sizeof b - 1, MSG_WAITALL);
    assert_true(n > 0);
    b[n] = '\0';
    assert_memory_equal(b, "HTTP/1.1 400 Bad Request\r\n", 26);
    (void)close(fd);

    fd = dial(&g);
    assert_int_equal(send(fd, "\x16\x03\x01garbage that is none", 24, MSG_NOSIGNAL), 24);
    while (recv(fd, b, sizeof b, 0) > 0) {
    }
    (void)close(fd);

    int silent[2] = {dial(&g), dial(&g)};
    int third = dial(&g);
    assert_true(recv(third, b, sizeof b, 0) <= 0);
    assert_true(recv(silent[0], b, sizeof b, 0) <= 0);
    assert_true(recv(silent[1], b, sizeof b, 0) <= 0);
    SSL_CTX *ctx = client_new(); /* and the next is welcome */
    SSL *s = tls_dial(&g, ctx);
    assert_echo(s);
    nap(300); /* the limit is for handshakes only */
    assert_echo(s);
    hang_up(s);
    SSL_CTX_free(ctx);
    (void)close(third);
    (void)close(silent[0]);
    (void)close(silent[1]);
    rig_close(&g);
}

/* More handshakes at once than one round of the loop does. */
static void test_crowd(void **state)
{
    (void)state;
    enum { N = 60 };
    rig g;
    rig_open(&g, (cd_tls_cfg){0});
    SSL_CTX *ctx = client_new();
    SSL *s[N];
    cd_buf hello[N] = {0};
    BIO *in[N];
    BIO *out[N];
    for (u32 i = 0; i < N; i++) { /* all hellos first, then the rest */
        s[i] = SSL_new(ctx);
        in[i] = BIO_new(BIO_s_mem());
        out[i] = BIO_new(BIO_s_mem());
        SSL_set_bio(s[i], in[i], out[i]);
        assert_int_equal(SSL_connect(s[i]), -1);
        u8 *data;
        long n = BIO_get_mem_data(out[i], &data);
        cd_buf_put(&hello[i], cd_bytes_of(data, (usize)n));
        (void)BIO_reset(out[i]);
    }
    int fd[N];
    for (u32 i = 0; i < N; i++) {
        fd[i] = dial(&g);
        assert_int_equal(send(fd[i], hello[i].p, hello[i].n, MSG_NOSIGNAL), hello[i].n);
        cd_buf_fini(&hello[i]);
    }
    for (u32 i = 0; i < N; i++) {
        char b[4096];
        while (SSL_connect(s[i]) != 1) {
            ssize_t n = recv(fd[i], b, sizeof b, 0);
            assert_true(n > 0);
            assert_int_equal(BIO_write(in[i], b, (int)n), n);
        }
        u8 *data;
        long n = BIO_get_mem_data(out[i], &data);
        assert_int_equal(send(fd[i], data, (usize)n, MSG_NOSIGNAL), n);
    }
    await(&g.ready, N);
    for (u32 i = 0; i < N; i++) {
        SSL_free(s[i]);
        (void)close(fd[i]);
    }
    await(&g.closed, N);
    SSL_CTX_free(ctx);
    rig_close(&g);
}

static void test_mutual(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, (cd_tls_cfg){.is_mutual = true});
    SSL_CTX *ctx = client_new();
    SSL *s = tls_dial(&g, ctx); /* without a certificate */
    if (s != NULL) {
        u8 b;
        usize n;
        assert_int_equal(SSL_read_ex(s, &b, 1, &n), 0);
        hang_up(s);
    }
    pair p = pair_new("peer");
    assert_int_equal(SSL_CTX_use_certificate(ctx, p.cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, p.key), 1);
    s = tls_dial(&g, ctx);
    assert_echo(s);
    u8 *der = NULL;
    int n = i2d_X509(p.cert, &der);
    assert_true(cd_bytes_eq(cd_buf_bytes(&g.peer), cd_bytes_of(der, (usize)n)));
    OPENSSL_free(der);
    hang_up(s);
    assert_int_equal(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION), 1);
    assert_null(tls_dial(&g, ctx));
    assert_int_equal(atomic_load(&g.ready), 1);
    pair_free(&p);
    SSL_CTX_free(ctx);
    rig_close(&g);
}

static void assert_name(const rig *g, SSL_CTX *ctx, const char *name)
{
    char got[64];
    SSL *s = tls_dial(g, ctx);
    X509 *cert = SSL_get0_peer_certificate(s);
    assert_true(X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, got, sizeof got) > 0);
    assert_string_equal(got, name);
    hang_up(s);
}

static void test_reload(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, (cd_tls_cfg){.watch_ms = 10});
    SSL_CTX *ctx = client_new();
    assert_name(&g, ctx, "first");
    SSL *old = tls_dial(&g, ctx);
    pair p = pair_new("second");
    write_pair(&g, &p);
    await(&g.reloads, 1);
    assert_name(&g, ctx, "second");
    assert_echo(old);
    hang_up(old);

    write_text(g.cert, "no certificate");
    await(&g.failed_reloads, 1);
    assert_name(&g, ctx, "second");
    write_pair(&g, &p);
    pair_free(&p);
    p = pair_new("third");
    write_pair(&g, &p);
    await(&g.reloads, 2);
    assert_name(&g, ctx, "third");
    pair_free(&p);
    SSL_CTX_free(ctx);
    rig_close(&g);
}

static void test_bad_files(void **state)
{
    (void)state;
    rig g;
    cd_errinfo why = {0};
    rig_prepare(&g);
    pair a = pair_new("a");
    pair b = pair_new("b");
    cd_tls_cfg cfg = {.cert_file = g.cert, .key_file = g.key};
    assert_int_equal(cd_tls_new(&g.tls, g.loop, &cfg, &why), CD_ENOENT);
    write_pair(&g, &a);
    assert_int_equal(cd_tls_new(&g.tls, g.loop, &cfg, &why), CD_OK);
    cd_tls_free(g.tls);
    write_pair(&g, &b);
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_X509(bio, a.cert), 1);
    u8 *pem;
    long n = BIO_get_mem_data(bio, &pem);
    cd_buf cert = {0};
    cd_buf_put(&cert, cd_bytes_of(pem, (usize)n));
    write_text(g.cert, cd_buf_cstr(&cert)); /* a's, with b's key */
    assert_int_equal(cd_tls_new(&g.tls, g.loop, &cfg, &why), CD_EKEY);
    assert_non_null(strstr(why.msg, "mismatch"));
    write_text(g.key, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    assert_int_equal(cd_tls_new(&g.tls, g.loop, &cfg, &why), CD_EFORMAT);
    write_pair(&g, &a);
    cert.p[cert.n / 2] ^= 1;
    write_text(g.cert, cd_buf_cstr(&cert));
    assert_int_equal(cd_tls_new(&g.tls, g.loop, &cfg, &why), CD_EFORMAT);
    write_text(g.cert, "");
    assert_int_equal(cd_tls_new(&g.tls, g.loop, &cfg, &why), CD_EFORMAT);

    /* Contents instead of files, a chain of two. */
    cert.p[cert.n / 2] ^= 1;
    (void)BIO_reset(bio);
    assert_int_equal(PEM_write_bio_PrivateKey(bio, a.key, NULL, NULL, 0, NULL, NULL), 1);
    n = BIO_get_mem_data(bio, &pem);
    cd_buf key = {0};
    cd_buf_put(&key, cd_bytes_of(pem, (usize)n));
    cd_buf chain = {0};
    cd_buf_put(&chain, cd_buf_bytes(&cert));
    cd_buf_put(&chain, cd_buf_bytes(&cert));
    cfg = (cd_tls_cfg){.cert = cd_buf_bytes(&chain), .key = cd_buf_bytes(&key)};
    assert_int_equal(cd_tls_new(&g.tls, g.loop, &cfg, &why), CD_OK);
    assert_int_equal(cd_tls_reload(g.tls, &why), CD_OK);
    cd_tls_free(g.tls);
    cd_buf_fini(&chain);
    cd_buf_fini(&key);
    cd_buf_fini(&cert);
    BIO_free(bio);
    pair_free(&a);
    pair_free(&b);
    rig_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),  cmocka_unit_test(test_protocols),  cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_ends),      cmocka_unit_test(test_resumption), cmocka_unit_test(test_rekeying),
        cmocka_unit_test(test_strangers), cmocka_unit_test(test_crowd),      cmocka_unit_test(test_mutual),
        cmocka_unit_test(test_reload),    cmocka_unit_test(test_bad_files),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
