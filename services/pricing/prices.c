#include "services/pricing/prices.h"

#include "base/mem/mem.h"
#include "base/text.h"
#include "services/pricing/prices_priv.h"

enum {
    STACK_ITEMS = 4,
    TTL_S = 3600,
    NEGATIVE_TTL_S = 60,
    TIMEOUT_MS = 30000,
    BATCH_WINDOW_MS = 5,
    ENTRIES_MAX = 100000,
    WAITING_MAX = 100000,
    RATE_PER_MIN = 30,
    NEW_IDS_PART = 4,    /* of what providers bring in a minute, for one client; and of that at once */
    CLIENTS_MAX = 10000, /* whose budgets are remembered */
    FEW = 25,            /* ids of a request that asks for little */
    SWEEPS = 40,         /* looks for what to refresh early, in one time to live */
};

/* --- names --- */

static bool is_name_char(u8 c, bool is_first)
{
    bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    return is_alnum || (!is_first && (c == '.' || c == '_' || c == '-'));
}

bool cd__price_is_name(cd_bytes text)
{
    if (text.n == 0 || text.n > CD_PRICE_NAME_MAX) {
        return false;
    }
    for (usize i = 0; i < text.n; i++) {
        if (!is_name_char(text.p[i], i == 0)) {
            return false;
        }
    }
    return true;
}

bool cd_price_name_fold(char out[CD_PRICE_NAME_MAX], cd_bytes text)
{
    if (text.n == 0 || text.n > CD_PRICE_NAME_MAX) {
        return false;
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        c = c >= 'A' && c <= 'Z' ? (u8)(c + ('a' - 'A')) : c;
        if (!is_name_char(c, i == 0)) {
            return false;
        }
        out[i] = (char)c;
    }
    return true;
}

/* --- life --- */

static char *dup_str(const char *s)
{
    usize n = strlen(s) + 1;
    return memcpy(cd_alloc(n), s, n);
}

static void metrics_open(cd_prices *p, cd_metrics *m)
{
    static const u64 bounds_ms[] = {5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000};
    static const char *const results[] = {"hit", "miss", "stale", "negative"};
    cd_counter **const counters[] = {&p->m_hit, &p->m_miss, &p->m_stale, &p->m_negative};
    u64 bounds[CD_COUNT(bounds_ms)];
    for (usize i = 0; i < CD_COUNT(results); i++) {
        const cd_label label = {"result", results[i]};
        *counters[i] = cd_metrics_counter(m, "cache_total", "Prices asked for, by how they were found", &label, 1);
    }
    for (u32 i = 0; i < CD__PRICE_OUTCOMES; i++) {
        const cd_label label = {"outcome", cd__price_outcome_name(i)};
        p->m_outcomes[i] =
            cd_metrics_counter(m, "upstream_requests_total", "Calls to providers, by how they ended", &label, 1);
    }
    for (usize i = 0; i < CD_COUNT(bounds); i++) {
        bounds[i] = bounds_ms[i] * CD_NS_PER_MS;
    }
    p->m_seconds = cd_metrics_hist(m, "upstream_seconds", "How long calls to providers took", NULL, 0, bounds,
                                   CD_COUNT(bounds), 1e9);
    p->m_entries = cd_metrics_gauge(m, "cache_entries", "Prices in the cache", NULL, 0);
    for (usize i = 0; i < p->providers_cnt; i++) {
        const cd_label label = {"provider", p->providers[i].cfg.name};
        p->providers[i].breaker =
            cd_metrics_gauge(m, "breaker_state", "0 closed, 1 open, 2 one call on trial", &label, 1);
    }
}

static void providers_open(cd_prices *p, const cd_prices_cfg *cfg)
{
    CD_ASSERT(cfg->providers_cnt <= CD_PRICES_PROVIDERS_MAX);
    for (usize i = 0; i < cfg->providers_cnt; i++) {
        const cd_prices_provider *from = &cfg->providers[i];
        cd__price_provider *to = &p->providers[i];
        to->cfg = (cd_prices_provider){
            .name = dup_str(from->name),
            .base = dup_str(from->base),
            .key_header = from->key_header == NULL ? NULL : dup_str(from->key_header),
            .key = from->key == NULL ? NULL : dup_str(from->key),
            .rate_per_min = from->rate_per_min != 0 ? from->rate_per_min : RATE_PER_MIN,
        };
        cd_gate_init(&to->gate, to->cfg.rate_per_min, cd__prices_now(p), cfg->seed + i);
        /* A provider's number is its source's. */
        p->sources[p->sources_cnt++] = dup_str(from->name);
    }
    p->providers_cnt = cfg->providers_cnt;
}

