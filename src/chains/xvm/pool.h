/* chains/xvm/pool.h - transactions that wait for a block, in the order they came.
 *
 * Bytes only: what is in a block is read again. No two of them take the same output. Bounded in all, in one
 * transaction, and in what one source may have waiting, so that one peer cannot push out what others send; the reasons
 * of the last that were dropped are kept. Threading: confined. */
#ifndef CD_CHAINS_XVM_POOL_H
#define CD_CHAINS_XVM_POOL_H

#include "chains/xvm/tx.h"

enum {
    CD_XVM_POOL_TX_MAX = 64 << 10,
    CD_XVM_POOL_BYTES_MAX = 16 << 20,
    CD_XVM_POOL_PEER_MAX = 1 << 20, /* of one peer */
};

/* The pool. */
typedef struct cd_xvm_pool cd_xvm_pool;

/* cd_xvm_pool_new makes an empty one; cd_xvm_pool_free drops it with all that waits. */
cd_xvm_pool *cd_xvm_pool_new(void) __attribute__((returns_nonnull));
void cd_xvm_pool_free(cd_xvm_pool *p); /* NULL is allowed */

/* cd_xvm_pool_add takes a copy of what peer sent (NULL: a client of this node). Errors, with the original's words:
 * CD_EEXIST for what is there already, CD_ELIMIT (too large), CD_EFULL, CD_EBUSY (another takes the same output). */
cd_err cd_xvm_pool_add(cd_xvm_pool *p, const cd_xvm_tx *t, const cd_node_id *peer, cd_errinfo *why) CD_CHECK;

/* cd_xvm_pool_has: a transaction waits; cd_xvm_pool_cnt: how many do. */
bool cd_xvm_pool_has(const cd_xvm_pool *p, const cd_hash32 *id);
usize cd_xvm_pool_cnt(const cd_xvm_pool *p);
/* cd_xvm_pool_bytes: what all of it takes. */
usize cd_xvm_pool_bytes(const cd_xvm_pool *p);

/* cd_xvm_pool_get borrows the bytes of one until it is removed; false: it does not wait. */
bool cd_xvm_pool_get(const cd_xvm_pool *p, cd_bytes *bytes, const cd_hash32 *id);

/* cd_xvm_pool_each gives the next one behind id (NULL: the first): false at the end. The bytes are borrowed until it is
 * removed. */
bool cd_xvm_pool_each(const cd_xvm_pool *p, const cd_hash32 **id, cd_bytes *bytes);

/* cd_xvm_pool_remove takes one out; cd_xvm_pool_decided takes out an accepted one and all that take one of its outputs.
 */
void cd_xvm_pool_remove(cd_xvm_pool *p, const cd_hash32 *id);
void cd_xvm_pool_decided(cd_xvm_pool *p, const cd_xvm_tx *t);

/* cd_xvm_pool_drop takes one out that turned out not to be valid, and remembers why; cd_xvm_pool_reason borrows that,
 * NULL when it is not known. */
void cd_xvm_pool_drop(cd_xvm_pool *p, const cd_hash32 *id, const char *reason);
const char *cd_xvm_pool_reason(const cd_xvm_pool *p, const cd_hash32 *id);

#endif
