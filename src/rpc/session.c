#include "rpc/session.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "rpc/session_priv.h"
#include "rpc/work.h"

#include <stdio.h>

enum {
    QUEUE_MAX = 20000,
    CALLS_MAX = 64,
    SUBS_MAX = 1000,
    SUBS_ALL_MAX = 20000,
    SPARE_MAX = 64, /* finished works that are kept for further messages */
    REASON_MAX = 123,
};
#define QUEUE_BYTES_MAX ((usize)64 << 20)
#define ANSWERS_MAX     ((usize)256 << 20)

/* Something on its way to the client: a notification, or an answer. */
typedef struct entry {
    cd__rpc_sub *sub;
    cd_rpc_note *note; /* NULL: an answer, or a notification whose subscription has ended */
    cd_ws_payload *text;
} entry;

/* One message of a client while it is at work. */
typedef struct session_work {
    cd__rpc_work work; /* first */
    cd_loop_task task; /* carries the work back to the session's loop */
    cd_rpc_session *session;
    cd_buf body;
    cd_buf reply;
    struct session_work *next; /* works that are kept for reuse */
} session_work;

typedef struct question {
    cd_list link;
    u64 id;
    void (*answered)(void *ctx, cd_json result, cd_json error);
    void *ctx;
} question;

struct cd_rpc_hub {
    cd_rpc_hub_cfg cfg;
    usize cnt;
    usize subs;    /* subscriptions of all sessions */
    usize answers; /* bytes of answers that wait in all sessions */
    cd_list corked;
    cd_loop_task uncork; /* posted while a session is corked */
    session_work *spare;
    usize spare_cnt;
};

struct cd_rpc_session {
    cd_rpc_hub *hub;
    const cd_rpc_wire *wire;
    void *wire_ctx;
    cd_rpc_source *source;
    cd_buf foreign; /* the origin of a stranger's page */
    cd_list subs;
    cd_hmap by_id; /* text of the id → subscription */
    cd_list questions;
    u64 questions_cnt;
    cd_list corked;
    entry *queue; /* entries that wait, a ring */
    usize queue_cap;
    usize queue_at;
    usize queue_cnt;
    usize queue_bytes;
    u32 calls;    /* messages that are being served */
    bool is_full; /* the connection takes no more now */
    bool is_leaving;
    bool has_ended;
    bool is_paused;
    bool is_corked;
    i64 cpu_ns; /* processor time in store, ns; below 0 the client has to wait */
    u64 cpu_at_ns;
    cd_timer *cpu_timer;
};

static void pause_update(cd_rpc_session *s);
static void open_subs(cd_rpc_session *s, cd_rpc_req *r);
static void opened(cd_rpc_session *s, const cd__rpc_work *w);

/* --- hubs --- */

static void on_uncork(cd_loop_task *task)
{
    cd_rpc_hub *h = cd_list_of(task, cd_rpc_hub, uncork);
    while (!cd_list_is_empty(&h->corked)) {
        cd_rpc_session *s = cd_list_of(cd_list_first(&h->corked), cd_rpc_session, corked);
        cd_list_del(&s->corked);
        s->is_corked = false;
        s->wire->uncork(s->wire_ctx);
    }
}

cd_rpc_hub *cd_rpc_hub_new(const cd_rpc_hub_cfg *cfg)
{
    cd_rpc_hub *h = cd_new(cd_rpc_hub);
    h->cfg = *cfg;
    h->cfg.clock = cfg->clock == NULL ? cd_clock_real() : cfg->clock;
    h->cfg.queue_max = cfg->queue_max == 0 ? QUEUE_MAX : cfg->queue_max;
    h->cfg.queue_bytes = cfg->queue_bytes == 0 ? QUEUE_BYTES_MAX : cfg->queue_bytes;
    h->cfg.answers_max = cfg->answers_max == 0 ? ANSWERS_MAX : cfg->answers_max;
    h->cfg.subs_max = cfg->subs_max == 0 ? SUBS_MAX : cfg->subs_max;
    h->cfg.subs_all_max = cfg->subs_all_max == 0 ? SUBS_ALL_MAX : cfg->subs_all_max;
    h->cfg.calls_max = cfg->calls_max == 0 ? CALLS_MAX : cfg->calls_max;
    h->uncork.fn = on_uncork;
    cd_list_init(&h->corked);
    return h;
}

