/* Transactions of L1s. [spec:pchain-xchain#4] */
#include "base/hex.h"
#include "base/num_text.h"
#include "l1/l1.h"
#include "tx/making.h"

#include <stdlib.h>

/* Reads NodeID-…:WEIGHT:BALANCE:KEY:POP. What is left of the balance goes back to the payer, who may also disable the
 * validator. */
static cd_err read_l1_validator(cd__making *m, cd_p_l1_validator *out, const char *text, cd_errinfo *why)
{
    enum { NODE, WEIGHT, BALANCE, KEY, POP, PARTS };
    cd_bytes parts[PARTS];
    usize n = 0;
    const char *p = text;
    for (; n < PARTS && p != NULL; n++) {
        const char *end = strchr(p, ':');
        parts[n] = cd_bytes_of(p, end == NULL ? strlen(p) : (usize)(end - p));
        p = end == NULL ? NULL : end + 1;
    }
    if (n != PARTS || p != NULL) {
        return cd_fail(why, CD_EINVAL, "--validator: NodeID:WEIGHT:BALANCE:KEY:POP are needed, got \"%.60s\"", text);
    }
    cd_node_id *node = cd_arena_new(m->w->mem, cd_node_id);
    const cd_owners mine = cd_wallet_owners(m->w->mem, &m->payer->addrs[0]);
    CD_TRY(cd__make_read_node(node, cd_arena_str(m->w->mem, parts[NODE]), why));
    *out = (cd_p_l1_validator){.node_id = cd_bytes_of(node->b, sizeof node->b)};
    if (cd_u64_parse(&out->weight, parts[WEIGHT]) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--validator: a weight is a number");
    }
    CD_TRY(cd__amount_read(&out->balance, cd_arena_str(m->w->mem, parts[BALANCE]), m->w->decimals, why));
    CD_TRY(cd__make_read_fixed(out->signer.key, sizeof out->signer.key, "--validator, KEY", parts[KEY], why));
    CD_TRY(cd__make_read_fixed(out->signer.proof, sizeof out->signer.proof, "--validator, POP", parts[POP], why));
    out->remaining_balance_owner = (cd_p_l1_owner){.threshold = 1, .addrs = mine.addrs};
    out->deactivation_owner = out->remaining_balance_owner;
    return CD_OK;
}

static bool is_forced(const cd__making *m)
{
    return cd_args_bool(m->args, MAKE_FORCE);
}

/* What the L1 begins with goes on only when enough pay, and nobody outweighs the others. */
static cd_err check_new(cd__making *m, const cd_p_l1_validator *v, usize cnt, cd_errinfo *why)
{
    cd_l1_member *members = cd_arena_array(m->w->mem, cd_l1_member, cnt + 1);
    for (usize i = 0; i < cnt; i++) {
        members[i] =
            (cd_l1_member){.validation_id = {{(u8)i}}, .weight = v[i].weight, .balance = v[i].balance, .has_key = true};
    }
    return cnt == 0 || is_forced(m) ? CD_OK : cd__l1_check_new(m->w->mem, members, cnt, why);
}

static cd_err check_message(cd__making *m, cd_bytes message, u64 balance, cd_errinfo *why)
{
    return is_forced(m) ? CD_OK : cd__l1_check_message(m->w->node, m->w->mem, message, balance, why);
}

static int by_node(const void *a, const void *b)
{
    const cd_p_l1_validator *x = a;
    const cd_p_l1_validator *y = b;
    return memcmp(x->node_id.p, y->node_id.p, sizeof(cd_node_id));
}

static cd_err convert_net(cd__making *m, cd_errinfo *why)
{
    const char *const *texts;
    usize cnt = cd_args_list(m->args, MAKE_VALIDATOR, &texts);
    u64 sum = 0;
    cd_p_convert_net_to_l1 *t = cd_arena_new(m->w->mem, cd_p_convert_net_to_l1);
    cd_p_l1_validator *v = cd_arena_array(m->w->mem, cd_p_l1_validator, cnt);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_id(m, &t->chain_id, MAKE_CHAIN, why));
    cd_bytes manager = cd_bytes_str(cd_args_str(m->args, MAKE_MANAGER));
    bool has_mark = manager.n > 2 && manager.p[0] == '0' && manager.p[1] == 'x';
    manager = has_mark ? cd_bytes_sub(manager, 2, manager.n - 2) : manager;
    u8 *address = cd_arena_alloc(m->w->mem, manager.n / 2 + 1);
    if (manager.n % 2 != 0 || cd_hex_parse(address, manager) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--manager: an address is pairs of hexadecimal digits");
    }
    t->address = cd_bytes_of(address, manager.n / 2);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(read_l1_validator(m, &v[i], texts[i], why));
        if (!cd_add_u64(&sum, sum, v[i].balance)) {
            return cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
        }
    }
    CD_TRY(check_new(m, v, cnt, why));
    if (cnt > 1) {
        qsort(v, cnt, sizeof *v, by_node);
    }
    t->validators = (cd_linear_list){.v = v, .cnt = (u32)cnt};
    CD_TRY(cd__make_net_auth(m, &t->net_id, &t->net_auth, why));
    return cd__make_fund(m, CD_P_CONVERT_NET_TO_L1, t, sum, why);
}

