/* What stands on the pages of the exchange, but for sealed auctions. */
#include "services/adx/exchange/page_priv.h"

#include "base/hex.h"

enum { NANO_DECIMALS = 9, MICRO_DECIMALS = 6 };

static const cd_page_link tabs[] = {
    {.name = "Overview", .href = "/", .key = "h"},       {.name = "Sealed auctions", .href = "/auctions", .key = "a"},
    {.name = "Miners", .href = "/miners", .key = "m"},   {.name = "Campaigns", .href = "/campaigns", .key = "c"},
    {.name = "Bidders", .href = "/bidders", .key = "b"}, {.name = "Slots", .href = "/slots", .key = "s"},
    {.name = "Money", .href = "/money", .key = "y"},
};
static const cd_page_link foot[] = {{.name = "Metrics", .href = "/metrics"}, {.name = "Health", .href = "/health"}};

const cd_page_site cd__page_site = {
    .product = "Ad exchange",
    .home = "/",
    .assets = CD__PAGE_ASSETS,
    .tabs = tabs,
    .tabs_cnt = CD_COUNT(tabs),
    .foot = foot,
    .foot_cnt = CD_COUNT(foot),
    .search_action = "/search",
    .search_label = "Auction, miner, campaign or slot",
};

cd_bytes cd__page_usd(cd_arena *a, i64 nano)
{
    bool is_less = nano < 0;
    cd_u256 v = cd_u256_from_u64((u64)(is_less ? -nano : nano));
    cd_bytes text = cd_fmt_exact(a, &v, NANO_DECIMALS);
    return is_less ? cd_bytes_str(cd_arena_fmt(a, "−%.*s", (int)text.n, (const char *)text.p)) : text;
}

static cd_bytes micro(cd_arena *a, cd_micro m)
{
    cd_u256 v = cd_u256_from_u64((u64)m);
    return cd_fmt_exact(a, &v, MICRO_DECIMALS);
}

static cd_bytes count(cd_arena *a, u64 n)
{
    return cd_fmt_count(a, n);
}

static void cell(cd_html *h, const cd_ui_col *col, cd_bytes text)
{
    cd_ui_cell(h, col);
    cd_html_put(h, "{}</td>", text);
}

static void meter_cell(cd_html *h, const cd_ui_col *col, cd_bytes text, u64 part, u64 whole, u32 colour)
{
    cd_ui_cell(h, col);
    cd_html_put(h, "{} ", text);
    cd_chart_meter(h, part, whole, colour);
    cd_html_put(h, "</td>");
}

/* --- overview --- */

static void requests(cd_html *h, cd__view *v)
{
    cd_bar bars[CD__PULSE_MINUTES];
    const cd__pulse *p = &v->x->pulse;
    u64 now = v->now_s / 60;
    double high = 1;
    for (usize i = 0; i < CD__PULSE_MINUTES; i++) {
        u64 minute = now - (CD__PULSE_MINUTES - 1 - i);
        bool is_there = minute <= p->minute && minute + CD__PULSE_MINUTES > p->minute;
        u32 n[3] = {0};
        if (is_there) {
            n[0] = p->at[minute % CD__PULSE_MINUTES].filled;
            n[1] = p->at[minute % CD__PULSE_MINUTES].floor;
            n[2] = p->at[minute % CD__PULSE_MINUTES].none;
        }
        bars[i] = (cd_bar){.part = {n[0], n[1], n[2]}, .colour = {1, 2, 5}};
        bars[i].title = cd_bytes_str(cd_arena_fmt(&v->mem, "%zu min ago: %u filled, %u below floor, %u no bid",
                                                  CD__PULSE_MINUTES - 1 - i, n[0], n[1], n[2]));
        high = n[0] + n[1] + n[2] > high ? n[0] + n[1] + n[2] : high;
    }
    cd_html_put(h, "<section class=\"panel\"><header><h2>Requests by minute</h2><div class=\"end\"><span class=\"mut\">"
                   "filled, below floor, no bid; the last hour</span></div></header><div class=\"body\">");
    cd_chart_bars(h, bars, CD__PULSE_MINUTES, CD__PULSE_MINUTES, high, "Ad requests of the last hour by outcome");
    cd_html_put(h, "</div></section>");
}

