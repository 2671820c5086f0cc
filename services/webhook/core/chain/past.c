#include "services/webhook/core/chain/past.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/table/list.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    RETRY_MS = 500,
    /* before what the store did not take is written again */ PREVIEW_TRIES = 3
};

struct cd__wh_past {
    cd__wh_past_cfg cfg;
    bool is_stopped;
    cd_list fills;
    cd_list previews;
    cd_list searches;
    usize fills_cnt;
};

/* --- what the store knows --- */

/* What is to be told as it is kept: [webhook, next block, last block] of a back-fill; [webhook, 0, 0]: those of its
 * transactions that are mined already. */
typedef struct fill_row {
    i64 hook;
    u64 next, last;
} fill_row;

static void fills_name(char out[64], const char *chain)
{
    (void)snprintf(out, 64, "fills:%.50s", chain);
}

static cd_err row_read(fill_row *out, cd_json v, cd_errinfo *why)
{
    u64 hook;
    CD_TRY(cd_json_u64(&hook, cd_json_at(v, 0), why));
    CD_TRY(cd_json_u64(&out->next, cd_json_at(v, 1), why));
    CD_TRY(cd_json_u64(&out->last, cd_json_at(v, 2), why));
    out->hook = (i64)hook;
    return CD_OK;
}

static cd_err fills_read(cd_json *out, cd_wh_store *s, cd_arena *mem, const char *chain, cd_errinfo *why)
{
    char name[64];
    cd_bytes text = cd_bytes_str("[]");
    fills_name(name, chain);
    cd_err err = cd_wh_setting_get(s, &text, mem, "", name, why);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    return cd_json_parse(out, mem, text, 0, why);
}

static bool is_search(const fill_row *row)
{
    return row->last == 0;
}

/* Puts a row in the place of the one of its webhook and kind; one whose next is behind its last goes. Whoever calls
 * has the lock of the webhooks. */
static cd_err fills_set(cd_wh_store *s, const char *chain, const fill_row *row, cd_errinfo *why)
{
    char name[64];
    cd_arena mem = {0};
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json rows = {0};
    bool is_over = row->next > row->last;
    fills_name(name, chain);
    cd_err err = fills_read(&rows, s, &mem, chain, why);
    cd_json_w_arr(&w);
    if (!is_over) {
        cd_json_w_arr(&w);
        cd_json_w_i64(&w, row->hook);
        cd_json_w_u64(&w, row->next);
        cd_json_w_u64(&w, row->last);
        cd_json_w_arr_end(&w);
    }
    for (cd_json_it it = cd_json_iter(rows); err == CD_OK && cd_json_next(&it);) {
        fill_row old;
        err = row_read(&old, it.val, why);
        if (err == CD_OK && (old.hook != row->hook || is_search(&old) != is_search(row))) {
            cd_json_w_arr(&w);
            cd_json_w_i64(&w, old.hook);
            cd_json_w_u64(&w, old.next);
            cd_json_w_u64(&w, old.last);
            cd_json_w_arr_end(&w);
        }
    }
    cd_json_w_arr_end(&w);
    if (err == CD_OK) {
        err = cd_wh_setting_put(s, cd_buf_bytes(&text), "", name, why);
    }
    cd_buf_fini(&text);
    cd_arena_fini(&mem);
    return err;
}

/* Those of its transactions that nobody would tell it of as they are mined. */
static cd_err search_enlist(cd_wh_store *s, const cd_wh_hook *hook, cd_errinfo *why)
{
    const fill_row row = {.hook = hook->key};
    bool has_any = (hook->types & (1u << CD_WH_B_MINED | 1u << CD_WH_C_MINED)) != 0 && hook->filter.tx_hashes.n != 0;
    return has_any ? fills_set(s, hook->chain, &row, why) : CD_OK;
}

