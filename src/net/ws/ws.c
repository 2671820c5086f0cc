#include "net/ws/ws.h"

#include "base/mem/mem.h"
#include "net/ws/ws_priv.h"

enum { SWEEP_MAX_MS = 1000 };

static const cd_bytes none;

/* Has the connection looked at as soon as no event is being handled. */
static void schedule(cd_ws *w)
{
    cd_ws_hub *h = w->hub;
    if (cd_list_is_empty(&w->ready) && w->state != CD__WS_DEAD) {
        if (cd_list_is_empty(&h->ready)) {
            cd_timer_start(h->feed, 0, 0);
        }
        cd_list_push_back(&h->ready, &w->ready);
    }
}

/* --- closing --- */

/* Notes why the connection ends; the first reason stays. */
static void reason_set(cd_ws *w, u16 code, cd_bytes reason)
{
    if (w->code == 0) {
        CD_ASSERT(reason.n <= sizeof w->reason);
        w->code = code;
        w->reason_n = (u8)reason.n;
        if (reason.n != 0) {
            memcpy(w->reason, reason.p, reason.n);
        }
    }
}

/* What fits into a Close frame, without a part of a character at its end. */
static cd_bytes reason_cut(cd_bytes reason)
{
    if (reason.n > CD_WS_CONTROL_MAX - 2) {
        reason.n = CD_WS_CONTROL_MAX - 2;
        while (reason.n != 0 && (reason.p[reason.n] & 0xc0) == 0x80) {
            reason.n--;
        }
    }
    return reason;
}

static void put_close(cd_ws *w, u16 code, cd_bytes reason)
{
    u8 payload[CD_WS_CONTROL_MAX];
    usize n = 0;
    if (code != CD_WS_NO_CODE) {
        cd_put_be16(payload, code);
        n = 2;
        if (reason.n != 0) {
            memcpy(payload + n, reason.p, reason.n);
            n += reason.n;
        }
    }
    const cd_ws_frame f = {.op = CD_WS_OP_CLOSE};
    cd__ws_put(w, &f, cd_bytes_of(payload, n), NULL, none);
}

/* No more input counts. Goes on when the queue is empty, which may be now. */
static void end_begin(cd_ws *w)
{
    w->state = CD__WS_ENDING;
    w->end_ms = 0;
    cd__ws_message_drop(w);
    if (w->first == NULL) {
        cd__ws_flushed(w);
    } else {
        cd__ws_flush(w);
    }
}

void cd__ws_fail(cd_ws *w, u16 code, const char *text)
{
    if (w->state >= CD__WS_ENDING) {
        return;
    }
    reason_set(w, code, cd_bytes_str(text));
    if (w->state == CD__WS_OPEN) {
        put_close(w, code, cd_bytes_str(text));
    }
    end_begin(w);
}

void cd__ws_peer_close(cd_ws *w, cd_bytes payload)
{
    u16 code = CD_WS_NO_CODE;
    cd_bytes reason = none;
    if (payload.n != 0) {
        cd_utf8 s = {0};
        reason = payload.n < 2 ? none : cd_bytes_sub(payload, 2, payload.n - 2);
        code = payload.n < 2 ? 0 : cd_be16(payload.p);
        if (!cd_ws_code_ok(code)) {
            cd__ws_fail(w, CD_WS_PROTOCOL, "invalid close code");
            return;
        }
        if (!cd_utf8_feed(&s, reason) || !cd_utf8_is_end(&s)) {
            cd__ws_fail(w, CD_WS_BAD_DATA, "close reason is not UTF-8");
            return;
        }
    }
    reason_set(w, code, reason);
    if (w->state == CD__WS_OPEN) {
        put_close(w, code, none);
    }
    end_begin(w);
}

void cd_ws_close(cd_ws *w, u16 code, cd_bytes reason)
{
    CD_ASSERT(cd_ws_code_ok(code));
    if (w->state == CD__WS_OPEN) {
        put_close(w, code, reason_cut(reason));
        w->state = CD__WS_CLOSING;
        w->is_paused = false; /* the peer's Close frame has to be read */
        cd__ws_message_drop(w);
        if (w->is_io_paused) {
            schedule(w);
        }
        cd__ws_flush(w);
    }
}

void cd_ws_abort(cd_ws *w)
{
    if (w->state != CD__WS_DEAD) {
        w->state = CD__WS_DEAD;
        w->ops->close(w->io);
    }
}

