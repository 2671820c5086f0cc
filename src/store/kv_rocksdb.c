/* The embedded engine: RocksDB behind its C interface. The only file that knows it.
 *
 * A marker file beside the engine's own says what the directory is; it is written before the engine
 * makes its files, so a directory with files but without a marker is somebody else's. */
#include "store/kv.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "base/thread/thread.h"
#include "store/kv_mark_priv.h"
#include "store/kv_priv.h"

#include <rocksdb/c.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char marker_name[] = "CANDELA-KV";
static const char marker_started[] = "CANDELA-KV.new"; /* the marker while it is written; a crash may leave it */
static const char marker_head[] = "candela kv 1 rocksdb\nlayout ";

enum {
    PATH_MAX_LEN = 4000,
    MARKER_MAX = 256,
    BLOOM_BITS = 10,
    DEFAULT_CACHE = 64 << 20,
    BUFFER_MAX = 32 << 20,
    MAX_OPEN_FILES = 512,
    OPEN_TRIES = 8,
    INFO_LOG_HEADER = 5,
    MEMORY_ONLY = 1, /* kBlockCacheTier */
};

typedef struct rocks_kv {
    cd_kv kv;
    rocksdb_t *db;
    const rocksdb_snapshot_t *snap; /* what a frozen view reads; the view borrows db */
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write;
    rocksdb_writeoptions_t *write_sync;
    rocksdb_cache_t *cache;
    u32 layout;
    cd_mutex lock; /* protects mark and the commits between two notes; not used in snapshots */
    cd__kv_mark mark;
    bool has_mark;
    atomic_int failure; /* cd_err of the first write that failed */
    _Atomic u64 commits, commit_ns, slow_cnt;
    void (*failed)(void *ctx, const cd_errinfo *why);
    void (*slow)(void *ctx, u64 ms);
    void *ctx; /* of the two */
} rocks_kv;

/* The engine knows the bounds of the range, so that it does not search through deleted keys outside of it. */
typedef struct rocks_iter {
    cd_kv_iter it;
    rocksdb_iterator_t *ri;
    rocksdb_readoptions_t *read;
    bool started;
    bool reverse;
    usize prefix_n;
    u8 bounds[]; /* the prefix, then the first key after the range; ri borrows both */
} rocks_iter;

static void rocks_close(cd_kv *kv);
static cd_err note_failure(rocks_kv *r, char *msg, cd_errinfo *why);
static const cd_kv_ops ops;
static const cd_kv_ops snapshot_ops;
static const cd_kv_ops memory_ops;

/* --- errors --- */

/* Translates and frees the engine's message; CD_OK when there is none. */
static cd_err rocks_err(char *msg, cd_errinfo *why)
{
    if (msg == NULL) {
        return CD_OK;
    }
    cd_err err = CD_EIO;
    if (strstr(msg, "No space left") != NULL) {
        err = CD_ENOSPC;
    } else if (strncmp(msg, "Result incomplete", 17) == 0) {
        err = CD_EAGAIN; /* the key is not in memory, and reading from the disk was not allowed */
    } else if (strncmp(msg, "Corruption", 10) == 0) {
        err = CD_ECORRUPT;
    } else if (strstr(msg, "Permission denied") != NULL || strstr(msg, "Read-only file system") != NULL ||
               strstr(msg, "in read only mode") != NULL) {
        err = CD_EACCES;
    } else if (strstr(msg, "/LOCK") != NULL &&
               (strstr(msg, "temporarily unavailable") != NULL || strstr(msg, "lock hold by") != NULL)) {
        err = CD_EBUSY;
    }
    err = cd_fail(why, err, "%s", msg);
    rocksdb_free(msg);
    return err;
}

/* --- the marker --- */

static cd_err path_of(char out[PATH_MAX_LEN + 32], const char *dir, const char *name, cd_errinfo *why)
{
    int n = snprintf(out, PATH_MAX_LEN + 32, "%s/%s", dir, name);
    return n > PATH_MAX_LEN ? cd_fail(why, CD_EINVAL, "path is too long") : CD_OK;
}

