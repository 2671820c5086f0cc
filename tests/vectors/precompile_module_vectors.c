/* testdata/evm-chain/precompile-vectors.json: every function of every module with roles, by every role,
 * with enough and too little gas, read-only or not, before and after Durango. Each call is made twice:
 * directly, where even a failed call shows what it did, and through the EVM, which must undo that and take
 * all gas. [spec:precompiles-core#2] */
#include "evm/evm.h"
#include "evm/test/empty_source.h"
#include "precompile/schedule.h"
#include "vec.h"

#include <string.h>

/* The modules of the file live at the upstream family's addresses; one schedule a module and rule set. */
enum { RULES = 2 };

typedef struct world {
    vec v;
    cd_schedule *schedules[CD_MODULE_COUNT][RULES];
    cd_evm *evm;
    cd_state *st;
    cd_arena call;
} world;

/* --- setting up --- */

static const cd_chain_config *chain_of(bool durango)
{
    static cd_chain_config c;
    c = (cd_chain_config){
        .durango.is_set = durango,
        .shanghai.is_set = durango,
        .fee =
            {
                .gas_limit = cd_u256_from_u64(8000000),
                .target_block_rate = 2,
                .min_base_fee = cd_u256_from_u64(25000000000),
                .target_gas = cd_u256_from_u64(15000000),
                .base_fee_change_denominator = cd_u256_from_u64(36),
                .max_block_gas_cost = cd_u256_from_u64(1000000),
                .block_gas_cost_step = cd_u256_from_u64(200000),
            },
    };
    return &c;
}

static cd_schedule *schedule_of(world *w, cd_module_id id, bool durango)
{
    static const char roles[] = "{\"%s\":{\"blockTimestamp\":0,"
                                "\"adminAddresses\":[\"0x000000000000000000000000000000000000a001\"],"
                                "\"managerAddresses\":[\"0x000000000000000000000000000000000000a002\"],"
                                "\"enabledAddresses\":[\"0x000000000000000000000000000000000000a003\"]}}";
    cd_schedule **s = &w->schedules[id][durango];
    if (*s == NULL) {
        cd_json config;
        cd_errinfo why = {0};
        char text[512];
        (void)snprintf(text, sizeof text, roles, cd_module_get(id)->key);
        cd_err e = cd_json_parse(&config, &w->v.arena, cd_bytes_str(text), 0, &why);
        CD_ASSERT(e == CD_OK);
        e = cd_schedule_new(s,
                            &(cd_schedule_cfg){
                                .chain = chain_of(durango),
                                .config = config,
                                .addrs = CD_ADDRS_LEGACY,
                                .unverified = true,
                            },
                            &why);
        CD_ASSERT(e == CD_OK);
    }
    return *s;
}

/* One object of the file. */
typedef struct row {
    cd_module_id module;
    bool durango;
    bool read_only;
    cd_addr20 addr;
    cd_addr20 caller;
    cd_bytes input;
    cd_bytes output;
    u64 gas;
    u64 gas_left;
    const char *error;
    cd_json writes;
    cd_json credits;
    cd_json logs;
} row;

static cd_err read_row(row *r, cd_arena *a, cd_json j, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, cd_json_get(j, "module"), why));
    const cd_module_info *m = cd_module_by_key(text);
    if (m == NULL) {
        return cd_fail(why, CD_ENOENT, "no such module");
    }
    r->module = m->id;
    CD_TRY(cd_json_str(&text, cd_json_get(j, "rules"), why));
    r->durango = cd_bytes_eq(text, cd_bytes_str("durango+"));
    CD_TRY(cd_json_bool(&r->read_only, cd_json_get(j, "readOnly"), why));
    CD_TRY(cd_json_fixed(r->addr.b, 20, cd_json_get(j, "address"), why));
    CD_TRY(cd_json_fixed(r->caller.b, 20, cd_json_get(j, "caller"), why));
    CD_TRY(cd_json_hex(&r->input, a, cd_json_get(j, "input"), why));
    CD_TRY(cd_json_hex(&r->output, a, cd_json_get(j, "output"), why));
    CD_TRY(cd_json_u64(&r->gas, cd_json_get(j, "gasSupplied"), why));
    CD_TRY(cd_json_u64(&r->gas_left, cd_json_get(j, "gasLeft"), why));
    CD_TRY(cd_json_str(&text, cd_json_get(j, "error"), why));
    r->error = cd_arena_str(a, text);
    r->writes = cd_json_get(j, "storageWrites");
    r->credits = cd_json_get(j, "balanceAdds");
    r->logs = cd_json_get(j, "logs");
    return CD_OK;
}

/* --- what a call did --- */

