#include "store/trie.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "store/test/trie_ref.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct fixture {
    cd_trie *t;
    ref_map m;
    cd_hash32 root;
    cd_arena a;
} fixture;

/* Keys of one length with many shared prefixes; shape 1: short keys of different lengths. */
static cd_bytes random_key(cd_rng *r, u8 key[32], int shape)
{
    if (shape == 1) {
        usize n = (usize)cd_rng_below(r, 5);
        cd_rng_fill(r, key, n);
        for (usize i = 0; i < n; i++) {
            key[i] &= 0x13;
        }
        return cd_bytes_of(key, n);
    }
    memset(key, 0x55, 32);
    key[0] = (u8)(cd_rng_below(r, 4) << 6 | 5);
    key[3] = (u8)cd_rng_below(r, 6);
    key[31] = (u8)cd_rng_below(r, 4);
    return cd_bytes_of(key, 32);
}

static fixture make(u64 seed, usize cnt, int shape)
{
    fixture f = {.t = cd_trie_new_mem()};
    cd_rng r = cd_rng_seeded(seed);
    for (usize i = 0; i < cnt; i++) {
        u8 key[32];
        u8 value[60];
        cd_bytes k = random_key(&r, key, shape);
        usize n = 1 + (usize)cd_rng_below(&r, 60);
        cd_rng_fill(&r, value, n);
        assert_int_equal(cd_trie_put(f.t, k, cd_bytes_of(value, n)), CD_OK);
        ref_put(&f.m, k, cd_bytes_of(value, n));
    }
    cd_trie_root(f.t, &f.root);
    return f;
}

static void drop(fixture *f)
{
    cd_trie_close(f->t);
    cd_arena_fini(&f->a);
    free(f->m.pair);
}

static cd_bytes ref_value(const ref_map *m, cd_bytes key)
{
    usize i = ref_find(m, key);
    return ref_is_at(m, i, key) ? cd_bytes_of(m->pair[i].value, m->pair[i].value_n) : (cd_bytes){0};
}

/* Copies a proof so that it can be altered; data and array lie in the arena. */
static cd_trie_proof copy(cd_arena *a, const cd_trie_proof *p, cd_bytes **nodes)
{
    *nodes = cd_arena_array(a, cd_bytes, p->cnt + 1);
    for (usize i = 0; i < p->cnt; i++) {
        (*nodes)[i] = cd_arena_dup(a, p->node[i]);
    }
    return (cd_trie_proof){.node = *nodes, .cnt = p->cnt};
}

static void test_prove_and_verify(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 40; seed++) {
        int shape = (int)(seed % 2);
        fixture f = make(seed, (usize)(seed * 3 % 70), shape);
        cd_rng r = cd_rng_seeded(seed + 1000);
        for (int i = 0; i < 60; i++) {
            u8 key[32];
            cd_bytes k = random_key(&r, key, shape);
            cd_bytes want = ref_value(&f.m, k);
            cd_trie_proof p;
            cd_bytes v;
            assert_int_equal(cd_trie_prove(f.t, &p, &f.a, k), CD_OK);
            assert_int_equal(cd_trie_verify(&v, &f.root, k, &p), CD_OK);
            assert_true(cd_bytes_eq(v, want));
            if (p.cnt == 0) {
                continue;
            }
            /* A proof that is altered in any way is refused: a flipped bit, a missing, doubled or cut node. */
            cd_bytes *nodes;
            cd_trie_proof bad = copy(&f.a, &p, &nodes);
            usize which = (usize)cd_rng_below(&r, p.cnt);
            u8 *byte = (u8 *)(uintptr_t)nodes[which].p + cd_rng_below(&r, nodes[which].n);
            *byte ^= (u8)(1u << cd_rng_below(&r, 8));
            assert_int_equal(cd_trie_verify(&v, &f.root, k, &bad), CD_EPROOF);
            bad = copy(&f.a, &p, &nodes);
            nodes[which].n--;
            assert_int_equal(cd_trie_verify(&v, &f.root, k, &bad), CD_EPROOF);
            bad = copy(&f.a, &p, &nodes);
            bad.cnt--;
            assert_int_equal(cd_trie_verify(&v, &f.root, k, &bad), CD_EPROOF);
            bad = copy(&f.a, &p, &nodes);
            nodes[bad.cnt++] = nodes[0];
            assert_int_equal(cd_trie_verify(&v, &f.root, k, &bad), CD_EPROOF);
            cd_hash32 other = f.root;
            other.b[7] ^= 1;
            assert_int_equal(cd_trie_verify(&v, &other, k, &p), CD_EPROOF);
        }
        drop(&f);
    }
}

