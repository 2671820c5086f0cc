/* lab/bench_import.h - times the import of a file of blocks into a chain on disk. [spec:bench#4]
 *
 * Threading: confined. */
#ifndef CD_LAB_BENCH_IMPORT_H
#define CD_LAB_BENCH_IMPORT_H

#include "base/buf.h"

/* cd_lab_bench_import imports DIR/blocks_NAME.rlp on DIR/genesis.json into fresh directories, at least `rounds` times, and
 * appends one JSON line with the best round; the final hash and root must be those of DIR/blocks.json. threads >= 1; the state of
 * history blocks before the head stays readable.
 * Errors: those of files and store, CD_EINVAL when the result differs. */
cd_err cd_lab_bench_import(cd_buf *out, const char *dir, const char *name, u32 threads, u32 rounds,
                           u64 history, cd_errinfo *why) CD_CHECK;

#endif
