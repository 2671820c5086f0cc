#include "services/webhook/core/send/sign.h"

#include "base/hex.h"
#include "base/mem/secret.h"
#include "base/num_text.h"
#include "codec/base64.h"
#include "crypto/ec/ed25519.h"

/* What a Standard Webhooks secret has, "whsec_" and base64 of this. */
enum { STANDARD_KEY_LEN = 24 };

static void derive(u8 out[32], const cd_hmac_sha256_key *key, const char *label)
{
    cd_bytes text = cd_bytes_str(label);
    cd_hmac_sha256_parts(out, key, &text, 1);
}

static void derive_standard(u8 out[32], const cd_hmac_sha256_key *key)
{
    derive(out, key, "standard-webhooks/v1");
}

void cd_wh_sign_key_init(cd_wh_sign_key *out, cd_bytes secret)
{
    *out = (cd_wh_sign_key){.is_set = secret.n != 0};
    if (!out->is_set) {
        return;
    }
    u8 standard[32];
    cd_hmac_sha256_init(&out->mac, secret);
    derive_standard(standard, &out->mac);
    cd_hmac_sha256_init(&out->standard, cd_bytes_of(standard, STANDARD_KEY_LEN));
    derive(out->seed, &out->mac, "standard-webhooks/v1a");
    cd_wipe(standard, sizeof standard);
}

void cd_wh_sign_b(char out[64], const cd_hmac_sha256_key *key, cd_bytes timestamp, cd_bytes body)
{
    u8 mac[32];
    cd_hmac_sha256_parts(mac, key, (cd_bytes[]){timestamp, cd_bytes_str("."), body}, 3);
    cd_hex_fmt(out, cd_bytes_of(mac, 32));
}

void cd_wh_sign_c(char out[64], const cd_hmac_sha256_key *key, cd_bytes body)
{
    u8 mac[32];
    cd_hmac_sha256_parts(mac, key, &body, 1);
    cd_hex_fmt(out, cd_bytes_of(mac, 32));
}

void cd_wh_sign_v1(cd_buf *out, const cd_hmac_sha256_key *key, cd_bytes id, cd_bytes timestamp, cd_bytes body)
{
    u8 mac[32];
    cd_bytes dot = cd_bytes_str(".");
    cd_hmac_sha256_parts(mac, key, (cd_bytes[]){id, dot, timestamp, dot, body}, 5);
    cd_buf_str(out, "v1,");
    cd_base64_enc(out, cd_bytes_of(mac, 32));
}

void cd_wh_sign_v1a(cd_buf *out, const u8 seed[32], cd_bytes id, cd_bytes timestamp, cd_bytes body)
{
    u8 signature[64];
    cd_buf text = {0};
    cd_buf_put(&text, id);
    cd_buf_u8(&text, '.');
    cd_buf_put(&text, timestamp);
    cd_buf_u8(&text, '.');
    cd_buf_put(&text, body);
    cd_ed25519_sign(signature, seed, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    cd_buf_str(out, "v1a,");
    cd_base64_enc(out, cd_bytes_of(signature, 64));
}

static void standard_signature(cd_buf *out, const cd_wh_signing *s, const cd_wh_sign_key *key, cd_bytes timestamp)
{
    if (s->standard == CD_WH_STANDARD_V1) {
        cd_wh_sign_v1(out, &key->standard, cd_bytes_str(s->id), timestamp, s->body);
    } else {
        cd_wh_sign_v1a(out, key->seed, cd_bytes_str(s->id), timestamp, s->body);
    }
}

static void svc_line(cd_buf *out, const cd_wh_signing *s, const cd_wh_sign_key *key, cd_bytes timestamp,
                     const char *name)
{
    char hex[64];
    if (s->face == CD_WH_B) {
        cd_wh_sign_b(hex, &key->mac, timestamp, s->body);
    } else {
        cd_wh_sign_c(hex, &key->mac, s->body);
    }
    cd_buf_str(out, "X-");
    cd_buf_str(out, s->brand);
    cd_buf_str(out, name);
    cd_buf_str(out, s->face == CD_WH_B ? ": " : ": sha256=");
    cd_buf_put(out, cd_bytes_of(hex, 64));
    cd_buf_str(out, "\r\n");
}

void cd_wh_sign(cd_buf *out, const cd_wh_signing *s)
{
    if (!s->key->is_set) {
        return;
    }
    char digits[CD_U64_TEXT_MAX];
    cd_bytes timestamp = cd_bytes_of(digits, cd_u64_fmt(digits, s->now_s));
    bool rotates = s->next != NULL && s->next->is_set;
    svc_line(out, s, s->key, timestamp, "-Signature");
    if (rotates) {
        svc_line(out, s, s->next, timestamp, "-Signature-Next");
    }
    if (s->face == CD_WH_B) {
        cd_buf_str(out, "X-");
        cd_buf_str(out, s->brand);
        cd_buf_str(out, "-Timestamp: ");
        cd_buf_put(out, timestamp);
        cd_buf_str(out, "\r\n");
    }
    if (s->standard == CD_WH_STANDARD_OFF) {
        return;
    }
    cd_buf_fmt(out, "webhook-id: %s\r\nwebhook-timestamp: %.*s\r\nwebhook-signature: ", s->id, (int)timestamp.n,
               digits);
    if (rotates) {
        standard_signature(out, s, s->next, timestamp);
        cd_buf_u8(out, ' ');
    }
    standard_signature(out, s, s->key, timestamp);
    cd_buf_str(out, "\r\n");
}

void cd_wh_standard_secret(cd_buf *out, cd_wh_standard standard, cd_bytes secret)
{
    cd_wh_sign_key key;
    u8 bytes[32];
    cd_wh_sign_key_init(&key, secret);
    if (standard == CD_WH_STANDARD_V1A) {
        cd_ed25519_public(bytes, key.seed);
        cd_buf_str(out, "whpk_");
        cd_base64_enc(out, cd_bytes_of(bytes, 32));
    } else {
        derive_standard(bytes, &key.mac);
        cd_buf_str(out, "whsec_");
        cd_base64_enc(out, cd_bytes_of(bytes, STANDARD_KEY_LEN));
    }
    cd_wipe(bytes, sizeof bytes);
    cd_wipe(&key, sizeof key);
}
