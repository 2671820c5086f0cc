/* net/tls/tls.h - TLS 1.2 and 1.3 for connections that a listener accepted, or that were made to a server.
 *
 *   listener ─► cd_tls_accept ──┐
 *   cd_connect ─► cd_tls_connect ┴► handshake ─► ready(tcp) ─► cd_tcp_start, cd_tcp_write ... as ever
 *
 * TLS lies below cd_tcp: whoever gets the connection reads and writes plain bytes. Only key exchange with
 * forward secrecy and authenticated encryption is offered; no renegotiation, no compression, no early
 * data. As a server it has one certificate and ignores the name that is asked for (SNI); as a client it
 * wants one that leads to an authority it believes and is made out to the server's name. Handshakes are
 * bounded in number, in time, and in the CPU they take from one round of the loop. The only module that
 * knows OpenSSL's TLS.
 * Threading: confined. [RFC 8446, RFC 5246, RFC 7301] */
#ifndef CD_NET_TLS_H
#define CD_NET_TLS_H

#include "base/mem/buf.h"
#include "net/loop.h"

typedef struct cd_tls cd_tls;

/* Zero in a number means its default. */
typedef struct cd_tls_cfg {
    const char *cert_file; /* PEM: the certificate, then those that lead to its root */
    const char *key_file;  /* PEM, without a pass phrase */
    cd_bytes cert;         /* the same as contents, which win over the files; borrowed for the call */
    cd_bytes key;
    const char *const *protocols; /* ALPN, the favourite first, static; a client that offers only others
                                     is refused, one that offers none is not */
    usize protocols_cnt;
    bool is_mutual;           /* TLS 1.3 only; the client must show a certificate. Any self-signed one will
                                 do: look at cd_tls_peer_cert */
    u32 handshakes_max;       /* 256 at a time; beyond it connections are closed */
    u32 handshake_timeout_ms; /* 10000 */
    u32 watch_ms;             /* 10000: how often the files are looked at for a new certificate */
    void (*reloaded)(void *ctx, const cd_errinfo *why); /* a new one is in use (NULL) or could not be
                                                           read; NULL: nobody wants to know */
    void *ctx;
} cd_tls_cfg;

/* cd_tls_new reads certificate and key. Errors: those of cd_fs_read_file, CD_EFORMAT (no PEM, or one that
 * is damaged), CD_EKEY (the key is not the certificate's, or too weak). */
cd_err cd_tls_new(cd_tls **out, cd_loop *loop, const cd_tls_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_tls_free ends the handshakes without telling; connections that are ready go on, and t's memory goes with the last.
 * NULL is allowed. */
void cd_tls_free(cd_tls *t);

/* cd_tls_reload reads the files again; handshakes that begin later see the result. On error everything
 * stays as it was. */
cd_err cd_tls_reload(cd_tls *t, cd_errinfo *why) CD_CHECK;

/* cd_tls_accept takes a connection that was not started, and calls ready when it is secured; ready may be
 * called before it returns. A connection that fails is closed without a word to anybody but the client. */
void cd_tls_accept(cd_tls *t, cd_tcp *tcp, cd_accept_fn *ready, void *ctx);

/* cd_tls_client_new is cd_tls_new for connections to servers: it believes the certificates in ca_file (PEM), or
 * those of the system (NULL). Errors: CD_EFORMAT for the file. The rest is as for a server's. */
cd_err cd_tls_client_new(cd_tls **out, cd_loop *loop, const char *ca_file, cd_errinfo *why) CD_CHECK;

/* cd_tls_mutual_client_new is cd_tls_client_new for the other side of is_mutual: TLS 1.3 only, it shows its certificate
 * (PEM texts) and takes whatever self-signed one the server has: look at cd_tls_peer_cert. Errors: CD_EFORMAT,
 * CD_EKEY. */
cd_err cd_tls_mutual_client_new(cd_tls **out, cd_loop *loop, cd_bytes cert, cd_bytes key, cd_errinfo *why) CD_CHECK;

/* How cd_tls_connect ended: a secured connection, or NULL and why (a sentence, borrowed); then tcp is closed. */
typedef void cd_tls_connected_fn(void *ctx, cd_tcp *tcp, const char *reason);

/* cd_tls_connect secures a connection that was not started and must lead to host, a name or an address. fn is called
 * once, not before it returns. */
void cd_tls_connect(cd_tls *t, cd_tcp *tcp, const char *host, cd_tls_connected_fn *fn, void *ctx);

/* cd_tls_drop ends the handshakes that were to become ready with ctx, without telling, so that ctx may go. NULL is
 * allowed. */
void cd_tls_drop(cd_tls *t, void *ctx);

/* cd_tls_protocol gives what was agreed on by ALPN; empty: nothing, or tcp is not secured. Borrowed from
 * the connection. */
cd_bytes cd_tls_protocol(const cd_tcp *tcp);

/* cd_tls_peer_cert appends the certificate that the other side showed, as DER; false: it showed none. */
bool cd_tls_peer_cert(const cd_tcp *tcp, cd_buf *out);

#endif
