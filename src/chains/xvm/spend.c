/* Transactions that the node makes and signs with the keys of a user, upon what is accepted and what waits in the pool.
 * What they must obey is the chain's to say; here they are put together. [spec:node-api#6] [spec:pchain-xchain#8] */
#include "chains/utxo/store.h"
#include "chains/wallet/methods.h"
#include "chains/wallet/operate.h"
#include "chains/xvm/address.h"
#include "chains/xvm/service_priv.h"
#include "codec/api_json.h"

#include <stdlib.h>

enum {
    UTXOS_MAX = 1 << 16,  /* of a user that are looked at */
    WAITING_MAX = 2048,   /* transactions of the pool that are looked at */
    ADDRESSES_MAX = 1024, /* in `from`, or in a set of minters */
    OUTPUTS_MAX = 1024,   /* of a transaction; its size is bounded anyway */
    MEMO_MAX = 256,
};

/* --- who pays --- */

/* A transaction on its way, and whose it is. */
typedef struct making {
    cd_rpc_call *call;
    cd__xvm *x;
    cd_kv *kv; /* frozen; NULL until the password was right */
    cd_wallet_keys keys;
    cd_wallet_purse purse;
    cd_wallet_fee fee;
    cd_wallet_draft draft;
    cd_addr20 change;
    const char *result; /* name of the ID in the answer */
} making;

static cd_err fail(cd_rpc_call *call, const char *words)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", words);
}

static cd_err read_addr(const making *m, cd_addr20 *out, cd_bytes text)
{
    const cd_xvm_place place = cd_xvm_place_of(&m->x->ctx);
    cd_errinfo why = {0};
    if (cd_xvm_addr_parse(&place, out, text, &why) == CD_OK) {
        return CD_OK;
    }
    return cd_rpc_fail(m->call, CD_RPC_SERVER, "problem parsing address '%.*s': %s", (int)cd_min_u64(text.n, 100),
                       (const char *)text.p, why.msg);
}

static cd_err read_addrs(const making *m, cd_addr20 **out, const cd_rpc_strings *texts)
{
    if (texts->n > ADDRESSES_MAX) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "number of addresses given, %zu, exceeds maximum, %d", texts->n,
                           ADDRESSES_MAX);
    }
    *out = cd_arena_array(m->call->arena, cd_addr20, texts->n);
    for (usize i = 0; i < texts->n; i++) {
        CD_TRY(read_addr(m, &(*out)[i], texts->v[i]));
    }
    return CD_OK;
}

static cd_err open_keys(making *m, const cd_wallet_payer *who)
{
    const cd_vm_ctx *ctx = &m->x->ctx;
    cd_addr20 *from;
    cd_errinfo why = {0};
    const cd_vm_user user = {.name = who->username, .password = who->password};
    CD_TRY(read_addrs(m, &from, &who->from));
    CD_TRY(cd_wallet_said(
        m->call,
        cd_wallet_keys_open(&m->keys, ctx->users, &user, &ctx->chain_id, from, who->from.n, m->call->arena, &why),
        &why));
    if (m->keys.cnt == 0) {
        return fail(m->call, "from addresses have no keys or funds");
    }
    m->change = m->keys.first;
    return who->change.n == 0 ? CD_OK : read_addr(m, &m->change, who->change);
}

/* --- what can be spent --- */

/* Outputs, and which of them a transaction that waits has taken. */
typedef struct funds {
    cd_buf utxos; /* cd_utxo */
    making *m;
} funds;

