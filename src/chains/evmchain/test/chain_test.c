/* Two chain objects on stores of their own: one builds blocks from its pool, the other parses, verifies and accepts the
 * same bytes; wrong blocks are refused for the right reason; a restart finds everything. */
#include "chains/evmchain/chain.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/import.h"
#include "wallet/hd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000 };

typedef struct node {
    cd_kv *kv;
    cd_chain *chain;
    cd_txpool *pool;
    cd_chain_source src;
} node;

static cd_buf genesis;
static u8 secrets[2][32];

static void follow(node *n)
{
    const cd_header *h = &cd_chain_head(n->chain)->header;
    cd_txpool_head head = {
        .fork = CD_CANCUN,
        .chain_id = CHAIN_ID,
        .gas_limit = h->gas_limit,
        .min_fee_cap = cd_u256_from_u64(1000000000),
    };
    cd_txpool_set_head(n->pool, &head, &n->src.world.src);
    assert_int_equal(cd_txpool_settle(n->pool), CD_OK);
}

static void node_open(node *n, cd_kv *kv)
{
    cd_errinfo why = {0};
    n->kv = kv;
    cd_chain_cfg cfg = {.kv = kv, .genesis = cd_buf_bytes(&genesis)};
    if (cd_chain_open(&n->chain, &cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    n->pool = cd_txpool_new(&(cd_txpool_cfg){0});
    cd_chain_source_init(&n->src, n->chain, NULL);
    follow(n);
}

static void node_close(node *n)
{
    cd_txpool_free(n->pool);
    cd_world_source_fini(&n->src.world);
    cd_chain_close(n->chain);
}

static cd_err send(node *n, usize from, u64 nonce, u64 fee_gwei, cd_errinfo *why)
{
    static const u64 gwei = 1000000000;
    cd_tx tx = {
        .type = CD_TX_DYNAMIC_FEE,
        .is_protected = true,
        .chain_id = CHAIN_ID,
        .nonce = nonce,
        .gas_limit = 21000,
        .tip_cap = cd_u256_from_u64(gwei),
        .fee_cap = cd_u256_from_u64(fee_gwei * gwei),
        .to = {.b = {0x77}},
        .value = cd_u256_from_u64(5),
    };
    cd_buf raw = {0};
    cd_hash32 hash;
    assert_int_equal(cd_tx_sign(&tx, secrets[from]), CD_OK);
    cd_tx_enc(&raw, &tx);
    cd_err e = cd_txpool_add(n->pool, &hash, cd_buf_bytes(&raw), why);
    cd_buf_fini(&raw);
    return e;
}

static u64 balance_of_77(node *n)
{
    cd_addr20 addr = {.b = {0x77}};
    cd_account a = {0};
    bool found;
    assert_int_equal(n->src.world.src.account(&n->src.world.src, &a, &found, &addr), CD_OK);
    return a.balance.w[0];
}

/* Builds a block on a at time, hands its bytes to b, both accept. */
static void make_block(node *a, node *b, u64 time)
{
    cd_chain_block *mine = NULL;
    cd_chain_block *theirs = NULL;
    cd_errinfo why = {0};
    if (cd_chain_build(a->chain, &mine, a->pool, time, &why) != CD_OK ||
        cd_chain_parse(b->chain, &theirs, mine->rlp, &why) != CD_OK ||
        cd_chain_verify(b->chain, theirs, time, &why) != CD_OK ||
        cd_chain_accept(b->chain, theirs, &why) != CD_OK ||
        cd_chain_accept(a->chain, mine, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_chain_drop(a->chain, mine);
    cd_chain_drop(b->chain, theirs);
    follow(a);
    follow(b);
}

static void builder_and_verifier_agree(void **state)
{
    (void)state;
    node a;
    node b;
    node_open(&a, cd_kv_mem_open());
    node_open(&b, cd_kv_mem_open());
    for (u64 i = 0; i < 20; i++) {
        assert_int_equal(send(&a, 0, i, 100, NULL), CD_OK);
        assert_int_equal(send(&a, 1, i, 90, NULL), CD_OK);
        make_block(&a, &b, START + 2 * i + 2);
        assert_int_equal(balance_of_77(&a), 10 * (i + 1));
        assert_int_equal(balance_of_77(&b), 10 * (i + 1));
        assert_memory_equal(&cd_chain_head(a.chain)->hash, &cd_chain_head(b.chain)->hash, 32);
    }
    /* A restart: everything accepted is there. */
    cd_hash32 head = cd_chain_head(b.chain)->hash;
    node_close(&b);
    node_open(&b, b.kv);
    assert_memory_equal(&cd_chain_head(b.chain)->hash, &head, 32);
    assert_int_equal(balance_of_77(&b), 200);
    cd_arena mem = {0};
    cd_block block;
    cd_receipt *receipts;
    assert_int_equal(cd_chain_block_at(b.chain, &block, NULL, &mem, 7), CD_OK);
    assert_int_equal(block.tx_cnt, 2);
    assert_int_equal(cd_chain_receipts(b.chain, &receipts, &mem, &block), CD_OK);
    assert_true(receipts[1].ok);
    assert_int_equal(receipts[1].cumulative_gas, 42000);
    cd_arena_fini(&mem);
    assert_int_equal(send(&a, 0, 20, 100, NULL), CD_OK);
    make_block(&a, &b, START + 100);
    node_close(&a);
    node_close(&b);
    cd_kv_close(a.kv);
    cd_kv_close(b.kv);
}

/* Changes one thing of a good block; the chain must name it. */
static void wrong_blocks_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *expect;
    } rows[] = {
        {"difficulty", "invalid difficulty: 2"},
        {"gas limit", "expected gas limit to be 30000000, but found 1"},
        {"gas used", "invalid gas used"},
        {"base fee", "expected base fee"},
        {"state root", "invalid merkle root"},
        {"receipt root", "invalid receipt root hash"},
        {"bloom", "invalid bloom"},
        {"number", "invalid block number: have 9, want 1"},
        {"time", "block timestamp is too far in the future"},
        {"coinbase", NULL}, /* the dev genesis allows any: only the state differs */
        {"tx root", "invalid transaction root"},
        {"extra", "invalid extra data"},
        {"parent", "unknown ancestor"},
        {"blob gas", "blobs not enabled on lux networks"},
    };
    node a;
    node b;
    node_open(&a, cd_kv_mem_open());
    node_open(&b, cd_kv_mem_open());
    assert_int_equal(send(&a, 0, 0, 100, NULL), CD_OK);
    cd_chain_block *good;
    assert_int_equal(cd_chain_build(a.chain, &good, a.pool, START + 5, NULL), CD_OK);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_block block = good->block;
        cd_header *h = &block.header;
        u8 extra[100] = {0};
        memcpy(extra, h->extra.p, h->extra.n);
        switch (i) {
        case 0:
            h->difficulty = cd_u256_from_u64(2);
            break;
        case 1:
            h->gas_limit = 1;
            h->gas_used = 0;
            break;
        case 2:
            h->gas_used++;
            break;
        case 3:
            h->base_fee = cd_u256_from_u64(7);
            break;
        case 4:
            h->state_root.b[3] ^= 1;
            break;
        case 5:
            h->receipt_root.b[3] ^= 1;
            break;
        case 6:
            h->bloom.b[3] ^= 1;
            break;
        case 7:
            h->number = 9;
            break;
        case 8:
            h->time += 1000;
            break;
        case 9:
            h->coinbase.b[3] ^= 1;
            break;
        case 10:
            h->tx_root.b[3] ^= 1;
            break;
        case 11:
            extra[79] ^= 1;
            h->extra.p = extra;
            break;
        case 12:
            h->parent_hash.b[3] ^= 1;
            break;
        default:
            h->blob_gas_used = 131072;
            break;
        }
        cd_buf rlp = {0};
        cd_errinfo why = {0};
        cd_chain_block *bad;
        cd_block_enc(&rlp, CD_HEADER_L1, &block);
        assert_int_equal(cd_chain_parse(b.chain, &bad, cd_buf_bytes(&rlp), &why), CD_OK);
        cd_err e = cd_chain_verify(b.chain, bad, START + 5, &why);
        if (e == CD_OK || (rows[i].expect != NULL && strstr(why.msg, rows[i].expect) == NULL)) {
            fail_msg("%s: \"%s\"", rows[i].name, why.msg);
        }
        cd_chain_drop(b.chain, bad);
        cd_buf_fini(&rlp);
    }
    /* None of them left a trace: the good one still fits. */
    cd_chain_block *theirs = NULL;
    assert_int_equal(cd_chain_parse(b.chain, &theirs, good->rlp, NULL), CD_OK);
    assert_int_equal(cd_chain_verify(b.chain, theirs, START + 5, NULL), CD_OK);
    assert_int_equal(cd_chain_accept(b.chain, theirs, NULL), CD_OK);
    cd_chain_drop(b.chain, theirs);
    cd_chain_drop(a.chain, good);
    node_close(&a);
    node_close(&b);
    cd_kv_close(a.kv);
    cd_kv_close(b.kv);
}

static void pool_rules(void **state)
{
    (void)state;
    node a;
    cd_errinfo why = {0};
    node_open(&a, cd_kv_mem_open());
    assert_int_equal(send(&a, 0, 0, 100, &why), CD_OK);
    assert_int_equal(send(&a, 0, 0, 100, &why), CD_EEXIST);
    assert_string_equal(why.msg, "already known");
    assert_int_equal(send(&a, 0, 0, 101, &why), CD_EINVAL);
    assert_string_equal(why.msg, "replacement transaction underpriced");
    assert_int_equal(send(&a, 0, 2, 100, &why), CD_OK); /* waits behind a gap */
    cd_addr20 sender = {0};
    cd_chain_block *b;
    assert_int_equal(cd_chain_build(a.chain, &b, a.pool, START + 2, &why), CD_OK);
    assert_int_equal(b->block.tx_cnt, 1);
    sender = b->block.txs[0].sender;
    assert_int_equal(cd_chain_accept(a.chain, b, &why), CD_OK);
    cd_chain_drop(a.chain, b);
    follow(&a);
    assert_int_equal(cd_txpool_cnt(a.pool), 1);
    assert_int_equal(cd_txpool_nonce(a.pool, &sender, 1), 1);
    assert_int_equal(cd_chain_build(a.chain, &b, a.pool, START + 4, &why), CD_ENOENT);
    assert_int_equal(send(&a, 0, 0, 100, &why), CD_EINVAL);
    assert_string_equal(why.msg, "nonce too low: next nonce 1, tx nonce 0");
    assert_int_equal(send(&a, 0, 1, 100, &why), CD_OK);
    assert_int_equal(cd_txpool_nonce(a.pool, &sender, 1), 3);
    assert_int_equal(cd_chain_build(a.chain, &b, a.pool, START + 4, &why), CD_OK);
    assert_int_equal(b->block.tx_cnt, 2);
    cd_chain_drop(a.chain, b);
    node_close(&a);
    cd_kv_close(a.kv);
}

/* Fifteen blocks of another chain, taken in with and without workers; a spoilt one stops the run and leaves no trace. */
static void imports(void **state)
{
    (void)state;
    node a;
    node spare;
    cd_buf rlps = {0};
    usize start_of_ten = 0;
    cd_hash32 sent = {0};
    cd_errinfo why = {0};
    node_open(&a, cd_kv_mem_open());
    node_open(&spare, cd_kv_mem_open());
    for (u64 i = 0; i < 15; i++) {
        assert_int_equal(send(&a, 0, i, 100, NULL), CD_OK);
        make_block(&a, &spare, START + 2 * i + 2);
        cd_arena mem = {0};
        cd_block b;
        assert_int_equal(cd_chain_block_at(a.chain, &b, NULL, &mem, i + 1), CD_OK);
        start_of_ten = i == 9 ? rlps.n : start_of_ten;
        sent = b.txs[0].hash;
        cd_block_enc(&rlps, CD_HEADER_L1, &b);
        cd_arena_fini(&mem);
    }
    for (u32 workers = 0; workers < 3; workers++) {
        node b;
        cd_pool *pool = NULL;
        cd_arena mem = {0};
        cd_block block;
        usize idx;
        node_open(&b, cd_kv_mem_open());
        assert_int_equal(cd_pool_new(&pool, workers, 64, "test", &why), CD_OK);
        /* The last byte of a state root lies within the header of block 10. */
        rlps.p[start_of_ten + 100] ^= 1;
        assert_int_not_equal(cd_chain_import(b.chain, cd_buf_bytes(&rlps), pool, START + 100, &why),
                             CD_OK);
        assert_non_null(strstr(why.msg, "block 10"));
        assert_int_equal(cd_chain_head(b.chain)->header.number, 9);
        rlps.p[start_of_ten + 100] ^= 1;
        assert_int_equal(cd_chain_tx(b.chain, &block, &idx, &mem, &sent), CD_ENOENT);
        cd_bytes rest = cd_bytes_of(rlps.p + start_of_ten, rlps.n - start_of_ten);
        assert_int_equal(cd_chain_import(b.chain, rest, pool, START + 100, &why), CD_OK);
        assert_memory_equal(&cd_chain_head(b.chain)->hash, &cd_chain_head(a.chain)->hash, 32);
        assert_int_equal(cd_chain_tx(b.chain, &block, &idx, &mem, &sent), CD_OK);
        assert_int_equal(block.header.number, 15);
        cd_arena_fini(&mem);
        node_close(&b);
        cd_pool_free(pool);
        cd_kv_close(b.kv);
    }
    cd_buf_fini(&rlps);
    node_close(&a);
    node_close(&spare);
    cd_kv_close(a.kv);
    cd_kv_close(spare.kv);
}

static int set_up(void **state)
{
    (void)state;
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    return cd_hd_account(secrets[0], seed, 0) != CD_OK ||
           cd_hd_account(secrets[1], seed, 1) != CD_OK ||
           cd_dev_genesis(&genesis, CHAIN_ID, START) != CD_OK;
}

static int tear_down(void **state)
{
    (void)state;
    cd_buf_fini(&genesis);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builder_and_verifier_agree),
        cmocka_unit_test(wrong_blocks_are_refused),
        cmocka_unit_test(pool_rules),
        cmocka_unit_test(imports),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
