/* chains/platform/state/l1.h - validators of L1s, which pay as time passes, and the Warp messages that were used.
 *
 * A validator is active while end_fee is not 0; the active ones are in the order in which their money ends (end_fee,
 * then validation ID). Putting one keeps the net's validators and their history by height (sets.h) true: an inactive
 * one counts under the zero node ID, without a key. Errors and threading as state.h. [spec:pchain-xchain#7.3] */
#ifndef CD_PLATFORM_L1_H
#define CD_PLATFORM_L1_H

#include "chains/platform/state/state.h"
#include "types/ptx.h"

/* A validator of an L1. */
typedef struct cd_p_l1 {
    cd_hash32 validation_id;
    cd_hash32 net_id;
    cd_node_id node_id;
    u8 key[96];                            /* BLS public key, uncompressed */
    cd_p_l1_owner remaining_balance_owner; /* who gets what is left */
    cd_p_l1_owner deactivation_owner;      /* who may end it */
    u64 start;                             /* seconds since 1970 */
    u64 weight;                            /* 0: it is no more */
    u64 min_nonce;
    u64 end_fee; /* accrued fees (CD_PSTATE_ACCRUED_FEES) at which its money has ended; 0: inactive */
} cd_p_l1;

/* cd_pstate_l1_get finds a validator; addresses of its owners lie in a. Errors: CD_ENOENT. */
cd_err cd_pstate_l1_get(const cd_pstate *s, cd_p_l1 *out, cd_arena *a, const cd_hash32 *validation_id) CD_CHECK;

/* cd_pstate_l1_put adds or changes one, and removes it when its weight is 0. Net, node and key of one that is there do
 * not change. Errors: CD_EEXIST when another has (net, node), CD_ERANGE when a weight does not fit 64 bits. */
cd_err cd_pstate_l1_put(const cd_pstate *s, const cd_p_l1 *v) CD_CHECK;

/* cd_pstate_l1_find tells the validation ID of (net, node). Errors: CD_ENOENT. */
cd_err cd_pstate_l1_find(const cd_pstate *s, cd_hash32 *validation_id, const cd_hash32 *net,
                         const cd_node_id *node) CD_CHECK;

/* cd_pstate_l1_weight gives the weight of all validators of an L1, active or not; none: 0. */
cd_err cd_pstate_l1_weight(const cd_pstate *s, u64 *out, const cd_hash32 *net) CD_CHECK;

/* cd_pstate_l1_first gives the active validator whose money ends first. Errors: CD_ENOENT. */
cd_err cd_pstate_l1_first(const cd_pstate *s, cd_p_l1 *out, cd_arena *a) CD_CHECK;

/* cd_pstate_l1_of_net gives at most max validators of an L1, ascending by validation ID, those behind `after` (zero:
 * all), in a. */
cd_err cd_pstate_l1_of_net(const cd_pstate *s, cd_p_l1 **out, usize *cnt, cd_arena *a, const cd_hash32 *net,
                           const cd_hash32 *after, usize max) CD_CHECK;

/* --- expiries: registrations that were used, until they would be too old anyway --- */

/* cd_pstate_expiry_has tells whether a registration was used, cd_pstate_expiry_put notes that it was; time: when its
 * message expires, seconds since 1970. */
cd_err cd_pstate_expiry_has(const cd_pstate *s, bool *found, u64 time, const cd_hash32 *validation_id) CD_CHECK;
cd_err cd_pstate_expiry_put(const cd_pstate *s, u64 time, const cd_hash32 *validation_id) CD_CHECK;
/* cd_pstate_expiry_drop forgets all whose time is at most `time`. */
cd_err cd_pstate_expiry_drop(const cd_pstate *s, u64 time) CD_CHECK;

#endif
