#include "crypto/pq/mldsa.h"

#include <stdint.h>

/* The library's functions, declared here because its headers need all of the library. */
#define OWN(name) pqcrystals_ml_dsa_65_avx2_##name
int OWN(keypair)(uint8_t *pk, uint8_t *sk);
int OWN(signature_internal)(uint8_t *sig, size_t *siglen, const uint8_t *m, size_t mlen, const uint8_t *pre,
                            size_t prelen, const uint8_t *rnd, const uint8_t *sk);
int OWN(verify_internal)(const uint8_t *sig, size_t siglen, const uint8_t *m, size_t mlen, const uint8_t *pre,
                         size_t prelen, const uint8_t *pk);

/* The library calls this function for randomness, and only to make keys; it gets the seed of the running call. */
void OQS_randombytes(uint8_t *out, size_t n); // NOLINT(readability-identifier-naming)

static _Thread_local const u8 *seed_of_call;

void OQS_randombytes(uint8_t *out, size_t n) // NOLINT(readability-identifier-naming)
{
    CD_ASSERT(seed_of_call != NULL && n == CD_MLDSA_SEED);
    memcpy(out, seed_of_call, n);
}

void cd_mldsa_keygen(u8 pk[CD_MLDSA_PK], u8 sk[CD_MLDSA_SK], const u8 seed[CD_MLDSA_SEED])
{
    seed_of_call = seed;
    int failed = OWN(keypair)(pk, sk);
    seed_of_call = NULL;
    CD_ASSERT(failed == 0);
}

/* The bytes in front of a message: zero (no hashing before), the context's length, the context. [FIPS 204 5.2] */
typedef struct prefix {
    u8 b[2 + CD_MLDSA_CONTEXT_MAX];
    usize n;
} prefix;

static prefix prefix_of(cd_bytes context)
{
    prefix p = {.b = {0, (u8)context.n}, .n = 2 + context.n};
    CD_ASSERT(context.n <= CD_MLDSA_CONTEXT_MAX);
    if (context.n != 0) {
        memcpy(p.b + 2, context.p, context.n);
    }
    return p;
}

void cd_mldsa_sign(u8 sig[CD_MLDSA_SIG], const u8 sk[CD_MLDSA_SK], cd_bytes message, cd_bytes context, const u8 rnd[32])
{
    prefix p = prefix_of(context);
    size_t n = 0;
    int failed = OWN(signature_internal)(sig, &n, message.p, message.n, p.b, p.n, rnd, sk);
    CD_ASSERT(failed == 0 && n == CD_MLDSA_SIG);
}

bool cd_mldsa_verify(const u8 pk[CD_MLDSA_PK], cd_bytes sig, cd_bytes message, cd_bytes context)
{
    prefix p = prefix_of(context);
    return OWN(verify_internal)(sig.p, sig.n, message.p, message.n, p.b, p.n, pk) == 0;
}
