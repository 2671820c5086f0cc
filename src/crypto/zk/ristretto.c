#include "crypto/zk/ristretto.h"

#include "crypto/zk/point_priv.h"

#include <openssl/evp.h>
#include <sodium.h>

// clang-format off
const cd_point CD_POINT_ZERO = {{{0}}, {{1}}, {{1}}, {{0}}};
const cd_point CD_POINT_BASE = {
    .x = {{0x62d608f25d51a, 0x412a4b4f6592a, 0x75b7171a4b31d, 0x1ff60527118fe, 0x216936d3cd6e5}},
    .y = {{0x6666666666658, 0x4cccccccccccc, 0x1999999999999, 0x3333333333333, 0x6666666666666}},
    .z = {{1}},
    .t = {{0x68ab3a5b7dda3, 0xeea2a5eadbb, 0x2af8df483c27e, 0x332b375274732, 0x67875f0fd78b7}},
};
// clang-format on

/* Decoding and encoding: RFC 9496, 4.3.1 and 4.3.2, with their names. */
cd_err cd_point_get(cd_point *out, const u8 in[32])
{
    cd__fe s;
    if (!cd__fe_get(&s, in) || (in[0] & 1) != 0) {
        return CD_EPOINT;
    }
    cd__fe ss = cd__fe_sq(&s);
    cd__fe u1 = cd__fe_sub(&CD__FE_ONE, &ss);
    cd__fe u2 = cd__fe_add(&CD__FE_ONE, &ss);
    cd__fe u2_sq = cd__fe_sq(&u2);
    cd__fe v = cd__fe_sq(&u1);
    v = cd__fe_mul(&v, &CD__FE_D);
    v = cd__fe_add(&v, &u2_sq);
    v = cd__fe_neg(&v); /* -(d u1^2) - u2^2 */
    cd__fe vu2 = cd__fe_mul(&v, &u2_sq);
    cd__fe invsqrt;
    bool was_square = cd__fe_sqrt_ratio(&invsqrt, &CD__FE_ONE, &vu2);
    cd__fe den_x = cd__fe_mul(&invsqrt, &u2);
    cd__fe den_y = cd__fe_mul(&invsqrt, &den_x);
    den_y = cd__fe_mul(&den_y, &v);
    cd__fe s2 = cd__fe_add(&s, &s);
    cd__fe x = cd__fe_mul(&s2, &den_x);
    x = cd__fe_abs(&x);
    cd__fe y = cd__fe_mul(&u1, &den_y);
    cd__fe t = cd__fe_mul(&x, &y);
    if (!was_square || cd__fe_is_neg(&t) || cd__fe_is_zero(&y)) {
        return CD_EPOINT;
    }
    *out = (cd_point){.x = x, .y = y, .z = CD__FE_ONE, .t = t};
    return CD_OK;
}

void cd_point_put(u8 out[32], const cd_point *a)
{
    cd__fe zy = cd__fe_add(&a->z, &a->y);
    cd__fe z_y = cd__fe_sub(&a->z, &a->y);
    cd__fe u1 = cd__fe_mul(&zy, &z_y);
    cd__fe u2 = cd__fe_mul(&a->x, &a->y);
    cd__fe w = cd__fe_sq(&u2);
    w = cd__fe_mul(&w, &u1);
    cd__fe invsqrt;
    (void)cd__fe_sqrt_ratio(&invsqrt, &CD__FE_ONE, &w);
    cd__fe den1 = cd__fe_mul(&invsqrt, &u1);
    cd__fe den2 = cd__fe_mul(&invsqrt, &u2);
    cd__fe z_inv = cd__fe_mul(&den1, &den2);
    z_inv = cd__fe_mul(&z_inv, &a->t);
    cd__fe ix = cd__fe_mul(&a->x, &CD__FE_SQRT_M1);
    cd__fe iy = cd__fe_mul(&a->y, &CD__FE_SQRT_M1);
    cd__fe enchanted = cd__fe_mul(&den1, &CD__FE_INVSQRT_A_M_D);
    cd__fe tz = cd__fe_mul(&a->t, &z_inv);
    u64 rotate = cd__fe_is_neg(&tz);
    cd__fe x = a->x;
    cd__fe y = a->y;
    cd__fe den = den2;
    cd__fe_select(&x, &iy, rotate);
    cd__fe_select(&y, &ix, rotate);
    cd__fe_select(&den, &enchanted, rotate);
    cd__fe xz = cd__fe_mul(&x, &z_inv);
    cd__fe minus_y = cd__fe_neg(&y);
    cd__fe_select(&y, &minus_y, cd__fe_is_neg(&xz));
    cd__fe d = cd__fe_sub(&a->z, &y);
    cd__fe s = cd__fe_mul(&den, &d);
    s = cd__fe_abs(&s);
    cd__fe_put(out, &s);
}

