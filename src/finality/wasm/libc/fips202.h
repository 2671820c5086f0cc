/* finality/wasm/libc/fips202.h - SHAKE under the names that the portable ML-DSA code has for it. Threading: as streams.
 * [FIPS 204] */
#ifndef CD_FINALITY_WASM_FIPS202_H
#define CD_FINALITY_WASM_FIPS202_H

#include "crypto/hash/shake.h"

/* Bytes of a block of each. */
#define SHAKE128_RATE CD_SHAKE128_RATE
#define SHAKE256_RATE CD_SHAKE256_RATE

/* A stream of either kind. */
typedef cd_shake shake128incctx;
typedef cd_shake shake256incctx;

/* As crypto/hash/shake.h has them; there is nothing to release. */
#define shake128_inc_init(s)                cd_shake_init((s), CD_SHAKE128_RATE)
#define shake256_inc_init(s)                cd_shake_init((s), CD_SHAKE256_RATE)
#define shake256_inc_ctx_reset(s)           cd_shake_init((s), CD_SHAKE256_RATE)
#define shake128_inc_absorb(s, in, n)       cd_shake_update((s), cd_bytes_of((in), (n)))
#define shake256_inc_absorb(s, in, n)       cd_shake_update((s), cd_bytes_of((in), (n)))
#define shake128_inc_finalize(s)            cd_shake_end(s)
#define shake256_inc_finalize(s)            cd_shake_end(s)
#define shake256_inc_squeeze(out, n, s)     cd_shake_fill((s), (out), (n))
#define shake128_squeezeblocks(out, cnt, s) cd_shake_fill((s), (out), (size_t)(cnt)*SHAKE128_RATE)
#define shake256_squeezeblocks(out, cnt, s) cd_shake_fill((s), (out), (size_t)(cnt)*SHAKE256_RATE)
#define shake128_inc_ctx_release(s)         (void)(s)
#define shake256_inc_ctx_release(s)         (void)(s)

/* shake256 gives n bytes of the hash of in. */
static inline void shake256(u8 *out, size_t n, const u8 *in, size_t in_n)
{
    cd_shake s;
    cd_shake_init(&s, CD_SHAKE256_RATE);
    cd_shake_update(&s, cd_bytes_of(in, in_n));
    cd_shake_end(&s);
    cd_shake_fill(&s, out, n);
}

#endif
