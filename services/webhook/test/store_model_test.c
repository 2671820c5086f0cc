/* The state machine in SQL against the same one in C: random events, claims, outcomes, pauses, deaths. */
#include "services/webhook/test/store_rig.h"

#include "base/os/rng.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOOKS = 4, STRICT = 2, ROWS_MAX = 4000, PER_HOOK = 3, LEASE_MS = 60000 };

typedef struct model_row {
    i64 key;
    u32 hook;
    u64 sequence;
    cd_wh_state state;
    u32 attempts;
    u64 next_ms, lease_ms; /* lease_ms: until when, while DELIVERING */
} model_row;

typedef struct model {
    rig r;
    cd_rng rng;
    i64 hooks[HOOKS];
    bool active[HOOKS];
    bool gone[HOOKS];
    u64 sequence[HOOKS];
    u64 block;
    model_row rows[ROWS_MAX];
    usize cnt;
} model;

static bool is_strict(u32 hook)
{
    return hook == STRICT;
}

static u32 in_hand(const model *m, u32 hook)
{
    u32 n = 0;
    for (usize i = 0; i < m->cnt; i++) {
        n += m->rows[i].hook == hook && m->rows[i].state == CD_WH_DELIVERING ? 1 : 0;
    }
    return n;
}

static bool waits(const model_row *r)
{
    return r->state == CD_WH_PENDING || r->state == CD_WH_RETRYING;
}

static model_row *find(model *m, i64 key)
{
    assert_true(key >= 1 && (usize)key <= m->cnt);
    assert_int_equal(m->rows[key - 1].key, key);
    return &m->rows[key - 1];
}

static void take(model *m, model_row *r)
{
    r->state = CD_WH_DELIVERING;
    r->lease_ms = rig_now(&m->r) + LEASE_MS;
}

static void do_enqueue(model *m)
{
    cd_wh_event events[6];
    u32 hooks[6];
    usize n = cd_rng_below(&m->rng, 6);
    cd_wh_enqueued made;
    u8 hash[32] = {0};
    usize at = 0;
    m->block++;
    for (u32 i = 0; i < n; i++) {
        hooks[i] = (u32)cd_rng_below(&m->rng, HOOKS);
        events[i] = rig_event(&m->r, m->hooks[hooks[i]], m->block, i);
    }
    rig_begin(&m->r);
    rig_ok(cd_wh_enqueue(m->r.s, &made, &m->r.mem, events, n, "lux", m->block, hash, why));
    rig_commit(&m->r);
    for (usize i = 0; i < n; i++) {
        u32 h = hooks[i];
        model_row *r = &m->rows[m->cnt++];
        *r = (model_row){.key = (i64)m->cnt, .hook = h, .sequence = ++m->sequence[h]};
        r->state = m->gone[h] ? CD_WH_CANCELLED : m->active[h] ? CD_WH_PENDING : CD_WH_SKIPPED;
        r->next_ms = rig_now(&m->r);
        if (at < made.cnt && made.made[at].key == r->key) {
            assert_int_equal(r->state, CD_WH_PENDING);
            for (usize k = 0; k + 1 < m->cnt; k++) { /* nothing that waits for a first attempt is overtaken */
                const model_row *o = &m->rows[k];
                assert_false(o->hook == h && o->state == CD_WH_PENDING);
                assert_false(is_strict(h) && o->hook == h && waits(o));
            }
            assert_true(in_hand(m, h) < (is_strict(h) ? 1 : 4));
            take(m, r);
            at++;
        }
    }
    assert_int_equal(at, made.cnt);
}

static void do_claim(model *m)
{
    cd_wh_delivery *got = NULL;
    usize cnt = 0;
    u64 now = rig_now(&m->r);
    u32 max = 1 + (u32)cd_rng_below(&m->rng, 12);
    rig_begin(&m->r);
    rig_ok(cd_wh_claim(m->r.s, &got, &cnt, &m->r.mem, now, LEASE_MS, max, PER_HOOK, why));
    rig_commit(&m->r);
    assert_true(cnt <= max);
    /* A queue that is not active gives up what a dead worker had. */
    for (usize i = 0; i < m->cnt; i++) {
        model_row *r = &m->rows[i];
        if (r->state == CD_WH_DELIVERING && r->lease_ms <= now && !m->active[r->hook] && cnt < max) {
            r->state = m->gone[r->hook] ? CD_WH_CANCELLED : CD_WH_HELD;
        }
    }
    for (usize i = 0; i < cnt; i++) {
        model_row *r = find(m, got[i].key);
        assert_int_equal(got[i].attempts, r->attempts);
        assert_true(m->active[r->hook]);
        bool was_dead = r->state == CD_WH_DELIVERING && r->lease_ms <= now;
        assert_true(was_dead || (waits(r) && r->next_ms <= now));
        for (usize k = 0; k < m->cnt; k++) {
            const model_row *o = &m->rows[k];
            if (o->hook == r->hook && o->sequence < r->sequence) {
                assert_false(is_strict(r->hook) && (waits(o) || o->state == CD_WH_DELIVERING));
                assert_false(r->state == CD_WH_PENDING && o->state == CD_WH_PENDING && o->next_ms <= r->next_ms);
            }
        }
        take(m, r);
        if (!was_dead) {
            assert_true(in_hand(m, r->hook) <= (is_strict(r->hook) ? 1 : PER_HOOK));
        }
    }
}

