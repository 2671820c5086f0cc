/* chains/platform/gossip.h - the pool of the P-Chain and those of other nodes.
 *
 * Threading: confined to the executor. [spec:consensus#9] */
#ifndef CD_CHAINS_PLATFORM_GOSSIP_H
#define CD_CHAINS_PLATFORM_GOSSIP_H

#include "chains/platform/blocks/chain.h"
#include "vm/gossip/gossip.h"

/* The pool as other nodes see it; a member of the VM's object, which stays where it is. */
typedef struct cd_platform_gossip {
    cd_pchain *chain;
    cd_vm_host *host; /* NULL: nobody builds */
    cd_gossip_set set;
    cd_gossip_topic *topic;
} cd_platform_gossip;

/* cd_platform_gossip_open makes the pool of a chain a topic of g; it borrows all. */
void cd_platform_gossip_open(cd_platform_gossip *p, cd_gossip *g, cd_pchain *chain, cd_vm_host *host);

/* cd_platform_gossip_own: a client gave this node a transaction that waits now. */
void cd_platform_gossip_own(cd_platform_gossip *p, const cd_hash32 *id);

#endif
