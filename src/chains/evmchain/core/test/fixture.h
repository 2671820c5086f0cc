/* What tests of the chain share: a chain with its pool on a store of its own, funded keys, and blocks made from one
 * to the next. Test code: included by one file each. */
#ifndef CD_CHAINS_EVMCHAIN_CORE_TEST_FIXTURE_H
#define CD_CHAINS_EVMCHAIN_CORE_TEST_FIXTURE_H

#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/dev/genesis.h"
#include "wallet/hd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000, KEYS = 2 };

typedef struct node {
    cd_kv *kv;
    cd_chain *chain;
    cd_txpool *pool;
    cd_chain_source src;
} node;

static cd_buf genesis;
static u8 secrets[KEYS][32];

/* Lets the pool follow the head. */
__attribute__((unused)) static void follow(node *n)
{
    const cd_header *h = &cd_chain_head(n->chain)->header;
    cd_txpool_head head = {
        .fork = CD_CANCUN,
        .chain_id = CHAIN_ID,
        .gas_limit = h->gas_limit,
        .min_fee_cap = cd_u256_from_u64(1000000000),
    };
    cd_txpool_set_head(n->pool, &head, &n->src.world.src);
    assert_int_equal(cd_txpool_recheck(n->pool), CD_OK);
}

static void node_open_as(node *n, const cd_chain_cfg *cfg)
{
    cd_errinfo why = {0};
    n->kv = cfg->kv;
    if (cd_chain_open(&n->chain, cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    n->pool = cd_txpool_new(&(cd_txpool_cfg){.keeps_stuck = cfg->is_dev});
    cd_chain_source_init(&n->src, n->chain, NULL);
    follow(n);
}

__attribute__((unused)) static void node_open(node *n, cd_kv *kv)
{
    cd_chain_cfg cfg = {.kv = kv, .genesis = cd_buf_bytes(&genesis), .history = 32};
    node_open_as(n, &cfg);
}

/* As a development network, all history kept. */
__attribute__((unused)) static void node_open_dev(node *n, cd_kv *kv)
{
    cd_chain_cfg cfg = {
        .kv = kv,
        .genesis = cd_buf_bytes(&genesis),
        .is_dev = true,
        .history = UINT64_MAX,
    };
    node_open_as(n, &cfg);
}

__attribute__((unused)) static void node_close(node *n)
{
    cd_txpool_free(n->pool);
    cd_world_source_fini(&n->src.world);
    cd_chain_close(n->chain);
}

/* Signs tx with a key; raw is appended to. */
__attribute__((unused)) static void sign(cd_buf *raw, cd_tx *tx, usize from)
{
    tx->is_protected = true;
    tx->chain_id = CHAIN_ID;
    assert_int_equal(cd_tx_sign(tx, secrets[from]), CD_OK);
    cd_tx_enc(raw, tx);
}

/* A payment of 5 wei to 0x77…. */
__attribute__((unused)) static cd_tx payment(u64 nonce, u64 fee_gwei)
{
    static const u64 gwei = 1000000000;
    return (cd_tx){
        .type = CD_TX_DYNAMIC_FEE,
        .nonce = nonce,
        .gas_limit = 21000,
        .tip_cap = cd_u256_from_u64(gwei),
        .fee_cap = cd_u256_from_u64(fee_gwei * gwei),
        .to = {.b = {0x77}},
        .value = cd_u256_from_u64(5),
    };
}

/* Puts a transaction into the pool. */
__attribute__((unused)) static cd_err put(node *n, usize from, cd_tx tx, cd_errinfo *why)
{
    cd_buf raw = {0};
    cd_hash32 hash;
    sign(&raw, &tx, from);
    cd_err e = cd_txpool_add(n->pool, &hash, cd_buf_bytes(&raw), why);
    cd_buf_fini(&raw);
    return e;
}

__attribute__((unused)) static cd_err send(node *n, usize from, u64 nonce, u64 fee_gwei, cd_errinfo *why)
{
    return put(n, from, payment(nonce, fee_gwei), why);
}

/* Builds a block at time and accepts it. */
__attribute__((unused)) static void mine(node *n, u64 time)
{
    cd_chain_block *b = NULL;
    cd_errinfo why = {0};
    if (cd_chain_build(n->chain, &b, n->pool, time, &why) != CD_OK || cd_chain_accept(n->chain, b, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_chain_drop(n->chain, b);
    follow(n);
}

/* Builds a block on a at time, hands its bytes to b, both accept. */
__attribute__((unused)) static void mine_both(node *a, node *b, u64 time)
{
    cd_chain_block *mine = NULL;
    cd_chain_block *theirs = NULL;
    cd_errinfo why = {0};
    if (cd_chain_build(a->chain, &mine, a->pool, time, &why) != CD_OK ||
        cd_chain_parse(b->chain, &theirs, mine->rlp, &why) != CD_OK ||
        cd_chain_verify(b->chain, theirs, time * 1000, &why) != CD_OK ||
        cd_chain_accept(b->chain, theirs, &why) != CD_OK || cd_chain_accept(a->chain, mine, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_chain_drop(a->chain, mine);
    cd_chain_drop(b->chain, theirs);
    follow(a);
    follow(b);
}

__attribute__((unused)) static int set_up(void **state)
{
    (void)state;
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < KEYS; i++) {
        if (cd_hd_account(secrets[i], seed, i) != CD_OK) {
            return 1;
        }
    }
    return cd_dev_genesis(&genesis, CHAIN_ID, START) != CD_OK;
}

__attribute__((unused)) static int tear_down(void **state)
{
    (void)state;
    cd_buf_fini(&genesis);
    return 0;
}

#endif