static void statics_open(cd_prices *p, const cd_prices_cfg *cfg)
{
    for (usize i = 0; i < cfg->statics_cnt; i++) {
        const cd_prices_static *s = &cfg->statics[i];
        CD_ASSERT(cd__price_is_name(s->id) && cd__price_is_name(s->currency));
        cd__price_entry *e = cd__price_make(p, s->id, s->currency);
        const cd_market_row row = {.symbol = s->id, .name = s->id, .price = s->price};
        if (e->kind != CD__PRICE_STATIC) {
            e->kind = CD__PRICE_STATIC;
            cd_list_push_back(&p->statics, &e->lru);
        }
        cd__price_store(p, e, &row, cd__price_source(p, cd_bytes_str("static")), p->started_wall_ns, 0);
    }
}

/* Ids that a client may still ask for the first time. */
typedef struct client {
    double left;
    u64 at_ns;
} client;

static void client_drop(void *ctx, void *val)
{
    (void)ctx;
    cd_free(val);
}

static u32 or_default(u32 v, u32 dflt)
{
    return v != 0 ? v : dflt;
}

cd_prices *cd_prices_new(const cd_prices_cfg *cfg)
{
    cd_prices *p = cd_new(cd_prices);
    cd_rng rng = cd_rng_os();
    p->cfg = *cfg;
    p->clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    p->cfg.ttl_s = or_default(cfg->ttl_s, TTL_S);
    p->cfg.negative_ttl_s = or_default(cfg->negative_ttl_s, NEGATIVE_TTL_S);
    p->cfg.timeout_ms = or_default(cfg->timeout_ms, TIMEOUT_MS);
    p->cfg.batch_window_ms = or_default(cfg->batch_window_ms, BATCH_WINDOW_MS);
    p->cfg.entries_max = or_default(cfg->entries_max, ENTRIES_MAX);
    p->cfg.waiting_max = or_default(cfg->waiting_max, WAITING_MAX);
    p->cfg.providers = NULL;
    p->cfg.statics = NULL;
    p->cfg.allowed = NULL;
    p->unknown_max = p->cfg.entries_max / 8 + 1;
    p->has_share = cfg->share != NULL;
    if (cfg->share != NULL) {
        p->share = *cfg->share;
    }
    if (cfg->net != NULL) {
        p->net = *cfg->net;
    }
    p->sipkey = (cd_sipkey){.k0 = cd_rng_u64(&rng), .k1 = cd_rng_u64(&rng)};
    cd_hmap_init(&p->table, CD_HASH_IDENTITY, sizeof(u64), sizeof(cd__price_entry *));
    p->clients = cd_lru_new(CD_HASH_KEYED, sizeof(u64), CLIENTS_MAX, client_drop, NULL);
    cd_hmap_init(&p->allowed, CD_HASH_IDENTITY, sizeof(u64), 0);
    for (usize i = 0; i < cfg->allowed_cnt; i++) {
        u64 hash = cd_siphash13(p->sipkey, cfg->allowed[i]);
        (void)cd_hmap_put(&p->allowed, NULL, &hash);
    }
    cd_hmap_init(&p->queues, CD_HASH_IDENTITY, sizeof(u64), sizeof(cd__price_queue *));
    cd_list *const lists[] = {&p->there, &p->unknown, &p->statics, &p->queue_list, &p->jobs, &p->waiting, &p->ready};
    for (usize i = 0; i < CD_COUNT(lists); i++) {
        cd_list_init(lists[i]);
    }
    p->queues_due_ns = UINT64_MAX;
    p->armed_ns = UINT64_MAX;
    p->sweep_ns = cd__prices_now(p) + p->cfg.ttl_s * CD_NS_PER_SEC / SWEEPS;
    p->started_wall_ns = cd_clock_wall_ns(p->clock);
    providers_open(p, cfg);
    if (p->cfg.new_ids_per_min == 0) {
        u64 calls = p->providers_cnt == 0 ? 1 : p->providers[0].cfg.rate_per_min;
        p->cfg.new_ids_per_min = (u32)cd_min_u64(calls * CD_MARKET_IDS_MAX / NEW_IDS_PART, UINT32_MAX);
    }
    statics_open(p, cfg);
    if (cfg->metrics != NULL) {
        metrics_open(p, cfg->metrics);
    }
    return p;
}

