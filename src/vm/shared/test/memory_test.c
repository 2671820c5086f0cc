/* Shared memory against a plain re-implementation: random changes of three chains, commits that fail, walks. */
#include "vm/shared/memory.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHAINS = 3, KEYS = 24, TRAITS = 5, STEPS = 6000, VALUE_MAX = 40, BATCH_OPS = 4 };

/* --- the model --- */

typedef enum what { NOTHING, PRESENT, TAKEN } what;

typedef struct cell {
    what is;
    u8 value[VALUE_MAX];
    usize value_n;
    u32 traits; /* bit i: has trait i */
} cell;

typedef struct model {
    cell left[CHAINS][CHAINS][KEYS]; /* by the chain it is for, the chain it is from, the key */
    u64 heights[CHAINS];
} model;

typedef struct rig {
    cd_kv *store;
    cd_kv *part;
    cd_kv *own[CHAINS]; /* parts of the chains */
    cd_hash32 ids[CHAINS];
    cd_vm_memory mem[CHAINS];
    cd_rng rng;
    model m;
} rig;

static cd_bytes key_of(u8 out[8], usize i)
{
    /* Keys of several lengths, some a prefix of others. */
    memset(out, 7, 8);
    out[0] = (u8)(i / 3);
    return cd_bytes_of(out, 1 + i % 3);
}

static cd_bytes trait_of(u8 out[8], usize i)
{
    /* The empty trait, and traits that begin with each other. */
    memset(out, 9, 8);
    return cd_bytes_of(out, i);
}

static void open_rig(rig *r, u64 seed)
{
    static const char *const names[CHAINS] = {"C", "P", "X"};
    *r = (rig){.store = cd_kv_mem_open(), .rng = cd_rng_seeded(seed)};
    r->part = cd_kv_prefix_open(r->store, cd_bytes_str("M"));
    for (usize i = 0; i < CHAINS; i++) {
        r->own[i] = cd_kv_prefix_open(r->store, cd_bytes_str(names[i]));
        cd_rng_fill(&r->rng, r->ids[i].b, 32);
        cd_vm_memory_init(&r->mem[i], r->part, &r->ids[i]);
    }
}

static void close_rig(rig *r)
{
    for (usize i = 0; i < CHAINS; i++) {
        cd_kv_close(r->own[i]);
    }
    cd_kv_close(r->part);
    cd_kv_close(r->store);
}

/* --- a block's changes, on both sides --- */

typedef struct op {
    usize peer;
    usize key;
    bool is_put;
    cell put;
} op;

/* Gives the result that apply must have, and changes m only when that is CD_OK. */
static cd_err in_model(model *m, usize chain, const op *ops, usize cnt)
{
    model after = *m;
    for (usize i = 0; i < cnt; i++) {
        for (usize k = 0; k < i; k++) {
            if (ops[i].peer == ops[k].peer && ops[i].key == ops[k].key && ops[i].is_put == ops[k].is_put) {
                return CD_EEXIST;
            }
        }
        cell *c =
            ops[i].is_put ? &after.left[ops[i].peer][chain][ops[i].key] : &after.left[chain][ops[i].peer][ops[i].key];
        if (ops[i].is_put) {
            if (c->is == PRESENT) {
                return CD_EEXIST;
            }
            *c = c->is == TAKEN ? (cell){0} : ops[i].put;
        } else {
            if (c->is == TAKEN) {
                return CD_EEXIST;
            }
            *c = (cell){.is = c->is == PRESENT ? NOTHING : TAKEN};
        }
    }
    after.heights[chain]++;
    *m = after;
    return CD_OK;
}

