/* Frequency capping: counts, caps, epochs, many counters, and tokens that are good once, through kill -9. */
#include "services/adx/cap/freq.h"

#include "base/os/fileio.h"
#include "services/common/test/engines.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0: SQLite, 1: PostgreSQL. */
static usize engine;

typedef struct rig {
    char dir[64], url[256];
    cd_rng rng;
    cd_sql *q;
    cd_spent_sql *sql;
    cd_freq *freq;
    usize count_max;
} rig;

static void rig_open(rig *r)
{
    cd_errinfo why = {0};
    if (cd_sql_open(&r->q, &(cd_sql_cfg){.url = r->url, .may_write = true}, &why) != CD_OK ||
        cd_spent_sql_open(&r->sql, r->q, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_freq_cfg cfg = {.store = cd_spent_sql_store(r->sql), .rng = &r->rng, .window_s = 100, .count_max = r->count_max};
    assert_int_equal(cd_freq_new(&r->freq, &cfg, &why), CD_OK);
}

static void rig_close(rig *r)
{
    cd_freq_free(r->freq);
    cd_spent_sql_close(r->sql);
    cd_sql_close(r->q);
}

static void rig_make(rig *r, u64 seed, usize count_max)
{
    *r = (rig){.rng = cd_rng_seeded(seed), .count_max = count_max};
    engines_dir(r->dir);
    engines_url(r->url, engine, r->dir);
    rig_open(r);
}

static void rig_end(rig *r)
{
    rig_close(r);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), r->dir, why));
}

static cd_freq_decision check(rig *r, const char *device, const char *campaign, u64 cap, bool is_peek, u64 now)
{
    cd_freq_decision d;
    cd_freq_ask ask = {cd_bytes_str(device), cd_bytes_str(campaign), cap, is_peek};
    assert_int_equal(cd_freq_check(r->freq, &d, &ask, now), CD_OK);
    return d;
}

static void counts_up_to_the_cap(void **state)
{
    (void)state;
    rig r;
    rig_make(&r, 1, 0);
    u32 allowed = 0;
    for (int i = 0; i < 1000; i++) {
        allowed += check(&r, "tv", "camp", 3, false, 250).is_allowed;
    }
    assert_int_equal(allowed, 3);
    cd_freq_decision d = check(&r, "tv", "other", 3, false, 250);
    assert_true(d.is_allowed);
    assert_int_equal(d.epoch, 2);
    assert_int_equal(d.reset_s, 300);
    assert_true(check(&r, "tvc", "amp", 3, false, 250).is_allowed); /* lengths keep names apart */
    assert_false(check(&r, "tv", "none", 0, false, 250).is_allowed);
    assert_true(check(&r, "tv", "peek", 1, true, 250).is_allowed);
    assert_true(check(&r, "tv", "peek", 1, true, 250).is_allowed);
    assert_true(check(&r, "tv", "peek", 1, false, 250).is_allowed);
    assert_false(check(&r, "tv", "peek", 1, true, 250).is_allowed);
    rig_end(&r);
}

/* The smaller of the cap it was made with and the one of this call rules. */
static void two_caps(void **state)
{
    (void)state;
    rig r;
    rig_make(&r, 2, 0);
    assert_true(check(&r, "tv", "a", 2, false, 0).is_allowed);
    assert_true(check(&r, "tv", "a", 10, false, 0).is_allowed);
    assert_false(check(&r, "tv", "a", 10, false, 0).is_allowed);
    assert_true(check(&r, "tv", "b", 10, false, 0).is_allowed);
    assert_false(check(&r, "tv", "b", 1, false, 0).is_allowed);
    assert_true(check(&r, "tv", "b", 10, false, 0).is_allowed);
    assert_true(check(&r, "tv", "c", CD_FREQ_CAP_MAX, false, 0).is_allowed);
    rig_end(&r);
}