static void io_pause(cd_ws *w)
{
    if (!w->is_io_paused) {
        w->is_io_paused = true;
        w->ops->pause(w->io);
    }
}

static void io_resume(cd_ws *w)
{
    if (w->is_io_paused && w->state != CD__WS_DEAD) {
        w->is_io_paused = false;
        w->heard_ms = cd_loop_now_ms(w->hub->loop); /* it could not make itself heard */
        w->ops->resume(w->io);
    }
}

void cd__ws_on_data(cd_ws *w, cd_bytes data)
{
    if (w->state >= CD__WS_ENDING) {
        return;
    }
    w->heard_ms = cd_loop_now_ms(w->hub->loop);
    w->is_pinged = false;
    if (w->kept.n == w->kept_at) {
        data = cd__ws_pump(w, data);
    }
    if (data.n != 0) {
        cd_buf_put(&w->kept, data);
    }
    if (w->state <= CD__WS_CLOSING && cd__ws_is_blocked(w)) {
        io_pause(w);
    }
}

/* Goes on with what was kept, and then with the transport. */
static void input_resume(cd_ws *w)
{
    cd_bytes rest = cd_bytes_sub(cd_buf_bytes(&w->kept), w->kept_at, w->kept.n - w->kept_at);
    w->kept_at = w->kept.n - cd__ws_pump(w, rest).n;
    if (w->kept_at == w->kept.n) {
        cd_buf_fini(&w->kept);
        w->kept_at = 0;
        if (w->state >= CD__WS_ENDING || !cd__ws_is_blocked(w)) {
            io_resume(w);
        }
    }
}

static void on_feed(void *ctx)
{
    cd_ws_hub *h = ctx;
    cd_list now; /* this round's; connections that become ready meanwhile wait for the next */
    cd_list_init(&now);
    while (!cd_list_is_empty(&h->ready)) {
        cd_list *it = h->ready.next;
        cd_list_del(it);
        cd_list_push_back(&now, it);
    }
    while (!cd_list_is_empty(&now)) {
        cd_ws *w = cd_list_of(now.next, cd_ws, ready);
        cd_list_del(&w->ready);
        if (w->is_full && w->state == CD__WS_OPEN && cd__ws_has_room(w)) {
            w->is_full = false;
            if (w->events->drained != NULL) {
                w->events->drained(w->ctx, w);
            }
        }
        if (w->state != CD__WS_DEAD) {
            input_resume(w);
        }
    }
}

void cd_ws_pause(cd_ws *w)
{
    if (w->state == CD__WS_OPEN) {
        w->is_paused = true;
    }
}

void cd_ws_resume(cd_ws *w)
{
    if (w->is_paused) {
        w->is_paused = false;
        schedule(w);
    }
}

/* --- the transport --- */

void cd__ws_flushed(cd_ws *w)
{
    if (cd__ws_has_room(w) && (w->is_full || (w->is_io_paused && !w->is_paused))) {
        schedule(w);
    }
    if (w->first != NULL || w->state < CD__WS_CLOSING || w->end_ms != 0) {
        return;
    }
    w->end_ms = cd_loop_now_ms(w->hub->loop) + w->hub->cfg.close_ms;
    if (w->state == CD__WS_ENDING) {
        if (w->has_ended) {
            cd_ws_abort(w);
        } else {
            w->ops->shutdown(w->io);
            io_resume(w);
        }
    }
}

void cd__ws_on_end(cd_ws *w, cd_err err)
{
    w->has_ended = true;
    /* What a peer still has to read after its own Close frame goes out before the end. */
    if (err != CD_OK || w->state != CD__WS_ENDING || w->first == NULL) {
        cd_ws_abort(w);
    }
}

void cd__ws_on_closed(cd_ws *w)
{
    w->state = CD__WS_DEAD;
    w->events->closed(w->ctx, w->code == 0 ? CD_WS_BROKEN : w->code, cd_bytes_of(w->reason, w->reason_n));
    cd__ws_drop(w);
}

void cd__ws_drop(cd_ws *w)
{
    cd_ws_hub *h = w->hub;
    w->state = CD__WS_DEAD;
    cd__ws_message_drop(w);
    cd_buf_fini(&w->kept);
    cd__ws_queue_fini(w);
    cd_list_del(&w->ready);
    cd_list_del(&w->link);
    h->conns_cnt--;
    if (h->conns_cnt == 0) {
        cd_timer_stop(h->sweep);
    }
    cd_free(w);
}

