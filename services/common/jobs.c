#include "services/common/jobs.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/thread/thread.h"

#include <stdio.h>
#include <time.h>

enum {
    GROUP_MAX = 512,     /* jobs in a transaction: enough to share a commit, few enough to take milliseconds */
    IDLE_MS = 250,       /* how often a thread without jobs asks its store for something due */
    PATIENCE_MS = 30000, /* how long a transaction that others refused is tried again */
    PAUSE_MIN_MS = 5,    /* between tries, doubled each time */
    PAUSE_MAX_MS = 320,
    HOLD_MS = 100,      /* how long the writer waits for a job that holds to come again */
    STUCK_MS = 1000,    /* a reader that waits longer for the server says that it is away */
    UNTIDY_PAGES = 500, /* pages of SQLite's log from which on a thread copies them into the file */
    READ_COPY = 0,      /* places in cd_jobs.sides */
    WRITE_COPY = 1
};

/* A store and how it is used. */
typedef struct handle {
    const cd_jobs_store *ops;
    void *store; /* NULL: not open */
} handle;

typedef struct queue {
    cd_job *first;
    cd_job *last;
} queue;

/* One thread with its store. */
typedef struct side {
    cd_jobs *db;
    handle h;
    bool is_writer, has_thread;
    u32 group_max;
    cd_thread thread;
    cd_mutex lock; /* of jobs and is_closing */
    cd_cond wake;
    queue jobs;
    bool has_next; /* the first of jobs was posted by cd_jobs_write_next */
    bool is_closing;
    u64 held_until_ns;    /* until then (monotonic clock) only a has_next job is run; for the thread alone */
    _Atomic u64 began_ns; /* when the reader asked the server to begin a transaction; 0: it waits for no answer */
} side;

/* The task that tells the loop that jobs are done. It is in memory of its own, because a loop that runs on may get to
 * it only when the database was closed. */
typedef struct bell {
    cd_loop_task task;
    cd_jobs *db;
} bell;

/* The thread that copies SQLite's log into the file, so that no group of jobs waits for that. */
typedef struct broom {
    cd_sql *q;
    bool has_thread;
    cd_thread thread;
    cd_mutex lock; /* of wanted and is_closing */
    cd_cond wake;
    bool wanted, is_closing;
    cd_counter *failures;
} broom;

struct cd_jobs {
    cd_loop *loop;
    side sides[2];
    bool is_closed; /* the threads have ended; what is posted now is forgotten */
    broom broom;
    cd_mutex done_lock; /* of done, is_posted, trouble and losses */
    queue done;
    bool is_posted;
    char trouble[CD_JOBS_TROUBLE_MAX];
    cd_err trouble_err; /* the error that trouble is the text of; CD_OK: none */
    u64 losses;
    bell *bell;
    cd_counter *groups, *jobs, *failures;
    cd_hist *commit_time;
};

static void push(queue *q, cd_job *job)
{
    job->next = NULL;
    if (q->last == NULL) {
        q->first = job;
    } else {
        q->last->next = job;
    }
    q->last = job;
}

/* --- a store's part in transactions --- */

static cd_err open_store(handle *h, const cd_jobs_cfg *cfg, bool is_writer, cd_errinfo *why)
{
    h->ops = cfg->store;
    return cfg->store->open(&h->store, cfg->store_cfg, is_writer, why);
}

static void close_store(handle *h)
{
    if (h->store != NULL) {
        h->ops->close(h->store);
    }
}

static cd_sql *sql_of(const handle *h)
{
    return h->ops->sql(h->store);
}

static cd_err begin(const handle *h, bool is_write, cd_errinfo *why)
{
    return h->ops->begin != NULL ? h->ops->begin(h->store, is_write, why) : cd_sql_begin(sql_of(h), is_write, why);
}

static cd_err commit(const handle *h, cd_errinfo *why)
{
    return h->ops->commit != NULL ? h->ops->commit(h->store, why) : cd_sql_commit(sql_of(h), why);
}

static void rollback(const handle *h)
{
    if (h->ops->rollback != NULL) {
        h->ops->rollback(h->store);
    } else {
        cd_sql_rollback(sql_of(h));
    }
}

static cd_err save(const handle *h, cd_errinfo *why)
{
    return h->ops->save != NULL ? h->ops->save(h->store, why) : cd_sql_save(sql_of(h), why);
}

static cd_err keep(const handle *h, cd_errinfo *why)
{
    return h->ops->keep != NULL ? h->ops->keep(h->store, why) : cd_sql_keep(sql_of(h), why);
}