static void wipe(const char *secret)
{
    if (secret != NULL) {
        explicit_bzero((char *)(uintptr_t)secret, strlen(secret));
        cd_free((char *)(uintptr_t)secret);
    }
}

void cd_prices_free(cd_prices *p)
{
    if (p == NULL) {
        return;
    }
    cd_list *const lists[] = {&p->waiting, &p->ready};
    for (usize i = 0; i < CD_COUNT(lists); i++) {
        cd_list_each_safe(it, lists[i])
        {
            cd_free(cd_list_of(it, cd_prices_ask, link));
        }
    }
    cd__prices_fetch_fini(p);
    cd__prices_entries_fini(p);
    cd_lru_free(p->clients);
    cd_hmap_fini(&p->allowed);
    for (usize i = 0; i < p->providers_cnt; i++) {
        const cd_prices_provider *c = &p->providers[i].cfg;
        cd_free((char *)(uintptr_t)c->name);
        wipe(c->base); /* may hold a password */
        cd_free((char *)(uintptr_t)c->key_header);
        wipe(c->key);
    }
    cd_free(p);
}

/* --- answers --- */

usize cd_prices_answer_cnt(const cd_prices_answer *a)
{
    return a->cnt;
}

void cd_prices_answer_at(const cd_prices_answer *a, cd_prices_item *out, usize idx)
{
    CD_ASSERT(idx < a->cnt);
    const cd__price_item *item = &a->items[idx];
    *out = (cd_prices_item){.state = (cd_price_state)item->state, .retry_after_s = item->retry_after_s};
    if (item->entry != NULL) {
        cd__price_view(a->prices, &out->price, item->entry);
    }
}

static void count(cd_prices *p, cd_price_state state)
{
    u64 *n = NULL;
    cd_counter *c = NULL;
    switch (state) {
    case CD_PRICE_HIT:
        n = &p->hits;
        c = p->m_hit;
        break;
    case CD_PRICE_FETCHED:
    case CD_PRICE_COALESCED:
    case CD_PRICE_FAILED:
    case CD_PRICE_BUSY:
        n = &p->misses;
        c = p->m_miss;
        break;
    case CD_PRICE_STALE:
        n = &p->stales;
        c = p->m_stale;
        break;
    case CD_PRICE_UNKNOWN:
        n = &p->negatives;
        c = p->m_negative;
        break;
    }
    ++*n;
    if (c != NULL) {
        cd_counter_add(c, 1);
    }
}

/* Lets go of the entries that an answer spoke of. */
static void answer_fini(const cd_prices_answer *a)
{
    for (usize i = 0; i < a->cnt; i++) {
        cd__price_entry *e = a->items[i].entry;
        if (e != NULL) {
            e->pins--;
            cd__price_tidy(a->prices, e);
        }
    }
}

static void answer_tell(const cd_prices_answer *a, cd_prices_done *done, void *ctx)
{
    for (usize i = 0; i < a->cnt; i++) {
        count(a->prices, (cd_price_state)a->items[i].state);
    }
    done(ctx, a);
    answer_fini(a);
}

/* --- settling --- */

static void item_settle(cd_prices *p, cd__price_item *item, cd_price_state state, u32 retry_after_s)
{
    cd_prices_ask *a = item->ask;
    cd_list_del(&item->wait);
    item->is_waiting = false;
    item->state = (u8)(state == CD_PRICE_FETCHED ? item->state : state);
    item->retry_after_s = retry_after_s;
    p->items_waiting--;
    if (--a->left == 0) {
        cd_list_del(&a->link);
        cd_list_push_back(&p->ready, &a->link);
    }
}

void cd__prices_settle(cd_prices *p, cd__price_entry *e, cd_price_state state, u32 retry_after_s)
{
    while (!cd_list_is_empty(&e->waits)) {
        item_settle(p, cd_list_of(e->waits.next, cd__price_item, wait), state, retry_after_s);
    }
}