cd_ws *cd__ws_new(cd_ws_hub *h, cd_ws_rules rules, u32 window_bits, const cd_ws_events *events, void *ctx)
{
    cd_ws *w = cd_new(cd_ws);
    w->hub = h;
    w->rules = rules;
    w->window_bits = window_bits;
    w->events = events;
    w->ctx = ctx;
    w->heard_ms = cd_loop_now_ms(h->loop);
    cd_list_init(&w->ready);
    cd_list_push_back(&h->conns, &w->link);
    if (h->conns_cnt++ == 0) {
        cd_timer_start(h->sweep, h->sweep_ms, h->sweep_ms);
    }
    return w;
}

void cd__ws_attach(cd_ws *w, const cd__ws_io *ops, void *io)
{
    w->ops = ops;
    w->io = io;
}

/* --- the hub --- */

static void sweep_one(cd_ws *w, u64 now)
{
    const cd_ws_cfg *cfg = &w->hub->cfg;
    if (w->flying != 0 && now - w->write_ms >= cfg->write_ms) {
        cd_ws_abort(w);
    } else if (w->end_ms != 0) {
        if (now >= w->end_ms) {
            cd_ws_abort(w);
        }
    } else if (w->state == CD__WS_OPEN && !w->is_io_paused) {
        u64 silent = now - w->heard_ms;
        if (silent >= (u64)cfg->ping_ms + cfg->pong_ms) {
            cd_ws_abort(w);
        } else if (silent >= cfg->ping_ms && !w->is_pinged) {
            const cd_ws_frame f = {.op = CD_WS_OP_PING};
            w->is_pinged = true;
            cd__ws_put(w, &f, none, NULL, none);
            cd__ws_flush(w);
        }
    }
}

static void on_sweep(void *ctx)
{
    cd_ws_hub *h = ctx;
    u64 now = cd_loop_now_ms(h->loop);
    cd_list_each(it, &h->conns)
    { /* connections leave the list only in cd__ws_on_closed */
        cd_ws *w = cd_list_of(it, cd_ws, link);
        if (w->state != CD__WS_DEAD) {
            sweep_one(w, now);
        }
    }
}

static u32 or_default(u32 v, u32 dflt)
{
    return v == 0 ? dflt : v;
}

cd_ws_hub *cd_ws_hub_new(cd_loop *loop, const cd_ws_cfg *cfg)
{
    static const cd_ws_cfg defaults;
    const usize mib = (usize)1024 * 1024;
    cd_ws_hub *h = cd_new(cd_ws_hub);
    cd_ws_cfg *c = &h->cfg;
    *c = cfg == NULL ? defaults : *cfg;
    c->message_max = c->message_max == 0 ? 32 * mib : c->message_max;
    c->fragments_max = or_default(c->fragments_max, 65536);
    c->input_max = c->input_max == 0 ? 512 * mib : c->input_max;
    c->queue_max = c->queue_max == 0 ? 16 * mib : c->queue_max;
    c->output_max = c->output_max == 0 ? 512 * mib : c->output_max;
    c->ping_ms = or_default(c->ping_ms, 30000);
    c->pong_ms = or_default(c->pong_ms, 30000);
    c->write_ms = or_default(c->write_ms, 30000);
    c->close_ms = or_default(c->close_ms, 5000);
    h->loop = loop;
    cd_list_init(&h->conns);
    cd_list_init(&h->ready);
    h->feed = cd_timer_new(loop, on_feed, h);
    h->sweep = cd_timer_new(loop, on_sweep, h);
    /* A time-out is noticed at most a quarter late. */
    u64 shortest = cd_min_u64(cd_min_u64(c->ping_ms, c->pong_ms), cd_min_u64(c->write_ms, c->close_ms));
    h->sweep_ms = cd_min_u64(cd_max_u64(shortest / 4, 1), SWEEP_MAX_MS);
    h->deflater = cd_ws_deflater_new();
    h->scratch = cd_alloc(CD__WS_SCRATCH);
    return h;
}

void cd_ws_hub_free(cd_ws_hub *h)
{
    if (h == NULL) {
        return;
    }
    CD_ASSERT(h->conns_cnt == 0);
    cd_timer_free(h->feed);
    cd_timer_free(h->sweep);
    cd_ws_deflater_free(h->deflater);
    cd_ws_inflater_free(h->spare);
    cd_tls_free(h->tls);
    cd_free(h->scratch);
    cd_free(h);
}

usize cd_ws_hub_count(const cd_ws_hub *h)
{
    return h->conns_cnt;
}
