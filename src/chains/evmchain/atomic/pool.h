/* chains/evmchain/atomic/pool.h - atomic transactions that wait for a block: dearest first, bounded in all.
 *
 * Of two that use the same input only one waits: the dearer, strictly. When it is full the cheapest makes room for one
 * that is strictly dearer. Whether a transaction may be spent is looked at by who adds it. Threading: confined.
 * [spec:evm-chain#9] */
#ifndef CD_CHAINS_EVMCHAIN_ATOMIC_POOL_H
#define CD_CHAINS_EVMCHAIN_ATOMIC_POOL_H

#include "chains/evmchain/atomic/tx.h"

enum {
    CD_ATOMIC_POOL_MAX = 4096,
    CD_ATOMIC_POOL_BYTES = 16 << 20,
    CD_ATOMIC_POOL_DROPPED = 1024, /* names of those that were dropped, kept */
};

typedef struct cd_atomic_pool cd_atomic_pool;

/* cd_atomic_pool_new makes an empty one; rate: wei per base unit. cd_atomic_pool_free: NULL is allowed. */
cd_atomic_pool *cd_atomic_pool_new(u64 rate) __attribute__((returns_nonnull));
void cd_atomic_pool_free(cd_atomic_pool *p);

/* cd_atomic_pool_add copies t in. Errors: CD_EEXIST when it waits already, CD_EBUSY when one that it conflicts with is
 * not cheaper, CD_EFULL, CD_EINVAL when it burns less than nothing. */
cd_err cd_atomic_pool_add(cd_atomic_pool *p, const cd_atomic_tx *t, cd_errinfo *why) CD_CHECK;

/* cd_atomic_pool_cnt and _bytes say how much waits. */
usize cd_atomic_pool_cnt(const cd_atomic_pool *p);
usize cd_atomic_pool_bytes(const cd_atomic_pool *p);

/* cd_atomic_pool_at borrows the i-th dearest until the pool changes; _find one by its ID, NULL: it does not wait. */
const cd_atomic_tx *cd_atomic_pool_at(const cd_atomic_pool *p, usize i);
const cd_atomic_tx *cd_atomic_pool_find(const cd_atomic_pool *p, const cd_hash32 *id);

/* cd_atomic_pool_drop forgets the i-th as one that cannot be spent; cd_atomic_pool_was_dropped remembers. */
void cd_atomic_pool_drop(cd_atomic_pool *p, usize i);
bool cd_atomic_pool_was_dropped(const cd_atomic_pool *p, const cd_hash32 *id);

/* cd_atomic_pool_accepted forgets t, which is in an accepted block, and drops what conflicts with it. */
void cd_atomic_pool_accepted(cd_atomic_pool *p, const cd_atomic_tx *t);

#endif
