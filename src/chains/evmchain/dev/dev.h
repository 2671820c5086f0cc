/* chains/evmchain/dev/dev.h - what the EVM chain's virtual machine does on a development network only.
 *
 *   evm_ hardhat_ anvil_ methods ──► switches, clock, one-shot values ──► cd__dev_next ──► the next block's wishes
 *                       │                                                                   │
 *                       ├──► edits of the state (chain.h)             send, timer ──► cd__dev_mine ──► block, log lines
 *                       └──► snapshots: version of the state, copy of the pool, clock
 *
 * Blocks are made here, at once, and not by the node's engine. What must outlive a restart (clock, coinbase, gas limit,
 * timestamp interval) is one record of the store. Threading: confined to the executor. [spec:dev-rpc] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_DEV_H
#define CD_CHAINS_EVMCHAIN_DEV_DEV_H

#include "base/rng.h"
#include "chains/evmchain/dev/console.h"
#include "chains/evmchain/dev/names.h"
#include "chains/evmchain/evm_vm_priv.h"

#include <stdatomic.h>

/* Blocks that are made in one go: the network does nothing else meanwhile. */
enum { CD__DEV_MINE_MAX = 10000000 };

/* What holds for the next block only. */
typedef struct cd__dev_once {
    bool has_time;
    bool has_base_fee;
    bool has_randao;
    u64 time;
    cd_u256 base_fee;
    cd_hash32 randao;
} cd__dev_once;

/* What holds until it is changed, a restart included. */
typedef struct cd__dev_lasting {
    i64 offset;    /* seconds that the chain's clock is ahead of the wall's */
    u64 gas_limit; /* 0 = the rules' */
    u64 step;      /* seconds between blocks; counts when has_step */
    bool has_step;
    bool has_coinbase;
    cd_addr20 coinbase;
} cd__dev_lasting;

typedef struct cd__dev_snapshot {
    u64 id;
    u64 version; /* of the state (cd_chain_version) */
    i64 wall;    /* Unix seconds when it was taken */
    cd_txpool_copy *pool;
    cd__dev_once once;
    cd__dev_lasting lasting;
} cd__dev_snapshot;

typedef struct cd__dev {
    cd_evm_vm *vm;
    cd__dev_once once;
    cd__dev_lasting lasting;
    bool automine;
    bool auto_impersonate;
    atomic_bool is_logging; /* asked by readers too */
    u64 interval_min_ms;    /* 0 = no blocks by the clock */
    u64 interval_max_ms;
    u64 interval_at_ns; /* monotonic; when the next one is due */
    cd_addr20 *impersonated;
    usize impersonated_cnt;
    cd__dev_snapshot *snapshots; /* ascending by id */
    usize snapshot_cnt;
    u64 next_snapshot;
    cd_hash32 instance;     /* random, another one after every start and reset */
    u64 last_block_wall_ms; /* 0: none since the start */
    cd_console *console;
    cd_names *names; /* of contracts */
    cd_rng rng;
    bool throws_on_revert; /* the rest as in dev/options.h */
    const char *dump_file;
    u64 dump_every_ns;
    u64 dump_at_ns; /* monotonic; when the next one is due */
} cd__dev;

/* cd__dev_open takes up what the store kept. Errors: the store's. cd__dev_close: NULL is allowed. */
cd_err cd__dev_open(cd__dev **out, cd_evm_vm *vm) CD_CHECK;
void cd__dev_close(cd__dev *d);

/* cd__dev_start does what the operator asks for at the start (the context's dev): before requests come, with the pool open.
 * _save_state writes the state where it was asked for; a failure is logged. */
cd_err cd__dev_start(cd__dev *d, cd_errinfo *why) CD_CHECK;
void cd__dev_save_state(cd__dev *d);

/* cd__dev_add_methods adds the rows of dev/methods.def to a table that has the ordinary ones. */
void cd__dev_add_methods(cd_rpc_table *t);

/* cd__dev_next gives what a block made now goes by; it borrows from d. Nothing is used up. */
void cd__dev_next(const cd__dev *d, cd_build_cfg *out);

/* cd__dev_wake makes the block that is due by the clock and gives when to be called next (monotonic ns; UINT64_MAX: no need). */
u64 cd__dev_wake(cd__dev *d);

/* cd__dev_sent follows the arrival of a transaction in the pool: with automine on it is in a block afterwards, if it is
 * executable. Fails the call, without the transaction, when its fee cap is too low for that. [spec:dev-rpc#2.1] */
