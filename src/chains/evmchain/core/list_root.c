#include "chains/evmchain/core/list_root.h"

#include "base/mem/mem.h"
#include "store/trie.h"

void cd_list_root_mark(cd_list_root *l)
{
    cd_buf_put(&l->ends, cd_bytes_of(&l->enc.n, sizeof l->enc.n));
}

void cd_list_root_final(cd_list_root *l, cd_hash32 *out)
{
    usize cnt = l->ends.n / sizeof(usize);
    cd_bytes *items = cd_new_array(cd_bytes, cnt);
    usize start = 0;
    for (usize i = 0; i < cnt; i++) {
        usize end;
        memcpy(&end, l->ends.p + i * sizeof end, sizeof end);
        items[i] = cd_bytes_of(l->enc.p + start, end - start);
        start = end;
    }
    cd_trie_list_root(out, items, cnt);
    cd_free(items);
    cd_buf_fini(&l->enc);
    cd_buf_fini(&l->ends);
}
