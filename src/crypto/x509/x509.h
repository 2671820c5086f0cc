/* crypto/x509/x509.h - certificates of our own and the keys behind them: made, read from PEM, used to sign.
 *
 * The certificates of others are read elsewhere (types/cert.h is as strict as its protocol wants). Wraps OpenSSL.
 * Threading: pure; a cd_signkey is frozen. [RFC 5280, RFC 7468, RFC 8017, FIPS 186-5] */
#ifndef CD_CRYPTO_X509_H
#define CD_CRYPTO_X509_H

#include "base/mem/buf.h"

/* cd_x509_make appends a new ECDSA P-256 key (PKCS#8) and its self-signed certificate, both as PEM: version 3, serial
 * number 0, no names, valid from the last day of 1999 for a hundred years from now_ns (wall clock), for signatures
 * only. key is secret: wipe it. [spec:p2p#1] */
void cd_x509_make(cd_buf *cert, cd_buf *key, u64 now_ns);

/* cd_x509_der appends the first certificate of a PEM text as DER. Errors: CD_EFORMAT. */
cd_err cd_x509_der(cd_buf *der, cd_bytes pem, cd_errinfo *why) CD_CHECK;

typedef struct cd_signkey cd_signkey;

/* cd_signkey_open reads a private key (RSA or ECDSA P-256) from a PEM text without a pass phrase. Errors: CD_EFORMAT,
 * CD_EKEY (another algorithm or curve). cd_signkey_close: NULL is allowed. */
cd_err cd_signkey_open(cd_signkey **out, cd_bytes pem, cd_errinfo *why) CD_CHECK;
void cd_signkey_close(cd_signkey *k);

/* cd_signkey_fits says whether k is the key of a certificate (DER). */
bool cd_signkey_fits(const cd_signkey *k, cd_bytes cert) CD_CHECK;

/* cd_signkey_sign appends a signature of the SHA-256 of msg: PKCS#1 v1.5 (RSA), or DER of (r, s) (ECDSA). */
void cd_signkey_sign(const cd_signkey *k, cd_buf *sig, cd_bytes msg);

/* cd_rsa_verify says whether sig is a PKCS#1 v1.5 signature of the SHA-256 `hash` under modulus n and exponent e, both
 * big-endian; false for numbers that are no key, too. */
bool cd_rsa_verify(const cd_hash32 *hash, cd_bytes sig, cd_bytes n, cd_bytes e) CD_CHECK;

#endif
