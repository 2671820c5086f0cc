/* BLS signatures (crypto/bls, Wycheproof, RFC 9380) and point encodings. [spec:conformance#4] */
#include "tests/vectors/curves.h"

#include "base/hex.h"
#include "crypto/bls/bls.h"

/* Calls run for each test of a file of crypto/bls. */
typedef void bls_fn(vec *v, cd_json in, cd_json out, const char *label);

static void run_bls(vec *v, const char *file, bls_fn *run)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, cd_arena_fmt(&v->arena, "crypto/bls/%s", file)))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        run(v, cd_json_get(it.val, "input"), cd_json_get(it.val, "output"), cd_arena_str(&v->arena, it.key));
    }
}

/* Decodes lists; false when one is malformed, which counts as a refusal. */
static bool dec_pks(vec *v, cd_bls_pk **out, usize *cnt, cd_json list)
{
    bool ok = true;
    usize i = 0;
    *cnt = cd_json_len(list);
    *out = cd_arena_array(&v->arena, cd_bls_pk, *cnt + 1);
    cd_json_it it = cd_json_iter(list);
    while (cd_json_next(&it)) {
        ok &= cd_bls_pk_dec(&(*out)[i++], hex(v, it.val)) == CD_OK;
    }
    return ok;
}

static bool dec_sigs(vec *v, cd_bls_sig **out, usize *cnt, cd_json list)
{
    bool ok = true;
    usize i = 0;
    *cnt = cd_json_len(list);
    *out = cd_arena_array(&v->arena, cd_bls_sig, *cnt + 1);
    cd_json_it it = cd_json_iter(list);
    while (cd_json_next(&it)) {
        ok &= cd_bls_sig_dec(&(*out)[i++], hex(v, it.val)) == CD_OK;
    }
    return ok;
}

static const cd_bytes *dec_msgs(vec *v, usize *cnt, cd_json list)
{
    usize i = 0;
    *cnt = cd_json_len(list);
    cd_bytes *msgs = cd_arena_array(&v->arena, cd_bytes, *cnt + 1);
    cd_json_it it = cd_json_iter(list);
    while (cd_json_next(&it)) {
        msgs[i++] = hex(v, it.val);
    }
    return msgs;
}

static void bls_sign(vec *v, cd_json in, cd_json out, const char *label)
{
    cd_bls_sk sk;
    cd_bls_sig sig;
    u8 bytes[CD_BLS_SIG_LEN];
    memcpy(sk.b, padded(v, hex_of(v, in, "privkey"), 32), 32);
    cd_err e = cd_bls_sign(&sig, CD_BLS_POP, hex_of(v, in, "message"), &sk);
    if (!cd_json_has(out)) {
        vec_check(v, e == CD_EKEY && !cd_bls_sk_check(&sk), "%s", label);
        return;
    }
    if (e == CD_OK) {
        cd_bls_sig_enc(bytes, &sig);
    }
    vec_check(v, e == CD_OK && cd_bytes_eq(hex(v, out), cd_bytes_of(bytes, sizeof bytes)), "%s", label);
}

static void bls_verify(vec *v, cd_json in, cd_json out, const char *label)
{
    cd_bls_pk pk;
    cd_bls_sig sig;
    bool ok = cd_bls_pk_dec(&pk, hex_of(v, in, "pubkey")) == CD_OK &&
              cd_bls_sig_dec(&sig, hex_of(v, in, "signature")) == CD_OK &&
              cd_bls_verify(&sig, CD_BLS_POP, hex_of(v, in, "message"), &pk);
    vec_check(v, ok == is_true(out), "%s", label);
}

