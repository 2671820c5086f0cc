/* The page of a transaction, of any of the three chains. */
#include "base/mem/mem.h"
#include "explorer/primary/primary_priv.h"
#include "web/json_view.h"

/* --- reading --- */

cd__pp_any cd__pp_any_p(const cd_p_tx *tx, const cd_hash32 *id)
{
    return (cd__pp_any){
        .chain = CD_PRIMARY_P, .id = *id, .type = tx->body.is->id, .body = tx->body.v, .base = cd_platform_tx_base(tx)};
}

cd__pp_any cd__pp_any_x(const cd_x_tx *tx, const cd_hash32 *id)
{
    return (cd__pp_any){
        .chain = CD_PRIMARY_X, .id = *id, .type = tx->body.is->id, .body = tx->body.v, .base = cd_x_tx_base(tx)};
}

cd__pp_any cd__pp_any_c(const cd_c_tx *tx, const cd_hash32 *id)
{
    return (cd__pp_any){.chain = CD_PRIMARY_C, .id = *id, .type = tx->body.is->id, .body = tx->body.v};
}

/* Makes JSON of what was read, as the chain's methods do. */
static void to_json(cd__pp *p, cd__pp_any *out, const cd_p_tx *tx, const cd_x_tx *x)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    const cd_linear_place place = {.chain = cd__pp_letters[out->chain], .prefix = p->network->prefix};
    if (tx != NULL) {
        cd_p_tx_json(&w, &place, tx, &out->id);
    } else {
        cd_x_tx_json(&w, &place, x, &out->id);
    }
    out->json = cd_arena_dup(&p->a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

/* What was read so far; a page that looks at transactions of others' making ends that somewhere. */
static cd_err read_tx(cd__pp *p, cd__pp_any *out, cd_primary_chain chain, const cd_hash32 *id, cd_p_status *status,
                      cd_crossing *at, bool with_json)
{
    enum { READ_MAX = 4 << 20 };
    cd_bytes bytes;
    if (p->read > READ_MAX) {
        return CD_ELIMIT;
    }
    if (chain == CD_PRIMARY_P && p->p.state.kv != NULL) {
        cd_p_tx *tx = cd_arena_zalloc(&p->a, sizeof *tx);
        CD_TRY(cd_platform_view_tx(&p->p, tx, status, &bytes, &p->a, id));
        *out = cd__pp_any_p(tx, id);
        out->size = bytes.n;
        p->read += bytes.n;
        if (with_json && bytes.n <= CD__PP_JSON_MAX) {
            to_json(p, out, tx, NULL);
        }
        return CD_OK;
    }
    if (chain == CD_PRIMARY_X && p->x.kv != NULL) {
        cd_xvm_tx *tx = cd_arena_zalloc(&p->a, sizeof *tx);
        CD_TRY(cd_xvm_get_tx(p->x.kv, tx, &p->a, id));
        *out = cd__pp_any_x(&tx->tx, id);
        out->size = tx->bytes.n;
        p->read += tx->bytes.n;
        if (with_json && tx->bytes.n <= CD__PP_JSON_MAX) {
            to_json(p, out, NULL, &tx->tx);
        }
        return CD_OK;
    }
    if (chain == CD_PRIMARY_C && p->c != NULL) {
        cd_crossing found;
        cd_c_tx *tx = cd_arena_zalloc(&p->a, sizeof *tx);
        CD_TRY(p->c->tx(p->c->ctx, &found, tx, &p->a, id));
        *out = cd__pp_any_c(tx, id);
        p->read += 1024;
        if (at != NULL) {
            *at = found;
        }
        return CD_OK;
    }
    return CD_ENOENT;
}

cd_err cd__pp_tx_any(cd__pp *p, cd__pp_any *out, cd_primary_chain chain, const cd_hash32 *id, cd_p_status *status,
                     cd_crossing *at)
{
    return read_tx(p, out, chain, id, status, at, false);
}

/* --- words --- */

const char *cd__pp_kind_of(const cd__pp_any *t)
{
    if (t->chain == CD_PRIMARY_P) {
        return cd__pp_p_kind(t->type);
    }
    if (t->chain == CD_PRIMARY_X) {
        return cd__pp_x_kind(t->type);
    }
    return t->type == CD_C_IMPORT ? "Import" : "Export";
}

void cd__pp_say(cd__pp *p, const cd__pp_any *t)
{
    if (t->chain == CD_PRIMARY_P) {
        cd__pp_p_say(p, t);
    } else {
        cd__pp_x_say(p, t);
    }
}

static void memo(cd__pp *p, cd_bytes text)
{
    if (text.n != 0) {
        cd_html_put(&p->h, "<dt>Memo</dt><dd>{}</dd>", cd_foreign_of(text));
    }
}

void cd__pp_details(cd__pp *p, const cd__pp_any *t)
{
    if (t->chain == CD_PRIMARY_P) {
        cd__pp_p_details(p, t);
    }
    if (t->base != NULL) {
        memo(p, t->base->memo);
    }
}

/* --- where it stands --- */

static bool block_has(cd__pp *p, u64 *time, u64 height, const cd__pp_any *t)
{
    cd_hash32 id;
    usize size;
    bool has = false;
    cd_arena a = {0};
    if (t->chain == CD_PRIMARY_P) {
        cd_p_block b;
        if (cd_platform_view_block(&p->p, &b, &id, &size, &a, height) == CD_OK) {
            *time = ((const cd_p_block_body *)b.body.v)->time;
            for (usize i = 0; i < cd_platform_view_block_txs(&b) && !has; i++) {
                cd_p_tx_id(&id, cd_platform_view_block_tx(&b, i));
                has = cd_hash32_eq(&id, &t->id);
            }
        }
    } else {
        cd_x_block whole;
        const cd_x_standard_block *b;
        if (cd_xvm_view_block(&p->x, &b, &whole, &id, &size, &a, height) == CD_OK) {
            *time = b->time;
            for (u32 i = 0; i < b->txs.cnt && !has; i++) {
                cd_x_tx_id(&id, &((const cd_x_tx *)b->txs.v)[i]);
                has = cd_hash32_eq(&id, &t->id);
            }
        }
    }
    cd_arena_fini(&a);
    return has;
}

/* The chains keep no place of a transaction: the link that led here names the block ("?in="), else the newest are
 * looked at. false: it is older. */
static bool find_block(cd__pp *p, u64 *height, u64 *time, const cd__pp_any *t)
{
    enum { LOOKED_AT = 256 };
    u64 head = t->chain == CD_PRIMARY_P ? p->p.height : p->x.height;
    *height = cd__pp_query_number(p, "in");
    if (*height != 0 && *height <= head && block_has(p, time, *height, t)) {
        return true;
    }
    for (u64 i = 0; i < LOOKED_AT && i <= head; i++) {
        *height = head - i;
        if (block_has(p, time, *height, t)) {
            return true;
        }
    }
    return false;
}

/* --- the page --- */

static void head_of(cd__pp *p, const cd__pp_any *t, cd_p_status status)
{
    bool is_aborted = t->chain == CD_PRIMARY_P && status == CD_P_STATUS_ABORTED;
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\">");
    cd__pp_crumbs(p, "blocks", "Blocks");
    cd_html_put(&p->h, "<h1>{}</h1>", cd__pp_kind_of(t));
    cd__pp_tx_id(p, t->chain, &t->id, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(&p->h, "</div>");
    cd_ui_pill(&p->h, is_aborted ? CD_PILL_WARN : CD_PILL_OK,
               cd_bytes_str(is_aborted                 ? "Aborted"
                            : t->chain == CD_PRIMARY_P ? "Committed"
                                                       : "Accepted"));
    cd_html_put(&p->h, "</div><p class=\"say\">");
    cd__pp_say(p, t);
    cd_html_put(&p->h, "</p>");
}

static void details(cd__pp *p, const cd__pp_any *t, const cd__pp_flow *f, const cd_crossing *at, bool is_placed)
{
    u64 burned;
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Details</h2></header><div class=\"body\"><dl class=\"kv\">"
                       "<dt>Block</dt><dd>");
    if (is_placed) {
        cd__pp_height(p, t->chain, at->height);
    } else {
        cd_html_put(&p->h, "<span class=\"mut\">an older one, or the genesis</span>");
    }
    cd_html_put(&p->h, "</dd>");
    if (is_placed && at->time != 0) {
        cd__pp_pair_time(p, "Time", at->time);
    }
    if (cd__pp_flow_burned(&burned, p, f, t)) {
        cd_html_put(&p->h, "<dt>Fee, burned</dt><dd>");
        cd__pp_native(p, burned);
        cd_html_put(&p->h, "</dd>");
    }
    cd__pp_details(p, t);
    if (t->size != 0) {
        cd__pp_pair(p, "Size", cd_fmt_bytes(&p->a, t->size));
    }
    cd_html_put(&p->h, "</dl></div></section>");
}

