#include "crypto/cpu.h"
#include "crypto/hash/keccak_priv.h"

/* With fewer inputs than this, hashing them one after the other is faster. */
#define AVX512_FROM 2
#define AVX2_FROM   3

void cd__keccak_many_scalar(cd_hash32 *out, const cd_bytes *in, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        cd_keccak256(&out[i], in[i]);
    }
}

void cd_keccak256_many(cd_hash32 *out, const cd_bytes *in, usize cnt)
{
#if defined(__x86_64__)
    if (cd__cpu.avx512 && cnt >= AVX512_FROM) {
        cd__keccak_many_avx512(out, in, cnt);
        return;
    }
    if (cd__cpu.avx2 && cnt >= AVX2_FROM) {
        cd__keccak_many_avx2(out, in, cnt);
        return;
    }
#endif
    cd__keccak_many_scalar(out, in, cnt);
}

void cd_keccak256_x8(cd_hash32 out[8], const cd_bytes in[8])
{
    cd_keccak256_many(out, in, 8);
}
