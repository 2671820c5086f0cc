/* Blocks and headers of every layout (the first byte chooses): what decodes must encode to the same
 * bytes. */
#include "types/block.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (size == 0) {
        return 0;
    }
    cd_header_layout layout = (cd_header_layout)(data[0] % (CD_HEADER_C + 1));
    cd_bytes in = cd_bytes_of(data + 1, size - 1);
    cd_arena a = {0};
    cd_buf out = {0};
    cd_block b;
    cd_header h;
    cd_errinfo why = {0};
    if (cd_block_dec(&b, &a, layout, in, &why) == CD_OK) {
        cd_block_enc(&out, layout, &b);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
    }
    cd_buf_clear(&out);
    if (cd_header_dec_all(&h, layout, in, &why) == CD_OK) {
        cd_header_enc(&out, layout, &h);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
    }
    cd_buf_fini(&out);
    cd_arena_fini(&a);
    return 0;
}
