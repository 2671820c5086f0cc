/* The engine as a whole, with a clock that the test moves: [spec:pricing#5] and the list of [spec:pricing#7]. */
#include "world.h"

#include <math.h>
#include <string.h>

static void expect(const world_answer *a, usize i, cd_price_state state)
{
    if (a->state[i] != state) {
        print_error("item %zu: state %d instead of %d\n", i, (int)a->state[i], (int)state);
    }
    assert_int_equal(a->state[i], state);
}

static double price_of(const world *w, const char *id)
{
    return world_price(w, id, strlen(id), 0);
}

static void test_miss_hit_stale_refresh(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    assert_false(cd_prices_is_ready(p));
    world_get(w, p, &a, "bitcoin", "usd");
    expect(&a, 0, CD_PRICE_FETCHED);
    assert_true(a.price[0] == price_of(w, "bitcoin"));
    assert_string_equal(a.source[0], "p0");
    assert_true(cd_prices_is_ready(p));
    assert_string_equal(w->calls[0].url, "http://p0/api/coins/markets?vs_currency=usd&ids=bitcoin&order="
                                         "market_cap_desc&per_page=1&page=1&sparkline=false");
    /* fresh for an hour, and found without a call */
    world_run(w, 3599 * SECOND - 200);
    assert_null(world_ask(p, &a, "bitcoin", "usd"));
    expect(&a, 0, CD_PRICE_HIT);
    assert_int_equal(a.age_s[0], 3598);
    assert_int_equal(w->calls_cnt, 1);
    /* then it is fetched anew, and the client waits for it */
    world_run(w, 2000);
    w->factor[0] = 2;
    world_get(w, p, &a, "bitcoin", "usd");
    expect(&a, 0, CD_PRICE_FETCHED);
    assert_true(a.price[0] == price_of(w, "bitcoin"));
    assert_int_equal(w->calls_cnt, 2);
    cd_prices_point points[CD_PRICES_HISTORY];
    assert_int_equal(cd_prices_history(p, points, cd_bytes_str("bitcoin"), cd_bytes_str("usd")), 2);
    assert_true(points[1].price == (float)price_of(w, "bitcoin"));
    world_free(w);
}

static void test_stale_for_each_failure(void **state)
{
    (void)state;
    static const world_mode modes[] = {WORLD_LIMITED, WORLD_500,    WORLD_BAD_JSON, WORLD_DROP,
                                       WORLD_HANG,    WORLD_REFUSE, WORLD_EMPTY};
    static const cd_price_state without[] = {CD_PRICE_BUSY,   CD_PRICE_FAILED,  CD_PRICE_FAILED, CD_PRICE_FAILED,
                                             CD_PRICE_FAILED, CD_PRICE_UNKNOWN, CD_PRICE_UNKNOWN};
    for (usize i = 0; i < CD_COUNT(modes); i++) {
        world *w = world_new();
        cd_prices_cfg cfg = world_cfg();
        cd_prices *p = world_open(w, 1, &cfg, 1, false);
        world_answer a;
        world_get(w, p, &a, "bitcoin,ethereum", "usd,eur");
        assert_int_equal(w->calls_cnt, 2);
        world_run(w, 3601 * SECOND);
        w->mode[0] = modes[i];
        world_get(w, p, &a, "bitcoin,ethereum,solana", "usd,eur");
        assert_int_equal(a.cnt, 6);
        for (usize k = 0; k < 4; k++) {
            expect(&a, k, CD_PRICE_STALE);
        }
        assert_true(a.price[0] == price_of(w, "bitcoin"));
        expect(&a, 4, without[i]);
        expect(&a, 5, without[i]);
        assert_true(a.state[4] != CD_PRICE_BUSY || a.retry_s[4] >= 1);
        /* and well again */
        w->mode[0] = WORLD_OK;
        world_run(w, 61 * SECOND);
        world_get(w, p, &a, "bitcoin,ethereum,solana", "usd,eur");
        for (usize k = 0; k < 6; k++) {
            expect(&a, k, CD_PRICE_FETCHED);
        }
        world_free(w);
    }
}

