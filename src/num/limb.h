/* num/limb.h - carry chains and products over four 64-bit limbs: the assembly under u256 and u512.
 *
 * gcc 12 turns __int128 chains into compare-and-add pairs, so the hot primitives are inline assembly
 * on x86-64 (MULX needs BMI2); every one has a portable twin below it. All operands are loaded before
 * the first store, so results may alias inputs. Little-endian limb order. Threading: pure.
 * [spec:evm-performance#3] */
#ifndef CD_NUM_LIMB_H
#define CD_NUM_LIMB_H

#include "base/base.h"

#if defined(__x86_64__)
#define CD__LIMB_ASM 1
#else
#define CD__LIMB_ASM 0
#endif
#if CD__LIMB_ASM && defined(__BMI2__)
#define CD__LIMB_MULX 1
#else
#define CD__LIMB_MULX 0
#endif

/* CD__LIMB_PIN keeps four limbs in general registers: it stops the compiler from merging 8-byte
 * accesses into vector ones, which stall on store forwarding [spec:evm-performance#4]. */
#if CD__LIMB_ASM
#define CD__LIMB_PIN(a, b, c, d) __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))
#else
#define CD__LIMB_PIN(a, b, c, d) ((void)0)
#endif

/* A four-limb memory operand, for telling the compiler what assembly reads and writes. */
typedef struct cd__limb4 {
    u64 w[4];
} cd__limb4;

/* cd__num_mul64 gives the 128-bit product of two words. */
CD_INLINE u64 cd__num_mul64(u64 *hi, u64 a, u64 b)
{
    u128 p = (u128)a * b;
    *hi = (u64)(p >> 64);
    return (u64)p;
}

/* cd__num_add4 stores a + b modulo 2^256 and gives the carry. */
CD_INLINE bool cd__num_add4(u64 *r, const u64 *a, const u64 *b)
{
    bool carry;
#if CD__LIMB_ASM
    u64 r0 = a[0];
    u64 r1 = a[1];
    u64 r2 = a[2];
    u64 r3 = a[3];
    __asm__("addq %[b0], %[r0]\n\t"
            "adcq %[b1], %[r1]\n\t"
            "adcq %[b2], %[r2]\n\t"
            "adcq %[b3], %[r3]"
            : [r0] "+&r"(r0), [r1] "+&r"(r1), [r2] "+&r"(r2), [r3] "+&r"(r3), "=@ccc"(carry)
            : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]));
    r[0] = r0;
    r[1] = r1;
    r[2] = r2;
    r[3] = r3;
#else
    u128 t = 0;
    for (int i = 0; i < 4; i++) {
        t += (u128)a[i] + b[i];
        r[i] = (u64)t;
        t >>= 64;
    }
    carry = t != 0;
#endif
    return carry;
}

/* cd__num_sub4 stores a - b modulo 2^256 and gives the borrow. */
CD_INLINE bool cd__num_sub4(u64 *r, const u64 *a, const u64 *b)
{
    bool borrow;
#if CD__LIMB_ASM
    u64 r0 = a[0];
    u64 r1 = a[1];
    u64 r2 = a[2];
    u64 r3 = a[3];
    __asm__("subq %[b0], %[r0]\n\t"
            "sbbq %[b1], %[r1]\n\t"
            "sbbq %[b2], %[r2]\n\t"
            "sbbq %[b3], %[r3]"
            : [r0] "+&r"(r0), [r1] "+&r"(r1), [r2] "+&r"(r2), [r3] "+&r"(r3), "=@ccc"(borrow)
            : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]));
    r[0] = r0;
    r[1] = r1;
    r[2] = r2;
    r[3] = r3;
#else
    u64 c = 0;
    for (int i = 0; i < 4; i++) {
        u128 t = (u128)a[i] - b[i] - c;
        r[i] = (u64)t;
        c = (u64)(t >> 64) & 1;
    }
    borrow = c != 0;
#endif
    return borrow;
}

