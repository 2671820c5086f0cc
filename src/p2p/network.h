/* p2p/network.h - all peers of a node: who is dialled, who may come in, what is known of addresses, and how much of us
 * each may take. Sockets are a transport's (p2p/tcp.h, a test's, a simulator's).
 *
 *   transport ─ may_accept, opened, failed ─► network ─ connected, disconnected, message ─► owner
 *             ◄─ dial ──────────────────────    │  ▲
 *                                               ▼  │ addresses signed by their nodes, by peer lists
 *                                      peers (p2p/peer.h) ── gossip: "whom do you know?"
 *
 * Nodes that are wanted (validators, and those added by hand) are dialled until they are connected. Tables are bounded
 * by validators, added nodes and connections. Time comes from the clock of the configuration; cd_p2p_net_tick says when
 * it wants to be called again. Threading: confined. [spec:p2p#6] [spec:p2p#9] */
#ifndef CD_P2P_NETWORK_H
#define CD_P2P_NETWORK_H

#include "base/log/log.h"
#include "base/log/metrics.h"
#include "p2p/peer.h"

typedef struct cd_p2p_net cd_p2p_net;

/* A node's staking record on the primary network. */
typedef struct cd_p2p_validator {
    u64 weight;
    bool has_key;
    cd_bls_pk key;
    cd_hash32 id; /* ID of the registration */
} cd_p2p_validator;

/* The owner of the network; every function is called on the network's thread. */
typedef struct cd_p2p_owner {
    void *ctx;
    /* About validators of a subnet (32 zero bytes: the primary network): the record of one, and the sum of all
     * weights. */
    bool (*validator)(void *ctx, cd_p2p_validator *out, const cd_hash32 *subnet, const cd_node_id *node);
    u64 (*weight)(void *ctx, const cd_hash32 *subnet);
    u32 (*uptime)(void *ctx, const cd_node_id *node); /* percent, as this node has seen it; NULL: 0 */
    void (*connected)(void *ctx, const cd_p2p_peer_info *peer);
    void (*disconnected)(void *ctx, const cd_node_id *node);
    void (*message)(void *ctx, cd_p2p_in *in); /* the callee calls cd_p2p_in_done */
} cd_p2p_owner;

/* How connections are made. dial answers later with cd_p2p_net_opened or cd_p2p_net_failed and the same ticket. */
typedef struct cd_p2p_transport {
    void *ctx;
    void (*dial)(void *ctx, const cd_node_id *ticket, const cd_p2p_ip *ip);
} cd_p2p_transport;

/* The configuration. A number that is 0 means the default that stands behind it. */
typedef struct cd_p2p_net_cfg {
    cd_p2p_link_cfg link; /* what its pointers name must outlive the network */
    const cd_p2p_identity *id;
    const cd_clock *clock;
    u64 seed; /* seed of everything random; 0: the system's randomness */
    cd_metrics *metrics;
    cd_logger *log;
    bool allow_private;   /* dial private addresses */
    bool validators_only; /* no other node is wanted */
    u32 peers_max;        /* 4096; connections */
    u32 conn_rate;        /* 256; inbound connections a second */
    u32 dial_rate;        /* 50; dials a second */
    u32 unfinished_max;   /* CD_P2P_UNFINISHED_MAX; messages of a peer that are not done with */
    u64 cooldown_ns;      /* 10 s; least time between inbound connections from one address */
    u64 delay_min_ns;     /* 1 s; first delay before a node is dialled again */
    u64 delay_max_ns;     /* 60 s; longest such delay */
    u64 gossip_ns;        /* 2 s; between questions for peers */
    u64 bloom_ns;         /* 60 s; interval at which the filter is made anew */
    u64 in_large;         /* 6 MiB; incoming messages, shared by all nodes */
    u64 in_large_node;    /* 2 MiB; of it for one node */
    u64 in_part;          /* 32 MiB; incoming, shared by validators by weight */
    u64 out_large;        /* 32 MiB; outgoing, likewise */
    u64 out_large_node;   /* 2 MiB */
    u64 out_part;         /* 32 MiB */
    u64 bandwidth;        /* 512 KiB; bytes a second from each peer */
    u64 bandwidth_burst;  /* 2 MiB */
    u32 cpus;             /* 1: processors that peers may use */
    double requirement;   /* 0.8; share of uptime that a validator needs for its reward */
} cd_p2p_net_cfg;

/* cd_p2p_net_new makes a network that knows no node. own is the address at which others reach this node (may be all
 * zeros). cd_p2p_net_free ends all connections; cd_p2p_in_done must have been called for every message before. NULL is
 * allowed. */
