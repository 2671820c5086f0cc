/* What clients subscribe to, and how they say from where on. [spec:eth-rpc#7] */
#include "chains/evmchain/rpc/logs/kinds.h"

#include "chains/evmchain/core/dev/cuts.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/rpc/debug/trace_chain.h"
#include "chains/evmchain/rpc/logs/logs_priv.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/param.h"

/* --- the beginning --- */

/* The highest block that a stream tells of. */
static u64 last_of(cd_rpc_call *call, bool is_final)
{
    u64 head = cd_view_head(cd_api_view(call))->block.header.number;
    return is_final ? cd_api_final(cd_api_of(call), head) : head;
}

/* A cursor of a client; a development network may have gone back behind it. */
static cd_err check_cursor(cd_rpc_call *call, cd_cursor *c, bool is_final)
{
    cd_view *view = cd_api_view(call);
    u64 head = last_of(call, is_final);
    u64 epoch = cd_view_epoch(view);
    u64 cut;
    if (c->epoch < epoch) {
        cd_err e = cd_cut_since(cd_view_kv(view), &cut, c->epoch);
        if (e == CD_OK && cd_cursor_is_past(c, cut)) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "cursor is behind a revert, restart at height %llu",
                               (unsigned long long)cut + 1);
        }
        if (e != CD_OK && e != CD_ENOENT) {
            return cd_api_store(call, e);
        }
    }
    if (c->epoch > epoch || cd_cursor_is_past(c, head)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "requested from block %llu after last %s block %llu",
                           (unsigned long long)c->height, is_final ? "final" : "accepted", (unsigned long long)head);
    }
    c->epoch = epoch;
    return CD_OK;
}

static cd_err read_cursor(cd_rpc_call *call, cd_feed_wish *wish, cd_json v, usize idx)
{
    cd_bytes text;
    if (cd_json_kind_of(v) == CD_JSON_BOOL) {
        return cd_rpc_read_bool(call, &wish->with_cursor, v, idx);
    }
    if (cd_json_str(&text, v, NULL) != CD_OK || cd_cursor_parse(&wish->start, text) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: not a cursor", idx);
    }
    wish->with_cursor = true;
    wish->is_private = true;
    return check_cursor(call, &wish->start, wish->is_final);
}

/* The option finality: "final", or "accepted" as when it is left out. */
static cd_err read_finality(cd_rpc_call *call, cd_feed_wish *wish, cd_json v, usize idx)
{
    cd_bytes text = {0};
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    bool is_text = cd_json_str(&text, v, NULL) == CD_OK;
    bool is_final = is_text && cd_bytes_eq(text, cd_bytes_str("final"));
    if (!is_final && (!is_text || !cd_bytes_eq(text, cd_bytes_str("accepted")))) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: finality is \"accepted\" or \"final\"",
                           idx);
    }
    wish->is_final |= is_final;
    return CD_OK;
}

/* Reads fromBlock, cursor and finality of the options v, parameter idx; without them the stream begins with the next
 * block. */
static cd_err read_start(cd_rpc_call *call, cd_feed_wish *wish, cd_json v, usize idx)
{
    cd_json from = cd_json_get(v, "fromBlock");
    cd_json cursor = cd_json_get(v, "cursor");
    CD_TRY(read_finality(call, wish, cd_json_get(v, "finality"), idx));
    wish->start = (cd_cursor){.epoch = cd_view_epoch(cd_api_view(call)), .height = last_of(call, wish->is_final) + 1};
    if (cd_json_has(cursor)) {
        CD_TRY(read_cursor(call, wish, cursor, idx));
    }
    if (!cd_json_has(from)) {
        return CD_OK;
    }
    cd_block_ref ref;
    if (wish->is_private) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument %zu: cannot specify both fromBlock and a cursor", idx);
    }
    CD_TRY(cd_rpc_read_block(call, &ref, from, idx));
    wish->is_private = true;
    return cd__logs_resolve(call, &wish->start.height, &ref, "from");
}

