#include "services/webhook/core/intake.h"

#include "base/list.h"
#include "base/mem.h"
#include "net/ws_client.h"
#include "services/webhook/core/names.h"
#include "services/webhook/core/past.h"

#include <stdio.h>

enum {
    RETRY_MS = 500, /* before what the store did not take is written again */
    PENDING_MAX = 10000,
    TROUBLE_MS = 60000,
    BATCH_MAX = CD_FOLLOWER_AHEAD,
};

/* A block between the follower and the ledger. */
typedef struct work {
    struct work *next;
    cd_wh_intake *in;
    cd_follower_block *block;
    bool is_first; /* of a chain that was never followed: it only says where that begins */
    const cd_wh_facts *facts;
    u64 filters; /* of the matcher, when it was matched */
    const cd_wh_hit *hits;
    const cd_wh_event *events; /* NULL: not named yet */
    usize cnt;
    cd_wh_naming *naming; /* under way */
} work;

/* What became of a transaction that was to write blocks. */
typedef enum outcome {
    WRITTEN,
    STALE, /* webhooks have changed that the matcher does not know yet */
    TORN,  /* the ledger ends before the block before them */
} outcome;

/* Where the ledger ends. */
typedef struct cursor {
    bool is_there;
    u64 height;
    cd_hash32 hash;
} cursor;

/* Blocks that are being written. */
typedef struct block_job {
    cd_wh_job job;
    cd_wh_intake *in;
    bool is_busy;
    cd_arena mem;
    u64 version; /* of the webhooks that they were matched with */
    outcome outcome;
    cd_wh_changes changes; /* STALE */
    cursor at;             /* before */
    work *works[BATCH_MAX];
    cd_wh_enqueued made[BATCH_MAX];
    usize cnt;
} block_job;

/* Events of the mempool: those that are being written, and those that wait. */
typedef struct pending_job {
    cd_wh_job job;
    cd_wh_intake *in;
    bool is_busy;
    cd_arena mem, next_mem;
    cd_buf events, next_events;
    cd_wh_enqueued made;
} pending_job;

typedef struct load_job {
    cd_wh_job job;
    cd_wh_intake *in;
    u64 version;
    cursor at;
} load_job;

struct cd_wh_intake {
    cd_loop *loop;
    cd_wh_intake_cfg cfg;
    cd_upstream node;
    cd_wh_source source;
    cd_wh_match *match;
    cd_follower *follower;
    load_job load;
    bool is_ready;
    bool is_stopped;
    bool is_torn;    /* to be followed anew, from what the last transaction saw of the ledger */
    u64 version;     /* the last change of webhooks that the matcher knows, and all before */
    u64 filters;     /* grows when the matcher changes */
    bool has_height; /* height, matched: there is a cursor */
    u64 height;      /* in the ledger */
    u64 matched;     /* last block that was matched */
    work *first, *last;
    block_job writing;
    pending_job pending;
    u64 pending_dropped;
    char trouble[128]; /* told last, and when */
    u64 trouble_ms;
    cd_timer *retry;
    cd__wh_past *past;
    cd_gauge *lag, *stopped, *untraced;
    bool is_untraced; /* that was told */
    cd_hist *match_time;
    cd_counter *blocks, *dropped, *events[CD_WH_TYPES_CNT];
};

static void write_more(cd_wh_intake *in);
static void pending_write(cd_wh_intake *in);

/* ---- blocks ---- */

/* Passes on what a transaction has made. */
static void told(void *ctx, const cd_wh_enqueued *made)
{
    cd_wh_intake *in = ctx;
    if (in->is_stopped) {
        return; /* the next start finds what waits */
    }
    if (made->cnt != 0) {
        in->cfg.made(in->cfg.ctx, made->made, made->cnt);
    }
    if (made->waiting != 0) {
        in->cfg.due(in->cfg.ctx);
    }
    if (made->notes_cnt != 0 && in->cfg.quota != NULL) {
        in->cfg.quota(in->cfg.ctx, made->notes, made->notes_cnt);
    }
}

