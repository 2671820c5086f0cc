/* A C-Chain with a fake X-Chain beside it, on one store; keys, and imports and exports signed with them. Test code. */
#ifndef CD_CHAINS_EVMCHAIN_TEST_ATOMIC_RIG_H
#define CD_CHAINS_EVMCHAIN_TEST_ATOMIC_RIG_H

#include "chains/evmchain/atomic/tx.h"
#include "chains/evmchain/evm_vm.h"
#include "chains/utxo/utxo.h"
#include "codec/encoding.h"
#include "crypto/ec/secp256k1.h"
#include "num/u256_text.h"
#include "types/network.h"
#include "vm/shared/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RIG_NETWORK = 1337, RIG_START = 1700000000, RIG_KEYS = 3, RIG_UNIT = 1000000 };

static const u64 rig_rate = 1000000000000;
static const cd_network_family rig_family;
static const cd_network rig_network = {.id = RIG_NETWORK, .prefix = "custom", .decimals = 6, .family = &rig_family};
static const cd_vm_primary rig_primary = {
    .x_chain_id = {{'x'}}, .c_chain_id = {{'c'}}, .asset_id = {{'a'}}, .network = &rig_network};

/* Genesis documents of the two layouts. */
static const char rig_genesis_c[] =
    "{\"config\":{\"chainId\":1337,\"homesteadBlock\":0,\"londonBlock\":0},\"nonce\":\"0x0\",\"timestamp\":"
    "\"0x6553f100\","
    "\"extraData\":\"0x00\",\"gasLimit\":\"0x5f5e100\",\"difficulty\":\"0x0\",\"alloc\":{}}";
static const char rig_genesis_l1[] =
    "{\"config\":{\"chainId\":1337,\"feeConfig\":{\"gasLimit\":8000000,\"targetBlockRate\":2,\"minBaseFee\":"
    "25000000000,"
    "\"targetGas\":15000000,\"baseFeeChangeDenominator\":36,\"minBlockGasCost\":0,\"maxBlockGasCost\":1000000,"
    "\"blockGasCostStep\":200000}},\"nonce\":\"0x0\",\"timestamp\":\"0x6553f100\",\"extraData\":\"0x00\","
    "\"gasLimit\":\"0x7a1200\",\"difficulty\":\"0x0\",\"alloc\":{}}";

/* The host of a VM: nobody builds by himself. */
typedef struct rig_host {
    cd_vm_host host; /* first */
    u64 wanted;      /* times that the VM had something to build */
} rig_host;

CD_INLINE void rig_notify(cd_vm_host *host, cd_vm_event event)
{
    if (event == CD_VM_WANTS_BLOCK) {
        ((rig_host *)(void *)host)->wanted++;
    }
}

typedef struct rig_keys {
    u8 secret[RIG_KEYS][32];
    cd_addr20 eth[RIG_KEYS];
    cd_addr20 shorts[RIG_KEYS];
} rig_keys;

CD_INLINE void rig_keys_init(rig_keys *k)
{
    for (u32 i = 0; i < RIG_KEYS; i++) {
        u8 pub[64];
        memset(k->secret[i], (int)i + 1, 32);
        assert_int_equal(cd_secp256k1_pub(pub, k->secret[i]), CD_OK);
        cd_secp256k1_addr(&k->eth[i], pub);
        cd_secp256k1_short_addr(&k->shorts[i], pub);
    }
}

/* One store with both chains. */
typedef struct pair_rig {
    cd_kv *store;
    cd_kv *own;  /* the C-Chain's part */
    cd_kv *part; /* of shared memory */
    cd_vm_memory of_c;
    cd_vm_memory of_x;
    rig_host host;
    cd_clock_virtual *clock;
    cd_rng rng;
    const char *genesis;
    const char *config; /* NULL: the defaults */
    cd_vm *vm;
    const cd_vm_sender *sender; /* NULL: it is alone */
} pair_rig;

