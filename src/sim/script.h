/* sim/script.h - a world as a short text: what it is made of, what happens in it and what must come out.
 *
 *   # half of the network is cut off for a minute and a half
 *   nodes 20
 *   byzantine 1/5
 *   at 60s for 90s partition 0-9
 *   expect accepted 100
 *
 * One line, one thing; '#' begins a comment. docs/simulator.md has all of them. Threading: pure. */
#ifndef CD_SIM_SCRIPT_H
#define CD_SIM_SCRIPT_H

#include "base/mem/arena.h"
#include "sim/sim.h"

enum { CD_SIM_SCRIPT_ACTS_MAX = 1000, CD_SIM_SCRIPT_BYTES_MAX = 1 << 20 };

/* cd_sim_script_parse reads a text into *cfg; members that it does not name stay; acts lie in the arena. Errors:
 * CD_EFORMAT with the line and what is wrong with it, CD_ELIMIT for too many acts. */
cd_err cd_sim_script_parse(cd_sim_cfg *cfg, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_sim_share_parse reads "1/3", "20%" or "0.2" as parts per million. Errors: CD_EFORMAT, CD_ERANGE (more than all).
 */
cd_err cd_sim_share_parse(u32 *ppm, cd_bytes text) CD_CHECK;

/* cd_sim_roles_parse reads role names (cd_sim_role_name) with commas between, or "all". Errors: CD_EFORMAT. */
cd_err cd_sim_roles_parse(u32 *roles, cd_bytes text) CD_CHECK;

/* cd_sim_latency_parse reads "lan", "region" or "world". Errors: CD_EFORMAT. */
cd_err cd_sim_latency_parse(cd_sim_latency *out, cd_bytes text) CD_CHECK;

#endif
