/* base/log/log.h - structured log lines: a message and typed fields.
 *
 *     cd_log_info(log, "block accepted", CD_F("chain", "C"), CD_F("height", height));
 *
 *   JSON   {"ts":"2026-11-21T14:05:12.402Z","level":"info","msg":"block accepted","chain":"C",...}
 *   text   14:05:12.402  info   block accepted  chain=C height=1
 *
 * The message is a constant; what varies goes into fields. A call below the level costs one load
 * and one branch and does not evaluate its fields; a NULL log is off. Lines are whole, at most
 * CD_LOG_LINE_MAX bytes: values are cut at CD_LOG_VALUE_MAX, fields that do not fit are left out and
 * "cut" says so. A field whose name speaks of a secret (password, mnemonic, private_key, jwt ...) is
 * written as "[secret]", and there is no field for key types. Times are UTC. The type is cd_logger
 * because a cd_log is what a contract emits (types/log.h). Threading: shared. */
#ifndef CD_BASE_LOG_H
#define CD_BASE_LOG_H

#include "base/bytes.h"
#include "base/os/clock.h"

#include <stdatomic.h>

enum { CD_LOG_LINE_MAX = 8192, CD_LOG_VALUE_MAX = 1024 };

/* Severities; OFF is for thresholds only. */
typedef enum cd_log_level {
    CD_LOG_TRACE,
    CD_LOG_DEBUG,
    CD_LOG_INFO,
    CD_LOG_WARN,
    CD_LOG_ERROR,
    CD_LOG_OFF,
} cd_log_level;

/* AUTO: colours on a terminal (plain text there when colours are unwanted), JSON otherwise. */
typedef enum cd_log_form {
    CD_LOG_AUTO,
    CD_LOG_PLAIN,
    CD_LOG_COLORS,
    CD_LOG_JSON,
} cd_log_form;

/* Where a log goes and in which form. */
typedef struct cd_log_cfg {
    int fd; /* borrowed, stays open */
    cd_log_level level;
    cd_log_form form;
    const cd_clock *clock;    /* NULL: the real one */
    usize queue;              /* lines that may wait for a writer thread; 0: callers write themselves. A full
                              queue drops lines, and the log writes how many */
    struct cd_log_file *file; /* a file that lines go to as well; the log takes it over; NULL: none */
    cd_log_level file_level;
    cd_log_form file_form; /* AUTO: JSON */
} cd_log_cfg;

/* Only the level is here, so that a call below it is cheap; the rest belongs to log.c. */
typedef struct cd_logger {
    _Atomic int level;
} cd_logger;

