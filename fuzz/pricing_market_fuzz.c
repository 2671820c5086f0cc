/* Answers of a provider: whatever comes, rows are whole and within bounds, or there are none. */
#include "services/pricing/market.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cd_arena a = {0};
    const cd_market_row *rows = NULL;
    usize cnt = 0;
    u64 s;
    if (cd_market_parse(&rows, &cnt, &a, cd_bytes_of(data, size), NULL) == CD_OK) {
        for (usize i = 0; i < cnt; i++) {
            CD_ASSERT(rows[i].symbol.n <= CD_MARKET_SYMBOL_MAX && rows[i].name.n <= CD_MARKET_NAME_MAX);
            CD_ASSERT(isfinite(rows[i].price) && isfinite(rows[i].market_cap));
        }
    }
    (void)!cd_market_time_parse(&s, cd_bytes_of(data, size));
    cd_arena_fini(&a);
    return 0;
}
