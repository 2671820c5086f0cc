#include "web/ui.h"

#include "crypto/hash/sha2.h"
#include "web/fmt.h"

void cd_ui_icon(cd_html *h, const char *name)
{
    cd_html_put(h, "<svg class=\"icon\" aria-hidden=\"true\"><use href=\"#i-{}\"/></svg>", name);
}

const char *cd_lamp_word(cd_lamp l)
{
    switch (l) {
    case CD_LAMP_ACCEPTED:
        return "Accepted";
    case CD_LAMP_BLS:
        return "BLS-final";
    case CD_LAMP_QUANTUM:
        return "Quantum-final";
    }
    CD_UNREACHABLE();
}

cd_ui_final cd_ui_final_of(const cd_ui_final_source *s)
{
    cd_ui_final f = {.is_told = false};
    if (s->get != NULL) {
        s->get(s->ctx, &f);
    }
    return f;
}

cd_lamp cd_lamp_of(const cd_ui_final *f, u64 height)
{
    if (!f->is_told) {
        return CD_LAMP_ACCEPTED;
    }
    return height <= f->quantum ? CD_LAMP_QUANTUM : height <= f->bls ? CD_LAMP_BLS : CD_LAMP_ACCEPTED;
}

void cd_ui_lamp(cd_html *h, cd_lamp l)
{
    const char *looks = l == CD_LAMP_QUANTUM ? "lamp full" : l == CD_LAMP_BLS ? "lamp half" : "lamp";
    cd_html_put(h, "<span class=\"{}\" role=\"img\" aria-label=\"{}\" title=\"{}\"></span>", looks, cd_lamp_word(l),
                cd_lamp_word(l));
}

/* --- identifiers --- */

