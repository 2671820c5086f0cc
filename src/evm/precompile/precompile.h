/* evm/precompile/precompile.h - contracts at fixed addresses that are C functions: one registration interface
 * for the pure ones of Ethereum (0x01..0x0a) and for stateful ones that chains add.
 *
 * Threading: tables are frozen once built. */
#ifndef CD_EVM_PRECOMPILE_H
#define CD_EVM_PRECOMPILE_H

#include "base/mem/arena.h"
#include "evm/rules/rules.h"
#include "evm/state/state.h"

struct cd_block_env;
struct cd_tx_env;

/* What a precompile sees of its call. */
typedef struct cd_precompile_call {
    cd_bytes input;
    u64 gas;         /* in: gas available; out: gas left */
    cd_bytes output; /* out: allocated in arena, or borrowed from input or static memory */
    cd_arena *arena; /* lives until the caller's frame has copied the output */
    /* Only stateful precompiles look at the following. */
    cd_state *state;
    const struct cd_block_env *block;
    const struct cd_tx_env *tx; /* NULL outside of transactions */
    cd_addr20 caller;
    cd_addr20 self; /* address called; differs from the precompile's under DELEGATECALL/CALLCODE */
    cd_u256 value;
    bool is_static;
    bool is_delegated;  /* reached by DELEGATECALL or CALLCODE */
    const char *reason; /* out: words for a failure, in arena or static; NULL = those of the status */
} cd_precompile_call;

/* How a call of a precompile ended. */
typedef enum cd_precompile_outcome {
    CD_PRE_OK,
    CD_PRE_OUT_OF_GAS,
    CD_PRE_FAIL,   /* consumes all gas */
    CD_PRE_DENIED, /* the caller has no right to it; consumes all gas */
    CD_PRE_REVERT, /* keeps the gas left, output is the revert data */
} cd_precompile_outcome;

/* Runs a precompile; cfg is the member cfg of its cd_precompile. */
typedef cd_precompile_outcome (*cd_precompile_fn)(cd_precompile_call *call, const void *cfg);

/* What an access-list tuple addressed to a precompile costs in place of its address and keys, when that
 * precompile reads messages from there ("predicates"); false when the tuple is malformed, which makes the
 * transaction invalid. */
typedef bool (*cd_predicate_gas_fn)(u64 *out, const cd_hash32 *keys, usize cnt, const void *cfg);

/* A precompile at an address. */
typedef struct cd_precompile {
    cd_addr20 addr;
    const char *name;
    cd_precompile_fn run;
    const void *cfg; /* handed to run; borrowed */
    bool is_stateful;
    cd_predicate_gas_fn predicate_gas; /* NULL: an ordinary tuple */
} cd_precompile;

/* A set of precompiles in force for a block. */
typedef struct cd_precompile_table cd_precompile_table;

/* cd_precompile_table_new makes Ethereum's set of that fork; add registers further ones (CD_EEXIST
 * when the address is taken, CD_EFULL beyond 128). */
cd_precompile_table *cd_precompile_table_new(cd_fork fork);
void cd_precompile_table_free(cd_precompile_table *t);
cd_err cd_precompile_table_add(cd_precompile_table *t, const cd_precompile *p) CD_CHECK;

/* cd_precompile_table_copy copies a table for a simulated call that overrides precompiles; t must live as long as the
 * copy. _remove takes the precompile at addr away, if there is one; _move moves the one at from to the address to.
 * Errors of _move: CD_ENOENT when there is none at from, CD_EEXIST when there is one at to. Which addresses are warm
 * does not change with either. */
cd_precompile_table *cd_precompile_table_copy(const cd_precompile_table *t) __attribute__((returns_nonnull));
void cd_precompile_table_remove(cd_precompile_table *t, const cd_addr20 *addr);
cd_err cd_precompile_table_move(cd_precompile_table *t, const cd_addr20 *from, const cd_addr20 *to) CD_CHECK;

/* A gate lets those through whose address is a key with a value other than zero in the storage of one
 * account: an allow list. */
typedef enum cd_gate {
    CD_GATE_SEND,   /* senders of transactions */
    CD_GATE_CREATE, /* origins of creations */
    CD_GATE_COUNT
} cd_gate;

/* cd_precompile_table_gate sets the account that guards a gate; a gate without one lets everybody through.
 * cd_gate_opens tells whether the gate lets who through. */
void cd_precompile_table_gate(cd_precompile_table *t, cd_gate gate, const cd_addr20 *list);
bool cd_gate_opens(const cd_precompile_table *t, cd_gate gate, cd_state *st, const cd_addr20 *who);

/* cd_precompile_find gives the precompile at addr or NULL, which for most ordinary addresses takes
 * one look. */
const cd_precompile *cd_precompile_find(const cd_precompile_table *t, const cd_addr20 *addr);

/* cd_precompile_list borrows all precompiles, for warming at the start of a transaction (EIP-2929); for a copy it gives
 * those of the table that it was made from. */
const cd_precompile *cd_precompile_list(const cd_precompile_table *t, usize *cnt);

/* cd_precompile_eth gives Ethereum's set of a fork, shared and frozen. */
const cd_precompile_table *cd_precompile_eth(cd_fork fork);

/* cd_precompile_by_name gives the row of evm/precompile/precompiles.def with that name, whether or not its
 * fork has come. Errors: CD_ENOENT. */
cd_err cd_precompile_by_name(cd_precompile *out, const char *name) CD_CHECK;

#endif
