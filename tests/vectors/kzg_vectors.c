/* KZG (crypto/kzg): every case of the five operations. [spec:conformance#4] */
#include "tests/vectors/vec.h"

#include "base/hex.h"
#include "crypto/bls/kzg.h"
#include "crypto/bls/kzg_blob.h"

/* The value of "key: 'value'" in one of the YAML files, empty when there is none. */
static cd_bytes yaml_get(cd_bytes doc, const char *key)
{
    usize len = strlen(key);
    for (usize i = 0; i + len + 1 < doc.n; i++) {
        bool starts = i == 0 || doc.p[i - 1] == '\n' || doc.p[i - 1] == ' ';
        if (starts && memcmp(doc.p + i, key, len) == 0 && doc.p[i + len] == ':') {
            usize from = i + len + 1;
            while (from < doc.n && (doc.p[from] == ' ' || doc.p[from] == '\'' || doc.p[from] == '"')) {
                from++;
            }
            usize to = from;
            while (to < doc.n && doc.p[to] != '\'' && doc.p[to] != '"' && doc.p[to] != '\n') {
                to++;
            }
            return cd_bytes_sub(doc, from, to - from);
        }
    }
    return (cd_bytes){0};
}

/* A hexadecimal value of exactly n bytes; NULL for another length or another text. */
static const u8 *yaml_hex(vec *v, cd_bytes doc, const char *key, usize n)
{
    cd_bytes b = {0};
    cd_bytes text = yaml_get(doc, key);
    bool ok = cd_hex_parse_prefixed(&b, &v->arena, text) == CD_OK && b.n == n;
    return ok ? b.p : NULL;
}

static cd_kzg_setup *setup;

static bool text_is(cd_bytes t, const char *s)
{
    return cd_bytes_eq(t, cd_bytes_str(s));
}

static void run_case(vec *v, cd_bytes doc, const char *path)
{
    cd_bytes want = yaml_get(doc, "output");
    bool refuse = text_is(want, "null");
    const u8 *commitment = yaml_hex(v, doc, "commitment", 48);
    const u8 *proof = yaml_hex(v, doc, "proof", 48);
    const u8 *blob = yaml_hex(v, doc, "blob", CD_KZG_BLOB_LEN);
    const u8 *z = yaml_hex(v, doc, "z", 32);
    const u8 *y = yaml_hex(v, doc, "y", 32);
    cd_bytes whole = cd_bytes_of(blob, CD_KZG_BLOB_LEN);
    bool done = false;
    bool ok = false;
    u8 out[48];
    if (strstr(path, "/verify_kzg_proof/") != NULL) {
        done = commitment != NULL && z != NULL && y != NULL && proof != NULL &&
               cd_kzg_verify_proof(&ok, commitment, z, y, proof) == CD_OK;
        vec_check(v, refuse ? !done : done && ok == text_is(want, "true"), "%s", path);
    } else if (strstr(path, "/verify_blob_kzg_proof/") != NULL) {
        done = blob != NULL && commitment != NULL && proof != NULL &&
               cd_kzg_blob_verify(setup, &ok, whole, commitment, proof) == CD_OK;
        vec_check(v, refuse ? !done : done && ok == text_is(want, "true"), "%s", path);
    } else if (strstr(path, "/blob_to_kzg_commitment/") != NULL) {
        const u8 *expect = yaml_hex(v, doc, "output", 48);
        done = blob != NULL && cd_kzg_blob_commit(setup, out, whole) == CD_OK;
        ok = refuse ? !done : done && expect != NULL && memcmp(out, expect, 48) == 0;
        vec_check(v, ok, "%s", path);
    } else if (strstr(path, "/compute_blob_kzg_proof/") != NULL) {
        done = blob != NULL && commitment != NULL && cd_kzg_blob_prove(setup, out, whole, commitment) == CD_OK;
        vec_check(v, refuse ? !done : done, "%s", path);
    } else if (strstr(path, "/compute_kzg_proof/") != NULL) {
        u8 value[32];
        done = blob != NULL && z != NULL && cd_kzg_prove(setup, out, value, whole, z) == CD_OK;
        vec_check(v, refuse ? !done : done, "%s", path);
    } else {
        vec_check(v, false, "%s: what is it?", path);
    }
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_bytes doc;
    usize len = strlen(path);
    bool is_case = kind == CD_FS_FILE && len > 5 && strcmp(path + len - 5, ".yaml") == 0;
    if (is_case && vec_read(v, &doc, path)) {
        run_case(v, doc, path);
    }
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    cd_bytes text;
    if (vec_read(&v, &text, vec_path(&v, "crypto/kzg/trusted_setup.txt"))) {
        vec_check(&v, cd_kzg_setup_open(&setup, text) == CD_OK, "trusted setup");
    }
    if (setup != NULL) {
        vec_walk(&v, "crypto/kzg", visit);
    }
    cd_kzg_setup_close(setup);
    return vec_end(&v);
}
