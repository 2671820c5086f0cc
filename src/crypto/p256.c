#include "crypto/p256.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

/* The key, or NULL when x || y is no point of the curve. */
static EVP_PKEY *load_key(const u8 pub[64])
{
    static char group[] = "prime256v1";
    u8 point[65] = {0x04};
    memcpy(point + 1, pub, 64);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (ctx == NULL || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        key = NULL;
    }
    EVP_PKEY_CTX_free(ctx);
    return key;
}

/* DER of one non-negative integer; gives its length. */
static usize put_integer(u8 out[35], const u8 be[32])
{
    usize skip = 0;
    while (skip < 31 && be[skip] == 0) {
        skip++;
    }
    usize pad = be[skip] >= 0x80 ? 1 : 0;
    out[0] = 0x02;
    out[1] = (u8)(32 - skip + pad);
    out[2] = 0;
    memcpy(out + 2 + pad, be + skip, 32 - skip);
    return 2 + pad + 32 - skip;
}

bool cd_p256_verify(const cd_hash32 *msg, const u8 sig[64], const u8 pub[64])
{
    u8 der[72] = {0x30};
    usize n = put_integer(der + 2, sig);
    n += put_integer(der + 2 + n, sig + 32);
    der[1] = (u8)n;
    bool ok = false;
    EVP_PKEY_CTX *ctx = NULL;
    EVP_PKEY *key = load_key(pub);
    if (key != NULL) {
        ctx = EVP_PKEY_CTX_new(key, NULL);
        ok = ctx != NULL && EVP_PKEY_verify_init(ctx) == 1 &&
             EVP_PKEY_verify(ctx, der, n + 2, msg->b, sizeof msg->b) == 1;
    }
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(key);
    return ok;
}
