#include "services/adx/exchange/bidders.h"

#include "base/mem/mem.h"

#include "codec/gzip.h"
#include <stdlib.h>

enum {
    WINDOW = 32,      /* answers that are remembered */
    WAY_MS = 2,       /* there and back, until it is measured */
    PROBE_EVERY = 50, /* of a bidder that is too slow, one request in so many is tried all the same */
    FAILS_MAX = 5,    /* in a row, before it is left alone */
    PAUSE_MIN_MS = 1000,
    PAUSE_MAX_MS = 30000,
    GZIP_MIN = 1024,
};

typedef struct bidder {
    const char *id;
    char *owned;
    u32 ms[WINDOW]; /* of its last answers */
    u32 ms_cnt, ms_next;
    u32 way_ms;
    u32 skipped;
    u32 fails, pause_ms;
    u64 paused_until_ns;
    u64 bucket_ns; /* when the bucket would be full: a token costs a second / qps */
    cd_counter *ends[CD_BIDDER_SLOW + 1];
    cd_hist *time;
} bidder;

struct cd_bidders {
    cd_http_client *http;
    const cd_clock *clock;
    cd_metrics *metrics;
    bidder **v;
    usize cnt;
};

typedef struct call {
    cd_bidders *b;
    bidder *of;
    cd_bidder_fn *fn;
    void *ctx;
    cd_http_call *http;
} call;

const char *cd_bidder_end_text(cd_bidder_end end)
{
    static const char *const text[] = {
        [CD_BIDDER_ANSWER] = "answer", [CD_BIDDER_NONE] = "none", [CD_BIDDER_LATE] = "late",
        [CD_BIDDER_BROKEN] = "broken", [CD_BIDDER_RATE] = "rate", [CD_BIDDER_PAUSED] = "paused",
        [CD_BIDDER_SLOW] = "too_slow",
    };
    return text[end];
}

cd_bidders *cd_bidders_new(cd_http_client *http, const cd_clock *clock, cd_metrics *metrics)
{
    cd_bidders *b = cd_new(cd_bidders);
    b->http = http;
    b->clock = clock;
    b->metrics = metrics;
    return b;
}

void cd_bidders_free(cd_bidders *b)
{
    if (b == NULL) {
        return;
    }
    for (usize i = 0; i < b->cnt; i++) {
        cd_free(b->v[i]->owned);
        cd_free(b->v[i]);
    }
    cd_free(b->v);
    cd_free(b);
}

