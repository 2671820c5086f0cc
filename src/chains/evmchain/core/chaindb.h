/* chains/evmchain/core/chaindb.h - blocks, receipts and indices of accepted blocks in the chain's kv.
 *
 *   'b' ‖ hash     block RLP                      'h' ‖ number    hash of the accepted block
 *   'r' ‖ hash     receipts (below)               'l' ‖ tx hash   number u64 ‖ index u32
 *   'g'            hash of the genesis block       'K' ‖ kind      what the chain has run with, one record a kind
 *   'R' ‖ version  state root after an edit (development network)
 *
 * receipts = RLP list of [sender, status, gasUsed, [log…]], log = [address, [topic…], data]; the rest of a receipt
 * follows from the block. All numbers are big-endian. State has its own tables (store/flat.h, world.h).
 * Threading: pure over the kv given. */
#ifndef CD_CHAINS_EVMCHAIN_CHAINDB_H
#define CD_CHAINS_EVMCHAIN_CHAINDB_H

#include "store/kv.h"
#include "types/block.h"
#include "types/receipt.h"

/* cd_chaindb_put_body appends a block's bytes and transaction index: what is known before it is executed. Written
 * early it stays without effect until the block is accepted. cd_chaindb_put_hash appends number-to-hash alone. */
void cd_chaindb_put_hash(cd_kv_batch *batch, u64 number, const cd_hash32 *hash);
void cd_chaindb_put_body(cd_kv_batch *batch, const cd_block *block, cd_bytes rlp);

/* cd_chaindb_put_accepted appends number-to-hash and receipts of an accepted block, whose senders are known (receipts
 * NULL: it has none). */
void cd_chaindb_put_accepted(cd_kv_batch *batch, const cd_block *block, const cd_receipt *receipts);

/* cd_chaindb_block reads a block's bytes; _hash the accepted block of a height; _tx where a transaction is.
 * Errors: CD_ENOENT, CD_ECORRUPT. */
cd_err cd_chaindb_block(cd_kv *kv, cd_buf *out, const cd_hash32 *hash) CD_CHECK;
cd_err cd_chaindb_hash(cd_kv *kv, cd_hash32 *out, u64 number) CD_CHECK;
cd_err cd_chaindb_tx(cd_kv *kv, u64 *number, u32 *idx, const cd_hash32 *tx) CD_CHECK;

/* cd_chaindb_header reads the header of a block; it borrows from the arena. */
cd_err cd_chaindb_header(cd_kv *kv, cd_header *out, cd_arena *a, cd_header_layout layout,
                         const cd_hash32 *hash) CD_CHECK;

/* cd_chaindb_receipts reads the receipts of block, one per transaction, complete with cumulative gas and bloom, and
 * fills in the senders of its transactions. Everything lies in the arena. */
cd_err cd_chaindb_receipts(cd_kv *kv, cd_receipt **out, cd_arena *a, cd_block *block) CD_CHECK;

/* cd_chaindb_del appends the removal of everything that put_body and put_accepted wrote for a block. */
void cd_chaindb_del(cd_kv_batch *batch, const cd_block *block);

/* The genesis hash of the chain in this kv. Errors of get: CD_ENOENT in a fresh one. */
void cd_chaindb_put_genesis(cd_kv_batch *batch, const cd_hash32 *hash);
cd_err cd_chaindb_genesis(cd_kv *kv, cd_hash32 *out) CD_CHECK;

/* Single records of a chain. */
typedef enum cd_chaindb_kind {
    CD_CHAINDB_DIGEST = 'd',   /* of the genesis document, configuration aside */
    CD_CHAINDB_CONFIG = 'c',   /* the genesis' config object, JSON */
    CD_CHAINDB_UPGRADES = 'u', /* the upgrade file, JSON */
    CD_CHAINDB_EPOCH = 'e',    /* number of truncations, u64 */
    CD_CHAINDB_DEV = 'D',      /* clock and wishes of a development network (dev/dev.c) */
    CD_CHAINDB_CUTS = 't',     /* truncations that cursors have to know of (feed/cursor.h) */
    CD_CHAINDB_LOGS = 'l',     /* how far the log index reaches, u64 (feed/log_index.h) */
    CD_CHAINDB_FLOOR = 'f',    /* lowest height with receipts, u64; absent: there was no state sync */
    CD_CHAINDB_ADOPT = 'y',    /* a state on its way in (adopt.h) */
} cd_chaindb_kind;

/* cd_chaindb_put_meta appends a record; cd_chaindb_meta replaces out by one. Errors: CD_ENOENT. */
void cd_chaindb_put_meta(cd_kv_batch *batch, cd_chaindb_kind kind, cd_bytes value);
cd_err cd_chaindb_meta(cd_kv *kv, cd_buf *out, cd_chaindb_kind kind) CD_CHECK;

/* cd_chaindb_floor gives the lowest height from which on all blocks have receipts: 0, or what is behind the block to
 * which the state was synced. Of what is below some blocks are there, without receipts; cd_chaindb_bare_receipts makes
 * those that say nothing but what follows from the block, and recovers its senders. Errors: CD_ESIG. */
cd_err cd_chaindb_floor(cd_kv *kv, u64 *out) CD_CHECK;
cd_err cd_chaindb_bare_receipts(cd_receipt **out, cd_arena *a, cd_block *block) CD_CHECK;

/* cd_chaindb_put_edit_root appends the root of the state at version; cd_chaindb_edit gives the newest edit of that
 * height up to version and its root, CD_ENOENT when there is none; cd_chaindb_del_edits appends the removal of those
 * above. */
void cd_chaindb_put_edit_root(cd_kv_batch *batch, u64 version, const cd_hash32 *root);
cd_err cd_chaindb_edit(cd_kv *kv, u64 *version, cd_hash32 *root, u64 up_to) CD_CHECK;
cd_err cd_chaindb_del_edits(cd_kv_batch *batch, cd_kv *kv, u64 above) CD_CHECK;

#endif
