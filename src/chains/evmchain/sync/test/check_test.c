/* Answers that prove themselves are believed; what a liar says is not: leafs left out, out of order, altered, of
 * another root, more than were asked for; blocks and code that nobody asked for. */
#include "base/os/rng.h"
#include "chains/evmchain/sync/check.h"
#include "crypto/hash/keccak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LEAFS = 300 };

typedef struct fixture {
    cd_arena a;
    cd_rng rng;
    cd_trie *t;
    cd_trie *other;
    cd_hash32 root;
    cd_hash32 other_root;
} fixture;

static void fill(cd_trie *t, cd_rng *rng, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        u8 key[32];
        u8 value[70];
        cd_rng_fill(rng, key, sizeof key);
        cd_rng_fill(rng, value, sizeof value);
        assert_int_equal(cd_trie_put(t, cd_bytes_of(key, 32), cd_bytes_of(value, sizeof value)), CD_OK);
    }
}

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.rng = cd_rng_seeded(7), .t = cd_trie_new_mem(), .other = cd_trie_new_mem()};
    fill(f.t, &f.rng, LEAFS);
    fill(f.other, &f.rng, 20);
    cd_trie_root(f.t, &f.root);
    cd_trie_root(f.other, &f.other_root);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    cd_trie_close(f->t);
    cd_trie_close(f->other);
    cd_arena_fini(&f->a);
    return 0;
}

/* An answer whose parts a test may spoil. */
typedef struct said {
    cd_bytes keys[LEAFS + 1];
    cd_bytes values[LEAFS + 1];
    cd_bytes proof[600];
    u32 cnt;
    u32 value_cnt;
    u32 proof_cnt;
} said;

static said say(fixture *f, cd_trie *t, const cd_sync_ask_leafs *ask)
{
    cd_trie_range r;
    said s = {.cnt = 0};
    assert_int_equal(cd_trie_prove_range(t, &r, &f->a, ask->start, ask->end, ask->limit), CD_OK);
    for (usize i = 0; i < r.cnt; i++) {
        s.keys[i] = r.items[i].key;
        s.values[i] = r.items[i].value;
    }
    memcpy(s.proof, r.proof.node, r.proof.cnt * sizeof *s.proof);
    s.cnt = (u32)r.cnt;
    s.value_cnt = s.cnt;
    s.proof_cnt = (u32)r.proof.cnt;
    return s;
}

