/* What tools ask a development node about itself. [spec:dev-rpc#3.4] */
#include "base/version.h"
#include "chains/evmchain/dev/dev_priv.h"

/* {"0x1": [number, hash], …} */
static cd_err write_snapshots(cd_rpc_call *call)
{
    const cd_dev *d = cd__dev_of(call);
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    for (usize i = 0; i < d->snapshot_cnt; i++) {
        const cd__dev_snapshot *s = &d->snapshots[i];
        u64 height = s->version >> CD_WORLD_EDIT_BITS;
        cd_hash32 hash;
        cd_err e = cd_view_hash(cd_api_view(call), &hash, height);
        CD_TRY(cd__dev_done(call, e, NULL));
        cd_json_w_key(w, cd_arena_fmt(call->arena, "0x%llx", (unsigned long long)s->id));
        cd_json_w_arr(w);
        cd_json_w_u64(w, height);
        cd_json_w_hex(w, cd_bytes_of(hash.b, 32));
        cd_json_w_arr_end(w);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__dev_metadata(cd_rpc_call *call)
{
    const cd_dev *d = cd__dev_of(call);
    const cd_block *head = cd_chain_head(d->api->chain);
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_w_key(w, "clientVersion");
    cd_json_w_cstr(w, "anvil/v1.0.0 candela/" CD_VERSION);
    cd_json_w_key(w, "chainId");
    cd_json_w_u64(w, cd_chain_rules_of(d->api->chain)->chain_id);
    cd_json_put_hash(w, "instanceId", &d->instance);
    cd_json_w_key(w, "latestBlockNumber");
    cd_json_w_u64(w, head->header.number);
    cd_json_put_hash(w, "latestBlockHash", &head->hash);
    cd_json_w_key(w, "forkedNetwork");
    cd_json_w_null(w);
    cd_json_w_key(w, "snapshots");
    CD_TRY(write_snapshots(call));
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__dev_node_info(cd_rpc_call *call)
{
    const cd_dev *d = cd__dev_of(call);
    const cd_block *head = cd_chain_head(d->api->chain);
    cd_build_cfg cfg;
    cd_header next;
    cd_u256 price;
    cd_json_w *w = call->out;
    cd__dev_next(&d->hooks, &cfg);
    cd_err e = cd_chain_next_header_as(d->api->chain, &next, call->arena, &cfg.wish, NULL);
    CD_TRY(cd__dev_done(call, e, NULL));
    CD_TRY(cd_api_tip(call, &price));
    cd_u256_add(&price, &price, &next.base_fee);
    cd_json_w_obj(w);
    cd_json_w_key(w, "currentBlockNumber");
    cd_json_w_qty(w, head->header.number);
    cd_json_w_key(w, "currentBlockTimestamp");
    cd_json_w_u64(w, head->header.time);
    cd_json_put_hash(w, "currentBlockHash", &head->hash);
    cd_json_w_key(w, "hardFork");
    cd_json_w_cstr(w, "CANCUN");
    cd_json_w_key(w, "transactionOrder");
    cd_json_w_cstr(w, "fees");
    cd_json_w_key(w, "environment");
    cd_json_w_obj(w);
    cd_json_w_key(w, "baseFee");
    cd_json_w_qty_u256(w, &next.base_fee);
    cd_json_w_key(w, "chainId");
    cd_json_w_u64(w, cd_chain_rules_of(d->api->chain)->chain_id);
    cd_json_w_key(w, "gasLimit");
    cd_json_w_qty(w, next.gas_limit);
    cd_json_w_key(w, "gasPrice");
    cd_json_w_qty_u256(w, &price);
    cd_json_w_obj_end(w);
    cd_json_w_key(w, "forkConfig");
    cd_json_w_raw(w, cd_bytes_str("{\"forkUrl\":null,\"forkBlockNumber\":null,"
                                  "\"forkRetryBackoff\":null}"));
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__dev_genesis_time(cd_rpc_call *call)
{
    cd_header h;
    cd_err e = cd_view_header(cd_api_view(call), &h, call->arena, 0);
    CD_TRY(cd__dev_done(call, e, NULL));
    cd_json_w_u64(call->out, h.time);
    return CD_OK;
}

cd_err cd__dev_last_wall_time(cd_rpc_call *call)
{
    u64 ms = cd__dev_of(call)->last_block_wall_ms;
    if (ms == 0) {
        cd_json_w_null(call->out);
    } else {
        cd_json_w_u64(call->out, ms);
    }
    return CD_OK;
}

cd_err cd__dev_set_logging(cd_rpc_call *call)
{
    bool on;
    CD_TRY(cd_rpc_read_bool(call, &on, cd_rpc_arg(call, 0), 0));
    atomic_store(&cd__dev_of(call)->is_logging, on);
    return cd__dev_setter(call);
}

/* output is a compiler's: {contracts: {file: {name: {abi}}}}. */
cd_err cd__dev_add_compilation(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_json contracts = cd_json_get(cd_rpc_arg(call, 2), "contracts");
    bool fine = cd_json_kind_of(contracts) == CD_JSON_OBJ;
    cd_json_it file = cd_json_iter(contracts);
    while (cd_json_next(&file)) {
        cd_json_it contract = cd_json_iter(file.val);
        while (cd_json_next(&contract)) {
            fine = cd_names_add(d->names, cd_json_get(contract.val, "abi"), NULL) == CD_OK && fine;
        }
    }
    cd_json_w_bool(call->out, fine);
    return CD_OK;
}

/* --- constants --- */

cd_err cd__dev_zero(cd_rpc_call *call)
{
    cd_json_w_u64(call->out, 0);
    return CD_OK;
}

cd_err cd__dev_qty_zero(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, 0);
    return CD_OK;
}

cd_err cd__dev_no(cd_rpc_call *call)
{
    cd_json_w_bool(call->out, false);
    return CD_OK;
}

cd_err cd__dev_protocol_version(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, 0x41);
    return CD_OK;
}

cd_err cd__dev_set_chain_id(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "the chain id is fixed");
}

cd_err cd__dev_set_rpc_url(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "forking is not supported");
}
