/* HPKE (crypto/cipher/hpke) on the vectors of RFC 9180, all modes. [spec:adx#6] */
#include "tests/vectors/vec.h"

#include "crypto/cipher/hpke.h"

static cd_bytes hex(vec *v, cd_json o, const char *key)
{
    cd_bytes b = {0};
    cd_json x = cd_json_get(o, key);
    if (cd_json_has(x)) {
        vec_check(v, cd_json_hex(&b, &v->arena, x, NULL) == CD_OK, "%s is hexadecimal", key);
    }
    return b;
}

static u64 number(vec *v, cd_json o, const char *key)
{
    u64 n = 0;
    vec_check(v, cd_json_u64(&n, cd_json_get(o, key), NULL) == CD_OK, "%s is a number", key);
    return n;
}

static void messages(vec *v, cd_json o, cd_hpke *send, cd_hpke *receive)
{
    cd_json_it it = cd_json_iter(cd_json_get(o, "encryptions"));
    while (cd_json_next(&it)) {
        cd_bytes aad = hex(v, it.val, "aad");
        cd_bytes pt = hex(v, it.val, "pt");
        cd_bytes ct = hex(v, it.val, "ct");
        cd_buf out = {0};
        send->seq = receive->seq = number(v, it.val, "seq");
        vec_check(v, cd_hpke_seal(send, &out, aad, pt) == CD_OK && cd_bytes_eq(cd_buf_bytes(&out), ct), "seal");
        cd_buf_clear(&out);
        vec_check(v, cd_hpke_open(receive, &out, pt, ct) == CD_ESIG && out.n == 0, "another aad is refused");
        vec_check(v, cd_hpke_open(receive, &out, aad, cd_bytes_sub(ct, 0, 15)) == CD_ESIG, "too short");
        vec_check(v, cd_hpke_open(receive, &out, aad, ct) == CD_OK && cd_bytes_eq(cd_buf_bytes(&out), pt), "open");
        cd_buf_fini(&out);
    }
    it = cd_json_iter(cd_json_get(o, "exports"));
    while (cd_json_next(&it)) {
        u8 got[256];
        usize n = number(v, it.val, "L");
        cd_hpke_export(receive, got, n, hex(v, it.val, "exporter_context"));
        vec_check(v, cd_bytes_eq(cd_bytes_of(got, n), hex(v, it.val, "exported_value")), "export");
    }
}

/* A secret key of the vectors is what its material derives to, and has the public key beside it. */
static void key(vec *v, cd_json o, const char *ikm, const char *sk, const char *pk)
{
    u8 got[32];
    cd_hpke_derive_key(got, hex(v, o, ikm));
    vec_check(v, cd_bytes_eq(cd_bytes_of(got, 32), hex(v, o, sk)), "%s derives to %s", ikm, sk);
    cd_x25519_public(got, hex(v, o, sk).p);
    vec_check(v, cd_bytes_eq(cd_bytes_of(got, 32), hex(v, o, pk)), "%s", pk);
}

static void one(vec *v, cd_json o)
{
    u64 mode = number(v, o, "mode");
    bool is_auth = mode >= 2;
    cd_hpke_aead aead = (cd_hpke_aead)number(v, o, "aead_id");
    cd_hpke_auth auth = {.psk = hex(v, o, "psk"), .psk_id = hex(v, o, "psk_id")};
    cd_hpke send;
    cd_hpke receive;
    u8 enc[32];
    key(v, o, "ikmE", "skEm", "pkEm");
    key(v, o, "ikmR", "skRm", "pkRm");
    auth.sender = is_auth ? hex(v, o, "skSm").p : NULL;
    vec_check(
        v, cd_hpke_send(&send, enc, aead, hex(v, o, "pkRm").p, hex(v, o, "info"), &auth, hex(v, o, "skEm").p) == CD_OK,
        "send");
    vec_check(v, cd_bytes_eq(cd_bytes_of(enc, 32), hex(v, o, "enc")), "enc");
    auth.sender = is_auth ? hex(v, o, "pkSm").p : NULL;
    vec_check(v, cd_hpke_receive(&receive, enc, aead, hex(v, o, "skRm").p, hex(v, o, "info"), &auth) == CD_OK,
              "receive");
    if (aead == CD_HPKE_EXPORT_ONLY) {
        cd_buf none = {0};
        vec_check(v, cd_hpke_seal(&send, &none, (cd_bytes){0}, (cd_bytes){0}) == CD_EUNSUPPORTED, "export only");
    } else {
        cd_bytes k = hex(v, o, "key");
        vec_check(v, cd_bytes_eq(cd_bytes_of(send.key, k.n), k), "key");
        vec_check(v, cd_bytes_eq(cd_bytes_of(send.base_nonce, 12), hex(v, o, "base_nonce")), "base nonce");
    }
    messages(v, o, &send, &receive);
    cd_hpke_fini(&send);
    cd_hpke_fini(&receive);
}

/* Points of small order give a shared secret that anybody knows. */
static void small_order(vec *v)
{
    static const u8 zero[32];
    u8 secret[32] = {7};
    u8 enc[32];
    cd_hpke h;
    cd_hpke_auth auth = {0};
    cd_err e = cd_hpke_send(&h, enc, CD_HPKE_AES_128_GCM, zero, (cd_bytes){0}, &auth, secret);
    vec_check(v, e == CD_EKEY, "sending to zero");
    e = cd_hpke_receive(&h, zero, CD_HPKE_AES_128_GCM, secret, (cd_bytes){0}, &auth);
    vec_check(v, e == CD_EKEY, "receiving from zero");
    auth.psk = cd_bytes_of(secret, 32);
    e = cd_hpke_receive(&h, secret, CD_HPKE_AES_128_GCM, secret, (cd_bytes){0}, &auth);
    vec_check(v, e == CD_EINVAL, "a key without its name");
}

int main(void)
{
    vec v = {0};
    cd_json d;
    if (vec_json(&v, &d, vec_path(&v, "adx/hpke/rfc9180-x25519-sha256.json"))) {
        cd_json_it it = cd_json_iter(d);
        while (cd_json_next(&it)) {
            one(&v, it.val);
        }
        small_order(&v);
    }
    return vec_end(&v);
}
