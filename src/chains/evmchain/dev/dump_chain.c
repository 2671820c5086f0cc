/* The chain in a dump: blocks, what was changed between them, and the way back in by executing them again. */
#include "base/os/clock.h"
#include "chains/evmchain/core/dev/run.h"
#include "chains/evmchain/core/world/walk.h"
#include "chains/evmchain/dev/dump.h"

enum { VERSION = 1 };

/* --- out --- */

static cd_err put_run(cd_json_w *w, cd_view *view, cd_arena *a, const cd_run *run)
{
    cd_header h;
    CD_TRY(cd_view_header(view, &h, a, run->first));
    cd_json_w_obj(w);
    cd_json_w_key(w, "count");
    cd_json_w_u64(w, run->last - run->first + 1);
    cd_json_w_key(w, "interval");
    cd_json_w_u64(w, run->interval);
    cd_json_w_key(w, "timestamp");
    cd_json_w_u64(w, h.time);
    cd_json_w_key(w, "miner");
    cd_json_w_hex(w, cd_bytes_of(h.coinbase.b, 20));
    cd_json_w_key(w, "gasLimit");
    cd_json_w_u64(w, h.gas_limit);
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* The entry of one block in "blocks", or in "records". */
static cd_err put_block(cd_json_w *w, cd_view *view, cd_arena *a, u64 number, bool is_record)
{
    const cd_accepted *acc;
    cd_dev_record record;
    cd_buf enc = {0};
    CD_TRY(cd_view_block(view, &acc, a, number));
    if (!is_record) {
        cd_json_w_hex(w, acc->rlp);
        return CD_OK;
    }
    CD_TRY(cd_dev_record_get(cd_view_kv(view), &record, a, &acc->block.hash));
    if (record.chosen != 0 || record.sender_cnt != 0) {
        cd_dev_record_enc(&enc, &record);
    }
    cd_json_w_hex(w, cd_buf_bytes(&enc));
    cd_buf_fini(&enc);
    return CD_OK;
}

static cd_err put_blocks(cd_json_w *w, cd_view *view, bool are_records)
{
    u64 head = cd_view_head(view)->block.header.number;
    cd_err e = CD_OK;
    cd_json_w_arr(w);
    for (u64 n = 1; e == CD_OK && n <= head; n++) {
        cd_arena a = {0};
        cd_run run;
        e = cd_run_find(cd_view_kv(view), &run, n);
        if (e == CD_ENOENT) {
            e = put_block(w, view, &a, n, are_records);
        } else if (e == CD_OK) {
            n = run.last;
            if (are_records) {
                cd_json_w_hex(w, (cd_bytes){0});
            } else {
                e = put_run(w, view, &a, &run);
            }
        }
        cd_arena_fini(&a);
    }
    cd_json_w_arr_end(w);
    return e;
}

static cd_err put_edit(cd_json_w *w, cd_view *view, const cd_world_edit *edits, usize cnt)
{
    cd_json_w_obj(w);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd__dump_put_account(w, cd_view_kv(view), &edits[i].addr, &edits[i].account));
        cd_json_w_key(w, "storage");
        cd_json_w_obj(w);
        for (usize j = 0; j < edits[i].slot_cnt; j++) {
            cd__dump_put_slot(w, &edits[i].slots[j].key, &edits[i].slots[j].value);
        }
        cd_json_w_obj_end(w);
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err put_edits(cd_json_w *w, cd_view *view)
{
    u64 head = cd_view_head(view)->block.header.number;
    cd_account_form form = cd_view_rules(view)->account_form;
    cd_err e = CD_OK;
    cd_json_w_arr(w);
    for (u64 n = 0; e == CD_OK; n++) {
        cd_arena a = {0};
        cd_world_edit *edits;
        usize cnt;
        e = cd_world_edits(cd_view_kv(view), &edits, &cnt, &a, form, &n);
        bool is_there = e == CD_OK && n <= head;
        if (is_there) {
            cd_json_w_obj(w);
            cd_json_w_key(w, "after");
            cd_json_w_u64(w, n);
            cd_json_w_key(w, "accounts");
            e = put_edit(w, view, edits, cnt);
            cd_json_w_obj_end(w);
        }
        cd_arena_fini(&a);
        if (!is_there) {
            break;
        }
    }
    cd_json_w_arr_end(w);
    return e == CD_ENOENT ? CD_OK : e;
}

static void put_next(cd_json_w *w, const cd__dev_lasting *l)
{
    cd_json_w_obj(w);
    if (l->has_coinbase) {
        cd_json_w_key(w, "coinbase");
        cd_json_w_hex(w, cd_bytes_of(l->coinbase.b, 20));
    }
    if (l->gas_limit != 0) {
        cd_json_w_key(w, "gasLimit");
        cd_json_w_u64(w, l->gas_limit);
    }
    if (l->has_step) {
        cd_json_w_key(w, "timestampInterval");
        cd_json_w_u64(w, l->step);
    }
    cd_json_w_obj_end(w);
}

cd_err cd__dump_put_chain(cd_json_w *w, const cd_dev *d, cd_view *view)
{
    cd_json_w_obj(w);
    cd_json_w_key(w, "version");
    cd_json_w_u64(w, VERSION);
    cd_json_w_key(w, "genesis");
    cd_json_w_raw(w, d->genesis);
    cd_json_w_key(w, "genesisHash");
    cd_json_w_hex(w, cd_bytes_of(cd_view_genesis(view)->b, 32));
    cd_json_w_key(w, "blocks");
    CD_TRY(put_blocks(w, view, false));
    cd_json_w_key(w, "records");
    CD_TRY(put_blocks(w, view, true));
    cd_json_w_key(w, "edits");
    CD_TRY(put_edits(w, view));
    cd_json_w_key(w, "next");
    put_next(w, &d->lasting);
    cd_json_w_key(w, "head");
    cd_json_w_hex(w, cd_bytes_of(cd_view_head(view)->block.hash.b, 32));
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* --- in --- */

static cd_err take_run(cd_dev *d, cd_json v, cd_errinfo *why)
{
    u64 count;
    u64 interval;
    cd_addr20 miner;
    cd_child_rules child;
    cd_header_wish wish = {0};
    CD_TRY(cd_json_u64(&count, cd_json_get(v, "count"), why));
    CD_TRY(cd_json_u64(&interval, cd_json_get(v, "interval"), why));
    CD_TRY(cd_json_u64(&wish.time, cd_json_get(v, "timestamp"), why));
    CD_TRY(cd_json_u64(&wish.gas_limit, cd_json_get(v, "gasLimit"), why));
    CD_TRY(cd_json_fixed(miner.b, 20, cd_json_get(v, "miner"), why));
    if (count == 0 || count > CD__DEV_MINE_MAX) {
        return cd_json_fail(cd_json_get(v, "count"), CD_ERANGE, "not a number of blocks", why);
    }
    CD_TRY(cd_chain_child(d->api->chain, &child));
    wish.coinbase = child.coinbase.is_free ? &miner : NULL;
    wish.gas_limit = wish.gas_limit == cd_u256_to_u64_sat(&child.fee.gas_limit) ? 0 : wish.gas_limit;
    return cd__dev_make_empty(d, count, interval, &wish, why);
}

static cd_err take_block(cd_dev *d, cd_arena *a, cd_json v, cd_json record, cd_errinfo *why)
{
    cd_bytes rlp;
    cd_bytes enc = {0};
    cd_dev_record dev = {0};
    cd_chain_block *b;
    CD_TRY(cd_json_hex(&rlp, a, v, why));
    if (cd_json_has(record)) {
        CD_TRY(cd_json_hex(&enc, a, record, why));
    }
    if (enc.n != 0 && cd_dev_record_dec(&dev, a, enc) != CD_OK) {
        return cd_json_fail(record, CD_EFORMAT, "not a record of a block", why);
    }
    CD_TRY(cd_chain_parse_as(d->api->chain, &b, rlp, &dev, why));
    return cd_api_produce(d->api, &(cd_api_plan){.ready = b}, why);
}

/* Makes the edits after the head, if *edit is about it, and moves on. */
static cd_err take_edit(const cd_dev *d, cd_json_it *it, bool *is_left, cd_errinfo *why)
{
    u64 after;
    if (!*is_left) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(&after, cd_json_get(it->val, "after"), why));
    if (after != cd__dev_head(d)->number) {
        return CD_OK;
    }
    CD_TRY(cd__dump_edit(d, cd_json_get(it->val, "accounts"), why));
    *is_left = cd_json_next(it);
    return CD_OK;
}

static cd_err take_next(cd_dev *d, cd_json next, cd_errinfo *why)
{
    cd_json coinbase = cd_json_get(next, "coinbase");
    cd_json gas = cd_json_get(next, "gasLimit");
    cd_json step = cd_json_get(next, "timestampInterval");
    cd__dev_lasting l = {.offset = d->lasting.offset};
    if (cd_json_has(coinbase)) {
        CD_TRY(cd_json_fixed(l.coinbase.b, 20, coinbase, why));
        l.has_coinbase = true;
    }
    if (cd_json_has(gas)) {
        CD_TRY(cd_json_u64(&l.gas_limit, gas, why));
    }
    if (cd_json_has(step)) {
        CD_TRY(cd_json_u64(&l.step, step, why));
        l.has_step = true;
    }
    d->lasting = l;
    return CD_OK;
}

static cd_err take_all(cd_dev *d, cd_json ours, cd_errinfo *why)
{
    cd_hash32 head;
    cd_json_it block = cd_json_iter(cd_json_get(ours, "blocks"));
    cd_json_it record = cd_json_iter(cd_json_get(ours, "records"));
    cd_json_it edit = cd_json_iter(cd_json_get(ours, "edits"));
    bool is_edit_left = cd_json_next(&edit);
    CD_TRY(cd_json_fixed(head.b, 32, cd_json_get(ours, "head"), why));
    CD_TRY(take_edit(d, &edit, &is_edit_left, why));
    while (cd_json_next(&block)) {
        cd_arena a = {0};
        cd_json own = cd_json_next(&record) ? record.val : (cd_json){0};
        cd_err e = cd_json_kind_of(block.val) == CD_JSON_OBJ ? take_run(d, block.val, why)
                                                             : take_block(d, &a, block.val, own, why);
        cd_arena_fini(&a);
        CD_TRY(e);
        CD_TRY(take_edit(d, &edit, &is_edit_left, why));
    }
    if (is_edit_left || !cd_hash32_eq(&head, &cd_chain_head(d->api->chain)->hash)) {
        return cd_fail(why, CD_EFORMAT, "its blocks do not lead to its head");
    }
    return take_next(d, cd_json_get(ours, "next"), why);
}

cd_err cd__dump_take_chain(cd_dev *d, cd_json ours, const char **only, cd_errinfo *why)
{
    cd_hash32 genesis;
    cd_hash32 own;
    u64 version;
    cd_chain *c = d->api->chain;
    *only = NULL;
    if (!cd_json_has(ours)) {
        *only = "another program's dump has no blocks for this one";
        return CD_OK;
    }
    CD_TRY(cd_json_u64(&version, cd_json_get(ours, "version"), why));
    CD_TRY(cd_json_fixed(genesis.b, 32, cd_json_get(ours, "genesisHash"), why));
    cd_chain_genesis_hash(c, &own);
    if (version != VERSION) {
        *only = "the dump's chain is of a newer form";
    } else if (!cd_hash32_eq(&genesis, &own)) {
        *only = "the dump's chain has another genesis";
    } else if (cd_chain_version(c) != 0) {
        *only = "this chain has blocks or changes of its own";
    }
    if (*only != NULL) {
        return CD_OK;
    }
    cd_err e = take_all(d, ours, why);
    if (e != CD_OK && cd_chain_version(c) != 0) {
        cd_err back = cd_api_truncate(d->api, 0, NULL);
        return back != CD_OK ? back : e;
    }
    return e;
}