static cd_err hear(fixture *f, cd_sync_run *run, const cd_sync_ask_leafs *ask, said *s)
{
    const cd_sync_leafs doc = {
        .keys = {s->keys, s->cnt}, .values = {s->values, s->value_cnt}, .proof = {s->proof, s->proof_cnt}};
    cd_buf out = {0};
    cd_linear_put(&out, &cd_sync_leafs_table, &doc);
    cd_bytes kept = cd_arena_dup(&f->a, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return cd_sync_check_leafs(run, &f->a, ask, kept, NULL);
}

static void pages(void **state)
{
    fixture *f = *state;
    cd_sync_ask_leafs ask = {.root = f->root, .limit = 37};
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    u8 next[32];
    usize cnt = 0;
    for (bool more = true; more;) {
        said s = say(f, f->t, &ask);
        cd_sync_run run;
        assert_int_equal(hear(f, &run, &ask, &s), CD_OK);
        for (usize i = 0; i < run.cnt; i++) {
            assert_int_equal(cd_trie_build_add(b, run.items[i].key, run.items[i].value), CD_OK);
        }
        cnt += run.cnt;
        more = run.more;
        assert_int_equal(more, cnt != LEAFS);
        if (more) {
            assert_true(cd_sync_next_key(next, run.items[run.cnt - 1].key.p, 32));
            ask.start = cd_bytes_of(next, 32);
        }
    }
    cd_hash32 root;
    cd_trie_build_root(b, &root);
    cd_trie_build_free(b);
    assert_memory_equal(&root, &f->root, 32);
}

/* Segments: between two keys nothing is left out, nor given beyond the second. */
static void segments(void **state)
{
    fixture *f = *state;
    u8 start[32] = {0x40};
    u8 end[32] = {0x7f};
    memset(end + 1, 0xff, 31);
    cd_sync_ask_leafs ask = {
        .root = f->root, .start = cd_bytes_of(start, 32), .end = cd_bytes_of(end, 32), .limit = CD_SYNC_LEAFS_MAX};
    said s = say(f, f->t, &ask);
    cd_sync_run run;
    assert_int_equal(hear(f, &run, &ask, &s), CD_OK);
    assert_int_equal(run.cnt, s.cnt);
    /* One further, as a server may give it, is cut off, and then the end was reached. */
    cd_sync_ask_leafs wider = ask;
    wider.end = (cd_bytes){0};
    wider.limit = (u16)(s.cnt + 1);
    s = say(f, f->t, &wider);
    usize cnt = run.cnt;
    assert_int_equal(hear(f, &run, &ask, &s), CD_OK);
    assert_int_equal(run.cnt, cnt);
    assert_false(run.more);
    /* Behind the last key there is nothing, and that is proven too. */
    memset(start, 0xff, 32);
    ask = (cd_sync_ask_leafs){.root = f->root, .start = cd_bytes_of(start, 32), .limit = 10};
    s = say(f, f->t, &ask);
    assert_int_equal(s.cnt, 0);
    assert_int_equal(hear(f, &run, &ask, &s), CD_OK);
    assert_int_equal(run.cnt, 0);
    assert_false(run.more);
    s.proof_cnt = 0;
    assert_int_not_equal(hear(f, &run, &ask, &s), CD_OK);
}

static void lies(void **state)
{
    fixture *f = *state;
    u8 start[32] = {0x40};
    cd_sync_run run;
    const cd_sync_ask_leafs ask = {.root = f->root, .start = cd_bytes_of(start, 32), .limit = 40};
    const said honest = say(f, f->t, &ask);
    said s = honest;
    assert_int_equal(hear(f, &run, &ask, &s), CD_OK);

    s.keys[3] = honest.keys[4]; /* out of order */
    s.values[3] = honest.values[4];
    s.keys[4] = honest.keys[3];
    s.values[4] = honest.values[3];
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    s = honest;
    s.keys[4] = honest.keys[3]; /* twice the same: no end of it */
    s.values[4] = honest.values[3];
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    s = honest; /* one left out */
    memmove(s.keys + 5, s.keys + 6, (s.cnt - 6) * sizeof *s.keys);
    memmove(s.values + 5, s.values + 6, (s.cnt - 6) * sizeof *s.values);
    s.cnt--;
    s.value_cnt--;
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    s = honest; /* the first left out */
    memmove(s.keys, s.keys + 1, (s.cnt - 1) * sizeof *s.keys);
    memmove(s.values, s.values + 1, (s.cnt - 1) * sizeof *s.values);
    s.cnt--;
    s.value_cnt--;
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    s = honest;
    s.values[7] = honest.values[8];
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);
    s.values[7] = (cd_bytes){0};
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    s = honest;
    s.keys[2] = cd_bytes_of(honest.keys[2].p, 31);
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    s = honest;
    s.value_cnt--;
    assert_int_equal(hear(f, &run, &ask, &s), CD_ELIMIT);

    s = honest;
    s.proof_cnt = 0; /* "this is everything" */
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);
    s.cnt = s.value_cnt = 0; /* "there is nothing" */
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);
    s.proof_cnt = honest.proof_cnt;
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    /* Nodes that nobody needs, without end. */
    s = honest;
    for (; s.proof_cnt < CD_COUNT(s.proof); s.proof_cnt++) {
        s.proof[s.proof_cnt] = honest.proof[0];
    }
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);

    /* A good answer to another question: other root, other start, more than asked for. */
    s = say(f, f->other, &ask);
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);
    cd_sync_ask_leafs earlier = ask;
    earlier.start = (cd_bytes){0};
    s = say(f, f->t, &earlier);
    assert_int_equal(hear(f, &run, &ask, &s), CD_EPROOF);
    s = honest;
    assert_int_equal(hear(f, &run, &earlier, &s), CD_EPROOF);
    cd_sync_ask_leafs fewer = ask;
    fewer.limit = 39;
    assert_int_equal(hear(f, &run, &fewer, &s), CD_ELIMIT);
}

/* Whatever bit of an answer is changed, it is refused or says the same. */
static void bits(void **state)
{
    fixture *f = *state;
    u8 start[32] = {0x99};
    const cd_sync_ask_leafs ask = {.root = f->root, .start = cd_bytes_of(start, 32), .limit = 5};
    said s = say(f, f->t, &ask);
    const cd_sync_leafs doc = {
        .keys = {s.keys, s.cnt}, .values = {s.values, s.value_cnt}, .proof = {s.proof, s.proof_cnt}};
    cd_buf out = {0};
    cd_linear_put(&out, &cd_sync_leafs_table, &doc);
    for (usize bit = 0; bit < 8 * out.n; bit++) {
        cd_sync_run run;
        out.p[bit / 8] ^= (u8)(1u << bit % 8);
        if (cd_sync_check_leafs(&run, &f->a, &ask, cd_buf_bytes(&out), NULL) == CD_OK) {
            assert_int_equal(run.cnt, s.cnt);
            for (usize i = 0; i < run.cnt; i++) {
                assert_true(cd_bytes_eq(run.items[i].key, s.keys[i]));
                assert_true(cd_bytes_eq(run.items[i].value, s.values[i]));
            }
        }
        out.p[bit / 8] ^= (u8)(1u << bit % 8);
    }
    cd_buf_fini(&out);
}

/* --- blocks and code --- */

