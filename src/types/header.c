#include "types/header.h"

#include "crypto/hash/keccak.h"

typedef enum field_kind {
    F_HASH,
    F_ADDR,
    F_BLOOM,
    F_NONCE,
    F_U64,
    F_U256,
    F_BYTES,
} field_kind;

/* One field of a layout, in the order of the encoding. */
typedef struct row {
    const char *name;
    field_kind kind;
    usize off;
    u32 bit;          /* its bit in cd_header.has; 0: the field is always present */
    bool is_optional; /* may be missing at the end of the header */
    bool can_skip;    /* a hash that may be an empty string although a later field is present */
} row;

// clang-format off
#define MUST(label, k, member)       {.name = label, .kind = k, .off = offsetof(cd_header, member)}
#define OPT(label, k, member, flag) \
    {.name = label, .kind = k, .off = offsetof(cd_header, member), .bit = flag, .is_optional = true}
#define SKIP(label, k, member, flag) \
    {.name = label, .kind = k, .off = offsetof(cd_header, member), .bit = flag, .is_optional = true, .can_skip = true}

#define COMMON                                   \
    MUST("parentHash", F_HASH, parent_hash),         \
    MUST("sha3Uncles", F_HASH, uncle_hash),          \
    MUST("miner", F_ADDR, coinbase),                 \
    MUST("stateRoot", F_HASH, state_root),           \
    MUST("transactionsRoot", F_HASH, tx_root),       \
    MUST("receiptsRoot", F_HASH, receipt_root),      \
    MUST("logsBloom", F_BLOOM, bloom),               \
    MUST("difficulty", F_U256, difficulty),          \
    MUST("number", F_U64, number),                   \
    MUST("gasLimit", F_U64, gas_limit),              \
    MUST("gasUsed", F_U64, gas_used),                \
    MUST("timestamp", F_U64, time),                  \
    MUST("extraData", F_BYTES, extra),               \
    MUST("mixHash", F_HASH, mix_hash),               \
    MUST("nonce", F_NONCE, nonce)

#define BASE_FEE       OPT("baseFeePerGas", F_U256, base_fee, CD_HEADER_BASE_FEE)
#define BLOCK_GAS_COST OPT("blockGasCost", F_U256, block_gas_cost, CD_HEADER_BLOCK_GAS_COST)
#define BLOB_GAS_USED  OPT("blobGasUsed", F_U64, blob_gas_used, CD_HEADER_BLOB_GAS_USED)
#define EXCESS_BLOB    OPT("excessBlobGas", F_U64, excess_blob_gas, CD_HEADER_EXCESS_BLOB_GAS)
#define EXT_GAS        OPT("extDataGasUsed", F_U256, ext_data_gas_used, CD_HEADER_EXT_DATA_GAS_USED)
#define TIME_MS        OPT("timestampMilliseconds", F_U64, time_ms, CD_HEADER_TIME_MS)
#define MIN_DELAY      OPT("minDelayExcess", F_U64, min_delay_excess, CD_HEADER_MIN_DELAY_EXCESS)

static const row ethereum[] = {
    COMMON,
    BASE_FEE,
    OPT("withdrawalsRoot", F_HASH, withdrawals_root, CD_HEADER_WITHDRAWALS_ROOT),
    BLOB_GAS_USED,
    EXCESS_BLOB,
    OPT("parentBeaconBlockRoot", F_HASH, parent_beacon_root, CD_HEADER_BEACON_ROOT),
    OPT("requestsHash", F_HASH, requests_hash, CD_HEADER_REQUESTS_HASH),
};

static const row l1[] = {
    COMMON,
    BASE_FEE,
    BLOCK_GAS_COST,
    BLOB_GAS_USED,
    EXCESS_BLOB,
    SKIP("parentBeaconBlockRoot", F_HASH, parent_beacon_root, CD_HEADER_BEACON_ROOT),
    TIME_MS,
    MIN_DELAY,
};

static const row l1_atomic[] = {
    COMMON,
    BASE_FEE,
    BLOCK_GAS_COST,
    BLOB_GAS_USED,
    EXCESS_BLOB,
    SKIP("parentBeaconBlockRoot", F_HASH, parent_beacon_root, CD_HEADER_BEACON_ROOT),
    SKIP("requestsHash", F_HASH, requests_hash, CD_HEADER_REQUESTS_HASH),
    SKIP("extDataHash", F_HASH, ext_data_hash, CD_HEADER_EXT_DATA_HASH),
    EXT_GAS,
};

static const row c[] = {
    COMMON,
    {.name = "extDataHash", .kind = F_HASH, .off = offsetof(cd_header, ext_data_hash), .bit = CD_HEADER_EXT_DATA_HASH},
    BASE_FEE,
    EXT_GAS,
    BLOCK_GAS_COST,
    BLOB_GAS_USED,
    EXCESS_BLOB,
    SKIP("parentBeaconBlockRoot", F_HASH, parent_beacon_root, CD_HEADER_BEACON_ROOT),
    TIME_MS,
    MIN_DELAY,
};
// clang-format on

