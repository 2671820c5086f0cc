#include "net/http/sse.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/table/list.h"
#include "net/http/stream.h"

#include <stdio.h>

enum {
    LISTENERS_MAX = 1000,
    KEPT_MAX = 256 * 1024,
    QUEUE_MAX = 64 * 1024,
    BEAT_MS = 15000,
    RETRY_MS = 3000,
};

typedef struct listener {
    cd_list link;
    cd_sse *hub;
    cd_http_stream *stream;
    cd_sse_wants *wants;
    void *ctx;
    u64 told_ms; /* when something was last written */
} listener;

/* An event that is kept; its text follows. */
typedef struct event {
    cd_list link;
    u64 seq;
    u64 topic;
    usize n;
    u8 text[];
} event;

struct cd_sse {
    cd_loop *loop;
    cd_sse_cfg cfg;
    u64 epoch;
    u64 seq; /* number of the newest event */
    cd_list listeners;
    usize cnt;
    cd_list events; /* oldest first */
    usize kept;
    cd_timer *beat;
    cd_buf text;
};

/* Writes to a listener; who does not keep up is cut off. */
static void tell(listener *l, cd_bytes text)
{
    l->told_ms = cd_loop_now_ms(l->hub->loop);
    if (cd_http_stream_write(l->stream, text) == CD_EFULL) {
        cd_http_stream_cut(l->stream);
    }
}

static void on_beat(void *ctx)
{
    cd_sse *e = ctx;
    u64 now = cd_loop_now_ms(e->loop);
    cd_list_each(it, &e->listeners)
    {
        listener *l = cd_list_of(it, listener, link);
        if (now - l->told_ms >= e->cfg.beat_ms) {
            tell(l, cd_bytes_str(":\n\n"));
        }
    }
}

cd_sse *cd_sse_new(cd_loop *loop, const cd_sse_cfg *cfg, u64 epoch)
{
    cd_sse *e = cd_new(cd_sse);
    e->loop = loop;
    e->cfg = (cd_sse_cfg){
        .listeners_max = cfg->listeners_max == 0 ? LISTENERS_MAX : cfg->listeners_max,
        .kept_max = cfg->kept_max == 0 ? KEPT_MAX : cfg->kept_max,
        .queue_max = cfg->queue_max == 0 ? QUEUE_MAX : cfg->queue_max,
        .beat_ms = cfg->beat_ms == 0 ? BEAT_MS : cfg->beat_ms,
        .retry_ms = cfg->retry_ms == 0 ? RETRY_MS : cfg->retry_ms,
    };
    e->epoch = epoch;
    cd_list_init(&e->listeners);
    cd_list_init(&e->events);
    e->beat = cd_timer_new(loop, on_beat, e);
    return e;
}

static void drop_oldest(cd_sse *e)
{
    event *x = cd_list_of(cd_list_first(&e->events), event, link);
    e->kept -= sizeof *x + x->n;
    cd_list_del(&x->link);
    cd_free(x);
}

void cd_sse_free(cd_sse *e)
{
    if (e == NULL) {
        return;
    }
    cd_list_each_safe(it, &e->listeners)
    {
        listener *l = cd_list_of(it, listener, link);
        cd_list_del(&l->link);
        l->hub = NULL; /* `closed` is still to come */
        cd_http_stream_cut(l->stream);
    }
    while (!cd_list_is_empty(&e->events)) {
        drop_oldest(e);
    }
    cd_timer_free(e->beat);
    cd_buf_fini(&e->text);
    cd_free(e);
}

/* --- listeners --- */

static void on_closed(void *ctx)
{
    listener *l = ctx;
    cd_sse *e = l->hub;
    cd_list_del(&l->link);
    if (e != NULL && --e->cnt == 0) {
        cd_timer_stop(e->beat);
    }
    cd_free(l->ctx);
    cd_free(l);
}

/* Reads "<epoch>-<seq>". False: it is none of this run, or of an event that is still to come. */
static bool id_parse(const cd_sse *e, u64 *seq, cd_bytes id)
{
    u64 epoch;
    const u8 *dash = id.n == 0 ? NULL : memchr(id.p, '-', id.n);
    if (dash == NULL) {
        return false;
    }
    usize n = (usize)(dash - id.p);
    return cd_u64_parse(&epoch, cd_bytes_sub(id, 0, n)) == CD_OK && epoch == e->epoch &&
           cd_u64_parse(seq, cd_bytes_sub(id, n + 1, id.n - n - 1)) == CD_OK && *seq <= e->seq;
}

