#include "services/webhook/core/chain/intake.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "net/ws/client.h"
#include "services/webhook/core/chain/past.h"
#include "services/webhook/core/chain/rewind.h"
#include "services/webhook/core/names.h"

#include <stdio.h>

enum {
    RETRY_MS = 500,   /* before what the store did not take is written again */
    HALTED_MS = 2000, /* how often a chain that is not followed any more is looked at */
    FAR = 100,        /* blocks that are to be written; more is not ready */
    PENDING_MAX = 10000,
    TROUBLE_MS = 60000,
    BATCH_MAX = CD_FOLLOWER_AHEAD,
};

/* A block between the follower and the ledger. */
typedef struct work {
    struct work *next;
    cd_wh_intake *in;
    cd_follower_block *block;
    bool is_first; /* the first block of a chain that was never followed: nobody is told of it, it sets the cursor */
    const cd_wh_facts *facts;
    u64 filters; /* in->filters when this block was matched */
    const cd_wh_hit *hits;
    const cd_wh_event *events; /* NULL: names of tokens are still being looked up */
    usize cnt;
    cd_wh_naming *naming; /* the look-up of names that is under way; NULL: none */
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
    cd_job job;
    cd_wh_intake *in;
    bool is_busy;
    cd_arena mem;
    u64 version; /* in->version when they were matched */
    outcome outcome;
    cd_wh_changes changes; /* STALE: what has changed since */
    cursor at;             /* where the ledger ended before this transaction */
    work *works[BATCH_MAX];
    cd_wh_enqueued made[BATCH_MAX];
    usize cnt;
} block_job;

/* Events of the mempool: `events` are being written, `next_events` wait for the next transaction. */
typedef struct pending_job {
    cd_job job;
    cd_wh_intake *in;
    bool is_busy;
    cd_arena mem, next_mem;
    cd_buf events, next_events;
    cd_wh_enqueued made;
} pending_job;

/* Reads the webhooks and the cursor from the store. */
typedef struct load_job {
    cd_job job;
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
    bool is_torn;     /* the follower has to begin anew, behind the end of the ledger */
    bool is_lost;     /* the node has replaced blocks of the ledger: a rewind comes before that */
    char halted[160]; /* why the chain is not followed any more; "": it is */
    cursor halted_at; /* where the ledger ended when it halted; valid when has_halted_at */
    bool has_halted_at;
    load_job look;
    cd__wh_rewind *rewind; /* the last one that was begun; NULL: none */
    u64 version;           /* number of the last change of webhooks that the matcher has taken in */
    u64 filters;           /* number of times the matcher has changed */
    bool has_height;       /* there is a cursor: height and matched are valid */
    u64 height;            /* number of the last block in the ledger */
    u64 matched;           /* number of the last block that was matched */
    work *first, *last;
    block_job writing;
    pending_job pending;
    u64 pending_dropped;
    char trouble[128]; /* the trouble that was logged last, at trouble_ms */
    u64 trouble_ms;
    cd_timer *retry;
    cd__wh_past *past;
    cd_gauge *lag, *stopped, *untraced;
    bool is_untraced; /* it was logged that the node gives no traces */
    cd_hist *match_time;
    cd_counter *blocks, *rewinds, *dropped, *events[CD_WH_TYPES_CNT];
};

static void write_more(cd_wh_intake *in);
static void pending_write(cd_wh_intake *in);

/* --- blocks --- */

