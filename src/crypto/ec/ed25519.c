#include "crypto/ec/ed25519.h"

#include <openssl/evp.h>

void cd_ed25519_public(u8 out[32], const u8 seed[32])
{
    usize n = 32;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
    CD_ASSERT(key != NULL && EVP_PKEY_get_raw_public_key(key, out, &n) == 1 && n == 32);
    EVP_PKEY_free(key);
}

void cd_ed25519_sign(u8 out[64], const u8 seed[32], cd_bytes message)
{
    usize n = 64;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CD_ASSERT(key != NULL && ctx != NULL && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1);
    int ok = EVP_DigestSign(ctx, out, &n, message.p, message.n);
    CD_ASSERT(ok == 1 && n == 64);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
}

cd_err cd_ed25519_verify(const u8 public[32], const u8 signature[64], cd_bytes message)
{
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, 32);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CD_ASSERT(ctx != NULL);
    bool ok = key != NULL && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
              EVP_DigestVerify(ctx, signature, 64, message.p, message.n) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return ok ? CD_OK : CD_ESIG;
}
