#include "base/args/args.h"

#include "base/args/args_priv.h"
#include "base/mem/arena.h"
#include "base/mem/mem.h"
#include "base/num_text.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    QUOTE_MAX = 60,       /* characters of a user's text that a message quotes */
    EXPAND_DEPTH_MAX = 4, /* rounds of replacing $NAME, as a value may hold names itself */
};

static const char *const env_prefixes[] = {"CANDELA_", "LUXD_", "AVAGO_"};

typedef struct value {
    cd_arg_source source;
    const char *text; /* the value as the user wrote it */
    u64 num;          /* value of a BOOL, U64, I64 (two's complement), DURATION (ns) or SIZE (bytes) */
    const char **list;
    usize list_cnt;
} value;

struct cd_args {
    cd_args_info info;
    const cd_arg_def *defs;
    usize cnt;
    value *values;
    const char **words;
    usize words_cnt;
    bool wants_help;
    bool wants_version;
    cd_arena mem; /* holds texts and lists of values */
};

static const char *env_process(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

char cd__args_env_char(char c)
{
    if (c >= 'a' && c <= 'z') {
        return (char)(c - 'a' + 'A');
    }
    if (c == '-') {
        return '_';
    }
    return c;
}

/* Makes "HTTP_PORT" of "http-port", behind the prefix. */
static const char *env_name(cd_args *a, const char *prefix, const char *name)
{
    char *s = cd_arena_fmt(&a->mem, "%s%s", prefix, name);
    for (char *p = s; *p != '\0'; p++) {
        *p = cd__args_env_char(*p);
    }
    return s;
}

static const char *env_get(const cd_args *a, const char *name)
{
    return a->info.env(a->info.env_ctx, name);
}

/* Gives the index of the row with that name or alias; cnt when there is none. */
static usize row_find(const cd_args *a, cd_bytes name)
{
    for (usize i = 0; i < a->cnt; i++) {
        if (cd_bytes_eq(name, cd_bytes_str(a->defs[i].name)) ||
            (a->defs[i].alias != NULL && cd_bytes_eq(name, cd_bytes_str(a->defs[i].alias)))) {
            return i;
        }
    }
    return a->cnt;
}

static bool choice_has(const char *choices, const char *text)
{
    usize n = strlen(text);
    for (const char *p = choices;;) {
        usize len = strcspn(p, "|");
        if (len == n && memcmp(p, text, n) == 0) {
            return true;
        }
        if (p[len] == '\0') {
            return false;
        }
        p += len + 1;
    }
}

/* Gives how many characters of a user's text to print, so that a message stays short. */
static int quote_len(const char *s)
{
    usize n = strlen(s);
    return n > QUOTE_MAX ? QUOTE_MAX : (int)n;
}

static cd_err fail_range(const cd_arg_def *d, const char *label, const char *text, cd_errinfo *why)
{
    if (d->type == CD_ARG_I64) {
        return cd_fail(why, CD_EINVAL, "%s must be between %lld and %lld, got %.*s", label, (long long)d->min,
                       (long long)d->max, quote_len(text), text);
    }
    return cd_fail(why, CD_EINVAL, "%s must be between %llu and %llu, got %.*s", label, (unsigned long long)d->min,
                   (unsigned long long)d->max, quote_len(text), text);
}

/* Reads digits, a point and an exponent; no sign, no words. Its bits are kept as a number is. */
static cd_err f64_parse(u64 *out, const cd_arg_def *d, const char *text)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || text[strspn(text, "0123456789.eE+-")] != '\0') {
        return CD_EFORMAT;
    }
    double v = strtod(text, &end);
    if (*end != '\0') {
        return CD_EFORMAT;
    }
    if (v > 1e300 || (d->max != 0 && (v < (double)d->min || v > (double)d->max))) {
        return CD_ERANGE;
    }
    memcpy(out, &v, sizeof v);
    return CD_OK;
}

/* Reads a number of any of the numeric types and checks its range. label names the option as the user
 * wrote it: a flag, a variable or a quoted key. */
