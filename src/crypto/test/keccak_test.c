#include "crypto/cpu.h"
#include "crypto/hash/keccak_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/evp.h>

#define INPUT_MAX 700

static u64 rng = 1;

static u64 next_u64(void)
{
    u64 z = rng += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void fill(u8 *p, usize n)
{
    for (usize i = 0; i < n; i++) {
        p[i] = (u8)next_u64();
    }
}

/* The sponge as the definition has it, byte by byte; the permutation itself is compared with OpenSSL's. */
static void reference(cd_hash32 *out, cd_bytes in, u8 padding)
{
    u64 s[25] = {0};
    usize at = 0;
    for (usize i = 0; i < in.n; i++) {
        s[at / 8] ^= (u64)in.p[i] << (8 * (at % 8));
        if (++at == CD_KECCAK_RATE) {
            cd__keccak_permute(s);
            at = 0;
        }
    }
    s[at / 8] ^= (u64)padding << (8 * (at % 8));
    s[16] ^= UINT64_C(0x80) << 56;
    cd__keccak_permute(s);
    for (usize i = 0; i < 4; i++) {
        cd_put_le64(out->b + 8 * i, s[i]);
    }
}

static void permutation_matches_sha3(void **state)
{
    (void)state;
    u8 in[INPUT_MAX];
    fill(in, sizeof in);
    for (usize n = 0; n <= sizeof in; n++) {
        cd_hash32 got;
        cd_hash32 want;
        reference(&got, cd_bytes_of(in, n), 0x06);
        assert_int_equal(EVP_Digest(in, n, want.b, NULL, EVP_sha3_256(), NULL), 1);
        assert_memory_equal(&got, &want, 32);
    }
}

static void published_hashes(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        u8 want[32];
    } cases[] = {
        {"abc", {0x4e, 0x03, 0x65, 0x7a, 0xea, 0x45, 0xa9, 0x4f, 0xc7, 0xd4, 0x7b, 0xa8, 0x26, 0xc8, 0xd6, 0x67,
                 0xc0, 0xd1, 0xe6, 0xe3, 0x3a, 0x64, 0xa0, 0x36, 0xec, 0x44, 0xf5, 0x8f, 0xa1, 0x2d, 0x6c, 0x45}},
        {"The quick brown fox jumps over the lazy dog",
         {0x4d, 0x74, 0x1b, 0x6f, 0x1e, 0xb2, 0x9c, 0xb2, 0xa9, 0xb9, 0x91, 0x1c, 0x82, 0xf5, 0x6f, 0xa8,
          0xd7, 0x3b, 0x04, 0x95, 0x9d, 0x3d, 0x9d, 0x22, 0x28, 0x95, 0xdf, 0x6c, 0x0b, 0x28, 0xaa, 0x15}},
        {"Transfer(address,address,uint256)",
         {0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0, 0x68, 0xfc, 0x37, 0x8d, 0xaa,
          0x95, 0x2b, 0xa7, 0xf1, 0x63, 0xc4, 0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef}},
    };
    cd_hash32 got;
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_keccak256(&got, cd_bytes_str(cases[i].in));
        assert_memory_equal(got.b, cases[i].want, 32);
    }
    cd_keccak256(&got, (cd_bytes){0});
    assert_true(cd_hash32_eq(&got, &CD_KECCAK_EMPTY));
    cd_keccak256(&got, cd_bytes_str("\x80"));
    assert_true(cd_hash32_eq(&got, &CD_KECCAK_EMPTY_RLP));
}

static void every_length(void **state)
{
    (void)state;
    for (usize n = 0; n <= INPUT_MAX; n++) {
        /* Exactly n bytes of heap: reading past the end is noticed by the sanitizer. */
        u8 *in = malloc(n + (n == 0));
        fill(in, n);
        cd_hash32 got;
        cd_hash32 want;
        reference(&want, cd_bytes_of(in, n), 0x01);
        cd_keccak256(&got, cd_bytes_of(in, n));
        assert_memory_equal(&got, &want, 32);

        cd_keccak k;
        cd_keccak_init(&k);
        for (usize at = 0; at < n;) {
            usize piece = next_u64() % 300;
            piece = piece < n - at ? piece : n - at;
            cd_keccak_update(&k, cd_bytes_of(in + at, piece));
            at += piece;
        }
        cd_keccak_final(&k, &got);
        assert_memory_equal(&got, &want, 32);
        if (n == 32) {
            cd_keccak256_32(&got, in);
            assert_memory_equal(&got, &want, 32);
        }
        if (n == 64) {
            cd_keccak256_64(&got, in);
            assert_memory_equal(&got, &want, 32);
        }
        free(in);
    }
}

static void output_inside_the_input(void **state)
{
    (void)state;
    cd_hash32 buf[2];
    cd_hash32 want;
    fill((u8 *)buf, sizeof buf);
    cd_keccak256(&want, cd_bytes_of(buf, sizeof buf));
    cd_keccak256(&buf[1], cd_bytes_of(buf, sizeof buf));
    assert_memory_equal(&buf[1], &want, 32);
}

