/* chains/platform/blocks/pool.h - transactions that wait for a block, in the order in which they came, and why others
 * were dropped.
 *
 *   add ──► [oldest … newest] ──► first, next ──► remove        drop ──► reasons: 64 of them, for an hour each
 *
 * Two that consume the same UTXO are never in it together. Bounds: bytes of one transaction, of all, and how many may
 * come of one source (who owns the first thing that is consumed). Threading: confined, but for cd_p_pool_pending.
 * [spec:decisions#D12] */
#ifndef CD_CHAINS_PLATFORM_BLOCKS_POOL_H
#define CD_CHAINS_PLATFORM_BLOCKS_POOL_H

#include "base/os/clock.h"
#include "chains/platform/state/state.h"
#include "chains/platform/txs/tx.h"

enum {
    CD_P_POOL_TX_MAX = 64 << 10,    /* bytes of a transaction */
    CD_P_POOL_BYTES_MAX = 64 << 20, /* of all */
    CD_P_POOL_SOURCE_MAX = 1024,    /* transactions of one source */
    CD_P_POOL_REASONS = 64,         /* reasons that are kept */
    CD_P_POOL_REASON_S = 3600,      /* for so many seconds */
};

typedef struct cd_p_pool cd_p_pool;

/* A transaction that waits. */
typedef struct cd_p_pooled cd_p_pooled;
struct cd_p_pooled {
    cd_ptx tx; /* in an arena of its own */
    cd_p_pooled *next;
};

/* cd_p_pool_new borrows the clock. */
cd_p_pool *cd_p_pool_new(const cd_clock *clock) __attribute__((returns_nonnull));
void cd_p_pool_free(cd_p_pool *p); /* NULL is allowed */

/* cd_p_pool_add copies a transaction to the end, and forgets why it was dropped once. Errors, in the original's words:
 * CD_EEXIST (there already), CD_ELIMIT (too large), CD_EFULL (no room, or none for its source), CD_EBUSY (conflicts
 * with one that waits). */
cd_err cd_p_pool_add(cd_p_pool *p, const cd_ptx *tx, const cd_addr20 *source, cd_errinfo *why) CD_CHECK;

/* cd_p_pool_find borrows one; NULL when it does not wait. cd_p_pool_first borrows the oldest. */
const cd_p_pooled *cd_p_pool_find(const cd_p_pool *p, const cd_hash32 *id);
const cd_p_pooled *cd_p_pool_first(const cd_p_pool *p);
usize cd_p_pool_cnt(const cd_p_pool *p);

/* cd_p_pool_remove takes one out, if it is there; _decided takes out an accepted transaction and all that conflict with
 * it. */
void cd_p_pool_remove(cd_p_pool *p, const cd_hash32 *id);
void cd_p_pool_decided(cd_p_pool *p, const cd_p_tx *tx, const cd_hash32 *id);

/* cd_p_pool_drop takes one out and remembers why; it need not have been in. */
void cd_p_pool_drop(cd_p_pool *p, const cd_hash32 *id, const char *reason);

/* cd_p_pool_hold notes that a transaction is in one more block that is verified and not decided, _unhold in one
 * less. */
void cd_p_pool_hold(cd_p_pool *p, const cd_hash32 *id);
void cd_p_pool_unhold(cd_p_pool *p, const cd_hash32 *id);

/* cd_p_pool_pending tells what is known of one that is not accepted: PROCESSING, DROPPED with the reason in a, or
 * UNKNOWN. Any thread. */
cd_p_status cd_p_pool_pending(cd_p_pool *p, cd_bytes *reason, cd_arena *a, const cd_hash32 *id);

#endif
