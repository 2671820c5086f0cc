/* Which blocks a simulation makes, and their headers. */
#include "chains/evmchain/core/list_root.h"
#include "chains/evmchain/core/rules/eth_rules.h"
#include "chains/evmchain/core/rules/header_l1.h"
#include "chains/evmchain/rpc/calls/override.h"
#include "chains/evmchain/rpc/calls/simulate.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/param.h"
#include "types/hashes.h"

enum { BLOCKS_MAX = 256, ETHEREUM_BLOCK_SECONDS = 12 };

enum { BAD_NUMBER = -38020, BAD_TIME = -38021, TOO_MANY = -38026 };

/* The parameter that everything is read from. */
enum { ARG };

/* --- numbers and times --- */

/* Seconds from a block to the next that says nothing of its time. */
static cd_err spacing(cd__sim *s, u64 *out)
{
    cd_child_rules child;
    if (cd_chain_rules_is_eth(s->rules)) {
        *out = ETHEREUM_BLOCK_SECONDS;
        return CD_OK;
    }
    cd_err e = cd_child_rules_read(&child, s->rules, &s->src.world.src, s->parent.time);
    *out = cd_max_u64(child.fee.target_block_rate, 1);
    return e == CD_OK ? CD_OK : cd_api_store(s->call, e);
}

static cd_json older(cd_json v, const char *name, const char *older_name)
{
    cd_json m = cd_json_get(v, name);
    return cd_json_has(m) ? m : cd_json_get(v, older_name);
}

static cd_err out_of_time(cd__sim *s, u64 time, u64 prev)
{
    return cd_rpc_fail(s->call, BAD_TIME, "block timestamps must be in order: %llu <= %llu", (unsigned long long)time,
                       (unsigned long long)prev);
}

static cd_err add(cd__sim *s, const cd__sim_block *b, u64 prev_time)
{
    if (b->time <= prev_time) {
        return out_of_time(s, b->time, prev_time);
    }
    s->blocks[s->cnt++] = *b;
    return CD_OK;
}

/* Nothing, or a value of a kind. */
static cd_err check_kind(cd__sim *s, cd_json v, cd_json_kind kind, const char *what)
{
    return !cd_json_has(v) || cd_json_kind_of(v) == kind
               ? CD_OK
               : cd_rpc_fail(s->call, CD_RPC_INVALID_PARAMS, "invalid argument 0: %s", what);
}

/* Adds one block, and empty ones before it where its number leaves a gap. */
static cd_err plan_one(cd__sim *s, cd_json v, u64 base, u64 step)
{
    const cd__sim_block *last = s->cnt == 0 ? NULL : &s->blocks[s->cnt - 1];
    u64 number = last == NULL ? base : last->number;
    u64 time = last == NULL ? s->parent.time : last->time;
    cd__sim_block b = {
        .calls = cd_json_get(v, "calls"),
        .state = cd_json_get(v, "stateOverrides"),
        .env = cd_json_get(v, "blockOverrides"),
        .number = number + 1,
    };
    CD_TRY(check_kind(s, v, CD_JSON_OBJ, "a block is not an object"));
    CD_TRY(check_kind(s, b.calls, CD_JSON_ARR, "calls is not an array"));
    CD_TRY(check_kind(s, b.state, CD_JSON_OBJ, "stateOverrides is not an object"));
    CD_TRY(check_kind(s, b.env, CD_JSON_OBJ, "blockOverrides is not an object"));
    CD_TRY(check_kind(s, cd_json_get(b.env, "withdrawals"), CD_JSON_ARR, "withdrawals is not an array"));
    cd_json given_number = cd_json_get(b.env, "number");
    cd_json given_time = older(b.env, "time", "timestamp");
    if (cd_json_has(given_number)) {
        CD_TRY(cd_rpc_read_u64(s->call, &b.number, given_number, ARG));
    }
    if (b.number <= number) {
        return cd_rpc_fail(s->call, BAD_NUMBER, "block numbers must be in order: %llu <= %llu",
                           (unsigned long long)b.number, (unsigned long long)number);
    }
    if (b.number - base > BLOCKS_MAX) {
        return cd_rpc_fail(s->call, TOO_MANY, "too many blocks");
    }
    while (++number < b.number) {
        CD_TRY(add(s, &(cd__sim_block){.number = number, .time = time + step}, time));
        time += step;
    }
    b.time = time + step;
    if (cd_json_has(given_time)) {
        CD_TRY(cd_rpc_read_u64(s->call, &b.time, given_time, ARG));
    }
    return add(s, &b, time);
}

