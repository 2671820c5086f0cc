/* vm/sender.h - how a VM reaches the VMs of the same chain on other nodes. The node implements it; so does a simulator.
 *
 * Sending never waits and never fails: what cannot be sent is dropped, and a request that gets no answer is told as
 * failed. Threading: on the chain's executor. [spec:architecture#5] */
#ifndef CD_VM_SENDER_H
#define CD_VM_SENDER_H

#include "codec/ids.h"

/* The version of a peer's client, as its handshake gives it. */
typedef struct cd_vm_peer_version {
    cd_bytes name; /* borrowed for the call */
    u32 major;
    u32 minor;
    u32 patch;
} cd_vm_peer_version;

/* The receivers of gossip: so many nodes of each kind, chosen at random, and the nodes that are named. */
typedef struct cd_vm_gossip_to {
    const cd_node_id *nodes;
    usize node_cnt;
    u32 validators;
    u32 non_validators;
    u32 peers;
} cd_vm_gossip_to;

/* How a VM sends messages of its own to other nodes; request_id is the VM's, and comes back with the response. */
typedef struct cd_vm_sender cd_vm_sender;
struct cd_vm_sender {
    void (*request)(const cd_vm_sender *s, const cd_node_id *to, u32 request_id, cd_bytes msg);
    void (*response)(const cd_vm_sender *s, const cd_node_id *to, u32 request_id, cd_bytes msg);
    /* error refuses a request; codes below 0 belong to the protocol, others to the VM. */
    void (*error)(const cd_vm_sender *s, const cd_node_id *to, u32 request_id, i32 code, cd_bytes message);
    void (*gossip)(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg);
};

#endif
