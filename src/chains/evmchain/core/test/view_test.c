/* Views: what was read at one moment stays as it was while the chain goes on; memory and store tell the same; any
 * thread may read. */
#include "base/thread/thread.h"
#include "chains/evmchain/core/test/fixture.h"
#include "chains/evmchain/core/view.h"

#include <stdatomic.h>

/* Init code that logs one topic and deploys nothing: PUSH1 5, PUSH1 0, PUSH1 0, LOG1. */
static const u8 logging_init[] = {0x60, 0x05, 0x60, 0x00, 0x60, 0x00, 0xa1};

static cd_tx creation(u64 nonce)
{
    cd_tx tx = payment(nonce, 100);
    tx.is_create = true;
    tx.gas_limit = 200000;
    tx.data = cd_bytes_of(logging_init, sizeof logging_init);
    return tx;
}

static u64 balance_at(cd_view *v, u64 number)
{
    cd_addr20 addr = {.b = {0x77}};
    cd_account a = {0};
    bool found;
    cd_view_source s;
    assert_int_equal(cd_view_source_init(&s, v, number), CD_OK);
    assert_int_equal(s.world.src.account(&s.world.src, &a, &found, &addr), CD_OK);
    cd_view_source_fini(&s);
    /* At the head it is remembered, for this view alone. */
    for (usize i = 0; number == cd_view_head(v)->block.header.number && i < 2; i++) {
        cd_account known;
        assert_int_equal(cd_view_account(v, &known, &addr, i == 0), CD_OK);
        assert_true(cd_u256_eq(&known.balance, &a.balance));
    }
    return found ? a.balance.w[0] : 0;
}

/* Every height of a view: its own block, by number, hash and transaction. */
static void check_whole(cd_view *v)
{
    cd_arena a = {0};
    u64 head = cd_view_head(v)->block.header.number;
    cd_hash32 parent = *cd_view_genesis(v);
    for (u64 n = 1; n <= head; n++) {
        const cd_accepted *by_number;
        const cd_accepted *other;
        cd_hash32 hash;
        cd_header h;
        usize idx;
        assert_int_equal(cd_view_block(v, &by_number, &a, n), CD_OK);
        const cd_block *b = &by_number->block;
        assert_int_equal(b->header.number, n);
        assert_memory_equal(&b->header.parent_hash, &parent, 32);
        parent = b->hash;
        assert_int_equal(cd_view_hash(v, &hash, n), CD_OK);
        assert_memory_equal(&hash, &b->hash, 32);
        assert_int_equal(cd_view_header(v, &h, &a, n), CD_OK);
        assert_int_equal(h.time, b->header.time);
        assert_int_equal(cd_view_block_by_hash(v, &other, &a, &hash), CD_OK);
        assert_int_equal(other->block.header.number, n);
        for (usize i = 0; i < b->tx_cnt; i++) {
            assert_int_equal(cd_view_tx(v, &other, &idx, &a, &b->txs[i].hash), CD_OK);
            assert_int_equal(other->block.header.number, n);
            assert_int_equal(idx, i);
            assert_true(b->txs[i].has_sender);
        }
    }
    assert_memory_equal(&parent, &cd_view_head(v)->block.hash, 32);
    const cd_accepted *none;
    cd_hash32 unknown = {.b = {1}};
    assert_int_equal(cd_view_block(v, &none, &a, head + 1), CD_ENOENT);
    assert_int_equal(cd_view_block_by_hash(v, &none, &a, &unknown), CD_ENOENT);
    cd_arena_fini(&a);
}

static void old_views_stay(void **state)
{
    (void)state;
    enum { BLOCKS = 150, STEP = 25 };
    node n;
    cd_view *views[BLOCKS / STEP];
    node_open(&n, cd_kv_mem_open());
    for (u64 i = 0; i < BLOCKS; i++) {
        assert_int_equal(send(&n, 0, i, 100, NULL), CD_OK);
        mine(&n, START + 2 * i + 2);
        if (i % STEP == STEP - 1) {
            views[i / STEP] = cd_view_newest(n.chain);
        }
    }
    for (usize i = 0; i < CD_COUNT(views); i++) {
        u64 head = STEP * (i + 1);
        assert_int_equal(cd_view_head(views[i])->block.header.number, head);
        assert_int_equal(balance_at(views[i], head), 5 * head);
        check_whole(views[i]);
        cd_view_unref(views[i]);
    }
    node_close(&n);
    cd_kv_close(n.kv);
}