static void refuses_bad_names_and_caps(void **state)
{
    (void)state;
    rig r;
    char longest[CD_FREQ_NAME_MAX + 1];
    memset(longest, 'd', sizeof longest);
    rig_make(&r, 3, 0);
    cd_freq_decision d;
    cd_bytes ok = cd_bytes_of(longest, CD_FREQ_NAME_MAX);
    cd_bytes too_long = cd_bytes_of(longest, CD_FREQ_NAME_MAX + 1);
    const cd_freq_ask asks[] = {{{0}, ok, 1, false},
                                {ok, {0}, 1, false},
                                {too_long, ok, 1, false},
                                {ok, too_long, 1, false},
                                {ok, ok, 10001, false}};
    for (usize i = 0; i < CD_COUNT(asks); i++) {
        assert_int_equal(cd_freq_check(r.freq, &d, &asks[i], 0), CD_EINVAL);
    }
    cd_freq_ask fine = {ok, ok, 10000, false};
    assert_int_equal(cd_freq_check(r.freq, &d, &fine, 0), CD_OK);
    rig_end(&r);
}

/* A new epoch starts from nothing, under another key; a clock that runs backwards does not bring the old one back. */
static void epochs(void **state)
{
    (void)state;
    rig r;
    rig_make(&r, 4, 0);
    cd_freq_decision first = check(&r, "tv", "camp", 1, false, 99);
    assert_false(check(&r, "tv", "camp", 1, false, 99).is_allowed);
    assert_int_equal(cd_freq_counters(r.freq), 1);
    cd_freq_decision second = check(&r, "tv", "camp", 1, false, 100);
    assert_true(second.is_allowed);
    assert_int_equal(cd_freq_counters(r.freq), 1);
    assert_memory_not_equal(first.receipt, second.receipt, 16);
    cd_freq_decision back = check(&r, "tv", "camp", 1, false, 50);
    assert_false(back.is_allowed);
    assert_int_equal(back.epoch, 1);
    rig_end(&r);
}

static void many_counters(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    rig r;
    char device[32];
    rig_make(&r, 5, MANY);
    for (u32 turn = 0; turn < 3; turn++) {
        for (u32 i = 0; i < MANY; i++) {
            (void)snprintf(device, sizeof device, "device-%u", i);
            assert_int_equal(check(&r, device, "camp", 2, false, 0).is_allowed, turn < 2);
        }
    }
    assert_int_equal(cd_freq_counters(r.freq), MANY);
    cd_freq_decision d;
    cd_freq_ask one_more = {cd_bytes_str("new"), cd_bytes_str("camp"), 2, false};
    assert_int_equal(cd_freq_check(r.freq, &d, &one_more, 0), CD_EFULL);
    assert_false(check(&r, "device-7", "camp", 2, false, 0).is_allowed);
    rig_end(&r);
}

/* --- tokens --- */

typedef struct token {
    u8 nonce[32], output[CD_VOPRF_OUTPUT];
    cd_scalar blind;
} token;

static cd_point blind_token(token *t, u64 i)
{
    cd_rng rng = cd_rng_seeded(i);
    cd_point p;
    u8 wide[64];
    cd_rng_fill(&rng, t->nonce, sizeof t->nonce);
    cd_rng_fill(&rng, wide, sizeof wide);
    t->blind = cd_scalar_wide(wide);
    assert_int_equal(cd_voprf_blind(&p, CD_VOPRF_VERIFIABLE, cd_bytes_of(t->nonce, 32), &t->blind), CD_OK);
    return p;
}

/* Gets cnt tokens for a device; the proof is looked at. */
static cd_err issue(rig *r, token *t, usize cnt, u64 from, u64 cap, u64 now)
{
    cd_point blinded[4];
    cd_point evaluated[4];
    cd_freq_issued out = {.evaluated = evaluated};
    cd_freq_ask ask = {cd_bytes_str("tv"), cd_bytes_str("camp"), cap, false};
    for (usize i = 0; i < cnt; i++) {
        blinded[i] = blind_token(&t[i], from + i);
    }
    CD_TRY(cd_freq_issue(r->freq, &out, &ask, blinded, cnt, now));
    assert_int_equal(cd_voprf_check(out.proof, &out.public, blinded, evaluated, cnt), CD_OK);
    for (usize i = 0; i < cnt; i++) {
        assert_int_equal(cd_voprf_finalize(t[i].output, cd_bytes_of(t[i].nonce, 32), &t[i].blind, &evaluated[i]),
                         CD_OK);
    }
    return CD_OK;
}

static cd_freq_redeemed redeem(rig *r, const token *t, const char *campaign, u64 epoch, u64 now)
{
    cd_freq_redeemed out;
    assert_int_equal(cd_freq_redeem(r->freq, &out, cd_bytes_str(campaign), epoch, t->nonce, t->output, now, NULL),
                     CD_OK);
    return out;
}

