/* chains/evmchain/api/trial.h - a message tried on the state behind an accepted block, and forgotten: eth_call and its
 * relatives.
 *
 *   view ──► state behind the block ──► overrides ──► run ──► result      run again: from the same state
 *
 * Interpreter and state are kept from one request to the next. Threading: a trial is confined to its request, any thread;
 * the store of idle ones is shared. [spec:eth-rpc#4] [spec:eth-rpc#5] */
#ifndef CD_CHAINS_EVMCHAIN_API_TRIAL_H
#define CD_CHAINS_EVMCHAIN_API_TRIAL_H

#include "base/thread.h"
#include "chains/evmchain/view.h"
#include "rpc/param.h"

/* Which parameters of the call say on what it is tried; past the last one: nothing does. */
typedef struct cd__trial_args {
    usize block;
    usize state;           /* overrides */
    usize env;             /* overrides of the block */
    bool is_pending_meant; /* without a block, a development network takes the pending one */
} cd__trial_args;

typedef struct cd__trial {
    cd_rpc_call *call;
    const cd_chain_rules *rules;
    cd__trial_args args;
    cd_view_source src;
    cd_block_env env;
    const cd_precompile_table *precompiles;
    cd_precompile_table *moved; /* NULL: none is another than the rules say */
    cd_state *st;
    cd_evm *evm;
    struct cd__trial *next; /* among the idle */
} cd__trial;

/* The idle ones of a chain. */
typedef struct cd__trials {
    cd_mutex lock; /* protects the rest */
    cd__trial *idle;
} cd__trials;

/* cd__trials_init makes the empty store; cd__trials_fini frees the idle ones, every trial has been closed before. */
void cd__trials_init(cd__trials *ts);
void cd__trials_fini(cd__trials *ts);

/* cd__trials_take lends interpreter and state of an idle trial, or of a new one; cd__trials_give takes them back, whatever
 * state they are in. */
cd__trial *cd__trials_take(cd__trials *ts) __attribute__((returns_nonnull));
void cd__trials_give(cd__trials *ts, cd__trial *t);

/* cd__trial_open stands behind the block of the parameter; close ends that. Errors are the call's. */
cd_err cd__trial_open(cd__trial **out, cd_rpc_call *call, const cd__trial_args *args) CD_CHECK;
void cd__trial_close(cd__trial *t); /* NULL is allowed */

/* cd__trial_reset goes back to the state behind the block, overrides made. */
cd_err cd__trial_reset(cd__trial *t) CD_CHECK;

/* cd__trial_run resets and runs tx as a call: nonce and kind of the sender do not matter, and who offers no price pays
 * none. *bad is why it could not run. Errors: the store's and the overrides', which are the call's. res is valid until the next run. */
cd_err cd__trial_run(cd__trial *t, cd_tx_result *res, cd_tx_invalid *bad, const cd_tx *tx) CD_CHECK;

/* cd__trial_words gives go-ethereum's sentence for why tx cannot run, in the call's arena. */
const char *cd__trial_words(const cd__trial *t, cd_tx_invalid bad, const cd_tx *tx);

/* cd__trial_fail fails the call as the message failed. */
cd_err cd__trial_fail(cd_rpc_call *call, const cd_tx_result *res) CD_CHECK;

/* cd__trial_failure gives code and words of that, and data where there is any (else empty). */
typedef struct cd__trial_failure {
    int code;
    const char *words;
    bool has_data;
} cd__trial_failure;
cd__trial_failure cd__trial_failure_of(const cd_rpc_call *call, const cd_tx_result *res);

#endif
