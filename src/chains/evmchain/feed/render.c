#include "chains/evmchain/feed/render.h"

#include "chains/evmchain/feed/json.h"

/* at: the place of what text tells; after: the one behind it, NULL when nobody asked. */
static cd_rpc_note *finish(cd_buf *text, const cd_cursor *at, const cd_cursor *after)
{
    char place[CD_CURSOR_TEXT_SIZE];
    if (after != NULL) {
        cd_cursor_fmt(place, after);
        cd_buf_fmt(text, ",\"cursor\":\"%s\"", place);
    }
    cd_cursor_fmt(place, at);
    return cd_rpc_note_new(text, place);
}

cd_rpc_note *cd__note_head(const cd_accepted *acc, const cd_chain_rules *r, u64 epoch, bool with_cursor)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_cursor at = {.epoch = epoch, .height = acc->block.header.number};
    cd_cursor after = {.epoch = epoch, .height = at.height + 1};
    cd_api_header(&w, &acc->block, r);
    return finish(&text, &at, with_cursor ? &after : NULL);
}

static void put_tx(cd_buf *text, const cd_tx *tx, const cd_tx_place *at, bool is_full)
{
    cd_json_w w = {.out = text};
    if (is_full) {
        cd_api_tx(&w, tx, at);
    } else {
        cd_json_w_hex(&w, cd_bytes_of(tx->hash.b, 32));
    }
}

cd_rpc_note *cd__note_tx(const cd_accepted *acc, u64 epoch, u32 tx, bool is_full, bool with_cursor)
{
    cd_buf text = {0};
    cd_cursor at = {.epoch = epoch, .height = acc->block.header.number, .tx = tx};
    cd_cursor after = at;
    after.tx++;
    put_tx(&text, &acc->block.txs[tx], &(cd_tx_place){.block = &acc->block, .idx = tx}, is_full);
    return finish(&text, &at, with_cursor ? &after : NULL);
}

cd_rpc_note *cd__note_log(const cd_accepted *acc, u64 epoch, u32 tx, u32 item, usize idx, bool with_cursor)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_cursor at = {.epoch = epoch, .height = acc->block.header.number, .tx = tx, .item = item};
    cd_cursor after = at;
    after.item++;
    cd_api_log(&w, &acc->receipts[tx].logs[item], &(cd_tx_place){.block = &acc->block, .idx = tx}, idx);
    return finish(&text, &at, with_cursor ? &after : NULL);
}

cd_rpc_note *cd__note_pending(const cd_tx *tx, bool is_full)
{
    cd_buf text = {0};
    put_tx(&text, tx, &(cd_tx_place){.block = NULL}, is_full);
    return cd_rpc_note_new(&text, "");
}
