#include "crypto/zk/voprf.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "crypto/zk/msm.h"

#include <openssl/evp.h>

#define SHA512_BLOCK 128
#define SUITE        "-ristretto255-SHA512"

static void sha512(u8 out[64], cd_bytes in)
{
    int ok = EVP_Digest(in.p, in.n, out, NULL, EVP_sha512(), NULL);
    CD_ASSERT(ok == 1);
}

/* Appends a length of two bytes, then the bytes. */
static void put_sized(cd_buf *b, cd_bytes x)
{
    u8 len[2];
    CD_ASSERT(x.n <= UINT16_MAX);
    cd_put_be16(len, (u16)x.n);
    cd_buf_put(b, cd_bytes_of(len, 2));
    cd_buf_put(b, x);
}

static void put_point(cd_buf *b, const cd_point *p)
{
    u8 bytes[32];
    cd_point_put(bytes, p);
    put_sized(b, cd_bytes_of(bytes, 32));
}

/* Appends prefix || "OPRFV1-" || mode || "-ristretto255-SHA512". */
static void put_domain(cd_buf *b, const char *prefix, cd_voprf_mode mode)
{
    cd_buf_str(b, prefix);
    cd_buf_str(b, "OPRFV1-");
    cd_buf_u8(b, (u8)mode);
    cd_buf_str(b, SUITE);
}

/* Computes expand_message_xmd with SHA-512, 64 bytes [RFC 9380, 5.3.1]. */
static void expand(u8 out[64], cd_bytes message, const char *prefix, cd_voprf_mode mode)
{
    cd_buf domain = {0};
    cd_buf in = {0};
    u8 first[64];
    put_domain(&domain, prefix, mode);
    cd_buf_u8(&domain, (u8)domain.n);
    cd_buf_fill(&in, 0, SHA512_BLOCK);
    cd_buf_put(&in, message);
    cd_buf_put(&in, cd_bytes_of("\x00\x40\x00", 3));
    cd_buf_put(&in, cd_buf_bytes(&domain));
    sha512(first, cd_buf_bytes(&in));
    cd_wipe(in.p, in.n);
    cd_buf_clear(&in);
    cd_buf_put(&in, cd_bytes_of(first, 64));
    cd_buf_u8(&in, 1);
    cd_buf_put(&in, cd_buf_bytes(&domain));
    sha512(out, cd_buf_bytes(&in));
    cd_buf_fini(&in);
    cd_buf_fini(&domain);
}

static cd_err hash_to_group(cd_point *out, cd_voprf_mode mode, cd_bytes input)
{
    u8 wide[64];
    if (input.n > CD_VOPRF_INPUT_MAX) {
        return CD_EINVAL;
    }
    expand(wide, input, "HashToGroup-", mode);
    cd_point_map(out, wide);
    return cd_point_is_zero(out) ? CD_EINVAL : CD_OK;
}

static cd_scalar hash_to_scalar(cd_voprf_mode mode, cd_bytes input, const char *prefix)
{
    u8 wide[64];
    expand(wide, input, prefix, mode);
    return cd_scalar_wide(wide);
}

void cd_voprf_key_set(cd_voprf_key *out, const cd_scalar *secret)
{
    out->secret = *secret;
    cd_point_mul(&out->public, secret, &CD_POINT_BASE);
}

void cd_voprf_derive(cd_voprf_key *out, cd_voprf_mode mode, const u8 seed[32], cd_bytes info)
{
    cd_buf in = {0};
    cd_scalar secret = {{0}};
    cd_buf_put(&in, cd_bytes_of(seed, 32));
    put_sized(&in, info);
    cd_buf_u8(&in, 0);
    for (int counter = 0; cd_scalar_is_zero(&secret); counter++) {
        CD_ASSERT(counter < 256);
        in.p[in.n - 1] = (u8)counter;
        secret = hash_to_scalar(mode, cd_buf_bytes(&in), "DeriveKeyPair");
    }
    cd_wipe(in.p, in.n);
    cd_buf_fini(&in);
    cd_voprf_key_set(out, &secret);
}

cd_err cd_voprf_blind(cd_point *out, cd_voprf_mode mode, cd_bytes input, const cd_scalar *blind)
{
    cd_point p;
    CD_TRY(hash_to_group(&p, mode, input));
    cd_point_mul(out, blind, &p);
    return CD_OK;
}

/* Computes the weights that combine many pairs into one [RFC 9497, 2.2.1]. */
static void weigh(cd_scalar *weight, const cd_point *public, const cd_point *blinded, const cd_point *evaluated,
                  usize cnt)
{
    cd_buf in = {0};
    cd_buf domain = {0};
    u8 seed[64];
    put_domain(&domain, "Seed-", CD_VOPRF_VERIFIABLE);
    put_point(&in, public);
    put_sized(&in, cd_buf_bytes(&domain));
    sha512(seed, cd_buf_bytes(&in));
    for (usize i = 0; i < cnt; i++) {
        u8 idx[2];
        cd_put_be16(idx, (u16)i);
        cd_buf_clear(&in);
        put_sized(&in, cd_bytes_of(seed, 64));
        cd_buf_put(&in, cd_bytes_of(idx, 2));
        put_point(&in, &blinded[i]);
        put_point(&in, &evaluated[i]);
        cd_buf_str(&in, "Composite");
        weight[i] = hash_to_scalar(CD_VOPRF_VERIFIABLE, cd_buf_bytes(&in), "HashToScalar-");
    }
    cd_buf_fini(&domain);
    cd_buf_fini(&in);
}

