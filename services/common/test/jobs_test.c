/* Jobs of a small store on both engines: done in order, each undone alone, told when they are on the disk, tried again
 * where others were in the way. */
#include "services/common/jobs.h"

#include "base/os/fileio.h"
#include "services/common/test/engines.h"

#include <stdio.h>
#include <unistd.h>

/* --- a store: numbers that were seen, and a count that it writes now and then --- */

static const char *const steps[] = {
    "CREATE TABLE seen (n BIGINT PRIMARY KEY); CREATE TABLE total (k BIGINT PRIMARY KEY, n BIGINT NOT NULL);"
    "INSERT INTO total (k, n) VALUES (1, 0);",
};

typedef struct tally {
    cd_sql *q;
    cd_sql_stmt *add, *has, *count;
    u32 gathered; /* not written yet */
} tally;

typedef struct tally_cfg {
    const char *url;
} tally_cfg;

static void tally_close(void *store)
{
    tally *t = store;
    cd_sql_close(t->q);
    test_free(t);
}

static cd_err tally_begin(tally *t, bool is_writer, cd_errinfo *why)
{
    if (is_writer) {
        CD_TRY(cd_sql_migrate(t->q, steps, CD_COUNT(steps), why));
    }
    CD_TRY(cd_sql_prepare(t->q, &t->add, "INSERT INTO seen (n) VALUES (?1)", why));
    CD_TRY(cd_sql_prepare(t->q, &t->has, "SELECT count(*) FROM seen WHERE n = ?1", why));
    return cd_sql_prepare(t->q, &t->count, "UPDATE total SET n = n + ?1 WHERE k = 1", why);
}

static cd_err tally_open(void **out, const void *cfg, bool is_writer, cd_errinfo *why)
{
    const tally_cfg *c = cfg;
    cd_sql *q = NULL;
    CD_TRY(cd_sql_open(&q, &(cd_sql_cfg){.url = c->url, .may_write = is_writer}, why));
    tally *t = test_calloc(1, sizeof *t);
    t->q = q;
    cd_err err = tally_begin(t, is_writer, why);
    if (err != CD_OK) {
        tally_close(t);
        return err;
    }
    *out = t;
    return CD_OK;
}

static cd_sql *tally_sql(const void *store)
{
    return ((const tally *)store)->q;
}

static bool tally_is_due(const void *store, bool is_last)
{
    const tally *t = store;
    return t->gathered >= 10 || (is_last && t->gathered != 0);
}

static cd_err tally_write(void *store, cd_errinfo *why)
{
    tally *t = store;
    return CD_SQL_RUN(t->count, why, cd_sql_i(t->gathered));
}

static void tally_written(void *store)
{
    ((tally *)store)->gathered = 0;
}

static const cd_jobs_store store_ops = {
    .open = tally_open,
    .close = tally_close,
    .sql = tally_sql,
    .is_due = tally_is_due,
    .write = tally_write,
    .written = tally_written,
};

/* --- the world --- */

typedef struct world {
    char dir[64], url[256];
    tally_cfg store;
    cd_jobs_cfg cfg;
    cd_loop *loop;
    cd_metrics *metrics;
    cd_jobs *db;
    u32 left, done, order[128];
} world;

typedef struct put {
    cd_job job;
    world *w;
    u32 number;
    u32 runs;
    bool fails, is_there, posts_again;
    u32 busy; /* so many runs are refused for another's sake */
} put;

static cd_err run_put(cd_job *job, void *store, cd_errinfo *why)
{
    put *p = (put *)(void *)job;
    tally *t = store;
    p->runs++;
    if (p->busy != 0) {
        p->busy--;
        return cd_fail(why, CD_EBUSY, "not now");
    }
    CD_TRY(CD_SQL_RUN(t->add, why, cd_sql_u(p->number)));
    t->gathered += p->fails ? 0 : 1;
    return p->fails ? cd_fail(why, CD_EINVAL, "as told") : CD_OK;
}

static cd_err run_get(cd_job *job, void *store, cd_errinfo *why)
{
    put *p = (put *)(void *)job;
    tally *t = store;
    CD_TRY(CD_SQL_QUERY(t->has, why, cd_sql_u(p->number)));
    CD_TRY(cd_sql_one(t->has, why));
    p->is_there = cd_sql_col_i(t->has, 0) == 1;
    return CD_OK;
}

static void on_done(cd_job *job)
{
    put *p = (put *)(void *)job;
    world *w = p->w;
    w->order[w->done++] = p->number;
    if (p->posts_again) {
        cd_jobs_write(w->db, job);
    }
    if (--w->left == 0) {
        cd_loop_stop(w->loop);
    }
}

static put put_of(world *w, u32 n)
{
    return (put){.job = {.run = run_put, .done = on_done}, .w = w, .number = n};
}

