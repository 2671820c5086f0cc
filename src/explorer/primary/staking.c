/* Validators of the primary network, and one of them. */
#include "base/mem/mem.h"
#include "crypto/bls/bls.h"
#include "explorer/primary/primary_priv.h"
#include "web/chart.h"

#include <stdlib.h>

static const cd_hash32 primary;

/* --- the roll: made once behind a block, shared by pages --- */

static u64 stake_of(const cd__pp_validator *v)
{
    return v->staker.weight + v->delegated.weight;
}

static int by_stake(const void *a, const void *b)
{
    u64 x = stake_of(a);
    u64 y = stake_of(b);
    const cd__pp_validator *va = a;
    const cd__pp_validator *vb = b;
    return x != y ? (x < y ? 1 : -1) : memcmp(va->staker.node_id.b, vb->staker.node_id.b, sizeof va->staker.node_id.b);
}

static cd_err collect(cd_buf *rows, const cd_pstate *s)
{
    cd_p_staker_iter it;
    cd__pp_validator row;
    usize cnt = 0;
    CD_TRY(cd_pstate_stakers_of_net(s, &it, CD_P_CURRENT, &primary));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_p_staker_next(&it, &row.staker)) {
        if (cd_p_priority_delegates(row.staker.priority)) {
            continue;
        }
        e = ++cnt > CD__PP_ROLL_MAX
                ? CD_EFULL
                : cd_pstate_delegated_get(s, &row.delegated, CD_P_CURRENT, &primary, &row.staker.node_id);
        cd_buf_put(rows, cd_bytes_of(&row, sizeof row));
    }
    e = e != CD_OK ? e : it.err;
    cd_p_staker_iter_fini(&it);
    return e;
}

static cd_err make(cd__pp_roll **out, const cd_platform_view *view)
{
    cd_buf rows = {0};
    cd_err e = collect(&rows, &view->state);
    if (e == CD_OK) {
        cd__pp_roll *roll = cd_alloc(sizeof *roll + rows.n);
        *roll = (cd__pp_roll){.block = view->last, .refs = 2, .cnt = rows.n / sizeof roll->v[0]};
        if (rows.n != 0) {
            memcpy(roll->v, rows.p, rows.n);
        }
        qsort(roll->v, roll->cnt, sizeof roll->v[0], by_stake);
        for (usize i = 0; i < roll->cnt; i++) {
            roll->own += roll->v[i].staker.weight;
            roll->delegated += roll->v[i].delegated.weight;
        }
        *out = roll;
    }
    cd_buf_fini(&rows);
    return e;
}

void cd__pp_roll_end(cd_primary *m, cd__pp_roll *roll)
{
    if (roll == NULL) {
        return;
    }
    cd_mutex_lock(&m->lock);
    bool is_last = --roll->refs == 0;
    cd_mutex_unlock(&m->lock);
    if (is_last) {
        cd_free(roll);
    }
}

cd_err cd__pp_roll_get(cd__pp *p, cd__pp_roll **out)
{
    cd_primary *m = p->m;
    cd_mutex_lock(&m->lock);
    cd__pp_roll *roll = m->roll;
    bool is_kept = roll != NULL && cd_hash32_eq(&roll->block, &p->p.last);
    if (is_kept) {
        roll->refs++;
    }
    cd_mutex_unlock(&m->lock);
    if (is_kept) {
        *out = roll;
        return CD_OK;
    }
    cd__pp_roll *made = NULL;
    CD_TRY(make(&made, &p->p)); // one use is this page's, one the explorer's
    cd_mutex_lock(&m->lock);
    roll = m->roll;
    m->roll = made;
    cd_mutex_unlock(&m->lock);
    cd__pp_roll_end(m, roll);
    *out = made;
    return CD_OK;
}

/* --- rows --- */

static const cd_ui_col cols[] = {
    {.name = "Node"},
    {.name = "Stake", .flags = CD_COL_NUM},
    {.name = "Share", .flags = CD_COL_NUM | CD_COL_P2},
    {.name = "Delegated", .flags = CD_COL_NUM | CD_COL_P3},
};

