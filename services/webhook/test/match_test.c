/* The matcher against the rules read one by one: random webhooks that come, change and go, random blocks. */
#include "services/webhook/core/chain/match.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ADDRS = 6, WORDS = 4, HOOKS = 60, TXS = 4, LOGS = 4, INNERS = 3, PARTS = 3 };

/* --- a small world --- */

static cd_addr20 addr_at(u64 i)
{
    return (cd_addr20){.b = {0xa0, (u8)i}};
}
static cd_hash32 word_at(u64 i)
{
    return (cd_hash32){.b = {[0] = 0x70, [31] = (u8)i}};
}

typedef struct world {
    cd_arena mem;
    cd_rng rng;
    cd_wh_match *match;
    cd_wh_hook hooks[HOOKS];
    bool is_there[HOOKS];
} world;

static u64 below(world *w, u64 n)
{
    return cd_rng_below(&w->rng, n);
}

/* Often empty, else a few, of which one may stand there twice. */
static cd_wh_addrs addrs_make(world *w)
{
    usize n = below(w, 3) != 0 ? 0 : 1 + below(w, 3);
    cd_addr20 *p = cd_arena_array(&w->mem, cd_addr20, n + 1);
    for (usize i = 0; i < n; i++) {
        p[i] = addr_at(below(w, ADDRS));
    }
    return (cd_wh_addrs){.p = p, .n = n};
}

static cd_wh_words words_make(world *w, u64 rare)
{
    usize n = below(w, rare) != 0 ? 0 : 1 + below(w, 2);
    cd_hash32 *p = cd_arena_array(&w->mem, cd_hash32, n + 1);
    for (usize i = 0; i < n; i++) {
        p[i] = word_at(below(w, WORDS));
    }
    return (cd_wh_words){.p = p, .n = n};
}

/* Few different ones, of every size, with neighbours. */
static cd_u256 amount_make(world *w)
{
    static const u32 shifts[] = {0, 0, 0, 53, 54, 55, 64, 190, 254};
    cd_u256 v = cd_u256_from_u64(below(w, 4));
    cd_u256_shl(&v, &v, shifts[below(w, CD_COUNT(shifts))]);
    v.w[0] |= below(w, 2);
    return v;
}

static cd_wh_hook hook_make(world *w, usize i)
{
    static const u32 face_types[] = {0x3f, 0x7c0, 0x3f800};
    u32 face = (u32)below(w, 3);
    cd_wh_hook h = {.key = (i64)i + 1, .id = cd_arena_fmt(&w->mem, "wh_%zu", i)};
    h.types = face_types[face] & (u32)cd_rng_u64(&w->rng);
    if (face == CD_WH_B) {
        h.types = 1u << (CD_WH_B_ADDRESS + below(w, 5));
    }
    h.from_block = below(w, 8) == 0 ? 200 : 0;
    h.filter.addresses = addrs_make(w);
    h.filter.contracts = addrs_make(w);
    if (face == CD_WH_C) {
        h.filter.from = addrs_make(w);
        h.filter.to = addrs_make(w);
    }
    for (usize k = 0; k < 4; k++) {
        h.filter.topics[k] = words_make(w, 8);
    }
    h.filter.token_ids = words_make(w, 8);
    h.filter.tx_hashes = words_make(w, 8);
    h.filter.direction = below(w, 4) == 0 ? (cd_wh_direction)below(w, 3) : CD_WH_BOTH;
    h.filter.min_value = below(w, 3) == 0 ? amount_make(w) : cd_u256_from_u64(0);
    if (below(w, 8) == 0) {
        u32 *selector = cd_arena_alloc(&w->mem, sizeof *selector);
        *selector = (u32)below(w, 2);
        h.filter.selectors = selector;
        h.filter.selectors_cnt = 1;
    }
    return h;
}

