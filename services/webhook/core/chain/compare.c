#include "services/webhook/core/chain/compare.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "crypto/hash/sha2.h"

enum { TRIES = 5 };

/* A webhook's newest row so far. */
typedef struct tail {
    u64 sequence;
    u8 chain_hash[32];
} tail;

/* An expected event, by its identity. */
typedef struct expected {
    const cd_wh_event *event;
    bool is_there;
} expected;

struct cd_wh_compare {
    cd_wh_source source;
    cd_jobs *db;
    cd_wh_match *match;
    cd_wh_scan *scan;
    cd_hmap tails; /* key of a webhook -> tail */
    cd_wh_compared sum;
    cd_wh_compare_fn *fn;
    void *ctx;

    cd_job job;
    cd_arena mem;
    u64 cursor;
    u64 block; /* number of the block that is being compared */
    const cd_wh_event *events;
    usize events_cnt;
    cd_wh_delivery *rows;
    usize rows_cnt;
};

static void difference_add(cd_wh_compare *c, cd_wh_difference_kind kind, const cd_wh_event *e)
{
    if (c->sum.differences < CD_WH_DIFFERENCES_MAX) {
        cd_wh_difference *d = &c->sum.list[c->sum.differences];
        d->kind = kind;
        d->block = c->block;
        d->hook = e->hook;
        memcpy(d->event_id, e->id, sizeof d->event_id);
    }
    c->sum.differences++;
}

/* SHA-256(chain hash of the row before ‖ h ‖ SHA-256(body)), as the store writes it. */
static bool follows(const tail *before, const cd_wh_delivery *row, cd_bytes body)
{
    u8 text[96];
    cd_hash32 sum;
    memcpy(text, before->chain_hash, 32);
    memcpy(text + 32, row->event.h, 32);
    cd_sha256(&sum, body);
    memcpy(text + 64, sum.b, 32);
    cd_sha256(&sum, cd_bytes_of(text, sizeof text));
    return memcmp(sum.b, row->chain_hash, 32) == 0;
}

/* The first row of all follows zeros; of others the one before must have been seen. */
static void row_check(cd_wh_compare *c, const cd_wh_delivery *row, const cd_wh_event *event)
{
    bool is_new;
    tail *t = cd_hmap_put(&c->tails, &is_new, &row->hook);
    if (t->sequence + 1 == row->sequence && !follows(t, row, event->body)) {
        difference_add(c, CD_WH_OTHER, event);
    }
    t->sequence = row->sequence;
    memcpy(t->chain_hash, row->chain_hash, 32);
}

static void block_compare(cd_wh_compare *c)
{
    cd_hmap by_h;
    cd_hmap_init(&by_h, CD_HASH_IDENTITY, 32, sizeof(expected));
    for (usize i = 0; i < c->events_cnt; i++) {
        ((expected *)cd_hmap_put(&by_h, NULL, c->events[i].h))->event = &c->events[i];
    }
    for (usize i = 0; i < c->rows_cnt; i++) {
        const cd_wh_delivery *row = &c->rows[i];
        u64 from_block = 0;
        if (!cd_wh_match_has(c->match, &from_block, row->hook) || row->event.block < from_block) {
            continue; /* of another chain, deleted, or before its filter */
        }
        expected *e = cd_hmap_get(&by_h, row->event.h);
        c->sum.rows++;
        if (e == NULL || e->is_there) {
            difference_add(c, CD_WH_EXTRA, &row->event);
        } else {
            e->is_there = true;
            row_check(c, row, e->event);
        }
    }
    for (usize i = 0; i < c->events_cnt; i++) {
        const expected *e = cd_hmap_get(&by_h, c->events[i].h);
        if (!e->is_there) {
            difference_add(c, CD_WH_MISSING, &c->events[i]);
        }
    }
    c->sum.blocks++;
    c->sum.matches += c->events_cnt;
    cd_hmap_fini(&by_h);
}

static void tell(cd_wh_compare *c, const char *reason)
{
    c->fn(c->ctx, reason == NULL ? &c->sum : NULL, reason);
}

static cd_err rows_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_wh_compare *c = cd_list_of(job, cd_wh_compare, job);
    return cd_wh_ledger_events(s, &c->rows, &c->rows_cnt, &c->mem, c->block, why);
}

static void rows_done(cd_job *job)
{
    cd_wh_compare *c = cd_list_of(job, cd_wh_compare, job);
    if (job->err != CD_OK) {
        tell(c, job->why.msg);
        return;
    }
    block_compare(c);
    cd_wh_scan_next(c->scan);
}

static void on_block(void *ctx, const cd_wh_facts *facts, const cd_wh_event *events, usize cnt)
{
    cd_wh_compare *c = ctx;
    c->block = facts->number;
    c->events = events;
    c->events_cnt = cnt;
    cd_arena_reset(&c->mem);
    c->job.run = rows_run;
    c->job.done = rows_done;
    cd_jobs_read(c->db, &c->job);
}

static void on_over(void *ctx, const char *reason)
{
    tell(ctx, reason);
}

static cd_err hook_put(void *ctx, const cd_wh_hook *hook)
{
    cd_wh_compare *c = ctx;
    if (strcmp(hook->chain, c->source.chain.name) == 0) {
        (void)cd_wh_match_put(c->match, hook);
    }
    return CD_OK;
}

static cd_err load_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_wh_compare *c = cd_list_of(job, cd_wh_compare, job);
    u8 hash[32];
    CD_TRY(cd_wh_cursor_get(s, &c->cursor, hash, c->source.chain.name, why));
    return cd_wh_hook_each(s, hook_put, c, why);
}

static void load_done(cd_job *job)
{
    static const cd_wh_scan_events events = {.block = on_block, .over = on_over};
    cd_wh_compare *c = cd_list_of(job, cd_wh_compare, job);
    if (job->err != CD_OK) {
        tell(c, job->err == CD_ENOENT ? "the chain was never followed" : job->why.msg);
        return;
    }
    if (c->sum.last == 0 || c->sum.last > c->cursor) {
        c->sum.last = c->cursor;
    }
    if (c->sum.first > c->sum.last) {
        tell(c, "there are no such blocks in the ledger");
        return;
    }
    c->scan = cd_wh_scan_new(&c->source, c->match, c->sum.first, c->sum.last, TRIES, &events, c);
}

cd_wh_compare *cd_wh_compare_new(const cd_wh_source *source, cd_jobs *db, u64 first, u64 last, cd_wh_compare_fn *fn,
                                 void *ctx)
{
    cd_wh_compare *c = cd_new(cd_wh_compare);
    c->source = *source;
    c->db = db;
    c->match = cd_wh_match_new();
    cd_hmap_init(&c->tails, CD_HASH_KEYED, sizeof(i64), sizeof(tail));
    c->sum.first = first;
    c->sum.last = last;
    c->fn = fn;
    c->ctx = ctx;
    c->job.run = load_run;
    c->job.done = load_done;
    cd_jobs_read(db, &c->job);
    return c;
}

void cd_wh_compare_free(cd_wh_compare *c)
{
    if (c != NULL) {
        cd_wh_scan_free(c->scan);
        cd_wh_match_free(c->match);
        cd_hmap_fini(&c->tails);
        cd_arena_fini(&c->mem);
        cd_free(c);
    }
}
