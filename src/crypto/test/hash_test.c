#include "base/hex.h"
#include "base/os/rng.h"
#include "crypto/cpu.h"
#include "crypto/hash/blake2.h"
#include "crypto/hash/blake2_priv.h"
#include "crypto/hash/ripemd160.h"
#include "crypto/hash/sha1.h"
#include "crypto/hash/sha2.h"
#include "crypto/hash/shake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/evp.h>

#define INPUT_MAX 400

static u8 *input(usize n)
{
    u8 *p = malloc(n + (n == 0));
    for (usize i = 0; i < n; i++) {
        p[i] = (u8)(i * 251 + n * 7);
    }
    return p;
}

/* Checks both SHAKEs in uneven pieces, with results over several blocks, against OpenSSL. */
static void check_shake(void)
{
    const EVP_MD *const kinds[] = {EVP_shake128(), EVP_shake256()};
    for (usize n = 0; n <= INPUT_MAX; n++) {
        u8 *in = input(n);
        for (usize k = 0; k < 2; k++) {
            u8 got[INPUT_MAX];
            u8 want[INPUT_MAX];
            EVP_MD_CTX *e = EVP_MD_CTX_new();
            assert_int_equal(EVP_DigestInit_ex(e, kinds[k], NULL), 1);
            assert_int_equal(EVP_DigestUpdate(e, in, n), 1);
            assert_int_equal(EVP_DigestFinalXOF(e, want, sizeof want), 1);
            EVP_MD_CTX_free(e);
            cd_shake s;
            cd_shake_init(&s, k == 0 ? CD_SHAKE128_RATE : CD_SHAKE256_RATE);
            cd_shake_update(&s, cd_bytes_of(in, n / 3));
            cd_shake_update(&s, cd_bytes_of(in + n / 3, n - n / 3));
            cd_shake_end(&s);
            cd_shake_fill(&s, got, n);
            cd_shake_fill(&s, got + n, sizeof got - n);
            assert_memory_equal(got, want, sizeof want);
        }
        free(in);
    }
}

/* Checks cd_sha256 and its streaming form on every length against OpenSSL. */
static void check_sha256(void)
{
    for (usize n = 0; n <= INPUT_MAX; n++) {
        u8 *in = input(n);
        cd_hash32 got;
        cd_hash32 want;
        assert_int_equal(EVP_Digest(in, n, want.b, NULL, EVP_sha256(), NULL), 1);
        cd_sha256(&got, cd_bytes_of(in, n));
        assert_memory_equal(&got, &want, 32);
        cd_sha256_ctx c;
        cd_sha256_init(&c);
        usize piece = n % 77;
        for (usize at = 0; at < n; at += piece) {
            piece = (piece * 5 + 3) % 150;
            piece = piece < n - at ? piece : n - at;
            cd_sha256_update(&c, cd_bytes_of(in + at, piece));
        }
        cd_sha256_update(&c, (cd_bytes){0});
        cd_sha256_final(&c, &got);
        assert_memory_equal(&got, &want, 32);
        free(in);
    }
}

static void sha256_matches_openssl(void **state)
{
    (void)state;
    check_sha256();
}

static void sha256_without_sha_instructions(void **state)
{
    (void)state;
    bool had = cd__cpu.sha;
    cd__cpu.sha = false;
    check_sha256();
    cd__cpu.sha = had;
}

static void shake_matches_openssl(void **state)
{
    (void)state;
    check_shake();
}

