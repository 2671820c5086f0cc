#include "crypto/cipher/xchacha.h"

#include <sodium.h>

void cd_xchacha_seal(u8 *out, const u8 key[CD_XCHACHA_KEY], const u8 nonce[CD_XCHACHA_NONCE], cd_bytes text)
{
    CD_ASSERT(sodium_init() >= 0);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(out, NULL, text.p, text.n, NULL, 0, NULL, nonce, key);
}

cd_err cd_xchacha_open(u8 *out, const u8 key[CD_XCHACHA_KEY], const u8 nonce[CD_XCHACHA_NONCE], cd_bytes in)
{
    CD_ASSERT(sodium_init() >= 0);
    bool is_right = in.n >= CD_XCHACHA_TAG &&
                    crypto_aead_xchacha20poly1305_ietf_decrypt(out, NULL, NULL, in.p, in.n, NULL, 0, nonce, key) == 0;
    return is_right ? CD_OK : CD_ESIG;
}
