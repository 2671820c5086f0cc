#include "chains/xvm/events.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "chains/xvm/filter.h"
#include "codec/api_json.h"
#include "net/ws/ws.h"

enum {
    PING_MS = 54000,
    PONG_MS = 60000 - PING_MS,
    WRITE_MS = 10000,
    QUEUE_MAX = 64 << 10, /* bytes that wait for one listener */
};

/* A transaction with the addresses that it pays. */
typedef struct event {
    cd_list node;
    cd_hash32 id;
    usize cnt;
    cd_addr20 addrs[];
} event;

struct cd_xvm_events {
    cd_loop *loop;
    cd_mutex mu; /* of these six */
    cd_list queue;
    usize queued; /* bytes */
    usize listeners;
    bool is_posted;
    bool is_closed;
    bool is_leaving;
    cd_loop_task task;
    cd_ws_hub *hub; /* these three: on the loop */
    cd_list open;
    usize filter_bytes;
};

/* One connection. */
typedef struct listener {
    cd_list node;
    cd_xvm_events *ev;
    cd_ws *ws;
    cd_xvm_filter *filter;
} listener;

/* --- telling --- */

static bool wants(const listener *l, const event *e)
{
    for (usize i = 0; i < e->cnt; i++) {
        if (cd_xvm_filter_wants(l->filter, &e->addrs[i])) {
            return true;
        }
    }
    return false;
}

static void tell(cd_xvm_events *ev, const event *e)
{
    cd_ws_payload *said = NULL;
    cd_list_each_safe(it, &ev->open)
    {
        listener *l = cd_list_of(it, listener, node);
        if (!wants(l, e)) {
            continue;
        }
        if (said == NULL) {
            cd_buf text = {0};
            cd_json_w w = {.out = &text};
            cd_json_w_obj(&w);
            cd_json_put_id(&w, "txID", &e->id);
            cd_json_w_obj_end(&w);
            said = cd_ws_payload_take(&text);
        }
        (void)!cd_ws_send(l->ws, CD_WS_TEXT, (cd_bytes){0}, said); /* who is slow misses it */
    }
    cd_ws_payload_unref(said);
}

static void free_events(cd_list *queue)
{
    cd_list_each_safe(it, queue)
    {
        cd_free(cd_list_of(it, event, node));
    }
    cd_list_init(queue);
}

static void destroy(cd_xvm_events *ev)
{
    free_events(&ev->queue);
    cd_mutex_fini(&ev->mu);
    cd_free(ev);
}

/* Moves what waits out of the queue. */
static void take_queue(cd_xvm_events *ev, cd_list *out)
{
    cd_list_init(out);
    cd_list_each_safe(it, &ev->queue)
    {
        cd_list_del(it);
        cd_list_push_back(out, it);
    }
    ev->queued = 0;
}

static void on_loop(cd_loop_task *task)
{
    cd_xvm_events *ev = cd_list_of(task, cd_xvm_events, task);
    cd_list queue;
    cd_mutex_lock(&ev->mu);
    ev->is_posted = false;
    bool is_closed = ev->is_closed;
    take_queue(ev, &queue);
    cd_mutex_unlock(&ev->mu);
    cd_list_each(it, &queue)
    {
        tell(ev, cd_list_of(it, event, node));
    }
    free_events(&queue);
    if (is_closed) {
        destroy(ev);
    }
}

static event *event_of(const cd_xvm_tx *t)
{
    cd_arena a = {0};
    cd_utxo *made;
    usize cnt = cd_xvm_tx_makes(&made, &a, t);
    usize addrs = 0;
    for (usize i = 0; i < cnt; i++) {
        addrs += cd_utxo_owners(&made[i].out)->addrs.cnt;
    }
    event *e = cd_alloc(sizeof *e + addrs * sizeof(cd_addr20));
    e->id = t->id;
    for (usize i = 0; i < cnt; i++) {
        const cd_linear_list *of = &cd_utxo_owners(&made[i].out)->addrs;
        if (of->cnt > 0) {
            memcpy(&e->addrs[e->cnt], of->v, of->cnt * sizeof(cd_addr20));
        }
        e->cnt += of->cnt;
    }
    cd_arena_fini(&a);
    return e;
}

