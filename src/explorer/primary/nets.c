/* Networks of the P-Chain: subnets, L1s with their validators, and their chains. */
#include "chains/platform/l1/gather.h"
#include "explorer/primary/primary_priv.h"

enum { NETS_MAX = 1000, CHAINS_MAX = 64, SOON_S = 7 * 86400 };

/* --- the list --- */

static const char *kind_of(cd__pp *p, const cd_hash32 *net)
{
    cd_p_conversion c;
    return cd_pstate_conversion_get(&p->p.state, &c, &p->a, net) == CD_OK ? "L1" : "With permission";
}

/* The cell of a list: of an L1 how long the first balance lasts, or that it stands still. */
static void first_end(cd__pp *p, const cd_hash32 *net, const cd_ui_col *col)
{
    cd_l1_facts f;
    cd_l1_member *v;
    cd_l1_health h;
    cd_arena_mark mark = cd_arena_mark_get(&p->a);
    cd_ui_cell(&p->h, col);
    if (cd_l1_gather(&f, &v, &p->a, &p->p.state, &p->p.rules->l1, net, p->now_s) != CD_OK) {
        cd_html_put(&p->h, "{}</td>", CD_FMT_NONE);
        return;
    }
    cd_l1_look_around(&f, v, p->p.uptime);
    cd_l1_diagnose(&h, &p->a, &f);
    if (h.standing.state == CD_L1_HALTS) {
        cd_ui_pill(&p->h, CD_PILL_BAD, cd_bytes_str("Halted"));
    } else if (h.outlook.first_s <= SOON_S) {
        cd_ui_pill(&p->h, CD_PILL_WARN, cd_bytes_str(cd_l1_span_text(&p->a, h.outlook.first_s)));
    } else {
        cd_html_put(&p->h, "{}", cd_bytes_str(cd_l1_span_text(&p->a, h.outlook.first_s)));
    }
    cd_html_put(&p->h, "</td>");
    cd_arena_rewind(&p->a, mark);
}

void cd__pp_nets(cd__pp *p)
{
    static const cd_ui_col cols[] = {{.name = "Network"},
                                     {.name = "Kind"},
                                     {.name = "First balance ends in", .flags = CD_COL_P2},
                                     {.name = "Chains", .flags = CD_COL_FILL}};
    cd_hash32 *nets;
    usize cnt;
    bool more;
    cd_err e = cd_pstate_nets(&p->p.state, &nets, &cnt, &more, &p->a, NETS_MAX);
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    usize first = cd_min_u64(cd__pp_query_number(p, "from"), cnt);
    usize end = cd_min_u64(first + CD__PP_PAGE, cnt);
    p->title = cd_bytes_str("Networks");
    p->tab = p->m->tabs[CD_PRIMARY_P][3].href;
    cd_html_put(&p->h, "<h1>Networks</h1><section class=\"panel\" aria-label=\"Networks\">");
    if (cnt == 0) {
        cd_ui_empty(&p->h, "No networks yet", "A transaction that creates one puts it here.", (cd_markup){0});
    } else {
        cd_ui_table_begin(&p->h, "Networks", cols, CD_COUNT(cols), NULL, NULL);
    }
    for (usize i = first; i < end; i++) {
        cd_p_chain *chains;
        usize chain_cnt = 0;
        bool others = false;
        cd_html_put(&p->h, "<tr><td>");
        cd__pp_net(p, &nets[i]);
        cd_html_put(&p->h, "</td><td>{}</td>", kind_of(p, &nets[i]));
        first_end(p, &nets[i], &cols[2]);
        cd_html_put(&p->h, "<td>");
        if (cd_pstate_chains(&p->p.state, &chains, &chain_cnt, &others, &p->a, &nets[i], 3) == CD_OK) {
            for (usize k = 0; k < chain_cnt; k++) {
                cd_html_put(&p->h, "{}<a href=\"{}\">{}</a>", k == 0 ? "" : ", ",
                            cd__pp_href(p, CD_PRIMARY_P, "chain", cd__pp_id_text(p, &chains[k].id)),
                            cd_foreign_of(cd_bytes_str(chains[k].name)));
            }
            cd_html_put(&p->h, "{}", others ? ", …" : chain_cnt == 0 ? CD_FMT_NONE : "");
        }
        cd_html_put(&p->h, "</td></tr>");
    }
    if (cnt != 0) {
        cd_ui_table_end(&p->h);
        cd_html_put(&p->h, "<footer><span>{}{} in all, newest first</span>", cd_fmt_count(&p->a, cnt), more ? "+" : "");
        cd_bytes next = {0};
        if (end < cnt) {
            next = cd_bytes_str(cd_arena_fmt(&p->a, "%s?from=%zu", p->tab, end));
        }
        cd_ui_pager(&p->h, first == 0 ? (cd_bytes){0} : cd_bytes_str(p->tab), next);
        cd_html_put(&p->h, "</footer>");
    }
    cd_html_put(&p->h, "</section>");
}

