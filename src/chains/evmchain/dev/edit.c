/* Changes of the head's state without a transaction, and what the next block is told to be. [spec:dev-rpc#3.3] */
#include "base/hex.h"
#include "chains/evmchain/dev/dev_priv.h"
#include "num/u256_text.h"

typedef enum what { BALANCE, MORE_BALANCE, CODE, NONCE, SLOT } what;

/* One change. */
typedef struct edit {
    what what;
    bool only_up; /* NONCE: a lower one is refused */
    cd_addr20 addr;
    cd_u256 n;
    cd_u256 slot;
    cd_bytes code;
} edit;

static cd_err apply(void *ctx, cd_state *st, cd_errinfo *why)
{
    const edit *e = ctx;
    cd_u256 sum;
    cd_acct *a = cd_state_acct(st, &e->addr);
    cd_state_touch(st, a, false);
    switch (e->what) {
    case BALANCE:
        cd_state_set_balance(st, a, &e->n);
        return CD_OK;
    case MORE_BALANCE:
        if (!cd_u256_checked_add(&sum, &a->balance, &e->n)) {
            sum = cd_u256_max();
        }
        cd_state_set_balance(st, a, &sum);
        return CD_OK;
    case CODE:
        cd_state_set_code(st, a, e->code);
        return CD_OK;
    case NONCE:
        if (e->only_up && e->n.w[0] < a->nonce) {
            return cd_fail(why, CD_EINVAL, "New nonce (%llu) must not be smaller than the existing nonce (%llu)",
                           (unsigned long long)e->n.w[0], (unsigned long long)a->nonce);
        }
        cd_state_set_nonce(st, a, e->n.w[0]);
        return CD_OK;
    case SLOT:
        cd_state_set_slot(st, cd_state_slot(st, a, &e->slot), &e->n);
        return CD_OK;
    }
    CD_UNREACHABLE();
}

cd_err cd__dev_edit(cd_rpc_call *call, cd_chain_change *change, void *ctx)
{
    cd_api *api = cd_api_of(call);
    cd_errinfo why = {0};
    cd_err e = cd_api_edit(api, change, ctx, &why);
    return cd__dev_done(call, e == CD_OK ? cd_api_follow(api) : e, &why);
}

static cd_err edit_account(cd_rpc_call *call, edit *e)
{
    CD_TRY(cd_rpc_read_addr(call, &e->addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__dev_edit(call, apply, e));
    return cd__dev_setter(call);
}

cd_err cd__dev_set_balance(cd_rpc_call *call)
{
    edit e = {.what = BALANCE};
    CD_TRY(cd__dev_n(call, &e.n, 1));
    return edit_account(call, &e);
}

cd_err cd__dev_add_balance(cd_rpc_call *call)
{
    edit e = {.what = MORE_BALANCE};
    CD_TRY(cd__dev_n(call, &e.n, 1));
    return edit_account(call, &e);
}

cd_err cd__dev_set_code(cd_rpc_call *call)
{
    edit e = {.what = CODE};
    CD_TRY(cd_rpc_read_data(call, &e.code, cd_rpc_arg(call, 1), 1));
    return edit_account(call, &e);
}

cd_err cd__dev_set_nonce(cd_rpc_call *call)
{
    edit e = {.what = NONCE, .only_up = call->method->name[0] == 'h'};
    u64 nonce;
    CD_TRY(cd__dev_n64(call, &nonce, 1));
    e.n = cd_u256_from_u64(nonce);
    return edit_account(call, &e);
}

cd_err cd__dev_set_storage(cd_rpc_call *call)
{
    edit e = {.what = SLOT};
    cd_bytes slot;
    cd_bytes value;
    cd_json v = cd_rpc_arg(call, 1);
    if (cd_json_str(&slot, v, NULL) == CD_OK && cd_u256_parse(&e.slot, slot) == CD_ERANGE) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "Storage key must not be greater than or equal to 2^256. Received "
                           "%.*s.",
                           (int)cd_min_u64(slot.n, 160), (const char *)slot.p);
    }
    CD_TRY(cd__dev_n(call, &e.slot, 1));
    CD_TRY(cd_rpc_read_data(call, &value, cd_rpc_arg(call, 2), 2));
    if (value.n != 32) {
        cd_buf text = {0};
        cd_hex_put(&text, cd_bytes_sub(value, 0, cd_min_u64(value.n, 80)));
        const char *shown = cd_arena_str(call->arena, cd_buf_bytes(&text));
        cd_buf_fini(&text);
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "Storage value must be exactly 32 bytes long. Received %s, which is %zu "
                           "bytes long.",
                           shown, value.n);
    }
    cd_u256_load_be(&e.n, value.p);
    return edit_account(call, &e);
}