static void logs_make(world *w, cd_wh_tx *tx, u32 *index)
{
    cd_wh_log *logs = cd_arena_array(&w->mem, cd_wh_log, LOGS);
    tx->logs = logs;
    tx->logs_cnt = below(w, LOGS + 1);
    for (usize i = 0; i < tx->logs_cnt; i++) {
        cd_wh_log *log = &logs[i];
        cd_hash32 *topics = cd_arena_array(&w->mem, cd_hash32, 4);
        cd_wh_part *parts = cd_arena_array(&w->mem, cd_wh_part, PARTS);
        log->index = (*index)++;
        log->contract = addr_at(below(w, ADDRS));
        log->move = (cd_wh_move)below(w, 4);
        log->from = addr_at(below(w, ADDRS));
        log->to = addr_at(below(w, ADDRS));
        log->topics_cnt = (u32)below(w, 5);
        log->topics = topics;
        log->parts = parts;
        log->parts_cnt = log->move == CD_WH_MOVE_NONE      ? 0
                         : log->move == CD_WH_MOVE_ERC1155 ? (u32)below(w, PARTS + 1)
                                                           : 1;
        for (u32 k = 0; k < 4; k++) {
            topics[k] = word_at(below(w, WORDS));
        }
        for (u32 k = 0; k < log->parts_cnt; k++) {
            cd_hash32 id = word_at(below(w, WORDS));
            parts[k].id = cd_u256_from_hash(&id);
            parts[k].value = amount_make(w);
        }
    }
}

static cd_wh_facts facts_make(world *w)
{
    cd_wh_tx *txs = cd_arena_array(&w->mem, cd_wh_tx, TXS);
    cd_wh_facts f = {.number = 100, .txs = txs, .txs_cnt = 1 + below(w, TXS)};
    u32 index = 0;
    f.is_pending = below(w, 4) == 0;
    f.txs_cnt = f.is_pending ? 1 : f.txs_cnt;
    for (u32 i = 0; i < f.txs_cnt; i++) {
        cd_wh_tx *tx = &txs[i];
        cd_wh_inner *inners = cd_arena_array(&w->mem, cd_wh_inner, INNERS);
        tx->hash = word_at(i);
        tx->index = i;
        tx->from = addr_at(below(w, ADDRS));
        tx->to = addr_at(below(w, ADDRS));
        tx->has_to = below(w, 4) != 0;
        tx->moved = amount_make(w);
        tx->value = tx->moved;
        tx->has_selector = tx->has_to && below(w, 2) == 0;
        tx->selector = tx->has_selector ? (u32)below(w, 2) : 0;
        if (f.is_pending) {
            continue;
        }
        logs_make(w, tx, &index);
        tx->inners = inners;
        tx->inners_cnt = below(w, INNERS + 1);
        for (usize k = 0; k < tx->inners_cnt; k++) {
            inners[k].from = addr_at(below(w, ADDRS));
            inners[k].to = addr_at(below(w, ADDRS));
            inners[k].value = amount_make(w);
        }
    }
    return f;
}

/* --- the rules, read one by one --- */

typedef struct want {
    cd_wh_hit hits[400];
    usize cnt;
} want;

static u32 place_of(cd_wh_addrs list, const cd_addr20 *a)
{
    for (usize i = 0; a != NULL && i < list.n; i++) {
        if (cd_addr20_eq(&list.p[i], a)) {
            return (u32)i;
        }
    }
    return UINT32_MAX;
}
static bool holds(cd_wh_addrs list, const cd_addr20 *a)
{
    return place_of(list, a) != UINT32_MAX;
}
static bool words_hold(cd_wh_words list, const cd_hash32 *x)
{
    for (usize i = 0; i < list.n; i++) {
        if (cd_hash32_eq(&list.p[i], x)) {
            return true;
        }
    }
    return list.n == 0;
}

static bool is_nft(cd_wh_type t)
{
    return t == CD_WH_A_ERC721 || t == CD_WH_A_ERC1155 || t == CD_WH_B_NFT || t == CD_WH_C_NFT;
}

typedef struct thing {
    cd_wh_kind kind;
    const cd_wh_tx *tx;
    const cd_wh_log *log;
    const cd_wh_inner *inner;
    const cd_addr20 *from, *to, *contract;
    cd_u256 value;
} thing;

