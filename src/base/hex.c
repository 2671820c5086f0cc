#include "base/hex.h"

#include <immintrin.h>

static const char digits[] = "0123456789abcdef";

/* Gives the value of a hexadecimal digit, or 0xff for another character. */
static u8 digit_value(u8 c)
{
    if (c >= '0' && c <= '9') {
        return (u8)(c - '0');
    }
    u8 low = (u8)(c | 0x20);
    return low >= 'a' && low <= 'f' ? (u8)(low - 'a' + 10) : 0xff;
}

/* Writes sixteen bytes as 32 digits: looks up the digits of high and low nibbles, then interleaves them. */
static void fmt16(char *out, const u8 *p)
{
    __m128i table = _mm_loadu_si128((const __m128i *)(const void *)digits);
    __m128i mask = _mm_set1_epi8(15);
    __m128i in = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i hi = _mm_shuffle_epi8(table, _mm_and_si128(_mm_srli_epi16(in, 4), mask));
    __m128i lo = _mm_shuffle_epi8(table, _mm_and_si128(in, mask));
    _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi8(hi, lo));
    _mm_storeu_si128((__m128i *)(void *)(out + 16), _mm_unpackhi_epi8(hi, lo));
}

void cd_hex_fmt(char *out, cd_bytes b)
{
    if (b.n >= 16) {
        for (usize i = 0; i < b.n - 16; i += 16) {
            fmt16(out + 2 * i, b.p + i);
        }
        fmt16(out + 2 * (b.n - 16), b.p + b.n - 16); /* overlaps the block before when n % 16 != 0 */
        return;
    }
    for (usize i = 0; i < b.n; i++) {
        out[2 * i] = digits[b.p[i] >> 4];
        out[2 * i + 1] = digits[b.p[i] & 15];
    }
}

cd_err cd_hex_parse(u8 *out, cd_bytes text)
{
    if (text.n % 2 != 0) {
        return CD_EFORMAT;
    }
    for (usize i = 0; i < text.n; i += 2) {
        u8 hi = digit_value(text.p[i]);
        u8 lo = digit_value(text.p[i + 1]);
        if ((hi | lo) == 0xff) {
            return CD_EFORMAT;
        }
        out[i / 2] = (u8)(hi << 4 | lo);
    }
    return CD_OK;
}

cd_err cd_hex_parse_prefixed(cd_bytes *out, cd_arena *a, cd_bytes text)
{
    if (text.n >= 2 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x') {
        text = cd_bytes_sub(text, 2, text.n - 2);
    }
    u8 *p = cd_arena_alloc(a, text.n / 2);
    CD_TRY(cd_hex_parse(p, text));
    *out = cd_bytes_of(p, text.n / 2);
    return CD_OK;
}

void cd_hex_put(cd_buf *out, cd_bytes b)
{
    cd_buf_str(out, "0x");
    cd_hex_fmt((char *)cd_buf_extend(out, b.n * 2), b);
}
