#include "services/common/peers.h"
#include "services/webhook/core/store/db.h"
#include "services/webhook/test/store_rig.h"

#include "base/os/fileio.h"
#include "base/os/rng.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- jobs --- */

typedef struct put {
    cd_job job;
    struct world *w;
    u32 number;
    bool is_there; /* what a read saw */
} put;

typedef struct world {
    rig r;
    cd_loop *loop;
    cd_jobs *db;
    u32 left, done, order[64];
} world;

static void name_of(char out[16], u32 n)
{
    (void)snprintf(out, 16, "n%u", n);
}

/* Writes two rows. */
static cd_err run_put(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    static const u8 large[100000]; /* so that the log grows, and is tidied up */
    put *p = (put *)(void *)job;
    char name[16];
    name_of(name, p->number);
    CD_TRY(WH_RUN(s, SETTING_PUT, why, cd_sql_t("a"), cd_sql_t(name), cd_sql_b(cd_bytes_of(large, sizeof large))));
    return WH_RUN(s, SETTING_PUT, why, cd_sql_t("b"), cd_sql_t(name), cd_sql_b((cd_bytes){0}));
}

static cd_err run_get(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    put *p = (put *)(void *)job;
    cd_sql_stmt *st = NULL;
    char name[16];
    name_of(name, p->number);
    CD_TRY(WH_QUERY(s, &st, SETTING_GET, why, cd_sql_t("a"), cd_sql_t(name)));
    return cd_sql_next(st, &p->is_there, why);
}

static void on_done(cd_job *job)
{
    put *p = (put *)(void *)job;
    world *w = p->w;
    w->order[w->done++] = p->number;
    if (--w->left == 0) {
        cd_loop_stop(w->loop);
    }
}

static void world_open(world *w, usize engine)
{
    memset(w, 0, sizeof *w);
    rig_open(&w->r, engine);
    const cd_wh_store_cfg cfg = {
        .url = w->r.url, .worker = "db", .master_key = w->r.master_key, .clock = cd_clock_real()};
    rig_ok(cd_loop_new(&w->loop, why));
    rig_ok(cd_wh_db_open(&w->db, w->loop, &cfg, NULL, why));
}

static void world_close(world *w)
{
    cd_jobs_close(w->db);
    cd_loop_free(w->loop);
    rig_close(&w->r);
}

static void test_opening(void **state)
{
    cd_wh_store *s = NULL;
    cd_errinfo said = {0};
    rig r;
    (void)state;
    for (usize i = 0; i < engines_count(); i++) {
        rig_open(&r, i);
        rig_begin(&r);
        rig_ok(cd_sql_exec(r.s->q, "INSERT INTO schema_version (version) VALUES (1000)", why));
        rig_commit(&r);
        cd_wh_store_cfg cfg = {.url = r.url, .worker = "x", .master_key = r.master_key, .clock = cd_clock_real()};
        assert_int_equal(cd__wh_store_open(&s, &cfg, true, &said), CD_EVERSION);
        assert_non_null(strstr(said.msg, "newer"));
        cfg.url = "mysql://x";
        assert_int_equal(cd__wh_store_open(&s, &cfg, true, &said), CD_EFORMAT);
        cfg.url = "sqlite:/nowhere/at/all";
        assert_int_equal(cd__wh_store_open(&s, &cfg, true, &said), CD_EIO);
        cfg.url = "postgresql://localhost:1/none";
        assert_int_equal(cd__wh_store_open(&s, &cfg, true, &said), CD_ECLOSED);
        rig_close(&r);
    }
    char path[96];
    rig_open(&r, 0);
    (void)snprintf(path, sizeof path, "%s/other", r.dir);
    rig_ok(cd_fs_replace_file(cd_fs_real(), path,
                              cd_bytes_str("this is no database, but long enough to be read as the "
                                           "head of one, which has a hundred bytes"),
                              0600, why));
    char url[128];
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    const cd_wh_store_cfg cfg = {.url = url, .worker = "x", .master_key = r.master_key, .clock = cd_clock_real()};
    assert_int_equal(cd__wh_store_open(&s, &cfg, true, &said), CD_EFOREIGN);
    rig_close(&r);
}

