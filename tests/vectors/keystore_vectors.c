/* Key files of other programs (testdata/ethereum-keystore): opened with their password, refused with another one,
 * and what is inside opened again after it was written by us. [spec:conformance#3] */
#include "base/hex.h"
#include "tests/vectors/vec.h"
#include "wallet/keyfile.h"

static const char *const names[] = {
    "ethereum-keystore/basic_tests.json",
    "ethereum-keystore/geth_v1_test_vector.json",
    "ethereum-keystore/geth_v3_test_vector.json",
};

/* Through our own writer and back. */
static bool comes_back(const u8 secret[32], cd_bytes password)
{
    cd_buf file = {0};
    cd_secret again = {0};
    cd_rng rng = cd_rng_seeded(1);
    bool ok = cd_keyfile_enc(&file, secret, password, &CD_KEYFILE_LIGHT, &rng) == CD_OK &&
              cd_keyfile_dec(&again, cd_buf_bytes(&file), password, NULL) == CD_OK && memcmp(again.p, secret, 32) == 0;
    cd_secret_fini(&again);
    cd_buf_fini(&file);
    return ok;
}

static void run_one(vec *v, cd_bytes name, cd_json test)
{
    cd_buf file = {0};
    cd_secret got = {0};
    cd_bytes password = {0};
    cd_bytes priv = {0};
    u8 want[32] = {0};
    cd_errinfo why = {0};
    cd_json_raw(&file, cd_json_get(test, "json"));
    bool is_good = cd_json_str(&password, cd_json_get(test, "password"), NULL) == CD_OK &&
                   cd_json_hex(&priv, &v->arena, cd_json_get(test, "priv"), NULL) == CD_OK && priv.n <= sizeof want;
    if (is_good) {
        memcpy(want + sizeof want - priv.n, priv.p, priv.n);
    }
    cd_err e = cd_keyfile_dec(&got, cd_buf_bytes(&file), password, &why);
    vec_check(v, is_good && e == CD_OK && memcmp(got.p, want, 32) == 0, "%.*s: %s", (int)name.n, (const char *)name.p,
              why.msg);
    cd_secret_fini(&got);
    e = cd_keyfile_dec(&got, cd_buf_bytes(&file), cd_bytes_str("another"), &why);
    vec_check(v, e == CD_EKEY, "%.*s: opens with another password", (int)name.n, (const char *)name.p);
    vec_check(v, comes_back(want, password), "%.*s: does not come back", (int)name.n, (const char *)name.p);
    cd_buf_fini(&file);
}

int main(void)
{
    vec v = {0};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        cd_json doc;
        if (vec_json(&v, &doc, vec_path(&v, names[i]))) {
            cd_json_it it = cd_json_iter(doc);
            while (cd_json_next(&it)) {
                run_one(&v, it.key, it.val);
            }
        }
    }
    return vec_end(&v);
}
