/* Two chain objects on stores of their own: one builds blocks from its pool, the other parses, verifies and accepts the
 * same bytes; wrong blocks are refused for the right reason; a restart finds everything. */
#include "chains/evmchain/core/import.h"
#include "chains/evmchain/core/test/fixture.h"
#include "chains/evmchain/core/view.h"

static u64 balance_of_77(node *n)
{
    cd_addr20 addr = {.b = {0x77}};
    cd_account a = {0};
    bool found;
    assert_int_equal(n->src.world.src.account(&n->src.world.src, &a, &found, &addr), CD_OK);
    return a.balance.w[0];
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
        mine_both(&a, &b, START + 2 * i + 2);
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
    cd_view *view = cd_view_newest(b.chain);
    const cd_accepted *acc;
    assert_int_equal(cd_view_block(view, &acc, &mem, 7), CD_OK);
    assert_int_equal(acc->block.tx_cnt, 2);
    assert_true(acc->receipts[1].ok);
    assert_int_equal(acc->receipts[1].cumulative_gas, 42000);
    cd_view_unref(view);
    cd_arena_fini(&mem);
    assert_int_equal(send(&a, 0, 20, 100, NULL), CD_OK);
    mine_both(&a, &b, START + 100);
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
        {"gas limit", "invalid gas limit: expected to be 30000000 in Subnet-EVM, but found 1"},
        {"gas used", "invalid gas used"},
        {"base fee", "expected base fee"},
        {"state root", "invalid merkle root"},
        {"receipt root", "invalid receipt root hash"},
        {"bloom", "invalid bloom"},
        {"number", "invalid block number"},
        {"time", "block timestamp is too far in the future"},
        {"coinbase", NULL}, /* the dev genesis allows any: only the state differs */
        {"tx root", "invalid txs hash"},
        {"extra", "invalid header.Extra prefix"},
        {"parent", "parent header not found"},
        {"blob gas", "blobs not enabled on avalanche networks"},
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
        cd_err e = cd_chain_parse(b.chain, &bad, cd_buf_bytes(&rlp), &why);
        if (e == CD_OK) {
            e = cd_chain_verify(b.chain, bad, (START + 5) * 1000ull, &why);
            cd_chain_drop(b.chain, bad);
        }
        if (e == CD_OK || (rows[i].expect != NULL && strstr(why.msg, rows[i].expect) == NULL)) {
            fail_msg("%s: \"%s\"", rows[i].name, why.msg);
        }
        cd_buf_fini(&rlp);
    }
    /* None of them left a trace: the good one still fits. */
    cd_chain_block *theirs = NULL;
    assert_int_equal(cd_chain_parse(b.chain, &theirs, good->rlp, NULL), CD_OK);
    assert_int_equal(cd_chain_verify(b.chain, theirs, (START + 5) * 1000ull, NULL), CD_OK);
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

/* The height of an accepted transaction's block; UINT64_MAX: there is none. */
static u64 height_of(const node *n, cd_arena *mem, const cd_hash32 *tx)
{
    const cd_accepted *acc;
    usize idx;
    cd_view *v = cd_view_newest(n->chain);
    cd_err e = cd_view_tx(v, &acc, &idx, mem, tx);
    u64 height = e == CD_OK ? acc->block.header.number : UINT64_MAX;
    cd_view_unref(v);
    assert_true(e == CD_OK || e == CD_ENOENT);
    return height;
}

/* Fifteen blocks of another chain, taken in with and without workers; a spoilt one stops the run and leaves no
 * trace. */
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
        mine_both(&a, &spare, START + 2 * i + 2);
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
        node_open(&b, cd_kv_mem_open());
        assert_int_equal(cd_pool_new(&pool, workers, 64, "test", &why), CD_OK);
        /* The last byte of a state root lies within the header of block 10. */
        rlps.p[start_of_ten + 100] ^= 1;
        assert_int_not_equal(cd_chain_import(b.chain, cd_buf_bytes(&rlps), pool, (START + 100) * 1000ull, &why), CD_OK);
        assert_non_null(strstr(why.msg, "block 10"));
        assert_int_equal(cd_chain_head(b.chain)->header.number, 9);
        rlps.p[start_of_ten + 100] ^= 1;
        assert_int_equal(height_of(&b, &mem, &sent), UINT64_MAX);
        cd_bytes rest = cd_bytes_of(rlps.p + start_of_ten, rlps.n - start_of_ten);
        assert_int_equal(cd_chain_import(b.chain, rest, pool, (START + 100) * 1000ull, &why), CD_OK);
        assert_memory_equal(&cd_chain_head(b.chain)->hash, &cd_chain_head(a.chain)->hash, 32);
        assert_int_equal(height_of(&b, &mem, &sent), 15);
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

