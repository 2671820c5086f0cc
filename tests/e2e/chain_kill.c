/* Kills a process that runs an EVM chain - transactions sent, blocks accepted, states edited, runs of empty blocks - with
 * SIGKILL at random points, again and again on one data directory, and checks after every death:
 *
 *   - the chain opens, without an operator;
 *   - its head is at least the last block that the dead process had reported, with block, receipts and senders;
 *   - the root recomputed from the flat tables is the head's;
 *   - every transaction that the dead process had acknowledged is in a block or waits in the pool.
 *
 * usage: chain_kill DIR [KILLS [SEED]]   DIR is made, used and removed; default 12 kills, 500 when CANDELA_TEST_FULL is 1. */
#include "base/fileio.h"
#include "base/num_text.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/view.h"
#include "store/flat.h"
#include "tests/e2e/victim.h"
#include "wallet/hd.h"

#include <stdlib.h>
#include <time.h>

enum { LAYOUT = 1, CHAIN_ID = 1337, START = 1700000000 };

typedef struct node {
    cd_kv *kv;
    cd_chain *chain;
    cd_txpool *pool;
    cd_chain_source src;
    u8 secret[32];
    cd_addr20 me;
    u64 nonce; /* in the state of the head */
} node;

static cd_err follow(node *n)
{
    cd_account acct = {0};
    bool found;
    CD_TRY(n->src.world.src.account(&n->src.world.src, &acct, &found, &n->me));
    n->nonce = acct.nonce;
    const cd_header *h = &cd_chain_head(n->chain)->header;
    cd_txpool_head head = {
        .fork = CD_CANCUN,
        .chain_id = CHAIN_ID,
        .gas_limit = h->gas_limit,
        .base_fee = h->base_fee,
    };
    cd_txpool_set_head(n->pool, &head, &n->src.world.src);
    return cd_txpool_settle(n->pool);
}

static void close_node(node *n)
{
    cd_txpool_free(n->pool);
    if (n->chain != NULL) {
        cd_world_source_fini(&n->src.world);
    }
    cd_chain_close(n->chain);
    cd_kv_close(n->kv);
}

static cd_err open_node(node *n, const char *dir, cd_errinfo *why)
{
    u8 seed[64];
    usize back;
    cd_buf genesis = {0};
    cd_tx probe = {.type = CD_TX_DYNAMIC_FEE, .is_protected = true, .chain_id = CHAIN_ID};
    *n = (node){0};
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    CD_TRY(cd_hd_account(n->secret, seed, 0));
    CD_TRY(cd_tx_sign(&probe, n->secret));
    n->me = probe.sender;
    cd_kv_cfg store = {.dir = dir, .cache_bytes = 8 << 20, .layout = LAYOUT};
    CD_TRY(cd_kv_rocksdb_open(&n->kv, &store, why));
    cd_err e = cd_dev_genesis(&genesis, CHAIN_ID, START);
    if (e == CD_OK) {
        cd_chain_cfg cfg = {
            .kv = n->kv,
            .genesis = cd_buf_bytes(&genesis),
            .is_dev = true,
            .history = UINT64_MAX,
            .commit_interval = 16,
            .cache_bytes = 1 << 20,
        };
        e = cd_chain_open(&n->chain, &cfg, why);
    }
    if (e == CD_OK) {
        n->pool = cd_txpool_new(&(cd_txpool_cfg){.journal = n->kv});
        cd_chain_source_init(&n->src, n->chain, NULL);
        e = follow(n);
    }
    if (e == CD_OK) {
        e = cd_txpool_load(n->pool, &back, why);
    }
    cd_buf_fini(&genesis);
    return e;
}

/* --- the process to be killed -------------------------------------------------------------------- */

/* Tells the height and the number of transactions acknowledged. */
static bool tell(node *n, int fd)
{
    u64 acked = cd_txpool_nonce(n->pool, &n->me, n->nonce);
    u64 word = cd_chain_head(n->chain)->header.number << 32 | acked;
    return write(fd, &word, sizeof word) == (ssize_t)sizeof word;
}

static cd_err send(node *n)
{
    static const u64 gwei = 1000000000;
    cd_tx tx = {
        .type = CD_TX_DYNAMIC_FEE,
        .is_protected = true,
        .chain_id = CHAIN_ID,
        .nonce = cd_txpool_nonce(n->pool, &n->me, n->nonce),
        .gas_limit = 21000,
        .tip_cap = cd_u256_from_u64(gwei),
        .fee_cap = cd_u256_from_u64(100 * gwei),
        .to = {.b = {0x77}},
        .value = cd_u256_one(),
    };
    cd_buf raw = {0};
    cd_hash32 hash;
    CD_TRY(cd_tx_sign(&tx, n->secret));
    cd_tx_enc(&raw, &tx);
    cd_err e = cd_txpool_add(n->pool, &hash, cd_buf_bytes(&raw), NULL);
    cd_buf_fini(&raw);
    return e;
}

static cd_err mine(node *n)
{
    cd_chain_block *b;
    CD_TRY(cd_chain_build(n->chain, &b, n->pool, cd_chain_head(n->chain)->header.time + 1, NULL));
    cd_err e = cd_chain_accept(n->chain, b, NULL);
    cd_chain_drop(n->chain, b);
    return e;
}

