/* apps/node/report.h - messages about errors, on standard error: what is wrong, where, and what to do.
 *
 *   error: node.json:14:22: "workers" must be between 0 and 256, got 999
 *       14 │   "workers": 999
 *          │              ^^^
 *
 * [design:terminal.txt] Threading: the main thread. */
#ifndef CD_APPS_NODE_REPORT_H
#define CD_APPS_NODE_REPORT_H

#include "base/mem/buf.h"

/* A place in a text file; line 0: the whole file. */
typedef struct cd__place {
    const char *file;
    cd_bytes text;
    u64 line; /* line and column count from 1 */
    u64 column;
} cd__place;

/* cd__report prints one message of a severity ("error", "warning", "note") with its place (NULL: none) and advice
 * ("": none). */
void cd__report(const char *severity, const cd__place *at, const char *message, const char *advice);

/* cd__report_start prints why the node does not start, and what to do about such an error. Gives the exit code. */
int cd__report_start(const cd_errinfo *why);

/* cd__place_value moves a place from a key to its value when that is on the same line. */
void cd__place_value(cd__place *at);

/* cd__place_offset gives the place of the byte at an offset of a file's text. */
cd__place cd__place_offset(const char *file, cd_bytes text, u64 offset);

#endif
