/* chains/evmchain/feed/json.h - blocks, transactions, receipts and logs as JSON-RPC shows them. Threading: pure.
 * [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_JSON_H
#define CD_CHAINS_EVMCHAIN_FEED_JSON_H

#include "chains/evmchain/core/rules/chain_rules.h"
#include "codec/json.h"
#include "types/block.h"
#include "types/receipt.h"

/* Where a transaction or log is. */
typedef struct cd_tx_place {
    const cd_block *block; /* NULL: waiting */
    usize idx;
    const struct cd_tx_end *end; /* shown as well; NULL: it is not */
} cd_tx_place;

/* How an execution ended, for who asked for it to be seen (development network). */
typedef struct cd_tx_end {
    cd_bytes output;
    const char *reason; /* in words; NULL: there are none */
} cd_tx_end;

/* cd_api_block writes a block object, with whole transactions or their hashes only, in the order of the recorded
 * sessions. size is that of the RLP. _ended has whole transactions with how each ended. cd_api_header writes it
 * without what a header does not have, cd_api_block_with adds members, which extra writes. */
void cd_api_block(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, bool full_txs);
void cd_api_block_ended(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, const cd_tx_end *ends);
void cd_api_block_with(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, bool full_txs,
                       void (*extra)(void *ctx, cd_json_w *w), void *ctx);
void cd_api_header(cd_json_w *w, const cd_block *b, const cd_chain_rules *r);

/* cd_api_access_list writes the access list of a transaction. */
void cd_api_access_list(cd_json_w *w, const cd_tx *tx);

/* cd_api_tx writes a transaction object; sender must be set. */
void cd_api_tx(cd_json_w *w, const cd_tx *tx, const cd_tx_place *at);

/* cd_api_receipt writes the receipt of a transaction; log_base is the number of logs before it in the block. */
void cd_api_receipt(cd_json_w *w, const cd_receipt *r, const cd_tx_place *at, usize log_base);

/* cd_api_log writes one log; idx is its place in the block. */
void cd_api_log(cd_json_w *w, const cd_log *log, const cd_tx_place *at, usize idx);

#endif
