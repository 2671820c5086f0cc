/* crypto/zk/msm.h - sums of many multiples of points.
 *
 *   cd_msm         public scalars: few points by interleaved signed windows (Straus), many by buckets (Pippenger)
 *   cd_msm_fixed   the same, where some points have wide tables that were made before
 *   cd_msm_secret  secret scalars: no branch and no address depends on one
 *
 * Threading: pure; a cd_msm_table is frozen. [spec:adx#5.1] */
#ifndef CD_CRYPTO_ZK_MSM_H
#define CD_CRYPTO_ZK_MSM_H

#include "crypto/zk/ristretto.h"

/* cd_msm gives the sum of k[i] * p[i]; the time depends on the scalars. cnt may be 0. */
void cd_msm(cd_point *out, const cd_scalar *k, const cd_point *p, usize cnt);

/* cd_msm_secret gives the same sum in a time that depends on cnt alone. */
void cd_msm_secret(cd_point *out, const cd_scalar *k, const cd_point *p, usize cnt);

/* Odd multiples of points that many sums share, 7,680 bytes a point. */
typedef struct cd_msm_table cd_msm_table;

/* cd_msm_table_new makes cnt points ready, cnt >= 1; cd_msm_table_free accepts NULL. */
cd_msm_table *cd_msm_table_new(const cd_point *p, usize cnt);
void cd_msm_table_free(cd_msm_table *t);

/* cd_msm_fixed gives the sum of fixed[i] * (point first + i of the table), fixed_cnt of them, and of k[i] * p[i]; the
 * time depends on the scalars. */
void cd_msm_fixed(cd_point *out, const cd_msm_table *t, usize first, const cd_scalar *fixed, usize fixed_cnt,
                  const cd_scalar *k, const cd_point *p, usize cnt);

#endif
