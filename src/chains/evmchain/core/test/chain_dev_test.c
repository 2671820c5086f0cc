/* The development network's chain: edits of the state, going back, runs of empty blocks, chosen header fields,
 * senders that did not sign; all of it after a restart, and read from old heights. */
#include "chains/evmchain/core/dev/run.h"
#include "chains/evmchain/core/test/fixture.h"
#include "chains/evmchain/core/view.h"
#include "store/flat.h"

#include <stdio.h>
#include <time.h>

static const u64 gwei = 1000000000;

static cd_addr20 addr_of(u8 n)
{
    return (cd_addr20){.b = {0xaa, [19] = n}};
}

/* --- edits --- */

typedef struct edit {
    cd_addr20 addr;
    u64 balance;
    cd_bytes code;
    u64 slot;
} edit;

static cd_err apply(void *ctx, cd_state *st, cd_errinfo *why)
{
    const edit *e = ctx;
    cd_acct *a = cd_state_acct(st, &e->addr);
    cd_u256 balance = cd_u256_from_u64(e->balance);
    cd_u256 key = cd_u256_one();
    cd_u256 value = cd_u256_from_u64(e->slot);
    if (e->balance == 1313) {
        return cd_fail(why, CD_EINVAL, "not that number");
    }
    cd_state_set_balance(st, a, &balance);
    if (e->code.n != 0) {
        cd_state_set_code(st, a, e->code);
    }
    cd_state_set_slot(st, cd_state_slot(st, a, &key), &value);
    return CD_OK;
}

