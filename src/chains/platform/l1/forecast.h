/* chains/platform/l1/forecast.h - for how long the balances of an L1's validators last.
 *
 *   price ▲        ╱ worst: as many active as there may be          walked once for all members, in steps of an hour,
 *         │      ╱                                                  then of a day; within a step the higher price
 *         │────╱──── as many active as now                          counts, so that no balance lasts shorter than said
 *         └──────────► time
 *
 * Threading: pure. [spec:pchain-xchain#7.3] */
#ifndef CD_CHAINS_PLATFORM_L1_FORECAST_H
#define CD_CHAINS_PLATFORM_L1_FORECAST_H

#include "chains/platform/fees/l1_fee.h"
#include "chains/platform/l1/quorum.h"

/* Nothing is said beyond ten years, seconds. */
#define CD_L1_FAR_S (3650ull * 86400)

/* cd_l1_forecast sets left_s and worst_s of all members, at most CD_L1_FAR_S; 0 for the inactive. */
void cd_l1_forecast(cd_l1_member *v, usize cnt, cd_arena *a, cd_l1_fee_state s, const cd_l1_fee_config *c);

/* What the balances alone will do. */
typedef struct cd_l1_outlook {
    u64 first_s; /* when the first balance ends; CD_L1_FAR_S: none does */
    usize first; /* whose; cnt: nobody's */
    usize soon;  /* balances that end within the time asked for; not 0: first is somebody */
    u64 halt_s;  /* when so many have ended that it stands still, if all others stay as they are; 0: it does already */
} cd_l1_outlook;

/* cd_l1_look_ahead reckons with what cd_l1_forecast has set; within_s: what counts as soon. */
void cd_l1_look_ahead(cd_l1_outlook *out, cd_arena *a, const cd_l1_quorum *q, const cd_l1_member *v, usize cnt,
                      u64 within_s);

#endif
