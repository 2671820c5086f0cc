/* Methods that show blocks, transactions and receipts. */
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/param.h"

/* Finds it in memory; CD_EAGAIN when it may be elsewhere. */
static cd_err load_recent(cd_rpc_call *call, const cd_accepted **out, bool *found, const cd_block_ref *ref)
{
    const cd_view *v = cd_api_view(call);
    if (ref->tag == CD_TAG_HASH) {
        *out = cd_view_recent_by_hash(v, &ref->hash);
    } else {
        u64 number;
        CD_TRY(cd__api_number(call, &number, found, ref));
        if (!*found) {
            return CD_OK;
        }
        *out = cd_view_recent(v, number);
    }
    return *out == NULL ? CD_EAGAIN : CD_OK;
}

/* Finds the block a reference names; *found false when there is none. */
static cd_err load(cd_rpc_call *call, const cd_accepted **out, bool *found, const cd_block_ref *ref)
{
    cd_view *v = cd_api_view(call);
    cd_err e;
    *found = true;
    CD_TRY(cd__pending_block(call, out, ref));
    if (*out != NULL) {
        return CD_OK;
    }
    if (call->lane == CD_RPC_TRY) {
        return load_recent(call, out, found, ref);
    }
    if (ref->tag == CD_TAG_HASH) {
        e = cd_view_block_by_hash(v, out, call->arena, &ref->hash);
    } else {
        u64 number;
        CD_TRY(cd__api_number(call, &number, found, ref));
        if (!*found) {
            return CD_OK;
        }
        e = cd_view_block(v, out, call->arena, number);
    }
    *found = e == CD_OK;
    return e == CD_OK || e == CD_ENOENT ? CD_OK : cd_api_store(call, e);
}

/* What a method writes of the block that its first parameter names. */
typedef cd_err block_writer(cd_rpc_call *call, const cd_block_ref *ref);

static cd_err by_number(cd_rpc_call *call, block_writer *write)
{
    cd_block_ref ref;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    return write(call, &ref);
}

static cd_err by_hash(cd_rpc_call *call, block_writer *write)
{
    cd_block_ref ref = {.tag = CD_TAG_HASH};
    CD_TRY(cd_rpc_read_hash(call, &ref.hash, cd_rpc_arg(call, 0), 0));
    return write(call, &ref);
}

/* About how many bytes are shown. */
static usize size_of(const cd_accepted *acc, cd__shown what)
{
    enum { HEAD = 2048, HASH = 70, RECEIPT = 1200, LOG = 700 };
    usize n = HEAD;
    switch (what) {
    case CD__SHOWN_HASHES:
        n += HASH * acc->block.tx_cnt;
        break;
    case CD__SHOWN_WHOLE:
        /* Each byte becomes two digits; keys, and what was computed, stand beside. */
        n += 2 * acc->rlp.n + 600 * acc->block.tx_cnt;
        break;
    case CD__SHOWN_RECEIPTS:
        for (usize i = 0; i < acc->block.tx_cnt; i++) {
            n += RECEIPT + LOG * acc->receipts[i].log_cnt;
        }
        break;
    }
    return n;
}

static void put_receipts(cd_json_w *w, const cd_accepted *acc)
{
    usize log_base = 0;
    cd_json_w_arr(w);
    for (usize i = 0; i < acc->block.tx_cnt; i++) {
        cd_api_receipt(w, &acc->receipts[i], &(cd_tx_place){.block = &acc->block, .idx = i}, log_base);
        log_base += acc->receipts[i].log_cnt;
    }
    cd_json_w_arr_end(w);
}

static void put_shown(cd_json_w *w, const cd_accepted *acc, const cd_chain_rules *rules, cd__shown what)
{
    switch (what) {
    case CD__SHOWN_HASHES:
    case CD__SHOWN_WHOLE:
        cd_api_block(w, &acc->block, rules, acc->rlp.n, what == CD__SHOWN_WHOLE);
        break;
    case CD__SHOWN_RECEIPTS:
        put_receipts(w, acc);
        break;
    }
}

/* Writes what is shown of a block: a short text at once, a longer one of a recent block from those that were
 * rendered. */
