#include "chains/evmchain/core/rules/header_l1.h"

#include "base/hex.h"
#include "chains/evmchain/core/rules/eth_rules.h"
#include "chains/evmchain/core/rules/fee_c.h"
#include "codec/rlp.h"
#include "crypto/hash/keccak.h"
#include "num/div.h"
#include "num/u256_text.h"
#include "types/addr_text.h"
#include "types/hashes.h"

enum {
    FUTURE_MAX_MS = 10 * 1000,
    /* Delay between blocks from Granite on: e^(excess / 2^20) ms, at first 2 s; a block may move it a little. */
    DELAY_FRACTION = 1 << 20,
    DELAY_EXCESS_INITIAL = 7970124,
    DELAY_EXCESS_STEP = 200,
};

static const u32 cancun_fields = CD_HEADER_BLOB_GAS_USED | CD_HEADER_EXCESS_BLOB_GAS | CD_HEADER_BEACON_ROOT;
static const u32 granite_fields = CD_HEADER_TIME_MS | CD_HEADER_MIN_DELAY_EXCESS;

/* A number or hash as text, for messages. */
typedef struct text {
    char s[CD_U256_TEXT_MAX + 2];
} text;

static const char *dec(text *t, const cd_u256 *v)
{
    (void)cd_u256_fmt_dec(t->s, v);
    return t->s;
}

static const char *hex(text *t, const cd_hash32 *h)
{
    cd_hex_fmt(t->s, cd_bytes_of(h->b, 32));
    t->s[64] = '\0';
    return t->s;
}

static bool is_durango(const cd_chain_rules *r, u64 time)
{
    return r->config.durango.is_set && r->config.durango.at <= time;
}

static bool is_c(const cd_chain_rules *r)
{
    return r->layout == CD_HEADER_C;
}

static bool is_cancun(const cd_chain_rules *r, const cd_header *h)
{
    return cd_chain_rules_fork(r, h->number, h->time) >= CD_CANCUN;
}

/* --- form --- */

static cd_err check_constants(const cd_chain_rules *r, const cd_header *h, cd_errinfo *why)
{
    static const u8 no_nonce[8];
    cd_u256 one = cd_u256_one();
    text t;
    if (!cd_u256_eq(&h->difficulty, &one)) {
        return cd_fail(why, CD_EINVAL, "invalid difficulty: %s", dec(&t, &h->difficulty));
    }
    if (memcmp(h->nonce, no_nonce, 8) != 0) {
        return cd_fail(why, CD_EINVAL, "expected nonce to be 0 but got %llu: invalid nonce",
                       (unsigned long long)cd_be64(h->nonce));
    }
    if (!r->is_dev && !cd_hash32_is_zero(&h->mix_hash)) {
        return cd_fail(why, CD_EINVAL, "invalid mix digest: 0x%s", hex(&t, &h->mix_hash));
    }
    usize front = cd_chain_rules_prefix(r, h->time);
    bool has_length = is_durango(r, h->time) ? h->extra.n >= front : h->extra.n == front;
    if (!has_length) {
        return cd_fail(why, CD_EINVAL, "invalid header.Extra length: expected %s %zu but got %zu",
                       is_durango(r, h->time) ? ">=" : "==", front, h->extra.n);
    }
    if ((h->has & CD_HEADER_BASE_FEE) == 0) {
        return cd_fail(why, CD_EINVAL, "nil base fee is invalid after %s", is_c(r) ? "apricotPhase3" : "subnetEVM");
    }
    if (is_c(r) && (h->has & CD_HEADER_EXT_DATA_GAS_USED) == 0) {
        return cd_fail(why, CD_EINVAL, "nil extDataGasUsed is invalid after apricotPhase4");
    }
    if ((h->has & CD_HEADER_BLOCK_GAS_COST) == 0) {
        return cd_fail(why, CD_EINVAL, "nil blockGasCost is invalid after %s", is_c(r) ? "apricotPhase4" : "subnetEVM");
    }
    return cd_u256_fits_u64(&h->block_gas_cost)
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "too large blockGasCost: %s", dec(&t, &h->block_gas_cost));
}

