/* lab/suite.h - runs a function over many test files, on several threads, with output in file
 * order.
 *
 *   paths ──► sorted list of *.json files, minus the skip list ──► workers ──► lines, in order ──► sink
 *
 * Threading: cd_suite_run uses a pool of its own; the sink is called by one thread at a time. */
#ifndef CD_LAB_SUITE_H
#define CD_LAB_SUITE_H

#include "base/mem/buf.h"

/* Bytes of the largest test file that is read. */
#define CD_SUITE_FILE_MAX ((usize)256 << 20)

/* Counted test cases. */
typedef struct cd_tally {
    u64 passed;
    u64 failed;
} cd_tally;

/* A run over files of tests. */
typedef struct cd_suite {
    const char *const *paths; /* files, or folders searched for *.json */
    usize path_cnt;
    const char *skip_list; /* file of path endings, one a line, not to run; NULL = none */
    u32 jobs;              /* threads; 0 = 1 */
    const void *cfg;       /* handed to worker_new */
    /* A worker is what one thread keeps from file to file. */
    void *(*worker_new)(const void *cfg);
    void (*worker_free)(void *worker);
    /* file runs all cases of one file, counts them in tally and appends output lines to out. */
    void (*file)(void *worker, cd_tally *tally, cd_buf *out, const char *path, cd_bytes text);
    void (*sink)(void *sink_ctx, cd_bytes lines);
    void *sink_ctx;
} cd_suite;

/* cd_suite_run runs everything and sums up. A file that cannot be read counts as a failure.
 * Errors: a path or the skip list cannot be read. */
cd_err cd_suite_run(cd_tally *total, const cd_suite *s, cd_errinfo *why) CD_CHECK;

/* cd_suite_one runs one file with a given worker (for reading names from a stream). */
void cd_suite_one(const cd_suite *s, void *worker, cd_tally *tally, cd_buf *out, const char *path);

/* The verdict on one case, as all runners report it. */
typedef struct cd_verdict {
    cd_bytes name;
    const char *fork;
    usize index;
    bool pass;
    const cd_hash32 *root; /* what we computed; NULL = none */
    const cd_hash32 *logs; /* NULL = do not print */
    const char *error;     /* "" when there is nothing to say */
} cd_verdict;

/* cd_verdict_put appends a JSON line {"name","fork","index","pass","root","error"}, or without json
 * a line for failures only. */
void cd_verdict_put(cd_buf *out, const cd_verdict *v, bool json, const char *path);

#endif