static void work_free(session_work *w)
{
    cd_arena_fini(&w->work.req.arena);
    cd_buf_fini(&w->body);
    cd_buf_fini(&w->reply);
    cd_free(w);
}

void cd_rpc_hub_free(cd_rpc_hub *h)
{
    if (h == NULL) {
        return;
    }
    CD_ASSERT(h->cnt == 0);
    while (h->spare != NULL) {
        session_work *w = h->spare;
        h->spare = w->next;
        work_free(w);
    }
    cd_free(h);
}

usize cd_rpc_hub_cnt(const cd_rpc_hub *h)
{
    return h->cnt;
}

/* What is sent during this round of the loop leaves together. */
static void cork(cd_rpc_session *s)
{
    cd_rpc_hub *h = s->hub;
    if (s->is_corked) {
        return;
    }
    if (cd_list_is_empty(&h->corked)) {
        cd_loop_post(h->cfg.home, &h->uncork);
    }
    s->is_corked = true;
    cd_list_push_back(&h->corked, &s->corked);
    s->wire->cork(s->wire_ctx);
}

/* --- the queue --- */

static entry *queue_at(const cd_rpc_session *s, usize i)
{
    return &s->queue[(s->queue_at + i) & (s->queue_cap - 1)];
}

static usize entry_size(const entry *e)
{
    if (e->note != NULL) {
        return cd__rpc_note_size(e->note);
    }
    return e->text != NULL ? cd_ws_payload_bytes(e->text).n : 0;
}

/* Adds an entry to what waits. Notifications are shared, so only those of one session are added up. */
static void entry_count(cd_rpc_session *s, const entry *e)
{
    usize n = entry_size(e);
    s->queue_bytes += n;
    s->hub->answers += e->note == NULL ? n : 0;
}

/* Takes an entry out of all counts and gives its references back. */
static void entry_drop(cd_rpc_session *s, entry *e)
{
    usize n = entry_size(e);
    s->queue_bytes -= n;
    s->hub->answers -= e->note == NULL ? n : 0;
    if (e->note != NULL) {
        e->sub->waiting--;
        if (e->sub->topic != NULL) {
            cd__rpc_topic_done(e->sub->topic, 1);
        } else if (e->sub->is_over && e->sub->waiting == 0) {
            cd_free(e->sub);
        }
        cd_rpc_note_unref(e->note);
    }
    cd_ws_payload_unref(e->text);
    *e = (entry){0};
}

static void queue_drop(cd_rpc_session *s)
{
    for (; s->queue_cnt != 0; s->queue_cnt--) {
        entry_drop(s, queue_at(s, 0));
        s->queue_at++;
    }
}

static void queue_push(cd_rpc_session *s, const entry *e)
{
    if (s->queue_cnt == s->queue_cap) {
        usize cap = s->queue_cap == 0 ? 16 : 2 * s->queue_cap;
        entry *grown = cd_new_array(entry, cap);
        for (usize i = 0; i < s->queue_cnt; i++) {
            grown[i] = *queue_at(s, i);
        }
        cd_free(s->queue);
        s->queue = grown;
        s->queue_cap = cap;
        s->queue_at = 0;
    }
    *queue_at(s, s->queue_cnt++) = *e;
    entry_count(s, e);
}

/* Hands one entry to the wire; false when that takes nothing now. */
static bool entry_send(cd_rpc_session *s, const entry *e)
{
    cd_err err = CD_OK;
    if (e->note != NULL && e->sub->is_over) {
        return true; /* unsubscribed: nothing is sent of it any more */
    }
    if (e->note != NULL) {
        cork(s);
        err = s->wire->send(s->wire_ctx, cd_bytes_of(e->sub->head, e->sub->head_n), cd__rpc_note_text(e->note));
    } else if (e->text != NULL) {
        err = s->wire->send(s->wire_ctx, (cd_bytes){0}, e->text);
    }
    s->is_full = err == CD_EFULL;
    return err != CD_EFULL; /* a closed connection drops what it is given */
}

static void leave(cd_rpc_session *s, u16 code, const char *reason)
{
    if (!s->is_leaving) {
        s->is_leaving = true;
        queue_drop(s);
        s->wire->close(s->wire_ctx, code, reason);
    }
}

