/* The relay's machine in a world of its own: chains that fail, hang, lose transactions and are killed at any moment. */
#include "relay/core.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHAINS = 3, MESSAGES = 400, POOL = 256, JOBS = 1024 };

/* A message as the world knows it: where it was sent, and how often it was executed. */
typedef struct sent {
    cd_relay_pos at;
    u32 source, destination;
    u32 times;
    bool is_poison; /* never taken */
} sent;

/* An account's transactions at a chain. */
typedef struct dest {
    u64 accepted;
    u64 nonces[POOL];
    u32 msgs[POOL];
    usize cnt;
    bool hangs;
    u32 reverted;
} dest;

/* What is under way: an action and when its answer comes. */
typedef struct job {
    cd_relay_action a;
    u64 at;
} job;

typedef struct world {
    cd_rng rng;
    u64 now;
    u64 said; /* when the last message was */
    u64 height[CHAINS];
    sent msgs[MESSAGES];
    usize cnt;
    dest dests[CHAINS];
    cd_relay_route routes[CHAINS * CHAINS];
    usize route_cnt;
    cd_relay_core *core;
    job jobs[JOBS];
    usize job_cnt;
    u32 trouble; /* per cent of actions that fail */
    u32 delivered, given_up, sends;
} world;

static cd_relay_limits limits = {.source_max = 40, .window = 8, .attempts_max = 6, .scan_blocks = 5};

static u32 dice(world *w, u32 n)
{
    return (u32)(cd_rng_u64(&w->rng) % n);
}

static void begin(world *w)
{
    w->core = cd_relay_core_new(&limits, CHAINS, w->routes, w->route_cnt);
    w->job_cnt = 0;
}

static void setup(world *w, u64 seed)
{
    *w = (world){.rng = cd_rng_seeded(seed), .now = 1};
    for (u32 s = 0; s < CHAINS; s++) {
        for (u32 d = 0; d < CHAINS; d++) {
            if (s != d) {
                w->routes[w->route_cnt++] = (cd_relay_route){.source = s, .destination = d};
            }
        }
    }
    begin(w);
}

/* Killed: of all that was known only the places stay, as they were written down. */
static void kill_and_begin(world *w)
{
    for (u32 i = 0; i < w->route_cnt; i++) {
        w->routes[i].from = cd_relay_cursor(w->core, i);
    }
    cd_relay_core_free(w->core);
    begin(w);
}

/* A block that was told does not change: messages share one only when nothing runs meanwhile. */
static void say(world *w, u32 source, u32 destination)
{
    usize same = 0;
    w->height[source] += w->now != w->said || dice(w, 3) != 0;
    w->said = w->now;
    for (usize i = 0; i < w->cnt; i++) {
        same += w->msgs[i].source == source && w->msgs[i].at.block == w->height[source];
    }
    w->msgs[w->cnt++] = (sent){.at = {w->height[source], 2 * same}, .source = source, .destination = destination};
}

static void pool_put(dest *d, u64 nonce, u32 msg)
{
    for (usize i = 0; i < d->cnt; i++) {
        if (d->nonces[i] == nonce) {
            d->msgs[i] = msg;
            return;
        }
    }
    assert_true(d->cnt < POOL);
    d->nonces[d->cnt] = nonce;
    d->msgs[d->cnt++] = msg;
}

static bool pool_has(const dest *d, u64 nonce, usize *at)
{
    for (usize i = 0; i < d->cnt; i++) {
        if (d->nonces[i] == nonce) {
            *at = i;
            return true;
        }
    }
    return false;
}

/* A block: all transactions without a gap. The contract takes each message once. */
static void mine(world *w, u32 at)
{
    dest *d = &w->dests[at];
    usize i;
    while (pool_has(d, d->accepted, &i)) {
        sent *m = &w->msgs[d->msgs[i]];
        d->accepted++;
        d->reverted += m->times != 0;
        m->times += m->times == 0 && !m->is_poison;
        d->cnt--;
        d->nonces[i] = d->nonces[d->cnt];
        d->msgs[i] = d->msgs[d->cnt];
    }
}

static u32 number_of(const cd_relay_msg *m)
{
    return (u32)m->id.b[0] << 8 | m->id.b[1];
}

static void scan(world *w, const cd_relay_action *a)
{
    cd_relay_pos to = {a->to + 1, 0};
    for (u32 i = 0; i < w->cnt; i++) {
        const sent *m = &w->msgs[i];
        if (m->source != a->source || m->destination != a->destination || m->at.block < a->from.block ||
            m->at.block > a->to) {
            continue;
        }
        const cd_relay_msg init = {.at = m->at, .id = {{(u8)(i >> 8), (u8)i}}};
        if (cd_relay_found(w->core, a->route, &init, w->now) != CD_OK) {
            to = m->at;
            break;
        }
    }
    cd_relay_scanned(w->core, a->route, CD_RELAY_DONE, to, w->now);
}

