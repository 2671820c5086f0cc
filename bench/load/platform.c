/* bench-platform: import of blocks of the P-Chain, each with a transfer, from their bytes to a store in memory.
 *
 *   bench-platform [BLOCKS]
 *
 * The blocks are made by one chain and imported by another, which has seen none of the signatures. One JSON line with
 * processor time. [spec:bench#0] */
#include "chains/platform/test/ledger.h"
#include "lab/cputime.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 10000, BLOCKS_MAX = 50000, LIMIT_S = 2 };

/* Makes a block with one transfer, and keeps its bytes. */
static cd_bytes make(ledger *l, cd_arena *keep, u32 number)
{
    const cd_vm_block_ctx none = {0};
    cd_vm_block *b = NULL;
    cd_hash32 id;
    cd_bytes tx = ledger_transfer(l, 1000 + number, number % LEDGER_KEYS, (number + 1) % LEDGER_KEYS);
    CD_ASSERT(ledger_issue(l, &id, tx, NULL) == CD_OK);
    ledger_wait(l, 1);
    CD_ASSERT(l->vm->ops->build(l->vm, &b, &none, NULL) == CD_OK);
    cd_bytes bytes = cd_arena_dup(keep, b->bytes);
    ledger_take(l, b);
    l->vm->ops->release(l->vm, b);
    return bytes;
}

static void import(cd_vm *vm, cd_kv *store, cd_kv_batch *batch, cd_bytes bytes)
{
    const cd_vm_block_ctx none = {0};
    cd_vm_block *b = NULL;
    CD_ASSERT(vm->ops->parse(vm, &b, bytes, NULL) == CD_OK);
    CD_ASSERT(vm->ops->verify(vm, b, &none, NULL) == CD_OK);
    cd_kv_batch_for(batch, store);
    CD_ASSERT(vm->ops->accept(vm, b, batch, NULL) == CD_OK);
    CD_ASSERT(cd_kv_commit(store, batch, CD_KV_NOSYNC, NULL) == CD_OK);
    CD_ASSERT(vm->ops->accepted(vm, b, NULL) == CD_OK);
    vm->ops->release(vm, b);
}

int main(int argc, char **argv)
{
    u64 cnt = argc > 1 ? strtoull(argv[1], NULL, 10) : BLOCKS;
    ledger l;
    cd_arena keep = {0};
    cd_kv_batch batch = {0};
    cnt = cnt == 0 || cnt > BLOCKS_MAX ? BLOCKS : cnt;
    ledger_init(&l);
    cd_bytes *blocks = cd_arena_array(&keep, cd_bytes, cnt);
    for (u32 i = 0; i < cnt; i++) {
        blocks[i] = make(&l, &keep, i);
    }
    cd_kv *store = cd_kv_mem_open();
    cd_vm *vm = ledger_open(&l, store);
    CD_ASSERT(vm->ops->set_state(vm, CD_VM_NORMAL, NULL) == CD_OK);
    u64 start = cd_lab_process_cpu_ns();
    for (usize i = 0; i < cnt; i++) {
        import(vm, store, &batch, blocks[i]);
    }
    u64 took = cd_lab_process_cpu_ns() - start;
    (void)printf("{\"name\":\"platform/import\",\"blocks\":%llu,\"cpu_s\":%.3f,\"cpu_us_per_block\":%.1f,"
                 "\"limit_cpu_s\":%.3f}\n",
                 (unsigned long long)cnt, (double)took / 1e9, (double)took / 1e3 / (double)cnt,
                 LIMIT_S * (double)cnt / BLOCKS);
    cd_kv_batch_fini(&batch);
    vm->ops->close(vm);
    cd_kv_close(store);
    ledger_fini(&l);
    cd_arena_fini(&keep);
    return 0;
}
