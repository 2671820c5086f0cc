/* evm/test/tiers.h - runs one message on every tier and compares; included by tests and by the
 * fuzzer.
 *
 * Tier 0 with and without hooks must agree in everything. Tier 1 may fail with another status, but
 * whether it failed, the gas, refund, output, logs and state must be the same. The traced run also
 * checks that each instruction costs what its step said, and a run with only messages traced must
 * report the same messages. Test code. */
#ifndef CD_EVM_TEST_TIERS_H
#define CD_EVM_TEST_TIERS_H

#include "crypto/hash/keccak.h"
#include "evm/evm.h"
#include "evm/interp/opcode.h"
#include "evm/rules/gas.h"

/* An account of the world a run starts from. */
typedef struct tiers_account {
    cd_addr20 addr;
    u64 balance;
    u64 nonce;
    cd_bytes code;
    u64 slot_0; /* value of storage slot 0 */
} tiers_account;

typedef struct tiers_run {
    cd_fork fork;
    const tiers_account *accounts;
    usize account_cnt;
    cd_evm_msg msg;
} tiers_run;

typedef struct tiers_result {
    cd_evm_status status;
    u64 gas_left;
    u64 refund;
    cd_hash32 output;
    cd_hash32 world; /* hash of logs and changes */
    u8 word[32];     /* the first bytes of the output */
    usize output_len;
    cd_hash32 messages; /* hash of the messages sent, in the traced modes */
} tiers_result;

/* --- a state source that knows a few accounts --- */

typedef struct tiers_source {
    cd_state_source src;
    const tiers_run *run;
} tiers_source;

static const tiers_account *tiers_find(cd_state_source *src, const cd_addr20 *addr)
{
    const tiers_run *run = ((const tiers_source *)(const void *)src)->run;
    for (usize i = 0; i < run->account_cnt; i++) {
        if (cd_addr20_eq(&run->accounts[i].addr, addr)) {
            return &run->accounts[i];
        }
    }
    return NULL;
}

static cd_err tiers_get_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    const tiers_account *a = tiers_find(src, addr);
    *found = a != NULL;
    if (a != NULL) {
        *out = (cd_account){
            .balance = cd_u256_from_u64(a->balance), .nonce = a->nonce, .storage_root = CD_HASH_EMPTY_TRIE};
        cd_keccak256(&out->code_hash, a->code);
    }
    return CD_OK;
}

static cd_err tiers_get_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    const tiers_account *a = tiers_find(src, addr);
    *out = cd_u256_from_u64(a != NULL && cd_u256_is_zero(slot) ? a->slot_0 : 0);
    return CD_OK;
}

