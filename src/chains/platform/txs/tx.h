/* chains/platform/txs/tx.h - a transaction of the P-Chain with its bytes and hashes, and what all that spend or stake
 * have in common.
 *
 *   version ‖ body ‖ credentials       id = SHA-256 of all, hash = SHA-256 without the credentials: what is signed
 *
 * Everything lies in the arena that was given, or where the bytes were. Threading: pure. [spec:pchain-xchain#4] */
#ifndef CD_CHAINS_PLATFORM_TXS_TX_H
#define CD_CHAINS_PLATFORM_TXS_TX_H

#include "chains/platform/state/stakers.h"
#include "types/ptx.h"

/* A transaction. */
typedef struct cd_ptx {
    cd_hash32 id;
    cd_hash32 hash;
    cd_bytes bytes; /* signed, version in front */
    cd_p_tx tx;
} cd_ptx;

/* cd_ptx_parse reads signed bytes, which are borrowed. max bounds them (0: CD_LINEAR_SIZE_MAX). Errors: those of
 * cd_linear_parse. */
cd_err cd_ptx_parse(cd_ptx *out, cd_arena *a, cd_bytes bytes, usize max, cd_errinfo *why) CD_CHECK;

/* cd_ptx_make writes the bytes of a transaction that was built or stands in a block, and hashes them. */
void cd_ptx_make(cd_ptx *out, cd_arena *a, const cd_p_tx *tx);

/* cd_ptx_unsigned_len gives how many of the bytes come before the credentials. */
usize cd_ptx_unsigned_len(const cd_p_tx *tx, usize signed_len);

/* cd_ptx_base borrows what spends; NULL for the two types that spend nothing. */
const cd_p_base *cd_ptx_base(const cd_p_tx *tx);

/* cd_ptx_is_warp says whether a transaction carries a message, and borrows it. */
bool cd_ptx_is_warp(cd_bytes *message, const cd_p_tx *tx);

/* cd_ptx_inputs gives the IDs of all UTXOs that a transaction consumes, those of other chains included. */
void cd_ptx_inputs(cd_hash32 **out, usize *cnt, cd_arena *a, const cd_p_tx *tx);

/* What transactions that add a staker say. */
typedef struct cd_ptx_staker {
    cd_p_validator who;
    cd_hash32 net_id;
    const cd_linear_list *stake;       /* cd_p_output; NULL: permissioned, nothing is staked */
    const cd_owners *owner;            /* of the reward; NULL as above */
    const cd_owners *delegation_owner; /* of what its delegators leave a validator; NULL for others */
    const cd_p_pop *pop;               /* NULL: none */
    u32 shares;                        /* of its delegators' rewards, in parts of a million */
    bool is_legacy;                    /* as before Durango */
    cd_p_priority pending;
    cd_p_priority current;
} cd_ptx_staker;

/* cd_ptx_staker_of: false for transactions that add none. */
bool cd_ptx_staker_of(cd_ptx_staker *out, const cd_p_tx *tx);

#endif
