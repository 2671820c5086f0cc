/* chains/evmchain/dev/dump.h - a development network as one JSON document, out and in, in the form of Anvil's dumps.
 *
 *   accounts    {address: {nonce, balance, code, storage: {slot: value}}}          what everybody's dumps have
 *   block, best_block_number, blocks, transactions, historical_states              the head; the lists are empty
 *   candela     version   1
 *               genesis   the document the chain began with
 *               blocks    RLP of each, or {count, interval, timestamp, miner, gasLimit} of a run of empty ones
 *               records   dev_record.h's of each entry of blocks, "0x" where there is none
 *               edits     [{after: height, accounts}]: what was changed between blocks
 *               next      coinbase, gas limit and timestamp interval that somebody chose
 *               head      hash of the last block
 *
 * A node at the same genesis executes the blocks again and must arrive at head; any other takes in the accounts as
 * edits of its own head. Accounts and slots are written by address and key, which a development network keeps for
 * all (preimages). Threading: confined to the executor. [spec:dev-rpc#3.5] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_DUMP_H
#define CD_CHAINS_EVMCHAIN_DEV_DUMP_H

#include "chains/evmchain/dev/dev_priv.h"

/* cd__dump_put appends the document. Errors: the store's. */
cd_err cd__dump_put(cd_buf *out, const cd_dev *d, cd_view *view) CD_CHECK;

/* cd__dump_open reads a document, bare or compressed; it lies in the arena and borrows from text. cd__dump_take
 * takes it in; on failure the chain is as it was. Errors: codec/json.h's, those of blocks and of the store. */
cd_err cd__dump_open(cd_json *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;
cd_err cd__dump_take(cd_dev *d, cd_json doc, cd_errinfo *why) CD_CHECK;

/* --- between dump.c and dump_chain.c --- */

/* cd__dump_put_account opens an account's object and writes all but its storage, _put_slot one slot. */
cd_err cd__dump_put_account(cd_json_w *w, cd_kv *kv, const cd_addr20 *addr, const cd_account *acct) CD_CHECK;
void cd__dump_put_slot(cd_json_w *w, const cd_u256 *key, const cd_u256 *v);

/* cd__dump_edit makes accounts what the document says, as one edit of the head. */
cd_err cd__dump_edit(const cd_dev *d, cd_json accounts, cd_errinfo *why) CD_CHECK;

/* cd__dump_put_chain writes the member candela. cd__dump_take_chain makes its blocks; *only tells in words why it
 * did not, NULL when it did. */
cd_err cd__dump_put_chain(cd_json_w *w, const cd_dev *d, cd_view *view) CD_CHECK;
cd_err cd__dump_take_chain(cd_dev *d, cd_json ours, const char **only, cd_errinfo *why) CD_CHECK;

#endif
