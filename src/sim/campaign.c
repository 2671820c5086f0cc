#include "sim/campaign.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "crypto/hash/sha2.h"

#define SECOND_US ((u64)CD_SIM_MILLION)

enum { NODES_MIN = 5, AT_A_TIME = 64, THIRD_PPM = 333333, ALWAYS_MAX_PPM = 150000 };

void cd_sim_campaign_cfg(cd_sim_cfg *cfg, u64 seed, u32 nodes_max, u64 duration_us)
{
    cd_rng r = cd_rng_seeded(seed ^ 0x63616d706169676eull);
    u32 most = nodes_max < NODES_MIN ? NODES_MIN : nodes_max;
    *cfg = (cd_sim_cfg){.seed = seed, .has_troubles = true};
    cfg->nodes = NODES_MIN + (u32)cd_rng_below(&r, most - NODES_MIN + 1);
    cfg->byzantine_ppm = cd_rng_below(&r, 4) == 0 ? 0 : (u32)cd_rng_below(&r, THIRD_PPM + 1);
    cfg->roles = (u32)cd_rng_below(&r, CD_SIM_ROLES + 1);
    cfg->duration_us = (60 + cd_rng_below(&r, 121)) * SECOND_US;
    cfg->interval_us = SECOND_US / 2 + cd_rng_below(&r, 3 * SECOND_US);
    cfg->spread_us = 1000 + cd_rng_below(&r, cd_rng_below(&r, 2) == 0 ? 1000 : 300000);
    cfg->latency = (cd_sim_latency)cd_rng_below(&r, 3);
    cfg->loss_ppm = cd_rng_below(&r, 2) == 0 ? 0 : (u32)cd_rng_below(&r, 20000);
    cfg->is_bare = cd_rng_below(&r, 8) == 0;
    cfg->has_liars_always = cfg->byzantine_ppm <= ALWAYS_MAX_PPM;
    cfg->second_rules_us = cd_rng_below(&r, 4) == 0 ? cfg->duration_us / 2 : 0;
    cfg->duration_us = duration_us == 0 ? cfg->duration_us : duration_us;
}

typedef struct batch {
    u64 seed;
    u32 nodes_max;
    u64 duration_us;
    cd_sim_result results[AT_A_TIME];
} batch;

static void run_one(void *arg, usize i, u32 slot)
{
    batch *b = arg;
    cd_sim_cfg cfg;
    (void)slot;
    cd_sim_campaign_cfg(&cfg, b->seed + i, b->nodes_max, b->duration_us);
    cd_err e = cd_sim_run(&b->results[i], &cfg, NULL);
    CD_ASSERT(e == CD_OK);
}

static void take(cd_sim_campaign *out, const batch *b, u32 i)
{
    const cd_sim_result *r = &b->results[i];
    cd_sim_cfg cfg;
    cd_hash32 both[2] = {out->fingerprint, r->fingerprint};
    cd_sim_campaign_cfg(&cfg, b->seed + i, b->nodes_max, b->duration_us);
    out->runs++;
    out->accepted += r->accepted;
    out->messages += r->messages;
    out->seconds += cfg.duration_us / SECOND_US;
    out->nodes += cfg.nodes;
    out->liars += r->liars;
    out->violations += r->violations;
    if (r->violations != 0) {
        out->first_bad = out->bad == 0 ? cfg.seed : out->first_bad;
        out->told = out->bad == 0 ? r->told[0] : out->told;
        out->bad++;
    }
    cd_sha256(&out->fingerprint, cd_bytes_of(both, sizeof both));
}

void cd_sim_campaign_run(cd_sim_campaign *out, u64 seed, u64 cnt, u32 nodes_max, u64 duration_us, cd_pool *pool,
                         void (*done)(void *ctx, const cd_sim_campaign *so_far), void *ctx)
{
    batch *b = cd_new(batch);
    *out = (cd_sim_campaign){.runs = 0};
    for (u64 at = 0; at < cnt; at += AT_A_TIME) {
        u32 n = (u32)cd_min_u64(cnt - at, AT_A_TIME);
        b->seed = seed + at;
        b->nodes_max = nodes_max;
        b->duration_us = duration_us;
        cd_pool_for(pool, n, run_one, b);
        for (u32 i = 0; i < n; i++) {
            take(out, b, i);
        }
        if (done != NULL) {
            done(ctx, out);
        }
    }
    cd_free(b);
}
