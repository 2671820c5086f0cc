/* services/webhook/core/chain/index.h - which webhooks list an address, a topic or a hash.
 *
 *   key ─ SipHash ─► one of 256 shards ─► slot: tag | ref          a key that one webhook lists
 *                                              tag | group ─► refs  one that several do
 *
 * Eight bytes a key: the keys themselves stay in the webhooks' lists, where a ref says which. Shards grow one at a
 * time, so adding a key to ten million costs a few milliseconds at worst. Deletion leaves no trace.
 * Threading: confined. [spec:webhooks#6] */
#ifndef CD_WEBHOOK_CORE_INDEX_H
#define CD_WEBHOOK_CORE_INDEX_H

#include "base/bytes.h"
#include "base/table/siphash.h"

enum { CD__WH_SHARDS = 256, CD__WH_REF_BITS = 43 };

/* Gives the key that a ref stands for. */
typedef cd_bytes cd__wh_key_fn(const void *ctx, u64 ref);

/* A part of the index: open addressing over keys. */
typedef struct cd__wh_shard {
    u64 *slots; /* 0: free */
    u32 cap;    /* a power of two */
    u32 cnt;
} cd__wh_shard;

/* The references behind one key. */
typedef struct cd__wh_group {
    u64 *refs;
    u32 cnt, cap; /* cnt == 0: unused, cap is the next unused one */
} cd__wh_group;

/* An index from keys to references, several to a key. */
typedef struct cd__wh_index {
    cd__wh_shard shards[CD__WH_SHARDS];
    cd__wh_group *groups; /* [0] is not used */
    u32 groups_cnt, groups_cap, groups_free;
    cd_sipkey sipkey;
    cd__wh_key_fn *key;
    const void *ctx;
} cd__wh_index;

/* cd__wh_index_init makes an empty index; key is asked for the keys of refs. cd__wh_index_fini releases it. */
void cd__wh_index_init(cd__wh_index *x, cd__wh_key_fn *key, const void *ctx);
void cd__wh_index_fini(cd__wh_index *x);

/* cd__wh_index_hash gives what the other calls take. */
u64 cd__wh_index_hash(const cd__wh_index *x, cd_bytes key);

/* cd__wh_index_prefetch asks for the memory that a look-up of hash will touch. */
CD_INLINE void cd__wh_index_prefetch(const cd__wh_index *x, u64 hash)
{
    const cd__wh_shard *s = &x->shards[hash >> 56];
    if (s->cnt != 0) {
        __builtin_prefetch(&s->slots[hash & (s->cap - 1)]);
    }
}

/* cd__wh_index_get gives the refs of a key, 0 when there is none; borrowed until the next change. *one is room for a
 * single ref. */
usize cd__wh_index_get(const cd__wh_index *x, const u64 **refs, u64 *one, u64 hash, cd_bytes key);

/* cd__wh_index_put adds a ref (not 0, below 2^43), whose key must be readable by now; cd__wh_index_del removes it,
 * while its key is readable still. */
void cd__wh_index_put(cd__wh_index *x, u64 ref);
void cd__wh_index_del(cd__wh_index *x, u64 ref);

#endif
