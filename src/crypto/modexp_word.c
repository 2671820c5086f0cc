/* Powers modulo a number of one word: for these GMP's setup costs many times the work, and more so for even ones.
 *
 *   m = odd · 2^k     x mod odd by Montgomery's method     x mod 2^k by plain products     joined at the end
 *
 * Both go side by side, so the processor does the second one while it waits for the first. Source: Handbook of Applied
 * Cryptography, 14.36 (Montgomery) and 14.71 (Garner). */
#include "crypto/modexp_priv.h"

/* Gives 1/x mod 2^64 for odd x: three bits are right at first, and each step doubles their number. */
static u64 inverse(u64 x)
{
    u64 y = x;
    for (int i = 0; i < 5; i++) {
        y *= 2 - x * y;
    }
    return y;
}

/* A number modulo the odd part and modulo the power of two. */
typedef struct pair {
    u64 odd; /* the number times 2^64, modulo the odd part */
    u64 two; /* the number modulo 2^64; only the low k bits count */
} pair;

typedef struct field {
    u64 m;   /* the odd part */
    u64 neg; /* -1/m mod 2^64 */
} field;

/* Gives a · b / 2^64 mod f.m, for a, b < f.m. */
CD_INLINE u64 redc(const field *f, u64 a, u64 b)
{
    u128 t = (u128)a * b;
    u64 q = (u64)t * f->neg;
    u64 hi = (u64)(t >> 64);
    u64 top = (u64)((u128)q * f->m >> 64) + ((u64)t != 0);
    /* hi + top < 2 · m, which may be more than a word holds. */
    u64 sum = hi + top;
    return sum < hi || sum >= f->m ? sum - f->m : sum;
}

CD_INLINE pair times(const field *f, pair a, pair b)
{
    return (pair){.odd = redc(f, a.odd, b.odd), .two = a.two * b.two};
}

static u64 word_of(cd_bytes be)
{
    u64 v = 0;
    for (usize i = 0; i < be.n; i++) {
        v = v << 8 | be.p[i];
    }
    return v;
}

/* Gives be mod m, a word at a time. */
static u64 remainder_of(cd_bytes be, u64 m)
{
    u64 r = 0;
    usize first = be.n % 8;
    r = first == 0 ? 0 : word_of(cd_bytes_sub(be, 0, first)) % m;
    for (usize i = first; i < be.n; i += 8) {
        r = (u64)(((u128)r << 64 | cd_be64(be.p + i)) % m);
    }
    return r;
}

/* Gives base^exp, by windows of four bits of the exponent. */
static pair power(const field *f, pair one, pair base, cd_bytes exp)
{
    pair table[16];
    table[0] = one;
    for (int i = 1; i < 16; i++) {
        table[i] = times(f, table[i - 1], base);
    }
    pair x = one;
    for (usize i = 0; i < 2 * exp.n; i++) {
        u8 digit = i % 2 == 0 ? exp.p[i / 2] >> 4 : exp.p[i / 2] & 15;
        x = times(f, x, x);
        x = times(f, x, x);
        x = times(f, x, x);
        x = times(f, x, x);
        if (digit != 0) {
            x = times(f, x, table[digit]);
        }
    }
    return x;
}

u64 cd__modexp_word(cd_bytes base, cd_bytes exp, u64 m)
{
    u32 k = (u32)__builtin_ctzll(m);
    field f = {.m = m >> k};
    u64 inv = inverse(f.m);
    f.neg = 0 - inv;
    /* Reduced modulo m first, as both parts divide m. */
    u64 b = remainder_of(base, m);
    pair one = {.odd = (u64)(((u128)1 << 64) % f.m), .two = 1};
    pair start = {.odd = (u64)(((u128)(b % f.m) << 64) % f.m), .two = b};
    pair x = power(&f, one, start, exp);
    u64 odd = redc(&f, x.odd, 1);
    if (k == 0) {
        return odd;
    }
    u64 mask = (1ULL << k) - 1;
    return odd + f.m * (((x.two - odd) * inv) & mask);
}