static void bls_aggregate(vec *v, cd_json in, cd_json out, const char *label)
{
    cd_bls_sig *sigs;
    cd_bls_sig sum;
    u8 bytes[CD_BLS_SIG_LEN];
    usize cnt;
    bool ok = dec_sigs(v, &sigs, &cnt, in) && cd_bls_agg_sigs(&sum, sigs, cnt) == CD_OK;
    if (!cd_json_has(out)) {
        vec_check(v, !ok, "%s", label);
        return;
    }
    if (ok) {
        cd_bls_sig_enc(bytes, &sum);
    }
    vec_check(v, ok && cd_bytes_eq(hex(v, out), cd_bytes_of(bytes, sizeof bytes)), "%s", label);
}

static void bls_fast_agg_verify(vec *v, cd_json in, cd_json out, const char *label)
{
    cd_bls_pk *pks;
    cd_bls_sig sig;
    usize cnt;
    bool ok = dec_pks(v, &pks, &cnt, cd_json_get(in, "pubkeys")) &&
              cd_bls_sig_dec(&sig, hex_of(v, in, "signature")) == CD_OK &&
              cd_bls_fast_agg_verify(&sig, hex_of(v, in, "message"), pks, cnt);
    vec_check(v, ok == is_true(out), "%s", label);
}

static bool agg_verify(vec *v, cd_json in, const char *sig_key, cd_bls_suite suite)
{
    cd_bls_pk *pks;
    cd_bls_sig sig;
    usize cnt;
    usize msg_cnt;
    const cd_bytes *msgs = dec_msgs(v, &msg_cnt, cd_json_get(in, "messages"));
    return dec_pks(v, &pks, &cnt, cd_json_get(in, "pubkeys")) && cnt == msg_cnt &&
           cd_bls_sig_dec(&sig, hex_of(v, in, sig_key)) == CD_OK && cd_bls_agg_verify(&sig, suite, msgs, pks, cnt);
}

static void bls_agg_verify(vec *v, cd_json in, cd_json out, const char *label)
{
    vec_check(v, agg_verify(v, in, "signature", CD_BLS_POP) == is_true(out), "%s", label);
}

static void bls_batch_verify(vec *v, cd_json in, cd_json out, const char *label)
{
    static const u8 seed[32] = {1, 2, 3};
    cd_bls_pk *pks;
    cd_bls_sig *sigs;
    usize cnt;
    usize sig_cnt;
    usize msg_cnt;
    const cd_bytes *msgs = dec_msgs(v, &msg_cnt, cd_json_get(in, "messages"));
    bool ok = dec_pks(v, &pks, &cnt, cd_json_get(in, "pubkeys")) &&
              dec_sigs(v, &sigs, &sig_cnt, cd_json_get(in, "signatures")) && cnt == sig_cnt && cnt == msg_cnt &&
              cd_bls_batch_verify(sigs, CD_BLS_POP, msgs, pks, cnt, seed);
    vec_check(v, ok == is_true(out), "%s", label);
}

static void bls_dec_g1(vec *v, cd_json in, cd_json out, const char *label)
{
    cd_bls_pk pk;
    u8 enc[CD_BLS_PK_LEN];
    cd_bytes bytes = hex_of(v, in, "pubkey");
    cd_err e = bytes.n == CD_BLS_PK_LEN ? cd_bls_pk_dec(&pk, bytes) : CD_EFORMAT;
    /* Infinity is well formed, but no key. */
    bool ok = e == CD_OK || e == CD_EKEY;
    if (e == CD_OK) {
        cd_bls_pk_enc(enc, &pk);
        ok = cd_bytes_eq(bytes, cd_bytes_of(enc, sizeof enc));
    }
    vec_check(v, ok == is_true(out), "%s", label);
}

static void bls_dec_g2(vec *v, cd_json in, cd_json out, const char *label)
{
    cd_bls_sig sig;
    u8 enc[CD_BLS_SIG_LEN];
    cd_bytes bytes = hex_of(v, in, "signature");
    bool ok = bytes.n == CD_BLS_SIG_LEN && cd_bls_sig_dec(&sig, bytes) == CD_OK;
    if (ok) {
        cd_bls_sig_enc(enc, &sig);
        ok = cd_bytes_eq(bytes, cd_bytes_of(enc, sizeof enc));
    }
    vec_check(v, ok == is_true(out), "%s", label);
}

