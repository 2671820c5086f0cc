/* apps/cli/network/network_snapshot.h - a whole network by a name: a copy of everything in its folder while no node
 * runs.
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_SNAPSHOT_H
#define CD_APPS_CLI_NETWORK_SNAPSHOT_H

#include "network/network_state.h"

/* cd__net_snapshot copies a network that does not run. A crash leaves no half of one. Errors: CD_EEXIST, CD_EINVAL (not
 * a good name), those of files. */
cd_err cd__net_snapshot(const cd__net *n, const char *name, cd_errinfo *why) CD_CHECK;

/* cd__net_restore puts a network that does not run back, and reads it again. Errors: CD_ENOENT, those of files. */
cd_err cd__net_restore(cd__net *n, const char *name, cd_errinfo *why) CD_CHECK;

/* cd__net_snapshots calls fn with each name, in order. */
cd_err cd__net_snapshots(const cd__net *n, void (*fn)(void *ctx, const char *name), void *ctx,
                         cd_errinfo *why) CD_CHECK;

#endif