static int by_addr(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

static bool is_mine(const making *m, const cd_utxo *u)
{
    const cd_owners *owners = cd_utxo_owners(&u->out);
    for (u32 i = 0; owners != NULL && i < owners->addrs.cnt; i++) {
        if (bsearch(&((const cd_addr20 *)owners->addrs.v)[i], m->keys.addrs, m->keys.cnt, sizeof *m->keys.addrs,
                    by_addr) != NULL) {
            return true;
        }
    }
    return false;
}

static void forget(funds *f, const cd_hash32 *spent)
{
    cd_utxo *v = (cd_utxo *)(void *)f->utxos.p;
    usize cnt = f->utxos.n / sizeof *v;
    for (usize i = 0; i < cnt; i++) {
        cd_hash32 id;
        cd_utxo_id(&id, &v[i].tx_id, v[i].output_idx);
        if (cd_hash32_eq(&id, spent)) {
            v[i] = v[cnt - 1];
            f->utxos.n -= sizeof *v;
            return;
        }
    }
}

/* What a transaction of the pool changes for the user. */
static void follow(funds *f, cd_bytes bytes)
{
    cd_arena *a = f->m->call->arena;
    cd_xvm_tx t;
    cd_hash32 *spent;
    cd_utxo *made;
    if (cd_xvm_tx_parse(&t, a, bytes, NULL) != CD_OK) {
        return;
    }
    usize cnt = cd_xvm_tx_spends(&spent, a, &t);
    for (usize i = 0; i < cnt; i++) {
        forget(f, &spent[i]);
    }
    cnt = cd_xvm_tx_makes(&made, a, &t);
    for (usize i = 0; i < cnt; i++) {
        if (is_mine(f->m, &made[i])) {
            cd_buf_put(&f->utxos, cd_bytes_of(&made[i], sizeof made[i]));
        }
    }
}

/* What is accepted and what waits, at one moment. */
typedef struct moment {
    making *m;
    cd_bytes waiting[WAITING_MAX];
    usize cnt;
    cd_err err;
} moment;

/* On the owner's thread, to whom the pool belongs: a block that is accepted meanwhile would be in neither. */
static void look(void *arg)
{
    moment *now = arg;
    making *m = now->m;
    const cd_hash32 *id = NULL;
    cd_bytes bytes;
    now->err = cd_kv_snapshot(&m->kv, m->x->ctx.kv);
    while (now->cnt < WAITING_MAX && cd_xvm_pool_each(m->x->pool, &id, &bytes)) {
        now->waiting[now->cnt++] = cd_arena_dup(m->call->arena, bytes);
    }
}

/* Calls job on the owner's thread. */
static cd_err on_owner(const making *m, void (*job)(void *arg), void *arg)
{
    cd_vm_host *host = m->x->ctx.host;
    if (host == NULL || host->run == NULL) {
        job(arg);
        return CD_OK;
    }
    cd_err e = host->run(host, job, arg);
    return e == CD_OK ? CD_OK : cd_rpc_fail(m->call, CD_RPC_SERVER, "the chain takes nothing now: %s", cd_err_str(e));
}

static cd_err walk(funds *f)
{
    making *m = f->m;
    cd_addr20 *addrs = cd_arena_array(m->call->arena, cd_addr20, m->keys.cnt);
    cd_utxo_cursor at = {0};
    usize cnt = m->keys.cnt;
    usize n = 1;
    memcpy(addrs, m->keys.addrs, cnt * sizeof *addrs);
    while (n != 0 && f->utxos.n / sizeof(cd_utxo) < UTXOS_MAX) {
        cd_utxo_found *found;
        cd_err e =
            cd_utxo_page(&found, &n, &at, m->kv, m->call->arena, &cd_x_utxo_table, addrs, &cnt, CD_UTXO_PAGE_MAX);
        if (e != CD_OK) {
            return cd_rpc_fail(m->call, CD_RPC_SERVER, "the store does not answer: %s", cd_err_str(e));
        }
        for (usize i = 0; i < n; i++) {
            cd_buf_put(&f->utxos, cd_bytes_of(&found[i].utxo, sizeof found[i].utxo));
        }
        if (cd_rpc_is_late(m->call)) {
            return cd_rpc_fail_late(m->call);
        }
    }
    return CD_OK;
}

static void keep(making *m, const cd_buf *utxos)
{
    cd_utxo *v = cd_arena_array(m->call->arena, cd_utxo, utxos->n / sizeof(cd_utxo));
    if (utxos->n != 0) {
        memcpy(v, utxos->p, utxos->n);
    }
    m->purse.utxos = v;
    m->purse.utxo_cnt = utxos->n / sizeof(cd_utxo);
}

static cd_err find_funds(making *m)
{
    funds f = {.m = m};
    moment *now = cd_arena_new(m->call->arena, moment);
    now->m = m;
    CD_TRY(on_owner(m, look, now));
    if (now->err != CD_OK) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "the store does not answer: %s", cd_err_str(now->err));
    }
    cd_err e = walk(&f);
    for (usize i = 0; e == CD_OK && i < now->cnt; i++) {
        follow(&f, now->waiting[i]);
    }
    keep(m, &f.utxos);
    cd_buf_fini(&f.utxos);
    return e;
}

