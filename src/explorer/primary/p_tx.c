/* Transactions of the P-Chain in words: every kind as a sentence, and what it says besides. */
#include "crypto/hash/sha2.h"
#include "explorer/primary/primary_priv.h"
#include "types/pwarp.h"
#include "types/warp.h"

const char *cd__pp_p_kind(u32 type)
{
    switch ((cd_p_tx_type)type) {
    case CD_P_BASE_TX:
        return "Transfer";
    case CD_P_ADD_VALIDATOR:
        return "Add a validator (before Durango)";
    case CD_P_ADD_NET_VALIDATOR:
        return "Add a validator of a network";
    case CD_P_ADD_DELEGATOR:
        return "Add a delegator (before Durango)";
    case CD_P_CREATE_CHAIN:
        return "Create a chain";
    case CD_P_CREATE_NET:
        return "Create a network";
    case CD_P_IMPORT:
        return "Import";
    case CD_P_EXPORT:
        return "Export";
    case CD_P_ADVANCE_TIME:
        return "Advance the time";
    case CD_P_REWARD_VALIDATOR:
        return "End of a staking period";
    case CD_P_REMOVE_NET_VALIDATOR:
        return "Remove a validator of a network";
    case CD_P_TRANSFORM_NET:
        return "Make a network elastic";
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR:
        return "Add a validator";
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR:
        return "Add a delegator";
    case CD_P_TRANSFER_NET_OWNERSHIP:
        return "Transfer a network";
    case CD_P_CONVERT_NET_TO_L1:
        return "Convert a network to an L1";
    case CD_P_REGISTER_L1_VALIDATOR:
        return "Register an L1 validator";
    case CD_P_SET_L1_VALIDATOR_WEIGHT:
        return "Set the weight of an L1 validator";
    case CD_P_INCREASE_L1_BALANCE:
        return "Increase the balance of an L1 validator";
    case CD_P_DISABLE_L1_VALIDATOR:
        return "Disable an L1 validator";
    }
    return "Transaction";
}

/* --- parts of sentences --- */

static void say_amount(cd__pp *p, u64 amount)
{
    cd_html_put(&p->h, "<b>");
    cd__pp_native(p, amount);
    cd_html_put(&p->h, "</b>");
}

static void say_until(cd__pp *p, u64 time)
{
    cd_html_put(&p->h, " until <b>{}</b>", cd_fmt_utc(&p->a, time));
}

/* Stake is in the asset of the net. */
static void say_stake(cd__pp *p, const cd_hash32 *net, u64 weight)
{
    if (cd_hash32_is_zero(net)) {
        say_amount(p, weight);
    } else {
        cd_html_put(&p->h, "weight <b>{}</b>", cd_fmt_count(&p->a, weight));
    }
}

static void say_validator(cd__pp *p, const cd_p_validator *v, const cd_hash32 *net)
{
    cd_html_put(&p->h, "Made ");
    cd__pp_node(p, &v->node_id, 0);
    cd_html_put(&p->h, " a validator of ");
    cd__pp_net(p, net);
    cd_html_put(&p->h, " with ");
    say_stake(p, net, v->weight);
    say_until(p, v->end);
}

static void say_delegator(cd__pp *p, const cd_p_validator *v, const cd_hash32 *net)
{
    cd_html_put(&p->h, "Delegated ");
    say_stake(p, net, v->weight);
    cd_html_put(&p->h, " to ");
    cd__pp_node(p, &v->node_id, 0);
    say_until(p, v->end);
}

static u64 total(const cd_linear_list *outs, const cd_hash32 *asset)
{
    u64 sum = 0;
    for (u32 i = 0; i < outs->cnt; i++) {
        const cd_p_output *o = &((const cd_p_output *)outs->v)[i];
        u64 amount;
        if (cd_hash32_eq(&o->asset_id, asset) && cd_utxo_amount(&amount, &o->out)) {
            sum += amount;
        }
    }
    return sum;
}

static const char *name_of(const cd__pp *p, const cd_hash32 *chain)
{
    cd_primary_chain is = cd__pp_chain_of(p, chain);
    return is < CD_PRIMARY_CHAINS ? cd__pp_letters[is] : "another chain";
}

