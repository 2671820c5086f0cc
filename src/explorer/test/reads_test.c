/* What a list page reads does not depend on how long the chain is: reads of the store are counted, not time. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/test/fixture.h"
#include "explorer/index.h"

#include <time.h>

enum { PAGE = 25, RECENT = 100 };

/* A store that counts what is asked of it. */
typedef struct counting {
    cd_kv kv; /* first */
    cd_kv *inner;
} counting;

typedef struct counting_iter {
    cd_kv_iter it; /* first */
    cd_kv_iter *inner;
} counting_iter;

static _Atomic u64 reads; /* gets, and steps of iterators */

static cd_kv *inner_of(cd_kv *kv)
{
    return ((counting *)(void *)kv)->inner;
}

static void on_close(cd_kv *kv)
{
    cd_kv_close(inner_of(kv));
    cd_free(kv);
}

static cd_err on_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    reads++;
    return cd_kv_get(inner_of(kv), out, key);
}

static cd_err on_has(cd_kv *kv, bool *found, cd_bytes key)
{
    reads++;
    return cd_kv_has(inner_of(kv), found, key);
}

static cd_err on_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    return cd_kv_commit(inner_of(kv), b, sync, why);
}

static void on_iter_free(cd_kv_iter *it)
{
    cd_kv_iter_free(((counting_iter *)(void *)it)->inner);
    cd_free(it);
}

static bool on_iter_next(cd_kv_iter *it)
{
    cd_kv_iter *inner = ((counting_iter *)(void *)it)->inner;
    reads++;
    if (!cd_kv_iter_next(inner)) {
        it->err = cd_kv_iter_err(inner);
        return false;
    }
    it->key = cd_kv_iter_key(inner);
    it->value = cd_kv_iter_value(inner);
    return true;
}

static cd_err on_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    static const cd_kv_iter_ops ops = {.free = on_iter_free, .next = on_iter_next};
    cd_kv_iter *inner;
    CD_TRY(cd_kv_iter_new(&inner, inner_of(kv), range));
    counting_iter *it = cd_new(counting_iter);
    *it = (counting_iter){.it.ops = &ops, .inner = inner};
    *out = &it->it;
    return CD_OK;
}

static cd_err on_stats(cd_kv *kv, cd_kv_stats *out)
{
    return cd_kv_stats_get(inner_of(kv), out);
}

static cd_err on_snapshot(cd_kv **out, cd_kv *kv);

static const cd_kv_ops counting_ops = {
    .close = on_close,
    .get = on_get,
    .has = on_has,
    .commit = on_commit,
    .iter_new = on_iter_new,
    .snapshot = on_snapshot,
    .stats = on_stats,
};

static cd_kv *counting_new(cd_kv *inner)
{
    counting *c = cd_new(counting);
    *c = (counting){.kv.ops = &counting_ops, .inner = inner};
    return &c->kv;
}

static cd_err on_snapshot(cd_kv **out, cd_kv *kv)
{
    cd_kv *frozen;
    CD_TRY(cd_kv_snapshot(&frozen, inner_of(kv)));
    *out = counting_new(frozen);
    return CD_OK;
}

/* Reads of the pages of one chain. */
typedef struct pages {
    u64 overview;
    u64 blocks;  /* in the middle of the chain */
    u64 newest;  /* of an address */
    u64 next;    /* the page behind that */
    u64 oldest;  /* its last page */
    u64 nothing; /* an address that took part in nothing */
} pages;

static u64 counted(void)
{
    u64 n = reads;
    reads = 0;
    return n;
}

static void read_blocks(cd_view *v, u64 from, usize cnt)
{
    cd_arena a = {0};
    const cd_accepted *b[RECENT];
    assert_int_equal(cd_view_blocks(v, b, &a, from, cnt), CD_OK);
    for (usize i = 0; i < cnt; i++) {
        const cd_accepted *alone;
        assert_int_equal(b[i]->block.header.number, from + i);
        if (i % 24 == 0) {
            u64 before = reads;
            assert_int_equal(cd_view_block(v, &alone, &a, from + i), CD_OK);
            assert_true(cd_bytes_eq(alone->rlp, b[i]->rlp));
            reads = before;
        }
    }
    cd_arena_fini(&a);
}

