#include "chains/evmchain/rpc/logs/filters.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "chains/evmchain/core/accepted.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/rpc/logs/logs_priv.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"

#include <stdio.h>

#include <stdatomic.h>

enum {
    ID_SIZE = 16,
    FILTERS_MAX = 16384,
    RING_SIZE = 16384,  /* pending transactions kept; a power of two */
    HASHES_MAX = 20000, /* hashes in one answer */
};
#define CRITERIA_BYTES_MAX ((usize)32 << 20) /* bytes of criteria of all filters */
#define LIFETIME_NS        (300 * CD_NS_PER_SEC)

typedef enum filter_kind {
    FILTER_LOGS,
    FILTER_BLOCKS,
    FILTER_PENDING,
} filter_kind;

typedef struct filter {
    cd_list by_use; /* least recently used first */
    u8 id[ID_SIZE];
    filter_kind kind;
    u32 refs;
    u64 used_ns;
    cd_arena arena;
    cd_log_criteria want;
    cd__log_range range;
    usize size;

    cd_mutex lock; /* one poll at a time; protects what follows */
    cd_cursor at;
    u64 seq; /* number of the next pending transaction that a poll tells */
} filter;

struct cd_filters {
    const cd_clock *clock;
    cd_mutex lock; /* protects the rest, and id, refs and use of every filter */
    cd_hmap by_id;
    cd_list by_use;
    usize bytes;
    atomic_uint pending_cnt; /* number of filters for pending transactions */
    cd_hash32 *ring;         /* made with the first filter for pending transactions */
    u64 ring_end;            /* number of the next pending transaction */
};

/* --- the set --- */

static void unref(filter *f)
{
    if (--f->refs == 0) {
        cd_mutex_fini(&f->lock);
        cd_arena_fini(&f->arena);
        cd_free(f);
    }
}

/* The following are called with the set's lock held. */
static void forget(cd_filters *fs, filter *f)
{
    (void)cd_hmap_del(&fs->by_id, f->id);
    cd_list_del(&f->by_use);
    fs->bytes -= f->size;
    if (f->kind == FILTER_PENDING) {
        (void)atomic_fetch_sub(&fs->pending_cnt, 1);
    }
    unref(f);
}

static void expire(cd_filters *fs, u64 now)
{
    while (!cd_list_is_empty(&fs->by_use)) {
        filter *f = cd_list_of(cd_list_first(&fs->by_use), filter, by_use);
        if (now - f->used_ns < LIFETIME_NS && cd_hmap_cnt(&fs->by_id) <= FILTERS_MAX &&
            fs->bytes <= CRITERIA_BYTES_MAX) {
            return;
        }
        forget(fs, f);
    }
}

cd_filters *cd_filters_new(const cd_clock *clock)
{
    cd_filters *fs = cd_new(cd_filters);
    fs->clock = clock;
    cd_mutex_init(&fs->lock);
    cd_hmap_init(&fs->by_id, CD_HASH_KEYED, ID_SIZE, sizeof(filter *));
    cd_list_init(&fs->by_use);
    return fs;
}

void cd_filters_free(cd_filters *fs)
{
    while (!cd_list_is_empty(&fs->by_use)) {
        forget(fs, cd_list_of(cd_list_first(&fs->by_use), filter, by_use));
    }
    cd_hmap_fini(&fs->by_id);
    cd_mutex_fini(&fs->lock);
    cd_free(fs->ring);
    cd_free(fs);
}

void cd_filters_pending(cd_filters *fs, const cd_hash32 *hash)
{
    if (atomic_load(&fs->pending_cnt) != 0) {
        cd_mutex_lock(&fs->lock);
        fs->ring[fs->ring_end++ % RING_SIZE] = *hash;
        cd_mutex_unlock(&fs->lock);
    }
}

static void add(cd_filters *fs, filter *f)
{
    cd_rng os = cd_rng_os();
    cd_rng_fill(&os, f->id, ID_SIZE);
    cd_mutex_init(&f->lock);
    f->refs = 1;
    f->used_ns = cd_clock_mono_ns(fs->clock);
    f->size = cd_log_criteria_size(&f->want);
    cd_mutex_lock(&fs->lock);
    if (f->kind == FILTER_PENDING) {
        if (fs->ring == NULL) {
            fs->ring = cd_new_array(cd_hash32, RING_SIZE);
        }
        f->seq = fs->ring_end;
        (void)atomic_fetch_add(&fs->pending_cnt, 1);
    }
    *(filter **)cd_hmap_put(&fs->by_id, NULL, f->id) = f;
    cd_list_push_back(&fs->by_use, &f->by_use);
    fs->bytes += f->size;
    expire(fs, f->used_ns);
    cd_mutex_unlock(&fs->lock);
}