/* Tells a listener that has seen the events up to `last` what it has missed. */
static void catch_up(listener *l, cd_bytes last)
{
    cd_sse *e = l->hub;
    cd_list *first = cd_list_first(&e->events);
    u64 kept_from = first == NULL ? e->seq + 1 : cd_list_of(first, event, link)->seq;
    u64 seen;
    if (!id_parse(e, &seen, last) || seen + 1 < kept_from) {
        cd_buf_clear(&e->text);
        cd_buf_fmt(&e->text, "id: %llu-%llu\nevent: gap\ndata: {}\n\n", (unsigned long long)e->epoch,
                   (unsigned long long)e->seq);
        tell(l, cd_buf_bytes(&e->text));
        return;
    }
    cd_list_each(it, &e->events)
    {
        const event *x = cd_list_of(it, event, link);
        if (x->seq > seen && (l->wants == NULL || l->wants(l->ctx, x->topic))) {
            tell(l, cd_bytes_of(x->text, x->n));
        }
    }
}

bool cd_sse_listen(cd_sse *e, cd_http_req *r, cd_sse_wants *wants, void *ctx)
{
    static const cd_http_stream_events events = {.closed = on_closed};
    if (e->cnt >= e->cfg.listeners_max) {
        return false;
    }
    cd_buf last = {0}; /* the request goes before it is used */
    cd_bytes header = cd_http_req_header(r, "last-event-id");
    cd_buf_put(&last, header);
    listener *l = cd_new(listener);
    *l = (listener){.hub = e, .wants = wants, .ctx = ctx};
    cd_http_req_add_header(r, "Cache-Control", "no-store");
    cd_http_req_add_header(r, "X-Accel-Buffering", "no"); /* nginx in between would hold events back */
    usize queue = cd_max_u64(e->cfg.queue_max, e->cfg.kept_max + 1024);
    l->stream = cd_http_req_stream(r, 200, "text/event-stream", queue, &events, l);
    if (l->stream == NULL) {
        cd_free(l->ctx);
        cd_free(l);
    } else {
        char hello[64];
        int n = snprintf(hello, sizeof hello, "retry: %u\n\n", e->cfg.retry_ms);
        cd_list_push_back(&e->listeners, &l->link);
        if (e->cnt++ == 0) {
            cd_timer_start(e->beat, cd_max_u64(e->cfg.beat_ms / 2, 1), cd_max_u64(e->cfg.beat_ms / 2, 1));
        }
        tell(l, cd_bytes_of(hello, (usize)n));
        if (header.p != NULL) {
            catch_up(l, cd_buf_bytes(&last));
        }
    }
    cd_buf_fini(&last);
    return true;
}

/* --- events --- */

static bool is_line_end(u8 c)
{
    return c == '\n' || c == '\r';
}

static void format(cd_sse *e, const char *name, cd_bytes data)
{
    cd_buf *b = &e->text;
    cd_buf_clear(b);
    cd_buf_fmt(b, "id: %llu-%llu\n", (unsigned long long)e->epoch, (unsigned long long)e->seq);
    if (name[0] != '\0') {
        cd_buf_fmt(b, "event: %s\n", name);
    }
    do {
        usize n = 0;
        while (n < data.n && !is_line_end(data.p[n])) {
            n++;
        }
        cd_buf_str(b, "data: ");
        cd_buf_put(b, cd_bytes_sub(data, 0, n));
        cd_buf_u8(b, '\n');
        n += n + 1 < data.n && data.p[n] == '\r' && data.p[n + 1] == '\n' ? 2 : 1;
        n = cd_min_u64(n, data.n);
        data = cd_bytes_sub(data, n, data.n - n);
    } while (data.n != 0);
    cd_buf_u8(b, '\n');
}

static void keep(cd_sse *e, u64 topic)
{
    usize n = e->text.n;
    if (sizeof(event) + n > e->cfg.kept_max) {
        while (!cd_list_is_empty(&e->events)) { /* who missed it has a gap */
            drop_oldest(e);
        }
        return;
    }
    event *x = cd_alloc(sizeof *x + n);
    x->seq = e->seq;
    x->topic = topic;
    x->n = n;
    memcpy(x->text, e->text.p, n);
    cd_list_push_back(&e->events, &x->link);
    e->kept += sizeof *x + n;
    while (e->kept > e->cfg.kept_max) {
        drop_oldest(e);
    }
}

void cd_sse_send(cd_sse *e, u64 topic, const char *name, cd_bytes data)
{
    e->seq++;
    format(e, name, data);
    keep(e, topic);
    cd_list_each(it, &e->listeners)
    { /* listeners leave the list only in on_closed */
        listener *l = cd_list_of(it, listener, link);
        if (l->wants == NULL || l->wants(l->ctx, topic)) {
            tell(l, cd_buf_bytes(&e->text));
        }
    }
}

usize cd_sse_cnt(const cd_sse *e)
{
    return e->cnt;
}
