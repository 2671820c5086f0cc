#include "grpc/status.h"

#include "base/num_text.h"

static const char hex_digits[] = "0123456789ABCDEF";

void cd_grpc_status_fini(cd_grpc_status *st)
{
    cd_buf_fini(&st->message);
    cd_buf_fini(&st->details);
    *st = (cd_grpc_status){0};
}

void cd_grpc_status_set(cd_grpc_status *st, u32 code, cd_bytes message)
{
    st->code = code;
    cd_buf_clear(&st->message);
    cd_buf_put(&st->message, message);
}

static cd_err err_of(u32 code)
{
    switch (code) {
    case CD_GRPC_OK:
        return CD_OK;
    case CD_GRPC_CANCELLED:
    case CD_GRPC_UNAVAILABLE:
        return CD_ECLOSED;
    case CD_GRPC_DEADLINE_EXCEEDED:
        return CD_ETIMEOUT;
    case CD_GRPC_UNIMPLEMENTED:
        return CD_EUNSUPPORTED;
    case CD_GRPC_RESOURCE_EXHAUSTED:
        return CD_EFULL;
    case CD_GRPC_NOT_FOUND:
        return CD_ENOENT;
    case CD_GRPC_INVALID_ARGUMENT:
        return CD_EINVAL;
    case CD_GRPC_PERMISSION_DENIED:
        return CD_EACCES;
    default:
        return CD_EIO;
    }
}

cd_err cd_grpc_status_err(const cd_grpc_status *st, cd_errinfo *why)
{
    cd_err err = err_of(st->code);
    if (err != CD_OK) {
        return cd_fail(why, err, "%.*s", (int)cd_min_u64(st->message.n, 480), (const char *)st->message.p);
    }
    return CD_OK;
}

void cd_grpc_percent_put(cd_buf *out, cd_bytes text)
{
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            cd_buf_u8(out, c);
        } else {
            cd_buf_u8(out, '%');
            cd_buf_u8(out, (u8)hex_digits[c >> 4]);
            cd_buf_u8(out, (u8)hex_digits[c & 15]);
        }
    }
}

static int nibble(u8 c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    u8 small = c | 0x20;
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

void cd_grpc_percent_dec(cd_buf *out, cd_bytes text)
{
    for (usize i = 0; i < text.n; i++) {
        int hi = text.p[i] == '%' && i + 2 < text.n ? nibble(text.p[i + 1]) : -1;
        int lo = hi < 0 ? -1 : nibble(text.p[i + 2]);
        if (lo >= 0) {
            cd_buf_u8(out, (u8)(hi * 16 + lo));
            i += 2;
        } else {
            cd_buf_u8(out, text.p[i]);
        }
    }
}

enum { TIMEOUT_DIGITS_MAX = 8, TIMEOUT_VALUE_MAX = 99999999 };

usize cd_grpc_timeout_fmt(char out[CD_GRPC_TIMEOUT_MAX], u64 ms)
{
    static const struct {
        char unit;
        u64 ms;
    } units[] = {{'m', 1}, {'S', 1000}, {'M', 60000}, {'H', 3600000}};
    char digits[CD_U64_TEXT_MAX];
    usize i = 0;
    while (i + 1 < CD_COUNT(units) && ms / units[i].ms >= TIMEOUT_VALUE_MAX) {
        i++;
    }
    u64 v = ms / units[i].ms + (ms % units[i].ms != 0);
    usize n = cd_u64_fmt(digits, cd_min_u64(v, TIMEOUT_VALUE_MAX));
    memcpy(out, digits, n);
    out[n] = units[i].unit;
    out[n + 1] = '\0';
    return n + 1;
}

cd_err cd_grpc_timeout_parse(u64 *ms, cd_bytes text)
{
    u64 v = 0;
    if (text.n < 2 || text.n > TIMEOUT_DIGITS_MAX + 1) {
        return CD_EFORMAT;
    }
    for (usize i = 0; i + 1 < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') {
            return CD_EFORMAT;
        }
        v = v * 10 + (u64)(text.p[i] - '0');
    }
    switch (text.p[text.n - 1]) {
    case 'H':
        *ms = v * 3600000;
        return CD_OK;
    case 'M':
        *ms = v * 60000;
        return CD_OK;
    case 'S':
        *ms = v * 1000;
        return CD_OK;
    case 'm':
        *ms = v;
        return CD_OK;
    case 'u':
        *ms = (v + 999) / 1000;
        return CD_OK;
    case 'n':
        *ms = (v + 999999) / 1000000;
        return CD_OK;
    default:
        return CD_EFORMAT;
    }
}
