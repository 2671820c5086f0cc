#include "codec/rlp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static cd_bytes lit(const char *s, usize n)
{
    return cd_bytes_of(s, n);
}

#define LIT(s) lit(s, sizeof(s) - 1)

static void assert_enc(cd_buf *b, cd_bytes want)
{
    assert_int_equal(b->n, want.n);
    assert_memory_equal(b->p, want.p, want.n);
    cd_buf_clear(b);
}

static void test_put(void **state)
{
    (void)state;
    cd_buf b = {0};
    cd_rlp_put_u64(&b, 0);
    assert_enc(&b, LIT("\x80"));
    cd_rlp_put_u64(&b, 0x7f);
    assert_enc(&b, LIT("\x7f"));
    cd_rlp_put_u64(&b, 0x80);
    assert_enc(&b, LIT("\x81\x80"));
    cd_rlp_put_u64(&b, 1024);
    assert_enc(&b, LIT("\x82\x04\x00"));
    cd_rlp_put_u64(&b, UINT64_MAX);
    assert_enc(&b, LIT("\x88\xff\xff\xff\xff\xff\xff\xff\xff"));
    cd_rlp_put_str(&b, LIT(""));
    assert_enc(&b, LIT("\x80"));
    cd_rlp_put_str(&b, LIT("dog"));
    assert_enc(&b, LIT("\x83"
                       "dog"));
    cd_u256 big = {.w = {1, 0, 0, 1}};
    cd_rlp_put_u256(&b, &big);
    assert_int_equal(b.n, 26);
    assert_int_equal(b.p[0], 0x80 + 25);
    assert_int_equal(cd_rlp_u256_size(&big), 26);
    cd_buf_fini(&b);
}

static void test_sizes_agree(void **state)
{
    (void)state;
    static const usize lens[] = {0, 1, 2, 55, 56, 57, 255, 256, 65535, 65536, 70000};
    cd_buf b = {0};
    cd_buf text = {0};
    for (usize i = 0; i < CD_COUNT(lens); i++) {
        cd_buf_clear(&b);
        cd_buf_clear(&text);
        cd_buf_fill(&text, 0xaa, lens[i]);
        cd_rlp_put_str(&b, cd_buf_bytes(&text));
        assert_int_equal(b.n, cd_rlp_str_size(cd_buf_bytes(&text)));
        assert_int_equal(cd_rlp_check(cd_buf_bytes(&b)), CD_OK);
        /* Both ways of writing a list agree. */
        cd_buf back = {0};
        usize at = cd_rlp_begin(&back);
        cd_buf_fill(&back, 0x01, lens[i]);
        cd_rlp_close(&back, at);
        cd_buf_clear(&b);
        cd_rlp_put_list_head(&b, lens[i]);
        cd_buf_fill(&b, 0x01, lens[i]);
        assert_true(cd_bytes_eq(cd_buf_bytes(&b), cd_buf_bytes(&back)));
        assert_int_equal(b.n, cd_rlp_head_size(lens[i]) + lens[i]);
        cd_buf_fini(&back);
    }
    for (u32 bit = 0; bit < 64; bit++) {
        cd_buf_clear(&b);
        cd_rlp_put_u64(&b, (u64)1 << bit);
        assert_int_equal(b.n, cd_rlp_u64_size((u64)1 << bit));
        cd_rlp r = cd_rlp_init(cd_buf_bytes(&b));
        assert_true(cd_rlp_u64(&r) == (u64)1 << bit);
        assert_int_equal(cd_rlp_end(&r), CD_OK);
    }
    cd_buf_fini(&b);
    cd_buf_fini(&text);
}

