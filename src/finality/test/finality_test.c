/* A network that makes blocks final, with those missing and lying that it is made to stand. Every certificate that a
 * node takes is verified once more, and no commitment is answered twice (network.h). [spec:finality#1] */
#include "finality/test/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void all_well(void **state)
{
    (void)state;
    network *n = net_new(5, 1, true);
    net_accept(n, 1, true);
    net_run(n, 40);
    assert_int_equal(net_count(n, 1, CD_FIN_BLS) + net_count(n, 1, CD_FIN_BOTH), 5);
    net_run(n, 2000);
    assert_int_equal(net_count(n, 1, CD_FIN_BOTH), 5);
    /* three seconds lie between sessions; the newest block then stands for all before it */
    for (u64 h = 2; h <= 6; h++) {
        net_accept(n, h, true);
        net_run(n, 200);
    }
    net_run(n, 4000);
    for (u64 h = 2; h <= 5; h++) {
        assert_int_equal(net_count(n, h, CD_FIN_BLS) + net_count(n, h, CD_FIN_BOTH), 5);
    }
    assert_int_equal(net_count(n, 6, CD_FIN_BOTH), 5);
    cd_finality_stats stats;
    cd_finality_stats_get(n->node[0].f, &stats);
    assert_int_equal(stats.bls, 6);
    assert_int_equal(stats.failed, 0);
    assert_int_equal(stats.refused, 0);
    net_free(n);
}

/* Fewer than three, or no key: everybody signs by ML-DSA. */
static void without_a_key(void **state)
{
    (void)state;
    for (u32 cnt = 1; cnt <= 5; cnt += 1) {
        network *n = net_new(cnt, 2 + cnt, false);
        net_accept(n, 1, true);
        net_run(n, 1500);
        assert_int_equal(net_count(n, 1, CD_FIN_MLDSA), cnt);
        net_accept(n, 2, true);
        net_run(n, 4500);
        assert_int_equal(net_count(n, 2, CD_FIN_MLDSA), cnt);
        net_free(n);
    }
}

/* A node that counts threshold signatures alone: it stamps for the others and takes no certificate of type 3, not even
 * from them. */
static void threshold_alone(void **state)
{
    (void)state;
    for (u32 with_group = 0; with_group < 2; with_group++) {
        network *n = net_new(5, 90 + with_group, with_group != 0);
        cd_buf cert = {0};
        net_kill(n, 2);
        n->strict = 1 + 2;
        net_revive(n, 2);
        net_accept(n, 1, true);
        net_run(n, 12000);
        assert_int_equal(net_count(n, 1, with_group != 0 ? CD_FIN_BOTH : CD_FIN_MLDSA), with_group != 0 ? 5 : 4);
        assert_int_equal(n->node[2].heights[1], 1 + (with_group != 0 ? CD_FIN_BOTH : CD_FIN_BLS));
        assert_int_equal(cd_finality_last(n->node[2].kv, &cert, NULL, &n->w->chain, false),
                         with_group != 0 ? CD_OK : CD_ENOENT);
        cd_buf_fini(&cert);
        net_free(n);
    }
}

static int no_second_round(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)from;
    (void)to;
    (void)bytes;
    return says->kind == CD_FIN_SAYS_ROUND2;
}

/* Who wants a threshold signature finds the newest one behind certificates of the other kind. */
static void threshold_is_found(void **state)
{
    (void)state;
    network *n = net_new(7, 33, true);
    cd_buf cert = {0};
    u64 height = 0;
    net_accept(n, 1, true);
    net_run(n, 15000);
    assert_int_equal(net_count(n, 1, CD_FIN_BOTH), 7);
    n->filter = no_second_round;
    for (u64 h = 2; h <= 3; h++) {
        net_accept(n, h, true);
        net_run(n, 70000);
        assert_int_equal(net_count(n, h, CD_FIN_MLDSA), 7);
    }
    assert_int_equal(cd_finality_last(n->node[0].kv, &cert, &height, &n->w->chain, false), CD_OK);
    assert_int_equal(height, 3);
    assert_int_equal(cd_finality_last(n->node[0].kv, &cert, &height, &n->w->chain, true), CD_OK);
    assert_int_equal(height, 1);
    assert_int_equal(cert.p[2], CD_FIN_BOTH);
    cd_buf_fini(&cert);
    net_free(n);
}

/* One of five, two of seven: the others are a quorum, and enough parties only of five. */
static void some_are_dead(void **state)
{
    (void)state;
    for (u32 i = 0; i < 2; i++) {
        u32 cnt = i == 0 ? 5 : 7;
        network *n = net_new(cnt, 20 + cnt, true);
        for (u32 k = 0; k <= i; k++) {
            net_kill(n, k * 3);
        }
        net_accept(n, 1, true);
        net_run(n, 15000);
        assert_int_equal(net_count(n, 1, CD_FIN_BOTH), cnt - 1 - i);
        net_free(n);
    }
    network *n = net_new(4, 27, true); /* three of four are the threshold; two are no quorum */
    net_kill(n, 0);
    net_kill(n, 1);
    net_accept(n, 1, true);
    net_run(n, 70000);
    assert_int_equal(net_count(n, 1, CD_FIN_BLS) + net_count(n, 1, CD_FIN_MLDSA) + net_count(n, 1, CD_FIN_BOTH), 0);
    net_free(n);
}