/* --- extra data of the block --- */

static void ext_hash(cd_hash32 *out, cd_bytes ext_data)
{
    cd_buf rlp = {0};
    cd_rlp_put_str(&rlp, ext_data);
    cd_keccak256(out, cd_buf_bytes(&rlp));
    cd_buf_fini(&rlp);
}

static const u32 ext_fields = CD_HEADER_EXT_DATA_HASH | CD_HEADER_EXT_DATA_GAS_USED;

void cd_header_ext_l1(const cd_chain_rules *r, cd_header *h, cd_bytes ext_data, u64 gas)
{
    bool has_fields = is_c(r) || (r->layout == CD_HEADER_L1_ATOMIC && ext_data.n != 0);
    h->has &= ~ext_fields;
    if (has_fields) {
        h->has |= ext_fields;
        ext_hash(&h->ext_data_hash, ext_data);
        h->ext_data_gas_used = cd_u256_from_u64(gas);
    }
}

static u64 ext_gas(const cd_header *h)
{
    return (h->has & CD_HEADER_EXT_DATA_GAS_USED) != 0 ? cd_u256_to_u64_sat(&h->ext_data_gas_used) : 0;
}

static cd_err check_ext(const cd_chain_rules *r, const cd_block *b, cd_errinfo *why)
{
    cd_hash32 hash;
    text have;
    text want;
    bool has_fields = (b->header.has & ext_fields) != 0;
    if (!is_c(r) && !b->has_ext_data && !has_fields) {
        return CD_OK;
    }
    if (b->version != 0) {
        return cd_fail(why, CD_EINVAL, "invalid version: %u", b->version);
    }
    if ((b->header.has & ext_fields) != ext_fields || (!is_c(r) && b->ext_data.n == 0)) {
        return cd_fail(why, CD_EINVAL, "header and body do not both have extra data");
    }
    ext_hash(&hash, b->ext_data);
    if (!cd_hash32_eq(&hash, &b->header.ext_data_hash)) {
        return cd_fail(why, CD_EINVAL, "extra data hash mismatch: have 0x%s, calculated 0x%s",
                       hex(&have, &b->header.ext_data_hash), hex(&want, &hash));
    }
    if (!cd_u256_fits_u64(&b->header.ext_data_gas_used)) {
        return cd_fail(why, CD_EINVAL, "too large extDataGasUsed: %s", dec(&have, &b->header.ext_data_gas_used));
    }
    return CD_OK;
}

static cd_err check_body(const cd_chain_rules *r, const cd_block *b, cd_errinfo *why)
{
    text have;
    text want;
    cd_hash32 root;
    cd_block_tx_root(&root, b->txs, b->tx_cnt);
    if (!cd_hash32_eq(&root, &b->header.tx_root)) {
        return cd_fail(why, CD_EINVAL, "invalid txs hash 0x%s does not match calculated txs hash 0x%s",
                       hex(&have, &b->header.tx_root), hex(&want, &root));
    }
    cd_uncles_hash(&root, r->layout, b->uncles, b->uncle_cnt);
    if (!cd_hash32_eq(&root, &b->header.uncle_hash)) {
        return cd_fail(why, CD_EINVAL, "invalid uncle hash 0x%s does not match calculated uncle hash 0x%s",
                       hex(&have, &b->header.uncle_hash), hex(&want, &root));
    }
    if (b->uncle_cnt != 0) {
        return cd_fail(why, CD_EINVAL, "uncles unsupported");
    }
    if (b->tx_cnt == 0 && b->ext_data.n == 0 && !r->is_dev) {
        return cd_fail(why, CD_EINVAL, "empty block");
    }
    return check_ext(r, b, why);
}

