/* The journaled state against a model that copies everything at every snapshot, and the rules one
 * by one. */
#include "evm/state/state.h"

#include "base/mem/mem.h"
#include "crypto/hash/keccak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ACCTS = 7, SLOTS = 6, CODES = 3, DEPTH = 12, LOGS_MAX = 64 };

/* --- a source over a small array --- */

typedef struct map_acct {
    bool exists;
    u64 nonce;
    u64 balance;
    u32 code; /* 0 = none */
    u64 slots[SLOTS];
} map_acct;

typedef struct map_source {
    cd_state_source vt;
    map_acct accts[ACCTS];
    cd_err err; /* error that every read gives, unless CD_OK */
} map_source;

static cd_addr20 addr_of(u32 i)
{
    cd_addr20 a = {0};
    a.b[0] = (u8)(0xf0 - 16 * i); /* descending, so that sorting shows */
    a.b[19] = (u8)i;
    return a;
}

static u32 idx_of(const cd_addr20 *a)
{
    return a->b[19];
}

static cd_u256 key_of(u32 i)
{
    return (cd_u256){.w = {i % 2, 0, 0, (u64)(100 - i)}}; /* these share places in the cache */
}

static u32 key_idx(const cd_u256 *k)
{
    return 100 - (u32)k->w[3];
}

static cd_bytes code_of(u32 i)
{
    static const u8 bytes[CODES + 1] = {0, 0x5b, 0x5c, 0x5d};
    return cd_bytes_of(bytes + i, i == 0 ? 0 : 1);
}

static cd_hash32 code_hash_of(u32 i)
{
    cd_hash32 h;
    cd_keccak256(&h, code_of(i));
    return h;
}

static cd_err map_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    map_source *m = (map_source *)src;
    const map_acct *a = &m->accts[idx_of(addr)];
    if (m->err != CD_OK) {
        return m->err;
    }
    *found = a->exists;
    if (a->exists) {
        *out = (cd_account){.balance = cd_u256_from_u64(a->balance),
                            .nonce = a->nonce,
                            .code_hash = code_hash_of(a->code),
                            .storage_root = CD_HASH_EMPTY_TRIE};
        for (u32 i = 0; i < SLOTS; i++) {
            if (a->slots[i] != 0) {
                out->storage_root.b[0] ^= 1;
                break;
            }
        }
    }
    return CD_OK;
}

static cd_err map_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    map_source *m = (map_source *)src;
    *out = cd_u256_from_u64(m->accts[idx_of(addr)].slots[key_idx(slot)]);
    return m->err;
}

static cd_err map_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    map_source *m = (map_source *)src;
    for (u32 i = 1; i <= CODES; i++) {
        cd_hash32 h = code_hash_of(i);
        if (cd_hash32_eq(&h, code_hash)) {
            *out = code_of(i);
            return m->err;
        }
    }
    return CD_ENOENT;
}

static cd_err map_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    (void)src;
    (void)out;
    (void)number;
    return CD_ENOENT;
}

static void map_init(map_source *m)
{
    *m = (map_source){
        .vt = {.account = map_account, .storage = map_storage, .code = map_code, .block_hash = map_block_hash}};
}

/* apply writes a change set into the map, checking its order and that every entry is a change. */
typedef struct applier {
    map_source *m;
    int last_acct;
    int last_slot;
    bool fails;
} applier;

static cd_err apply_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    applier *ap = ctx;
    u32 i = idx_of(&a->addr);
    map_acct *to = &ap->m->accts[i];
    if (ap->fails) {
        return CD_EIO;
    }
    assert_true(ap->last_acct < 0 || (u32)ap->last_acct > i); /* addr_of descends */
    ap->last_acct = (int)i;
    ap->last_slot = -1;
    assert_true(exists || to->exists);
    if (wiped || !exists) {
        memset(to->slots, 0, sizeof to->slots);
    }
    to->exists = exists;
    to->nonce = exists ? a->nonce : 0;
    to->balance = exists ? a->balance.w[0] : 0;
    to->code = 0;
    for (u32 c = 1; exists && c <= CODES; c++) {
        cd_hash32 h = code_hash_of(c);
        to->code = cd_hash32_eq(&h, &a->code_hash) ? c : to->code;
    }
    return CD_OK;
}

