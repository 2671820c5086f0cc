/* How entries get their prices: queues gather what one call can bring, jobs make the calls. */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "net/http/cond.h"
#include "services/pricing/prices_priv.h"

#include <math.h>
#include <stdlib.h>

#define SHARE_LOOK_NS (50 * CD_NS_PER_MS) /* between two looks at what another instance fetches */
#define OUTLIER       0.05                /* of the median */

enum { MEDIAN_OF = 3, STATUS_OK = 200, STATUS_LIMITED = 429, STATUS_UNAVAILABLE = 503 };

/* How a call ended, for the metrics. */
typedef enum outcome {
    OUT_OK,
    OUT_LIMITED, /* 429 */
    OUT_REFUSED, /* 400, 422: the question, not the provider, is at fault */
    OUT_STATUS,
    OUT_TIMEOUT,
    OUT_NETWORK,
    OUT_BODY,
    OUT_CNT,
} outcome;
_Static_assert((int)OUT_CNT == (int)CD__PRICE_OUTCOMES, "one counter an outcome");

typedef struct call {
    cd__price_job *job;
    void *handle;
    u64 begin_ns;
    bool is_tried;
    bool is_good;
    cd_arena mem;
    const cd_market_row **rows; /* by entry of the job; NULL where the provider did not name it */
} call;

struct cd__price_job {
    cd_list link;
    cd_prices *prices;
    cd__price_entry *entries[CD_MARKET_IDS_MAX];
    usize cnt;
    call calls[CD_PRICES_PROVIDERS_MAX];
    u32 pending;
    bool has_claims;  /* the shared store has claims of ours: other gateways wait for this job */
    bool has_failed;  /* a provider has failed otherwise than by status 429 */
    bool was_refused; /* a provider has refused the question itself (400, 422) */
};

static const char *outcome_name(outcome o)
{
    static const char *const names[OUT_CNT] = {
        [OUT_OK] = "ok",           [OUT_LIMITED] = "rate_limited", [OUT_REFUSED] = "refused", [OUT_STATUS] = "status",
        [OUT_TIMEOUT] = "timeout", [OUT_NETWORK] = "network",      [OUT_BODY] = "bad_answer",
    };
    return names[o];
}

const char *cd__price_outcome_name(u32 o)
{
    return outcome_name((outcome)o);
}

/* --- queues --- */

static u64 queue_hash(const cd_prices *p, const cd__price_entry *e)
{
    return cd_siphash13(p->sipkey, cd__price_currency(e));
}

static void queue_due(cd_prices *p, cd__price_queue *queue, u64 at_ns)
{
    queue->due_ns = cd_min_u64(queue->due_ns, at_ns);
    p->queues_due_ns = cd_min_u64(p->queues_due_ns, at_ns);
}

static void queue_at(cd_prices *p, cd__price_entry *e, u64 at_ns)
{
    u64 hash = queue_hash(p, e);
    cd__price_queue **at = cd_hmap_put(&p->queues, NULL, &hash);
    if (*at == NULL) {
        cd__price_queue *fresh = cd_new(cd__price_queue);
        fresh->hash = hash;
        fresh->due_ns = UINT64_MAX;
        for (usize i = 0; i < CD_COUNT(fresh->entries); i++) {
            cd_list_init(&fresh->entries[i]);
        }
        cd_list_push_back(&p->queue_list, &fresh->link);
        *at = fresh;
    }
    cd__price_queue *queue = *at;
    cd_list_push_back(&queue->entries[e->kind == CD__PRICE_THERE ? CD__PRICE_KNOWN : e->rank], &e->queued);
    queue->cnt++;
    e->phase = CD__PRICE_QUEUED;
    queue_due(p, queue, at_ns);
}

void cd__prices_queue(cd_prices *p, cd__price_entry *e, u64 now_ns)
{
    u64 window = p->cfg.batch_window_ms == CD_PRICES_NO_WINDOW ? 0 : p->cfg.batch_window_ms * CD_NS_PER_MS;
    queue_at(p, e, now_ns + window);
}