/* Gives a reference to a filter that is used now, or NULL. */
static filter *find(cd_filters *fs, const u8 id[ID_SIZE])
{
    u64 now = cd_clock_mono_ns(fs->clock);
    cd_mutex_lock(&fs->lock);
    expire(fs, now);
    filter **slot = cd_hmap_get(&fs->by_id, id);
    filter *f = slot == NULL ? NULL : *slot;
    if (f != NULL) {
        f->refs++;
        f->used_ns = now;
        cd_list_del(&f->by_use);
        cd_list_push_back(&fs->by_use, &f->by_use);
    }
    cd_mutex_unlock(&fs->lock);
    return f;
}

static void give_back(cd_filters *fs, filter *f)
{
    cd_mutex_lock(&fs->lock);
    unref(f);
    cd_mutex_unlock(&fs->lock);
}

static bool remove_id(cd_filters *fs, const u8 id[ID_SIZE])
{
    cd_mutex_lock(&fs->lock);
    expire(fs, cd_clock_mono_ns(fs->clock));
    filter **slot = cd_hmap_get(&fs->by_id, id);
    bool found = slot != NULL;
    if (found) {
        forget(fs, *slot);
    }
    cd_mutex_unlock(&fs->lock);
    return found;
}

/* --- ids --- */

/* "0x" and the digits without leading zeros. */
static void write_id(cd_json_w *w, const u8 id[ID_SIZE])
{
    char text[3 + 2 * ID_SIZE];
    char digits[2 * ID_SIZE + 1] = {0};
    usize skip = 0;
    cd_hex_fmt(digits, cd_bytes_of(id, ID_SIZE));
    while (skip < 2 * ID_SIZE - 1 && digits[skip] == '0') {
        skip++;
    }
    (void)snprintf(text, sizeof text, "0x%s", digits + skip);
    cd_json_w_cstr(w, text);
}

