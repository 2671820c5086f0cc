/* The P-Chain as a VM: the contract of vm/vm.h, transactions through blocks, rewards by proposals. */
#include "chains/platform/test/ledger.h"
#include "vm/test/contract.h"

/* --- the contract --- */

static cd_vm *rig_open(void *ctx, cd_kv *kv)
{
    ledger *l = ctx;
    return ledger_open(l, kv);
}

/* One more transfer that others do not conflict with: each takes a coin of the genesis of its own. */
static void rig_want(void *ctx, cd_vm *vm)
{
    ledger *l = ctx;
    cd_hash32 id;
    cd_errinfo why = {0};
    cd_p_base *b = cd_arena_new(&l->arena, cd_p_base);
    cd_transfer_input *in = cd_arena_new(&l->arena, cd_transfer_input);
    cd_p_input *input = cd_arena_new(&l->arena, cd_p_input);
    u32 *index = cd_arena_new(&l->arena, u32);
    u32 coin = l->made++;
    in->amount = 1000000 * LEDGER_TOKEN;
    in->sig_indices = (cd_linear_list){.v = index, .cnt = 1};
    *input = (cd_p_input){.output_idx = coin, .asset_id = l->asset, .in = cd_p_part(CD_P_TRANSFER_INPUT, in)};
    b->network_id = 1337;
    b->ins = (cd_linear_list){.v = input, .cnt = 1};
    b->outs = ledger_outs(l, 999999 * LEDGER_TOKEN, 0);
    cd_vm *own = l->vm;
    l->vm = vm;
    cd_err e = ledger_issue(l, &id, ledger_sign(l, CD_P_BASE_TX, b, coin % LEDGER_KEYS, false), &why);
    l->vm = own;
    if (e != CD_OK) {
        fail_msg("%s", why.msg);
    }
}

static void keeps_the_contract(void **state)
{
    ledger l;
    (void)state;
    ledger_prepare(&l);
    const contract_rig rig = {.open = rig_open, .want = rig_want, .ctx = &l};
    const char *broken = contract_check(&rig);
    assert_string_equal(broken == NULL ? "" : broken, "");
    ledger_fini(&l);
}

/* --- money --- */

static u64 balance_of(ledger *l, u32 key)
{
    const cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l->vm));
    ledger_coins c = {.l = l, .max = 512, .want = UINT64_MAX};
    c.v = cd_arena_array(&l->arena, cd_p_input, c.max);
    assert_int_equal(cd_utxo_each(s.kv, &cd_p_utxo_table, &l->addrs[key], NULL, ledger_visit, &c), CD_OK);
    return c.sum;
}

static void a_transfer_is_committed(void **state)
{
    ledger l;
    cd_hash32 id;
    cd_errinfo why = {0};
    (void)state;
    ledger_init(&l);
    u64 before = balance_of(&l, 1);
    cd_bytes tx = ledger_transfer(&l, 5 * LEDGER_TOKEN, 0, 1);
    assert_int_equal(ledger_issue(&l, &id, tx, &why), CD_OK);
    assert_int_equal(ledger_status(&l, &id), CD_P_STATUS_PROCESSING);
    assert_int_equal(ledger_issue(&l, &id, tx, &why), CD_OK); /* a second time is fine */
    assert_true(ledger_step(&l, false));
    assert_int_equal(ledger_status(&l, &id), CD_P_STATUS_COMMITTED);
    assert_int_equal(balance_of(&l, 1), before + 5 * LEDGER_TOKEN);
    assert_false(ledger_step(&l, false));
    /* What was spent is gone, and who tries is told why, also later. */
    assert_int_not_equal(ledger_issue(&l, &id, tx, &why), CD_OK);
    assert_non_null(strstr(why.msg, "failed verification: failed execution: standard tx "));
    assert_non_null(strstr(why.msg, "failed to read consumed UTXO 11111111111111111111111111111111LpoYY:"));
    ledger_fini(&l);
}