static void say_import(cd__pp *p, const cd_p_import *t)
{
    u64 sum = 0;
    for (u32 i = 0; i < t->imported.cnt; i++) {
        const cd_p_input *in = &((const cd_p_input *)t->imported.v)[i];
        sum += in->in.is->id == CD_P_TRANSFER_INPUT ? ((const cd_transfer_input *)in->in.v)->amount : 0;
    }
    cd_html_put(&p->h, "Imported ");
    say_amount(p, sum);
    cd_html_put(&p->h, " from <b>{}</b>", name_of(p, &t->source_chain));
}

static void say_export(cd__pp *p, const cd_p_export *t)
{
    cd_html_put(&p->h, "Exported ");
    say_amount(p, total(&t->exported, &p->m->ids->asset_id));
    cd_html_put(&p->h, " to <b>{}</b>", name_of(p, &t->destination_chain));
}

/* The first output that somebody else than the first payer owns is what was sent; the rest is change. */
static void say_transfer(cd__pp *p, const cd_p_base *t)
{
    const cd_p_output *o = t->outs.v;
    u32 sent = t->outs.cnt;
    const cd_owners *payer = NULL;
    if (t->ins.cnt != 0) {
        const cd_p_input *in = t->ins.v;
        const cd__pp_end end = {.tx_id = in->tx_id, .idx = in->output_idx, .from = CD_PRIMARY_P};
        payer = cd__pp_owners_of(p, &end);
    }
    for (u32 i = 0; i < t->outs.cnt && sent == t->outs.cnt; i++) {
        const cd_owners *to = cd_utxo_owners(&o[i].out);
        bool is_own = payer != NULL && to != NULL && to->addrs.cnt == payer->addrs.cnt &&
                      memcmp(to->addrs.v, payer->addrs.v, to->addrs.cnt * sizeof(cd_addr20)) == 0;
        sent = is_own ? sent : i;
    }
    if (sent == t->outs.cnt) {
        cd_html_put(&p->h, "Moved ");
        say_amount(p, total(&t->outs, &p->m->ids->asset_id));
        cd_html_put(&p->h, " to its own owner");
        return;
    }
    u64 amount = 0;
    const cd_owners *to = cd_utxo_owners(&o[sent].out);
    (void)!cd_utxo_amount(&amount, &o[sent].out);
    cd_html_put(&p->h, "Sent <b>");
    cd__pp_amount(p, amount, &o[sent].asset_id);
    cd_html_put(&p->h, "</b> to ");
    if (to != NULL) {
        cd__pp_owners(p, CD_PRIMARY_P, to);
    }
}

/* The payload of a message of the given kind; NULL: it is none. validation gets the ID that a registration makes. */
static const void *payload_of(cd__pp *p, cd_bytes message, cd_p_payload_type type, cd_hash32 *validation)
{
    cd_warp_message warp;
    cd_warp_payload call;
    cd_p_payload *said = cd_arena_zalloc(&p->a, sizeof *said);
    if (cd_warp_message_dec(&warp, message) != CD_OK || cd_warp_payload_dec(&call, warp.body.payload) != CD_OK ||
        call.type != CD_WARP_ADDRESSED_CALL ||
        cd_linear_parse(said, &cd_p_payload_table, &p->a, call.payload, 0, NULL) != CD_OK ||
        said->body.is->id != (u32)type) {
        return NULL;
    }
    cd_sha256(validation, call.payload);
    return said->body.v;
}

/* A validator of an L1 by its ID: its node and network, if it is there still. */
static void say_l1(cd__pp *p, const cd_hash32 *validation)
{
    cd_p_l1 v;
    if (cd_pstate_l1_get(&p->p.state, &v, &p->a, validation) == CD_OK) {
        cd__pp_node(p, &v.node_id, 0);
        cd_html_put(&p->h, " of ");
        cd__pp_net(p, &v.net_id);
    } else {
        cd_html_put(&p->h, "the validator ");
        cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, validation)});
    }
}

static void say_node_bytes(cd__pp *p, cd_bytes node)
{
    cd_node_id id = {{0}};
    if (node.n == sizeof id.b) {
        memcpy(id.b, node.p, sizeof id.b);
        cd__pp_node(p, &id, 0);
    } else {
        cd_html_put(&p->h, "a node");
    }
}

static void say_register(cd__pp *p, const cd_p_register_l1_validator *t)
{
    cd_hash32 validation;
    const cd_p_payload_register *r = payload_of(p, t->message, CD_P_PAYLOAD_REGISTER, &validation);
    cd_html_put(&p->h, "Registered ");
    if (r != NULL) {
        say_node_bytes(p, r->node_id);
        cd_html_put(&p->h, " as validator of ");
        cd__pp_net(p, &r->net_id);
        cd_html_put(&p->h, " with weight <b>{}</b>", cd_fmt_count(&p->a, r->weight));
    } else {
        cd_html_put(&p->h, "a validator of an L1");
    }
    cd_html_put(&p->h, ", paid ");
    say_amount(p, t->balance);
}

