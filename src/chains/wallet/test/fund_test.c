#include "chains/wallet/fund.h"

#include "chains/platform/fees/complexity.h"
#include "crypto/ec/secp256k1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { COINS = 8, NOW = 1000 };

static const cd_hash32 native = {.b = {1}};
static const cd_hash32 other = {.b = {2}};
static const cd_gas_dims weights = {.bandwidth = 1, .reads = 1000, .writes = 1000, .compute = 4};
static const cd_wallet_fee fixed = {.asset_id = {.b = {1}}, .fixed = 10};
static const cd_wallet_fee by_gas = {.asset_id = {.b = {1}}, .weights = &weights, .price = 3};

/* A purse of one key. */
typedef struct rig {
    cd_arena mem;
    cd_addr20 me;
    cd_addr20 stranger;
    cd_utxo utxos[COINS];
    cd_wallet_purse purse;
    cd_p_base base;
    cd_wallet_draft draft;
} rig;

static void give(rig *r, const cd_hash32 *asset, u64 amount, const cd_owners *owners)
{
    usize i = r->purse.utxo_cnt++;
    const cd_p_output o = cd_wallet_output(&r->mem, asset, amount, owners);
    r->utxos[i] = (cd_utxo){.tx_id = {.b = {(u8)(200 - i)}}, .output_idx = (u32)i, .asset_id = *asset, .out = o.out};
}

static void give_me(rig *r, const cd_hash32 *asset, u64 amount)
{
    const cd_owners mine = cd_wallet_owners(&r->mem, &r->me);
    give(r, asset, amount, &mine);
}

static void rig_init(rig *r, const char *chain)
{
    memset(r, 0, sizeof *r);
    r->me.b[0] = 7;
    r->stranger.b[0] = 8;
    r->purse = (cd_wallet_purse){.mem = &r->mem,
                                 .addrs = &r->me,
                                 .addr_cnt = 1,
                                 .utxos = r->utxos,
                                 .change = cd_wallet_owners(&r->mem, &r->me),
                                 .now = NOW};
    r->draft = (cd_wallet_draft){.chain = cd_wallet_chain_find(cd_bytes_str(chain)),
                                 .network_id = 1337,
                                 .body = cd_p_body(CD_P_BASE_TX, &r->base)};
}

/* in_sum and out_sum: the amounts of an asset that go into a transaction and come out of it. */
static u64 in_sum(const rig *r, const cd_hash32 *asset)
{
    u64 sum = 0;
    for (u32 i = 0; i < r->base.ins.cnt; i++) {
        const cd_p_input *in = (const cd_p_input *)r->base.ins.v + i;
        sum += cd_hash32_eq(&in->asset_id, asset) ? ((const cd_transfer_input *)in->in.v)->amount : 0;
    }
    return sum;
}

static u64 out_sum(const rig *r, const cd_hash32 *asset)
{
    u64 sum = 0;
    for (u32 i = 0; i < r->base.outs.cnt; i++) {
        const cd_p_output *o = (const cd_p_output *)r->base.outs.v + i;
        sum += cd_hash32_eq(&o->asset_id, asset) ? ((const cd_transfer_output *)o->out.v)->amount : 0;
    }
    return sum;
}

static void takes_the_largest(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, "P");
    give_me(&r, &native, 5);
    give_me(&r, &native, 100);
    give_me(&r, &other, 1000);
    give_me(&r, &native, 50);
    const cd_wallet_need need = {.asset_id = native, .amount = 30};
    assert_int_equal(cd_wallet_fund(&r.draft, &r.purse, &need, 1, &fixed, NULL), CD_OK);
    assert_int_equal(r.base.ins.cnt, 1);
    assert_int_equal(in_sum(&r, &native), 100);
    assert_int_equal(out_sum(&r, &native), 60); /* of 100, the caller gives 30 to somebody, and 10 are the fee */
    assert_int_equal(r.draft.slot_cnt, 1);
    assert_memory_equal(r.draft.slots[0].signers, &r.me, sizeof r.me);
    cd_arena_fini(&r.mem);
}

static void several_assets_and_in_order(void **state)
{
    (void)state;
    rig r;
    rig_init(&r, "P");
    give_me(&r, &native, 40);
    give_me(&r, &other, 7);
    give_me(&r, &native, 41);
    give_me(&r, &other, 8);
    const cd_wallet_need needs[] = {{.asset_id = native, .amount = 60}, {.asset_id = other, .amount = 15}};
    assert_int_equal(cd_wallet_fund(&r.draft, &r.purse, needs, 2, &fixed, NULL), CD_OK);
    assert_int_equal(r.base.ins.cnt, 4);
    assert_int_equal(out_sum(&r, &native), 11);
    assert_int_equal(out_sum(&r, &other), 0);
    for (u32 i = 1; i < r.base.ins.cnt; i++) {
        const cd_p_input *in = r.base.ins.v;
        assert_true(memcmp(in[i - 1].tx_id.b, in[i].tx_id.b, 32) < 0);
    }
    cd_arena_fini(&r.mem);
}

