#include "crypto/zk/scalar.h"

#include "base/mem/mem.h"

static const u64 ORDER[4] = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};
#define ORDER_INV 0xd2b51da312547e1bULL /* -1 / order mod 2^64 */

/* 2^256, 2^512 and 2^768 modulo the order. */
const cd_scalar CD_SCALAR_ONE = {{0xd6ec31748d98951d, 0xc6ef5bf4737dcf70, 0xfffffffffffffffe, 0x0fffffffffffffff}};
static const cd_scalar R2 = {{0xa40611e3449c0f01, 0xd00e1ba768859347, 0xceec73d217f5be65, 0x0399411b7c309a3d}};
static const cd_scalar R3 = {{0x2a9e49687b83a2db, 0x278324e6aef7f3ec, 0x8065dc6c04ec5b65, 0x0e530b773599cec7}};

/* Gives a - order where that is not negative, else a; a must be below twice the order. */
static cd_scalar reduce_once(const u64 a[4])
{
    cd_scalar r;
    u64 borrow = 0;
    for (int i = 0; i < 4; i++) {
        u128 d = (u128)a[i] - ORDER[i] - borrow;
        r.w[i] = (u64)d;
        borrow = (u64)(d >> 64) & 1;
    }
    u64 mask = 0 - borrow;
    for (int i = 0; i < 4; i++) {
        r.w[i] ^= mask & (r.w[i] ^ a[i]);
    }
    return r;
}

/* Gives a * b / 2^256 modulo the order, for any a and for b below the order. */
static cd_scalar mont_mul(const u64 a[4], const u64 b[4])
{
    u64 t[5] = {0};
    for (int i = 0; i < 4; i++) {
        u128 c = 0;
        for (int j = 0; j < 4; j++) {
            c += (u128)a[i] * b[j] + t[j];
            t[j] = (u64)c;
            c >>= 64;
        }
        t[4] += (u64)c;
        u64 m = t[0] * ORDER_INV;
        c = ((u128)m * ORDER[0] + t[0]) >> 64;
        for (int j = 1; j < 4; j++) {
            c += (u128)m * ORDER[j] + t[j];
            t[j - 1] = (u64)c;
            c >>= 64;
        }
        c += t[4];
        t[3] = (u64)c;
        t[4] = (u64)(c >> 64);
    }
    return reduce_once(t);
}

cd_err cd_scalar_get(cd_scalar *out, const u8 in[32])
{
    u64 w[4] = {cd_le64(in), cd_le64(in + 8), cd_le64(in + 16), cd_le64(in + 24)};
    u64 borrow = 0;
    for (int i = 0; i < 4; i++) {
        borrow = (u64)(((u128)w[i] - ORDER[i] - borrow) >> 64) & 1;
    }
    if (borrow == 0) {
        return CD_ECANON;
    }
    *out = mont_mul(w, R2.w);
    return CD_OK;
}

void cd_scalar_put(u8 out[32], const cd_scalar *a)
{
    static const u64 one[4] = {1};
    cd_scalar plain = mont_mul(a->w, one);
    for (usize i = 0; i < 4; i++) {
        cd_put_le64(out + 8 * i, plain.w[i]);
    }
}

cd_scalar cd_scalar_wide(const u8 in[64])
{
    u64 w[8];
    for (usize i = 0; i < 8; i++) {
        w[i] = cd_le64(in + 8 * i);
    }
    cd_scalar low = mont_mul(w, R2.w);
    cd_scalar high = mont_mul(w + 4, R3.w);
    return cd_scalar_add(&low, &high);
}

cd_scalar cd_scalar_u64(u64 v)
{
    u64 w[4] = {v};
    return mont_mul(w, R2.w);
}

cd_scalar cd_scalar_add(const cd_scalar *a, const cd_scalar *b)
{
    u64 t[4];
    u128 c = 0;
    for (int i = 0; i < 4; i++) {
        c += (u128)a->w[i] + b->w[i];
        t[i] = (u64)c;
        c >>= 64;
    }
    return reduce_once(t);
}

cd_scalar cd_scalar_sub(const cd_scalar *a, const cd_scalar *b)
{
    cd_scalar r;
    u64 borrow = 0;
    for (int i = 0; i < 4; i++) {
        u128 d = (u128)a->w[i] - b->w[i] - borrow;
        r.w[i] = (u64)d;
        borrow = (u64)(d >> 64) & 1;
    }
    u64 mask = 0 - borrow;
    u128 c = 0;
    for (int i = 0; i < 4; i++) {
        c += (u128)r.w[i] + (ORDER[i] & mask);
        r.w[i] = (u64)c;
        c >>= 64;
    }
    return r;
}

cd_scalar cd_scalar_neg(const cd_scalar *a)
{
    static const cd_scalar zero;
    return cd_scalar_sub(&zero, a);
}

cd_scalar cd_scalar_mul(const cd_scalar *a, const cd_scalar *b)
{
    return mont_mul(a->w, b->w);
}

bool cd_scalar_eq(const cd_scalar *a, const cd_scalar *b)
{
    return ((a->w[0] ^ b->w[0]) | (a->w[1] ^ b->w[1]) | (a->w[2] ^ b->w[2]) | (a->w[3] ^ b->w[3])) == 0;
}

bool cd_scalar_is_zero(const cd_scalar *a)
{
    return (a->w[0] | a->w[1] | a->w[2] | a->w[3]) == 0;
}

/* Computes a^(order - 2), four bits of the exponent at a time; the exponent is public. */
cd_scalar cd_scalar_inv(const cd_scalar *a)
{
    cd_scalar power[16] = {CD_SCALAR_ONE};
    for (int i = 1; i < 16; i++) {
        power[i] = cd_scalar_mul(&power[i - 1], a);
    }
    cd_scalar r = CD_SCALAR_ONE;
    for (int i = 63; i >= 0; i--) {
        for (int j = 0; j < 4; j++) {
            r = cd_scalar_mul(&r, &r);
        }
        u64 word = ORDER[i / 16] - (i < 16 ? 2 : 0);
        r = cd_scalar_mul(&r, &power[word >> (i % 16 * 4) & 15]);
    }
    return r;
}

void cd_scalar_inv_many(cd_scalar *a, usize cnt)
{
    if (cnt == 0) {
        return;
    }
    cd_scalar *before = cd_new_array(cd_scalar, cnt); /* before[i]: the product of the numbers before the i-th */
    cd_scalar all = CD_SCALAR_ONE;
    for (usize i = 0; i < cnt; i++) {
        before[i] = all;
        all = cd_scalar_mul(&all, &a[i]);
    }
    all = cd_scalar_inv(&all);
    for (usize i = cnt; i-- > 0;) {
        cd_scalar own = cd_scalar_mul(&all, &before[i]);
        all = cd_scalar_mul(&all, &a[i]);
        a[i] = own;
    }
    cd_free(before);
}
