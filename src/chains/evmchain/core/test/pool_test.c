/* The pool over a made-up state: what it refuses and in which words, what is pending and what waits, its limits,
 * journal and copies. Most transactions come without signature, as impersonated ones do: it changes nothing here. */
#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "chains/evmchain/core/pool/pool.h"
#include "chains/evmchain/core/pool/pool_priv.h"
#include "crypto/ec/secp256k1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { CHAIN_ID = 7, GAS_LIMIT = 8000000 };

static const u64 gwei = 1000000000;

/* --- a state --- */

typedef struct fake {
    cd_state_source src;
    cd_hmap accounts; /* address -> cd_account */
} fake;

static cd_err fake_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    const cd_account *a = cd_hmap_get(&((fake *)src)->accounts, addr);
    *found = a != NULL;
    if (a != NULL) {
        *out = *a;
    }
    return CD_OK;
}

static void fund(fake *f, const cd_addr20 *addr, u64 nonce, u64 ether)
{
    cd_account *a = cd_hmap_put(&f->accounts, NULL, addr);
    cd_u256 wei = cd_u256_from_u64(gwei * gwei);
    a->nonce = nonce;
    assert_true(cd_u256_checked_mul_u64(&a->balance, &wei, ether));
}

typedef struct world {
    fake state;
    cd_clock_virtual clock;
    cd_kv *kv;
    cd_txpool *pool;
    cd_txpool_head head;
    usize announced;
} world;

static void count_pending(void *ctx, const cd_pool_tx *t)
{
    assert_true(t->tx.has_sender);
    ((world *)ctx)->announced++;
}

static void world_head(world *w)
{
    cd_txpool_set_head(w->pool, &w->head, &w->state.src);
    assert_int_equal(cd_txpool_recheck(w->pool), CD_OK);
}

static void world_pool(world *w, cd_txpool_cfg cfg)
{
    cfg.clock = &w->clock.clock;
    cfg.journal = w->kv;
    cfg.events = (cd_txpool_events){.pending = count_pending, .ctx = w};
    w->pool = cd_txpool_new(&cfg);
    world_head(w);
}

static void world_init(world *w, cd_txpool_cfg cfg)
{
    *w = (world){.state.src.account = fake_account};
    cd_hmap_init(&w->state.accounts, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(cd_account));
    cd_clock_virtual_init(&w->clock, 1700000000 * CD_NS_PER_SEC);
    w->kv = cd_kv_mem_open();
    w->head = (cd_txpool_head){
        .fork = CD_CANCUN,
        .chain_id = CHAIN_ID,
        .gas_limit = GAS_LIMIT,
        .min_fee_cap = cd_u256_from_u64(gwei),
        .base_fee = cd_u256_from_u64(gwei),
    };
    world_pool(w, cfg);
}

static void world_fini(world *w)
{
    cd_txpool_free(w->pool);
    cd_kv_close(w->kv);
    cd_hmap_fini(&w->state.accounts);
}

static cd_addr20 addr_of(u32 n)
{
    cd_addr20 a = {.b = {0xee}};
    cd_put_be32(a.b + 16, n);
    return a;
}

static cd_tx tx_of(u32 from, u64 nonce, u64 fee_gwei)
{
    return (cd_tx){
        .type = CD_TX_DYNAMIC_FEE,
        .is_protected = true,
        .chain_id = CHAIN_ID,
        .nonce = nonce,
        .gas_limit = 21000,
        .tip_cap = cd_u256_from_u64(fee_gwei * gwei),
        .fee_cap = cd_u256_from_u64(fee_gwei * gwei),
        .to = {.b = {1}},
        .sender = addr_of(from),
    };
}

static cd_err add(world *w, u32 from, u64 nonce, u64 fee_gwei, cd_errinfo *why)
{
    cd_hash32 hash;
    cd_tx tx = tx_of(from, nonce, fee_gwei);
    return cd_txpool_add_as(w->pool, &hash, &tx, why);
}

/* pending and queued of a sender. */
static void expect_of(world *w, u32 from, usize pending, usize queued)
{
    cd_txpool_account a = {0};
    cd_addr20 addr = addr_of(from);
    bool found = cd_txpool_account_of(w->pool, &a, &addr);
    assert_int_equal(found, pending + queued != 0);
    assert_int_equal(a.pending_cnt, pending);
    assert_int_equal(a.cnt - a.pending_cnt, queued);
}

/* --- words --- */

enum { SECRET = 42 };

static cd_addr20 signer_addr(void)
{
    u8 secret[32] = {[31] = SECRET};
    u8 pub[64];
    cd_addr20 addr;
    assert_int_equal(cd_secp256k1_pub(pub, secret), CD_OK);
    cd_secp256k1_addr(&addr, pub);
    return addr;
}

