#include "services/adx/miner/wire.h"

#include "base/hex.h"
#include "base/text.h"
#include "crypto/ec/ed25519.h"
#include "crypto/hash/sha2.h"

enum { DEPTH_MAX = 16 };

static const char domain[] = "adx/miner/v1";

static void signed_bytes(cd_buf *out, cd_wire_from from, const u8 challenge[32], cd_bytes payload)
{
    cd_buf_put(out, cd_bytes_of(domain, sizeof domain - 1));
    cd_buf_u8(out, (u8)from);
    cd_buf_put(out, cd_bytes_of(challenge, 32));
    cd_buf_put(out, payload);
}

void cd_wire_begin(cd_wire_out *o, cd_json_w *w, const char *type)
{
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "type", type);
    cd_json_put_u64(w, "seq", ++o->seq);
}

void cd_wire_end(const cd_wire_out *o, cd_json_w *w, cd_buf *out)
{
    u8 sig[64];
    char digits[128];
    cd_buf text = {0};
    cd_json_w envelope = {.out = out};
    cd_json_w_obj_end(w);
    signed_bytes(&text, o->from, o->challenge, cd_buf_bytes(w->out));
    cd_ed25519_sign(sig, o->seed, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    cd_hex_fmt(digits, cd_bytes_of(sig, sizeof sig));
    cd_json_w_obj(&envelope);
    cd_json_put_str(&envelope, "payload", cd_buf_bytes(w->out));
    cd_json_put_str(&envelope, "sig", cd_bytes_of(digits, sizeof digits));
    cd_json_w_obj_end(&envelope);
}

cd_err cd_wire_read(cd_wire_in *out, cd_arena *mem, cd_bytes message, cd_errinfo *why)
{
    cd_json envelope;
    *out = (cd_wire_in){0};
    CD_TRY(cd_json_parse_deep(&envelope, mem, message, CD_WIRE_MESSAGE_MAX, DEPTH_MAX, why));
    CD_TRY(cd_json_obj(envelope, why));
    CD_TRY(cd_json_str(&out->text, cd_json_get(envelope, "payload"), why));
    CD_TRY(cd_json_fixed(out->sig, sizeof out->sig, cd_json_get(envelope, "sig"), why));
    CD_TRY(cd_json_parse_deep(&out->doc, mem, out->text, CD_WIRE_MESSAGE_MAX, DEPTH_MAX, why));
    CD_TRY(cd_json_obj(out->doc, why));
    CD_TRY(cd_json_str(&out->type, cd_json_get(out->doc, "type"), why));
    return cd_json_u64(&out->seq, cd_json_get(out->doc, "seq"), why);
}

cd_err cd_wire_check(const cd_wire_in *in, cd_wire_from from, const u8 key[32], const u8 challenge[32], u64 *last_seq,
                     cd_errinfo *why)
{
    cd_buf text = {0};
    if (in->seq <= *last_seq) {
        return cd_fail(why, CD_EFORMAT, "seq does not grow");
    }
    signed_bytes(&text, from, challenge, in->text);
    cd_err err = cd_ed25519_verify(key, in->sig, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    if (err != CD_OK) {
        return cd_fail(why, CD_ESIG, "the signature does not hold");
    }
    *last_seq = in->seq;
    return CD_OK;
}

cd_err cd_wire_url(char out[CD_WIRE_URL_MAX + 1], cd_bytes text)
{
    static const char *const schemes[] = {"http://", "https://"};
    usize n = 0;
    while (text.n != 0 && text.p[text.n - 1] == '/') {
        text.n--;
    }
    for (usize i = 0; i < CD_COUNT(schemes); i++) {
        usize k = strlen(schemes[i]);
        n = text.n > k && memcmp(text.p, schemes[i], k) == 0 && text.p[k] != '/' ? k : n;
    }
    if (n == 0 || text.n > CD_WIRE_URL_MAX) {
        return CD_EFORMAT;
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        bool is_plain = (c >= '0' && c <= '9') || (cd_text_lower(c) >= 'a' && cd_text_lower(c) <= 'z');
        if (!is_plain && !cd_text_is_in(c, ":/.-_~[]%")) {
            return CD_EFORMAT;
        }
    }
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return CD_OK;
}

cd_err cd_wire_wallet(char out[43], cd_bytes text)
{
    u8 address[20];
    if (text.n != 42 || text.p[0] != '0' || cd_text_lower(text.p[1]) != 'x' ||
        cd_hex_parse(address, cd_bytes_sub(text, 2, 40)) != CD_OK) {
        return CD_EFORMAT;
    }
    memcpy(out, "0x", 2);
    cd_hex_fmt(out + 2, cd_bytes_of(address, sizeof address));
    out[42] = '\0';
    return CD_OK;
}

void cd_wire_miner_id(char out[17], const u8 key[32])
{
    cd_hash32 h;
    cd_sha256(&h, cd_bytes_of(key, 32));
    cd_hex_fmt(out, cd_bytes_of(h.b, 8));
    out[16] = '\0';
}
