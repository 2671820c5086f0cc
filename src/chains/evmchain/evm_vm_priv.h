/* chains/evmchain/evm_vm_priv.h - the VM object as its API files see it. */
#ifndef CD_CHAINS_EVMCHAIN_EVM_VM_PRIV_H
#define CD_CHAINS_EVMCHAIN_EVM_VM_PRIV_H

#include "base/metrics.h"
#include "chains/evmchain/api/json.h"
#include "chains/evmchain/api/service.h"
#include "chains/evmchain/chain.h"
#include "chains/evmchain/config/vm_config.h"
#include "chains/evmchain/view.h"
#include "chains/evmchain/world/proof.h"
#include "rpc/param.h"
#include "vm/vm.h"

enum { CD__DEV_ACCOUNTS = 10 };

/* An account of the development network whose key everybody knows. */
typedef struct cd__dev_account {
    cd_addr20 addr;
    u8 secret[32];
} cd__dev_account;

/* What the operator sees of the chain; NULL where nobody looks. */
typedef struct cd__vm_metrics {
    cd_gauge *head;
    cd_gauge *pending;
    cd_gauge *queued;
    cd_gauge *state_bytes; /* reserved */
    cd_gauge *trie_bytes;
    cd_gauge *text_bytes;
    cd_gauge *trie_lag;
    cd_gauge *history;
} cd__vm_metrics;

typedef struct cd_evm_vm {
    cd_vm vm; /* first: the node is given its address */
    cd_vm_ctx ctx;
    cd_vm_config config;
    cd_arena config_arena; /* holds what config and pool borrow */
    cd_chain *chain;
    cd_txpool *pool;
    cd_chain_source head; /* reads the accepted state */
    cd__api api;
    struct cd_feed *feed; /* what the chain accepts, for subscribers (feed/feed.h) */
    cd_vm_handler handlers[3];
    usize handlers_cnt;
    cd__dev_account dev[CD__DEV_ACCOUNTS];
    usize dev_cnt;                /* 0 everywhere but on the dev network */
    struct cd__dev *dev_net;      /* NULL likewise (dev/dev.h) */
    struct cd_keystore *keystore; /* accounts of the node; NULL: none (api/keys.h) */
    cd__vm_metrics metrics;
    void (*news)(void *ctx); /* NULL: nobody watches the head */
    void *news_ctx;
} cd_evm_vm;

/* The handlers of api/methods.def and api/admin.def. */
#define X CD_RPC_DECL
#include "chains/evmchain/api/methods.def"
#undef X
#define X CD_RPC_DECL
#include "chains/evmchain/api/admin.def"
#undef X

CD_INLINE cd_evm_vm *cd__vm_of(const cd_rpc_call *call)
{
    return (cd_evm_vm *)call->ctx;
}

/* cd__vm_next gives what a block that is built now goes by; it borrows from the VM. cd__vm_follow lets pool and readers
 * follow a changed head, or changed wishes. Errors: the store's. */
void cd__vm_next(const cd_evm_vm *e, cd_build_cfg *out);
cd_err cd__vm_follow(cd_evm_vm *e) CD_CHECK;

/* cd__vm_sent follows the arrival of a transaction in the pool: asks for a block, and on a development network sees it
 * made. Fails the call when the transaction is not taken after all. */
cd_err cd__vm_sent(cd_rpc_call *call, const cd_hash32 *hash) CD_CHECK;

/* cd__vm_on_owner calls job(arg) on the thread that owns the chain and waits, from a handler in whatever lane. Fails the call
 * when too much waits there already. */
cd_err cd__vm_on_owner(cd_rpc_call *call, void (*job)(void *arg), void *arg) CD_CHECK;

/* cd__vm_metrics_open makes the metrics, where there is a registry; cd__vm_metrics_follow brings them up to date. */
void cd__vm_metrics_open(cd_evm_vm *e);
void cd__vm_metrics_follow(cd_evm_vm *e);

/* cd__dev_account_of gives the account of an address, or NULL. */
const cd__dev_account *cd__dev_account_of(const cd_evm_vm *e, const cd_addr20 *addr);

/* cd__api_send_raw puts a signed transaction into the pool and answers with its hash. OWNER. */
cd_err cd__api_send_raw(cd_rpc_call *call, cd_bytes raw) CD_CHECK;

/* cd__api_send serves eth_sendTransaction; needs_no_key: whoever sends need not be one of ours (development network). */
cd_err cd__api_send(cd_rpc_call *call, bool needs_no_key) CD_CHECK;