/* The columns of a short table come first. */
enum { SHORT = 2 };

void cd__pp_validator_rows(cd__pp *p, const cd__pp_validator *v, usize first, usize cnt, u64 whole)
{
    const char *unit = p->network->family->symbol;
    bool is_short = whole == 0;
    cd_ui_table_begin(&p->h, "Validators", cols, is_short ? SHORT : CD_COUNT(cols), NULL, NULL);
    for (usize i = first; i < first + cnt; i++) {
        const cd_p_staker *s = &v[i].staker;
        cd_html_put(&p->h, "<tr><td>");
        cd__pp_node(p, &s->node_id, 0);
        cd_html_put(&p->h, "<span class=\"sub\">ends ");
        cd_ui_time(&p->h, &p->a, s->end, p->now_s);
        cd_html_put(&p->h, "</span></td><td class=\"num\">{} {}</td>", cd__pp_figure(p, stake_of(&v[i])), unit);
        if (!is_short) {
            cd_ui_cell(&p->h, &cols[2]);
            cd_html_put(&p->h, "{}", cd_fmt_percent(&p->a, stake_of(&v[i]), whole));
            cd_chart_meter(&p->h, stake_of(&v[i]), stake_of(&v[0]), 1);
            cd_html_put(&p->h, "</td>");
            cd_ui_cell(&p->h, &cols[3]);
            cd_html_put(&p->h, "{} <span class=\"sub\">{} {}</span></td>", cd__pp_figure(p, v[i].delegated.weight),
                        cd_fmt_count(&p->a, v[i].delegated.cnt), v[i].delegated.cnt == 1 ? "delegator" : "delegators");
        }
        cd_html_put(&p->h, "</tr>");
    }
    cd_ui_table_end(&p->h);
}

/* How many, most stake first, have more than a share of the whole. */
static usize needed(const cd__pp_roll *r, u64 part, u64 of)
{
    cd_u256 sum = cd_u256_from_u64(0);
    cd_u256 limit;
    cd_u256 whole = cd_u256_from_u64(r->own + r->delegated);
    cd_u256_mul_u64(&limit, &whole, part);
    for (usize i = 0; i < r->cnt; i++) {
        cd_u256 times;
        cd_u256 one = cd_u256_from_u64(stake_of(&r->v[i]));
        cd_u256_mul_u64(&times, &one, of);
        cd_u256_add(&sum, &sum, &times);
        if (cd_u256_cmp(&sum, &limit) > 0) {
            return i + 1;
        }
    }
    return r->cnt;
}

/* The stake as a bar: the largest one by one, the rest together. */
static void stake_bar(cd__pp *p, const cd__pp_roll *r)
{
    enum { SHOWN = 40, WIDTH = 1000 };
    u64 whole = r->own + r->delegated;
    u64 before = 0;
    usize third = needed(r, 1, 3);
    usize two = needed(r, 2, 3);
    cd_html_put(
        &p->h,
        "<section class=\"panel\"><header><h2>Who holds the stake</h2><div class=\"end mut\">{} could stop the "
        "network, {} could finalize</div></header><div class=\"body\"><svg class=\"stakes\" viewBox=\"0 0 1000 28\" "
        "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"The stake of each validator, largest first\">",
        cd_fmt_count(&p->a, third), cd_fmt_count(&p->a, two));
    for (usize i = 0; i < r->cnt && i <= SHOWN && whole != 0; i++) {
        u64 part = i == SHOWN ? whole - before : stake_of(&r->v[i]);
        u64 x = (u64)((double)before / (double)whole * WIDTH);
        u64 w = (u64)((double)(before + part) / (double)whole * WIDTH) - x;
        cd_html_put(&p->h, "<rect class=\"{}\" x=\"{}\" y=\"0\" width=\"{}\" height=\"28\"/>",
                    i < third ? "f4"
                    : i < two ? "f1"
                              : "f5",
                    x, w > 2 ? w - 1 : w);
        before += part;
    }
    cd_html_put(&p->h,
                "</svg><p class=\"mut\">First third: {} {}; to two thirds: {} more; the rest: {}.</p></div></section>",
                cd_fmt_count(&p->a, third), third == 1 ? "validator" : "validators", cd_fmt_count(&p->a, two - third),
                cd_fmt_count(&p->a, r->cnt - two));
}

