/* Money of the P-Chain: random transactions, good and bad, keep what exists equal to what began, plus rewards, minus
 * what was burned; two hundred years of staking keep the supply at the formula. [spec:pchain-xchain#6] */
#include "base/os/rng.h"
#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/test/ledger.h"
#include "types/pwarp.h"

static const cd_hash32 primary;
static const u64 DAY_S = 86400; /* seconds */

/* --- what exists --- */

static u64 amount_of(const cd_linear_any *out)
{
    u64 n = 0;
    return cd_utxo_amount(&n, out) ? n : 0;
}

/* All UTXOs, each once: by ID, not by owner. */
static u64 in_utxos(ledger *l)
{
    const cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l->vm));
    const cd_kv_range range = {.prefix = cd_bytes_str("u")};
    cd_arena a = {0};
    cd_kv_iter *it;
    u64 sum = 0;
    assert_int_equal(cd_kv_iter_new(&it, s.kv, &range), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_utxo u;
        assert_int_equal(cd_utxo_parse(&u, &cd_p_utxo_table, &a, cd_kv_iter_value(it), NULL), CD_OK);
        sum += amount_of(&u.out);
        cd_arena_reset(&a);
    }
    assert_int_equal(cd_kv_iter_err(it), CD_OK);
    cd_kv_iter_free(it);
    cd_arena_fini(&a);
    return sum;
}

/* What stakers have staked; *coming: what they will have earned, *waiting: what delegators left their validators. */
static u64 in_stakes(ledger *l, u64 *coming, u64 *waiting)
{
    static const cd_p_set sets[] = {CD_P_CURRENT, CD_P_PENDING};
    const cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l->vm));
    u64 sum = 0;
    *coming = 0;
    *waiting = 0;
    for (usize i = 0; i < CD_COUNT(sets); i++) {
        cd_p_staker_iter it;
        cd_p_staker t;
        assert_int_equal(cd_pstate_stakers(&s, &it, sets[i]), CD_OK);
        while (cd_p_staker_next(&it, &t)) {
            u64 left = 0;
            sum += t.weight;
            *coming += t.potential_reward;
            if (!cd_p_priority_delegates(t.priority) && sets[i] == CD_P_CURRENT) {
                assert_int_equal(cd_pstate_delegatee_get(&s, &left, &t.net_id, &t.node_id), CD_OK);
                *waiting += left;
            }
        }
        assert_int_equal(it.err, CD_OK);
        cd_p_staker_iter_fini(&it);
    }
    return sum;
}

static u64 supply_of(ledger *l)
{
    const cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l->vm));
    u64 out = 0;
    assert_int_equal(cd_pstate_supply_get(&s, &out, &primary), CD_OK);
    return out;
}

/* --- transactions --- */

static u64 burned_by(const cd_p_tx *tx)
{
    const cd_p_base *base = cd_ptx_base(tx);
    cd_ptx_staker t;
    u64 in = 0;
    u64 out = 0;
    for (u32 i = 0; i < base->ins.cnt; i++) {
        const cd_linear_any *v = &((const cd_p_input *)base->ins.v)[i].in;
        in += ((const cd_transfer_input *)v->v)->amount;
    }
    for (u32 i = 0; i < base->outs.cnt; i++) {
        out += amount_of(&((const cd_p_output *)base->outs.v)[i].out);
    }
    if (cd_ptx_staker_of(&t, tx) && t.stake != NULL) {
        out += t.who.weight;
    }
    if (tx->body.is->id == CD_P_EXPORT) {
        out += amount_of(&((const cd_p_output *)((const cd_p_export *)tx->body.v)->exported.v)->out);
    }
    return in - out;
}