static void test_limited(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    w->mode[0] = WORLD_LIMITED_5S;
    world_get(w, p, &a, "bitcoin", "usd");
    expect(&a, 0, CD_PRICE_BUSY);
    assert_in_range(a.retry_s[0], 5, 6);
    w->mode[0] = WORLD_OK;
    world_run(w, 4800);
    assert_null(world_ask(p, &a, "bitcoin", "usd")); /* known at once: no call may be made */
    expect(&a, 0, CD_PRICE_BUSY);
    assert_int_equal(w->calls_cnt, 1);
    world_run(w, 300);
    world_get(w, p, &a, "bitcoin", "usd");
    expect(&a, 0, CD_PRICE_FETCHED);
    /* Without a time the pauses double up to a minute. */
    w->mode[0] = WORLD_LIMITED;
    u64 last = 0;
    u64 pauses[10];
    for (usize i = 0; i < 11; i++) {
        usize calls = w->calls_cnt;
        while (w->calls_cnt == calls) {
            world_get(w, p, &a, "never", "usd");
            expect(&a, 0, CD_PRICE_BUSY);
            world_run(w, 10);
        }
        u64 at = w->calls[calls].at_ns;
        if (i != 0) {
            pauses[i - 1] = (at - last) / CD_NS_PER_MS;
        }
        last = at;
    }
    for (usize i = 0; i < 10; i++) {
        u64 s = i < 6 ? 1u << i : 60;
        assert_in_range(pauses[i], s * 800, s * 1200 + 300);
    }
    world_free(w);
}

static void test_single_flight(void **state)
{
    (void)state;
    enum { CLIENTS = 10000 };
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer *a = cd_new_array(world_answer, CLIENTS);
    usize fetched = 0;
    for (usize i = 0; i < CLIENTS; i++) {
        assert_non_null(world_ask(p, &a[i], "bitcoin", "usd"));
        world_run(w, i % 1000 == 0 ? 5 : 0); /* some come while the call is on its way */
    }
    world_run(w, 200);
    for (usize i = 0; i < CLIENTS; i++) {
        assert_true(a[i].is_there && cd_price_is_there(a[i].state[0]));
        fetched += a[i].state[0] == CD_PRICE_FETCHED;
    }
    assert_int_equal(fetched, 1);
    assert_int_equal(w->calls_cnt, 1);
    cd_free(a);
    world_free(w);
}

static void test_batches(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    world_answer b;
    /* two clients within the window, duplicates, and one unknown: one call */
    (void)world_ask(p, &a, "bitcoin,ethereum,bitcoin", "usd");
    world_run(w, 3);
    (void)world_ask(p, &b, "solana,nosuch,ethereum", "usd");
    world_run(w, 200);
    assert_int_equal(w->calls_cnt, 1);
    assert_non_null(strstr(w->calls[0].url, "&ids=bitcoin,ethereum,solana,nosuch&"));
    assert_non_null(strstr(w->calls[0].url, "&per_page=250&"));
    assert_true(a.is_there && b.is_there);
    expect(&a, 0, CD_PRICE_FETCHED);
    expect(&a, 2, CD_PRICE_COALESCED);
    expect(&b, 0, CD_PRICE_FETCHED);
    expect(&b, 1, CD_PRICE_UNKNOWN);
    expect(&b, 2, CD_PRICE_COALESCED);
    /* the unknown one is remembered for a minute */
    assert_null(world_ask(p, &a, "nosuch", "usd"));
    expect(&a, 0, CD_PRICE_UNKNOWN);
    world_run(w, 60 * SECOND);
    world_get(w, p, &a, "nosuch", "usd");
    assert_int_equal(w->calls_cnt, 2);
    world_free(w);
}

static void on_many(void *ctx, const cd_prices_answer *a)
{
    usize *there = ctx;
    for (usize i = 0; i < cd_prices_answer_cnt(a); i++) {
        cd_prices_item item;
        cd_prices_answer_at(a, &item, i);
        *there += item.state == CD_PRICE_FETCHED;
    }
}