static put get_of(world *w, u32 n)
{
    return (put){.job = {.run = run_get, .done = on_done}, .w = w, .number = n};
}

static void world_open(world *w, usize engine)
{
    memset(w, 0, sizeof *w);
    engines_dir(w->dir);
    engines_url(w->url, engine, w->dir);
    w->store.url = w->url;
    w->metrics = cd_metrics_new("jobs");
    w->cfg = (cd_jobs_cfg){.store = &store_ops, .store_cfg = &w->store, .url = w->url, .metrics = w->metrics};
    engines_ok(cd_loop_new(&w->loop, why));
    engines_ok(cd_jobs_open(&w->db, w->loop, &w->cfg, why));
}

static void world_close(world *w)
{
    cd_jobs_close(w->db);
    cd_loop_free(w->loop);
    cd_metrics_free(w->metrics);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), w->dir, why));
}

static void run_until(world *w, u32 left)
{
    w->left = left;
    w->done = 0;
    cd_loop_run(w->loop);
}

static void each_engine(void (*fn)(usize engine))
{
    for (usize i = 0; i < engines_count(); i++) {
        fn(i);
    }
}

/* --- tests --- */

static i64 total(world *w)
{
    cd_sql *q = NULL;
    cd_sql_stmt *st = NULL;
    engines_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = w->url}, why));
    engines_ok(cd_sql_prepare(q, &st, "SELECT n FROM total WHERE k = 1", why));
    engines_ok(cd_sql_query_n(st, NULL, 0, why));
    engines_ok(cd_sql_one(st, why));
    i64 n = cd_sql_col_i(st, 0);
    cd_sql_close(q);
    return n;
}

/* Write jobs are done in order, a failed one leaves nothing and takes none along; readers see what was done; what was
 * posted is finished by the end, what comes later is forgotten; what the store gathers is written once. */
static void jobs_of(usize engine)
{
    enum { N = 40 };
    static put puts[N], gets[N];
    world w;
    u32 failed = 0;
    world_open(&w, engine);
    for (u32 i = 0; i < N; i++) {
        puts[i] = put_of(&w, i);
        puts[i].fails = i % 7 == 3;
        puts[i].job.is_soft = i % 3 != 0;
        failed += puts[i].fails;
        cd_jobs_write(w.db, &puts[i].job);
    }
    run_until(&w, N);
    for (u32 i = 0; i < N; i++) {
        assert_int_equal(w.order[i], i);
        assert_int_equal(puts[i].job.err, puts[i].fails ? CD_EINVAL : CD_OK);
        assert_string_equal(puts[i].job.why.msg, puts[i].fails ? "as told" : "");
        gets[i] = get_of(&w, i);
        cd_jobs_read(w.db, &gets[i].job);
    }
    run_until(&w, N);
    for (u32 i = 0; i < N; i++) {
        assert_int_equal(gets[i].job.err, CD_OK);
        assert_int_equal(gets[i].is_there, !puts[i].fails);
    }
    char text[CD_JOBS_TROUBLE_MAX];
    assert_false(cd_jobs_trouble(w.db, text));
    assert_false(cd_jobs_away(w.db));
    assert_int_equal(cd_jobs_losses(w.db), 0);
    w.done = 0;
    w.left = 1000;
    for (u32 i = 0; i < N; i++) {
        puts[i] = put_of(&w, 100 + i);
        puts[i].posts_again = true;
        cd_jobs_write(w.db, &puts[i].job);
    }
    cd_jobs_close(w.db);
    w.db = NULL;
    assert_int_equal(w.done, N);
    assert_int_equal(total(&w), N - failed + N);
    put now = put_of(&w, 99);
    engines_ok(cd_jobs_now(&w.cfg, &now.job, why));
    now = put_of(&w, 98);
    now.fails = true;
    cd_errinfo said = {0};
    assert_int_equal(cd_jobs_now(&w.cfg, &now.job, &said), CD_EINVAL);
    assert_string_equal(said.msg, "as told");
    assert_int_equal(total(&w), N - failed + N + 1);
    cd_jobs_close(NULL);
    world_close(&w);
}

static void test_jobs(void **state)
{
    (void)state;
    each_engine(jobs_of);
}

/* A rule that is broken at the commit, when PostgreSQL is asked for nothing before, is the job's error. */
static void broken_of(usize engine)
{
    world w;
    world_open(&w, engine);
    put one = put_of(&w, 1);
    put again = put_of(&w, 1);
    put two = put_of(&w, 2);
    cd_jobs_write(w.db, &one.job);
    cd_jobs_write(w.db, &again.job);
    cd_jobs_write(w.db, &two.job);
    run_until(&w, 3);
    assert_int_equal(one.job.err, CD_OK);
    assert_int_equal(again.job.err, CD_EEXIST);
    assert_int_equal(two.job.err, CD_OK);
    world_close(&w);
}

