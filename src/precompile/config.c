/* Configurations: from JSON and back, and what they must satisfy. */
#include "base/hex.h"
#include "num/u256_text.h"
#include "precompile/module.h"
#include "types/addr_text.h"

#include <stdlib.h>

/* --- parsing --- */

static cd_err parse_addr(cd_addr20 *out, cd_json v, cd_errinfo *why)
{
    return cd_json_fixed(out->b, sizeof out->b, v, why);
}

static cd_err parse_addrs(cd_addr_list *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_arr(v, why));
    cd_addr20 *items = cd_arena_array(a, cd_addr20, cd_json_len(v));
    usize cnt = 0;
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        CD_TRY(parse_addr(&items[cnt++], it.val, why));
    }
    *out = (cd_addr_list){.items = items, .cnt = cnt};
    return CD_OK;
}

static cd_err parse_flag(bool *out, cd_json v, cd_errinfo *why)
{
    return cd_json_has(v) ? cd_json_bool(out, v, why) : CD_OK;
}

static int mint_cmp(const void *a, const void *b)
{
    const cd_mint *x = a;
    const cd_mint *y = b;
    return memcmp(x->addr.b, y->addr.b, sizeof x->addr.b);
}

static cd_err parse_mints(cd_module_config *c, cd_arena *a, cd_json v, cd_errinfo *why)
{
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_obj(v, why));
    cd_mint *items = cd_arena_array(a, cd_mint, cd_json_len(v));
    usize cnt = 0;
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        cd_mint *m = &items[cnt++];
        bool prefixed = it.key.n == 42 && it.key.p[0] == '0' && (it.key.p[1] | 0x20) == 'x';
        if (!prefixed || cd_hex_parse(m->addr.b, cd_bytes_sub(it.key, 2, 40)) != CD_OK) {
            return cd_json_fail(it.val, CD_EFORMAT, "key is not an address", why);
        }
        m->is_null = cd_json_kind_of(it.val) == CD_JSON_NULL;
        if (!m->is_null) {
            CD_TRY(cd_json_u256(&m->amount, it.val, why));
        }
    }
    if (cnt != 0) {
        qsort(items, cnt, sizeof *items, mint_cmp);
    }
    c->own.minter.items = items;
    c->own.minter.cnt = cnt;
    return CD_OK;
}

static cd_err parse_reward(cd_module_config *c, cd_json v, cd_errinfo *why)
{
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_obj(v, why));
    c->own.reward.has_initial = true;
    CD_TRY(parse_flag(&c->own.reward.allow_fee_recipients, cd_json_get(v, "allowFeeRecipients"), why));
    cd_json addr = cd_json_get(v, "rewardAddress");
    return cd_json_has(addr) ? parse_addr(&c->own.reward.address, addr, why) : CD_OK;
}

/* A module's fee configuration must have all numbers: what is missing is not taken from the chain's. */
static cd_err parse_fee(cd_module_config *c, cd_json v, cd_errinfo *why)
{
    static const char *const numbers[] = {
        "gasLimit",        "minBaseFee",      "targetGas",        "baseFeeChangeDenominator",
        "minBlockGasCost", "maxBlockGasCost", "blockGasCostStep",
    };
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    for (usize i = 0; i < CD_COUNT(numbers); i++) {
        if (!cd_json_has(cd_json_get(v, numbers[i]))) {
            return cd_fail(why, CD_EINVAL, "%s cannot be nil", numbers[i]);
        }
    }
    c->own.fee.has_initial = true;
    return cd_fee_config_parse(&c->own.fee.initial, v, why);
}

