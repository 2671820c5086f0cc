/* Money that crosses: where the other half of a transfer between chains is. */
#include "explorer/primary/primary_priv.h"

cd__pp_way cd__pp_peer_of(const cd__pp *p, cd_primary_chain *peer, const cd__pp_any *t)
{
    bool imports = t->chain == CD_PRIMARY_P   ? t->type == CD_P_IMPORT
                   : t->chain == CD_PRIMARY_X ? t->type == CD_X_IMPORT
                                              : t->type == CD_C_IMPORT;
    bool exports = t->chain == CD_PRIMARY_P   ? t->type == CD_P_EXPORT
                   : t->chain == CD_PRIMARY_X ? t->type == CD_X_EXPORT
                                              : t->type == CD_C_EXPORT;
    *peer = CD_PRIMARY_CHAINS;
    if (t->chain == CD_PRIMARY_C) {
        *peer = cd__pp_chain_of(p, imports ? &((const cd_c_import *)t->body)->source_chain
                                           : &((const cd_c_export *)t->body)->destination_chain);
    } else if (imports || exports) {
        *peer = cd__pp_chain_of(p, imports ? &((const cd_p_import *)t->body)->source_chain
                                           : &((const cd_p_export *)t->body)->destination_chain);
    }
    return imports ? CD__PP_IMPORTS : exports ? CD__PP_EXPORTS : CD__PP_STAYS;
}

/* --- who took an output --- */

static bool takes(const cd_linear_list *imported, const cd_hash32 *utxo)
{
    for (u32 i = 0; i < imported->cnt; i++) {
        const cd_p_input *in = &((const cd_p_input *)imported->v)[i];
        cd_hash32 id;
        cd_utxo_id(&id, &in->tx_id, in->output_idx);
        if (cd_hash32_eq(&id, utxo)) {
            return true;
        }
    }
    return false;
}

/* Looks through the block of a height; time gets its time, 0: it does not say. */
static cd_err look(cd__pp *p, cd_crossing *out, bool *found, cd_arena *a, cd_primary_chain chain, u64 height,
                   const cd_hash32 *utxo)
{
    cd_hash32 id;
    usize size;
    *found = false;
    *out = (cd_crossing){.height = height};
    if (chain == CD_PRIMARY_P) {
        cd_p_block b;
        CD_TRY(cd_platform_view_block(&p->p, &b, &id, &size, a, height));
        out->time = ((const cd_p_block_body *)b.body.v)->time;
        for (usize i = 0; i < cd_platform_view_block_txs(&b) && !*found; i++) {
            const cd_p_tx *tx = cd_platform_view_block_tx(&b, i);
            *found = tx->body.is->id == CD_P_IMPORT && takes(&((const cd_p_import *)tx->body.v)->imported, utxo);
            if (*found) {
                cd_p_tx_id(&out->tx_id, tx);
            }
        }
        return CD_OK;
    }
    cd_x_block whole;
    const cd_x_standard_block *b;
    CD_TRY(cd_xvm_view_block(&p->x, &b, &whole, &id, &size, a, height));
    out->time = b->time;
    for (u32 i = 0; i < b->txs.cnt && !*found; i++) {
        const cd_x_tx *tx = &((const cd_x_tx *)b->txs.v)[i];
        *found = tx->body.is->id == CD_X_IMPORT && takes(&((const cd_x_import *)tx->body.v)->imported, utxo);
        if (*found) {
            cd_x_tx_id(&out->tx_id, tx);
        }
    }
    return CD_OK;
}