static cd_err undo(const handle *h, cd_errinfo *why)
{
    return h->ops->undo != NULL ? h->ops->undo(h->store, why) : cd_sql_undo(sql_of(h), why);
}

static bool is_due(const handle *h, bool is_last)
{
    return h->ops->is_due != NULL && h->ops->is_due(h->store, is_last);
}

/* --- one group --- */

static void fail_all(cd_job *group, cd_err err, const cd_errinfo *why)
{
    for (cd_job *j = group; j != NULL; j = j->next) {
        if (j->err == CD_OK) {
            j->err = err;
            j->why = *why;
        }
    }
}

/* Runs one job of several: what a failed one wrote is taken back. The result is that of the group. */
static cd_err run_part(const handle *h, cd_job *j, cd_errinfo *why)
{
    CD_TRY(save(h, why));
    j->err = j->run(j, h->store, &j->why);
    if (j->err == CD_OK) {
        j->err = keep(h, &j->why);
    }
    return j->err == CD_OK ? CD_OK : undo(h, why);
}

static cd_err run_group(const handle *h, cd_job *group, bool is_last, cd_errinfo *why)
{
    bool with_due = is_due(h, is_last);
    bool is_soft = true;
    for (const cd_job *j = group; j != NULL; j = j->next) {
        is_soft = is_soft && j->is_soft;
    }
    CD_TRY(cd_sql_soft(sql_of(h), is_soft, why));
    CD_TRY(begin(h, true, why));
    cd_err err = CD_OK;
    if (group != NULL && group->next == NULL) {
        group->err = group->run(group, h->store, &group->why);
        if (group->err != CD_OK) { /* alone: there is nothing else to keep */
            rollback(h);
            return CD_OK;
        }
    } else {
        for (cd_job *j = group; j != NULL && err == CD_OK; j = j->next) {
            err = run_part(h, j, why);
        }
    }
    if (err == CD_OK && with_due) {
        err = h->ops->write(h->store, why);
    }
    if (err != CD_OK) {
        rollback(h);
        return err;
    }
    if (with_due) {
        h->ops->written(h->store);
    }
    return commit(h, why);
}

static void give(cd_jobs *db, cd_job *group);

/* Refuses the hasty jobs that wait behind a job which is tried again. */
static void refuse_hasty(side *l, cd_err err, const char *text)
{
    queue stay = {0};
    queue go = {0};
    cd_mutex_lock(&l->lock);
    for (cd_job *j = l->jobs.first; j != NULL;) {
        cd_job *next = j->next;
        push(j->is_hasty ? &go : &stay, j);
        j = next;
    }
    l->jobs = stay;
    cd_mutex_unlock(&l->lock);
    for (cd_job *j = go.first; j != NULL; j = j->next) {
        j->err = cd_fail(&j->why, err, "%s", text);
    }
    give(l->db, go.first);
}

/* Pauses before another try of a transaction; false: it is not worth one, or there were enough. */
typedef struct patience {
    side *l; /* the thread that pauses, cut short when it is closed; NULL: cd_jobs_now */
    u64 until_ns;
    u64 pause_ms;
} patience;

static bool is_closing(side *l)
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

bool cd_jobs_is_trouble(cd_err err)
{
    return err == CD_EIO || err == CD_ENOSPC || err == CD_EBUSY || err == CD_ECLOSED || err == CD_EACCES ||
           err == CD_ECORRUPT;
}

static void note_trouble(side *l, cd_err err, const char *text)
{
    if (l != NULL) {
        cd_mutex_lock(&l->db->done_lock);
        bool is_trouble = cd_jobs_is_trouble(err);
        (void)snprintf(l->db->trouble, sizeof l->db->trouble, "%s", is_trouble ? text : "");
        l->db->trouble_err = is_trouble ? err : CD_OK;
        l->db->losses += err == CD_ECLOSED && l->is_writer;
        cd_mutex_unlock(&l->db->done_lock);
    }
}

/* The job is alone in its group, the connection is lost, and it would rather be refused than done later. */
static bool is_over(const cd_job *group, cd_err err)
{
    return err == CD_ECLOSED && group != NULL && group->next == NULL && group->is_hasty;
}

