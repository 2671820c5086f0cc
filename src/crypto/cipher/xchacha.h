/* crypto/cipher/xchacha.h - XChaCha20-Poly1305: encryption with authentication, with nonces long enough to be drawn by
 * chance. By libsodium. Threading: pure. */
#ifndef CD_CRYPTO_XCHACHA_H
#define CD_CRYPTO_XCHACHA_H

#include "base/bytes.h"

enum { CD_XCHACHA_KEY = 32, CD_XCHACHA_NONCE = 24, CD_XCHACHA_TAG = 16 };

/* cd_xchacha_seal writes text.n + CD_XCHACHA_TAG bytes: the cipher text, then its tag. */
void cd_xchacha_seal(u8 *out, const u8 key[CD_XCHACHA_KEY], const u8 nonce[CD_XCHACHA_NONCE], cd_bytes text);

/* cd_xchacha_open writes in.n - CD_XCHACHA_TAG bytes of text. Errors: CD_ESIG when the tag is not that of key, nonce
 * and in, or there is none; then out holds no text. */
cd_err cd_xchacha_open(u8 *out, const u8 key[CD_XCHACHA_KEY], const u8 nonce[CD_XCHACHA_NONCE], cd_bytes in) CD_CHECK;

#endif
