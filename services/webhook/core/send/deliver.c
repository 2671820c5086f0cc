#include "services/webhook/core/send/deliver_priv.h"

#include "base/mem/mem.h"
#include "base/os/process.h"

#include <stdio.h>

enum {
    TIMEOUT_MS = 15000,
    CONCURRENCY = 8,
    IN_FLIGHT = 8192,
    CONNS_MAX = 16384, /* with those that are kept for later */
    LEASE_MS = 60000,
    SLOW_MS = 500,    /* an attempt that takes longer counts as hanging */
    PACE_MS = 20,     /* how often attempts are looked at for being slow, and counted for being enough */
    MARGIN_MS = 5000, /* of a lease, for what comes behind the attempt */
    /* So many attempts are enough while they end soon, or as soon as this thread comes to them: more would cost, and
     * bring nothing. */
    FEW = 64,
    FEW_MS = 20,
    FEW_ROUNDS = 4,
    PROVEN_MAX = 1024, /* attempts of a class, while they are not slow */
    FRESH_MAX = 512,
    SUSPECT_MAX = 1024,
    HUNG_MAX = 1024,
    SUSPECTS_WAITING_MAX = 4096, /* beyond that they are treated as if they hung */
    HUNG_WAITING_MAX = 16,
    HUNG_PRICE = 4096,     /* starts of others, for one of a hung webhook while others wait */
    HUNG_CREDIT_MAX = 4,   /* starts that can be saved up */
    UNREADABLE_MS = 10000, /* until a webhook that could not be read is looked at again */
    CLAIM_MAX = 1024,      /* rows at a time */
    AHEAD = 16,            /* of them of one webhook, so that it is not out of work */
    IN_HAND_MAX = 16384,   /* beyond that nothing is claimed */
    UNSETTLED_MAX = 8192,  /* nothing is started before the store has caught up */
    IDLE_MS = 5000,        /* a look into the store, even if it said that nothing is due */
    AGAIN_MS = 100,        /* when it said that more is due than could be taken */
    TURN_MS = 10,          /* from one turn to the next, while there is plenty to do besides */
    TURN_FULL = 512,       /* attempts are a turn at once */
};

u64 cd__wh_wall_ms(const cd_wh_deliverer *d)
{
    return cd_clock_wall_ns(d->cfg.clock) / CD_NS_PER_MS;
}

static void pump(cd_wh_deliverer *d);
static void turn(cd_wh_deliverer *d);

/* --- items --- */

static cd__wh_item *item_new(cd_wh_deliverer *d, const cd_wh_delivery *row)
{
    usize n = row->event.body.n;
    cd__wh_item *item = cd_alloc(sizeof *item + n);
    item->d = *row;
    if (n != 0) {
        memcpy(item + 1, row->event.body.p, n);
    }
    item->d.event.body = cd_bytes_of(item + 1, n);
    item->hook = cd__wh_hook_of(d, row->hook);
    item->hook->items++;
    item->since_ms = cd_loop_now_ms(d->loop);
    cd_list_init(&item->link);
    return item;
}

static void item_free(cd__wh_item *item)
{
    cd__wh_hook *h = item->hook;
    cd_wh_deliverer *d = h->owner;
    (void)cd_hmap_del(&d->items, &item->d.key);
    cd_list_del(&item->link);
    cd_buf_fini(&item->head);
    cd_free(item);
    if (--h->items == 0) {
        cd__wh_hook_rest(h);
    }
}

cd__wh_outcome *cd__wh_outcome_add(cd_wh_deliverer *d, cd__wh_item *item)
{
    cd__wh_turn *t = d->fills;
    if (t->cnt == t->cap) {
        t->cap = t->cap * 2 + 64;
        t->outcomes = cd_realloc(t->outcomes, t->cap * sizeof *t->outcomes);
    }
    cd__wh_outcome *o = &t->outcomes[t->cnt++];
    *o = (cd__wh_outcome){.item = item};
    return o;
}

/* Back to the store, without an attempt. */
static void give_back(cd__wh_item *item, cd_wh_state state, u64 next_ms)
{
    cd__wh_outcome *o = cd__wh_outcome_add(item->hook->owner, item);
    o->state = state;
    o->next_ms = next_ms;
}

static cd_wh_state waiting_state(const cd__wh_item *item)
{
    return item->d.attempts == 0 ? CD_WH_PENDING : CD_WH_RETRYING;
}

