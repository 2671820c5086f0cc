#include "plugin/guest/db_priv.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/thread/thread.h"
#include "plugin/guest/guest.h"

#include <stdlib.h>
#include <time.h>

/* The node's database with a copy of it in memory, or a store of the guest's own with the node's shared memory. */
typedef struct guest_kv {
    cd_kv kv; /* first */
    cd_kv *local;
    cd_grpc_client *client;
    cd__guest_shared *shared;
    bool is_own;
    u64 told;      /* own store: number of the last changes of shared memory */
    cd_mutex lock; /* held for a commit: one at a time */
} guest_kv;

static guest_kv *self(cd_kv *kv)
{
    return (guest_kv *)(void *)kv;
}

/* --- batches --- */

typedef struct row {
    cd_kv_rec rec;
    usize idx;
} row;

static int by_key(const void *a, const void *b)
{
    const row *x = a;
    const row *y = b;
    int c = cd_bytes_cmp(x->rec.key, y->rec.key);
    return c != 0 ? c : (x->idx > y->idx) - (x->idx < y->idx);
}

/* The records of a batch in the protocol's form: for each key only the last one. */
static cd_wire_db_batch wire_batch(cd_arena *mem, const cd_kv_batch *b)
{
    row *rows = cd_arena_array(mem, row, b->cnt);
    cd_wire_db_pair *puts = cd_arena_array(mem, cd_wire_db_pair, b->cnt);
    cd_wire_db_key *dels = cd_arena_array(mem, cd_wire_db_key, b->cnt);
    usize cnt = 0;
    usize put_cnt = 0;
    usize del_cnt = 0;
    usize pos = 0;
    while (cnt < b->cnt && cd_kv_batch_next(b, &rows[cnt].rec, &pos)) {
        rows[cnt].idx = cnt;
        cnt++;
    }
    qsort(rows, cnt, sizeof *rows, by_key);
    for (usize i = 0; i < cnt; i++) {
        const cd_kv_rec *r = &rows[i].rec;
        if (i + 1 < cnt && cd_bytes_eq(r->key, rows[i + 1].rec.key)) {
            continue;
        }
        if (r->is_del) {
            dels[del_cnt++] = (cd_wire_db_key){.key = r->key};
        } else {
            puts[put_cnt++] = (cd_wire_db_pair){.key = r->key, .value = r->value};
        }
    }
    return (cd_wire_db_batch){.puts = cd_wire_list(puts, put_cnt), .deletes = cd_wire_list(dels, del_cnt)};
}

/* --- calls --- */

static cd_err code_err(u32 code, cd_errinfo *why)
{
    switch (code) {
    case 0:
        return CD_OK;
    case CD_WIRE_CLOSED:
        return cd_fail(why, CD_ECLOSED, "closed");
    case CD_WIRE_NOT_FOUND:
        return CD_ENOENT;
    default:
        return cd_fail(why, CD_EIO, "the node's database answered error %u", code);
    }
}

/* Sends a message to the database and reads the answer, all of which lies in mem. */
static cd_err ask(cd_grpc_client *c, void *answer, const cd_proto_type *answer_type, cd_arena *mem, const char *path,
                  const cd_proto_type *type, const void *msg, cd_errinfo *why)
{
    cd_buf out = {0};
    cd_buf reply = {0};
    cd_proto_put(&out, type, msg);
    cd_err err = cd_grpc_call_wait(c, &reply, path, &out, 0, NULL, why);
    if (err == CD_OK) {
        err = cd_proto_parse(answer, answer_type, mem, cd_arena_dup(mem, cd_buf_bytes(&reply)), why);
    }
    cd_buf_fini(&out);
    cd_buf_fini(&reply);
    return err;
}

static cd_err write_batch(cd_grpc_client *c, const cd_wire_db_batch *b, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_wire_db_err answer = {0};
    cd_err err =
        ask(c, &answer, &cd_wire_db_err_type, &mem, "/rpcdb.Database/WriteBatch", &cd_wire_db_batch_type, b, why);
    err = err != CD_OK ? err : code_err(answer.err, why);
    cd_arena_fini(&mem);
    return err;
}

