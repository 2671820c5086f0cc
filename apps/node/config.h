/* apps/node/config.h - the files that a node is set up with: its own configuration, and those of its chains.
 *
 *   flag > environment > configuration file > default
 *
 * What is wrong in a file is reported with its place; functions that do so give false. Threading: the main thread.
 * [spec:node-api#11] [spec:node-api#12] */
#ifndef CD_APPS_NODE_CONFIG_H
#define CD_APPS_NODE_CONFIG_H

#include "base/args/args.h"
#include "chains/evmchain/dev/options.h"

/* A file, or a text that is given in its place. */
typedef struct cd__file {
    const char *name; /* for messages */
    cd_bytes text;    /* in the arena */
    bool is_there;
} cd__file;

/* The files that a chain is set up with. */
typedef struct cd__chain_files {
    cd__file config;
    cd__file upgrades;
} cd__chain_files;

/* cd__file_read reads a whole file; a missing file is no error if may_miss. cd__file_read_max takes a limit of
 * bytes. */
bool cd__file_read_max(cd__file *out, cd_arena *mem, const char *path, bool may_miss, usize max);
bool cd__file_read(cd__file *out, cd_arena *mem, const char *path, bool may_miss);

/* cd__dev_options_load makes the options of a development network from the flags, and reads its state file. */
bool cd__dev_options_load(cd_dev_options *out, const cd_args *a, cd_arena *mem);

/* cd__config_load reads the configuration file that the flags name, if any, into a. Flags of the original nodes without
 * effect here may be among the keys; those that nobody knows are reported. */
bool cd__config_load(cd_args *a, cd_arena *mem);

/* cd__config_apply sets the values of one configuration file; misses is called for each key that is no flag. What is
 * wrong with the file is reported. */
typedef void cd__config_miss(void *ctx, const cd__file *f, cd_bytes key);
bool cd__config_apply(cd_args *a, cd_arena *mem, const cd__file *f, cd__config_miss *misses, void *ctx);

/* cd__config_unknown reports a key of a configuration file that nobody knows, and what may have been meant. */
void cd__config_unknown(cd_arena *mem, const cd__file *f, cd_bytes key);

/* cd__chain_files_load reads what chain-config-content has for one of the names of a chain, else the files below
 * chain-config-dir. */
bool cd__chain_files_load(cd__chain_files *out, const cd_args *a, cd_arena *mem, const char *const *names, usize cnt);

/* cd__chain_files_good checks a chain's files; what is wrong is reported, warnings only if with_warnings. */
bool cd__chain_files_good(const cd__chain_files *f, cd_arena *mem, bool with_warnings);

#endif