static cd_err show(cd_rpc_call *call, const cd_accepted *acc, cd__shown what)
{
    enum { SHORT = 12 * 1024 };
    const cd_view *v = cd_api_view(call);
    const cd_hash32 *hash = &acc->block.hash;
    usize size = size_of(acc, what);
    bool is_kept = size > SHORT && cd_view_recent(v, acc->block.header.number) == acc;
    cd_shared *text = is_kept ? cd__rendered_get(&cd_api_of(call)->service.rendered, hash, what) : NULL;
    if (text == NULL && size > SHORT && call->lane == CD_RPC_TRY) {
        return CD_EAGAIN;
    }
    if (!is_kept) {
        (void)cd_buf_reserve(call->out->out, size);
        put_shown(call->out, acc, cd_view_rules(v), what);
        return CD_OK;
    }
    if (text == NULL) {
        cd_buf out = {0};
        (void)cd_buf_reserve(&out, size);
        put_shown(&(cd_json_w){.out = &out}, acc, cd_view_rules(v), what);
        text = cd_shared_take(&out);
        cd__rendered *rendered = &cd_api_of(call)->service.rendered;
        cd__rendered_put(rendered, hash, what, text);
        if (cd_api_of(call)->text_bytes != NULL) {
            cd_gauge_set(cd_api_of(call)->text_bytes, (i64)cd__rendered_bytes(rendered));
        }
    }
    cd_rpc_write_shared(call, text);
    cd_shared_unref(text);
    return CD_OK;
}

static cd_err write_block(cd_rpc_call *call, const cd_block_ref *ref)
{
    const cd_view *v = cd_api_view(call);
    const cd_accepted *acc;
    bool found;
    bool full = false;
    CD_TRY(cd__api_need(call, 1));
    if (cd_rpc_has_arg(call, 1)) {
        CD_TRY(cd_rpc_read_bool(call, &full, cd_rpc_arg(call, 1), 1));
    }
    if (cd_api_of(call)->is_dev && ref->tag == CD_TAG_NUMBER && ref->number > cd_view_head(v)->block.header.number) {
        cd_json_w_null(call->out); /* as the development tools answer [spec:dev-rpc#2.8] */
        return CD_OK;
    }
    CD_TRY(load(call, &acc, &found, ref));
    if (!found) {
        cd_json_w_null(call->out);
        return CD_OK;
    }
    return show(call, acc, full ? CD__SHOWN_WHOLE : CD__SHOWN_HASHES);
}

cd_err cd__eth_get_block_by_number(cd_rpc_call *call)
{
    return by_number(call, write_block);
}

cd_err cd__eth_get_block_by_hash(cd_rpc_call *call)
{
    return by_hash(call, write_block);
}

static cd_err write_header(cd_rpc_call *call, const cd_block_ref *ref)
{
    const cd_accepted *acc;
    bool found;
    CD_TRY(load(call, &acc, &found, ref));
    if (!found) {
        cd_json_w_null(call->out);
    } else {
        cd_api_header(call->out, &acc->block, cd_view_rules(cd_api_view(call)));
    }
    return CD_OK;
}

cd_err cd__eth_get_header_by_number(cd_rpc_call *call)
{
    return by_number(call, write_header);
}

cd_err cd__eth_get_header_by_hash(cd_rpc_call *call)
{
    return by_hash(call, write_header);
}

/* Blocks here have no uncles. */
cd_err cd__eth_get_uncle_count(cd_rpc_call *call)
{
    cd_block_ref ref;
    const cd_accepted *acc;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(load(call, &acc, &found, &ref));
    if (!found) {
        cd_json_w_null(call->out);
    } else {
        cd_json_w_qty(call->out, acc->block.uncle_cnt);
    }
    return CD_OK;
}

cd_err cd__eth_get_uncle(cd_rpc_call *call)
{
    cd_block_ref ref;
    const cd_accepted *acc;
    bool found;
    u64 idx;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_u64(call, &idx, cd_rpc_arg(call, 1), 1));
    CD_TRY(load(call, &acc, &found, &ref));
    cd_json_w_null(call->out);
    return CD_OK;
}

cd_err cd__eth_get_bad_blocks(cd_rpc_call *call)
{
    cd_json_w_arr(call->out); /* what was refused is not kept */
    cd_json_w_arr_end(call->out);
    return CD_OK;
}

cd_err cd__eth_get_block_tx_count(cd_rpc_call *call)
{
    cd_block_ref ref;
    const cd_accepted *acc;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(load(call, &acc, &found, &ref));
    if (!found) {
        cd_json_w_null(call->out);
    } else {
        cd_json_w_qty(call->out, acc->block.tx_cnt);
    }
    return CD_OK;
}

/* --- transactions --- */

/* Finds an accepted transaction; *found false when it is not known. */
static cd_err find_tx(cd_rpc_call *call, const cd_accepted **out, usize *idx, bool *found, const cd_hash32 *hash)
{
    cd_err e = cd_view_tx(cd_api_view(call), out, idx, call->arena, hash);
    *found = e == CD_OK;
    return e == CD_OK || e == CD_ENOENT ? CD_OK : cd_api_store(call, e);
}

