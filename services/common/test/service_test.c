/* The life of a service process, seen from outside: options, log, signals, an orderly end, exit codes. Each case runs
 * in a child. */
#include "services/common/service.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OPTIONS(X)                                                                                                     \
    X(OPT_MODE, .name = "mode", .type = CD_ARG_STR, .dflt = "quick", .choices = "quick|slow|refuse", .meta = "MODE",   \
      .help = "how it ends")                                                                                           \
    CD_SERVICE_OPTIONS(X)
enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

typedef struct app {
    const cd_service *service;
    const char *mode;
    cd_timer *ready;
} app;

/* Said once the signals are attended to. */
static void on_ready(void *ctx)
{
    (void)ctx;
    (void)!write(STDERR_FILENO, "ready\n", 6);
}

static cd_err app_open(void **out, const cd_service *s, cd_errinfo *why)
{
    static app a;
    a = (app){.service = s, .mode = cd_args_str(s->args, OPT_MODE)};
    if (strcmp(a.mode, "refuse") == 0) {
        return cd_fail(why, CD_EINVAL, "it does not want to");
    }
    cd_log_info(s->log, "open", CD_F("mode", a.mode));
    a.ready = cd_timer_new(s->loop, on_ready, NULL);
    cd_timer_start(a.ready, 1, 0);
    *out = &a;
    return CD_OK;
}

static void app_drain(void *ctx, u32 grace_ms, void (*done)(void *arg), void *arg)
{
    app *a = ctx;
    cd_log_info(a->service->log, "drain", CD_F("grace", (u64)grace_ms));
    (void)!write(STDERR_FILENO, "draining\n", 9);
    if (strcmp(a->mode, "slow") != 0) {
        done(arg);
    }
}

static void app_close(void *ctx)
{
    app *a = ctx;
    cd_timer_free(a->ready);
    cd_log_info(a->service->log, "closed");
}

static const cd_service_def def = {
    .program = "candela-test serve",
    .purpose = "is tested",
    .example = "candela-test serve --mode=slow",
    .metrics_prefix = "test",
    .options = options,
    .options_cnt = OPT_CNT,
    .log_level = OPT_LOG_LEVEL,
    .open = app_open,
    .drain = app_drain,
    .close = app_close,
};

typedef struct child {
    pid_t pid;
    int out, err;
    char said[4000], failed[4000];
} child;

static child start(char **argv)
{
    child c = {0};
    int out[2];
    int err[2];
    int argc = 0;
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    while (argv[argc] != NULL) {
        argc++;
    }
    c.pid = fork();
    if (c.pid == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        (void)close(out[0]);
        (void)close(err[0]);
        exit(cd_service_main(&def, argc, argv));
    }
    (void)close(out[1]);
    (void)close(err[1]);
    c.out = out[0];
    c.err = err[0];
    return c;
}

/* Reads until the text is there or the end; false: the end. */
static bool wait_for(int fd, char *buf, usize cap, const char *text)
{
    for (;;) {
        usize n = strlen(buf);
        if (text != NULL && strstr(buf, text) != NULL) {
            return true;
        }
        ssize_t got = read(fd, buf + n, cap - 1 - n);
        if (got <= 0) {
            return false;
        }
        buf[n + (usize)got] = '\0';
    }
}

static int finish(child *c)
{
    int status = 0;
    (void)wait_for(c->out, c->said, sizeof c->said, NULL);
    (void)wait_for(c->err, c->failed, sizeof c->failed, NULL);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    (void)close(c->out);
    (void)close(c->err);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_ends(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT};
    (void)state;
    for (usize i = 0; i < CD_COUNT(signals); i++) {
        char *argv[] = {"candela-test", "--log-format=json", "--drain-timeout=3s", NULL};
        child c = start(argv);
        assert_true(wait_for(c.err, c.failed, sizeof c.failed, "ready"));
        (void)kill(c.pid, signals[i]);
        assert_int_equal(finish(&c), 0);
        assert_non_null(strstr(c.said, "\"msg\":\"open\""));
        assert_non_null(strstr(c.said, "\"msg\":\"stopping\""));
        assert_non_null(strstr(c.said, "\"grace\":3000"));
        assert_non_null(strstr(c.said, "\"msg\":\"closed\""));
    }
}

/* A drain that does not come to an end is ended by the second signal. */
static void test_second_signal(void **state)
{
    (void)state;
    char *argv[] = {"candela-test", "--mode=slow", NULL};
    child c = start(argv);
    assert_true(wait_for(c.err, c.failed, sizeof c.failed, "ready"));
    (void)kill(c.pid, SIGTERM);
    assert_true(wait_for(c.err, c.failed, sizeof c.failed, "draining"));
    (void)kill(c.pid, SIGINT);
    assert_int_equal(finish(&c), 128 + SIGINT);
}

static void test_refused(void **state)
{
    (void)state;
    char *refuse[] = {"candela-test", "--mode=refuse", NULL};
    child c = start(refuse);
    assert_int_equal(finish(&c), 1);
    assert_string_equal(c.failed, "candela-test serve: error: it does not want to\n");
    char *wrong[] = {"candela-test", "--mode=none", NULL};
    c = start(wrong);
    assert_int_equal(finish(&c), 2);
    assert_non_null(strstr(c.failed, "candela-test serve: error: "));
}

static void test_words(void **state)
{
    (void)state;
    char *help[] = {"candela-test", "--help", NULL};
    child c = start(help);
    assert_int_equal(finish(&c), 0);
    assert_non_null(strstr(c.said, "is tested"));
    assert_non_null(strstr(c.said, "--drain-timeout"));
    assert_non_null(strstr(c.said, "candela-test serve --mode=slow"));
    char *version[] = {"candela-test", "--version", NULL};
    c = start(version);
    assert_int_equal(finish(&c), 0);
    assert_memory_equal(c.said, "candela-test/", 13);
    (void)setenv("MODE", "refuse", 1); /* without a prefix */
    char *none[] = {"candela-test", NULL};
    c = start(none);
    assert_int_equal(finish(&c), 1);
    (void)unsetenv("MODE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_second_signal),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
