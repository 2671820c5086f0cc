/* eth_getLogs, and what filters have of it. An answer is bounded in logs, bytes and work; whoever asks for more is
 * told the blocks that are sure to fit. [spec:eth-rpc#4] */
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/feed/log_scan.h"
#include "chains/evmchain/rpc/logs/logs_priv.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/param.h"

#include <stdio.h>

enum { LOGS_MAX = 20000, BLOCKS_MAX = 10000, BYTES_MAX = 32 << 20 };

/* --- the range --- */

cd_err cd__logs_read_range(cd_rpc_call *call, cd__log_range *out, cd_json v, usize idx)
{
    cd_json hash = cd_json_get(v, "blockHash");
    cd_json from = cd_json_get(v, "fromBlock");
    cd_json to = cd_json_get(v, "toBlock");
    cd__log_range r = {.has_hash = cd_json_has(hash)};
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: not a filter object", idx);
    }
    if (r.has_hash) {
        if (cd_json_has(from) || cd_json_has(to)) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                               "invalid argument %zu: cannot specify both BlockHash and FromBlock/ToBlock, "
                               "choose one or the other",
                               idx);
        }
        CD_TRY(cd_rpc_read_hash(call, &r.hash, hash, idx));
    } else {
        CD_TRY(cd_rpc_read_block(call, &r.from, from, idx));
        CD_TRY(cd_rpc_read_block(call, &r.to, to, idx));
    }
    *out = r;
    return CD_OK;
}

cd_err cd__logs_resolve(cd_rpc_call *call, u64 *out, const cd_block_ref *ref, const char *which)
{
    u64 head = cd_view_head(cd_api_view(call))->block.header.number;
    bool found;
    if (ref->tag == CD_TAG_NUMBER && ref->number > head) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "requested %s block %llu after last accepted block %llu", which,
                           (unsigned long long)ref->number, (unsigned long long)head);
    }
    CD_TRY(cd__api_number(call, out, &found, ref));
    return found ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "unknown block");
}

static cd_err resolve(cd_rpc_call *call, u64 *from, u64 *to, const cd__log_range *r)
{
    u64 max = cd_api_of(call)->config->api_max_blocks;
    if (r->has_hash) {
        cd_block_ref ref = {.tag = CD_TAG_HASH, .hash = r->hash};
        CD_TRY(cd__logs_resolve(call, from, &ref, "from"));
        *to = *from;
        return CD_OK;
    }
    CD_TRY(cd__logs_resolve(call, from, &r->from, "from"));
    CD_TRY(cd__logs_resolve(call, to, &r->to, "to"));
    if (*from > *to) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "invalid block range params");
    }
    if (max != 0 && *to - *from + 1 > max) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "requested too many blocks from %llu to %llu, maximum is set to %llu",
                           (unsigned long long)*from, (unsigned long long)*to, (unsigned long long)max);
    }
    return CD_OK;
}

/* Of blocks before the one to which the state was synced nobody knows the logs; the genesis has none. */
static cd_err check_floor(cd_rpc_call *call, u64 from, u64 to)
{
    unsigned long long floor = cd_view_floor(cd_api_view(call));
    return from >= floor || to == 0
               ? CD_OK
               : cd_rpc_fail(call, CD_RPC_SERVER,
                             "logs of blocks before %llu are not kept: the state came from peers. Try with this block "
                             "range [0x%llx, 0x%llx].",
                             floor, floor, (unsigned long long)cd_max_u64(floor, to));
}

/* --- the answer --- */

/* The words are those that clients who split ranges by themselves look for. */
static cd_err refuse(cd_rpc_call *call, const char *what, u64 from, u64 to)
{
    unsigned long long a = from;
    unsigned long long b = to;
    cd_err e = cd_rpc_fail(call, CD_RPC_SERVER, "%s. Try with this block range [0x%llx, 0x%llx].", what, a, b);
    call->error_data =
        cd_arena_fmt(call->arena, "{\"from\":\"0x%llx\",\"to\":\"0x%llx\",\"limit\":%d}", a, b, LOGS_MAX);
    return e;
}

/* Writes the logs of a block that fit, from `at` on, as long as there is room; *is_cut: not all had room, and at is
 * where the rest begins. A block is never cut when `whole`. */