static void write_tx(cd_rpc_call *call, const cd_block *b, usize idx)
{
    cd_api_tx(call->out, &b->txs[idx], &(cd_tx_place){.block = b, .idx = idx});
}

cd_err cd__eth_get_tx_by_hash(cd_rpc_call *call)
{
    cd_hash32 hash;
    const cd_accepted *acc;
    usize idx;
    bool found;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    const cd_pool_tx *waiting = cd_txpool_get(cd_api_of(call)->pool, &hash);
    if (waiting != NULL) {
        cd_api_tx(call->out, &waiting->tx, &(cd_tx_place){.block = NULL});
        return CD_OK;
    }
    CD_TRY(find_tx(call, &acc, &idx, &found, &hash));
    if (!found) {
        cd_json_w_null(call->out);
    } else {
        write_tx(call, &acc->block, idx);
    }
    return CD_OK;
}

static cd_err write_tx_at(cd_rpc_call *call, const cd_block_ref *ref)
{
    const cd_accepted *acc;
    bool found;
    u64 idx;
    CD_TRY(cd_rpc_read_u64(call, &idx, cd_rpc_arg(call, 1), 1));
    CD_TRY(load(call, &acc, &found, ref));
    if (!found || idx >= acc->block.tx_cnt) {
        cd_json_w_null(call->out);
    } else {
        write_tx(call, &acc->block, idx);
    }
    return CD_OK;
}

cd_err cd__eth_get_tx_by_number_and_index(cd_rpc_call *call)
{
    return by_number(call, write_tx_at);
}

cd_err cd__eth_get_tx_by_hash_and_index(cd_rpc_call *call)
{
    return by_hash(call, write_tx_at);
}

/* The bytes of a transaction: its canonical encoding. */
static void write_raw(cd_rpc_call *call, const cd_tx *tx)
{
    cd_json_w_hex(call->out, tx->raw);
}

cd_err cd__eth_get_raw_tx_by_hash(cd_rpc_call *call)
{
    cd_hash32 hash;
    const cd_accepted *acc;
    usize idx;
    bool found;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    const cd_pool_tx *waiting = cd_txpool_get(cd_api_of(call)->pool, &hash);
    if (waiting != NULL) {
        write_raw(call, &waiting->tx);
        return CD_OK;
    }
    CD_TRY(find_tx(call, &acc, &idx, &found, &hash));
    if (!found) {
        cd_json_w_hex(call->out, (cd_bytes){0});
    } else {
        write_raw(call, &acc->block.txs[idx]);
    }
    return CD_OK;
}

cd_err cd__eth_get_raw_tx_at(cd_rpc_call *call)
{
    cd_block_ref ref;
    const cd_accepted *acc;
    bool found;
    u64 idx;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_u64(call, &idx, cd_rpc_arg(call, 1), 1));
    CD_TRY(load(call, &acc, &found, &ref));
    if (!found || idx >= acc->block.tx_cnt) {
        cd_json_w_hex(call->out, (cd_bytes){0});
    } else {
        write_raw(call, &acc->block.txs[idx]);
    }
    return CD_OK;
}

/* --- receipts --- */

cd_err cd__needs_receipts(cd_rpc_call *call, const cd_accepted *acc)
{
    return !acc->is_bare ? CD_OK
                         : cd_rpc_fail(call, CD_RPC_SERVER,
                                       "receipts of block %llu are not kept: the state came from peers at block %llu",
                                       (unsigned long long)acc->block.header.number,
                                       (unsigned long long)(cd_view_floor(cd_api_view(call)) - 1));
}

cd_err cd__eth_get_tx_receipt(cd_rpc_call *call)
{
    cd_hash32 hash;
    const cd_accepted *acc;
    usize idx;
    bool found;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    CD_TRY(find_tx(call, &acc, &idx, &found, &hash));
    if (!found) {
        cd_json_w_null(call->out);
        return CD_OK;
    }
    CD_TRY(cd__needs_receipts(call, acc));
    usize log_base = 0;
    for (usize i = 0; i < idx; i++) {
        log_base += acc->receipts[i].log_cnt;
    }
    cd_api_receipt(call->out, &acc->receipts[idx], &(cd_tx_place){.block = &acc->block, .idx = idx}, log_base);
    return CD_OK;
}

cd_err cd__eth_get_block_receipts(cd_rpc_call *call)
{
    cd_block_ref ref;
    const cd_accepted *acc;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(load(call, &acc, &found, &ref));
    if (!found) {
        cd_json_w_null(call->out);
        return CD_OK;
    }
    CD_TRY(cd__needs_receipts(call, acc));
    return show(call, acc, CD__SHOWN_RECEIPTS);
}
