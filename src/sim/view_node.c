/* One node at a moment: its undecided blocks, its polls with their votes, and its messages under way. */
#include "base/num_text.h"
#include "sim/view_priv.h"
#include "web/chart.h"
#include "web/ui.h"

enum { MESSAGES_SHOWN = 24, LOOK_BACK = 4000, BETA = 20 };

static void undecided_table(scene *v, const cd_film_node *n)
{
    static const cd_ui_col cols[] = {{.name = "Block"},
                                     {.name = "Height", .flags = CD_COL_NUM},
                                     {.name = "Confidence", .flags = CD_COL_NUM},
                                     {.name = ""}};
    cd_ui_table_begin(&v->h, "Undecided blocks", cols, CD_COUNT(cols), NULL, NULL);
    for (u32 i = 0; i < n->undecided_cnt; i++) {
        const cd_film_undecided *u = &n->undecided[i];
        cd_html_put(&v->h, "<tr><td>");
        cd__view_block(v, u->block);
        cd_html_put(&v->h, "</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>",
                    cd_film_block_get(v->film, u->block)->height, u->confidence);
        cd_chart_meter(&v->h, u->confidence, BETA, u->block == n->preferred ? 1 : 2);
        cd_html_put(&v->h, "{}</td></tr>", u->block == n->preferred ? "preferred" : "");
    }
    cd_ui_table_end(&v->h);
}

static void votes(scene *v, const cd_film_poll *p)
{
    for (u32 i = 0; i < p->cnt; i++) {
        const cd_film_vote *vote = &p->votes[i];
        if (vote->block == CD_FILM_NONE) {
            cd_html_put(&v->h, "<span class=\"mut\">{}: no answer</span> ", vote->from);
            continue;
        }
        cd_html_put(&v->h, "<span>{}: ", vote->from);
        cd__view_block(v, vote->block);
        cd_html_put(&v->h, "</span> ");
    }
}

static void poll_table(scene *v, const cd_film_node *n)
{
    static const cd_ui_col cols[] = {
        {.name = "Poll", .flags = CD_COL_NUM},  {.name = "Since", .flags = CD_COL_NUM}, {.name = "About"},
        {.name = "Asked", .flags = CD_COL_NUM}, {.name = "Heard", .flags = CD_COL_NUM}, {.name = "Votes"}};
    cd_ui_table_begin(&v->h, "The newest polls", cols, CD_COUNT(cols), NULL, NULL);
    for (u64 i = n->polls; i > 0 && i + CD_FILM_POLLS > n->polls; i--) {
        const cd_film_poll *p = &n->recent[(i - 1) % CD_FILM_POLLS];
        cd_html_put(&v->h, "<tr><td class=\"num\">{}</td><td class=\"num\">{}</td><td>", p->request,
                    cd__view_time(v, v->s->us - p->us));
        cd__view_block(v, p->block);
        cd_html_put(&v->h, "{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>", p->is_shown ? " shown" : "",
                    p->asked, p->cnt);
        votes(v, p);
        cd_html_put(&v->h, "</td></tr>");
    }
    cd_ui_table_end(&v->h);
}

/* A line about a message, taken apart. */
typedef struct message {
    u64 to;
    cd_bytes op;
    cd_bytes bytes;
    u64 takes_us;
    bool is_lost;
} message;

static bool read_message(message *out, cd_bytes words)
{
    cd_bytes w[5];
    usize at = 0;
    for (u32 i = 0; i < 5; i++) {
        usize end = at;
        while (end < words.n && words.p[end] != ' ') {
            end++;
        }
        w[i] = cd_bytes_sub(words, cd_min_u64(at, words.n), end - cd_min_u64(at, end));
        at = end < words.n ? end + 1 : end;
    }
    out->op = w[2];
    out->bytes = w[3];
    out->is_lost = cd_bytes_eq(w[4], cd_bytes_str("-"));
    return cd_u64_parse(&out->to, w[1]) == CD_OK && (out->is_lost || cd_u64_parse(&out->takes_us, w[4]) == CD_OK);
}

/* Writes the table of the messages that are under way from or to this node. */
static void message_table(scene *v)
{
    static const cd_ui_col cols[] = {{.name = "From", .flags = CD_COL_NUM},
                                     {.name = "To", .flags = CD_COL_NUM},
                                     {.name = "Message"},
                                     {.name = "Bytes", .flags = CD_COL_NUM},
                                     {.name = "There in", .flags = CD_COL_NUM}};
    u32 shown = 0;
    cd_ui_table_begin(&v->h, "Messages under way", cols, CD_COUNT(cols), NULL, NULL);
    for (u64 i = v->step; i > 0 && i + LOOK_BACK > v->step && shown < MESSAGES_SHOWN; i--) {
        const cd_film_event *e = cd_film_event_get(v->film, i - 1);
        message m = {.to = 0};
        if (e->kind != 'm' || !read_message(&m, cd_film_words(v->film, e)) || (e->node != v->node && m.to != v->node) ||
            (!m.is_lost && e->us + m.takes_us < v->s->us)) {
            continue;
        }
        cd_html_put(&v->h, "<tr><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td class=\"num\">{}</td>",
                    e->node, m.to, cd_foreign_of(m.op), cd_foreign_of(m.bytes));
        cd_html_put(&v->h, "<td class=\"num\">{}</td></tr>",
                    m.is_lost ? cd_bytes_str("lost") : cd__view_time(v, e->us + m.takes_us - v->s->us));
        shown++;
    }
    cd_ui_table_end(&v->h);
}

void cd__view_node(scene *v)
{
    const cd_film_node *n = &v->s->nodes[v->node];
    bool is_liar;
    cd_bytes name = cd_film_node_name(v->film, v->node, &is_liar);
    const cd_ui_id id = {.text = name, .flags = CD_ID_FULL | CD_ID_COPY};
    cd_html_put(&v->h, "<section class=\"panel\"><header><h2>Node {}</h2></header><p class=\"body\">", v->node);
    if (name.n != 0) {
        cd_ui_ident(&v->h, &id);
    }
    cd_html_put(&v->h, " {}; it has accepted ", is_liar ? "It lies" : n->is_up ? "It is up" : "It is down");
    cd__view_block(v, n->accepted);
    cd_html_put(&v->h, " at height {} and refused {} blocks; {} of its messages were lost.</p>", n->height, n->refused,
                n->lost);
    undecided_table(v, n);
    poll_table(v, n);
    message_table(v);
    cd_html_put(&v->h, "</section>");
}