cd_err cd_wh_intake_enlist(cd_wh_store *s, cd_wh_hook *hook, cd_errinfo *why)
{
    u64 height;
    u8 hash[32];
    cd_err err = cd_wh_cursor_get(s, &height, hash, hook->chain, why);
    if (err == CD_ENOENT) {
        return CD_OK; /* the chain was never followed: there are no blocks before its first to fill in */
    }
    CD_TRY(err);
    if (hook->from_block == 0) {
        hook->from_block = height + 1;
        CD_TRY(cd_wh_hook_move(s, hook->key, hook->from_block, why));
    }
    CD_TRY(search_enlist(s, hook, why));
    const fill_row row = {.hook = hook->key, .next = hook->from_block, .last = height};
    return row.next > row.last ? CD_OK : fills_set(s, hook->chain, &row, why);
}

cd_err cd_wh_intake_moved(cd_wh_store *s, cd_wh_hook *hook, cd_errinfo *why)
{
    u64 height;
    u8 hash[32];
    cd_err err = cd_wh_cursor_get(s, &height, hash, hook->chain, why);
    if (err == CD_ENOENT) {
        return CD_OK;
    }
    CD_TRY(err);
    hook->from_block = height + 1;
    CD_TRY(search_enlist(s, hook, why));
    return cd_wh_hook_move(s, hook->key, hook->from_block, why);
}

/* A row that is written by itself; nobody waits for it. */
typedef struct note_job {
    cd_job job;
    cd__wh_past *past;
    fill_row row;
} note_job;

static cd_err note_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    note_job *n = cd_list_of(job, note_job, job);
    u64 version;
    CD_TRY(cd_wh_hooks_lock(s, &version, why));
    return fills_set(s, n->past->cfg.source->chain.name, &n->row, why);
}

static void note_done(cd_job *job)
{
    note_job *n = cd_list_of(job, note_job, job);
    if (job->err != CD_OK) {
        cd_log_error(n->past->cfg.log, "back-fill not noted", CD_F("why", job->why.msg));
    }
    cd_free(n);
}

static void note(cd__wh_past *p, fill_row row)
{
    note_job *n = cd_new(note_job);
    n->job.run = note_run;
    n->job.done = note_done;
    n->past = p;
    n->row = row;
    cd_jobs_write(p->cfg.db, &n->job);
}

/* Nothing is left to be told of a range, or of transactions. */
static void forget_fill(cd__wh_past *p, i64 hook)
{
    note(p, (fill_row){.hook = hook, .next = 2, .last = 1});
}

static void forget_search(cd__wh_past *p, i64 hook)
{
    note(p, (fill_row){.hook = hook, .next = 1, .last = 0});
}

/* --- fills --- */

/* A back-fill at work: its webhook is read, then block after block is matched and written. */
typedef struct fill {
    cd_list link;
    cd__wh_past *past;
    fill_row row;   /* the store's row; what is written here is there once job is done */
    bool is_single; /* of one block alone, which has no row in the store */
    cd_job job;
    bool in_job;
    bool is_over;       /* it is done and only waits to be freed */
    u64 version;        /* the webhook's, when it was read */
    bool is_stale;      /* the webhook has changed since, so nothing was written */
    cd_wh_match *match; /* knows this webhook alone; NULL: it has not been read yet */
    cd_wh_scan *scan;
    u64 block; /* number of the block that is being written; row.next - 1: none is */
    const cd_wh_event *events;
    usize cnt;
    cd_arena mem;
    cd_wh_enqueued made;
    cd_timer *timer;
} fill;

/* Ends a fill, at once or when its job is done: until then the store's thread has its events. */
static void fill_release(fill *f)
{
    f->is_over = true;
    if (!f->in_job) {
        cd_wh_scan_free(f->scan);
        cd_wh_match_free(f->match);
        cd_timer_free(f->timer);
        cd_arena_fini(&f->mem);
        cd_list_del(&f->link);
        f->past->fills_cnt--;
        cd_free(f);
    }
}

static cd_err fill_load_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    fill *f = cd_list_of(job, fill, job);
    cd_wh_hook hook;
    CD_TRY(cd_wh_hook_by_key(s, &hook, &f->mem, f->row.hook, true, why));
    hook.from_block = 0;
    f->version = hook.version;
    (void)cd_wh_match_put(f->match, &hook);
    return CD_OK;
}