/* The same trouble is told once a minute. */
static bool is_news(cd_wh_intake *in, const char *reason)
{
    u64 now_ms = cd_loop_now_ms(in->loop);
    if (strncmp(reason, in->trouble, sizeof in->trouble - 1) == 0 &&
        now_ms - in->trouble_ms < TROUBLE_MS) {
        return false;
    }
    (void)snprintf(in->trouble, sizeof in->trouble, "%s", reason);
    in->trouble_ms = now_ms;
    return true;
}

static u32 follower_wants(void *ctx)
{
    const cd_wh_intake *in = ctx;
    u32 types = cd_wh_match_types(in->match);
    return ((types & 1u << CD_WH_C_INTERNAL) != 0 ? CD_FOLLOWER_TRACES : 0) |
           ((types & 1u << CD_WH_C_PENDING) != 0 ? CD_FOLLOWER_PENDING : 0);
}

static cd_err follower_check(void *ctx, cd_follower_block *b, cd_errinfo *why)
{
    cd_wh_facts *facts = cd_arena_new(&b->got.mem, cd_wh_facts);
    (void)ctx;
    b->parsed = facts;
    return cd_wh_facts_parse(facts, &b->got.mem, b->got.block, b->got.receipts, b->got.traces, why);
}

static void match_work(work *w);

static void on_named(void *ctx)
{
    work *w = ctx;
    const cd_wh_names names = cd_wh_naming_names(w->naming);
    w->events =
        cd_wh_events_make(&w->block->got.mem, &w->in->cfg.chain, w->facts, w->hits, w->cnt, &names);
    cd_wh_naming_free(w->naming);
    w->naming = NULL;
    if (w->in->is_torn) {
        cd_timer_start(w->in->retry, 0, 0);
    } else if (w->filters != w->in->filters) {
        match_work(w);
    } else {
        write_more(w->in);
    }
}

/* Finds what a block means for the webhooks of now; not while names are being looked up. */
static void match_work(work *w)
{
    cd_wh_intake *in = w->in;
    cd_arena *mem = &w->block->got.mem;
    w->filters = in->filters;
    w->events = NULL;
    if (!w->is_first) {
        const cd_wh_hit *hits = cd_wh_match_run(in->match, &w->cnt, w->facts);
        w->hits = cd_wh_hits_dup(mem, hits, w->cnt);
    }
    cd_wh_naming_new(&w->naming, in->source.tokens, mem, w->facts, w->hits, w->cnt, on_named, w);
}

/* A webhook waits for what the node cannot tell: its owner would take silence for no transfers. */
static void tell_untraced(cd_wh_intake *in)
{
    if (in->is_untraced || !in->node.no_traces || (follower_wants(in) & CD_FOLLOWER_TRACES) == 0) {
        return;
    }
    in->is_untraced = true;
    cd_gauge_set(in->untraced, 1);
    cd_log_error(in->cfg.log, "internal transfers are not told: the node does not trace",
                 CD_F("chain", in->cfg.chain.name));
}

static void follower_block(void *ctx, cd_follower_block *b)
{
    cd_wh_intake *in = ctx;
    work *w = cd_arena_new(&b->got.mem, work);
    u64 began = cd_clock_mono_ns(in->cfg.clock);
    w->is_first = !in->has_height;
    w->in = in;
    w->block = b;
    w->facts = b->parsed;
    tell_untraced(in);
    in->has_height = true;
    in->matched = b->number;
    if (in->last == NULL) {
        in->first = w;
    } else {
        in->last->next = w;
    }
    in->last = w;
    match_work(w);
    cd_hist_add(in->match_time, cd_clock_mono_ns(in->cfg.clock) - began);
}

static void events_count(const cd_wh_intake *in, const cd_wh_event *events, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_counter_add(in->events[events[i].type], 1);
    }
}

static cd_err hook_early(void *ctx, const cd_wh_hook *hook)
{
    if (hook->from_block == 0) {
        cd_buf_put(ctx, cd_bytes_of(&hook->key, sizeof hook->key));
    }
    return CD_OK;
}

