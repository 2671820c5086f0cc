/* node/chain/tracked.h - the chains of the nets that a node tracks: found on the P-Chain, opened with their plugins,
 * opened anew when those fail.
 *
 *   P-Chain goes on ─► its executor: list ─► loop: chains that are new ─► open ─► running ─┐
 *                                              ▲ 1, 2, 4, 8 s …          plugin fails: close
 *                                              └──────────────────────────────────────────┘
 *
 * A chain without a plugin, or whose plugin failed, is in health (check "plugins") with the reason. Threading: confined
 * to the loop, but for what says otherwise. [spec:plugin#8] [spec:node-api#8] */
#ifndef CD_NODE_TRACKED_H
#define CD_NODE_TRACKED_H

#include "node/chain/chains.h"
#include "node/chain/l1_watch.h"
#include "node/chain/plugins.h"
#include "plugin/host/plugin.h"
#include "plugin/host/vm.h"

typedef struct cd_tracked cd_tracked;

/* A chain of a net, borrowed for the call. */
typedef struct cd_tracked_chain {
    cd_hash32 id;
    cd_hash32 net_id;
    cd_hash32 vm_id;
    cd_bytes genesis;
} cd_tracked_chain;

/* A chain among those that the node opens at its start, whose VM is a plugin all the same: it is opened anew like the
 * others. vm is completed here, by cd_tracked_new, before the chain is opened. */
typedef struct cd_tracked_own {
    const cd_node_chain_cfg *row;
    cd_plugin_vm_cfg *vm; /* path and has_own_store are set */
} cd_tracked_own;

/* What the program says. Borrowed as long as the node. */
typedef struct cd_tracked_cfg {
    const cd_hash32 *nets; /* the primary network is not among them */
    usize net_cnt;
    /* list calls found for each chain of a net; on the executor of the P-Chain, with its VM. */
    cd_err (*list)(void *ctx, cd_vm *p, const cd_hash32 *net, void (*found)(void *arg, const cd_tracked_chain *c),
                   void *arg);
    /* files gives what the operator set for a chain, by its id and its VM's; in the arena, which lives as long as the
     * chain. */
    void (*files)(void *ctx, cd_bytes *config, cd_bytes *upgrades, cd_arena *a, const char *id, const cd_hash32 *vm_id);
    void *ctx;
    cd_plugin_signer signer;
    const cd_tracked_own *own;  /* NULL: there is none */
    const cd_l1_watch_cfg *l1s; /* how L1s among the nets are; NULL: nobody looks */
    bool is_wrapped;            /* blocks stand in those of proposers */
} cd_tracked_cfg;

/* What it needs of the node. */
typedef struct cd_tracked_env {
    cd_chains *chains;
    cd_plugins *plugins;
    cd_front *front;
    cd_health *health;
    cd_kv *store;
    cd_bytes bls_key;
    cd_logger *log;
} cd_tracked_env;

/* How many such chains a node has room for. */
enum { CD_TRACKED_MAX = 32 };

/* cd_tracked_new begins to look, on the loop's next rounds. cd_tracked_stop opens nothing more, before the chains end.
 * cd_tracked_free: after they have, and the loop was drained; NULL is allowed to both. */
cd_tracked *cd_tracked_new(const cd_tracked_cfg *cfg, const cd_tracked_env *env);
void cd_tracked_stop(cd_tracked *t);
void cd_tracked_free(cd_tracked *t);

#endif
