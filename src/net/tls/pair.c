#include "net/tls/pair.h"

#include "net/tls/tls_priv.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <limits.h>
#include <stdio.h>

static void put_name(char out[200], const X509_NAME *name)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *p = NULL;
    out[0] = '\0';
    if (bio != NULL && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB) >= 0) {
        long n = BIO_get_mem_data(bio, &p);
        (void)snprintf(out, 200, "%.*s", (int)(n < 0 ? 0 : n), p);
    }
    BIO_free(bio);
}

/* Unix seconds; false: no time that a clock shows. */
static bool time_of(u64 *out, const ASN1_TIME *t)
{
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days, seconds;
    bool ok = epoch != NULL && ASN1_TIME_diff(&days, &seconds, epoch, t) == 1 && days >= 0 && seconds >= 0;
    ASN1_TIME_free(epoch);
    if (ok) {
        *out = (u64)days * 86400 + (u64)seconds;
    }
    return ok;
}

static cd_err read_cert(cd_tls_pair *out, X509 *cert, cd_errinfo *why)
{
    cd_tls_pair p = {0};
    unsigned n = sizeof p.sha256;
    if (!time_of(&p.begins_s, X509_get0_notBefore(cert)) || !time_of(&p.ends_s, X509_get0_notAfter(cert)) ||
        X509_digest(cert, EVP_sha256(), p.sha256, &n) != 1) {
        return cd_fail(why, CD_EFORMAT, "the certificate is damaged");
    }
    put_name(p.subject, X509_get_subject_name(cert));
    put_name(p.issuer, X509_get_issuer_name(cert));
    *out = p;
    return CD_OK;
}

/* What stands behind the first certificate must be certificates too. */
static bool rest_is_good(BIO *bio)
{
    X509 *cert;
    while ((cert = PEM_read_bio_X509(bio, NULL, cd__tls_no_pass_phrase, NULL)) != NULL) {
        X509_free(cert);
    }
    return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

cd_err cd_tls_pair_read(cd_tls_pair *out, cd_bytes cert, cd_bytes key, cd_errinfo *why)
{
    if (cert.n > INT_MAX || key.n > INT_MAX) {
        return cd_fail(why, CD_EFORMAT, "too long");
    }
    ERR_clear_error();
    BIO *cert_bio = BIO_new_mem_buf(cert.p, (int)cert.n);
    BIO *key_bio = BIO_new_mem_buf(key.p, (int)key.n);
    X509 *x = PEM_read_bio_X509(cert_bio, NULL, cd__tls_no_pass_phrase, NULL);
    bool has_rest = x != NULL && rest_is_good(cert_bio);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(key_bio, NULL, cd__tls_no_pass_phrase, NULL);
    cd_err err;
    if (x == NULL || !has_rest) {
        err = cd_fail(why, CD_EFORMAT, "the certificate is no PEM, or damaged");
    } else if (k == NULL) {
        err = cd_fail(why, CD_EFORMAT, "the key is no PEM, damaged, or behind a pass phrase");
    } else if (X509_check_private_key(x, k) != 1) {
        err = cd_fail(why, CD_EKEY, "the key is not that of the certificate");
    } else {
        err = read_cert(out, x, why);
    }
    ERR_clear_error();
    EVP_PKEY_free(k);
    X509_free(x);
    BIO_free(key_bio);
    BIO_free(cert_bio);
    return err;
}
