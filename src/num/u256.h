/* num/u256.h - 256-bit unsigned words as the EVM sees them, all operations inline unless they are long.
 *
 * Four 64-bit limbs, w[0] least significant. Arithmetic wraps modulo 2^256; "signed" means two's
 * complement. Results go through the first argument, which may alias any input. Every access to a
 * limb is 8 bytes wide on purpose: wider loads of freshly written limbs stall on store forwarding
 * [spec:evm-performance#4]. Division lives in num/div.h, modular products in num/modular.h, powers
 * in num/exp.h, text in num/u256_text.h. Threading: pure. */
#ifndef CD_NUM_U256_H
#define CD_NUM_U256_H

#include "base/bytes.h"
#include "num/limb.h"

/* An unsigned number of 256 bits, least significant word first. */
typedef struct cd_u256 {
    u64 w[4];
} cd_u256;

/* Constants and small values. */
CD_INLINE cd_u256 cd_u256_from_u64(u64 v)
{
    return (cd_u256){.w = {v, 0, 0, 0}};
}
CD_INLINE cd_u256 cd_u256_zero(void)
{
    return (cd_u256){.w = {0, 0, 0, 0}};
}
CD_INLINE cd_u256 cd_u256_one(void)
{
    return (cd_u256){.w = {1, 0, 0, 0}};
}

