/* The files of --abi, for the pages; what is wrong with them the development network says itself. */
#include "explorer/abis.h"
#include "base/os/fileio.h"
#include "commands.h"

#include <string.h>

enum { ABI_FILE_MAX = 16 << 20 };

static bool is_abi(const char *path)
{
    usize n = strlen(path);
    return n >= 5 && strcmp(path + n - 5, ".json") == 0 && (n < 9 || strcmp(path + n - 9, ".dbg.json") != 0) &&
           strstr(path, "/build-info/") == NULL;
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    cd_buf text = {0};
    if (kind == CD_FS_FILE && is_abi(path) && cd_fs_read_file(cd_fs_real(), &text, path, ABI_FILE_MAX, NULL) == CD_OK) {
        cd_err e = cd_abis_add(ctx, cd_buf_bytes(&text), NULL);
        (void)e;
    }
    cd_buf_fini(&text);
    return CD_OK;
}

cd_abis *cd__abis_load(const char *const *paths, usize cnt)
{
    cd_abis *x = cnt == 0 ? NULL : cd_abis_new();
    for (usize i = 0; i < cnt; i++) {
        cd_err e = cd_fs_walk(cd_fs_real(), paths[i], visit, x, NULL);
        (void)e;
    }
    return x;
}
