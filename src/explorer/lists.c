/* Rows of the index as tables, and what is asked of tokens that it names. */
#include "evm/interp/opcode.h"
#include "explorer/explorer_priv.h"

bool cd__xp_index_state(cd__xp *p, cd_index_state *out)
{
    cd_buf text = {0};
    cd_html note = {.out = &text};
    if (p->x->cfg.index == NULL || cd_index_state_get(p->x->cfg.index, out, p->view) != CD_OK) {
        cd_ui_empty(&p->h, "No index of addresses", "This node does not keep who took part in what.", (cd_markup){0});
        return false;
    }
    if (!out->is_whole) {
        cd_html_put(&note, "It has {} of {} blocks; older entries may be missing until then.",
                    cd_fmt_count(&p->a, out->done), cd_fmt_count(&p->a, out->goal));
        cd_ui_note(&p->h, CD_NOTE_INFO, "The index is catching up", cd_markup_of(&note));
        cd_buf_fini(&text);
    }
    return true;
}

cd_index_at cd__xp_before(cd__xp *p)
{
    cd_index_at at;
    cd_bytes text = cd__xp_query(p, "before", CD_INDEX_AT_SIZE);
    return cd_index_at_parse(&at, text) == CD_OK ? at : CD_INDEX_NEWEST;
}

cd_err cd__xp_block_at(cd__xp *p, const cd_accepted **out, u64 height)
{
    if (p->last == NULL || p->last->block.header.number != height) {
        CD_TRY(cd_view_block(p->view, &p->last, &p->a, height));
    }
    *out = p->last;
    return CD_OK;
}

/* The transaction of a place with its age; nothing when its block cannot be read. */
static void write_place(cd__xp *p, const cd_index_at *at)
{
    const cd_accepted *b;
    if (cd__xp_block_at(p, &b, at->height) == CD_OK && at->tx < b->block.tx_cnt) {
        cd__xp_tx_hash(p, &b->block.txs[at->tx].hash, 0);
        cd_html_put(&p->h, "<span class=\"sub\">");
        cd_ui_time(&p->h, &p->a, b->block.header.time, p->now_s);
        cd_html_put(&p->h, "</span>");
    }
}

static void write_pair(cd__xp *p, const cd_addr20 *from, const cd_addr20 *to)
{
    cd_html_put(&p->h, "<span class=\"ft\">");
    cd__xp_addr(p, from, 0);
    cd_ui_icon(&p->h, "arrow");
    cd__xp_addr(p, to, 0);
    cd_html_put(&p->h, "</span>");
}

void cd__xp_token_moves(cd__xp *p, const cd_token_move *v, usize cnt)
{
    static const cd_ui_col cols[] = {
        {.name = "Transaction"},
        {.name = "From, to", .flags = CD_COL_P2},
        {.name = "Amount", .flags = CD_COL_NUM},
    };
    cd_ui_table_begin(&p->h, "Tokens that moved", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        const cd__token unasked = {.addr = v[i].token, .decimals = CD__DECIMALS_UNKNOWN};
        const cd__token *token = cd__xp_token(p, &v[i].token);
        const cd__move m = {
            .amount = v[i].amount,
            .token = token == NULL ? &unasked : token,
            .kind = v[i].kind,
            .id = v[i].id,
        };
        cd_html_put(&p->h, "<tr><td>");
        write_place(p, &v[i].at);
        cd_html_put(&p->h, "</td>");
        cd_ui_cell(&p->h, &cols[1]);
        write_pair(p, &v[i].from, &v[i].to);
        cd_html_put(&p->h, "</td><td class=\"num\">");
        cd__move_amount(p, &m);
        cd_html_put(&p->h, "</td></tr>");
    }
    cd_ui_table_end(&p->h);
}

static const char *kind_of(u8 op)
{
    return op == CD_OP_CREATE         ? "create"
           : op == CD_OP_CREATE2      ? "create2"
           : op == CD_OP_SELFDESTRUCT ? "selfdestruct"
                                      : "call";
}

void cd__xp_internals(cd__xp *p, const cd_index_internal *v, usize cnt)
{
    static const cd_ui_col cols[] = {
        {.name = "Transaction"},
        {.name = "Kind"},
        {.name = "From, to", .flags = CD_COL_P2},
        {.name = "Value", .flags = CD_COL_NUM},
    };
    cd_ui_table_begin(&p->h, "Inside transactions", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        cd_html_put(&p->h, "<tr><td>");
        write_place(p, &v[i].at);
        cd_html_put(&p->h, "</td><td>");
        cd_ui_tag(&p->h, cd_foreign_of(cd_bytes_str(kind_of(v[i].op))));
        cd_html_put(&p->h, "</td>");
        cd_ui_cell(&p->h, &cols[2]);
        write_pair(p, &v[i].from, &v[i].to);
        cd_html_put(&p->h, "</td><td class=\"num\">");
        cd__xp_lux(p, &v[i].value, false);
        cd_html_put(&p->h, "</td></tr>");
    }
    cd_ui_table_end(&p->h);
}

bool cd__xp_holds(cd__xp *p, cd_u256 *out, const cd_index_holding *h)
{
    static const char *const asks[] = {
        [CD_TOKEN_ERC20] = "balanceOf(address)",
        [CD_TOKEN_ERC721] = "ownerOf(uint256)",
        [CD_TOKEN_ERC1155] = "balanceOf(address,uint256)",
    };
    u8 data[4 + 64] = {0};
    usize n = 4;
    cd_u256 got;
    cd_abi_selector(data, asks[h->kind]);
    if (h->kind != CD_TOKEN_ERC721) {
        memcpy(data + n + 12, h->holder.b, 20);
        n += 32;
    }
    if (h->kind != CD_TOKEN_ERC20) {
        cd_u256_store_be(data + n, &h->id);
        n += 32;
    }
    if (!cd__token_number(p, &got, cd_view_head(p->view), &h->token, cd_bytes_of(data, n))) {
        return false;
    }
    if (h->kind == CD_TOKEN_ERC721) {
        cd_addr20 owner = cd_u256_to_addr(&got);
        got = cd_addr20_eq(&owner, &h->holder) ? cd_u256_one() : cd_u256_zero();
    }
    *out = got;
    return true;
}
