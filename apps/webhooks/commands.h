/* candela-webhooks - its commands. Each gets argv from its own name on, and gives the exit code: 0 done, 1 failed,
 * 2 wrong usage. */
#ifndef CD_APPS_WEBHOOKS_COMMANDS_H
#define CD_APPS_WEBHOOKS_COMMANDS_H

#include "base/args/args.h"
#include "services/webhook/webhook.h"

int cd_cmd_serve(int argc, char **argv);
int cd_cmd_keys(int argc, char **argv);
int cd_cmd_projects(int argc, char **argv);
int cd_cmd_verify(int argc, char **argv);
int cd_cmd_audit(int argc, char **argv);
int cd_cmd_cursor(int argc, char **argv);

/* Where a command finds the store. */
#define CD_STORE_OPTIONS(X)                                                                                            \
    X(OPT_DATA_DIR, .name = "data-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/webhooks", .meta = "DIR",         \
      .group = "Store", .help = "where the database and the master key lie")                                           \
    X(OPT_DB, .name = "db", .type = CD_ARG_STR, .meta = "URL",                                                         \
      .help = "sqlite:PATH or postgresql://…; a file in the data directory when not given")                            \
    X(OPT_MASTER_KEY, .name = "master-key-file", .type = CD_ARG_PATH, .meta = "FILE",                                  \
      .help = "seals secrets; made when it is missing, in the data directory unless given")

/* Which chains. */
#define CD_CHAIN_OPTIONS(X)                                                                                            \
    X(OPT_CHAIN, .name = "chain", .type = CD_ARG_LIST, .meta = "NAME[:COIN]=URL", .group = "Chains",                   \
      .help = "a node to follow: wss:// or ws://; https:// or http:// to ask")                                         \
    X(OPT_CHAIN_HTTP, .name = "chain-http", .type = CD_ARG_LIST, .meta = "NAME=URL",                                   \
      .help = "its JSON-RPC, where that is not wss:// as https:// with /rpc for /ws")

/* cd_chain_read reads one value of OPT_CHAIN; http_id is OPT_CHAIN_HTTP. */
cd_err cd_chain_read(cd_webhook_chain *out, cd_arena *mem, const cd_args *args, const char *text, usize http_id,
                     cd_errinfo *why) CD_CHECK;

/* cd_store_cfg fills in url, key (32 bytes at master_key) and clock; OPT_DATA_DIR is id and the others follow it.
 * What is not there is made, or with must_exist it is CD_ENOENT. */
cd_err cd_store_cfg(cd_wh_store_cfg *out, u8 master_key[32], cd_arena *mem, const cd_args *args, usize id,
                    bool must_exist, cd_errinfo *why) CD_CHECK;

/* cd_cmd_args reads a command's flags; on help or a mistake it says so, and *code is what to return. NULL then. */
typedef struct cd_cmd_info {
    const char *program, *purpose, *usage, *example;
    const cd_arg_def *options;
    usize options_cnt;
    u32 words_max;
} cd_cmd_info;
cd_args *cd_cmd_args(const cd_cmd_info *info, int *code, int argc, char **argv);

/* cd_cmd_fail prints why and gives code. */
int cd_cmd_fail(const char *program, const cd_errinfo *why, int code);

#endif
