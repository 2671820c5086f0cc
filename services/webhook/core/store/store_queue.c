#include "base/mem/mem.h"
#include "services/webhook/core/store/store_priv.h"

#include <stdlib.h>

void cd__wh_row(cd_wh_delivery *out, cd_sql_stmt *st, cd_arena *mem)
{
    cd_wh_delivery d = {
        .key = cd_sql_col_i(st, 0),
        .hook = cd_sql_col_i(st, 1),
        .sequence = cd_sql_col_u(st, 2),
        .state = (cd_wh_state)cd_sql_col_i(st, 4),
        .attempts = (u32)cd_sql_col_u(st, 5),
        .created_ms = cd_sql_col_u(st, 6),
        .next_ms = cd_sql_col_u(st, 7),
        .delivered_ms = cd_sql_col_u(st, 8),
        .is_test = cd_sql_col_i(st, 9) == CD__WH_KIND_TEST,
        .is_replay = cd_sql_col_i(st, 9) == CD__WH_KIND_REPLAY,
        .event =
            {
                .hook = cd_sql_col_i(st, 1),
                .block = cd_sql_col_u(st, 3),
                .type = (cd_wh_type)cd_sql_col_i(st, 13),
                .time_ms = cd_sql_col_u(st, 14),
            },
    };
    cd_bytes h = cd_sql_col_b(st, 10);
    cd_bytes chain = cd_sql_col_b(st, 11);
    cd_bytes id = cd_sql_col_b(st, 12);
    memcpy(d.event.h, h.p, h.n < 32 ? h.n : 32);
    memcpy(d.chain_hash, chain.p, chain.n < 32 ? chain.n : 32);
    memcpy(d.event.id, id.p, id.n < sizeof d.event.id ? id.n : sizeof d.event.id - 1);
    if (mem != NULL) {
        d.event.body = cd_sql_col_dup(st, 15, mem);
    }
    *out = d;
}

cd_err cd__wh_attempt_add(cd_wh_store *s, i64 delivery, const cd_wh_attempt *a, cd_errinfo *why)
{
    i64 number = a->number < 255 ? (i64)a->number : 255;
    return WH_RUN(s, ATTEMPT_ADD, why, cd_sql_i((delivery << CD__WH_ATTEMPTS_BITS) | number), cd_sql_u(a->at_ms),
                  cd_sql_i(a->ms), cd_sql_i(a->dns_ms), cd_sql_i(a->connect_ms), cd_sql_i(a->tls_ms),
                  cd_sql_i(a->ttfb_ms), cd_sql_i(a->status), cd_sql_t(a->error), cd_sql_t(a->request),
                  cd_sql_t(a->response), cd_sql_b(a->body));
}

/* --- slow webhooks --- */

bool cd__wh_is_slow(const cd_wh_store *s, i64 hook)
{
    return cd_hmap_cnt(&s->slow) != 0 && cd_hmap_get(&s->slow, &hook) != NULL;
}

cd_err cd_wh_slow_set(cd_wh_store *s, i64 hook, bool is_slow, cd_errinfo *why)
{
    if (is_slow) {
        (void)cd_hmap_put(&s->slow, NULL, &hook);
        return CD_OK;
    }
    const bool *is_queued = cd_hmap_get(&s->slow, &hook);
    bool was_put_off = is_queued != NULL && *is_queued;
    (void)cd_hmap_del(&s->slow, &hook); /* the queue finds out */
    return was_put_off ? WH_RUN(s, QUEUE_LOOK, why, cd_sql_i(hook), cd_sql_u(cd__wh_now(s))) : CD_OK;
}

void cd_wh_slow_room(cd_wh_store *s, u32 room)
{
    s->slow_room = room;
}

usize cd_wh_slow_waiting(const cd_wh_store *s)
{
    return s->slow_cnt;
}

