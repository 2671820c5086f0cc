#include "chains/evmchain/core/rules/fee_c.h"

#include "num/div.h"

/* --- eras --- */

enum {
    GWEI = 1000000000,
    /* A block of the third phase counts as much more gas in the window. */
    INTRINSIC_BLOCK_GAS = 1000000,
};

static const u64 initial_base_fee = 225 * (u64)GWEI;

#define U(v)                                                                                                           \
    {                                                                                                                  \
        .w = {(v) }                                                                                                    \
    }
#define NUMBERS(limit_, min_, target_, denominator_, cost_max_, step_)                                                 \
    {                                                                                                                  \
        .gas_limit = U(limit_), .target_block_rate = 2, .min_base_fee = U(min_), .target_gas = U(target_),             \
        .base_fee_change_denominator = U(denominator_), .max_block_gas_cost = U(cost_max_),                            \
        .block_gas_cost_step = U(step_),                                                                               \
    }

// clang-format off
static const struct {
    cd_fee_config numbers;
    u64 max_base_fee; /* wei; 0: none */
} eras[] = {
    [CD_C_LAUNCH]  = {NUMBERS( 8000000, 225 * (u64)GWEI, 10000000, 12,       0,      0),    0},
    [CD_C_AP3]     = {NUMBERS( 8000000,  75 * (u64)GWEI, 10000000, 12,       0,      0),  225 * (u64)GWEI},
    [CD_C_AP4]     = {NUMBERS( 8000000,  25 * (u64)GWEI, 10000000, 12, 1000000,  50000), 1000 * (u64)GWEI},
    [CD_C_AP5]     = {NUMBERS( 8000000,  25 * (u64)GWEI, 15000000, 36, 1000000, 200000),    0},
    [CD_C_CORTINA] = {NUMBERS(15000000,  25 * (u64)GWEI, 15000000, 36, 1000000, 200000),    0},
    [CD_C_ETNA]    = {NUMBERS(15000000,   1 * (u64)GWEI, 15000000, 36, 1000000, 200000),    0},
    [CD_C_FORTUNA] = {NUMBERS(10000000,               1, 15000000, 36, 1000000, 200000),    0},
    [CD_C_GRANITE] = {NUMBERS(10000000,               1, 15000000, 36,       0,      0),    0},
};
// clang-format on

const cd_fee_config *cd_fee_c_numbers(cd_c_era era)
{
    return &eras[era].numbers;
}

usize cd_fee_c_prefix_size(cd_c_era era)
{
    return era >= CD_C_FORTUNA ? CD_GAS_STATE_SIZE : CD_FEE_WINDOW_SIZE;
}

/* --- the window --- */

static u64 elapsed(const cd_fee_c *f)
{
    return f->time > f->parent->time ? f->time - f->parent->time : 0;
}

static u64 ext_gas(const cd_header *h)
{
    return (h->has & CD_HEADER_EXT_DATA_GAS_USED) != 0 ? cd_u256_to_u64_sat(&h->ext_data_gas_used) : 0;
}

/* What counts in the parent's last second beside the gas of its transactions. */
static u64 further_gas(const cd_fee_c *f)
{
    u64 sum;
    cd_u256 cost;
    switch (f->parent_era) {
    case CD_C_LAUNCH:
        return 0;
    case CD_C_AP3:
        return INTRINSIC_BLOCK_GAS;
    case CD_C_AP4:
        cd_fee_l1_block_gas_cost(&cost, &eras[CD_C_AP4].numbers, f->parent, f->time);
        return cd_add_u64(&sum, ext_gas(f->parent), cd_u256_to_u64_sat(&cost)) ? sum : UINT64_MAX;
    case CD_C_AP5:
    case CD_C_CORTINA:
    case CD_C_ETNA:
    case CD_C_FORTUNA:
    case CD_C_GRANITE:
        return ext_gas(f->parent);
    }
    CD_UNREACHABLE();
}

static bool is_first(const cd_fee_c *f)
{
    return f->parent->number == 0 || f->parent_era == CD_C_LAUNCH;
}

static cd_err window(u8 out[CD_FEE_WINDOW_SIZE], const cd_fee_c *f)
{
    if (is_first(f)) {
        memset(out, 0, CD_FEE_WINDOW_SIZE);
        return CD_OK;
    }
    return cd_fee_window(out, f->parent, f->time, further_gas(f));
}

static cd_err window_fee(cd_u256 *out, const cd_fee_c *f)
{
    u8 w[CD_FEE_WINDOW_SIZE];
    if (is_first(f)) {
        *out = cd_u256_from_u64(initial_base_fee);
        return CD_OK;
    }
    CD_TRY(window(w, f));
    cd_fee_of_window(out, &eras[f->parent_era].numbers, w, &f->parent->base_fee, elapsed(f));
    cd_u256 max = cd_u256_from_u64(eras[f->parent_era].max_base_fee);
    if (!cd_u256_is_zero(&max) && cd_u256_lt(&max, out)) {
        *out = max;
    }
    return CD_OK;
}

/* --- ACP-176 --- */

static const u64 target_min = 1000000;       /* gas a second */
static const u64 target_fraction = 1u << 25; /* of the exponent of the target */
static const u64 target_step = 1u << 15;     /* by which a block may move it */
static const u64 price_seconds = 87;         /* of gas at the target are the fraction of the price's exponent */
static const u64 full_after = 5;             /* seconds until the capacity is full */
static const u64 target_to_rate = 2;         /* gas that comes a second, in targets */
static const u64 ms = 1000;

