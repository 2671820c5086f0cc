#include "base/hex.h"
#include "base/num_text.h"
#include "codec/json.h"
#include "num/u256_text.h"

/* Writes the comma if one is due, and gives room for n bytes of the next value or key; end() is told how far it was
 * used. */
static u8 *begin(cd_json_w *w, usize n)
{
    cd_buf *b = w->out;
    u8 *p = b->p != NULL && b->cap - b->n > n ? b->p + b->n : cd_buf_reserve(b, n + 1);
    if (w->comma) {
        *p++ = ',';
    }
    w->comma = true;
    return p;
}

static void end(cd_json_w *w, const u8 *p)
{
    w->out->n = (usize)(p - w->out->p);
}

static void value(cd_json_w *w)
{
    end(w, begin(w, 0));
}

static void open_with(cd_json_w *w, u8 bracket)
{
    u8 *p = begin(w, 1);
    *p++ = bracket;
    end(w, p);
    w->comma = false;
}

static void close_with(cd_json_w *w, u8 bracket)
{
    w->comma = false;
    u8 *p = begin(w, 1);
    *p++ = bracket;
    end(w, p);
}

void cd_json_w_obj(cd_json_w *w)
{
    open_with(w, '{');
}
void cd_json_w_obj_end(cd_json_w *w)
{
    close_with(w, '}');
}
void cd_json_w_arr(cd_json_w *w)
{
    open_with(w, '[');
}
void cd_json_w_arr_end(cd_json_w *w)
{
    close_with(w, ']');
}