static void test_chunks(void **state)
{
    (void)state;
    enum { IDS = 1001 };
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    static char names[IDS][CD_PRICE_NAME_MAX];
    cd_bytes ids[IDS];
    const cd_bytes currencies[] = {cd_bytes_str("usd"), cd_bytes_str("eur")};
    usize there = 0;
    for (usize i = 0; i < IDS; i++) {
        (void)snprintf(names[i], sizeof names[i], "token-%zu", i);
        ids[i] = cd_bytes_str(names[i]);
    }
    cd_prices_query q = {.ids = ids, .ids_cnt = IDS, .currencies = currencies, .currencies_cnt = 2};
    assert_non_null(cd_prices_get(p, &q, on_many, &there));
    world_run(w, 1000);
    assert_int_equal(there, 2 * IDS);
    assert_int_equal(w->calls_cnt, 2 * 5);
    /* long names: no line grows beyond what servers take */
    for (usize i = 0; i < 250; i++) {
        memset(names[i], 'a', CD_PRICE_NAME_MAX);
        names[i][0] = (char)('a' + i % 26);
        names[i][1] = (char)('a' + i / 26);
        ids[i] = cd_bytes_of(names[i], CD_PRICE_NAME_MAX);
    }
    q.ids_cnt = 250;
    q.currencies_cnt = 1;
    there = 0;
    usize calls = w->calls_cnt;
    assert_non_null(cd_prices_get(p, &q, on_many, &there));
    world_run(w, 1000);
    assert_int_equal(there, 250);
    for (usize i = calls; i < w->calls_cnt; i++) {
        assert_true(strlen(w->calls[i].url) < 6300);
    }
    world_free(w);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "-a", ".", "Bitcoin", "bit coin&x=1", "a\xc3\xa9", "a/b"};
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    char folded[CD_PRICE_NAME_MAX];
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        world_answer a = {.is_there = false};
        cd_bytes id = cd_bytes_str(bad[i]);
        cd_bytes usd = cd_bytes_str("usd");
        cd_prices_query q = {.ids = &id, .ids_cnt = 1, .currencies = &usd, .currencies_cnt = 1};
        usize none = 0;
        assert_null(cd_prices_get(p, &q, on_many, &none));
        q.ids = &usd;
        q.currencies = &id;
        assert_null(cd_prices_get(p, &q, on_many, &none));
        assert_int_equal(cd_price_name_fold(folded, id), i == 3);
        (void)a;
    }
    assert_memory_equal(folded, "bitcoin", 0);
    world_run(w, 1000);
    assert_int_equal(w->calls_cnt, 0);
    cd_prices_state s;
    cd_prices_state_get(p, &s);
    assert_int_equal(s.negatives, 2 * CD_COUNT(bad));
    world_free(w);
}

/* Half of the calls fail for an hour; what was seen once never becomes an error. */
static void test_half_failing_hour(void **state)
{
    (void)state;
    static const char ids[] = "bitcoin,ethereum,solana,lux,avax,dot";
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.ttl_s = 30;
    cfg.providers_cnt = 30; /* calls a minute */
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    world_get(w, p, &a, ids, "usd,eur");
    w->mode[0] = WORLD_HALF;
    usize fetched = 0;
    for (u32 s = 0; s < 3600; s++) {
        world_get(w, p, &a, ids, "usd,eur");
        for (usize i = 0; i < a.cnt; i++) {
            assert_true(cd_price_is_there(a.state[i]));
            fetched += a.state[i] == CD_PRICE_FETCHED;
        }
        world_run(w, 1000);
    }
    assert_true(fetched > 100);
    /* the budget was kept in every minute */
    for (usize i = 30; i < w->calls_cnt; i++) {
        assert_true(w->calls[i].at_ns - w->calls[i - 30].at_ns >= 60 * CD_NS_PER_SEC);
    }
    world_free(w);
}

