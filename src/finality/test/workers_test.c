/* Rounds of lattice sessions on threads of their own, while the network goes on and a party crashes. */
#include "finality/test/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void threads(void **state)
{
    (void)state;
    network *n = net_new(5, 410, true);
    assert_int_equal(cd_pool_new(&n->pool, 2, NET_JOBS, "rounds", NULL), CD_OK);
    n->works_late = true;
    net_run(n, 100);
    for (u64 h = 1; h <= 4; h++) {
        net_accept(n, h, true);
        net_run(n, h == 2 ? 60 : 9000);
        if (h == 2) {
            net_kill(n, 1);
            net_revive(n, 1);
        }
    }
    assert_true(net_count(n, 4, CD_FIN_BOTH) + net_count(n, 4, CD_FIN_MLDSA) == 5);
    cd_pool *pool = n->pool;
    net_free(n);
    cd_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