static cd_err apply_slot(void *ctx, const cd_acct *a, const cd_slot *s)
{
    applier *ap = ctx;
    u32 k = key_idx(&s->key);
    assert_int_equal(ap->last_acct, idx_of(&a->addr));
    assert_true(ap->last_slot < 0 || (u32)ap->last_slot > k); /* key_of descends */
    ap->last_slot = (int)k;
    u64 *to = &ap->m->accts[idx_of(&a->addr)].slots[k];
    assert_true(*to == s->committed.w[0] && *to != s->value.w[0]);
    *to = s->value.w[0];
    return CD_OK;
}

static void apply(cd_state *st, map_source *m)
{
    applier ap = {.m = m, .last_acct = -1};
    cd_state_visitor v = {.ctx = &ap, .acct = apply_acct, .slot = apply_slot};
    assert_int_equal(cd_state_changes(st, &v), CD_OK);
}

/* --- the model --- */

typedef struct model_acct {
    map_acct now;
    bool touched, destroyed, created, warm;
    bool slot_warm[SLOTS];
    u64 transient[SLOTS];
} model_acct;

typedef struct model {
    model_acct accts[ACCTS];
    u64 refund;
    u32 log_cnt;
} model;

typedef struct world {
    cd_state *st;
    map_source src;
    model m;
    u64 original[ACCTS][SLOTS];
    bool kept[ACCTS]; /* touches that survive reverts */
    model stack[DEPTH];
    cd_snapshot snaps[DEPTH];
    u32 depth;
    u64 rng;
} world;

static u64 rnd(world *w, u64 n)
{
    w->rng ^= w->rng << 13;
    w->rng ^= w->rng >> 7;
    w->rng ^= w->rng << 17;
    return w->rng % n;
}

static bool model_empty(const model_acct *a)
{
    return a->now.nonce == 0 && a->now.balance == 0 && a->now.code == 0;
}

static void model_begin(world *w)
{
    for (u32 i = 0; i < ACCTS; i++) {
        model_acct *a = &w->m.accts[i];
        *a = (model_acct){.now = a->now};
        memcpy(w->original[i], a->now.slots, sizeof a->now.slots);
        w->kept[i] = false;
    }
    w->m.refund = 0;
    w->depth = 0;
}

static void model_end(world *w, bool drop_empty)
{
    for (u32 i = 0; i < ACCTS; i++) {
        model_acct *a = &w->m.accts[i];
        bool touched = a->touched || w->kept[i];
        if (a->destroyed || (drop_empty && touched && a->now.exists && model_empty(a))) {
            a->now = (map_acct){0};
        }
    }
}

static void check_acct(world *w, u32 i)
{
    model_acct *m = &w->m.accts[i];
    cd_addr20 addr = addr_of(i);
    cd_acct *a = cd_state_acct(w->st, &addr);
    assert_true(cd_addr20_eq(&a->addr, &addr));
    assert_int_equal((a->flags & CD_ACCT_EXISTS) != 0, m->now.exists);
    assert_int_equal(a->nonce, m->now.nonce);
    assert_int_equal(a->balance.w[0], m->now.balance);
    cd_hash32 h = code_hash_of(m->now.code);
    assert_true(cd_hash32_eq(&h, &a->code_hash));
    assert_int_equal(cd_state_is_new(w->st, a), m->created);
    assert_int_equal(cd_acct_is_empty(a), model_empty(m));
    if (rnd(w, 4) == 0) {
        assert_true(cd_bytes_eq(cd_state_code(w->st, a), code_of(m->now.code)));
    }
    for (u32 k = 0; k < SLOTS; k++) {
        cd_u256 key = key_of(k);
        cd_u256 t;
        cd_state_tload(w->st, &t, &addr, &key);
        assert_int_equal(t.w[0], m->transient[k]);
        if (rnd(w, 3) == 0) {
            cd_slot *s = cd_state_slot(w->st, a, &key);
            assert_int_equal(s->value.w[0], m->now.slots[k]);
            assert_int_equal(cd_state_slot_original(w->st, s)->w[0], w->original[i][k]);
        }
    }
}