/* --- classes --- */

/* A webhook joins the ring of its class when it has something that may start. */
static u32 concurrency_of(const cd__wh_hook *h)
{
    u32 most = h->view.concurrency != 0 ? h->view.concurrency : h->owner->cfg.concurrency;
    bool is_one = h->view.is_strict || h->class == CD__WH_FRESH || h->class == CD__WH_HUNG;
    return is_one ? 1 : most;
}

static void ring_update(cd__wh_hook *h)
{
    bool may = h->is_loaded && h->waiting_cnt > 0 && h->running < concurrency_of(h);
    if (!may) {
        cd_list_del(&h->ring);
    } else if (cd_list_is_empty(&h->ring)) {
        cd_list_push_back(&h->owner->classes[h->class].ring, &h->ring);
    }
}

static void class_set(cd__wh_hook *h, cd__wh_class class)
{
    cd_wh_deliverer *d = h->owner;
    if (h->class != class) {
        d->classes[h->class].waiting -= h->waiting_cnt;
        d->classes[class].waiting += h->waiting_cnt;
        h->class = class;
        cd_list_del(&h->ring);
    }
    ring_update(h);
}

void cd__wh_slow_tell(cd__wh_hook *h, bool is_slow)
{
    if (h->is_slow != is_slow) {
        const cd__wh_slow s = {.hook = h->key, .is_slow = is_slow};
        h->is_slow = is_slow;
        cd_buf_put(&h->owner->fills->slow, cd_bytes_of(&s, sizeof s));
    }
}

/* Gives an item back to the store with the time at which it was due, so that it stays in front of those behind it. */
static void put_back(cd__wh_item *item)
{
    give_back(item, waiting_state(item), item->d.next_ms);
}

static void wait_begin(cd__wh_item *item)
{
    cd__wh_hook *h = item->hook;
    cd_wh_deliverer *d = h->owner;
    if (h->class == CD__WH_SUSPECT && d->classes[CD__WH_SUSPECT].waiting >= SUSPECTS_WAITING_MAX) {
        cd__wh_hook_hang(h);
    }
    if (h->class == CD__WH_HUNG && h->waiting_cnt > 0 && !item->d.is_test) {
        put_back(item);
        return;
    }
    if (item->d.is_test) {
        cd_list_push_front(&h->waiting, &item->link);
    } else {
        cd_list_push_back(&h->waiting, &item->link);
    }
    h->waiting_cnt++;
    d->classes[h->class].waiting++;
    ring_update(h);
}

static void wait_end(cd__wh_item *item)
{
    cd__wh_hook *h = item->hook;
    cd_list_del(&item->link);
    h->waiting_cnt--;
    h->owner->classes[h->class].waiting--;
    ring_update(h);
}

/* Puts a webhook among those that hang, which get one attempt at a time. */
void cd__wh_hook_hang(cd__wh_hook *h)
{
    class_set(h, CD__WH_HUNG);
    cd__wh_slow_tell(h, true);
    while (!cd_list_is_empty(&h->waiting)) {
        cd__wh_item *item = cd_list_of(h->waiting.prev, cd__wh_item, link);
        if (item->d.is_test) {
            break;
        }
        wait_end(item);
        put_back(item);
    }
}

static void run_begin(cd__wh_item *item)
{
    cd__wh_hook *h = item->hook;
    cd_wh_deliverer *d = h->owner;
    item->is_running = true;
    item->is_slow = false;
    item->class = h->class;
    item->since_ms = cd_loop_now_ms(d->loop);
    item->since_round = cd_loop_round(d->loop);
    if (!d->is_pacing) {
        d->is_pacing = true;
        cd_timer_start(d->pace, PACE_MS, PACE_MS);
    }
    cd_list_push_back(&d->classes[item->class].young, &item->link);
    d->classes[item->class].running++;
    d->running++;
    h->running++;
    ring_update(h);
    cd__wh_try(item);
}

static void run_end(cd__wh_item *item)
{
    cd__wh_hook *h = item->hook;
    cd_wh_deliverer *d = h->owner;
    item->is_running = false;
    cd_list_del(&item->link);
    d->classes[item->class].running--;
    d->running--;
    h->running--;
}

