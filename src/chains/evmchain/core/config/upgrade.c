#include "chains/evmchain/core/config/upgrade.h"

#include "chains/evmchain/core/config/compat.h"

#include <stdio.h>
#include <stdlib.h>

static int by_addr(const void *x, const void *y)
{
    return memcmp(((const cd_upgrade_account *)x)->addr.b, ((const cd_upgrade_account *)y)->addr.b, 20);
}

static cd_err parse_account(cd_upgrade_account *out, cd_arena *a, cd_bytes key, cd_json v, cd_errinfo *why)
{
    cd_json change = cd_json_get(v, "balanceChange");
    cd_json code = cd_json_get(v, "code");
    CD_TRY(cd_json_obj(v, why));
    if (cd_genesis_addr_parse(&out->addr, key) != CD_OK) {
        return cd_json_fail(v, CD_EFORMAT, "key is not an address", why);
    }
    if (cd_json_has(change)) {
        CD_TRY(cd_json_u256(&out->balance_change, change, why));
    }
    if (cd_json_has(code)) {
        CD_TRY(cd_json_hex(&out->code, a, code, why));
    }
    return cd_genesis_storage_parse(&out->slots, &out->slot_cnt, a, cd_json_get(v, "storage"), why);
}

static cd_err parse_accounts(cd_state_upgrade *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    usize cnt = 0;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_obj(v, why));
    cd_upgrade_account *accounts = cd_arena_array(a, cd_upgrade_account, cd_json_len(v));
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        CD_TRY(parse_account(&accounts[cnt++], a, it.key, it.val, why));
    }
    if (cnt > 1) {
        qsort(accounts, cnt, sizeof *accounts, by_addr);
    }
    out->accounts = accounts;
    out->account_cnt = cnt;
    return CD_OK;
}

/* idx of the list; before: the time of the one before it. */
static cd_err parse_state(cd_state_upgrade *out, cd_arena *a, cd_json v, usize idx, u64 before, cd_errinfo *why)
{
    cd_json time = cd_json_get(v, "blockTimestamp");
    CD_TRY(cd_json_obj(v, why));
    if (!cd_json_has(time)) {
        return cd_fail(why, CD_EINVAL, "StateUpgrade[%zu]: config block timestamp cannot be nil ", idx);
    }
    CD_TRY(cd_json_u64(&out->time, time, why));
    if (out->time == 0) {
        return cd_fail(why, CD_EINVAL, "StateUpgrade[%zu]: config block timestamp (0) must be greater than 0", idx);
    }
    if (idx != 0 && out->time <= before) {
        return cd_fail(why, CD_EINVAL, "StateUpgrade[%zu]: config block timestamp (%llu) <= previous timestamp (%llu)",
                       idx, (unsigned long long)out->time, (unsigned long long)before);
    }
    return parse_accounts(out, a, cd_json_get(v, "accounts"), why);
}

static cd_err parse_states(cd_upgrades *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    usize cnt = 0;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_arr(v, why));
    cd_state_upgrade *states = cd_arena_array(a, cd_state_upgrade, cd_json_len(v));
    cd_json_it it = cd_json_iter(v);
    for (; cd_json_next(&it); cnt++) {
        u64 before = cnt == 0 ? 0 : states[cnt - 1].time;
        CD_TRY(parse_state(&states[cnt], a, it.val, cnt, before, why));
    }
    out->states = states;
    out->state_cnt = cnt;
    return CD_OK;
}

cd_err cd_upgrades_parse(cd_upgrades *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_upgrades u = {0};
    cd_json doc;
    if (text.n != 0) {
        CD_TRY(cd_json_parse(&doc, a, text, 0, why));
        CD_TRY(cd_json_obj(doc, why));
        cd_json overrides = cd_json_get(doc, "networkUpgradeOverrides");
        if (cd_json_has(overrides)) {
            CD_TRY(cd_chain_config_parse(&u.overrides, overrides, why));
        }
        u.precompiles = cd_json_get(doc, "precompileUpgrades");
        CD_TRY(parse_states(&u, a, cd_json_get(doc, "stateUpgrades"), why));
    }
    *out = u;
    return CD_OK;
}

