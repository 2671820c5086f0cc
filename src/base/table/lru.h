/* base/table/lru.h - a bounded cache that forgets what was not used for longest.
 *
 * Every entry has a cost; the sum never exceeds the limit. With cost = bytes the cache is bounded
 * by memory, with cost 1 by count. Values are pointers that the cache owns and gives to `drop`.
 * Threading: confined. For a cache shared by threads, hold one mutex around get and take a
 * reference on the value before letting go of it. */
#ifndef CD_BASE_LRU_H
#define CD_BASE_LRU_H

#include "base/table/hmap.h"

typedef struct cd_lru cd_lru;

/* Called once for each value that leaves the cache: replaced, evicted, deleted, or at free. It must
 * not call back into the cache. */
typedef void cd_lru_drop(void *ctx, void *val);

/* cd_lru_new makes an empty cache over keys of key_size bytes. drop may be NULL. */
cd_lru *cd_lru_new(cd_hash_kind kind, u32 key_size, u64 max_cost, cd_lru_drop *drop, void *ctx);
void cd_lru_free(cd_lru *l); /* NULL is allowed */

/* cd_lru_get gives the value (borrowed until the next put, del or free) and marks it as just used;
 * NULL when absent. */
void *cd_lru_get(cd_lru *l, const void *key);

/* cd_lru_put takes val under key, dropping an older value of the key and as many of the least used
 * entries as it needs. False when cost exceeds the whole limit: nothing happens and val stays the
 * caller's. val must not be NULL. */
bool cd_lru_put(cd_lru *l, const void *key, void *val, u64 cost) CD_CHECK;

/* cd_lru_del drops the entry of key; false if there was none. */
bool cd_lru_del(cd_lru *l, const void *key);

/* cd_lru_clear drops everything. */
void cd_lru_clear(cd_lru *l);

/* cd_lru_cnt counts the entries, cd_lru_cost adds up what they cost. */
usize cd_lru_cnt(const cd_lru *l);
u64 cd_lru_cost(const cd_lru *l);

#endif
