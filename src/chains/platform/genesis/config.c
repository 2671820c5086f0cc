#include "chains/platform/genesis/config.h"

#include "codec/json.h"

/* --- parts --- */

/* "X-local1…": the chain in front is not looked at, the network's prefix is. */
static cd_err get_addr(cd_addr20 *out, cd_json v, const cd_network *net, cd_errinfo *why)
{
    cd_bytes text = {0};
    cd_chain_addr addr;
    CD_TRY(cd_json_str(&text, v, why));
    cd_errinfo reason = {0};
    if (cd_chain_addr_parse(&addr, text, &reason) != CD_OK) {
        return cd_json_fail(v, CD_EFORMAT, reason.msg, why);
    }
    if (strcmp(addr.prefix, net->prefix) != 0) {
        return cd_json_fail(v, CD_EFORMAT, "an address of another network", why);
    }
    *out = addr.addr;
    return CD_OK;
}

/* A number that need not be there. */
static cd_err get_u64(u64 *out, cd_json parent, const char *key, cd_errinfo *why)
{
    cd_json v = cd_json_get(parent, key);
    *out = 0;
    return cd_json_has(v) ? cd_json_u64(out, v, why) : CD_OK;
}

static cd_err get_text(cd_bytes *out, cd_json parent, const char *key, cd_errinfo *why)
{
    cd_json v = cd_json_get(parent, key);
    *out = (cd_bytes){0};
    return cd_json_has(v) ? cd_json_str(out, v, why) : CD_OK;
}

/* The length of a list that need not be there. */
static cd_err get_list(usize *cnt, cd_json v, usize max, cd_errinfo *why)
{
    *cnt = 0;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_arr(v, why));
    *cnt = cd_json_len(v);
    return *cnt <= max ? CD_OK : cd_json_fail(v, CD_ELIMIT, "too many", why);
}

/* --- allocations, stakers --- */

static cd_err get_unlocks(cd_pgenesis_allocation *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    CD_TRY(get_list(&out->unlock_cnt, v, CD_PGENESIS_ALLOCATIONS_MAX, why));
    out->unlock = cd_arena_array(a, cd_pgenesis_unlock, out->unlock_cnt);
    cd_json_it it = cd_json_iter(v);
    for (usize i = 0; cd_json_next(&it); i++) {
        CD_TRY(get_u64(&out->unlock[i].amount, it.val, "amount", why));
        CD_TRY(get_u64(&out->unlock[i].locktime, it.val, "locktime", why));
    }
    return CD_OK;
}

/* The address has the name that the family of the file gave it. */
static cd_err get_allocation(cd_pgenesis_allocation *out, cd_arena *a, cd_json v, const cd_network *net,
                             cd_errinfo *why)
{
    cd_json lux = cd_json_get(v, "luxAddr");
    CD_TRY(cd_json_fixed(out->eth_addr.b, 20, cd_json_get(v, "ethAddr"), why));
    CD_TRY(get_addr(&out->addr, cd_json_has(lux) ? lux : cd_json_get(v, "avaxAddr"), net, why));
    CD_TRY(get_u64(&out->initial_amount, v, "initialAmount", why));
    return get_unlocks(out, a, cd_json_get(v, "unlockSchedule"), why);
}

static cd_err get_staker(cd_pgenesis_staker *out, cd_json v, const cd_network *net, cd_errinfo *why)
{
    cd_json node = cd_json_get(v, "nodeID");
    cd_json signer = cd_json_get(v, "signer");
    cd_bytes text = {0};
    u64 fee;
    cd_errinfo reason = {0};
    CD_TRY(cd_json_str(&text, node, why));
    if (cd_node_id_parse(&out->node_id, text, &reason) != CD_OK) {
        return cd_json_fail(node, CD_EFORMAT, reason.msg, why);
    }
    CD_TRY(get_addr(&out->reward_addr, cd_json_get(v, "rewardAddress"), net, why));
    CD_TRY(get_u64(&fee, v, "delegationFee", why));
    if (fee > 1000000) {
        return cd_json_fail(cd_json_get(v, "delegationFee"), CD_ERANGE, "more than a million", why);
    }
    out->delegation_fee = (u32)fee;
    out->has_signer = cd_json_has(signer);
    if (out->has_signer) {
        CD_TRY(cd_json_fixed(out->key, sizeof out->key, cd_json_get(signer, "publicKey"), why));
        CD_TRY(cd_json_fixed(out->proof, sizeof out->proof, cd_json_get(signer, "proofOfPossession"), why));
    }
    return CD_OK;
}

static cd_err get_lists(cd_pgenesis_config *out, cd_arena *a, cd_json v, const cd_network *net, cd_errinfo *why)
{
    cd_json allocations = cd_json_get(v, "allocations");
    cd_json staked = cd_json_get(v, "initialStakedFunds");
    cd_json stakers = cd_json_get(v, "initialStakers");
    CD_TRY(get_list(&out->allocation_cnt, allocations, CD_PGENESIS_ALLOCATIONS_MAX, why));
    CD_TRY(get_list(&out->staked_cnt, staked, CD_PGENESIS_ALLOCATIONS_MAX, why));
    CD_TRY(get_list(&out->staker_cnt, stakers, CD_PGENESIS_STAKERS_MAX, why));
    out->allocations = cd_arena_array(a, cd_pgenesis_allocation, out->allocation_cnt);
    out->staked = cd_arena_array(a, cd_addr20, out->staked_cnt);
    out->stakers = cd_arena_array(a, cd_pgenesis_staker, out->staker_cnt);
    cd_json_it it = cd_json_iter(allocations);
    for (usize i = 0; cd_json_next(&it); i++) {
        CD_TRY(get_allocation(&out->allocations[i], a, it.val, net, why));
    }
    it = cd_json_iter(staked);
    for (usize i = 0; cd_json_next(&it); i++) {
        CD_TRY(get_addr(&out->staked[i], it.val, net, why));
    }
    it = cd_json_iter(stakers);
    for (usize i = 0; cd_json_next(&it); i++) {
        CD_TRY(get_staker(&out->stakers[i], it.val, net, why));
    }
    return CD_OK;
}

cd_err cd_pgenesis_config_parse(cd_pgenesis_config *out, cd_arena *a, cd_bytes text, const cd_network *net,
                                cd_errinfo *why)
{
    cd_json v;
    u64 id = 0;
    cd_pgenesis_config c = {.network_id = net->id};
    CD_TRY(cd_json_parse(&v, a, text, CD_PGENESIS_TEXT_MAX, why));
    CD_TRY(cd_json_u64(&id, cd_json_get(v, "networkID"), why));
    if (id != net->id) {
        return cd_fail(why, CD_EINVAL, "the genesis is for network %llu, not %u", (unsigned long long)id, net->id);
    }
    CD_TRY(get_lists(&c, a, v, net, why));
    CD_TRY(get_u64(&c.start_time, v, "startTime", why));
    CD_TRY(get_u64(&c.stake_duration_s, v, "initialStakeDuration", why));
    CD_TRY(get_u64(&c.stake_offset_s, v, "initialStakeDurationOffset", why));
    CD_TRY(get_text(&c.c_genesis, v, "cChainGenesis", why));
    CD_TRY(get_text(&c.message, v, "message", why));
    *out = c;
    return CD_OK;
}