static void check(world *w)
{
    for (u32 i = 0; i < ACCTS; i++) {
        check_acct(w, i);
    }
    assert_int_equal(cd_state_refund_get(w->st), w->m.refund);
    usize cnt;
    const cd_log *logs = cd_state_logs(w->st, &cnt);
    assert_int_equal(cnt, w->m.log_cnt);
    for (usize i = 0; i < cnt; i++) {
        assert_int_equal(logs[i].data.n, i);
        assert_int_equal(logs[i].topic_cnt, i % 5);
        assert_true(i == 0 || logs[i].data.p[i - 1] == (u8)i);
    }
}

static void do_log(world *w, const cd_addr20 *addr)
{
    u8 data[LOGS_MAX];
    if (w->m.log_cnt == LOGS_MAX) {
        return;
    }
    memset(data, (int)w->m.log_cnt, sizeof data);
    cd_log log = {.addr = *addr, .topic_cnt = w->m.log_cnt % 5, .data = cd_bytes_of(data, w->m.log_cnt)};
    cd_state_log(w->st, &log);
    w->m.log_cnt++;
}

static void do_change(world *w)
{
    u32 i = (u32)rnd(w, ACCTS);
    u32 k = (u32)rnd(w, SLOTS);
    model_acct *m = &w->m.accts[i];
    cd_addr20 addr = addr_of(i);
    cd_acct *a = cd_state_acct(w->st, &addr);
    cd_u256 key = key_of(k);
    u64 v = rnd(w, 3);
    cd_u256 word = cd_u256_from_u64(v);
    switch (rnd(w, 13)) {
    case 0: {
        bool keep = rnd(w, 4) == 0;
        cd_state_touch(w->st, a, keep);
        m->touched = m->now.exists = true;
        w->kept[i] |= keep;
        return;
    }
    case 1:
        cd_state_add_balance(w->st, a, &word);
        m->now.balance += v;
        break;
    case 2:
        if (m->now.balance < v) {
            return;
        }
        cd_state_sub_balance(w->st, a, &word);
        m->now.balance -= v;
        break;
    case 3:
        cd_state_set_balance(w->st, a, &word);
        m->now.balance = v;
        break;
    case 4:
        cd_state_set_nonce(w->st, a, v);
        m->now.nonce = v;
        break;
    case 5: {
        u32 c = (u32)rnd(w, CODES + 1);
        cd_state_set_code(w->st, a, code_of(c));
        m->now.code = c;
        break;
    }
    case 6: {
        bool storage = false;
        for (u32 s = 0; s < SLOTS; s++) {
            storage |= m->now.slots[s] != 0;
        }
        bool collides = cd_state_collides(w->st, a);
        assert_true(collides || !(m->now.nonce != 0 || m->now.code != 0 || storage));
        if (collides) {
            return;
        }
        cd_state_create(w->st, a, 1);
        m->created = true;
        m->now.nonce = 1;
        break;
    }
    case 7:
        if (!m->now.exists) {
            return;
        }
        cd_state_destroy(w->st, a);
        m->destroyed = true;
        break;
    case 8:
    case 9:
        /* Storage of an account that does not exist would be lost: contracts exist when they store.
         */
        if (!m->now.exists) {
            return;
        }
        cd_state_set_slot(w->st, cd_state_slot(w->st, a, &key), &word);
        m->now.slots[k] = v;
        return;
    case 10:
        cd_state_tstore(w->st, &addr, &key, &word);
        m->transient[k] = v;
        return;
    case 11:
        assert_int_equal(cd_state_warm_slot(w->st, cd_state_slot(w->st, a, &key)), m->slot_warm[k]);
        m->slot_warm[k] = true;
        assert_int_equal(cd_state_warm_acct(w->st, a), m->warm);
        m->warm = true;
        return;
    case 12:
        cd_state_refund(w->st, (i64)v);
        w->m.refund += v;
        do_log(w, &addr);
        return;
    }
    m->touched = m->now.exists = true;
}