/* Moves the attempts of a class that have run for SLOW_MS to the class of those that hang, and their webhooks too. */
static void age(cd_wh_deliverer *d, cd_list *young)
{
    u64 now = cd_loop_now_ms(d->loop);
    while (!cd_list_is_empty(young)) {
        cd__wh_item *item = cd_list_of(young->next, cd__wh_item, link);
        if (now - item->since_ms < SLOW_MS) {
            break;
        }
        cd_list_del(&item->link);
        cd_list_push_back(&d->slow, &item->link);
        item->is_slow = true;
        d->classes[item->class].running--;
        item->class = CD__WH_HUNG;
        d->classes[CD__WH_HUNG].running++;
        cd__wh_hook_hang(item->hook);
    }
}

static void on_pace(void *ctx)
{
    cd_wh_deliverer *d = ctx;
    d->is_pacing = false;
    for (usize c = 0; c < CD__WH_CLASSES_CNT; c++) {
        age(d, &d->classes[c].young);
        d->is_pacing |= !cd_list_is_empty(&d->classes[c].young);
    }
    if (!d->is_pacing) {
        cd_timer_stop(d->pace);
    }
    pump(d);
}

/* Takes the next item of a webhook: starts it, or gives it back. */
static void start_next(cd__wh_hook *h)
{
    cd_wh_deliverer *d = h->owner;
    cd__wh_item *item = cd_list_of(h->waiting.next, cd__wh_item, link);
    u64 waited = cd_loop_now_ms(d->loop) - item->since_ms;
    wait_end(item);
    /* An item goes back when its webhook is not active (the store holds it then), and when its lease ends so soon that
     * another worker may take it during the attempt. */
    bool is_held = h->view.status != CD_WH_ACTIVE && !item->d.is_test;
    if (h->is_gone) {
        give_back(item, CD_WH_CANCELLED, 0);
    } else if (is_held || waited + d->cfg.timeout_ms + MARGIN_MS > d->cfg.lease_ms) {
        put_back(item);
    } else {
        run_begin(item);
    }
}

/* FEW attempts of quick webhooks are enough as long as they end soon. */
static bool are_enough(const cd_wh_deliverer *d, usize class)
{
    if (class != CD__WH_PROVEN || d->classes[class].running < FEW) {
        return false;
    }
    const cd__wh_item *oldest = cd_list_of(d->classes[class].young.next, cd__wh_item, link);
    return cd_loop_now_ms(d->loop) - oldest->since_ms < FEW_MS ||
           cd_loop_round(d->loop) - oldest->since_round < FEW_ROUNDS;
}

/* While quick ones wait for hands, an attempt that will hang is one of many: with a connection made and ended it costs
 * as much as four of theirs. When nobody waits it may. */
static bool may_start(cd_wh_deliverer *d, usize class)
{
    bool are_waiting = !cd_list_is_empty(&d->classes[CD__WH_PROVEN].ring);
    if (class == CD__WH_HUNG && are_waiting) {
        if (d->credit < HUNG_PRICE) {
            return false;
        }
        d->credit -= HUNG_PRICE;
    } else if (class != CD__WH_HUNG && d->credit < HUNG_PRICE * HUNG_CREDIT_MAX) {
        d->credit++;
    }
    return true;
}

/* Starts what may start: of each class in turn, a webhook one item at a time. */
static void pump(cd_wh_deliverer *d)
{
    if (d->is_pumping) {
        return; /* called from within: an attempt ended while it was being started below */
    }
    d->is_pumping = true;
    for (usize c = 0; c < CD__WH_CLASSES_CNT && !d->is_draining; c++) {
        cd_list *ring = &d->classes[c].ring;
        /* The proven always have room of their own. */
        u32 all = c == CD__WH_PROVEN ? d->cfg.in_flight : d->cfg.in_flight - d->cfg.in_flight / 8;
        while (!cd_list_is_empty(ring) && d->classes[c].running < d->classes[c].max && d->running < all &&
               d->fills->cnt < UNSETTLED_MAX && !are_enough(d, c) && may_start(d, c)) {
            cd__wh_hook *h = cd_list_of(ring->next, cd__wh_hook, ring);
            cd_list_del(&h->ring); /* start_next puts it at the end when it has more items */
            start_next(h);
            d->wants_claim |= c == CD__WH_HUNG && d->slow_queued > 0;
        }
    }
    d->is_pumping = false;
    turn(d);
}

