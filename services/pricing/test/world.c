#include "world.h"

#include <string.h>

enum { MS_TAKE = 1 };

static u64 now(const world *w)
{
    return cd_clock_mono_ns(&w->clock.clock);
}

double world_price(const world *w, const char *id, usize n, int provider)
{
    double base = 1;
    for (usize i = 0; i < n; i++) {
        base = base * 3 + (id[i] & 15);
    }
    double factor = w->factor[provider] == 0 ? 1 : w->factor[provider];
    return base * factor;
}

/* --- the way to providers --- */

static void *net_get(void *ctx, const char *url, const cd_prices_provider *to, cd_prices_result_fn *fn, void *fn_ctx)
{
    world *w = ctx;
    assert_true(w->calls_cnt < WORLD_CALLS_MAX);
    world_call *c = &w->calls[w->calls_cnt++];
    assert_true(strlen(url) < sizeof c->url);
    (void)snprintf(c->url, sizeof c->url, "%s", url);
    (void)snprintf(c->name, sizeof c->name, "%s", to->name);
    c->at_ns = now(w);
    c->fn = fn;
    c->ctx = fn_ctx;
    c->mode = w->mode[to->name[1] - '0'];
    c->due_ns = c->at_ns + (c->mode == WORLD_HANG ? CD_NS_PER_SEC : w->latency_ns);
    if (c->mode == WORLD_HALF) {
        c->mode = w->calls_cnt % 2 == 0 ? WORLD_OK : WORLD_500;
    }
    return c;
}

static void net_cancel(void *ctx, void *call)
{
    (void)ctx;
    ((world_call *)call)->fn = NULL;
}

/* Ids that begin with "no" are unknown. The order is reversed, and a row that nobody asked for stands in front. */
static void answer_ok(const world *w, cd_buf *out, const world_call *c)
{
    const char *ids = strstr(c->url, "&ids=") + 5;
    usize n = strcspn(ids, "&");
    cd_buf_str(out, "[{\"id\":\"uninvited\",\"symbol\":\"u\",\"name\":\"U\",\"current_price\":1}");
    while (n > 0) {
        usize begin = n;
        while (begin > 0 && ids[begin - 1] != ',') {
            begin--;
        }
        const char *id = ids + begin;
        if (strncmp(id, "no", 2) != 0) {
            cd_buf_fmt(out,
                       ",{\"id\":\"%.*s\",\"symbol\":\"s-%.*s\",\"name\":\"Name <&> "
                       "\\\"x\\\"\",\"current_price\":%.17g,\"market_cap\":12,\"total_volume\":null,"
                       "\"price_change_percentage_24h\":-1.5,\"last_updated\":\"2025-01-24T12:00:00."
                       "000Z\",\"extra\":[1,{}]}",
                       (int)(n - begin), id, (int)(n - begin < 20 ? n - begin : 20), id,
                       world_price(w, id, n - begin, c->name[1] - '0'));
        }
        n = begin > 0 ? begin - 1 : 0;
    }
    cd_buf_str(out, "]");
}

static void call_end(world *w, world_call *c)
{
    cd_buf body = {0};
    cd_prices_result r = {.err = CD_OK, .status = 200};
    cd_prices_result_fn *fn = c->fn;
    switch (c->mode) {
    case WORLD_OK:
        answer_ok(w, &body, c);
        break;
    case WORLD_LIMITED_5S:
        r.retry_after = cd_bytes_str("5");
        r.status = 429;
        break;
    case WORLD_LIMITED:
        r.status = 429;
        break;
    case WORLD_500:
        r.status = 500;
        cd_buf_str(&body, "[]");
        break;
    case WORLD_BAD_JSON:
        cd_buf_str(&body, "[{\"id\":\"bitcoin\",");
        break;
    case WORLD_DROP:
        r = (cd_prices_result){.err = CD_EIO};
        break;
    case WORLD_HANG:
        r = (cd_prices_result){.err = CD_ETIMEOUT};
        break;
    case WORLD_REFUSE:
        r.status = 400;
        cd_buf_str(&body, "{\"error\":\"invalid vs_currency\"}");
        break;
    case WORLD_EMPTY:
        cd_buf_str(&body, "[]");
        break;
    case WORLD_HALF:
        fail();
    }
    c->fn = NULL;
    r.body = cd_buf_bytes(&body);
    fn(c->ctx, &r);
    cd_buf_fini(&body);
}

/* --- the shared store --- */

static world_key *key_of(world *w, cd_bytes key)
{
    for (usize i = 0; i < w->keys_cnt; i++) {
        if (cd_bytes_eq(cd_bytes_str(w->keys[i].key), key)) {
            return &w->keys[i];
        }
    }
    assert_true(w->keys_cnt < WORLD_KEYS_MAX && key.n < sizeof w->keys[0].key);
    world_key *k = &w->keys[w->keys_cnt++];
    memcpy(k->key, key.p, key.n);
    return k;
}

