/* Oblivious functions (crypto/zk/voprf) on the vectors of RFC 9497, modes 0 and 1. [spec:adx#7.2] */
#include "tests/vectors/vec.h"

#include "base/hex.h"
#include "crypto/zk/voprf.h"

#define BATCH_MAX 4

typedef struct batch {
    usize cnt;
    cd_bytes input[BATCH_MAX];
    cd_scalar blind[BATCH_MAX];
    cd_point blinded[BATCH_MAX];
    cd_point evaluated[BATCH_MAX];
} batch;

/* Item i of a comma-separated string of hexadecimal numbers. */
static cd_bytes item(vec *v, cd_json o, const char *key, usize i)
{
    cd_bytes text = {0};
    cd_bytes out = {0};
    vec_check(v, cd_json_str(&text, cd_json_get(o, key), NULL) == CD_OK, "%s", key);
    usize from = 0;
    for (usize at = 0; at <= text.n; at++) {
        if (at == text.n || text.p[at] == ',') {
            if (i-- == 0) {
                cd_bytes part = cd_bytes_sub(text, from, at - from);
                vec_check(v, cd_hex_parse_prefixed(&out, &v->arena, part) == CD_OK, "%s is hexadecimal", key);
                return out;
            }
            from = at + 1;
        }
    }
    vec_check(v, false, "%s has too few items", key);
    return out;
}

static cd_scalar scalar(vec *v, cd_bytes b)
{
    cd_scalar k = {{0}};
    vec_check(v, b.n == 32 && cd_scalar_get(&k, b.p) == CD_OK, "scalar");
    return k;
}

static bool point_is(const cd_point *p, cd_bytes want)
{
    u8 got[32];
    cd_point_put(got, p);
    return cd_bytes_eq(cd_bytes_of(got, 32), want);
}

/* The client's side up to the elements it sends. */
static void blind_all(vec *v, batch *b, cd_json o, cd_voprf_mode mode)
{
    u64 cnt = 0;
    vec_check(v, cd_json_u64(&cnt, cd_json_get(o, "Batch"), NULL) == CD_OK && cnt <= BATCH_MAX, "batch");
    b->cnt = cnt;
    for (usize i = 0; i < b->cnt; i++) {
        b->input[i] = item(v, o, "Input", i);
        b->blind[i] = scalar(v, item(v, o, "Blind", i));
        cd_err e = cd_voprf_blind(&b->blinded[i], mode, b->input[i], &b->blind[i]);
        vec_check(v, e == CD_OK && point_is(&b->blinded[i], item(v, o, "BlindedElement", i)), "blind");
    }
}

static void outputs(vec *v, const batch *b, cd_json o, cd_voprf_mode mode, const cd_voprf_key *key)
{
    for (usize i = 0; i < b->cnt; i++) {
        u8 got[CD_VOPRF_OUTPUT];
        cd_bytes want = item(v, o, "Output", i);
        vec_check(v, point_is(&b->evaluated[i], item(v, o, "EvaluationElement", i)), "evaluation");
        cd_err e = cd_voprf_finalize(got, b->input[i], &b->blind[i], &b->evaluated[i]);
        vec_check(v, e == CD_OK && cd_bytes_eq(cd_bytes_of(got, sizeof got), want), "output");
        e = cd_voprf_compute(got, mode, key, b->input[i]);
        vec_check(v, e == CD_OK && cd_bytes_eq(cd_bytes_of(got, sizeof got), want), "output by the key");
    }
}

static void proven(vec *v, batch *b, cd_json o, const cd_voprf_key *key)
{
    u8 proof[CD_VOPRF_PROOF];
    cd_json p = cd_json_get(o, "Proof");
    cd_scalar nonce = scalar(v, item(v, p, "r", 0));
    cd_voprf_evaluate(b->evaluated, proof, key, b->blinded, b->cnt, &nonce);
    vec_check(v, cd_bytes_eq(cd_bytes_of(proof, sizeof proof), item(v, p, "proof", 0)), "proof");
    cd_err e = cd_voprf_check(proof, &key->public, b->blinded, b->evaluated, b->cnt);
    vec_check(v, e == CD_OK, "proof verifies");
    for (usize i = 0; i < sizeof proof; i += 7) {
        proof[i] ^= 1;
        e = cd_voprf_check(proof, &key->public, b->blinded, b->evaluated, b->cnt);
        vec_check(v, e != CD_OK, "proof with bit %zu changed", 8 * i);
        proof[i] ^= 1;
    }
    cd_point kept = b->evaluated[0];
    cd_point_add(&b->evaluated[0], &kept, &CD_POINT_BASE);
    e = cd_voprf_check(proof, &key->public, b->blinded, b->evaluated, b->cnt);
    vec_check(v, e == CD_EPROOF, "another element");
    b->evaluated[0] = kept;
    e = cd_voprf_check(proof, &CD_POINT_BASE, b->blinded, b->evaluated, b->cnt);
    vec_check(v, e == CD_EPROOF, "another key");
}

static void suite(vec *v, cd_json s)
{
    u64 mode = 0;
    cd_voprf_key key;
    vec_check(v, cd_json_u64(&mode, cd_json_get(s, "mode"), NULL) == CD_OK, "mode");
    if (mode > 1) {
        return; /* partially oblivious: nothing here uses it */
    }
    cd_voprf_derive(&key, (cd_voprf_mode)mode, item(v, s, "seed", 0).p, item(v, s, "keyInfo", 0));
    u8 secret[32];
    cd_scalar_put(secret, &key.secret);
    vec_check(v, cd_bytes_eq(cd_bytes_of(secret, 32), item(v, s, "skSm", 0)), "derived key");
    cd_json_it it = cd_json_iter(cd_json_get(s, "vectors"));
    while (cd_json_next(&it)) {
        batch b = {0};
        blind_all(v, &b, it.val, (cd_voprf_mode)mode);
        if (mode == CD_VOPRF_VERIFIABLE) {
            vec_check(v, point_is(&key.public, item(v, s, "pkSm", 0)), "public key");
            proven(v, &b, it.val, &key);
        } else {
            cd_voprf_evaluate(b.evaluated, NULL, &key, b.blinded, b.cnt, NULL);
        }
        outputs(v, &b, it.val, (cd_voprf_mode)mode, &key);
    }
}

int main(void)
{
    vec v = {0};
    cd_json d;
    if (vec_json(&v, &d, vec_path(&v, "adx/voprf/rfc9497-ristretto255-sha512.json"))) {
        cd_json_it it = cd_json_iter(d);
        while (cd_json_next(&it)) {
            suite(&v, it.val);
        }
    }
    return vec_end(&v);
}
