/* Headers of the L1 profile: what a child must look like, checked and made. [spec:evm-chain#1] [spec:evm-chain#2] */
#include "chains/evmchain/chain_priv.h"
#include "chains/evmchain/fee_l1.h"
#include "num/div.h"
#include "num/u256_text.h"
#include "types/hashes.h"

enum {
    FUTURE_MAX_S = 10,
    /* Predicate results of a block without any: codec version and an empty map. */
    NO_PREDICATES = 6,
    EXTRA_SIZE = CD_FEE_WINDOW_SIZE + NO_PREDICATES,
};

const cd_addr20 cd__blackhole = {.b = {0x01}};

static bool is_cancun(const cd_chain *c, u64 number, u64 time)
{
    return cd_chain_rules_fork(&c->rules, number, time) >= CD_CANCUN;
}

static cd_err check_constants(const cd_chain *c, const cd_block *b, cd_errinfo *why)
{
    static const u8 no_nonce[8];
    const cd_header *h = &b->header;
    cd_u256 one = cd_u256_one();
    char text[CD_U256_TEXT_MAX];
    if (!cd_u256_eq(&h->difficulty, &one)) {
        (void)cd_u256_fmt_dec(text, &h->difficulty);
        return cd_fail(why, CD_EINVAL, "invalid difficulty: %s", text);
    }
    if (memcmp(h->nonce, no_nonce, 8) != 0) {
        return cd_fail(why, CD_EINVAL, "expected nonce to be 0 but got %llu",
                       (unsigned long long)cd_be64(h->nonce));
    }
    if (!cd_hash32_is_zero(&h->mix_hash)) {
        return cd_fail(why, CD_EINVAL, "invalid mix digest");
    }
    if (b->uncle_cnt != 0 || !cd_hash32_eq(&h->uncle_hash, &CD_HASH_EMPTY_LIST)) {
        return cd_fail(why, CD_EINVAL, "uncles unsupported");
    }
    if (!c->rules.config.allow_fee_recipients && !cd_addr20_eq(&h->coinbase, &cd__blackhole)) {
        return cd_fail(why, CD_EINVAL,
                       "invalid coinbase: it does not match the required coinbase address");
    }
    cd_hash32 root;
    cd_block_tx_root(&root, b->txs, b->tx_cnt);
    if (!cd_hash32_eq(&root, &h->tx_root)) {
        return cd_fail(why, CD_EINVAL, "invalid transaction root: header and body differ");
    }
    if (b->tx_cnt == 0 && !c->cfg.allow_empty) {
        return cd_fail(why, CD_EINVAL, "empty block");
    }
    if (b->has_ext_data) {
        return cd_fail(why, CD_EINVAL,
                       "atomic data in a block of a chain without atomic transactions");
    }
    return CD_OK;
}

static cd_err check_cancun(const cd_chain *c, const cd_header *h, cd_errinfo *why)
{
    const u32 fields = CD_HEADER_BLOB_GAS_USED | CD_HEADER_EXCESS_BLOB_GAS | CD_HEADER_BEACON_ROOT;
    if (!is_cancun(c, h->number, h->time)) {
        return (h->has & fields) == 0
                   ? CD_OK
                   : cd_fail(why, CD_EINVAL, "blob fields present before Cancun");
    }
    if ((h->has & fields) != fields) {
        return cd_fail(why, CD_EINVAL, "header is missing its blob fields or beacon root");
    }
    if (h->blob_gas_used != 0) {
        return cd_fail(why, CD_EINVAL,
                       "blobs not enabled on lux networks: used %llu blob gas, expected 0",
                       (unsigned long long)h->blob_gas_used);
    }
    if (h->excess_blob_gas != 0) {
        return cd_fail(why, CD_EINVAL, "invalid excess blob gas: have %llu, want 0",
                       (unsigned long long)h->excess_blob_gas);
    }
    if (!cd_hash32_is_zero(&h->parent_beacon_root)) {
        return cd_fail(why, CD_EINVAL, "invalid parent beacon root: must be zero");
    }
    return CD_OK;
}

