/* The chain of the simulator keeps the contract that every VM keeps, and refuses what liars make of its blocks. */
#include "base/table/list.h"
#include "sim/chain.h"
#include "vm/test/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct rig {
    cd_clock_virtual clock;
    cd_vm_host host;
    cd_sim_chain_cfg cfg;
    u64 tx;
    u64 wanted;
} rig;

static void notify(cd_vm_host *host, cd_vm_event what)
{
    rig *r = cd_list_of(host, rig, host);
    r->wanted += what == CD_VM_WANTS_BLOCK ? 1 : 0;
}

static cd_vm *open_chain(void *ctx, cd_kv *kv)
{
    rig *r = ctx;
    cd_vm *vm = NULL;
    const cd_vm_ctx c = {.kv = kv, .host = &r->host, .clock = &r->clock.clock, .dev = &r->cfg};
    assert_int_equal(cd_sim_chain_open(&vm, &c, NULL), CD_OK);
    return vm;
}

static void want(void *ctx, cd_vm *vm)
{
    rig *r = ctx;
    cd_sim_chain_submit(vm, ++r->tx);
}

static void rig_init(rig *r)
{
    *r = (rig){.host = {.notify = notify}, .cfg = {.second_rules_s = UINT64_MAX}};
    cd_clock_virtual_init(&r->clock, CD_SIM_GENESIS_S * CD_NS_PER_SEC);
}

static void test_contract(void **state)
{
    rig r;
    (void)state;
    rig_init(&r);
    const contract_rig c = {.open = open_chain, .want = want, .ctx = &r};
    const char *broken = contract_check(&c);
    if (broken != NULL) {
        fail_msg("%s", broken);
    }
}

static cd_err verify(cd_vm *vm, cd_bytes bytes)
{
    cd_vm_block *b = NULL;
    const cd_vm_block_ctx ctx = {0};
    cd_err e = vm->ops->parse(vm, &b, bytes, NULL);
    if (e == CD_OK) {
        e = vm->ops->verify(vm, b, &ctx, NULL);
        vm->ops->release(vm, b);
    }
    return e;
}

static void test_liars(void **state)
{
    rig r;
    cd_kv *kv = cd_kv_mem_open();
    cd_vm_block *b = NULL;
    cd_buf other = {0};
    const cd_vm_block_ctx ctx = {0};
    (void)state;
    rig_init(&r);
    cd_vm *vm = open_chain(&r, kv);
    want(&r, vm);
    assert_true(r.wanted == 1);
    assert_int_equal(vm->ops->build(vm, &b, &ctx, NULL), CD_OK);
    for (u32 wrong = 0; wrong < CD_SIM_WRONGS; wrong++) {
        cd_buf_clear(&other);
        assert_int_equal(cd_sim_chain_spoil(&other, b->bytes, (cd_sim_wrong)wrong), CD_OK);
        assert_int_not_equal(verify(vm, cd_buf_bytes(&other)), CD_OK);
    }
    cd_buf_clear(&other);
    assert_int_equal(cd_sim_chain_twin(vm, &other, b->bytes, 77), CD_OK);
    assert_int_equal(verify(vm, cd_buf_bytes(&other)), CD_OK);
    assert_int_equal(verify(vm, b->bytes), CD_OK);
    vm->ops->release(vm, b);
    cd_buf_fini(&other);
    vm->ops->close(vm);
    cd_kv_close(kv);
}

/* Blocks of the second rules are refused by a chain without these rules, and the other way round. */
static void test_rules(void **state)
{
    rig r;
    cd_kv *kv[2] = {cd_kv_mem_open(), cd_kv_mem_open()};
    cd_vm_block *b = NULL;
    const cd_vm_block_ctx ctx = {0};
    (void)state;
    rig_init(&r);
    cd_vm *first = open_chain(&r, kv[0]);
    r.cfg.second_rules_s = CD_SIM_GENESIS_S;
    cd_vm *second = open_chain(&r, kv[1]);
    want(&r, first);
    assert_int_equal(first->ops->build(first, &b, &ctx, NULL), CD_OK);
    assert_int_equal(verify(second, b->bytes), CD_EINVAL);
    first->ops->release(first, b);
    want(&r, second);
    assert_int_equal(second->ops->build(second, &b, &ctx, NULL), CD_OK);
    assert_int_equal(verify(first, b->bytes), CD_EINVAL);
    second->ops->release(second, b);
    first->ops->close(first);
    second->ops->close(second);
    cd_kv_close(kv[0]);
    cd_kv_close(kv[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contract), cmocka_unit_test(test_liars),
                                       cmocka_unit_test(test_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
