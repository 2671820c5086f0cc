/* Any bytes as text of every kind: what comes out holds no markup of theirs, in no place where text can stand. */
#include "codec/json.h"
#include "web/fmt.h"
#include "web/json_view.h"
#include "web/serve.h"
#include "web/ui.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* Only the tags that the template wrote: as many '<' as it has, and quotes in pairs. */
static void check(const cd_buf *out, usize tags)
{
    usize open = 0;
    usize quotes = 0;
    for (usize i = 0; i < out->n; i++) {
        open += out->p[i] == '<' ? 1 : 0;
        quotes += out->p[i] == '"' ? 1 : 0;
        CD_ASSERT(out->p[i] >= 0x20 || out->p[i] == '\n' || out->p[i] == '\t');
        CD_ASSERT(out->p[i] != '\'' && out->p[i] != 0x7F);
    }
    CD_ASSERT(open == tags && quotes % 2 == 0);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes in = cd_bytes_of(data, size);
    cd_arena a = {0};
    cd_buf out = {0};
    cd_html h = {.out = &out};
    cd_json json;

    cd_html_put(&h, "<p title=\"{}\">{}</p>", in, in);
    check(&out, 2);
    cd_buf_clear(&out);
    cd_html_put(&h, "<a href=\"{}\" title=\"{}\">{}</a>", in, cd_foreign_of(in), cd_foreign_of(in));
    check(&out, 4);
    cd_buf_clear(&out);
    cd_html_put(&h, "<svg><text>{}</text></svg>", cd_foreign_flat_of(in));
    check(&out, 4);
    cd_buf_clear(&out);
    cd_html_put(&h, "<a href=\"/x/{}\">", cd_url_part_of(in));
    check(&out, 1);
    cd_buf_clear(&out);
    if (size >= 32) {
        cd_u256 v;
        cd_u256_load_be(&v, data);
        cd_html_put(&h, "{}{}", cd_fmt_amount(&a, &v, data[0], (cd_fmt_decimals){data[1], data[2] % 78u}),
                    cd_fmt_gas_price(&a, &v));
        cd_html_put(&h, "{}{}", cd_fmt_age(&a, cd_be64(data), cd_be64(data + 8)), cd_fmt_utc(&a, cd_be64(data + 16)));
        check(&out, 0);
        cd_buf_clear(&out);
    }
    if (cd_json_parse(&json, &a, in, 0, NULL) == CD_OK) {
        cd_json_view(&h, json);
        cd_buf_clear(&out);
    }
    (void)cd_web_query(&out, in, "q", 64);
    CD_ASSERT(out.n <= 64);
    cd_buf_fini(&out);
    cd_arena_fini(&a);
    return 0;
}
