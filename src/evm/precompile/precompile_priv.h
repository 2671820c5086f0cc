/* evm/precompile/precompile_priv.h - what the files of Ethereum's precompiles share. Threading: pure. */
#ifndef CD_EVM_PRECOMPILE_PRIV_H
#define CD_EVM_PRECOMPILE_PRIV_H

#include "evm/precompile/precompile.h"

/* The cfg of Ethereum's precompiles: columns of precompiles.def. */
typedef struct cd__pre_price {
    u32 base;
    u32 unit;
} cd__pre_price;

/* cd__pre_charge takes gas from the call; false when there is not enough. */
CD_INLINE CD_CHECK bool cd__pre_charge(cd_precompile_call *call, u64 gas)
{
    if (call->gas < gas) {
        return false;
    }
    call->gas -= gas;
    return true;
}

/* cd__pre_pay charges the price for n units; false when there is not enough gas, as for a price beyond 64 bits. */
CD_INLINE CD_CHECK bool cd__pre_pay(cd_precompile_call *call, const void *cfg, u64 n)
{
    const cd__pre_price *p = cfg;
    u64 cost;
    return cd_mul_u64(&cost, n, p->unit) && cd_add_u64(&cost, cost, p->base) && cd__pre_charge(call, cost);
}

/* cd__pre_fail ends a call with go-ethereum's words for what is wrong with its input. */
CD_INLINE cd_precompile_outcome cd__pre_fail(cd_precompile_call *call, const char *reason)
{
    call->reason = reason;
    return CD_PRE_FAIL;
}

/* cd__pre_words gives the number of 32-byte words of the input, for which sha256, ripemd160 and identity charge. */
CD_INLINE u64 cd__pre_words(cd_bytes input)
{
    return input.n / 32 + (input.n % 32 != 0);
}

/* cd__pre_pad copies n bytes of input from off on, and zeros for those behind its end. */
CD_INLINE void cd__pre_pad(u8 *out, usize n, cd_bytes input, usize off)
{
    usize have = off >= input.n ? 0 : input.n - off;
    have = have < n ? have : n;
    if (have != 0) {
        memcpy(out, input.p + off, have);
    }
    memset(out + have, 0, n - have);
}

/* The functions of precompiles.def. */
#define X(first, last, addr, name, fn, base, unit) cd_precompile_outcome fn(cd_precompile_call *call, const void *cfg);
#include "evm/precompile/precompiles.def"
#undef X

#endif