static cd_err marker_write(const char *dir, u32 layout, cd_errinfo *why)
{
    char path[PATH_MAX_LEN + 32];
    char text[MARKER_MAX];
    CD_TRY(path_of(path, dir, marker_name, why));
    int n = snprintf(text, sizeof text, "%s%u\n", marker_head, layout);
    return cd_fs_replace_file(cd_fs_real(), path, cd_bytes_of(text, (usize)n), 0644, why);
}

/* Compares the marker with what this program writes. Errors: CD_ENOENT when there is none. */
static cd_err marker_check(const char *dir, u32 layout, cd_errinfo *why)
{
    char path[PATH_MAX_LEN + 32];
    CD_TRY(path_of(path, dir, marker_name, why));
    cd_buf text = {0};
    cd_err err = cd_fs_read_file(cd_fs_real(), &text, path, MARKER_MAX, why);
    if (err != CD_OK) {
        goto out;
    }
    usize head_n = sizeof marker_head - 1;
    u64 found;
    if (text.n <= head_n || memcmp(text.p, marker_head, head_n) != 0 || text.p[text.n - 1] != '\n' ||
        cd_u64_parse(&found, cd_bytes_of(text.p + head_n, text.n - head_n - 1)) != CD_OK) {
        err = cd_fail(why, CD_EVERSION,
                      "%s has a format this program does not know; use the program that wrote it, "
                      "or another --data-dir",
                      dir);
    } else if (found != layout) {
        err = cd_fail(why, CD_EVERSION, "%s has layout %llu, this program %u: use %s, or another --data-dir", dir,
                      (unsigned long long)found, layout,
                      found > layout ? "a newer program" : "the older program that wrote it");
    }
out:
    cd_buf_fini(&text);
    return err;
}

/* What the names of the files in a directory without a marker say about its owner. */
typedef struct census {
    const char *dir;
    usize files;
    bool current;
    bool options;
    bool ldb;
    bool sst;
    bool badger;
    bool pebble;
} census;

static bool ends_with(const char *s, const char *end)
{
    usize n = strlen(s);
    usize m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static cd_err look(void *ctx, const char *path, cd_fs_kind kind)
{
    census *c = ctx;
    if (strcmp(path, c->dir) == 0) {
        return CD_OK;
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    (void)kind;
    if (strcmp(name, marker_started) == 0) {
        return CD_OK;
    }
    c->files++;
    c->current |= strcmp(name, "CURRENT") == 0;
    c->options |= strncmp(name, "OPTIONS-", 8) == 0;
    c->ldb |= ends_with(name, ".ldb");
    c->sst |= ends_with(name, ".sst");
    c->badger |= strcmp(name, "KEYREGISTRY") == 0 || strcmp(name, "DISCARD") == 0 || ends_with(name, ".vlog");
    c->pebble |= strncmp(name, "marker.", 7) == 0;
    return c->files < 10000 ? CD_OK : CD_ELIMIT;
}

/* Refuses a directory that is not empty. */
static cd_err expect_empty(const char *dir, cd_errinfo *why)
{
    census c = {.dir = dir};
    cd_err err = cd_fs_walk(cd_fs_real(), dir, look, &c, why);
    if (err != CD_OK && err != CD_ELIMIT) {
        return err;
    }
    if (c.files == 0) {
        return CD_OK;
    }
    const char *owner = c.badger                 ? "a Badger database"
                        : c.pebble               ? "a Pebble database"
                        : c.ldb                  ? "a LevelDB database"
                        : c.current && c.options ? "another program's RocksDB database"
                        : c.current || c.sst     ? "another program's LevelDB-like database"
                                                 : "files of something else";
    return cd_fail(why, CD_EFOREIGN,
                   "%s holds %s, whose format is not Candela's: choose another --data-dir (nothing "
                   "was changed)",
                   dir, owner);
}

/* Makes the directory ours, or finds that it is ours already. */
static cd_err claim(const cd_kv_cfg *cfg, cd_errinfo *why)
{
    cd_errinfo ignored;
    cd_err err = marker_check(cfg->dir, cfg->layout, &ignored);
    if (err != CD_ENOENT) {
        return err == CD_OK ? CD_OK : cd_fail(why, err, "%s", ignored.msg);
    }
    if (cfg->read_only) {
        return cd_fail(why, CD_ENOENT, "%s holds no store", cfg->dir);
    }
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), cfg->dir, 0755, why));
    CD_TRY(expect_empty(cfg->dir, why));
    return marker_write(cfg->dir, cfg->layout, why);
}