static cd_err number_parse(u64 *out, const cd_arg_def *d, const char *label, const char *text, cd_errinfo *why)
{
    static const char *const kinds[] = {
        [CD_ARG_BOOL] = "true or false",
        [CD_ARG_U64] = "a whole number",
        [CD_ARG_I64] = "a whole number",
        [CD_ARG_F64] = "a number such as 0.8",
        [CD_ARG_DURATION] = "a duration such as 30s or 2m",
        [CD_ARG_SIZE] = "a size such as 64MiB or 10GB",
    };
    cd_bytes t = cd_bytes_str(text);
    cd_err err = CD_OK;
    u64 v = 0;
    bool is_negative = d->type == CD_ARG_I64;
    if (d->type == CD_ARG_BOOL) {
        bool is_true = choice_has("true|1|yes|on", text);
        err = is_true || choice_has("false|0|no|off", text) ? CD_OK : CD_EFORMAT;
        v = is_true ? 1 : 0;
    } else if (d->type == CD_ARG_DURATION) {
        err = cd_duration_parse(&v, t);
    } else if (d->type == CD_ARG_SIZE) {
        err = cd_size_parse(&v, t);
    } else if (d->type == CD_ARG_F64) {
        err = f64_parse(&v, d, text);
    } else if (is_negative) {
        i64 i = 0;
        err = cd_i64_parse(&i, t);
        v = (u64)i;
    } else {
        err = cd_u64_parse(&v, t);
    }
    bool is_out = is_negative ? (i64)v < (i64)d->min || (i64)v > (i64)d->max : v < d->min || v > d->max;
    is_out = is_out && d->type != CD_ARG_F64;
    if (err == CD_ERANGE || (err == CD_OK && d->max != 0 && is_out)) {
        return d->max != 0 ? fail_range(d, label, text, why)
                           : cd_fail(why, CD_EINVAL, "%s is too large: %.*s", label, quote_len(text), text);
    }
    if (err != CD_OK) {
        return cd_fail(why, CD_EINVAL, "%s must be %s, got \"%.*s\"", label, kinds[d->type], quote_len(text), text);
    }
    *out = v;
    return CD_OK;
}

static bool is_number(cd_arg_type type)
{
    return type != CD_ARG_STR && type != CD_ARG_PATH && type != CD_ARG_LIST;
}

/* Makes "a, b, c" of "a|b|c". */
static const char *choices_text(cd_args *a, const char *choices)
{
    cd_buf b = {0};
    for (; *choices != '\0'; choices++) {
        if (*choices == '|') {
            cd_buf_str(&b, ", ");
        } else {
            cd_buf_u8(&b, (u8)*choices);
        }
    }
    const char *s = cd_arena_str(&a->mem, cd_buf_bytes(&b));
    cd_buf_fini(&b);
    return s;
}

/* Splits text at commas, drops blanks around the parts and empty parts. With append, they follow the list's values. */
static void list_set(cd_args *a, value *v, const char *text, bool append)
{
    usize old = append ? v->list_cnt : 0;
    usize most = old + 1;
    for (const char *p = text; *p != '\0'; p++) {
        most += *p == ',';
    }
    const char **list = cd_arena_array(&a->mem, const char *, most);
    for (usize i = 0; i < old; i++) {
        list[i] = v->list[i];
    }
    usize cnt = old;
    for (const char *p = text;;) {
        usize n = strcspn(p, ",");
        cd_bytes part = cd_bytes_of(p, n);
        while (part.n != 0 && part.p[0] == ' ') {
            part = cd_bytes_sub(part, 1, part.n - 1);
        }
        while (part.n != 0 && part.p[part.n - 1] == ' ') {
            part.n--;
        }
        if (part.n != 0) {
            list[cnt++] = cd_arena_str(&a->mem, part);
        }
        if (p[n] == '\0') {
            break;
        }
        p += n + 1;
    }
    v->list = list;
    v->list_cnt = cnt;
}