static cd_err parse_own(cd_module_config *c, cd_arena *a, cd_json v, cd_errinfo *why)
{
    switch (c->module) {
    case CD_MODULE_DEPLOYER:
    case CD_MODULE_TX_ALLOW:
        return CD_OK;
    case CD_MODULE_MINTER:
        return parse_mints(c, a, cd_json_get(v, "initialMint"), why);
    case CD_MODULE_FEE:
        return parse_fee(c, cd_json_get(v, "initialFeeConfig"), why);
    case CD_MODULE_REWARD:
        return parse_reward(c, cd_json_get(v, "initialRewardConfig"), why);
    case CD_MODULE_WARP: {
        cd_json quorum = cd_json_get(v, "quorumNumerator");
        if (cd_json_has(quorum)) {
            CD_TRY(cd_json_u64(&c->own.warp.quorum, quorum, why));
        }
        return parse_flag(&c->own.warp.require_primary_signers, cd_json_get(v, "requirePrimaryNetworkSigners"), why);
    }
    case CD_MODULE_COUNT:
        break;
    }
    CD_UNREACHABLE();
}

cd_err cd_module_config_parse(cd_module_config *out, cd_arena *a, cd_module_id module, cd_json v, cd_errinfo *why)
{
    cd_module_config c = {.module = module};
    CD_TRY(cd_json_obj(v, why));
    cd_json at = cd_json_get(v, "blockTimestamp");
    if (cd_json_has(at)) {
        CD_TRY(cd_json_u64(&c.at.at, at, why));
        c.at.is_set = true;
    }
    CD_TRY(parse_flag(&c.disable, cd_json_get(v, "disable"), why));
    if (cd_module_get(module)->has_roles) {
        CD_TRY(parse_addrs(&c.admins, a, cd_json_get(v, "adminAddresses"), why));
        CD_TRY(parse_addrs(&c.managers, a, cd_json_get(v, "managerAddresses"), why));
        CD_TRY(parse_addrs(&c.enabled, a, cd_json_get(v, "enabledAddresses"), why));
    }
    CD_TRY(parse_own(&c, a, v, why));
    *out = c;
    return CD_OK;
}

/* --- verification --- */

static bool in_list(const cd_addr_list *l, usize cnt, const cd_addr20 *addr)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_addr20_eq(&l->items[i], addr)) {
            return true;
        }
    }
    return false;
}

static cd_err complain(cd_errinfo *why, const char *what, const cd_addr20 *addr)
{
    char text[CD_ADDR_TEXT_SIZE];
    return cd_fail(why, CD_EINVAL, "%s %s", what, cd_addr_fmt(text, addr));
}

static cd_err verify_enabled(const cd_module_config *c, cd_errinfo *why)
{
    for (usize i = 0; i < c->enabled.cnt; i++) {
        if (in_list(&c->enabled, i, &c->enabled.items[i])) {
            return complain(why, "duplicate address in enabled list:", &c->enabled.items[i]);
        }
    }
    return CD_OK;
}

static cd_err verify_admins(const cd_module_config *c, cd_errinfo *why)
{
    for (usize i = 0; i < c->admins.cnt; i++) {
        const cd_addr20 *a = &c->admins.items[i];
        if (in_list(&c->admins, i, a)) {
            return complain(why, "duplicate address in admin list:", a);
        }
        if (in_list(&c->enabled, c->enabled.cnt, a)) {
            return complain(why, "cannot set address as both admin and enabled:", a);
        }
    }
    return CD_OK;
}

static bool holds_at(const cd_when *since, const cd_when *at)
{
    return since->is_set && since->at <= at->at;
}

static cd_err verify_managers(const cd_module_config *c, const cd_module_limits *limits, cd_errinfo *why)
{
    if (c->managers.cnt != 0 && c->at.is_set && !holds_at(&limits->durango, &c->at)) {
        return cd_fail(why, CD_EINVAL, "cannot add managers before Durango");
    }
    for (usize i = 0; i < c->managers.cnt; i++) {
        const cd_addr20 *a = &c->managers.items[i];
        if (in_list(&c->managers, i, a)) {
            return complain(why, "duplicate address in manager list:", a);
        }
        if (in_list(&c->admins, c->admins.cnt, a)) {
            return complain(why, "cannot set address as both admin and manager:", a);
        }
        if (in_list(&c->enabled, c->enabled.cnt, a)) {
            return complain(why, "cannot set address as both enabled and manager:", a);
        }
    }
    return CD_OK;
}