/* Settles one that is in hand, at random. */
static void do_settle(model *m)
{
    usize from = m->cnt == 0 ? 0 : cd_rng_below(&m->rng, m->cnt);
    for (usize i = 0; i < m->cnt; i++) {
        model_row *r = &m->rows[(from + i) % m->cnt];
        if (r->state != CD_WH_DELIVERING) {
            continue;
        }
        static const cd_wh_state outcomes[] = {CD_WH_DELIVERED, CD_WH_DELIVERED, CD_WH_RETRYING, CD_WH_FAILED,
                                               CD_WH_PENDING};
        cd_wh_state to = outcomes[cd_rng_below(&m->rng, CD_COUNT(outcomes))];
        u64 next = to == CD_WH_RETRYING ? rig_now(&m->r) + cd_rng_below(&m->rng, 20000) : rig_now(&m->r);
        const cd_wh_attempt a = {.number = r->attempts + 1, .status = 500, .error = "", .request = "", .response = ""};
        const cd_wh_delivery d = {.key = r->key, .hook = m->hooks[r->hook], .attempts = r->attempts};
        rig_begin(&m->r);
        rig_ok(cd_wh_settle(m->r.s, &d, to == CD_WH_PENDING ? NULL : &a, to, next, why));
        rig_commit(&m->r);
        r->attempts += to == CD_WH_PENDING ? 0 : 1;
        r->next_ms = next;
        r->state = to;
        if (waits(r)) {
            r->state = m->gone[r->hook] ? CD_WH_CANCELLED : m->active[r->hook] ? to : CD_WH_HELD;
        }
        return;
    }
}

static void do_status(model *m)
{
    u32 h = (u32)cd_rng_below(&m->rng, HOOKS);
    bool changed = false;
    if (m->gone[h]) {
        return;
    }
    rig_begin(&m->r);
    if (m->active[h]) {
        rig_ok(cd_wh_hook_pause(m->r.s, &changed, m->hooks[h], CD_WH_PAUSED, why));
    } else {
        rig_ok(cd_wh_hook_resume(m->r.s, &changed, m->hooks[h], why));
    }
    rig_commit(&m->r);
    assert_true(changed);
    m->active[h] = !m->active[h];
    for (usize i = 0; i < m->cnt; i++) {
        model_row *r = &m->rows[i];
        if (r->hook != h) {
            continue;
        }
        if (!m->active[h] && waits(r)) {
            r->state = CD_WH_HELD;
        } else if (m->active[h] && r->state == CD_WH_HELD) {
            r->state = r->attempts == 0 ? CD_WH_PENDING : CD_WH_RETRYING;
            r->next_ms = rig_now(&m->r);
        }
    }
}

/* The process dies and comes back: what it had waits again, in its place. */
static void do_die(model *m)
{
    rig_again(&m->r);
    for (usize i = 0; i < m->cnt; i++) {
        model_row *r = &m->rows[i];
        if (r->state == CD_WH_DELIVERING) {
            r->state = m->gone[r->hook]      ? CD_WH_CANCELLED
                       : !m->active[r->hook] ? CD_WH_HELD
                       : r->attempts == 0    ? CD_WH_PENDING
                                             : CD_WH_RETRYING;
        }
    }
}

static void do_delete(model *m)
{
    u32 h = HOOKS - 1;
    if (m->gone[h]) {
        return;
    }
    rig_begin(&m->r);
    rig_ok(cd_wh_hook_delete(m->r.s, m->hooks[h], why));
    rig_commit(&m->r);
    m->gone[h] = true;
    m->active[h] = false;
    for (usize i = 0; i < m->cnt; i++) {
        model_row *r = &m->rows[i];
        if (r->hook == h && (waits(r) || r->state == CD_WH_HELD)) {
            r->state = CD_WH_CANCELLED;
        }
    }
}