/* Checks and stores one value. The text must outlive a. */
static cd_err value_set(cd_args *a, usize id, cd_arg_source source, const char *label, const char *text,
                        cd_errinfo *why)
{
    const cd_arg_def *d = &a->defs[id];
    value *v = &a->values[id];
    if (d->choices != NULL && !choice_has(d->choices, text)) {
        return cd_fail(why, CD_EINVAL, "%s must be one of %s, got \"%.*s\"", label, choices_text(a, d->choices),
                       quote_len(text), text);
    }
    if (is_number(d->type)) {
        CD_TRY(number_parse(&v->num, d, label, text, why));
    } else if (d->type == CD_ARG_LIST) {
        list_set(a, v, text, source == CD_ARG_FROM_FLAG && v->source == CD_ARG_FROM_FLAG);
    }
    v->text = text;
    v->source = source;
    return CD_OK;
}

/* Sets the default of a row; without one a number is zero and its range does not matter. */
static void default_set(cd_args *a, usize id)
{
    const cd_arg_def *d = &a->defs[id];
    a->values[id] = (value){.source = CD_ARG_FROM_DEFAULT, .text = ""};
    if (d->dflt != NULL) {
        cd_errinfo why = {0};
        if (d->choices == NULL || d->dflt[0] != '\0') {
            cd_err err = value_set(a, id, CD_ARG_FROM_DEFAULT, d->name, d->dflt, &why);
            CD_ASSERT(err == CD_OK);
        }
    }
}

cd_args *cd_args_new(const cd_args_info *info, const cd_arg_def *defs, usize cnt)
{
    cd_args *a = cd_new(cd_args);
    a->info = *info;
    if (a->info.env == NULL) {
        a->info.env = env_process;
    }
    a->defs = defs;
    a->cnt = cnt;
    a->values = cd_new_array(value, cnt);
    for (usize i = 0; i < cnt; i++) {
        default_set(a, i);
    }
    return a;
}

void cd_args_free(cd_args *a)
{
    if (a != NULL) {
        cd_arena_fini(&a->mem);
        cd_free(a->values);
        cd_free(a->words);
        cd_free(a);
    }
}

/* Gives the name of the k-th environment variable that may hold the value of row i; NULL: there are no more. */
static const char *env_candidate(cd_args *a, usize i, usize k)
{
    const cd_arg_def *d = &a->defs[i];
    if (a->info.is_plain_env) {
        const char *name = k == 0 ? d->name : k == 1 ? d->alias : NULL;
        return name == NULL ? NULL : env_name(a, "", name);
    }
    return k == CD_COUNT(env_prefixes) ? NULL : env_name(a, env_prefixes[k], d->name);
}

static cd_err env_read(cd_args *a, cd_errinfo *why)
{
    for (usize i = 0; i < a->cnt; i++) {
        const char *name;
        for (usize k = 0; (name = env_candidate(a, i, k)) != NULL; k++) {
            const char *text = env_get(a, name);
            if (text != NULL && a->info.is_plain_env && text[0] == '\0') {
                continue;
            }
            if (text != NULL && a->values[i].source < CD_ARG_FROM_ENV) {
                text = cd_arena_str(&a->mem, cd_bytes_str(text));
                CD_TRY(value_set(a, i, CD_ARG_FROM_ENV, name, text, why));
            }
        }
    }
    return CD_OK;
}

/* Gives what the user types to see the help. */
static const char *help_word(const cd_args *a)
{
    return a->info.help_word == NULL ? "--help" : a->info.help_word;
}

static cd_err fail_unknown(const cd_args *a, const char *name, usize len, cd_errinfo *why)
{
    cd_buf b = {0};
    const char **names = cd_new_array(const char *, a->cnt + 2);
    for (usize i = 0; i < a->cnt; i++) {
        names[i] = a->defs[i].name;
    }
    names[a->cnt] = "help";
    names[a->cnt + 1] = "version";
    char *word = cd_alloc(len + 1);
    memcpy(word, name, len);

    cd_buf_fmt(&b, "unknown flag --%.*s\n       ", quote_len(word), word);
    if (cd_args_suggest(&b, "--", word, names, a->cnt + 2)) {
        cd_buf_str(&b, "\n       ");
    }
    cd_buf_fmt(&b, "all flags: %s %s", a->info.program, help_word(a));
    (void)cd_fail(why, CD_EINVAL, "%s", cd_buf_cstr(&b));
    cd_free(word);
    cd_free(names);
    cd_buf_fini(&b);
    return CD_EINVAL;
}

