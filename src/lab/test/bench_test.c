#include "lab/bench_crypto.h"
#include "lab/bench_trie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const cd_lab_effort ONCE = {.exact = 1};

/* Runs the cases of a JSON text and keeps the lines and the reason of a failure. */
static cd_err run(cd_buf *out, cd_errinfo *why, const char *cases, const char *only, const cd_lab_effort *effort)
{
    char path[] = "/tmp/candela-bench-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, cases, strlen(cases)), strlen(cases));
    (void)close(fd);
    cd_buf_clear(out);
    cd_err err = cd_lab_bench_crypto(out, path, only, effort, why);
    (void)unlink(path);
    return err;
}

static usize count_lines(cd_buf *out)
{
    usize n = 0;
    for (const char *p = cd_buf_cstr(out); (p = strchr(p, '\n')) != NULL; p++) {
        n++;
    }
    return n;
}

static void effort_rules(void **state)
{
    (void)state;
    cd_lab_timing t = {0};
    cd_lab_effort timed = {.min_ns = 1000};
    static const u64 took[] = {500, 100, 300, 50};
    for (usize i = 0; i < CD_COUNT(took); i++) {
        assert_true(cd_lab_timing_goes_on(&t, &timed));
        cd_lab_timing_add(&t, took[i]);
    }
    /* 950 ns are not enough; after another repetition they are. */
    assert_true(cd_lab_timing_goes_on(&t, &timed));
    cd_lab_timing_add(&t, 60);
    assert_false(cd_lab_timing_goes_on(&t, &timed));
    assert_int_equal(t.first, 500);
    assert_int_equal(t.best, 50);
    assert_int_equal(t.reps, 5);
    /* While the clock stands still nothing is measured, but repetitions come to an end. */
    cd_lab_timing_add(&t, 0);
    assert_int_equal(t.best, 50);
    assert_int_equal(t.reps, 5);
    cd_lab_timing still = {0};
    usize runs = 0;
    for (; cd_lab_timing_goes_on(&still, &timed); runs++) {
        cd_lab_timing_add(&still, 0);
        assert_true(runs < 1000000);
    }
    assert_true(runs > 3);
    assert_int_equal(still.best, 0);
    assert_true(cd_lab_per(1, (double)still.best) == 0);
    assert_true(cd_lab_per(1, 2) == 0.5);
    assert_int_equal(cd_lab_min_ns(0, 7), 7);
    assert_int_equal(cd_lab_min_ns(7, 0), 7);
    assert_int_equal(cd_lab_min_ns(7, 6), 6);
    /* A workload runs three times however long it takes; an exact number overrules the time. */
    cd_lab_timing slow = {.total = 5000, .reps = 2};
    assert_true(cd_lab_timing_goes_on(&slow, &timed));
    slow.reps = 3;
    assert_false(cd_lab_timing_goes_on(&slow, &timed));
    cd_lab_effort exact = {.min_ns = 1000000, .exact = 4};
    assert_true(cd_lab_timing_goes_on(&slow, &exact));
    slow.reps = 4;
    assert_false(cd_lab_timing_goes_on(&slow, &exact));
}

/* The hash of no bytes, FIPS 180-4 and the padding of Ethereum. */
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define EMPTY_KECCAK "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"

static void crypto_cases(void **state)
{
    (void)state;
    static const char cases[] =
        "[{\"name\":\"a\",\"op\":\"sha256\",\"input\":\"0x\",\"output\":\"0x" EMPTY_SHA256 "\"},"
        "{\"name\":\"b\",\"op\":\"no such thing\",\"output\":\"0x01\"},"
        "{\"name\":\"c\",\"op\":\"keccak256\",\"len\":0,\"output\":\"0x" EMPTY_KECCAK "\"}]";
    cd_buf out = {0};
    cd_errinfo why = {0};
    assert_int_equal(run(&out, &why, cases, NULL, &ONCE), CD_OK);
    assert_int_equal(count_lines(&out), 2); /* there is no code for b */
    assert_non_null(strstr(cd_buf_cstr(&out), "\"name\":\"a\",\"impl\":\"c\",\"ns\":"));
    assert_non_null(strstr(cd_buf_cstr(&out), "\"iters\":1,\"output\":\"0x" EMPTY_KECCAK "\"}"));
    assert_int_equal(run(&out, &why, cases, "c", &ONCE), CD_OK);
    assert_int_equal(count_lines(&out), 1);
    assert_int_equal(run(&out, &why, cases, "b", &ONCE), CD_OK);
    assert_int_equal(count_lines(&out), 0);
    assert_int_equal(run(&out, &why, cases, "d", &ONCE), CD_ENOENT);
    cd_buf_fini(&out);
}