static cd_err verify_mints(const cd_module_config *c, cd_errinfo *why)
{
    for (usize i = 0; i < c->own.minter.cnt; i++) {
        const cd_mint *m = &c->own.minter.items[i];
        if (m->is_null) {
            return complain(why, "initial mint cannot contain nil amount for address", &m->addr);
        }
        if (cd_u256_is_zero(&m->amount)) {
            return complain(why, "initial mint cannot contain invalid amount 0 for address", &m->addr);
        }
    }
    return CD_OK;
}

static cd_err verify_warp(const cd_module_config *c, const cd_module_limits *limits, cd_errinfo *why)
{
    u64 quorum = c->own.warp.quorum;
    if (c->at.is_set && !holds_at(&limits->durango, &c->at)) {
        return cd_fail(why, CD_EINVAL, "warp cannot be activated before Durango");
    }
    if (quorum > CD_WARP_QUORUM_DEN) {
        return cd_fail(why, CD_EINVAL, "cannot specify quorum numerator (%llu) > quorum denominator (%d)",
                       (unsigned long long)quorum, CD_WARP_QUORUM_DEN);
    }
    if (quorum != 0 && quorum < limits->warp_quorum_min) {
        return cd_fail(why, CD_EINVAL, "cannot specify quorum numerator (%llu) < min quorum numerator (%llu)",
                       (unsigned long long)quorum, (unsigned long long)limits->warp_quorum_min);
    }
    return CD_OK;
}

static cd_err verify_own(const cd_module_config *c, const cd_module_limits *limits, cd_errinfo *why)
{
    switch (c->module) {
    case CD_MODULE_DEPLOYER:
    case CD_MODULE_TX_ALLOW:
        return CD_OK;
    case CD_MODULE_MINTER:
        return verify_mints(c, why);
    case CD_MODULE_FEE:
        return c->own.fee.has_initial ? cd_fee_config_check(&c->own.fee.initial, why) : CD_OK;
    case CD_MODULE_REWARD:
        return c->own.reward.allow_fee_recipients && !cd_addr20_is_zero(&c->own.reward.address)
                   ? cd_fail(why, CD_EINVAL, "cannot enable both fee recipients and reward address at the same time")
                   : CD_OK;
    case CD_MODULE_WARP:
        return verify_warp(c, limits, why);
    case CD_MODULE_COUNT:
        break;
    }
    CD_UNREACHABLE();
}

cd_err cd_module_config_verify(const cd_module_config *c, const cd_module_limits *limits, cd_errinfo *why)
{
    CD_TRY(verify_own(c, limits, why));
    CD_TRY(verify_enabled(c, why));
    CD_TRY(verify_admins(c, why));
    return verify_managers(c, limits, why);
}

cd_err cd_fee_config_check(const cd_fee_config *f, cd_errinfo *why)
{
    const struct {
        const char *field;
        cd_u256 value;
    } positive[] = {
        {"gasLimit", f->gas_limit},
        {"targetBlockRate", cd_u256_from_u64(f->target_block_rate)},
        {"targetGas", f->target_gas},
        {"baseFeeChangeDenominator", f->base_fee_change_denominator},
    };
    for (usize i = 0; i < CD_COUNT(positive); i++) {
        if (cd_u256_is_zero(&positive[i].value)) {
            return cd_fail(why, CD_EINVAL, "%s = 0 cannot be less than or equal to 0", positive[i].field);
        }
    }
    char max[CD_U256_TEXT_MAX];
    (void)cd_u256_fmt_dec(max, &f->max_block_gas_cost);
    if (cd_u256_lt(&f->max_block_gas_cost, &f->min_block_gas_cost)) {
        char min[CD_U256_TEXT_MAX];
        (void)cd_u256_fmt_dec(min, &f->min_block_gas_cost);
        return cd_fail(why, CD_EINVAL, "minBlockGasCost = %s cannot be greater than maxBlockGasCost = %s", min, max);
    }
    if (!cd_u256_fits_u64(&f->max_block_gas_cost)) {
        return cd_fail(why, CD_EINVAL, "maxBlockGasCost = %s is not a valid uint64", max);
    }
    return CD_OK;
}