static cd_bytes validator(ledger *l, u32 key, u8 number, u64 end, u64 weight)
{
    cd_p_add_permissionless_validator *v = cd_arena_new(&l->arena, cd_p_add_permissionless_validator);
    cd_p_pop *pop = cd_arena_new(&l->arena, cd_p_pop);
    cd_bls_sk sk;
    ledger_bls(&sk, pop, number);
    if (!ledger_fund(l, &v->base, weight, key)) {
        return (cd_bytes){0};
    }
    v->validator = (cd_p_validator){.node_id = {.b = {number}}, .end = end, .weight = weight};
    v->signer = cd_p_part(CD_P_SIGNER_POP, pop);
    v->stake = ledger_outs(l, weight, key);
    v->validation_owner = ledger_owners(l, key);
    v->delegation_owner = ledger_owners(l, (key + 1) % LEDGER_KEYS);
    v->shares = 20000;
    return ledger_sign(l, CD_P_ADD_PERMISSIONLESS_VALIDATOR, v, key, false);
}

static cd_bytes delegator(ledger *l, u32 key, u8 number, u64 end, u64 weight)
{
    cd_p_add_permissionless_delegator *v = cd_arena_new(&l->arena, cd_p_add_permissionless_delegator);
    if (!ledger_fund(l, &v->base, weight, key)) {
        return (cd_bytes){0};
    }
    v->validator = (cd_p_validator){.node_id = {.b = {number}}, .end = end, .weight = weight};
    v->stake = ledger_outs(l, weight, key);
    v->rewards_owner = ledger_owners(l, key);
    return ledger_sign(l, CD_P_ADD_PERMISSIONLESS_DELEGATOR, v, key, false);
}

/* One of before Durango, which waits for its start. */
static cd_bytes legacy(ledger *l, u32 key, u8 number, u64 start, u64 end, u64 weight)
{
    cd_p_add_validator *v = cd_arena_new(&l->arena, cd_p_add_validator);
    if (!ledger_fund(l, &v->base, weight, key)) {
        return (cd_bytes){0};
    }
    v->validator = (cd_p_validator){.node_id = {.b = {number}}, .start = start, .end = end, .weight = weight};
    v->stake = ledger_outs(l, weight, key);
    v->rewards_owner = ledger_owners(l, key);
    v->shares = 50000;
    return ledger_sign(l, CD_P_ADD_VALIDATOR, v, key, false);
}

static cd_bytes export(ledger *l, u32 key, u64 amount)
{
    cd_p_export *v = cd_arena_new(&l->arena, cd_p_export);
    const cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l->vm));
    cd_p_chain *chains;
    usize cnt;
    bool more;
    assert_int_equal(cd_pstate_chains(&s, &chains, &cnt, &more, &l->arena, &primary, 1), CD_OK);
    if (!ledger_fund(l, &v->base, amount, key)) {
        return (cd_bytes){0};
    }
    v->destination_chain = chains[0].id;
    v->exported = ledger_outs(l, amount, key);
    return ledger_sign(l, CD_P_EXPORT, v, key, false);
}

static cd_bytes net(ledger *l, u32 key)
{
    cd_p_create_net *v = cd_arena_new(&l->arena, cd_p_create_net);
    if (!ledger_fund(l, &v->base, 0, key)) {
        return (cd_bytes){0};
    }
    v->owner = ledger_owners(l, key);
    return ledger_sign(l, CD_P_CREATE_NET, v, key, false);
}

/* Something of any kind, within or out of bounds. */
static cd_bytes anything(ledger *l, cd_rng *rng, u64 now)
{
    u32 key = (u32)cd_rng_below(rng, LEDGER_KEYS);
    u8 number = (u8)(2 + cd_rng_below(rng, 6));
    u64 days = cd_rng_below(rng, 90);
    u64 weight = (1 + cd_rng_below(rng, 5000)) * LEDGER_TOKEN;
    switch (cd_rng_below(rng, 6)) {
    case 0:
        return validator(l, key, number, now + days * DAY_S, weight);
    case 1:
        return delegator(l, key, number, now + days * DAY_S, weight);
    case 2:
        return legacy(l, key, number, now + cd_rng_below(rng, 20) * DAY_S, now + days * DAY_S, weight);
    case 3:
        return export(l, key, weight);
    case 4:
        return net(l, key);
    default:
        return ledger_transfer(l, weight, key, (u32)cd_rng_below(rng, LEDGER_KEYS));
    }
}

