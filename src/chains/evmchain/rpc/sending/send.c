/* Transactions on their way in: signed ones, and those of accounts of the node. */
#include "chains/evmchain/rpc/sending/send.h"
#include "base/hex.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/rpc/sending/keys.h"
#include "chains/evmchain/rpc/sending/prices.h"
#include "rpc/param.h"

cd_err cd__api_sent(cd_rpc_call *call, const cd_hash32 *hash)
{
    cd_api *e = cd_api_of(call);
    if (e->dev != NULL) {
        return e->dev->ops->sent(call, hash);
    }
    e->host->notify(e->host, CD_VM_WANTS_BLOCK);
    return CD_OK;
}

cd_err cd__api_on_owner(cd_rpc_call *call, void (*job)(void *arg), void *arg)
{
    cd_vm_host *host = cd_api_of(call)->host;
    if (call->lane == CD_RPC_OWNER || host->run == NULL) {
        job(arg);
        return CD_OK;
    }
    cd_err e = host->run(host, job, arg);
    return e == CD_OK ? CD_OK
                      : cd_rpc_fail(call, CD_RPC_BUSY, "%s",
                                    e == CD_ECLOSED ? "the server is stopping" : "too many requests are waiting");
}

/* The pool's words; those of a sender without a role say so first where they must. */
static cd_err fail_refused(cd_rpc_call *call, cd_err e, const cd_errinfo *why)
{
    const char *no_role = cd_tx_invalid_str(CD_TX_SENDER_NOT_ALLOWED);
    bool lacks_role = strncmp(why->msg, no_role, strlen(no_role)) == 0;
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s%s", lacks_role ? cd__api_no_role(call) : "",
                       why->msg[0] != '\0' ? why->msg : cd_err_str(e));
}

/* Ends a call whose transaction the pool was given. */
static cd_err added(cd_rpc_call *call, cd_err e, const cd_hash32 *hash, const cd_errinfo *why)
{
    if (e != CD_OK) {
        return fail_refused(call, e, why);
    }
    CD_TRY(cd__api_sent(call, hash));
    cd_json_w_hex(call->out, cd_bytes_of(hash->b, 32));
    return CD_OK;
}

cd_err cd__api_send_raw(cd_rpc_call *call, cd_bytes raw)
{
    cd_hash32 hash;
    cd_errinfo why = {0};
    cd_err e = cd_txpool_add(cd_api_of(call)->pool, &hash, raw, &why);
    return added(call, e, &hash, &why);
}

/* For a sender of the development network that needs no key. */
static cd_err add_unsigned(cd_rpc_call *call, const cd_tx *tx)
{
    cd_hash32 hash;
    cd_errinfo why = {0};
    cd_err e = cd_txpool_add_as(cd_api_of(call)->pool, &hash, tx, &why);
    return added(call, e, &hash, &why);
}

cd_err cd__eth_send_raw(cd_rpc_call *call)
{
    cd_bytes raw;
    CD_TRY(cd_rpc_read_data(call, &raw, cd_rpc_arg(call, 0), 0));
    return cd__api_send_raw(call, raw);
}

cd_err cd__api_complete(cd_rpc_call *call, cd__tx_args *args)
{
    cd_api *e = cd_api_of(call);
    cd_tx *tx = &args->tx;
    if (!args->has_nonce) {
        cd_state_source *src = &e->head.world.src;
        cd_account a = {0};
        bool found;
        cd_err err = src->account(src, &a, &found, &tx->sender);
        if (err != CD_OK) {
            return cd_api_store(call, err);
        }
        tx->nonce = cd_txpool_nonce(e->pool, &tx->sender, a.nonce);
    }
    if (tx->type == CD_TX_DYNAMIC_FEE) {
        cd_u256 tip;
        cd_u256 fee_cap;
        CD_TRY(cd__api_prices(call, &tip, &fee_cap));
        if (!args->has_fee_cap) {
            tx->fee_cap = fee_cap;
            if (cd_u256_lt(&tx->fee_cap, &tx->tip_cap)) {
                cd_u256_add(&tx->fee_cap, &fee_cap, &tx->tip_cap);
            }
        }
        if (!args->has_tip_cap) {
            tx->tip_cap = cd_u256_lt(&tx->fee_cap, &tip) ? tx->fee_cap : tip;
        }
    }
    return args->has_gas ? CD_OK : cd__api_estimate(call, &tx->gas_limit, args);
}

cd_err cd_api_send(cd_rpc_call *call, bool needs_no_key)
{
    cd_api *e = cd_api_of(call);
    cd__tx_args args;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    if (!args.has_from && e->account_cnt != 0) {
        args.tx.sender = e->accounts[0].addr;
    }
    bool is_ours = cd__keys_knows(e, &args.tx.sender);
    bool is_unsigned = needs_no_key || (!is_ours && e->dev != NULL && e->dev->ops->may_send(e->dev, &args.tx.sender));
    if (!is_ours && !is_unsigned) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unknown account");
    }
    if (args.tx.is_create && args.tx.data.n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "contract creation without any data provided");
    }
    CD_TRY(cd__api_complete(call, &args));
    if (is_unsigned) {
        return add_unsigned(call, &args.tx);
    }
    CD_TRY(cd__keys_sign_tx(call, &args.tx));
    cd_buf raw = {0};
    cd_tx_enc(&raw, &args.tx);
    cd_err err = cd__api_send_raw(call, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return err;
}

cd_err cd__eth_send_tx(cd_rpc_call *call)
{
    return cd_api_send(call, false);
}
