/* One SQL text on two engines: what is written is read, what is undone is gone, what is wrong is said. */
#include "services/common/test/engines.h"

#include "base/mem/arena.h"
#include "base/os/fileio.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const steps[] = {
    "CREATE TABLE item (key @id, name TEXT NOT NULL, data @blob, n BIGINT);"
    "CREATE UNIQUE INDEX item_name ON item (name);",
    "CREATE TABLE pair (a BIGINT NOT NULL, b BIGINT NOT NULL, v BIGINT NOT NULL, PRIMARY KEY (a, b)) @norowid;",
};

typedef struct world {
    char dir[64], url[256];
    cd_sql *q;
    cd_arena mem;
} world;

static void open_again(world *w, bool may_write)
{
    cd_sql_close(w->q);
    w->q = NULL;
    engines_ok(cd_sql_open(&w->q, &(cd_sql_cfg){.url = w->url, .may_write = may_write}, why));
}

static void world_open(world *w, usize engine)
{
    *w = (world){0};
    engines_dir(w->dir);
    engines_url(w->url, engine, w->dir);
    open_again(w, true);
    engines_ok(cd_sql_migrate(w->q, steps, 1, why));
    engines_ok(cd_sql_migrate(w->q, steps, CD_COUNT(steps), why));
    engines_ok(cd_sql_migrate(w->q, steps, CD_COUNT(steps), why)); /* nothing to do */
}

static void world_close(world *w)
{
    cd_sql_close(w->q);
    cd_arena_fini(&w->mem);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), w->dir, why));
}

static void each_engine(void (*fn)(world *w, usize engine))
{
    for (usize i = 0; i < engines_count(); i++) {
        world w;
        world_open(&w, i);
        fn(&w, i);
        world_close(&w);
    }
}

static void begin(world *w)
{
    engines_ok(cd_sql_begin(w->q, true, why));
}

static void commit(world *w)
{
    engines_ok(cd_sql_commit(w->q, why));
}

static void put(world *w, const char *name, i64 n)
{
    cd_sql_stmt *st = NULL;
    engines_ok(cd_sql_prepare(w->q, &st, "INSERT INTO item (name, n) VALUES (?1, ?2)", why));
    engines_ok(CD_SQL_RUN(st, why, cd_sql_t(name), cd_sql_i(n)));
    cd_sql_drop(st);
}

static i64 number(world *w, const char *text)
{
    cd_sql_stmt *st = NULL;
    engines_ok(cd_sql_prepare(w->q, &st, text, why));
    engines_ok(cd_sql_query_n(st, NULL, 0, why));
    engines_ok(cd_sql_one(st, why));
    i64 n = cd_sql_col_i(st, 0);
    cd_sql_drop(st);
    return n;
}

static i64 items(world *w)
{
    return number(w, "SELECT count(*) FROM item");
}

/* --- values --- */

/* Numbers, texts, bytes and NULL come back as they were given, the extremes too. */
static void values_of(world *w, usize engine)
{
    static const u8 bytes[] = {0, 1, 0xff, 0, 'x'};
    static const i64 numbers[] = {0, -1, INT64_MAX, INT64_MIN};
    cd_sql_stmt *add = NULL;
    cd_sql_stmt *get = NULL;
    (void)engine;
    begin(w);
    engines_ok(cd_sql_prepare(w->q, &add, "INSERT INTO item (name, data, n) VALUES (?1, ?2, ?3) RETURNING key", why));
    engines_ok(cd_sql_prepare(w->q, &get, "SELECT name, data, n FROM item WHERE key = ?1", why));
    for (usize i = 0; i < CD_COUNT(numbers); i++) {
        const char *name = cd_arena_fmt(&w->mem, "n%zu \xc3\xa9", i);
        cd_bytes data = cd_bytes_of(bytes, i);
        engines_ok(
            CD_SQL_QUERY(add, why, cd_sql_t(name), i == 0 ? cd_sql_null() : cd_sql_b(data), cd_sql_i(numbers[i])));
        engines_ok(cd_sql_one(add, why));
        i64 key = cd_sql_col_i(add, 0);
        assert_true(key > 0);
        engines_ok(CD_SQL_QUERY(get, why, cd_sql_i(key)));
        engines_ok(cd_sql_one(get, why));
        assert_string_equal(cd_sql_col_str(get, 0, &w->mem), name);
        assert_int_equal(cd_sql_col_is_null(get, 1), i == 0);
        assert_true(cd_bytes_eq(cd_sql_col_dup(get, 1, &w->mem), i == 0 ? (cd_bytes){0} : data));
        assert_true(cd_sql_col_i(get, 2) == numbers[i]);
        assert_true(cd_sql_col_u(get, 2) == (numbers[i] < 0 ? 0 : (u64)numbers[i]));
    }
    assert_true(cd_sql_u(UINT64_MAX).i == INT64_MAX && cd_sql_u(5).i == 5);
    engines_ok(CD_SQL_QUERY(get, why, cd_sql_i(12345)));
    cd_errinfo said = {0};
    assert_int_equal(cd_sql_one(get, &said), CD_ENOENT);
    commit(w);
}

