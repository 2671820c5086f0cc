/* A link between a router without a network and engines over a toy VM, on a stepped executor with a small queue. The
 * router takes the only validator for itself, so that whatever the engines say to it comes back as its own words. */
#include "base/mem/mem.h"
#include "base/table/list.h"
#include "consensus/test/toy_staking.h"
#include "node/peers/link.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { QUEUE = 8, BIG = 1 << 20 };

typedef struct rig {
    cd_loop *loop;
    cd_loop_task stop;
    cd_clock_virtual clock;
    cd_p2p_router *router;
    cd_p2p_owner owner;
    cd_link *link;
    cd_kv *kv;
    cd_kv *part;
    toy *t;
    cd_vm_ops ops;
    toy_validators validators;
    cd_node_id alice; /* the validator */
    cd_rng rng;
    cd_engine *engine;
    cd_engine *bootstrap;
    cd_executor *ex;
    u32 wakes, used;
    bool has_caught_up;
} rig;

static const cd_hash32 chain = {{7}};
static const cd_node_id bob = {{8}};
static const cd_node_id self = {{9}};

static bool no_validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *s, const cd_node_id *node)
{
    (void)ctx;
    (void)s;
    (void)node;
    *out = (cd_p2p_validator){0};
    return false;
}

static u64 no_weight(void *ctx, const cd_hash32 *s)
{
    (void)ctx;
    (void)s;
    return 0;
}

static void on_wake(void *ctx)
{
    ((rig *)ctx)->wakes++;
}

static void on_used(void *ctx, const cd_node_id *node, u64 ns)
{
    (void)node;
    (void)ns;
    ((rig *)ctx)->used++;
}

static void on_stop(cd_loop_task *t)
{
    cd_loop_stop(cd_list_of(t, rig, stop)->loop);
}

/* Runs the tasks that were posted to the loop until now. */
static void round_of_loop(rig *r)
{
    r->stop.fn = on_stop;
    cd_loop_post(r->loop, &r->stop);
    cd_loop_run(r->loop);
}

static cd_err on_open(void *ctx, cd_vm **out, cd_errinfo *why)
{
    rig *r = ctx;
    (void)why;
    *out = &r->t->vm;
    cd_link_vm(r->link, *out);
    return CD_OK;
}

static bool yes(void *ctx)
{
    (void)ctx;
    return true;
}

static void on_synced(void *ctx)
{
    (void)ctx;
}

static void on_running(void *ctx)
{
    ((rig *)ctx)->has_caught_up = true;
}

static void make_engines(rig *r, bool catches_up)
{
    const cd_commit_door door = {.store = r->kv, .chain = r->kv};
    const cd_snowman_cfg snowman = {
        .door = door,
        .params = {.k = 1,
                   .alpha_preference = 1,
                   .alpha_confidence = 1,
                   .beta = 2,
                   .concurrent_repolls = 1,
                   .optimal_processing = 2},
        .net = cd_link_net(r->link),
        .validators = &r->validators.ops,
        .self = self,
        .rng = &r->rng,
        .name = "T",
    };
    const cd_bootstrap_cfg bootstrap = {
        .door = door,
        .kv = r->part,
        .net = cd_link_asks(r->link),
        .has_beacons = true,
        .beacons = &r->alice,
        .beacon_cnt = 1,
        .self = self,
        .rng = &r->rng,
        .may_begin = yes,
        .may_run = yes,
        .synced = on_synced,
        .running = on_running,
        .ctx = r,
        .name = "T",
    };
    assert_int_equal(cd_snowman_new(&r->engine, &snowman, NULL), CD_OK);
    if (catches_up) {
        cd_bootstrap_cfg cfg = bootstrap;
        cfg.engine = r->engine;
        assert_int_equal(cd_bootstrap_new(&r->bootstrap, &cfg, NULL), CD_OK);
    }
}