CD_INLINE void rig_open_vm(pair_rig *r)
{
    cd_errinfo why = {0};
    const cd_vm_ctx ctx = {
        .kv = r->own,
        .host = &r->host.host,
        .clock = &r->clock->clock,
        .rng = &r->rng,
        .sender = r->sender,
        .name = "C",
        .genesis = cd_bytes_str(r->genesis),
        .config = r->config == NULL ? (cd_bytes){0} : cd_bytes_str(r->config),
        .network_id = RIG_NETWORK,
        .chain_id = rig_primary.c_chain_id,
        .shared = &r->of_c.shared,
        .primary = &rig_primary,
        .is_stepped = true,
    };
    if (cd_evm_vm_open(&r->vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(r->vm->ops->set_state(r->vm, CD_VM_NORMAL, NULL), CD_OK);
}

/* On a store of the caller's. prefix "": the store is the chain's alone, but for shared memory. */
CD_INLINE void rig_open_on(pair_rig *r, cd_kv *store, const char *prefix, const char *genesis, cd_clock_virtual *clock)
{
    *r = (pair_rig){.store = store, .genesis = genesis, .clock = clock, .rng = cd_rng_seeded(1)};
    r->host.host.notify = rig_notify;
    r->own = cd_kv_prefix_open(store, cd_bytes_str(prefix));
    r->part = cd_kv_prefix_open(store, cd_bytes_str("M"));
    cd_vm_memory_init(&r->of_c, r->part, &rig_primary.c_chain_id);
    cd_vm_memory_init(&r->of_x, r->part, &rig_primary.x_chain_id);
    rig_open_vm(r);
}

CD_INLINE void rig_close_on(pair_rig *r)
{
    r->vm->ops->close(r->vm);
    cd_kv_close(r->part);
    cd_kv_close(r->own);
}

/* --- the fake X-Chain --- */

static const cd_linear_case rig_input_case = {5, &cd_transfer_input_type};
static const cd_linear_case rig_output_case = {7, &cd_transfer_output_type};
static const cd_linear_case rig_credential_case = {9, &cd_credential_type};

CD_INLINE cd_err rig_x_apply(const pair_rig *r, const cd_vm_shared_change *change)
{
    cd_kv_batch batch = {0};
    cd_err e = r->of_x.shared.apply(&r->of_x.shared, &batch, change, 1);
    e = e != CD_OK ? e : cd_kv_commit(r->store, &batch, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&batch);
    return e;
}

/* The n-th output that X leaves: its name is made of n. */
CD_INLINE cd_err rig_x_export(const pair_rig *r, const cd_addr20 *owner, u64 n, u64 amount)
{
    cd_addr20 addrs[1] = {*owner};
    cd_transfer_output out = {.amount = amount, .owners = {.threshold = 1, .addrs = {.v = addrs, .cnt = 1}}};
    cd_utxo u = {.asset_id = rig_primary.asset_id, .out = {.is = &rig_output_case, .v = &out}};
    cd_hash32 id;
    cd_buf value = {0};
    cd_put_be64(u.tx_id.b + 24, n);
    cd_utxo_id(&id, &u.tx_id, 0);
    cd_linear_put(&value, &cd_c_utxo_table, &u);
    const cd_bytes trait = cd_bytes_of(owner->b, 20);
    const cd_vm_shared_elem put = {
        .key = cd_bytes_of(id.b, 32), .value = cd_buf_bytes(&value), .traits = &trait, .trait_cnt = 1};
    const cd_vm_shared_change change = {.peer = rig_primary.c_chain_id, .puts = &put, .put_cnt = 1};
    cd_err e = rig_x_apply(r, &change);
    cd_buf_fini(&value);
    return e;
}

/* --- transactions --- */

typedef struct rig_tx {
    cd_arena arena;
    cd_atomic_tx tx;
} rig_tx;

/* Signs with one key for every input and reads it as from elsewhere. */
CD_INLINE void rig_sign(rig_tx *out, cd_c_tx *tx, const u8 secret[32], u32 inputs)
{
    cd_arena *a = &out->arena;
    cd_buf bytes = {0};
    cd_hash32 hash;
    cd_signature sig;
    cd_linear_put(&bytes, &cd_c_unsigned_table, tx);
    cd_fx_hash(&hash, cd_buf_bytes(&bytes));
    assert_int_equal(cd_fx_sign(&sig, &hash, (const u8(*)[32])(const void *)secret, 1), CD_OK);
    cd_linear_any *creds = cd_arena_array(a, cd_linear_any, inputs);
    for (u32 i = 0; i < inputs; i++) {
        cd_credential *c = cd_arena_new(a, cd_credential);
        cd_signature *s = cd_arena_new(a, cd_signature);
        *s = sig;
        c->sigs = (cd_linear_list){.v = s, .cnt = 1};
        creds[i] = (cd_linear_any){.is = &rig_credential_case, .v = c};
    }
    tx->creds = (cd_linear_list){.v = creds, .cnt = inputs};
    cd_buf_clear(&bytes);
    cd_linear_put(&bytes, &cd_c_tx_table, tx);
    assert_int_equal(cd_atomic_parse(&out->tx, a, cd_buf_bytes(&bytes), NULL), CD_OK);
    cd_buf_fini(&bytes);
}

/* Imports output n of that amount to an account, burning burned; cnt of them from n on. */
CD_INLINE void rig_import_many(rig_tx *out, const rig_keys *k, u32 key, u64 n, u32 cnt, u64 amount, u64 burned,
                               const cd_addr20 *to)
{
    *out = (rig_tx){.arena = {0}};
    cd_arena *a = &out->arena;
    cd_c_input *ins = cd_arena_array(a, cd_c_input, cnt);
    u32 zero = 0;
    for (u32 i = 0; i < cnt; i++) {
        cd_transfer_input *in = cd_arena_new(a, cd_transfer_input);
        *in = (cd_transfer_input){.amount = amount, .sig_indices = {.v = &zero, .cnt = 1}};
        cd_put_be64(ins[i].tx_id.b + 24, n + i);
        ins[i].asset_id = rig_primary.asset_id;
        ins[i].in = (cd_linear_any){.is = &rig_input_case, .v = in};
    }
    cd_c_credit credit = {.addr = *to, .amount = amount * cnt - burned, .asset_id = rig_primary.asset_id};
    cd_c_import body = {
        .network_id = RIG_NETWORK,
        .chain_id = rig_primary.c_chain_id,
        .source_chain = rig_primary.x_chain_id,
        .imported = {.v = ins, .cnt = cnt},
        .outs = {.v = &credit, .cnt = 1},
    };
    cd_c_tx tx = {.body = {.is = &cd_c_tx_table.fields[0].any->cases[0], .v = &body}};
    rig_sign(out, &tx, k->secret[key], cnt);
}

/* Exports amount of an account at a nonce to X, burning burned on top. */
CD_INLINE void rig_export(rig_tx *out, const rig_keys *k, u32 key, u64 nonce, u64 amount, u64 burned)
{
    *out = (rig_tx){.arena = {0}};
    cd_addr20 owner = k->shorts[key];
    cd_c_debit debit = {
        .addr = k->eth[key], .amount = amount + burned, .asset_id = rig_primary.asset_id, .nonce = nonce};
    cd_transfer_output to = {.amount = amount, .owners = {.threshold = 1, .addrs = {.v = &owner, .cnt = 1}}};
    cd_c_output o = {.asset_id = rig_primary.asset_id, .out = {.is = &rig_output_case, .v = &to}};
    cd_c_export body = {
        .network_id = RIG_NETWORK,
        .chain_id = rig_primary.c_chain_id,
        .destination_chain = rig_primary.x_chain_id,
        .ins = {.v = &debit, .cnt = 1},
        .exported = {.v = &o, .cnt = 1},
    };
    cd_c_tx tx = {.body = {.is = &cd_c_tx_table.fields[0].any->cases[1], .v = &body}};
    rig_sign(out, &tx, k->secret[key], 1);
}

/* --- asking --- */

/* The answer of a route, which must exist. */
CD_INLINE void rig_ask(const pair_rig *r, cd_buf *reply, const char *route, const char *body)
{
    usize cnt;
    const cd_vm_handler *h = r->vm->ops->handlers(r->vm, &cnt);
    cd_buf_clear(reply);
    for (usize i = 0; i < cnt; i++) {
        if (strcmp(h[i].route, route) == 0) {
            cd_rpc_serve(h[i].service, reply, cd_bytes_str(body));
            return;
        }
    }
    fail_msg("no route %s", route);
}

/* Issues; gives the error's text, in reply, or NULL. */
CD_INLINE const char *rig_issue(const pair_rig *r, cd_buf *reply, cd_bytes bytes)
{
    cd_buf body = {0};
    cd_buf_str(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"lux.issueTx\",\"params\":{\"tx\":\"");
    cd_encoding_put(&body, CD_ENCODING_HEX, bytes);
    cd_buf_str(&body, "\"}}");
    rig_ask(r, reply, "/lux", cd_buf_cstr(&body));
    cd_buf_fini(&body);
    const char *text = cd_buf_cstr(reply);
    return strstr(text, "\"error\"") == NULL ? NULL : text;
}

CD_INLINE cd_u256 rig_number(const pair_rig *r, const char *method, const cd_addr20 *addr)
{
    char body[256];
    char hex[41] = {0};
    cd_buf reply = {0};
    cd_arena a = {0};
    cd_json doc;
    cd_u256 v;
    for (usize i = 0; i < 20; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", addr->b[i]);
    }
    (void)snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":[\"0x%s\",\"latest\"]}", method, hex);
    rig_ask(r, &reply, "/rpc", body);
    assert_int_equal(cd_json_parse(&doc, &a, cd_buf_bytes(&reply), 0, NULL), CD_OK);
    assert_int_equal(cd_json_u256(&v, cd_json_get(doc, "result"), NULL), CD_OK);
    cd_arena_fini(&a);
    cd_buf_fini(&reply);
    return v;
}

#endif
