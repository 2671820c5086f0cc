/* Transactions of the X-Chain: assets and what is minted of them. [spec:pchain-xchain#8] */
#include "tx/making.h"

#include "chains/utxo/utxo.h"
#include "chains/wallet/operate.h"
#include "types/xtx.h"

static cd_err fund(cd__making *m, cd_x_type type, void *body, cd_errinfo *why)
{
    m->draft.body = (cd_linear_any){.is = cd_x_case(type), .v = body};
    return cd_wallet_fund(&m->draft, &m->purse, NULL, 0, &m->fee, why);
}

/* --- assets --- */

static void add_state(cd_x_create_asset *t, cd_arena *mem, u32 fx, const cd_linear_any *outs, u32 cnt)
{
    cd_x_initial_state *s = t->states.v;
    cd_linear_any *v = cd_arena_array(mem, cd_linear_any, cnt);
    memcpy(v, outs, cnt * sizeof *v);
    s[t->states.cnt++] = (cd_x_initial_state){.fx_index = fx, .outs = {.v = v, .cnt = cnt}};
}

/* The first outputs of a fungible asset: an amount, and who may mint more. Outputs are in the order of their types. */
static cd_err coin_state(cd__making *m, cd_x_create_asset *t, const cd_owners *to, cd_errinfo *why)
{
    cd_linear_any outs[2];
    u32 n = 0;
    if (cd_args_bool(m->args, MAKE_MINTABLE)) {
        cd_owners *mint = cd_arena_new(m->w->mem, cd_owners);
        *mint = *to;
        outs[n++] = (cd_linear_any){.is = cd_x_case(CD_X_SECP_MINT_OUTPUT), .v = mint};
    }
    if (cd_args_str(m->args, MAKE_AMOUNT)[0] != '\0') {
        cd_transfer_output *out = cd_arena_new(m->w->mem, cd_transfer_output);
        out->owners = *to;
        CD_TRY(cd__amount_read(&out->amount, cd_args_str(m->args, MAKE_AMOUNT), t->denomination, why));
        outs[n++] = (cd_linear_any){.is = cd_x_case(CD_X_SECP_OUTPUT), .v = out};
    }
    if (n == 0) {
        return cd_fail(why, CD_EINVAL, "what is it made of? --amount, --mintable or --nft-groups");
    }
    add_state(t, m->w->mem, 0, outs, n);
    return CD_OK;
}

static void nft_state(cd__making *m, cd_x_create_asset *t, const cd_owners *to, u32 groups)
{
    cd_linear_any *outs = cd_arena_array(m->w->mem, cd_linear_any, groups);
    for (u32 i = 0; i < groups; i++) {
        cd_x_nft_mint_output *out = cd_arena_new(m->w->mem, cd_x_nft_mint_output);
        *out = (cd_x_nft_mint_output){.group_id = i, .owners = *to};
        outs[i] = (cd_linear_any){.is = cd_x_case(CD_X_NFT_MINT_OUTPUT), .v = out};
    }
    add_state(t, m->w->mem, 1, outs, groups);
}

static cd_err create_asset(cd__making *m, cd_errinfo *why)
{
    cd_owners to;
    cd_x_create_asset *t = cd_arena_new(m->w->mem, cd_x_create_asset);
    u32 groups = (u32)cd_args_u64(m->args, MAKE_NFT);
    t->base = cd__make_base(m);
    t->name = cd_bytes_str(cd_args_str(m->args, MAKE_NAME));
    t->symbol = cd_bytes_str(cd_args_str(m->args, MAKE_SYMBOL));
    t->denomination = (u8)cd_args_u64(m->args, MAKE_DENOMINATION);
    t->states.v = cd_arena_array(m->w->mem, cd_x_initial_state, 2);
    if (t->name.n == 0 || t->symbol.n == 0) {
        return cd_fail(why, CD_EINVAL, "--name and --symbol are needed");
    }
    CD_TRY(cd__make_owners(m, &to, why));
    if (groups != 0) {
        nft_state(m, t, &to, groups);
    } else {
        CD_TRY(coin_state(m, t, &to, why));
    }
    CD_TRY(cd__fee(m->w, &m->fee, m->draft.chain, true, why));
    return fund(m, CD_X_CREATE_ASSET, t, why);
}