static bool share_is_there(void *ctx)
{
    return !((world_gateway *)ctx)->w->store_is_away;
}

static void share_take(void *ctx, const cd_bytes *keys, usize cnt, cd_share_taken_fn *fn, void *fn_ctx)
{
    world_gateway *g = ctx;
    assert_null(g->take.fn);
    g->take.fn = fn;
    g->take.ctx = fn_ctx;
    g->take.cnt = cnt;
    for (usize i = 0; i < cnt; i++) {
        (void)snprintf(g->take.keys[i], sizeof g->take.keys[i], "%.*s", (int)keys[i].n, (const char *)keys[i].p);
    }
}

/* A gateway renews its claims while it lives. */
static bool is_claimed(const world *w, world_key *k, u64 t)
{
    if (k->owner != 0 && w->gateways[k->owner - 1].prices != NULL) {
        k->claim_until_ns = t + 2 * CD_NS_PER_SEC;
    }
    return k->owner != 0 && k->claim_until_ns > t;
}

static void take_end(world *w, world_gateway *g)
{
    cd_share_taken taken[250];
    cd_share_taken_fn *fn = g->take.fn;
    u64 t = now(w);
    g->take.fn = NULL;
    if (w->store_is_away) {
        fn(g->take.ctx, NULL);
        return;
    }
    for (usize i = 0; i < g->take.cnt; i++) {
        world_key *k = key_of(w, cd_bytes_str(g->take.keys[i]));
        taken[i] = (cd_share_taken){.verdict = CD_SHARE_MINE};
        if (k->fresh_until_ns > t) {
            taken[i] = (cd_share_taken){.verdict = CD_SHARE_FRESH, .value = cd_buf_bytes(&k->value)};
        } else if (is_claimed(w, k, t) && k->owner != g->number) {
            taken[i].verdict = CD_SHARE_THEIRS;
        } else {
            k->owner = g->number;
            k->claim_until_ns = t + 2 * CD_NS_PER_SEC;
        }
    }
    fn(g->take.ctx, taken);
}

static void share_put(void *ctx, const cd_bytes *keys, const cd_bytes *values, usize cnt, u64 ttl_ms)
{
    world_gateway *g = ctx;
    for (usize i = 0; i < cnt; i++) {
        world_key *k = key_of(g->w, keys[i]);
        if (k->owner == g->number) {
            k->owner = 0;
        }
        if (values[i].n != 0) {
            cd_buf_clear(&k->value);
            cd_buf_put(&k->value, values[i]);
            k->fresh_until_ns = now(g->w) + ttl_ms * CD_NS_PER_MS;
        }
    }
}

static void share_drop(void *ctx, const cd_bytes *keys, usize cnt)
{
    world_gateway *g = ctx;
    for (usize i = 0; i < cnt; i++) {
        world_key *k = key_of(g->w, keys[i]);
        k->owner = k->owner == g->number ? 0 : k->owner;
    }
}

/* --- life and time --- */

static void alarm_set(void *ctx, u64 delay_ns)
{
    world_gateway *g = ctx;
    g->alarm_ns = now(g->w) + delay_ns;
}

world *world_new(void)
{
    world *w = cd_new(world);
    cd_clock_virtual_init(&w->clock, WALL0);
    w->latency_ns = 100 * CD_NS_PER_MS;
    return w;
}

void world_free(world *w)
{
    for (usize i = 0; i < WORLD_GATEWAYS; i++) {
        cd_prices_free(w->gateways[i].prices);
    }
    for (usize i = 0; i < w->calls_cnt; i++) {
        assert_null(w->calls[i].fn);
    }
    for (usize i = 0; i < w->keys_cnt; i++) {
        cd_buf_fini(&w->keys[i].value);
    }
    cd_free(w);
}

cd_prices_cfg world_cfg(void)
{
    return (cd_prices_cfg){.seed = 1};
}

