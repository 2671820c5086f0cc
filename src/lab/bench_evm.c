#include "lab/bench_evm.h"

#include "base/os/fileio.h"
#include "codec/json.h"
#include "evm/transition.h"
#include "lab/mapstate.h"
#include "types/receipt.h"

enum { FILE_MAX = 16 << 20, CROWD_MAX = 100000, CROWD_CODE_MAX = 24576 };

/* The fixed surroundings of every workload. */
static const cd_addr20 CALLER = {.b = {0xa9, 0x4f, 0x53, 0x74, 0xfc, 0xe5, 0xed, 0xbc, 0x8e, 0x2a,
                                       0x86, 0x97, 0xc1, 0x53, 0x31, 0x67, 0x7e, 0x6e, 0xbf, 0x0b}};
static const cd_addr20 CALLEE = {.b = {0xbe, 0x7c, 0x43, 0xa5, 0x80, [19] = 1}};
static const cd_addr20 COINBASE = {.b = {0xc0, 0xff, 0xee, [19] = 1}};

/* Contracts beside the one that is called. Number i is at 0xc4…i; its code of `size` bytes is head, then fill again and
 * again, then i as 4 bytes, so that each has another hash. */
typedef struct crowd {
    u64 cnt;
    u64 size;
    cd_bytes head;
    cd_bytes fill;
} crowd;

/* One workload file. */
typedef struct workload {
    cd_bytes name;
    cd_fork fork;
    u64 gas;
    cd_bytes code;
    cd_bytes input;
    bool is_fresh; /* each repetition uses a new EVM, which has seen no code yet */
    crowd crowd;
    cd_bytes status;
    u64 gas_used;
    u64 refund;
    u64 log_cnt;
    cd_hash32 logs_hash;
    bool has_output; /* the file has the output; else the hash of it */
    cd_bytes output;
    cd_hash32 output_hash;
    cd_hash32 state_root;
} workload;

/* What all workloads of one run share. */
typedef struct bench {
    cd_buf *out;
    const char *only;
    const cd_lab_effort *effort;
    cd_evm_tier tier;
    cd_errinfo *why;
    cd_arena arena;
    cd_buf text;
    cd_trie_build *trie;
    u64 done;
} bench;

static cd_err load_crowd(bench *b, crowd *c, cd_json v)
{
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(&c->cnt, cd_json_get(v, "count"), b->why));
    CD_TRY(cd_json_u64(&c->size, cd_json_get(v, "size"), b->why));
    CD_TRY(cd_json_hex(&c->head, &b->arena, cd_json_get(v, "head"), b->why));
    CD_TRY(cd_json_hex(&c->fill, &b->arena, cd_json_get(v, "fill"), b->why));
    bool is_good = c->cnt <= CROWD_MAX && c->size <= CROWD_CODE_MAX && c->fill.n != 0 && c->head.n + 4 <= c->size;
    return is_good ? CD_OK : cd_json_fail(v, CD_ERANGE, "no such crowd", b->why);
}

static cd_bytes crowd_code(bench *b, const crowd *c, u32 i)
{
    u8 *p = cd_arena_alloc(&b->arena, c->size);
    usize n = c->head.n;
    if (n != 0) {
        memcpy(p, c->head.p, n);
    }
    for (usize at = 0; n < c->size - 4; n++) {
        p[n] = c->fill.p[at];
        at = at + 1 == c->fill.n ? 0 : at + 1;
    }
    cd_put_be32(p + n, i);
    return cd_bytes_of(p, c->size);
}

static cd_err load(bench *b, workload *w, cd_bytes text)
{
    cd_errinfo *why = b->why;
    cd_json doc;
    CD_TRY(cd_json_parse(&doc, &b->arena, text, 0, why));
    cd_json expect = cd_json_get(doc, "expect");
    cd_bytes fork;
    CD_TRY(cd_json_str(&w->name, cd_json_get(doc, "name"), why));
    CD_TRY(cd_json_str(&fork, cd_json_get(doc, "fork"), why));
    const char *fork_name = cd_arena_str(&b->arena, fork);
    if (cd_fork_parse(&w->fork, fork_name) != CD_OK) {
        /* These files write the names of forks in lower case. */
        char *capital = cd_arena_str(&b->arena, fork);
        capital[0] = (char)(capital[0] - ('a' - 'A'));
        if (cd_fork_parse(&w->fork, capital) != CD_OK) {
            return cd_json_fail(cd_json_get(doc, "fork"), CD_EFORMAT, "unknown fork", why);
        }
    }
    CD_TRY(cd_json_u64(&w->gas, cd_json_get(doc, "gas"), why));
    CD_TRY(cd_json_hex(&w->code, &b->arena, cd_json_get(doc, "code"), why));
    CD_TRY(cd_json_hex(&w->input, &b->arena, cd_json_get(doc, "input"), why));
    w->is_fresh = cd_json_has(cd_json_get(doc, "fresh"));
    CD_TRY(load_crowd(b, &w->crowd, cd_json_get(doc, "crowd")));
    CD_TRY(cd_json_str(&w->status, cd_json_get(expect, "status"), why));
    CD_TRY(cd_json_u64(&w->gas_used, cd_json_get(expect, "gas_used"), why));
    CD_TRY(cd_json_u64(&w->refund, cd_json_get(expect, "refund"), why));
    CD_TRY(cd_json_u64(&w->log_cnt, cd_json_get(expect, "logs"), why));
    CD_TRY(cd_json_fixed(w->logs_hash.b, 32, cd_json_get(expect, "logs_hash"), why));
    CD_TRY(cd_json_fixed(w->state_root.b, 32, cd_json_get(expect, "state_root"), why));
    w->has_output = cd_json_has(cd_json_get(expect, "output"));
    return w->has_output ? cd_json_hex(&w->output, &b->arena, cd_json_get(expect, "output"), why)
                         : cd_json_fixed(w->output_hash.b, 32, cd_json_get(expect, "output_keccak"), why);
}

