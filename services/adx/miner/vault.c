#include "services/adx/miner/vault.h"

#include "base/mem/mem.h"
#include "base/thread/mbox.h"
#include "base/thread/thread.h"

enum { WAITING_MAX = 4096 };

struct cd_vault {
    cd_loop *loop;
    cd_cache *cache; /* the thread's */
    cd_mbox *box;    /* cd_vault_job * */
    cd_thread thread;
    bool is_running;
    cd_mutex lock; /* of stats */
    cd_cache_stats stats;
};

static void on_done(cd_loop_task *t)
{
    cd_vault_job *job = (cd_vault_job *)(void *)((char *)t - offsetof(cd_vault_job, task));
    job->done(job);
}

static void note_stats(cd_vault *v)
{
    cd_cache_stats s = cd_cache_stats_get(v->cache);
    cd_mutex_lock(&v->lock);
    v->stats = s;
    cd_mutex_unlock(&v->lock);
}

static void work(void *arg)
{
    cd_vault *v = arg;
    cd_vault_job *job;
    while (cd_mbox_recv(v->box, &job, -1) == CD_OK) {
        job->why = (cd_errinfo){0};
        job->err = job->run(job, v->cache, &job->why);
        note_stats(v);
        job->task.fn = on_done;
        cd_loop_post(v->loop, &job->task);
    }
}

cd_err cd_vault_open(cd_vault **out, cd_loop *loop, const char *dir, u64 size, cd_errinfo *why)
{
    cd_vault *v = cd_new(cd_vault);
    v->loop = loop;
    cd_mutex_init(&v->lock);
    cd_err err = cd_cache_open(&v->cache, cd_fs_real(), dir, size, why);
    if (err == CD_OK) {
        note_stats(v);
        v->box = cd_mbox_new(WAITING_MAX, sizeof(cd_vault_job *));
        err = cd_thread_start(&v->thread, "vault", work, v, why);
        v->is_running = err == CD_OK;
    }
    if (err != CD_OK) {
        cd_vault_free(v);
        return err;
    }
    *out = v;
    return CD_OK;
}

void cd_vault_end(cd_vault *v)
{
    if (v != NULL && v->is_running) {
        cd_mbox_close(v->box);
        cd_thread_join(&v->thread);
        v->is_running = false;
    }
}

void cd_vault_free(cd_vault *v)
{
    if (v == NULL) {
        return;
    }
    cd_vault_end(v);
    cd_mbox_free(v->box);
    cd_cache_close(v->cache);
    cd_mutex_fini(&v->lock);
    cd_free(v);
}

cd_err cd_vault_post(cd_vault *v, cd_vault_job *job)
{
    return cd_mbox_send(v->box, &job);
}

cd_cache_stats cd_vault_stats(const cd_vault *v)
{
    cd_vault *w = (cd_vault *)(uintptr_t)v; /* only the lock is written */
    cd_mutex_lock(&w->lock);
    cd_cache_stats s = w->stats;
    cd_mutex_unlock(&w->lock);
    return s;
}
