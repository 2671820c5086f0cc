#include "store/kv_mark_priv.h"

#include "base/hex.h"
#include "crypto/hash/keccak.h"

#include <stdio.h>

static const char file_name[] = "CANDELA-HEAD";
static const char boot_name[] = "/proc/sys/kernel/random/boot_id";

/* Each record has a sector of its own: a write that tears one leaves the other whole. */
enum { PLACES = 2, PLACE = 512, FILE_SIZE = PLACES * PLACE, PATH_SIZE = 4096, BOOT_TEXT_MAX = 64 };

enum { MAGIC_N = 8, TURN_AT = 8, WRITTEN_AT = 16, DURABLE_AT = 24, BOOT_AT = 32, SUM_AT = 48, RECORD = 56 };
static const u8 magic[MAGIC_N] = {'c', 'd', 'h', 'e', 'a', 'd', ' ', '1'};

/* --- records --- */

static u64 sum_of(const u8 *record)
{
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_of(record, SUM_AT));
    return cd_le64(h.b);
}

static bool is_whole(const u8 *record)
{
    return memcmp(record, magic, MAGIC_N) == 0 && cd_le64(record + SUM_AT) == sum_of(record);
}

static bool is_blank(const u8 *record)
{
    static const u8 zeros[RECORD];
    return memcmp(record, zeros, RECORD) == 0;
}

/* Writes a record over the older of the two. */
static cd_err put(cd__kv_mark *m, cd_errinfo *why)
{
    u8 record[RECORD];
    memcpy(record, magic, MAGIC_N);
    cd_put_le64(record + TURN_AT, ++m->turn);
    cd_put_le64(record + WRITTEN_AT, m->written);
    cd_put_le64(record + DURABLE_AT, m->durable);
    memcpy(record + BOOT_AT, m->boot, sizeof m->boot);
    cd_put_le64(record + SUM_AT, sum_of(record));
    return cd_fs_cell_write(&m->cell, (m->turn % PLACES) * PLACE, cd_bytes_of(record, sizeof record), why);
}

/* --- the machine --- */

/* The machine's name for its present start; zero when it gives none. */
static void boot_of(u8 out[16])
{
    cd_buf text = {0};
    u8 digits[32];
    usize n = 0;
    memset(out, 0, 16);
    if (cd_fs_read_file(cd_fs_real(), &text, boot_name, BOOT_TEXT_MAX, NULL) == CD_OK) {
        for (usize i = 0; i < text.n && n < sizeof digits; i++) {
            if (text.p[i] != '-') {
                digits[n++] = text.p[i];
            }
        }
    }
    if (n != sizeof digits || cd_hex_parse(out, cd_bytes_of(digits, n)) != CD_OK) {
        memset(out, 0, 16);
    }
    cd_buf_fini(&text);
}

static bool is_same_boot(const u8 *a, const u8 *b)
{
    static const u8 none[16];
    return memcmp(a, b, 16) == 0 && memcmp(a, none, 16) != 0;
}

/* --- the file --- */

/* Takes the newer one of the records that are whole. */
static cd_err take(cd__kv_mark *m, u64 *least, cd_bytes file, cd_errinfo *why)
{
    const u8 *best = NULL;
    bool are_blank = true;
    for (usize i = 0; i < PLACES && file.n == FILE_SIZE; i++) {
        const u8 *r = file.p + i * PLACE;
        are_blank = are_blank && is_blank(r);
        if (is_whole(r) && (best == NULL || cd_le64(r + TURN_AT) > cd_le64(best + TURN_AT))) {
            best = r;
        }
    }
    if (best == NULL) {
        return file.n == FILE_SIZE && are_blank ? CD_OK : cd_fail(why, CD_ECORRUPT, "%s is damaged", file_name);
    }
    m->turn = cd_le64(best + TURN_AT);
    m->written = cd_le64(best + WRITTEN_AT);
    m->durable = cd_le64(best + DURABLE_AT);
    *least = is_same_boot(best + BOOT_AT, m->boot) ? m->written : m->durable;
    return CD_OK;
}

cd_err cd__kv_mark_open(cd__kv_mark *m, u64 *least, const char *dir, cd_errinfo *why)
{
    char path[PATH_SIZE];
    *m = (cd__kv_mark){.cell = {.fd = -1}};
    *least = 0;
    if (snprintf(path, sizeof path, "%s/%s", dir, file_name) >= (int)sizeof path) {
        return cd_fail(why, CD_EINVAL, "path is too long");
    }
    boot_of(m->boot);
    CD_TRY(cd_fs_cell_open(&m->cell, cd_fs_real(), path, FILE_SIZE, 0644, why));
    cd_buf file = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), &file, path, FILE_SIZE, why);
    e = e == CD_ELIMIT ? cd_fail(why, CD_ECORRUPT, "%s is too long", file_name) : e;
    if (e == CD_OK) {
        e = take(m, least, cd_buf_bytes(&file), why);
    }
    cd_buf_fini(&file);
    if (e != CD_OK && e != CD_ECORRUPT) {
        cd_fs_cell_close(&m->cell);
    }
    return e;
}

void cd__kv_mark_put(cd__kv_mark *m, u64 number, bool is_durable)
{
    m->written = number;
    m->durable = is_durable ? number : m->durable;
    (void)!put(m, NULL);
}

cd_err cd__kv_mark_reset(cd__kv_mark *m, u64 number, cd_errinfo *why)
{
    m->written = number;
    m->durable = number;
    CD_TRY(put(m, why));
    CD_TRY(put(m, why)); /* the second time over the other record, which promised more */
    return cd_fs_cell_sync(&m->cell, why);
}

void cd__kv_mark_close(cd__kv_mark *m, bool is_clean)
{
    if (is_clean) {
        (void)!cd_fs_cell_sync(&m->cell, NULL);
    }
    cd_fs_cell_close(&m->cell);
}
