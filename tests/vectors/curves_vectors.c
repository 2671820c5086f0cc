/* secp256k1 (Wycheproof, RFC 6979, library vectors) and the curve precompiles at function level.
 * [spec:conformance#4] */
#include "tests/vectors/curves.h"

#include "base/hex.h"
#include "crypto/bls/bls12381.h"
#include "crypto/bls/kzg.h"
#include "crypto/bn254/bn254.h"
#include "crypto/ec/p256.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/sha2.h"

#include <openssl/evp.h>

/* --- secp256k1 --- */

/* A strict DER integer of at most 256 bits, right-aligned in out. */
static bool der_int(u8 out[32], cd_bytes *in)
{
    if (in->n < 3 || in->p[0] != 2 || in->p[1] == 0 || in->p[1] > 33 || (usize)in->p[1] + 2 > in->n) {
        return false;
    }
    cd_bytes num = cd_bytes_sub(*in, 2, in->p[1]);
    *in = cd_bytes_sub(*in, 2 + num.n, in->n - 2 - num.n);
    if (num.p[0] >= 0x80 || (num.n > 1 && num.p[0] == 0 && num.p[1] < 0x80)) {
        return false; /* negative, or not the shortest form */
    }
    if (num.p[0] == 0) {
        num = cd_bytes_sub(num, 1, num.n - 1);
    }
    if (num.n > 32) {
        return false;
    }
    memset(out, 0, 32);
    if (num.n != 0) {
        memcpy(out + 32 - num.n, num.p, num.n);
    }
    return true;
}

static bool der_sig(u8 out[64], cd_bytes in)
{
    if (in.n < 2 || in.p[0] != 0x30 || in.p[1] >= 0x80 || (usize)in.p[1] + 2 != in.n) {
        return false;
    }
    cd_bytes body = cd_bytes_sub(in, 2, in.n - 2);
    return der_int(out, &body) && der_int(out + 32, &body) && body.n == 0;
}

/* Opens the group's key; false when the test data are not what we think. */
static bool group_key(vec *v, u8 pub[64], cd_json group)
{
    cd_bytes key = hex_of(v, cd_json_get(group, "publicKey"), "uncompressed");
    return cd_secp256k1_pub_dec(pub, key) == CD_OK;
}

static void digest(vec *v, cd_hash32 *out, cd_json group, cd_bytes msg)
{
    if (is_str(v, group, "sha", "SHA3-256")) {
        (void)EVP_Digest(msg.p, msg.n, out->b, NULL, EVP_sha3_256(), NULL);
    } else {
        cd_sha256(out, msg);
    }
}

static void ecdsa(vec *v, cd_json group, cd_json test, const char *label, bool der, bool low_s)
{
    u8 pub[64];
    u8 sig[64];
    cd_hash32 msg;
    if (!group_key(v, pub, group)) {
        vec_check(v, false, "%s: key", label);
        return;
    }
    digest(v, &msg, group, hex_of(v, test, "msg"));
    cd_bytes in = hex_of(v, test, "sig");
    bool ok = der ? der_sig(sig, in) : in.n == 64;
    if (ok && !der) {
        memcpy(sig, in.p, 64);
    }
    ok = ok && cd_secp256k1_verify(&msg, sig, pub) && (!low_s || cd_secp256k1_is_low_s(sig));
    check_result(v, test, ok, label);
    if (!ok) {
        return;
    }
    /* A good signature is also recovered, by one of the four ids. */
    bool found = false;
    for (u8 id = 0; id < 4; id++) {
        u8 got[64];
        found |= cd_secp256k1_recover(got, &msg, sig, id) == CD_OK && memcmp(got, pub, 64) == 0;
    }
    vec_check(v, found, "%s: recover", label);
}

static void run_bitcoin(vec *v, cd_json group, cd_json test, const char *label)
{
    ecdsa(v, group, test, label, true, true);
}

static void run_der(vec *v, cd_json group, cd_json test, const char *label)
{
    ecdsa(v, group, test, label, true, false);
}

static void run_p1363(vec *v, cd_json group, cd_json test, const char *label)
{
    ecdsa(v, group, test, label, false, false);
}