static cd_err add_signed(world *w, cd_tx tx, cd_errinfo *why)
{
    u8 secret[32] = {[31] = SECRET};
    cd_buf raw = {0};
    cd_hash32 hash;
    assert_int_equal(cd_tx_sign(&tx, secret), CD_OK);
    cd_tx_enc(&raw, &tx);
    cd_err e = cd_txpool_add(w->pool, &hash, cd_buf_bytes(&raw), why);
    cd_buf_fini(&raw);
    return e;
}

static void refusals(void **state)
{
    (void)state;
    static u8 zeros[131072];
    world w;
    world_init(&w, (cd_txpool_cfg){.fee_cap = 100});
    cd_addr20 me = signer_addr();
    fund(&w.state, &me, 3, 1);
    struct {
        cd_tx tx;
        const char *expect;
    } rows[24];
    usize n = 0;
    cd_tx good = tx_of(0, 3, 10);

#define ROW(words, ...)                                                                                                \
    do {                                                                                                               \
        cd_tx t = good;                                                                                                \
        __VA_ARGS__;                                                                                                   \
        rows[n].tx = t;                                                                                                \
        rows[n++].expect = (words);                                                                                    \
    } while (0)
    ROW("only replay-protected (EIP-155) transactions allowed over RPC", t.type = CD_TX_LEGACY; t.is_protected = false;
        t.chain_id = 0);
    ROW("tx fee (2100.00 ether) exceeds the configured cap (100.00 ether)",
        t.fee_cap = cd_u256_from_u64(100000000 * gwei));
    ROW("transaction type not supported", t.type = CD_TX_SET_CODE);
    ROW("oversized data: transaction size 131188, limit 131072", t.data = cd_bytes_of(zeros, sizeof zeros));
    ROW("max initcode size exceeded: code size 49153, limit 49152", t.is_create = true;
        t.data = cd_bytes_of(zeros, 49153));
    ROW("exceeds block gas limit: tx gas (8000001) > current max gas (8000000)", t.gas_limit = 8000001);
    ROW("max priority fee per gas higher than max fee per gas", t.tip_cap = cd_u256_from_u64(11 * gwei));
    ROW("invalid sender", t.chain_id = 8);
    ROW("intrinsic gas too low: address 0xae3DfFEE97f92db0201d11CB8877C89738353bCE tx gas (20999), "
        "minimum needed 21000",
        t.gas_limit = 20999);
    ROW("transaction underpriced: gas tip cap 0, minimum needed 1", t.tip_cap = cd_u256_zero());
    ROW("transaction underpriced: address 0xae3DfFEE97f92db0201d11CB8877C89738353bCE have gas fee "
        "cap (999999999) < pool minimum fee cap (1000000000)",
        t.fee_cap = cd_u256_from_u64(gwei - 1);
        t.tip_cap = t.fee_cap);
    ROW("nonce too low: next nonce 3, tx nonce 2", t.nonce = 2);
    ROW("insufficient funds for gas * price + value: balance 1000000000000000000, tx cost "
        "1000210000000000000, overshot 210000000000000",
        t.value = cd_u256_from_u64(gwei * gwei));
#undef ROW
    for (usize i = 0; i < n; i++) {
        cd_errinfo why = {0};
        assert_int_equal(add_signed(&w, rows[i].tx, &why), CD_EINVAL);
        assert_string_equal(why.msg, rows[i].expect);
    }
    cd_hash32 hash;
    cd_errinfo why = {0};
    assert_int_equal(cd_txpool_add(w.pool, &hash, cd_bytes_of("\x12\x34", 2), &why), CD_EINVAL);
    assert_string_equal(why.msg, "transaction type not supported");
    assert_int_equal(cd_txpool_cnt(w.pool), 0);

    /* The limit of init code came with Shanghai. */
    cd_tx large = good;
    large.is_create = true;
    large.data = cd_bytes_of(zeros, 49153);
    w.head.fork = CD_SHANGHAI;
    world_head(&w);
    assert_int_equal(add_signed(&w, large, &why), CD_EINVAL);
    assert_string_equal(why.msg, "max initcode size exceeded: code size 49153, limit 49152");
    w.head.fork = CD_PARIS;
    world_head(&w);
    assert_int_equal(add_signed(&w, large, &why), CD_EINVAL);
    assert_non_null(strstr(why.msg, "intrinsic gas too low"));
    w.head.fork = CD_CANCUN;
    world_head(&w);

    good.value = cd_u256_from_u64(gwei * gwei / 2);
    assert_int_equal(add_signed(&w, good, &why), CD_OK);
    assert_int_equal(add_signed(&w, good, &why), CD_EEXIST);
    assert_string_equal(why.msg, "already known");
    cd_tx next = good;
    next.nonce = 4;
    assert_int_equal(add_signed(&w, next, &why), CD_EINVAL);
    assert_string_equal(why.msg, "insufficient funds for gas * price + value: balance 1000000000000000000, "
                                 "queued cost 500210000000000000, tx cost 500210000000000000, overshot "
                                 "420000000000000");
    cd_tx bump = good;
    bump.value = cd_u256_from_u64(gwei * gwei / 10 * 9);
    bump.fee_cap = cd_u256_from_u64(10000 * gwei);
    bump.tip_cap = bump.fee_cap;
    assert_int_equal(add_signed(&w, bump, &why), CD_EINVAL);
    assert_string_equal(why.msg, "insufficient funds for gas * price + value: balance 1000000000000000000, "
                                 "tx cost 1110000000000000000, overshot 110000000000000000");
    bump.value = cd_u256_zero();
    bump.fee_cap = cd_u256_from_u64(11 * gwei - 1);
    bump.tip_cap = bump.fee_cap;
    assert_int_equal(add_signed(&w, bump, &why), CD_EINVAL);
    assert_string_equal(why.msg, "replacement transaction underpriced");
    bump.fee_cap = cd_u256_from_u64(11 * gwei);
    assert_int_equal(add_signed(&w, bump, &why), CD_EINVAL); /* the tip has not grown enough */
    bump.tip_cap = bump.fee_cap;
    assert_int_equal(add_signed(&w, bump, &why), CD_OK);
    assert_int_equal(cd_txpool_cnt(w.pool), 1);
    world_fini(&w);
}

