#include "crypto/zk/fe25519.h"

// clang-format off
const cd__fe CD__FE_ONE = {{1, 0, 0, 0, 0}};
const cd__fe CD__FE_D = {{0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff}};
const cd__fe CD__FE_2D = {{0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977, 0x2406d9dc56dff}};
const cd__fe CD__FE_SQRT_M1 = {{0x61b274a0ea0b0, 0xd5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d}};
const cd__fe CD__FE_INVSQRT_A_M_D =
    {{0xfdaa805d40ea, 0x2eb482e57d339, 0x7610274bc58, 0x6510b613dc8ff, 0x786c8905cfaff}};
// clang-format on

void cd__fe_put(u8 out[32], const cd__fe *a)
{
    cd__fe r = cd__fe_carry(a->v[0], a->v[1], a->v[2], a->v[3], a->v[4]);
    r = cd__fe_carry(r.v[0], r.v[1], r.v[2], r.v[3], r.v[4]);
    /* Now r < 2^255 + 19 < 2p; q is 1 when r is not below p, else 0. */
    u64 q = (r.v[0] + 19) >> 51;
    for (int i = 1; i < 5; i++) {
        q = (r.v[i] + q) >> 51;
    }
    u64 c = 19 * q;
    for (int i = 0; i < 5; i++) {
        c += r.v[i];
        r.v[i] = c & CD__FE_MASK;
        c >>= 51;
    }
    cd_put_le64(out, r.v[0] | r.v[1] << 51);
    cd_put_le64(out + 8, r.v[1] >> 13 | r.v[2] << 38);
    cd_put_le64(out + 16, r.v[2] >> 26 | r.v[3] << 25);
    cd_put_le64(out + 24, r.v[3] >> 39 | r.v[4] << 12);
}

bool cd__fe_get(cd__fe *out, const u8 in[32])
{
    u64 w0 = cd_le64(in);
    u64 w1 = cd_le64(in + 8);
    u64 w2 = cd_le64(in + 16);
    u64 w3 = cd_le64(in + 24);
    out->v[0] = w0 & CD__FE_MASK;
    out->v[1] = (w0 >> 51 | w1 << 13) & CD__FE_MASK;
    out->v[2] = (w1 >> 38 | w2 << 26) & CD__FE_MASK;
    out->v[3] = (w2 >> 25 | w3 << 39) & CD__FE_MASK;
    out->v[4] = w3 >> 12 & CD__FE_MASK;
    u8 back[32];
    cd__fe_put(back, out);
    return memcmp(back, in, 32) == 0;
}

bool cd__fe_is_neg(const cd__fe *a)
{
    u8 b[32];
    cd__fe_put(b, a);
    return (b[0] & 1) != 0;
}

bool cd__fe_is_zero(const cd__fe *a)
{
    u8 b[32];
    cd__fe_put(b, a);
    u8 any = 0;
    for (int i = 0; i < 32; i++) {
        any |= b[i];
    }
    return any == 0;
}

cd__fe cd__fe_abs(const cd__fe *a)
{
    cd__fe r = *a;
    cd__fe minus = cd__fe_neg(a);
    cd__fe_select(&r, &minus, cd__fe_is_neg(a));
    return r;
}

static cd__fe sq_times(const cd__fe *a, int n)
{
    cd__fe r = cd__fe_sq(a);
    for (int i = 1; i < n; i++) {
        r = cd__fe_sq(&r);
    }
    return r;
}

/* Gives a^(2^250 - 1), and a^11 in *a11. */
static cd__fe pow_250(cd__fe *a11, const cd__fe *a)
{
    cd__fe a2 = cd__fe_sq(a);
    cd__fe a9 = sq_times(&a2, 2);
    a9 = cd__fe_mul(&a9, a);
    *a11 = cd__fe_mul(&a9, &a2);
    cd__fe t = cd__fe_sq(a11);
    cd__fe e5 = cd__fe_mul(&t, &a9); /* a^(2^5 - 1) */
    t = sq_times(&e5, 5);
    cd__fe e10 = cd__fe_mul(&t, &e5);
    t = sq_times(&e10, 10);
    cd__fe e20 = cd__fe_mul(&t, &e10);
    t = sq_times(&e20, 20);
    t = cd__fe_mul(&t, &e20);
    t = sq_times(&t, 10);
    cd__fe e50 = cd__fe_mul(&t, &e10);
    t = sq_times(&e50, 50);
    cd__fe e100 = cd__fe_mul(&t, &e50);
    t = sq_times(&e100, 100);
    t = cd__fe_mul(&t, &e100);
    t = sq_times(&t, 50);
    return cd__fe_mul(&t, &e50);
}

cd__fe cd__fe_inv(const cd__fe *a)
{
    cd__fe a11;
    cd__fe t = pow_250(&a11, a);
    t = sq_times(&t, 5);
    return cd__fe_mul(&t, &a11); /* a^(p - 2), p - 2 = 2^255 - 21 */
}

static bool fe_eq(const cd__fe *a, const cd__fe *b)
{
    cd__fe d = cd__fe_sub(a, b);
    return cd__fe_is_zero(&d);
}

bool cd__fe_sqrt_ratio(cd__fe *out, const cd__fe *u, const cd__fe *v)
{
    cd__fe v3 = cd__fe_sq(v);
    v3 = cd__fe_mul(&v3, v);
    cd__fe v7 = cd__fe_sq(&v3);
    v7 = cd__fe_mul(&v7, v);
    cd__fe uv7 = cd__fe_mul(u, &v7);
    cd__fe unused;
    cd__fe t = pow_250(&unused, &uv7);
    t = sq_times(&t, 2);
    t = cd__fe_mul(&t, &uv7); /* (u v^7)^((p - 5) / 8) */
    cd__fe r = cd__fe_mul(u, &v3);
    r = cd__fe_mul(&r, &t);
    cd__fe check = cd__fe_sq(&r);
    check = cd__fe_mul(&check, v);
    cd__fe minus_u = cd__fe_neg(u);
    cd__fe minus_ui = cd__fe_mul(&minus_u, &CD__FE_SQRT_M1);
    bool is_root = fe_eq(&check, u);
    bool is_flipped = fe_eq(&check, &minus_u);
    bool is_flipped_i = fe_eq(&check, &minus_ui);
    cd__fe ri = cd__fe_mul(&r, &CD__FE_SQRT_M1);
    cd__fe_select(&r, &ri, (u64)is_flipped | (u64)is_flipped_i);
    *out = cd__fe_abs(&r);
    return is_root | is_flipped;
}
