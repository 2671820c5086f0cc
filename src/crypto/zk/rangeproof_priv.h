/* crypto/zk/rangeproof_priv.h - what prover and verifier share (internal). */
#ifndef CD_CRYPTO_ZK_RANGEPROOF_PRIV_H
#define CD_CRYPTO_ZK_RANGEPROOF_PRIV_H

#include "crypto/zk/msm.h"
#include "crypto/zk/rangeproof.h"

#define CD__BITS CD_RANGEPROOF_BITS

/* Generators for cnt parties: g[0 .. 64 * cnt), then h[0 .. 64 * cnt) behind them. */
const cd_point *cd__rangeproof_gens(usize cnt);

/* The table of one party: B, the second base, g[64], h[64]. */
const cd_msm_table *cd__rangeproof_table(void);

/* The second base of commitments. */
const cd_point *cd__rangeproof_second(void);

u32 cd__log2(usize n);

/* Says what comes before the first point of a proof about cnt commitments. */
void cd__rangeproof_begin(cd_merlin *t, usize cnt);

/* Makes the inner-product argument over n = 64 * cnt elements and overwrites a and b. Writes L, R of each round, then
 * a, b. The generators are g[i] and y_inv^i * h[i]. */
void cd__ipp_prove(u8 *out, cd_merlin *t, const cd_scalar *w, const cd_scalar *y_inv, cd_scalar *a, cd_scalar *b,
                   usize cnt);

#endif