static void figures(cd__pp *p, const cd__pp_roll *r)
{
    const char *unit = p->network->family->symbol;
    usize keys = 0;
    for (usize i = 0; i < r->cnt; i++) {
        keys += r->v[i].staker.has_key ? 1 : 0;
    }
    const cd_ui_fig figs[] = {
        {.label = "Validators", .value = cd_fmt_count(&p->a, r->cnt), .unit = "", .sub = cd_bytes_str("validate now")},
        {.label = "Staked",
         .value = cd__pp_figure(p, r->own + r->delegated),
         .unit = unit,
         .sub = cd_bytes_str("own and delegated")},
        {.label = "Delegated", .value = cd__pp_figure(p, r->delegated), .unit = unit, .sub = cd_bytes_str("of that")},
        {.label = "BLS keys",
         .value = cd_fmt_count(&p->a, keys),
         .unit = "",
         .sub = cd_bytes_str("validators have one")},
    };
    cd_ui_figs(&p->h, figs, CD_COUNT(figs));
}

/* Those that wait for their start, at most a page of them. */
static void pending(cd__pp *p)
{
    cd_p_staker_iter it;
    cd_p_staker s;
    static const cd_ui_col of[] = {{.name = "Node"},
                                   {.name = "What"},
                                   {.name = "Stake", .flags = CD_COL_NUM},
                                   {.name = "Begins", .flags = CD_COL_NUM}};
    usize cnt = 0;
    if (cd_pstate_stakers_of_net(&p->p.state, &it, CD_P_PENDING, &primary) != CD_OK) {
        return;
    }
    while (cnt < CD__PP_PAGE && cd_p_staker_next(&it, &s)) {
        if (cnt++ == 0) {
            cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Pending</h2></header>");
            cd_ui_table_begin(&p->h, "Pending", of, CD_COUNT(of), NULL, NULL);
        }
        cd_html_put(&p->h, "<tr><td>");
        cd__pp_node(p, &s.node_id, 0);
        cd_html_put(&p->h, "</td><td>{}</td><td class=\"num\">",
                    cd_p_priority_delegates(s.priority) ? "Delegator" : "Validator");
        cd__pp_native(p, s.weight);
        cd_html_put(&p->h, "</td><td class=\"num\">");
        cd_ui_time(&p->h, &p->a, s.start, p->now_s);
        cd_html_put(&p->h, "</td></tr>");
    }
    if (cnt != 0) {
        cd_ui_table_end(&p->h);
        cd_html_put(&p->h, "</section>");
    }
    cd_p_staker_iter_fini(&it);
}

