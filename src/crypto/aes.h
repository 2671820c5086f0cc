/* crypto/aes.h - AES-128 as key files use it: counter mode, and chained blocks for the oldest ones. Wraps OpenSSL.
 * Threading: pure. */
#ifndef CD_CRYPTO_AES_H
#define CD_CRYPTO_AES_H

#include "base/bytes.h"

/* cd_aes128_ctr turns in.n bytes of text into as many of cipher text, or back; iv is the first counter block, counted up as
 * one big-endian number. out may be in.p. */
void cd_aes128_ctr(u8 *out, const u8 key[16], const u8 iv[16], cd_bytes in);

/* cd_aes128_cbc_dec opens chained blocks padded as PKCS #7 says; out has room for in.n bytes and *out_n of them are text.
 * Errors: CD_EFORMAT when in is no whole number of blocks or the padding is none; then out holds nothing of use. */
cd_err cd_aes128_cbc_dec(u8 *out, usize *out_n, const u8 key[16], const u8 iv[16],
                         cd_bytes in) CD_CHECK;

#endif
