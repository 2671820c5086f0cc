/* The contract of vm/vm.h, kept by the notes in this process, and by the same program as a plugin behind the host. */
#include "notes.h"

#include "base/mem/mem.h"
#include "crypto/bls/bls.h"
#include "plugin/host/vm.h"
#include "vm/test/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *plugin_path;
static u8 bls_key[48];

static cd_vm_ctx ctx_of(cd_kv *kv)
{
    return (cd_vm_ctx){
        .kv = kv,
        .clock = cd_clock_real(),
        .genesis = cd_bytes_str("ticks"),
        .network_id = 1337,
        .name = "N",
    };
}

static void want_nothing(void *ctx, cd_vm *vm)
{
    (void)ctx;
    (void)vm;
}

static cd_vm *open_here(void *ctx, cd_kv *kv)
{
    const cd_vm_ctx c = ctx_of(kv);
    cd_vm *vm = NULL;
    (void)ctx;
    assert_int_equal(notes_open(&vm, &c, NULL), CD_OK);
    return vm;
}

/* ctx: not NULL for a plugin that hears of acceptance when the block is in the store. */
static cd_vm *open_plugin(void *ctx, cd_kv *kv)
{
    static cd_plugin_vm_cfg cfg;
    cd_vm_ctx c = ctx_of(kv);
    cd_vm *vm = NULL;
    cd_errinfo why = {0};
    cfg = (cd_plugin_vm_cfg){
        .path = plugin_path, .bls_key = cd_bytes_of(bls_key, sizeof bls_key), .has_own_store = ctx != NULL};
    c.dev = &cfg;
    cd_err e = cd_plugin_vm_open(&vm, &c, &why);
    if (e != CD_OK) {
        fail_msg("%s", why.msg);
    }
    return vm;
}

static void test_contract_here(void **state)
{
    (void)state;
    const contract_rig rig = {.open = open_here, .want = want_nothing};
    const char *broken = contract_check(&rig);
    if (broken != NULL) {
        fail_msg("%s", broken);
    }
}

/* Makes the first block of a chain of notes. */
static cd_buf first_block(void)
{
    cd_kv *kv = cd_kv_mem_open();
    const cd_vm_ctx c = ctx_of(kv);
    cd_vm *vm = NULL;
    cd_vm_block *b = NULL;
    cd_buf bytes = {0};
    assert_int_equal(notes_open(&vm, &c, NULL), CD_OK);
    assert_int_equal(notes_post(vm, cd_bytes_str("first")), CD_OK);
    assert_int_equal(vm->ops->build(vm, &b, &contract_no_ctx, NULL), CD_OK);
    cd_buf_put(&bytes, b->bytes);
    vm->ops->release(vm, b);
    vm->ops->close(vm);
    cd_kv_close(kv);
    return bytes;
}

static u64 height_of(cd_vm *vm)
{
    cd_hash32 id;
    u64 height;
    vm->ops->last_accepted(vm, &id, &height);
    return height;
}

/* With a store of its own a plugin is never ahead of the node's: it hears of a block when that is committed. */
static void test_a_plugin_with_an_own_store(void **state)
{
    static char own;
    cd_kv *kv = cd_kv_mem_open();
    cd_buf bytes = first_block();
    (void)state;
    for (u32 told = 0; told < 2; told++) {
        cd_kv_batch batch = {0};
        cd_vm *vm = open_plugin(&own, kv);
        cd_vm_block *b = NULL;
        assert_int_equal(vm->ops->parse(vm, &b, cd_buf_bytes(&bytes), NULL), CD_OK);
        assert_int_equal(vm->ops->verify(vm, b, &contract_no_ctx, NULL), CD_OK);
        cd_kv_batch_for(&batch, kv);
        assert_int_equal(vm->ops->accept(vm, b, &batch, NULL), CD_OK);
        assert_int_equal(cd_kv_commit(kv, &batch, CD_KV_SYNC, NULL), CD_OK);
        if (told == 1) {
            assert_int_equal(vm->ops->accepted(vm, b, NULL), CD_OK);
        }
        vm->ops->release(vm, b);
        vm->ops->close(vm);
        vm = open_plugin(&own, kv);
        assert_int_equal(height_of(vm), told);
        vm->ops->close(vm);
        cd_kv_batch_fini(&batch);
    }
    cd_buf_fini(&bytes);
    cd_kv_close(kv);
}

static void test_contract_as_plugin(void **state)
{
    (void)state;
    const contract_rig rig = {.open = open_plugin, .want = want_nothing};
    const char *broken = contract_check(&rig);
    if (broken != NULL) {
        fail_msg("%s", broken);
    }
}

/* Notes wait, come into a block, and wait no more. */
static void test_notes(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    cd_vm_ctx c = ctx_of(kv);
    cd_vm *vm = NULL;
    cd_vm_block *b = NULL;
    u8 longest[257] = {0};
    c.genesis = cd_bytes_str("first");
    assert_int_equal(notes_open(&vm, &c, NULL), CD_OK);
    contract_vm v = {.kv = kv, .vm = vm};
    assert_int_equal(vm->ops->build(vm, &b, &contract_no_ctx, NULL), CD_ENOENT);
    memset(longest, 'a', sizeof longest);
    assert_int_equal(notes_post(vm, cd_bytes_of(longest, sizeof longest)), CD_EINVAL);
    assert_int_equal(notes_post(vm, (cd_bytes){0}), CD_EINVAL);
    assert_int_equal(notes_post(vm, cd_bytes_str("\xff")), CD_EINVAL);
    assert_int_equal(notes_post(vm, cd_bytes_str("hello")), CD_OK);
    assert_int_equal(vm->ops->build(vm, &b, &contract_no_ctx, NULL), CD_OK);
    assert_int_equal(contract_verify(&v, b), CD_OK);
    assert_int_equal(contract_accept(&v, b), CD_OK);
    contract_drop(&v, b);
    assert_int_equal(vm->ops->build(vm, &b, &contract_no_ctx, NULL), CD_ENOENT);
    for (u32 i = 0; i < 1024; i++) {
        assert_int_equal(notes_post(vm, cd_bytes_str("again")), CD_OK);
    }
    assert_int_equal(notes_post(vm, cd_bytes_str("again")), CD_EFULL);
    vm->ops->close(vm);
    cd_kv_close(kv);
}

int main(int argc, char **argv)
{
    cd_bls_sk sk;
    cd_bls_pk pk;
    const u8 ikm[32] = {1};
    plugin_path = argc > 1 ? argv[1] : "notes-vm";
    if (cd_bls_keygen(&sk, cd_bytes_of(ikm, sizeof ikm)) != CD_OK || cd_bls_pk_of(&pk, &sk) != CD_OK) {
        return 1;
    }
    cd_bls_pk_enc(bls_key, &pk);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract_here),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_contract_as_plugin),
        cmocka_unit_test(test_a_plugin_with_an_own_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
