/* ABI: a type as text up to the first newline, encoded values behind it. What decodes must encode
 * to something that decodes to the same again. */
#include "codec/abi.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    const u8 *nl = size == 0 ? NULL : memchr(data, '\n', size);
    usize n = nl == NULL ? size : (usize)(nl - data);
    cd_arena a = {0};
    cd_abi_type t;
    cd_errinfo why = {0};
    if (cd_abi_parse(&t, &a, cd_bytes_of(data, n), &why) == CD_OK && nl != NULL) {
        cd_abi_val v;
        cd_abi_val w;
        cd_buf once = {0};
        cd_buf twice = {0};
        if (cd_abi_dec(&v, &a, &t, cd_bytes_of(nl + 1, size - n - 1)) == CD_OK) {
            CD_ASSERT(cd_abi_enc(&once, &t, &v) == CD_OK);
            CD_ASSERT(cd_abi_dec(&w, &a, &t, cd_buf_bytes(&once)) == CD_OK);
            CD_ASSERT(cd_abi_enc(&twice, &t, &w) == CD_OK && cd_bytes_eq(cd_buf_bytes(&once), cd_buf_bytes(&twice)));
        }
        cd_buf_fini(&once);
        cd_buf_fini(&twice);
    }
    cd_bytes reason;
    (void)cd_abi_reason(&reason, cd_bytes_of(data, size));
    cd_arena_fini(&a);
    return 0;
}
