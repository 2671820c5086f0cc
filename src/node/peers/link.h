/* node/peers/link.h - between the engine of one chain and its peers: the loop on one side, the chain's executor on
 * the other.
 *
 *   loop      router ─ message, failed, connected ─► link ══ jobs of the engine's queue ══► snowman, bootstrap
 *             router ◄─ ask, say ─────────────────── link ◄═ tasks of the loop ═════════════ what they speak through
 *
 * What is asked of us is dropped when the engine's queue is full, and so are blocks beyond 16 MiB on their way out, and
 * more than ten questions of a node at a time for ancestors of blocks.
 * Answers then count as failures, and those, like who comes and goes, wait until there is room: there are no more of
 * them than peers and open requests.
 * Threading: confined to the loop's thread, but for what says otherwise. [spec:p2p#7] [spec:consensus#4] */
#ifndef CD_NODE_LINK_H
#define CD_NODE_LINK_H

#include "consensus/bootstrap/bootstrap.h"
#include "consensus/snow/snowman.h"
#include "net/loop.h"
#include "node/chain/executor.h"
#include "node/peers/sender.h"
#include "p2p/router.h"

typedef struct cd_link cd_link;

/* What a link lies between; all of it outlives the link. */
typedef struct cd_link_cfg {
    cd_loop *loop;
    cd_p2p_router *router;
    /* Something was given to the router: its tick is due. */
    void (*wake)(void *ctx);
    /* The engine took so long for what a node has said. */
    void (*used)(void *ctx, const cd_node_id *node, u64 ns);
    void *ctx;
    const cd_clock *clock;
    cd_hash32 chain;
    cd_hash32 net;    /* of the chain */
    cd_logger *log;   /* NULL allowed */
    const char *name; /* of the chain, for the log */
    cd_node_id own;
    const char *record_dir; /* where its engine's record goes (node/peers/record.h); NULL: there is none */
} cd_link_cfg;

/* cd_link_new makes one that nobody hears. cd_link_free: when the executor has ended and the loop has done what was
 * posted until then; NULL is allowed. */
cd_link *cd_link_new(const cd_link_cfg *cfg);
void cd_link_free(cd_link *l);

/* cd_link_net is what the engine speaks through, on its executor, cd_link_asks what the catching up does. cd_link_bind
 * says which engine, which catching up (NULL: there is none, the engine runs at once) and which executor. */
const cd_snow_net *cd_link_net(const cd_link *l);
const cd_bootstrap_net *cd_link_asks(const cd_link *l);
void cd_link_bind(cd_link *l, cd_engine *engine, cd_engine *bootstrap, cd_executor *executor);

/* cd_link_sender is what the chain's VM speaks through (node/peers/sender.h), on its executor. cd_link_vm says which VM
 * hears what others say to it: on that executor, when the VM is open. */
const cd_vm_sender *cd_link_sender(const cd_link *l);
void cd_link_vm(cd_link *l, cd_vm *vm);

/* cd_link_ear lends an ear to what peers say to the VM; on that executor, before cd_link_vm. */
void cd_link_ear(cd_link *l, const cd_inbox_ear *ear);

/* cd_link_join has the chain hear peers from the loop's next round on: any thread, once, when the chain is open.
 * cd_link_leave ends that, before the executor ends. */
void cd_link_join(cd_link *l);
void cd_link_leave(cd_link *l);

/* cd_link_tick is called every CD_SNOWMAN_TICK_MS. */
void cd_link_tick(cd_link *l);

/* cd_link_progress tells how far the catching up was at the last tick. Any thread. */
void cd_link_progress(cd_link *l, cd_bootstrap_progress *out);

/* cd_link_behind gives the height that more than half of those who were heard are beyond, when it is above ours by more
 * than what is under way; 0: the chain is not behind. */
u64 cd_link_behind(const cd_link *l);

#endif