/* Webhooks that were there before the chain was followed are told from where it begins on. */
static cd_err hooks_begin(cd_wh_store *s, cd_arena *mem, const char *chain, u64 from_block,
                          cd_errinfo *why)
{
    cd_buf keys = {0};
    cd_err err = cd_wh_hook_each(s, hook_early, &keys, why);
    for (usize i = 0; err == CD_OK && i < keys.n / sizeof(i64); i++) {
        cd_wh_hook hook;
        err = cd_wh_hook_by_key(s, &hook, mem, ((const i64 *)(void *)keys.p)[i], false, why);
        if (err == CD_OK && strcmp(hook.chain, chain) == 0) {
            err = cd_wh_hook_move(s, hook.key, from_block, why);
        }
    }
    cd_buf_fini(&keys);
    return err;
}

static cd_err cursor_read(cursor *out, cd_wh_store *s, const char *chain, cd_errinfo *why)
{
    cd_err err = cd_wh_cursor_get(s, &out->height, out->hash.b, chain, why);
    out->is_there = err == CD_OK;
    return err == CD_ENOENT ? CD_OK : err;
}

/* Blocks that another worker has written meanwhile are not written again. */
static cd_err write_run(cd_wh_job *job, cd_wh_store *s, cd_errinfo *why)
{
    block_job *j = cd_list_of(job, block_job, job);
    const char *chain = j->in->cfg.chain.name;
    const work *first = j->works[0];
    u64 version;
    cd_arena_reset(&j->mem);
    j->outcome = WRITTEN;
    CD_TRY(cd_wh_hooks_lock(s, &version, why));
    CD_TRY(cursor_read(&j->at, s, chain, why));
    if (j->at.is_there && first->block->number > j->at.height + (first->is_first ? 0 : 1)) {
        j->outcome = TORN;
        return CD_OK;
    }
    if (version > j->version) {
        j->outcome = STALE;
        job->holds = true;
        return cd_wh_hooks_after(s, &j->changes, &j->mem, j->version, why);
    }
    for (usize i = 0; i < j->cnt; i++) {
        const work *w = j->works[i];
        j->made[i] = (cd_wh_enqueued){0};
        if (j->at.is_there && w->block->number <= j->at.height) {
            continue;
        }
        if (w->is_first) {
            CD_TRY(hooks_begin(s, &j->mem, chain, w->block->number + 1, why));
        }
        CD_TRY(cd_wh_enqueue(s, &j->made[i], &j->mem, w->events, w->cnt, chain, w->block->number,
                             w->block->hash.b, why));
    }
    return CD_OK;
}

static void lag_set(cd_wh_intake *in)
{
    cd_follower_state st = cd_follower_look(in->follower);
    cd_gauge_set(in->lag, st.head > in->height ? (i64)(st.head - in->height) : 0);
}

/* Blocks that were not written are the first to be written again. */
static void put_back(cd_wh_intake *in)
{
    block_job *j = &in->writing;
    for (usize i = j->cnt; i-- > 0;) {
        j->works[i]->next = in->first;
        in->first = j->works[i];
        in->last = in->last == NULL ? j->works[i] : in->last;
    }
    j->cnt = 0;
}

/* What was fetched is of no use; not now, for a follower may be calling. */
static void tear(cd_wh_intake *in)
{
    in->is_torn = true;
    cd_timer_start(in->retry, 0, 0);
}

/* What waits and was matched with another matcher is matched again, unless its names are being looked up; then that comes
 * first. Traces that nobody wanted when a block was fetched are not there. */
static void match_again(cd_wh_intake *in)
{
    bool wants_traces = (follower_wants(in) & CD_FOLLOWER_TRACES) != 0 && !in->node.no_traces;
    for (work *w = in->first; w != NULL; w = w->next) {
        if (wants_traces && w->block->number != 0 && !cd_json_has(w->block->got.traces)) {
            tear(in);
        }
    }
    for (work *w = in->first; w != NULL && !in->is_torn; w = w->next) {
        if (w->naming == NULL && w->filters != in->filters) {
            match_work(w);
        }
    }
}

