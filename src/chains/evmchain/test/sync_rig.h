/* chains/evmchain/test/sync_rig.h - a chain of the L1 family that somebody syncs from: a VM without a network, blocks
 * with a call and a transfer each. Test code. */
#ifndef CD_CHAINS_EVMCHAIN_TEST_SYNC_RIG_H
#define CD_CHAINS_EVMCHAIN_TEST_SYNC_RIG_H

#include "base/hex.h"
#include "chains/evmchain/core/view.h"
#include "chains/evmchain/state_sync.h"
#include "chains/evmchain/sync/check.h"
#include "chains/evmchain/test/atomic_rig.h"
#include "p2p/sdk.h"
#include "types/tx_codec.h"

enum { STEP = 4, TARGET = 0x77 };

/* Who asks: one question at a time. */
typedef struct asker {
    cd_vm_sender sender; /* first */
    cd_buf answer;
    i32 code;
    u32 answers;
    u32 errors;
} asker;

typedef struct fixture {
    cd_clock_virtual clock;
    rig_keys keys;
    cd_buf genesis;
    pair_rig rig;
    asker asker;
    cd_arena a;
    u64 nonce;
} fixture;

CD_INLINE asker *asker_of(const cd_vm_sender *s)
{
    return (asker *)(usize)(const void *)s;
}

CD_INLINE void on_response(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    asker *x = asker_of(s);
    (void)to;
    assert_int_equal(id, 6);
    cd_buf_clear(&x->answer);
    cd_buf_put(&x->answer, msg);
    x->answers++;
}

CD_INLINE void on_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 code, cd_bytes message)
{
    asker *x = asker_of(s);
    (void)to;
    (void)id;
    (void)message;
    x->code = code;
    x->errors++;
}

CD_INLINE void on_request(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    (void)s;
    (void)to;
    (void)id;
    (void)msg;
}

CD_INLINE void on_gossip(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg)
{
    (void)s;
    (void)to;
    (void)msg;
}

/* Without a primary network there are no imports and exports. */
CD_INLINE void open_vm(fixture *f)
{
    cd_errinfo why = {0};
    const cd_vm_ctx ctx = {
        .kv = f->rig.store,
        .host = &f->rig.host.host,
        .clock = &f->clock.clock,
        .rng = &f->rig.rng,
        .sender = &f->asker.sender,
        .name = "L1",
        .genesis = cd_buf_bytes(&f->genesis),
        .config = cd_bytes_str("{\"commit-interval\":4,\"state-sync-commit-interval\":4,\"state-history\":2}"),
        .network_id = RIG_NETWORK,
        .chain_id = {{7}},
        .is_stepped = true,
    };
    if (cd_evm_vm_open(&f->rig.vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(f->rig.vm->ops->set_state(f->rig.vm, CD_VM_NORMAL, NULL), CD_OK);
}

/* A funded account, and a contract that puts the height into a slot of this number. */
CD_INLINE int setup(void **state)
{
    static fixture f;
    f = (fixture){.rig = {.rng = cd_rng_seeded(1)}};
    f.asker.sender = (cd_vm_sender){on_request, on_response, on_error, on_gossip};
    cd_clock_virtual_init(&f.clock, (RIG_START + 100) * CD_NS_PER_SEC);
    rig_keys_init(&f.keys);
    const char *end_of_it = strstr(rig_genesis_l1, "\"alloc\"");
    cd_buf_put(&f.genesis, cd_bytes_of(rig_genesis_l1, (usize)(end_of_it - rig_genesis_l1)));
    cd_buf_str(&f.genesis, "\"alloc\":{\"");
    cd_hex_put(&f.genesis, cd_bytes_of(f.keys.eth[0].b, 20));
    cd_buf_str(&f.genesis, "\":{\"balance\":\"0x56bc75e2d63100000\"},"
                           "\"7700000000000000000000000000000000000000\":{\"balance\":\"0x1\",\"code\":\"0x43435500\"},"
                           "\"7800000000000000000000000000000000000000\":{\"balance\":\"0x1\",\"code\":\"0x43435500\"},"
                           "\"7900000000000000000000000000000000000000\":{\"balance\":\"0x1\",\"code\":\"0x00\"}}}");
    f.rig.store = cd_kv_mem_open();
    f.rig.host.host.notify = rig_notify;
    f.rig.clock = &f.clock;
    open_vm(&f);
    *state = &f;
    return 0;
}

CD_INLINE int teardown(void **state)
{
    fixture *f = *state;
    f->rig.vm->ops->close(f->rig.vm);
    cd_kv_close(f->rig.store);
    cd_buf_fini(&f->genesis);
    cd_buf_fini(&f->asker.answer);
    cd_arena_fini(&f->a);
    return 0;
}

CD_INLINE void send(fixture *f, cd_addr20 to)
{
    cd_tx tx = {.type = CD_TX_DYNAMIC_FEE, .chain_id = RIG_NETWORK, .is_protected = true, .gas_limit = 100000};
    cd_buf raw = {0};
    cd_buf body = {0};
    cd_buf reply = {0};
    tx.nonce = f->nonce++;
    tx.fee_cap = cd_u256_from_u64(100000000000);
    tx.tip_cap = cd_u256_from_u64(1000000000);
    tx.value = cd_u256_from_u64(1);
    tx.to = to;
    assert_int_equal(cd_tx_sign(&tx, f->keys.secret[0]), CD_OK);
    cd_tx_enc(&raw, &tx);
    cd_buf_str(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_sendRawTransaction\",\"params\":[\"");
    cd_hex_put(&body, cd_buf_bytes(&raw));
    cd_buf_str(&body, "\"]}");
    rig_ask(&f->rig, &reply, "/rpc", cd_buf_cstr(&body));
    assert_null(strstr(cd_buf_cstr(&reply), "\"error\""));
    cd_buf_fini(&raw);
    cd_buf_fini(&body);
    cd_buf_fini(&reply);
}

/* One block: a call of the contract, and a transfer to an address of its own. */
CD_INLINE void block(fixture *f)
{
    cd_vm *vm = f->rig.vm;
    cd_vm_block *b;
    cd_kv_batch batch = {0};
    cd_errinfo why = {0};
    const cd_vm_block_ctx ctx = {0};
    cd_addr20 fresh = {{0xaa, (u8)f->nonce}};
    send(f, (cd_addr20){{TARGET}});
    send(f, fresh);
    cd_clock_virtual_advance(&f->clock, 10 * CD_NS_PER_SEC);
    assert_int_equal(vm->ops->build(vm, &b, &ctx, &why), CD_OK);
    assert_int_equal(vm->ops->verify(vm, b, &ctx, &why), CD_OK);
    assert_int_equal(vm->ops->accept(vm, b, &batch, &why), CD_OK);
    assert_int_equal(cd_kv_commit(f->rig.store, &batch, CD_KV_NOSYNC, &why), CD_OK);
    assert_int_equal(vm->ops->accepted(vm, b, &why), CD_OK);
    vm->ops->release(vm, b);
    cd_kv_batch_fini(&batch);
}

#endif
