/* Certificates and keys that the test makes: what is read of good ones, and what is refused. */
#include "net/tls/pair.h"

#include "base/mem/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509.h>

enum { BEGIN = 1768473322, DAY = 86400 };

static void take(cd_buf *out, BIO *bio)
{
    char *p;
    long n = BIO_get_mem_data(bio, &p);
    cd_buf_put(out, cd_bytes_of(p, (usize)n));
    BIO_free(bio);
}

/* A self-signed certificate of name; der: SHA-256 of it. pass: the key is behind a pass phrase. */
static void make(cd_buf *cert, cd_buf *key, u8 der[32], const char *name, bool pass)
{
    X509 *x = X509_new();
    EVP_PKEY *k = EVP_EC_gen("P-256");
    X509_NAME *subject = X509_get_subject_name(x);
    BIO *bio = BIO_new(BIO_s_mem());
    unsigned n = 32;
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), 1), 1);
    assert_non_null(ASN1_TIME_set(X509_getm_notBefore(x), BEGIN));
    assert_non_null(ASN1_TIME_set(X509_getm_notAfter(x), BEGIN + 90 * DAY + 7));
    assert_int_equal(X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const u8 *)"Hafen Köln", -1, -1, 0), 1);
    assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const u8 *)name, -1, -1, 0), 1);
    assert_int_equal(X509_set_issuer_name(x, subject), 1);
    assert_int_equal(X509_set_pubkey(x, k), 1);
    assert_true(X509_sign(x, k, EVP_sha256()) > 0);
    assert_int_equal(X509_digest(x, EVP_sha256(), der, &n), 1);
    assert_int_equal(PEM_write_bio_X509(bio, x), 1);
    take(cert, bio);
    bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PrivateKey(bio, k, pass ? EVP_aes_128_cbc() : NULL, (const u8 *)"secret",
                                              pass ? 6 : 0, NULL, NULL),
                     1);
    take(key, bio);
    EVP_PKEY_free(k);
    X509_free(x);
}

static void test_pair(void **state)
{
    (void)state;
    cd_buf cert[3] = {{0}};
    cd_buf key[3] = {{0}};
    u8 der[3][32];
    cd_tls_pair p;
    cd_errinfo why;
    for (usize i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "client %zu", i);
        make(&cert[i], &key[i], der[i], name, i == 2);
    }
    cd_buf chain = {0};
    cd_buf_put(&chain, cd_buf_bytes(&cert[0]));
    cd_buf_put(&chain, cd_buf_bytes(&cert[1]));
    assert_int_equal(cd_tls_pair_read(&p, cd_buf_bytes(&chain), cd_buf_bytes(&key[0]), &why), CD_OK);
    assert_string_equal(p.subject, "CN=client 0,O=Hafen Köln");
    assert_string_equal(p.issuer, p.subject);
    assert_int_equal(p.begins_s, BEGIN);
    assert_int_equal(p.ends_s, BEGIN + 90 * DAY + 7);
    assert_memory_equal(p.sha256, der[0], 32);

    assert_int_equal(cd_tls_pair_read(&p, cd_buf_bytes(&chain), cd_buf_bytes(&key[1]), &why), CD_EKEY);
    assert_string_equal(why.msg, "the key is not that of the certificate");
    /* behind a pass phrase; exchanged; empty; a chain that is damaged; a certificate that is cut */
    const struct {
        cd_bytes cert, key;
    } bad[] = {
        {cd_buf_bytes(&cert[2]), cd_buf_bytes(&key[2])},
        {cd_buf_bytes(&key[0]), cd_buf_bytes(&cert[0])},
        {cd_bytes_str(""), cd_bytes_str("")},
        {cd_bytes_sub(cd_buf_bytes(&chain), 0, chain.n - 40), cd_buf_bytes(&key[0])},
        {cd_bytes_sub(cd_buf_bytes(&cert[0]), 0, 200), cd_buf_bytes(&key[0])},
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_tls_pair_read(&p, bad[i].cert, bad[i].key, &why), CD_EFORMAT);
        assert_string_not_equal(why.msg, "");
    }
    for (usize i = 0; i < 3; i++) {
        cd_buf_fini(&cert[i]);
        cd_buf_fini(&key[i]);
    }
    cd_buf_fini(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pair)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