/* FIPS 180-4 example values and a million letters. */
static void sha256_published(void **state)
{
    (void)state;
    static const u8 abc[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                               0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                               0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    static const u8 million[32] = {0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7,
                                   0xe2, 0x84, 0xd7, 0x3e, 0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97,
                                   0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0};
    cd_hash32 got;
    cd_sha256(&got, cd_bytes_str("abc"));
    assert_memory_equal(got.b, abc, 32);
    u8 *in = malloc(1000000);
    memset(in, 'a', 1000000);
    cd_sha256(&got, cd_bytes_of(in, 1000000));
    assert_memory_equal(got.b, million, 32);
    free(in);
}

/* The values published with the function's definition. */
static void ripemd160_published(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        u8 want[20];
    } cases[] = {
        {"", {0x9c, 0x11, 0x85, 0xa5, 0xc5, 0xe9, 0xfc, 0x54, 0x61, 0x28,
              0x08, 0x97, 0x7e, 0xe8, 0xf5, 0x48, 0xb2, 0x25, 0x8d, 0x31}},
        {"abc", {0x8e, 0xb2, 0x08, 0xf7, 0xe0, 0x5d, 0x98, 0x7a, 0x9b, 0x04,
                 0x4a, 0x8e, 0x98, 0xc6, 0xb0, 0x87, 0xf1, 0x5a, 0x0b, 0xfc}},
        {"message digest", {0x5d, 0x06, 0x89, 0xef, 0x49, 0xd2, 0xfa, 0xe5, 0x72, 0xb8,
                            0x81, 0xb1, 0x23, 0xa8, 0x5f, 0xfa, 0x21, 0x59, 0x5f, 0x36}},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         {0x12, 0xa0, 0x53, 0x38, 0x4a, 0x9c, 0x0c, 0x88, 0xe4, 0x05,
          0xa0, 0x6c, 0x27, 0xdc, 0xf4, 0x9a, 0xda, 0x62, 0xeb, 0x2b}},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         {0xb0, 0xe2, 0x0b, 0x6e, 0x31, 0x16, 0x64, 0x02, 0x86, 0xed,
          0x3a, 0x87, 0xa5, 0x71, 0x30, 0x79, 0xb2, 0x1f, 0x51, 0x89}},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         {0x9b, 0x75, 0x2e, 0x45, 0x57, 0x3d, 0x4b, 0x39, 0xf4, 0xdb,
          0xd3, 0x32, 0x3c, 0xab, 0x82, 0xbf, 0x63, 0x32, 0x6b, 0xfb}},
    };
    cd_hash20 got;
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_ripemd160(&got, cd_bytes_str(cases[i].in));
        assert_memory_equal(got.b, cases[i].want, 20);
    }
    static const u8 million[20] = {0x52, 0x78, 0x32, 0x43, 0xc1, 0x69, 0x7b, 0xdb, 0xe1, 0x6d,
                                   0x37, 0xf9, 0x7f, 0x68, 0xf0, 0x83, 0x25, 0xdc, 0x15, 0x28};
    u8 *in = malloc(1000000);
    memset(in, 'a', 1000000);
    cd_ripemd160(&got, cd_bytes_of(in, 1000000));
    assert_memory_equal(got.b, million, 20);
    free(in);
}

static void ripemd160_padding_never_reads_past_the_end(void **state)
{
    (void)state;
    for (usize n = 0; n <= INPUT_MAX; n++) {
        u8 *in = input(n);
        u8 *longer = input(n + 64);
        memcpy(longer, in, n);
        cd_hash20 a;
        cd_hash20 b;
        cd_ripemd160(&a, cd_bytes_of(in, n));
        cd_ripemd160(&b, cd_bytes_of(longer, n));
        assert_memory_equal(&a, &b, 20);
        free(in);
        free(longer);
    }
}

/* [FIPS 180-4; RFC 6455 1.3] */
static void sha1_vectors(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } rows[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11", "b37a4f2cc0624f1690f64606cf385945b2bec4ea"}};
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u8 got[20];
        char text[41] = {0};
        cd_sha1(got, cd_bytes_str(rows[i].in));
        cd_hex_fmt(text, cd_bytes_of(got, sizeof got));
        assert_string_equal(text, rows[i].out);
    }
    u8 got[20];
    cd_sha1(got, (cd_bytes){0});
    assert_int_equal(got[0], 0xda);
}

