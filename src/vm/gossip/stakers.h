/* vm/gossip/stakers.h - who validates a chain's network and who of them is there: for sampling, and for who may ask.
 *
 * The set is read from the P-Chain at most once in CD_GOSSIP_STALE_S, as long as it can be read; peers whose messages
 * ask for it cannot make it be read more often. Time comes as an argument, monotonic nanoseconds. Threading: confined.
 * [spec:consensus#9] */
#ifndef CD_VM_GOSSIP_STAKERS_H
#define CD_VM_GOSSIP_STAKERS_H

#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "vm/validators.h"

enum { CD_GOSSIP_STALE_S = 60, CD_GOSSIP_RETRY_S = 1 };

/* The validators of a network and the nodes that are connected. It borrows what it is given. */
typedef struct cd_gossip_stakers {
    const cd_vm_validators *validators; /* NULL: nobody validates */
    cd_hash32 subnet;
    cd_node_id self;
    cd_hmap here;      /* nodes that are connected; this one always is */
    cd_node_id *nodes; /* validators, most stake first */
    u64 *weights;
    usize cnt;
    u64 weight;
    cd_hmap set; /* the validators again, as a set */
    u64 read_again_ns;
} cd_gossip_stakers;

/* cd_gossip_stakers_init begins with nobody there but this node; _fini releases it. */
void cd_gossip_stakers_init(cd_gossip_stakers *s, const cd_vm_validators *validators, const cd_hash32 *subnet,
                            const cd_node_id *self);
void cd_gossip_stakers_fini(cd_gossip_stakers *s);

/* cd_gossip_stakers_come and _go tell that a node is connected, or not any more. */
void cd_gossip_stakers_come(cd_gossip_stakers *s, const cd_node_id *node);
void cd_gossip_stakers_go(cd_gossip_stakers *s, const cd_node_id *node);

/* cd_gossip_stakers_has tells whether the node validates and is connected. */
bool cd_gossip_stakers_has(cd_gossip_stakers *s, const cd_node_id *node, u64 now_ns);

/* cd_gossip_stakers_top borrows the fewest validators that together have a share of the stake (0 to 1), connected or
 * not, until the next call. */
const cd_node_id *cd_gossip_stakers_top(cd_gossip_stakers *s, usize *cnt, double share, u64 now_ns);

/* cd_gossip_stakers_any chooses a validator that is connected and is not this node; false: there is none. */
bool cd_gossip_stakers_any(cd_gossip_stakers *s, cd_node_id *out, cd_rng *rng, u64 now_ns);

#endif
