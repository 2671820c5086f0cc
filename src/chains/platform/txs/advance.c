#include "chains/platform/txs/advance.h"

#include "chains/platform/state/l1.h"
#include "chains/platform/state/stakers.h"
#include "chains/platform/txs/exec_priv.h"

/* --- when --- */

static cd_err l1_state_of(cd_l1_fee_state *out, const cd_pstate *s)
{
    CD_TRY(cd_pstate_num_get(s, &out->current, CD_PSTATE_ACTIVE_L1));
    return cd_pstate_num_get(s, &out->excess, CD_PSTATE_L1_EXCESS);
}

/* When the money of the poorest L1 validator ends, at most *at. */
static cd_err next_eviction(u64 *at, const cd_pstate *s, const cd_p_rules *rules)
{
    cd_arena a = {0};
    cd_p_l1 first;
    cd_l1_fee_state fee;
    u64 accrued;
    u64 time;
    cd_err e = cd_pstate_l1_first(s, &first, &a);
    cd_arena_fini(&a);
    if (e != CD_OK) {
        return e == CD_ENOENT ? CD_OK : e;
    }
    CD_TRY(l1_state_of(&fee, s));
    CD_TRY(cd_pstate_num_get(s, &accrued, CD_PSTATE_ACCRUED_FEES));
    CD_TRY(cd_pstate_num_get(s, &time, CD_PSTATE_TIME));
    if (first.end_fee < accrued) {
        return CD_ECORRUPT;
    }
    if (*at > time) {
        u64 seconds = cd_l1_fee_seconds(fee, &rules->l1, *at - time, first.end_fee - accrued);
        *at = time + seconds;
    }
    return CD_OK;
}

cd_err cd_p_next_change(u64 *out, const cd_pstate *s, const cd_p_rules *rules, u64 cap)
{
    static const cd_p_set sets[] = {CD_P_CURRENT, CD_P_PENDING};
    u64 at = cap;
    for (usize i = 0; i < CD_COUNT(sets); i++) {
        cd_p_staker first;
        cd_err e = cd_pstate_staker_first(s, &first, sets[i]);
        if (e == CD_OK && first.next_time < at) {
            at = first.next_time;
        }
        CD_TRY(e == CD_ENOENT ? CD_OK : e);
    }
    CD_TRY(next_eviction(&at, s, rules));
    *out = at;
    return CD_OK;
}

cd_err cd_p_next_time(u64 *out, bool *is_capped, const cd_pstate *s, const cd_p_rules *rules, u64 now)
{
    u64 time;
    u64 change;
    CD_TRY(cd_pstate_num_get(s, &time, CD_PSTATE_TIME));
    time = time > now ? time : now;
    CD_TRY(cd_p_next_change(&change, s, rules, time + 1));
    *is_capped = time >= change;
    *out = *is_capped ? change : time;
    return CD_OK;
}

cd_err cd_p_time_ok(const cd_pstate *s, const cd_p_rules *rules, u64 time, u64 now, cd_errinfo *why)
{
    u64 before;
    u64 change;
    CD_TRY(cd_pstate_num_get(s, &before, CD_PSTATE_TIME));
    if (time < before) {
        return cd_fail(why, CD_EINVAL,
                       "proposed timestamp before current chain time: proposed timestamp (%s), chain time (%s)",
                       cd_text_time(time).s, cd_text_time(before).s);
    }
    if (time > now + CD_P_SYNC_BOUND_S) {
        return cd_fail(why, CD_EINVAL,
                       "proposed timestamp is too far in the future relative to local time, proposed time (%s), local "
                       "time (%s)",
                       cd_text_time(time).s, cd_text_time(now).s);
    }
    CD_TRY(cd_p_next_change(&change, s, rules, time));
    if (time > change) {
        return cd_fail(why, CD_EINVAL,
                       "proposed timestamp later than next staker change time, proposed timestamp (%s), next staker "
                       "change time (%s)",
                       cd_text_time(time).s, cd_text_time(change).s);
    }
    return CD_OK;
}

