/* eth_getLogs: blocks whose bloom may hold what is asked for, then their receipts. [spec:eth-rpc#4] */
#include "chains/evmchain/evm_vm_priv.h"

/* Answers larger than this are refused, with a smaller range to ask for. */
enum { LOGS_MAX = 100000, CRITERIA_MAX = 1000 };

/* Any of the values (none = everything) in one place of a log. */
typedef struct choice {
    const cd_hash32 *values;
    usize cnt;
} choice;

typedef struct filter {
    u64 from;
    u64 to;
    const cd_addr20 *addrs;
    usize addr_cnt;
    choice topics[CD_LOG_TOPICS_MAX];
    usize topic_cnt;
} filter;

/* --- reading the filter object ------------------------------------------------------------------ */

static cd_err read_addrs(cd_rpc_call *call, filter *f, cd_json v)
{
    bool is_list = cd_json_kind_of(v) == CD_JSON_ARR;
    usize cnt = is_list ? cd_json_len(v) : 1;
    if (cnt > CRITERIA_MAX) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: exceed max addresses");
    }
    cd_addr20 *addrs = cd_arena_array(call->arena, cd_addr20, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_rpc_read_addr(call, &addrs[i], is_list ? cd_json_at(v, i) : v, 0));
    }
    f->addrs = addrs;
    f->addr_cnt = cnt;
    return CD_OK;
}

static cd_err read_choice(cd_rpc_call *call, choice *c, cd_json v)
{
    if (!cd_json_has(v)) {
        return CD_OK; /* null: anything */
    }
    bool is_list = cd_json_kind_of(v) == CD_JSON_ARR;
    usize cnt = is_list ? cd_json_len(v) : 1;
    if (cnt > CRITERIA_MAX) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: exceed max topics");
    }
    cd_hash32 *values = cd_arena_array(call->arena, cd_hash32, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_json one = is_list ? cd_json_at(v, i) : v;
        if (!cd_json_has(one)) {
            return CD_OK; /* a null among the choices allows everything */
        }
        CD_TRY(cd_rpc_read_hash(call, &values[i], one, 0));
    }
    c->values = values;
    c->cnt = cnt;
    return CD_OK;
}

static cd_err read_end(cd_rpc_call *call, u64 *out, cd_json v, const char *which)
{
    cd_block_ref ref;
    u64 head = cd_view_head(cd__api_view(call))->block.header.number;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, v, 0));
    if (ref.tag == CD_TAG_NUMBER && ref.number > head) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "requested %s block %llu after last accepted block %llu", which,
                           (unsigned long long)ref.number, (unsigned long long)head);
    }
    return cd__api_number(call, out, &found, &ref);
}

static cd_err read_filter(cd_rpc_call *call, filter *f, cd_json v)
{
    cd_json hash = cd_json_get(v, "blockHash");
    cd_json from = cd_json_get(v, "fromBlock");
    cd_json to = cd_json_get(v, "toBlock");
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: not a filter object");
    }
    if (cd_json_has(hash)) {
        cd_block_ref ref = {.tag = CD_TAG_HASH};
        bool found;
        if (cd_json_has(from) || cd_json_has(to)) {
            return cd_rpc_fail(
                call, CD_RPC_INVALID_PARAMS,
                "invalid argument 0: cannot specify both BlockHash and FromBlock/ToBlock, "
                "choose one or the other");
        }
        CD_TRY(cd_rpc_read_hash(call, &ref.hash, hash, 0));
        CD_TRY(cd__api_number(call, &f->from, &found, &ref));
        if (!found) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "unknown block");
        }
        f->to = f->from;
    } else {
        CD_TRY(read_end(call, &f->from, from, "from"));
        CD_TRY(read_end(call, &f->to, to, "to"));
        if (f->from > f->to) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "invalid block range params");
        }
    }
    if (cd_json_has(cd_json_get(v, "address"))) {
        CD_TRY(read_addrs(call, f, cd_json_get(v, "address")));
    }
    cd_json topics = cd_json_get(v, "topics");
    f->topic_cnt = cd_json_len(topics);
    if (f->topic_cnt > CD_LOG_TOPICS_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "exceed max topics");
    }
    for (usize i = 0; i < f->topic_cnt; i++) {
        CD_TRY(read_choice(call, &f->topics[i], cd_json_at(topics, i)));
    }
    return CD_OK;
}