static cd_err join(cd_rpc_call *call, cd_rpc_topic **out, const cd_feed_wish *wish)
{
    cd_errinfo why = {0};
    cd_api *api = cd_api_of(call);
    cd_err e = cd_feed_join(wish->is_final ? api->final_feed : api->feed, out, wish, &why);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

/* --- the kinds --- */

static cd_err check_options(cd_rpc_call *call, usize idx)
{
    return !cd_rpc_has_arg(call, idx) || cd_json_kind_of(cd_rpc_arg(call, idx)) == CD_JSON_OBJ
               ? CD_OK
               : cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: not an object", idx);
}

static cd_err open_heads(cd_rpc_call *call, cd_rpc_topic **out)
{
    cd_feed_wish wish = {.kind = CD_STREAM_HEADS};
    CD_TRY(check_options(call, 1));
    CD_TRY(read_start(call, &wish, cd_rpc_arg(call, 1), 1));
    return join(call, out, &wish);
}

static cd_err open_final_heads(cd_rpc_call *call, cd_rpc_topic **out)
{
    cd_feed_wish wish = {.kind = CD_STREAM_HEADS, .is_final = true};
    CD_TRY(check_options(call, 1));
    CD_TRY(read_start(call, &wish, cd_rpc_arg(call, 1), 1));
    return join(call, out, &wish);
}

static cd_err open_logs(cd_rpc_call *call, cd_rpc_topic **out)
{
    cd_log_criteria want;
    cd_feed_wish wish = {.kind = CD_STREAM_LOGS, .want = &want};
    cd_json v = cd_rpc_arg(call, 1);
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 1: not a filter object");
    }
    CD_TRY(cd_log_criteria_read(call, &want, call->arena, v, 1));
    CD_TRY(read_start(call, &wish, v, 1));
    return join(call, out, &wish);
}

static cd_err open_txs(cd_rpc_call *call, cd_rpc_topic **out)
{
    cd_feed_wish wish = {.kind = CD_STREAM_TXS};
    if (cd_rpc_has_arg(call, 1)) {
        CD_TRY(cd_rpc_read_bool(call, &wish.is_full, cd_rpc_arg(call, 1), 1));
    }
    CD_TRY(check_options(call, 2));
    CD_TRY(read_start(call, &wish, cd_rpc_arg(call, 2), 2));
    return join(call, out, &wish);
}

static cd_err open_pending(cd_rpc_call *call, cd_rpc_topic **out)
{
    bool is_full = false;
    if (cd_rpc_has_arg(call, 1)) {
        CD_TRY(cd_rpc_read_bool(call, &is_full, cd_rpc_arg(call, 1), 1));
    }
    *out = cd_feed_pending_topic(cd_api_of(call)->feed, is_full);
    return CD_OK;
}

const cd_rpc_kind cd__api_kinds[] = {
    {
        .group = "eth-filter",
        .space = "eth",
        .name = "newHeads",
        .max = 1,
        .open = open_heads,
        .schema = "options?: FeedOptions? -> Header",
        .summary = "Headers of accepted blocks",
    },
    {
        .group = "eth-filter",
        .space = "eth",
        .name = "newFinalizedHeads",
        .max = 1,
        .open = open_final_heads,
        .schema = "options?: FeedOptions? -> Header",
        .summary = "Headers of blocks that became final, each of them in order",
    },
    {
        .group = "eth-filter",
        .space = "eth",
        .name = "logs",
        .required = 1,
        .max = 1,
        .open = open_logs,
        .schema = "filter: FeedFilter -> Log",
        .summary = "Logs of accepted blocks that fit a filter",
    },
    {
        .group = "eth-filter",
        .space = "eth",
        .name = "newPendingTransactions",
        .max = 1,
        .open = open_pending,
        .schema = "full?: Bool? -> Hash | Transaction",
        .summary = "Transactions that became executable, or their hashes",
    },
    {
        .group = "eth-filter",
        .space = "eth",
        .name = "newAcceptedTransactions",
        .max = 2,
        .open = open_txs,
        .schema = "full?: Bool?, options?: FeedOptions? -> Hash | Transaction",
        .summary = "Transactions of accepted blocks, or their hashes",
    },
    {
        .group = "debug-tracer",
        .space = "debug",
        .name = "traceChain",
        .required = 2,
        .max = 3,
        .open = cd__trace_chain_open,
        .schema = "start: BlockRef, end: BlockRef, options?: TraceOptions? -> ChainTrace",
        .summary = "What a tracer makes of the blocks behind one, up to another",
    },
};
const usize cd__api_kinds_cnt = CD_COUNT(cd__api_kinds);