static void run_tx(world *w)
{
    cd_state_begin_tx(w->st);
    model_begin(w);
    u64 steps = rnd(w, 60);
    for (u64 s = 0; s < steps; s++) {
        u64 what = rnd(w, 12);
        if (what == 0 && w->depth < DEPTH) {
            w->stack[w->depth] = w->m;
            w->snaps[w->depth++] = cd_state_snapshot(w->st);
        } else if (what == 1 && w->depth > 0) {
            w->depth -= (u32)rnd(w, w->depth) + 1; /* several frames at once, too */
            cd_state_revert(w->st, w->snaps[w->depth]);
            w->m = w->stack[w->depth];
        } else if (what == 2 && w->depth > 0) {
            w->depth--; /* the frame succeeded */
        } else {
            do_change(w);
        }
        if (rnd(w, 4) == 0) {
            check(w);
        }
    }
    check(w);
    bool drop_empty = rnd(w, 4) != 0;
    cd_state_end_tx(w->st, drop_empty);
    model_end(w, drop_empty);
}

static void run_block(world *w)
{
    u64 txs = rnd(w, 6);
    for (u64 t = 0; t < txs; t++) {
        run_tx(w);
    }
    if (txs == 0) {
        cd_state_begin_tx(w->st);
        model_begin(w);
    }
    apply(w->st, &w->src);
    for (u32 i = 0; i < ACCTS; i++) {
        assert_memory_equal(&w->src.accts[i], &w->m.accts[i].now, sizeof(map_acct));
    }
    cd_state_clear_logs(w->st);
    w->m.log_cnt = 0;
    cd_state_reset(w->st, &w->src.vt);
}

static void matches_a_copying_model(void **state)
{
    (void)state;
    const char *env = getenv("CANDELA_SEED");
    u64 seed = env == NULL ? 0x9e3779b97f4a7c15 : strtoull(env, NULL, 0);
    print_message("seed 0x%llx\n", (unsigned long long)seed);
    world *w = cd_new(world);
    w->rng = seed | 1;
    map_init(&w->src);
    w->st = cd_state_new(&w->src.vt);
    for (u32 b = 0; b < 2000; b++) {
        run_block(w);
    }
    cd_state_free(w->st);
    cd_free(w);
}

/* --- rules one by one --- */

static void destroyed_then_created_again_has_no_old_storage(void **state)
{
    (void)state;
    map_source m;
    map_init(&m);
    m.accts[1] = (map_acct){.exists = true, .nonce = 1, .code = 1, .slots = {7, 8}};
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 addr = addr_of(1);
    cd_u256 k0 = key_of(0);
    cd_u256 k1 = key_of(1);
    cd_u256 seven = cd_u256_from_u64(7);
    cd_acct *a = cd_state_acct(st, &addr);
    assert_true(cd_state_collides(st, a));
    cd_state_begin_tx(st);
    assert_int_equal(cd_state_slot(st, a, &k0)->value.w[0], 7);
    cd_state_destroy(st, a);
    assert_int_equal(cd_state_slot(st, a, &k0)->value.w[0], 7);
    cd_state_end_tx(st, true);
    assert_false(cd_state_collides(st, a));

    cd_state_begin_tx(st);
    cd_state_create(st, a, 1);
    assert_true(cd_state_is_new(st, a));
    assert_int_equal(cd_state_slot(st, a, &k0)->value.w[0], 0);
    assert_int_equal(cd_state_slot(st, a, &k1)->value.w[0], 0);
    cd_state_set_slot(st, cd_state_slot(st, a, &k0), &seven);
    cd_state_end_tx(st, true);
    /* The same value as in the source, yet a change: the source's storage is dropped first. */
    apply(st, &m);
    assert_int_equal(m.accts[1].slots[0], 7);
    assert_int_equal(m.accts[1].slots[1], 0);
    assert_int_equal(m.accts[1].code, 0);
    cd_state_free(st);
}

static cd_err count_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    (void)a;
    (void)exists;
    (void)wiped;
    ++*(u32 *)ctx;
    return CD_OK;
}

static cd_err count_slot(void *ctx, const cd_acct *a, const cd_slot *s)
{
    (void)a;
    (void)s;
    ++*(u32 *)ctx;
    return CD_OK;
}

