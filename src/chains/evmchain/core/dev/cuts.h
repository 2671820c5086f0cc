/* chains/evmchain/core/dev/cuts.h - when the accepted chain went back, and how far: only a development network does.
 *
 * Each cut begins a new epoch. They are kept in the store, 'K' ‖ 't': [epoch u64, height u64]…, both ascending, as
 * many as still matter to somebody who remembers a place from before. Threading: pure over the kv given.
 * [spec:architecture#8] [spec:dev-rpc#1.2] */
#ifndef CD_CHAINS_EVMCHAIN_CORE_CUTS_H
#define CD_CHAINS_EVMCHAIN_CORE_CUTS_H

#include "store/kv.h"

/* cd_cut_put appends that epoch began with going back to height. Errors: the store's. */
cd_err cd_cut_put(cd_kv_batch *batch, cd_kv *kv, u64 epoch, u64 height) CD_CHECK;

/* cd_cut_since gives the lowest height the chain went back to after epoch. Errors: CD_ENOENT when it never did, the
 * store's. */
cd_err cd_cut_since(cd_kv *kv, u64 *height, u64 epoch) CD_CHECK;

#endif
