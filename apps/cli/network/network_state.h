/* apps/cli/network/network_state.h - a network of processes on this machine, as its folder describes it.
 *
 *   DIR/network.json    the nodes, and how they are started              DIR/genesis.json
 *   DIR/node1/…         data, keys, logs of a node                       DIR/snapshots/NAME/…
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_STATE_H
#define CD_APPS_CLI_NETWORK_STATE_H

#include "base/mem/arena.h"
#include "codec/ids.h"
#include "types/network.h"

enum { CD__NET_NODES_MAX = 64, CD__NET_NAME_MAX = 32, CD__NET_ID = 1337 };

/* A node of the network. */
typedef struct cd__net_node {
    const char *name; /* "node1"; also the name of its folder */
    bool is_go;       /* runs the original's program */
    bool validates;
    cd_node_id id;
    u64 pid;       /* ID of the process that was started last; 0: none */
    u16 http_port; /* 0: it has not run yet; after the first run the ports stay the same */
    u16 staking_port;
    u32 group;          /* nodes of different groups do not speak; all 0: the network is not parted */
    const char *tracks; /* IDs of nets whose chains it runs, with commas between them; "": none */
} cd__net_node;

/* A network; texts lie in mem. */
typedef struct cd__net {
    cd_arena *mem;
    const char *dir;
    const char *program;    /* program of all other nodes */
    const char *go_program; /* program of nodes with is_go; "": none */
    const char *profile;    /* "product", "upstream" */
    cd_network network;
    cd__net_node nodes[CD__NET_NODES_MAX];
    usize cnt;
} cd__net;

/* cd__net_load reads network.json of dir. Errors: CD_ENOENT when there is no network, those of the file. cd__net_save
 * writes it. */
cd_err cd__net_load(cd__net *out, cd_arena *mem, const char *dir, cd_errinfo *why) CD_CHECK;
cd_err cd__net_save(const cd__net *n, cd_errinfo *why) CD_CHECK;

/* cd__net_find finds a node by its name. Errors: CD_EINVAL with the names that there are. */
cd_err cd__net_find(cd__net *n, cd__net_node **out, const char *name, cd_errinfo *why) CD_CHECK;

/* cd__net_shown gives the node that serves the explorer: the first that can; NULL: none can. */
const cd__net_node *cd__net_shown(const cd__net *n);

/* cd__net_path gives a path below the folder of a node; name "" for the folder itself. */
const char *cd__net_path(const cd__net *n, const cd__net_node *node, const char *name);

/* cd__net_grow appends nodes with names of their own and keys that are made now, in their folders. Errors: CD_ELIMIT,
 * those of files. */
cd_err cd__net_grow(cd__net *n, usize cnt, bool are_go, bool validate, cd_errinfo *why) CD_CHECK;

/* cd__net_configure has a chain of a node (ID or alias) offer its methods about Warp messages from the node's next
 * start on: nobody but the network's owner asks these nodes. A configuration that is there stays. */
cd_err cd__net_configure(const cd__net *n, const cd__net_node *x, const char *chain, cd_errinfo *why) CD_CHECK;

/* cd__net_genesis writes the genesis in which all nodes that are there validate, with equal stakes. */
cd_err cd__net_genesis(const cd__net *n, cd_errinfo *why) CD_CHECK;

#endif