static void begin(rig *r, bool catches_up)
{
    *r = (rig){.kv = cd_kv_mem_open(), .rng = cd_rng_seeded(3)};
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    cd_clock_virtual_init(&r->clock, 0);
    toy_validators_init(&r->validators, 1);
    r->alice = r->validators.v[0].node_id;
    r->part = cd_kv_prefix_open(r->kv, cd_bytes_str("F"));
    r->t = toy_of(toy_open(r->kv, TOY_IS_GOOD));
    const cd_p2p_router_cfg router = {.own = r->alice,
                                      .clock = &r->clock.clock,
                                      .seed = 1,
                                      .staking = {.validator = no_validator, .weight = no_weight}};
    r->router = cd_p2p_router_new(&router);
    r->owner = cd_p2p_router_owner(r->router);
    const cd_link_cfg link = {.loop = r->loop,
                              .router = r->router,
                              .wake = on_wake,
                              .used = on_used,
                              .ctx = r,
                              .clock = &r->clock.clock,
                              .chain = chain,
                              .name = "T"};
    r->link = cd_link_new(&link);
    make_engines(r, catches_up);
    r->ex = cd_executor_new(&(cd_executor_cfg){.name = "toy",
                                               .clock = &r->clock.clock,
                                               .engine = catches_up ? r->bootstrap : r->engine,
                                               .is_stepped = true,
                                               .queue_max = QUEUE,
                                               .open = on_open,
                                               .ctx = r});
    cd_link_bind(r->link, r->engine, r->bootstrap, r->ex);
    assert_int_equal(cd_executor_start(r->ex, NULL), CD_OK);
    cd_link_join(r->link);
    round_of_loop(r);
}

static void end(rig *r)
{
    cd_link_leave(r->link);
    cd_executor_free(r->ex);
    round_of_loop(r);
    cd_bootstrap_free(r->bootstrap);
    cd_snowman_free(r->engine);
    cd_link_free(r->link);
    cd_p2p_router_free(r->router);
    cd_loop_free(r->loop);
    cd_kv_close(r->part);
    cd_kv_close(r->kv);
}

static void step(rig *r)
{
    (void)cd_executor_step(r->ex);
    round_of_loop(r);
    (void)cd_p2p_router_tick(r->router);
}

static void connect(rig *r, const cd_node_id *node)
{
    const cd_p2p_peer_info peer = {.node = *node};
    r->owner.connected(r->owner.ctx, &peer);
}

/* A message from a node. */
static void come(rig *r, const cd_node_id *from, u32 op, cd_p2p_chain_msg m)
{
    m.chain_id = cd_bytes_of(chain.b, 32);
    m.deadline = m.deadline == 0 ? 5 * CD_NS_PER_SEC : m.deadline;
    cd_p2p_in *in = cd_p2p_in_own(from, &(cd_p2p_msg){.op = op, .body = &m}, cd_clock_mono_ns(&r->clock.clock));
    assert_non_null(in);
    r->owner.message(r->owner.ctx, in);
}

static void pull(rig *r, const cd_node_id *from, u32 id)
{
    const cd_hash32 block = {.b = {(u8)id}};
    come(r, from, CD_P2P_PULL_QUERY, (cd_p2p_chain_msg){.request_id = id, .data = cd_bytes_of(block.b, 32)});
}

static usize awaited(const rig *r)
{
    return cd_p2p_requests_cnt(cd_p2p_router_requests(r->router));
}

/* --- tests --- */

/* Questions, votes and their way there and back. */
static void a_block_is_decided(void **state)
{
    (void)state;
    rig r;
    begin(&r, false);
    connect(&r, &r.alice);
    step(&r);
    r.t->wanted = 7;
    cd_vm_host *host = cd_executor_host(r.ex);
    host->notify(host, CD_VM_WANTS_BLOCK);
    for (u32 i = 0; i < 20 && r.t->blocks.last_height == 0; i++) {
        step(&r);
    }
    assert_int_equal(r.t->blocks.last_height, 1);
    assert_true(r.used != 0 && r.wakes != 0);
    end(&r);
}

