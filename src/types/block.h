/* types/block.h - whole blocks: header and body.
 *
 *   Ethereum  [header, [txs], [uncles]]  and from Shanghai on [withdrawals]
 *   L1        [header, [txs], [uncles]]  and with atomic data version, extData
 *   C         [header, [txs], [uncles], version, extData]
 *
 * Only form is checked here. Threading: pure. [spec:evm-chain#1] */
#ifndef CD_TYPES_BLOCK_H
#define CD_TYPES_BLOCK_H

#include "types/header.h"
#include "types/tx_codec.h"

/* Blocks over this size are refused before anything is decoded. */
enum { CD_BLOCK_SIZE_MAX = 32 << 20 };

/* A validator withdrawal (EIP-4895). */
typedef struct cd_withdrawal {
    u64 index;
    u64 validator;
    cd_addr20 addr;
    u64 amount; /* gwei */
} cd_withdrawal;

/* A decoded block; its lists lie in the arena that cd_block_dec was given. */
typedef struct cd_block {
    cd_header header;
    cd_hash32 hash; /* the header's hash */
    cd_tx *txs;
    usize tx_cnt;
    cd_header *uncles;
    usize uncle_cnt;
    bool has_withdrawals; /* the block has a list of withdrawals, which may be empty */
    cd_withdrawal *withdrawals;
    usize withdrawal_cnt;
    bool has_ext_data; /* the block has version and ext_data */
    u32 version;
    cd_bytes ext_data;
} cd_block;

/* cd_block_dec reads one block, all of in. Arrays lie in the arena, byte strings are borrowed from
 * in. Errors: CD_ELIMIT, those of codec/rlp.h and types/tx_codec.h; *why says in which part. */
cd_err cd_block_dec(cd_block *out, cd_arena *a, cd_header_layout layout, cd_bytes in, cd_errinfo *why) CD_CHECK;

/* cd_block_enc appends the encoding. */
void cd_block_enc(cd_buf *out, cd_header_layout layout, const cd_block *b);

/* cd_withdrawal_enc appends one withdrawal's list, the value of the withdrawals trie. */
void cd_withdrawal_enc(cd_buf *out, const cd_withdrawal *w);

/* cd_uncles_hash: keccak256 of the RLP list of uncle headers. */
void cd_uncles_hash(cd_hash32 *out, cd_header_layout layout, const cd_header *uncles, usize cnt);

#endif
