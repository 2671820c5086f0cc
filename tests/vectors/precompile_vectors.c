/* testdata/crypto/precompiles: output and gas of each precompile; the fail-* files must fail.
 * [spec:conformance#4] */
#include "base/hex.h"
#include "base/os/fileio.h"
#include "codec/json.h"
#include "evm/precompile/precompile.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *file;
    const char *precompile; /* row of evm/precompile/precompiles.def */
} runs[] = {
    {"ecRecover", "ecrecover"},
    {"modexp", "modexp_eip198"},
    {"modexp_eip2565", "modexp_eip2565"},
    {"modexp_eip7883", "modexp_eip7883"},
    {"bn256Add", "bn254_add"},
    {"bn256ScalarMul", "bn254_mul"},
    {"bn256Pairing", "bn254_pairing"},
    {"blake2F", "blake2f"},
    {"fail-blake2f", "blake2f"},
    {"pointEvaluation", "kzg_point_evaluation"},
    {"blsG1Add", "bls12381_g1_add"},
    {"fail-blsG1Add", "bls12381_g1_add"},
    {"blsG1Mul", "bls12381_g1_msm"},
    {"fail-blsG1Mul", "bls12381_g1_msm"},
    {"blsG1MultiExp", "bls12381_g1_msm"},
    {"fail-blsG1MultiExp", "bls12381_g1_msm"},
    {"blsG2Add", "bls12381_g2_add"},
    {"fail-blsG2Add", "bls12381_g2_add"},
    {"blsG2Mul", "bls12381_g2_msm"},
    {"fail-blsG2Mul", "bls12381_g2_msm"},
    {"blsG2MultiExp", "bls12381_g2_msm"},
    {"fail-blsG2MultiExp", "bls12381_g2_msm"},
    {"blsMapG1", "bls12381_map_fp"},
    {"fail-blsMapG1", "bls12381_map_fp"},
    {"blsMapG2", "bls12381_map_fp2"},
    {"fail-blsMapG2", "bls12381_map_fp2"},
    {"blsPairing", "bls12381_pairing"},
    {"fail-blsPairing", "bls12381_pairing"},
    {"p256Verify", "p256_verify"},
};

typedef struct tally {
    unsigned passed;
    unsigned failed;
} tally;

static const char *run_case(const cd_precompile *p, cd_arena *a, cd_json v, cd_errinfo *why)
{
    enum { GAS = 1 << 30 };
    bool must_fail = cd_json_has(cd_json_get(v, "ExpectedError"));
    cd_precompile_call call = {.gas = GAS, .arena = a};
    cd_bytes want;
    u64 gas;
    if (cd_json_hex(&call.input, a, cd_json_get(v, "Input"), why) != CD_OK) {
        return why->msg;
    }
    cd_precompile_outcome got = p->run(&call, p->cfg);
    if (must_fail) {
        return got == CD_PRE_OK ? "accepted" : NULL;
    }
    if (cd_json_hex(&want, a, cd_json_get(v, "Expected"), why) != CD_OK ||
        cd_json_u64(&gas, cd_json_get(v, "Gas"), why) != CD_OK) {
        return why->msg;
    }
    if (got != CD_PRE_OK) {
        return "refused";
    }
    if (!cd_bytes_eq(call.output, want)) {
        return "other output";
    }
    if (GAS - call.gas != gas) {
        return "other gas";
    }
    /* One unit of gas less does not do. */
    call.gas = gas - 1;
    return gas != 0 && p->run(&call, p->cfg) != CD_PRE_OUT_OF_GAS ? "runs without the gas" : NULL;
}

static void run_file(tally *t, const char *file, const cd_precompile *p, cd_bytes text)
{
    cd_arena a = {0};
    cd_json doc;
    cd_errinfo why = {0};
    if (cd_json_parse(&doc, &a, text, 0, &why) != CD_OK) {
        (void)printf("FAIL %s: %s\n", file, why.msg);
        t->failed++;
    } else {
        cd_json_it it = cd_json_iter(doc);
        while (cd_json_next(&it)) {
            const char *bad = run_case(p, &a, it.val, &why);
            t->passed += bad == NULL;
            t->failed += bad != NULL;
            cd_bytes name;
            if (bad != NULL && cd_json_str(&name, cd_json_get(it.val, "Name"), &why) == CD_OK) {
                (void)printf("FAIL %s %.*s: %s\n", file, (int)name.n, (const char *)name.p, bad);
            }
        }
    }
    cd_arena_fini(&a);
}

int main(void)
{
    const char *root = getenv("CANDELA_TESTDATA");
    tally t = {0};
    for (usize i = 0; i < CD_COUNT(runs); i++) {
        char path[4096];
        cd_buf text = {0};
        cd_errinfo why = {0};
        cd_precompile p;
        (void)snprintf(path, sizeof path, "%s/crypto/precompiles/%s.json", root == NULL ? "../shared/testdata" : root,
                       runs[i].file);
        if (cd_precompile_by_name(&p, runs[i].precompile) != CD_OK) {
            (void)printf("FAIL no precompile %s\n", runs[i].precompile);
            t.failed++;
        } else if (cd_fs_read_file(cd_fs_real(), &text, path, 64 << 20, &why) != CD_OK) {
            (void)printf("SKIP %s\n", why.msg);
            return getenv("CI") != NULL;
        } else {
            run_file(&t, runs[i].file, &p, cd_buf_bytes(&text));
        }
        cd_buf_fini(&text);
    }
    (void)printf("%u passed, %u failed\n", t.passed, t.failed);
    return t.failed != 0 || t.passed == 0;
}
