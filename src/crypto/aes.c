#include "crypto/aes.h"

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
    bool ok = EVP_DecryptUpdate(c, out, &n, in.p, (int)in.n) == 1 &&
              EVP_DecryptFinal_ex(c, out + n, &rest) == 1;
    EVP_CIPHER_CTX_free(c);
    if (!ok) {
        return CD_EFORMAT;
    }
    *out_n = (usize)n + (usize)rest;
    return CD_OK;
}
