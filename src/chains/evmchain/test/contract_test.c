/* The EVM keeps the contract of vm/vm.h; its engine hears of every block; long runs of empty blocks are one object. */
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "consensus/test/seat.h"
#include "vm/test/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000 };

/* A host for each VM that is open; its engine is not asked for anything by the contract. */
typedef struct rig {
    seat seats[2];
    cd_buf genesis;
    cd_clock_virtual clock;
    cd_rng rng;
    u64 next; /* amount of the next payment */
} rig;

static void ask(cd_vm *vm, cd_buf *reply, const char *body)
{
    usize cnt;
    cd_rpc_serve(vm->ops->handlers(vm, &cnt)[0].service, reply, cd_bytes_str(body));
    if (strstr(cd_buf_cstr(reply), "\"error\"") != NULL) {
        fail_msg("%s: %s", body, cd_buf_cstr(reply));
    }
}

static void must(cd_vm *vm, const char *method, const char *params)
{
    char body[512];
    cd_buf reply = {0};
    (void)snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    ask(vm, &reply, body);
    cd_buf_fini(&reply);
}

static cd_vm *open_vm(rig *r, cd_kv *kv, cd_vm_host *host)
{
    cd_errinfo why = {0};
    cd_vm *vm;
    cd_vm_ctx ctx = {
        .kv = kv,
        .host = host,
        .clock = &r->clock.clock,
        .rng = &r->rng,
        .name = "C",
        .genesis = cd_buf_bytes(&r->genesis),
        .network_id = CHAIN_ID,
        .is_dev = true,
        .is_stepped = true,
    };
    if (cd_evm_vm_open(&vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    return vm;
}

static cd_vm *open_for_contract(void *ctx, cd_kv *kv)
{
    rig *r = ctx;
    cd_vm *vm = open_vm(r, kv, &r->seats[0].host);
    must(vm, "evm_setAutomine", "[false]");
    return vm;
}

static void want(void *ctx, cd_vm *vm)
{
    char params[256];
    rig *r = ctx;
    (void)snprintf(params, sizeof params,
                   "[{\"from\":\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\","
                   "\"to\":\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\",\"gas\":\"0x5208\",\"value\":\"0x%llx\"}]",
                   (unsigned long long)++r->next);
    must(vm, "eth_sendTransaction", params);
    cd_clock_virtual_advance(&r->clock, CD_NS_PER_SEC);
}

static void rig_init(rig *r)
{
    *r = (rig){.rng = cd_rng_seeded(1)};
    cd_clock_virtual_init(&r->clock, (START + 100) * CD_NS_PER_SEC);
    assert_int_equal(cd_dev_genesis(&r->genesis, CHAIN_ID, START), CD_OK);
}

static void test_contract(void **state)
{
    (void)state;
    rig r;
    cd_kv *unused = cd_kv_mem_open();
    rig_init(&r);
    seat_init(&r.seats[0], unused);
    const char *broken = contract_check(&(contract_rig){.open = open_for_contract, .want = want, .ctx = &r});
    if (broken != NULL) {
        fail_msg("does not hold: %s", broken);
    }
    cd_solo_free(r.seats[0].engine);
    cd_kv_close(unused);
    cd_buf_fini(&r.genesis);
}

/* --- through the engine, all of it --- */

typedef struct counted {
    rig r;
    cd_kv *kv;
    cd_vm *vm;
} counted;

static void counted_open(counted *c)
{
    rig_init(&c->r);
    c->kv = cd_kv_mem_open();
    seat_init(&c->r.seats[0], c->kv);
    c->vm = open_vm(&c->r, c->kv, &c->r.seats[0].host);
    assert_int_equal(seat_start(&c->r.seats[0], c->vm, NULL), CD_OK);
}

static void counted_close(counted *c)
{
    seat_fini(&c->r.seats[0]);
    c->vm->ops->close(c->vm);
    cd_kv_close(c->kv);
    cd_buf_fini(&c->r.genesis);
}

static u64 height_of(const counted *c)
{
    cd_hash32 id;
    u64 height;
    c->vm->ops->last_accepted(c->vm, &id, &height);
    return height;
}

/* Whatever method makes blocks: each was built, verified and accepted by the engine, and no more. */
static void test_every_block_passes_the_engine(void **state)
{
    (void)state;
    static const char *const calls[][2] = {
        {"evm_mine", "[]"},
        {"evm_mine", "[{\"blocks\":3}]"},
        {"hardhat_mine", "[\"0x2\"]"},
        {"hardhat_mine", "[\"0x3e8\",\"0x2\"]"},
        {"anvil_mine", "[7]"},
        {"anvil_mine_detailed", "[]"},
    };
    counted c;
    counted_open(&c);
    const cd_engine_stats *stats = &c.r.seats[0].engine->stats;
    for (usize i = 0; i < CD_COUNT(calls); i++) {
        u64 before = height_of(&c);
        u64 accepted = stats->accepted;
        must(c.vm, calls[i][0], calls[i][1]);
        assert_true(height_of(&c) > before);
        assert_int_equal(stats->accepted - accepted, height_of(&c) - before);
    }
    for (usize i = 0; i < 5; i++) {
        u64 accepted = stats->accepted;
        want(&c.r, c.vm);
        assert_int_equal(stats->accepted, accepted + 1);
    }
    assert_int_equal(stats->built, stats->verified);
    assert_int_equal(stats->rejected, 0);
    assert_int_equal(stats->accepted, height_of(&c));
    must(c.vm, "evm_setIntervalMining", "[1000]");
    cd_clock_virtual_advance(&c.r.clock, 1100 * CD_NS_PER_MS);
    u64 accepted = stats->accepted;
    (void)c.vm->ops->wake(c.vm);
    assert_int_equal(stats->accepted, accepted + 1);
    counted_close(&c);
}

/* Going back and edits of the state are the engine's to know: it begins anew where the chain stands. */
static void test_changes_that_are_no_blocks(void **state)
{
    (void)state;
    counted c;
    counted_open(&c);
    const cd_engine_stats *stats = &c.r.seats[0].engine->stats;
    must(c.vm, "evm_mine", "[{\"blocks\":5}]");
    must(c.vm, "evm_snapshot", "[]");
    u64 rewound = stats->rewound;
    must(c.vm, "hardhat_setBalance", "[\"0x0000000000000000000000000000000000000001\",\"0x5\"]");
    assert_int_equal(stats->rewound, rewound + 1);
    must(c.vm, "evm_mine", "[]");
    must(c.vm, "evm_revert", "[\"0x1\"]");
    assert_int_equal(stats->rewound, rewound + 2);
    assert_int_equal(height_of(&c), 5);
    must(c.vm, "anvil_rollback", "[2]");
    assert_int_equal(height_of(&c), 3);
    must(c.vm, "anvil_reset", "[]");
    assert_int_equal(height_of(&c), 0);
    assert_int_equal(stats->rewound, rewound + 4);
    want(&c.r, c.vm);
    assert_int_equal(height_of(&c), 1);
    counted_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_every_block_passes_the_engine),
        cmocka_unit_test(test_changes_that_are_no_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