static cd_err tiers_get_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    const tiers_run *run = ((const tiers_source *)(const void *)src)->run;
    for (usize i = 0; i < run->account_cnt; i++) {
        cd_hash32 h;
        cd_keccak256(&h, run->accounts[i].code);
        if (cd_hash32_eq(&h, code_hash)) {
            *out = run->accounts[i].code;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

static cd_err tiers_get_block_hash(cd_state_source *src, cd_hash32 *out, u64 block)
{
    (void)src;
    u8 b[8];
    cd_put_be64(b, block);
    cd_keccak256(out, cd_bytes_of(b, sizeof b));
    return CD_OK;
}

/* --- what a run changed --- */

static void tiers_put(cd_keccak *k, const void *p, usize n)
{
    cd_keccak_update(k, cd_bytes_of(p, n));
}

static cd_err tiers_put_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    cd_keccak *k = ctx;
    u8 flags = (u8)(exists | wiped << 1);
    tiers_put(k, a->addr.b, 20);
    tiers_put(k, &flags, 1);
    tiers_put(k, &a->nonce, sizeof a->nonce);
    tiers_put(k, a->balance.w, sizeof a->balance.w);
    tiers_put(k, a->code_hash.b, 32);
    return CD_OK;
}

static cd_err tiers_put_slot(void *ctx, const cd_acct *a, const cd_slot *s)
{
    cd_keccak *k = ctx;
    tiers_put(k, a->addr.b, 20);
    tiers_put(k, s->key.w, sizeof s->key.w);
    tiers_put(k, s->value.w, sizeof s->value.w);
    return CD_OK;
}

static void tiers_digest(cd_hash32 *out, cd_state *st)
{
    cd_keccak k;
    cd_keccak_init(&k);
    usize cnt;
    const cd_log *logs = cd_state_logs(st, &cnt);
    for (usize i = 0; i < cnt; i++) {
        tiers_put(&k, logs[i].addr.b, 20);
        for (u32 t = 0; t < logs[i].topic_cnt; t++) {
            tiers_put(&k, logs[i].topics[t].b, 32);
        }
        cd_keccak_update(&k, logs[i].data);
    }
    cd_state_end_tx(st, true);
    cd_state_visitor v = {.ctx = &k, .acct = tiers_put_acct, .slot = tiers_put_slot};
    cd_err err = cd_state_changes(st, &v);
    CD_ASSERT(err == CD_OK);
    cd_keccak_final(&k, out);
}

/* --- a tracer that checks prices --- */

typedef struct tiers_tracer {
    cd_tracer t;
    cd_trace_step last[CD_CALL_DEPTH_MAX + 3]; /* the last step at each depth; gas 0 and cost 1: none */
    u64 steps;
    u32 depth; /* messages under way */
    cd_keccak messages;
} tiers_tracer;

static void tiers_forget(tiers_tracer *t, u32 depth)
{
    t->last[depth] = (cd_trace_step){.cost = 1};
}

static bool tiers_is_message(u8 op)
{
    return op == CD_OP_CALL || op == CD_OP_CALLCODE || op == CD_OP_DELEGATECALL || op == CD_OP_STATICCALL ||
           op == CD_OP_CREATE || op == CD_OP_CREATE2;
}

static void tiers_step(cd_tracer *tracer, const cd_trace_step *s)
{
    tiers_tracer *t = (tiers_tracer *)(void *)tracer;
    const cd_trace_step *last = &t->last[s->depth];
    t->steps++;
    if (last->cost <= last->gas && !tiers_is_message(last->op)) {
        CD_ASSERT(last->error == 0);
        CD_ASSERT(last->gas - last->cost == s->gas);
    }
    CD_ASSERT(s->stack_cnt <= 1024 && s->memory.n % 32 == 0);
    t->last[s->depth] = *s;
}

static void tiers_enter(cd_tracer *tracer, u32 depth, u8 op, const cd_evm_msg *msg)
{
    tiers_tracer *t = (tiers_tracer *)(void *)tracer;
    CD_ASSERT(depth == 0 || tiers_is_message(op) || op == CD_OP_SELFDESTRUCT);
    CD_ASSERT(t->depth++ == depth);
    tiers_put(&t->messages, &op, 1);
    tiers_put(&t->messages, msg->caller.b, 20);
    tiers_put(&t->messages, msg->to.b, 20);
    tiers_put(&t->messages, msg->code.b, 20);
    tiers_put(&t->messages, msg->value.w, sizeof msg->value.w);
    tiers_put(&t->messages, &msg->gas, sizeof msg->gas);
    cd_keccak_update(&t->messages, msg->input);
    tiers_forget(t, depth + 1);
}

static void tiers_exit(cd_tracer *tracer, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    tiers_tracer *t = (tiers_tracer *)(void *)tracer;
    const cd_trace_step *last = &t->last[depth + 1];
    u8 how = res->status == CD_EVM_OK ? 0 : res->status == CD_EVM_REVERT ? 1 : 2;
    CD_ASSERT(--t->depth == depth);
    CD_ASSERT((res->status == CD_EVM_OK) == (tracer->error == NULL));
    tiers_put(&t->messages, &how, 1);
    tiers_put(&t->messages, &gas_used, sizeof gas_used);
    cd_keccak_update(&t->messages, res->output);
    if (last->error != 0 && last->op != CD_OP_SELFDESTRUCT) {
        CD_ASSERT(res->status == (cd_evm_status)last->error);
    }
    tiers_forget(t, depth + 1);
}

/* --- running --- */

typedef enum tiers_mode {
    TIERS_DIRECT,
    TIERS_TRACED,
    TIERS_CELLS,
    TIERS_CALLS, /* tier 1 with only messages traced */
    TIERS_AUTO,  /* the tier that code has earned; not in tiers_all, whose runs are too short to earn one */
    TIERS_MODES
} tiers_mode;

/* tiers_on runs on one tier; evm and st are reused from run to run. */
static tiers_result tiers_on(cd_evm *evm, cd_state *st, const tiers_run *run, tiers_mode mode)
{
    static const cd_tx_env tx = {.origin = {.b = {[19] = 0xee}}, .gas_price = {.w = {7}}};
    static const cd_block_env block = {.number = 1000,
                                       .time = 2000,
                                       .gas_limit = 30000000,
                                       .coinbase = {.b = {[19] = 0xcb}},
                                       .base_fee = {.w = {5}},
                                       .prev_randao = {.w = {1, 2, 3, 4}},
                                       .blob_base_fee = {.w = {1}},
                                       .chain_id = 1337};
    tiers_source src = {.src = {.account = tiers_get_account,
                                .storage = tiers_get_storage,
                                .code = tiers_get_code,
                                .block_hash = tiers_get_block_hash},
                        .run = run};
    static tiers_tracer tracer;
    tracer = (tiers_tracer){.t = {.step = mode == TIERS_TRACED ? tiers_step : NULL,
                                  .enter = tiers_enter,
                                  .exit = tiers_exit,
                                  .calls_only = mode == TIERS_CALLS}};
    cd_keccak_init(&tracer.messages);
    cd_state_reset(st, &src.src);
    cd_state_clear_logs(st);
    cd_state_begin_tx(st);
    cd_evm_set_block(evm, run->fork, CD_PROFILE_ETHEREUM, &block, st, cd_precompile_eth(run->fork));
    cd_evm_set_tx(evm, &tx);
    bool is_cells = mode == TIERS_CELLS || mode == TIERS_CALLS;
    bool is_traced = mode == TIERS_TRACED || mode == TIERS_CALLS;
    cd_evm_set_tier(evm, is_cells ? CD_TIER_CELLS : mode == TIERS_AUTO ? CD_TIER_AUTO : CD_TIER_DIRECT);
    cd_evm_set_tracer(evm, is_traced ? &tracer.t : NULL);
    cd_evm_result res;
    cd_evm_call(evm, &res, &run->msg);
    tiers_result r = {
        .status = res.status, .gas_left = res.gas_left, .refund = cd_state_refund_get(st), .output_len = res.output.n};
    cd_keccak256(&r.output, res.output);
    if (res.output.n != 0) {
        memcpy(r.word, res.output.p, res.output.n < 32 ? res.output.n : 32);
    }
    tiers_digest(&r.world, st);
    cd_keccak_final(&tracer.messages, &r.messages);
    CD_ASSERT(tracer.depth == 0);
    CD_ASSERT(cd_state_error(st) == CD_OK);
    return r;
}

static bool tiers_never(void *ctx)
{
    (void)ctx;
    return false;
}

/* Asserts that a run whose gas is given out in slices has the same result. */
static void tiers_check_slices(cd_evm *evm, cd_state *st, const tiers_run *run, tiers_mode mode,
                               const tiers_result *want)
{
    cd_evm_set_limit(evm, tiers_never, NULL, 13);
    tiers_result got = tiers_on(evm, st, run, mode);
    cd_evm_set_limit(evm, NULL, NULL, 0);
    CD_ASSERT(!cd_evm_was_stopped(evm));
    CD_ASSERT(got.status == want->status && got.gas_left == want->gas_left && got.refund == want->refund);
    CD_ASSERT(cd_hash32_eq(&got.output, &want->output) && cd_hash32_eq(&got.world, &want->world));
    CD_ASSERT(cd_hash32_eq(&got.messages, &want->messages));
}

/* tiers_all runs on all tiers, asserts that they agree, and gives the result of tier 0. */
__attribute__((unused)) static tiers_result tiers_all(cd_evm *evm, cd_state *st, const tiers_run *run)
{
    tiers_result direct = tiers_on(evm, st, run, TIERS_DIRECT);
    tiers_result traced = tiers_on(evm, st, run, TIERS_TRACED);
    tiers_result cells = tiers_on(evm, st, run, TIERS_CELLS);
    tiers_result calls = tiers_on(evm, st, run, TIERS_CALLS);
    tiers_check_slices(evm, st, run, TIERS_DIRECT, &direct);
    tiers_check_slices(evm, st, run, TIERS_TRACED, &traced);
    tiers_check_slices(evm, st, run, TIERS_CELLS, &cells);
    tiers_check_slices(evm, st, run, TIERS_CALLS, &calls);
    CD_ASSERT(traced.status == direct.status);
    CD_ASSERT(traced.gas_left == direct.gas_left && traced.refund == direct.refund);
    CD_ASSERT(cd_hash32_eq(&traced.output, &direct.output));
    CD_ASSERT(cd_hash32_eq(&traced.world, &direct.world));
    CD_ASSERT((cells.status == CD_EVM_OK) == (direct.status == CD_EVM_OK));
    CD_ASSERT((cells.status == CD_EVM_REVERT) == (direct.status == CD_EVM_REVERT));
    CD_ASSERT(cells.gas_left == direct.gas_left && cells.refund == direct.refund);
    CD_ASSERT(cd_hash32_eq(&cells.output, &direct.output));
    CD_ASSERT(cd_hash32_eq(&cells.world, &direct.world));
    CD_ASSERT(calls.status == cells.status && calls.gas_left == direct.gas_left);
    CD_ASSERT(cd_hash32_eq(&calls.output, &direct.output));
    CD_ASSERT(cd_hash32_eq(&calls.world, &direct.world));
    CD_ASSERT(cd_hash32_eq(&calls.messages, &traced.messages));
    return direct;
}

#endif
