/* chains/xvm/state.h - what the X-Chain keeps in a cd_kv: typed access, nothing else.
 *
 *   'u', 'o'                       unspent outputs (chains/utxo/store.h)
 *   't' ‖ id                    ──► transaction, signed
 *   'A' ‖ id                    ──► asset: one byte, bit i for extension i
 *   'n' ‖ alias                 ──► ID of an asset of the genesis
 *   'N' ‖ id                    ──► its alias
 *   'b' ‖ id                    ──► block
 *   'h' ‖ height, 64 bits       ──► ID of the accepted block there
 *   'L'                         ──► ID of the last accepted block
 *   'G'                         ──► hash of the genesis bytes ‖ ID of the asset that pays fees
 *   'x' ‖ address ‖ asset ‖ n   ──► ID of the n-th transaction of an address with an asset
 *   'X' ‖ address ‖ asset       ──► how many there are, 64 bits
 *
 * Threading: that of the kv. [spec:pchain-xchain#8] */
#ifndef CD_CHAINS_XVM_STATE_H
#define CD_CHAINS_XVM_STATE_H

#include "chains/xvm/tx.h"
#include "store/kv.h"

/* cd_xvm_get_tx finds an accepted transaction (or one of the layer's blocks); it lies in the arena. Errors: CD_ENOENT,
 * CD_ECORRUPT, the store's. */
cd_err cd_xvm_get_tx(cd_kv *kv, cd_xvm_tx *out, cd_arena *a, const cd_hash32 *id) CD_CHECK;
cd_err cd_xvm_has_tx(cd_kv *kv, bool *found, const cd_hash32 *id) CD_CHECK;

/* cd_xvm_get_asset gives the extensions that an asset allows. Errors: CD_ENOENT, the store's. */
cd_err cd_xvm_get_asset(cd_kv *kv, u8 *fxs, const cd_hash32 *id) CD_CHECK;

/* cd_xvm_assets gives at most max assets, ascending by ID, those behind `after` (NULL: from the first), in a. more
 * tells whether there are others. Errors: the store's. */
cd_err cd_xvm_assets(cd_kv *kv, cd_hash32 **out, usize *cnt, bool *more, cd_arena *a, const cd_hash32 *after,
                     usize max) CD_CHECK;

/* cd_xvm_get_alias finds an asset of the genesis by its alias, cd_xvm_get_name appends the alias of one. */
cd_err cd_xvm_get_alias(cd_kv *kv, cd_hash32 *out, cd_bytes alias) CD_CHECK;
cd_err cd_xvm_get_name(cd_kv *kv, cd_buf *out, const cd_hash32 *id) CD_CHECK;

/* cd_xvm_get_block appends the bytes of a block. Errors: CD_ENOENT, the store's. */
cd_err cd_xvm_get_block(cd_kv *kv, cd_buf *out, const cd_hash32 *id) CD_CHECK;
cd_err cd_xvm_get_height(cd_kv *kv, cd_hash32 *id, u64 height) CD_CHECK;
cd_err cd_xvm_get_last(cd_kv *kv, cd_hash32 *id) CD_CHECK;

/* What was made of the genesis. */
typedef struct cd_xvm_origin {
    cd_hash32 genesis; /* SHA-256 of its bytes */
    cd_hash32 fee_asset;
} cd_xvm_origin;

/* cd_xvm_get_origin: CD_ENOENT in an empty store. */
cd_err cd_xvm_get_origin(cd_kv *kv, cd_xvm_origin *out) CD_CHECK;

/* Writing, to a batch. */
void cd_xvm_put_tx(cd_kv_batch *b, const cd_xvm_tx *t);
void cd_xvm_put_alias(cd_kv_batch *b, cd_bytes alias, const cd_hash32 *asset);
void cd_xvm_put_block(cd_kv_batch *b, const cd_hash32 *id, u64 height, cd_bytes bytes);
void cd_xvm_put_origin(cd_kv_batch *b, const cd_xvm_origin *o);

/* cd_xvm_list_tx appends a transaction to the list of an address with an asset. kv is what b is committed to next. */
cd_err cd_xvm_list_tx(cd_kv *kv, cd_kv_batch *b, const cd_addr20 *addr, const cd_hash32 *asset,
                      const cd_hash32 *id) CD_CHECK;

/* cd_xvm_listed gives at most max of the list, from the n-th on. */
cd_err cd_xvm_listed(cd_kv *kv, cd_hash32 **out, usize *cnt, cd_arena *a, const cd_addr20 *addr, const cd_hash32 *asset,
                     u64 from, usize max) CD_CHECK;

#endif
