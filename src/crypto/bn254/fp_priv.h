/* crypto/bn254/fp_priv.h - the prime field of bn254: 4 x 64-bit limbs in Montgomery form (R = 2^256).
 *
 * An fp is always fully reduced unless a comment says "lazy": then it is below 2p and only fit for one
 * side of a multiplication. The multiplication kernels exist twice:
 * in portable C, and with MULX for the CPUs that the x86-64-v3 build runs on; tests compare the two.
 * Threading: pure. */
#ifndef CD_CRYPTO_BN254_FP_PRIV_H
#define CD_CRYPTO_BN254_FP_PRIV_H

#include "base/bytes.h"

typedef struct fp {
    u64 l[4]; /* least significant first */
} fp;

/* Two elements side by side: the quadratic extension's shape (bn254_priv.h). */
typedef struct fp2 {
    fp c0, c1;
} fp2;

/* p, and -1/p mod 2^64. */
static const u64 FP_P[4] = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029};
#define FP_NEG_INV 0x87d20782e4866389

/* 0 and 1 (that is R mod p). */
static const fp FP_ZERO = {{0, 0, 0, 0}};
static const fp FP_ONE = {{0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f}};

/* The static analyser does not see what assembly writes: it reads the portable code. */
#if defined(__x86_64__) && defined(__BMI2__) && !defined(CD_BN254_PORTABLE) && !defined(__clang_analyzer__)
#define FP_ASM 1
#else
#define FP_ASM 0
#endif

/* Comparison and tests; both sides reduced. */
CD_INLINE bool fp_eq(const fp *a, const fp *b)
{
    return ((a->l[0] ^ b->l[0]) | (a->l[1] ^ b->l[1]) | (a->l[2] ^ b->l[2]) | (a->l[3] ^ b->l[3])) == 0;
}

CD_INLINE bool fp_is_zero(const fp *a)
{
    return (a->l[0] | a->l[1] | a->l[2] | a->l[3]) == 0;
}

/* fp__adc / fp__sbb: *out = a +/- b +/- carry; the result is the new carry. */
CD_INLINE u64 fp__adc(u64 *out, u64 a, u64 b, u64 carry)
{
    u128 s = (u128)a + b + carry;
    *out = (u64)s;
    return (u64)(s >> 64);
}

CD_INLINE u64 fp__sbb(u64 *out, u64 a, u64 b, u64 borrow)
{
    u128 s = (u128)a - b - borrow;
    *out = (u64)s;
    return (u64)(s >> 64) & 1;
}

/* fp__mac: *out = acc + a * b + carry; the result is the high word. */
CD_INLINE u64 fp__mac(u64 *out, u64 acc, u64 a, u64 b, u64 carry)
{
    u128 s = (u128)a * b + acc + carry;
    *out = (u64)s;
    return (u64)(s >> 64);
}

/* --- portable kernels --- */

/* fp_reduce_c brings a value below 2p below p. */
CD_INLINE void fp_reduce_c(fp *r, const u64 t[4])
{
    u64 s[4];
    u64 borrow = 0;
    for (int i = 0; i < 4; i++) {
        borrow = fp__sbb(&s[i], t[i], FP_P[i], borrow);
    }
    for (int i = 0; i < 4; i++) {
        r->l[i] = borrow != 0 ? t[i] : s[i];
    }
}

CD_INLINE void fp_add_c(fp *r, const fp *a, const fp *b)
{
    u64 t[4];
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry = fp__adc(&t[i], a->l[i], b->l[i], carry);
    }
    fp_reduce_c(r, t);
}

CD_INLINE void fp_sub_c(fp *r, const fp *a, const fp *b)
{
    u64 t[4];
    u64 borrow = 0;
    for (int i = 0; i < 4; i++) {
        borrow = fp__sbb(&t[i], a->l[i], b->l[i], borrow);
    }
    u64 mask = 0 - borrow;
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry = fp__adc(&r->l[i], t[i], FP_P[i] & mask, carry);
    }
}

/* fp__row: t += a * b, fp__round: t = (t + the multiple of p that clears its low word) / 2^64. With a below
 * 2p, or two rows below p, a row and a round keep t below 3p: five words never overflow. */
CD_INLINE void fp__row(u64 t[5], const fp *a, u64 b)
{
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry = fp__mac(&t[i], t[i], a->l[i], b, carry);
    }
    t[4] += carry;
}

