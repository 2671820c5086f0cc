/* base/os/term.h - what a stream can show: width, colours, characters beyond ASCII.
 *
 * Threading: shared (reads the environment). */
#ifndef CD_BASE_TERM_H
#define CD_BASE_TERM_H

#include "base/base.h"

enum { CD_TERM_WIDTH_UNKNOWN = 80, CD_TERM_WIDTH_MAX = 100 };

/* cd_term_width gives the columns to write for fd: the terminal's, at most 100; 80 when unknown. */
u32 cd_term_width(int fd);

/* cd_term_is_tty: fd is a terminal. */
bool cd_term_is_tty(int fd);

/* cd_term_has_color: fd is a terminal, NO_COLOR is unset or empty, and TERM is not "dumb". */
bool cd_term_has_color(int fd);

/* cd_term_has_utf8: the locale's character set, as LC_ALL, LC_CTYPE or LANG name it, is UTF-8. */
bool cd_term_has_utf8(void);

/* cd_term_columns counts the columns a UTF-8 text takes (one per code point). */
usize cd_term_columns(const char *text);

#endif
