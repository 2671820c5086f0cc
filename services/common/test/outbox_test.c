/* Mails between a small mail table and a mail server that this test plays: each is sent, tried again at the right time,
 * given up after the last try, and settled though the store failed in between. */
#include "services/common/outbox.h"

#include "base/os/fileio.h"
#include "services/common/test/engines.h"
#include "services/common/test/sink.h"

#include <stdio.h>

#define BEGIN_MS  1768473322000ull
#define MINUTE_MS 60000ull

/* --- the mail table --- */

static const char *const steps[] = {
    "CREATE TABLE mail (key @id, recipient TEXT NOT NULL, attempts BIGINT NOT NULL, next BIGINT NOT NULL);",
};

static void table_close(void *store)
{
    cd_sql_close(store);
}

static cd_err table_open(void **out, const void *cfg, bool is_writer, cd_errinfo *why)
{
    cd_sql *q = NULL;
    CD_TRY(cd_sql_open(&q, &(cd_sql_cfg){.url = cfg, .may_write = is_writer}, why));
    cd_err err = is_writer ? cd_sql_migrate(q, steps, CD_COUNT(steps), why) : CD_OK;
    if (err != CD_OK) {
        cd_sql_close(q);
        return err;
    }
    *out = q;
    return CD_OK;
}

static cd_sql *table_sql(const void *store)
{
    return (cd_sql *)(uintptr_t)store;
}

static const cd_jobs_store table_ops = {.open = table_open, .close = table_close, .sql = table_sql};

typedef struct rig {
    char dir[64], url[256], smtp[64];
    cd_loop *loop;
    cd_jobs *db;
    cd_metrics *metrics;
    cd_outbox *outbox;
    cd_clock_virtual clock;
    sink sink;
    _Atomic u32 failing; /* so many rounds fail once a mail was sent */
} rig;

static cd_err claim(void *ctx, void *store, cd_letter **out, usize *cnt, cd_arena *mem, u64 now_ms, u64 lease_ms,
                    u32 max, cd_errinfo *why)
{
    cd_sql_stmt *get = NULL;
    cd_sql_stmt *lease = NULL;
    bool is_row = true;
    (void)ctx;
    *cnt = 0;
    *out = cd_arena_array(mem, cd_letter, max);
    CD_TRY(cd_sql_prepare(store, &get,
                          "SELECT key, recipient, attempts FROM mail WHERE next > 0 AND next <= ?1 ORDER BY key "
                          "LIMIT ?2",
                          why));
    CD_TRY(CD_SQL_QUERY(get, why, cd_sql_u(now_ms), cd_sql_u(max)));
    for (;;) {
        CD_TRY(cd_sql_next(get, &is_row, why));
        if (!is_row) {
            break;
        }
        (*out)[(*cnt)++] = (cd_letter){
            .key = cd_sql_col_i(get, 0),
            .to = cd_sql_col_str(get, 1, mem),
            .subject = "News",
            .body = "Something happened.\n",
            .attempts = (u32)cd_sql_col_i(get, 2),
            .created_ms = BEGIN_MS,
        };
    }
    CD_TRY(cd_sql_prepare(store, &lease, "UPDATE mail SET next = ?2, attempts = attempts + 1 WHERE key = ?1", why));
    for (usize i = 0; i < *cnt; i++) {
        CD_TRY(CD_SQL_RUN(lease, why, cd_sql_i((*out)[i].key), cd_sql_u(now_ms + lease_ms)));
    }
    cd_sql_drop(get);
    cd_sql_drop(lease);
    return CD_OK;
}

static cd_err settle(void *ctx, void *store, i64 key, u64 next_ms, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    (void)ctx;
    CD_TRY(cd_sql_prepare(store, &st, "UPDATE mail SET next = ?2 WHERE key = ?1", why));
    CD_TRY(CD_SQL_RUN(st, why, cd_sql_i(key), cd_sql_u(next_ms)));
    cd_sql_drop(st);
    return CD_OK;
}

/* --- the world --- */

static void write_mail(rig *r, const char *to)
{
    cd_sql *q = NULL;
    cd_sql_stmt *st = NULL;
    engines_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = r->url, .may_write = true}, why));
    engines_ok(cd_sql_prepare(q, &st, "INSERT INTO mail (recipient, attempts, next) VALUES (?1, 0, 1)", why));
    engines_ok(CD_SQL_RUN(st, why, cd_sql_t(to)));
    cd_sql_close(q);
}