static bool speaks(cd_wh_type t, const thing *x)
{
    cd_wh_move move = x->log == NULL ? CD_WH_MOVE_NONE : x->log->move;
    bool is_tx = x->kind == CD_WH_KIND_TX;
    switch (t) {
    case CD_WH_A_TRANSFER:
        return is_tx && !cd_u256_is_zero(&x->tx->moved);
    case CD_WH_A_ERC20:
    case CD_WH_B_TOKEN:
    case CD_WH_C_TOKEN:
        return move == CD_WH_MOVE_ERC20;
    case CD_WH_A_ERC721:
        return move == CD_WH_MOVE_ERC721;
    case CD_WH_A_ERC1155:
        return move == CD_WH_MOVE_ERC1155;
    case CD_WH_B_NFT:
    case CD_WH_C_NFT:
        return move == CD_WH_MOVE_ERC721 || move == CD_WH_MOVE_ERC1155;
    case CD_WH_A_CONTRACT:
    case CD_WH_B_LOG:
        return x->log != NULL;
    case CD_WH_B_ADDRESS:
    case CD_WH_C_ADDRESS:
        return is_tx || move == CD_WH_MOVE_ERC20;
    case CD_WH_B_MINED:
    case CD_WH_C_MINED:
        return is_tx;
    case CD_WH_C_INTERNAL:
        return x->inner != NULL;
    case CD_WH_C_PENDING:
        return x->kind == CD_WH_KIND_PENDING;
    case CD_WH_A_BLOCK:
    case CD_WH_C_BLOCK:
    case CD_WH_TYPES_CNT:
        break;
    }
    return false;
}

static bool passes(const cd_wh_hook *h, cd_wh_type t, const thing *x)
{
    const cd_wh_filter *f = &h->filter;
    bool is_party = holds(f->addresses, x->from) || holds(f->addresses, x->to);
    bool is_emitter = x->log != NULL && holds(f->addresses, x->contract);
    bool addresses = is_party;
    if (t == CD_WH_A_CONTRACT || t == CD_WH_B_LOG) {
        addresses = is_emitter;
    } else if (t == CD_WH_A_ERC20 || t == CD_WH_A_ERC721 || t == CD_WH_A_ERC1155) {
        addresses = is_party || is_emitter;
    }
    bool topics = true;
    for (u32 k = 0; k < 4; k++) {
        topics = topics && (f->topics[k].n == 0 ||
                            (x->log != NULL && k < x->log->topics_cnt && words_hold(f->topics[k], &x->log->topics[k])));
    }
    return (h->from_block <= 100 || x->kind == CD_WH_KIND_PENDING) && (f->addresses.n == 0 || addresses) &&
           (f->from.n == 0 || holds(f->from, x->from)) && (f->to.n == 0 || holds(f->to, x->to)) &&
           (f->contracts.n == 0 || holds(f->contracts, x->contract)) && topics &&
           words_hold(f->tx_hashes, &x->tx->hash) &&
           (f->selectors_cnt == 0 || (x->tx->has_selector && x->tx->selector == f->selectors[0]));
}

static void want_add(want *out, const cd_wh_hook *h, cd_wh_type t, const thing *x, const cd_wh_part *part, u32 sub,
                     bool is_outgoing)
{
    cd_u256 value = part == NULL ? x->value : part->value;
    cd_hash32 id = part == NULL ? (cd_hash32){0} : cd_u256_to_hash(&part->id);
    if (cd_u256_lt(&value, &h->filter.min_value) ||
        (h->filter.token_ids.n != 0 && (!is_nft(t) || !words_hold(h->filter.token_ids, &id)))) {
        return;
    }
    out->hits[out->cnt++] = (cd_wh_hit){
        .hook = h->key,
        .type = t,
        .kind = x->kind,
        .tx = x->tx,
        .log = x->log,
        .part = part,
        .inner = x->inner,
        .sub = sub,
        .is_outgoing = is_outgoing,
    };
}

