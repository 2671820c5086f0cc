/* apps/cli/l1/l1_change.h - a validator comes or goes: contract, P-Chain, contract.
 *
 *   contract asks ──► the L1's validators sign ──► P-Chain does it ──► they sign that it is done ──► contract knows
 *
 * What is done already both chains know: whoever calls again goes on where it stopped, and nothing is kept besides.
 * Threading: the main thread. [spec:pchain-xchain#4] */
#ifndef CD_APPS_CLI_L1_CHANGE_H
#define CD_APPS_CLI_L1_CHANGE_H

#include "l1/l1_manager.h"

/* cd__l1_add registers a validator that is not there; balance: what the P-Chain takes of it, in whole tokens. *out: its
 * validation. Errors: CD_EACCES with what the contract or the P-Chain says, CD_ETIMEOUT for a registration that has
 * expired, which is given up then. */
cd_err cd__l1_add(cd__l1_manager *m, cd__l1_job *j, const cd__l1_candidate *c, const char *balance,
                  cd__l1_validation *out, cd_errinfo *why) CD_CHECK;

/* cd__l1_remove lets a validator go. Errors: CD_EACCES. */
cd_err cd__l1_remove(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, cd_errinfo *why) CD_CHECK;

/* cd__l1_weigh gives a validator another weight, at least 1. Errors: CD_EACCES. */
cd_err cd__l1_weigh(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, u64 weight, cd_errinfo *why) CD_CHECK;

#endif