/* --- lies of node 0 --- */

static int forged_shares(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    if (from == 0 && (says->kind == CD_FIN_SAYS_SHARE || says->kind == CD_FIN_SAYS_STAMP)) {
        bytes->p[bytes->n - 40] ^= 1;
    }
    return 0;
}

static int wrong_tags(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    if (from == 0 && says->kind == CD_FIN_SAYS_ROUND1) {
        for (usize i = 0; i < says->tags.n; i += CD_FIN_TAG_BYTES) {
            bytes->p[bytes->n - 1 - i] ^= 1;
        }
    }
    return 0;
}

static int other_to_each(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    if (from == 0 && says->kind == CD_FIN_SAYS_ROUND1) {
        bytes->p[3 + 32 + 48 + 20 + 40] ^= (u8)to; /* a number in D */
    }
    return 0;
}

static int bad_answers(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    if (from == 0 && says->kind == CD_FIN_SAYS_ROUND2) {
        bytes->p[bytes->n - 8] ^= 1;
    }
    return 0;
}

static int no_answers(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    (void)bytes;
    return from == 0 && (says->kind == CD_FIN_SAYS_ROUND2 || says->kind == CD_FIN_SAYS_CERT);
}

/* Two of seven are dead, and the tags of one more are wrong: too few parties, but two thirds of the weight. */
static void type_3_of_seven(void **state)
{
    (void)state;
    network *n = net_new(7, 31, true);
    net_run(n, 100);
    net_kill(n, 3);
    net_kill(n, 5);
    n->filter = wrong_tags;
    net_accept(n, 1, true);
    net_run(n, 12000);
    assert_int_equal(net_count(n, 1, CD_FIN_MLDSA), 5);
    net_free(n);
}

static int no_shares(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    (void)bytes;
    return from == 0 && says->kind != CD_FIN_SAYS_KEY;
}

static void one_lies(void **state)
{
    (void)state;
    net_filter *const filters[] = {forged_shares, wrong_tags, other_to_each, bad_answers, no_answers, no_shares};
    for (usize i = 0; i < CD_COUNT(filters); i++) {
        network *n = net_new(5, 40 + i, true);
        net_run(n, 100); /* keys are announced */
        n->filter = filters[i];
        net_accept(n, 1, true);
        net_run(n, 20000);
        u32 both = net_count(n, 1, CD_FIN_BOTH);
        u32 mldsa = net_count(n, 1, CD_FIN_MLDSA);
        if (both + mldsa < 4) {
            fail_msg("lie %zu: %u by lattice, %u by ML-DSA", i, both, mldsa);
        }
        net_free(n);
    }
}

/* What was said in one session is said again in others, by and to all. */
static cd_buf recorded[64];
static u32 recorded_from[64];
static u32 recorded_cnt;

static int record(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)n;
    (void)to;
    if (says->kind != CD_FIN_SAYS_KEY && recorded_cnt < CD_COUNT(recorded)) {
        cd_buf_put(&recorded[recorded_cnt], cd_buf_bytes(bytes));
        recorded_from[recorded_cnt++] = from;
    }
    return 0;
}

static void replayed(void **state)
{
    (void)state;
    network *n = net_new(4, 60, true);
    net_run(n, 100);
    n->filter = record;
    net_accept(n, 1, true);
    net_run(n, 3500);
    assert_int_equal(net_count(n, 1, CD_FIN_BOTH), 4);
    net_accept(n, 2, true);
    for (u32 i = 0; i < recorded_cnt; i++) {
        for (u32 to = 0; to < n->n; to++) {
            net_push(n, recorded_from[i], to, cd_buf_bytes(&recorded[i]), NULL);
            net_push(n, (recorded_from[i] + 1) % 4, to, cd_buf_bytes(&recorded[i]), NULL);
        }
    }
    n->filter = NULL;
    net_run(n, 6000);
    assert_int_equal(net_count(n, 2, CD_FIN_BOTH), 4);
    for (u32 i = 0; i < recorded_cnt; i++) {
        cd_buf_fini(&recorded[i]);
    }
    net_free(n);
}

/* --- crashes --- */

static u32 kill_at;
static u32 seen;

static int kill_one(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says)
{
    (void)bytes;
    if ((says->kind == CD_FIN_SAYS_ROUND1 || says->kind == CD_FIN_SAYS_ROUND2) && ++seen == kill_at && to != from) {
        net_kill(n, from); /* the one whose message is on its way, which is lost with it */
        net_revive(n, from);
        const cd_fin_msg m = net_block(1);
        CD_ASSERT(cd_finality_accepted(n->node[from].f, &n->w->chain, 1, &m, true, n->now) == CD_OK);
        return 1;
    }
    return 0;
}

