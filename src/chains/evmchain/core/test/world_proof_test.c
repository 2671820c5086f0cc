/* Proofs and walks at the head and at every version that is kept, against the model. */
#include "chains/evmchain/core/test/world_past.h"
#include "chains/evmchain/core/world/scratch.h"
#include "chains/evmchain/core/world/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STRANGER = PAST_ADDRS }; /* an address nobody touched */

static cd_hash32 hash_of(const cd_addr20 *addr)
{
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_of(addr->b, 20));
    return h;
}

static cd_hash32 word_of(u64 k)
{
    cd_hash32 w = {0};
    w.b[31] = (u8)k;
    return w;
}

static cd_hash32 slot_hash_of(u64 k)
{
    cd_hash32 w = word_of(k);
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_of(w.b, 32));
    return h;
}

/* --- proofs --- */

static void check_proof(const past *p, const past_state *s, u64 i, const cd_world_proof *proof)
{
    static const past_acct nobody;
    const past_acct *want = i == STRANGER ? &nobody : &s->accts[i];
    cd_addr20 addr = world_addr(i);
    cd_hash32 key = hash_of(&addr);
    cd_bytes value;
    u8 enc[CD_ACCOUNT_RLP_MAX];
    assert_memory_equal(proof->root.b, s->head.root.b, 32);
    assert_int_equal(proof->found, want->found);
    assert_int_equal(cd_trie_verify(&value, &s->head.root, cd_bytes_of(key.b, 32), &proof->proof), CD_OK);
    if (!want->found) {
        assert_int_equal(value.n, 0);
    } else {
        usize n = cd_account_enc(enc, &want->account, p->cfg.form);
        assert_true(cd_bytes_eq(value, cd_bytes_of(enc, n)));
    }
    for (u64 k = 0; k < PAST_KEYS; k++) {
        cd_hash32 slot = slot_hash_of(k);
        u8 slot_enc[33];
        usize n = cd__slot_enc(slot_enc, &want->slots[k]);
        assert_int_equal(
            cd_trie_verify(&value, &proof->account.storage_root, cd_bytes_of(slot.b, 32), &proof->slots[k].proof),
            CD_OK);
        assert_true(cd_bytes_eq(value, cd_bytes_of(slot_enc, n)));
        assert_true(cd_u256_eq(&proof->slots[k].value, &want->slots[k]));
    }
}

static void check_proofs(past *p)
{
    cd_arena a = {0};
    cd_world_proof proof;
    cd_hash32 keys[PAST_KEYS];
    cd_kv *frozen = NULL;
    u64 oldest;
    assert_int_equal(cd_kv_snapshot(&frozen, p->kv), CD_OK);
    assert_int_equal(cd_world_oldest(frozen, &oldest), CD_OK);
    for (u64 k = 0; k < PAST_KEYS; k++) {
        keys[k] = word_of(k);
    }
    for (usize at = 0; at < p->cnt; at++) {
        const past_state *s = &p->states[at];
        cd_world_past *then = NULL;
        bool is_end = at + 1 == p->cnt || p->states[at + 1].head.height != s->head.height;
        cd_world_past_cfg cfg = {
            .kv = frozen,
            .form = p->cfg.form,
            .version = is_end ? cd_world_version_of(s->head.height) : s->version,
        };
        cd_err e = cd_world_past_open(&then, &cfg, &p->why);
        if (s->head.height < oldest) {
            assert_int_equal(e, CD_EMISSING);
        }
        if (s->head.height < oldest || (!is_end && s->head.height == oldest)) {
            cd_world_past_close(then);
            continue;
        }
        assert_int_equal(e, CD_OK);
        for (u64 i = 0; i <= STRANGER; i++) {
            cd_addr20 addr = world_addr(i);
            assert_int_equal(cd_world_past_prove(then, &proof, &a, &addr, keys, PAST_KEYS, &p->why), CD_OK);
            check_proof(p, s, i, &proof);
        }
        cd_world_past_close(then);
    }
    for (u64 i = 0; i <= STRANGER; i++) {
        cd_addr20 addr = world_addr(i);
        assert_int_equal(cd_world_prove(p->world, &proof, &a, &addr, keys, PAST_KEYS, &p->why), CD_OK);
        check_proof(p, &p->states[p->cnt - 1], i, &proof);
    }
    cd_kv_close(frozen);
    cd_arena_fini(&a);
}