/* Some byte of it becomes another: nearly always a transaction that nobody signed. */
static cd_bytes spoilt(ledger *l, cd_rng *rng, cd_bytes tx)
{
    cd_bytes out = cd_arena_dup(&l->arena, tx);
    u8 *at = (u8 *)(uintptr_t)out.p + cd_rng_below(rng, out.n);
    *at ^= (u8)(1 + cd_rng_below(rng, 255));
    return out;
}

/* --- properties --- */

typedef struct books {
    u64 genesis;
    u64 burned;
    u64 exported;
    u32 taken;
    u32 refused;
} books;

static void balance(ledger *l, const books *b, u64 rewards)
{
    u64 coming;
    u64 waiting;
    u64 stakes = in_stakes(l, &coming, &waiting);
    /* The supply counts rewards when they are promised, and knows nothing of what was burned. */
    assert_int_equal(in_utxos(l) + stakes + b->burned + b->exported + waiting, b->genesis + rewards);
    assert_int_equal(supply_of(l), b->genesis + rewards + coming);
}

/* Takes one in at once, in a block of its own. */
static void offer(ledger *l, books *b, cd_bytes tx)
{
    cd_hash32 id;
    cd_errinfo why = {0};
    cd_ptx read;
    if (tx.n == 0 || ledger_issue(l, &id, tx, &why) != CD_OK) {
        b->refused++;
        return;
    }
    assert_int_equal(cd_ptx_parse(&read, &l->arena, tx, 0, NULL), CD_OK);
    ledger_wait(l, 1);
    (void)ledger_step(l, false);
    if (ledger_status(l, &id) != CD_P_STATUS_COMMITTED) {
        b->refused++;
        return;
    }
    b->taken++;
    b->burned += burned_by(&read.tx);
    if (read.tx.body.is->id == CD_P_EXPORT) {
        b->exported += amount_of(&((const cd_p_output *)((const cd_p_export *)read.tx.body.v)->exported.v)->out);
    }
}

/* Rewards that were paid: what the supply has beyond the beginning and what is still promised. */
static u64 rewards_paid(ledger *l, const books *b)
{
    u64 coming;
    u64 waiting;
    (void)in_stakes(l, &coming, &waiting);
    return supply_of(l) - b->genesis - coming;
}

static void money_is_conserved(void **state)
{
    ledger l;
    books b = {0};
    cd_rng rng = cd_rng_seeded(20261122);
    (void)state;
    ledger_init(&l);
    b.genesis = LEDGER_COINS * 1000000ull * LEDGER_TOKEN + 2000 * LEDGER_TOKEN;
    balance(&l, &b, 0);
    for (u32 i = 0; i < 1500; i++) {
        u64 now = cd_clock_wall_s(&l.clock.clock);
        cd_bytes tx = anything(&l, &rng, now);
        if (tx.n != 0 && cd_rng_below(&rng, 3) == 0) {
            tx = spoilt(&l, &rng, tx);
        }
        offer(&l, &b, tx);
        if (cd_rng_below(&rng, 8) == 0) {
            ledger_wait(&l, cd_rng_below(&rng, 5) * DAY_S);
            while (ledger_step(&l, cd_rng_below(&rng, 2) == 0)) {
            }
        }
        if (i % 50 == 0) {
            balance(&l, &b, rewards_paid(&l, &b));
        }
    }
    balance(&l, &b, rewards_paid(&l, &b));
    assert_true(b.taken > 300);
    assert_true(b.refused > 300);
    ledger_fini(&l);
}

