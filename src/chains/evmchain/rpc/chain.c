/* Methods about the chain as a whole: ids, head, accounts; and what handlers share. */
#include "base/hex.h"
#include "base/version.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "crypto/hash/keccak.h"
#include "rpc/param.h"

#include <stdio.h>

cd_err cd_api_store(cd_rpc_call *call, cd_err e)
{
    if (e == CD_EAGAIN && call->lane == CD_RPC_TRY) {
        return e; /* no failure: it will be called again where it may wait */
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", cd_err_str(e));
}

cd_err cd__api_number(cd_rpc_call *call, u64 *out, bool *found, const cd_block_ref *ref)
{
    const cd_view *v = cd_api_view(call);
    u64 head = cd_view_head(v)->block.header.number;
    *found = true;
    switch (ref->tag) {
    case CD_TAG_LATEST:
    case CD_TAG_PENDING:
        *out = head;
        return CD_OK;
    case CD_TAG_SAFE:
    case CD_TAG_FINALIZED:
        *out = cd_api_final(cd_api_of(call), head);
        return CD_OK;
    case CD_TAG_EARLIEST:
        *out = 0;
        return CD_OK;
    case CD_TAG_NUMBER:
        if (ref->number > head &&
            (cd_api_of(call)->config->allow_unfinalized || cd_view_rules(v)->layout == CD_HEADER_ETHEREUM)) {
            *found = false; /* on an Ethereum chain it may come to be without a promise of ours */
            return CD_OK;
        }
        if (ref->number > head) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "cannot query unfinalized data");
        }
        *out = ref->number;
        return CD_OK;
    case CD_TAG_HASH: {
        const cd_accepted *b;
        cd_err err = cd_view_block_by_hash(cd_api_view(call), &b, call->arena, &ref->hash);
        *found = err == CD_OK;
        if (err == CD_OK) {
            *out = b->block.header.number;
        }
        return err == CD_OK || err == CD_ENOENT ? CD_OK : cd_api_store(call, err);
    }
    }
    CD_UNREACHABLE();
}

cd_err cd__api_account(cd_rpc_call *call, cd_account *out, const cd_addr20 *addr, cd_json v, usize idx)
{
    cd_block_ref ref;
    cd_view_source src;
    bool found;
    cd_view *view = cd_api_view(call);
    CD_TRY(cd_rpc_read_block(call, &ref, v, idx));
    if (ref.tag == CD_TAG_LATEST) {
        cd_err e = cd_view_account(view, out, addr, call->lane != CD_RPC_TRY);
        return e == CD_OK ? CD_OK : cd_api_store(call, e);
    }
    *out = (cd_account){.code_hash = CD_HASH_EMPTY_CODE, .storage_root = CD_HASH_EMPTY_TRIE};
    CD_TRY(cd__api_source(call, &src, v, idx));
    cd_state_source *state = &src.world.src;
    cd_err e = state->account(state, out, &found, addr);
    cd_view_source_fini(&src);
    return e == CD_OK ? CD_OK : cd_api_store(call, e);
}

cd_err cd__api_source(cd_rpc_call *call, cd_view_source *out, cd_json v, usize idx)
{
    cd_block_ref ref;
    u64 number;
    bool found;
    const cd_accepted *pending;
    CD_TRY(cd_rpc_read_block(call, &ref, v, idx));
    if (call->lane == CD_RPC_TRY && ref.tag == CD_TAG_HASH) {
        return CD_EAGAIN;
    }
    CD_TRY(cd__pending_block(call, &pending, &ref));
    CD_TRY(cd__api_number(call, &number, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    cd_view *view = cd_api_view(call);
    if (call->lane == CD_RPC_TRY) {
        return cd_view_source_init_quick(out, view, number);
    }
    cd_err e = cd_view_source_init(out, view, number);
    if (e == CD_OK && pending != NULL) {
        cd_view_source_stand_for(out, cd__pending_state(call));
    }
    return e == CD_OK ? CD_OK : cd__api_no_state(call, e, number);
}

cd_err cd__api_no_state(cd_rpc_call *call, cd_err e, u64 number)
{
    cd_header h;
    char root[65] = {0};
    if (e != CD_EMISSING || cd_view_header(cd_api_view(call), &h, call->arena, number) != CD_OK) {
        return cd_api_store(call, e);
    }
    cd_hex_fmt(root, cd_bytes_of(h.state_root.b, 32));
    return cd_rpc_fail(call, CD_RPC_SERVER, "missing trie node %s (path ) state 0x%s is not available", root, root);
}

const char *cd__api_no_role(const cd_rpc_call *call)
{
    return cd_api_of(call)->service.cfg.is_product ? "unauthorized: " : "";
}

cd_err cd__api_need(cd_rpc_call *call, usize idx)
{
    return cd_api_of(call)->is_dev || cd_rpc_has_arg(call, idx)
               ? CD_OK
               : cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "missing value for required argument %zu", idx);
}

/* --- methods --- */

cd_err cd__web3_client_version(cd_rpc_call *call)
{
    /* Hardhat's helpers look for "anvil" before they use a development chain [spec:decisions#D47]. */
    cd_json_w_cstr(call->out, cd_api_of(call)->is_dev ? "anvil/v1.0.0 candela/" CD_VERSION : "candela/" CD_VERSION);
    return CD_OK;
}

cd_err cd__web3_sha3(cd_rpc_call *call)
{
    cd_bytes data;
    cd_hash32 hash;
    CD_TRY(cd_rpc_read_data(call, &data, cd_rpc_arg(call, 0), 0));
    cd_keccak256(&hash, data);
    cd_json_w_hex(call->out, cd_bytes_of(hash.b, 32));
    return CD_OK;
}

cd_err cd__net_version(cd_rpc_call *call)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)cd_chain_rules_of(cd_api_of(call)->chain)->chain_id);
    cd_json_w_cstr(call->out, text);
    return CD_OK;
}

cd_err cd__net_listening(cd_rpc_call *call)
{
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

cd_err cd__net_peer_count(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, 0);
    return CD_OK;
}

cd_err cd__eth_chain_id(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, cd_chain_rules_of(cd_api_of(call)->chain)->chain_id);
    return CD_OK;
}

cd_err cd__eth_block_number(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, cd_view_head(cd_api_view(call))->block.header.number);
    return CD_OK;
}

cd_err cd__eth_syncing(cd_rpc_call *call)
{
    cd_json_w_bool(call->out, false);
    return CD_OK;
}

cd_err cd__eth_coinbase(cd_rpc_call *call)
{
    static const cd_addr20 blackhole = {.b = {0x01}};
    cd_api_dev *dev = cd_api_of(call)->dev;
    const cd_addr20 *addr = dev == NULL ? NULL : dev->ops->coinbase(dev);
    cd_json_w_hex(call->out, cd_bytes_of(addr == NULL ? blackhole.b : addr->b, 20));
    return CD_OK;
}
