#include "consensus/snow/params.h"

cd_snow_params cd_snow_params_default(void)
{
    return (cd_snow_params){
        .k = 20,
        .alpha_preference = 14,
        .alpha_confidence = 14,
        .beta = 20,
        .concurrent_repolls = 4,
        .optimal_processing = 10,
    };
}

cd_err cd_snow_params_check(const cd_snow_params *p, cd_errinfo *why)
{
    if (p->alpha_preference <= p->k / 2) {
        return cd_fail(why, CD_EINVAL,
                       "parameters invalid: k = %u, alphaPreference = %u: fails the condition that: k/2 < "
                       "alphaPreference",
                       p->k, p->alpha_preference);
    }
    if (p->alpha_confidence < p->alpha_preference) {
        return cd_fail(why, CD_EINVAL,
                       "parameters invalid: alphaPreference = %u, alphaConfidence = %u: fails the condition that: "
                       "alphaPreference <= alphaConfidence",
                       p->alpha_preference, p->alpha_confidence);
    }
    if (p->k < p->alpha_confidence || p->k > CD_SNOW_K_MAX) {
        return cd_fail(why, CD_EINVAL,
                       "parameters invalid: k = %u, alphaConfidence = %u: fails the condition that: "
                       "alphaConfidence <= k <= %d",
                       p->k, p->alpha_confidence, CD_SNOW_K_MAX);
    }
    if (p->concurrent_repolls == 0 || p->concurrent_repolls > p->beta) {
        return cd_fail(why, CD_EINVAL,
                       "parameters invalid: concurrentRepolls = %u, beta = %u: fails the condition that: 0 < "
                       "concurrentRepolls <= beta",
                       p->concurrent_repolls, p->beta);
    }
    if (p->optimal_processing == 0) {
        return cd_fail(why, CD_EINVAL,
                       "parameters invalid: optimalProcessing = 0: fails the condition that: 0 < optimalProcessing");
    }
    return CD_OK;
}
