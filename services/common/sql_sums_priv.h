/* services/common/sql_sums_priv.h - SQLite files whose pages carry checksums.
 *
 *   page  [ what SQLite keeps there | sum, 8 bytes ]     in the bytes that a file may reserve at the end of each page
 *
 * SQLite's log has checksums, its file has none [https://sqlite.org/fileformat2.html 1.3.4, 4.1]: a bit that flips in
 * a row there comes back as another row. Here the sum is written with each page of the file, and a page that is read
 * with another one is an error (SQLITE_IOERR_DATA) instead of a value; the way of SQLite's own checksum VFS, whose sums
 * these are not. Files that were made without room for sums are read and written as they are. Any program may read a
 * file with sums; one that writes it leaves pages that do not match.
 * Threading: a file is its connection's; the rest is frozen. */
#ifndef CD_SERVICES_COMMON_SQL_SUMS_PRIV_H
#define CD_SERVICES_COMMON_SQL_SUMS_PRIV_H

#include "base/base.h"

struct sqlite3;

/* cd__sql_sums_vfs gives the name for sqlite3_open_v2, registered; NULL when SQLite has no files here. */
const char *cd__sql_sums_vfs(void);

/* cd__sql_sums_begin has a database that is still empty make room for sums; others stay as they are. */
void cd__sql_sums_begin(struct sqlite3 *db);

#endif
