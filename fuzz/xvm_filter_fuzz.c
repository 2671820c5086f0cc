/* What a listener of the X-Chain's events may say, a line a command: the filter stays within its bounds, errors are
 * JSON, and nothing is left in the end. */
#include "chains/xvm/filter.h"
#include "codec/json.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    usize all = 0;
    const cd_addr20 someone = {{1, 2, 3}};
    cd_xvm_filter *f = cd_xvm_filter_new(&all);
    for (usize at = 0; at < size;) {
        const u8 *end = memchr(data + at, '\n', size - at);
        usize n = end == NULL ? size - at : (usize)(end - (data + at));
        cd_buf error = {0};
        bool stays = cd_xvm_filter_command(f, &error, cd_bytes_of(data + at, n));
        CD_ASSERT(!stays || error.n == 0);
        if (error.n > 0) {
            cd_arena a = {0};
            cd_json v;
            CD_ASSERT(cd_json_parse(&v, &a, cd_buf_bytes(&error), 0, NULL) == CD_OK);
            cd_arena_fini(&a);
        }
        CD_ASSERT(all <= CD_XVM_FILTERS_BYTES);
        (void)cd_xvm_filter_wants(f, &someone);
        cd_buf_fini(&error);
        at += n + 1;
    }
    cd_xvm_filter_free(f);
    CD_ASSERT(all == 0);
    return 0;
}