/* "0xc0,0xc1" of x and of y against the uncompressed point, which has c1 first. */
static void check_g2(vec *v, const cd_bls_sig *p, const char *const parts[4], const char *label)
{
    u8 raw[192];
    bool ok = true;
    static const usize place[4] = {48, 0, 144, 96};
    cd_bls_sig_enc_raw(raw, p);
    for (int i = 0; i < 4; i++) {
        cd_bytes want = {0};
        ok &= cd_hex_parse_prefixed(&want, &v->arena, cd_bytes_str(parts[i])) == CD_OK &&
              cd_bytes_eq(want, cd_bytes_of(raw + place[i], 48));
    }
    vec_check(v, ok, "%s", label);
}

static void check_g2_pairs(vec *v, const cd_bls_sig *p, cd_json point, const char *label)
{
    const char *parts[4];
    const char *names[2] = {"x", "y"};
    for (usize i = 0; i < 2; i++) {
        char *both = cd_arena_str(&v->arena, cd_bytes_str(text_of(v, point, names[i])));
        char *comma = strchr(both, ',');
        parts[2 * i] = both;
        parts[2 * i + 1] = "";
        if (comma != NULL) {
            *comma = 0;
            parts[2 * i + 1] = comma + 1;
        }
    }
    check_g2(v, p, parts, label);
}

static void bls_hash_g2(vec *v, cd_json in, cd_json out, const char *label)
{
    cd_bls_sig p;
    cd_bytes msg = {0};
    (void)!cd_json_str(&msg, cd_json_get(in, "msg"), NULL);
    cd_bls_hash_to_g2(&p, msg, cd_bytes_str("QUUX-V01-CS02-with-BLS12381G2_XMD:SHA-256_SSWU_RO_"));
    check_g2_pairs(v, &p, out, label);
}

static void run_rfc9380(vec *v)
{
    cd_json doc;
    const char *file = "crypto/rfc/9380-hash-to-curve/BLS12381G2_XMD_SHA-256_SSWU_RO_.json";
    if (!vec_json(v, &doc, vec_path(v, file))) {
        return;
    }
    cd_bytes dst = {0};
    (void)!cd_json_str(&dst, cd_json_get(doc, "dst"), NULL);
    cd_json_it it = cd_json_iter(cd_json_get(doc, "vectors"));
    while (cd_json_next(&it)) {
        cd_bls_sig p;
        cd_bytes msg = {0};
        (void)!cd_json_str(&msg, cd_json_get(it.val, "msg"), NULL);
        cd_bls_hash_to_g2(&p, msg, dst);
        check_g2_pairs(v, &p, cd_json_get(it.val, "P"), "rfc9380 BLS12381G2");
    }
}

