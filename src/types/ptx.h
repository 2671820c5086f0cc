/* types/ptx.h - transactions of the P-Chain as they are written: a structure of each, and the tables of codec/linear.h.
 *
 * Format only: what a transaction must obey is the chain's. Names in JSON are those of product networks. Amounts are in
 * the base unit, times in seconds since 1970. Threading: pure. [spec:pchain-xchain#4] */
#ifndef CD_TYPES_PTX_H
#define CD_TYPES_PTX_H

#include "types/utxo.h"

/* Type IDs of what may be signed. [spec:pchain-xchain#2.1] */
typedef enum cd_p_tx_type {
    CD_P_BASE_TX = 34,
    CD_P_ADD_VALIDATOR = 12,
    CD_P_ADD_NET_VALIDATOR = 13,
    CD_P_ADD_DELEGATOR = 14,
    CD_P_CREATE_CHAIN = 15,
    CD_P_CREATE_NET = 16,
    CD_P_IMPORT = 17,
    CD_P_EXPORT = 18,
    CD_P_ADVANCE_TIME = 19,
    CD_P_REWARD_VALIDATOR = 20,
    CD_P_REMOVE_NET_VALIDATOR = 23,
    CD_P_TRANSFORM_NET = 24,
    CD_P_ADD_PERMISSIONLESS_VALIDATOR = 25,
    CD_P_ADD_PERMISSIONLESS_DELEGATOR = 26,
    CD_P_TRANSFER_NET_OWNERSHIP = 33,
    CD_P_CONVERT_NET_TO_L1 = 35,
    CD_P_REGISTER_L1_VALIDATOR = 36,
    CD_P_SET_L1_VALIDATOR_WEIGHT = 37,
    CD_P_INCREASE_L1_BALANCE = 38,
    CD_P_DISABLE_L1_VALIDATOR = 39,
} cd_p_tx_type;

/* Type IDs of what stands inside transactions. [spec:pchain-xchain#2.1] */
typedef enum cd_p_part_type {
    CD_P_TRANSFER_INPUT = 5,
    CD_P_TRANSFER_OUTPUT = 7,
    CD_P_CREDENTIAL = 9,
    CD_P_AUTH = 10,
    CD_P_OWNERS = 11,
    CD_P_LOCK_IN = 21,
    CD_P_LOCK_OUT = 22,
    CD_P_NO_SIGNER = 27,
    CD_P_SIGNER_POP = 28,
} cd_p_part_type;

/* An output: a transfer output (type ID 7) or cd_locked (22). */
typedef struct cd_p_output {
    cd_hash32 asset_id;
    cd_linear_any out;
} cd_p_output;

/* An input: a transfer input (type ID 5) or cd_locked (21). */
typedef struct cd_p_input {
    cd_hash32 tx_id;
    u32 output_idx;
    cd_hash32 asset_id;
    cd_linear_any in;
} cd_p_input;

/* The fields that almost every transaction begins with. */
typedef struct cd_p_base {
    u32 network_id;
    cd_hash32 chain_id;
    cd_linear_list outs; /* cd_p_output */
    cd_linear_list ins;  /* cd_p_input */
    cd_bytes memo;
} cd_p_base;

/* A staker: the node that validates, from when to when, and with how much weight. */
typedef struct cd_p_validator {
    cd_node_id node_id;
    u64 start;
    u64 end;
    u64 weight;
} cd_p_validator;

/* A validator of a net. */
typedef struct cd_p_net_validator {
    cd_p_validator validator;
    cd_hash32 net_id;
} cd_p_net_validator;

/* A BLS public key, and the proof that its owner has the secret key. */
typedef struct cd_p_pop {
    u8 key[48];
    u8 proof[96];
} cd_p_pop;

/* Those who get back the rest of what a validator of an L1 has paid in, or who may end its payments. */
typedef struct cd_p_l1_owner {
    u32 threshold;
    cd_linear_list addrs; /* cd_addr20 */
} cd_p_l1_owner;

/* A validator that a net has from the moment it becomes an L1; weight and balance (base units) are its own. */
typedef struct cd_p_l1_validator {
    cd_bytes node_id;
    u64 weight;
    u64 balance;
    cd_p_pop signer;
    cd_p_l1_owner remaining_balance_owner;
    cd_p_l1_owner deactivation_owner;
} cd_p_l1_validator;

/* Adds a validator of the primary network, as before Durango. */
typedef struct cd_p_add_validator {
    cd_p_base base;
    cd_p_validator validator;
    cd_linear_list stake;        /* cd_p_output */
    cd_linear_any rewards_owner; /* cd_owners */
    u32 shares;
} cd_p_add_validator;

/* Adds a validator of a net with permission. */
typedef struct cd_p_add_net_validator {
    cd_p_base base;
    cd_p_net_validator validator;
    cd_linear_any net_auth; /* cd_auth_input */
} cd_p_add_net_validator;

/* Delegates to a validator of the primary network, as before Durango. */
typedef struct cd_p_add_delegator {
    cd_p_base base;
    cd_p_validator validator;
    cd_linear_list stake;        /* cd_p_output */
    cd_linear_any rewards_owner; /* cd_owners */
} cd_p_add_delegator;

/* Creates a chain of a net. */
typedef struct cd_p_create_chain {
    cd_p_base base;
    cd_hash32 net_id;
    cd_bytes name;
    cd_hash32 vm_id;
    cd_linear_list fx_ids; /* cd_hash32 */
    cd_bytes genesis;
    cd_linear_any net_auth; /* cd_auth_input */
} cd_p_create_chain;

/* Creates a net. */
typedef struct cd_p_create_net {
    cd_p_base base;
    cd_linear_any owner; /* cd_owners */
} cd_p_create_net;