/* --- opening --- */

/* How the memory is divided; data not yet in files is kept in two buffers at most. */
typedef struct shares {
    usize cache;
    usize buffer;
} shares;

static shares shares_of(usize memory)
{
    usize buffer = memory == 0 ? BUFFER_MAX : (usize)cd_min_u64(BUFFER_MAX, memory / 8);
    return (shares){
        .buffer = buffer,
        .cache = memory == 0 ? DEFAULT_CACHE : memory - 2 * buffer,
    };
}

static rocksdb_options_t *options_new(rocksdb_cache_t *cache, usize buffer, int compression)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_compression(o, compression);
    rocksdb_options_set_max_open_files(o, MAX_OPEN_FILES);
    rocksdb_options_set_write_buffer_size(o, buffer);
    rocksdb_options_set_max_background_jobs(o, 2);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    rocksdb_options_set_bytes_per_sync(o, 1 << 20);
    rocksdb_options_set_keep_log_file_num(o, 2);
    /* The engine's diary ends with the start: the engine would abort when it writes there after a write there has
     * failed. */
    rocksdb_options_set_info_log_level(o, INFO_LOG_HEADER);
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_options_set_block_based_table_factory(o, table);
    rocksdb_block_based_options_destroy(table);
    /* Within each table, which the first byte tells, the keys of a batch ascend: the engine looks for the place of a
     * key from that of the key before. An engine that does not know this setting goes without it. */
    rocksdb_options_t *hinted = rocksdb_options_create();
    char *msg = NULL;
    rocksdb_get_options_from_string(o, "memtable_insert_with_hint_prefix_extractor=rocksdb.FixedPrefix.1", hinted,
                                    &msg);
    rocksdb_options_destroy(msg == NULL ? o : hinted);
    if (msg != NULL) {
        rocksdb_free(msg);
        return o;
    }
    return hinted;
}

static rocksdb_t *open_db(const cd_kv_cfg *cfg, rocksdb_cache_t *cache, int compression, char **msg)
{
    rocksdb_t *db = NULL;
    rocksdb_options_t *o = options_new(cache, shares_of(cfg->cache_bytes).buffer, compression);
    /* A call that is interrupted is repeated by the engine for open files, but not while it opens its own: so it is
     * here. */
    for (u32 tries = 0; db == NULL && tries < OPEN_TRIES; tries++) {
        if (*msg != NULL && strstr(*msg, "Interrupted system call") == NULL) {
            break;
        }
        rocksdb_free(*msg);
        *msg = NULL;
        db = cfg->read_only ? rocksdb_open_for_read_only(o, cfg->dir, 0, msg) : rocksdb_open(o, cfg->dir, msg);
    }
    rocksdb_options_destroy(o);
    return db;
}

/* --- what must be there --- */

static cd_err look_for_log(void *ctx, const char *path, cd_fs_kind kind)
{
    cd_fs_stat st;
    bool *has_log = ctx;
    if (kind == CD_FS_FILE && ends_with(path, ".log") && cd_fs_stat_get(cd_fs_real(), &st, path, NULL) == CD_OK) {
        *has_log = *has_log || st.size != 0;
    }
    return CD_OK;
}