static void make_metrics(cd_bidders *b, bidder *x)
{
    static const u64 bounds[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    for (u32 i = 0; i <= CD_BIDDER_SLOW; i++) {
        const cd_label labels[] = {{"dsp", x->id}, {"end", cd_bidder_end_text((cd_bidder_end)i)}};
        x->ends[i] =
            cd_metrics_counter(b->metrics, "dsp_calls_total", "Calls to bidders by how they ended.", labels, 2);
    }
    const cd_label label = {"dsp", x->id};
    x->time = cd_metrics_hist(b->metrics, "dsp_seconds", "Time bidders took to answer.", &label, 1, bounds,
                              CD_COUNT(bounds), 1e3);
}

u32 cd_bidders_put(cd_bidders *b, const cd_adx_dsp *dsp)
{
    for (usize i = 0; i < b->cnt; i++) {
        if (strcmp(b->v[i]->id, dsp->id) == 0) {
            return (u32)i;
        }
    }
    bidder *x = cd_new(bidder);
    usize n = strlen(dsp->id) + 1;
    x->owned = memcpy(cd_alloc(n), dsp->id, n);
    x->id = x->owned;
    x->way_ms = WAY_MS;
    make_metrics(b, x);
    b->v = cd_realloc(b->v, (b->cnt + 1) * sizeof *b->v);
    b->v[b->cnt] = x;
    return (u32)b->cnt++;
}

static u32 quickest(const bidder *x)
{
    u32 least = UINT32_MAX;
    for (u32 i = 0; i < x->ms_cnt; i++) {
        least = x->ms[i] < least ? x->ms[i] : least;
    }
    return x->ms_cnt < WINDOW ? 0 : least;
}

/* A bucket of one second's requests. */
static bool takes_token(bidder *x, u32 qps, u64 now_ns)
{
    u64 cost = CD_NS_PER_SEC / qps;
    u64 full = x->bucket_ns > now_ns ? x->bucket_ns : now_ns;
    if (full + cost > now_ns + CD_NS_PER_SEC) {
        return false;
    }
    x->bucket_ns = full + cost;
    return true;
}

static cd_bidder_end judge(bidder *x, const cd_adx_dsp *dsp, u32 time_ms, u64 now_ns)
{
    if (now_ns < x->paused_until_ns) {
        return CD_BIDDER_PAUSED;
    }
    if (time_ms <= x->way_ms || (quickest(x) > time_ms && ++x->skipped % PROBE_EVERY != 0)) {
        return CD_BIDDER_SLOW;
    }
    if (dsp->qps != 0 && !takes_token(x, dsp->qps, now_ns)) {
        return CD_BIDDER_RATE;
    }
    if (x->fails >= FAILS_MAX) {
        x->paused_until_ns = now_ns + x->pause_ms * CD_NS_PER_MS; // this call is the one that shows
    }
    return CD_BIDDER_ANSWER;
}

cd_bidder_end cd_bidders_may(cd_bidders *b, u32 n, const cd_adx_dsp *dsp, u32 left_ms, u32 *time_ms, u32 *tmax)
{
    bidder *x = b->v[n];
    *time_ms = left_ms < dsp->timeout_ms ? left_ms : dsp->timeout_ms;
    cd_bidder_end end = judge(x, dsp, *time_ms, cd_clock_mono_ns(b->clock));
    *tmax = *time_ms > x->way_ms ? *time_ms - x->way_ms : 0;
    if (end != CD_BIDDER_ANSWER) {
        cd_counter_add(x->ends[end], 1);
    }
    return end;
}

static void note_time(bidder *x, const cd_http_result *r)
{
    cd_http_times t;
    cd_http_call_times(r->call, &t);
    x->ms[x->ms_next] = r->ms;
    x->ms_next = (x->ms_next + 1) % WINDOW;
    x->ms_cnt += x->ms_cnt < WINDOW ? 1 : 0;
    if (t.connect_ms > t.dns_ms) {
        x->way_ms = WAY_MS + t.connect_ms - t.dns_ms;
    }
    cd_hist_add(x->time, r->ms);
}

static void note_end(bidder *x, cd_bidder_end end, u64 now_ns)
{
    if (end == CD_BIDDER_ANSWER || end == CD_BIDDER_NONE) {
        x->fails = 0;
        x->pause_ms = 0;
        x->paused_until_ns = 0;
    } else if (++x->fails >= FAILS_MAX) {
        x->pause_ms = x->pause_ms == 0 ? PAUSE_MIN_MS : x->pause_ms * 2;
        x->pause_ms = x->pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : x->pause_ms;
        x->paused_until_ns = now_ns + x->pause_ms * CD_NS_PER_MS;
    }
    cd_counter_add(x->ends[end], 1);
}

static void on_result(void *ctx, const cd_http_result *r)
{
    call *c = ctx;
    cd_bidder_end end = CD_BIDDER_BROKEN;
    cd_bytes body = {0};
    if (r->err == CD_ETIMEOUT) {
        end = CD_BIDDER_LATE;
    } else if (r->err == CD_OK && (r->status == 204 || (r->status == 200 && r->body.n == 0))) {
        end = CD_BIDDER_NONE;
    } else if (r->err == CD_OK && r->status == 200) {
        end = CD_BIDDER_ANSWER;
        body = r->body;
    }
    if (r->err == CD_OK) {
        note_time(c->of, r);
    }
    note_end(c->of, end, cd_clock_mono_ns(c->b->clock));
    c->fn(c->ctx, end, body, r->ms);
    cd_free(c);
}

void cd_bidders_call(cd_bidders *b, u32 n, const cd_adx_dsp *dsp, cd_bytes body, u32 time_ms, cd_bidder_fn *fn,
                     void *ctx)
{
    enum { OWN = 3, HEADERS_MAX = 64 };
    call *c = cd_new(call);
    cd_buf packed = {0};
    const char *headers[OWN + HEADERS_MAX] = {"Content-Type: application/json", dsp->version == CD_RTB_25
                                                                                    ? "x-openrtb-version: 2.5"
                                                                                    : "x-openrtb-version: 2.6"};
    usize cnt = 2;
    if (dsp->gzip && body.n >= GZIP_MIN) {
        cd_gzip_enc(&packed, body, CD_GZIP_FAST);
        headers[cnt++] = "Content-Encoding: gzip";
    }
    for (usize i = 0; i < dsp->headers_cnt && i < HEADERS_MAX; i++) {
        headers[cnt++] = dsp->headers[i];
    }
    const cd_http_ask ask = {
        .method = CD_HTTP_POST,
        .url = dsp->url,
        .headers = headers,
        .headers_cnt = cnt,
        .body = packed.n != 0 ? cd_buf_bytes(&packed) : body,
        .timeout_ms = time_ms,
        .body_max = CD_RTB_ANSWER_MAX,
    };
    *c = (call){.b = b, .of = b->v[n], .fn = fn, .ctx = ctx};
    c->http = cd_http_client_call(b->http, &ask, on_result, c);
    cd_buf_fini(&packed);
}

static int by_number(const void *a, const void *b)
{
    u32 x = *(const u32 *)a;
    u32 y = *(const u32 *)b;
    return (x > y) - (x < y);
}

void cd_bidders_look(const cd_bidders *b, u32 n, cd_bidder_view *out)
{
    const bidder *x = b->v[n];
    u32 ms[WINDOW];
    u64 now = cd_clock_mono_ns(b->clock);
    memcpy(ms, x->ms, sizeof ms);
    qsort(ms, x->ms_cnt, sizeof *ms, by_number);
    *out = (cd_bidder_view){
        .answered = cd_counter_get(x->ends[CD_BIDDER_ANSWER]) + cd_counter_get(x->ends[CD_BIDDER_NONE]),
        .late = cd_counter_get(x->ends[CD_BIDDER_LATE]),
        .broken = cd_counter_get(x->ends[CD_BIDDER_BROKEN]),
        .p50_ms = x->ms_cnt == 0 ? 0 : ms[x->ms_cnt / 2],
        .p95_ms = x->ms_cnt == 0 ? 0 : ms[(x->ms_cnt * 95 - 1) / 100],
        .pause_ms = x->paused_until_ns > now ? (x->paused_until_ns - now) / CD_NS_PER_MS : 0,
    };
    out->asked = out->answered + out->late + out->broken;
}
