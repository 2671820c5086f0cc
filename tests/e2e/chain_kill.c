/* Kills a process that runs an EVM chain - transactions sent, blocks accepted, states edited, runs of empty blocks -
 * with SIGKILL at random points, again and again on one data directory, and checks after every death:
 *
 *   - the chain opens, without an operator;
 *   - its head is at least the last block that the dead process had reported, with block, receipts and senders;
 *   - the root recomputed from the flat tables is the head's;
 *   - every transaction that the dead process had acknowledged is in a block or waits in the pool.
 *
 * usage: chain_kill DIR [KILLS [SEED]]   DIR is made, used and removed; default 12 kills, 500 when CANDELA_TEST_FULL
 * is 1. */
#include "tests/e2e/chain_victim.h"

static node_cfg cfg; /* of every life */

/* --- the process to be killed --- */

/* What must survive, as the victim's step: the height and the number of transactions acknowledged. */
static u64 progress(chain_node *n)
{
    u64 acked = cd_txpool_nonce(n->pool, &cfg.accounts->addr[0], n->nonce[0]);
    return cd_chain_head(n->chain)->header.number << 32 | acked;
}

static cd_err send(chain_node *n)
{
    cd_tx tx = node_tx(cd_txpool_nonce(n->pool, &cfg.accounts->addr[0], n->nonce[0]));
    cd_buf raw = {0};
    cd_hash32 hash;
    tx.gas_limit = 21000;
    tx.to = (cd_addr20){.b = {0x77}};
    tx.value = cd_u256_one();
    CD_TRY(cd_tx_sign(&tx, cfg.accounts->secret[0]));
    cd_tx_enc(&raw, &tx);
    cd_err e = cd_txpool_add(n->pool, &hash, cd_buf_bytes(&raw), NULL);
    cd_buf_fini(&raw);
    return e;
}

static cd_err step(chain_node *n, u64 i)
{
    cd_header_wish wish = {.time = cd_chain_head(n->chain)->header.time + 1};
    switch (i % 8) {
    case 3:
        return node_mine(n, NULL);
    case 5:
        return cd_chain_edit(n->chain, node_set_balance, &i, NULL);
    case 7:
        return i % 32 == 31 ? cd_chain_mine_empty(n->chain, 40, 2, &wish, NULL) : node_mine(n, NULL);
    default:
        return send(n);
    }
}

static int victim(const char *dir, int fd)
{
    chain_node n;
    cd_errinfo why = {0};
    cfg.dir = dir;
    if (node_open(&n, &cfg, &why) != CD_OK) {
        (void)fprintf(stderr, "victim: %s\n", why.msg);
        return 1;
    }
    /* Most lives are short: each begins elsewhere in the pattern. */
    for (u64 i = cd_chain_head(n.chain)->header.number + n.nonce[0];; i++) {
        cd_err e = step(&n, i);
        e = e == CD_OK || e == CD_ENOENT ? node_follow(&n) : e;
        u64 told = e == CD_OK ? progress(&n) : 0;
        if (e != CD_OK || write(fd, &told, sizeof told) != (ssize_t)sizeof told) {
            (void)fprintf(stderr, "victim: step %llu: %s\n", (unsigned long long)i, cd_err_str(e));
            return 1;
        }
    }
}

/* --- what it left --- */

/* The newest blocks: bytes, receipts, senders. */
static cd_err check_blocks(chain_node *n, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_view *v = cd_view_newest(n->chain);
    u64 head = cd_view_head(v)->block.header.number;
    cd_err e = CD_OK;
    for (u64 h = head > 100 ? head - 100 : 0; h <= head && e == CD_OK; h++) {
        const cd_accepted *acc = NULL;
        e = cd_view_block(v, &acc, &a, h);
        for (usize i = 0; e == CD_OK && i < acc->block.tx_cnt; i++) {
            e = acc->receipts[i].ok && cd_addr20_eq(&acc->block.txs[i].sender, &cfg.accounts->addr[0]) ? CD_OK
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

static cd_err inspect(void *ctx, const char *dir, u64 last, u64 *now, cd_errinfo *why)
{
    (void)ctx;
    chain_node n;
    cfg.dir = dir;
    cd_err e = node_open(&n, &cfg, why);
    if (e == CD_OK) {
        *now = progress(&n);
        e = *now >> 32 < last >> 32 ? cd_fail(why, CD_ECORRUPT, "an accepted block is gone") : e;
        e = (u32)*now < (u32)last ? cd_fail(why, CD_ECORRUPT, "an acknowledged transaction is gone") : e;
    }
    e = e != CD_OK ? e : check_blocks(&n, why);
    e = e != CD_OK ? e : node_check_root(&n, why);
    node_close(&n);
    return e;
}

int main(int argc, char **argv)
{
    static const victim_test test = {
        .name = "chain_kill",
        .work = victim,
        .check = inspect,
        .full_kills = 500,
    };
    return chain_victim_main(argc, argv, &test, &cfg);
}