static void send(world *w, const cd_relay_action *a, bool is_lost)
{
    w->sends++;
    dest *d = &w->dests[a->destination];
    cd_relay_end end = CD_RELAY_DONE;
    if (a->nonce < d->accepted) {
        end = CD_RELAY_TOO_LATE;
    } else if (!is_lost || dice(w, 2) == 0) {
        pool_put(d, a->nonce, number_of(a->msg)); /* also when the answer does not come back */
    }
    cd_relay_sent(w->core, a->msg, is_lost ? (dice(w, 3) == 0 ? CD_RELAY_REFUSED : CD_RELAY_UNREACHABLE) : end, w->now);
}

static void answer(world *w, const cd_relay_action *a)
{
    dest *d = &w->dests[a->destination];
    bool fails = dice(w, 100) < w->trouble;
    bool to_dest = a->what == CD_RELAY_NONCES || a->what == CD_RELAY_CHECK || a->what == CD_RELAY_SEND;
    bool hangs = to_dest && d->hangs;
    cd_relay_end end = fails || hangs ? CD_RELAY_UNREACHABLE : CD_RELAY_DONE;
    u64 known = d->accepted;
    usize i;
    switch (a->what) {
    case CD_RELAY_HEAD:
        cd_relay_head(w->core, a->source, end, w->height[a->source], w->now);
        break;
    case CD_RELAY_SCAN:
        if (fails) {
            cd_relay_scanned(w->core, a->route, end, a->from, w->now);
        } else {
            scan(w, a);
        }
        break;
    case CD_RELAY_NONCES:
        while (pool_has(d, known, &i)) {
            known++;
        }
        cd_relay_nonces(w->core, a->destination, end, d->accepted, known, w->now);
        break;
    case CD_RELAY_CHECK:
        cd_relay_checked(w->core, a->msg, end, w->msgs[number_of(a->msg)].times != 0, w->now);
        break;
    case CD_RELAY_SIGN:
        cd_buf_str(&a->msg->signed_msg, "signed");
        cd_relay_signed(w->core, a->msg, end, w->now);
        break;
    case CD_RELAY_SEND:
        if (hangs) {
            cd_relay_sent(w->core, a->msg, CD_RELAY_UNREACHABLE, w->now);
        } else {
            send(w, a, fails);
        }
        break;
    case CD_RELAY_TELL:
        w->delivered += a->was_delivered;
        w->given_up += !a->was_delivered;
        break;
    }
}

static void step(world *w)
{
    cd_relay_action a;
    while (cd_relay_next(w->core, &a, w->now)) {
        if (a.what == CD_RELAY_TELL) {
            answer(w, &a);
            continue;
        }
        assert_true(w->job_cnt < JOBS);
        w->jobs[w->job_cnt++] = (job){a, w->now + 1 + dice(w, 40)};
    }
    w->now += 10;
    for (usize i = 0; i < w->job_cnt;) {
        if (w->jobs[i].at > w->now) {
            i++;
            continue;
        }
        a = w->jobs[i].a;
        w->jobs[i] = w->jobs[--w->job_cnt];
        answer(w, &a);
    }
    for (u32 i = 0; i < CHAINS; i++) {
        assert_true(cd_relay_look_at(w->core, i).at_work <= limits.window);
        if (dice(w, 20) == 0) {
            mine(w, i);
        }
        if (w->trouble != 0 && w->dests[i].cnt != 0 && dice(w, 3000) == 0) {
            w->dests[i].cnt = 0; /* a node that loses its pool */
        }
    }
}

static usize arrived(const world *w, u32 destination)
{
    usize n = 0;
    for (usize i = 0; i < w->cnt; i++) {
        n += w->msgs[i].destination == destination && w->msgs[i].times == 1;
    }
    return n;
}

static usize expected(const world *w, u32 destination)
{
    usize n = 0;
    for (usize i = 0; i < w->cnt; i++) {
        n += w->msgs[i].destination == destination && !w->msgs[i].is_poison;
    }
    return n;
}

static void run_until_there(world *w, u32 seconds)
{
    u64 end = w->now + 1000ull * seconds;
    bool is_there = false;
    while (!is_there && w->now < end) {
        step(w);
        is_there = true;
        for (u32 d = 0; d < CHAINS; d++) {
            is_there = is_there && arrived(w, d) == expected(w, d);
        }
    }
    assert_true(is_there);
}

static void each_once_without_trouble(void **state)
{
    (void)state;
    world *w = cd_new(world);
    setup(w, 1);
    for (u32 i = 0; i < 300; i++) {
        say(w, i % CHAINS, (i + 1 + i / 7 % 2) % CHAINS);
    }
    run_until_there(w, 120);
    for (u32 i = 0; i < 200; i++) {
        step(w);
    }
    assert_int_equal(w->delivered, 300);
    for (u32 d = 0; d < CHAINS; d++) {
        assert_int_equal(w->dests[d].reverted, 0);
        assert_int_equal(w->dests[d].accepted, arrived(w, d)); /* one transaction a message */
        assert_int_equal(cd_relay_look_at(w->core, d).waiting, 0);
        assert_int_equal(cd_relay_look_at(w->core, d).at_work, 0);
    }
    cd_relay_core_free(w->core);
    cd_free(w);
}

