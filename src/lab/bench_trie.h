/* lab/bench_trie.h - times the trie on accounts keyed by the hash of a counter.
 *
 * Steps for each size N, each timed alone in thread CPU time, the least of several repetitions
 * (three at least, then until each step has had 120 ms or the size two seconds):
 *
 *   insert       N puts in order of the counter, without hashing
 *   hash         the root over all of them
 *   commit       the changed nodes into a node store in memory
 *   prove        2000 proofs on a re-opened trie
 *   update_hash  2000 updates on a re-opened trie, then the root
 *   stacktrie    the root from sorted keys, no store
 *
 * The roots of insert and stacktrie must agree, those of update_hash with a sorted build of the updated
 * values, and every proof must verify: otherwise there is no line. Threading: confined. [spec:bench#3] */
#ifndef CD_LAB_BENCH_TRIE_H
#define CD_LAB_BENCH_TRIE_H

#include "base/mem/buf.h"

/* The largest N. */
#define CD_LAB_BENCH_TRIE_MAX 10000000u

/* cd_lab_bench_trie appends one JSON line for each step and size.
 * Errors: CD_ERANGE on a size of 0 or above the limit, CD_EINVAL when results disagree. */
cd_err cd_lab_bench_trie(cd_buf *out, const u64 *sizes, usize cnt) CD_CHECK;

#endif