static void test_values(void **state)
{
    (void)state;
    each_engine(values_of);
}

/* --- words that differ --- */

static void words_of(world *w, usize engine)
{
    cd_sql_stmt *st = NULL;
    begin(w);
    engines_ok(cd_sql_prepare(w->q, &st,
                              "INSERT INTO pair (a, b, v) VALUES (?1, ?2, ?3) ON CONFLICT (a, b) DO UPDATE SET "
                              "v = @greatest(pair.v, excluded.v)",
                              why));
    engines_ok(CD_SQL_RUN(st, why, cd_sql_i(1), cd_sql_i(2), cd_sql_i(7)));
    engines_ok(CD_SQL_RUN(st, why, cd_sql_i(1), cd_sql_i(2), cd_sql_i(5)));
    engines_ok(CD_SQL_RUN(st, why, cd_sql_i(1), cd_sql_i(3), cd_sql_i(5)));
    assert_int_equal(number(w, "SELECT v FROM pair WHERE a = 1 AND b = 2 @lock"), 7);
    assert_int_equal(number(w, "SELECT b FROM pair WHERE a = 1 ORDER BY b LIMIT 1 @skip"), 2);
    assert_int_equal(number(w, "SELECT @least(v, 6) FROM pair WHERE b = 2"), 6);
    put(w, "Apple", 1);
    assert_int_equal(number(w, "SELECT count(*) FROM item WHERE name @like 'aPP%'"), 1);
    cd_sql_stmt *find = NULL;
    engines_ok(cd_sql_prepare(w->q, &find, "SELECT @find(?1, ?2)", why));
    engines_ok(CD_SQL_QUERY(find, why, cd_sql_b(cd_bytes_str("abcabc")), cd_sql_b(cd_bytes_str("ca"))));
    engines_ok(cd_sql_one(find, why));
    assert_int_equal(cd_sql_col_i(find, 0), 3);
    engines_ok(CD_SQL_QUERY(find, why, cd_sql_b(cd_bytes_str("abcabc")), cd_sql_b(cd_bytes_str("cc"))));
    engines_ok(cd_sql_one(find, why));
    assert_int_equal(cd_sql_col_i(find, 0), 0);
    cd_sql_stmt *each = NULL;
    engines_ok(cd_sql_prepare(w->q, &each, "SELECT count(*) FROM @each(?1) AS l JOIN pair ON pair.b = l.value", why));
    engines_ok(CD_SQL_QUERY(each, why, cd_sql_t("[2,3,4]")));
    engines_ok(cd_sql_one(each, why));
    assert_int_equal(cd_sql_col_i(each, 0), 2);
    (void)engine;
    cd_sql_rollback(w->q);
}

static void test_words(void **state)
{
    (void)state;
    each_engine(words_of);
}

/* --- transactions --- */

