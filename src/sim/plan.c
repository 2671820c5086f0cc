/* Troubles by the seed: a stretch of time with some, then a stretch without any, and so on. */
#include "sim/sim_priv.h"

#define SECOND_US ((u64)CD_SIM_MILLION)

enum { CYCLE_S = 300, TROUBLE_PART = 4, MIN_CYCLE_S = 40, SKEW_MAX_S = 9, LOSS_MAX_PPM = 150000 };

typedef struct stretch {
    u64 from;
    u64 to;
} stretch;

static u64 below(world *w, u64 n)
{
    return cd_rng_below(&w->rng, n);
}

/* At most most nodes with neighbouring numbers, which says nothing of their stake or region. */
static cd_sim_nodes some(world *w, u32 most)
{
    cd_sim_nodes out = {0};
    u32 n = w->cfg.nodes;
    u32 cnt = 1 + (u32)below(w, most == 0 ? 1 : most);
    u32 from = (u32)below(w, n);
    out.r[0].from = from;
    out.r[0].to = from + cnt > n ? n - 1 : from + cnt - 1;
    out.cnt = 1;
    if (from + cnt > n) {
        out.r[1].from = 0;
        out.r[1].to = from + cnt - n - 1;
        out.cnt = 2;
    }
    return out;
}

static void add(world *w, const stretch *s, cd_sim_verb verb, cd_sim_nodes nodes, u64 value)
{
    u64 span = s->to - s->from;
    u64 from = s->from + below(w, span / 2 + 1);
    const cd_sim_act a = {.at_us = from,
                          .until_us = cd_min_u64(s->to, from + span / 4 + below(w, span / 2 + 1)),
                          .verb = verb,
                          .nodes = nodes,
                          .value = value};
    cd__world_acts_add(w, &a);
}

static void trouble(world *w, const stretch *s)
{
    u32 n = w->cfg.nodes;
    const cd_sim_nodes nobody = {0};
    switch (below(w, 8)) {
    case 0:
        add(w, s, CD_SIM_CRASH, some(w, n / 5), 0);
        break;
    case 1:
        add(w, s, CD_SIM_PARTITION, some(w, n / 2), 0);
        break;
    case 2:
        add(w, s, CD_SIM_LOSS, nobody, 1 + below(w, LOSS_MAX_PPM));
        break;
    case 3:
        add(w, s, CD_SIM_DOUBLE, nobody, 1 + below(w, LOSS_MAX_PPM));
        break;
    case 4:
        add(w, s, CD_SIM_REORDER, nobody, 1 + below(w, LOSS_MAX_PPM));
        break;
    case 5:
        add(w, s, CD_SIM_DISK, some(w, n / 5), CD_SIM_DISK_FAILS + below(w, 3));
        break;
    case 6:
        add(w, s, CD_SIM_CLOCK, some(w, n / 3), (u64)((i64)below(w, 2 * SKEW_MAX_S + 1) - SKEW_MAX_S));
        break;
    default:
        add(w, s, CD_SIM_SLOW, some(w, n / 3), 200000 + below(w, 1000000));
        break;
    }
}

void cd__world_plan(world *w)
{
    u64 total_s = w->cfg.duration_us / SECOND_US;
    u64 cycle_s = cd_max_u64(cd_min_u64(CYCLE_S, total_s / 2), MIN_CYCLE_S);
    const cd_sim_nodes nobody = {0};
    for (u64 at = cycle_s / 4; w->cfg.has_troubles && at + cycle_s <= total_s + cycle_s / 2; at += cycle_s) {
        const stretch s = {.from = at * SECOND_US, .to = (at + cycle_s / TROUBLE_PART) * SECOND_US};
        u64 cnt = 1 + below(w, 3);
        for (u64 i = 0; i < cnt; i++) {
            trouble(w, &s);
        }
        if (w->liar_cnt != 0 && !w->cfg.has_liars_always) {
            const cd_sim_act lies = {.at_us = s.from, .until_us = s.to, .verb = CD_SIM_LIARS, .nodes = nobody};
            cd__world_acts_add(w, &lies);
        }
    }
    if (w->liar_cnt != 0 && w->cfg.has_liars_always) {
        const cd_sim_act lies = {.until_us = UINT64_MAX, .verb = CD_SIM_LIARS};
        cd__world_acts_add(w, &lies);
    }
}