/* --- from the call to the pool --- */

static cd_err begin(making *m, const cd_wallet_payer *who)
{
    CD_TRY(open_keys(m, who));
    CD_TRY(find_funds(m));
    m->purse.mem = m->call->arena;
    m->purse.addrs = m->keys.addrs;
    m->purse.addr_cnt = m->keys.cnt;
    m->purse.change = cd_wallet_owners(m->call->arena, &m->change);
    m->purse.now = cd_clock_wall_s(m->x->ctx.clock);
    m->draft.chain = cd_wallet_chain_find(cd_bytes_str("X"));
    m->draft.network_id = m->x->rules.network_id;
    m->fee = (cd_wallet_fee){.asset_id = m->x->rules.fee_asset, .fixed = m->x->rules.tx_fee};
    return CD_OK;
}

/* What was signed, on its way to the owner. */
typedef struct handed {
    making *m;
    cd_bytes bytes;
    cd_hash32 id;
    cd_errinfo why;
    cd_err err;
} handed;

/* Form only: what it stands upon may still wait. */
static void issue(void *arg)
{
    handed *h = arg;
    h->err = cd_xvm_issue(&h->m->x->base.vm, &h->id, h->bytes, false, &h->why);
}

static cd_err finish(making *m)
{
    cd_rpc_call *call = m->call;
    const cd_vm_ctx *ctx = &m->x->ctx;
    cd_buf bytes = {0};
    handed h = {.m = m};
    CD_TRY(cd_wallet_said(call, cd_wallet_keys_sign(&m->draft, &m->keys, &h.why), &h.why));
    cd_wallet_bytes(&bytes, &m->draft);
    h.bytes = cd_buf_bytes(&bytes);
    cd_err e = on_owner(m, issue, &h);
    e = e == CD_OK ? cd_wallet_said(call, h.err, &h.why) : e;
    cd_buf_fini(&bytes);
    CD_TRY(e);
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, m->result, &h.id);
    cd_json_w_key(call->out, "changeAddr");
    cd_json_w_chain_addr(call->out, ctx->name, cd_xvm_place_of(ctx).prefix, &m->change);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static cd_err fund(making *m, const cd_wallet_need *needs, usize cnt)
{
    cd_errinfo why = {0};
    CD_TRY(cd_wallet_said(m->call, cd_wallet_fund(&m->draft, &m->purse, needs, cnt, &m->fee, &why), &why));
    return finish(m);
}

/* A method: keys, make, end of the keys whatever happened. */
static cd_err run(cd_rpc_call *call, cd_wallet_payer who, const char *result, cd_err (*make)(making *m))
{
    making m = {.call = call, .x = cd__xvm_service_vm(call), .result = result};
    cd_err e = begin(&m, &who);
    e = e == CD_OK ? make(&m) : e;
    cd_wallet_keys_close(&m.keys);
    cd_kv_close(m.kv);
    return e;
}

static cd_x_base base_of(const making *m)
{
    return (cd_x_base){.network_id = m->x->rules.network_id, .chain_id = m->x->ctx.chain_id};
}

/* --- sending --- */

CD_RPC_PARAMS_STRUCT(output, ARGS((STRING, asset, "assetID", OPTIONAL), (U64, amount, "amount", OPTIONAL),
                                  (STRING, to, "to", OPTIONAL)));
static const cd_rpc_param *const output_params =
    CD_RPC_PARAMS(output, ARGS((STRING, asset, "assetID", OPTIONAL), (U64, amount, "amount", OPTIONAL),
                               (STRING, to, "to", OPTIONAL)));

