/* node/peers/peers.h - the network of peers of a node: who is there, who validates, how long each was there.
 *
 *   --bootstrap-ips ─► beacons ─┐                    ┌─ info.peers, info.uptime
 *   P-Chain ─► validators ──────┴► p2p/tcp on the loop ┴─ health check "network", metrics
 *
 * Chains that are decided with peers are linked to them (node/peers/link.h). Validators are looked up every second, and
 * only when the P-Chain has gone on; it also counts how long each was reachable, which peers are told.
 * Threading: confined to the loop's thread. [spec:p2p#6] */
#ifndef CD_NODE_PEERS_H
#define CD_NODE_PEERS_H

#include "codec/json.h"
#include "node/api/info.h"
#include "node/peers/link.h"
#include "node/peers/tuning.h"
#include "p2p/tcp.h"
#include "vm/validators.h"

typedef struct cd_node_peers cd_node_peers;

/* A node that is known from the start. */
typedef struct cd_node_beacon {
    cd_p2p_ip ip;
    cd_node_id node;
} cd_node_beacon;

/* What the operator says about peers; borrowed as long as they are open. */
typedef struct cd_node_peers_cfg {
    const cd_p2p_identity *id;
    const char *host; /* to listen on; "" is every address */
    u16 port;         /* 0: the system chooses */
    cd_p2p_ip own;    /* where others reach this node; port 0: that of the listener */
    const cd_node_beacon *beacons;
    usize beacon_cnt;
    const cd_node_beacon *sync_beacons; /* who alone is asked for summaries of states; none: as for blocks */
    usize sync_beacon_cnt;
    const cd_hash32 *nets; /* that are tracked besides the primary network, at most CD_P2P_SUBNETS_MAX */
    usize net_cnt;
    bool allow_private;     /* private addresses are dialled */
    u32 min_connected;      /* with fewer peers the node is not well */
    bool is_off;            /* the node speaks to nobody */
    bool decides;           /* chains are decided with peers, not by this node alone */
    const char *blocked;    /* file of node IDs, one a line, that are not spoken to; "" or NULL: nobody is blocked */
    const char *record_dir; /* where records of their engines go; NULL: none are made */
    cd_node_tuning tuning;
} cd_node_peers_cfg;

/* What they take from the node; all of it outlives them. */
typedef struct cd_node_peers_env {
    const cd_network *network;
    cd_loop *loop;
    const cd_clock *clock;
    cd_metrics *metrics;
    cd_logger *log;
    /* Gives who says who validates, for the moment; NULL: nobody does. */
    const cd_vm_validators *(*validators)(void *ctx);
    void *ctx;
} cd_node_peers_env;

/* cd_node_peers_new makes the router that chains are linked to; cd_node_peers_open listens and begins to dial.
 * cd_node_peers_close ends all connections, when no chain is linked; what is left goes with the loop's next rounds;
 * NULL is allowed. Errors: those of cd_p2p_tcp_open. */
cd_node_peers *cd_node_peers_new(const cd_node_peers_cfg *cfg, const cd_node_peers_env *env);
cd_err cd_node_peers_open(cd_node_peers *p, cd_errinfo *why) CD_CHECK;
void cd_node_peers_close(cd_node_peers *p);

/* cd_node_peers_reload reads again who is blocked; when that cannot be done the log says so, and those stay who
 * were. */
void cd_node_peers_reload(cd_node_peers *p);

/* cd_node_peers_link makes the link of a chain of a net, which is ticked until cd_node_peers_unlink frees it (NULL
 * allowed). NULL: peers decide nothing here. */
cd_link *cd_node_peers_link(cd_node_peers *p, const cd_hash32 *chain, const cd_hash32 *net, const char *name);
void cd_node_peers_unlink(cd_node_peers *p, cd_link *l);

/* cd_node_peers_beacons gives the nodes that are known from the start, each once, as an array that is the caller's. */
cd_node_id *cd_node_peers_beacons(const cd_node_peers *p, u32 *cnt);

/* cd_node_peers_sync_beacons gives those who are asked for summaries, likewise. */
cd_node_id *cd_node_peers_sync_beacons(const cd_node_peers *p, u32 *cnt);

/* cd_node_peers_tuning gives the numbers, defaults filled in. */
const cd_node_tuning *cd_node_peers_tuning(const cd_node_peers *p);

/* cd_node_peers_port gives where they are listened for, cd_node_peers_own where others are told to reach this node. */
u16 cd_node_peers_port(const cd_node_peers *p);
cd_p2p_ip cd_node_peers_own(const cd_node_peers *p);

/* cd_node_peers_list writes connected peers as info.h wants it: those of ids, all when cnt is 0; gives their number. */
usize cd_node_peers_list(cd_node_peers *p, cd_json_w *w, const cd_node_id *ids, usize cnt);

/* cd_node_peers_uptime gives what validators think of this node; false: it validates nothing. */
bool cd_node_peers_uptime(const cd_node_peers *p, cd_info_uptime *out);

/* These are the checks "network", "router" and "bls" of health.h; ctx is a cd_node_peers. */
const char *cd_node_peers_health(void *ctx, cd_json_w *message);
const char *cd_node_peers_router_health(void *ctx, cd_json_w *message);
const char *cd_node_peers_bls_health(void *ctx, cd_json_w *message);

/* cd_node_peers_connected writes, as two members of an object, the validators that a chain cannot reach, in rising
 * order, and the part of the stake that it can, itself included; that is what it gives. 1: nobody validates. */
double cd_node_peers_connected(const cd_node_peers *p, const cd_hash32 *chain, cd_json_w *w);

#endif
