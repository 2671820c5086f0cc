/* chains/evmchain/tracers/replay.h - a block executed again on the state it was built on, transaction by
 * transaction, to be looked at on the way.
 *
 *   state after the parent ──► tx 0 ──► tx 1 ──► …        next: the transaction that comes
 *                                 └── under a tracer, or under hooks of its user's
 *
 * Accepted blocks and blocks of somebody's making alike; nothing is written anywhere. Threading: confined to its
 * user, on any thread. */
#ifndef CD_CHAINS_EVMCHAIN_TRACERS_REPLAY_H
#define CD_CHAINS_EVMCHAIN_TRACERS_REPLAY_H

#include "chains/evmchain/core/view.h"
#include "chains/evmchain/core/world/scratch.h"
#include "chains/evmchain/tracers/tracer_kind.h"

/* A block that is being executed again. */
typedef struct cd_replay {
    const cd_block *block;
    const cd_chain_rules *rules;
    cd_view_source src;
    cd_state *st;
    cd_evm *evm;
    cd_arena arena;
    cd_block_run run; /* its env may be changed before cd_replay_call */
    usize next;
    cd_world_scratch *scratch; /* NULL until a root was asked for */
} cd_replay;

/* cd_replay_new stands before the first transaction of a block whose parent is accepted; senders are known. Both
 * view and block are borrowed. Errors: CD_EINVAL for the genesis, CD_ENOENT when the parent is unknown, CD_EMISSING
 * when its state is not kept, those of the store; *why has words for the caller. */
cd_err cd_replay_new(cd_replay **out, cd_view *view, const cd_block *block, cd_errinfo *why) CD_CHECK;
void cd_replay_free(cd_replay *r); /* NULL is allowed */

/* cd_replay_behind stands behind an accepted block instead: for calls on its state. Errors: CD_EMISSING. */
cd_err cd_replay_behind(cd_replay **out, cd_view *view, const cd_block *block, cd_errinfo *why) CD_CHECK;

/* cd_replay_to runs what comes before transaction idx. Errors: CD_EINVAL when one cannot be part of the block, those
 * of the store; the replay is at its end then. */
cd_err cd_replay_to(cd_replay *r, usize idx, cd_errinfo *why) CD_CHECK;

/* cd_replay_root gives the root of the state behind what was run. Errors: those of cd_world_scratch_apply; the
 * replay is at its end then. */
cd_err cd_replay_root(cd_replay *r, cd_hash32 *root, cd_errinfo *why) CD_CHECK;

/* cd_replay_trace runs the next transaction under a tracer and writes the result. Errors: those of cd_trace_run; the
 * replay is at its end then. */
cd_err cd_replay_trace(cd_replay *r, cd_json_w *out, const cd_trace_opts *opts, const cd_clock *clock,
                       cd_errinfo *why) CD_CHECK;

/* cd_replay_call runs a transaction that is in no block under a tracer, in the environment r->run.env, which decides
 * on the fork, with precompiles (NULL: those of the rules). Errors: those of cd_trace_run; the replay is at its end
 * afterwards. */
cd_err cd_replay_call(cd_replay *r, cd_json_w *out, const cd_tx *tx, const cd_precompile_table *precompiles,
                      const cd_tx_relax *relax, const cd_trace_opts *opts, const cd_clock *clock,
                      cd_errinfo *why) CD_CHECK;

/* cd_replay_watch runs the next transaction under hooks of the caller's. Errors: those of cd_replay_to. */
cd_err cd_replay_watch(cd_replay *r, cd_tracer *hooks, cd_errinfo *why) CD_CHECK;

#endif