/* --- the end of an attempt --- */

enum { DELIVERED, RETRIED, FAILED, GIVEN_BACK };

/* Copies what the client will free. The text of the request need not be copied: it is the item's, which lives until the
 * turn is done. */
static void attempt_copy(cd_wh_attempt *out, cd_arena *mem, const cd_wh_attempt *a)
{
    *out = *a;
    out->response = cd_arena_str(mem, cd_bytes_str(a->response));
    out->body = cd_arena_dup(mem, a->body);
}

/* Chooses the class of a webhook by how its receiver has answered this attempt. */
static void learn(cd__wh_hook *h, const cd__wh_item *item, const cd_wh_attempt *a)
{
    bool answered = a->status != 0;
    bool is_silent = strcmp(a->error, "timeout") == 0 || (item->is_slow && strcmp(a->error, "dns") == 0);
    if (!answered && is_silent) {
        cd__wh_hook_hang(h);
        return;
    }
    cd__wh_slow_tell(h, false);
    class_set(h, item->is_slow             ? CD__WH_SUSPECT
                 : answered                ? CD__WH_PROVEN
                 : h->class == CD__WH_HUNG ? CD__WH_SUSPECT
                                           : h->class);
}

void cd__wh_try_ended(cd__wh_item *item, const cd_wh_attempt *attempt, const cd_wh_met *met)
{
    cd__wh_hook *h = item->hook;
    cd_wh_deliverer *d = h->owner;
    u64 now = cd__wh_wall_ms(d);
    cd_wh_verdict v = cd_wh_judge(h->view.face, attempt->number, met, h->view.status, now, d->cfg.jitter, &d->rng);
    if (item->d.is_test && v.state != CD_WH_DELIVERED) {
        v = (cd_wh_verdict){.state = CD_WH_FAILED};
    }
    if (item->is_running) {
        run_end(item);
        learn(h, item, attempt);
    }
    cd__wh_outcome *o = cd__wh_outcome_add(d, item);
    o->has_attempt = true;
    attempt_copy(&o->attempt, &d->fills->mem, attempt);
    o->state = v.state == CD_WH_HELD ? CD_WH_RETRYING
                                     : v.state; /* the store decides which of the two: it knows the webhook's status */
    o->next_ms = v.next_ms;
    o->ends_hook = v.ends_hook;
    o->hook_status = v.hook_status;
    if (v.ends_hook) {
        h->view.status = v.hook_status; /* start_next gives its other items back, and the store holds them */
    }
    if (d->seconds != NULL) {
        cd_hist_add(d->seconds, (u64)attempt->ms * CD_NS_PER_MS);
    }
    pump(d);
}

/* --- turns --- */

static cd_err settle(cd_wh_deliverer *d, cd_wh_store *s, cd__wh_outcome *o, cd_errinfo *why)
{
    const cd_wh_delivery *row = &o->item->d;
    CD_TRY(cd_wh_settle(s, row, o->has_attempt ? &o->attempt : NULL, o->state, o->next_ms, why));
    bool is_given_up = o->has_attempt && o->state == CD_WH_FAILED && !row->is_test;
    bool changed = false;
    o->has_ended = false;
    if (o->ends_hook) {
        cd_err e = cd_wh_hook_pause(s, &changed, row->hook, o->hook_status, why);
        if (e == CD_ENOENT) {
            return CD_OK;
        }
        CD_TRY(e);
        is_given_up = changed; /* false: an earlier event has ended the webhook, and its owner was told then */
        o->has_ended = changed;
    }
    if (!is_given_up || d->cfg.hook_ended == NULL) {
        return CD_OK;
    }
    const cd_wh_ending ending = {
        .d = row, .status = changed ? o->hook_status : CD_WH_ACTIVE, .now_ms = cd__wh_wall_ms(d)};
    return d->cfg.hook_ended(d->cfg.ctx, s, &ending, why);
}

