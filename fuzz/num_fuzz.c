/* Words: the identities that tie division, wide products and modular arithmetic together, and text that
 * reads, writes and reads back. The input is three words and then text. */
#include "num/div.h"
#include "num/modular.h"
#include "num/u256_text.h"
#include "num/u512.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* a == q * b + r and r < b, signed and unsigned. */
static void check_division(const cd_u256 *a, const cd_u256 *b)
{
    cd_u256 q;
    cd_u256 r;
    cd_u256 back;
    cd_u256_divmod(&q, &r, a, b);
    if (cd_u256_is_zero(b)) {
        CD_ASSERT(cd_u256_is_zero(&q) && cd_u256_is_zero(&r));
        return;
    }
    CD_ASSERT(cd_u256_lt(&r, b));
    CD_ASSERT(cd_u256_checked_mul(&back, &q, b) && cd_u256_checked_add(&back, &back, &r));
    CD_ASSERT(cd_u256_eq(&back, a));
    cd_u256_sdiv(&q, a, b);
    cd_u256_smod(&r, a, b);
    cd_u256_mul(&back, &q, b);
    cd_u256_add(&back, &back, &r);
    CD_ASSERT(cd_u256_eq(&back, a));
    CD_ASSERT(cd_u256_is_zero(&r) || cd_u256_is_neg(&r) == cd_u256_is_neg(a));
}

/* The product modulo m, with and without a reciprocal, and through the wide quotient. */
static void check_modular(const cd_u256 *a, const cd_u256 *b, const cd_u256 *m)
{
    cd_modctx ctx = {0};
    cd_u256 want;
    cd_u256 got;
    cd_u256_mulmod(&want, a, b, m, NULL);
    for (int i = 0; i < 3; i++) {
        cd_u256_mulmod(&got, a, b, m, &ctx);
        CD_ASSERT(cd_u256_eq(&got, &want));
    }
    cd_u256 q;
    if (cd_u256_muldiv(&q, a, b, m)) {
        cd_u512 back;
        cd_u512 p;
        cd_u512_mul(&back, &q, m);
        cd_u512_mul(&p, a, b);
        cd_u256 low = {.w = {back.w[0], back.w[1], back.w[2], back.w[3]}};
        bool carry = !cd_u256_checked_add(&low, &low, &want);
        cd_u256 p_low = {.w = {p.w[0], p.w[1], p.w[2], p.w[3]}};
        CD_ASSERT(carry || cd_u256_eq(&low, &p_low));
    }
    cd_u256 ra;
    cd_u256 rb;
    cd_u256_mod(&ra, a, m);
    cd_u256_mod(&rb, b, m);
    cd_u256_addmod(&want, a, b, m);
    cd_u256_addmod(&got, &ra, &rb, m);
    CD_ASSERT(cd_u256_eq(&got, &want));
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (size < 96) {
        return 0;
    }
    cd_u256 a;
    cd_u256 b;
    cd_u256 c;
    cd_u256_load_be(&a, data);
    cd_u256_load_be(&b, data + 32);
    cd_u256_load_be(&c, data + 64);
    check_division(&a, &b);
    check_division(&b, &c);
    check_modular(&a, &b, &c);

    cd_u256 v;
    cd_u256 again;
    char text[CD_U256_TEXT_MAX];
    if (cd_u256_parse(&v, cd_bytes_of(data + 96, size - 96)) == CD_OK) {
        usize n = cd_u256_fmt_dec(text, &v);
        CD_ASSERT(cd_u256_parse(&again, cd_bytes_of(text, n)) == CD_OK && cd_u256_eq(&v, &again));
        n = cd_u256_fmt_hex(text, &v);
        CD_ASSERT(cd_u256_parse(&again, cd_bytes_of(text, n)) == CD_OK && cd_u256_eq(&v, &again));
    }
    return 0;
}