static void p256(vec *v, cd_json group, cd_json test, const char *label, bool der)
{
    u8 sig[64];
    cd_hash32 msg;
    cd_bytes key = hex_of(v, cd_json_get(group, "publicKey"), "uncompressed");
    cd_bytes in = hex_of(v, test, "sig");
    if (key.n != 65) {
        vec_check(v, false, "%s: key", label);
        return;
    }
    digest(v, &msg, group, hex_of(v, test, "msg"));
    bool ok = der ? der_sig(sig, in) : in.n == 64;
    if (ok && !der) {
        memcpy(sig, in.p, 64);
    }
    ok = ok && cd_p256_verify(&msg, sig, key.p + 1);
    check_result(v, test, ok, label);
}

static void run_p256_der(vec *v, cd_json group, cd_json test, const char *label)
{
    p256(v, group, test, label, true);
}

static void run_p256_p1363(vec *v, cd_json group, cd_json test, const char *label)
{
    p256(v, group, test, label, false);
}

/* Signs with extra nonce bytes (or none) and compares. */
static void check_sign(vec *v, cd_json t, const char *key, const char *extra)
{
    cd_bytes want = hex_of(v, t, key);
    cd_hash32 msg;
    u8 secret[32];
    u8 more[32] = {0};
    u8 sig[64];
    u8 pub[64];
    u8 got[64];
    u8 id = 0;
    memcpy(msg.b, padded(v, hex_of(v, t, "m"), 32), 32);
    memcpy(secret, padded(v, hex_of(v, t, "d"), 32), 32);
    if (extra != NULL) {
        (void)!cd_hex_parse(more, cd_bytes_str(extra));
    }
    cd_err e = extra == NULL ? cd_secp256k1_sign(sig, &id, &msg, secret)
                             : cd_secp256k1_sign_extra(sig, &id, &msg, secret, more);
    bool ok = e == CD_OK && cd_bytes_eq(want, cd_bytes_of(sig, 64)) && cd_secp256k1_is_low_s(sig) &&
              cd_secp256k1_pub(pub, secret) == CD_OK && cd_secp256k1_verify(&msg, sig, pub) &&
              cd_secp256k1_recover(got, &msg, sig, id) == CD_OK && memcmp(got, pub, 64) == 0;
    vec_check(v, ok, "ecdsa_valid.json %s: %s", key, text_of(v, t, "description"));
}

static void run_ecdsa_valid(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "crypto/secp256k1/ecdsa_valid.json"))) {
        return;
    }
    cd_json_it it = cd_json_iter(cd_json_get(doc, "valid"));
    while (cd_json_next(&it)) {
        check_sign(v, it.val, "signature", NULL);
    }
    it = cd_json_iter(cd_json_get(doc, "extraEntropy"));
    while (cd_json_next(&it)) {
        check_sign(v, it.val, "signature", NULL);
        check_sign(v, it.val, "extraEntropy0", "0000000000000000000000000000000000000000000000000000000000000000");
        check_sign(v, it.val, "extraEntropy1", "0000000000000000000000000000000000000000000000000000000000000001");
        check_sign(v, it.val, "extraEntropyN", "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
        check_sign(v, it.val, "extraEntropyMax", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
    }
    cd_json invalid = cd_json_get(doc, "invalid");
    it = cd_json_iter(cd_json_get(invalid, "sign"));
    while (cd_json_next(&it)) {
        cd_hash32 msg;
        u8 sig[64];
        u8 id;
        memcpy(msg.b, padded(v, hex_of(v, it.val, "m"), 32), 32);
        cd_err e = cd_secp256k1_sign(sig, &id, &msg, padded(v, hex_of(v, it.val, "d"), 32));
        vec_check(v, e == CD_EKEY, "invalid sign: %s", text_of(v, it.val, "description"));
    }
    it = cd_json_iter(cd_json_get(invalid, "verify"));
    while (cd_json_next(&it)) {
        cd_hash32 msg;
        u8 pub[64];
        cd_bytes sig = hex_of(v, it.val, "signature");
        memcpy(msg.b, padded(v, hex_of(v, it.val, "m"), 32), 32);
        bool ok = sig.n == 64 && cd_secp256k1_pub_dec(pub, hex_of(v, it.val, "Q")) == CD_OK &&
                  cd_secp256k1_verify(&msg, sig.p, pub) && cd_secp256k1_is_low_s(sig.p);
        vec_check(v, !ok, "invalid verify: %s", text_of(v, it.val, "description"));
    }
}

/* The nonce shows in the signature: r is the x of k * G. */
static void run_rfc6979(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "crypto/secp256k1/rfc6979.json"))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cd_bytes text = {0};
        cd_hash32 msg;
        u8 sig[64];
        u8 pub[64];
        u8 id;
        (void)!cd_json_str(&text, cd_json_get(it.val, "message"), NULL);
        cd_sha256(&msg, text);
        bool ok = cd_secp256k1_sign(sig, &id, &msg, padded(v, hex_of(v, it.val, "d"), 32)) == CD_OK &&
                  cd_secp256k1_pub(pub, padded(v, hex_of(v, it.val, "k0"), 32)) == CD_OK && memcmp(sig, pub, 32) == 0;
        vec_check(v, ok, "rfc6979.json: %s", text_of(v, it.val, "message"));
    }
}

