/* types/xtx.h - transactions and blocks of the X-Chain as they are written: a structure of each, and the tables of
 * codec/linear.h.
 *
 * Format only: what they must obey is the chain's. Inputs, outputs and what a transaction begins with are those of the
 * P-Chain (ptx.h) with fewer kinds allowed. Extensions: 0 secp256k1fx, 1 nftfx, 2 propertyfx. Threading: pure.
 * [spec:pchain-xchain#8] */
#ifndef CD_TYPES_XTX_H
#define CD_TYPES_XTX_H

#include "types/ptx.h"

/* Type IDs. [spec:pchain-xchain#2.2] */
typedef enum cd_x_type {
    CD_X_BASE_TX = 0,
    CD_X_CREATE_ASSET = 1,
    CD_X_OPERATION = 2,
    CD_X_IMPORT = 3,
    CD_X_EXPORT = 4,
    CD_X_SECP_INPUT = 5,       /* cd_transfer_input */
    CD_X_SECP_MINT_OUTPUT = 6, /* cd_owners */
    CD_X_SECP_OUTPUT = 7,      /* cd_transfer_output */
    CD_X_SECP_MINT = 8,        /* cd_x_secp_mint */
    CD_X_SECP_CREDENTIAL = 9,  /* cd_credential, as for the other two extensions */
    CD_X_NFT_MINT_OUTPUT = 10, /* cd_x_nft_mint_output */
    CD_X_NFT_OUTPUT = 11,      /* cd_x_nft_output */
    CD_X_NFT_MINT = 12,        /* cd_x_nft_mint */
    CD_X_NFT_TRANSFER = 13,    /* cd_x_nft_transfer */
    CD_X_NFT_CREDENTIAL = 14,
    CD_X_PROPERTY_MINT_OUTPUT = 15, /* cd_owners */
    CD_X_PROPERTY_OUTPUT = 16,      /* cd_owners */
    CD_X_PROPERTY_MINT = 17,        /* cd_x_property_mint */
    CD_X_PROPERTY_BURN = 18,        /* cd_auth_input */
    CD_X_PROPERTY_CREDENTIAL = 19,
    CD_X_STANDARD_BLOCK = 20,
} cd_x_type;

enum { CD_X_FX_CNT = 3 };

/* --- outputs and operations of the extensions --- */

/* Mints more of an asset: the input that allows it, those who may mint next, and what was minted. */
typedef struct cd_x_secp_mint {
    cd_auth_input input;
    cd_owners mint_output;
    cd_transfer_output output;
} cd_x_secp_mint;

/* An output that allows its owners to mint NFTs of a group. */
typedef struct cd_x_nft_mint_output {
    u32 group_id;
    cd_owners owners;
} cd_x_nft_mint_output;

/* A non-fungible token, and who owns it. */
typedef struct cd_x_nft_output {
    u32 group_id;
    cd_bytes payload;
    cd_owners owners;
} cd_x_nft_output;

/* Mints one NFT for each cd_owners of outputs. */
typedef struct cd_x_nft_mint {
    cd_auth_input input;
    u32 group_id;
    cd_bytes payload;
    cd_linear_list outputs; /* cd_owners */
} cd_x_nft_mint;

/* Moves a non-fungible token to other owners. */
typedef struct cd_x_nft_transfer {
    cd_auth_input input;
    cd_x_nft_output output;
} cd_x_nft_transfer;

/* Mints a property: the input that allows it, those who may mint next, and the owners of this one. */
typedef struct cd_x_property_mint {
    cd_auth_input input;
    cd_owners mint_output;
    cd_owners owned_output;
} cd_x_property_mint;

/* --- transactions --- */

/* Outputs are of one kind (type ID 7), inputs too (type ID 5). */
typedef cd_p_output cd_x_output;
typedef cd_p_input cd_x_input;
typedef cd_p_base cd_x_base;
typedef cd_p_import cd_x_import;
typedef cd_p_export cd_x_export;