/* --- one network --- */

static void l1_row(cd__pp *p, const cd_p_l1 *v, u64 accrued, u64 price)
{
    static const cd_ui_col state = {.name = "State", .flags = CD_COL_P2};
    u64 balance = v->end_fee > accrued ? v->end_fee - accrued : 0;
    bool ends_soon = balance != 0 && price != 0 && balance / price <= SOON_S;
    cd_html_put(&p->h, "<tr><td>");
    cd__pp_node(p, &v->node_id, 0);
    cd_html_put(&p->h, "<span class=\"sub\">");
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &v->validation_id)});
    cd_html_put(&p->h, "</span></td><td class=\"num\">{}</td><td class=\"num\">", cd_fmt_count(&p->a, v->weight));
    cd__pp_native(p, balance);
    if (balance == 0) {
        cd_html_put(&p->h, "<span class=\"sub\">inactive</span>");
    } else if (price != 0) {
        u64 left = cd_min_u64(balance / price, UINT64_MAX / 2000);
        cd_html_put(&p->h, "<span class=\"sub\">for {}</span>", cd_fmt_duration(&p->a, left * 1000));
    }
    cd_html_put(&p->h, "</td>");
    cd_ui_cell(&p->h, &state);
    cd_ui_pill(&p->h,
               ends_soon         ? CD_PILL_WARN
               : v->end_fee != 0 ? CD_PILL_OK
                                 : CD_PILL_NEUTRAL,
               cd_bytes_str(ends_soon         ? "Ends soon"
                            : v->end_fee != 0 ? "Active"
                                              : "Inactive"));
    cd_html_put(&p->h, "</td></tr>");
}

/* Whether it goes on, for how long, and what is wrong, each with what helps. */
static void l1_health(cd__pp *p, const cd_hash32 *net)
{
    static const cd_pill pills[] = {
        [CD_L1_NOTE] = CD_PILL_NEUTRAL, [CD_L1_WARNING] = CD_PILL_WARN, [CD_L1_HALT] = CD_PILL_BAD};
    static const char *const words[] = {[CD_L1_NOTE] = "Note", [CD_L1_WARNING] = "Warning", [CD_L1_HALT] = "Halted"};
    cd_l1_facts f;
    cd_l1_member *v;
    cd_l1_health h;
    if (cd_l1_gather(&f, &v, &p->a, &p->p.state, &p->p.rules->l1, net, p->now_s) != CD_OK) {
        return; /* more validators than are looked at; the list tells them */
    }
    f.within_s = SOON_S;
    cd_l1_look_around(&f, v, p->p.uptime);
    cd_l1_diagnose(&h, &p->a, &f);
    cd_html_put(&p->h,
                "<section class=\"panel\"><header><h2>Health</h2></header><div class=\"body\"><dl class=\"kv\">");
    cd__pp_pair(p, "Quorum", cd_bytes_str(cd_l1_stand_text(&p->a, &h.standing, f.cnt)));
    cd__pp_pair(p, "First balance ends in", cd_bytes_str(cd_l1_span_text(&p->a, h.outlook.first_s)));
    for (usize i = 0; i < h.finding_cnt; i++) {
        const cd_l1_finding *x = &h.findings[i];
        cd_html_put(&p->h, "<dt>");
        cd_ui_pill(&p->h, pills[x->severity], cd_bytes_str(words[x->severity]));
        cd_html_put(&p->h, "</dt><dd>{}<span class=\"sub\">{}</span></dd>", cd_bytes_str(x->text),
                    cd_bytes_str(x->help));
    }
    cd_html_put(&p->h, "</dl></div></section>");
}

