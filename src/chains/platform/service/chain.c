#include "chains/platform/service/service_priv.h"
#include "types/pblock.h"

/* --- heights and times --- */

static cd_err put_height(cd_rpc_call *call, u64 height)
{
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "height", height);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* A number of the state; what the store says is the call's error. */
cd_err cd__number(cd_rpc_call *call, u64 *out, const cd_pstate *s, cd_pstate_num which)
{
    cd_err e = cd_pstate_num_get(s, out, which);
    return e == CD_OK ? CD_OK : cd__fail(call, "%s", cd__words(e));
}

cd_err cd__platform_height(cd_rpc_call *call)
{
    cd_pstate s;
    u64 height;
    CD_TRY(cd__state_of(&s, call));
    CD_TRY(cd__number(call, &height, &s, CD_PSTATE_LAST_HEIGHT));
    return put_height(call, height);
}

cd_err cd__platform_proposed_height(cd_rpc_call *call)
{
    const cd_vm_validators *v = cd__service_of(call)->cfg.validators;
    u64 height;
    cd_err e = v->minimum(v, &height);
    return e == CD_OK ? put_height(call, height) : cd__fail(call, "%s", cd__words(e));
}

cd_err cd__platform_timestamp(cd_rpc_call *call)
{
    cd_pstate s;
    u64 time;
    CD_TRY(cd__state_of(&s, call));
    CD_TRY(cd__number(call, &time, &s, CD_PSTATE_TIME));
    cd_json_w_obj(call->out);
    cd_json_put_time(call->out, "timestamp", time * CD_NS_PER_SEC);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- blocks --- */

static cd_err put_block(cd_rpc_call *call, const cd_hash32 *id, cd_bytes bytes, cd_encoding encoding)
{
    const cd_linear_place place = cd__place_of(cd__service_of(call));
    cd_p_block block;
    if (encoding == CD_ENCODING_JSON &&
        cd_linear_parse(&block, &cd_p_block_table, call->arena, bytes, 0, NULL) != CD_OK) {
        return cd__fail(call, "%s", cd__words(CD_ECORRUPT));
    }
    cd_json_w_obj(call->out);
    if (encoding == CD_ENCODING_JSON) {
        cd_buf text = {0};
        cd_json_w w = {.out = &text};
        cd_p_block_json(&w, &place, &block, id);
        cd__put_named(call, "block", cd_buf_bytes(&text));
        cd_buf_fini(&text);
    } else {
        cd_json_put_encoded(call->out, "block", encoding, bytes);
    }
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(encoding));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_block(cd_rpc_call *call)
{
    const cd__platform_block_args *args = call->args;
    cd_pstate s;
    cd_bytes bytes;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_block_get(&s, &bytes, call->arena, &args->block_id);
    if (e != CD_OK) {
        return cd__fail(call, "couldn't get block with id %s: %s", cd__id_text(call, &args->block_id), cd__words(e));
    }
    return put_block(call, &args->block_id, bytes, args->encoding);
}

cd_err cd__platform_block_by_height(cd_rpc_call *call)
{
    const cd__platform_block_by_height_args *args = call->args;
    cd_pstate s;
    cd_hash32 id;
    cd_bytes bytes;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_block_id_get(&s, &id, args->height);
    e = e != CD_OK ? e : cd_pstate_block_get(&s, &bytes, call->arena, &id);
    if (e != CD_OK) {
        return cd__fail(call, "couldn't get block at height %llu: %s", (unsigned long long)args->height, cd__words(e));
    }
    return put_block(call, &id, bytes, args->encoding);
}

/* --- transactions --- */

cd_err cd__platform_tx(cd_rpc_call *call)
{
    const cd__platform_tx_args *args = call->args;
    const cd_linear_place place = cd__place_of(cd__service_of(call));
    cd_pstate s;
    cd_bytes bytes;
    cd_p_tx tx;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_tx_get(&s, &bytes, NULL, call->arena, &args->tx_id);
    if (e == CD_OK && args->encoding == CD_ENCODING_JSON) { /* one of genesis may be larger than others */
        e = cd_linear_parse(&tx, &cd_p_tx_table, call->arena, bytes, bytes.n, NULL) == CD_OK ? CD_OK : CD_ECORRUPT;
    }
    if (e != CD_OK) {
        return cd__fail(call, "couldn't get tx: %s", cd__words(e));
    }
    cd_json_w_obj(call->out);
    if (args->encoding == CD_ENCODING_JSON) {
        cd_buf text = {0};
        cd_json_w w = {.out = &text};
        cd_p_tx_json(&w, &place, &tx, &args->tx_id);
        cd__put_named(call, "tx", cd_buf_bytes(&text));
        cd_buf_fini(&text);
    } else {
        cd_json_put_encoded(call->out, "tx", args->encoding, bytes);
    }
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(args->encoding));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static const char *status_name(cd_p_status status)
{
    switch (status) {
    case CD_P_STATUS_COMMITTED:
        return "Committed";
    case CD_P_STATUS_ABORTED:
        return "Aborted";
    case CD_P_STATUS_PROCESSING:
        return "Processing";
    case CD_P_STATUS_UNKNOWN:
        return "Unknown";
    case CD_P_STATUS_DROPPED:
        return "Dropped";
    }
    CD_UNREACHABLE();
}

cd_err cd__platform_tx_status(cd_rpc_call *call)
{
    const cd__platform_tx_status_args *args = call->args;
    const cd_platform_cfg *cfg = &cd__service_of(call)->cfg;
    cd_pstate s;
    cd_p_status status = CD_P_STATUS_UNKNOWN;
    cd_bytes reason = {0};
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_tx_get(&s, NULL, &status, NULL, &args->tx_id);
    if (e == CD_ENOENT) {
        status =
            cfg->pending == NULL ? CD_P_STATUS_UNKNOWN : cfg->pending(cfg->ctx, &reason, call->arena, &args->tx_id);
    } else if (e != CD_OK) {
        return cd__fail(call, "%s", cd__words(e));
    }
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "status", status_name(status));
    if (reason.n != 0) {
        cd_json_put_str(call->out, "reason", reason);
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_issue(cd_rpc_call *call)
{
    const cd__platform_issue_args *args = call->args;
    const cd_platform_cfg *cfg = &cd__service_of(call)->cfg;
    cd_bytes bytes;
    cd_p_tx tx;
    cd_hash32 id;
    cd_errinfo why = {0};
    if (cd_encoding_dec(&bytes, call->arena, args->encoding, args->tx, &why) != CD_OK) {
        return cd__fail(call, "problem decoding transaction: %s", why.msg);
    }
    if (cd_linear_parse(&tx, &cd_p_tx_table, call->arena, bytes, 0, &why) != CD_OK) {
        return cd__fail(call, "couldn't parse tx: couldn't parse tx: %s", why.msg);
    }
    if (cfg->issue == NULL) {
        return cd__fail(call, "couldn't issue tx: this node takes none");
    }
    if (cfg->issue(cfg->ctx, &id, bytes, &why) != CD_OK) {
        return cd__fail(call, "couldn't issue tx: %s", why.msg);
    }
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "txID", &id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- fees --- */

cd_err cd__platform_fee_config(cd_rpc_call *call)
{
    const cd_gas_config *c = cd__service_of(call)->cfg.gas;
    const u64 weights[] = {c->weights.bandwidth, c->weights.reads, c->weights.writes, c->weights.compute};
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "weights");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < CD_COUNT(weights); i++) {
        cd_json_w_u64(call->out, weights[i]);
    }
    cd_json_w_arr_end(call->out);
    cd_json_put_u64(call->out, "maxCapacity", c->max_capacity);
    cd_json_put_u64(call->out, "maxPerSecond", c->max_per_second);
    cd_json_put_u64(call->out, "targetPerSecond", c->target_per_second);
    cd_json_put_u64(call->out, "minPrice", c->min_price);
    cd_json_put_u64(call->out, "excessConversionConstant", c->k);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_fee_state(cd_rpc_call *call)
{
    const cd_gas_config *c = cd__service_of(call)->cfg.gas;
    cd_pstate s;
    u64 capacity;
    u64 excess;
    u64 time;
    CD_TRY(cd__state_of(&s, call));
    CD_TRY(cd__number(call, &capacity, &s, CD_PSTATE_FEE_CAPACITY));
    CD_TRY(cd__number(call, &excess, &s, CD_PSTATE_FEE_EXCESS));
    CD_TRY(cd__number(call, &time, &s, CD_PSTATE_TIME));
    cd_json_w_obj(call->out);
    cd_json_put_u64(call->out, "capacity", capacity);
    cd_json_put_u64(call->out, "excess", excess);
    cd_json_put_u64(call->out, "price", cd_gas_price(c->min_price, excess, c->k));
    cd_json_put_time(call->out, "timestamp", time * CD_NS_PER_SEC);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_validator_fee_config(cd_rpc_call *call)
{
    const cd_l1_fee_config *c = cd__service_of(call)->cfg.l1_fee;
    cd_json_w_obj(call->out);
    cd_json_put_u64(call->out, "capacity", c->capacity);
    cd_json_put_u64(call->out, "target", c->target);
    cd_json_put_u64(call->out, "minPrice", c->min_price);
    cd_json_put_u64(call->out, "excessConversionConstant", c->k);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_validator_fee_state(cd_rpc_call *call)
{
    const cd_l1_fee_config *c = cd__service_of(call)->cfg.l1_fee;
    cd_pstate s;
    u64 excess;
    u64 time;
    CD_TRY(cd__state_of(&s, call));
    CD_TRY(cd__number(call, &excess, &s, CD_PSTATE_L1_EXCESS));
    CD_TRY(cd__number(call, &time, &s, CD_PSTATE_TIME));
    cd_json_w_obj(call->out);
    cd_json_put_u64(call->out, "excess", excess);
    cd_json_put_u64(call->out, "price", cd_gas_price(c->min_price, excess, c->k));
    cd_json_put_time(call->out, "timestamp", time * CD_NS_PER_SEC);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}