static void slow_push(cd_wh_store *s, i64 hook)
{
    bool *is_queued = cd_hmap_get(&s->slow, &hook);
    if (*is_queued) {
        return;
    }
    *is_queued = true;
    if (s->slow_cnt == s->slow_cap) {
        usize cap = s->slow_cap == 0 ? 64 : 2 * s->slow_cap;
        i64 *ring = cd_new_array(i64, cap);
        for (usize i = 0; i < s->slow_cnt; i++) {
            ring[i] = s->slow_queue[(s->slow_first + i) % s->slow_cap];
        }
        cd_free(s->slow_queue);
        s->slow_queue = ring;
        s->slow_cap = cap;
        s->slow_first = 0;
    }
    s->slow_queue[(s->slow_first + s->slow_cnt++) % s->slow_cap] = hook;
}

/* The first that is slow still. */
static bool slow_pop(cd_wh_store *s, i64 *hook)
{
    while (s->slow_cnt > 0) {
        *hook = s->slow_queue[s->slow_first];
        s->slow_first = (s->slow_first + 1) % s->slow_cap;
        s->slow_cnt--;
        bool *is_queued = cd_hmap_get(&s->slow, hook);
        if (is_queued != NULL && *is_queued) {
            *is_queued = false;
            return true;
        }
    }
    return false;
}

/* --- claim --- */

/* Long: each time is a write of three pages. */
enum { PUT_OFF_MS = 120000, PUT_OFF_SPREAD = 128 };

typedef struct due_queue {
    i64 hook, status, in_hand;
    bool is_strict;
} due_queue;

typedef struct claim {
    cd_wh_store *s;
    cd_arena *mem;
    cd_buf rows; /* cd_wh_delivery */
    i64 now, lease;
    u32 max, per_hook;
} claim;

/* When the queue must be looked at again; 0: nothing waits. A row behind the first of a strict queue counts as due, for
 * one is taken when nothing is before it. */
static cd_err first_due(cd_wh_store *s, i64 *due, i64 hook, i64 after, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    bool is_row = false;
    if (after == 0) {
        CD_TRY(WH_QUERY(s, &st, QUEUE_FIRST_DUE, why, cd_sql_i(hook)));
    } else {
        CD_TRY(WH_QUERY(s, &st, QUEUE_NEXT_DUE, why, cd_sql_i(hook), cd_sql_i(after)));
    }
    CD_TRY(cd_sql_next(st, &is_row, why));
    *due = is_row ? cd_sql_col_i(st, 0) : 0;
    return CD_OK;
}

static cd_err claimed(cd_wh_store *s, i64 hook, i64 in_hand, bool is_behind, i64 due, cd_errinfo *why)
{
    return WH_RUN(s, QUEUE_CLAIMED, why, cd_sql_i(hook), cd_sql_i(in_hand), cd_sql_i(is_behind),
                  due == 0 ? cd_sql_null() : cd_sql_i(due));
}

/* Reads rows [from, …) of c->rows from a statement. */
static cd_err read_rows(claim *c, cd_sql_stmt *st, cd_errinfo *why)
{
    for (bool is_row = true;;) {
        cd_wh_delivery d;
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            return CD_OK;
        }
        cd__wh_row(&d, st, c->mem);
        cd_buf_put(&c->rows, cd_bytes_of(&d, sizeof d));
    }
}

/* A strict queue gives its first row, when its time has come or the ones before it are through. */
static cd_err strict_row(claim *c, i64 hook, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_wh_delivery d;
    bool is_row = false;
    CD_TRY(WH_QUERY(c->s, &st, QUEUE_HEAD, why, cd_sql_i(hook)));
    CD_TRY(cd_sql_next(st, &is_row, why));
    if (is_row) {
        i64 due = cd_sql_col_i(st, 16);
        if (due <= c->now || due >= CD__WH_BLOCKED) {
            cd__wh_row(&d, st, c->mem);
            cd_buf_put(&c->rows, cd_bytes_of(&d, sizeof d));
        }
    }
    return CD_OK;
}

