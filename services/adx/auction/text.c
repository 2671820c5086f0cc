#include "services/adx/auction/text.h"

#include "base/hex.h"
#include "base/num_text.h"
#include "base/os/clock.h"

void cd_adx_put_hex(cd_json_w *w, const char *key, cd_bytes b)
{
    cd_buf text = {0};
    char *digits = (char *)cd_buf_extend(&text, 2 * b.n + 1);
    cd_hex_fmt(digits, b);
    cd_json_w_key(w, key);
    cd_json_w_str(w, cd_bytes_of(digits, 2 * b.n));
    cd_buf_fini(&text);
}

void cd_adx_put_u64(cd_json_w *w, const char *key, u64 v)
{
    char text[CD_U64_TEXT_MAX];
    cd_json_w_key(w, key);
    cd_json_w_str(w, cd_bytes_of(text, cd_u64_fmt(text, v)));
}

void cd_adx_put_time(cd_json_w *w, const char *key, u64 ms)
{
    char text[CD_TIME_TEXT_LEN];
    cd_time_fmt(text, ms * CD_NS_PER_MS);
    cd_json_w_key(w, key);
    cd_json_w_str(w, cd_bytes_of(text, sizeof text));
}

static cd_bytes digits_of(cd_bytes text)
{
    bool has_prefix = text.n >= 2 && text.p[0] == '0' && (text.p[1] == 'x' || text.p[1] == 'X');
    return has_prefix ? cd_bytes_sub(text, 2, text.n - 2) : text;
}

cd_err cd_adx_hex_fixed(void *out, usize n, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    CD_TRY(cd_json_str(&text, v, why));
    text = digits_of(text);
    if (text.n != 2 * n || cd_hex_parse(out, text) != CD_OK) {
        return cd_json_fail(v, CD_EFORMAT, "not the hex digits that belong here", why);
    }
    return CD_OK;
}

cd_err cd_adx_u64(u64 *out, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    if (cd_json_kind_of(v) != CD_JSON_STR) {
        return cd_json_u64(out, v, why);
    }
    CD_TRY(cd_json_str(&text, v, why));
    if (cd_u64_parse(out, text) != CD_OK) {
        return cd_json_fail(v, CD_EFORMAT, "not a decimal number", why);
    }
    return CD_OK;
}