static cd_err add_output(making *m, cd_p_output *out, cd_wallet_need *need, const output *o)
{
    cd_addr20 to;
    if (o->amount == 0) {
        return fail(m->call, "amount must be positive");
    }
    CD_TRY(cd__xvm_asset_of(m->call, m->kv, &need->asset_id, o->asset));
    CD_TRY(read_addr(m, &to, o->to));
    need->amount = o->amount;
    const cd_owners owner = cd_wallet_owners(m->call->arena, &to);
    *out = cd_wallet_output(m->call->arena, &need->asset_id, o->amount, &owner);
    return CD_OK;
}

static cd_err send_outputs(making *m, const output *v, usize cnt, cd_bytes memo)
{
    cd_x_base *base = cd_arena_new(m->call->arena, cd_x_base);
    cd_p_output *outs = cd_arena_array(m->call->arena, cd_p_output, cnt);
    cd_wallet_need *needs = cd_arena_array(m->call->arena, cd_wallet_need, cnt);
    if (cnt == 0) {
        return fail(m->call, "no outputs to send");
    }
    if (memo.n > MEMO_MAX) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "max memo length is %d but provided memo field is length %zu",
                           MEMO_MAX, memo.n);
    }
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(add_output(m, &outs[i], &needs[i], &v[i]));
    }
    *base = base_of(m);
    base->memo = memo;
    base->outs = (cd_linear_list){.v = outs, .cnt = (u32)cnt};
    cd_wallet_sort_outputs(outs, cnt);
    m->draft.body = (cd_linear_any){.is = cd_x_case(CD_X_BASE_TX), .v = base};
    return fund(m, needs, cnt);
}

static cd_err send(making *m)
{
    const cd__xvm_send_args *args = m->call->args;
    const output o = {.asset = args->asset, .amount = args->amount, .to = args->to};
    return send_outputs(m, &o, 1, args->memo);
}

cd_err cd__xvm_send(cd_rpc_call *call)
{
    const cd__xvm_send_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "txID", send);
}

static cd_err send_multiple(making *m)
{
    const cd__xvm_send_multiple_args *args = m->call->args;
    usize cnt = cd_json_len(args->outputs);
    if (cnt > OUTPUTS_MAX) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "at most %d outputs", OUTPUTS_MAX);
    }
    output *v = cd_arena_array(m->call->arena, output, cnt);
    for (usize i = 0; i < cnt; i++) {
        if (cd_rpc_params_read(&v[i], m->call->arena, output_params, cd_json_at(args->outputs, i)) != CD_OK) {
            return cd_rpc_fail_argument(m->call);
        }
    }
    return send_outputs(m, v, cnt, args->memo);
}

cd_err cd__xvm_send_multiple(cd_rpc_call *call)
{
    const cd__xvm_send_multiple_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "txID", send_multiple);
}

/* The rows of the wallet's route have the same parameters. */
cd_err cd__xvm_wallet_send(cd_rpc_call *call)
{
    return cd__xvm_send(call);
}

cd_err cd__xvm_wallet_send_multiple(cd_rpc_call *call)
{
    return cd__xvm_send_multiple(call);
}

_Static_assert(sizeof(cd__xvm_wallet_send_args) == sizeof(cd__xvm_send_args) &&
                   sizeof(cd__xvm_wallet_send_multiple_args) == sizeof(cd__xvm_send_multiple_args),
               "wallet.send is xvm.send");

/* --- assets --- */

CD_RPC_PARAMS_STRUCT(holder, ARGS((STRING, address, "address", OPTIONAL), (U64, amount, "amount", OPTIONAL)));
static const cd_rpc_param *const holder_params =
    CD_RPC_PARAMS(holder, ARGS((STRING, address, "address", OPTIONAL), (U64, amount, "amount", OPTIONAL)));
CD_RPC_PARAMS_STRUCT(minters, ARGS((STRINGS, addrs, "minters", OPTIONAL), (U32, threshold, "threshold", OPTIONAL)));
static const cd_rpc_param *const minters_params =
    CD_RPC_PARAMS(minters, ARGS((STRINGS, addrs, "minters", OPTIONAL), (U32, threshold, "threshold", OPTIONAL)));

