/* crypto/hash/keccak.h - Keccak-256 with the original padding (0x01), as Ethereum uses it; not SHA3-256.
 *
 * One hash at a time (one-shot or streaming), many independent ones at once (eight ways with
 * AVX-512, four with AVX2, chosen at run time), and a memo for the 32- and 64-byte preimages that
 * contracts hash to find storage slots. No allocation. Threading: pure, except that streams and
 * memos are confined to one thread. [spec:evm-performance#3] */
#ifndef CD_CRYPTO_KECCAK_H
#define CD_CRYPTO_KECCAK_H

#include "base/bytes.h"

#define CD_KECCAK_RATE 136 /* bytes per block */

/* The hash of no bytes, and of the RLP of an empty string (the root of an empty trie). */
extern const cd_hash32 CD_KECCAK_EMPTY;
extern const cd_hash32 CD_KECCAK_EMPTY_RLP;

/* cd_keccak256 hashes in.n bytes; out may lie inside the input. */
void cd_keccak256(cd_hash32 *out, cd_bytes in);

/* cd_keccak256_32 / _64 hash exactly 32 or 64 bytes without any buffer. */
void cd_keccak256_32(cd_hash32 *out, const u8 in[32]);
void cd_keccak256_64(cd_hash32 *out, const u8 in[64]);

/* A running hash: init, any number of updates, final; final leaves the stream unusable until init. */
typedef struct cd_keccak {
    u64 state[25];
    usize used; /* bytes absorbed into the current block, < CD_KECCAK_RATE */
} cd_keccak;

/* See cd_keccak. */
void cd_keccak_init(cd_keccak *k);
void cd_keccak_update(cd_keccak *k, cd_bytes in);
void cd_keccak_final(cd_keccak *k, cd_hash32 *out);

/* cd_keccak256_x8 hashes eight inputs of any lengths; fastest when their block counts
 * (n / CD_KECCAK_RATE + 1) are equal. Outputs must not overlap inputs. */
void cd_keccak256_x8(cd_hash32 out[8], const cd_bytes in[8]);

/* cd_keccak256_many hashes cnt inputs, grouping those of equal block count. Outputs must not overlap
 * inputs. */
void cd_keccak256_many(cd_hash32 *out, const cd_bytes *in, usize cnt);

/* A memo of earlier hashes: direct-mapped, indexed by a keyed hash because attackers choose the
 * preimages, every hit compared in full. It holds a pure function, so it is never invalidated. */
typedef struct cd_keccak_memo cd_keccak_memo;

/* cd_keccak_memo_new makes an empty memo (about 330 KiB); key should be unpredictable and influences
 * speed only. cd_keccak_memo_free accepts NULL. */
cd_keccak_memo *cd_keccak_memo_new(const u64 key[2]);
void cd_keccak_memo_free(cd_keccak_memo *m);

/* cd_keccak_memo_clear forgets every entry and takes another key (for measurements). */
void cd_keccak_memo_clear(cd_keccak_memo *m, const u64 key[2]);

/* cd_keccak256_memo hashes like cd_keccak256, looking inputs of 32 and 64 bytes up first. */
void cd_keccak256_memo(cd_keccak_memo *m, cd_hash32 *out, cd_bytes in);

#endif
