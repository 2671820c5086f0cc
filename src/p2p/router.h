/* p2p/router.h - between the peers and the chains: who gets a message, which answers were asked for, what has failed.
 *
 *   network ─ message ─► router ─┬─ asked of us ──────────────► chain.message, or its mux of app handlers
 *                                ├─ answers what we asked ────► chain.message, once
 *                                └─ anything else ────────────► dropped
 *   chain ── ask ─► router ─► network;  no answer in time, no connection, benched ─► chain.failed
 *
 * What a node says to itself takes the same way. Nothing is told from within ask or say: failures and what is said
 * to oneself come with the next tick. The router is the network's owner (cd_p2p_router_owner).
 * Threading: confined; a chain's functions neither add nor remove chains. [spec:p2p#7] */
#ifndef CD_P2P_ROUTER_H
#define CD_P2P_ROUTER_H

#include "p2p/network.h"
#include "p2p/requests.h"
#include "p2p/sdk.h"

typedef struct cd_p2p_router cd_p2p_router;

/* A chain, as the router sees it. Functions are called on the router's thread. */
typedef struct cd_p2p_chain {
    cd_hash32 id;
    cd_hash32 subnet; /* zeros: the primary network */
    void *ctx;
    bool (*is_busy)(void *ctx); /* true while it executes bootstrap blocks: requests are dropped then; NULL: never */
    bool (*is_allowed)(void *ctx, const cd_node_id *node); /* NULL: every node is */
    /* Hands over a message; the callee calls cd_p2p_in_done. After expires_ns (monotonic; UINT64_MAX: never) no peer
     * waits for the answer any more. */
    void (*message)(void *ctx, cd_p2p_in *in, u64 expires_ns);
    /* A node has not answered a request; response is the op of the answer that was awaited. */
    void (*failed)(void *ctx, const cd_node_id *node, u32 request_id, u32 response);
    /* A node of the chain's network has connected or gone; a benched node counts as gone. */
    void (*connected)(void *ctx, const cd_node_id *node, const cd_p2p_peer_info *peer);
    void (*disconnected)(void *ctx, const cd_node_id *node);
    cd_p2p_mux *mux; /* answers AppRequests and hears AppGossip; NULL: they are messages like others */
} cd_p2p_chain;

/* What a router needs. */
typedef struct cd_p2p_router_cfg {
    cd_node_id own;
    const cd_clock *clock;
    u64 seed;                     /* seed of the bench's times; 0: the system's randomness */
    cd_p2p_owner staking;         /* its validator, weight and uptime are used, with their ctx */
    cd_p2p_requests_cfg requests; /* only the numbers are used; functions are the router's */
    u64 deadline_max_ns;          /* 10 s; a request's deadline is cut to this */
} cd_p2p_router_cfg;

/* cd_p2p_router_new makes a router without chains. cd_p2p_router_free: after its network; NULL is allowed. */
cd_p2p_router *cd_p2p_router_new(const cd_p2p_router_cfg *cfg);
void cd_p2p_router_free(cd_p2p_router *r);

/* cd_p2p_router_owner gives the owner with which the network is made; cd_p2p_router_bind tells the router its
 * network. */
cd_p2p_owner cd_p2p_router_owner(cd_p2p_router *r);
void cd_p2p_router_bind(cd_p2p_router *r, cd_p2p_net *net);

/* cd_p2p_router_add registers a chain and tells it which nodes are connected. Errors: CD_EEXIST. cd_p2p_router_remove
 * forgets a chain: answers to its requests are dropped, failures are not reported. */
cd_err cd_p2p_router_add(cd_p2p_router *r, const cd_p2p_chain *chain) CD_CHECK;
void cd_p2p_router_remove(cd_p2p_router *r, const cd_hash32 *id);

/* cd_p2p_router_ask sends a request of a chain; chain_id and deadline of *m are set here. An answer or a failure
 * follows. */
void cd_p2p_router_ask(cd_p2p_router *r, const cd_hash32 *chain, const cd_node_id *to, u32 op, cd_p2p_chain_msg *m);

/* cd_p2p_router_say sends a message that has no answer: mostly answers. chain_id of *m is set here. */
void cd_p2p_router_say(cd_p2p_router *r, const cd_hash32 *chain, const cd_node_id *to, u32 op, cd_p2p_chain_msg *m);

/* cd_p2p_router_gossip sends a message that has no answer to a sample, and gives the number of receivers. chain_id of
 * *m is set here. A message that is too long for a frame goes to no node, and no error is reported. */
u32 cd_p2p_router_gossip(cd_p2p_router *r, const cd_hash32 *chain, const cd_p2p_sample *to, u32 op,
                         cd_p2p_chain_msg *m);

/* cd_p2p_router_tick tells what is due, and gives the time (monotonic ns) of the next call. */
u64 cd_p2p_router_tick(cd_p2p_router *r);

/* cd_p2p_router_requests gives the table of open requests, for metrics and for info.peers. */
const cd_p2p_requests *cd_p2p_router_requests(const cd_p2p_router *r);

#endif