/* An error takes nothing with it but its transaction: not the statements behind it, which a server has never seen. */
static void after_errors(usize engine)
{
    rig r;
    cd_errinfo said = {0};
    rig_open(&r, engine);
    cd_sql_stmt *dup = NULL;
    cd_sql_stmt *fresh = NULL;
    cd_sql_stmt *get = NULL;
    rig_ok(cd_sql_prepare(r.s->q, &dup, "INSERT INTO worker (name) VALUES (?1)", why));
    rig_ok(cd_sql_prepare(r.s->q, &fresh, "INSERT INTO seen (h, at) VALUES (?1, ?2)", why));
    rig_ok(cd_sql_prepare(r.s->q, &get, "SELECT count(*) FROM seen", why));
    rig_begin(&r);
    cd_err err = CD_SQL_RUN(dup, &said, cd_sql_t("one")); /* is there: the rig's */
    if (err == CD_OK) {
        err = CD_SQL_RUN(fresh, &said, cd_sql_b(cd_bytes_str("a")), cd_sql_i(1));
    }
    if (err == CD_OK) {
        err = cd__wh_commit(r.s, &said);
    } else {
        cd__wh_rollback(r.s);
    }
    assert_int_equal(err, CD_EEXIST);
    rig_begin(&r);
    rig_ok(CD_SQL_RUN(fresh, why, cd_sql_b(cd_bytes_str("b")), cd_sql_i(1)));
    rig_ok(cd_sql_query_n(get, NULL, 0, why));
    rig_ok(cd_sql_one(get, why));
    assert_int_equal(cd_sql_col_i(get, 0), 1);
    rig_commit(&r);

    /* The same behind a savepoint. */
    rig_begin(&r);
    rig_ok(cd__wh_save(r.s, why));
    err = CD_SQL_RUN(dup, &said, cd_sql_t("one"));
    assert_int_equal(err == CD_OK ? cd__wh_keep(r.s, &said) : err, CD_EEXIST);
    rig_ok(cd__wh_undo(r.s, why));
    rig_ok(CD_SQL_RUN(fresh, why, cd_sql_b(cd_bytes_str("c")), cd_sql_i(1)));
    rig_commit(&r);

    if (engine == 1) { /* a connection that was lost is made again */
        cd_wh_store *other = rig_another(&r, "other");
        rig_ok(cd_sql_exec(other->q,
                           "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                           "pg_backend_pid() AND backend_type = 'client backend'",
                           why));
        cd__wh_store_close(other);
        (void)usleep(100000);
        rig_begin(&r); /* of which nobody needs to know, if nothing was under way */
        rig_ok(CD_SQL_RUN(fresh, why, cd_sql_b(cd_bytes_str("d")), cd_sql_i(1)));
        rig_commit(&r);
    }
    rig_begin(&r);
    rig_ok(cd_sql_query_n(get, NULL, 0, why));
    rig_ok(cd_sql_one(get, why));
    assert_int_equal(cd_sql_col_i(get, 0), engine == 1 ? 3 : 2);
    rig_commit(&r);
    rig_close(&r);
}

static void test_after_errors(void **state)
{
    (void)state;
    for (usize i = 0; i < engines_count(); i++) {
        after_errors(i);
    }
}

/* --- other workers, and a server that goes --- */

enum { TURNS = 30 };

/* Takes the rows of two webhooks, one after the other: two workers that do so the other way round wait for each
 * other. */
typedef struct crossing {
    cd_job job;
    struct crossings *all;
    i64 first, second;
} crossing;

typedef struct crossings {
    cd_loop *loop;
    crossing jobs[2][TURNS];
    u32 left;
    _Atomic u32 runs;
    _Atomic bool begun[2]; /* by whose turn it is: they begin together */
} crossings;

