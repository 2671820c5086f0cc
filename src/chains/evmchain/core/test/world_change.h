/* chains/evmchain/core/test/world_change.h - random changes to a state, few accounts and keys, so that they meet.
 *
 * Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_CORE_TEST_WORLD_CHANGE_H
#define CD_CHAINS_EVMCHAIN_CORE_TEST_WORLD_CHANGE_H

#include "base/os/rng.h"
#include "evm/state/state.h"

/* The accounts world_addr(0 .. addrs) and the keys 0 .. keys. */
typedef struct world_space {
    u64 addrs;
    u64 keys;
} world_space;

static inline cd_addr20 world_addr(u64 i)
{
    cd_addr20 a = {.b = {0x20}};
    a.b[19] = (u8)i;
    return a;
}

/* Some transactions' worth of changes. */
static inline void world_change(cd_state *st, cd_rng *rng, const world_space *space, u64 cnt)
{
    cd_state_begin_tx(st);
    for (; cnt > 0; cnt--) {
        cd_addr20 addr = world_addr(cd_rng_below(rng, space->addrs));
        cd_acct *a = cd_state_acct(st, &addr);
        cd_u256 v = cd_u256_from_u64(cd_rng_below(rng, 4) * 77);
        cd_u256 key = cd_u256_from_u64(cd_rng_below(rng, space->keys));
        switch (cd_rng_below(rng, 9)) {
        case 0:
            cd_state_set_balance(st, a, &v);
            break;
        case 1:
            cd_state_set_nonce(st, a, 1 + cd_rng_below(rng, 1000));
            break;
        case 2:
            cd_state_set_code(st, a, cd_bytes_of(&key, sizeof key));
            break;
        case 3:
            cd_state_destroy(st, a);
            break;
        case 4:
            cd_state_end_tx(st, true);
            cd_state_begin_tx(st);
            break;
        default:
            cd_state_touch(st, a, false);
            cd_state_set_nonce(st, a, 7);
            cd_state_set_slot(st, cd_state_slot(st, a, &key), &v);
            break;
        }
    }
    cd_state_end_tx(st, true);
}

#endif
