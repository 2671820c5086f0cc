/* chains/evmchain/core/test/world_past.h - a world under test with a plain model of every version it went through.
 *
 * The model of a version is what the newest state read as when it was accepted; later the same must come out of the
 * history. Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_CORE_TEST_WORLD_PAST_H
#define CD_CHAINS_EVMCHAIN_CORE_TEST_WORLD_PAST_H

#include "base/mem/mem.h"
#include "chains/evmchain/core/test/world_change.h"
#include "chains/evmchain/core/world/world_priv.h"

enum { PAST_ADDRS = 9, PAST_KEYS = 6, PAST_VERSIONS = 400 };

typedef struct past_acct {
    bool found;
    cd_account account;
    cd_u256 slots[PAST_KEYS];
} past_acct;

typedef struct past_state {
    u64 version;
    cd_flat_head head;
    past_acct accts[PAST_ADDRS];
} past_state;

/* A kv that fails on order: commits before that go through. */
typedef struct past_kv {
    cd_kv kv;
    cd_kv *base;
    u64 left; /* commits until one fails; UINT64_MAX = never */
} past_kv;

typedef struct past {
    past_kv front;
    cd_kv *kv; /* the engine */
    cd_world *world;
    cd_world_cfg cfg;
    cd_rng rng;
    cd_errinfo why;
    past_state *states; /* PAST_VERSIONS of them, the last is the head */
    usize cnt;
} past;

static const world_space past_space = {.addrs = PAST_ADDRS, .keys = PAST_KEYS};

static inline cd_err past_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    return cd_kv_get(((past_kv *)kv)->base, out, key);
}

static inline cd_err past_has(cd_kv *kv, bool *found, cd_bytes key)
{
    return cd_kv_has(((past_kv *)kv)->base, found, key);
}

static inline cd_err past_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    past_kv *p = (past_kv *)kv;
    if (p->left == 0) {
        return cd_fail(why, CD_EIO, "failed on order");
    }
    p->left -= p->left != UINT64_MAX ? 1 : 0;
    return cd_kv_commit(p->base, b, sync, why);
}

static inline cd_err past_iter(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    return cd_kv_iter_new(out, ((past_kv *)kv)->base, range);
}

static inline cd_err past_snapshot(cd_kv **out, cd_kv *kv)
{
    return cd_kv_snapshot(out, ((past_kv *)kv)->base);
}

static const cd_kv_ops past_ops = {
    .get = past_get,
    .has = past_has,
    .commit = past_commit,
    .iter_new = past_iter,
    .snapshot = past_snapshot,
};

static inline void past_init(past *p, cd_kv *kv, u64 seed)
{
    *p = (past){
        .front = {.kv = {.ops = &past_ops}, .base = kv, .left = UINT64_MAX},
        .kv = kv,
        .rng = cd_rng_seeded(seed),
        .states = cd_new_array(past_state, PAST_VERSIONS),
    };
    p->cfg = (cd_world_cfg){
        .form = seed % 2 == 0 ? CD_ACCOUNT_4 : CD_ACCOUNT_5,
        .cache_bytes = 1 << 20,
        .preimages = true,
    };
}

static inline void past_fini(past *p)
{
    cd_world_close(p->world);
    cd_free(p->states);
}

static inline cd_err past_open(past *p, u64 commit_interval, u64 history)
{
    p->cfg.kv = &p->front.kv;
    p->cfg.commit_interval = commit_interval;
    p->cfg.history = history;
    return cd_world_open(&p->world, &p->cfg, &p->why);
}

static inline cd_err past_read(past_state *out, cd_state_source *src)
{
    memset(out->accts, 0, sizeof out->accts);
    for (u64 i = 0; i < PAST_ADDRS; i++) {
        past_acct *a = &out->accts[i];
        cd_addr20 addr = world_addr(i);
        CD_TRY(src->account(src, &a->account, &a->found, &addr));
        if (a->found && !cd_hash32_eq(&a->account.code_hash, &CD_HASH_EMPTY_CODE)) {
            cd_bytes code;
            CD_TRY(src->code(src, &code, &a->account.code_hash));
        }
        for (u64 k = 0; k < PAST_KEYS; k++) {
            cd_u256 key = cd_u256_from_u64(k);
            CD_TRY(src->storage(src, &a->slots[k], &addr, &key));
        }
    }
    return CD_OK;
}

static inline bool past_eq(const past_state *a, const past_state *b)
{
    for (u64 i = 0; i < PAST_ADDRS; i++) {
        const past_acct *x = &a->accts[i];
        const past_acct *y = &b->accts[i];
        if (x->found != y->found || memcmp(x->slots, y->slots, sizeof x->slots) != 0 ||
            (x->found &&
             (x->account.nonce != y->account.nonce || !cd_u256_eq(&x->account.balance, &y->account.balance) ||
              !cd_hash32_eq(&x->account.code_hash, &y->account.code_hash) ||
              !cd_hash32_eq(&x->account.storage_root, &y->account.storage_root)))) {
            return false;
        }
    }
    return true;
}

/* Executes cnt changes and accepts them at height; the model follows. On an error the world is as before, and so is the
 * model. */
static inline cd_err past_accept(past *p, u64 height, u64 cnt)
{
    CD_ASSERT(p->cnt < PAST_VERSIONS);
    cd_world_source src;
    cd_world_view *view = NULL;
    past_state *s = &p->states[p->cnt];
    cd_world_source_init(&src, p->world, NULL);
    cd_state *st = cd_state_new(&src.src);
    world_change(st, &p->rng, &past_space, cnt);
    s->head = (cd_flat_head){.height = height};
    cd_put_be64(s->head.block.b, height);
    cd_err e = cd_world_apply(p->world, &view, &s->head.root, NULL, st, &p->why);
    cd_state_free(st);
    if (e == CD_OK) {
        e = cd_world_accept(p->world, view, NULL, &s->head, CD_KV_NOSYNC, &p->why);
        if (e != CD_OK) {
            cd_world_drop(p->world, view);
        }
    }
    if (e == CD_OK) {
        s->version = cd_world_version(p->world);
        e = past_read(s, &src.src);
        p->cnt++;
    }
    cd_world_source_fini(&src);
    return e;
}

/* Goes back to the state with number at, while a block that will never be accepted stands on the head. */
static inline cd_err past_truncate(past *p, usize at, u64 version)
{
    cd_world_source src;
    cd_world_view *view = NULL;
    cd_hash32 root;
    cd_world_source_init(&src, p->world, NULL);
    cd_state *st = cd_state_new(&src.src);
    world_change(st, &p->rng, &past_space, 3);
    cd_err e = cd_world_apply(p->world, &view, &root, NULL, st, &p->why);
    cd_state_free(st);
    cd_world_source_fini(&src);
    CD_TRY(e);
    e = cd_world_truncate(p->world, version, NULL, &p->states[at].head, CD_KV_NOSYNC, &p->why);
    if (e != CD_OK) {
        cd_world_drop(p->world, view);
        return e;
    }
    cd_world_stats stats;
    cd_world_stats_get(p->world, &stats);
    CD_ASSERT(stats.view_cnt == 0 && p->world->views == NULL);
    p->states[at].version = cd_world_version(p->world);
    p->cnt = at + 1;
    return CD_OK;
}

#endif
