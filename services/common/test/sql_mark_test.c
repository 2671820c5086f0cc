/* A SQLite file whose pieces were damaged after a kill: it opens with all that it acknowledged, or says what is wrong;
 * it is never shorter without an error. */
#include "services/common/sql_mark_priv.h"
#include "services/common/test/engines.h"

#include "base/os/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMITS = 120, ROW = 3000, DAMAGES = 120, FILE_MAX = 64 << 20, PATH = 300 };

static const char *const parts[] = {"", "-wal", "-head"};

typedef struct world {
    char dir[64];
    cd_sql *q;
    cd_rng rng;
} world;

static const char *path_of(char out[PATH], const world *w, const char *name, const char *part)
{
    (void)snprintf(out, PATH, "%s/%s%s", w->dir, name, part);
    return out;
}

static cd_err open_it(cd_sql **out, const world *w, const char *name, cd_errinfo *why)
{
    char path[PATH];
    char url[PATH + 16];
    (void)snprintf(url, sizeof url, "sqlite:%s", path_of(path, w, name, ""));
    *out = NULL;
    return cd_sql_open(out, &(cd_sql_cfg){.url = url, .may_write = true}, why);
}

static void put(cd_sql *q, i64 n, bool is_soft)
{
    u8 filler[ROW];
    cd_sql_stmt *st = NULL;
    memset(filler, (int)(n % 251), sizeof filler);
    engines_ok(cd_sql_soft(q, is_soft, why));
    engines_ok(cd_sql_begin(q, true, why));
    engines_ok(cd_sql_prepare(q, &st, "INSERT INTO row (n, data) VALUES (?1, ?2)", why));
    engines_ok(CD_SQL_RUN(st, why, cd_sql_i(n), cd_sql_b(cd_bytes_of(filler, sizeof filler))));
    engines_ok(cd_sql_commit(q, why));
    cd_sql_drop(st);
}

/* How many rows there are, each as it was put, or an error where the file cannot be read. */
static cd_err count(cd_sql *q, i64 *out, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    bool is_row = true;
    *out = 0;
    CD_TRY(cd_sql_prepare(q, &st, "SELECT n, data FROM row ORDER BY n", why));
    cd_err err = cd_sql_query_n(st, NULL, 0, why);
    while (err == CD_OK && is_row) {
        err = cd_sql_next(st, &is_row, why);
        if (err == CD_OK && is_row) {
            u8 want[ROW];
            i64 n = cd_sql_col_i(st, 0);
            memset(want, (int)(n % 251), sizeof want);
            assert_true(cd_bytes_eq(cd_sql_col_b(st, 1), cd_bytes_of(want, sizeof want)));
            *out += 1;
        }
    }
    *out = err == CD_OK ? *out : -1;
    cd_sql_drop(st);
    return err;
}

static void copy(const world *w, const char *from, const char *to)
{
    char a[PATH];
    char b[PATH];
    (void)unlink(path_of(b, w, to, "-shm"));
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        cd_buf all = {0};
        (void)unlink(path_of(b, w, to, parts[i]));
        if (cd_fs_read_file(cd_fs_real(), &all, path_of(a, w, from, parts[i]), FILE_MAX, NULL) == CD_OK) {
            engines_ok(cd_fs_replace_file(cd_fs_real(), b, cd_buf_bytes(&all), 0600, why));
        }
        cd_buf_fini(&all);
    }
}

typedef enum damage { FLIP, OVERWRITE, CUT, REMOVE } damage;

static void hurt(world *w, const char *part, damage how)
{
    char path[PATH];
    cd_buf all = {0};
    (void)path_of(path, w, "hurt", part);
    engines_ok(cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, why));
    usize at = (usize)cd_rng_below(&w->rng, all.n);
    switch (how) {
    case FLIP:
        all.p[at] ^= (u8)(1 << cd_rng_below(&w->rng, 8));
        break;
    case OVERWRITE:
        for (usize i = at; i < at + 8 && i < all.n; i++) {
            all.p[i] = (u8)cd_rng_u64(&w->rng);
        }
        break;
    case CUT:
        all.n = at;
        break;
    case REMOVE:
        break;
    }
    if (how == REMOVE) {
        assert_int_equal(unlink(path), 0);
    } else {
        engines_ok(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&all), 0600, why));
    }
    cd_buf_fini(&all);
}

