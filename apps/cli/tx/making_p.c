/* Transactions of the P-Chain: stakers, and networks that a user makes. [spec:pchain-xchain#4] */
#include "tx/making.h"

#include "base/hex.h"
#include "base/os/clock.h"

enum { SHARES_ALL = 1000000, PERCENT_DECIMALS = 4 };

/* --- parts --- */

cd_err cd__make_read_node(cd_node_id *out, const char *text, cd_errinfo *why)
{
    cd_errinfo said = {0};
    if (cd_node_id_parse(out, cd_bytes_str(text), &said) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--node-id: %s", text[0] == '\0' ? "there is none" : said.msg);
    }
    return CD_OK;
}

cd_err cd__make_read_fixed(u8 *out, usize n, const char *what, cd_bytes text, cd_errinfo *why)
{
    bool has_mark = text.n > 2 && text.p[0] == '0' && text.p[1] == 'x';
    cd_bytes digits = has_mark ? cd_bytes_sub(text, 2, text.n - 2) : text;
    if (digits.n != 2 * n || cd_hex_parse(out, digits) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "%s: %zu bytes as hexadecimal digits are needed", what, n);
    }
    return CD_OK;
}

static cd_err end_of(const cd__making *m, u64 *out, cd_errinfo *why)
{
    u64 end = cd_args_u64(m->args, MAKE_END);
    u64 duration = cd_args_u64(m->args, MAKE_DURATION) / CD_NS_PER_SEC;
    if ((end == 0) == (duration == 0)) {
        return cd_fail(why, CD_EINVAL, "until when? --end=SECONDS or --duration=TIME");
    }
    *out = end != 0 ? end : m->w->now + duration;
    return CD_OK;
}

/* Reads which node validates, and until when; the caller sets the weight. */
static cd_err read_validator(const cd__making *m, cd_p_validator *out, cd_errinfo *why)
{
    *out = (cd_p_validator){.start = cd_args_u64(m->args, MAKE_START)};
    CD_TRY(cd__make_read_node(&out->node_id, cd_args_str(m->args, MAKE_NODE), why));
    return end_of(m, &out->end, why);
}

static cd_err read_shares(const cd__making *m, u32 *out, cd_errinfo *why)
{
    u64 shares;
    if (cd__amount_read(&shares, cd_args_str(m->args, MAKE_FEE_SHARE), PERCENT_DECIMALS, why) != CD_OK ||
        shares > SHARES_ALL) {
        return cd_fail(why, CD_EINVAL, "--delegation-fee: a percentage from 0 to 100 is needed");
    }
    *out = (u32)shares;
    return CD_OK;
}

/* Reads the amount to be staked, as an output that the payer gets back in the end. */
static cd_err read_stake(cd__making *m, cd_linear_list *stake, u64 *weight, cd_errinfo *why)
{
    cd_hash32 asset;
    cd_p_output *out = cd_arena_new(m->w->mem, cd_p_output);
    const cd_owners mine = cd_wallet_owners(m->w->mem, &m->payer->addrs[0]);
    CD_TRY(cd__make_amount(m, &asset, weight, why));
    *out = cd_wallet_output(m->w->mem, &m->w->asset_id, *weight, &mine);
    *stake = (cd_linear_list){.v = out, .cnt = 1};
    return CD_OK;
}

cd_err cd__make_fund(cd__making *m, cd_p_tx_type type, void *body, u64 more, cd_errinfo *why)
{
    const cd_wallet_need need = {.asset_id = m->w->asset_id, .amount = more};
    m->draft.body = cd_p_body(type, body);
    return cd_wallet_fund(&m->draft, &m->purse, &need, 1, &m->fee, why);
}

/* --- stakers --- */

static cd_err add_validator(cd__making *m, cd_errinfo *why)
{
    cd_owners rewards;
    cd_p_add_permissionless_validator *t = cd_arena_new(m->w->mem, cd_p_add_permissionless_validator);
    cd_p_pop *pop = cd_arena_new(m->w->mem, cd_p_pop);
    t->base = cd__make_base(m);
    CD_TRY(read_validator(m, &t->validator, why));
    CD_TRY(cd__make_read_fixed(pop->key, sizeof pop->key, "--bls-key", cd_bytes_str(cd_args_str(m->args, MAKE_BLS_KEY)),
                               why));
    CD_TRY(cd__make_read_fixed(pop->proof, sizeof pop->proof, "--bls-pop",
                               cd_bytes_str(cd_args_str(m->args, MAKE_BLS_POP)), why));
    CD_TRY(read_shares(m, &t->shares, why));
    CD_TRY(read_stake(m, &t->stake, &t->validator.weight, why));
    CD_TRY(cd__make_owners(m, &rewards, why));
    t->signer = cd_p_part(CD_P_SIGNER_POP, pop);
    t->validation_owner = cd__make_owners_part(m, &rewards);
    t->delegation_owner = cd__make_owners_part(m, &rewards);
    return cd__make_fund(m, CD_P_ADD_PERMISSIONLESS_VALIDATOR, t, t->validator.weight, why);
}

static cd_err add_delegator(cd__making *m, cd_errinfo *why)
{
    cd_owners rewards;
    cd_p_add_permissionless_delegator *t = cd_arena_new(m->w->mem, cd_p_add_permissionless_delegator);
    t->base = cd__make_base(m);
    CD_TRY(read_validator(m, &t->validator, why));
    CD_TRY(read_stake(m, &t->stake, &t->validator.weight, why));
    CD_TRY(cd__make_owners(m, &rewards, why));
    t->rewards_owner = cd__make_owners_part(m, &rewards);
    return cd__make_fund(m, CD_P_ADD_PERMISSIONLESS_DELEGATOR, t, t->validator.weight, why);
}

