/* chains/platform/view.h - the P-Chain as pages for people read it: its accepted state of one moment, and what belongs
 * to it.
 *
 *   VM ──cd_platform_view_open──► view (frozen) ──► state/: stakers, nets, L1s, blocks, transactions, UTXOs
 *
 * Threading: open on any thread while the VM is open; a view is confined to its thread, and closed before the VM. */
#ifndef CD_CHAINS_PLATFORM_VIEW_H
#define CD_CHAINS_PLATFORM_VIEW_H

#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/state/stakers.h"
#include "chains/platform/state/uptime.h"
#include "chains/platform/txs/rules.h"
#include "types/pblock.h"
#include "vm/vm.h"

/* A view; all but state is borrowed from the VM. */
typedef struct cd_platform_view {
    cd_pstate state; /* frozen; its kv holds the UTXOs, too (chains/utxo/store.h, cd_p_utxo_table) */
    const cd_network *network;
    const cd_p_rules *rules;
    const cd_vm_shared *shared; /* NULL: no chain to share with */
    cd_uptime *uptime;
    cd_hash32 last; /* the last accepted block */
    u64 height;
    u64 time; /* of the chain, seconds since 1970 */
} cd_platform_view;

/* cd_platform_view_open freezes the state behind the last accepted block. Errors: the store's. */
cd_err cd_platform_view_open(cd_platform_view *out, cd_vm *vm) CD_CHECK;
void cd_platform_view_close(cd_platform_view *v); /* all zero is allowed */

/* cd_platform_view_block reads the block of a height; it lies in a. Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
cd_err cd_platform_view_block(const cd_platform_view *v, cd_p_block *out, cd_hash32 *id, usize *size, cd_arena *a,
                              u64 height) CD_CHECK;

/* cd_platform_view_tx reads an accepted transaction; it lies in a. Errors as for blocks. */
cd_err cd_platform_view_tx(const cd_platform_view *v, cd_p_tx *out, cd_p_status *status, cd_bytes *bytes, cd_arena *a,
                           const cd_hash32 *id) CD_CHECK;

/* cd_platform_view_block_txs gives how many transactions a block has, cd_platform_view_block_tx borrows one of them;
 * the one that is proposed is the last. */
usize cd_platform_view_block_txs(const cd_p_block *b);
const cd_p_tx *cd_platform_view_block_tx(const cd_p_block *b, usize i);

/* cd_platform_tx_base borrows what a transaction begins with; NULL: it moves the time or ends a staker. */
const cd_p_base *cd_platform_tx_base(const cd_p_tx *tx);

#endif
