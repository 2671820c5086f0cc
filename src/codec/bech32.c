#include "codec/bech32.h"
#include "base/text.h"

#include <string.h>

enum { CHECKSUM = 6, TEXT_MIN = 8, CONST_BECH32 = 1, CONST_BECH32M = 0x2bc830a3 };

static const char charset[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/* Gives the checksum's remainder after one more group of five bits. */
static u32 step(u32 rest, u8 group)
{
    static const u32 generator[5] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    u32 top = rest >> 25;
    rest = ((rest & 0x1ffffff) << 5) ^ group;
    for (u32 i = 0; i < 5; i++) {
        rest ^= (top >> i & 1) != 0 ? generator[i] : 0;
    }
    return rest;
}

/* Gives the remainder of a prefix and groups. */
static u32 remainder_of(cd_bytes prefix, const u8 *groups, usize cnt)
{
    u32 rest = 1;
    for (usize i = 0; i < prefix.n; i++) {
        rest = step(rest, prefix.p[i] >> 5);
    }
    rest = step(rest, 0);
    for (usize i = 0; i < prefix.n; i++) {
        rest = step(rest, prefix.p[i] & 31);
    }
    for (usize i = 0; i < cnt; i++) {
        rest = step(rest, groups[i]);
    }
    return rest;
}

static void checksum_of(char out[CHECKSUM], cd_bytes prefix, const u8 *groups, usize cnt, u32 constant)
{
    u32 rest = remainder_of(prefix, groups, cnt);
    for (usize i = 0; i < CHECKSUM; i++) {
        rest = step(rest, 0);
    }
    rest ^= constant;
    for (u32 i = 0; i < CHECKSUM; i++) {
        out[i] = charset[rest >> (5 * (CHECKSUM - 1 - i)) & 31];
    }
}

void cd_bech32_put(cd_buf *out, const char *prefix, cd_bytes b)
{
    u8 groups[CD_BECH32_TEXT_MAX] = {0};
    char sum[CHECKSUM];
    usize cnt = 0;
    u32 bits = 0;
    u32 have = 0;
    usize prefix_n = strlen(prefix);
    CD_ASSERT(prefix_n != 0 && prefix_n + 1 + (b.n * 8 + 4) / 5 + CHECKSUM <= CD_BECH32_TEXT_MAX);
    for (usize i = 0; i < b.n; i++) {
        bits = bits << 8 | b.p[i];
        for (have += 8; have >= 5; have -= 5) {
            groups[cnt++] = (u8)(bits >> (have - 5) & 31);
        }
    }
    if (have != 0) {
        groups[cnt++] = (u8)(bits << (5 - have) & 31);
    }
    cd_buf_str(out, prefix);
    cd_buf_u8(out, '1');
    for (usize i = 0; i < cnt; i++) {
        cd_buf_u8(out, (u8)charset[groups[i]]);
    }
    checksum_of(sum, cd_bytes_str(prefix), groups, cnt, CONST_BECH32);
    cd_buf_put(out, cd_bytes_of(sum, CHECKSUM));
}

/* Copies text in lower case. */
static cd_err lower_of(char out[CD_BECH32_TEXT_MAX], cd_bytes text, cd_errinfo *why)
{
    bool has_lower = false;
    bool has_upper = false;
    if (text.n < TEXT_MIN || text.n > CD_BECH32_TEXT_MAX) {
        return cd_fail(why, CD_EFORMAT, "invalid bech32 string length %zu", text.n);
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        if (c < 33 || c > 126) {
            return cd_fail(why, CD_EFORMAT, "invalid character in string: '%c'", c);
        }
        bool is_upper = c >= 'A' && c <= 'Z';
        has_upper = has_upper || is_upper;
        has_lower = has_lower || (c >= 'a' && c <= 'z');
        out[i] = (char)cd_text_lower(c);
    }
    return has_lower && has_upper ? cd_fail(why, CD_EFORMAT, "string not all lowercase or all uppercase") : CD_OK;
}

/* Joins groups of five bits to bytes. Bits left over at the end must be zero, and fewer than five. */
static cd_err join(cd_bech32 *out, const u8 *groups, usize cnt, cd_errinfo *why)
{
    u32 bits = 0;
    u32 have = 0;
    out->n = 0;
    for (usize i = 0; i < cnt; i++) {
        bits = bits << 5 | groups[i];
        have += 5;
        if (have >= 8) {
            have -= 8;
            CD_ASSERT(out->n < CD_BECH32_BYTES_MAX);
            out->b[out->n++] = (u8)(bits >> have);
        }
    }
    if (have >= 5 || (bits & ((1u << have) - 1)) != 0) {
        return cd_fail(why, CD_EFORMAT, "invalid incomplete group");
    }
    return CD_OK;
}

cd_err cd_bech32_parse(cd_bech32 *out, cd_bytes text, cd_errinfo *why)
{
    char lower[CD_BECH32_TEXT_MAX];
    u8 groups[CD_BECH32_TEXT_MAX] = {0};
    char want[CHECKSUM] = {0};
    char want_m[CHECKSUM] = {0};
    CD_TRY(lower_of(lower, text, why));
    usize at = text.n;
    while (at > 0 && lower[at - 1] != '1') {
        at--;
    }
    if (at < 2 || at + CHECKSUM > text.n) {
        return cd_fail(why, CD_EFORMAT, "invalid separator index %d", (int)at - 1);
    }
    at--;
    usize cnt = text.n - at - 1;
    for (usize i = 0; i < cnt; i++) {
        const char *c = strchr(charset, lower[at + 1 + i]);
        if (c == NULL) {
            return cd_fail(why, CD_EFORMAT, "invalid character not part of charset: %d", lower[at + 1 + i]);
        }
        groups[i] = (u8)(c - charset);
    }
    cnt -= CHECKSUM;
    const char *got = lower + at + 1 + cnt;
    cd_bytes prefix = cd_bytes_of(lower, at);
    checksum_of(want, prefix, groups, cnt, CONST_BECH32);
    if (memcmp(want, got, CHECKSUM) != 0) {
        checksum_of(want_m, prefix, groups, cnt, CONST_BECH32M);
        /* The original's text repeats the first checksum in front of the second one. */
        return cd_fail(why, CD_EFORMAT, "invalid checksum (expected (bech32=%.6s, bech32m=%.6s%.6s), got %.6s)", want,
                       want, want_m, got);
    }
    cd_bech32 read = {0};
    CD_TRY(join(&read, groups, cnt, why));
    memcpy(read.prefix, lower, at);
    *out = read;
    return CD_OK;
}
