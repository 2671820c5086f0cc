#include "services/adx/miner/key_file.h"

#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"

#include <sys/stat.h>

enum { MODE = 0600, OTHERS = 077 };

cd_err cd_key_file(u8 key[CD_KEY_FILE_LEN], const char *path, cd_errinfo *why)
{
    cd_buf bytes = {0};
    struct stat st;
    cd_err err = cd_fs_read_file(cd_fs_real(), &bytes, path, CD_KEY_FILE_LEN + 1, why);
    if (err == CD_ENOENT) {
        cd_rng rng = cd_rng_os();
        cd_rng_fill(&rng, key, CD_KEY_FILE_LEN);
        err = cd_fs_replace_file(cd_fs_real(), path, cd_bytes_of(key, CD_KEY_FILE_LEN), MODE, why);
    } else if (err == CD_OK && (bytes.n != CD_KEY_FILE_LEN || stat(path, &st) != 0 || (st.st_mode & OTHERS) != 0)) {
        err = cd_fail(why, CD_EACCES, "%s: must be 32 bytes that nobody else can read", path);
    } else if (err == CD_OK) {
        memcpy(key, bytes.p, CD_KEY_FILE_LEN);
    }
    if (bytes.p != NULL) {
        cd_wipe(bytes.p, bytes.n);
    }
    cd_buf_fini(&bytes);
    return err;
}