static cd_err check_blob_fields(const cd_header *h, cd_errinfo *why)
{
    text t;
    if ((h->has & CD_HEADER_BEACON_ROOT) == 0) {
        return cd_fail(why, CD_EINVAL, "header is missing parentBeaconRoot");
    }
    if (!cd_hash32_is_zero(&h->parent_beacon_root)) {
        return cd_fail(why, CD_EINVAL, "invalid non-empty parentBeaconRoot: have %s, expected empty hash",
                       hex(&t, &h->parent_beacon_root));
    }
    if ((h->has & CD_HEADER_EXCESS_BLOB_GAS) == 0) {
        return cd_fail(why, CD_EINVAL, "header is missing excessBlobGas");
    }
    if (h->excess_blob_gas != 0) {
        return cd_fail(why, CD_EINVAL, "invalid excessBlobGas: have %llu, expected 0",
                       (unsigned long long)h->excess_blob_gas);
    }
    if ((h->has & CD_HEADER_BLOB_GAS_USED) == 0) {
        return cd_fail(why, CD_EINVAL, "header is missing blobGasUsed");
    }
    if (h->blob_gas_used != 0) {
        return cd_fail(why, CD_EINVAL, "blobs not enabled on avalanche networks: used %llu blob gas, expected 0",
                       (unsigned long long)h->blob_gas_used);
    }
    return CD_OK;
}

static cd_err check_no_blob_fields(const cd_header *h, cd_errinfo *why)
{
    text t;
    if ((h->has & CD_HEADER_BEACON_ROOT) != 0) {
        return cd_fail(why, CD_EINVAL, "invalid parentBeaconRoot before cancun: have %s, expected nil",
                       hex(&t, &h->parent_beacon_root));
    }
    if ((h->has & CD_HEADER_EXCESS_BLOB_GAS) != 0) {
        return cd_fail(why, CD_EINVAL, "invalid excessBlobGas before cancun: have %llu, expected nil",
                       (unsigned long long)h->excess_blob_gas);
    }
    if ((h->has & CD_HEADER_BLOB_GAS_USED) != 0) {
        return cd_fail(why, CD_EINVAL, "invalid blobGasUsed before cancun: have %llu, expected nil",
                       (unsigned long long)h->blob_gas_used);
    }
    return CD_OK;
}

cd_err cd_block_form_l1(const cd_chain_rules *r, const cd_block *b, cd_errinfo *why)
{
    CD_TRY(check_constants(r, &b->header, why));
    CD_TRY(check_body(r, b, why));
    return is_cancun(r, &b->header) ? check_blob_fields(&b->header, why) : check_no_blob_fields(&b->header, why);
}

/* --- between parent and child --- */

static u64 time_ms_of(const cd_header *h)
{
    return (h->has & CD_HEADER_TIME_MS) != 0 ? h->time_ms : h->time * 1000;
}

static cd_fee_c fee_c_of(const cd_parent_l1 *p, u64 time, u64 time_ms)
{
    return (cd_fee_c){
        .parent_era = cd_chain_rules_era(p->rules, p->header->time),
        .era = cd_chain_rules_era(p->rules, time),
        .parent = p->header,
        .time = time,
        .time_ms = time_ms != 0 ? time_ms : time * 1000,
    };
}

cd_err cd_header_base_fee_l1(cd_u256 *out, const cd_parent_l1 *p, u64 time, u64 time_ms)
{
    if (!is_c(p->rules)) {
        return cd_fee_l1_base_fee(out, &p->child.fee, p->header, time);
    }
    const cd_fee_c f = fee_c_of(p, time, time_ms);
    return cd_fee_c_base_fee(out, &f);
}

/* The gas limit of a child, and what it may use of it. */
static cd_err gas_of_child(u64 *limit, u64 *capacity, const cd_parent_l1 *p, u64 time, u64 time_ms)
{
    if (!is_c(p->rules)) {
        *limit = *capacity = p->child.fee.gas_limit.w[0];
        return CD_OK;
    }
    const cd_fee_c f = fee_c_of(p, time, time_ms);
    return cd_fee_c_gas(limit, capacity, &f);
}