static void want_activity(want *out, const cd_wh_hook *h, cd_wh_type t, const thing *x)
{
    const cd_wh_filter *f = &h->filter;
    const cd_wh_part *part = x->log == NULL ? NULL : x->log->parts;
    if (f->addresses.n != 0) {
        for (u32 i = 0; i < f->addresses.n; i++) {
            const cd_addr20 *a = &f->addresses.p[i];
            bool is_out = cd_addr20_eq(a, x->from);
            if (place_of(f->addresses, a) != i || (!is_out && !(x->to && cd_addr20_eq(a, x->to))) ||
                (is_out ? f->direction == CD_WH_INCOMING : f->direction == CD_WH_OUTGOING)) {
                continue;
            }
            want_add(out, h, t, x, part, i, is_out);
        }
        return;
    }
    bool is_out = f->from.n != 0 || f->to.n == 0;
    if (is_out ? f->direction != CD_WH_INCOMING : f->direction != CD_WH_OUTGOING) {
        u32 place = f->from.n != 0 ? place_of(f->from, x->from) : f->to.n != 0 ? place_of(f->to, x->to) : 0;
        want_add(out, h, t, x, part, place, is_out);
    }
}

static void want_thing(want *out, const cd_wh_hook *h, const thing *x)
{
    for (cd_wh_type t = 0; t < CD_WH_TYPES_CNT; t++) {
        bool has_two = t >= CD_WH_C_ADDRESS && (h->types & 1u << CD_WH_C_ADDRESS) != 0;
        u32 base = has_two && (t == CD_WH_C_MINED || t == CD_WH_C_TOKEN) ? 1u << 31 : 0;
        if ((h->types & 1u << t) == 0 || !speaks(t, x) || !passes(h, t, x)) {
            continue;
        }
        if (t == CD_WH_B_ADDRESS || t == CD_WH_C_ADDRESS) {
            want_activity(out, h, t, x);
        } else if (t == CD_WH_A_CONTRACT || t == CD_WH_B_LOG || x->log == NULL) {
            want_add(out, h, t, x, NULL, t == CD_WH_A_CONTRACT ? UINT32_MAX : base, false);
        } else {
            for (u32 i = 0; i < x->log->parts_cnt; i++) {
                want_add(out, h, t, x, &x->log->parts[i], base + i, false);
            }
        }
    }
}

static void want_hook(want *out, const cd_wh_hook *h, const cd_wh_facts *f)
{
    static const cd_wh_type blocks[] = {CD_WH_A_BLOCK, CD_WH_C_BLOCK};
    out->cnt = 0;
    for (usize i = 0; i < 2 && !f->is_pending; i++) {
        if ((h->types & 1u << blocks[i]) != 0 && h->from_block <= f->number) {
            out->hits[out->cnt++] = (cd_wh_hit){.hook = h->key, .type = blocks[i], .kind = CD_WH_KIND_BLOCK};
        }
    }
    for (usize i = 0; i < f->txs_cnt; i++) {
        const cd_wh_tx *tx = &f->txs[i];
        const cd_addr20 *to = tx->has_to ? &tx->to : NULL;
        thing x = {.kind = f->is_pending ? CD_WH_KIND_PENDING : CD_WH_KIND_TX, .tx = tx};
        x.from = &tx->from;
        x.to = to;
        x.contract = to;
        x.value = tx->moved;
        want_thing(out, h, &x);
        for (usize k = 0; k < tx->logs_cnt; k++) {
            const cd_wh_log *log = &tx->logs[k];
            x = (thing){.kind = CD_WH_KIND_LOG, .tx = tx, .log = log, .contract = &log->contract};
            x.from = log->move == CD_WH_MOVE_NONE ? NULL : &log->from;
            x.to = log->move == CD_WH_MOVE_NONE ? NULL : &log->to;
            x.value = tx->moved;
            want_thing(out, h, &x);
        }
        for (usize k = 0; k < tx->inners_cnt; k++) {
            const cd_wh_inner *in = &tx->inners[k];
            x = (thing){.kind = CD_WH_KIND_INNER, .tx = tx, .inner = in};
            x.from = &in->from;
            x.to = &in->to;
            x.value = in->value;
            want_thing(out, h, &x);
        }
    }
}

