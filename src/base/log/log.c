#include "base/log/log.h"

#include "base/hex.h"
#include "base/log/log_file.h"
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/term.h"
#include "base/text.h"
#include "base/thread/mbox.h"
#include "base/thread/thread.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { TO_FD, TO_FILE, SINKS };

/* One of the places that lines are written to. */
typedef struct sink {
    cd_log_form form;
    _Atomic int level;
} sink;

typedef struct logger {
    cd_logger pub; /* must be first: the caller holds a pointer to it; its level is the lowest of the sinks' */
    sink sinks[SINKS];
    int fd;
    cd_log_file *file; /* NULL: the log has no file, only fd */
    const cd_clock *clock;
    cd_mutex lock;  /* protects file, and keeps lines whole when callers write themselves */
    cd_mbox *queue; /* NULL: there is no writer thread */
    cd_thread writer;
    _Atomic u64 dropped;
} logger;

/* A line being made. What does not fit sets `over` and leaves p as it was. */
typedef struct line {
    usize n;
    bool over;
    char p[CD_LOG_LINE_MAX];
} line;

/* A line on its way to the writer thread, which frees it. */
typedef struct parcel {
    char *p;
    usize n;
    int to; /* the sink: TO_FD or TO_FILE */
} parcel;

static const char *const level_names[] = {
    [CD_LOG_TRACE] = "trace", [CD_LOG_DEBUG] = "debug", [CD_LOG_INFO] = "info",
    [CD_LOG_WARN] = "warn",   [CD_LOG_ERROR] = "error", [CD_LOG_OFF] = "off",
};

/* Bytes kept free at the end of a line for the mark "cut" and what closes the line. */
enum { LINE_RESERVE = 32 };

static void put(line *l, const char *s, usize n)
{
    if (l->over || n > sizeof l->p - LINE_RESERVE - l->n) {
        l->over = true;
        return;
    }
    memcpy(l->p + l->n, s, n);
    l->n += n;
}

static void put_str(line *l, const char *s)
{
    put(l, s, strlen(s));
}

