/* apps/cli/network/network_make.h - making a network, and waiting until it is ready. Threading: the main thread. */
#ifndef CD_APPS_CLI_NETWORK_MAKE_H
#define CD_APPS_CLI_NETWORK_MAKE_H

#include "network/network_state.h"

/* What a network is made of. */
typedef struct cd__net_wish {
    u64 nodes;
    u64 go;                 /* how many of them run the original's program */
    const char *program;    /* "": the one beside this program */
    const char *go_program; /* "": none */
    const char *profile;    /* "": as fits */
} cd__net_wish;

/* cd__net_make makes keys, genesis and network.json in dir, which need not exist; nothing runs yet. Errors: CD_EINVAL
 * with what is wrong with the wish, those of files. */
cd_err cd__net_make(cd__net *out, cd_arena *mem, const char *dir, const cd__net_wish *wish, cd_errinfo *why) CD_CHECK;

/* cd__net_await waits until the nodes that run know each other, their chains answer, and, when none is missing, all are
 * well; not at all when the network is parted. Errors: CD_ETIMEOUT. */
cd_err cd__net_await(const cd__net *n, cd_errinfo *why) CD_CHECK;

#endif
