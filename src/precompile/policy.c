#include "precompile/policy.h"

#include "precompile/module_priv.h"

const cd_addr20 CD_BLACKHOLE = {.b = {0x01}};

cd_err cd_policy_fees(cd_fee_config *out, cd_u256 *last_changed, const cd_schedule *s, cd_state_source *src,
                      u64 parent_time)
{
    if (cd_schedule_active(s, CD_MODULE_FEE, parent_time) == NULL) {
        *out = *cd__schedule_fee(s);
        if (last_changed != NULL) {
            *last_changed = cd_u256_zero();
        }
        return CD_OK;
    }
    const cd_addr20 *addr = cd_schedule_addr(s, CD_MODULE_FEE);
    cd_u256 words[CD__FEE_FIELDS];
    for (usize i = 0; i < CD__FEE_FIELDS; i++) {
        cd_u256 key = cd__fee_key(i);
        CD_TRY(src->storage(src, &words[i], addr, &key));
    }
    cd_u256 key = cd__fee_key_changed();
    cd_u256 changed;
    CD_TRY(src->storage(src, &changed, addr, &key));
    cd_fee_config f = cd__fee_of_words(words);
    if (cd_fee_config_check(&f, NULL) != CD_OK) {
        return CD_ECORRUPT;
    }
    *out = f;
    if (last_changed != NULL) {
        *last_changed = changed;
    }
    return CD_OK;
}

cd_err cd_policy_coinbase(cd_coinbase_rule *out, const cd_schedule *s, cd_state_source *src, u64 parent_time)
{
    if (cd_schedule_active(s, CD_MODULE_REWARD, parent_time) == NULL) {
        *out = (cd_coinbase_rule){.is_free = cd__schedule_allow_fee_recipients(s), .addr = CD_BLACKHOLE};
        return CD_OK;
    }
    cd_u256 key = cd__reward_key();
    cd_u256 stored;
    CD_TRY(src->storage(src, &stored, cd_schedule_addr(s, CD_MODULE_REWARD), &key));
    *out = (cd_coinbase_rule){.is_free = cd__reward_is_free(&stored), .addr = cd_u256_to_addr(&stored)};
    return CD_OK;
}

cd_err cd_policy_role(cd_role *out, cd_state_source *src, const cd_addr20 *list, const cd_addr20 *who)
{
    cd_u256 key = cd_u256_from_addr(who);
    cd_u256 stored;
    CD_TRY(src->storage(src, &stored, list, &key));
    *out = (cd_role)(stored.w[0] & 3);
    return CD_OK;
}

cd_err cd_policy_may_send(bool *out, const cd_schedule *s, cd_state_source *src, u64 time, const cd_addr20 *sender)
{
    cd_role role = CD_ROLE_ENABLED;
    if (cd_schedule_active(s, CD_MODULE_TX_ALLOW, time) != NULL) {
        CD_TRY(cd_policy_role(&role, src, cd_schedule_addr(s, CD_MODULE_TX_ALLOW), sender));
    }
    *out = role != CD_ROLE_NONE;
    return CD_OK;
}