/* Gives the length of the valid UTF-8 sequence at the start of b, or 0 [RFC 3629]. */
static usize utf8_len(cd_bytes b)
{
    u8 c = b.p[0];
    usize n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (n == 0 || n > b.n) {
        return 0;
    }
    for (usize i = 1; i < n; i++) {
        if ((b.p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool is_bad = n > 1 && ((c == 0xe0 && b.p[1] < 0xa0) || (c == 0xed && b.p[1] > 0x9f) ||
                            (c == 0xf0 && b.p[1] < 0x90) || (c == 0xf4 && b.p[1] > 0x8f));
    return is_bad ? 0 : n;
}

/* Writes the inside of a JSON string; also keeps control characters away from terminals. Bytes that are not
 * UTF-8 become U+FFFD. */
static void put_escaped(line *l, cd_bytes b)
{
    bool is_cut = b.n > CD_LOG_VALUE_MAX;
    usize end = is_cut ? CD_LOG_VALUE_MAX : b.n;
    for (usize i = 0; i < end;) {
        u8 c = b.p[i];
        usize n = utf8_len(cd_bytes_sub(b, i, b.n - i));
        if (c == '"' || c == '\\') {
            put(l, (const char[]){'\\', (char)c}, 2);
        } else if (c == '\n') {
            put(l, "\\n", 2);
        } else if (c < 0x20 || c == 0x7f) {
            char u[8];
            (void)snprintf(u, sizeof u, "\\u%04x", c);
            put(l, u, 6);
        } else if (n == 2 && c == 0xc2 && b.p[i + 1] < 0xa0) {
            char u[8]; /* C1 controls: some terminals obey them */
            (void)snprintf(u, sizeof u, "\\u%04x", b.p[i + 1]);
            put(l, u, 6);
        } else if (n == 0) {
            put(l, "\xef\xbf\xbd", 3);
        } else {
            put(l, (const char *)b.p + i, n);
        }
        i += n == 0 ? 1 : n;
    }
    if (is_cut) {
        put_str(l, "\xe2\x80\xa6");
    }
}

static void put_quoted(line *l, cd_bytes b)
{
    put(l, "\"", 1);
    put_escaped(l, b);
    put(l, "\"", 1);
}

/* Writes a value of the text form: quoted only where a reader could not tell where it ends. */
static void put_text(line *l, cd_bytes b)
{
    bool is_plain = b.n != 0 && b.n <= CD_LOG_VALUE_MAX;
    for (usize i = 0; is_plain && i < b.n; i++) {
        u8 c = b.p[i];
        is_plain = c > 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '=';
    }
    if (is_plain) {
        put(l, (const char *)b.p, b.n);
    } else {
        put_quoted(l, b);
    }
}

static void put_string(line *l, bool is_json, cd_bytes b)
{
    if (is_json) {
        put_quoted(l, b);
    } else {
        put_text(l, b);
    }
}

static bool is_secret(const char *name)
{
    static const char *const words[] = {"password", "passphrase", "mnemonic",   "secret", "private_key",
                                        "privkey",  "api_key",    "auth_token", "jwt"};
    char low[64];
    usize n = 0;
    for (; name[n] != '\0' && n + 1 < sizeof low; n++) {
        char c = name[n];
        if (c >= 'A' && c <= 'Z') {
            c = (char)(c | 0x20);
        }
        if (c == '-') {
            c = '_';
        }
        low[n] = c;
    }
    low[n] = '\0';
    for (usize i = 0; i < CD_COUNT(words); i++) {
        if (strstr(low, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void put_f64(line *l, bool is_json, double v)
{
    char t[32];
    if (!isfinite(v)) {
        put_string(l, is_json, cd_bytes_str(isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf"));
        return;
    }
    (void)snprintf(t, sizeof t, "%.15g", v);
    put_str(l, t);
}

static void put_hex(line *l, bool is_json, cd_bytes b)
{
    char t[2 * CD_LOG_VALUE_MAX / 2 + 2] = "0x";
    bool is_cut = b.n > CD_LOG_VALUE_MAX / 2;
    usize n = is_cut ? CD_LOG_VALUE_MAX / 2 : b.n;
    cd_hex_fmt(t + 2, cd_bytes_of(b.p, n));
    put_str(l, is_json ? "\"" : "");
    put(l, t, 2 + 2 * n);
    put_str(l, is_cut ? "\xe2\x80\xa6" : "");
    put_str(l, is_json ? "\"" : "");
}

static void put_value(line *l, bool is_json, const cd_log_field *f)
{
    char t[CD_U64_TEXT_MAX];
    if (is_secret(f->name)) {
        put_string(l, is_json, cd_bytes_str("[secret]"));
        return;
    }
    switch (f->type) {
    case CD_LOG_T_U64:
        put(l, t, cd_u64_fmt(t, f->v.u));
        return;
    case CD_LOG_T_I64:
        put(l, t, cd_i64_fmt(t, f->v.i));
        return;
    case CD_LOG_T_F64:
        put_f64(l, is_json, f->v.f);
        return;
    case CD_LOG_T_BOOL:
        put_str(l, f->v.b ? "true" : "false");
        return;
    case CD_LOG_T_STR:
        put_string(l, is_json, cd_bytes_str(f->v.s == NULL ? "" : f->v.s));
        return;
    case CD_LOG_T_TEXT:
        put_string(l, is_json, f->v.bytes);
        return;
    case CD_LOG_T_HEX:
        put_hex(l, is_json, f->v.bytes);
        return;
    case CD_LOG_T_ERR:
        put_string(l, is_json, cd_bytes_str(cd_err_str(f->v.err)));
        return;
    }
    CD_UNREACHABLE();
}

/* Appends what closes a line; it always fits, for LINE_RESERVE bytes are kept free. */
static void line_end(line *l, const char *s)
{
    usize n = strlen(s);
    CD_ASSERT(n <= sizeof l->p - l->n);
    memcpy(l->p + l->n, s, n);
    l->n += n;
}

static void line_json(line *l, const char *ts, cd_log_level level, const char *msg, const cd_log_field *fields,
                      usize cnt)
{
    put_str(l, "{\"ts\":\"");
    put(l, ts, CD_TIME_TEXT_LEN);
    put_str(l, "\",\"level\":\"");
    put_str(l, level_names[level]);
    put_str(l, "\",\"msg\":");
    put_quoted(l, cd_bytes_str(msg));
    for (usize i = 0; i < cnt && !l->over; i++) {
        usize before = l->n;
        put(l, ",", 1);
        put_quoted(l, cd_bytes_str(fields[i].name));
        put(l, ":", 1);
        put_value(l, true, &fields[i]);
        if (l->over) {
            l->n = before;
        }
    }
    line_end(l, l->over ? ",\"cut\":true}\n" : "}\n");
}

static void line_text(line *l, bool has_color, const char *ts, cd_log_level level, const char *msg,
                      const cd_log_field *fields, usize cnt)
{
    const char *dim = has_color ? "\x1b[2m" : "";
    const char *off = has_color ? "\x1b[0m" : "";
    const char *hue = !has_color              ? ""
                      : level == CD_LOG_ERROR ? "\x1b[31m"
                      : level == CD_LOG_WARN  ? "\x1b[33m"
                      : level < CD_LOG_INFO   ? dim
                                              : "";
    put_str(l, dim);
    put(l, ts + 11, 12);
    put_str(l, off);
    put_str(l, "  ");
    put_str(l, hue);
    put_str(l, level_names[level]);
    put_str(l, hue[0] == '\0' ? "" : off);
    put(l, "       ", 7 - strlen(level_names[level]));
    put_escaped(l, cd_bytes_str(msg));
    for (usize i = 0; i < cnt && !l->over; i++) {
        usize before = l->n;
        put_str(l, i == 0 ? "  " : " ");
        put_str(l, dim);
        put_escaped(l, cd_bytes_str(fields[i].name));
        put(l, "=", 1);
        put_str(l, off);
        put_value(l, false, &fields[i]);
        if (l->over) {
            l->n = before;
        }
    }
    line_end(l, l->over ? " cut=true\n" : "\n");
}

/* Errors are ignored: there is nobody to tell when the log itself cannot be written. */
static void write_all(int fd, const char *p, usize n)
{
    while (n != 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno != EINTR) {
            return;
        }
        if (w > 0) {
            p += w;
            n -= (usize)w;
        }
    }
}

static void line_make(const logger *g, line *l, int to, cd_log_level level, const char *msg, const cd_log_field *fields,
                      usize cnt)
{
    char ts[CD_TIME_TEXT_LEN];
    cd_time_fmt(ts, cd_clock_wall_ns(g->clock));
    l->n = 0;
    l->over = false;
    if (g->sinks[to].form == CD_LOG_JSON) {
        line_json(l, ts, level, msg, fields, cnt);
    } else {
        line_text(l, g->sinks[to].form == CD_LOG_COLORS, ts, level, msg, fields, cnt);
    }
}

static void write_to(logger *g, int to, const char *p, usize n)
{
    cd_mutex_lock(&g->lock);
    if (to == TO_FD) {
        write_all(g->fd, p, n);
    } else {
        cd_log_file_put(g->file, cd_bytes_of(p, n));
    }
    cd_mutex_unlock(&g->lock);
}

static logger *logger_of(cd_logger *log)
{
    return (logger *)(void *)log;
}

static void writer_main(void *arg)
{
    logger *g = arg;
    parcel x;
    while (cd_mbox_recv(g->queue, &x, -1) == CD_OK) {
        u64 dropped = atomic_exchange_explicit(&g->dropped, 0, memory_order_relaxed);
        if (dropped != 0) {
            line l;
            cd_log_field f = CD_F("lines", dropped);
            line_make(g, &l, x.to, CD_LOG_WARN, "log lines dropped", &f, 1);
            write_to(g, x.to, l.p, l.n);
        }
        write_to(g, x.to, x.p, x.n);
        cd_free(x.p);
    }
}

cd_err cd_log_open(cd_logger **out, const cd_log_cfg *cfg, cd_errinfo *why)
{
    logger *g = cd_new(logger);
    bool has_file = cfg->file != NULL;
    int least = (int)(has_file ? cd_min_u64(cfg->level, cfg->file_level) : cfg->level);
    atomic_init(&g->pub.level, least);
    atomic_init(&g->sinks[TO_FD].level, (int)cfg->level);
    atomic_init(&g->sinks[TO_FILE].level, (int)(has_file ? cfg->file_level : CD_LOG_OFF));
    g->fd = cfg->fd;
    g->file = cfg->file;
    g->clock = cfg->clock == NULL ? cd_clock_real() : cfg->clock;
    g->sinks[TO_FILE].form = cfg->file_form == CD_LOG_AUTO ? CD_LOG_JSON : cfg->file_form;
    g->sinks[TO_FD].form = cfg->form;
    if (cfg->form == CD_LOG_AUTO) {
        g->sinks[TO_FD].form = !cd_term_is_tty(g->fd)     ? CD_LOG_JSON
                               : cd_term_has_color(g->fd) ? CD_LOG_COLORS
                                                          : CD_LOG_PLAIN;
    }
    cd_mutex_init(&g->lock);
    if (cfg->queue != 0) {
        g->queue = cd_mbox_new(cfg->queue, sizeof(parcel));
        cd_err err = cd_thread_start(&g->writer, "log", writer_main, g, why);
        if (err != CD_OK) {
            cd_mbox_free(g->queue);
            cd_mutex_fini(&g->lock);
            cd_log_file_close(g->file);
            cd_free(g);
            return err;
        }
    }
    *out = &g->pub;
    return CD_OK;
}

void cd_log_close(cd_logger *log)
{
    if (log == NULL) {
        return;
    }
    logger *g = logger_of(log);
    if (g->queue != NULL) {
        cd_mbox_close(g->queue);
        cd_thread_join(&g->writer);
        cd_mbox_free(g->queue);
    }
    cd_log_file_close(g->file);
    cd_mutex_fini(&g->lock);
    cd_free(g);
}

bool cd_log_reopen(cd_logger *log)
{
    logger *g = logger_of(log);
    if (g == NULL || g->file == NULL) {
        return false;
    }
    cd_mutex_lock(&g->lock);
    cd_log_file_reopen(g->file);
    cd_mutex_unlock(&g->lock);
    return true;
}

void cd_log_levels_set(cd_logger *log, cd_log_levels levels)
{
    if (log != NULL) {
        logger *g = logger_of(log);
        bool has_file = g->file != NULL;
        int least = (int)(has_file ? cd_min_u64(levels.shown, levels.kept) : levels.shown);
        atomic_store_explicit(&g->sinks[TO_FD].level, (int)levels.shown, memory_order_relaxed);
        atomic_store_explicit(&g->sinks[TO_FILE].level, (int)(has_file ? levels.kept : CD_LOG_OFF),
                              memory_order_relaxed);
        atomic_store_explicit(&log->level, least, memory_order_relaxed);
    }
}

cd_log_levels cd_log_levels_get(const cd_logger *log)
{
    const logger *g = (const logger *)(const void *)log;
    if (log == NULL) {
        return (cd_log_levels){.shown = CD_LOG_OFF, .kept = CD_LOG_OFF};
    }
    int shown = atomic_load_explicit(&g->sinks[TO_FD].level, memory_order_relaxed);
    int kept = g->file == NULL ? shown : atomic_load_explicit(&g->sinks[TO_FILE].level, memory_order_relaxed);
    return (cd_log_levels){.shown = (cd_log_level)shown, .kept = (cd_log_level)kept};
}

void cd_log_set_level(cd_logger *log, cd_log_level level)
{
    cd_log_levels_set(log, (cd_log_levels){.shown = level, .kept = level});
}

const char *cd_log_level_name(cd_log_level level)
{
    return level_names[level];
}

cd_err cd_log_level_parse(cd_log_level *out, cd_bytes text)
{
    for (usize i = 0; i < CD_COUNT(level_names); i++) {
        if (cd_text_same(text, cd_bytes_str(level_names[i]))) {
            *out = (cd_log_level)i;
            return CD_OK;
        }
    }
    if (cd_text_same(text, cd_bytes_str("verbo"))) {
        *out = CD_LOG_TRACE;
        return CD_OK;
    }
    if (cd_text_same(text, cd_bytes_str("fatal"))) {
        *out = CD_LOG_ERROR;
        return CD_OK;
    }
    return CD_EFORMAT;
}

cd_err cd_log_form_parse(cd_log_form *out, cd_bytes text)
{
    static const char *const names[] = {
        [CD_LOG_AUTO] = "auto",
        [CD_LOG_PLAIN] = "plain",
        [CD_LOG_COLORS] = "colors",
        [CD_LOG_JSON] = "json",
    };
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_bytes_eq(text, cd_bytes_str(names[i]))) {
            *out = (cd_log_form)i;
            return CD_OK;
        }
    }
    return CD_EFORMAT;
}

/* Gives a finished line to the writer thread, or writes it at once when there is none. */
static void send(logger *g, int to, const line *l)
{
    if (g->queue == NULL) {
        write_to(g, to, l->p, l->n);
        return;
    }
    parcel x = {.p = memcpy(cd_realloc(NULL, l->n), l->p, l->n), .n = l->n, .to = to};
    if (cd_mbox_send(g->queue, &x) != CD_OK) {
        cd_free(x.p);
        atomic_fetch_add_explicit(&g->dropped, 1, memory_order_relaxed);
    }
}

static bool takes(const logger *g, int to, cd_log_level level)
{
    return (to == TO_FD || g->file != NULL) &&
           (int)level >= atomic_load_explicit(&g->sinks[to].level, memory_order_relaxed);
}

void cd_log_write(cd_logger *log, cd_log_level level, const char *msg, const cd_log_field *fields, usize cnt)
{
    logger *g = logger_of(log);
    for (int to = 0; to < SINKS; to++) {
        line l;
        if (takes(g, to, level)) {
            line_make(g, &l, to, level, msg, fields, cnt);
            send(g, to, &l);
        }
    }
}

/* Makes a line of the text as it is, behind the time of day. */
static void line_tell(const logger *g, line *l, int to, cd_bytes text)
{
    enum { TIME_AT = 11, TIME_N = 8 };
    char ts[CD_TIME_TEXT_LEN];
    l->n = 0;
    l->over = false;
    cd_time_fmt(ts, cd_clock_wall_ns(g->clock));
    put_str(l, g->sinks[to].form == CD_LOG_COLORS ? "\x1b[2m" : "");
    put(l, ts + TIME_AT, TIME_N);
    put_str(l, g->sinks[to].form == CD_LOG_COLORS ? "\x1b[0m  " : "  ");
    put(l, (const char *)text.p, cd_min_u64(text.n, sizeof l->p / 2));
    line_end(l, "\n");
}

void cd_log_tell(cd_logger *log, cd_log_level level, cd_bytes text, const char *msg, const cd_log_field *fields,
                 usize cnt)
{
    logger *g = logger_of(log);
    for (int to = 0; log != NULL && to < SINKS; to++) {
        line l;
        if (!takes(g, to, level)) {
            continue;
        }
        if (g->sinks[to].form == CD_LOG_JSON) {
            line_make(g, &l, to, level, msg, fields, cnt);
        } else {
            line_tell(g, &l, to, text);
        }
        send(g, to, &l);
    }
}
