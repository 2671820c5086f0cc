#include "types/cert.h"

#include "base/rd.h"
#include "crypto/ec/p256.h"
#include "crypto/hash/ripemd160.h"
#include "crypto/hash/sha2.h"
#include "crypto/x509/x509.h"

enum {
    TAG_INTEGER = 0x02,
    TAG_BIT_STRING = 0x03,
    TAG_OID = 0x06,
    TAG_SEQUENCE = 0x30,
    TAG_VERSION = 0xa0, /* context tag 0, constructed */
    POINT_LEN = 65,
    EXPONENT = 65537,
};

void cd_cert_node_id(cd_node_id *out, cd_bytes der)
{
    cd_hash32 sha;
    cd_hash20 hash;
    cd_sha256(&sha, der);
    cd_ripemd160(&hash, cd_bytes_of(sha.b, sizeof sha.b));
    memcpy(out->b, hash.b, sizeof out->b);
}

/* --- DER, as strict as the original's reader --- */

/* Reads the length octets; false when they are not in their shortest form, or name more bytes than are left. */
static bool der_length(cd_rd *rd, usize *out)
{
    usize n = cd_rd_u8(rd);
    if (n >= 0x80) {
        usize cnt = n & 0x7f;
        n = 0;
        if (cnt == 0 || cnt > 4) {
            return false;
        }
        for (usize i = 0; i < cnt; i++) {
            n = n << 8 | cd_rd_u8(rd);
        }
        if (n < 0x80 || n >> (8 * (cnt - 1)) == 0) {
            return false;
        }
    }
    *out = n;
    return rd->err == CD_OK && n <= cd_rd_left(rd);
}

/* Takes one element with this tag off the front of in. */
static bool der_take(cd_rd *in, cd_rd *content, u8 tag)
{
    usize n;
    if (cd_rd_u8(in) != tag || !der_length(in, &n)) {
        return false;
    }
    *content = cd_rd_init(cd_rd_take(in, n));
    return true;
}

static bool der_skip(cd_rd *in, u8 tag)
{
    cd_rd content;
    return der_take(in, &content, tag);
}

static cd_bytes rest_of(const cd_rd *rd)
{
    return cd_bytes_of(rd->p, cd_rd_left(rd));
}

/* Takes an integer, which must be in its shortest form; *out is two's complement. */
static bool der_integer(cd_rd *in, cd_bytes *out)
{
    cd_rd content;
    if (!der_take(in, &content, TAG_INTEGER)) {
        return false;
    }
    *out = rest_of(&content);
    return out->n != 0 &&
           (out->n == 1 || !((out->p[0] == 0 && out->p[1] < 0x80) || (out->p[0] == 0xff && out->p[1] >= 0x80)));
}

/* Says whether each number of an object identifier has at most 31 bits, in groups of seven, without a zero group in
 * front. */
static bool oid_is_good(cd_bytes oid)
{
    if (oid.n == 0) {
        return false;
    }
    for (usize i = 0; i < oid.n;) {
        u64 v = 0;
        u8 b = 0x80;
        for (usize first = i; b >= 0x80; i++) {
            if (i == oid.n || i == first + 5 || v >= 1u << 24 || (i == first && oid.p[i] == 0x80)) {
                return false;
            }
            b = oid.p[i];
            v = v << 7 | (b & 0x7f);
        }
    }
    return true;
}

/* Takes a string of bits, and shifts it right until its last bit is the lowest of the last byte. */
static bool der_bits(cd_rd *in, u8 out[CD_CERT_LEN_MAX], usize *n)
{
    cd_rd content;
    if (!der_take(in, &content, TAG_BIT_STRING) || cd_rd_left(&content) == 0) {
        return false;
    }
    unsigned pad = cd_rd_u8(&content);
    cd_bytes b = rest_of(&content);
    if (pad > 7 || (b.n == 0 && pad != 0) || (b.n != 0 && (b.p[b.n - 1] & ((1u << pad) - 1)) != 0)) {
        return false;
    }
    for (usize i = 0; i < b.n; i++) {
        unsigned above = i == 0 ? 0 : b.p[i - 1];
        out[i] = (u8)((above << 8 | b.p[i]) >> pad);
    }
    *n = b.n;
    return true;
}