/* cd__num_lt4 / cd__num_slt4: a < b as unsigned / as two's complement numbers. */
CD_INLINE bool cd__num_lt4(const u64 *a, const u64 *b)
{
#if CD__LIMB_ASM
    bool lt;
    u64 t1 = a[1];
    u64 t2 = a[2];
    u64 t3 = a[3];
    __asm__("cmpq %[b0], %[a0]\n\t"
            "sbbq %[b1], %[t1]\n\t"
            "sbbq %[b2], %[t2]\n\t"
            "sbbq %[b3], %[t3]"
            : [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), "=@ccc"(lt)
            : [a0] "r"(a[0]), [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]));
    return lt;
#else
    for (int i = 3; i > 0; i--) {
        if (a[i] != b[i]) {
            return a[i] < b[i];
        }
    }
    return a[0] < b[0];
#endif
}

CD_INLINE bool cd__num_slt4(const u64 *a, const u64 *b)
{
#if CD__LIMB_ASM
    bool lt;
    u64 t1 = a[1];
    u64 t2 = a[2];
    u64 t3 = a[3];
    __asm__("cmpq %[b0], %[a0]\n\t"
            "sbbq %[b1], %[t1]\n\t"
            "sbbq %[b2], %[t2]\n\t"
            "sbbq %[b3], %[t3]"
            : [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), "=@ccl"(lt)
            : [a0] "r"(a[0]), [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]));
    return lt;
#else
    bool a_neg = a[3] >> 63;
    bool b_neg = b[3] >> 63;
    return a_neg != b_neg ? a_neg : cd__num_lt4(a, b);
#endif
}

/* cd__num_up4 moves four limbs up by n / 64 places (n < 256) and fills with zeros from below; cd__num_down4 moves
 * them down and fills with copies of fill from above. They use conditional moves, as no branch predictor can guess
 * shift counts. */
CD_INLINE void cd__num_up4(u64 *w0, u64 *w1, u64 *w2, u64 *w3, u64 n)
{
#if CD__LIMB_ASM
    __asm__("testb $128, %b[n]\n\t"
            "cmovnzq %[w1], %[w3]\n\t"
            "cmovnzq %[w0], %[w2]\n\t"
            "cmovnzq %[zero], %[w1]\n\t"
            "cmovnzq %[zero], %[w0]\n\t"
            "testb $64, %b[n]\n\t"
            "cmovnzq %[w2], %[w3]\n\t"
            "cmovnzq %[w1], %[w2]\n\t"
            "cmovnzq %[w0], %[w1]\n\t"
            "cmovnzq %[zero], %[w0]"
            : [w0] "+&r"(*w0), [w1] "+&r"(*w1), [w2] "+&r"(*w2), [w3] "+&r"(*w3)
            : [n] "r"(n), [zero] "r"(UINT64_C(0))
            : "cc");
#else
    u64 w[8] = {0, 0, 0, 0, *w0, *w1, *w2, *w3};
    const u64 *from = w + 4 - (n >> 6);
    *w0 = from[0];
    *w1 = from[1];
    *w2 = from[2];
    *w3 = from[3];
#endif
}

CD_INLINE void cd__num_down4(u64 *w0, u64 *w1, u64 *w2, u64 *w3, u64 n, u64 fill)
{
#if CD__LIMB_ASM
    __asm__("testb $128, %b[n]\n\t"
            "cmovnzq %[w2], %[w0]\n\t"
            "cmovnzq %[w3], %[w1]\n\t"
            "cmovnzq %[fill], %[w2]\n\t"
            "cmovnzq %[fill], %[w3]\n\t"
            "testb $64, %b[n]\n\t"
            "cmovnzq %[w1], %[w0]\n\t"
            "cmovnzq %[w2], %[w1]\n\t"
            "cmovnzq %[w3], %[w2]\n\t"
            "cmovnzq %[fill], %[w3]"
            : [w0] "+&r"(*w0), [w1] "+&r"(*w1), [w2] "+&r"(*w2), [w3] "+&r"(*w3)
            : [n] "r"(n), [fill] "r"(fill)
            : "cc");
#else
    u64 w[8] = {*w0, *w1, *w2, *w3, fill, fill, fill, fill};
    const u64 *from = w + (n >> 6);
    *w0 = from[0];
    *w1 = from[1];
    *w2 = from[2];
    *w3 = from[3];
#endif
}

