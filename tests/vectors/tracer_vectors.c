/* go-ethereum's tracer cases (evm-tracers): one transaction on a given state under a tracer, whose result is
 * compared as JSON. The folder names the tracer. The results of the older JavaScript tracers (*_legacy) are compared
 * as far as the tracers of today agree with them. [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "chains/evmchain/core/rules/chain_rules.h"
#include "chains/evmchain/core/rules/eth_rules.h"
#include "chains/evmchain/tracers/tracer_kind.h"
#include "lab/mapstate.h"
#include "types/tx_codec.h"

#include <strings.h>

typedef enum compare {
    EXACT,  /* the same value */
    LOGS,   /* an absent index of a log is 0 */
    PARITY, /* absent members are zero, the place in the chain does not count: as the origin compares */
    LEGACY, /* as PARITY, and what the older tracers did not tell does not count */
} compare;

typedef struct suite {
    const char *folder;
    const char *tracer;
    compare how;
} suite;

static const suite suites[] = {
    {"call_tracer", "callTracer", EXACT},
    {"call_tracer_withLog", "callTracer", LOGS},
    {"call_tracer_flat", "flatCallTracer", PARITY},
    {"prestate_tracer", "prestateTracer", EXACT},
    {"prestate_tracer_with_diff_mode", "prestateTracer", EXACT},
    {"call_tracer_legacy", "callTracer", LEGACY},
    {"prestate_tracer_legacy", "prestateTracer", LEGACY},
};

/* --- comparing --- */

/* Nothing, null, or a number, byte string or list that is zero or empty. */
static bool is_zero(cd_json v)
{
    cd_bytes s;
    switch (cd_json_kind_of(v)) {
    case CD_JSON_NONE:
    case CD_JSON_NULL:
        return true;
    case CD_JSON_STR:
        if (cd_json_str(&s, v, NULL) != CD_OK) {
            return false;
        }
        for (usize i = 0; i < s.n; i++) {
            if (s.p[i] != '0' && s.p[i] != 'x') {
                return false;
            }
        }
        return true;
    case CD_JSON_ARR:
    case CD_JSON_OBJ:
        return cd_json_len(v) == 0;
    case CD_JSON_BOOL:
    case CD_JSON_NUM:
        return false;
    }
    return false;
}

static bool is_ignored(const char *key, compare how)
{
    static const char *const place[] = {"blockHash", "blockNumber", "transactionHash", "transactionPosition", "time"};
    for (usize i = 0; how == PARITY && i < CD_COUNT(place); i++) {
        if (strcmp(place[i], key) == 0) {
            return true;
        }
    }
    return how == LEGACY && (strcmp(key, "codeHash") == 0 || strcmp(key, "revertReason") == 0);
}

static bool is_lenient(const char *key, compare how)
{
    return how == PARITY || how == LEGACY || (how == LOGS && strcmp(key, "index") == 0);
}

/* Cases that cannot agree, and why. */
static bool is_left_out(const char *path)
{
    static const struct {
        const char *file;
        const char *why;
    } cases[] = {
        {"call_tracer_legacy/inner_create_oog_outer_throw.json", "a failed creation was \"internal failure\""},
        {"call_tracer_legacy/inner_instafail.json", "a call that failed before its code ran was left out"},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        usize n = strlen(cases[i].file);
        if (strlen(path) >= n && strcmp(path + strlen(path) - n, cases[i].file) == 0) {
            (void)printf("not comparable, %s: %s\n", cases[i].file, cases[i].why);
            return true;
        }
    }
    return false;
}

