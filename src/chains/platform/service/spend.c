/* Transactions that the node makes and signs with the keys of a user. What they must obey is the chain's to say; here
 * they are put together. [spec:node-api#5] [spec:pchain-xchain#4] */
#include "chains/platform/service/service_priv.h"
#include "chains/platform/state/nets.h"
#include "chains/wallet/methods.h"

#include <stdlib.h>

enum { SHARES_PER_PERCENT = 10000, PERCENT_MAX = 100, NAME_SHOWN = 64, ADDR_SHOWN = 256 };

static const cd_hash32 own_chain; /* the P-Chain's ID is zero */

/* --- who pays --- */

/* A transaction on its way, and whose it is. */
typedef struct making {
    cd_rpc_call *call;
    cd_pstate state;
    cd_wallet_keys keys;
    cd_wallet_purse purse;
    cd_wallet_fee fee;
    cd_wallet_draft draft;
    cd_addr20 change;
} making;

static cd_err open_keys(making *m, const cd_wallet_payer *who)
{
    cd_rpc_call *call = m->call;
    cd_addr20 *from;
    cd_errinfo why = {0};
    const cd_vm_user user = {.name = who->username, .password = who->password};
    CD_TRY(cd__addrs_read(&from, call, &who->from));
    CD_TRY(cd_wallet_said(call,
                          cd_wallet_keys_open(&m->keys, cd__service_of(call)->cfg.users, &user, &own_chain, from,
                                              who->from.n, call->arena, &why),
                          &why));
    if (m->keys.cnt == 0) {
        return cd__fail(call, "from addresses have no keys or funds");
    }
    m->change = m->keys.first;
    return who->change.n == 0 ? CD_OK : cd__addr_read(&m->change, call, who->change);
}

/* The price may rise until the transaction is in a block; what is too much is burned. */
static cd_err read_fee(making *m)
{
    const cd_platform_cfg *cfg = &cd__service_of(m->call)->cfg;
    u64 excess;
    CD_TRY(cd__number(m->call, &excess, &m->state, CD_PSTATE_FEE_EXCESS));
    u64 price = cd_gas_price(cfg->gas->min_price, excess, cfg->gas->k);
    m->fee = (cd_wallet_fee){.asset_id = cfg->asset_id,
                             .weights = &cfg->gas->weights,
                             .price = price + price / 8,
                             .legacy_stakers = cfg->network->family->legacy_stakers};
    return CD_OK;
}

/* Ends with close, also after a failure. */
static cd_err begin(making *m, cd_rpc_call *call, cd_wallet_payer who)
{
    const cd_platform_cfg *cfg = &cd__service_of(call)->cfg;
    cd_utxo *utxos;
    *m = (making){.call = call};
    CD_TRY(open_keys(m, &who));
    cd__state_renew(call); /* the password took its time */
    CD_TRY(cd__state_of(&m->state, call));
    if (cfg->send == NULL) {
        return cd__fail(call, "this node takes no transactions");
    }
    CD_TRY(read_fee(m));
    cd_addr20 *addrs = cd_arena_array(call->arena, cd_addr20, m->keys.cnt);
    memcpy(addrs, m->keys.addrs, m->keys.cnt * sizeof *addrs);
    CD_TRY(cd__utxos_all(&utxos, &m->purse.utxo_cnt, call, addrs, m->keys.cnt, &own_chain));
    m->purse.mem = call->arena;
    m->purse.addrs = m->keys.addrs;
    m->purse.addr_cnt = m->keys.cnt;
    m->purse.utxos = utxos;
    m->purse.change = cd_wallet_owners(call->arena, &m->change);
    m->purse.now = cd_clock_wall_s(cfg->clock);
    m->draft.chain = cd_wallet_chain_find(cd_bytes_str("P"));
    m->draft.network_id = cfg->network->id;
    return CD_OK;
}

static cd_p_base base_of(const making *m)
{
    return (cd_p_base){.network_id = m->draft.network_id};
}

/* Signs and hands over; answers with the ID and where the change goes. */
static cd_err finish(making *m)
{
    cd_rpc_call *call = m->call;
    const cd_platform_cfg *cfg = &cd__service_of(call)->cfg;
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_sign(&m->draft, &m->keys, &why);
    if (e == CD_OK) {
        cd_wallet_bytes(&bytes, &m->draft);
        e = cfg->send(cfg->ctx, &id, cd_buf_bytes(&bytes), &why);
    }
    cd_buf_fini(&bytes);
    CD_TRY(cd_wallet_said(call, e, &why));
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "txID", &id);
    cd_json_put_cstr(call->out, "changeAddr", cd__addr_text(call, &m->change));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* Pays `amount` besides the fee. */