static void test_breaker(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    cd_prices_provider_state ps;
    w->mode[0] = WORLD_500;
    for (u32 i = 0; i < 5; i++) {
        world_get(w, p, &a, "bitcoin", "usd");
        expect(&a, 0, CD_PRICE_FAILED);
    }
    cd_prices_provider_get(p, &ps, 0);
    assert_int_equal(ps.breaker, CD_BREAKER_OPEN);
    assert_in_range(ps.blocked_s, 30, 31);
    assert_null(world_ask(p, &a, "bitcoin", "usd"));
    expect(&a, 0, CD_PRICE_BUSY);
    assert_in_range(a.retry_s[0], 29, 31);
    assert_int_equal(w->calls_cnt, 5);
    /* one probe, which fails: open for another half a minute */
    world_run(w, 30 * SECOND);
    world_answer b;
    (void)world_ask(p, &a, "bitcoin", "usd");
    world_run(w, 50);
    cd_prices_provider_get(p, &ps, 0);
    assert_int_equal(ps.breaker, CD_BREAKER_PROBE);
    assert_null(world_ask(p, &b, "ethereum", "usd"));
    expect(&b, 0, CD_PRICE_BUSY);
    world_run(w, 100);
    expect(&a, 0, CD_PRICE_FAILED);
    assert_int_equal(w->calls_cnt, 6);
    world_run(w, 29 * SECOND);
    assert_null(world_ask(p, &a, "bitcoin", "usd"));
    /* one that succeeds */
    world_run(w, 1000);
    w->mode[0] = WORLD_OK;
    world_get(w, p, &a, "bitcoin", "usd");
    expect(&a, 0, CD_PRICE_FETCHED);
    cd_prices_provider_get(p, &ps, 0);
    assert_int_equal(ps.breaker, CD_BREAKER_CLOSED);
    assert_int_equal(ps.failures, 0);
    world_free(w);
}

static void test_budget(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.providers_cnt = 5; /* calls a minute: one at once, one every twelve seconds */
    cfg.ttl_s = 1;
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    world_answer b;
    world_get(w, p, &a, "bitcoin", "usd");
    expect(&a, 0, CD_PRICE_FETCHED);
    world_run(w, 1000);
    /* stale at once, and fetched with the next call */
    assert_null(world_ask(p, &a, "bitcoin", "usd"));
    expect(&a, 0, CD_PRICE_STALE);
    /* what is missing waits, merged into one call */
    (void)world_ask(p, &a, "ethereum", "usd");
    world_run(w, 5000);
    (void)world_ask(p, &b, "solana", "usd");
    world_run(w, 5000);
    assert_int_equal(w->calls_cnt, 1);
    world_run(w, 2000);
    assert_int_equal(w->calls_cnt, 2);
    assert_true(a.is_there && b.is_there);
    expect(&a, 0, CD_PRICE_FETCHED);
    expect(&b, 0, CD_PRICE_FETCHED);
    assert_non_null(strstr(w->calls[1].url, "&ids=bitcoin,ethereum,solana&"));
    /* a client with less patience than the budget needs */
    cd_bytes id = cd_bytes_str("lux");
    cd_bytes usd = cd_bytes_str("usd");
    cd_prices_query q = {.ids = &id, .ids_cnt = 1, .currencies = &usd, .currencies_cnt = 1, .wait_max_ms = 500};
    usize fetched = 0;
    assert_non_null(cd_prices_get(p, &q, on_many, &fetched));
    world_run(w, 600);
    cd_prices_state s;
    cd_prices_state_get(p, &s);
    assert_int_equal(s.waiting, 0);
    assert_int_equal(s.misses, 4);
    world_run(w, 60000);
    assert_null(strstr(w->calls[w->calls_cnt - 1].url, "lux")); /* nobody wants it any more */
    world_free(w);
}

