/* Two nodes' C-Chains on a wire: transactions of accounts and atomic ones that one is given wait at both; what peers
 * send is taken on no other terms than a client's. */
#include "base/hex.h"
#include "chains/evmchain/core/pool/pool.h"
#include "chains/evmchain/test/atomic_rig.h"
#include "types/tx_codec.h"
#include "vm/gossip/test/wire.h"

static cd_clock_virtual clock;
static rig_keys keys;
static cd_buf genesis;
static cd_kv *stores[2];
static pair_rig rigs[2];
static wire wires[2];
static cd_buf reply;

static void begin(void)
{
    cd_clock_virtual_init(&clock, (RIG_START + 100) * CD_NS_PER_SEC);
    rig_keys_init(&keys);
    const char *end_of_it = strstr(rig_genesis_l1, "\"alloc\"");
    cd_buf_clear(&genesis);
    cd_buf_put(&genesis, cd_bytes_of(rig_genesis_l1, (usize)(end_of_it - rig_genesis_l1)));
    cd_buf_str(&genesis, "\"alloc\":{\"");
    cd_hex_put(&genesis, cd_bytes_of(keys.eth[0].b, 20));
    cd_buf_str(&genesis, "\":{\"balance\":\"0x56bc75e2d63100000\"}}}");
    for (u8 i = 0; i < 2; i++) {
        wire_init(&wires[i], 1 + i);
        stores[i] = cd_kv_mem_open();
        rig_open_on(&rigs[i], stores[i], "C", cd_buf_cstr(&genesis), &clock);
        rigs[i].vm->ops->close(rigs[i].vm);
        rigs[i].sender = &wires[i].sender;
        rig_open_vm(&rigs[i]);
    }
    wires[0].to = rigs[1].vm;
    wires[1].to = rigs[0].vm;
}

static void end(void)
{
    for (u32 i = 0; i < 2; i++) {
        rig_close_on(&rigs[i]);
        cd_kv_close(stores[i]);
        wire_fini(&wires[i]);
    }
    cd_buf_fini(&reply);
    cd_buf_fini(&genesis);
}

static void wake(u32 i)
{
    (void)rigs[i].vm->ops->wake(rigs[i].vm);
}

static void count_txs(void *arg, cd_txpool *pool)
{
    *(usize *)arg = cd_txpool_cnt(pool);
}

static usize waiting(u32 i)
{
    usize cnt = 0;
    assert_int_equal(cd_evm_vm_with_pool(rigs[i].vm, count_txs, &cnt), CD_OK);
    return cnt;
}

static void make_tx(cd_buf *out, u64 nonce, u32 from)
{
    cd_tx tx = {.type = CD_TX_DYNAMIC_FEE, .chain_id = RIG_NETWORK, .is_protected = true, .gas_limit = 21000};
    tx.nonce = nonce;
    tx.fee_cap = cd_u256_from_u64(100000000000);
    tx.tip_cap = cd_u256_from_u64(1000000000);
    tx.value = cd_u256_from_u64(1 + nonce);
    tx.to = keys.eth[1];
    assert_int_equal(cd_tx_sign(&tx, keys.secret[from]), CD_OK);
    cd_buf_clear(out);
    cd_tx_enc(out, &tx);
}

/* Gives a signed transaction to a node as a client does. */
static void give(u32 i, const cd_buf *raw)
{
    cd_buf body = {0};
    cd_buf_str(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_sendRawTransaction\",\"params\":[\"");
    cd_hex_put(&body, cd_buf_bytes(raw));
    cd_buf_str(&body, "\"]}");
    rig_ask(&rigs[i], &reply, "/rpc", cd_buf_cstr(&body));
    if (strstr(cd_buf_cstr(&reply), "\"error\"") != NULL) {
        fail_msg("%s", cd_buf_cstr(&reply));
    }
    cd_buf_fini(&body);
}

