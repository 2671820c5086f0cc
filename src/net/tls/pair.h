/* net/tls/pair.h - a certificate and its key, looked at before they are used: do they belong together, whose, until
 * when?
 *
 * Threading: pure. [RFC 5280, RFC 7468] */
#ifndef CD_NET_TLS_PAIR_H
#define CD_NET_TLS_PAIR_H

#include "base/bytes.h"

/* Of the first certificate. Text is UTF-8 and ended. */
typedef struct cd_tls_pair {
    char subject[200]; /* "CN=…", as RFC 2253 writes it; cut */
    char issuer[200];
    u64 begins_s, ends_s; /* Unix time */
    u8 sha256[32];        /* of its DER: the fingerprint that people compare */
} cd_tls_pair;

/* cd_tls_pair_read reads PEM texts: the certificate, then those that lead to its root, and the key. Errors:
 * CD_EFORMAT (no PEM, damaged, or behind a pass phrase), CD_EKEY (the key is not the certificate's). */
cd_err cd_tls_pair_read(cd_tls_pair *out, cd_bytes cert, cd_bytes key, cd_errinfo *why) CD_CHECK;

#endif
