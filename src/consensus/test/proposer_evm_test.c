/* The contract of vm/vm.h with the EVM inside the proposer wrapper, and the EVM's chain through the engine of one
 * node with the wrapper between. */
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "consensus/proposer/proposer.h"
#include "consensus/test/seat.h"
#include "vm/test/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000 };

typedef struct rig {
    seat seat;
    cd_buf genesis;
    cd_clock_virtual clock;
    cd_rng rng;
    cd_kv *parts[32]; /* the wrappers' parts of the store */
    u32 part_cnt;
    u64 next; /* amount of the next payment */
} rig;

static void must(cd_vm *vm, const char *method, const char *params)
{
    usize cnt;
    char body[512];
    cd_buf reply = {0};
    (void)snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    cd_rpc_serve(vm->ops->handlers(vm, &cnt)[0].service, &reply, cd_bytes_str(body));
    if (strstr(cd_buf_cstr(&reply), "\"error\"") != NULL) {
        fail_msg("%s: %s", body, cd_buf_cstr(&reply));
    }
    cd_buf_fini(&reply);
}

static cd_vm *open_wrapped(void *arg, cd_kv *kv)
{
    rig *r = arg;
    cd_vm *vm = NULL;
    cd_errinfo why = {0};
    assert_true(r->part_cnt < CD_COUNT(r->parts));
    cd_kv *own = cd_kv_prefix_open(kv, cd_bytes_str("~w"));
    r->parts[r->part_cnt++] = own;
    const cd_proposer_cfg cfg = {.inner = cd_evm_vm_open, .kv = own, .delay_s = CD_PROPOSER_DELAY_S};
    const cd_vm_ctx ctx = {
        .kv = kv,
        .host = &r->seat.host,
        .clock = &r->clock.clock,
        .rng = &r->rng,
        .name = "C",
        .genesis = cd_buf_bytes(&r->genesis),
        .network_id = CHAIN_ID,
        .is_dev = true,
        .is_stepped = true,
    };
    if (cd_proposer_open(&vm, &cfg, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    must(vm, "evm_setAutomine", "[false]");
    return vm;
}

static void want(void *arg, cd_vm *vm)
{
    char params[256];
    rig *r = arg;
    (void)snprintf(params, sizeof params,
                   "[{\"from\":\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\","
                   "\"to\":\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\",\"gas\":\"0x5208\",\"value\":\"0x%llx\"}]",
                   (unsigned long long)++r->next);
    must(vm, "eth_sendTransaction", params);
    cd_clock_virtual_advance(&r->clock, CD_NS_PER_SEC);
}

static void rig_open(rig *r)
{
    *r = (rig){.rng = cd_rng_seeded(1)};
    cd_clock_virtual_init(&r->clock, (START + 100) * CD_NS_PER_SEC);
    assert_int_equal(cd_dev_genesis(&r->genesis, CHAIN_ID, START), CD_OK);
}

static void rig_close(rig *r)
{
    while (r->part_cnt != 0) {
        cd_kv_close(r->parts[--r->part_cnt]);
    }
    cd_buf_fini(&r->genesis);
}

static void test_contract(void **state)
{
    (void)state;
    rig r;
    cd_kv *unused = cd_kv_mem_open();
    rig_open(&r);
    seat_init(&r.seat, unused);
    const char *broken = contract_check(&(contract_rig){.open = open_wrapped, .want = want, .ctx = &r});
    if (broken != NULL) {
        fail_msg("does not hold: %s", broken);
    }
    cd_solo_free(r.seat.engine);
    cd_kv_close(unused);
    rig_close(&r);
}

/* Payments become blocks that are a second apart; the engine is told when it may build. */
static void test_engine(void **state)
{
    (void)state;
    rig r;
    cd_hash32 id;
    u64 height;
    cd_kv *kv = cd_kv_mem_open();
    rig_open(&r);
    seat_init(&r.seat, kv);
    cd_vm *vm = open_wrapped(&r, kv);
    cd_engine *e = r.seat.engine;
    assert_int_equal(seat_start(&r.seat, vm, NULL), CD_OK);
    must(vm, "evm_setAutomine", "[true]");
    for (u64 i = 1; i <= 5; i++) {
        want(&r, vm);
        (void)vm->ops->wake(vm);
        while (e->ops->step(e)) {
        }
        vm->ops->last_accepted(vm, &id, &height);
        assert_int_equal(height, i);
    }
    vm->ops->close(vm);
    vm = open_wrapped(&r, kv);
    cd_hash32 again;
    vm->ops->last_accepted(vm, &again, &height);
    assert_int_equal(height, 5);
    assert_memory_equal(again.b, id.b, 32);
    seat_fini(&r.seat);
    vm->ops->close(vm);
    cd_kv_close(kv);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contract), cmocka_unit_test(test_engine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