/* The client gets what the wire has, then the place of the first notification that it has not. */
static void leave_behind(cd_rpc_session *s)
{
    char reason[REASON_MAX + 1] = "too slow";
    for (usize i = 0; i < s->queue_cnt; i++) {
        const entry *e = queue_at(s, i);
        if (e->note != NULL && !e->sub->is_over && cd__rpc_note_cursor(e->note)[0] != '\0') {
            (void)snprintf(reason, sizeof reason, "too slow, resume at %s", cd__rpc_note_cursor(e->note));
            break;
        }
    }
    leave(s, CD_WS_TRY_LATER, reason);
}

/* Sends an entry, or lets it wait; takes its references. */
static void give(cd_rpc_session *s, entry e)
{
    if (s->is_leaving || s->has_ended) {
        entry_count(s, &e);
        entry_drop(s, &e);
        return;
    }
    if (s->queue_cnt == 0 && !s->is_full && entry_send(s, &e)) {
        entry_count(s, &e);
        entry_drop(s, &e);
        return;
    }
    queue_push(s, &e);
    const cd_rpc_hub_cfg *cfg = &s->hub->cfg;
    if (s->queue_cnt > cfg->queue_max || s->queue_bytes > cfg->queue_bytes || s->hub->answers > cfg->answers_max) {
        leave_behind(s);
    }
}

void cd_rpc_session_writable(cd_rpc_session *s)
{
    s->is_full = false;
    while (s->queue_cnt != 0 && entry_send(s, queue_at(s, 0))) {
        entry_drop(s, queue_at(s, 0));
        s->queue_at++;
        s->queue_cnt--;
    }
}

/* --- answers --- */

static void give_text(cd_rpc_session *s, cd_buf *text)
{
    if (text->n == 0) {
        return;
    }
    /* Most answers are short: they need no memory of their own. */
    if (text->n <= CD_WS_HEAD_MAX && s->queue_cnt == 0 && !s->is_full && !s->is_leaving && !s->has_ended) {
        cd_err e = s->wire->send(s->wire_ctx, cd_buf_bytes(text), NULL);
        s->is_full = e == CD_EFULL;
        if (e != CD_EFULL) {
            cd_buf_clear(text);
            return;
        }
    }
    give(s, (entry){.text = cd_ws_payload_take(text)});
}

/* --- time for calls --- */

static void on_cpu_timer(void *ctx)
{
    cd_rpc_session *s = ctx;
    pause_update(s);
}

/* Spends the time of a call and lets the client wait when it has none left. */
static void cpu_spend(cd_rpc_session *s, u64 ns)
{
    const cd_rpc_hub_cfg *cfg = &s->hub->cfg;
    if (cfg->cpu_refill_ns != 0) {
        s->cpu_ns -= (i64)cd_min_u64(ns, (u64)INT64_MAX / 4);
    }
}

/* Adds what was gained since the last look; true when there is none. */
static bool cpu_is_spent(cd_rpc_session *s)
{
    const cd_rpc_hub_cfg *cfg = &s->hub->cfg;
    if (cfg->cpu_refill_ns == 0) {
        return false;
    }
    u64 now = cd_clock_mono_ns(cfg->clock);
    double gained = (double)(now - s->cpu_at_ns) / 1e9 * (double)cfg->cpu_refill_ns;
    double sum = (double)s->cpu_ns + gained;
    s->cpu_at_ns = now;
    s->cpu_ns = sum > (double)cfg->cpu_max_ns ? (i64)cfg->cpu_max_ns : (i64)sum;
    return s->cpu_ns < 0;
}

/* Reads further messages of the client, or none for now, as its running calls and its time allow. */
static void pause_update(cd_rpc_session *s)
{
    if (s->has_ended || s->is_leaving) {
        return;
    }
    bool is_spent = cpu_is_spent(s);
    bool must = is_spent || s->calls >= s->hub->cfg.calls_max;
    if (is_spent) {
        double wait_ms = (double)-s->cpu_ns / (double)s->hub->cfg.cpu_refill_ns * 1e3;
        cd_timer_start(s->cpu_timer, (u64)wait_ms + 1, 0);
    }
    if (must != s->is_paused) {
        s->is_paused = must;
        if (must) {
            s->wire->pause(s->wire_ctx);
        } else {
            s->wire->resume(s->wire_ctx);
        }
    }
}

