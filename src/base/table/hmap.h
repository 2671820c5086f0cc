/* base/table/hmap.h - a hash map from fixed-size keys to fixed-size values.
 *
 *   ctrl   [ . | t | t | . | t | . | . | t ]     one byte a slot: 0 = empty, else 0x80 | 7 hash bits
 *   slots  [   |k v|k v|   |k v|   |   |k v]     linear probing, load at most 3/4
 *
 * Deletion shifts the run behind it back, so there are no tombstones and a map that churns stays as
 * fast as a new one. Value pointers are borrowed until the next put or del. Keys and values are
 * plain bytes at 8-byte alignment; padding inside a key must be zeroed by the caller.
 * The order of iteration is different in every process: consensus code sorts what it takes out.
 * Threading: confined (concurrent reads without a writer are fine). */
#ifndef CD_BASE_HMAP_H
#define CD_BASE_HMAP_H

#include "base/bytes.h"

/* CD_HASH_KEYED: SipHash-1-3 under a key drawn once per process; for every key that somebody
 * outside can choose, addresses and storage slots included. CD_HASH_IDENTITY: the first eight bytes
 * of the key as they are; only for keys that already are hashes (keys shorter than 8 bytes are
 * refused). */
typedef enum cd_hash_kind {
    CD_HASH_KEYED,
    CD_HASH_IDENTITY,
} cd_hash_kind;

/* A table with open addressing; keys and values lie in slots, a byte of hash each in ctrl. */
typedef struct cd_hmap {
    u8 *ctrl;
    u8 *slots;
    usize cap; /* slots; a power of two, or 0 before the first put */
    usize cnt;
    u32 key_size;
    u32 val_off; /* offset of the value inside a slot */
    u32 val_size;
    u32 stride;
    cd_hash_kind kind;
} cd_hmap;

/* cd_hmap_init makes an empty map; no memory is taken before the first put. val_size 0 makes a set.
 */
void cd_hmap_init(cd_hmap *m, cd_hash_kind kind, u32 key_size, u32 val_size);
void cd_hmap_fini(cd_hmap *m);

/* cd_hmap_reserve makes room for cnt entries in all, so that puts up to there do not grow the map.
 */
void cd_hmap_reserve(cd_hmap *m, usize cnt);

/* cd_hmap_get gives the value of key, or NULL. In a set the pointer may only be compared with NULL. */
void *cd_hmap_get(const cd_hmap *m, const void *key);

/* cd_hmap_put gives the value of key, after inserting a zeroed one if there was none.
 * *is_new (NULL allowed) says whether it was inserted. */
void *cd_hmap_put(cd_hmap *m, bool *is_new, const void *key) __attribute__((returns_nonnull));

/* cd_hmap_del removes key; false if it was not there. */
bool cd_hmap_del(cd_hmap *m, const void *key);

/* cd_hmap_clear empties the map, keeping its memory (unless it is far larger than what it held). */
void cd_hmap_clear(cd_hmap *m);

/* cd_hmap_cnt counts the entries. */
CD_INLINE usize cd_hmap_cnt(const cd_hmap *m)
{
    return m->cnt;
}

/* cd_hmap_next steps through all entries: start with *it = 0, ends with false. *key and *val (key and
 * val may be NULL) are borrowed. The map must not be changed meanwhile, values may.
 *     for (usize it = 0; cd_hmap_next(&m, &it, &key, &val);) */
bool cd_hmap_next(const cd_hmap *m, usize *it, const void **key, void **val);

#endif
