/* The engine alone, message by message: who is heard, what is answered, fetched, bubbled and bounded, oracle options,
 * and a store that fails. */
#include "base/mem/mem.h"
#include "consensus/snow/snowman_priv.h"
#include "consensus/test/toy_staking.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PEERS = 4 };

/* What the engine has said last of each kind, and how often. */
typedef struct said {
    cd_snow_net net; /* first */
    u32 pushes, pulls, chits_cnt, gets, puts;
    u32 request; /* number of the newest question */
    cd_node_id to[PEERS];
    u32 to_cnt;
    cd_hash32 id;
    cd_snow_chits chits;
    u8 block[TOY_SIZE];
} said;

static said *said_of(const cd_snow_net *net)
{
    return (said *)(void *)(uintptr_t)net;
}

static void keep_to(said *s, const cd_node_id *to, u32 cnt, u32 request)
{
    assert_true(cnt <= PEERS);
    memcpy(s->to, to, cnt * sizeof *to);
    s->to_cnt = cnt;
    s->request = request;
}

static void push(const cd_snow_net *net, const cd_node_id *to, u32 cnt, u32 request, cd_bytes block, u64 height)
{
    said *s = said_of(net);
    (void)height;
    keep_to(s, to, cnt, request);
    memcpy(s->block, block.p, TOY_SIZE);
    s->pushes++;
}

static void pull(const cd_snow_net *net, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *id, u64 height)
{
    said *s = said_of(net);
    (void)height;
    keep_to(s, to, cnt, request);
    s->id = *id;
    s->pulls++;
}

static void chits(const cd_snow_net *net, const cd_node_id *to, u32 request, const cd_snow_chits *c)
{
    (void)to;
    (void)request;
    said_of(net)->chits = *c;
    said_of(net)->chits_cnt++;
}

static void get(const cd_snow_net *net, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    keep_to(said_of(net), to, 1, request);
    said_of(net)->id = *id;
    said_of(net)->gets++;
}

static void put(const cd_snow_net *net, const cd_node_id *to, u32 request, cd_bytes block)
{
    (void)to;
    (void)request;
    memcpy(said_of(net)->block, block.p, TOY_SIZE);
    said_of(net)->puts++;
}

/* A block whose number is a multiple of 100 has two options, with the next two numbers. */
static cd_err oracle_options(cd_vm *vm, cd_vm_block *out[2], cd_vm_block *b, cd_errinfo *why)
{
    u64 number = cd_be64(b->bytes.p + 40);
    if (number % 100 != 0) {
        return CD_ENOENT;
    }
    for (u64 i = 0; i < 2; i++) {
        u8 bytes[TOY_SIZE];
        toy_enc(bytes, &b->id, b->height + 1, number + 1 + i);
        CD_TRY(toy_parse(vm, &out[i], cd_bytes_of(bytes, sizeof bytes), why));
    }
    return CD_OK;
}

typedef struct rig {
    said s;
    cd_kv *kv;
    toy *t;
    cd_engine *e;
    cd_rng rng;
    toy_validators validators;
    cd_vm_ops ops;
    bool door_fails;
} rig;

static cd_err also(void *ctx, cd_kv_batch *batch, const cd_vm_block *b, cd_errinfo *why)
{
    (void)batch;
    (void)b;
    return ((rig *)ctx)->door_fails ? cd_fail(why, CD_ENOSPC, "no space") : CD_OK;
}

/* Opens an engine that asks at most two peers, which must agree in two polls in a row. */
static void open_rig(rig *r)
{
    *r = (rig){.s.net = {.push_query = push, .pull_query = pull, .chits = chits, .get = get, .put = put}};
    r->kv = cd_kv_mem_open();
    r->t = toy_of(toy_open(r->kv, TOY_IS_GOOD));
    r->ops = toy_ops;
    r->ops.options = oracle_options;
    r->t->vm.ops = &r->ops;
    r->rng = cd_rng_seeded(4);
    toy_validators_init(&r->validators, PEERS);
    cd_snowman_cfg cfg = {
        .door = {.store = r->kv, .chain = r->kv, .also = also, .ctx = r},
        .params = {.k = 2,
                   .alpha_preference = 2,
                   .alpha_confidence = 2,
                   .beta = 2,
                   .concurrent_repolls = 1,
                   .optimal_processing = 2},
        .net = &r->s.net,
        .validators = &r->validators.ops,
        .self = {.b = {9}},
        .rng = &r->rng,
        .name = "T",
    };
    assert_int_equal(cd_snowman_new(&r->e, &cfg, NULL), CD_OK);
    assert_int_equal(r->e->ops->start(r->e, &r->t->vm, NULL), CD_OK);
    for (u32 i = 0; i < PEERS; i++) {
        cd_snowman_connected(r->e, &r->validators.v[i].node_id);
    }
}

