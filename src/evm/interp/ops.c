/* Instructions on data: powers, hashing, copying, and what the block and the transaction look
 * like. */
#include "evm/evm_priv.h"

#include "num/exp.h"

#define FAIL_OUT_OF_GAS cd__failed(CD_EVM_OUT_OF_GAS)

/* Charges gas inside a function, which returns the failure when there is too little. */
#define CHARGE(cost)                                                                                                   \
    do {                                                                                                               \
        gas -= (i64)(cost);                                                                                            \
        if (CD_UNLIKELY(gas < 0)) {                                                                                    \
            return FAIL_OUT_OF_GAS;                                                                                    \
        }                                                                                                              \
    } while (0)

i64 cd__op_EXP(cd__frame *f, cd_u256 *sp, i64 gas)
{
    CHARGE(f->evm->gas.exp_byte * cd_u256_bytes(&sp[-1]));
    cd_u256_exp(&sp[-1], &sp[0], &sp[-1]);
    return gas;
}

i64 cd__keccak(cd__frame *f, cd_u256 *out, const cd_u256 *off, const cd_u256 *len, i64 gas)
{
    gas = cd__mem_range(f, off, len, gas);
    if (CD_UNLIKELY(gas < 0)) {
        return gas;
    }
    u64 n = len->w[0];
    CHARGE(CD_GAS_KECCAK_WORD * cd__words(n));
    cd_hash32 h;
    cd_keccak256_memo(f->evm->memo, &h, cd_bytes_of(n == 0 ? NULL : f->mem + off->w[0], n));
    cd_u256_load_be(out, h.b);
    return gas;
}

i64 cd__op_KECCAK256(cd__frame *f, cd_u256 *sp, i64 gas)
{
    return cd__keccak(f, &sp[-1], &sp[0], &sp[-1], gas);
}

/* --- copying into memory --- */

/* charge_copy charges for copying len bytes to memory at off. */
static i64 charge_copy(cd__frame *f, const cd_u256 *off, const cd_u256 *len, i64 gas)
{
    gas = cd__mem_range(f, off, len, gas);
    if (CD_UNLIKELY(gas < 0)) {
        return gas;
    }
    CHARGE(CD_GAS_COPY_WORD * cd__words(len->w[0]));
    return gas;
}

void cd__copy_in(cd__frame *f, const cd_u256 *to, const cd_u256 *from, const cd_u256 *len, cd_bytes src)
{
    u64 n = len->w[0];
    if (n == 0) {
        return;
    }
    u8 *dst = f->mem + to->w[0];
    u64 off = cd_min_u64(cd_u256_to_u64_sat(from), src.n);
    u64 have = cd_min_u64(n, src.n - off);
    if (have != 0) {
        memcpy(dst, src.p + off, have);
    }
    if (have != n) {
        memset(dst + have, 0, n - have);
    }
}

i64 cd__op_CALLDATACOPY(cd__frame *f, cd_u256 *sp, i64 gas)
{
    gas = charge_copy(f, &sp[0], &sp[-2], gas);
    if (CD_LIKELY(gas >= 0)) {
        /* Read the input's place only now: it may lie in the memory block, which a growing memory
         * moves. */
        cd__copy_in(f, &sp[0], &sp[-1], &sp[-2], f->input);
    }
    return gas;
}

i64 cd__op_CODECOPY(cd__frame *f, cd_u256 *sp, i64 gas)
{
    gas = charge_copy(f, &sp[0], &sp[-2], gas);
    if (CD_LIKELY(gas >= 0)) {
        cd__copy_in(f, &sp[0], &sp[-1], &sp[-2], cd_bytes_of(f->code->bytes, f->code->n));
    }
    return gas;
}

i64 cd__op_RETURNDATACOPY(cd__frame *f, cd_u256 *sp, i64 gas)
{
    gas = charge_copy(f, &sp[0], &sp[-2], gas);
    if (CD_UNLIKELY(gas < 0)) {
        return gas;
    }
    cd_bytes ret = f->evm->ret;
    u64 off = cd_u256_to_u64_sat(&sp[-1]);
    if (off > ret.n || cd_u256_to_u64_sat(&sp[-2]) > ret.n - off) {
        return cd__failed(CD_EVM_RETURN_OUT_OF_BOUNDS);
    }
    cd__copy_in(f, &sp[0], &sp[-1], &sp[-2], ret);
    return gas;
}