static void set(node *n, edit e)
{
    cd_errinfo why = {0};
    if (cd_chain_edit(n->chain, apply, &e, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    follow(n);
}

/* Balance and slot of an account at a height of the newest view. */
static void expect_at(node *n, u64 height, u8 who, u64 balance, u64 slot)
{
    cd_view *v = cd_view_newest(n->chain);
    cd_view_source s;
    cd_account a = {0};
    cd_addr20 addr = addr_of(who);
    cd_u256 key = cd_u256_one();
    cd_u256 value;
    bool found;
    assert_int_equal(cd_view_source_init(&s, v, height), CD_OK);
    assert_int_equal(s.world.src.account(&s.world.src, &a, &found, &addr), CD_OK);
    assert_int_equal(found ? a.balance.w[0] : 0, balance);
    assert_int_equal(s.world.src.storage(&s.world.src, &value, &addr, &key), CD_OK);
    assert_int_equal(value.w[0], slot);
    cd_view_source_fini(&s);
    cd_view_unref(v);
}

/* The state in the store is whole: its root follows from the tables. */
static void check_store(node *n)
{
    cd_flat_head head;
    cd_hash32 root;
    cd_errinfo why = {0};
    assert_int_equal(cd_flat_head_get(n->kv, &head), CD_OK);
    if (cd_flat_root(n->kv, &root, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_memory_equal(&head.root, &root, 32);
    assert_memory_equal(&head.block, &cd_chain_head(n->chain)->hash, 32);
}

static void restart(node *n)
{
    node_close(n);
    node_open_dev(n, n->kv);
    check_store(n);
}

static void pay(node *n, u64 nonce)
{
    assert_int_equal(send(n, 0, nonce, 100, NULL), CD_OK);
    mine(n, START + 10 + nonce);
}

static void edits_show_and_last(void **state)
{
    (void)state;
    node n;
    node_open_dev(&n, cd_kv_mem_open());
    pay(&n, 0);
    cd_hash32 hash = cd_chain_head(n.chain)->hash;
    set(&n, (edit){.addr = addr_of(1), .balance = 77, .slot = 5});
    set(&n, (edit){.addr = addr_of(1), .balance = 78, .slot = 6});
    assert_memory_equal(&hash, &cd_chain_head(n.chain)->hash, 32);
    expect_at(&n, 0, 1, 0, 0);
    expect_at(&n, 1, 1, 78, 6);
    edit bad = {.addr = addr_of(1), .balance = 1313};
    cd_errinfo why = {0};
    assert_int_equal(cd_chain_edit(n.chain, apply, &bad, &why), CD_EINVAL);
    assert_string_equal(why.msg, "not that number");
    expect_at(&n, 1, 1, 78, 6);
    restart(&n);
    expect_at(&n, 1, 1, 78, 6);
    pay(&n, 1);
    set(&n, (edit){.addr = addr_of(1), .balance = 80, .slot = 0});
    expect_at(&n, 0, 1, 0, 0);
    expect_at(&n, 1, 1, 78, 6);
    expect_at(&n, 2, 1, 80, 0);
    restart(&n);
    expect_at(&n, 1, 1, 78, 6);
    expect_at(&n, 2, 1, 80, 0);
    node_close(&n);
    cd_kv_close(n.kv);
}

/* --- going back --- */

static void truncations_restore(void **state)
{
    (void)state;
    node n;
    cd_errinfo why = {0};
    node_open_dev(&n, cd_kv_mem_open());
    pay(&n, 0);
    set(&n, (edit){.addr = addr_of(1), .balance = 10, .slot = 1});
    u64 middle = cd_chain_version(n.chain);
    cd_hash32 hash = cd_chain_head(n.chain)->hash;
    set(&n, (edit){.addr = addr_of(1), .balance = 20, .slot = 2});
    for (u64 i = 1; i < 100; i++) {
        pay(&n, i);
        set(&n, (edit){.addr = addr_of((u8)i), .balance = i, .slot = i});
    }
    cd_hash32 tx = cd_chain_head(n.chain)->txs[0].hash;
    cd_view *before = cd_view_newest(n.chain);
    assert_int_equal(cd_view_epoch(before), 0);

    /* To the end of a block: with its edits. */
    assert_int_equal(cd_chain_truncate(n.chain, cd_world_version_of(90), &why), CD_OK);
    follow(&n);
    check_store(&n);
    assert_int_equal(cd_chain_head(n.chain)->header.number, 90);
    expect_at(&n, 90, 89, 89, 89);
    expect_at(&n, 90, 90, 0, 0);
    pay(&n, 90); /* it goes on from there */
    expect_at(&n, 90, 89, 89, 89);

    /* To a moment between two edits. */
    assert_int_equal(cd_chain_truncate(n.chain, middle, &why), CD_OK);
    follow(&n);
    check_store(&n);
    assert_memory_equal(&hash, &cd_chain_head(n.chain)->hash, 32);
    assert_int_equal(cd_chain_version(n.chain), middle);
    expect_at(&n, 1, 1, 10, 1);
    cd_view *after = cd_view_newest(n.chain);
    cd_arena a = {0};
    const cd_accepted *acc;
    usize idx;
    assert_int_equal(cd_view_epoch(after), 2);
    assert_int_equal(cd_view_tx(after, &acc, &idx, &a, &tx), CD_ENOENT);
    assert_int_equal(cd_view_block(after, &acc, &a, 2), CD_ENOENT);
    /* Who still holds the old view sees the old chain. */
    assert_int_equal(cd_view_tx(before, &acc, &idx, &a, &tx), CD_OK);
    assert_int_equal(acc->block.header.number, 100);
    cd_arena_fini(&a);
    cd_view_unref(after);
    cd_view_unref(before);
    restart(&n);
    assert_int_equal(cd_chain_version(n.chain), middle);
    after = cd_view_newest(n.chain);
    assert_int_equal(cd_view_epoch(after), 2);
    cd_view_unref(after);
    expect_at(&n, 1, 1, 10, 1);
    /* All the way. */
    assert_int_equal(cd_chain_truncate(n.chain, 0, &why), CD_OK);
    follow(&n);
    check_store(&n);
    assert_int_equal(cd_chain_head(n.chain)->header.number, 0);
    pay(&n, 0);
    node_close(&n);
    cd_kv_close(n.kv);
}

/* Snapshots and reverts in any order always give back the state that was. */
static void random_walk(void **state)
{
    (void)state;
    enum { STEPS = 120, MARKS = 8 };
    struct {
        u64 version;
        cd_flat_head head;
    } marks[MARKS];
    usize cnt = 0;
    u64 seed = 7;
    node n;
    cd_errinfo why = {0};
    node_open_dev(&n, cd_kv_mem_open());
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        u64 dice = seed >> 33;
        switch (dice % 6) {
        case 0:
            if (cnt < MARKS) {
                marks[cnt].version = cd_chain_version(n.chain);
                assert_int_equal(cd_flat_head_get(n.kv, &marks[cnt].head), CD_OK);
                cnt++;
            }
            break;
        case 1:
            if (cnt != 0) {
                cnt = (dice >> 8) % cnt;
                cd_flat_head now;
                assert_int_equal(cd_chain_truncate(n.chain, marks[cnt].version, &why), CD_OK);
                follow(&n);
                assert_int_equal(cd_flat_head_get(n.kv, &now), CD_OK);
                assert_memory_equal(&now.root, &marks[cnt].head.root, 32);
                assert_memory_equal(&now.block, &marks[cnt].head.block, 32);
                check_store(&n);
            }
            break;
        case 2:
            set(&n, (edit){.addr = addr_of((u8)(dice >> 8) % 16), .balance = dice % 999 + 14, .slot = dice % 3});
            break;
        case 3: {
            cd_header_wish wish = {.time = cd_chain_head(n.chain)->header.time + 1};
            assert_int_equal(cd_chain_mine_empty(n.chain, 1 + (dice >> 8) % 300, 1, &wish, &why), CD_OK);
            follow(&n);
            break;
        }
        default: {
            cd_addr20 me = {0};
            cd_account acct = {0};
            bool found;
            cd_tx tx = payment(0, 100);
            assert_int_equal(cd_tx_sign(&tx, secrets[0]), CD_OK);
            me = tx.sender;
            assert_int_equal(n.src.world.src.account(&n.src.world.src, &acct, &found, &me), CD_OK);
            assert_int_equal(send(&n, 0, acct.nonce, 100, NULL), CD_OK);
            mine(&n, cd_chain_head(n.chain)->header.time + 1);
        }
        }
    }
    restart(&n);
    node_close(&n);
    cd_kv_close(n.kv);
}

/* --- runs --- */

static void check_chain_of(cd_view *v, u64 from, u64 to, u64 interval)
{
    cd_arena a = {0};
    const cd_accepted *acc;
    cd_hash32 parent = {0};
    u64 time = 0;
    for (u64 h = from; h <= to; h++) {
        cd_arena_mark m = cd_arena_mark_get(&a);
        cd_hash32 hash;
        cd_hash32 again;
        assert_int_equal(cd_view_block(v, &acc, &a, h), CD_OK);
        assert_int_equal(acc->block.header.number, h);
        cd_header_hash(&again, CD_HEADER_L1, &acc->block.header);
        assert_memory_equal(&again, &acc->block.hash, 32);
        assert_int_equal(cd_view_hash(v, &hash, h), CD_OK);
        assert_memory_equal(&hash, &acc->block.hash, 32);
        if (h != from) {
            assert_memory_equal(&parent, &acc->block.header.parent_hash, 32);
            assert_int_equal(acc->block.header.time, time + interval);
        }
        parent = acc->block.hash;
        time = acc->block.header.time;
        cd_arena_rewind(&a, m);
    }
    cd_arena_fini(&a);
}

/* Blocks of a run are those that would have been built one by one. */
static void runs_are_real_blocks(void **state)
{
    (void)state;
    enum { CNT = 1300 };
    node one;
    node many;
    cd_errinfo why = {0};
    node_open_dev(&one, cd_kv_mem_open());
    node_open_dev(&many, cd_kv_mem_open());
    pay(&one, 0);
    pay(&many, 0);
    cd_header_wish wish = {.time = START + 20};
    assert_int_equal(cd_chain_mine_empty(many.chain, CNT, 3, &wish, &why), CD_OK);
    for (u64 i = 0; i < CNT; i++) {
        wish.time = START + 20 + 3 * i;
        assert_int_equal(cd_chain_mine_empty(one.chain, 1, 3, &wish, &why), CD_OK);
    }
    assert_memory_equal(&cd_chain_head(one.chain)->hash, &cd_chain_head(many.chain)->hash, 32);
    assert_int_equal(cd_chain_head(many.chain)->header.number, CNT + 1);
    for (int round = 0; round < 2; round++) {
        cd_view *x = cd_view_newest(one.chain);
        cd_view *y = cd_view_newest(many.chain);
        cd_arena a = {0};
        for (u64 h = 0; h <= CNT + 1; h += h == CNT + 1 ? 1 : cd_min_u64(97, CNT + 1 - h)) {
            const cd_accepted *p;
            const cd_accepted *q;
            assert_int_equal(cd_view_block(x, &p, &a, h), CD_OK);
            assert_int_equal(cd_view_block(y, &q, &a, h), CD_OK);
            assert_true(cd_bytes_eq(p->rlp, q->rlp));
            assert_int_equal(cd_view_block_by_hash(y, &q, &a, &p->block.hash), CD_OK);
            assert_int_equal(q->block.header.number, h);
        }
        /* What byte code sees of old hashes. */
        cd_view_source s;
        cd_view_source t;
        cd_hash32 g;
        cd_hash32 h;
        assert_int_equal(cd_view_source_init(&s, x, 1200), CD_OK);
        assert_int_equal(cd_view_source_init(&t, y, 1200), CD_OK);
        for (u64 i = 1200 - 256; i < 1200; i++) {
            assert_int_equal(s.world.src.block_hash(&s.world.src, &g, i), CD_OK);
            assert_int_equal(t.world.src.block_hash(&t.world.src, &h, i), CD_OK);
            assert_memory_equal(&g, &h, 32);
        }
        cd_view_source_fini(&s);
        cd_view_source_fini(&t);
        cd_arena_fini(&a);
        cd_view_unref(x);
        cd_view_unref(y);
        restart(&many);
    }
    /* And for the next block. */
    for (u64 i = CNT - 250; i <= CNT + 1; i++) {
        cd_hash32 g;
        cd_hash32 h;
        assert_int_equal(one.src.world.src.block_hash(&one.src.world.src, &g, i), CD_OK);
        assert_int_equal(many.src.world.src.block_hash(&many.src.world.src, &h, i), CD_OK);
        assert_memory_equal(&g, &h, 32);
    }
    /* Back into the middle, and on. */
    assert_int_equal(cd_chain_truncate(one.chain, cd_world_version_of(1150), &why), CD_OK);
    assert_int_equal(cd_chain_truncate(many.chain, cd_world_version_of(1150), &why), CD_OK);
    follow(&one);
    follow(&many);
    assert_memory_equal(&cd_chain_head(one.chain)->hash, &cd_chain_head(many.chain)->hash, 32);
    restart(&many);
    cd_view *v = cd_view_newest(many.chain);
    check_chain_of(v, 1000, 1150, 3);
    cd_view_unref(v);
    assert_int_equal(send(&many, 0, 1, 100, NULL), CD_OK);
    mine(&many, START + 100000);
    assert_int_equal(cd_chain_truncate(many.chain, cd_world_version_of(2), &why), CD_OK);
    follow(&many);
    check_store(&many);
    node_close(&one);
    node_close(&many);
    cd_kv_close(one.kv);
    cd_kv_close(many.kv);
}

static u64 now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000 + (u64)t.tv_nsec / 1000;
}

static void runs_are_fast_and_small(void **state)
{
    (void)state;
    node n;
    cd_errinfo why = {0};
    cd_kv_stats before;
    cd_kv_stats after;
    node_open_dev(&n, cd_kv_mem_open());
    cd_header_wish wish = {.time = START + 20};
    assert_int_equal(cd_kv_stats_get(n.kv, &before), CD_OK);
    u64 start = now_us();
    assert_int_equal(cd_chain_mine_empty(n.chain, 10000, 1, &wish, &why), CD_OK);
    (void)printf("10000 blocks in %llu us\n", (unsigned long long)(now_us() - start));
    assert_int_equal(cd_kv_stats_get(n.kv, &after), CD_OK);
    assert_true(after.keys - before.keys < 40);
    assert_int_equal(cd_chain_head(n.chain)->header.number, 10000);
    assert_int_equal(cd_chain_head(n.chain)->header.time, START + 20 + 9999);
    cd_view *v = cd_view_newest(n.chain);
    check_chain_of(v, 9800, 10000, 1);
    cd_view_unref(v);
    node_close(&n);
    cd_kv_close(n.kv);
}

/* --- what nobody's rules give --- */

static void chosen_fields_verify(void **state)
{
    (void)state;
    node a;
    node b;
    cd_errinfo why = {0};
    cd_u256 base_fee = cd_u256_from_u64(7 * gwei);
    cd_hash32 random = {.b = {0x42}};
    cd_addr20 miner = addr_of(9);
    node_open_dev(&a, cd_kv_mem_open());
    node_open_dev(&b, cd_kv_mem_open());
    assert_int_equal(send(&a, 0, 0, 100, NULL), CD_OK);
    /* From a contract, unsigned: PUSH1 0, 68 (PREVRANDAO), SSTORE as code of the sender. */
    static const u8 code[] = {0x44, 0x60, 0x01, 0x55};
    edit rich = {.addr = addr_of(3), .balance = 10 * gwei * gwei, .code = cd_bytes_of(code, sizeof code)};
    set(&a, rich);
    set(&b, rich);
    cd_tx unsigned_tx = payment(0, 90);
    cd_hash32 hash;
    unsigned_tx.chain_id = CHAIN_ID;
    unsigned_tx.is_protected = true;
    unsigned_tx.sender = addr_of(3);
    unsigned_tx.to = addr_of(3);
    unsigned_tx.gas_limit = 100000;
    assert_int_equal(cd_txpool_add_as(a.pool, &hash, &unsigned_tx, &why), CD_OK);
    cd_build_cfg cfg = {
        .wish = {.time = START + 100000,
                 .base_fee = &base_fee,
                 .prev_randao = &random,
                 .coinbase = &miner,
                 .gas_limit = 12345678},
    };
    cd_chain_block *mine_block;
    cd_chain_block *theirs;
    assert_int_equal(cd_chain_build_as(a.chain, &mine_block, a.pool, &cfg, &why), CD_OK);
    assert_int_equal(mine_block->block.tx_cnt, 2);
    assert_int_equal(mine_block->dev.sender_cnt, 1);
    assert_true(cd_u256_eq(&mine_block->block.header.base_fee, &base_fee));
    assert_int_equal(mine_block->block.header.gas_limit, 12345678);
    assert_memory_equal(&mine_block->block.header.coinbase, &miner, 20);

    /* Without the record it is not a valid block, with it it is. */
    assert_int_equal(cd_chain_parse(b.chain, &theirs, mine_block->rlp, &why), CD_OK);
    assert_int_equal(cd_chain_verify(b.chain, theirs, 0, &why), CD_EINVAL);
    cd_chain_drop(b.chain, theirs);
    cd_dev_record no_fee = mine_block->dev;
    no_fee.chosen &= ~(u32)CD_DEV_BASE_FEE;
    assert_int_equal(cd_chain_parse_as(b.chain, &theirs, mine_block->rlp, &no_fee, &why), CD_OK);
    assert_int_equal(cd_chain_verify(b.chain, theirs, 0, &why), CD_EINVAL);
    assert_non_null(strstr(why.msg, "expected base fee (1000000000), found (7000000000)"));
    cd_chain_drop(b.chain, theirs);
    assert_int_equal(cd_chain_parse_as(b.chain, &theirs, mine_block->rlp, &mine_block->dev, &why), CD_OK);
    if (cd_chain_verify(b.chain, theirs, 0, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(cd_chain_accept(b.chain, theirs, &why), CD_OK);
    assert_int_equal(cd_chain_accept(a.chain, mine_block, &why), CD_OK);
    cd_chain_drop(a.chain, mine_block);
    cd_chain_drop(b.chain, theirs);
    follow(&a);
    follow(&b);

    /* The record and the sender are there after a restart. */
    restart(&b);
    cd_view *v = cd_view_newest(b.chain);
    cd_arena mem = {0};
    cd_dev_record record;
    const cd_accepted *acc = cd_view_head(v);
    assert_int_equal(cd_dev_record_get(cd_view_kv(v), &record, &mem, &acc->block.hash), CD_OK);
    assert_int_equal(record.chosen, CD_DEV_BASE_FEE | CD_DEV_GAS_LIMIT);
    assert_int_equal(record.sender_cnt, 1);
    cd_addr20 three = addr_of(3);
    assert_memory_equal(&acc->block.txs[record.senders[0].idx].sender, &three, 20);
    assert_true(acc->receipts[record.senders[0].idx].ok);
    cd_arena_fini(&mem);
    cd_view_unref(v);
    cd_u256 key = cd_u256_one();
    cd_u256 value;
    cd_u256 want;
    cd_u256_load_be(&want, random.b);
    assert_int_equal(b.src.world.src.storage(&b.src.world.src, &value, &three, &key), CD_OK);
    assert_true(cd_u256_eq(&value, &want));
    /* The next block goes by the rules again. */
    cd_header next;
    cd_arena arena = {0};
    assert_int_equal(cd_chain_next_header_as(b.chain, &next, &arena, &(cd_header_wish){.time = START + 100001}, NULL),
                     CD_OK);
    assert_int_equal(next.gas_limit, 30000000);
    assert_true(cd_u256_lt(&next.base_fee, &base_fee));
    cd_arena_fini(&arena);
    node_close(&a);
    node_close(&b);
    cd_kv_close(a.kv);
    cd_kv_close(b.kv);
}

/* --- configurations that change --- */

static void try_upgrades(cd_kv *kv, const char *upgrades, bool skip, const char *expect)
{
    cd_chain *c = NULL;
    cd_errinfo why = {0};
    cd_chain_cfg cfg = {
        .kv = kv,
        .genesis = cd_buf_bytes(&genesis),
        .upgrades = cd_bytes_str(upgrades),
        .skip_upgrade_check = skip,
    };
    cd_err e = cd_chain_open(&c, &cfg, &why);
    if (expect == NULL) {
        if (e != CD_OK) {
            fail_msg("%s", why.msg);
        }
    } else {
        assert_int_equal(e, CD_EINVAL);
        assert_string_equal(why.msg, expect);
    }
    if (e == CD_OK) {
        cd_chain_close(c);
    }
}

static void configurations_must_fit(void **state)
{
    (void)state;
    node n;
    node_open(&n, cd_kv_mem_open());
    pay(&n, 0); /* the head's time: 1700000010 */
    node_close(&n);
    try_upgrades(n.kv, "{\"networkUpgradeOverrides\":{\"graniteTimestamp\":1800000000}}", false, NULL);
    try_upgrades(n.kv, "{\"networkUpgradeOverrides\":{\"graniteTimestamp\":1900000000}}", false, NULL);
    try_upgrades(n.kv, "{\"networkUpgradeOverrides\":{\"graniteTimestamp\":1700000005}}", false,
                 "mismatching Granite fork block timestamp in database (have timestamp 1900000000, "
                 "want timestamp 1700000005, rewindto timestamp 1700000004)");
    try_upgrades(n.kv, "{\"stateUpgrades\":[{\"blockTimestamp\":1700000005}]}", false,
                 "mismatching cannot retroactively enable StateUpgrade[0] in database (have "
                 "timestamp nil, want timestamp 1700000005, rewindto timestamp 1700000004)");
    try_upgrades(n.kv, "{\"stateUpgrades\":[{\"blockTimestamp\":1700000005}]}", true, NULL);
    try_upgrades(n.kv, "{}", false,
                 "mismatching missing StateUpgrade[0] in database (have timestamp 1700000005, want "
                 "timestamp nil, rewindto timestamp 1700000004)");
    try_upgrades(n.kv, "{\"stateUpgrades\":[{}]}", false, "StateUpgrade[0]: config block timestamp cannot be nil ");
    try_upgrades(n.kv, "{\"stateUpgrades\":[{\"blockTimestamp\":0}]}", false,
                 "StateUpgrade[0]: config block timestamp (0) must be greater than 0");
    try_upgrades(n.kv, "{\"stateUpgrades\":[{\"blockTimestamp\":5},{\"blockTimestamp\":5}]}", false,
                 "StateUpgrade[1]: config block timestamp (5) <= previous timestamp (5)");
    try_upgrades(n.kv, "{\"networkUpgradeOverrides\":{\"durangoTimestamp\":9,\"etnaTimestamp\":8}}", false,
                 "unsupported fork ordering: durangoTimestamp enabled at timestamp 9, but "
                 "quasarTimestamp enabled at timestamp 8");
    try_upgrades(n.kv,
                 "{\"networkUpgradeOverrides\":{\"evmTimestamp\":9,\"durangoTimestamp\":9,"
                 "\"etnaTimestamp\":9}}",
                 false,
                 "invalid network upgrades: EVM fork block timestamp is invalid: must be 0 "
                 "(activated at genesis), got 9");
    /* Another genesis is another chain. */
    cd_buf other = {0};
    cd_chain *c = NULL;
    cd_errinfo why = {0};
    assert_int_equal(cd_dev_genesis(&other, CHAIN_ID, START + 1), CD_OK);
    cd_chain_cfg cfg = {.kv = n.kv, .genesis = cd_buf_bytes(&other)};
    assert_int_equal(cd_chain_open(&c, &cfg, &why), CD_EFOREIGN);
    cd_buf_fini(&other);
    cd_kv_close(n.kv);
}

/* --- words for who waits for a block --- */

static void expect_why(node *n, const char *words)
{
    cd_buf out = {0};
    assert_int_equal(cd_chain_why_no_block(n->chain, &out, n->pool, START + 50), CD_OK);
    if (strstr(cd_buf_cstr(&out), words) == NULL) {
        fail_msg("%s", cd_buf_cstr(&out));
    }
    cd_buf_fini(&out);
}

static void why_no_block(void **state)
{
    (void)state;
    node n;
    node_open_dev(&n, cd_kv_mem_open());
    expect_why(&n, "no transactions are waiting");
    assert_int_equal(send(&n, 0, 1, 100, NULL), CD_OK);
    expect_why(&n, "none of the 1 waiting transactions is executable");
    assert_int_equal(send(&n, 1, 0, 100, NULL), CD_OK);
    expect_why(&n, "would take 1 transactions");
    node_close(&n);
    cd_kv_close(n.kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits_show_and_last),
        cmocka_unit_test(truncations_restore),
        cmocka_unit_test(random_walk),
        cmocka_unit_test(runs_are_real_blocks),
        cmocka_unit_test(runs_are_fast_and_small),
        cmocka_unit_test(chosen_fields_verify),
        cmocka_unit_test(configurations_must_fit),
        cmocka_unit_test(why_no_block),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
