#include "crypto/hash/blake2_priv.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#include <immintrin.h>

CD_INLINE __m256i ror32(__m256i x)
{
    return _mm256_ror_epi64(x, 32);
}

CD_INLINE __m256i ror24(__m256i x)
{
    return _mm256_ror_epi64(x, 24);
}

CD_INLINE __m256i ror16(__m256i x)
{
    return _mm256_ror_epi64(x, 16);
}

CD_INLINE __m256i ror63(__m256i x)
{
    return _mm256_ror_epi64(x, 63);
}

#include "crypto/hash/blake2_rows.h"

void cd__blake2b_f_avx512(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    blake2b_f(h, m, t, last, rounds);
}

#else

void cd__blake2b_f_avx512(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    cd__blake2b_f_words(h, m, t, last, rounds);
}

#endif
