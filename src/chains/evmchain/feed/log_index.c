#include "chains/evmchain/feed/log_index.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/accepted.h"
#include "chains/evmchain/core/chaindb.h"

#include <stdlib.h>

enum {
    TABLE = 'i',
    PREFIX_SIZE = 10, /* table, kind, digest */
    KEY_SIZE = PREFIX_SIZE + 8,
    PLACES = 1 + CD_LOG_TOPICS_MAX,
    STRIDE = 64,      /* steps of one place before the next has its turn */
    VALUES_MANY = 64, /* a place with more values is walked only when there is no other */
    REBUILD_BYTES = 1 << 20,
};

typedef struct posting {
    u8 key[KEY_SIZE];
} posting;

/* --- writing --- */

/* All bytes count: addresses and topics may have many zeros on either side. */
static u64 digest_of(const u8 *p, usize n)
{
    static const u64 odd = 0x9e3779b97f4a7c15;
    u64 sum = n;
    for (usize i = 0; i < n; i += 4) {
        sum = (sum ^ cd_be32(p + i)) * odd;
        sum ^= sum >> 29;
    }
    return sum;
}

static void put_prefix(u8 out[PREFIX_SIZE], u8 kind, const u8 *value, usize n)
{
    out[0] = TABLE;
    out[1] = kind;
    cd_put_be64(out + 2, digest_of(value, n));
}

static int posting_order(const void *a, const void *b)
{
    return memcmp(a, b, KEY_SIZE);
}

/* The postings of a block, sorted (neighbours go in faster), some of them more than once; freed by the caller. */
static posting *postings_of(usize *cnt, const cd_block *block, const cd_receipt *receipts)
{
    usize max = 0;
    for (usize i = 0; i < block->tx_cnt; i++) {
        max += receipts[i].log_cnt * PLACES;
    }
    posting *all = cd_new_array(posting, max);
    usize n = 0;
    for (usize i = 0; i < block->tx_cnt; i++) {
        for (usize j = 0; j < receipts[i].log_cnt; j++) {
            const cd_log *log = &receipts[i].logs[j];
            put_prefix(all[n++].key, 0, log->addr.b, sizeof log->addr.b);
            for (u32 k = 0; k < log->topic_cnt; k++) {
                put_prefix(all[n++].key, (u8)(k + 1), log->topics[k].b, 32);
            }
        }
    }
    for (usize i = 0; i < n; i++) {
        cd_put_be64(all[i].key + PREFIX_SIZE, block->header.number);
    }
    if (n != 0) {
        qsort(all, n, sizeof *all, posting_order);
    }
    *cnt = n;
    return all;
}

static void change(cd_kv_batch *batch, const cd_block *block, const cd_receipt *receipts, bool is_del)
{
    usize cnt;
    posting *all = postings_of(&cnt, block, receipts);
    for (usize i = 0; i < cnt; i++) {
        cd_bytes key = cd_bytes_of(all[i].key, KEY_SIZE);
        if (i != 0 && posting_order(&all[i - 1], &all[i]) == 0) {
            continue;
        }
        if (is_del) {
            cd_kv_batch_del(batch, key);
        } else {
            cd_kv_batch_put(batch, key, (cd_bytes){0});
        }
    }
    cd_free(all);
}

static void put(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b)
{
    (void)ctx;
    change(batch, b->block, b->receipts, false);
}

static void del(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b)
{
    (void)ctx;
    change(batch, b->block, b->receipts, true);
}

const cd_chain_index cd_log_index = {.put = put, .del = del};

/* --- what was not written with its block --- */

/* The height up to which blocks may be missing is stored while there is one; UINT64_MAX: the index is whole. */
static cd_err reach(cd_kv *kv, u64 *done)
{
    cd_buf value = {0};
    cd_err e = cd_chaindb_meta(kv, &value, CD_CHAINDB_LOGS);
    if (e == CD_OK) {
        e = value.n == 8 ? CD_OK : CD_ECORRUPT;
    }
    *done = e == CD_OK ? cd_be64(value.p) : 0;
    cd_buf_fini(&value);
    return e == CD_ENOENT ? CD_OK : e;
}

cd_err cd_log_index_is_whole(cd_kv *kv, bool *out)
{
    u64 done;
    CD_TRY(reach(kv, &done));
    *out = done == UINT64_MAX;
    return CD_OK;
}

