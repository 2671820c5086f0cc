/* apps/node/config.h - the files that a node is set up with: its own configuration, and those of the C-Chain.
 *
 *   flag > environment > configuration file > default
 *
 * What is wrong in a file is reported with its place; functions that do so give false. Threading: the main thread.
 * [spec:node-api#11] [spec:node-api#12] */
#ifndef CD_APPS_NODE_CONFIG_H
#define CD_APPS_NODE_CONFIG_H

#include "base/args.h"
#include "chains/evmchain/dev/options.h"

/* A file, or what stands for it. */
typedef struct cd__file {
    const char *name; /* for messages */
    cd_bytes text;    /* in the arena */
    bool is_there;
} cd__file;

/* What the C-Chain is set up with. */
typedef struct cd__chain_files {
    cd__file config;
    cd__file upgrades;
} cd__chain_files;

/* cd__file_read reads a whole file; one that is not there is no error when may_miss. */
bool cd__file_read(cd__file *out, cd_arena *mem, const char *path, bool may_miss);

/* cd__dev_options_load makes out of the flags what a development network is asked for, its state file read. */
bool cd__dev_options_load(cd_dev_options *out, const cd_args *a, cd_arena *mem);

/* cd__config_load reads the configuration file that the flags name, if any, into a. Keys that nobody knows are ignored. */
bool cd__config_load(cd_args *a, cd_arena *mem);

/* cd__config_apply sets the values of one configuration file; misses is called for each key that is no flag (NULL: ignored).
 * a may be NULL-free only: it is where values are checked. */
typedef void cd__config_miss(void *ctx, const cd__file *f, cd_bytes key);
bool cd__config_apply(cd_args *a, cd_arena *mem, const cd__file *f, cd__config_miss *misses,
                      void *ctx);

/* cd__chain_files_load reads chain-config-content, else the files below chain-config-dir. */
bool cd__chain_files_load(cd__chain_files *out, const cd_args *a, cd_arena *mem);

/* cd__chain_files_good checks them; what is wrong is reported, warnings only when with_warnings. */
bool cd__chain_files_good(const cd__chain_files *f, cd_arena *mem, bool with_warnings);

#endif