/* Requests are dropped when the queue is full; a peer that comes is told when there is room, before what follows. */
static void a_full_queue(void **state)
{
    (void)state;
    rig r;
    begin(&r, false);
    connect(&r, &bob);
    step(&r);
    r.used = 0; /* greeting bob took its time, too */
    for (u32 i = 1; i <= 2 * QUEUE; i++) {
        pull(&r, &bob, i);
    }
    connect(&r, &r.alice); /* the news is held */
    assert_int_equal(r.used, 0);
    step(&r);
    assert_int_equal(r.used, QUEUE);
    assert_int_equal(cd_snowman_load_get(r.engine).fetches, QUEUE); /* each named a block that is not here */
    for (u32 i = 0; i < 4; i++) { /* alice comes, and nobody could be asked for those blocks */
        cd_link_tick(r.link);
        step(&r);
    }
    assert_int_equal(cd_snowman_load_get(r.engine).fetches, 0);
    pull(&r, &r.alice, 90);
    (void)cd_executor_step(r.ex);
    assert_int_equal(cd_snowman_load_get(r.engine).fetches, 1);
    end(&r);
}

/* While failures wait for room, so does everything else that must be heard, in its order. */
static void news_that_are_held(void **state)
{
    (void)state;
    rig r;
    begin(&r, false);
    connect(&r, &bob);
    step(&r);
    for (u32 i = 1; i <= QUEUE; i++) {
        pull(&r, &bob, i);
    }
    connect(&r, &r.alice); /* there is no room: these three wait */
    r.owner.disconnected(r.owner.ctx, &r.alice);
    connect(&r, &r.alice);
    (void)cd_executor_step(r.ex); /* room; but nobody has sent them */
    pull(&r, &r.alice, 77);
    (void)cd_executor_step(r.ex);
    assert_int_equal(cd_snowman_load_get(r.engine).fetches, QUEUE); /* the engine does not know alice yet */
    cd_link_tick(r.link);
    pull(&r, &r.alice, 78);
    (void)cd_executor_step(r.ex);
    assert_true(cd_snowman_load_get(r.engine).fetches > QUEUE);
    end(&r);
}

/* An answer that makes no sense counts as none: the poll ends, and another one begins. */
static void malformed_chits(void **state)
{
    (void)state;
    rig r;
    begin(&r, false);
    connect(&r, &r.alice);
    step(&r);
    r.t->wanted = 7;
    cd_vm_host *host = cd_executor_host(r.ex);
    host->notify(host, CD_VM_WANTS_BLOCK);
    (void)cd_executor_step(r.ex);
    round_of_loop(&r);
    assert_int_equal(awaited(&r), 1);
    assert_int_equal(cd_snowman_load_get(r.engine).polls, 1);
    u32 wakes = r.wakes;
    const cd_hash32 id = {.b = {1}};
    come(&r, &r.alice, CD_P2P_CHITS,
         (cd_p2p_chain_msg){.request_id = 1,
                            .preferred_id = cd_bytes_of(id.b, 31),
                            .preferred_id_at_height = cd_bytes_of(id.b, 32),
                            .accepted_id = cd_bytes_of(id.b, 32)});
    assert_int_equal(awaited(&r), 0);
    (void)cd_executor_step(r.ex);
    assert_int_equal(cd_snowman_load_get(r.engine).polls, 1); /* the next one */
    round_of_loop(&r);
    assert_int_equal(r.wakes, wakes + 1);
    assert_int_equal(awaited(&r), 1);
    assert_int_equal(r.t->blocks.last_height, 0);
    end(&r);
}

/* More than half of the connected nodes must be beyond the chain's height, and by more than a little. */
static void behind(void **state)
{
    (void)state;
    rig r;
    begin(&r, false);
    connect(&r, &r.alice);
    step(&r);
    assert_int_equal(cd_link_behind(r.link), 0);
    const u64 heights[] = {5, 100};
    for (u32 i = 0; i < CD_COUNT(heights); i++) {
        cd_p2p_chain_msg ask = {.request_id = 50 + i, .data = cd_bytes_of(chain.b, 32)};
        cd_p2p_router_ask(r.router, &chain, &r.alice, CD_P2P_PULL_QUERY, &ask);
        come(&r, &r.alice, CD_P2P_CHITS,
             (cd_p2p_chain_msg){.request_id = 50 + i,
                                .height = heights[i],
                                .preferred_id = cd_bytes_of(chain.b, 32),
                                .preferred_id_at_height = cd_bytes_of(chain.b, 32),
                                .accepted_id = cd_bytes_of(chain.b, 32)});
        assert_int_equal(cd_link_behind(r.link), i == 0 ? 0 : 100);
    }
    connect(&r, &bob); /* nobody knows where it is: one of two */
    assert_int_equal(cd_link_behind(r.link), 0);
    r.owner.disconnected(r.owner.ctx, &bob);
    assert_int_equal(cd_link_behind(r.link), 100);
    end(&r);
}