/* --- pending and queued --- */

static void gaps_close_and_open(void **state)
{
    (void)state;
    world w;
    world_init(&w, (cd_txpool_cfg){.keeps_stuck = true});
    cd_addr20 one = addr_of(1);
    fund(&w.state, &one, 5, 1);
    assert_int_equal(add(&w, 1, 7, 10, NULL), CD_OK);
    assert_int_equal(add(&w, 1, 6, 10, NULL), CD_OK);
    expect_of(&w, 1, 0, 2);
    assert_int_equal(w.announced, 0);
    assert_int_equal(cd_txpool_nonce(w.pool, &one, 5), 5);
    assert_int_equal(add(&w, 1, 5, 10, NULL), CD_OK);
    expect_of(&w, 1, 3, 0);
    assert_int_equal(w.announced, 3);
    assert_int_equal(cd_txpool_nonce(w.pool, &one, 5), 8);

    cd_txpool_account a;
    assert_true(cd_txpool_account_of(w.pool, &a, &one));
    cd_hash32 middle = a.txs[1]->tx.hash;
    assert_true(cd_txpool_drop(w.pool, &middle));
    assert_false(cd_txpool_drop(w.pool, &middle));
    expect_of(&w, 1, 1, 1);
    assert_int_equal(add(&w, 1, 6, 10, NULL), CD_OK);
    expect_of(&w, 1, 3, 0);
    assert_int_equal(w.announced, 4); /* nonce 7 was told before */

    fund(&w.state, &one, 6, 0); /* one is in a block, and the money is gone */
    world_head(&w);
    expect_of(&w, 1, 0, 2);
    fund(&w.state, &one, 6, 1);
    w.head.gas_limit = 20000;
    world_head(&w);
    expect_of(&w, 1, 0, 2);
    w.head.gas_limit = GAS_LIMIT;
    world_head(&w);
    expect_of(&w, 1, 2, 0);
    assert_int_equal(cd_txpool_drop_sender(w.pool, &one), 2);
    assert_int_equal(cd_txpool_cnt(w.pool), 0);
    world_fini(&w);
}

static void unpayable_goes_elsewhere(void **state)
{
    (void)state;
    world w;
    world_init(&w, (cd_txpool_cfg){0});
    cd_addr20 one = addr_of(1);
    fund(&w.state, &one, 0, 1);
    assert_int_equal(add(&w, 1, 0, 10, NULL), CD_OK);
    fund(&w.state, &one, 0, 0);
    world_head(&w);
    assert_int_equal(cd_txpool_cnt(w.pool), 0);
    world_fini(&w);
}

