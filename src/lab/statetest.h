/* lab/statetest.h - runs Ethereum state tests: one transaction on a given state, compared by root
 * and logs.
 *
 * Every unit of every file is checked by the seven steps of [spec:conformance#1], the signed
 * transaction of the file included. Threading: a runner is confined; cd_statetest_suite makes one
 * per thread. */
#ifndef CD_LAB_STATETEST_H
#define CD_LAB_STATETEST_H

#include "evm/evm.h"
#include "lab/suite.h"

/* Which state tests run, and how. */
typedef struct cd_statetest_cfg {
    bool json;      /* a line for each case */
    bool with_logs; /* the JSON lines also carry the hash of the logs */
    bool trace;     /* EIP-3155 lines before each case's verdict */
    bool has_fork;  /* only units of the fork `fork` run */
    cd_fork fork;
    cd_evm_tier tier;
} cd_statetest_cfg;

/* cd_statetest_suite fills in what cd_suite_run needs; cfg is borrowed. */
void cd_statetest_suite(cd_suite *s, const cd_statetest_cfg *cfg);

#endif