/* The genesis with more keys in its config object. */
static void genesis_with(cd_buf *out, const char *keys)
{
    static const char start[] = "{\"config\":{";
    cd_buf_str(out, start);
    cd_buf_str(out, keys);
    cd_buf_put(out, cd_bytes_sub(cd_buf_bytes(&genesis), sizeof start - 1, genesis.n - (sizeof start - 1)));
}

static u64 gwei_of(node *n, const cd_addr20 *addr)
{
    cd_account a = {0};
    bool found;
    assert_int_equal(n->src.world.src.account(&n->src.world.src, &a, &found, addr), CD_OK);
    return a.balance.w[0] / 1000000000;
}

/* Who gets the fee: whom the configuration names, half of it when the genesis says so; whom the reward manager
 * names. */
static void fees_go_where_the_rules_say(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        u64 share;           /* of 21000 gas at 2 gwei, in per cent */
        const char *refusal; /* of another coinbase */
    } rows[] = {
        {"", 100, NULL},
        {"\"feeSplitTimestamp\":0,", 50, NULL},
        {"\"feeSplitTimestamp\":1700000003,", 100, NULL},
        {"\"rewardManagerConfig\":{\"blockTimestamp\":0,\"initialRewardConfig\":{"
         "\"rewardAddress\":\"0xaA00000000000000000000000000000000000000\"}},",
         100,
         "invalid coinbase: 0xbb00000000000000000000000000000000000000 does not match required "
         "coinbase address 0xaa00000000000000000000000000000000000000"},
    };
    const cd_addr20 miner = {.b = {0xaa}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        node n;
        cd_buf text = {0};
        cd_chain_block *b;
        cd_chain_block *bad;
        cd_buf rlp = {0};
        cd_errinfo why = {0};
        genesis_with(&text, rows[i].keys);
        cd_chain_cfg cfg = {
            .kv = cd_kv_mem_open(),
            .genesis = cd_buf_bytes(&text),
            .fee_recipient = &miner,
        };
        node_open_as(&n, &cfg);
        assert_int_equal(send(&n, 0, 0, 100, NULL), CD_OK);
        assert_int_equal(cd_chain_build(n.chain, &b, n.pool, START + 2, &why), CD_OK);
        assert_memory_equal(&b->block.header.coinbase, &miner, 20);
        cd_block other = b->block;
        other.header.coinbase.b[0] = 0xbb;
        cd_block_enc(&rlp, CD_HEADER_L1, &other);
        assert_int_equal(cd_chain_parse(n.chain, &bad, cd_buf_bytes(&rlp), &why), CD_OK);
        assert_int_equal(cd_chain_verify(n.chain, bad, (START + 2) * 1000ull, &why), CD_EINVAL);
        if (rows[i].refusal != NULL) {
            assert_string_equal(why.msg, rows[i].refusal);
        }
        cd_chain_drop(n.chain, bad);
        assert_int_equal(cd_chain_accept(n.chain, b, &why), CD_OK);
        cd_chain_drop(n.chain, b);
        assert_int_equal(gwei_of(&n, &miner), 21000ull * 2 * rows[i].share / 100);
        cd_buf_fini(&rlp);
        cd_buf_fini(&text);
        node_close(&n);
        cd_kv_close(n.kv);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builder_and_verifier_agree),
        cmocka_unit_test(wrong_blocks_are_refused),
        cmocka_unit_test(pool_rules),
        cmocka_unit_test(imports),
        cmocka_unit_test(fees_go_where_the_rules_say),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