static cd_err run_crossing(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    crossing *c = (crossing *)(void *)job;
    cd_sql_stmt *st = NULL;
    c->all->runs++;
    c->all->begun[c->first < c->second] = true;
    while (!c->all->begun[c->first > c->second]) {
        (void)usleep(100);
    }
    CD_TRY(WH_ONE(s, &st, QUEUE_LOCK, why, cd_sql_i(c->first)));
    (void)usleep(2000);
    CD_TRY(WH_ONE(s, &st, QUEUE_LOCK, why, cd_sql_i(c->second)));
    return cd_sql_exec(s->q, "UPDATE queue SET failures = failures + 1", why);
}

static void on_crossed(cd_job *job)
{
    crossing *c = (crossing *)(void *)job;
    assert_int_equal(job->err, CD_OK);
    if (--c->all->left == 0) {
        cd_loop_stop(c->all->loop);
    }
}

static void on_stop_server(void *ctx)
{
    (void)ctx;
    engines_server_stop();
    (void)usleep(300000);
    engines_server_start();
}

/* Deadlocks and a server that dies under way: every job is done, and done once. */
static void cross(bool with_restart)
{
    static crossings all;
    world w;
    cd_jobs *other = NULL;
    cd_timer *t = NULL;
    all = (crossings){.left = 2 * TURNS};
    world_open(&w, 1);
    rig_begin(&w.r);
    i64 a = rig_hook(&w.r, 1, false);
    i64 b = rig_hook(&w.r, 2, false);
    rig_ok(cd_sql_exec(w.r.s->q, "SET deadlock_timeout = 20", why));
    rig_ok(cd_sql_exec(w.r.s->q, "ALTER ROLE rig SET deadlock_timeout = 20", why));
    rig_commit(&w.r);
    cd_wh_store_cfg cfg = {.url = w.r.url, .worker = "other", .master_key = w.r.master_key, .clock = cd_clock_real()};
    rig_ok(cd_wh_db_open(&other, w.loop, &cfg, NULL, why));
    cfg.worker = "db";
    cd_jobs_close(w.db); /* it has the old deadlock_timeout */
    rig_ok(cd_wh_db_open(&w.db, w.loop, &cfg, NULL, why));
    all.loop = w.loop;
    for (u32 i = 0; i < TURNS; i++) {
        for (u32 k = 0; k < 2; k++) {
            all.jobs[k][i] = (crossing){.job = {.run = run_crossing, .done = on_crossed},
                                        .all = &all,
                                        .first = k == 0 ? a : b,
                                        .second = k == 0 ? b : a};
            cd_jobs_write(k == 0 ? w.db : other, &all.jobs[k][i].job);
        }
    }
    if (with_restart) {
        t = cd_timer_new(w.loop, on_stop_server, NULL);
        cd_timer_start(t, 20, 0);
    }
    cd_loop_run(w.loop);
    assert_true(all.runs > 2 * TURNS); /* some more than once */
    cd_timer_free(t);
    cd_jobs_close(other);
    cd_wh_hook h;
    rig_begin(&w.r);
    rig_ok(cd_wh_hook_by_key(w.r.s, &h, &w.r.mem, a, false, why));
    if (!with_restart) { /* else one that was committed when the answer was lost is done again */
        assert_int_equal(h.failures, 2 * TURNS);
    }
    rig_commit(&w.r);
    world_close(&w);
}

/* --- what workers hear of each other --- */

typedef struct ear {
    cd_loop *loop;
    i64 heard[16];
    u32 heard_cnt, missed, want_heard, want_missed;
} ear;

static void ear_look(ear *e)
{
    if (e->heard_cnt >= e->want_heard && e->missed >= e->want_missed) {
        cd_loop_stop(e->loop);
    }
}