/* cd__num_mul4lo stores the low four limbs of a * b: six full and four half products. */
CD_INLINE void cd__num_mul4lo(u64 *r, const u64 *a, const u64 *b)
{
#if CD__LIMB_MULX
    u64 r0;
    u64 r1;
    u64 r2;
    u64 r3;
    u64 t0;
    u64 t1;
    u64 t2;
    u64 t3;
    __asm__("movq (%[a]), %%rdx\n\t" /* row a0 */
            "mulxq (%[b]), %[r0], %[r1]\n\t"
            "mulxq 8(%[b]), %[t0], %[r2]\n\t"
            "mulxq 16(%[b]), %[t1], %[r3]\n\t"
            "imulq 24(%[b]), %%rdx\n\t"
            "addq %[t0], %[r1]\n\t"
            "adcq %[t1], %[r2]\n\t"
            "adcq %%rdx, %[r3]\n\t"
            "movq 8(%[a]), %%rdx\n\t" /* row a1 */
            "mulxq (%[b]), %[t0], %[t1]\n\t"
            "mulxq 8(%[b]), %[t2], %[t3]\n\t"
            "imulq 16(%[b]), %%rdx\n\t"
            "addq %[t2], %[t1]\n\t"
            "adcq %%rdx, %[t3]\n\t"
            "addq %[t0], %[r1]\n\t"
            "adcq %[t1], %[r2]\n\t"
            "adcq %[t3], %[r3]\n\t"
            "movq 16(%[a]), %%rdx\n\t" /* row a2 */
            "mulxq (%[b]), %[t0], %[t1]\n\t"
            "imulq 8(%[b]), %%rdx\n\t"
            "movq 24(%[a]), %[t2]\n\t" /* row a3 */
            "imulq (%[b]), %[t2]\n\t"
            "addq %%rdx, %[t1]\n\t"
            "addq %[t0], %[r2]\n\t"
            "adcq %[t1], %[r3]\n\t"
            "addq %[t2], %[r3]"
            : [r0] "=&r"(r0), [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3), [t0] "=&r"(t0), [t1] "=&r"(t1),
              [t2] "=&r"(t2), [t3] "=&r"(t3)
            : [a] "r"(a), [b] "r"(b), "m"(*(const cd__limb4 *)(const void *)a), "m"(*(const cd__limb4 *)(const void *)b)
            : "rdx", "cc");
    r[0] = r0;
    r[1] = r1;
    r[2] = r2;
    r[3] = r3;
#else
    u64 p[4] = {0};
    for (int i = 0; i < 4; i++) {
        u64 carry = 0;
        for (int j = 0; i + j < 4; j++) {
            u128 t = (u128)a[i] * b[j] + p[i + j] + carry;
            p[i + j] = (u64)t;
            carry = (u64)(t >> 64);
        }
    }
    for (int i = 0; i < 4; i++) {
        r[i] = p[i];
    }
#endif
}

/* cd__num_sqr4lo replaces four limbs by the low four of their square, with four full and two half products. All stays
 * in registers, so that squarings can follow each other without memory in between. */
