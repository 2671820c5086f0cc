/* lab/blocktest.h - runs Ethereum blockchain tests: imports a list of blocks, some of them bad, and
 * compares the head and its state. [spec:conformance#2]
 *
 * Blocks find their parent by hash, and every state stays reachable, so side branches are nothing
 * special; the head is the last valid block. Threading: a runner is confined; cd_blocktest_suite makes
 * one per thread. */
#ifndef CD_LAB_BLOCKTEST_H
#define CD_LAB_BLOCKTEST_H

#include "evm/evm.h"
#include "lab/suite.h"

/* Which block tests run, and how. */
typedef struct cd_blocktest_cfg {
    bool json;
    bool has_fork; /* only cases of the network named fork */
    const char *fork;
    cd_evm_tier tier;
} cd_blocktest_cfg;

/* cd_blocktest_suite fills in what cd_suite_run needs; cfg is borrowed. */
void cd_blocktest_suite(cd_suite *s, const cd_blocktest_cfg *cfg);

#endif
