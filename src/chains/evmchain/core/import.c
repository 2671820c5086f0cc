#include "chains/evmchain/core/import.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "chains/evmchain/core/chain_priv.h"

enum { AHEAD = 4, CHUNK = 32 };

typedef struct ahead ahead;

/* Some transactions of one block whose senders are to be recovered. */
typedef struct chunk {
    ahead *of;
    cd_tx *txs;
    usize cnt;
} chunk;

/* A block whose senders are being recovered and whose body is being written. */
struct ahead {
    cd_chain_block *block;
    cd_kv *kv;
    chunk *chunks; /* in the block's arena */
    cd_mutex lock; /* protects the rest */
    cd_cond done;
    usize open; /* chunks not finished */
    cd_err err;
    bool is_writing;
    cd_err write_err;
};

/* The body of a block is without effect until the head says that the block is accepted. */
static void write_body(void *arg)
{
    ahead *a = arg;
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, a->kv);
    cd_chaindb_put_body(&batch, &a->block->block, a->block->rlp);
    cd_err e = cd_kv_commit(a->kv, &batch, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&batch);
    cd_mutex_lock(&a->lock);
    a->write_err = e;
    a->is_writing = false;
    cd_cond_wake_all(&a->done);
    cd_mutex_unlock(&a->lock);
}

static void recover_chunk(void *arg)
{
    chunk *k = arg;
    cd_err e = cd_tx_recover_many(k->txs, k->cnt, true);
    cd_mutex_lock(&k->of->lock);
    k->of->err = k->of->err == CD_OK ? e : k->of->err;
    if (--k->of->open == 0) {
        cd_cond_wake_all(&k->of->done);
    }
    cd_mutex_unlock(&k->of->lock);
}

/* Decodes the next block of in and hands its chunks to the pool. */
static cd_err start(cd_chain *c, ahead *a, cd_rlp *in, cd_pool *pool, cd_errinfo *why)
{
    cd_rlp_item item = cd_rlp_next(in);
    if (in->err != CD_OK) {
        return cd_fail(why, in->err, "malformed block list");
    }
    CD_TRY(cd__chain_decode(c, &a->block, item.raw, why));
    cd_block *b = &a->block->block;
    usize cnt = (b->tx_cnt + CHUNK - 1) / CHUNK;
    a->chunks = cd_arena_array(&a->block->arena, chunk, cnt);
    a->open = cnt;
    a->err = CD_OK;
    for (usize i = 0; i < cnt; i++) {
        a->chunks[i] = (chunk){
            .of = a,
            .txs = b->txs + i * CHUNK,
            .cnt = cd_min_u64(CHUNK, b->tx_cnt - i * CHUNK),
        };
        if (cd_pool_submit(pool, recover_chunk, &a->chunks[i]) != CD_OK) {
            recover_chunk(&a->chunks[i]);
        }
    }
    a->kv = c->cfg.kv;
    a->write_err = CD_OK;
    a->is_writing = cd_pool_slots(pool) > 1;
    if (a->is_writing && cd_pool_submit(pool, write_body, a) != CD_OK) {
        write_body(a);
    }
    return CD_OK;
}

/* Waits for a block's senders, or for its body too, working along. */
static cd_err finish(ahead *a, cd_pool *pool, bool with_body)
{
    cd_mutex_lock(&a->lock);
    while (a->open != 0 || (with_body && a->is_writing)) {
        cd_mutex_unlock(&a->lock);
        bool has_helped = cd_pool_help(pool);
        cd_mutex_lock(&a->lock);
        if (!has_helped && (a->open != 0 || (with_body && a->is_writing))) {
            cd_cond_wait(&a->done, &a->lock);
        }
    }
    cd_err e = with_body ? a->write_err : a->err;
    cd_mutex_unlock(&a->lock);
    return e;
}

/* Takes in one block whose senders are known or will be; the block ends. */
static cd_err take(cd_chain *c, ahead *a, cd_pool *pool, u64 now_ms, cd_errinfo *why)
{
    cd_err e = finish(a, pool, false);
    if (e != CD_OK) {
        (void)cd_fail(why, e, "invalid transaction signature");
    } else {
        e = cd__chain_check_form(c, &a->block->block, why);
    }
    if (e == CD_OK) {
        e = cd_chain_verify(c, a->block, now_ms, why);
    }
    cd_err written = finish(a, pool, true);
    if (e == CD_OK) {
        e = written;
        a->block->has_body_stored = cd_pool_slots(pool) > 1;
    }
    if (e == CD_OK) {
        e = cd_chain_accept(c, a->block, why);
    }
    if (e != CD_OK && why != NULL) {
        char text[sizeof why->msg];
        memcpy(text, why->msg, sizeof text);
        e = cd_fail(why, e, "block %llu: %.200s", (unsigned long long)a->block->block.header.number, text);
    }
    cd_chain_drop(c, a->block);
    a->block = NULL;
    return e;
}

cd_err cd_chain_import(cd_chain *c, cd_bytes rlps, cd_pool *pool, u64 now_ms, cd_errinfo *why)
{
    ahead *ring = cd_new_array(ahead, AHEAD);
    cd_rlp in = cd_rlp_init(rlps);
    usize first = 0;
    usize cnt = 0;
    cd_err e = CD_OK;
    /* Without workers a block's senders are recovered in turn: no sense in running ahead. */
    usize depth = cd_pool_slots(pool) > 1 ? AHEAD : 1;
    for (usize i = 0; i < AHEAD; i++) {
        cd_mutex_init(&ring[i].lock);
        cd_cond_init(&ring[i].done);
    }
    while (e == CD_OK && (cnt != 0 || cd_rlp_more(&in))) {
        while (e == CD_OK && cnt < depth && cd_rlp_more(&in)) {
            e = start(c, &ring[(first + cnt) % AHEAD], &in, pool, why);
            cnt += e == CD_OK ? 1 : 0;
        }
        if (e == CD_OK) {
            e = take(c, &ring[first], pool, now_ms, why);
            first = (first + 1) % AHEAD;
            cnt--;
        }
    }
    for (; cnt != 0; cnt--) {
        (void)finish(&ring[first], pool, true);
        cd_chain_drop(c, ring[first].block);
        first = (first + 1) % AHEAD;
    }
    for (usize i = 0; i < AHEAD; i++) {
        cd_cond_fini(&ring[i].done);
        cd_mutex_fini(&ring[i].lock);
    }
    cd_free(ring);
    return e;
}
