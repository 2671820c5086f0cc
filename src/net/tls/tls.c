#include "net/tls/tls_priv.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "base/table/list.h"
#include "net/loop_priv.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <stdio.h>

enum {
    PEM_MAX = 1024 * 1024,
    HANDSHAKES_MAX = 256,
    HANDSHAKE_TIMEOUT_MS = 10000,
    WATCH_MS = 10000,
    ROUND_NS = 2 * 1000 * 1000,    /* of one round of the loop for handshakes */
    HANDSHAKE_IN_MAX = 128 * 1024, /* a client may send ahead while its handshake waits */
    PLAIN_SIZE = 64 * 1024,        /* what is decrypted before it is given on */
    ENCRYPT_MAX = 128 * 1024,      /* plain bytes that are encrypted before the socket must take them */
    RECORD_SIZE = 16 * 1024,       /* the largest that TLS knows */
    UNASKED_MAX = 64 * 1024,       /* answers to the client's own TLS messages that it does not take */
};

typedef enum tls_state {
    TLS_HANDSHAKE,
    TLS_FAILED, /* the alert is out, the client may read it */
    TLS_UP,
} tls_state;

/* The layer of one connection. */
typedef struct tls_conn {
    cd_list link;    /* in the list of handshakes */
    cd_list waiting; /* in the list of connections with input to work on */
    cd_tls *tls;
    cd_tcp *tcp;
    SSL *ssl;
    tls_state state;
    u64 deadline_ms;                /* when the handshake must have ended */
    cd_accept_fn *ready;            /* called with a server's connection after the handshake */
    cd_tls_connected_fn *connected; /* called after a client's handshake; NULL: it was */
    void *ready_ctx;
    cd_bytes in; /* encrypted, borrowed while it is worked on */
    cd_buf kept; /* encrypted, for later; from kept_at on */
    usize kept_at;
    cd_buf out;     /* encrypted, not yet sent */
    cd_buf sending; /* encrypted, the socket has it */
    bool is_sending;
    cd_bytes parts[CD_TCP_PARTS_MAX]; /* the owner's write, as far as it is not encrypted */
    usize parts_cnt;
    bool is_writing;    /* the owner waits for written */
    bool is_paused;     /* by the owner */
    bool has_ended;     /* the socket gives no more */
    bool end_is_told;   /* to the owner */
    bool must_shutdown; /* when all is sent */
    bool is_closed;
    bool is_posted;
    cd_loop_task pump;
} tls_conn;

struct cd_tls {
    cd_loop *loop;
    cd_tls_cfg cfg;
    char *cert_file; /* NULL: contents were given */
    char *key_file;
    cd_buf cert_pem; /* text of the certificate in use, to notice a change */
    SSL_CTX *ctx;
    BIO_METHOD *bio;
    cd_list handshakes;
    usize handshakes_cnt;
    cd_list waiting;
    cd_loop_task round;
    bool round_is_posted;
    cd_timer *sweep;
    cd_timer *watch;
    usize refs; /* connections, the posted round, and the owner */
    u8 plain[PLAIN_SIZE];
};

static void unref(cd_tls *t)
{
    if (--t->refs == 0) {
        SSL_CTX_free(t->ctx);
        BIO_meth_free(t->bio);
        cd_buf_fini(&t->cert_pem);
        cd_free(t->cert_file);
        cd_free(t->key_file);
        cd_free(t);
    }
}

/* --- certificate and key --- */

/* Puts what the PEM texts say into use. */
static cd_err load(cd_tls *t, cd_bytes cert, cd_bytes key, cd_errinfo *why)
{
    SSL_CTX *ctx;
    CD_TRY(cd__tls_ctx_new(&ctx, &t->cfg, cert, key, why));
    SSL_CTX_free(t->ctx);
    t->ctx = ctx;
    return CD_OK;
}