/* BLAKE2b-512 built on the compression function, against OpenSSL. */
static void blake2b_matches_openssl(void **state)
{
    (void)state;
    static const u64 iv[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                              0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    for (usize n = 1; n <= INPUT_MAX; n++) {
        u8 *in = input(n);
        u64 h[8];
        memcpy(h, iv, sizeof h);
        h[0] ^= 0x01010040;
        for (usize at = 0; at < n; at += 128) {
            usize take = n - at < 128 ? n - at : 128;
            u64 m[16] = {0};
            memcpy(m, in + at, take);
            const u64 t[2] = {at + take, 0};
            cd_blake2b_f(h, m, t, at + take == n, 12);
        }
        u8 want[64];
        assert_int_equal(EVP_Digest(in, n, want, NULL, EVP_blake2b512(), NULL), 1);
        assert_memory_equal(h, want, 64);
        free(in);
    }
}

/* Cases 4 and 7 of the EIP: no rounds at all, and one round. */
static void blake2f_rounds(void **state)
{
    (void)state;
    static const u8 state_bytes[64] = {0x48, 0xc9, 0xbd, 0xf2, 0x67, 0xe6, 0x09, 0x6a, 0x3b, 0xa7, 0xca, 0x84, 0x85,
                                       0xae, 0x67, 0xbb, 0x2b, 0xf8, 0x94, 0xfe, 0x72, 0xf3, 0x6e, 0x3c, 0xf1, 0x36,
                                       0x1d, 0x5f, 0x3a, 0xf5, 0x4f, 0xa5, 0xd1, 0x82, 0xe6, 0xad, 0x7f, 0x52, 0x0e,
                                       0x51, 0x1f, 0x6c, 0x3e, 0x2b, 0x8c, 0x68, 0x05, 0x9b, 0x6b, 0xbd, 0x41, 0xfb,
                                       0xab, 0xd9, 0x83, 0x1f, 0x79, 0x21, 0x7e, 0x13, 0x19, 0xcd, 0xe0, 0x5b};
    static const u8 want0[64] = {0x08, 0xc9, 0xbc, 0xf3, 0x67, 0xe6, 0x09, 0x6a, 0x3b, 0xa7, 0xca, 0x84, 0x85,
                                 0xae, 0x67, 0xbb, 0x2b, 0xf8, 0x94, 0xfe, 0x72, 0xf3, 0x6e, 0x3c, 0xf1, 0x36,
                                 0x1d, 0x5f, 0x3a, 0xf5, 0x4f, 0xa5, 0xd2, 0x82, 0xe6, 0xad, 0x7f, 0x52, 0x0e,
                                 0x51, 0x1f, 0x6c, 0x3e, 0x2b, 0x8c, 0x68, 0x05, 0x9b, 0x94, 0x42, 0xbe, 0x04,
                                 0x54, 0x26, 0x7c, 0xe0, 0x79, 0x21, 0x7e, 0x13, 0x19, 0xcd, 0xe0, 0x5b};
    static const u8 want1[64] = {0xb6, 0x3a, 0x38, 0x0c, 0xb2, 0x89, 0x7d, 0x52, 0x19, 0x94, 0xa8, 0x52, 0x34,
                                 0xee, 0x2c, 0x18, 0x1b, 0x5f, 0x84, 0x4d, 0x2c, 0x62, 0x4c, 0x00, 0x26, 0x77,
                                 0xe9, 0x70, 0x34, 0x49, 0xd2, 0xfb, 0xa5, 0x51, 0xb3, 0xa8, 0x33, 0x3b, 0xcd,
                                 0xf5, 0xf2, 0xf7, 0xe0, 0x89, 0x93, 0xd5, 0x39, 0x23, 0xde, 0x3d, 0x64, 0xfc,
                                 0xc6, 0x8c, 0x03, 0x4e, 0x71, 0x7b, 0x92, 0x93, 0xfe, 0xd7, 0xa4, 0x21};
    const u64 m[16] = {0x636261};
    const u64 t[2] = {3, 0};
    u64 h[8];
    memcpy(h, state_bytes, sizeof h);
    cd_blake2b_f(h, m, t, true, 0);
    assert_memory_equal(h, want0, 64);
    memcpy(h, state_bytes, sizeof h);
    cd_blake2b_f(h, m, t, true, 1);
    assert_memory_equal(h, want1, 64);
}

/* The definition, word by word. */
static u64 ror64(u64 x, u32 n)
{
    return x >> n | x << (64 - n);
}

static void plain_g(u64 v[16], const u32 at[4], u64 x, u64 y)
{
    u64 *a = &v[at[0]];
    u64 *b = &v[at[1]];
    u64 *c = &v[at[2]];
    u64 *d = &v[at[3]];
    *a += *b + x;
    *d = ror64(*d ^ *a, 32);
    *c += *d;
    *b = ror64(*b ^ *c, 24);
    *a += *b + y;
    *d = ror64(*d ^ *a, 16);
    *c += *d;
    *b = ror64(*b ^ *c, 63);
}

static void plain_f(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    static const u32 at[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14}, {3, 7, 11, 15},
                                 {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13},  {3, 4, 9, 14}};
    u64 v[16];
    for (int i = 0; i < 8; i++) {
        v[i] = h[i];
        v[8 + i] = CD_BLAKE2B_IV[i];
    }
    v[12] ^= t[0];
    v[13] ^= t[1];
    v[14] = last ? ~v[14] : v[14];
    for (u32 r = 0; r < rounds; r++) {
        const u8 *s = CD_BLAKE2_SIGMA[r % 10];
        for (usize i = 0; i < 8; i++) {
            plain_g(v, at[i], m[s[2 * i]], m[s[2 * i + 1]]);
        }
    }
    for (int i = 0; i < 8; i++) {
        h[i] ^= v[i] ^ v[8 + i];
    }
}