/* --- what --- */

static cd_p_priority current_of(cd_p_priority pending)
{
    switch (pending) {
    case CD_P_PENDING_DELEGATOR_APRICOT:
    case CD_P_PENDING_DELEGATOR:
        return CD_P_CURRENT_DELEGATOR;
    case CD_P_PENDING_VALIDATOR:
        return CD_P_CURRENT_VALIDATOR;
    case CD_P_PENDING_NET_VALIDATOR:
        return CD_P_CURRENT_NET_VALIDATOR;
    case CD_P_PENDING_NET_DELEGATOR:
        return CD_P_CURRENT_NET_DELEGATOR;
    case CD_P_PENDING_PERMISSIONED:
        return CD_P_CURRENT_PERMISSIONED;
    case CD_P_CURRENT_PERMISSIONED:
    case CD_P_CURRENT_NET_DELEGATOR:
    case CD_P_CURRENT_NET_VALIDATOR:
    case CD_P_CURRENT_DELEGATOR:
    case CD_P_CURRENT_VALIDATOR:
        break;
    }
    CD_UNREACHABLE();
}

/* All whose time has come, in their order. */
static cd_err due(cd_p_staker **out, usize *cnt, cd_arena *a, const cd_pstate *s, cd_p_set set, u64 time)
{
    cd_p_staker_iter it;
    cd_p_staker one;
    usize n = 0;
    usize cap = 0;
    cd_p_staker *all = NULL;
    CD_TRY(cd_pstate_stakers(s, &it, set));
    while (cd_p_staker_next(&it, &one) && one.next_time <= time &&
           (set == CD_P_PENDING || one.priority == CD_P_CURRENT_PERMISSIONED)) {
        if (n == cap) {
            cap = cap == 0 ? 8 : 2 * cap;
            cd_p_staker *more = cd_arena_array(a, cd_p_staker, cap);
            if (n != 0) {
                memcpy(more, all, n * sizeof *all);
            }
            all = more;
        }
        all[n++] = one;
    }
    cd_err e = it.err;
    cd_p_staker_iter_fini(&it);
    *out = all;
    *cnt = n;
    return e;
}

static cd_err promote(const cd_pstate *s, const cd_p_staker *pending, const cd_p_staker *current)
{
    CD_TRY(cd_pstate_staker_del(s, pending));
    return cd_pstate_staker_put(s, current);
}

/* Rewards are fixed in the order of the stakers; validators then come before the delegators that name them. */
static cd_err promote_all(bool *changed, cd_arena *a, const cd_pstate *s, const cd_p_rules *rules, u64 time)
{
    cd_p_staker *all;
    usize cnt;
    CD_TRY(due(&all, &cnt, a, s, CD_P_PENDING, time));
    cd_p_staker *now = cd_arena_array(a, cd_p_staker, cnt);
    for (usize i = 0; i < cnt; i++) {
        now[i] = all[i];
        now[i].priority = current_of(all[i].priority);
        now[i].next_time = all[i].end;
        if (all[i].priority != CD_P_PENDING_PERMISSIONED) {
            CD_TRY(cd__staker_reward(s, rules, &now[i]));
        }
    }
    for (int delegates = 0; delegates < 2; delegates++) {
        for (usize i = 0; i < cnt; i++) {
            if (cd_p_priority_delegates(all[i].priority) == (delegates == 1)) {
                CD_TRY(promote(s, &all[i], &now[i]));
            }
        }
    }
    *changed = *changed || cnt != 0;
    return CD_OK;
}

static cd_err remove_permissioned(bool *changed, cd_arena *a, const cd_pstate *s, u64 time)
{
    cd_p_staker *all;
    usize cnt;
    CD_TRY(due(&all, &cnt, a, s, CD_P_CURRENT, time));
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_pstate_staker_del(s, &all[i]));
    }
    *changed = *changed || cnt != 0;
    return CD_OK;
}