/* --- matching ----------------------------------------------------------------------------------- */

static bool bloom_may_match(const filter *f, const cd_bloom *bloom)
{
    bool ok = f->addr_cnt == 0;
    for (usize i = 0; i < f->addr_cnt && !ok; i++) {
        ok = cd_bloom_has(bloom, cd_bytes_of(f->addrs[i].b, 20));
    }
    for (usize i = 0; i < f->topic_cnt && ok; i++) {
        const choice *c = &f->topics[i];
        ok = c->cnt == 0;
        for (usize j = 0; j < c->cnt && !ok; j++) {
            ok = cd_bloom_has(bloom, cd_bytes_of(c->values[j].b, 32));
        }
    }
    return ok;
}

static bool log_matches(const filter *f, const cd_log *log)
{
    bool ok = f->addr_cnt == 0;
    for (usize i = 0; i < f->addr_cnt && !ok; i++) {
        ok = cd_addr20_eq(&f->addrs[i], &log->addr);
    }
    if (f->topic_cnt > log->topic_cnt) {
        return false;
    }
    for (usize i = 0; i < f->topic_cnt && ok; i++) {
        const choice *c = &f->topics[i];
        ok = c->cnt == 0;
        for (usize j = 0; j < c->cnt && !ok; j++) {
            ok = cd_hash32_eq(&c->values[j], &log->topics[i]);
        }
    }
    return ok;
}

/* Writes the matching logs of one block; a is given back by the caller. */
static cd_err write_block_logs(cd_rpc_call *call, usize *total, cd_arena *a, const filter *f,
                               u64 number)
{
    const cd_accepted *acc;
    cd_err err = cd_view_block(cd__api_view(call), &acc, a, number);
    if (err != CD_OK) {
        return cd__api_store(call, err);
    }
    if (cd_rpc_is_late(call)) {
        return cd_rpc_fail_late(call);
    }
    const cd_block *b = &acc->block;
    const cd_receipt *receipts = acc->receipts;
    if (b->tx_cnt == 0 || !bloom_may_match(f, &b->header.bloom)) {
        return CD_OK;
    }
    usize idx = 0;
    for (usize i = 0; i < b->tx_cnt; i++) {
        for (usize j = 0; j < receipts[i].log_cnt; j++, idx++) {
            if (!log_matches(f, &receipts[i].logs[j])) {
                continue;
            }
            if (++*total > LOGS_MAX) {
                return cd_rpc_fail(call, CD_RPC_SERVER,
                                   "query returned more than %d logs, ask for blocks %llu to %llu",
                                   LOGS_MAX, (unsigned long long)f->from,
                                   (unsigned long long)(number > f->from ? number - 1 : f->from));
            }
            cd_api_log(call->out, &receipts[i].logs[j], &(cd_tx_place){.block = b, .idx = i}, idx);
        }
    }
    return CD_OK;
}

cd_err cd__eth_get_logs(cd_rpc_call *call)
{
    filter f = {0};
    usize total = 0;
    CD_TRY(read_filter(call, &f, cd_rpc_arg(call, 0)));
    cd_json_w_arr(call->out);
    for (u64 n = f.from; n <= f.to; n++) {
        cd_arena_mark mark = cd_arena_mark_get(call->arena);
        CD_TRY(write_block_logs(call, &total, call->arena, &f, n));
        cd_arena_rewind(call->arena, mark);
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}
