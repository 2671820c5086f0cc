/* chains/evmchain/dev/dev_priv.h - the development network as its files see it. */
#ifndef CD_CHAINS_EVMCHAIN_DEV_DEV_PRIV_H
#define CD_CHAINS_EVMCHAIN_DEV_DEV_PRIV_H

#include "base/os/rng.h"
#include "chains/evmchain/dev/console.h"
#include "chains/evmchain/dev/dev.h"
#include "chains/evmchain/dev/names.h"
#include "chains/evmchain/dev/options.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/rpc/seat.h"
#include "chains/evmchain/rpc/sending/prices.h"

#include <stdatomic.h>

/* Blocks that are made in one go: the network does nothing else meanwhile. */
enum { CD__DEV_MINE_MAX = 10000000 };

enum { CD__DEV_ACCOUNTS = 10 };

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
    u64 gas_limit; /* gas limit of the following blocks; 0: as the rules say */
    u64 step;      /* seconds between blocks; counts when has_step */
    bool has_step;
    bool has_coinbase;
    cd_addr20 coinbase;
} cd__dev_lasting;

typedef struct cd__dev_snapshot {
    u64 id;
    u64 version; /* version of the state (cd_chain_version) */
    i64 wall;    /* Unix seconds when it was taken */
    cd_txpool_copy *pool;
    cd__dev_once once;
    cd__dev_lasting lasting;
} cd__dev_snapshot;

struct cd_dev {
    cd_api_dev hooks; /* first: methods are given its address */
    cd_api *api;
    cd_kv *kv;
    cd_bytes genesis;
    const cd_dev_options *options; /* NULL: nothing out of the ordinary */
    cd_api_account accounts[CD__DEV_ACCOUNTS];
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
    u64 last_block_wall_ms; /* when the last one was; 0: none since the start */
    cd_console *console;
    cd_names *names; /* names of contracts, functions and errors */
    cd_rng rng;
    bool throws_on_revert; /* the rest as in dev/options.h */
    const char *dump_file;
    u64 dump_every_ns;
    u64 dump_at_ns; /* monotonic; when the next one is due */
};

/* cd__dev_save_state writes the state where it was asked for; a failure is logged. */
void cd__dev_save_state(cd_dev *d);

/* The hooks of rpc/api.h, which says what they do. cd__dev_sent: with automine on, the transaction is in a block
 * afterwards if it is executable, and refused when its fee cap is too low for that. [spec:dev-rpc#2.1] cd__dev_watched:
 * [spec:dev-rpc#2.7] */
void cd__dev_next(const cd_api_dev *dev, cd_build_cfg *out);
cd_err cd__dev_sent(cd_rpc_call *call, const cd_hash32 *hash) CD_CHECK;
bool cd__dev_may_send(const cd_api_dev *dev, const cd_addr20 *addr);
cd_err cd__dev_watched(const cd_api_dev *dev, cd_evm *evm, cd_err (*run)(void *arg), void *arg) CD_CHECK;

/* cd__dev_derive_keys makes the accounts whose keys everybody knows. Errors: CD_EKEY (never, for the phrase we use). */
cd_err cd__dev_derive_keys(cd_api_account out[CD__DEV_ACCOUNTS]) CD_CHECK;

/* cd__dev_of borrows the development network's own state from the VM that serves the call. */
CD_INLINE cd_dev *cd__dev_of(const cd_rpc_call *call)
{
    return (cd_dev *)(void *)cd_api_of(call)->dev;
}

/* cd__dev_mine_one makes one block of what the pool holds, empty if need be. */
cd_err cd__dev_mine_one(cd_dev *d, cd_errinfo *why) CD_CHECK;

/* cd__dev_make_empty makes cnt (1 or more) empty blocks, interval seconds apart; wish is for the first. Errors: as
 * those of the engine; blocks before a failure stay. */
cd_err cd__dev_make_empty(cd_dev *d, u64 cnt, u64 interval, const cd_header_wish *wish, cd_errinfo *why) CD_CHECK;

/* cd__dev_save stores what must outlive a restart. */
cd_err cd__dev_save(cd_dev *d, cd_errinfo *why) CD_CHECK;

/* cd__dev_restart_state: switches, snapshots, impersonation and one-shot values as at the start of the node. */
void cd__dev_restart_state(cd_dev *d);

/* cd__dev_forget_snapshots ends all snapshots from place idx on. */
void cd__dev_forget_snapshots(cd_dev *d, usize idx);

/* cd__dev_wall gives the wall clock in seconds, cd__dev_head the head's header. */
i64 cd__dev_wall(const cd_dev *d);
const cd_header *cd__dev_head(const cd_dev *d);

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