/* prepare starts a transaction on a fresh state with the access list of an ordinary call. */
static void prepare(cd_state *st, const cd_precompile_table *precompiles, cd_mapstate *base)
{
    cd_state_reset(st, &base->src);
    cd_state_begin_tx(st);
    (void)cd_state_warm_acct(st, cd_state_acct(st, &CALLER));
    (void)cd_state_warm_acct(st, cd_state_acct(st, &CALLEE));
    (void)cd_state_warm_acct(st, cd_state_acct(st, &COINBASE));
    usize cnt;
    const cd_precompile *p = cd_precompile_list(precompiles, &cnt);
    for (usize i = 0; i < cnt; i++) {
        (void)cd_state_warm_acct(st, cd_state_acct(st, &p[i].addr));
    }
}

/* is_status tells whether a status is the one the file wants: "ok", "revert" or "halt: ...". */
static bool is_status(cd_bytes want, cd_evm_status got)
{
    if (got == CD_EVM_OK) {
        return cd_bytes_eq(want, cd_bytes_str("ok"));
    }
    if (got == CD_EVM_REVERT) {
        return cd_bytes_eq(want, cd_bytes_str("revert"));
    }
    return want.n >= 5 && memcmp(want.p, "halt:", 5) == 0;
}

static cd_err verify(bench *b, const workload *w, cd_state *st, const cd_mapstate *base, const cd_evm_result *res)
{
    const char *what = NULL;
    usize log_cnt;
    const cd_log *logs = cd_state_logs(st, &log_cnt);
    cd_hash32 h;
    if (!is_status(w->status, res->status)) {
        what = "status";
    } else if (w->gas - res->gas_left != w->gas_used) {
        what = "gas";
    } else if (cd_state_refund_get(st) != w->refund) {
        what = "refund";
    } else if (log_cnt != w->log_cnt) {
        what = "number of logs";
    }
    cd_logs_hash(&h, logs, log_cnt);
    if (what == NULL && !cd_hash32_eq(&h, &w->logs_hash)) {
        what = "logs";
    }
    cd_keccak256(&h, res->output);
    bool same_output = w->has_output ? cd_bytes_eq(res->output, w->output) : cd_hash32_eq(&h, &w->output_hash);
    if (what == NULL && !same_output) {
        what = "output";
    }
    if (what == NULL) {
        cd_state_end_tx(st, true);
        cd_mapstate *after;
        CD_TRY(cd_mapstate_next(&after, &b->arena, b->trie, base, st));
        if (!cd_hash32_eq(&after->root, &w->state_root)) {
            what = "state root";
        }
    }
    return what == NULL
               ? CD_OK
               : cd_fail(b->why, CD_EINVAL, "%.*s: %s differs (status %d, gas %llu)", (int)w->name.n,
                         (const char *)w->name.p, what, (int)res->status, (unsigned long long)(w->gas - res->gas_left));
}

static void report(bench *b, const workload *w, const cd_lab_timing *t)
{
    static const char *const tiers[] = {
        [CD_TIER_AUTO] = "auto", [CD_TIER_DIRECT] = "direct", [CD_TIER_CELLS] = "cells"};
    cd_buf_fmt(b->out,
               "{\"bench\":\"evm\",\"name\":\"%.*s\",\"impl\":\"c\",\"tier\":\"%s\",\"ns\":%llu,"
               "\"first_ns\":%llu,\"gas\":%llu,\"mgas_s\":%.1f,\"iters\":%llu}\n",
               (int)w->name.n, (const char *)w->name.p, tiers[b->tier], (unsigned long long)t->best,
               (unsigned long long)t->first, (unsigned long long)w->gas_used,
               cd_lab_per((double)w->gas_used * 1e3, (double)t->best), (unsigned long long)t->reps);
}

