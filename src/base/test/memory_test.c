/* Arena, buffer, cursor, bytes, hex and errors: the modules everything else stands on. */
#include "base/hex.h"
#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/rd.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BIG = 10 * 1024 * 1024 };

static void test_arena(void **state)
{
    (void)state;
    cd_arena a = {0};
    u8 *first = cd_arena_alloc(&a, 1);
    assert_int_equal((uintptr_t)first % 16, 0);
    cd_arena_mark m = cd_arena_mark_get(&a);
    u8 *p = cd_arena_zalloc(&a, 100);
    memset(p, 7, 100);
    u8 *big = cd_arena_alloc(&a, BIG);
    memset(big, 1, BIG);
    cd_arena_rewind(&a, m);
    assert_ptr_equal(cd_arena_alloc(&a, 100), p);
    assert_ptr_equal(cd_arena_alloc(&a, BIG), big);
    cd_arena_reset(&a);
    assert_ptr_equal(cd_arena_alloc(&a, 1), first);
    assert_string_equal(cd_arena_fmt(&a, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(cd_arena_str(&a, cd_bytes_of("abc", 2)), "ab");
    cd_bytes copy = cd_arena_dup(&a, cd_bytes_str("hello"));
    assert_true(cd_bytes_eq(copy, cd_bytes_str("hello")));
    u64 *w = cd_arena_array(&a, u64, 1000);
    for (usize i = 0; i < 1000; i++) {
        assert_int_equal(w[i], 0);
    }
    cd_arena_fini(&a);
    assert_non_null(cd_arena_alloc(&a, 3));
    cd_arena_fini(&a);
}

static void test_buf(void **state)
{
    (void)state;
    cd_buf b = {0};
    assert_string_equal(cd_buf_cstr(&b), "");
    for (u32 i = 0; i < 1000; i++) {
        cd_buf_fmt(&b, "%u,", i);
    }
    assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4);
    assert_memory_equal(cd_buf_cstr(&b), "0,1,2,", 6);
    cd_buf_clear(&b);
    cd_buf_u8(&b, 'a');
    cd_buf_fill(&b, 'b', 3);
    cd_buf_put(&b, cd_bytes_of(NULL, 0));
    cd_buf_str(&b, "c");
    assert_string_equal(cd_buf_cstr(&b), "abbbc");
    assert_int_equal(b.n, 5);
    cd_buf_fini(&b);
}

static void test_rd(void **state)
{
    (void)state;
    const u8 in[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    cd_rd r = cd_rd_init(cd_bytes_of(in, sizeof in));
    assert_int_equal(cd_rd_u8(&r), 1);
    assert_int_equal(cd_rd_be16(&r), 0x0203);
    assert_int_equal(cd_rd_be32(&r), 0x04050607);
    assert_int_equal(cd_rd_be64(&r), 0x08090a0b0c0d0e0full);
    assert_int_equal(cd_rd_end(&r), CD_ETRAIL);
    assert_int_equal(cd_rd_take(&r, 1).n, 1);
    assert_int_equal(cd_rd_end(&r), CD_OK);
    assert_int_equal(cd_rd_be64(&r), 0);
    assert_int_equal(cd_rd_end(&r), CD_ESHORT);
    assert_int_equal(cd_rd_take(&r, 0).n, 0);

    r = cd_rd_init(cd_bytes_of(in, 3));
    assert_int_equal(cd_rd_be32(&r), 0);
    assert_int_equal(cd_rd_u8(&r), 0);
    assert_int_equal(cd_rd_end(&r), CD_ESHORT);
    r = cd_rd_init((cd_bytes){0});
    assert_int_equal(cd_rd_end(&r), CD_OK);
    assert_int_equal(cd_rd_take(&r, SIZE_MAX).n, 0);
    assert_int_equal(cd_rd_end(&r), CD_ESHORT);
}

static void test_bytes(void **state)
{
    (void)state;
    assert_true(cd_bytes_cmp(cd_bytes_str("ab"), cd_bytes_str("abc")) < 0);
    assert_true(cd_bytes_cmp(cd_bytes_str("b"), cd_bytes_str("abc")) > 0);
    assert_int_equal(cd_bytes_cmp((cd_bytes){0}, (cd_bytes){0}), 0);
    assert_true(cd_bytes_eq((cd_bytes){0}, cd_bytes_str("")));
    u8 p[8];
    cd_put_be64(p, 0x0102030405060708ull);
    assert_int_equal(p[0], 1);
    assert_int_equal(cd_be64(p), 0x0102030405060708ull);
    assert_int_equal(cd_le64(p), 0x0807060504030201ull);
    assert_int_equal(cd_be32(p), 0x01020304);
    assert_int_equal(cd_be16(p + 6), 0x0708);
    cd_put_be32(p, 0xa1b2c3d4);
    assert_int_equal(cd_be16(p), 0xa1b2);
    cd_put_be16(p, 0xfffe);
    assert_int_equal(cd_be16(p), 0xfffe);
    cd_put_le32(p, 0xa1b2c3d4);
    assert_int_equal(cd_le32(p), 0xa1b2c3d4);
    cd_put_le64(p, 5);
    assert_int_equal(p[0], 5);
    cd_hash32 h = {{0}};
    assert_true(cd_hash32_is_zero(&h));
    h.b[31] = 1;
    assert_false(cd_hash32_is_zero(&h));
    cd_addr20 x = {{0}};
    assert_true(cd_addr20_is_zero(&x));
    x.b[19] = 1;
    assert_false(cd_addr20_is_zero(&x));
    u64 v;
    assert_true(cd_add_u64(&v, 1, 2) && v == 3);
    assert_false(cd_add_u64(&v, UINT64_MAX, 1));
    assert_false(cd_sub_u64(&v, 1, 2));
    assert_false(cd_mul_u64(&v, 1ull << 32, 1ull << 32));
}

static void test_hex(void **state)
{
    (void)state;
    u8 out[4] = {9, 9, 9, 9};
    assert_int_equal(cd_hex_parse(out, cd_bytes_str("00fFaB19")), CD_OK);
    assert_memory_equal(out, ((u8[]){0, 0xff, 0xab, 0x19}), 4);
    assert_int_equal(cd_hex_parse(out, cd_bytes_str("abc")), CD_EFORMAT);
    /* Every other byte is refused, in both places of a pair. */
    for (u32 c = 0; c < 256; c++) {
        char t[3] = {(char)c, '0', 0};
        bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        assert_int_equal(cd_hex_parse(out, cd_bytes_of(t, 2)), is_hex ? CD_OK : CD_EFORMAT);
        if (is_hex) {
            assert_int_equal(out[0] >> 4, strtol((char[]){(char)c, 0}, NULL, 16));
        }
        t[1] = t[0];
        t[0] = 'f';
        assert_int_equal(cd_hex_parse(out, cd_bytes_of(t, 2)), is_hex ? CD_OK : CD_EFORMAT);
    }
    cd_arena a = {0};
    cd_bytes b;
    assert_int_equal(cd_hex_parse_prefixed(&b, &a, cd_bytes_str("0X01ff")), CD_OK);
    assert_true(cd_bytes_eq(b, cd_bytes_of("\x01\xff", 2)));
    assert_int_equal(cd_hex_parse_prefixed(&b, &a, cd_bytes_str("0x")), CD_OK);
    assert_int_equal(b.n, 0);
    cd_buf text = {0};
    cd_hex_put(&text, cd_bytes_of("\x01\xff\xa0", 3));
    assert_string_equal(cd_buf_cstr(&text), "0x01ffa0");
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

/* Every length around the width of a vector, against printf; buffers of the exact size, for the sanitizer. */
static void test_hex_fmt(void **state)
{
    (void)state;
    for (usize n = 0; n <= 67; n++) {
        u8 *in = cd_new_array(u8, n);
        char *out = cd_new_array(char, 2 * n);
        for (usize i = 0; i < n; i++) {
            in[i] = (u8)(i * 37 + n * 101);
        }
        cd_hex_fmt(out, cd_bytes_of(in, n));
        for (usize i = 0; i < n; i++) {
            char want[3];
            (void)snprintf(want, sizeof want, "%02x", in[i]);
            assert_memory_equal(out + 2 * i, want, 2);
        }
        cd_free(in);
        cd_free(out);
    }
}

static void test_err(void **state)
{
    (void)state;
    assert_string_equal(cd_err_name(CD_ENOENT), "CD_ENOENT");
    assert_string_equal(cd_err_str(CD_OK), "ok");
    cd_errinfo why = {0};
    char far_too_long[500];
    memset(far_too_long, 'x', sizeof far_too_long);
    far_too_long[499] = '\0';
    assert_int_equal(cd_fail(&why, CD_EIO, "%s", far_too_long), CD_EIO);
    assert_int_equal(why.code, CD_EIO);
    assert_int_equal(strlen(why.msg), sizeof why.msg - 1);
    assert_int_equal(cd_fail(NULL, CD_EBUSY, "x"), CD_EBUSY);
}

static void test_heap(void **state)
{
    (void)state;
    u64 *p = cd_new_array(u64, 9);
    assert_int_equal(p[8], 0);
    p = cd_realloc(p, 0);
    assert_non_null(p);
    cd_free(p);
    u8 *q = cd_alloc_aligned(64, 100);
    assert_int_equal((uintptr_t)q % 64, 0);
    assert_int_equal(q[99], 0);
    cd_free(q);
    void *t = cd_try_alloc(0);
    assert_non_null(t);
    cd_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena), cmocka_unit_test(test_buf),  cmocka_unit_test(test_rd),
        cmocka_unit_test(test_bytes), cmocka_unit_test(test_hex),  cmocka_unit_test(test_hex_fmt),
        cmocka_unit_test(test_err),   cmocka_unit_test(test_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