static void close_rig(rig *r)
{
    r->e->ops->stop(r->e);
    cd_snowman_free(r->e);
    r->t->vm.ops->close(&r->t->vm);
    cd_kv_close(r->kv);
}

static const cd_node_id *peer_no(const rig *r, u32 i)
{
    return &r->validators.v[i].node_id;
}

static cd_hash32 enc(u8 out[TOY_SIZE], const cd_hash32 *parent, u64 height, u64 number)
{
    cd_hash32 id;
    toy_enc(out, parent, height, number);
    cd_sha256(&id, cd_bytes_of(out, TOY_SIZE));
    return id;
}

/* All peers that were asked last vote for one block. */
static void all_vote(rig *r, const cd_hash32 *id)
{
    const said s = r->s;
    const cd_snow_chits c = {.preferred = *id, .preferred_at_height = *id, .accepted = r->t->blocks.last};
    for (u32 i = 0; i < s.to_cnt; i++) {
        cd_snowman_chits(r->e, &s.to[i], s.request, &c);
    }
}

static void build(rig *r, u64 number)
{
    r->t->wanted = number;
    r->e->ops->notify(r->e, CD_VM_WANTS_BLOCK);
    assert_true(r->e->ops->step(r->e));
    assert_false(r->e->ops->step(r->e));
}

static void test_decision(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    assert_int_equal(r.e->ops->produce(r.e, NULL), CD_EUNSUPPORTED);
    build(&r, 7);
    assert_int_equal(r.s.pushes, 1);
    const cd_hash32 id = *cd_snow_tree_preference(snowman_of(r.e)->tree);
    /* A vote for an unknown block resets the confidence; two polls in a row for the block decide. */
    all_vote(&r, &id);
    assert_int_equal(r.t->blocks.last_height, 0);
    assert_int_equal(r.s.pulls, 1); /* the peers are asked again */
    const said s = r.s;
    for (u32 i = 0; i < s.to_cnt; i++) {
        cd_snowman_query_failed(r.e, &s.to[i], s.request);
        cd_snowman_query_failed(r.e, &s.to[i], s.request);
    }
    assert_int_equal(r.s.pulls, 2);
    all_vote(&r, &id);
    assert_int_equal(r.t->blocks.last_height, 0);
    all_vote(&r, &id);
    assert_int_equal(r.t->blocks.last_height, 1);
    assert_int_equal(r.s.pulls, 3); /* nothing is undecided: nobody is asked */
    assert_int_equal(r.e->stats.accepted, 1);
    assert_int_equal(r.e->stats.polls_ok, 3);
    assert_int_equal(r.e->stats.polls_failed, 1);
    assert_int_equal(r.e->stats.accepted_bytes, TOY_SIZE);
    assert_int_equal(r.e->stats.verified_max, 1);
    close_rig(&r);
}