/* Outputs of somebody else, locked ones, and those that need a key more than we have, are not spent. */
static void leaves_what_is_not_ours(void **state)
{
    (void)state;
    rig r;
    cd_errinfo why = {0};
    rig_init(&r, "P");
    cd_owners later = cd_wallet_owners(&r.mem, &r.me);
    later.locktime = NOW + 1;
    const cd_owners his = cd_wallet_owners(&r.mem, &r.stranger);
    cd_addr20 both[2] = {r.me, r.stranger};
    const cd_owners two = {.threshold = 2, .addrs = {.v = both, .cnt = 2}};
    give(&r, &native, 1000, &later);
    give(&r, &native, 1000, &his);
    give(&r, &native, 1000, &two);
    give_me(&r, &native, 12);
    const cd_wallet_need need = {.asset_id = native, .amount = 3};
    assert_int_equal(cd_wallet_fund(&r.draft, &r.purse, &need, 1, &fixed, &why), CD_ERANGE);
    assert_non_null(strstr(why.msg, "insufficient funds: needs 1 more"));
    const cd_owners one_of_two = {.threshold = 1, .addrs = {.v = both, .cnt = 2}};
    give(&r, &native, 1, &one_of_two);
    r.base = (cd_p_base){0};
    assert_int_equal(cd_wallet_fund(&r.draft, &r.purse, &need, 1, &fixed, &why), CD_OK);
    assert_int_equal(r.base.outs.cnt, 0);
    cd_arena_fini(&r.mem);
}

/* With change, a transaction burns exactly the fee of its final form; without change, perhaps a little more. */
static void pays_gas(void **state)
{
    (void)state;
    for (u64 amount = 1; amount < 200000; amount += 9973) {
        rig r;
        cd_gas_dims dims;
        u64 fee;
        rig_init(&r, "P");
        for (int i = 0; i < 6; i++) {
            give_me(&r, &native, 40000);
        }
        const cd_wallet_need need = {.asset_id = native, .amount = amount};
        cd_err e = cd_wallet_fund(&r.draft, &r.purse, &need, 1, &by_gas, NULL);
        if (e != CD_OK) {
            assert_true(amount > 100000);
            cd_arena_fini(&r.mem);
            continue;
        }
        const cd_p_tx tx = {.body = r.draft.body};
        assert_int_equal(cd_gas_complexity(&dims, &tx, false, NULL), CD_OK);
        assert_int_equal(cd_gas_fee(&fee, &dims, &weights, by_gas.price), CD_OK);
        u64 burned = in_sum(&r, &native) - out_sum(&r, &native) - amount;
        assert_true(burned >= fee);
        if (r.base.outs.cnt != 0) {
            assert_int_equal(burned, fee);
        }
        cd_arena_fini(&r.mem);
    }
}

static void imports(void **state)
{
    (void)state;
    static const struct {
        u64 came;
        u64 own;
        bool is_good;
        u64 out; /* native asset that the transaction gives out at the end */
    } rows[] = {
        {100, 0, true, 90}, {10, 0, true, 0}, {4, 6, true, 0}, {4, 7, true, 1}, {4, 5, false, 0}, {11, 50, true, 1},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        rig r;
        rig there;
        cd_wallet_taken taken;
        rig_init(&r, "P");
        rig_init(&there, "P");
        give_me(&there, &native, rows[i].came);
        give_me(&there, &other, 77);
        if (rows[i].own != 0) {
            give_me(&r, &native, rows[i].own);
        }
        assert_int_equal(cd_wallet_take(&taken, &there.purse, NULL, CD_WALLET_INPUTS_MAX, NULL), CD_OK);
        assert_int_equal(taken.ins.cnt, 2);
        const cd_owners me = cd_wallet_owners(&r.mem, &r.me);
        cd_err e = cd_wallet_fund_import(&r.draft, &r.purse, &taken, &me, &fixed, NULL);
        assert_int_equal(e == CD_OK, rows[i].is_good);
        if (e == CD_OK) {
            assert_int_equal(out_sum(&r, &native), rows[i].out);
            assert_int_equal(out_sum(&r, &other), 77);
            assert_int_equal(r.draft.slot_cnt, 2 + r.base.ins.cnt);
        }
        cd_arena_fini(&there.mem);
        cd_arena_fini(&r.mem);
    }
    rig r;
    cd_wallet_taken taken;
    rig_init(&r, "X");
    assert_int_equal(cd_wallet_take(&taken, &r.purse, NULL, CD_WALLET_INPUTS_MAX, NULL), CD_ENOENT);
    cd_arena_fini(&r.mem);
}

static void permission(void **state)
{
    (void)state;
    rig r;
    cd_linear_any auth;
    cd_wallet_slot slot;
    rig_init(&r, "P");
    cd_addr20 both[2] = {r.stranger, r.me};
    cd_owners owners = {.threshold = 1, .addrs = {.v = both, .cnt = 2}};
    assert_int_equal(cd_wallet_permit(&auth, &slot, &r.purse, &owners, NULL), CD_OK);
    const cd_auth_input *in = auth.v;
    assert_int_equal(in->sig_indices.cnt, 1);
    assert_int_equal(*(const u32 *)in->sig_indices.v, 1);
    assert_memory_equal(slot.signers, &r.me, sizeof r.me);
    owners.threshold = 2;
    assert_int_equal(cd_wallet_permit(&auth, &slot, &r.purse, &owners, NULL), CD_EACCES);
    cd_arena_fini(&r.mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_largest),
        cmocka_unit_test(several_assets_and_in_order),
        cmocka_unit_test(leaves_what_is_not_ours),
        cmocka_unit_test(pays_gas),
        cmocka_unit_test(imports),
        cmocka_unit_test(permission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
