/* Published values of the functions that stretch passwords, and of AES-128 in the two modes of key files. */
#include "base/hex.h"
#include "crypto/cipher/aes.h"
#include "crypto/ec/ed25519.h"
#include "crypto/hash/argon2id.h"
#include "crypto/hash/hmac.h"
#include "crypto/hash/scrypt.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_hex(const u8 *got, const char *hex)
{
    u8 want[128];
    assert_int_equal(cd_hex_parse(want, cd_bytes_str(hex)), CD_OK);
    assert_memory_equal(got, want, strlen(hex) / 2);
}

/* RFC 7914 section 12. */
static void scrypt_values(void **state)
{
    (void)state;
    static const struct {
        const char *password;
        const char *salt;
        cd_scrypt_cost cost;
        const char *want;
    } rows[] = {
        {"",
         "",
         {16, 1, 1},
         "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
         "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"},
        {"password",
         "NaCl",
         {1024, 8, 16},
         "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
         "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"},
        {"pleaseletmein",
         "SodiumChloride",
         {16384, 8, 1},
         "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
         "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u8 out[64];
        assert_int_equal(
            cd_scrypt(out, sizeof out, cd_bytes_str(rows[i].password), cd_bytes_str(rows[i].salt), &rows[i].cost),
            CD_OK);
        assert_hex(out, rows[i].want);
    }
}

/* Compares with OpenSSL, for many costs and lengths. */
static void scrypt_as_openssl(void **state)
{
    (void)state;
    static const cd_scrypt_cost rows[] = {
        {2, 1, 1}, {2, 1, 5}, {4, 2, 3}, {8, 3, 2}, {32768, 1, 1}, {256, 33, 1}, {64, 8, 7},
    };
    static const usize lengths[] = {1, 31, 32, 64, 100};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        for (usize j = 0; j < CD_COUNT(lengths); j++) {
            u8 got[100];
            u8 want[100];
            cd_bytes password = cd_bytes_of("pleaseletmein", 3 * j);
            cd_bytes salt = cd_bytes_of("SodiumChloride", 2 * i);
            assert_int_equal(cd_scrypt(got, lengths[j], password, salt, &rows[i]), CD_OK);
            assert_int_equal(EVP_PBE_scrypt((const char *)password.p, password.n, salt.p, salt.n, rows[i].n, rows[i].r,
                                            rows[i].p, 1 << 28, want, lengths[j]),
                             1);
            assert_memory_equal(got, want, lengths[j]);
        }
    }
}

/* Why scrypt is not OpenSSL's: it refuses the cost of the key file in the Web3 Secret Storage Definition. */
static void scrypt_of_key_files(void **state)
{
    static const cd_scrypt_cost cost = {262144, 1, 8};
    u8 salt[32];
    u8 got[32];
    (void)state;
    assert_int_equal(
        cd_hex_parse(salt, cd_bytes_str("ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19")), CD_OK);
    assert_int_equal(cd_scrypt(got, sizeof got, cd_bytes_str("testpassword"), cd_bytes_of(salt, sizeof salt), &cost),
                     CD_OK);
    assert_hex(got, "fac192ceb5fd772906bea3e118a69e8bbb5cc24229e20d8766fd298291bba6bd");
    assert_int_equal(
        EVP_PBE_scrypt("testpassword", 12, salt, sizeof salt, cost.n, cost.r, cost.p, 1 << 28, got, sizeof got), 0);
}

static void scrypt_costs_that_are_none(void **state)
{
    (void)state;
    static const cd_scrypt_cost rows[] = {
        {0, 8, 1},
        {1, 8, 1},
        {1000, 8, 1},
        {16, 0, 1},
        {16, 8, 0},
        {(u64)1 << 63, 8, 1},
        {(u64)1 << 32, 8, 1},
        {16, 1u << 15, 1u << 15},
        {16, UINT32_MAX, UINT32_MAX},
    };
    u8 out[32];
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        assert_int_equal(cd_scrypt(out, sizeof out, cd_bytes_str("x"), cd_bytes_str("y"), &rows[i]), CD_EINVAL);
    }
    assert_true(cd_scrypt_mem(&(cd_scrypt_cost){UINT64_MAX, 8, 1}) == UINT64_MAX);
    assert_true(cd_scrypt_mem(&(cd_scrypt_cost){262144, 8, 1}) == (262144 + 3) * 1024ull);
}

