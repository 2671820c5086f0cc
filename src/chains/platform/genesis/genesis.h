/* chains/platform/genesis/genesis.h - the first state of the primary network: bytes that all nodes agree on, the block
 * that names them, and what they put into the state.
 *
 *   config ──► cd_pgenesis_build ──► bytes, IDs of the native asset and of the chains
 *                                     │
 *                                     └──► cd_pgenesis_apply ──► state, genesis block
 *
 * The genesis block is an Apricot commit block whose parent is SHA-256 of the bytes. Threading: pure.
 * [spec:pchain-xchain#10] */
#ifndef CD_PLATFORM_GENESIS_H
#define CD_PLATFORM_GENESIS_H

#include "chains/platform/genesis/config.h"
#include "chains/platform/state/reward.h"
#include "chains/platform/state/state.h"
#include "types/ptx.h"

/* A UTXO that is there from the beginning, and a word with it. */
typedef struct cd_pgenesis_utxo {
    cd_utxo utxo;
    cd_bytes message;
} cd_pgenesis_utxo;

/* What the bytes say. */
typedef struct cd_pgenesis_state {
    cd_linear_list utxos;      /* cd_pgenesis_utxo */
    cd_linear_list validators; /* cd_p_tx */
    cd_linear_list chains;     /* cd_p_tx: CD_P_CREATE_CHAIN */
    u64 time;                  /* seconds since 1970 */
    u64 supply;                /* base units */
    cd_bytes message;
} cd_pgenesis_state;

/* The table of cd_pgenesis_state. */
extern const cd_linear_type cd_pgenesis_table;

/* A chain that is there from the beginning. */
typedef struct cd_pgenesis_chain {
    cd_hash32 id;
    cd_hash32 vm_id;
    cd_bytes name;
    cd_bytes genesis;
} cd_pgenesis_chain;

/* What everybody asks of the bytes. */
typedef struct cd_pgenesis {
    cd_bytes bytes;
    cd_hash32 hash; /* SHA-256 of the bytes */
    cd_hash32 block_id;
    u8 block[46];
    cd_hash32 asset_id; /* native; zero when no chain is the X-Chain */
    cd_pgenesis_chain *chains;
    usize chain_cnt;
    cd_pgenesis_state state;
} cd_pgenesis;

/* cd_pgenesis_build makes the bytes of a config for a network; what comes out lies in a, or is borrowed from c.
 * Errors: CD_EINVAL with the reason (staked funds without stakers, a staker without funds, amounts beyond 64 bits). */
cd_err cd_pgenesis_build(cd_pgenesis *out, cd_arena *a, const cd_pgenesis_config *c, const cd_network *net,
                         cd_errinfo *why) CD_CHECK;

/* cd_pgenesis_read reads bytes that were built before; parts are borrowed from them and lie in a. Errors: those of
 * cd_linear_parse, CD_EINVAL when a transaction is of a kind that has no place there. */
cd_err cd_pgenesis_read(cd_pgenesis *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why) CD_CHECK;

/* cd_pgenesis_find finds a chain by its VM's name ("avm", "evm"); NULL: there is none. */
const cd_pgenesis_chain *cd_pgenesis_find(const cd_pgenesis *g, const char *vm);

/* cd_pgenesis_apply writes the state and the genesis block into s, which is empty. Errors: CD_EINVAL with the reason
 * (the key of a validator), the state's. */
cd_err cd_pgenesis_apply(const cd_pgenesis *g, const cd_pstate *s, const cd_reward_cfg *rewards,
                         cd_errinfo *why) CD_CHECK;

#endif
