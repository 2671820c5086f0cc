/* node/peers/sender.h - the messages of one chain's VM: to the VMs of the same chain elsewhere, and from them.
 *
 *            loop                                             executor
 *   router ◄─ ask, say, gossip ──────── tasks ◄══════════════ cd_vm_sender ◄── VM
 *          ── message, failed, … ─────► inbox (node/peers/inbox.h) ════════════════► cd_vm_app_ops
 *
 * A request that cannot be sent has failed, as one that nobody answers; the VM hears of each once. Anything else that
 * finds no room among CD_SENDER_BYTES_MAX on their way to the loop is dropped. Threading: confined to the loop's
 * thread, but for what says otherwise. [spec:p2p#7] */
#ifndef CD_NODE_SENDER_H
#define CD_NODE_SENDER_H

#include "node/peers/inbox.h"

enum { CD_SENDER_BYTES_MAX = 16 << 20 };

typedef struct cd_sender cd_sender;

/* What it lies between; all of it outlives the sender. */
typedef struct cd_sender_cfg {
    cd_loop *loop;
    cd_p2p_router *router;
    /* Something was given to the router: its tick is due. */
    void (*wake)(void *ctx);
    /* The VM took so long for what a node has said. */
    void (*used)(void *ctx, const cd_node_id *node, u64 ns);
    void *ctx;
    const cd_clock *clock;
    cd_hash32 chain;
} cd_sender_cfg;

/* cd_sender_new makes one that nobody hears; cd_sender_free as cd_link_free, NULL is allowed. */
cd_sender *cd_sender_new(const cd_sender_cfg *cfg);
void cd_sender_free(cd_sender *s);

/* cd_sender_for_vm is what the VM speaks through, on its executor, as long as the sender is there; what is said after
 * cd_sender_leave is dropped. */
const cd_vm_sender *cd_sender_for_vm(const cd_sender *s);

/* cd_sender_inbox borrows what the VM is told through: it is bound, given the VM, ticked and filled by the chain's
 * link. */
cd_inbox *cd_sender_inbox(cd_sender *s);

/* cd_sender_leave: the router does not know the chain any more. */
void cd_sender_leave(cd_sender *s);

#endif