cd_p2p_net *cd_p2p_net_new(const cd_p2p_net_cfg *cfg, const cd_p2p_owner *owner, const cd_p2p_transport *transport,
                           const cd_p2p_ip *own);
void cd_p2p_net_free(cd_p2p_net *n);

/* cd_p2p_net_set_ip signs another address of this node. */
void cd_p2p_net_set_ip(cd_p2p_net *n, const cd_p2p_ip *own);

/* cd_p2p_net_add says that a node is wanted (a beacon, or one added by hand), and its address. */
void cd_p2p_net_add(cd_p2p_net *n, const cd_node_id *node, const cd_p2p_ip *ip);

/* cd_p2p_net_block gives the nodes that this node does not speak to from now on, in place of those it named before:
 * their connections end, and no new ones are made or taken. */
void cd_p2p_net_block(cd_p2p_net *n, const cd_node_id *ids, usize cnt);

/* cd_p2p_net_tick does what is due, and gives the time (monotonic ns) of the next call. */
u64 cd_p2p_net_tick(cd_p2p_net *n);

/* --- for the transport --- */

/* cd_p2p_net_may_accept tells, before TLS, whether a connection from an address may come in. Loopback is exempt from
 * the cool-down. */
bool cd_p2p_net_may_accept(cd_p2p_net *n, const cd_p2p_ip *from) CD_CHECK;

/* cd_p2p_net_opened takes a secured connection with the certificate (DER) of the other side. ticket is what dial was
 * given, NULL for an inbound connection. NULL: the connection is not wanted, and the transport closes it. */
cd_p2p_peer *cd_p2p_net_opened(cd_p2p_net *n, cd_p2p_conn *conn, cd_bytes cert, const cd_node_id *ticket);

/* cd_p2p_net_failed: a node that was dialled could not be reached. */
void cd_p2p_net_failed(cd_p2p_net *n, const cd_node_id *ticket);

/* cd_p2p_net_rejected: an inbound connection failed to secure itself; for metrics. */
void cd_p2p_net_rejected(cd_p2p_net *n);

/* --- for the owner --- */

/* cd_p2p_net_send sends a message to a node; false: not connected, or no room. */
bool cd_p2p_net_send(cd_p2p_net *n, const cd_node_id *to, const cd_p2p_msg *m);

/* The receivers of a message: named nodes, and so many of each kind besides, chosen at random; only nodes that are
 * connected and track the subnet. */
typedef struct cd_p2p_sample {
    u32 validators;
    u32 non_validators;
    u32 peers; /* validators or not */
    const cd_node_id *nodes;
    usize nodes_cnt;
} cd_p2p_sample;

/* cd_p2p_net_gossip sends one message, encoded once, to a sample, and gives the number of receivers. */
u32 cd_p2p_net_gossip(cd_p2p_net *n, const cd_hash32 *subnet, const cd_p2p_sample *to, const cd_p2p_msg *m);

/* cd_p2p_net_is_connected tells whether the node is connected and has finished its handshake. cd_p2p_net_cnt counts
 * such nodes. cd_p2p_net_each calls fn for each of them, in any order. */
bool cd_p2p_net_is_connected(const cd_p2p_net *n, const cd_node_id *node);
u32 cd_p2p_net_cnt(const cd_p2p_net *n);
void cd_p2p_net_each(cd_p2p_net *n, void (*fn)(void *ctx, const cd_p2p_peer_info *peer), void *ctx);

/* cd_p2p_net_peer gives what is known of such a node, valid until the next call; NULL: it is not connected. */
const cd_p2p_peer_info *cd_p2p_net_peer(const cd_p2p_net *n, const cd_node_id *node);

/* cd_p2p_net_used accounts processor time that a node's message took outside of the network. */
void cd_p2p_net_used(cd_p2p_net *n, const cd_node_id *node, u64 cpu_ns);

/* cd_p2p_net_send_fail_rate gives the recent share, from 0 to 1, of messages that found no room in a queue. */
double cd_p2p_net_send_fail_rate(const cd_p2p_net *n);

/* What validators say of our uptime, in percent of stake. */
typedef struct cd_p2p_own_uptime {
    double rewarding_stake;
    double weighted_average;
} cd_p2p_own_uptime;

/* cd_p2p_net_uptime gives what connected validators have told with their pings. Errors: CD_ENOENT (we do not
 * validate). [spec:p2p#4.2] */
cd_err cd_p2p_net_uptime(const cd_p2p_net *n, cd_p2p_own_uptime *out) CD_CHECK;

#endif
