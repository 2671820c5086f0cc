/* apps/cli/l1/l1_make.h - an L1 from nothing: net, chain with the manager in it, conversion, nodes that run it, and the
 * manager's first validators.
 *
 *   plan ──► net ──► chain ──► conversion ──► nodes run it ──► the manager knows its validators
 *     ▲        each is noted in the plan's file before it is sent
 *
 * Threading: the main thread. [spec:pchain-xchain#4] */
#ifndef CD_APPS_CLI_L1_MAKE_H
#define CD_APPS_CLI_L1_MAKE_H

#include "l1/l1_plan.h"

/* cd__l1_make does what is not done yet, and writes the result's members. patience_ms: how long a node may take until
 * it runs the chain. Errors: CD_ETIMEOUT, with what is missing; those of each step. Called again it goes on. */
cd_err cd__l1_make(cd__l1_job *j, cd__l1_plan *p, u64 patience_ms, cd_errinfo *why) CD_CHECK;

#endif