static void test_cancel(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    world_answer b;
    cd_prices_ask *one = world_ask(p, &a, "bitcoin", "usd");
    (void)world_ask(p, &b, "bitcoin", "usd");
    world_run(w, 50);
    cd_prices_cancel(one);
    world_run(w, 100);
    assert_true(b.is_there && !a.is_there);
    expect(&b, 0, CD_PRICE_COALESCED);
    /* alone, but on its way: it arrives in the cache */
    one = world_ask(p, &a, "ethereum", "usd");
    world_run(w, 50);
    cd_prices_cancel(one);
    world_run(w, 100);
    assert_null(world_ask(p, &a, "ethereum", "usd"));
    expect(&a, 0, CD_PRICE_HIT);
    /* alone, and not yet on its way: nothing is fetched */
    one = world_ask(p, &a, "solana", "usd");
    cd_prices_cancel(one);
    world_run(w, 100);
    assert_int_equal(w->calls_cnt, 2);
    world_free(w);
}

static void test_deadline(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    w->latency_ns = 60 * CD_NS_PER_SEC;
    world_answer a;
    (void)world_ask(p, &a, "bitcoin", "usd");
    world_run(w, 37400);
    assert_false(a.is_there);
    world_run(w, 200);
    assert_true(a.is_there);
    expect(&a, 0, CD_PRICE_FAILED);
    world_run(w, 30000);
    assert_null(world_ask(p, &a, "bitcoin", "usd"));
    expect(&a, 0, CD_PRICE_HIT);
    world_free(w);
}

static void test_fallback(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 2, false);
    world_answer a;
    w->mode[0] = WORLD_500;
    world_get(w, p, &a, "bitcoin", "usd");
    expect(&a, 0, CD_PRICE_FETCHED);
    assert_string_equal(a.source[0], "p1");
    assert_int_equal(w->calls_cnt, 2);
    /* once the first one's breaker is open, the second is asked at once */
    for (u32 i = 0; i < 4; i++) {
        char id[] = {'x', (char)('0' + i), '\0'};
        world_get(w, p, &a, id, "usd");
    }
    usize calls = w->calls_cnt;
    world_get(w, p, &a, "ethereum", "usd");
    assert_int_equal(w->calls_cnt, calls + 1);
    assert_string_equal(w->calls[calls].name, "p1");
    /* both are down */
    w->mode[1] = WORLD_DROP;
    world_get(w, p, &a, "solana,bitcoin", "usd");
    expect(&a, 0, CD_PRICE_FAILED);
    expect(&a, 1, CD_PRICE_HIT);
    world_free(w);
}

static void test_median(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.median = true;
    cd_prices *p = world_open(w, 1, &cfg, 4, false);
    world_answer a;
    double base = price_of(w, "bitcoin");
    w->factor[1] = 1.01;
    w->factor[2] = 1.02;
    w->factor[3] = 3; /* lies */
    world_get(w, p, &a, "bitcoin", "usd");
    assert_int_equal(w->calls_cnt, 4);
    expect(&a, 0, CD_PRICE_FETCHED);
    assert_string_equal(a.source[0], "median");
    assert_true(fabs(a.price[0] - base * 1.01) < base * 1e-9);
    /* two answers are no majority: the preferred provider counts */
    w->mode[1] = WORLD_500;
    w->mode[2] = WORLD_HANG;
    world_get(w, p, &a, "ethereum", "usd");
    assert_string_equal(a.source[0], "p0");
    w->mode[0] = WORLD_DROP;
    world_get(w, p, &a, "solana", "usd");
    assert_string_equal(a.source[0], "p3");
    w->mode[3] = WORLD_DROP;
    world_get(w, p, &a, "lux", "usd");
    expect(&a, 0, CD_PRICE_FAILED);
    world_free(w);
}

/* What lies exactly five per cent from the median counts, what lies further does not. */
static void test_outliers(void **state)
{
    (void)state;
    static const struct {
        double factor, price;
    } rows[] = {{0.95, 19.5}, {0.9, 20}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        world *w = world_new();
        cd_prices_cfg cfg = world_cfg();
        cfg.median = true;
        cd_prices *p = world_open(w, 1, &cfg, 3, false);
        world_answer a;
        assert_true(price_of(w, "ah") == 20);
        w->factor[0] = rows[i].factor;
        w->factor[2] = 3;
        world_get(w, p, &a, "ah", "usd");
        assert_string_equal(a.source[0], "median");
        assert_true(a.price[0] == rows[i].price);
        world_free(w);
    }
}

