/* consensus/bootstrap/blocks.h - fetched blocks that wait to be executed, by height, in a part of the store.
 *
 *   heights   101 ··· 180      240 ············ 2000       runs without a gap: the block below each run is missing
 *
 * What is there survives a restart: a run is written with the blocks that made it longer. Runs are bounded.
 * Threading: confined. [spec:p2p#10] */
#ifndef CD_CONSENSUS_BOOTSTRAP_BLOCKS_H
#define CD_CONSENSUS_BOOTSTRAP_BLOCKS_H

#include "store/kv.h"

enum { CD_FETCHED_RUNS_MAX = 256 };

/* Heights from lo to hi, all of them there. */
typedef struct cd_fetched_run {
    u64 lo;
    u64 hi;
} cd_fetched_run;

/* The blocks; runs in order of their heights, with a gap between any two. */
typedef struct cd_fetched {
    cd_kv *kv;
    cd_kv_batch batch; /* blocks and runs that were put and are not written yet */
    cd_fetched_run *runs;
    u32 cnt;
    u32 cap;
} cd_fetched;

/* cd_fetched_open reads which blocks are there; kv is borrowed. cd_fetched_close releases the memory. Errors: those of
 * the store, CD_ECORRUPT. */
cd_err cd_fetched_open(cd_fetched *f, cd_kv *kv) CD_CHECK;
void cd_fetched_close(cd_fetched *f);

/* cd_fetched_has tells whether the block of a height is there. cd_fetched_total gives the number of blocks,
 * cd_fetched_top the highest height, 0 when there is no block. */
bool cd_fetched_has(const cd_fetched *f, u64 height);
u64 cd_fetched_total(const cd_fetched *f);
u64 cd_fetched_top(const cd_fetched *f);

/* cd_fetched_put takes a block, which is in the store after cd_fetched_write. False: its height is there already, or
 * would make one run too many. */
bool cd_fetched_put(cd_fetched *f, u64 height, cd_bytes block);
cd_err cd_fetched_write(cd_fetched *f, cd_kv_sync sync, cd_errinfo *why) CD_CHECK;

/* cd_fetched_get puts a written block into out, in place of what was there. Errors: CD_ENOENT, the store's. */
cd_err cd_fetched_get(const cd_fetched *f, cd_buf *out, u64 height) CD_CHECK;

/* cd_fetched_drop writes what was put, and deletes the blocks up to height, cd_fetched_clear all blocks; in pieces, so
 * that it takes little memory. Errors: the store's. */
cd_err cd_fetched_drop(cd_fetched *f, u64 height, cd_kv_sync sync, cd_errinfo *why) CD_CHECK;
cd_err cd_fetched_clear(cd_fetched *f, cd_errinfo *why) CD_CHECK;

#endif
