#include "services/webhook/core/db.h"

#include "base/mem.h"
#include "base/thread.h"
#include "services/webhook/core/store_priv.h"

#include <stdio.h>
#include <time.h>

/* A group is what waits when the one before it is on the disk: large enough to share a commit, small enough not to
 * keep others waiting for milliseconds. */
enum {
    GROUP_MAX = 512,
    IDLE_MS = 250,
    /* What is worth another try gets them for so long, with growing pauses. */
    PATIENCE_MS = 30000,
    PAUSE_MIN_MS = 5,
    PAUSE_MAX_MS = 320,
    HOLD_MS = 100,
    READ_COPY = 0,
    WRITE_COPY = 1
};

/* From so many pages on what the engine puts off is done by a thread, so that no group has to wait for it. */
enum { UNTIDY_PAGES = 500 };

typedef struct queue {
    cd_wh_job *first;
    cd_wh_job *last;
} queue;

/* One thread with its connection. */
typedef struct lane {
    cd_wh_db *db;
    cd_wh_store *store;
    bool is_writer, has_thread;
    u32 group_max;
    cd_thread thread;
    cd_mutex lock; /* of jobs and is_closing */
    cd_cond wake;
    queue jobs;
    bool has_next; /* the first of jobs is what is waited for */
    bool is_closing;
    u64 held_until_ns; /* nothing but that is run before; the thread's own */
} lane;

/* What tells the loop that jobs are done; outlives the database when it was posted and the loop still runs. */
typedef struct bell {
    cd_loop_task task;
    cd_wh_db *db;
} bell;

/* The thread that tidies up behind the writer; a local engine has one. */
typedef struct broom {
    cd_sql *q;
    bool has_thread;
    cd_thread thread;
    cd_mutex lock; /* of wanted and is_closing */
    cd_cond wake;
    bool wanted, is_closing;
    cd_counter *failures;
} broom;

struct cd_wh_db {
    cd_loop *loop;
    lane lanes[2];
    bool is_closed; /* the lanes are gone */
    broom broom;
    cd_mutex done_lock; /* of done, is_posted, trouble and losses */
    queue done;
    bool is_posted;
    char trouble[CD_WH_TROUBLE_MAX];
    u64 losses;
    bell *bell;
    cd_counter *groups, *jobs, *failures;
    cd_hist *commit_time;
};

static void push(queue *q, cd_wh_job *job)
{
    job->next = NULL;
    if (q->last == NULL) {
        q->first = job;
    } else {
        q->last->next = job;
    }
    q->last = job;
}

/* ---- one group ---- */

static void fail_all(cd_wh_job *group, cd_err err, const cd_errinfo *why)
{
    for (cd_wh_job *j = group; j != NULL; j = j->next) {
        if (j->err == CD_OK) {
            j->err = err;
            j->why = *why;
        }
    }
}

/* Runs one job of several: what a failed one wrote is taken back. The result is that of the group. */
static cd_err run_part(cd_wh_store *s, cd_wh_job *j, cd_errinfo *why)
{
    CD_TRY(cd__wh_save(s, why));
    j->err = j->run(j, s, &j->why);
    if (j->err == CD_OK) {
        j->err = cd__wh_keep(s, &j->why);
    }
    return j->err == CD_OK ? CD_OK : cd__wh_undo(s, why);
}

static cd_err run_group(cd_wh_store *s, cd_wh_job *group, bool is_last, cd_errinfo *why)
{
    bool with_stats = cd__wh_stats_due(s, is_last);
    bool is_soft = true;
    for (const cd_wh_job *j = group; j != NULL; j = j->next) {
        is_soft = is_soft && j->is_soft;
    }
    CD_TRY(cd_sql_soft(s->q, is_soft, why));
    CD_TRY(cd__wh_begin(s, true, why));
    cd_err err = CD_OK;
    if (group != NULL && group->next == NULL) {
        group->err = group->run(group, s, &group->why);
        if (group->err != CD_OK) { /* alone: there is nothing else to keep */
            cd__wh_rollback(s);
            return CD_OK;
        }
    } else {
        for (cd_wh_job *j = group; j != NULL && err == CD_OK; j = j->next) {
            err = run_part(s, j, why);
        }
    }
    if (err == CD_OK && with_stats) {
        err = cd__wh_stats_write(s, why);
    }
    if (err != CD_OK) {
        cd__wh_rollback(s);
        return err;
    }
    if (with_stats) {
        cd__wh_stats_written(s);
    }
    return cd__wh_commit(s, why);
}

