/* A P-Chain of its own for tests: a genesis with a few keys that own money and one validator, a virtual clock, and
 * transactions that are built and signed here. */
#ifndef CD_CHAINS_PLATFORM_TEST_LEDGER_H
#define CD_CHAINS_PLATFORM_TEST_LEDGER_H

#include "chains/platform/platform_vm.h"
#include "chains/utxo/store.h"
#include "crypto/bls/bls.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/ripemd160.h"
#include "crypto/hash/sha2.h"
#include "types/pblock.h"
#include "vm/shared/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LEDGER_TIME  1800000000ull
#define LEDGER_TOKEN 1000000ull
#define LEDGER_YEAR  31536000ull

enum { LEDGER_KEYS = 4, LEDGER_COINS = 40 };

typedef struct ledger {
    cd_arena arena;
    cd_clock_virtual clock;
    cd_kv *store;
    cd_kv *kv;   /* the chain's part */
    cd_kv *part; /* of shared memory */
    cd_vm_memory memory;
    cd_bytes genesis;
    cd_hash32 asset;
    cd_vm *vm;
    u32 made; /* transactions, to tell them apart */
    u8 secrets[LEDGER_KEYS][32];
    cd_addr20 addrs[LEDGER_KEYS];
    cd_bls_sk bls;
    cd_p_pop pop;
    cd_node_id node;
    const cd_vm_sender *sender; /* NULL: it is alone */
    cd_rng rng;
} ledger;

CD_INLINE void ledger_keys(ledger *l)
{
    for (u32 i = 0; i < LEDGER_KEYS; i++) {
        u8 pub[64];
        u8 packed[33];
        cd_hash32 sha;
        memset(l->secrets[i], (int)i + 1, sizeof l->secrets[i]);
        assert_int_equal(cd_secp256k1_pub(pub, l->secrets[i]), CD_OK);
        assert_int_equal(cd_secp256k1_pub_enc(packed, pub), CD_OK);
        cd_sha256(&sha, cd_bytes_of(packed, sizeof packed));
        cd_hash20 short_id;
        cd_ripemd160(&short_id, cd_bytes_of(sha.b, sizeof sha.b));
        memcpy(l->addrs[i].b, short_id.b, sizeof l->addrs[i].b);
    }
}

/* A key of a validator by its number. */
CD_INLINE void ledger_bls(cd_bls_sk *sk, cd_p_pop *pop, u8 number)
{
    cd_bls_pk pk;
    cd_bls_sig proof;
    memset(sk->b, 0, sizeof sk->b);
    sk->b[31] = number;
    assert_int_equal(cd_bls_pk_of(&pk, sk), CD_OK);
    assert_int_equal(cd_bls_pop_prove(&proof, sk), CD_OK);
    cd_bls_pk_enc(pop->key, &pk);
    cd_bls_sig_enc(pop->proof, &proof);
}

/* Owners of one key; NULL: nobody. */
CD_INLINE cd_owners ledger_owner(ledger *l, u32 key)
{
    cd_addr20 *a = cd_arena_new(&l->arena, cd_addr20);
    *a = l->addrs[key];
    return (cd_owners){.threshold = 1, .addrs = {.v = a, .cnt = 1}};
}

CD_INLINE cd_linear_any ledger_out(ledger *l, u64 amount, u32 key)
{
    cd_transfer_output *o = cd_arena_new(&l->arena, cd_transfer_output);
    *o = (cd_transfer_output){.amount = amount, .owners = ledger_owner(l, key)};
    return cd_p_part(CD_P_TRANSFER_OUTPUT, o);
}

CD_INLINE cd_linear_any ledger_owners(ledger *l, u32 key)
{
    cd_owners *o = cd_arena_new(&l->arena, cd_owners);
    *o = ledger_owner(l, key);
    return cd_p_part(CD_P_OWNERS, o);
}

/* A list of one output. */
CD_INLINE cd_linear_list ledger_outs(ledger *l, u64 amount, u32 key)
{
    cd_p_output *v = cd_arena_new(&l->arena, cd_p_output);
    *v = (cd_p_output){.asset_id = l->asset, .out = ledger_out(l, amount, key)};
    return (cd_linear_list){.v = v, .cnt = 1};
}

