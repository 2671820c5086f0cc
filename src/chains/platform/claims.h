/* chains/platform/claims.h - what the P-Chain says to managers of L1s, and whether it is so: the judge of its Warp
 * messages.
 *
 *   message: "the net became an L1 so", "this validator is registered", "is not, and never will be", "weighs so much"
 *   justification: the net, or what the validation ID was made of      ──► state of the last accepted block
 *
 * Threading: confined, as the state. [spec:warp#8] */
#ifndef CD_CHAINS_PLATFORM_CLAIMS_H
#define CD_CHAINS_PLATFORM_CLAIMS_H

#include "chains/platform/state/state.h"
#include "types/warp.h"

/* Codes of refusals; 0: it is so. CD_P_CLAIM_BROKEN has no number of its own in the original: the state cannot be
 * read. */
typedef enum cd_p_claim {
    CD_P_CLAIM_BROKEN = -1,
    CD_P_CLAIM_TRUE = 0,
    CD_P_CLAIM_NO_CALL = 1,
    CD_P_CLAIM_HAS_SOURCE = 2,
    CD_P_CLAIM_NO_PAYLOAD = 3,
    CD_P_CLAIM_OTHER_PAYLOAD = 4,
    CD_P_CLAIM_NO_JUSTIFICATION = 5,
    CD_P_CLAIM_NO_CONVERSION = 6,
    CD_P_CLAIM_OTHER_CONVERSION = 7,
    CD_P_CLAIM_OTHER_JUSTIFICATION = 8,
    CD_P_CLAIM_NO_NET = 9,
    CD_P_CLAIM_OTHER_VALIDATION = 10,
    CD_P_CLAIM_NO_VALIDATION = 11,
    CD_P_CLAIM_VALIDATION = 12,
    CD_P_CLAIM_NO_REGISTER = 13,
    CD_P_CLAIM_TO_COME = 14,
    CD_P_CLAIM_LAST_NONCE = 15,
    CD_P_CLAIM_OTHER_NONCE = 16,
    CD_P_CLAIM_OTHER_WEIGHT = 17,
} cd_p_claim;

/* cd_p_claim_judge judges a message by a state. */
cd_p_claim cd_p_claim_judge(const cd_pstate *s, const cd_warp_unsigned *m, cd_bytes justification, cd_errinfo *why);

#endif