static cd_err read_minters(making *m, cd_owners *out, cd_json v)
{
    minters in = {.threshold = 0};
    cd_addr20 *addrs;
    if (cd_rpc_params_read(&in, m->call->arena, minters_params, v) != CD_OK) {
        return cd_rpc_fail_argument(m->call);
    }
    CD_TRY(read_addrs(m, &addrs, &in.addrs));
    qsort(addrs, in.addrs.n, sizeof *addrs, by_addr);
    *out = (cd_owners){.threshold = in.threshold, .addrs = {.v = addrs, .cnt = (u32)in.addrs.n}};
    return CD_OK;
}

/* Minters first: outputs of a state are in the order of their bytes, and the types of minting have lower numbers. */
static cd_err add_minters(making *m, cd_linear_any *out, cd_x_type type, u32 group, cd_json set)
{
    if (type == CD_X_NFT_MINT_OUTPUT) {
        cd_x_nft_mint_output *v = cd_arena_new(m->call->arena, cd_x_nft_mint_output);
        v->group_id = group;
        *out = (cd_linear_any){.is = cd_x_case(type), .v = v};
        return read_minters(m, &v->owners, set);
    }
    cd_owners *v = cd_arena_new(m->call->arena, cd_owners);
    *out = (cd_linear_any){.is = cd_x_case(type), .v = v};
    return read_minters(m, v, set);
}

static cd_err add_holder(making *m, cd_linear_any *out, cd_json v)
{
    holder in = {.amount = 0};
    cd_addr20 addr;
    cd_transfer_output *o = cd_arena_new(m->call->arena, cd_transfer_output);
    if (cd_rpc_params_read(&in, m->call->arena, holder_params, v) != CD_OK) {
        return cd_rpc_fail_argument(m->call);
    }
    CD_TRY(read_addr(m, &addr, in.address));
    *o = (cd_transfer_output){.amount = in.amount, .owners = cd_wallet_owners(m->call->arena, &addr)};
    *out = (cd_linear_any){.is = cd_x_case(CD_X_SECP_OUTPUT), .v = o};
    return CD_OK;
}

/* An output with its bytes, by which outputs are put in order. */
typedef struct row {
    cd_linear_any out;
    cd_buf bytes;
} row;

static int by_bytes(const void *a, const void *b)
{
    return cd_bytes_cmp(cd_buf_bytes(&((const row *)a)->bytes), cd_buf_bytes(&((const row *)b)->bytes));
}

/* Puts outputs of one extension in the order that the chain demands. */
static void sort(cd_arena *a, cd_linear_any *v, usize cnt)
{
    row *rows = cd_arena_array(a, row, cnt);
    for (usize i = 0; i < cnt; i++) {
        rows[i] = (row){.out = v[i]};
        cd_put_be32(cd_buf_extend(&rows[i].bytes, 4), v[i].is->id);
        cd_linear_put(&rows[i].bytes, v[i].is->type, v[i].v);
    }
    qsort(rows, cnt, sizeof *rows, by_bytes);
    for (usize i = 0; i < cnt; i++) {
        v[i] = rows[i].out;
        cd_buf_fini(&rows[i].bytes);
    }
}

/* What a new asset is called, and what it begins with. */
typedef struct plan {
    cd_bytes name;
    cd_bytes symbol;
    u8 denomination;
    cd_json holders;
    cd_json minters;
    cd_x_type mint;   /* the output that allows minting */
    const char *none; /* said when it begins with nothing */
} plan;