static void changes_take(cd_wh_intake *in, const cd_wh_changes *c)
{
    bool is_changed = false;
    for (usize i = 0; i < c->cnt; i++) {
        const cd_wh_hook *hook = &c->hooks[i];
        bool is_gone = hook->id == NULL || strcmp(hook->chain, in->cfg.chain.name) != 0;
        is_changed |=
            is_gone ? cd_wh_match_del(in->match, hook->key) : cd_wh_match_put(in->match, hook);
    }
    in->version = cd_max_u64(in->version, c->version);
    in->filters += is_changed;
}

static void write_done(cd_wh_job *job)
{
    block_job *j = cd_list_of(job, block_job, job);
    cd_wh_intake *in = j->in;
    j->is_busy = false;
    if (in->is_stopped && job->err != CD_OK) {
        return;
    }
    if (job->err != CD_OK) {
        if (is_news(in, job->why.msg)) {
            cd_log_error(in->cfg.log, "blocks not written", CD_F("why", job->why.msg));
        }
        put_back(in);
        match_again(in);
        cd_timer_start(in->retry, RETRY_MS, 0);
        return;
    }
    const outcome was = j->outcome; /* the next may be under way when a block is matched again */
    if (was != WRITTEN) {
        put_back(in);
        if (in->is_stopped) {
            return;
        }
        if (was == STALE) {
            changes_take(in, &j->changes);
            match_again(in); /* the next may be under way now */
        }
        if (was == TORN || in->is_torn) { /* perhaps since before, when this was under way */
            tear(in);
        }
        write_more(in);
        return;
    }
    for (usize i = 0; i < j->cnt; i++) {
        cd_counter_add(in->blocks, 1);
        events_count(in, j->works[i]->events, j->works[i]->cnt);
        told(in, &j->made[i]);
    }
    for (usize i = 0; i < j->cnt; i++) {
        in->height = j->works[i]->block->number;
        if (!in->is_stopped) {
            cd_follower_done(in->follower, j->works[i]->block);
        }
    }
    j->cnt = 0;
    if (!in->is_stopped) {
        lag_set(in);
        write_more(in);
        if (in->is_torn) {
            tear(in);
        }
    }
}

/* Writes what is named and in turn, all in one transaction. */
static void write_more(cd_wh_intake *in)
{
    block_job *j = &in->writing;
    if (j->is_busy || in->is_stopped || in->is_torn) {
        return;
    }
    while (in->first != NULL && in->first->events != NULL && in->first->filters == in->filters &&
           j->cnt < BATCH_MAX) {
        j->works[j->cnt++] = in->first;
        in->first = in->first->next;
    }
    in->last = in->first == NULL ? NULL : in->last;
    if (j->cnt != 0) {
        j->is_busy = true;
        j->version = in->version;
        (j->outcome == STALE ? cd_wh_db_write_next : cd_wh_db_write)(in->cfg.db, &j->job);
    }
}

static void follow_anew(cd_wh_intake *in);

static void on_retry(void *ctx)
{
    cd_wh_intake *in = ctx;
    if (in->is_torn) {
        follow_anew(in);
    } else if (in->is_ready) {
        write_more(in);
    } else {
        cd_wh_db_read(in->cfg.db, &in->load.job);
    }
}

static void follower_alarm(void *ctx, const char *reason)
{
    cd_wh_intake *in = ctx;
    cd_gauge_set(in->stopped, 1);
    cd_log_error(in->cfg.log, "the chain is not followed any longer",
                 CD_F("chain", in->cfg.chain.name), CD_F("why", reason));
}

static void follower_trouble(void *ctx, const char *reason)
{
    cd_wh_intake *in = ctx;
    if (!is_news(in, reason)) {
        return;
    }
    cd_log_warn(in->cfg.log, "node", CD_F("chain", in->cfg.chain.name), CD_F("why", reason));
}

