/* Catching up, message by message: with honest peers, liars, silent ones, across restarts; what is kept, and for how
 * long. */
#include "consensus/test/bootstrap_rig.h"

static void nobody_is_asked(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    r.may_begin = false;
    open_own(&r);
    go(&r, 1);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_WAITS);
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_EUNSUPPORTED);
    r.may_begin = true;
    tick(&r, 100);
    assert_int_equal(r.synced, 1);
    assert_int_equal(r.running, 1);
    assert_int_equal(r.normal, 1);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
    r.t->wanted = 9;
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_OK); /* the other engine decides */
    assert_int_equal(r.t->blocks.last_height, 1);
    end(&r);
}

static void with_honest_peers(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (u32 i = 0; i < 5; i++) {
        add_peer(&r, HONEST, 4500);
    }
    open_own(&r);
    go(&r, 3);
    is_where_peer_is(&r, 0);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
    assert_int_equal(r.e->stats.accepted, 4500);
    assert_int_equal(r.state, CD_VM_NORMAL);
    assert_int_equal(r.synced, 1);
    is_clean(&r);
    end(&r);
}

static void waits_for_three_quarters(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (u32 i = 0; i < 5; i++) {
        add_peer(&r, HONEST, 3);
    }
    open_own(&r);
    cd_bootstrap_disconnected(r.e, &r.peers[0].id);
    cd_bootstrap_disconnected(r.e, &r.peers[1].id);
    go(&r, 1);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_WAITS); /* three of five are connected, which is too few */
    cd_bootstrap_connected(r.e, &r.peers[1].id);
    go(&r, 1);
    is_where_peer_is(&r, 0);
    end(&r);
}

/* Seven peers: two lie, one is silent, one has no blocks, one gives nonsense. */
static void liars(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    static const manner all[] = {LIES, LIES, SILENT, EMPTY, GARBAGE, HONEST, HONEST};
    for (u32 i = 0; i < CD_COUNT(all); i++) {
        add_peer(&r, all[i], 2500);
    }
    open_own(&r);
    go(&r, 20);
    is_where_peer_is(&r, 5);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_RUNS);
    is_clean(&r);
    end(&r);
}

/* Without a majority nothing is believed, however long. */
static void nobody_agrees(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (u32 i = 0; i < 6; i++) {
        add_peer(&r, i < 3 ? HONEST : SILENT, 10);
    }
    open_own(&r);
    go(&r, 30);
    assert_int_equal(r.t->blocks.last_height, 0);
    assert_int_equal(r.running, 0);
    r.peers[3].manner = HONEST;
    go(&r, 3);
    is_where_peer_is(&r, 0);
    end(&r);
}

/* The peers that are less far decide what most have accepted; the rest comes in another round. */
static void different_heights(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (u32 i = 0; i < 5; i++) {
        add_peer(&r, HONEST, 100 + i);
    }
    open_own(&r);
    go(&r, 2);
    assert_int_equal(r.t->blocks.last_height, 102); /* three of five peers have it */
    end(&r);
}

/* Blocks that came meanwhile are fetched in further rounds, as long as they are many. */
static void moving_frontier(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, HONEST, 1000);
    open_own(&r);
    tick(&r, 100);
    while (step_of(&r) != CD_BOOTSTRAP_EXECUTES) {
        assert_true(pump_one(&r));
    }
    grow(r.peers[0].t, r.peers[0].kv, 300, 100000);
    while (pump_one(&r)) {
    }
    assert_int_equal(r.t->blocks.last_height, 1000); /* the first pass ends where it was going to */
    go(&r, 2);
    is_where_peer_is(&r, 0); /* a second pass has fetched the blocks above 1000 */
    end(&r);
}

/* While other chains of the network have not caught up, the chain looks for new blocks again. */
static void waits_for_others(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, HONEST, 10);
    r.may_run = false;
    open_own(&r);
    go(&r, 2);
    assert_true(r.synced != 0);
    assert_int_equal(r.running, 0);
    grow(r.peers[0].t, r.peers[0].kv, 5, 100000);
    go(&r, 11);
    is_where_peer_is(&r, 0);
    assert_int_equal(r.normal, 0);
    r.may_run = true;
    go(&r, 1);
    assert_int_equal(r.running, 1);
    end(&r);
}