static cd_err fund(making *m, cd_p_tx_type type, void *body, u64 amount)
{
    cd_errinfo why = {0};
    const cd_wallet_need need = {.asset_id = m->fee.asset_id, .amount = amount};
    m->draft.body = cd_p_body(type, body);
    CD_TRY(cd_wallet_said(m->call, cd_wallet_fund(&m->draft, &m->purse, &need, 1, &m->fee, &why), &why));
    return finish(m);
}

/* A method: begin, make, end of the keys whatever happened. */
static cd_err run(cd_rpc_call *call, cd_wallet_payer who, cd_err (*make)(making *m))
{
    making m;
    cd_err e = begin(&m, call, who);
    e = e == CD_OK ? make(&m) : e;
    cd_wallet_keys_close(&m.keys);
    return e;
}

/* --- parts --- */

static cd_linear_any owners_part(const making *m, const cd_addr20 *addr)
{
    cd_owners *v = cd_arena_new(m->call->arena, cd_owners);
    *v = cd_wallet_owners(m->call->arena, addr);
    return cd_p_part(CD_P_OWNERS, v);
}

static cd_linear_list stake_of(const making *m, u64 amount)
{
    cd_p_output *out = cd_arena_new(m->call->arena, cd_p_output);
    const cd_owners back = cd_wallet_owners(m->call->arena, &m->keys.first);
    *out = cd_wallet_output(m->call->arena, &m->fee.asset_id, amount, &back);
    return (cd_linear_list){.v = out, .cnt = 1};
}

/* Who gets the reward; the user's oldest address unless the call names one. */
static cd_err reward_of(making *m, cd_linear_any *out, cd_bytes text)
{
    cd_addr20 addr = m->keys.first;
    CD_TRY(text.n == 0 ? CD_OK : cd__addr_read(&addr, m->call, text));
    *out = owners_part(m, &addr);
    return CD_OK;
}

/* The agreement of the owners of a net, which have to sign. */
static cd_err net_auth(making *m, cd_linear_any *auth, const cd_hash32 *net)
{
    cd_owners owners;
    cd_wallet_slot slot;
    cd_errinfo why = {0};
    cd_err e = cd_pstate_net_owner_get(&m->state, &owners, m->call->arena, net);
    if (e != CD_OK) {
        return cd__fail(m->call, "couldn't find %s %s: %s", cd__service_of(m->call)->cfg.network->family->net,
                        cd__id_text(m->call, net), cd__words(e));
    }
    CD_TRY(cd_wallet_said(m->call, cd_wallet_permit(auth, &slot, &m->purse, &owners, &why), &why));
    cd_wallet_slots_add(&m->draft, m->call->arena, &slot, 1);
    return CD_OK;
}

/* --- stakers --- */

static cd_err check_times(making *m, u64 start, u64 end)
{
    return start == 0 || start >= m->purse.now
               ? (end > cd_max_u64(start, m->purse.now) ? CD_OK
                                                        : cd__fail(m->call, "end time must be after the start time"))
               : cd__fail(m->call, "start time must be in the future");
}

static cd_err add_validator(making *m)
{
    const cd__platform_keys_add_validator_args *args = m->call->args;
    cd_p_add_validator *t = cd_arena_new(m->call->arena, cd_p_add_validator);
    if (!(args->fee >= 0 && args->fee <= PERCENT_MAX)) {
        return cd__fail(m->call, "argument 'delegationFeeRate' must be between 0 and 100, inclusive");
    }
    if (!m->fee.legacy_stakers) {
        return cd__fail(m->call,
                        "validators of this network have a BLS key: sign an AddPermissionlessValidatorTx and use "
                        "platform.issueTx");
    }
    CD_TRY(check_times(m, args->start, args->end));
    CD_TRY(reward_of(m, &t->rewards_owner, args->reward));
    t->base = base_of(m);
    t->validator =
        (cd_p_validator){.node_id = args->node_id, .start = args->start, .end = args->end, .weight = args->stake};
    t->stake = stake_of(m, args->stake);
    t->shares = (u32)(args->fee * SHARES_PER_PERCENT);
    return fund(m, CD_P_ADD_VALIDATOR, t, args->stake);
}

