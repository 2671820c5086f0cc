/* Blocks of the P-Chain from arbitrary bytes, read and carried out on a chain of its own; what is read is also tried
 * with the parent, height and time that fit, so that its transactions are reached, and each of these is issued. Nothing
 * may change what is accepted. */
#include "chains/platform/test/ledger.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static const cd_vm_block_ctx none;

/* Verifies and rejects. */
static void try_block(ledger *l, cd_bytes bytes)
{
    cd_vm_block *b = NULL;
    cd_vm_block *options[2];
    cd_errinfo why = {0};
    const cd_vm_ops *ops = l->vm->ops;
    if (ops->parse(l->vm, &b, bytes, &why) != CD_OK) {
        return;
    }
    bool is_good = b->status == CD_VM_UNKNOWN && ops->verify(l->vm, b, &none, &why) == CD_OK;
    if (is_good && ops->options(l->vm, options, b, NULL) == CD_OK) {
        for (int i = 0; i < 2; i++) {
            CD_ASSERT(ops->verify(l->vm, options[i], &none, &why) == CD_OK);
        }
        for (int i = 0; i < 2; i++) {
            CD_ASSERT(ops->reject(l->vm, options[i]) == CD_OK);
            ops->release(l->vm, options[i]);
        }
    }
    if (is_good) {
        CD_ASSERT(ops->reject(l->vm, b) == CD_OK);
    }
    ops->release(l->vm, b);
}

static void try_fitting(ledger *l, cd_arena *a, cd_bytes bytes)
{
    cd_p_block block = {.body = {.is = NULL}};
    cd_buf out = {0};
    u64 height;
    if (cd_linear_parse(&block, &cd_p_block_table, a, bytes, 0, NULL) != CD_OK) {
        return;
    }
    cd_p_block_body *body = cd_p_block_body_of(&block);
    l->vm->ops->last_accepted(l->vm, &body->parent, &height);
    body->height = height + 1;
    if (body->time > LEDGER_TIME + 100) {
        body->time = LEDGER_TIME + 100;
    }
    cd_linear_put(&out, &cd_p_block_table, &block);
    try_block(l, cd_buf_bytes(&out));
    for (u32 i = 0; i < body->txs.cnt && i < 4; i++) {
        cd_hash32 id;
        cd_ptx tx;
        cd_ptx_make(&tx, a, (const cd_p_tx *)body->txs.v + i);
        if (cd_platform_vm_issue(l->vm, &id, tx.bytes, NULL) == CD_OK) {
            cd_p_pool_remove(cd_pchain_pool(cd_platform_vm_chain(l->vm)), &id);
        }
    }
    cd_buf_fini(&out);
}

/* Opened once: nothing that is tried stays. */
static ledger *chain(void)
{
    static ledger l;
    static bool is_open;
    if (!is_open) {
        is_open = true;
        ledger_init(&l);
    }
    return &l;
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    cd_hash32 last;
    u64 height;
    ledger *l = chain();
    try_block(l, cd_bytes_of(data, size));
    try_fitting(l, &a, cd_bytes_of(data, size));
    l->vm->ops->last_accepted(l->vm, &last, &height);
    CD_ASSERT(height == 0);
    cd_arena_fini(&a);
    return 0;
}