i64 cd__mcopy(cd__frame *f, u64 to, u64 from, u64 len, i64 gas)
{
    u64 end = cd_max_u64(to, from) + len;
    if (CD_UNLIKELY(end > f->mem_size)) {
        gas = cd__mem_grow(f, end, gas);
        if (gas < 0) {
            return gas;
        }
    }
    CHARGE(CD_GAS_COPY_WORD * cd__words(len));
    u8 *mem = f->mem;
    if (len == 32) {
        u64 w0 = cd_le64(mem + from);
        u64 w1 = cd_le64(mem + from + 8);
        u64 w2 = cd_le64(mem + from + 16);
        u64 w3 = cd_le64(mem + from + 24);
        CD__LIMB_PIN(w0, w1, w2, w3);
        cd_put_le64(mem + to, w0);
        cd_put_le64(mem + to + 8, w1);
        cd_put_le64(mem + to + 16, w2);
        cd_put_le64(mem + to + 24, w3);
    } else {
        memmove(mem + to, mem + from, len);
    }
    return gas;
}

i64 cd__op_MCOPY(cd__frame *f, cd_u256 *sp, i64 gas)
{
    /* Both ranges have the same length: the one that reaches further decides. */
    gas = cd__mem_range(f, cd_u256_lt(&sp[-1], &sp[0]) ? &sp[0] : &sp[-1], &sp[-2], gas);
    if (CD_UNLIKELY(gas < 0 || cd_u256_is_zero(&sp[-2]))) {
        return gas;
    }
    return cd__mcopy(f, sp[0].w[0], sp[-1].w[0], sp[-2].w[0], gas);
}

void cd__op_calldataload(const cd__frame *f, cd_u256 *out, const cd_u256 *off)
{
    u64 at = cd_u256_to_u64_sat(off);
    usize n = f->input.n;
    if (CD_LIKELY(n >= 32 && at <= n - 32)) {
        cd_u256_load_be(out, f->input.p + at);
        return;
    }
    u8 word[32] = {0};
    if (at < n) {
        memcpy(word, f->input.p + at, n - at < 32 ? n - at : 32);
    }
    cd_u256_load_be(out, word);
}

/* --- the surroundings --- */

#define ENV_WORD(name, word)                                                                                           \
    i64 cd__op_##name(cd__frame *f, cd_u256 *sp, i64 gas)                                                              \
    {                                                                                                                  \
        cd_u256_set(&sp[1], &(word));                                                                                  \
        return gas;                                                                                                    \
    }
#define ENV_U64(name, number)                                                                                          \
    i64 cd__op_##name(cd__frame *f, cd_u256 *sp, i64 gas)                                                              \
    {                                                                                                                  \
        cd_u256_set_u64(&sp[1], (number));                                                                             \
        return gas;                                                                                                    \
    }
#define ENV_ADDR(name, addr20)                                                                                         \
    i64 cd__op_##name(cd__frame *f, cd_u256 *sp, i64 gas)                                                              \
    {                                                                                                                  \
        sp[1] = cd_u256_from_addr(&(addr20));                                                                          \
        return gas;                                                                                                    \
    }

ENV_ADDR(ORIGIN, f->evm->tx->origin)
ENV_WORD(GASPRICE, f->evm->tx->gas_price)
ENV_ADDR(COINBASE, f->evm->block->coinbase)
ENV_U64(TIMESTAMP, f->evm->block->time)
ENV_U64(NUMBER, f->evm->block->number)
ENV_WORD(PREVRANDAO, f->evm->block->prev_randao)
ENV_U64(GASLIMIT, f->evm->block->gas_limit)
ENV_U64(CHAINID, f->evm->block->chain_id)
ENV_WORD(BASEFEE, f->evm->block->base_fee)
ENV_WORD(BLOBBASEFEE, f->evm->block->blob_base_fee)
ENV_WORD(SELFBALANCE, f->self->balance)

i64 cd__op_BLOBHASH(cd__frame *f, cd_u256 *sp, i64 gas)
{
    const cd_tx_env *tx = f->evm->tx;
    u64 i = cd_u256_to_u64_sat(&sp[0]);
    if (i < tx->blob_cnt) {
        cd_u256_load_be(&sp[0], tx->blob_hashes[i].b);
    } else {
        cd_u256_set_u64(&sp[0], 0);
    }
    return gas;
}

i64 cd__op_BLOCKHASH(cd__frame *f, cd_u256 *sp, i64 gas)
{
    u64 number = cd_u256_to_u64_sat(&sp[0]);
    u64 now = f->evm->block->number;
    cd_hash32 h = {0};
    if (number < now && now - number <= 256) {
        cd_state *st = f->evm->st;
        cd_state_source *src = cd_state_source_of(st);
        cd_err err = src->block_hash(src, &h, number);
        if (err != CD_OK && st->err == CD_OK) {
            st->err = err;
        }
    }
    cd_u256_load_be(&sp[0], h.b);
    return gas;
}