/* Reads the flag at argv[*i]; *i moves on when its value is the next argument. */
static cd_err flag_parse(cd_args *a, int *i, int argc, char *const *argv, cd_errinfo *why)
{
    const char *name = argv[*i] + (argv[*i][1] == '-' ? 2 : 1);
    usize len = strcspn(name, "=");
    const char *text = name[len] == '=' ? name + len + 1 : NULL;
    cd_bytes key = cd_bytes_of(name, len);
    usize id = row_find(a, key);
    if (id == a->cnt) {
        if (text == NULL &&
            (cd_bytes_eq(key, cd_bytes_str("help")) || (argv[*i][1] != '-' && cd_bytes_eq(key, cd_bytes_str("h"))))) {
            a->wants_help = true;
            return CD_OK;
        }
        if (text == NULL && cd_bytes_eq(key, cd_bytes_str("version"))) {
            a->wants_version = true;
            return CD_OK;
        }
        return fail_unknown(a, name, len, why);
    }
    if (text == NULL && a->defs[id].type == CD_ARG_BOOL) {
        text = "true";
    }
    if (text == NULL) {
        if (*i + 1 >= argc) {
            return cd_fail(why, CD_EINVAL, "--%s needs a value", a->defs[id].name);
        }
        text = argv[++*i];
    }
    const char *label = cd_arena_fmt(&a->mem, "--%s", a->defs[id].name);
    return value_set(a, id, CD_ARG_FROM_FLAG, label, text, why);
}

cd_err cd_args_parse(cd_args *a, int argc, char *const *argv, cd_errinfo *why)
{
    CD_ASSERT(a->words == NULL);
    a->words = cd_new_array(const char *, (usize)(argc > 0 ? argc : 1));
    bool flags_over = false;
    for (int i = 1; i < argc; i++) {
        const char *s = argv[i];
        if (!flags_over && strcmp(s, "--") == 0) {
            flags_over = true;
        } else if (!flags_over && s[0] == '-' && s[1] != '\0') {
            CD_TRY(flag_parse(a, &i, argc, argv, why));
        } else if (a->words_cnt == a->info.words_max) {
            return cd_fail(why, CD_EINVAL, "unexpected argument \"%.*s\"\n       all flags: %s %s", quote_len(s), s,
                           a->info.program, help_word(a));
        } else {
            a->words[a->words_cnt++] = s;
        }
    }
    return env_read(a, why);
}

cd_err cd_args_file_value(cd_args *a, const char *name, cd_bytes text, cd_errinfo *why)
{
    usize id = row_find(a, cd_bytes_str(name));
    if (id == a->cnt) {
        return CD_ENOENT;
    }
    if (a->values[id].source > CD_ARG_FROM_FILE) {
        return CD_OK;
    }
    const char *label = cd_arena_fmt(&a->mem, "\"%s\"", name);
    return value_set(a, id, CD_ARG_FROM_FILE, label, cd_arena_str(&a->mem, text), why);
}

static const value *value_of(const cd_args *a, usize id, bool type_fits)
{
    CD_ASSERT(type_fits);
    return &a->values[id];
}

bool cd_args_bool(const cd_args *a, usize id)
{
    CD_ASSERT(id < a->cnt);
    return value_of(a, id, a->defs[id].type == CD_ARG_BOOL)->num != 0;
}

u64 cd_args_u64(const cd_args *a, usize id)
{
    CD_ASSERT(id < a->cnt);
    cd_arg_type t = a->defs[id].type;
    return value_of(a, id, t == CD_ARG_U64 || t == CD_ARG_DURATION || t == CD_ARG_SIZE)->num;
}