CD_INLINE void ledger_genesis(ledger *l, bool with_chain)
{
    cd_pgenesis_state g = {.time = LEDGER_TIME};
    cd_pgenesis_utxo *utxos = cd_arena_array(&l->arena, cd_pgenesis_utxo, LEDGER_COINS);
    cd_p_tx *tx = cd_arena_new(&l->arena, cd_p_tx);
    cd_p_tx *chain = cd_arena_new(&l->arena, cd_p_tx);
    cd_p_add_permissionless_validator *v = cd_arena_new(&l->arena, cd_p_add_permissionless_validator);
    cd_p_create_chain *c = cd_arena_new(&l->arena, cd_p_create_chain);
    cd_linear_any *signer = &v->signer;
    cd_buf bytes = {0};
    for (u32 i = 0; i < LEDGER_COINS; i++) {
        utxos[i].utxo = (cd_utxo){
            .output_idx = i, .asset_id = l->asset, .out = ledger_out(l, 1000000 * LEDGER_TOKEN, i % LEDGER_KEYS)};
        g.supply += 1000000 * LEDGER_TOKEN;
    }
    v->base.network_id = 1337;
    v->validator = (cd_p_validator){
        .node_id = l->node, .start = LEDGER_TIME, .end = LEDGER_TIME + LEDGER_YEAR, .weight = 2000 * LEDGER_TOKEN};
    *signer = cd_p_part(CD_P_SIGNER_POP, &l->pop);
    v->stake = ledger_outs(l, 2000 * LEDGER_TOKEN, 0);
    v->validation_owner = ledger_owners(l, 0);
    v->delegation_owner = ledger_owners(l, 1);
    v->shares = 100000;
    g.supply += 2000 * LEDGER_TOKEN;
    *tx = (cd_p_tx){.body = cd_p_body(CD_P_ADD_PERMISSIONLESS_VALIDATOR, v)};
    c->base.network_id = 1337;
    c->name = cd_bytes_str("D-Chain");
    c->vm_id.b[0] = 9;
    cd_auth_input *auth = cd_arena_new(&l->arena, cd_auth_input);
    c->net_auth = cd_p_part(CD_P_AUTH, auth);
    *chain = (cd_p_tx){.body = cd_p_body(CD_P_CREATE_CHAIN, c)};
    g.utxos = (cd_linear_list){.v = utxos, .cnt = LEDGER_COINS};
    g.validators = (cd_linear_list){.v = tx, .cnt = 1};
    g.chains = (cd_linear_list){.v = chain, .cnt = with_chain ? 1 : 0};
    cd_linear_put(&bytes, &cd_pgenesis_table, &g);
    l->genesis = cd_arena_dup(&l->arena, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
}

CD_INLINE cd_vm *ledger_open(ledger *l, cd_kv *kv)
{
    cd_vm *vm = NULL;
    cd_errinfo why = {0};
    const cd_vm_ctx ctx = {.kv = kv,
                           .clock = &l->clock.clock,
                           .genesis = l->genesis,
                           .network_id = 1337,
                           .shared = l->part == NULL ? NULL : &l->memory.shared,
                           .sender = l->sender,
                           .rng = &l->rng,
                           .name = "P"};
    cd_err e = cd_platform_vm_open(&vm, &ctx, &why);
    if (e != CD_OK) {
        fail_msg("%s: %s", cd_err_str(e), why.msg);
    }
    return vm;
}

/* Begins without a chain. */
CD_INLINE void ledger_prepare(ledger *l)
{
    memset(l, 0, sizeof *l);
    cd_clock_virtual_init(&l->clock, (LEDGER_TIME + 100) * CD_NS_PER_SEC);
    ledger_keys(l);
    ledger_bls(&l->bls, &l->pop, 1);
    l->node.b[0] = 1;
    l->rng = cd_rng_seeded(1);
    ledger_genesis(l, true);
}

CD_INLINE void ledger_init(ledger *l)
{
    static const cd_hash32 p_chain;
    ledger_prepare(l);
    l->store = cd_kv_mem_open();
    l->kv = cd_kv_prefix_open(l->store, cd_bytes_str("P"));
    l->part = cd_kv_prefix_open(l->store, cd_bytes_str("S"));
    cd_vm_memory_init(&l->memory, l->part, &p_chain);
    l->vm = ledger_open(l, l->kv);
    assert_int_equal(l->vm->ops->set_state(l->vm, CD_VM_NORMAL, NULL), CD_OK);
}

CD_INLINE void ledger_fini(ledger *l)
{
    if (l->vm != NULL) {
        l->vm->ops->close(l->vm);
        cd_kv_close(l->kv);
        cd_kv_close(l->part);
        cd_kv_close(l->store);
    }
    cd_arena_fini(&l->arena);
}

/* --- transactions --- */

/* What a key can spend now, of the state that is preferred. */
typedef struct ledger_coins {
    ledger *l;
    cd_p_input *v;
    u32 cnt;
    u32 max;
    u64 sum;
    u64 want;
} ledger_coins;

CD_INLINE bool ledger_visit(void *ctx, const cd_hash32 *id, const cd_utxo *u)
{
    ledger_coins *c = ctx;
    (void)id;
    if (u->out.is->id != CD_P_TRANSFER_OUTPUT || !cd_hash32_eq(&u->asset_id, &c->l->asset)) {
        return true;
    }
    cd_transfer_input *in = cd_arena_new(&c->l->arena, cd_transfer_input);
    u32 *index = cd_arena_new(&c->l->arena, u32);
    in->amount = ((const cd_transfer_output *)u->out.v)->amount;
    in->sig_indices = (cd_linear_list){.v = index, .cnt = 1};
    c->v[c->cnt++] = (cd_p_input){.tx_id = u->tx_id,
                                  .output_idx = u->output_idx,
                                  .asset_id = u->asset_id,
                                  .in = cd_p_part(CD_P_TRANSFER_INPUT, in)};
    c->sum += in->amount;
    return c->sum < c->want && c->cnt < c->max;
}

CD_INLINE int ledger_input_cmp(const void *a, const void *b)
{
    const cd_p_input *x = a;
    const cd_p_input *y = b;
    int c = memcmp(x->tx_id.b, y->tx_id.b, 32);
    return c != 0 ? c : (int)x->output_idx - (int)y->output_idx;
}

/* Fills in what spends: inputs of a key for at least want and a token more, which pays the fee; the rest goes back. */
CD_INLINE bool ledger_fund(ledger *l, cd_p_base *base, u64 want, u32 key)
{
    const cd_pstate s = cd_pchain_preferred(cd_platform_vm_chain(l->vm));
    ledger_coins c = {.l = l, .max = 64, .want = want + LEDGER_TOKEN};
    c.v = cd_arena_array(&l->arena, cd_p_input, c.max);
    assert_int_equal(cd_utxo_each(s.kv, &cd_p_utxo_table, &l->addrs[key], NULL, ledger_visit, &c), CD_OK);
    if (c.sum < c.want) {
        return false;
    }
    qsort(c.v, c.cnt, sizeof *c.v, ledger_input_cmp);
    base->network_id = 1337;
    base->ins = (cd_linear_list){.v = c.v, .cnt = c.cnt};
    if (c.sum > c.want) {
        base->outs = ledger_outs(l, c.sum - c.want, key);
    }
    return true;
}

/* Signs with a key for each input, and once more for what is allowed besides (auth). */
CD_INLINE cd_bytes ledger_sign(ledger *l, cd_p_tx_type type, void *body, u32 key, bool auth)
{
    cd_ptx t;
    cd_p_tx tx = {.body = cd_p_body(type, body)};
    const cd_p_base *base = body;
    u32 imported = type == CD_P_IMPORT ? ((cd_p_import *)body)->imported.cnt : 0;
    u32 cnt = base->ins.cnt + imported + (auth ? 1 : 0);
    cd_linear_any *creds = cd_arena_array(&l->arena, cd_linear_any, cnt);
    cd_signature *sigs = cd_arena_array(&l->arena, cd_signature, cnt);
    for (u32 i = 0; i < cnt; i++) {
        cd_credential *c = cd_arena_new(&l->arena, cd_credential);
        c->sigs = (cd_linear_list){.v = &sigs[i], .cnt = 1};
        creds[i] = cd_p_part(CD_P_CREDENTIAL, c);
    }
    tx.creds = (cd_linear_list){.v = creds, .cnt = cnt};
    cd_ptx_make(&t, &l->arena, &tx);
    for (u32 i = 0; i < cnt; i++) {
        assert_int_equal(cd_fx_sign(&sigs[i], &t.hash, (const u8(*)[32]) & l->secrets[key], 1), CD_OK);
    }
    cd_ptx_make(&t, &l->arena, &tx);
    return t.bytes;
}

/* A transfer from one key to another. */
CD_INLINE cd_bytes ledger_transfer(ledger *l, u64 amount, u32 from, u32 to)
{
    cd_p_base *b = cd_arena_new(&l->arena, cd_p_base);
    if (!ledger_fund(l, b, amount, from)) {
        return (cd_bytes){0};
    }
    cd_p_output *outs = cd_arena_array(&l->arena, cd_p_output, 2);
    outs[0] = (cd_p_output){.asset_id = l->asset, .out = ledger_out(l, amount, to)};
    u32 cnt = 1;
    if (b->outs.cnt != 0) {
        const cd_p_output *change = b->outs.v;
        bool first = ((const cd_transfer_output *)change->out.v)->amount < amount;
        const cd_transfer_output *rest = change->out.v;
        first = rest->amount < amount ||
                (rest->amount == amount && memcmp(&l->addrs[from], &l->addrs[to], sizeof *l->addrs) < 0);
        outs[first ? 1 : 0] = outs[0];
        outs[first ? 0 : 1] = *change;
        cnt = 2;
    }
    b->outs = (cd_linear_list){.v = outs, .cnt = cnt};
    return ledger_sign(l, CD_P_BASE_TX, b, from, false);
}

CD_INLINE cd_err ledger_issue(ledger *l, cd_hash32 *id, cd_bytes tx, cd_errinfo *why)
{
    return cd_platform_vm_issue(l->vm, id, tx, why);
}

/* --- blocks --- */

CD_INLINE void ledger_take(ledger *l, cd_vm_block *b)
{
    const cd_vm_block_ctx none = {0};
    cd_errinfo why = {0};
    cd_kv_batch batch = {0};
    cd_err e = l->vm->ops->verify(l->vm, b, &none, &why);
    if (e != CD_OK) {
        fail_msg("%s: %s", cd_err_str(e), why.msg);
    }
    cd_kv_batch_for(&batch, l->kv);
    assert_int_equal(l->vm->ops->accept(l->vm, b, &batch, &why), CD_OK);
    cd_kv_batch_widen(&batch);
    assert_int_equal(cd_kv_commit(l->store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    assert_int_equal(l->vm->ops->accepted(l->vm, b, &why), CD_OK);
    cd_kv_batch_fini(&batch);
}

/* Makes one block, a proposal with its option (the preferred one, or the other); false when there is no reason. */
CD_INLINE bool ledger_step(ledger *l, bool prefers_other)
{
    const cd_vm_block_ctx none = {0};
    cd_vm_block *b = NULL;
    cd_vm_block *options[2];
    cd_errinfo why = {0};
    cd_err e = l->vm->ops->build(l->vm, &b, &none, &why);
    if (e == CD_ENOENT) {
        return false;
    }
    if (e != CD_OK) {
        fail_msg("%s: %s", cd_err_str(e), why.msg);
    }
    ledger_take(l, b);
    if (l->vm->ops->options(l->vm, options, b, NULL) == CD_OK) {
        ledger_take(l, options[prefers_other ? 1 : 0]);
        l->vm->ops->release(l->vm, options[0]);
        l->vm->ops->release(l->vm, options[1]);
    }
    l->vm->ops->release(l->vm, b);
    return true;
}

CD_INLINE void ledger_wait(ledger *l, u64 seconds)
{
    cd_clock_virtual_advance(&l->clock, seconds * CD_NS_PER_SEC);
}

CD_INLINE cd_p_status ledger_status(ledger *l, const cd_hash32 *id)
{
    const cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l->vm));
    cd_p_status out;
    cd_bytes reason = {0};
    if (cd_pstate_tx_get(&s, NULL, &out, NULL, id) == CD_OK) {
        return out;
    }
    return cd_p_pool_pending(cd_pchain_pool(cd_platform_vm_chain(l->vm)), &reason, &l->arena, id);
}

#endif
