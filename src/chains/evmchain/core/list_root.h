/* chains/evmchain/core/list_root.h - the root over a block's list of transactions, receipts or withdrawals, from
 * items that are encoded one after another into one buffer.
 *
 *   cd_list_root l = {0};
 *   for each item: cd_tx_enc(&l.enc, tx); cd_list_root_mark(&l);
 *   cd_list_root_final(&l, &root);
 *
 * Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_LIST_ROOT_H
#define CD_CHAINS_EVMCHAIN_LIST_ROOT_H

#include "base/mem/buf.h"

/* All zero is a valid, empty list. */
typedef struct cd_list_root {
    cd_buf enc;  /* append an item here */
    cd_buf ends; /* where each item ends, as usize */
} cd_list_root;

/* cd_list_root_mark ends the item appended last; it must not be empty. */
void cd_list_root_mark(cd_list_root *l);

/* cd_list_root_final gives the root of the trie rlp(index) -> item and releases the memory. */
void cd_list_root_final(cd_list_root *l, cd_hash32 *out);

#endif