static void transactions_of(world *w, usize engine)
{
    cd_errinfo said = {0};
    (void)engine;
    begin(w);
    put(w, "kept", 1);
    engines_ok(cd_sql_save(w->q, why));
    put(w, "undone", 2);
    engines_ok(cd_sql_undo(w->q, why));
    engines_ok(cd_sql_save(w->q, why));
    put(w, "kept too", 3);
    engines_ok(cd_sql_keep(w->q, why));
    commit(w);
    assert_int_equal(items(w), 2);
    begin(w);
    put(w, "gone", 4);
    engines_ok(cd_sql_flush(w->q, why));
    cd_sql_rollback(w->q);
    assert_int_equal(items(w), 2);
    /* What broke a rule is said at the latest with the commit, and then nothing of it is there. */
    cd_sql_stmt *add = NULL;
    engines_ok(cd_sql_prepare(w->q, &add, "INSERT INTO item (name, n) VALUES (?1, 0)", why));
    begin(w);
    cd_err err = CD_SQL_RUN(add, &said, cd_sql_t("new"));
    err = err == CD_OK ? CD_SQL_RUN(add, &said, cd_sql_t("kept")) : err;
    err = err == CD_OK ? cd_sql_commit(w->q, &said) : err;
    assert_int_equal(err, CD_EEXIST);
    assert_null(strstr(said.msg, "kept")); /* never the values */
    cd_sql_rollback(w->q);
    assert_int_equal(items(w), 2);
    /* Soft commits are there for whoever looks, and a hard one may follow. */
    engines_ok(cd_sql_soft(w->q, true, why));
    begin(w);
    put(w, "soft", 5);
    commit(w);
    engines_ok(cd_sql_soft(w->q, false, why));
    begin(w);
    put(w, "hard", 6);
    commit(w);
    engines_ok(cd_sql_tidy(w->q, why));
    open_again(w, true);
    assert_int_equal(items(w), 4);
    cd_sql_drop(NULL);
}

static void test_transactions(void **state)
{
    (void)state;
    each_engine(transactions_of);
}

/* --- what is refused --- */

static void refused_of(world *w, usize engine)
{
    cd_errinfo said = {0};
    cd_sql *q = NULL;
    cd_sql_stmt *st = NULL;
    assert_int_not_equal(cd_sql_exec(w->q, "SELEKT 1", &said), CD_OK);
    assert_true(said.msg[0] != '\0');
    cd_err err = cd_sql_prepare(w->q, &st, "SELECT nothing FROM nowhere", &said);
    if (err == CD_OK) { /* PostgreSQL says it when it is asked */
        err = cd_sql_query_n(st, NULL, 0, &said);
    }
    assert_int_not_equal(err, CD_OK);
    open_again(w, true);
    engines_ok(cd_sql_exec(w->q, "INSERT INTO schema_version (version) VALUES (1000)", why));
    assert_int_equal(cd_sql_migrate(w->q, steps, CD_COUNT(steps), &said), CD_EVERSION);
    assert_int_equal(cd_sql_is_shared(w->q), engine == 1);
    assert_int_equal(cd_sql_is_shared_url(w->url), engine == 1);
    assert_int_equal(cd_sql_open(&q, &(cd_sql_cfg){.url = "mysql://x"}, &said), CD_EFORMAT);
    assert_null(q);
    cd_sql_close(NULL);
    if (engine == 1) {
        assert_int_equal(cd_sql_open(&q, &(cd_sql_cfg){.url = "postgresql://localhost:1/none"}, &said), CD_ECLOSED);
        return;
    }
    assert_int_equal(cd_sql_open(&q, &(cd_sql_cfg){.url = "sqlite:/nowhere/at/all", .may_write = true}, &said), CD_EIO);
    char path[128];
    char url[160];
    (void)snprintf(path, sizeof path, "%s/other", w->dir);
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    assert_int_not_equal(cd_sql_open(&q, &(cd_sql_cfg){.url = url}, &said), CD_OK); /* missing, and not to be made */
    engines_ok(cd_fs_replace_file(cd_fs_real(), path,
                                  cd_bytes_str("this is no database, but long enough to be read as the head of one, "
                                               "which has a hundred bytes"),
                                  0600, why));
    assert_int_equal(cd_sql_open(&q, &(cd_sql_cfg){.url = url, .may_write = true}, &said), CD_EFOREIGN);
    open_again(w, false);
    assert_int_equal(cd_sql_exec(w->q, "INSERT INTO item (name) VALUES ('x')", &said), CD_EACCES);
}