/* Proofs of many keys at once, on a stored trie, are the same as one by one. */
static void test_prove_many(void **state)
{
    (void)state;
    fixture f = make(9, 400, 0);
    cd_kv *kv = cd_kv_mem_open();
    cd_kv_batch b = {0};
    cd_trie_commit(f.t, &f.root, &b);
    assert_int_equal(cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&b);
    cd_trie *t = NULL;
    cd_trie_cfg cfg = {.nodes = kv, .root = f.root, .scheme = CD_TRIE_BY_PATH};
    assert_int_equal(cd_trie_open(&t, &cfg, NULL), CD_OK);
    enum { CNT = 300 };
    static u8 text[CNT][32];
    static cd_bytes keys[CNT];
    static cd_trie_proof proof[CNT];
    cd_rng r = cd_rng_seeded(1);
    for (usize i = 0; i < CNT; i++) {
        keys[i] = random_key(&r, text[i], 0);
    }
    assert_int_equal(cd_trie_prove_many(t, proof, &f.a, keys, CNT), CD_OK);
    for (usize i = 0; i < CNT; i++) {
        cd_trie_proof one;
        assert_int_equal(cd_trie_prove(f.t, &one, &f.a, keys[i]), CD_OK);
        assert_int_equal(one.cnt, proof[i].cnt);
        for (usize k = 0; k < one.cnt; k++) {
            assert_true(cd_bytes_eq(one.node[k], proof[i].node[k]));
        }
    }
    cd_trie_close(t);
    cd_kv_close(kv);
    drop(&f);
}

static void test_empty(void **state)
{
    (void)state;
    fixture f = make(1, 0, 0);
    cd_trie_proof p;
    cd_bytes v = cd_bytes_str("x");
    assert_int_equal(cd_trie_prove(f.t, &p, &f.a, cd_bytes_str("k")), CD_OK);
    assert_int_equal(p.cnt, 0);
    assert_int_equal(cd_trie_verify(&v, &CD_TRIE_EMPTY_ROOT, cd_bytes_str("k"), &p), CD_OK);
    assert_int_equal(v.n, 0);
    bool more = true;
    cd_trie_range range;
    assert_int_equal(cd_trie_prove_range(f.t, &range, &f.a, (cd_bytes){0}, (cd_bytes){0}, 10), CD_OK);
    assert_int_equal(cd_trie_verify_range(&more, &f.root, (cd_bytes){0}, range.items, range.cnt, &range.proof), CD_OK);
    assert_false(more);
    drop(&f);
}