/* ---- the mempool ---- */

static cd_err pending_run(cd_wh_job *job, cd_wh_store *s, cd_errinfo *why)
{
    pending_job *p = cd_list_of(job, pending_job, job);
    static const u8 none[32];
    return cd_wh_enqueue(s, &p->made, &p->mem, (const cd_wh_event *)(void *)p->events.p,
                         p->events.n / sizeof(cd_wh_event), NULL, 0, none, why);
}

static void pending_done(cd_wh_job *job)
{
    pending_job *p = cd_list_of(job, pending_job, job);
    cd_wh_intake *in = p->in;
    if (job->err == CD_OK) {
        events_count(in, (const cd_wh_event *)(void *)p->events.p,
                     p->events.n / sizeof(cd_wh_event));
        told(in, &p->made);
    } else {
        cd_log_error(in->cfg.log, "pending transactions not written", CD_F("why", job->why.msg));
    }
    p->is_busy = false;
    cd_buf_clear(&p->events);
    cd_arena_reset(&p->mem);
    pending_write(in);
}

static void pending_write(cd_wh_intake *in)
{
    pending_job *p = &in->pending;
    if (p->is_busy || p->next_events.n == 0 || in->is_stopped) {
        return;
    }
    cd_buf events = p->events;
    cd_arena mem = p->mem;
    p->events = p->next_events;
    p->mem = p->next_mem;
    p->next_events = events;
    p->next_mem = mem;
    p->is_busy = true;
    cd_wh_db_write(in->cfg.db, &p->job);
}

static void follower_pending(void *ctx, cd_json tx)
{
    cd_wh_intake *in = ctx;
    pending_job *p = &in->pending;
    cd_wh_facts facts;
    cd_errinfo why = {0};
    usize cnt;
    u64 now_ms = cd_clock_wall_ns(in->cfg.clock) / CD_NS_PER_MS;
    const cd_wh_names names = {0};
    if (cd_wh_facts_pending(&facts, &p->next_mem, tx, now_ms, &why) != CD_OK) {
        follower_trouble(in, why.msg);
        return;
    }
    const cd_wh_hit *hits = cd_wh_match_run(in->match, &cnt, &facts);
    if (p->next_events.n / sizeof(cd_wh_event) + cnt > PENDING_MAX) {
        in->pending_dropped += cnt;
        cd_counter_add(in->dropped, cnt);
        return;
    }
    const cd_wh_event *events =
        cd_wh_events_make(&p->next_mem, &in->cfg.chain, &facts, hits, cnt, &names);
    cd_buf_put(&p->next_events, cd_bytes_of(events, cnt * sizeof *events));
    pending_write(in);
}

/* ---- webhooks ---- */

void cd_wh_intake_put(cd_wh_intake *in, const cd_wh_hook *hook)
{
    u64 from;
    if (strcmp(hook->chain, in->cfg.chain.name) != 0 || !in->is_ready) {
        return; /* while they are loaded: the next block's transaction knows of it */
    }
    bool is_new = !cd_wh_match_has(in->match, &from, hook->key);
    if (hook->version == in->version + 1) {
        in->version++;
    }
    bool is_changed = cd_wh_match_put(in->match, hook);
    if (is_changed) {
        in->filters++;
        match_again(in);
    }
    cd_follower_update(in->follower);
    if (is_new || is_changed) {
        cd__wh_past_look(in->past, hook->key);
    }
}

void cd_wh_intake_del(cd_wh_intake *in, i64 hook)
{
    if (in->is_ready && cd_wh_match_del(in->match, hook)) {
        cd__wh_past_drop(in->past, hook);
        cd_follower_update(in->follower);
    }
}

void cd_wh_intake_resume(cd_wh_intake *in)
{
    if (in->is_ready) {
        cd__wh_past_look(in->past, 0);
    }
}

void cd_wh_intake_preview(cd_wh_intake *in, const cd_wh_hook *hook, u32 blocks,
                          cd_wh_preview_fn *fn, void *ctx)
{
    cd__wh_past_preview(in->past, hook, in->matched, blocks, fn, ctx);
}

