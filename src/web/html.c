#include "web/html.h"

#include "base/num_text.h"

enum { PLACE_TEXT, PLACE_TAG, PLACE_VALUE };

/* --- characters --- */

enum { BROKEN = 0xFFFD };

/* Takes one character of UTF-8 off the front of *b; BROKEN, and one byte taken, where no character begins. */
static u32 next_char(cd_bytes *b)
{
    static const u32 least[] = {0, 0x80, 0x800, 0x10000};
    u32 c = b->p[0];
    usize more = c >= 0xF0 && c <= 0xF4 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0x80) {
        *b = cd_bytes_sub(*b, 1, b->n - 1);
        return c;
    }
    if (c < 0xC2 || c > 0xF4 || b->n <= more) {
        *b = cd_bytes_sub(*b, 1, b->n - 1);
        return BROKEN;
    }
    c &= 0x3Fu >> more;
    for (usize i = 1; i <= more; i++) {
        if ((b->p[i] & 0xC0) != 0x80) {
            *b = cd_bytes_sub(*b, 1, b->n - 1);
            return BROKEN;
        }
        c = c << 6 | (b->p[i] & 0x3Fu);
    }
    bool is_good = c >= least[more] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
    *b = cd_bytes_sub(*b, is_good ? more + 1 : 1, b->n - (is_good ? more + 1 : 1));
    return is_good ? c : BROKEN;
}

/* Control characters, line separators and non-characters: they show nothing and confuse readers. */
static bool is_control(u32 c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
           (c & 0xFFFE) == 0xFFFE;
}

/* Marks that change the direction of the text behind them, and invisible characters. */
static bool is_trick(u32 c)
{
    return c == 0x061C || c == 0x200B || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

static void put_char(cd_buf *out, u32 c)
{
    switch (c) {
    case '&':
        cd_buf_str(out, "&amp;");
        return;
    case '<':
        cd_buf_str(out, "&lt;");
        return;
    case '>':
        cd_buf_str(out, "&gt;");
        return;
    case '"':
        cd_buf_str(out, "&quot;");
        return;
    case '\'':
        cd_buf_str(out, "&#39;");
        return;
    default:
        break;
    }
    if (c < 0x80) {
        cd_buf_u8(out, (u8)c);
    } else if (c < 0x800) {
        u8 *p = cd_buf_extend(out, 2);
        p[0] = (u8)(0xC0 | c >> 6);
        p[1] = (u8)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        u8 *p = cd_buf_extend(out, 3);
        p[0] = (u8)(0xE0 | c >> 12);
        p[1] = (u8)(0x80 | (c >> 6 & 0x3F));
        p[2] = (u8)(0x80 | (c & 0x3F));
    } else {
        u8 *p = cd_buf_extend(out, 4);
        p[0] = (u8)(0xF0 | c >> 18);
        p[1] = (u8)(0x80 | (c >> 12 & 0x3F));
        p[2] = (u8)(0x80 | (c >> 6 & 0x3F));
        p[3] = (u8)(0x80 | (c & 0x3F));
    }
}

/* Plain ASCII is copied in runs, everything else character by character. */
static bool is_plain(u8 c)
{
    return c >= 0x20 && c < 0x7F && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

static void put_text(cd_buf *out, cd_bytes text)
{
    while (text.n != 0) {
        usize n = 0;
        while (n < text.n && is_plain(text.p[n])) {
            n++;
        }
        cd_buf_put(out, cd_bytes_sub(text, 0, n));
        text = cd_bytes_sub(text, n, text.n - n);
        if (text.n != 0) {
            u32 c = next_char(&text);
            if (!is_control(c)) {
                put_char(out, c);
            }
        }
    }
}

/* Signs that stand on the letter before them. Words need one or two; towers of them cover other lines. */
static bool is_mark(u32 c)
{
    static const u32 ranges[][2] = {
        {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
        {0x06D6, 0x06ED}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x0EB1, 0x0ECE},
        {0x0F71, 0x0F84}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0x302A, 0x302F},
        {0x3099, 0x309A}, {0xA66F, 0xA67D}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
    };
    bool is = false;
    for (usize i = 0; i < CD_COUNT(ranges); i++) {
        is = is || (c >= ranges[i][0] && c <= ranges[i][1]);
    }
    return is;
}

/* Writes at most max characters of hostile text; gives the rest of it. */
static cd_bytes put_foreign(cd_buf *out, cd_bytes text, usize max)
{
    enum { MARKS_MAX = 2 };
    u32 marks = 0;
    for (usize cnt = 0; text.n != 0 && cnt < max;) {
        u32 c = next_char(&text);
        marks = is_mark(c) ? marks + 1 : 0;
        if (!is_control(c) && !is_trick(c) && marks <= MARKS_MAX) {
            put_char(out, c == '\n' || c == '\t' ? ' ' : c);
            cnt++;
        }
    }
    return text;
}

static void put_foreign_titled(cd_buf *out, cd_bytes text)
{
    cd_buf shown = {0};
    cd_bytes rest = put_foreign(&shown, text, CD_FOREIGN_MAX);
    if (rest.n == 0) {
        cd_buf_str(out, "<bdi>");
        cd_buf_put(out, cd_buf_bytes(&shown));
    } else {
        cd_buf_str(out, "<bdi title=\"");
        rest = put_foreign(out, text, CD_FOREIGN_MAX + CD_FOREIGN_TITLE_MAX);
        cd_buf_str(out, rest.n == 0 ? "\">" : "…\">");
        cd_buf_put(out, cd_buf_bytes(&shown));
        cd_buf_str(out, "…");
    }
    cd_buf_str(out, "</bdi>");
    cd_buf_fini(&shown);
}

void cd_url_part_enc(cd_buf *out, cd_bytes text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        bool is_letter = (u8)((c | 0x20) - 'a') < 26;
        if (is_letter || (u8)(c - '0') < 10 || c == '-' || c == '.' || c == '_' || c == '~') {
            cd_buf_u8(out, c);
        } else {
            u8 *p = cd_buf_extend(out, 3);
            p[0] = '%';
            p[1] = (u8)digits[c >> 4];
            p[2] = (u8)digits[c & 15];
        }
    }
}