/* --- comparison --- */

static bool list_eq(const cd_addr_list *a, const cd_addr_list *b)
{
    return a->cnt == b->cnt && (a->cnt == 0 || memcmp(a->items, b->items, a->cnt * sizeof *a->items) == 0);
}

static bool mints_eq(const cd_module_config *a, const cd_module_config *b)
{
    if (a->own.minter.cnt != b->own.minter.cnt) {
        return false;
    }
    for (usize i = 0; i < a->own.minter.cnt; i++) {
        const cd_mint *x = &a->own.minter.items[i];
        const cd_mint *y = &b->own.minter.items[i];
        if (!cd_addr20_eq(&x->addr, &y->addr) || !cd_u256_eq(&x->amount, &y->amount) || x->is_null != y->is_null) {
            return false;
        }
    }
    return true;
}

static bool fee_eq(const cd_fee_config *a, const cd_fee_config *b)
{
    return cd_u256_eq(&a->gas_limit, &b->gas_limit) && a->target_block_rate == b->target_block_rate &&
           cd_u256_eq(&a->min_base_fee, &b->min_base_fee) && cd_u256_eq(&a->target_gas, &b->target_gas) &&
           cd_u256_eq(&a->base_fee_change_denominator, &b->base_fee_change_denominator) &&
           cd_u256_eq(&a->min_block_gas_cost, &b->min_block_gas_cost) &&
           cd_u256_eq(&a->max_block_gas_cost, &b->max_block_gas_cost) &&
           cd_u256_eq(&a->block_gas_cost_step, &b->block_gas_cost_step);
}

static bool own_eq(const cd_module_config *a, const cd_module_config *b)
{
    switch (a->module) {
    case CD_MODULE_DEPLOYER:
    case CD_MODULE_TX_ALLOW:
        return true;
    case CD_MODULE_MINTER:
        return mints_eq(a, b);
    case CD_MODULE_FEE:
        return a->own.fee.has_initial == b->own.fee.has_initial &&
               (!a->own.fee.has_initial || fee_eq(&a->own.fee.initial, &b->own.fee.initial));
    case CD_MODULE_REWARD:
        return a->own.reward.has_initial == b->own.reward.has_initial &&
               a->own.reward.allow_fee_recipients == b->own.reward.allow_fee_recipients &&
               cd_addr20_eq(&a->own.reward.address, &b->own.reward.address);
    case CD_MODULE_WARP:
        return a->own.warp.quorum == b->own.warp.quorum &&
               a->own.warp.require_primary_signers == b->own.warp.require_primary_signers;
    case CD_MODULE_COUNT:
        break;
    }
    CD_UNREACHABLE();
}

bool cd_module_config_eq(const cd_module_config *a, const cd_module_config *b)
{
    return a->module == b->module && a->at.is_set == b->at.is_set && a->at.at == b->at.at && a->disable == b->disable &&
           list_eq(&a->admins, &b->admins) && list_eq(&a->managers, &b->managers) &&
           list_eq(&a->enabled, &b->enabled) && own_eq(a, b);
}

/* --- writing --- */

static void put_addr(cd_json_w *w, const cd_addr20 *addr)
{
    cd_json_w_hex(w, cd_bytes_of(addr->b, sizeof addr->b));
}

