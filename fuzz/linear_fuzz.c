/* Transactions of the P-Chain from arbitrary bytes: what is read is written back to the byte, has the size that was
 * foretold, and can be shown. */
#include "types/ptx.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    cd_p_tx tx = {.creds = {.cnt = 0}};
    cd_bytes in = cd_bytes_of(data, size);
    cd_errinfo why;
    if (cd_linear_parse(&tx, &cd_p_tx_table, &a, in, 0, &why) == CD_OK) {
        cd_buf out = {0};
        const cd_linear_place place = {.chain = "P", .prefix = "lux"};
        CD_ASSERT(cd_linear_size(&cd_p_tx_table, &tx) == size);
        cd_linear_put(&out, &cd_p_tx_table, &tx);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
        cd_buf_clear(&out);
        cd_json_w w = {.out = &out};
        cd_linear_json(&w, &place, &cd_p_tx_table, &tx);
        cd_json v;
        CD_ASSERT(cd_json_parse(&v, &a, cd_buf_bytes(&out), 0, NULL) == CD_OK);
        cd_buf_fini(&out);
    }
    cd_arena_fini(&a);
    return 0;
}
