/* net/tls/tls_priv.h - between the parts of net/tls. Threading: confined. */
#ifndef CD_NET_TLS_PRIV_H
#define CD_NET_TLS_PRIV_H

#include "net/tls/tls.h"

#include <openssl/types.h>

/* cd__tls_no_pass_phrase refuses, for OpenSSL, which else would ask for one on the terminal. */
int cd__tls_no_pass_phrase(char *buf, int size, int rwflag, void *ctx);

/* cd__tls_ctx_new makes the settings of connections out of PEM texts; cfg must stay as long as *out.
 * Errors: CD_EFORMAT, CD_EKEY, as cd_tls_new. */
cd_err cd__tls_ctx_new(SSL_CTX **out, const cd_tls_cfg *cfg, cd_bytes cert, cd_bytes key, cd_errinfo *why) CD_CHECK;

/* cd__tls_client_ctx_new makes those of connections to servers. Errors: CD_EFORMAT. */
cd_err cd__tls_client_ctx_new(SSL_CTX **out, const char *ca_file, cd_errinfo *why) CD_CHECK;

/* cd__tls_mutual_client_ctx_new makes those of connections between equals. Errors: CD_EFORMAT, CD_EKEY. */
cd_err cd__tls_mutual_client_ctx_new(SSL_CTX **out, cd_bytes cert, cd_bytes key, cd_errinfo *why) CD_CHECK;

#endif
