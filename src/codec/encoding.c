#include "codec/encoding.h"

#include "base/hex.h"
#include "base/text.h"
#include "codec/checksum_priv.h"

#include <string.h>

static const char *const names[] = {
    [CD_ENCODING_HEX] = "hex",
    [CD_ENCODING_HEXC] = "hexc",
    [CD_ENCODING_HEXNC] = "hexnc",
    [CD_ENCODING_JSON] = "json",
};

cd_err cd_encoding_parse(cd_encoding *out, cd_bytes name, cd_errinfo *why)
{
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_text_same(name, cd_bytes_str(names[i]))) {
            *out = (cd_encoding)i;
            return CD_OK;
        }
    }
    return cd_fail(why, CD_EFORMAT, "invalid encoding");
}

const char *cd_encoding_name(cd_encoding e)
{
    return names[e];
}

void cd_encoding_put(cd_buf *out, cd_encoding e, cd_bytes b)
{
    CD_ASSERT(e != CD_ENCODING_JSON);
    cd_hex_put(out, b);
    if (e != CD_ENCODING_HEXNC) {
        u8 sum[CD__CHECKSUM_LEN];
        cd__checksum_of(sum, b);
        cd_hex_fmt((char *)cd_buf_extend(out, sizeof sum * 2), cd_bytes_of(sum, sizeof sum));
    }
}

/* Refuses text that is not hexadecimal, with the words of Go's reader. */
static cd_err refuse_hex(cd_bytes digits, cd_errinfo *why)
{
    for (usize i = 0; i < digits.n; i++) {
        u8 c = digits.p[i];
        bool is_digit = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
        if (!is_digit && c > 0x20 && c < 0x7f) {
            return cd_fail(why, CD_EFORMAT, "encoding/hex: invalid byte: U+%04X '%c'", c, c);
        }
        if (!is_digit) {
            return cd_fail(why, CD_EFORMAT, "encoding/hex: invalid byte: U+%04X", c);
        }
    }
    return cd_fail(why, CD_EFORMAT, "encoding/hex: odd length hex string");
}

cd_err cd_encoding_dec(cd_bytes *out, cd_arena *a, cd_encoding e, cd_bytes text, cd_errinfo *why)
{
    if (e == CD_ENCODING_JSON) {
        return cd_fail(why, CD_EUNSUPPORTED, "unsupported encoding in method");
    }
    if (text.n == 0) {
        *out = (cd_bytes){0};
        return CD_OK;
    }
    if (text.n < 2 || text.p[0] != '0' || text.p[1] != 'x') {
        return cd_fail(why, CD_EFORMAT, "missing 0x prefix to hex encoding");
    }
    cd_bytes digits = cd_bytes_sub(text, 2, text.n - 2);
    u8 *b = cd_arena_alloc(a, digits.n / 2 + 1);
    if (cd_hex_parse(b, digits) != CD_OK) {
        return refuse_hex(digits, why);
    }
    cd_bytes read = cd_bytes_of(b, digits.n / 2);
    if (e != CD_ENCODING_HEXNC) {
        u8 sum[CD__CHECKSUM_LEN];
        if (read.n < CD__CHECKSUM_LEN) {
            return cd_fail(why, CD_ESHORT, "input string is smaller than the checksum size");
        }
        read.n -= CD__CHECKSUM_LEN;
        cd__checksum_of(sum, read);
        if (memcmp(sum, read.p + read.n, CD__CHECKSUM_LEN) != 0) {
            return cd_fail(why, CD_EFORMAT, "invalid input checksum");
        }
    }
    *out = read;
    return CD_OK;
}