static void test_refused(void **state)
{
    (void)state;
    each_engine(refused_of);
}

/* --- a lock, a full disk, a server that goes --- */

/* Of two writers of a SQLite file the second is told to come again. */
static void test_busy(void **state)
{
    world w;
    cd_sql *other = NULL;
    cd_errinfo said = {0};
    (void)state;
    world_open(&w, 0);
    engines_ok(cd_sql_open(&other, &(cd_sql_cfg){.url = w.url, .may_write = true}, why));
    engines_ok(cd_sql_exec(other, "PRAGMA busy_timeout = 10", why));
    begin(&w);
    put(&w, "mine", 1);
    assert_int_equal(cd_sql_begin(other, true, &said), CD_EBUSY);
    commit(&w);
    engines_ok(cd_sql_begin(other, true, why));
    cd_sql_rollback(other);
    cd_sql_close(other);
    world_close(&w);
}

/* A commit that does not fit on the disk is an error, leaves nothing, and works when there is room again. */
static void test_no_space(void **state)
{
    static u8 large[200000];
    world w;
    struct rlimit was;
    cd_sql_stmt *add = NULL;
    cd_errinfo said = {0};
    (void)state;
    world_open(&w, 0);
    engines_ok(cd_sql_prepare(w.q, &add, "INSERT INTO item (name, data) VALUES ('large', ?1)", why));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    const struct rlimit now = {.rlim_cur = 100000, .rlim_max = was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
    cd_err err = cd_sql_begin(w.q, true, &said);
    err = err == CD_OK ? CD_SQL_RUN(add, &said, cd_sql_b(cd_bytes_of(large, sizeof large))) : err;
    err = err == CD_OK ? cd_sql_commit(w.q, &said) : err;
    cd_sql_rollback(w.q);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_true(err == CD_EIO || err == CD_ENOSPC);
    assert_int_equal(items(&w), 0);
    begin(&w);
    engines_ok(CD_SQL_RUN(add, why, cd_sql_b(cd_bytes_of(large, sizeof large))));
    commit(&w);
    assert_int_equal(items(&w), 1);
    world_close(&w);
}

/* A connection that was lost between transactions is made again without a word, with its statements; one that was lost
 * within is an error that is worth another try. */
static void test_lost(void **state)
{
    world w;
    cd_sql_stmt *add = NULL;
    cd_errinfo said = {0};
    (void)state;
    if (engines_count() < 2) {
        skip();
    }
    world_open(&w, 1);
    engines_ok(cd_sql_prepare(w.q, &add, "INSERT INTO item (name) VALUES (?1)", why));
    begin(&w);
    engines_ok(CD_SQL_RUN(add, why, cd_sql_t("one")));
    commit(&w);
    engines_server_stop();
    engines_server_start();
    cd_err err = CD_ECLOSED;
    for (int i = 0; i < 200 && err != CD_OK; i++) { /* until the server is there again */
        err = cd_sql_begin(w.q, true, &said);
        assert_true(err == CD_OK || err == CD_ECLOSED);
        (void)usleep(err == CD_OK ? 0 : 20000);
    }
    engines_ok(CD_SQL_RUN(add, why, cd_sql_t("two")));
    commit(&w);
    assert_int_equal(items(&w), 2);
    begin(&w);
    engines_server_stop();
    err = CD_SQL_RUN(add, &said, cd_sql_t("three"));
    assert_int_equal(err == CD_OK ? cd_sql_commit(w.q, &said) : err, CD_ECLOSED);
    cd_sql_rollback(w.q);
    engines_server_start();
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_words), cmocka_unit_test(test_transactions),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_busy),  cmocka_unit_test(test_no_space),
        cmocka_unit_test(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, engines_group_end);
}
