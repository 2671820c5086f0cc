/* chains/evmchain/core/dev/run.h - many empty blocks in a row (development network), stored as one record: each follows
 * from the one before it, so only some headers are kept and the rest is computed again when it is asked for.
 *
 *   real block ──► first … first+1023 ──► first+1024 … ──► last ──► real block
 *                  └ checkpoint            └ checkpoint
 *
 *   'e' ‖ last     RLP [first, last, interval, fee configuration]
 *   'k' ‖ height   RLP [header, four bytes of each hash up to the next checkpoint]
 *
 * Nothing that rules depend on may change within a run, and Durango holds but not Granite: the maker sees to it.
 * Threading: pure over the kv given. [spec:dev-rpc#3.2] */
#ifndef CD_CHAINS_EVMCHAIN_RUN_H
#define CD_CHAINS_EVMCHAIN_RUN_H

#include "store/kv.h"
#include "types/genesis.h"

/* Blocks from one checkpoint to the next. */
enum { CD_RUN_MARK = 1024 };

/* A run of empty blocks, kept as one record. */
typedef struct cd_run {
    u64 first; /* heights, both in the run */
    u64 last;
    u64 interval; /* seconds between two blocks */
    cd_fee_config fee;
} cd_run;

/* A header that moves along a run. */
typedef struct cd_run_header {
    cd_header h; /* extra points to extra below */
    cd_hash32 hash;
    u8 extra[96];
} cd_run_header;

/* cd_run_start stands at h, whose extra data is that of an empty block. */
void cd_run_start(cd_run_header *at, const cd_header *h, cd_header_layout layout);

/* cd_run_step moves to the child. */
void cd_run_step(cd_run_header *at, const cd_run *run, cd_header_layout layout);

/* cd_run_put appends a whole run whose first block has that header; seen (NULL allowed) is told of every block. *end is
 * left standing at the last one. */
typedef void cd_run_seen(void *ctx, const cd_run_header *at);
void cd_run_put(cd_kv_batch *batch, cd_run_header *end, const cd_run *run, const cd_header *first,
                cd_header_layout layout, cd_run_seen *seen, void *ctx);

/* cd_run_find gives the run that holds a height. Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
cd_err cd_run_find(cd_kv *kv, cd_run *out, u64 number) CD_CHECK;

/* cd_run_at computes the header of a height in run; seen (NULL allowed) is told of it and those it passed on the way.
 * Errors: CD_ECORRUPT, the store's. */
cd_err cd_run_at(cd_kv *kv, cd_run_header *out, const cd_run *run, cd_header_layout layout, u64 number,
                 cd_run_seen *seen, void *ctx) CD_CHECK;

/* cd_run_find_hash gives the height of a block that lies in a run. Errors: CD_ENOENT, CD_ECORRUPT, the store's. */
cd_err cd_run_find_hash(cd_kv *kv, u64 *number, cd_header_layout layout, const cd_hash32 *hash) CD_CHECK;

/* cd_run_cut appends what removes all blocks above a height from runs. Errors: the store's. */
cd_err cd_run_cut(cd_kv_batch *batch, cd_kv *kv, u64 above) CD_CHECK;

#endif