/* e lost a waiter; what is not yet on its way and nobody wants is not fetched. */
static void unwanted(cd_prices *p, cd__price_entry *e)
{
    if (e->phase == CD__PRICE_QUEUED && e->kind == CD__PRICE_EMPTY && cd_list_is_empty(&e->waits)) {
        cd__prices_unqueue(p, e);
    }
}

/* The client's time is up: what there is, or why there is nothing. */
static void ask_expire(cd_prices *p, cd_prices_ask *a, u64 now_ns)
{
    u64 wait_ns;
    (void)cd__prices_gate(p, &wait_ns, now_ns);
    u32 retry_s = (u32)cd_min_u64(wait_ns / CD_NS_PER_SEC + 1, 3600);
    for (usize i = 0; i < a->answer.cnt; i++) {
        cd__price_item *item = &a->answer.items[i];
        if (item->is_waiting) {
            cd__price_entry *e = item->entry;
            cd_price_state state = e->kind == CD__PRICE_THERE     ? CD_PRICE_STALE
                                   : e->kind == CD__PRICE_UNKNOWN ? CD_PRICE_UNKNOWN
                                   : e->phase == CD__PRICE_QUEUED ? CD_PRICE_BUSY
                                                                  : CD_PRICE_FAILED;
            item_settle(p, item, state, retry_s);
            unwanted(p, e);
        }
    }
}

static void arm(cd_prices *p)
{
    u64 at = p->queues_due_ns;
    cd_list *first = cd_list_first(&p->waiting);
    if (first != NULL) {
        at = cd_min_u64(at, cd_list_of(first, cd_prices_ask, link)->deadline_ns);
    }
    if (p->cfg.prefetch) {
        at = cd_min_u64(at, p->sweep_ns);
    }
    if (at != UINT64_MAX && at != p->armed_ns && p->cfg.alarm != NULL) {
        u64 now_ns = cd__prices_now(p);
        p->armed_ns = at;
        p->cfg.alarm(p->cfg.alarm_ctx, at > now_ns ? at - now_ns : 0);
    }
}

void cd__prices_flush(cd_prices *p)
{
    if (p->is_calling_back) {
        return;
    }
    p->is_calling_back = true;
    while (!cd_list_is_empty(&p->ready)) {
        cd_prices_ask *a = cd_list_of(p->ready.next, cd_prices_ask, link);
        cd_list_del(&a->link);
        answer_tell(&a->answer, a->done, a->ctx);
        cd_free(a);
    }
    p->is_calling_back = false;
    if (p->m_entries != NULL) {
        cd_gauge_set(p->m_entries, (i64)p->there_cnt);
    }
    arm(p);
}

/* Queues what was asked for during its time and is about to grow old. */
static void sweep(cd_prices *p, u64 now_ns)
{
    u64 ttl_ns = p->cfg.ttl_s * CD_NS_PER_SEC;
    if (!p->cfg.prefetch || now_ns < p->sweep_ns) {
        return;
    }
    p->sweep_ns = now_ns + ttl_ns / SWEEPS;
    cd_list_each_safe(it, &p->there)
    {
        cd__price_entry *e = cd_list_of(it, cd__price_entry, lru);
        if (now_ns / CD_NS_PER_SEC - e->hit_s > p->cfg.ttl_s) {
            break; /* those behind were used even longer ago */
        }
        i64 age_ns = (i64)now_ns - e->stored_ns;
        if (e->phase == CD__PRICE_IDLE && !e->is_missing && age_ns > (i64)(ttl_ns - ttl_ns / 20)) {
            cd__prices_queue(p, e, now_ns);
        }
    }
}

void cd_prices_run(cd_prices *p)
{
    u64 now_ns = cd__prices_now(p);
    p->armed_ns = UINT64_MAX;
    while (!cd_list_is_empty(&p->waiting)) {
        cd_prices_ask *a = cd_list_of(p->waiting.next, cd_prices_ask, link);
        if (a->deadline_ns > now_ns) {
            break;
        }
        ask_expire(p, a, now_ns);
    }
    sweep(p, now_ns);
    cd__prices_fetch_run(p, now_ns);
    cd__prices_flush(p);
}

/* --- asking --- */