static void on_heard(void *ctx, i64 hook)
{
    ear *e = ctx;
    assert_true(e->heard_cnt < CD_COUNT(e->heard));
    e->heard[e->heard_cnt++] = hook;
    ear_look(e);
}

static void on_missed(void *ctx)
{
    ear *e = ctx;
    e->missed++;
    ear_look(e);
}

static const cd_peers_events ear_events = {.heard = on_heard, .missed = on_missed};

/* Changes of one reach the other and not himself; a name is one process's; who is gone is found once, and his
 * deliveries wait again; a server that was away is noticed. */
static void test_peers(void **state)
{
    rig r;
    cd_loop *loop = NULL;
    cd_peers *one = NULL;
    cd_peers *two = NULL;
    cd_peers *again = NULL;
    cd_errinfo said = {0};
    cd_wh_enqueued made;
    cd_wh_delivery *rows = NULL;
    usize cnt = 0;
    bool changed = false;
    static const u8 hash[32];
    (void)state;
    if (engines_count() != 2) {
        return;
    }
    rig_open(&r, 1);
    rig_ok(cd_loop_new(&loop, why));
    ear ears[2] = {{.loop = loop}, {.loop = loop}};
    const cd_peers_cfg names[] = {{.url = r.url, .channel = CD_WH_CHANNEL, .name = "one"},
                                  {.url = r.url, .channel = CD_WH_CHANNEL, .name = "two"}};
    rig_ok(cd_peers_new(&one, loop, &names[0], &ear_events, &ears[0], why));
    assert_int_equal(cd_peers_new(&again, loop, &names[0], &ear_events, &ears[0], &said), CD_EBUSY);
    assert_non_null(strstr(said.msg, "\"one\""));
    rig_ok(cd_peers_new(&two, loop, &names[1], &ear_events, &ears[1], why));

    cd_wh_store *other = rig_another(&r, "two");
    rig_begin(&r);
    i64 a = rig_hook(&r, 1, false);
    i64 b = rig_hook(&r, 2, false);
    const cd_wh_event e = rig_event(&r, a, 1, 0);
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, &e, 1, "lux", 1, hash, why));
    assert_int_equal(made.cnt, 1);
    rig_ok(cd_wh_hook_pause(r.s, &changed, b, CD_WH_PAUSED, why));
    rig_commit(&r);
    rig_begin(&r);
    rig_ok(cd_wh_hook_delete(r.s, b, why));
    rig_commit(&r);
    ears[1].want_heard = 2; /* what one worker does is news to the other alone */
    cd_loop_run(loop);
    assert_int_equal(ears[1].heard_cnt, 2);
    assert_int_equal(ears[1].heard[0], b);
    assert_int_equal(ears[0].heard_cnt, 0);

    rig_ok(cd__wh_begin(other, true, why));
    rig_ok(cd_wh_workers_bury(other, &cnt, why));
    assert_int_equal(cnt, 0);
    rig_ok(cd__wh_commit(other, why));
    cd_peers_free(one);
    for (int i = 0; i < 200 && cnt == 0; i++) { /* the server takes note */
        (void)usleep(10000);
        rig_ok(cd__wh_begin(other, true, why));
        rig_ok(cd_wh_workers_bury(other, &cnt, why));
        rig_ok(cd__wh_commit(other, why));
    }
    assert_int_equal(cnt, 1);
    rig_ok(cd__wh_begin(other, true, why));
    rig_ok(cd_wh_workers_bury(other, &cnt, why));
    assert_int_equal(cnt, 0);
    rig_ok(cd_wh_claim(other, &rows, &cnt, &r.mem, rig_now(&r), 60000, 8, 8, why));
    assert_int_equal(cnt, 1);
    assert_int_equal(rows[0].key, made.made[0].key);
    rig_ok(cd__wh_commit(other, why));
    cd__wh_store_close(other);

    engines_server_stop();
    (void)usleep(100000);
    engines_server_start();
    ears[1].want_missed = 1;
    cd_loop_run(loop);
    assert_int_equal(ears[1].missed, 1);
    cd_peers_free(two);
    cd_loop_free(loop);
    rig_close(&r);
}

