/* base/err.h - the one error type, and a message for humans beside it.
 *
 * Three classes are kept apart: an outcome (an invalid block, a revert) is a value with its own
 * enum; an error (I/O, malformed bytes, a peer that lies) is a cd_err; a bug is CD_ASSERT
 * (base/base.h). Functions that can fail return cd_err, leave their outputs untouched on failure,
 * and may fill a caller-owned cd_errinfo with the text for a log line or an RPC reply. Threading:
 * pure. */
#ifndef CD_BASE_ERR_H
#define CD_BASE_ERR_H

/* Rows of err.def: what a function that can fail returns. */
typedef enum cd_err {
    CD_OK = 0,
#define X(name, value, message) name = (value),
#include "base/err.def"
#undef X
} cd_err;

/* cd_errinfo carries the text of one failure. All zero means "no failure yet". */
typedef struct cd_errinfo {
    cd_err code;
    int line;
    const char *file;
    char msg[496];
} cd_errinfo;

/* cd_err_name gives the code's identifier ("CD_ENOENT"), cd_err_str its lower-case message. */
const char *cd_err_name(cd_err e);
const char *cd_err_str(cd_err e);

/* cd_fail fills *why (which may be NULL) with a printf-formatted message, cut to fit, and gives code
 * (evaluated twice; in the macro, so that the compiler sees that a failure is never CD_OK). */
#define cd_fail(why, code, ...) (cd_fail_at((why), (code), __FILE__, __LINE__, __VA_ARGS__), (code))
void cd_fail_at(cd_errinfo *why, cd_err code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6), cold));

#endif
