/* chains/utxo/store.h - the unspent outputs of a chain in its key-value store: by ID, and by address.
 *
 *   'u' ‖ id                ──► the UTXO, as the linear codec writes it
 *   'o' ‖ address ‖ id      ──► the same when the address is its only owner, so that walks find it in one place;
 *                               else, and in rows of earlier versions, nothing
 *
 * Works on whatever is a cd_kv: the store, a layer of a block, a snapshot. No other key of the chain begins with these
 * two letters. Changes go to a batch that the caller commits. Threading: that of the kv. [spec:pchain-xchain#3] */
#ifndef CD_CHAINS_UTXO_STORE_H
#define CD_CHAINS_UTXO_STORE_H

#include "chains/utxo/utxo.h"
#include "store/kv.h"

enum { CD_UTXO_PAGE_MAX = 1024 }; /* UTXOs of a page */

/* cd_utxo_put adds, cd_utxo_del removes a UTXO with its index rows; both need it whole. */
void cd_utxo_put(cd_kv_batch *b, const cd_linear_type *table, const cd_utxo *u);
void cd_utxo_del(cd_kv_batch *b, const cd_utxo *u);

/* cd_utxo_get finds one by its ID; it lies in the arena. Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
cd_err cd_utxo_get(cd_utxo *out, cd_kv *kv, cd_arena *a, const cd_linear_type *table, const cd_hash32 *id) CD_CHECK;

/* Where a walk goes on: behind utxo within the UTXOs of addr. All zero: at the beginning. */
typedef struct cd_utxo_cursor {
    cd_addr20 addr;
    cd_hash32 utxo;
} cd_utxo_cursor;

/* An unspent output that was found. */
typedef struct cd_utxo_found {
    cd_hash32 id;
    cd_utxo utxo;
    cd_bytes bytes; /* as they are kept */
} cd_utxo_found;

/* cd_utxo_page gives the next at most limit (1 to CD_UTXO_PAGE_MAX) UTXOs that one of cnt addresses owns, address
 * after address in the order of their bytes, IDs ascending, none twice over all pages; at is moved on behind the last
 * that was looked at. Nothing was looked at: that was the end. A page ends early when what was looked at is large
 * (16 MiB), or when many that earlier addresses own as well were passed over. addrs is sorted and made unique in place.
 * What lies in the arena is the page. Errors: CD_ECORRUPT, the store's. */
cd_err cd_utxo_page(cd_utxo_found **out, usize *out_cnt, cd_utxo_cursor *at, cd_kv *kv, cd_arena *a,
                    const cd_linear_type *table, cd_addr20 *addrs, usize *cnt, usize limit) CD_CHECK;

/* cd_utxo_each calls visit for every UTXO of the address, behind after (NULL: from the first), until it returns
 * false; u and what it points to end with the call. Errors: CD_ECORRUPT, the store's. */
typedef bool cd_utxo_visit(void *ctx, const cd_hash32 *id, const cd_utxo *u);
cd_err cd_utxo_each(cd_kv *kv, const cd_linear_type *table, const cd_addr20 *addr, const cd_hash32 *after,
                    cd_utxo_visit *visit, void *ctx) CD_CHECK;

#endif
