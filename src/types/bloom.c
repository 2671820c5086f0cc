#include "types/bloom.h"

#include "crypto/hash/keccak.h"

/* The three bits of an entry: the low 11 bits of the first three byte pairs of its hash, counted
 * from the end of the filter (yellow paper, 4.3.1). */
typedef struct bits {
    u32 byte[3];
    u8 mask[3];
} bits;

static bits bits_of(cd_bytes entry)
{
    cd_hash32 h;
    cd_keccak256(&h, entry);
    bits r;
    for (usize i = 0; i < 3; i++) {
        u32 bit = cd_be16(h.b + 2 * i) & 2047;
        r.byte[i] = 255 - bit / 8;
        r.mask[i] = (u8)(1U << (bit % 8));
    }
    return r;
}

void cd_bloom_add(cd_bloom *bloom, cd_bytes entry)
{
    bits at = bits_of(entry);
    for (int i = 0; i < 3; i++) {
        bloom->b[at.byte[i]] |= at.mask[i];
    }
}

void cd_bloom_add_logs(cd_bloom *bloom, const cd_log *logs, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_bloom_add(bloom, cd_bytes_of(logs[i].addr.b, 20));
        for (u32 t = 0; t < logs[i].topic_cnt; t++) {
            cd_bloom_add(bloom, cd_bytes_of(logs[i].topics[t].b, 32));
        }
    }
}

void cd_bloom_or(cd_bloom *bloom, const cd_bloom *other)
{
    for (usize i = 0; i < sizeof bloom->b; i++) {
        bloom->b[i] |= other->b[i];
    }
}

bool cd_bloom_has(const cd_bloom *bloom, cd_bytes entry)
{
    bits at = bits_of(entry);
    for (int i = 0; i < 3; i++) {
        if ((bloom->b[at.byte[i]] & at.mask[i]) == 0) {
            return false;
        }
    }
    return true;
}