static cd_err append(const rig *r, usize chain, cd_kv_batch *batch, const op *ops, usize cnt)
{
    cd_vm_shared_change changes[BATCH_OPS];
    cd_vm_shared_elem puts[BATCH_OPS];
    cd_bytes keys[BATCH_OPS];
    cd_bytes traits[BATCH_OPS][TRAITS];
    u8 key_text[BATCH_OPS][8];
    u8 trait_text[TRAITS][8];
    for (usize i = 0; i < cnt; i++) {
        keys[i] = key_of(key_text[i], ops[i].key);
        changes[i] = (cd_vm_shared_change){.peer = r->ids[ops[i].peer]};
        if (!ops[i].is_put) {
            changes[i].removes = &keys[i];
            changes[i].remove_cnt = 1;
            continue;
        }
        puts[i] = (cd_vm_shared_elem){
            .key = keys[i], .value = cd_bytes_of(ops[i].put.value, ops[i].put.value_n), .traits = traits[i]};
        for (usize t = 0; t < TRAITS; t++) {
            if ((ops[i].put.traits & (1u << t)) != 0) {
                traits[i][puts[i].trait_cnt++] = trait_of(trait_text[t], t);
            }
        }
        changes[i].puts = &puts[i];
        changes[i].put_cnt = 1;
    }
    return r->mem[chain].shared.apply(&r->mem[chain].shared, batch, changes, cnt);
}

static usize draw(rig *r, usize chain, op ops[BATCH_OPS])
{
    usize cnt = (usize)cd_rng_below(&r->rng, BATCH_OPS + 1);
    for (usize i = 0; i < cnt; i++) {
        ops[i] = (op){
            .peer = (chain + 1 + (usize)cd_rng_below(&r->rng, CHAINS - 1)) % CHAINS,
            .key = (usize)cd_rng_below(&r->rng, KEYS),
            .is_put = cd_rng_below(&r->rng, 2) == 0,
        };
        ops[i].put.is = PRESENT;
        ops[i].put.value_n = (usize)cd_rng_below(&r->rng, VALUE_MAX);
        ops[i].put.traits = (u32)cd_rng_below(&r->rng, 1u << TRAITS);
        cd_rng_fill(&r->rng, ops[i].put.value, ops[i].put.value_n);
    }
    return cnt;
}

/* --- comparing --- */

static bool is_value(const cell *c, cd_bytes v)
{
    return cd_bytes_eq(v, cd_bytes_of(c->value, c->value_n));
}

static void compare_gets(const rig *r, usize chain, usize peer)
{
    cd_arena a = {0};
    for (usize k = 0; k < KEYS; k++) {
        u8 text[8];
        cd_bytes out;
        const cell *c = &r->m.left[chain][peer][k];
        cd_err e = r->mem[chain].shared.get(&r->mem[chain].shared, &out, &a, &r->ids[peer], key_of(text, k));
        assert_int_equal(e, c->is == PRESENT ? CD_OK : CD_ENOENT);
        assert_true(e != CD_OK || is_value(c, out));
    }
    cd_arena_fini(&a);
}

static int by_key(const void *a, const void *b)
{
    u8 x[8];
    u8 y[8];
    return cd_bytes_cmp(key_of(x, *(const usize *)a), key_of(y, *(const usize *)b));
}

/* Compares the whole walk, in pages of max: trait after trait, keys ascending, none twice. */
static void compare_walk(const rig *r, usize chain, usize peer, u32 asked, usize max)
{
    usize order[KEYS];
    usize want[KEYS];
    usize want_cnt = 0;
    for (usize k = 0; k < KEYS; k++) {
        order[k] = k;
    }
    qsort(order, KEYS, sizeof *order, by_key);
    for (u32 t = 0; t < TRAITS; t++) {
        for (usize k = 0; k < KEYS; k++) {
            const cell *c = &r->m.left[chain][peer][order[k]];
            u32 hit = c->traits & asked;
            if (c->is == PRESENT && (hit & (1u << t)) != 0 && (hit & ((1u << t) - 1)) == 0) {
                want[want_cnt++] = order[k];
            }
        }
    }
    u8 text[TRAITS][8];
    cd_bytes traits[2 * TRAITS];
    usize trait_cnt = 0;
    for (usize t = TRAITS; t-- > 0;) { /* the order does not matter, nor that each comes twice */
        if ((asked & (1u << t)) != 0) {
            traits[trait_cnt++] = trait_of(text[t], t);
            traits[trait_cnt++] = trait_of(text[t], t);
        }
    }
    cd_arena a = {0};
    cd_vm_shared_cursor at = {0};
    usize seen = 0;
    for (;;) {
        cd_bytes *out;
        usize n;
        assert_int_equal(r->mem[chain].shared.indexed(&r->mem[chain].shared, &out, &n, &a, &r->ids[peer], traits,
                                                      trait_cnt, &at, max),
                         CD_OK);
        for (usize i = 0; i < n; i++) {
            assert_true(seen < want_cnt);
            assert_true(is_value(&r->m.left[chain][peer][want[seen++]], out[i]));
        }
        if (n < max) {
            break;
        }
    }
    assert_int_equal(seen, want_cnt);
    cd_arena_fini(&a);
}

