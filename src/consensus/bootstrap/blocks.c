#include "consensus/bootstrap/blocks.h"

#include "base/mem/mem.h"

/* Keys: a table and a height. A run is stored under its lowest height; the value is its highest. */
enum { BLOCK = 'b', RUN = 'r', KEY_LEN = 9 };
enum { PIECE = 4096 /* blocks that are let go of at a time */ };

static cd_bytes key_of(u8 key[KEY_LEN], u8 table, u64 height)
{
    key[0] = table;
    cd_put_be64(key + 1, height);
    return cd_bytes_of(key, KEY_LEN);
}

/* No chain comes near this height, and sums of heights and counts stay far from an overflow. */
#define HEIGHT_MAX (1ull << 62)

/* --- runs --- */

/* The index of the first run that ends at or above a height; f->cnt: there is none. */
static u32 run_at(const cd_fetched *f, u64 height)
{
    u32 lo = 0;
    u32 hi = f->cnt;
    while (lo < hi) {
        u32 mid = lo + (hi - lo) / 2;
        if (f->runs[mid].hi < height) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void run_insert(cd_fetched *f, u32 at, cd_fetched_run run)
{
    if (f->cnt == f->cap) {
        f->cap = f->cap == 0 ? 8 : f->cap * 2;
        f->runs = cd_realloc(f->runs, f->cap * sizeof *f->runs);
    }
    memmove(f->runs + at + 1, f->runs + at, (f->cnt - at) * sizeof *f->runs);
    f->runs[at] = run;
    f->cnt++;
}

static void run_remove(cd_fetched *f, u32 at)
{
    f->cnt--;
    memmove(f->runs + at, f->runs + at + 1, (f->cnt - at) * sizeof *f->runs);
}

/* The stored record of a run changes with it: both functions add to the batch. */
static void run_forget(cd_fetched *f, u64 lo)
{
    u8 key[KEY_LEN];
    cd_kv_batch_del(&f->batch, key_of(key, RUN, lo));
}

static void run_write(cd_fetched *f, u32 at)
{
    u8 key[KEY_LEN];
    u8 hi[8];
    cd_put_be64(hi, f->runs[at].hi);
    cd_kv_batch_put(&f->batch, key_of(key, RUN, f->runs[at].lo), cd_bytes_of(hi, sizeof hi));
}

/* Joins a height to the runs beside it, or makes a run of it. False: there are too many runs. */
static bool run_join(cd_fetched *f, u64 height)
{
    u32 at = run_at(f, height);
    bool is_below_next = at < f->cnt && f->runs[at].lo == height + 1;
    bool is_above_prev = at > 0 && f->runs[at - 1].hi + 1 == height;
    if (!is_below_next && !is_above_prev && f->cnt == CD_FETCHED_RUNS_MAX) {
        return false;
    }
    if (is_below_next && is_above_prev) {
        run_forget(f, f->runs[at].lo);
        f->runs[at - 1].hi = f->runs[at].hi;
        run_remove(f, at--);
    } else if (is_below_next) {
        run_forget(f, f->runs[at].lo);
        f->runs[at].lo = height;
    } else if (is_above_prev) {
        f->runs[--at].hi = height;
    } else {
        run_insert(f, at, (cd_fetched_run){.lo = height, .hi = height});
    }
    run_write(f, at);
    return true;
}

/* --- blocks --- */

cd_err cd_fetched_open(cd_fetched *f, cd_kv *kv)
{
    const u8 table = RUN;
    const cd_kv_range all = {.prefix = cd_bytes_of(&table, 1)};
    cd_kv_iter *it;
    *f = (cd_fetched){.kv = kv};
    cd_kv_batch_for(&f->batch, kv);
    CD_TRY(cd_kv_iter_new(&it, kv, &all));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd_bytes value = cd_kv_iter_value(it);
        bool is_run = key.n == KEY_LEN && value.n == 8 && f->cnt < CD_FETCHED_RUNS_MAX;
        cd_fetched_run run = {0};
        if (is_run) {
            run = (cd_fetched_run){.lo = cd_be64(key.p + 1), .hi = cd_be64(value.p)};
        }
        bool follows = f->cnt == 0 || run.lo > f->runs[f->cnt - 1].hi + 1;
        e = is_run && run.lo <= run.hi && run.hi < HEIGHT_MAX && follows ? CD_OK : CD_ECORRUPT;
        if (e == CD_OK) {
            run_insert(f, f->cnt, run);
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    cd_kv_iter_free(it);
    if (e != CD_OK) {
        cd_fetched_close(f);
    }
    return e;
}

void cd_fetched_close(cd_fetched *f)
{
    cd_kv_batch_fini(&f->batch);
    cd_free(f->runs);
    *f = (cd_fetched){0};
}

bool cd_fetched_has(const cd_fetched *f, u64 height)
{
    u32 at = run_at(f, height);
    return at < f->cnt && f->runs[at].lo <= height;
}

u64 cd_fetched_total(const cd_fetched *f)
{
    u64 total = 0;
    for (u32 i = 0; i < f->cnt; i++) {
        total += f->runs[i].hi - f->runs[i].lo + 1;
    }
    return total;
}

u64 cd_fetched_top(const cd_fetched *f)
{
    return f->cnt == 0 ? 0 : f->runs[f->cnt - 1].hi;
}

bool cd_fetched_put(cd_fetched *f, u64 height, cd_bytes block)
{
    u8 key[KEY_LEN];
    if (height >= HEIGHT_MAX || cd_fetched_has(f, height) || !run_join(f, height)) {
        return false;
    }
    cd_kv_batch_put(&f->batch, key_of(key, BLOCK, height), block);
    return true;
}

cd_err cd_fetched_write(cd_fetched *f, cd_kv_sync sync, cd_errinfo *why)
{
    CD_TRY(cd_kv_commit(f->kv, &f->batch, sync, why));
    cd_kv_batch_for(&f->batch, f->kv);
    return CD_OK;
}

cd_err cd_fetched_get(const cd_fetched *f, cd_buf *out, u64 height)
{
    u8 key[KEY_LEN];
    return cd_kv_get(f->kv, out, key_of(key, BLOCK, height));
}

static void del_blocks(cd_fetched *f, u64 lo, u64 hi)
{
    u8 key[KEY_LEN];
    for (u64 h = lo; h <= hi; h++) {
        cd_kv_batch_del(&f->batch, key_of(key, BLOCK, h));
    }
}

/* Deletes the lowest blocks of the first run, at most PIECE of them and none above height. */
static void drop_piece(cd_fetched *f, u64 height)
{
    cd_fetched_run *first = &f->runs[0];
    u64 hi = cd_min_u64(cd_min_u64(first->hi, height), first->lo + PIECE - 1);
    run_forget(f, first->lo);
    del_blocks(f, first->lo, hi);
    if (first->hi == hi) {
        run_remove(f, 0);
    } else {
        first->lo = hi + 1;
        run_write(f, 0);
    }
}

cd_err cd_fetched_drop(cd_fetched *f, u64 height, cd_kv_sync sync, cd_errinfo *why)
{
    while (f->cnt != 0 && f->runs[0].lo <= height) {
        drop_piece(f, height);
        CD_TRY(cd_fetched_write(f, CD_KV_NOSYNC, why));
    }
    return cd_fetched_write(f, sync, why);
}

cd_err cd_fetched_clear(cd_fetched *f, cd_errinfo *why)
{
    return cd_fetched_drop(f, UINT64_MAX, CD_KV_NOSYNC, why);
}
