/* precompile/warp_verify.h - checks Warp messages against a validator set, and with them the predicates of
 * transactions.
 *
 *   access list ──► tuples of a module with predicates ──► message ──► quorum, signature ──► failed bits
 *                                                             ▲
 *                                      cd_warp_host: who validates a subnet at a P-chain height
 *
 * Predicates are checked once a block, before execution; contracts then read messages whose bit is clear.
 * Threading: confined to the host; transactions of a block may be checked side by side.
 * [spec:warp#5] [spec:precompiles-core#9] */
#ifndef CD_PRECOMPILE_WARP_VERIFY_H
#define CD_PRECOMPILE_WARP_VERIFY_H

#include "precompile/schedule.h"
#include "types/predicate.h"
#include "types/tx.h"
#include "types/warp_set.h"

/* Knows the validators of subnets; implemented by the node. */
typedef struct cd_warp_host cd_warp_host;

struct cd_warp_host {
    u32 network_id;
    cd_hash32 subnet; /* of the receiving chain; zero: the primary network */
    /* subnet_of gives the subnet that validates a chain. Errors: CD_ENOENT. */
    cd_err (*subnet_of)(cd_warp_host *h, cd_hash32 *out, const cd_hash32 *chain);
    /* validators gives the canonical set of a subnet at a P-chain height; it lies in the arena or lives as
     * long as the host. Errors: CD_ENOENT. */
    cd_err (*validators)(cd_warp_host *h, cd_warp_set *out, cd_arena *a, const cd_hash32 *subnet, u64 height);
};

/* cd_warp_check_signed checks a message against the validator set that a configuration asks for.
 * Without a host (no P-chain, development networks) every message fails: CD_ENOENT. */
cd_err cd_warp_check_signed(const cd_warp_message *m, const cd_module_config *config, cd_warp_host *host, u64 height,
                            cd_errinfo *why) CD_CHECK;

/* cd_predicates_has says whether a transaction carries predicates that a block of that time checks. */
bool cd_predicates_has(const cd_schedule *s, u64 time, const cd_tx *tx);

/* cd_predicates_check checks all predicates of a transaction and adds the result under its hash; nothing
 * is added when there are none. height is the P-chain height in the block's context. A predicate that
 * fails sets its bit and is no error. */
void cd_predicates_check(cd_predicate_results *out, cd_arena *a, const cd_schedule *s, u64 time, const cd_tx *tx,
                         cd_warp_host *host, u64 height);

/* cd_warp_sent recognises the log of a message that a contract sent and borrows the unsigned message from
 * it; false for any other log. [spec:precompiles-core#9] */
bool cd_warp_sent(cd_bytes *out, const cd_schedule *s, u64 time, const cd_log *log);

/* cd_warp_off_chain_check checks message idx of the node's configuration (warp-off-chain-messages), which
 * it will sign on request. Errors: CD_EINVAL, CD_EFORMAT. */
cd_err cd_warp_off_chain_check(cd_warp_unsigned *out, cd_bytes bytes, usize idx, u32 network_id,
                               const cd_hash32 *chain_id, cd_errinfo *why) CD_CHECK;

#endif