/* Ends all active L1 validators whose money ends at or before a sum of fees. */
static cd_err evict_to(bool *changed, cd_arena *a, const cd_pstate *s, u64 end_fee)
{
    for (;;) {
        cd_p_l1 first;
        cd_err e = cd_pstate_l1_first(s, &first, a);
        if (e == CD_ENOENT || (e == CD_OK && first.end_fee > end_fee)) {
            return CD_OK;
        }
        CD_TRY(e);
        first.end_fee = 0;
        CD_TRY(cd_pstate_l1_put(s, &first));
        *changed = true;
    }
}

static cd_err pay_l1s(bool *changed, cd_arena *a, const cd_pstate *s, const cd_p_rules *rules, u64 seconds)
{
    cd_l1_fee_state fee;
    u64 accrued;
    CD_TRY(l1_state_of(&fee, s));
    CD_TRY(cd_pstate_num_get(s, &accrued, CD_PSTATE_ACCRUED_FEES));
    if (!cd_add_u64(&accrued, accrued, cd_l1_fee_cost(fee, &rules->l1, seconds))) {
        return CD_ERANGE;
    }
    CD_TRY(evict_to(changed, a, s, accrued));
    CD_TRY(cd_pstate_num_set(s, CD_PSTATE_L1_EXCESS, cd_l1_fee_advance(fee, rules->l1.target, seconds).excess));
    return cd_pstate_num_set(s, CD_PSTATE_ACCRUED_FEES, accrued);
}

static cd_err recover_gas(const cd_pstate *s, const cd_p_rules *rules, u64 seconds)
{
    cd_p_gas_state gas;
    CD_TRY(cd_pstate_num_get(s, &gas.capacity, CD_PSTATE_FEE_CAPACITY));
    CD_TRY(cd_pstate_num_get(s, &gas.excess, CD_PSTATE_FEE_EXCESS));
    gas = cd_gas_advance(gas, &rules->gas, seconds);
    CD_TRY(cd_pstate_num_set(s, CD_PSTATE_FEE_CAPACITY, gas.capacity));
    return cd_pstate_num_set(s, CD_PSTATE_FEE_EXCESS, gas.excess);
}

static cd_err advance(bool *changed, cd_arena *a, const cd_pstate *s, const cd_p_rules *rules, u64 time)
{
    u64 before;
    CD_TRY(cd_pstate_num_get(s, &before, CD_PSTATE_TIME));
    CD_TRY(promote_all(changed, a, s, rules, time));
    CD_TRY(remove_permissioned(changed, a, s, time));
    if (time == before) {
        return CD_OK;
    }
    CD_TRY(cd_pstate_expiry_drop(s, time));
    CD_TRY(recover_gas(s, rules, time - before));
    CD_TRY(pay_l1s(changed, a, s, rules, time - before));
    return cd_pstate_num_set(s, CD_PSTATE_TIME, time);
}

cd_err cd_p_advance(bool *changed, const cd_pstate *s, const cd_p_rules *rules, u64 time)
{
    cd_arena a = {0};
    *changed = false;
    cd_err e = advance(changed, &a, s, rules, time);
    cd_arena_fini(&a);
    return e;
}

cd_err cd_p_evict(bool *changed, const cd_pstate *s, const cd_p_rules *rules)
{
    cd_arena a = {0};
    cd_l1_fee_state fee;
    u64 next;
    *changed = false;
    CD_TRY(l1_state_of(&fee, s));
    CD_TRY(cd_pstate_num_get(s, &next, CD_PSTATE_ACCRUED_FEES));
    if (!cd_add_u64(&next, next, cd_l1_fee_cost(fee, &rules->l1, 1))) {
        return CD_ERANGE;
    }
    /* Who has exactly what the next second costs stays. */
    cd_err e = next == 0 ? CD_OK : evict_to(changed, &a, s, next - 1);
    cd_arena_fini(&a);
    return e;
}