static void picks_by_tip_in_nonce_order(void **state)
{
    (void)state;
    world w;
    world_init(&w, (cd_txpool_cfg){0});
    for (u32 i = 1; i <= 3; i++) {
        cd_addr20 addr = addr_of(i);
        fund(&w.state, &addr, 0, 1);
    }
    assert_int_equal(add(&w, 1, 0, 10, NULL), CD_OK);
    assert_int_equal(add(&w, 1, 1, 50, NULL), CD_OK);
    assert_int_equal(add(&w, 2, 0, 30, NULL), CD_OK);
    assert_int_equal(add(&w, 2, 1, 20, NULL), CD_OK);
    assert_int_equal(add(&w, 3, 0, 20, NULL), CD_OK);
    assert_int_equal(add(&w, 3, 2, 90, NULL), CD_OK); /* behind a gap */
    static const struct {
        u32 from;
        u64 nonce;
    } want[] = {{2, 0}, {2, 1}, {3, 0}, {1, 0}, {1, 1}};
    cd_u256 base_fee = cd_u256_from_u64(5 * gwei);
    cd_txpool_pick *k = cd_txpool_pick_new(w.pool, &base_fee);
    for (usize i = 0; i < CD_COUNT(want); i++) {
        const cd_pool_tx *t = cd_txpool_pick_next(k);
        cd_addr20 addr = addr_of(want[i].from);
        assert_memory_equal(&t->tx.sender, &addr, 20);
        assert_int_equal(t->tx.nonce, want[i].nonce);
    }
    assert_null(cd_txpool_pick_next(k));
    cd_txpool_pick_free(k);
    base_fee = cd_u256_from_u64(15 * gwei); /* nonce 0 of the first cannot pay: neither can follow */
    k = cd_txpool_pick_new(w.pool, &base_fee);
    for (usize i = 0; i < 3; i++) {
        assert_non_null(cd_txpool_pick_next(k));
    }
    assert_null(cd_txpool_pick_next(k));
    cd_txpool_pick_free(k);
    world_fini(&w);
}

/* --- limits --- */

static void limits_of_one_sender(void **state)
{
    (void)state;
    world w;
    cd_errinfo why = {0};
    world_init(&w, (cd_txpool_cfg){.account_queue = 3});
    cd_addr20 one = addr_of(1);
    fund(&w.state, &one, 0, 1);
    for (u64 i = 2; i < 5; i++) {
        assert_int_equal(add(&w, 1, i, 10, NULL), CD_OK);
    }
    assert_int_equal(add(&w, 1, 9, 10, &why), CD_EFULL);
    assert_string_equal(why.msg, "txpool is full");
    assert_int_equal(add(&w, 1, 1, 10, NULL), CD_OK); /* pushes nonce 4 out */
    expect_of(&w, 1, 0, 3);
    assert_int_equal(add(&w, 1, 0, 10, NULL), CD_OK);
    expect_of(&w, 1, 4, 0);
    world_fini(&w);
}

static void the_greedy_give_way(void **state)
{
    (void)state;
    world w;
    world_init(&w, (cd_txpool_cfg){.account_slots = 2, .global_slots = 8, .global_queue = 4});
    for (u32 i = 1; i <= 4; i++) {
        cd_addr20 addr = addr_of(i);
        fund(&w.state, &addr, 0, 1);
    }
    for (u64 i = 0; i < 8; i++) {
        assert_int_equal(add(&w, 1, i, 10, NULL), CD_OK);
    }
    for (u64 i = 0; i < 2; i++) {
        assert_int_equal(add(&w, 2, i, 10, NULL), CD_OK);
        assert_int_equal(add(&w, 3, i, 10, NULL), CD_OK);
    }
    expect_of(&w, 1, 4, 0);
    expect_of(&w, 2, 2, 0);
    expect_of(&w, 3, 2, 0);
    for (u64 i = 0; i < 2; i++) {
        assert_int_equal(add(&w, 4, i, 10, NULL), CD_OK);
    }
    expect_of(&w, 1, 2, 0);
    expect_of(&w, 4, 2, 0);
    world_fini(&w);
}

static void silent_queues_go_first(void **state)
{
    (void)state;
    world w;
    world_init(&w, (cd_txpool_cfg){.global_queue = 4, .lifetime_s = 100});
    for (u32 i = 1; i <= 3; i++) {
        cd_addr20 addr = addr_of(i);
        fund(&w.state, &addr, 0, 1);
        assert_int_equal(add(&w, i, 1, 10, NULL), CD_OK);
        assert_int_equal(add(&w, i, 2, 10, NULL), CD_OK);
        cd_clock_virtual_advance(&w.clock, 40 * CD_NS_PER_SEC);
    }
    assert_false(cd_txpool_cnt(w.pool) > 4);
    expect_of(&w, 1, 0, 0);
    expect_of(&w, 2, 0, 2);
    assert_int_equal(add(&w, 2, 0, 10, NULL), CD_OK); /* its beat is new now, and nothing is queued */
    cd_clock_virtual_advance(&w.clock, 61 * CD_NS_PER_SEC);
    world_head(&w);
    expect_of(&w, 2, 3, 0);
    expect_of(&w, 3, 0, 0); /* silent for 101 seconds */
    world_fini(&w);
}