cd_err cd_header_capacity_l1(u64 *out, const cd_parent_l1 *p, const cd_header *h)
{
    u64 limit;
    CD_TRY(gas_of_child(&limit, out, p, h->time, time_ms_of(h)));
    *out = p->rules->is_dev && h->gas_limit != limit ? h->gas_limit : *out;
    return CD_OK;
}

/* The front of the extra field of a child that has used this much gas and claims this much target. */
static cd_err front_of_child(u8 out[CD_FEE_WINDOW_SIZE], usize *n, const cd_parent_l1 *p, const cd_header *h,
                             u64 target_excess)
{
    u64 gas;
    *n = cd_chain_rules_prefix(p->rules, h->time);
    if (!is_c(p->rules)) {
        return cd_fee_l1_window(out, p->header, h->time);
    }
    const cd_fee_c f = fee_c_of(p, h->time, time_ms_of(h));
    return cd_add_u64(&gas, h->gas_used, ext_gas(h)) ? cd_fee_c_prefix(out, &f, gas, target_excess) : CD_ELIMIT;
}

/* The builder leaves the target where it is. */
cd_err cd_header_front_l1(const cd_parent_l1 *p, cd_header *h, cd_arena *a)
{
    u8 front[CD_FEE_WINDOW_SIZE];
    usize n;
    cd_gas_state before = {0};
    if (is_c(p->rules)) {
        const cd_fee_c f = fee_c_of(p, h->time, time_ms_of(h));
        CD_TRY(f.era >= CD_C_FORTUNA ? cd_fee_c_before(&before, &f) : CD_OK);
    }
    CD_TRY(front_of_child(front, &n, p, h, before.target_excess));
    h->extra = cd_arena_dup(a, cd_bytes_of(front, n));
    return CD_OK;
}

/* Milliseconds that the child of a Granite block waits at least. */
static u64 min_delay_ms(u64 excess)
{
    static const cd_blob_schedule curve = {.update_fraction = DELAY_FRACTION};
    cd_u256 ms;
    cd_eth_blob_base_fee(&ms, excess, &curve);
    return cd_max_u64(1, cd_u256_to_u64_sat(&ms));
}

static u64 delay_excess_of(const cd_header *h)
{
    return (h->has & CD_HEADER_MIN_DELAY_EXCESS) != 0 ? h->min_delay_excess : DELAY_EXCESS_INITIAL;
}

static cd_err check_granite(const cd_parent_l1 *p, const cd_header *h, cd_errinfo *why)
{
    if (!cd_chain_rules_is_granite(p->rules, h->time)) {
        return (h->has & granite_fields) == 0
                   ? CD_OK
                   : cd_fail(why, CD_EINVAL, "TimeMilliseconds should be nil before Granite activation");
    }
    if ((h->has & granite_fields) != granite_fields) {
        return cd_fail(why, CD_EINVAL, "TimeMilliseconds is required after Granite activation");
    }
    if (h->time_ms / 1000 != h->time) {
        return cd_fail(why, CD_EINVAL, "TimeMilliseconds does not match header.Time");
    }
    if ((p->header->has & CD_HEADER_MIN_DELAY_EXCESS) != 0 &&
        h->time_ms - time_ms_of(p->header) < min_delay_ms(p->header->min_delay_excess)) {
        return cd_fail(why, CD_EINVAL, "minimum block delay not met: %llu ms < %llu ms",
                       (unsigned long long)(h->time_ms - time_ms_of(p->header)),
                       (unsigned long long)min_delay_ms(p->header->min_delay_excess));
    }
    u64 from = delay_excess_of(p->header);
    u64 moved = h->min_delay_excess > from ? h->min_delay_excess - from : from - h->min_delay_excess;
    return moved <= DELAY_EXCESS_STEP ? CD_OK
                                      : cd_fail(why, CD_EINVAL, "incorrect min delay excess: have %llu, parent %llu",
                                                (unsigned long long)h->min_delay_excess, (unsigned long long)from);
}

