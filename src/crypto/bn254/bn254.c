#include "crypto/bn254/bn254.h"

#include "crypto/bn254/bn254_priv.h"

#define PAIR_LEN 192

cd_err cd_bn254_add(u8 out[64], const u8 in[128])
{
    g1 a;
    g1 b;
    CD_TRY(cd__bn254_g1_dec(&a, in));
    CD_TRY(cd__bn254_g1_dec(&b, in + 64));
    cd__bn254_g1_add(&a, &a, &b);
    cd__bn254_g1_enc(out, &a);
    return CD_OK;
}

cd_err cd_bn254_mul(u8 out[64], const u8 in[96])
{
    g1 a;
    CD_TRY(cd__bn254_g1_dec(&a, in));
    const u64 k[4] = {cd_be64(in + 88), cd_be64(in + 80), cd_be64(in + 72), cd_be64(in + 64)};
    cd__bn254_g1_mul(&a, &a, k);
    cd__bn254_g1_enc(out, &a);
    return CD_OK;
}

cd_err cd_bn254_pairing(bool *is_one, cd_bytes in)
{
    if (in.n % PAIR_LEN != 0) {
        return CD_EINVAL;
    }
    fp12 f = CD__BN254_FP12_ONE;
    usize cnt = in.n / PAIR_LEN;
    for (usize done = 0; done < cnt;) {
        g1 ps[CD__BN254_CHUNK];
        g2 qs[CD__BN254_CHUNK];
        usize n = cnt - done < CD__BN254_CHUNK ? cnt - done : CD__BN254_CHUNK;
        for (usize i = 0; i < n; i++) {
            const u8 *p = in.p + (done + i) * PAIR_LEN;
            CD_TRY(cd__bn254_g1_dec(&ps[i], p));
            CD_TRY(cd__bn254_g2_dec(&qs[i], p + 64));
        }
        if (!cd__bn254_miller(&f, ps, qs, n)) {
            return CD_EPOINT;
        }
        done += n;
    }
    cd__bn254_final_exp(&f, &f);
    *is_one = cd__bn254_fp12_is_one(&f);
    return CD_OK;
}