/* Gives the length of the well-formed UTF-8 sequence at p, 0 when there is none (RFC 3629). */
static usize utf8_len(const u8 *p, usize left)
{
    u8 c = p[0];
    if (c < 0x80) {
        return 1;
    }
    usize n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || left < n) {
        return 0;
    }
    /* The bounds of the second byte exclude overlong forms, surrogates and what lies beyond U+10FFFF. */
    u8 lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    u8 hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < lo || p[1] > hi) {
        return 0;
    }
    for (usize i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

/* Says whether a byte stands in a string as it is. */
static bool is_plain(u8 c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Gives bit 7 of each byte of w that is zero; above a zero byte, bits of other bytes may be set as well. */
static u64 zero_bytes(u64 w)
{
    return (w - 0x0101010101010101ull) & ~w & 0x8080808080808080ull;
}

/* Counts the plain bytes before the first that is not, of eight. */
static usize plain_of_8(const u8 *p)
{
    const u64 ones = 0x0101010101010101ull;
    u64 w = cd_le64(p);
    u64 odd = (w & (ones << 7)) | ((w - ones * 0x20) & ~w & (ones << 7)) | zero_bytes(w ^ (ones * '"')) |
              zero_bytes(w ^ (ones * '\\'));
    return odd == 0 ? 8 : (usize)__builtin_ctzll(odd) / 8;
}

/* Writes plain bytes, quotes and backslashes up to the first other byte, and says how many of n those are: most of what
 * there is, markup in strings included. */
static usize put_common(cd_buf *out, const u8 *s, usize n)
{
    u8 *start = cd_buf_reserve(out, 2 * n);
    u8 *p = start;
    usize i = 0;
    for (bool is_common = true; i < n && is_common;) {
        if (n - i >= 8) {
            memcpy(p, s + i, 8); /* there is room for twice as many */
            usize plain = plain_of_8(s + i);
            i += plain;
            p += plain;
            if (plain == 8) {
                continue;
            }
        }
        u8 c = s[i];
        bool is_escaped = c == '"' || c == '\\';
        is_common = is_escaped || is_plain(c);
        if (is_escaped) {
            *p++ = '\\';
        }
        if (is_common) {
            *p++ = c;
            i++;
        }
    }
    out->n += (usize)(p - start);
    return i;
}

static void put_escaped(cd_buf *out, u8 c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (usize i = 0; i + 1 < sizeof short_forms; i += 2) {
        if ((u8)short_forms[i] == c) {
            cd_buf_u8(out, '\\');
            cd_buf_u8(out, (u8)short_forms[i + 1]);
            return;
        }
    }
    cd_buf_fmt(out, "\\u%04x", c);
}

static void put_string(cd_buf *out, cd_bytes s)
{
    enum { CHUNK = 4096 };
    cd_buf_u8(out, '"');
    for (usize i = 0; i < s.n;) {
        i += put_common(out, s.p + i, s.n - i < CHUNK ? s.n - i : CHUNK);
        usize n = i == s.n ? 0 : utf8_len(s.p + i, s.n - i);
        if (n > 1) {
            cd_buf_put(out, cd_bytes_of(s.p + i, n));
            i += n;
        } else if (n == 1 && !is_plain(s.p[i])) {
            put_escaped(out, s.p[i++]);
        } else if (n == 0 && i != s.n) {
            cd_buf_str(out, "\xef\xbf\xbd");
            i++;
        }
    }
    cd_buf_u8(out, '"');
}

void cd_json_w_key_str(cd_json_w *w, cd_bytes key)
{
    value(w);
    put_string(w->out, key);
    cd_buf_u8(w->out, ':');
    w->comma = false;
}

void cd_json_w_key(cd_json_w *w, const char *key)
{
    cd_bytes name = cd_bytes_str(key);
    u8 *p = begin(w, name.n + 3);
    *p++ = '"';
    memcpy(p, name.p, name.n);
    p += name.n;
    *p++ = '"';
    *p++ = ':';
    end(w, p);
    w->comma = false;
}

void cd_json_w_raw(cd_json_w *w, cd_bytes json)
{
    value(w);
    cd_buf_put(w->out, json);
}

void cd_json_w_null(cd_json_w *w)
{
    cd_json_w_raw(w, cd_bytes_str("null"));
}
void cd_json_w_bool(cd_json_w *w, bool v)
{
    cd_json_w_raw(w, cd_bytes_str(v ? "true" : "false"));
}

void cd_json_w_u64(cd_json_w *w, u64 v)
{
    char text[CD_U64_TEXT_MAX];
    usize n = cd_u64_fmt(text, v);
    value(w);
    cd_buf_put(w->out, cd_bytes_of(text, n));
}

void cd_json_w_i64(cd_json_w *w, i64 v)
{
    char text[CD_U64_TEXT_MAX];
    usize n = cd_i64_fmt(text, v);
    value(w);
    cd_buf_put(w->out, cd_bytes_of(text, n));
}

void cd_json_w_f64(cd_json_w *w, double v)
{
    u8 *p = begin(w, CD_F64_TEXT_MAX);
    end(w, p + cd_f64_fmt((char *)p, v));
}

void cd_json_w_str(cd_json_w *w, cd_bytes s)
{
    value(w);
    put_string(w->out, s);
}

void cd_json_w_cstr(cd_json_w *w, const char *s)
{
    cd_json_w_str(w, cd_bytes_str(s));
}

void cd_json_w_hex(cd_json_w *w, cd_bytes b)
{
    u8 *p = begin(w, 2 * b.n + 4);
    *p++ = '"';
    *p++ = '0';
    *p++ = 'x';
    cd_hex_fmt((char *)p, b);
    p += 2 * b.n;
    *p++ = '"';
    end(w, p);
}

void cd_json_w_qty_u256(cd_json_w *w, const cd_u256 *v)
{
    u8 *p = begin(w, CD_U256_TEXT_MAX + 2);
    *p++ = '"';
    p += cd_u256_fmt_hex((char *)p, v);
    *p++ = '"';
    end(w, p);
}

void cd_json_w_qty(cd_json_w *w, u64 v)
{
    u8 *p = begin(w, CD_U64_TEXT_MAX + 2);
    *p++ = '"';
    p += cd_u64_fmt_hex((char *)p, v);
    *p++ = '"';
    end(w, p);
}

/* --- members --- */

void cd_json_put_null(cd_json_w *w, const char *key)
{
    cd_json_w_key(w, key);
    cd_json_w_null(w);
}

void cd_json_put_bool(cd_json_w *w, const char *key, bool v)
{
    cd_json_w_key(w, key);
    cd_json_w_bool(w, v);
}

void cd_json_put_u64(cd_json_w *w, const char *key, u64 v)
{
    cd_json_w_key(w, key);
    cd_json_w_u64(w, v);
}

void cd_json_put_str(cd_json_w *w, const char *key, cd_bytes s)
{
    cd_json_w_key(w, key);
    cd_json_w_str(w, s);
}

void cd_json_put_cstr(cd_json_w *w, const char *key, const char *s)
{
    cd_json_w_key(w, key);
    cd_json_w_cstr(w, s);
}

void cd_json_put_hex(cd_json_w *w, const char *key, cd_bytes b)
{
    cd_json_w_key(w, key);
    cd_json_w_hex(w, b);
}

void cd_json_put_hash(cd_json_w *w, const char *key, const cd_hash32 *hash)
{
    cd_json_w_key(w, key);
    cd_json_w_hex(w, cd_bytes_of(hash->b, sizeof hash->b));
}

void cd_json_put_qty(cd_json_w *w, const char *key, u64 v)
{
    cd_json_w_key(w, key);
    cd_json_w_qty(w, v);
}

void cd_json_put_qty_u256(cd_json_w *w, const char *key, const cd_u256 *v)
{
    cd_json_w_key(w, key);
    cd_json_w_qty_u256(w, v);
}

void cd_json_put_raw(cd_json_w *w, const char *key, cd_bytes json)
{
    cd_json_w_key(w, key);
    cd_json_w_raw(w, json);
}