/* --- messages --- */

static session_work *work_get(cd_rpc_hub *h)
{
    session_work *w = h->spare;
    if (w == NULL) {
        return cd_new(session_work);
    }
    h->spare = w->next;
    h->spare_cnt--;
    return w;
}

static void work_put(cd_rpc_hub *h, session_work *w)
{
    bool is_large = w->body.n != 0 || w->reply.cap > CD__RPC_INLINE_MAX;
    if (is_large || h->spare_cnt == SPARE_MAX) {
        work_free(w);
        return;
    }
    cd_buf_clear(&w->reply);
    w->next = h->spare;
    h->spare = w;
    h->spare_cnt++;
}

static void session_release(cd_rpc_session *s)
{
    if (!s->has_ended || s->calls != 0) {
        return;
    }
    s->hub->cnt--;
    cd_timer_free(s->cpu_timer);
    cd_rpc_source_unref(s->source);
    cd_hmap_fini(&s->by_id);
    cd_buf_fini(&s->foreign);
    cd_free(s->queue);
    cd_free(s);
}

static void take_answers(cd_rpc_session *s, const cd_rpc_req *r)
{
    for (usize i = 0; i < r->cnt; i++) {
        const cd__rpc_one *one = &r->ones[i];
        if (one->sort != CD__RPC_ANSWER) {
            continue;
        }
        cd_list_each_safe(it, &s->questions)
        {
            question *q = cd_list_of(it, question, link);
            u64 id;
            if (cd_json_u64(&id, one->id, NULL) == CD_OK && id == q->id) {
                cd_list_del(&q->link);
                q->answered(q->ctx, one->result, one->error);
                cd_free(q);
            }
        }
    }
}

/* The answer has come back to the session's loop. */
static void work_finish(session_work *w)
{
    cd_rpc_session *s = w->session;
    cd_rpc_hub *h = s->hub;
    if (!cd_list_is_empty(&s->questions)) {
        take_answers(s, &w->work.req);
    }
    give_text(s, &w->reply);
    if (w->work.req.has_subs) {
        opened(s, &w->work);
    }
    cpu_spend(s, w->work.cpu_ns);
    s->calls--;
    work_put(h, w);
    pause_update(s);
    session_release(s);
}

static void on_finish(cd_loop_task *task)
{
    work_finish(cd_list_of(task, session_work, task));
}

static void on_done(cd__rpc_work *work)
{
    session_work *w = (session_work *)(void *)work;
    cd_loop *home = w->session->hub->cfg.home;
    if (cd_loop_is_here(home)) {
        work_finish(w);
    } else {
        w->task.fn = on_finish;
        cd_loop_post(home, &w->task);
    }
}

static void on_open_task(cd_loop_task *task)
{
    session_work *w = cd_list_of(task, session_work, task);
    open_subs(w->session, &w->work.req);
    cd__rpc_work_go_on(&w->work);
}

static void on_open(cd__rpc_work *work)
{
    session_work *w = (session_work *)(void *)work;
    cd_loop *home = w->session->hub->cfg.home;
    if (cd_loop_is_here(home)) {
        on_open_task(&w->task);
    } else {
        w->task.fn = on_open_task;
        cd_loop_post(home, &w->task);
    }
}

void cd_rpc_session_message(cd_rpc_session *s, cd_bytes text)
{
    cd_rpc_hub *h = s->hub;
    if (s->is_leaving || s->has_ended) {
        return;
    }
    session_work *w = work_get(h);
    w->session = s;
    if (text.n > CD__RPC_INLINE_MAX) {
        cd_buf_put(&w->body, text);
        text = cd_buf_bytes(&w->body);
    }
    w->work = (cd__rpc_work){
        .job = {.source = s->source},
        .req = {.arena = w->work.req.arena},
        .service = h->cfg.service,
        .lanes = h->cfg.lanes,
        .session = s,
        .foreign = cd_buf_bytes(&s->foreign),
        .body = text,
        .out = &w->reply,
        .has_quota = h->cfg.cpu_refill_ns != 0,
        .open = on_open,
        .done = on_done,
    };
    s->calls++;
    cd__rpc_work_start(&w->work);
    pause_update(s);
}

/* --- life --- */

