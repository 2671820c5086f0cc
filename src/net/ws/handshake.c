#include "net/ws/handshake.h"

#include "base/num_text.h"
#include "base/text.h"
#include "crypto/hash/sha1.h"
#include "net/http/http.h"

#include <stdio.h>

enum { PAD = 64 };

static const char base64[PAD + 2] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

/* Base64 with padding; gives its size. */
static usize base64_fmt(char *out, const u8 *p, usize n)
{
    usize at = 0;
    for (usize i = 0; i < n; i += 3) {
        u32 b1 = i + 1 < n ? p[i + 1] : 0;
        u32 b2 = i + 2 < n ? p[i + 2] : 0;
        u32 v = (u32)p[i] << 16 | b1 << 8 | b2;
        out[at++] = base64[v >> 18];
        out[at++] = base64[v >> 12 & 63];
        out[at++] = base64[i + 1 < n ? v >> 6 & 63 : PAD];
        out[at++] = base64[i + 2 < n ? v & 63 : PAD];
    }
    return at;
}

bool cd_ws_key_ok(cd_bytes key)
{
    if (key.n != CD_WS_KEY_LEN || key.p[22] != '=' || key.p[23] != '=') {
        return false;
    }
    for (usize i = 0; i < 22; i++) {
        if (memchr(base64, key.p[i], PAD) == NULL) {
            return false;
        }
    }
    return true;
}

void cd_ws_key_fmt(char out[CD_WS_KEY_LEN], const u8 nonce[16])
{
    usize n = base64_fmt(out, nonce, 16);
    CD_ASSERT(n == CD_WS_KEY_LEN);
}

void cd_ws_accept_fmt(char out[CD_WS_ACCEPT_LEN], cd_bytes key)
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* [RFC 6455 1.3] */
    u8 text[CD_WS_KEY_LEN + sizeof guid - 1];
    u8 sum[20];
    CD_ASSERT(key.n == CD_WS_KEY_LEN);
    memcpy(text, key.p, CD_WS_KEY_LEN);
    memcpy(text + CD_WS_KEY_LEN, guid, sizeof guid - 1);
    cd_sha1(sum, cd_bytes_of(text, sizeof text));
    usize n = base64_fmt(out, sum, sizeof sum);
    CD_ASSERT(n == CD_WS_ACCEPT_LEN);
}

/* Parameters of one permessage-deflate element. */
typedef struct params {
    bool server_no_takeover;
    bool client_no_takeover;
    bool has_client_bits;
    u32 server_bits; /* 0: not given */
} params;

/* Cuts *rest at the first c: gives what is before it, and leaves what is behind. */
static cd_bytes cut(cd_bytes *rest, char c)
{
    const u8 *at = rest->n == 0 ? NULL : memchr(rest->p, c, rest->n);
    cd_bytes before = *rest;
    if (at == NULL) {
        *rest = (cd_bytes){0};
    } else {
        before.n = (usize)(at - rest->p);
        *rest = cd_bytes_sub(*rest, before.n + 1, rest->n - before.n - 1);
    }
    return cd_text_trim(before, " \t");
}

static bool is(cd_bytes b, const char *name)
{
    return cd_http_name_eq(b, cd_bytes_str(name));
}

/* "8" to "15", as a token or in quotes. */
static bool bits_parse(u32 *out, cd_bytes v)
{
    u64 n;
    if (v.n >= 2 && v.p[0] == '"' && v.p[v.n - 1] == '"') {
        v = cd_bytes_sub(v, 1, v.n - 2);
    }
    if (v.n == 0 || v.p[0] == '0' || cd_u64_parse(&n, v) != CD_OK || n < 8 || n > 15) {
        return false;
    }
    *out = (u32)n;
    return true;
}

/* Reads "; name; name=value ..."; false for what RFC 7692 does not know or allow. */
static bool params_parse(params *out, cd_bytes rest)
{
    *out = (params){0};
    while (rest.n != 0) {
        cd_bytes value = cut(&rest, ';');
        bool has_value = value.n != 0 && memchr(value.p, '=', value.n) != NULL;
        cd_bytes name = cut(&value, '=');
        u32 bits;
        if (is(name, "server_no_context_takeover") && !has_value && !out->server_no_takeover) {
            out->server_no_takeover = true;
        } else if (is(name, "client_no_context_takeover") && !has_value && !out->client_no_takeover) {
            out->client_no_takeover = true;
        } else if (is(name, "client_max_window_bits") && !out->has_client_bits &&
                   (!has_value || bits_parse(&bits, cd_text_trim(value, " \t")))) {
            out->has_client_bits = true;
        } else if (is(name, "server_max_window_bits") && out->server_bits == 0 &&
                   bits_parse(&bits, cd_text_trim(value, " \t"))) {
            out->server_bits = bits;
        } else {
            return false;
        }
    }
    return true;
}

u32 cd_ws_deflate_agree(char answer[CD_WS_ANSWER_MAX], cd_bytes offers)
{
    while (offers.n != 0) {
        cd_bytes rest = cd_http_list_next(&offers);
        params p;
        if (!is(cut(&rest, ';'), "permessage-deflate") || !params_parse(&p, rest) ||
            (p.server_bits != 0 && p.server_bits < CD_WS_WINDOW_BITS_MIN)) {
            continue;
        }
        int n = snprintf(answer, CD_WS_ANSWER_MAX, "%s", CD_WS_DEFLATE_OFFER);
        if (p.server_bits != 0) {
            (void)snprintf(answer + n, CD_WS_ANSWER_MAX - (usize)n, "; server_max_window_bits=%u", p.server_bits);
        }
        return p.server_bits == 0 ? CD_WS_WINDOW_BITS_MAX : p.server_bits;
    }
    return 0;
}

cd_err cd_ws_deflate_agreed(bool *has_deflate, cd_bytes answer)
{
    params p;
    cd_bytes rest = answer;
    if (answer.n == 0) {
        *has_deflate = false;
        return CD_OK;
    }
    if (!is(cut(&rest, ';'), "permessage-deflate") || !params_parse(&p, rest) || !p.server_no_takeover ||
        p.has_client_bits) {
        return CD_EPROTO;
    }
    *has_deflate = true;
    return CD_OK;
}