/* The first is one of the reference implementation's own tests; the second was made with golang.org/x/crypto 0.58. */
static void argon2id_values(void **state)
{
    (void)state;
    u8 out[32];
    const cd_argon2id_cost one_lane = {.passes = 2, .memory_kib = 1 << 16, .lanes = 1};
    const cd_argon2id_cost four_lanes = {.passes = 1, .memory_kib = 64 << 10, .lanes = 4};
    u8 salt[16];
    for (usize i = 0; i < sizeof salt; i++) {
        salt[i] = (u8)i;
    }
    assert_int_equal(cd_argon2id(out, 32, cd_bytes_str("password"), cd_bytes_str("somesalt"), &one_lane), CD_OK);
    assert_hex(out, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7");
    assert_int_equal(cd_argon2id(out, 32, cd_bytes_str("N_+=_jJ;^(<;{4,:*m6CET}'&N;83FYK.wtNpwp-Jt"),
                                 cd_bytes_of(salt, sizeof salt), &four_lanes),
                     CD_OK);
    assert_hex(out, "755af28d4ffea75124ffac2cc5c0c654e37f4e02032fa022b2333d09191c02a6");
    assert_int_equal(cd_argon2id(out, 32, cd_bytes_str("x"), cd_bytes_str("short"), &one_lane), CD_EINVAL);
    assert_int_equal(cd_argon2id(out, 32, cd_bytes_str("x"), cd_bytes_str("somesalt"), &(cd_argon2id_cost){0}),
                     CD_EINVAL);
}

/* RFC 7914 section 11. */
static void pbkdf2_sha256_values(void **state)
{
    (void)state;
    u8 out[64];
    cd_pbkdf2_sha256(out, sizeof out, cd_bytes_str("passwd"), cd_bytes_str("salt"), 1);
    assert_hex(out, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
                    "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783");
    cd_pbkdf2_sha256(out, sizeof out, cd_bytes_str("Password"), cd_bytes_str("NaCl"), 80000);
    assert_hex(out, "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
                    "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d");
}

/* NIST SP 800-38A F.5.1 and F.2.1. */
static void aes_values(void **state)
{
    (void)state;
    u8 key[16];
    u8 iv[16];
    u8 text[32];
    u8 out[64];
    usize n = 0;
    assert_int_equal(cd_hex_parse(key, cd_bytes_str("2b7e151628aed2a6abf7158809cf4f3c")), CD_OK);
    assert_int_equal(cd_hex_parse(iv, cd_bytes_str("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")), CD_OK);
    assert_int_equal(cd_hex_parse(text, cd_bytes_str("6bc1bee22e409f96e93d7e117393172a"
                                                     "ae2d8a571e03ac9c9eb76fac45af8e51")),
                     CD_OK);
    cd_aes128_ctr(out, key, iv, cd_bytes_of(text, 32));
    assert_hex(out, "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff");
    cd_aes128_ctr(out, key, iv, cd_bytes_of(out, 31)); /* in place, and not a whole block */
    assert_memory_equal(out, text, 31);
    memset(iv, 0xff, sizeof iv); /* the counter overflows */
    cd_aes128_ctr(out, key, iv, cd_bytes_of(text, 32));
    memset(iv, 0, sizeof iv);
    cd_aes128_ctr(out + 32, key, iv, cd_bytes_of(text + 16, 16));
    assert_memory_equal(out + 16, out + 32, 16);

    /* One block of padding, made with the forward cipher: CTR of zeros gives E(iv). */
    u8 chained[16];
    static const u8 zeros[16] = {0};
    u8 first[16];
    memset(iv, 0x11, sizeof iv);
    for (usize i = 0; i < 16; i++) {
        first[i] = (u8)(iv[i] ^ (i < 10 ? 'k' : 6));
    }
    cd_aes128_ctr(chained, key, first, cd_bytes_of(zeros, 16));
    assert_int_equal(cd_aes128_cbc_dec(out, &n, key, iv, cd_bytes_of(chained, 16)), CD_OK);
    assert_int_equal(n, 10);
    assert_memory_equal(out, "kkkkkkkkkk", 10);
    chained[15] ^= 1;
    assert_int_equal(cd_aes128_cbc_dec(out, &n, key, iv, cd_bytes_of(chained, 16)), CD_EFORMAT);
    assert_int_equal(cd_aes128_cbc_dec(out, &n, key, iv, cd_bytes_of(chained, 15)), CD_EFORMAT);
    assert_int_equal(cd_aes128_cbc_dec(out, &n, key, iv, cd_bytes_of(chained, 0)), CD_EFORMAT);
}

/* Test cases 13, 14 and 16 of the GCM specification. */
static void aes256_gcm_values(void **state)
{
    (void)state;
    u8 key[32] = {0};
    u8 nonce[12] = {0};
    u8 text[60] = {0};
    u8 about[20];
    u8 out[60];
    u8 tag[16];
    cd_aes256_gcm_seal(out, tag, key, nonce, cd_bytes_of(NULL, 0), cd_bytes_of(NULL, 0));
    assert_hex(tag, "530f8afbc74536b9a963b4f1c4cb738b");
    cd_aes256_gcm_seal(out, tag, key, nonce, cd_bytes_of(text, 16), cd_bytes_of(NULL, 0));
    assert_hex(out, "cea7403d4d606b6e074ec5d3baf39d18");
    assert_hex(tag, "d0d1c8a799996bf0265b98b5d48ab919");
    assert_int_equal(cd_hex_parse(key, cd_bytes_str("feffe9928665731c6d6a8f9467308308"
                                                    "feffe9928665731c6d6a8f9467308308")),
                     CD_OK);
    assert_int_equal(cd_hex_parse(nonce, cd_bytes_str("cafebabefacedbaddecaf888")), CD_OK);
    assert_int_equal(cd_hex_parse(text, cd_bytes_str("d9313225f88406e5a55909c5aff5269a"
                                                     "86a7a9531534f7da2e4c303d8a318a72"
                                                     "1c3c0c95956809532fcf0e2449a6b525"
                                                     "b16aedf5aa0de657ba637b39")),
                     CD_OK);
    assert_int_equal(cd_hex_parse(about, cd_bytes_str("feedfacedeadbeeffeedfacedeadbeefabaddad2")), CD_OK);
    cd_aes256_gcm_seal(out, tag, key, nonce, cd_bytes_of(text, 60), cd_bytes_of(about, 20));
    assert_hex(out, "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662");
    assert_hex(tag, "76fc6ece0f4e1768cddf8853bb2d551b");
    assert_int_equal(cd_aes256_gcm_open(out, key, nonce, cd_bytes_of(out, 60), tag, cd_bytes_of(about, 20)), CD_OK);
    assert_memory_equal(out, text, 60);
    about[3] ^= 1;
    cd_aes256_gcm_seal(out, tag, key, nonce, cd_bytes_of(text, 60), cd_bytes_of(about, 20));
    tag[15] ^= 1;
    assert_int_equal(cd_aes256_gcm_open(out, key, nonce, cd_bytes_of(out, 60), tag, cd_bytes_of(about, 20)), CD_ESIG);
    memset(text, 0, sizeof text);
    assert_memory_equal(out, text, 60);
}

/* Compares with OpenSSL, for many lengths of key and message, with the message in three parts. */
static void hmac_sha256_as_openssl(void **state)
{
    (void)state;
    u8 text[300];
    for (usize i = 0; i < sizeof text; i++) {
        text[i] = (u8)(i * 7 + 1);
    }
    static const usize keys[] = {0, 1, 24, 63, 64, 65, 200};
    for (usize k = 0; k < CD_COUNT(keys); k++) {
        cd_hmac_sha256_key key;
        cd_hmac_sha256_init(&key, cd_bytes_of(text, keys[k]));
        for (usize n = 0; n <= sizeof text; n++) {
            u8 want[32];
            u8 got[32];
            unsigned len = 32;
            const cd_bytes parts[] = {cd_bytes_of(text, n / 3), cd_bytes_of(text + n / 3, 0),
                                      cd_bytes_of(text + n / 3, n - n / 3)};
            assert_non_null(HMAC(EVP_sha256(), text, (int)keys[k], text, n, want, &len));
            cd_hmac_sha256_parts(got, &key, parts, CD_COUNT(parts));
            assert_memory_equal(got, want, 32);
        }
    }
}

/* RFC 8032 section 7.1, tests 1 and 3. */
static void ed25519_values(void **state)
{
    (void)state;
    static const struct {
        const char *seed, *public, *message, *signature;
    } rows[] = {
        {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
         "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
         "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
        {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
         "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
         "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
         "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u8 seed[32];
        u8 public[32];
        u8 message[8];
        u8 signature[64];
        usize n = strlen(rows[i].message) / 2;
        assert_int_equal(cd_hex_parse(seed, cd_bytes_str(rows[i].seed)), CD_OK);
        assert_int_equal(cd_hex_parse(message, cd_bytes_str(rows[i].message)), CD_OK);
        cd_ed25519_public(public, seed);
        assert_hex(public, rows[i].public);
        cd_ed25519_sign(signature, seed, cd_bytes_of(message, n));
        assert_hex(signature, rows[i].signature);
        assert_int_equal(cd_ed25519_verify(public, signature, cd_bytes_of(message, n)), CD_OK);
        signature[40] ^= 1;
        assert_int_equal(cd_ed25519_verify(public, signature, cd_bytes_of(message, n)), CD_ESIG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hmac_sha256_as_openssl),
        cmocka_unit_test(ed25519_values),
        cmocka_unit_test(scrypt_values),
        cmocka_unit_test(scrypt_as_openssl),
        cmocka_unit_test(scrypt_of_key_files),
        cmocka_unit_test(scrypt_costs_that_are_none),
        cmocka_unit_test(argon2id_values),
        cmocka_unit_test(pbkdf2_sha256_values),
        cmocka_unit_test(aes_values),
        cmocka_unit_test(aes256_gcm_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