cd_rpc_session *cd_rpc_session_new(cd_rpc_hub *h, const cd_rpc_wire *wire, void *wire_ctx, cd_bytes foreign)
{
    cd_rpc_session *s = cd_new(cd_rpc_session);
    cd_buf_put(&s->foreign, foreign);
    s->hub = h;
    s->wire = wire;
    s->wire_ctx = wire_ctx;
    s->source = cd_rpc_source_new();
    cd_list_init(&s->subs);
    cd_hmap_init(&s->by_id, CD_HASH_KEYED, CD__RPC_ID_MAX, sizeof(cd__rpc_sub *));
    cd_list_init(&s->questions);
    cd_list_init(&s->corked);
    if (h->cfg.cpu_refill_ns != 0) {
        s->cpu_timer = cd_timer_new(h->cfg.home, on_cpu_timer, s);
        s->cpu_at_ns = cd_clock_mono_ns(h->cfg.clock);
        s->cpu_ns = (i64)h->cfg.cpu_max_ns;
    }
    h->cnt++;
    return s;
}

/* --- subscriptions --- */

/* "0x" and the digits without leading zeros. */
static void id_fmt(char out[CD__RPC_ID_MAX], const u8 id[16])
{
    char hex[32];
    usize skip = 0;
    cd_hex_fmt(hex, cd_bytes_of(id, 16));
    while (skip < 31 && hex[skip] == '0') {
        skip++;
    }
    memcpy(out, "0x", 2);
    memcpy(out + 2, hex + skip, 32 - skip);
    out[34 - skip] = '\0';
}

static cd__rpc_sub *find_sub(const cd_rpc_session *s, cd_bytes id)
{
    char key[CD__RPC_ID_MAX] = {0};
    if (id.n == 0 || id.n >= sizeof key) {
        return NULL;
    }
    memcpy(key, id.p, id.n);
    cd__rpc_sub **at = cd_hmap_get(&s->by_id, key);
    return at == NULL ? NULL : *at;
}

void cd__rpc_sub_tell(cd__rpc_sub *sub, cd_rpc_note *note)
{
    cd_rpc_session *s = sub->session;
    sub->waiting++;
    if (sub->is_active || s->is_leaving) {
        give(s, (entry){.sub = sub, .note = cd_rpc_note_ref(note)});
        return;
    }
    sub->held = cd_realloc(sub->held, (sub->held_cnt + 1) * sizeof(cd_rpc_note *));
    sub->held[sub->held_cnt++] = cd_rpc_note_ref(note);
    if (sub->held_cnt > s->hub->cfg.queue_max) {
        leave_behind(s);
    }
}

/* Ends a subscription, however much of it waits in the queue: that goes when its turn comes. */
static void sub_free(cd__rpc_sub *sub)
{
    cd_rpc_session *s = sub->session;
    if (sub->waiting != 0) {
        cd__rpc_topic_done(sub->topic, sub->waiting);
    }
    for (usize i = 0; i < sub->held_cnt; i++) {
        cd_rpc_note_unref(sub->held[i]);
    }
    sub->waiting -= sub->held_cnt;
    cd_free(sub->held);
    (void)cd_hmap_del(&s->by_id, sub->id);
    s->hub->subs--;
    cd_list_del(&sub->of_session);
    cd__rpc_topic_leave(sub);
    sub->is_over = true;
    if (sub->waiting == 0) {
        cd_free(sub);
    }
}

/* The namespace in front of "_subscribe" or "_unsubscribe". */
static cd_bytes space_of(const cd__rpc_one *one)
{
    usize tail = one->sort == CD__RPC_SUBSCRIBE ? 10 : 12;
    return cd_bytes_sub(one->name, 0, one->name.n - tail);
}

static const cd_rpc_kind *find_kind(const cd_rpc_service *service, cd_bytes space, cd_bytes name)
{
    for (usize i = 0; i < service->kinds_cnt; i++) {
        const cd_rpc_kind *k = &service->kinds[i];
        if (cd_bytes_eq(space, cd_bytes_str(k->space)) && cd_bytes_eq(name, cd_bytes_str(k->name)) &&
            cd_rpc_table_is_on(service->table, k->group)) {
            return k;
        }
    }
    return NULL;
}

