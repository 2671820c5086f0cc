/* web/html.h - the one way text reaches a page: templates whose holes are filled by type, each escaped for its place.
 *
 *   cd_html_put(h, "<a href=\"/block/{}\">{}</a>", number, name);
 *                             │             │        │
 *                        a literal      u64: digits   cd_foreign: escaped, cut, in <bdi>
 *
 * A template must be a string literal (anything else does not compile), so markup comes from our sources only. What a
 * hole takes is decided by the C type of its argument, and how it is written by where the hole stands, which the writer
 * follows through all templates of a page: between tags, or inside a quoted attribute. A hole anywhere else is a bug.
 *
 * All text: & < > " ' are escaped, control characters dropped, broken UTF-8 becomes U+FFFD. An attribute that names an
 * address (href, src, action, formaction) takes only what stays on this service: a value that begins otherwise than
 * with '/', '?' or '#', or with "//", is written as '#'. Threading: confined. [spec:style#B7] */
#ifndef CD_WEB_HTML_H
#define CD_WEB_HTML_H

#include "base/mem/buf.h"

/* How many characters of hostile text a page shows, and how many more its title holds. */
enum { CD_FOREIGN_MAX = 64, CD_FOREIGN_TITLE_MAX = 1024, CD_HTML_HOLES_MAX = 12 };

/* Text that others wrote: from a chain, a provider, a receiver. Between tags it stands in <bdi>, cut at CD_FOREIGN_MAX
 * characters with the rest in the title; direction marks are dropped. */
typedef struct cd_foreign {
    cd_bytes text;
} cd_foreign;

/* Text that others wrote, for places where no element may stand: inside of SVG. */
typedef struct cd_foreign_flat {
    cd_bytes text;
} cd_foreign_flat;

/* One segment of a path or one value of a query: everything but letters, digits and -._~ is percent-encoded. */
typedef struct cd_url_part {
    cd_bytes text;
} cd_url_part;

/* Markup that a cd_html has written. Only between tags. */
typedef struct cd_markup {
    cd_bytes html;
} cd_markup;

/* The writer: {.out = buf} starts one. */
typedef struct cd_html {
    cd_buf *out;
    u8 place;     /* where the next byte stands: between tags, in a tag, in a quoted attribute */
    bool is_link; /* the next byte is the first of an attribute that names an address */
} cd_html;

/* cd_html_put writes a template, its {} filled in order by up to CD_HTML_HOLES_MAX arguments of these types:
 *   const char *, cd_bytes   our own text, escaped        cd_foreign    other people's text
 *   unsigned integers        decimal digits               cd_foreign_flat  the same, inside of SVG
 *   cd_markup                what another cd_html wrote   cd_url_part   part of an address
 * Fewer or more arguments than holes is a bug. Arguments are evaluated once. */
#define cd_html_put(h, literal, ...)                                                                                   \
    cd__html_put((h), cd_bytes_of("" literal "", sizeof("" literal "") - 1),                                           \
                 (const cd__html_hole[]){{.kind = CD__HOLE_END} CD__HOLES(__VA_ARGS__)}, CD__HOLES_CNT(__VA_ARGS__))

/* cd_foreign_of / cd_foreign_flat_of / cd_url_part_of / cd_markup_of wrap a value for a hole. The markup that
 * cd_markup_of takes must not end inside a tag. */
CD_INLINE cd_foreign cd_foreign_of(cd_bytes text)
{
    return (cd_foreign){.text = text};
}
CD_INLINE cd_foreign_flat cd_foreign_flat_of(cd_bytes text)
{
    return (cd_foreign_flat){.text = text};
}
CD_INLINE cd_url_part cd_url_part_of(cd_bytes text)
{
    return (cd_url_part){.text = text};
}
cd_markup cd_markup_of(const cd_html *h);

/* cd_url_part_enc appends text percent-encoded, for addresses that are built outside of a template. */
void cd_url_part_enc(cd_buf *out, cd_bytes text);

/* --- below: what the macro is made of --- */

/* How a value that fills a hole is escaped. */
typedef enum cd__html_hole_kind {
    CD__HOLE_END,
    CD__HOLE_TEXT,
    CD__HOLE_NUM,
    CD__HOLE_FOREIGN,
    CD__HOLE_FOREIGN_FLAT,
    CD__HOLE_URL,
    CD__HOLE_MARKUP,
} cd__html_hole_kind;

