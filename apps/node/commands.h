/* apps/node/commands.h - what the program does besides running the node. Each command gives the exit code: 0 fine, 1 failed,
 * 2 used wrongly. Threading: the main thread. */
#ifndef CD_APPS_NODE_COMMANDS_H
#define CD_APPS_NODE_COMMANDS_H

#include "chains/evmchain/config/check.h"
#include "config.h"
#include "explorer/labels.h"
#include "node/node.h"

/* cd__findings_print reports findings in a file: errors, and with warnings the rest. */
void cd__findings_print(const cd__file *f, const cd_findings *findings, bool with_warnings);

/* `genesis check FILE`; `config check [FILE]`: a node's configuration, a VM configuration or an upgrade file, told apart by
 * their keys; without FILE all that the node would read. */
int cd__genesis_check_cmd(const char *path);
int cd__config_check_cmd(cd_args *a, const char *path);

/* `du`: what the tables of a network take on disk. `top`: what a running node does, until interrupted. */
int cd__du_cmd(const char *network_dir);
int cd__top_cmd(const char *host, u16 port);

/* cd__labels_load reads the file of names for addresses, "" none; false: it said why not. The labels are the caller's. */
bool cd__labels_load(cd_labels **out, cd_arena *mem, const char *path);

/* The pages at /explorer. They, and what they are given, live as long as the program. */
typedef struct cd__explorer_cfg {
    const char *name; /* of the network */
    cd_logger *log;
    bool has_index;     /* with an index of addresses */
    bool is_index_anew; /* which is made anew */
    const cd_labels *labels;
} cd__explorer_cfg;
const cd_node_pages *cd__explorer_pages(const cd__explorer_cfg *cfg);

/* The banner of a node that is ready, and its last line. [design:terminal.txt] */
typedef struct cd__banner {
    const cd_network *network;
    const char *scheme; /* http */
    const char *host;
    u16 port;
    const char *dir;  /* NULL: in memory */
    const char *home; /* shown as ~; NULL: not */
    bool has_explorer;
    u64 ready_ms;
} cd__banner;
void cd__banner_print(const cd__banner *b);
void cd__farewell_print(u64 ms, bool is_saved, u64 blocks);

#endif