static void test_questions(void **state)
{
    (void)state;
    rig r;
    u8 a[TOY_SIZE];
    u8 b[TOY_SIZE];
    u8 c[TOY_SIZE];
    const cd_node_id stranger = {.b = {77}};
    open_rig(&r);
    const cd_hash32 genesis = r.t->blocks.last;
    const cd_hash32 id_a = enc(a, &genesis, 1, 5);
    const cd_hash32 id_b = enc(b, &id_a, 2, 7);
    const cd_hash32 id_c = enc(c, &id_b, 3, 9);
    cd_snowman_push_query(r.e, &stranger, 1, cd_bytes_of(a, TOY_SIZE), 1);
    assert_int_equal(r.s.chits_cnt, 0);
    /* The answer comes before the block is looked at; its missing parents are fetched one by one. */
    cd_snowman_push_query(r.e, peer_no(&r, 0), 1, cd_bytes_of(c, TOY_SIZE), 1);
    assert_int_equal(r.s.chits_cnt, 1);
    assert_memory_equal(r.s.chits.preferred.b, genesis.b, 32);
    assert_int_equal(r.s.gets, 1);
    assert_memory_equal(r.s.id.b, id_b.b, 32);
    cd_snowman_put(r.e, peer_no(&r, 1), r.s.request, cd_bytes_of(b, TOY_SIZE)); /* this peer was not asked for it */
    assert_int_equal(r.s.gets, 1);
    cd_snowman_put(r.e, peer_no(&r, 0), r.s.request, cd_bytes_of(b, TOY_SIZE));
    assert_int_equal(r.s.gets, 2);
    assert_memory_equal(r.s.id.b, id_a.b, 32);
    assert_int_equal(cd_snowman_load_get(r.e).pending, 2);
    cd_snowman_put(r.e, peer_no(&r, 0), r.s.request, cd_bytes_of(a, TOY_SIZE));
    assert_int_equal(cd_snowman_load_get(r.e).pending, 0);
    assert_int_equal(cd_snowman_load_get(r.e).undecided, 3);
    cd_snowman_pull_query(r.e, peer_no(&r, 2), 5, &id_c, 2);
    assert_memory_equal(r.s.chits.preferred.b, id_c.b, 32);
    assert_memory_equal(r.s.chits.preferred_at_height.b, id_b.b, 32);
    assert_memory_equal(r.s.chits.accepted.b, genesis.b, 32);
    cd_snowman_pull_query(r.e, peer_no(&r, 2), 6, &id_c, 0);
    assert_memory_equal(r.s.chits.preferred_at_height.b, genesis.b, 32);
    cd_snowman_pull_query(r.e, peer_no(&r, 2), 7, &id_c, 9);
    assert_memory_equal(r.s.chits.preferred_at_height.b, id_c.b, 32);
    cd_snowman_get(r.e, peer_no(&r, 2), 8, &id_b);
    assert_int_equal(r.s.puts, 1);
    assert_memory_equal(r.s.block, b, TOY_SIZE);
    cd_snowman_get(r.e, peer_no(&r, 2), 9, &(cd_hash32){.b = {3}});
    assert_int_equal(r.s.puts, 1);
    close_rig(&r);
}

/* A block that does not verify is not issued; votes for it, or for its descendants, count for its issued ancestor. */
static void test_bubbling(void **state)
{
    (void)state;
    rig r;
    u8 bad[TOY_SIZE];
    u8 on_it[TOY_SIZE];
    open_rig(&r);
    build(&r, 7);
    const cd_hash32 good = *cd_snow_tree_preference(snowman_of(r.e)->tree);
    const cd_hash32 id_bad = enc(bad, &good, 2, 0);
    const cd_hash32 id_on = enc(on_it, &id_bad, 3, 5);
    const said asked = r.s;
    cd_snowman_push_query(r.e, peer_no(&r, 0), 1, cd_bytes_of(bad, TOY_SIZE), 1);
    cd_snowman_push_query(r.e, peer_no(&r, 0), 2, cd_bytes_of(on_it, TOY_SIZE), 1);
    assert_memory_equal(r.s.id.b, id_bad.b, 32);
    cd_snowman_put(r.e, peer_no(&r, 0), r.s.request, cd_bytes_of(bad, TOY_SIZE));
    assert_int_equal(cd_snowman_load_get(r.e).undecided, 1);
    assert_int_equal(cd_snowman_load_get(r.e).pending, 0);
    r.s = asked;
    for (u32 round = 0; round < 2; round++) {
        const said s = r.s;
        const cd_snow_chits c = {.preferred = id_on, .preferred_at_height = id_on, .accepted = r.t->blocks.last};
        for (u32 i = 0; i < s.to_cnt; i++) {
            cd_snowman_chits(r.e, &s.to[i], s.request, &c);
            cd_snowman_get_failed(r.e, &s.to[i], r.s.request); /* it is asked for once more, in vain */
        }
    }
    assert_int_equal(r.t->blocks.last_height, 1);
    assert_memory_equal(r.t->blocks.last.b, good.b, 32);
    close_rig(&r);
}

