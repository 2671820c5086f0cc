/* tests/e2e/victim.h - a process that works on a directory, is killed with SIGKILL at a random moment, and works on;
 * what it left is looked at after every death. The main program of such a test.
 *
 * Threading: confined. */
#ifndef CD_TESTS_E2E_VICTIM_H
#define CD_TESTS_E2E_VICTIM_H

#include "base/num_text.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "store/kv.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VICTIM_LAYOUT = 1, VICTIM_SAMPLE = 12 /* kills */ };

/* Works until it is killed; after each step that must survive it writes the step's number, a u64, to fd. */
typedef int victim_fn(const char *dir, int fd);

/* Looks at what a dead process left that told step last. *step: the one that it finds done. */
typedef cd_err victim_check_fn(void *ctx, const char *dir, u64 last, u64 *step, cd_errinfo *why);

typedef struct victim_test {
    const char *name;
    victim_fn *work;
    victim_check_fn *check;
    void *ctx;          /* of check */
    u64 full_kills;     /* how many when CANDELA_TEST_FULL is 1 */
    u64 steps_per_kill; /* it goes on until that many were done on the average; 0: however many */
} victim_test;

static inline cd_err victim_open_store(cd_kv **out, const char *dir, cd_errinfo *why)
{
    cd_kv_cfg cfg = {.dir = dir, .cache_bytes = 8 << 20, .layout = VICTIM_LAYOUT};
    return cd_kv_rocksdb_open(out, &cfg, why);
}

/* The victim's process is this program anew, telling on its standard output: in a copy of a process that has used
 * the engine before, the engine's threads would be missing. */
static inline void victim_become(const char *name, const char *dir, int fd)
{
    (void)dup2(fd, STDOUT_FILENO);
    (void)close(fd);
    (void)execl("/proc/self/exe", name, dir, "victim", (char *)NULL);
    _exit(1);
}

/* Lets a victim run until it has told some steps and a little longer, then kills it; gives the last step that it
 * told. False when it ended by itself. */
static inline bool victim_run(const char *name, const char *dir, cd_rng *rng, u64 *last)
{
    int fd[2];
    if (pipe(fd) != 0) {
        return false;
    }
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(fd[0]);
        victim_become(name, dir, fd[1]);
    }
    (void)close(fd[1]);
    u64 told = cd_rng_below(rng, 9); /* 0: killed while it opens the store */
    u64 h;
    bool alive = true;
    for (u64 i = 0; i < told && alive; i++) {
        alive = read(fd[0], &h, sizeof h) == (ssize_t)sizeof h;
        *last = alive ? h : *last;
    }
    u64 limit_us = told == 0 ? 60000 : 4000;
    struct timespec wait = {.tv_nsec = (long)cd_rng_below(rng, limit_us) * 1000};
    (void)nanosleep(&wait, NULL);
    (void)kill(pid, SIGKILL);
    while (alive && read(fd[0], &h, sizeof h) == (ssize_t)sizeof h) {
        *last = h;
    }
    (void)close(fd[0]);
    int status = 0;
    (void)waitpid(pid, &status, 0);
    return alive && WIFSIGNALED(status);
}

/* The program: NAME DIR [KILLS [SEED]]; DIR is made, used and removed. */
static inline int victim_main(int argc, char **argv, const victim_test *t)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    u64 kills = full != NULL && strcmp(full, "1") == 0 ? t->full_kills : VICTIM_SAMPLE;
    u64 seed = (u64)time(NULL);
    if (argc == 3 && strcmp(argv[2], "victim") == 0) {
        return t->work(argv[1], STDOUT_FILENO);
    }
    if (argc < 2 || (argc > 2 && cd_u64_parse(&kills, cd_bytes_str(argv[2])) != CD_OK) ||
        (argc > 3 && cd_u64_parse(&seed, cd_bytes_str(argv[3])) != CD_OK)) {
        (void)fprintf(stderr, "usage: %s DIR [KILLS [SEED]]\n", t->name);
        return 2;
    }
    const char *dir = argv[1];
    cd_errinfo why = {0};
    cd_rng rng = cd_rng_seeded(seed);
    u64 step = 0;
    u64 done = 0;
    bool ok = cd_fs_remove_tree(cd_fs_real(), dir, &why) == CD_OK;
    while (ok && (done < kills || step < kills * t->steps_per_kill)) {
        u64 last = step;
        ok = victim_run(t->name, dir, &rng, &last);
        if (!ok) {
            (void)cd_fail(&why, CD_EINVAL, "the victim ended by itself");
        } else {
            ok = t->check(t->ctx, dir, last, &step, &why) == CD_OK;
            done += ok ? 1 : 0;
        }
    }
    ok = ok && cd_fs_remove_tree(cd_fs_real(), dir, &why) == CD_OK;
    if (!ok) {
        (void)printf("FAIL after %llu kills: %s\n", (unsigned long long)done, why.msg);
    }
    (void)printf("seed %llu\n%llu passed, %d failed\n", (unsigned long long)seed, (unsigned long long)done, ok ? 0 : 1);
    return ok ? 0 : 1;
}

#endif