/* Passes on what a transaction has made. */
static void told(void *ctx, const cd_wh_enqueued *made)
{
    cd_wh_intake *in = ctx;
    if (in->is_stopped) {
        return; /* the deliverer is told at the next start: the store knows what waits */
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
    if (strncmp(reason, in->trouble, sizeof in->trouble - 1) == 0 && now_ms - in->trouble_ms < TROUBLE_MS) {
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
    bool wants_blocks = (types & (1u << CD_WH_A_BLOCK | 1u << CD_WH_C_BLOCK)) != 0;
    return ((types & 1u << CD_WH_C_INTERNAL) != 0 ? CD_FOLLOWER_TRACES : 0) | (wants_blocks ? CD_FOLLOWER_EMPTY : 0) |
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
    w->events = cd_wh_events_make(&w->block->got.mem, &w->in->cfg.chain, w->facts, w->hits, w->cnt, &names);
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
    static const cd_wh_event none;
    cd_wh_intake *in = w->in;
    cd_arena *mem = &w->block->got.mem;
    w->filters = in->filters;
    w->events = NULL;
    if (w->block->hashes != NULL) { /* a run of empty blocks, which nobody is told of */
        w->events = &none;
        return;
    }
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
    if (w->events != NULL) {
        write_more(in);
    }
    cd_hist_add(in->match_time, cd_clock_mono_ns(in->cfg.clock) - began);
}

static void events_count(const cd_wh_intake *in, const cd_wh_event *events, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_counter_add(in->events[events[i].type], 1);
    }
}

typedef struct early {
    const char *chain;
    u64 from_block;
    cd_buf *keys;
} early;

static cd_err hook_early(void *ctx, const cd_wh_hook *hook)
{
    const early *e = ctx;
    if ((hook->from_block == 0 || hook->from_block > e->from_block) && strcmp(hook->chain, e->chain) == 0) {
        cd_buf_put(e->keys, cd_bytes_of(&hook->key, sizeof hook->key));
    }
    return CD_OK;
}

/* Webhooks that were there before the chain was followed (or was last, when it is another) are told from where it
 * begins on. */
static cd_err hooks_begin(cd_wh_store *s, const char *chain, u64 from_block, cd_errinfo *why)
{
    cd_buf keys = {0};
    early e = {.chain = chain, .from_block = from_block, .keys = &keys};
    cd_err err = cd_wh_hook_each(s, hook_early, &e, why);
    for (usize i = 0; err == CD_OK && i < keys.n / sizeof(i64); i++) {
        err = cd_wh_hook_move(s, ((const i64 *)(void *)keys.p)[i], from_block, why);
    }
    cd_buf_fini(&keys);
    return err;
}

static bool cursor_eq(const cursor *a, const cursor *b)
{
    return a->is_there == b->is_there && (!a->is_there || (a->height == b->height && cd_hash32_eq(&a->hash, &b->hash)));
}

static cd_err cursor_read(cursor *out, cd_wh_store *s, const char *chain, cd_errinfo *why)
{
    cd_err err = cd_wh_cursor_get(s, &out->height, out->hash.b, chain, why);
    out->is_there = err == CD_OK;
    return err == CD_ENOENT ? CD_OK : err;
}

/* Another worker follows another chain. */
static bool is_torn(const cursor *at, const work *first)
{
    static const cd_hash32 any;
    return first->block->first == at->height + 1 && !cd_hash32_eq(&at->hash, &any) &&
           !cd_hash32_eq(&at->hash, &first->block->parent);
}

/* Blocks that another worker has written meanwhile are not written again. */
static cd_err write_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    block_job *j = cd_list_of(job, block_job, job);
    const char *chain = j->in->cfg.chain.name;
    const work *first = j->works[0];
    u64 version;
    cd_arena_reset(&j->mem);
    j->outcome = WRITTEN;
    CD_TRY(cd_wh_hooks_lock(s, &version, why));
    CD_TRY(cursor_read(&j->at, s, chain, why));
    if (j->at.is_there && (first->block->first > j->at.height + (first->is_first ? 0 : 1) || is_torn(&j->at, first))) {
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
            CD_TRY(hooks_begin(s, chain, w->block->number + 1, why));
        }
        for (usize k = 0; k + 1 < w->block->hashes_cnt; k++) {
            u64 number = w->block->number - w->block->hashes_cnt + 1 + k;
            CD_TRY(cd_wh_known_put(s, chain, number, w->block->hashes[k].b, why));
        }
        CD_TRY(
            cd_wh_enqueue(s, &j->made[i], &j->mem, w->events, w->cnt, chain, w->block->number, w->block->hash.b, why));
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

/* Throws away what was fetched and follows anew; by the timer, because the follower may be calling this and must not be
 * freed within its own call. */
static void tear(cd_wh_intake *in)
{
    in->is_torn = true;
    cd_timer_start(in->retry, 0, 0);
}

/* Matches the waiting blocks again that were matched before the matcher changed; one whose names are being looked up
 * has to wait for that. A block that was fetched when no webhook wanted traces has none, and is fetched again. */
static void match_again(cd_wh_intake *in)
{
    bool wants_traces = (follower_wants(in) & CD_FOLLOWER_TRACES) != 0 && !in->node.no_traces;
    for (work *w = in->first; w != NULL; w = w->next) {
        /* A webhook that has come meanwhile wants each block of a run, or the traces of a block that has none. */
        bool is_run = w->block->hashes != NULL;
        bool lacks_traces = wants_traces && w->block->number != 0 && !cd_json_has(w->block->got.traces);
        if (is_run ? (follower_wants(in) & CD_FOLLOWER_EMPTY) != 0 : lacks_traces) {
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
        is_changed |= is_gone ? cd_wh_match_del(in->match, hook->key) : cd_wh_match_put(in->match, hook);
    }
    in->version = cd_max_u64(in->version, c->version);
    in->filters += is_changed;
}

static void write_done(cd_job *job)
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
    const outcome was = j->outcome; /* copied: matching again may begin the next transaction, which reuses j */
    if (was != WRITTEN) {
        put_back(in);
        if (in->is_stopped) {
            return;
        }
        if (was == STALE) {
            changes_take(in, &j->changes);
            match_again(in); /* may begin the next transaction: j is not read behind this */
        }
        if (was == TORN || in->is_torn) { /* perhaps since before, when this was under way */
            tear(in);
        }
        write_more(in);
        return;
    }
    for (usize i = 0; i < j->cnt; i++) {
        cd_counter_add(in->blocks, j->works[i]->block->number - j->works[i]->block->first + 1);
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
    while (in->first != NULL && in->first->events != NULL && in->first->filters == in->filters && j->cnt < BATCH_MAX) {
        j->works[j->cnt++] = in->first;
        in->first = in->first->next;
    }
    in->last = in->first == NULL ? NULL : in->last;
    if (j->cnt != 0) {
        j->is_busy = true;
        j->version = in->version;
        (j->outcome == STALE ? cd_jobs_write_next : cd_jobs_write)(in->cfg.db, &j->job);
    }
}

static void follow_anew(cd_wh_intake *in);
static void rewind_begin(cd_wh_intake *in);
static void load(cd_wh_intake *in);

static void on_retry(void *ctx)
{
    cd_wh_intake *in = ctx;
    if (in->is_torn) {
        follow_anew(in);
    } else if (in->is_lost) {
        rewind_begin(in);
    } else if (in->halted[0] != '\0') {
        cd_jobs_read(in->cfg.db, &in->look.job);
    } else if (in->is_ready) {
        write_more(in);
    } else {
        load(in);
    }
}

/* Nothing is told any more, until somebody moves the cursor. */
static void halt(cd_wh_intake *in, const char *reason)
{
    (void)snprintf(in->halted, sizeof in->halted, "%s", reason);
    cd_gauge_set(in->stopped, 1);
    cd_log_error(in->cfg.log, "the chain is not followed any longer", CD_F("chain", in->cfg.chain.name),
                 CD_F("why", reason));
    in->has_halted_at = false;
    cd_timer_start(in->retry, 0, 0);
}

static void follower_replaced(void *ctx)
{
    cd_wh_intake *in = ctx;
    in->is_lost = true;
    tear(in);
}

/* Elsewhere a node that is behind lags: nothing was replaced. */
static void follower_behind(void *ctx)
{
    const cd_wh_intake *in = ctx;
    if (in->cfg.is_dev && in->cfg.replaced != CD_WH_REPLACED_STOP) {
        follower_replaced(ctx);
    }
}

static void follower_trouble(void *ctx, const char *reason)
{
    cd_wh_intake *in = ctx;
    if (!is_news(in, reason)) {
        return;
    }
    cd_log_warn(in->cfg.log, "node", CD_F("chain", in->cfg.chain.name), CD_F("why", reason));
}

/* --- the mempool --- */

static cd_err pending_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    pending_job *p = cd_list_of(job, pending_job, job);
    static const u8 none[32];
    return cd_wh_enqueue(s, &p->made, &p->mem, (const cd_wh_event *)(void *)p->events.p,
                         p->events.n / sizeof(cd_wh_event), NULL, 0, none, why);
}

static void pending_done(cd_job *job)
{
    pending_job *p = cd_list_of(job, pending_job, job);
    cd_wh_intake *in = p->in;
    if (job->err == CD_OK) {
        events_count(in, (const cd_wh_event *)(void *)p->events.p, p->events.n / sizeof(cd_wh_event));
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
    cd_jobs_write(in->cfg.db, &p->job);
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
    const cd_wh_event *events = cd_wh_events_make(&p->next_mem, &in->cfg.chain, &facts, hits, cnt, &names);
    cd_buf_put(&p->next_events, cd_bytes_of(events, cnt * sizeof *events));
    pending_write(in);
}

/* --- webhooks --- */

void cd_wh_intake_put(cd_wh_intake *in, const cd_wh_hook *hook)
{
    u64 from;
    if (strcmp(hook->chain, in->cfg.chain.name) != 0 || !in->is_ready) {
        return; /* webhooks are being loaded: the transaction of the next block notices the change by its number */
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

void cd_wh_intake_preview(cd_wh_intake *in, const cd_wh_hook *hook, u32 blocks, cd_wh_preview_fn *fn, void *ctx)
{
    cd__wh_past_preview(in->past, hook, in->matched, blocks, fn, ctx);
}

/* --- life --- */

static cd_err load_hook(void *ctx, const cd_wh_hook *hook)
{
    cd_wh_intake *in = ctx;
    if (strcmp(hook->chain, in->cfg.chain.name) == 0) {
        (void)cd_wh_match_put(in->match, hook);
    }
    return CD_OK;
}

/* Nobody else has the matcher yet. */
static cd_err load_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    load_job *l = cd_list_of(job, load_job, job);
    CD_TRY(cd_wh_hooks_version(s, &l->version, why));
    CD_TRY(cursor_read(&l->at, s, l->in->cfg.chain.name, why));
    return cd_wh_hook_each(s, load_hook, l->in, why);
}

/* Reads webhooks and cursor; what is told of webhooks meanwhile is known to the transaction of the next block. */
static void load(cd_wh_intake *in)
{
    in->is_ready = false;
    cd_jobs_read(in->cfg.db, &in->load.job);
}

/* Follows the chain from behind the end of the ledger. */
static void follow_from(cd_wh_intake *in, const cursor *at)
{
    static const cd_follower_events events = {
        .wants = follower_wants,
        .check = follower_check,
        .block = follower_block,
        .pending = follower_pending,
        .replaced = follower_replaced,
        .behind = follower_behind,
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
        .is_final_only = in->cfg.chain.is_final,
        .poll_ms = in->cfg.poll_ms,
        .trace_depth = CD_WH_TRACE_DEPTH_MAX,
        .has_cursor = at->is_there,
        .cursor = at->height,
        .cursor_hash = at->hash,
    };
    cd_err err = cd_follower_new(&in->follower, in->loop, &cfg, &events, in, &why);
    if (err != CD_OK) {
        halt(in, why.msg);
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
    if (!in->is_lost) {
        load(in);
        return;
    }
    bool may = in->cfg.replaced == CD_WH_REPLACED_FOLLOW || (in->cfg.replaced == CD_WH_REPLACED_AUTO && in->cfg.is_dev);
    if (may) {
        rewind_begin(in);
    } else {
        in->is_lost = false;
        halt(in, "blocks that were told of were replaced on the node; candela-webhooks cursor reset goes on elsewhere");
    }
}

/* --- replaced blocks --- */

static void on_rewound(void *ctx, cd__wh_rewound how, u64 from, u64 to, const char *reason)
{
    cd_wh_intake *in = ctx;
    if (how == CD__WH_UNKNOWN) {
        follower_trouble(in, reason);
        cd_timer_start(in->retry, RETRY_MS, 0);
        return;
    }
    in->is_lost = false;
    if (how == CD__WH_NO_COMMON) {
        halt(in, reason);
        return;
    }
    cd_log_warn(in->cfg.log, "blocks were replaced", CD_F("chain", in->cfg.chain.name), CD_F("from", to + 1),
                CD_F("to", from));
    cd_counter_add(in->rewinds, 1);
    load(in);
}

static void rewind_begin(cd_wh_intake *in)
{
    const cd__wh_rewind_cfg cfg = {
        .db = in->cfg.db,
        .node = &in->node,
        .chain = in->cfg.chain.name,
        .from_nothing = in->cfg.is_dev,
        .ctx = in,
        .over = on_rewound,
        .told = told,
    };
    cd__wh_rewind_free(in->rewind);
    in->rewind = cd__wh_rewind_new(&cfg);
}

/* Somebody may have moved the cursor of a chain that is not followed any more. */
static cd_err look_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    load_job *l = cd_list_of(job, load_job, job);
    return cursor_read(&l->at, s, l->in->cfg.chain.name, why);
}

static void look_done(cd_job *job)
{
    load_job *l = cd_list_of(job, load_job, job);
    cd_wh_intake *in = l->in;
    if (in->is_stopped) {
        return;
    }
    if (job->err == CD_OK && !in->has_halted_at) {
        in->halted_at = l->at;
        in->has_halted_at = true;
    }
    if (job->err != CD_OK || cursor_eq(&l->at, &in->halted_at)) {
        cd_timer_start(in->retry, HALTED_MS, 0);
        return;
    }
    in->halted[0] = '\0';
    cd_gauge_set(in->stopped, 0);
    load(in);
}

static void load_done(cd_job *job)
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
    in->lag = cd_metrics_gauge(m, "block_lag", "Blocks of the node that are not in the ledger yet.", &chain, 1);
    in->stopped =
        cd_metrics_gauge(m, "chain_stopped", "1: the node's chain is not the one that was followed.", &chain, 1);
    in->untraced = cd_metrics_gauge(m, "chain_untraced",
                                    "1: webhooks want internal transfers, and the node does not trace.", &chain, 1);
    in->match_time =
        cd_metrics_hist(m, "match_seconds", "Time to match a block.", &chain, 1, bounds, CD_COUNT(bounds), 1e9);
    in->blocks = cd_metrics_counter(m, "blocks_total", "Blocks matched.", &chain, 1);
    in->rewinds = cd_metrics_counter(m, "rewinds_total", "Times that blocks were replaced.", &chain, 1);
    for (cd_wh_type t = 0; t < CD_WH_TYPES_CNT; t++) {
        const cd_label labels[] = {
            {.name = "chain", .value = in->cfg.chain.name},
            {.name = "face", .value = cd_wh_face_name(cd_wh_type_face(t))},
            {.name = "type", .value = cd_wh_type_name(t)},
        };
        in->events[t] = cd_metrics_counter(m, "events_total", "Matches of webhooks.", labels, CD_COUNT(labels));
    }
    in->dropped = cd_metrics_counter(m, "pending_dropped_total",
                                     "Events of the mempool that came faster than they could be "
                                     "written.",
                                     &chain, 1);
}

cd_err cd_wh_intake_new(cd_wh_intake **out, cd_loop *loop, const cd_wh_intake_cfg *cfg, cd_errinfo *why)
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
    const cd__wh_past_cfg past = {
        .loop = loop, .db = cfg->db, .log = cfg->log, .source = &in->source, .told = told, .ctx = in};
    in->past = cd__wh_past_new(&past);
    in->writing = (block_job){.job = {.run = write_run, .done = write_done, .is_soft = true}, .in = in};
    in->pending = (pending_job){.job = {.run = pending_run, .done = pending_done}, .in = in};
    in->load = (load_job){.job = {.run = load_run, .done = load_done}, .in = in};
    in->look = (load_job){.job = {.run = look_run, .done = look_done}, .in = in};
    metrics_open(in);
    load(in);
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
    cd__wh_rewind_stop(in->rewind);
    cd__wh_past_stop(in->past);
    cd_timer_free(in->retry);
}

void cd_wh_intake_free(cd_wh_intake *in)
{
    if (in == NULL) {
        return;
    }
    cd_wh_intake_stop(in);
    cd__wh_rewind_free(in->rewind);
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

static void problem_put(const cd_wh_intake *in, cd_wh_intake_state *st, u64 head)
{
    if (in->halted[0] != '\0') {
        (void)snprintf(st->problem, sizeof st->problem, "%s", in->halted);
    } else if (in->is_lost) {
        (void)snprintf(st->problem, sizeof st->problem, "blocks were replaced; looking for where the chains part");
    } else if (!in->is_ready) {
        (void)snprintf(st->problem, sizeof st->problem, "the webhooks are being loaded");
    } else if (st->node.is_behind) {
        (void)snprintf(st->problem, sizeof st->problem, "the node is behind block %llu, which was told of already",
                       (unsigned long long)in->height);
    } else if (!st->node.is_heard) {
        (void)snprintf(st->problem, sizeof st->problem, "the node does not answer: %.100s", in->trouble);
    } else if (st->is_far) {
        (void)snprintf(st->problem, sizeof st->problem, "catching up: %llu blocks to go",
                       (unsigned long long)(head - in->height));
    }
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
    st.node.is_stopped |= in->halted[0] != '\0';
    u64 head = st.node.limit;
    st.is_far = in->has_height && head > in->height + FAR;
    problem_put(in, &st, head);
    return st;
}

const cd_wh_source *cd_wh_intake_source(const cd_wh_intake *in)
{
    return &in->source;
}