/* On the store's thread. */
static cd_err run_turn(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_wh_deliverer *d = cd_list_of(job, cd_wh_deliverer, job);
    cd__wh_turn *t = d->under_way;
    d->claimed = NULL;
    d->claimed_cnt = 0;
    for (usize i = 0; i < t->slow.n; i += sizeof(cd__wh_slow)) {
        cd__wh_slow slow;
        memcpy(&slow, t->slow.p + i, sizeof slow);
        CD_TRY(cd_wh_slow_set(s, slow.hook, slow.is_slow, why));
    }
    for (usize i = 0; i < t->cnt; i++) {
        CD_TRY(settle(d, s, &t->outcomes[i], why));
    }
    if (d->claim_max > 0) {
        cd_wh_slow_room(s, d->claim_slow);
        CD_TRY(cd_wh_claim(s, &d->claimed, &d->claimed_cnt, &t->mem, cd__wh_wall_ms(d), d->cfg.lease_ms, d->claim_max,
                           AHEAD, why));
    }
    d->slow_left = cd_wh_slow_waiting(s);
    return cd_wh_next_due(s, &d->next_due_ms, why);
}

static void count(cd_wh_deliverer *d, const cd__wh_outcome *o)
{
    if (d->seconds == NULL) {
        return;
    }
    usize what = !o->has_attempt               ? GIVEN_BACK
                 : o->state == CD_WH_DELIVERED ? DELIVERED
                 : o->state == CD_WH_FAILED    ? FAILED
                                               : RETRIED;
    cd_counter_add(d->outcomes[o->item->hook->view.face][what], 1);
    if (o->has_ended) {
        cd_counter_add(d->ended, 1);
    }
}

static void tell(cd_wh_deliverer *d, const cd__wh_outcome *o)
{
    cd__wh_item *item = o->item;
    count(d, o);
    item->d.attempts += o->has_attempt;
    item->d.state = o->state;
    if (o->has_attempt && d->cfg.settled != NULL) {
        const cd_wh_settled s = {
            .hook = &item->hook->view,
            .d = &item->d,
            .attempt = &o->attempt,
            .state = o->state,
            .next_ms = o->next_ms,
        };
        d->cfg.settled(d->cfg.ctx, &s);
    }
    if (item->test_fn != NULL) {
        item->test_fn(item->test_ctx, o->has_attempt ? &o->attempt : NULL);
    }
}

static void finish_drain(cd_wh_deliverer *d)
{
    void (*done)(void *ctx) = d->drained;
    if (d->is_draining && done != NULL && d->running == 0 && d->fills->cnt == 0 && d->under_way == NULL &&
        !d->is_loading) {
        d->drained = NULL;
        cd_timer_stop(d->grace);
        done(d->drained_ctx);
    }
}

static void on_turn(cd_job *job)
{
    cd_wh_deliverer *d = cd_list_of(job, cd_wh_deliverer, job);
    cd__wh_turn *t = d->under_way; /* stays set until everybody is told, so that no other turn is posted meanwhile */
    if (job->err != CD_OK) {
        /* The attempts were made; when their leases end they will be made again. */
        cd_log_error(d->cfg.log, "deliveries cannot be recorded", CD_F("error", job->why.msg));
        d->next_due_ms = cd__wh_wall_ms(d) + IDLE_MS;
        d->claimed_cnt = 0;
    }
    for (usize i = 0; i < t->cnt; i++) {
        if (job->err == CD_OK) {
            tell(d, &t->outcomes[i]);
        } else if (t->outcomes[i].item->test_fn != NULL) {
            t->outcomes[i].item->test_fn(t->outcomes[i].item->test_ctx, NULL);
        }
        item_free(t->outcomes[i].item);
    }
    u64 now = cd__wh_wall_ms(d);
    /* Perhaps there is more, and hands that this turn has freed can be filled; what is due besides has to wait for
     * that. */
    d->wants_claim |= d->claimed_cnt > 0 || t->cnt > 0;
    cd_wh_deliver_offer(d, d->claimed, d->claimed_cnt);
    d->claimed_cnt = 0;
    t->cnt = 0;
    cd_buf_clear(&t->slow);
    d->slow_queued = d->slow_left;
    cd_arena_reset(&t->mem);
    d->under_way = NULL;
    d->turned_ms = cd_loop_now_ms(d->loop);
    cd_timer_start(d->due, d->next_due_ms <= now ? AGAIN_MS : cd_min_u64(d->next_due_ms - now, IDLE_MS), 0);
    pump(d);
    finish_drain(d);
}

/* Nobody waits for what this turn would record and fetch: attempts go on without it. A turn writes the same pages of
 * the store's indices whether it has fifty attempts or five hundred. */