cd_err cd__platform_keys_add_validator(cd_rpc_call *call)
{
    const cd__platform_keys_add_validator_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), add_validator);
}

static cd_err add_delegator(making *m)
{
    const cd__platform_keys_add_delegator_args *args = m->call->args;
    const cd_p_validator staker = {
        .node_id = args->node_id, .start = args->start, .end = args->end, .weight = args->stake};
    CD_TRY(check_times(m, args->start, args->end));
    if (m->fee.legacy_stakers) {
        cd_p_add_delegator *t = cd_arena_new(m->call->arena, cd_p_add_delegator);
        *t = (cd_p_add_delegator){.base = base_of(m), .validator = staker, .stake = stake_of(m, args->stake)};
        CD_TRY(reward_of(m, &t->rewards_owner, args->reward));
        return fund(m, CD_P_ADD_DELEGATOR, t, args->stake);
    }
    cd_p_add_permissionless_delegator *t = cd_arena_new(m->call->arena, cd_p_add_permissionless_delegator);
    *t =
        (cd_p_add_permissionless_delegator){.base = base_of(m), .validator = staker, .stake = stake_of(m, args->stake)};
    CD_TRY(reward_of(m, &t->rewards_owner, args->reward));
    return fund(m, CD_P_ADD_PERMISSIONLESS_DELEGATOR, t, args->stake);
}

cd_err cd__platform_keys_add_delegator(cd_rpc_call *call)
{
    const cd__platform_keys_add_delegator_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), add_delegator);
}

static cd_err add_net_validator(making *m)
{
    const cd__platform_keys_add_net_validator_args *args = m->call->args;
    cd_p_add_net_validator *t = cd_arena_new(m->call->arena, cd_p_add_net_validator);
    CD_TRY(check_times(m, args->start, args->end));
    t->base = base_of(m);
    t->validator.net_id = args->net_id;
    t->validator.validator =
        (cd_p_validator){.node_id = args->node_id, .start = args->start, .end = args->end, .weight = args->weight};
    CD_TRY(net_auth(m, &t->net_auth, &args->net_id));
    return fund(m, CD_P_ADD_NET_VALIDATOR, t, 0);
}

cd_err cd__platform_keys_add_net_validator(cd_rpc_call *call)
{
    const cd__platform_keys_add_net_validator_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), add_net_validator);
}

/* --- networks --- */

static int by_addr(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

static cd_err create_net(making *m)
{
    const cd__platform_keys_create_net_args *args = m->call->args;
    cd_p_create_net *t = cd_arena_new(m->call->arena, cd_p_create_net);
    cd_owners *owners = cd_arena_new(m->call->arena, cd_owners);
    cd_addr20 *addrs;
    CD_TRY(cd__addrs_read(&addrs, m->call, &args->owners));
    qsort(addrs, args->owners.n, sizeof *addrs, by_addr);
    *owners = (cd_owners){.threshold = args->threshold, .addrs = {.v = addrs, .cnt = (u32)args->owners.n}};
    t->base = base_of(m);
    t->owner = cd_p_part(CD_P_OWNERS, owners);
    return fund(m, CD_P_CREATE_NET, t, 0);
}

cd_err cd__platform_keys_create_net(cd_rpc_call *call)
{
    const cd__platform_keys_create_net_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), create_net);
}

static cd_err create_chain(making *m)
{
    const cd__platform_keys_create_blockchain_args *args = m->call->args;
    cd_p_create_chain *t = cd_arena_new(m->call->arena, cd_p_create_chain);
    cd_errinfo why = {0};
    if (args->name.n == 0) {
        return cd__fail(m->call, "argument 'name' not given");
    }
    if (args->encoding == CD_ENCODING_JSON ||
        cd_encoding_dec(&t->genesis, m->call->arena, args->encoding, args->genesis, &why) != CD_OK) {
        return cd__fail(m->call, "problem parsing genesis data: %s",
                        args->encoding == CD_ENCODING_JSON ? "unsupported encoding in method" : why.msg);
    }
    t->base = base_of(m);
    t->net_id = args->net_id;
    t->name = args->name;
    t->vm_id = args->vm_id;
    t->fx_ids = (cd_linear_list){.v = args->fx_ids.v, .cnt = (u32)args->fx_ids.n};
    CD_TRY(net_auth(m, &t->net_auth, &args->net_id));
    return fund(m, CD_P_CREATE_CHAIN, t, 0);
}