static cd_err load_files(cd_tls *t, cd_errinfo *why)
{
    cd_buf cert = {0};
    cd_buf key = {0};
    cd_err err = cd_fs_read_file(cd_fs_real(), &cert, t->cert_file, PEM_MAX, why);
    err = err != CD_OK ? err : cd_fs_read_file(cd_fs_real(), &key, t->key_file, PEM_MAX, why);
    err = err != CD_OK ? err : load(t, cd_buf_bytes(&cert), cd_buf_bytes(&key), why);
    if (err == CD_OK) {
        cd_buf_clear(&t->cert_pem);
        cd_buf_put(&t->cert_pem, cd_buf_bytes(&cert));
    }
    OPENSSL_cleanse(key.p, key.n);
    cd_buf_fini(&key);
    cd_buf_fini(&cert);
    return err;
}

cd_err cd_tls_reload(cd_tls *t, cd_errinfo *why)
{
    cd_errinfo own = {0};
    cd_err err = t->cert_file == NULL ? CD_OK : load_files(t, &own);
    if (why != NULL && err != CD_OK) {
        *why = own;
    }
    if (t->cfg.reloaded != NULL) {
        t->cfg.reloaded(t->cfg.ctx, err == CD_OK ? NULL : &own);
    }
    return err;
}

/* A certificate that changed comes with its key: one of the two is enough to look at. A half-written pair
 * fails and is tried again. */
static void on_watch(void *ctx)
{
    cd_tls *t = ctx;
    cd_buf cert = {0};
    if (cd_fs_read_file(cd_fs_real(), &cert, t->cert_file, PEM_MAX, NULL) == CD_OK &&
        !cd_bytes_eq(cd_buf_bytes(&cert), cd_buf_bytes(&t->cert_pem))) {
        (void)!cd_tls_reload(t, NULL); /* told by the event */
    }
    cd_buf_fini(&cert);
}

/* --- between OpenSSL and the socket --- */