cd_err cd__dev_sent(cd_rpc_call *call, const cd_hash32 *hash) CD_CHECK;

/* cd__dev_may_send: addr is impersonated, its transactions need no signature. */
bool cd__dev_may_send(const cd__dev *d, const cd_addr20 *addr);

/* cd__dev_pending gives the pending block, executed, when ref asks for it, else NULL; its hash is zero. It is made once a
 * request, in the OWNER lane. cd__dev_pending_state reads the state behind it. Errors are the call's. */
cd_err cd__dev_pending(cd_rpc_call *call, const cd_accepted **out,
                       const cd_block_ref *ref) CD_CHECK;
cd_state_source *cd__dev_pending_state(const cd_rpc_call *call);
void cd__dev_pending_free(struct cd__dev_pending *p); /* NULL is allowed */

/* cd__dev_watch has w see the next message that evm runs; _unwatch tells what it printed, and why it failed. From any
 * thread; nothing happens when d is NULL. [spec:dev-rpc#2.7] */
void cd__dev_watch(const cd__dev *d, cd_console_watch *w, cd_evm *evm);
void cd__dev_unwatch(const cd__dev *d, cd_console_watch *w, cd_evm *evm);

/* cd__dev_write_impersonated writes those that are, elements of an array. cd__dev_coinbase gives the coinbase that was chosen,
 * or NULL. d is NULL where there is no development network. */
void cd__dev_write_impersonated(const cd__dev *d, cd_json_w *w);
const cd_addr20 *cd__dev_coinbase(const cd__dev *d);

/* --- for the files of this folder --------------------------------------------------------------- */

/* cd__dev_of borrows the development network's own state from the VM that serves the call. */
CD_INLINE cd__dev *cd__dev_of(const cd_rpc_call *call)
{
    return cd__vm_of(call)->dev_net;
}

/* cd__dev_mine_one makes one block of what the pool holds, empty if need be. */
cd_err cd__dev_mine_one(cd__dev *d, cd_errinfo *why) CD_CHECK;

/* cd__dev_save stores what must outlive a restart. */
cd_err cd__dev_save(cd__dev *d, cd_errinfo *why) CD_CHECK;

/* cd__dev_restart_state: switches, snapshots, impersonation and one-shot values as at the start of the node. */
void cd__dev_restart_state(cd__dev *d);

/* cd__dev_forget_snapshots ends all snapshots from place idx on. */
void cd__dev_forget_snapshots(cd__dev *d, usize idx);

/* cd__dev_wall gives the wall clock in seconds, cd__dev_head the head's header. */
i64 cd__dev_wall(void);
const cd_header *cd__dev_head(const cd__dev *d);

/* cd__dev_setter writes the result of a method that sets something: true, or null in Anvil's names. _setter_save stores
 * the lasting values and lets the pool follow them before. [spec:dev-rpc#1] */
cd_err cd__dev_setter(cd_rpc_call *call) CD_CHECK;
cd_err cd__dev_setter_save(cd_rpc_call *call) CD_CHECK;

/* cd__dev_is_anvil: the call came under a name of Anvil's. */
bool cd__dev_is_anvil(const cd_rpc_call *call);

/* cd__dev_n reads a number: JSON integer, hexadecimal or decimal text; _n64 one that fits 64 bits. */
cd_err cd__dev_n(cd_rpc_call *call, cd_u256 *out, usize idx) CD_CHECK;
cd_err cd__dev_n64(cd_rpc_call *call, u64 *out, usize idx) CD_CHECK;
cd_err cd__dev_n64_of(cd_rpc_call *call, u64 *out, cd_json v, usize idx) CD_CHECK;

/* cd__dev_fail fails the call for what why says; cd__dev_done passes CD_OK on. */
cd_err cd__dev_fail(cd_rpc_call *call, cd_err e, const cd_errinfo *why) CD_CHECK;
CD_INLINE cd_err cd__dev_done(cd_rpc_call *call, cd_err e, const cd_errinfo *why)
{
    return e == CD_OK ? CD_OK : cd__dev_fail(call, e, why);
}

/* cd__dev_edit changes the head's state and lets the pool follow. */
cd_err cd__dev_edit(cd_rpc_call *call, cd_chain_change *change, void *ctx) CD_CHECK;

/* The handlers of dev/methods.def. */
#define X(ns_, name_, fn_, lane_, required_, max_, schema_, summary_) cd_err fn_(cd_rpc_call *call);
#include "chains/evmchain/dev/methods.def"
#undef X

#endif
