/* Parameters and results of the development network's methods. [spec:dev-rpc#1] */
#include "chains/evmchain/dev/dev.h"

static cd_err bad_number(cd_rpc_call *call, usize idx)
{
    return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                       "invalid argument %zu: not a non-negative integer that fits", idx);
}

cd_err cd__dev_n(cd_rpc_call *call, cd_u256 *out, usize idx)
{
    return cd_json_u256(out, cd_rpc_arg(call, idx), NULL) == CD_OK ? CD_OK : bad_number(call, idx);
}

cd_err cd__dev_n64_of(cd_rpc_call *call, u64 *out, cd_json v, usize idx)
{
    return cd_json_u64(out, v, NULL) == CD_OK ? CD_OK : bad_number(call, idx);
}

cd_err cd__dev_n64(cd_rpc_call *call, u64 *out, usize idx)
{
    return cd__dev_n64_of(call, out, cd_rpc_arg(call, idx), idx);
}

bool cd__dev_is_anvil(const cd_rpc_call *call)
{
    return call->method->name[0] == 'a';
}

cd_err cd__dev_setter(cd_rpc_call *call)
{
    if (cd__dev_is_anvil(call) || call->method->name[0] == 't') {
        cd_json_w_null(call->out);
    } else {
        cd_json_w_bool(call->out, true);
    }
    return CD_OK;
}

cd_err cd__dev_setter_save(cd_rpc_call *call)
{
    cd_errinfo why = {0};
    cd_err e = cd__dev_save(cd__dev_of(call), &why);
    if (e == CD_OK) {
        e = cd__vm_follow(cd__vm_of(call));
    }
    CD_TRY(cd__dev_done(call, e, &why));
    return cd__dev_setter(call);
}

cd_err cd__dev_fail(cd_rpc_call *call, cd_err e, const cd_errinfo *why)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s",
                       why != NULL && why->msg[0] != '\0' ? why->msg : cd_err_str(e));
}
