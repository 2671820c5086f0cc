/* node/chain/decider.h - who decides over the blocks of one chain: this node alone, or it and its peers.
 *
 *   alone:       solo ──────────────────────────────────────────► executor
 *   several:     council, all in this process ──────────────────► executor
 *   with peers:  link ◄─► bootstrap, then snowman, in one seat ──► executor
 *
 * Threading: confined to the thread that runs the node, but for what says otherwise. */
#ifndef CD_NODE_DECIDER_H
#define CD_NODE_DECIDER_H

#include "codec/json.h"
#include "consensus/bootstrap/bootstrap.h"
#include "consensus/council.h"
#include "node/chain/executor.h"

typedef struct cd_decider cd_decider;
struct cd_node_peers;
struct cd_catchup;
struct cd_inbox_ear;

/* What it is made of; everything is borrowed and outlives it. */
typedef struct cd_decider_cfg {
    cd_commit_door door;
    struct cd_node_peers *peers; /* NULL: the node decides alone; so it does where peers decide nothing */
    struct cd_catchup *catchup;
    const cd_council_cfg *council; /* several validators in this process decide, without peers; NULL: it is one */
    cd_kv *fetched;                /* a part of the store for blocks on their way in */
    bool is_first; /* the chain says who validates: it catches up before others, with the operator's beacons */
    const cd_vm_validators *validators;
    cd_hash32 chain;
    cd_hash32 subnet; /* whose validators decide; zero: the primary network */
    cd_node_id self;
    cd_rng *rng;
    const cd_clock *clock;
    cd_logger *log;
    const char *name; /* of the chain, for the log */
} cd_decider_cfg;

/* cd_decider_new makes it; cd_decider_free: after the executor, NULL is allowed. Errors: the store's. */
cd_err cd_decider_new(cd_decider **out, const cd_decider_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_decider_free(cd_decider *d);

/* cd_decider_engine is the executor's engine, cd_decider_bind names the executor that it was given to. */
cd_engine *cd_decider_engine(cd_decider *d);
void cd_decider_bind(cd_decider *d, cd_executor *executor);

/* cd_decider_sender is what the chain's VM speaks to peers through (NULL: there are none), cd_decider_vm says which VM
 * hears them; both on the executor. */
const cd_vm_sender *cd_decider_sender(const cd_decider *d);
void cd_decider_vm(cd_decider *d, cd_vm *vm);

/* cd_decider_ear lends an ear to what peers say to the VM; on the executor, before cd_decider_vm. */
void cd_decider_ear(cd_decider *d, const struct cd_inbox_ear *ear);

/* cd_decider_join has the chain hear peers: any thread, once, when it is open. cd_decider_leave ends that, before the
 * executor ends. */
void cd_decider_join(cd_decider *d);
void cd_decider_leave(cd_decider *d);

/* cd_decider_is_running: the chain has caught up, what it says is what the network says. Any thread. */
bool cd_decider_is_running(const cd_decider *d);

/* cd_decider_progress tells how far the catching up is; false: there is none. Any thread. */
bool cd_decider_progress(cd_decider *d, cd_bootstrap_progress *out);

/* cd_decider_load gives what is wrong with blocks undecided for so long, and so many of them; NULL: nothing. */
const char *cd_decider_load(cd_decider *d, u64 waiting_ns, u64 processing);

/* cd_decider_health writes the value of "networking" in a chain's check, and gives what is wrong; NULL: nothing. */
const char *cd_decider_health(cd_decider *d, cd_json_w *w);

#endif