static void write_group(side *l, const handle *h, cd_job *group, bool is_last)
{
    patience p = {.l = l};
    cd_errinfo why;
    cd_err err;
    cd_err said;
    do {
        for (cd_job *j = group; j != NULL; j = j->next) {
            j->err = CD_OK;
            j->holds = false;
        }
        err = run_group(h, group, is_last, &why);
        bool is_job = err == CD_OK && group != NULL;
        said = is_job ? group->err : err;
        note_trouble(l, said, is_job ? group->why.msg : why.msg);
        if (l != NULL && said == CD_ECLOSED) {
            refuse_hasty(l, said, is_job ? group->why.msg : why.msg);
        }
    } while (!is_over(group, said) && waits(&p, said));
    if (err != CD_OK) {
        fail_all(group, err, &why);
    }
}

static void read_one(side *l, cd_job *j)
{
    patience p = {.l = l};
    do {
        l->began_ns = cd_clock_mono_ns(cd_clock_real());
        j->err = begin(&l->h, false, &j->why);
        l->began_ns = 0;
        if (j->err == CD_ECLOSED) {
            refuse_hasty(l, j->err, j->why.msg);
        }
    } while (!is_over(j, j->err) && waits(&p, j->err));
    if (j->err == CD_OK) {
        j->err = j->run(j, l->h.store, &j->why);
        rollback(&l->h);
    }
    if (j->err == CD_ECLOSED) { /* noted here, taken back by who writes */
        note_trouble(l, j->err, j->why.msg);
    }
}

/* --- threads --- */