/* Refuses a store that has fewer records than it acknowledged. The directory comes last, as messages are cut. */
static cd_err expect_number(u64 number, u64 least, const char *dir, cd_errinfo *why)
{
    return number >= least
               ? CD_OK
               : cd_fail(why, CD_ELOST,
                         "%llu records were acknowledged, %llu are left: files were damaged or replaced. Nothing was "
                         "changed; put back a copy, or go on without them: start once with --accept-data-loss: %s",
                         (unsigned long long)least, (unsigned long long)number, dir);
}

/* Opening for writing would throw away what lies behind the damage: a directory that was not closed in order is read
 * before. When that reading fails nothing is concluded: the opening will tell why. */
static cd_err look_before(const cd_kv_cfg *cfg, u64 least, cd_errinfo *why)
{
    bool has_log = false;
    char *msg = NULL;
    cd_err e = cd_fs_list(cd_fs_real(), cfg->dir, look_for_log, &has_log, why);
    if (e != CD_OK || !has_log || least == 0) {
        return e;
    }
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(1 << 20);
    rocksdb_options_t *o = options_new(cache, shares_of(cfg->cache_bytes).buffer, rocksdb_lz4_compression);
    rocksdb_options_set_create_if_missing(o, 0);
    rocksdb_t *db = rocksdb_open_for_read_only(o, cfg->dir, 0, &msg);
    if (msg == NULL) {
        e = expect_number(rocksdb_get_latest_sequence_number(db), least, cfg->dir, why);
        rocksdb_close(db);
    }
    rocksdb_free(msg);
    rocksdb_options_destroy(o);
    rocksdb_cache_destroy(cache);
    return e;
}

/* Opens the mark and asks whether the store may be opened; *least is the number that it must have reached. */
static cd_err mark_open(cd__kv_mark *m, u64 *least, const cd_kv_cfg *cfg, cd_errinfo *why)
{
    cd_errinfo bad = {0};
    cd_err e = cd__kv_mark_open(m, least, cfg->dir, &bad);
    if (e == CD_ECORRUPT && !cfg->accept_loss) {
        e = cd_fail(why, CD_ELOST,
                    "%s: nobody knows whether everything acknowledged is left. Nothing was changed; put back a copy, "
                    "or start once with --accept-data-loss: %s",
                    bad.msg, cfg->dir);
        cd__kv_mark_close(m, false);
        return e;
    }
    if (e != CD_OK && e != CD_ECORRUPT) {
        return cd_fail(why, e, "%s", bad.msg);
    }
    e = cfg->accept_loss ? CD_OK : look_before(cfg, *least, why);
    if (e != CD_OK) {
        cd__kv_mark_close(m, false);
    }
    return e;
}

/* Asks once more, about the store as it is open now, and lets the mark start from there. */
static cd_err mark_confirm(rocks_kv *r, u64 least, const cd_kv_cfg *cfg, cd_errinfo *why)
{
    u64 number = rocksdb_get_latest_sequence_number(r->db);
    if (cfg->accept_loss) {
        return cd__kv_mark_reset(&r->mark, number, why);
    }
    CD_TRY(expect_number(number, least, cfg->dir, why));
    cd__kv_mark_put(&r->mark, number, false);
    return CD_OK;
}