/* Takes what c->rows has from `from` on. Rows that a dead worker had are in hand already; a test is not sent again. */
static cd_err lease(claim *c, usize from, i64 *in_hand, cd_errinfo *why)
{
    usize kept = from;
    for (usize i = from; i < c->rows.n / sizeof(cd_wh_delivery); i++) {
        cd_wh_delivery *d = (cd_wh_delivery *)(void *)c->rows.p + i;
        if (d->is_test) {
            CD_TRY(WH_RUN(c->s, GIVE_UP, why, cd_sql_i(d->key), cd_sql_i(CD_WH_FAILED)));
            *in_hand -= *in_hand > 0 ? 1 : 0;
            continue;
        }
        CD_TRY(WH_RUN(c->s, LEASE, why, cd_sql_i(d->key), cd_sql_i(c->lease), cd_sql_i(c->s->worker)));
        *in_hand += d->state == CD_WH_DELIVERING ? 0 : 1;
        d->state = CD_WH_DELIVERING;
        memmove((cd_wh_delivery *)(void *)c->rows.p + kept, d, sizeof *d);
        kept++;
    }
    c->rows.n = kept * sizeof(cd_wh_delivery);
    return CD_OK;
}

/* A queue that is not active is due only for what a dead worker had of it. */
static cd_err hold_queue(claim *c, const due_queue *l, cd_errinfo *why)
{
    i64 due = 0;
    i64 to = l->status == CD__WH_GONE ? CD_WH_CANCELLED : CD_WH_HELD;
    i64 in_hand = l->in_hand;
    cd_sql_stmt *st = NULL;
    usize from = c->rows.n;
    CD_TRY(WH_QUERY(c->s, &st, QUEUE_ROWS, why, cd_sql_i(l->hook), cd_sql_i(c->now), cd_sql_i(c->max)));
    CD_TRY(read_rows(c, st, why));
    for (usize at = from; at < c->rows.n; at += sizeof(cd_wh_delivery)) {
        cd_wh_delivery d;
        memcpy(&d, c->rows.p + at, sizeof d);
        in_hand -= d.state == CD_WH_DELIVERING && in_hand > 0 ? 1 : 0;
        CD_TRY(WH_RUN(c->s, GIVE_UP, why, cd_sql_i(d.key), cd_sql_i(d.is_test ? CD_WH_FAILED : (cd_wh_state)to)));
    }
    c->rows.n = from;
    CD_TRY(first_due(c->s, &due, l->hook, 0, why));
    return claimed(c->s, l->hook, in_hand, false, due, why);
}

static cd_err claim_queue(claim *c, const due_queue *l, u32 per_hook, cd_errinfo *why)
{
    usize had = c->rows.n / sizeof(cd_wh_delivery);
    u32 room = c->max - (u32)had;
    i64 in_hand = l->in_hand;
    i64 due = 0;
    u32 free_hands = l->in_hand < (i64)per_hook ? per_hook - (u32)l->in_hand : 0;
    cd_sql_stmt *st = NULL;
    if (l->status != CD_WH_ACTIVE) {
        return hold_queue(c, l, why);
    }
    if (l->is_strict) {
        CD_TRY(strict_row(c, l->hook, why));
    } else if (free_hands > 0) {
        CD_TRY(WH_QUERY(c->s, &st, QUEUE_ROWS, why, cd_sql_i(l->hook), cd_sql_i(c->now),
                        cd_sql_i(free_hands < room ? free_hands : room)));
        CD_TRY(read_rows(c, st, why));
    } else { /* a full queue is due when a lease has ended: what a dead worker had counts as in hand */
        CD_TRY(WH_QUERY(c->s, &st, QUEUE_DEAD, why, cd_sql_i(l->hook), cd_sql_i(c->now), cd_sql_i(room)));
        CD_TRY(read_rows(c, st, why));
    }
    CD_TRY(lease(c, had, &in_hand, why));
    CD_TRY(first_due(c->s, &due, l->hook, 0, why));
    bool is_behind = due != 0 && (due <= c->now || l->is_strict);
    if (due != 0 && due <= c->now && in_hand >= (i64)per_hook) {
        CD_TRY(first_due(c->s, &due, l->hook, c->now, why)); /* when a hand is free, it is due */
    }
    return claimed(c->s, l->hook, in_hand, is_behind, due >= CD__WH_BLOCKED ? c->now : due, why);
}