static int bio_read(BIO *bio, char *out, size_t n, size_t *got)
{
    tls_conn *c = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *got = cd_min_u64(n, c->in.n);
    if (*got == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    memcpy(out, c->in.p, *got);
    c->in = cd_bytes_sub(c->in, *got, c->in.n - *got);
    return 1;
}

static int bio_write(BIO *bio, const char *data, size_t n, size_t *put)
{
    tls_conn *c = BIO_get_data(bio);
    cd_buf_put(&c->out, cd_bytes_of(data, n));
    *put = n;
    return 1;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
    (void)bio;
    (void)num;
    (void)ptr;
    return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

/* Sends what is encrypted. False when the connection broke. */
static bool flush(tls_conn *c)
{
    if (c->is_sending || c->out.n == 0) {
        return true;
    }
    cd_buf spare = c->sending;
    c->sending = c->out;
    c->out = spare;
    cd_buf_clear(&c->out);
    const cd_bytes part = cd_buf_bytes(&c->sending);
    cd_err err = cd__tcp_raw_write(c->tcp, &part, 1);
    c->is_sending = err == CD_EAGAIN;
    return err == CD_OK || err == CD_EAGAIN;
}

static void handshake_leave(tls_conn *c)
{
    if (!cd_list_is_empty(&c->link)) {
        cd_list_del(&c->link);
        cd_list_del(&c->waiting);
        if (--c->tls->handshakes_cnt == 0 && c->tls->sweep != NULL) {
            cd_timer_stop(c->tls->sweep);
        }
    }
}

/* --- from the client --- */

static void tell_end(tls_conn *c, cd_err err)
{
    if (!c->end_is_told && !c->is_closed) {
        void *ctx;
        const cd_tcp_events *events = cd__tcp_events(c->tcp, &ctx);
        c->end_is_told = true;
        if (events != NULL) {
            events->end(ctx, err);
        } else {
            cd_tcp_close(c->tcp);
        }
    }
}

/* Decrypts c->in and gives it to the owner, until it is used up or the owner wants no more. */
static void give(tls_conn *c)
{
    void *ctx;
    const cd_tcp_events *events = cd__tcp_events(c->tcp, &ctx);
    while (!c->is_closed && !c->is_paused && !c->end_is_told) {
        usize n = 0;
        usize got = 0;
        int rc = 1;
        ERR_clear_error();
        while (n < PLAIN_SIZE && (rc = SSL_read_ex(c->ssl, c->tls->plain + n, PLAIN_SIZE - n, &got)) == 1) {
            n += got;
        }
        int err = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(c->ssl, rc);
        if (n != 0) {
            events->data(ctx, cd_bytes_of(c->tls->plain, n));
        }
        if (err == SSL_ERROR_WANT_READ) {
            break;
        }
        if (err != SSL_ERROR_NONE) {
            tell_end(c, err == SSL_ERROR_ZERO_RETURN ? CD_OK : CD_EPROTO);
        }
    }
    if (!c->is_closed && !flush(c)) {
        tell_end(c, CD_EIO);
    }
}

static void keep(tls_conn *c, cd_bytes data)
{
    if (c->kept_at == c->kept.n) {
        cd_buf_clear(&c->kept);
        c->kept_at = 0;
    }
    cd_buf_put(&c->kept, data);
}

/* May the connection take more of what the client sends? */
static bool wants_input(const tls_conn *c)
{
    return !c->is_paused && !(c->is_sending && c->out.n > UNASKED_MAX);
}

/* Works on what was kept, then reads on. */
static void pump(tls_conn *c)
{
    if (c->is_closed || !wants_input(c)) {
        return;
    }
    c->in = cd_bytes_of(c->kept.p + c->kept_at, c->kept.n - c->kept_at);
    give(c);
    c->kept_at = c->kept.n - c->in.n;
    c->in = (cd_bytes){0};
    if (c->is_closed || !wants_input(c)) {
        return;
    }
    cd_buf_fini(&c->kept);
    c->kept_at = 0;
    if (c->has_ended) {
        tell_end(c, CD_EPROTO); /* cut off: the client did not say that it is done */
    }
    cd__tcp_raw_resume(c->tcp);
}

static void on_pump(cd_loop_task *task)
{
    tls_conn *c = (tls_conn *)(void *)((u8 *)task - offsetof(tls_conn, pump));
    c->is_posted = false;
    if (c->tcp == NULL) {
        cd_free(c);
    } else {
        pump(c);
    }
}

static void post_pump(tls_conn *c)
{
    if (!c->is_posted) {
        c->is_posted = true;
        c->pump.fn = on_pump;
        cd_loop_post(c->tls->loop, &c->pump);
    }
}

/* --- handshakes --- */

static void tell_failed(tls_conn *c, const char *reason)
{
    cd_tls_connected_fn *connected = c->connected;
    c->connected = NULL;
    if (connected != NULL) {
        connected(c->ready_ctx, NULL, reason);
    }
}

/* A server that is not believed, or does not speak TLS. */
static void connect_fail(tls_conn *c)
{
    char reason[160];
    long verdict = SSL_get_verify_result(c->ssl);
    const char *text =
        verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : ERR_reason_error_string(ERR_peek_error());
    (void)snprintf(reason, sizeof reason, "%s: %s",
                   verdict != X509_V_OK ? "the server's certificate" : "TLS with the server",
                   text == NULL ? "it hung up" : text);
    ERR_clear_error();
    (void)flush(c); /* it hears why */
    tell_failed(c, reason);
    cd_tcp_close(c->tcp);
}

/* The client hears why, if it listens; it is not waited for longer than for a handshake. */
static void handshake_fail(tls_conn *c)
{
    static const char not_tls[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
                                  "Content-Type: text/plain; charset=utf-8\r\n\r\n"
                                  "this port speaks HTTPS\n";
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
        cd_buf_str(&c->out, not_tls);
    }
    ERR_clear_error();
    c->state = TLS_FAILED;
    cd_list_del(&c->waiting);
    if (!flush(c) || c->has_ended) {
        cd_tcp_close(c->tcp);
        return;
    }
    cd__tcp_raw_shutdown(c->tcp);
    cd__tcp_raw_resume(c->tcp);
}

/* Does the next part of a handshake. */
static void handshake_step(tls_conn *c)
{
    c->in = cd_bytes_of(c->kept.p + c->kept_at, c->kept.n - c->kept_at);
    ERR_clear_error();
    int rc = SSL_do_handshake(c->ssl);
    c->kept_at = c->kept.n - c->in.n;
    c->in = (cd_bytes){0};
    if (rc != 1 && SSL_get_error(c->ssl, rc) != SSL_ERROR_WANT_READ) {
        if (c->connected != NULL) {
            connect_fail(c);
        } else {
            handshake_fail(c);
        }
        return;
    }
    if (!flush(c) || (rc != 1 && c->has_ended)) {
        cd_tcp_close(c->tcp);
        return;
    }
    if (rc != 1) {
        cd__tcp_raw_resume(c->tcp);
        return;
    }
    handshake_leave(c);
    c->state = TLS_UP;
    if (c->connected != NULL) {
        cd_tls_connected_fn *connected = c->connected;
        c->connected = NULL;
        connected(c->ready_ctx, c->tcp, NULL);
    } else {
        c->ready(c->ready_ctx, c->tcp);
    }
    if (!c->is_closed) {
        pump(c);
    }
}

static void post_round(cd_tls *t);

static void on_round(cd_loop_task *task)
{
    cd_tls *t = (cd_tls *)(void *)((u8 *)task - offsetof(cd_tls, round));
    const cd_clock *clock = cd_clock_real();
    u64 end = cd_clock_mono_ns(clock) + ROUND_NS;
    t->round_is_posted = false;
    for (cd_list *it; (it = cd_list_first(&t->waiting)) != NULL;) {
        cd_list_del(it);
        handshake_step(cd_list_of(it, tls_conn, waiting));
        if (cd_clock_mono_ns(clock) >= end) {
            post_round(t);
            break;
        }
    }
    unref(t);
}

static void post_round(cd_tls *t)
{
    if (!t->round_is_posted && !cd_list_is_empty(&t->waiting)) {
        t->round_is_posted = true;
        t->refs++;
        t->round.fn = on_round;
        cd_loop_post(t->loop, &t->round);
    }
}

static void handshake_wait(tls_conn *c)
{
    cd__tcp_raw_pause(c->tcp);
    if (cd_list_is_empty(&c->waiting)) {
        cd_list_push_back(&c->tls->waiting, &c->waiting);
    }
    post_round(c->tls);
}

static void on_sweep(void *ctx)
{
    cd_tls *t = ctx;
    u64 now = cd_loop_now_ms(t->loop);
    cd_list_each_safe(it, &t->handshakes)
    {
        tls_conn *c = cd_list_of(it, tls_conn, link);
        if (now < c->deadline_ms) {
            break; /* they are in the order of their beginning */
        }
        cd_tcp_close(c->tcp);
    }
}

/* --- the layer --- */

static void layer_data(void *layer, cd_bytes data)
{
    tls_conn *c = layer;
    switch (c->state) {
    case TLS_HANDSHAKE:
        keep(c, data);
        if (c->kept.n > HANDSHAKE_IN_MAX) {
            cd_tcp_close(c->tcp);
            return;
        }
        handshake_wait(c);
        break;
    case TLS_FAILED:
        break;
    case TLS_UP:
        if (c->kept.n == c->kept_at && wants_input(c)) {
            c->in = data;
            give(c);
            data = c->in;
            c->in = (cd_bytes){0};
        }
        if (c->is_closed) {
            break;
        }
        if (data.n != 0) {
            keep(c, data);
        }
        if (!wants_input(c)) {
            cd__tcp_raw_pause(c->tcp);
        }
        break;
    }
}

static void layer_end(void *layer, cd_err err)
{
    tls_conn *c = layer;
    c->has_ended = true;
    if (c->state != TLS_UP) {
        cd_tcp_close(c->tcp);
    } else if (err != CD_OK) {
        tell_end(c, err);
    } else {
        pump(c);
    }
}

/* The next bytes of the owner's parts: small parts are put together in record, so that they do not become
 * a record each. */
static cd_bytes parts_next(tls_conn *c, u8 record[RECORD_SIZE], usize room)
{
    usize n = 0;
    while (c->parts_cnt != 0) {
        cd_bytes *p = &c->parts[c->parts_cnt - 1];
        if (n == 0 && (p->n >= RECORD_SIZE || c->parts_cnt == 1)) {
            cd_bytes whole = cd_bytes_sub(*p, 0, cd_min_u64(p->n, room));
            *p = cd_bytes_sub(*p, whole.n, p->n - whole.n);
            c->parts_cnt -= p->n == 0 ? 1 : 0;
            return whole;
        }
        usize take = cd_min_u64(p->n, RECORD_SIZE - n);
        if (take != 0) {
            memcpy(record + n, p->p, take);
        }
        n += take;
        *p = cd_bytes_sub(*p, take, p->n - take);
        if (p->n != 0) {
            break;
        }
        c->parts_cnt--;
    }
    return cd_bytes_of(record, n);
}

/* Encrypts the owner's parts piece by piece. CD_OK when all of them are sent. */
static cd_err write_on(tls_conn *c)
{
    u8 record[RECORD_SIZE];
    while (!c->is_sending) {
        for (usize n = 0; n < ENCRYPT_MAX && c->parts_cnt != 0;) {
            usize put = 0;
            cd_bytes plain = parts_next(c, record, ENCRYPT_MAX);
            ERR_clear_error();
            if (plain.n != 0 && SSL_write_ex(c->ssl, plain.p, plain.n, &put) != 1) {
                return CD_EPROTO;
            }
            n += plain.n;
        }
        if (!flush(c)) {
            return CD_EIO;
        }
        if (c->parts_cnt == 0 && !c->is_sending) {
            return CD_OK;
        }
    }
    return CD_EAGAIN;
}

static cd_err layer_write(void *layer, const cd_bytes *parts, usize cnt)
{
    tls_conn *c = layer;
    CD_ASSERT(!c->is_writing && cnt <= CD_TCP_PARTS_MAX && c->state == TLS_UP);
    c->parts_cnt = cnt;
    for (usize i = 0; i < cnt; i++) { /* the last one first: taken from the end */
        c->parts[cnt - 1 - i] = parts[i];
    }
    cd_err err = write_on(c);
    c->is_writing = err == CD_EAGAIN;
    return err;
}

static void layer_written(void *layer, cd_err err)
{
    tls_conn *c = layer;
    void *ctx;
    const cd_tcp_events *events = cd__tcp_events(c->tcp, &ctx);
    c->is_sending = false;
    if (c->state != TLS_UP) {
        if (err != CD_OK) {
            cd_tcp_close(c->tcp);
        }
        return;
    }
    if (err == CD_OK && c->is_writing) {
        err = write_on(c);
    } else if (err == CD_OK && !flush(c)) {
        err = CD_EIO;
    }
    if (c->is_writing && err != CD_EAGAIN) {
        c->is_writing = false;
        events->written(ctx, err);
    } else if (err != CD_OK && err != CD_EAGAIN) {
        tell_end(c, err);
    }
    if (c->is_closed) {
        return;
    }
    if (c->must_shutdown && !c->is_sending) {
        cd__tcp_raw_shutdown(c->tcp);
    }
    if (c->kept.n != c->kept_at || c->has_ended) {
        post_pump(c);
    } else if (wants_input(c)) {
        cd__tcp_raw_resume(c->tcp);
    }
}

static void layer_pause(void *layer)
{
    tls_conn *c = layer;
    c->is_paused = true;
    cd__tcp_raw_pause(c->tcp);
}

static void layer_resume(void *layer)
{
    tls_conn *c = layer;
    if (c->is_paused) {
        c->is_paused = false;
        post_pump(c); /* not from within the owner's call */
    }
}

static void layer_shutdown(void *layer)
{
    tls_conn *c = layer;
    c->must_shutdown = true;
    ERR_clear_error();
    (void)SSL_shutdown(c->ssl);
    if (!flush(c) || !c->is_sending) {
        cd__tcp_raw_shutdown(c->tcp);
    }
}

static void layer_close(void *layer)
{
    tls_conn *c = layer;
    c->is_closed = true;
    handshake_leave(c);
    tell_failed(c, "the server ends the TLS handshake, or takes too long for it");
    if (c->state == TLS_UP && !c->is_sending && !c->is_writing && !c->must_shutdown) {
        ERR_clear_error();
        (void)SSL_shutdown(c->ssl);
        (void)flush(c);
    }
}

static void layer_closed(void *layer)
{
    tls_conn *c = layer;
    SSL_free(c->ssl);
    cd_buf_fini(&c->kept);
    cd_buf_fini(&c->out);
    cd_buf_fini(&c->sending);
    unref(c->tls);
    c->tcp = NULL;
    if (!c->is_posted) {
        cd_free(c);
    }
}

static const cd__tcp_layer layer_ops = {
    .data = layer_data,
    .end = layer_end,
    .written = layer_written,
    .pause = layer_pause,
    .resume = layer_resume,
    .write = layer_write,
    .shutdown = layer_shutdown,
    .close = layer_close,
    .closed = layer_closed,
};

static tls_conn *conn_new(cd_tls *t, cd_tcp *tcp, void *ctx)
{
    tls_conn *c = cd_new(tls_conn);
    BIO *bio = BIO_new(t->bio);
    c->tls = t;
    c->tcp = tcp;
    c->ssl = SSL_new(t->ctx);
    CD_ASSERT(c->ssl != NULL && bio != NULL);
    BIO_set_data(bio, c);
    BIO_set_init(bio, 1);
    SSL_set_bio(c->ssl, bio, bio);
    c->ready_ctx = ctx;
    c->deadline_ms = cd_loop_now_ms(t->loop) + t->cfg.handshake_timeout_ms;
    cd_list_init(&c->waiting);
    cd_list_push_back(&t->handshakes, &c->link);
    t->refs++;
    if (t->handshakes_cnt++ == 0) {
        u64 step = cd_max_u64(t->cfg.handshake_timeout_ms / 4, 1);
        cd_timer_start(t->sweep, step, step);
    }
    return c;
}

void cd_tls_accept(cd_tls *t, cd_tcp *tcp, cd_accept_fn *ready, void *ctx)
{
    if (t->handshakes_cnt >= t->cfg.handshakes_max) {
        cd_tcp_close(tcp);
        return;
    }
    tls_conn *c = conn_new(t, tcp, ctx);
    SSL_set_accept_state(c->ssl);
    c->ready = ready;
    cd__tcp_layer_set(tcp, &layer_ops, c);
}

void cd_tls_connect(cd_tls *t, cd_tcp *tcp, const char *host, cd_tls_connected_fn *fn, void *ctx)
{
    tls_conn *c = conn_new(t, tcp, ctx);
    /* An address is no server name, and stands elsewhere in a certificate. */
    bool is_set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), host) == 1 ||
                  (SSL_set_tlsext_host_name(c->ssl, host) == 1 && SSL_set1_host(c->ssl, host) == 1);
    CD_ASSERT(is_set);
    SSL_set_connect_state(c->ssl);
    c->connected = fn;
    cd__tcp_layer_set(tcp, &layer_ops, c);
    handshake_wait(c); /* the client speaks first */
}

