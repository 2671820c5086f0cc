#include "sim/view.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "sim/view_priv.h"
#include "web/chart.h"
#include "web/fmt.h"
#include "web/page.h"
#include "web/serve.h"
#include "web/ui.h"

enum { NODES_SHOWN = 200, BLOCKS_SHOWN = 24, LINES_BEFORE = 14, LINES_BEHIND = 6, NUMBER_MAX = 20 };

struct cd_film_pages {
    cd_film *film;
    const char *name;
};

static const cd_page_site site = {.product = "Replay", .home = "/", .assets = "/assets/"};

cd_bytes cd__view_link(scene *v, u64 step, u32 node)
{
    const char *text = node == CD_FILM_NONE ? cd_arena_fmt(&v->a, "/?at=%llu", (unsigned long long)step)
                                            : cd_arena_fmt(&v->a, "/?at=%llu&node=%u", (unsigned long long)step, node);
    return cd_bytes_str(text);
}

cd_bytes cd__view_time(scene *v, u64 us)
{
    return cd_bytes_str(
        cd_arena_fmt(&v->a, "%llu.%06llu s", (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000)));
}

void cd__view_block(scene *v, u32 block)
{
    if (block == CD_FILM_NONE) {
        cd_html_put(&v->h, "<span class=\"mut\">none</span>");
        return;
    }
    const cd_film_block *b = cd_film_block_get(v->film, block);
    cd_html_put(&v->h, "<span class=\"mono\" title=\"block {} of height {}\">{}</span>", (const char *)b->id, b->height,
                cd_bytes_of(b->id, 8));
}

/* --- the way through the film --- */

static void step_link(scene *v, const char *label, const char *hint, u64 step)
{
    bool is_here = step == v->step;
    if (is_here) {
        cd_html_put(&v->h, "<span class=\"btn\" aria-disabled=\"true\">{}</span> ", label);
    } else {
        cd_html_put(&v->h, "<a class=\"btn\" href=\"{}\" title=\"{}\">{}</a> ", cd__view_link(v, step, v->node), hint,
                    label);
    }
}

static u64 back(u64 step, u64 by)
{
    return step > by ? step - by : 0;
}

static void jump(scene *v, const char *what, const char *kinds)
{
    u64 before = cd_film_find(v->film, v->step, false, kinds, v->node);
    u64 behind = cd_film_find(v->film, v->step, true, kinds, v->node);
    cd_html_put(&v->h, "<span class=\"mut\">{}</span> ", what);
    step_link(v, "‹", "the one before", before);
    step_link(v, "›", "the next one", behind);
}

static void controls(scene *v)
{
    u64 steps = cd_film_steps(v->film);
    cd_html_put(&v->h, "<section class=\"panel\"><div class=\"body\"><p>");
    step_link(v, "|‹", "the beginning", 0);
    step_link(v, "−1000", "a thousand lines back", back(v->step, 1000));
    step_link(v, "−100", "a hundred lines back", back(v->step, 100));
    step_link(v, "−1", "one line back", back(v->step, 1));
    step_link(v, "+1", "one line on", cd_min_u64(steps, v->step + 1));
    step_link(v, "+100", "a hundred lines on", cd_min_u64(steps, v->step + 100));
    step_link(v, "+1000", "a thousand lines on", cd_min_u64(steps, v->step + 1000));
    step_link(v, "›|", "the end", steps);
    cd_html_put(&v->h, "</p><p>");
    jump(v, "block built", "b");
    jump(v, "poll", "qQ");
    jump(v, "preference", "p");
    jump(v, "accepted", "a");
    jump(v, "world", "wud");
    jump(v, "violation", "!");
    cd_html_put(&v->h,
                "</p><form method=\"get\" action=\"/\"><label>line <input name=\"at\" inputmode=\"numeric\" "
                "value=\"{}\" size=\"12\"></label> of {} ",
                v->step, steps);
    cd_html_put(&v->h,
                "<label>node <input name=\"node\" inputmode=\"numeric\" value=\"{}\" size=\"6\"></label> "
                "<button class=\"btn\">Go</button></form></div></section>",
                v->node == CD_FILM_NONE ? "" : (const char *)cd_arena_fmt(&v->a, "%u", v->node));
}

/* --- the network --- */

static void figures(scene *v)
{
    u32 nodes = cd_film_nodes(v->film);
    u32 up = 0;
    u64 low = UINT64_MAX;
    u64 high = 0;
    for (u32 i = 0; i < nodes; i++) {
        up += v->s->nodes[i].is_up;
        low = cd_min_u64(low, v->s->nodes[i].height);
        high = cd_max_u64(high, v->s->nodes[i].height);
    }
    low = nodes == 0 ? 0 : low;
    const cd_ui_fig figs[] = {
        {.label = "Time", .value = cd__view_time(v, v->s->us), .unit = "", .sub = cd_bytes_str("virtual")},
        {.label = "Nodes up",
         .value = cd_fmt_count(&v->a, up),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&v->a, "of %u", nodes))},
        {.label = "Height",
         .value = cd_fmt_count(&v->a, high),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&v->a, "the lowest %llu", (unsigned long long)low))},
        {.label = "Violations",
         .value = cd_fmt_count(&v->a, v->s->violations),
         .unit = "",
         .sub = cd_bytes_str("until here")},
    };
    cd_ui_figs(&v->h, figs, CD_COUNT(figs));
}

