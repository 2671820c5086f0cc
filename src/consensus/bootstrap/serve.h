/* consensus/bootstrap/serve.h - what this node answers to those who catch up, from what it has accepted.
 *
 * In every state of the chain. What is not there is not answered. Threading: on the chain's executor.
 * [spec:p2p#10] [spec:p2p#11] */
#ifndef CD_CONSENSUS_BOOTSTRAP_SERVE_H
#define CD_CONSENSUS_BOOTSTRAP_SERVE_H

#include "consensus/bootstrap/net.h"
#include "vm/vm.h"

enum {
    CD_SERVE_BLOCKS_MAX = 2000,    /* blocks in one answer */
    CD_SERVE_BYTES_MAX = 1677721,  /* bytes of an answer's blocks, with four for each block's length */
    CD_SERVE_GATHER_NS = 50000000, /* the longest time to gather the blocks of an answer */
    CD_SERVE_IDS_MAX = 256,        /* IDs of one question that are looked at; the rest are ignored */
};

/* What answers go through, and the VM they come from. clock ends the gathering; NULL: only the other bounds do. */
typedef struct cd_serve {
    const cd_serve_net *net;
    cd_vm *vm;
    const cd_clock *clock;
} cd_serve;

/* cd_serve_accepted_frontier tells the last accepted block, cd_serve_accepted which of cnt blocks are accepted. */
void cd_serve_accepted_frontier(const cd_serve *s, const cd_node_id *to, u32 request);
void cd_serve_accepted(const cd_serve *s, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt);

/* cd_serve_ancestors gives a block and those before it, the newest first, cd_serve_get one block. */
void cd_serve_ancestors(const cd_serve *s, const cd_node_id *to, u32 request, const cd_hash32 *id);
void cd_serve_get(const cd_serve *s, const cd_node_id *to, u32 request, const cd_hash32 *id);

/* cd_serve_summary_frontier gives the newest summary of the state, cd_serve_summaries the IDs of those at some heights.
 * A VM that has none says so, by an empty one and no IDs: nodes do not go on to fetch blocks as long as most of the
 * stake is silent. */
void cd_serve_summary_frontier(const cd_serve *s, const cd_node_id *to, u32 request);
void cd_serve_summaries(const cd_serve *s, const cd_node_id *to, u32 request, const u64 *heights, u32 cnt);

#endif
