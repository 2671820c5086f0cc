/* precompile/policy.h - what modules decide for a chain outside of calls: fees, coinbase, who may send.
 *
 * Each reads the state that the source gives and asks the schedule whether the module is in force.
 * Threading: as the source. [spec:evm-chain#3.1] [spec:evm-chain#5] [spec:precompiles-core#5] */
#ifndef CD_PRECOMPILE_POLICY_H
#define CD_PRECOMPILE_POLICY_H

#include "evm/host.h"
#include "precompile/schedule.h"

/* cd_policy_fees gives the fee configuration that holds for the child of a block of time parent_time
 * whose state src reads, and the number of the block that last changed it (0: genesis). last_changed
 * may be NULL. Errors: the source's, CD_ECORRUPT when the stored configuration makes no sense. */
cd_err cd_policy_fees(cd_fee_config *out, cd_u256 *last_changed, const cd_schedule *s, cd_state_source *src,
                      u64 parent_time) CD_CHECK;

/* The coinbase that the child of a block must have. */
typedef struct cd_coinbase_rule {
    bool is_free;   /* any coinbase is allowed */
    cd_addr20 addr; /* else the only one allowed */
} cd_coinbase_rule;

/* The coinbase whose fees are burnt. */
extern const cd_addr20 CD_BLACKHOLE;

/* cd_policy_coinbase gives the coinbase rule for the child of a block of time parent_time whose state src
 * reads. Errors: the source's. */
cd_err cd_policy_coinbase(cd_coinbase_rule *out, const cd_schedule *s, cd_state_source *src, u64 parent_time) CD_CHECK;

/* cd_policy_may_send says whether a sender may issue transactions in a block of that time; the state is
 * the one the transaction will meet. Errors: the source's. */
cd_err cd_policy_may_send(bool *out, const cd_schedule *s, cd_state_source *src, u64 time,
                          const cd_addr20 *sender) CD_CHECK;

/* cd_policy_role reads a role of a module's allow list. Errors: the source's. */
cd_err cd_policy_role(cd_role *out, cd_state_source *src, const cd_addr20 *list, const cd_addr20 *who) CD_CHECK;

#endif