static cd_err fill_write_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    fill *f = cd_list_of(job, fill, job);
    const fill_row row = {.hook = f->row.hook, .next = f->block + 1, .last = f->row.last};
    static const u8 none[32];
    u64 version;
    cd_wh_hook hook;
    cd_arena_reset(&f->mem);
    CD_TRY(cd_wh_hooks_lock(s, &version, why));
    cd_err err = cd_wh_hook_by_key(s, &hook, &f->mem, f->row.hook, false, why);
    f->is_stale = err == CD_ENOENT || (err == CD_OK && hook.version != f->version);
    if (err != CD_OK || f->is_stale) {
        return f->is_stale ? CD_OK : err;
    }
    CD_TRY(cd_wh_enqueue(s, &f->made, &f->mem, f->events, f->cnt, NULL, 0, none, why));
    return f->is_single ? CD_OK : fills_set(s, f->past->cfg.source->chain.name, &row, why);
}

static void fill_post(fill *f, cd_err (*run)(cd_job *, void *, cd_errinfo *), void (*done)(cd_job *), bool is_write)
{
    f->job.run = run;
    f->job.done = done;
    f->in_job = true;
    (is_write ? cd_jobs_write : cd_jobs_read)(f->past->cfg.db, &f->job);
}

static void fill_write(fill *f);

static void fill_written(cd_job *job)
{
    fill *f = cd_list_of(job, fill, job);
    f->in_job = false;
    if (job->err == CD_OK && !f->is_stale) {
        f->row.next = f->block + 1;
        if (!f->past->is_stopped) { /* else the next start finds what waits */
            f->past->cfg.told(f->past->cfg.ctx, &f->made);
        }
    }
    if (f->is_over) {
        fill_release(f);
    } else if (job->err != CD_OK) {
        cd_log_error(f->past->cfg.log, "back-fill not written", CD_F("why", job->why.msg));
        cd_timer_start(f->timer, RETRY_MS, 0);
    } else if (f->is_stale) {
        cd_wh_scan_free(f->scan);
        f->scan = NULL;
        f->is_stale = false;
        cd_timer_start(f->timer, 0, 0);
    } else {
        cd_wh_scan_next(f->scan);
    }
}

static void fill_write(fill *f)
{
    fill_post(f, fill_write_run, fill_written, true);
}

static void fill_block(void *ctx, const cd_wh_facts *facts, const cd_wh_event *events, usize cnt)
{
    fill *f = ctx;
    f->block = facts->number;
    f->events = events;
    f->cnt = cnt;
    fill_write(f);
}

static bool has_singles(const cd__wh_past *p, i64 hook)
{
    cd_list_each(it, &p->fills)
    {
        const fill *f = cd_list_of(it, fill, link);
        if (f->row.hook == hook && f->is_single) {
            return true;
        }
    }
    return false;
}

static void fill_over(void *ctx, const char *reason)
{
    fill *f = ctx;
    cd__wh_past *p = f->past;
    i64 hook = f->row.hook;
    bool is_single = f->is_single;
    (void)reason; /* NULL: the scan of a back-fill asks the node again and again and never gives up */
    fill_release(f);
    if (is_single && !has_singles(p, hook)) {
        forget_search(p, hook);
    }
}

static void fill_loaded(cd_job *job)
{
    static const cd_wh_scan_events events = {.block = fill_block, .over = fill_over};
    fill *f = cd_list_of(job, fill, job);
    f->in_job = false;
    if (f->is_over) {
        fill_release(f);
    } else if (job->err == CD_ENOENT) { /* its webhook is gone */
        if (!f->is_single) {
            forget_fill(f->past, f->row.hook);
        }
        fill_release(f);
    } else if (job->err != CD_OK) {
        cd_timer_start(f->timer, RETRY_MS, 0);
    } else {
        f->scan = cd_wh_scan_new(f->past->cfg.source, f->match, f->row.next, f->row.last, 0, &events, f);
    }
}

/* Goes on: with what is to be written, or with reading the webhook. */
static void on_fill_timer(void *ctx)
{
    fill *f = ctx;
    if (f->scan != NULL) {
        fill_write(f);
        return;
    }
    cd_wh_match_free(f->match);
    f->match = cd_wh_match_new();
    fill_post(f, fill_load_run, fill_loaded, false);
}