/* One validator stakes again whenever its time is over. Each reward is the formula's, on the supply of that moment, and
 * the supply never passes its cap. */
static void two_hundred_years_of_staking(void **state)
{
    enum { YEARS = 200 };
    const cd_vm_peer_version version = {.major = 1};
    const u64 weight = 500000 * LEDGER_TOKEN;
    ledger l;
    (void)state;
    ledger_init(&l);
    const cd_p_rules *r = cd_pchain_rules(cd_platform_vm_chain(l.vm));
    const cd_node_id peer = {.b = {9}};
    l.vm->ops->app->connected(l.vm, &peer, &version);
    l.vm->ops->app->connected(l.vm, &l.node, &version);
    u64 want = supply_of(&l);
    for (u32 year = 0; year < YEARS; year++) {
        cd_hash32 id;
        cd_errinfo why = {0};
        u64 now = cd_clock_wall_s(&l.clock.clock);
        cd_err e = ledger_issue(&l, &id, validator(&l, 2, 9, now + LEDGER_YEAR, weight), &why);
        if (e != CD_OK) {
            fail_msg("year %u: %s", year, why.msg);
        }
        assert_true(ledger_step(&l, false));
        want += cd_reward(&r->reward, LEDGER_YEAR, weight, want);
        assert_int_equal(supply_of(&l), want);
        assert_true(want <= r->reward.cap);
        ledger_wait(&l, LEDGER_YEAR);
        while (ledger_step(&l, false)) {
        }
        assert_int_equal(supply_of(&l), want);
    }
    ledger_fini(&l);
}

/* A staker of before Durango waits for its start, and no block passes it. */
static void a_legacy_staker_waits_for_its_start(void **state)
{
    ledger l;
    cd_hash32 id;
    cd_errinfo why = {0};
    cd_p_staker t;
    const cd_node_id node = {.b = {5}};
    (void)state;
    ledger_init(&l);
    u64 now = cd_clock_wall_s(&l.clock.clock);
    cd_bytes tx = legacy(&l, 1, 5, now + 15 * DAY_S, now + 60 * DAY_S, 3000 * LEDGER_TOKEN);
    assert_int_not_equal(ledger_issue(&l, &id, tx, &why), CD_OK);
    assert_non_null(strstr(why.msg, "staking more than 336h0m0s ahead of the current chain time"));
    tx = legacy(&l, 1, 5, now + 7 * DAY_S, now + 60 * DAY_S, 3000 * LEDGER_TOKEN);
    assert_int_equal(ledger_issue(&l, &id, tx, &why), CD_OK);
    u64 supply = supply_of(&l);
    assert_true(ledger_step(&l, false));
    cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l.vm));
    assert_int_equal(cd_pstate_validator_get(&s, &t, CD_P_PENDING, &primary, &node), CD_OK);
    assert_int_equal(supply_of(&l), supply); /* nothing is promised yet */
    ledger_wait(&l, 30 * DAY_S);
    assert_true(ledger_step(&l, false));
    s = cd_pchain_accepted(cd_platform_vm_chain(l.vm));
    u64 time;
    assert_int_equal(cd_pstate_num_get(&s, &time, CD_PSTATE_TIME), CD_OK);
    assert_int_equal(time, now + 7 * DAY_S);
    assert_int_equal(cd_pstate_validator_get(&s, &t, CD_P_CURRENT, &primary, &node), CD_OK);
    assert_int_equal(t.start, now + 7 * DAY_S);
    assert_int_equal(supply_of(&l), supply + t.potential_reward);
    assert_true(t.potential_reward > 0);
    ledger_fini(&l);
}

/* --- L1s --- */