static cd_index_at read_txs(cd_view *v, const cd_addr20 *addr, const cd_index_at *before, usize want)
{
    cd_index_at at[PAGE];
    usize cnt;
    assert_int_equal(cd_index_txs(v, at, &cnt, PAGE, addr, before), CD_OK);
    assert_int_equal(cnt, want);
    return cnt == 0 ? CD_INDEX_NEWEST : at[cnt - 1];
}

static void wait_folded(node *n, cd_index *x)
{
    cd_index_state s = {0};
    u64 head = cd_chain_head(n->chain)->header.number;
    for (usize i = 0; i < 30000 && s.done < head; i++) {
        assert_int_equal(cd_chain_publish(n->chain, NULL), CD_OK);
        cd_view *v = cd_view_newest(n->chain);
        assert_int_equal(cd_index_state_get(x, &s, v), CD_OK);
        cd_view_unref(v);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(s.done, head);
}

/* A chain of so many payments, each in a block of its own, and so many empty blocks. */
static pages pages_of(u64 payments, u64 empty)
{
    node n;
    cd_index *x;
    pages p;
    cd_errinfo why = {0};
    cd_kv *kv = counting_new(cd_kv_mem_open());
    const cd_addr20 to = {.b = {0x77}};
    const cd_addr20 nobody = {.b = {0x99}};
    node_open_dev(&n, kv);
    const cd_index_cfg cfg = {.chain = n.chain, .kv = kv};
    assert_int_equal(cd_index_open(&x, &cfg, &why), CD_OK);
    for (u64 i = 0; i < payments; i++) {
        assert_int_equal(send(&n, 0, i, 100, &why), CD_OK);
        mine(&n, cd_chain_head(n.chain)->header.time + 1);
    }
    cd_header_wish wish = {.time = cd_chain_head(n.chain)->header.time + 1};
    assert_int_equal(cd_chain_mine_empty(n.chain, empty, 1, &wish, &why), CD_OK);
    wait_folded(&n, x);
    cd_view *v = cd_view_newest(n.chain);
    u64 head = cd_view_head(v)->block.header.number;
    (void)counted();
    read_blocks(v, head + 1 - RECENT, RECENT);
    p.overview = counted();
    read_blocks(v, payments + empty / 2, PAGE);
    p.blocks = counted();
    cd_index_at last = read_txs(v, &to, &CD_INDEX_NEWEST, PAGE);
    p.newest = counted();
    (void)read_txs(v, &to, &last, PAGE);
    p.next = counted();
    (void)read_txs(v, &to, &(cd_index_at){.height = PAGE + 1}, PAGE);
    p.oldest = counted();
    (void)read_txs(v, &nobody, &CD_INDEX_NEWEST, 0);
    p.nothing = counted();
    cd_view_unref(v);
    node_close(&n);
    cd_index_free(x);
    cd_kv_close(kv);
    return p;
}

static void do_not_grow(void **state)
{
    (void)state;
    pages few = pages_of(60, 300);
    pages many = pages_of(600, 20000);
    assert_int_equal(many.newest, few.newest);
    assert_int_equal(many.next, few.next);
    assert_int_equal(many.oldest, few.oldest);
    assert_int_equal(many.nothing, few.nothing);
    /* A stretch of empty blocks may lie across a checkpoint. */
    assert_in_range(many.overview, 0, few.overview + 3);
    assert_in_range(many.blocks, 0, few.blocks + 3);
    assert_in_range(many.newest, 1, PAGE + 4);
    assert_in_range(many.overview, 1, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(do_not_grow),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
