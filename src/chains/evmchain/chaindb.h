/* chains/evmchain/chaindb.h - blocks, receipts and indices of accepted blocks in the chain's kv.
 *
 *   'b' ‖ hash     block RLP                      'h' ‖ number    hash of the accepted block
 *   'r' ‖ hash     receipts (below)               'l' ‖ tx hash   number u64 ‖ index u32
 *   'g'            hash of the genesis block
 *
 * receipts = RLP list of [status, gasUsed, [log…]], log = [address, [topic…], data]; the rest of a receipt follows
 * from the block. All numbers are big-endian. State has its own tables (store/flat.h, world.h).
 * Threading: pure over the kv given. */
#ifndef CD_CHAINS_EVMCHAIN_CHAINDB_H
#define CD_CHAINS_EVMCHAIN_CHAINDB_H

#include "store/kv.h"
#include "types/block.h"
#include "types/receipt.h"

/* cd_chaindb_put_body appends a block's bytes and transaction index: what is known before it is executed. Written early it
 * stays without effect until the block is accepted. */
void cd_chaindb_put_body(cd_kv_batch *batch, const cd_block *block, cd_bytes rlp);

/* cd_chaindb_put_accepted appends number-to-hash and receipts of an accepted block (receipts NULL: it has none). */
void cd_chaindb_put_accepted(cd_kv_batch *batch, const cd_block *block, const cd_receipt *receipts);

/* cd_chaindb_block reads a block's bytes; _hash the accepted block of a height; _tx where a transaction is.
 * Errors: CD_ENOENT, CD_ECORRUPT. */
cd_err cd_chaindb_block(cd_kv *kv, cd_buf *out, const cd_hash32 *hash) CD_CHECK;
cd_err cd_chaindb_hash(cd_kv *kv, cd_hash32 *out, u64 number) CD_CHECK;
cd_err cd_chaindb_tx(cd_kv *kv, u64 *number, u32 *idx, const cd_hash32 *tx) CD_CHECK;

/* cd_chaindb_receipts reads the receipts of block, one per transaction, complete with cumulative gas and bloom.
 * Everything lies in the arena. */
cd_err cd_chaindb_receipts(cd_kv *kv, cd_receipt **out, cd_arena *a,
                           const cd_block *block) CD_CHECK;

/* The genesis hash of the chain in this kv. Errors of get: CD_ENOENT in a fresh one. */
void cd_chaindb_put_genesis(cd_kv_batch *batch, const cd_hash32 *hash);
cd_err cd_chaindb_genesis(cd_kv *kv, cd_hash32 *out) CD_CHECK;

#endif
