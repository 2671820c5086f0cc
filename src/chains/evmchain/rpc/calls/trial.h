/* chains/evmchain/rpc/calls/trial.h - a message tried on the state behind an accepted block, and forgotten: eth_call
 * and its relatives.
 *
 *   view ──► state behind the block ──► overrides ──► run ──► result      run again: from the same state
 *
 * Interpreter and state are kept from one request to the next. Threading: a trial is confined to its request, any
 * thread; the store of idle ones is shared. [spec:eth-rpc#4] [spec:eth-rpc#5] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_TRIAL_H
#define CD_CHAINS_EVMCHAIN_RPC_TRIAL_H

#include "base/thread/thread.h"
#include "chains/evmchain/core/view.h"
#include "rpc/param.h"

/* Which parameters of the call say on what it is tried; past the last one: nothing does. */
typedef struct cd_trial_args {
    usize block;
    usize state;           /* overrides */
    usize env;             /* overrides of the block */
    bool is_pending_meant; /* without a block, a development network takes the pending one */
} cd_trial_args;

/* A state and an interpreter on which a call is tried; lent from call to call. */
typedef struct cd_trial {
    cd_rpc_call *call;
    const cd_chain_rules *rules;
    cd_trial_args args;
    cd_view_source src;
    cd_block_env env;
    const cd_precompile_table *precompiles;
    cd_precompile_table *moved; /* precompiles as overrides have moved them; NULL: none was moved */
    cd_state *st;
    cd_evm *evm;
    struct cd_trial *next; /* next one in the list of idle trials */
} cd_trial;

/* Trials of a chain that no call uses now. */
typedef struct cd_trials {
    cd_mutex lock; /* protects the rest */
    cd_trial *idle;
} cd_trials;

/* cd_trials_init makes the empty store; cd_trials_fini frees the idle ones, every trial has been closed before. */
void cd_trials_init(cd_trials *ts);
void cd_trials_fini(cd_trials *ts);

/* cd_trials_take lends interpreter and state of an idle trial, or of a new one; cd_trials_give takes them back,
 * whatever state they are in. */
cd_trial *cd_trials_take(cd_trials *ts) __attribute__((returns_nonnull));
void cd_trials_give(cd_trials *ts, cd_trial *t);

/* cd_trial_limit ends what the lent interpreter runs when the call is late; giving it back lifts that. */
void cd_trial_limit(cd_trial *t, cd_rpc_call *call);

/* cd_trial_open stands behind the block of the parameter; close ends that. Errors are the call's. */
cd_err cd_trial_open(cd_trial **out, cd_rpc_call *call, const cd_trial_args *args) CD_CHECK;
void cd_trial_close(cd_trial *t); /* NULL is allowed */

/* cd_trial_reset goes back to the state behind the block, overrides made. */
cd_err cd_trial_reset(cd_trial *t) CD_CHECK;

/* cd_trial_run resets and runs tx as a call: nonce and kind of the sender do not matter, and who offers no price
 * pays none. *bad is why it could not run. Errors: the store's and the overrides', which are the call's. res is
 * valid until the next run. */
cd_err cd_trial_run(cd_trial *t, cd_tx_result *res, cd_tx_invalid *bad, const cd_tx *tx) CD_CHECK;

/* cd_trial_words gives go-ethereum's sentence for why tx cannot run, in the call's arena. */
const char *cd_trial_words(const cd_trial *t, cd_tx_invalid bad, const cd_tx *tx);

/* cd_trial_fail fails the call as the message failed. */
cd_err cd_trial_fail(cd_rpc_call *call, const cd_tx_result *res) CD_CHECK;

/* cd_trial_failure gives code and words of that, and data where there is any (else empty). */
typedef struct cd_trial_failure {
    int code;
    const char *words;
    bool has_data;
} cd_trial_failure;
cd_trial_failure cd_trial_failure_of(const cd_rpc_call *call, const cd_tx_result *res);

#endif