static cd_err check_time(const cd_parent_l1 *p, const cd_header *h, u64 now_ms, cd_errinfo *why)
{
    u64 time = time_ms_of(h);
    u64 before = time_ms_of(p->header);
    if (time < before) {
        return cd_fail(why, CD_EINVAL, "block timestamp is too old: %llu < parent %llu", (unsigned long long)time,
                       (unsigned long long)before);
    }
    if (!p->rules->is_dev && time > now_ms + FUTURE_MAX_MS) {
        return cd_fail(why, CD_EINVAL, "block timestamp is too far in the future: %llu > allowed %llu",
                       (unsigned long long)time, (unsigned long long)now_ms + FUTURE_MAX_MS);
    }
    return check_granite(p, h, why);
}

/* Blocks that claim less gas than their transactions take before they run need not be run. */
static cd_err check_gas(const cd_parent_l1 *p, const cd_block *b, cd_errinfo *why)
{
    const cd_header *h = &b->header;
    u64 capacity;
    cd_fork fork = cd_chain_rules_fork(p->rules, h->number, h->time);
    const cd_precompile_table *table = cd_chain_rules_table(p->rules, h->number, h->time);
    u64 sum = 0;
    CD_TRY(cd_header_capacity_l1(&capacity, p, h));
    u64 used = h->gas_used;
    if (p->rules->layout == CD_HEADER_C && cd_chain_rules_era(p->rules, h->time) >= CD_C_FORTUNA &&
        !cd_add_u64(&used, used, ext_gas(h))) {
        used = UINT64_MAX;
    }
    if (used > capacity) {
        return cd_fail(why, CD_EINVAL,
                       "failed to verify intrinsic gas: invalid gas used relative to capacity: "
                       "invalid gas used: have %llu, capacity %llu",
                       (unsigned long long)used, (unsigned long long)capacity);
    }
    for (usize i = 0; i < b->tx_cnt; i++) {
        u64 one = 0;
        cd_tx_invalid bad = cd_tx_intrinsic_gas(&one, &b->txs[i], fork, table);
        if (bad != CD_TX_VALID || !cd_add_u64(&sum, sum, one)) {
            return cd_fail(why, CD_EINVAL, "failed to verify intrinsic gas: %s",
                           cd_tx_invalid_str(bad == CD_TX_VALID ? CD_TX_INTRINSIC_GAS : bad));
        }
    }
    if (sum > h->gas_used) {
        return cd_fail(why, CD_EINVAL,
                       "failed to verify intrinsic gas: total intrinsic gas cost is greater than "
                       "claimed gas used: intrinsic gas (%llu) > claimed gas used (%llu)",
                       (unsigned long long)sum, (unsigned long long)h->gas_used);
    }
    return CD_OK;
}

cd_err cd_block_context_l1(const cd_parent_l1 *p, const cd_block *b, u64 now_ms, cd_errinfo *why)
{
    CD_TRY(check_time(p, &b->header, now_ms, why));
    return check_gas(p, b, why);
}

/* --- computed fields --- */

static void block_gas_cost_of_child(cd_u256 *out, const cd_parent_l1 *p, u64 time)
{
    if (is_c(p->rules)) {
        const cd_fee_c f = fee_c_of(p, time, 0);
        cd_fee_c_block_gas_cost(out, &f);
    } else if (cd_chain_rules_is_granite(p->rules, time)) {
        *out = cd_u256_zero();
    } else {
        cd_fee_l1_block_gas_cost(out, &p->child.fee, p->header, time);
    }
}