static void test_options(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    build(&r, 100);
    assert_int_equal(cd_snowman_load_get(r.e).undecided, 3);
    assert_int_equal(r.s.pushes, 2); /* the oracle, and the option that is preferred */
    assert_int_equal(cd_be64(r.s.block + 40), 101);
    const cd_hash32 first = *cd_snow_tree_preference(snowman_of(r.e)->tree);
    assert_int_equal(r.t->blocks.last_height, 0);
    for (u32 i = 0; i < 8 && r.t->blocks.last_height < 2; i++) {
        const u32 before = r.s.request;
        cd_snowman_tick(r.e);
        for (u32 q = 1; q <= before + 1; q++) {
            for (u32 p = 0; p < PEERS; p++) {
                const cd_snow_chits c = {.preferred = first, .preferred_at_height = first, .accepted = first};
                cd_snowman_chits(r.e, peer_no(&r, p), q, &c);
            }
        }
    }
    assert_int_equal(r.t->blocks.last_height, 2);
    assert_memory_equal(r.t->blocks.last.b, first.b, 32);
    assert_int_equal(r.e->stats.rejected, 1);
    close_rig(&r);
}

/* When the store fails, nothing is said any more; a new start finds the chain where it was. */
static void test_halt(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    build(&r, 7);
    const cd_hash32 id = *cd_snow_tree_preference(snowman_of(r.e)->tree);
    r.door_fails = true;
    all_vote(&r, &id);
    all_vote(&r, &id);
    assert_true(cd_snowman_load_get(r.e).is_halted);
    assert_int_equal(r.t->blocks.last_height, 0);
    const u32 answered = r.s.chits_cnt;
    cd_snowman_pull_query(r.e, peer_no(&r, 0), 1, &id, 1);
    cd_snowman_tick(r.e);
    assert_int_equal(r.s.chits_cnt, answered);
    r.t->wanted = 9;
    r.e->ops->notify(r.e, CD_VM_WANTS_BLOCK);
    assert_false(r.e->ops->step(r.e));
    close_rig(&r);
}

/* One peer shows blocks whose parents are unknown: only so many of its blocks are kept, the lowest ones. */
static void test_bounds(void **state)
{
    (void)state;
    rig r;
    u8 block[TOY_SIZE];
    open_rig(&r);
    for (u64 i = 0; i < 3000; i++) {
        const cd_hash32 nothing = {.b = {1, (u8)i, (u8)(i >> 8)}};
        (void)enc(block, &nothing, 5000 - i, 5);
        cd_snowman_push_query(r.e, peer_no(&r, 0), 1, cd_bytes_of(block, TOY_SIZE), 1);
    }
    cd_snowman_load load = cd_snowman_load_get(r.e);
    assert_int_equal(load.pending, CD_SNOWMAN_PENDING_PEER_MAX);
    assert_int_equal(load.fetches, CD_SNOWMAN_FETCHES_PEER_MAX);
    assert_int_equal(load.pending_bytes, CD_SNOWMAN_PENDING_PEER_MAX * TOY_SIZE);
    /* Blocks whose parents nobody can be asked for go with the next tick; all of a peer's go with the peer. */
    cd_snowman_tick(r.e);
    load = cd_snowman_load_get(r.e);
    assert_true(load.pending <= CD_SNOWMAN_FETCHES_PEER_MAX);
    cd_snowman_disconnected(r.e, peer_no(&r, 0));
    load = cd_snowman_load_get(r.e);
    assert_int_equal(load.pending + load.fetches + load.pending_bytes, 0);
    /* The peers that are left have too little stake to be asked. */
    cd_snowman_disconnected(r.e, peer_no(&r, 1));
    cd_snowman_disconnected(r.e, peer_no(&r, 2));
    build(&r, 7);
    assert_int_equal(r.s.pushes, 0);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decision), cmocka_unit_test(test_questions), cmocka_unit_test(test_bubbling),
        cmocka_unit_test(test_options),  cmocka_unit_test(test_halt),      cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
