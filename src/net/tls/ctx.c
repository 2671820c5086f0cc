/* What all connections have in common: protocol versions, ciphers; a server's certificate and key, and whom a client
 * believes. */
#include "net/tls/tls_priv.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

enum { TICKETS = 2 };

static cd_err fail_ssl(cd_errinfo *why, cd_err code, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return cd_fail(why, code, "%s: %s", what, reason == NULL ? "unknown reason" : reason);
}

int cd__tls_no_pass_phrase(char *buf, int size, int rwflag, void *ctx)
{
    (void)buf;
    (void)size;
    (void)rwflag;
    (void)ctx;
    return -1;
}

static cd_err use_cert(SSL_CTX *ctx, cd_bytes pem, cd_errinfo *why)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *cert = PEM_read_bio_X509(bio, NULL, cd__tls_no_pass_phrase, NULL);
    bool ok = cert != NULL && SSL_CTX_use_certificate(ctx, cert) == 1;
    X509_free(cert);
    while (ok && (cert = PEM_read_bio_X509(bio, NULL, cd__tls_no_pass_phrase, NULL)) != NULL) {
        ok = SSL_CTX_add0_chain_cert(ctx, cert) == 1;
        if (!ok) {
            X509_free(cert);
        }
    }
    BIO_free(bio);
    /* The end of the file shows as "no start line". */
    if (ok && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) {
        ERR_clear_error();
    }
    return ok && ERR_peek_last_error() == 0 ? CD_OK : fail_ssl(why, CD_EFORMAT, "TLS certificate");
}

static cd_err use_key(SSL_CTX *ctx, cd_bytes pem, cd_errinfo *why)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, cd__tls_no_pass_phrase, NULL);
    BIO_free(bio);
    if (key == NULL) {
        return fail_ssl(why, CD_EFORMAT, "TLS key");
    }
    bool ok = SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;
    EVP_PKEY_free(key);
    return ok ? CD_OK : fail_ssl(why, CD_EKEY, "TLS key");
}

/* ALPN: the server's order decides. */
static int choose_protocol(SSL *ssl, const u8 **out, u8 *out_n, const u8 *in, unsigned in_n, void *ctx)
{
    const cd_tls_cfg *cfg = ctx;
    (void)ssl;
    for (usize i = 0; i < cfg->protocols_cnt; i++) {
        cd_bytes want = cd_bytes_str(cfg->protocols[i]);
        for (unsigned at = 0; at < in_n; at += 1u + in[at]) {
            if (cd_bytes_eq(cd_bytes_of(in + at + 1, in[at]), want)) {
                *out = in + at + 1;
                *out_n = in[at];
                return SSL_TLSEXT_ERR_OK;
            }
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Any certificate: its owner proves to have the key, whether it may come in is not decided here. */
static int accept_any(int ok, X509_STORE_CTX *store)
{
    (void)ok;
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
}

static SSL_CTX *ctx_new(const SSL_METHOD *method, int version)
{
    SSL_CTX *ctx = SSL_CTX_new(method);
    CD_ASSERT(ctx != NULL);
    long ok = SSL_CTX_set_min_proto_version(ctx, version);
    ok &= SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
    ok &= SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384");
    CD_ASSERT(ok == 1);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* the client keeps its ticket */
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return ctx;
}

cd_err cd__tls_ctx_new(SSL_CTX **out, const cd_tls_cfg *cfg, cd_bytes cert, cd_bytes key, cd_errinfo *why)
{
    static const u8 session_id[] = "candela";
    SSL_CTX *ctx = ctx_new(TLS_server_method(), cfg->is_mutual ? TLS1_3_VERSION : TLS1_2_VERSION);
    long ok = SSL_CTX_set_session_id_context(ctx, session_id, sizeof session_id - 1);
    ok &= SSL_CTX_set_num_tickets(ctx, TICKETS);
    CD_ASSERT(ok == 1);
    (void)SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    if (cfg->protocols_cnt != 0) {
        SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, (void *)(uintptr_t)cfg);
    }
    if (cfg->is_mutual) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, accept_any);
        (void)SSL_CTX_set_num_tickets(ctx, 0); /* a ticket would stand for the certificate */
    }
    ERR_clear_error();
    cd_err err = use_cert(ctx, cert, why);
    err = err != CD_OK ? err : use_key(ctx, key, why);
    if (err != CD_OK) {
        SSL_CTX_free(ctx);
        return err;
    }
    *out = ctx;
    return CD_OK;
}

cd_err cd__tls_client_ctx_new(SSL_CTX **out, const char *ca_file, cd_errinfo *why)
{
    SSL_CTX *ctx = ctx_new(TLS_client_method(), TLS1_2_VERSION);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    ERR_clear_error();
    if (ca_file == NULL) {
        (void)SSL_CTX_set_default_verify_paths(ctx); /* without any, nobody is believed */
    } else if (SSL_CTX_load_verify_file(ctx, ca_file) != 1) {
        SSL_CTX_free(ctx);
        return fail_ssl(why, CD_EFORMAT, "TLS certificates to believe");
    }
    *out = ctx;
    return CD_OK;
}

cd_err cd__tls_mutual_client_ctx_new(SSL_CTX **out, cd_bytes cert, cd_bytes key, cd_errinfo *why)
{
    SSL_CTX *ctx = ctx_new(TLS_client_method(), TLS1_3_VERSION);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, accept_any);
    ERR_clear_error();
    cd_err err = use_cert(ctx, cert, why);
    err = err != CD_OK ? err : use_key(ctx, key, why);
    if (err != CD_OK) {
        SSL_CTX_free(ctx);
        return err;
    }
    *out = ctx;
    return CD_OK;
}
