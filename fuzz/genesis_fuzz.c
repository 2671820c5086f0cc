/* Genesis documents: accounts come out in strictly ascending order, and failures say where. */
#include "types/genesis.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    cd_genesis g;
    cd_errinfo why = {0};
    cd_err e = cd_genesis_parse(&g, &a, cd_bytes_of(data, size), &why);
    CD_ASSERT(e == CD_OK ? why.code == CD_OK : why.code == e && why.msg[0] != '\0');
    for (usize i = 1; e == CD_OK && i < g.account_cnt; i++) {
        CD_ASSERT(memcmp(g.accounts[i - 1].addr.b, g.accounts[i].addr.b, 20) < 0);
    }
    cd_arena_fini(&a);
    return 0;
}
