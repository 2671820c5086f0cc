/* What Go's decoder says of a text that is no JSON: clients and recorded dialogues know these words. A scanner of
 * its own, run only over texts that the real parser has refused. [spec:eth-rpc#2] */
#include "rpc/jsonrpc_priv.h"

enum { DEPTH_MAX = 10000 };

typedef struct scan {
    const u8 *p;
    const u8 *end;
    const char *where; /* where the parser stood, in the words of Go's error text */
    u64 is_obj[DEPTH_MAX / 64 + 1];
    usize depth;
} scan;

static bool bad(scan *s, const char *where)
{
    s->where = where;
    return false;
}

static void skip_blank(scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n')) {
        s->p++;
    }
}

static bool is_digit(const scan *s)
{
    return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

static bool is_hex(u8 c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool scan_escape(scan *s)
{
    if (s->p == s->end) {
        return false;
    }
    if (*s->p != 'u') {
        return strchr("bfnrt\\/\"", *s->p) != NULL && *s->p != '\0' ? s->p++ != NULL : bad(s, "in string escape code");
    }
    s->p++;
    for (int i = 0; i < 4; i++, s->p++) {
        if (s->p == s->end) {
            return false;
        }
        if (!is_hex(*s->p)) {
            return bad(s, "in \\u hexadecimal character escape");
        }
    }
    return true;
}

/* Reads a string; p stands behind its opening quote. */
static bool scan_string(scan *s)
{
    while (s->p < s->end) {
        u8 c = *s->p;
        if (c < 0x20) {
            return bad(s, "in string literal");
        }
        s->p++;
        if (c == '"') {
            return true;
        }
        if (c == '\\' && !scan_escape(s)) {
            return false;
        }
    }
    return false;
}

static bool scan_digits(scan *s, const char *where)
{
    if (s->p < s->end && !is_digit(s)) {
        return bad(s, where);
    }
    while (is_digit(s)) {
        s->p++;
    }
    return true;
}

static bool scan_number(scan *s)
{
    if (*s->p == '-') {
        s->p++;
    }
    if (s->p < s->end && *s->p == '0') {
        s->p++;
    } else if (!scan_digits(s, "in numeric literal")) {
        return false;
    }
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!scan_digits(s, "after decimal point in numeric literal")) {
            return false;
        }
    }
    if (s->p < s->end && (*s->p | 0x20) == 'e') {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-')) {
            s->p++;
        }
        return scan_digits(s, "in exponent of numeric literal");
    }
    return true;
}

static bool scan_word(scan *s)
{
    static const struct {
        const char *word;
        const char *where[4]; /* when the character at the index behind the first is wrong */
    } words[] = {
        {"true",
         {"in literal true (expecting 'r')", "in literal true (expecting 'u')", "in literal true (expecting 'e')",
          NULL}},
        {"false",
         {"in literal false (expecting 'a')", "in literal false (expecting 'l')", "in literal false (expecting 's')",
          "in literal false (expecting 'e')"}},
        {"null",
         {"in literal null (expecting 'u')", "in literal null (expecting 'l')", "in literal null (expecting 'l')",
          NULL}},
    };
    for (usize w = 0; w < CD_COUNT(words); w++) {
        const char *word = words[w].word;
        if (*s->p != (u8)word[0]) {
            continue;
        }
        s->p++;
        for (usize i = 1; word[i] != '\0' && s->p < s->end; i++, s->p++) {
            if (*s->p != (u8)word[i]) {
                return bad(s, words[w].where[i - 1]);
            }
        }
        return true;
    }
    return bad(s, "looking for beginning of value");
}

static bool in_obj(const scan *s)
{
    return (s->is_obj[s->depth / 64] >> (s->depth % 64) & 1) != 0;
}

static bool enter(scan *s, bool is_obj)
{
    if (++s->depth > DEPTH_MAX - 1) {
        return bad(s, NULL);
    }
    u64 bit = 1ull << (s->depth % 64);
    u64 *word = &s->is_obj[s->depth / 64];
    *word = is_obj ? *word | bit : *word & ~bit;
    return true;
}

