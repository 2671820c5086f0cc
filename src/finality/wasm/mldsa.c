/* ML-DSA-65 in the module: the portable code, as crypto/pq/mldsa.c has the one for AVX2. [spec:finality#4] */
#include "crypto/pq/mldsa.h"

/* The library's function, declared here because its headers need all of the library. */
int pqcrystals_ml_dsa_65_ref_verify_internal(const u8 *sig, usize siglen, const u8 *m, usize mlen, const u8 *pre,
                                             usize prelen, const u8 *pk);

bool cd_mldsa_verify(const u8 pk[CD_MLDSA_PK], cd_bytes sig, cd_bytes message, cd_bytes context)
{
    u8 prefix[2 + CD_MLDSA_CONTEXT_MAX] = {0, (u8)context.n};
    if (context.n > CD_MLDSA_CONTEXT_MAX) {
        return false;
    }
    memcpy(prefix + 2, context.p, context.n);
    return pqcrystals_ml_dsa_65_ref_verify_internal(sig.p, sig.n, message.p, message.n, prefix, 2 + context.n, pk) == 0;
}