/* --- walks --- */

static void check_slots(cd_kv *kv, const past_acct *want, const cd_hash32 *account, u64 version, const cd_hash32 *start)
{
    cd_world_walk *w = NULL;
    bool seen[PAST_KEYS] = {false};
    cd_hash32 last = {0};
    assert_int_equal(cd_world_walk_slots(&w, kv, version, account, start), CD_OK);
    while (cd_world_walk_next(w)) {
        cd_u256 key;
        cd_u256 value;
        const cd_hash32 *hash = cd_world_walk_hash(w);
        assert_true(memcmp(hash->b, last.b, 32) > 0);
        last = *hash;
        assert_int_equal(cd_world_key_of(kv, &key, hash), CD_OK);
        assert_true(key.w[0] < PAST_KEYS);
        assert_int_equal(cd_world_walk_slot(w, &value), CD_OK);
        assert_true(cd_u256_eq(&value, &want->slots[key.w[0]]) && !cd_u256_is_zero(&value));
        seen[key.w[0]] = true;
    }
    assert_int_equal(cd_world_walk_err(w), CD_OK);
    cd_world_walk_free(w);
    for (u64 k = 0; k < PAST_KEYS; k++) {
        cd_hash32 hash = slot_hash_of(k);
        bool is_before = start != NULL && memcmp(hash.b, start->b, 32) < 0;
        assert_int_equal(seen[k], !is_before && !cd_u256_is_zero(&want->slots[k]));
    }
}

static void check_accounts(past *p, cd_kv *kv, const past_state *s, u64 version, const cd_hash32 *start)
{
    cd_world_walk *w = NULL;
    bool seen[PAST_ADDRS] = {false};
    cd_hash32 last = {0};
    assert_int_equal(cd_world_walk_accounts(&w, kv, version, start), CD_OK);
    while (cd_world_walk_next(w)) {
        cd_addr20 addr;
        cd_account account;
        const cd_hash32 *hash = cd_world_walk_hash(w);
        assert_true(memcmp(hash->b, last.b, 32) > 0);
        last = *hash;
        assert_int_equal(cd_world_addr_of(kv, &addr, hash), CD_OK);
        const past_acct *want = &s->accts[addr.b[19]];
        assert_int_equal(cd_world_walk_account(w, &account, p->cfg.form), CD_OK);
        assert_true(want->found && account.nonce == want->account.nonce);
        assert_memory_equal(account.storage_root.b, want->account.storage_root.b, 32);
        seen[addr.b[19]] = true;
    }
    assert_int_equal(cd_world_walk_err(w), CD_OK);
    cd_world_walk_free(w);
    for (u64 i = 0; i < PAST_ADDRS; i++) {
        cd_addr20 addr = world_addr(i);
        cd_hash32 hash = hash_of(&addr);
        bool is_before = start != NULL && memcmp(hash.b, start->b, 32) < 0;
        assert_int_equal(seen[i], !is_before && s->accts[i].found);
        check_slots(kv, &s->accts[i], &hash, version, start);
    }
}

static bool acct_differs(const past_acct *a, const past_acct *b)
{
    return a->found != b->found || (a->found && (a->account.nonce != b->account.nonce ||
                                                 !cd_u256_eq(&a->account.balance, &b->account.balance) ||
                                                 !cd_hash32_eq(&a->account.code_hash, &b->account.code_hash) ||
                                                 !cd_hash32_eq(&a->account.storage_root, &b->account.storage_root)));
}

