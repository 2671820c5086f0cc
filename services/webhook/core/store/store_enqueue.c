#include "base/mem/mem.h"
#include "base/num_text.h"
#include "crypto/hash/sha2.h"
#include "services/webhook/core/store/notice.h"
#include "services/webhook/core/store/store_priv.h"

#include <stdlib.h>

#define DAY_MS ((u64)86400000)

enum { SEEN_MS = 72 * 3600 * 1000 };

/* A webhook while a block's events are written. */
typedef struct queue {
    i64 hook, project, tail, due, due_before; /* due 0: nothing waits */
    u64 seq, last_ms;
    u32 in_hand;
    i64 status;
    bool is_strict, is_behind, is_slow, is_changed;
    u8 chain_hash[32];
} queue;

/* A project while a block's events are written. */
typedef struct quota {
    i64 project;
    const char *id;
    cd_wh_period period;
    u64 limit, before, used;
} quota;

typedef struct batch {
    cd_wh_store *s;
    cd_arena *mem;
    cd_wh_enqueued *out;
    const cd_wh_event *events;
    usize cnt;
    bool *known;
    queue *queues;
    usize queues_cnt;
    quota *quotas;
    usize quotas_cnt;
    u64 now;
    i64 kind; /* CD__WH_KIND_… of what is written */
} batch;

/* --- which events are there already --- */