/* What is known while the items of one query are looked at. */
typedef struct look {
    cd_prices *prices;
    u64 now_ns;
    bool is_blocked; /* no provider can be called before wait_ns have passed */
    bool has_token;
    u64 wait_ns;
    usize waits; /* number of items of the query that have to wait */
    const cd_prices_query *query;
    client *client; /* who asks; NULL: clients are not counted, or it was not looked up yet */
} look;

static void look_begin(look *l, cd_prices *p, const cd_prices_query *q)
{
    *l = (look){.prices = p, .now_ns = cd__prices_now(p), .has_token = true, .query = q};
}

static client *client_of(look *l)
{
    cd_prices *p = l->prices;
    u64 hash = cd_siphash13(p->sipkey, l->query->client);
    client *c = cd_lru_get(p->clients, &hash);
    double per_min = p->cfg.new_ids_per_min;
    double call = per_min < CD_MARKET_IDS_MAX ? per_min : CD_MARKET_IDS_MAX;
    double most = per_min / NEW_IDS_PART > call ? per_min / NEW_IDS_PART : call;
    if (c == NULL) {
        c = cd_new(client);
        *c = (client){.left = most, .at_ns = l->now_ns};
        if (!cd_lru_put(p->clients, &hash, c, 1)) {
            CD_UNREACHABLE();
        }
    }
    double now = c->left + (double)(l->now_ns - c->at_ns) / 60e9 * per_min;
    c->left = now < most ? now : most;
    c->at_ns = l->now_ns;
    return c;
}

/* An id that was never found costs a call of all; who asks for many such has a budget of his own. Seconds until there
 * is some, 0: now. */
static u32 new_id_wait_s(look *l)
{
    if (l->query->client.n == 0) {
        return 0;
    }
    l->client = l->client != NULL ? l->client : client_of(l);
    if (l->client->left < 1) {
        return (u32)(60 / (double)l->prices->cfg.new_ids_per_min) + 1;
    }
    l->client->left -= 1;
    return 0;
}

/* The gates are asked only when something has to be fetched. */
static void look_gate(look *l)
{
    cd_prices *p = l->prices;
    if (p->has_share && p->share.is_there(p->share.ctx)) {
        return; /* another instance may have what we cannot fetch */
    }
    cd_gate_verdict v = cd__prices_gate(p, &l->wait_ns, l->now_ns);
    l->is_blocked = v == CD_GATE_BLOCKED;
    l->has_token = v == CD_GATE_FREE;
}

/* An entry that is neither fresh nor settled: does the item wait? */
static void look_miss(look *l, cd__price_item *item)
{
    cd_prices *p = l->prices;
    cd__price_entry *e = item->entry;
    bool is_there = e->kind == CD__PRICE_THERE;
    if (l->waits == 0) {
        look_gate(l);
    }
    if (is_there && (p->cfg.swr || !l->has_token)) {
        item->state = CD_PRICE_STALE;
        if (e->phase == CD__PRICE_IDLE && !l->is_blocked) {
            cd__prices_queue(p, e, l->now_ns);
        }
        return;
    }
    bool is_full = p->items_waiting + l->waits >= p->cfg.waiting_max;
    if ((l->is_blocked && e->phase != CD__PRICE_TAKEN) || is_full) {
        item->state = (u8)(is_there ? CD_PRICE_STALE : e->kind == CD__PRICE_UNKNOWN ? CD_PRICE_UNKNOWN : CD_PRICE_BUSY);
        item->retry_after_s = (u32)cd_min_u64(l->wait_ns / CD_NS_PER_SEC + 1, 3600);
        return;
    }
    u32 wait_s = e->kind == CD__PRICE_EMPTY && e->phase == CD__PRICE_IDLE ? new_id_wait_s(l) : 0;
    if (wait_s != 0) {
        item->state = CD_PRICE_BUSY;
        item->retry_after_s = wait_s;
        return;
    }
    if (e->phase == CD__PRICE_IDLE) {
        e->rank = l->query->ids_cnt <= FEW ? CD__PRICE_FEW : CD__PRICE_MANY;
    }
    item->state = e->phase == CD__PRICE_IDLE ? CD_PRICE_FETCHED : CD_PRICE_COALESCED;
    item->is_waiting = true;
    l->waits++;
    if (e->phase == CD__PRICE_IDLE) {
        cd__prices_queue(p, e, l->now_ns);
    }
}

