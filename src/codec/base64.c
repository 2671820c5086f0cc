#include "codec/base64.h"

static void enc(cd_buf *out, cd_bytes bytes, const char *digits, bool is_padded)
{
    for (usize i = 0; i < bytes.n; i += 3) {
        usize n = cd_min_u64(3, bytes.n - i);
        u32 v = 0;
        char text[4] = {'=', '=', '=', '='};
        for (usize k = 0; k < 3; k++) {
            v = v << 8 | (k < n ? bytes.p[i + k] : 0u);
        }
        for (usize k = 0; k <= n; k++) {
            text[k] = digits[v >> (18 - 6 * k) & 63];
        }
        cd_buf_put(out, cd_bytes_of(text, is_padded ? sizeof text : n + 1));
    }
}

void cd_base64_enc(cd_buf *out, cd_bytes bytes)
{
    enc(out, bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true);
}

void cd_base64url_enc(cd_buf *out, cd_bytes bytes)
{
    enc(out, bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false);
}

/* Gives the six bits of a character; 64 for one that is not of the alphabet. */
static u32 bits_of(u8 c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26u;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52u;
    }
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

cd_err cd_base64_dec(cd_buf *out, cd_bytes text)
{
    usize start = out->n;
    u32 acc = 0;
    usize chars = 0;
    usize pads = 0;
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        u32 v = bits_of(c);
        if (c == '\n' || c == '\r') {
            continue;
        }
        if (c == '=' && chars % 4 >= 2) {
            v = 0;
            pads++;
        } else if (v == 64 || pads != 0) {
            out->n = start;
            return CD_EFORMAT;
        }
        acc = acc << 6 | v;
        if (++chars % 4 == 0) {
            u8 bytes[3] = {(u8)(acc >> 16), (u8)(acc >> 8), (u8)acc};
            cd_buf_put(out, cd_bytes_of(bytes, 3 - pads));
            acc = 0;
        }
    }
    /* Bits behind the last byte must be zero, so that each value has only one text. */
    bool is_whole = chars % 4 == 0 && pads <= 2;
    u8 last = 0;
    usize seen = 0;
    for (usize i = text.n; pads != 0 && i-- != 0 && seen == 0;) {
        if (bits_of(text.p[i]) < 64) {
            last = text.p[i];
            seen = 1;
        }
    }
    if (!is_whole || (pads != 0 && (bits_of(last) & (pads == 1 ? 3u : 15u)) != 0)) {
        out->n = start;
        return CD_EFORMAT;
    }
    return CD_OK;
}

cd_err cd_base64url_dec(cd_buf *out, cd_bytes text)
{
    cd_buf standard = {0};
    cd_err err = CD_OK;
    u8 *p = cd_buf_extend(&standard, text.n);
    for (usize i = 0; i < text.n && err == CD_OK; i++) {
        u8 c = text.p[i];
        p[i] = c == '-' ? '+' : c == '_' ? '/' : c;
        if (c == '+' || c == '/' || c == '=' || c == '\n' || c == '\r') {
            err = CD_EFORMAT;
        }
    }
    if (err == CD_OK) {
        cd_buf_fill(&standard, '=', (4 - text.n % 4) % 4);
        err = cd_base64_dec(out, cd_buf_bytes(&standard));
    }
    cd_buf_fini(&standard);
    return err;
}