static void say_weight(cd__pp *p, const cd_p_set_l1_validator_weight *t)
{
    cd_hash32 hash;
    const cd_p_payload_weight *w = payload_of(p, t->message, CD_P_PAYLOAD_WEIGHT, &hash);
    if (w == NULL) {
        cd_html_put(&p->h, "Set the weight of a validator of an L1");
        return;
    }
    cd_html_put(&p->h, "{} ", w->weight == 0 ? "Removed" : "Set the weight of");
    say_l1(p, &w->validation_id);
    if (w->weight != 0) {
        cd_html_put(&p->h, " to <b>{}</b>", cd_fmt_count(&p->a, w->weight));
    }
}

/* Whether the one whose period ended was rewarded. */
static void say_reward(cd__pp *p, const cd_p_reward_validator *t)
{
    cd__pp_any of;
    cd_p_status status = CD_P_STATUS_UNKNOWN;
    cd_html_put(&p->h, "Ended the staking period of ");
    if (cd__pp_tx_any(p, &of, CD_PRIMARY_P, &t->tx_id, &status, NULL) != CD_OK) {
        cd_html_put(&p->h, "a staker");
        return;
    }
    const cd_node_id *node = of.type == CD_P_ADD_PERMISSIONLESS_VALIDATOR
                                 ? &((const cd_p_add_permissionless_validator *)of.body)->validator.node_id
                             : of.type == CD_P_ADD_PERMISSIONLESS_DELEGATOR
                                 ? &((const cd_p_add_permissionless_delegator *)of.body)->validator.node_id
                             : of.type == CD_P_ADD_VALIDATOR ? &((const cd_p_add_validator *)of.body)->validator.node_id
                             : of.type == CD_P_ADD_DELEGATOR ? &((const cd_p_add_delegator *)of.body)->validator.node_id
                                                             : NULL;
    bool delegates = of.type == CD_P_ADD_DELEGATOR || of.type == CD_P_ADD_PERMISSIONLESS_DELEGATOR;
    cd_html_put(&p->h, "{}", delegates ? "a delegator of " : "");
    if (node != NULL) {
        cd__pp_node(p, node, 0);
    }
    cd_html_put(&p->h, ", which began with ");
    cd__pp_tx_id(p, CD_PRIMARY_P, &t->tx_id, 0);
}

