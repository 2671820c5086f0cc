/* The registry of blocks, by way of the contract on a toy; and the test of the contract, by toys that break it. */
#include "vm/test/contract.h"
#include "vm/test/toy_vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A maker of toys with one fault; next gives numbers that were not used yet. */
typedef struct toys {
    toy_fault fault;
    u64 next;
} toys;

static cd_vm *open_toy(void *ctx, cd_kv *kv)
{
    return toy_open(kv, ((toys *)ctx)->fault);
}

static void want(void *ctx, cd_vm *vm)
{
    ((toy *)(void *)vm)->wanted = ++((toys *)ctx)->next;
}

static const char *check(toy_fault fault)
{
    toys t = {.fault = fault, .next = 10};
    return contract_check(&(contract_rig){.open = open_toy, .want = want, .ctx = &t});
}

static void test_contract(void **state)
{
    (void)state;
    const char *broken = check(TOY_IS_GOOD);
    assert_true(broken == NULL);
}

static void test_contract_notices(void **state)
{
    (void)state;
    assert_true(TOY_FAULTS - 1 >= 8);
    for (toy_fault f = TOY_IS_GOOD + 1; f < TOY_FAULTS; f++) {
        const char *broken = check(f);
        print_message("fault %d: %s\n", (int)f, broken == NULL ? "not noticed" : broken);
        assert_non_null(broken);
    }
}

/* --- the tree by itself --- */

static cd_vm_block *add(toy *t, const cd_vm_block *on, u64 number)
{
    u8 bytes[TOY_SIZE];
    cd_vm_block *b;
    cd_hash32 genesis = t->blocks.last;
    toy_enc(bytes, on == NULL ? &genesis : &on->id, on == NULL ? t->blocks.last_height + 1 : on->height + 1, number);
    assert_int_equal(cd_blocks_parse(&t->blocks, &b, cd_bytes_of(bytes, TOY_SIZE), NULL), CD_OK);
    assert_int_equal(cd_blocks_verify(&t->blocks, b, &(cd_vm_block_ctx){0}, NULL), CD_OK);
    return b;
}

/* A descendant of a rejected block can only be rejected, at whatever depth; none stays preferred. */
static void test_orphans(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    toy *t = (toy *)(void *)toy_open(kv, TOY_IS_GOOD);
    cd_vm_block *a = add(t, NULL, 2);
    cd_vm_block *b = add(t, a, 3);
    cd_vm_block *c = add(t, a, 4);
    cd_vm_block *d = add(t, b, 5);
    cd_vm_block *e = add(t, d, 6);
    assert_int_equal(t->blocks.verified_cnt, 5);
    assert_int_equal(cd_blocks_prefer(&t->blocks, &e->id), CD_OK);
    assert_int_equal(cd_blocks_reject(&t->blocks, a), CD_OK);
    assert_null(cd_blocks_preferred(&t->blocks));
    cd_vm_block *all[] = {b, c, d, e};
    for (usize i = 0; i < CD_COUNT(all); i++) {
        assert_true(all[i]->own.is_orphan);
        assert_int_equal(cd_blocks_prefer(&t->blocks, &all[i]->id), CD_ENOENT);
    }
    u8 bytes[TOY_SIZE];
    cd_vm_block *f;
    toy_enc(bytes, &e->id, e->height + 1, 7);
    assert_int_equal(cd_blocks_parse(&t->blocks, &f, cd_bytes_of(bytes, TOY_SIZE), NULL), CD_OK);
    assert_int_equal(cd_blocks_verify(&t->blocks, f, &(cd_vm_block_ctx){0}, NULL), CD_ENOENT);
    for (usize i = CD_COUNT(all); i-- > 0;) {
        assert_int_equal(cd_blocks_reject(&t->blocks, all[i]), CD_OK);
    }
    assert_int_equal(t->blocks.verified_cnt, 0);
    cd_vm_block *held[] = {a, b, c, d, e, f};
    for (usize i = 0; i < CD_COUNT(held); i++) {
        cd_blocks_release(&t->blocks, held[i]);
    }
    assert_int_equal(cd_hmap_cnt(&t->blocks.by_id), 0);
    t->vm.ops->close(&t->vm);
    cd_kv_close(kv);
}

