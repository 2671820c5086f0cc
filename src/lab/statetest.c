#include "lab/statetest.h"

#include "chains/evmchain/core/rules/eth_rules.h"
#include "chains/evmchain/tracers/trace3155.h"
#include "codec/json.h"
#include "crypto/hash/keccak.h"
#include "evm/transition.h"
#include "lab/mapstate.h"
#include "lab/parse_priv.h"
#include "lab/rig_priv.h"
#include "types/hashes.h"
#include "types/receipt.h"
#include "types/tx_codec.h"

#include <inttypes.h>
#include <stdio.h>

/* The base fee of tests that give none, in wei [spec:conformance#1]. */
enum { DEFAULT_BASE_FEE = 10 };

static const cd_statetest_cfg *cfg_of(const cd__rig *r)
{
    return r->cfg;
}

/* One test of a file, as far as it is common to its units. */
typedef struct test {
    cd_bytes name;
    cd_json json;
    cd_json tx;
    cd_mapstate *pre;
    u64 chain_id;
} test;

/* --- reading --- */

/* Gives a block's hash: in tests it is keccak256 of the decimal text of its number [spec:conformance#1]. */
static cd_err test_block_hash(void *ctx, cd_hash32 *out, u64 number)
{
    char text[24];
    (void)ctx;
    int n = snprintf(text, sizeof text, "%" PRIu64, number);
    cd_keccak256(out, cd_bytes_of(text, (usize)n));
    return CD_OK;
}

static cd_err read_env(cd_block_env *out, const test *t, cd_fork fork, cd_errinfo *why)
{
    cd_json env = cd_json_get(t->json, "env");
    cd_block_env b = {.chain_id = t->chain_id};
    CD_TRY(cd_json_u64(&b.number, cd_json_get(env, "currentNumber"), why));
    CD_TRY(cd_json_u64(&b.time, cd_json_get(env, "currentTimestamp"), why));
    CD_TRY(cd_json_u64(&b.gas_limit, cd_json_get(env, "currentGasLimit"), why));
    CD_TRY(cd_json_fixed(b.coinbase.b, 20, cd_json_get(env, "currentCoinbase"), why));
    cd_json random = cd_json_get(env, fork >= CD_PARIS ? "currentRandom" : "currentDifficulty");
    CD_TRY(cd__lab_opt_u256(&b.prev_randao, random, why));
    if (fork >= CD_LONDON) {
        b.base_fee = cd_u256_from_u64(DEFAULT_BASE_FEE);
        CD_TRY(cd__lab_opt_u256(&b.base_fee, cd_json_get(env, "currentBaseFee"), why));
    }
    if (fork >= CD_CANCUN) {
        u64 excess = 0;
        cd_blob_schedule blob;
        CD_TRY(cd__lab_opt_u64(&excess, cd_json_get(env, "currentExcessBlobGas"), why));
        CD_TRY(cd__lab_blob_schedule(&blob, cd_json_get(t->json, "config"), fork, why));
        cd_eth_blob_base_fee(&b.blob_base_fee, excess, &blob);
    }
    *out = b;
    return CD_OK;
}

/* Gives the type of a transaction, which its keys tell [spec:conformance#1]. */
static cd_tx_type tx_type(cd_json tx)
{
    if (cd_json_has(cd_json_get(tx, "authorizationList"))) {
        return CD_TX_SET_CODE;
    }
    if (cd_json_has(cd_json_get(tx, "maxFeePerBlobGas")) || cd_json_has(cd_json_get(tx, "blobVersionedHashes"))) {
        return CD_TX_BLOB;
    }
    if (cd_json_has(cd_json_get(tx, "maxFeePerGas"))) {
        return CD_TX_DYNAMIC_FEE;
    }
    return cd_json_has(cd_json_get(tx, "accessLists")) ? CD_TX_ACCESS_LIST : CD_TX_LEGACY;
}