static cd_err check_kind(cd_rpc_call *call, const cd_rpc_kind **kind, cd_bytes space)
{
    cd_bytes name;
    if (cd_json_kind_of(call->params) != CD_JSON_ARR) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "non-array args");
    }
    if (cd_json_str(&name, cd_json_at(call->params, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "expected subscription name as first argument");
    }
    *kind = find_kind(call->service, space, name);
    if (*kind == NULL) {
        return cd_rpc_fail(call, CD_RPC_NO_METHOD, "no \"%.*s\" subscription in %.*s namespace",
                           (int)cd_min_u64(name.n, 200), (const char *)name.p, (int)cd_min_u64(space.n, 200),
                           (const char *)space.p);
    }
    usize len = cd_json_len(call->params);
    if (len > (usize)(*kind)->max + 1) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "too many arguments, want at most %u", (*kind)->max + 1);
    }
    for (usize i = 1; i <= (*kind)->required; i++) {
        if (!cd_json_has(cd_json_at(call->params, i))) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "missing value for required argument %zu", i);
        }
    }
    return CD_OK;
}

static void new_id(const cd_rpc_hub *h, char out[CD__RPC_ID_MAX])
{
    u8 id[16];
    if (h->cfg.new_id != NULL) {
        h->cfg.new_id(h->cfg.id_ctx, id);
    } else {
        cd_rng os = cd_rng_os();
        cd_rng_fill(&os, id, 16);
    }
    id_fmt(out, id);
}

static cd_err check_room(const cd_rpc_session *s, cd_rpc_call *call)
{
    const cd_rpc_hub *h = s->hub;
    if (cd_hmap_cnt(&s->by_id) >= h->cfg.subs_max) {
        return cd_rpc_fail(call, CD_RPC_BUSY, "too many subscriptions on one connection, at most %u", h->cfg.subs_max);
    }
    if (h->subs >= h->cfg.subs_all_max) {
        return cd_rpc_fail(call, CD_RPC_BUSY, "too many subscriptions on this node, at most %u", h->cfg.subs_all_max);
    }
    return CD_OK;
}

static cd_err subscribe(cd_rpc_session *s, cd_rpc_call *call, cd__rpc_one *one)
{
    const cd_rpc_kind *kind;
    cd_rpc_topic *topic;
    CD_TRY(check_kind(call, &kind, space_of(one)));
    CD_TRY(check_room(s, call));
    CD_TRY(kind->open(call, &topic));
    cd__rpc_sub *sub = cd_new(cd__rpc_sub);
    sub->session = s;
    sub->kind = kind;
    new_id(s->hub, sub->id);
    sub->head_n = (usize)snprintf(sub->head, sizeof sub->head,
                                  "{\"jsonrpc\":\"2.0\",\"method\":\"%s_subscription\",\"params\":"
                                  "{\"subscription\":\"%s\",\"result\":",
                                  kind->space, sub->id);
    CD_ASSERT(sub->head_n < sizeof sub->head);
    cd_list_push_back(&s->subs, &sub->of_session);
    *(cd__rpc_sub **)cd_hmap_put(&s->by_id, NULL, sub->id) = sub;
    s->hub->subs++;
    cd__rpc_topic_join(topic, sub);
    one->sub_id = cd_arena_dup(call->arena, cd_bytes_str(sub->id));
    return CD_OK;
}

static cd_err unsubscribe(cd_rpc_session *s, cd_rpc_call *call)
{
    cd_bytes want;
    if (cd_json_kind_of(call->params) != CD_JSON_ARR) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "non-array args");
    }
    if (!cd_json_has(cd_json_at(call->params, 0))) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "missing value for required argument 0");
    }
    if (cd_json_len(call->params) > 1) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "too many arguments, want at most 1");
    }
    if (cd_json_str(&want, cd_json_at(call->params, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 0: json: cannot unmarshal non-string into Go value of "
                           "type rpc.ID");
    }
    cd__rpc_sub *sub = find_sub(s, want);
    if (sub != NULL) {
        sub_free(sub);
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "subscription not found");
}