/* Takes jobs for one turn; NULL and *is_end when the thread shall end. */
static cd_job *take(side *l, bool *is_end)
{
    cd_job *group = NULL;
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
    cd_job *last = group;
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

static void give(cd_jobs *db, cd_job *group)
{
    bool ring = false;
    if (group == NULL) {
        return;
    }
    cd_mutex_lock(&db->done_lock);
    while (group != NULL) {
        cd_job *next = group->next;
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
    side *l = arg;
    for (bool is_end = false; !is_end;) {
        cd_job *group = take(l, &is_end);
        if (group != NULL && !l->is_writer) {
            read_one(l, group);
        } else if (group != NULL || is_due(&l->h, is_end)) {
            u64 began = cd_clock_mono_ns(cd_clock_real());
            write_group(l, &l->h, group, is_end);
            if (cd_sql_untidy(sql_of(&l->h)) >= UNTIDY_PAGES) {
                want_broom(&l->db->broom);
            }
            if (l->db->groups != NULL) {
                cd_counter_add(l->db->groups, 1);
                cd_hist_add(l->db->commit_time, cd_clock_mono_ns(cd_clock_real()) - began);
            }
        }
        for (const cd_job *j = group; j != NULL; j = j->next) {
            if (j->holds) {
                l->held_until_ns = cd_clock_mono_ns(cd_clock_real()) + HOLD_MS * CD_NS_PER_MS;
            }
        }
        if (group != NULL) {
            give(l->db, group);
        }
    }
}

/* --- the loop's side --- */

static void call_done(cd_jobs *db)
{
    cd_mutex_lock(&db->done_lock);
    cd_job *j = db->done.first;
    db->done = (queue){0};
    db->is_posted = false;
    cd_mutex_unlock(&db->done_lock);
    while (j != NULL) {
        cd_job *next = j->next;
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

static void post(cd_jobs *db, int copy, cd_job *job, bool is_next)
{
    if (db->is_closed) {
        return;
    }
    side *l = &db->sides[copy];
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

void cd_jobs_write(cd_jobs *db, cd_job *job)
{
    post(db, WRITE_COPY, job, false);
}

void cd_jobs_write_next(cd_jobs *db, cd_job *job)
{
    post(db, WRITE_COPY, job, true);
}

void cd_jobs_read(cd_jobs *db, cd_job *job)
{
    post(db, READ_COPY, job, false);
}

static void watch(cd_jobs *db, cd_metrics *m)
{
    static const u64 bounds[] = {500000,   1000000,  2000000,   5000000,   10000000,
                                 20000000, 50000000, 100000000, 500000000, 2000000000};
    db->groups = cd_metrics_counter(m, "store_groups_total", "Transactions of the store.", NULL, 0);
    db->jobs = cd_metrics_counter(m, "store_jobs_total", "Jobs done by the store.", NULL, 0);
    db->failures = cd_metrics_counter(m, "store_failures_total", "Jobs that failed.", NULL, 0);
    db->broom.failures =
        cd_metrics_counter(m, "store_tidy_failures_total", "Times the log could not be copied into the file.", NULL, 0);
    db->commit_time = cd_metrics_hist(m, "store_group_seconds", "From the start of a transaction to the disk.", NULL, 0,
                                      bounds, CD_COUNT(bounds), 1e9);
}

cd_err cd_jobs_open(cd_jobs **out, cd_loop *loop, const cd_jobs_cfg *cfg, cd_errinfo *why)
{
    cd_jobs *db = cd_new(cd_jobs);
    cd_err err = CD_OK;
    db->loop = loop;
    cd_mutex_init(&db->done_lock);
    cd_mutex_init(&db->broom.lock);
    cd_cond_init(&db->broom.wake);
    db->bell = cd_new(bell);
    *db->bell = (bell){.task.fn = on_bell, .db = db};
    if (cfg->metrics != NULL) {
        watch(db, cfg->metrics);
    }
    for (int i = 0; i < 2; i++) {
        cd_mutex_init(&db->sides[i].lock);
        cd_cond_init(&db->sides[i].wake);
        db->sides[i].db = db;
        db->sides[i].is_writer = i == WRITE_COPY;
    }
    for (int i = WRITE_COPY; i >= READ_COPY && err == CD_OK; i--) { /* the writer makes the schema */
        err = open_store(&db->sides[i].h, cfg, i == WRITE_COPY, why);
    }
    bool is_shared = err == CD_OK && cd_sql_is_shared(sql_of(&db->sides[WRITE_COPY].h));
    db->sides[READ_COPY].group_max = 1;
    db->sides[WRITE_COPY].group_max = is_shared ? 1 : GROUP_MAX;
    if (err == CD_OK && !is_shared) {
        err = cd_sql_open(&db->broom.q, &(cd_sql_cfg){.url = cfg->url, .may_write = true}, why);
        if (err == CD_OK) {
            err = cd_thread_start(&db->broom.thread, "store-tidy", sweep, &db->broom, why);
            db->broom.has_thread = err == CD_OK;
        }
    }
    for (int i = 0; i < 2 && err == CD_OK; i++) {
        side *l = &db->sides[i];
        err = cd_thread_start(&l->thread, i == WRITE_COPY ? "store-write" : "store-read", work, l, why);
        l->has_thread = err == CD_OK;
    }
    if (err != CD_OK) {
        cd_jobs_close(db);
        return err;
    }
    *out = db;
    return CD_OK;
}

/* The bell may be on its way: a loop that runs takes it later, one that does not runs for the one round. */
static void end_bell(cd_jobs *db)
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

void cd_jobs_close(cd_jobs *db)
{
    if (db == NULL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        side *l = &db->sides[i];
        cd_mutex_lock(&l->lock);
        l->is_closing = true;
        cd_mutex_unlock(&l->lock);
        cd_cond_wake_one(&l->wake);
        if (l->has_thread) {
            cd_thread_join(&l->thread);
        }
        close_store(&l->h);
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

bool cd_jobs_trouble(cd_jobs *db, char out[CD_JOBS_TROUBLE_MAX])
{
    cd_mutex_lock(&db->done_lock);
    memcpy(out, db->trouble, sizeof db->trouble);
    cd_mutex_unlock(&db->done_lock);
    return out[0] != '\0';
}

bool cd_jobs_away(cd_jobs *db)
{
    u64 began_ns = db->sides[READ_COPY].began_ns;
    u64 now = cd_clock_mono_ns(cd_clock_real());
    cd_mutex_lock(&db->done_lock);
    cd_err err = db->trouble_err;
    cd_mutex_unlock(&db->done_lock);
    return err == CD_ECLOSED || (began_ns != 0 && now > began_ns && now - began_ns > STUCK_MS * CD_NS_PER_MS);
}

u64 cd_jobs_losses(cd_jobs *db)
{
    cd_mutex_lock(&db->done_lock);
    u64 losses = db->losses;
    cd_mutex_unlock(&db->done_lock);
    return losses;
}

cd_err cd_jobs_now(const cd_jobs_cfg *cfg, cd_job *job, cd_errinfo *why)
{
    handle h = {0};
    job->next = NULL;
    job->err = CD_OK;
    CD_TRY(open_store(&h, cfg, true, why));
    write_group(NULL, &h, job, true);
    if (is_due(&h, true)) { /* what the job has left in memory */
        write_group(NULL, &h, NULL, true);
    }
    close_store(&h);
    if (job->err != CD_OK && why != NULL) {
        *why = job->why;
    }
    return job->err;
}