/* --- big blocks --- */

static cd_vm_block big_block;
static u8 big_bytes[BIG];

static cd_err get_big(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    (void)vm;
    big_block = (cd_vm_block){.id = *id, .bytes = cd_bytes_of(big_bytes, BIG), .status = CD_VM_ACCEPTED};
    *out = &big_block;
    return CD_OK;
}

static void release_big(cd_vm *vm, cd_vm_block *b)
{
    if (b != &big_block) {
        toy_release(vm, b);
    }
}

/* No more than 16 MiB of blocks wait for the loop. */
static void blocks_on_their_way(void **state)
{
    (void)state;
    enum { ASKED = 20, ROOM = 16 };
    rig r;
    begin(&r, false);
    connect(&r, &r.alice);
    step(&r);
    r.ops = *r.t->vm.ops;
    r.ops.get = get_big;
    r.ops.release = release_big;
    r.t->vm.ops = &r.ops;
    for (u32 times = 0; times < 2; times++) { /* what was said makes room again */
        for (u32 i = 0; i < ASKED; i++) {
            cd_p2p_chain_msg ask = {.request_id = 100 + i, .data = cd_bytes_of(chain.b, 32)};
            cd_p2p_router_ask(r.router, &chain, &r.alice, CD_P2P_GET, &ask);
            (void)cd_p2p_router_tick(r.router);
            (void)cd_executor_step(r.ex); /* no round of the loop in between */
        }
        assert_int_equal(awaited(&r), ASKED);
        round_of_loop(&r);
        for (u32 i = 0; i < 3; i++) {
            (void)cd_p2p_router_tick(r.router);
            (void)cd_executor_step(r.ex);
        }
        assert_int_equal(awaited(&r), ASKED - ROOM);
        cd_clock_virtual_advance(&r.clock, 20 * CD_NS_PER_SEC);
        (void)cd_p2p_router_tick(r.router);
        step(&r);
        assert_int_equal(awaited(&r), 0);
    }
    end(&r);
}

/* --- catching up --- */

static void through_catching_up(void **state)
{
    (void)state;
    rig r;
    begin(&r, true);
    connect(&r, &r.alice);
    cd_bootstrap_progress p;
    cd_link_progress(r.link, &p);
    assert_int_equal(p.step, CD_BOOTSTRAP_WAITS);
    for (u32 i = 0; i < 20 && !r.has_caught_up; i++) {
        cd_link_tick(r.link);
        step(&r);
        cd_clock_virtual_advance(&r.clock, 100 * CD_NS_PER_MS);
    }
    assert_true(r.has_caught_up);
    cd_link_progress(r.link, &p);
    assert_int_equal(p.step, CD_BOOTSTRAP_RUNS);
    end(&r);
}

