/* chains/evmchain/evm_vm_priv.h - the VM object as its API files see it. */
#ifndef CD_CHAINS_EVMCHAIN_EVM_VM_PRIV_H
#define CD_CHAINS_EVMCHAIN_EVM_VM_PRIV_H

#include "chains/evmchain/api/json.h"
#include "chains/evmchain/chain.h"
#include "rpc/param.h"
#include "vm/vm.h"

enum { CD__DEV_ACCOUNTS = 10 };

/* An account of the development network whose key everybody knows. */
typedef struct cd__dev_account {
    cd_addr20 addr;
    u8 secret[32];
} cd__dev_account;

typedef struct cd_evm_vm {
    cd_vm vm; /* first: the node is given its address */
    cd_vm_ctx ctx;
    cd_chain *chain;
    cd_txpool *pool;
    cd_chain_source head; /* reads the accepted state */
    cd_rpc_table *methods;
    cd_evm *call_evm; /* for simulated calls */
    cd_state *call_st;
    cd__dev_account dev[CD__DEV_ACCOUNTS];
    usize dev_cnt; /* 0 everywhere but on the dev network */
} cd_evm_vm;

/* The method rows of each file. */
extern const cd_rpc_method cd__api_chain[];
extern const usize cd__api_chain_cnt;
extern const cd_rpc_method cd__api_block[];
extern const usize cd__api_block_cnt;
extern const cd_rpc_method cd__api_logs[];
extern const usize cd__api_logs_cnt;
extern const cd_rpc_method cd__api_state[];
extern const usize cd__api_state_cnt;
extern const cd_rpc_method cd__api_call[];
extern const usize cd__api_call_cnt;
extern const cd_rpc_method cd__api_send[];
extern const usize cd__api_send_cnt;

CD_INLINE cd_evm_vm *cd__vm_of(const cd_rpc_call *call)
{
    return (cd_evm_vm *)call->ctx;
}

/* cd__api_number resolves a reference to the height of an accepted block; *found false when there is none (yet).
 * Fails the call beyond the head as eth-rpc.md says. */
cd_err cd__api_number(cd_rpc_call *call, u64 *out, bool *found, const cd_block_ref *ref) CD_CHECK;

/* cd__api_head_only fails the call unless ref names the head: older states are not kept. */
cd_err cd__api_head_only(cd_rpc_call *call, cd_json v, usize idx) CD_CHECK;

/* cd__api_store fails the call because of the store. */
cd_err cd__api_store(cd_rpc_call *call, cd_err e);

/* What a call or transaction object may say. */
typedef struct cd__tx_args {
    cd_tx tx; /* sender, to, value, data, access list, and what was given of the rest */
    bool has_from;
    bool has_gas;
    bool has_nonce;
    bool has_price; /* gasPrice, or one of the 1559 caps */
} cd__tx_args;

/* cd__api_tx_args reads parameter idx. */
cd_err cd__api_tx_args(cd_rpc_call *call, cd__tx_args *out, usize idx) CD_CHECK;

/* cd__api_estimate finds the gas limit with which a transaction succeeds, or fails the call with its error. */
cd_err cd__api_estimate(cd_rpc_call *call, u64 *out, const cd__tx_args *args) CD_CHECK;

/* cd__api_prices gives what a transaction without prices gets: tip, and a fee cap that outlasts some full blocks. */
cd_err cd__api_prices(cd_rpc_call *call, cd_u256 *tip, cd_u256 *fee_cap) CD_CHECK;

/* cd__api_base_fee gives the base fee of the block that would be built now. */
cd_err cd__api_base_fee(cd_rpc_call *call, cd_u256 *out) CD_CHECK;

#endif