static void figures(cd_html *h, cd__view *v)
{
    cd_exchange *x = v->x;
    cd_arena *a = &v->mem;
    u64 sold = cd_counter_get(x->m.sold);
    u64 unsold = cd_counter_get(x->m.unsold);
    cd_gate_totals t = cd_gate_totals_get(x->gate);
    cd_bytes share = cd_fmt_percent(a, sold, sold + unsold);
    const cd_ui_fig figs[] = {
        {.label = "Auctions",
         .value = count(a, sold + unsold),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(a, "%.*s filled, since the start", (int)share.n, (const char *)share.p))},
        {.label = "Paid impressions",
         .value = count(a, cd_counter_get(x->m.impressions)),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(a, "%llu came again", (unsigned long long)cd_counter_get(x->m.replays)))},
        {.label = "Fees",
         .value = cd__page_usd(a, v->fees),
         .unit = "USD",
         .sub = cd_bytes_str("a thousandth, less rewards")},
        {.label = "Miners",
         .value = count(a, t.active),
         .unit = "active",
         .sub = cd_bytes_str(cd_arena_fmt(a, "%llu registered", (unsigned long long)v->wages.registered))},
        {.label = "On the chain",
         .value = cd__page_usd(a, v->settle.settled),
         .unit = "USD",
         .sub = cd_bytes_str(cd_arena_fmt(a, "%llu open", (unsigned long long)v->settle.open))},
    };
    cd_ui_figs(h, figs, CD_COUNT(figs));
}

/* --- miners --- */

static cd_pill pill_of(cd_gate_state s)
{
    return s == CD_GATE_ACTIVE      ? CD_PILL_OK
           : s == CD_GATE_SUSPENDED ? CD_PILL_BAD
           : s == CD_GATE_SILENT    ? CD_PILL_WARN
                                    : CD_PILL_NEUTRAL;
}

static void miner_row(cd_html *h, cd__view *v, const cd_ui_col *cols, usize i)
{
    static const char *const words[] = {"Offline", "Active", "Silent", "Suspended"};
    cd_arena *a = &v->mem;
    const cd_miner_row *m = &v->miners[i];
    const cd_wages_sums *e = &v->earned[i];
    cd_gate_view g;
    cd_gate_look(v->x->gate, &g, m->id);
    const cd_ui_id id = {.text = cd_bytes_str(m->id), .flags = CD_ID_GLINT};
    cd_html_put(h, "<tr>");
    cd_ui_cell(h, &cols[0]);
    cd_ui_ident(h, &id);
    cd_html_put(h, "<span class=\"sub\">{}</span></td>",
                cd_foreign_of(cd_bytes_str(g.tunnel[0] == '\0' ? "-" : g.tunnel)));
    cd_ui_cell(h, &cols[1]);
    cd_ui_pill(h, pill_of(g.state), cd_bytes_str(words[g.state]));
    cd_html_put(h, "</td>");
    cell(h, &cols[2], count(a, e->impressions));
    cell(h, &cols[3], cd_fmt_bytes(a, e->bytes));
    meter_cell(h, &cols[4], cd_fmt_bytes(a, g.cache_used), g.cache_used, g.cache_size, 2);
    cell(h, &cols[5], cd_bytes_str(cd_arena_fmt(a, "%u of %u", g.audited, g.assigned)));
    cell(h, &cols[6], cd_fmt_percent(a, e->up_s, e->seconds));
    cell(h, &cols[7], cd__page_usd(a, (i64)e->reward.total));
    cd_html_put(h, "</tr>");
}