/* Pauses before another try of a transaction; false: it is not worth one, or there were enough. */
typedef struct patience {
    lane *l; /* NULL: of nobody who might be in a hurry */
    u64 until_ns;
    u64 pause_ms;
} patience;

static bool is_closing(lane *l)
{
    cd_mutex_lock(&l->lock);
    bool closes = l->is_closing;
    cd_mutex_unlock(&l->lock);
    return closes;
}

static bool waits(patience *p, cd_err err)
{
    u64 now = cd_clock_mono_ns(cd_clock_real());
    if ((err != CD_EBUSY && err != CD_ECLOSED) || (p->l != NULL && is_closing(p->l))) {
        return false;
    }
    if (p->until_ns == 0) {
        p->until_ns = now + PATIENCE_MS * CD_NS_PER_MS;
        p->pause_ms = PAUSE_MIN_MS;
    }
    if (now >= p->until_ns) {
        return false;
    }
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)(p->pause_ms * CD_NS_PER_MS)}, NULL);
    p->pause_ms = cd_min_u64(2 * p->pause_ms, PAUSE_MAX_MS);
    return true;
}

/* What a job may want in vain is no trouble. */
static bool is_trouble(cd_err err)
{
    return err == CD_EIO || err == CD_ENOSPC || err == CD_EBUSY || err == CD_ECLOSED ||
           err == CD_EACCES || err == CD_ECORRUPT;
}

static void note_trouble(lane *l, cd_err err, const char *text)
{
    if (l != NULL) {
        cd_mutex_lock(&l->db->done_lock);
        (void)snprintf(l->db->trouble, sizeof l->db->trouble, "%s", is_trouble(err) ? text : "");
        l->db->losses += err == CD_ECLOSED;
        cd_mutex_unlock(&l->db->done_lock);
    }
}

static void write_group(lane *l, cd_wh_store *s, cd_wh_job *group, bool is_last)
{
    patience p = {.l = l};
    cd_errinfo why;
    cd_err err;
    cd_err said;
    do {
        for (cd_wh_job *j = group; j != NULL; j = j->next) {
            j->err = CD_OK;
            j->holds = false;
        }
        err = run_group(s, group, is_last, &why);
        bool is_job = err == CD_OK && group != NULL;
        said = is_job ? group->err : err;
        note_trouble(l, said, is_job ? group->why.msg : why.msg);
    } while (waits(&p, said));
    if (err != CD_OK) {
        fail_all(group, err, &why);
    }
}

static void read_one(lane *l, cd_wh_job *j)
{
    patience p = {.l = l};
    do {
        j->err = cd__wh_begin(l->store, false, &j->why);
    } while (waits(&p, j->err));
    if (j->err == CD_OK) {
        j->err = j->run(j, l->store, &j->why);
        cd__wh_rollback(l->store);
    }
}

/* ---- threads ---- */

/* Takes jobs for one turn; NULL and *is_end when the thread shall end. */
static cd_wh_job *take(lane *l, bool *is_end)
{
    cd_wh_job *group = NULL;
    cd_mutex_lock(&l->lock);
    while (!l->has_next && !l->is_closing && cd_clock_mono_ns(cd_clock_real()) < l->held_until_ns) {
        (void)cd_cond_wait_ms(&l->wake, &l->lock, HOLD_MS);
    }
    l->held_until_ns = 0;
    if (l->jobs.first == NULL && !l->is_closing) {
        (void)cd_cond_wait_ms(&l->wake, &l->lock, IDLE_MS);
    }
    group = l->jobs.first;
    l->has_next = false;
    cd_wh_job *last = group;
    for (u32 n = 1; last != NULL && last->next != NULL && n < l->group_max; n++) {
        last = last->next;
    }
    if (last != NULL) {
        l->jobs.first = last->next;
        l->jobs.last = last->next == NULL ? NULL : l->jobs.last;
        last->next = NULL;
    }
    *is_end = group == NULL && l->is_closing;
    cd_mutex_unlock(&l->lock);
    return group;
}

static void on_bell(cd_loop_task *t);

static void give(cd_wh_db *db, cd_wh_job *group)
{
    bool ring = false;
    cd_mutex_lock(&db->done_lock);
    while (group != NULL) {
        cd_wh_job *next = group->next;
        push(&db->done, group);
        group = next;
    }
    ring = !db->is_posted;
    db->is_posted = true;
    cd_mutex_unlock(&db->done_lock);
    if (ring) {
        cd_loop_post(db->loop, &db->bell->task);
    }
}

