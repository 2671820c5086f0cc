#include "remote/evm.h"

#include "base/hex.h"
#include "base/os/clock.h"
#include "types/predicate.h"
#include "types/tx_codec.h"

const char *cd__hex_text(cd_arena *mem, cd_bytes b)
{
    cd_buf text = {0};
    cd_hex_put(&text, b);
    const char *kept = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}

static const char *addr_text(const cd__evm *x, const cd_addr20 *a)
{
    return cd__hex_text(x->mem, cd_bytes_of(a->b, sizeof a->b));
}

static cd_err ask_quantity(cd__evm *x, u64 *out, const char *method, const char *params, cd_errinfo *why)
{
    cd_json v;
    CD_TRY(cd__remote_ask(x->node, &v, x->path, method, params, why));
    return cd_json_qty_u64(out, v, why);
}

cd_err cd__evm_open(cd__evm *out, cd__remote *node, cd_arena *mem, const char *path, cd_errinfo *why)
{
    *out = (cd__evm){.node = node, .mem = mem, .path = path};
    return ask_quantity(out, &out->chain_id, "eth_chainId", "[]", why);
}

/* --- contracts --- */

cd_err cd__evm_data(cd_bytes *out, cd_arena *mem, const char *signature, const cd_abi_val *args, usize cnt,
                    cd_errinfo *why)
{
    cd_abi_type type;
    cd_buf b = {0};
    const cd_abi_val all = {.items = args, .cnt = cnt};
    cd_abi_selector(cd_buf_extend(&b, 4), signature);
    cd_err e = cd_abi_parse(&type, mem, cd_bytes_str(strchr(signature, '(')), why);
    e = e != CD_OK ? e : cd_abi_enc(&b, &type, &all);
    *out = cd_arena_dup(mem, cd_buf_bytes(&b));
    cd_buf_fini(&b);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "arguments of %s do not fit", signature);
}

cd_err cd__evm_read(cd__evm *x, cd_abi_val *out, const cd_addr20 *to, cd_bytes data, const char *result,
                    cd_errinfo *why)
{
    cd_json v;
    cd_bytes bytes;
    cd_abi_type type;
    const char *params = cd_arena_fmt(x->mem, "[{\"to\":\"%s\",\"data\":\"%s\"},\"latest\"]", addr_text(x, to),
                                      cd__hex_text(x->mem, data));
    CD_TRY(cd__remote_ask(x->node, &v, x->path, "eth_call", params, why));
    CD_TRY(cd_json_hex(&bytes, x->mem, v, why));
    CD_TRY(cd_abi_parse(&type, x->mem, cd_bytes_str(result), why));
    if (cd_abi_dec(out, x->mem, &type, bytes) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "%s has no such contract: it answers %zu bytes where %s is expected",
                       addr_text(x, to), bytes.n, result);
    }
    return CD_OK;
}

/* --- transactions --- */

static cd_err set_fees(cd__evm *x, cd_tx *tx, cd_errinfo *why)
{
    u64 tip;
    cd_json v;
    cd_u256 base;
    CD_TRY(ask_quantity(x, &tip, "eth_maxPriorityFeePerGas", "[]", why));
    CD_TRY(cd__remote_ask(x->node, &v, x->path, "eth_baseFee", "[]", why));
    CD_TRY(cd_json_qty_u256(&base, v, why));
    tx->tip_cap = cd_u256_from_u64(tip);
    cd_u256_add(&base, &base, &base);
    cd_u256_add(&tx->fee_cap, &base, &tx->tip_cap);
    return CD_OK;
}

/* The call as a block of now would run it: on a quiet chain the last one is old, and contracts look at the clock. */
static const char *call_text(const cd__evm *x, const cd__evm_tx *tx, bool is_now)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_arr(&w);
    cd_json_w_obj(&w);
    cd_json_put_hex(&w, "from", cd_bytes_of(tx->from.b, sizeof tx->from.b));
    if (!tx->is_create) {
        cd_json_put_hex(&w, "to", cd_bytes_of(tx->to.b, sizeof tx->to.b));
    }
    cd_json_put_qty_u256(&w, "value", &tx->value);
    cd_json_put_hex(&w, "data", tx->data);
    cd_json_w_obj_end(&w);
    if (is_now) {
        cd_json_w_cstr(&w, "latest");
        cd_json_w_null(&w);
        cd_json_w_obj(&w);
        cd_json_put_qty(&w, "time", cd_clock_wall_s(cd_clock_real()));
        cd_json_w_obj_end(&w);
    }
    cd_json_w_arr_end(&w);
    const char *kept = cd_arena_str(x->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}

