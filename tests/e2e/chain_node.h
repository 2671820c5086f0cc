/* tests/e2e/chain_node.h - a development chain with its pool on a directory, as the tests of dying processes and
 * failing disks run it in their own process.
 *
 * Threading: confined. */
#ifndef CD_TESTS_E2E_CHAIN_NODE_H
#define CD_TESTS_E2E_CHAIN_NODE_H

#include "chains/evmchain/core/view.h"
#include "chains/evmchain/dev/genesis.h"
#include "store/flat.h"
#include "wallet/hd.h"

enum { NODE_LAYOUT = 1, NODE_CHAIN_ID = 1337, NODE_START = 1700000000, NODE_SENDERS = 3 };

static const u64 NODE_GWEI = 1000000000;

/* The first accounts of the development phrase. */
typedef struct node_accounts {
    u8 secret[NODE_SENDERS][32];
    cd_addr20 addr[NODE_SENDERS];
} node_accounts;

typedef struct node_cfg {
    const char *dir;
    cd_bytes genesis;
    const node_accounts *accounts;
    cd_kv_sync sync;
} node_cfg;

typedef struct chain_node {
    const node_accounts *accounts;
    cd_kv *kv;
    cd_chain *chain;
    cd_txpool *pool;
    cd_chain_source src;
    u64 nonce[NODE_SENDERS]; /* in the state of the head */
} chain_node;

/* A transaction to be completed and signed. */
static inline cd_tx node_tx(u64 nonce)
{
    return (cd_tx){
        .type = CD_TX_DYNAMIC_FEE,
        .is_protected = true,
        .chain_id = NODE_CHAIN_ID,
        .nonce = nonce,
        .tip_cap = cd_u256_from_u64(NODE_GWEI),
        .fee_cap = cd_u256_from_u64(100 * NODE_GWEI),
    };
}

static inline cd_err node_accounts_make(node_accounts *out)
{
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < NODE_SENDERS; i++) {
        cd_tx probe = node_tx(0);
        CD_TRY(cd_hd_account(out->secret[i], seed, i));
        CD_TRY(cd_tx_sign(&probe, out->secret[i]));
        out->addr[i] = probe.sender;
    }
    return CD_OK;
}

/* Brings nonces and pool to the head. */
static inline cd_err node_follow(chain_node *n)
{
    const cd_header *h = &cd_chain_head(n->chain)->header;
    cd_state_source *src = &n->src.world.src;
    for (u32 i = 0; i < NODE_SENDERS; i++) {
        cd_account acct = {0};
        bool found;
        CD_TRY(src->account(src, &acct, &found, &n->accounts->addr[i]));
        n->nonce[i] = acct.nonce;
    }
    cd_txpool_head head = {
        .fork = CD_CANCUN,
        .chain_id = NODE_CHAIN_ID,
        .gas_limit = h->gas_limit,
        .base_fee = h->base_fee,
    };
    cd_txpool_set_head(n->pool, &head, src);
    return cd_txpool_recheck(n->pool);
}

static inline void node_close(chain_node *n)
{
    cd_txpool_free(n->pool);
    if (n->chain != NULL) {
        cd_world_source_fini(&n->src.world);
    }
    cd_chain_close(n->chain);
    cd_kv_close(n->kv);
}

/* On an error too, *n is to be closed. */
static inline cd_err node_open(chain_node *n, const node_cfg *cfg, cd_errinfo *why)
{
    usize back;
    cd_kv_cfg store = {.dir = cfg->dir, .cache_bytes = 8 << 20, .layout = NODE_LAYOUT};
    *n = (chain_node){.accounts = cfg->accounts};
    CD_TRY(cd_kv_rocksdb_open(&n->kv, &store, why));
    cd_chain_cfg chain = {
        .kv = n->kv,
        .genesis = cfg->genesis,
        .is_dev = true,
        .sync = cfg->sync,
        .history = UINT64_MAX,
        .commit_interval = 16,
        .cache_bytes = 1 << 20,
    };
    CD_TRY(cd_chain_open(&n->chain, &chain, why));
    n->pool = cd_txpool_new(&(cd_txpool_cfg){.journal = n->kv});
    cd_chain_source_init(&n->src, n->chain, NULL);
    CD_TRY(node_follow(n));
    return cd_txpool_load(n->pool, &back, why);
}

static inline cd_err node_mine(chain_node *n, cd_errinfo *why)
{
    cd_chain_block *b;
    u64 time = cd_chain_head(n->chain)->header.time + 1;
    CD_TRY(cd_chain_build(n->chain, &b, n->pool, time, why));
    cd_err e = cd_chain_accept(n->chain, b, why);
    cd_chain_drop(n->chain, b);
    return e;
}

/* Edits the head's state; ctx: the balance that somebody gets, a u64. */
static inline cd_err node_set_balance(void *ctx, cd_state *st, cd_errinfo *why)
{
    (void)why;
    cd_u256 balance = cd_u256_from_u64(*(const u64 *)ctx);
    cd_addr20 who = {.b = {0x55}};
    cd_state_set_balance(st, cd_state_acct(st, &who), &balance);
    return CD_OK;
}

/* The root of the flat tables must be the head's. */
static inline cd_err node_check_root(chain_node *n, cd_errinfo *why)
{
    cd_flat_head head;
    cd_hash32 root;
    CD_TRY(cd_flat_head_get(n->kv, &head));
    CD_TRY(cd_flat_root(n->kv, &root, why));
    return cd_hash32_eq(&root, &head.root) ? CD_OK
                                           : cd_fail(why, CD_ECORRUPT, "the state does not have the head's root");
}

#endif
