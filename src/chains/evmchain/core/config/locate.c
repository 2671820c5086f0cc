/* Where in its text a value of a JSON document stands. The text is known to be valid. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/config/check.h"

/* An open array or object. */
typedef struct level {
    bool is_obj;
    usize idx;    /* elements before the present one */
    usize path_n; /* of the path up to here */
} level;

typedef struct scan {
    cd_bytes text;
    usize at;
    cd_buf path;
    level *levels;
    usize depth;
} scan;

static void skip_blanks(scan *s)
{
    while (s->at < s->text.n && (s->text.p[s->at] <= ' ' || s->text.p[s->at] == ',' || s->text.p[s->at] == ':')) {
        s->at++;
    }
}

/* The raw contents of the string that begins here; escapes stay as they are. */
static cd_bytes take_string(scan *s)
{
    usize start = ++s->at;
    while (s->at < s->text.n && s->text.p[s->at] != '"') {
        s->at += s->text.p[s->at] == '\\' ? 2 : 1;
    }
    usize end = cd_min_u64(s->at, s->text.n);
    s->at = end + 1;
    return cd_bytes_sub(s->text, start, end - start);
}

static void skip_scalar(scan *s)
{
    if (s->text.p[s->at] == '"') {
        (void)take_string(s);
        return;
    }
    while (s->at < s->text.n && s->text.p[s->at] > ' ' && s->text.p[s->at] != ',' && s->text.p[s->at] != '}' &&
           s->text.p[s->at] != ']') {
        s->at++;
    }
}

/* Moves to the next key or element and makes its path; false at the end. *start is where it begins. */
static bool next_place(scan *s, usize *start)
{
    for (;;) {
        skip_blanks(s);
        if (s->at >= s->text.n || s->depth == 0) {
            return false;
        }
        u8 c = s->text.p[s->at];
        if (c != '}' && c != ']') {
            break;
        }
        s->at++;
        s->depth--;
    }
    level *l = &s->levels[s->depth - 1];
    s->path.n = l->path_n;
    *start = s->at;
    if (l->is_obj) {
        cd_bytes key = take_string(s);
        cd_buf_str(&s->path, s->path.n == 0 ? "" : ".");
        cd_buf_put(&s->path, key);
        skip_blanks(s);
    } else {
        cd_buf_fmt(&s->path, "[%zu]", l->idx++);
    }
    return true;
}

/* Steps over or into the value that stands here. */
static void enter(scan *s)
{
    u8 c = s->at < s->text.n ? s->text.p[s->at] : 0;
    if ((c == '{' || c == '[') && s->depth < CD_JSON_DEPTH_MAX) {
        s->levels[s->depth++] = (level){.is_obj = c == '{', .path_n = s->path.n};
        s->at++;
    } else if (c != 0) {
        skip_scalar(s);
    }
}

static void place_of(u64 *line, u64 *column, cd_bytes text, usize at)
{
    *line = 1;
    *column = 1;
    for (usize i = 0; i < at && i < text.n; i++) {
        ++*column;
        if (text.p[i] == '\n') {
            ++*line;
            *column = 1;
        }
    }
}

bool cd_json_locate(u64 *line, u64 *column, cd_bytes text, const char *path)
{
    scan s = {.text = text, .levels = cd_new_array(level, CD_JSON_DEPTH_MAX)};
    cd_bytes want = cd_bytes_str(path);
    usize start = 0;
    bool found = false;
    skip_blanks(&s);
    enter(&s);
    while (!found && next_place(&s, &start)) {
        found = cd_bytes_eq(cd_buf_bytes(&s.path), want);
        enter(&s);
    }
    if (found) {
        place_of(line, column, text, start);
    }
    cd_buf_fini(&s.path);
    cd_free(s.levels);
    return found;
}
