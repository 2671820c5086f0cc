#include "crypto/x509/x509.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <limits.h>
#include <stdio.h>

enum { VERSION_3 = 2, YEARS = 100 };

struct cd_signkey {
    EVP_PKEY *key;
};

/* Refuses PEM that needs a pass phrase; without this, OpenSSL would ask for it on the terminal. */
static int no_pass_phrase(char *buf, int size, int rwflag, void *ctx)
{
    (void)buf;
    (void)size;
    (void)rwflag;
    (void)ctx;
    return -1;
}

/* --- making --- */

static void put_bio(cd_buf *out, BIO *bio)
{
    char *p = NULL;
    long n = BIO_get_mem_data(bio, &p);
    CD_ASSERT(n > 0);
    cd_buf_put(out, cd_bytes_of(p, (usize)n));
    BIO_free(bio);
}

static void set_times(X509 *x, u64 now_ns)
{
    char now[CD_TIME_TEXT_LEN];
    char end[20];
    cd_time_fmt(now, now_ns);
    unsigned year = 0;
    for (unsigned i = 0; i < 4; i++) {
        year = year * 10 + (unsigned)(now[i] - '0');
    }
    (void)snprintf(end, sizeof end, "%04u%.2s%.2s%.2s%.2s%.2sZ", (year + YEARS) % 10000, now + 5, now + 8, now + 11,
                   now + 14, now + 17);
    int ok = ASN1_TIME_set_string_X509(X509_getm_notBefore(x), "19991231000000Z");
    ok &= ASN1_TIME_set_string_X509(X509_getm_notAfter(x), end);
    CD_ASSERT(ok == 1);
}

static void add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *ext = X509V3_EXT_nconf_nid(NULL, NULL, nid, value);
    CD_ASSERT(ext != NULL && X509_add_ext(x, ext, -1) == 1);
    X509_EXTENSION_free(ext);
}

void cd_x509_make(cd_buf *cert, cd_buf *key, u64 now_ns)
{
    EVP_PKEY *k = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    CD_ASSERT(k != NULL && x != NULL);
    int ok = X509_set_version(x, VERSION_3);
    ok &= ASN1_INTEGER_set(X509_get_serialNumber(x), 0);
    ok &= X509_set_pubkey(x, k);
    CD_ASSERT(ok == 1);
    set_times(x, now_ns);
    add_extension(x, NID_key_usage, "critical,digitalSignature");
    add_extension(x, NID_basic_constraints, "critical,CA:FALSE");
    BIO *cert_bio = BIO_new(BIO_s_mem());
    BIO *key_bio = BIO_new(BIO_s_secmem());
    CD_ASSERT(X509_sign(x, k, EVP_sha256()) > 0 && PEM_write_bio_X509(cert_bio, x) == 1 &&
              PEM_write_bio_PKCS8PrivateKey(key_bio, k, NULL, NULL, 0, NULL, NULL) == 1);
    put_bio(cert, cert_bio);
    put_bio(key, key_bio);
    X509_free(x);
    EVP_PKEY_free(k);
}

/* --- reading --- */

cd_err cd_x509_der(cd_buf *der, cd_bytes pem, cd_errinfo *why)
{
    BIO *bio = pem.n > INT_MAX ? NULL : BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *x = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, no_pass_phrase, NULL);
    int n = x == NULL ? -1 : i2d_X509(x, NULL);
    cd_err err = CD_OK;
    if (n <= 0) {
        err = cd_fail(why, CD_EFORMAT, "no certificate, or a damaged one");
    } else {
        u8 *at = cd_buf_extend(der, (usize)n);
        (void)i2d_X509(x, &at);
    }
    X509_free(x);
    BIO_free(bio);
    ERR_clear_error();
    return err;
}

static bool is_p256(EVP_PKEY *key)
{
    char curve[32];
    usize n = 0;
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && EVP_PKEY_get_group_name(key, curve, sizeof curve, &n) == 1 &&
           strcmp(curve, "prime256v1") == 0;
}

cd_err cd_signkey_open(cd_signkey **out, cd_bytes pem, cd_errinfo *why)
{
    BIO *bio = pem.n > INT_MAX ? NULL : BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase, NULL);
    BIO_free(bio);
    ERR_clear_error();
    if (key == NULL) {
        return cd_fail(why, CD_EFORMAT, "no private key, a damaged one, or one behind a pass phrase");
    }
    if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA && !is_p256(key)) {
        EVP_PKEY_free(key);
        return cd_fail(why, CD_EKEY, "a staking key is RSA, or ECDSA on P-256");
    }
    *out = cd_new(cd_signkey);
    (*out)->key = key;
    return CD_OK;
}

void cd_signkey_close(cd_signkey *k)
{
    if (k != NULL) {
        EVP_PKEY_free(k->key);
        cd_free(k);
    }
}

bool cd_signkey_fits(const cd_signkey *k, cd_bytes cert)
{
    const u8 *at = cert.p;
    X509 *x = cert.n > INT_MAX ? NULL : d2i_X509(NULL, &at, (long)cert.n);
    bool fits = x != NULL && X509_check_private_key(x, k->key) == 1;
    X509_free(x);
    ERR_clear_error();
    return fits;
}

void cd_signkey_sign(const cd_signkey *k, cd_buf *sig, cd_bytes msg)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    usize n = 0;
    CD_ASSERT(ctx != NULL && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
              EVP_DigestSign(ctx, NULL, &n, msg.p, msg.n) == 1);
    u8 *at = cd_buf_reserve(sig, n);
    CD_ASSERT(EVP_DigestSign(ctx, at, &n, msg.p, msg.n) == 1);
    sig->n += n;
    EVP_MD_CTX_free(ctx);
}

/* --- RSA --- */

static EVP_PKEY *rsa_key(const BIGNUM *n, const BIGNUM *e)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    OSSL_PARAM *params = NULL;
    if (OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1 &&
        (params = OSSL_PARAM_BLD_to_param(build)) != NULL && EVP_PKEY_fromdata_init(ctx) == 1 &&
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        key = NULL;
    }
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

bool cd_rsa_verify(const cd_hash32 *hash, cd_bytes sig, cd_bytes n, cd_bytes e)
{
    BIGNUM *modulus = BN_bin2bn(n.p, (int)n.n, NULL);
    BIGNUM *exponent = BN_bin2bn(e.p, (int)e.n, NULL);
    CD_ASSERT(modulus != NULL && exponent != NULL);
    EVP_PKEY *key = rsa_key(modulus, exponent);
    EVP_PKEY_CTX *ctx = key == NULL ? NULL : EVP_PKEY_CTX_new(key, NULL);
    bool ok = ctx != NULL && EVP_PKEY_verify_init(ctx) == 1 &&
              EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1 &&
              EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) == 1 &&
              EVP_PKEY_verify(ctx, sig.p, sig.n, hash->b, sizeof hash->b) == 1;
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(key);
    BN_free(modulus);
    BN_free(exponent);
    ERR_clear_error();
    return ok;
}