typedef void many_fn(cd_hash32 *out, const cd_bytes *in, usize cnt);

/* Batches of every size and of mixed lengths, each input in memory of exactly its size. */
static void check_many(many_fn *many)
{
    for (usize cnt = 0; cnt < 40; cnt++) {
        for (int kind = 0; kind < 4; kind++) {
            cd_bytes in[40];
            cd_hash32 got[40];
            for (usize i = 0; i < cnt; i++) {
                usize n = kind == 0 ? 32 : next_u64() % (kind == 1 ? 136 : INPUT_MAX);
                if (kind == 3 && i != cnt / 2) {
                    n = next_u64() % 3 * 68;
                }
                u8 *p = malloc(n + (n == 0));
                fill(p, n);
                in[i] = cd_bytes_of(p, n);
            }
            many(got, in, cnt);
            for (usize i = 0; i < cnt; i++) {
                cd_hash32 want;
                cd_keccak256(&want, in[i]);
                assert_memory_equal(&got[i], &want, 32);
                free((void *)(uintptr_t)in[i].p);
            }
        }
    }
}

static void many_chosen(void **state)
{
    (void)state;
    check_many(cd_keccak256_many);
}

static void many_scalar(void **state)
{
    (void)state;
    check_many(cd__keccak_many_scalar);
}

static void many_with(void **state, bool has, many_fn *many)
{
    (void)state;
    if (!has) {
        print_message("SKIP this processor has no such unit\n");
        skip();
    }
    /* The vector drivers are only called for at least one input. */
    cd_bytes one = cd_bytes_str("abc");
    cd_hash32 got;
    cd_hash32 want;
    many(&got, &one, 1);
    cd_keccak256(&want, one);
    assert_memory_equal(&got, &want, 32);
    check_many(many);
}

static void many_avx2(void **state)
{
    many_with(state, cd__cpu.avx2, cd__keccak_many_avx2);
}

static void many_avx512(void **state)
{
    many_with(state, cd__cpu.avx512, cd__keccak_many_avx512);
}

static void eight_at_once(void **state)
{
    (void)state;
    u8 buf[8][200];
    cd_bytes in[8];
    cd_hash32 got[8];
    fill((u8 *)buf, sizeof buf);
    for (usize i = 0; i < 8; i++) {
        in[i] = cd_bytes_of(buf[i], 25 * i);
    }
    cd_keccak256_x8(got, in);
    for (usize i = 0; i < 8; i++) {
        cd_hash32 want;
        cd_keccak256(&want, in[i]);
        assert_memory_equal(&got[i], &want, 32);
    }
}

static void memo_never_changes_a_hash(void **state)
{
    (void)state;
    const u64 key[2] = {next_u64(), next_u64()};
    cd_keccak_memo *m = cd_keccak_memo_new(key);
    u8 in[4096][64];
    fill((u8 *)in, sizeof in);
    for (int round = 0; round < 3; round++) {
        for (usize i = 0; i < 4096; i++) {
            /* Also the 32-byte prefix of a 64-byte preimage, zeros behind it, and other lengths. */
            static const usize lengths[] = {64, 32, 64, 0, 31, 65 - 2, 32, 64};
            usize n = lengths[(i + (usize)round) % CD_COUNT(lengths)];
            if (i % 16 == 3) {
                memset(in[i] + 32, 0, 32);
            }
            cd_hash32 got;
            cd_hash32 want;
            cd_keccak256_memo(m, &got, cd_bytes_of(in[i], n));
            cd_keccak256(&want, cd_bytes_of(in[i], n));
            assert_memory_equal(&got, &want, 32);
            cd_keccak256_memo(m, &got, cd_bytes_of(in[i], n));
            assert_memory_equal(&got, &want, 32);
        }
        cd_keccak_memo_clear(m, (const u64[]){next_u64(), next_u64()});
    }
    cd_hash32 got;
    cd_hash32 want;
    u8 zero[64] = {0};
    cd_keccak256_memo(m, &got, cd_bytes_of(zero, 64));
    cd_keccak256(&want, cd_bytes_of(zero, 64));
    assert_memory_equal(&got, &want, 32);
    cd_keccak256_memo(m, &got, cd_bytes_of(zero, 32));
    cd_keccak256(&want, cd_bytes_of(zero, 32));
    assert_memory_equal(&got, &want, 32);
    cd_keccak_memo_free(m);
    cd_keccak_memo_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutation_matches_sha3),
        cmocka_unit_test(published_hashes),
        cmocka_unit_test(every_length),
        cmocka_unit_test(output_inside_the_input),
        cmocka_unit_test(many_chosen),
        cmocka_unit_test(many_scalar),
        cmocka_unit_test(many_avx2),
        cmocka_unit_test(many_avx512),
        cmocka_unit_test(eight_at_once),
        cmocka_unit_test(memo_never_changes_a_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
