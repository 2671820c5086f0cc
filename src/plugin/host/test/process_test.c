#define _GNU_SOURCE
#include "plugin/host/process.h"

#include "base/mem/arena.h"
#include "base/os/fileio.h"
#include "base/thread/thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A folder for programs, and a log that can be read. */
typedef struct rig {
    char dir[64];
    cd_arena mem;
    cd_logger *log;
    FILE *log_file;
    cd_buf logged;
    cd_mutex lock;
    cd_cond told;
    u32 ends;
    char how[CD_PLUGIN_HOW_MAX];
} rig;

static void begin(rig *r)
{
    *r = (rig){.dir = "/tmp/candela-process-XXXXXX"};
    assert_non_null(mkdtemp(r->dir));
    r->log_file = tmpfile();
    assert_non_null(r->log_file);
    const cd_log_cfg cfg = {.fd = fileno(r->log_file), .level = CD_LOG_INFO, .form = CD_LOG_JSON};
    assert_int_equal(cd_log_open(&r->log, &cfg, NULL), CD_OK);
    cd_mutex_init(&r->lock);
    cd_cond_init(&r->told);
}

static void end(rig *r)
{
    cd_log_close(r->log);
    (void)fclose(r->log_file);
    cd_buf_fini(&r->logged);
    cd_cond_fini(&r->told);
    cd_mutex_fini(&r->lock);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), r->dir, NULL), CD_OK);
    cd_arena_fini(&r->mem);
}

static const char *program(rig *r, const char *text)
{
    const char *path = cd_arena_fmt(&r->mem, "%s/program", r->dir);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str(text), 0700, NULL), CD_OK);
    return path;
}

static void on_ended(void *ctx, const char *how)
{
    rig *r = ctx;
    cd_mutex_lock(&r->lock);
    r->ends++;
    (void)snprintf(r->how, sizeof r->how, "%s", how);
    cd_cond_wake_all(&r->told);
    cd_mutex_unlock(&r->lock);
}

static cd_plugin_process *start(rig *r, const char *path, u32 term_ms)
{
    cd_plugin_process *p = NULL;
    cd_errinfo why = {0};
    const cd_plugin_process_cfg cfg = {.path = path,
                                       .engine = "127.0.0.1:1234",
                                       .name = "T",
                                       .log = r->log,
                                       .term_ms = term_ms,
                                       .ended = on_ended,
                                       .ctx = r};
    cd_err e = cd_plugin_process_start(&p, &cfg, &why);
    if (e != CD_OK) {
        print_error("%s\n", why.msg);
    }
    assert_int_equal(e, CD_OK);
    return p;
}

static void await_end(rig *r)
{
    cd_mutex_lock(&r->lock);
    while (r->ends == 0) {
        cd_cond_wait(&r->told, &r->lock);
    }
    cd_mutex_unlock(&r->lock);
}

/* What the log holds, lines of the plugin alone. */
static const char *logged(rig *r)
{
    char line[CD_LOG_LINE_MAX];
    rewind(r->log_file);
    cd_buf_clear(&r->logged);
    while (fgets(line, sizeof line, r->log_file) != NULL) {
        cd_buf_str(&r->logged, line);
    }
    return cd_buf_cstr(&r->logged);
}

static usize count(const char *text, const char *what)
{
    usize n = 0;
    for (const char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what)) {
        n++;
    }
    return n;
}

/* --- what the process is given --- */

static void test_environment(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    assert_int_equal(clearenv(), 0);
    assert_int_equal(setenv("GRPC_TRACE_X", "1", 1), 0);
    assert_int_equal(setenv("GODEBUG", "y=2", 1), 0);
    assert_int_equal(setenv("NOT_FOR_PLUGINS", "3", 1), 0);
    cd_plugin_process *p = start(&r, "/usr/bin/env", 0);
    await_end(&r);
    cd_plugin_process_free(p);
    const char *text = logged(&r);
    assert_non_null(strstr(text, "\"line\":\"LUX_VM_RUNTIME_ENGINE_ADDR=127.0.0.1:1234\""));
    assert_non_null(strstr(text, "\"line\":\"AVALANCHE_VM_RUNTIME_ENGINE_ADDR=127.0.0.1:1234\""));
    assert_non_null(strstr(text, "\"line\":\"GRPC_TRACE_X=1\""));
    assert_non_null(strstr(text, "\"line\":\"GODEBUG=y=2\""));
    assert_int_equal(count(text, "\"line\":"), 4);
    assert_string_equal(r.how, "exit status 0");
    end(&r);
}

