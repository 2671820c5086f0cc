/* types/bloom.h - the 2048-bit filter over log addresses and topics. Threading: pure. */
#ifndef CD_TYPES_BLOOM_H
#define CD_TYPES_BLOOM_H

#include "types/log.h"

/* The bloom filter of logs, 2048 bits. */
typedef struct cd_bloom {
    u8 b[256];
} cd_bloom;

/* cd_bloom_add sets the three bits of an entry (an address or a topic). */
void cd_bloom_add(cd_bloom *bloom, cd_bytes entry);

/* cd_bloom_add_logs adds address and topics of each log; cd_bloom_or adds all bits of another filter. */
void cd_bloom_add_logs(cd_bloom *bloom, const cd_log *logs, usize cnt);
void cd_bloom_or(cd_bloom *bloom, const cd_bloom *other);

/* cd_bloom_has: false means the entry was never added; true means it may have been. */
bool cd_bloom_has(const cd_bloom *bloom, cd_bytes entry);

/* cd_bloom_eq compares all 2048 bits. */
CD_INLINE bool cd_bloom_eq(const cd_bloom *a, const cd_bloom *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

#endif