static void fill_start(cd__wh_past *p, fill_row row, bool is_single)
{
    fill *f = cd_new(fill);
    f->past = p;
    f->row = row;
    f->is_single = is_single;
    f->timer = cd_timer_new(p->cfg.loop, on_fill_timer, f);
    cd_list_push_back(&p->fills, &f->link);
    p->fills_cnt++;
    cd_timer_start(f->timer, 0, 0);
}

void cd__wh_past_drop(cd__wh_past *p, i64 hook)
{
    cd_list_each_safe(it, &p->fills)
    {
        fill *f = cd_list_of(it, fill, link);
        if (f->row.hook == hook) {
            fill_release(f);
        }
    }
    forget_fill(p, hook);
    forget_search(p, hook);
}

usize cd__wh_past_cnt(const cd__wh_past *p)
{
    return p->fills_cnt;
}

/* --- transactions that are mined already --- */

/* Asks where transactions are. */
typedef struct search {
    cd_list link;
    cd__wh_past *past;
    i64 hook;
    u64 before;
    cd_hash32 *hashes;
    usize cnt;
    cd_arena mem, call_mem;
    cd_call *call;
    cd_timer *retry;
} search;

static void search_release(search *x)
{
    cd_call_cancel(x->call);
    cd_timer_free(x->retry);
    cd_arena_fini(&x->call_mem);
    cd_arena_fini(&x->mem);
    cd_list_del(&x->link);
    cd_free(x);
}

static int u64_cmp(const void *a, const void *b)
{
    u64 x = *(const u64 *)a;
    u64 y = *(const u64 *)b;
    return (x > y) - (x < y);
}

static void search_done(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    search *x = ctx;
    x->call = NULL;
    if (err != CD_OK) {
        cd_log_warn(x->past->cfg.log, "transactions not looked up", CD_F("why", reason));
        cd_timer_start(x->retry, RETRY_MS, 0);
        return;
    }
    u64 *blocks = cd_arena_array(&x->mem, u64, x->cnt);
    usize cnt = 0;
    for (usize i = 0; i < x->cnt; i++) {
        cd_json number = cd_json_get(answers[i].result, "blockNumber");
        if (cd_json_qty_u64(&blocks[cnt], number, NULL) == CD_OK && blocks[cnt] < x->before) {
            cnt++;
        }
    }
    qsort(blocks, cnt, sizeof *blocks, u64_cmp);
    for (usize i = 0; i < cnt; i++) {
        if (i == 0 || blocks[i] != blocks[i - 1]) {
            fill_start(x->past, (fill_row){.hook = x->hook, .next = blocks[i], .last = blocks[i]}, true);
        }
    }
    if (cnt == 0) {
        forget_search(x->past, x->hook);
    }
    search_release(x);
}

static void search_ask(void *ctx)
{
    search *x = ctx;
    cd_arena_reset(&x->call_mem);
    cd_ask *asks = cd_arena_array(&x->call_mem, cd_ask, x->cnt);
    for (usize i = 0; i < x->cnt; i++) {
        char hex[65] = {0};
        cd_hex_fmt(hex, cd_bytes_of(x->hashes[i].b, 32));
        asks[i].method = "eth_getTransactionReceipt";
        asks[i].params = cd_arena_fmt(&x->call_mem, "[\"0x%s\"]", hex);
    }
    x->call = cd_call_new(x->past->cfg.source->node, &x->call_mem, asks, x->cnt, 0, search_done, x);
}

static void search_start(cd__wh_past *p, const cd_wh_hook *hook)
{
    cd_wh_words hashes = hook->filter.tx_hashes;
    cd_list_each(it, &p->searches)
    {
        if (cd_list_of(it, search, link)->hook == hook->key) {
            return;
        }
    }
    if (hashes.n == 0 || has_singles(p, hook->key)) {
        return;
    }
    search *x = cd_new(search);
    x->past = p;
    x->hook = hook->key;
    x->before = hook->from_block;
    x->cnt = hashes.n;
    x->hashes = cd_arena_array(&x->mem, cd_hash32, hashes.n);
    memcpy(x->hashes, hashes.p, hashes.n * sizeof *hashes.p);
    x->retry = cd_timer_new(p->cfg.loop, search_ask, x);
    cd_list_push_back(&p->searches, &x->link);
    search_ask(x);
}