CD_INLINE void cd__num_sqr4lo(u64 *a0, u64 *a1, u64 *a2, u64 *a3)
{
    u128 p00 = (u128)*a0 * *a0;
    u128 p01 = (u128)*a0 * *a1;
    u128 p02 = (u128)*a0 * *a2;
    u128 p11 = (u128)*a1 * *a1;
    u128 mid = (p01 >> 64) + (u64)p02;
    u64 t1 = (u64)p01;
    u64 t2 = (u64)mid;
    u64 t3 = *a0 * *a3 + *a1 * *a2 + (u64)(p02 >> 64) + (u64)(mid >> 64);
    u64 r1 = (u64)(p00 >> 64);
    u64 r2 = (u64)p11;
    u64 r3 = (u64)(p11 >> 64);
    *a0 = (u64)p00;
#if CD__LIMB_ASM
    __asm__("addq %[t1], %[t1]\n\t"
            "adcq %[t2], %[t2]\n\t"
            "adcq %[t3], %[t3]\n\t"
            "addq %[r1], %[t1]\n\t"
            "adcq %[r2], %[t2]\n\t"
            "adcq %[r3], %[t3]"
            : [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
            : [r1] "r"(r1), [r2] "r"(r2), [r3] "r"(r3)
            : "cc");
    *a1 = t1;
    *a2 = t2;
    *a3 = t3;
#else
    t3 = t3 << 1 | t2 >> 63;
    t2 = t2 << 1 | t1 >> 63;
    u128 c = (u128)(t1 << 1) + r1;
    *a1 = (u64)c;
    c = (u128)t2 + r2 + (u64)(c >> 64);
    *a2 = (u64)c;
    *a3 = t3 + r3 + (u64)(c >> 64);
#endif
}

/* cd__num_mul4x1 stores the low four limbs of a * m and gives the fifth. */
CD_INLINE u64 cd__num_mul4x1(u64 *r, const u64 *a, u64 m)
{
    u128 t0 = (u128)a[0] * m;
    u128 t1 = (u128)a[1] * m + (u64)(t0 >> 64);
    u128 t2 = (u128)a[2] * m + (u64)(t1 >> 64);
    u128 t3 = (u128)a[3] * m + (u64)(t2 >> 64);
    r[0] = (u64)t0;
    r[1] = (u64)t1;
    r[2] = (u64)t2;
    r[3] = (u64)t3;
    return (u64)(t3 >> 64);
}

/* cd__num_mac4 adds x * y[0..3] to the words p0..p3 and gives the limb carried out of them. The row of
 * products is finished before the words are touched, so that rows following each other overlap. */
CD_INLINE u64 cd__num_mac4(u64 *p0, u64 *p1, u64 *p2, u64 *p3, u64 x, const u64 *y)
{
#if CD__LIMB_MULX
    u64 l0;
    u64 l1;
    u64 l2;
    u64 hi;
    u64 top;
    __asm__("mulxq (%[y]), %[l0], %[hi]\n\t"
            "mulxq 8(%[y]), %[l1], %[top]\n\t"
            "addq %[hi], %[l1]\n\t"
            "mulxq 16(%[y]), %[l2], %[hi]\n\t"
            "adcq %[top], %[l2]\n\t"
            "mulxq 24(%[y]), %%rdx, %[top]\n\t"
            "adcq %[hi], %%rdx\n\t"
            "adcq $0, %[top]\n\t"
            "addq %[l0], %[p0]\n\t"
            "adcq %[l1], %[p1]\n\t"
            "adcq %[l2], %[p2]\n\t"
            "adcq %%rdx, %[p3]\n\t"
            "adcq $0, %[top]"
            : [p0] "+&r"(*p0), [p1] "+&r"(*p1), [p2] "+&r"(*p2), [p3] "+&r"(*p3), [l0] "=&r"(l0), [l1] "=&r"(l1),
              [l2] "=&r"(l2), [hi] "=&r"(hi), [top] "=&r"(top), "+&d"(x)
            : [y] "r"(y), "m"(*(const cd__limb4 *)(const void *)y)
            : "cc");
    return top;
#else
    u128 t = (u128)x * y[0] + *p0;
    *p0 = (u64)t;
    t = (u128)x * y[1] + *p1 + (u64)(t >> 64);
    *p1 = (u64)t;
    t = (u128)x * y[2] + *p2 + (u64)(t >> 64);
    *p2 = (u64)t;
    t = (u128)x * y[3] + *p3 + (u64)(t >> 64);
    *p3 = (u64)t;
    return (u64)(t >> 64);
#endif
}

/* cd__num_mul4 stores all eight limbs of a * b. r must not alias a or b. */
CD_INLINE void cd__num_mul4(u64 *r, const u64 *a, const u64 *b)
{
    u64 p[4];
    u64 p4 = cd__num_mul4x1(p, b, a[0]);
    u64 p1 = p[1];
    u64 p2 = p[2];
    u64 p3 = p[3];
    r[0] = p[0];
    u64 p5 = cd__num_mac4(&p1, &p2, &p3, &p4, a[1], b);
    r[1] = p1;
    u64 p6 = cd__num_mac4(&p2, &p3, &p4, &p5, a[2], b);
    r[2] = p2;
    r[7] = cd__num_mac4(&p3, &p4, &p5, &p6, a[3], b);
    r[3] = p3;
    r[4] = p4;
    r[5] = p5;
    r[6] = p6;
}

#endif
