#include "chains/platform/fees/complexity.h"

#include "types/warp.h"

/* Lengths of what stands in a transaction, in bytes; prices of signature checks, in microseconds. */
enum {
    LEN_TYPE = 4,
    LEN_ID = 32,
    LEN_ADDR = 20,
    LEN_LOCK = 12,         /* locktime and the type behind it */
    LEN_OUTPUT = 60,       /* asset, type, amount, locktime, threshold, count */
    LEN_INPUT = 92,        /* transaction, index, asset, type, amount, count; credential's type and count */
    LEN_OWNERS = 16,       /* locktime, threshold, count */
    LEN_AUTH = 8,          /* count; credential's count */
    LEN_SIGNATURE = 69,    /* index and signature */
    LEN_POP = 144,         /* key and proof */
    LEN_L1_VALIDATOR = 36, /* lengths, weight, balance, thresholds, counts */
    SIGNATURE_US = 200,
    POP_US = 1050,
    WARP_US = 1000,
    WARP_SIGNER_US = 5,
    WARP_READS = 23,
    L1_VALIDATOR_WRITES = 4,
};

/* What a type costs before its lists are counted. Bandwidth has version, type, the counts of the base and of
 * credentials, and the fixed fields. */
typedef struct intrinsic {
    u32 type;
    cd_gas_dims dims;
} intrinsic;

static const intrinsic intrinsics[] = {
    {CD_P_BASE_TX, {58, 0, 0, 0}},
    {CD_P_ADD_VALIDATOR, {114, 1, 3, 0}},
    {CD_P_ADD_NET_VALIDATOR, {142, 3, 3, 0}},
    {CD_P_ADD_DELEGATOR, {110, 1, 2, 0}},
    {CD_P_CREATE_CHAIN, {140, 3, 1, 0}},
    {CD_P_CREATE_NET, {62, 0, 1, 0}},
    {CD_P_IMPORT, {94, 0, 0, 0}},
    {CD_P_EXPORT, {94, 0, 0, 0}},
    {CD_P_REMOVE_NET_VALIDATOR, {118, 1, 3, 0}},
    {CD_P_ADD_PERMISSIONLESS_VALIDATOR, {154, 1, 3, 0}},
    {CD_P_ADD_PERMISSIONLESS_DELEGATOR, {142, 1, 2, 0}},
    {CD_P_TRANSFER_NET_OWNERSHIP, {102, 1, 1, 0}},
    {CD_P_CONVERT_NET_TO_L1, {138, 3, 2, 0}},
    {CD_P_REGISTER_L1_VALIDATOR, {166, 5, 6, POP_US}},
    {CD_P_SET_L1_VALIDATOR_WEIGHT, {62, 3, 5, 0}},
    {CD_P_INCREASE_L1_BALANCE, {98, 1, 5, 0}},
    {CD_P_DISABLE_L1_VALIDATOR, {98, 1, 6, 0}},
};

/* A document is at most 256 KiB, a count at most 2^31: no sum below comes near 2^64. */

static void add_signatures(cd_gas_dims *d, u32 cnt)
{
    d->bandwidth += (u64)cnt * LEN_SIGNATURE;
    d->compute += (u64)cnt * SIGNATURE_US;
}

static void add_outputs(cd_gas_dims *d, const cd_linear_list *outs)
{
    const cd_p_output *v = outs->v;
    for (u32 i = 0; i < outs->cnt; i++) {
        const cd_linear_any *out = &v[i].out;
        d->bandwidth += LEN_OUTPUT;
        d->writes++;
        if (out->is->id == CD_P_LOCK_OUT) {
            out = &((const cd_locked *)out->v)->inner;
            d->bandwidth += LEN_LOCK;
        }
        d->bandwidth += (u64)((const cd_transfer_output *)out->v)->owners.addrs.cnt * LEN_ADDR;
    }
}

static void add_inputs(cd_gas_dims *d, const cd_linear_list *ins)
{
    const cd_p_input *v = ins->v;
    for (u32 i = 0; i < ins->cnt; i++) {
        const cd_linear_any *in = &v[i].in;
        d->bandwidth += LEN_INPUT;
        d->reads++;
        d->writes++;
        if (in->is->id == CD_P_LOCK_IN) {
            in = &((const cd_locked *)in->v)->inner;
            d->bandwidth += LEN_LOCK;
        }
        add_signatures(d, ((const cd_transfer_input *)in->v)->sig_indices.cnt);
    }
}

static void add_owner(cd_gas_dims *d, const cd_linear_any *owner)
{
    d->bandwidth += LEN_OWNERS + (u64)((const cd_owners *)owner->v)->addrs.cnt * LEN_ADDR;
}

static void add_auth(cd_gas_dims *d, const cd_linear_any *auth)
{
    d->bandwidth += LEN_AUTH;
    add_signatures(d, ((const cd_auth_input *)auth->v)->sig_indices.cnt);
}

static void add_pop(cd_gas_dims *d)
{
    d->bandwidth += LEN_POP;
    d->compute += POP_US;
}