/* None of our files is open in the process, and its signals are at their defaults. */
static void test_bare(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    FILE *open_here = tmpfile();
    (void)signal(SIGPIPE, SIG_IGN);
    const u64 ignore[4] = {
        1}; /* the kernel's form: glibc refuses to touch 32, which a parent may ignore all the same */
    assert_int_equal(syscall(SYS_rt_sigaction, 32, ignore, NULL, sizeof(u64)), 0);
    const char *path = program(&r, "#!/bin/sh\nfor f in /proc/self/fd/*; do echo fd $f; done\n"
                                   "while read k v; do case $k in SigBlk:|SigIgn:) echo $k $v;; esac; done "
                                   "< /proc/self/status\necho args $#\n");
    cd_plugin_process *p = start(&r, path, 0);
    await_end(&r);
    cd_plugin_process_free(p);
    (void)signal(SIGPIPE, SIG_DFL);
    const u64 usual[4] = {0};
    assert_int_equal(syscall(SYS_rt_sigaction, 32, usual, NULL, sizeof(u64)), 0);
    (void)fclose(open_here);
    const char *text = logged(&r);
    /* The shell has its script open as well, above descriptor 10, and one more for the folder that it lists. */
    assert_int_equal(count(text, "fd /proc/self/fd/0\""), 1);
    assert_null(strstr(text, "fd /proc/self/fd/5\""));
    assert_non_null(strstr(text, "SigBlk: 0000000000000000"));
    assert_non_null(strstr(text, "SigIgn: 0000000000000000"));
    assert_non_null(strstr(text, "args 0"));
    end(&r);
}

static void test_lines(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    const char *path = program(&r, "#!/bin/sh\nprintf 'one\\r\\n\\ntwo'\nprintf 'to the other\\n' >&2\n"
                                   "s=0123456789\nfor i in 1 2 3 4 5 6 7; do s=$s$s; done\necho $s$s\n");
    cd_plugin_process *p = start(&r, path, 0);
    await_end(&r);
    cd_plugin_process_free(p);
    const char *text = logged(&r);
    assert_non_null(strstr(text, "\"from\":\"stdout\",\"line\":\"one\""));
    assert_non_null(strstr(text, "\"from\":\"stderr\",\"line\":\"to the other\""));
    /* A line of 2563 bytes is logged as three. */
    assert_non_null(strstr(text, "\"line\":\"two0123"));
    assert_int_equal(count(text, "\"from\":\"stdout\""), 4);
    end(&r);
}

/* A program that writes lines as fast as it can: most are dropped, and the log says how many. */
static void test_flood(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    const char *path = program(&r, "#!/bin/sh\ni=0\nwhile [ $i -lt 50000 ]; do echo flood; i=$((i+1)); done\n");
    cd_plugin_process *p = start(&r, path, 0);
    await_end(&r);
    cd_plugin_process_free(p);
    usize n = count(logged(&r), "\"line\":\"flood\"");
    assert_true(n >= 2000 && n < 25000);
    end(&r);
}

/* --- the end of the process --- */