void cd__pp_p_say(cd__pp *p, const cd__pp_any *t)
{
    static const cd_hash32 primary;
    switch ((cd_p_tx_type)t->type) {
    case CD_P_BASE_TX:
        say_transfer(p, t->body);
        break;
    case CD_P_ADD_VALIDATOR:
        say_validator(p, &((const cd_p_add_validator *)t->body)->validator, &primary);
        break;
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR: {
        const cd_p_add_permissionless_validator *v = t->body;
        say_validator(p, &v->validator, &v->net_id);
        break;
    }
    case CD_P_ADD_NET_VALIDATOR: {
        const cd_p_add_net_validator *v = t->body;
        say_validator(p, &v->validator.validator, &v->validator.net_id);
        break;
    }
    case CD_P_ADD_DELEGATOR:
        say_delegator(p, &((const cd_p_add_delegator *)t->body)->validator, &primary);
        break;
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR: {
        const cd_p_add_permissionless_delegator *v = t->body;
        say_delegator(p, &v->validator, &v->net_id);
        break;
    }
    case CD_P_CREATE_CHAIN: {
        const cd_p_create_chain *c = t->body;
        cd_html_put(&p->h, "Created the chain <a href=\"{}\">{}</a> of ",
                    cd__pp_href(p, CD_PRIMARY_P, "chain", cd__pp_id_text(p, &t->id)), cd_foreign_of(c->name));
        cd__pp_net(p, &c->net_id);
        break;
    }
    case CD_P_CREATE_NET:
        cd_html_put(&p->h, "Created the network ");
        cd__pp_net(p, &t->id);
        break;
    case CD_P_IMPORT:
        say_import(p, t->body);
        break;
    case CD_P_EXPORT:
        say_export(p, t->body);
        break;
    case CD_P_ADVANCE_TIME:
        cd_html_put(&p->h, "Moved the time of the chain to <b>{}</b>",
                    cd_fmt_utc(&p->a, ((const cd_p_advance_time *)t->body)->time));
        break;
    case CD_P_REWARD_VALIDATOR:
        say_reward(p, t->body);
        break;
    case CD_P_REMOVE_NET_VALIDATOR: {
        const cd_p_remove_net_validator *r = t->body;
        cd_html_put(&p->h, "Removed ");
        cd__pp_node(p, &r->node_id, 0);
        cd_html_put(&p->h, " from the validators of ");
        cd__pp_net(p, &r->net_id);
        break;
    }
    case CD_P_TRANSFORM_NET: {
        const cd_p_transform_net *r = t->body;
        cd_html_put(&p->h, "Let anybody validate ");
        cd__pp_net(p, &r->net_id);
        cd_html_put(&p->h, " who stakes ");
        cd__pp_asset_id(p, &r->asset_id);
        break;
    }
    case CD_P_TRANSFER_NET_OWNERSHIP: {
        const cd_p_transfer_net_ownership *r = t->body;
        cd_html_put(&p->h, "Gave the network ");
        cd__pp_net(p, &r->net_id);
        cd_html_put(&p->h, " to ");
        cd__pp_owners(p, CD_PRIMARY_P, r->new_owner.v);
        break;
    }
    case CD_P_CONVERT_NET_TO_L1: {
        const cd_p_convert_net_to_l1 *c = t->body;
        cd_html_put(&p->h, "Made the network ");
        cd__pp_net(p, &c->net_id);
        cd_html_put(&p->h, " an L1 with <b>{} {}</b>", c->validators.cnt,
                    c->validators.cnt == 1 ? "validator" : "validators");
        break;
    }
    case CD_P_REGISTER_L1_VALIDATOR:
        say_register(p, t->body);
        break;
    case CD_P_SET_L1_VALIDATOR_WEIGHT:
        say_weight(p, t->body);
        break;
    case CD_P_INCREASE_L1_BALANCE: {
        const cd_p_increase_l1_balance *i = t->body;
        cd_html_put(&p->h, "Paid ");
        say_amount(p, i->balance);
        cd_html_put(&p->h, " for ");
        say_l1(p, &i->validation_id);
        break;
    }
    case CD_P_DISABLE_L1_VALIDATOR:
        cd_html_put(&p->h, "Ended the payments for ");
        say_l1(p, &((const cd_p_disable_l1_validator *)t->body)->validation_id);
        break;
    }
    cd_html_put(&p->h, ".");
}

/* --- details --- */

static void staker(cd__pp *p, const cd_p_validator *v)
{
    cd_html_put(&p->h, "<dt>Validator</dt><dd>");
    cd__pp_node(p, &v->node_id, CD_ID_COPY);
    cd_html_put(&p->h, "</dd>");
    if (v->start != 0) {
        cd__pp_pair_time(p, "From", v->start);
    }
    cd__pp_pair_time(p, "Until", v->end);
}

static void share(cd__pp *p, u32 shares)
{
    cd__pp_pair(p, "Delegation fee", cd_fmt_percent(&p->a, shares, 1000000));
}

static void hex_pair(cd__pp *p, const char *name, cd_bytes b)
{
    cd_buf text = {0};
    cd_buf_str(&text, "0x");
    for (usize i = 0; i < b.n && i < 1024; i++) {
        cd_buf_fmt(&text, "%02x", b.p[i]);
    }
    cd_html_put(&p->h, "<dt>{}</dt><dd>", name);
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd_arena_dup(&p->a, cd_buf_bytes(&text)), .flags = CD_ID_COPY});
    cd_html_put(&p->h, "</dd>");
    cd_buf_fini(&text);
}

static void id_pair(cd__pp *p, const char *name, const cd_hash32 *id)
{
    cd_html_put(&p->h, "<dt>{}</dt><dd>", name);
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, id), .flags = CD_ID_COPY});
    cd_html_put(&p->h, "</dd>");
}

static void permissionless(cd__pp *p, const cd_p_add_permissionless_validator *v)
{
    staker(p, &v->validator);
    cd__pp_pair_owners(p, CD_PRIMARY_P, "Reward to", v->validation_owner.v);
    cd__pp_pair_owners(p, CD_PRIMARY_P, "Delegation reward to", v->delegation_owner.v);
    share(p, v->shares);
    if (v->signer.is->id == CD_P_SIGNER_POP) {
        hex_pair(p, "BLS key", cd_bytes_of(((const cd_p_pop *)v->signer.v)->key, 48));
    }
}

