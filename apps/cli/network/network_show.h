/* apps/cli/network/network_show.h - a network as its commands print it. Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_SHOW_H
#define CD_APPS_CLI_NETWORK_SHOW_H

#include "codec/json.h"
#include "network/network_state.h"

/* cd__net_put_status writes one object: the nodes, and what running nodes say of themselves. */
void cd__net_put_status(cd_json_w *w, const cd__net *n);

#endif
