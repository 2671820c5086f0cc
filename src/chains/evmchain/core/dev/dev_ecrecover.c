#include "chains/evmchain/core/dev/dev_ecrecover.h"

#include "crypto/hash/keccak.h"

enum { INPUT_SIZE = 128, V_AT = 63, RS_AT = 64 };

static cd_precompile_outcome run(cd_precompile_call *call, const void *cfg);

const cd_precompile cd_dev_ecrecover = {
    .addr = {.b = {[19] = 1}},
    .name = "ecrecover",
    .run = run,
    .is_stateful = true,
};

static cd_u256 slot_of(const u8 sig[65])
{
    cd_hash32 hash;
    cd_u256 key;
    cd_keccak256(&hash, cd_bytes_of(sig, 65));
    cd_u256_load_be(&key, hash.b);
    return key;
}

/* What is declared of the signature in a call's input; false: nothing. */
static bool find(u8 out[32], cd_state *st, cd_bytes input)
{
    u8 in[INPUT_SIZE] = {0};
    u8 sig[65];
    cd_acct *a = cd_state_acct(st, &cd_dev_ecrecover.addr);
    if (a->nonce == 0) {
        return false; /* nothing was ever declared */
    }
    if (input.n != 0) {
        memcpy(in, input.p, cd_min_u64(input.n, sizeof in));
    }
    memcpy(sig, in + RS_AT, 64);
    sig[64] = in[V_AT];
    cd_u256 key = slot_of(sig);
    cd_u256 value = cd_state_slot(st, a, &key)->value;
    cd_addr20 who = cd_u256_to_addr(&value);
    memset(out, 0, 12);
    memcpy(out + 12, who.b, 20);
    return !cd_u256_is_zero(&value);
}

static cd_precompile_outcome run(cd_precompile_call *call, const void *cfg)
{
    cd_precompile real;
    u8 who[32];
    (void)cfg;
    cd_err e = cd_precompile_by_name(&real, "ecrecover");
    CD_ASSERT(e == CD_OK);
    cd_precompile_outcome outcome = real.run(call, real.cfg);
    if (outcome == CD_PRE_OK && find(who, call->state, call->input)) {
        call->output = cd_arena_dup(call->arena, cd_bytes_of(who, sizeof who));
    }
    return outcome;
}

void cd_dev_recovers_to(cd_state *st, const u8 sig[65], const cd_addr20 *who)
{
    u8 word[32] = {[11] = 1}; /* so that the zero address can be meant */
    cd_u256 value;
    cd_u256 key = slot_of(sig);
    cd_acct *a = cd_state_acct(st, &cd_dev_ecrecover.addr);
    memcpy(word + 12, who->b, 20);
    cd_u256_load_be(&value, word);
    cd_state_touch(st, a, false);
    if (a->nonce == 0) {
        cd_state_set_nonce(st, a, 1); /* an empty account would go away when it is next called */
    }
    cd_state_set_slot(st, cd_state_slot(st, a, &key), &value);
}
