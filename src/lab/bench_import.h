/* lab/bench_import.h - times the import of a file of blocks into a chain on disk. [spec:bench#4]
 *
 * Threading: confined. */
#ifndef CD_LAB_BENCH_IMPORT_H
#define CD_LAB_BENCH_IMPORT_H

#include "base/mem/buf.h"

struct cd_chain;
struct cd_kv;

/* How an import is measured. */
typedef struct cd_lab_import {
    u32 threads; /* 1 or more */
    u32 rounds;
    u64 history;      /* number of blocks before the head whose state stays readable */
    const char *impl; /* name of the implementation in the report */
    /* opened is called when the chain has been opened, closed when it has been closed; NULL: neither is. */
    cd_err (*opened)(void *ctx, struct cd_chain *chain, struct cd_kv *kv, cd_errinfo *why);
    void (*closed)(void *ctx);
    void *ctx;
} cd_lab_import;

/* cd_lab_bench_import imports DIR/blocks_NAME.rlp on DIR/genesis.json into fresh directories, at least cfg->rounds
 * times, and appends one JSON line with the best round; the final hash and root must be those of DIR/blocks.json.
 * Errors: those of files and store, CD_EINVAL when the result differs. */
cd_err cd_lab_bench_import(cd_buf *out, const char *dir, const char *name, const cd_lab_import *cfg,
                           cd_errinfo *why) CD_CHECK;

#endif