/* A process that ends at any moment goes on from what it has. */
static void restarts(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, HONEST, 9000);
    open_own(&r);
    u32 ends = 0;
    while (r.running == 0) {
        tick(&r, 100);
        for (u32 i = 0; i < 3 + 200 * ends && pump_one(&r); i++) {
        }
        tick(&r, 100);
        if (r.running == 0) {
            u64 left = cd_bootstrap_progress_get(r.e).to_execute;
            close_own(&r);
            open_own(&r);
            assert_true(left == 0 || cd_fetched_total(&bootstrap_of(r.e)->blocks) != 0);
            assert_true(++ends < 200);
        }
    }
    assert_true(ends > 5);
    is_where_peer_is(&r, 0);
    assert_true(r.peers[0].gets < 40); /* each block was asked for once or twice, not once a start */
    is_clean(&r);
    end(&r);
}

/* A gap that an earlier start has left is closed, although the frontier has gone on. */
static void a_gap_is_closed(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, ONE_BY_ONE, 50);
    open_own(&r);
    tick(&r, 100);
    for (u32 i = 0; i < 12; i++) {
        assert_true(pump_one(&r));
    }
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_FETCHES);
    close_own(&r);
    grow(r.peers[0].t, r.peers[0].kv, 20, 100000);
    open_own(&r);
    assert_int_equal(bootstrap_of(r.e)->blocks.cnt, 1);
    go(&r, 3);
    is_where_peer_is(&r, 0);
    is_clean(&r);
    end(&r);
}

/* Blocks of another network that lie in the store are dropped. */
static void spoilt_blocks(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, HONEST, 30);
    open_own(&r);
    u8 junk[TOY_SIZE];
    toy_enc(junk, &(cd_hash32){.b = {5}}, 12, 77);
    assert_true(cd_fetched_put(&bootstrap_of(r.e)->blocks, 12, cd_bytes_of(junk, TOY_SIZE)));
    assert_int_equal(cd_fetched_write(&bootstrap_of(r.e)->blocks, CD_KV_NOSYNC, NULL), CD_OK);
    go(&r, 1);
    assert_int_equal(r.running, 0);
    go(&r, 5);
    is_where_peer_is(&r, 0);
    is_clean(&r);
    end(&r);
}

static void a_block_that_does_not_verify(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, HONEST, 30);
    r.fails_at = 20;
    open_own(&r);
    go(&r, 5);
    assert_int_equal(r.t->blocks.last_height, 19);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_WAITS);
    is_clean(&r);
    r.fails_at = 0;
    go(&r, 12);
    is_where_peer_is(&r, 0);
    end(&r);
}

static void a_store_that_fails(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, HONEST, 30);
    open_own(&r);
    r.door_fails = true;
    go(&r, 3);
    assert_int_equal(step_of(&r), CD_BOOTSTRAP_HALTED);
    r.door_fails = false;
    go(&r, 20);
    assert_int_equal(r.t->blocks.last_height, 0);
    end(&r);
}

/* Answers that nobody asked for, of whatever kind, change nothing. */
static void unasked(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    add_peer(&r, HONEST, 5);
    add_peer(&r, HONEST, 5);
    add_peer(&r, LIES, 5);
    open_own(&r);
    const cd_node_id stranger = {.b = {77}};
    const cd_hash32 id = r.peers[2].t->blocks.last;
    const cd_bytes block = cd_bytes_str("nothing");
    tick(&r, 100);
    for (u32 i = 0; i < 40; i++) {
        for (u32 request = 0; request < 6; request++) {
            cd_bootstrap_frontier(r.e, &stranger, request, &id);
            cd_bootstrap_accepted(r.e, &stranger, request, &id, 1);
            cd_bootstrap_ancestors(r.e, &stranger, request, &block, 1, r.now_ns);
            cd_bootstrap_failed(r.e, &stranger, request);
            /* The answer of a beacon counts once. */
            cd_bootstrap_accepted(r.e, &r.peers[2].id, request, &id, 1);
        }
        (void)pump_one(&r);
    }
    go(&r, 3);
    is_where_peer_is(&r, 0);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_asked),
        cmocka_unit_test(with_honest_peers),
        cmocka_unit_test(waits_for_three_quarters),
        cmocka_unit_test(liars),
        cmocka_unit_test(nobody_agrees),
        cmocka_unit_test(different_heights),
        cmocka_unit_test(moving_frontier),
        cmocka_unit_test(waits_for_others),
        cmocka_unit_test(restarts),
        cmocka_unit_test(a_gap_is_closed),
        cmocka_unit_test(spoilt_blocks),
        cmocka_unit_test(a_block_that_does_not_verify),
        cmocka_unit_test(a_store_that_fails),
        cmocka_unit_test(unasked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
