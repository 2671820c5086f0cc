/* apps/cli/network/network_run.h - the processes of a network: started, asked, parted, stopped.
 *
 * A process is known by its number and by the file that it writes when it serves (process.json in its folder): a number
 * that another process has now is not mistaken for it. Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_RUN_H
#define CD_APPS_CLI_NETWORK_RUN_H

#include "network/network_state.h"

/* The state of a node's process. */
typedef enum cd__net_life {
    CD__NET_DOWN,
    CD__NET_RUNS,
    CD__NET_PAUSED,
} cd__net_life;

/* cd__net_life_of gives the state of a node's process. */
cd__net_life cd__net_life_of(const cd__net *n, const cd__net_node *x);

/* cd__net_start starts a node that is down and waits until it serves; its process ID and ports are noted. A node that
 * runs, if there is one, tells it of the others. Errors: CD_EIO and like with the end of its log. */
cd_err cd__net_start(cd__net *n, cd__net_node *x, cd_errinfo *why) CD_CHECK;

/* cd__net_signal sends a signal to a node that is not down. Errors: CD_EINVAL when it is, CD_EIO. */
cd_err cd__net_signal(const cd__net *n, const cd__net_node *x, int signum, cd_errinfo *why) CD_CHECK;

/* cd__net_stop ends all nodes and waits for their end; those that do not end in time are killed. */
cd_err cd__net_stop(cd__net *n, cd_errinfo *why) CD_CHECK;

/* cd__net_start_all starts every node that is down. */
cd_err cd__net_start_all(cd__net *n, cd_errinfo *why) CD_CHECK;

/* cd__net_part tells every node whom it does not speak to: those of other groups. Errors: CD_EUNSUPPORTED when two
 * nodes of the original would have to be parted, which take no such order. */
cd_err cd__net_part(const cd__net *n, cd_errinfo *why) CD_CHECK;

#endif