static void test_others(void **state)
{
    (void)state;
    if (engines_count() == 2) {
        cross(false);
        cross(true);
    }
}

/* --- the disk is full --- */

static cd_err enqueue_one(rig *r, i64 hook, u64 block, cd_wh_enqueued *made, cd_errinfo *why)
{
    u8 hash[32] = {0};
    cd_wh_event e = rig_event(r, hook, block, 0);
    CD_TRY(cd__wh_begin(r->s, true, why));
    cd_err err = cd_wh_enqueue(r->s, made, &r->mem, &e, 1, "lux", block, hash, why);
    if (err != CD_OK) {
        cd__wh_rollback(r->s);
        return err;
    }
    return cd__wh_commit(r->s, why);
}

/* With every limit on the size of files there is an error or success, never both, and afterwards the ledger is
 * without a gap: a block that failed is written again. */
static void test_no_space(void **state)
{
    rig r;
    struct rlimit was;
    u64 done = 0;
    (void)state;
    rig_open(&r, 0);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_commit(&r);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 4096; limit < 1000000; limit += 8192) {
        cd_wh_enqueued made;
        cd_errinfo why = {0};
        const struct rlimit now = {.rlim_cur = limit, .rlim_max = was.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
        cd_err err = enqueue_one(&r, hook, done + 1, &made, &why);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        assert_true(err == CD_OK || err == CD_EIO || err == CD_ENOSPC);
        done += err == CD_OK ? 1 : 0;
    }
    assert_true(done > 0 && done < 121);
    cd_wh_enqueued made;
    rig_again(&r);
    rig_ok(enqueue_one(&r, hook, done + 1, &made, why));
    assert_int_equal(made.known, 0);
    cd_wh_block_row *rows = NULL;
    usize cnt = 0;
    u64 next = 1;
    rig_begin(&r);
    rig_ok(cd_wh_ledger(r.s, &rows, &cnt, &next, &r.mem, hook, 0, 1000000, 10000, why));
    assert_int_equal(cnt, done + 1);
    for (usize i = 0; i < cnt; i++) {
        assert_int_equal(rows[i].first_sequence, i + 1);
    }
    rig_commit(&r);
    rig_close(&r);
}

static void test_read_only(void **state)
{
    rig r;
    cd_wh_enqueued made;
    cd_errinfo said = {0};
    (void)state;
    rig_open(&r, 0);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_commit(&r);
    rig_ok(cd_sql_exec(r.s->q, "PRAGMA query_only = 1", why));
    assert_int_equal(enqueue_one(&r, hook, 1, &made, &said), CD_EACCES);
    rig_ok(cd_sql_exec(r.s->q, "PRAGMA query_only = 0", why));
    rig_ok(enqueue_one(&r, hook, 1, &made, why));
    assert_int_equal(made.cnt, 1);
    rig_close(&r);
}

/* --- kill -9 --- */

/* What the victim knows to be on the disk, in memory that it shares with the test. */
typedef struct truth {
    _Atomic u64 blocks; /* written up to here */
    _Atomic u64 delivered[4096];
    _Atomic u64 delivered_cnt; /* keys of deliveries that were settled */
} truth;

enum { EVENTS = 8 };