static cd_err check_against_parent(const cd_chain *c, const cd_header *h, const cd_header *parent,
                                   u64 now, cd_errinfo *why)
{
    const cd_fee_config *fee = &c->rules.config.fee;
    if (h->number != parent->number + 1) {
        return cd_fail(why, CD_EINVAL, "invalid block number: have %llu, want %llu",
                       (unsigned long long)h->number, (unsigned long long)parent->number + 1);
    }
    if (h->time < parent->time) {
        return cd_fail(why, CD_EINVAL, "invalid timestamp: %llu < parent timestamp %llu",
                       (unsigned long long)h->time, (unsigned long long)parent->time);
    }
    if (h->time > now + FUTURE_MAX_S) {
        return cd_fail(why, CD_EINVAL,
                       "block timestamp is too far in the future: %llu > allowed %llu",
                       (unsigned long long)h->time, (unsigned long long)now + FUTURE_MAX_S);
    }
    if (h->gas_limit != fee->gas_limit.w[0]) {
        return cd_fail(why, CD_EINVAL, "expected gas limit to be %llu, but found %llu",
                       (unsigned long long)fee->gas_limit.w[0], (unsigned long long)h->gas_limit);
    }
    if (h->gas_used > h->gas_limit) {
        return cd_fail(why, CD_EINVAL, "invalid gasUsed: have %llu, gasLimit %llu",
                       (unsigned long long)h->gas_used, (unsigned long long)h->gas_limit);
    }
    cd_u256 want;
    CD_TRY(cd_fee_l1_base_fee(&want, fee, parent, h->time));
    if ((h->has & CD_HEADER_BASE_FEE) == 0 || !cd_u256_eq(&h->base_fee, &want)) {
        char have_text[CD_U256_TEXT_MAX];
        char want_text[CD_U256_TEXT_MAX];
        (void)cd_u256_fmt_dec(have_text, &h->base_fee);
        (void)cd_u256_fmt_dec(want_text, &want);
        return cd_fail(why, CD_EINVAL, "expected base fee %s, found %s", want_text, have_text);
    }
    cd_fee_l1_block_gas_cost(&want, fee, parent, h->time);
    if ((h->has & CD_HEADER_BLOCK_GAS_COST) == 0 || !cd_u256_eq(&h->block_gas_cost, &want)) {
        return cd_fail(why, CD_EINVAL, "invalid block gas cost");
    }
    return CD_OK;
}

/* Window, then the results of predicates, of which this chain has none so far. */
static cd_err make_extra(u8 out[EXTRA_SIZE], const cd_header *parent, u64 time)
{
    memset(out, 0, EXTRA_SIZE);
    return cd_fee_l1_window(out, parent, time);
}

cd_err cd__header_check_l1(const cd_chain *c, const cd_block *b, const cd_header *parent, u64 now,
                           cd_errinfo *why)
{
    const cd_header *h = &b->header;
    u8 extra[EXTRA_SIZE];
    CD_TRY(check_constants(c, b, why));
    CD_TRY(check_against_parent(c, h, parent, now, why));
    CD_TRY(check_cancun(c, h, why));
    if (h->extra.n < CD_FEE_WINDOW_SIZE) {
        return cd_fail(why, CD_EINVAL, "invalid header.Extra length: expected >= %d but got %zu",
                       CD_FEE_WINDOW_SIZE, h->extra.n);
    }
    CD_TRY(make_extra(extra, parent, h->time));
    if (!cd_bytes_eq(h->extra, cd_bytes_of(extra, sizeof extra))) {
        return cd_fail(why, CD_EINVAL,
                       "invalid extra data: fee window or predicate results differ");
    }
    return CD_OK;
}

cd_err cd__header_next_l1(const cd_chain *c, cd_header *out, cd_arena *a, const cd_header *parent,
                          u64 time)
{
    const cd_fee_config *fee = &c->rules.config.fee;
    u8 extra[EXTRA_SIZE];
    cd_header h = {
        .uncle_hash = CD_HASH_EMPTY_LIST,
        .coinbase = cd__blackhole,
        .difficulty = cd_u256_one(),
        .number = parent->number + 1,
        .gas_limit = fee->gas_limit.w[0],
        .time = time,
        .has = CD_HEADER_BASE_FEE | CD_HEADER_BLOCK_GAS_COST,
    };
    CD_TRY(make_extra(extra, parent, time));
    CD_TRY(cd_fee_l1_base_fee(&h.base_fee, fee, parent, time));
    cd_fee_l1_block_gas_cost(&h.block_gas_cost, fee, parent, time);
    if (is_cancun(c, h.number, time)) {
        h.has |= CD_HEADER_BLOB_GAS_USED | CD_HEADER_EXCESS_BLOB_GAS | CD_HEADER_BEACON_ROOT;
    }
    h.extra = cd_arena_dup(a, cd_bytes_of(extra, sizeof extra));
    *out = h;
    return CD_OK;
}

cd_err cd__block_fee_check(const cd_header *h, const cd_u256 *tips, cd_errinfo *why)
{
    cd_u256 paid = cd_u256_zero();
    if (!cd_u256_is_zero(&h->base_fee)) {
        cd_u256_div(&paid, tips, &h->base_fee);
    }
    if (!cd_u256_is_zero(&h->block_gas_cost) && cd_u256_lt(&paid, &h->block_gas_cost)) {
        char have[CD_U256_TEXT_MAX];
        char want[CD_U256_TEXT_MAX];
        (void)cd_u256_fmt_dec(have, &paid);
        (void)cd_u256_fmt_dec(want, &h->block_gas_cost);
        return cd_fail(why, CD_EINVAL,
                       "insufficient gas to cover the block cost: expected %s but got %s", want,
                       have);
    }
    return CD_OK;
}
