#include "report.h"

#include "base/os/term.h"

#include <stdio.h>
#include <unistd.h>

enum { SHOWN_MAX = 90 }; /* columns that are shown of a line of a file */

static cd_bytes line_of(cd_bytes text, u64 line)
{
    const u8 *p = text.p;
    const u8 *end = text.p + text.n;
    for (u64 i = 1; i < line && p != end; i++) {
        const u8 *next = memchr(p, '\n', (usize)(end - p));
        p = next == NULL ? end : next + 1;
    }
    const u8 *stop = p == end ? NULL : memchr(p, '\n', (usize)(end - p));
    return cd_bytes_of(p, (usize)((stop == NULL ? end : stop) - p));
}

static bool is_blank(u8 c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The length in bytes of the token at p: a string, a number or a word. */
static usize token_len(cd_bytes p)
{
    static const u8 ends[] = {',', ':', '{', '}', '[', ']'};
    usize n = 0;
    if (p.n != 0 && p.p[0] == '"') {
        for (n = 1; n < p.n && p.p[n] != '"'; n++) {
            n += p.p[n] == '\\' && n + 1 < p.n;
        }
        return n < p.n ? n + 1 : p.n;
    }
    while (n < p.n && !is_blank(p.p[n]) && memchr(ends, p.p[n], sizeof ends) == NULL) {
        n++;
    }
    return n == 0 ? 1 : n;
}

void cd__place_value(cd__place *at)
{
    cd_bytes line = line_of(at->text, at->line);
    if (at->line == 0 || at->column == 0 || at->column > line.n || line.p[at->column - 1] != '"') {
        return;
    }
    usize i = at->column - 1;
    i += token_len(cd_bytes_sub(line, i, line.n - i));
    while (i < line.n && is_blank(line.p[i])) {
        i++;
    }
    if (i == line.n || line.p[i] != ':') {
        return;
    }
    i++;
    while (i < line.n && is_blank(line.p[i])) {
        i++;
    }
    if (i < line.n) {
        at->column = i + 1;
    }
}

cd__place cd__place_offset(const char *file, cd_bytes text, u64 offset)
{
    cd__place at = {.file = file, .text = text, .line = 1, .column = 1};
    for (u64 i = 0; i < offset && i < text.n; i++) {
        at.column++;
        if (text.p[i] == '\n') {
            at.line++;
            at.column = 1;
        }
    }
    return at;
}

/* Prints bytes of a file with blanks in place of control characters, which the terminal would obey. */
static void print_safe(cd_bytes b)
{
    for (usize i = 0; i < b.n; i++) {
        (void)fputc(b.p[i] < 0x20 || b.p[i] == 0x7f ? ' ' : b.p[i], stderr);
    }
}

static void print_excerpt(const cd__place *at)
{
    const char *bar = cd_term_has_utf8() ? "│" : "|";
    cd_bytes line = line_of(at->text, at->line);
    usize col = (usize)cd_min_u64(at->column == 0 ? 0 : at->column - 1, line.n);
    /* A long line is shown from shortly before the place of the error. */
    usize from = col < SHOWN_MAX / 2 ? 0 : col - SHOWN_MAX / 4;
    cd_bytes shown = cd_bytes_sub(line, from, (usize)cd_min_u64(line.n - from, SHOWN_MAX));
    usize carets = token_len(cd_bytes_sub(line, col, line.n - col));
    carets = (usize)cd_min_u64(carets, SHOWN_MAX - (col - from));
    usize before = 0; /* columns, one for each code point */
    for (usize i = from; i < col; i++) {
        before += (line.p[i] & 0xc0) != 0x80;
    }
    (void)fprintf(stderr, "%6llu %s ", (unsigned long long)at->line, bar);
    print_safe(shown);
    (void)fprintf(stderr, "\n%6s %s %*s", "", bar, (int)before, "");
    for (usize i = 0; i < carets; i++) {
        (void)fputc('^', stderr);
    }
    (void)fputc('\n', stderr);
}

void cd__report(const char *severity, const cd__place *at, const char *message, const char *advice)
{
    bool has_color = cd_term_has_color(STDERR_FILENO);
    const char *color = strcmp(severity, "error") == 0     ? "\x1b[31m"
                        : strcmp(severity, "warning") == 0 ? "\x1b[33m"
                                                           : "\x1b[2m";
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s%s:%s ", has_color ? color : "", severity, has_color ? "\x1b[0m" : "");
    if (at != NULL) {
        (void)fprintf(stderr, "%s:", at->file);
        if (at->line != 0) {
            (void)fprintf(stderr, "%llu:%llu:", (unsigned long long)at->line, (unsigned long long)at->column);
        }
        (void)fputc(' ', stderr);
    }
    (void)fprintf(stderr, "%s\n", message);
    if (at != NULL && at->line != 0) {
        print_excerpt(at);
    }
    if (advice[0] != '\0') {
        (void)fprintf(stderr, "       %s\n", advice);
    }
}

static const char *advice_of(cd_err e)
{
    static const struct {
        cd_err code;
        const char *text;
    } rows[] = {
        {CD_EADDRINUSE, "stop it, or choose another: --http-port=8555"},
        {CD_EBUSY, "stop it, or choose another: --data-dir=DIR"},
        {CD_ENOSPC, "make room, or choose another: --data-dir=DIR"},
        {CD_EACCES, "make it writable for this user, or choose another: --data-dir=DIR"},
        {CD_EFOREIGN, "bring back what it began with, or begin anew with another: --data-dir=DIR"},
        {CD_ECORRUPT, "bring back a copy, or begin anew with another: --data-dir=DIR"},
        {CD_EIO, "look after the disk, or choose another: --data-dir=DIR"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (rows[i].code == e) {
            return rows[i].text;
        }
    }
    return "";
}

int cd__report_start(const cd_errinfo *why)
{
    cd__report("error", NULL, why->msg[0] != '\0' ? why->msg : cd_err_str(why->code),
               strstr(why->msg, "--") == NULL ? advice_of(why->code) : "");
    return 1;
}
