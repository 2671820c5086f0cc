/* lab/bench_evm.h - times the interpreter on the workloads of testdata/bench-evm.
 *
 * Each workload is one message call on a fixed small state. A repetition starts from that state
 * with an empty keccak memo; code analysis is kept, as it is between transactions, and its price
 * shows in the time of the first repetition. Status, gas, refund, logs, output and the state root
 * are compared with the file: a workload that differs is an error, not a time. Threading: confined.
 * [spec:bench#1] */
#ifndef CD_LAB_BENCH_EVM_H
#define CD_LAB_BENCH_EVM_H

#include "base/mem/buf.h"
#include "evm/evm.h"
#include "lab/cputime.h"

/* cd_lab_bench_evm appends one JSON line for each workload of dir whose name ("group/name")
 * contains only (NULL or "" = all), in order of file names, each repeated as effort says and timed in
 * thread CPU time. Errors: those of reading files, CD_EFORMAT on a malformed one, CD_ENOENT when nothing
 * matched, CD_EINVAL when a result differs from the expected one; the lines so far are kept. */
cd_err cd_lab_bench_evm(cd_buf *out, const char *dir, const char *only, const cd_lab_effort *effort, cd_evm_tier tier,
                        cd_errinfo *why) CD_CHECK;

#endif