static void refusals_are_remembered_for_an_hour(void **state)
{
    ledger l;
    cd_hash32 id;
    cd_errinfo why = {0};
    (void)state;
    ledger_init(&l);
    cd_p_base *b = cd_arena_new(&l.arena, cd_p_base);
    assert_true(ledger_fund(&l, b, 1, 0));
    b->memo = cd_bytes_str("word");
    assert_int_not_equal(ledger_issue(&l, &id, ledger_sign(&l, CD_P_BASE_TX, b, 0, false), &why), CD_OK);
    assert_non_null(strstr(why.msg, "memo exceeds maximum length: 4 > 0"));
    assert_int_equal(ledger_status(&l, &id), CD_P_STATUS_DROPPED);
    ledger_wait(&l, CD_P_POOL_REASON_S + 1);
    assert_int_equal(ledger_status(&l, &id), CD_P_STATUS_UNKNOWN);
    ledger_fini(&l);
}

/* --- stakers --- */

static cd_bytes add_validator(ledger *l, u8 number, u64 end, u64 weight)
{
    cd_p_add_permissionless_validator *v = cd_arena_new(&l->arena, cd_p_add_permissionless_validator);
    cd_p_pop *pop = cd_arena_new(&l->arena, cd_p_pop);
    cd_bls_sk sk;
    ledger_bls(&sk, pop, number);
    assert_true(ledger_fund(l, &v->base, weight, 2));
    v->validator = (cd_p_validator){.node_id = {.b = {number}}, .end = end, .weight = weight};
    v->signer = cd_p_part(CD_P_SIGNER_POP, pop);
    v->stake = ledger_outs(l, weight, 2);
    v->validation_owner = ledger_owners(l, 2);
    v->delegation_owner = ledger_owners(l, 2);
    v->shares = 20000;
    return ledger_sign(l, CD_P_ADD_PERMISSIONLESS_VALIDATOR, v, 2, false);
}

static u64 supply_of(ledger *l)
{
    static const cd_hash32 primary;
    const cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l->vm));
    u64 out = 0;
    assert_int_equal(cd_pstate_supply_get(&s, &out, &primary), CD_OK);
    return out;
}

/* Who was never reachable loses the reward, and what it would have been is taken back from the supply. */
static void a_validator_is_rewarded_when_it_was_there(void **state)
{
    (void)state;
    for (int aborts = 0; aborts < 2; aborts++) {
        ledger l;
        cd_hash32 id;
        cd_errinfo why = {0};
        ledger_init(&l);
        u64 start = LEDGER_TIME + 100;
        u64 weight = 100000 * LEDGER_TOKEN;
        u64 before = supply_of(&l);
        u64 owned = balance_of(&l, 2);
        assert_int_equal(ledger_issue(&l, &id, add_validator(&l, 7, start + 30ull * 86400, weight), &why), CD_OK);
        assert_true(ledger_step(&l, false));
        const cd_p_rules *r = cd_pchain_rules(cd_platform_vm_chain(l.vm));
        u64 reward = cd_reward(&r->reward, 30ull * 86400, weight, before);
        assert_true(reward > 0);
        assert_int_equal(supply_of(&l), before + reward);
        if (aborts == 0) {
            const cd_node_id peer = {.b = {7}};
            const cd_vm_peer_version version = {.major = 1};
            l.vm->ops->app->connected(l.vm, &peer, &version);
        }
        ledger_wait(&l, 30ull * 86400);
        assert_true(ledger_step(&l, false));
        assert_false(ledger_step(&l, false));
        assert_int_equal(supply_of(&l), aborts == 1 ? before : before + reward);
        assert_int_equal(balance_of(&l, 2), owned - LEDGER_TOKEN + (aborts == 1 ? 0 : reward));
        ledger_fini(&l);
    }
}