/* --- keys --- */

/* Gives the exponent as a number; false when it has more than 64 bits. */
static bool exponent_of(i64 *out, cd_bytes e)
{
    if (e.n > 8) {
        return false;
    }
    u64 v = e.p[0] >= 0x80 ? UINT64_MAX : 0;
    for (usize i = 0; i < e.n; i++) {
        v = v << 8 | e.p[i];
    }
    *out = (i64)v;
    return true;
}

static usize bits_of(cd_bytes n)
{
    usize bits = n.n * 8;
    for (unsigned top = n.p[0]; bits != 0 && top < 0x80; top <<= 1) {
        bits--;
    }
    return bits;
}

static cd_err read_rsa(cd_cert *out, cd_bytes key, cd_errinfo *why)
{
    cd_rd in = cd_rd_init(key);
    cd_bytes n;
    cd_bytes e;
    i64 exponent;
    if (!der_take(&in, &in, TAG_SEQUENCE)) {
        return cd_fail(why, CD_EFORMAT, "staking: invalid RSA public key");
    }
    if (!der_integer(&in, &n)) {
        return cd_fail(why, CD_EFORMAT, "staking: invalid RSA modulus");
    }
    if (!der_integer(&in, &e) || !exponent_of(&exponent, e)) {
        return cd_fail(why, CD_EFORMAT, "staking: invalid RSA public exponent");
    }
    if (n.p[0] >= 0x80 || (n.n == 1 && n.p[0] == 0)) {
        return cd_fail(why, CD_EKEY, "staking: RSA modulus is not a positive number");
    }
    n = n.p[0] == 0 ? cd_bytes_sub(n, 1, n.n - 1) : n;
    usize bits = bits_of(n);
    if (bits != 2048 && bits != 4096) {
        return cd_fail(why, CD_EKEY, "staking: unsupported RSA modulus bitlen: %zu", bits);
    }
    if ((n.p[n.n - 1] & 1) == 0) {
        return cd_fail(why, CD_EKEY, "staking: RSA modulus is an even number");
    }
    if (exponent != EXPONENT) {
        return cd_fail(why, CD_EKEY, "staking: unsupported RSA public exponent: %lld", (long long)exponent);
    }
    out->kind = CD_CERT_RSA;
    out->key_len = (u32)n.n;
    memcpy(out->key, n.p, n.n);
    return CD_OK;
}

static cd_err read_p256(cd_cert *out, cd_bytes key, cd_errinfo *why)
{
    if (key.n != POINT_LEN || key.p[0] != 0x04 || !cd_p256_is_point(key.p + 1)) {
        return cd_fail(why, CD_EKEY, "staking: failed to unmarshal elliptic curve point");
    }
    out->kind = CD_CERT_P256;
    out->key_len = POINT_LEN - 1;
    memcpy(out->key, key.p + 1, POINT_LEN - 1);
    return CD_OK;
}

static cd_err read_key(cd_cert *out, cd_rd *in, cd_errinfo *why)
{
    static const u8 rsa[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01};
    static const u8 ec[] = {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01};
    cd_rd algorithm;
    cd_rd oid;
    u8 bits[CD_CERT_LEN_MAX];
    usize n = 0;
    if (!der_take(in, in, TAG_SEQUENCE)) {
        return cd_fail(why, CD_EFORMAT, "staking: malformed spki");
    }
    if (!der_take(in, &algorithm, TAG_SEQUENCE)) {
        return cd_fail(why, CD_EFORMAT, "staking: malformed public key algorithm identifier");
    }
    if (!der_take(&algorithm, &oid, TAG_OID) || !oid_is_good(rest_of(&oid))) {
        return cd_fail(why, CD_EFORMAT, "staking: malformed oid");
    }
    if (!der_bits(in, bits, &n)) {
        return cd_fail(why, CD_EFORMAT, "staking: malformed subject public key");
    }
    if (cd_bytes_eq(rest_of(&oid), cd_bytes_of(rsa, sizeof rsa))) {
        return read_rsa(out, cd_bytes_of(bits, n), why);
    }
    if (cd_bytes_eq(rest_of(&oid), cd_bytes_of(ec, sizeof ec))) {
        return read_p256(out, cd_bytes_of(bits, n), why);
    }
    return cd_fail(why, CD_EKEY, "staking: unknown public key algorithm");
}