void cd__pp_validators(cd__pp *p)
{
    cd__pp_roll *roll;
    cd_err e = cd__pp_roll_get(p, &roll);
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    usize first = cd_min_u64(cd__pp_query_number(p, "from"), roll->cnt);
    usize cnt = cd_min_u64(roll->cnt - first, CD__PP_PAGE);
    p->title = cd_bytes_str("Validators");
    p->tab = p->m->tabs[CD_PRIMARY_P][2].href;
    cd_html_put(&p->h,
                "<div class=\"head\"><div class=\"grow\"><h1>Validators</h1><p class=\"mut\">Who keeps the primary "
                "network running, at P-Chain height {}.</p></div></div>",
                cd_fmt_count(&p->a, p->p.height));
    if (first == 0) {
        figures(p, roll);
        stake_bar(p, roll);
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Validators</h2></header>");
    if (cnt == 0) {
        cd_ui_empty(&p->h, "No validators", "Nobody stakes on this network now.", (cd_markup){0});
    } else {
        cd__pp_validator_rows(p, roll->v, first, cnt, roll->own + roll->delegated);
    }
    cd_html_put(&p->h, "<footer><span>{} in all, most stake first</span>", cd_fmt_count(&p->a, roll->cnt));
    cd_bytes next = {0};
    if (first + cnt < roll->cnt) {
        next = cd_bytes_str(cd_arena_fmt(&p->a, "%s?from=%zu", p->tab, first + cnt));
    }
    cd_ui_pager(&p->h, first == 0 ? (cd_bytes){0} : cd_bytes_str(p->tab), next);
    cd_html_put(&p->h, "</footer></section>");
    if (first == 0) {
        pending(p);
    }
    cd__pp_roll_end(p->m, roll);
}

/* --- one validator --- */

static void delegators(cd__pp *p, const cd_p_staker *s)
{
    static const cd_ui_col of[] = {{.name = "Transaction"},
                                   {.name = "Stake", .flags = CD_COL_NUM},
                                   {.name = "Reward at most", .flags = CD_COL_NUM | CD_COL_P2},
                                   {.name = "Ends", .flags = CD_COL_NUM}};
    cd_p_staker_iter it;
    cd_p_staker d;
    u64 first = cd__pp_query_number(p, "from");
    usize seen = 0;
    usize cnt = 0;
    bool more = false;
    if (cd_pstate_delegators(&p->p.state, &it, CD_P_CURRENT, &s->net_id, &s->node_id) != CD_OK) {
        return;
    }
    while (!more && cd_p_staker_next(&it, &d)) {
        if (seen++ < first) {
            continue;
        }
        more = cnt == CD__PP_PAGE;
        if (more) {
            break;
        }
        if (cnt++ == 0) {
            cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Delegators</h2></header>");
            cd_ui_table_begin(&p->h, "Delegators", of, CD_COUNT(of), NULL, NULL);
        }
        cd_html_put(&p->h, "<tr><td>");
        cd__pp_tx_id(p, CD_PRIMARY_P, &d.tx_id, 0);
        cd_html_put(&p->h, "</td><td class=\"num\">");
        cd__pp_native(p, d.weight);
        cd_html_put(&p->h, "</td>");
        cd_ui_cell(&p->h, &of[2]);
        cd__pp_native(p, d.potential_reward);
        cd_html_put(&p->h, "</td><td class=\"num\">");
        cd_ui_time(&p->h, &p->a, d.end, p->now_s);
        cd_html_put(&p->h, "</td></tr>");
    }
    if (cnt != 0) {
        cd_ui_table_end(&p->h);
        cd_bytes own = cd__pp_href(p, CD_PRIMARY_P, "validator", cd__pp_node_text(p, &s->node_id));
        cd_bytes next =
            cd_bytes_str(cd_arena_fmt(&p->a, "%.*s?from=%zu", (int)own.n, (const char *)own.p, (usize)first + cnt));
        cd_html_put(&p->h, "<footer><span></span>");
        cd_ui_pager(&p->h, first == 0 ? (cd_bytes){0} : own, more ? next : (cd_bytes){0});
        cd_html_put(&p->h, "</footer></section>");
    }
    cd_p_staker_iter_fini(&it);
}

static void period(cd__pp *p, const cd_p_staker *s)
{
    u64 span = s->end > s->start ? s->end - s->start : 1;
    u64 gone = p->now_s > s->start ? cd_min_u64(p->now_s - s->start, span) : 0;
    cd_html_put(&p->h, "<dt>Time left</dt><dd>{} ", cd_fmt_duration(&p->a, (span - gone) * 1000));
    cd_html_put(&p->h, "<span class=\"mut\">{} of the period gone</span>", cd_fmt_percent(&p->a, gone, span));
    cd_chart_meter(&p->h, gone, span, 4);
    cd_html_put(&p->h, "</dd>");
    cd__pp_pair_time(p, "From", s->start);
    cd__pp_pair_time(p, "Until", s->end);
}

static void validator_details(cd__pp *p, const cd__pp_validator *v)
{
    const cd_p_staker *s = &v->staker;
    u64 up;
    u64 whole;
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Details</h2></header><div class=\"body\"><dl class=\"kv\">"
                       "<dt>Own stake</dt><dd>");
    cd__pp_native(p, s->weight);
    cd_html_put(&p->h, "</dd><dt>Delegated</dt><dd>");
    cd__pp_native(p, v->delegated.weight);
    cd_html_put(&p->h, " <span class=\"mut\">by {}</span></dd>", cd_fmt_count(&p->a, v->delegated.cnt));
    period(p, s);
    cd_html_put(&p->h, "<dt>Reward at most</dt><dd>");
    cd__pp_native(p, s->potential_reward);
    cd_html_put(&p->h, "</dd>");
    if (cd_uptime_get(p->p.uptime, &up, &whole, s) == CD_OK) {
        cd_html_put(&p->h, "<dt>Uptime</dt><dd>{} <span class=\"mut\">as this node saw it, {} now</span></dd>",
                    whole == 0 ? cd_bytes_str("100.00 %") : cd_fmt_percent(&p->a, up, whole),
                    cd_uptime_is_connected(p->p.uptime, &s->node_id) ? "connected" : "not connected");
    }
    if (s->has_key) {
        u8 key[48];
        cd_buf hex = {0};
        cd_bls_pk_compress(key, s->key);
        cd_buf_str(&hex, "0x");
        for (usize i = 0; i < sizeof key; i++) {
            cd_buf_fmt(&hex, "%02x", key[i]);
        }
        cd_html_put(&p->h, "<dt>BLS key</dt><dd>");
        cd_ui_ident(&p->h, &(cd_ui_id){.text = cd_arena_dup(&p->a, cd_buf_bytes(&hex)), .flags = CD_ID_COPY});
        cd_html_put(&p->h, "</dd>");
        cd_buf_fini(&hex);
    }
    cd_html_put(&p->h, "<dt>Added in</dt><dd>");
    cd__pp_tx_id(p, CD_PRIMARY_P, &s->tx_id, CD_ID_COPY);
    cd_html_put(&p->h, "</dd></dl></div></section>");
}

