/* chains/xvm/view.h - the X-Chain as pages for people read it: its accepted state of one moment.
 *
 *   VM ──cd_xvm_view_open──► view (frozen) ──► state.h: blocks, transactions, assets; chains/utxo/store.h: UTXOs
 *
 * Threading: open on any thread while the VM is open; a view is confined to its thread, and closed before the VM. */
#ifndef CD_CHAINS_XVM_VIEW_H
#define CD_CHAINS_XVM_VIEW_H

#include "chains/xvm/state.h"
#include "vm/vm.h"

/* A view; kv is its own, the rest is borrowed. */
typedef struct cd_xvm_frozen {
    cd_kv *kv; /* frozen */
    const struct cd_network *network;
    const cd_vm_shared *shared; /* NULL: no chain to share with */
    cd_hash32 fee_asset;
    cd_hash32 last; /* the last accepted block */
    u64 height;
    u64 time;       /* of that block, seconds since 1970 */
    bool lists_txs; /* transactions by address are kept (cd_xvm_listed) */
} cd_xvm_frozen;

/* cd_xvm_view_open freezes the state behind the last accepted block. Errors: the store's, CD_ECORRUPT. */
cd_err cd_xvm_view_open(cd_xvm_frozen *out, cd_vm *vm) CD_CHECK;
void cd_xvm_view_close(cd_xvm_frozen *v); /* all zero is allowed */

/* cd_xvm_view_block reads the block of a height; it lies in a. Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
cd_err cd_xvm_view_block(const cd_xvm_frozen *v, const cd_x_standard_block **out, cd_x_block *whole, cd_hash32 *id,
                         usize *size, cd_arena *a, u64 height) CD_CHECK;

#endif