/* Nodes that catch up are answered before the chain has caught up itself, and afterwards. */
static void serving(void **state)
{
    (void)state;
    static const u32 asks[] = {CD_P2P_GET_ACCEPTED_FRONTIER, CD_P2P_GET_ACCEPTED, CD_P2P_GET_ANCESTORS, CD_P2P_GET,
                               CD_P2P_GET_ACCEPTED_STATE_SUMMARY};
    rig r;
    begin(&r, true);
    const cd_hash32 genesis = r.t->blocks.last;
    cd_bytes ids[] = {cd_bytes_of(genesis.b, 32)};
    for (u32 times = 0; times < 2; times++) {
        for (u32 i = 0; i < CD_COUNT(asks); i++) {
            cd_p2p_chain_msg ask = {.request_id = 500 + i, .data = ids[0], .engine_type = 2};
            if (asks[i] == CD_P2P_GET_ACCEPTED) {
                ask.list = (cd_proto_list){.v = ids, .cnt = 1, .cap = 1};
            }
            cd_p2p_router_ask(r.router, &chain, &r.alice, asks[i], &ask);
            assert_int_equal(awaited(&r), 1);
            for (u32 k = 0; k < 3; k++) {
                (void)cd_p2p_router_tick(r.router);
                (void)cd_executor_step(r.ex);
                round_of_loop(&r);
            }
            assert_int_equal(awaited(&r), 0);
        }
        connect(&r, &r.alice);
        for (u32 i = 0; i < 20 && !r.has_caught_up; i++) {
            cd_link_tick(r.link);
            step(&r);
            cd_clock_virtual_advance(&r.clock, 100 * CD_NS_PER_MS);
        }
        assert_true(r.has_caught_up);
        cd_clock_virtual_advance(&r.clock, 20 * CD_NS_PER_SEC); /* nothing that the engine has asked is left */
        for (u32 i = 0; i < 4; i++) {
            step(&r);
        }
    }
    end(&r);
}

/* A node may not keep the engine gathering ancestors; malformed questions and those to another engine cost nothing. */
static void many_questions_for_ancestors(void **state)
{
    (void)state;
    rig r;
    begin(&r, true);
    connect(&r, &bob);
    step(&r);
    r.used = 0;
    const cd_bytes id = cd_bytes_of(chain.b, 32);
    come(&r, &bob, CD_P2P_GET_ANCESTORS, (cd_p2p_chain_msg){.request_id = 1, .data = cd_bytes_of(chain.b, 31)});
    come(&r, &bob, CD_P2P_GET_ANCESTORS, (cd_p2p_chain_msg){.request_id = 2, .data = id, .engine_type = 1});
    step(&r);
    assert_int_equal(r.used, 0);
    for (u32 times = 0; times < 3; times++) {
        for (u32 i = 0; i < 6; i++) {
            come(&r, &bob, CD_P2P_GET_ANCESTORS, (cd_p2p_chain_msg){.request_id = i, .data = id, .engine_type = 2});
        }
        step(&r);
    }
    assert_int_equal(r.used, 18);
    cd_executor_free(r.ex); /* a queue with room for more than one node may fill */
    r.ex = cd_executor_new(&(cd_executor_cfg){.name = "toy",
                                              .clock = &r.clock.clock,
                                              .engine = r.bootstrap,
                                              .is_stepped = true,
                                              .queue_max = 64,
                                              .open = on_open,
                                              .ctx = &r});
    r.t = toy_of(toy_open(r.kv, TOY_IS_GOOD));
    cd_link_bind(r.link, r.engine, r.bootstrap, r.ex);
    assert_int_equal(cd_executor_start(r.ex, NULL), CD_OK);
    for (u32 i = 0; i < 40; i++) {
        come(&r, &bob, CD_P2P_GET_ANCESTORS, (cd_p2p_chain_msg){.request_id = i, .data = id, .engine_type = 2});
    }
    step(&r);
    assert_int_equal(r.used, 18 + 10);
    end(&r);
}

/* Messages that wait when a chain closes are released. */
static void leaving(void **state)
{
    (void)state;
    rig r;
    begin(&r, false);
    for (u32 i = 1; i <= QUEUE; i++) {
        pull(&r, &bob, i);
    }
    connect(&r, &bob);
    r.owner.disconnected(r.owner.ctx, &bob);
    cd_link_leave(r.link);
    pull(&r, &bob, 1);
    cd_link_tick(r.link);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_decided),
        cmocka_unit_test(a_full_queue),
        cmocka_unit_test(news_that_are_held),
        cmocka_unit_test(malformed_chits),
        cmocka_unit_test(behind),
        cmocka_unit_test(blocks_on_their_way),
        cmocka_unit_test(through_catching_up),
        cmocka_unit_test(serving),
        cmocka_unit_test(many_questions_for_ancestors),
        cmocka_unit_test(leaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
