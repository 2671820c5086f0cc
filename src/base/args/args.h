/* base/args/args.h - one option table is the only source of flags, environment, file values and help.
 *
 *     #define OPTIONS(X)                                                                      \
 *         X(OPT_PORT, .name = "http-port", .type = CD_ARG_U64, .dflt = "8545", .max = 65535,  \
 *           .meta = "PORT", .help = "where the API listens")                                  \
 *         X(OPT_LOG, .name = "log-level", .type = CD_ARG_STR, .dflt = "info",                 \
 *           .choices = "trace|debug|info|warn|error|off", .help = "what is logged")
 *     enum { OPTIONS(CD_ARG_ID) OPT_CNT };
 *     static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};
 *
 * A value comes from the flag (--name=value, --name value; a bool: --name, --name=false), else from
 * the environment (CANDELA_HTTP_PORT, then LUXD_HTTP_PORT, AVAGO_HTTP_PORT), else from the
 * configuration file, else from the default. Every value is checked when it is
 * set. Messages have the form of the terminal samples; the caller prints them behind "error: ".
 * Threading: confined while filled, then frozen. */
#ifndef CD_BASE_ARGS_H
#define CD_BASE_ARGS_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"

/* Types of options. */
typedef enum cd_arg_type {
    CD_ARG_BOOL,
    CD_ARG_U64,
    CD_ARG_I64,
    CD_ARG_F64, /* "0.25", "1e12"; not negative */
    CD_ARG_STR,
    CD_ARG_PATH,     /* $HOME, $NAME and ${NAME} are replaced; $CANDELA_<FLAG> is a flag's value */
    CD_ARG_LIST,     /* comma-separated strings; a repeated flag appends */
    CD_ARG_DURATION, /* "30s", "2m0s"; nanoseconds */
    CD_ARG_SIZE,     /* "10GB", "64MiB"; bytes */
} cd_arg_type;

/* One row of a table; what is left out is zero. */
typedef struct cd_arg_def {
    const char *name; /* without the dashes */
    cd_arg_type type;
    const char *dflt; /* text as a user would write it; NULL: zero, false, empty */
    u64 min;          /* least number allowed, checked when max is not 0; an I64 reads both as i64 */
    u64 max;
    const char *choices; /* "a|b|c": the only strings allowed */
    const char *alias;   /* another name that works everywhere but is not shown */
    const char *meta;    /* the word for the value in the help: PORT */
    const char *help;    /* one line; NULL: not listed */
    const char *group;   /* heading in the help, set in the first row of its group */
} cd_arg_def;

/* For tables that are one macro of rows (X-macro): the first makes an enum of the ids, the second the table of
 * cd_arg_def. */
#define CD_ARG_ID(id, ...)  id,
#define CD_ARG_ROW(id, ...) [id] = {__VA_ARGS__},

typedef struct cd_args cd_args;

/* What the help says around the table. */
typedef struct cd_args_info {
    const char *program;                             /* "candela" */
    const char *purpose;                             /* "runs a node", behind "candela: " */
    const char *usage;                               /* lines that show how the program is called, or NULL */
    const char *example;                             /* one command, or NULL */
    const char *help_word;                           /* the argument that prints the help; NULL: --help */
    const char *(*env)(void *ctx, const char *name); /* gives a variable's value; NULL: the process's environment */
    void *env_ctx;
    bool is_plain_env; /* variables are called as the flags are, without a prefix (HTTP_PORT), by their aliases too;
                          empty ones count as not set */
    u32 words_max;     /* how many arguments that are no flags are allowed */
} cd_args_info;

/* Where a value came from; of two sources the later one in this list wins. */
typedef enum cd_arg_source {
    CD_ARG_FROM_DEFAULT,
    CD_ARG_FROM_FILE,
    CD_ARG_FROM_ENV,
    CD_ARG_FROM_FLAG,
} cd_arg_source;

/* cd_args_new takes the table (borrowed for ever) and sets the defaults; a default that its own row
 * refuses is a bug. */
cd_args *cd_args_new(const cd_args_info *info, const cd_arg_def *defs, usize cnt);
void cd_args_free(cd_args *a); /* NULL is allowed */

/* cd_args_parse reads argv[1..argc) and the environment. --help and --version are known without a
 * row (cd_args_wants_help, cd_args_wants_version); "--" ends the flags. Errors: CD_EINVAL with the
 * message for the user. */
cd_err cd_args_parse(cd_args *a, int argc, char *const *argv, cd_errinfo *why) CD_CHECK;

/* cd_args_file_value sets one value of a configuration file, unless the environment or a flag has
 * set it already. Errors: CD_ENOENT for a name that is in no row (files may hold more than we
 * know), CD_EINVAL with the message. */
cd_err cd_args_file_value(cd_args *a, const char *name, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* Values by the row's id; asking for another type than the row's is a bug. Borrowed from a. */
bool cd_args_bool(const cd_args *a, usize id);
u64 cd_args_u64(const cd_args *a, usize id); /* U64, DURATION, SIZE */
i64 cd_args_i64(const cd_args *a, usize id);
double cd_args_f64(const cd_args *a, usize id);
const char *cd_args_str(const cd_args *a, usize id); /* "" when empty */
usize cd_args_list(const cd_args *a, usize id, const char *const **out);
cd_arg_source cd_args_source(const cd_args *a, usize id);

/* cd_args_path gives a PATH with its variables replaced, in mem; unknown variables are empty. */
const char *cd_args_path(const cd_args *a, cd_arena *mem, usize id);

/* cd_args_words gives the arguments that are no flags (borrowed from argv) and their number. */
usize cd_args_words(const cd_args *a, const char *const **out);

/* cd_args_wants_help / _version: --help or --version was given. */
bool cd_args_wants_help(const cd_args *a);
bool cd_args_wants_version(const cd_args *a);

/* cd_args_help appends the help text, wrapped at width columns (cd_term_width). */
void cd_args_help(const cd_args *a, cd_buf *out, u32 width);

/* cd_args_closest gives up to three of the names that are close to word, the closest first, and their number. Words of
 * more than 64 bytes are close to nothing. */
enum { CD_ARGS_CLOSEST_MAX = 3 };
usize cd_args_closest(const char *out[CD_ARGS_CLOSEST_MAX], const char *word, const char *const *names, usize cnt);

/* cd_args_suggest appends "did you mean a, b or c?" with up to three of the names that are close to
 * word (each written behind lead, such as "--"); false and nothing when none is. */
bool cd_args_suggest(cd_buf *out, const char *lead, const char *word, const char *const *names, usize cnt);

#endif
