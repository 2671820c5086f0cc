/* The pool of atomic transactions under floods: bounds, order, conflicts; against a plain list. */
#include "chains/evmchain/atomic/pool.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RATE = 1000000, DEBITS_MAX = 4 };

typedef struct made {
    cd_arena arena;
    cd_atomic_tx tx;
} made;

/* An export of cnt accounts, the i-th being first + i at nonce 0, that burns burned; its one output has padding
 * addresses. Nobody has signed it: the pool does not look. */
static void make(made *out, u64 first, u32 cnt, u64 burned, u32 padding)
{
    cd_c_debit debits[DEBITS_MAX] = {{.amount = 0}};
    cd_addr20 *addrs = cd_new_array(cd_addr20, padding + 1);
    const cd_linear_case transfer = {7, &cd_transfer_output_type};
    cd_transfer_output to = {.amount = cnt, .owners = {.threshold = 1, .addrs = {.v = addrs, .cnt = padding + 1}}};
    cd_c_output o = {.out = {.is = &transfer, .v = &to}};
    cd_c_export body = {.ins = {.v = debits, .cnt = cnt}, .exported = {.v = &o, .cnt = 1}};
    cd_c_tx tx = {.body = {.is = &cd_c_tx_table.fields[0].any->cases[1], .v = &body}};
    cd_buf bytes = {0};
    for (u32 i = 0; i < cnt; i++) {
        cd_put_be64(debits[i].addr.b + 12, first + i);
        debits[i].amount = 1 + (i == 0 ? burned : 0);
    }
    *out = (made){.arena = {0}};
    cd_linear_put(&bytes, &cd_c_tx_table, &tx);
    assert_int_equal(cd_atomic_parse(&out->tx, &out->arena, cd_buf_bytes(&bytes), NULL), CD_OK);
    cd_buf_fini(&bytes);
    cd_free(addrs);
}

static cd_err add(cd_atomic_pool *p, u64 first, u32 cnt, u64 burned, u32 padding)
{
    made m;
    make(&m, first, cnt, burned, padding);
    cd_err e = cd_atomic_pool_add(p, &m.tx, NULL);
    cd_arena_fini(&m.arena);
    return e;
}

static u64 burned_at(const cd_atomic_pool *p, usize i)
{
    u64 burned = 0;
    assert_int_equal(cd_atomic_burned(&burned, cd_atomic_pool_at(p, i)), CD_OK);
    return burned;
}

/* Many times what fits, in rising price: those that stay are the dearest, in order; then none that is cheaper. */
static void test_flood(void **state)
{
    (void)state;
    enum { SENT = CD_ATOMIC_POOL_MAX + 500 };
    cd_atomic_pool *p = cd_atomic_pool_new(RATE);
    for (u64 i = 0; i < SENT; i++) {
        assert_int_equal(add(p, i, 1, 1000 + i, 0), CD_OK);
    }
    assert_int_equal(cd_atomic_pool_cnt(p), CD_ATOMIC_POOL_MAX);
    for (usize i = 0; i < CD_ATOMIC_POOL_MAX; i++) {
        assert_true(burned_at(p, i) == 1000 + SENT - 1 - i);
    }
    assert_int_equal(add(p, SENT, 1, 1, 0), CD_EFULL);
    assert_int_equal(add(p, SENT, 1, 1000 + SENT - CD_ATOMIC_POOL_MAX, 0), CD_EFULL); /* as dear as the cheapest */
    assert_int_equal(cd_atomic_pool_cnt(p), CD_ATOMIC_POOL_MAX);
    cd_atomic_pool_free(p);
}

/* Large ones meet the bound in bytes first. */
static void test_bytes(void **state)
{
    (void)state;
    enum { PADDING = 4000, SENT = 300 };
    cd_atomic_pool *p = cd_atomic_pool_new(RATE);
    for (u64 i = 0; i < SENT; i++) {
        assert_int_equal(add(p, i, 1, 100000000 + i * 1000000, PADDING), CD_OK);
        assert_true(cd_atomic_pool_bytes(p) <= CD_ATOMIC_POOL_BYTES);
    }
    assert_true(cd_atomic_pool_cnt(p) < SENT && cd_atomic_pool_cnt(p) > SENT / 2);
    assert_int_equal(add(p, SENT, 1, 1, PADDING), CD_EFULL);
    /* A dear one that conflicts with nothing takes the place of as many as it needs. */
    assert_int_equal(add(p, SENT, 1, UINT32_MAX, PADDING), CD_OK);
    cd_atomic_pool_free(p);
}

/* --- against a list --- */

typedef struct item {
    u64 first;
    u32 cnt;
    u64 price;
} item;

enum { ACCOUNTS = 12, STEPS = 4000 };

static bool overlaps(const item *a, const item *b)
{
    return a->first < b->first + b->cnt && b->first < a->first + a->cnt;
}

/* Adding, accepting and dropping at random: at every moment each account is used once, and the pool holds what the list
 * does. */
static void test_model(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(9);
    cd_atomic_pool *p = cd_atomic_pool_new(RATE);
    item list[ACCOUNTS];
    usize cnt = 0;
    usize refused = 0;
    for (u32 step = 0; step < STEPS; step++) {
        made m;
        item one = {.cnt = 1 + (u32)cd_rng_below(&rng, DEBITS_MAX - 1)};
        one.first = cd_rng_below(&rng, ACCOUNTS - one.cnt + 1);
        make(&m, one.first, one.cnt, 1 + cd_rng_below(&rng, 50), 0);
        u64 burned = 0;
        assert_int_equal(cd_atomic_burned(&burned, &m.tx), CD_OK);
        one.price = burned * RATE / m.tx.gas;
        u64 what = cd_rng_below(&rng, 8);
        bool is_added = false;
        if (what == 0) { /* it comes in a block: whatever it conflicts with goes */
            cd_atomic_pool_accepted(p, &m.tx);
        } else if (what == 1 && cd_atomic_pool_cnt(p) != 0) {
            const cd_atomic_tx *t = cd_atomic_pool_at(p, 0);
            one.first = cd_be64(t->inputs[0].b + 24);
            one.cnt = (u32)t->input_cnt;
            cd_hash32 id = t->id;
            cd_atomic_pool_drop(p, 0);
            assert_true(cd_atomic_pool_was_dropped(p, &id) && cd_atomic_pool_find(p, &id) == NULL);
        } else {
            bool is_dearer = true;
            for (usize i = 0; i < cnt; i++) {
                is_dearer = is_dearer && (!overlaps(&list[i], &one) || one.price > list[i].price);
            }
            bool is_in = cd_atomic_pool_find(p, &m.tx.id) != NULL;
            cd_err e = cd_atomic_pool_add(p, &m.tx, NULL);
            assert_int_equal(e, is_in ? CD_EEXIST : is_dearer ? CD_OK : CD_EBUSY);
            is_added = true;
            if (e != CD_OK) {
                refused++;
                cd_arena_fini(&m.arena);
                continue;
            }
        }
        usize kept = 0;
        for (usize i = 0; i < cnt; i++) {
            if (!overlaps(&list[i], &one)) {
                list[kept++] = list[i];
            }
        }
        cnt = kept;
        if (is_added) {
            list[cnt++] = one;
        }
        assert_int_equal(cd_atomic_pool_cnt(p), cnt);
        cd_arena_fini(&m.arena);
    }
    assert_true(refused > STEPS / 20);
    cd_atomic_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