cd_err cd__platform_keys_create_blockchain(cd_rpc_call *call)
{
    const cd__platform_keys_create_blockchain_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), create_chain);
}

/* --- to and from other chains --- */

static cd_err other_chain(making *m, cd_hash32 *out, cd_bytes text)
{
    cd_errinfo why = {0};
    if (cd__chain_find(out, cd__service_of(m->call), text, &why) != CD_OK) {
        return cd__fail(m->call, "there is no ID with alias: %.*s", (int)cd_min_u64(text.n, NAME_SHOWN),
                        (const char *)text.p);
    }
    return cd_hash32_is_zero(out) ? cd__fail(m->call, "another chain than P is needed") : CD_OK;
}

static cd_err import(making *m)
{
    const cd__platform_keys_import_lux_args *args = m->call->args;
    cd_p_import *t = cd_arena_new(m->call->arena, cd_p_import);
    cd_wallet_purse there = m->purse;
    cd_wallet_taken taken;
    cd_addr20 to;
    cd_utxo *utxos;
    cd_errinfo why = {0};
    if (args->source.n == 0) {
        return cd__fail(m->call, "argument 'sourceChain' not given");
    }
    CD_TRY(other_chain(m, &t->source_chain, args->source));
    CD_TRY(cd__addr_read(&to, m->call, args->to));
    cd_addr20 *addrs = cd_arena_array(m->call->arena, cd_addr20, m->keys.cnt);
    memcpy(addrs, m->keys.addrs, m->keys.cnt * sizeof *addrs);
    CD_TRY(cd__utxos_all(&utxos, &there.utxo_cnt, m->call, addrs, m->keys.cnt, &t->source_chain));
    there.utxos = utxos;
    CD_TRY(cd_wallet_said(m->call, cd_wallet_take(&taken, &there, NULL, CD_WALLET_INPUTS_MAX, &why), &why));
    t->base = base_of(m);
    t->imported = taken.ins;
    m->draft.body = cd_p_body(CD_P_IMPORT, t);
    const cd_owners owner = cd_wallet_owners(m->call->arena, &to);
    CD_TRY(cd_wallet_said(m->call, cd_wallet_fund_import(&m->draft, &m->purse, &taken, &owner, &m->fee, &why), &why));
    return finish(m);
}

cd_err cd__platform_keys_import_lux(cd_rpc_call *call)
{
    const cd__platform_keys_import_lux_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), import);
}

static cd_err read_there(making *m, cd_addr20 *to, cd_hash32 *chain, cd_bytes text, cd_bytes target)
{
    cd_bytes name;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_there(to, &name, text, target, cd__service_of(m->call)->cfg.network->prefix, &why);
    if (e != CD_OK && e != CD_ENOENT) {
        return cd__fail(m->call, "couldn't parse address \"%.*s\": %s", (int)cd_min_u64(text.n, ADDR_SHOWN),
                        (const char *)text.p, why.msg);
    }
    CD_TRY(cd_wallet_said(m->call, e, &why));
    return other_chain(m, chain, name);
}

static cd_err export(making *m)
{
    const cd__platform_keys_export_lux_args *args = m->call->args;
    cd_p_export *t = cd_arena_new(m->call->arena, cd_p_export);
    cd_addr20 to;
    if (args->amount == 0) {
        return cd__fail(m->call, "argument 'amount' must be > 0");
    }
    CD_TRY(read_there(m, &to, &t->destination_chain, args->to, args->target));
    cd_p_output *out = cd_arena_new(m->call->arena, cd_p_output);
    const cd_owners owner = cd_wallet_owners(m->call->arena, &to);
    *out = cd_wallet_output(m->call->arena, &m->fee.asset_id, args->amount, &owner);
    t->base = base_of(m);
    t->exported = (cd_linear_list){.v = out, .cnt = 1};
    return fund(m, CD_P_EXPORT, t, args->amount);
}

cd_err cd__platform_keys_export_lux(cd_rpc_call *call)
{
    const cd__platform_keys_export_lux_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), export);
}