static void sweep(void *arg)
{
    broom *b = arg;
    for (bool is_end = false; !is_end;) {
        cd_mutex_lock(&b->lock);
        while (!b->wanted && !b->is_closing) {
            cd_cond_wait(&b->wake, &b->lock);
        }
        b->wanted = false;
        is_end = b->is_closing;
        cd_mutex_unlock(&b->lock);
        if (!is_end) {
            cd_err err = cd_sql_tidy(b->q, NULL);
            if (err != CD_OK && b->failures != NULL) { /* tried again when the log has grown */
                cd_counter_add(b->failures, 1);
            }
        }
    }
}

static void want_broom(broom *b)
{
    cd_mutex_lock(&b->lock);
    b->wanted = true;
    cd_mutex_unlock(&b->lock);
    cd_cond_wake_one(&b->wake);
}

static void work(void *arg)
{
    lane *l = arg;
    for (bool is_end = false; !is_end;) {
        cd_wh_job *group = take(l, &is_end);
        if (group != NULL && !l->is_writer) {
            read_one(l, group);
        } else if (group != NULL || cd__wh_stats_due(l->store, is_end)) {
            u64 began = cd_clock_mono_ns(cd_clock_real());
            write_group(l, l->store, group, is_end);
            if (cd_sql_untidy(l->store->q) >= UNTIDY_PAGES) {
                want_broom(&l->db->broom);
            }
            if (l->db->groups != NULL) {
                cd_counter_add(l->db->groups, 1);
                cd_hist_add(l->db->commit_time, cd_clock_mono_ns(cd_clock_real()) - began);
            }
        }
        for (const cd_wh_job *j = group; j != NULL; j = j->next) {
            if (j->holds) {
                l->held_until_ns = cd_clock_mono_ns(cd_clock_real()) + HOLD_MS * CD_NS_PER_MS;
            }
        }
        if (group != NULL) {
            give(l->db, group);
        }
    }
}

/* ---- the loop's side ---- */

static void call_done(cd_wh_db *db)
{
    cd_mutex_lock(&db->done_lock);
    cd_wh_job *j = db->done.first;
    db->done = (queue){0};
    db->is_posted = false;
    cd_mutex_unlock(&db->done_lock);
    while (j != NULL) {
        cd_wh_job *next = j->next;
        if (db->jobs != NULL) {
            cd_counter_add(j->err == CD_OK ? db->jobs : db->failures, 1);
        }
        j->done(j);
        j = next;
    }
}

static void on_bell(cd_loop_task *t)
{
    bell *b = (bell *)(void *)t;
    if (b->db == NULL) {
        cd_free(b);
        return;
    }
    call_done(b->db);
}

static void post(cd_wh_db *db, int copy, cd_wh_job *job, bool is_next)
{
    if (db->is_closed) {
        return;
    }
    lane *l = &db->lanes[copy];
    job->err = CD_OK;
    job->why = (cd_errinfo){0};
    job->holds = false;
    cd_mutex_lock(&l->lock);
    if (is_next && l->jobs.first != NULL) {
        job->next = l->jobs.first;
        l->jobs.first = job;
    } else {
        push(&l->jobs, job);
    }
    l->has_next |= is_next;
    cd_mutex_unlock(&l->lock);
    cd_cond_wake_one(&l->wake);
}

void cd_wh_db_write(cd_wh_db *db, cd_wh_job *job)
{
    post(db, WRITE_COPY, job, false);
}

void cd_wh_db_write_next(cd_wh_db *db, cd_wh_job *job)
{
    post(db, WRITE_COPY, job, true);
}

void cd_wh_db_read(cd_wh_db *db, cd_wh_job *job)
{
    post(db, READ_COPY, job, false);
}

static void watch(cd_wh_db *db, cd_metrics *m)
{
    static const u64 bounds[] = {500000,   1000000,  2000000,   5000000,   10000000,
                                 20000000, 50000000, 100000000, 500000000, 2000000000};
    db->groups = cd_metrics_counter(m, "store_groups_total", "Transactions of the store.", NULL, 0);
    db->jobs = cd_metrics_counter(m, "store_jobs_total", "Jobs done by the store.", NULL, 0);
    db->failures = cd_metrics_counter(m, "store_failures_total", "Jobs that failed.", NULL, 0);
    db->broom.failures =
        cd_metrics_counter(m, "store_tidy_failures_total",
                           "Times the log could not be copied into the file.", NULL, 0);
    db->commit_time =
        cd_metrics_hist(m, "store_group_seconds", "From the start of a transaction to the disk.",
                        NULL, 0, bounds, CD_COUNT(bounds), 1e9);
}

