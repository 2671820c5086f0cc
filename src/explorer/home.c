#include "explorer/explorer_priv.h"
#include "web/chart.h"

enum { STRIP = 72 };

/* What can be said of the last blocks, gathered once. */
typedef struct recent {
    cd_bar bars[STRIP]; /* oldest first */
    usize cnt;
    u64 most_gas;
    u64 first_time;
    u64 txs;
    u64 gas;
} recent;

static void gather(cd__xp *p, recent *r, u64 head)
{
    const cd_accepted *down[STRIP];
    for (usize i = cd__xp_down(p, down, head, STRIP); i-- != 0;) {
        const cd_accepted *b = down[i];
        const cd_header *x = &b->block.header;
        r->bars[r->cnt++] = (cd_bar){
            .part = {(double)x->gas_used},
            .colour = {4},
            .title = cd_bytes_str(cd_arena_fmt(&p->a, "Block %llu: %zu %s, %llu gas", (unsigned long long)x->number,
                                               b->block.tx_cnt, b->block.tx_cnt == 1 ? "transaction" : "transactions",
                                               (unsigned long long)x->gas_used)),
            .href = cd__xp_block_href(p, x->number),
        };
        r->first_time = r->cnt == 1 ? x->time : r->first_time;
        r->most_gas = cd_max_u64(r->most_gas, x->gas_used);
        r->txs += b->block.tx_cnt;
        r->gas += x->gas_used;
    }
}

/* One more lamp of the beam, and how high it reaches. */
static void final_height(cd__xp *p, cd_lamp lamp, u64 height)
{
    cd_html_put(&p->h, "<dt>");
    cd_ui_lamp(&p->h, lamp);
    const char *to = cd__xp_final_href(p);
    if (to != NULL) {
        cd_html_put(&p->h, "<a href=\"{}\">{}</a>", to, cd_lamp_word(lamp));
    } else {
        cd_html_put(&p->h, "{}", cd_lamp_word(lamp));
    }
    cd_html_put(&p->h, "</dt><dd><a class=\"mono\" href=\"{}\">{}</a></dd>", cd__xp_block_href(p, height),
                cd_fmt_count(&p->a, height));
}

static void beam(cd__xp *p, const recent *r)
{
    const cd_header *head = &cd_view_head(p->view)->block.header;
    cd_html *h = &p->h;
    cd_html_put(h,
                "<section class=\"panel beam\" aria-label=\"Chain\"><div class=\"beam-num\"><span "
                "class=\"row\">"
                "<span class=\"ch c\" aria-hidden=\"true\">C</span><span class=\"mut\">C-Chain "
                "height</span></span>"
                "<p class=\"big\"><a href=\"{}\">{}</a></p><dl class=\"lamps\"><dt>",
                cd__xp_block_href(p, head->number), cd_fmt_count(&p->a, head->number));
    cd_ui_lamp(h, CD_LAMP_ACCEPTED);
    cd_html_put(h, "Accepted</dt><dd>");
    cd_ui_time(h, &p->a, head->time, p->now_s);
    cd_html_put(h, "</dd>");
    if (p->final.is_told) {
        final_height(p, CD_LAMP_BLS, p->final.bls);
        final_height(p, CD_LAMP_QUANTUM, p->final.quantum);
    }
    cd_html_put(h,
                "</dl></div><div class=\"beam-fig\"><div class=\"row\"><h2>Last {} {}</h2>"
                "<span class=\"mut\">height of a bar = gas used</span></div>",
                (u64)r->cnt, r->cnt == 1 ? "block" : "blocks");
    cd_chart_bars(h, r->bars, r->cnt, STRIP, (double)r->most_gas, "Gas used by the last blocks");
    cd_html_put(h, "<div class=\"beam-x\"><span>{}</span><span>now</span></div></div></section>",
                cd_fmt_age(&p->a, r->first_time, p->now_s));
}

static void figures(cd__xp *p, const recent *r)
{
    const cd_header *head = &cd_view_head(p->view)->block.header;
    cd_u256 transfer;
    cd_u256_mul_u64(&transfer, &head->base_fee, 21000);
    cd_bytes fee = cd_fmt_amount(&p->a, &transfer, CD__XP_DECIMALS, (cd_fmt_decimals){.sig = 6});
    const cd_ui_fig figs[] = {
        {.label = "Transactions",
         .value = cd_fmt_count(&p->a, r->txs),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&p->a, "in the last %zu blocks", r->cnt))},
        {.label = "Gas price",
         .value = (head->has & CD_HEADER_BASE_FEE) != 0 ? cd_fmt_gas_price(&p->a, &head->base_fee)
                                                        : cd_bytes_str(CD_FMT_NONE),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&p->a, "transfer ≈ %.*s LUX", (int)fee.n, (const char *)fee.p))},
        {.label = "Gas used",
         .value = cd_fmt_count(&p->a, r->gas),
         .unit = "gas",
         .sub = cd_bytes_str("in these blocks")},
        {.label = "Gas limit",
         .value = cd_fmt_count(&p->a, head->gas_limit),
         .unit = "gas",
         .sub = cd_bytes_str("of a block")},
    };
    cd_ui_figs(&p->h, figs, CD_COUNT(figs));
}