static cd_err read_fees(cd_tx *tx, cd_json v, cd_errinfo *why)
{
    if (tx->type < CD_TX_DYNAMIC_FEE) {
        CD_TRY(cd_json_u256(&tx->tip_cap, cd_json_get(v, "gasPrice"), why));
        tx->fee_cap = tx->tip_cap;
        return CD_OK;
    }
    CD_TRY(cd_json_u256(&tx->fee_cap, cd_json_get(v, "maxFeePerGas"), why));
    CD_TRY(cd__lab_opt_u256(&tx->tip_cap, cd_json_get(v, "maxPriorityFeePerGas"), why));
    return cd__lab_opt_u256(&tx->blob_fee_cap, cd_json_get(v, "maxFeePerBlobGas"), why);
}

static cd_err read_sender(cd_tx *tx, cd_json v, cd_errinfo *why)
{
    cd_json sender = cd_json_get(v, "sender");
    tx->has_sender = true;
    if (cd_json_has(sender)) {
        return cd_json_fixed(tx->sender.b, 20, sender, why);
    }
    u8 secret[32];
    cd_tx signed_tx = *tx;
    CD_TRY(cd_json_fixed(secret, 32, cd_json_get(v, "secretKey"), why));
    CD_TRY(cd_tx_sign(&signed_tx, secret));
    tx->sender = signed_tx.sender;
    return CD_OK;
}

/* Builds the transaction of one unit. CD_ERANGE: a number is too large for any transaction. */
static cd_err read_tx(cd_tx *out, cd_arena *a, const test *t, cd_json post, cd_errinfo *why)
{
    cd_json v = t->tx;
    cd_json idx = cd_json_get(post, "indexes");
    u64 data;
    u64 gas;
    u64 value;
    CD_TRY(cd_json_u64(&data, cd_json_get(idx, "data"), why));
    CD_TRY(cd_json_u64(&gas, cd_json_get(idx, "gas"), why));
    CD_TRY(cd_json_u64(&value, cd_json_get(idx, "value"), why));
    cd_tx tx = {.type = tx_type(v), .chain_id = t->chain_id};
    tx.is_protected = tx.type != CD_TX_LEGACY;
    CD_TRY(cd_json_u64(&tx.nonce, cd_json_get(v, "nonce"), why));
    CD_TRY(read_fees(&tx, v, why));
    CD_TRY(cd_json_u64(&tx.gas_limit, cd_json_at(cd_json_get(v, "gasLimit"), gas), why));
    CD_TRY(cd_json_hex(&tx.data, a, cd_json_at(cd_json_get(v, "data"), data), why));
    cd_bytes text;
    CD_TRY(cd_json_str(&text, cd_json_get(v, "to"), why));
    tx.is_create = text.n == 0;
    if (!tx.is_create) {
        CD_TRY(cd_json_fixed(tx.to.b, 20, cd_json_get(v, "to"), why));
    }
    CD_TRY(cd__lab_access_list(&tx, a, cd_json_at(cd_json_get(v, "accessLists"), data), why));
    CD_TRY(cd__lab_hashes(&tx.blob_hashes, &tx.blob_cnt, a, cd_json_get(v, "blobVersionedHashes"), why));
    CD_TRY(cd__lab_auths(&tx, a, cd_json_get(v, "authorizationList"), why));
    CD_TRY(read_sender(&tx, v, why));
    /* The value is read last, because one beyond 256 bits only makes the transaction invalid. */
    cd_json val = cd_json_at(cd_json_get(v, "value"), value);
    static const char too_large[] = "0x:bigint ";
    CD_TRY(cd_json_str(&text, val, why));
    if (text.n > sizeof too_large && memcmp(text.p, too_large, sizeof too_large - 1) == 0) {
        return cd_json_fail(val, CD_ERANGE, "number does not fit 256 bits", why);
    }
    CD_TRY(cd_json_u256(&tx.value, val, why));
    *out = tx;
    return CD_OK;
}

/* --- judging --- */