static void tokens_are_good_once(void **state)
{
    (void)state;
    rig r;
    token t[4];
    rig_make(&r, 6, 0);
    assert_int_equal(issue(&r, t, 2, 0, 3, 0), CD_OK);
    assert_int_equal(issue(&r, t + 2, 2, 2, 3, 0), CD_ELIMIT); /* would be four */
    assert_int_equal(issue(&r, t + 2, 1, 2, 3, 0), CD_OK);
    assert_int_equal(issue(&r, t + 3, 1, 3, 3, 0), CD_ELIMIT);
    assert_int_equal(redeem(&r, &t[0], "camp", 0, 10), CD_FREQ_ALLOWED);
    assert_int_equal(redeem(&r, &t[0], "camp", 0, 10), CD_FREQ_SPENT);
    assert_int_equal(redeem(&r, &t[1], "pmac", 0, 10), CD_FREQ_INVALID);
    assert_int_equal(redeem(&r, &t[1], "camp", 1, 10), CD_FREQ_INVALID);
    token forged = t[1];
    forged.output[63] ^= 1;
    assert_int_equal(redeem(&r, &forged, "camp", 0, 10), CD_FREQ_INVALID);
    forged = t[1];
    forged.nonce[0] ^= 1;
    assert_int_equal(redeem(&r, &forged, "camp", 0, 10), CD_FREQ_INVALID);
    rig_close(&r);
    rig_open(&r); /* seed and spent set are still there */
    assert_int_equal(redeem(&r, &t[0], "camp", 0, 10), CD_FREQ_SPENT);
    assert_int_equal(redeem(&r, &t[1], "camp", 0, 10), CD_FREQ_ALLOWED);
    assert_int_equal(redeem(&r, &t[2], "camp", 0, 100), CD_FREQ_INVALID); /* the epoch is over */
    cd_point zero = CD_POINT_ZERO;
    cd_freq_issued out = {.evaluated = &zero};
    cd_freq_ask ask = {cd_bytes_str("tv"), cd_bytes_str("camp"), 3, false};
    assert_int_equal(cd_freq_issue(r.freq, &out, &ask, &zero, 1, 100), CD_EINVAL);
    rig_end(&r);
}

/* What a process said was allowed before it was killed is spent for its successor, each time. */
static void spent_survives_kills(void **state)
{
    (void)state;
    enum { KILLS = 8, EACH = 200 };
    rig r;
    rig_make(&r, 7, 0);
    u64 told = 0;
    for (u64 turn = 0; turn < KILLS; turn++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        rig_close(&r);
        pid_t pid = fork();
        if (pid == 0) {
            rig_open(&r);
            for (u64 i = turn * EACH; i < (turn + 1) * EACH; i++) {
                token t;
                if (issue(&r, &t, 1, i, 10000, 0) != CD_OK || redeem(&r, &t, "camp", 0, 0) != CD_FREQ_ALLOWED ||
                    write(fds[1], &t, sizeof t) != (ssize_t)sizeof t) {
                    _exit(1);
                }
            }
            (void)pause();
        }
        (void)close(fds[1]);
        cd_rng any = cd_rng_os();
        token t;
        assert_int_equal(read(fds[0], &t, sizeof t), sizeof t); /* it is at work, however slow the machine is */
        (void)usleep((useconds_t)cd_rng_below(&any, 100000));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        rig_open(&r);
        do {
            assert_int_equal(redeem(&r, &t, "camp", 0, 0), CD_FREQ_SPENT);
            told++;
        } while (read(fds[0], &t, sizeof t) == (ssize_t)sizeof t);
        (void)close(fds[0]);
    }
    assert_true(told >= KILLS);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_up_to_the_cap),
        cmocka_unit_test(two_caps),
        cmocka_unit_test(refuses_bad_names_and_caps),
        cmocka_unit_test(epochs),
        cmocka_unit_test(many_counters),
        cmocka_unit_test(tokens_are_good_once),
        cmocka_unit_test(spent_survives_kills),
    };
    int failed = 0;
    for (usize cnt = engines_count(); engine < cnt; engine++) {
        failed += cmocka_run_group_tests_name(engine == 0 ? "sqlite" : "postgresql", tests, NULL, NULL);
    }
    engines_end();
    return failed;
}
