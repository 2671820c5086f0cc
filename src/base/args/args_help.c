#include "base/args/args.h"

#include "base/args/args_priv.h"
#include "base/os/term.h"

enum {
    SUGGEST_WORD_MAX = 64, /* longer words are not compared */
    COLUMN_MAX = 30,       /* the explanations start at this column at the latest */
    WIDTH_MIN = 40,
};

/* Counts the edits (insert, delete, replace, swap of neighbours) that turn a into b. */
static usize distance(const char *a, const char *b)
{
    usize rows[3][SUGGEST_WORD_MAX + 1];
    usize na = strlen(a);
    usize nb = strlen(b);
    if (na > SUGGEST_WORD_MAX || nb > SUGGEST_WORD_MAX) {
        return SIZE_MAX;
    }
    usize *prev2 = rows[0];
    usize *prev = rows[1];
    usize *cur = rows[2];
    for (usize j = 0; j <= nb; j++) {
        prev2[j] = 0;
        prev[j] = j;
    }
    for (usize i = 1; i <= na; i++) {
        cur[0] = i;
        for (usize j = 1; j <= nb; j++) {
            usize d = prev[j - 1] + (a[i - 1] != b[j - 1]);
            d = d < prev[j] + 1 ? d : prev[j] + 1;
            d = d < cur[j - 1] + 1 ? d : cur[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d = d < prev2[j - 2] + 1 ? d : prev2[j - 2] + 1;
            }
            cur[j] = d;
        }
        usize *oldest = prev2;
        prev2 = prev;
        prev = cur;
        cur = oldest;
    }
    return prev[nb];
}

usize cd_args_closest(const char *out[CD_ARGS_CLOSEST_MAX], const char *word, const char *const *names, usize cnt)
{
    usize best[CD_ARGS_CLOSEST_MAX];
    usize n = 0;
    usize most = 1 + strlen(word) / 4;
    for (usize i = 0; i < cnt; i++) {
        usize d = distance(word, names[i]);
        if (d > most) {
            continue;
        }
        usize at = n;
        while (at > 0 && best[at - 1] > d) {
            at--;
        }
        if (at == CD_ARGS_CLOSEST_MAX) {
            continue;
        }
        n = n < CD_ARGS_CLOSEST_MAX ? n + 1 : n;
        for (usize k = n - 1; k > at; k--) {
            best[k] = best[k - 1];
            out[k] = out[k - 1];
        }
        best[at] = d;
        out[at] = names[i];
    }
    /* Names more than one edit farther away than the closest are left out. */
    while (n > 1 && best[n - 1] > best[0] + 1) {
        n--;
    }
    return n;
}

bool cd_args_suggest(cd_buf *out, const char *lead, const char *word, const char *const *names, usize cnt)
{
    const char *best[CD_ARGS_CLOSEST_MAX];
    usize n = cd_args_closest(best, word, names, cnt);
    for (usize i = 0; i < n; i++) {
        const char *sep = i == 0 ? "did you mean " : i + 1 == n ? " or " : ", ";
        cd_buf_fmt(out, "%s%s%s", sep, lead, best[i]);
    }
    if (n != 0) {
        cd_buf_u8(out, '?');
    }
    return n != 0;
}

/* Appends "--name META" of a row. */
static usize flag_put(cd_buf *out, const cd_arg_def *d)
{
    usize before = out->n;
    cd_buf_fmt(out, "--%s", d->name);
    if (d->type != CD_ARG_BOOL) {
        cd_buf_fmt(out, " %s", d->meta == NULL ? "VALUE" : d->meta);
    }
    return out->n - before;
}

/* Appends the words of text in lines, each behind `column` blanks; the first line goes on at column `at`. */
static void wrap(cd_buf *out, const char *text, usize at, usize column, usize width)
{
    while (*text != '\0') {
        usize n = strcspn(text, " ");
        char word[256];
        usize len = n < sizeof word - 1 ? n : sizeof word - 1;
        memcpy(word, text, len);
        word[len] = '\0';
        usize cols = cd_term_columns(word);
        if (at > column && at + 1 + cols > width) {
            cd_buf_u8(out, '\n');
            cd_buf_fill(out, ' ', column);
            at = column;
        } else if (at > column) {
            cd_buf_u8(out, ' ');
            at++;
        }
        cd_buf_put(out, cd_bytes_of(text, n));
        at += cols;
        text += n;
        text += strspn(text, " ");
    }
    cd_buf_u8(out, '\n');
}

static void row_put(cd_buf *out, const cd_arg_def *d, usize column, usize width)
{
    cd_buf text = {0};
    cd_buf_str(&text, d->help);
    if (d->choices != NULL) {
        cd_buf_str(&text, ": ");
        for (const char *p = d->choices; *p != '\0'; p++) {
            if (*p == '|') {
                cd_buf_str(&text, ", ");
            } else {
                cd_buf_u8(&text, (u8)*p);
            }
        }
    }
    if (d->dflt != NULL && d->dflt[0] != '\0') {
        cd_buf_fmt(&text, " [%s]", d->dflt);
    }
    cd_buf_str(out, "  ");
    usize at = 2 + flag_put(out, d);
    if (at + 2 > column) {
        cd_buf_u8(out, '\n');
        at = 0;
    }
    cd_buf_fill(out, ' ', column - at);
    wrap(out, cd_buf_cstr(&text), column, column, width);
    cd_buf_fini(&text);
}

void cd_args_help(const cd_args *a, cd_buf *out, u32 width)
{
    const cd_args_info *info = cd__args_info(a);
    usize cnt;
    const cd_arg_def *defs = cd__args_defs(a, &cnt);
    usize cols = width < WIDTH_MIN ? WIDTH_MIN : width;

    cd_buf_fmt(out, "%s: %s\n", info->program, info->purpose);
    if (info->usage != NULL) {
        cd_buf_fmt(out, "\n%s\n", info->usage);
    }
    usize column = 0;
    cd_buf scratch = {0};
    for (usize i = 0; i < cnt; i++) {
        usize n = 2 + flag_put(&scratch, &defs[i]) + 2;
        column = defs[i].help != NULL && n > column && n <= COLUMN_MAX ? n : column;
    }
    cd_buf_fini(&scratch);
    column = column == 0 ? COLUMN_MAX : column;
    for (usize i = 0; i < cnt; i++) {
        if (i == 0 || defs[i].group != NULL) {
            cd_buf_u8(out, '\n');
        }
        if (defs[i].group != NULL) {
            cd_buf_fmt(out, "%s\n", defs[i].group);
        }
        if (defs[i].help != NULL) {
            row_put(out, &defs[i], column, cols);
        }
    }
    if (info->example != NULL) {
        cd_buf_fmt(out, "\nExample: %s", info->example);
    }
    if (cnt != 0) {
        const char *name = defs[0].name;
        cd_buf_str(out, info->is_plain_env ? "\nEnvironment: " : "\nEnvironment: CANDELA_");
        for (; *name != '\0'; name++) {
            cd_buf_u8(out, (u8)cd__args_env_char(*name));
        }
        cd_buf_str(out, " and so on");
    }
    cd_buf_u8(out, '\n');
}
