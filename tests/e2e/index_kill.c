/* Kills a process that runs a development chain with the explorer's index - contracts at work, the chain taken back
 * now and then - with SIGKILL at random points, again and again on one data directory, and checks after every death:
 *
 *   - chain and index open, without an operator;
 *   - nothing that was reported is gone;
 *   - the index says what a walk over the whole chain finds.
 *
 * usage: index_kill DIR [KILLS [SEED]]   DIR is made, used and removed; default 12 kills, 200 when CANDELA_TEST_FULL
 * is 1. */
#include "explorer/test/acts.h"
#include "explorer/test/naive.h"
#include "tests/e2e/chain_victim.h"

#include <time.h>

enum { HEIGHT_MAX = 60, PATIENCE_MS = 60000 };

static node_cfg cfg; /* of every life */

typedef struct life {
    chain_node n;
    cd_index *index;
    acts acts;
} life;

static cd_err life_open(life *l, cd_errinfo *why)
{
    CD_TRY(node_open(&l->n, &cfg, why));
    const cd_index_cfg index = {.chain = l->n.chain, .kv = l->n.kv};
    CD_TRY(cd_index_open(&l->index, &index, why));
    acts_init(&l->acts, &cfg.accounts->addr[0], cd_chain_head(l->n.chain)->header.time);
    return CD_OK;
}

static void life_close(life *l)
{
    node_close(&l->n);
    cd_index_free(l->index);
}

static u64 progress(life *l)
{
    cd_view *v = cd_view_newest(l->n.chain);
    u64 told = cd_view_epoch(v) << 32 | cd_view_head(v)->block.header.number;
    cd_view_unref(v);
    return told;
}

/* --- the process to be killed --- */

static cd_err send(life *l)
{
    usize who = cd_rng_below(&l->acts.rng, 2);
    cd_tx tx = node_tx(cd_txpool_nonce(l->n.pool, &cfg.accounts->addr[who], l->n.nonce[who]));
    cd_buf data = {0};
    cd_buf raw = {0};
    cd_hash32 hash;
    acts_next(&l->acts, &tx, &data, who == 0);
    cd_err e = cd_tx_sign(&tx, cfg.accounts->secret[who]);
    if (e == CD_OK) {
        cd_tx_enc(&raw, &tx);
        e = cd_txpool_add(l->n.pool, &hash, cd_buf_bytes(&raw), NULL);
    }
    cd_buf_fini(&raw);
    cd_buf_fini(&data);
    return e;
}

static cd_err step(life *l, u64 i)
{
    u64 head = cd_chain_head(l->n.chain)->header.number;
    cd_header_wish wish = {.time = cd_chain_head(l->n.chain)->header.time + 1};
    if (head > HEIGHT_MAX || (head > 4 && cd_rng_below(&l->acts.rng, 24) == 0)) {
        u64 to = head - 1 - cd_rng_below(&l->acts.rng, head > HEIGHT_MAX ? head - 1 : 4);
        return cd_chain_truncate(l->n.chain, cd_world_version_of(to), NULL);
    }
    return i % 4 != 3    ? send(l)
           : i % 64 == 3 ? cd_chain_mine_empty(l->n.chain, 5, 2, &wish, NULL)
                         : node_mine(&l->n, NULL);
}

static int victim(const char *dir, int fd)
{
    static life l;
    cd_errinfo why = {0};
    cfg.dir = dir;
    if (life_open(&l, &why) != CD_OK) {
        (void)fprintf(stderr, "victim: %s\n", why.msg);
        return 1;
    }
    for (u64 i = cd_chain_head(l.n.chain)->header.number;; i++) {
        cd_err e = step(&l, i);
        e = e == CD_OK || e == CD_ENOENT ? node_follow(&l.n) : e;
        u64 told = e == CD_OK ? progress(&l) : 0;
        if (e != CD_OK || write(fd, &told, sizeof told) != (ssize_t)sizeof told) {
            (void)fprintf(stderr, "victim: step %llu: %s\n", (unsigned long long)i, cd_err_str(e));
            return 1;
        }
    }
}

/* --- what it left --- */

static cd_err check_index(life *l, cd_errinfo *why)
{
    cd_index_state s = {0};
    cd_err e = CD_OK;
    for (u32 ms = 0; ms < PATIENCE_MS && e == CD_OK && !s.is_whole; ms++) {
        e = cd_chain_publish(l->n.chain, why);
        cd_view *v = cd_view_newest(l->n.chain);
        e = e == CD_OK ? cd_index_state_get(l->index, &s, v) : e;
        cd_view_unref(v);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (e == CD_OK && !s.is_whole) {
        return cd_fail(why, CD_ETIMEOUT, "the index does not catch up");
    }
    cd_view *v = cd_view_newest(l->n.chain);
    e = e == CD_OK ? naive_check(v, why) : e;
    cd_view_unref(v);
    return e;
}

static cd_err inspect(void *ctx, const char *dir, u64 last, u64 *now, cd_errinfo *why)
{
    (void)ctx;
    static life l;
    l = (life){0};
    cfg.dir = dir;
    cd_err e = life_open(&l, why);
    if (e == CD_OK) {
        *now = progress(&l);
        e = *now < last ? cd_fail(why, CD_ECORRUPT, "an accepted block is gone") : e;
    }
    e = e != CD_OK ? e : check_index(&l, why);
    life_close(&l);
    return e;
}

int main(int argc, char **argv)
{
    static const victim_test test = {
        .name = "index_kill",
        .work = victim,
        .check = inspect,
        .full_kills = 200,
    };
    return chain_victim_main(argc, argv, &test, &cfg);
}
