/* crypto/cipher/aes.h - AES-128 as key files use it: counter mode, and chained blocks (CBC) for the oldest files;
 * AES-256 with authentication (GCM) for data that a service stores. Wraps OpenSSL.
 * Threading: pure. */
#ifndef CD_CRYPTO_AES_H
#define CD_CRYPTO_AES_H

#include "base/bytes.h"

/* cd_aes128_ctr turns in.n bytes of text into as many of cipher text, or back; iv is the first counter block,
 * counted up as one big-endian number. out may be in.p. */
void cd_aes128_ctr(u8 *out, const u8 key[16], const u8 iv[16], cd_bytes in);

/* cd_aes128_cbc_dec decrypts chained blocks padded as PKCS #7 says; out has room for in.n bytes, of which *out_n are
 * text. Errors: CD_EFORMAT when in is no whole number of blocks or the padding is malformed; then out is undefined. */
cd_err cd_aes128_cbc_dec(u8 *out, usize *out_n, const u8 key[16], const u8 iv[16], cd_bytes in) CD_CHECK;

/* cd_aes256_gcm_seal writes text.n bytes of cipher text, and the tag that authenticates them and `about`. A nonce must
 * never be used twice with a key: 96 random bits suffice for 2^32 texts [NIST SP 800-38D]. out may be text.p. */
void cd_aes256_gcm_seal(u8 *out, u8 tag[16], const u8 key[32], const u8 nonce[12], cd_bytes text, cd_bytes about);

/* cd_aes256_gcm_open writes in.n bytes of text. CD_ESIG when the tag is not that of key, nonce, in and about; then out
 * holds zeros. */
cd_err cd_aes256_gcm_open(u8 *out, const u8 key[32], const u8 nonce[12], cd_bytes in, const u8 tag[16],
                          cd_bytes about) CD_CHECK;

#endif