static void assert_same_receipt(const cd_receipt *x, const cd_receipt *y)
{
    assert_int_equal(x->type, y->type);
    assert_int_equal(x->ok, y->ok);
    assert_int_equal(x->gas_used, y->gas_used);
    assert_int_equal(x->cumulative_gas, y->cumulative_gas);
    assert_true(cd_u256_eq(&x->effective_gas_price, &y->effective_gas_price));
    assert_true(cd_bloom_eq(&x->bloom, &y->bloom));
    assert_int_equal(x->has_created, y->has_created);
    if (x->has_created) {
        assert_memory_equal(&x->created, &y->created, 20);
    }
    assert_int_equal(x->log_cnt, y->log_cnt);
    for (usize i = 0; i < x->log_cnt; i++) {
        assert_memory_equal(&x->logs[i].addr, &y->logs[i].addr, 20);
        assert_int_equal(x->logs[i].topic_cnt, y->logs[i].topic_cnt);
        assert_true(cd_bytes_eq(x->logs[i].data, y->logs[i].data));
    }
}

/* A block just built, and the same one read from the store after a restart. */
static void memory_and_store_agree(void **state)
{
    (void)state;
    node n;
    cd_arena a = {0};
    node_open(&n, cd_kv_mem_open());
    assert_int_equal(put(&n, 0, creation(0), NULL), CD_OK);
    assert_int_equal(send(&n, 1, 0, 50, NULL), CD_OK);
    mine(&n, START + 2);
    cd_view *before = cd_view_newest(n.chain);
    const cd_accepted *mem = cd_view_head(before);
    assert_int_equal(mem->block.tx_cnt, 2);
    assert_int_equal(mem->receipts[0].log_cnt + mem->receipts[1].log_cnt, 1);

    node again;
    node_open(&again, n.kv);
    cd_view *after = cd_view_newest(again.chain);
    const cd_accepted *disk = cd_view_head(after);
    assert_true(cd_bytes_eq(mem->rlp, disk->rlp));
    for (usize i = 0; i < 2; i++) {
        assert_memory_equal(&mem->block.txs[i].sender, &disk->block.txs[i].sender, 20);
        assert_same_receipt(&mem->receipts[i], &disk->receipts[i]);
    }
    check_whole(after);
    cd_view_unref(before);
    cd_view_unref(after);
    cd_arena_fini(&a);
    node_close(&again);
    node_close(&n);
    cd_kv_close(n.kv);
}

typedef struct reader {
    cd_chain *chain;
    atomic_bool stop;
    u64 views;
    bool is_bad;
} reader;

/* Each block pays 5 wei, so balance and height of one view must agree. */
static void read_on(void *arg)
{
    reader *r = arg;
    u64 last = 0;
    while (!atomic_load(&r->stop)) {
        cd_view *v = cd_view_newest(r->chain);
        u64 head = cd_view_head(v)->block.header.number;
        r->is_bad = r->is_bad || head < last || balance_at(v, head) != 5 * head;
        last = head;
        r->views++;
        cd_view_unref(v);
    }
}

static void threads_read_while_the_chain_grows(void **state)
{
    (void)state;
    enum { THREADS = 3, BLOCKS = 100 };
    node n;
    cd_thread threads[THREADS];
    reader readers[THREADS] = {0};
    node_open(&n, cd_kv_mem_open());
    for (usize i = 0; i < THREADS; i++) {
        readers[i].chain = n.chain;
        assert_int_equal(cd_thread_start(&threads[i], "reader", read_on, &readers[i], NULL), CD_OK);
    }
    for (u64 i = 0; i < BLOCKS; i++) {
        assert_int_equal(send(&n, 0, i, 100, NULL), CD_OK);
        mine(&n, START + 2 * i + 2);
    }
    for (usize i = 0; i < THREADS; i++) {
        atomic_store(&readers[i].stop, true);
        cd_thread_join(&threads[i]);
        assert_false(readers[i].is_bad);
    }
    node_close(&n);
    cd_kv_close(n.kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_views_stay),
        cmocka_unit_test(memory_and_store_agree),
        cmocka_unit_test(threads_read_while_the_chain_grows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