static bool is_allowed(const cd_prices *p, cd_bytes id, cd_bytes currency)
{
    u64 hash = cd_siphash13(p->sipkey, id);
    if (cd_hmap_cnt(&p->allowed) == 0 || cd_hmap_get(&p->allowed, &hash) != NULL) {
        return true;
    }
    const cd__price_entry *e = cd__price_find(p, id, currency);
    return e != NULL && e->kind == CD__PRICE_STATIC;
}

static void look_item(look *l, cd__price_item *item, cd_bytes id, cd_bytes currency)
{
    cd_prices *p = l->prices;
    *item = (cd__price_item){.state = CD_PRICE_UNKNOWN};
    if (!cd__price_is_name(id) || !cd__price_is_name(currency) || !is_allowed(p, id, currency)) {
        return;
    }
    cd__price_entry *e = cd__price_make(p, id, currency);
    item->entry = e;
    e->pins++;
    if (cd__price_is_fresh(p, e, l->now_ns)) {
        item->state = CD_PRICE_HIT;
    } else if (cd__price_is_settled(p, e, l->now_ns)) {
        item->state = e->kind == CD__PRICE_THERE ? CD_PRICE_STALE : CD_PRICE_UNKNOWN;
    } else {
        look_miss(l, item);
    }
    cd__price_used(p, e);
}

/* The request waits: its items move to where entries can find them. */
static cd_prices_ask *ask_new(const look *l, const cd_prices_answer *answer, const cd_prices_query *q,
                              cd_prices_done *done, void *ctx)
{
    cd_prices *p = l->prices;
    cd_prices_ask *a = cd_alloc(sizeof *a + answer->cnt * sizeof *answer->items);
    u32 wait_ms = q->wait_max_ms != 0 ? q->wait_max_ms : p->cfg.timeout_ms + p->cfg.timeout_ms / 4;
    *a = (cd_prices_ask){
        .answer = {.prices = p, .items = (cd__price_item *)(a + 1), .cnt = answer->cnt},
        .done = done,
        .ctx = ctx,
        .deadline_ns = l->now_ns + wait_ms * CD_NS_PER_MS,
        .left = l->waits,
    };
    memcpy(a->answer.items, answer->items, answer->cnt * sizeof *answer->items);
    for (usize i = 0; i < answer->cnt; i++) {
        cd__price_item *item = &a->answer.items[i];
        if (item->is_waiting) {
            item->ask = a;
            cd_list_push_back(&item->entry->waits, &item->wait);
        }
    }
    p->items_waiting += l->waits;
    cd_list *at = p->waiting.prev;
    while (at != &p->waiting && cd_list_of(at, cd_prices_ask, link)->deadline_ns > a->deadline_ns) {
        at = at->prev;
    }
    cd_list_add_after(at, &a->link);
    return a;
}

cd_prices_ask *cd_prices_get(cd_prices *p, const cd_prices_query *q, cd_prices_done *done, void *ctx)
{
    cd__price_item few[STACK_ITEMS];
    usize cnt = q->ids_cnt * q->currencies_cnt;
    CD_ASSERT(q->ids_cnt <= CD_PRICES_ITEMS_MAX && q->currencies_cnt <= CD_PRICES_ITEMS_MAX &&
              cnt <= CD_PRICES_ITEMS_MAX);
    cd_prices_answer answer = {.prices = p, .cnt = cnt};
    answer.items = cnt <= STACK_ITEMS ? few : cd_new_array(cd__price_item, cnt);
    look l;
    look_begin(&l, p, q);
    for (usize i = 0; i < cnt; i++) {
        look_item(&l, &answer.items[i], q->ids[i / q->currencies_cnt], q->currencies[i % q->currencies_cnt]);
    }
    cd_prices_ask *a = NULL;
    if (l.waits == 0) {
        answer_tell(&answer, done, ctx);
    } else {
        a = ask_new(&l, &answer, q, done, ctx);
    }
    if (answer.items != few) {
        cd_free(answer.items);
    }
    if (p->queues_due_ns != UINT64_MAX && !p->is_calling_back) {
        arm(p);
    }
    return a;
}