static void queue_drop(cd_prices *p, cd__price_queue *queue)
{
    (void)cd_hmap_del(&p->queues, &queue->hash);
    cd_list_del(&queue->link);
    cd_free(queue);
}

void cd__prices_unqueue(cd_prices *p, cd__price_entry *e)
{
    u64 hash = queue_hash(p, e);
    cd__price_queue **at = cd_hmap_get(&p->queues, &hash);
    CD_ASSERT(at != NULL && e->phase == CD__PRICE_QUEUED);
    cd__price_queue *queue = *at;
    cd_list_del(&e->queued);
    e->phase = CD__PRICE_IDLE;
    if (--queue->cnt == 0) {
        queue_drop(p, queue);
    }
}

/* --- what comes of a job --- */

/* e leaves its job; it may be gone afterwards. */
static void release(cd_prices *p, cd__price_entry *e, cd_price_state state, u32 retry_after_s)
{
    e->job = NULL;
    e->has_waited = false;
    e->phase = CD__PRICE_IDLE;
    cd__prices_settle(p, e, state, retry_after_s);
    cd__price_tidy(p, e);
}

static u32 seconds_of(u64 ns)
{
    u64 s = (ns + CD_NS_PER_SEC - 1) / CD_NS_PER_SEC;
    return s == 0 ? 1 : s > UINT32_MAX ? UINT32_MAX : (u32)s;
}

/* What to answer of e when it cannot be fetched. */
static cd_price_state fallback_of(const cd__price_entry *e, cd_price_state otherwise)
{
    return e->kind == CD__PRICE_THERE ? CD_PRICE_STALE : e->kind == CD__PRICE_UNKNOWN ? CD_PRICE_UNKNOWN : otherwise;
}

/* The keys of a job's entries in the shared store: "usd/bitcoin". */
static void share_keys(const cd__price_job *job, cd_arena *mem, cd_bytes *keys)
{
    for (usize i = 0; i < job->cnt; i++) {
        cd_bytes id = cd__price_id(job->entries[i]);
        cd_bytes currency = cd__price_currency(job->entries[i]);
        keys[i] = cd_bytes_str(
            cd_arena_fmt(mem, "%.*s/%.*s", (int)currency.n, (const char *)currency.p, (int)id.n, (const char *)id.p));
    }
}

static void share_drop(cd__price_job *job)
{
    if (job->has_claims) {
        cd_arena mem = {0};
        cd_bytes keys[CD_MARKET_IDS_MAX];
        share_keys(job, &mem, keys);
        job->prices->share.drop(job->prices->share.ctx, keys, job->cnt);
        cd_arena_fini(&mem);
        job->has_claims = false;
    }
}

static void share_put(cd__price_job *job)
{
    cd_prices *p = job->prices;
    if (!job->has_claims) {
        return;
    }
    cd_arena mem = {0};
    cd_bytes keys[CD_MARKET_IDS_MAX];
    cd_bytes values[CD_MARKET_IDS_MAX] = {0};
    cd_buf buf = {0};
    share_keys(job, &mem, keys);
    for (usize i = 0; i < job->cnt; i++) {
        if (cd__price_is_fresh(p, job->entries[i], cd__prices_now(p))) {
            cd_buf_clear(&buf);
            cd__price_record_enc(p, &buf, job->entries[i]);
            values[i] = cd_arena_dup(&mem, cd_buf_bytes(&buf));
        }
    }
    p->share.put(p->share.ctx, keys, values, job->cnt, p->cfg.ttl_s * (u64)1000);
    cd_buf_fini(&buf);
    cd_arena_fini(&mem);
    job->has_claims = false;
}

static void job_free(cd__price_job *job)
{
    for (usize i = 0; i < CD_COUNT(job->calls); i++) {
        cd_arena_fini(&job->calls[i].mem);
    }
    cd_list_del(&job->link);
    cd_free(job);
}

/* Nobody brought anything: every entry is answered as well as it can be. */
static void job_fail(cd__price_job *job, cd_price_state otherwise, u32 retry_after_s)
{
    cd_prices *p = job->prices;
    share_drop(job);
    for (usize i = 0; i < job->cnt; i++) {
        cd__price_entry *e = job->entries[i];
        if (job->was_refused) {
            cd__price_store_unknown(p, e);
        }
        release(p, e, fallback_of(e, otherwise), retry_after_s);
    }
    job_free(job);
}

