/* chains/platform/txs/shape.h - what can be said of a transaction without the chain: is it well-formed?
 *
 * Checks, their order and their words are the original's; names are those of product networks. The only thing of any
 * cost is the proof of possession of a BLS key. Threading: pure. [spec:pchain-xchain#4] */
#ifndef CD_CHAINS_PLATFORM_TXS_SHAPE_H
#define CD_CHAINS_PLATFORM_TXS_SHAPE_H

#include "chains/platform/txs/rules.h"
#include "chains/platform/txs/tx.h"
#include "crypto/bls/bls.h"

/* cd_ptx_shape looks at the whole transaction but its credentials. Errors: CD_EINVAL and like, with what is wrong. */
cd_err cd_ptx_shape(const cd_p_tx *tx, const cd_p_rules *rules, cd_errinfo *why) CD_CHECK;

/* cd_p_pop_check verifies that the owner of a key has the secret one, and gives the key (NULL: not wanted). Errors:
 * CD_EINVAL. */
cd_err cd_p_pop_check(cd_bls_pk *out, const u8 key[48], const u8 proof[96], cd_errinfo *why) CD_CHECK;

/* cd_p_l1_owner_check: may addresses and threshold own something? Errors: CD_EINVAL. */
cd_err cd_p_l1_owner_check(const cd_p_l1_owner *o, cd_errinfo *why) CD_CHECK;

#endif