static void add_l1_validators(cd_gas_dims *d, const cd_linear_list *validators)
{
    const cd_p_l1_validator *v = validators->v;
    for (u32 i = 0; i < validators->cnt; i++) {
        u64 addrs = (u64)v[i].remaining_balance_owner.addrs.cnt + v[i].deactivation_owner.addrs.cnt;
        d->bandwidth += LEN_L1_VALIDATOR + v[i].node_id.n + addrs * LEN_ADDR;
        d->writes += L1_VALIDATOR_WRITES;
        add_pop(d);
    }
}

static cd_err add_message(cd_gas_dims *d, cd_bytes message, cd_errinfo *why)
{
    cd_warp_message m;
    cd_err e = cd_warp_message_dec(&m, message);
    if (e != CD_OK) {
        return cd_fail(why, e, "%s", cd_err_str(e));
    }
    d->bandwidth += message.n;
    d->reads += WARP_READS;
    d->compute += WARP_US + cd_bits_count(m.signers) * WARP_SIGNER_US;
    return CD_OK;
}

/* The lists that stand in one type alone. */
static cd_err add_rest(cd_gas_dims *d, const cd_linear_any *body, cd_errinfo *why)
{
    const void *v = body->v;
    switch ((cd_p_tx_type)body->is->id) {
    case CD_P_ADD_VALIDATOR:
        add_outputs(d, &((const cd_p_add_validator *)v)->stake);
        add_owner(d, &((const cd_p_add_validator *)v)->rewards_owner);
        break;
    case CD_P_ADD_DELEGATOR:
        add_outputs(d, &((const cd_p_add_delegator *)v)->stake);
        add_owner(d, &((const cd_p_add_delegator *)v)->rewards_owner);
        break;
    case CD_P_ADD_NET_VALIDATOR:
        add_auth(d, &((const cd_p_add_net_validator *)v)->net_auth);
        break;
    case CD_P_CREATE_CHAIN: {
        const cd_p_create_chain *t = v;
        d->bandwidth += (u64)t->fx_ids.cnt * LEN_ID + t->name.n + t->genesis.n;
        add_auth(d, &t->net_auth);
        break;
    }
    case CD_P_CREATE_NET:
        add_owner(d, &((const cd_p_create_net *)v)->owner);
        break;
    case CD_P_IMPORT:
        add_inputs(d, &((const cd_p_import *)v)->imported);
        break;
    case CD_P_EXPORT:
        add_outputs(d, &((const cd_p_export *)v)->exported);
        break;
    case CD_P_REMOVE_NET_VALIDATOR:
        add_auth(d, &((const cd_p_remove_net_validator *)v)->net_auth);
        break;
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR: {
        const cd_p_add_permissionless_validator *t = v;
        if (t->signer.is->id == CD_P_SIGNER_POP) {
            add_pop(d);
        }
        add_outputs(d, &t->stake);
        add_owner(d, &t->validation_owner);
        add_owner(d, &t->delegation_owner);
        break;
    }
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR:
        add_outputs(d, &((const cd_p_add_permissionless_delegator *)v)->stake);
        add_owner(d, &((const cd_p_add_permissionless_delegator *)v)->rewards_owner);
        break;
    case CD_P_TRANSFER_NET_OWNERSHIP:
        add_auth(d, &((const cd_p_transfer_net_ownership *)v)->net_auth);
        add_owner(d, &((const cd_p_transfer_net_ownership *)v)->new_owner);
        break;
    case CD_P_CONVERT_NET_TO_L1: {
        const cd_p_convert_net_to_l1 *t = v;
        d->bandwidth += t->address.n;
        add_l1_validators(d, &t->validators);
        add_auth(d, &t->net_auth);
        break;
    }
    case CD_P_REGISTER_L1_VALIDATOR:
        return add_message(d, ((const cd_p_register_l1_validator *)v)->message, why);
    case CD_P_SET_L1_VALIDATOR_WEIGHT:
        return add_message(d, ((const cd_p_set_l1_validator_weight *)v)->message, why);
    case CD_P_DISABLE_L1_VALIDATOR:
        add_auth(d, &((const cd_p_disable_l1_validator *)v)->auth);
        break;
    case CD_P_BASE_TX:
    case CD_P_INCREASE_L1_BALANCE:
    case CD_P_ADVANCE_TIME:
    case CD_P_REWARD_VALIDATOR:
    case CD_P_TRANSFORM_NET:
        break;
    }
    return CD_OK;
}

cd_err cd_gas_complexity(cd_gas_dims *out, const cd_p_tx *tx, bool legacy_stakers, cd_errinfo *why)
{
    u32 type = tx->body.is->id;
    bool is_legacy = type == CD_P_ADD_VALIDATOR || type == CD_P_ADD_DELEGATOR;
    for (usize i = 0; i < CD_COUNT(intrinsics) && (legacy_stakers || !is_legacy); i++) {
        if (intrinsics[i].type == type) {
            const cd_p_base *base = tx->body.v; /* the first member of each of them */
            cd_gas_dims d = intrinsics[i].dims;
            d.bandwidth += base->memo.n;
            add_outputs(&d, &base->outs);
            add_inputs(&d, &base->ins);
            CD_TRY(add_rest(&d, &tx->body, why));
            *out = d;
            return CD_OK;
        }
    }
    return cd_fail(why, CD_EUNSUPPORTED, "unsupported transaction type");
}