static due_queue read_queue(cd_sql_stmt *st)
{
    return (due_queue){
        .hook = cd_sql_col_i(st, 0),
        .status = cd_sql_col_i(st, 1),
        .is_strict = cd_sql_col_i(st, 2) != 0,
        .in_hand = cd_sql_col_i(st, 3),
    };
}

/* Queues of slow webhooks are not looked at for a while, so that those behind them are; memory knows when it is their
 * turn. Should that be lost, they are due again by themselves. */
static cd_err put_off(claim *c, i64 hook, cd_errinfo *why)
{
    slow_push(c->s, hook);
    return WH_RUN(c->s, QUEUE_DUE_SET, why, cd_sql_i(hook),
                  cd_sql_i(c->now + PUT_OFF_MS + hook % PUT_OFF_SPREAD * 1000));
}

static cd_err claim_slow(claim *c, cd_errinfo *why)
{
    i64 hook = 0;
    usize had = c->rows.n / sizeof(cd_wh_delivery);
    usize most = cd_min_u64(c->max, had + c->s->slow_room);
    while (c->rows.n / sizeof(cd_wh_delivery) < most && slow_pop(c->s, &hook)) {
        cd_sql_stmt *st = NULL;
        bool is_row = false;
        CD_TRY(WH_QUERY(c->s, &st, QUEUE_DUE, why, cd_sql_i(hook)));
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (is_row) {
            due_queue l = read_queue(st);
            CD_TRY(claim_queue(c, &l, 1, why));
        }
    }
    c->s->slow_room -= (u32)(c->rows.n / sizeof(cd_wh_delivery) - had);
    return CD_OK;
}

static cd_err claim_queues(claim *c, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    due_queue *queues = cd_arena_array(c->mem, due_queue, c->max);
    usize cnt = 0;
    CD_TRY(WH_QUERY(c->s, &st, QUEUES_DUE, why, cd_sql_i(c->now), cd_sql_i(c->max)));
    for (bool is_row = true;;) {
        CD_TRY(cd_sql_next(st, &is_row, why));
        if (!is_row) {
            break;
        }
        queues[cnt++] = read_queue(st);
    }
    for (usize i = 0; i < cnt && c->rows.n / sizeof(cd_wh_delivery) < c->max; i++) {
        const due_queue *l = &queues[i];
        if (l->status == CD_WH_ACTIVE && cd__wh_is_slow(c->s, l->hook)) {
            CD_TRY(put_off(c, l->hook, why));
        } else {
            CD_TRY(claim_queue(c, l, c->per_hook, why));
        }
    }
    return claim_slow(c, why);
}

cd_err cd_wh_claim(cd_wh_store *s, cd_wh_delivery **out, usize *cnt, cd_arena *mem, u64 now_ms, u64 lease_ms, u32 max,
                   u32 per_hook, cd_errinfo *why)
{
    claim c = {
        .s = s, .mem = mem, .now = (i64)now_ms, .lease = (i64)(now_ms + lease_ms), .max = max, .per_hook = per_hook};
    cd_err err = cd__wh_queues_settle(s, why); /* hands that are free since */
    if (err == CD_OK) {
        err = claim_queues(&c, why);
    }
    return cd__wh_rows((void **)out, cnt, mem, &c.rows, sizeof **out, err);
}

