/* debug_ methods that give stored things as bytes, and say what is kept. [spec:eth-rpc#4] */
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/param.h"

#include <stdio.h>

/* The block of parameter 0, or a failed call. */
static cd_err load(cd_rpc_call *call, const cd_accepted **out)
{
    cd_block_ref ref;
    u64 number;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__api_number(call, &number, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "block not found");
    }
    cd_err e = cd_view_block(cd_api_view(call), out, call->arena, number);
    return e == CD_OK ? CD_OK : cd_api_store(call, e);
}

cd_err cd__debug_get_raw_block(cd_rpc_call *call)
{
    const cd_accepted *acc;
    CD_TRY(load(call, &acc));
    cd_json_w_hex(call->out, acc->rlp);
    return CD_OK;
}

cd_err cd__debug_get_raw_header(cd_rpc_call *call)
{
    const cd_accepted *acc;
    cd_buf raw = {0};
    CD_TRY(load(call, &acc));
    cd_header_enc(&raw, cd_view_rules(cd_api_view(call))->layout, &acc->block.header);
    cd_json_w_hex(call->out, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return CD_OK;
}

cd_err cd__debug_get_raw_receipts(cd_rpc_call *call)
{
    const cd_accepted *acc;
    cd_buf raw = {0};
    CD_TRY(load(call, &acc));
    CD_TRY(cd__needs_receipts(call, acc));
    cd_json_w_arr(call->out);
    for (usize i = 0; i < acc->block.tx_cnt; i++) {
        cd_buf_clear(&raw);
        cd_receipt_enc(&raw, &acc->receipts[i]);
        cd_json_w_hex(call->out, cd_buf_bytes(&raw));
    }
    cd_json_w_arr_end(call->out);
    cd_buf_fini(&raw);
    return CD_OK;
}

/* The first height on the way from one to another whose state is kept. */
cd_err cd__debug_get_accessible_state(cd_rpc_call *call)
{
    cd_block_ref ref;
    u64 from;
    u64 to;
    bool found;
    bool found_to;
    u64 oldest = cd_view_oldest_state(cd_api_view(call));
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__api_number(call, &from, &found, &ref));
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 1), 1));
    CD_TRY(cd__api_number(call, &to, &found_to, &ref));
    if (!found || !found_to) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    if (from == to) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "from and to needs to be different");
    }
    u64 first = from < to ? cd_max_u64(from, oldest) : from;
    if (from < to ? first >= to : first < oldest) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no state found");
    }
    cd_json_w_u64(call->out, first);
    return CD_OK;
}
