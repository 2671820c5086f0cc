#include "codec/base58.h"

#include "codec/checksum_priv.h"

#include <string.h>

static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/* --- writing --- */

/* Digits are worked on by fives, bytes by fours: a product of both fits into 64 bits. */
enum { GROUP_DIGITS = 5, GROUP = 58 * 58 * 58 * 58 * 58 };

/* Computes groups = groups * 2^bits + v; the least significant group is the first. */
static usize push(u32 *groups, usize cnt, u32 v, u32 bits)
{
    u64 carry = v;
    for (usize j = 0; j < cnt; j++) {
        carry += (u64)groups[j] << bits;
        groups[j] = (u32)(carry % GROUP);
        carry /= GROUP;
    }
    for (; carry != 0; carry /= GROUP) {
        groups[cnt++] = (u32)(carry % GROUP);
    }
    return cnt;
}

void cd_base58_put(cd_buf *out, cd_bytes b)
{
    u32 groups[CD_BASE58_TEXT_MAX / GROUP_DIGITS + 2];
    u8 digits[sizeof groups / sizeof groups[0] * GROUP_DIGITS]; /* least significant first */
    usize cnt = 0;
    usize zeros = 0;
    CD_ASSERT(b.n <= CD_BASE58_BYTES_MAX);
    while (zeros < b.n && b.p[zeros] == 0) {
        zeros++;
    }
    usize at = zeros;
    for (; at < b.n && (b.n - at) % 4 != 0; at++) {
        cnt = push(groups, cnt, b.p[at], 8);
    }
    for (; at < b.n; at += 4) {
        cnt = push(groups, cnt, cd_be32(b.p + at), 32);
    }
    usize n = cnt * GROUP_DIGITS;
    for (usize i = 0; i < n; i++) {
        u32 *g = &groups[i / GROUP_DIGITS];
        digits[i] = (u8)(*g % 58);
        *g /= 58;
    }
    while (n > 0 && digits[n - 1] == 0) {
        n--;
    }
    cd_buf_fill(out, '1', zeros);
    u8 *text = cd_buf_extend(out, n);
    while (n > 0) {
        *text++ = (u8)alphabet[digits[--n]];
    }
}

void cd_cb58_put(cd_buf *out, cd_bytes b)
{
    u8 all[CD_BASE58_BYTES_MAX];
    CD_ASSERT(b.n <= CD_CB58_BYTES_MAX);
    if (b.n != 0) {
        memcpy(all, b.p, b.n);
    }
    cd__checksum_of(all + b.n, b);
    cd_base58_put(out, cd_bytes_of(all, b.n + CD__CHECKSUM_LEN));
}

/* --- reading --- */

static cd_err refuse_digit(u8 c, cd_errinfo *why)
{
    if (c > 0x7f) {
        return cd_fail(why, CD_EFORMAT, "base58 decoding error: High-bit set on invalid digit");
    }
    if (c < 0x20 || c == 0x7f) {
        return cd_fail(why, CD_EFORMAT, "base58 decoding error: Invalid base58 digit ('\\x%02x')", c);
    }
    return cd_fail(why, CD_EFORMAT, "base58 decoding error: Invalid base58 digit ('%s%c')",
                   c == '\'' || c == '\\' ? "\\" : "", c);
}

/* Computes value = value * 58 + digit; the bytes of value are least significant first. */
static cd_err shift_in(u8 *value, usize *cnt, usize room, u32 digit, cd_errinfo *why)
{
    u32 carry = digit;
    for (usize i = 0; i < *cnt; i++) {
        carry += (u32)value[i] * 58;
        value[i] = (u8)carry;
        carry >>= 8;
    }
    if (carry == 0) {
        return CD_OK;
    }
    if (*cnt == room) {
        return cd_fail(why, CD_ELIMIT, "base58 decoding error: more than %d bytes", CD_BASE58_BYTES_MAX);
    }
    value[(*cnt)++] = (u8)carry; /* the carry is below 58, so it is one byte */
    return CD_OK;
}

cd_err cd_base58_parse(u8 out[CD_BASE58_BYTES_MAX], usize *n, cd_bytes text, cd_errinfo *why)
{
    u8 value[CD_BASE58_BYTES_MAX];
    usize cnt = 0;
    usize zeros = 0;
    if (text.n == 0) {
        return cd_fail(why, CD_EFORMAT, "base58 decoding error: zero length string");
    }
    if (text.n > CD_BASE58_TEXT_MAX) {
        return cd_fail(why, CD_ELIMIT, "base58 decoding error: more than %d characters", CD_BASE58_TEXT_MAX);
    }
    while (zeros < text.n && text.p[zeros] == '1') {
        zeros++;
    }
    if (zeros > CD_BASE58_BYTES_MAX) {
        return cd_fail(why, CD_ELIMIT, "base58 decoding error: more than %d bytes", CD_BASE58_BYTES_MAX);
    }
    for (usize i = zeros; i < text.n; i++) {
        const char *at = text.p[i] == '\0' ? NULL : strchr(alphabet, text.p[i]);
        if (at == NULL) {
            return refuse_digit(text.p[i], why);
        }
        CD_TRY(shift_in(value, &cnt, CD_BASE58_BYTES_MAX - zeros, (u32)(at - alphabet), why));
    }
    memset(out, 0, zeros);
    for (usize i = 0; i < cnt; i++) {
        out[zeros + i] = value[cnt - 1 - i];
    }
    *n = zeros + cnt;
    return CD_OK;
}

cd_err cd_cb58_parse(u8 out[CD_BASE58_BYTES_MAX], usize *n, cd_bytes text, cd_errinfo *why)
{
    u8 sum[CD__CHECKSUM_LEN];
    usize all;
    CD_TRY(cd_base58_parse(out, &all, text, why));
    if (all < CD__CHECKSUM_LEN) {
        return cd_fail(why, CD_ESHORT, "input string is smaller than the checksum size");
    }
    cd__checksum_of(sum, cd_bytes_of(out, all - CD__CHECKSUM_LEN));
    if (memcmp(sum, out + all - CD__CHECKSUM_LEN, CD__CHECKSUM_LEN) != 0) {
        return cd_fail(why, CD_EFORMAT, "invalid input checksum");
    }
    *n = all - CD__CHECKSUM_LEN;
    return CD_OK;
}

cd_err cd_cb58_parse_fixed(void *out, usize n, cd_bytes text, cd_errinfo *why)
{
    u8 b[CD_BASE58_BYTES_MAX];
    usize got;
    CD_TRY(cd_cb58_parse(b, &got, text, why));
    if (got != n) {
        return cd_fail(why, CD_ERANGE, "invalid hash length: expected %zu bytes but got %zu", n, got);
    }
    memcpy(out, b, n);
    return CD_OK;
}
