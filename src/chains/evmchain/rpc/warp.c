/* warp_ methods. [spec:eth-rpc#8] */
#include "chains/evmchain/rpc/methods.h"

#include "chains/evmchain/rpc/api.h"
#include "rpc/param.h"
#include "warp/service.h"

enum { ID_IDX = 0, QUORUM_IDX = 1, NET_IDX = 2 };

static cd_err warp_of(cd_rpc_call *call, cd_warp **out)
{
    *out = cd_api_of(call)->warp;
    return *out != NULL ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "this chain signs no messages");
}

/* An ID as CB58, or 32 bytes as 0x…, as logs have it. */
static cd_err read_id(cd_rpc_call *call, cd_hash32 *out)
{
    cd_bytes text;
    cd_errinfo why = {0};
    cd_err e = cd_json_str(&text, cd_rpc_arg(call, ID_IDX), &why);
    if (e == CD_OK && text.n > 2 && text.p[0] == '0' && text.p[1] == 'x') {
        return cd_rpc_read_hash(call, out, cd_rpc_arg(call, ID_IDX), ID_IDX);
    }
    e = e != CD_OK ? e : cd_id_parse(out, text, &why);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %d: %s", ID_IDX, why.msg);
}

static cd_err say(cd_rpc_call *call, cd_err e, cd_buf *bytes)
{
    if (e == CD_OK) {
        cd_json_w_hex(call->out, cd_buf_bytes(bytes));
    }
    cd_buf_fini(bytes);
    return e;
}

cd_err cd__warp_get_message(cd_rpc_call *call)
{
    cd_warp *w;
    cd_hash32 id;
    cd_buf out = {0};
    CD_TRY(warp_of(call, &w));
    CD_TRY(read_id(call, &id));
    return say(call, cd_warp_say_message(call, w, &out, &id), &out);
}

cd_err cd__warp_get_message_signature(cd_rpc_call *call)
{
    cd_warp *w;
    cd_hash32 id;
    cd_buf out = {0};
    CD_TRY(warp_of(call, &w));
    CD_TRY(read_id(call, &id));
    return say(call, cd_warp_say_signature(call, w, &out, &id), &out);
}

cd_err cd__warp_get_block_signature(cd_rpc_call *call)
{
    cd_warp *w;
    cd_hash32 id;
    cd_buf out = {0};
    CD_TRY(warp_of(call, &w));
    CD_TRY(read_id(call, &id));
    return say(call, cd_warp_say_block_signature(call, w, &out, &id), &out);
}

/* Reads quorum and net, and collects. */
static cd_err collect(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_buf *message)
{
    cd_bytes net = {0};
    cd_errinfo why = {0};
    cd_warp_want want = {.message = cd_buf_bytes(message)};
    if (cd_json_u64(&want.quorum, cd_rpc_arg(call, QUORUM_IDX), &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %d: %s", QUORUM_IDX, why.msg);
    }
    if (cd_rpc_has_arg(call, NET_IDX) && cd_json_str(&net, cd_rpc_arg(call, NET_IDX), &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %d: %s", NET_IDX, why.msg);
    }
    CD_TRY(cd_warp_net_of(call, w, &want.subnet, net));
    return cd_warp_say_collected(call, w, out, &want);
}

cd_err cd__warp_get_message_aggregate(cd_rpc_call *call)
{
    cd_warp *w;
    cd_hash32 id;
    cd_buf message = {0};
    cd_buf out = {0};
    CD_TRY(warp_of(call, &w));
    CD_TRY(read_id(call, &id));
    cd_err e = cd_warp_say_message(call, w, &message, &id);
    e = e != CD_OK ? e : collect(call, w, &out, &message);
    cd_buf_fini(&message);
    return say(call, e, &out);
}

cd_err cd__warp_get_block_aggregate(cd_rpc_call *call)
{
    cd_warp *w;
    cd_hash32 id;
    cd_buf message = {0};
    cd_buf out = {0};
    CD_TRY(warp_of(call, &w));
    CD_TRY(read_id(call, &id));
    cd_warp_block_message(w, &message, &id);
    cd_err e = collect(call, w, &out, &message);
    cd_buf_fini(&message);
    return say(call, e, &out);
}