static void json(cd__pp *p, const cd__pp_any *t)
{
    cd_json v;
    if (t->chain == CD_PRIMARY_C) {
        return;
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>JSON</h2></header><div class=\"body\">");
    if (t->json.n != 0 && cd_json_parse(&v, &p->a, t->json, 0, NULL) == CD_OK) {
        cd_json_view(&p->h, v);
    } else {
        cd_html_put(&p->h, "<p class=\"mut\">Large transactions are read with the method getTx.</p>");
    }
    cd_html_put(&p->h, "</div></section>");
}

void cd__pp_tx(cd__pp *p, cd_bytes rest)
{
    cd_hash32 id;
    cd__pp_any t;
    cd__pp_flow f;
    cd_p_status status = CD_P_STATUS_COMMITTED;
    cd_crossing at = {.height = 0};
    cd_err e = cd_id_parse(&id, rest, NULL) != CD_OK ? CD_ENOENT : read_tx(p, &t, p->chain, &id, &status, &at, true);
    if (e == CD_ENOENT) {
        cd__pp_missing(p, "No transaction", cd_foreign_of(rest),
                       cd_arena_fmt(&p->a, "was accepted on the %s-Chain.", cd__pp_letters[p->chain]));
        return;
    }
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    bool is_placed = p->chain == CD_PRIMARY_C || find_block(p, &at.height, &at.time, &t);
    p->title = cd_bytes_str(cd_arena_fmt(&p->a, "%s on %s", cd__pp_kind_of(&t), cd__pp_letters[p->chain]));
    cd__pp_flow_of(p, &f, &t);
    head_of(p, &t, status);
    cd__pp_cross(p, &t, &f, is_placed ? at.time : 0);
    cd__pp_flow_write(p, &f, &t);
    details(p, &t, &f, &at, is_placed);
    json(p, &t);
}
