/* types/ctx.h - atomic transactions of the C-Chain as they are written: a structure of each, and the tables of
 * codec/linear.h.
 *
 * An import takes what another chain left in shared memory and credits accounts, an export debits accounts and leaves
 * outputs for another chain. They stand in the extra data of a block, together as a batch. Format only: what a
 * transaction must obey is the chain's. Amounts are in the base unit of the P- and X-Chain. Threading: pure.
 * [spec:evm-chain#9] [spec:pchain-xchain#2.3] */
#ifndef CD_TYPES_CTX_H
#define CD_TYPES_CTX_H

#include "types/utxo.h"

/* Type IDs of what may be signed. */
typedef enum cd_c_tx_type {
    CD_C_IMPORT = 0,
    CD_C_EXPORT = 1,
} cd_c_tx_type;

/* An unspent output that is consumed; in is a transfer input (type ID 5). */
typedef struct cd_c_input {
    cd_hash32 tx_id;
    u32 output_idx;
    cd_hash32 asset_id;
    cd_linear_any in;
} cd_c_input;

/* An output that is made; out is a transfer output (type ID 7). */
typedef struct cd_c_output {
    cd_hash32 asset_id;
    cd_linear_any out;
} cd_c_output;

/* An account that is credited. */
typedef struct cd_c_credit {
    cd_addr20 addr;
    u64 amount;
    cd_hash32 asset_id;
} cd_c_credit;

/* An account that is debited, with its nonce. */
typedef struct cd_c_debit {
    cd_addr20 addr;
    u64 amount;
    cd_hash32 asset_id;
    u64 nonce;
} cd_c_debit;

/* Takes what another chain exported. */
typedef struct cd_c_import {
    u32 network_id;
    cd_hash32 chain_id;
    cd_hash32 source_chain;
    cd_linear_list imported; /* cd_c_input */
    cd_linear_list outs;     /* cd_c_credit */
} cd_c_import;

/* Gives outputs to another chain. */
typedef struct cd_c_export {
    u32 network_id;
    cd_hash32 chain_id;
    cd_hash32 destination_chain;
    cd_linear_list ins;      /* cd_c_debit */
    cd_linear_list exported; /* cd_c_output */
} cd_c_export;

/* A transaction with its signatures. */
typedef struct cd_c_tx {
    cd_linear_any body;   /* a struct by its cd_c_tx_type */
    cd_linear_list creds; /* cd_linear_any: cd_credential */
} cd_c_tx;

/* What stands in the extra data of a block. */
typedef struct cd_c_batch {
    cd_linear_list txs; /* cd_c_tx */
} cd_c_batch;

/* The tables of cd_c_tx, of the part of it that is signed, of cd_c_batch, of a UTXO (cd_utxo) that may be imported, and
 * of the output inside cd_c_output (by which outputs are sorted). */
extern const cd_linear_type cd_c_tx_table;
extern const cd_linear_type cd_c_unsigned_table;
extern const cd_linear_type cd_c_batch_table;
extern const cd_linear_type cd_c_utxo_table;
extern const cd_linear_type cd_c_output_table;

#endif