static void put_addrs(cd_json_w *w, const char *key, const cd_addr_list *list)
{
    if (list->cnt == 0) {
        return;
    }
    cd_json_w_key(w, key);
    cd_json_w_arr(w);
    for (usize i = 0; i < list->cnt; i++) {
        put_addr(w, &list->items[i]);
    }
    cd_json_w_arr_end(w);
}

static void put_number(cd_json_w *w, const char *key, const cd_u256 *v)
{
    char text[CD_U256_TEXT_MAX];
    usize n = cd_u256_fmt_dec(text, v);
    cd_json_put_raw(w, key, cd_bytes_of(text, n));
}

void cd_fee_config_json(cd_json_w *w, const cd_fee_config *f)
{
    cd_json_w_obj(w);
    put_number(w, "gasLimit", &f->gas_limit);
    cd_json_put_u64(w, "targetBlockRate", f->target_block_rate);
    put_number(w, "minBaseFee", &f->min_base_fee);
    put_number(w, "targetGas", &f->target_gas);
    put_number(w, "baseFeeChangeDenominator", &f->base_fee_change_denominator);
    put_number(w, "minBlockGasCost", &f->min_block_gas_cost);
    put_number(w, "maxBlockGasCost", &f->max_block_gas_cost);
    put_number(w, "blockGasCostStep", &f->block_gas_cost_step);
    cd_json_w_obj_end(w);
}

static void put_mints(cd_json_w *w, const cd_module_config *c)
{
    if (c->own.minter.cnt == 0) {
        return;
    }
    cd_json_w_key(w, "initialMint");
    cd_json_w_obj(w);
    for (usize i = 0; i < c->own.minter.cnt; i++) {
        const cd_mint *m = &c->own.minter.items[i];
        char key[43] = "0x";
        cd_hex_fmt(key + 2, cd_bytes_of(m->addr.b, sizeof m->addr.b));
        cd_json_w_key_str(w, cd_bytes_of(key, 42));
        if (m->is_null) {
            cd_json_w_null(w);
        } else {
            cd_json_w_qty_u256(w, &m->amount);
        }
    }
    cd_json_w_obj_end(w);
}

static void put_own(cd_json_w *w, const cd_module_config *c)
{
    switch (c->module) {
    case CD_MODULE_DEPLOYER:
    case CD_MODULE_TX_ALLOW:
        return;
    case CD_MODULE_MINTER:
        put_mints(w, c);
        return;
    case CD_MODULE_FEE:
        if (c->own.fee.has_initial) {
            cd_json_w_key(w, "initialFeeConfig");
            cd_fee_config_json(w, &c->own.fee.initial);
        }
        return;
    case CD_MODULE_REWARD:
        if (c->own.reward.has_initial) {
            cd_json_w_key(w, "initialRewardConfig");
            cd_json_w_obj(w);
            cd_json_put_bool(w, "allowFeeRecipients", c->own.reward.allow_fee_recipients);
            cd_json_w_key(w, "rewardAddress");
            put_addr(w, &c->own.reward.address);
            cd_json_w_obj_end(w);
        }
        return;
    case CD_MODULE_WARP:
        cd_json_put_u64(w, "quorumNumerator", c->own.warp.quorum);
        cd_json_put_bool(w, "requirePrimaryNetworkSigners", c->own.warp.require_primary_signers);
        return;
    case CD_MODULE_COUNT:
        break;
    }
    CD_UNREACHABLE();
}

void cd_module_config_json(cd_json_w *w, const cd_module_config *c)
{
    cd_json_w_obj(w);
    put_addrs(w, "adminAddresses", &c->admins);
    put_addrs(w, "managerAddresses", &c->managers);
    put_addrs(w, "enabledAddresses", &c->enabled);
    cd_json_w_key(w, "blockTimestamp");
    if (c->at.is_set) {
        cd_json_w_u64(w, c->at.at);
    } else {
        cd_json_w_null(w);
    }
    if (c->disable) {
        cd_json_put_bool(w, "disable", true);
    }
    put_own(w, c);
    cd_json_w_obj_end(w);
}