static void l1_validators(cd__pp *p, const cd_hash32 *net)
{
    static const cd_ui_col cols[] = {{.name = "Node"},
                                     {.name = "Weight", .flags = CD_COL_NUM},
                                     {.name = "Balance", .flags = CD_COL_NUM},
                                     {.name = "State", .flags = CD_COL_P2}};
    cd_p_l1 *v;
    usize cnt = 0;
    u64 accrued = 0;
    u64 excess = 0;
    cd_hash32 after = {{0}};
    cd_bytes from = cd__pp_query(p, "after", 64);
    if (from.n != 0 && cd_id_parse(&after, from, NULL) != CD_OK) {
        after = (cd_hash32){{0}};
    }
    cd_err e = cd_pstate_l1_of_net(&p->p.state, &v, &cnt, &p->a, net, &after, CD__PP_PAGE + 1);
    e = e != CD_OK ? e : cd_pstate_num_get(&p->p.state, &accrued, CD_PSTATE_ACCRUED_FEES);
    e = e != CD_OK ? e : cd_pstate_num_get(&p->p.state, &excess, CD_PSTATE_L1_EXCESS);
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    u64 price = cd_gas_price(p->p.rules->l1.min_price, excess, p->p.rules->l1.k);
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Validators</h2></header>");
    if (cnt == 0) {
        cd_ui_empty(&p->h, "No validators", "The last one was removed.", (cd_markup){0});
        cd_html_put(&p->h, "</section>");
        return;
    }
    bool more = cnt > CD__PP_PAGE;
    cnt = more ? CD__PP_PAGE : cnt;
    cd_ui_table_begin(&p->h, "Validators", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        l1_row(p, &v[i], accrued, price);
    }
    cd_ui_table_end(&p->h);
    cd_bytes own = cd__pp_href(p, CD_PRIMARY_P, "network", cd__pp_id_text(p, net));
    cd_bytes last = cd__pp_id_text(p, &v[cnt - 1].validation_id);
    cd_bytes next = cd_bytes_str(
        cd_arena_fmt(&p->a, "%.*s?after=%.*s", (int)own.n, (const char *)own.p, (int)last.n, (const char *)last.p));
    cd_html_put(&p->h, "<footer><span>each pays {} base {} a second</span>", cd_fmt_count(&p->a, price),
                price == 1 ? "unit" : "units");
    cd_ui_pager(&p->h, from.n == 0 ? (cd_bytes){0} : own, more ? next : (cd_bytes){0});
    cd_html_put(&p->h, "</footer></section>");
}