static cd_err estimate(cd__evm *x, u64 *out, const cd__evm_tx *tx, cd_errinfo *why)
{
    cd_errinfo said = {0};
    cd_err e = ask_quantity(x, out, "eth_estimateGas", call_text(x, tx, true), &said);
    if (e == CD_EACCES && strstr(said.msg, "too many arguments") != NULL) { /* nodes that know no clock of a call */
        return ask_quantity(x, out, "eth_estimateGas", call_text(x, tx, false), why);
    }
    return e == CD_OK ? CD_OK : cd_fail(why, e, "%s", said.msg);
}

static void attach(const cd__evm *x, cd_tx *tx, const cd__evm_tx *from)
{
    enum { WORD = 32 };
    cd_buf words = {0};
    if (from->predicate.n == 0) {
        return;
    }
    cd_predicate_pack(&words, from->predicate);
    cd_hash32 *keys = cd_arena_array(x->mem, cd_hash32, words.n / WORD);
    cd_access_tuple *access = cd_arena_new(x->mem, cd_access_tuple);
    memcpy(keys, words.p, words.n);
    *access = (cd_access_tuple){.addr = from->predicate_to, .keys = keys, .key_cnt = words.n / WORD};
    tx->access = access;
    tx->access_cnt = 1;
    cd_buf_fini(&words);
}

cd_err cd__evm_issue(cd__evm *x, cd_hash32 *hash, const cd__evm_tx *tx, const u8 *key, cd_errinfo *why)
{
    cd_json v;
    cd_buf raw = {0};
    cd_tx t = {.type = CD_TX_DYNAMIC_FEE,
               .is_protected = true,
               .chain_id = x->chain_id,
               .is_create = tx->is_create,
               .to = tx->to,
               .value = tx->value,
               .data = tx->data,
               .gas_limit = tx->gas};
    const char *who = cd_arena_fmt(x->mem, "[\"%s\",\"pending\"]", addr_text(x, &tx->from));
    CD_TRY(ask_quantity(x, &t.nonce, "eth_getTransactionCount", who, why));
    CD_TRY(set_fees(x, &t, why));
    if (tx->gas == 0) {
        CD_TRY(estimate(x, &t.gas_limit, tx, why));
    }
    attach(x, &t, tx);
    CD_TRY(cd_tx_sign(&t, key));
    cd_tx_enc(&raw, &t);
    const char *params = cd_arena_fmt(x->mem, "[\"%s\"]", cd__hex_text(x->mem, cd_buf_bytes(&raw)));
    cd_buf_fini(&raw);
    *hash = t.hash;
    return cd__remote_ask(x->node, &v, x->path, "eth_sendRawTransaction", params, why);
}

cd_err cd__evm_await(cd__evm *x, bool *is_good, cd_addr20 *created, const cd_hash32 *hash, cd_errinfo *why)
{
    enum { PAUSE_MS = 50, TRIES = 2400 };
    const char *params = cd_arena_fmt(x->mem, "[\"%s\"]", cd__hex_text(x->mem, cd_bytes_of(hash->b, sizeof hash->b)));
    for (int i = 0; i < TRIES; i++) {
        cd_json v;
        u64 good;
        CD_TRY(cd__remote_ask(x->node, &v, x->path, "eth_getTransactionReceipt", params, why));
        if (cd_json_has(v)) {
            CD_TRY(cd_json_qty_u64(&good, cd_json_get(v, "status"), why));
            cd_json contract = cd_json_get(v, "contractAddress");
            *is_good = good == 1;
            return created == NULL || !cd_json_has(contract)
                       ? CD_OK
                       : cd_json_fixed(created->b, sizeof created->b, contract, why);
        }
        cd__remote_pause(x->node, PAUSE_MS);
    }
    return cd_fail(why, CD_ETIMEOUT, "not in a block after two minutes; it may still come");
}