/* Without rows the table is not shown (candela.css), but live ones find it. */
static void newest_txs(cd__xp *p, u64 head)
{
    enum { RUNS_MAX = 32 };
    usize shown = 0;
    u32 runs = 0;
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Transactions</h2><div class=\"end\">");
    cd__xp_live_pill(p, p->x->root);
    cd_html_put(&p->h, "<a href=\"{}\">All transactions</a></div></header>", p->x->tabs[CD__TAB_TXS].href);
    cd__xp_txs_begin(p, cd__xp_live(p, CD__LIVE_TXS));
    const cd_accepted *b[CD__XP_PAGE];
    for (u64 i = 0; i <= head && i < CD__XP_TXS_SEARCHED && shown < CD__LIVE_ROWS; i += CD__XP_PAGE) {
        u64 first;
        if (cd_view_run(p->view, &first, head - i)) {
            head = first == 0 ? 0 : first - 1; /* blocks that are known to be empty do not count */
            i = 0;
            if (first == 0 || ++runs > RUNS_MAX) {
                break;
            }
        }
        usize cnt = cd__xp_down(p, b, head - i, CD__XP_PAGE);
        for (usize at = 0; at < cnt; at++) {
            for (usize k = b[at]->block.tx_cnt; k-- != 0 && shown < CD__LIVE_ROWS; shown++) {
                cd__xp_txs_row(p, b[at], k, true);
            }
        }
    }
    cd__xp_txs_end(p);
    if (shown == 0) {
        cd_ui_empty(&p->h, head == 0 ? "No transactions yet" : "No transactions in the newest blocks",
                    "The next one stands here; those before stand among all transactions.", (cd_markup){0});
    }
    cd_html_put(&p->h, "</section>");
}

/* On a development network nothing happens by itself: say what to do. */
static void waiting(cd__xp *p)
{
    cd_bytes host = cd_http_req_header(p->req, "host");
    cd_buf text = {0};
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Waiting for a "
                       "transaction</h2></header><div class=\"body\">"
                       "<p class=\"mut\">Send one from the first account of this network:</p>");
    cd_buf_str(&text, "curl -s http://");
    cd_buf_put(&text, host);
    cd_buf_str(&text, "/ -H 'content-type: application/json' \\\n"
                      "  -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_sendTransaction\",\"params\":[{"
                      "\"from\":\"" CD__XP_DEV_ACCOUNT "\","
                      "\"to\":\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\","
                      "\"value\":\"0xde0b6b3a7640000\"}]}"
                      "'");
    cd_ui_code(&p->h, cd_buf_bytes(&text), "command");
    cd_html_put(&p->h, "</div></section>");
    cd_buf_fini(&text);
}

void cd__xp_top(cd__xp *p)
{
    recent *r = cd_arena_new(&p->a, recent);
    u64 head = cd_view_head(p->view)->block.header.number;
    gather(p, r, head);
    beam(p, r);
    if (head == 0 && cd_view_rules(p->view)->is_dev) {
        waiting(p);
    }
    figures(p, r);
}

void cd__xp_home(cd__xp *p)
{
    u64 head = cd_view_head(p->view)->block.header.number;
    const char *live = cd__xp_live(p, CD__LIVE_TOP);
    p->title = cd_bytes_str("Overview");
    p->tab = p->x->tabs[CD__TAB_HOME].href;
    p->is_live = true;
    cd_html_put(&p->h, "<h1 class=\"sr\">Overview</h1><div class=\"stack\" data-live=\"{}\">",
                live == NULL ? "" : live);
    cd__xp_top(p);
    cd_html_put(&p->h, "</div><div class=\"cols\"><section "
                       "class=\"panel\"><header><h2>Blocks</h2><div class=\"end\">");
    cd__xp_live_pill(p, p->x->root);
    cd_html_put(&p->h, "<a href=\"{}/blocks\">All blocks</a></div></header>", p->x->root);
    cd__xp_blocks_table(p, head, CD__LIVE_ROWS, cd__xp_live(p, CD__LIVE_BLOCKS));
    cd_html_put(&p->h, "</section>");
    newest_txs(p, head);
    cd_html_put(&p->h, "</div>");
}
