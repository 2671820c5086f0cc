#include "lab/reward.h"

#include "num/div.h"

void cd_reward_of(cd_u256 *out, cd_fork fork)
{
    static const u64 wei_per_ether = 1000000000000000000;
    u64 ether = fork >= CD_PARIS ? 0 : fork >= CD_CONSTANTINOPLE ? 2 : fork >= CD_BYZANTIUM ? 3 : 5;
    cd_u256 wei = cd_u256_from_u64(wei_per_ether);
    cd_u256 n = cd_u256_from_u64(ether);
    cd_u256_mul(out, &wei, &n);
}

void cd_reward_pay(cd_state *st, const cd_u256 *reward, const cd_addr20 *coinbase, const cd_reward_uncle *uncles,
                   usize cnt, bool drop_empty)
{
    cd_u256 own = *reward;
    cd_u256 part;
    (void)cd_u256_div_u64(&part, reward, 32);
    cd_state_begin_tx(st);
    for (usize i = 0; i < cnt; i++) {
        cd_u256 eighths = cd_u256_from_u64(8 - uncles[i].delta);
        cd_u256 wei;
        cd_u256_mul(&wei, reward, &eighths);
        (void)cd_u256_div_u64(&wei, &wei, 8);
        cd_state_add_balance(st, cd_state_acct(st, &uncles[i].coinbase), &wei);
        cd_u256_add(&own, &own, &part);
    }
    cd_state_add_balance(st, cd_state_acct(st, coinbase), &own);
    cd_state_end_tx(st, drop_empty);
}
