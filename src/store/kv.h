/* store/kv.h - an ordered map from byte strings to byte strings: the one door to stored data.
 *
 * A cd_kv is a small vtable object. Engines (kv_mem.c, kv_rocksdb.c), frozen snapshots, prefix views
 * and overlay layers (store/overlay.h) all are one, so code that reads state does not know which it
 * reads. Writes happen only through batches: a batch is applied whole or not at all, in order (a later
 * record on a key wins). Keys order as unsigned bytes, a prefix before what it is a prefix of.
 *
 *   batch ──commit──► engine ◄── prefix view          snapshot = a read-only cd_kv, frozen
 *                        └────── overlay layers
 *
 * Not done here: caching of hot reads (tries and state keep their own), transactions with conflicts.
 * Threading: engines and prefix views are shared (any thread may get, iterate, snapshot and commit);
 * snapshots are frozen; a batch and an iterator are confined. [spec:architecture.md#6] */
#ifndef CD_STORE_KV_H
#define CD_STORE_KV_H

#include "base/mem/buf.h"

/* Bounds of one record; longer ones are a caller's bug (CD_ASSERT). */
#define CD_KV_MAX_KEY   1024u
#define CD_KV_MAX_VALUE (1u << 30)

typedef struct cd_kv cd_kv;
typedef struct cd_kv_iter cd_kv_iter;

/* --- batches --- */

/* Records to apply together. All zero is a valid, empty batch. The bytes are the LevelDB write-batch
 * record stream behind a 12-byte header, which the embedded engine takes without conversion. A batch for a part of a
 * store (cd_kv_prefix_open) holds whole keys: the prefix goes in front of each as the record is appended. */
enum { CD_KV_PREFIX_MAX = 11 };
typedef struct cd_kv_batch {
    cd_buf rec;
    u32 cnt;
    u8 prefix_n;
    u8 prefix[CD_KV_PREFIX_MAX];
} cd_kv_batch;

/* One record of a batch, its key with the prefix; is_del leaves value empty. Both are borrowed from the batch. */
typedef struct cd_kv_rec {
    cd_bytes key;
    cd_bytes value;
    bool is_del;
} cd_kv_rec;

/* cd_kv_batch_fini releases the memory; the batch is empty and usable again. */
void cd_kv_batch_fini(cd_kv_batch *b);

/* cd_kv_batch_clear empties, keeping the memory and what the batch is for. */
void cd_kv_batch_clear(cd_kv_batch *b);

/* cd_kv_batch_for empties b for records of kv, keeping the memory. A batch that is all zero is for a whole store, or a
 * layer. */
void cd_kv_batch_for(cd_kv_batch *b, const cd_kv *kv);

/* cd_kv_batch_put / _del append a record; the bytes are copied. */
void cd_kv_batch_put(cd_kv_batch *b, cd_bytes key, cd_bytes value);
void cd_kv_batch_del(cd_kv_batch *b, cd_bytes key);

/* cd_kv_batch_put2 appends a record whose key is prefix ‖ key, and returns the place for the value_n
 * bytes of its value, to be filled before the next call; the filler may touch 32 bytes behind them. */
u8 *cd_kv_batch_put2(cd_kv_batch *b, cd_bytes prefix, cd_bytes key, usize value_n);
void cd_kv_batch_del2(cd_kv_batch *b, cd_bytes prefix, cd_bytes key);

/* cd_kv_batch_widen makes a batch for a part one for the whole store, which others can be appended to. Its records
 * stay. */
void cd_kv_batch_widen(cd_kv_batch *b);

/* cd_kv_batch_narrow makes a batch for the whole store one that is committed through kv, a part of it: for who has that
 * alone. Its records stay as they are. */
void cd_kv_batch_narrow(cd_kv_batch *b, const cd_kv *kv);

/* cd_kv_batch_append appends all records of other, which is for the same kv, or for a part of it when b is for the
 * whole store. */
void cd_kv_batch_append(cd_kv_batch *b, const cd_kv_batch *other);

/* cd_kv_batch_next gives the record at *pos (start with 0) and moves *pos on; false at the end. */
bool cd_kv_batch_next(const cd_kv_batch *b, cd_kv_rec *out, usize *pos);