static void write_block(cd_rpc_call *call, usize *total, bool *is_cut, cd_cursor *at, const cd_accepted *acc,
                        const cd_log_criteria *want, bool whole)
{
    const cd_block *b = &acc->block;
    usize idx = 0;
    for (u32 i = 0; i < b->tx_cnt; i++) {
        const cd_receipt *r = &acc->receipts[i];
        for (u32 j = 0; j < r->log_cnt; j++, idx++) {
            bool is_told = i < at->tx || (i == at->tx && j < at->item);
            if (is_told || !cd_log_criteria_match(want, &r->logs[j])) {
                continue;
            }
            if (!whole && (*total >= LOGS_MAX || call->out->out->n > BYTES_MAX)) {
                at->tx = i;
                at->item = j;
                *is_cut = true;
                return;
            }
            ++*total;
            cd_api_log(call->out, &r->logs[j], &(cd_tx_place){.block = b, .idx = i}, idx);
        }
    }
}

cd_err cd__logs_answer(cd_rpc_call *call, const cd_log_criteria *want, const cd__log_range *range)
{
    u64 from;
    u64 to;
    usize total = 0;
    CD_TRY(resolve(call, &from, &to, range));
    CD_TRY(check_floor(call, from, to));
    cd_log_scan *scan = cd_arena_new(call->arena, cd_log_scan);
    cd_err e = cd_log_scan_init(scan, cd_api_view(call), want, from, to);
    cd_json_w_arr(call->out);
    while (e == CD_OK) {
        const cd_accepted *acc;
        cd_arena_mark mark = cd_arena_mark_get(call->arena);
        e = cd_log_scan_next(scan, &acc, call->arena, BLOCKS_MAX);
        if (cd_rpc_is_late(call)) {
            return cd_rpc_fail_late(call);
        }
        if (e == CD_OK) {
            u64 number = acc->block.header.number;
            cd_cursor start = {.height = number};
            bool is_cut = false;
            write_block(call, &total, &is_cut, &start, acc, want, number == from);
            if (is_cut) {
                char what[64];
                (void)snprintf(what, sizeof what, "query returned more than %d results", LOGS_MAX);
                return refuse(call, what, from, number - 1);
            }
        }
        cd_arena_rewind(call->arena, mark);
    }
    if (e == CD_EAGAIN) {
        char what[64];
        (void)snprintf(what, sizeof what, "query has to read more than %d blocks", BLOCKS_MAX);
        return refuse(call, what, from, scan->next - 1);
    }
    cd_json_w_arr_end(call->out);
    return e == CD_ENOENT ? CD_OK : cd_api_store(call, e);
}

cd_err cd__logs_since(cd_rpc_call *call, cd_cursor *at, const cd_log_criteria *want, const cd__log_range *range)
{
    cd_view *view = cd_api_view(call);
    u64 head = cd_view_head(view)->block.header.number;
    u64 last = range->to.tag == CD_TAG_NUMBER ? cd_min_u64(head, range->to.number) : head;
    cd_cursor c = *at;
    usize total = 0;
    bool is_cut = false;
    cd_log_scan *scan = cd_arena_new(call->arena, cd_log_scan);
    cd_err e = cd_log_scan_init(scan, view, want, c.height, last);
    cd_json_w_arr(call->out);
    while (e == CD_OK && !is_cut) {
        const cd_accepted *acc;
        cd_arena_mark mark = cd_arena_mark_get(call->arena);
        e = cd_log_scan_next(scan, &acc, call->arena, BLOCKS_MAX);
        if (e == CD_OK) {
            u64 number = acc->block.header.number;
            c = number == c.height ? c : (cd_cursor){.epoch = c.epoch, .height = number};
            write_block(call, &total, &is_cut, &c, acc, want, false);
            c = is_cut ? c : (cd_cursor){.epoch = c.epoch, .height = number + 1};
        }
        cd_arena_rewind(call->arena, mark);
    }
    cd_json_w_arr_end(call->out);
    if (e == CD_ENOENT || e == CD_EAGAIN) {
        u64 next = cd_max_u64(c.height, e == CD_EAGAIN ? scan->next : last + 1);
        c = next == c.height ? c : (cd_cursor){.epoch = c.epoch, .height = next};
        e = CD_OK;
    }
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    *at = c;
    return CD_OK;
}

cd_err cd__eth_get_logs(cd_rpc_call *call)
{
    cd__log_range range;
    cd_log_criteria want;
    cd_json v = cd_rpc_arg(call, 0);
    CD_TRY(cd__logs_read_range(call, &range, v, 0));
    CD_TRY(cd_log_criteria_read(call, &want, call->arena, v, 0));
    return cd__logs_answer(call, &want, &range);
}
