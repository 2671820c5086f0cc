/* Who makes blocks final: signatures as they arrive, the newest certificates, and how anybody checks one. */
#include "explorer/explorer_priv.h"
#include "web/chart.h"

static u64 number(cd_json v, const char *key)
{
    u64 n;
    return cd_json_u64(&n, cd_json_get(v, key), NULL) == CD_OK ? n : 0;
}

static bool is(cd_json v, const char *key)
{
    bool b = false;
    (void)!cd_json_bool(&b, cd_json_get(v, key), NULL);
    return b;
}

u64 cd__final_mark(cd__xp *p)
{
    const cd_explorer_cfg *cfg = &p->x->cfg;
    return cfg->finality == NULL ? 0 : cfg->finality(cfg->ctx, NULL);
}

const char *cd__xp_final_href(cd__xp *p)
{
    return p->final.is_told && p->x->cfg.finality != NULL ? cd_arena_fmt(&p->a, "%s/finality", p->x->root) : NULL;
}

static void figures(cd__xp *p, cd_json v)
{
    u64 cnt = number(v, "validators");
    u64 keyed = number(v, "keyed");
    u64 head = cd_view_head(p->view)->block.header.number;
    cd_bytes behind = cd_fmt_count(&p->a, head - cd_min_u64(head, p->final.quantum));
    bool is_first = number(v, "epoch") == 0;
    const cd_ui_fig figs[] = {
        {.label = "BLS-final",
         .value = cd_fmt_count(&p->a, p->final.bls),
         .unit = "",
         .sub = cd_bytes_str("two thirds of the stake signed")},
        {.label = "Quantum-final",
         .value = cd_fmt_count(&p->a, p->final.quantum),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&p->a, "%.*s below the newest", (int)behind.n, (const char *)behind.p))},
        {.label = "Validators",
         .value = cd_fmt_count(&p->a, cnt),
         .unit = "",
         .sub = keyed == cnt ? cd_bytes_str("all with keys of both kinds")
                             : cd_bytes_str(cd_arena_fmt(&p->a, "%llu without an ML-DSA key",
                                                         (unsigned long long)(cnt - keyed)))},
        {.label = "Epoch",
         .value = cd_fmt_count(&p->a, number(v, "epoch")),
         .unit = "",
         .sub = cd_bytes_str(is_first               ? "the first set"
                             : is(v, "isSetSigned") ? "signed by the set before"
                                                    : "not signed by the set before yet")},
        {.label = "Second signature",
         .value = cd_bytes_str(is(v, "hasGroup") ? "Threshold" : "ML-DSA"),
         .unit = "",
         .sub = cd_bytes_str(is(v, "hasGroup") ? "by the group's key" : "each for itself")},
    };
    cd_ui_figs(&p->h, figs, CD_COUNT(figs));
}

/* Names of those who have not signed; nothing is said of sets that are gone. */
static void missing(cd__xp *p, cd_json list)
{
    cd_html *h = &p->h;
    bool any = false;
    if (!cd_json_has(list)) {
        cd_html_put(h, "<span class=\"mut\">of an earlier set</span>");
        return;
    }
    cd_json_it it = cd_json_iter(list);
    while (cd_json_next(&it)) {
        cd_bytes node;
        if (cd_json_str(&node, it.val, NULL) == CD_OK) {
            if (any) {
                cd_html_put(h, "<br>");
            }
            cd_ui_ident(h,
                        &(cd_ui_id){.text = node,
                                    .href = p->x->cfg.primary == NULL
                                                ? (cd_bytes){0}
                                                : cd_bytes_str(cd_arena_fmt(&p->a, CD_EXPLORER_ROOT "/P/validator/%.*s",
                                                                            (int)node.n, (const char *)node.p)),
                                    .flags = CD_ID_GLINT});
            any = true;
        }
    }
    if (!any) {
        cd_html_put(h, "<span class=\"mut\">nobody</span>");
    }
}

/* --- arriving --- */

static const cd_ui_col now_cols[] = {
    {.name = "Height"},
    {.name = "BLS shares", .flags = CD_COL_NUM},
    {.name = "Second signature", .flags = CD_COL_NUM},
    {.name = "Missing", .flags = CD_COL_P2},
};

static void count_of(cd__xp *p, u64 part, u64 whole, const char *what)
{
    cd_html_put(&p->h, "{} of {} <span class=\"mut\">{}</span>", cd_fmt_count(&p->a, part), cd_fmt_count(&p->a, whole),
                what);
    cd_chart_meter(&p->h, part, whole, 1);
}

static void now_row(cd__xp *p, cd_json r, u64 cnt)
{
    cd_html *h = &p->h;
    u64 parties = number(r, "parties");
    bool is_known = cd_json_has(cd_json_get(r, "missing"));
    cd_html_put(h, "<tr><td>");
    cd__xp_height(p, number(r, "height"));
    cd_html_put(h, "</td><td class=\"num\">");
    if (is_known) {
        count_of(p, number(r, "shares"), cnt, "");
    } else {
        cd_html_put(h, "{}", CD_FMT_NONE);
    }
    cd_html_put(h, "</td><td class=\"num\">");
    if (parties != 0) {
        bool is_second = number(r, "commits") == parties;
        count_of(p, number(r, is_second ? "answers" : "commits"), parties, is_second ? "answers" : "commitments");
    } else if (number(r, "stamps") != 0) {
        count_of(p, number(r, "stamps"), cnt, "ML-DSA");
    } else {
        cd_html_put(h, "<span class=\"mut\">{}</span>",
                    is(r, "final")    ? "final"
                    : is(r, "signed") ? "waits for its turn"
                                      : "behind BLS");
    }
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &now_cols[3]);
    missing(p, cd_json_get(r, "missing"));
    cd_html_put(h, "</td></tr>");
}

