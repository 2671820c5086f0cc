/* Imports and exports of the C-Chain, as the pages of the primary network ask for them. */
#include "chains/evmchain/atomic/atomic.h"
#include "chains/utxo/utxo.h"
#include "explorer/explorer_priv.h"

static cd_err on_tx(void *ctx, cd_crossing *out, cd_c_tx *tx, cd_arena *a, const cd_hash32 *id)
{
    const cd_explorer *x = ctx;
    cd_buf bytes = {0};
    cd_errinfo why = {0};
    cd_atomic_tx t;
    const cd_accepted *b;
    *out = (cd_crossing){.tx_id = *id};
    cd_err e = cd_atomic_record(x->cfg.atomic, &out->height, &bytes, id);
    e = e != CD_OK ? e : cd_atomic_parse(&t, a, cd_buf_bytes(&bytes), &why);
    cd_buf_fini(&bytes);
    if (e != CD_OK) {
        return e;
    }
    *tx = t.tx;
    cd_view *v = cd_view_newest(x->cfg.chain);
    if (cd_view_block(v, &b, a, out->height) == CD_OK) {
        out->time = b->block.header.time;
    }
    cd_view_unref(v);
    return CD_OK;
}

/* Does a block hold an import that took the output? */
static bool takes(cd_crossing *out, const cd_accepted *b, cd_arena *a, const cd_hash32 *utxo)
{
    cd_atomic_tx *txs;
    usize cnt;
    if (b->block.ext_data.n == 0 || cd_atomic_parse_batch(&txs, &cnt, a, b->block.ext_data, NULL) != CD_OK) {
        return false;
    }
    for (usize i = 0; i < cnt; i++) {
        const cd_c_import *t = cd_atomic_is_import(&txs[i]) ? cd_atomic_import(&txs[i]) : NULL;
        for (u32 k = 0; t != NULL && k < t->imported.cnt; k++) {
            const cd_c_input *in = &((const cd_c_input *)t->imported.v)[k];
            cd_hash32 id;
            cd_utxo_id(&id, &in->tx_id, in->output_idx);
            if (cd_hash32_eq(&id, utxo)) {
                *out =
                    (cd_crossing){.tx_id = txs[i].id, .height = b->block.header.number, .time = b->block.header.time};
                return true;
            }
        }
    }
    return false;
}

/* The first height whose block is of since or later. */
static u64 first_since(cd_view *v, u64 head, u64 since)
{
    u64 low = 0;
    u64 high = head;
    cd_arena a = {0};
    while (low < high) {
        u64 mid = low + (high - low) / 2;
        const cd_accepted *b;
        cd_arena_reset(&a);
        if (cd_view_block(v, &b, &a, mid) != CD_OK) {
            break;
        }
        if (b->block.header.time < since) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    cd_arena_fini(&a);
    return low;
}

static cd_err on_taker(void *ctx, cd_crossing *out, cd_arena *a, const cd_hash32 *utxo, u64 since)
{
    const cd_explorer *x = ctx;
    cd_view *v = cd_view_newest(x->cfg.chain);
    u64 head = cd_view_head(v)->block.header.number;
    u64 at = since != 0 ? first_since(v, head, since) : head < CD_CROSSING_BLOCKS ? 0 : head - CD_CROSSING_BLOCKS + 1;
    cd_arena own = {0};
    bool found = false;
    (void)a;
    for (u64 end = at + CD_CROSSING_BLOCKS; !found && at < end && at <= head; at++) {
        const cd_accepted *b;
        u64 first;
        if (cd_view_run(v, &first, at)) {
            continue; /* empty */
        }
        cd_arena_reset(&own);
        found = cd_view_block(v, &b, &own, at) == CD_OK && takes(out, b, &own, utxo);
    }
    cd_arena_fini(&own);
    cd_view_unref(v);
    return found ? CD_OK : CD_ENOENT;
}

void cd__atomic_enter(cd_explorer *x)
{
    const cd_crossings crossings = {.ctx = x, .tx = on_tx, .taker = on_taker};
    if (x->cfg.primary != NULL) {
        cd_primary_enter(x->cfg.primary, CD_PRIMARY_C, NULL, x->cfg.atomic == NULL ? NULL : &crossings, &x->cfg.final);
    }
}

void cd__xp_atomic_rows(cd__xp *p, const cd_accepted *b)
{
    enum { SHOWN = 100 };
    static const cd_ui_col cols[] = {{.name = "Transaction"}, {.name = "What it does"}};
    cd_atomic_tx *txs;
    usize cnt = 0;
    if (p->x->cfg.primary == NULL || b->block.ext_data.n == 0 ||
        cd_atomic_parse_batch(&txs, &cnt, &p->a, b->block.ext_data, NULL) != CD_OK || cnt == 0) {
        return;
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Imports and exports</h2></header>");
    cd_ui_table_begin(&p->h, "Imports and exports", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt && i < SHOWN; i++) {
        cd_buf id = {0};
        cd_id_put(&id, &txs[i].id);
        cd_bytes text = cd_arena_dup(&p->a, cd_buf_bytes(&id));
        cd_buf_fini(&id);
        cd_html_put(&p->h, "<tr><td>");
        cd_ui_ident(&p->h, &(cd_ui_id){.text = text,
                                       .href = cd_bytes_str(cd_arena_fmt(&p->a, "%s/C/tx/%.*s", p->x->root, (int)text.n,
                                                                         (const char *)text.p))});
        cd_html_put(&p->h, "</td><td>{} {}</td></tr>", cd_atomic_is_import(&txs[i]) ? "Import from" : "Export to",
                    cd_hash32_is_zero(&txs[i].peer) ? "P" : "X");
    }
    cd_ui_table_end(&p->h);
    cd_html_put(&p->h, "</section>");
}
