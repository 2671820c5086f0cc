/* plugin/host/db.h - the database of one plugin: its chain's part of our store, over rpcdb, and shared memory.
 *
 *   plugin ── Put, WriteBatch, Apply ──► store                              most of the time
 *          ──────────────────────────► layer ── take ──► accept's batch     from hold to landed, for a block
 *
 * What a plugin writes while it accepts a block goes to the store with everything else that belongs to that block, in
 * one batch, or not at all: hold collects it in a layer that the plugin reads through, take gives it to the batch,
 * landed says that the batch is in the store. What the plugin writes between take and landed follows in its order. When
 * the batch was not written, the plugin knows of writes that never were: abandon forgets them, and the plugin must end.
 *
 * Bounded: iterators, bytes that are held. Threading: shared. [spec:plugin#5] */
#ifndef CD_PLUGIN_HOST_DB_H
#define CD_PLUGIN_HOST_DB_H

#include "plugin/host/service.h"
#include "store/kv.h"
#include "vm/shared.h"

/* Bounds: bytes of a key, open iterators, bytes that are held for one block, bytes in one answer of an iterator. */
enum {
    CD_PLUGIN_DB_KEY_MAX = 1000,
    CD_PLUGIN_DB_ITERS_MAX = 256,
    CD_PLUGIN_DB_HELD_MAX = 256 << 20,
    CD_PLUGIN_DB_ITER_BYTES = 128 << 10,
};

typedef struct cd_plugin_db cd_plugin_db;

/* cd_plugin_db_new makes a database on kv, the chain's part of a store. shared NULL: the chain shares with nobody;
 * store NULL: it changes shared memory with its blocks only. All are borrowed. cd_plugin_db_free: when no call runs any
 * more; NULL is allowed. */
cd_plugin_db *cd_plugin_db_new(cd_kv *kv, cd_kv *store, const cd_vm_shared *shared);
void cd_plugin_db_free(cd_plugin_db *db);

/* cd_plugin_db_methods gives the rows of rpcdb.Database, cd_plugin_shared_methods those of sharedmemory.SharedMemory;
 * the context of both is db. */
const cd_plugin_method *cd_plugin_db_methods(usize *cnt);
const cd_plugin_method *cd_plugin_shared_methods(usize *cnt);

/* cd_plugin_db_hold begins to collect writes, cd_plugin_db_take appends them to batch, which is for the chain's part of
 * the store. Errors of take: those of shared memory's apply. */
void cd_plugin_db_hold(cd_plugin_db *db);
cd_err cd_plugin_db_take(cd_plugin_db *db, cd_kv_batch *batch, cd_errinfo *why) CD_CHECK;

/* cd_plugin_db_landed: what was taken is in the store. Errors: the store's, for writes that came behind take.
 * cd_plugin_db_abandon forgets all that is held, and answers everything from now on with "closed". */
cd_err cd_plugin_db_landed(cd_plugin_db *db, cd_errinfo *why) CD_CHECK;
void cd_plugin_db_abandon(cd_plugin_db *db);

/* cd_plugin_db_is_holding: hold was called, and neither landed nor abandon since. */
bool cd_plugin_db_is_holding(cd_plugin_db *db);

/* cd_plugin_db_apply writes batch (for kv, emptied) together with what changes between the chain and its peers. The
 * service of shared memory calls it. Errors: CD_EUNSUPPORTED, those of apply and the store. */
cd_err cd_plugin_db_apply(cd_plugin_db *db, cd_kv_batch *batch, const cd_vm_shared_change *changes, usize cnt,
                          cd_errinfo *why) CD_CHECK;

/* cd_plugin_db_shared gives the chain's shared memory, NULL: there is none. */
const cd_vm_shared *cd_plugin_db_shared(const cd_plugin_db *db);

/* cd_plugin_db_check_key refuses a key that is too long. Errors: CD_ELIMIT. */
cd_err cd_plugin_db_check_key(cd_bytes key, cd_errinfo *why) CD_CHECK;

#endif