static void the_cheapest_gives_way(void **state)
{
    (void)state;
    world w;
    cd_errinfo why = {0};
    world_init(&w, (cd_txpool_cfg){.global_slots = 4, .global_queue = 1});
    for (u32 i = 1; i <= 8; i++) {
        cd_addr20 addr = addr_of(i);
        fund(&w.state, &addr, 0, 1000);
    }
    for (u32 i = 1; i <= 5; i++) {
        assert_int_equal(add(&w, i, 0, 10 * (u64)i, NULL), CD_OK);
    }
    assert_int_equal(add(&w, 6, 0, 10, &why), CD_EINVAL);
    assert_string_equal(why.msg, "transaction underpriced");
    assert_int_equal(add(&w, 6, 1, 99, &why), CD_EINVAL);
    assert_string_equal(why.msg, "future transaction tries to replace pending");
    assert_int_equal(add(&w, 6, 0, 11, NULL), CD_OK);
    expect_of(&w, 1, 0, 0);
    expect_of(&w, 6, 1, 0);
    /* One of 70 KiB takes three places: all must be cheaper, or nothing changes. */
    static u8 zeros[70 * 1024];
    cd_hash32 hash;
    cd_tx big = tx_of(7, 0, 25);
    big.data = cd_bytes_of(zeros, sizeof zeros);
    big.gas_limit = 1000000;
    assert_int_equal(cd_txpool_add_as(w.pool, &hash, &big, &why), CD_EINVAL);
    assert_string_equal(why.msg, "transaction underpriced");
    assert_int_equal(cd_txpool_cnt(w.pool), 5);
    big.fee_cap = cd_u256_from_u64(35 * gwei);
    big.tip_cap = big.fee_cap;
    assert_int_equal(cd_txpool_add_as(w.pool, &hash, &big, &why), CD_OK);
    assert_int_equal(cd_txpool_cnt(w.pool), 3); /* 11, 20 and 30 went */
    world_fini(&w);
}

/* --- attacks on the room --- */

/* One of so many bytes of data. */
static cd_err add_big(world *w, u32 from, u64 nonce, u64 fee_gwei, usize size, cd_errinfo *why)
{
    static u8 zeros[CD__POOL_TX_MAX];
    cd_hash32 hash;
    cd_tx tx = tx_of(from, nonce, fee_gwei);
    tx.data = cd_bytes_of(zeros, size);
    tx.gas_limit = 2000000;
    return cd_txpool_add_as(w->pool, &hash, &tx, why);
}

static void fund_all(world *w, u32 cnt)
{
    for (u32 i = 1; i <= cnt; i++) {
        cd_addr20 addr = addr_of(i);
        fund(&w->state, &addr, 0, 100000);
    }
}

/* A replacement counts by what it takes more: a pool full of small ones that all become large stays within its slots,
 * and the next one in finds few to push out. */
static void replacements_count(void **state)
{
    (void)state;
    enum { SLOTS = 40, LARGE = 127 * 1024 };
    world w;
    cd_errinfo why = {0};
    world_init(&w, (cd_txpool_cfg){.global_slots = SLOTS - 8, .global_queue = 8});
    fund_all(&w, SLOTS + 1);
    for (u32 i = 1; i <= SLOTS; i++) {
        assert_int_equal(add(&w, i, 0, 10 + i, NULL), CD_OK);
    }
    assert_int_equal(w.pool->slots, SLOTS);
    /* It pays more than what it replaces, yet not more than those whose room it wants. */
    assert_int_equal(add_big(&w, 1, 0, 13, LARGE, &why), CD_EINVAL);
    assert_string_equal(why.msg, "transaction underpriced");
    assert_int_equal(w.pool->slots, SLOTS);
    expect_of(&w, 1, 1, 0);
    for (u32 i = 1; i <= SLOTS; i++) {
        cd_err e = add_big(&w, i, 0, 1000 + i, LARGE, NULL);
        assert_true(e == CD_OK || e == CD_EINVAL);
        assert_true(w.pool->slots <= SLOTS);
    }
    assert_int_equal(w.pool->slots, SLOTS);
    assert_int_equal(add_big(&w, SLOTS + 1, 0, 5000, LARGE, NULL), CD_OK);
    assert_int_equal(w.pool->slots, SLOTS);
    assert_int_equal(cd_txpool_cnt(w.pool), SLOTS / 4);
    /* A smaller one in its place needs no room. */
    assert_int_equal(add(&w, SLOTS + 1, 0, 6000, NULL), CD_OK);
    assert_int_equal(w.pool->slots, SLOTS - 3);
    world_fini(&w);
}