static bool same_logs(const cd_state *st, cd_arena *a, cd_json want)
{
    usize cnt;
    const cd_log *logs = cd_state_logs(st, &cnt);
    if (cnt != cd_json_len(want)) {
        return false;
    }
    for (usize i = 0; i < cnt; i++) {
        cd_json l = cd_json_at(want, i);
        cd_json topics = cd_json_get(l, "topics");
        cd_bytes data;
        cd_addr20 addr;
        if (cd_json_fixed(addr.b, 20, cd_json_get(l, "address"), NULL) != CD_OK ||
            cd_json_hex(&data, a, cd_json_get(l, "data"), NULL) != CD_OK || !cd_addr20_eq(&addr, &logs[i].addr) ||
            !cd_bytes_eq(data, logs[i].data) || cd_json_len(topics) != logs[i].topic_cnt) {
            return false;
        }
        for (u32 t = 0; t < logs[i].topic_cnt; t++) {
            cd_hash32 topic;
            if (cd_json_fixed(topic.b, 32, cd_json_at(topics, t), NULL) != CD_OK ||
                !cd_hash32_eq(&topic, &logs[i].topics[t])) {
                return false;
            }
        }
    }
    return true;
}

/* Every listed write holds now. */
static bool has_writes(cd_state *st, cd_json want)
{
    cd_json_it it = cd_json_iter(want);
    while (cd_json_next(&it)) {
        cd_addr20 addr;
        cd_hash32 key;
        cd_hash32 value;
        if (cd_json_fixed(addr.b, 20, cd_json_at(it.val, 0), NULL) != CD_OK ||
            cd_json_fixed(key.b, 32, cd_json_at(it.val, 1), NULL) != CD_OK ||
            cd_json_fixed(value.b, 32, cd_json_at(it.val, 2), NULL) != CD_OK) {
            return false;
        }
        cd_u256 k = cd_u256_from_hash(&key);
        cd_u256 v = cd_u256_from_hash(&value);
        if (!cd_u256_eq(&cd_state_slot(st, cd_state_acct(st, &addr), &k)->value, &v)) {
            return false;
        }
    }
    return true;
}

/* Nobody had any coins before, so a credit is the balance. */
static bool has_credits(cd_state *st, cd_json want)
{
    cd_json_it it = cd_json_iter(want);
    while (cd_json_next(&it)) {
        cd_addr20 addr;
        cd_u256 amount;
        if (cd_json_fixed(addr.b, 20, cd_json_at(it.val, 0), NULL) != CD_OK ||
            cd_json_u256(&amount, cd_json_at(it.val, 1), NULL) != CD_OK ||
            !cd_u256_eq(&cd_state_acct(st, &addr)->balance, &amount)) {
            return false;
        }
    }
    return true;
}

/* A digest of everything in the state that differs from nothing, to compare two states by. */
typedef struct digest {
    u64 sum;
    usize slots;
} digest;

static void mix(digest *d, const void *p, usize n)
{
    const u8 *b = p;
    for (usize i = 0; i < n; i++) {
        d->sum = (d->sum ^ b[i]) * 0x100000001b3;
    }
}

static cd_err mix_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    digest *d = ctx;
    mix(d, a->addr.b, 20);
    mix(d, &exists, sizeof exists);
    mix(d, &wiped, sizeof wiped);
    mix(d, &a->balance, sizeof a->balance);
    mix(d, &a->nonce, sizeof a->nonce);
    mix(d, a->code_hash.b, 32);
    return CD_OK;
}

static cd_err mix_slot(void *ctx, const cd_acct *a, const cd_slot *s)
{
    digest *d = ctx;
    (void)a;
    mix(d, &s->key, sizeof s->key);
    mix(d, &s->value, sizeof s->value);
    d->slots++;
    return CD_OK;
}

static digest digest_of(cd_state *st)
{
    digest d = {.sum = 0xcbf29ce484222325};
    cd_err e = cd_state_changes(st, &(cd_state_visitor){.ctx = &d, .acct = mix_acct, .slot = mix_slot});
    CD_ASSERT(e == CD_OK);
    return d;
}

/* How many of the listed writes go to slots that were empty. */
static usize new_slots(cd_state *st, cd_json writes)
{
    usize cnt = 0;
    cd_json_it it = cd_json_iter(writes);
    while (cd_json_next(&it)) {
        cd_addr20 addr;
        cd_hash32 key;
        cd_hash32 value;
        bool ok = cd_json_fixed(addr.b, 20, cd_json_at(it.val, 0), NULL) == CD_OK &&
                  cd_json_fixed(key.b, 32, cd_json_at(it.val, 1), NULL) == CD_OK &&
                  cd_json_fixed(value.b, 32, cd_json_at(it.val, 2), NULL) == CD_OK;
        CD_ASSERT(ok);
        cd_u256 k = cd_u256_from_hash(&key);
        bool was_empty = cd_u256_is_zero(&cd_state_slot(st, cd_state_acct(st, &addr), &k)->value);
        cnt += was_empty && !cd_hash32_is_zero(&value) ? 1 : 0;
        cnt -= !was_empty && cd_hash32_is_zero(&value) ? 1 : 0;
    }
    return cnt;
}

/* --- the two ways to call --- */

static const cd_block_env block = {.number = 7};

static void reset(world *w, const cd_schedule *s)
{
    cd_state_reset(w->st, &nothing);
    cd_state_clear_logs(w->st);
    cd_schedule_apply(s, w->st, NULL, 0, 0);
    cd_state_begin_tx(w->st);
    cd_arena_reset(&w->call);
}