static void killed_in_trouble(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 20; seed++) {
        world *w = cd_new(world);
        setup(w, seed);
        w->trouble = (u32)(seed % 4) * 8;
        limits.attempts_max = 1000;
        for (u32 i = 0; i < 300; i++) {
            say(w, i % CHAINS, (i + 1 + i / 7 % 2) % CHAINS);
            for (u32 k = 0; k < 8; k++) {
                step(w);
            }
            if (i % 15 == 14) {
                kill_and_begin(w);
            }
        }
        w->trouble = 0;
        limits.attempts_max = 6;
        run_until_there(w, 600);
        cd_relay_core_free(w->core);
        cd_free(w);
    }
}

static void one_that_hangs_stops_no_other(void **state)
{
    (void)state;
    world *w = cd_new(world);
    setup(w, 3);
    w->dests[2].hangs = true;
    for (u32 i = 0; i < 300; i++) {
        say(w, 0, 1 + i % 2);
    }
    for (u32 i = 0; i < 12000; i++) {
        step(w);
    }
    assert_int_equal(arrived(w, 1), 150);
    assert_int_equal(arrived(w, 2), 0);
    assert_true(cd_relay_look_at(w->core, 0).waiting <= limits.source_max);
    assert_true(cd_relay_look_at(w->core, 2).destination_fails > 3);
    kill_and_begin(w);
    w->dests[2].hangs = false;
    run_until_there(w, 300);
    cd_relay_core_free(w->core);
    cd_free(w);
}

static void what_is_refused_for_ever_is_given_up(void **state)
{
    (void)state;
    world *w = cd_new(world);
    setup(w, 4);
    for (u32 i = 0; i < 60; i++) {
        say(w, 0, 1);
        w->msgs[i].is_poison = i % 10 == 0;
    }
    run_until_there(w, 60);
    for (u32 i = 0; i < 12000; i++) {
        step(w);
    }
    assert_int_equal(w->delivered, 54);
    assert_int_equal(w->given_up, 6);
    assert_int_equal(cd_relay_look_at(w->core, 0).waiting, 0);
    assert_true(w->dests[1].accepted <= 54 + 6 * limits.attempts_max);
    cd_relay_core_free(w->core);
    cd_free(w);
}

/* What an earlier life has sent and is not in a block yet is waited for, and then found delivered. */
static void waits_for_an_earlier_life(void **state)
{
    (void)state;
    world *w = cd_new(world);
    setup(w, 5);
    for (u32 i = 0; i < 5; i++) {
        say(w, 0, 1);
        pool_put(&w->dests[1], i, i);
    }
    run_until_there(w, 60);
    for (u32 i = 0; i < 500; i++) {
        step(w);
    }
    assert_int_equal(w->dests[1].accepted, 5);
    assert_int_equal(w->sends, 0);
    assert_int_equal(w->delivered, 5);
    cd_relay_core_free(w->core);
    cd_free(w);
}

/* A gap before what waits in the pool is filled. */
static void fills_a_gap(void **state)
{
    (void)state;
    world *w = cd_new(world);
    setup(w, 6);
    for (u32 i = 0; i < 3; i++) {
        say(w, 0, 1);
    }
    run_until_there(w, 60);
    w->dests[1].accepted -= 1; /* the chain says less than it did: as after a pool that lost what it had */
    for (u32 i = 0; i < 40; i++) {
        say(w, 0, 1);
    }
    run_until_there(w, 20); /* before the time after which open transactions count as stalled */
    cd_relay_core_free(w->core);
    cd_free(w);
}

/* More messages in one block than a route may hold: the rest is read when there is room, none twice. */
static void a_block_that_is_too_much(void **state)
{
    (void)state;
    world *w = cd_new(world);
    setup(w, 7);
    w->dests[1].hangs = true;
    w->height[0] = 1;
    for (u32 i = 0; i < 100; i++) {
        w->msgs[w->cnt++] = (sent){.at = {1, 2ull * i}, .source = 0, .destination = 1};
    }
    for (u32 i = 0; i < 2000; i++) {
        step(w);
        assert_true(cd_relay_look_at(w->core, 0).waiting <= limits.source_max / 2);
    }
    w->dests[1].hangs = false;
    run_until_there(w, 120);
    for (u32 i = 0; i < 500; i++) {
        step(w);
    }
    assert_int_equal(w->delivered, 100);
    cd_relay_core_free(w->core);
    cd_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_once_without_trouble),     cmocka_unit_test(killed_in_trouble),
        cmocka_unit_test(one_that_hangs_stops_no_other), cmocka_unit_test(what_is_refused_for_ever_is_given_up),
        cmocka_unit_test(waits_for_an_earlier_life),     cmocka_unit_test(fills_a_gap),
        cmocka_unit_test(a_block_that_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
