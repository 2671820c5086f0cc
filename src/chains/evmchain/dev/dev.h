/* chains/evmchain/dev/dev.h - what an EVM chain does on a development network only.
 *
 *   evm_ hardhat_ anvil_ methods ──► switches, clock, one-shot values ──► next ──► the next block's wishes
 *                       │                                                              │
 *                       ├──► edits of the state (chain.h)        send, timer ──► mine ──► block, log lines
 *                       └──► snapshots: version of the state, copy of the pool, clock
 *
 * Blocks are asked for here and made by the node's engine, at once (rpc/seat.h). What must outlive a restart (clock,
 * coinbase, gas limit, timestamp interval) is one record of the store. Methods come to it by the hooks of rpc/api.h.
 * Threading: confined to the executor, but for what those hooks allow. [spec:dev-rpc] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_DEV_H
#define CD_CHAINS_EVMCHAIN_DEV_DEV_H

#include "chains/evmchain/rpc/api.h"
#include "store/kv.h"

typedef struct cd_dev cd_dev;

/* What it stands on; everything is borrowed and outlives it. */
typedef struct cd_dev_cfg {
    cd_api *api;
    cd_kv *kv;                            /* the chain's part of the store */
    const cd_rng *rng;                    /* where its own generator starts from; NULL: the system's */
    cd_bytes genesis;                     /* the genesis document, for dumps */
    const struct cd_dev_options *options; /* what its operator asks for; NULL: nothing out of the ordinary */
} cd_dev_cfg;

/* cd_dev_open takes up what the store kept, of a chain that is open, and adds itself to cfg->api: its hooks, the
 * accounts that everybody knows. Errors: the store's. cd_dev_close (NULL allowed) writes the state where that was asked
 * for, and takes it off again. */
cd_err cd_dev_open(cd_dev **out, const cd_dev_cfg *cfg) CD_CHECK;
void cd_dev_close(cd_dev *d);

/* cd_dev_start does what the operator asks for at the start: before requests come, with the pool open. Errors: of
 * files, of what is in them. */
cd_err cd_dev_start(cd_dev *d, cd_errinfo *why) CD_CHECK;

/* cd_dev_wake makes the block that is due by the clock and gives when to be called next (monotonic ns; UINT64_MAX: no
 * need). */
u64 cd_dev_wake(cd_dev *d);

#endif
