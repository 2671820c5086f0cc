#include "services/common/peers.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "base/table/list.h"
#include "base/thread/thread.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* The server lets go of a dead process's name when it looks at its connection, which may take it a moment. */
enum { NAME_TRIES = 30, PAUSE_MS = 100, AGAIN_MS = 500 };

struct cd_peers {
    cd_loop *loop;
    cd_peers_events events;
    void *ctx;
    cd_sql *q;
    const char *channel;
    char name[CD_PEERS_NAME_MAX];
    int wake[2]; /* a pipe: written to when it shall end */
    bool has_thread;
    cd_thread thread;
    cd_loop_task task;
    cd_mutex lock; /* of what follows */
    cd_buf keys;   /* i64; heard, and not told to the owner yet */
    bool has_missed, is_posted, is_closing;
};

static void pause_ms(u32 ms)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)(ms * CD_NS_PER_MS)}, NULL);
}

static void free_it(cd_peers *p)
{
    cd_sql_close(p->q);
    for (usize i = 0; i < 2; i++) {
        if (p->wake[i] >= 0) {
            (void)close(p->wake[i]);
        }
    }
    cd_buf_fini(&p->keys);
    cd_mutex_fini(&p->lock);
    cd_free(p);
}

/* On the loop; it is the last who has p when that is closed. */
static void on_task(cd_loop_task *t)
{
    cd_peers *p = cd_list_of(t, cd_peers, task);
    cd_mutex_lock(&p->lock);
    cd_buf keys = p->keys;
    bool has_missed = p->has_missed;
    bool is_closing = p->is_closing;
    p->keys = (cd_buf){0};
    p->has_missed = p->is_posted = false;
    cd_mutex_unlock(&p->lock);
    if (has_missed && !is_closing) {
        p->events.missed(p->ctx);
    }
    for (usize i = 0; i < keys.n / sizeof(i64) && !is_closing; i++) {
        p->events.heard(p->ctx, ((const i64 *)(void *)keys.p)[i]);
    }
    cd_buf_fini(&keys);
    if (is_closing) {
        free_it(p);
    }
}

/* key 0: changes were missed. */
static void tell_loop(cd_peers *p, i64 key)
{
    cd_mutex_lock(&p->lock);
    if (key == 0 || p->keys.n == CD_PEERS_HEARD_MAX * sizeof key) {
        p->has_missed = true;
        cd_buf_fini(&p->keys);
    } else if (!p->has_missed) {
        cd_buf_put(&p->keys, cd_bytes_of(&key, sizeof key));
    }
    bool posts = !p->is_posted && !p->is_closing;
    p->is_posted |= posts;
    cd_mutex_unlock(&p->lock);
    if (posts) {
        cd_loop_post(p->loop, &p->task);
    }
}

/* "17 name": row 17, changed by the process of that name. */
static void on_told(void *ctx, const char *text)
{
    cd_peers *p = ctx;
    u64 key;
    usize n = strcspn(text, " ");
    if (text[n] == ' ' && strcmp(text + n + 1, p->name) != 0 && cd_u64_parse(&key, cd_bytes_of(text, n)) == CD_OK &&
        key != 0 && key <= INT64_MAX) {
        tell_loop(p, (i64)key);
    }
}

static bool is_closing(cd_peers *p)
{
    cd_mutex_lock(&p->lock);
    bool closes = p->is_closing;
    cd_mutex_unlock(&p->lock);
    return closes;
}

static void work(void *arg)
{
    cd_peers *p = arg;
    bool is_there = true;
    while (!is_closing(p)) {
        if (is_there) {
            is_there = cd_sql_hear(p->q, p->wake[0], on_told, p, NULL) == CD_OK;
        } else if (cd_sql_listen(p->q, p->channel, p->name, NULL) == CD_OK) {
            is_there = true;
            tell_loop(p, 0);
        } else {
            pause_ms(AGAIN_MS);
        }
    }
}

static cd_err begin(cd_peers *p, cd_errinfo *why)
{
    cd_err err = CD_EBUSY;
    if (pipe(p->wake) != 0) {
        return cd_fail(why, CD_EIO, "no pipe");
    }
    for (int i = 0; i < NAME_TRIES && err == CD_EBUSY; i++) {
        if (i != 0) {
            pause_ms(PAUSE_MS);
        }
        err = cd_sql_listen(p->q, p->channel, p->name, why);
    }
    CD_TRY(err);
    CD_TRY(cd_thread_start(&p->thread, "peers", work, p, why));
    p->has_thread = true;
    return CD_OK;
}

cd_err cd_peers_new(cd_peers **out, cd_loop *loop, const cd_peers_cfg *cfg, const cd_peers_events *events, void *ctx,
                    cd_errinfo *why)
{
    cd_sql *q = NULL;
    if (!cd_sql_is_shared_url(cfg->url)) {
        *out = NULL;
        return CD_OK;
    }
    if (strlen(cfg->name) >= CD_PEERS_NAME_MAX) {
        return cd_fail(why, CD_EINVAL, "a name has at most %d bytes", CD_PEERS_NAME_MAX - 1);
    }
    CD_TRY(cd_sql_open(&q, &(cd_sql_cfg){.url = cfg->url, .may_write = true}, why));
    cd_peers *p = cd_new(cd_peers);
    *p = (cd_peers){.loop = loop, .events = *events, .ctx = ctx, .q = q, .channel = cfg->channel};
    p->wake[0] = p->wake[1] = -1;
    p->task.fn = on_task;
    (void)snprintf(p->name, sizeof p->name, "%s", cfg->name);
    cd_mutex_init(&p->lock);
    cd_err err = begin(p, why);
    if (err != CD_OK) {
        free_it(p);
        return err;
    }
    *out = p;
    return CD_OK;
}

void cd_peers_free(cd_peers *p)
{
    if (p == NULL) {
        return;
    }
    cd_mutex_lock(&p->lock);
    p->is_closing = true;
    bool was_posted = p->is_posted;
    cd_mutex_unlock(&p->lock);
    if (write(p->wake[1], "", 1) != 1) {
        CD_UNREACHABLE(); /* a pipe that is empty */
    }
    cd_thread_join(&p->thread);
    if (!was_posted) {
        free_it(p);
    } else if (!cd_loop_is_here(p->loop)) { /* one round, for the task */
        cd_loop_stop(p->loop);
        cd_loop_run(p->loop);
    }
}
