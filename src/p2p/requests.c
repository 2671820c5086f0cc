#include "p2p/requests.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "p2p/average.h"
#include "p2p/message.h"

/* An answer that is awaited. The heap has the earliest deadline first; of equal deadlines the older request. */
typedef struct pending {
    cd_p2p_request r;
    u64 began_ns;
    u64 deadline_ns;
    u64 number;
    usize place; /* index in the heap */
    bool counts;
} pending;

/* A node on a chain. */
typedef struct seat {
    cd_hash32 chain;
    cd_node_id node;
} seat;

typedef struct streak {
    u64 first_ns; /* when the first of the failures was (monotonic) */
    u32 failures;
} streak;

struct cd_p2p_requests {
    cd_p2p_requests_cfg cfg;
    cd_hmap by_request; /* cd_p2p_request -> pending * */
    pending **heap;
    usize heap_cnt;
    usize heap_cap;
    u64 number;
    cd_hmap streaks;        /* seat -> streak; for validators only */
    cd_hmap benched;        /* seat -> u64, when the bench ends */
    cd_p2p_average latency; /* average in nanoseconds */
    u64 timeout_ns;
};

static void set_default(u64 *v, u64 def)
{
    *v = *v != 0 ? *v : def;
}

/* --- the average --- */

static void observe(cd_p2p_requests *q, u64 latency_ns, u64 now_ns)
{
    cd_p2p_average_add(&q->latency, (double)latency_ns, now_ns);
    double timeout = q->cfg.coefficient * cd_p2p_average_of(&q->latency);
    q->timeout_ns = timeout >= (double)q->cfg.timeout_max_ns   ? q->cfg.timeout_max_ns
                    : timeout <= (double)q->cfg.timeout_min_ns ? q->cfg.timeout_min_ns
                                                               : (u64)timeout;
}

void cd_p2p_requests_unsent(cd_p2p_requests *q, u64 now_ns)
{
    observe(q, q->timeout_ns, now_ns);
}

u64 cd_p2p_requests_timeout(const cd_p2p_requests *q)
{
    return q->timeout_ns;
}

/* --- the heap --- */

static bool is_before(const pending *a, const pending *b)
{
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->number < b->number;
}

static void heap_set(cd_p2p_requests *q, usize i, pending *p)
{
    q->heap[i] = p;
    p->place = i;
}

