/* What the parts of peers.h share. */
#ifndef CD_NODE_PEERS_PRIV_H
#define CD_NODE_PEERS_PRIV_H

#include "base/table/hmap.h"
#include "node/peers/peers.h"

enum { CD__PEERS_LINKS_MAX = 64 };

/* A validator of the primary network. */
typedef struct cd__peers_validator {
    u64 weight;
    u8 key[96]; /* uncompressed */
    bool has_key;
    bool is_current; /* of the set that was read last */
} cd__peers_validator;

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
        const char *name;
    } links[CD__PEERS_LINKS_MAX];
    usize link_cnt;
    cd_hmap validators; /* node ID: validator */
    u64 weight;         /* of all */
    u64 height;         /* of the P-Chain, when they were read */
    bool has_read;
    char wrong[256]; /* what health said last */
};

/* cd__peers_measure brings the figures about peers and what was asked of them up to date. */
void cd__peers_measure(const cd_node_peers *p);

#endif
