#include "services/adx/exchange/explain.h"
#include "services/adx/exchange/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const cd_token sample = {.is_campaign = true,
                                .expires_s = 1700000000,
                                .price = 2510000,
                                .lease = 77,
                                .auction = {1, 2, 3},
                                .place = 4,
                                .payer = "c1",
                                .publisher = "0xbb",
                                .miner = "0123456789abcdef"};

static void test_token(void **state)
{
    (void)state;
    cd_hmac_sha256_key key;
    cd_hmac_sha256_key other;
    cd_buf text = {0};
    cd_buf again = {0};
    cd_token t = {0};
    cd_hmac_sha256_init(&key, cd_bytes_str("one key"));
    cd_hmac_sha256_init(&other, cd_bytes_str("another"));
    cd_token_put(&text, &key, &sample);
    assert_int_equal(cd_token_read(&t, &key, cd_buf_bytes(&text)), CD_OK);
    cd_token_put(&again, &key, &t);
    assert_true(cd_bytes_eq(cd_buf_bytes(&again), cd_buf_bytes(&text)));
    assert_true(t.price == sample.price && t.lease == 77 && t.expires_s == sample.expires_s && t.place == 4);
    assert_string_equal(t.miner, sample.miner);
    assert_int_equal(cd_token_read(&t, &other, cd_buf_bytes(&text)), CD_ESIG);
    /* every single bit counts */
    for (usize i = 0; i < text.n; i++) {
        for (u32 bit = 0; bit < 8; bit++) {
            text.p[i] ^= (u8)(1u << bit);
            assert_int_not_equal(cd_token_read(&t, &key, cd_buf_bytes(&text)), CD_OK);
            text.p[i] ^= (u8)(1u << bit);
        }
    }
    for (usize n = 0; n < text.n; n++) {
        assert_int_not_equal(cd_token_read(&t, &key, cd_bytes_of(text.p, n)), CD_OK);
    }
    cd_buf_fini(&text);
    cd_buf_fini(&again);
}

/* Documents are found by both names, go when their day is over or the memory is, oldest first. */
static void test_explain(void **state)
{
    (void)state;
    cd_explain *e = cd_explain_new(20000, 100);
    char id[16];
    char request[16];
    for (u32 i = 0; i < 1000; i++) {
        (void)snprintf(id, sizeof id, "a%u", i);
        (void)snprintf(request, sizeof request, "r%u", i);
        cd_explain_put(e, cd_bytes_str(id), cd_bytes_str(request), cd_bytes_str(id), i / 10);
        assert_true(cd_explain_held(e) <= 20000);
    }
    assert_true(cd_bytes_eq(cd_explain_get(e, cd_bytes_str("r999"), 100), cd_bytes_str("a999")));
    assert_true(cd_bytes_eq(cd_explain_get(e, cd_bytes_str("a999"), 100), cd_bytes_str("a999")));
    assert_null(cd_explain_get(e, cd_bytes_str("a0"), 100).p);
    /* a request that comes again is the later one, and the earlier's end takes nothing from it */
    cd_explain_put(e, cd_bytes_str("x1"), cd_bytes_str("same"), cd_bytes_str("1"), 150);
    cd_explain_put(e, cd_bytes_str("x2"), cd_bytes_str("same"), cd_bytes_str("2"), 240);
    assert_true(cd_bytes_eq(cd_explain_get(e, cd_bytes_str("x1"), 249), cd_bytes_str("1")));
    assert_true(cd_bytes_eq(cd_explain_get(e, cd_bytes_str("same"), 251), cd_bytes_str("2")));
    assert_null(cd_explain_get(e, cd_bytes_str("x1"), 251).p);
    assert_null(cd_explain_get(e, cd_bytes_str("same"), 341).p);
    assert_int_equal(cd_explain_held(e), 0);
    cd_explain_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_token), cmocka_unit_test(test_explain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