/* Puts p at i, or where it belongs above or below i. */
static void heap_settle(cd_p2p_requests *q, usize i, pending *p)
{
    while (i != 0 && is_before(p, q->heap[(i - 1) / 2])) {
        heap_set(q, i, q->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (usize child; (child = 2 * i + 1) < q->heap_cnt; i = child) {
        child += child + 1 < q->heap_cnt && is_before(q->heap[child + 1], q->heap[child]);
        if (!is_before(q->heap[child], p)) {
            break;
        }
        heap_set(q, i, q->heap[child]);
    }
    heap_set(q, i, p);
}

static void heap_push(cd_p2p_requests *q, pending *p)
{
    if (q->heap_cnt == q->heap_cap) {
        q->heap_cap = q->heap_cap == 0 ? 64 : 2 * q->heap_cap;
        q->heap = cd_realloc(q->heap, q->heap_cap * sizeof *q->heap);
    }
    heap_settle(q, q->heap_cnt++, p);
}

static void forget(cd_p2p_requests *q, pending *p)
{
    pending *last = q->heap[--q->heap_cnt];
    if (last != p) {
        heap_settle(q, p->place, last);
    }
    (void)cd_hmap_del(&q->by_request, &p->r);
    cd_free(p);
}

/* --- the bench --- */

/* Keys of maps are compared by their bytes: neither type may have padding. */
_Static_assert(sizeof(seat) == 52 && sizeof(cd_p2p_request) == 60, "keys of maps have no padding");

static seat seat_of(const cd_hash32 *chain, const cd_node_id *node)
{
    return (seat){.chain = *chain, .node = *node};
}

/* The total stake of the nodes that are benched on a chain. */
static u64 benched_stake(const cd_p2p_requests *q, const cd_hash32 *chain)
{
    u64 sum = 0;
    const void *key;
    for (usize it = 0; cd_hmap_next(&q->benched, &it, &key, NULL);) {
        seat s;
        memcpy(&s, key, sizeof s);
        sum += cd_hash32_eq(&s.chain, chain) ? q->cfg.weight(q->cfg.ctx, chain, &s.node) : 0;
    }
    return sum;
}

static void bench(cd_p2p_requests *q, const cd_p2p_request *r, u64 weight, cd_rng *rng, u64 now_ns)
{
    seat s = seat_of(&r->chain, &r->node);
    double most = q->cfg.bench_stake * (double)q->cfg.total(q->cfg.ctx, &r->chain);
    if ((double)benched_stake(q, &r->chain) + (double)weight > most) {
        return;
    }
    u64 half = q->cfg.bench_max_ns / 2;
    u64 *until = cd_hmap_put(&q->benched, NULL, &s);
    *until = now_ns + half + cd_rng_below(rng, half + 1);
    (void)cd_hmap_del(&q->streaks, &s);
    q->cfg.benched(q->cfg.ctx, &r->chain, &r->node, true);
}

static void count_failure(cd_p2p_requests *q, const cd_p2p_request *r, cd_rng *rng, u64 now_ns)
{
    seat s = seat_of(&r->chain, &r->node);
    u64 weight = q->cfg.weight(q->cfg.ctx, &r->chain, &r->node);
    /* These failures do not count: a VM may take its time, and a node without stake is asked little. */
    if (r->response == CD_P2P_APP_RESPONSE || weight == 0 || cd_hmap_get(&q->benched, &s) != NULL) {
        if (weight == 0) {
            (void)cd_hmap_del(&q->streaks, &s); /* from a time when it had stake */
        }
        return;
    }
    streak *k = cd_hmap_put(&q->streaks, NULL, &s);
    k->first_ns = k->failures == 0 ? now_ns : k->first_ns;
    k->failures++;
    if (k->failures >= q->cfg.bench_failures && now_ns - k->first_ns > q->cfg.bench_after_ns) {
        bench(q, r, weight, rng, now_ns);
    }
}

bool cd_p2p_requests_is_benched(const cd_p2p_requests *q, const cd_hash32 *chain, const cd_node_id *node)
{
    seat s = seat_of(chain, node);
    return cd_hmap_get(&q->benched, &s) != NULL;
}

void cd_p2p_requests_benches(const cd_p2p_requests *q, const cd_node_id *node,
                             void (*fn)(void *ctx, const cd_hash32 *chain), void *ctx)
{
    const void *key;
    for (usize it = 0; cd_hmap_next(&q->benched, &it, &key, NULL);) {
        seat s;
        memcpy(&s, key, sizeof s);
        if (memcmp(&s.node, node, sizeof *node) == 0) {
            fn(ctx, &s.chain);
        }
    }
}

/* Ends the earliest of the benches whose time is over, so that the order is the same in every process. False: there is
 * none, and *next is lowered to the end of the earliest bench. */
static bool end_bench(cd_p2p_requests *q, u64 now_ns, u64 *next)
{
    seat first = {.chain = {{0}}};
    u64 first_ns = UINT64_MAX;
    const void *key;
    void *val;
    for (usize it = 0; cd_hmap_next(&q->benched, &it, &key, &val);) {
        u64 until;
        memcpy(&until, val, sizeof until);
        if (until < first_ns || (until == first_ns && memcmp(key, &first, sizeof first) < 0)) {
            first_ns = until;
            memcpy(&first, key, sizeof first);
        }
    }
    if (first_ns > now_ns) {
        *next = cd_min_u64(*next, first_ns);
        return false;
    }
    (void)cd_hmap_del(&q->benched, &first);
    q->cfg.benched(q->cfg.ctx, &first.chain, &first.node, false);
    return true;
}

/* --- requests --- */

static pending *find(const cd_p2p_requests *q, const cd_p2p_request *r)
{
    pending **p = cd_hmap_get(&q->by_request, r);
    return p == NULL ? NULL : *p;
}

cd_err cd_p2p_requests_add(cd_p2p_requests *q, u64 *timeout_ns, const cd_p2p_request *r, bool counts, u64 now_ns)
{
    if (cd_p2p_requests_is_benched(q, &r->chain, &r->node)) {
        return CD_EBUSY;
    }
    if (find(q, r) != NULL) {
        return CD_EEXIST;
    }
    if (q->heap_cnt >= q->cfg.pending_max) {
        return CD_EFULL;
    }
    pending *p = cd_new(pending);
    *p = (pending){
        .r = *r, .began_ns = now_ns, .deadline_ns = now_ns + q->timeout_ns, .number = q->number++, .counts = counts};
    *(pending **)cd_hmap_put(&q->by_request, NULL, r) = p;
    heap_push(q, p);
    *timeout_ns = q->timeout_ns;
    return CD_OK;
}

bool cd_p2p_requests_answer(cd_p2p_requests *q, const cd_p2p_request *r, u64 now_ns)
{
    pending *p = find(q, r);
    seat s = seat_of(&r->chain, &r->node);
    if (p == NULL) {
        return false;
    }
    if (p->counts) {
        observe(q, now_ns - p->began_ns, now_ns);
    }
    (void)cd_hmap_del(&q->streaks, &s);
    forget(q, p);
    return true;
}

u64 cd_p2p_requests_tick(cd_p2p_requests *q, cd_rng *rng, u64 now_ns)
{
    u64 next = UINT64_MAX;
    while (q->heap_cnt != 0 && q->heap[0]->deadline_ns <= now_ns) {
        pending *p = q->heap[0];
        cd_p2p_request r = p->r;
        if (p->counts) {
            observe(q, now_ns - p->began_ns, now_ns);
        }
        forget(q, p);
        count_failure(q, &r, rng, now_ns);
        q->cfg.failed(q->cfg.ctx, &r);
    }
    while (end_bench(q, now_ns, &next)) {
    }
    return q->heap_cnt == 0 ? next : cd_min_u64(next, q->heap[0]->deadline_ns);
}

u64 cd_p2p_requests_longest(const cd_p2p_requests *q, u64 now_ns)
{
    u64 began = now_ns;
    for (usize i = 0; i < q->heap_cnt; i++) {
        began = cd_min_u64(began, q->heap[i]->began_ns);
    }
    return now_ns - began;
}

usize cd_p2p_requests_cnt(const cd_p2p_requests *q)
{
    return q->heap_cnt;
}

/* --- life --- */

cd_p2p_requests *cd_p2p_requests_new(const cd_p2p_requests_cfg *cfg, u64 now_ns)
{
    cd_p2p_requests *q = cd_new(cd_p2p_requests);
    q->cfg = *cfg;
    set_default(&q->cfg.timeout_min_ns, 2 * CD_NS_PER_SEC);
    set_default(&q->cfg.timeout_max_ns, 10 * CD_NS_PER_SEC);
    set_default(&q->cfg.timeout_first_ns, 5 * CD_NS_PER_SEC);
    set_default(&q->cfg.half_ns, 300 * CD_NS_PER_SEC);
    set_default(&q->cfg.bench_after_ns, 150 * CD_NS_PER_SEC);
    set_default(&q->cfg.bench_max_ns, 900 * CD_NS_PER_SEC);
    q->cfg.coefficient = cfg->coefficient != 0 ? cfg->coefficient : 2;
    q->cfg.bench_stake = cfg->bench_stake != 0 ? cfg->bench_stake : 0.1;
    q->cfg.bench_failures = cfg->bench_failures != 0 ? cfg->bench_failures : 10;
    q->cfg.pending_max = cfg->pending_max != 0 ? cfg->pending_max : 65536;
    cd_hmap_init(&q->by_request, CD_HASH_KEYED, sizeof(cd_p2p_request), sizeof(pending *));
    cd_hmap_init(&q->streaks, CD_HASH_KEYED, sizeof(seat), sizeof(streak));
    cd_hmap_init(&q->benched, CD_HASH_KEYED, sizeof(seat), sizeof(u64));
    cd_p2p_average_init(&q->latency, (double)q->cfg.timeout_first_ns, q->cfg.half_ns, now_ns);
    q->timeout_ns = q->cfg.timeout_first_ns;
    return q;
}

void cd_p2p_requests_free(cd_p2p_requests *q)
{
    if (q == NULL) {
        return;
    }
    while (q->heap_cnt != 0) {
        forget(q, q->heap[q->heap_cnt - 1]);
    }
    cd_free(q->heap);
    cd_hmap_fini(&q->by_request);
    cd_hmap_fini(&q->streaks);
    cd_hmap_fini(&q->benched);
    cd_free(q);
}
