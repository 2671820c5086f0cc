#include "num/u256_text.h"

#include "base/hex.h"
#include "num/div.h"

/* The largest power of ten that 64 bits hold, and its zeros: text is converted in pieces of so many digits. */
#define DEC_CHUNK        UINT64_C(10000000000000000000)
#define DEC_CHUNK_DIGITS 19

cd_err cd_u256_parse_dec(cd_u256 *out, cd_bytes text)
{
    if (text.n == 0) {
        return CD_EFORMAT;
    }
    cd_u256 v = cd_u256_zero();
    for (usize i = 0; i < text.n;) {
        u64 chunk = 0;
        u64 scale = 1;
        for (; i < text.n && scale < DEC_CHUNK; i++) {
            u32 digit = (u32)text.p[i] - '0';
            if (digit > 9) {
                return CD_EFORMAT;
            }
            chunk = chunk * 10 + digit;
            scale *= 10;
        }
        if (cd_u256_mul_u64(&v, &v, scale) != 0 || cd_u256_add_u64(&v, &v, chunk)) {
            return CD_ERANGE;
        }
    }
    cd_u256_set(out, &v);
    return CD_OK;
}

static u32 hex_digit(u8 c)
{
    if (c >= '0' && c <= '9') {
        return (u32)(c - '0');
    }
    u8 lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? (u32)(lower - 'a') + 10 : 16;
}

cd_err cd_u256_parse_hex(cd_u256 *out, cd_bytes text)
{
    if (text.n == 0) {
        return CD_EFORMAT;
    }
    cd_u256 v = cd_u256_zero();
    bool overflow = false;
    for (usize i = 0; i < text.n; i++) {
        u32 digit = hex_digit(text.p[i]);
        if (digit > 15) {
            return CD_EFORMAT;
        }
        overflow |= v.w[3] >> 60 != 0;
        cd_u256_shl(&v, &v, 4);
        v.w[0] |= digit;
    }
    if (overflow) {
        return CD_ERANGE;
    }
    cd_u256_set(out, &v);
    return CD_OK;
}

cd_err cd_u256_parse(cd_u256 *out, cd_bytes text)
{
    if (text.n >= 2 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x') {
        return cd_u256_parse_hex(out, cd_bytes_sub(text, 2, text.n - 2));
    }
    return cd_u256_parse_dec(out, text);
}

usize cd_u256_fmt_dec(char out[CD_U256_TEXT_MAX], const cd_u256 *a)
{
    char text[5 * DEC_CHUNK_DIGITS];
    usize at = sizeof text;
    cd_u256 v;
    cd_u256_set(&v, a);
    bool more = true;
    while (more) {
        u64 chunk = cd_u256_div_u64(&v, &v, DEC_CHUNK);
        more = !cd_u256_is_zero(&v);
        for (int i = 0; i < DEC_CHUNK_DIGITS && (more || chunk != 0 || i == 0); i++) {
            text[--at] = (char)('0' + chunk % 10);
            chunk /= 10;
        }
    }
    usize n = sizeof text - at;
    memcpy(out, text + at, n);
    out[n] = 0;
    return n;
}

static usize fmt_hex_digits(char *out, const cd_u256 *a, usize digits)
{
    cd_hash32 bytes = cd_u256_to_hash(a);
    char all[2 * sizeof bytes.b];
    cd_hex_fmt(all, cd_bytes_of(bytes.b, sizeof bytes.b));
    out[0] = '0';
    out[1] = 'x';
    memcpy(out + 2, all + sizeof all - digits, digits);
    out[2 + digits] = 0;
    return 2 + digits;
}

usize cd_u256_fmt_hex(char out[CD_U256_TEXT_MAX], const cd_u256 *a)
{
    usize digits = (cd_u256_bits(a) + 3) / 4;
    return fmt_hex_digits(out, a, digits == 0 ? 1 : digits);
}

usize cd_u256_fmt_hex64(char out[CD_U256_TEXT_MAX], const cd_u256 *a)
{
    return fmt_hex_digits(out, a, 64);
}
