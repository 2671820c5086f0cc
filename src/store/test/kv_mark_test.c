/* A store whose files were damaged after it was killed: it opens with everything that it acknowledged, or says what is
 * wrong; it is never shorter without an error. */
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "store/kv.h"
#include "store/kv_mark_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { COMMITS = 300, DAMAGES = 60, FILE_MAX = 64 << 20, PATH = 300 };

static char scratch[] = "/tmp/candela-mark-XXXXXX";

static const char *path_of(char out[PATH], const char *dir, const char *name)
{
    (void)snprintf(out, PATH, "%s/%s%s%s", scratch, dir, name[0] == '\0' ? "" : "/", name);
    return out;
}

static cd_err open_store(cd_kv **out, const char *dir, bool accept_loss, cd_errinfo *why)
{
    char path[PATH];
    cd_kv_cfg cfg = {.dir = path_of(path, dir, ""), .cache_bytes = 1 << 20, .layout = 1, .accept_loss = accept_loss};
    return cd_kv_rocksdb_open(out, &cfg, why);
}

static cd_bytes key_of(u8 out[8], u64 i)
{
    cd_put_be64(out, i);
    return cd_bytes_of(out, 8);
}

/* Commit number i: one key, now and then synced. */
static void commit(cd_kv *kv, u64 i)
{
    u8 key[8];
    u8 value[100];
    cd_kv_batch b = {0};
    memset(value, (int)(i % 251), sizeof value);
    cd_kv_batch_for(&b, kv);
    cd_kv_batch_put(&b, key_of(key, i), cd_bytes_of(value, 1 + i % sizeof value));
    assert_int_equal(cd_kv_commit(kv, &b, i % 4 == 0 ? CD_KV_SYNC : CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
}

static u64 count(cd_kv *kv)
{
    u64 n = 0;
    u8 key[8];
    bool found = true;
    while (found) {
        assert_int_equal(cd_kv_has(kv, &found, key_of(key, n)), CD_OK);
        n += found ? 1 : 0;
    }
    return n;
}

/* --- files --- */

typedef struct copying {
    const char *to;
} copying;

static cd_err copy_one(void *ctx, const char *path, cd_fs_kind kind)
{
    const copying *c = ctx;
    char to[PATH];
    cd_buf all = {0};
    const char *name = strrchr(path, '/') + 1;
    if (kind != CD_FS_FILE) {
        return CD_OK;
    }
    cd_err e = cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, NULL);
    if (e == CD_OK) {
        e = cd_fs_replace_file(cd_fs_real(), path_of(to, c->to, name), cd_buf_bytes(&all), 0644, NULL);
    }
    cd_buf_fini(&all);
    return e;
}

/* Copies a folder as a process that is killed now leaves it. */
static void copy_dir(const char *from, const char *to)
{
    char a[PATH];
    char b[PATH];
    copying c = {.to = to};
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), path_of(b, to, ""), NULL), CD_OK);
    assert_int_equal(cd_fs_mkdirs(cd_fs_real(), b, 0755, NULL), CD_OK);
    assert_int_equal(cd_fs_walk(cd_fs_real(), path_of(a, from, ""), copy_one, &c, NULL), CD_OK);
}

static cd_err find_log(void *ctx, const char *path, cd_fs_kind kind)
{
    usize n = strlen(path);
    cd_fs_stat st;
    if (kind == CD_FS_FILE && n > 4 && strcmp(path + n - 4, ".log") == 0 &&
        cd_fs_stat_get(cd_fs_real(), &st, path, NULL) == CD_OK && st.size != 0) {
        (void)snprintf(ctx, PATH, "%s", path);
    }
    return CD_OK;
}

/* Finds the log of a store; false: all data is in its tables. */
static bool log_of(char out[PATH], const char *dir)
{
    char path[PATH];
    out[0] = '\0';
    assert_int_equal(cd_fs_walk(cd_fs_real(), path_of(path, dir, ""), find_log, out, NULL), CD_OK);
    return out[0] != '\0';
}

static void rewrite(const char *path, cd_rng *rng, int how)
{
    cd_buf all = {0};
    assert_int_equal(cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, NULL), CD_OK);
    usize at = (usize)cd_rng_below(rng, all.n);
    if (how == 0) {
        all.p[at] ^= (u8)(1 << cd_rng_below(rng, 8));
    } else if (how == 1) {
        for (usize i = at; i < at + 8 && i < all.n; i++) {
            all.p[i] = (u8)cd_rng_u64(rng);
        }
    } else {
        all.n = at;
    }
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&all), 0644, NULL), CD_OK);
    cd_buf_fini(&all);
}

static void make_store(void)
{
    char path[PATH];
    cd_kv *kv = NULL;
    cd_errinfo why = {0};
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), path_of(path, "live", ""), NULL), CD_OK);
    assert_int_equal(open_store(&kv, "live", false, &why), CD_OK);
    for (u64 i = 0; i < COMMITS; i++) {
        commit(kv, i);
    }
    copy_dir("live", "killed");
    cd_kv_close(kv);
}

/* --- tests --- */