/* Fixed-size records: n * G for n = 0, 1, 2, ...; each must read back, and the two forms must agree. */
static void run_encodings(vec *v)
{
    static const char *const names[4] = {"g1_compressed", "g1_uncompressed", "g2_compressed", "g2_uncompressed"};
    cd_bytes file[4];
    for (int i = 0; i < 4; i++) {
        const char *name = cd_arena_fmt(&v->arena, "crypto/bls/encodings/%s_valid_test_vectors.dat", names[i]);
        if (!vec_read(v, &file[i], vec_path(v, name))) {
            return;
        }
    }
    cd_bytes g1c = file[0];
    cd_bytes g1u = file[1];
    cd_bytes g2c = file[2];
    cd_bytes g2u = file[3];
    for (usize i = 0; i < g1c.n / 48; i++) {
        cd_bls_pk a;
        cd_bls_pk b;
        u8 enc[48];
        cd_err ea = cd_bls_pk_dec(&a, cd_bytes_sub(g1c, i * 48, 48));
        cd_err eb = cd_bls_pk_dec(&b, cd_bytes_sub(g1u, i * 96, 96));
        bool ok = i == 0 ? ea == CD_EKEY && eb == CD_EKEY : ea == CD_OK && eb == CD_OK;
        if (ok && i != 0) {
            cd_bls_pk_enc(enc, &b);
            ok = memcmp(&a, &b, sizeof a) == 0 && memcmp(enc, g1c.p + i * 48, 48) == 0;
        }
        vec_check(v, ok, "encodings g1 %zu", i);
    }
    for (usize i = 0; i < g2c.n / 96; i++) {
        cd_bls_sig a;
        cd_bls_sig b;
        u8 enc[96];
        bool ok = cd_bls_sig_dec(&a, cd_bytes_sub(g2c, i * 96, 96)) == CD_OK &&
                  cd_bls_sig_dec(&b, cd_bytes_sub(g2u, i * 192, 192)) == CD_OK;
        if (ok) {
            cd_bls_sig_enc(enc, &b);
            ok = memcmp(&a, &b, sizeof a) == 0 && memcmp(enc, g2c.p + i * 96, 96) == 0;
        }
        vec_check(v, ok, "encodings g2 %zu", i);
    }
}

static void bls_group_verify(vec *v, cd_json group, cd_json test, const char *label, cd_bls_suite suite)
{
    cd_bls_pk pk;
    cd_bls_sig sig;
    cd_bytes sig_bytes = hex_of(v, test, "sig");
    bool ok = cd_bls_pk_dec(&pk, hex_of(v, cd_json_get(group, "publicKey"), "pk")) == CD_OK &&
              sig_bytes.n == CD_BLS_SIG_LEN && cd_bls_sig_dec(&sig, sig_bytes) == CD_OK &&
              cd_bls_verify(&sig, suite, hex_of(v, test, "msg"), &pk);
    check_result(v, test, ok, label);
}

static void wy_bls_basic(vec *v, cd_json group, cd_json test, const char *label)
{
    bls_group_verify(v, group, test, label, CD_BLS_BASIC);
}

static void wy_bls_pop(vec *v, cd_json group, cd_json test, const char *label)
{
    bls_group_verify(v, group, test, label, CD_BLS_POP);
}

static void wy_bls_aggregate(vec *v, cd_json group, cd_json test, const char *label)
{
    (void)group;
    check_result(v, test, agg_verify(v, test, "sig", CD_BLS_BASIC), label);
}

static void wy_bls_hash(vec *v, cd_json group, cd_json test, const char *label)
{
    cd_bls_sig p;
    u8 enc[CD_BLS_SIG_LEN];
    cd_bls_hash_to_g2(&p, hex_of(v, test, "msg"), cd_bytes_str(text_of(v, group, "dst")));
    cd_bls_sig_enc(enc, &p);
    check_result(v, test, cd_bytes_eq(hex_of(v, test, "expected"), cd_bytes_of(enc, sizeof enc)), label);
}

/* --- what the original's nodes sign with --- */

static bool signs(cd_bls_suite suite, cd_bytes message, const cd_bls_sk *sk, cd_bytes want)
{
    cd_bls_sig sig;
    u8 enc[CD_BLS_SIG_LEN];
    if (cd_bls_sign(&sig, suite, message, sk) != CD_OK) {
        return false;
    }
    cd_bls_sig_enc(enc, &sig);
    return cd_bytes_eq(want, cd_bytes_of(enc, sizeof enc));
}