cd_prices *world_open(world *w, int number, const cd_prices_cfg *cfg, usize providers, bool shared)
{
    static const char *const names[] = {"p0", "p1", "p2", "p3", "p4"};
    static const char *const bases[] = {"http://p0/api", "http://p1/api", "http://p2/api", "http://p3/api",
                                        "http://p4/api"};
    world_gateway *g = &w->gateways[number - 1];
    cd_prices_provider list[5];
    const cd_prices_net net = {.ctx = w, .get = net_get, .cancel = net_cancel};
    const cd_prices_share share = {
        .ctx = g, .is_there = share_is_there, .take = share_take, .put = share_put, .drop = share_drop};
    cd_prices_cfg c = *cfg;
    cd_prices_free(g->prices);
    for (usize i = 0; i < providers; i++) {
        list[i] = (cd_prices_provider){.name = names[i],
                                       .base = bases[i],
                                       .rate_per_min = cfg->providers_cnt != 0 ? (u32)cfg->providers_cnt : 6000};
    }
    *g = (world_gateway){.w = w, .number = number, .alarm_ns = UINT64_MAX};
    c.clock = &w->clock.clock;
    c.providers = list;
    c.providers_cnt = providers;
    c.net = &net;
    c.share = shared ? &share : NULL;
    c.alarm = alarm_set;
    c.alarm_ctx = g;
    g->prices = cd_prices_new(&c);
    return g->prices;
}

/* The first call that ends before at_ns. */
static world_call *next_call(world *w, u64 at_ns)
{
    world_call *first = NULL;
    for (usize i = 0; i < w->calls_cnt; i++) {
        world_call *c = &w->calls[i];
        if (c->fn != NULL && c->due_ns <= at_ns && (first == NULL || c->due_ns < first->due_ns)) {
            first = c;
        }
    }
    return first;
}

static void advance_to(world *w, u64 at_ns)
{
    u64 t = now(w);
    if (at_ns > t) {
        cd_clock_virtual_advance(&w->clock, at_ns - t);
    }
}

/* One event up to end_ns; false when there is none. */
static bool step(world *w, u64 end_ns)
{
    for (usize i = 0; i < WORLD_GATEWAYS; i++) {
        if (w->gateways[i].take.fn != NULL) {
            cd_clock_virtual_advance(&w->clock, MS_TAKE * CD_NS_PER_MS);
            take_end(w, &w->gateways[i]);
            return true;
        }
    }
    world_gateway *g = NULL;
    u64 at = end_ns;
    for (usize i = 0; i < WORLD_GATEWAYS; i++) {
        if (w->gateways[i].prices != NULL && w->gateways[i].alarm_ns <= at) {
            g = &w->gateways[i];
            at = g->alarm_ns;
        }
    }
    world_call *c = next_call(w, at);
    if (c != NULL) {
        advance_to(w, c->due_ns);
        call_end(w, c);
        return true;
    }
    if (g != NULL) {
        advance_to(w, at);
        g->alarm_ns = UINT64_MAX;
        cd_prices_run(g->prices);
        return true;
    }
    return false;
}

void world_run(world *w, u64 ms)
{
    u64 end = now(w) + ms * CD_NS_PER_MS;
    while (step(w, end)) {
    }
    advance_to(w, end);
}

/* --- asking --- */

static void on_answer(void *ctx, const cd_prices_answer *a)
{
    world_answer *out = ctx;
    assert_false(out->is_there);
    out->is_there = true;
    out->cnt = cd_prices_answer_cnt(a);
    for (usize i = 0; i < out->cnt && i < CD_COUNT(out->state); i++) {
        cd_prices_item item;
        cd_prices_answer_at(a, &item, i);
        out->state[i] = item.state;
        out->retry_s[i] = item.retry_after_s;
        if (cd_price_is_there(item.state)) {
            out->price[i] = item.price.price;
            out->age_s[i] = item.price.age_s;
            (void)snprintf(out->source[i], sizeof out->source[i], "%s", item.price.source);
        }
    }
}

static usize split(cd_bytes *out, const char *list)
{
    usize cnt = 0;
    while (*list != '\0') {
        usize n = strcspn(list, ",");
        out[cnt++] = cd_bytes_of(list, n);
        list += n + (list[n] == ',');
    }
    return cnt;
}

cd_prices_ask *world_ask_as(cd_prices *p, world_answer *out, const char *ids, const char *currencies,
                            const char *client)
{
    cd_bytes id[64];
    cd_bytes currency[8];
    usize ids_cnt = split(id, ids);
    usize currencies_cnt = split(currency, currencies);
    cd_prices_query q = {.ids = id, .ids_cnt = ids_cnt, .currencies = currency, .currencies_cnt = currencies_cnt};
    q.client = cd_bytes_str(client);
    *out = (world_answer){.is_there = false};
    return cd_prices_get(p, &q, on_answer, out);
}

cd_prices_ask *world_ask(cd_prices *p, world_answer *out, const char *ids, const char *currencies)
{
    return world_ask_as(p, out, ids, currencies, "");
}

void world_get(world *w, cd_prices *p, world_answer *out, const char *ids, const char *currencies)
{
    (void)world_ask(p, out, ids, currencies);
    u64 end = now(w) + 60 * CD_NS_PER_SEC;
    while (!out->is_there && step(w, end)) {
    }
    assert_true(out->is_there);
}
