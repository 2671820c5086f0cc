/* evm/state/state_priv.h - what the files of cd_state share: hash tables and hash functions.
 *
 * Threading: confined. */
#ifndef CD_EVM_STATE_PRIV_H
#define CD_EVM_STATE_PRIV_H

#include "evm/state/state.h"

/* cd__table_init makes a table of 2^bits entries, cd__table_fini releases it. */
void cd__table_init(cd__table *t, u32 bits);
void cd__table_fini(cd__table *t);

/* cd__table_clear forgets every item; a table that grew beyond what blocks usually need shrinks. */
void cd__table_clear(cd__table *t);

/* cd__table_add inserts an item known to be absent. */
void cd__table_add(cd__table *t, u32 tag, void *item);

/* To find the items of a tag, start at cd__table_home and call cd__table_next until it gives NULL. */
CD_INLINE u32 cd__table_home(const cd__table *t, u32 tag)
{
    return tag >> (32 - t->bits);
}

CD_INLINE void *cd__table_next(const cd__table *t, u32 *at, u32 tag)
{
    u32 mask = ((u32)1 << t->bits) - 1;
    for (;;) {
        const cd__table_entry *e = &t->entries[*at];
        *at = (*at + 1) & mask;
        if (e->stamp != t->stamp) {
            return NULL;
        }
        if (CD_LIKELY(e->tag == tag)) {
            return e->item;
        }
    }
}

/* cd__mix folds the product of two words into one word: the step of both hash functions. */
CD_INLINE u64 cd__mix(u64 a, u64 b)
{
    u128 p = (u128)a * b;
    return (u64)p ^ (u64)(p >> 64);
}

CD_INLINE u64 cd__hash_addr(const u64 key[4], const cd_addr20 *a)
{
    u64 h = cd__mix(cd_le64(a->b + 4) ^ key[0], cd_le64(a->b + 12) ^ key[1]);
    return cd__mix(h ^ cd_le32(a->b) ^ key[2], key[3]);
}

CD_INLINE u64 cd__hash_word(const u64 key[4], const cd_u256 *v, u64 seed)
{
    u64 h = cd__mix(v->w[0] ^ key[0], v->w[1] ^ key[1]) ^ cd__mix(v->w[2] ^ key[2], v->w[3] ^ key[3]);
    return cd__mix(h ^ seed, key[1]);
}

#endif