static bool can_wait(const cd_wh_deliverer *d)
{
    u32 waiting = d->classes[CD__WH_PROVEN].waiting + d->classes[CD__WH_FRESH].waiting;
    return waiting >= FEW && d->fills->cnt < TURN_FULL && !d->is_draining &&
           cd_loop_now_ms(d->loop) < d->turned_ms + TURN_MS;
}

static void on_turn_due(void *ctx)
{
    cd_wh_deliverer *d = ctx;
    d->is_turn_due = false;
    turn(d);
}

/* Posts a turn when there is a reason for one and none is under way. */
static void turn(cd_wh_deliverer *d)
{
    usize in_hand = cd_hmap_cnt(&d->items);
    bool claims = d->wants_claim && !d->is_draining && in_hand < IN_HAND_MAX;
    if (d->under_way != NULL || (d->fills->cnt == 0 && d->fills->slow.n == 0 && !claims)) {
        return;
    }
    if (can_wait(d)) {
        if (!d->is_turn_due) {
            d->is_turn_due = true;
            cd_timer_start(d->turn_due, TURN_MS, 0);
        }
        return;
    }
    d->under_way = d->fills;
    d->fills = d->fills == &d->turns[0] ? &d->turns[1] : &d->turns[0];
    d->claim_max = claims ? CLAIM_MAX : 0;
    u32 hung = d->classes[CD__WH_HUNG].waiting;
    d->claim_slow = hung < HUNG_WAITING_MAX ? HUNG_WAITING_MAX - hung : 0;
    d->wants_claim &= !claims;
    d->job.run = run_turn;
    d->job.done = on_turn;
    cd_jobs_write(d->cfg.db, &d->job);
}

static void on_due(void *ctx)
{
    cd_wh_deliverer *d = ctx;
    d->wants_claim = true;
    turn(d);
    cd_timer_start(d->due, IDLE_MS, 0);
}

/* --- what others call --- */

void cd__wh_hook_ready(cd__wh_hook *h)
{
    cd_wh_deliverer *d = h->owner;
    if (h->is_loaded && !h->is_gone) {
        ring_update(h);
        pump(d);
        return;
    }
    while (!cd_list_is_empty(&h->waiting)) {
        cd__wh_item *item = cd_list_of(h->waiting.next, cd__wh_item, link);
        wait_end(item);
        if (h->is_gone) {
            give_back(item, CD_WH_CANCELLED, 0);
        } else {
            give_back(item, waiting_state(item), cd__wh_wall_ms(d) + UNREADABLE_MS);
        }
    }
    turn(d);
    finish_drain(d);
}

static bool is_stale(const cd__wh_hook *h)
{
    const cd_wh_deliver_cfg *cfg = &h->owner->cfg;
    return !h->is_loaded ||
           (cfg->hook_ttl_ms != 0 && cd_loop_now_ms(h->owner->loop) - h->loaded_ms >= cfg->hook_ttl_ms);
}

static void take(cd_wh_deliverer *d, const cd_wh_delivery *row, cd_wh_deliver_test_fn *fn, void *ctx)
{
    bool is_new;
    cd__wh_item **slot = cd_hmap_put(&d->items, &is_new, &row->key);
    if (!is_new) {
        return; /* it is in hand already: its lease has ended, and the store handed it out once more */
    }
    cd__wh_item *item = item_new(d, row);
    cd__wh_hook *h = item->hook;
    *slot = item;
    item->test_fn = fn;
    item->test_ctx = ctx;
    if (row->is_test && h->is_loaded) {
        run_begin(item);
        return;
    }
    bool must_load = is_stale(h) && h->waiting_cnt == 0;
    wait_begin(item);
    if (must_load) {
        h->is_loaded = false;
        cd_list_del(&h->ring);
        cd__wh_hook_load(h);
    }
}

void cd_wh_deliver_offer(cd_wh_deliverer *d, const cd_wh_delivery *rows, usize cnt)
{
    for (usize i = 0; i < cnt && !d->is_draining; i++) {
        take(d, &rows[i], NULL, NULL);
    }
    if (cnt > 0) {
        pump(d);
    }
}

void cd_wh_deliver_test(cd_wh_deliverer *d, const cd_wh_delivery *row, cd_wh_deliver_test_fn *fn, void *ctx)
{
    CD_ASSERT(row->is_test);
    take(d, row, fn, ctx);
    pump(d);
}

