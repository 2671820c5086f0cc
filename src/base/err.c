#include "base/err.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *cd_err_name(cd_err e)
{
    switch (e) {
    case CD_OK:
        return "CD_OK";
#define X(name, value, message)                                                                                        \
    case name:                                                                                                         \
        return #name;
#include "base/err.def"
#undef X
    }
    return "CD_E?";
}

const char *cd_err_str(cd_err e)
{
    switch (e) {
    case CD_OK:
        return "ok";
#define X(name, value, message)                                                                                        \
    case name:                                                                                                         \
        return message;
#include "base/err.def"
#undef X
    }
    return "unknown error";
}

void cd_fail_at(cd_errinfo *why, cd_err code, const char *file, int line, const char *fmt, ...)
{
    if (why != NULL) {
        va_list ap;
        why->code = code;
        why->file = file;
        why->line = line;
        va_start(ap, fmt);
        (void)vsnprintf(why->msg, sizeof why->msg, fmt, ap);
        va_end(ap);
    }
}

void cd_bug(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "bug: %s:%d: %s\n", file, line, what);
    abort();
}
