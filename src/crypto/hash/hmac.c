#include "crypto/hash/hmac.h"

#include "base/mem/secret.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

void cd_hmac_sha512(u8 out[64], cd_bytes key, cd_bytes data)
{
    unsigned n = 64;
    CD_ASSERT(key.n <= INT32_MAX);
    /* OpenSSL takes a NULL key to mean the key of the call before. */
    const u8 *p = HMAC(EVP_sha512(), key.n == 0 ? (const u8 *)"" : key.p, (int)key.n, data.p, data.n, out, &n);
    CD_ASSERT(p != NULL && n == 64);
}

void cd_hmac_sha256_init(cd_hmac_sha256_key *out, cd_bytes key)
{
    u8 block[64] = {0};
    if (key.n > sizeof block) {
        cd_hash32 h;
        cd_sha256(&h, key);
        memcpy(block, h.b, 32);
    } else if (key.n != 0) {
        memcpy(block, key.p, key.n);
    }
    cd_sha256_ctx *const halves[] = {&out->inner, &out->outer};
    static const u8 pads[] = {0x36, 0x36 ^ 0x5c}; /* the second is xored to a block that has the first in it */
    for (usize i = 0; i < 2; i++) {
        for (usize k = 0; k < sizeof block; k++) {
            block[k] ^= pads[i];
        }
        cd_sha256_init(halves[i]);
        cd_sha256_update(halves[i], cd_bytes_of(block, sizeof block));
    }
    cd_wipe(block, sizeof block);
}

void cd_hmac_sha256_parts(u8 out[32], const cd_hmac_sha256_key *key, const cd_bytes *parts, usize cnt)
{
    cd_hash32 h;
    cd_sha256_ctx c = key->inner;
    for (usize i = 0; i < cnt; i++) {
        cd_sha256_update(&c, parts[i]);
    }
    cd_sha256_final(&c, &h);
    c = key->outer;
    cd_sha256_update(&c, cd_bytes_of(h.b, 32));
    cd_sha256_final(&c, &h);
    memcpy(out, h.b, 32);
}

static void pbkdf2(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds, const EVP_MD *hash)
{
    CD_ASSERT(password.n <= INT32_MAX && salt.n <= INT32_MAX && out_len <= INT32_MAX);
    CD_ASSERT(rounds >= 1 && rounds <= INT32_MAX);
    int ok = PKCS5_PBKDF2_HMAC((const char *)password.p, (int)password.n, salt.p, (int)salt.n, (int)rounds, hash,
                               (int)out_len, out);
    CD_ASSERT(ok == 1);
}

void cd_pbkdf2_sha512(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds)
{
    pbkdf2(out, out_len, password, salt, rounds, EVP_sha512());
}

void cd_pbkdf2_sha256(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds)
{
    pbkdf2(out, out_len, password, salt, rounds, EVP_sha256());
}
