/* Kills a process that accepts blocks and state edits and goes back, with SIGKILL at random points, again and again
 * on one data directory, and checks after every death:
 *
 *   - the state opens, without an operator, at the recorded root;
 *   - it is at least as far as the dead process had told;
 *   - accounts, slots, history and marks are, byte for byte, those of an undisturbed run in memory at the same step;
 *   - flat tables and tries agree.
 *
 * usage: world_kill DIR [KILLS [SEED]]   DIR is made, used and removed. Goes on until five steps a kill were done too;
 * 12 kills, 200 when CANDELA_TEST_FULL is 1. */
#include "chains/evmchain/core/world/reader.h"
#include "chains/evmchain/core/world/world.h"
#include "tests/e2e/victim.h"

enum { KEPT = 12, COMMIT_INTERVAL = 7, ADDRS = 40, KEYS = 24, CHANGES = 60 };

/* 'z': how many steps were done. 'z' ‖ height: the root after that height. */
static const u8 step_key = 'z';

static cd_bytes root_key(u8 out[9], u64 height)
{
    out[0] = step_key;
    cd_put_be64(out + 1, height);
    return cd_bytes_of(out, 9);
}

static cd_err steps_done(cd_kv *kv, u64 *out)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd_bytes_of(&step_key, 1));
    *out = e == CD_OK ? cd_be64(v.p) : 0;
    cd_buf_fini(&v);
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_err root_at(cd_kv *kv, cd_hash32 *out, u64 height)
{
    u8 key[9];
    cd_buf v = {0};
    CD_TRY(cd_kv_get(kv, &v, root_key(key, height)));
    memcpy(out->b, v.p, 32);
    cd_buf_fini(&v);
    return CD_OK;
}

static void change(cd_state *st, cd_rng *r)
{
    cd_state_begin_tx(st);
    for (u64 i = cd_rng_below(r, CHANGES); i > 0; i--) {
        cd_addr20 addr = {.b = {0x30}};
        addr.b[19] = (u8)cd_rng_below(r, ADDRS);
        cd_u256 key = cd_u256_from_u64(cd_rng_below(r, KEYS));
        cd_u256 v = cd_u256_from_u64(cd_rng_below(r, 3) * cd_rng_u64(r));
        cd_acct *a = cd_state_acct(st, &addr);
        if (cd_rng_below(r, 20) == 0) {
            cd_state_destroy(st, a);
            continue;
        }
        cd_state_touch(st, a, false);
        cd_state_set_nonce(st, a, 1 + cd_rng_below(r, 9));
        cd_state_set_slot(st, cd_state_slot(st, a, &key), &v);
    }
    cd_state_end_tx(st, true);
}

/* What a step does depends on its number and on the state alone. */
static cd_err one_step(cd_world *w, cd_kv *kv, u64 step, cd_errinfo *why)
{
    cd_rng r = cd_rng_seeded(step);
    cd_kv_batch extra = {0};
    cd_flat_head head = {0};
    u8 value[8];
    u8 key[9];
    u64 what = cd_rng_below(&r, 10);
    bool has_head = cd_world_head(w, &head);
    cd_err e = CD_OK;
    cd_put_be64(value, step);
    cd_kv_batch_put(&extra, cd_bytes_of(&step_key, 1), cd_bytes_of(value, 8));
    cd_kv_sync sync = step % 8 == 0 ? CD_KV_SYNC : CD_KV_NOSYNC;
    if (has_head && what == 9 && head.height >= 4) {
        head.height -= 1 + cd_rng_below(&r, 3);
        e = root_at(kv, &head.root, head.height);
        if (e == CD_OK) {
            e = cd_world_truncate(w, cd_world_version_of(head.height), &extra, &head, sync, why);
        }
    } else {
        cd_world_source src;
        cd_world_view *view = NULL;
        cd_world_source_init(&src, w, NULL);
        cd_state *st = cd_state_new(&src.src);
        change(st, &r);
        head.height += has_head && what >= 7 ? 0 : 1;
        e = cd_world_apply(w, &view, &head.root, NULL, st, why);
        if (e == CD_OK) {
            cd_kv_batch_put(&extra, root_key(key, head.height), cd_bytes_of(head.root.b, 32));
            e = cd_world_accept(w, view, &extra, &head, sync, why);
        }
        cd_state_free(st);
        cd_world_source_fini(&src);
    }
    cd_kv_batch_fini(&extra);
    return e;
}

