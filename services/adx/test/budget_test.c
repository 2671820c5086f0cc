#include "services/adx/ledger/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char dir[] = "/tmp/adx-budget-XXXXXX";

typedef struct world {
    cd_loop *loop;
    cd_clerk *clerk;
    cd_budget *budget;
    cd_clock_virtual clock;
    cd_timer *until;
    bool (*is_enough)(struct world *w);
    char url[64];
} world;

static void stop(void *ctx)
{
    cd_loop_stop(((world *)ctx)->loop);
}

static void on_tick(void *ctx)
{
    world *w = ctx;
    if (w->is_enough(w)) {
        cd_timer_stop(w->until);
        cd_loop_stop(w->loop);
    }
}

static void run_until(world *w, bool (*is_enough)(world *w))
{
    w->is_enough = is_enough;
    cd_timer_start(w->until, 0, 2);
    cd_loop_run(w->loop);
}

static void open_world(world *w, const char *name)
{
    cd_errinfo why = {0};
    cd_clock_virtual_init(&w->clock, 1700000000ull * CD_NS_PER_SEC);
    (void)snprintf(w->url, sizeof w->url, "sqlite:%s/%s.db", dir, name);
    assert_int_equal(cd_loop_new(&w->loop, &why), CD_OK);
    assert_int_equal(cd_clerk_open(&w->clerk, w->loop, w->url, &why), CD_OK);
    const cd_budget_cfg cfg = {.loop = w->loop, .clerk = w->clerk, .clock = &w->clock.clock, .promise_max_s = 100};
    w->budget = cd_budget_new(&cfg);
    w->until = cd_timer_new(w->loop, on_tick, w);
}

/* is_killed: without giving anything back. */
static void close_world(world *w, bool is_killed)
{
    if (!is_killed) {
        cd_budget_end(w->budget, stop, w);
        cd_loop_run(w->loop);
    }
    cd_clerk_close(w->clerk);
    cd_budget_free(w->budget);
    cd_timer_free(w->until);
    cd_loop_free(w->loop);
}

static bool has_some(world *w)
{
    return cd_budget_left(w->budget, 0) > 0;
}

static bool has_half(world *w)
{
    return cd_budget_left(w->budget, 0) == 5000;
}

static bool has_all(world *w)
{
    return cd_budget_left(w->budget, 0) + cd_budget_reserved(w->budget, 0) == 10000;
}

static i64 account(const char *url, const char *name)
{
    cd_ledger *l = NULL;
    cd_errinfo why = {0};
    i64 v = -1;
    assert_int_equal(cd_ledger_open(&l, url, true, &why), CD_OK);
    assert_int_equal(cd_ledger_account(l, &v, name, &why), CD_OK);
    cd_ledger_close(l);
    return v;
}

static void token_of(u8 out[CD_LEDGER_TOKEN_LEN], u32 n)
{
    memset(out, 0, CD_LEDGER_TOKEN_LEN);
    cd_put_be32(out, n);
}

/* Promises never exceed the budget; what expires can be promised again; what is settled cannot. */
static void test_promises(void **state)
{
    (void)state;
    world w = {0};
    u8 token[CD_LEDGER_TOKEN_LEN];
    i64 lease;
    open_world(&w, "promises");
    assert_int_equal(cd_budget_put(w.budget, "c1", 10000, 0, 100), 0);
    run_until(&w, has_all);
    assert_true(cd_budget_is_ready(w.budget));
    for (u32 i = 0; i < 100; i++) {
        token_of(token, i);
        assert_true(cd_budget_reserve(w.budget, &lease, 0, 100, token, i < 50 ? 10 : 90));
    }
    token_of(token, 500);
    assert_false(cd_budget_reserve(w.budget, &lease, 0, 1, token, 10));
    token_of(token, 1);
    cd_budget_settle(w.budget, token);
    cd_budget_settle(w.budget, token);
    token_of(token, 60);
    cd_budget_cancel(w.budget, token);
    assert_int_equal(cd_budget_left(w.budget, 0), 100);
    cd_clock_virtual_advance(&w.clock, 13 * CD_NS_PER_SEC);
    run_until(&w, has_half);
    cd_budget_settle(w.budget, token); // nobody knows it any more
    close_world(&w, false);
    assert_int_equal(account(w.url, "escrow/c1") + account(w.url, "leased/c1"), 10000);
    assert_int_equal(account(w.url, "leased/c1"), 5000); // 49 of 50 live on, and the one that was settled
}

/* What a killed process had leased is nobody's until the lease ends. */
static void test_killed(void **state)
{
    (void)state;
    world w = {0};
    u8 token[CD_LEDGER_TOKEN_LEN];
    i64 lease;
    open_world(&w, "killed");
    assert_int_equal(cd_budget_put(w.budget, "c1", 10000, 0, 1), 0);
    run_until(&w, has_some);
    token_of(token, 1);
    i64 had = cd_budget_left(w.budget, 0);
    assert_true(had < 10000);
    assert_true(cd_budget_reserve(w.budget, &lease, 0, 10, token, 10));
    close_world(&w, true);
    assert_true(account(w.url, "leased/c1") >= had);
    i64 lost = account(w.url, "leased/c1");
    open_world(&w, "killed");
    assert_int_equal(cd_budget_put(w.budget, "c1", 10000, 0, 1), 0);
    run_until(&w, has_some);
    close_world(&w, false);
    assert_int_equal(account(w.url, "leased/c1"), lost);
    open_world(&w, "killed");
    cd_clock_virtual_advance(&w.clock, 1000 * CD_NS_PER_SEC);
    assert_int_equal(cd_budget_put(w.budget, "c1", 10000, 0, 1), 0);
    run_until(&w, has_some);
    close_world(&w, false);
    assert_int_equal(account(w.url, "leased/c1"), 0);
    assert_int_equal(account(w.url, "escrow/c1"), 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_killed),
    };
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
