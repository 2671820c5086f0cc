#include "services/adx/exchange/token.h"

#include "base/mem/secret.h"
#include "codec/base64.h"

enum {
    VERSION = 1,
    MEDIA_VERSION = 2,
    MAC_LEN = 16,
    MEDIA_LEN = 1 + CD_LEDGER_TOKEN_LEN + 4 + 8 + 16,
    HEAD_LEN = 1 + 1 + 4 + 8 + 8 + 16 + 1
};

static u8 *put_id(u8 *p, const char *id)
{
    cd_bytes b = cd_bytes_str(id);
    CD_ASSERT(b.n <= CD_TOKEN_ID_MAX);
    *p = (u8)b.n;
    memcpy(p + 1, b.p, b.n);
    return p + 1 + b.n;
}

static void mac_of(u8 out[32], const cd_hmac_sha256_key *key, cd_bytes payload)
{
    cd_hmac_sha256_parts(out, key, &payload, 1);
}

void cd_token_put(cd_buf *out, const cd_hmac_sha256_key *key, const cd_token *t)
{
    u8 room[HEAD_LEN + 3 * (CD_TOKEN_ID_MAX + 1) + MAC_LEN];
    u8 mac[32];
    u8 *p = room;
    p[0] = VERSION;
    p[1] = t->is_campaign ? 1 : 0;
    cd_put_be32(p + 2, t->expires_s);
    cd_put_be64(p + 6, (u64)t->price);
    cd_put_be64(p + 14, (u64)t->lease);
    memcpy(p + 22, t->auction, sizeof t->auction);
    p[38] = t->place;
    p = put_id(room + HEAD_LEN, t->payer);
    p = put_id(p, t->publisher);
    p = put_id(p, t->miner);
    mac_of(mac, key, cd_bytes_of(room, (usize)(p - room)));
    memcpy(p, mac, MAC_LEN);
    cd_base64url_enc(out, cd_bytes_of(room, (usize)(p - room) + MAC_LEN));
}

/* Reads an id and gives what follows it; false when it does not fit. */
static bool read_id(char out[CD_TOKEN_ID_MAX + 1], cd_bytes *rest)
{
    usize n = rest->n == 0 ? SIZE_MAX : rest->p[0];
    if (n > CD_TOKEN_ID_MAX || n + 1 > rest->n || memchr(rest->p + 1, 0, n) != NULL) {
        return false;
    }
    memcpy(out, rest->p + 1, n);
    out[n] = '\0';
    *rest = cd_bytes_sub(*rest, n + 1, rest->n - n - 1);
    return true;
}

static cd_err read_payload(cd_token *out, cd_bytes b)
{
    const u8 *p = b.p;
    cd_bytes rest = cd_bytes_sub(b, HEAD_LEN, b.n - HEAD_LEN);
    cd_token t = {
        .is_campaign = p[1] == 1,
        .expires_s = cd_be32(p + 2),
        .price = (i64)cd_be64(p + 6),
        .lease = (i64)cd_be64(p + 14),
        .place = p[38],
    };
    memcpy(t.auction, p + 22, sizeof t.auction);
    if (p[0] != VERSION || t.price < 0 || !read_id(t.payer, &rest) || !read_id(t.publisher, &rest) ||
        !read_id(t.miner, &rest) || rest.n != 0) {
        return CD_EFORMAT;
    }
    *out = t;
    return CD_OK;
}

cd_err cd_token_read(cd_token *out, const cd_hmac_sha256_key *key, cd_bytes text)
{
    cd_buf b = {0};
    u8 mac[32];
    cd_err err = text.n > CD_TOKEN_TEXT_MAX ? CD_EFORMAT : cd_base64url_dec(&b, text);
    if (err == CD_OK && b.n < HEAD_LEN + 3 + MAC_LEN) {
        err = CD_EFORMAT;
    }
    if (err == CD_OK) {
        cd_bytes payload = cd_bytes_of(b.p, b.n - MAC_LEN);
        mac_of(mac, key, payload);
        err = cd_ct_eq(mac, b.p + payload.n, MAC_LEN) ? read_payload(out, payload) : CD_ESIG;
    }
    cd_buf_fini(&b);
    return err;
}

void cd_token_name(u8 out[CD_LEDGER_TOKEN_LEN], const cd_token *t)
{
    memcpy(out, t->auction, sizeof t->auction);
    out[sizeof t->auction] = t->place;
}

void cd_media_token_put(cd_buf *out, const cd_hmac_sha256_key *key, const cd_media_token *t)
{
    u8 room[MEDIA_LEN + MAC_LEN];
    u8 mac[32];
    u8 *p = room;
    *p++ = MEDIA_VERSION;
    memcpy(p, t->name, sizeof t->name);
    p += sizeof t->name;
    cd_put_be32(p, t->expires_s);
    cd_put_be64(p + 4, t->size);
    memcpy(p + 12, t->miner, 16);
    mac_of(mac, key, cd_bytes_of(room, MEDIA_LEN));
    memcpy(room + MEDIA_LEN, mac, MAC_LEN);
    cd_base64url_enc(out, cd_bytes_of(room, sizeof room));
}

cd_err cd_media_token_read(cd_media_token *out, const cd_hmac_sha256_key *key, cd_bytes text)
{
    cd_buf b = {0};
    u8 mac[32];
    cd_err err = text.n > CD_TOKEN_TEXT_MAX ? CD_EFORMAT : cd_base64url_dec(&b, text);
    if (err == CD_OK && (b.n != MEDIA_LEN + MAC_LEN || b.p[0] != MEDIA_VERSION)) {
        err = CD_EFORMAT;
    }
    if (err == CD_OK) {
        mac_of(mac, key, cd_bytes_of(b.p, MEDIA_LEN));
        err = cd_ct_eq(mac, b.p + MEDIA_LEN, MAC_LEN) ? CD_OK : CD_ESIG;
    }
    if (err == CD_OK) {
        const u8 *p = b.p + 1 + CD_LEDGER_TOKEN_LEN;
        *out = (cd_media_token){.expires_s = cd_be32(p), .size = cd_be64(p + 4)};
        memcpy(out->name, b.p + 1, sizeof out->name);
        memcpy(out->miner, p + 12, 16);
    }
    cd_buf_fini(&b);
    return err;
}
