/* chains/evmchain/core/world/scratch.h - blocks that never come to be, one on another, on the state as of a version:
 * their state in private memory, their roots true.
 *
 *   source as of the version ◄── misses ── what changed since ◄── apply ── cd_state after a block (or a transaction)
 *   tries as of the version  (world/proof.h, at its cost; opened by the first apply) ──► root
 *
 * The state that was applied is reset on the scratch before it goes on, so that it sees what it left.
 * Nothing is written anywhere; what it takes of memory is what was changed.
 *
 * Threading: confined to its user, on any thread; many may use one frozen kv. */
#ifndef CD_CHAINS_EVMCHAIN_WORLD_SCRATCH_H
#define CD_CHAINS_EVMCHAIN_WORLD_SCRATCH_H

#include "chains/evmchain/core/world/proof.h"

typedef struct cd_world_scratch cd_world_scratch;

/* cd_world_scratch_new stands at cfg->version, which base reads; both outlive it. */
cd_world_scratch *cd_world_scratch_new(const cd_world_past_cfg *cfg, cd_state_source *base)
    __attribute__((returns_nonnull));
void cd_world_scratch_free(cd_world_scratch *s); /* NULL is allowed */

/* cd_world_scratch_source reads what was applied so far. */
cd_state_source *cd_world_scratch_source(cd_world_scratch *s);

/* cd_world_scratch_apply takes over the changes in st, which was executed on the scratch, and gives the state root
 * behind them. Errors: those of cd_world_past_open, the store's; the scratch is at its end then. */
cd_err cd_world_scratch_apply(cd_world_scratch *s, cd_hash32 *root, cd_state *st, cd_errinfo *why) CD_CHECK;

/* cd_world_scratch_name says which hash a block has that was made up, for BLOCKHASH of later ones. */
void cd_world_scratch_name(cd_world_scratch *s, u64 number, const cd_hash32 *hash);

#endif
