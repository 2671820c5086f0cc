/* What the decoders of Warp messages, payloads, predicates and their results refuse; the conformance data
 * shows what they take (tests/vectors/warp_vectors.c). */
#include "types/warp.h"

#include "types/predicate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* dec must refuse every shorter input, and the input with one byte more. */
static void only_whole(cd_bytes whole, cd_err (*dec)(cd_bytes in))
{
    u8 longer[512] = {0};
    assert_true(whole.n < sizeof longer);
    memcpy(longer, whole.p, whole.n);
    assert_int_equal(dec(whole), CD_OK);
    for (usize n = 0; n < whole.n; n++) {
        assert_int_equal(dec(cd_bytes_of(longer, n)), CD_ESHORT);
    }
    assert_int_equal(dec(cd_bytes_of(longer, whole.n + 1)), CD_ETRAIL);
}

static cd_err dec_unsigned(cd_bytes in)
{
    cd_warp_unsigned m;
    return cd_warp_unsigned_dec(&m, in);
}

static cd_err dec_message(cd_bytes in)
{
    cd_warp_message m;
    return cd_warp_message_dec(&m, in);
}

static cd_err dec_payload(cd_bytes in)
{
    cd_warp_payload p;
    return cd_warp_payload_dec(&p, in);
}

static cd_err dec_results(cd_bytes in)
{
    cd_arena a = {0};
    cd_predicate_results r;
    cd_err e = cd_predicate_results_dec(&r, &a, in);
    cd_arena_fini(&a);
    return e;
}

static void lengths_are_exact(void **state)
{
    (void)state;
    cd_buf b = {0};
    const cd_warp_unsigned body = {.network_id = 1, .payload = cd_bytes_str("abc")};
    cd_warp_unsigned_enc(&b, &body);
    only_whole(cd_buf_bytes(&b), dec_unsigned);
    cd_buf_clear(&b);
    cd_warp_message_enc(&b, &(cd_warp_message){.body = body, .signers = cd_bytes_str("\x01")});
    only_whole(cd_buf_bytes(&b), dec_message);
    cd_buf_clear(&b);
    assert_int_equal(cd_warp_payload_enc(&b, &(cd_warp_payload){.type = CD_WARP_HASH}), CD_OK);
    only_whole(cd_buf_bytes(&b), dec_payload);
    cd_buf_clear(&b);
    assert_int_equal(cd_warp_payload_enc(&b, &(cd_warp_payload){.type = CD_WARP_ADDRESSED_CALL,
                                                                .source = cd_bytes_str("me"),
                                                                .payload = cd_bytes_str("it")}),
                     CD_OK);
    only_whole(cd_buf_bytes(&b), dec_payload);
    cd_buf_fini(&b);
}

static void versions_and_types(void **state)
{
    (void)state;
    u8 in[2 + 4 + 32 + 4 + 4 + 4 + 96] = {0};
    assert_int_equal(dec_message(cd_bytes_of(in, sizeof in)), CD_OK);
    in[1] = 1;
    assert_int_equal(dec_message(cd_bytes_of(in, sizeof in)), CD_EVERSION);
    assert_int_equal(dec_unsigned(cd_bytes_of(in, 42)), CD_EVERSION);
    assert_int_equal(dec_payload(cd_bytes_of(in, 38)), CD_EVERSION);
    in[1] = 0;
    in[45] = 1; /* another kind of signature */
    assert_int_equal(dec_message(cd_bytes_of(in, sizeof in)), CD_ETYPE);
    in[45] = 0;
    in[5] = 2; /* another kind of payload */
    assert_int_equal(dec_payload(cd_bytes_of(in, 38)), CD_ETYPE);
}

static void payloads_have_a_limit(void **state)
{
    (void)state;
    enum { OVERHEAD = 2 + 4 + 4 + 4 };
    static u8 bytes[CD_WARP_PAYLOAD_MAX + 1];
    cd_buf b = {0};
    cd_warp_payload p = {.type = CD_WARP_ADDRESSED_CALL,
                         .source = cd_bytes_of(bytes, 20),
                         .payload = cd_bytes_of(bytes, CD_WARP_PAYLOAD_MAX - OVERHEAD - 20)};
    assert_int_equal(cd_warp_payload_enc(&b, &p), CD_OK);
    assert_int_equal(b.n, CD_WARP_PAYLOAD_MAX);
    assert_int_equal(dec_payload(cd_buf_bytes(&b)), CD_OK);
    p.payload.n++;
    assert_int_equal(cd_warp_payload_enc(&b, &p), CD_ELIMIT);
    p.source.n = SIZE_MAX;
    assert_int_equal(cd_warp_payload_enc(&b, &p), CD_ELIMIT);
    assert_int_equal(b.n, CD_WARP_PAYLOAD_MAX);
    assert_int_equal(dec_payload(cd_bytes_of(bytes, sizeof bytes)), CD_ELIMIT);
    cd_buf_fini(&b);
}

static void bitsets(void **state)
{
    (void)state;
    assert_true(cd_bits_is_minimal((cd_bytes){0}));
    assert_false(cd_bits_is_minimal(cd_bytes_of("\0\1", 2)));
    assert_int_equal(cd_bits_len((cd_bytes){0}), 0);
    assert_int_equal(cd_bits_len(cd_bytes_of("\0\0", 2)), 0);
    assert_int_equal(cd_bits_len(cd_bytes_of("\0\x40\0", 3)), 15);
    assert_int_equal(cd_bits_count(cd_bytes_str("\xff\x81")), 10);
    assert_false(cd_bits_has(cd_bytes_str("\xff"), 8));
    assert_false(cd_bits_has(cd_bytes_str("\xff"), UINT64_MAX));
}

