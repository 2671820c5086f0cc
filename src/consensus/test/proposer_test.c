/* The proposer wrapper over toys: the contract, turns on a virtual clock, what a peer can lie about, several proposals
 * of one block, options, summaries, what is repaired at the start. */
#include "consensus/proposer/proposer_priv.h"
#include "consensus/test/toy_staking.h"
#include "vm/test/contract.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { START = 1700000000, NODES = 5 };

/* One node: its ID, and a wrapper over a toy. */
typedef struct node {
    cd_vm_host host; /* first */
    cd_kv *kv;
    cd_kv *inner_kv;
    cd_kv *own_kv;
    toy_staking staking;
    cd_clock_virtual *clock;
    toy_validators *validators; /* NULL: staking is off */
    proposer *p;
    u32 told; /* how often the engine was told that a block is wanted */
    u64 delay_s;
} node;

static void count(cd_vm_host *host, cd_vm_event event)
{
    assert_int_equal(event, CD_VM_WANTS_BLOCK);
    ((node *)(void *)host)->told++;
}

/* --- a toy with oracles, and with summaries --- */

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

static bool sync_on(cd_vm *vm)
{
    (void)vm;
    return true;
}

static cd_err sync_none(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    (void)vm;
    (void)out;
    (void)a;
    return CD_ENOENT;
}

/* A summary of a toy is its height. */
static cd_err sync_parse(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    (void)vm;
    if (bytes.n != 8) {
        return cd_fail(why, CD_EFORMAT, "a summary has 8 bytes");
    }
    *out = (cd_vm_summary){.height = cd_be64(bytes.p), .bytes = cd_arena_dup(a, bytes)};
    cd_sha256(&out->id, bytes);
    return CD_OK;
}

static cd_err sync_at(cd_vm *vm, cd_vm_summary *out, cd_arena *a, u64 height)
{
    u8 be[8];
    cd_put_be64(be, height);
    return height <= toy_of(vm)->blocks.last_height ? sync_parse(vm, out, a, cd_bytes_of(be, 8), NULL) : CD_ENOENT;
}

static cd_err sync_last(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    return sync_at(vm, out, a, toy_of(vm)->blocks.last_height);
}

static cd_err sync_accept(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why)
{
    (void)why;
    toy_of(vm)->now = s->height; /* the height to sync to */
    *mode = CD_VM_SYNC_STATIC;
    return CD_OK;
}

static const cd_vm_sync_ops sync_ops = {
    .is_enabled = sync_on,
    .ongoing = sync_none,
    .last = sync_last,
    .at = sync_at,
    .parse = sync_parse,
    .accept = sync_accept,
};

static cd_err toy_factory(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    static cd_vm_ops ops;
    (void)why;
    ops = toy_ops;
    ops.options = oracle_options;
    ops.sync = &sync_ops;
    *out = toy_open(ctx->kv, TOY_IS_GOOD);
    (*out)->ops = &ops;
    return CD_OK;
}

/* --- nodes --- */

static cd_err try_open(node *n, cd_errinfo *why)
{
    cd_vm *vm = NULL;
    n->host = (cd_vm_host){.notify = count};
    const cd_proposer_cfg cfg = {
        .inner = toy_factory,
        .kv = n->own_kv,
        .staking = n->validators == NULL ? NULL : &n->staking.staking,
        .delay_s = n->delay_s,
    };
    const cd_vm_ctx ctx = {
        .kv = n->inner_kv,
        .host = &n->host,
        .clock = &n->clock->clock,
        .validators = n->validators == NULL ? NULL : &n->validators->ops,
        .chain_id = {.b = {7, 7, 7}},
        .node_id = toy_node_id(n->staking.staking.cert),
        .name = "T",
    };
    cd_err e = cd_proposer_open(&vm, &cfg, &ctx, why);
    n->p = (proposer *)(void *)vm;
    return e == CD_OK ? vm->ops->set_state(vm, CD_VM_NORMAL, why) : e;
}