cd_err cd_wh_next_due(cd_wh_store *s, u64 *at_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    bool is_row = false;
    CD_TRY(cd__wh_queues_settle(s, why));
    CD_TRY(cd__wh_query(s, &st, CD__WH_NEXT_DUE, NULL, 0, why));
    CD_TRY(cd_sql_next(st, &is_row, why));
    *at_ms = is_row ? cd_sql_col_u(st, 0) : UINT64_MAX;
    return CD_OK;
}

/* --- settle --- */

static void note(cd_wh_store *s, const cd__wh_note *n)
{
    if (s->notes_cnt == s->notes_cap) {
        s->notes_cap = s->notes_cap == 0 ? 256 : 2 * s->notes_cap;
        s->notes = cd_realloc(s->notes, s->notes_cap * sizeof *s->notes);
    }
    s->notes[s->notes_cnt++] = *n;
}

cd_err cd_wh_settle(cd_wh_store *s, const cd_wh_delivery *d, const cd_wh_attempt *attempt, cd_wh_state state,
                    u64 next_ms, cd_errinfo *why)
{
    bool waits = state == CD_WH_RETRYING || state == CD_WH_PENDING;
    u32 attempts = attempt == NULL ? d->attempts : attempt->number;
    CD_ASSERT(waits || state == CD_WH_DELIVERED || state == CD_WH_FAILED || state == CD_WH_CANCELLED);
    if (waits) {
        CD_TRY(WH_RUN(s, SETTLE_WAIT, why, cd_sql_i(d->key), cd_sql_i(state), cd_sql_i(attempts), cd_sql_u(next_ms),
                      cd_sql_i(d->hook)));
    } else {
        u64 at = state == CD_WH_DELIVERED ? cd__wh_now(s) : 0;
        CD_TRY(WH_RUN(s, SETTLE_DONE, why, cd_sql_i(d->key), cd_sql_i(state), cd_sql_i(attempts), cd_sql_u(at)));
    }
    if (attempt != NULL) {
        CD_TRY(cd__wh_attempt_add(s, d->key, attempt, why));
    }
    note(s, &(cd__wh_note){
                .hook = d->hook,
                .next_ms = waits ? next_ms : 0,
                .latency_ms = attempt == NULL ? 0 : attempt->ms,
                .state = state,
                .is_attempt = attempt != NULL,
                .is_answer = attempt != NULL && attempt->status != 0,
                .is_test = d->is_test,
            });
    return CD_OK;
}

static int by_hook(const void *a, const void *b)
{
    const cd__wh_note *x = a;
    const cd__wh_note *y = b;
    return (x->hook > y->hook) - (x->hook < y->hook);
}

/* One write for each queue, queues in rising order as everybody locks them. Within a queue the notes of a group count
 * as one moment: when one was delivered, failures start again at none. */
static cd_err settle_queues(cd_wh_store *s, cd__wh_note *notes, usize cnt, cd_errinfo *why)
{
    u64 now = cd__wh_now(s);
    qsort(notes, cnt, sizeof *notes, by_hook);
    for (usize i = 0, to; i < cnt; i = to) {
        u64 next = 0;
        u64 failed = 0;
        bool delivered = false;
        bool is_back = false; /* given back: what comes later must not overtake it */
        for (to = i; to < cnt && notes[to].hook == notes[i].hook; to++) {
            const cd__wh_note *n = &notes[to];
            delivered = delivered || (n->state == CD_WH_DELIVERED && !n->is_test);
            failed += n->is_attempt && n->state != CD_WH_DELIVERED && !n->is_test ? 1 : 0;
            is_back = is_back || n->state == CD_WH_PENDING;
            if (n->next_ms != 0 && (next == 0 || n->next_ms < next)) {
                next = n->next_ms;
            }
        }
        CD_TRY(WH_RUN(s, QUEUE_SETTLED, why, cd_sql_i(notes[i].hook), cd_sql_u(to - i), cd_sql_i(delivered),
                      cd_sql_u(delivered ? 0 : failed), cd_sql_u(now), cd_sql_u(next), cd_sql_i(is_back)));
    }
    return CD_OK;
}