static void crypto_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cd_err err;
    } rows[] = {
        /* a wrong output, and an operation that refuses its input */
        {"[{\"name\":\"x\",\"op\":\"sha256\",\"input\":\"0x\",\"output\":\"0x" EMPTY_KECCAK "\"}]", CD_EINVAL},
        {"[{\"name\":\"x\",\"op\":\"blake2f\",\"input\":\"0x00\",\"output\":\"0x01\"}]", CD_EINVAL},
        /* inputs too short for what is read from them */
        {"[{\"name\":\"x\",\"op\":\"secp256k1_sign\",\"input\":\"0x00\",\"output\":\"0x00\"}]", CD_EFORMAT},
        {"[{\"name\":\"x\",\"op\":\"secp256k1_verify\",\"output\":\"0x00\"}]", CD_EFORMAT},
        {"[{\"name\":\"x\",\"op\":\"keccak256_x8\",\"input\":\"0x000000\",\"output\":\"0x00\"}]", CD_EFORMAT},
        {"[{\"name\":\"x\",\"op\":\"bls_sign\",\"len\":8,\"output\":\"0x00\"}]", CD_EFORMAT},
        /* sizes that nothing may be allocated for */
        {"[{\"name\":\"x\",\"op\":\"sha256\",\"len\":1000000000000,\"output\":\"0x00\"}]", CD_ELIMIT},
        {"[{\"name\":\"x\",\"op\":\"bls_sign\",\"signers\":1000000000,\"output\":\"0x00\"}]", CD_ELIMIT},
        /* no list of cases */
        {"{}", CD_ETYPE},
        {"[1]", CD_ENOENT},
        {"[{\"name\":\"x\",\"op\":\"sha256\"}]", CD_ENOENT},
        {"[", CD_EFORMAT},
    };
    cd_buf out = {0};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_errinfo why = {0};
        assert_int_equal(run(&out, &why, rows[i].text, "", &ONCE), rows[i].err);
        assert_int_equal(out.n, 0);
        assert_int_not_equal(why.msg[0], '\0');
    }
    cd_errinfo why = {0};
    assert_int_equal(cd_lab_bench_crypto(&out, "/nonexistent/cases.json", NULL, &ONCE, &why), CD_ENOENT);
    cd_buf_fini(&out);
}

/* Where effort gives a time, an operation that takes very little is repeated many times. */
static void crypto_batches(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_errinfo why = {0};
    cd_lab_effort effort = {.min_ns = 1};
    assert_int_equal(
        run(&out, &why, "[{\"name\":\"x\",\"op\":\"sha256\",\"output\":\"0x" EMPTY_SHA256 "\"}]", "", &effort), CD_OK);
    const char *iters = strstr(cd_buf_cstr(&out), "\"iters\":");
    assert_non_null(iters);
    assert_true(strtoull(iters + 8, NULL, 10) >= 300);
    cd_buf_fini(&out);
}

static void trie_sizes(void **state)
{
    (void)state;
    cd_buf out = {0};
    assert_int_equal(cd_lab_bench_trie(&out, (const u64[]){0}, 1), CD_ERANGE);
    assert_int_equal(cd_lab_bench_trie(&out, (const u64[]){CD_LAB_BENCH_TRIE_MAX + 1}, 1), CD_ERANGE);
    assert_int_equal(out.n, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(effort_rules),   cmocka_unit_test(crypto_cases), cmocka_unit_test(crypto_refuses),
        cmocka_unit_test(crypto_batches), cmocka_unit_test(trie_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
