/* types/predicate.h - predicates: messages that travel in a transaction's access list, and which of them
 * failed, as a block header says.
 *
 *   message ‖ 0xff ‖ zeros, in words of 32 bytes = storage keys of one tuple
 *
 * Format only; checking is precompile/warp_verify.h's business. Threading: pure.
 * [spec:precompiles-core#9] [spec:evm-chain#2] */
#ifndef CD_TYPES_PREDICATE_H
#define CD_TYPES_PREDICATE_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

/* Largest encoding of results. */
enum { CD_PREDICATE_RESULTS_MAX = 1 << 20 };

/* cd_predicate_pack appends b as whole words. */
void cd_predicate_pack(cd_buf *out, cd_bytes b);

/* cd_predicate_unpack borrows the message from words. Errors: CD_EFORMAT with the words of
 * [spec:precompiles-core#9]. */
cd_err cd_predicate_unpack(cd_bytes *out, const cd_hash32 *words, usize cnt, cd_errinfo *why) CD_CHECK;

/* Failed predicates of one transaction for one precompile. */
typedef struct cd_predicate_bits {
    cd_addr20 addr;
    cd_bytes failed; /* bitset (types/warp.h): bit i is set when the predicate in the i-th tuple of addr failed */
} cd_predicate_bits;

/* The failed predicates of one transaction. */
typedef struct cd_predicate_tx {
    cd_hash32 hash;
    const cd_predicate_bits *items; /* ascending by address */
    usize cnt;
} cd_predicate_tx;

/* All zero is valid: no predicates. */
typedef struct cd_predicate_results {
    cd_predicate_tx *txs; /* ascending by hash */
    usize cnt;
    usize cap;
} cd_predicate_results;

/* cd_predicate_results_add inserts a transaction; items are borrowed, the array lies in the arena. */
void cd_predicate_results_add(cd_predicate_results *r, cd_arena *a, const cd_predicate_tx *tx);

/* cd_predicate_failed: bit idx of (hash, addr) is set; false for what is not in the results. */
bool cd_predicate_failed(const cd_predicate_results *r, const cd_hash32 *hash, const cd_addr20 *addr, u64 idx);

/* cd_predicate_results_dec / _enc: the part of a header's extra data behind the fee prefix. Errors:
 * CD_ESHORT, CD_ETRAIL, CD_EVERSION, CD_ECANON (order, bitset), CD_ELIMIT. */
cd_err cd_predicate_results_dec(cd_predicate_results *out, cd_arena *a, cd_bytes in) CD_CHECK;
void cd_predicate_results_enc(cd_buf *out, const cd_predicate_results *r);

#endif