static void stakers(cd__pp *p, const cd_hash32 *net)
{
    static const cd_ui_col cols[] = {
        {.name = "Node"}, {.name = "Weight", .flags = CD_COL_NUM}, {.name = "Ends", .flags = CD_COL_NUM}};
    cd_p_staker_iter it;
    cd_p_staker s;
    u64 first = cd__pp_query_number(p, "from");
    u64 seen = 0;
    usize cnt = 0;
    bool more = false;
    if (cd_pstate_stakers_of_net(&p->p.state, &it, CD_P_CURRENT, net) != CD_OK) {
        return;
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Validators</h2></header>");
    while (!more && cd_p_staker_next(&it, &s)) {
        if (cd_p_priority_delegates(s.priority) || seen++ < first) {
            continue;
        }
        more = cnt == CD__PP_PAGE;
        if (more) {
            break;
        }
        if (cnt++ == 0) {
            cd_ui_table_begin(&p->h, "Validators", cols, CD_COUNT(cols), NULL, NULL);
        }
        cd_html_put(&p->h, "<tr><td>");
        cd__pp_node(p, &s.node_id, 0);
        cd_html_put(&p->h, "</td><td class=\"num\">{}</td><td class=\"num\">", cd_fmt_count(&p->a, s.weight));
        cd_ui_time(&p->h, &p->a, s.end, p->now_s);
        cd_html_put(&p->h, "</td></tr>");
    }
    cd_p_staker_iter_fini(&it);
    if (cnt == 0) {
        cd_ui_empty(&p->h, "No validators", "Nobody validates this network now.", (cd_markup){0});
    } else {
        cd_bytes own = cd__pp_href(p, CD_PRIMARY_P, "network", cd__pp_id_text(p, net));
        cd_bytes next =
            cd_bytes_str(cd_arena_fmt(&p->a, "%.*s?from=%zu", (int)own.n, (const char *)own.p, (usize)first + cnt));
        cd_ui_table_end(&p->h);
        cd_html_put(&p->h, "<footer><span></span>");
        cd_ui_pager(&p->h, first == 0 ? (cd_bytes){0} : own, more ? next : (cd_bytes){0});
        cd_html_put(&p->h, "</footer>");
    }
    cd_html_put(&p->h, "</section>");
}

static void chains_of(cd__pp *p, const cd_hash32 *net)
{
    static const cd_ui_col cols[] = {
        {.name = "Chain"}, {.name = "ID"}, {.name = "Virtual machine", .flags = CD_COL_P2}};
    cd_p_chain *chains;
    usize cnt = 0;
    bool more;
    if (cd_pstate_chains(&p->p.state, &chains, &cnt, &more, &p->a, net, CHAINS_MAX) != CD_OK || cnt == 0) {
        return;
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Chains</h2></header>");
    cd_ui_table_begin(&p->h, "Chains", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        cd_bytes id = cd__pp_id_text(p, &chains[i].id);
        cd_html_put(&p->h, "<tr><td><a href=\"{}\">{}</a></td><td>", cd__pp_href(p, CD_PRIMARY_P, "chain", id),
                    cd_foreign_of(cd_bytes_str(chains[i].name)));
        cd_ui_ident(&p->h, &(cd_ui_id){.text = id, .flags = CD_ID_COPY});
        cd_html_put(&p->h, "</td>");
        cd_ui_cell(&p->h, &cols[2]);
        cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &chains[i].vm_id)});
        cd_html_put(&p->h, "</td></tr>");
    }
    cd_ui_table_end(&p->h);
    if (more) {
        cd_html_put(&p->h, "<footer><span>The newest {}</span></footer>", (u64)CHAINS_MAX);
    }
    cd_html_put(&p->h, "</section>");
}

static void net_details(cd__pp *p, const cd_hash32 *net, const cd_owners *owner, const cd_p_conversion *c)
{
    cd_html_put(&p->h,
                "<section class=\"panel\"><header><h2>Details</h2></header><div class=\"body\"><dl class=\"kv\">");
    cd__pp_pair(p, "Kind", cd_bytes_str(kind_of(p, net)));
    cd__pp_pair_owners(p, CD_PRIMARY_P, "Owner", owner);
    cd_html_put(&p->h, "<dt>Created in</dt><dd>");
    cd__pp_tx_id(p, CD_PRIMARY_P, net, CD_ID_COPY);
    cd_html_put(&p->h, "</dd>");
    if (c != NULL) {
        cd_buf hex = {0};
        cd_buf_str(&hex, "0x");
        for (usize i = 0; i < c->address.n && i < 4096; i++) {
            cd_buf_fmt(&hex, "%02x", c->address.p[i]);
        }
        cd_html_put(&p->h, "<dt>Manager</dt><dd>");
        cd_ui_ident(&p->h, &(cd_ui_id){.text = cd_arena_dup(&p->a, cd_buf_bytes(&hex)), .flags = CD_ID_COPY});
        cd_html_put(&p->h, "</dd><dt>Its chain</dt><dd>");
        cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &c->chain_id),
                                       .href = cd__pp_href(p, CD_PRIMARY_P, "chain", cd__pp_id_text(p, &c->chain_id))});
        cd_html_put(&p->h, "</dd>");
        cd_buf_fini(&hex);
    }
    cd_html_put(&p->h, "</dl></div></section>");
}

