#include "node/chain/names.h"

#include "base/thread/thread.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const cd_hash32 p = {0};
static const cd_hash32 x = {.b = {1}};

static void given_and_forgotten(void **state)
{
    (void)state;
    cd_hash32 id;
    cd_node_names *n = cd_node_names_new();
    assert_int_equal(cd_node_names_add(n, cd_bytes_str("P"), &p), CD_OK);
    assert_int_equal(cd_node_names_add(n, cd_bytes_str("X"), &x), CD_OK);
    assert_int_equal(cd_node_names_add(n, cd_bytes_str("platform"), &p), CD_OK);
    assert_int_equal(cd_node_names_add(n, cd_bytes_str("P"), &x), CD_EEXIST);
    assert_int_equal(cd_node_names_find(n, &id, cd_bytes_str("platform")), CD_OK);
    assert_true(cd_hash32_eq(&id, &p));
    assert_int_equal(cd_node_names_find(n, &id, cd_bytes_str("p")), CD_ENOENT);
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_arr(&w);
    cd_node_names_put(n, &w, &p);
    cd_json_w_arr_end(&w);
    assert_string_equal(cd_buf_cstr(&text), "[\"P\",\"platform\"]");
    cd_buf_fini(&text);
    cd_node_names_forget(n, &p);
    assert_int_equal(cd_node_names_find(n, &id, cd_bytes_str("P")), CD_ENOENT);
    assert_int_equal(cd_node_names_find(n, &id, cd_bytes_str("X")), CD_OK);
    cd_node_names_free(n);
}

/* An operator's script that never stops giving names. */
static void bounded(void **state)
{
    (void)state;
    static char longest[CD_NODE_NAME_LEN_MAX + 1];
    cd_node_names *n = cd_node_names_new();
    memset(longest, 'a', sizeof longest);
    assert_int_equal(cd_node_names_add(n, cd_bytes_of(longest, sizeof longest), &x), CD_ELIMIT);
    for (u32 i = 0; i < CD_NODE_NAMES_MAX; i++) {
        assert_int_equal(cd_node_names_add(n, cd_bytes_of(&i, sizeof i), &x), CD_OK);
    }
    assert_int_equal(cd_node_names_add(n, cd_bytes_str("more"), &x), CD_ELIMIT);
    cd_node_names_free(n);
}

static void ask_all_day(void *arg)
{
    cd_hash32 id;
    for (u32 i = 0; i < 2000; i++) {
        (void)!cd_node_names_find(arg, &id, cd_bytes_str("X"));
    }
}

static void many_threads(void **state)
{
    (void)state;
    cd_thread threads[3];
    cd_node_names *n = cd_node_names_new();
    for (usize i = 0; i < CD_COUNT(threads); i++) {
        assert_int_equal(cd_thread_start(&threads[i], "asks", ask_all_day, n, NULL), CD_OK);
    }
    for (u32 i = 0; i < 200; i++) {
        assert_int_equal(cd_node_names_add(n, cd_bytes_str("X"), &x), CD_OK);
        cd_node_names_forget(n, &x);
    }
    for (usize i = 0; i < CD_COUNT(threads); i++) {
        cd_thread_join(&threads[i]);
    }
    cd_node_names_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_and_forgotten),
        cmocka_unit_test(bounded),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