static void compare(rig *r)
{
    for (usize chain = 0; chain < CHAINS; chain++) {
        cd_buf v = {0};
        cd_err e = cd_kv_get(r->own[chain], &v, cd_bytes_str("height"));
        assert_int_equal(e, r->m.heights[chain] == 0 ? CD_ENOENT : CD_OK);
        assert_true(e != CD_OK || cd_be64(v.p) == r->m.heights[chain]);
        cd_buf_fini(&v);
        for (usize peer = 0; peer < CHAINS; peer++) {
            if (peer != chain) {
                compare_gets(r, chain, peer);
                compare_walk(r, chain, peer, (u32)cd_rng_below(&r->rng, 1u << TRAITS),
                             1 + (usize)cd_rng_below(&r->rng, 6));
            }
        }
    }
}

/* One block of a chain: its own record and what it shares, in one batch. */
static void put_block(rig *r, cd_kv_batch *batch, usize chain)
{
    u8 height[8];
    cd_put_be64(height, r->m.heights[chain] + 1);
    cd_kv_batch_put(batch, cd_bytes_str("height"), cd_bytes_of(height, 8));
}

static void test_model(void **state)
{
    (void)state;
    u64 seed = cd_be64((const u8 *)"shared!!");
    usize refused = 0;
    rig r;
    open_rig(&r, seed);
    for (usize i = 0; i < STEPS; i++) {
        op ops[BATCH_OPS];
        usize chain = (usize)cd_rng_below(&r.rng, CHAINS);
        usize cnt = draw(&r, chain, ops);
        cd_kv_batch batch = {0};
        cd_kv_batch_for(&batch, r.own[chain]);
        put_block(&r, &batch, chain);
        model before = r.m;
        u32 records = batch.cnt;
        cd_err want = in_model(&r.m, chain, ops, cnt);
        cd_err e = append(&r, chain, &batch, ops, cnt);
        assert_int_equal(e, want);
        if (e != CD_OK) {
            assert_int_equal(batch.cnt, records); /* nothing was appended */
            refused++;
        } else if (cd_rng_below(&r.rng, 4) == 0) {
            r.m = before; /* the write failed, or the process ended before it: nothing has happened */
        } else {
            assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
        }
        cd_kv_batch_fini(&batch);
        if (i % 16 == 0) {
            compare(&r);
        }
    }
    compare(&r);
    assert_true(refused > STEPS / 20 && refused < STEPS / 2);
    close_rig(&r);
}

/* Changes that two chains accept at the same time land in one commit, or in two of either order: an element that was
 * taken before it came is gone, and no row leads to it. */