/* The outputs of one extension that a new asset begins with. */
typedef struct cd_x_initial_state {
    u32 fx_index;
    cd_linear_list outs; /* cd_linear_any: an output of that extension */
} cd_x_initial_state;

/* Creates an asset, whose ID is that of the transaction. */
typedef struct cd_x_create_asset {
    cd_x_base base;
    cd_bytes name;
    cd_bytes symbol;
    u8 denomination;       /* decimals to show amounts with */
    cd_linear_list states; /* cd_x_initial_state */
} cd_x_create_asset;

/* Names an output by its transaction and its index there. */
typedef struct cd_x_utxo_id {
    cd_hash32 tx_id;
    u32 output_idx;
} cd_x_utxo_id;

/* An operation on outputs that are no plain amounts. */
typedef struct cd_x_op {
    cd_hash32 asset_id;
    cd_linear_list utxo_ids; /* cd_x_utxo_id */
    cd_linear_any op;
} cd_x_op;

/* A transaction of operations. */
typedef struct cd_x_operation {
    cd_x_base base;
    cd_linear_list ops; /* cd_x_op */
} cd_x_operation;

/* A transaction with its signatures. */
typedef struct cd_x_tx {
    cd_linear_any body;   /* CD_X_BASE_TX to CD_X_EXPORT: a struct above, cd_x_base the first */
    cd_linear_list creds; /* cd_linear_any: cd_credential */
} cd_x_tx;

/* --- blocks --- */

/* A block of the X-Chain. */
typedef struct cd_x_standard_block {
    cd_hash32 parent;
    u64 height;
    u64 time;              /* Unix seconds */
    cd_hash32 merkle_root; /* zero */
    cd_linear_list txs;    /* cd_x_tx */
} cd_x_standard_block;

/* A block with its type in front. */
typedef struct cd_x_block {
    cd_linear_any body; /* CD_X_STANDARD_BLOCK */
} cd_x_block;

/* --- genesis --- */

/* An asset that exists from the beginning, with its alias. */
typedef struct cd_x_genesis_asset {
    cd_bytes alias;
    cd_x_create_asset tx;
} cd_x_genesis_asset;

/* The genesis of the X-Chain. */
typedef struct cd_x_genesis {
    cd_linear_list assets; /* cd_x_genesis_asset */
} cd_x_genesis;

/* The tables of cd_x_tx, cd_x_block, cd_utxo with the types of outputs that the X-Chain has, and cd_x_genesis. */
extern const cd_linear_type cd_x_tx_table;
extern const cd_linear_type cd_x_block_table;
extern const cd_linear_type cd_x_utxo_table;
extern const cd_linear_type cd_x_genesis_table;

/* cd_x_unsigned_size gives how many bytes of an encoded transaction, from its first on, are signed. */
usize cd_x_unsigned_size(const cd_x_tx *tx);

/* cd_x_tx_base borrows what every transaction begins with. */
const cd_x_base *cd_x_tx_base(const cd_x_tx *tx);

/* cd_x_case gives the row of the tables for a type ID of an extension or a transaction, for callers that make such
 * values themselves. An ID that no row has is a bug of the caller. */
const cd_linear_case *cd_x_case(cd_x_type type);

/* cd_x_tx_json writes a transaction with its ID, cd_x_block_json a block with its ID and the IDs of its transactions.
 * id is the ID of what is written. */
void cd_x_tx_json(cd_json_w *w, const cd_linear_place *place, const cd_x_tx *tx, const cd_hash32 *id);
void cd_x_block_json(cd_json_w *w, const cd_linear_place *place, const cd_x_block *b, const cd_hash32 *id);

/* cd_x_tx_id gives the ID: SHA-256 of the encoding with signatures. */
void cd_x_tx_id(cd_hash32 *out, const cd_x_tx *tx);

#endif
