/* Payloads, and the queue of frames that wait for the transport. */
#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "net/ws/handshake.h"
#include "net/ws/ws_priv.h"

#include <stdatomic.h>

enum {
    DEFLATE_MIN = 1024,      /* smaller bodies are not worth it */
    WRITE_MAX = 1024 * 1024, /* bytes of one write, which has to be taken in write_ms */
    WINDOWS = CD_WS_WINDOW_BITS_MAX - CD_WS_WINDOW_BITS_MIN + 1,
};

/* The bytes are frozen. The rest belongs to the loop that sends them: the compressed forms, one for each
 * window that a client demanded (all but odd clients: the largest). */
struct cd_ws_payload {
    atomic_uint refs;
    u32 queues; /* in how many it is */
    cd_buf bytes;
    cd_buf *deflated; /* [WINDOWS]; NULL before the first */
};

cd_ws_payload *cd_ws_payload_take(cd_buf *b)
{
    cd_ws_payload *p = cd_new(cd_ws_payload);
    atomic_init(&p->refs, 1);
    p->bytes = *b;
    *b = (cd_buf){0};
    return p;
}

cd_ws_payload *cd_ws_payload_new(cd_bytes bytes)
{
    cd_buf b = {0};
    cd_buf_put(&b, bytes);
    return cd_ws_payload_take(&b);
}

