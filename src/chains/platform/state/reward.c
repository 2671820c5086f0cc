#include "chains/platform/state/reward.h"

#include "num/div.h"
#include "num/u512.h"

/* The original counts time in nanoseconds, which the three roundings below do not notice: every product of
 * durations stands above one of as many periods. */

static cd_u256 mul(cd_u256 a, u64 b)
{
    cd_u256 r;
    cd_u256_mul_u64(&r, &a, b);
    return r;
}

u64 cd_reward(const cd_reward_cfg *cfg, u64 duration_s, u64 stake, u64 supply)
{
    if (supply >= cfg->cap || supply == 0) {
        return 0;
    }
    u64 left = cfg->cap - supply;
    /* rate * period; below 2^84 */
    cd_u256 rate = mul(cd_u256_from_u64(cfg->min_rate), cfg->period_s);
    cd_u256 more = mul(cd_u256_from_u64(cfg->max_rate - cfg->min_rate), duration_s);
    cd_u256_add(&rate, &rate, &more);
    cd_u256 amounts = mul(cd_u256_from_u64(left), stake);
    cd_u256 times = mul(rate, duration_s);
    cd_u512 num;
    cd_u512_mul(&num, &amounts, &times);
    /* floor(floor(floor(n / a) / b) / c) = floor(n / (a b c)) */
    cd_u256 den = mul(mul(mul(cd_u256_from_u64(cfg->period_s), CD_REWARD_PARTS), supply), cfg->period_s);
    cd_u256 q;
    bool fits = cd_u512_div(&q, &num, &den);
    return fits && cd_u256_fits_u64(&q) ? cd_min_u64(q.w[0], left) : left;
}

void cd_reward_split(u64 *first, u64 *second, u64 total, u32 shares)
{
    u64 rest_shares = CD_REWARD_PARTS - shares;
    u64 rest;
    /* The product is rounded once where it fits, the total is rounded before where it does not. */
    if (cd_mul_u64(&rest, rest_shares, total)) {
        rest /= CD_REWARD_PARTS;
    } else {
        rest = rest_shares * (total / CD_REWARD_PARTS);
    }
    *first = total - rest;
    *second = rest;
}