static void back_to_the_old_value_is_no_change(void **state)
{
    (void)state;
    map_source m;
    map_init(&m);
    m.accts[2] = (map_acct){.exists = true, .nonce = 1, .balance = 5, .slots = {1}};
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 addr = addr_of(2);
    cd_addr20 other = addr_of(3);
    cd_u256 k = key_of(0);
    cd_u256 one = cd_u256_one();
    cd_u256 five = cd_u256_from_u64(5);
    for (u64 v = 0; v < 3; v++) {
        cd_state_begin_tx(st);
        cd_acct *a = cd_state_acct(st, &addr);
        cd_u256 next = cd_u256_from_u64(v == 2 ? 1 : v + 10);
        cd_state_set_slot(st, cd_state_slot(st, a, &k), &next);
        cd_state_set_balance(st, a, v == 2 ? &five : &one);
        cd_state_touch(st, cd_state_acct(st, &other), false);
        cd_state_end_tx(st, true);
    }
    u32 cnt = 0;
    cd_state_visitor v = {.ctx = &cnt, .acct = count_acct, .slot = count_slot};
    assert_int_equal(cd_state_changes(st, &v), CD_OK);
    assert_int_equal(cnt, 0);
    cd_state_free(st);
}

static void storage_makes_an_address_collide(void **state)
{
    (void)state;
    map_source m;
    map_init(&m);
    m.accts[0] = (map_acct){.exists = true, .slots = {0, 9}};
    m.accts[1] = (map_acct){.exists = true, .balance = 1};
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 a0 = addr_of(0);
    cd_addr20 a1 = addr_of(1);
    cd_addr20 a2 = addr_of(2);
    cd_state_begin_tx(st);
    assert_true(cd_state_collides(st, cd_state_acct(st, &a0)));
    cd_acct *b = cd_state_acct(st, &a1);
    assert_false(cd_state_collides(st, b));
    assert_false(cd_state_collides(st, cd_state_acct(st, &a2)));
    cd_u256 k = key_of(4);
    cd_u256 one = cd_u256_one();
    cd_state_set_slot(st, cd_state_slot(st, b, &k), &one);
    assert_true(cd_state_collides(st, b));
    cd_state_free(st);
}

static void kept_touch_survives_the_revert(void **state)
{
    (void)state;
    map_source m;
    map_init(&m);
    m.accts[3] = (map_acct){.exists = true};
    m.accts[4] = (map_acct){.exists = true};
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 kept = addr_of(3);
    cd_addr20 lost = addr_of(4);
    cd_addr20 absent = addr_of(5);
    cd_state_begin_tx(st);
    cd_snapshot s = cd_state_snapshot(st);
    cd_state_touch(st, cd_state_acct(st, &kept), false);
    cd_state_touch(st, cd_state_acct(st, &kept), true); /* has an effect although it is touched already */
    cd_state_touch(st, cd_state_acct(st, &lost), false);
    cd_state_touch(st, cd_state_acct(st, &absent), true);
    cd_state_revert(st, s);
    assert_int_equal(cd_state_acct(st, &absent)->flags & CD_ACCT_EXISTS, 0);
    cd_state_end_tx(st, true);
    apply(st, &m);
    assert_false(m.accts[3].exists);
    assert_true(m.accts[4].exists);
    assert_false(m.accts[5].exists);
    cd_state_free(st);
}

static void code_comes_back_and_goes_with_the_account(void **state)
{
    (void)state;
    map_source m;
    map_init(&m);
    m.accts[0] = (map_acct){.exists = true, .nonce = 1, .code = 1};
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 addr = addr_of(0);
    cd_state_begin_tx(st);
    cd_acct *a = cd_state_acct(st, &addr);
    cd_hash32 hash = a->code_hash;
    cd_snapshot s = cd_state_snapshot(st);
    cd_state_set_code(st, a, code_of(2));
    assert_true(cd_bytes_eq(cd_state_code(st, a), code_of(2)));
    assert_false(cd_hash32_eq(&a->code_hash, &hash));
    cd_state_revert(st, s);
    assert_true(cd_bytes_eq(cd_state_code(st, a), code_of(1)));
    assert_true(cd_hash32_eq(&a->code_hash, &hash));
    cd_state_destroy(st, a);
    cd_state_end_tx(st, true);
    assert_int_equal(cd_state_code(st, a).n, 0);
    cd_state_free(st);
}

