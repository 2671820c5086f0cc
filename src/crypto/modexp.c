#include "crypto/modexp.h"

#include "base/mem/mem.h"
#include "crypto/modexp_priv.h"

#include <gmp.h>

static cd_bytes without_zeros(cd_bytes b)
{
    while (b.n != 0 && b.p[0] == 0) {
        b = cd_bytes_sub(b, 1, b.n - 1);
    }
    return b;
}

static void import(mpz_t out, cd_bytes b)
{
    mpz_import(out, b.n, 1, 1, 1, 0, b.p);
}

/* GMP aborts when memory runs out, so as much as it will need is allocated and freed beforehand: operands, quotient and
 * product of a reduction, and a table of up to 2^9 powers. */
static bool has_memory(cd_bytes base, cd_bytes exp, cd_bytes mod)
{
    usize powers = exp.n < 32 ? 32 : 512;
    void *probe = cd_try_alloc(2 * base.n + exp.n + (powers + 8) * mod.n + 64);
    cd_free(probe);
    return probe != NULL;
}

/* Up to this exponent plain products and remainders are used: they are no more than the preparation of Montgomery's
 * method takes. */
enum { SMALL_EXP = 7 };

/* x = x^e mod z for 0 < e <= SMALL_EXP, from the exponent's top bit down. */
static void small_power(mpz_t x, u8 e, const mpz_t z)
{
    mpz_t base;
    mpz_tdiv_r(x, x, z);
    mpz_init_set(base, x);
    for (int bit = 30 - __builtin_clz(e); bit >= 0; bit--) {
        mpz_mul(x, x, x);
        mpz_tdiv_r(x, x, z);
        if ((e >> bit & 1) != 0) {
            mpz_mul(x, x, base);
            mpz_tdiv_r(x, x, z);
        }
    }
    mpz_clear(base);
}

static cd_err word_power(u8 *out, cd_bytes b, cd_bytes e, cd_bytes m, usize n)
{
    u8 word[8] = {0};
    memcpy(word + 8 - m.n, m.p, m.n);
    u64 r = cd__modexp_word(b, e, cd_be64(word));
    memset(out, 0, n);
    cd_put_be64(word, r);
    memcpy(out + n - m.n, word + 8 - m.n, m.n);
    return CD_OK;
}

cd_err cd_modexp(u8 *out, cd_bytes base, cd_bytes exp, cd_bytes mod)
{
    cd_bytes b = without_zeros(base);
    cd_bytes e = without_zeros(exp);
    cd_bytes m = without_zeros(mod);
    if (m.n == 0) {
        memset(out, 0, mod.n);
        return CD_OK;
    }
    if (m.n <= 8) {
        return word_power(out, b, e, m, mod.n);
    }
    if (!has_memory(b, e, m)) {
        return CD_ENOMEM;
    }
    mpz_t x;
    mpz_t y;
    mpz_t z;
    mpz_inits(x, y, z, NULL);
    import(x, b);
    import(y, e);
    import(z, m);
    if (e.n == 1 && e.p[0] <= SMALL_EXP) {
        small_power(x, e.p[0], z);
    } else {
        mpz_powm(x, x, y, z);
    }
    memset(out, 0, mod.n);
    if (mpz_sgn(x) != 0) {
        usize n = (mpz_sizeinbase(x, 2) + 7) / 8;
        mpz_export(out + mod.n - n, NULL, 1, 1, 1, 0, x);
    }
    mpz_clears(x, y, z, NULL);
    return CD_OK;
}