static cd_err check_extra(const cd_parent_l1 *p, const cd_header *h, cd_errinfo *why)
{
    u8 front[CD_FEE_WINDOW_SIZE];
    usize n;
    char want[2 * CD_FEE_WINDOW_SIZE + 1] = {0};
    /* A claimed target that is within reach is what comes out when it is wished for. */
    u64 claimed = h->extra.n >= CD_GAS_STATE_SIZE ? cd_be64(h->extra.p + 16) : 0;
    CD_TRY(front_of_child(front, &n, p, h, claimed));
    if (memcmp(front, h->extra.p, n) == 0) {
        return CD_OK;
    }
    cd_hex_fmt(want, cd_bytes_of(front, n));
    cd_buf have = {0};
    cd_hex_put(&have, h->extra);
    cd_err e = cd_fail(why, CD_EINVAL, "invalid header.Extra prefix: expected %s as prefix, found %s", want,
                       cd_buf_cstr(&have) + 2);
    cd_buf_fini(&have);
    return e;
}

static cd_err check_coinbase(const cd_parent_l1 *p, const cd_header *h, cd_errinfo *why)
{
    char have[CD_ADDR_TEXT_SIZE];
    char want[CD_ADDR_TEXT_SIZE];
    const cd_coinbase_rule *rule = &p->child.coinbase;
    if (rule->is_free || cd_addr20_eq(&h->coinbase, &rule->addr)) {
        return CD_OK;
    }
    return cd_fail(why, CD_EINVAL,
                   is_c(p->rules) ? "invalid coinbase %s does not match required blackhole address %s"
                                  : "invalid coinbase: %s does not match required coinbase address %s",
                   cd_addr_fmt(have, &h->coinbase), cd_addr_fmt(want, &rule->addr));
}

cd_err cd_header_check_l1(const cd_parent_l1 *p, const cd_header *h, const cd_dev_record *dev, cd_errinfo *why)
{
    u64 gas_limit;
    u64 capacity;
    cd_u256 want;
    text have_text;
    text want_text;
    CD_TRY(check_coinbase(p, h, why));
    CD_TRY(gas_of_child(&gas_limit, &capacity, p, h->time, time_ms_of(h)));
    if ((dev->chosen & CD_DEV_GAS_LIMIT) == 0 && h->gas_limit != gas_limit) {
        return cd_fail(why, CD_EINVAL,
                       is_c(p->rules) ? "invalid gas limit: expected %llu, found %llu"
                                      : "invalid gas limit: expected to be %llu in Subnet-EVM, but found %llu",
                       (unsigned long long)gas_limit, (unsigned long long)h->gas_limit);
    }
    CD_TRY(check_extra(p, h, why));
    CD_TRY(cd_header_base_fee_l1(&want, p, h->time, time_ms_of(h)));
    if ((dev->chosen & CD_DEV_BASE_FEE) == 0 && !cd_u256_eq(&h->base_fee, &want)) {
        return cd_fail(why, CD_EINVAL, "expected base fee (%s), found (%s)", dec(&want_text, &want),
                       dec(&have_text, &h->base_fee));
    }
    block_gas_cost_of_child(&want, p, h->time);
    if (!cd_u256_eq(&h->block_gas_cost, &want)) {
        return cd_fail(why, CD_EINVAL, "invalid block gas cost: have %s, want %s", dec(&have_text, &h->block_gas_cost),
                       dec(&want_text, &want));
    }
    return h->number == p->header->number + 1 ? CD_OK : cd_fail(why, CD_EINVAL, "invalid block number");
}

cd_err cd_header_fee_l1(const cd_header *h, const cd_u256 *tips, cd_errinfo *why)
{
    text have;
    text want;
    cd_u256 paid = cd_u256_zero();
    if (!cd_u256_is_zero(&h->base_fee)) {
        cd_u256_div(&paid, tips, &h->base_fee);
    }
    if (cd_u256_is_zero(&h->block_gas_cost) || !cd_u256_lt(&paid, &h->block_gas_cost)) {
        return CD_OK;
    }
    return cd_fail(why, CD_EINVAL, "insufficient gas to cover the block cost: expected %s but got %s",
                   dec(&want, &h->block_gas_cost), dec(&have, &paid));
}

/* --- making --- */

