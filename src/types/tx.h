/* types/tx.h - an EVM transaction of any type, decoded.
 *
 * Types 0 (legacy), 1 (EIP-2930), 2 (EIP-1559), 3 (EIP-4844), 4 (EIP-7702). All variable parts are
 * borrowed from the arena or bytes it was decoded from. Encoding and signature recovery are in
 * types/tx_codec.h.
 * Threading: pure. */
#ifndef CD_TYPES_TX_H
#define CD_TYPES_TX_H

#include "base/bytes.h"
#include "num/u256.h"

/* Types of transactions [EIP-2718]. */
typedef enum cd_tx_type {
    CD_TX_LEGACY = 0,
    CD_TX_ACCESS_LIST = 1,
    CD_TX_DYNAMIC_FEE = 2,
    CD_TX_BLOB = 3,
    CD_TX_SET_CODE = 4,
} cd_tx_type;

/* One tuple of an access list: an address and the storage keys pre-warmed for it. */
typedef struct cd_access_tuple {
    cd_addr20 addr;
    const cd_hash32 *keys;
    usize key_cnt;
} cd_access_tuple;

/* One tuple of an authorization list: the account that signed it wants the code of addr to be run in place
 * of its own. */
typedef struct cd_authorization {
    cd_u256 chain_id; /* 0: valid on every chain */
    cd_addr20 addr;   /* 0: the account's code is taken away */
    u64 nonce;        /* nonce of the account that signed */
    u8 y_parity;      /* any byte; above 1 the signature is invalid */
    cd_u256 r;
    cd_u256 s;
} cd_authorization;

/* A decoded transaction; bytes and lists are borrowed from the input and the arena. */
typedef struct cd_tx {
    cd_tx_type type;
    bool is_create;    /* no recipient */
    bool is_protected; /* legacy: signed with a chain id (EIP-155); always true for typed ones */
    u64 chain_id;      /* 0 when unprotected */
    u64 nonce;
    u64 gas_limit;
    cd_u256 tip_cap; /* max priority fee per gas; legacy and type 1: the gas price */
    cd_u256 fee_cap; /* max fee per gas; legacy and type 1: the gas price */
    cd_addr20 to;
    cd_u256 value;
    cd_bytes data;
    const cd_access_tuple *access;
    usize access_cnt;
    cd_u256 blob_fee_cap;
    const cd_hash32 *blob_hashes;
    usize blob_cnt;
    const cd_authorization *auths;
    usize auth_cnt;
    /* Signature: y parity (0/1), r, s. */
    u8 y_parity;
    cd_u256 r;
    cd_u256 s;
    /* Filled by the decoder and by recovery. */
    cd_bytes raw;             /* the canonical encoding that it was decoded from; empty when it was not decoded */
    cd_bytes unsigned_fields; /* within raw: the fields before the signature */
    cd_hash32 hash;
    cd_addr20 sender;
    bool has_sender;
} cd_tx;

#endif
