#include "node/front/routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void leads_on(void **state)
{
    (void)state;
    cd_node_route at;
    cd_node_routes *r = cd_node_routes_new();
    assert_false(cd_node_routes_find(r, &at, cd_bytes_str("pay")));
    assert_int_equal(cd_node_routes_add(r, cd_bytes_str("pay"), cd_bytes_str("X"), cd_bytes_str("/wallet")), CD_OK);
    assert_int_equal(cd_node_routes_add(r, cd_bytes_str("pay"), cd_bytes_str("P"), cd_bytes_str("")), CD_EEXIST);
    assert_int_equal(cd_node_routes_add(r, cd_bytes_str("stake"), cd_bytes_str("P"), cd_bytes_str("")), CD_OK);
    assert_true(cd_node_routes_find(r, &at, cd_bytes_str("pay")));
    assert_true(cd_bytes_eq(at.chain, cd_bytes_str("X")));
    assert_true(cd_bytes_eq(at.route, cd_bytes_str("/wallet")));
    assert_true(cd_node_routes_find(r, &at, cd_bytes_str("stake")));
    assert_int_equal(at.route.n, 0);
    assert_false(cd_node_routes_find(r, &at, cd_bytes_str("Pay")));
    cd_node_routes_free(r);
}

/* An operator's script that never stops adding paths. */
static void bounded(void **state)
{
    (void)state;
    static char longest[CD_NODE_ROUTE_LEN_MAX + 1];
    const cd_bytes none = {0};
    cd_node_routes *r = cd_node_routes_new();
    memset(longest, 'a', sizeof longest);
    const cd_bytes too_long = cd_bytes_of(longest, sizeof longest);
    assert_int_equal(cd_node_routes_add(r, too_long, cd_bytes_str("X"), none), CD_ELIMIT);
    assert_int_equal(cd_node_routes_add(r, cd_bytes_str("a"), too_long, none), CD_ELIMIT);
    assert_int_equal(cd_node_routes_add(r, cd_bytes_str("a"), cd_bytes_str("X"), too_long), CD_ELIMIT);
    for (u32 i = 0; i < CD_NODE_ROUTES_MAX; i++) {
        assert_int_equal(cd_node_routes_add(r, cd_bytes_of(&i, sizeof i), cd_bytes_str("X"), none), CD_OK);
    }
    assert_int_equal(cd_node_routes_add(r, cd_bytes_str("more"), cd_bytes_str("X"), none), CD_ELIMIT);
    cd_node_routes_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leads_on),
        cmocka_unit_test(bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
