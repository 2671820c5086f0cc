/* types/genesis.h - the genesis document: chain configuration, first header and first accounts.
 *
 * One parser for geth's form, for the chain's own keys (fee configuration, network upgrades,
 * precompile sections) and for what the public test suites use. Which rules follow from it is
 * decided by chains/evmchain; precompile sections are handed on as JSON because each module knows
 * its own. Threading: frozen once parsed. [spec:evm-chain#7] */
#ifndef CD_TYPES_GENESIS_H
#define CD_TYPES_GENESIS_H

#include "codec/json.h"
#include "types/header.h"

/* A block number or timestamp from which something holds; absent = never. */
typedef struct cd_when {
    bool is_set;
    u64 at;
} cd_when;

/* The fee configuration of a chain [spec:evm-chain#3.1], in wei and gas. */
typedef struct cd_fee_config {
    cd_u256 gas_limit;
    u64 target_block_rate; /* seconds */
    cd_u256 min_base_fee;
    cd_u256 target_gas;
    cd_u256 base_fee_change_denominator;
    cd_u256 min_block_gas_cost;
    cd_u256 max_block_gas_cost;
    cd_u256 block_gas_cost_step;
} cd_fee_config;

/* Target, maximum (blobs a block) and update fraction of a fork (EIP-7840). */
typedef struct cd_blob_schedule {
    u64 target;
    u64 max;
    u64 update_fraction;
} cd_blob_schedule;

/* The member "config" of a genesis document. */
typedef struct cd_chain_config {
    bool has_chain_id;
    u64 chain_id;
    /* Ethereum's forks: block numbers, then timestamps. */
    cd_when homestead;
    cd_when dao;
    bool dao_support;
    cd_when eip150;
    cd_when eip155;
    cd_when eip158;
    cd_when byzantium;
    cd_when constantinople;
    cd_when petersburg;
    cd_when istanbul;
    cd_when muir_glacier;
    cd_when berlin;
    cd_when london;
    cd_when merge; /* mergeNetsplitBlock */
    bool has_ttd;
    cd_u256 ttd; /* terminalTotalDifficulty */
    cd_when shanghai;
    cd_when cancun;
    cd_when prague; /* set by Ethereum's own chains only */
    bool has_blob_cancun;
    cd_blob_schedule blob_cancun;
    /* Upgrades of our own networks: timestamps. Both spellings of a key are accepted. */
    cd_when subnet_evm; /* subnetEVMTimestamp, evmTimestamp */
    cd_when durango;
    cd_when etna; /* etnaTimestamp, quasarTimestamp */
    cd_when fortuna;
    cd_when granite;
    cd_when fee_split;
    bool has_fee_config;
    cd_fee_config fee;
    bool allow_fee_recipients;
    cd_header_layout layout; /* which profile the document selects [spec:evm-chain#0] */
    cd_json json;            /* the whole config object, for further keys */
} cd_chain_config;

/* A slot of storage. */
typedef struct cd_genesis_slot {
    cd_hash32 key;
    cd_hash32 value;
} cd_genesis_slot;

/* An account that exists from the beginning. */
typedef struct cd_genesis_account {
    cd_addr20 addr;
    cd_u256 balance; /* wei */
    u64 nonce;
    cd_bytes code;
    const cd_genesis_slot *slots; /* in the order of the document, zero values included */
    usize slot_cnt;
} cd_genesis_account;

/* A genesis document that was read; what it refers to lies in the arena that was given. */
typedef struct cd_genesis {
    cd_chain_config config;
    cd_header header; /* the fields that the document gives; the chain fills in roots and defaults */
    bool skip_post_merge_fields;
    bool has_airdrop;
    cd_hash32 airdrop_hash;
    cd_u256 airdrop_amount;
    const cd_genesis_account *accounts; /* ascending by address, unique */
    usize account_cnt;
} cd_genesis;

/* cd_genesis_parse reads a genesis document. Everything lies in the arena.
 * Errors: those of codec/json.h, CD_ENOENT for a missing required key; *why names the place. */
cd_err cd_genesis_parse(cd_genesis *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_chain_config_parse reads the config object alone; cd_genesis_alloc_parse an alloc object (also
 * the "pre" of state tests and the alloc of t8n): accounts ascending by address. */
cd_err cd_chain_config_parse(cd_chain_config *out, cd_json config, cd_errinfo *why) CD_CHECK;
cd_err cd_genesis_alloc_parse(const cd_genesis_account **out, usize *cnt, cd_arena *a, cd_json alloc,
                              cd_errinfo *why) CD_CHECK;

/* cd_genesis_addr_parse reads a key that is an address, "0x" optional; cd_genesis_storage_parse an object of slots, in
 * the order of the document (no slots when v is missing). */
cd_err cd_genesis_addr_parse(cd_addr20 *out, cd_bytes key) CD_CHECK;
cd_err cd_genesis_storage_parse(const cd_genesis_slot **out, usize *cnt, cd_arena *a, cd_json v,
                                cd_errinfo *why) CD_CHECK;

/* cd_fee_config_parse reads a fee configuration object; absent keys keep what *out holds. */
cd_err cd_fee_config_parse(cd_fee_config *out, cd_json v, cd_errinfo *why) CD_CHECK;

#endif