cd_err cd_kv_rocksdb_open(cd_kv **out, const cd_kv_cfg *cfg, cd_errinfo *why)
{
    cd__kv_mark mark = {.cell = {.fd = -1}};
    u64 least = 0;
    CD_TRY(claim(cfg, why));
    if (!cfg->read_only) {
        CD_TRY(mark_open(&mark, &least, cfg, why));
    }
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(shares_of(cfg->cache_bytes).cache);
    char *msg = NULL;
    rocksdb_t *db = open_db(cfg, cache, rocksdb_lz4_compression, &msg);
    if (msg != NULL && strstr(msg, "not linked") != NULL) {
        rocksdb_free(msg);
        msg = NULL;
        db = open_db(cfg, cache, rocksdb_no_compression, &msg);
    }
    if (msg != NULL) {
        cd__kv_mark_close(&mark, false);
        rocksdb_cache_destroy(cache);
        cd_errinfo engine = {0};
        cd_err err = rocks_err(msg, &engine);
        if (err == CD_EBUSY) {
            return cd_fail(why, err, "%s is in use by another process: stop it, or choose another --data-dir",
                           cfg->dir);
        }
        return cd_fail(why, err, "%s", engine.msg);
    }
    rocks_kv *r = cd_new(rocks_kv);
    r->kv.ops = &ops;
    r->db = db;
    r->cache = cache;
    r->layout = cfg->layout;
    cd_mutex_init(&r->lock);
    r->mark = mark;
    r->has_mark = !cfg->read_only;
    r->failed = cfg->failed;
    r->slow = cfg->slow;
    r->ctx = cfg->ctx;
    r->read = rocksdb_readoptions_create();
    r->write = rocksdb_writeoptions_create();
    r->write_sync = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(r->write_sync, 1);
    rocksdb_writeoptions_set_memtable_insert_hint_per_batch(r->write, 1);
    rocksdb_writeoptions_set_memtable_insert_hint_per_batch(r->write_sync, 1);
    cd_err e = r->has_mark ? mark_confirm(r, least, cfg, why) : CD_OK;
    if (e != CD_OK) {
        atomic_store(&r->failure, e == CD_ELOST ? CD_OK : (int)e);
        r->has_mark = false;
        cd__kv_mark_close(&r->mark, false);
        rocks_close(&r->kv);
        return e;
    }
    *out = &r->kv;
    return CD_OK;
}

/* Writes everything into tables: a store that was closed has no log that could be damaged. */
static void write_to_end(rocks_kv *r)
{
    char *msg = NULL;
    rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(o, 1);
    rocksdb_flush(r->db, o, &msg);
    rocksdb_flushoptions_destroy(o);
    if (msg != NULL) {
        cd_err e = note_failure(r, msg, NULL); /* the log has it all the same */
        (void)e;
    } else {
        cd__kv_mark_put(&r->mark, rocksdb_get_latest_sequence_number(r->db), true);
    }
}

static void rocks_close(cd_kv *kv)
{
    rocks_kv *r = (rocks_kv *)kv;
    if (r->has_mark) {
        if (atomic_load(&r->failure) == CD_OK) {
            write_to_end(r);
        }
        cd__kv_mark_close(&r->mark, atomic_load(&r->failure) == CD_OK);
    }
    cd_mutex_fini(&r->lock);
    rocksdb_readoptions_destroy(r->read);
    rocksdb_writeoptions_destroy(r->write);
    rocksdb_writeoptions_destroy(r->write_sync);
    /* After a failed write the engine must not be asked to write its files: it would abort. Its next start does it. */
    if (atomic_load(&r->failure) == CD_OK) {
        rocksdb_close(r->db);
        rocksdb_cache_destroy(r->cache);
    }
    cd_free(r);
}

/* --- reading and writing --- */

static cd_err rocks_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    rocks_kv *r = (rocks_kv *)kv;
    char *msg = NULL;
    rocksdb_pinnableslice_t *s = rocksdb_get_pinned(r->db, r->read, (const char *)key.p, key.n, &msg);
    if (msg != NULL) {
        return rocks_err(msg, NULL);
    }
    if (s == NULL) {
        return CD_ENOENT;
    }
    usize n;
    const char *p = rocksdb_pinnableslice_value(s, &n);
    cd_buf_clear(out);
    cd_buf_put(out, cd_bytes_of(p, n));
    rocksdb_pinnableslice_destroy(s);
    return CD_OK;
}

