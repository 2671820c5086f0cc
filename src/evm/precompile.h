/* evm/precompile.h - contracts at fixed addresses that are C functions: one registration interface
 * for the pure ones of Ethereum (0x01..0x0a) and for stateful ones that chains add.
 *
 * Threading: tables are frozen once built. */
#ifndef CD_EVM_PRECOMPILE_H
#define CD_EVM_PRECOMPILE_H

#include "base/arena.h"
#include "evm/rules.h"
#include "evm/state.h"

struct cd_block_env;

/* What a precompile sees of its call. */
typedef struct cd_precompile_call {
    cd_bytes input;
    u64 gas;         /* in: available; out: left */
    cd_bytes output; /* out: allocated in arena, or borrowed from input or static memory */
    cd_arena *arena; /* lives until the caller's frame has copied the output */
    /* Below: only stateful ones look at these. */
    cd_state *state;
    const struct cd_block_env *block;
    cd_addr20 caller;
    cd_addr20 self; /* address called; differs from the precompile's under DELEGATECALL/CALLCODE */
    cd_u256 value;
    bool is_static;
    bool is_delegated; /* reached by DELEGATECALL or CALLCODE */
} cd_precompile_call;

typedef enum cd_precompile_outcome {
    CD_PRE_OK,
    CD_PRE_OUT_OF_GAS,
    CD_PRE_FAIL,   /* consumes all gas */
    CD_PRE_REVERT, /* keeps the gas left, output is the revert data */
} cd_precompile_outcome;

typedef cd_precompile_outcome (*cd_precompile_fn)(cd_precompile_call *call, const void *cfg);

typedef struct cd_precompile {
    cd_addr20 addr;
    const char *name;
    cd_precompile_fn run;
    const void *cfg; /* handed to run; borrowed */
    bool is_stateful;
} cd_precompile;

/* A set of precompiles in force for a block. */
typedef struct cd_precompile_table cd_precompile_table;

/* cd_precompile_table_new makes Ethereum's set of that fork; add registers further ones (CD_EEXIST
 * when the address is taken, CD_EFULL beyond 128). */
cd_precompile_table *cd_precompile_table_new(cd_fork fork);
void cd_precompile_table_free(cd_precompile_table *t);
cd_err cd_precompile_table_add(cd_precompile_table *t, const cd_precompile *p) CD_CHECK;

/* cd_precompile_find gives the precompile at addr or NULL, which for most ordinary addresses takes
 * one look. */
const cd_precompile *cd_precompile_find(const cd_precompile_table *t, const cd_addr20 *addr);

/* cd_precompile_list borrows all, for warming at the start of a transaction (EIP-2929). */
const cd_precompile *cd_precompile_list(const cd_precompile_table *t, usize *cnt);

/* cd_precompile_eth gives Ethereum's set of a fork, shared and frozen. */
const cd_precompile_table *cd_precompile_eth(cd_fork fork);

/* cd_precompile_by_name gives the row of evm/precompiles.def with that name, whether or not its
 * fork has come. Errors: CD_ENOENT. */
cd_err cd_precompile_by_name(cd_precompile *out, const char *name) CD_CHECK;

#endif