void cd_xvm_events_accepted(cd_xvm_events *ev, const cd_xvm_tx *t)
{
    cd_mutex_lock(&ev->mu);
    bool is_heard = ev->listeners > 0 && ev->queued < CD_XVM_EVENTS_BYTES;
    cd_mutex_unlock(&ev->mu);
    if (!is_heard) {
        return;
    }
    event *e = event_of(t);
    cd_mutex_lock(&ev->mu);
    cd_list_push_back(&ev->queue, &e->node);
    ev->queued += sizeof *e + e->cnt * sizeof(cd_addr20);
    bool posts = !ev->is_posted;
    ev->is_posted = true;
    cd_mutex_unlock(&ev->mu);
    if (posts) {
        cd_loop_post(ev->loop, &ev->task);
    }
}

/* --- listeners --- */

static void count(cd_xvm_events *ev, bool more)
{
    cd_mutex_lock(&ev->mu);
    ev->listeners += more ? 1u : (usize)-1;
    cd_mutex_unlock(&ev->mu);
}

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    listener *l = ctx;
    cd_buf error = {0};
    (void)kind;
    if (!cd_xvm_filter_command(l->filter, &error, data)) {
        if (error.n > 0) {
            (void)!cd_ws_send_bytes(w, CD_WS_TEXT, cd_buf_bytes(&error));
        }
        cd_ws_close(w, CD_WS_NORMAL, (cd_bytes){0});
    }
    cd_buf_fini(&error);
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    listener *l = ctx;
    (void)code;
    (void)reason;
    count(l->ev, false);
    cd_list_del(&l->node);
    cd_xvm_filter_free(l->filter);
    cd_free(l);
}

static const cd_ws_events events = {.message = on_message, .closed = on_closed};

static cd_ws_hub *hub_of(cd_xvm_events *ev)
{
    static const cd_ws_cfg cfg = {.message_max = CD_XVM_COMMAND_MAX,
                                  .queue_max = QUEUE_MAX,
                                  .ping_ms = PING_MS,
                                  .pong_ms = PONG_MS,
                                  .write_ms = WRITE_MS};
    if (ev->hub == NULL) {
        ev->hub = cd_ws_hub_new(ev->loop, &cfg);
    }
    return ev->hub;
}

void cd_xvm_events_serve(void *ctx, cd_http_req *req)
{
    cd_xvm_events *ev = ctx;
    if (ev->is_leaving || (ev->hub != NULL && cd_ws_hub_count(ev->hub) >= CD_XVM_LISTENERS_MAX)) {
        cd_http_reply_error(req, 503, "too many listeners");
        return;
    }
    listener *l = cd_new(listener);
    l->ev = ev;
    l->filter = cd_xvm_filter_new(&ev->filter_bytes);
    l->ws = cd_ws_accept(hub_of(ev), req, &events, l);
    if (l->ws == NULL) {
        cd_xvm_filter_free(l->filter);
        cd_free(l);
        return;
    }
    cd_list_push_back(&ev->open, &l->node);
    count(ev, true);
}

/* --- beginning and end --- */

cd_xvm_events *cd_xvm_events_new(cd_loop *loop)
{
    cd_xvm_events *ev = cd_new(cd_xvm_events);
    ev->loop = loop;
    ev->task.fn = on_loop;
    cd_mutex_init(&ev->mu);
    cd_list_init(&ev->queue);
    cd_list_init(&ev->open);
    return ev;
}

void cd_xvm_events_leave(void *ctx)
{
    cd_xvm_events *ev = ctx;
    ev->is_leaving = true;
    cd_list_each_safe(it, &ev->open)
    {
        cd_ws_close(cd_list_of(it, listener, node)->ws, CD_WS_GOING_AWAY, (cd_bytes){0});
    }
}

bool cd_xvm_events_is_idle(void *ctx)
{
    cd_xvm_events *ev = ctx;
    if (ev->hub != NULL && cd_ws_hub_count(ev->hub) == 0 && ev->is_leaving) {
        cd_ws_hub_free(ev->hub);
        ev->hub = NULL;
    }
    return ev->hub == NULL;
}

void cd_xvm_events_close(cd_xvm_events *ev)
{
    if (ev == NULL) {
        return;
    }
    cd_mutex_lock(&ev->mu);
    ev->is_closed = true;
    bool waits = ev->is_posted; /* then the task is the last to see it */
    cd_mutex_unlock(&ev->mu);
    if (!waits) {
        destroy(ev);
    }
}