/* Makes the state that a workload starts from. */
static cd_mapstate *world_of(bench *b, const workload *w)
{
    usize cnt = 2 + (usize)w->crowd.cnt;
    cd_genesis_account *accounts = cd_arena_array(&b->arena, cd_genesis_account, cnt);
    accounts[0] = (cd_genesis_account){.addr = CALLER, .balance = {.w = {0, 1ULL << 56}}};
    accounts[1] = (cd_genesis_account){.addr = CALLEE, .nonce = 1, .code = w->code};
    for (u32 i = 0; i < w->crowd.cnt; i++) {
        accounts[2 + i] = (cd_genesis_account){.nonce = 1, .code = crowd_code(b, &w->crowd, i)};
        accounts[2 + i].addr.b[0] = 0xc4;
        cd_put_be32(accounts[2 + i].addr.b + 16, i);
    }
    return cd_mapstate_new(&b->arena, b->trie, accounts, cnt);
}

static cd_evm *evm_of(const bench *b, const workload *w, const cd_block_env *block, const cd_tx_env *tx, cd_state *st)
{
    cd_evm *evm = cd_evm_new();
    cd_evm_set_tier(evm, b->tier);
    cd_evm_set_block(evm, w->fork, CD_PROFILE_ETHEREUM, block, st, cd_precompile_eth(w->fork));
    cd_evm_set_tx(evm, tx);
    return evm;
}

static cd_err measure(bench *b, const workload *w)
{
    const cd_block_env block = {.number = 1,
                                .time = 1000,
                                .gas_limit = 1000000000,
                                .coinbase = COINBASE,
                                .base_fee = {.w = {1}},
                                .prev_randao = {.w = {1}},
                                .blob_base_fee = {.w = {1}},
                                .chain_id = 1};
    const cd_tx_env tx = {.origin = CALLER, .gas_price = cd_u256_one()};
    const cd_evm_msg msg = {
        .kind = CD_CALL, .gas = w->gas, .caller = CALLER, .to = CALLEE, .code = CALLEE, .input = w->input};
    const cd_precompile_table *precompiles = cd_precompile_eth(w->fork);
    cd_mapstate *base = world_of(b, w);
    cd_state *st = cd_state_new(&base->src);
    cd_evm *evm = evm_of(b, w, &block, &tx, st);
    cd_lab_timing t = {0};
    cd_evm_result res;
    do {
        if (w->is_fresh) {
            cd_evm_free(evm);
            evm = evm_of(b, w, &block, &tx, st);
        }
        prepare(st, precompiles, base);
        cd_evm_forget_hashes(evm);
        u64 start = cd_lab_thread_cpu_ns();
        cd_evm_call(evm, &res, &msg);
        cd_lab_timing_add(&t, cd_lab_thread_cpu_ns() - start);
    } while (cd_lab_timing_goes_on(&t, b->effort));
    cd_err err = verify(b, w, st, base, &res);
    if (err == CD_OK) {
        report(b, w, &t);
    }
    cd_evm_free(evm);
    cd_state_free(st);
    return err;
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    bench *b = ctx;
    usize n = strlen(path);
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    if (kind != CD_FS_FILE || n < 5 || strcmp(path + n - 5, ".json") != 0) {
        return CD_OK;
    }
    /* Other JSON files live in folders below; workloads are named group_name.json. */
    if (strstr(path, "/meta/") != NULL || strstr(path, "/src/") != NULL || strstr(path, "/blocks/") != NULL ||
        name[0] == '.') {
        return CD_OK;
    }
    cd_buf_clear(&b->text);
    cd_arena_reset(&b->arena);
    CD_TRY(cd_fs_read_file(cd_fs_real(), &b->text, path, FILE_MAX, b->why));
    workload w = {0};
    CD_TRY(load(b, &w, cd_buf_bytes(&b->text)));
    if (b->only != NULL && strstr(cd_arena_str(&b->arena, w.name), b->only) == NULL) {
        return CD_OK;
    }
    b->done++;
    return measure(b, &w);
}

cd_err cd_lab_bench_evm(cd_buf *out, const char *dir, const char *only, const cd_lab_effort *effort, cd_evm_tier tier,
                        cd_errinfo *why)
{
    bench b = {
        .out = out, .only = only, .effort = effort, .tier = tier, .why = why, .trie = cd_trie_build_new(NULL, NULL)};
    cd_err err = cd_fs_walk(cd_fs_real(), dir, visit, &b, why);
    if (err == CD_OK && b.done == 0) {
        err = cd_fail(why, CD_ENOENT, "no workload in %s matches", dir);
    }
    cd_trie_build_free(b.trie);
    cd_buf_fini(&b.text);
    cd_arena_fini(&b.arena);
    return err;
}