static cd_err change(void *ctx, cd_state *st, cd_errinfo *why)
{
    (void)why;
    cd_u256 balance = cd_u256_from_u64(*(const u64 *)ctx);
    cd_addr20 who = {.b = {0x55}};
    cd_state_set_balance(st, cd_state_acct(st, &who), &balance);
    return CD_OK;
}

static cd_err step(node *n, u64 i)
{
    cd_header_wish wish = {.time = cd_chain_head(n->chain)->header.time + 1};
    switch (i % 8) {
    case 3:
        return mine(n);
    case 5:
        return cd_chain_edit(n->chain, change, &i, NULL);
    case 7:
        return i % 32 == 31 ? cd_chain_mine_empty(n->chain, 40, 2, &wish, NULL) : mine(n);
    default:
        return send(n);
    }
}

static int victim(const char *dir, int fd)
{
    node n;
    cd_errinfo why = {0};
    if (open_node(&n, dir, &why) != CD_OK) {
        (void)fprintf(stderr, "victim: %s\n", why.msg);
        return 1;
    }
    /* Most lives are short: each begins elsewhere in the pattern. */
    for (u64 i = cd_chain_head(n.chain)->header.number + n.nonce;; i++) {
        cd_err e = step(&n, i);
        if ((e != CD_OK && e != CD_ENOENT) || follow(&n) != CD_OK || !tell(&n, fd)) {
            (void)fprintf(stderr, "victim: step %llu: %s\n", (unsigned long long)i, cd_err_str(e));
            return 1;
        }
    }
}

/* --- what it left ------------------------------------------------------------------------------- */

/* The newest blocks: bytes, receipts, senders. */
static cd_err check_blocks(node *n, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_view *v = cd_view_newest(n->chain);
    u64 head = cd_view_head(v)->block.header.number;
    cd_err e = CD_OK;
    for (u64 h = head > 100 ? head - 100 : 0; h <= head && e == CD_OK; h++) {
        const cd_accepted *acc = NULL;
        e = cd_view_block(v, &acc, &a, h);
        for (usize i = 0; e == CD_OK && i < acc->block.tx_cnt; i++) {
            e = acc->receipts[i].ok && cd_addr20_eq(&acc->block.txs[i].sender, &n->me)
                    ? CD_OK
                    : CD_ECORRUPT;
        }
        if (e != CD_OK) {
            e = cd_fail(why, e, "block %llu: %s", (unsigned long long)h, cd_err_str(e));
        }
    }
    cd_view_unref(v);
    cd_arena_fini(&a);
    return e;
}

static cd_err inspect(const char *dir, u64 last, cd_errinfo *why)
{
    node n;
    cd_flat_head head;
    cd_hash32 root;
    cd_err e = open_node(&n, dir, why);
    if (e == CD_OK && cd_chain_head(n.chain)->header.number < last >> 32) {
        e = cd_fail(why, CD_ECORRUPT, "an accepted block is gone");
    }
    if (e == CD_OK && cd_txpool_nonce(n.pool, &n.me, n.nonce) < (u32)last) {
        e = cd_fail(why, CD_ECORRUPT, "an acknowledged transaction is gone");
    }
    if (e == CD_OK) {
        e = check_blocks(&n, why);
    }
    if (e == CD_OK) {
        e = cd_flat_head_get(n.kv, &head);
    }
    if (e == CD_OK) {
        e = cd_flat_root(n.kv, &root, why);
    }
    if (e == CD_OK && !cd_hash32_eq(&root, &head.root)) {
        e = cd_fail(why, CD_ECORRUPT, "the state does not have the head's root");
    }
    close_node(&n);
    return e;
}

int main(int argc, char **argv)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    u64 kills = full != NULL && strcmp(full, "1") == 0 ? 500 : 12;
    u64 seed = (u64)time(NULL);
    if (argc < 2 || (argc > 2 && cd_u64_parse(&kills, cd_bytes_str(argv[2])) != CD_OK) ||
        (argc > 3 && cd_u64_parse(&seed, cd_bytes_str(argv[3])) != CD_OK)) {
        (void)fprintf(stderr, "usage: chain_kill DIR [KILLS [SEED]]\n");
        return 2;
    }
    const char *dir = argv[1];
    cd_errinfo why = {0};
    if (cd_fs_remove_tree(cd_fs_real(), dir, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    cd_rng rng = cd_rng_seeded(seed);
    u64 last = 0;
    u64 done = 0;
    bool ok = true;
    for (; ok && done < kills; done++) {
        ok = victim_run(victim, dir, &rng, &last);
        if (!ok) {
            (void)snprintf(why.msg, sizeof why.msg, "the victim ended by itself");
        } else {
            ok = inspect(dir, last, &why) == CD_OK;
        }
        if (!ok) {
            (void)printf("FAIL seed %llu, kill %llu: %s\n", (unsigned long long)seed,
                         (unsigned long long)done, why.msg);
        }
    }
    if (ok && cd_fs_remove_tree(cd_fs_real(), dir, &why) != CD_OK) {
        (void)printf("FAIL %s\n", why.msg);
        ok = false;
    }
    (void)printf("height %llu, %llu transactions, seed %llu\n", (unsigned long long)(last >> 32),
                 (unsigned long long)(u32)last, (unsigned long long)seed);
    (void)printf("%llu passed, %d failed\n", (unsigned long long)(done - (ok ? 0 : 1)), ok ? 0 : 1);
    return ok ? 0 : 1;
}
