#include "crypto/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

void cd_hmac_sha512(u8 out[64], cd_bytes key, cd_bytes data)
{
    unsigned n = 64;
    CD_ASSERT(key.n <= INT32_MAX);
    /* A NULL key would mean "the one before". */
    const u8 *p = HMAC(EVP_sha512(), key.n == 0 ? (const u8 *)"" : key.p, (int)key.n, data.p,
                       data.n, out, &n);
    CD_ASSERT(p != NULL && n == 64);
}

static void pbkdf2(u8 *out, usize out_len, cd_bytes password, cd_bytes salt, u32 rounds,
                   const EVP_MD *hash)
{
    CD_ASSERT(password.n <= INT32_MAX && salt.n <= INT32_MAX && out_len <= INT32_MAX);
    CD_ASSERT(rounds >= 1 && rounds <= INT32_MAX);
    int ok = PKCS5_PBKDF2_HMAC((const char *)password.p, (int)password.n, salt.p, (int)salt.n,
                               (int)rounds, hash, (int)out_len, out);
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
