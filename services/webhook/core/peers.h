/* services/webhook/core/peers.h - the other workers of a shared database: what they do to webhooks, and that this one lives.
 *
 *   cd_wh_hook_save, _pause, _resume, _delete ─ after the commit ─► server ─► thread of every other worker ─► heard(hook)
 *
 * A worker lives as long as the connection of its thread: the name it goes by is taken there, and when the process dies the
 * server lets go of it at once. cd_wh_workers_bury finds names that nobody has any more.
 * What is heard is for caches that cannot ask; the matcher does not depend on it (core/intake.h).
 * Threading: confined to the loop; listens on a thread of its own. */
#ifndef CD_WEBHOOK_CORE_PEERS_H
#define CD_WEBHOOK_CORE_PEERS_H

#include "net/loop.h"
#include "services/webhook/core/store.h"

typedef struct cd_wh_peers cd_wh_peers;

typedef struct cd_wh_peers_events {
    void (*heard)(void *ctx, i64 hook); /* another worker has changed it */
    void (*missed)(void *ctx); /* it was not connected for a while: anything may have changed */
} cd_wh_peers_events;

/* cd_wh_peers_new takes the worker's name and begins to listen, before the store is opened; *out is NULL where the
 * database is not a shared one. Errors: CD_EBUSY when another process goes by this name, and as cd_sql_open.
 * cd_wh_peers_free ends it; NULL is allowed. */
cd_err cd_wh_peers_new(cd_wh_peers **out, cd_loop *loop, const cd_wh_store_cfg *cfg,
                       const cd_wh_peers_events *events, void *ctx, cd_errinfo *why) CD_CHECK;
void cd_wh_peers_free(cd_wh_peers *p);

#endif
