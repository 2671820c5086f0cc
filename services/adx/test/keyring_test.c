/* The keys of the auction house: made once, kept, changed once a day, never half written. */
#include "services/adx/auction/keyring.h"

#include "base/os/fileio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { NOW = 1000000 };

typedef struct rig {
    char dir[64], path[96];
    cd_rng rng;
} rig;

static int set_up(void **state)
{
    static rig r;
    r = (rig){.rng = cd_rng_seeded(3)};
    (void)snprintf(r.dir, sizeof r.dir, "/tmp/cd_keyring_XXXXXX");
    assert_non_null(mkdtemp(r.dir));
    (void)snprintf(r.path, sizeof r.path, "%s/auction.keys", r.dir);
    *state = &r;
    return 0;
}

static int tear_down(void **state)
{
    rig *r = *state;
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), r->dir, NULL), CD_OK);
    return 0;
}

static void test_kept(void **state)
{
    rig *r = *state;
    cd_keyring one, two;
    struct stat st;
    assert_int_equal(cd_keyring_open(&one, r->path, &r->rng, NOW, NULL), CD_OK);
    assert_int_equal(one.cnt, 1);
    assert_int_equal(one.keys[0].id, 1);
    assert_int_equal(stat(r->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(cd_keyring_open(&two, r->path, &r->rng, NOW + 5, NULL), CD_OK);
    assert_memory_equal(&one, &two, sizeof one);
    cd_keyring_wipe(&two);
    assert_int_equal(two.cnt, 0);
}

/* A new key a day; the one before stays, the one before that goes; the receipts' key never changes. */
static void test_rotated(void **state)
{
    rig *r = *state;
    cd_keyring k, first, read;
    bool is_new = true;
    assert_int_equal(cd_keyring_open(&k, r->path, &r->rng, NOW, NULL), CD_OK);
    first = k;
    assert_int_equal(cd_keyring_rotate(&k, &is_new, r->path, &r->rng, NOW + CD_KEYRING_LIFE_S - 1, NULL), CD_OK);
    assert_false(is_new);
    for (u32 day = 1; day <= 3; day++) {
        cd_envelope_key before = k.keys[0];
        assert_int_equal(cd_keyring_rotate(&k, &is_new, r->path, &r->rng, NOW + day * CD_KEYRING_LIFE_S, NULL), CD_OK);
        assert_true(is_new);
        assert_int_equal(k.cnt, 2);
        assert_int_equal(k.keys[0].id, day + 1);
        assert_memory_equal(&k.keys[1], &before, sizeof before);
        assert_memory_not_equal(k.keys[0].secret, before.secret, 32);
        assert_memory_equal(k.receipt_seed, first.receipt_seed, 32);
        assert_int_equal(cd_keyring_open(&read, r->path, &r->rng, NOW, NULL), CD_OK);
        assert_memory_equal(&read, &k, sizeof k);
    }
}

/* A file that others can read, or that is something else, is refused and left alone; a place that cannot be written
 * leaves the keys as they were. */
static void test_refused(void **state)
{
    static const char *const texts[] = {"", "AKR1", "AKR2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\1"};
    rig *r = *state;
    cd_keyring k, was;
    cd_errinfo why = {0};
    bool is_new = true;
    assert_int_equal(cd_keyring_open(&k, r->path, &r->rng, NOW, NULL), CD_OK);
    assert_int_equal(chmod(r->path, 0644), 0);
    assert_int_equal(cd_keyring_open(&was, r->path, &r->rng, NOW, &why), CD_EACCES);
    was = k;
    assert_int_not_equal(cd_keyring_rotate(&k, &is_new, "/nowhere/at/all", &r->rng, NOW + CD_KEYRING_LIFE_S, &why),
                         CD_OK);
    assert_false(is_new);
    assert_memory_equal(&k, &was, sizeof k);
    for (usize i = 0; i < CD_COUNT(texts); i++) {
        assert_int_equal(cd_fs_replace_file(cd_fs_real(), r->path, cd_bytes_str(texts[i]), 0600, NULL), CD_OK);
        assert_int_equal(cd_keyring_open(&was, r->path, &r->rng, NOW, &why), CD_ECORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rotated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
