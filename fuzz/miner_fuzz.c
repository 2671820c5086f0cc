/* Sizes and ranges from anybody: what is taken lies inside, and no text is taken for two things. */
#include "services/adx/miner/cache.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    u64 bytes = size < 1 ? 0 : data[0];
    cd_bytes text = size < 1 ? (cd_bytes){0} : cd_bytes_of(data + 1, size - 1);
    cd_byte_range r = {7, 7};
    cd_range_kind kind = cd_range_parse(&r, text, bytes);
    CD_ASSERT(kind != CD_RANGE_PART || (r.first <= r.last && r.last < bytes));
    CD_ASSERT(kind == CD_RANGE_PART || (r.first == 7 && r.last == 7));
    u64 parsed = 0;
    if (cd_cache_size_parse(&parsed, text) == CD_OK) {
        CD_ASSERT(parsed != 0 && parsed <= INT64_MAX && kind == CD_RANGE_WHOLE);
    }
    return 0;
}