static void test_broken(void **state)
{
    (void)state;
    each_engine(broken_of);
}

/* What was refused for another's sake is run again until it goes through. */
static void busy_of(usize engine)
{
    world w;
    world_open(&w, engine);
    put p = put_of(&w, 1);
    p.busy = 3;
    cd_jobs_write(w.db, &p.job);
    run_until(&w, 1);
    assert_int_equal(p.job.err, CD_OK);
    assert_int_equal(p.runs, 4);
    world_close(&w);
}

static void test_busy(void **state)
{
    (void)state;
    each_engine(busy_of);
}

/* A job that holds comes again before all others, also those that were posted before it came again. */
static void on_held(cd_job *job)
{
    put *p = (put *)(void *)job;
    static put later;
    if (p->runs == 1) {
        later = put_of(p->w, 2);
        cd_jobs_write(p->w->db, &later.job);
        cd_jobs_write_next(p->w->db, job);
        return;
    }
    on_done(job);
}

static cd_err run_holding(cd_job *job, void *store, cd_errinfo *why)
{
    put *p = (put *)(void *)job;
    if (p->runs == 0) {
        p->runs++;
        job->holds = true;
        return CD_OK;
    }
    return run_put(job, store, why);
}

static void holds_of(usize engine)
{
    world w;
    world_open(&w, engine);
    put p = put_of(&w, 1);
    p.job.run = run_holding;
    p.job.done = on_held;
    cd_jobs_write(w.db, &p.job);
    run_until(&w, 2);
    assert_int_equal(w.order[0], 1);
    assert_int_equal(w.order[1], 2);
    world_close(&w);
}

static void test_holds(void **state)
{
    (void)state;
    each_engine(holds_of);
}

/* A store that cannot be opened leaves nothing behind, also when the writer's could and the reader's could not. */
static cd_err open_no_reader(void **out, const void *cfg, bool is_writer, cd_errinfo *why)
{
    return is_writer ? tally_open(out, cfg, true, why) : cd_fail(why, CD_EACCES, "no reader");
}

static void test_opening(void **state)
{
    static cd_jobs_store bad;
    world w;
    cd_jobs *db = NULL;
    cd_errinfo said = {0};
    (void)state;
    world_open(&w, 0);
    tally_cfg nowhere = {.url = "sqlite:/nowhere/at/all"};
    const cd_jobs_cfg cfg = {.store = &store_ops, .store_cfg = &nowhere, .url = nowhere.url};
    assert_int_equal(cd_jobs_open(&db, w.loop, &cfg, &said), CD_EIO);
    put p = put_of(&w, 1);
    assert_int_equal(cd_jobs_now(&cfg, &p.job, &said), CD_EIO);
    bad = store_ops;
    bad.open = open_no_reader;
    const cd_jobs_cfg half = {.store = &bad, .store_cfg = &w.store, .url = w.url};
    assert_int_equal(cd_jobs_open(&db, w.loop, &half, &said), CD_EACCES);
    assert_null(db);
    world_close(&w);
}

/* A server that is away: who is in a hurry is told so, also behind one who is not and waits for it; then it is noticed
 * that it is back. */
static void test_away(void **state)
{
    (void)state;
    if (engines_count() < 2) {
        skip();
    }
    world w;
    char text[CD_JOBS_TROUBLE_MAX];
    world_open(&w, 1);
    put patient = put_of(&w, 1);
    put hasty = put_of(&w, 2);
    put asking = get_of(&w, 3);
    hasty.job.is_hasty = asking.job.is_hasty = true;
    engines_server_stop();
    cd_jobs_write(w.db, &patient.job);
    cd_jobs_write(w.db, &hasty.job);
    cd_jobs_read(w.db, &asking.job);
    run_until(&w, 2);
    assert_true(w.order[0] + w.order[1] == 5 && w.order[0] != 1);
    assert_true(cd_jobs_is_trouble(hasty.job.err) && cd_jobs_is_trouble(asking.job.err));
    assert_true(cd_jobs_away(w.db));
    assert_true(cd_jobs_trouble(w.db, text));
    assert_true(cd_jobs_losses(w.db) > 0);
    engines_server_start();
    run_until(&w, 1);
    assert_int_equal(patient.job.err, CD_OK);
    assert_false(cd_jobs_away(w.db));
    assert_false(cd_jobs_trouble(w.db, text));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),  cmocka_unit_test(test_broken),  cmocka_unit_test(test_busy),
        cmocka_unit_test(test_holds), cmocka_unit_test(test_opening), cmocka_unit_test(test_away),
    };
    return cmocka_run_group_tests(tests, NULL, engines_group_end);
}