/* One value to be put into a template. */
typedef struct cd__html_hole {
    cd__html_hole_kind kind;
    cd_bytes text;
    u64 num;
} cd__html_hole;

/* cd__html_put writes a template with cnt holes behind the first element of holes. */
void cd__html_put(cd_html *h, cd_bytes literal, const cd__html_hole *holes, usize cnt);

/* These wrap a value for its hole, one function for each type. */
CD_INLINE cd__html_hole cd__hole_str(const char *s)
{
    return (cd__html_hole){.kind = CD__HOLE_TEXT, .text = cd_bytes_str(s)};
}
CD_INLINE cd__html_hole cd__hole_bytes(cd_bytes b)
{
    return (cd__html_hole){.kind = CD__HOLE_TEXT, .text = b};
}
CD_INLINE cd__html_hole cd__hole_num(u64 v)
{
    return (cd__html_hole){.kind = CD__HOLE_NUM, .num = v};
}
CD_INLINE cd__html_hole cd__hole_foreign(cd_foreign f)
{
    return (cd__html_hole){.kind = CD__HOLE_FOREIGN, .text = f.text};
}
CD_INLINE cd__html_hole cd__hole_foreign_flat(cd_foreign_flat f)
{
    return (cd__html_hole){.kind = CD__HOLE_FOREIGN_FLAT, .text = f.text};
}
CD_INLINE cd__html_hole cd__hole_url(cd_url_part u)
{
    return (cd__html_hole){.kind = CD__HOLE_URL, .text = u.text};
}
CD_INLINE cd__html_hole cd__hole_markup(cd_markup m)
{
    return (cd__html_hole){.kind = CD__HOLE_MARKUP, .text = m.html};
}

// clang-format off
#define CD__HOLE(x)                                                                                \
    , _Generic((x), char *: cd__hole_str, const char *: cd__hole_str, cd_bytes: cd__hole_bytes,    \
               u8: cd__hole_num, u16: cd__hole_num, u32: cd__hole_num, u64: cd__hole_num,          \
               cd_foreign: cd__hole_foreign, cd_foreign_flat: cd__hole_foreign_flat,               \
               cd_url_part: cd__hole_url, cd_markup: cd__hole_markup)(x)
#define CD__HOLES_0()
#define CD__HOLES_1(a) CD__HOLE(a)
#define CD__HOLES_2(a, ...) CD__HOLE(a) CD__HOLES_1(__VA_ARGS__)
#define CD__HOLES_3(a, ...) CD__HOLE(a) CD__HOLES_2(__VA_ARGS__)
#define CD__HOLES_4(a, ...) CD__HOLE(a) CD__HOLES_3(__VA_ARGS__)
#define CD__HOLES_5(a, ...) CD__HOLE(a) CD__HOLES_4(__VA_ARGS__)
#define CD__HOLES_6(a, ...) CD__HOLE(a) CD__HOLES_5(__VA_ARGS__)
#define CD__HOLES_7(a, ...) CD__HOLE(a) CD__HOLES_6(__VA_ARGS__)
#define CD__HOLES_8(a, ...) CD__HOLE(a) CD__HOLES_7(__VA_ARGS__)
#define CD__HOLES_9(a, ...) CD__HOLE(a) CD__HOLES_8(__VA_ARGS__)
#define CD__HOLES_10(a, ...) CD__HOLE(a) CD__HOLES_9(__VA_ARGS__)
#define CD__HOLES_11(a, ...) CD__HOLE(a) CD__HOLES_10(__VA_ARGS__)
#define CD__HOLES_12(a, ...) CD__HOLE(a) CD__HOLES_11(__VA_ARGS__)
#define CD__HOLES_PICK(z, a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define CD__HOLES_CNT(...) \
    CD__HOLES_PICK(0, ##__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CD__HOLES_JOIN(a, b) a##b
#define CD__HOLES_NAME(n) CD__HOLES_JOIN(CD__HOLES_, n)
#define CD__HOLES(...) CD__HOLES_NAME(CD__HOLES_CNT(__VA_ARGS__))(__VA_ARGS__)
// clang-format on

#endif