void cd_point_add(cd_point *out, const cd_point *a, const cd_point *b)
{
    cd__niels n;
    cd__point_to_niels(&n, b);
    cd__point_add_niels(out, a, &n, false);
}

void cd_point_sub(cd_point *out, const cd_point *a, const cd_point *b)
{
    cd__niels n;
    cd__point_to_niels(&n, b);
    cd__point_add_niels(out, a, &n, true);
}

void cd_point_neg(cd_point *out, const cd_point *a)
{
    *out = (cd_point){.x = cd__fe_neg(&a->x), .y = a->y, .z = a->z, .t = cd__fe_neg(&a->t)};
}

static bool products_eq(const cd__fe *a, const cd__fe *b, const cd__fe *c, const cd__fe *d)
{
    cd__fe ab = cd__fe_mul(a, b);
    cd__fe cd = cd__fe_mul(c, d);
    cd__fe diff = cd__fe_sub(&ab, &cd);
    return cd__fe_is_zero(&diff);
}

bool cd_point_eq(const cd_point *a, const cd_point *b)
{
    /* Both are computed, whatever the first result is. */
    bool is_crossed = products_eq(&a->x, &b->y, &a->y, &b->x);
    bool is_straight = products_eq(&a->x, &b->x, &a->y, &b->y);
    return ((u32)is_crossed | (u32)is_straight) != 0;
}

bool cd_point_is_zero(const cd_point *a)
{
    bool is_x_zero = cd__fe_is_zero(&a->x);
    bool is_y_zero = cd__fe_is_zero(&a->y);
    return ((u32)is_x_zero | (u32)is_y_zero) != 0;
}

/* Decodes what libsodium gave, which is always a canonical encoding. */
static void take_sodium(cd_point *out, const u8 in[32])
{
    cd_err e = cd_point_get(out, in);
    CD_ASSERT(e == CD_OK);
}

void cd_point_map(cd_point *out, const u8 in[64])
{
    u8 bytes[32];
    int failed = crypto_core_ristretto255_from_hash(bytes, in);
    CD_ASSERT(failed == 0);
    take_sodium(out, bytes);
}

void cd_point_mul(cd_point *out, const cd_scalar *k, const cd_point *a)
{
    u8 scalar[32];
    u8 point[32];
    u8 product[32];
    cd_scalar_put(scalar, k);
    cd_point_put(point, a);
    /* libsodium refuses a product that is the identity. */
    if (crypto_scalarmult_ristretto255(product, scalar, point) == 0) {
        take_sodium(out, product);
    } else {
        *out = CD_POINT_ZERO;
    }
    sodium_memzero(scalar, sizeof scalar);
}

void cd_pedersen_base(cd_point *out)
{
    u8 base[32];
    u8 digest[64];
    cd_point_put(base, &CD_POINT_BASE);
    int ok = EVP_Digest(base, sizeof base, digest, NULL, EVP_sha3_512(), NULL);
    CD_ASSERT(ok == 1);
    cd_point_map(out, digest);
}

void cd_pedersen(cd_point *out, const cd_scalar *value, const cd_scalar *blinding)
{
    cd_point second;
    cd_point a;
    cd_point b;
    cd_pedersen_base(&second);
    cd_point_mul(&a, value, &CD_POINT_BASE);
    cd_point_mul(&b, blinding, &second);
    cd_point_add(out, &a, &b);
}