/* A node that stops between a proposal and its option goes on where it was. */
static void a_proposal_survives_a_crash(void **state)
{
    ledger l;
    cd_hash32 id;
    const cd_vm_block_ctx none = {0};
    cd_vm_block *b = NULL;
    cd_vm_block *options[2];
    (void)state;
    ledger_init(&l);
    assert_int_equal(ledger_issue(&l, &id, add_validator(&l, 7, LEDGER_TIME + 100 + 86400, 2000 * LEDGER_TOKEN), NULL),
                     CD_OK);
    assert_true(ledger_step(&l, false));
    ledger_wait(&l, 86400);
    assert_int_equal(l.vm->ops->build(l.vm, &b, &none, NULL), CD_OK);
    ledger_take(&l, b);
    l.vm->ops->release(l.vm, b);
    assert_int_equal(l.vm->ops->build(l.vm, &b, &none, NULL), CD_ENOENT);
    l.vm->ops->close(l.vm);
    l.vm = ledger_open(&l, l.kv);
    assert_int_equal(l.vm->ops->set_state(l.vm, CD_VM_NORMAL, NULL), CD_OK);
    cd_hash32 last;
    u64 height;
    l.vm->ops->last_accepted(l.vm, &last, &height);
    assert_int_equal(l.vm->ops->get(l.vm, &b, &last), CD_OK);
    assert_int_equal(l.vm->ops->options(l.vm, options, b, NULL), CD_OK);
    ledger_take(&l, options[0]);
    for (int i = 0; i < 2; i++) {
        l.vm->ops->release(l.vm, options[i]);
    }
    l.vm->ops->release(l.vm, b);
    l.vm->ops->last_accepted(l.vm, &last, &height);
    assert_int_equal(height, 3);
    ledger_fini(&l);
}

/* Between accepting one of two siblings and rejecting the other, clients ask and issue, and a child of the loser
 * comes. */
static void the_loser_is_preferred_for_a_moment(void **state)
{
    ledger l;
    cd_hash32 id;
    const cd_vm_block_ctx none = {0};
    cd_vm_block *b[3];
    (void)state;
    ledger_init(&l);
    for (u32 i = 0; i < 2; i++) {
        assert_int_equal(ledger_issue(&l, &id, ledger_transfer(&l, 5 * LEDGER_TOKEN, i, 2), NULL), CD_OK);
        assert_int_equal(l.vm->ops->build(l.vm, &b[i], &none, NULL), CD_OK);
        assert_int_equal(l.vm->ops->verify(l.vm, b[i], &none, NULL), CD_OK);
    }
    assert_int_equal(l.vm->ops->set_preference(l.vm, &b[1]->id), CD_OK);
    assert_int_equal(ledger_issue(&l, &id, ledger_transfer(&l, 5 * LEDGER_TOKEN, 3, 2), NULL), CD_OK);
    assert_int_equal(l.vm->ops->build(l.vm, &b[2], &none, NULL), CD_OK);
    ledger_take(&l, b[0]);
    assert_int_equal(l.vm->ops->verify(l.vm, b[2], &none, NULL), CD_ENOENT);
    (void)l.vm->ops->wake(l.vm);
    assert_int_equal(ledger_issue(&l, &id, ledger_transfer(&l, 6 * LEDGER_TOKEN, 2, 0), NULL), CD_OK);
    assert_int_equal(l.vm->ops->reject(l.vm, b[1]), CD_OK);
    assert_true(ledger_step(&l, false));
    assert_int_equal(ledger_status(&l, &id), CD_P_STATUS_COMMITTED);
    for (u32 i = 0; i < 3; i++) {
        l.vm->ops->release(l.vm, b[i]);
    }
    ledger_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_contract),
        cmocka_unit_test(a_transfer_is_committed),
        cmocka_unit_test(refusals_are_remembered_for_an_hour),
        cmocka_unit_test(a_validator_is_rewarded_when_it_was_there),
        cmocka_unit_test(a_proposal_survives_a_crash),
        cmocka_unit_test(the_loser_is_preferred_for_a_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
