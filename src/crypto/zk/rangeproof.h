/* crypto/zk/rangeproof.h - Bulletproofs: proofs that committed numbers lie in [0, 2^64), which do not tell the numbers.
 *
 * Aggregated over 1, 2, 4 ... 32 commitments; a proof has 32 * (9 + 2 * log2(64 * cnt)) bytes: 672 for one, 992 for
 * 32. Byte for byte what the Rust crate `bulletproofs` 4 and 5 make and take. A proof is bound to everything said in
 * the transcript before, so a transcript that differs refuses it.
 *
 *   G_i, H_i: 64 generators each a party, made on first use (about 30 us a point) and kept
 *
 * Threading: pure. [spec:adx#5.2] */
#ifndef CD_CRYPTO_ZK_RANGEPROOF_H
#define CD_CRYPTO_ZK_RANGEPROOF_H

#include "base/os/rng.h"
#include "crypto/zk/merlin.h"
#include "crypto/zk/ristretto.h"

enum {
    CD_RANGEPROOF_BITS = 64,
    CD_RANGEPROOF_PARTIES_MAX = 32,
    CD_RANGEPROOF_SIZE_ONE = 672,
    CD_RANGEPROOF_SIZE_MAX = 992,
};

/* cd_rangeproof_size gives the bytes of a proof about cnt commitments; 0 where cnt is no power of two up to 32. */
usize cd_rangeproof_size(usize cnt);

/* cd_rangeproof_prove writes a proof about value[i] with blinding[i] and says their commitments in t; cnt as above.
 * The time does not depend on values or blindings. rng is the source of the masks: nobody may guess it. */
void cd_rangeproof_prove(u8 *proof, cd_merlin *t, const u64 *value, const cd_scalar *blinding, usize cnt, cd_rng *rng);

/* One proof to check: the transcript as it stood before the proof, 32 bytes of each commitment (all zero: a commitment
 * to 0 with blinding 0), all borrowed. */
typedef struct cd_rangeproof_claim {
    const cd_merlin *transcript;
    const cd_hash32 *commitment;
    usize cnt;
    cd_bytes proof;
} cd_rangeproof_claim;

/* cd_rangeproof_verify checks one proof: CD_OK, CD_EFORMAT (a wrong length or number of commitments), CD_ECANON (a
 * scalar that is not reduced), CD_EPOINT (bytes that are no point, or an identity where none may be), CD_EPROOF. */
cd_err cd_rangeproof_verify(const cd_rangeproof_claim *claim) CD_CHECK;

/* cd_rangeproof_verify_many checks cnt proofs at once, several times cheaper: CD_OK when each is valid, otherwise one
 * of the errors above. To learn which proof is wrong, call cd_rangeproof_verify. */
cd_err cd_rangeproof_verify_many(const cd_rangeproof_claim *claims, usize cnt) CD_CHECK;

#endif
