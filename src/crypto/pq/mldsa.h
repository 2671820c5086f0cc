/* crypto/pq/mldsa.h - ML-DSA-65, the signature of FIPS 204 that stands where no threshold key does. Threading: pure.
 * [FIPS 204] [spec:finality#4] */
#ifndef CD_CRYPTO_MLDSA_H
#define CD_CRYPTO_MLDSA_H

#include "base/bytes.h"

/* Lengths in bytes. */
enum { CD_MLDSA_SEED = 32, CD_MLDSA_PK = 1952, CD_MLDSA_SK = 4032, CD_MLDSA_SIG = 3309, CD_MLDSA_CONTEXT_MAX = 255 };

/* cd_mldsa_keygen makes the key pair of a seed, which must be random; sk is the caller's to wipe. */
void cd_mldsa_keygen(u8 pk[CD_MLDSA_PK], u8 sk[CD_MLDSA_SK], const u8 seed[CD_MLDSA_SEED]);

/* cd_mldsa_sign signs a message under a context of at most CD_MLDSA_CONTEXT_MAX bytes. rnd are 32 fresh random bytes,
 * or zeros for the deterministic variant. */
void cd_mldsa_sign(u8 sig[CD_MLDSA_SIG], const u8 sk[CD_MLDSA_SK], cd_bytes message, cd_bytes context,
                   const u8 rnd[32]);

/* cd_mldsa_verify: whether sig, of any length, is the key's signature of the message under the context. */
bool cd_mldsa_verify(const u8 pk[CD_MLDSA_PK], cd_bytes sig, cd_bytes message, cd_bytes context);

#endif