static void test_read_list(void **state)
{
    (void)state;
    /* [ "cat", [1, 1024], "" ] */
    cd_rlp top = cd_rlp_init(LIT("\xca\x83"
                                 "cat"
                                 "\xc4\x01\x82\x04\x00\x80"));
    cd_rlp r = cd_rlp_list(&top);
    assert_int_equal(cd_rlp_count(&r), 3);
    cd_bytes s = cd_rlp_str(&r);
    assert_true(cd_bytes_eq(s, LIT("cat")));
    cd_rlp inner = cd_rlp_list(&r);
    assert_int_equal(cd_rlp_u64(&inner), 1);
    cd_u256 v = cd_rlp_u256(&inner);
    assert_true(v.w[0] == 1024 && cd_u256_fits_u64(&v));
    cd_rlp_leave(&r, &inner);
    assert_int_equal(cd_rlp_str(&r).n, 0);
    assert_false(cd_rlp_more(&r));
    cd_rlp_leave(&top, &r);
    assert_int_equal(cd_rlp_end(&top), CD_OK);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *p;
        usize n;
        cd_err want;
    } cases[] = {
        {"", 0, CD_ESHORT},
        {"\x81\x7f", 2, CD_ECANON},     /* a byte below 0x80 wrapped */
        {"\xb8\x37", 2, CD_ECANON},     /* long form for 55 bytes */
        {"\xb9\x00\x40", 3, CD_ECANON}, /* length with a leading zero */
        {"\x83\x61\x62", 3, CD_ESHORT}, /* beyond the input */
        {"\xbf\xff\xff\xff\xff\xff\xff\xff\xff", 9, CD_ESHORT},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9, CD_ESHORT},
        {"\xbb\x01", 2, CD_ESHORT}, /* length itself cut off */
        {"\x01\x01", 2, CD_ETRAIL},
        {"\xc1", 1, CD_ESHORT},
        {"\xc2\x82\x01", 3, CD_ESHORT}, /* item runs over its list */
        {"\xc3\x82\x01\x02\x03", 5, CD_ETRAIL},
        {"\xc2\x81\x01", 3, CD_ECANON},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        assert_int_equal(cd_rlp_check(cd_bytes_of(cases[i].p, cases[i].n)), cases[i].want);
    }
}

static void test_typed_refusals(void **state)
{
    (void)state;
    cd_rlp r = cd_rlp_init(LIT("\x82\x00\x01"));
    assert_int_equal(cd_rlp_u64(&r), 0);
    assert_int_equal(cd_rlp_end(&r), CD_ECANON);
    r = cd_rlp_init(LIT("\x00"));
    (void)cd_rlp_u256(&r);
    assert_int_equal(cd_rlp_end(&r), CD_ECANON); /* zero is the empty string */
    r = cd_rlp_init(LIT("\x89\x01\x00\x00\x00\x00\x00\x00\x00\x00"));
    (void)cd_rlp_u64(&r);
    assert_int_equal(cd_rlp_end(&r), CD_ERANGE);
    r = cd_rlp_init(LIT("\xc0"));
    (void)cd_rlp_str(&r);
    assert_int_equal(cd_rlp_end(&r), CD_ETYPE);
    r = cd_rlp_init(LIT("\x80"));
    (void)cd_rlp_list(&r);
    assert_int_equal(cd_rlp_end(&r), CD_ETYPE);
    u8 fixed[3] = {1, 2, 3};
    r = cd_rlp_init(LIT("\x82\x0a\x0b"));
    cd_rlp_fixed(&r, fixed, sizeof fixed);
    assert_int_equal(fixed[0] | fixed[1] | fixed[2], 0);
    assert_int_equal(cd_rlp_end(&r), CD_ERANGE);
    /* The error of a list sticks to the list around it, and so do left-overs. */
    cd_rlp top = cd_rlp_init(LIT("\xc2\x01\x02"));
    r = cd_rlp_list(&top);
    assert_int_equal(cd_rlp_u64(&r), 1);
    cd_rlp_leave(&top, &r);
    assert_int_equal(cd_rlp_end(&top), CD_ETRAIL);
}

static void test_depth(void **state)
{
    (void)state;
    cd_buf b = {0};
    for (usize extra = 0; extra < 2; extra++) {
        cd_buf_clear(&b);
        usize at[CD_RLP_DEPTH_MAX + 1];
        for (usize i = 0; i < CD_RLP_DEPTH_MAX + extra; i++) {
            at[i] = cd_rlp_begin(&b);
        }
        for (usize i = CD_RLP_DEPTH_MAX + extra; i-- > 0;) {
            cd_rlp_close(&b, at[i]);
        }
        assert_int_equal(cd_rlp_check(cd_buf_bytes(&b)), extra == 0 ? CD_OK : CD_EDEPTH);
    }
    cd_buf_fini(&b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put),     cmocka_unit_test(test_sizes_agree),    cmocka_unit_test(test_read_list),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_typed_refusals), cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
