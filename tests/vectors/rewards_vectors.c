/* Rewards of miners (services/adx/miner/rewards), to the nano-USD. [spec:adx#8] */
#include "tests/vectors/vec.h"

#include "services/adx/miner/rewards.h"

static u64 number(vec *v, cd_json o, const char *key)
{
    u64 n = 0;
    vec_check(v, cd_json_u64(&n, cd_json_get(o, key), NULL) == CD_OK, "%s is a number", key);
    return n;
}

static void in_usd(vec *v, cd_json usd, const char *key, u64 nusd)
{
    cd_bytes want = {0};
    cd_buf got = {0};
    cd_nusd_fmt(&got, nusd);
    bool ok = cd_json_str(&want, cd_json_get(usd, key), NULL) == CD_OK && cd_bytes_eq(want, cd_buf_bytes(&got));
    vec_check(v, ok, "%s in USD", key);
    cd_buf_fini(&got);
}

static void one(vec *v, cd_json d)
{
    cd_json in = cd_json_get(d, "in");
    cd_json want = cd_json_get(d, "nusd");
    cd_json usd = cd_json_get(d, "usd");
    cd_reward r = {0};
    cd_reward_counts c = {.impressions = number(v, in, "impressions"),
                          .bytes = number(v, in, "bytes"),
                          .up_s = number(v, in, "up_seconds"),
                          .period_s = number(v, in, "period_seconds"),
                          .fee_carry = number(v, in, "fee_carry"),
                          .proofs = number(v, in, "proofs"),
                          .proof_fee_micro_usd = number(v, in, "proof_fee_micro_usd")};
    cd_json_it it = cd_json_iter(cd_json_get(in, "clearing_prices_micro_cpm"));
    while (cd_json_next(&it)) {
        u64 price = 0;
        bool ok = cd_json_u64(&price, it.val, NULL) == CD_OK && cd_reward_sum_add(&c.clearing_sum, price) == CD_OK;
        vec_check(v, ok, "price");
    }
    vec_check(v, cd_reward_of(&r, &c) == CD_OK, "in range");
    const struct {
        const char *key;
        u64 got;
        bool is_paid;
    } rows[] = {{"base", r.base, true},
                {"bandwidth", r.bandwidth, true},
                {"uptime_bonus", r.uptime_bonus, true},
                {"auction_fee", r.auction_fee, true},
                {"auction_fee_carry", r.auction_fee_carry, false},
                {"proof_fees", r.proof_fees, true},
                {"total", r.total, true}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        vec_check(v, number(v, want, rows[i].key) == rows[i].got, "%s", rows[i].key);
        if (rows[i].is_paid) {
            in_usd(v, usd, rows[i].key, rows[i].got);
        }
    }
}

int main(void)
{
    vec v = {0};
    cd_json d;
    if (vec_json(&v, &d, vec_path(&v, "adx/miner-rewards.json"))) {
        cd_json_it it = cd_json_iter(d);
        while (cd_json_next(&it)) {
            one(&v, it.val);
        }
    }
    return vec_end(&v);
}