static const char *text_of(cd_arena *a, cd_json v)
{
    cd_buf text = {0};
    cd_json_raw(&text, v);
    const char *s = cd_arena_str(a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return s;
}

/* The place of the first difference, or NULL. Nesting is that of the files. */
static const char *differ(cd_arena *a, cd_json have, cd_json want, compare how);

/* Members of one that the other lacks or that differ. */
static const char *members_differ(cd_arena *a, cd_json have, cd_json want, compare how)
{
    cd_json_it it = cd_json_iter(have);
    while (cd_json_next(&it)) {
        const char *key = cd_arena_str(a, it.key);
        cd_json other = cd_json_get(want, key);
        bool lenient = is_lenient(key, how) && is_zero(it.val) && is_zero(other);
        if (is_ignored(key, how) || lenient) {
            continue;
        }
        const char *where = differ(a, it.val, other, how);
        if (where != NULL) {
            return cd_arena_fmt(a, ".%s%s", key, where);
        }
    }
    return NULL;
}

static const char *differ(cd_arena *a, cd_json have, cd_json want, compare how)
{
    cd_json_kind kind = cd_json_kind_of(have);
    if (kind == cd_json_kind_of(want) && kind == CD_JSON_OBJ) {
        const char *where = members_differ(a, have, want, how);
        return where != NULL ? where : members_differ(a, want, have, how);
    }
    if (kind == cd_json_kind_of(want) && kind == CD_JSON_ARR) {
        usize n = cd_json_len(have);
        for (usize i = 0; i < n && n == cd_json_len(want); i++) {
            const char *where = differ(a, cd_json_at(have, i), cd_json_at(want, i), how);
            if (where != NULL) {
                return cd_arena_fmt(a, "[%zu]%s", i, where);
            }
        }
        return n == cd_json_len(want) ? NULL : cd_arena_fmt(a, ": %zu and %zu elements", n, cd_json_len(want));
    }
    const char *x = text_of(a, have);
    const char *y = text_of(a, want);
    bool same = how == LEGACY ? strcasecmp(x, y) == 0 : strcmp(x, y) == 0; /* checksums */
    return same ? NULL : cd_arena_fmt(a, ": %.200s and %.200s", x, y);
}

/* --- running --- */

/* The fork of the case's block: proof of stake is where the total difficulty to reach is nothing. */
static cd_fork fork_of(const cd_chain_config *config, const cd_block_env *env)
{
    cd_chain_rules rules = {.layout = CD_HEADER_ETHEREUM, .config = *config};
    bool is_stake = config->has_ttd && cd_u256_is_zero(&config->ttd);
    if (!is_stake) {
        rules.config.shanghai.is_set = false;
        rules.config.cancun.is_set = false;
        rules.config.prague.is_set = false;
    }
    cd_fork fork = cd_chain_rules_fork(&rules, env->number, env->time);
    return is_stake && fork == CD_LONDON ? CD_PARIS : fork;
}

static cd_err read_env(cd_block_env *env, cd_fork *fork, const cd_chain_config *config, cd_json doc, cd_errinfo *why)
{
    cd_json ctx = cd_json_get(doc, "context");
    cd_json genesis = cd_json_get(doc, "genesis");
    *env = (cd_block_env){.chain_id = config->chain_id};
    CD_TRY(cd_json_u64(&env->number, cd_json_get(ctx, "number"), why));
    CD_TRY(cd_json_u64(&env->time, cd_json_get(ctx, "timestamp"), why));
    CD_TRY(cd_json_u64(&env->gas_limit, cd_json_get(ctx, "gasLimit"), why));
    CD_TRY(cd_json_fixed(env->coinbase.b, 20, cd_json_get(ctx, "miner"), why));
    *fork = fork_of(config, env);
    if (*fork >= CD_LONDON && cd_json_has(cd_json_get(ctx, "baseFeePerGas"))) {
        CD_TRY(cd_json_u256(&env->base_fee, cd_json_get(ctx, "baseFeePerGas"), why));
    }
    if (*fork >= CD_PARIS && cd_json_has(cd_json_get(genesis, "mixHash"))) {
        cd_hash32 mix;
        CD_TRY(cd_json_fixed(mix.b, 32, cd_json_get(genesis, "mixHash"), why));
        env->prev_randao = cd_u256_from_hash(&mix);
    } else if (*fork < CD_PARIS) {
        CD_TRY(cd_json_u256(&env->prev_randao, cd_json_get(ctx, "difficulty"), why));
    }
    if (cd_json_has(cd_json_get(genesis, "excessBlobGas"))) {
        /* The origin's rig takes the excess of a parent without any. */
        cd_eth_blob_base_fee(&env->blob_base_fee, 0, cd_eth_blob_schedule(*fork));
    }
    return CD_OK;
}

/* The configuration as Go reads it: in one file a key has a capital letter. */
static cd_err read_config(cd_chain_config *out, cd_json genesis, cd_errinfo *why)
{
    cd_json v = cd_json_get(genesis, "config");
    cd_json istanbul = cd_json_get(v, "IstanbulBlock");
    CD_TRY(cd_chain_config_parse(out, v, why));
    if (cd_json_has(istanbul)) {
        out->istanbul.is_set = true;
        CD_TRY(cd_json_u64(&out->istanbul.at, istanbul, why));
    }
    return CD_OK;
}

static cd_err trace(cd_buf *out, cd_arena *a, cd_json doc, const char *tracer, cd_errinfo *why)
{
    cd_json genesis = cd_json_get(doc, "genesis");
    cd_chain_config config;
    cd_block_env env;
    cd_fork fork;
    const cd_genesis_account *accounts;
    usize cnt;
    cd_bytes raw;
    cd_tx tx;
    CD_TRY(read_config(&config, genesis, why));
    CD_TRY(read_env(&env, &fork, &config, doc, why));
    CD_TRY(cd_genesis_alloc_parse(&accounts, &cnt, a, cd_json_get(genesis, "alloc"), why));
    CD_TRY(cd_json_hex(&raw, a, cd_json_get(doc, "input"), why));
    CD_TRY(cd_tx_dec(&tx, a, raw, why));
    CD_TRY(cd_tx_recover(&tx, fork >= CD_HOMESTEAD));

    cd_trie_build *build = cd_trie_build_new(NULL, NULL);
    cd_mapstate *pre = cd_mapstate_new(a, build, accounts, cnt);
    cd_state *st = cd_state_new(&pre->src);
    cd_evm *evm = cd_evm_new();
    cd_evm_set_block(evm, fork, CD_PROFILE_ETHEREUM, &env, st, cd_precompile_eth(fork));
    cd_trace_tx job = {.tx = &tx, .st = st, .fork = fork, .coinbase = env.coinbase};
    cd_trace_opts opts = {.tracer = tracer, .cfg = cd_json_get(doc, "tracerConfig"), .timeout_ns = 60 * CD_NS_PER_SEC};
    u64 pool = UINT64_MAX;
    cd_json_w w = {.out = out};
    cd_err e = cd_trace_run(&w, evm, &pool, &job, NULL, &opts, cd_clock_real(), why);
    cd_evm_free(evm);
    cd_state_free(st);
    cd_trie_build_free(build);
    return e;
}

static const suite *running;

static cd_err on_file(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_errinfo why = {0};
    cd_buf out = {0};
    cd_json doc;
    cd_json have;
    if (kind != CD_FS_FILE || is_left_out(path) || !vec_json(v, &doc, path)) {
        return CD_OK;
    }
    cd_err e = trace(&out, &v->arena, doc, running->tracer, &why);
    if (e == CD_OK) {
        cd_bytes text = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
        e = cd_json_parse(&have, &v->arena, text, 0, &why);
    }
    cd_buf_fini(&out);
    if (e != CD_OK) {
        vec_check(v, false, "%s: %s", path, why.msg[0] != '\0' ? why.msg : cd_err_str(e));
        return CD_OK;
    }
    const char *where = differ(&v->arena, have, cd_json_get(doc, "result"), running->how);
    vec_check(v, where == NULL, "%s%s", path, where == NULL ? "" : where);
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    for (usize i = 0; i < CD_COUNT(suites); i++) {
        running = &suites[i];
        vec_walk(&v, cd_arena_fmt(&v.arena, "evm-tracers/%s", running->folder), on_file);
    }
    return vec_end(&v);
}