static cd_scalar challenge(const cd_point *public, const cd_point *m, const cd_point *z, const cd_point *t2,
                           const cd_point *t3)
{
    cd_buf in = {0};
    put_point(&in, public);
    put_point(&in, m);
    put_point(&in, z);
    put_point(&in, t2);
    put_point(&in, t3);
    cd_buf_str(&in, "Challenge");
    cd_scalar c = hash_to_scalar(CD_VOPRF_VERIFIABLE, cd_buf_bytes(&in), "HashToScalar-");
    cd_buf_fini(&in);
    return c;
}

void cd_voprf_evaluate(cd_point *out, u8 proof[CD_VOPRF_PROOF], const cd_voprf_key *key, const cd_point *blinded,
                       usize cnt, const cd_scalar *nonce)
{
    CD_ASSERT(cnt >= 1 && cnt <= CD_VOPRF_BATCH_MAX);
    for (usize i = 0; i < cnt; i++) {
        cd_point_mul(&out[i], &key->secret, &blinded[i]);
    }
    if (proof == NULL) {
        return;
    }
    cd_scalar *weight = cd_new_array(cd_scalar, cnt);
    cd_point m;
    cd_point z;
    cd_point t2;
    cd_point t3;
    weigh(weight, &key->public, blinded, out, cnt);
    cd_msm(&m, weight, blinded, cnt);
    cd_point_mul(&z, &key->secret, &m);
    cd_point_mul(&t2, nonce, &CD_POINT_BASE);
    cd_point_mul(&t3, nonce, &m);
    cd_scalar c = challenge(&key->public, &m, &z, &t2, &t3);
    cd_scalar ck = cd_scalar_mul(&c, &key->secret);
    cd_scalar s = cd_scalar_sub(nonce, &ck);
    cd_scalar_put(proof, &c);
    cd_scalar_put(proof + 32, &s);
    cd_free(weight);
}

/* Computes a * p + b * q. */
static void sum_two(cd_point *out, const cd_scalar *a, const cd_point *p, const cd_scalar *b, const cd_point *q)
{
    cd_scalar k[2] = {*a, *b};
    cd_point x[2] = {*p, *q};
    cd_msm(out, k, x, 2);
}

cd_err cd_voprf_check(const u8 proof[CD_VOPRF_PROOF], const cd_point *public, const cd_point *blinded,
                      const cd_point *evaluated, usize cnt)
{
    cd_scalar c;
    cd_scalar s;
    CD_TRY(cd_scalar_get(&c, proof));
    CD_TRY(cd_scalar_get(&s, proof + 32));
    if (cnt == 0 || cnt > CD_VOPRF_BATCH_MAX) {
        return CD_EPROOF;
    }
    cd_scalar *weight = cd_new_array(cd_scalar, cnt);
    cd_point m;
    cd_point z;
    cd_point t2;
    cd_point t3;
    weigh(weight, public, blinded, evaluated, cnt);
    cd_msm(&m, weight, blinded, cnt);
    cd_msm(&z, weight, evaluated, cnt);
    cd_free(weight);
    sum_two(&t2, &s, &CD_POINT_BASE, &c, public);
    sum_two(&t3, &s, &m, &c, &z);
    cd_scalar want = challenge(public, &m, &z, &t2, &t3);
    return cd_scalar_eq(&c, &want) ? CD_OK : CD_EPROOF;
}

static void output(u8 out[CD_VOPRF_OUTPUT], cd_bytes input, const cd_point *n)
{
    cd_buf in = {0};
    put_sized(&in, input);
    put_point(&in, n);
    cd_buf_str(&in, "Finalize");
    sha512(out, cd_buf_bytes(&in));
    cd_wipe(in.p, in.n);
    cd_buf_fini(&in);
}

cd_err cd_voprf_finalize(u8 out[CD_VOPRF_OUTPUT], cd_bytes input, const cd_scalar *blind, const cd_point *evaluated)
{
    if (input.n > CD_VOPRF_INPUT_MAX) {
        return CD_EINVAL;
    }
    cd_scalar inv = cd_scalar_inv(blind);
    cd_point n;
    cd_point_mul(&n, &inv, evaluated);
    output(out, input, &n);
    return CD_OK;
}

cd_err cd_voprf_compute(u8 out[CD_VOPRF_OUTPUT], cd_voprf_mode mode, const cd_voprf_key *key, cd_bytes input)
{
    cd_point p;
    cd_point n;
    CD_TRY(hash_to_group(&p, mode, input));
    cd_point_mul(&n, &key->secret, &p);
    output(out, input, &n);
    return CD_OK;
}