/* --- precompiles at function level --- */

/* Runs one input; true and the output, or false when the operation refuses. */
typedef bool precompile_fn(vec *v, cd_bytes *out, cd_bytes in);

static bool word_of(vec *v, cd_bytes *out, bool flag)
{
    u8 *w = cd_arena_zalloc(&v->arena, 32);
    w[31] = flag;
    *out = cd_bytes_of(w, 32);
    return true;
}

static bool ec_recover(vec *v, cd_bytes *out, cd_bytes in)
{
    const u8 *p = padded(v, in, 128);
    cd_hash32 msg;
    u8 *word = cd_arena_zalloc(&v->arena, 32);
    cd_addr20 addr;
    memcpy(msg.b, p, 32);
    *out = cd_bytes_of(NULL, 0);
    static const u8 zero[31];
    if (memcmp(p + 32, zero, 31) == 0 && (p[63] == 27 || p[63] == 28) &&
        cd_secp256k1_recover_addr(&addr, &msg, p + 64, (u8)(p[63] - 27)) == CD_OK) {
        memcpy(word + 12, addr.b, 20);
        *out = cd_bytes_of(word, 32);
    }
    return true;
}

static bool bn_add(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 64);
    *out = cd_bytes_of(o, 64);
    return cd_bn254_add(o, padded(v, in, 128)) == CD_OK;
}

static bool bn_mul(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 64);
    *out = cd_bytes_of(o, 64);
    return cd_bn254_mul(o, padded(v, in, 96)) == CD_OK;
}

static bool bn_pairing(vec *v, cd_bytes *out, cd_bytes in)
{
    bool one;
    return cd_bn254_pairing(&one, in) == CD_OK && word_of(v, out, one);
}

static bool g1_add(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 128);
    *out = cd_bytes_of(o, 128);
    return cd_bls12381_g1_add(o, in) == CD_OK;
}

static bool g1_msm(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 128);
    *out = cd_bytes_of(o, 128);
    return cd_bls12381_g1_msm(o, in) == CD_OK;
}

static bool g2_add(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 256);
    *out = cd_bytes_of(o, 256);
    return cd_bls12381_g2_add(o, in) == CD_OK;
}

static bool g2_msm(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 256);
    *out = cd_bytes_of(o, 256);
    return cd_bls12381_g2_msm(o, in) == CD_OK;
}

static bool bls_pairing(vec *v, cd_bytes *out, cd_bytes in)
{
    bool one;
    return cd_bls12381_pairing(&one, in) == CD_OK && word_of(v, out, one);
}

static bool map_fp(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 128);
    *out = cd_bytes_of(o, 128);
    return cd_bls12381_map_fp(o, in) == CD_OK;
}

static bool map_fp2(vec *v, cd_bytes *out, cd_bytes in)
{
    u8 *o = cd_arena_zalloc(&v->arena, 256);
    *out = cd_bytes_of(o, 256);
    return cd_bls12381_map_fp2(o, in) == CD_OK;
}

