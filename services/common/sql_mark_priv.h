/* services/common/sql_mark_priv.h - how far a SQLite file was written, kept outside of it and of its log.
 *
 *   PATH-head   [ record 0 | … | record 1 | … ]     1 KiB, written in place, the records in turn
 *   record      magic, turn, written, durable, boot, checksum
 *
 * SQLite reads its log up to the first damaged frame and takes what it has then for the end; a log that is missing is
 * an empty one [https://sqlite.org/fileformat2.html 4.3]. So each transaction counts itself in a row of the database
 * (sql_head), and after the commit the count is noted here:
 *
 *   durable   the disk had it: must be there whatever happened
 *   written   the system had it (soft commits): must be there unless the machine has started anew, which boot tells
 *
 * The note is never ahead of the database: it is made after the commit. So it costs a write of some bytes and no sync;
 * what of it a crash of the machine takes along only promises less. A file that is not there promises nothing.
 * Threading: confined; other connections and processes may note in the same file at the same time. */
#ifndef CD_SERVICES_COMMON_SQL_MARK_PRIV_H
#define CD_SERVICES_COMMON_SQL_MARK_PRIV_H

#include "base/os/fileio.h"

enum { CD__SQL_MARK_PATH = 4096 };

/* A connection's way to the file. */
typedef struct cd__sql_mark {
    cd_fs_cell cell;
    char path[CD__SQL_MARK_PATH];
    u8 boot[16]; /* name of this start of the machine; zero when it has none */
    bool is_open;
} cd__sql_mark;

/* cd__sql_mark_open opens the note of the database at path, or makes it; *least is the count that the database must
 * have reached. Errors: CD_ELOST when neither record is whole, those of files. */
cd_err cd__sql_mark_open(cd__sql_mark *m, u64 *least, const char *path, cd_errinfo *why) CD_CHECK;

/* cd__sql_mark_put notes that the database has reached count; is_durable: and the disk has it. When the disk fails an
 * older note stays, which promises less. */
void cd__sql_mark_put(cd__sql_mark *m, u64 count, bool is_durable);

/* cd__sql_mark_close closes the file. One that is not open is fine. */
void cd__sql_mark_close(cd__sql_mark *m);

#endif
