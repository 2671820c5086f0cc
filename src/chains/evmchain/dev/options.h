/* chains/evmchain/dev/options.h - what the operator of a development network asks for when it starts. Threading:
 * frozen. [spec:dev-rpc#3.5] [spec:dev-rpc#2.5] [spec:dev-rpc#2.6] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_OPTIONS_H
#define CD_CHAINS_EVMCHAIN_DEV_OPTIONS_H

#include "base/mem/buf.h"

/* All zero: nothing out of the ordinary. Everything is borrowed for as long as the chain is open. */
typedef struct cd_dev_options {
    const char *state_name;  /* file that state is from, for messages */
    cd_bytes state;          /* a dump to begin with, bare or compressed; empty: none */
    const char *dump_file;   /* where the state is written at the end; NULL: nowhere */
    u64 dump_every_s;        /* seconds between two writings before the end; 0: none */
    const char *const *abis; /* artifacts of compilers: folders or single files */
    usize abi_cnt;
    bool throws_on_revert; /* a transaction that fails in its block is an error for its sender */
} cd_dev_options;

/* cd_dev_state_genesis appends the genesis document that a dump's chain began with. Errors: CD_ENOENT when there is
 * none in it, those of cd__dump_open. */
cd_err cd_dev_state_genesis(cd_buf *out, cd_bytes state, cd_errinfo *why) CD_CHECK;

#endif