/* Victims of one sender: the first that goes makes a gap, and its queue's limit takes another of them along. */
static void victims_of_one_sender(void **state)
{
    (void)state;
    static const u64 fees[2][3] = {{10, 30, 12}, {30, 12, 10}};
    for (int i = 0; i < 2; i++) {
        world w;
        world_init(&w, (cd_txpool_cfg){.global_slots = 4, .global_queue = 1, .account_queue = 1});
        fund_all(&w, 4);
        for (u64 nonce = 0; nonce < 3; nonce++) {
            assert_int_equal(add(&w, 1, nonce, fees[i][nonce], NULL), CD_OK);
        }
        assert_int_equal(add(&w, 2, 0, 50, NULL), CD_OK);
        assert_int_equal(add(&w, 3, 0, 60, NULL), CD_OK);
        assert_int_equal(add_big(&w, 4, 0, 40, 70u << 10, NULL), CD_OK);
        expect_of(&w, 1, 0, 0);
        expect_of(&w, 4, 1, 0);
        assert_int_equal(w.pool->slots, 5);
        world_fini(&w);
    }
}

/* --- journal, copies --- */

static void journal_survives(void **state)
{
    (void)state;
    world w;
    usize back;
    world_init(&w, (cd_txpool_cfg){0});
    cd_addr20 me = signer_addr();
    cd_addr20 one = addr_of(1);
    fund(&w.state, &me, 0, 1);
    fund(&w.state, &one, 0, 1);
    for (u64 i = 0; i < 3; i++) {
        assert_int_equal(add_signed(&w, tx_of(0, i, 10 + i), NULL), CD_OK);
    }
    assert_int_equal(add(&w, 1, 4, 10, NULL), CD_OK);
    assert_int_equal(add(&w, 1, 5, 10, NULL), CD_OK);
    cd_txpool_account a;
    assert_true(cd_txpool_account_of(w.pool, &a, &one));
    cd_hash32 dropped = a.txs[1]->tx.hash;
    assert_true(cd_txpool_drop(w.pool, &dropped));
    /* A peer's transaction is the network's business. */
    cd_tx remote = tx_of(0, 3, 10);
    cd_buf raw = {0};
    cd_hash32 hash;
    u8 secret[32] = {[31] = SECRET};
    assert_int_equal(cd_tx_sign(&remote, secret), CD_OK);
    cd_tx_enc(&raw, &remote);
    assert_int_equal(cd_txpool_add_remote(w.pool, &hash, cd_buf_bytes(&raw), NULL), CD_OK);
    cd_buf_fini(&raw);
    assert_int_equal(cd_txpool_cnt(w.pool), 5);

    cd_txpool_free(w.pool);
    fund(&w.state, &me, 1, 1); /* the first got into a block before the end */
    world_pool(&w, (cd_txpool_cfg){0});
    assert_int_equal(cd_txpool_load(w.pool, &back, NULL), CD_OK);
    assert_int_equal(back, 3);
    assert_true(cd_txpool_account_of(w.pool, &a, &me));
    assert_int_equal(a.pending_cnt, 2);
    assert_int_equal(a.txs[0]->tx.nonce, 1);
    assert_true(cd_u256_eq(&a.txs[1]->tx.fee_cap, &(cd_u256){.w = {12 * gwei}}));
    expect_of(&w, 1, 0, 1);
    assert_true(cd_txpool_account_of(w.pool, &a, &one));
    assert_true(a.txs[0]->is_impersonated);
    /* What was of no use is not on disk any more. */
    cd_kv_stats stats;
    assert_int_equal(cd_kv_stats_get(w.kv, &stats), CD_OK);
    assert_int_equal(stats.keys, 3);
    world_fini(&w);
}

/* On a development network, where somebody took a sender's money by hand, what it cannot pay any more waits, also over
 * a restart; elsewhere it goes. */
static void stuck_ones_come_back(void **state)
{
    (void)state;
    for (int is_dev = 0; is_dev < 2; is_dev++) {
        const cd_txpool_cfg cfg = {.keeps_stuck = is_dev != 0};
        world w;
        usize back;
        world_init(&w, cfg);
        cd_addr20 me = signer_addr();
        fund(&w.state, &me, 0, 1);
        for (u64 i = 0; i < 3; i++) {
            assert_int_equal(add_signed(&w, tx_of(0, i, 10), NULL), CD_OK);
        }
        cd_txpool_free(w.pool);
        fund(&w.state, &me, 1, 0);
        world_pool(&w, cfg);
        assert_int_equal(cd_txpool_load(w.pool, &back, NULL), CD_OK);
        assert_int_equal(back, is_dev != 0 ? 2 : 0); /* the first is in a block */
        if (is_dev != 0) {
            cd_txpool_account a;
            assert_true(cd_txpool_account_of(w.pool, &a, &me));
            assert_int_equal(a.pending_cnt, 0);
            fund(&w.state, &me, 1, 1);
            world_head(&w);
            assert_true(cd_txpool_account_of(w.pool, &a, &me));
            assert_int_equal(a.pending_cnt, 2);
        }
        world_fini(&w);
    }
}

