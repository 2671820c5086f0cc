/* types/header.h - block headers of the three layouts, decoded into one struct.
 *
 * A layout is a table of rows (types/header.c): which field, how it is written, whether it is
 * optional. The first fifteen fields are common; optional fields trail: when a later one is there,
 * absent earlier ones are written as an empty string. An integer read from an empty string counts
 * as present and zero, a hash (where a layout allows it at all) as absent, so every header encodes
 * back to its bytes. Values and rules between fields are checked by chains/evmchain. Threading:
 * pure. [spec:evm-chain#1] */
#ifndef CD_TYPES_HEADER_H
#define CD_TYPES_HEADER_H

#include "base/mem/arena.h"
#include "codec/rlp.h"
#include "types/bloom.h"

/* Which fields a header has, and in which order. */
typedef enum cd_header_layout {
    CD_HEADER_ETHEREUM,  /* Ethereum's fields up to Cancun */
    CD_HEADER_L1,        /* of sovereign chains, with the fields of Granite */
    CD_HEADER_L1_ATOMIC, /* of a primary-network C-Chain: with the atomic data fields [spec:evm-chain#0] */
    CD_HEADER_C,
} cd_header_layout;

/* Bits of cd_header.has. */
enum {
    CD_HEADER_BASE_FEE = 1 << 0,
    CD_HEADER_BLOCK_GAS_COST = 1 << 1,
    CD_HEADER_WITHDRAWALS_ROOT = 1 << 2,
    CD_HEADER_BLOB_GAS_USED = 1 << 3,
    CD_HEADER_EXCESS_BLOB_GAS = 1 << 4,
    CD_HEADER_BEACON_ROOT = 1 << 5,
    CD_HEADER_REQUESTS_HASH = 1 << 6,
    CD_HEADER_EXT_DATA_HASH = 1 << 7,
    CD_HEADER_EXT_DATA_GAS_USED = 1 << 8,
    CD_HEADER_TIME_MS = 1 << 9,
    CD_HEADER_MIN_DELAY_EXCESS = 1 << 10,
};

/* A block's header; wei and gas where nothing else is said. */
typedef struct cd_header {
    cd_hash32 parent_hash;
    cd_hash32 uncle_hash;
    cd_addr20 coinbase;
    cd_hash32 state_root;
    cd_hash32 tx_root;
    cd_hash32 receipt_root;
    cd_bloom bloom;
    cd_u256 difficulty;
    u64 number;
    u64 gas_limit;
    u64 gas_used;
    u64 time;       /* Unix seconds */
    cd_bytes extra; /* borrowed from the input of the decoder */
    cd_hash32 mix_hash;
    u8 nonce[8];
    u32 has; /* bits of the fields below that are present */
    cd_u256 base_fee;
    cd_u256 block_gas_cost;
    cd_hash32 withdrawals_root;
    u64 blob_gas_used;
    u64 excess_blob_gas;
    cd_hash32 parent_beacon_root;
    cd_hash32 requests_hash;
    cd_hash32 ext_data_hash;
    cd_u256 ext_data_gas_used;
    u64 time_ms; /* Unix milliseconds */
    u64 min_delay_excess;
} cd_header;

/* cd_header_dec reads a header from a list of headers or a block; cd_header_dec_all a whole
 * encoding. Errors: those of codec/rlp.h; *why names the field. */
cd_err cd_header_dec(cd_header *out, cd_header_layout layout, cd_rlp *in, cd_errinfo *why) CD_CHECK;
cd_err cd_header_dec_all(cd_header *out, cd_header_layout layout, cd_bytes in, cd_errinfo *why) CD_CHECK;

/* cd_header_enc appends the encoding; cd_header_hash is its keccak256, the block hash. Fields that
 * the layout does not have are left out, even where their bit in has is set. */
void cd_header_enc(cd_buf *out, cd_header_layout layout, const cd_header *h);
void cd_header_hash(cd_hash32 *out, cd_header_layout layout, const cd_header *h);

/* cd_header_fields gives the bits of has that a layout knows. */
u32 cd_header_fields(cd_header_layout layout);

#endif
