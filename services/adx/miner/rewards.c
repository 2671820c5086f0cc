#include "services/adx/miner/rewards.h"

enum { BASE_NUSD = 500000, BYTES_PER_NUSD = 10, FEE_DIVISOR = 1000, NUSD_PER_MICRO = 1000 };

cd_err cd_reward_of(cd_reward *out, const cd_reward_counts *c)
{
    cd_reward r = {.bandwidth = c->bytes / BYTES_PER_NUSD};
    u64 paid;
    u64 fee_base;
    u64 proof_fee;
    bool fits = cd_mul_u64(&r.base, c->impressions, BASE_NUSD) && cd_add_u64(&paid, r.base, r.bandwidth) &&
                cd_add_u64(&fee_base, c->clearing_sum, c->fee_carry) &&
                cd_mul_u64(&proof_fee, c->proof_fee_micro_usd, NUSD_PER_MICRO) &&
                cd_mul_u64(&r.proof_fees, c->proofs, proof_fee);
    if (!fits) {
        return CD_ERANGE;
    }
    bool is_up = c->period_s != 0 && (u128)c->up_s * 1000 >= (u128)c->period_s * 999;
    r.uptime_bonus = is_up ? paid / 10 : 0;
    r.auction_fee = fee_base / FEE_DIVISOR;
    r.auction_fee_carry = fee_base % FEE_DIVISOR;
    fits = cd_add_u64(&r.total, paid, r.uptime_bonus) && cd_add_u64(&r.total, r.total, r.auction_fee) &&
           cd_add_u64(&r.total, r.total, r.proof_fees);
    if (!fits) {
        return CD_ERANGE;
    }
    *out = r;
    return CD_OK;
}

cd_err cd_reward_sum_add(u64 *sum, u64 price_micro_cpm)
{
    return cd_add_u64(sum, *sum, price_micro_cpm) ? CD_OK : CD_ERANGE;
}

void cd_nusd_fmt(cd_buf *out, u64 nusd)
{
    u64 micro = nusd / NUSD_PER_MICRO;
    cd_buf_fmt(out, "%llu.%06llu", (unsigned long long)(micro / 1000000), (unsigned long long)(micro % 1000000));
}

void cd_uptime_beat(cd_uptime *u, u64 now_s)
{
    u64 start = cd_max_u64(u->from_s, u->covered_to_s);
    u64 end = now_s + CD_REWARD_HEARTBEAT_S;
    if (now_s < u->from_s) {
        return;
    }
    start = cd_max_u64(start, now_s);
    if (end > start) {
        u->up_s += end - start;
        u->covered_to_s = end;
    }
}

u64 cd_uptime_get(const cd_uptime *u, u64 end_s)
{
    u64 ahead = u->covered_to_s > end_s ? u->covered_to_s - end_s : 0;
    return u->up_s > ahead ? u->up_s - ahead : 0;
}