cd_err cd_wh_db_open(cd_wh_db **out, cd_loop *loop, const cd_wh_store_cfg *cfg, cd_metrics *metrics,
                     cd_errinfo *why)
{
    cd_wh_db *db = cd_new(cd_wh_db);
    cd_err err = CD_OK;
    db->loop = loop;
    cd_mutex_init(&db->done_lock);
    cd_mutex_init(&db->broom.lock);
    cd_cond_init(&db->broom.wake);
    db->bell = cd_new(bell);
    *db->bell = (bell){.task.fn = on_bell, .db = db};
    if (metrics != NULL) {
        watch(db, metrics);
    }
    for (int i = 0; i < 2; i++) {
        cd_mutex_init(&db->lanes[i].lock);
        cd_cond_init(&db->lanes[i].wake);
        db->lanes[i].db = db;
        db->lanes[i].is_writer = i == WRITE_COPY;
    }
    for (int i = WRITE_COPY; i >= READ_COPY && err == CD_OK;
         i--) { /* the writer makes the schema */
        err = cd__wh_store_open(&db->lanes[i].store, cfg, i == WRITE_COPY, why);
    }
    bool is_shared = err == CD_OK && cd_sql_is_shared(db->lanes[WRITE_COPY].store->q);
    db->lanes[READ_COPY].group_max = 1;
    db->lanes[WRITE_COPY].group_max = is_shared ? 1 : GROUP_MAX;
    if (err == CD_OK && !is_shared) {
        err = cd_sql_open(&db->broom.q, &(cd_sql_cfg){.url = cfg->url, .may_write = true}, why);
        if (err == CD_OK) {
            err = cd_thread_start(&db->broom.thread, "store-tidy", sweep, &db->broom, why);
            db->broom.has_thread = err == CD_OK;
        }
    }
    for (int i = 0; i < 2 && err == CD_OK; i++) {
        lane *l = &db->lanes[i];
        err = cd_thread_start(&l->thread, i == WRITE_COPY ? "store-write" : "store-read", work, l,
                              why);
        l->has_thread = err == CD_OK;
    }
    if (err != CD_OK) {
        cd_wh_db_close(db);
        return err;
    }
    *out = db;
    return CD_OK;
}

/* The bell may be on its way: a loop that runs takes it later, one that does not runs for the one round. */
static void end_bell(cd_wh_db *db)
{
    if (!db->is_posted) {
        cd_free(db->bell);
        return;
    }
    db->bell->db = NULL;
    if (!cd_loop_is_here(db->loop)) {
        cd_loop_stop(db->loop);
        cd_loop_run(db->loop);
    }
}

static void close_broom(broom *b)
{
    cd_mutex_lock(&b->lock);
    b->is_closing = true;
    cd_mutex_unlock(&b->lock);
    cd_cond_wake_one(&b->wake);
    if (b->has_thread) {
        cd_thread_join(&b->thread);
    }
    cd_sql_close(b->q);
    cd_cond_fini(&b->wake);
    cd_mutex_fini(&b->lock);
}

void cd_wh_db_close(cd_wh_db *db)
{
    if (db == NULL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        lane *l = &db->lanes[i];
        cd_mutex_lock(&l->lock);
        l->is_closing = true;
        cd_mutex_unlock(&l->lock);
        cd_cond_wake_one(&l->wake);
        if (l->has_thread) {
            cd_thread_join(&l->thread);
        }
        cd__wh_store_close(l->store);
        cd_cond_fini(&l->wake);
        cd_mutex_fini(&l->lock);
    }
    close_broom(&db->broom);
    db->is_closed = true;
    bool was_posted = db->is_posted;
    call_done(db);
    db->is_posted = was_posted;
    end_bell(db);
    cd_mutex_fini(&db->done_lock);
    cd_free(db);
}

bool cd_wh_db_trouble(cd_wh_db *db, char out[CD_WH_TROUBLE_MAX])
{
    cd_mutex_lock(&db->done_lock);
    memcpy(out, db->trouble, sizeof db->trouble);
    cd_mutex_unlock(&db->done_lock);
    return out[0] != '\0';
}

u64 cd_wh_db_losses(cd_wh_db *db)
{
    cd_mutex_lock(&db->done_lock);
    u64 losses = db->losses;
    cd_mutex_unlock(&db->done_lock);
    return losses;
}

cd_err cd_wh_db_now(const cd_wh_store_cfg *cfg, cd_wh_job *job, cd_errinfo *why)
{
    cd_wh_store *s = NULL;
    job->next = NULL;
    job->err = CD_OK;
    CD_TRY(cd__wh_store_open(&s, cfg, true, why));
    write_group(NULL, s, job, true);
    cd__wh_store_close(s);
    if (job->err != CD_OK && why != NULL) {
        *why = job->why;
    }
    return job->err;
}