cd_ws_payload *cd_ws_payload_ref(cd_ws_payload *p)
{
    (void)atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void cd_ws_payload_unref(cd_ws_payload *p)
{
    if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (u32 i = 0; p->deflated != NULL && i < WINDOWS; i++) {
        cd_buf_fini(&p->deflated[i]);
    }
    cd_free(p->deflated);
    cd_buf_fini(&p->bytes);
    cd_free(p);
}

cd_bytes cd_ws_payload_bytes(const cd_ws_payload *p)
{
    return cd_buf_bytes(&p->bytes);
}

static cd_bytes payload_deflated(cd_ws_payload *p, cd_ws_deflater *d, u32 bits)
{
    if (p->deflated == NULL) {
        p->deflated = cd_new_array(cd_buf, WINDOWS);
    }
    cd_buf *b = &p->deflated[bits - CD_WS_WINDOW_BITS_MIN];
    if (b->n == 0) {
        cd_ws_deflate(d, b, bits, cd_buf_bytes(&p->bytes));
    }
    return cd_buf_bytes(b);
}

void cd__ws_put(cd_ws *w, const cd_ws_frame *frame, cd_bytes head, cd_ws_payload *body, cd_bytes tail)
{
    cd_ws_frame f = *frame;
    u8 enc[CD_WS_FRAME_HEAD_MAX];
    bool is_client = !w->rules.from_client;
    f.is_fin = true;
    f.is_masked = is_client;
    f.len = head.n + tail.n;
    if (is_client) {
        cd_rng os = cd_rng_os();
        cd_rng_fill(&os, f.key, sizeof f.key);
    }
    usize enc_n = cd_ws_frame_enc(enc, &f);
    usize own = enc_n + head.n + (is_client ? tail.n : 0);
    cd__ws_out *o = cd_alloc(sizeof *o + own);
    *o = (cd__ws_out){.head_n = own};
    memcpy(o->head, enc, enc_n);
    if (head.n != 0) {
        memcpy(o->head + enc_n, head.p, head.n);
    }
    if (is_client) {
        /* A mask of its own for every frame: nothing can be shared. */
        cd_ws_mask(o->head + enc_n, o->head + enc_n, head.n, f.key, 0);
        cd_ws_mask(o->head + enc_n + head.n, tail.p, tail.n, f.key, head.n);
    } else if (tail.n != 0) {
        o->body = cd_ws_payload_ref(body);
        o->tail = tail;
        w->hub->waiting += body->queues++ == 0 ? body->bytes.n : 0;
    }
    w->hub->waiting += sizeof *o + own;
    if (w->last == NULL) {
        w->first = o;
    } else {
        w->last->next = o;
    }
    w->last = o;
    w->queued += o->head_n + o->tail.n;
}

cd_err cd_ws_send(cd_ws *w, cd_ws_kind kind, cd_bytes head, cd_ws_payload *body)
{
    CD_ASSERT(head.n <= CD_WS_HEAD_MAX);
    if (w->state != CD__WS_OPEN) {
        return CD_ECLOSED;
    }
    if (cd__ws_is_full(w)) {
        w->is_full = true;
        return CD_EFULL;
    }
    cd_ws_frame f = {.op = (cd_ws_op)kind};
    cd_bytes tail = body == NULL ? (cd_bytes){0} : cd_buf_bytes(&body->bytes);
    if (w->window_bits != 0 && tail.n >= DEFLATE_MIN) {
        cd_bytes z = payload_deflated(body, w->hub->deflater, w->window_bits);
        if (z.n + CD_WS_STORED_HEAD < tail.n) {
            u8 stored[CD_WS_STORED_HEAD + CD_WS_HEAD_MAX];
            usize n = 0;
            if (head.n != 0) {
                cd_ws_stored_enc(stored, (u16)head.n);
                memcpy(stored + CD_WS_STORED_HEAD, head.p, head.n);
                n = CD_WS_STORED_HEAD + head.n;
            }
            f.is_deflated = true;
            cd__ws_put(w, &f, cd_bytes_of(stored, n), body, z);
            cd__ws_flush(w);
            return CD_OK;
        }
    }
    cd__ws_put(w, &f, head, body, tail);
    cd__ws_flush(w);
    return CD_OK;
}

cd_err cd_ws_send_bytes(cd_ws *w, cd_ws_kind kind, cd_bytes message)
{
    if (message.n <= CD_WS_HEAD_MAX && (w->window_bits == 0 || message.n < DEFLATE_MIN)) {
        return cd_ws_send(w, kind, message, NULL);
    }
    cd_ws_payload *p = cd_ws_payload_new(message);
    cd_err err = cd_ws_send(w, kind, (cd_bytes){0}, p);
    cd_ws_payload_unref(p);
    return err;
}

usize cd_ws_queued(const cd_ws *w)
{
    return w->queued;
}

bool cd__ws_is_full(const cd_ws *w)
{
    const cd_ws_hub *h = w->hub;
    return w->queued >= h->cfg.queue_max || (w->queued != 0 && h->waiting >= h->cfg.output_max);
}

bool cd__ws_has_room(const cd_ws *w)
{
    const cd_ws_hub *h = w->hub;
    return w->queued <= h->cfg.queue_max / 2 && (w->queued == 0 || h->waiting < h->cfg.output_max);
}

static void first_drop(cd_ws *w)
{
    cd__ws_out *o = w->first;
    w->first = o->next;
    if (w->first == NULL) {
        w->last = NULL;
    }
    w->hub->waiting -= sizeof *o + o->head_n;
    if (o->body != NULL) {
        w->hub->waiting -= --o->body->queues == 0 ? o->body->bytes.n : 0;
        cd_ws_payload_unref(o->body);
    }
    cd_free(o);
}

void cd__ws_queue_fini(cd_ws *w)
{
    while (w->first != NULL) {
        first_drop(w);
    }
    w->queued = 0;
    w->sent = 0;
}

/* n bytes have left. */
static void consume(cd_ws *w, usize n)
{
    w->queued -= n;
    w->sent += n;
    while (w->first != NULL && w->sent >= w->first->head_n + w->first->tail.n) {
        w->sent -= w->first->head_n + w->first->tail.n;
        first_drop(w);
    }
}

/* Appends what is behind `skip` of b, as far as *left allows; gives what is to skip of the rest. */
static usize part_add(cd_bytes *parts, usize *cnt, usize *left, cd_bytes b, usize skip)
{
    if (skip >= b.n) {
        return skip - b.n;
    }
    usize n = b.n - skip < *left ? b.n - skip : *left;
    parts[(*cnt)++] = cd_bytes_sub(b, skip, n);
    *left -= n;
    return 0;
}

/* The next write: gives its size. */
static usize parts_build(const cd_ws *w, cd_bytes parts[CD_TCP_PARTS_MAX], usize *cnt)
{
    usize left = WRITE_MAX;
    usize skip = w->sent;
    *cnt = 0;
    for (const cd__ws_out *o = w->first; o != NULL && left != 0 && *cnt + 2 <= CD_TCP_PARTS_MAX; o = o->next) {
        skip = part_add(parts, cnt, &left, cd_bytes_of(o->head, o->head_n), skip);
        if (left != 0) {
            skip = part_add(parts, cnt, &left, o->tail, skip);
        }
    }
    return WRITE_MAX - left;
}

void cd__ws_flush(cd_ws *w)
{
    if (w->corks != 0 || w->flying != 0 || w->first == NULL || w->state == CD__WS_DEAD) {
        return;
    }
    while (w->first != NULL) {
        cd_bytes parts[CD_TCP_PARTS_MAX];
        usize cnt;
        usize n = parts_build(w, parts, &cnt);
        cd_err err = w->ops->write(w->io, parts, cnt);
        if (err == CD_EAGAIN) {
            w->flying = n;
            w->write_ms = cd_loop_now_ms(w->hub->loop);
            break;
        }
        if (err != CD_OK) {
            cd_ws_abort(w);
            return;
        }
        consume(w, n);
    }
    cd__ws_flushed(w);
}

void cd__ws_on_written(cd_ws *w, cd_err err)
{
    usize n = w->flying;
    w->flying = 0;
    if (err != CD_OK) {
        cd_ws_abort(w);
        return;
    }
    consume(w, n);
    if (w->first != NULL) {
        cd__ws_flush(w);
    } else {
        cd__ws_flushed(w);
    }
}

void cd_ws_cork(cd_ws *w)
{
    w->corks++;
}

void cd_ws_uncork(cd_ws *w)
{
    CD_ASSERT(w->corks != 0);
    w->corks--;
    cd__ws_flush(w);
}
