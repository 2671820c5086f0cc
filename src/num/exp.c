#include "num/exp.h"

/* Exponents of fewer bits are worked on bit by bit, because the table of the window method costs 14 products. */
#define WINDOW_FROM_BITS 48

/* r = r^(2^times). */
CD_INLINE void square(cd_u256 *r, u32 times)
{
    u64 w0 = r->w[0];
    u64 w1 = r->w[1];
    u64 w2 = r->w[2];
    u64 w3 = r->w[3];
    for (; times > 0; times--) {
        cd__num_sqr4lo(&w0, &w1, &w2, &w3);
    }
    r->w[0] = w0;
    r->w[1] = w1;
    r->w[2] = w2;
    r->w[3] = w3;
}

static void exp_short(cd_u256 *out, const cd_u256 *base, const cd_u256 *e, u32 bits)
{
    cd_u256 r;
    cd_u256_set(&r, base);
    for (u32 i = bits - 1; i-- > 0;) {
        square(&r, 1);
        if (e->w[i >> 6] >> (i & 63) & 1) {
            cd_u256_mul(&r, &r, base);
        }
    }
    cd_u256_set(out, &r);
}

/* Takes four bits of the exponent at a time and multiplies even if they are 0: a product with 1 costs less than a
 * mispredicted branch. */
static void exp_window(cd_u256 *out, const cd_u256 *base, const cd_u256 *e, u32 bits)
{
    cd_u256 table[16];
    cd_u256_set_u64(&table[0], 1);
    cd_u256_set(&table[1], base);
    for (int i = 2; i < 16; i++) {
        cd_u256_mul(&table[i], &table[i - 1], base);
    }
    u32 i = (bits - 1) & ~3u;
    cd_u256 r;
    cd_u256_set(&r, &table[e->w[i >> 6] >> (i & 63) & 15]);
    while (i != 0) {
        i -= 4;
        square(&r, 4);
        cd_u256_mul(&r, &r, &table[e->w[i >> 6] >> (i & 63) & 15]);
    }
    cd_u256_set(out, &r);
}

void cd_u256_exp(cd_u256 *out, const cd_u256 *base, const cd_u256 *exponent)
{
    u32 bits = cd_u256_bits(exponent);
    if (bits == 0) {
        cd_u256_set_u64(out, 1);
        return;
    }
    if (cd_u256_fits_u64(base) && (base->w[0] & (base->w[0] - 1)) == 0) {
        /* The base is 0 or a power of two, as the bases 2 and 256 of most contracts: the power is a shift. */
        u64 b = base->w[0];
        u64 shift = b == 0 ? 256 : b == 1 ? 0 : UINT64_MAX;
        if (b > 1 && bits <= 9) {
            shift = (u64)__builtin_ctzll(b) * exponent->w[0];
        }
        cd_u256 one = cd_u256_one();
        cd_u256_shl(out, &one, shift);
        return;
    }
    if ((base->w[0] & 1) == 0 && bits > 8) {
        cd_u256_set_u64(out, 0);
        return;
    }
    if (bits < WINDOW_FROM_BITS) {
        exp_short(out, base, exponent, bits);
    } else {
        exp_window(out, base, exponent, bits);
    }
}
