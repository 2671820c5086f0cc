/* Blocks become final in networks with liars, losses, the dead and changes of the set; what is certified is true. */
#include "finality/test/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static net n; /* large */

static void start(u32 cnt, u64 seed)
{
    net_init(&n, cnt, seed);
    net_pblock(&n, 0, 1000);
    net_run(&n, 200); /* announcements */
}

/* cnt blocks, a second apart, accepted in turn. */
static void blocks(u64 first, u64 cnt, u64 pheight)
{
    for (u64 h = first; h < first + cnt; h++) {
        cd_fin_block b = net_block(h, pheight, 3000 + h, 3000 + h - 1);
        net_accept(&n, &b);
        net_run(&n, 1000);
    }
}

static void expect_all(u64 bls, u64 final)
{
    for (u32 i = 0; i < n.cnt; i++) {
        if (n.v[i].role == NET_HONEST) {
            assert_int_equal(n.v[i].told_bls, bls);
            assert_int_equal(n.v[i].told_final, final);
        }
    }
    assert_int_equal(n.bad_certs, 0);
}

static void test_all_honest(void **state)
{
    (void)state;
    start(5, 1);
    blocks(1, 9, 0); /* times 3001 to 3009: checkpoints are 3003, 3006, 3009 */
    expect_all(9, 3);
    cd_fin_mark last;
    cd_buf cert = {0};
    assert_int_equal(cd_fin_store_last(n.v[2].store, &last, &net_chain, false), CD_OK);
    assert_int_equal(last.height, 9);
    assert_int_equal(last.type, CD_FIN_MLDSA);
    assert_int_equal(cd_fin_store_get(n.v[2].store, &cert, &net_chain, &last.block), CD_OK);
    assert_true(cert.n > 4 * CD_FIN_MLDSA_BYTES);
    cd_buf_fini(&cert);
    cd_fin_counts counts;
    cd_fin_counts_get(n.v[2].fin, &counts);
    assert_int_equal(counts.open, 0);
    assert_int_equal(counts.refused, 0);
    net_fini(&n);
}

/* A third of the weight is dead or lies: everything becomes final all the same. */
static void test_a_third_lies(void **state)
{
    (void)state;
    static const net_role roles[] = {NET_DEAD, NET_FORGER, NET_SPITTER};
    for (usize k = 0; k < CD_COUNT(roles); k++) {
        net_init(&n, 7, 2 + k);
        n.v[1].role = roles[k];
        n.v[4].role = roles[(k + 1) % CD_COUNT(roles)];
        net_pblock(&n, 0, 1000);
        net_run(&n, 200);
        blocks(1, 6, 0);
        expect_all(6, 2);
        net_fini(&n);
    }
}

/* More than a third: nothing is certified, and nothing is kept for ever. */
static void test_too_many_lie(void **state)
{
    (void)state;
    net_init(&n, 5, 9);
    n.v[0].role = NET_FORGER;
    n.v[3].role = NET_FORGER;
    net_pblock(&n, 0, 1000);
    net_run(&n, 200);
    blocks(1, 3, 0);
    expect_all(0, 0);
    net_run(&n, 61000);
    for (u32 i = 0; i < n.cnt; i++) {
        cd_fin_counts counts;
        cd_fin_counts_get(n.v[i].fin, &counts);
        assert_int_equal(counts.open, 0);
        assert_int_equal(counts.given_up, 3);
    }
    net_fini(&n);
}

/* A network that loses a third of all messages comes to an end by saying things again. */
static void test_losses(void **state)
{
    (void)state;
    start(7, 11);
    n.loss = 33;
    blocks(1, 6, 0);
    net_run(&n, 30000);
    expect_all(6, 2);
    net_fini(&n);
}

/* Who was away when it was said is given the certificate when it asks by its own share. */
static void test_late_node(void **state)
{
    (void)state;
    start(5, 12);
    cd_fin_block b = net_block(3, 0, 3003, 3002);
    for (u32 i = 0; i < 4; i++) {
        cd_fin_accepted(n.v[i].fin, &b, n.now_ns);
    }
    net_run(&n, 1000);
    assert_int_equal(n.v[0].told_final, 1);
    assert_int_equal(n.v[4].told_final, 0);
    net_run(&n, 5000);
    cd_fin_accepted(n.v[4].fin, &b, n.now_ns);
    net_run(&n, 500);
    assert_int_equal(n.v[4].told_final, 1);
    assert_int_equal(n.bad_certs, 0);
    net_fini(&n);
}

/* A set that changes after ten minutes is the next epoch's; blocks that refer to heights before it keep their own. */
static void test_epochs(void **state)
{
    (void)state;
    start(5, 13);
    n.left_at[2] = 3;
    net_pblock(&n, 1, 1001);
    net_pblock(&n, 2, 1599);
    net_pblock(&n, 3, 1599); /* too early */
    cd_fin_era era;
    assert_int_equal(cd_fin_epochs_at(n.v[0].epochs, &era, 3), CD_OK);
    assert_int_equal(era.number, 0);
    net_pblock(&n, 4, 1600);
    assert_int_equal(cd_fin_epochs_at(n.v[0].epochs, &era, 4), CD_OK);
    assert_int_equal(era.number, 1);
    assert_int_equal(era.set->from, 4);
    assert_int_equal(era.set->cnt, 4);
    assert_int_equal(cd_fin_epochs_at(n.v[0].epochs, &era, 3), CD_OK);
    assert_int_equal(era.number, 0);
    assert_int_equal(era.set->until, 4);
    assert_int_equal(era.set->cnt, 5);
    blocks(1, 3, 3);
    blocks(4, 3, 4);
    for (u32 i = 0; i < n.cnt; i++) {
        assert_int_equal(n.v[i].told_final, 2); /* also for who has left: it hears it */
    }
    assert_int_equal(n.bad_certs, 0);
    /* The next one ten minutes later at the earliest, and only when something is other. */
    net_pblock(&n, 5, 9000);
    assert_int_equal(cd_fin_epochs_at(n.v[0].epochs, &era, 5), CD_OK);
    assert_int_equal(era.number, 1);
    net_fini(&n);
}

