#define _GNU_SOURCE // accept4, pipe2
#include "services/adx/miner/control.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ASK_MS = 2000, ANSWER_MS = 15000, ANSWER_MAX = 4 << 20 };

struct cd_control {
    cd_loop *loop;
    cd_control_fn *fn;
    void *ctx;
    int fd;
    int stop[2];
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    cd_thread thread;
    bool is_running;
    cd_mutex lock;
    cd_cond answered;
    bool is_asked, is_answered, is_closed; /* under the lock */
    char word[CD_CONTROL_WORD_MAX];
    cd_buf answer; /* under the lock */
    cd_loop_task task;
};

static cd_err address_of(struct sockaddr_un *out, const char *path, cd_errinfo *why)
{
    usize n = strlen(path);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (n >= sizeof out->sun_path) {
        return cd_fail(why, CD_EINVAL, "%s: too long for a socket, choose a shorter --data-dir", path);
    }
    memcpy(out->sun_path, path, n + 1);
    return CD_OK;
}

static bool is_ready(int fd, short events, int ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, ms) > 0;
}

static void write_all(int fd, cd_bytes text)
{
    while (text.n != 0 && is_ready(fd, POLLOUT, ASK_MS)) {
        ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        text = cd_bytes_sub(text, (usize)n, text.n - (usize)n);
    }
}

/* --- the miner's side --- */

static void on_asked(cd_loop_task *t)
{
    cd_control *c = (cd_control *)(void *)((char *)t - offsetof(cd_control, task));
    c->fn(c->ctx, c->word);
}

/* The word up to the end of its line; false when none comes. */
static bool read_word(char out[CD_CONTROL_WORD_MAX], int fd)
{
    usize n = 0;
    while (n < CD_CONTROL_WORD_MAX && is_ready(fd, POLLIN, ASK_MS)) {
        ssize_t k = read(fd, out + n, 1);
        if (k <= 0) {
            return false;
        }
        if (out[n] == '\n') {
            out[n] = '\0';
            return true;
        }
        n++;
    }
    return false;
}

static void serve(cd_control *c, int fd)
{
    cd_buf answer = {0};
    if (!read_word(c->word, fd)) {
        return;
    }
    cd_mutex_lock(&c->lock);
    c->is_asked = !c->is_closed;
    c->is_answered = false;
    bool is_asked = c->is_asked;
    cd_mutex_unlock(&c->lock);
    if (!is_asked) {
        return;
    }
    c->task.fn = on_asked;
    cd_loop_post(c->loop, &c->task);
    cd_mutex_lock(&c->lock);
    while (!c->is_answered && !c->is_closed) {
        cd_cond_wait(&c->answered, &c->lock);
    }
    answer = c->answer;
    c->answer = (cd_buf){0};
    c->is_asked = false;
    cd_mutex_unlock(&c->lock);
    write_all(fd, cd_buf_bytes(&answer));
    cd_buf_fini(&answer);
}

static void work(void *arg)
{
    cd_control *c = arg;
    for (;;) {
        struct pollfd p[] = {{.fd = c->stop[0], .events = POLLIN}, {.fd = c->fd, .events = POLLIN}};
        if (poll(p, 2, -1) < 0 && errno != EINTR) {
            return;
        }
        if (p[0].revents != 0) {
            return;
        }
        int fd = p[1].revents != 0 ? accept4(c->fd, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0) {
            serve(c, fd);
            (void)close(fd);
        }
    }
}

void cd_control_answer(cd_control *c, cd_bytes text)
{
    cd_mutex_lock(&c->lock);
    if (c->is_asked && !c->is_answered) {
        cd_buf_clear(&c->answer);
        cd_buf_put(&c->answer, text);
        c->is_answered = true;
    }
    cd_mutex_unlock(&c->lock);
    cd_cond_wake_all(&c->answered);
}

cd_err cd_control_open(cd_control **out, cd_loop *loop, const char *path, cd_control_fn *fn, void *ctx, cd_errinfo *why)
{
    struct sockaddr_un address;
    CD_TRY(address_of(&address, path, why));
    cd_control *c = cd_new(cd_control);
    c->loop = loop;
    c->fn = fn;
    c->ctx = ctx;
    memcpy(c->path, address.sun_path, sizeof c->path);
    cd_mutex_init(&c->lock);
    cd_cond_init(&c->answered);
    c->stop[0] = c->stop[1] = -1;
    (void)unlink(path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t mask = umask(077);
    bool is_bound = c->fd >= 0 && bind(c->fd, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)umask(mask);
    cd_err err = is_bound && listen(c->fd, 8) == 0 && pipe2(c->stop, O_CLOEXEC) == 0
                     ? cd_thread_start(&c->thread, "control", work, c, why)
                     : cd_fail(why, CD_EIO, "%s: no socket can be made there", path);
    c->is_running = err == CD_OK;
    if (err != CD_OK) {
        cd_control_close(c);
        return err;
    }
    *out = c;
    return CD_OK;
}

void cd_control_close(cd_control *c)
{
    if (c == NULL) {
        return;
    }
    if (c->is_running) {
        cd_mutex_lock(&c->lock);
        c->is_closed = true;
        cd_mutex_unlock(&c->lock);
        cd_cond_wake_all(&c->answered);
        (void)close(c->stop[1]);
        c->stop[1] = -1;
        cd_thread_join(&c->thread);
        (void)unlink(c->path);
    }
    const int fds[] = {c->fd, c->stop[0], c->stop[1]};
    for (usize i = 0; i < CD_COUNT(fds); i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    cd_buf_fini(&c->answer);
    cd_cond_fini(&c->answered);
    cd_mutex_fini(&c->lock);
    cd_free(c);
}

/* --- the asker's --- */

static cd_err talk(cd_buf *out, int fd, const char *word, cd_errinfo *why)
{
    cd_buf line = {0};
    cd_buf_fmt(&line, "%s\n", word);
    write_all(fd, cd_buf_bytes(&line));
    cd_buf_fini(&line);
    for (;;) {
        if (!is_ready(fd, POLLIN, ANSWER_MS)) {
            return cd_fail(why, CD_ETIMEOUT, "the miner does not answer");
        }
        ssize_t n = read(fd, cd_buf_reserve(out, 4096), 4096);
        if (n <= 0 || out->n > ANSWER_MAX) {
            break;
        }
        out->n += (usize)n;
    }
    return out->n != 0 ? CD_OK : cd_fail(why, CD_EIO, "the miner hung up");
}

cd_err cd_control_ask(cd_buf *out, const char *path, const char *word, cd_errinfo *why)
{
    struct sockaddr_un address;
    CD_TRY(address_of(&address, path, why));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return cd_fail(why, CD_EIO, "no socket");
    }
    cd_err err = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0
                     ? talk(out, fd, word, why)
                     : cd_fail(why, CD_ENOENT, "no miner runs with %s", path);
    (void)close(fd);
    return err;
}