static cd_err read_all(guest_kv *g, u64 id, usize max, cd_errinfo *why)
{
    const cd_wire_db_iter req = {.id = id};
    usize bytes = 0;
    bool goes_on = true;
    cd_err err = CD_OK;
    while (goes_on && err == CD_OK) {
        cd_arena mem = {0};
        cd_kv_batch batch = {0};
        cd_wire_db_pairs pairs = {0};
        err = ask(g->client, &pairs, &cd_wire_db_pairs_type, &mem, "/rpcdb.Database/IteratorNext",
                  &cd_wire_db_iter_type, &req, why);
        const cd_wire_db_pair *data = pairs.data.v;
        goes_on = pairs.data.cnt != 0;
        for (u32 i = 0; i < pairs.data.cnt && err == CD_OK; i++) {
            bytes += data[i].key.n + data[i].value.n;
            if (data[i].key.n > CD_KV_MAX_KEY || data[i].value.n > CD_KV_MAX_VALUE || bytes > max) {
                err = cd_fail(why, CD_ELIMIT,
                              "the chain's database is larger than %zu bytes, which are read into memory; "
                              "\"use-standalone-database\": true gives the chain a store of its own",
                              max);
            } else {
                cd_kv_batch_put(&batch, data[i].key, data[i].value);
            }
        }
        err = err != CD_OK ? err : cd_kv_commit(g->local, &batch, CD_KV_NOSYNC, why);
        cd_kv_batch_fini(&batch);
        cd_arena_fini(&mem);
    }
    return err;
}

static cd_err load(guest_kv *g, usize max, cd_errinfo *why)
{
    const cd_wire_db_iter_new all = {0};
    cd_wire_db_iter it = {0};
    cd_wire_db_err over = {0};
    cd_arena mem = {0};
    cd_err err = ask(g->client, &it, &cd_wire_db_iter_type, &mem, "/rpcdb.Database/NewIteratorWithStartAndPrefix",
                     &cd_wire_db_iter_new_type, &all, why);
    if (err == CD_OK) {
        err = read_all(g, it.id, max, why);
        cd_err last = ask(g->client, &over, &cd_wire_db_err_type, &mem, "/rpcdb.Database/IteratorError",
                          &cd_wire_db_iter_type, &it, err == CD_OK ? why : NULL);
        err = err != CD_OK ? err : last;
        err = err != CD_OK ? err : code_err(over.err, why);
        (void)!ask(g->client, &over, &cd_wire_db_err_type, &mem, "/rpcdb.Database/IteratorRelease",
                   &cd_wire_db_iter_type, &it, NULL);
    }
    cd_arena_fini(&mem);
    return err;
}

/* --- shared memory and a store of its own: both change, or neither --- */

/* key_changes in the own store: the last changes of shared memory, behind their number. key_told in the node's
 * database: the number of the last changes that the node has made. */
static const cd_bytes key_changes = {(const u8 *)"\xff"
                                                 "candela shared",
                                     15};
static const cd_bytes key_told = {(const u8 *)"candela shared", 14};

/* A mark in the node's database: the chain has a store of its own. */
static const cd_bytes key_own = {(const u8 *)CD_GUEST_OWN_MARK, sizeof CD_GUEST_OWN_MARK - 1};

/* Is there nothing in the node's database? */
static cd_err is_empty(guest_kv *g, bool *empty, cd_errinfo *why)
{
    const cd_wire_db_iter_new all = {0};
    cd_wire_db_iter it = {0};
    cd_wire_db_pairs pairs = {0};
    cd_wire_db_err over = {0};
    cd_arena mem = {0};
    cd_err err = ask(g->client, &it, &cd_wire_db_iter_type, &mem, "/rpcdb.Database/NewIteratorWithStartAndPrefix",
                     &cd_wire_db_iter_new_type, &all, why);
    if (err == CD_OK) {
        err = ask(g->client, &pairs, &cd_wire_db_pairs_type, &mem, "/rpcdb.Database/IteratorNext",
                  &cd_wire_db_iter_type, &it, why);
        (void)!ask(g->client, &over, &cd_wire_db_err_type, &mem, "/rpcdb.Database/IteratorRelease",
                   &cd_wire_db_iter_type, &it, NULL);
    }
    *empty = pairs.data.cnt == 0;
    cd_arena_fini(&mem);
    return err;
}