static void arriving(cd__xp *p, cd_json v)
{
    bool any = false;
    cd_html *h = &p->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Signatures of the newest blocks</h2></header>");
    cd_json_it it = cd_json_iter(cd_json_get(v, "now"));
    while (cd_json_next(&it)) {
        if (!any) {
            cd_ui_table_begin(h, "Signatures of the newest blocks", now_cols, CD_COUNT(now_cols), NULL, NULL);
        }
        any = true;
        now_row(p, it.val, number(v, "validators"));
    }
    if (any) {
        cd_ui_table_end(h);
    } else {
        cd_ui_empty(h, "Nothing to sign yet", "Signatures arrive here with the next block.", (cd_markup){0});
    }
    cd_html_put(h, "</section>");
}

/* --- certificates --- */

static const cd_ui_col cert_cols[] = {
    {.name = "Height"},
    {.name = "Certificate"},
    {.name = "Block's age", .flags = CD_COL_P2},
    {.name = "Stake that signed", .flags = CD_COL_NUM},
    {.name = "Missing", .flags = CD_COL_P2},
};

static void cert_row(cd__xp *p, cd_json c)
{
    cd_html *h = &p->h;
    u64 type = number(c, "type");
    cd_html_put(h, "<tr><td>");
    cd__xp_height(p, number(c, "height"));
    cd_html_put(h, "</td><td>{}<span class=\"sub\">type {}",
                type == 0   ? "BLS"
                : type == 2 ? "BLS and threshold"
                            : "BLS and ML-DSA",
                type);
    if (type == 2) {
        cd_html_put(h, ", {} parties", number(c, "parties"));
    } else if (type == 3) {
        cd_html_put(h, ", {} signatures", number(c, "stamps"));
    }
    cd_html_put(h, "</span></td>");
    cd_ui_cell(h, &cert_cols[2]);
    cd_ui_time(h, &p->a, number(c, "time"), p->now_s);
    cd_html_put(h, "</td><td class=\"num\">{}", cd_fmt_percent(&p->a, number(c, "signedBy"), number(c, "total")));
    cd_chart_meter(h, number(c, "signedBy"), number(c, "total"), 1);
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cert_cols[4]);
    missing(p, cd_json_get(c, "missing"));
    cd_html_put(h, "</td></tr>");
}

static void certificates(cd__xp *p, cd_json v)
{
    bool any = false;
    cd_html *h = &p->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Certificates</h2></header>");
    cd_json_it it = cd_json_iter(cd_json_get(v, "recent"));
    while (cd_json_next(&it)) {
        if (!any) {
            cd_ui_table_begin(h, "Certificates", cert_cols, CD_COUNT(cert_cols), NULL, NULL);
        }
        any = true;
        cert_row(p, it.val);
    }
    if (any) {
        cd_ui_table_end(h);
        cd_html_put(h, "<footer><span>A certificate stands for all blocks before it, too. Who signed after two thirds "
                       "had is not in it.</span></footer>");
    } else {
        cd_ui_empty(h, "No certificates yet", "Two thirds of the stake have signed nothing since the start.",
                    (cd_markup){0});
    }
    cd_html_put(h, "</section>");
}

static void check_it(cd__xp *p)
{
    cd_html *h = &p->h;
    cd_bytes host = cd_http_req_header(p->req, "host");
    cd_html_put(h, "<section class=\"panel\"><header><h2>Check it yourself</h2></header><div class=\"body\"><p "
                   "class=\"mut\">With a checkpoint from where you trust it, nothing that this node says has to be "
                   "believed:</p>");
    const char *text =
        cd_arena_fmt(&p->a, "candela-cli finality verify %s/%llu \\\n  --checkpoint=FILE --rpc=http://%.*s",
                     p->x->cfg.chain_name, (unsigned long long)p->final.quantum, (int)host.n, (const char *)host.p);
    cd_ui_code(h, cd_bytes_str(text), "command");
    cd_html_put(h, "</div></section>");
}

void cd__xp_finality(cd__xp *p)
{
    const cd_explorer_cfg *cfg = &p->x->cfg;
    const char *live = cd__xp_live(p, CD__LIVE_FINAL);
    cd_buf doc = {0};
    cd_json v = {0};
    cd_html *h = &p->h;
    u64 mark = cfg->finality == NULL ? 0 : cfg->finality(cfg->ctx, &doc);
    p->title = cd_bytes_str("Finality");
    cd_html_put(h, "<div class=\"head\"><h1 class=\"grow\">Finality</h1>");
    if (mark == 0 || cd_json_parse(&v, &p->a, cd_buf_bytes(&doc), 0, NULL) != CD_OK) {
        cd_html_put(h, "</div><section class=\"panel\">");
        cd_ui_empty(h, "Blocks are not made final here",
                    "A node that decides alone, or without validators, signs none.", (cd_markup){0});
        cd_html_put(h, "</section>");
        cd_buf_fini(&doc);
        return;
    }
    p->is_live = true;
    cd__xp_live_pill(p, cd__xp_final_href(p) == NULL ? p->x->root : cd__xp_final_href(p));
    cd_html_put(h, "</div><div class=\"stack\" data-fresh=\"{}\">", live == NULL ? "" : live);
    figures(p, v);
    arriving(p, v);
    certificates(p, v);
    check_it(p);
    cd_html_put(h, "</div>");
    cd_buf_fini(&doc);
}