static u32 confidence_of(const cd_film_node *n)
{
    for (u32 i = 0; i < n->undecided_cnt; i++) {
        if (n->undecided[i].block == n->preferred) {
            return n->undecided[i].confidence;
        }
    }
    return 0;
}

static void node_row(scene *v, u32 no)
{
    const cd_film_node *n = &v->s->nodes[no];
    bool is_liar;
    cd_bytes name = cd_film_node_name(v->film, no, &is_liar);
    cd_html_put(&v->h, "<tr><td><a href=\"{}\">{}</a> <span class=\"mut\" title=\"{}\">{}</span></td><td>",
                cd__view_link(v, v->step, no), no, name, is_liar ? "lies" : "");
    cd_ui_pill(&v->h, n->is_up ? CD_PILL_OK : CD_PILL_BAD, cd_bytes_str(n->is_up ? "up" : "down"));
    cd_html_put(&v->h, "</td><td class=\"num\">{}</td><td>", n->height);
    cd__view_block(v, n->preferred);
    cd_html_put(&v->h, "</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>",
                confidence_of(n), n->undecided_cnt, n->polls);
    cd_html_put(&v->h, "<td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>", n->votes,
                n->failures, n->messages);
}

static void node_table(scene *v)
{
    static const cd_ui_col cols[] = {
        {.name = "Node"},
        {.name = "State"},
        {.name = "Height", .flags = CD_COL_NUM},
        {.name = "Prefers"},
        {.name = "Confidence", .flags = CD_COL_NUM},
        {.name = "Undecided", .flags = CD_COL_NUM},
        {.name = "Polls", .flags = CD_COL_NUM},
        {.name = "Votes", .flags = CD_COL_NUM},
        {.name = "No answer", .flags = CD_COL_NUM},
        {.name = "Messages", .flags = CD_COL_NUM},
    };
    u32 cnt = cd_film_nodes(v->film);
    cd_html_put(&v->h, "<section class=\"panel\"><header><h2>Nodes</h2></header>");
    cd_ui_table_begin(&v->h, "Nodes at this moment", cols, CD_COUNT(cols), NULL, NULL);
    for (u32 i = 0; i < cnt && i < NODES_SHOWN; i++) {
        node_row(v, i);
    }
    cd_ui_table_end(&v->h);
    if (cnt > NODES_SHOWN) {
        cd_html_put(&v->h, "<p class=\"pad mut\">{} more: by number, above</p>", cnt - NODES_SHOWN);
    }
    cd_html_put(&v->h, "</section>");
}

static u32 preferred_by(const scene *v, u32 block)
{
    u32 cnt = 0;
    for (u32 i = 0; i < cd_film_nodes(v->film); i++) {
        cnt += v->s->nodes[i].is_up && v->s->nodes[i].preferred == block;
    }
    return cnt;
}

static void block_row(scene *v, u32 no)
{
    const cd_film_block *b = cd_film_block_get(v->film, no);
    const cd_film_fate *f = &v->s->fates[no];
    cd_html_put(&v->h, "<tr><td>");
    cd__view_block(v, no);
    cd_html_put(&v->h, "</td><td class=\"num\">{}</td><td>", b->height);
    cd__view_block(v, b->parent);
    cd_html_put(&v->h, "</td><td class=\"num\">{}</td>",
                b->maker == CD_FILM_NONE ? "" : (const char *)cd_arena_fmt(&v->a, "%u", b->maker));
    cd_html_put(&v->h, "<td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>", f->seen,
                preferred_by(v, no), f->accepted);
    cd_html_put(&v->h, "<td class=\"num\">{}</td><td class=\"num\">{}</td></tr>", f->rejected, f->refused);
}

/* Writes the table of the newest blocks that some node has seen by now, the newest first. */
static void block_table(scene *v)
{
    static const cd_ui_col cols[] = {
        {.name = "Block"},
        {.name = "Height", .flags = CD_COL_NUM},
        {.name = "Parent"},
        {.name = "By", .flags = CD_COL_NUM},
        {.name = "Seen", .flags = CD_COL_NUM},
        {.name = "Prefer", .flags = CD_COL_NUM},
        {.name = "Accepted", .flags = CD_COL_NUM},
        {.name = "Rejected", .flags = CD_COL_NUM},
        {.name = "Refused", .flags = CD_COL_NUM},
    };
    u32 shown = 0;
    cd_html_put(&v->h, "<section class=\"panel\"><header><h2>Blocks</h2></header>");
    cd_ui_table_begin(&v->h, "Blocks at this moment", cols, CD_COUNT(cols), NULL, NULL);
    for (u32 i = cd_film_blocks(v->film); i > 0 && shown < BLOCKS_SHOWN; i--) {
        const cd_film_fate *f = &v->s->fates[i - 1];
        if (f->seen + f->accepted + f->refused != 0) {
            block_row(v, i - 1);
            shown++;
        }
    }
    cd_ui_table_end(&v->h);
    cd_html_put(&v->h, "</section>");
}