void cd_tls_drop(cd_tls *t, void *ctx)
{
    if (t == NULL) {
        return;
    }
    cd_list_each_safe(it, &t->handshakes)
    {
        tls_conn *c = cd_list_of(it, tls_conn, link);
        if (c->ready_ctx == ctx) {
            c->connected = NULL;
            cd_tcp_close(c->tcp);
        }
    }
}

cd_bytes cd_tls_protocol(const cd_tcp *tcp)
{
    const tls_conn *c = cd__tcp_layer_get(tcp, &layer_ops);
    const u8 *name = NULL;
    unsigned n = 0;
    if (c != NULL) {
        SSL_get0_alpn_selected(c->ssl, &name, &n);
    }
    return cd_bytes_of(name, n);
}

bool cd_tls_peer_cert(const cd_tcp *tcp, cd_buf *out)
{
    const tls_conn *c = cd__tcp_layer_get(tcp, &layer_ops);
    X509 *cert = c == NULL ? NULL : SSL_get0_peer_certificate(c->ssl);
    int n = cert == NULL ? -1 : i2d_X509(cert, NULL);
    if (n <= 0) {
        return false;
    }
    u8 *at = cd_buf_extend(out, (usize)n);
    return i2d_X509(cert, &at) == n;
}

/* --- life --- */