/* The first height whose block is of since or later. Blocks of before Banff tell no time and count as earlier. */
static u64 first_since(cd__pp *p, cd_primary_chain chain, u64 head, u64 since)
{
    static const cd_hash32 nothing;
    u64 low = 0;
    u64 high = head;
    cd_arena a = {0};
    while (low < high) {
        u64 mid = low + (high - low) / 2;
        cd_crossing at;
        bool found;
        cd_arena_reset(&a);
        if (look(p, &at, &found, &a, chain, mid, &nothing) != CD_OK) {
            break;
        }
        if (at.time < since) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    cd_arena_fini(&a);
    return low;
}

/* Blocks are in the order of time, so the import is looked for from the export on; without a time among the newest. */
static cd_err taker(cd__pp *p, cd_crossing *out, cd_primary_chain chain, const cd_hash32 *utxo, u64 since)
{
    if (chain == CD_PRIMARY_C) {
        return p->c == NULL ? CD_ENOENT : p->c->taker(p->c->ctx, out, &p->a, utxo, since);
    }
    bool is_here = chain == CD_PRIMARY_P ? p->p.state.kv != NULL : p->x.kv != NULL;
    u64 head = chain == CD_PRIMARY_P ? p->p.height : p->x.height;
    u64 at = head < CD_CROSSING_BLOCKS ? 0 : head - CD_CROSSING_BLOCKS + 1;
    cd_arena a = {0};
    bool found = false;
    cd_err e = is_here ? CD_OK : CD_ENOENT;
    if (is_here && since != 0) {
        at = first_since(p, chain, head, since);
    }
    for (u64 end = at + CD_CROSSING_BLOCKS; e == CD_OK && !found && at < end && at <= head; at++) {
        cd_arena_reset(&a);
        e = look(p, out, &found, &a, chain, at, utxo);
    }
    cd_arena_fini(&a);
    return e != CD_OK ? e : found ? CD_OK : CD_ENOENT;
}

/* --- writing --- */

static void link_to(cd__pp *p, cd_primary_chain chain, const cd_hash32 *id, const u64 *height)
{
    cd_bytes text = cd__pp_id_text(p, id);
    cd_bytes href = cd__pp_href(p, chain, "tx", text);
    if (height != NULL && chain != CD_PRIMARY_C) {
        href = cd_bytes_str(
            cd_arena_fmt(&p->a, "%.*s?in=%llu", (int)href.n, (const char *)href.p, (unsigned long long)*height));
    }
    cd__pp_badge(p, chain);
    cd_html_put(&p->h, " ");
    cd_ui_ident(&p->h, &(cd_ui_id){.text = text, .href = href});
}

/* What waits in shared memory for the chain that may take it. */
static bool is_waiting(cd__pp *p, cd_primary_chain from, cd_primary_chain to, const cd_hash32 *utxo)
{
    static const cd_hash32 p_id;
    const cd_vm_primary *ids = p->m->ids;
    const cd_hash32 *peer = from == CD_PRIMARY_P ? &p_id : from == CD_PRIMARY_X ? &ids->x_chain_id : &ids->c_chain_id;
    const cd_vm_shared *shared = to == CD_PRIMARY_P ? p->p.shared : to == CD_PRIMARY_X ? p->x.shared : NULL;
    cd_bytes value;
    return shared != NULL && shared->get(shared, &value, &p->a, peer, cd_bytes_of(utxo->b, sizeof utxo->b)) == CD_OK;
}

static void say_export(cd__pp *p, const cd__pp_any *t, const cd__pp_flow *f, cd_primary_chain peer, u64 since)
{
    enum { SHOWN = 4 };
    cd_crossing seen[SHOWN];
    usize cnt = 0;
    bool waits = false;
    for (usize i = 0, asked = 0; i < f->out_cnt && asked < SHOWN; i++) {
        cd_hash32 utxo;
        cd_crossing at;
        if (f->outs[i].to == t->chain) {
            continue;
        }
        asked++;
        cd_utxo_id(&utxo, &t->id, f->outs[i].idx);
        if (is_waiting(p, t->chain, peer, &utxo)) {
            waits = true;
        } else if (taker(p, &at, peer, &utxo, since) == CD_OK &&
                   (cnt == 0 || !cd_hash32_eq(&seen[cnt - 1].tx_id, &at.tx_id))) {
            seen[cnt++] = at;
        }
    }
    cd_html_put(&p->h, "<p class=\"row\" id=\"crossing\"><span class=\"mut\">{}</span>",
                cnt != 0 ? "Imported in"
                : waits  ? "Not imported yet: it waits for its owner"
                         : "No import was found among the blocks that follow");
    for (usize i = 0; i < cnt; i++) {
        cd_html_put(&p->h, " ");
        link_to(p, peer, &seen[i].tx_id, &seen[i].height);
    }
    cd_html_put(&p->h, "</p>");
}

static void say_import(cd__pp *p, const cd__pp_any *t, const cd__pp_flow *f, cd_primary_chain peer)
{
    enum { SHOWN = 4 };
    usize cnt = 0;
    cd_hash32 last = {{0}};
    cd_html_put(&p->h, "<p class=\"row\" id=\"crossing\"><span class=\"mut\">Exported in</span>");
    for (usize i = 0; i < f->in_cnt && cnt < SHOWN; i++) {
        const cd__pp_end *e = &f->ins[i];
        if (e->from == t->chain || cd_hash32_eq(&last, &e->tx_id)) {
            continue;
        }
        last = e->tx_id;
        cnt++;
        cd_html_put(&p->h, " ");
        link_to(p, peer, &e->tx_id, NULL);
    }
    cd_html_put(&p->h, "</p>");
}

void cd__pp_cross(cd__pp *p, const cd__pp_any *t, const cd__pp_flow *f, u64 since)
{
    cd_primary_chain peer;
    cd__pp_way way = cd__pp_peer_of(p, &peer, t);
    if (peer == CD_PRIMARY_CHAINS) {
        return;
    }
    if (way == CD__PP_EXPORTS) {
        say_export(p, t, f, peer, since);
    } else if (way == CD__PP_IMPORTS) {
        say_import(p, t, f, peer);
    }
}