/* --- operations --- */

/* Completes an operation on u. */
static cd_err operate(cd__making *m, const cd_utxo *u, cd_x_type type, void *v, cd_errinfo *why)
{
    const cd_p_base base = cd__make_base(m);
    cd_wallet_operation(&m->draft, &m->purse, &base, u, type, v);
    return cd_wallet_fund(&m->draft, &m->purse, NULL, 0, &m->fee, why);
}

static cd_err none(const char *what, cd_errinfo *why)
{
    return cd_fail(why, CD_ENOENT, "the payer has no %s of this asset", what);
}

static cd_err mint(cd__making *m, cd_errinfo *why)
{
    cd_hash32 asset;
    cd_x_secp_mint *op = cd_arena_new(m->w->mem, cd_x_secp_mint);
    CD_TRY(cd__make_amount(m, &asset, &op->output.amount, why));
    CD_TRY(cd__make_owners(m, &op->output.owners, why));
    const cd_wallet_kind kind = {
        .output = CD_X_SECP_MINT_OUTPUT, .credential = CD_X_SECP_CREDENTIAL, .asset_id = asset};
    const cd_utxo *u = cd_wallet_operable(&m->draft, &op->input, &m->purse, &kind);
    if (u == NULL) {
        return none("right to mint", why);
    }
    op->mint_output = *cd_utxo_owners(&u->out);
    return operate(m, u, CD_X_SECP_MINT, op, why);
}

static cd_err mint_nft(cd__making *m, cd_errinfo *why)
{
    cd_hash32 asset;
    cd_owners *to = cd_arena_new(m->w->mem, cd_owners);
    cd_x_nft_mint *op = cd_arena_new(m->w->mem, cd_x_nft_mint);
    CD_TRY(cd__make_id(m, &asset, MAKE_ASSET, why));
    CD_TRY(cd__make_owners(m, to, why));
    op->group_id = (u32)cd_args_u64(m->args, MAKE_GROUP);
    op->payload = cd_bytes_str(cd_args_str(m->args, MAKE_PAYLOAD));
    op->outputs = (cd_linear_list){.v = to, .cnt = 1};
    const cd_wallet_kind kind = {
        .output = CD_X_NFT_MINT_OUTPUT, .credential = CD_X_NFT_CREDENTIAL, .asset_id = asset, .group = &op->group_id};
    const cd_utxo *u = cd_wallet_operable(&m->draft, &op->input, &m->purse, &kind);
    return u == NULL ? none("right to mint in that group", why) : operate(m, u, CD_X_NFT_MINT, op, why);
}

static cd_err send_nft(cd__making *m, cd_errinfo *why)
{
    cd_hash32 asset;
    cd_x_nft_transfer *op = cd_arena_new(m->w->mem, cd_x_nft_transfer);
    u32 group = (u32)cd_args_u64(m->args, MAKE_GROUP);
    CD_TRY(cd__make_id(m, &asset, MAKE_ASSET, why));
    const cd_wallet_kind kind = {
        .output = CD_X_NFT_OUTPUT, .credential = CD_X_NFT_CREDENTIAL, .asset_id = asset, .group = &group};
    const cd_utxo *u = cd_wallet_operable(&m->draft, &op->input, &m->purse, &kind);
    if (u == NULL) {
        return none("NFT in that group", why);
    }
    op->output = *(const cd_x_nft_output *)u->out.v;
    CD_TRY(cd__make_owners(m, &op->output.owners, why));
    return operate(m, u, CD_X_NFT_TRANSFER, op, why);
}

const cd__make_row cd__make_x[] = {
    {"create-asset", "X", create_asset, "make an asset",
     "--name --symbol [--denomination] [--amount] [--mintable] [--nft-groups] [--to]"},
    {"mint", "X", mint, "make more of an asset", "--asset --amount [--to]"},
    {"mint-nft", "X", mint_nft, "make an NFT", "--asset [--group] --payload [--to]"},
    {"send-nft", "X", send_nft, "give an NFT away", "--asset [--group] --to"},
};
const usize cd__make_x_cnt = CD_COUNT(cd__make_x);
