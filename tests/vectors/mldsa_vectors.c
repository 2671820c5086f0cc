/* ML-DSA-65: NIST's vectors of the plain form with a context, and a key and signatures of another library.
 * [FIPS 204] [spec:finality#4] */
#include "tests/vectors/curves.h"

#include "crypto/pq/mldsa.h"

static const u8 zeros[32];

static void keygen(vec *v, cd_json group, cd_json test, const char *label)
{
    u8 pk[CD_MLDSA_PK];
    u8 sk[CD_MLDSA_SK];
    (void)group;
    cd_mldsa_keygen(pk, sk, hex_of(v, test, "seed").p);
    vec_check(v, cd_bytes_eq(hex_of(v, test, "expected_pk"), cd_bytes_of(pk, sizeof pk)), "%s: public", label);
    vec_check(v, cd_bytes_eq(hex_of(v, test, "expected_sk"), cd_bytes_of(sk, sizeof sk)), "%s: secret", label);
}

static void siggen(vec *v, cd_json group, cd_json test, const char *label)
{
    u8 sig[CD_MLDSA_SIG];
    cd_bytes rnd = is_true(cd_json_get(group, "deterministic")) ? cd_bytes_of(zeros, 32) : hex_of(v, test, "rnd");
    vec_check(v, rnd.n == 32, "%s: randomness", label);
    cd_mldsa_sign(sig, hex_of(v, test, "sk").p, hex_of(v, test, "message"), hex_of(v, test, "context"), rnd.p);
    vec_check(v, cd_bytes_eq(hex_of(v, test, "expected_signature"), cd_bytes_of(sig, sizeof sig)), "%s", label);
}

static void sigver(vec *v, cd_json group, cd_json test, const char *label)
{
    bool want = is_true(cd_json_get(test, "expected_testPassed"));
    (void)group;
    vec_check(v,
              cd_mldsa_verify(hex_of(v, test, "pk").p, hex_of(v, test, "signature"), hex_of(v, test, "message"),
                              hex_of(v, test, "context")) == want,
              "%s: %s", label, want ? "good" : "bad");
}

/* Runs the groups of ML-DSA-65 that sign messages as they are. */
static void run(vec *v, const char *file, void (*one)(vec *v, cd_json group, cd_json test, const char *label))
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, cd_arena_fmt(&v->arena, "crypto/acvp/%s", file)))) {
        return;
    }
    u32 cnt = 0;
    cd_json_it groups = cd_json_iter(cd_json_get(doc, "testGroups"));
    while (cd_json_next(&groups)) {
        bool is_plain = one == keygen || (is_str(v, groups.val, "signatureInterface", "external") &&
                                          is_str(v, groups.val, "preHash", "pure"));
        if (!is_plain || !is_str(v, groups.val, "parameterSet", "ML-DSA-65")) {
            continue;
        }
        cd_json_it tests = cd_json_iter(cd_json_get(groups.val, "tests"));
        while (cd_json_next(&tests)) {
            one(v, groups.val, tests.val, cd_arena_fmt(&v->arena, "%s %s", file, text_of(v, tests.val, "tcId")));
            cnt++;
        }
    }
    vec_check(v, cnt != 0, "%s has cases", file);
}

static void other_library(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "p2p/finality.json"))) {
        return;
    }
    cd_json own = cd_json_get(doc, "mldsa65");
    u8 pk[CD_MLDSA_PK];
    u8 sk[CD_MLDSA_SK];
    u8 sig[CD_MLDSA_SIG];
    cd_bytes message = hex_of(v, doc, "message_hex");
    cd_bytes context = cd_bytes_str(text_of(v, own, "ctx"));
    cd_mldsa_keygen(pk, sk, hex_of(v, own, "seed").p);
    vec_check(v, cd_bytes_eq(hex_of(v, own, "public_key"), cd_bytes_of(pk, sizeof pk)), "its key");
    cd_mldsa_sign(sig, sk, message, (cd_bytes){0}, zeros);
    cd_bytes plain = hex_of(v, own, "signature_no_ctx_deterministic");
    vec_check(v, cd_bytes_eq(plain, cd_bytes_of(sig, sizeof sig)), "its signature");
    cd_bytes with = hex_of(v, own, "signature_ctx");
    vec_check(v, cd_mldsa_verify(pk, with, message, context), "its signature with a context");
    vec_check(v, !cd_mldsa_verify(pk, with, message, (cd_bytes){0}), "is none without");
    vec_check(v, !cd_mldsa_verify(pk, cd_bytes_sub(plain, 0, plain.n - 1), message, (cd_bytes){0}), "cut short");
    sig[1000] ^= 1;
    vec_check(v, !cd_mldsa_verify(pk, cd_bytes_of(sig, sizeof sig), message, (cd_bytes){0}), "a bit changed");
}

int main(void)
{
    vec v = {0};
    run(&v, "ML-DSA-keyGen-FIPS204.json", keygen);
    run(&v, "ML-DSA-sigGen-FIPS204.json", siggen);
    run(&v, "ML-DSA-sigVer-FIPS204.json", sigver);
    other_library(&v);
    return vec_end(&v);
}
