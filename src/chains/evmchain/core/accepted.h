/* chains/evmchain/core/accepted.h - accepted blocks as the store has them: one by one with their receipts, or as part
 * of a run of empty blocks (run.h).
 *
 * Threading: pure over the kv given. */
#ifndef CD_CHAINS_EVMCHAIN_CORE_ACCEPTED_H
#define CD_CHAINS_EVMCHAIN_CORE_ACCEPTED_H

#include "chains/evmchain/core/dev/run.h"
#include "chains/evmchain/core/view.h"

/* cd_accepted_load reads an accepted block, senders and receipts included, into the arena; _load_at the one of a
 * height, which may lie in a run of empty blocks. Errors: CD_ENOENT, CD_ECORRUPT, those of the store. */
cd_err cd_accepted_load(cd_accepted *out, cd_arena *a, cd_kv *kv, cd_header_layout layout,
                        const cd_hash32 *hash) CD_CHECK;
cd_err cd_accepted_load_at(cd_accepted *out, cd_arena *a, cd_kv *kv, cd_header_layout layout, u64 number) CD_CHECK;

/* cd_accepted_of_run makes a block of a run's header in the arena. */
void cd_accepted_of_run(cd_accepted *out, cd_arena *a, cd_header_layout layout, const cd_run_header *at);

/* cd_accepted_hashes tells seen the hashes of accepted blocks of heights [from, to), ascending. Errors: CD_ENOENT, the
 * store's. */
typedef void cd_hash_seen(void *ctx, u64 number, const cd_hash32 *hash);
cd_err cd_accepted_hashes(cd_kv *kv, cd_header_layout layout, u64 from, u64 to, cd_hash_seen *seen, void *ctx) CD_CHECK;

#endif
