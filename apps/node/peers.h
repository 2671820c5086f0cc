/* apps/node/peers.h - which peers the node speaks to, and where they reach it, as the flags say.
 * Threading: the main thread. */
#ifndef CD_APPS_NODE_PEERS_H
#define CD_APPS_NODE_PEERS_H

#include "base/args/args.h"
#include "node/peers/peers.h"

/* cd__peers_load fills in out. Peers are off when neither a beacon nor a port is given, unless the genesis needs them
 * (cd__primary_prepare). is_alone: the node decides alone, whoever else is there. false: something is wrong, and was
 * reported. [spec:node-api#11] */
bool cd__peers_load(cd_node_peers_cfg *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                    const cd_p2p_identity *self, bool is_alone);

/* cd__peers_listen_text gives the address on which the node listens for peers: "[::]:9631" for all. */
const char *cd__peers_listen_text(cd_arena *mem, const cd_node_peers_cfg *cfg, u16 port);

#endif