/* The bars must look the same for every way of writing an address: its lower-case text decides. */
static void glint(cd_html *h, cd_bytes lower)
{
    cd_hash32 d;
    cd_sha256(&d, lower);
    cd_html_put(h, "<svg class=\"glint\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">");
    for (u32 i = 0; i < 4; i++) {
        u32 tall = d.b[i] % 9u + 4;
        cd_html_put(h, "<rect class=\"f{}\" x=\"{}\" y=\"{}\" width=\"2.4\" height=\"{}\"/>", (u32)d.b[4 + i] % 6 + 1,
                    1 + 3 * i, 13 - tall, tall);
    }
    cd_html_put(h, "</svg>");
}

/* How many characters of a shortened identifier stay at its front and at its back; 0 at the back: all are shown. */
static void parts(usize *head, usize *tail, cd_bytes id)
{
    bool is_node = id.n > 7 && memcmp(id.p, "NodeID-", 7) == 0;
    bool is_hex = id.n > 2 && id.p[0] == '0' && id.p[1] == 'x';
    *head = is_node ? 12 : 8;
    *tail = is_node || is_hex ? 4 : 6;
    if (id.n < *head + *tail + 4) {
        *head = id.n;
        *tail = 0;
    }
}

static void characters(cd_html *h, cd_bytes id)
{
    usize head;
    usize tail;
    parts(&head, &tail, id);
    if (tail == 0) {
        cd_html_put(h, "{}", id);
    } else {
        cd_html_put(h, "{}<span class=\"mid\">{}</span>{}", cd_bytes_sub(id, 0, head),
                    cd_bytes_sub(id, head, id.n - head - tail), cd_bytes_sub(id, id.n - tail, tail));
    }
}

static void shown(cd_html *h, const cd_ui_id *id)
{
    if (id->name.text.n != 0) {
        cd_html_put(h, "<span class=\"name\">{}</span>", id->name);
    } else {
        characters(h, id->text);
    }
}

void cd_ui_ident(cd_html *h, const cd_ui_id *id)
{
    cd_buf lower = {0};
    cd_buf_put(&lower, id->text);
    bool is_hex = id->text.n > 2 && id->text.p[0] == '0' && id->text.p[1] == 'x';
    for (usize i = 0; i < lower.n; i++) { // only hex is lowered: in CB58 case matters
        lower.p[i] |= is_hex && (u8)(lower.p[i] - 'A') < 26 ? 0x20 : 0;
    }
    cd_html_put(h, "<span class=\"hx{}{}\" data-h=\"{}\">", (id->flags & CD_ID_FULL) != 0 ? " full" : "",
                (id->flags & CD_ID_PAGE) != 0 ? " this" : "", cd_buf_bytes(&lower));
    if ((id->flags & CD_ID_GLINT) != 0) {
        glint(h, cd_buf_bytes(&lower));
    }
    if (id->href.n != 0) {
        cd_html_put(h, "<a href=\"{}\" title=\"{}\">", id->href, id->text);
        shown(h, id);
        cd_html_put(h, "</a>");
    } else {
        cd_html_put(h, "<span class=\"v\" title=\"{}\">", id->text);
        shown(h, id);
        cd_html_put(h, "</span>");
    }
    if ((id->flags & CD_ID_COPY) != 0) {
        cd_ui_copy(h, id->text, "");
    }
    cd_html_put(h, "</span>");
    cd_buf_fini(&lower);
}

void cd_ui_copy(cd_html *h, cd_bytes text, const char *what)
{
    cd_html_put(h, "<button class=\"copy\" type=\"button\" data-copy=\"{}\" aria-label=\"Copy{}{}\">", text,
                what[0] == '\0' ? "" : " ", what);
    cd_ui_icon(h, "copy");
    cd_html_put(h, "</button>");
}

/* --- words and times --- */

void cd_ui_pill(cd_html *h, cd_pill kind, cd_bytes text)
{
    static const char *const looks[] = {
        [CD_PILL_NEUTRAL] = "pill",        [CD_PILL_OK] = "pill ok",     [CD_PILL_WARN] = "pill warn",
        [CD_PILL_BAD] = "pill bad",        [CD_PILL_LIVE] = "pill live", [CD_PILL_UP] = "pill ok plain",
        [CD_PILL_DOWN] = "pill bad plain",
    };
    cd_html_put(h, "<span class=\"{}\">{}</span>", looks[kind], text);
}

void cd_ui_tag(cd_html *h, cd_foreign text)
{
    cd_html_put(h, "<span class=\"tag\">{}</span>", text);
}

void cd_ui_time(cd_html *h, cd_arena *a, u64 unix_s, u64 now_s)
{
    cd_html_put(h, "<time datetime=\"{}\" title=\"{}\">{}</time>", cd_fmt_iso(a, unix_s), cd_fmt_utc(a, unix_s),
                cd_fmt_age(a, unix_s, now_s));
}

/* --- figures --- */

void cd_ui_figs(cd_html *h, const cd_ui_fig *figs, usize cnt)
{
    cd_html_put(h, "<dl class=\"figs\">");
    for (usize i = 0; i < cnt; i++) {
        const cd_ui_fig *f = &figs[i];
        cd_html_put(h, "<div class=\"fig\"><dt>{}</dt><dd class=\"n\">{}", f->label, f->value);
        if (f->unit[0] != '\0') {
            cd_html_put(h, "<small>{}</small>", f->unit);
        }
        cd_html_put(h, "</dd><dd class=\"sub\">{}{}</dd></div>", f->sub, f->picture);
    }
    cd_html_put(h, "</dl>");
}

/* --- tables --- */

static const char *column_class(u32 flags)
{
    static const char *const classes[16] = {
        "",     "num",      "p2",      "num p2",      "p3",      "num p3",      "p2 p3",      "num p2 p3",
        "fill", "num fill", "p2 fill", "num p2 fill", "p3 fill", "num p3 fill", "p2 p3 fill", "num p2 p3 fill",
    };
    CD_ASSERT(flags < CD_COUNT(classes));
    return classes[flags];
}

static void sort_head(cd_html *h, const cd_ui_col *col, const cd_ui_sort *sort)
{
    bool is_by = cd_bytes_eq(sort->by, cd_bytes_str(col->sort));
    const char *dir = is_by && sort->desc ? "asc" : "desc"; // the first click sorts the largest values to the top
    if (is_by) {
        cd_html_put(h, "<th scope=\"col\" class=\"{}\" aria-sort=\"{}\">", column_class(col->flags),
                    sort->desc ? "descending" : "ascending");
    } else {
        cd_html_put(h, "<th scope=\"col\" class=\"{}\">", column_class(col->flags));
    }
    cd_html_put(h, "<a class=\"sort\" href=\"?{}{}sort={}&amp;dir={}\">{}</a></th>", sort->rest,
                sort->rest.n == 0 ? "" : "&", col->sort, dir, col->name);
}

void cd_ui_table_begin(cd_html *h, const char *name, const cd_ui_col *cols, usize cnt, const cd_ui_sort *sort,
                       const char *live)
{
    if (live != NULL) {
        cd_html_put(h, "<table class=\"t\" data-live=\"{}\" aria-live=\"off\">", live);
    } else {
        cd_html_put(h, "<table class=\"t\">");
    }
    cd_html_put(h, "<caption class=\"sr\">{}</caption><thead><tr>", name);
    for (usize i = 0; i < cnt; i++) {
        if (cols[i].sort != NULL && sort != NULL) {
            sort_head(h, &cols[i], sort);
        } else {
            cd_html_put(h, "<th scope=\"col\" class=\"{}\">{}</th>", column_class(cols[i].flags), cols[i].name);
        }
    }
    cd_html_put(h, "</tr></thead><tbody>");
}

void cd_ui_cell(cd_html *h, const cd_ui_col *col)
{
    if (col->flags == 0) {
        cd_html_put(h, "<td>");
    } else {
        cd_html_put(h, "<td class=\"{}\">", column_class(col->flags));
    }
}

void cd_ui_table_end(cd_html *h)
{
    cd_html_put(h, "</tbody></table>");
}

void cd_ui_pager(cd_html *h, cd_bytes newest, cd_bytes next)
{
    cd_ui_pager_of(h, "Pages", newest, next);
}

void cd_ui_pager_of(cd_html *h, const char *name, cd_bytes newest, cd_bytes next)
{
    cd_html_put(h, "<nav class=\"pager\" aria-label=\"{}\">", name);
    if (newest.n != 0) {
        cd_html_put(h, "<a class=\"btn s\" href=\"{}\">First page</a>", newest);
    }
    if (next.n != 0) {
        cd_html_put(h, "<a class=\"btn s\" rel=\"next\" href=\"{}\">Next</a>", next);
    }
    cd_html_put(h, "</nav>");
}

void cd_ui_seg(cd_html *h, const char *name, const cd_ui_link *links, usize cnt, usize current)
{
    cd_html_put(h, "<span class=\"seg\" role=\"group\" aria-label=\"{}\">", name);
    for (usize i = 0; i < cnt; i++) {
        if (i == current) {
            cd_html_put(h, "<a href=\"{}\" aria-current=\"true\">{}</a>", links[i].href, links[i].name);
        } else {
            cd_html_put(h, "<a href=\"{}\">{}</a>", links[i].href, links[i].name);
        }
    }
    cd_html_put(h, "</span>");
}

/* --- messages --- */

void cd_ui_note(cd_html *h, cd_note kind, const char *title, cd_markup body)
{
    static const char *const looks[] = {
        [CD_NOTE_INFO] = "note", [CD_NOTE_WARN] = "note warn", [CD_NOTE_BAD] = "note bad"};
    cd_html_put(h, "<div class=\"{}\">", looks[kind]);
    cd_ui_icon(h, kind == CD_NOTE_INFO ? "info" : "alert");
    cd_html_put(h, "<div><b>{}</b><p>{}</p></div></div>", title, body);
}

void cd_ui_empty(cd_html *h, const char *title, const char *text, cd_markup act)
{
    cd_html_put(h,
                "<div class=\"empty\"><svg viewBox=\"0 0 32 32\" aria-hidden=\"true\">"
                "<use href=\"#i-mark\"/></svg><b>{}</b><span>{}</span>{}</div>",
                title, text, act);
}

/* Text in a block keeps its line ends. It is not a name inside a sentence, so it is neither cut nor put into <bdi>. */
void cd_ui_code(cd_html *h, cd_bytes text, const char *what)
{
    if (what != NULL) {
        cd_html_put(h, "<div class=\"codebox\">");
        cd_ui_copy(h, text, what);
    }
    cd_html_put(h, "<pre class=\"code wrap\" tabindex=\"0\">{}</pre>", text);
    if (what != NULL) {
        cd_html_put(h, "</div>");
    }
}