static void miners(cd_html *h, cd__view *v, usize most)
{
    static const cd_ui_col cols[] = {{.name = "Miner"},
                                     {.name = "State"},
                                     {.name = "Impressions", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Sent", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Cache", .flags = CD_COL_P2},
                                     {.name = "Serving", .flags = CD_COL_NUM | CD_COL_P3},
                                     {.name = "Uptime", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Earned, USD", .flags = CD_COL_NUM}};
    cd_html_put(
        h,
        "<section class=\"panel\"><header><h2>Miners</h2><div class=\"end\"><span class=\"mut\">{} registered, {} "
        "active</span></div></header>",
        v->wages.registered, v->wages.active);
    if (v->miners_cnt == 0) {
        cd_ui_empty(h, "No miner yet",
                    "Files with sha256 and size in the configuration are kept by miners: candela-adx miner start.",
                    (cd_markup){0});
    } else {
        cd_ui_table_begin(h, "Miners", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < v->miners_cnt && i < most; i++) {
            miner_row(h, v, cols, i);
        }
        cd_ui_table_end(h);
    }
    cd_html_put(h, "</section>");
}

static void rewards(cd_html *h, cd__view *v)
{
    cd_arena *a = &v->mem;
    const cd_reward *r = &v->wages.reward;
    const struct {
        const char *name;
        u64 nano;
    } parts[] = {{"Base, 0.50 per 1,000 impressions", r->base},
                 {"Bandwidth, 0.10 per GB", r->bandwidth},
                 {"Uptime bonus, 10 %", r->uptime_bonus},
                 {"Auction fees, 0.1 %", r->auction_fee},
                 {"Proof fees", r->proof_fees},
                 {"Sent to wallets", v->wages.paid},
                 {"Pending", v->wages.pending}};
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>Earned by miners</h2></header><div class=\"body stack\"><div "
                "class=\"row\"><span class=\"price\">{}</span><span class=\"mut\">USD for {} impressions and {}</span>"
                "</div><dl class=\"lamps\">",
                cd__page_usd(a, (i64)r->total), count(a, v->wages.impressions), cd_fmt_bytes(a, v->wages.bytes));
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        cd_html_put(h, "<dt>{}</dt><dd>{}</dd>", parts[i].name, cd__page_usd(a, (i64)parts[i].nano));
    }
    cd_html_put(h, "</dl></div></section>");
}

/* --- campaigns --- */

/* How much of a campaign's time is over, in thousandths; of one without an end, nothing. */
static u64 elapsed(const cd_adx_campaign *c, u64 now_s)
{
    if (c->end_s == UINT64_MAX || c->end_s <= c->start_s || now_s <= c->start_s) {
        return 0;
    }
    return cd_min_u64(1000, (now_s - c->start_s) * 1000 / (c->end_s - c->start_s));
}

static void campaign_row(cd_html *h, cd__view *v, const cd_ui_col *cols, usize i)
{
    cd_arena *a = &v->mem;
    const cd_adx_campaign *c = &v->setup->config->campaigns[i];
    const cd__page_campaign *p = &v->campaigns[i];
    i64 spent = p->funded - p->escrow - p->leased;
    u64 share = p->funded <= 0 ? 0 : (u64)((u128)spent * 1000 / (u128)p->funded);
    u64 time = elapsed(c, v->now_s);
    bool is_ahead = time != 0 && share > time + 100;
    bool is_behind = time != 0 && share + 100 < time;
    cd_html_put(h, "<tr>");
    cd_ui_cell(h, &cols[0]);
    cd_html_put(h, "{}<span class=\"sub\">{}</span></td>", cd_foreign_of(cd_bytes_str(c->id)),
                cd_foreign_of(c->adomain.cnt == 0 ? (cd_bytes){0} : c->adomain.v[0]));
    cell(h, &cols[1], micro(a, c->cpm));
    meter_cell(h, &cols[2], cd__page_usd(a, spent), (u64)spent, (u64)(p->funded > 0 ? p->funded : 1), 1);
    cell(h, &cols[3], cd__page_usd(a, p->funded));
    cell(h, &cols[4], cd__page_usd(a, cd_budget_reserved(v->x->budget, c->budget_no)));
    cd_ui_cell(h, &cols[5]);
    cd_ui_pill(h,
               p->escrow + p->leased <= 0 ? CD_PILL_BAD
               : is_ahead                 ? CD_PILL_WARN
                                          : CD_PILL_OK,
               cd_bytes_str(p->escrow + p->leased <= 0 ? "Spent"
                            : is_ahead                 ? "Ahead"
                            : is_behind                ? "Behind"
                                                       : "On pace"));
    cd_html_put(h, "</td>");
    cell(h, &cols[6], c->freq_cap == 0 ? cd_bytes_str(CD_FMT_NONE) : count(a, (u64)c->freq_cap));
    cell(h, &cols[7], count(a, c->creatives_cnt));
    cd_html_put(h, "</tr>");
}