/* Step 7 of [spec:conformance#1]: the signed bytes decode and lead to the same sender. */
static cd_err check_bytes(const cd_tx *tx, cd_arena *a, cd_json post, cd_fork fork, cd_errinfo *why)
{
    cd_json v = cd_json_get(post, "txbytes");
    cd_bytes raw;
    cd_tx decoded;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_hex(&raw, a, v, why));
    CD_TRY(cd_tx_dec(&decoded, a, raw, why));
    cd_err e = cd_tx_recover(&decoded, fork >= CD_HOMESTEAD);
    if (e != CD_OK) {
        return cd_fail(why, e, "txbytes: %s", cd_err_str(e));
    }
    if (!cd_addr20_eq(&decoded.sender, &tx->sender)) {
        return cd_fail(why, CD_ESIG, "txbytes: another sender than the test's");
    }
    return CD_OK;
}

/* The result of one unit. */
typedef struct unit {
    cd_hash32 root;
    cd_hash32 logs;
    bool is_invalid; /* the transaction was refused */
    cd_errinfo why;  /* reason of the refusal, or why the test cannot be run */
} unit;

/* Takes steps 4 to 6 of [spec:conformance#1] on r->state. */
static void execute(cd__rig *r, unit *u, const test *t, const cd_tx *tx, const cd_block_env *env, cd_fork fork)
{
    cd_tx_result res;
    u64 pool = env->gas_limit;
    cd_evm_set_block(r->evm, fork, CD_PROFILE_ETHEREUM, env, r->state, cd_precompile_eth(fork));
    cd_tx_invalid invalid = cd_tx_apply(r->evm, &res, &pool, tx, NULL);
    if (invalid != CD_TX_VALID) {
        u->is_invalid = true;
        (void)cd_fail(&u->why, CD_EINVAL, "%s", cd_tx_invalid_str(invalid));
        return;
    }
    cd_state_begin_tx(r->state);
    cd_state_touch(r->state, cd_state_acct(r->state, &env->coinbase), false);
    cd_state_end_tx(r->state, fork >= CD_SPURIOUS);
    usize log_cnt;
    const cd_log *logs = cd_state_logs(r->state, &log_cnt);
    cd_logs_hash(&u->logs, logs, log_cnt);
    cd_mapstate *after;
    cd_err e = cd_mapstate_next(&after, &r->unit, r->build, t->pre, r->state);
    if (e != CD_OK) {
        (void)cd_fail(&u->why, e, "state: %s", cd_err_str(e));
        return;
    }
    u->root = after->root;
}

static cd_err run_unit(cd__rig *r, unit *u, const test *t, cd_json post, cd_fork fork, cd_buf *trace)
{
    cd_block_env env;
    cd_tx tx;
    cd_err e = read_tx(&tx, &r->unit, t, post, &u->why);
    if (e == CD_ERANGE) {
        u->is_invalid = true;
        return CD_OK;
    }
    CD_TRY(e);
    CD_TRY(read_env(&env, t, fork, &u->why));
    if (check_bytes(&tx, &r->unit, post, fork, &u->why) != CD_OK) {
        u->is_invalid = true;
        return CD_OK;
    }
    cd_state_reset(r->state, &t->pre->src);
    cd_trace3155 tracer;
    if (cfg_of(r)->trace) {
        cd_trace3155_init(&tracer, trace);
        cd_evm_set_tracer(r->evm, &tracer.tracer);
    }
    execute(r, u, t, &tx, &env, fork);
    cd_evm_set_tracer(r->evm, NULL);
    return u->why.code == CD_OK || u->is_invalid ? CD_OK : u->why.code;
}

/* Compares a result with the expected one; u->why gets the difference. */
static cd_err judge(unit *u, cd_json post)
{
    bool expects_invalid = cd_json_has(cd_json_get(post, "expectException"));
    cd_hash32 root;
    cd_hash32 logs;
    cd_errinfo *why = &u->why;
    CD_TRY(cd_json_fixed(root.b, 32, cd_json_get(post, "hash"), why));
    CD_TRY(cd_json_fixed(logs.b, 32, cd_json_get(post, "logs"), why));
    if (u->is_invalid && !expects_invalid) {
        return CD_EINVAL;
    }
    if (!u->is_invalid && expects_invalid) {
        return cd_fail(why, CD_EINVAL, "an invalid transaction was accepted");
    }
    if (!cd_hash32_eq(&root, &u->root)) {
        return cd_fail(why, CD_EINVAL, "state root differs");
    }
    if (!u->is_invalid && !cd_hash32_eq(&logs, &u->logs)) {
        return cd_fail(why, CD_EINVAL, "logs differ");
    }
    return CD_OK;
}