static void check_modified(past *p, cd_kv *kv, usize from, usize to)
{
    cd_arena a = {0};
    cd_addr20 *addrs = NULL;
    usize cnt = 0;
    usize at = 0;
    assert_int_equal(cd_world_modified(kv, &addrs, &cnt, &a, p->states[from].version, p->states[to].version, 100),
                     CD_OK);
    for (u64 i = 0; i < PAST_ADDRS; i++) {
        cd_addr20 addr = world_addr(i);
        if (acct_differs(&p->states[from].accts[i], &p->states[to].accts[i])) {
            assert_true(at < cnt && cd_addr20_eq(&addrs[at], &addr));
            at++;
        }
    }
    assert_int_equal(at, cnt);
    cd_arena_fini(&a);
}

static void check_walks(past *p)
{
    cd_kv *frozen = NULL;
    cd_world_stats stats;
    cd_world_stats_get(p->world, &stats);
    assert_int_equal(cd_kv_snapshot(&frozen, p->kv), CD_OK);
    for (usize at = 0; at < p->cnt; at++) {
        const past_state *s = &p->states[at];
        cd_hash32 start;
        cd_rng_fill(&p->rng, start.b, 32);
        cd_addr20 addr = world_addr(cd_rng_below(&p->rng, PAST_ADDRS));
        if (cd_rng_below(&p->rng, 2) == 0) {
            start = hash_of(&addr); /* one that may be there */
        }
        if (s->version >= stats.oldest) {
            check_accounts(p, frozen, s, s->version, NULL);
            check_accounts(p, frozen, s, s->version, &start);
            usize to = at + cd_rng_below(&p->rng, p->cnt - at);
            check_modified(p, frozen, at, to);
        } else {
            usize cnt;
            cd_addr20 *addrs;
            cd_arena a = {0};
            assert_int_equal(cd_world_modified(frozen, &addrs, &cnt, &a, s->version, s->version, 100), CD_EMISSING);
        }
    }
    check_accounts(p, frozen, &p->states[p->cnt - 1], CD_WORLD_NEWEST, NULL);
    cd_kv_close(frozen);
}

/* --- blocks that never come to be --- */

/* The root of all that a source gives, computed from nothing. */
static void root_of(cd_hash32 *out, past_state *seen, cd_state_source *src, cd_account_form form)
{
    cd_trie *accounts = cd_trie_new_mem();
    assert_int_equal(past_read(seen, src), CD_OK);
    for (u64 i = 0; i < PAST_ADDRS; i++) {
        past_acct *a = &seen->accts[i];
        cd_addr20 addr = world_addr(i);
        cd_hash32 hash = hash_of(&addr);
        cd_trie *storage = cd_trie_new_mem();
        u8 enc[CD_ACCOUNT_RLP_MAX];
        for (u64 k = 0; k < PAST_KEYS; k++) {
            cd_hash32 key = slot_hash_of(k);
            u8 value[33];
            usize n = cd__slot_enc(value, &a->slots[k]);
            assert_int_equal(cd_trie_put(storage, cd_bytes_of(key.b, 32), cd_bytes_of(value, n)), CD_OK);
        }
        cd_trie_root(storage, &a->account.storage_root);
        cd_trie_close(storage);
        usize n = a->found ? cd_account_enc(enc, &a->account, form) : 0;
        assert_int_equal(cd_trie_put(accounts, cd_bytes_of(hash.b, 32), cd_bytes_of(enc, n)), CD_OK);
    }
    cd_trie_root(accounts, out);
    cd_trie_close(accounts);
}

