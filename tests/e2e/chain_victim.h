/* tests/e2e/chain_victim.h - a test of dying processes whose victim is a development chain.
 *
 * Threading: confined. */
#ifndef CD_TESTS_E2E_CHAIN_VICTIM_H
#define CD_TESTS_E2E_CHAIN_VICTIM_H

#include "tests/e2e/chain_node.h"
#include "tests/e2e/victim.h"

/* The test's main: accounts and genesis, which *cfg has while the test runs. */
static inline int chain_victim_main(int argc, char **argv, const victim_test *test, node_cfg *cfg)
{
    node_accounts accounts;
    cd_buf genesis = {0};
    if (node_accounts_make(&accounts) != CD_OK || cd_dev_genesis(&genesis, NODE_CHAIN_ID, NODE_START) != CD_OK) {
        (void)printf("FAIL no genesis\n0 passed, 1 failed\n");
        return 1;
    }
    cfg->accounts = &accounts;
    cfg->genesis = cd_buf_bytes(&genesis);
    int rc = victim_main(argc, argv, test);
    cd_buf_fini(&genesis);
    return rc;
}

#endif