/* cd_log_open starts a log on cfg->fd. Errors: CD_EAGAIN when the writer thread cannot be had. */
cd_err cd_log_open(cd_logger **out, const cd_log_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_log_close writes what is queued; nobody uses the log any more. NULL is allowed. */
void cd_log_close(cd_logger *log);

/* cd_log_reopen goes on in the file that now has the name of the log's file (log_file.h); false when the log has no
 * file. Any thread. */
bool cd_log_reopen(cd_logger *log);

/* cd_log_set_level changes what is written, to the file too, from any thread. */
void cd_log_set_level(cd_logger *log, cd_log_level level);

/* The thresholds of the descriptor and of the file. */
typedef struct cd_log_levels {
    cd_log_level shown; /* least severe level that is written to the descriptor */
    cd_log_level kept;  /* the same for the file; without a file it equals shown and cannot be set */
} cd_log_levels;

/* cd_log_levels_get and cd_log_levels_set read and change both, from any thread. */
cd_log_levels cd_log_levels_get(const cd_logger *log);
void cd_log_levels_set(cd_logger *log, cd_log_levels levels);

/* cd_log_level_name gives "trace" ... "error", "off". */
const char *cd_log_level_name(cd_log_level level);

/* cd_log_level_parse reads these names, "verbo" as trace and "fatal" as error, in any case. Errors: CD_EFORMAT. */
cd_err cd_log_level_parse(cd_log_level *out, cd_bytes text) CD_CHECK;

/* cd_log_form_parse reads "auto", "plain", "colors" or "json". Errors: CD_EFORMAT. */
cd_err cd_log_form_parse(cd_log_form *out, cd_bytes text) CD_CHECK;

/* cd_log_is_on: a line of this level would be written. */
CD_INLINE bool cd_log_is_on(const cd_logger *log, cd_log_level level)
{
    return log != NULL && (int)level >= atomic_load_explicit(&log->level, memory_order_relaxed);
}

/* The type of a field's value. */
typedef enum cd_log_type {
    CD_LOG_T_U64,
    CD_LOG_T_I64,
    CD_LOG_T_F64,
    CD_LOG_T_BOOL,
    CD_LOG_T_STR,
    CD_LOG_T_TEXT,
    CD_LOG_T_HEX,
    CD_LOG_T_ERR,
} cd_log_type;

/* One field; make it with CD_F, CD_F_HEX or CD_F_ERR. Everything is borrowed for the call. */
typedef struct cd_log_field {
    const char *name;
    cd_log_type type;
    union {
        u64 u;
        i64 i;
        double f;
        bool b;
        const char *s;
        cd_bytes bytes;
        cd_err err;
    } v;
} cd_log_field;

/* CD_F(name, value): a number, bool, C string or cd_bytes (as text). A type it does not know does not
 * compile. CD_F_BOOL: for what C takes for an int, such as comparisons. CD_F_HEX(name, bytes): "0x..."
 * of a cd_bytes. CD_F_ERR(name, err): the message of a cd_err. */
// clang-format off
#define CD_F(name, value)                                                                          \
    _Generic((value),                                                                              \
        bool: cd__log_bool,                                                                        \
        char *: cd__log_str, const char *: cd__log_str, cd_bytes: cd__log_text,                    \
        signed char: cd__log_i64, short: cd__log_i64, int: cd__log_i64,                            \
        long: cd__log_i64, long long: cd__log_i64,                                                 \
        unsigned char: cd__log_u64, unsigned short: cd__log_u64, unsigned int: cd__log_u64,        \
        unsigned long: cd__log_u64, unsigned long long: cd__log_u64,                               \
        double: cd__log_f64)((name), (value))
// clang-format on
#define CD_F_HEX(name, bytes)  cd__log_hex((name), (bytes))
#define CD_F_ERR(name, err)    cd__log_err((name), (err))
#define CD_F_BOOL(name, value) cd__log_bool((name), (value))

/* cd_log_at logs a line with fields (CD_F) when its level is wanted; the others do so with their own level. */
#define cd_log_at(log, level, msg, ...)                                                                                \
    do {                                                                                                               \
        cd_logger *cd_log_ = (log);                                                                                    \
        if (CD_UNLIKELY(cd_log_is_on(cd_log_, (level)))) {                                                             \
            const cd_log_field cd_log_fields_[] = {{.name = NULL}, ##__VA_ARGS__};                                     \
            cd_log_write(cd_log_, (level), (msg), cd_log_fields_ + 1, CD_COUNT(cd_log_fields_) - 1);                   \
        }                                                                                                              \
    } while (0)
#define cd_log_trace(log, msg, ...) cd_log_at((log), CD_LOG_TRACE, (msg), ##__VA_ARGS__)
#define cd_log_debug(log, msg, ...) cd_log_at((log), CD_LOG_DEBUG, (msg), ##__VA_ARGS__)
#define cd_log_info(log, msg, ...)  cd_log_at((log), CD_LOG_INFO, (msg), ##__VA_ARGS__)
#define cd_log_warn(log, msg, ...)  cd_log_at((log), CD_LOG_WARN, (msg), ##__VA_ARGS__)
#define cd_log_error(log, msg, ...) cd_log_at((log), CD_LOG_ERROR, (msg), ##__VA_ARGS__)

/* cd_log_write writes one line to each sink that takes the level; use the macros. */
void cd_log_write(cd_logger *log, cd_log_level level, const char *msg, const cd_log_field *fields, usize cnt);

/* cd_log_tell writes what a person watches the program for: text alone behind the time of day, as it is (the caller has
 * removed control characters). Where the form is JSON it writes message and fields, as any other line. */
void cd_log_tell(cd_logger *log, cd_log_level level, cd_bytes text, const char *msg, const cd_log_field *fields,
                 usize cnt);

/* Constructors behind CD_F. */
CD_INLINE cd_log_field cd__log_u64(const char *name, u64 v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_U64, .v.u = v};
}

CD_INLINE cd_log_field cd__log_i64(const char *name, i64 v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_I64, .v.i = v};
}

CD_INLINE cd_log_field cd__log_f64(const char *name, double v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_F64, .v.f = v};
}

CD_INLINE cd_log_field cd__log_bool(const char *name, bool v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_BOOL, .v.b = v};
}

CD_INLINE cd_log_field cd__log_str(const char *name, const char *v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_STR, .v.s = v};
}

CD_INLINE cd_log_field cd__log_text(const char *name, cd_bytes v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_TEXT, .v.bytes = v};
}

CD_INLINE cd_log_field cd__log_hex(const char *name, cd_bytes v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_HEX, .v.bytes = v};
}

CD_INLINE cd_log_field cd__log_err(const char *name, cd_err v)
{
    return (cd_log_field){.name = name, .type = CD_LOG_T_ERR, .v.err = v};
}

#endif