/* Reads a key and its colon. */
static bool scan_key(scan *s)
{
    skip_blank(s);
    if (s->p == s->end) {
        return false;
    }
    if (*s->p != '"') {
        return bad(s, "looking for beginning of object key string");
    }
    s->p++;
    if (!scan_string(s)) {
        return false;
    }
    skip_blank(s);
    if (s->p == s->end) {
        return false;
    }
    return *s->p == ':' ? s->p++ != NULL : bad(s, "after object key");
}

/* What stands behind a value: closing brackets, and the comma. *more when another value must follow. */
static bool scan_behind(scan *s, bool *more)
{
    for (*more = false; s->depth != 0;) {
        skip_blank(s);
        if (s->p == s->end) {
            return false;
        }
        if (*s->p == ',') {
            s->p++;
            *more = true;
            return !in_obj(s) || scan_key(s);
        }
        if (*s->p != (in_obj(s) ? '}' : ']')) {
            return bad(s, in_obj(s) ? "after object key:value pair" : "after array element");
        }
        s->p++;
        s->depth--;
    }
    skip_blank(s);
    return s->p == s->end || bad(s, "after top-level value");
}

/* One value, or the brackets that open until one comes; *is_open when a value must follow. */
static bool scan_value(scan *s, bool *is_open)
{
    *is_open = false;
    skip_blank(s);
    if (s->p == s->end) {
        return false;
    }
    u8 c = *s->p;
    if (c == '{' || c == '[') {
        s->p++;
        if (!enter(s, c == '{')) {
            return false;
        }
        skip_blank(s);
        if (s->p < s->end && *s->p == (c == '{' ? '}' : ']')) {
            s->p++;
            s->depth--;
            return true;
        }
        *is_open = true;
        return c == '[' || scan_key(s);
    }
    if (c == '"') {
        s->p++;
        return scan_string(s);
    }
    return c == '-' || is_digit(s) ? scan_number(s) : scan_word(s);
}

static bool scan_all(scan *s)
{
    bool more = true;
    while (more) {
        bool is_open;
        if (!scan_value(s, &is_open) || (!is_open && !scan_behind(s, &more))) {
            return false;
        }
    }
    return true;
}

static void put_char(cd_buf *out, u8 c)
{
    if (c == '\'' || c == '\\') {
        cd_buf_fmt(out, "'\\%c'", c);
    } else if (c >= 0x20 && c < 0x7f) {
        cd_buf_fmt(out, "'%c'", c);
    } else if (c >= 0xa1 && c != 0xad) {
        cd_buf_fmt(out, "'%c%c'", 0xc0 | c >> 6, 0x80 | (c & 0x3f)); /* the character of that code point */
    } else if (c == 0x7f || c < 0x20) {
        static const char *const named[] = {"\\a", "\\b", "\\t", "\\n", "\\v", "\\f", "\\r"};
        if (c >= 7 && c <= 13) {
            cd_buf_fmt(out, "'%s'", named[c - 7]);
        } else {
            cd_buf_fmt(out, "'\\x%02x'", c);
        }
    } else {
        cd_buf_fmt(out, "'\\u%04x'", c);
    }
}

void cd__rpc_syntax_error(cd_buf *out, cd_bytes text)
{
    static const u8 none;
    scan s = {.p = text.n == 0 ? &none : text.p};
    s.end = s.p + text.n;
    if (scan_all(&s)) {
        cd_buf_str(out, "parse error"); /* Go is less strict here: depth, UTF-8 */
    } else if (s.where != NULL) {
        cd_buf_str(out, "invalid character ");
        put_char(out, *s.p);
        cd_buf_fmt(out, " %s", s.where);
    } else {
        cd_buf_str(out, s.p == s.end ? "unexpected EOF" : "exceeded max depth");
    }
}