void cd_prices_cancel(cd_prices_ask *a)
{
    cd_prices *p = a->answer.prices;
    for (usize i = 0; i < a->answer.cnt; i++) {
        cd__price_item *item = &a->answer.items[i];
        if (item->is_waiting) {
            cd_list_del(&item->wait);
            p->items_waiting--;
            unwanted(p, item->entry);
        }
    }
    cd_list_del(&a->link);
    answer_fini(&a->answer);
    cd_free(a);
}

/* --- looking --- */

void cd_prices_on_change(cd_prices *p, cd_prices_changed *fn, void *ctx)
{
    p->changed = fn;
    p->changed_ctx = ctx;
}

static bool holds(cd_bytes in, cd_bytes text)
{
    for (usize at = 0; at + text.n <= in.n; at++) {
        usize i = 0;
        while (i < text.n && cd_text_lower(in.p[at + i]) == cd_text_lower(text.p[i])) {
            i++;
        }
        if (i == text.n) {
            return true;
        }
    }
    return false;
}

void cd_prices_search(cd_prices *p, cd_bytes text, cd_prices_visit *visit, void *ctx)
{
    u64 now_ns = cd__prices_now(p);
    bool goes_on = true;
    cd_list *const lists[] = {&p->statics, &p->there};
    for (usize k = 0; k < CD_COUNT(lists); k++) {
        for (cd_list *it = lists[k]->next; it != lists[k] && goes_on; it = it->next) {
            cd__price_entry *e = cd_list_of(it, cd__price_entry, lru);
            cd_price view;
            cd__price_view(p, &view, e);
            if (holds(view.id, text) || holds(view.symbol, text) || holds(view.name, text)) {
                goes_on = visit(ctx, &view, cd__price_is_fresh(p, e, now_ns) ? CD_PRICE_HIT : CD_PRICE_STALE);
            }
        }
    }
}

void cd_prices_recent(cd_prices *p, cd_prices_visit *visit, void *ctx)
{
    cd_prices_search(p, (cd_bytes){0}, visit, ctx);
}

/* --- the state of it all --- */

void cd_prices_state_get(cd_prices *p, cd_prices_state *out)
{
    u64 now_ns = cd__prices_now(p);
    *out = (cd_prices_state){
        .entries = p->there_cnt,
        .unknown = p->unknown_cnt,
        .entries_max = p->cfg.entries_max,
        .waiting = p->items_waiting,
        .hits = p->hits,
        .misses = p->misses,
        .stales = p->stales,
        .negatives = p->negatives,
        .started_wall_ns = p->started_wall_ns,
        .is_ready = cd_prices_is_ready(p),
        .is_shared = p->has_share && p->share.is_there(p->share.ctx),
        .providers_cnt = p->providers_cnt,
    };
    cd_list_each(it, &p->there)
    {
        out->fresh += cd__price_is_fresh(p, cd_list_of(it, cd__price_entry, lru), now_ns);
    }
    cd_list_each(it, &p->statics)
    {
        out->entries++;
        out->fresh++;
    }
}

void cd_prices_provider_get(cd_prices *p, cd_prices_provider_state *out, usize idx)
{
    CD_ASSERT(idx < p->providers_cnt);
    cd__price_provider *v = &p->providers[idx];
    u64 now_ns = cd__prices_now(p);
    u64 wait_ns;
    bool is_blocked = cd_gate_ask(&v->gate, &wait_ns, now_ns, 0) == CD_GATE_BLOCKED;
    *out = (cd_prices_provider_state){
        .name = v->cfg.name,
        .breaker = v->gate.breaker,
        .failures = v->gate.failures,
        .calls_now = v->calls_now,
        .calls = v->calls,
        .calls_failed = v->calls_failed,
        .tokens = cd_gate_tokens(&v->gate, now_ns),
        .rate_per_min = v->cfg.rate_per_min,
        .blocked_s = is_blocked ? (u32)(wait_ns / CD_NS_PER_SEC + 1) : 0,
        .last_ok_wall_ns = v->last_ok_wall_ns,
        .last_ms = v->last_ms,
    };
}

bool cd_prices_is_ready(const cd_prices *p)
{
    return p->is_ready || p->providers_cnt == 0;
}

u32 cd_prices_ttl_s(const cd_prices *p)
{
    return p->cfg.ttl_s;
}
