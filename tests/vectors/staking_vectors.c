/* Rewards and how they are shared: testdata/node-api/vectors/fees-rewards.json, to the unit. */
#include "vec.h"

#include "chains/platform/state/reward.h"

static u64 number(cd_json row, const char *key)
{
    u64 v = 0;
    (void)!cd_json_u64(&v, cd_json_get(row, key), NULL);
    return v;
}

static void rewards(vec *v, cd_json all)
{
    cd_json given = cd_json_get(all, "rewardConfig");
    const cd_reward_cfg cfg = {.max_rate = number(given, "maxConsumptionRate"),
                               .min_rate = number(given, "minConsumptionRate"),
                               .period_s = number(given, "mintingPeriod") / 1000000000u,
                               .cap = number(given, "supplyCap")};
    cd_json_it it = cd_json_iter(cd_json_get(all, "rewards"));
    while (cd_json_next(&it)) {
        u64 seconds = number(it.val, "durationSeconds");
        u64 stake = number(it.val, "stake");
        u64 supply = number(it.val, "supply");
        u64 got = cd_reward(&cfg, seconds, stake, supply);
        vec_check(v, got == number(it.val, "reward"), "%llu for %llu s of %llu, supply %llu", (unsigned long long)got,
                  (unsigned long long)seconds, (unsigned long long)stake, (unsigned long long)supply);
    }
}

static void splits(vec *v, cd_json all)
{
    cd_json_it it = cd_json_iter(cd_json_get(all, "split"));
    while (cd_json_next(&it)) {
        u64 first;
        u64 second;
        u64 total = number(it.val, "total");
        u32 shares = (u32)number(it.val, "shares");
        cd_reward_split(&first, &second, total, shares);
        vec_check(v, first == number(it.val, "first") && second == number(it.val, "second"), "%llu by %u",
                  (unsigned long long)total, shares);
    }
}

int main(void)
{
    vec v = {0};
    cd_json all;
    if (vec_json(&v, &all, vec_path(&v, "node-api/vectors/fees-rewards.json"))) {
        rewards(&v, all);
        splits(&v, all);
        vec_check(&v, v.passed == 160 + 25, "%u cases", v.passed);
    }
    return vec_end(&v);
}