static void run_case(cd__rig *r, cd_tally *tally, cd_buf *out, const char *path, const test *t, cd_json post,
                     const char *fork_name, usize index)
{
    unit u = {.root = t->pre->root, .logs = CD_HASH_EMPTY_LIST};
    cd_fork fork;
    cd_err e = cd_fork_parse(&fork, fork_name);
    if (e != CD_OK) {
        (void)cd_fail(&u.why, e, "unknown fork");
    } else {
        e = run_unit(r, &u, t, post, fork, out);
    }
    if (e == CD_OK) {
        e = judge(&u, post);
    }
    bool pass = e == CD_OK;
    tally->passed += pass;
    tally->failed += !pass;
    cd_verdict v = {
        .name = t->name,
        .fork = fork_name,
        .index = index,
        .pass = pass,
        .root = &u.root,
        .logs = cfg_of(r)->with_logs ? &u.logs : NULL,
        .error = u.why.msg,
    };
    cd_verdict_put(out, &v, r->json, path);
    cd_arena_reset(&r->unit);
}

/* --- files --- */

static cd_err open_test(test *out, cd__rig *r, cd_bytes name, cd_json v, cd_errinfo *why)
{
    test t = {.name = name, .json = v, .tx = cd_json_get(v, "transaction")};
    const cd_genesis_account *accounts;
    usize cnt;
    CD_TRY(cd_json_obj(t.tx, why));
    CD_TRY(cd_json_obj(cd_json_get(v, "post"), why));
    CD_TRY(cd__lab_chain_id(&t.chain_id, cd_json_get(v, "config"), why));
    CD_TRY(cd_genesis_alloc_parse(&accounts, &cnt, &r->file, cd_json_get(v, "pre"), why));
    t.pre = cd_mapstate_new(&r->file, r->build, accounts, cnt);
    t.pre->block_hash = test_block_hash;
    *out = t;
    return CD_OK;
}

static void run_test(cd__rig *r, cd_tally *tally, cd_buf *out, const char *path, const test *t)
{
    cd_json_it forks = cd_json_iter(cd_json_get(t->json, "post"));
    while (cd_json_next(&forks)) {
        char *fork_name = cd_arena_str(&r->file, forks.key);
        cd_fork fork;
        if (cfg_of(r)->has_fork && (cd_fork_parse(&fork, fork_name) != CD_OK || fork != cfg_of(r)->fork)) {
            continue;
        }
        cd_json_it posts = cd_json_iter(forks.val);
        for (usize i = 0; cd_json_next(&posts); i++) {
            run_case(r, tally, out, path, t, posts.val, fork_name, i);
        }
    }
}

static void run_file(void *worker, cd_tally *tally, cd_buf *out, const char *path, cd_bytes text)
{
    cd__rig *r = worker;
    cd_json doc;
    cd_errinfo why = {0};
    if (!cd__rig_open(r, &doc, text, tally, out, path)) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        test t;
        if (open_test(&t, r, it.key, it.val, &why) == CD_OK) {
            run_test(r, tally, out, path, &t);
        } else {
            cd__rig_fail(r, tally, out, path, it.key, &why);
        }
    }
}

static void *worker_new(const void *cfg)
{
    const cd_statetest_cfg *c = cfg;
    return cd__rig_new(c, c->tier, c->json);
}

void cd_statetest_suite(cd_suite *s, const cd_statetest_cfg *cfg)
{
    s->cfg = cfg;
    s->worker_new = worker_new;
    s->worker_free = cd__rig_free;
    s->file = run_file;
}