static const char *outcome_text(cd_precompile_outcome o, const cd_precompile_call *call)
{
    switch (o) {
    case CD_PRE_OK:
        return "";
    case CD_PRE_OUT_OF_GAS:
        return "out of gas";
    case CD_PRE_FAIL:
    case CD_PRE_DENIED:
        return call->reason;
    case CD_PRE_REVERT:
        break;
    }
    return "reverted";
}

/* Fee validity is worded differently upstream [spec:precompiles-core#7]. */
static bool same_error(const char *got, const char *want)
{
    static const char fees[] = "cannot verify fee config: ";
    usize n = strlen(fees);
    return strncmp(want, fees, n) == 0 ? strncmp(got, fees, n) == 0 && strlen(got) > n : strcmp(got, want) == 0;
}

static bool is_denial(const char *error)
{
    return strncmp(error, "non-enabled", 11) == 0 || strncmp(error, "cannot modify", 13) == 0;
}

static const char *run_direct(world *w, const row *r, const cd_schedule *s)
{
    reset(w, s);
    usize slots = digest_of(w->st).slots + new_slots(w->st, r->writes);
    const cd_precompile *p = cd_precompile_find(cd_schedule_table(s, 0), &r->addr);
    if (p == NULL) {
        return "no precompile there";
    }
    cd_precompile_call call = {
        .input = r->input,
        .gas = r->gas,
        .arena = &w->call,
        .state = w->st,
        .block = &block,
        .caller = r->caller,
        .self = r->addr,
        .is_static = r->read_only,
    };
    cd_precompile_outcome o = p->run(&call, p->cfg);
    const char *error = outcome_text(o, &call);
    if (!same_error(error, r->error)) {
        return cd_arena_fmt(&w->v.arena, "error \"%s\"", error);
    }
    if ((o == CD_PRE_DENIED) != is_denial(r->error)) {
        return "error of another class";
    }
    if (call.gas != r->gas_left) {
        return cd_arena_fmt(&w->v.arena, "gas left %llu", (unsigned long long)call.gas);
    }
    return !cd_bytes_eq(call.output, r->output)      ? "other output"
           : !has_writes(w->st, r->writes)           ? "other storage"
           : digest_of(w->st).slots != slots         ? "more or fewer slots"
           : !has_credits(w->st, r->credits)         ? "other balance"
           : !same_logs(w->st, &w->v.arena, r->logs) ? "other logs"
                                                     : NULL;
}

static const char *run_in_evm(world *w, const row *r, const cd_schedule *s)
{
    reset(w, s);
    u64 before = digest_of(w->st).sum;
    cd_evm_set_block(w->evm, CD_SHANGHAI, CD_PROFILE_L1, &block, w->st, cd_schedule_table(s, 0));
    cd_evm_result res;
    cd_evm_call(w->evm, &res,
                &(cd_evm_msg){
                    .kind = r->read_only ? CD_STATICCALL : CD_CALL,
                    .is_static = r->read_only,
                    .gas = r->gas,
                    .caller = r->caller,
                    .to = r->addr,
                    .code = r->addr,
                    .input = r->input,
                });
    if (r->error[0] == '\0') {
        return res.status != CD_EVM_OK || res.gas_left != r->gas_left ? "the EVM sees a failure" : NULL;
    }
    usize logs;
    (void)cd_state_logs(w->st, &logs);
    return res.status == CD_EVM_OK || res.status == CD_EVM_REVERT       ? "the EVM sees no failure"
           : res.gas_left != 0                                          ? "gas survives a failure"
           : !same_error(cd_evm_result_str(&res), r->error)             ? "words got lost"
           : logs != 0 || before != digest_of(w->st).sum                ? "a failed call leaves traces"
           : is_denial(r->error) != (res.status == CD_EVM_UNAUTHORIZED) ? "other status"
                                                                        : NULL;
}

static void run(world *w, cd_json j, usize idx)
{
    row r = {0};
    cd_errinfo why = {0};
    if (read_row(&r, &w->v.arena, j, &why) != CD_OK) {
        vec_check(&w->v, false, "%zu: %s", idx, why.msg);
        return;
    }
    const cd_schedule *s = schedule_of(w, r.module, r.durango);
    const char *bad = run_direct(w, &r, s);
    bad = bad != NULL ? bad : run_in_evm(w, &r, s);
    vec_check(&w->v, bad == NULL, "%zu: %s", idx, bad);
}

int main(void)
{
    world w = {.evm = cd_evm_new(), .st = cd_state_new(&nothing)};
    cd_json doc;
    if (vec_json(&w.v, &doc, vec_path(&w.v, "evm-chain/precompile-vectors.json"))) {
        cd_json_it it = cd_json_iter(doc);
        for (usize i = 0; cd_json_next(&it); i++) {
            run(&w, it.val, i);
        }
    }
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        for (usize k = 0; k < RULES; k++) {
            cd_schedule_free(w.schedules[i][k]);
        }
    }
    cd_arena_fini(&w.call);
    cd_state_free(w.st);
    cd_evm_free(w.evm);
    return vec_end(&w.v);
}