static void rocks_get_many(cd_kv *kv, cd_buf *out, cd_err *err, const cd_bytes *keys, usize cnt)
{
    rocks_kv *r = (rocks_kv *)kv;
    enum { CHUNK = 64 };
    const char *key[CHUNK];
    usize key_n[CHUNK];
    char *value[CHUNK];
    usize value_n[CHUNK];
    char *msg[CHUNK];
    for (usize at = 0; at < cnt; at += CHUNK) {
        usize n = cnt - at < CHUNK ? cnt - at : CHUNK;
        for (usize i = 0; i < n; i++) {
            key[i] = (const char *)keys[at + i].p;
            key_n[i] = keys[at + i].n;
        }
        rocksdb_multi_get(r->db, r->read, n, key, key_n, value, value_n, msg);
        for (usize i = 0; i < n; i++) {
            err[at + i] = value[i] == NULL ? CD_ENOENT : CD_OK;
            if (msg[i] != NULL) {
                err[at + i] = rocks_err(msg[i], NULL);
            } else if (value[i] != NULL) {
                cd_buf_clear(&out[at + i]);
                cd_buf_put(&out[at + i], cd_bytes_of(value[i], value_n[i]));
            }
            rocksdb_free(value[i]);
        }
    }
}

static cd_err rocks_has(cd_kv *kv, bool *found, cd_bytes key)
{
    rocks_kv *r = (rocks_kv *)kv;
    char *msg = NULL;
    rocksdb_pinnableslice_t *s = rocksdb_get_pinned(r->db, r->read, (const char *)key.p, key.n, &msg);
    if (msg != NULL) {
        return rocks_err(msg, NULL);
    }
    *found = s != NULL;
    if (s != NULL) {
        rocksdb_pinnableslice_destroy(s);
    }
    return CD_OK;
}

/* What of a failed write is on the disk is known only when another process has opened the store and read it again. */
static cd_err note_failure(rocks_kv *r, char *msg, cd_errinfo *why)
{
    int none = CD_OK;
    cd_errinfo engine = {0};
    cd_err err = rocks_err(msg, &engine);
    bool is_first = err != CD_EACCES && atomic_compare_exchange_strong(&r->failure, &none, (int)err);
    if (is_first && r->failed != NULL) {
        r->failed(r->ctx, &engine);
    }
    return cd_fail(why, err, "%s", engine.msg);
}

/* A disk that takes its time holds up everything that waits for it, so that somebody should hear of it. */
static void note_time(rocks_kv *r, u64 ns)
{
    u64 ms = ns / CD_NS_PER_MS;
    (void)atomic_fetch_add(&r->commits, 1);
    (void)atomic_fetch_add(&r->commit_ns, ns);
    if (ms >= CD_KV_SLOW_MS) {
        (void)atomic_fetch_add(&r->slow_cnt, 1);
        if (r->slow != NULL) {
            r->slow(r->ctx, ms);
        }
    }
}

static cd_err rocks_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    rocks_kv *r = (rocks_kv *)kv;
    cd_err gone = (cd_err)atomic_load(&r->failure);
    if (b->cnt == 0) {
        return CD_OK;
    }
    if (gone != CD_OK) {
        return cd_fail(why, gone, "the store was closed to writes after an error: %s", cd_err_str(gone));
    }
    rocksdb_writebatch_t *wb = rocksdb_writebatch_create_from((const char *)b->rec.p, b->rec.n);
    char *msg = NULL;
    u64 start = cd_clock_mono_ns(cd_clock_real());
    /* Commits take turns, so that the number that is noted as durable is not that of a later, unsynced commit. */
    cd_mutex_lock(&r->lock);
    rocksdb_write(r->db, sync == CD_KV_SYNC ? r->write_sync : r->write, wb, &msg);
    if (msg == NULL && r->has_mark) {
        cd__kv_mark_put(&r->mark, rocksdb_get_latest_sequence_number(r->db), sync == CD_KV_SYNC);
    }
    cd_mutex_unlock(&r->lock);
    rocksdb_writebatch_destroy(wb);
    note_time(r, cd_clock_mono_ns(cd_clock_real()) - start);
    return msg == NULL ? CD_OK : note_failure(r, msg, why);
}