/* Writes blocks and settles what it is given, until it is killed. */
static void victim(rig *r, i64 hook, truth *t)
{
    const cd_wh_attempt a = {.number = 1, .status = 200, .error = "", .request = "", .response = ""};
    u8 hash[32] = {0};
    for (u64 block = t->blocks + 1;; block++) {
        cd_wh_event events[EVENTS];
        cd_wh_enqueued made;
        cd_errinfo why = {0};
        for (u32 i = 0; i < EVENTS; i++) {
            events[i] = rig_event(r, hook, block, i);
        }
        if (cd_sql_soft(r->s->q, true, &why) != CD_OK || cd__wh_begin(r->s, true, &why) != CD_OK ||
            cd_wh_enqueue(r->s, &made, &r->mem, events, EVENTS, "lux", block, hash, &why) != CD_OK ||
            cd__wh_commit(r->s, &why) != CD_OK) {
            _exit(1);
        }
        t->blocks = block;
        cd_wh_delivery *mine = NULL;
        usize cnt = 0;
        if (cd_sql_soft(r->s->q, false, &why) != CD_OK || cd__wh_begin(r->s, true, &why) != CD_OK ||
            cd_wh_claim(r->s, &mine, &cnt, &r->mem, rig_now(r), 60000, 16, 8, &why) != CD_OK) {
            _exit(1);
        }
        for (usize i = 0; i < made.cnt; i++) {
            if (cd_wh_settle(r->s, &made.made[i], &a, CD_WH_DELIVERED, 0, &why) != CD_OK) {
                _exit(1);
            }
        }
        for (usize i = 0; i < cnt; i++) {
            if (cd_wh_settle(r->s, &mine[i], &a, CD_WH_DELIVERED, 0, &why) != CD_OK) {
                _exit(1);
            }
        }
        if (cd__wh_commit(r->s, &why) != CD_OK) {
            _exit(1);
        }
        for (usize i = 0; i < made.cnt + cnt && t->delivered_cnt < CD_COUNT(t->delivered); i++) {
            t->delivered[t->delivered_cnt] = (u64)(i < made.cnt ? made.made[i].key : mine[i - made.cnt].key);
            t->delivered_cnt++;
        }
        cd_arena_reset(&r->mem);
    }
}

/* Every event of a block that was written is there once, in order, with the chain of hashes unbroken; what was settled
 * stays settled; what was not is claimed again. */
static void judge(rig *r, i64 hook, truth *t)
{
    u64 height = 0;
    u8 hash[32];
    usize cnt = 0;
    cd_wh_delivery *rows = NULL;
    rig_begin(r);
    cd_err err = cd_wh_cursor_get(r->s, &height, hash, "lux", NULL);
    assert_true(err == CD_OK || (err == CD_ENOENT && t->blocks == 0));
    assert_true(height == t->blocks || height == t->blocks + 1);
    cd_wh_delivery_query q = {.hook = hook, .limit = 1000000};
    rig_ok(cd_wh_delivery_list(r->s, &rows, &cnt, &r->mem, &q, why));
    assert_int_equal(cnt, height * EVENTS);
    for (usize i = 0; i < cnt; i++) {
        assert_int_equal(rows[i].sequence, cnt - i);
        cd_wh_event e = rig_event(r, hook, (cnt - 1 - i) / EVENTS + 1, (u32)((cnt - 1 - i) % EVENTS));
        assert_memory_equal(rows[i].event.h, e.h, 32);
    }
    for (u64 i = 0; i < t->delivered_cnt; i++) { /* keys have no gaps: what took some and failed is undone */
        const cd_wh_delivery *d = &rows[cnt - t->delivered[i]];
        assert_int_equal(d->key, t->delivered[i]);
        assert_int_equal(d->state, CD_WH_DELIVERED);
    }
    t->delivered_cnt = 0;
    usize open = 0;
    for (usize i = 0; i < cnt; i++) {
        open += rows[i].state != CD_WH_DELIVERED ? 1 : 0;
        assert_true(rows[i].state == CD_WH_DELIVERED || rows[i].state == CD_WH_PENDING);
    }
    rig_commit(r);
    rig_begin(r);
    usize claimed = 0;
    rig_ok(cd_wh_claim(r->s, &rows, &claimed, &r->mem, rig_now(r), 60000, 10000, 10000, why));
    assert_int_equal(claimed, open);
    cd__wh_rollback(r->s);
    t->blocks = height;
    cd_arena_reset(&r->mem);
}

