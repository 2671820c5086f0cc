/* chains/evmchain/core/adopt.h - a state that comes from elsewhere: gathered beside the chain's own, then put in its
 * place.
 *
 *   clears ──► gathers ──► builds ──► moves ──► sweeps ──► gone
 *              'Y' ‖ 'a', 's': leafs  │         └ the chain stands at the block; what was gathered goes away
 *                                     └ tries over them, their root looked at: up to here the chain's own is untouched
 *
 *   'Y' ‖ 'a' 's' 'n' 'N'   flat tables and tries on their way in (store/flat.h)
 *   'Y' ‖ 'h' ‖ number      hash of a block below the one that the state belongs to, and of that
 *   'Y' ‖ others            what who gathers has still to do
 *
 * Where it stands is one record (CD_CHAINDB_ADOPT): a stop at any moment is taken up there. A stop while it moves is
 * ended by cd_adopt_recover, before the chain is opened. Nobody else may write to the chain's state between builds and
 * sweeps. Threading: confined to the executor. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_ADOPT_H
#define CD_CHAINS_EVMCHAIN_ADOPT_H

#include "codec/ids.h"
#include "store/kv.h"

/* How far it is. */
typedef enum cd_adopt_phase {
    CD_ADOPT_CLEARS,
    CD_ADOPT_GATHERS,
    CD_ADOPT_BUILDS,
    CD_ADOPT_MOVES,
    CD_ADOPT_SWEEPS,
} cd_adopt_phase;

/* The block whose state comes in. */
typedef struct cd_adopt_target {
    cd_adopt_phase phase;
    u64 height;
    cd_hash32 hash;
    cd_hash32 root;
    cd_hash32 atomic_root; /* zero: it has none */
} cd_adopt_target;

/* cd_adopt_get reads the record, cd_adopt_put appends it. Errors: CD_ENOENT when nothing comes in, CD_ECORRUPT. */
cd_err cd_adopt_get(cd_kv *kv, cd_adopt_target *out) CD_CHECK;
void cd_adopt_put(cd_kv_batch *batch, const cd_adopt_target *t);

/* cd_adopt_kv gives the part of the chain's kv where the state is gathered; who asks closes it. cd_adopt_add appends a
 * record of that part to a batch for the chain's kv, an empty value deletes. */
cd_kv *cd_adopt_kv(cd_kv *kv) __attribute__((returns_nonnull));
void cd_adopt_add(cd_kv_batch *batch, cd_bytes key, cd_bytes value);

/* cd_adopt_add_account and _slot append leafs to a batch for the chain's kv, _hash a block's, _code a contract's, which
 * is known by its hash and goes to its place at once. cd_adopt_has_code: it is there. */
void cd_adopt_add_account(cd_kv_batch *batch, const cd_hash32 *account, cd_bytes value);
void cd_adopt_add_slot(cd_kv_batch *batch, const cd_hash32 *account, const cd_hash32 *slot, cd_bytes value);
void cd_adopt_add_hash(cd_kv_batch *batch, u64 number, const cd_hash32 *hash);
void cd_adopt_add_code(cd_kv_batch *batch, const cd_hash32 *hash, cd_bytes code);
cd_err cd_adopt_has_code(cd_kv *kv, bool *has, const cd_hash32 *hash) CD_CHECK;

/* Everything but the gathering, a bit at a time. */
typedef struct cd_adopt cd_adopt;

/* cd_adopt_new takes up where the record says; kv is borrowed. */
cd_adopt *cd_adopt_new(cd_kv *kv) __attribute__((returns_nonnull));
void cd_adopt_free(cd_adopt *a); /* NULL is allowed */

/* cd_adopt_begin makes target, from now on, what comes in: in phase clears, durably. */
cd_err cd_adopt_begin(cd_adopt *a, const cd_adopt_target *target, cd_errinfo *why) CD_CHECK;

/* cd_adopt_gathered says that all leafs, code and blocks are there. */
cd_err cd_adopt_gathered(cd_adopt *a, cd_errinfo *why) CD_CHECK;

/* cd_adopt_step does a piece of what the phase asks for, some milliseconds, and gives the phase that holds then;
 * *more false: nothing is to do but by others (gathers), or at all. Errors: CD_EPROOF when what was gathered does not
 * have the root, and phase clears holds again; those of the store. */
cd_err cd_adopt_step(cd_adopt *a, cd_adopt_phase *phase, bool *more, cd_errinfo *why) CD_CHECK;

/* cd_adopt_recover ends a move that was stopped in the middle. Errors: the store's. */
cd_err cd_adopt_recover(cd_kv *kv, cd_errinfo *why) CD_CHECK;

#endif