static void transformed(cd__pp *p, const cd_p_transform_net *t)
{
    cd__pp_pair(p, "Supply", cd_fmt_count(&p->a, t->initial_supply));
    cd__pp_pair(p, "At most", cd_fmt_count(&p->a, t->maximum_supply));
    cd__pp_pair(p, "Stake from", cd_fmt_count(&p->a, t->min_validator_stake));
    cd__pp_pair(p, "Stake to", cd_fmt_count(&p->a, t->max_validator_stake));
    cd__pp_pair(p, "Delegators from", cd_fmt_count(&p->a, t->min_delegator_stake));
    cd__pp_pair(p, "Period from", cd_fmt_duration(&p->a, (u64)t->min_stake_duration * 1000));
    cd__pp_pair(p, "Period to", cd_fmt_duration(&p->a, (u64)t->max_stake_duration * 1000));
    cd__pp_pair(p, "Uptime needed", cd_fmt_percent(&p->a, t->uptime_requirement, 1000000));
}

static void converted(cd__pp *p, const cd_p_convert_net_to_l1 *t)
{
    enum { SHOWN = 32 };
    id_pair(p, "Manager's chain", &t->chain_id);
    hex_pair(p, "Manager", t->address);
    for (u32 i = 0; i < t->validators.cnt && i < SHOWN; i++) {
        const cd_p_l1_validator *v = &((const cd_p_l1_validator *)t->validators.v)[i];
        cd_html_put(&p->h, "<dt>Validator</dt><dd>");
        say_node_bytes(p, v->node_id);
        cd_html_put(&p->h, " weight {}, balance ", cd_fmt_count(&p->a, v->weight));
        cd__pp_native(p, v->balance);
        cd_html_put(&p->h, "</dd>");
    }
}

void cd__pp_p_details(cd__pp *p, const cd__pp_any *t)
{
    switch (t->type) {
    case CD_P_ADD_VALIDATOR: {
        const cd_p_add_validator *v = t->body;
        staker(p, &v->validator);
        cd__pp_pair_owners(p, CD_PRIMARY_P, "Reward to", v->rewards_owner.v);
        share(p, v->shares);
        break;
    }
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR:
        permissionless(p, t->body);
        break;
    case CD_P_ADD_NET_VALIDATOR:
        staker(p, &((const cd_p_add_net_validator *)t->body)->validator.validator);
        break;
    case CD_P_ADD_DELEGATOR: {
        const cd_p_add_delegator *v = t->body;
        staker(p, &v->validator);
        cd__pp_pair_owners(p, CD_PRIMARY_P, "Reward to", v->rewards_owner.v);
        break;
    }
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR: {
        const cd_p_add_permissionless_delegator *v = t->body;
        staker(p, &v->validator);
        cd__pp_pair_owners(p, CD_PRIMARY_P, "Reward to", v->rewards_owner.v);
        break;
    }
    case CD_P_CREATE_CHAIN: {
        const cd_p_create_chain *c = t->body;
        id_pair(p, "Virtual machine", &c->vm_id);
        cd__pp_pair(p, "Genesis", cd_fmt_bytes(&p->a, c->genesis.n));
        break;
    }
    case CD_P_CREATE_NET:
        cd__pp_pair_owners(p, CD_PRIMARY_P, "Owner", ((const cd_p_create_net *)t->body)->owner.v);
        break;
    case CD_P_TRANSFORM_NET:
        transformed(p, t->body);
        break;
    case CD_P_CONVERT_NET_TO_L1:
        converted(p, t->body);
        break;
    case CD_P_REGISTER_L1_VALIDATOR: {
        cd_hash32 id;
        if (payload_of(p, ((const cd_p_register_l1_validator *)t->body)->message, CD_P_PAYLOAD_REGISTER, &id) != NULL) {
            id_pair(p, "Validation ID", &id);
        }
        break;
    }
    case CD_P_INCREASE_L1_BALANCE:
        id_pair(p, "Validation ID", &((const cd_p_increase_l1_balance *)t->body)->validation_id);
        break;
    case CD_P_DISABLE_L1_VALIDATOR:
        id_pair(p, "Validation ID", &((const cd_p_disable_l1_validator *)t->body)->validation_id);
        break;
    default:
        break;
    }
}