/* Makes "killed": what a process leaves that dies behind COMMITS commits, copied of them into the file or none. */
static void make(world *w, i64 copied)
{
    char path[PATH];
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        (void)unlink(path_of(path, w, "live", parts[i]));
    }
    engines_ok(open_it(&w->q, w, "live", why));
    engines_ok(cd_sql_exec(w->q, "CREATE TABLE row (n BIGINT PRIMARY KEY, data @blob)", why));
    for (i64 i = 0; i < COMMITS; i++) {
        put(w->q, i, i % 3 == 1);
        if (i + 1 == copied) {
            engines_ok(cd_sql_tidy(w->q, why));
        }
    }
    copy(w, "live", "killed");
    cd_sql_close(w->q);
}

static int set_up(void **state)
{
    static world w;
    w.rng = cd_rng_seeded(20261123);
    engines_dir(w.dir);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    return cd_fs_remove_tree(cd_fs_real(), w->dir, NULL) != CD_OK;
}

/* --- tests --- */

/* Opens what was hurt. true: all is there; false: it was refused, or cannot be read. */
static bool is_whole(const world *w, bool *is_lost, cd_errinfo *why)
{
    cd_sql *q = NULL;
    i64 n = 0;
    cd_err err = open_it(&q, w, "hurt", why);
    *is_lost = err == CD_ELOST;
    if (err == CD_OK) {
        err = count(q, &n, why);
        assert_true(err != CD_OK || n == COMMITS);
    }
    cd_sql_close(q);
    return err == CD_OK;
}

static void log_damage_is_never_silent(void **state)
{
    world *w = *state;
    usize refused = 0;
    for (i64 copied = 0; copied <= COMMITS; copied += COMMITS / 2) {
        make(w, copied);
        for (int i = 0; i < DAMAGES; i++) {
            char path[PATH];
            cd_errinfo said = {0};
            bool is_lost = false;
            copy(w, "killed", "hurt");
            hurt(w, "-wal", i < 2 ? REMOVE : (damage)(i % REMOVE));
            if (is_whole(w, &is_lost, &said)) {
                continue;
            }
            assert_true(is_lost);
            refused++;
            assert_non_null(strstr(said.msg, "remove "));
            assert_non_null(strstr(said.msg, "-head"));
            assert_false(is_whole(w, &is_lost, &said)); /* looking has changed nothing */
            assert_true(is_lost);
            if (i % 8 == 0) { /* the way out */
                cd_sql *q = NULL;
                i64 left = 0;
                assert_int_equal(unlink(path_of(path, w, "hurt", "-head")), 0);
                engines_ok(open_it(&q, w, "hurt", why));
                if (count(q, &left, &said) == CD_OK) {
                    assert_true(left < COMMITS);
                    put(q, COMMITS, false);
                }
                cd_sql_close(q);
                engines_ok(open_it(&q, w, "hurt", why));
                cd_sql_close(q);
            }
        }
    }
    assert_true(refused > DAMAGES);
}

/* A file that ends too early is noticed, whatever of it is read first. */
static void a_cut_file_is_not_read(void **state)
{
    world *w = *state;
    make(w, COMMITS);
    copy(w, "live", "closed"); /* all of it is in the file */
    usize noticed = 0;
    for (int i = 0; i < DAMAGES; i++) {
        cd_errinfo said = {0};
        bool is_lost = false;
        copy(w, "closed", "hurt");
        hurt(w, "", CUT);
        noticed += is_whole(w, &is_lost, &said) ? 0 : 1;
    }
    assert_int_equal(noticed, DAMAGES);
}

/* A bit of the file itself: nowhere in it can one flip, or eight bytes change, and another row come back. */
static void file_damage_is_never_silent(void **state)
{
    world *w = *state;
    cd_errinfo said = {0};
    bool is_lost = false;
    usize noticed = 0;
    make(w, COMMITS);
    copy(w, "live", "hurt");
    assert_true(is_whole(w, &is_lost, &said));
    copy(w, "live", "closed");
    for (int i = 0; i < 4 * DAMAGES; i++) {
        copy(w, "closed", "hurt");
        hurt(w, "", i % 2 == 0 ? FLIP : OVERWRITE);
        noticed += is_whole(w, &is_lost, &said) ? 0 : 1; /* or the page is free and was not read */
    }
    assert_in_range(noticed, 4 * DAMAGES * 9 / 10, 4 * DAMAGES);
    /* Each bit of the byte that says that there are sums. */
    for (u32 bit = 0; bit < 8; bit++) {
        char path[PATH];
        cd_buf all = {0};
        copy(w, "closed", "hurt");
        (void)path_of(path, w, "hurt", "");
        engines_ok(cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, why));
        assert_int_equal(all.p[20], 8);
        all.p[20] ^= (u8)(1 << bit);
        engines_ok(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&all), 0600, why));
        cd_buf_fini(&all);
        assert_false(is_whole(w, &is_lost, &said));
    }
}