static void hit_check(const cd_wh_hit *got, const cd_wh_hit *exp)
{
    assert_int_equal(got->type, exp->type);
    assert_int_equal(got->kind, exp->kind);
    assert_int_equal(got->sub, exp->sub);
    assert_int_equal(got->is_outgoing, exp->is_outgoing);
    assert_ptr_equal(got->tx, exp->tx);
    assert_ptr_equal(got->log, exp->log);
    assert_ptr_equal(got->part, exp->part);
    assert_ptr_equal(got->inner, exp->inner);
}

static void block_check(world *w)
{
    static want exp;
    usize cnt, total = 0;
    cd_wh_facts facts = facts_make(w);
    const cd_wh_hit *hits = cd_wh_match_run(w->match, &cnt, &facts);
    for (usize i = 0; i < HOOKS; i++) {
        usize at = 0;
        if (!w->is_there[i]) {
            continue;
        }
        want_hook(&exp, &w->hooks[i], &facts);
        for (usize k = 0; k < exp.cnt; k++, at++) {
            while (at < cnt && hits[at].hook != w->hooks[i].key) {
                at++;
            }
            assert_true(at < cnt);
            hit_check(&hits[at], &exp.hits[k]);
        }
        total += exp.cnt;
    }
    assert_int_equal(cnt, total);
}

static void test_rules(void **state)
{
    (void)state;
    static world w;
    w.rng = cd_rng_seeded(11);
    w.match = cd_wh_match_new();
    for (u32 round = 0; round < 400; round++) {
        usize there = 0;
        u32 types = 0;
        /* What hooks borrow is given back when nobody is there any more. */
        for (usize i = 0; i < HOOKS; i++) {
            if (round % 50 == 0 || below(&w, 8) == 0) {
                assert_int_equal(cd_wh_match_del(w.match, (i64)i + 1), w.is_there[i]);
                w.is_there[i] = false;
            }
        }
        if (round % 50 == 0) {
            assert_int_equal(cd_wh_match_count(w.match), 0);
            cd_arena_reset(&w.mem);
        }
        for (usize i = 0; i < HOOKS; i++) {
            if (below(&w, 4) == 0) {
                w.hooks[i] = hook_make(&w, i);
                w.is_there[i] = true;
                (void)cd_wh_match_put(w.match, &w.hooks[i]);
            }
            there += w.is_there[i];
            types |= w.is_there[i] ? w.hooks[i].types : 0;
        }
        assert_int_equal(cd_wh_match_count(w.match), there);
        assert_int_equal(cd_wh_match_types(w.match), types);
        for (u32 k = 0; k < 4; k++) {
            block_check(&w);
        }
    }
    cd_wh_match_free(w.match);
    cd_arena_fini(&w.mem);
}

/* Many addresses in many shards: each is found, and none after its webhook is gone. */
static void test_many(void **state)
{
    (void)state;
    const usize EACH = 1000, N = 40;
    cd_wh_match *m = cd_wh_match_new();
    cd_addr20 *addrs = cd_new_array(cd_addr20, EACH * N);
    cd_rng rng = cd_rng_seeded(5);
    cd_wh_tx tx = {.moved = cd_u256_one()};
    const cd_wh_facts facts = {.number = 1, .txs = &tx, .txs_cnt = 1};
    cd_rng_fill(&rng, addrs, sizeof *addrs * EACH * N);
    for (usize i = 0; i < N; i++) {
        cd_wh_hook h = {.key = (i64)i + 1, .id = "wh-x", .types = 1u << CD_WH_A_TRANSFER};
        h.filter.addresses = (cd_wh_addrs){.p = addrs + i * EACH, .n = EACH};
        (void)cd_wh_match_put(m, &h);
    }
    for (u32 gone = 0; gone < 2; gone++) {
        for (usize i = 0; i < EACH * N; i++) {
            usize cnt;
            tx.from = addrs[i];
            const cd_wh_hit *hits = cd_wh_match_run(m, &cnt, &facts);
            bool is_there = gone == 0 || i / EACH % 2 != 0;
            assert_int_equal(cnt, is_there);
            assert_true(cnt == 0 || hits[0].hook == (i64)(i / EACH) + 1);
        }
        for (usize i = 0; i < N; i += 2) {
            (void)cd_wh_match_del(m, (i64)i + 1);
        }
    }
    cd_free(addrs);
    cd_wh_match_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
