/* node/backup.h - copies of a node's data, made while it runs, and taken back at the next start.
 *
 *   create "monday"  ──► DIR/backups/monday.part ─ rename ─► DIR/backups/monday/{db, genesis-…, backup.json}
 *   restore "monday" ──► DIR/RESTORE ··· next start ··· DIR/db.restored ─ rename ─► DIR/db, the one before is removed
 *
 * A backup is a checkpoint of the store, which shares files that do not change with it, and the genesis files; what is
 * made from blocks again (indices of the explorer) is not part of it. Its name is one plain word, so that whoever
 * reaches the port writes nowhere else. A crash at any moment leaves the data as it was before or as it is after.
 * Threading: shared. [spec:node-api#9] [spec:decisions#D39] */
#ifndef CD_NODE_BACKUP_H
#define CD_NODE_BACKUP_H

#include "base/os/clock.h"
#include "store/kv.h"

/* What is known of a backup. */
typedef struct cd_backup_info {
    u64 version; /* counts the backups of a directory, from 1 on; 0: there is none */
    u64 time_s;  /* Unix seconds */
    u64 bytes;
} cd_backup_info;

/* cd_backup_create copies kv, whose node has the directory dir. Errors, each with its words: CD_EINVAL (a name that is
 * no plain word), CD_EEXIST, CD_EUNSUPPORTED (a store in memory), those of files. */
cd_err cd_backup_create(cd_backup_info *out, cd_kv *kv, const char *dir, cd_bytes name, const cd_clock *clock,
                        cd_errinfo *why) CD_CHECK;

/* cd_backup_last tells of the latest backup. Errors: those of reading. */
cd_err cd_backup_last(cd_backup_info *out, const char *dir, cd_errinfo *why) CD_CHECK;

/* cd_backup_restore notes that the next start takes a backup back, cd_backup_waiting gives its name ("": none waits).
 * Errors: CD_EINVAL, CD_ENOENT. */
cd_err cd_backup_restore(const char *dir, cd_bytes name, cd_errinfo *why) CD_CHECK;
cd_err cd_backup_waiting(cd_buf *name, const char *dir, cd_errinfo *why) CD_CHECK;

/* cd_backup_apply takes back what waits, before the store is opened; name is empty where nothing did. Errors: those of
 * files; the data is as it was then. */
cd_err cd_backup_apply(cd_buf *name, const char *dir, cd_errinfo *why) CD_CHECK;

#endif