CD_INLINE void fp__round(u64 t[5])
{
    u64 m = t[0] * FP_NEG_INV;
    u64 drop;
    u64 carry = fp__mac(&drop, t[0], m, FP_P[0], 0);
    for (int i = 1; i < 4; i++) {
        carry = fp__mac(&t[i - 1], t[i], m, FP_P[i], carry);
    }
    t[3] = t[4] + carry;
    t[4] = 0;
}

CD_INLINE void fp_mul_c(fp *r, const fp *a, const fp *b)
{
    u64 t[5] = {0};
    for (int i = 0; i < 4; i++) {
        fp__row(t, a, b->l[i]);
        fp__round(t);
    }
    fp_reduce_c(r, t);
}

CD_INLINE void fp_mul2_c(fp *r, const fp *a0, const fp *b0, const fp *a1, const fp *b1)
{
    u64 t[5] = {0};
    for (int i = 0; i < 4; i++) {
        fp__row(t, a0, b0->l[i]);
        fp__row(t, a1, b1->l[i]);
        fp__round(t);
    }
    fp_reduce_c(r, t);
}

CD_INLINE void fp_half_c(fp *r, const fp *a)
{
    u64 mask = 0 - (a->l[0] & 1);
    u64 t[4];
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry = fp__adc(&t[i], a->l[i], FP_P[i] & mask, carry);
    }
    for (int i = 0; i < 3; i++) {
        r->l[i] = t[i] >> 1 | t[i + 1] << 63;
    }
    r->l[3] = t[3] >> 1;
}

/* The quotient of 9a + b by p, or one less, is (9a + b) / 2^194 times 2^317 / p, shifted down. */
#define FP_RECIPROCAL 0xa948e8c4c474094f

CD_INLINE void fp_mul9_add_c(fp *r, const fp *a, const fp *b)
{
    u64 t[5];
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry = fp__mac(&t[i], b->l[i], a->l[i], 9, carry);
    }
    u64 head = carry << 62 | t[3] >> 2;
    u64 q = (u64)(((u128)head * FP_RECIPROCAL) >> 123);
    u64 borrow = 0;
    carry = 0;
    for (int i = 0; i < 4; i++) {
        u64 m;
        carry = fp__mac(&m, 0, q, FP_P[i], carry);
        borrow = fp__sbb(&t[i], t[i], m, borrow);
    }
    fp_reduce_c(r, t);
}

/* --- MULX kernels --- */

#if FP_ASM
// clang-format off

/* r4..r7 = t - p where that does not borrow, else t; leaves the result in t. */
#define FP_ASM_REDUCE(t0, t1, t2, t3, s0, s1, s2, s3)                                              \
    "movq " t0 ", " s0 "\n\t" "movq " t1 ", " s1 "\n\t"                                            \
    "movq " t2 ", " s2 "\n\t" "movq " t3 ", " s3 "\n\t"                                            \
    "subq 0+%[p], " s0 "\n\t" "sbbq 8+%[p], " s1 "\n\t"                                            \
    "sbbq 16+%[p], " s2 "\n\t" "sbbq 24+%[p], " s3 "\n\t"                                          \
    "cmovncq " s0 ", " t0 "\n\t" "cmovncq " s1 ", " t1 "\n\t"                                      \
    "cmovncq " s2 ", " t2 "\n\t" "cmovncq " s3 ", " t3 "\n\t"

/* (t0..t3, t4) = a * b for four words at offset ao of a, and one word at offset bo of b. */
#define FP_ASM_ROW_FIRST(ao, bo, t0, t1, t2, t3, t4)                                               \
    "movq " bo "(%[b]), %%rdx\n\t"                                                                 \
    "mulxq " ao "+0(%[a]), " t0 ", " t1 "\n\t"                                                     \
    "mulxq " ao "+8(%[a]), %[lo], " t2 "\n\t"  "addq %[lo], " t1 "\n\t"                           \
    "mulxq " ao "+16(%[a]), %[lo], " t3 "\n\t" "adcq %[lo], " t2 "\n\t"                           \
    "mulxq " ao "+24(%[a]), %[lo], " t4 "\n\t" "adcq %[lo], " t3 "\n\t"                           \
    "adcq $0, " t4 "\n\t"