static void test_swr_and_prefetch(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.swr = true;
    cfg.ttl_s = 100;
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    world_get(w, p, &a, "bitcoin", "usd");
    world_run(w, 101 * SECOND);
    assert_null(world_ask(p, &a, "bitcoin", "usd"));
    expect(&a, 0, CD_PRICE_STALE);
    world_run(w, 200);
    assert_null(world_ask(p, &a, "bitcoin", "usd"));
    expect(&a, 0, CD_PRICE_HIT);
    assert_int_equal(w->calls_cnt, 2);

    cfg.swr = false;
    cfg.prefetch = true;
    p = world_open(w, 1, &cfg, 1, false);
    world_get(w, p, &a, "bitcoin,ethereum", "usd");
    usize calls = w->calls_cnt;
    /* asked for in its time: never stale, and nobody waits */
    for (u32 i = 0; i < 50; i++) {
        world_run(w, 10 * SECOND);
        assert_null(world_ask(p, &a, "bitcoin", "usd"));
        expect(&a, 0, CD_PRICE_HIT);
    }
    assert_in_range(w->calls_cnt - calls, 5, 6);
    assert_null(strstr(w->calls[w->calls_cnt - 1].url, "ethereum"));
    world_free(w);
}

typedef struct watch {
    cd_prices *prices;
    usize *most;
} watch;

static void on_change_watch(void *ctx, const cd_price *price)
{
    const watch *x = ctx;
    cd_prices_state s;
    (void)price;
    cd_prices_state_get(x->prices, &s);
    *x->most = s.entries > *x->most ? s.entries : *x->most;
}

static void test_bounds(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.entries_max = 100;
    cfg.waiting_max = 20;
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    char id[32];
    for (u32 i = 0; i < 150; i++) {
        (void)snprintf(id, sizeof id, "token-%u", i);
        world_get(w, p, &a, id, "usd");
        (void)snprintf(id, sizeof id, "no-%u", i);
        world_get(w, p, &a, id, "usd");
        assert_null(world_ask(p, &a, "token-0", "usd")); /* used all the time */
        expect(&a, 0, CD_PRICE_HIT);
    }
    cd_prices_state s;
    cd_prices_state_get(p, &s);
    assert_int_equal(s.entries, 100);
    assert_int_equal(s.unknown, 13);
    (void)world_ask(p, &a, "token-149", "usd");
    expect(&a, 0, CD_PRICE_HIT);
    /* too many wait */
    (void)world_ask(p, &a, "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,token-0", "usd");
    world_run(w, 200);
    expect(&a, 19, CD_PRICE_FETCHED);
    expect(&a, 20, CD_PRICE_BUSY);
    expect(&a, 22, CD_PRICE_HIT);
    world_free(w);
}

/* One request for more than the cache may hold: all are answered, and the cache never holds more. */
static void test_bound_at_every_moment(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.entries_max = 10;
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    char ids[512] = "";
    for (u32 i = 0; i < 40; i++) {
        (void)snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%stoken-%u", i == 0 ? "" : ",", i);
    }
    usize most = 0;
    cd_prices_on_change(p, on_change_watch, &(watch){.prices = p, .most = &most});
    (void)world_ask(p, &a, ids, "usd");
    world_run(w, 200);
    for (usize i = 0; i < 40; i++) {
        expect(&a, i, CD_PRICE_FETCHED);
    }
    assert_int_equal(most, 10);
    cd_prices_state s;
    cd_prices_state_get(p, &s);
    assert_int_equal(s.entries, 10);
    /* What was only passing is gone, the rest is used again. */
    (void)world_ask(p, &a, "token-0,token-39", "usd");
    expect(&a, 0, CD_PRICE_HIT);
    world_run(w, 200);
    expect(&a, 1, CD_PRICE_FETCHED);
    cd_prices_state_get(p, &s);
    assert_int_equal(s.entries, 10);
    world_free(w);
}

