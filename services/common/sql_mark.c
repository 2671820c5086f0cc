#include "services/common/sql_mark_priv.h"

#include "base/hex.h"
#include "crypto/hash/sha2.h"

#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char boot_name[] = "/proc/sys/kernel/random/boot_id";

/* Each record has a sector of its own: a write that tears one leaves the other whole. */
enum { PLACES = 2, PLACE = 512, FILE_SIZE = PLACES * PLACE, BOOT_TEXT_MAX = 64 };

enum { MAGIC_N = 8, TURN_AT = 8, WRITTEN_AT = 16, DURABLE_AT = 24, BOOT_AT = 32, SUM_AT = 48, RECORD = 56 };
static const u8 magic[MAGIC_N] = {'c', 'd', 's', 'q', 'l', 'h', 'd', '1'};

static u64 sum_of(const u8 *record)
{
    cd_hash32 h;
    cd_sha256(&h, cd_bytes_of(record, SUM_AT));
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

/* What the file says: the newer one of the records that are whole. */
typedef struct note {
    u64 turn, written, durable;
    bool is_ours; /* made since the machine started */
} note;

/* false: there is no whole record, nor are all blank. */
static bool take(note *out, const u8 file[FILE_SIZE], const u8 boot[16])
{
    const u8 *best = NULL;
    bool are_blank = true;
    for (usize i = 0; i < PLACES; i++) {
        const u8 *r = file + i * PLACE;
        are_blank = are_blank && is_blank(r);
        if (is_whole(r) && (best == NULL || cd_le64(r + TURN_AT) > cd_le64(best + TURN_AT))) {
            best = r;
        }
    }
    *out = (note){0};
    if (best != NULL) {
        *out = (note){.turn = cd_le64(best + TURN_AT),
                      .written = cd_le64(best + WRITTEN_AT),
                      .durable = cd_le64(best + DURABLE_AT),
                      .is_ours = is_same_boot(best + BOOT_AT, boot)};
    }
    return best != NULL || are_blank;
}

static bool read_note(const cd__sql_mark *m, note *out)
{
    u8 file[FILE_SIZE + 1];
    return pread(m->cell.fd, file, sizeof file, 0) == FILE_SIZE && take(out, file, m->boot);
}

/* Commands of root make files for the service whose database it is, as SQLite does with its own. */
static void give_away(const cd__sql_mark *m, const char *path)
{
    struct stat st;
    if (geteuid() == 0 && stat(path, &st) == 0) {
        (void)!fchown(m->cell.fd, st.st_uid, st.st_gid);
    }
}

cd_err cd__sql_mark_open(cd__sql_mark *m, u64 *least, const char *path, cd_errinfo *why)
{
    note n;
    *least = 0;
    *m = (cd__sql_mark){.is_open = false};
    if (snprintf(m->path, sizeof m->path, "%s-head", path) >= (int)sizeof m->path) {
        return cd_fail(why, CD_EINVAL, "path is too long");
    }
    boot_of(m->boot);
    CD_TRY(cd_fs_cell_open(&m->cell, cd_fs_real(), m->path, FILE_SIZE, 0600, why));
    m->is_open = true;
    give_away(m, path);
    if (!read_note(m, &n)) {
        return cd_fail(
            why, CD_ELOST,
            "%s is damaged, which says how far the database was written: remove it to go on with what is there",
            m->path);
    }
    *least = n.is_ours ? n.written : n.durable;
    return CD_OK;
}

/* Others may have noted more since; what they promised stays. */
static void put(cd__sql_mark *m, u64 count, bool is_durable)
{
    u8 record[RECORD];
    note n;
    if (!read_note(m, &n)) {
        return;
    }
    u64 written = n.is_ours && n.written > count ? n.written : count;
    u64 durable = is_durable && count > n.durable ? count : n.durable;
    memcpy(record, magic, MAGIC_N);
    cd_put_le64(record + TURN_AT, n.turn + 1);
    cd_put_le64(record + WRITTEN_AT, written);
    cd_put_le64(record + DURABLE_AT, durable);
    memcpy(record + BOOT_AT, m->boot, sizeof m->boot);
    cd_put_le64(record + SUM_AT, sum_of(record));
    (void)!cd_fs_cell_write(&m->cell, ((n.turn + 1) % PLACES) * PLACE, cd_bytes_of(record, sizeof record), NULL);
}

void cd__sql_mark_put(cd__sql_mark *m, u64 count, bool is_durable)
{
    if (m->is_open && flock(m->cell.fd, LOCK_EX) == 0) {
        put(m, count, is_durable);
        (void)flock(m->cell.fd, LOCK_UN);
    }
}

void cd__sql_mark_close(cd__sql_mark *m)
{
    if (m->is_open) {
        cd_fs_cell_close(&m->cell);
        m->is_open = false;
    }
}