static void the_first_source_error_stays(void **state)
{
    (void)state;
    map_source m;
    map_init(&m);
    m.accts[0] = (map_acct){.exists = true, .nonce = 3, .code = 1, .slots = {5}};
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 addr = addr_of(0);
    cd_addr20 other = addr_of(1);
    cd_acct *a = cd_state_acct(st, &addr);
    cd_u256 k = key_of(0);
    m.err = CD_EIO;
    assert_true(cd_u256_is_zero(&cd_state_slot(st, a, &k)->value));
    m.err = CD_ENOENT;
    assert_int_equal(cd_state_code(st, a).n, 0);
    assert_int_equal(cd_state_acct(st, &other)->flags & CD_ACCT_EXISTS, 0);
    assert_int_equal(cd_state_error(st), CD_EIO);
    m.err = CD_OK;
    cd_state_reset(st, &m.vt);
    assert_int_equal(cd_state_error(st), CD_OK);
    assert_int_equal(cd_state_slot(st, cd_state_acct(st, &addr), &k)->value.w[0], 5);
    cd_state_free(st);
}

static void a_visitor_error_stops_the_walk(void **state)
{
    (void)state;
    map_source m;
    map_init(&m);
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 addr = addr_of(0);
    cd_state_begin_tx(st);
    cd_state_set_nonce(st, cd_state_acct(st, &addr), 1);
    cd_state_end_tx(st, true);
    applier ap = {.m = &m, .last_acct = -1, .fails = true};
    cd_state_visitor v = {.ctx = &ap, .acct = apply_acct, .slot = apply_slot};
    assert_int_equal(cd_state_changes(st, &v), CD_EIO);
    cd_state_free(st);
}

/* Many slots: tables, journal and caches grow past their first sizes; the entries stay where they
 * are. */
static void many_slots_keep_their_place(void **state)
{
    (void)state;
    enum { N = 20000 };
    map_source m;
    map_init(&m);
    cd_state *st = cd_state_new(&m.vt);
    cd_addr20 addr = addr_of(0);
    cd_acct *a = cd_state_acct(st, &addr);
    cd_slot **at = cd_new_array(cd_slot *, N);
    cd_state_begin_tx(st);
    cd_snapshot snap = cd_state_snapshot(st);
    for (u64 i = 0; i < N; i++) {
        cd_u256 key = {.w = {i, i % 3, 0, i % 7}};
        cd_u256 value = cd_u256_from_u64(i + 1);
        at[i] = cd_state_slot(st, a, &key);
        assert_false(cd_state_warm_slot(st, at[i]));
        cd_state_set_slot(st, at[i], &value);
        cd_state_tstore(st, &addr, &key, &value);
    }
    for (u64 i = 0; i < N; i++) {
        cd_u256 key = {.w = {i, i % 3, 0, i % 7}};
        cd_u256 t;
        assert_ptr_equal(cd_state_slot(st, a, &key), at[i]);
        assert_int_equal(at[i]->value.w[0], i + 1);
        cd_state_tload(st, &t, &addr, &key);
        assert_int_equal(t.w[0], i + 1);
    }
    cd_state_revert(st, snap);
    for (u64 i = 0; i < N; i++) {
        cd_u256 key = {.w = {i, i % 3, 0, i % 7}};
        cd_u256 t;
        assert_true(cd_u256_is_zero(&at[i]->value));
        assert_false(cd_state_warm_slot(st, at[i]));
        cd_state_tload(st, &t, &addr, &key);
        assert_true(cd_u256_is_zero(&t));
    }
    cd_free(at);
    cd_state_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_a_copying_model),
        cmocka_unit_test(destroyed_then_created_again_has_no_old_storage),
        cmocka_unit_test(back_to_the_old_value_is_no_change),
        cmocka_unit_test(storage_makes_an_address_collide),
        cmocka_unit_test(kept_touch_survives_the_revert),
        cmocka_unit_test(code_comes_back_and_goes_with_the_account),
        cmocka_unit_test(the_first_source_error_stays),
        cmocka_unit_test(a_visitor_error_stops_the_walk),
        cmocka_unit_test(many_slots_keep_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