/* What the calls of one request share. */
typedef struct cd__api_scope {
    cd_view *view;       /* NULL until somebody asks */
    cd_world_past *past; /* tries of past_number, likewise */
    u64 past_number;
    struct cd__dev_pending *pending; /* likewise (dev/pending.c) */
} cd__api_scope;

/* cd__api_view lends the view that all calls of the request read, taken when the first one asks. In every lane. */
CD_INLINE cd_view *cd__api_view(const cd_rpc_call *call)
{
    cd__api_scope *scope = call->scope;
    if (scope->view == NULL) {
        scope->view = cd_view_newest(cd__vm_of(call)->chain);
    }
    return scope->view;
}

/* cd__api_renew lets the calls of the request that follow read a new view: this one changed something. */
void cd__api_renew(cd_rpc_call *call);

/* cd__api_number resolves a reference to the height of an accepted block; *found false when there is none (yet).
 * Fails the call beyond the head as eth-rpc.md says. */
cd_err cd__api_number(cd_rpc_call *call, u64 *out, bool *found, const cd_block_ref *ref) CD_CHECK;

/* cd__api_source reads the state that a block reference names, parameter idx; ended with cd_view_source_fini. In lane TRY it
 * reads from memory only; CD_EAGAIN, from it or from a read, is then the handler's. */
cd_err cd__api_source(cd_rpc_call *call, cd_view_source *out, cd_json v, usize idx) CD_CHECK;

/* cd__api_account reads an account in the state that a block reference names, parameter idx; an empty one where there is
 * none. In lane TRY as cd__api_source. */
cd_err cd__api_account(cd_rpc_call *call, cd_account *out, const cd_addr20 *addr, cd_json v,
                       usize idx) CD_CHECK;

/* cd__api_store fails the call because of the store, or hands on the CD_EAGAIN of lane TRY. */
cd_err cd__api_store(cd_rpc_call *call, cd_err e);

/* cd__api_no_state does so because the state of a block could not be read: with go-ethereum's words when it is not kept. */
cd_err cd__api_no_state(cd_rpc_call *call, cd_err e, u64 number);

/* cd__api_no_role gives what stands before the words of a refused role. */
const char *cd__api_no_role(const cd_rpc_call *call);

/* cd__api_need fails the call without parameter idx; a development network does without. */
cd_err cd__api_need(cd_rpc_call *call, usize idx) CD_CHECK;

/* cd__api_slot_key reads the key of a slot: up to 32 bytes of hex. */
cd_err cd__api_slot_key(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx) CD_CHECK;

/* What a call or transaction object may say. */
typedef struct cd__tx_args {
    cd_tx tx; /* sender, to, value, data, access list, and what was given of the rest */
    bool has_from;
    bool has_gas;
    bool has_nonce;
    bool has_price; /* gasPrice, or one of the 1559 caps */
    bool has_fee_cap;
    bool has_tip_cap;
} cd__tx_args;

/* cd__api_tx_args reads parameter idx, _of a part of it. */
cd_err cd__api_tx_args(cd_rpc_call *call, cd__tx_args *out, usize idx) CD_CHECK;
cd_err cd__api_tx_args_of(cd_rpc_call *call, cd__tx_args *out, cd_json v, usize idx) CD_CHECK;

/* cd__api_gas gives the gas that a call is tried with: what it says, capped. */
u64 cd__api_gas(const cd_rpc_call *call, const cd__tx_args *args);

/* cd__api_estimate finds the gas limit with which a transaction succeeds, or fails the call with its error. */
cd_err cd__api_estimate(cd_rpc_call *call, u64 *out, const cd__tx_args *args) CD_CHECK;

/* cd__api_write_filled writes {raw, tx}, tx in the form and order of go-ethereum's own transactions. */
void cd__api_write_filled(cd_json_w *w, const cd_tx *tx, bool is_signed);

/* cd__api_complete fills in what the sender of a transaction left out: nonce, prices, gas. OWNER. */
cd_err cd__api_complete(cd_rpc_call *call, cd__tx_args *args) CD_CHECK;

/* cd__api_tip suggests a tip. */
cd_err cd__api_tip(cd_rpc_call *call, cd_u256 *out) CD_CHECK;

/* cd__api_prices gives what a transaction without prices gets: tip, and a fee cap that outlasts some full blocks. */
cd_err cd__api_prices(cd_rpc_call *call, cd_u256 *tip, cd_u256 *fee_cap) CD_CHECK;

/* cd__api_base_fee gives the base fee of the block that would be built now. */
cd_err cd__api_base_fee(cd_rpc_call *call, cd_u256 *out) CD_CHECK;

#endif
