/* p2p/throttle.h - how much of us a peer may take: bytes, messages a second, processor time.
 *
 *   pool     bytes in use: an at-large part that all share (bounded per node), then a part by weight for validators
 *   bucket   bytes (or connections) a second, with a burst
 *   usage    processor time of each node, halved every few seconds, against its share
 *
 * Every structure is bounded by the nodes that use it. Threading: confined. [spec:p2p#9] */
#ifndef CD_P2P_THROTTLE_H
#define CD_P2P_THROTTLE_H

#include "base/os/clock.h"
#include "base/table/hmap.h"
#include "codec/ids.h"

/* --- pool --- */

/* Bytes that messages of all peers may use, and how many each peer has in use. */
typedef struct cd_p2p_pool {
    u64 large_left; /* free bytes of the part that all share */
    u64 large_node_max;
    u64 part_max; /* bytes that validators share by weight */
    u64 part_left;
    bool part_first; /* a validator uses its own part before the part that all share */
    cd_hmap nodes;   /* what each node has taken */
} cd_p2p_pool;

/* cd_p2p_pool_init makes a full pool; _fini releases its memory. */
void cd_p2p_pool_init(cd_p2p_pool *p, u64 large, u64 large_node_max, u64 part, bool part_first);
void cd_p2p_pool_fini(cd_p2p_pool *p);

/* cd_p2p_pool_take takes n bytes for a node that has weight of total, all of them or none; false: none. */
bool cd_p2p_pool_take(cd_p2p_pool *p, const cd_node_id *node, u64 n, u64 weight, u64 total) CD_CHECK;

/* cd_p2p_pool_give gives back n bytes that were taken, those of the validators' part first. */
void cd_p2p_pool_give(cd_p2p_pool *p, const cd_node_id *node, u64 n);

/* --- bucket --- */

/* A token bucket. */
typedef struct cd_p2p_bucket {
    u64 rate; /* tokens a second */
    u64 burst;
    u64 left;
    u64 rest; /* billionths of a token that the last refill left over */
    u64 at_ns;
} cd_p2p_bucket;

/* cd_p2p_bucket_init makes a full bucket at a monotonic time. */
void cd_p2p_bucket_init(cd_p2p_bucket *b, u64 rate, u64 burst, u64 now_ns);

/* cd_p2p_bucket_take takes n (at most the burst) and gives 0; or it takes nothing, and gives the nanoseconds until n
 * are there. */
u64 cd_p2p_bucket_take(cd_p2p_bucket *b, u64 n, u64 now_ns);

/* --- usage --- */

/* Processor time that each peer has used lately, with a half-life. */
typedef struct cd_p2p_usage {
    u64 half_ns; /* half-life */
    cd_hmap nodes;
} cd_p2p_usage;

/* cd_p2p_usage_init starts an empty account; _fini releases it. */
void cd_p2p_usage_init(cd_p2p_usage *u, u64 half_ns);
void cd_p2p_usage_fini(cd_p2p_usage *u);

/* cd_p2p_usage_add accounts cpu_ns to a node. cd_p2p_usage_of gives the number of processors that it used lately (1.0:
 * one of them all the time). cd_p2p_usage_forget drops a node. */
void cd_p2p_usage_add(cd_p2p_usage *u, const cd_node_id *node, u64 cpu_ns, u64 now_ns);
double cd_p2p_usage_of(const cd_p2p_usage *u, const cd_node_id *node, u64 now_ns);
void cd_p2p_usage_forget(cd_p2p_usage *u, const cd_node_id *node);

/* cd_p2p_usage_share gives the processors that a node may use: of a machine's cpus an eighth, but no more than an equal
 * part for each of cnt peers of what all share (0.8 of them), and a validator its weight's part besides. */
double cd_p2p_usage_share(u32 cpus, u32 cnt, u64 weight, u64 total);

#endif
