/* 0x05: base^exp mod m with lengths of any size. The price comes first: nothing is allocated before
 * it is paid, and lengths that no gas can pay for count as infinite. Three price rules: EIP-198,
 * EIP-2565, EIP-7883. */
#include "evm/precompile/precompile_priv.h"

#include "crypto/modexp.h"

enum { HEAD = 96 };

/* No gas limit in use reaches operands of this size; beyond it the call is out of gas. */
#define OPERAND_MAX (1ULL << 28)

typedef struct modexp_input {
    u64 base_n; /* lengths in bytes; UINT64_MAX stands for any greater one */
    u64 exp_n;
    u64 mod_n;
    cd_u256 exp_head; /* the first 32 bytes of the exponent, as a number */
} modexp_input;

static u64 sat_mul(u64 a, u64 b)
{
    u64 r;
    return cd_mul_u64(&r, a, b) ? r : UINT64_MAX;
}

static u64 sat_add(u64 a, u64 b)
{
    u64 r;
    return cd_add_u64(&r, a, b) ? r : UINT64_MAX;
}

static u64 length_at(cd_bytes input, usize off)
{
    u8 be[32];
    cd_u256 v;
    cd__pre_pad(be, sizeof be, input, off);
    cd_u256_load_be(&v, be);
    return cd_u256_to_u64_sat(&v);
}

static modexp_input parse(cd_bytes input)
{
    modexp_input m = {.base_n = length_at(input, 0), .exp_n = length_at(input, 32), .mod_n = length_at(input, 64)};
    u64 at = sat_add(HEAD, m.base_n);
    usize n = m.exp_n < 32 ? (usize)m.exp_n : 32;
    u8 be[32];
    cd__pre_pad(be, n, input, at);
    cd_u256_load_be_n(&m.exp_head, be, n);
    return m;
}

/* iterations gives the bit length of the exponent less one, where each byte behind the first 32 counts
 * `per_byte`; at least one. */
static u64 iterations(const modexp_input *m, u64 per_byte)
{
    u32 bits = cd_u256_bits(&m->exp_head);
    u64 n = bits == 0 ? 0 : bits - 1;
    if (m->exp_n > 32) {
        n = sat_add(n, sat_mul(m->exp_n - 32, per_byte));
    }
    return cd_max_u64(n, 1);
}

static u64 longest(const modexp_input *m)
{
    return cd_max_u64(m->base_n, m->mod_n);
}

/* words_squared gives the square of the number of 8-byte words in so many bytes. */
static u64 words_squared(u64 bytes)
{
    u64 words = bytes / 8 + (bytes % 8 != 0);
    return sat_mul(words, words);
}

static u64 price_eip198(const modexp_input *m)
{
    u64 x = longest(m);
    u64 work = sat_mul(x, x);
    if (work == UINT64_MAX) {
        return UINT64_MAX;
    }
    if (x > 1024) {
        work = work / 16 + 480 * x - 199680;
    } else if (x > 64) {
        work = work / 4 + 96 * x - 3072;
    }
    u64 cost = sat_mul(work, iterations(m, 8));
    return cost == UINT64_MAX ? cost : cost / 20;
}

static u64 price_eip2565(const modexp_input *m)
{
    u64 cost = sat_mul(words_squared(longest(m)), iterations(m, 8));
    return cost == UINT64_MAX ? cost : cost / 3;
}

static u64 price_eip7883(const modexp_input *m)
{
    u64 work = longest(m) <= 32 ? 16 : sat_mul(words_squared(longest(m)), 2);
    return sat_mul(work, iterations(m, 16));
}

/* operand gives n bytes of the input from off on. If they reach behind its end, they are a copy with
 * zeros there. */
static cd_bytes operand(cd_precompile_call *call, u64 off, u64 n)
{
    if (n == 0) {
        return (cd_bytes){0};
    }
    if (off <= call->input.n && n <= call->input.n - off) {
        return cd_bytes_sub(call->input, off, n);
    }
    u8 *copy = cd_arena_alloc(call->arena, n);
    cd__pre_pad(copy, n, call->input, off);
    return cd_bytes_of(copy, n);
}

static cd_precompile_outcome run(cd_precompile_call *call, const void *cfg, const modexp_input *m, u64 price)
{
    const cd__pre_price *floor = cfg;
    if (!cd__pre_charge(call, cd_max_u64(price, floor->base))) {
        return CD_PRE_OUT_OF_GAS;
    }
    call->output = (cd_bytes){0};
    if (m->mod_n == 0) {
        return CD_PRE_OK;
    }
    if (m->base_n > OPERAND_MAX || m->exp_n > OPERAND_MAX || m->mod_n > OPERAND_MAX) {
        return CD_PRE_OUT_OF_GAS;
    }
    cd_bytes base = operand(call, HEAD, m->base_n);
    cd_bytes exp = operand(call, HEAD + m->base_n, m->exp_n);
    cd_bytes mod = operand(call, HEAD + m->base_n + m->exp_n, m->mod_n);
    u8 *out = cd_arena_alloc(call->arena, m->mod_n);
    if (cd_modexp(out, base, exp, mod) != CD_OK) {
        return CD_PRE_OUT_OF_GAS;
    }
    call->output = cd_bytes_of(out, m->mod_n);
    return CD_PRE_OK;
}

cd_precompile_outcome cd__pre_modexp_eip198(cd_precompile_call *call, const void *cfg)
{
    modexp_input m = parse(call->input);
    return run(call, cfg, &m, price_eip198(&m));
}

cd_precompile_outcome cd__pre_modexp_eip2565(cd_precompile_call *call, const void *cfg)
{
    modexp_input m = parse(call->input);
    return run(call, cfg, &m, price_eip2565(&m));
}

/* EIP-7823 bounds the operands beside EIP-7883's prices. */
cd_precompile_outcome cd__pre_modexp_eip7883(cd_precompile_call *call, const void *cfg)
{
    enum { LEN_MAX = 1024 };
    modexp_input m = parse(call->input);
    if (m.base_n > LEN_MAX || m.exp_n > LEN_MAX || m.mod_n > LEN_MAX) {
        return CD_PRE_FAIL;
    }
    return run(call, cfg, &m, price_eip7883(&m));
}