/* A client asks for more new ids than it may, and others have what they want before it has what it may. */
static void test_new_ids(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cfg.new_ids_per_min = 30;
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    world_answer b;
    world_answer c;
    char ids[512] = "";
    for (u32 i = 0; i < 40; i++) {
        (void)snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%sno-%u", i == 0 ? "" : ",", i);
    }
    world_get(w, p, &c, "bitcoin", "usd");
    world_run(w, 3600 * SECOND);
    usize calls = w->calls_cnt;
    (void)world_ask_as(p, &a, ids, "usd", "198.51.100.7");
    (void)world_ask_as(p, &b, "lux", "usd", "198.51.100.8");
    (void)world_ask_as(p, &c, "bitcoin", "usd", "198.51.100.8");
    world_run(w, 200);
    expect(&a, 29, CD_PRICE_UNKNOWN);
    expect(&a, 30, CD_PRICE_BUSY);
    assert_true(a.retry_s[30] >= 1);
    expect(&b, 0, CD_PRICE_FETCHED);
    expect(&c, 0, CD_PRICE_FETCHED);
    assert_int_equal(w->calls_cnt, calls + 1);
    assert_non_null(strstr(w->calls[calls].url, "&ids=bitcoin,lux,no-0"));
    /* With time the client has a budget again. */
    world_run(w, 20 * SECOND);
    (void)world_ask_as(p, &a, "no-30,no-31", "usd", "198.51.100.7");
    world_run(w, 200);
    expect(&a, 1, CD_PRICE_UNKNOWN);
    world_free(w);
}

/* Only what is on the list is asked for. */
static void test_allowed(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    const cd_bytes allowed[] = {cd_bytes_str("bitcoin"), cd_bytes_str("lux")};
    cfg.allowed = allowed;
    cfg.allowed_cnt = CD_COUNT(allowed);
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    (void)world_ask(p, &a, "ethereum,bitcoin", "usd");
    world_run(w, 200);
    expect(&a, 0, CD_PRICE_UNKNOWN);
    expect(&a, 1, CD_PRICE_FETCHED);
    assert_int_equal(w->calls_cnt, 1);
    assert_null(strstr(w->calls[0].url, "ethereum"));
    world_free(w);
}

static void test_statics(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    const cd_prices_static lux = {.id = cd_bytes_str("lux"), .currency = cd_bytes_str("usd"), .price = 1.25};
    cfg.statics = &lux;
    cfg.statics_cnt = 1;
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    world_run(w, 10 * SECOND * 3600);
    assert_null(world_ask(p, &a, "lux", "usd"));
    expect(&a, 0, CD_PRICE_HIT);
    assert_true(a.price[0] == 1.25 && a.age_s[0] == 0);
    assert_string_equal(a.source[0], "static");
    assert_int_equal(w->calls_cnt, 0);
    world_free(w);
}

static void on_change(void *ctx, const cd_price *price)
{
    ++*(usize *)ctx;
    assert_true(price->id.n != 0 && *price->slot == NULL);
}

static bool on_visit(void *ctx, const cd_price *price, cd_price_state state)
{
    cd_buf *out = ctx;
    cd_buf_put(out, price->id);
    cd_buf_str(out, state == CD_PRICE_HIT ? "+" : "-");
    return out->n < 30;
}

static void test_looks(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, false);
    world_answer a;
    usize changes = 0;
    cd_buf seen = {0};
    cd_prices_on_change(p, on_change, &changes);
    world_get(w, p, &a, "bitcoin", "usd");
    world_get(w, p, &a, "ethereum,nosuch", "usd");
    assert_int_equal(changes, 2);
    world_run(w, 3600 * SECOND - 50);
    world_get(w, p, &a, "bitcoin", "usd");
    assert_int_equal(changes, 2); /* the same price again is no change */
    cd_prices_recent(p, on_visit, &seen);
    assert_string_equal(cd_buf_cstr(&seen), "bitcoin+ethereum-");
    cd_buf_clear(&seen);
    cd_prices_search(p, cd_bytes_str("S-ETH"), on_visit, &seen);
    assert_string_equal(cd_buf_cstr(&seen), "ethereum-");
    cd_buf_fini(&seen);
    world_free(w);
}

