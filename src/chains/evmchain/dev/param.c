/* Parameters and results of the development network's methods. [spec:dev-rpc#1] */
#include "chains/evmchain/dev/dev_priv.h"
#include "num/u256_text.h"

/* A JSON integer, or text with a digit at least. */
static cd_err read_number(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx)
{
    cd_bytes text;
    cd_err e = cd_json_str(&text, v, NULL) == CD_OK ? cd_u256_parse(out, text) : cd_json_u256(out, v, NULL);
    return e == CD_OK ? CD_OK
                      : cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                                    "invalid argument %zu: not a non-negative integer that fits", idx);
}

cd_err cd__dev_n(cd_rpc_call *call, cd_u256 *out, usize idx)
{
    return read_number(call, out, cd_rpc_arg(call, idx), idx);
}

cd_err cd__dev_n64_of(cd_rpc_call *call, u64 *out, cd_json v, usize idx)
{
    cd_u256 n;
    CD_TRY(read_number(call, &n, v, idx));
    if (!cd_u256_fits_u64(&n)) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: over 64 bits", idx);
    }
    *out = n.w[0];
    return CD_OK;
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
        e = cd_api_follow(cd_api_of(call));
    }
    CD_TRY(cd__dev_done(call, e, &why));
    return cd__dev_setter(call);
}

cd_err cd__dev_fail(cd_rpc_call *call, cd_err e, const cd_errinfo *why)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why != NULL && why->msg[0] != '\0' ? why->msg : cd_err_str(e));
}