/* --- what the store has to be told --- */

static bool is_under_way(const cd__wh_past *p, i64 hook)
{
    cd_list_each(it, &p->fills)
    {
        const fill *f = cd_list_of(it, fill, link);
        if (f->row.hook == hook && !f->is_single && !f->is_over) {
            return true;
        }
    }
    return false;
}

/* Reads what is to be told. */
typedef struct look_job {
    cd_job job;
    cd__wh_past *past;
    i64 hook;
    cd_arena mem;
    cd_json rows;
    cd_wh_hook *searches; /* webhooks whose transactions are to be looked up */
    usize searches_cnt;
} look_job;

static cd_err look_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    look_job *l = cd_list_of(job, look_job, job);
    CD_TRY(fills_read(&l->rows, s, &l->mem, l->past->cfg.source->chain.name, why));
    l->searches = cd_arena_array(&l->mem, cd_wh_hook, cd_json_len(l->rows));
    for (cd_json_it it = cd_json_iter(l->rows); cd_json_next(&it);) {
        fill_row row;
        CD_TRY(row_read(&row, it.val, why));
        if (is_search(&row) && (l->hook == 0 || row.hook == l->hook)) {
            cd_wh_hook *hook = &l->searches[l->searches_cnt];
            cd_err err = cd_wh_hook_by_key(s, hook, &l->mem, row.hook, false, why);
            if (err != CD_OK && err != CD_ENOENT) {
                return err;
            }
            l->searches_cnt += err == CD_OK;
        }
    }
    return CD_OK;
}

static void look_done(cd_job *job)
{
    look_job *l = cd_list_of(job, look_job, job);
    if (job->err != CD_OK) {
        cd_log_error(l->past->cfg.log, "back-fills not read", CD_F("why", job->why.msg));
    }
    bool is_on = job->err == CD_OK && !l->past->is_stopped;
    for (usize i = 0; is_on && i < l->searches_cnt; i++) {
        search_start(l->past, &l->searches[i]);
    }
    for (cd_json_it it = cd_json_iter(l->rows); is_on && cd_json_next(&it);) {
        fill_row row;
        if (row_read(&row, it.val, NULL) == CD_OK && !is_search(&row) && (l->hook == 0 || row.hook == l->hook) &&
            !is_under_way(l->past, row.hook)) {
            fill_start(l->past, row, false);
        }
    }
    cd_arena_fini(&l->mem);
    cd_free(l);
}

void cd__wh_past_look(cd__wh_past *p, i64 hook)
{
    look_job *l = cd_new(look_job);
    *l = (look_job){.job = {.run = look_run, .done = look_done}, .past = p, .hook = hook};
    cd_jobs_read(p->cfg.db, &l->job);
}

/* --- previews --- */

/* They want hundreds of blocks of the node that the chain itself comes from: two at a time, one of a project. */
enum { PREVIEWS_RUN = 2, PREVIEWS_MAX = 64, PROJECT_PREVIEWS_MAX = 4 };

typedef struct preview {
    cd_list link;
    cd__wh_past *past;
    char project[CD_WH_ID_MAX];
    u64 first, last;
    cd_wh_match *match;
    cd_wh_scan *scan; /* NULL: it waits */
    cd_arena mem;
    cd_bytes bodies[CD_WH_PREVIEW_BODIES];
    cd_wh_preview sum;
    cd_wh_preview_fn *fn;
    void *ctx;
} preview;

static void preview_release(preview *p)
{
    cd_list_del(&p->link);
    cd_wh_scan_free(p->scan);
    cd_wh_match_free(p->match);
    cd_arena_fini(&p->mem);
    cd_free(p);
}

