#include "crypto/hash/blake2.h"

#include "crypto/cpu.h"
#include "crypto/hash/blake2_priv.h"

#if defined(__AVX2__)
#include <immintrin.h>

CD_INLINE __m256i ror32(__m256i x)
{
    return _mm256_shuffle_epi32(x, 0xb1);
}

CD_INLINE __m256i ror24(__m256i x)
{
    return _mm256_shuffle_epi8(x, _mm256_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10, 3, 4, 5, 6, 7,
                                                   0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10));
}

CD_INLINE __m256i ror16(__m256i x)
{
    return _mm256_shuffle_epi8(x, _mm256_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9, 2, 3, 4, 5, 6,
                                                   7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9));
}

CD_INLINE __m256i ror63(__m256i x)
{
    return _mm256_xor_si256(_mm256_srli_epi64(x, 63), _mm256_add_epi64(x, x));
}

#include "crypto/hash/blake2_rows.h"

void cd__blake2b_f_rows(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    blake2b_f(h, m, t, last, rounds);
}

#else

void cd__blake2b_f_rows(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    cd__blake2b_f_words(h, m, t, last, rounds);
}

#endif

void cd_blake2b_f(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    if (cd__cpu.lags) {
        cd__blake2b_f_words(h, m, t, last, rounds);
    } else if (cd__cpu.avx512) {
        cd__blake2b_f_avx512(h, m, t, last, rounds);
    } else {
        cd__blake2b_f_rows(h, m, t, last, rounds);
    }
}