static cd_err create(making *m, const plan *p)
{
    cd_arena *a = m->call->arena;
    usize holder_cnt = cd_json_len(p->holders);
    usize minter_cnt = cd_json_len(p->minters);
    if (holder_cnt + minter_cnt == 0) {
        return fail(m->call, p->none);
    }
    if (holder_cnt > OUTPUTS_MAX || minter_cnt > OUTPUTS_MAX) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "at most %d outputs", OUTPUTS_MAX);
    }
    cd_linear_any *outs = cd_arena_array(a, cd_linear_any, holder_cnt + minter_cnt);
    for (usize i = 0; i < minter_cnt; i++) {
        CD_TRY(add_minters(m, &outs[i], p->mint, (u32)i, cd_json_at(p->minters, i)));
    }
    for (usize i = 0; i < holder_cnt; i++) {
        CD_TRY(add_holder(m, &outs[minter_cnt + i], cd_json_at(p->holders, i)));
    }
    sort(a, outs, holder_cnt + minter_cnt);
    cd_x_initial_state *state = cd_arena_new(a, cd_x_initial_state);
    *state = (cd_x_initial_state){.fx_index = p->mint == CD_X_NFT_MINT_OUTPUT ? 1 : 0,
                                  .outs = {.v = outs, .cnt = (u32)(holder_cnt + minter_cnt)}};
    cd_x_create_asset *t = cd_arena_new(a, cd_x_create_asset);
    *t = (cd_x_create_asset){.base = base_of(m),
                             .name = p->name,
                             .symbol = p->symbol,
                             .denomination = p->denomination,
                             .states = {.v = state, .cnt = 1}};
    m->draft.body = (cd_linear_any){.is = cd_x_case(CD_X_CREATE_ASSET), .v = t};
    m->fee.fixed = m->x->rules.create_asset_fee;
    return fund(m, NULL, 0);
}

static cd_err create_asset(making *m)
{
    const cd__xvm_create_asset_args *args = m->call->args;
    const plan p = {.name = args->name,
                    .symbol = args->symbol,
                    .denomination = args->denomination,
                    .holders = args->holders,
                    .minters = args->minters,
                    .mint = CD_X_SECP_MINT_OUTPUT,
                    .none = "no minters or initialHolders provided"};
    return create(m, &p);
}

cd_err cd__xvm_create_asset(cd_rpc_call *call)
{
    const cd__xvm_create_asset_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "assetID", create_asset);
}

static cd_err create_fixed(making *m)
{
    const cd__xvm_create_fixed_args *args = m->call->args;
    const plan p = {.name = args->name,
                    .symbol = args->symbol,
                    .denomination = args->denomination,
                    .holders = args->holders,
                    .mint = CD_X_SECP_MINT_OUTPUT,
                    .none = "no minters or initialHolders provided"};
    return create(m, &p);
}

cd_err cd__xvm_create_fixed(cd_rpc_call *call)
{
    const cd__xvm_create_fixed_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "assetID", create_fixed);
}

static cd_err create_variable(making *m)
{
    const cd__xvm_create_variable_args *args = m->call->args;
    const plan p = {.name = args->name,
                    .symbol = args->symbol,
                    .denomination = args->denomination,
                    .minters = args->minters,
                    .mint = CD_X_SECP_MINT_OUTPUT,
                    .none = "no minters provided"};
    return create(m, &p);
}

cd_err cd__xvm_create_variable(cd_rpc_call *call)
{
    const cd__xvm_create_variable_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "assetID", create_variable);
}

static cd_err create_nft(making *m)
{
    const cd__xvm_create_nft_args *args = m->call->args;
    const plan p = {.name = args->name,
                    .symbol = args->symbol,
                    .minters = args->minters,
                    .mint = CD_X_NFT_MINT_OUTPUT,
                    .none = "no minters provided"};
    return create(m, &p);
}

cd_err cd__xvm_create_nft(cd_rpc_call *call)
{
    const cd__xvm_create_nft_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "assetID", create_nft);
}

/* --- minting, NFTs --- */

static cd_err operate(making *m, const cd_utxo *u, cd_x_type type, void *v)
{
    const cd_x_base base = base_of(m);
    if (u == NULL) {
        return fail(m->call, "from addresses have no keys or funds");
    }
    cd_wallet_operation(&m->draft, &m->purse, &base, u, type, v);
    return fund(m, NULL, 0);
}

static cd_err owner_of(making *m, cd_owners *out, cd_bytes to)
{
    cd_addr20 addr;
    CD_TRY(read_addr(m, &addr, to));
    *out = cd_wallet_owners(m->call->arena, &addr);
    return CD_OK;
}