/* Heights follow each other, but for a block that says how many it spans. */
static void test_heights(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    toy *t = (toy *)(void *)toy_open(kv, TOY_IS_GOOD);
    u8 bytes[TOY_SIZE];
    cd_vm_block *b;
    static const u64 wrong[] = {0, 2, UINT64_MAX};
    for (usize i = 0; i < CD_COUNT(wrong); i++) {
        toy_enc(bytes, &t->blocks.last, wrong[i], 9);
        assert_int_equal(cd_blocks_parse(&t->blocks, &b, cd_bytes_of(bytes, TOY_SIZE), NULL), CD_OK);
        assert_int_equal(cd_blocks_verify(&t->blocks, b, &(cd_vm_block_ctx){0}, NULL), CD_EINVAL);
        cd_blocks_release(&t->blocks, b);
    }
    toy_enc(bytes, &t->blocks.last, 1000, 9);
    assert_int_equal(toy_decode(t, &b, cd_bytes_of(bytes, TOY_SIZE), NULL), CD_OK);
    b->span = 1000;
    cd_blocks_add(&t->blocks, &b, b, true);
    assert_int_equal(b->status, CD_VM_VERIFIED);
    assert_int_equal(cd_blocks_reject(&t->blocks, b), CD_OK);
    cd_blocks_release(&t->blocks, b);
    t->vm.ops->close(&t->vm);
    cd_kv_close(kv);
}

static void test_ancestors(void **state)
{
    (void)state;
    enum { EACH = TOY_SIZE + 4 };
    cd_kv *kv = cd_kv_mem_open();
    toy *t = (toy *)(void *)toy_open(kv, TOY_IS_GOOD);
    cd_vm_block *a = add(t, NULL, 2);
    cd_vm_block *b = add(t, a, 3);
    cd_buf out = {0};
    assert_int_equal(cd_vm_ancestors(&t->vm, &out, &b->id, 100, 1 << 20, NULL, 0), CD_OK);
    assert_int_equal(out.n, 3 * EACH);
    assert_memory_equal(out.p + 4, b->bytes.p, TOY_SIZE);
    assert_memory_equal(out.p + EACH + 4, a->bytes.p, TOY_SIZE);
    cd_buf_clear(&out);
    assert_int_equal(cd_vm_ancestors(&t->vm, &out, &b->id, 2, 1 << 20, NULL, 0), CD_OK);
    assert_int_equal(out.n, 2 * EACH);
    cd_buf_clear(&out);
    assert_int_equal(cd_vm_ancestors(&t->vm, &out, &b->id, 100, 2 * EACH - 1, NULL, 0), CD_OK);
    assert_int_equal(out.n, EACH);
    cd_buf_clear(&out);
    assert_int_equal(cd_vm_ancestors(&t->vm, &out, &(cd_hash32){.b = {7}}, 100, 1 << 20, NULL, 0), CD_ENOENT);
    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 0);
    cd_buf_clear(&out);
    assert_int_equal(cd_vm_ancestors(&t->vm, &out, &b->id, 100, 1 << 20, &clock.clock, 1), CD_OK);
    assert_int_equal(out.n, 3 * EACH);
    cd_buf_clear(&out);
    assert_int_equal(cd_vm_ancestors(&t->vm, &out, &b->id, 100, 1 << 20, &clock.clock, 0), CD_OK);
    assert_int_equal(out.n, EACH); /* the first block is given however late it is */
    cd_bytes in[] = {a->bytes, cd_bytes_str("no block"), b->bytes};
    cd_vm_block *parsed[3];
    cd_vm_parse_many(&t->vm, parsed, in, CD_COUNT(in));
    assert_true(parsed[0] == a && parsed[1] == NULL && parsed[2] == b);
    cd_buf_fini(&out);
    cd_vm_block *held[] = {a, a, b, b};
    for (usize i = 0; i < CD_COUNT(held); i++) {
        cd_blocks_release(&t->blocks, held[i]);
    }
    t->vm.ops->close(&t->vm);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract), cmocka_unit_test(test_contract_notices), cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_heights),  cmocka_unit_test(test_ancestors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