static cd_err commit(cd_kv *kv, cd_kv_batch *batch, u64 done, cd_errinfo *why)
{
    u8 value[8];
    cd_put_be64(value, done);
    cd_chaindb_put_meta(batch, CD_CHAINDB_LOGS, cd_bytes_of(value, 8));
    cd_err e = cd_kv_commit(kv, batch, CD_KV_NOSYNC, why);
    cd_kv_batch_clear(batch);
    return e;
}

/* Indexes the block of a height, or steps over the run it lies in. */
static cd_err index_one(cd_kv *kv, cd_kv_batch *batch, cd_header_layout layout, u64 *height)
{
    cd_arena a = {0};
    cd_hash32 hash;
    cd_accepted acc;
    cd_run run;
    cd_err e = cd_chaindb_hash(kv, &hash, *height);
    if (e == CD_OK) {
        e = cd_accepted_load(&acc, &a, kv, layout, &hash);
        if (e == CD_OK) {
            change(batch, &acc.block, acc.receipts, false);
        }
    } else if (e == CD_ENOENT) {
        e = cd_run_find(kv, &run, *height);
        *height = e == CD_OK ? run.last : *height;
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_log_index_complete(cd_kv *kv, cd_header_layout layout, u64 head, cd_log_index_progress *progress, void *ctx,
                             cd_errinfo *why)
{
    cd_kv_batch batch = {0};
    u64 done;
    u64 floor;
    CD_TRY(reach(kv, &done));
    if (done == UINT64_MAX) {
        return CD_OK;
    }
    CD_TRY(cd_chaindb_floor(kv, &floor));
    cd_err e = CD_OK;
    cd_kv_batch_for(&batch, kv);
    for (u64 n = cd_max_u64(done + 1, floor); n <= head && e == CD_OK; n++) {
        e = index_one(kv, &batch, layout, &n);
        if (e == CD_OK && batch.rec.n >= REBUILD_BYTES) {
            e = commit(kv, &batch, n, why);
            if (progress != NULL) {
                progress(ctx, n, head);
            }
        }
    }
    if (e == CD_OK) {
        e = commit(kv, &batch, UINT64_MAX, why);
    }
    cd_kv_batch_fini(&batch);
    return e;
}

/* Appends the deletion of as many postings as fit. */
static cd_err del_some(cd_kv *kv, cd_kv_batch *batch)
{
    static const u8 table = TABLE;
    cd_kv_iter *it = NULL;
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(&table, 1)}));
    while (batch->rec.n < REBUILD_BYTES && cd_kv_iter_next(it)) {
        cd_kv_batch_del(batch, cd_kv_iter_key(it));
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

cd_err cd_log_index_drop(cd_kv *kv, cd_errinfo *why)
{
    cd_kv_batch batch = {0};
    u64 done;
    CD_TRY(reach(kv, &done));
    cd_kv_batch_for(&batch, kv);
    /* First nobody may rely on it any more. */
    cd_err e = done == 0 ? CD_OK : commit(kv, &batch, 0, why);
    bool is_more = true;
    while (e == CD_OK && is_more) {
        e = del_some(kv, &batch);
        is_more = batch.rec.n != 0;
        if (e == CD_OK && is_more) {
            e = commit(kv, &batch, 0, why);
        }
    }
    cd_kv_batch_fini(&batch);
    return e;
}

/* --- walking --- */

/* The blocks of one value. */
typedef struct lane {
    cd_kv_iter *it;
    u64 height; /* stands here; UINT64_MAX behind the last one */
} lane;

/* The blocks of any value of one place. */
typedef struct place {
    lane *lanes;
    usize lane_cnt;
    u64 *heights;
    usize cnt;
    bool has_ended;
} place;

static cd_err step(lane *l, u64 to)
{
    l->height = UINT64_MAX;
    if (cd_kv_iter_next(l->it)) {
        cd_bytes key = cd_kv_iter_key(l->it);
        if (key.n != KEY_SIZE) {
            return CD_ECORRUPT;
        }
        u64 height = cd_be64(key.p + PREFIX_SIZE);
        l->height = height <= to ? height : UINT64_MAX;
    }
    return cd_kv_iter_err(l->it);
}

static cd_err place_open(place *p, cd_kv *kv, u8 kind, const u8 *values, usize cnt, usize size, u64 from, u64 to,
                         usize max)
{
    p->lanes = cd_new_array(lane, cnt);
    p->heights = cd_new_array(u64, max);
    for (usize i = 0; i < cnt; i++) {
        u8 start[KEY_SIZE];
        put_prefix(start, kind, values + i * size, size);
        cd_put_be64(start + PREFIX_SIZE, from);
        cd_kv_range range = {
            .prefix = cd_bytes_of(start, PREFIX_SIZE),
            .start = cd_bytes_of(start, KEY_SIZE),
        };
        CD_TRY(cd_kv_iter_new(&p->lanes[i].it, kv, &range));
        p->lane_cnt++;
        CD_TRY(step(&p->lanes[i], to));
    }
    return CD_OK;
}

static void place_close(place *p)
{
    for (usize i = 0; i < p->lane_cnt; i++) {
        cd_kv_iter_free(p->lanes[i].it);
    }
    cd_free(p->lanes);
    cd_free(p->heights);
}

/* Takes the next STRIDE blocks, as far as there is room. */
static cd_err place_walk(place *p, u64 to, usize max)
{
    for (usize n = 0; n < STRIDE && p->cnt < max; n++) {
        u64 least = UINT64_MAX;
        for (usize i = 0; i < p->lane_cnt; i++) {
            least = cd_min_u64(least, p->lanes[i].height);
        }
        if (least == UINT64_MAX) {
            p->has_ended = true;
            return CD_OK;
        }
        for (usize i = 0; i < p->lane_cnt; i++) {
            if (p->lanes[i].height == least) {
                CD_TRY(step(&p->lanes[i], to));
            }
        }
        p->heights[p->cnt++] = least;
    }
    return CD_OK;
}

/* The place whose blocks are fewest: the first to end, or else the one that got farthest with as many as fit. */
static cd_err race(place **winner, place *places, usize cnt, u64 to, usize max)
{
    for (;;) {
        bool is_full = true;
        for (usize i = 0; i < cnt; i++) {
            CD_TRY(place_walk(&places[i], to, max));
            if (places[i].has_ended) {
                *winner = &places[i];
                return CD_OK;
            }
            is_full = is_full && places[i].cnt == max;
        }
        if (is_full) {
            *winner = &places[0];
            for (usize i = 1; i < cnt; i++) {
                if (places[i].heights[max - 1] > (*winner)->heights[max - 1]) {
                    *winner = &places[i];
                }
            }
            return CD_OK;
        }
    }
}

/* What a place asks for. */
typedef struct wish {
    u8 kind;
    const u8 *values;
    usize cnt;
    usize size;
} wish;

static usize wishes_of(wish out[PLACES], const cd_log_criteria *want)
{
    usize n = 0;
    if (want->addr_cnt != 0) {
        out[n++] = (wish){0, (const u8 *)want->addrs, want->addr_cnt, sizeof(cd_addr20)};
    }
    for (usize i = 0; i < want->topic_cnt; i++) {
        const cd_log_choice *c = &want->topics[i];
        if (c->cnt != 0) {
            out[n++] = (wish){(u8)(i + 1), (const u8 *)c->values, c->cnt, sizeof(cd_hash32)};
        }
    }
    usize least = 0;
    usize few = 0;
    for (usize i = 0; i < n; i++) {
        least = out[i].cnt < out[least].cnt ? i : least;
    }
    wish fallback = out[least];
    for (usize i = 0; i < n; i++) {
        if (out[i].cnt <= VALUES_MANY) {
            out[few++] = out[i];
        }
    }
    if (few == 0) {
        out[few++] = fallback;
    }
    return few;
}

cd_err cd_log_index_find(cd_kv *kv, u64 *heights, usize *cnt, u64 *known, const cd_log_criteria *want, u64 from, u64 to,
                         usize max)
{
    wish wishes[PLACES] = {{.cnt = 0}};
    place places[PLACES] = {0};
    place *winner;
    usize n = wishes_of(wishes, want);
    cd_err e = CD_OK;
    for (usize i = 0; i < n && e == CD_OK; i++) {
        const wish *w = &wishes[i];
        e = place_open(&places[i], kv, w->kind, w->values, w->cnt, w->size, from, to, max);
    }
    if (e == CD_OK) {
        e = race(&winner, places, n, to, max);
    }
    if (e == CD_OK) {
        memcpy(heights, winner->heights, winner->cnt * sizeof *heights);
        *cnt = winner->cnt;
        *known = winner->has_ended ? to : winner->heights[winner->cnt - 1];
    }
    for (usize i = 0; i < n; i++) {
        place_close(&places[i]);
    }
    return e;
}