/* A net of a key, made an L1 with one validator that can pay for so many seconds. */
static cd_hash32 an_l1(ledger *l, u32 key, u64 seconds)
{
    cd_hash32 net_id;
    cd_hash32 id;
    cd_errinfo why = {0};
    assert_int_equal(ledger_issue(l, &net_id, net(l, key), &why), CD_OK);
    assert_true(ledger_step(l, false));
    cd_p_convert_net_to_l1 *t = cd_arena_new(&l->arena, cd_p_convert_net_to_l1);
    cd_p_l1_validator *v = cd_arena_new(&l->arena, cd_p_l1_validator);
    cd_auth_input *auth = cd_arena_new(&l->arena, cd_auth_input);
    u8 *node = cd_arena_alloc(&l->arena, 20);
    memset(node, 7, 20);
    assert_true(ledger_fund(l, &t->base, seconds, key));
    auth->sig_indices = (cd_linear_list){.v = cd_arena_new(&l->arena, u32), .cnt = 1};
    const cd_p_l1_owner owner = {.threshold = 1, .addrs = {.v = &l->addrs[key], .cnt = 1}};
    v->node_id = cd_bytes_of(node, 20);
    v->weight = 5;
    v->balance = seconds; /* at a price of 1 */
    v->signer = l->pop;
    v->remaining_balance_owner = owner;
    v->deactivation_owner = owner;
    t->net_id = net_id;
    t->validators = (cd_linear_list){.v = v, .cnt = 1};
    t->net_auth = cd_p_part(CD_P_AUTH, auth);
    ledger_wait(l, 1);
    if (ledger_issue(l, &id, ledger_sign(l, CD_P_CONVERT_NET_TO_L1, t, key, true), &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_true(ledger_step(l, false));
    return net_id;
}

/* Its money ends between two blocks: there is one at that second, and it does not validate from then on. */
static void an_l1_validator_pays_by_the_second(void **state)
{
    ledger l;
    cd_p_l1 first;
    cd_hash32 id;
    u64 time;
    (void)state;
    ledger_init(&l);
    cd_hash32 net_id = an_l1(&l, 3, 100);
    cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(l.vm));
    assert_int_equal(cd_pstate_l1_first(&s, &first, &l.arena), CD_OK);
    u64 accrued;
    assert_int_equal(cd_pstate_num_get(&s, &accrued, CD_PSTATE_ACCRUED_FEES), CD_OK);
    assert_int_equal(first.end_fee, accrued + 100);
    u64 start = first.start;
    ledger_wait(&l, 5000);
    assert_true(ledger_step(&l, false));
    s = cd_pchain_accepted(cd_platform_vm_chain(l.vm));
    assert_int_equal(cd_pstate_num_get(&s, &time, CD_PSTATE_TIME), CD_OK);
    assert_int_equal(time, start + 100);
    assert_int_equal(cd_pstate_l1_first(&s, &first, &l.arena), CD_ENOENT);
    /* It is still known, and money makes it active again. */
    cd_errinfo why = {0};
    cd_p_increase_l1_balance *t = cd_arena_new(&l.arena, cd_p_increase_l1_balance);
    assert_true(ledger_fund(&l, &t->base, 50, 3));
    cd_p_validation_id(&t->validation_id, &net_id, 0);
    t->balance = 50;
    assert_int_equal(ledger_issue(&l, &id, ledger_sign(&l, CD_P_INCREASE_L1_BALANCE, t, 3, false), &why), CD_OK);
    assert_true(ledger_step(&l, false));
    s = cd_pchain_accepted(cd_platform_vm_chain(l.vm));
    assert_int_equal(cd_pstate_l1_first(&s, &first, &l.arena), CD_OK);
    assert_int_equal(cd_pstate_num_get(&s, &accrued, CD_PSTATE_ACCRUED_FEES), CD_OK);
    assert_int_equal(first.end_fee, accrued + 50);
    ledger_fini(&l);
}

/* --- locks --- */

/* Money that is locked for staking goes out as locked as it came in, and cannot be anybody else's. */
static void locked_money_stays_locked(void **state)
{
    ledger l;
    cd_hash32 id;
    cd_errinfo why = {0};
    (void)state;
    ledger_init(&l);
    u64 until = cd_clock_wall_s(&l.clock.clock) + 1000;
    cd_p_base *b = cd_arena_new(&l.arena, cd_p_base);
    cd_locked *lock = cd_arena_new(&l.arena, cd_locked);
    assert_true(ledger_fund(&l, b, 0, 0));
    b->outs = ledger_outs(&l, 999998 * LEDGER_TOKEN, 0);
    cd_p_output *out = b->outs.v;
    *lock = (cd_locked){.locktime = until, .inner = out->out};
    out->out = cd_p_part(CD_P_LOCK_OUT, lock);
    assert_int_equal(ledger_issue(&l, &id, ledger_sign(&l, CD_P_BASE_TX, b, 0, false), &why), CD_OK);
    assert_true(ledger_step(&l, false));
    /* Spent as if it were free; with another time; to somebody else; then as it should be, with a free coin for the
     * fee. */
    for (int way = 0; way < 4; way++) {
        static const char *const words[] = {"locked funds not marked as locked",
                                            "input locktime does not match UTXO locktime", "insufficient locked funds",
                                            ""};
        cd_p_base *t = cd_arena_new(&l.arena, cd_p_base);
        cd_transfer_input *in = cd_arena_new(&l.arena, cd_transfer_input);
        cd_locked *in_lock = cd_arena_new(&l.arena, cd_locked);
        cd_locked *out_lock = cd_arena_new(&l.arena, cd_locked);
        cd_p_output *o = cd_arena_array(&l.arena, cd_p_output, 2);
        assert_true(ledger_fund(&l, t, 0, 0));
        cd_p_input *ins = cd_arena_array(&l.arena, cd_p_input, t->ins.cnt + 1);
        memcpy(ins, t->ins.v, t->ins.cnt * sizeof *ins);
        in->amount = 999998 * LEDGER_TOKEN;
        in->sig_indices = (cd_linear_list){.v = cd_arena_new(&l.arena, u32), .cnt = 1};
        *in_lock = (cd_locked){.locktime = until + (way == 1), .inner = cd_p_part(CD_P_TRANSFER_INPUT, in)};
        ins[t->ins.cnt] = (cd_p_input){
            .tx_id = id, .asset_id = l.asset, .in = way == 0 ? in_lock->inner : cd_p_part(CD_P_LOCK_IN, in_lock)};
        t->ins = (cd_linear_list){.v = ins, .cnt = t->ins.cnt + 1};
        qsort(t->ins.v, t->ins.cnt, sizeof *ins, ledger_input_cmp);
        *out_lock = (cd_locked){.locktime = until, .inner = ledger_out(&l, in->amount, way == 2 ? 1 : 0)};
        o[0] = *(cd_p_output *)t->outs.v;
        o[1] = (cd_p_output){.asset_id = l.asset, .out = cd_p_part(CD_P_LOCK_OUT, out_lock)};
        if (way == 2) {
            o[0] = o[1]; /* the free money is kept as a fee */
        }
        t->outs = (cd_linear_list){.v = o, .cnt = way == 2 ? 1 : 2};
        if (way == 2) {
            *out_lock = (cd_locked){.locktime = until, .inner = ledger_out(&l, 2 * in->amount, 1)};
        }
        cd_hash32 spent;
        cd_err e = ledger_issue(&l, &spent, ledger_sign(&l, CD_P_BASE_TX, t, 0, false), &why);
        if (way == 3) {
            assert_int_equal(e, CD_OK);
        } else {
            assert_int_not_equal(e, CD_OK);
            assert_non_null(strstr(why.msg, words[way]));
        }
    }
    ledger_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(money_is_conserved),
        cmocka_unit_test(two_hundred_years_of_staking),
        cmocka_unit_test(a_legacy_staker_waits_for_its_start),
        cmocka_unit_test(an_l1_validator_pays_by_the_second),
        cmocka_unit_test(locked_money_stays_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