static char *str_dup(const char *s)
{
    usize n = strlen(s) + 1;
    return memcpy(cd_alloc(n), s, n);
}

/* All but the settings of its connections. */
static cd_tls *tls_new(cd_loop *loop, const cd_tls_cfg *cfg)
{
    cd_tls *t = cd_new(cd_tls);
    t->loop = loop;
    t->cfg = *cfg;
    t->cfg.handshakes_max = cfg->handshakes_max == 0 ? HANDSHAKES_MAX : cfg->handshakes_max;
    t->cfg.handshake_timeout_ms = cfg->handshake_timeout_ms == 0 ? HANDSHAKE_TIMEOUT_MS : cfg->handshake_timeout_ms;
    t->cfg.watch_ms = cfg->watch_ms == 0 ? WATCH_MS : cfg->watch_ms;
    t->refs = 1;
    cd_list_init(&t->handshakes);
    cd_list_init(&t->waiting);
    t->bio = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "candela");
    CD_ASSERT(t->bio != NULL);
    (void)BIO_meth_set_read_ex(t->bio, bio_read);
    (void)BIO_meth_set_write_ex(t->bio, bio_write);
    (void)BIO_meth_set_ctrl(t->bio, bio_ctrl);
    return t;
}

cd_err cd_tls_new(cd_tls **out, cd_loop *loop, const cd_tls_cfg *cfg, cd_errinfo *why)
{
    cd_tls *t = tls_new(loop, cfg);
    cd_err err;
    if (cfg->cert.n != 0) {
        err = cfg->cert.n > PEM_MAX || cfg->key.n > PEM_MAX
                  ? cd_fail(why, CD_ELIMIT, "TLS certificate or key larger than %d bytes", PEM_MAX)
                  : load(t, cfg->cert, cfg->key, why);
    } else {
        t->cert_file = str_dup(cfg->cert_file);
        t->key_file = str_dup(cfg->key_file);
        err = load_files(t, why);
    }
    if (err != CD_OK) {
        unref(t);
        return err;
    }
    t->sweep = cd_timer_new(loop, on_sweep, t);
    if (t->cert_file != NULL) {
        t->watch = cd_timer_new(loop, on_watch, t);
        cd_timer_start(t->watch, t->cfg.watch_ms, t->cfg.watch_ms);
    }
    *out = t;
    return CD_OK;
}

