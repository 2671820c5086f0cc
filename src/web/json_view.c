#include "web/json_view.h"

enum { OPEN_DEPTH = 2, OPEN_MEMBERS = 20, INDENT = 2 };

static bool is_nest(cd_json v)
{
    cd_json_kind k = cd_json_kind_of(v);
    return (k == CD_JSON_OBJ || k == CD_JSON_ARR) && cd_json_len(v) != 0;
}

static void indent(cd_html *h, usize depth)
{
    static const char spaces[INDENT * CD_JSON_VIEW_DEPTH + 1] =
        "                                                                ";
    cd_html_put(h, "{}", cd_bytes_of(spaces, depth * INDENT));
}

static void scalar(cd_html *h, cd_json v)
{
    static const char *const looks[] = {
        [CD_JSON_NONE] = "j-d", [CD_JSON_NULL] = "j-b", [CD_JSON_BOOL] = "j-b", [CD_JSON_NUM] = "j-n",
        [CD_JSON_STR] = "j-s",  [CD_JSON_ARR] = "j-d",  [CD_JSON_OBJ] = "j-d",
    };
    cd_buf raw = {0};
    cd_json_raw(&raw, v);
    cd_html_put(h, "<span class=\"{}\">{}</span>", looks[cd_json_kind_of(v)], cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
}

static void key(cd_html *h, cd_bytes k)
{
    cd_buf raw = {0};
    cd_json_w w = {.out = &raw};
    cd_json_w_str(&w, k);
    cd_html_put(h, "<span class=\"j-k\">{}</span>: ", cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
}

static void open_nest(cd_html *h, cd_json v, usize depth)
{
    bool is_open = depth < OPEN_DEPTH && cd_json_len(v) <= OPEN_MEMBERS;
    bool is_obj = cd_json_kind_of(v) == CD_JSON_OBJ;
    if (is_open) {
        cd_html_put(h, "<details open>");
    } else {
        cd_html_put(h, "<details>");
    }
    bool is_one = cd_json_len(v) == 1;
    cd_html_put(h, "<summary>{} <span class=\"j-d\">{} {}{}</span></summary>", is_obj ? "{" : "[", (u64)cd_json_len(v),
                is_obj ? "member" : "element", is_one ? "" : "s");
}

void cd_json_view(cd_html *h, cd_json v)
{
    cd_json_it at[CD_JSON_VIEW_DEPTH];
    usize depth = 0;
    cd_html_put(h, "<div class=\"code json\">");
    if (!is_nest(v)) {
        scalar(h, v);
        cd_html_put(h, "</div>");
        return;
    }
    open_nest(h, v, 0);
    at[depth++] = cd_json_iter(v);
    while (depth != 0) {
        cd_json_it *it = &at[depth - 1];
        bool is_obj = it->is_obj;
        if (!cd_json_next(it)) {
            depth--;
            indent(h, depth);
            cd_html_put(h, "{}{}</details>{}", is_obj ? "}" : "]", depth != 0 && at[depth - 1].left != 0 ? "," : "",
                        depth != 0 ? "\n" : "");
            continue;
        }
        indent(h, depth);
        if (is_obj) {
            key(h, it->key);
        }
        if (is_nest(it->val) && depth < CD_JSON_VIEW_DEPTH) {
            open_nest(h, it->val, depth);
            at[depth] = cd_json_iter(it->val);
            depth++;
        } else {
            scalar(h, it->val);
            cd_html_put(h, "{}\n", it->left != 0 ? "," : "");
        }
    }
    cd_html_put(h, "</div>");
}
