#include "crypto/mont.h"

#include "num/limb.h"

#include <string.h>

#if CD__LIMB_MULX
/* Four limbs of r += a * x + c; gives the limb carried out. Two carry chains, one after the other. */
CD_INLINE u64 addmul4(u64 *r, const u64 *a, u64 x, u64 c)
{
    u64 l0;
    u64 l1;
    u64 l2;
    u64 l3;
    u64 h0;
    u64 h1;
    u64 h2;
    __asm__("mulxq (%[a]), %[l0], %[h0]\n\t"
            "mulxq 8(%[a]), %[l1], %[h1]\n\t"
            "addq %[c], %[l0]\n\t"
            "mulxq 16(%[a]), %[l2], %[h2]\n\t"
            "adcq %[h0], %[l1]\n\t"
            "mulxq 24(%[a]), %[l3], %[c]\n\t"
            "adcq %[h1], %[l2]\n\t"
            "adcq %[h2], %[l3]\n\t"
            "adcq $0, %[c]\n\t"
            "addq (%[r]), %[l0]\n\t"
            "adcq 8(%[r]), %[l1]\n\t"
            "adcq 16(%[r]), %[l2]\n\t"
            "adcq 24(%[r]), %[l3]\n\t"
            "adcq $0, %[c]"
            : [l0] "=&r"(l0), [l1] "=&r"(l1), [l2] "=&r"(l2), [l3] "=&r"(l3), [h0] "=&r"(h0),
              [h1] "=&r"(h1), [h2] "=&r"(h2), [c] "+&r"(c)
            : [a] "r"(a), [r] "r"(r), "d"(x), "m"(*(const cd__limb4 *)(const void *)a),
              "m"(*(const cd__limb4 *)(const void *)r)
            : "cc");
    r[0] = l0;
    r[1] = l1;
    r[2] = l2;
    r[3] = l3;
    return c;
}
#endif

u64 cd__limbs_addmul(u64 *r, const u64 *a, usize n, u64 x)
{
    u64 c = 0;
#if CD__LIMB_MULX
    for (; n >= 4; n -= 4, r += 4, a += 4) {
        c = addmul4(r, a, x, c);
    }
#endif
    for (usize i = 0; i < n; i++) {
        u128 t = (u128)a[i] * x + r[i] + c;
        r[i] = (u64)t;
        c = (u64)(t >> 64);
    }
    return c;
}

void cd__limbs_mul(u64 *r, const u64 *a, usize an, const u64 *b, usize bn)
{
    memset(r, 0, an * sizeof *r);
    for (usize i = 0; i < bn; i++) {
        r[an + i] = cd__limbs_addmul(r + i, a, an, b[i]);
    }
}

/* Every product of two different limbs once, doubled, and the squares added. */
static void limbs_sqr(u64 *r, const u64 *a, usize n)
{
    memset(r, 0, (n + 1) * sizeof *r);
    for (usize i = 0; i < n; i++) {
        r[n + i] = cd__limbs_addmul(r + 2 * i + 1, a + i + 1, n - i - 1, a[i]);
    }
    u64 shifted = 0;
    u64 carry = 0;
    for (usize i = 0; i < n; i++) {
        u64 lo = r[2 * i] << 1 | shifted;
        u64 hi = r[2 * i + 1] << 1 | r[2 * i] >> 63;
        shifted = r[2 * i + 1] >> 63;
        u128 p = (u128)a[i] * a[i] + lo + carry;
        r[2 * i] = (u64)p;
        p = (p >> 64) + hi;
        r[2 * i + 1] = (u64)p;
        carry = (u64)(p >> 64);
    }
}

bool cd__limbs_add(u64 *r, const u64 *a, const u64 *b, usize n)
{
    u64 c = 0;
    for (usize i = 0; i < n; i++) {
        u128 t = (u128)a[i] + b[i] + c;
        r[i] = (u64)t;
        c = (u64)(t >> 64);
    }
    return c != 0;
}

bool cd__limbs_sub(u64 *r, const u64 *a, const u64 *b, usize n)
{
    u64 c = 0;
    for (usize i = 0; i < n; i++) {
        u128 t = (u128)a[i] - b[i] - c;
        r[i] = (u64)t;
        c = (u64)(t >> 64) & 1;
    }
    return c != 0;
}

u64 cd__mont_inv64(u64 m)
{
    u64 x = 3 * m ^ 2; /* right in five bits; every step doubles them */
    for (int i = 0; i < 4; i++) {
        x *= 2 - m * x;
    }
    return x;
}

static bool below(const u64 *a, const u64 *b, usize n)
{
    while (n-- > 0) {
        if (a[n] != b[n]) {
            return a[n] < b[n];
        }
    }
    return false;
}

/* r = t / 2^(64 n) modulo m; t has 2n limbs and is used up. The carry of row i is kept in limb i,
 * which the row has made zero. */
static void reduce(const cd__ring *g, u64 *r, u64 *t)
{
    for (usize i = 0; i < g->n; i++) {
        t[i] = cd__limbs_addmul(t + i, g->m, g->n, t[i] * g->inv);
    }
    if (cd__limbs_add(r, t + g->n, t, g->n) || !below(r, g->m, g->n)) {
        (void)cd__limbs_sub(r, r, g->m, g->n);
    }
}

void cd__ring_mul(const cd__ring *g, u64 *r, const u64 *a, const u64 *b)
{
    usize n = g->n;
    u64 *t = g->scratch;
    if (g->m != NULL) {
        cd__limbs_mul(t, a, n, b, n);
        reduce(g, r, t);
        return;
    }
    memset(t, 0, n * sizeof *t);
    for (usize i = 0; i < n; i++) {
        (void)cd__limbs_addmul(t + i, a, n - i, b[i]);
    }
    memcpy(r, t, n * sizeof *t);
}

void cd__ring_sqr(const cd__ring *g, u64 *r, const u64 *a)
{
    if (g->m != NULL) {
        limbs_sqr(g->scratch, a, g->n);
        reduce(g, r, g->scratch);
        return;
    }
    cd__ring_mul(g, r, a, a);
}

void cd__ring_leave(const cd__ring *g, u64 *r)
{
    if (g->m != NULL) {
        memcpy(g->scratch, r, g->n * sizeof *r);
        memset(g->scratch + g->n, 0, g->n * sizeof *r);
        reduce(g, r, g->scratch);
    }
}
