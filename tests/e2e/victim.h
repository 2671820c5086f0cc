/* tests/e2e/victim.h - a process that works on a directory and is killed at a random moment.
 *
 * Threading: confined. */
#ifndef CD_TESTS_E2E_VICTIM_H
#define CD_TESTS_E2E_VICTIM_H

#include "base/rng.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Works until it is killed; after each step that must survive it writes the step's number, a u64, to fd. */
typedef int victim_fn(const char *dir, int fd);

/* Lets a victim run until it has told some steps and a little longer, then kills it with SIGKILL; gives the last step that
 * it told. False when it ended by itself. */
static inline bool victim_run(victim_fn *fn, const char *dir, cd_rng *rng, u64 *last)
{
    int fd[2];
    if (pipe(fd) != 0) {
        return false;
    }
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(fd[0]);
        _exit(fn(dir, fd[1]));
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

#endif