i64 cd_args_i64(const cd_args *a, usize id)
{
    CD_ASSERT(id < a->cnt);
    return (i64)value_of(a, id, a->defs[id].type == CD_ARG_I64)->num;
}

double cd_args_f64(const cd_args *a, usize id)
{
    CD_ASSERT(id < a->cnt);
    double v = 0;
    memcpy(&v, &value_of(a, id, a->defs[id].type == CD_ARG_F64)->num, sizeof v);
    return v;
}

/* Gives the value of $name: a flag's value for $CANDELA_<FLAG>, else the environment variable's. */
static const char *variable_get(const cd_args *a, cd_bytes name)
{
    usize skip = strlen(env_prefixes[0]);
    if (name.n > skip && memcmp(name.p, env_prefixes[0], skip) == 0) {
        for (usize i = 0; i < a->cnt; i++) {
            const char *flag = a->defs[i].name;
            usize k = 0;
            while (flag[k] != '\0' && skip + k < name.n) {
                if (cd__args_env_char(flag[k]) != (char)name.p[skip + k]) {
                    break;
                }
                k++;
            }
            if (flag[k] == '\0' && skip + k == name.n) {
                return a->values[i].text;
            }
        }
    }
    cd_buf b = {0};
    cd_buf_put(&b, name);
    const char *v = env_get(a, cd_buf_cstr(&b));
    cd_buf_fini(&b);
    return v;
}

static bool is_variable_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Replaces each $NAME in text once; false when there was none. Unknown names become empty. */
static bool expand_once(const cd_args *a, cd_buf *out, const char *text)
{
    bool found = false;
    while (*text != '\0') {
        usize open = text[0] == '$' && text[1] == '{' ? 2 : 1;
        usize n = 0;
        while (text[0] == '$' && is_variable_char(text[open + n])) {
            n++;
        }
        if (n == 0 || (open == 2 && text[open + n] != '}')) {
            cd_buf_u8(out, (u8)*text++);
            continue;
        }
        const char *v = variable_get(a, cd_bytes_of(text + open, n));
        cd_buf_str(out, v == NULL ? "" : v);
        text += open + n + (open == 2 ? 1 : 0);
        found = true;
    }
    return found;
}

const char *cd_args_str(const cd_args *a, usize id)
{
    CD_ASSERT(id < a->cnt);
    return value_of(a, id, a->defs[id].type == CD_ARG_STR)->text;
}

const char *cd_args_path(const cd_args *a, cd_arena *mem, usize id)
{
    CD_ASSERT(id < a->cnt);
    const char *text = value_of(a, id, a->defs[id].type == CD_ARG_PATH)->text;
    cd_buf b[2] = {{0}, {0}};
    for (usize i = 0; i < EXPAND_DEPTH_MAX; i++) {
        cd_buf *to = &b[i % 2];
        cd_buf_clear(to);
        bool found = expand_once(a, to, text);
        text = cd_buf_cstr(to);
        if (!found) {
            break;
        }
    }
    const char *out = cd_arena_str(mem, cd_bytes_str(text));
    cd_buf_fini(&b[0]);
    cd_buf_fini(&b[1]);
    return out;
}

usize cd_args_list(const cd_args *a, usize id, const char *const **out)
{
    CD_ASSERT(id < a->cnt);
    const value *v = value_of(a, id, a->defs[id].type == CD_ARG_LIST);
    *out = v->list;
    return v->list_cnt;
}

cd_arg_source cd_args_source(const cd_args *a, usize id)
{
    CD_ASSERT(id < a->cnt);
    return a->values[id].source;
}

usize cd_args_words(const cd_args *a, const char *const **out)
{
    *out = a->words;
    return a->words_cnt;
}

bool cd_args_wants_help(const cd_args *a)
{
    return a->wants_help;
}

bool cd_args_wants_version(const cd_args *a)
{
    return a->wants_version;
}

const cd_args_info *cd__args_info(const cd_args *a)
{
    return &a->info;
}

const cd_arg_def *cd__args_defs(const cd_args *a, usize *cnt)
{
    *cnt = a->cnt;
    return a->defs;
}