static i64 count(rig *r, const char *where)
{
    cd_sql *q = NULL;
    cd_sql_stmt *st = NULL;
    char text[128];
    (void)snprintf(text, sizeof text, "SELECT count(*) FROM mail WHERE %s", where);
    engines_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = r->url}, why));
    engines_ok(cd_sql_prepare(q, &st, text, why));
    engines_ok(cd_sql_query_n(st, NULL, 0, why));
    engines_ok(cd_sql_one(st, why));
    i64 n = cd_sql_col_i(st, 0);
    cd_sql_close(q);
    return n;
}

static void look_idle(void *ctx)
{
    rig *r = ctx;
    if (cd_outbox_is_idle(r->outbox)) {
        cd_loop_stop(r->loop);
    }
}

static void settle_all(rig *r)
{
    cd_timer *t = cd_timer_new(r->loop, look_idle, r);
    cd_timer_start(t, 1, 1);
    cd_loop_run(r->loop);
    cd_timer_free(t);
}

static void due(rig *r)
{
    cd_outbox_due(r->outbox);
    settle_all(r);
}

static void pass(rig *r, u64 ms)
{
    cd_clock_virtual_advance(&r->clock, ms * CD_NS_PER_MS);
    due(r);
}

static cd_outbox_cfg cfg_of(rig *r)
{
    static const cd_outbox_store ops = {.claim = claim, .settle = settle};
    return (cd_outbox_cfg){
        .db = r->db,
        .store = &ops,
        .ctx = r,
        .clock = &r->clock.clock,
        .metrics = r->metrics,
        .name = "Svc",
        .from = "svc@candela.example",
        .smtp = {.url = r->smtp, .timeout_ms = 5000},
    };
}

static int set_up(void **state)
{
    rig *r = test_calloc(1, sizeof *r);
    engines_dir(r->dir);
    engines_url(r->url, 0, r->dir);
    cd_clock_virtual_init(&r->clock, BEGIN_MS * CD_NS_PER_MS);
    engines_ok(cd_loop_new(&r->loop, why));
    const cd_jobs_cfg jobs = {.store = &table_ops, .store_cfg = r->url, .url = r->url};
    engines_ok(cd_jobs_open(&r->db, r->loop, &jobs, why));
    r->metrics = cd_metrics_new("test");
    sink_start(&r->sink);
    (void)snprintf(r->smtp, sizeof r->smtp, "smtp://127.0.0.1:%u", r->sink.port);
    const cd_outbox_cfg cfg = cfg_of(r);
    engines_ok(cd_outbox_new(&r->outbox, r->loop, &cfg, why));
    due(r);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    rig *r = *state;
    settle_all(r);
    cd_jobs_close(r->db);
    cd_outbox_free(r->outbox);
    cd_outbox_free(NULL);
    cd_metrics_free(r->metrics);
    cd_loop_free(r->loop);
    sink_stop(&r->sink);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), r->dir, why));
    test_free(r);
    return 0;
}

/* --- tests --- */

/* More mails than go out at a time are all sent, each once. */
static void test_sent(void **state)
{
    rig *r = *state;
    for (u32 i = 0; i < 10; i++) {
        write_mail(r, "a@b.example");
    }
    due(r);
    assert_int_equal(atomic_load(&r->sink.taken), 10);
    assert_int_equal(count(r, "next = 0"), 10);
    assert_non_null(strstr(r->sink.last, "From: \"Svc\" <svc@candela.example>\r\nTo: <a@b.example>\r\n"));
    assert_non_null(strstr(r->sink.last, "Subject: News\r\n"));
    due(r);
    assert_int_equal(atomic_load(&r->sink.taken), 10);
}

