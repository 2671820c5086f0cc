/* services/common/peers.h - the other processes that work on a shared database: what they change, and that this one
 * lives.
 *
 *   transaction of one ─ @tell(channel, "key name") ─ after the commit ─► server ─► the others' threads ─► heard(key)
 *
 * A process lives as long as the connection of its thread: the name it goes by is taken there, and when the process
 * dies the server lets go of it at once, which others see by @orphan(name) of services/common/sql.h. Who changes a row
 * says so in his transaction: @tell with the row's number, a blank and his own name, so that he does not hear himself.
 * What is heard is for caches: some of it is missed while the server is away, and missed says so. At most
 * CD_PEERS_HEARD_MAX keys wait for the loop; with more, all are dropped and missed is called. Threading: confined to
 * the loop; listens on a thread of its own. */
#ifndef CD_SERVICES_COMMON_PEERS_H
#define CD_SERVICES_COMMON_PEERS_H

#include "net/loop.h"
#include "services/common/sql.h"

enum { CD_PEERS_HEARD_MAX = 65536, CD_PEERS_NAME_MAX = 64 /* with NUL */ };

typedef struct cd_peers cd_peers;

/* What the processes that share a database tell each other. */
typedef struct cd_peers_events {
    void (*heard)(void *ctx, i64 key); /* another process has changed this row */
    void (*missed)(void *ctx);         /* changes were missed: any row may have changed */
} cd_peers_events;

/* Borrowed for the call, but for channel, which is static. */
typedef struct cd_peers_cfg {
    const char *url;
    const char *channel;
    const char *name; /* of this process, unique among those of the database; at most CD_PEERS_NAME_MAX - 1 bytes */
} cd_peers_cfg;

/* cd_peers_new takes the name and begins to listen; *out is NULL where the database is not a shared one. Errors:
 * CD_EBUSY when another process goes by this name, CD_EINVAL (the name's length), and as cd_sql_open. cd_peers_free
 * ends it; NULL is allowed. */
cd_err cd_peers_new(cd_peers **out, cd_loop *loop, const cd_peers_cfg *cfg, const cd_peers_events *events, void *ctx,
                    cd_errinfo *why) CD_CHECK;
void cd_peers_free(cd_peers *p);

#endif