/* Answers the subscribing and unsubscribing calls of a request, which is served afterwards. */
static void open_subs(cd_rpc_session *s, cd_rpc_req *r)
{
    void *scope = cd__rpc_scope_new(r);
    for (usize i = 0; i < r->cnt; i++) {
        cd__rpc_one *one = &r->ones[i];
        bool is_sub = one->sort == CD__RPC_SUBSCRIBE;
        if (!is_sub && one->sort != CD__RPC_UNSUBSCRIBE) {
            continue;
        }
        cd_buf none = {0};
        cd_json_w w = {.out = &none};
        cd_rpc_call call = cd__rpc_call_of(r, one, scope, &w);
        cd_err e = CD_ECLOSED; /* the client is gone already */
        if (!s->has_ended) {
            e = is_sub ? subscribe(s, &call, one) : unsubscribe(s, &call);
        }
        if (e != CD_OK && call.error_message == NULL) {
            cd_rpc_set_error(&call, CD_RPC_SERVER, "%s", cd_err_str(e));
        }
        one->error_code = call.error_code;
        one->error_message = e == CD_OK ? NULL : call.error_message;
        cd_buf_fini(&none);
    }
    cd__rpc_scope_end(r, scope);
}

static void activate(cd__rpc_sub *sub)
{
    cd_rpc_session *s = sub->session;
    sub->is_active = true;
    for (usize i = 0; i < sub->held_cnt; i++) {
        give(s, (entry){.sub = sub, .note = sub->held[i]});
    }
    cd_free(sub->held);
    sub->held = NULL;
    sub->held_cnt = 0;
}

/* The client was sent the subscription's id: now its notifications may follow. */
static void opened(cd_rpc_session *s, const cd__rpc_work *w)
{
    for (usize i = 0; i < w->req.cnt; i++) {
        const cd__rpc_one *one = &w->req.ones[i];
        /* A later call may have unsubscribed, or the client may have left. */
        cd__rpc_sub *sub = one->sub_id.n == 0 ? NULL : find_sub(s, one->sub_id);
        if (sub != NULL && w->is_refused) {
            sub_free(sub);
        } else if (sub != NULL) {
            activate(sub);
        }
    }
}

/* --- questions to the client --- */

typedef struct ask_step {
    cd_loop_task task; /* first */
    cd_rpc_session *session;
    question *q;
    cd_buf text;
} ask_step;

static void on_ask(cd_loop_task *task)
{
    ask_step *a = (ask_step *)(void *)task;
    cd_rpc_session *s = a->session;
    if (s->has_ended) {
        a->q->answered(a->q->ctx, (cd_json){0}, (cd_json){0});
        cd_free(a->q);
    } else {
        cd_buf text = {0};
        a->q->id = ++s->questions_cnt;
        cd_list_push_back(&s->questions, &a->q->link);
        cd_buf_fmt(&text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,", (unsigned long long)a->q->id);
        cd_buf_put(&text, cd_buf_bytes(&a->text));
        give_text(s, &text);
        cd_buf_fini(&text);
    }
    cd_buf_fini(&a->text);
    cd_free(a);
}

void cd_rpc_session_ask(cd_rpc_session *s, const char *method, cd_bytes params,
                        void (*answered)(void *ctx, cd_json result, cd_json error), void *ctx)
{
    ask_step *a = cd_new(ask_step);
    a->task.fn = on_ask;
    a->session = s;
    a->q = cd_new(question);
    a->q->answered = answered;
    a->q->ctx = ctx;
    cd_json_w w = {.out = &a->text};
    cd_buf_str(&a->text, "\"method\":");
    cd_json_w_cstr(&w, method);
    cd_buf_str(&a->text, ",\"params\":");
    cd_buf_put(&a->text, params);
    cd_buf_u8(&a->text, '}');
    if (cd_loop_is_here(s->hub->cfg.home)) {
        on_ask(&a->task);
    } else {
        cd_loop_post(s->hub->cfg.home, &a->task);
    }
}

void cd_rpc_session_end(cd_rpc_session *s)
{
    s->has_ended = true;
    if (s->is_corked) {
        s->is_corked = false;
        cd_list_del(&s->corked);
    }
    if (s->cpu_timer != NULL) {
        cd_timer_stop(s->cpu_timer);
    }
    while (!cd_list_is_empty(&s->subs)) {
        sub_free(cd_list_of(cd_list_first(&s->subs), cd__rpc_sub, of_session));
    }
    queue_drop(s);
    while (!cd_list_is_empty(&s->questions)) {
        question *q = cd_list_of(cd_list_first(&s->questions), question, link);
        cd_list_del(&q->link);
        q->answered(q->ctx, (cd_json){0}, (cd_json){0});
        cd_free(q);
    }
    session_release(s);
}