/* --- the certificate --- */

cd_err cd_cert_parse(cd_cert *out, cd_bytes der, cd_errinfo *why)
{
    /* The elements before the key, and their names in error texts (the original calls the subject an issuer, too). */
    static const struct {
        u8 tag;
        const char *name;
    } skipped[] = {{TAG_INTEGER, "serial number"},
                   {TAG_SEQUENCE, "signature algorithm identifier"},
                   {TAG_SEQUENCE, "issuer"},
                   {TAG_SEQUENCE, "validity"},
                   {TAG_SEQUENCE, "issuer"}};
    cd_rd in = cd_rd_init(der);
    cd_cert cert = {.key_len = 0};
    if (der.n > CD_CERT_LEN_MAX) {
        return cd_fail(why, CD_ELIMIT, "staking: certificate length is greater than %d", CD_CERT_LEN_MAX);
    }
    if (!der_take(&in, &in, TAG_SEQUENCE)) {
        return cd_fail(why, CD_EFORMAT, "staking: malformed certificate");
    }
    if (!der_take(&in, &in, TAG_SEQUENCE)) {
        return cd_fail(why, CD_EFORMAT, "staking: malformed tbs certificate");
    }
    if (cd_rd_left(&in) != 0 && *in.p == TAG_VERSION && !der_skip(&in, TAG_VERSION)) {
        return cd_fail(why, CD_EFORMAT, "staking: malformed version");
    }
    for (usize i = 0; i < CD_COUNT(skipped); i++) {
        if (!der_skip(&in, skipped[i].tag)) {
            return cd_fail(why, CD_EFORMAT, "staking: malformed %s", skipped[i].name);
        }
    }
    CD_TRY(read_key(&cert, &in, why));
    cd_cert_node_id(&cert.node_id, der);
    *out = cert;
    return CD_OK;
}

/* --- signatures --- */

/* Takes an integer that is not negative and below 2^256, and writes it as 32 bytes. */
static bool scalar_of(cd_rd *in, u8 out[32])
{
    cd_bytes v;
    if (!der_integer(in, &v) || v.p[0] >= 0x80) {
        return false;
    }
    v = v.p[0] == 0 ? cd_bytes_sub(v, 1, v.n - 1) : v;
    if (v.n > 32) {
        return false;
    }
    memset(out, 0, 32);
    if (v.n != 0) {
        memcpy(out + 32 - v.n, v.p, v.n);
    }
    return true;
}

static bool p256_check(const cd_cert *cert, const cd_hash32 *hash, cd_bytes sig)
{
    cd_rd outer = cd_rd_init(sig);
    cd_rd in;
    u8 rs[64];
    return der_take(&outer, &in, TAG_SEQUENCE) && cd_rd_left(&outer) == 0 && scalar_of(&in, rs) &&
           scalar_of(&in, rs + 32) && cd_rd_left(&in) == 0 && cd_p256_verify(hash, rs, cert->key);
}

cd_err cd_cert_check(const cd_cert *cert, cd_bytes msg, cd_bytes sig, cd_errinfo *why)
{
    static const u8 exponent[] = {0x01, 0x00, 0x01};
    cd_hash32 hash;
    cd_sha256(&hash, msg);
    switch (cert->kind) {
    case CD_CERT_RSA:
        return cd_rsa_verify(&hash, sig, cd_bytes_of(cert->key, cert->key_len), cd_bytes_of(exponent, sizeof exponent))
                   ? CD_OK
                   : cd_fail(why, CD_ESIG, "crypto/rsa: verification error");
    case CD_CERT_P256:
        return p256_check(cert, &hash, sig) ? CD_OK : cd_fail(why, CD_ESIG, "staking: ECDSA verification failure");
    }
    CD_UNREACHABLE();
}
