/* consensus/bootstrap/net.h - what is said to other nodes to catch up with them, and to let them catch up with us.
 *
 *   get_accepted_frontier ─► accepted_frontier     get_accepted ─► accepted     get_ancestors ─► ancestors
 *   get_summary_frontier ─► state_summary_frontier     get_summaries ─► accepted_state_summary
 *
 * Sending never waits and never fails; a question that gets no answer in time is told as failed, once. Peers, or a
 * test, implement it. Threading: on the chain's executor. [spec:p2p#10] [spec:p2p#11] */
#ifndef CD_CONSENSUS_BOOTSTRAP_NET_H
#define CD_CONSENSUS_BOOTSTRAP_NET_H

#include "codec/ids.h"

/* The questions, sent to cnt different nodes, this one perhaps among them; whoever sends them implements it. */
typedef struct cd_bootstrap_net cd_bootstrap_net;
struct cd_bootstrap_net {
    void (*get_accepted_frontier)(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request);
    void (*get_accepted)(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *ids,
                         u32 id_cnt);
    void (*get_ancestors)(const cd_bootstrap_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id);
    /* These two may be NULL: no state is asked for. */
    void (*get_summary_frontier)(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request);
    void (*get_summaries)(const cd_bootstrap_net *n, const cd_node_id *to, u32 cnt, u32 request, const u64 *heights,
                          u32 height_cnt);
};

/* The answers. blocks: u32 length and bytes of each, cnt of them; the callee takes the buffer's contents. */
typedef struct cd_serve_net cd_serve_net;
struct cd_serve_net {
    void (*accepted_frontier)(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *id);
    void (*accepted)(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt);
    void (*ancestors)(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_buf *blocks);
    void (*put)(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_bytes block);
    void (*state_summary_frontier)(const cd_serve_net *n, const cd_node_id *to, u32 request, cd_bytes summary);
    void (*accepted_state_summary)(const cd_serve_net *n, const cd_node_id *to, u32 request, const cd_hash32 *ids,
                                   u32 cnt);
};

#endif