static void store_begin(rig *r, i64 *hook, truth *t)
{
    rig_open(r, 0);
    rig_begin(r);
    *hook = rig_hook(r, 1, false);
    rig_commit(r);
    cd__wh_store_close(r->s);
    r->s = NULL;
    t->blocks = 0;
}

static void kill_once(rig *r, i64 hook, truth *t, u64 after_us)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        rig_again(r);
        victim(r, hook, t);
    }
    (void)usleep((useconds_t)after_us);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    rig_again(r);
    judge(r, hook, t);
    cd__wh_store_close(r->s);
    r->s = NULL;
}

/* A store is begun anew now and then: looking at all of it takes the longer the more it has. */
static void test_kill_9(void **state)
{
    enum { OF_ONE_STORE = 40, TOLD_EVERY = 100 };
    const char *full = getenv("CANDELA_KILLS");
    u64 kills = full == NULL ? 25 : strtoull(full, NULL, 10);
    truth *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cd_rng rng = cd_rng_seeded(20261122);
    u64 blocks = 0;
    i64 hook = 0;
    rig r;
    (void)state;
    assert_true(t != MAP_FAILED);
    for (u64 i = 0; i < kills; i++) {
        if (i % OF_ONE_STORE == 0) {
            store_begin(&r, &hook, t);
        }
        kill_once(&r, hook, t, 3000 + cd_rng_below(&rng, 60000));
        if (i % OF_ONE_STORE == OF_ONE_STORE - 1 || i == kills - 1) {
            blocks += t->blocks;
            rig_close(&r);
        }
        if (i % TOLD_EVERY == TOLD_EVERY - 1 || i == kills - 1) {
            print_message("%llu kills, %llu blocks\n", (unsigned long long)i + 1, (unsigned long long)blocks);
        }
    }
    assert_true(blocks > 0);
    (void)munmap(t, sizeof *t);
}

/* A process that comes and goes does not take the log along while another one works. It is forked before the
 * database is opened: the engine would remember what its parent has locked. */
static void test_another_process(void **state)
{
    world w;
    char path[600];
    int go[2];
    int status;
    struct stat had, has;
    (void)state;
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        world other;
        put job = {.job = {.run = run_put}, .number = 2};
        if (read(go[0], &other.r, sizeof other.r) != sizeof other.r) {
            _exit(2);
        }
        const cd_wh_store_cfg cfg = {.url = other.r.url, .master_key = other.r.master_key, .clock = cd_clock_real()};
        _exit(cd_wh_db_now(&cfg, &job.job, NULL) == CD_OK ? 0 : 1);
    }
    world_open(&w, 0);
    put one = {.job = {.run = run_put, .done = on_done}, .w = &w, .number = 1};
    w.left = 1;
    cd_jobs_write(w.db, &one.job);
    cd_loop_run(w.loop);
    (void)snprintf(path, sizeof path, "%s-wal", w.r.url + strlen("sqlite:"));
    assert_int_equal(stat(path, &had), 0);
    assert_int_equal(write(go[1], &w.r, sizeof w.r), sizeof w.r);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(stat(path, &has), 0);
    assert_true(had.st_ino == has.st_ino && has.st_size >= had.st_size);
    put get = {.job = {.run = run_get, .done = on_done}, .w = &w, .number = 2};
    w.left = 1;
    cd_jobs_read(w.db, &get.job);
    cd_loop_run(w.loop);
    assert_true(get.is_there);
    (void)close(go[0]);
    (void)close(go[1]);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_process), cmocka_unit_test(test_kill_9),  cmocka_unit_test(test_no_space),
        cmocka_unit_test(test_read_only),       cmocka_unit_test(test_opening), cmocka_unit_test(test_after_errors),
        cmocka_unit_test(test_others),          cmocka_unit_test(test_peers),
    };
    if (getenv("CANDELA_KILLS") != NULL) { /* the kills alone */
        cmocka_set_test_filter("test_kill_9");
    }
    return cmocka_run_group_tests(tests, NULL, engines_group_end);
}