static void override(cd_when *to, const cd_when *from)
{
    if (from->is_set) {
        *to = *from;
    }
}

void cd_upgrades_override(const cd_upgrades *u, cd_chain_config *config)
{
    override(&config->subnet_evm, &u->overrides.subnet_evm);
    override(&config->durango, &u->overrides.durango);
    override(&config->etna, &u->overrides.etna);
    override(&config->fortuna, &u->overrides.fortuna);
    override(&config->granite, &u->overrides.granite);
    override(&config->fee_split, &u->overrides.fee_split);
}

/* --- applying --- */

static void apply_account(const cd_upgrade_account *u, cd_state *st)
{
    cd_acct *a = cd_state_acct(st, &u->addr);
    cd_state_touch(st, a, false);
    cd_state_add_balance(st, a, &u->balance_change);
    if (u->code.n != 0) {
        if (a->nonce == 0) {
            cd_state_set_nonce(st, a, 1);
        }
        cd_state_set_code(st, a, u->code);
    }
    for (usize i = 0; i < u->slot_cnt; i++) {
        cd_u256 key;
        cd_u256 value;
        cd_u256_load_be(&key, u->slots[i].key.b);
        cd_u256_load_be(&value, u->slots[i].value.b);
        cd_state_set_slot(st, cd_state_slot(st, a, &key), &value);
    }
}

static bool is_due(const cd_state_upgrade *s, const u64 *parent_time, u64 time)
{
    return s->time <= time && (parent_time == NULL || s->time > *parent_time);
}

void cd_state_upgrades_apply(const cd_upgrades *u, cd_state *st, const u64 *parent_time, u64 time)
{
    for (usize i = 0; i < u->state_cnt; i++) {
        if (!is_due(&u->states[i], parent_time, time)) {
            continue;
        }
        cd_state_begin_tx(st);
        for (usize j = 0; j < u->states[i].account_cnt; j++) {
            apply_account(&u->states[i].accounts[j], st);
        }
        cd_state_end_tx(st, true);
    }
}

/* --- going on with another file --- */

static bool slots_eq(const cd_upgrade_account *a, const cd_upgrade_account *b)
{
    return a->slot_cnt == b->slot_cnt &&
           (a->slot_cnt == 0 || memcmp(a->slots, b->slots, a->slot_cnt * sizeof *a->slots) == 0);
}

static bool upgrade_eq(const cd_state_upgrade *a, const cd_state_upgrade *b)
{
    bool same = a->time == b->time && a->account_cnt == b->account_cnt;
    for (usize i = 0; same && i < a->account_cnt; i++) {
        const cd_upgrade_account *x = &a->accounts[i];
        const cd_upgrade_account *y = &b->accounts[i];
        same = cd_addr20_eq(&x->addr, &y->addr) && cd_u256_eq(&x->balance_change, &y->balance_change) &&
               cd_bytes_eq(x->code, y->code) && slots_eq(x, y);
    }
    return same;
}

/* The upgrade of that place if it has come by time. */
static const cd_state_upgrade *come(const cd_upgrades *u, usize idx, u64 time)
{
    return idx < u->state_cnt && u->states[idx].time <= time ? &u->states[idx] : NULL;
}

cd_err cd_state_upgrades_compatible(const cd_upgrades *old, const cd_upgrades *now, u64 time, cd_errinfo *why)
{
    for (usize i = 0;; i++) {
        const cd_state_upgrade *was = come(old, i, time);
        const cd_state_upgrade *is = come(now, i, time);
        if (was == NULL && is == NULL) {
            return CD_OK;
        }
        if (was == NULL || is == NULL || !upgrade_eq(was, is)) {
            char what[64];
            (void)snprintf(what, sizeof what, "%sStateUpgrade[%zu]",
                           is == NULL    ? "missing "
                           : was == NULL ? "cannot retroactively enable "
                                         : "",
                           i);
            cd_when have = {.is_set = was != NULL, .at = was == NULL ? 0 : was->time};
            cd_when want = {.is_set = is != NULL, .at = is == NULL ? 0 : is->time};
            return cd_compat_fail(what, &have, &want, why);
        }
    }
}