static cd_err frozen_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    (void)kv;
    (void)b;
    (void)sync;
    return cd_fail(why, CD_EACCES, "a snapshot cannot be written");
}

static void iter_free(cd_kv_iter *it)
{
    rocks_iter *x = (rocks_iter *)it;
    rocksdb_iter_destroy(x->ri);
    rocksdb_readoptions_destroy(x->read);
    cd_free(x);
}

static bool iter_next(cd_kv_iter *it)
{
    rocks_iter *x = (rocks_iter *)it;
    if (!rocksdb_iter_valid(x->ri)) {
        char *msg = NULL;
        rocksdb_iter_get_error(x->ri, &msg);
        it->err = rocks_err(msg, NULL);
        return false;
    }
    if (x->started) {
        if (x->reverse) {
            rocksdb_iter_prev(x->ri);
        } else {
            rocksdb_iter_next(x->ri);
        }
        x->started = false;
        return iter_next(it);
    }
    usize n;
    const char *p = rocksdb_iter_key(x->ri, &n);
    it->key = cd_bytes_of(p, n);
    if (!cd__kv_has_prefix(it->key, cd_bytes_of(x->bounds, x->prefix_n))) {
        return false; /* the iterator stays here: started is false */
    }
    p = rocksdb_iter_value(x->ri, &n);
    it->value = cd_bytes_of(p, n);
    x->started = true;
    return true;
}

static const cd_kv_iter_ops iter_ops = {.free = iter_free, .next = iter_next};

static cd_err rocks_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    rocks_kv *r = (rocks_kv *)kv;
    u8 buf[CD_KV_MAX_KEY];
    cd__kv_bound bound = cd__kv_bound_of(buf, range);
    rocks_iter *x = cd_alloc(sizeof *x + 2 * range->prefix.n);
    x->it.ops = &iter_ops;
    x->reverse = range->reverse;
    x->prefix_n = range->prefix.n;
    x->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(x->read, r->snap);
    if (range->prefix.n != 0) {
        u8 *behind = x->bounds + range->prefix.n;
        memcpy(x->bounds, range->prefix.p, range->prefix.n);
        usize n = cd__kv_behind(behind, range->prefix);
        rocksdb_readoptions_set_iterate_lower_bound(x->read, (const char *)x->bounds, x->prefix_n);
        if (n != 0) {
            rocksdb_readoptions_set_iterate_upper_bound(x->read, (const char *)behind, n);
        }
    }
    x->ri = rocksdb_create_iterator(r->db, x->read);
    const char *key = (const char *)bound.key.p;
    if (!bound.has_key) {
        if (range->reverse) {
            rocksdb_iter_seek_to_last(x->ri);
        } else {
            rocksdb_iter_seek_to_first(x->ri);
        }
    } else if (!range->reverse) {
        rocksdb_iter_seek(x->ri, key, bound.key.n);
    } else {
        rocksdb_iter_seek_for_prev(x->ri, key, bound.key.n);
        if (bound.is_open && rocksdb_iter_valid(x->ri)) {
            usize n;
            const char *p = rocksdb_iter_key(x->ri, &n);
            if (cd_bytes_eq(cd_bytes_of(p, n), bound.key)) {
                rocksdb_iter_prev(x->ri);
            }
        }
    }
    *out = &x->it;
    return CD_OK;
}

/* --- views, copies, figures --- */

static void snapshot_close(cd_kv *kv)
{
    rocks_kv *s = (rocks_kv *)kv;
    rocksdb_readoptions_destroy(s->read);
    rocksdb_release_snapshot(s->db, s->snap);
    cd_free(s);
}

static cd_err rocks_snapshot(cd_kv **out, cd_kv *kv)
{
    const rocks_kv *r = (const rocks_kv *)kv;
    rocks_kv *s = cd_new(rocks_kv);
    s->kv.ops = &snapshot_ops;
    s->db = r->db;
    s->layout = r->layout;
    s->cache = r->cache;
    s->snap = rocksdb_create_snapshot(r->db);
    s->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(s->read, s->snap);
    *out = &s->kv;
    return CD_OK;
}