typedef void mix_fn(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds);

/* All ways mix the same, those that this processor does not prefer too. */
static void blake2f_ways(void **state)
{
    (void)state;
    enum { FEW = 60 };
    static mix_fn *const ways[] = {cd__blake2b_f_words, cd__blake2b_f_rows, cd_blake2b_f, cd__blake2b_f_avx512};
    static const u32 many[] = {99, 100, 101, 1000, 10007};
    cd_rng rng = cd_rng_seeded(152);
    for (u32 i = 0; i < FEW + CD_COUNT(many); i++) {
        u64 m[16];
        u64 h[8];
        u64 want[8];
        const u64 t[2] = {cd_rng_u64(&rng), cd_rng_u64(&rng)};
        u32 rounds = i < FEW ? i : many[i - FEW];
        for (int k = 0; k < 16; k++) {
            m[k] = cd_rng_u64(&rng);
            h[k % 8] = cd_rng_u64(&rng);
        }
        memcpy(want, h, sizeof want);
        plain_f(want, m, t, i % 2 == 0, rounds);
        for (usize way = 0; way < CD_COUNT(ways) - (cd__cpu.avx512 ? 0 : 1); way++) {
            u64 got[8];
            memcpy(got, h, sizeof got);
            ways[way](got, m, t, i % 2 == 0, rounds);
            assert_memory_equal(got, want, sizeof want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_matches_openssl),
        cmocka_unit_test(sha256_without_sha_instructions),
        cmocka_unit_test(sha256_published),
        cmocka_unit_test(sha1_vectors),
        cmocka_unit_test(ripemd160_published),
        cmocka_unit_test(ripemd160_padding_never_reads_past_the_end),
        cmocka_unit_test(blake2b_matches_openssl),
        cmocka_unit_test(blake2f_rounds),
        cmocka_unit_test(blake2f_ways),
        cmocka_unit_test(shake_matches_openssl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
