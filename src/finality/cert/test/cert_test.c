/* Certificates of our own making: good ones are taken, everything else is refused, for the reason that holds.
 * [spec:finality#2] */
#include "finality/cert/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const cd_fin_msg block = {.block = {{1, 2, 3}}, .height = 41, .time_ns = 1700000000000000000};

static bool is_full(void)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    return full != NULL && full[0] == '1';
}

static cd_fin_flaw verify(world *w, cd_bytes bytes)
{
    cd_fin_cert read;
    return cd_fin_verify_bytes(&read, bytes, &w->set, &w->chain, &w->room);
}

/* Puts a certificate together, and takes and verifies it. */
static cd_fin_flaw verdict(world *w, const cd_fin_cert *c)
{
    cd_buf bytes = {0};
    cd_fin_cert_put(&bytes, c);
    cd_fin_flaw flaw = verify(w, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    return flaw;
}

/* --- good ones --- */

static void groups_of_all_sizes(void **state)
{
    (void)state;
    for (u32 n = 3; n <= 21; n += is_full() ? 1 : 9) {
        world *w = world_new(n, n, 41, true);
        for (u32 run = 0; run < 2; run++) {
            world_parts parts = {0};
            cd_fin_cert c = world_certify(w, &parts, run % 2 == 0 ? CD_FIN_BOTH : CD_FIN_LATTICE, &block,
                                          (n - cd_fin_threshold(n)) * (run & 1));
            assert_int_equal(verdict(w, &c), CD_FLAW_NONE);
            world_parts_fini(&parts);
        }
        world_free(w);
    }
}

static void without_a_group(void **state)
{
    (void)state;
    for (u32 n = 1; n <= 8; n += 1) {
        world *w = world_new(n, 50 + n, 41, false);
        world_parts parts = {0};
        cd_fin_cert c = world_certify(w, &parts, CD_FIN_MLDSA, &block, n / 5);
        assert_int_equal(verdict(w, &c), CD_FLAW_NONE);
        c.type = CD_FIN_BLS;
        assert_int_equal(verdict(w, &c), CD_FLAW_NONE);
        assert_false(cd_fin_is_final(c.type));
        world_parts_fini(&parts);
        world_free(w);
    }
}

/* --- one bit --- */

/* Changes single bits, spread over the whole; every one is refused. */
static void change_bits(world *w, cd_fin_type type, usize changes)
{
    cd_buf bytes = {0};
    world_parts parts = {0};
    cd_fin_cert c = world_certify(w, &parts, type, &block, 1);
    cd_fin_cert_put(&bytes, &c);
    assert_int_equal(verify(w, cd_buf_bytes(&bytes)), CD_FLAW_NONE);
    usize bits = bytes.n * 8;
    for (usize i = 0; i < changes; i++) {
        /* one in four among the first 300 bytes, where lengths, weights and names are */
        usize at = i % 4 == 0 ? i / 4 * 7 % (cd_min_u64(300, bytes.n) * 8) : (i * (bits / changes | 1) + i % 8) % bits;
        bytes.p[at / 8] ^= (u8)(1 << at % 8);
        if (verify(w, cd_buf_bytes(&bytes)) == CD_FLAW_NONE) {
            fail_msg("type %u is taken with bit %zu changed", type, at);
        }
        bytes.p[at / 8] ^= (u8)(1 << at % 8);
    }
    world_parts_fini(&parts);
    cd_buf_fini(&bytes);
}

static void single_bits(void **state)
{
    (void)state;
    world *w = world_new(5, 5, 41, true);
    usize each = is_full() ? 2500 : 400; /* tests/e2e/finality_many.c tries more */
    change_bits(w, CD_FIN_BLS, each);
    change_bits(w, CD_FIN_LATTICE, each);
    change_bits(w, CD_FIN_BOTH, each);
    change_bits(w, CD_FIN_MLDSA, each);
    world_free(w);
}

/* Every length but the right one is refused, and none is read over its end. */
static void cut_short(void **state)
{
    (void)state;
    world *w = world_new(4, 6, 41, true);
    for (u32 type = 0; type <= CD_FIN_MLDSA; type++) {
        cd_buf bytes = {0};
        world_parts parts = {0};
        cd_fin_cert c = world_certify(w, &parts, (cd_fin_type)type, &block, 0);
        cd_fin_cert_put(&bytes, &c);
        for (usize n = 0; n < bytes.n; n += n < 400 ? 1 : 97) {
            u8 *copy = cd_alloc(n);
            memcpy(copy, bytes.p, n);
            assert_int_equal(verify(w, cd_bytes_of(copy, n)), CD_FLAW_SHORT);
            cd_free(copy);
        }
        cd_buf_u8(&bytes, 0);
        assert_int_equal(verify(w, cd_buf_bytes(&bytes)), CD_FLAW_LONG);
        world_parts_fini(&parts);
        cd_buf_fini(&bytes);
    }
    world_free(w);
}

/* --- each reason --- */

static void bytes_at(world *w, const cd_buf *bytes, usize at, const char *put, usize n, cd_fin_flaw want)
{
    cd_buf copy = {0};
    cd_buf_put(&copy, cd_buf_bytes(bytes));
    memcpy(copy.p + at, put, n);
    assert_int_equal(verify(w, cd_buf_bytes(&copy)), want);
    cd_buf_fini(&copy);
}

static void malformed(void **state)
{
    (void)state;
    enum { TYPE_AT = 2, BITS_AT = 99, BIT_BYTES_AT = 103, BODY_AT = 104, PARTIES_AT = BODY_AT + 4 + 100 };
    enum { C_AT = PARTIES_AT + 4 + 5 * CD_FIN_NODE_BYTES, FIRST_COEFFICIENT_AT = C_AT + 4 + 16 };
    world *w = world_new(5, 7, 41, true);
    world_parts parts = {0};
    cd_buf bytes = {0};
    cd_fin_cert c = world_certify(w, &parts, CD_FIN_BOTH, &block, 0);
    cd_fin_cert_put(&bytes, &c);
    bytes_at(w, &bytes, 0, "\0\1", 2, CD_FLAW_VERSION);
    bytes_at(w, &bytes, TYPE_AT, "\4", 1, CD_FLAW_TYPE);
    bytes_at(w, &bytes, TYPE_AT, "\0", 1, CD_FLAW_BODY);
    bytes_at(w, &bytes, TYPE_AT, "\1", 1, CD_FLAW_BODY);
    bytes_at(w, &bytes, TYPE_AT, "\3", 1, CD_FLAW_BODY);
    bytes_at(w, &bytes, BITS_AT, "\0\0\0\0", 4, CD_FLAW_BITS);
    bytes_at(w, &bytes, BITS_AT, "\0\0\2\1", 4, CD_FLAW_BITS);
    bytes_at(w, &bytes, BIT_BYTES_AT, "\0", 1, CD_FLAW_BITS);
    bytes_at(w, &bytes, BIT_BYTES_AT, "\x3f", 1, CD_FLAW_STRANGER);
    bytes_at(w, &bytes, BODY_AT + 4, "\0\0\0\x61", 4, CD_FLAW_BODY);
    bytes_at(w, &bytes, PARTIES_AT, "\0\0\0\0", 4, CD_FLAW_BODY);
    bytes_at(w, &bytes, PARTIES_AT, "\0\0\0\x81", 4, CD_FLAW_BODY);
    bytes_at(w, &bytes, PARTIES_AT, "\xff\xff\xff\xff", 4, CD_FLAW_BODY);
    bytes_at(w, &bytes, C_AT, "\0\0\0\0", 4, CD_FLAW_LATTICE_FORM);
    /* a coefficient that is not below the modulus */
    bytes_at(w, &bytes, FIRST_COEFFICIENT_AT, "\x01\x4a\0\0\0\0\x01\0", 8, CD_FLAW_LATTICE_FORM);
    bytes_at(w, &bytes, BODY_AT + 8, "\0", 1, CD_FLAW_BLS_FORM);
    bytes.n = CD_FIN_CERT_MAX;
    bytes.p = cd_realloc(bytes.p, bytes.n + 1);
    bytes.n++;
    assert_int_equal(verify(w, cd_buf_bytes(&bytes)), CD_FLAW_LONG);
    cd_buf_fini(&bytes);
    world_parts_fini(&parts);
    world_free(w);
}

static void claims(void **state)
{
    (void)state;
    world *w = world_new(6, 8, 41, true);
    world_parts parts = {0};
    cd_fin_cert good = world_certify(w, &parts, CD_FIN_BOTH, &block, 0);
    cd_fin_cert c = good;
    assert_int_equal(verdict(w, &c), CD_FLAW_NONE);
    c.chain.b[31] ^= 1;
    assert_int_equal(verdict(w, &c), CD_FLAW_CHAIN);
    c = good;
    c.total++;
    assert_int_equal(verdict(w, &c), CD_FLAW_TOTAL);
    c = good;
    c.signed_by--;
    assert_int_equal(verdict(w, &c), CD_FLAW_WEIGHT);
    c = good;
    c.msg.time_ns++;
    assert_int_equal(verdict(w, &c), CD_FLAW_BLS);
    c = good;
    w->set.from = 42;
    assert_int_equal(verdict(w, &c), CD_FLAW_EPOCH);
    w->set.from = 40;
    w->set.until = 41;
    assert_int_equal(verdict(w, &c), CD_FLAW_EPOCH);
    w->set.until = 42;
    assert_int_equal(verdict(w, &c), CD_FLAW_NONE);
    w->set.group = NULL;
    assert_int_equal(verdict(w, &c), CD_FLAW_NO_GROUP);
    w->set.group = &w->group;

    /* another order, a party twice, one that nobody knows, too few */
    u8 nodes[6 * CD_FIN_NODE_BYTES];
    memcpy(nodes, c.parties.p, sizeof nodes);
    c.parties = cd_bytes_of(nodes, sizeof nodes);
    memcpy(nodes, good.parties.p + CD_FIN_NODE_BYTES, CD_FIN_NODE_BYTES);
    assert_int_equal(verdict(w, &c), CD_FLAW_STRANGER);
    memcpy(nodes + CD_FIN_NODE_BYTES, good.parties.p, CD_FIN_NODE_BYTES);
    assert_int_equal(verdict(w, &c), CD_FLAW_STRANGER);
    memset(nodes, 0xff, CD_FIN_NODE_BYTES);
    assert_int_equal(verdict(w, &c), CD_FLAW_STRANGER);
    c.parties = cd_bytes_sub(good.parties, 0, (usize)4 * CD_FIN_NODE_BYTES);
    assert_int_equal(verdict(w, &c), CD_FLAW_PARTIES);

    /* a type 1 whose bits are not its parties */
    c = good;
    c.type = CD_FIN_LATTICE;
    c.bls = (cd_bytes){0};
    assert_int_equal(verdict(w, &c), CD_FLAW_NONE);
    c.bits = cd_bytes_str("\x1f");
    c.signed_by = w->set.total - w->validators[5].weight;
    assert_int_equal(verdict(w, &c), CD_FLAW_STRANGER);
    c.parties = cd_bytes_sub(good.parties, CD_FIN_NODE_BYTES, (usize)5 * CD_FIN_NODE_BYTES);
    assert_int_equal(verdict(w, &c), CD_FLAW_STRANGER);
    c.bits = good.bits;
    c.signed_by = good.signed_by;
    assert_int_equal(verdict(w, &c), CD_FLAW_STRANGER);

    /* nobody at all */
    c.parties = (cd_bytes){0};
    assert_int_equal(verdict(w, &c), CD_FLAW_BODY);
    c = good;
    c.type = CD_FIN_MLDSA;
    assert_int_equal(verdict(w, &c), CD_FLAW_BODY);

    /* more parties than a group may have */
    static const u8 crowd[(CD_RT_PARTIES_MAX + 1) * CD_FIN_NODE_BYTES];
    c = good;
    c.parties = cd_bytes_of(crowd, sizeof crowd);
    assert_int_equal(verdict(w, &c), CD_FLAW_BODY);
    c.parties.n -= CD_FIN_NODE_BYTES;
    assert_int_equal(verdict(w, &c), CD_FLAW_STRANGER);
    world_parts_fini(&parts);
    world_free(w);
}

/* Two thirds: exactly is enough, and one less is not; and a validator with all the weight is enough alone. */
static void quorum(void **state)
{
    (void)state;
    assert_true(cd_fin_quorum(100, 150));
    assert_false(cd_fin_quorum(99, 150));
    assert_true(cd_fin_quorum(101, 151));
    assert_false(cd_fin_quorum(100, 151));
    assert_true(cd_fin_quorum(UINT64_MAX, UINT64_MAX));
    assert_false(cd_fin_quorum(UINT64_MAX / 3 * 2 - 1, UINT64_MAX));
    world *w = world_new(3, 9, 41, false);
    for (u32 i = 0; i < 3; i++) {
        w->validators[i].weight = i == 0 ? 199 : i == 1 ? 1 : 100;
    }
    w->set.total = 300;
    world_parts parts = {0};
    cd_fin_cert c = world_certify(w, &parts, CD_FIN_BLS, &block, 0);
    u8 text[CD_FIN_MSG_BYTES];
    cd_fin_msg_enc(text, &block);
    static const u8 bits[3][WORLD_MAX / 8] = {{1}, {3}, {6}};
    static const cd_fin_flaw want[3] = {CD_FLAW_QUORUM, CD_FLAW_NONE, CD_FLAW_QUORUM};
    for (u32 i = 0; i < 3; i++) {
        cd_buf_clear(&parts.bls);
        world_sign_bls(w, &parts.bls, bits[i], cd_bytes_of(text, sizeof text));
        c.bls = cd_buf_bytes(&parts.bls);
        c.bits = cd_bytes_of(bits[i], WORLD_MAX / 8);
        c.signed_by = world_weight(w, bits[i]);
        assert_int_equal(verdict(w, &c), want[i]);
        /* the fallback counts the weight of its own signers */
        cd_fin_cert slow = c;
        slow.type = CD_FIN_MLDSA;
        cd_buf_clear(&parts.mldsa);
        world_sign_mldsa(w, &parts.mldsa, bits[i], cd_bytes_of(text, sizeof text));
        slow.mldsa = cd_buf_bytes(&parts.mldsa);
        slow.bits = cd_bytes_of(bits[1], WORLD_MAX / 8);
        slow.signed_by = 200;
        slow.bls = i == 1 ? c.bls : slow.bls;
        cd_fin_flaw flaw = verdict(w, &slow);
        assert_int_equal(flaw, i == 1 ? CD_FLAW_NONE : CD_FLAW_MLDSA_QUORUM);
    }
    w->validators[1].mldsa = NULL;
    cd_buf_clear(&parts.mldsa);
    world_sign_mldsa(w, &parts.mldsa, bits[1], cd_bytes_of(text, sizeof text));
    c.type = CD_FIN_MLDSA;
    c.bits = cd_bytes_of(bits[1], WORLD_MAX / 8);
    c.signed_by = 200;
    c.mldsa = cd_buf_bytes(&parts.mldsa);
    assert_int_equal(verdict(w, &c), CD_FLAW_NO_MLDSA);
    world_parts_fini(&parts);
    world_free(w);
}

/* A signature by the right people of another block, or by other people of this one. */
static void of_others(void **state)
{
    (void)state;
    static const cd_fin_msg other = {.block = {{1, 2, 4}}, .height = 41, .time_ns = 1700000000000000000};
    world *w = world_new(4, 10, 41, true);
    world_parts parts = {0};
    world_parts others = {0};
    cd_fin_cert c = world_certify(w, &parts, CD_FIN_BOTH, &block, 0);
    cd_fin_cert d = world_certify(w, &others, CD_FIN_BOTH, &other, 0);
    cd_fin_cert mixed = c;
    mixed.lattice = d.lattice;
    assert_int_equal(verdict(w, &mixed), CD_FLAW_LATTICE);
    mixed = c;
    mixed.bls = d.bls;
    assert_int_equal(verdict(w, &mixed), CD_FLAW_BLS);
    world *v = world_new(4, 11, 41, true);
    w->set.group = &v->group;
    assert_int_equal(verdict(w, &c), CD_FLAW_LATTICE);
    w->set.group = &w->group;
    world_parts slow = {0};
    cd_fin_cert e = world_certify(w, &slow, CD_FIN_MLDSA, &block, 0);
    assert_int_equal(verdict(w, &e), CD_FLAW_NONE);
    w->validators[2].mldsa = v->mldsa_pk[2];
    assert_int_equal(verdict(w, &e), CD_FLAW_MLDSA);
    world_parts_fini(&parts);
    world_parts_fini(&others);
    world_parts_fini(&slow);
    world_free(v);
    world_free(w);
}

static void sets(void **state)
{
    (void)state;
    world *w = world_new(4, 12, 41, false);
    assert_true(cd_fin_set_is_good(&w->set));
    cd_fin_validator first = w->validators[0];
    w->validators[0].weight = 0;
    w->set.total -= first.weight;
    assert_false(cd_fin_set_is_good(&w->set));
    w->validators[0].weight = UINT64_MAX;
    assert_false(cd_fin_set_is_good(&w->set));
    w->validators[0] = first;
    w->set.total += first.weight;
    w->validators[0].node = w->validators[1].node;
    assert_false(cd_fin_set_is_good(&w->set));
    w->validators[0] = first;
    w->set.cnt = 0;
    assert_false(cd_fin_set_is_good(&w->set));
    w->set.cnt = CD_FIN_VALIDATORS_MAX + 1;
    assert_false(cd_fin_set_is_good(&w->set));
    w->set.cnt = 4;
    w->set.until = 41;
    assert_false(cd_fin_set_is_good(&w->set));
    static const u32 thresholds[][2] = {{1, 2}, {2, 2}, {3, 3}, {4, 3}, {5, 4}, {6, 5}, {20, 14}, {21, 15}, {100, 67}};
    for (usize i = 0; i < CD_COUNT(thresholds); i++) {
        assert_int_equal(cd_fin_threshold(thresholds[i][0]), thresholds[i][1]);
    }
    assert_string_equal(cd_fin_flaw_name(CD_FLAW_QUORUM), "QUORUM");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_all_sizes),
        cmocka_unit_test(without_a_group),
        cmocka_unit_test(single_bits),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(malformed),
        cmocka_unit_test(claims),
        cmocka_unit_test(quorum),
        cmocka_unit_test(of_others),
        cmocka_unit_test(sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