static void node_key(vec *v, cd_json key, cd_bls_pk *pk)
{
    cd_bls_sk sk;
    cd_bls_sig sig;
    u8 enc[CD_BLS_PK_LEN];
    u8 raw[2 * CD_BLS_PK_LEN];
    cd_bytes secret = hex_of(v, key, "secret");
    cd_bytes message = hex_of(v, key, "message");
    bool as_pop = true;
    bool is_read = secret.n == sizeof sk.b;
    if (is_read) {
        memcpy(sk.b, secret.p, sizeof sk.b);
        is_read = cd_bls_pk_of(pk, &sk) == CD_OK;
    }
    vec_check(v, is_read, "secret");
    if (!is_read) {
        return;
    }
    cd_bls_pk_enc(enc, pk);
    cd_bls_pk_enc_raw(raw, pk);
    vec_check(v, cd_bytes_eq(hex_of(v, key, "public_compressed"), cd_bytes_of(enc, sizeof enc)), "public_compressed");
    vec_check(v, cd_bytes_eq(hex_of(v, key, "public_uncompressed"), cd_bytes_of(raw, sizeof raw)),
              "public_uncompressed");
    vec_check(v, signs(CD_BLS_POP, message, &sk, hex_of(v, key, "signature")), "signature");
    vec_check(v, signs(CD_BLS_POP_PROOF, message, &sk, hex_of(v, key, "sign_as_pop")), "sign_as_pop");
    vec_check(v,
              signs(CD_BLS_POP_PROOF, cd_bytes_of(enc, sizeof enc), &sk, hex_of(v, key, "proof_of_possession_of_key")),
              "proof_of_possession_of_key");
    bool is_sig = cd_bls_sig_dec(&sig, hex_of(v, key, "signature")) == CD_OK &&
                  cd_bls_verify(&sig, CD_BLS_POP, message, pk) &&
                  cd_json_bool(&as_pop, cd_json_get(key, "sig_verifies_as_pop"), NULL) == CD_OK &&
                  cd_bls_verify(&sig, CD_BLS_POP_PROOF, message, pk) == as_pop;
    vec_check(v, is_sig, "verified");
}

static void node_keys(vec *v)
{
    enum { KEYS_MAX = 16, SUMMED = 3 };
    cd_json doc;
    cd_bls_pk pks[KEYS_MAX];
    cd_bls_pk sum;
    u8 enc[CD_BLS_PK_LEN];
    usize n = 0;
    if (!vec_json(v, &doc, vec_path(v, "p2p/bls.json"))) {
        return;
    }
    for (cd_json_it it = cd_json_iter(cd_json_get(doc, "keys")); cd_json_next(&it) && n < KEYS_MAX;) {
        node_key(v, it.val, &pks[n++]);
    }
    bool is_summed = n >= SUMMED && cd_bls_agg_pks(&sum, pks, SUMMED) == CD_OK;
    if (is_summed) {
        cd_bls_pk_enc(enc, &sum);
    }
    vec_check(v,
              is_summed && cd_bytes_eq(hex_of(v, doc, "aggregate_public_key_of_0_1_2"), cd_bytes_of(enc, sizeof enc)),
              "aggregate_public_key_of_0_1_2");
}

int main(void)
{
    vec v = {0};
    node_keys(&v);
    run_bls(&v, "sign.json", bls_sign);
    run_bls(&v, "verify.json", bls_verify);
    run_bls(&v, "aggregate.json", bls_aggregate);
    run_bls(&v, "fast_aggregate_verify.json", bls_fast_agg_verify);
    run_bls(&v, "aggregate_verify.json", bls_agg_verify);
    run_bls(&v, "batch_verify.json", bls_batch_verify);
    run_bls(&v, "deserialization_G1.json", bls_dec_g1);
    run_bls(&v, "deserialization_G2.json", bls_dec_g2);
    run_bls(&v, "hash_to_G2.json", bls_hash_g2);
    run_rfc9380(&v);
    run_encodings(&v);
    wycheproof(&v, "bls_sig_g2_basic_verify_test.json", wy_bls_basic);
    wycheproof(&v, "bls_sig_g2_pop_verify_test.json", wy_bls_pop);
    wycheproof(&v, "bls_sig_g2_aggregate_verify_test.json", wy_bls_aggregate);
    wycheproof(&v, "bls_hash_to_g2_test.json", wy_bls_hash);
    return vec_end(&v);
}