/* Back into the queue, to wait for the budget; who has an old price gets that. */
static void job_wait(cd__price_job *job, u64 at_ns)
{
    cd_prices *p = job->prices;
    share_drop(job);
    for (usize i = 0; i < job->cnt; i++) {
        cd__price_entry *e = job->entries[i];
        e->job = NULL;
        if (e->kind != CD__PRICE_EMPTY) {
            cd__prices_settle(p, e, fallback_of(e, CD_PRICE_BUSY), 1);
        }
        queue_at(p, e, at_ns);
    }
    job_free(job);
}

static int by_price(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *v, usize n)
{
    qsort(v, n, sizeof *v, by_price);
    return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The row of entry i: the preferred provider's; with three or more answers its price is the median of those that lie
 * near the median of all. NULL: nobody named it. */
static const cd_market_row *row_of(const cd__price_job *job, cd_market_row *mixed, u8 *source, usize i)
{
    const cd_market_row *first = NULL;
    double prices[CD_PRICES_PROVIDERS_MAX];
    usize cnt = 0;
    for (usize k = 0; k < job->prices->providers_cnt; k++) {
        const call *c = &job->calls[k];
        if (c->is_good && c->rows[i] != NULL) {
            if (first == NULL) {
                first = c->rows[i];
                *source = (u8)k;
            }
            prices[cnt++] = c->rows[i]->price;
        }
    }
    if (!job->prices->cfg.median || cnt < MEDIAN_OF) {
        return first;
    }
    double middle = median_of(prices, cnt);
    usize near = 0;
    for (usize k = 0; k < cnt; k++) {
        if (fabs(prices[k] - middle) <= fabs(middle) * OUTLIER) {
            prices[near++] = prices[k];
        }
    }
    *mixed = *first;
    mixed->price = near == 0 ? middle : median_of(prices, near);
    *source = cd__price_source(job->prices, cd_bytes_str("median"));
    return mixed;
}

static void job_done(cd__price_job *job)
{
    cd_prices *p = job->prices;
    u64 wall_ns = cd_clock_wall_ns(p->clock);
    for (usize i = 0; i < job->cnt; i++) {
        cd__price_entry *e = job->entries[i];
        cd_market_row mixed;
        u8 source = 0;
        const cd_market_row *row = row_of(job, &mixed, &source, i);
        if (row != NULL) {
            cd__price_store(p, e, row, source, wall_ns, 0);
        } else {
            cd__price_store_unknown(p, e);
        }
    }
    share_put(job);
    for (usize i = 0; i < job->cnt; i++) {
        cd__price_entry *e = job->entries[i];
        bool is_there = cd__price_is_fresh(p, e, cd__prices_now(p));
        release(p, e, is_there ? CD_PRICE_FETCHED : fallback_of(e, CD_PRICE_UNKNOWN), 0);
    }
    job_free(job);
}

/* --- calls --- */

static void job_next(cd__price_job *job);

/* Reads a body: rows by entry. */
static bool read_rows(call *c, cd_bytes body)
{
    cd__price_job *job = c->job;
    const cd_market_row *rows;
    usize cnt;
    if (cd_market_parse(&rows, &cnt, &c->mem, body, NULL) != CD_OK) {
        return false;
    }
    c->rows = cd_arena_array(&c->mem, const cd_market_row *, job->cnt);
    cd_bytes currency = cd__price_currency(job->entries[0]);
    for (usize i = 0; i < cnt; i++) {
        char id[CD_PRICE_NAME_MAX];
        if (!cd_price_name_fold(id, rows[i].id)) {
            continue;
        }
        cd__price_entry *e = cd__price_find(job->prices, cd_bytes_of(id, rows[i].id.n), currency);
        if (e != NULL && e->job == job && c->rows[e->job_idx] == NULL) {
            c->rows[e->job_idx] = &rows[i];
        }
    }
    return true;
}

/* How long the provider wants to be left alone; 0: it did not say. */
static u64 stay_ns(const cd_prices *p, cd_bytes retry_after)
{
    u64 s;
    if (cd_u64_parse(&s, retry_after) == CD_OK) {
        return cd_min_u64(s, UINT32_MAX) * CD_NS_PER_SEC;
    }
    u64 now_s = cd_clock_wall_s(p->clock);
    if (cd_http_date_parse(&s, retry_after) == CD_OK && s > now_s) {
        return cd_min_u64(s - now_s, UINT32_MAX) * CD_NS_PER_SEC;
    }
    return 0;
}

static outcome outcome_of(call *c, const cd_prices_result *r)
{
    if (r->err != CD_OK) {
        return r->err == CD_ETIMEOUT ? OUT_TIMEOUT : r->err == CD_ELIMIT ? OUT_BODY : OUT_NETWORK;
    }
    if (r->status == STATUS_OK) {
        return read_rows(c, r->body) ? OUT_OK : OUT_BODY;
    }
    return r->status == STATUS_LIMITED ? OUT_LIMITED : r->status == 400 || r->status == 422 ? OUT_REFUSED : OUT_STATUS;
}

static void learn(cd_prices *p, cd__price_provider *to, outcome o, const cd_prices_result *r)
{
    u64 now_ns = cd__prices_now(p);
    switch (o) {
    case OUT_OK:
        cd_gate_good(&to->gate);
        to->last_ok_wall_ns = cd_clock_wall_ns(p->clock);
        p->is_ready = true;
        break;
    case OUT_LIMITED:
        cd_gate_limited(&to->gate, now_ns, stay_ns(p, r->retry_after));
        break;
    case OUT_REFUSED:
        cd_gate_void(&to->gate);
        break;
    case OUT_STATUS:
        cd_gate_bad(&to->gate, now_ns, r->status == STATUS_UNAVAILABLE ? stay_ns(p, r->retry_after) : 0);
        break;
    case OUT_TIMEOUT:
    case OUT_NETWORK:
    case OUT_BODY:
        cd_gate_bad(&to->gate, now_ns, 0);
        break;
    case OUT_CNT:
        CD_UNREACHABLE();
    }
    if (to->breaker != NULL) {
        cd_gauge_set(to->breaker, (i64)to->gate.breaker);
    }
    if (o != OUT_OK) {
        to->calls_failed++;
        cd_log_warn(p->cfg.log, "provider failed", CD_F("provider", to->cfg.name), CD_F("outcome", outcome_name(o)),
                    CD_F("status", r->status), CD_F("failures", to->gate.failures));
    }
}

static void on_result(void *ctx, const cd_prices_result *r)
{
    call *c = ctx;
    cd__price_job *job = c->job;
    cd_prices *p = job->prices;
    cd__price_provider *to = &p->providers[c - job->calls];
    u64 took_ns = cd__prices_now(p) - c->begin_ns;
    outcome o = outcome_of(c, r);
    c->handle = NULL;
    c->is_good = o == OUT_OK;
    to->calls_now--;
    to->last_ms = (u32)cd_min_u64(took_ns / CD_NS_PER_MS, UINT32_MAX);
    if (p->m_seconds != NULL) {
        cd_hist_add(p->m_seconds, took_ns);
        cd_counter_add(p->m_outcomes[o], 1);
    }
    learn(p, to, o, r);
    job->has_failed |= o != OUT_OK && o != OUT_LIMITED && o != OUT_REFUSED;
    job->was_refused |= o == OUT_REFUSED;
    if (--job->pending == 0) {
        job_next(job);
    }
    cd__prices_flush(p);
}

static void call_begin(cd__price_job *job, usize k, u64 now_ns)
{
    cd_prices *p = job->prices;
    cd__price_provider *to = &p->providers[k];
    call *c = &job->calls[k];
    cd_buf url = {0};
    cd_bytes ids[CD_MARKET_IDS_MAX];
    for (usize i = 0; i < job->cnt; i++) {
        ids[i] = cd__price_id(job->entries[i]);
    }
    cd_buf_str(&url, to->cfg.base);
    cd_market_target(&url, cd__price_currency(job->entries[0]), ids, job->cnt);
    cd_gate_enter(&to->gate, now_ns);
    if (to->breaker != NULL) {
        cd_gauge_set(to->breaker, (i64)to->gate.breaker);
    }
    to->calls++;
    to->calls_now++;
    c->job = job;
    c->begin_ns = now_ns;
    c->is_tried = true;
    job->pending++;
    c->handle = p->net.get(p->net.ctx, cd_buf_cstr(&url), &to->cfg, on_result, c);
    cd_buf_fini(&url);
}

/* Nobody waits for what is refreshed behind or early, so it leaves one token for who does. */
static double spare_of(const cd__price_job *job)
{
    for (usize i = 0; i < job->cnt; i++) {
        if (!cd_list_is_empty(&job->entries[i]->waits)) {
            return 0;
        }
    }
    return 1;
}

/* Begins the next call, or all of them (median); ends the job when there is none to make. */
static void job_next(cd__price_job *job)
{
    cd_prices *p = job->prices;
    u64 now_ns = cd__prices_now(p);
    double spare = spare_of(job);
    u64 token_ns = UINT64_MAX;
    u64 free_ns = UINT64_MAX;
    bool has_answer = false;
    for (usize k = 0; k < p->providers_cnt; k++) {
        has_answer |= job->calls[k].is_good;
    }
    bool goes_on = !has_answer;
    for (usize k = 0; k < p->providers_cnt && goes_on; k++) {
        u64 wait_ns;
        cd_gate_verdict v = cd_gate_ask(&p->providers[k].gate, &wait_ns, now_ns, spare);
        if (!job->calls[k].is_tried && v == CD_GATE_FREE) {
            call_begin(job, k, now_ns);
            goes_on = p->cfg.median;
            continue;
        }
        free_ns = cd_min_u64(free_ns, wait_ns);
        if (!job->calls[k].is_tried && v == CD_GATE_NO_TOKEN) {
            token_ns = cd_min_u64(token_ns, wait_ns);
        }
    }
    if (job->pending != 0) {
        return;
    }
    if (has_answer) {
        job_done(job);
    } else if (token_ns != UINT64_MAX && !job->has_failed && !job->was_refused) {
        job_wait(job, now_ns + token_ns);
    } else {
        job_fail(job,
                 job->was_refused  ? CD_PRICE_UNKNOWN
                 : job->has_failed ? CD_PRICE_FAILED
                                   : CD_PRICE_BUSY,
                 free_ns == UINT64_MAX ? 1 : seconds_of(free_ns));
    }
}

/* --- the shared store --- */

static void on_taken(void *ctx, const cd_share_taken *taken)
{
    cd__price_job *job = ctx;
    cd_prices *p = job->prices;
    u64 now_ns = cd__prices_now(p);
    usize mine = 0;
    job->has_claims = taken != NULL;
    for (usize i = 0; i < job->cnt; i++) {
        cd__price_entry *e = job->entries[i];
        cd_share_verdict v = taken == NULL ? CD_SHARE_MINE : taken[i].verdict;
        if (v == CD_SHARE_FRESH && cd__price_record_take(p, e, taken[i].value) && cd__price_is_fresh(p, e, now_ns)) {
            release(p, e, e->has_waited ? CD_PRICE_FETCHED : CD_PRICE_HIT, 0);
        } else if (v == CD_SHARE_THEIRS) {
            e->job = NULL;
            e->has_waited = true;
            if (e->kind == CD__PRICE_THERE) { /* who fetches it may be slow, or dead */
                cd__prices_settle(p, e, CD_PRICE_STALE, 0);
            }
            queue_at(p, e, now_ns + SHARE_LOOK_NS);
        } else {
            e->job_idx = (u16)mine;
            job->entries[mine++] = e;
        }
    }
    job->cnt = mine;
    if (mine == 0) {
        job_free(job);
    } else {
        job_next(job);
    }
    cd__prices_flush(p);
}

static void job_begin(cd__price_job *job)
{
    cd_prices *p = job->prices;
    if (p->has_share && p->share.is_there(p->share.ctx)) {
        cd_arena mem = {0};
        cd_bytes keys[CD_MARKET_IDS_MAX];
        share_keys(job, &mem, keys);
        p->share.take(p->share.ctx, keys, job->cnt, on_taken, job);
        cd_arena_fini(&mem);
    } else {
        job_next(job);
    }
}

/* --- from queues to jobs --- */

cd_gate_verdict cd__prices_gate(cd_prices *p, u64 *wait_ns, u64 now_ns)
{
    cd_gate_verdict best = CD_GATE_BLOCKED;
    *wait_ns = UINT64_MAX;
    for (usize k = 0; k < p->providers_cnt; k++) {
        u64 ns;
        cd_gate_verdict v = cd_gate_ask(&p->providers[k].gate, &ns, now_ns, 0);
        best = v < best ? v : best;
        *wait_ns = cd_min_u64(*wait_ns, ns);
    }
    return best;
}

static cd__price_entry *queue_first(const cd__price_queue *queue)
{
    usize i = 0;
    while (cd_list_is_empty(&queue->entries[i])) {
        i++;
    }
    return cd_list_of(queue->entries[i].next, cd__price_entry, queued);
}

/* One job out of the entries in front. */
static cd__price_job *job_of(cd_prices *p, cd__price_queue *queue)
{
    cd__price_job *job = cd_new(cd__price_job);
    usize bytes = 0;
    job->prices = p;
    while (queue->cnt != 0 && job->cnt < CD_MARKET_IDS_MAX) {
        cd__price_entry *e = queue_first(queue);
        bytes += e->id_n + (usize)1;
        if (bytes > CD_MARKET_IDS_BYTES_MAX) {
            break;
        }
        cd_list_del(&e->queued);
        queue->cnt--;
        e->phase = CD__PRICE_TAKEN;
        e->job = job;
        e->job_idx = (u16)job->cnt;
        job->entries[job->cnt++] = e;
    }
    cd_list_push_back(&p->jobs, &job->link);
    return job;
}

static void queue_run(cd_prices *p, cd__price_queue *queue)
{
    cd_list jobs;
    cd_list_init(&jobs);
    /* All jobs are made before the first begins: what a job cannot do goes back into a queue. */
    while (queue->cnt != 0) {
        cd__price_job *job = job_of(p, queue);
        cd_list_del(&job->link);
        cd_list_push_back(&jobs, &job->link);
    }
    queue_drop(p, queue);
    while (!cd_list_is_empty(&jobs)) {
        cd__price_job *job = cd_list_of(jobs.next, cd__price_job, link);
        cd_list_del(&job->link);
        cd_list_push_back(&p->jobs, &job->link);
        job_begin(job);
    }
}

void cd__prices_fetch_run(cd_prices *p, u64 now_ns)
{
    if (p->queues_due_ns > now_ns) {
        return;
    }
    cd_list due;
    cd_list_init(&due);
    p->queues_due_ns = UINT64_MAX;
    cd_list_each_safe(it, &p->queue_list)
    {
        cd__price_queue *queue = cd_list_of(it, cd__price_queue, link);
        if (queue->due_ns <= now_ns || queue->cnt >= CD_MARKET_IDS_MAX) {
            cd_list_del(it);
            cd_list_push_back(&due, it);
        } else {
            p->queues_due_ns = cd_min_u64(p->queues_due_ns, queue->due_ns);
        }
    }
    while (!cd_list_is_empty(&due)) {
        queue_run(p, cd_list_of(due.next, cd__price_queue, link));
    }
}

void cd__prices_fetch_fini(cd_prices *p)
{
    cd_list_each_safe(it, &p->jobs)
    {
        cd__price_job *job = cd_list_of(it, cd__price_job, link);
        for (usize k = 0; k < CD_COUNT(job->calls); k++) {
            if (job->calls[k].handle != NULL) {
                p->net.cancel(p->net.ctx, job->calls[k].handle);
            }
        }
        job_free(job);
    }
    cd_list_each_safe(queue, &p->queue_list)
    {
        cd_free(cd_list_of(queue, cd__price_queue, link));
    }
    cd_hmap_fini(&p->queues);
}
