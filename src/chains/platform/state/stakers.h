/* chains/platform/state/stakers.h - who stakes now and who will, in the order in which they leave and come.
 *
 *   by time   (end or start, priority, transaction ID) of all nets: the first is the next that changes
 *   by net    the same order within a net
 *   by node   the validator of (net, node), and its delegators in the same order
 *
 * A validator is unique in (set, net, node). Putting and deleting a current staker keeps the weights of the net's
 * validators and their history by height (sets.h) true. Errors and threading as state.h. [spec:pchain-xchain#5] */
#ifndef CD_PLATFORM_STAKERS_H
#define CD_PLATFORM_STAKERS_H

#include "chains/platform/state/state.h"

/* Validators that wait for their start, and those of now. */
typedef enum cd_p_set {
    CD_P_PENDING,
    CD_P_CURRENT,
} cd_p_set;

/* Where a staker stands among those of the same second. */
typedef enum cd_p_priority {
    CD_P_PENDING_DELEGATOR_APRICOT = 1,
    CD_P_PENDING_VALIDATOR = 2,
    CD_P_PENDING_DELEGATOR = 3,
    CD_P_PENDING_NET_VALIDATOR = 4,
    CD_P_PENDING_NET_DELEGATOR = 5,
    CD_P_PENDING_PERMISSIONED = 6,
    CD_P_CURRENT_PERMISSIONED = 7,
    CD_P_CURRENT_NET_DELEGATOR = 8,
    CD_P_CURRENT_NET_VALIDATOR = 9,
    CD_P_CURRENT_DELEGATOR = 10,
    CD_P_CURRENT_VALIDATOR = 11,
} cd_p_priority;

/* cd_p_priority_set says to which set, cd_p_priority_delegates whether to a delegator, a priority belongs. */
CD_INLINE cd_p_set cd_p_priority_set(cd_p_priority p)
{
    return p < CD_P_CURRENT_PERMISSIONED ? CD_P_PENDING : CD_P_CURRENT;
}
CD_INLINE bool cd_p_priority_delegates(cd_p_priority p)
{
    return p == CD_P_PENDING_DELEGATOR_APRICOT || p == CD_P_PENDING_DELEGATOR || p == CD_P_PENDING_NET_DELEGATOR ||
           p == CD_P_CURRENT_NET_DELEGATOR || p == CD_P_CURRENT_DELEGATOR;
}

/* A validator or delegator. */
typedef struct cd_p_staker {
    cd_hash32 tx_id;
    cd_hash32 net_id;
    cd_node_id node_id;
    cd_p_priority priority;
    u64 weight; /* base units of the staked asset; of a permissioned validator any number */
    u64 start;  /* seconds since 1970 */
    u64 end;
    u64 next_time;        /* start while pending, end when current; told, not asked */
    u64 potential_reward; /* base units; 0 while pending */
    bool has_key;
    u8 key[96]; /* BLS public key, uncompressed (cd_bls_pk_enc_raw) */
} cd_p_staker;

/* cd_pstate_staker_put adds a staker, of the set that its priority says. Errors: CD_EEXIST for a second validator of
 * (net, node), CD_ERANGE when a weight does not fit 64 bits. */
cd_err cd_pstate_staker_put(const cd_pstate *s, const cd_p_staker *staker) CD_CHECK;

/* cd_pstate_staker_del takes one away, as it was read. The delegatee reward of a validator goes with it; its delegators
 * do not. Errors: CD_ENOENT. */
cd_err cd_pstate_staker_del(const cd_pstate *s, const cd_p_staker *staker) CD_CHECK;

/* cd_pstate_validator_get finds the validator of (net, node). Errors: CD_ENOENT. */
cd_err cd_pstate_validator_get(const cd_pstate *s, cd_p_staker *out, cd_p_set set, const cd_hash32 *net,
                               const cd_node_id *node) CD_CHECK;

/* What delegators of a validator have together. */
typedef struct cd_p_delegated {
    u64 cnt;
    u64 weight;
} cd_p_delegated;

/* cd_pstate_delegated_get gives that of (net, node) without walking; nobody: zeroes. */
cd_err cd_pstate_delegated_get(const cd_pstate *s, cd_p_delegated *out, cd_p_set set, const cd_hash32 *net,
                               const cd_node_id *node) CD_CHECK;

/* Rewards of delegators that wait for their validator to leave, base units; none: 0. */
cd_err cd_pstate_delegatee_get(const cd_pstate *s, u64 *out, const cd_hash32 *net, const cd_node_id *node) CD_CHECK;
cd_err cd_pstate_delegatee_set(const cd_pstate *s, const cd_hash32 *net, const cd_node_id *node, u64 v) CD_CHECK;

/* --- walks --- */

/* A walk over stakers, of the state when it was begun. All zero is one that has ended. */
typedef struct cd_p_staker_iter {
    cd_kv_iter *it;
    cd_err err;
} cd_p_staker_iter;

/* cd_pstate_stakers begins at the first of a set by time; _of_net within a net; _of_node (delegators) within (net,
 * node). End each with cd_p_staker_iter_fini. */
cd_err cd_pstate_stakers(const cd_pstate *s, cd_p_staker_iter *out, cd_p_set set) CD_CHECK;
cd_err cd_pstate_stakers_of_net(const cd_pstate *s, cd_p_staker_iter *out, cd_p_set set, const cd_hash32 *net) CD_CHECK;
cd_err cd_pstate_delegators(const cd_pstate *s, cd_p_staker_iter *out, cd_p_set set, const cd_hash32 *net,
                            const cd_node_id *node) CD_CHECK;

/* cd_p_staker_next gives the next; false at the end or on an error, which it->err tells. */
bool cd_p_staker_next(cd_p_staker_iter *it, cd_p_staker *out);
void cd_p_staker_iter_fini(cd_p_staker_iter *it);

/* cd_pstate_staker_first is the first of a set by time. Errors: CD_ENOENT when there is nobody. */
cd_err cd_pstate_staker_first(const cd_pstate *s, cd_p_staker *out, cd_p_set set) CD_CHECK;

#endif