/* A node that is killed and starts again has its epochs, keys and certificates, and goes on signing. */
static void test_restart(void **state)
{
    (void)state;
    start(5, 14);
    blocks(1, 3, 0);
    for (u32 i = 0; i < 2; i++) {
        net_close(&n.v[i]);
        net_open(&n.v[i]);
        assert_int_equal(cd_fin_epochs_next(n.v[i].epochs), 1);
        assert_int_equal(cd_fin_epochs_keys(n.v[i].epochs), 5);
    }
    net_run(&n, 100);
    blocks(4, 3, 0);
    expect_all(6, 2);
    net_fini(&n);
}

/* Without a stamp of their own, nodes still come to certificates by BLS; those are not final. */
static void test_no_stamps(void **state)
{
    (void)state;
    net_init(&n, 4, 15);
    for (u32 i = 0; i < n.cnt; i++) {
        net_close(&n.v[i]);
        n.v[i].has_mldsa = i == 0;
        net_open(&n.v[i]);
    }
    net_pblock(&n, 0, 1000);
    net_run(&n, 100);
    blocks(1, 3, 0);
    expect_all(3, 0);
    net_fini(&n);
}

/* A chain that stands still has its last block made final, whichever second it has. */
static void test_tail(void **state)
{
    (void)state;
    start(5, 17);
    n.v[3].role = NET_DEAD;
    blocks(1, 5, 0); /* 3001 to 3005 */
    expect_all(5, 1);
    net_run(&n, 5000);
    expect_all(5, 2);
    cd_fin_mark last;
    assert_int_equal(cd_fin_store_last(n.v[0].store, &last, &net_chain, false), CD_OK);
    assert_int_equal(last.height, 5);
    net_fini(&n);
}

/* One validator cannot fill the memory of others with words for blocks that never come. */
static void test_flood(void **state)
{
    (void)state;
    start(4, 16);
    u8 sig[CD_BLS_SIG_LEN] = {0};
    for (u64 h = 1; h <= 20000; h++) {
        cd_fin_block b = net_block(1000 + h, 0, 5000, 4999);
        const cd_fin_message m = {
            .kind = CD_FIN_SHARE, .chain = net_chain, .m = b.m, .node = n.v[1].id, .sig = cd_bytes_of(sig, sizeof sig)};
        cd_buf out = {0};
        cd_fin_message_put(&out, &m);
        (void)cd_fin_hear(n.v[0].fin, &n.v[1].id, cd_buf_bytes(&out), n.now_ns);
        /* Nobody speaks for others. */
        assert_false(cd_fin_hear(n.v[0].fin, &n.v[2].id, cd_buf_bytes(&out), n.now_ns));
        cd_buf_fini(&out);
    }
    cd_fin_counts counts;
    cd_fin_counts_get(n.v[0].fin, &counts);
    assert_true(counts.early <= CD_FIN_EARLY_MAX);
    blocks(1, 3, 0);
    expect_all(3, 1);
    net_fini(&n);
}

/* Old certificates go, one in many stays. */
static void test_store(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_fin_store *s = cd_fin_store_new(kv, cd_bytes_str("S"));
    cd_kv_stats stats;
    cd_buf out = {0};
    cd_fin_mark m = {.type = CD_FIN_MLDSA};
    for (u64 h = 1; h <= 4000; h++) {
        m.height = h;
        cd_put_be64(m.block.b, h);
        assert_int_equal(cd_fin_store_put(s, &net_chain, &m, cd_bytes_str("certificate"), NULL), CD_OK);
    }
    assert_int_equal(cd_kv_stats_get(kv, &stats), CD_OK);
    /* 256 of the newest and every 1200th before: a certificate, a height, a number each; two marks. */
    assert_int_equal(stats.keys, 3 * (CD_FIN_STORE_NEWEST + 4) + 2);
    assert_int_equal(cd_fin_store_get(s, &out, &net_chain, &m.block), CD_OK);
    assert_int_equal(cd_fin_store_at(s, &m, &net_chain, 2), CD_ENOENT);
    assert_int_equal(cd_fin_store_at(s, &m, &net_chain, 1201), CD_OK);
    assert_int_equal(cd_fin_store_at(s, &m, &net_chain, 3999), CD_OK);
    cd_buf_fini(&out);
    cd_fin_store_free(s);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_honest), cmocka_unit_test(test_a_third_lies), cmocka_unit_test(test_too_many_lie),
        cmocka_unit_test(test_losses),     cmocka_unit_test(test_late_node),    cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_restart),    cmocka_unit_test(test_no_stamps),    cmocka_unit_test(test_flood),
        cmocka_unit_test(test_store),      cmocka_unit_test(test_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