/* Marks the node's database as left for an own store; an error when the chain's data is in it already. */
static cd_err claim(guest_kv *g, cd_errinfo *why)
{
    const cd_wire_db_key req = {.key = key_own};
    const cd_wire_db_pair mark = {.key = key_own, .value = cd_bytes_str("own")};
    const cd_wire_db_batch batch = {.puts = cd_wire_list(&mark, 1)};
    cd_wire_db_value own = {0};
    cd_arena mem = {0};
    bool empty = false;
    cd_err err =
        ask(g->client, &own, &cd_wire_db_value_type, &mem, "/rpcdb.Database/Get", &cd_wire_db_key_type, &req, why);
    bool is_claimed = own.err == 0;
    cd_arena_fini(&mem);
    if (err != CD_OK || is_claimed) {
        return err;
    }
    CD_TRY(is_empty(g, &empty, why));
    return empty ? write_batch(g->client, &batch, why)
                 : cd_fail(why, CD_EFOREIGN,
                           "the chain's blocks are in the node's database: \"use-standalone-database\" comes too late");
}

/* Tells the node of changes that the own store holds. */
static cd_err tell(guest_kv *g, cd_bytes numbered, cd_errinfo *why)
{
    const cd_wire_db_pair mark = {.key = key_told, .value = cd_bytes_sub(numbered, 0, 8)};
    const cd_wire_db_batch batch = {.puts = cd_wire_list(&mark, 1)};
    return cd__guest_shared_send(g->shared, cd_bytes_sub(numbered, 8, numbered.n - 8), &batch, why);
}

/* Tells the node of the last changes if a crash has kept it from hearing them. */
static cd_err catch_up(guest_kv *g, cd_errinfo *why)
{
    const cd_wire_db_key req = {.key = key_told};
    cd_wire_db_value told = {0};
    cd_arena mem = {0};
    cd_buf changes = {0};
    cd_err err = cd_kv_get(g->local, &changes, key_changes);
    if (err == CD_ENOENT) {
        return CD_OK;
    }
    if (err == CD_OK && changes.n < 8) {
        err = cd_fail(why, CD_ECORRUPT, "changes of shared memory are malformed");
    }
    err = err != CD_OK ? err
                       : ask(g->client, &told, &cd_wire_db_value_type, &mem, "/rpcdb.Database/Get",
                             &cd_wire_db_key_type, &req, why);
    if (err == CD_OK) {
        g->told = cd_be64(changes.p);
        bool is_told = told.err == 0 && cd_bytes_eq(told.value, cd_bytes_of(changes.p, 8));
        err = is_told ? CD_OK : tell(g, cd_buf_bytes(&changes), why);
    }
    cd_buf_fini(&changes);
    cd_arena_fini(&mem);
    return err;
}

static cd_err commit_own(guest_kv *g, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    cd_buf changes = {0};
    cd_kv_batch both = {0};
    if (g->shared == NULL || g->shared->pending.n == 0) {
        return cd_kv_commit(g->local, b, sync, why);
    }
    cd_put_be64(cd_buf_extend(&changes, 8), g->told + 1);
    cd_buf_put(&changes, cd_buf_bytes(&g->shared->pending));
    cd_kv_batch_append(&both, b);
    cd_kv_batch_put(&both, key_changes, cd_buf_bytes(&changes));
    cd_err err = cd_kv_commit(g->local, &both, CD_KV_SYNC, why);
    if (err == CD_OK) {
        g->told++;
        cd_buf_clear(&g->shared->pending);
        /* The block is accepted from here on. A node that does not hear of the changes now does at the next start. */
        (void)!tell(g, cd_buf_bytes(&changes), NULL);
    }
    cd_kv_batch_fini(&both);
    cd_buf_fini(&changes);
    return err;
}

static cd_err commit_remote(guest_kv *g, const cd_kv_batch *b, cd_errinfo *why)
{
    cd_arena mem = {0};
    const cd_wire_db_batch batch = wire_batch(&mem, b);
    bool has_changes = g->shared != NULL && g->shared->pending.n != 0;
    cd_err err = has_changes ? cd__guest_shared_send(g->shared, cd_buf_bytes(&g->shared->pending), &batch, why)
                             : write_batch(g->client, &batch, why);
    cd_arena_fini(&mem);
    if (err == CD_OK && has_changes) {
        cd_buf_clear(&g->shared->pending);
    }
    return err != CD_OK ? err : cd_kv_commit(g->local, b, CD_KV_NOSYNC, why);
}

/* --- the kv --- */