cd_err cd__sim_plan(cd__sim *s, cd_json blocks)
{
    u64 step;
    u64 base = s->parent.number;
    CD_TRY(check_kind(s, blocks, CD_JSON_ARR, "blockStateCalls is not an array"));
    if (cd_json_len(blocks) == 0) {
        return cd_rpc_fail(s->call, CD_RPC_INVALID_PARAMS, "empty input");
    }
    if (cd_json_len(blocks) > BLOCKS_MAX) {
        return cd_rpc_fail(s->call, TOO_MANY, "too many blocks");
    }
    CD_TRY(spacing(s, &step));
    s->blocks = cd_arena_array(s->call->arena, cd__sim_block, BLOCKS_MAX);
    cd_json_it it = cd_json_iter(blocks);
    while (cd_json_next(&it)) {
        CD_TRY(plan_one(s, it.val, base, step));
    }
    return CD_OK;
}

/* --- headers --- */

/* What the rules say of an Ethereum block, without what the overrides say. */
static void make_ethereum(const cd__sim *s, cd_header *h, const cd__sim_block *b)
{
    enum { BASE_FEE_INITIAL = 1000000000 };
    const cd_header *p = &s->parent;
    cd_fork fork = cd_chain_rules_fork(s->rules, b->number, b->time);
    h->uncle_hash = CD_HASH_EMPTY_LIST;
    h->coinbase = p->coinbase;
    h->difficulty = p->difficulty;
    h->gas_limit = p->gas_limit;
    if (fork >= CD_LONDON) {
        h->has |= CD_HEADER_BASE_FEE;
        if ((p->has & CD_HEADER_BASE_FEE) != 0) {
            cd_eth_base_fee(&h->base_fee, &p->base_fee, p->gas_limit, p->gas_used);
        } else {
            h->base_fee = cd_u256_from_u64(BASE_FEE_INITIAL);
        }
    }
    if (fork >= CD_SHANGHAI) {
        h->has |= CD_HEADER_WITHDRAWALS_ROOT;
    }
    if (fork >= CD_CANCUN) {
        h->has |= CD_HEADER_BLOB_GAS_USED | CD_HEADER_EXCESS_BLOB_GAS | CD_HEADER_BEACON_ROOT;
        if ((p->has & CD_HEADER_EXCESS_BLOB_GAS) != 0) {
            h->excess_blob_gas =
                cd_eth_excess_blob_gas(p->excess_blob_gas, p->blob_gas_used, cd_eth_blob_schedule(fork));
        }
    }
}

static cd_err make_l1(cd__sim *s, cd_header *h, const cd__sim_block *b)
{
    cd_errinfo why = {0};
    u32 chosen;
    cd_parent_l1 p = {.rules = s->rules, .header = &s->parent};
    cd_err e = cd_child_rules_read(&p.child, s->rules, cd_world_scratch_source(s->scratch), s->parent.time);
    if (e != CD_OK) {
        return cd_api_store(s->call, e);
    }
    cd_header_wish wish = {
        .time = b->time,
        .coinbase = p.child.coinbase.is_free ? &s->parent.coinbase : NULL,
    };
    if (cd_header_make_l1(&p, h, &chosen, s->call->arena, &wish, &why) != CD_OK) {
        return cd_rpc_fail(s->call, CD_RPC_SERVER, "%s", why.msg);
    }
    return CD_OK;
}

