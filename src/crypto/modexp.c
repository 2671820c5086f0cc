#include "crypto/modexp.h"

#include <gmp.h>

cd_err cd_modexp(u8 *out, cd_bytes base, cd_bytes exp, cd_bytes mod)
{
    mpz_t b;
    mpz_t e;
    mpz_t m;
    mpz_inits(b, e, m, NULL);
    mpz_import(m, mod.n, 1, 1, 1, 0, mod.p);
    memset(out, 0, mod.n);
    if (mpz_sgn(m) != 0) {
        mpz_import(b, base.n, 1, 1, 1, 0, base.p);
        mpz_import(e, exp.n, 1, 1, 1, 0, exp.p);
        mpz_powm(b, b, e, m);
        usize n = (mpz_sizeinbase(b, 2) + 7) / 8;
        if (mpz_sgn(b) != 0) {
            mpz_export(out + mod.n - n, NULL, 1, 1, 1, 0, b);
        }
    }
    mpz_clears(b, e, m, NULL);
    return CD_OK;
}