static void compare(model *m)
{
    usize seen = 0;
    rig_begin(&m->r);
    for (u32 h = 0; h < HOOKS; h++) {
        cd_wh_delivery *rows = NULL;
        usize cnt = 0;
        const cd_wh_delivery_query q = {.hook = m->hooks[h], .limit = ROWS_MAX};
        rig_ok(cd_wh_delivery_list(m->r.s, &rows, &cnt, &m->r.mem, &q, why));
        for (usize i = 0; i < cnt; i++) {
            const model_row *r = find(m, rows[i].key);
            if (rows[i].state != r->state || rows[i].attempts != r->attempts) {
                fail_msg("row %lld of webhook %u: %d after %u attempts, should be %d after %u", (long long)r->key, h,
                         (int)rows[i].state, rows[i].attempts, (int)r->state, r->attempts);
            }
            assert_int_equal(rows[i].sequence, r->sequence);
        }
        seen += cnt;
    }
    rig_commit(&m->r);
    assert_int_equal(seen, m->cnt);
}

/* In the end everything that waits goes out. */
static void drain(model *m)
{
    for (u32 h = 0; h < HOOKS; h++) {
        bool changed = false;
        if (!m->gone[h] && !m->active[h]) {
            rig_begin(&m->r);
            rig_ok(cd_wh_hook_resume(m->r.s, &changed, m->hooks[h], why));
            rig_commit(&m->r);
        }
    }
    for (u32 turn = 0;; turn++) {
        cd_wh_delivery *got = NULL;
        usize cnt = 0;
        u64 due = 0;
        const cd_wh_attempt a = {.number = 9, .status = 200, .error = "", .request = "", .response = ""};
        rig_begin(&m->r);
        rig_ok(cd_wh_claim(m->r.s, &got, &cnt, &m->r.mem, rig_now(&m->r), LEASE_MS, 50, PER_HOOK, why));
        for (usize i = 0; i < cnt; i++) {
            rig_ok(cd_wh_settle(m->r.s, &got[i], &a, CD_WH_DELIVERED, 0, why));
        }
        rig_ok(cd_wh_next_due(m->r.s, &due, why));
        rig_commit(&m->r);
        if (due == UINT64_MAX) {
            break;
        }
        assert_true(turn < 3 * ROWS_MAX);
        if (cnt == 0 && due > rig_now(&m->r)) {
            rig_wait(&m->r, due - rig_now(&m->r));
        }
        cd_arena_reset(&m->r.mem);
    }
    cd_wh_delivery *rows = NULL;
    usize cnt = 0;
    const cd_wh_delivery_query q = {.project = "p", .limit = ROWS_MAX};
    rig_begin(&m->r);
    rig_ok(cd_wh_delivery_list(m->r.s, &rows, &cnt, &m->r.mem, &q, why));
    rig_commit(&m->r);
    assert_int_equal(cnt, m->cnt);
    for (usize i = 0; i < cnt; i++) {
        assert_true(rows[i].state == CD_WH_DELIVERED || rows[i].state == CD_WH_FAILED ||
                    rows[i].state == CD_WH_SKIPPED || rows[i].state == CD_WH_CANCELLED);
    }
}

static void play(usize engine, u64 seed, u32 steps)
{
    static model m;
    memset(&m, 0, sizeof m);
    m.rng = cd_rng_seeded(seed);
    rig_open(&m.r, engine);
    rig_begin(&m.r);
    for (u32 h = 0; h < HOOKS; h++) {
        m.hooks[h] = rig_hook(&m.r, h, is_strict(h));
        m.active[h] = true;
    }
    rig_commit(&m.r);
    for (u32 i = 0; i < steps && m.cnt + 6 < ROWS_MAX; i++) {
        u64 what = cd_rng_below(&m.rng, 100);
        if (what < 25) {
            do_enqueue(&m);
        } else if (what < 50) {
            do_claim(&m);
        } else if (what < 85) {
            do_settle(&m);
        } else if (what < 93) {
            rig_wait(&m.r, cd_rng_below(&m.rng, 15000));
        } else if (what < 97) {
            do_status(&m);
        } else if (what < 99) {
            do_die(&m);
        } else if (i > steps / 2) {
            do_delete(&m);
        }
        if (engine == 0 || i % 8 == 0) {
            compare(&m);
        }
        cd_arena_reset(&m.r.mem);
    }
    drain(&m);
    rig_close(&m.r);
}

static void test_model(void **state)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    u64 more = full != NULL && strcmp(full, "1") == 0 ? 10 : 1;
    (void)state;
    for (usize engine = 0; engine < engines_count(); engine++) {
        for (u64 seed = 1; seed <= (engine == 0 ? 5u : 1u) * more; seed++) {
            play(engine, seed, 300);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};
    return cmocka_run_group_tests(tests, NULL, engines_group_end);
}
