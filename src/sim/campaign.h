/* sim/campaign.h - many short worlds, each made up by its seed: how many nodes, who lies, what goes wrong.
 *
 * Threading: confined; runs are spread over workers. */
#ifndef CD_SIM_CAMPAIGN_H
#define CD_SIM_CAMPAIGN_H

#include "base/thread/pool.h"
#include "sim/sim.h"

/* The sums over many runs. */
typedef struct cd_sim_campaign {
    u64 runs;
    u64 accepted;
    u64 messages;
    u64 seconds; /* simulated seconds */
    u64 nodes;
    u64 liars;
    u64 bad; /* runs with a violation, or in which an expectation was not met */
    u64 violations;
    u64 first_bad;         /* seed of the first bad run */
    cd_sim_violation told; /* and its violation */
    cd_hash32 fingerprint; /* over all runs, in the order of their seeds */
} cd_sim_campaign;

/* cd_sim_campaign_cfg makes up the world of a seed: 5 to nodes_max nodes, of which at most a third are liars;
 * duration_us 0: one to three minutes. */
void cd_sim_campaign_cfg(cd_sim_cfg *cfg, u64 seed, u32 nodes_max, u64 duration_us);

/* cd_sim_campaign_run runs the worlds of cnt seeds, beginning with seed, on a pool (NULL allowed). done is called now
 * and then (NULL allowed). */
void cd_sim_campaign_run(cd_sim_campaign *out, u64 seed, u64 cnt, u32 nodes_max, u64 duration_us, cd_pool *pool,
                         void (*done)(void *ctx, const cd_sim_campaign *so_far), void *ctx);

#endif