/* (t0..t3, t4) += a * b with t4 new; the high halves are added in a second carry chain. */
#define FP_ASM_ROW(ao, bo, t0, t1, t2, t3, t4)                                                     \
    "movq " bo "(%[b]), %%rdx\n\t"                                                                 \
    "mulxq " ao "+0(%[a]), %[lo], %[h0]\n\t"  "addq %[lo], " t0 "\n\t"                            \
    "mulxq " ao "+8(%[a]), %[lo], %[h1]\n\t"  "adcq %[lo], " t1 "\n\t"                            \
    "mulxq " ao "+16(%[a]), %[lo], %[h2]\n\t" "adcq %[lo], " t2 "\n\t"                            \
    "mulxq " ao "+24(%[a]), %[lo], " t4 "\n\t" "adcq %[lo], " t3 "\n\t"                           \
    "adcq $0, " t4 "\n\t"                                                                         \
    "addq %[h0], " t1 "\n\t" "adcq %[h1], " t2 "\n\t" "adcq %[h2], " t3 "\n\t" "adcq $0, " t4 "\n\t"

/* The same as FP_ASM_ROW, but adds to t4 too, which holds a value already. */
#define FP_ASM_ROW_MORE(ao, bo, t0, t1, t2, t3, t4)                                                \
    "movq " bo "(%[b]), %%rdx\n\t"                                                                 \
    "mulxq " ao "+0(%[a]), %[lo], %[h0]\n\t"  "addq %[lo], " t0 "\n\t"                            \
    "mulxq " ao "+8(%[a]), %[lo], %[h1]\n\t"  "adcq %[lo], " t1 "\n\t"                            \
    "mulxq " ao "+16(%[a]), %[lo], %[h2]\n\t" "adcq %[lo], " t2 "\n\t"                            \
    "mulxq " ao "+24(%[a]), %[lo], %%rdx\n\t" "adcq %[lo], " t3 "\n\t"                           \
    "adcq $0, " t4 "\n\t"                                                                         \
    "addq %[h0], " t1 "\n\t" "adcq %[h1], " t2 "\n\t" "adcq %[h2], " t3 "\n\t" "adcq %%rdx, " t4 "\n\t"

/* (t1..t4) += the multiple of p that clears t0; t0 is free afterwards. */
#define FP_ASM_ROUND(t0, t1, t2, t3, t4)                                                           \
    "movq %[inv], %%rdx\n\t" "imulq " t0 ", %%rdx\n\t"                                             \
    "mulxq 0+%[p], %[lo], %[h0]\n\t"    "addq %[lo], " t0 "\n\t"                                   \
    "mulxq 8+%[p], %[lo], %[h1]\n\t"    "adcq %[lo], " t1 "\n\t"                                   \
    "mulxq 16+%[p], %[lo], %[h2]\n\t"   "adcq %[lo], " t2 "\n\t"                                   \
    "mulxq 24+%[p], %[lo], " t0 "\n\t"  "adcq %[lo], " t3 "\n\t"                                   \
    "adcq $0, " t4 "\n\t"                                                                          \
    "addq %[h0], " t1 "\n\t" "adcq %[h1], " t2 "\n\t" "adcq %[h2], " t3 "\n\t" "adcq " t0 ", " t4 "\n\t"

#define FP_ASM_STORE                                                                               \
    "movq %[t0], (%[r])\n\t" "movq %[t1], 8(%[r])\n\t"                                             \
    "movq %[t2], 16(%[r])\n\t" "movq %[t3], 24(%[r])\n\t"

CD_INLINE void fp_add(fp *r, const fp *a, const fp *b)
{
    u64 t0, t1, t2, t3, s0, s1, s2, s3;
    __asm__ volatile("movq (%[a]), %[t0]\n\t" "movq 8(%[a]), %[t1]\n\t"
            "movq 16(%[a]), %[t2]\n\t" "movq 24(%[a]), %[t3]\n\t"
            "addq (%[b]), %[t0]\n\t" "adcq 8(%[b]), %[t1]\n\t"
            "adcq 16(%[b]), %[t2]\n\t" "adcq 24(%[b]), %[t3]\n\t"
            FP_ASM_REDUCE("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[s0]", "%[s1]", "%[s2]", "%[s3]")
            FP_ASM_STORE
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [s0] "=&r"(s0),
              [s1] "=&r"(s1), [s2] "=&r"(s2), [s3] "=&r"(s3)
            : [r] "r"(r), [a] "r"(a), [b] "r"(b), [p] "m"(FP_P)
            : "cc", "memory");
}