/* ---- life ---- */

static cd_err load_hook(void *ctx, const cd_wh_hook *hook)
{
    cd_wh_intake *in = ctx;
    if (strcmp(hook->chain, in->cfg.chain.name) == 0) {
        (void)cd_wh_match_put(in->match, hook);
    }
    return CD_OK;
}

/* Nobody else has the matcher yet. */
static cd_err load_run(cd_wh_job *job, cd_wh_store *s, cd_errinfo *why)
{
    load_job *l = cd_list_of(job, load_job, job);
    CD_TRY(cd_wh_hooks_version(s, &l->version, why));
    CD_TRY(cursor_read(&l->at, s, l->in->cfg.chain.name, why));
    return cd_wh_hook_each(s, load_hook, l->in, why);
}

/* Follows the chain from behind the end of the ledger. */
static void follow_from(cd_wh_intake *in, const cursor *at)
{
    static const cd_follower_events events = {
        .wants = follower_wants,
        .check = follower_check,
        .block = follower_block,
        .pending = follower_pending,
        .alarm = follower_alarm,
        .trouble = follower_trouble,
    };
    cd_errinfo why = {0};
    in->has_height = at->is_there;
    in->height = in->matched = at->height;
    const cd_follower_cfg cfg = {
        .node = &in->node,
        .hub = in->cfg.hub,
        .ws_url = in->cfg.ws_url,
        .confirmations = in->cfg.confirmations,
        .poll_ms = in->cfg.poll_ms,
        .trace_depth = CD_WH_TRACE_DEPTH_MAX,
        .has_cursor = at->is_there,
        .cursor = at->height,
        .cursor_hash = at->hash,
    };
    cd_err err = cd_follower_new(&in->follower, in->loop, &cfg, &events, in, &why);
    if (err != CD_OK) {
        follower_alarm(in, why.msg);
    }
}

/* All that was fetched is left, when nobody has a part of it any more, and fetched again. */
static void follow_anew(cd_wh_intake *in)
{
    for (const work *w = in->first; w != NULL; w = w->next) {
        if (w->naming != NULL) {
            return;
        }
    }
    if (in->writing.is_busy) {
        return;
    }
    in->is_torn = false;
    in->first = in->last = NULL;
    cd_follower_free(in->follower);
    in->follower = NULL;
    follow_from(in, &in->writing.at);
}

static void load_done(cd_wh_job *job)
{
    load_job *l = cd_list_of(job, load_job, job);
    cd_wh_intake *in = l->in;
    if (in->is_stopped) {
        return;
    }
    if (job->err != CD_OK) {
        cd_log_error(in->cfg.log, "webhooks not loaded", CD_F("why", job->why.msg));
        cd_timer_start(in->retry, RETRY_MS, 0);
        return;
    }
    in->is_ready = true;
    in->version = l->version;
    in->writing.at = l->at;
    follow_from(in, &l->at);
    if (in->follower != NULL) {
        cd__wh_past_look(in->past, 0);
    }
}

static void metrics_open(cd_wh_intake *in)
{
    static const u64 bounds[] = {10000,   50000,    100000,   500000,    1000000,
                                 5000000, 10000000, 50000000, 100000000, 1000000000};
    const cd_label chain = {.name = "chain", .value = in->cfg.chain.name};
    cd_metrics *m = in->cfg.metrics;
    in->lag = cd_metrics_gauge(m, "block_lag", "Blocks of the node that are not in the ledger yet.",
                               &chain, 1);
    in->stopped = cd_metrics_gauge(
        m, "chain_stopped", "1: the node's chain is not the one that was followed.", &chain, 1);
    in->untraced = cd_metrics_gauge(
        m, "chain_untraced", "1: webhooks want internal transfers, and the node does not trace.",
        &chain, 1);
    in->match_time = cd_metrics_hist(m, "match_seconds", "Time to match a block.", &chain, 1,
                                     bounds, CD_COUNT(bounds), 1e9);
    in->blocks = cd_metrics_counter(m, "blocks_total", "Blocks matched.", &chain, 1);
    for (cd_wh_type t = 0; t < CD_WH_TYPES_CNT; t++) {
        const cd_label labels[] = {
            {.name = "chain", .value = in->cfg.chain.name},
            {.name = "face", .value = cd_wh_face_name(cd_wh_type_face(t))},
            {.name = "type", .value = cd_wh_type_name(t)},
        };
        in->events[t] =
            cd_metrics_counter(m, "events_total", "Matches of webhooks.", labels, CD_COUNT(labels));
    }
    in->dropped = cd_metrics_counter(m, "pending_dropped_total",
                                     "Events of the mempool that came faster than they could be "
                                     "written.",
                                     &chain, 1);
}