static void accounts(void **state)
{
    (void)state;
    cd_buf raw = {0};
    begin();
    make_tx(&raw, 1, 0);
    give(0, &raw);
    wake(0);
    assert_int_equal(wires[0].gossips, 0); /* there is a gap before it */
    make_tx(&raw, 0, 0);
    give(0, &raw);
    u64 wanted = rigs[1].host.wanted;
    wake(0);
    assert_int_equal(wires[0].gossips, 1);
    assert_int_equal(wires[0].said.p[0], CD_P2P_HANDLER_TX);
    assert_int_equal(waiting(1), 2);
    assert_true(rigs[1].host.wanted > wanted);
    wake(1);
    assert_int_equal(wires[1].gossips, 0); /* who heard it does not tell it */
    cd_clock_virtual_advance(&clock, 31 * CD_NS_PER_SEC);
    wake(0);
    assert_int_equal(wires[0].gossips, 2); /* again, as long as it waits */
    assert_int_equal(waiting(1), 2);
    cd_buf_fini(&raw);
    end();
}

static void atomic(void **state)
{
    (void)state;
    rig_tx t;
    begin();
    assert_int_equal(rig_x_export(&rigs[0], &keys.shorts[0], 1, RIG_UNIT), CD_OK);
    assert_int_equal(rig_x_export(&rigs[1], &keys.shorts[0], 1, RIG_UNIT), CD_OK);
    rig_import_many(&t, &keys, 0, 1, 1, RIG_UNIT, 10000, &keys.eth[1]);
    assert_null(rig_issue(&rigs[0], &reply, t.tx.bytes));
    u64 wanted = rigs[1].host.wanted;
    wake(0);
    assert_int_equal(wires[0].gossips, 1);
    assert_int_equal(wires[0].said.p[0], CD_P2P_HANDLER_ATOMIC_TX);
    assert_int_equal(rigs[1].host.wanted, wanted + 1);
    wire_push(rigs[1].vm, CD_P2P_HANDLER_ATOMIC_TX, t.tx.bytes);
    assert_int_equal(rigs[1].host.wanted, wanted + 1); /* it waits already */
    cd_arena_fini(&t.arena);
    end();
}

static void what_peers_may_not(void **state)
{
    (void)state;
    cd_buf raw = {0};
    rig_tx t;
    begin();
    cd_vm *vm = rigs[1].vm;
    u64 wanted = rigs[1].host.wanted;
    wire_push(vm, CD_P2P_HANDLER_TX, cd_bytes_str("no transaction"));
    wire_push(vm, CD_P2P_HANDLER_ATOMIC_TX, cd_bytes_str("no transaction"));
    make_tx(&raw, 0, 2); /* has no money */
    wire_push(vm, CD_P2P_HANDLER_TX, cd_buf_bytes(&raw));
    rig_import_many(&t, &keys, 0, 1, 1, RIG_UNIT, 10000, &keys.eth[1]); /* of what is not there */
    wire_push(vm, CD_P2P_HANDLER_ATOMIC_TX, t.tx.bytes);
    make_tx(&raw, 0, 0);
    wire_push(vm, CD_P2P_HANDLER_ATOMIC_TX, cd_buf_bytes(&raw)); /* the wrong door */
    assert_int_equal(rigs[1].host.wanted, wanted);
    assert_int_equal(waiting(1), 0);
    assert_int_equal(vm->ops->set_state(vm, CD_VM_BOOTSTRAPPING, NULL), CD_OK);
    wire_push(vm, CD_P2P_HANDLER_TX, cd_buf_bytes(&raw));
    assert_int_equal(waiting(1), 0); /* the state is not the one it is for */
    assert_int_equal(vm->ops->set_state(vm, CD_VM_NORMAL, NULL), CD_OK);
    wire_push(vm, CD_P2P_HANDLER_TX, cd_buf_bytes(&raw));
    assert_int_equal(waiting(1), 1);
    wake(1);
    assert_int_equal(wires[1].gossips, 0);
    cd_arena_fini(&t.arena);
    cd_buf_fini(&raw);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts),
        cmocka_unit_test(atomic),
        cmocka_unit_test(what_peers_may_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