/* Some blocks on the state of a version. */
static void scratch_at(past *p, cd_kv *frozen, const past_state *at)
{
    cd_world_reader reader;
    cd_world_reader_init(&reader, frozen, p->cfg.form, at->version);
    cd_world_past_cfg cfg = {.kv = frozen, .form = p->cfg.form, .version = at->version};
    cd_world_scratch *s = cd_world_scratch_new(&cfg, &reader.src);
    cd_state *st = cd_state_new(cd_world_scratch_source(s));
    past_state *seen = cd_new(past_state);
    past_state *read_back = cd_new(past_state);
    for (int block = 0; block < 4; block++) {
        cd_hash32 root;
        cd_hash32 want;
        world_change(st, &p->rng, &past_space, block == 0 ? 0 : 1 + cd_rng_below(&p->rng, 12));
        assert_int_equal(cd_world_scratch_apply(s, &root, st, &p->why), CD_OK);
        /* Through the state, which did the changes itself. */
        for (u64 i = 0; i < PAST_ADDRS; i++) {
            cd_addr20 addr = world_addr(i);
            cd_acct *a = cd_state_acct(st, &addr);
            seen->accts[i].found = (a->flags & CD_ACCT_EXISTS) != 0;
            for (u64 k = 0; k < PAST_KEYS; k++) {
                cd_u256 key = cd_u256_from_u64(k);
                seen->accts[i].slots[k] = cd_state_slot(st, a, &key)->value;
            }
        }
        root_of(&want, read_back, cd_world_scratch_source(s), p->cfg.form);
        assert_memory_equal(root.b, want.b, 32);
        for (u64 i = 0; i < PAST_ADDRS; i++) {
            assert_int_equal(seen->accts[i].found, read_back->accts[i].found);
            assert_memory_equal(seen->accts[i].slots, read_back->accts[i].slots, sizeof seen->accts[i].slots);
        }
        if (block == 0) {
            assert_memory_equal(root.b, at->head.root.b, 32);
        }
        cd_state_reset(st, cd_world_scratch_source(s));
    }
    cd_free(seen);
    cd_free(read_back);
    cd_state_free(st);
    cd_world_scratch_free(s);
    cd_world_reader_fini(&reader);
}

/* The same changes in the world itself give the same root. */
static void scratch_as_the_world(past *p, cd_kv *frozen)
{
    cd_world_reader reader;
    cd_world_source src;
    cd_world_view *view = NULL;
    cd_hash32 roots[2];
    cd_rng rng = p->rng;
    cd_world_reader_init(&reader, frozen, p->cfg.form, CD_WORLD_NEWEST);
    cd_world_past_cfg cfg = {.kv = frozen, .form = p->cfg.form, .version = CD_WORLD_NEWEST};
    cd_world_scratch *s = cd_world_scratch_new(&cfg, &reader.src);
    cd_state *st = cd_state_new(cd_world_scratch_source(s));
    world_change(st, &p->rng, &past_space, 15);
    assert_int_equal(cd_world_scratch_apply(s, &roots[0], st, &p->why), CD_OK);
    p->rng = rng;
    cd_world_source_init(&src, p->world, NULL);
    cd_state_reset(st, &src.src);
    world_change(st, &p->rng, &past_space, 15);
    assert_int_equal(cd_world_apply(p->world, &view, &roots[1], NULL, st, &p->why), CD_OK);
    assert_memory_equal(roots[0].b, roots[1].b, 32);
    cd_world_drop(p->world, view);
    cd_state_free(st);
    cd_world_source_fini(&src);
    cd_world_scratch_free(s);
    cd_world_reader_fini(&reader);
}

static void check_scratch(past *p)
{
    cd_kv *frozen = NULL;
    cd_world_stats stats;
    cd_world_stats_get(p->world, &stats);
    assert_int_equal(cd_kv_snapshot(&frozen, p->kv), CD_OK);
    for (usize i = 0; i < 3; i++) {
        const past_state *at = &p->states[cd_rng_below(&p->rng, p->cnt)];
        if (at->version >= stats.oldest) {
            scratch_at(p, frozen, at);
        }
    }
    scratch_as_the_world(p, frozen);
    cd_kv_close(frozen);
}

/* --- lives --- */

