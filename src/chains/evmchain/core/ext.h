/* chains/evmchain/core/ext.h - what a block does beside its transactions, as its extra data says: the seat of atomic
 * transactions (chains/evmchain/atomic), of which the chain knows nothing more.
 *
 *   parse ── form ──► verify ── check ──► transactions ── apply ──► accept ── put ──► in the store ── accepted
 *   build ── transactions ── fill ──►
 *
 * Threading: confined to the executor. [spec:evm-chain#9] */
#ifndef CD_CHAINS_EVMCHAIN_EXT_H
#define CD_CHAINS_EVMCHAIN_EXT_H

#include "evm/state/state.h"
#include "store/kv.h"
#include "types/block.h"
#include "types/ctx_gas.h"

struct cd_chain_block;

/* More gas than this is not used by the extra data of a block. */
enum { CD_CHAIN_EXT_GAS_MAX = CD_C_GAS_MAX };

/* Of all: CD_EINVAL with what is wrong, the store's errors. Blocks without extra data are not shown to them. */
typedef struct cd_chain_ext {
    /* form looks at the extra data alone, and gives the gas that it uses. */
    cd_err (*form)(void *ctx, u64 *gas, const cd_block *b, cd_errinfo *why);
    /* check looks at what it takes and leaves, on the block's parents. */
    cd_err (*check)(void *ctx, const struct cd_chain_block *b, cd_errinfo *why);
    /* apply changes the state behind the last transaction; paid gets the wei paid above what is asked for. */
    cd_err (*apply)(void *ctx, const struct cd_chain_block *b, cd_state *st, cd_u256 *paid, cd_errinfo *why);
    /* fill chooses extra data of at most gas_max for a block whose parent and header stand, and applies it; it lies in
     * the block's arena. Nothing is chosen where nothing fits. */
    cd_err (*fill)(void *ctx, struct cd_chain_block *b, cd_state *st, u64 gas_max, u64 *gas, cd_u256 *paid);
    /* put appends what accepting b writes, behind all that the chain itself writes; it may widen the batch. */
    cd_err (*put)(void *ctx, cd_kv_batch *batch, const struct cd_chain_block *b, cd_errinfo *why);
    /* accepted is told of every block that was accepted, with extra data or without. */
    void (*accepted)(void *ctx, const struct cd_chain_block *b);
    /* last gives the height of the newest accepted block that has extra data; 0: there is none. */
    cd_err (*last)(void *ctx, u64 *height);
    void *ctx;
} cd_chain_ext;

#endif