static void test_ends(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *how;
        bool is_ended;
        bool is_killed;
    } cases[] = {
        {"#!/bin/sh\nexit 3\n", "exit status 3", false, false},
        {"#!/bin/sh\nkill -11 $$\n", "signal 11", false, false},
        {"#!/bin/sh\nwhile :; do read x < /proc/self/stat; done\n", "signal 15", true, false},
        {"#!/bin/sh\nwhile :; do read x < /proc/self/stat; done\n", "signal 9", false, true},
        /* It ignores SIGTERM. */
        {"#!/bin/sh\ntrap '' TERM\necho ready\nwhile :; do read x < /proc/self/stat; done\n", "signal 9", true, false},
        /* It closes stdout, and is ended for that. */
        {"#!/bin/sh\nexec 1>&-\nwhile :; do read x < /proc/self/stat; done\n", "signal 15", false, false},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        rig r;
        char how[CD_PLUGIN_HOW_MAX];
        begin(&r);
        cd_plugin_process *p = start(&r, program(&r, cases[i].text), 50);
        while (strstr(cases[i].text, "ready") != NULL && strstr(logged(&r), "ready") == NULL) {
        }
        if (cases[i].is_ended) {
            cd_plugin_process_end(p);
        }
        if (cases[i].is_killed) {
            cd_plugin_process_kill(p);
        }
        await_end(&r);
        assert_true(cd_plugin_process_has_ended(p, how));
        assert_string_equal(how, cases[i].how);
        assert_string_equal(r.how, cases[i].how);
        cd_plugin_process_end(p); /* too late, and without harm */
        cd_plugin_process_kill(p);
        cd_plugin_process_free(p);
        assert_int_equal(r.ends, 1);
        end(&r);
    }
}

static void test_free_ends(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    cd_plugin_process *p = start(&r, program(&r, "#!/bin/sh\nwhile :; do read x < /proc/self/stat; done\n"), 0);
    pid_t pid = cd_plugin_process_pid(p);
    cd_plugin_process_free(p);
    assert_int_equal(r.ends, 1);
    assert_int_equal(kill(pid, 0), -1);
    end(&r);
}

static void test_no_program(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    cd_plugin_process *p = NULL;
    cd_errinfo why = {0};
    cd_plugin_process_cfg cfg = {.engine = "", .name = "T", .path = cd_arena_fmt(&r.mem, "%s/none", r.dir)};
    assert_int_equal(cd_plugin_process_start(&p, &cfg, &why), CD_ENOENT);
    assert_non_null(strstr(why.msg, "/none"));
    cfg.path = program(&r, "no program at all");
    assert_int_equal(cd_plugin_process_start(&p, &cfg, &why), CD_EUNSUPPORTED);
    assert_int_equal(chmod(cfg.path, 0600), 0);
    assert_int_equal(cd_plugin_process_start(&p, &cfg, &why), CD_EACCES);
    cfg.path = r.dir;
    assert_int_equal(cd_plugin_process_start(&p, &cfg, &why), CD_EACCES);
    assert_null(p);
    end(&r);
}

/* Has a process ended? It may be a zombie, where there is no init to wait for it. */
static bool is_over(pid_t pid)
{
    char path[64];
    char text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return true;
    }
    bool is_read = fgets(text, sizeof text, f) != NULL;
    (void)fclose(f);
    const char *state = strrchr(text, ')');
    return !is_read || state == NULL || state[2] == 'Z' || state[2] == 'X';
}

/* When a host dies, its plugins end, too. */
static void test_parent_death(void **state)
{
    (void)state;
    rig r;
    int fds[2];
    pid_t plugin = 0;
    begin(&r);
    const char *path = program(&r, "#!/bin/sh\nwhile :; do read x < /proc/self/stat; done\n");
    assert_int_equal(pipe(fds), 0);
    pid_t host = fork();
    if (host == 0) {
        const cd_plugin_process_cfg cfg = {.path = path, .engine = "", .name = "T"};
        cd_plugin_process *p;
        pid_t pid = cd_plugin_process_start(&p, &cfg, NULL) == CD_OK ? cd_plugin_process_pid(p) : 0;
        (void)!write(fds[1], &pid, sizeof pid);
        _exit(0);
    }
    assert_true(host > 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
    assert_int_equal(read(fds[0], &plugin, sizeof plugin), sizeof plugin);
    assert_true(plugin > 0);
    while (!is_over(plugin)) {
        (void)usleep(1000);
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment), cmocka_unit_test(test_bare),         cmocka_unit_test(test_lines),
        cmocka_unit_test(test_flood),       cmocka_unit_test(test_ends),         cmocka_unit_test(test_free_ends),
        cmocka_unit_test(test_no_program),  cmocka_unit_test(test_parent_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
