/* consensus/snow/net.h - what the engine says to other nodes. Peers, or a simulator, implement it; what they hear comes
 * back through the functions of snow/snowman.h.
 *
 *   push_query, pull_query ──► chits, or query_failed          get ──► put, or get_failed
 *
 * Sending never waits and never fails; a request that gets no answer in time is told as failed, once. Threading: on the
 * chain's executor. [spec:consensus#4] */
#ifndef CD_CONSENSUS_NET_H
#define CD_CONSENSUS_NET_H

#include "codec/ids.h"

/* What a node prefers and has accepted: the answer to a query. */
typedef struct cd_snow_chits {
    cd_hash32 preferred;           /* the leaf of the preferred branch */
    cd_hash32 preferred_at_height; /* the preferred or accepted block at the height that was asked for */
    cd_hash32 accepted;            /* the last accepted block */
    u64 accepted_height;           /* its height */
} cd_snow_chits;

/* The messages; whoever sends them implements it. */
typedef struct cd_snow_net cd_snow_net;
struct cd_snow_net {
    /* push_query shows a block to cnt different nodes, pull_query names one; each node that is asked answers with
     * chits. */
    void (*push_query)(const cd_snow_net *n, const cd_node_id *to, u32 cnt, u32 request, cd_bytes block, u64 height);
    void (*pull_query)(const cd_snow_net *n, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *id,
                       u64 height);
    void (*chits)(const cd_snow_net *n, const cd_node_id *to, u32 request, const cd_snow_chits *chits);
    /* get asks for a block, put answers with it. */
    void (*get)(const cd_snow_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id);
    void (*put)(const cd_snow_net *n, const cd_node_id *to, u32 request, cd_bytes block);
};

#endif