static void test_at_the_same_time(void **state)
{
    (void)state;
    for (usize order = 0; order < 3; order++) {
        rig r;
        open_rig(&r, 5 + order);
        const op put = {.peer = 1, .key = 3, .is_put = true, .put = {.is = PRESENT, .value_n = 4, .traits = 7}};
        const op take = {.peer = 0, .key = 3};
        cd_kv_batch a = {0};
        cd_kv_batch b = {0};
        cd_kv_batch_for(&a, r.own[0]);
        cd_kv_batch_for(&b, r.own[1]);
        put_block(&r, &a, 0);
        put_block(&r, &b, 1);
        r.m.heights[0] = r.m.heights[1] = 1;
        assert_int_equal(append(&r, 0, &a, &put, 1), CD_OK);
        assert_int_equal(append(&r, 1, &b, &take, 1), CD_OK);
        if (order == 2) {
            cd_kv_batch_append(&a, &b);
            cd_kv_batch_clear(&b);
        }
        assert_int_equal(cd_kv_commit(r.store, order == 0 ? &a : &b, CD_KV_NOSYNC, NULL), CD_OK);
        assert_int_equal(cd_kv_commit(r.store, order == 0 ? &b : &a, CD_KV_NOSYNC, NULL), CD_OK);
        compare(&r);
        cd_kv_batch_fini(&a);
        cd_kv_batch_fini(&b);
        close_rig(&r);
    }
}

static void test_pair(void **state)
{
    (void)state;
    cd_hash32 x = {{1}};
    cd_hash32 y = {{2}};
    cd_hash32 one;
    cd_hash32 other;
    cd_vm_memory_pair(&one, &x, &y);
    cd_vm_memory_pair(&other, &y, &x);
    assert_true(cd_hash32_eq(&one, &other));
    cd_vm_memory_pair(&other, &x, &(cd_hash32){{3}});
    assert_false(cd_hash32_eq(&one, &other));
}

/* The element codec of the original: version, present, value, traits. */
static void test_stored_form(void **state)
{
    (void)state;
    static const u8 want[] = {0, 0, 1, 0, 0, 0, 2, 0xaa, 0xbb, 0, 0, 0, 1, 0, 0, 0, 1, 0xcc};
    static const u8 none[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    rig r;
    open_rig(&r, 1);
    const cd_bytes trait = cd_bytes_of("\xcc", 1);
    const cd_vm_shared_elem put = {
        .key = cd_bytes_str("k"), .value = cd_bytes_of("\xaa\xbb", 2), .traits = &trait, .trait_cnt = 1};
    const cd_bytes early = cd_bytes_str("early");
    const cd_vm_shared_change change = {
        .peer = r.ids[1], .puts = &put, .put_cnt = 1, .removes = &early, .remove_cnt = 1};
    cd_kv_batch batch = {0};
    assert_int_equal(r.mem[0].shared.apply(&r.mem[0].shared, &batch, &change, 1), CD_OK);
    assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    bool reader_is_larger = memcmp(r.ids[1].b, r.ids[0].b, 32) > 0;
    u8 key[64];
    cd_hash32 pair;
    cd_buf v = {0};
    cd_vm_memory_pair(&pair, &r.ids[0], &r.ids[1]);
    memcpy(key, pair.b, 32);
    key[32] = reader_is_larger ? 2 : 0;
    key[33] = 'k';
    assert_int_equal(cd_kv_get(r.part, &v, cd_bytes_of(key, 34)), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&v), cd_bytes_of(want, sizeof want)));
    key[32] = reader_is_larger ? 4 : 5;
    memcpy(key + 33, early.p, early.n);
    assert_int_equal(cd_kv_get(r.part, &v, cd_bytes_of(key, 38)), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&v), cd_bytes_of(none, sizeof none)));
    cd_buf_fini(&v);
    cd_kv_batch_fini(&batch);
    close_rig(&r);
}

static cd_err put_of(const rig *r, usize peer, const cd_vm_shared_elem *put)
{
    cd_kv_batch batch = {0};
    const cd_vm_shared_change change = {.peer = r->ids[peer], .puts = put, .put_cnt = 1};
    cd_err e = r->mem[0].shared.apply(&r->mem[0].shared, &batch, &change, 1);
    assert_true(e == CD_OK || batch.cnt == 0);
    cd_kv_batch_fini(&batch);
    return e;
}