/* Takes what another chain exported. */
typedef struct cd_p_import {
    cd_p_base base;
    cd_hash32 source_chain;
    cd_linear_list imported; /* cd_p_input */
} cd_p_import;

/* Gives outputs to another chain. */
typedef struct cd_p_export {
    cd_p_base base;
    cd_hash32 destination_chain;
    cd_linear_list exported; /* cd_p_output */
} cd_p_export;

/* Moves the time of the chain, as before Banff. */
typedef struct cd_p_advance_time {
    u64 time;
} cd_p_advance_time;

/* Ends a staker and decides on its reward. */
typedef struct cd_p_reward_validator {
    cd_hash32 tx_id;
} cd_p_reward_validator;

/* Removes a validator of a net with permission. */
typedef struct cd_p_remove_net_validator {
    cd_p_base base;
    cd_node_id node_id;
    cd_hash32 net_id;
    cd_linear_any net_auth; /* cd_auth_input */
} cd_p_remove_net_validator;

/* Turns a net into one that anybody may validate. */
typedef struct cd_p_transform_net {
    cd_p_base base;
    cd_hash32 net_id;
    cd_hash32 asset_id;
    u64 initial_supply;
    u64 maximum_supply;
    u64 min_consumption_rate;
    u64 max_consumption_rate;
    u64 min_validator_stake;
    u64 max_validator_stake;
    u32 min_stake_duration;
    u32 max_stake_duration;
    u32 min_delegation_fee;
    u64 min_delegator_stake;
    u8 max_weight_factor;
    u32 uptime_requirement;
    cd_linear_any net_auth; /* cd_auth_input */
} cd_p_transform_net;

/* Adds a validator of a net that anybody may validate. */
typedef struct cd_p_add_permissionless_validator {
    cd_p_base base;
    cd_p_validator validator;
    cd_hash32 net_id;
    cd_linear_any signer;           /* nothing, or cd_p_pop */
    cd_linear_list stake;           /* cd_p_output */
    cd_linear_any validation_owner; /* cd_owners */
    cd_linear_any delegation_owner; /* cd_owners */
    u32 shares;
} cd_p_add_permissionless_validator;

/* Delegates to a validator of a net that anybody may validate. */
typedef struct cd_p_add_permissionless_delegator {
    cd_p_base base;
    cd_p_validator validator;
    cd_hash32 net_id;
    cd_linear_list stake;        /* cd_p_output */
    cd_linear_any rewards_owner; /* cd_owners */
} cd_p_add_permissionless_delegator;

/* Gives a net to other owners. */
typedef struct cd_p_transfer_net_ownership {
    cd_p_base base;
    cd_hash32 net_id;
    cd_linear_any net_auth;  /* cd_auth_input */
    cd_linear_any new_owner; /* cd_owners */
} cd_p_transfer_net_ownership;

/* Turns a net into an L1, with its first validators. */
typedef struct cd_p_convert_net_to_l1 {
    cd_p_base base;
    cd_hash32 net_id;
    cd_hash32 chain_id;
    cd_bytes address;
    cd_linear_list validators; /* cd_p_l1_validator */
    cd_linear_any net_auth;    /* cd_auth_input */
} cd_p_convert_net_to_l1;

/* Registers a validator of an L1, as a Warp message says. */
typedef struct cd_p_register_l1_validator {
    cd_p_base base;
    u64 balance;
    u8 pop[96];
    cd_bytes message;
} cd_p_register_l1_validator;

/* Changes the weight of a validator of an L1, as a Warp message says. */
typedef struct cd_p_set_l1_validator_weight {
    cd_p_base base;
    cd_bytes message;
} cd_p_set_l1_validator_weight;

/* Pays for a validator of an L1. */
typedef struct cd_p_increase_l1_balance {
    cd_p_base base;
    cd_hash32 validation_id;
    u64 balance;
} cd_p_increase_l1_balance;

/* Ends the payments for a validator of an L1. */
typedef struct cd_p_disable_l1_validator {
    cd_p_base base;
    cd_hash32 validation_id;
    cd_linear_any auth; /* cd_auth_input */
} cd_p_disable_l1_validator;

/* A transaction with its signatures. */
typedef struct cd_p_tx {
    cd_linear_any body;   /* a struct by its cd_p_tx_type; CD_P_BASE_TX: cd_p_base */
    cd_linear_list creds; /* cd_linear_any: cd_credential */
} cd_p_tx;

/* The table of cd_p_l1_owner. */
extern const cd_linear_type cd_p_l1_owner_type;

/* The tables of cd_p_tx, and of cd_p_output alone. */
extern const cd_linear_type cd_p_tx_table;
extern const cd_linear_type cd_p_output_table;

/* cd_p_body, cd_p_part make a union's value of a struct of that type, which is borrowed. A type that does not exist is
 * a bug of the caller. */
cd_linear_any cd_p_body(cd_p_tx_type type, void *v);
cd_linear_any cd_p_part(cd_p_part_type type, void *v);

/* The table of cd_utxo with the types of outputs that the P-Chain has. */
extern const cd_linear_type cd_p_utxo_table;

/* cd_p_case gives the row of the tables for a type ID of a transaction or of a part of one, for callers that make such
 * values themselves. An ID that no row has is a bug of the caller. */
const cd_linear_case *cd_p_case(u32 type);

/* cd_p_tx_id gives the ID: SHA-256 of the encoding with signatures. */
void cd_p_tx_id(cd_hash32 *out, const cd_p_tx *tx);

/* cd_p_tx_json writes a transaction with its ID. */
void cd_p_tx_json(cd_json_w *w, const cd_linear_place *place, const cd_p_tx *tx, const cd_hash32 *id);

#endif