CD_INLINE void fp_sub(fp *r, const fp *a, const fp *b)
{
    u64 t0, t1, t2, t3, s0, s1, s2, s3;
    __asm__ volatile("movq (%[a]), %[t0]\n\t" "movq 8(%[a]), %[t1]\n\t"
            "movq 16(%[a]), %[t2]\n\t" "movq 24(%[a]), %[t3]\n\t"
            "xorl %k[s0], %k[s0]\n\t" "xorl %k[s1], %k[s1]\n\t"
            "xorl %k[s2], %k[s2]\n\t" "xorl %k[s3], %k[s3]\n\t"
            "subq (%[b]), %[t0]\n\t" "sbbq 8(%[b]), %[t1]\n\t"
            "sbbq 16(%[b]), %[t2]\n\t" "sbbq 24(%[b]), %[t3]\n\t"
            "cmovcq 0+%[p], %[s0]\n\t" "cmovcq 8+%[p], %[s1]\n\t"
            "cmovcq 16+%[p], %[s2]\n\t" "cmovcq 24+%[p], %[s3]\n\t"
            "addq %[s0], %[t0]\n\t" "adcq %[s1], %[t1]\n\t"
            "adcq %[s2], %[t2]\n\t" "adcq %[s3], %[t3]\n\t"
            FP_ASM_STORE
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [s0] "=&r"(s0),
              [s1] "=&r"(s1), [s2] "=&r"(s2), [s3] "=&r"(s3)
            : [r] "r"(r), [a] "r"(a), [b] "r"(b), [p] "m"(FP_P)
            : "cc", "memory");
}

/* Stores the result. In the kernels below the words t0..t4 take turns, so each step names them one place further. */
#define FP_ASM_OUT4                                                                                \
    "movq %[t4], (%[r])\n\t" "movq %[t0], 8(%[r])\n\t"                                             \
    "movq %[t1], 16(%[r])\n\t" "movq %[t2], 24(%[r])\n\t"

