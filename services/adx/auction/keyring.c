#include "services/adx/auction/keyring.h"

#include "base/mem/secret.h"
#include "base/os/fileio.h"

#include <sys/stat.h>

enum { HEAD = 4 + 32 + 1, EACH = 4 + 32 + 8, FILE_MAX = HEAD + CD_HOUSE_KEYS * EACH, MODE = 0600 };

static const u8 magic[4] = {'A', 'K', 'R', '1'};

void cd_keyring_wipe(cd_keyring *k)
{
    cd_wipe(k, sizeof *k);
}

static cd_err save(const cd_keyring *k, const char *path, cd_errinfo *why)
{
    u8 file[FILE_MAX];
    u8 *p = file + HEAD;
    memcpy(file, magic, 4);
    memcpy(file + 4, k->receipt_seed, 32);
    file[36] = (u8)k->cnt;
    for (u32 i = 0; i < k->cnt; i++, p += EACH) {
        cd_put_be32(p, k->keys[i].id);
        memcpy(p + 4, k->keys[i].secret, 32);
        cd_put_be64(p + 36, k->made_s[i]);
    }
    cd_err err = cd_fs_replace_file(cd_fs_real(), path, cd_bytes_of(file, (usize)(p - file)), MODE, why);
    cd_wipe(file, sizeof file);
    return err;
}

static cd_err parse(cd_keyring *out, const char *path, cd_bytes b, cd_errinfo *why)
{
    u32 cnt = b.n < HEAD ? 0 : b.p[36];
    struct stat st;
    if (stat(path, &st) != 0 || (st.st_mode & 077) != 0) {
        return cd_fail(why, CD_EACCES, "%s: must be a file that nobody else can read", path);
    }
    if (cnt == 0 || cnt > CD_HOUSE_KEYS || b.n != HEAD + cnt * EACH || memcmp(b.p, magic, 4) != 0) {
        return cd_fail(why, CD_ECORRUPT, "%s: is no file of auction keys", path);
    }
    *out = (cd_keyring){.cnt = cnt};
    memcpy(out->receipt_seed, b.p + 4, 32);
    for (u32 i = 0; i < cnt; i++) {
        const u8 *p = b.p + HEAD + (usize)i * EACH;
        out->keys[i].id = cd_be32(p);
        memcpy(out->keys[i].secret, p + 4, 32);
        out->made_s[i] = cd_be64(p + 36);
    }
    return CD_OK;
}

static void put_fresh(cd_keyring *k, cd_rng *rng, u64 now_s)
{
    u32 id = k->cnt == 0 ? 1 : k->keys[0].id + 1;
    for (u32 i = CD_HOUSE_KEYS - 1; i > 0; i--) {
        k->keys[i] = k->keys[i - 1];
        k->made_s[i] = k->made_s[i - 1];
    }
    k->keys[0].id = id;
    cd_rng_fill(rng, k->keys[0].secret, sizeof k->keys[0].secret);
    k->made_s[0] = now_s;
    k->cnt = k->cnt == CD_HOUSE_KEYS ? k->cnt : k->cnt + 1;
}

cd_err cd_keyring_open(cd_keyring *out, const char *path, cd_rng *rng, u64 now_s, cd_errinfo *why)
{
    cd_buf bytes = {0};
    cd_err err = cd_fs_read_file(cd_fs_real(), &bytes, path, FILE_MAX + 1, why);
    if (err == CD_ENOENT) {
        *out = (cd_keyring){0};
        cd_rng_fill(rng, out->receipt_seed, sizeof out->receipt_seed);
        put_fresh(out, rng, now_s);
        err = save(out, path, why);
    } else if (err == CD_OK) {
        err = parse(out, path, cd_buf_bytes(&bytes), why);
    }
    if (bytes.n != 0) {
        cd_wipe(bytes.p, bytes.n);
    }
    cd_buf_fini(&bytes);
    return err;
}

cd_err cd_keyring_rotate(cd_keyring *k, bool *is_new, const char *path, cd_rng *rng, u64 now_s, cd_errinfo *why)
{
    cd_keyring next = *k;
    *is_new = now_s >= k->made_s[0] + CD_KEYRING_LIFE_S;
    if (!*is_new) {
        return CD_OK;
    }
    put_fresh(&next, rng, now_s);
    cd_err err = save(&next, path, why);
    *is_new = err == CD_OK;
    *k = err == CD_OK ? next : *k;
    cd_wipe(&next, sizeof next);
    return err;
}