static void copies_restore(void **state)
{
    (void)state;
    world w;
    world_init(&w, (cd_txpool_cfg){.keeps_stuck = true});
    cd_addr20 one = addr_of(1);
    cd_addr20 two = addr_of(2);
    fund(&w.state, &one, 0, 1);
    fund(&w.state, &two, 0, 1);
    assert_int_equal(add(&w, 1, 0, 10, NULL), CD_OK);
    assert_int_equal(add(&w, 1, 2, 10, NULL), CD_OK);
    cd_txpool_copy *copy = cd_txpool_copy_new(w.pool);
    usize told = w.announced;
    assert_int_equal(add(&w, 2, 0, 10, NULL), CD_OK);
    fund(&w.state, &one, 1, 1); /* mined */
    world_head(&w);
    expect_of(&w, 1, 0, 1);
    for (int i = 0; i < 2; i++) {
        fund(&w.state, &one, 0, 1); /* and taken back */
        cd_txpool_set_head(w.pool, &w.head, &w.state.src);
        assert_int_equal(cd_txpool_restore(w.pool, copy), CD_OK);
        expect_of(&w, 1, 1, 1);
        expect_of(&w, 2, 0, 0);
        assert_int_equal(w.announced, told + 1);
    }
    cd_txpool_copy_free(copy);
    cd_kv_stats stats;
    assert_int_equal(cd_kv_stats_get(w.kv, &stats), CD_OK);
    assert_int_equal(stats.keys, 2);
    world_fini(&w);
}

/* --- words for those who wait --- */

static void expect_why(world *w, u32 from, u64 nonce, cd_tx_wait want, const char *words)
{
    cd_txpool_account a;
    cd_addr20 addr = addr_of(from);
    cd_buf out = {0};
    assert_true(cd_txpool_account_of(w->pool, &a, &addr));
    for (usize i = 0; i < a.cnt; i++) {
        if (a.txs[i]->tx.nonce == nonce) {
            assert_int_equal(cd_txpool_explain(w->pool, &out, a.txs[i]), want);
            assert_non_null(strstr(cd_buf_cstr(&out), words));
        }
    }
    assert_int_not_equal(out.n, 0);
    cd_buf_fini(&out);
}

static void explains(void **state)
{
    (void)state;
    world w;
    world_init(&w, (cd_txpool_cfg){.keeps_stuck = true});
    for (u32 i = 1; i <= 4; i++) {
        cd_addr20 addr = addr_of(i);
        fund(&w.state, &addr, 0, 1);
    }
    assert_int_equal(add(&w, 1, 0, 20, NULL), CD_OK);
    assert_int_equal(add(&w, 1, 2, 20, NULL), CD_OK);
    assert_int_equal(add(&w, 2, 0, 2, NULL), CD_OK);
    assert_int_equal(add(&w, 2, 1, 50, NULL), CD_OK);
    assert_int_equal(add(&w, 3, 0, 10, NULL), CD_OK);
    expect_why(&w, 1, 0, CD_WAIT_TURN, "behind 0 others");
    expect_why(&w, 3, 0, CD_WAIT_TURN, "behind 1 others");
    expect_why(&w, 1, 2, CD_WAIT_GAP, "no transaction with nonce 1 yet; this one has 2");
    w.head.base_fee = cd_u256_from_u64(5 * gwei);
    w.head.gas_limit = 30000;
    world_head(&w);
    expect_why(&w, 2, 0, CD_WAIT_BASE_FEE, "2000000000 is below the next block's base fee 5000000000");
    expect_why(&w, 2, 1, CD_WAIT_BEHIND, "nonce 0 waits: its max fee per gas 2000000000");
    expect_why(&w, 3, 0, CD_WAIT_LINE, "1 transactions that pay a higher tip come first");
    w.head.gas_limit = 20000;
    cd_addr20 three = addr_of(3);
    fund(&w.state, &three, 0, 0);
    world_head(&w);
    expect_why(&w, 1, 0, CD_WAIT_GAS_LIMIT, "its gas limit 21000 is above the 20000 of a block");
    w.head.gas_limit = GAS_LIMIT;
    world_head(&w);
    expect_why(&w, 3, 0, CD_WAIT_FUNDS, "has 0 wei and may need 210000000000000");
    world_fini(&w);
}

/* --- anything at all --- */

