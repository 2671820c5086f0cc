/* The film of a slot's preview: fetched from where the campaign has it, a piece at a time, so that the page plays
 * nothing from elsewhere. For those who may see the pages. */
#include "services/adx/exchange/page_priv.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "net/http/query.h"

enum { PIECE = 4 << 20, TIMEOUT_MS = 15000, AT_A_TIME = 8, RANGE_MAX = 40 };

typedef struct filming {
    cd_exchange *x;
    cd_http_req *r;
} filming;

const cd_vast_media *cd__page_film_of(const cd_adx_config *c, u64 now_s)
{
    for (usize i = 0; i < c->campaigns_cnt; i++) { // those who pay most first
        const cd_adx_campaign *k = &c->campaigns[i];
        for (usize n = 0; n < k->creatives_cnt && now_s >= k->start_s && now_s < k->end_s; n++) {
            const cd_adx_creative *cr = &k->creatives[n];
            for (usize m = 0; m < cr->media_cnt; m++) {
                if (cd_bytes_eq(cr->media[m].type, cd_bytes_str("video/mp4"))) {
                    return &cr->media[m];
                }
            }
        }
    }
    return NULL;
}

static void add_line(cd_http_req *r, const cd_http_call *call, const char *name)
{
    cd_bytes v = cd_http_call_header(call, name);
    char text[96];
    if (v.n != 0 && v.n < sizeof text && memchr(v.p, '\r', v.n) == NULL && memchr(v.p, '\n', v.n) == NULL) {
        memcpy(text, v.p, v.n);
        text[v.n] = '\0';
        cd_http_req_add_header(r, name, text);
    }
}

static void on_piece(void *ctx, const cd_http_result *res)
{
    filming *f = ctx;
    f->x->filming--;
    if (res->err == CD_OK && (res->status == 200 || res->status == 206)) {
        add_line(f->r, res->call, "Content-Range");
        cd_http_req_add_lines(f->r, cd_bytes_str("Cache-Control: no-store\r\nAccept-Ranges: bytes\r\n"
                                                 "X-Content-Type-Options: nosniff\r\n"));
        cd_buf_put(cd_http_req_out(f->r), res->body);
        cd_http_reply(f->r, res->status, "video/mp4");
    } else {
        cd__front_error(f->r, 502, "not_played", "the file cannot be had from where the campaign has it");
    }
    cd_free(f);
}

/* The first byte that is asked for; 0 where nothing readable is. */
static u64 first_of(cd_bytes range)
{
    static const char unit[] = "bytes=";
    usize n = sizeof unit - 1;
    u64 first = 0;
    const u8 *dash = range.n <= n || range.n > RANGE_MAX ? NULL : memchr(range.p, '-', range.n);
    bool is_read = dash != NULL && memcmp(range.p, unit, n) == 0 &&
                   cd_u64_parse(&first, cd_bytes_of(range.p + n, (usize)(dash - range.p) - n)) == CD_OK;
    return is_read ? first : 0;
}

/* The last byte that is asked for, at most a piece behind the first. */
static u64 last_of(cd_bytes range, u64 first)
{
    u64 last = 0;
    const u8 *dash = range.n == 0 || range.n > RANGE_MAX ? NULL : memchr(range.p, '-', range.n);
    usize at = dash == NULL ? 0 : (usize)(dash - range.p) + 1;
    bool is_read = dash != NULL && cd_u64_parse(&last, cd_bytes_sub(range, at, range.n - at)) == CD_OK && last >= first;
    return is_read ? cd_min_u64(last, first + PIECE - 1) : first + PIECE - 1;
}

void cd__page_film(cd_exchange *x, cd_http_req *r)
{
    const cd_vast_media *m = cd__page_film_of(x->setup->config, cd_clock_wall_s(x->cfg.clock));
    cd_bytes range = cd_http_req_header(r, "Range");
    cd_buf url = {0};
    cd_buf line = {0};
    u64 first = first_of(range);
    if (m == NULL || x->filming == AT_A_TIME || first > (u64)INT64_MAX) {
        cd__front_error(r, m == NULL ? 404 : 503, m == NULL ? "not_found" : "busy", "there is no film to play now");
        return;
    }
    cd_buf_put(&url, m->url);
    cd_buf_fmt(&line, "Range: bytes=%llu-%llu", (unsigned long long)first, (unsigned long long)last_of(range, first));
    const char *const headers[] = {cd_buf_cstr(&line), "Accept-Encoding: identity"};
    const cd_http_ask ask = {.url = cd_buf_cstr(&url),
                             .headers = headers,
                             .headers_cnt = CD_COUNT(headers),
                             .timeout_ms = TIMEOUT_MS,
                             .body_max = PIECE};
    filming *f = cd_new(filming);
    *f = (filming){.x = x, .r = r};
    x->filming++;
    (void)cd_http_client_call(x->notice_http, &ask, on_piece, f);
    cd_buf_fini(&url);
    cd_buf_fini(&line);
}