/* cd_u256_max gives 2^256 - 1. */
CD_INLINE cd_u256 cd_u256_max(void)
{
    return (cd_u256){.w = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
}

/* cd_u256_set_u64 and cd_u256_set store limb by limb; prefer cd_u256_set to a struct assignment for
 * words written a moment ago. */
CD_INLINE void cd_u256_set_u64(cd_u256 *out, u64 v)
{
    u64 z1 = 0;
    u64 z2 = 0;
    u64 z3 = 0;
    CD__LIMB_PIN(v, z1, z2, z3);
    out->w[0] = v;
    out->w[1] = z1;
    out->w[2] = z2;
    out->w[3] = z3;
}

CD_INLINE void cd_u256_set(cd_u256 *out, const cd_u256 *a)
{
    u64 w0 = a->w[0];
    u64 w1 = a->w[1];
    u64 w2 = a->w[2];
    u64 w3 = a->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

/* Predicates and comparisons. */
CD_INLINE bool cd_u256_is_zero(const cd_u256 *a)
{
    u64 w0 = a->w[0];
    u64 w1 = a->w[1];
    u64 w2 = a->w[2];
    u64 w3 = a->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    return (w0 | w1 | w2 | w3) == 0;
}

CD_INLINE bool cd_u256_eq(const cd_u256 *a, const cd_u256 *b)
{
    u64 w0 = a->w[0] ^ b->w[0];
    u64 w1 = a->w[1] ^ b->w[1];
    u64 w2 = a->w[2] ^ b->w[2];
    u64 w3 = a->w[3] ^ b->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    return (w0 | w1 | w2 | w3) == 0;
}

/* cd_u256_fits_u64: the value is below 2^64 (and is then w[0]). */
CD_INLINE bool cd_u256_fits_u64(const cd_u256 *a)
{
    u64 w1 = a->w[1];
    u64 w2 = a->w[2];
    u64 w3 = a->w[3];
    u64 none = 0;
    CD__LIMB_PIN(none, w1, w2, w3);
    return (w1 | w2 | w3) == 0;
}

/* cd_u256_to_u64_sat gives the value, or 2^64 - 1 when it does not fit. */
CD_INLINE u64 cd_u256_to_u64_sat(const cd_u256 *a)
{
    return cd_u256_fits_u64(a) ? a->w[0] : UINT64_MAX;
}

CD_INLINE bool cd_u256_lt(const cd_u256 *a, const cd_u256 *b)
{
    return cd__num_lt4(a->w, b->w);
}
CD_INLINE bool cd_u256_slt(const cd_u256 *a, const cd_u256 *b)
{
    return cd__num_slt4(a->w, b->w);
}

/* cd_u256_cmp compares a and b as unsigned numbers and gives < 0, 0 or > 0. */
CD_INLINE int cd_u256_cmp(const cd_u256 *a, const cd_u256 *b)
{
    return (int)cd__num_lt4(b->w, a->w) - (int)cd__num_lt4(a->w, b->w);
}

/* cd_u256_is_neg gives the sign bit. */
CD_INLINE bool cd_u256_is_neg(const cd_u256 *a)
{
    return a->w[3] >> 63;
}

/* cd_u256_bits gives the length in bits without leading zeros; cd_u256_bytes the length in bytes. */
CD_INLINE u32 cd_u256_bits(const cd_u256 *a)
{
    for (u32 i = 4; i > 0; i--) {
        if (a->w[i - 1] != 0) {
            return 64 * i - (u32)__builtin_clzll(a->w[i - 1]);
        }
    }
    return 0;
}

CD_INLINE u32 cd_u256_bytes(const cd_u256 *a)
{
    return (cd_u256_bits(a) + 7) / 8;
}

/* Wrapping arithmetic. */
CD_INLINE void cd_u256_add(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    (void)cd__num_add4(out->w, a->w, b->w);
}

CD_INLINE void cd_u256_sub(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    (void)cd__num_sub4(out->w, a->w, b->w);
}

CD_INLINE void cd_u256_mul(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    cd__num_mul4lo(out->w, a->w, b->w);
}

/* cd_u256_add_u64 stores a + b modulo 2^256 and gives the carry. */
CD_INLINE bool cd_u256_add_u64(cd_u256 *out, const cd_u256 *a, u64 b)
{
    cd_u256 t = cd_u256_from_u64(b);
    return cd__num_add4(out->w, a->w, t.w);
}

/* cd_u256_mul_u64 stores the low 256 bits of a * b and gives the part above them. */
CD_INLINE u64 cd_u256_mul_u64(cd_u256 *out, const cd_u256 *a, u64 b)
{
    return cd__num_mul4x1(out->w, a->w, b);
}

CD_INLINE void cd_u256_neg(cd_u256 *out, const cd_u256 *a)
{
    cd_u256 z = cd_u256_zero();
    (void)cd__num_sub4(out->w, z.w, a->w);
}

/* Checked arithmetic: true and *out set when the exact result fits, false and *out untouched when it
 * does not. cd_u256_sub_sat gives 0 where the exact difference is negative. */
CD_INLINE CD_CHECK bool cd_u256_checked_add(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    cd_u256 t;
    if (cd__num_add4(t.w, a->w, b->w)) {
        return false;
    }
    cd_u256_set(out, &t);
    return true;
}

CD_INLINE CD_CHECK bool cd_u256_checked_sub(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    cd_u256 t;
    if (cd__num_sub4(t.w, a->w, b->w)) {
        return false;
    }
    cd_u256_set(out, &t);
    return true;
}

CD_INLINE CD_CHECK bool cd_u256_checked_mul_u64(cd_u256 *out, const cd_u256 *a, u64 b)
{
    cd_u256 t;
    if (cd__num_mul4x1(t.w, a->w, b) != 0) {
        return false;
    }
    cd_u256_set(out, &t);
    return true;
}

CD_INLINE CD_CHECK bool cd_u256_checked_mul(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    u64 p[8];
    cd__num_mul4(p, a->w, b->w);
    if ((p[4] | p[5] | p[6] | p[7]) != 0) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        out->w[i] = p[i];
    }
    return true;
}

CD_INLINE void cd_u256_sub_sat(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    if (!cd_u256_checked_sub(out, a, b)) {
        cd_u256_set_u64(out, 0);
    }
}

/* Bitwise operations. */
CD_INLINE void cd_u256_and(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    u64 w0 = a->w[0] & b->w[0];
    u64 w1 = a->w[1] & b->w[1];
    u64 w2 = a->w[2] & b->w[2];
    u64 w3 = a->w[3] & b->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

CD_INLINE void cd_u256_or(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    u64 w0 = a->w[0] | b->w[0];
    u64 w1 = a->w[1] | b->w[1];
    u64 w2 = a->w[2] | b->w[2];
    u64 w3 = a->w[3] | b->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

CD_INLINE void cd_u256_xor(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    u64 w0 = a->w[0] ^ b->w[0];
    u64 w1 = a->w[1] ^ b->w[1];
    u64 w2 = a->w[2] ^ b->w[2];
    u64 w3 = a->w[3] ^ b->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

CD_INLINE void cd_u256_not(cd_u256 *out, const cd_u256 *a)
{
    u64 w0 = ~a->w[0];
    u64 w1 = ~a->w[1];
    u64 w2 = ~a->w[2];
    u64 w3 = ~a->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

/* cd_u256_shl / shr / sar shift by n bits: n >= 256 gives 0; for sar it gives copies of the sign bit. The _by forms
 * take the count as a 256-bit word, as SHL, SHR and SAR do [EIP-145]. */
CD_INLINE void cd_u256_shl(cd_u256 *out, const cd_u256 *a, u64 n)
{
    if (CD_UNLIKELY(n > 255)) {
        cd_u256_set_u64(out, 0);
        return;
    }
    u64 w0 = a->w[0];
    u64 w1 = a->w[1];
    u64 w2 = a->w[2];
    u64 w3 = a->w[3];
    cd__num_up4(&w0, &w1, &w2, &w3, n);
    /* The shift by 64 - n goes in two steps, so that n = 0 needs no case of its own. */
    u64 up = n & 63;
    u64 down = ~n & 63;
    w3 = (w3 << up) | ((w2 >> 1) >> down);
    w2 = (w2 << up) | ((w1 >> 1) >> down);
    w1 = (w1 << up) | ((w0 >> 1) >> down);
    w0 = w0 << up;
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

/* cd__u256_shr_fill shifts right by n < 256 bits and brings in bits of fill (0 or all ones). */
CD_INLINE void cd__u256_shr_fill(cd_u256 *out, const cd_u256 *a, u64 n, u64 fill)
{
    u64 w0 = a->w[0];
    u64 w1 = a->w[1];
    u64 w2 = a->w[2];
    u64 w3 = a->w[3];
    cd__num_down4(&w0, &w1, &w2, &w3, n, fill);
    u64 down = n & 63;
    u64 up = ~n & 63;
    w0 = (w0 >> down) | ((w1 << 1) << up);
    w1 = (w1 >> down) | ((w2 << 1) << up);
    w2 = (w2 >> down) | ((w3 << 1) << up);
    w3 = (w3 >> down) | ((fill << 1) << up);
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

CD_INLINE void cd_u256_shr(cd_u256 *out, const cd_u256 *a, u64 n)
{
    if (CD_UNLIKELY(n > 255)) {
        cd_u256_set_u64(out, 0);
        return;
    }
    cd__u256_shr_fill(out, a, n, 0);
}

CD_INLINE void cd_u256_sar(cd_u256 *out, const cd_u256 *a, u64 n)
{
    u64 fill = 0 - (a->w[3] >> 63);
    if (CD_UNLIKELY(n > 255)) {
        u64 f1 = fill;
        u64 f2 = fill;
        u64 f3 = fill;
        CD__LIMB_PIN(fill, f1, f2, f3);
        out->w[0] = fill;
        out->w[1] = f1;
        out->w[2] = f2;
        out->w[3] = f3;
        return;
    }
    cd__u256_shr_fill(out, a, n, fill);
}

CD_INLINE void cd_u256_shl_by(cd_u256 *out, const cd_u256 *a, const cd_u256 *n)
{
    cd_u256_shl(out, a, cd_u256_to_u64_sat(n));
}

CD_INLINE void cd_u256_shr_by(cd_u256 *out, const cd_u256 *a, const cd_u256 *n)
{
    cd_u256_shr(out, a, cd_u256_to_u64_sat(n));
}

CD_INLINE void cd_u256_sar_by(cd_u256 *out, const cd_u256 *a, const cd_u256 *n)
{
    cd_u256_sar(out, a, cd_u256_to_u64_sat(n));
}

/* cd_u256_byte gives byte idx of a, counted from the most significant one, and 0 from index 32 on (BYTE). */
CD_INLINE u64 cd_u256_byte(const cd_u256 *a, u64 idx)
{
    return idx > 31 ? 0 : (a->w[3 - (idx >> 3)] >> (56 - 8 * (idx & 7))) & 0xff;
}

/* cd_u256_signextend extends the two's complement number in the low k + 1 bytes of *x over the whole
 * word, in place; k >= 31 changes nothing (SIGNEXTEND). */
CD_INLINE void cd_u256_signextend(cd_u256 *x, u64 k)
{
    if (k > 30) {
        return;
    }
    u64 idx = k >> 3;
    u64 up = 56 - 8 * (k & 7);
    i64 limb = (i64)(x->w[idx] << up) >> up;
    u64 fill = (u64)(limb >> 63);
    x->w[idx] = (u64)limb;
    while (++idx < 4) {
        x->w[idx] = fill;
    }
}

/* Words as big-endian bytes: 32 of them; cd_u256_load_be_n reads n <= 32 bytes as the low ones of a word. */
CD_INLINE void cd_u256_load_be(cd_u256 *out, const u8 *p)
{
    u64 w3 = cd_be64(p);
    u64 w2 = cd_be64(p + 8);
    u64 w1 = cd_be64(p + 16);
    u64 w0 = cd_be64(p + 24);
    CD__LIMB_PIN(w0, w1, w2, w3);
    out->w[0] = w0;
    out->w[1] = w1;
    out->w[2] = w2;
    out->w[3] = w3;
}

CD_INLINE void cd_u256_store_be(u8 *p, const cd_u256 *a)
{
    u64 w0 = a->w[0];
    u64 w1 = a->w[1];
    u64 w2 = a->w[2];
    u64 w3 = a->w[3];
    CD__LIMB_PIN(w0, w1, w2, w3);
    cd_put_be64(p, w3);
    cd_put_be64(p + 8, w2);
    cd_put_be64(p + 16, w1);
    cd_put_be64(p + 24, w0);
}

CD_INLINE void cd_u256_load_be_n(cd_u256 *out, const u8 *p, usize n)
{
    CD_ASSERT(n <= 32);
    cd_u256 t = cd_u256_zero();
    usize limb = 0;
    for (; n >= 8; n -= 8) {
        t.w[limb++] = cd_be64(p + n - 8);
    }
    for (usize i = 0; i < n; i++) {
        t.w[limb] = t.w[limb] << 8 | p[i];
    }
    cd_u256_set(out, &t);
}

/* cd_u256_from_hash / cd_u256_to_hash convert between a number and its 32 bytes on the wire. */
CD_INLINE cd_u256 cd_u256_from_hash(const cd_hash32 *h)
{
    cd_u256 t;
    cd_u256_load_be(&t, h->b);
    return t;
}

CD_INLINE cd_hash32 cd_u256_to_hash(const cd_u256 *a)
{
    cd_hash32 h;
    cd_u256_store_be(h.b, a);
    return h;
}

/* cd_u256_from_addr takes an address as the low 20 bytes of a word; cd_u256_to_addr gives the low 20 bytes. */
CD_INLINE cd_u256 cd_u256_from_addr(const cd_addr20 *a)
{
    return (cd_u256){.w = {cd_be64(a->b + 12), cd_be64(a->b + 4), cd_be32(a->b), 0}};
}

CD_INLINE cd_addr20 cd_u256_to_addr(const cd_u256 *a)
{
    cd_addr20 r;
    cd_put_be32(r.b, (u32)a->w[2]);
    cd_put_be64(r.b + 4, a->w[1]);
    cd_put_be64(r.b + 12, a->w[0]);
    return r;
}

#endif
