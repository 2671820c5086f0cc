/* lab/bench_crypto.h - times single cryptographic operations, without an EVM around them.
 *
 * The file is a list of cases {name, op, input, output} as bench/README.md describes them. Contracts are
 * called as a chain calls them, everything else through the library's function. Every result of the first
 * run is compared with the file: one that differs is an error, not a time. Threading: confined.
 * [spec:bench#2] */
#ifndef CD_LAB_BENCH_CRYPTO_H
#define CD_LAB_BENCH_CRYPTO_H

#include "base/mem/buf.h"
#include "lab/cputime.h"

/* cd_lab_bench_crypto appends one JSON line for each case of the file whose name contains only (NULL or
 * "" = all), in order, timed in CPU time of the process; where effort has no exact number, a repetition
 * is as many operations as fill some milliseconds. A case for whose operation there is no code is left out.
 * Errors: those of reading the file, CD_EFORMAT and CD_ELIMIT on a malformed case, CD_ENOENT when
 * nothing matched, CD_EINVAL when a result differs; the lines so far are kept. */
cd_err cd_lab_bench_crypto(cd_buf *out, const char *path, const char *only, const cd_lab_effort *effort,
                           cd_errinfo *why) CD_CHECK;

#endif
