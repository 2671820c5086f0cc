/* apps/cli/remote/evm.h - a chain of the EVM behind a node: contracts are asked, transactions sent.
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_EVM_H
#define CD_APPS_CLI_EVM_H

#include "codec/abi.h"
#include "remote/remote.h"

/* A chain; everything is borrowed, what is read lies in mem. */
typedef struct cd__evm {
    cd__remote *node;
    cd_arena *mem;
    const char *path; /* path of its methods: "/ext/bc/C/rpc" */
    u64 chain_id;
} cd__evm;

/* cd__evm_open asks for the chain's number. Errors: those of cd__remote_ask. */
cd_err cd__evm_open(cd__evm *out, cd__remote *node, cd_arena *mem, const char *path, cd_errinfo *why) CD_CHECK;

/* cd__evm_data encodes a call: signature "transfer(address,uint256)", its cnt arguments. Errors: those of cd_abi_enc.
 * */
cd_err cd__evm_data(cd_bytes *out, cd_arena *mem, const char *signature, const cd_abi_val *args, usize cnt,
                    cd_errinfo *why) CD_CHECK;

/* cd__evm_read asks a contract; result is the type of what it returns: "(uint64)". out->items are the members. Errors:
 * those of cd__remote_ask, of decoding. */
cd_err cd__evm_read(cd__evm *x, cd_abi_val *out, const cd_addr20 *to, cd_bytes data, const char *result,
                    cd_errinfo *why) CD_CHECK;

/* A transaction. */
typedef struct cd__evm_tx {
    cd_addr20 from;
    bool is_create; /* data makes a contract; there is no `to` */
    cd_addr20 to;
    cd_u256 value; /* wei */
    cd_bytes data;
    u64 gas;                /* 0: the node estimates it */
    cd_bytes predicate;     /* signed Warp message that goes with it; empty: none */
    cd_addr20 predicate_to; /* precompile that it is for */
} cd__evm_tx;

/* cd__evm_issue signs with a key of 32 bytes and sends. It offers twice the base fee, as wallets do; only what the
 * block asks for is paid. Errors: those of cd__remote_ask; the node's words when the call would fail. */
cd_err cd__evm_issue(cd__evm *x, cd_hash32 *hash, const cd__evm_tx *tx, const u8 *key, cd_errinfo *why) CD_CHECK;

/* cd__evm_await waits until it is in a block; is_good: it was not reverted. created (NULL is allowed) is the contract
 * that it has made. Errors: CD_ETIMEOUT. */
cd_err cd__evm_await(cd__evm *x, bool *is_good, cd_addr20 *created, const cd_hash32 *hash, cd_errinfo *why) CD_CHECK;

/* cd__hex_text gives bytes as 0x…, in mem. */
const char *cd__hex_text(cd_arena *mem, cd_bytes b);

#endif