static cd_err mint(making *m)
{
    const cd__xvm_mint_args *args = m->call->args;
    cd_x_secp_mint *op = cd_arena_new(m->call->arena, cd_x_secp_mint);
    cd_wallet_kind kind = {.output = CD_X_SECP_MINT_OUTPUT, .credential = CD_X_SECP_CREDENTIAL};
    if (args->amount == 0) {
        return fail(m->call, "amount minted must be positive");
    }
    CD_TRY(cd__xvm_asset_of(m->call, m->kv, &kind.asset_id, args->asset));
    CD_TRY(owner_of(m, &op->output.owners, args->to));
    op->output.amount = args->amount;
    const cd_utxo *u = cd_wallet_operable(&m->draft, &op->input, &m->purse, &kind);
    if (u != NULL) {
        op->mint_output = *cd_utxo_owners(&u->out);
    }
    return operate(m, u, CD_X_SECP_MINT, op);
}

cd_err cd__xvm_mint(cd_rpc_call *call)
{
    const cd__xvm_mint_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "txID", mint);
}

static cd_err mint_nft(making *m)
{
    const cd__xvm_mint_nft_args *args = m->call->args;
    cd_owners *to = cd_arena_new(m->call->arena, cd_owners);
    cd_x_nft_mint *op = cd_arena_new(m->call->arena, cd_x_nft_mint);
    cd_wallet_kind kind = {.output = CD_X_NFT_MINT_OUTPUT, .credential = CD_X_NFT_CREDENTIAL};
    cd_errinfo why = {0};
    if (args->encoding == CD_ENCODING_JSON ||
        cd_encoding_dec(&op->payload, m->call->arena, args->encoding, args->payload, &why) != CD_OK) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "problem decoding payload bytes: %s",
                           args->encoding == CD_ENCODING_JSON ? "unsupported encoding in method" : why.msg);
    }
    CD_TRY(cd__xvm_asset_of(m->call, m->kv, &kind.asset_id, args->asset));
    CD_TRY(owner_of(m, to, args->to));
    op->outputs = (cd_linear_list){.v = to, .cnt = 1};
    const cd_utxo *u = cd_wallet_operable(&m->draft, &op->input, &m->purse, &kind);
    if (u != NULL) {
        op->group_id = ((const cd_x_nft_mint_output *)u->out.v)->group_id;
    }
    return operate(m, u, CD_X_NFT_MINT, op);
}

cd_err cd__xvm_mint_nft(cd_rpc_call *call)
{
    const cd__xvm_mint_nft_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "txID", mint_nft);
}

static cd_err send_nft(making *m)
{
    const cd__xvm_send_nft_args *args = m->call->args;
    cd_x_nft_transfer *op = cd_arena_new(m->call->arena, cd_x_nft_transfer);
    cd_wallet_kind kind = {.output = CD_X_NFT_OUTPUT, .credential = CD_X_NFT_CREDENTIAL, .group = &args->group};
    cd_owners to;
    CD_TRY(cd__xvm_asset_of(m->call, m->kv, &kind.asset_id, args->asset));
    CD_TRY(owner_of(m, &to, args->to));
    const cd_utxo *u = cd_wallet_operable(&m->draft, &op->input, &m->purse, &kind);
    if (u != NULL) {
        op->output = *(const cd_x_nft_output *)u->out.v;
        op->output.owners = to;
    }
    return operate(m, u, CD_X_NFT_TRANSFER, op);
}

cd_err cd__xvm_send_nft(cd_rpc_call *call)
{
    const cd__xvm_send_nft_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "txID", send_nft);
}

/* --- to and from other chains --- */

static cd_err other_chain(making *m, cd_hash32 *out, cd_bytes text)
{
    const cd_xvm_place place = cd_xvm_place_of(&m->x->ctx);
    cd_errinfo why = {0};
    CD_TRY(cd_wallet_said(m->call, cd_xvm_chain_parse(&place, out, text, &why), &why));
    return cd_hash32_eq(out, &m->x->ctx.chain_id) ? fail(m->call, "another chain than this one is needed") : CD_OK;
}