static void damage_is_never_silent(void **state)
{
    (void)state;
    u64 seed = 20261122;
    cd_rng rng = cd_rng_seeded(seed);
    usize refused = 0;
    make_store();
    (void)printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < DAMAGES; i++) {
        char log[PATH];
        cd_kv *kv = NULL;
        cd_errinfo why = {0};
        copy_dir("killed", "hurt");
        assert_true(log_of(log, "hurt"));
        rewrite(log, &rng, i % 3);
        cd_err e = open_store(&kv, "hurt", false, &why);
        if (e == CD_OK) {
            assert_int_equal(count(kv), COMMITS);
            cd_kv_close(kv);
            continue;
        }
        refused++;
        assert_int_equal(e, CD_ELOST);
        assert_non_null(strstr(why.msg, "--accept-data-loss"));
        /* Opening has changed nothing: it is refused again, and what is left can be had by accepting the loss. */
        assert_int_equal(open_store(&kv, "hurt", false, &why), CD_ELOST);
        if (i % 10 == 0) {
            assert_int_equal(open_store(&kv, "hurt", true, &why), CD_OK);
            u64 left = count(kv);
            assert_true(left < COMMITS);
            commit(kv, left);
            cd_kv_close(kv);
            assert_int_equal(open_store(&kv, "hurt", false, &why), CD_OK);
            assert_int_equal(count(kv), left + 1);
            cd_kv_close(kv);
        }
    }
    assert_true(refused > DAMAGES / 2);
}

static void unhurt_opens(void **state)
{
    (void)state;
    char path[PATH];
    cd_kv *kv = NULL;
    cd_errinfo why = {0};
    make_store();
    assert_false(log_of(path, "live")); /* closed: everything is in tables */
    copy_dir("killed", "hurt");
    assert_int_equal(open_store(&kv, "hurt", false, &why), CD_OK);
    assert_int_equal(count(kv), COMMITS);
    cd_kv_close(kv);
    /* As if killed in the middle of a commit: what was not acknowledged may be there or not. */
    copy_dir("killed", "hurt");
    assert_true(log_of(path, "hurt"));
    cd_buf all = {0};
    assert_int_equal(cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, NULL), CD_OK);
    cd_buf_fill(&all, 0x5a, 37);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&all), 0644, NULL), CD_OK);
    cd_buf_fini(&all);
    assert_int_equal(open_store(&kv, "hurt", false, &why), CD_OK);
    assert_int_equal(count(kv), COMMITS);
    cd_kv_close(kv);
    /* A store from the time before marks. */
    copy_dir("killed", "hurt");
    assert_int_equal(unlink(path_of(path, "hurt", "CANDELA-HEAD")), 0);
    assert_int_equal(open_store(&kv, "hurt", false, &why), CD_OK);
    cd_kv_close(kv);
}

static void the_mark_itself(void **state)
{
    (void)state;
    char path[PATH];
    cd_kv *kv = NULL;
    cd_errinfo why = {0};
    cd_buf all = {0};
    make_store();
    for (usize both = 0; both < 2; both++) {
        copy_dir("killed", "hurt");
        cd_buf_clear(&all);
        (void)path_of(path, "hurt", "CANDELA-HEAD");
        assert_int_equal(cd_fs_read_file(cd_fs_real(), &all, path, FILE_MAX, NULL), CD_OK);
        all.p[20] ^= 1;
        all.p[512 + 20] ^= (u8)both;
        assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&all), 0644, NULL), CD_OK);
        assert_int_equal(open_store(&kv, "hurt", false, &why), both != 0 ? CD_ELOST : CD_OK);
        if (both == 0) {
            cd_kv_close(kv);
            kv = NULL;
        }
    }
    assert_non_null(strstr(why.msg, "CANDELA-HEAD is damaged"));
    assert_int_equal(open_store(&kv, "hurt", true, &why), CD_OK);
    assert_int_equal(count(kv), COMMITS);
    cd_kv_close(kv);
    cd_buf_fini(&all);
}

/* After another start of the machine only what was synced must be there. */
static void starts_of_the_machine(void **state)
{
    (void)state;
    char path[PATH];
    cd__kv_mark m;
    u64 least = 1;
    assert_int_equal(cd_fs_mkdirs(cd_fs_real(), path_of(path, "mark", ""), 0755, NULL), CD_OK);
    assert_int_equal(cd__kv_mark_open(&m, &least, path, NULL), CD_OK);
    assert_int_equal(least, 0);
    cd__kv_mark_put(&m, 10, true);
    cd__kv_mark_put(&m, 15, false);
    cd__kv_mark_close(&m, false);
    assert_int_equal(cd__kv_mark_open(&m, &least, path, NULL), CD_OK);
    assert_int_equal(least, 15);
    m.boot[3] ^= 1; /* as if the note were from another start of the machine */
    cd__kv_mark_put(&m, 17, false);
    cd__kv_mark_close(&m, true);
    assert_int_equal(cd__kv_mark_open(&m, &least, path, NULL), CD_OK);
    assert_int_equal(least, 10);
    assert_int_equal(cd__kv_mark_reset(&m, 4, NULL), CD_OK);
    cd__kv_mark_close(&m, true);
    assert_int_equal(cd__kv_mark_open(&m, &least, path, NULL), CD_OK);
    assert_int_equal(least, 4);
    cd__kv_mark_close(&m, true);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(scratch) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    return cd_fs_remove_tree(cd_fs_real(), scratch, NULL) != CD_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_never_silent),
        cmocka_unit_test(unhurt_opens),
        cmocka_unit_test(the_mark_itself),
        cmocka_unit_test(starts_of_the_machine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