/* versioned hash || z || y || commitment || proof -> field elements per blob || group order. */
static bool point_evaluation(vec *v, cd_bytes *out, cd_bytes in)
{
    (void)v;
    static const u8 success[64] = {[30] = 0x10, [31] = 0x00, [32] = 0x73, 0xed, 0xa7, 0x53, 0x29, 0x9d, 0x7d,
                                   0x48,        0x33,        0x39,        0xd8, 0x08, 0x09, 0xa1, 0xd8, 0x05,
                                   0x53,        0xbd,        0xa4,        0x02, 0xff, 0xfe, 0x5b, 0xfe, 0xff,
                                   0xff,        0xff,        0xff,        0x00, 0x00, 0x00, 0x01};
    bool ok = false;
    cd_hash32 hash;
    if (in.n != 192) {
        return false;
    }
    cd_kzg_versioned_hash(&hash, in.p + 96);
    *out = cd_bytes_of(success, 64);
    return memcmp(hash.b, in.p, 32) == 0 &&
           cd_kzg_verify_proof(&ok, in.p + 96, in.p + 32, in.p + 64, in.p + 144) == CD_OK && ok;
}

static void run_precompile(vec *v, const char *file, precompile_fn *f)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, cd_arena_fmt(&v->arena, "crypto/precompiles/%s", file)))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cd_bytes out = {0};
        bool ok = f(v, &out, hex_of(v, it.val, "Input"));
        bool fits = cd_json_has(cd_json_get(it.val, "ExpectedError"))
                        ? !ok
                        : ok && cd_bytes_eq(out, hex_of(v, it.val, "Expected"));
        vec_check(v, fits, "%s: %s", file, text_of(v, it.val, "Name"));
    }
}

int main(void)
{
    vec v = {0};
    wycheproof(&v, "ecdsa_secp256k1_sha256_bitcoin_test.json", run_bitcoin);
    wycheproof(&v, "ecdsa_secp256k1_sha256_p1363_test.json", run_p1363);
    wycheproof(&v, "ecdsa_secp256k1_sha3_256_test.json", run_der);
    wycheproof(&v, "ecdsa_secp256r1_sha256_test.json", run_p256_der);
    wycheproof(&v, "ecdsa_secp256r1_sha256_p1363_test.json", run_p256_p1363);
    run_ecdsa_valid(&v);
    run_rfc6979(&v);

    run_precompile(&v, "ecRecover.json", ec_recover);
    run_precompile(&v, "bn256Add.json", bn_add);
    run_precompile(&v, "bn256ScalarMul.json", bn_mul);
    run_precompile(&v, "bn256Pairing.json", bn_pairing);
    run_precompile(&v, "pointEvaluation.json", point_evaluation);
    run_precompile(&v, "blsG1Add.json", g1_add);
    run_precompile(&v, "blsG1Mul.json", g1_msm);
    run_precompile(&v, "blsG1MultiExp.json", g1_msm);
    run_precompile(&v, "blsG2Add.json", g2_add);
    run_precompile(&v, "blsG2Mul.json", g2_msm);
    run_precompile(&v, "blsG2MultiExp.json", g2_msm);
    run_precompile(&v, "blsPairing.json", bls_pairing);
    run_precompile(&v, "blsMapG1.json", map_fp);
    run_precompile(&v, "blsMapG2.json", map_fp2);
    run_precompile(&v, "fail-blsG1Add.json", g1_add);
    run_precompile(&v, "fail-blsG1Mul.json", g1_msm);
    run_precompile(&v, "fail-blsG1MultiExp.json", g1_msm);
    run_precompile(&v, "fail-blsG2Add.json", g2_add);
    run_precompile(&v, "fail-blsG2Mul.json", g2_msm);
    run_precompile(&v, "fail-blsG2MultiExp.json", g2_msm);
    run_precompile(&v, "fail-blsPairing.json", bls_pairing);
    run_precompile(&v, "fail-blsMapG1.json", map_fp);
    run_precompile(&v, "fail-blsMapG2.json", map_fp2);
    return vec_end(&v);
}