CD_INLINE void fp_mul(fp *r, const fp *a, const fp *b)
{
    u64 t0, t1, t2, t3, t4, lo, h0, h1, h2;
    __asm__ volatile(
            FP_ASM_ROW_FIRST("0", "0", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROUND("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROW("0", "8", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROUND("%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROW("0", "16", "%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROUND("%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROW("0", "24", "%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_ROUND("%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_REDUCE("%[t4]", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[lo]", "%[h0]", "%[h1]")
            FP_ASM_OUT4
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4),
              [lo] "=&r"(lo), [h0] "=&r"(h0), [h1] "=&r"(h1), [h2] "=&r"(h2)
            : [r] "r"(r), [a] "r"(a), [b] "r"(b), [p] "m"(FP_P), [inv] "i"(FP_NEG_INV)
            : "rdx", "cc", "memory");
}

CD_INLINE void fp_mul2(fp *r, const fp2 *a, const fp2 *b)
{
    u64 t0, t1, t2, t3, t4, lo, h0, h1, h2;
    __asm__ volatile(
            FP_ASM_ROW_FIRST("0", "0", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROW_MORE("32", "32", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROUND("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROW("0", "8", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROW_MORE("32", "40", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROUND("%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROW("0", "16", "%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROW_MORE("32", "48", "%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROUND("%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROW("0", "24", "%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_ROW_MORE("32", "56", "%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_ROUND("%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_REDUCE("%[t4]", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[lo]", "%[h0]", "%[h1]")
            FP_ASM_OUT4
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4),
              [lo] "=&r"(lo), [h0] "=&r"(h0), [h1] "=&r"(h1), [h2] "=&r"(h2)
            : [r] "r"(r), [a] "r"(a), [b] "r"(b), [p] "m"(FP_P), [inv] "i"(FP_NEG_INV)
            : "rdx", "cc", "memory");
}

CD_INLINE void fp_mul2_cross(fp *r, const fp2 *a, const fp2 *b)
{
    u64 t0, t1, t2, t3, t4, lo, h0, h1, h2;
    __asm__ volatile(
            FP_ASM_ROW_FIRST("0", "32", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROW_MORE("32", "0", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROUND("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            FP_ASM_ROW("0", "40", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROW_MORE("32", "8", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROUND("%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t0]")
            FP_ASM_ROW("0", "48", "%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROW_MORE("32", "16", "%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROUND("%[t2]", "%[t3]", "%[t4]", "%[t0]", "%[t1]")
            FP_ASM_ROW("0", "56", "%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_ROW_MORE("32", "24", "%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_ROUND("%[t3]", "%[t4]", "%[t0]", "%[t1]", "%[t2]")
            FP_ASM_REDUCE("%[t4]", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[lo]", "%[h0]", "%[h1]")
            FP_ASM_OUT4
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4),
              [lo] "=&r"(lo), [h0] "=&r"(h0), [h1] "=&r"(h1), [h2] "=&r"(h2)
            : [r] "r"(r), [a] "r"(a), [b] "r"(b), [p] "m"(FP_P), [inv] "i"(FP_NEG_INV)
            : "rdx", "cc", "memory");
}

CD_INLINE void fp_half(fp *r, const fp *a)
{
    u64 t0, t1, t2, t3, s0, s1, s2, s3;
    __asm__ volatile(
            "xorl %k[s0], %k[s0]\n\t" "xorl %k[s1], %k[s1]\n\t"
            "xorl %k[s2], %k[s2]\n\t" "xorl %k[s3], %k[s3]\n\t"
            "movq (%[a]), %[t0]\n\t" "movq 8(%[a]), %[t1]\n\t"
            "movq 16(%[a]), %[t2]\n\t" "movq 24(%[a]), %[t3]\n\t"
            "testb $1, %b[t0]\n\t"
            "cmovnzq 0+%[p], %[s0]\n\t" "cmovnzq 8+%[p], %[s1]\n\t"
            "cmovnzq 16+%[p], %[s2]\n\t" "cmovnzq 24+%[p], %[s3]\n\t"
            "addq %[s0], %[t0]\n\t" "adcq %[s1], %[t1]\n\t"
            "adcq %[s2], %[t2]\n\t" "adcq %[s3], %[t3]\n\t"
            "shrdq $1, %[t1], %[t0]\n\t" "shrdq $1, %[t2], %[t1]\n\t"
            "shrdq $1, %[t3], %[t2]\n\t" "shrq $1, %[t3]\n\t"
            FP_ASM_STORE
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [s0] "=&r"(s0),
              [s1] "=&r"(s1), [s2] "=&r"(s2), [s3] "=&r"(s3)
            : [r] "r"(r), [a] "r"(a), [p] "m"(FP_P)
            : "cc", "memory");
}

CD_INLINE void fp_mul9_add(fp *r, const fp *a, const fp *b)
{
    u64 t0, t1, t2, t3, lo, h0, h1, h2;
    __asm__ volatile(
            /* t = 9a + b, with its fifth word in h2 */
            "movl $9, %%edx\n\t"
            "mulxq (%[a]), %[t0], %[h0]\n\t"  "mulxq 8(%[a]), %[t1], %[h1]\n\t"
            "mulxq 16(%[a]), %[t2], %[lo]\n\t" "mulxq 24(%[a]), %[t3], %[h2]\n\t"
            "addq %[h0], %[t1]\n\t" "adcq %[h1], %[t2]\n\t" "adcq %[lo], %[t3]\n\t" "adcq $0, %[h2]\n\t"
            "addq (%[b]), %[t0]\n\t" "adcq 8(%[b]), %[t1]\n\t"
            "adcq 16(%[b]), %[t2]\n\t" "adcq 24(%[b]), %[t3]\n\t" "adcq $0, %[h2]\n\t"
            /* q = the quotient of t by p, or one less */
            "movq %[t3], %%rdx\n\t" "shrdq $2, %[h2], %%rdx\n\t"
            "movabsq %[rec], %[lo]\n\t" "mulxq %[lo], %[h0], %%rdx\n\t" "shrq $59, %%rdx\n\t"
            /* t -= q * p; the low four words are enough */
            "mulxq 0+%[p], %[lo], %[h0]\n\t"  "subq %[lo], %[t0]\n\t"
            "mulxq 8+%[p], %[lo], %[h1]\n\t"  "sbbq %[lo], %[t1]\n\t"
            "mulxq 16+%[p], %[lo], %[h2]\n\t" "sbbq %[lo], %[t2]\n\t"
            "mulxq 24+%[p], %[lo], %%rdx\n\t" "sbbq %[lo], %[t3]\n\t"
            "subq %[h0], %[t1]\n\t" "sbbq %[h1], %[t2]\n\t" "sbbq %[h2], %[t3]\n\t"
            FP_ASM_REDUCE("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[lo]", "%[h0]", "%[h1]", "%[h2]")
            FP_ASM_STORE
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [lo] "=&r"(lo),
              [h0] "=&r"(h0), [h1] "=&r"(h1), [h2] "=&r"(h2)
            : [r] "r"(r), [a] "r"(a), [b] "r"(b), [p] "m"(FP_P), [rec] "i"(FP_RECIPROCAL)
            : "rdx", "cc", "memory");
}

// clang-format on
#else

/* fp_add, fp_sub: reduced in, reduced out. */
CD_INLINE void fp_add(fp *r, const fp *a, const fp *b)
{
    fp_add_c(r, a, b);
}

CD_INLINE void fp_sub(fp *r, const fp *a, const fp *b)
{
    fp_sub_c(r, a, b);
}

/* fp_mul: a * b / R mod p; one side may be lazy. */
CD_INLINE void fp_mul(fp *r, const fp *a, const fp *b)
{
    fp_mul_c(r, a, b);
}

/* fp_mul2: (a.c0 b.c0 + a.c1 b.c1) / R mod p with one reduction; fp_mul2_cross: (a.c0 b.c1 + a.c1 b.c0) / R. Inputs and
 * results are reduced. */
CD_INLINE void fp_mul2(fp *r, const fp2 *a, const fp2 *b)
{
    fp_mul2_c(r, &a->c0, &b->c0, &a->c1, &b->c1);
}

CD_INLINE void fp_mul2_cross(fp *r, const fp2 *a, const fp2 *b)
{
    fp_mul2_c(r, &a->c0, &b->c1, &a->c1, &b->c0);
}

/* fp_half gives a / 2 mod p. */
CD_INLINE void fp_half(fp *r, const fp *a)
{
    fp_half_c(r, a);
}

/* fp_mul9_add gives 9a + b mod p with a single reduction. */
CD_INLINE void fp_mul9_add(fp *r, const fp *a, const fp *b)
{
    fp_mul9_add_c(r, a, b);
}
#endif

/* fp_add_lazy gives a + b without reduction: below 2p, fit for one side of a multiplication. */
CD_INLINE void fp_add_lazy(fp *r, const fp *a, const fp *b)
{
#if FP_ASM
    u64 t0;
    u64 t1;
    u64 t2;
    u64 t3;
    __asm__ volatile("movq (%[a]), %[t0]\n\tmovq 8(%[a]), %[t1]\n\t"
                     "movq 16(%[a]), %[t2]\n\tmovq 24(%[a]), %[t3]\n\t"
                     "addq (%[b]), %[t0]\n\tadcq 8(%[b]), %[t1]\n\t"
                     "adcq 16(%[b]), %[t2]\n\tadcq 24(%[b]), %[t3]\n\t" FP_ASM_STORE
                     : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3)
                     : [r] "r"(r), [a] "r"(a), [b] "r"(b)
                     : "cc", "memory");
#else
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry = fp__adc(&r->l[i], a->l[i], b->l[i], carry);
    }
#endif
}

CD_INLINE void fp_sqr(fp *r, const fp *a)
{
    fp_mul(r, a, a);
}

CD_INLINE void fp_dbl(fp *r, const fp *a)
{
    fp_add(r, a, a);
}

CD_INLINE void fp_neg(fp *r, const fp *a)
{
    fp_sub(r, &FP_ZERO, a);
}

/* cd__bn254_fp_inv gives 1/a, and 0 for 0. Its time depends on a. */
void cd__bn254_fp_inv(fp *r, const fp *a);

/* cd__bn254_fp_dec reads 32 bytes big-endian; CD_EPOINT when the number is not below p. _enc writes. */
cd_err cd__bn254_fp_dec(fp *out, const u8 in[32]) CD_CHECK;
void cd__bn254_fp_enc(u8 out[32], const fp *a);

#endif
