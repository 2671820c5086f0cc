/* base/log/log_file.h - a log's file that does not grow without end.
 *
 *   main.log ── full ──► main-2026-11-21T14-05-02.118.log ── too many, or too old ──► removed
 *
 * What cannot be written is lost: there is nobody to tell. Threading: confined; log.h guards it. [spec:node-api#11] */
#ifndef CD_BASE_LOG_FILE_H
#define CD_BASE_LOG_FILE_H

#include "base/bytes.h"
#include "base/os/clock.h"

typedef struct cd_log_file cd_log_file;

/* Which files a log goes to, and how many are kept. */
typedef struct cd_log_file_cfg {
    const char *path; /* ends in ".log"; its folder is made when it is not there */
    u64 bytes_max;    /* a file that would grow beyond this many bytes is closed and another one begun; 0: no limit */
    usize files_max;  /* earlier files that are kept; 0: all */
    u64 age_max_s;    /* files older than this many seconds are removed; 0: none */
    const cd_clock *clock; /* NULL: the real one */
} cd_log_file_cfg;

/* cd_log_file_open appends to the file from now on. Errors: those of base/os/fileio.h. cd_log_file_close: NULL is
 * allowed. */
cd_err cd_log_file_open(cd_log_file **out, const cd_log_file_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_log_file_close(cd_log_file *f);

/* cd_log_file_put writes a whole line, into another file if this one is full. */
void cd_log_file_put(cd_log_file *f, cd_bytes line);

/* cd_log_file_reopen opens the path again, for when somebody else has moved the file away. */
void cd_log_file_reopen(cd_log_file *f);

#endif
