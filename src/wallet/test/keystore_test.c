/* The directory of key files: made, shared with others, unlocked for a while, failing where the disk fails. */
#include "base/hex.h"
#include "base/thread/thread.h"
#include "wallet/keystore.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static cd_clock_virtual wall;
static const u8 secret[32] = {[31] = 1};
static const char addr_1[] = "7e5f4552091a69125d5dfcb7b8c2659029395bdf"; /* of the key 1 */

static cd_keystore *open_it(cd_fs *fs)
{
    cd_keystore *ks = NULL;
    cd_errinfo why = {0};
    char path[100];
    (void)snprintf(path, sizeof path, "%s/keys", dir);
    cd_keystore_cfg cfg = {.dir = path, .cost = {.n = 2, .r = 1, .p = 1}, .clock = &wall.clock, .fs = fs};
    if (cd_keystore_open(&ks, &cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    return ks;
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/candela-keystore-XXXXXX");
    cd_clock_virtual_init(&wall, 1700000000123456789);
    return mkdtemp(dir) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    return cd_fs_remove_tree(cd_fs_real(), dir, NULL) != CD_OK;
}

static usize count(cd_keystore *ks)
{
    cd_arena a = {0};
    const cd_keystore_account *list;
    usize cnt = 0;
    assert_int_equal(cd_keystore_list(ks, &list, &cnt, &a, NULL), CD_OK);
    cd_arena_fini(&a);
    return cnt;
}

static void import_1(cd_keystore *ks, const char *password)
{
    cd_addr20 got;
    u8 want[20];
    cd_errinfo why = {0};
    if (cd_keystore_import(ks, &got, secret, cd_bytes_str(password), &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(cd_hex_parse(want, cd_bytes_str(addr_1)), CD_OK);
    assert_memory_equal(got.b, want, 20);
}

static void files_are_geths(void **state)
{
    (void)state;
    cd_keystore *ks = open_it(NULL);
    cd_arena a = {0};
    const cd_keystore_account *list;
    usize cnt;
    struct stat st;
    char want[200];
    cd_addr20 got;
    import_1(ks, "pw");
    assert_int_equal(cd_keystore_list(ks, &list, &cnt, &a, NULL), CD_OK);
    assert_int_equal(cnt, 1);
    assert_false(list[0].is_unlocked);
    (void)snprintf(want, sizeof want, "%s/keys/UTC--2023-11-14T22-13-20.123456789Z--%s", dir, addr_1);
    assert_string_equal(list[0].path, want);
    assert_int_equal(stat(want, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    (void)snprintf(want, sizeof want, "%s/keys", dir);
    assert_int_equal(stat(want, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(cd_keystore_import(ks, &got, secret, cd_bytes_str("other"), NULL), CD_EEXIST);
    assert_int_equal(cd_keystore_import(ks, &got, (u8[32]){0}, cd_bytes_str(""), NULL), CD_EKEY);
    assert_int_equal(cd_keystore_new(ks, &got, cd_bytes_str("pw"), NULL), CD_OK);
    assert_true(cd_keystore_has(ks, &got));
    assert_int_equal(count(ks), 2);
    cd_arena_fini(&a);
    cd_keystore_close(ks);
    ks = open_it(NULL);
    assert_int_equal(count(ks), 2);
    cd_keystore_close(ks);
}

static void keys_are_clear_for_a_while(void **state)
{
    (void)state;
    cd_keystore *ks = open_it(NULL);
    cd_addr20 a;
    u8 key[32];
    cd_secret once = {0};
    cd_bytes pw = cd_bytes_str("pw");
    import_1(ks, "pw");
    assert_int_equal(cd_hex_parse(a.b, cd_bytes_str(addr_1)), CD_OK);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_EACCES);
    assert_int_equal(cd_keystore_unlock(ks, &a, cd_bytes_str("pW"), 0, NULL), CD_EKEY);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_EACCES);
    assert_true(cd_keystore_expire(ks) == UINT64_MAX);

    assert_int_equal(cd_keystore_unlock(ks, &a, pw, 5 * CD_NS_PER_SEC, NULL), CD_OK);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_OK);
    assert_memory_equal(key, secret, 32);
    assert_true(cd_keystore_expire(ks) == 5 * CD_NS_PER_SEC);
    cd_clock_virtual_advance(&wall, 3 * CD_NS_PER_SEC);
    assert_int_equal(cd_keystore_unlock(ks, &a, pw, 5 * CD_NS_PER_SEC, NULL), CD_OK);
    cd_clock_virtual_advance(&wall, 4 * CD_NS_PER_SEC);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_OK); /* from the second time on */
    cd_clock_virtual_advance(&wall, CD_NS_PER_SEC);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_EACCES);

    assert_int_equal(cd_keystore_unlock(ks, &a, pw, 0, NULL), CD_OK);
    assert_int_equal(cd_keystore_unlock(ks, &a, pw, 1, NULL), CD_OK);
    cd_clock_virtual_advance(&wall, 1000000 * CD_NS_PER_SEC);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_OK); /* for ever stays so */
    cd_keystore_lock(ks, &a);
    cd_keystore_lock(ks, &a);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_EACCES);

    assert_int_equal(cd_keystore_open_key(ks, &once, &a, pw, NULL), CD_OK);
    assert_memory_equal(once.p, secret, 32);
    cd_secret_fini(&once);
    assert_int_equal(cd_keystore_key(ks, key, &a), CD_EACCES);
    a.b[0] ^= 1;
    assert_int_equal(cd_keystore_open_key(ks, &once, &a, pw, NULL), CD_ENOENT);
    assert_int_equal(cd_keystore_unlock(ks, &a, pw, 0, NULL), CD_ENOENT);
    cd_keystore_close(ks);
}

static void put_file(const char *name, const char *text)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/keys/%s", dir, name);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str(text), 0600, NULL), CD_OK);
}