static void kv_close(cd_kv *kv)
{
    guest_kv *g = self(kv);
    cd_kv_close(g->local);
    cd_mutex_fini(&g->lock);
    cd_free(g);
}

static cd_err kv_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    return cd_kv_get(self(kv)->local, out, key);
}

static void kv_get_many(cd_kv *kv, cd_buf *out, cd_err *err, const cd_bytes *keys, usize cnt)
{
    cd_kv_get_many(self(kv)->local, out, err, keys, cnt);
}

static cd_err kv_has(cd_kv *kv, bool *found, cd_bytes key)
{
    return cd_kv_has(self(kv)->local, found, key);
}

static cd_err kv_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    guest_kv *g = self(kv);
    cd_kv_batch whole = *b; /* a part's, too, has whole keys; the records stay borrowed */
    whole.prefix_n = 0;
    cd_mutex_lock(&g->lock);
    cd_err err = g->is_own ? commit_own(g, &whole, sync, why) : commit_remote(g, &whole, why);
    cd_mutex_unlock(&g->lock);
    return err;
}

static cd_err kv_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    return cd_kv_iter_new(out, self(kv)->local, range);
}

static cd_err kv_snapshot(cd_kv **out, cd_kv *kv)
{
    return cd_kv_snapshot(out, self(kv)->local);
}

static cd_err kv_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why)
{
    return cd_kv_checkpoint(self(kv)->local, dir, why);
}

static cd_err kv_stats(cd_kv *kv, cd_kv_stats *out)
{
    return cd_kv_stats_get(self(kv)->local, out);
}

static guest_kv *kv_new(cd_kv *local, cd_grpc_client *client, cd__guest_shared *shared, bool is_own)
{
    static const cd_kv_ops ops = {
        .close = kv_close,
        .get = kv_get,
        .get_many = kv_get_many,
        .has = kv_has,
        .commit = kv_commit,
        .iter_new = kv_iter_new,
        .snapshot = kv_snapshot,
        .checkpoint = kv_checkpoint,
        .stats = kv_stats,
    };
    guest_kv *g = cd_new(guest_kv);
    g->kv.ops = &ops;
    g->local = local;
    g->client = client;
    g->shared = shared;
    g->is_own = is_own;
    cd_mutex_init(&g->lock);
    return g;
}

cd_err cd__guest_db_open(cd_kv **out, cd_grpc_client *client, cd__guest_shared *shared, usize max, cd_errinfo *why)
{
    guest_kv *g = kv_new(cd_kv_mem_open(), client, shared, false);
    bool is_own = false;
    cd_err err = load(g, max, why);
    err = err != CD_OK ? err : cd_kv_has(g->local, &is_own, key_own);
    if (err == CD_OK && is_own) {
        err = cd_fail(why, CD_EFOREIGN, "the chain has a store of its own: \"use-standalone-database\": true");
    }
    if (err != CD_OK) {
        kv_close(&g->kv);
        return err;
    }
    *out = &g->kv;
    return CD_OK;
}

/* Opens the own store. The process of a node that was killed a moment ago may still have it: it ends by itself. */
static cd_err open_own(cd_kv **out, const cd_kv_cfg *cfg, cd_errinfo *why)
{
    enum { TRIES = 400 };
    const struct timespec pause = {.tv_nsec = 25000000};
    cd_err e = cd_kv_rocksdb_open(out, cfg, why);
    for (u32 i = 0; i < TRIES && e == CD_EBUSY; i++) {
        (void)nanosleep(&pause, NULL);
        e = cd_kv_rocksdb_open(out, cfg, why);
    }
    return e;
}

cd_err cd__guest_own_open(cd_kv **out, cd_grpc_client *db, cd__guest_shared *shared, const char *dir, usize cache_bytes,
                          cd_errinfo *why)
{
    enum { LAYOUT = 1 };
    const cd_kv_cfg cfg = {.dir = dir, .layout = LAYOUT, .cache_bytes = cache_bytes};
    cd_kv *local;
    CD_TRY(open_own(&local, &cfg, why));
    guest_kv *g = kv_new(local, db, shared, true);
    cd_err err = claim(g, why);
    err = err != CD_OK ? err : catch_up(g, why);
    if (err != CD_OK) {
        kv_close(&g->kv);
        return err;
    }
    *out = &g->kv;
    return CD_OK;
}
