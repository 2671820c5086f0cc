/* node/ipc.h - accepted containers as a stream for other processes of this machine: two sockets at paths for each chain
 * that is published.
 *
 *   executor ── accepted ─► queue ── a task ─► loop: the chain's newest frames ─┬─► reader of …-consensus
 *                                                                              └─► reader of …-decisions
 *
 * A frame is eight bytes of length, big-endian, and a container as consensus accepted it, with the wrapper of
 * proposers; both sockets give the same, since all chains are linear. A reader hears what is accepted from its
 * connection on, in order and whole: one that is CD_IPC_KEPT_MAX bytes or CD_IPC_FRAMES_MAX frames behind is cut off,
 * never told less, and it costs nobody else anything. One that says something is cut off, too. What is told is in the
 * store already. Threading: confined to the loop, but for what says otherwise. [spec:node-api#10] */
#ifndef CD_NODE_IPC_H
#define CD_NODE_IPC_H

#include "base/log/log.h"
#include "codec/ids.h"
#include "net/loop.h"

enum {
    CD_IPC_CHAINS_MAX = 16,     /* published at a time */
    CD_IPC_READERS_MAX = 16,    /* of one chain */
    CD_IPC_FRAMES_MAX = 1024,   /* kept for the readers of a chain */
    CD_IPC_KEPT_MAX = 4 << 20,  /* bytes of them, but for one that is alone */
    CD_IPC_QUEUE_MAX = 8 << 20, /* bytes on their way from executors to the loop */
    CD_IPC_PATH_MAX = 108,
};

typedef struct cd_ipc cd_ipc;

/* Where sockets are made. Borrowed as long as they. */
typedef struct cd_ipc_cfg {
    cd_loop *loop;
    const char *dir; /* of the sockets */
    u32 network_id;  /* the first part of their names */
    cd_logger *log;
} cd_ipc_cfg;

/* cd_ipc_new publishes nothing. cd_ipc_free closes all sockets: when no executor runs any more and the loop was
 * drained; NULL is allowed. */
cd_ipc *cd_ipc_new(const cd_ipc_cfg *cfg) __attribute__((returns_nonnull));
void cd_ipc_free(cd_ipc *ipc);

/* cd_ipc_publish opens the sockets of a chain, open or not; nothing when they are there. cd_ipc_unpublish
 * closes them. Errors: CD_ELIMIT, those of cd_listener_open_path. */
cd_err cd_ipc_publish(cd_ipc *ipc, const cd_hash32 *chain, cd_errinfo *why) CD_CHECK;
void cd_ipc_unpublish(cd_ipc *ipc, const cd_hash32 *chain);

/* The two paths of a chain, with NUL. */
typedef struct cd_ipc_paths {
    char consensus[CD_IPC_PATH_MAX];
    char decisions[CD_IPC_PATH_MAX];
} cd_ipc_paths;

/* cd_ipc_paths_of gives where a chain's sockets are or would be. Errors: CD_ELIMIT (longer than a socket's path is). */
cd_err cd_ipc_paths_of(const cd_ipc *ipc, cd_ipc_paths *out, const cd_hash32 *chain, cd_errinfo *why) CD_CHECK;

/* cd_ipc_list gives the chains that are published, and their number. */
usize cd_ipc_list(const cd_ipc *ipc, cd_hash32 out[CD_IPC_CHAINS_MAX]);

/* cd_ipc_accepted: a chain has accepted a container. Never waits for a reader. Any thread. */
void cd_ipc_accepted(cd_ipc *ipc, const cd_hash32 *chain, cd_bytes container);

#endif
