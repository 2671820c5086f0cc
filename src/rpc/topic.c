/* Notes and topics: from whoever publishes to the sessions that listen. */
#include "base/mem/mem.h"
#include "rpc/session_priv.h"

#include <stdatomic.h>

struct cd_rpc_note {
    atomic_uint refs;
    cd_ws_payload *text;
    usize size;
    char cursor[CD_RPC_CURSOR_MAX + 1];
};

struct cd_rpc_topic {
    atomic_uint refs;
    atomic_size_t pending;
    cd_loop *home;
    const cd_rpc_topic_events *events;
    void *ctx;
    cd_list listeners; /* home thread */
};

/* Something that happens to topics, on its way home. */
typedef struct step {
    cd_loop_task task; /* first */
    cd_rpc_topic *topic;
    cd_rpc_note *note;     /* published, or NULL */
    cd_rpc_topic *to;      /* moved there, or NULL */
    void (*fn)(void *ctx); /* called, or NULL */
    void *ctx;
} step;

/* --- notes --- */

cd_rpc_note *cd_rpc_note_new(cd_buf *result, const char *cursor)
{
    cd_rpc_note *n = cd_new(cd_rpc_note);
    atomic_init(&n->refs, 1);
    cd_buf_str(result, "}}"); /* ends the parameters and the message */
    n->size = result->n;
    n->text = cd_ws_payload_take(result);
    usize len = cd_min_u64(strlen(cursor), CD_RPC_CURSOR_MAX);
    memcpy(n->cursor, cursor, len);
    return n;
}

cd_rpc_note *cd_rpc_note_ref(cd_rpc_note *n)
{
    (void)atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

void cd_rpc_note_unref(cd_rpc_note *n)
{
    if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1) {
        cd_ws_payload_unref(n->text);
        cd_free(n);
    }
}

cd_ws_payload *cd__rpc_note_text(cd_rpc_note *n)
{
    return n->text;
}

const char *cd__rpc_note_cursor(const cd_rpc_note *n)
{
    return n->cursor;
}

usize cd__rpc_note_size(const cd_rpc_note *n)
{
    return n->size;
}

/* --- topics --- */

cd_rpc_topic *cd_rpc_topic_new(cd_loop *home, const cd_rpc_topic_events *events, void *ctx)
{
    static const cd_rpc_topic_events none;
    cd_rpc_topic *t = cd_new(cd_rpc_topic);
    atomic_init(&t->refs, 1);
    atomic_init(&t->pending, 0);
    t->home = home;
    t->events = events == NULL ? &none : events;
    t->ctx = ctx;
    cd_list_init(&t->listeners);
    return t;
}

cd_rpc_topic *cd_rpc_topic_ref(cd_rpc_topic *t)
{
    (void)atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void cd_rpc_topic_unref(cd_rpc_topic *t)
{
    if (t != NULL && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) {
        cd_free(t);
    }
}

usize cd_rpc_topic_pending(const cd_rpc_topic *t)
{
    return atomic_load_explicit(&t->pending, memory_order_relaxed);
}

void cd__rpc_topic_done(cd_rpc_topic *t, usize n)
{
    usize before = atomic_fetch_sub_explicit(&t->pending, n, memory_order_relaxed);
    bool is_drained = before > CD_RPC_TOPIC_LOW && before - n <= CD_RPC_TOPIC_LOW;
    if (is_drained && t->events->drained != NULL) {
        t->events->drained(t->ctx, t);
    }
}

void cd__rpc_topic_join(cd_rpc_topic *t, cd__rpc_sub *sub)
{
    sub->topic = t;
    cd_list_push_back(&t->listeners, &sub->of_topic);
}

static void tell_idle(cd_rpc_topic *t)
{
    if (cd_list_is_empty(&t->listeners) && t->events->idle != NULL) {
        t->events->idle(t->ctx, t);
    }
}

void cd__rpc_topic_leave(cd__rpc_sub *sub)
{
    cd_rpc_topic *t = sub->topic;
    sub->topic = NULL;
    cd_list_del(&sub->of_topic);
    tell_idle(t);
    cd_rpc_topic_unref(t);
}

static void tell(cd_rpc_topic *t, cd_rpc_note *note)
{
    cd_list_each_safe(it, &t->listeners)
    {
        (void)atomic_fetch_add_explicit(&t->pending, 1, memory_order_relaxed);
        cd__rpc_sub_tell(cd_list_of(it, cd__rpc_sub, of_topic), note);
    }
    cd__rpc_topic_done(t, 1);
    cd_rpc_note_unref(note);
}

/* What still waits for a listener of `from` counts for `from`: its queue refers to subscriptions, so the count goes
 * along. */
static void move(cd_rpc_topic *from, cd_rpc_topic *to)
{
    cd_list_each_safe(it, &from->listeners)
    {
        cd__rpc_sub *sub = cd_list_of(it, cd__rpc_sub, of_topic);
        usize waiting = sub->waiting;
        (void)atomic_fetch_add_explicit(&to->pending, waiting, memory_order_relaxed);
        cd_list_del(&sub->of_topic);
        cd__rpc_topic_join(cd_rpc_topic_ref(to), sub);
        cd__rpc_topic_done(from, waiting);
        cd_rpc_topic_unref(from);
    }
    tell_idle(from);
}

static void on_step(cd_loop_task *task)
{
    step *s = (step *)(void *)task;
    if (s->note != NULL) {
        tell(s->topic, s->note);
    } else if (s->to != NULL) {
        move(s->topic, s->to);
    } else {
        s->fn(s->ctx);
    }
    cd_rpc_topic_unref(s->topic);
    cd_rpc_topic_unref(s->to);
    cd_free(s);
}

static void post(cd_rpc_topic *t, const step *what)
{
    step *s = cd_new(step);
    *s = *what;
    s->task.fn = on_step;
    s->topic = cd_rpc_topic_ref(t);
    cd_loop_post(t->home, &s->task);
}

void cd_rpc_topic_publish(cd_rpc_topic *t, cd_rpc_note *note)
{
    (void)atomic_fetch_add_explicit(&t->pending, 1, memory_order_relaxed);
    post(t, &(step){.note = note});
}

void cd_rpc_topic_move(cd_rpc_topic *from, cd_rpc_topic *to)
{
    post(from, &(step){.to = cd_rpc_topic_ref(to)});
}

void cd_rpc_topic_after(cd_rpc_topic *t, void (*fn)(void *ctx), void *ctx)
{
    post(t, &(step){.fn = fn, .ctx = ctx});
}

bool cd_rpc_topic_is_idle(const cd_rpc_topic *t)
{
    return cd_list_is_empty(&t->listeners);
}