/* --- templates --- */

/* Is the attribute whose value begins behind out one that holds an address? */
static bool names_address(cd_bytes out)
{
    static const char *const names[] = {" href", " src", " action", " formaction"};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        usize n = strlen(names[i]);
        if (out.n > n && out.p[out.n - 1] == '=' && memcmp(out.p + out.n - 1 - n, names[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes literal markup and notes in what place of HTML it ends. */
static void put_literal(cd_html *h, cd_bytes s)
{
    for (usize i = 0; i < s.n; i++) {
        u8 c = s.p[i];
        if (h->place == PLACE_TEXT) {
            h->place = c == '<' ? PLACE_TAG : PLACE_TEXT;
        } else if (h->place == PLACE_TAG) {
            if (c == '"') {
                h->place = PLACE_VALUE;
                h->is_link = names_address(cd_buf_bytes(h->out));
            } else if (c == '>') {
                h->place = PLACE_TEXT;
            }
        } else {
            h->place = c == '"' ? PLACE_TAG : PLACE_VALUE;
            h->is_link = false;
        }
        cd_buf_u8(h->out, c);
    }
}

static bool stays_here(cd_bytes url)
{
    return url.n == 0 || url.p[0] == '?' || url.p[0] == '#' ||
           (url.p[0] == '/' && (url.n == 1 || (url.p[1] != '/' && url.p[1] != '\\')));
}

static void put_hole(cd_html *h, const cd__html_hole *hole)
{
    CD_ASSERT(h->place != PLACE_TAG);
    bool is_between = h->place == PLACE_TEXT;
    bool is_first = h->is_link;
    h->is_link = false;
    switch (hole->kind) {
    case CD__HOLE_TEXT:
        put_text(h->out, is_first && !stays_here(hole->text) ? cd_bytes_str("#") : hole->text);
        return;
    case CD__HOLE_NUM: {
        char digits[CD_U64_TEXT_MAX];
        cd_buf_put(h->out, cd_bytes_of(digits, cd_u64_fmt(digits, hole->num)));
        return;
    }
    case CD__HOLE_FOREIGN:
        if (is_first) { // other people's text never becomes a link
            cd_buf_u8(h->out, '#');
        } else if (is_between) {
            put_foreign_titled(h->out, hole->text);
        } else {
            (void)put_foreign(h->out, hole->text, CD_FOREIGN_MAX + CD_FOREIGN_TITLE_MAX);
        }
        return;
    case CD__HOLE_FOREIGN_FLAT:
        CD_ASSERT(is_between);
        if (put_foreign(h->out, hole->text, CD_FOREIGN_MAX).n != 0) {
            cd_buf_str(h->out, "…");
        }
        return;
    case CD__HOLE_URL:
        cd_url_part_enc(h->out, hole->text);
        return;
    case CD__HOLE_MARKUP:
        CD_ASSERT(is_between);
        cd_buf_put(h->out, hole->text);
        return;
    case CD__HOLE_END:
        break;
    }
    CD_UNREACHABLE();
}

void cd__html_put(cd_html *h, cd_bytes literal, const cd__html_hole *holes, usize cnt)
{
    usize used = 0;
    usize from = 0;
    for (usize i = 0; i + 1 < literal.n; i++) {
        if (literal.p[i] == '{' && literal.p[i + 1] == '}') {
            CD_ASSERT(used < cnt);
            put_literal(h, cd_bytes_sub(literal, from, i - from));
            put_hole(h, &holes[++used]);
            from = i + 2;
            i++;
        }
    }
    put_literal(h, cd_bytes_sub(literal, from, literal.n - from));
    CD_ASSERT(used == cnt);
}

cd_markup cd_markup_of(const cd_html *h)
{
    CD_ASSERT(h->place == PLACE_TEXT);
    return (cd_markup){.html = cd_buf_bytes(h->out)};
}
