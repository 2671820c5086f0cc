/* types/warp_set.h - checks the aggregate signature of a Warp message against a set of validators.
 *
 * A set is canonical: validators without a key count in its weight alone, those with the same key are one member, and
 * members ascend by their key, so that a bit of the message names the same member on every node.
 * Threading: pure. [spec:warp#5] */
#ifndef CD_TYPES_WARP_SET_H
#define CD_TYPES_WARP_SET_H

#include "base/mem/arena.h"
#include "crypto/bls/bls.h"
#include "types/warp.h"

/* A validator as the P-chain knows it. */
typedef struct cd_warp_validator {
    bool has_key;
    cd_bls_pk key;
    u64 weight;
} cd_warp_validator;

/* One member of a canonical set: all validators with this key together. */
typedef struct cd_warp_member {
    cd_bls_pk key;
    u8 raw[96]; /* the key uncompressed; members ascend by it */
    u64 weight;
} cd_warp_member;

/* The canonical set: one member a key. */
typedef struct cd_warp_set {
    const cd_warp_member *members;
    usize cnt;
    u64 total; /* weight of all validators, those without a key included */
    /* The sum of all keys, so that of many signers the few that are missing are taken off; not there when it is
     * infinity, and then each signer's key is added. */
    bool has_sum;
    cd_bls_pk sum;
} cd_warp_set;

/* cd_warp_set_make builds the canonical set. Errors: CD_ERANGE when the total weight exceeds 64 bits. */
cd_err cd_warp_set_make(cd_warp_set *out, cd_arena *a, const cd_warp_validator *validators, usize cnt) CD_CHECK;

/* cd_warp_check checks a signed message. Errors: CD_EINVAL, CD_ESIG with the words of [spec:warp#5]. */
cd_err cd_warp_check(const cd_warp_message *m, u32 network_id, const cd_warp_set *set, u64 quorum_num, u64 quorum_den,
                     cd_errinfo *why) CD_CHECK;

#endif
