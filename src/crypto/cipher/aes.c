#include "crypto/cipher/aes.h"

#include "base/mem/secret.h"

#include <openssl/evp.h>

void cd_aes128_ctr(u8 *out, const u8 key[16], const u8 iv[16], cd_bytes in)
{
    int n = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    CD_ASSERT(c != NULL && in.n <= INT32_MAX);
    CD_ASSERT(EVP_EncryptInit_ex(c, EVP_aes_128_ctr(), NULL, key, iv) == 1);
    CD_ASSERT(in.n == 0 || EVP_EncryptUpdate(c, out, &n, in.p, (int)in.n) == 1);
    EVP_CIPHER_CTX_free(c);
}

cd_err cd_aes128_cbc_dec(u8 *out, usize *out_n, const u8 key[16], const u8 iv[16], cd_bytes in)
{
    int n = 0;
    int rest = 0;
    if (in.n == 0 || in.n % 16 != 0 || in.n > INT32_MAX) {
        return CD_EFORMAT;
    }
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    CD_ASSERT(c != NULL && EVP_DecryptInit_ex(c, EVP_aes_128_cbc(), NULL, key, iv) == 1);
    bool ok = EVP_DecryptUpdate(c, out, &n, in.p, (int)in.n) == 1 && EVP_DecryptFinal_ex(c, out + n, &rest) == 1;
    EVP_CIPHER_CTX_free(c);
    if (!ok) {
        return CD_EFORMAT;
    }
    *out_n = (usize)n + (usize)rest;
    return CD_OK;
}

void cd_aes256_gcm_seal(u8 *out, u8 tag[16], const u8 key[32], const u8 nonce[12], cd_bytes text, cd_bytes about)
{
    int n = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    CD_ASSERT(c != NULL && text.n <= INT32_MAX && about.n <= INT32_MAX);
    CD_ASSERT(EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce) == 1);
    CD_ASSERT(about.n == 0 || EVP_EncryptUpdate(c, NULL, &n, about.p, (int)about.n) == 1);
    CD_ASSERT(text.n == 0 || EVP_EncryptUpdate(c, out, &n, text.p, (int)text.n) == 1);
    CD_ASSERT(EVP_EncryptFinal_ex(c, out, &n) == 1 && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, 16, tag) == 1);
    EVP_CIPHER_CTX_free(c);
}

cd_err cd_aes256_gcm_open(u8 *out, const u8 key[32], const u8 nonce[12], cd_bytes in, const u8 tag[16], cd_bytes about)
{
    int n = 0;
    u8 want[16];
    memcpy(want, tag, sizeof want);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    CD_ASSERT(c != NULL && in.n <= INT32_MAX && about.n <= INT32_MAX);
    CD_ASSERT(EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce) == 1);
    CD_ASSERT(about.n == 0 || EVP_DecryptUpdate(c, NULL, &n, about.p, (int)about.n) == 1);
    CD_ASSERT(in.n == 0 || EVP_DecryptUpdate(c, out, &n, in.p, (int)in.n) == 1);
    CD_ASSERT(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, sizeof want, want) == 1);
    bool ok = EVP_DecryptFinal_ex(c, out, &n) == 1;
    EVP_CIPHER_CTX_free(c);
    if (!ok) {
        cd_wipe(out, in.n);
        return CD_ESIG;
    }
    return CD_OK;
}
