/* Processes that share a PostgreSQL database hear of each other's changes, and lose their names when they die. */
#include "services/common/peers.h"

#include "base/os/fileio.h"
#include "services/common/test/engines.h"

#include <unistd.h>

#define CHANNEL "peers_test"

typedef struct ear {
    cd_loop *loop;
    i64 heard[16];
    u32 heard_cnt, missed, want_heard, want_missed;
} ear;

static void look(ear *e)
{
    if (e->heard_cnt >= e->want_heard && e->missed >= e->want_missed) {
        cd_loop_stop(e->loop);
    }
}

static void on_heard(void *ctx, i64 key)
{
    ear *e = ctx;
    assert_true(e->heard_cnt < CD_COUNT(e->heard));
    e->heard[e->heard_cnt++] = key;
    look(e);
}

static void on_missed(void *ctx)
{
    ear *e = ctx;
    e->missed++;
    look(e);
}

static const cd_peers_events events = {.heard = on_heard, .missed = on_missed};

static void tell(cd_sql *q, const char *text)
{
    cd_sql_stmt *st = NULL;
    engines_ok(cd_sql_begin(q, true, why));
    engines_ok(cd_sql_prepare(q, &st, "SELECT @tell('" CHANNEL "', ?1)", why));
    engines_ok(CD_SQL_RUN(st, why, cd_sql_t(text)));
    engines_ok(cd_sql_commit(q, why));
    cd_sql_drop(st);
}

/* How many of the names nobody has. */
static i64 orphans(cd_sql *q)
{
    cd_sql_stmt *st = NULL;
    engines_ok(cd_sql_begin(q, true, why));
    engines_ok(
        cd_sql_prepare(q, &st, "SELECT count(*) FROM (VALUES ('one'), ('two')) AS t(name) WHERE @orphan(name)", why));
    engines_ok(cd_sql_query_n(st, NULL, 0, why));
    engines_ok(cd_sql_one(st, why));
    i64 n = cd_sql_col_i(st, 0);
    cd_sql_rollback(q);
    cd_sql_drop(st);
    return n;
}

static void test_peers(void **state)
{
    char dir[64];
    char url[256];
    char long_name[CD_PEERS_NAME_MAX + 1];
    cd_loop *loop = NULL;
    cd_sql *q = NULL;
    cd_peers *one = NULL;
    cd_peers *two = NULL;
    cd_peers *again = NULL;
    cd_errinfo said = {0};
    (void)state;
    if (engines_count() < 2) {
        skip();
    }
    engines_dir(dir);
    engines_url(url, 1, dir);
    engines_ok(cd_loop_new(&loop, why));
    engines_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = url, .may_write = true}, why));
    const char *step = "CREATE TABLE nothing (n BIGINT)";
    engines_ok(cd_sql_migrate(q, &step, 1, why)); /* makes what @orphan calls */
    ear ears[2] = {{.loop = loop}, {.loop = loop}};
    const cd_peers_cfg names[] = {{.url = url, .channel = CHANNEL, .name = "one"},
                                  {.url = url, .channel = CHANNEL, .name = "two"}};
    engines_ok(cd_peers_new(&one, loop, &names[0], &events, &ears[0], why));
    assert_int_equal(cd_peers_new(&again, loop, &names[0], &events, &ears[0], &said), CD_EBUSY);
    assert_non_null(strstr(said.msg, "\"one\""));
    engines_ok(cd_peers_new(&two, loop, &names[1], &events, &ears[1], why));
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const cd_peers_cfg bad = {.url = url, .channel = CHANNEL, .name = long_name};
    assert_int_equal(cd_peers_new(&again, loop, &bad, &events, &ears[0], &said), CD_EINVAL);

    /* Nobody hears himself; what is no row and name is not heard at all. */
    static const char *const noise[] = {"", "x", "0 one", "7", "-3 one", "99999999999999999999 one", "5 two"};
    for (usize i = 0; i < CD_COUNT(noise); i++) {
        tell(q, noise[i]);
    }
    tell(q, "17 one");
    tell(q, "18 one");
    ears[1].want_heard = 2;
    ears[0].want_heard = 99;
    cd_loop_run(loop);
    assert_int_equal(ears[1].heard_cnt, 2);
    assert_int_equal(ears[1].heard[0], 17);
    assert_int_equal(ears[1].heard[1], 18);
    ears[0].want_heard = 1; /* what was "two"'s came to the other */
    if (ears[0].heard_cnt == 0) {
        cd_loop_run(loop);
    }
    assert_int_equal(ears[0].heard_cnt, 1);
    assert_int_equal(ears[0].heard[0], 5);

    assert_int_equal(orphans(q), 0);
    cd_peers_free(one);
    i64 gone = 0;
    for (int i = 0; i < 200 && gone == 0; i++) { /* the server takes note */
        (void)usleep(10000);
        gone = orphans(q);
    }
    assert_int_equal(gone, 1);
    cd_sql_close(q);

    engines_server_stop(); /* what was told meanwhile was missed */
    (void)usleep(100000);
    engines_server_start();
    ears[1].want_missed = 1;
    ears[1].want_heard = 0;
    cd_loop_run(loop);
    assert_int_equal(ears[1].missed, 1);
    cd_peers_free(two);
    cd_peers_free(NULL);
    cd_loop_free(loop);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), dir, why));
}

/* More keys than may wait are missed, all of them. */
static void test_flood(void **state)
{
    char dir[64];
    char url[256];
    cd_loop *loop = NULL;
    cd_sql *q = NULL;
    cd_peers *p = NULL;
    (void)state;
    if (engines_count() < 2) {
        skip();
    }
    engines_dir(dir);
    engines_url(url, 1, dir);
    engines_ok(cd_loop_new(&loop, why));
    engines_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = url, .may_write = true}, why));
    ear e = {.loop = loop, .want_missed = 1};
    const cd_peers_cfg cfg = {.url = url, .channel = CHANNEL, .name = "me"};
    engines_ok(cd_peers_new(&p, loop, &cfg, &events, &e, why));
    engines_ok(cd_sql_exec(q,
                           "SELECT pg_notify('" CHANNEL "', n || ' other') FROM generate_series(1, 70000) AS n; "
                           "SELECT pg_notify('peers_test', '70001 other')",
                           why));
    (void)usleep(500000); /* the loop does not run meanwhile */
    cd_loop_run(loop);
    assert_int_equal(e.missed, 1);
    assert_int_equal(e.heard_cnt, 0);
    cd_peers_free(p);
    cd_sql_close(q);
    cd_loop_free(loop);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), dir, why));
}

/* A file is nobody else's. */
static void test_local(void **state)
{
    cd_peers *p = (cd_peers *)(void *)&p;
    const cd_peers_cfg cfg = {.url = "sqlite:/tmp/none.db", .channel = CHANNEL, .name = "one"};
    (void)state;
    engines_ok(cd_peers_new(&p, NULL, &cfg, &events, NULL, why));
    assert_null(p);
    const cd_peers_cfg away = {.url = "postgresql://localhost:1/none", .channel = CHANNEL, .name = "one"};
    assert_int_equal(cd_peers_new(&p, NULL, &away, &events, NULL, NULL), CD_ECLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_local),
    };
    return cmocka_run_group_tests(tests, NULL, engines_group_end);
}
