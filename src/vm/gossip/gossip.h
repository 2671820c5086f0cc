/* vm/gossip/gossip.h - how the VMs of one chain on many nodes come to have the same things waiting: transactions.
 *
 *   a client's ─► set ── push ─► gossip to those with most of the stake, and some others
 *                  ▲ └── filter of what is known ─► pull: "what else have you?" ─► one validator, again and again
 *                  └──── add ◄── what others push, and answer
 *
 * Any number of topics, each a set with the number of its handler; numbers, bodies and manners are the original's. One
 * object for a VM, which hands its app messages on and calls cd_gossip_wake from its own wake. A peer may push
 * anything: the set refuses what it does not want. Questions are answered to validators, a few in a while. Only
 * validators ask, since nobody else is answered. Threading: confined to the executor. [spec:p2p#8]
 * [spec:consensus#9] */
#ifndef CD_VM_GOSSIP_GOSSIP_H
#define CD_VM_GOSSIP_GOSSIP_H

#include "p2p/sdk.h"
#include "vm/gossip/asks.h"
#include "vm/vm.h"

typedef struct cd_gossip cd_gossip;
typedef struct cd_gossip_topic cd_gossip_topic;

/* Things that are gossiped, known by IDs: a pool. */
typedef struct cd_gossip_set {
    void *ctx;
    /* get borrows the bytes of a thing until the set changes; false: it is not there (any more). */
    bool (*get)(void *ctx, cd_bytes *item, const cd_hash32 *id);
    /* each calls visit for one thing after the other, in any order, until visit returns false. */
    void (*each)(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg);
    usize (*cnt)(void *ctx);
    /* add judges a thing that a peer has sent. If the set takes it, it calls cd_gossip_known. */
    void (*add)(void *ctx, const cd_node_id *from, cd_bytes item);
} cd_gossip_set;

/* How often a topic is gossiped, and to whom. */
typedef struct cd_gossip_params {
    u64 push_ns;     /* least time between two pushes */
    u64 regossip_ns; /* time after which the same thing is pushed again */
    u64 pull_ns;
    double stake; /* a push goes to the validators who together have this share of the stake, */
    u32 validators;
    u32 peers;
    u32 re_validators; /* this and re_peers: the counts when a thing is pushed again */
    u32 re_peers;
} cd_gossip_params;

/* The parameters of the P- and X-Chain, and of the C-Chain. */
extern const cd_gossip_params cd_gossip_px;
extern const cd_gossip_params cd_gossip_c;

enum {
    CD_GOSSIP_TOPICS_MAX = 4,
    CD_GOSSIP_MESSAGE_TARGET = 20 << 10, /* bytes of things in one message; the one that goes beyond is the last */
    CD_GOSSIP_ASKS_MAX = 2,              /* questions of one peer that are answered in CD_GOSSIP_ASKS_S seconds */
    CD_GOSSIP_ASKS_S = 10,
};

/* cd_gossip_new takes from ctx the sender, the validators, the clock and randomness, which outlive it. Without a sender
 * it does nothing. cd_gossip_free: NULL is allowed. */
cd_gossip *cd_gossip_new(const cd_vm_ctx *ctx) __attribute__((returns_nonnull));
void cd_gossip_free(cd_gossip *g);

/* cd_gossip_add makes the set a topic, with the things that are in it; its metrics' names begin with name ("avm_tx").
 * set and params are borrowed. */
cd_gossip_topic *cd_gossip_add(cd_gossip *g, u64 handler, const char *name, const cd_gossip_set *set,
                               const cd_gossip_params *params) __attribute__((returns_nonnull));

/* cd_gossip_mux borrows the table of handlers, to add others than topics. */
cd_p2p_mux *cd_gossip_mux(cd_gossip *g);

/* cd_gossip_ask asks a node something else, whoever it is: the body goes to the handler of that number; told hears what
 * came of it, once, perhaps before this returns. False: there are no peers, or CD_GOSSIP_ASKS_OPEN_MAX questions are
 * open. cd_gossip_forget: ctx hears of none of its questions any more. */
bool cd_gossip_ask(cd_gossip *g, const cd_node_id *whom, u64 handler, cd_bytes body, cd_gossip_told *told,
                   void *ctx) CD_CHECK;
void cd_gossip_forget(cd_gossip *g, const void *ctx);

/* cd_gossip_known: a thing has come into the set, from anywhere. cd_gossip_push_out: it came to this node first, which
 * pushes it to others. */
void cd_gossip_known(cd_gossip_topic *t, const cd_hash32 *id);
void cd_gossip_push_out(cd_gossip_topic *t, const cd_hash32 *id);

/* cd_gossip_start: is_on lets the node ask others (the chain is bootstrapped). Before that the set refuses what peers
 * push. */
void cd_gossip_start(cd_gossip *g, bool is_on);

/* cd_gossip_wake does what is due and gives when to be called next (monotonic ns, UINT64_MAX: no need). */
u64 cd_gossip_wake(cd_gossip *g);

/* --- for cd_vm_app_ops --- */

/* What the object of a VM that gossips begins with. */
typedef struct cd_gossip_vm {
    cd_vm vm; /* first */
    cd_gossip *gossip;
} cd_gossip_vm;

/* These are the members of cd_vm_app_ops for such a VM. */
void cd_gossip_on_request(cd_vm *vm, const cd_node_id *from, u32 request_id, u64 deadline_ns, cd_bytes msg);
void cd_gossip_on_response(cd_vm *vm, const cd_node_id *from, u32 request_id, cd_bytes msg);
void cd_gossip_on_failed(cd_vm *vm, const cd_node_id *from, u32 request_id, i32 code, cd_bytes message);
void cd_gossip_on_gossip(cd_vm *vm, const cd_node_id *from, cd_bytes msg);
void cd_gossip_on_connected(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version);
void cd_gossip_on_disconnected(cd_vm *vm, const cd_node_id *peer);

/* cd_gossip_app_ops has exactly these functions. */
extern const cd_vm_app_ops cd_gossip_app_ops;

#endif
