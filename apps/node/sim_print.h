/* apps/node/sim_print.h - what `candela sim` prints of a run. Threading: the main thread. */
#ifndef CD_APPS_NODE_SIM_PRINT_H
#define CD_APPS_NODE_SIM_PRINT_H

#include "sim/sim.h"

/* cd__sim_print prints the result of a run of c, which took ns nanoseconds of real time, and gives the exit code. */
int cd__sim_print(const cd_sim_cfg *c, const cd_sim_result *r, u64 ns);

/* cd__sim_print_violation prints a line about a violation, cd__sim_print_wall the line about real time, the only one
 * that differs between two runs of a seed. */
void cd__sim_print_violation(const cd_sim_violation *v);
void cd__sim_print_wall(u64 ns, u64 virtual_us, u64 accepted, u64 messages);

#endif
