/* The newest transactions, whatever empty blocks stand between them. */
#include "base/num_text.h"
#include "explorer/explorer_priv.h"

/* Blocks that a page looks through at most; the next page goes on where it ended. */
enum { LOOKED_AT = 8192 };

/* Where a list goes on: with the transaction of that number, downwards, of the block of that height. */
typedef struct place {
    u64 height;
    u64 idx; /* UINT64_MAX: the last one */
} place;

static place place_of(cd__xp *p, u64 head)
{
    place at = {.height = head, .idx = UINT64_MAX};
    u64 v;
    cd_bytes from = cd__xp_query(p, "from", CD_U64_TEXT_MAX);
    cd_bytes idx = cd__xp_query(p, "tx", CD_U64_TEXT_MAX);
    if (from.n != 0 && cd_u64_parse(&v, from) == CD_OK && v <= head) {
        at.height = v;
        at.idx = idx.n != 0 && cd_u64_parse(&v, idx) == CD_OK ? v : UINT64_MAX;
    }
    return at;
}

/* Writes rows from a place on and moves it behind them; false: that was the first block. */
static bool rows(cd__xp *p, place *at, usize *cnt)
{
    cd_arena *a = &p->a;
    *cnt = 0;
    for (u64 looked = 0; looked < LOOKED_AT; looked++) {
        const cd_accepted *b;
        u64 first;
        if (cd_view_run(p->view, &first, at->height) && first != 0) {
            *at = (place){.height = first - 1, .idx = UINT64_MAX};
            continue;
        }
        if (cd_view_block(p->view, &b, a, at->height) != CD_OK) {
            return false;
        }
        for (u64 k = cd_min_u64(b->block.tx_cnt, at->idx == UINT64_MAX ? UINT64_MAX : at->idx + 1); k-- != 0;) {
            if (*cnt == CD__XP_PAGE) {
                at->idx = k;
                return true;
            }
            cd__xp_txs_row(p, b, (usize)k, true);
            (*cnt)++;
        }
        if (at->height == 0) {
            return false;
        }
        *at = (place){.height = at->height - 1, .idx = UINT64_MAX};
    }
    return true;
}

void cd__xp_txs(cd__xp *p)
{
    u64 head = cd_view_head(p->view)->block.header.number;
    place at = place_of(p, head);
    bool is_first = at.height == head && at.idx == UINT64_MAX;
    usize cnt;
    cd_html *h = &p->h;
    p->title = cd_bytes_str("Transactions");
    p->tab = p->x->tabs[CD__TAB_TXS].href;
    cd_html_put(h, "<h1>Transactions</h1><section class=\"panel\" aria-label=\"Transactions\">");
    cd__xp_txs_begin(p, NULL);
    bool more = rows(p, &at, &cnt);
    cd__xp_txs_end(p);
    if (cnt == 0) {
        cd_ui_empty(h, more ? "No transactions in these blocks" : "No transactions",
                    more ? "The next page looks at the blocks before." : "The blocks down to the first hold none.",
                    (cd_markup){0});
    }
    cd_html_put(h, "<footer><span>Newest first</span>");
    cd_bytes next = {0};
    if (more && at.idx != UINT64_MAX) {
        next = cd_bytes_str(cd_arena_fmt(&p->a, "%s?from=%llu&tx=%llu", p->tab, (unsigned long long)at.height,
                                         (unsigned long long)at.idx));
    } else if (more) {
        next = cd_bytes_str(cd_arena_fmt(&p->a, "%s?from=%llu", p->tab, (unsigned long long)at.height));
    }
    cd_ui_pager(h, is_first ? (cd_bytes){0} : cd_bytes_str(p->tab), next);
    cd_html_put(h, "</footer></section>");
}