/* --- two gateways and one store --- */

static void test_shared(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *one = world_open(w, 1, &cfg, 1, true);
    cd_prices *two = world_open(w, 2, &cfg, 1, true);
    world_answer a;
    world_answer b;
    /* both at the same time: one call, whoever makes it */
    (void)world_ask(one, &a, "bitcoin,ethereum", "usd");
    (void)world_ask(two, &b, "ethereum,bitcoin", "usd");
    world_run(w, 1000);
    assert_true(a.is_there && b.is_there);
    assert_int_equal(w->calls_cnt, 1);
    assert_true(a.price[0] == price_of(w, "bitcoin") && b.price[1] == price_of(w, "bitcoin"));
    expect(&b, 0, CD_PRICE_FETCHED);
    /* what one has fetched, the other finds */
    world_get(w, one, &a, "solana", "usd");
    world_run(w, 10 * SECOND);
    world_get(w, two, &b, "solana", "usd");
    expect(&b, 0, CD_PRICE_HIT);
    assert_int_equal(b.age_s[0], 10);
    assert_int_equal(w->calls_cnt, 2);
    /* one is slow: what the other has goes out at once, though it is old */
    world_run(w, (u64)2 * 3600 * SECOND);
    w->latency_ns = 5 * CD_NS_PER_SEC;
    (void)world_ask(one, &a, "bitcoin", "usd");
    world_run(w, 50);
    (void)world_ask(two, &b, "bitcoin", "usd");
    world_run(w, 100);
    assert_true(b.is_there && !a.is_there);
    expect(&b, 0, CD_PRICE_STALE);
    world_run(w, 6 * SECOND);
    expect(&a, 0, CD_PRICE_FETCHED);
    w->latency_ns = 100 * CD_NS_PER_MS;
    /* one dies with a claim: the other waits until that ends */
    w->latency_ns = 100 * CD_NS_PER_SEC;
    cfg.timeout_ms = 20000;
    (void)world_ask(one, &a, "lux", "usd");
    world_run(w, 100);
    cd_prices_free(w->gateways[0].prices);
    w->gateways[0].prices = NULL;
    w->latency_ns = 100 * CD_NS_PER_MS;
    (void)world_ask(two, &b, "lux", "usd");
    world_run(w, 1500);
    assert_false(b.is_there);
    world_run(w, 1000);
    assert_true(b.is_there);
    expect(&b, 0, CD_PRICE_FETCHED);
    world_free(w);
}

static void test_shared_away(void **state)
{
    (void)state;
    world *w = world_new();
    cd_prices_cfg cfg = world_cfg();
    cd_prices *p = world_open(w, 1, &cfg, 1, true);
    world_answer a;
    world_answer b;
    cd_prices_state s;
    (void)world_ask(p, &a, "bitcoin", "usd"); /* the store goes away while it is asked */
    cd_prices_run(p);
    w->store_is_away = true;
    world_run(w, 300);
    expect(&a, 0, CD_PRICE_FETCHED);
    world_get(w, p, &b, "ethereum", "usd");
    expect(&b, 0, CD_PRICE_FETCHED);
    cd_prices_state_get(p, &s);
    assert_false(s.is_shared);
    /* the provider fails with claims taken: they are given back */
    w->store_is_away = false;
    w->mode[0] = WORLD_500;
    world_get(w, p, &a, "solana", "usd");
    expect(&a, 0, CD_PRICE_FAILED);
    w->mode[0] = WORLD_OK;
    cd_prices *two = world_open(w, 2, &cfg, 1, true);
    world_get(w, two, &b, "solana", "usd");
    expect(&b, 0, CD_PRICE_FETCHED);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_miss_hit_stale_refresh),
        cmocka_unit_test(test_stale_for_each_failure),
        cmocka_unit_test(test_limited),
        cmocka_unit_test(test_single_flight),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_half_failing_hour),
        cmocka_unit_test(test_breaker),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_swr_and_prefetch),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bound_at_every_moment),
        cmocka_unit_test(test_new_ids),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_statics),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_shared_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