/* cd_kv_batch_del_prefix appends a delete for every key of kv that starts with prefix. */
cd_err cd_kv_batch_del_prefix(cd_kv_batch *b, cd_kv *kv, cd_bytes prefix) CD_CHECK;

/* --- reading and writing --- */

/* cd_kv_get replaces the contents of out by the value of key.
 * Errors: CD_ENOENT (out untouched), CD_EIO or CD_ECORRUPT from the engine. */
cd_err cd_kv_get(cd_kv *kv, cd_buf *out, cd_bytes key) CD_CHECK;

/* cd_kv_get_many is cd_kv_get for cnt keys, out[i] and err[i] for keys[i]; sorted keys are best. */
void cd_kv_get_many(cd_kv *kv, cd_buf *out, cd_err *err, const cd_bytes *keys, usize cnt);

/* cd_kv_has tells whether key is present. */
cd_err cd_kv_has(cd_kv *kv, bool *found, cd_bytes key) CD_CHECK;

/* How durable a commit is when it returns. */
typedef enum cd_kv_sync {
    CD_KV_NOSYNC, /* atomic and ordered; a crash of the machine may lose the newest, a crash of the process does not */
    CD_KV_SYNC,   /* on disk: a crash of the machine loses nothing */
} cd_kv_sync;

/* cd_kv_commit applies b, which is for kv, atomically; b is unchanged. The batch of a part goes to the store as it is:
 * whoever wants several parts to change together appends their batches to one for the store and commits that.
 * Errors: CD_EACCES on a read-only view, CD_ENOSPC, CD_EIO; then nothing was applied. */
cd_err cd_kv_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why) CD_CHECK;

/* cd_kv_put / cd_kv_del commit one record without sync. */
cd_err cd_kv_put(cd_kv *kv, cd_bytes key, cd_bytes value) CD_CHECK;
cd_err cd_kv_del(cd_kv *kv, cd_bytes key) CD_CHECK;

/* --- iteration --- */

/* The keys that start with prefix, upwards from start (a whole key, prefix included; empty = the first one), or
 * downwards when reverse. */
typedef struct cd_kv_range {
    cd_bytes prefix;
    cd_bytes start;
    bool reverse;
} cd_kv_range;

/* cd_kv_iter_new opens an iterator over the state of this moment, standing before the first key.
 * Free it before closing the kv. */
cd_err cd_kv_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range) CD_CHECK;
void cd_kv_iter_free(cd_kv_iter *it); /* NULL is allowed */

/* cd_kv_iter_next steps to the next key; false at the end or on an error (cd_kv_iter_err tells). */
bool cd_kv_iter_next(cd_kv_iter *it);

/* cd_kv_iter_key / _value are borrowed until the next step. */
cd_bytes cd_kv_iter_key(const cd_kv_iter *it);
cd_bytes cd_kv_iter_value(const cd_kv_iter *it);
cd_err cd_kv_iter_err(const cd_kv_iter *it) CD_CHECK;

/* --- views, copies, figures --- */

/* cd_kv_snapshot freezes the state of this moment as a read-only cd_kv; close it before kv. */
cd_err cd_kv_snapshot(cd_kv **out, cd_kv *kv) CD_CHECK;

/* cd_kv_in_memory gives a read-only view of kv, a snapshot, for a thread that may not wait: a get that would have to
 * read from the disk gives CD_EAGAIN. It has no iterators. Close it before kv. Errors: CD_EUNSUPPORTED. */
cd_err cd_kv_in_memory(cd_kv **out, cd_kv *kv) CD_CHECK;

/* cd_kv_checkpoint writes a durable copy that opens like the original, into dir, which must not exist.
 * Errors: CD_EEXIST, CD_ENOSPC, CD_EIO, CD_EUNSUPPORTED for engines without files. */
cd_err cd_kv_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why) CD_CHECK;

/* A commit that takes so long is told of. */
enum { CD_KV_SLOW_MS = 500 };

/* The size of a store. */
typedef struct cd_kv_stats {
    u64 keys;       /* estimate */
    u64 disk_bytes; /* 0 for memory engines */
    u64 mem_bytes;
    u64 commits;   /* since it was opened; 0 for memory engines, as the next two are */
    u64 commit_ns; /* all of them together */
    u64 slow;      /* that took CD_KV_SLOW_MS or longer */
} cd_kv_stats;

