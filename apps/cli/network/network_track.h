/* apps/cli/network/network_track.h - which nodes of a network run the chains of a net, and the plugins for them.
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_TRACK_H
#define CD_APPS_CLI_NETWORK_TRACK_H

#include "network/network_state.h"

/* cd__net_track has the named nodes (cnt 0: all) track a net from their next start on, and puts the EVM that is beside
 * the network's program into the folder of plugins that all share, for the nodes to find it under the ID of the VM
 * "subnetevm". Errors: CD_EINVAL, those of files. */
cd_err cd__net_track(cd__net *n, const char *net, const char *const *names, usize cnt, cd_errinfo *why) CD_CHECK;

/* cd__net_plugins gives that folder; NULL: there is none, nodes look into their own. */
const char *cd__net_plugins(const cd__net *n);

#endif