/* --- lines --- */

static const char *meaning(char kind)
{
    switch (kind) {
    case 'n':
        return "is there";
    case 'u':
        return "starts";
    case 'd':
        return "stops";
    case 'b':
        return "builds";
    case 's':
        return "verifies";
    case 'x':
        return "refuses";
    case 'q':
        return "asks about";
    case 'Q':
        return "shows";
    case 'v':
        return "hears a vote";
    case 'f':
        return "hears nothing";
    case 'p':
        return "prefers";
    case 'c':
        return "is confident";
    case 'a':
        return "accepts";
    case 'r':
        return "rejects";
    case 'm':
        return "sends";
    case 'w':
        return "world";
    default:
        return "violation";
    }
}

static void line_table(scene *v)
{
    static const cd_ui_col cols[] = {{.name = "Line", .flags = CD_COL_NUM},
                                     {.name = "Time", .flags = CD_COL_NUM},
                                     {.name = "What"},
                                     {.name = "Words", .flags = CD_COL_FILL}};
    u64 from = back(v->step, LINES_BEFORE);
    u64 to = cd_min_u64(cd_film_steps(v->film), v->step + LINES_BEHIND);
    cd_html_put(&v->h, "<section class=\"panel\"><header><h2>Lines</h2></header>");
    cd_ui_table_begin(&v->h, "Lines of the record", cols, CD_COUNT(cols), NULL, NULL);
    for (u64 i = from; i < to; i++) {
        const cd_film_event *e = cd_film_event_get(v->film, i);
        cd_html_put(&v->h, "<tr><td class=\"num\"><a href=\"{}\">{}</a></td><td class=\"num\">{}</td><td>",
                    cd__view_link(v, i + 1, v->node), i + 1, cd__view_time(v, e->us));
        if (i + 1 == v->step) {
            cd_ui_pill(&v->h, CD_PILL_LIVE, cd_bytes_str(meaning(e->kind)));
        } else {
            cd_html_put(&v->h, "{}{}", meaning(e->kind), i >= v->step ? ", to come" : "");
        }
        cd_html_put(&v->h, "</td>");
        cd_ui_cell(&v->h, &cols[3]);
        cd_html_put(&v->h, "<span class=\"mono\">{}</span></td></tr>", cd_foreign_of(cd_film_words(v->film, e)));
    }
    cd_ui_table_end(&v->h);
    cd_html_put(&v->h, "</section>");
}

/* --- pages --- */

void cd_film_page(cd_buf *out, cd_film *f, const char *name, u64 step, u32 node)
{
    cd_buf end = {0};
    cd_html bar = {.out = &end};
    scene v = {.h = {.out = out}, .film = f, .step = cd_min_u64(step, cd_film_steps(f)), .node = node};
    v.node = node < cd_film_nodes(f) ? node : CD_FILM_NONE;
    v.s = cd_film_at(f, v.step);
    cd_html_put(&bar, "<span>{}</span>", name);
    const cd_page page = {.site = &site,
                          .title = cd_bytes_str(cd_arena_fmt(&v.a, "Line %llu", (unsigned long long)v.step)),
                          .bar_end = cd_markup_of(&bar)};
    cd_page_begin(&v.h, &page);
    cd_html_put(&v.h, "<h1>Line {}</h1>", v.step);
    controls(&v);
    figures(&v);
    if (v.node != CD_FILM_NONE) {
        cd__view_node(&v);
    }
    line_table(&v);
    node_table(&v);
    block_table(&v);
    cd_page_end(&v.h, &page);
    cd_buf_fini(&end);
    cd_arena_fini(&v.a);
}

static u64 query_number(cd_http_req *r, const char *name, u64 otherwise)
{
    cd_buf text = {0};
    u64 v = otherwise;
    if (cd_web_query(&text, cd_http_req_query(r), name, NUMBER_MAX) && cd_u64_parse(&v, cd_buf_bytes(&text)) != CD_OK) {
        v = otherwise;
    }
    cd_buf_fini(&text);
    return v;
}

static void on_page(void *ctx, cd_http_req *r)
{
    const cd_film_pages *p = ctx;
    u64 node = query_number(r, "node", CD_FILM_NONE);
    cd_film_page(cd_http_req_out(r), p->film, p->name, query_number(r, "at", 0),
                 node > CD_FILM_NONE ? CD_FILM_NONE : (u32)node);
    cd_web_reply_page(r, 200);
}

cd_film_pages *cd_film_pages_new(cd_http_server *s, cd_film *f, const char *name)
{
    cd_film_pages *p = cd_new(cd_film_pages);
    p->film = f;
    p->name = name;
    cd_web_assets_route(s, site.assets);
    const cd_http_route route = {.path = "/", .methods = CD_HTTP_GET, .handler = on_page, .ctx = p, .is_page = true};
    cd_http_server_route(s, &route);
    return p;
}

void cd_film_pages_free(cd_film_pages *p)
{
    cd_free(p);
}
