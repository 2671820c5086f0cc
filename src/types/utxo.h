/* types/utxo.h - what transactions of the P- and X-Chain share: inputs, outputs, owners, credentials.
 *
 * Structures for codec/linear.h and their tables. Which types may stand in a union, and under which type IDs, is the
 * chain's to say (ptx.h). Lists are cd_linear_list of the type named behind them. Threading: pure.
 * [spec:pchain-xchain#3] */
#ifndef CD_TYPES_UTXO_H
#define CD_TYPES_UTXO_H

#include "codec/ids.h"
#include "codec/linear.h"

/* Who may spend: threshold of the addresses, from locktime (seconds) on. */
typedef struct cd_owners {
    u64 locktime;
    u32 threshold;
    cd_linear_list addrs; /* cd_addr20 */
} cd_owners;

/* An amount in base units, and who may spend it. */
typedef struct cd_transfer_output {
    u64 amount;
    cd_owners owners;
} cd_transfer_output;

/* An amount in base units that is spent, and who signed. */
typedef struct cd_transfer_input {
    u64 amount;
    cd_linear_list sig_indices; /* u32: which of the owners' addresses have signed */
} cd_transfer_input;

/* Proof that the owners of something allow what is done with it. */
typedef struct cd_auth_input {
    cd_linear_list sig_indices; /* u32 */
} cd_auth_input;

/* A recoverable signature of secp256k1. */
typedef struct cd_signature {
    u8 b[65]; /* r, s, recovery id (0 or 1) */
} cd_signature;

/* The signatures for one input. */
typedef struct cd_credential {
    cd_linear_list sigs; /* cd_signature */
} cd_credential;

/* An output or input that is locked for staking until locktime (seconds). */
typedef struct cd_locked {
    u64 locktime;
    cd_linear_any inner;
} cd_locked;

/* An unspent output: the one with index idx of its transaction. The chain's table says which types it may hold. */
typedef struct cd_utxo {
    cd_hash32 tx_id;
    u32 output_idx;
    cd_hash32 asset_id;
    cd_linear_any out;
} cd_utxo;

/* The tables of these structures. */
extern const cd_linear_type cd_owners_type;
extern const cd_linear_type cd_transfer_output_type;
extern const cd_linear_type cd_transfer_input_type;
extern const cd_linear_type cd_auth_input_type;
extern const cd_linear_type cd_credential_type;

#endif
