/* The node behind the pages: how it is, what it uses. Written on the loop, for that is where its state is told. */
#include "base/version.h"
#include "explorer/explorer_priv.h"

static u64 number(cd_json state, const char *key)
{
    u64 v;
    return cd_json_u64(&v, cd_json_get(state, key), NULL) == CD_OK ? v : 0;
}

static cd_bytes text(cd_json v, const char *key)
{
    cd_bytes t;
    return cd_json_str(&t, cd_json_get(v, key), NULL) == CD_OK ? t : (cd_bytes){0};
}

static void figures(cd__xp *p, cd_json state)
{
    bool in_memory = false;
    (void)!cd_json_bool(&in_memory, cd_json_get(state, "inMemory"), NULL);
    cd_bytes budget = cd_fmt_bytes(&p->a, number(state, "memoryBudget"));
    const cd_ui_fig figs[] = {
        {.label = "Up",
         .value = cd_fmt_duration(&p->a, number(state, "uptimeMs")),
         .unit = "",
         .sub = cd_bytes_str(CD_VERSION_STRING)},
        {.label = "Memory",
         .value = cd_fmt_bytes(&p->a, number(state, "memory")),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&p->a, "budget %.*s", (int)budget.n, (const char *)budget.p))},
        {.label = "Disk",
         .value = in_memory ? cd_bytes_str(CD_FMT_NONE) : cd_fmt_bytes(&p->a, number(state, "disk")),
         .unit = "",
         .sub = cd_bytes_str(in_memory ? "everything stays in memory" : "of the store")},
        {.label = "JSON-RPC",
         .value = cd_fmt_count(&p->a, number(state, "requests")),
         .unit = "",
         .sub = cd_bytes_str("requests since the start")},
        {.label = "Reads waiting",
         .value = cd_fmt_count(&p->a, number(state, "readsWaiting")),
         .unit = "",
         .sub = cd_bytes_str("for a thread")},
    };
    cd_ui_figs(&p->h, figs, CD_COUNT(figs));
}

static const cd_ui_col cols[] = {
    {.name = "Check"},
    {.name = "State"},
    {.name = "What it says", .flags = CD_COL_P2},
    {.name = "Took", .flags = CD_COL_NUM | CD_COL_P2},
};

static void check(cd__xp *p, cd_bytes name, cd_json v)
{
    cd_html *h = &p->h;
    cd_bytes error = text(v, "error");
    cd_buf message = {0};
    if (cd_json_has(cd_json_get(v, "message"))) {
        cd_json_raw(&message, cd_json_get(v, "message"));
    }
    cd_html_put(h, "<tr><td>{}", name);
    if (error.n != 0) {
        cd_html_put(h,
                    "<span class=\"sub any\">{}</span><span class=\"sub\">{} times in a row, since "
                    "{}</span>",
                    error, cd_fmt_count(&p->a, number(v, "contiguousFailures")), text(v, "timeOfFirstFailure"));
    }
    cd_html_put(h, "</td><td>");
    cd_ui_pill(h, error.n == 0 ? CD_PILL_OK : CD_PILL_BAD, cd_bytes_str(error.n == 0 ? "Healthy" : "Unhealthy"));
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[2]);
    cd_html_put(h, "<span class=\"sub mono any\">{}</span>", cd_buf_bytes(&message));
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[3]);
    cd_html_put(h, "{} µs</td></tr>", cd_fmt_count(&p->a, number(v, "duration") / 1000));
    cd_buf_fini(&message);
}

static void health(cd__xp *p, cd_json v)
{
    bool is_well = false;
    cd_html *h = &p->h;
    (void)!cd_json_bool(&is_well, cd_json_get(v, "healthy"), NULL);
    cd_html_put(h, "<section class=\"panel\"><header><h2>Health</h2><div class=\"end\">");
    cd_ui_pill(h, is_well ? CD_PILL_OK : CD_PILL_BAD, cd_bytes_str(is_well ? "Healthy" : "Unhealthy"));
    cd_html_put(h, "</div></header>");
    cd_ui_table_begin(h, "Health checks", cols, CD_COUNT(cols), NULL, NULL);
    cd_json_it it = cd_json_iter(cd_json_get(v, "checks"));
    while (cd_json_next(&it)) {
        check(p, it.key, it.val);
    }
    cd_ui_table_end(h);
    cd_html_put(h, "</section>");
}

static void facts(cd__xp *p)
{
    cd_html *h = &p->h;
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>Node</h2></header><div class=\"body\"><dl "
                "class=\"kv\"><dt>Version</dt><dd>{}</dd><dt>Network</dt><dd>{}</dd><dt>Chain "
                "id</dt><dd>{}</dd><dt>Height</dt><dd>",
                CD_VERSION_STRING, p->x->cfg.network, cd_view_rules(p->view)->chain_id);
    cd__xp_height(p, cd_view_head(p->view)->block.header.number);
    cd_html_put(h, "</dd><dt>Genesis</dt><dd>");
    cd_ui_ident(h, &(cd_ui_id){.text = cd__xp_hex(p, cd_bytes_of(cd_view_genesis(p->view)->b, 32)),
                               .href = cd__xp_block_href(p, 0),
                               .flags = CD_ID_COPY});
    cd_html_put(h,
                "</dd><dt>State</dt><dd>kept from block {} on</dd><dt>Peers</dt><dd>none <span "
                "class=\"mut\">this node decides alone</span></dd></dl></div></section>",
                cd_fmt_count(&p->a, cd_view_oldest_state(p->view)));
}

void cd__xp_node(cd__xp *p)
{
    const cd_explorer_cfg *cfg = &p->x->cfg;
    cd_buf doc = {0};
    cd_json state = {0};
    if (cfg->node_state != NULL) {
        cfg->node_state(cfg->ctx, &doc);
    }
    p->title = cd_bytes_str("Node");
    p->tab = p->x->tabs[CD__TAB_NODE].href;
    cd_html_put(&p->h, "<h1>Node</h1>");
    if (cd_json_parse(&state, &p->a, cd_buf_bytes(&doc), 0, NULL) == CD_OK) {
        figures(p, state);
        cd_html_put(&p->h, "<div class=\"cols side\">");
        health(p, cd_json_get(state, "health"));
    } else {
        cd_html_put(&p->h, "<div class=\"cols side\"><section class=\"panel\">");
        cd_ui_empty(&p->h, "No word from the node", "It does not say how it is.", (cd_markup){0});
        cd_html_put(&p->h, "</section>");
    }
    facts(p);
    cd_html_put(&p->h, "</div>");
    cd_buf_fini(&doc);
}