static const row *rows_of(cd_header_layout layout, usize *cnt)
{
    static const struct {
        const row *rows;
        usize cnt;
    } layouts[] = {
        [CD_HEADER_ETHEREUM] = {ethereum, CD_COUNT(ethereum)},
        [CD_HEADER_L1] = {l1, CD_COUNT(l1)},
        [CD_HEADER_L1_ATOMIC] = {l1_atomic, CD_COUNT(l1_atomic)},
        [CD_HEADER_C] = {c, CD_COUNT(c)},
    };
    *cnt = layouts[layout].cnt;
    return layouts[layout].rows;
}

u32 cd_header_fields(cd_header_layout layout)
{
    usize cnt;
    const row *rows = rows_of(layout, &cnt);
    u32 all = 0;
    for (usize i = 0; i < cnt; i++) {
        all |= rows[i].bit;
    }
    return all;
}

static usize fixed_size(field_kind kind)
{
    switch (kind) {
    case F_HASH:
        return 32;
    case F_ADDR:
        return 20;
    case F_BLOOM:
        return sizeof(cd_bloom);
    case F_NONCE:
        return 8;
    case F_U64:
    case F_U256:
    case F_BYTES:
        break;
    }
    CD_UNREACHABLE();
}

static void dec_field(void *field, field_kind kind, cd_rlp *r)
{
    switch (kind) {
    case F_HASH:
    case F_ADDR:
    case F_BLOOM:
    case F_NONCE:
        cd_rlp_fixed(r, field, fixed_size(kind));
        break;
    case F_U64:
        *(u64 *)field = cd_rlp_u64(r);
        break;
    case F_U256:
        *(cd_u256 *)field = cd_rlp_u256(r);
        break;
    case F_BYTES:
        *(cd_bytes *)field = cd_rlp_str(r);
        break;
    }
}

static void enc_field(cd_buf *out, const void *field, field_kind kind)
{
    switch (kind) {
    case F_HASH:
    case F_ADDR:
    case F_BLOOM:
    case F_NONCE:
        cd_rlp_put_str(out, cd_bytes_of(field, fixed_size(kind)));
        break;
    case F_U64:
        cd_rlp_put_u64(out, *(const u64 *)field);
        break;
    case F_U256:
        cd_rlp_put_u256(out, field);
        break;
    case F_BYTES:
        cd_rlp_put_str(out, *(const cd_bytes *)field);
        break;
    }
}

static bool next_is_empty(const cd_rlp *r)
{
    return r->p[0] == 0x80;
}

cd_err cd_header_dec(cd_header *out, cd_header_layout layout, cd_rlp *in, cd_errinfo *why)
{
    usize cnt;
    const row *rows = rows_of(layout, &cnt);
    cd_header h = {0};
    cd_rlp r = cd_rlp_list(in);
    for (usize i = 0; i < cnt && r.err == CD_OK; i++) {
        if (rows[i].is_optional && !cd_rlp_more(&r)) {
            break;
        }
        if (rows[i].can_skip && next_is_empty(&r)) {
            (void)cd_rlp_next(&r);
            continue;
        }
        dec_field((u8 *)&h + rows[i].off, rows[i].kind, &r);
        h.has |= rows[i].bit;
        if (r.err != CD_OK) {
            cd_rlp_fail(in, r.err);
            return cd_fail(why, r.err, "header: %s: %s", rows[i].name, cd_err_str(r.err));
        }
    }
    cd_rlp_leave(in, &r);
    if (in->err != CD_OK) {
        return cd_fail(why, in->err, "header: %s", cd_err_str(in->err));
    }
    *out = h;
    return CD_OK;
}

cd_err cd_header_dec_all(cd_header *out, cd_header_layout layout, cd_bytes in, cd_errinfo *why)
{
    cd_header h;
    cd_rlp r = cd_rlp_init(in);
    CD_TRY(cd_header_dec(&h, layout, &r, why));
    if (cd_rlp_more(&r)) {
        return cd_fail(why, CD_ETRAIL, "header: %s", cd_err_str(CD_ETRAIL));
    }
    *out = h;
    return CD_OK;
}

void cd_header_enc(cd_buf *out, cd_header_layout layout, const cd_header *h)
{
    usize cnt;
    const row *rows = rows_of(layout, &cnt);
    while (rows[cnt - 1].is_optional && (h->has & rows[cnt - 1].bit) == 0) {
        cnt--;
    }
    usize list = cd_rlp_begin(out);
    for (usize i = 0; i < cnt; i++) {
        if (rows[i].is_optional && (h->has & rows[i].bit) == 0) {
            cd_rlp_put_str(out, (cd_bytes){0});
        } else {
            enc_field(out, (const u8 *)h + rows[i].off, rows[i].kind);
        }
    }
    cd_rlp_close(out, list);
}

void cd_header_hash(cd_hash32 *out, cd_header_layout layout, const cd_header *h)
{
    cd_buf tmp = {0};
    cd_header_enc(&tmp, layout, h);
    cd_keccak256(out, cd_buf_bytes(&tmp));
    cd_buf_fini(&tmp);
}