/* --- the next block --- */

cd_err cd__dev_set_coinbase(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_child_rules child;
    cd_addr20 addr;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__dev_done(call, cd_chain_child(d->api->chain, &child), NULL));
    if (!child.coinbase.is_free) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "coinbase is set by the reward manager");
    }
    d->lasting.coinbase = addr;
    d->lasting.has_coinbase = true;
    return cd__dev_setter_save(call);
}

cd_err cd__dev_set_gas_limit(cd_rpc_call *call)
{
    u64 gas;
    cd_errinfo why = {0};
    cd_dev *d = cd__dev_of(call);
    CD_TRY(cd__dev_n64(call, &gas, 0));
    if (gas == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "Block gas limit must be greater than 0");
    }
    d->lasting.gas_limit = gas;
    cd_err e = cd__dev_save(d, &why);
    CD_TRY(cd__dev_done(call, e == CD_OK ? cd_api_follow(d->api) : e, &why));
    cd_json_w_bool(call->out, true); /* under every name */
    return CD_OK;
}

cd_err cd__dev_set_randao(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    CD_TRY(cd_rpc_read_hash(call, &d->once.randao, cd_rpc_arg(call, 0), 0));
    d->once.has_randao = true;
    return cd__dev_setter(call);
}

cd_err cd__dev_set_base_fee(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    u64 fee;
    CD_TRY(cd__dev_n64(call, &fee, 0));
    d->once.base_fee = cd_u256_from_u64(fee);
    d->once.has_base_fee = true;
    CD_TRY(cd__dev_done(call, cd_api_follow(d->api), NULL));
    return cd__dev_setter(call);
}

cd_err cd__dev_set_min_gas_price(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s is not supported when EIP-1559 is active", call->method->name);
}

/* --- the pool --- */

cd_err cd__dev_drop(cd_rpc_call *call)
{
    cd_api *api = cd_api_of(call);
    cd_hash32 hash;
    const cd_accepted *block;
    usize idx;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    bool was_there = cd_txpool_drop(api->pool, &hash);
    if (cd__dev_is_anvil(call)) {
        if (was_there) {
            cd_json_w_hex(call->out, cd_bytes_of(hash.b, 32));
        } else {
            cd_json_w_null(call->out);
        }
        return CD_OK;
    }
    if (!was_there && cd_view_tx(cd_api_view(call), &block, &idx, call->arena, &hash) == CD_OK) {
        char text[65] = {0};
        cd_hex_fmt(text, cd_bytes_of(hash.b, 32));
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "Transaction 0x%s cannot be dropped because it's already mined",
                           text);
    }
    cd_json_w_bool(call->out, was_there);
    return CD_OK;
}

cd_err cd__dev_drop_all(cd_rpc_call *call)
{
    cd_txpool_clear(cd_api_of(call)->pool);
    return cd__dev_setter(call);
}

cd_err cd__dev_drop_sender(cd_rpc_call *call)
{
    cd_addr20 addr;
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    (void)cd_txpool_drop_sender(cd_api_of(call)->pool, &addr);
    return cd__dev_setter(call);
}
