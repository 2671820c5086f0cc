/* p2p/bloom.h - the sets that nodes gossip: "this I know already", with few false positives and no false negatives.
 *
 *   u8 k ‖ k × u64 seed ‖ entries          h = first 8 bytes of SHA-256(key ‖ salt)
 *                                          for each seed: h = rotl(h, 17) ^ seed; bit h mod 8·len(entries)
 *
 * Floating point appears in the sizes only, which are nobody's consensus. Threading: confined; a filter that was read
 * is pure. [spec:p2p#6.1] */
#ifndef CD_P2P_BLOOM_H
#define CD_P2P_BLOOM_H

#include "base/mem/buf.h"
#include "base/os/rng.h"

enum { CD_P2P_BLOOM_HASHES_MAX = 16, CD_P2P_SALT_LEN = 32 };

/* A filter as it was received: borrowed from the message. */
typedef struct cd_p2p_bloom_view {
    cd_bytes seeds;   /* eight bytes each */
    cd_bytes entries; /* at least one byte */
} cd_p2p_bloom_view;

/* cd_p2p_bloom_parse reads a filter. Errors, with the original's words: CD_EFORMAT. */
cd_err cd_p2p_bloom_parse(cd_p2p_bloom_view *out, cd_bytes filter, cd_errinfo *why) CD_CHECK;

/* cd_p2p_bloom_empty gives a filter without keys. */
cd_p2p_bloom_view cd_p2p_bloom_empty(void);

/* cd_p2p_bloom_hash hashes a key with a salt of at most CD_P2P_SALT_LEN bytes. */
u64 cd_p2p_bloom_hash(cd_bytes key, cd_bytes salt);

/* cd_p2p_bloom_has tells whether the filter may hold the hash. */
bool cd_p2p_bloom_has(const cd_p2p_bloom_view *f, u64 hash) CD_CHECK;

/* cd_p2p_bloom_size gives the number of hashes and of bytes (entries) that suit cnt keys when the probability of false
 * positives is p (0 < p < 1). _fill gives how many keys a filter of these sizes takes until p is reached. */
void cd_p2p_bloom_size(u32 *hashes, u32 *entries, u32 cnt, double p);
u32 cd_p2p_bloom_fill(u32 hashes, u32 entries, double p);

/* A filter of our own. Its owner makes it anew, with another salt, when it is too full or too old. */
typedef struct cd_p2p_bloom {
    cd_buf bytes; /* the filter as it is sent */
    cd_hash32 salt;
    u32 hashes;
    u32 cnt;     /* number of keys that were added */
    u32 cnt_max; /* number of keys above which the filter should be made anew */
} cd_p2p_bloom;

/* cd_p2p_bloom_reset makes an empty filter for cnt keys with new seeds and a new salt; {0} becomes one.
 * p is the probability of false positives at cnt keys, p_max that at which it counts as full. */
void cd_p2p_bloom_reset(cd_p2p_bloom *f, cd_rng *rng, u32 cnt, double p, double p_max);
void cd_p2p_bloom_fini(cd_p2p_bloom *f);

/* cd_p2p_bloom_add adds a key; false: the filter is full now. */
bool cd_p2p_bloom_add(cd_p2p_bloom *f, cd_bytes key);

/* cd_p2p_bloom_of gives the view of a filter of our own, until its next change. */
cd_p2p_bloom_view cd_p2p_bloom_of(const cd_p2p_bloom *f);

/* cd_p2p_bloom_set sets the bits of a hash in entries. */
void cd_p2p_bloom_set(u8 *entries, usize n, cd_bytes seeds, u64 hash);

#endif