static void live(u64 seed, u64 commit_interval, u64 history)
{
    past p;
    cd_kv *kv = cd_kv_mem_open();
    past_init(&p, kv, seed);
    p.cfg.trie_bytes = seed % 2; /* 1: next to nothing may stand in memory */
    assert_int_equal(past_open(&p, commit_interval, history), CD_OK);
    assert_int_equal(past_accept(&p, 0, 20), CD_OK);
    for (int i = 0; i < 60; i++) {
        const past_state *head = &p.states[p.cnt - 1];
        u64 what = cd_rng_below(&p.rng, 10);
        if (what < 6) {
            assert_int_equal(past_accept(&p, head->head.height + 1, cd_rng_below(&p.rng, 14)), CD_OK);
        } else if (what < 8) {
            assert_int_equal(past_accept(&p, head->head.height, 1), CD_OK);
        } else if (what == 8) {
            assert_int_equal(cd_world_flush(p.world, &p.why), CD_OK);
        } else {
            usize at = p.cnt - 1 - cd_rng_below(&p.rng, cd_min_u64(p.cnt, 4));
            cd_err e = past_truncate(&p, at, p.states[at].version);
            assert_true(e == CD_OK || e == CD_EMISSING);
        }
        if (i % 6 == 5) {
            check_proofs(&p);
            check_walks(&p);
            check_scratch(&p);
        }
    }
    past_fini(&p);
    cd_kv_close(kv);
}

static void proofs_and_walks_of_every_version(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 4; seed++) {
        live(seed, 1000, UINT64_MAX); /* the stored tries are far behind */
        live(seed, 1, UINT64_MAX);    /* they are at the head, versions are behind */
        live(seed, 7, 5);
        live(seed, 7, 0);
    }
}

/* A view that is not accepted neither shows in a proof nor suffers from one. */
static void proofs_are_of_the_accepted_state(void **state)
{
    (void)state;
    past p;
    cd_kv *kv = cd_kv_mem_open();
    past_init(&p, kv, 31);
    assert_int_equal(past_open(&p, 1000, UINT64_MAX), CD_OK);
    assert_int_equal(past_accept(&p, 0, 30), CD_OK);
    cd_world_source src;
    cd_world_view *view = NULL;
    cd_flat_head head = {.height = 1};
    cd_world_source_init(&src, p.world, NULL);
    cd_state *st = cd_state_new(&src.src);
    world_change(st, &p.rng, &past_space, 20);
    assert_int_equal(cd_world_apply(p.world, &view, &head.root, NULL, st, &p.why), CD_OK);
    check_proofs(&p);
    assert_int_equal(cd_world_accept(p.world, view, NULL, &head, CD_KV_NOSYNC, &p.why), CD_OK);
    p.states[1].head = head;
    p.states[1].version = cd_world_version(p.world);
    assert_int_equal(past_read(&p.states[1], &src.src), CD_OK);
    p.cnt = 2;
    check_proofs(&p);
    cd_state_free(st);
    cd_world_source_fini(&src);
    past_fini(&p);
    cd_kv_close(kv);
}

static void too_much_between_is_refused(void **state)
{
    (void)state;
    past p;
    cd_kv *kv = cd_kv_mem_open();
    cd_world_past *then = NULL;
    cd_addr20 *addrs;
    usize cnt;
    cd_arena a = {0};
    past_init(&p, kv, 32);
    assert_int_equal(past_open(&p, 1000, UINT64_MAX), CD_OK);
    for (u64 h = 0; h < 5; h++) {
        assert_int_equal(past_accept(&p, h, 30), CD_OK);
    }
    cd_world_past_cfg cfg = {.kv = kv, .version = p.states[0].version, .max_changed = 1};
    cfg.form = p.cfg.form;
    assert_int_equal(cd_world_past_open(&then, &cfg, &p.why), CD_OK);
    cd_world_past_close(then);
    cfg.version = CD_WORLD_NEWEST;
    assert_int_equal(cd_world_past_open(&then, &cfg, &p.why), CD_ELIMIT);
    assert_int_equal(cd_world_modified(kv, &addrs, &cnt, &a, 0, CD_WORLD_NEWEST, 2), CD_ELIMIT);
    cd_arena_fini(&a);
    past_fini(&p);
    cd_kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_and_walks_of_every_version),
        cmocka_unit_test(proofs_are_of_the_accepted_state),
        cmocka_unit_test(too_much_between_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