static cd_err override_header(cd__sim *s, cd_header *h, cd_json env)
{
    cd_rpc_call *call = s->call;
    cd_json limit = cd_json_get(env, "gasLimit");
    cd_json recipient = older(env, "feeRecipient", "coinbase");
    cd_json randao = older(env, "prevRandao", "random");
    cd_json fee = older(env, "baseFeePerGas", "baseFee");
    cd_json difficulty = cd_json_get(env, "difficulty");
    cd_json beacon = older(env, "beaconRoot", "parentBeaconBlockRoot");
    if (cd_json_has(limit)) {
        CD_TRY(cd_rpc_read_u64(call, &h->gas_limit, limit, ARG));
    }
    if (cd_json_has(recipient)) {
        CD_TRY(cd_rpc_read_addr(call, &h->coinbase, recipient, ARG));
    }
    if (cd_json_has(randao)) {
        CD_TRY(cd_rpc_read_hash(call, &h->mix_hash, randao, ARG));
    }
    if (cd_json_has(difficulty)) {
        CD_TRY(cd_rpc_read_u256(call, &h->difficulty, difficulty, ARG));
    }
    if (cd_json_has(beacon) && (h->has & CD_HEADER_BEACON_ROOT) != 0) {
        CD_TRY(cd_rpc_read_hash(call, &h->parent_beacon_root, beacon, ARG));
    }
    if ((h->has & CD_HEADER_BASE_FEE) != 0) {
        if (cd_json_has(fee)) {
            CD_TRY(cd_rpc_read_u256(call, &h->base_fee, fee, ARG));
        } else if (!s->validates) {
            h->base_fee = cd_u256_zero(); /* nobody is to pay who does not ask for it */
        }
    }
    return CD_OK;
}

cd_err cd__sim_header(cd__sim *s, cd_header *out, const cd__sim_block *b)
{
    cd_header h = {0};
    switch (s->rules->layout) {
    case CD_HEADER_ETHEREUM:
        make_ethereum(s, &h, b);
        break;
    case CD_HEADER_L1:
    case CD_HEADER_L1_ATOMIC:
    case CD_HEADER_C:
        CD_TRY(make_l1(s, &h, b));
        break;
    }
    h.number = b->number;
    h.time = b->time;
    h.parent_hash = s->parent_hash;
    CD_TRY(override_header(s, &h, b->env));
    *out = h;
    return CD_OK;
}

/* --- withdrawals --- */

static cd_err read_withdrawal(cd_rpc_call *call, cd_withdrawal *out, cd_json v)
{
    CD_TRY(cd_rpc_read_u64(call, &out->index, cd_json_get(v, "index"), ARG));
    CD_TRY(cd_rpc_read_u64(call, &out->validator, cd_json_get(v, "validatorIndex"), ARG));
    CD_TRY(cd_rpc_read_addr(call, &out->addr, cd_json_get(v, "address"), ARG));
    return cd_rpc_read_u64(call, &out->amount, cd_json_get(v, "amount"), ARG);
}

cd_err cd__sim_withdrawals(cd__sim *s, cd_block *out, const cd__sim_block *b)
{
    cd_json list = cd_json_get(b->env, "withdrawals");
    cd_list_root root = {0};
    out->has_withdrawals = (out->header.has & CD_HEADER_WITHDRAWALS_ROOT) != 0;
    if (!out->has_withdrawals) {
        return CD_OK;
    }
    usize cnt = cd_json_len(list);
    out->withdrawals = cd_arena_array(s->call->arena, cd_withdrawal, cnt);
    cd_json_it it = cd_json_iter(list);
    while (cd_json_next(&it)) {
        cd_withdrawal *w = &out->withdrawals[out->withdrawal_cnt];
        CD_TRY(read_withdrawal(s->call, w, it.val));
        out->withdrawal_cnt++;
    }
    for (usize i = 0; i < cnt; i++) {
        cd_withdrawal_enc(&root.enc, &out->withdrawals[i]);
        cd_list_root_mark(&root);
    }
    cd_list_root_final(&root, &out->header.withdrawals_root);
    return CD_OK;
}
