/* testdata/p2p/certs.json: certificates with their nodes, keys and proofs of possession; those that are refused, in the
 * original's words; every cut and every flipped bit of a good one is refused or is another node's. */
#include "vec.h"

#include "base/hex.h"
#include "p2p/identity.h"

#define NOW_NS 1795266684000000000ull

static cd_bytes hex_of(vec *v, cd_json row, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, cd_json_get(row, key), NULL) == CD_OK, "%s: bad hex", key);
    return b;
}

static cd_bytes str_of(cd_json row, const char *key)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, cd_json_get(row, key), NULL);
    return s;
}

static void check_valid(vec *v, cd_json row)
{
    cd_bytes name = str_of(row, "name");
    cd_bytes der = hex_of(v, row, "der_hex");
    cd_p2p_identity id = {.key = NULL};
    cd_errinfo why = {0};
    cd_buf text = {0};
    cd_buf sig = {0};
    cd_cert cert;
    vec_check(v, cd_cert_parse(&cert, der, &why) == CD_OK, "%.*s: %s", (int)name.n, (const char *)name.p, why.msg);
    cd_err e = cd_p2p_identity_of(&id, str_of(row, "cert_pem"), str_of(row, "key_pem"),
                                  hex_of(v, row, "bls_secret_hex"), &why);
    vec_check(v, e == CD_OK, "%.*s: %s", (int)name.n, (const char *)name.p, why.msg);
    if (e == CD_OK) {
        cd_node_id_put(&text, &id.node_id);
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&id.cert), der), "DER of the PEM text");
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&text), str_of(row, "node_id")), "%s", cd_buf_cstr(&text));
        vec_check(v, cd_bytes_eq(cd_bytes_of(cert.node_id.b, 20), hex_of(v, row, "node_id_hex")), "node ID of the DER");
        vec_check(v, cd_bytes_eq(cd_bytes_of(id.bls_public, 48), hex_of(v, row, "bls_public_hex")), "BLS key");
        vec_check(v, cd_bytes_eq(cd_bytes_of(id.bls_pop, 96), hex_of(v, row, "bls_pop_hex")), "proof of possession");
        cd_signkey_sign(id.key, &sig, der);
        vec_check(v, cd_cert_check(&cert, der, cd_buf_bytes(&sig), &why) == CD_OK, "own signature: %s", why.msg);
        sig.p[sig.n - 1] ^= 1;
        vec_check(v, cd_cert_check(&cert, der, cd_buf_bytes(&sig), &why) == CD_ESIG, "a flipped signature");
    }
    cd_buf_fini(&sig);
    cd_buf_fini(&text);
    cd_p2p_identity_close(&id);
}

static void check_invalid(vec *v, cd_json row)
{
    cd_cert cert;
    cd_errinfo why = {0};
    cd_err e = cd_cert_parse(&cert, hex_of(v, row, "der_hex"), &why);
    vec_check(v, e != CD_OK && cd_bytes_eq(str_of(row, "error"), cd_bytes_str(why.msg)), "refused as: %s", why.msg);
}

/* No change of a byte is taken for the same node, and none reads beyond the end. */
static void check_damaged(vec *v, cd_bytes der)
{
    cd_cert good;
    cd_cert got;
    vec_check(v, cd_cert_parse(&good, der, NULL) == CD_OK, "the good one");
    unsigned same = 0;
    for (usize i = 0; i < der.n; i++) {
        u8 *copy = malloc(der.n);
        memcpy(copy, der.p, der.n);
        vec_check(v, cd_cert_parse(&got, cd_bytes_of(copy, i), NULL) != CD_OK, "cut to %zu bytes", i);
        for (unsigned bit = 0; bit < 8; bit++) {
            copy[i] ^= (u8)(1u << bit);
            same += cd_cert_parse(&got, cd_bytes_of(copy, der.n), NULL) == CD_OK &&
                    memcmp(&got.node_id, &good.node_id, 20) == 0;
            copy[i] ^= (u8)(1u << bit);
        }
        free(copy);
    }
    vec_check(v, same == 0, "%u damaged certificates pass for the good one", same);
}

/* A place in b, or NULL. */
static u8 *find(u8 *b, usize n, const char *what, usize len)
{
    for (usize i = 0; i + len <= n; i++) {
        if (memcmp(b + i, what, len) == 0) {
            return b + i;
        }
    }
    return NULL;
}

/* A certificate of ours is the original's but for its key, its last day and its signature. */
static void check_made(vec *v, cd_bytes der)
{
    static const char key_front[] = "\x03\x42\x00\x04";
    cd_buf cert = {0};
    cd_buf key = {0};
    cd_buf own = {0};
    enum { HEAD = 4 }; /* of the certificate; it counts the signature, whose length varies */
    usize tbs = HEAD + 3 + der.p[HEAD + 2];
    u8 want[512];
    u8 got[512];
    cd_x509_make(&cert, &key, NOW_NS);
    vec_check(v, cd_x509_der(&own, cd_buf_bytes(&cert), NULL) == CD_OK && own.n > tbs, "DER of our own");
    memcpy(want, der.p, tbs);
    memcpy(got, own.p, tbs);
    u8 *want_key = find(want, tbs, key_front, 4);
    u8 *got_key = find(got, tbs, key_front, 4);
    u8 *want_end = find(want, tbs, "\x18\x0f", 2);
    u8 *got_end = find(got, tbs, "\x18\x0f", 2);
    vec_check(v, got_end != NULL && memcmp(got_end + 2, "21261121131124Z", 15) == 0, "valid for a hundred years");
    memcpy(got_key, want_key, 68);
    memcpy(got_end, want_end, 17);
    vec_check(v, memcmp(got + HEAD, want + HEAD, tbs - HEAD) == 0, "what is signed looks as the original's");
    cd_buf_fini(&own);
    cd_buf_fini(&key);
    cd_buf_fini(&cert);
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    if (vec_json(&v, &all, vec_path(&v, "p2p/certs.json"))) {
        cd_json_it it = cd_json_iter(cd_json_get(all, "valid"));
        while (cd_json_next(&it)) {
            check_valid(&v, it.val);
            cd_bytes name = str_of(it.val, "name");
            if (cd_bytes_eq(name, cd_bytes_str("generated-ecdsa-p256"))) {
                check_damaged(&v, hex_of(&v, it.val, "der_hex"));
                check_made(&v, hex_of(&v, it.val, "der_hex"));
            }
        }
        it = cd_json_iter(cd_json_get(all, "invalid"));
        vec_check(&v, it.left == 3, "the invalid ones");
        while (cd_json_next(&it)) {
            check_invalid(&v, it.val);
        }
    }
    return vec_end(&v);
}