static void campaigns(cd_html *h, cd__view *v)
{
    static const cd_ui_col cols[] = {{.name = "Campaign"},
                                     {.name = "CPM", .flags = CD_COL_NUM},
                                     {.name = "Spent, USD", .flags = CD_COL_NUM},
                                     {.name = "Budget, USD", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Promised here", .flags = CD_COL_NUM | CD_COL_P3},
                                     {.name = "Pace"},
                                     {.name = "Cap", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Creatives", .flags = CD_COL_NUM | CD_COL_P3}};
    const cd_adx_config *c = v->setup->config;
    cd_html_put(h, "<section class=\"panel\">");
    if (c->campaigns_cnt == 0) {
        cd_ui_empty(h, "No campaign yet", "Campaigns stand in the configuration file, which is read again on SIGHUP.",
                    (cd_markup){0});
    } else {
        cd_ui_table_begin(h, "Campaigns", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < c->campaigns_cnt && i < CD__PAGE_ROWS; i++) {
            campaign_row(h, v, cols, i);
        }
        cd_ui_table_end(h);
    }
    cd_html_put(h, "</section>");
}

/* --- bidders --- */

static void bidders(cd_html *h, cd__view *v, usize most)
{
    static const cd_ui_col cols[] = {{.name = "Bidder"},
                                     {.name = "State"},
                                     {.name = "Asked", .flags = CD_COL_NUM},
                                     {.name = "Late", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Broken", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Median", .flags = CD_COL_NUM | CD_COL_P3},
                                     {.name = "p95", .flags = CD_COL_NUM}};
    cd_arena *a = &v->mem;
    const cd_adx_config *c = v->setup->config;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Bidders</h2></header>");
    if (c->dsps_cnt == 0) {
        cd_ui_empty(h, "No bidder yet", "Bidders stand as dsps in the configuration file.", (cd_markup){0});
    } else {
        cd_ui_table_begin(h, "Bidders", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < c->dsps_cnt && i < most; i++) {
            cd_bidder_view b;
            cd_bidders_look(v->x->bidders, v->setup->dsp_no[i], &b);
            cd_html_put(h, "<tr>");
            cd_ui_cell(h, &cols[0]);
            cd_html_put(h, "{}<span class=\"sub\">answers within {} ms</span></td>",
                        cd_foreign_of(cd_bytes_str(c->dsps[i].name)), c->dsps[i].timeout_ms);
            cd_ui_cell(h, &cols[1]);
            cd_ui_pill(h,
                       b.pause_ms != 0 ? CD_PILL_BAD
                       : b.asked == 0  ? CD_PILL_NEUTRAL
                                       : CD_PILL_OK,
                       cd_bytes_str(b.pause_ms != 0 ? "Paused"
                                    : b.asked == 0  ? "Idle"
                                                    : "Active"));
            cd_html_put(h, "</td>");
            cell(h, &cols[2], count(a, b.asked));
            cell(h, &cols[3], cd_fmt_percent(a, b.late, b.asked));
            cell(h, &cols[4], cd_fmt_percent(a, b.broken, b.asked));
            cell(h, &cols[5], cd_bytes_str(cd_arena_fmt(a, "%u ms", b.p50_ms)));
            cell(h, &cols[6], cd_bytes_str(cd_arena_fmt(a, "%u ms", b.p95_ms)));
            cd_html_put(h, "</tr>");
        }
        cd_ui_table_end(h);
    }
    cd_html_put(h, "</section>");
}

/* --- slots --- */

static void slots(cd_html *h, cd__view *v)
{
    static const cd_ui_col cols[] = {{.name = "Slot"},
                                     {.name = "Publisher", .flags = CD_COL_P2},
                                     {.name = "Size", .flags = CD_COL_NUM},
                                     {.name = "Floor, CPM", .flags = CD_COL_NUM},
                                     {.name = "Pod, s", .flags = CD_COL_NUM | CD_COL_P2}};
    const cd_adx_config *c = v->setup->config;
    cd_html_put(h, "<section class=\"panel\">");
    if (c->slots_cnt == 0) {
        cd_ui_empty(h, "No slot yet", "Slots stand in the configuration file; requests name them as tagid.",
                    (cd_markup){0});
    } else {
        cd_ui_table_begin(h, "Slots", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < c->slots_cnt && i < CD__PAGE_ROWS; i++) {
            const cd_adx_slot *s = &c->slots[i];
            cd_html_put(h, "<tr>");
            cd_ui_cell(h, &cols[0]);
            cd_html_put(h, "<a href=\"/slots/{}\">{}</a></td>", cd_url_part_of(s->id), cd_foreign_of(s->id));
            cd_ui_cell(h, &cols[1]);
            cd_html_put(h, "{}</td>", cd_foreign_of(cd_bytes_str(s->publisher)));
            cell(h, &cols[2],
                 cd_bytes_str(cd_arena_fmt(&v->mem, "%d × %d", s->w == 0 ? 1920 : s->w, s->h == 0 ? 1080 : s->h)));
            cell(h, &cols[3], micro(&v->mem, s->rules.floor));
            cell(h, &cols[4], s->poddur == 0 ? cd_bytes_str(CD_FMT_NONE) : count(&v->mem, (u64)s->poddur));
            cd_html_put(h, "</tr>");
        }
        cd_ui_table_end(h);
    }
    cd_html_put(h, "</section>");
}

static void one_slot(cd_html *h, cd__view *v)
{
    const cd_adx_slot *s = v->slot;
    cd_buf tag = {0};
    cd_bytes base = cd_bytes_str(v->x->beacons);
    cd_buf_put(&tag, cd_bytes_sub(base, 0, base.n - 3)); // without "/t/"
    cd_buf_str(&tag, "/vast?slot=");
    cd_url_part_enc(&tag, s->id);
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>What a player asks for</h2></header><div class=\"body stack\">");
    cd_ui_code(h, cd_buf_bytes(&tag), "address");
    cd_html_put(
        h,
        "<p><a href=\"/vast?slot={}\">Open a document of this slot</a>: a real auction, which nobody pays for as "
        "long as nothing is shown.</p></div></section>",
        cd_url_part_of(s->id));
    if (cd__page_film_of(v->setup->config, v->now_s) != NULL) {
        cd_html_put(h,
                    "<section class=\"panel\"><header><h2>Preview</h2><div class=\"end\"><span class=\"mut\">of the "
                    "campaign that pays most</span></div></header><div class=\"body\"><video class=\"film\" controls "
                    "preload=\"none\" width=\"640\" height=\"360\" src=\"/film\">This browser plays no "
                    "video.</video></div></section>");
    }
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>Rules</h2></header><div class=\"body\"><dl class=\"kv\">"
                "<dt>Publisher</dt><dd>{}</dd><dt>Floor, USD CPM</dt><dd>{}</dd><dt>Blocked categories</dt><dd>{}</dd>"
                "<dt>Blocked advertisers</dt><dd>{}</dd></dl></div></section>",
                cd_foreign_of(cd_bytes_str(s->publisher)), micro(&v->mem, s->rules.floor), (u64)s->rules.bcat.cnt,
                (u64)s->rules.badv.cnt);
    cd_buf_fini(&tag);
}

/* --- money --- */

static void sendings(cd_html *h, cd__view *v)
{
    static const cd_ui_col cols[] = {{.name = "What"},
                                     {.name = "State"},
                                     {.name = "USD", .flags = CD_COL_NUM},
                                     {.name = "Impressions", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Gas", .flags = CD_COL_NUM | CD_COL_P2},
                                     {.name = "Transaction", .flags = CD_COL_P2}};
    static const char *const states[] = {"Made", "Sent", "Settled"};
    cd_arena *a = &v->mem;
    cd_html_put(h, "<section class=\"panel\"><header><h2>On the chain</h2></header>");
    if (v->sendings_cnt == 0) {
        cd_ui_empty(h, "Nothing was sent yet", "With escrow in the configuration, impressions are settled in batches.",
                    (cd_markup){0});
        cd_html_put(h, "</section>");
        return;
    }
    cd_ui_table_begin(h, "Transactions", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < v->sendings_cnt; i++) {
        const cd_sending *s = &v->sendings[i];
        char tx[66];
        tx[0] = '0';
        tx[1] = 'x';
        cd_hex_fmt(tx + 2, cd_bytes_of(s->tx.b, 32));
        const cd_ui_id id = {.text = cd_bytes_of(tx, sizeof tx), .flags = CD_ID_COPY};
        cd_html_put(h, "<tr>");
        cd_ui_cell(h, &cols[0]);
        cd_html_put(h, "{}<span class=\"sub\">{}</span></td>", s->kind == CD_SENDING_BATCH ? "Batch" : "Payout",
                    cd_foreign_of(cd_bytes_str(s->ref)));
        cd_ui_cell(h, &cols[1]);
        cd_ui_pill(h, s->state == CD_SENDING_DONE ? CD_PILL_OK : CD_PILL_NEUTRAL, cd_bytes_str(states[s->state]));
        cd_html_put(h, "</td>");
        cell(h, &cols[2], cd__page_usd(a, s->total));
        cell(h, &cols[3], count(a, s->cnt));
        cell(h, &cols[4], s->gas == 0 ? cd_bytes_str(CD_FMT_NONE) : count(a, s->gas));
        cd_ui_cell(h, &cols[5]);
        if (s->state == CD_SENDING_MADE) {
            cd_html_put(h, "{}</td>", CD_FMT_NONE);
        } else {
            cd_ui_ident(h, &id);
            cd_html_put(h, "</td>");
        }
        cd_html_put(h, "</tr>");
    }
    cd_ui_table_end(h);
    cd_html_put(h, "</section>");
}

static void chain_note(cd_html *h, cd__view *v)
{
    cd_buf text = {0};
    cd_html body = {.out = &text};
    if (v->x->settler == NULL) {
        cd_html_put(&body, "Nothing is settled on a chain: the configuration has no escrow.");
        cd_ui_note(h, CD_NOTE_INFO, "Off the chain", cd_markup_of(&body));
    } else {
        cd_settler_state s = cd_settler_look(v->x->settler);
        if (s.trouble[0] != '\0') {
            cd_html_put(&body, "{}", cd_foreign_of(cd_bytes_str(s.trouble)));
            cd_ui_note(h, CD_NOTE_WARN, "Settlement waits", cd_markup_of(&body));
        } else if (s.compared_ms != 0 && !s.is_equal) {
            cd_html_put(&body, "The contract's sums are not the ledger's. GET /settlement names the campaigns.");
            cd_ui_note(h, CD_NOTE_BAD, "Chain and ledger differ", cd_markup_of(&body));
        }
    }
    cd_buf_fini(&text);
}

static void money(cd_html *h, cd__view *v)
{
    cd_arena *a = &v->mem;
    const cd_settle_sums *s = &v->settle;
    const cd_ui_fig figs[] = {
        {.label = "To be settled",
         .value = cd__page_usd(a, s->unsettled),
         .unit = "USD",
         .sub = cd_bytes_str("in the next batches")},
        {.label = "On its way",
         .value = cd__page_usd(a, s->waiting),
         .unit = "USD",
         .sub = cd_bytes_str(cd_arena_fmt(a, "%llu transactions", (unsigned long long)s->open))},
        {.label = "Settled",
         .value = cd__page_usd(a, s->settled),
         .unit = "USD",
         .sub = cd_bytes_str("the contract has it")},
        {.label = "Fees",
         .value = cd__page_usd(a, v->fees),
         .unit = "USD",
         .sub = cd_bytes_str("less rewards of miners")},
    };
    chain_note(h, v);
    cd_ui_figs(h, figs, CD_COUNT(figs));
    sendings(h, v);
    rewards(h, v);
}

/* --- around --- */

static const char *title_of(const cd__view *v)
{
    for (usize i = 0; i < CD_COUNT(tabs); i++) {
        if (strcmp(tabs[i].href, v->tab) == 0) {
            return tabs[i].name;
        }
    }
    return "";
}

static void overview(cd_html *h, cd__view *v)
{
    cd_html_put(h, "<div data-live=\"/live#figures\">");
    figures(h, v);
    cd_html_put(h, "</div><div class=\"cols side\"><div class=\"stack\"><div data-live=\"/live#requests\">");
    requests(h, v);
    cd_html_put(h, "</div><div data-live=\"/live#miners\">");
    miners(h, v, 6);
    cd_html_put(h, "</div>");
    bidders(h, v, 8);
    cd_html_put(h, "</div><aside class=\"stack\">");
    rewards(h, v);
    cd_html_put(h, "</aside></div>");
}

void cd__page_live(cd_html *h, cd__view *v, usize part)
{
    if (part == 0) {
        figures(h, v);
    } else if (part == 1) {
        requests(h, v);
    } else {
        miners(h, v, 6);
    }
}

void cd__page_write(cd_html *h, cd__view *v)
{
    cd_buf end_text = {0};
    cd_html end = {.out = &end_text};
    cd_bytes title = v->slot != NULL ? v->slot->id : cd_bytes_str(title_of(v));
    bool is_ready = cd_budget_is_ready(v->x->budget);
    cd_ui_pill(&end, is_ready ? CD_PILL_OK : CD_PILL_WARN, cd_bytes_str(is_ready ? "Healthy" : "Starting"));
    const cd_page page = {.site = &cd__page_site, .title = title, .tab = v->tab, .bar_end = cd_markup_of(&end)};
    cd_page_begin(h, &page);
    cd_html_put(h, "<div class=\"head\"><div class=\"grow\"><h1>{}</h1></div></div>", cd_foreign_of(title));
    if (v->slot != NULL) {
        one_slot(h, v);
    } else if (strcmp(v->tab, "/") == 0) {
        overview(h, v);
    } else if (strcmp(v->tab, "/miners") == 0) {
        miners(h, v, 50);
        rewards(h, v);
    } else if (strcmp(v->tab, "/campaigns") == 0) {
        campaigns(h, v);
    } else if (strcmp(v->tab, "/bidders") == 0) {
        bidders(h, v, CD__PAGE_ROWS);
    } else if (strcmp(v->tab, "/slots") == 0) {
        slots(h, v);
    } else {
        money(h, v);
    }
    cd_page_end(h, &page);
    cd_buf_fini(&end_text);
}
