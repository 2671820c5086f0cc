/* precompile/warp_verify.h - checks Warp messages against a validator set, and with them the predicates of
 * transactions.
 *
 *   access list ──► tuples of a module with predicates ──► message ──► quorum, signature ──► failed bits
 *                                                             ▲
 *                                      cd_warp_host: who validates a subnet at a P-chain height
 *
 * Predicates are checked once a block, before execution; contracts then read messages whose bit is clear.
 * Threading: pure, but for the host.
 * [spec:warp#5] [spec:precompiles-core#9] */
#ifndef CD_PRECOMPILE_WARP_VERIFY_H
#define CD_PRECOMPILE_WARP_VERIFY_H

#include "precompile/schedule.h"
#include "types/predicate.h"
#include "types/tx.h"
#include "types/warp_set.h"

struct cd_pool;

/* Knows the validators of subnets; implemented by the node; any thread. */
typedef struct cd_warp_host cd_warp_host;

struct cd_warp_host {
    u32 network_id;
    cd_hash32 subnet; /* of the receiving chain; zero: the primary network */
    /* subnet_of gives the subnet that validates a chain. Errors: CD_ENOENT; others as below. */
    cd_err (*subnet_of)(cd_warp_host *h, cd_hash32 *out, const cd_hash32 *chain);
    /* validators gives the canonical set of a subnet at a P-chain height; it lies in the arena or lives as
     * long as the host. Errors: CD_ENOENT: nobody validates it; others: it cannot be told now. */
    cd_err (*validators)(cd_warp_host *h, cd_warp_set *out, cd_arena *a, const cd_hash32 *subnet, u64 height);
};

/* cd_warp_check_signed checks a message against the validator set that a configuration asks for.
 * Without a host (no P-chain, development networks) every message fails: CD_ENOENT. */
cd_err cd_warp_check_signed(const cd_warp_message *m, const cd_module_config *config, cd_warp_host *host, u64 height,
                            cd_errinfo *why) CD_CHECK;

/* cd_predicates_has says whether a transaction carries predicates that a block of that time checks. */
bool cd_predicates_has(const cd_schedule *s, u64 time, const cd_tx *tx);

/* What predicates are checked with. */
typedef struct cd_predicates_ctx {
    const cd_schedule *schedule;
    u64 time; /* of the block */
    cd_warp_host *host;
    u64 height;           /* P-chain height of the block's context */
    struct cd_pool *pool; /* NULL: one after the other */
} cd_predicates_ctx;

/* cd_predicates_check checks all predicates of cnt transactions, beside each other, and adds the results under their
 * hashes; nothing is added for a transaction without. A predicate that fails sets its bit and is no error. Errors:
 * those of the host but CD_ENOENT: what it cannot tell now says nothing about a message. */
cd_err cd_predicates_check(cd_predicate_results *out, cd_arena *a, const cd_predicates_ctx *ctx, const cd_tx *txs,
                           usize cnt, cd_errinfo *why) CD_CHECK;

/* cd_warp_sent recognises the log of a message that a contract sent and borrows the unsigned message from
 * it; false for any other log. [spec:precompiles-core#9] */
bool cd_warp_sent(cd_bytes *out, const cd_schedule *s, u64 time, const cd_log *log);

/* cd_warp_off_chain_check checks message idx of the node's configuration (warp-off-chain-messages), which
 * it will sign on request. Errors: CD_EINVAL, CD_EFORMAT. */
cd_err cd_warp_off_chain_check(cd_warp_unsigned *out, cd_bytes bytes, usize idx, u32 network_id,
                               const cd_hash32 *chain_id, cd_errinfo *why) CD_CHECK;

#endif