cd_err cd_tls_client_new(cd_tls **out, cd_loop *loop, const char *ca_file, cd_errinfo *why)
{
    cd_tls *t = tls_new(loop, &(cd_tls_cfg){0});
    cd_err err = cd__tls_client_ctx_new(&t->ctx, ca_file, why);
    if (err != CD_OK) {
        unref(t);
        return err;
    }
    t->sweep = cd_timer_new(loop, on_sweep, t);
    *out = t;
    return CD_OK;
}

cd_err cd_tls_mutual_client_new(cd_tls **out, cd_loop *loop, cd_bytes cert, cd_bytes key, cd_errinfo *why)
{
    cd_tls *t = tls_new(loop, &(cd_tls_cfg){0});
    cd_err err = cd__tls_mutual_client_ctx_new(&t->ctx, cert, key, why);
    if (err != CD_OK) {
        unref(t);
        return err;
    }
    t->sweep = cd_timer_new(loop, on_sweep, t);
    *out = t;
    return CD_OK;
}

void cd_tls_free(cd_tls *t)
{
    if (t == NULL) {
        return;
    }
    cd_timer_free(t->sweep);
    cd_timer_free(t->watch);
    t->sweep = NULL;
    t->watch = NULL;
    cd_list_each_safe(it, &t->handshakes)
    {
        tls_conn *c = cd_list_of(it, tls_conn, link);
        c->connected = NULL;
        cd_tcp_close(c->tcp);
    }
    unref(t);
}