/* What must hold however the pool came to be as it is. */
static void check_whole(const world *w)
{
    cd_arena a = {0};
    const cd_txpool *p = w->pool;
    usize senders;
    usize total = 0;
    usize pending = 0;
    usize fat = 0;
    u64 slots = 0;
    cd_txpool_account *all = cd_txpool_accounts(p, &senders, &a);
    for (usize i = 0; i < senders; i++) {
        const cd_account *acct = cd_hmap_get(&w->state.accounts, &all[i].addr);
        assert_true(i == 0 || memcmp(&all[i - 1].addr, &all[i].addr, 20) < 0);
        assert_int_not_equal(all[i].cnt, 0);
        for (usize j = 0; j < all[i].cnt; j++) {
            const cd_pool_tx *t = all[i].txs[j];
            assert_true(t->tx.nonce >= acct->nonce);
            assert_true(j == 0 || all[i].txs[j - 1]->tx.nonce < t->tx.nonce);
            assert_int_equal(j < all[i].pending_cnt, j <= all[i].pending_cnt && t->tx.nonce == acct->nonce + j);
            assert_ptr_equal(cd_txpool_get(p, &t->tx.hash), t);
            assert_ptr_equal(p->prices[t->price_at], t);
            slots += (t->tx.raw.n + 32767) / 32768;
        }
        assert_true(all[i].cnt - all[i].pending_cnt <= p->cfg.account_queue);
        total += all[i].cnt;
        pending += all[i].pending_cnt;
        fat += all[i].pending_cnt > p->cfg.account_slots ? 1 : 0;
    }
    assert_int_equal(total, cd_txpool_cnt(p));
    assert_int_equal(total, p->price_cnt);
    assert_int_equal(pending, cd_txpool_pending_cnt(p));
    assert_int_equal(fat, p->fat);
    assert_int_equal(slots, p->slots);
    assert_true(slots <= p->cfg.global_slots + p->cfg.global_queue);
    assert_true(total - pending <= p->cfg.global_queue);
    assert_true(pending <= p->cfg.global_slots || fat == 0);
    for (usize i = 1; i < p->price_cnt; i++) {
        assert_true(cd__pool_price_cmp(p, &p->prices[(i - 1) / 2]->tx, &p->prices[i]->tx) <= 0);
    }
    cd_arena_fini(&a);
}

static void random_walk(void **state)
{
    (void)state;
    enum { SENDERS = 12, STEPS = 6000 };
    u64 seed = 20261121;
    cd_rng rng = cd_rng_seeded(seed);
    world w;
    (void)printf("seed %llu\n", (unsigned long long)seed);

    world_init(&w,
               (cd_txpool_cfg){
                   .account_slots = 4, .global_slots = 24, .account_queue = 5, .global_queue = 12, .lifetime_s = 300});
    for (u32 i = 0; i < SENDERS; i++) {
        cd_addr20 addr = addr_of(i);
        fund(&w.state, &addr, 0, 1000);
    }
    for (int i = 0; i < STEPS; i++) {
        u32 from = (u32)cd_rng_below(&rng, SENDERS);
        cd_addr20 addr = addr_of(from);
        cd_account *acct = cd_hmap_get(&w.state.accounts, &addr);
        switch (cd_rng_below(&rng, 12)) {
        case 0: { /* a block takes some */
            u64 next = cd_txpool_nonce(w.pool, &addr, acct->nonce);
            acct->nonce += cd_rng_below(&rng, next - acct->nonce + 1);
            w.head.base_fee = cd_u256_from_u64(cd_rng_below(&rng, 60) * gwei);
            world_head(&w);
            break;
        }
        case 1:
            cd_clock_virtual_advance(&w.clock, cd_rng_below(&rng, 100) * CD_NS_PER_SEC);
            break;
        case 2:
            (void)(cd_rng_below(&rng, 8) == 0 ? cd_txpool_drop_sender(w.pool, &addr) : 0);
            break;
        default: {
            u64 nonce = acct->nonce + cd_rng_below(&rng, 8);
            u64 fee = 1 + cd_rng_below(&rng, 60);
            usize size = cd_rng_below(&rng, 4) == 0 ? cd_rng_below(&rng, 127u << 10) : 0;
            cd_err e = add_big(&w, from, nonce, fee, size, NULL);
            assert_true(e == CD_OK || e == CD_EINVAL || e == CD_EFULL || e == CD_EEXIST);
        }
        }
        check_whole(&w);
    }
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(gaps_close_and_open),
        cmocka_unit_test(unpayable_goes_elsewhere),
        cmocka_unit_test(picks_by_tip_in_nonce_order),
        cmocka_unit_test(limits_of_one_sender),
        cmocka_unit_test(the_greedy_give_way),
        cmocka_unit_test(silent_queues_go_first),
        cmocka_unit_test(the_cheapest_gives_way),
        cmocka_unit_test(replacements_count),
        cmocka_unit_test(victims_of_one_sender),
        cmocka_unit_test(journal_survives),
        cmocka_unit_test(stuck_ones_come_back),
        cmocka_unit_test(copies_restore),
        cmocka_unit_test(explains),
        cmocka_unit_test(random_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
