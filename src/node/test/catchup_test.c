/* The order of chains that catch up: the first one, then the others, then all run. */
#include "node/peers/catchup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const cd_hash32 primary;
static const cd_hash32 other = {{5}};

static void order(void **state)
{
    (void)state;
    cd_hash32 late[4];
    cd_catchup *all = cd_catchup_new();
    assert_int_equal(cd_catchup_late(all, late, 4), 0); /* a node whose chains do not catch up with peers */
    cd_catchup_chain *p = cd_catchup_join(all, &primary, true);
    cd_catchup_chain *x = cd_catchup_join(all, &primary, false);
    cd_catchup_chain *c = cd_catchup_join(all, &primary, false);
    assert_true(cd_catchup_may_begin(p));
    assert_false(cd_catchup_may_begin(x) || cd_catchup_may_begin(c));
    assert_false(cd_catchup_may_run(p));
    assert_int_equal(cd_catchup_late(all, late, 4), 1);
    cd_catchup_synced(p);
    assert_true(cd_catchup_may_begin(x) && cd_catchup_may_begin(c));
    assert_false(cd_catchup_may_run(p));
    cd_catchup_synced(x);
    assert_false(cd_catchup_may_run(p) || cd_catchup_may_run(x));
    cd_catchup_synced(c);
    assert_true(cd_catchup_may_run(p) && cd_catchup_may_run(x) && cd_catchup_may_run(c));
    cd_catchup_running(c);
    assert_true(cd_catchup_is_running(c));
    assert_false(cd_catchup_is_running(p));
    cd_catchup_running(p);
    assert_int_equal(cd_catchup_late(all, late, 4), 1);
    cd_catchup_leave(x); /* a chain that closes is not waited for */
    assert_int_equal(cd_catchup_late(all, late, 4), 0);
    cd_catchup_leave(p);
    cd_catchup_leave(c);
    cd_catchup_leave(NULL);
    cd_catchup_free(all);
    cd_catchup_free(NULL);
}

/* A net that does not catch up holds up no other net. */
static void nets(void **state)
{
    (void)state;
    cd_hash32 late[4];
    cd_catchup *all = cd_catchup_new();
    cd_catchup_chain *p = cd_catchup_join(all, &primary, true);
    cd_catchup_chain *a = cd_catchup_join(all, &other, false);
    cd_catchup_chain *b = cd_catchup_join(all, &other, false);
    assert_false(cd_catchup_may_begin(a));
    assert_int_equal(cd_catchup_late(all, late, 1), 1);
    assert_int_equal(cd_catchup_late(all, late, 4), 2);
    cd_catchup_synced(p);
    assert_true(cd_catchup_may_begin(a) && cd_catchup_may_run(p));
    cd_catchup_running(p);
    assert_int_equal(cd_catchup_late(all, late, 4), 1);
    assert_true(cd_hash32_eq(&late[0], &other));
    cd_catchup_synced(a);
    assert_false(cd_catchup_may_run(a));
    cd_catchup_synced(b);
    assert_true(cd_catchup_may_run(a));
    cd_catchup_leave(a);
    cd_catchup_leave(b);
    cd_catchup_leave(p);
    cd_catchup_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order), cmocka_unit_test(nets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