static cd_err open_world(cd_world **out, cd_kv *kv, cd_errinfo *why)
{
    cd_world_cfg cfg = {
        .kv = kv,
        .history = KEPT,
        .commit_interval = COMMIT_INTERVAL,
        .cache_bytes = 1 << 20,
        .preimages = true,
    };
    return cd_world_open(out, &cfg, why);
}

/* The process to be killed. */
static int victim(const char *dir, int fd)
{
    cd_kv *kv = NULL;
    cd_world *w = NULL;
    cd_errinfo why = {0};
    u64 step = 0;
    cd_err e = victim_open_store(&kv, dir, &why);
    e = e != CD_OK ? e : open_world(&w, kv, &why);
    e = e != CD_OK ? e : steps_done(kv, &step);
    while (e == CD_OK) {
        e = one_step(w, kv, ++step, &why);
        if (e == CD_OK && write(fd, &step, sizeof step) != (ssize_t)sizeof step) {
            e = CD_EIO;
        }
    }
    (void)fprintf(stderr, "victim: step %llu: %s\n", (unsigned long long)step, why.msg);
    return 1;
}

/* Compares all keys of one table. */
static cd_err same_table(cd_kv *a, cd_kv *b, const char *table, cd_errinfo *why)
{
    cd_kv_iter *x = NULL;
    cd_kv_iter *y = NULL;
    cd_kv_range range = {.prefix = cd_bytes_str(table)};
    CD_TRY(cd_kv_iter_new(&x, a, &range));
    cd_err e = cd_kv_iter_new(&y, b, &range);
    while (e == CD_OK) {
        bool has_x = cd_kv_iter_next(x);
        bool has_y = cd_kv_iter_next(y);
        if (!has_x && !has_y) {
            break;
        }
        if (has_x != has_y || !cd_bytes_eq(cd_kv_iter_key(x), cd_kv_iter_key(y)) ||
            !cd_bytes_eq(cd_kv_iter_value(x), cd_kv_iter_value(y))) {
            e = cd_fail(why, CD_ECORRUPT, "table %s is not that of an undisturbed run", table);
        }
    }
    cd_kv_iter_free(x);
    cd_kv_iter_free(y);
    return e;
}

typedef struct model {
    cd_kv *kv;
    cd_world *world;
    u64 step;
} model;

static cd_err inspect(void *ctx, const char *dir, u64 last, u64 *step, cd_errinfo *why)
{
    model *m = ctx;
    static const char *const tables[] = {"a", "s", "X", "V", "H", "P", "z"};
    cd_kv *kv = NULL;
    cd_world *w = NULL;
    cd_flat_head head;
    CD_TRY(victim_open_store(&kv, dir, why));
    cd_err e = open_world(&w, kv, why);
    e = e != CD_OK ? e : steps_done(kv, step);
    if (e == CD_OK && *step < last) {
        e = cd_fail(why, CD_ECORRUPT, "step %llu, but %llu was done", (unsigned long long)*step,
                    (unsigned long long)last);
    }
    while (e == CD_OK && m->step < *step) {
        e = one_step(m->world, m->kv, ++m->step, why);
    }
    for (usize i = 0; i < CD_COUNT(tables) && e == CD_OK; i++) {
        e = same_table(kv, m->kv, tables[i], why);
    }
    if (e == CD_OK && cd_world_head(w, &head)) {
        e = cd_world_flush(w, why);
        e = e != CD_OK ? e : cd_flat_check(kv, CD_TRIE_BY_PATH, why);
    }
    cd_world_close(w);
    cd_kv_close(kv);
    return e;
}

int main(int argc, char **argv)
{
    model m = {.kv = cd_kv_mem_open()};
    const victim_test test = {
        .name = "world_kill",
        .work = victim,
        .check = inspect,
        .ctx = &m,
        .full_kills = 200,
        .steps_per_kill = 5,
    };
    cd_errinfo why = {0};
    int rc = 1;
    if (open_world(&m.world, m.kv, &why) == CD_OK) {
        rc = victim_main(argc, argv, &test);
    } else {
        (void)printf("FAIL %s\n0 passed, 1 failed\n", why.msg);
    }
    cd_world_close(m.world);
    cd_kv_close(m.kv);
    return rc;
}