void cd__pp_net_page(cd__pp *p, cd_bytes rest)
{
    cd_hash32 net;
    cd_owners owner;
    cd_p_conversion c;
    cd_err e = cd_id_parse(&net, rest, NULL) == CD_OK ? CD_OK : CD_ENOENT;
    e = e != CD_OK ? e : cd_pstate_net_owner_get(&p->p.state, &owner, &p->a, &net);
    if (e == CD_ENOENT) {
        cd__pp_missing(p, "No network", cd_foreign_of(rest), "was created on this P-Chain.");
        return;
    }
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    bool is_l1 = cd_pstate_conversion_get(&p->p.state, &c, &p->a, &net) == CD_OK;
    p->title = cd_bytes_str(is_l1 ? "L1" : "Network");
    p->tab = p->m->tabs[CD_PRIMARY_P][3].href;
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\">");
    cd__pp_crumbs(p, "networks", "Networks");
    cd_html_put(&p->h, "<h1>{}</h1>", is_l1 ? "L1" : "Network");
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &net), .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE});
    cd_html_put(&p->h, "</div></div>");
    net_details(p, &net, &owner, is_l1 ? &c : NULL);
    if (is_l1) {
        l1_health(p, &net);
        l1_validators(p, &net);
    } else {
        stakers(p, &net);
    }
    chains_of(p, &net);
}

/* --- one chain --- */

void cd__pp_chain_page(cd__pp *p, cd_bytes rest)
{
    cd_hash32 id;
    cd_p_chain c;
    cd_err e = cd_id_parse(&id, rest, NULL) == CD_OK ? CD_OK : CD_ENOENT;
    e = e != CD_OK ? e : cd_pstate_chain_get(&p->p.state, &c, &id);
    if (e == CD_ENOENT) {
        cd__pp_missing(p, "No chain", cd_foreign_of(rest), "was created on this P-Chain.");
        return;
    }
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    cd_primary_chain own = cd__pp_chain_of(p, &id);
    p->title = cd_bytes_str("Chain");
    p->tab = p->m->tabs[CD_PRIMARY_P][3].href;
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\">");
    cd__pp_crumbs(p, "networks", "Networks");
    cd_html_put(&p->h, "<h1>{}</h1>", cd_foreign_of(cd_bytes_str(c.name)));
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &id), .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE});
    cd_html_put(&p->h, "</div></div><p class=\"say\">A chain of ");
    cd__pp_net(p, &c.net_id);
    if (own == CD_PRIMARY_X || own == CD_PRIMARY_C) {
        cd_html_put(&p->h, ". Its pages are <a href=\"{}\">here</a>.</p>",
                    own == CD_PRIMARY_C ? cd_bytes_str(p->m->cfg.root) : cd_bytes_str(p->m->sites[own].home));
    } else {
        cd_html_put(&p->h,
                    ". A node that tracks it serves its methods at <code>/v1/bc/{}</code>; its blocks have pages "
                    "only where its virtual machine is known here.</p>",
                    cd__pp_id_text(p, &id));
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Details</h2></header><div class=\"body\"><dl class=\"kv\">"
                       "<dt>Virtual machine</dt><dd>");
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &c.vm_id), .flags = CD_ID_COPY});
    cd_html_put(&p->h, "</dd><dt>Created in</dt><dd>");
    cd__pp_tx_id(p, CD_PRIMARY_P, &id, CD_ID_COPY);
    cd_html_put(&p->h, "</dd></dl></div></section>");
}
