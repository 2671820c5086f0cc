/* types/receipt.h - what a transaction left behind: status, gas, logs.
 *
 *   [status | post-state root, cumulative gas, bloom, logs], with the type byte in front for typed ones
 *
 * Threading: pure. (EIP-658, EIP-2718) */
#ifndef CD_TYPES_RECEIPT_H
#define CD_TYPES_RECEIPT_H

#include "base/mem/arena.h"
#include "codec/rlp.h"
#include "types/bloom.h"
#include "types/tx.h"

/* A receipt, and what is kept of the transaction beside it. */
typedef struct cd_receipt {
    cd_tx_type type;
    bool ok;       /* the outermost message succeeded */
    bool has_root; /* before Byzantium: a state root in place of the status */
    cd_hash32 root;
    u64 cumulative_gas; /* used by the block up to and including this transaction */
    cd_bloom bloom;
    const cd_log *logs; /* borrowed */
    usize log_cnt;
    /* The members from here on are not part of the encoding. */
    u64 gas_used;
    cd_u256 effective_gas_price; /* wei */
    bool has_created;
    cd_addr20 created; /* address of a deployed contract */
} cd_receipt;

/* cd_log_enc appends [address, [topics], data]; cd_logs_hash is the keccak256 of the list of logs. */
void cd_log_enc(cd_buf *out, const cd_log *log);
void cd_logs_hash(cd_hash32 *out, const cd_log *logs, usize cnt);

/* cd_receipt_enc appends the consensus encoding (the value of the receipts trie). */
void cd_receipt_enc(cd_buf *out, const cd_receipt *r);

/* cd_receipt_dec reads all of in; logs lie in the arena, their data is borrowed from in.
 * Errors: those of codec/rlp.h, CD_EUNSUPPORTED for an unknown type. */
cd_err cd_receipt_dec(cd_receipt *out, cd_arena *a, cd_bytes in) CD_CHECK;

#endif