/* What another chain left here for the user. */
static cd_err find_there(making *m, cd_wallet_purse *there, const cd_hash32 *peer)
{
    const cd_vm_shared *s = m->x->rules.shared;
    cd_arena *a = m->call->arena;
    cd_bytes *values = NULL;
    usize cnt = 0;
    cd_vm_shared_cursor at = {.trait = {0}};
    cd_bytes *traits = cd_arena_array(a, cd_bytes, m->keys.cnt);
    for (usize i = 0; i < m->keys.cnt; i++) {
        traits[i] = cd_bytes_of(m->keys.addrs[i].b, 20);
    }
    cd_err e = s == NULL ? CD_OK : s->indexed(s, &values, &cnt, a, peer, traits, m->keys.cnt, &at, CD_UTXO_PAGE_MAX);
    cd_utxo *v = cd_arena_array(a, cd_utxo, cnt);
    for (usize i = 0; e == CD_OK && i < cnt; i++) {
        e = cd_utxo_parse(&v[i], &cd_x_utxo_table, a, values[i], NULL);
    }
    there->utxos = v;
    there->utxo_cnt = cnt;
    return e == CD_OK ? CD_OK : cd_rpc_fail(m->call, CD_RPC_SERVER, "problem retrieving UTXOs: %s", cd_err_str(e));
}

static cd_err import(making *m)
{
    const cd__xvm_import_args *args = m->call->args;
    cd_x_import *t = cd_arena_new(m->call->arena, cd_x_import);
    cd_wallet_purse there = m->purse;
    cd_wallet_taken taken;
    cd_owners to;
    cd_errinfo why = {0};
    CD_TRY(other_chain(m, &t->source_chain, args->source));
    CD_TRY(owner_of(m, &to, args->to));
    CD_TRY(find_there(m, &there, &t->source_chain));
    CD_TRY(cd_wallet_said(m->call, cd_wallet_take(&taken, &there, NULL, CD_WALLET_INPUTS_MAX, &why), &why));
    t->base = base_of(m);
    t->imported = taken.ins;
    m->draft.body = (cd_linear_any){.is = cd_x_case(CD_X_IMPORT), .v = t};
    CD_TRY(cd_wallet_said(m->call, cd_wallet_fund_import(&m->draft, &m->purse, &taken, &to, &m->fee, &why), &why));
    return finish(m);
}

cd_err cd__xvm_import(cd_rpc_call *call)
{
    const cd__xvm_import_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "txID", import);
}

static cd_err read_there(making *m, cd_addr20 *to, cd_hash32 *chain, cd_bytes text, cd_bytes target)
{
    cd_bytes name;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_there(to, &name, text, target, cd_xvm_place_of(&m->x->ctx).prefix, &why);
    if (e != CD_OK && e != CD_ENOENT) {
        return cd_rpc_fail(m->call, CD_RPC_SERVER, "problem parsing address '%.*s': %s", (int)cd_min_u64(text.n, 100),
                           (const char *)text.p, why.msg);
    }
    CD_TRY(cd_wallet_said(m->call, e, &why));
    return other_chain(m, chain, name);
}

static cd_err export(making *m)
{
    const cd__xvm_export_args *args = m->call->args;
    cd_x_export *t = cd_arena_new(m->call->arena, cd_x_export);
    cd_p_output *out = cd_arena_new(m->call->arena, cd_p_output);
    cd_wallet_need need = {.amount = args->amount};
    cd_addr20 to;
    if (args->amount == 0) {
        return fail(m->call, "amount must be positive");
    }
    CD_TRY(cd__xvm_asset_of(m->call, m->kv, &need.asset_id, args->asset));
    CD_TRY(read_there(m, &to, &t->destination_chain, args->to, args->target));
    const cd_owners owner = cd_wallet_owners(m->call->arena, &to);
    *out = cd_wallet_output(m->call->arena, &need.asset_id, need.amount, &owner);
    t->base = base_of(m);
    t->exported = (cd_linear_list){.v = out, .cnt = 1};
    m->draft.body = (cd_linear_any){.is = cd_x_case(CD_X_EXPORT), .v = t};
    return fund(m, &need, 1);
}

cd_err cd__xvm_export(cd_rpc_call *call)
{
    const cd__xvm_export_args *args = call->args;
    return run(call, CD_WALLET_PAYER(args), "txID", export);
}
