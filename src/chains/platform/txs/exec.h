/* chains/platform/txs/exec.h - carries transactions out on a state.
 *
 *   well-formed? ─► allowed? ─► stake, periods, messages? ─► inputs cover outputs, burns and fee? ─► write
 *
 * Everything that can refuse a transaction is asked before the first record is written, so one that is refused leaves
 * nothing behind. Checks, their order and words are the original's. Time is the chain's: nothing here knows the clock
 * of this machine. What other chains shall see is gathered, and handed to shared memory when the block is accepted.
 * Threading: confined to the owner of the state. [spec:pchain-xchain#4] [spec:pchain-xchain#9] */
#ifndef CD_CHAINS_PLATFORM_TXS_EXEC_H
#define CD_CHAINS_PLATFORM_TXS_EXEC_H

#include "chains/platform/state/state.h"
#include "chains/platform/txs/rules.h"
#include "chains/platform/txs/tx.h"
#include "chains/utxo/fx.h"
#include "vm/shared.h"
#include "vm/validators.h"

/* What a block moves between chains, as it grows. All zero is nothing. */
typedef struct cd_p_moves {
    cd_vm_shared_change *changes; /* a peer each */
    usize cnt;
    usize cap;
    cd_hash32 *taken; /* IDs of UTXOs of other chains that were consumed */
    usize taken_cnt;
    usize taken_cap;
} cd_p_moves;

/* Under what transactions are carried out. Everything is borrowed. */
typedef struct cd_p_exec {
    const cd_p_rules *rules;
    const cd_pstate *state; /* what is read and written */
    cd_fx *fx;
    const cd_vm_shared *shared; /* NULL: no other chain */
    u64 price;                  /* base units a gas: cd_p_price */
    bool is_bootstrapped;       /* else other chains may be behind: what is imported is believed */
    cd_p_moves *moves;
    cd_arena *arena; /* of the block: what moves holds */
} cd_p_exec;

/* cd_p_price gives the price of gas as of a state's time. */
cd_err cd_p_price(u64 *out, const cd_pstate *s, const cd_p_rules *rules) CD_CHECK;

/* cd_p_exec_standard carries out a transaction that any block may hold, and notes it as committed. Errors: CD_EINVAL
 * and like with what is wrong with it; the store's. */
cd_err cd_p_exec_standard(cd_p_exec *x, const cd_ptx *tx, cd_errinfo *why) CD_CHECK;

/* cd_p_exec_reward ends the staker that a proposal names: once as it is with the reward (on commit), once without (on
 * abort). Both states hold the same when it begins. Errors as above. */
cd_err cd_p_exec_reward(const cd_pstate *commit, const cd_pstate *abort, const cd_ptx *tx, cd_errinfo *why) CD_CHECK;

/* cd_p_warp_check verifies the message of a transaction that has one against the validators of its source as they are
 * at a height of this chain. Errors: CD_EINVAL, CD_ESIG, those of reading it. */
cd_err cd_p_warp_check(const cd_p_tx *tx, const cd_vm_validators *validators, u32 network_id, u64 height,
                       cd_errinfo *why) CD_CHECK;

#endif