void cd__pp_validator_page(cd__pp *p, cd_bytes rest)
{
    cd_node_id node;
    cd__pp_validator v = {.delegated = {.cnt = 0}};
    bool is_pending = false;
    cd_err e = cd_node_id_parse(&node, rest, NULL) == CD_OK ? CD_OK : CD_ENOENT;
    if (e == CD_OK) {
        e = cd_pstate_validator_get(&p->p.state, &v.staker, CD_P_CURRENT, &primary, &node);
        if (e == CD_ENOENT) {
            is_pending = true;
            e = cd_pstate_validator_get(&p->p.state, &v.staker, CD_P_PENDING, &primary, &node);
        }
    }
    if (e == CD_OK) {
        e = cd_pstate_delegated_get(&p->p.state, &v.delegated, is_pending ? CD_P_PENDING : CD_P_CURRENT, &primary,
                                    &node);
    }
    if (e == CD_ENOENT) {
        cd__pp_missing(
            p, "No validator", cd_foreign_of(rest),
            "validates the primary network now. Nodes that validate only an L1 stand on its network's page.");
        return;
    }
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    p->title = cd_bytes_str("Validator");
    p->tab = p->m->tabs[CD_PRIMARY_P][2].href;
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\">");
    cd__pp_crumbs(p, "validators", "Validators");
    cd_html_put(&p->h, "<h1>Validator</h1>");
    cd__pp_node(p, &node, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(&p->h, "</div>");
    cd_ui_pill(&p->h, is_pending ? CD_PILL_NEUTRAL : CD_PILL_OK, cd_bytes_str(is_pending ? "Pending" : "Validates"));
    cd_html_put(&p->h, "</div><p class=\"say\">Has <b>");
    cd__pp_native(p, stake_of(&v));
    cd_html_put(&p->h, "</b> at stake, its own and delegated, until <b>{}</b>.</p>", cd_fmt_utc(&p->a, v.staker.end));
    validator_details(p, &v);
    delegators(p, &v.staker);
}