cd_err cd_wh_intake_new(cd_wh_intake **out, cd_loop *loop, const cd_wh_intake_cfg *cfg,
                        cd_errinfo *why)
{
    if (cfg->ws_url != NULL) {
        CD_TRY(cd_ws_url_check(cfg->ws_url, why));
    }
    cd_wh_intake *in = cd_new(cd_wh_intake);
    in->loop = loop;
    in->cfg = *cfg;
    in->node = (cd_upstream){.http = cfg->http, .url = cfg->http_url};
    in->match = cd_wh_match_new();
    in->source = (cd_wh_source){.loop = loop, .node = &in->node, .chain = cfg->chain};
    in->source.tokens = cd_wh_tokens_new(loop, cfg->db, &in->node, cfg->chain.name);
    in->retry = cd_timer_new(loop, on_retry, in);
    const cd__wh_past_cfg past = {.loop = loop,
                                  .db = cfg->db,
                                  .log = cfg->log,
                                  .source = &in->source,
                                  .told = told,
                                  .ctx = in};
    in->past = cd__wh_past_new(&past);
    in->writing =
        (block_job){.job = {.run = write_run, .done = write_done, .is_soft = true}, .in = in};
    in->pending = (pending_job){.job = {.run = pending_run, .done = pending_done}, .in = in};
    in->load = (load_job){.job = {.run = load_run, .done = load_done}, .in = in};
    metrics_open(in);
    cd_wh_db_read(cfg->db, &in->load.job);
    *out = in;
    return CD_OK;
}

void cd_wh_intake_stop(cd_wh_intake *in)
{
    if (in->is_stopped) {
        return;
    }
    in->is_stopped = true;
    if (in->follower != NULL) {
        cd_follower_stop(in->follower);
    }
    for (work *w = in->first; w != NULL; w = w->next) {
        cd_wh_naming_free(w->naming);
        w->naming = NULL;
    }
    cd__wh_past_stop(in->past);
    cd_timer_free(in->retry);
}

void cd_wh_intake_free(cd_wh_intake *in)
{
    if (in == NULL) {
        return;
    }
    cd_wh_intake_stop(in);
    cd__wh_past_free(in->past);
    cd_follower_free(in->follower);
    cd_wh_tokens_free(in->source.tokens);
    cd_wh_match_free(in->match);
    cd_arena_fini(&in->writing.mem);
    cd_arena_fini(&in->pending.mem);
    cd_arena_fini(&in->pending.next_mem);
    cd_buf_fini(&in->pending.events);
    cd_buf_fini(&in->pending.next_events);
    cd_free(in);
}

cd_wh_intake_state cd_wh_intake_look(const cd_wh_intake *in)
{
    cd_wh_intake_state st = {
        .height = in->height,
        .is_ready = in->is_ready,
        .hooks = in->is_ready ? cd_wh_match_count(in->match) : 0,
        .fills = cd__wh_past_cnt(in->past),
        .pending_dropped = in->pending_dropped,
    };
    if (in->follower != NULL) {
        st.node = cd_follower_look(in->follower);
    }
    return st;
}

const cd_wh_source *cd_wh_intake_source(const cd_wh_intake *in)
{
    return &in->source;
}