void cd_wh_deliver_due(cd_wh_deliverer *d)
{
    d->wants_claim = true;
    turn(d);
}

void cd_wh_deliver_hook(cd_wh_deliverer *d, const cd_wh_hook *hook)
{
    cd__wh_hook **slot = cd_hmap_get(&d->hooks, &hook->key);
    if (slot != NULL && (*slot)->is_loaded) { /* else it will be read */
        bool leads_elsewhere = strcmp((*slot)->view.url, hook->url) != 0;
        cd__wh_hook_set(*slot, hook);
        if (leads_elsewhere) {
            cd__wh_slow_tell(*slot, false);
            class_set(*slot, CD__WH_FRESH);
        }
        cd__wh_hook_ready(*slot);
    }
    cd_wh_deliver_due(d);
}

void cd_wh_deliver_hook_gone(cd_wh_deliverer *d, i64 hook)
{
    cd__wh_hook **slot = cd_hmap_get(&d->hooks, &hook);
    if (slot != NULL) {
        (*slot)->is_gone = true;
        cd__wh_slow_tell(*slot, false);
        cd__wh_hook_ready(*slot);
    }
}

void cd_wh_deliver_load_get(const cd_wh_deliverer *d, cd_wh_deliver_load *out)
{
    *out = (cd_wh_deliver_load){.running = d->running, .hung = d->classes[CD__WH_HUNG].running};
    for (usize c = 0; c < CD__WH_CLASSES_CNT; c++) {
        out->waiting += d->classes[c].waiting;
    }
}

/* --- life --- */

/* The last look at where a connection goes, whatever came before. */
static bool may_connect(void *ctx, cd_bytes address, u16 port)
{
    (void)port;
    return cd_wh_guard_may(ctx, address);
}

/* Ends running attempts as if there had been none: they are due at once, for whoever comes next. */
static void on_grace(void *ctx)
{
    cd_wh_deliverer *d = ctx;
    cd_list *const lists[] = {&d->classes[CD__WH_PROVEN].young, &d->classes[CD__WH_FRESH].young,
                              &d->classes[CD__WH_SUSPECT].young, &d->classes[CD__WH_HUNG].young, &d->slow};
    for (usize i = 0; i < CD_COUNT(lists); i++) {
        while (!cd_list_is_empty(lists[i])) {
            cd__wh_item *item = cd_list_of(lists[i]->next, cd__wh_item, link);
            cd__wh_try_drop(item);
            run_end(item);
            put_back(item);
        }
    }
    turn(d);
    finish_drain(d);
}

void cd_wh_deliver_drain(cd_wh_deliverer *d, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    const void *key;
    void *v;
    d->is_draining = true;
    d->drained = done;
    d->drained_ctx = ctx;
    for (usize it = 0; cd_hmap_next(&d->hooks, &it, &key, &v);) {
        cd__wh_hook *h = *(cd__wh_hook **)v;
        while (!cd_list_is_empty(&h->waiting)) {
            cd__wh_item *item = cd_list_of(h->waiting.next, cd__wh_item, link);
            wait_end(item);
            put_back(item);
        }
    }
    cd_timer_start(d->grace, grace_ms, 0);
    turn(d);
    if (d->under_way == NULL) {
        cd_timer_start(d->grace, d->running == 0 ? 0 : grace_ms, 0);
    }
}

static void metrics_init(cd_wh_deliverer *d, cd_metrics *m)
{
    static const char *const faces[] = {"a", "b", "c"};
    static const char *const outcomes[] = {"delivered", "retried", "failed", "given_back"};
    static const u64 ms[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000};
    u64 bounds[CD_COUNT(ms)];
    for (usize i = 0; i < CD_COUNT(ms); i++) {
        bounds[i] = ms[i] * CD_NS_PER_MS;
    }
    for (usize f = 0; f < CD_COUNT(faces); f++) {
        for (usize o = 0; o < CD_COUNT(outcomes); o++) {
            const cd_label labels[] = {{"face", faces[f]}, {"outcome", outcomes[o]}};
            d->outcomes[f][o] =
                cd_metrics_counter(m, "deliveries_total", "Attempts by what followed.", labels, CD_COUNT(labels));
        }
    }
    d->ended = cd_metrics_counter(m, "paused_total", "Webhooks that an event disabled or paused.", NULL, 0);
    d->seconds =
        cd_metrics_hist(m, "attempt_seconds", "How long attempts take.", NULL, 0, bounds, CD_COUNT(bounds), 1e9);
}