static cd_bytes items_of(fixture *f, cd_bytes *items, u32 cnt)
{
    const cd_sync_items doc = {.items = {items, cnt}};
    cd_buf out = {0};
    cd_linear_put(&out, &cd_sync_items_table, &doc);
    cd_bytes kept = cd_arena_dup(&f->a, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return kept;
}

static void blocks(void **state)
{
    fixture *f = *state;
    enum { N = 4 };
    cd_bytes raw[N]; /* newest first */
    cd_hash32 hash[N];
    cd_block b = {.has_ext_data = true};
    b.header.has = cd_header_fields(CD_HEADER_C) & CD_HEADER_EXT_DATA_HASH;
    b.header.tx_root = CD_TRIE_EMPTY_ROOT;
    cd_uncles_hash(&b.header.uncle_hash, CD_HEADER_C, NULL, 0);
    cd_keccak256(&b.header.ext_data_hash, cd_bytes_of("\x80", 1));
    for (usize i = N; i-- > 0;) {
        cd_buf out = {0};
        b.header.number = 100 - i;
        cd_block_enc(&out, CD_HEADER_C, &b);
        raw[i] = cd_arena_dup(&f->a, cd_buf_bytes(&out));
        cd_buf_fini(&out);
        cd_header_hash(&hash[i], CD_HEADER_C, &b.header);
        b.header.parent_hash = hash[i];
    }
    cd_sync_ask_blocks ask = {.hash = hash[0], .height = 100, .cnt = N};
    cd_block *got;
    cd_bytes *got_raw;
    usize cnt;
    cd_errinfo why = {0};
    cd_err e = cd_sync_check_blocks(&got, &got_raw, &cnt, &f->a, CD_HEADER_C, &ask, items_of(f, raw, N), &why);
    if (e != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(cnt, N);
    assert_true(cd_bytes_eq(got_raw[3], raw[3]));
    assert_int_equal(got[3].header.number, 97);
#define CHECK(items, n)                                                                                                \
    cd_sync_check_blocks(&got, &got_raw, &cnt, &f->a, CD_HEADER_C, &ask, items_of(f, items, n), NULL)
    assert_int_equal(CHECK(raw, 1), CD_OK); /* fewer are fine, none are not */
    assert_int_equal(CHECK(raw, 0), CD_ELIMIT);
    assert_int_equal(CHECK(raw + 1, 1), CD_EPROOF);
    cd_bytes gap[2] = {raw[0], raw[2]};
    assert_int_equal(CHECK(gap, 2), CD_EPROOF);
    ask.cnt = N - 1;
    assert_int_equal(CHECK(raw, N), CD_ELIMIT);
    ask.cnt = N;
    ask.height = 99;
    assert_int_equal(CHECK(raw, N), CD_EPROOF);
    ask.height = 100;
    cd_bytes cut = cd_bytes_of(raw[0].p, raw[0].n - 1);
    assert_int_not_equal(CHECK(&cut, 1), CD_OK);
    /* The hash covers the header alone: a body that is not the header's. */
    cd_buf out = {0};
    cd_block liar = got[0];
    e = cd_block_dec(&liar, &f->a, CD_HEADER_C, raw[0], NULL);
    assert_int_equal(e, CD_OK);
    liar.ext_data = cd_bytes_str("an import that never was");
    cd_block_enc(&out, CD_HEADER_C, &liar);
    cd_bytes bad = cd_arena_dup(&f->a, cd_buf_bytes(&out));
    assert_int_equal(CHECK(&bad, 1), CD_EPROOF);
    cd_buf_clear(&out);
    cd_tx tx = {.type = CD_TX_LEGACY, .gas_limit = 21000};
    liar.ext_data = (cd_bytes){0};
    liar.txs = &tx;
    liar.tx_cnt = 1;
    cd_block_enc(&out, CD_HEADER_C, &liar);
    bad = cd_arena_dup(&f->a, cd_buf_bytes(&out));
    assert_int_not_equal(CHECK(&bad, 1), CD_OK);
    cd_buf_fini(&out);
#undef CHECK
}

static void code(void **state)
{
    fixture *f = *state;
    static u8 big[24577];
    cd_bytes items[2] = {cd_bytes_str("some code"), cd_bytes_str("and other")};
    cd_hash32 hashes[2];
    cd_bytes *got;
    for (usize i = 0; i < 2; i++) {
        cd_keccak256(&hashes[i], items[i]);
    }
    const cd_sync_ask_code ask = {.hashes = {hashes, 2}};
    assert_int_equal(cd_sync_check_code(&got, &f->a, &ask, items_of(f, items, 2), NULL), CD_OK);
    assert_true(cd_bytes_eq(got[1], items[1]));
    assert_int_equal(cd_sync_check_code(&got, &f->a, &ask, items_of(f, items, 1), NULL), CD_EPROOF);
    cd_bytes swapped[2] = {items[1], items[0]};
    assert_int_equal(cd_sync_check_code(&got, &f->a, &ask, items_of(f, swapped, 2), NULL), CD_EPROOF);
    cd_bytes long_one = cd_bytes_of(big, sizeof big);
    cd_keccak256(&hashes[0], long_one);
    const cd_sync_ask_code too_long = {.hashes = {hashes, 1}};
    assert_int_equal(cd_sync_check_code(&got, &f->a, &too_long, items_of(f, &long_one, 1), NULL), CD_ELIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages, setup, teardown),
        cmocka_unit_test_setup_teardown(segments, setup, teardown),
        cmocka_unit_test_setup_teardown(lies, setup, teardown),
        cmocka_unit_test_setup_teardown(bits, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(code, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
