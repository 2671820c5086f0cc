/* Parameters of URLs: what is decoded stays within bounds, names are names, sorted, each once. */
#include "services/pricing/prices.h"
#include "services/pricing/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cd_arena a = {0};
    cd_bytes in = cd_bytes_of(data, size);
    cd_bytes v;
    cd_bytes *names;
    usize cnt;
    char folded[CD_PRICE_NAME_MAX];
    if (cd_query_unescape(&v, &a, in) == CD_OK) {
        CD_ASSERT(v.n <= in.n);
    }
    if (cd_query_get(&v, &a, in, "ids") == CD_OK) {
        CD_ASSERT(v.n <= in.n);
        if (cd_query_names(&names, &cnt, &a, v, 100) == CD_OK) {
            CD_ASSERT(cnt <= 100);
            for (usize i = 0; i < cnt; i++) {
                CD_ASSERT(cd_price_name_fold(folded, names[i]) &&
                          cd_bytes_eq(names[i], cd_bytes_of(folded, names[i].n)));
                CD_ASSERT(i == 0 || cd_bytes_cmp(names[i - 1], names[i]) < 0);
            }
        }
    }
    cd_arena_fini(&a);
    return 0;
}
