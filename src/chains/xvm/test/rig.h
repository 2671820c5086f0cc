/* chains/xvm/test/rig.h - an X-Chain of a test: a genesis with an asset, two keys, transactions of them. Included by
 * one file each. */
#ifndef CD_CHAINS_XVM_TEST_RIG_H
#define CD_CHAINS_XVM_TEST_RIG_H

#include "chains/utxo/fx.h"
#include "chains/utxo/store.h"
#include "chains/xvm/xvm_priv.h"
#include "crypto/ec/secp256k1.h"
#include "vm/shared/memory.h"

#define RIG_UNUSED __attribute__((unused)) static

enum { RIG_NETWORK = 12345, RIG_COINS = 64, RIG_FEE = 1000000 };
#define RIG_COIN 1000000000000ull

typedef struct rig_clock {
    cd_clock base;
    u64 now_s;
} rig_clock;

typedef struct rig_host {
    cd_vm_host base;
    usize told;
} rig_host;

/* Two keys: who owns the coins, and another. */
typedef struct xrig {
    u8 secret[2][32];
    cd_addr20 addr[2];
    cd_buf genesis;
    cd_hash32 chain_id;
    cd_hash32 peer_id; /* another chain, called C */
    cd_vm_primary primary;
    cd_kv *store;
    cd_kv *kv;   /* of the chain */
    cd_kv *part; /* shared memory */
    cd_vm_memory memory;
    cd_vm_memory peer;
    rig_clock clock;
    rig_host host;
    cd_vm *vm;
    cd_hash32 asset;
    const cd_vm_sender *sender; /* NULL: it is alone */
    cd_rng rng;
} xrig;

RIG_UNUSED u64 rig_now(const cd_clock *c)
{
    return ((const rig_clock *)(const void *)c)->now_s * CD_NS_PER_SEC;
}

RIG_UNUSED void rig_notify(cd_vm_host *h, cd_vm_event event)
{
    (void)event;
    ((rig_host *)(void *)h)->told++;
}

RIG_UNUSED void rig_keys(xrig *r)
{
    for (int i = 0; i < 2; i++) {
        u8 pub[64];
        memset(r->secret[i], 7 + i, 32);
        cd_err e = cd_secp256k1_pub(pub, r->secret[i]);
        CD_ASSERT(e == CD_OK);
        cd_secp256k1_short_addr(&r->addr[i], pub);
    }
}

/* One asset, of which the first key holds RIG_COINS coins, and may mint. */
RIG_UNUSED void rig_genesis(xrig *r)
{
    cd_transfer_output coin[RIG_COINS];
    cd_linear_any outs[RIG_COINS + 1];
    cd_owners owner = {.threshold = 1, .addrs = {.v = &r->addr[0], .cnt = 1}};
    outs[0] = (cd_linear_any){.is = cd_x_case(CD_X_SECP_MINT_OUTPUT), .v = &owner};
    for (u32 i = 0; i < RIG_COINS; i++) {
        coin[i] = (cd_transfer_output){.amount = RIG_COIN + i, .owners = owner};
        outs[i + 1] = (cd_linear_any){.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &coin[i]};
    }
    cd_x_initial_state state = {.outs = {.v = outs, .cnt = RIG_COINS + 1}};
    cd_x_genesis_asset asset = {.alias = cd_bytes_str("COIN"),
                                .tx = {.base = {.network_id = RIG_NETWORK},
                                       .name = cd_bytes_str("Coin"),
                                       .symbol = cd_bytes_str("COIN"),
                                       .denomination = 9,
                                       .states = {.v = &state, .cnt = 1}}};
    cd_x_genesis g = {.assets = {.v = &asset, .cnt = 1}};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_CREATE_ASSET), .v = &asset.tx}};
    cd_linear_put(&r->genesis, &cd_x_genesis_table, &g);
    cd_x_tx_id(&r->asset, &tx);
}

RIG_UNUSED cd_vm *rig_open(xrig *r, cd_kv *kv, const char *config)
{
    cd_vm_ctx ctx = {.kv = kv,
                     .host = &r->host.base,
                     .clock = &r->clock.base,
                     .sender = r->sender,
                     .rng = &r->rng,
                     .shared = &r->memory.shared,
                     .primary = &r->primary,
                     .genesis = cd_buf_bytes(&r->genesis),
                     .config = cd_bytes_str(config),
                     .network_id = RIG_NETWORK,
                     .chain_id = r->chain_id,
                     .name = "X",
                     .is_stepped = true};
    cd_vm *vm = NULL;
    cd_errinfo why = {0};
    cd_err e = cd_xvm_open(&vm, &ctx, &why);
    CD_ASSERT(e == CD_OK);
    e = vm->ops->set_state(vm, CD_VM_NORMAL, NULL);
    CD_ASSERT(e == CD_OK);
    return vm;
}

