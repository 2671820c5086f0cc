#include "rpc/param.h"

#include "base/hex.h"

cd_json cd_rpc_arg(const cd_rpc_call *call, usize idx)
{
    return cd_json_at(call->params, idx);
}

bool cd_rpc_has_arg(const cd_rpc_call *call, usize idx)
{
    return cd_json_has(cd_rpc_arg(call, idx));
}

static cd_err bad(cd_rpc_call *call, usize idx, const char *what)
{
    return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: %s", idx, what);
}

/* The digits behind 0x of a string value. */
static cd_err digits_of(cd_rpc_call *call, cd_bytes *out, cd_json v, usize idx)
{
    cd_bytes s;
    if (cd_json_str(&s, v, NULL) != CD_OK) {
        return bad(call, idx, "json: cannot unmarshal non-string into Go value");
    }
    if (s.n == 0) {
        return bad(call, idx, "empty hex string");
    }
    if (s.n < 2 || s.p[0] != '0' || (s.p[1] | 0x20) != 'x') {
        return bad(call, idx, "hex string without 0x prefix");
    }
    *out = cd_bytes_sub(s, 2, s.n - 2);
    return CD_OK;
}

static cd_err read_fixed(cd_rpc_call *call, u8 *out, usize n, const char *type, cd_json v, usize idx)
{
    cd_bytes d;
    CD_TRY(digits_of(call, &d, v, idx));
    if (d.n % 2 != 0) {
        return bad(call, idx, "hex string of odd length");
    }
    if (d.n != 2 * n) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument %zu: hex string has length %zu, want %zu for %s", idx, d.n, 2 * n, type);
    }
    if (cd_hex_parse(out, d) != CD_OK) {
        return bad(call, idx, "invalid hex string");
    }
    return CD_OK;
}

cd_err cd_rpc_read_addr(cd_rpc_call *call, cd_addr20 *out, cd_json v, usize idx)
{
    return read_fixed(call, out->b, 20, "common.Address", v, idx);
}

cd_err cd_rpc_read_hash(cd_rpc_call *call, cd_hash32 *out, cd_json v, usize idx)
{
    return read_fixed(call, out->b, 32, "common.Hash", v, idx);
}

/* A quantity of at most max_digits hex digits, right-aligned into 32 big-endian bytes. */
static cd_err read_quantity(cd_rpc_call *call, u8 out[32], usize max_digits, cd_json v, usize idx)
{
    cd_bytes d;
    CD_TRY(digits_of(call, &d, v, idx));
    if (d.n == 0) {
        return bad(call, idx, "hex string \"0x\"");
    }
    if (d.n > 1 && d.p[0] == '0') {
        return bad(call, idx, "hex number with leading zero digits");
    }
    if (d.n > max_digits) {
        return bad(call, idx, max_digits == 16 ? "hex number > 64 bits" : "hex number > 256 bits");
    }
    char padded[64];
    memset(padded, '0', sizeof padded);
    memcpy(padded + 64 - d.n, d.p, d.n);
    if (cd_hex_parse(out, cd_bytes_of(padded, 64)) != CD_OK) {
        return bad(call, idx, "invalid hex string");
    }
    return CD_OK;
}

cd_err cd_rpc_read_u64(cd_rpc_call *call, u64 *out, cd_json v, usize idx)
{
    u8 word[32];
    CD_TRY(read_quantity(call, word, 16, v, idx));
    *out = cd_be64(word + 24);
    return CD_OK;
}

cd_err cd_rpc_read_u256(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx)
{
    u8 word[32];
    CD_TRY(read_quantity(call, word, 64, v, idx));
    cd_u256_load_be(out, word);
    return CD_OK;
}

cd_err cd_rpc_read_word(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx)
{
    cd_bytes d;
    u8 word[32];
    char padded[64];
    CD_TRY(digits_of(call, &d, v, idx));
    if (d.n > 64) {
        return bad(call, idx, "hex string too long, want at most 32 bytes");
    }
    memset(padded, '0', sizeof padded);
    memcpy(padded + 64 - d.n, d.p, d.n);
    if (cd_hex_parse(word, cd_bytes_of(padded, 64)) != CD_OK) {
        return bad(call, idx, "invalid hex string");
    }
    cd_u256_load_be(out, word);
    return CD_OK;
}

cd_err cd_rpc_read_data(cd_rpc_call *call, cd_bytes *out, cd_json v, usize idx)
{
    cd_bytes d;
    CD_TRY(digits_of(call, &d, v, idx));
    if (d.n % 2 != 0) {
        return bad(call, idx, "hex string of odd length");
    }
    u8 *p = cd_arena_alloc(call->arena, d.n / 2);
    if (cd_hex_parse(p, d) != CD_OK) {
        return bad(call, idx, "invalid hex string");
    }
    *out = cd_bytes_of(p, d.n / 2);
    return CD_OK;
}

cd_err cd_rpc_read_bool(cd_rpc_call *call, bool *out, cd_json v, usize idx)
{
    if (cd_json_bool(out, v, NULL) != CD_OK) {
        return bad(call, idx, "json: cannot unmarshal value into Go value of type bool");
    }
    return CD_OK;
}

cd_err cd_rpc_read_block(cd_rpc_call *call, cd_block_ref *out, cd_json v, usize idx)
{
    static const struct {
        const char *word;
        cd_block_tag tag;
    } tags[] = {
        {"latest", CD_TAG_LATEST},   {"pending", CD_TAG_PENDING}, {"earliest", CD_TAG_EARLIEST},
        {"accepted", CD_TAG_LATEST}, {"safe", CD_TAG_SAFE},       {"finalized", CD_TAG_FINALIZED},
    };
    cd_bytes s;
    if (!cd_json_has(v)) {
        *out = (cd_block_ref){.tag = CD_TAG_LATEST};
        return CD_OK;
    }
    if (cd_json_kind_of(v) == CD_JSON_OBJ) {
        cd_json hash = cd_json_get(v, "blockHash");
        cd_json number = cd_json_get(v, "blockNumber");
        if (cd_json_has(hash) && cd_json_has(number)) {
            return bad(call, idx, "cannot specify both BlockHash and BlockNumber, choose one or the other");
        }
        if (cd_json_has(hash)) {
            CD_TRY(cd_rpc_read_hash(call, &out->hash, hash, idx));
            out->tag = CD_TAG_HASH;
            return CD_OK;
        }
        if (!cd_json_has(number)) {
            return bad(call, idx, "block number or hash required");
        }
        v = number;
    }
    if (cd_json_str(&s, v, NULL) == CD_OK) {
        for (usize i = 0; i < CD_COUNT(tags); i++) {
            if (cd_bytes_eq(s, cd_bytes_str(tags[i].word))) {
                *out = (cd_block_ref){.tag = tags[i].tag};
                return CD_OK;
            }
        }
        if (s.n == 66) {
            CD_TRY(cd_rpc_read_hash(call, &out->hash, v, idx));
            out->tag = CD_TAG_HASH;
            return CD_OK;
        }
    }
    CD_TRY(cd_rpc_read_u64(call, &out->number, v, idx));
    out->tag = CD_TAG_NUMBER;
    return CD_OK;
}