/* Pages through the whole trie by range proofs, from random starts, and spoils each page. */
static void test_ranges(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 40; seed++) {
        fixture f = make(seed, 1 + (usize)(seed * 5 % 90), 0);
        cd_rng r = cd_rng_seeded(seed);
        u8 start[32];
        cd_bytes from = seed % 3 == 0 ? (cd_bytes){0} : random_key(&r, start, 0);
        for (;;) {
            usize limit = 1 + (usize)cd_rng_below(&r, 12);
            cd_trie_range g;
            assert_int_equal(cd_trie_prove_range(f.t, &g, &f.a, from, (cd_bytes){0}, limit), CD_OK);
            usize at = ref_find(&f.m, from);
            assert_true(g.cnt == limit || at + g.cnt == f.m.cnt);
            for (usize i = 0; i < g.cnt; i++) {
                const ref_pair *want = &f.m.pair[at + i];
                assert_true(cd_bytes_eq(g.items[i].key, cd_bytes_of(want->key, want->key_n)));
                assert_true(cd_bytes_eq(g.items[i].value, cd_bytes_of(want->value, want->value_n)));
            }
            bool more = !g.more;
            assert_int_equal(cd_trie_verify_range(&more, &f.root, from, g.items, g.cnt, &g.proof), CD_OK);
            assert_int_equal(more, g.more);
            assert_int_equal(more, at + g.cnt != f.m.cnt);

            cd_trie_item *bad = cd_arena_array(&f.a, cd_trie_item, g.cnt + 2);
            memcpy(bad, g.items, g.cnt * sizeof *bad);
            if (g.cnt != 0) {
                /* An item left out, at the front, in the middle, at the end. */
                usize gap = (usize)cd_rng_below(&r, g.cnt);
                memmove(bad + gap, bad + gap + 1, (g.cnt - gap - 1) * sizeof *bad);
                cd_err err = cd_trie_verify_range(&more, &f.root, from, bad, g.cnt - 1, &g.proof);
                /* Without the last item it is a shorter run, which the nodes may happen to prove. */
                assert_true(err == CD_EPROOF || (err == CD_OK && gap == g.cnt - 1 && g.cnt > 1 && more));
                /* An altered value. */
                memcpy(bad, g.items, g.cnt * sizeof *bad);
                bad[gap].value = cd_bytes_str("something else");
                err = cd_trie_verify_range(&more, &f.root, from, bad, g.cnt, &g.proof);
                assert_int_equal(err, CD_EPROOF);
                /* An altered key. */
                memcpy(bad, g.items, g.cnt * sizeof *bad);
                u8 key[32];
                memcpy(key, bad[gap].key.p, 32);
                key[31] ^= 0x80;
                bad[gap].key = cd_bytes_of(key, 32);
                err = cd_trie_verify_range(&more, &f.root, from, bad, g.cnt, &g.proof);
                assert_int_equal(err, CD_EPROOF);
                /* An item too many. */
                memcpy(bad, g.items, g.cnt * sizeof *bad);
                memcpy(key, bad[g.cnt - 1].key.p, 32);
                key[31] |= 0x40;
                bad[g.cnt] = (cd_trie_item){.key = cd_bytes_of(key, 32), .value = cd_bytes_str("v")};
                err = cd_trie_verify_range(&more, &f.root, from, bad, g.cnt + 1, &g.proof);
                assert_int_equal(err, CD_EPROOF);
            }
            if (g.proof.cnt != 0) {
                cd_bytes *nodes;
                cd_trie_proof p = copy(&f.a, &g.proof, &nodes);
                usize which = (usize)cd_rng_below(&r, p.cnt);
                u8 *byte = (u8 *)(uintptr_t)nodes[which].p + cd_rng_below(&r, nodes[which].n);
                *byte ^= (u8)(1u << cd_rng_below(&r, 8));
                cd_err err = cd_trie_verify_range(&more, &f.root, from, g.items, g.cnt, &p);
                /* With an empty start only the way to the last item is checked. */
                assert_true(err == CD_EPROOF || from.n == 0);
            }
            if (!g.more || g.cnt == 0) {
                break;
            }
            /* Goes on after the last key. */
            memcpy(start, g.items[g.cnt - 1].key.p, 32);
            for (usize i = 32; i-- > 0 && ++start[i] == 0;) {
            }
            from = cd_bytes_of(start, 32);
        }
        drop(&f);
    }
}

static void test_range_end(void **state)
{
    (void)state;
    fixture f = make(3, 60, 0);
    cd_bytes end = cd_bytes_of(f.m.pair[5].key, 32);
    cd_trie_range g;
    bool more;
    assert_int_equal(cd_trie_prove_range(f.t, &g, &f.a, (cd_bytes){0}, end, 1000), CD_OK);
    assert_int_equal(g.cnt, 6);
    assert_int_equal(cd_trie_verify_range(&more, &f.root, (cd_bytes){0}, g.items, g.cnt, &g.proof), CD_OK);
    assert_true(more);
    /* There is nothing up to end: the next item shows it. */
    u8 zero[32] = {0};
    u8 one[32] = {1};
    assert_int_equal(cd_trie_prove_range(f.t, &g, &f.a, cd_bytes_of(zero, 32), cd_bytes_of(one, 32), 0), CD_OK);
    assert_int_equal(g.cnt, 1);
    assert_int_equal(cd_trie_verify_range(&more, &f.root, cd_bytes_of(zero, 32), g.items, 1, &g.proof), CD_OK);
    assert_int_equal(cd_trie_verify_range(&more, &f.root, cd_bytes_of(zero, 32), g.items, 0, &g.proof), CD_EPROOF);
    /* There is nothing after the last key, and that is proven, too. */
    u8 top[32];
    memset(top, 0xff, 32);
    assert_int_equal(cd_trie_prove_range(f.t, &g, &f.a, cd_bytes_of(top, 32), (cd_bytes){0}, 10), CD_OK);
    assert_int_equal(g.cnt, 0);
    assert_int_equal(cd_trie_verify_range(&more, &f.root, cd_bytes_of(top, 32), NULL, 0, &g.proof), CD_OK);
    assert_false(more);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prove_and_verify), cmocka_unit_test(test_prove_many), cmocka_unit_test(test_empty),
        cmocka_unit_test(test_ranges),           cmocka_unit_test(test_range_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