/* Flags come back as they were given, and no byte more than they need is written. */
static void bits_of_flags(void **state)
{
    (void)state;
    enum { MANY = 1100 };
    static bool flags[MANY];
    for (usize cnt = 0; cnt <= MANY; cnt++) {
        for (usize last = 0; last < 3; last++) { /* so many at the end are not set */
            cd_buf b = {0};
            for (usize i = 0; i < cnt; i++) {
                flags[i] = i + last < cnt && i % 3 != 1;
            }
            usize set = cnt;
            while (set != 0 && !flags[set - 1]) {
                set--;
            }
            cd_bits_put(&b, flags, cnt);
            assert_int_equal(b.n, (set + 7) / 8);
            assert_true(cd_bits_is_minimal(cd_buf_bytes(&b)));
            assert_int_equal(cd_bits_len(cd_buf_bytes(&b)), set);
            for (usize i = 0; i < cnt; i++) {
                assert_int_equal(cd_bits_has(cd_buf_bytes(&b), i), flags[i]);
            }
            cd_buf_fini(&b);
        }
    }
}

static void predicates(void **state)
{
    (void)state;
    cd_bytes got;
    cd_errinfo why = {0};
    cd_hash32 w[3] = {{.b = {1, 2, 0xff}}};
    assert_int_equal(cd_predicate_unpack(&got, w, 1, &why), CD_OK);
    assert_true(cd_bytes_eq(got, cd_bytes_str("\1\2")));
    assert_int_equal(cd_predicate_unpack(&got, w, 2, &why), CD_EFORMAT);
    assert_string_equal(why.msg, "predicate included excess padding");
    assert_int_equal(cd_predicate_unpack(&got, w + 1, 2, &why), CD_EFORMAT);
    assert_string_equal(why.msg, "no delimiter found");
    assert_int_equal(cd_predicate_unpack(&got, NULL, 0, &why), CD_EFORMAT);
    assert_string_equal(why.msg, "no delimiter found");
    w[0].b[2] = 0xfe;
    assert_int_equal(cd_predicate_unpack(&got, w, 1, &why), CD_EFORMAT);
    assert_string_equal(why.msg, "wrong delimiter");
}

static void results_are_canonical(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_buf b = {0};
    const cd_predicate_bits items[] = {{.addr = {.b = {1}}, .failed = cd_bytes_str("\1")},
                                       {.addr = {.b = {2}}, .failed = cd_bytes_str("\2")}};
    cd_predicate_results r = {0};
    cd_predicate_results_add(&r, &a, &(cd_predicate_tx){.hash = {.b = {9}}, .items = items, .cnt = CD_COUNT(items)});
    cd_predicate_results_add(&r, &a, &(cd_predicate_tx){.hash = {.b = {3}}, .items = items, .cnt = 1});
    cd_predicate_results_enc(&b, &r);
    only_whole(cd_buf_bytes(&b), dec_results);
    enum { FIRST_HASH = 6, FIRST_ITEM = 6 + 36, ITEM = 25, SECOND_ITEMS = FIRST_ITEM + ITEM + 36 };
    assert_int_equal(b.p[FIRST_HASH], 3); /* ascending, whatever the order of insertion */

    b.p[FIRST_HASH] = 9; /* equal hashes */
    assert_int_equal(dec_results(cd_buf_bytes(&b)), CD_ECANON);
    b.p[FIRST_HASH] = 3;
    b.p[SECOND_ITEMS] = 2; /* equal addresses */
    assert_int_equal(dec_results(cd_buf_bytes(&b)), CD_ECANON);
    b.p[SECOND_ITEMS] = 1;
    b.p[SECOND_ITEMS + ITEM - 1] = 0; /* a bitset with a zero in front */
    assert_int_equal(dec_results(cd_buf_bytes(&b)), CD_ECANON);
    b.p[SECOND_ITEMS + ITEM - 1] = 1;
    b.p[1] = 1;
    assert_int_equal(dec_results(cd_buf_bytes(&b)), CD_EVERSION);
    b.p[1] = 0;
    memset(b.p + 2, 0xff, 4); /* more transactions than bytes */
    assert_int_equal(dec_results(cd_buf_bytes(&b)), CD_ESHORT);

    cd_buf_clear(&b);
    cd_buf_fill(&b, 0, CD_PREDICATE_RESULTS_MAX + 1);
    assert_int_equal(dec_results(cd_buf_bytes(&b)), CD_ELIMIT);
    assert_false(cd_predicate_failed(&r, &(cd_hash32){.b = {4}}, &items[0].addr, 0));
    assert_false(cd_predicate_failed(&r, &(cd_hash32){.b = {3}}, &items[1].addr, 1));
    assert_true(cd_predicate_failed(&r, &(cd_hash32){.b = {9}}, &items[1].addr, 1));
    cd_buf_fini(&b);
    cd_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_exact),
        cmocka_unit_test(versions_and_types),
        cmocka_unit_test(payloads_have_a_limit),
        cmocka_unit_test(bits_of_flags),
        cmocka_unit_test(bitsets),
        cmocka_unit_test(predicates),
        cmocka_unit_test(results_are_canonical),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