static void open_on(node *n)
{
    cd_errinfo why = {0};
    if (try_open(n, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
}

static void node_open(node *n, u64 number, cd_clock_virtual *clock, toy_validators *validators)
{
    *n = (node){.clock = clock, .validators = validators, .delay_s = CD_PROPOSER_DELAY_S};
    toy_staking_init(&n->staking, number);
    n->kv = cd_kv_mem_open();
    n->inner_kv = cd_kv_prefix_open(n->kv, cd_bytes_str("v"));
    n->own_kv = cd_kv_prefix_open(n->kv, cd_bytes_str("w"));
    open_on(n);
}

static void node_close(node *n)
{
    if (n->p != NULL) {
        n->p->vm.ops->close(&n->p->vm);
    }
    cd_kv_close(n->own_kv);
    cd_kv_close(n->inner_kv);
    cd_kv_close(n->kv);
}

static void node_reopen(node *n)
{
    n->p->vm.ops->close(&n->p->vm);
    open_on(n);
}

static toy *toy_under(node *n)
{
    return (toy *)(void *)n->p->inner;
}

/* Does what an engine does when it is told: builds, verifies, prefers. */
static cd_vm_block *make(node *n, u64 number)
{
    cd_vm_block *b = NULL;
    cd_errinfo why = {0};
    const cd_vm_block_ctx ctx = {0};
    toy_under(n)->wanted = number;
    if (n->p->vm.ops->build(&n->p->vm, &b, &ctx, &why) != CD_OK) {
        fail_msg("build: %s", why.msg);
    }
    if (n->p->vm.ops->verify(&n->p->vm, b, &ctx, &why) != CD_OK) {
        fail_msg("verify: %s", why.msg);
    }
    return b;
}

static cd_err take(node *n, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    const cd_vm_block_ctx ctx = {0};
    CD_TRY(n->p->vm.ops->parse(&n->p->vm, out, bytes, why));
    return n->p->vm.ops->verify(&n->p->vm, *out, &ctx, why);
}

static void drop(node *n, cd_vm_block *b)
{
    n->p->vm.ops->release(&n->p->vm, b);
}

/* Accepts a block through a door like the engine's: the batch is for the VM's part at first. */
static void accept_on(node *n, cd_vm_block *b)
{
    cd_kv_batch batch = {0};
    cd_errinfo why = {0};
    cd_kv_batch_for(&batch, n->inner_kv);
    assert_int_equal(n->p->vm.ops->accept(&n->p->vm, b, &batch, &why), CD_OK);
    cd_kv_batch_widen(&batch);
    assert_int_equal(cd_kv_commit(n->kv, &batch, CD_KV_SYNC, NULL), CD_OK);
    assert_int_equal(n->p->vm.ops->accepted(&n->p->vm, b, &why), CD_OK);
    cd_kv_batch_fini(&batch);
}

static void prefer(node *n, const cd_vm_block *b)
{
    assert_int_equal(n->p->vm.ops->set_preference(&n->p->vm, &b->id), CD_OK);
}

/* --- the contract --- */

typedef struct contract_ctx {
    cd_clock_virtual clock;
    cd_vm_host host;
    cd_kv *parts[32]; /* the wrappers' parts of the store */
    u32 part_cnt;
    u64 next;
} contract_ctx;

static cd_vm *open_for_contract(void *arg, cd_kv *kv)
{
    contract_ctx *c = arg;
    cd_vm *vm = NULL;
    assert_true(c->part_cnt < CD_COUNT(c->parts));
    cd_kv *own = cd_kv_prefix_open(kv, cd_bytes_str("w"));
    c->parts[c->part_cnt++] = own;
    const cd_proposer_cfg cfg = {.inner = toy_factory, .kv = own, .delay_s = CD_PROPOSER_DELAY_S};
    const cd_vm_ctx ctx = {.kv = kv, .host = &c->host, .clock = &c->clock.clock};
    assert_int_equal(cd_proposer_open(&vm, &cfg, &ctx, NULL), CD_OK);
    return vm;
}

static void want(void *arg, cd_vm *vm)
{
    contract_ctx *c = arg;
    toy_of(((proposer *)(void *)vm)->inner)->wanted = ++c->next * 2 + 1;
    cd_clock_virtual_advance(&c->clock, CD_NS_PER_SEC);
}

static void test_contract(void **state)
{
    (void)state;
    contract_ctx c = {.host = {.notify = count}};
    cd_clock_virtual_init(&c.clock, START * CD_NS_PER_SEC);
    const char *broken = contract_check(&(contract_rig){.open = open_for_contract, .want = want, .ctx = &c});
    if (broken != NULL) {
        fail_msg("does not hold: %s", broken);
    }
    while (c.part_cnt != 0) {
        cd_kv_close(c.parts[--c.part_cnt]);
    }
}

/* --- turns --- */

/* Finds the node whose turn comes first, and moves the clock there: each node wakes when it asked for it. */
static u32 first_to_be_told(node *nodes, cd_clock_virtual *clock)
{
    for (u32 rounds = 0; rounds < 10000; rounds++) {
        u64 next = UINT64_MAX;
        for (u32 i = 0; i < NODES; i++) {
            u32 told = nodes[i].told;
            u64 at = nodes[i].p->vm.ops->wake(&nodes[i].p->vm);
            if (nodes[i].told != told) {
                return i;
            }
            next = cd_min_u64(next, at);
        }
        assert_true(next != UINT64_MAX && next > cd_clock_mono_ns(&clock->clock));
        cd_clock_virtual_advance(clock, next - cd_clock_mono_ns(&clock->clock));
    }
    fail_msg("nobody's turn comes");
    return 0;
}

/* All nodes but one want a block all the time; the one that is never woken loses its slots. */
static void test_turns(void **state)
{
    (void)state;
    node nodes[NODES];
    cd_clock_virtual clock;
    toy_validators validators;
    u32 proposed[NODES] = {0};
    cd_clock_virtual_init(&clock, START * CD_NS_PER_SEC + 300 * CD_NS_PER_MS);
    toy_validators_init(&validators, NODES);
    for (u32 i = 0; i < NODES; i++) {
        node_open(&nodes[i], i, &clock, &validators);
    }
    for (u64 height = 1; height <= 60; height++) {
        u64 began_s = cd_clock_wall_s(&clock.clock);
        for (u32 i = 0; i < NODES; i++) {
            cd_vm_host *below = &nodes[i].p->host;
            toy_under(&nodes[i])->wanted = height * 2 + 1;
            if (i != 3) {
                below->notify(below, CD_VM_WANTS_BLOCK);
            }
        }
        u32 who = height == 1 ? 0 : first_to_be_told(nodes, &clock);
        u64 slot = (cd_clock_wall_s(&clock.clock) - began_s) / CD_WINDOW_S;
        cd_vm_block *b = make(&nodes[who], height * 2 + 1);
        const outer_block *o = outer_of(b);
        assert_int_equal(b->height, height);
        assert_int_equal(b->time, cd_clock_wall_s(&clock.clock));
        assert_int_equal(o->has_proposer, height != 1);
        proposed[who]++;
        for (u32 i = 0; i < NODES; i++) {
            cd_vm_block *other = NULL;
            cd_errinfo why = {0};
            const cd_vm_block_ctx ctx = {0};
            if (i != who && height != 1) {
                toy_under(&nodes[i])->wanted = 99999;
                assert_int_equal(nodes[i].p->vm.ops->build(&nodes[i].p->vm, &other, &ctx, &why), CD_ENOENT);
                assert_string_equal(why.msg, "it is not this node's turn to propose a block");
            }
            if (take(&nodes[i], &other, b->bytes, &why) != CD_OK) {
                fail_msg("height %d: %s", (int)height, why.msg);
            }
            prefer(&nodes[i], other);
            accept_on(&nodes[i], other);
            assert_int_equal(other->time - began_s >= (height == 1 ? 0 : CD_PROPOSER_DELAY_S), true);
            drop(&nodes[i], other);
        }
        if (height != 1) {
            cd_node_id expected;
            const cd_window at = {.height = height, .pchain_height = 0, .slot = slot};
            assert_int_equal(cd_windower_expected(nodes[0].p->windower, &expected, &at, NULL), CD_OK);
            assert_memory_equal(expected.b, nodes[who].p->ctx.node_id.b, 20);
        }
        drop(&nodes[who], b);
    }
    assert_int_equal(proposed[3], 0);
    for (u32 i = 0; i < NODES; i++) {
        assert_true(i == 3 || proposed[i] > 3);
        assert_int_equal(nodes[i].p->blocks.last_height, 60);
        assert_int_equal(cd_hmap_cnt(&nodes[i].p->undecided), 0);
        assert_int_equal(toy_under(&nodes[i])->blocks.verified_cnt, 0);
        node_close(&nodes[i]);
    }
}

/* --- lies --- */

typedef struct lies {
    cd_clock_virtual clock;
    toy_validators validators;
    node n;
    cd_vm_block *parent; /* an accepted outer block */
    cd_outer honest;     /* a valid child of the parent */
    u8 inner[TOY_SIZE];
    u64 owner; /* number of the node whose turn it is */
} lies;

static void put(cd_buf *out, const lies *l, cd_outer o, u64 signer, bool is_signed)
{
    u8 header[CD_OUTER_HEADER_LEN];
    u8 cert[TOY_CERT_LEN];
    cd_hash32 signature;
    cd_put_be64(cert, signer);
    o.cert = is_signed ? cd_bytes_of(cert, sizeof cert) : (cd_bytes){0};
    cd_buf_clear(out);
    cd_outer_put(out, &o);
    if (o.is_option) {
        return;
    }
    cd_sha256(&o.id, cd_buf_bytes(out));
    cd_outer_header(header, &l->n.p->ctx.chain_id, &o.parent, &o.id);
    signature = toy_signature(o.cert, cd_bytes_of(header, sizeof header));
    cd_outer_put_signature(out, is_signed ? cd_bytes_of(signature.b, 32) : (cd_bytes){0});
}

/* Checks what the node says to a block of a peer. */
static void expect(lies *l, const cd_buf *bytes, const char *want)
{
    cd_vm_block *b = NULL;
    cd_errinfo why = {0};
    cd_err e = take(&l->n, &b, cd_buf_bytes(bytes), &why);
    if (want == NULL ? e != CD_OK : e == CD_OK || strcmp(why.msg, want) != 0) {
        fail_msg("says \"%s\", not \"%s\"", e == CD_OK ? "fine" : (const char *)why.msg, want == NULL ? "fine" : want);
    }
    if (e == CD_OK) {
        assert_int_equal(l->n.p->vm.ops->reject(&l->n.p->vm, b), CD_OK);
    }
    if (b != NULL) {
        drop(&l->n, b);
    }
}

static u64 owner_of_slot(lies *l, u64 slot)
{
    cd_node_id expected;
    const cd_window at = {.height = 2, .pchain_height = outer_of(l->parent)->pchain_height, .slot = slot};
    assert_int_equal(cd_windower_expected(l->n.p->windower, &expected, &at, NULL), CD_OK);
    for (u64 i = 0; i < NODES; i++) {
        u8 cert[TOY_CERT_LEN];
        cd_put_be64(cert, i);
        cd_node_id id = toy_node_id(cd_bytes_of(cert, sizeof cert));
        if (memcmp(id.b, expected.b, 20) == 0) {
            return i;
        }
    }
    fail_msg("a slot of nobody");
    return 0;
}

static void lies_open(lies *l)
{
    cd_clock_virtual_init(&l->clock, START * CD_NS_PER_SEC);
    toy_validators_init(&l->validators, NODES);
    l->validators.minimum = 40;
    node_open(&l->n, 0, &l->clock, &l->validators);
    l->parent = make(&l->n, 5);
    accept_on(&l->n, l->parent);
    prefer(&l->n, l->parent);
    cd_clock_virtual_advance(&l->clock, 2 * CD_NS_PER_SEC);
    toy_enc(l->inner, &outer_of(l->parent)->inner->id, 2, 7);
    l->honest = (cd_outer){
        .parent = l->parent->id, .time = START + 2, .pchain_height = 50, .inner = cd_bytes_of(l->inner, TOY_SIZE)};
    l->owner = owner_of_slot(l, 0);
}

static void lies_close(lies *l)
{
    drop(&l->n, l->parent);
    node_close(&l->n);
}

static void test_lies(void **state)
{
    (void)state;
    lies l;
    cd_outer o;
    cd_buf b = {0};
    char words[200];
    u8 inner[TOY_SIZE];
    lies_open(&l);
    assert_int_equal(outer_of(l.parent)->pchain_height, 40);
    put(&b, &l, l.honest, l.owner, true);
    expect(&l, &b, NULL);

    o = l.honest;
    o.pchain_height = 39;
    put(&b, &l, o, l.owner, true);
    expect(&l, &b, "non monotonically increasing P-chain height");
    o.pchain_height = 101;
    put(&b, &l, o, l.owner, true);
    expect(&l, &b, "block P-chain height larger than current P-chain height: 101 > 100");

    o = l.honest;
    toy_enc(inner, &l.parent->id, 2, 7); /* the outer ID where the inner one belongs */
    o.inner = cd_bytes_of(inner, TOY_SIZE);
    put(&b, &l, o, l.owner, true);
    expect(&l, &b, "inner parentID didn't match expected parent");

    o = l.honest;
    o.time = START - 1;
    put(&b, &l, o, l.owner, true);
    expect(&l, &b, "time must monotonically increase");
    o.time = INT64_MIN;
    put(&b, &l, o, l.owner, true);
    expect(&l, &b, "time must monotonically increase");
    o.time = START + 2 + 10;
    put(&b, &l, o, owner_of_slot(&l, 2), true);
    expect(&l, &b, NULL);
    o.time++;
    put(&b, &l, o, owner_of_slot(&l, 2), true);
    expect(&l, &b, "time is too far advanced");
    o.time = INT64_MAX;
    put(&b, &l, o, l.owner, true);
    expect(&l, &b, "time is too far advanced");

    u64 other = (l.owner + 1) % NODES;
    cd_node_id id = {0};
    cd_buf name = {0};
    u8 cert[TOY_CERT_LEN];
    cd_put_be64(cert, l.owner);
    id = toy_node_id(cd_bytes_of(cert, sizeof cert));
    cd_node_id_put(&name, &id);
    (void)snprintf(words, sizeof words, "unexpected proposer for current window: slot 0 expects %s",
                   cd_buf_cstr(&name));
    put(&b, &l, l.honest, other, true);
    expect(&l, &b, words);
    put(&b, &l, l.honest, 77, true); /* 77 is no validator */
    expect(&l, &b, words);
    put(&b, &l, l.honest, 0, false);
    expect(&l, &b, "proposer mismatch: shouldHaveProposer (true) != hasProposer (false)");
    l.validators.cnt = 0;
    cd_windower_free(l.n.p->windower); /* forgets the sets */
    l.n.p->windower = cd_windower_new(&l.validators.ops, &(cd_hash32){0}, &l.n.p->ctx.chain_id);
    put(&b, &l, l.honest, l.owner, true);
    expect(&l, &b, "proposer mismatch: shouldHaveProposer (false) != hasProposer (true)");
    put(&b, &l, l.honest, 0, false);
    expect(&l, &b, NULL);

    /* The signature, its absence, and one that nobody asked for. */
    put(&b, &l, l.honest, l.owner, true);
    b.p[b.n - 1] ^= 1;
    expect(&l, &b, "verification error");
    b.p[6] ^= 1; /* another parent, to which the signature does not belong */
    expect(&l, &b, "verification error");
    put(&b, &l, l.honest, l.owner, false);
    b.n -= 4;
    cd_outer_put_signature(&b, cd_bytes_str("x"));
    expect(&l, &b, "signature provided when none was expected");
    b.n -= 1;
    expect(&l, &b, "insufficient length for input");

    /* Kinds of blocks that are no child. */
    cd_buf_clear(&b);
    cd_buf_put(&b, l.honest.inner);
    expect(&l, &b, "the parent is neither verified nor last accepted");
    o = (cd_outer){.is_option = true, .parent = l.parent->id, .inner = l.honest.inner};
    put(&b, &l, o, 0, false);
    expect(&l, &b, "block isn't an oracle");
    cd_buf_fini(&name);
    cd_buf_fini(&b);
    lies_close(&l);
}

/* The first outer block has no proposer; a bare block can have no other kind of child. */
static void test_first(void **state)
{
    (void)state;
    cd_buf b = {0};
    lies l = {0};
    u8 inner[TOY_SIZE];
    cd_clock_virtual_init(&l.clock, START * CD_NS_PER_SEC);
    toy_validators_init(&l.validators, NODES);
    node_open(&l.n, 0, &l.clock, &l.validators);
    cd_hash32 genesis = l.n.p->blocks.last;
    toy_enc(inner, &genesis, 1, 7);
    cd_outer o = {.parent = genesis, .time = START, .inner = cd_bytes_of(inner, TOY_SIZE)};
    put(&b, &l, o, 0, true);
    expect(&l, &b, "child of pre-fork block has proposer");
    o.pchain_height = 101;
    put(&b, &l, o, 0, false);
    expect(&l, &b, "block P-chain height larger than current P-chain height: 101 > 100");
    o.pchain_height = 0;
    o.time = -1;
    put(&b, &l, o, 0, false);
    expect(&l, &b, "time must monotonically increase");
    o.time = START + 11;
    put(&b, &l, o, 0, false);
    expect(&l, &b, "time is too far advanced");
    cd_outer option = {.is_option = true, .parent = genesis, .inner = o.inner};
    put(&b, &l, option, 0, false);
    expect(&l, &b, "unexpected proposer block type");
    cd_buf_clear(&b);
    cd_buf_put(&b, o.inner);
    expect(&l, &b, "unexpected proposer block type");
    o.time = START + 10;
    put(&b, &l, o, 0, false);
    expect(&l, &b, NULL);
    cd_buf_fini(&b);
    node_close(&l.n);
}

/* --- several proposals of one block --- */

static void test_one_inner(void **state)
{
    (void)state;
    lies l;
    cd_buf b = {0};
    cd_vm_block *same[3];
    cd_vm_block *other;
    lies_open(&l);
    for (u32 i = 0; i < 3; i++) {
        cd_outer o = l.honest;
        o.pchain_height += i;
        put(&b, &l, o, l.owner, true);
        assert_int_equal(take(&l.n, &same[i], cd_buf_bytes(&b), NULL), CD_OK);
    }
    const toy *t = toy_under(&l.n);
    assert_int_equal(t->blocks.verified_cnt, 1);
    assert_true(outer_of(same[0])->inner == outer_of(same[2])->inner);
    /* A sibling of the VM's block inside. */
    u8 inner[TOY_SIZE];
    cd_outer o = l.honest;
    toy_enc(inner, &outer_of(l.parent)->inner->id, 2, 9);
    o.inner = cd_bytes_of(inner, TOY_SIZE);
    put(&b, &l, o, l.owner, true);
    assert_int_equal(take(&l.n, &other, cd_buf_bytes(&b), NULL), CD_OK);
    assert_int_equal(t->blocks.verified_cnt, 2);
    /* Rejecting one of the three leaves the VM's block; the VM hears of the sibling when the second is accepted. */
    assert_int_equal(l.n.p->vm.ops->reject(&l.n.p->vm, same[0]), CD_OK);
    assert_int_equal(t->blocks.verified_cnt, 2);
    accept_on(&l.n, same[1]);
    assert_int_equal(outer_of(same[1])->inner->status, CD_VM_ACCEPTED);
    assert_int_equal(outer_of(other)->inner->status, CD_VM_REJECTED);
    assert_int_equal(t->blocks.verified_cnt, 0);
    assert_int_equal(l.n.p->vm.ops->reject(&l.n.p->vm, same[2]), CD_OK);
    assert_int_equal(l.n.p->vm.ops->reject(&l.n.p->vm, other), CD_OK);
    assert_int_equal(l.n.p->blocks.verified_cnt, 0);
    for (u32 i = 0; i < 3; i++) {
        drop(&l.n, same[i]);
    }
    drop(&l.n, other);
    cd_buf_fini(&b);
    lies_close(&l);
}

/* Of a proposer that signs many blocks in its slot only so many children are taken. */
static void test_flood(void **state)
{
    (void)state;
    lies l;
    cd_buf b = {0};
    cd_vm_block *kept[CD_PROPOSER_CHILDREN_MAX];
    cd_vm_block *more = NULL;
    cd_errinfo why = {0};
    lies_open(&l);
    l.validators.current = 10000;
    cd_outer o = l.honest;
    for (u32 i = 0; i < CD_PROPOSER_CHILDREN_MAX; i++, o.pchain_height++) {
        put(&b, &l, o, l.owner, true);
        assert_int_equal(take(&l.n, &kept[i], cd_buf_bytes(&b), NULL), CD_OK);
    }
    put(&b, &l, o, l.owner, true);
    assert_int_equal(take(&l.n, &more, cd_buf_bytes(&b), &why), CD_ELIMIT);
    drop(&l.n, more);
    assert_int_equal(toy_under(&l.n)->blocks.verified_cnt, 1);
    /* One child less, and there is room again. */
    assert_int_equal(l.n.p->vm.ops->reject(&l.n.p->vm, kept[0]), CD_OK);
    assert_int_equal(take(&l.n, &more, cd_buf_bytes(&b), &why), CD_OK);
    accept_on(&l.n, more);
    drop(&l.n, more);
    for (u32 i = 0; i < CD_PROPOSER_CHILDREN_MAX; i++) {
        assert_int_equal(l.n.p->vm.ops->reject(&l.n.p->vm, kept[i]), i == 0 ? CD_EBUSY : CD_OK);
        drop(&l.n, kept[i]);
    }
    /* The parent and the accepted one are all that is left. */
    assert_int_equal(cd_hmap_cnt(&l.n.p->blocks.by_id), 2);
    cd_buf_fini(&b);
    lies_close(&l);
}

/* --- options --- */

static void test_options(void **state)
{
    (void)state;
    cd_clock_virtual clock;
    toy_validators validators;
    node n;
    cd_vm_block *two[2];
    cd_vm_block *wrong = NULL;
    cd_errinfo why = {0};
    cd_buf bytes = {0};
    u8 inner[TOY_SIZE];
    cd_clock_virtual_init(&clock, START * CD_NS_PER_SEC);
    toy_validators_init(&validators, 0);
    validators.minimum = 30;
    node_open(&n, 0, &clock, &validators);
    cd_vm_block *oracle = make(&n, 100);
    assert_int_equal(n.p->vm.ops->options(&n.p->vm, two, oracle, &why), CD_OK);
    const cd_vm_block_ctx ctx = {0};
    for (u32 i = 0; i < 2; i++) {
        assert_int_equal(cd_be64(outer_of(two[i])->inner->bytes.p + 40), 101 + i);
        assert_memory_equal(two[i]->parent.b, oracle->id.b, 32);
        assert_int_equal(n.p->vm.ops->verify(&n.p->vm, two[i], &ctx, &why), CD_OK);
    }
    /* Nothing else stands on an oracle, and options do not stand on options. */
    toy_enc(inner, &outer_of(oracle)->inner->id, 2, 7);
    cd_outer o = {.parent = oracle->id, .time = START, .pchain_height = 30, .inner = cd_bytes_of(inner, TOY_SIZE)};
    cd_outer_put(&bytes, &o);
    cd_outer_put_signature(&bytes, (cd_bytes){0});
    assert_int_equal(take(&n, &wrong, cd_buf_bytes(&bytes), &why), CD_EINVAL);
    assert_string_equal(why.msg, "unexpected proposer block type");
    drop(&n, wrong);
    toy_enc(inner, &outer_of(two[1])->inner->id, 3, 7);
    o = (cd_outer){.is_option = true, .parent = two[1]->id, .inner = cd_bytes_of(inner, TOY_SIZE)};
    cd_buf_clear(&bytes);
    cd_outer_put(&bytes, &o);
    assert_int_equal(take(&n, &wrong, cd_buf_bytes(&bytes), &why), CD_EINVAL);
    assert_string_equal(why.msg, "unexpected proposer block type");
    drop(&n, wrong);
    /* The second option is accepted; what is built on it has the time and the height of the oracle below. */
    accept_on(&n, oracle);
    accept_on(&n, two[1]);
    assert_int_equal(n.p->vm.ops->reject(&n.p->vm, two[0]), CD_OK);
    prefer(&n, two[1]);
    validators.minimum = 5;
    drop(&n, two[0]);
    drop(&n, two[1]);
    drop(&n, oracle);
    node_reopen(&n);
    cd_clock_virtual_advance(&clock, CD_NS_PER_SEC);
    cd_vm_block *b = make(&n, 7);
    assert_int_equal(outer_of(b)->pchain_height, 30);
    assert_int_equal(b->height, 3);
    drop(&n, b);
    cd_buf_fini(&bytes);
    node_close(&n);
}

/* --- the start --- */

static void make_chain(node *n, u64 cnt, u64 from)
{
    for (u64 i = 0; i < cnt; i++) {
        cd_clock_virtual_advance(n->clock, CD_NS_PER_SEC);
        cd_vm_block *b = make(n, (from + i) * 2 + 1);
        accept_on(n, b);
        drop(n, b);
    }
}

/* Sets the VM alone back to a height. */
static void set_back(node *n, u64 height)
{
    cd_hash32 id;
    assert_int_equal(toy_at(n->p->inner, &id, height), CD_OK);
    n->p->vm.ops->close(&n->p->vm);
    n->p = NULL;
    assert_int_equal(cd_kv_put(n->inner_kv, cd_bytes_str("L"), cd_bytes_of(id.b, 32)), CD_OK);
}

static void test_repair(void **state)
{
    (void)state;
    cd_clock_virtual clock;
    node n;
    cd_hash32 at[6];
    cd_hash32 id;
    cd_errinfo why = {0};
    cd_clock_virtual_init(&clock, START * CD_NS_PER_SEC);
    node_open(&n, 0, &clock, NULL);
    make_chain(&n, 5, 1);
    for (u64 h = 0; h <= 5; h++) {
        assert_int_equal(n.p->vm.ops->id_at_height(&n.p->vm, &at[h], h), CD_OK);
    }
    /* The index is ahead of the VM: it is cut. */
    set_back(&n, 3);
    open_on(&n);
    u64 height;
    n.p->vm.ops->last_accepted(&n.p->vm, &id, &height);
    assert_int_equal(height, 3);
    assert_memory_equal(id.b, at[3].b, 32);
    assert_int_equal(n.p->vm.ops->id_at_height(&n.p->vm, &id, 4), CD_ENOENT);
    cd_vm_block *gone = NULL;
    assert_int_equal(n.p->vm.ops->get(&n.p->vm, &gone, &at[4]), CD_ENOENT);
    make_chain(&n, 2, 50);
    assert_int_equal(n.p->blocks.last_height, 5);
    /* Back to the first block: then there is no outer block any more. */
    set_back(&n, 0);
    open_on(&n);
    assert_true(n.p->fork_height == NO_FORK && n.p->last->kind == OUTER_BARE);
    make_chain(&n, 4, 80);
    assert_int_equal(n.p->fork_height, 1);
    /* The index is behind the VM: the wrapper cannot be opened. */
    u8 key[9] = {'h'};
    cd_put_be64(key + 1, 4);
    assert_int_equal(cd_kv_del(n.own_kv, cd_bytes_of(key, 9)), CD_OK);
    n.p->vm.ops->close(&n.p->vm);
    n.p = NULL;
    assert_int_equal(try_open(&n, &why), CD_ECORRUPT);
    assert_string_equal(why.msg, "the proposer index is behind the chain: nothing at height 4");
    n.p = NULL;
    node_close(&n);
}

/* A chain that was kept without a wrapper goes on with one. */
static void test_late_wrapper(void **state)
{
    (void)state;
    cd_clock_virtual clock;
    node n = {.clock = &clock, .delay_s = 1};
    cd_hash32 bare;
    cd_hash32 id;
    cd_clock_virtual_init(&clock, START * CD_NS_PER_SEC);
    n.kv = cd_kv_mem_open();
    n.inner_kv = cd_kv_prefix_open(n.kv, cd_bytes_str("v"));
    n.own_kv = cd_kv_prefix_open(n.kv, cd_bytes_str("w"));
    cd_vm *alone = toy_open(n.inner_kv, TOY_IS_GOOD);
    for (u64 i = 1; i <= 3; i++) {
        cd_vm_block *b = NULL;
        cd_kv_batch batch = {0};
        const cd_vm_block_ctx ctx = {0};
        toy_of(alone)->wanted = i * 2 + 1;
        cd_kv_batch_for(&batch, n.inner_kv);
        assert_int_equal(toy_build(alone, &b, &ctx, NULL), CD_OK);
        assert_int_equal(toy_verify(alone, b, &ctx, NULL), CD_OK);
        assert_int_equal(toy_accept(alone, b, &batch, NULL), CD_OK);
        assert_int_equal(cd_kv_commit(n.inner_kv, &batch, CD_KV_SYNC, NULL), CD_OK);
        assert_int_equal(toy_accepted(alone, b, NULL), CD_OK);
        bare = b->id;
        toy_release(alone, b);
        cd_kv_batch_fini(&batch);
    }
    toy_close(alone);
    open_on(&n);
    make_chain(&n, 2, 10);
    assert_int_equal(n.p->fork_height, 4);
    assert_int_equal(n.p->blocks.last_height, 5);
    assert_int_equal(n.p->vm.ops->id_at_height(&n.p->vm, &id, 3), CD_OK);
    assert_memory_equal(id.b, bare.b, 32);
    cd_vm_block *b = NULL;
    assert_int_equal(n.p->vm.ops->get(&n.p->vm, &b, &bare), CD_OK);
    assert_int_equal(b->status, CD_VM_ACCEPTED);
    drop(&n, b);
    /* The VM's own ID of a block that has an outer one is no ID here. */
    cd_hash32 inside = n.p->last->inner->id;
    assert_int_equal(n.p->vm.ops->get(&n.p->vm, &b, &inside), CD_ENOENT);
    node_close(&n);
}

/* --- going back while it runs, and the VM's wishes --- */

static cd_err run_job(cd_vm_host *host, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    (void)host;
    return job(arg, why);
}

static cd_err toy_goes_back(void *arg, cd_errinfo *why)
{
    node *n = arg;
    toy *t = toy_under(n);
    cd_hash32 id;
    (void)why;
    assert_int_equal(toy_at(t, &id, 2), CD_OK);
    cd_blocks_restart(&t->blocks, &id, 2);
    return CD_OK;
}

static void test_rewind(void **state)
{
    (void)state;
    cd_clock_virtual clock;
    node n;
    cd_hash32 want;
    cd_clock_virtual_init(&clock, START * CD_NS_PER_SEC);
    node_open(&n, 0, &clock, NULL);
    make_chain(&n, 5, 1);
    assert_int_equal(n.p->vm.ops->id_at_height(&n.p->vm, &want, 2), CD_OK);
    n.host.rewind = run_job;
    assert_int_equal(n.p->host.rewind(&n.p->host, toy_goes_back, &n, NULL), CD_OK);
    assert_memory_equal(n.p->blocks.last.b, want.b, 32);
    assert_int_equal(n.p->vm.ops->id_at_height(&n.p->vm, &want, 3), CD_ENOENT);
    make_chain(&n, 2, 30);
    assert_int_equal(n.p->blocks.last_height, 4);
    node_close(&n);
}

/* The engine is told once; again when it was too early; never when the VM wants nothing more. */
static void test_wants(void **state)
{
    (void)state;
    cd_clock_virtual clock;
    node n;
    cd_clock_virtual_init(&clock, START * CD_NS_PER_SEC);
    node_open(&n, 0, &clock, NULL);
    make_chain(&n, 1, 1);
    u32 told = n.told;
    cd_vm *vm = &n.p->vm;
    toy_under(&n)->wanted = 9;
    n.p->host.notify(&n.p->host, CD_VM_WANTS_BLOCK);
    assert_int_equal(n.told, told); /* not a second behind the parent */
    u64 at = vm->ops->wake(vm);
    assert_int_equal(at, cd_clock_mono_ns(&clock.clock) + CD_NS_PER_SEC);
    cd_clock_virtual_advance(&clock, CD_NS_PER_SEC);
    assert_int_equal(vm->ops->wake(vm), UINT64_MAX);
    assert_int_equal(n.told, told + 1);
    assert_int_equal(vm->ops->wake(vm), UINT64_MAX);
    assert_int_equal(n.told, told + 1);
    cd_vm_block *b = make(&n, 9);
    accept_on(&n, b);
    drop(&n, b);
    /* The VM may have more for a block: the engine asks once, and hears that it has not. */
    cd_clock_virtual_advance(&clock, CD_NS_PER_SEC);
    (void)vm->ops->wake(vm);
    assert_int_equal(n.told, told + 2);
    const cd_vm_block_ctx ctx = {0};
    assert_int_equal(vm->ops->build(vm, &b, &ctx, NULL), CD_ENOENT);
    cd_clock_virtual_advance(&clock, 60 * CD_NS_PER_SEC);
    assert_int_equal(vm->ops->wake(vm), UINT64_MAX);
    assert_int_equal(n.told, told + 2);
    node_close(&n);
}

/* --- summaries --- */

static void test_summaries(void **state)
{
    (void)state;
    cd_clock_virtual clock;
    node from;
    node to;
    cd_arena a = {0};
    cd_vm_summary s;
    cd_vm_summary read;
    cd_vm_sync_mode mode;
    cd_errinfo why = {0};
    cd_clock_virtual_init(&clock, START * CD_NS_PER_SEC);
    node_open(&from, 0, &clock, NULL);
    node_open(&to, 1, &clock, NULL);
    make_chain(&from, 4, 1);
    cd_vm *vm = &from.p->vm;
    assert_true(vm->ops->sync->is_enabled(vm));
    assert_int_equal(vm->ops->sync->ongoing(vm, &s, &a), CD_ENOENT);
    assert_int_equal(vm->ops->sync->at(vm, &s, &a, 0), CD_OK); /* the VM's own: no outer block is there yet */
    assert_int_equal(s.bytes.n, 8);
    assert_int_equal(vm->ops->sync->at(vm, &s, &a, 5), CD_ENOENT);
    assert_int_equal(vm->ops->sync->last(vm, &s, &a), CD_OK);
    assert_int_equal(s.height, 4);
    vm = &to.p->vm;
    assert_int_equal(vm->ops->sync->parse(vm, &read, &a, s.bytes, &why), CD_OK);
    assert_memory_equal(read.id.b, s.id.b, 32);
    assert_int_equal(read.height, 4);
    for (usize n = 0; n < s.bytes.n; n++) {
        cd_vm_summary none;
        assert_true(n == 8 || vm->ops->sync->parse(vm, &none, &a, cd_bytes_sub(s.bytes, 0, n), &why) != CD_OK);
    }
    assert_int_equal(vm->ops->sync->accept(vm, &mode, &read, &why), CD_OK);
    assert_int_equal(mode, CD_VM_SYNC_STATIC);
    assert_int_equal(toy_under(&to)->now, 4);
    assert_int_equal(to.p->blocks.last_height, 0);
    /* The VM has synced: its blocks are there, and the wrapper has the same last accepted block. */
    cd_kv_iter *it;
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, to.inner_kv);
    assert_int_equal(cd_kv_iter_new(&it, from.inner_kv, &(cd_kv_range){0}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_kv_batch_put(&batch, cd_kv_iter_key(it), cd_kv_iter_value(it));
    }
    cd_kv_iter_free(it);
    assert_int_equal(cd_kv_commit(to.inner_kv, &batch, CD_KV_SYNC, NULL), CD_OK);
    cd_kv_batch_fini(&batch);
    node_reopen(&to);
    assert_memory_equal(to.p->blocks.last.b, from.p->blocks.last.b, 32);
    /* There is nothing to sync to below the last accepted block. */
    vm = &to.p->vm;
    assert_int_equal(vm->ops->sync->accept(vm, &mode, &read, &why), CD_OK);
    assert_int_equal(mode, CD_VM_SYNC_SKIPPED);
    make_chain(&to, 1, 40);
    cd_arena_fini(&a);
    node_close(&from);
    node_close(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract), cmocka_unit_test(test_turns),     cmocka_unit_test(test_lies),
        cmocka_unit_test(test_first),    cmocka_unit_test(test_one_inner), cmocka_unit_test(test_flood),
        cmocka_unit_test(test_options),  cmocka_unit_test(test_repair),    cmocka_unit_test(test_late_wrapper),
        cmocka_unit_test(test_rewind),   cmocka_unit_test(test_wants),     cmocka_unit_test(test_summaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