/* Reads parameter 0; *is_id is false for a text that no filter has. */
static cd_err read_id(cd_rpc_call *call, u8 id[ID_SIZE], bool *is_id)
{
    cd_bytes text;
    char digits[2 * ID_SIZE];
    if (cd_json_str(&text, cd_rpc_arg(call, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: not a filter id");
    }
    *is_id = text.n > 2 && text.n <= 2 + sizeof digits && memcmp(text.p, "0x", 2) == 0;
    if (*is_id) {
        usize pad = sizeof digits - (text.n - 2);
        memset(digits, '0', pad);
        memcpy(digits + pad, text.p + 2, text.n - 2);
        *is_id = cd_hex_parse(id, cd_bytes_of((const u8 *)digits, sizeof digits)) == CD_OK;
    }
    return CD_OK;
}

static cd_filters *filters_of(const cd_rpc_call *call)
{
    return cd_api_of(call)->service.filters;
}

/* Gives a reference to the filter of parameter 0. */
static cd_err get(cd_rpc_call *call, filter **out)
{
    u8 id[ID_SIZE];
    bool is_id;
    CD_TRY(read_id(call, id, &is_id));
    *out = is_id ? find(filters_of(call), id) : NULL;
    return *out != NULL ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "filter not found");
}

/* --- polls --- */

static void put_hash(void *ctx, u64 number, const cd_hash32 *hash)
{
    (void)number;
    cd_json_w_hex(ctx, cd_bytes_of(hash->b, 32));
}

static cd_err blocks_since(cd_rpc_call *call, filter *f)
{
    cd_view *view = cd_api_view(call);
    u64 head = cd_view_head(view)->block.header.number;
    cd_err e = CD_OK;
    cd_json_w_arr(call->out);
    if (f->at.height <= head) {
        u64 to = cd_min_u64(head + 1, f->at.height + HASHES_MAX);
        e = cd_accepted_hashes(cd_view_kv(view), cd_view_rules(view)->layout, f->at.height, to, put_hash, call->out);
        f->at.height = e == CD_OK ? to : f->at.height;
    }
    cd_json_w_arr_end(call->out);
    return e == CD_OK ? CD_OK : cd_api_store(call, e);
}

/* The ring goes on without f when it is too slow: rather none than some. */
static cd_err pending_since(cd_rpc_call *call, filter *f)
{
    cd_filters *fs = filters_of(call);
    cd_mutex_lock(&fs->lock);
    bool is_there = fs->ring_end - f->seq <= RING_SIZE;
    usize cnt = is_there ? (usize)(fs->ring_end - f->seq) : 0;
    cd_hash32 *hashes = cd_arena_array(call->arena, cd_hash32, cnt);
    for (usize i = 0; i < cnt; i++) {
        hashes[i] = fs->ring[f->seq++ % RING_SIZE];
    }
    cd_mutex_unlock(&fs->lock);
    if (!is_there) {
        (void)remove_id(fs, f->id);
        return cd_rpc_fail(call, CD_RPC_SERVER, "filter not found");
    }
    cd_json_w_arr(call->out);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_hex(call->out, cd_bytes_of(hashes[i].b, 32));
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}

/* f is locked. */
static cd_err changes(cd_rpc_call *call, filter *f)
{
    cd_view *view = cd_api_view(call);
    if (f->kind == FILTER_PENDING) {
        return pending_since(call, f);
    }
    cd_err e = cd_feed_follow(&f->at, view);
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    if (f->at.epoch > cd_view_epoch(view)) { /* another poll has seen a later view */
        cd_json_w_arr(call->out);
        cd_json_w_arr_end(call->out);
        return CD_OK;
    }
    return f->kind == FILTER_BLOCKS ? blocks_since(call, f) : cd__logs_since(call, &f->at, &f->want, &f->range);
}

/* --- methods --- */

static filter *filter_new(cd_rpc_call *call, filter_kind kind)
{
    const cd_view *view = cd_api_view(call);
    filter *f = cd_new(filter);
    f->kind = kind;
    f->at = (cd_cursor){
        .epoch = cd_view_epoch(view),
        .height = cd_view_head(view)->block.header.number + 1,
    };
    return f;
}

static cd_err install(cd_rpc_call *call, filter *f)
{
    u8 id[ID_SIZE];
    add(filters_of(call), f);
    memcpy(id, f->id, ID_SIZE);
    write_id(call->out, id);
    return CD_OK;
}

cd_err cd__eth_new_filter(cd_rpc_call *call)
{
    cd__log_range range;
    cd_log_criteria want;
    cd_json v = cd_rpc_arg(call, 0);
    CD_TRY(cd__logs_read_range(call, &range, v, 0));
    CD_TRY(cd_log_criteria_read(call, &want, call->arena, v, 0));
    if (!range.has_hash && range.from.tag == CD_TAG_NUMBER && range.to.tag == CD_TAG_NUMBER &&
        range.from.number > range.to.number) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "invalid block range params");
    }
    filter *f = filter_new(call, FILTER_LOGS);
    f->range = range;
    if (range.from.tag == CD_TAG_NUMBER) {
        f->at.height = cd_max_u64(f->at.height, range.from.number);
    }
    cd_log_criteria_dup(&f->want, &f->arena, &want);
    return install(call, f);
}

cd_err cd__eth_new_block_filter(cd_rpc_call *call)
{
    return install(call, filter_new(call, FILTER_BLOCKS));
}

cd_err cd__eth_new_pending_filter(cd_rpc_call *call)
{
    return install(call, filter_new(call, FILTER_PENDING));
}

cd_err cd__eth_get_filter_changes(cd_rpc_call *call)
{
    filter *f;
    CD_TRY(get(call, &f));
    cd_mutex_lock(&f->lock);
    cd_err e = changes(call, f);
    cd_mutex_unlock(&f->lock);
    give_back(filters_of(call), f);
    return e;
}

cd_err cd__eth_get_filter_logs(cd_rpc_call *call)
{
    filter *f;
    CD_TRY(get(call, &f));
    cd_err e = f->kind == FILTER_LOGS ? cd__logs_answer(call, &f->want, &f->range)
                                      : cd_rpc_fail(call, CD_RPC_SERVER, "filter not found");
    give_back(filters_of(call), f);
    return e;
}

cd_err cd__eth_uninstall_filter(cd_rpc_call *call)
{
    u8 id[ID_SIZE];
    bool is_id;
    CD_TRY(read_id(call, id, &is_id));
    cd_json_w_bool(call->out, is_id && remove_id(filters_of(call), id));
    return CD_OK;
}
