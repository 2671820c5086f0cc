/* 0x01 to 0x04 and 0x09: hash functions, identity, and ecrecover, which ends in a hash. */
#include "evm/precompile/precompile_priv.h"

#include "crypto/ec/secp256k1.h"
#include "crypto/hash/blake2.h"
#include "crypto/hash/ripemd160.h"
#include "crypto/hash/sha2.h"

/* Input: hash, v, r, s, 32 bytes each. A signature that recovers nothing gives empty output, not a
 * failure. */
cd_precompile_outcome cd__pre_ecrecover(cd_precompile_call *call, const void *cfg)
{
    if (!cd__pre_pay(call, cfg, 0)) {
        return CD_PRE_OUT_OF_GAS;
    }
    u8 in[128];
    cd__pre_pad(in, sizeof in, call->input, 0);
    call->output = (cd_bytes){0};
    cd_u256 v;
    cd_u256_load_be(&v, in + 32);
    if (!cd_u256_fits_u64(&v) || (v.w[0] != 27 && v.w[0] != 28)) {
        return CD_PRE_OK;
    }
    cd_hash32 msg;
    cd_addr20 signer;
    memcpy(msg.b, in, sizeof msg.b);
    if (cd_secp256k1_recover_addr(&signer, &msg, in + 64, (u8)(v.w[0] - 27)) != CD_OK) {
        return CD_PRE_OK;
    }
    u8 *out = cd_arena_alloc(call->arena, 32);
    memset(out, 0, 12);
    memcpy(out + 12, signer.b, sizeof signer.b);
    call->output = cd_bytes_of(out, 32);
    return CD_PRE_OK;
}

cd_precompile_outcome cd__pre_sha256(cd_precompile_call *call, const void *cfg)
{
    if (!cd__pre_pay(call, cfg, cd__pre_words(call->input))) {
        return CD_PRE_OUT_OF_GAS;
    }
    cd_hash32 *out = cd_arena_alloc(call->arena, sizeof *out);
    cd_sha256(out, call->input);
    call->output = cd_bytes_of(out->b, sizeof out->b);
    return CD_PRE_OK;
}

cd_precompile_outcome cd__pre_ripemd160(cd_precompile_call *call, const void *cfg)
{
    if (!cd__pre_pay(call, cfg, cd__pre_words(call->input))) {
        return CD_PRE_OUT_OF_GAS;
    }
    cd_hash20 h;
    cd_ripemd160(&h, call->input);
    u8 *out = cd_arena_alloc(call->arena, 32);
    memset(out, 0, 12);
    memcpy(out + 12, h.b, sizeof h.b);
    call->output = cd_bytes_of(out, 32);
    return CD_PRE_OK;
}

cd_precompile_outcome cd__pre_identity(cd_precompile_call *call, const void *cfg)
{
    if (!cd__pre_pay(call, cfg, cd__pre_words(call->input))) {
        return CD_PRE_OUT_OF_GAS;
    }
    call->output = call->input;
    return CD_PRE_OK;
}

/* Input: rounds (big-endian u32), h, m, t (little-endian words), final flag; 213 bytes in all.
 * [EIP-152] */
cd_precompile_outcome cd__pre_blake2f(cd_precompile_call *call, const void *cfg)
{
    enum { H = 4, M = H + 64, T = M + 128, FLAG = T + 16, SIZE = FLAG + 1 };
    const u8 *in = call->input.p;
    if (call->input.n != SIZE) {
        return cd__pre_fail(call, "invalid input length");
    }
    if (in[FLAG] > 1) {
        return cd__pre_fail(call, "invalid final flag");
    }
    u32 rounds = cd_be32(in);
    if (!cd__pre_pay(call, cfg, rounds)) {
        return CD_PRE_OUT_OF_GAS;
    }
    u64 h[8];
    u64 m[16];
    u64 t[2];
    memcpy(h, in + H, sizeof h);
    memcpy(m, in + M, sizeof m);
    memcpy(t, in + T, sizeof t);
    cd_blake2b_f(h, m, t, in[FLAG] == 1, rounds);
    u8 *out = cd_arena_alloc(call->arena, sizeof h);
    memcpy(out, h, sizeof h);
    call->output = cd_bytes_of(out, sizeof h);
    return CD_PRE_OK;
}