/* Others put files in, write them slowly, take them away. */
static void sees_what_others_do(void **state)
{
    (void)state;
    cd_keystore *ks = open_it(NULL);
    cd_secret key;
    cd_addr20 a = {.b = {0x11}};
    cd_errinfo why = {0};
    char path[200];
    assert_int_equal(count(ks), 0);
    put_file("README", "not a key");
    put_file(".hidden", "{\"address\":\"1100000000000000000000000000000000000000\"}");
    put_file("backup~", "{\"address\":\"1100000000000000000000000000000000000000\"}");
    assert_int_equal(count(ks), 0);
    put_file("key", "{\"addr");
    assert_int_equal(count(ks), 0);
    put_file("key", "{\"address\":\"0x1100000000000000000000000000000000000000\"}");
    assert_int_equal(count(ks), 1);
    put_file("key2", "{\"address\":\"1100000000000000000000000000000000000000\"}");
    assert_int_equal(count(ks), 1); /* the same account */
    assert_int_equal(cd_keystore_open_key(ks, &key, &a, cd_bytes_str(""), NULL), CD_ENOENT);
    (void)snprintf(path, sizeof path, "%s/keys/key", dir);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/keys/key2", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(count(ks), 0);

    /* A file that is for another address than it says. */
    cd_buf text = {0};
    cd_rng rng = cd_rng_seeded(5);
    cd_scrypt_cost cost = {.n = 2, .r = 1, .p = 1};
    assert_int_equal(cd_keyfile_enc(&text, secret, cd_bytes_str("pw"), &cost, &rng), CD_OK);
    memcpy(text.p + strlen("{\"address\":\""), "1100000000000000000000000000000000000000", 40);
    put_file("wrong", cd_buf_cstr(&text));
    cd_buf_fini(&text);
    assert_int_equal(cd_keystore_open_key(ks, &key, &a, cd_bytes_str("pw"), &why), CD_EFORMAT);
    assert_non_null(strstr(why.msg, "key content mismatch"));
    cd_keystore_close(ks);
}

/* Whatever call of the disk fails: the file is whole or not there, and the next try works. */
static void survives_the_disk(void **state)
{
    (void)state;
    static const cd_fs_op ops[] = {CD_FS_OPEN, CD_FS_WRITE, CD_FS_SYNC, CD_FS_RENAME};
    cd_addr20 got;
    for (usize i = 0; i < CD_COUNT(ops); i++) {
        cd_fs_faulty f;
        cd_fs_faulty_init(&f, ops[i], UINT64_MAX, ENOSPC);
        cd_keystore *ks = open_it(&f.fs);
        usize before = count(ks);
        f.seen = 0;
        f.at = 1;
        cd_err e = cd_keystore_new(ks, &got, cd_bytes_str("pw"), NULL);
        assert_true(e == CD_ENOSPC);
        f.at = UINT64_MAX;
        assert_int_equal(count(ks), before);
        assert_int_equal(cd_keystore_new(ks, &got, cd_bytes_str("pw"), NULL), CD_OK);
        assert_int_equal(count(ks), before + 1);
        cd_keystore_close(ks);
    }
}

static void busy(void *arg)
{
    cd_keystore *ks = arg;
    cd_addr20 a;
    u8 key[32];
    assert_int_equal(cd_hex_parse(a.b, cd_bytes_str(addr_1)), CD_OK);
    for (int i = 0; i < 100; i++) {
        (void)!cd_keystore_unlock(ks, &a, cd_bytes_str("pw"), (u64)i % 3, NULL);
        (void)!cd_keystore_key(ks, key, &a);
        (void)count(ks);
        cd_clock_virtual_advance(&wall, 1);
        cd_keystore_lock(ks, &a);
        (void)cd_keystore_expire(ks);
    }
}

static void many_at_once(void **state)
{
    (void)state;
    cd_keystore *ks = open_it(NULL);
    cd_thread threads[3];
    import_1(ks, "pw");
    for (usize i = 0; i < CD_COUNT(threads); i++) {
        assert_int_equal(cd_thread_start(&threads[i], "busy", busy, ks, NULL), CD_OK);
    }
    for (usize i = 0; i < CD_COUNT(threads); i++) {
        cd_thread_join(&threads[i]);
    }
    cd_keystore_close(ks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_geths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_are_clear_for_a_while, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sees_what_others_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_the_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
