/* What the parts of peers.h share. */
#ifndef CD_NODE_PEERS_PRIV_H
#define CD_NODE_PEERS_PRIV_H

#include "node/peers/peers.h"
#include "node/peers/stakers.h"

enum { CD__PEERS_LINKS_MAX = 64 };

struct cd_node_peers {
    cd_node_peers_cfg cfg;
    cd_node_peers_env env;
    cd_p2p_tcp *tcp;
    cd_timer *timer;
    cd_p2p_router *router;
    cd_p2p_owner routed; /* what the router wants to hear */
    cd_timer *router_timer;
    cd_timer *tick_timer; /* of links */
    struct {
        cd_link *link;
        cd_hash32 chain;
        cd_hash32 net;
        const char *name;
    } links[CD__PEERS_LINKS_MAX];
    usize link_cnt;
    cd_stakers *stakers;
    u32 claims_done; /* nets of peers that nobody knows, which were asked for since the walk over them began */
    char wrong[256]; /* what health said last */
};

/* cd__peers_measure brings the figures about peers and what was asked of them up to date. */
void cd__peers_measure(const cd_node_peers *p);

#endif
