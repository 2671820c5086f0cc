#include "crypto/modexp.h"

#include "base/mem.h"

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

/* GMP aborts when memory runs out, so what it will need is asked for beforehand: operands, quotient and
 * product of a reduction, and a table of up to 2^9 powers. */
static bool has_memory(cd_bytes base, cd_bytes exp, cd_bytes mod)
{
    usize powers = exp.n < 32 ? 32 : 512;
    void *probe = cd_try_alloc(2 * base.n + exp.n + (powers + 8) * mod.n + 64);
    cd_free(probe);
    return probe != NULL;
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
    mpz_powm(x, x, y, z);
    memset(out, 0, mod.n);
    if (mpz_sgn(x) != 0) {
        usize n = (mpz_sizeinbase(x, 2) + 7) / 8;
        mpz_export(out + mod.n - n, NULL, 1, 1, 1, 0, x);
    }
    mpz_clears(x, y, z, NULL);
    return CD_OK;
}