/* At every message of a session its sender is killed, and starts again. */
static void killed_at_every_step(void **state)
{
    (void)state;
    const char *full = getenv("CANDELA_TEST_FULL");
    u32 step = full != NULL && full[0] == '1' ? 1 : 4;
    for (kill_at = 1; kill_at <= 24; kill_at += step) {
        network *n = net_new(4, 80 + kill_at, true);
        net_run(n, 100);
        seen = 0;
        n->filter = kill_one;
        net_accept(n, 1, true);
        net_run(n, 20000);
        if (net_count(n, 1, CD_FIN_BOTH) + net_count(n, 1, CD_FIN_MLDSA) < 4) {
            fail_msg("killed at message %u: not final everywhere", kill_at);
        }
        assert_true(n->answers <= n->commitments);
        net_free(n);
    }
}

/* Who was away asks for what it missed. */
static void catches_up(void **state)
{
    (void)state;
    network *n = net_new(5, 110, true);
    net_run(n, 100);
    net_kill(n, 4);
    for (u64 h = 1; h <= 3; h++) {
        net_accept(n, h, true);
        net_run(n, 8000);
    }
    assert_int_equal(net_count(n, 3, CD_FIN_BOTH), 4);
    net_revive(n, 4);
    for (u64 h = 1; h <= 3; h++) {
        const cd_fin_msg m = net_block(h);
        assert_int_equal(cd_finality_accepted(n->node[4].f, &n->w->chain, h, &m, false, n->now), CD_OK);
    }
    net_run(n, 20000);
    assert_int_equal(n->node[4].final_height, 3);
    cd_buf cert = {0};
    u64 height = 0;
    const cd_fin_msg m = net_block(3);
    assert_int_equal(cd_finality_cert(n->node[4].kv, &cert, &height, &n->w->chain, &m.block), CD_OK);
    assert_int_equal(height, 3);
    assert_int_equal(cd_finality_last(n->node[4].kv, &cert, &height, &n->w->chain, false), CD_OK);
    assert_int_equal(cd_finality_cert_at(n->node[4].kv, &cert, &n->w->chain, 99), CD_ENOENT);
    cd_buf_fini(&cert);
    net_free(n);
}

/* --- an epoch begins in the middle --- */

static void epoch_changes(void **state)
{
    (void)state;
    network *n = net_new(5, 120, true);
    net_run(n, 100);
    net_accept(n, 1, true);
    net_run(n, 20); /* a session has begun */
    for (u32 i = 0; i < 5; i++) {
        cd_vm_validator fewer[NET_MAX];
        memcpy(fewer, n->validators, sizeof fewer);
        fewer[1].weight = 101;
        assert_int_equal(cd_finality_pblock(n->node[i].f, 1, 1600, fewer, 5), CD_OK);
        assert_int_equal(cd_finality_epochs(n->node[i].f)->cnt, 2);
    }
    net_run(n, 3000);
    assert_int_equal(net_count(n, 1, CD_FIN_BOTH), 5);
    net_accept(n, 2, true); /* its P-Chain height is of the first epoch still */
    net_run(n, 6000);
    assert_int_equal(net_count(n, 2, CD_FIN_BOTH), 5);
    const cd_fin_msg unknown = {.block = {{7}}, .height = 0};
    cd_fin_epochs_fini(cd_finality_epochs(n->node[0].f));
    assert_int_equal(cd_finality_accepted(n->node[0].f, &n->w->chain, 9, &unknown, true, n->now), CD_ENOENT);
    net_free(n);
}

/* --- anything --- */

/* Bytes that make no sense, of a peer and of strangers, take nothing along and keep nobody from being final. */
static void noise(void **state)
{
    (void)state;
    network *n = net_new(4, 130, false);
    cd_rng rng = cd_rng_seeded(5);
    const cd_node_id stranger = {{1, 2, 3}};
    net_run(n, 100);
    for (u32 i = 0; i < 3000; i++) {
        u8 bytes[300];
        cd_rng_fill(&rng, bytes, sizeof bytes);
        cd_put_be16(bytes, 0);
        bytes[2] = (u8)(i % 9);
        memcpy(bytes + 3, n->w->chain.b, 32);
        cd_bytes message = cd_bytes_of(bytes, i % 3 == 0 ? 199 : sizeof bytes);
        cd_finality_hear(n->node[1].f, i % 2 == 0 ? &stranger : &n->w->validators[0].node, message, n->now);
    }
    net_accept(n, 1, true);
    net_run(n, 5000);
    assert_true(net_count(n, 1, CD_FIN_MLDSA) >= 3);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_well),           cmocka_unit_test(without_a_key), cmocka_unit_test(threshold_alone),
        cmocka_unit_test(threshold_is_found), cmocka_unit_test(some_are_dead), cmocka_unit_test(type_3_of_seven),
        cmocka_unit_test(one_lies),           cmocka_unit_test(replayed),      cmocka_unit_test(killed_at_every_step),
        cmocka_unit_test(catches_up),         cmocka_unit_test(epoch_changes), cmocka_unit_test(noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