/* cd_kv_stats_get fills *out with the engine's own estimates. */
cd_err cd_kv_stats_get(cd_kv *kv, cd_kv_stats *out) CD_CHECK;

/* cd_kv_close releases kv; all its iterators, snapshots and views are closed before. NULL is allowed. */
void cd_kv_close(cd_kv *kv);

/* --- engines and layers --- */

/* cd_kv_mem_open gives an empty map in memory. */
cd_kv *cd_kv_mem_open(void) __attribute__((returns_nonnull));

/* The directory that is opened, and how. */
typedef struct cd_kv_cfg {
    const char *dir;   /* made when missing; its parent must exist */
    usize cache_bytes; /* memory for blocks of files, and again as much for data not yet in files; 0 = 64 MiB each */
    u32 layout;        /* version of the caller's keys and values; a directory with another one is refused */
    bool read_only;    /* the directory must exist and is not changed */
    bool accept_loss;  /* go on although acknowledged commits are gone (CD_ELOST without it) */
    /* Called once, on the thread that commits, when a write to the disk has failed: from then on every commit fails,
     * reads go on, and only another process can open the directory again. NULL = nobody is told. */
    void (*failed)(void *ctx, const cd_errinfo *why);
    /* Called on the thread that commits, behind one that took CD_KV_SLOW_MS or longer. NULL = nobody is told. */
    void (*slow)(void *ctx, u64 ms);
    void *ctx; /* of the two */
} cd_kv_cfg;

/* cd_kv_rocksdb_open opens or makes the directory of the embedded engine.
 * Errors: CD_EFOREIGN when the directory holds something else, CD_EVERSION when its format or layout
 * differs, CD_EBUSY when another process has it, CD_ELOST when
 * commits that it acknowledged are not there any more (nothing was changed; not looked for when read_only), CD_ENOSPC,
 * CD_EACCES, CD_ECORRUPT, CD_EIO; the message says what to do. */
cd_err cd_kv_rocksdb_open(cd_kv **out, const cd_kv_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_kv_prefix_open gives the part of kv under prefix (CD_KV_PREFIX_MAX bytes at most, those of kv included) as a cd_kv
 * of its own: keys go in and come out without the prefix. It writes nothing by itself (cd_kv_commit). Closing it leaves
 * kv open. Its checkpoint is CD_EUNSUPPORTED. */
cd_kv *cd_kv_prefix_open(cd_kv *kv, cd_bytes prefix) __attribute__((returns_nonnull));

/* --- for those who implement one --- */

/* What an engine implements; kv.h's functions of the same names call it and say what holds. */
typedef struct cd_kv_ops {
    void (*close)(cd_kv *kv);
    cd_err (*get)(cd_kv *kv, cd_buf *out, cd_bytes key);
    /* May be NULL: then get is called for each key. */
    void (*get_many)(cd_kv *kv, cd_buf *out, cd_err *err, const cd_bytes *keys, usize cnt);
    cd_err (*has)(cd_kv *kv, bool *found, cd_bytes key);
    cd_err (*commit)(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why);
    cd_err (*iter_new)(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range);
    cd_err (*snapshot)(cd_kv **out, cd_kv *kv);
    cd_err (*in_memory)(cd_kv **out, cd_kv *kv); /* may be NULL: not supported */
    cd_err (*checkpoint)(cd_kv *kv, const char *dir, cd_errinfo *why);
    cd_err (*stats)(cd_kv *kv, cd_kv_stats *out);
    cd_bytes (*prefix)(const cd_kv *kv); /* the prefix that its keys have in the engine; NULL: none */
} cd_kv_ops;

/* What an engine's iterators implement. */
typedef struct cd_kv_iter_ops {
    void (*free)(cd_kv_iter *it);
    bool (*next)(cd_kv_iter *it); /* sets key and value, or err at an error */
} cd_kv_iter_ops;

/* First member of an implementation's object. */
struct cd_kv {
    const cd_kv_ops *ops;
};

/* First member of an iterator's object. */
struct cd_kv_iter {
    const cd_kv_iter_ops *ops;
    cd_bytes key;
    cd_bytes value;
    cd_err err;
};

#endif
