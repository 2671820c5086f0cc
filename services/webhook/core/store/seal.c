#include "services/webhook/core/store/seal.h"

#include "base/hex.h"
#include "base/mem/buf.h"
#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "crypto/cipher/aes.h"

#include <sys/stat.h>

enum { NONCE = 12, TAG = 16, KEY_TEXT = 64 };

cd_bytes cd_wh_seal(cd_arena *mem, const u8 key[32], cd_bytes text, const char *about)
{
    cd_rng rng = cd_rng_os();
    u8 *p = cd_arena_alloc(mem, NONCE + text.n + TAG);
    cd_rng_fill(&rng, p, NONCE);
    cd_aes256_gcm_seal(p + NONCE, p + NONCE + text.n, key, p, text, cd_bytes_str(about));
    return cd_bytes_of(p, NONCE + text.n + TAG);
}

cd_err cd_wh_unseal(cd_bytes *out, cd_arena *mem, const u8 key[32], cd_bytes sealed, const char *about, cd_errinfo *why)
{
    if (sealed.n < NONCE + TAG) {
        return cd_fail(why, CD_ECORRUPT, "a sealed %s is too short", about);
    }
    cd_bytes text = cd_bytes_sub(sealed, NONCE, sealed.n - NONCE - TAG);
    u8 *p = cd_arena_alloc(mem, text.n);
    if (cd_aes256_gcm_open(p, key, sealed.p, text, sealed.p + sealed.n - TAG, cd_bytes_str(about)) != CD_OK) {
        return cd_fail(why, CD_ECORRUPT, "a sealed %s does not open: another master key, or damaged", about);
    }
    *out = cd_bytes_of(p, text.n);
    return CD_OK;
}

static cd_err draw(u8 key[32], const char *path, cd_errinfo *why)
{
    cd_rng rng = cd_rng_os();
    char text[KEY_TEXT + 1];
    cd_fs_out out;
    u8 drawn[32];
    cd_rng_fill(&rng, drawn, sizeof drawn);
    cd_hex_fmt(text, cd_bytes_of(drawn, sizeof drawn));
    text[KEY_TEXT] = '\n';
    cd_err err = cd_fs_out_open(&out, cd_fs_real(), path, 0600, why);
    if (err == CD_OK) {
        err = cd_fs_out_put(&out, cd_bytes_of(text, sizeof text), why);
        if (err == CD_OK) {
            err = cd_fs_out_close(&out, why);
        }
        if (err == CD_OK) {
            memcpy(key, drawn, sizeof drawn);
        } else {
            cd_fs_out_drop(&out);
        }
    }
    cd_wipe(drawn, sizeof drawn);
    cd_wipe(text, sizeof text);
    return err;
}

cd_err cd_wh_master_key(u8 key[32], const char *path, cd_errinfo *why)
{
    cd_buf text = {0};
    struct stat st;
    cd_err err = cd_fs_read_file(cd_fs_real(), &text, path, KEY_TEXT + 2, why);
    if (err == CD_ENOENT) {
        return draw(key, path, why);
    }
    if (err == CD_OK && stat(path, &st) == 0 && (st.st_mode & 077) != 0) {
        err = cd_fail(why, CD_EACCES, "%s: others may read the master key (chmod 600)", path);
    }
    if (err == CD_OK) {
        cd_bytes hex = cd_buf_bytes(&text);
        while (hex.n > 0 && (hex.p[hex.n - 1] == '\n' || hex.p[hex.n - 1] == '\r')) {
            hex.n--;
        }
        u8 read[32];
        if (hex.n != KEY_TEXT || cd_hex_parse(read, hex) != CD_OK) {
            err = cd_fail(why, CD_EFORMAT, "%s: a master key is 64 hexadecimal digits", path);
        } else {
            memcpy(key, read, sizeof read);
        }
        cd_wipe(read, sizeof read);
    }
    if (text.n > 0) {
        cd_wipe(text.p, text.n);
    }
    cd_buf_fini(&text);
    return err;
}