static void test_again(void **state)
{
    static const u64 minutes[] = {1, 5, 30};
    rig *r = *state;
    atomic_store(&r->sink.refuses, true);
    write_mail(r, "a@b.example");
    due(r);
    for (u32 i = 0; i < CD_COUNT(minutes); i++) {
        assert_int_equal(atomic_load(&r->sink.refused), i + 1);
        pass(r, minutes[i] * MINUTE_MS - 1);
        assert_int_equal(atomic_load(&r->sink.refused), i + 1); /* not a moment too early */
        pass(r, 1);
    }
    assert_int_equal(atomic_load(&r->sink.refused), 4);
    assert_int_equal(count(r, "next = 0"), 1); /* given up */
    pass(r, 1000 * MINUTE_MS);
    assert_int_equal(atomic_load(&r->sink.refused), 4);
    cd_buf text = {0};
    cd_metrics_fmt(r->metrics, &text);
    assert_non_null(strstr(cd_buf_cstr(&text), "test_smtp_total{outcome=\"retried\"} 3"));
    assert_non_null(strstr(cd_buf_cstr(&text), "test_smtp_total{outcome=\"given_up\"} 1"));
    cd_buf_fini(&text);
}

/* An address that is none is given up at once, and the others are sent. */
static void test_bad_address(void **state)
{
    rig *r = *state;
    write_mail(r, "nobody");
    write_mail(r, "a@b.example");
    due(r);
    assert_int_equal(atomic_load(&r->sink.taken), 1);
    assert_int_equal(count(r, "next = 0"), 2);
    write_mail(r, "nobody");
    due(r);
    assert_int_equal(count(r, "next = 0"), 3);
}

/* The round that should have settled a mail fails: the next one does, and the mail is not sent twice, though its lease
 * has ended meanwhile. */
static void on_tick(void *ctx)
{
    rig *r = ctx;
    if (atomic_load(&r->sink.taken) == 1 && r->failing == 0 && cd_outbox_is_idle(r->outbox)) {
        cd_loop_stop(r->loop);
    }
}

static cd_err claim_then_fail(void *ctx, void *store, cd_letter **out, usize *cnt, cd_arena *mem, u64 now_ms,
                              u64 lease_ms, u32 max, cd_errinfo *why)
{
    rig *r = ctx;
    if (atomic_load(&r->sink.taken) == 1 && r->failing != 0) {
        r->failing--;
        return cd_fail(why, CD_EINVAL, "as told");
    }
    return claim(r, store, out, cnt, mem, now_ms, lease_ms, max, why);
}

static void test_round_fails(void **state)
{
    static const cd_outbox_store ops = {.claim = claim_then_fail, .settle = settle};
    rig *r = *state;
    cd_outbox_cfg cfg = cfg_of(r);
    cd_outbox_free(r->outbox);
    r->failing = 1;
    cfg.store = &ops;
    write_mail(r, "a@b.example");
    engines_ok(cd_outbox_new(&r->outbox, r->loop, &cfg, why));
    cd_timer *t = cd_timer_new(r->loop, on_tick, r);
    cd_timer_start(t, 1, 1);
    cd_loop_run(r->loop);
    cd_timer_free(t);
    assert_int_equal(count(r, "next = 0"), 0); /* the settlement was undone */
    pass(r, 10 * MINUTE_MS);                   /* behind the end of the lease */
    assert_int_equal(count(r, "next = 0"), 1);
    assert_int_equal(atomic_load(&r->sink.taken), 1);
}

/* A mail that was noted is found by the timer. */
static void look_taken(void *ctx)
{
    rig *r = ctx;
    if (atomic_load(&r->sink.taken) == 1) {
        cd_loop_stop(r->loop);
    }
}

static void test_noted(void **state)
{
    rig *r = *state;
    write_mail(r, "a@b.example");
    cd_outbox_noted(r->outbox);
    cd_timer *t = cd_timer_new(r->loop, look_taken, r);
    cd_timer_start(t, 1, 1);
    cd_loop_run(r->loop);
    cd_timer_free(t);
}

static void test_refused(void **state)
{
    rig *r = *state;
    cd_outbox *o = NULL;
    cd_errinfo said = {0};
    cd_outbox_cfg cfg = cfg_of(r);
    cfg.from = "no address";
    assert_int_equal(cd_outbox_new(&o, r->loop, &cfg, &said), CD_EINVAL);
    cfg = cfg_of(r);
    cfg.smtp.url = "http://127.0.0.1/";
    assert_int_equal(cd_outbox_new(&o, r->loop, &cfg, &said), CD_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
