/* apps/node/commands.h - the commands of the program. Each gives the exit code: 0 fine, 1 failed, 2 wrong
 * arguments. Threading: the main thread. */
#ifndef CD_APPS_NODE_COMMANDS_H
#define CD_APPS_NODE_COMMANDS_H

#include "chains/evmchain/core/config/check.h"
#include "config.h"
#include "explorer/abis.h"
#include "explorer/labels.h"
#include "explorer/primary/primary.h"
#include "node/node.h"

/* cd__findings_print reports findings in a file: errors, and the rest if with_warnings. */
void cd__findings_print(const cd__file *f, const cd_findings *findings, bool with_warnings);

/* Without a command: runs the node as the flags say, until somebody stops it. */
int cd__node_cmd(const cd_args *a, cd_arena *mem);

/* cd__network_of gives the network that the flags name; NULL: it cannot run yet, which was reported. */
const cd_network *cd__network_of(const cd_args *a);

/* `genesis check FILE`; `config check [FILE]`: a node's configuration, a VM configuration or an upgrade file, told
 * apart by their keys; without FILE all that the node would read. */
int cd__genesis_check_cmd(const char *path);
int cd__config_check_cmd(cd_args *a, const char *path);

/* `du`: what the tables of a network take on disk. `top`: what a running node does, until interrupted. */
int cd__du_cmd(const char *network_dir);
int cd__top_cmd(const char *host, u16 port);

/* `sim`: a network in a virtual world. argv[0] is the command's name; it reads its own flags from argv. */
int cd__sim_cmd(int argc, char **argv);

/* `replay FILE`: shows a trace in a browser; argv as for sim. */
int cd__replay_cmd(int argc, char **argv);

/* cd__abis_load reads files and folders of ABIs, as far as they are some; NULL: no paths. The caller frees it. */
cd_abis *cd__abis_load(const char *const *paths, usize cnt);

/* cd__labels_load reads the file of names for addresses ("": none). false: something is wrong, and was reported. The
 * caller frees the labels. */
bool cd__labels_load(cd_labels **out, cd_arena *mem, const char *path);

/* The pages at /explorer, and below it those of further chains. They, and what they are given, live as long as the
 * program. */
typedef struct cd__explorer_cfg {
    const char *name; /* name of the network */
    cd_logger *log;
    bool has_index;     /* with an index of addresses */
    bool is_index_anew; /* the index is made anew */
    const cd_labels *labels;
    const char *const *abis; /* paths of --abi, read when the chain opens */
    usize abi_cnt;
    cd_primary *primary; /* the pages of P and X */
} cd__explorer_cfg;

/* cd__explorer_pages makes the pages of a chain; chain NULL: the C-Chain. */
const cd_node_pages *cd__explorer_pages(cd_arena *mem, const cd__explorer_cfg *cfg, const char *chain);

/* cd__primary_pages makes those of the P- or the X-Chain. */
const cd_node_pages *cd__primary_pages(cd_arena *mem, cd_primary *primary, cd_primary_chain chain);

/* The banner of a node that is ready, and its last line. [design:terminal.txt] */
typedef struct cd__banner {
    const cd_network *network;
    const char *scheme; /* http */
    const char *host;
    u16 port;
    const char *dir;  /* NULL: in memory */
    const char *home; /* folder that is shown as ~; NULL: none is */
    bool has_explorer;
    u32 validators; /* that decide in this process; this and their ports: at most 20 */
    u16 ports[20];
    u64 ready_ms;
} cd__banner;
void cd__banner_print(const cd__banner *b);

/* cd__banner_log writes the same as log lines, for when no terminal is there: where things are, and the accounts. */
struct cd_logger;
void cd__banner_log(const cd__banner *b, struct cd_logger *log);
void cd__farewell_print(u64 ms, bool is_saved, u64 blocks);

#endif
