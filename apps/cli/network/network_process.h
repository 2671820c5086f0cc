/* apps/cli/network/network_process.h - one process of a network, for network_run.c. Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_PROCESS_H
#define CD_APPS_CLI_NETWORK_PROCESS_H

#include "network/network_run.h"

/* cd__process_is_there: a process with this ID runs, or is paused. */
bool cd__process_is_there(u64 pid);

/* cd__process_spawn starts words (NULL behind the last) in a session of its own, so that it outlives this program and
 * its terminal; its output is appended to log. Errors: CD_EIO. A program that cannot be run ends at once. */
cd_err cd__process_spawn(u64 *pid, const char *const *words, const char *log, cd_errinfo *why) CD_CHECK;

#endif