cd_err cd_wh_deliver_new(cd_wh_deliverer **out, cd_loop *loop, const cd_wh_deliver_cfg *cfg, cd_errinfo *why)
{
    cd_wh_deliverer *d = cd_new(cd_wh_deliverer);
    d->cfg = *cfg;
    d->loop = loop;
    d->cfg.clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    d->cfg.timeout_ms = cfg->timeout_ms != 0 ? cfg->timeout_ms : TIMEOUT_MS;
    d->cfg.concurrency = cfg->concurrency != 0 ? cfg->concurrency : CONCURRENCY;
    /* A receiver must not look dead because there are no more descriptors here. */
    u64 sockets = cd_process_files_max() / 4 * 3;
    d->cfg.in_flight = cfg->in_flight != 0 ? cfg->in_flight : (u32)cd_min_u64(sockets, IN_FLIGHT);
    d->cfg.lease_ms = cfg->lease_ms != 0 ? cfg->lease_ms : LEASE_MS;
    char agent[100];
    (void)snprintf(agent, sizeof agent, "%s-Webhooks/1.0", cfg->brand);
    const cd_http_client_cfg client = {
        .conns_max = (u32)cd_min_u64(sockets, cd_max_u64(d->cfg.in_flight, CONNS_MAX)),
        .host_conns_max = d->cfg.in_flight,
        .connect_timeout_ms = d->cfg.timeout_ms,
        .keeps_no_names = true,
        .user_agent = agent,
        .ca_file = cfg->ca_file,
        .may_connect = may_connect,
        .may_connect_ctx = cfg->guard,
    };
    cd_err e = cd_http_client_new(&d->client, loop, &client, why);
    if (e != CD_OK) {
        cd_free(d);
        return e;
    }
    static const u32 most[CD__WH_CLASSES_CNT] = {PROVEN_MAX, FRESH_MAX, SUSPECT_MAX, HUNG_MAX};
    for (usize c = 0; c < CD__WH_CLASSES_CNT; c++) {
        cd_list_init(&d->classes[c].ring);
        cd_list_init(&d->classes[c].young);
        d->classes[c].max = most[c];
    }
    cd_list_init(&d->slow);
    cd_list_init(&d->resting);
    cd_hmap_init(&d->hooks, CD_HASH_KEYED, sizeof(i64), sizeof(cd__wh_hook *));
    cd_hmap_init(&d->items, CD_HASH_KEYED, sizeof(i64), sizeof(cd__wh_item *));
    d->rng = cd_rng_os();
    d->fills = &d->turns[0];
    d->pace = cd_timer_new(loop, on_pace, d);
    d->due = cd_timer_new(loop, on_due, d);
    d->turn_due = cd_timer_new(loop, on_turn_due, d);
    d->grace = cd_timer_new(loop, on_grace, d);
    if (cfg->metrics != NULL) {
        metrics_init(d, cfg->metrics);
    }
    cd_timer_start(d->due, 0, 0);
    *out = d;
    return CD_OK;
}

void cd_wh_deliver_free(cd_wh_deliverer *d)
{
    if (d == NULL) {
        return;
    }
    void *v;
    for (usize it = 0; cd_hmap_next(&d->items, &it, NULL, &v);) {
        cd__wh_item *item = *(cd__wh_item **)v;
        cd__wh_try_drop(item);
        cd_buf_fini(&item->head);
        cd_free(item);
    }
    for (usize it = 0; cd_hmap_next(&d->hooks, &it, NULL, &v);) {
        cd__wh_hook_free(*(cd__wh_hook **)v);
    }
    cd_hmap_fini(&d->items);
    cd_hmap_fini(&d->hooks);
    for (usize i = 0; i < CD_COUNT(d->turns); i++) {
        cd_arena_fini(&d->turns[i].mem);
        cd_buf_fini(&d->turns[i].slow);
        cd_free(d->turns[i].outcomes);
    }
    cd_arena_fini(&d->load_mem);
    cd_free(d->to_load);
    cd_http_client_free(d->client);
    cd_timer_free(d->pace);
    cd_timer_free(d->due);
    cd_timer_free(d->turn_due);
    cd_timer_free(d->grace);
    cd_free(d);
}