static cd_err register_l1_validator(cd__making *m, cd_errinfo *why)
{
    cd_hash32 asset;
    cd_p_register_l1_validator *t = cd_arena_new(m->w->mem, cd_p_register_l1_validator);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_amount(m, &asset, &t->balance, why));
    CD_TRY(
        cd__make_read_fixed(t->pop, sizeof t->pop, "--bls-pop", cd_bytes_str(cd_args_str(m->args, MAKE_BLS_POP)), why));
    CD_TRY(cd__make_file(m, &t->message, MAKE_MESSAGE, true, why));
    CD_TRY(check_message(m, t->message, t->balance, why));
    return cd__make_fund(m, CD_P_REGISTER_L1_VALIDATOR, t, t->balance, why);
}

static cd_err set_l1_weight(cd__making *m, cd_errinfo *why)
{
    cd_p_set_l1_validator_weight *t = cd_arena_new(m->w->mem, cd_p_set_l1_validator_weight);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_file(m, &t->message, MAKE_MESSAGE, true, why));
    CD_TRY(check_message(m, t->message, 0, why));
    return cd__make_fund(m, CD_P_SET_L1_VALIDATOR_WEIGHT, t, 0, why);
}

static cd_err increase_balance(cd__making *m, cd_errinfo *why)
{
    cd_hash32 asset;
    cd_p_increase_l1_balance *t = cd_arena_new(m->w->mem, cd_p_increase_l1_balance);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_id(m, &t->validation_id, MAKE_VALIDATION, why));
    CD_TRY(cd__make_amount(m, &asset, &t->balance, why));
    return cd__make_fund(m, CD_P_INCREASE_L1_BALANCE, t, t->balance, why);
}

static cd_err disable_validator(cd__making *m, cd_errinfo *why)
{
    cd_json v;
    cd_owners owners;
    cd_wallet_slot slot;
    cd_p_disable_l1_validator *t = cd_arena_new(m->w->mem, cd_p_disable_l1_validator);
    t->base = cd__make_base(m);
    CD_TRY(cd__make_id(m, &t->validation_id, MAKE_VALIDATION, why));
    const char *params = cd_arena_fmt(m->w->mem, "{\"validationID\":\"%s\"}", cd_args_str(m->args, MAKE_VALIDATION));
    CD_TRY(cd__remote_ask(m->w->node, &v, "/ext/bc/P", "platform.getL1Validator", params, why));
    const cd_l1_step step = {.kind = CD_L1_STEP_DISABLE, .validation_id = t->validation_id};
    CD_TRY(is_forced(m) ? CD_OK : cd__l1_check(m->w->node, m->w->mem, NULL, &step, why));
    cd_json o = cd_json_get(v, "deactivationOwner");
    CD_TRY(cd__make_read_owners(m, &owners, cd_json_get(o, "addresses"), cd_json_get(o, "threshold"),
                                cd_json_get(o, "locktime"), why));
    CD_TRY(cd_wallet_permit(&t->auth, &slot, &m->purse, &owners, why));
    cd_wallet_slots_add(&m->draft, m->w->mem, &slot, 1);
    return cd__make_fund(m, CD_P_DISABLE_L1_VALIDATOR, t, 0, why);
}

const cd__make_row cd__make_l1[] = {
    {"convert-net", "P", convert_net, "make it an L1", "--net-id --chain-id --manager --validator"},
    {"register-l1-validator", "P", register_l1_validator, "add a validator of an L1, as a Warp message says",
     "--amount --bls-pop --message-file"},
    {"set-l1-weight", "P", set_l1_weight, "change its weight, as a Warp message says", "--message-file"},
    {"increase-l1-balance", "P", increase_balance, "pay for a validator of an L1", "--validation-id --amount"},
    {"disable-l1-validator", "P", disable_validator, "end its payments", "--validation-id"},
};
const usize cd__make_l1_cnt = CD_COUNT(cd__make_l1);