static void preview_block(void *ctx, const cd_wh_facts *facts, const cd_wh_event *events, usize cnt)
{
    preview *p = ctx;
    (void)facts;
    p->sum.blocks++;
    p->sum.matched_blocks += cnt != 0;
    p->sum.events += cnt;
    for (usize i = cnt; i > 0 && p->sum.bodies_cnt < CD_WH_PREVIEW_BODIES; i--) {
        p->bodies[p->sum.bodies_cnt++] = cd_arena_dup(&p->mem, events[i - 1].body);
    }
    cd_wh_scan_next(p->scan);
}

static void previews_run(cd__wh_past *past);

static void preview_over(void *ctx, const char *reason)
{
    preview *p = ctx;
    cd__wh_past *past = p->past;
    p->sum.bodies = p->bodies;
    p->fn(p->ctx, reason == NULL ? &p->sum : NULL, reason);
    preview_release(p);
    previews_run(past);
}

/* How many of a project (NULL: of all) there are, or run. */
static usize previews_cnt(const cd__wh_past *past, const char *project, bool running)
{
    usize cnt = 0;
    cd_list_each(it, &past->previews)
    {
        const preview *p = cd_list_of(it, preview, link);
        bool is_one = project == NULL || strcmp(p->project, project) == 0;
        cnt += is_one && (!running || p->scan != NULL);
    }
    return cnt;
}

/* Begins those that may: the oldest first, of whose project none runs. */
static void previews_run(cd__wh_past *past)
{
    static const cd_wh_scan_events events = {.block = preview_block, .over = preview_over};
    usize running = previews_cnt(past, NULL, true);
    cd_list_each(it, &past->previews)
    {
        preview *p = cd_list_of(it, preview, link);
        if (running < PREVIEWS_RUN && p->scan == NULL && previews_cnt(past, p->project, true) == 0) {
            p->scan = cd_wh_scan_new(past->cfg.source, p->match, p->first, p->last, PREVIEW_TRIES, &events, p);
            running++;
        }
    }
}

void cd__wh_past_preview(cd__wh_past *past, const cd_wh_hook *hook, u64 head, u32 blocks, cd_wh_preview_fn *fn,
                         void *ctx)
{
    static const char *const ids[] = {"wh-preview000", "wh_preview00000", "00000000-0000-4000-8000-000000000000"};
    const char *project = hook->project == NULL ? "" : hook->project;
    if (previews_cnt(past, NULL, false) >= PREVIEWS_MAX || previews_cnt(past, project, false) >= PROJECT_PREVIEWS_MAX) {
        fn(ctx, NULL, CD_WH_PREVIEW_BUSY);
        return;
    }
    preview *p = cd_new(preview);
    cd_wh_hook own = *hook;
    u64 cnt = blocks == 0 ? 1 : blocks > CD_WH_PREVIEW_BLOCKS ? CD_WH_PREVIEW_BLOCKS : blocks;
    p->past = past;
    (void)snprintf(p->project, sizeof p->project, "%s", project);
    p->fn = fn;
    p->ctx = ctx;
    p->match = cd_wh_match_new();
    cd_list_push_back(&past->previews, &p->link);
    own.key = 1;
    own.id = hook->id == NULL || hook->id[0] == '\0' ? ids[hook->face] : hook->id;
    own.from_block = 0;
    (void)cd_wh_match_put(p->match, &own);
    p->first = head;
    p->last = cnt > head ? 0 : head - cnt + 1;
    previews_run(past);
}

/* --- life --- */

cd__wh_past *cd__wh_past_new(const cd__wh_past_cfg *cfg)
{
    cd__wh_past *p = cd_new(cd__wh_past);
    p->cfg = *cfg;
    cd_list_init(&p->fills);
    cd_list_init(&p->previews);
    cd_list_init(&p->searches);
    return p;
}

void cd__wh_past_stop(cd__wh_past *p)
{
    p->is_stopped = true;
    cd_list_each_safe(it, &p->fills)
    {
        fill_release(cd_list_of(it, fill, link));
    }
    cd_list_each_safe(it, &p->previews)
    {
        preview_release(cd_list_of(it, preview, link));
    }
    cd_list_each_safe(it, &p->searches)
    {
        search_release(cd_list_of(it, search, link));
    }
}

void cd__wh_past_free(cd__wh_past *p)
{
    CD_ASSERT(p->fills_cnt == 0);
    cd_free(p);
}