static cd_err block_known(batch *b, cd_hmap *there, u64 block, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_hmap_clear(there);
    CD_TRY(WH_QUERY(b->s, &st, BLOCK_KNOWN, why, cd_sql_u(block)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        cd_bytes h = cd_sql_col_b(st, 0);
        if (h.n != 32) {
            return cd_fail(why, CD_ECORRUPT, "a stored event has no identity");
        }
        (void)cd_hmap_put(there, NULL, h.p);
    }
}

static cd_err mark_seen(batch *b, bool *known, const cd_wh_event *e, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    bool is_new = false;
    CD_TRY(WH_QUERY(b->s, &st, SEEN, why, cd_sql_b(cd_bytes_of(e->h, 32)), cd_sql_u(b->now)));
    CD_TRY(cd_sql_next(st, &is_new, why));
    *known = !is_new;
    return CD_OK;
}

/* Rows of a block are found at the end of an index that grows there alone; events of no block have a table for that. */
static cd_err find_known_in(batch *b, cd_hmap *there, cd_errinfo *why)
{
    u64 block = 0;
    for (usize i = 0; i < b->cnt; i++) {
        const cd_wh_event *e = &b->events[i];
        if (e->block == 0) {
            CD_TRY(mark_seen(b, &b->known[i], e, why));
            continue;
        }
        if (e->block != block) {
            block = e->block;
            CD_TRY(block_known(b, there, block, why));
        }
        bool is_new = false;
        (void)cd_hmap_put(there, &is_new, e->h); /* one twice in a batch is one */
        b->known[i] = !is_new;
    }
    return CD_OK;
}

static cd_err find_known(batch *b, cd_errinfo *why)
{
    cd_hmap there;
    cd_hmap_init(&there, CD_HASH_KEYED, 32, 0);
    cd_err err = find_known_in(b, &there, why);
    cd_hmap_fini(&there);
    return err;
}

/* --- queues and quotas --- */

static int by_number(const void *a, const void *b)
{
    i64 x = *(const i64 *)a;
    i64 y = *(const i64 *)b;
    return (x > y) - (x < y);
}

/* The distinct numbers as a JSON array, rising. */
static const char *id_list(cd_arena *mem, i64 *ids, usize *cnt)
{
    cd_buf text = {0};
    usize n = 0;
    qsort(ids, *cnt, sizeof *ids, by_number);
    cd_buf_u8(&text, '[');
    for (usize i = 0; i < *cnt; i++) {
        if (n == 0 || ids[n - 1] != ids[i]) {
            char digits[CD_U64_TEXT_MAX];
            ids[n++] = ids[i];
            cd_buf_str(&text, n == 1 ? "" : ",");
            cd_buf_put(&text, cd_bytes_of(digits, cd_i64_fmt(digits, ids[i])));
        }
    }
    cd_buf_u8(&text, ']');
    *cnt = n;
    const char *out = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

static cd_err load_queues(batch *b, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    usize n = b->cnt;
    i64 *ids = cd_arena_array(b->mem, i64, n);
    for (usize i = 0; i < n; i++) {
        ids[i] = b->events[i].hook;
    }
    const char *list = id_list(b->mem, ids, &n);
    b->queues = cd_arena_array(b->mem, queue, n);
    CD_TRY(WH_QUERY(b->s, &st, QUEUES, why, cd_sql_t(list)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        queue *l = &b->queues[b->queues_cnt++];
        *l = (queue){
            .hook = cd_sql_col_i(st, 0),
            .project = cd_sql_col_i(st, 1),
            .status = cd_sql_col_i(st, 2),
            .is_strict = cd_sql_col_i(st, 3) != 0,
            .seq = cd_sql_col_u(st, 4),
            .tail = cd_sql_col_i(st, 6),
            .in_hand = (u32)cd_sql_col_u(st, 7),
            .is_behind = cd_sql_col_i(st, 8) != 0,
            .due = cd_sql_col_i(st, 9),
            .last_ms = cd_sql_col_u(st, 10),
        };
        l->due_before = l->due;
        l->is_slow = cd__wh_is_slow(b->s, l->hook);
        cd_bytes hash = cd_sql_col_b(st, 5);
        if (hash.n != sizeof l->chain_hash) {
            return cd_fail(why, CD_ECORRUPT, "a stored chain hash is damaged");
        }
        memcpy(l->chain_hash, hash.p, hash.n);
    }
}

/* Queues are sorted by webhook. */
static queue *queue_of(const batch *b, i64 hook)
{
    usize lo = 0;
    usize hi = b->queues_cnt;
    while (lo < hi) {
        usize mid = lo + (hi - lo) / 2;
        if (b->queues[mid].hook < hook) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < b->queues_cnt && b->queues[lo].hook == hook ? &b->queues[lo] : NULL;
}

static cd_err load_quotas(batch *b, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    usize n = b->queues_cnt;
    i64 *ids = cd_arena_array(b->mem, i64, n);
    for (usize i = 0; i < n; i++) {
        ids[i] = b->queues[i].project;
    }
    const char *list = id_list(b->mem, ids, &n);
    b->quotas = cd_arena_array(b->mem, quota, n);
    CD_TRY(WH_QUERY(b->s, &st, QUOTAS, why, cd_sql_t(list)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            break;
        }
        b->quotas[b->quotas_cnt++] = (quota){
            .project = cd_sql_col_i(st, 0),
            .id = cd_sql_col_str(st, 1, b->mem),
            .period = (cd_wh_period)cd_sql_col_i(st, 2),
            .limit = cd_sql_col_u(st, 3),
        };
    }
    for (usize i = 0; i < b->quotas_cnt; i++) {
        quota *q = &b->quotas[i];
        if (q->period != CD_WH_NO_QUOTA) {
            CD_TRY(cd__wh_used(b->s, &q->before, q->project, q->period, b->now, why));
        }
    }
    return CD_OK;
}

static quota *quota_of(const batch *b, i64 project)
{
    for (usize i = 0; i < b->quotas_cnt; i++) {
        if (b->quotas[i].project == project) {
            return &b->quotas[i];
        }
    }
    return NULL;
}

/* --- one event --- */

static void chain(u8 io[32], const u8 h[32], cd_bytes body)
{
    u8 parts[96];
    cd_hash32 hash;
    memcpy(parts, io, 32);
    memcpy(parts + 32, h, 32);
    cd_sha256(&hash, body);
    memcpy(parts + 64, hash.b, 32);
    cd_sha256(&hash, cd_bytes_of(parts, sizeof parts));
    memcpy(io, hash.b, 32);
}

/* What becomes of an event of this queue; DELIVERING: it is handed out. */
static cd_wh_state state_of(const batch *b, const queue *l, quota *q, const cd_wh_event *e)
{
    if (l->status == CD__WH_GONE) {
        return CD_WH_CANCELLED;
    }
    if (l->status != CD_WH_ACTIVE) {
        return CD_WH_SKIPPED;
    }
    if (e->body.n > CD_WH_BODY_MAX) {
        return CD_WH_FAILED;
    }
    if (q != NULL && e->type < CD_WH_TYPES_CNT) { /* notices are free */
        if (q->period != CD_WH_NO_QUOTA && q->before + q->used >= q->limit) {
            return CD_WH_QUOTA_EXCEEDED;
        }
        q->used++;
    }
    /* Behind others that wait, or a strict queue of which something waits: the claim keeps the order. */
    bool must_wait = l->is_behind || l->is_slow || (l->is_strict ? l->due != 0 : l->in_hand >= b->s->ahead);
    return must_wait ? CD_WH_PENDING : CD_WH_DELIVERING;
}

static i64 earlier(i64 due, i64 at)
{
    return due == 0 || at < due ? at : due;
}

static cd_err write_event(batch *b, queue *l, const cd_wh_event *e, i64 key, cd_errinfo *why)
{
    cd_wh_delivery d = {
        .key = key,
        .hook = e->hook,
        .sequence = ++l->seq,
        .event = *e,
        .created_ms = b->now,
    };
    i64 due = 0;
    i64 now = (i64)b->now;
    d.state = state_of(b, l, quota_of(b, l->project), e);
    chain(l->chain_hash, e->h, e->body);
    memcpy(d.chain_hash, l->chain_hash, sizeof d.chain_hash);
    if (d.state == CD_WH_DELIVERING) {
        due = now + (i64)b->s->lease_ms;
        l->due = earlier(l->due, due);
        l->in_hand++;
        d.next_ms = b->now;
        b->out->made[b->out->cnt++] = d;
    } else if (d.state == CD_WH_PENDING) {
        due = l->is_strict ? CD__WH_BLOCKED + (i64)d.sequence : now;
        /* A full queue is looked at again when a hand is free, a slow one when it has room; others now. */
        bool is_known = l->in_hand > 0 || (l->is_slow && l->is_behind);
        l->due = is_known && l->due != 0 ? l->due : now;
        l->is_behind = true;
        d.next_ms = b->now;
        b->out->waiting++;
    } else {
        b->out->skipped++;
    }
    if (d.state == CD_WH_FAILED) {
        d.event.body = (cd_bytes){0};
    }
    CD_TRY(cd__wh_insert(b->s, &(cd__wh_new){.d = &d, .prev = l->tail, .due = due, .kind = b->kind}, why));
    l->tail = key;
    l->last_ms = b->now;
    l->is_changed = true;
    if (d.state != CD_WH_FAILED) {
        return CD_OK;
    }
    const cd_wh_attempt a = {.number = 0, .at_ms = b->now, .error = "payload_too_large", .request = "", .response = ""};
    return cd__wh_attempt_add(b->s, key, &a, why);
}

static cd_err write_events(batch *b, cd_errinfo *why)
{
    usize fresh = 0;
    i64 key = 0;
    for (usize i = 0; i < b->cnt; i++) {
        b->known[i] = b->known[i] || queue_of(b, b->events[i].hook) == NULL;
        fresh += b->known[i] ? 0 : 1;
    }
    b->out->known = b->cnt - fresh;
    if (fresh == 0) {
        return CD_OK;
    }
    b->out->made = cd_arena_array(b->mem, cd_wh_delivery, fresh);
    CD_TRY(cd__wh_keys(b->s, &key, fresh, why));
    for (usize i = 0; i < b->cnt; i++) {
        if (!b->known[i]) {
            const cd_wh_event *e = &b->events[i];
            CD_TRY(write_event(b, queue_of(b, e->hook), e, key++, why));
        }
    }
    return CD_OK;
}

/* --- what follows from all of them --- */

/* Mostly a queue is due as before, and its place in the index stays. */
static cd_err write_queues(batch *b, cd_errinfo *why)
{
    for (usize i = 0; i < b->queues_cnt; i++) {
        const queue *l = &b->queues[i];
        if (!l->is_changed) {
            continue;
        }
        CD_TRY(WH_RUN(b->s, QUEUE_GROW, why, cd_sql_i(l->hook), cd_sql_u(l->seq),
                      cd_sql_b(cd_bytes_of(l->chain_hash, 32)), cd_sql_i(l->tail), cd_sql_i(l->in_hand),
                      cd_sql_i(l->is_behind), cd_sql_u(l->last_ms)));
        if (l->due != l->due_before) {
            CD_TRY(WH_RUN(b->s, QUEUE_DUE_SET, why, cd_sql_i(l->hook), cd_sql_i(l->due)));
        }
    }
    return CD_OK;
}

static cd_err write_quotas(batch *b, cd_errinfo *why)
{
    cd_wh_enqueued *out = b->out;
    out->notes = cd_arena_array(b->mem, cd_wh_quota_note, 2 * b->quotas_cnt);
    for (usize i = 0; i < b->quotas_cnt; i++) {
        const quota *q = &b->quotas[i];
        u64 after = q->before + q->used;
        if (q->used == 0) {
            continue;
        }
        CD_TRY(WH_RUN(b->s, USAGE_ADD, why, cd_sql_i(q->project), cd_sql_u(b->now / DAY_MS), cd_sql_u(q->used)));
        for (u32 percent = 80; percent <= 100 && q->period != CD_WH_NO_QUOTA; percent += 20) {
            u64 mark = q->limit / 100 * percent + q->limit % 100 * percent / 100;
            if (q->before < mark && after >= mark) {
                out->notes[out->notes_cnt++] = (cd_wh_quota_note){.project = q->id, .percent = percent};
            }
        }
    }
    return CD_OK;
}

/* In the transaction in which the quota was passed. */
static cd_err tell_quotas(cd_wh_store *s, const cd_wh_enqueued *made, cd_errinfo *why)
{
    for (usize i = 0; i < made->notes_cnt; i++) {
        const cd_wh_quota_note *q = &made->notes[i];
        const cd_wh_notice n = {
            .type = q->percent < 100 ? CD_WH_NOTICE_WARNING : CD_WH_NOTICE_QUOTA,
            .project = q->project,
            .percent = q->percent,
        };
        CD_TRY(cd_wh_notice_put(s, &n, why));
    }
    return CD_OK;
}

cd_err cd__wh_enqueue_as(cd_wh_store *s, cd_wh_enqueued *out, cd_arena *mem, const cd_wh_event *events,
                         usize events_cnt, i64 kind, cd_errinfo *why)
{
    cd_wh_enqueued made = {0};
    batch b = {
        .s = s, .mem = mem, .out = &made, .events = events, .cnt = events_cnt, .now = cd__wh_now(s), .kind = kind};
    if (events_cnt > 0) {
        b.known = cd_arena_array(mem, bool, events_cnt);
        CD_TRY(load_queues(&b, why)); /* first: whoever else writes to them waits here */
        CD_TRY(find_known(&b, why));
        CD_TRY(load_quotas(&b, why));
        CD_TRY(write_events(&b, why));
        CD_TRY(write_queues(&b, why));
        CD_TRY(write_quotas(&b, why));
        CD_TRY(tell_quotas(s, &made, why));
    }
    *out = made;
    return CD_OK;
}

cd_err cd_wh_enqueue(cd_wh_store *s, cd_wh_enqueued *out, cd_arena *mem, const cd_wh_event *events, usize events_cnt,
                     const char *chain_name, u64 height, const u8 block_hash[32], cd_errinfo *why)
{
    CD_TRY(cd__wh_enqueue_as(s, out, mem, events, events_cnt, CD__WH_KIND_MATCH, why));
    return chain_name == NULL ? CD_OK : cd_wh_cursor_put(s, chain_name, height, block_hash, why);
}

cd_err cd_wh_enqueue_test(cd_wh_store *s, cd_wh_delivery *out, const cd_wh_event *event, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    u64 now = cd__wh_now(s);
    cd_wh_delivery d = {.hook = event->hook,
                        .event = *event,
                        .state = CD_WH_DELIVERING,
                        .created_ms = now,
                        .next_ms = now,
                        .is_test = true};
    i64 due = (i64)(now + s->lease_ms);
    d.event.block = 0;
    CD_TRY(WH_ONE(s, &st, TAIL_GET, why, cd_sql_i(event->hook)));
    i64 prev = cd_sql_col_i(st, 0);
    CD_TRY(cd__wh_keys(s, &d.key, 1, why));
    CD_TRY(cd__wh_insert(s, &(cd__wh_new){.d = &d, .prev = prev, .due = due, .kind = CD__WH_KIND_TEST}, why));
    CD_TRY(WH_RUN(s, TAIL, why, cd_sql_i(event->hook), cd_sql_i(d.key), cd_sql_i(due)));
    *out = d;
    return CD_OK;
}

/* --- rows --- */

cd_err cd__wh_keys(cd_wh_store *s, i64 *first, usize n, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, KEYS, why, cd_sql_u(n)));
    *first = cd_sql_col_i(st, 0) - (i64)n;
    return CD_OK;
}

cd_err cd__wh_insert(cd_wh_store *s, const cd__wh_new *n, cd_errinfo *why)
{
    const cd_wh_delivery *d = n->d;
    const cd_wh_event *e = &d->event;
    CD_TRY(WH_RUN(s, EVENT_ADD, why, cd_sql_i(d->key), cd_sql_b(cd_bytes_of(e->h, 32)),
                  cd_sql_b(cd_bytes_of(d->chain_hash, 32)), cd_sql_t(e->id), cd_sql_i(e->type), cd_sql_u(e->time_ms),
                  cd_sql_b(e->body)));
    CD_TRY(WH_RUN(s, DELIVERY_ADD, why, cd_sql_i(d->key), cd_sql_i(d->hook), cd_sql_u(d->sequence), cd_sql_u(e->block),
                  cd_sql_i(d->state), cd_sql_u(d->created_ms), cd_sql_u(d->next_ms),
                  n->due == 0 ? cd_sql_null() : cd_sql_i(n->due),
                  cd_sql_i(d->state == CD_WH_DELIVERING ? s->worker : 0), cd_sql_i(n->kind), cd_sql_i(n->prev)));
    return d->key % CD__WH_MARK_EVERY != 0 ? CD_OK : WH_RUN(s, MARK_ADD, why, cd_sql_i(d->hook), cd_sql_i(d->key));
}
