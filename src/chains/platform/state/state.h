/* chains/platform/state/state.h - the state of the P-Chain: what a block reads and changes, as records of a cd_kv.
 *
 *   state.h    time, fees, supply, last accepted block, transactions, blocks, reward UTXOs
 *   stakers.h  current and pending stakers         nets.h  nets, their owners and chains
 *   l1.h       validators of L1s, expiries         sets.h  who validates at a height
 *
 * A cd_pstate is a view: the base of the store, or a layer of store/overlay.h that a block writes. It holds nothing
 * itself, so what is read is always what the kv says. Writing is for layers (and for maps in memory): each call writes
 * its records at once; what failed has perhaps written some, and its layer is dropped. UTXOs are those of chains/utxo
 * on the same kv.
 *
 * Errors of everything here: CD_ENOENT where it says so, CD_ECORRUPT when a record is not what was written, what the
 * kv says. Outputs are untouched on failure. Threading: as the kv. [spec:pchain-xchain#5] */
#ifndef CD_PLATFORM_STATE_H
#define CD_PLATFORM_STATE_H

#include "base/mem/arena.h"
#include "codec/ids.h"
#include "store/kv.h"

/* The state of the P-Chain in a store. */
typedef struct cd_pstate {
    cd_kv *kv;
    u64 height; /* of the block that is being executed: changes of validators are noted under it. Readers: any */
} cd_pstate;

/* --- numbers of the chain --- */

/* Numbers of the chain as a whole. */
typedef enum cd_pstate_num {
    CD_PSTATE_TIME,         /* of the chain, seconds since 1970 */
    CD_PSTATE_FEE_CAPACITY, /* gas that the next block may use, as of the chain's time */
    CD_PSTATE_FEE_EXCESS,   /* gas */
    CD_PSTATE_L1_EXCESS,    /* validator-seconds above target */
    CD_PSTATE_ACCRUED_FEES, /* what a validator of an L1 would have paid since genesis, base units */
    CD_PSTATE_ACTIVE_L1,    /* validators of L1s that pay; kept by l1.h */
    CD_PSTATE_LAST_HEIGHT,  /* of the last accepted block */
    CD_PSTATE_NUM_CNT,
} cd_pstate_num;

/* cd_pstate_num_get gives a number; one that was never written is 0. */
cd_err cd_pstate_num_get(const cd_pstate *s, u64 *out, cd_pstate_num which) CD_CHECK;
cd_err cd_pstate_num_set(const cd_pstate *s, cd_pstate_num which, u64 v) CD_CHECK;

/* cd_pstate_last_get gives the ID of the last accepted block. Errors: CD_ENOENT in an empty store. _set notes it with
 * its height. */
cd_err cd_pstate_last_get(const cd_pstate *s, cd_hash32 *id) CD_CHECK;
cd_err cd_pstate_last_set(const cd_pstate *s, const cd_hash32 *id, u64 height) CD_CHECK;

/* cd_pstate_supply_get gives what exists of a net's staking asset, base units (zero ID: the primary network).
 * Errors: CD_ENOENT for a net whose stakers are not rewarded. */
cd_err cd_pstate_supply_get(const cd_pstate *s, u64 *out, const cd_hash32 *net) CD_CHECK;
cd_err cd_pstate_supply_set(const cd_pstate *s, const cd_hash32 *net, u64 v) CD_CHECK;

/* --- transactions, blocks --- */

/* What became of a transaction. The numbers are the original's. */
typedef enum cd_p_status {
    CD_P_STATUS_COMMITTED = 4,
    CD_P_STATUS_ABORTED = 5,
    CD_P_STATUS_PROCESSING = 6, /* not stored: in the pool, or in a block that is not decided */
    CD_P_STATUS_UNKNOWN = 7,    /* not stored */
    CD_P_STATUS_DROPPED = 8,    /* not stored */
} cd_p_status;

/* cd_pstate_tx_get gives the signed bytes (version in front; they lie in a) and the status. a or status may be NULL
 * when they are not wanted. Errors: CD_ENOENT. */
cd_err cd_pstate_tx_get(const cd_pstate *s, cd_bytes *tx, cd_p_status *status, cd_arena *a,
                        const cd_hash32 *id) CD_CHECK;
cd_err cd_pstate_tx_put(const cd_pstate *s, const cd_hash32 *id, cd_bytes tx, cd_p_status status) CD_CHECK;

/* cd_pstate_block_get gives the bytes of an accepted block (they lie in a). Errors: CD_ENOENT. */
cd_err cd_pstate_block_get(const cd_pstate *s, cd_bytes *out, cd_arena *a, const cd_hash32 *id) CD_CHECK;
/* cd_pstate_block_id_get gives the ID of the accepted block at a height. Errors: CD_ENOENT. */
cd_err cd_pstate_block_id_get(const cd_pstate *s, cd_hash32 *out, u64 height) CD_CHECK;
/* cd_pstate_block_put notes a block under its ID and its height. */
cd_err cd_pstate_block_put(const cd_pstate *s, const cd_hash32 *id, u64 height, cd_bytes block) CD_CHECK;

/* --- transactions of an address --- */

/* Where in the list of an address: behind this transaction. All zero: at its beginning. */
typedef struct cd_pstate_place {
    u64 height; /* of the block that accepted it */
    cd_hash32 tx_id;
} cd_pstate_place;

/* cd_pstate_list_tx notes in a batch for s->kv that a transaction of the block that is executed has spent what addr
 * owned, or has given it something; once, however often it is called. cd_pstate_listed gives at most max of them behind
 * `behind`, the newest first; those that were accepted before there was this list are not in it. They lie in a. */
void cd_pstate_list_tx(const cd_pstate *s, cd_kv_batch *b, const cd_addr20 *addr, const cd_hash32 *tx_id);
cd_err cd_pstate_listed(const cd_pstate *s, cd_pstate_place **out, usize *cnt, cd_arena *a, const cd_addr20 *addr,
                        const cd_pstate_place *behind, usize max) CD_CHECK;

/* --- rewards that were paid --- */

/* cd_pstate_reward_utxo_put notes the encoding of a UTXO (version in front) that a staker's transaction was rewarded
 * with; the UTXO itself is put into chains/utxo by the caller. _get gives them all, in the order they were put; they
 * lie in a. There are two at most for a validator, one for a delegator. */
cd_err cd_pstate_reward_utxo_put(const cd_pstate *s, const cd_hash32 *tx_id, u32 output_idx, cd_bytes utxo) CD_CHECK;
cd_err cd_pstate_reward_utxos_get(const cd_pstate *s, cd_bytes **out, usize *cnt, cd_arena *a,
                                  const cd_hash32 *tx_id) CD_CHECK;

#endif