static cd_err choose_coinbase(const cd_parent_l1 *p, cd_header *h, const cd_addr20 *wish, cd_errinfo *why)
{
    const cd_coinbase_rule *rule = &p->child.coinbase;
    if (wish != NULL && !rule->is_free && !cd_addr20_eq(wish, &rule->addr)) {
        return cd_fail(why, CD_EINVAL, "coinbase is set by the reward manager");
    }
    h->coinbase = wish != NULL ? *wish : rule->is_free ? CD_BLACKHOLE : rule->addr;
    return CD_OK;
}

cd_err cd_header_make_l1(const cd_parent_l1 *p, cd_header *out, u32 *chosen, cd_arena *a, const cd_header_wish *wish,
                         cd_errinfo *why)
{
    u64 capacity;
    u64 time = cd_max_u64(wish->time, p->header->time);
    cd_header h = {
        .uncle_hash = CD_HASH_EMPTY_LIST,
        .difficulty = cd_u256_one(),
        .number = p->header->number + 1,
        .time = time,
        .has = CD_HEADER_BASE_FEE | CD_HEADER_BLOCK_GAS_COST,
    };
    u32 by_hand = 0;
    CD_TRY(choose_coinbase(p, &h, wish->coinbase, why));
    cd_header_ext_l1(p->rules, &h, (cd_bytes){0}, 0);
    block_gas_cost_of_child(&h.block_gas_cost, p, time);
    if (is_cancun(p->rules, &h)) {
        h.has |= cancun_fields;
    }
    if (cd_chain_rules_is_granite(p->rules, time)) {
        h.has |= granite_fields;
        h.time_ms = wish->time_ms / 1000 == time ? wish->time_ms : time * 1000;
        h.time_ms = cd_max_u64(h.time_ms, time_ms_of(p->header));
        h.min_delay_excess = delay_excess_of(p->header);
    }
    CD_TRY(gas_of_child(&h.gas_limit, &capacity, p, time, time_ms_of(&h)));
    CD_TRY(cd_header_base_fee_l1(&h.base_fee, p, time, time_ms_of(&h)));
    if (wish->base_fee != NULL) {
        h.base_fee = *wish->base_fee;
        by_hand |= CD_DEV_BASE_FEE;
    }
    if (wish->gas_limit != 0 && wish->gas_limit != h.gas_limit) {
        h.gas_limit = wish->gas_limit;
        by_hand |= CD_DEV_GAS_LIMIT;
    }
    if (wish->prev_randao != NULL) {
        h.mix_hash = *wish->prev_randao;
    }
    CD_TRY(cd_header_front_l1(p, &h, a));
    *out = h;
    *chosen = by_hand;
    return CD_OK;
}

/* A genesis of the C profile has the hash of no extra data as zeros, and no price before the third phase. */
static void genesis_c(const cd_chain_rules *r, cd_header *h)
{
    h->has |= CD_HEADER_EXT_DATA_HASH;
    if (cd_chain_rules_era(r, h->time) == CD_C_LAUNCH) {
        h->has &= ~(u32)CD_HEADER_BASE_FEE;
        return;
    }
    h->has |= CD_HEADER_BASE_FEE;
    h->base_fee = cd_fee_c_numbers(CD_C_LAUNCH)->min_base_fee;
}

void cd_header_genesis_l1(const cd_chain_rules *r, cd_header *h, bool skip_post_merge)
{
    if (is_c(r)) {
        genesis_c(r, h);
    } else if ((h->has & CD_HEADER_BASE_FEE) == 0) {
        h->has |= CD_HEADER_BASE_FEE;
        h->base_fee = r->config.fee.min_base_fee;
    }
    if (skip_post_merge) {
        return;
    }
    if (is_cancun(r, h)) {
        h->has |= cancun_fields;
    }
    if (cd_chain_rules_is_granite(r, h->time)) {
        h->has |= granite_fields;
        h->time_ms = h->time * 1000;
        h->min_delay_excess = DELAY_EXCESS_INITIAL;
    }
}
