#include "node/backup.h"

#include "base/os/fileio.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char dir[] = "/tmp/candela-backup-XXXXXX";
static cd_clock_virtual now;

static const char *at(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static cd_kv *open_store(void)
{
    cd_kv *kv = NULL;
    const cd_kv_cfg cfg = {.dir = at("db"), .layout = 1};
    assert_int_equal(cd_kv_rocksdb_open(&kv, &cfg, NULL), CD_OK);
    return kv;
}

static void put(cd_kv *kv, const char *value)
{
    assert_int_equal(cd_kv_put(kv, cd_bytes_str("key"), cd_bytes_str(value)), CD_OK);
}

/* Checks the value that the store has when it is opened. */
static void assert_value(const char *want)
{
    cd_buf got = {0};
    cd_kv *kv = open_store();
    assert_int_equal(cd_kv_get(kv, &got, cd_bytes_str("key")), CD_OK);
    assert_string_equal(cd_buf_cstr(&got), want);
    cd_buf_fini(&got);
    cd_kv_close(kv);
}

static void assert_applied(const char *want)
{
    cd_buf name = {0};
    cd_errinfo why = {0};
    if (cd_backup_apply(&name, dir, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_string_equal(cd_buf_cstr(&name), want);
    cd_buf_fini(&name);
}

static void create(cd_kv *kv, const char *name, u64 version)
{
    cd_backup_info info;
    cd_errinfo why = {0};
    if (cd_backup_create(&info, kv, dir, cd_bytes_str(name), &now.clock, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(info.version, version);
    assert_int_equal(info.time_s, 1700000000);
    assert_true(info.bytes > 0);
}

static int begin(void **state)
{
    (void)state;
    cd_clock_virtual_init(&now, 1700000000 * CD_NS_PER_SEC);
    return mkdtemp(dir) == NULL;
}

static int end(void **state)
{
    (void)state;
    return cd_fs_remove_tree(cd_fs_real(), dir, NULL) != CD_OK;
}

static void made_and_taken_back(void **state)
{
    (void)state;
    cd_backup_info last;
    cd_kv *kv = open_store();
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), at("genesis-P.bin"), cd_bytes_str("g"), 0600, NULL), CD_OK);
    assert_int_equal(cd_backup_last(&last, dir, NULL), CD_OK);
    assert_int_equal(last.version, 0);
    put(kv, "first");
    create(kv, "one", 1);
    put(kv, "second");
    create(kv, "two", 2);
    put(kv, "third");
    assert_int_equal(cd_backup_last(&last, dir, NULL), CD_OK);
    assert_int_equal(last.version, 2);
    cd_fs_stat st;
    assert_int_equal(cd_fs_stat_get(cd_fs_real(), &st, at("backups/two/genesis-P.bin"), NULL), CD_OK);
    cd_kv_close(kv);
    assert_applied("");
    assert_value("third");
    assert_int_equal(cd_backup_restore(dir, cd_bytes_str("one"), NULL), CD_OK);
    assert_value("third"); /* a restore waits for the next start */
    assert_applied("one");
    assert_value("first");
    assert_applied("");
    /* The backup is as it was, whatever happened to the store that was restored from it. */
    kv = open_store();
    put(kv, "fourth");
    cd_kv_close(kv);
    assert_int_equal(cd_backup_restore(dir, cd_bytes_str("one"), NULL), CD_OK);
    assert_applied("one");
    assert_value("first");
    assert_int_equal(cd_backup_restore(dir, cd_bytes_str("two"), NULL), CD_OK);
    assert_applied("two");
    assert_value("second");
}

/* Where a crash may have left it: what lies there, in the order in which it comes to be. */
static void crashes(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        const char *to;
    } steps[] = {{"db.part", "db.restored"}, {"db", "db.old"}, {"db.restored", "db"}};
    for (usize done = 0; done <= CD_COUNT(steps); done++) {
        char from[256];
        cd_kv *kv;
        /* The store of the backup "one", under the name that a restore gives it first. */
        assert_int_equal(cd_backup_restore(dir, cd_bytes_str("one"), NULL), CD_OK);
        assert_applied("one");
        (void)snprintf(from, sizeof from, "%s/db", dir);
        assert_int_equal(rename(from, at("db.part")), 0);
        kv = open_store();
        put(kv, "newest");
        cd_kv_close(kv);
        assert_int_equal(cd_backup_restore(dir, cd_bytes_str("one"), NULL), CD_OK);
        for (usize i = 0; i < done; i++) {
            (void)snprintf(from, sizeof from, "%s/%s", dir, steps[i].from);
            assert_int_equal(rename(from, at(steps[i].to)), 0);
        }
        assert_applied("one");
        assert_value("first");
        cd_fs_stat st;
        assert_int_equal(cd_fs_stat_get(cd_fs_real(), &st, at("db.old"), NULL), CD_ENOENT);
        assert_int_equal(cd_fs_stat_get(cd_fs_real(), &st, at("db.restored"), NULL), CD_ENOENT);
        assert_applied("");
    }
}

static void refuses(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",    "..",  "a/b",  "/etc",
        "a.b", "a b", "\xff", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    cd_backup_info info;
    cd_errinfo why = {0};
    cd_kv *kv = open_store();
    for (usize i = 0; i < CD_COUNT(names); i++) {
        const cd_bytes name = cd_bytes_str(names[i]);
        assert_int_equal(cd_backup_create(&info, kv, dir, name, &now.clock, &why), CD_EINVAL);
        assert_int_equal(cd_backup_restore(dir, name, &why), CD_EINVAL);
    }
    assert_int_equal(cd_backup_create(&info, kv, dir, cd_bytes_str("one"), &now.clock, &why), CD_EEXIST);
    assert_int_equal(cd_backup_restore(dir, cd_bytes_str("none"), &why), CD_ENOENT);
    cd_kv_close(kv);
    cd_kv *mem = cd_kv_mem_open();
    assert_int_equal(cd_backup_create(&info, mem, dir, cd_bytes_str("mem"), &now.clock, &why), CD_EUNSUPPORTED);
    cd_fs_stat st;
    assert_int_equal(cd_fs_stat_get(cd_fs_real(), &st, at("backups/mem.part"), NULL), CD_ENOENT);
    cd_kv_close(mem);
    /* A backup that was removed meanwhile leaves the data alone. */
    cd_buf name = {0};
    assert_int_equal(cd_backup_restore(dir, cd_bytes_str("two"), NULL), CD_OK);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), at("backups/two"), NULL), CD_OK);
    assert_int_equal(cd_backup_apply(&name, dir, &why), CD_ENOENT);
    cd_buf_fini(&name);
    assert_value("first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_and_taken_back),
        cmocka_unit_test(crashes),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
