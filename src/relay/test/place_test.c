/* Places: kept in a file that is whole after any failure, refused when it is none. */
#include "relay/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static int make_dir(void **state)
{
    (void)state;
    char dir[] = "/tmp/relay-place-XXXXXX";
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/places.json", dir);
    return 0;
}

static int drop_dir(void **state)
{
    (void)state;
    *strrchr(path, '/') = '\0';
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), path, NULL), CD_OK);
    return 0;
}

static const cd_relay_place first = {.source = {{1}}, .destination = {{2}}, .messenger = {{3}}, .at = {12, 3}};

static void are_kept(void **state)
{
    (void)state;
    cd_relay_places p = {0};
    cd_relay_places back = {0};
    cd_relay_place other = first;
    other.messenger.b[0] = 9;
    assert_int_equal(cd_relay_places_load(&back, cd_fs_real(), path, NULL), CD_OK); /* there is none yet */
    assert_int_equal(back.cnt, 0);
    assert_true(cd_relay_places_put(&p, &first));
    assert_false(cd_relay_places_put(&p, &first));
    assert_null(cd_relay_places_find(&p, &other));
    other.at = (cd_relay_pos){UINT32_MAX + 5ull, 0};
    assert_true(cd_relay_places_put(&p, &other));
    assert_int_equal(cd_relay_places_save(&p, cd_fs_real(), path, NULL), CD_OK);
    assert_int_equal(cd_relay_places_load(&back, cd_fs_real(), path, NULL), CD_OK);
    assert_int_equal(back.cnt, 2);
    assert_true(cd_relay_places_find(&back, &first)->at.block == 12 &&
                cd_relay_places_find(&back, &first)->at.log == 3);
    assert_true(cd_relay_places_find(&back, &other)->at.block == UINT32_MAX + 5ull);
    cd_relay_places_fini(&p);
    cd_relay_places_fini(&back);
}

static void stay_when_writing_fails(void **state)
{
    (void)state;
    static const cd_fs_op ops[] = {CD_FS_OPEN, CD_FS_WRITE, CD_FS_SYNC, CD_FS_RENAME};
    cd_relay_places p = {0};
    cd_relay_places back = {0};
    cd_relay_place later = first;
    later.at.block = 99;
    assert_true(cd_relay_places_put(&p, &first));
    assert_int_equal(cd_relay_places_save(&p, cd_fs_real(), path, NULL), CD_OK);
    assert_true(cd_relay_places_put(&p, &later));
    for (usize i = 0; i < CD_COUNT(ops); i++) {
        cd_fs_faulty f;
        cd_fs_faulty_init(&f, ops[i], 1, 5);
        assert_int_not_equal(cd_relay_places_save(&p, &f.fs, path, NULL), CD_OK);
        assert_int_equal(cd_relay_places_load(&back, cd_fs_real(), path, NULL), CD_OK);
        assert_true(cd_relay_places_find(&back, &first)->at.block == 12);
        cd_relay_places_fini(&back);
    }
    cd_relay_places_fini(&p);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"version\":1}",
        "{\"version\":2,\"routes\":[]}",
        "{\"version\":1,\"routes\":[{}]}",
        "{\"version\":1,\"routes\":[{\"source\":\"0x12\"}]}",
    };
    for (usize i = 0; i < CD_COUNT(texts); i++) {
        cd_relay_places back = {0};
        cd_errinfo why = {0};
        assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str(texts[i]), 0600, NULL), CD_OK);
        assert_int_equal(cd_relay_places_load(&back, cd_fs_real(), path, &why), CD_EFORMAT);
        assert_non_null(strstr(why.msg, "places.json: "));
        assert_int_equal(back.cnt, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(are_kept, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(stay_when_writing_fails, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(what_is_none_is_refused, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
