/* Bytes of an HTTP/2 connection. The first byte says how the rest is cut into pieces, the second which
 * requests are answered at once, later or never; after each piece some time passes. Whatever comes in, the
 * limits hold and every request is handed out once. */
#include "net/http/http2.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { STREAMS_MAX = 4, HEADER_MAX = 1024, BODY_MAX = 4096, BUFFERED_MAX = 20000, BATCH = 2048 };
enum { KEPT_MAX = 512 * 1024 }; /* frames and fields that nghttp2 has in hand */

typedef struct rig {
    cd_http2_stream *held[STREAMS_MAX];
    u32 held_cnt;
    u32 requests;
    u8 habits;
    u64 now;
} rig;

static usize body_max(void *ctx, const cd_http_msg *m)
{
    (void)ctx;
    CD_ASSERT(m->text.n <= HEADER_MAX);
    return BODY_MAX;
}

static void answer(rig *g, cd_http2_stream *st)
{
    const char *text;
    const cd_http_msg *m = cd_http2_msg(st);
    u32 status = cd_http2_refusal(st, &text);
    cd_buf body = {0};
    CD_ASSERT((status != 0) == (text[0] != '\0'));
    CD_ASSERT(m->body.n <= BODY_MAX && cd_http_msg_path(m).n <= HEADER_MAX);
    cd_buf_put(&body, cd_http_msg_host(m));
    cd_buf_put(&body, cd_http_msg_query(m));
    cd_buf_fill(&body, 'b', (usize)(g->habits & 7) * 700);
    const cd_http2_reply reply = {
        .status = status == 0 ? 200 : status,
        .lines = cd_bytes_str("A: b\r\nConnection: close\r\n"),
        .trailers = (g->habits & 8) != 0 ? cd_bytes_str("T: u\r\n") : (cd_bytes){0},
        .body = m->method == CD_HTTP_HEAD ? NULL : &body,
    };
    cd_http2_answer(st, &reply, g->now);
    cd_buf_fini(&body);
}

static void on_request(void *ctx, cd_http2_stream *st)
{
    rig *g = ctx;
    g->requests++;
    if ((g->habits >> 4 & 3) != 0 && g->requests % 4 < (g->habits >> 4 & 3u)) {
        CD_ASSERT(g->held_cnt < STREAMS_MAX);
        g->held[g->held_cnt++] = st;
    } else {
        answer(g, st);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static const cd_http2_events events = {.body_max = body_max, .request = on_request};
    const cd_http2_cfg cfg = {
        .streams_max = STREAMS_MAX,
        .header_max = HEADER_MAX,
        .buffered_max = BUFFERED_MAX,
        .header_timeout_ms = 1000,
        .read_timeout_ms = 1000,
        .write_timeout_ms = 1000,
        .idle_timeout_ms = 1000,
    };
    if (size < 2) {
        return 0;
    }
    rig g = {.habits = data[1], .now = 1};
    usize piece = data[0] == 0 ? size : data[0];
    cd_bytes in = cd_bytes_of(data + 2, size - 2);
    cd_buf out = {0};
    cd_http2 *h = cd_http2_new(&cfg, &events, &g, g.now);
    cd_http2_feed(h, cd_bytes_str(cd_http2_preface), g.now);
    while (in.n != 0 && !cd_http2_is_over(h)) {
        usize n = piece < in.n ? piece : in.n;
        cd_http2_feed(h, cd_bytes_sub(in, 0, n), g.now);
        in = cd_bytes_sub(in, n, in.n - n);
        CD_ASSERT(cd_http2_kept(h) < 2 * BUFFERED_MAX + KEPT_MAX);
        do {
            cd_buf_clear(&out);
            cd_http2_take(h, &out, BATCH, g.now);
            CD_ASSERT(out.n < BATCH + 16384 + 64);
        } while (out.n != 0);
        if ((g.habits & 0x40) != 0) {
            g.now += 100;
            cd_http2_sweep(h, g.now);
        }
        if ((g.habits & 0x80) != 0 && g.held_cnt == STREAMS_MAX) {
            answer(&g, g.held[--g.held_cnt]);
        }
    }
    if ((g.habits & 1) != 0) {
        cd_http2_stop(h);
        cd_http2_take(h, &out, BATCH, g.now);
    }
    cd_http2_free(h);
    while (g.held_cnt != 0) {
        answer(&g, g.held[--g.held_cnt]);
    }
    cd_buf_fini(&out);
    return 0;
}