static void test_bounds(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, 2);
    u8 *big = cd_alloc(CD_VM_MEMORY_VALUE_MAX + 1);
    cd_bytes *traits = cd_new_array(cd_bytes, CD_VM_MEMORY_TRAITS_MAX + 1);
    const cd_bytes fits = cd_bytes_of(big, CD_VM_MEMORY_TRAIT_MAX);
    const cd_bytes long_trait = cd_bytes_of(big, CD_VM_MEMORY_TRAIT_MAX + 1);
    const cd_bytes key = cd_bytes_of(big, CD_VM_MEMORY_KEY_MAX);
    assert_int_equal(put_of(&r, 1, &(cd_vm_shared_elem){.key = key, .traits = &fits, .trait_cnt = 1}), CD_OK);
    assert_int_equal(put_of(&r, 0, &(cd_vm_shared_elem){.key = key}), CD_EINVAL);
    assert_int_equal(put_of(&r, 1, &(cd_vm_shared_elem){.key = {0}}), CD_ELIMIT);
    assert_int_equal(put_of(&r, 1, &(cd_vm_shared_elem){.key = cd_bytes_of(big, CD_VM_MEMORY_KEY_MAX + 1)}), CD_ELIMIT);
    assert_int_equal(put_of(&r, 1, &(cd_vm_shared_elem){.key = key, .traits = &long_trait, .trait_cnt = 1}), CD_ELIMIT);
    assert_int_equal(
        put_of(&r, 1, &(cd_vm_shared_elem){.key = key, .traits = traits, .trait_cnt = CD_VM_MEMORY_TRAITS_MAX + 1}),
        CD_ELIMIT);
    assert_int_equal(
        put_of(&r, 1, &(cd_vm_shared_elem){.key = key, .value = cd_bytes_of(big, CD_VM_MEMORY_VALUE_MAX + 1)}),
        CD_ELIMIT);
    cd_free(traits);
    cd_free(big);
    close_rig(&r);
}

/* A page of an index of many thousand elements takes the memory of a page of a small one. */
static void test_walk_memory(void **state)
{
    (void)state;
    enum { MANY = 20000, PAGE = 64, PAGE_BYTES = 8192 };
    rig r;
    open_rig(&r, 3);
    cd_kv_batch batch = {0};
    const cd_bytes trait = cd_bytes_str("owner");
    cd_vm_shared_elem *puts = cd_new_array(cd_vm_shared_elem, MANY);
    u8(*keys)[8] = cd_alloc((usize)8 * MANY);
    for (u64 i = 0; i < MANY; i++) {
        cd_put_be64(keys[i], i);
        puts[i] = (cd_vm_shared_elem){
            .key = cd_bytes_of(keys[i], 8), .value = cd_bytes_of(keys[i], 8), .traits = &trait, .trait_cnt = 1};
    }
    const cd_vm_shared_change change = {.peer = r.ids[1], .puts = puts, .put_cnt = MANY};
    assert_int_equal(r.mem[0].shared.apply(&r.mem[0].shared, &batch, &change, 1), CD_OK);
    assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    cd_arena pages[2] = {0};
    cd_vm_shared_cursor at = {0};
    u64 seen = 0;
    for (usize n = PAGE; n == PAGE;) {
        cd_bytes *out;
        cd_arena *a = &pages[(seen / PAGE) % 2]; /* the cursor lies in the other one */
        cd_arena_reset(a);
        assert_int_equal(r.mem[1].shared.indexed(&r.mem[1].shared, &out, &n, a, &r.ids[0], &trait, 1, &at, PAGE),
                         CD_OK);
        for (usize i = 0; i < n; i++) {
            assert_true(cd_be64(out[i].p) == seen++);
        }
        assert_true(a->first == a->cur && a->used < PAGE_BYTES);
    }
    assert_true(seen == MANY);
    cd_arena_fini(&pages[0]);
    cd_arena_fini(&pages[1]);
    cd_free(puts);
    cd_free(keys);
    cd_kv_batch_fini(&batch);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair),  cmocka_unit_test(test_stored_form),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_model), cmocka_unit_test(test_at_the_same_time), cmocka_unit_test(test_walk_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
