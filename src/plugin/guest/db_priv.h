/* plugin/guest/db_priv.h - the node's database (rpcdb) as a kv, and the calls that any kv of a guest needs.
 *
 *   open ◄── everything, by an iterator ── node            commit ──► WriteBatch ──► node, then ──► memory
 *   get, iterate, snapshot ◄── memory
 *
 * The protocol's database has neither snapshots nor an order downwards, and each read is a round trip: so its contents
 * are read once and kept in memory. A chain that is larger than that allows has a store of its own
 * (use-standalone-database). Threading: as kv.h; calls wait for the node, so not on the loop. [spec:plugin#5] */
#ifndef CD_PLUGIN_GUEST_DB_PRIV_H
#define CD_PLUGIN_GUEST_DB_PRIV_H

#include "grpc/client.h"
#include "plugin/guest/shared_priv.h"
#include "store/kv.h"

/* cd__guest_db_open reads the database of client. max: most bytes of keys and values. Errors: CD_ELIMIT, CD_EFOREIGN
 * for a chain that has a store of its own, CD_ECLOSED and others of the call. */
cd_err cd__guest_db_open(cd_kv **out, cd_grpc_client *client, cd__guest_shared *shared, usize max,
                         cd_errinfo *why) CD_CHECK;

/* cd__guest_own_open opens a store of the guest's own in dir, whose commits take changes of shared memory along.
 * Changes that a crash kept from the node are told to it now. Errors: CD_EFOREIGN for a chain that is in the node's
 * database, those of cd_kv_rocksdb_open and of calls. */
cd_err cd__guest_own_open(cd_kv **out, cd_grpc_client *db, cd__guest_shared *shared, const char *dir, usize cache_bytes,
                          cd_errinfo *why) CD_CHECK;

#endif