static void what_is_whole_opens(void **state)
{
    world *w = *state;
    cd_errinfo said = {0};
    bool is_lost = false;
    char path[PATH];
    make(w, COMMITS / 2);
    copy(w, "live", "hurt"); /* closed in order */
    assert_true(is_whole(w, &is_lost, &said));
    copy(w, "killed", "hurt");
    assert_true(is_whole(w, &is_lost, &said));
    /* in the middle of a commit that nobody was told of */
    copy(w, "killed", "hurt");
    cd_buf all = {0};
    (void)path_of(path, w, "hurt", "-wal");
    engines_ok(cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, why));
    cd_buf_fill(&all, 0x5a, 5000);
    engines_ok(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&all), 0600, why));
    cd_buf_fini(&all);
    assert_true(is_whole(w, &is_lost, &said));
    /* from the time before notes */
    copy(w, "killed", "hurt");
    assert_int_equal(unlink(path_of(path, w, "hurt", "-head")), 0);
    assert_true(is_whole(w, &is_lost, &said));
    /* the database was taken away, the note was not; an older copy was put back */
    copy(w, "killed", "hurt");
    assert_int_equal(unlink(path_of(path, w, "hurt", "")), 0);
    assert_int_equal(unlink(path_of(path, w, "hurt", "-wal")), 0);
    assert_false(is_whole(w, &is_lost, &said));
    assert_true(is_lost);
}

static void the_note_itself(void **state)
{
    world *w = *state;
    char path[PATH];
    make(w, 0);
    for (usize both = 0; both < 2; both++) {
        cd_errinfo said = {0};
        bool is_lost = false;
        cd_buf all = {0};
        copy(w, "killed", "hurt");
        (void)path_of(path, w, "hurt", "-head");
        engines_ok(cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, why));
        all.p[20] ^= 1;
        all.p[512 + 20] ^= (u8)both;
        engines_ok(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&all), 0600, why));
        cd_buf_fini(&all);
        assert_int_equal(is_whole(w, &is_lost, &said), both == 0);
        assert_int_equal(is_lost, both != 0);
    }
}

/* After another start of the machine only what the disk had must be there; nobody takes back what another promised. */
static void starts_of_the_machine(void **state)
{
    world *w = *state;
    char path[PATH];
    cd__sql_mark m;
    cd__sql_mark other;
    u64 least = 1;
    (void)path_of(path, w, "note", "");
    engines_ok(cd__sql_mark_open(&m, &least, path, why));
    assert_int_equal(least, 0);
    cd__sql_mark_put(&m, 10, true);
    cd__sql_mark_put(&m, 15, false);
    cd__sql_mark_put(&m, 12, false);
    engines_ok(cd__sql_mark_open(&other, &least, path, why));
    assert_int_equal(least, 15);
    cd__sql_mark_put(&other, 11, true);
    cd__sql_mark_close(&other);
    engines_ok(cd__sql_mark_open(&other, &least, path, why));
    assert_int_equal(least, 15);
    other.boot[3] ^= 1; /* as if the note were from another start of the machine */
    cd__sql_mark_put(&other, 13, false);
    cd__sql_mark_close(&other);
    cd__sql_mark_close(&m);
    engines_ok(cd__sql_mark_open(&m, &least, path, why));
    assert_int_equal(least, 11);
    cd__sql_mark_close(&m);
    cd__sql_mark_close(&m);
}

/* What a command of root makes, the service can use whose database it is. */
static void belongs_to_the_service(void **state)
{
    enum { SOMEBODY = 12345 };
    world *w = *state;
    char path[PATH];
    struct stat st;
    cd_sql *q = NULL;
    if (geteuid() != 0) {
        return;
    }
    make(w, 0);
    copy(w, "live", "hurt");
    assert_int_equal(unlink(path_of(path, w, "hurt", "-head")), 0);
    assert_int_equal(chown(path_of(path, w, "hurt", ""), SOMEBODY, SOMEBODY), 0);
    engines_ok(open_it(&q, w, "hurt", why));
    put(q, COMMITS, false);
    cd_sql_close(q);
    assert_int_equal(stat(path_of(path, w, "hurt", "-head"), &st), 0);
    assert_true(st.st_uid == SOMEBODY && st.st_gid == SOMEBODY && (st.st_mode & 0777) == 0600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_damage_is_never_silent),
        cmocka_unit_test(a_cut_file_is_not_read),
        cmocka_unit_test(file_damage_is_never_silent),
        cmocka_unit_test(what_is_whole_opens),
        cmocka_unit_test(the_note_itself),
        cmocka_unit_test(starts_of_the_machine),
        cmocka_unit_test(belongs_to_the_service),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