static cd_err legacy_validator(cd__making *m, cd_errinfo *why)
{
    cd_owners rewards;
    cd_p_add_validator *t = cd_arena_new(m->w->mem, cd_p_add_validator);
    t->base = cd__make_base(m);
    CD_TRY(read_validator(m, &t->validator, why));
    CD_TRY(read_shares(m, &t->shares, why));
    CD_TRY(read_stake(m, &t->stake, &t->validator.weight, why));
    CD_TRY(cd__make_owners(m, &rewards, why));
    t->rewards_owner = cd__make_owners_part(m, &rewards);
    return cd__make_fund(m, CD_P_ADD_VALIDATOR, t, t->validator.weight, why);
}

static cd_err legacy_delegator(cd__making *m, cd_errinfo *why)
{
    cd_owners rewards;
    cd_p_add_delegator *t = cd_arena_new(m->w->mem, cd_p_add_delegator);
    t->base = cd__make_base(m);
    CD_TRY(read_validator(m, &t->validator, why));
    CD_TRY(read_stake(m, &t->stake, &t->validator.weight, why));
    CD_TRY(cd__make_owners(m, &rewards, why));
    t->rewards_owner = cd__make_owners_part(m, &rewards);
    return cd__make_fund(m, CD_P_ADD_DELEGATOR, t, t->validator.weight, why);
}

/* --- networks --- */

static cd_err create_net(cd__making *m, cd_errinfo *why)
{
    cd_owners owners;
    cd_p_create_net *t = cd_arena_new(m->w->mem, cd_p_create_net);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_owners(m, &owners, why));
    t->owner = cd__make_owners_part(m, &owners);
    return cd__make_fund(m, CD_P_CREATE_NET, t, 0, why);
}

static cd_err transfer_net(cd__making *m, cd_errinfo *why)
{
    cd_owners owners;
    cd_p_transfer_net_ownership *t = cd_arena_new(m->w->mem, cd_p_transfer_net_ownership);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_owners(m, &owners, why));
    t->new_owner = cd__make_owners_part(m, &owners);
    CD_TRY(cd__make_net_auth(m, &t->net_id, &t->net_auth, why));
    return cd__make_fund(m, CD_P_TRANSFER_NET_OWNERSHIP, t, 0, why);
}

static cd_err add_net_validator(cd__making *m, cd_errinfo *why)
{
    cd_p_add_net_validator *t = cd_arena_new(m->w->mem, cd_p_add_net_validator);
    t->base = cd__make_base(m);
    CD_TRY(read_validator(m, &t->validator.validator, why));
    t->validator.validator.weight = cd_args_u64(m->args, MAKE_WEIGHT);
    if (t->validator.validator.weight == 0) {
        return cd_fail(why, CD_EINVAL, "--weight is needed");
    }
    CD_TRY(cd__make_net_auth(m, &t->validator.net_id, &t->net_auth, why));
    return cd__make_fund(m, CD_P_ADD_NET_VALIDATOR, t, 0, why);
}

static cd_err remove_net_validator(cd__making *m, cd_errinfo *why)
{
    cd_p_remove_net_validator *t = cd_arena_new(m->w->mem, cd_p_remove_net_validator);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_read_node(&t->node_id, cd_args_str(m->args, MAKE_NODE), why));
    CD_TRY(cd__make_net_auth(m, &t->net_id, &t->net_auth, why));
    return cd__make_fund(m, CD_P_REMOVE_NET_VALIDATOR, t, 0, why);
}

static cd_err create_chain(cd__making *m, cd_errinfo *why)
{
    cd_p_create_chain *t = cd_arena_new(m->w->mem, cd_p_create_chain);
    t->base = cd__make_base(m);
    t->name = cd_bytes_str(cd_args_str(m->args, MAKE_NAME));
    CD_TRY(cd__make_id(m, &t->vm_id, MAKE_VM, why));
    CD_TRY(cd__make_file(m, &t->genesis, MAKE_GENESIS, false, why));
    CD_TRY(cd__make_net_auth(m, &t->net_id, &t->net_auth, why));
    return cd__make_fund(m, CD_P_CREATE_CHAIN, t, 0, why);
}

const cd__make_row cd__make_p[] = {
    {"add-validator", "P", add_validator, "stake as a validator of the primary network",
     "--node-id --bls-key --bls-pop --amount --duration [--delegation-fee] [--to]"},
    {"add-delegator", "P", add_delegator, "stake with a validator", "--node-id --amount --duration [--to]"},
    {"add-legacy-validator", "P", legacy_validator, "a validator without a BLS key, from --start on (product networks)",
     "--node-id --start --end --amount [--delegation-fee] [--to]"},
    {"add-legacy-delegator", "P", legacy_delegator, "a delegator, from --start on (product networks)",
     "--node-id --start --end --amount [--to]"},
    {"create-net", "P", create_net, "make a network of one's own", "[--to] [--threshold]"},
    {"transfer-net", "P", transfer_net, "give it to other owners", "--net-id --to [--threshold]"},
    {"add-net-validator", "P", add_net_validator, "let a node validate it", "--net-id --node-id --weight --duration"},
    {"remove-net-validator", "P", remove_net_validator, "no longer", "--net-id --node-id"},
    {"create-chain", "P", create_chain, "make a chain of it", "--net-id --name --vm-id --genesis-file"},
};
const usize cd__make_p_cnt = CD_COUNT(cd__make_p);
