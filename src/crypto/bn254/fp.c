#include "crypto/bn254/fp_priv.h"

#include "crypto/ec/modinv.h"

void cd__bn254_fp_inv(fp *r, const fp *a)
{
    static const cd__modulus p = {
        {0x3c208c16d87cfd47, 0x1e05aa45a1c72a34, 0x05045b68181585d9, 0x19139cb84c680a6e, 0x30}, 0x382df87d1b799c77};
    /* The input is x*R; its inverse 1/(x*R) times R^3 gives, after one Montgomery product, R/x. */
    static const fp r3 = {{0xb1cd6dafda1530df, 0x62f210e6a7283db6, 0xef7f0b0c0ada0afb, 0x20fd6e902d592544}};
    fp inv;
    cd__modinv(inv.l, a->l, &p);
    fp_mul(r, &inv, &r3);
}

cd_err cd__bn254_fp_dec(fp *out, const u8 in[32])
{
    static const fp r2 = {{0xf32cfc5b538afa89, 0xb5e71911d44501fb, 0x47ab1eff0a417ff6, 0x06d89f71cab8351f}};
    fp a = {{cd_be64(in + 24), cd_be64(in + 16), cd_be64(in + 8), cd_be64(in)}};
    u64 drop;
    u64 borrow = 0;
    for (int i = 0; i < 4; i++) {
        borrow = fp__sbb(&drop, a.l[i], FP_P[i], borrow);
    }
    if (borrow == 0) {
        return CD_EPOINT;
    }
    fp_mul(out, &a, &r2);
    return CD_OK;
}

void cd__bn254_fp_enc(u8 out[32], const fp *a)
{
    static const fp plain_one = {{1}};
    fp plain;
    fp_mul(&plain, a, &plain_one);
    for (usize i = 0; i < 4; i++) {
        cd_put_be64(out + 8 * i, plain.l[3 - i]);
    }
}