RIG_UNUSED void rig_init(xrig *r, const char *config)
{
    *r = (xrig){.clock = {.base = {.mono_ns = rig_now, .wall_ns = rig_now}, .now_s = 1700000000},
                .host.base.notify = rig_notify,
                .chain_id = {{1, 2, 3}},
                .peer_id = {{9, 9, 9}},
                .store = cd_kv_mem_open(),
                .rng = cd_rng_seeded(1)};
    r->primary = (cd_vm_primary){.x_chain_id = r->chain_id, .c_chain_id = r->peer_id};
    r->kv = cd_kv_prefix_open(r->store, cd_bytes_str("x"));
    r->part = cd_kv_prefix_open(r->store, cd_bytes_str("m"));
    cd_vm_memory_init(&r->memory, r->part, &r->chain_id);
    cd_vm_memory_init(&r->peer, r->part, &r->peer_id);
    rig_keys(r);
    rig_genesis(r);
    r->vm = rig_open(r, r->kv, config);
}

RIG_UNUSED void rig_fini(xrig *r)
{
    r->vm->ops->close(r->vm);
    cd_kv_close(r->kv);
    cd_kv_close(r->part);
    cd_kv_close(r->store);
    cd_buf_fini(&r->genesis);
}

/* --- transactions --- */

/* Signs with one key for cnt credentials of one signature each, of these kinds (NULL: secp256k1fx); out is the whole.
 */
RIG_UNUSED void rig_sign(const xrig *r, cd_buf *out, cd_x_tx *tx, const cd_x_type *kinds, u32 cnt, int key)
{
    cd_arena a = {0};
    cd_xvm_tx t;
    cd_signature sig;
    cd_credential cred = {.sigs = {.v = &sig, .cnt = 1}};
    cd_linear_any *creds = cd_arena_array(&a, cd_linear_any, cnt);
    tx->creds = (cd_linear_list){0};
    cd_xvm_tx_of(&t, &a, tx);
    cd_err e = cd_fx_sign(&sig, &t.hash, &r->secret[key], 1);
    CD_ASSERT(e == CD_OK);
    for (u32 i = 0; i < cnt; i++) {
        creds[i] = (cd_linear_any){.is = cd_x_case(kinds == NULL ? CD_X_SECP_CREDENTIAL : kinds[i]), .v = &cred};
    }
    tx->creds = (cd_linear_list){.v = creds, .cnt = cnt};
    cd_buf_clear(out);
    cd_linear_put(out, &cd_x_tx_table, tx);
    cd_arena_fini(&a);
}

/* What a simple transfer is made of: one output spent, one made. The struct must stay where it is. */
typedef struct rig_transfer {
    u32 index;
    cd_transfer_input in;
    cd_x_input input;
    cd_transfer_output out;
    cd_x_output output;
    cd_x_base base;
} rig_transfer;

/* Spends an output of amount to a key, minus fee. */
RIG_UNUSED void rig_transfer_init(const xrig *r, rig_transfer *t, const cd_hash32 *tx_id, u32 idx, u64 amount, u64 fee,
                                  int to)
{
    *t = (rig_transfer){.in = {.amount = amount, .sig_indices = {.v = &t->index, .cnt = 1}},
                        .out = {.amount = amount - fee,
                                .owners = {.threshold = 1, .addrs = {.v = (void *)(uintptr_t)&r->addr[to], .cnt = 1}}}};
    t->input = (cd_x_input){.tx_id = *tx_id,
                            .output_idx = idx,
                            .asset_id = r->asset,
                            .in = {.is = cd_x_case(CD_X_SECP_INPUT), .v = &t->in}};
    t->output = (cd_x_output){.asset_id = r->asset, .out = {.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &t->out}};
    t->base = (cd_x_base){.network_id = RIG_NETWORK,
                          .chain_id = r->chain_id,
                          .outs = {.v = &t->output, .cnt = 1},
                          .ins = {.v = &t->input, .cnt = 1}};
}

/* Prepares to spend the n-th coin of the genesis. */
RIG_UNUSED void rig_coin_init(const xrig *r, rig_transfer *t, u32 n, int to)
{
    rig_transfer_init(r, t, &r->asset, n + 1, RIG_COIN + n, RIG_FEE, to);
}

/* Spends it. */
RIG_UNUSED void rig_coin(const xrig *r, cd_buf *out, u32 n, int to)
{
    rig_transfer t;
    rig_coin_init(r, &t, n, to);
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &t.base}};
    rig_sign(r, out, &tx, NULL, 1, 0);
}

/* --- blocks --- */

RIG_UNUSED cd_err rig_accept(xrig *r, cd_vm_block *b)
{
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, r->kv);
    cd_err e = r->vm->ops->accept(r->vm, b, &batch, NULL);
    cd_kv_batch_widen(&batch);
    e = e != CD_OK ? e : cd_kv_commit(r->store, &batch, CD_KV_SYNC, NULL);
    e = e != CD_OK ? e : r->vm->ops->accepted(r->vm, b, NULL);
    cd_kv_batch_fini(&batch);
    return e;
}

/* Builds a block of what waits, and accepts it. */
RIG_UNUSED cd_err rig_step(xrig *r)
{
    static const cd_vm_block_ctx no_ctx;
    cd_vm_block *b = NULL;
    cd_err e = r->vm->ops->build(r->vm, &b, &no_ctx, NULL);
    if (e == CD_OK) {
        e = r->vm->ops->verify(r->vm, b, &no_ctx, NULL);
        e = e != CD_OK ? e : rig_accept(r, b);
        r->vm->ops->release(r->vm, b);
    }
    return e;
}

#endif