/* Notes from before a savepoint and from behind it are not mixed: the latter may be taken back. */
cd_err cd__wh_queues_settle(cd_wh_store *s, cd_errinfo *why)
{
    while (s->notes_queued < s->notes_cnt) {
        usize to = s->notes_queued < s->saved_cnt ? s->saved_cnt : s->notes_cnt;
        CD_TRY(settle_queues(s, s->notes + s->notes_queued, to - s->notes_queued, why));
        s->notes_queued = to;
    }
    return CD_OK;
}

/* --- status --- */

static cd_err queue_status(cd_wh_store *s, i64 *status, i64 hook, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, QUEUE_LOCK, why, cd_sql_i(hook)));
    *status = cd_sql_col_i(st, 0);
    return *status == CD__WH_GONE ? cd_fail(why, CD_ENOENT, "there is no such webhook") : CD_OK;
}

cd_err cd_wh_hook_pause(cd_wh_store *s, bool *changed, i64 hook, cd_wh_status status, cd_errinfo *why)
{
    i64 was = 0;
    CD_ASSERT(status != CD_WH_ACTIVE);
    CD_TRY(queue_status(s, &was, hook, why));
    CD_TRY(WH_RUN(s, QUEUE_STATUS, why, cd_sql_i(hook), cd_sql_i(status)));
    CD_TRY(WH_RUN(s, WAITING_TO, why, cd_sql_i(hook), cd_sql_i(CD_WH_HELD)));
    CD_TRY(cd__wh_tell(s, hook, why));
    *changed = was != (i64)status;
    return CD_OK;
}

cd_err cd_wh_hook_resume(cd_wh_store *s, bool *changed, i64 hook, cd_errinfo *why)
{
    i64 was = 0;
    cd_sql_stmt *st = NULL;
    i64 now = (i64)cd__wh_now(s);
    CD_TRY(queue_status(s, &was, hook, why));
    if (was != CD_WH_ACTIVE) {
        CD_TRY(WH_ONE(s, &st, QUEUE_IS_STRICT, why, cd_sql_i(hook)));
        i64 is_strict = cd_sql_col_i(st, 0);
        CD_TRY(WH_RUN(s, HELD_FREE, why, cd_sql_i(hook), cd_sql_i(now), cd_sql_i(is_strict), cd_sql_i(CD__WH_BLOCKED)));
        CD_TRY(WH_RUN(s, QUEUE_RESUME, why, cd_sql_i(hook), cd_sql_i(now)));
        CD_TRY(cd__wh_tell(s, hook, why));
    }
    *changed = was != CD_WH_ACTIVE;
    return CD_OK;
}

cd_err cd_wh_hook_delete(cd_wh_store *s, i64 hook, cd_errinfo *why)
{
    i64 was = 0;
    u64 version = 0;
    cd_sql_stmt *st = NULL;
    CD_TRY(cd__wh_hooks_next(s, &version, why));
    CD_TRY(queue_status(s, &was, hook, why));
    CD_TRY(WH_ONE(s, &st, HOOK_DELETE, why, cd_sql_i(hook), cd_sql_u(cd__wh_now(s)), cd_sql_b((cd_bytes){0}),
                  cd_sql_u(version)));
    CD_TRY(WH_RUN(s, QUEUE_STATUS, why, cd_sql_i(hook), cd_sql_i(CD__WH_GONE)));
    CD_TRY(WH_RUN(s, CHUNKS_CUT, why, cd_sql_i(hook), cd_sql_i(0)));
    CD_TRY(cd__wh_tell(s, hook, why));
    CD_TRY(WH_RUN(s, HELD_TO, why, cd_sql_i(hook), cd_sql_i(CD_WH_CANCELLED)));
    return WH_RUN(s, WAITING_TO, why, cd_sql_i(hook), cd_sql_i(CD_WH_CANCELLED));
}