static void memory_close(cd_kv *kv)
{
    rocks_kv *s = (rocks_kv *)kv;
    rocksdb_readoptions_destroy(s->read);
    cd_free(s);
}

static cd_err rocks_in_memory(cd_kv **out, cd_kv *kv)
{
    const rocks_kv *r = (const rocks_kv *)kv;
    rocks_kv *s = cd_new(rocks_kv);
    s->kv.ops = &memory_ops;
    s->db = r->db;
    s->cache = r->cache;
    s->layout = r->layout;
    s->snap = r->snap;
    s->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(s->read, s->snap);
    rocksdb_readoptions_set_read_tier(s->read, MEMORY_ONLY);
    *out = &s->kv;
    return CD_OK;
}

/* Not supported: a snapshot of a snapshot would have to keep its sequence number alive on its own. */
static cd_err frozen_snapshot(cd_kv **out, cd_kv *kv)
{
    (void)out;
    (void)kv;
    return CD_EUNSUPPORTED;
}

static cd_err rocks_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why)
{
    rocks_kv *r = (rocks_kv *)kv;
    cd_fs_stat st;
    cd_errinfo ignored;
    if (cd_fs_stat_get(cd_fs_real(), &st, dir, &ignored) != CD_ENOENT) {
        return cd_fail(why, CD_EEXIST, "%s exists already", dir);
    }
    char *msg = NULL;
    rocksdb_checkpoint_t *cp = rocksdb_checkpoint_object_create(r->db, &msg);
    CD_TRY(rocks_err(msg, why));
    rocksdb_checkpoint_create(cp, dir, 0, &msg);
    rocksdb_checkpoint_object_destroy(cp);
    CD_TRY(rocks_err(msg, why));
    return marker_write(dir, r->layout, why);
}

static u64 property(const rocks_kv *r, const char *name)
{
    u64 v = 0;
    return rocksdb_property_int(r->db, name, &v) == 0 ? v : 0;
}

static cd_err rocks_stats(cd_kv *kv, cd_kv_stats *out)
{
    const rocks_kv *r = (const rocks_kv *)kv;
    *out = (cd_kv_stats){
        .keys = property(r, "rocksdb.estimate-num-keys"),
        .disk_bytes = property(r, "rocksdb.total-sst-files-size"),
        .mem_bytes = property(r, "rocksdb.cur-size-all-mem-tables") +
                     property(r, "rocksdb.estimate-table-readers-mem") + rocksdb_cache_get_usage(r->cache),
        .commits = atomic_load(&r->commits),
        .commit_ns = atomic_load(&r->commit_ns),
        .slow = atomic_load(&r->slow_cnt),
    };
    return CD_OK;
}

static const cd_kv_ops ops = {
    .close = rocks_close,
    .get = rocks_get,
    .get_many = rocks_get_many,
    .has = rocks_has,
    .commit = rocks_commit,
    .iter_new = rocks_iter_new,
    .snapshot = rocks_snapshot,
    .checkpoint = rocks_checkpoint,
    .stats = rocks_stats,
};

static const cd_kv_ops snapshot_ops = {
    .close = snapshot_close,
    .get = rocks_get,
    .get_many = rocks_get_many,
    .has = rocks_has,
    .commit = frozen_commit,
    .iter_new = rocks_iter_new,
    .snapshot = frozen_snapshot,
    .in_memory = rocks_in_memory,
    .checkpoint = rocks_checkpoint,
    .stats = rocks_stats,
};
static const cd_kv_ops memory_ops = {
    .close = memory_close,
    .get = rocks_get,
    .get_many = rocks_get_many,
    .has = rocks_has,
    .commit = frozen_commit,
    .iter_new = rocks_iter_new,
    .snapshot = frozen_snapshot,
    .checkpoint = rocks_checkpoint,
    .stats = rocks_stats,
};
