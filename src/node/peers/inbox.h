/* node/peers/inbox.h - what peers have to say to the VM of one chain, until its executor has time for it.
 *
 *   loop:  connected, message, failed, … ──► a row per peer ─┐ turns among peers         executor
 *          bytes given back, time accounted ◄────────────────┴═ a few at a time ═══════► cd_vm_app_ops
 *
 * Only one batch is with the executor at a time, in front of clients' calls and behind what the engine has: peers
 * cannot keep it from deciding. What comes unasked is bounded per peer and in all, and when there is no room the
 * longest row loses its newest. What belongs to the VM - answers, failures, who comes and goes - is told in any case,
 * in order, and is bounded by what the VM asked for and by peers. Threading: confined to the loop's thread, but for
 * what says otherwise. [spec:p2p#7.2] */
#ifndef CD_NODE_INBOX_H
#define CD_NODE_INBOX_H

#include "net/loop.h"
#include "node/chain/executor.h"
#include "p2p/router.h"
#include "vm/vm.h"

enum {
    CD_INBOX_PEER_MAX = 64,  /* unasked messages of a peer that wait */
    CD_INBOX_ALL_MAX = 1024, /* of all */
    CD_INBOX_BATCH = 8,
};

/* The code of a request that nobody answered in time. */
enum { CD_INBOX_TIMED_OUT = -1 };

typedef struct cd_inbox cd_inbox;

/* Somebody of this node who has one handler of a chain's app messages for itself, and hears who comes; on the executor.
 * answered is given every answer, no bytes for a question that failed; true: the question was its own. */
typedef struct cd_inbox_ear {
    u64 handler;
    void (*heard)(void *ctx, const cd_node_id *from, cd_bytes body);
    void (*asked)(void *ctx, const cd_node_id *from, u32 request_id, cd_bytes body);
    bool (*answered)(void *ctx, const cd_node_id *from, u32 request_id, cd_bytes body);
    void (*met)(void *ctx, const cd_node_id *node);
    void *ctx;
} cd_inbox_ear;

/* What it lies between; all of it outlives the inbox. */
typedef struct cd_inbox_cfg {
    cd_loop *loop;
    const cd_clock *clock;
    const cd_vm_sender *sender; /* refuses for a VM that takes no messages */
    /* The VM took so long for what a node has said. */
    void (*used)(void *ctx, const cd_node_id *node, u64 ns);
    void *ctx;
} cd_inbox_cfg;

/* cd_inbox_new makes an empty one; cd_inbox_free as cd_link_free, NULL is allowed. */
cd_inbox *cd_inbox_new(const cd_inbox_cfg *cfg);
void cd_inbox_free(cd_inbox *b);

/* cd_inbox_ear_set lends an ear, on the executor, before cd_inbox_vm; NULL: there is none. */
void cd_inbox_ear_set(cd_inbox *b, const cd_inbox_ear *ear);

/* cd_inbox_bind says which executor, before anything is told; cd_inbox_vm which VM, on that executor. cd_inbox_leave
 * drops what waits and takes nothing more. */
void cd_inbox_bind(cd_inbox *b, cd_executor *executor);
void cd_inbox_vm(cd_inbox *b, cd_vm *vm);
void cd_inbox_leave(cd_inbox *b);

/* --- what is to be told --- */

/* A peer is there, or has gone: what it asked and is not told yet is forgotten then. */
void cd_inbox_connected(cd_inbox *b, const cd_p2p_peer_info *peer);
void cd_inbox_disconnected(cd_inbox *b, const cd_node_id *node);

/* cd_inbox_message takes an app message, which is the network's again when it was told or dropped. Requests are not
 * told behind expires_ns. */
void cd_inbox_message(cd_inbox *b, cd_p2p_in *in, u64 expires_ns);

/* cd_inbox_failed: nobody answered a request of the VM. */
void cd_inbox_failed(cd_inbox *b, const cd_node_id *node, u32 request_id);

/* cd_inbox_tick tries again what found no room with the executor. */
void cd_inbox_tick(cd_inbox *b);

/* cd_inbox_cnt counts unasked messages that wait, cd_inbox_dropped those that found no room. */
usize cd_inbox_cnt(const cd_inbox *b);
u64 cd_inbox_dropped(const cd_inbox *b);

#endif
