/* consensus/snow/params.h - the numbers of the voting: how many are asked, how many must agree, how often in a row.
 *
 * Threading: pure. [spec:consensus#1] */
#ifndef CD_CONSENSUS_PARAMS_H
#define CD_CONSENSUS_PARAMS_H

#include "base/base.h"

/* Most validators that are asked at a time; the memory of a poll is proportional to it. */
enum { CD_SNOW_K_MAX = 255 };

/* The parameters of a chain. */
typedef struct cd_snow_params {
    u32 k;                  /* validators asked at a time */
    u32 alpha_preference;   /* votes, of k, that change the preference */
    u32 alpha_confidence;   /* votes, of k, that add a step of confidence */
    u32 beta;               /* steps of confidence in a row that decide */
    u32 concurrent_repolls; /* polls that run at a time while a block is undecided */
    u32 optimal_processing; /* number of undecided blocks above which none is built */
} cd_snow_params;

/* cd_snow_params_default gives the parameters of this network. [spec:decisions#D14] */
cd_snow_params cd_snow_params_default(void);

/* cd_snow_params_check refuses numbers that cannot work. Errors: CD_EINVAL. */
cd_err cd_snow_params_check(const cd_snow_params *p, cd_errinfo *why) CD_CHECK;

#endif