static u64 add(u64 a, u64 b)
{
    u64 sum;
    return cd_add_u64(&sum, a, b) ? sum : UINT64_MAX;
}

static u64 mul(u64 a, u64 b)
{
    u64 product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static u64 less(u64 a, u64 b)
{
    return a > b ? a - b : 0;
}

/* factor * e^(num / den) in integers, UINT64_MAX at most; den is not zero. */
static u64 exponential(u64 factor, u64 num, u64 den)
{
    cd_u256 by = cd_u256_from_u64(den);
    cd_u256 term = cd_u256_from_u64(factor);
    cd_u256 limit = cd_u256_from_u64(UINT64_MAX);
    cd_u256 sum = cd_u256_zero();
    cd_u256_mul(&term, &term, &by);
    cd_u256_mul(&limit, &limit, &by);
    for (u64 i = 1; !cd_u256_is_zero(&term); i++) {
        cd_u256_add(&sum, &sum, &term); /* both below 2^192 */
        if (!cd_u256_lt(&sum, &limit)) {
            return UINT64_MAX;
        }
        cd_u256 step = cd_u256_from_u64(i);
        (void)cd_u256_mul_u64(&term, &term, num);
        cd_u256_div(&term, &term, &by);
        cd_u256_div(&term, &term, &step);
    }
    cd_u256_div(&sum, &sum, &by);
    return cd_u256_to_u64_sat(&sum);
}

static u64 target_of(const cd_gas_state *s)
{
    return exponential(target_min, s->target_excess, target_fraction);
}

static u64 capacity_max(u64 target)
{
    return mul(target, target_to_rate * full_after);
}

static u64 time_ms_of(const cd_header *h)
{
    return (h->has & CD_HEADER_TIME_MS) != 0 ? h->time_ms : mul(h->time, ms);
}

static void advance(cd_gas_state *s, const cd_fee_c *f)
{
    u64 target = target_of(s);
    u64 rate = target;
    u64 time = elapsed(f);
    if (f->era >= CD_C_GRANITE) {
        rate = target / ms;
        time = less(f->time_ms, time_ms_of(f->parent));
    }
    s->capacity = cd_min_u64(add(s->capacity, mul(mul(rate, target_to_rate), time)), capacity_max(target));
    s->excess = less(s->excess, mul(rate, time));
}

cd_err cd_fee_c_before(cd_gas_state *out, const cd_fee_c *f)
{
    const cd_header *p = f->parent;
    cd_gas_state s = {0};
    if (f->parent_era >= CD_C_FORTUNA && p->number != 0) {
        if (p->extra.n < CD_GAS_STATE_SIZE) {
            return CD_EFORMAT;
        }
        s.capacity = cd_be64(p->extra.p);
        s.excess = cd_be64(p->extra.p + 8);
        s.target_excess = cd_be64(p->extra.p + 16);
    }
    advance(&s, f);
    *out = s;
    return CD_OK;
}

/* Moves the target towards a wish; the price stays what it is. */
static void move_target(cd_gas_state *s, u64 wish)
{
    u64 before = target_of(s);
    u64 low = less(s->target_excess, target_step);
    u64 high = add(s->target_excess, target_step);
    s->target_excess = wish < low ? low : cd_min_u64(wish, high);
    u64 after = target_of(s);
    cd_u256 scaled = cd_u256_from_u64(s->excess);
    cd_u256 old = cd_u256_from_u64(before);
    (void)cd_u256_mul_u64(&scaled, &scaled, after);
    cd_u256_div(&scaled, &scaled, &old);
    s->excess = cd_u256_to_u64_sat(&scaled);
    s->capacity = cd_min_u64(s->capacity, capacity_max(after));
}

/* --- asking --- */

cd_err cd_fee_c_prefix(u8 out[CD_FEE_WINDOW_SIZE], const cd_fee_c *f, u64 gas, u64 target_excess)
{
    cd_gas_state s;
    if (f->era < CD_C_FORTUNA) {
        return window(out, f);
    }
    CD_TRY(cd_fee_c_before(&s, f));
    if (gas > s.capacity) {
        return CD_ELIMIT;
    }
    s.capacity -= gas;
    s.excess = add(s.excess, gas);
    move_target(&s, target_excess);
    cd_put_be64(out, s.capacity);
    cd_put_be64(out + 8, s.excess);
    cd_put_be64(out + 16, s.target_excess);
    return CD_OK;
}

cd_err cd_fee_c_base_fee(cd_u256 *out, const cd_fee_c *f)
{
    cd_gas_state s;
    if (f->era < CD_C_FORTUNA) {
        return window_fee(out, f);
    }
    CD_TRY(cd_fee_c_before(&s, f));
    *out = cd_u256_from_u64(exponential(1, s.excess, mul(target_of(&s), price_seconds)));
    return CD_OK;
}

void cd_fee_c_block_gas_cost(cd_u256 *out, const cd_fee_c *f)
{
    if (f->era >= CD_C_GRANITE) {
        *out = cd_u256_zero();
    } else {
        cd_fee_l1_block_gas_cost(out, &eras[f->era].numbers, f->parent, f->time);
    }
}

cd_err cd_fee_c_gas(u64 *limit, u64 *capacity, const cd_fee_c *f)
{
    cd_gas_state s;
    if (f->era < CD_C_FORTUNA) {
        *limit = *capacity = cd_u256_to_u64_sat(&eras[f->era].numbers.gas_limit);
        return CD_OK;
    }
    CD_TRY(cd_fee_c_before(&s, f));
    *limit = capacity_max(target_of(&s));
    *capacity = s.capacity;
    return CD_OK;
}
