#include "chains/platform/txs/shape.h"

#include "chains/platform/txs/words.h"
#include "chains/utxo/fx.h"

#include <string.h>

enum {
    NAME_MAX_LEN = 128,
    GENESIS_MAX = 1 << 20,
    ADDRESS_MAX = 4096,
    MEMO_MAX = 256,
    NODE_LEN = 20,
};

static const cd_hash32 primary;

/* --- parts --- */

cd_err cd_p_pop_check(cd_bls_pk *out, const u8 key[48], const u8 proof[96], cd_errinfo *why)
{
    cd_bls_pk pk;
    cd_bls_sig sig;
    bool ok =
        cd_bls_pk_dec(&pk, cd_bytes_of(key, 48)) == CD_OK && cd_bls_sig_dec(&sig, cd_bytes_of(proof, 96)) == CD_OK;
    if (!ok || !cd_bls_pop_verify(&sig, &pk)) {
        return cd_fail(why, CD_EINVAL, "invalid proof of possession");
    }
    if (out != NULL) {
        *out = pk;
    }
    return CD_OK;
}

cd_err cd_p_l1_owner_check(const cd_p_l1_owner *o, cd_errinfo *why)
{
    const cd_owners owners = {.threshold = o->threshold, .addrs = o->addrs};
    return cd_fx_owners_ok(&owners, why);
}

static cd_err output_ok(const cd_linear_any *out, cd_errinfo *why)
{
    if (out->is->id == CD_P_LOCK_OUT) {
        const cd_locked *lock = out->v;
        if (lock->locktime == 0) {
            return cd_fail(why, CD_EINVAL, "invalid locktime");
        }
        out = &lock->inner;
    }
    return cd_fx_output_ok(out->v, why);
}

static cd_err input_ok(const cd_linear_any *in, cd_errinfo *why)
{
    if (in->is->id == CD_P_LOCK_IN) {
        const cd_locked *lock = in->v;
        if (lock->locktime == 0) {
            return cd_fail(why, CD_EINVAL, "invalid locktime");
        }
        in = &lock->inner;
    }
    return cd_fx_input_ok(in->v, why);
}

static cd_err outputs_ok(const cd_linear_list *outs, const char *words, cd_errinfo *why)
{
    for (u32 i = 0; i < outs->cnt; i++) {
        cd_err e = output_ok(&((const cd_p_output *)outs->v)[i].out, why);
        if (e != CD_OK) {
            return cd_fail_under(why, e, "%s", words);
        }
    }
    return CD_OK;
}

static cd_err inputs_ok(const cd_linear_list *ins, cd_errinfo *why)
{
    for (u32 i = 0; i < ins->cnt; i++) {
        cd_err e = input_ok(&((const cd_p_input *)ins->v)[i].in, why);
        if (e != CD_OK) {
            return cd_fail_under(why, e, "input failed verification");
        }
    }
    return CD_OK;
}

/* Outputs ascend by asset, then by their encoding. */
static cd_err outputs_sorted(const cd_linear_list *outs, cd_errinfo *why)
{
    const cd_p_output *v = outs->v;
    cd_buf last = {0};
    cd_buf now = {0};
    bool ok = true;
    for (u32 i = 0; i < outs->cnt && ok; i++) {
        cd_buf_clear(&now);
        u8 type[4];
        cd_put_be32(type, v[i].out.is->id);
        cd_buf_put(&now, cd_bytes_of(v[i].asset_id.b, 32));
        cd_buf_put(&now, cd_bytes_of(type, sizeof type));
        cd_linear_put(&now, v[i].out.is->type, v[i].out.v);
        ok = i == 0 || cd_bytes_cmp(cd_buf_bytes(&last), cd_buf_bytes(&now)) <= 0;
        cd_buf swap = last;
        last = now;
        now = swap;
    }
    cd_buf_fini(&last);
    cd_buf_fini(&now);
    return ok ? CD_OK : cd_fail(why, CD_EINVAL, "outputs not sorted");
}

static int input_cmp(const cd_p_input *a, const cd_p_input *b)
{
    int c = memcmp(a->tx_id.b, b->tx_id.b, sizeof a->tx_id.b);
    if (c != 0) {
        return c;
    }
    return a->output_idx < b->output_idx ? -1 : a->output_idx > b->output_idx;
}

static cd_err inputs_sorted(const cd_linear_list *ins, cd_errinfo *why)
{
    const cd_p_input *v = ins->v;
    for (u32 i = 1; i < ins->cnt; i++) {
        if (input_cmp(&v[i - 1], &v[i]) >= 0) {
            return cd_fail(why, CD_EINVAL, "inputs not sorted and unique");
        }
    }
    return CD_OK;
}

static cd_err base_ok(const cd_p_base *b, const cd_p_rules *rules, cd_errinfo *why)
{
    static const char front[] = "metadata failed verification: ";
    if (b->network_id != rules->network_id) {
        return cd_fail(why, CD_EINVAL, "%stx has wrong network ID", front);
    }
    if (!cd_hash32_eq(&b->chain_id, &primary)) { /* the P-Chain has the zero ID, too */
        return cd_fail(why, CD_EINVAL, "%stx has wrong chain ID", front);
    }
    if (b->memo.n > MEMO_MAX) {
        return cd_fail(why, CD_EINVAL, "%smemo exceeds maximum length: %zu > %d", front, b->memo.n, MEMO_MAX);
    }
    CD_TRY(outputs_ok(&b->outs, "output failed verification", why));
    CD_TRY(inputs_ok(&b->ins, why));
    CD_TRY(outputs_sorted(&b->outs, why));
    return inputs_sorted(&b->ins, why);
}

static cd_err auth_ok(const cd_linear_any *auth, cd_errinfo *why)
{
    return cd_fx_indices_ok(&((const cd_auth_input *)auth->v)->sig_indices, why);
}

static cd_err weight_ok(const cd_p_validator *v, cd_errinfo *why)
{
    return v->weight != 0 ? CD_OK : cd_fail(why, CD_EINVAL, "weight of this validator is too low");
}

static bool is_empty_node(const cd_node_id *id)
{
    static const cd_node_id empty;
    return memcmp(id, &empty, sizeof empty) == 0;
}

/* --- stakers --- */

static const cd_transfer_output *transfer_of(const cd_linear_any *out)
{
    return out->is->id == CD_P_LOCK_OUT ? ((const cd_locked *)out->v)->inner.v : out->v;
}

/* What is staked: of one asset, sorted, as much as the staker weighs. native: the only asset that will do; NULL:
 * any. */
static cd_err stake_ok(const cd_ptx_staker *s, const cd_hash32 *native, bool delegates, cd_errinfo *why)
{
    const cd_p_output *v = s->stake->v;
    u64 sum = 0;
    bool is_old = s->is_legacy;
    const char *words = is_old && delegates ? "output verification failed" : "failed to verify output";
    if (!is_old) {
        CD_TRY(outputs_ok(s->stake, words, why));
    }
    for (u32 i = 0; i < s->stake->cnt; i++) {
        cd_err e = is_old ? output_ok(&v[i].out, why) : CD_OK;
        if (e != CD_OK) {
            return cd_fail_under(why, e, "%s", words);
        }
        if (!cd_add_u64(&sum, sum, transfer_of(&v[i].out)->amount)) {
            return cd_fail(why, CD_EINVAL, "overflow");
        }
        if (native != NULL && !cd_hash32_eq(&v[i].asset_id, native)) {
            return cd_fail(why, CD_EINVAL, "stake must be LUX but is \"%s\"", cd_text_id(&v[i].asset_id).s);
        }
        if (native == NULL && !cd_hash32_eq(&v[i].asset_id, &v[0].asset_id)) {
            return cd_fail(why, CD_EINVAL, "multiple staked assets: \"%s\" and \"%s\"", cd_text_id(&v[0].asset_id).s,
                           cd_text_id(&v[i].asset_id).s);
        }
    }
    CD_TRY(outputs_sorted(s->stake, why));
    if (sum == s->who.weight) {
        return CD_OK;
    }
    if (delegates) {
        return cd_fail(why, CD_EINVAL,
                       "delegator weight is not equal to total stake weight, delegator weight %llu total stake weight "
                       "%llu",
                       (unsigned long long)s->who.weight, (unsigned long long)sum);
    }
    return cd_fail(why, CD_EINVAL, "validator weight mismatch: weight %llu != stake %llu",
                   (unsigned long long)s->who.weight, (unsigned long long)sum);
}

static cd_err validator_ok(const cd_ptx_staker *s, const cd_p_base *base, const cd_p_rules *rules, cd_errinfo *why)
{
    bool is_primary = cd_hash32_eq(&s->net_id, &primary);
    if (!s->is_legacy && is_empty_node(&s->who.node_id)) {
        return cd_fail(why, CD_EINVAL, "validator nodeID cannot be empty");
    }
    if (!s->is_legacy && s->stake->cnt == 0) {
        return cd_fail(why, CD_EINVAL, "no stake");
    }
    if (s->shares > CD_REWARD_PARTS) {
        return cd_fail(why, CD_EINVAL, "a staker can only require at most %u shares from delegators", CD_REWARD_PARTS);
    }
    cd_err e = base_ok(base, rules, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to verify BaseTx");
    }
    e = weight_ok(&s->who, why);
    e = e != CD_OK || s->pop == NULL ? e : cd_p_pop_check(NULL, s->pop->key, s->pop->proof, why);
    e = e != CD_OK ? e : cd_fx_owners_ok(s->owner, why);
    e = e != CD_OK ? e : cd_fx_owners_ok(s->delegation_owner, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e,
                             s->is_legacy ? "failed to verify validator or rewards owner"
                                          : "failed to verify validator, signer, or rewards owners");
    }
    if (!s->is_legacy && (s->pop != NULL) != is_primary) {
        return cd_fail(why, CD_EINVAL, "invalid signer: hasKey=%s != isPrimaryNetwork=%s",
                       s->pop != NULL ? "true" : "false", is_primary ? "true" : "false");
    }
    return stake_ok(s, s->is_legacy ? &rules->asset_id : NULL, false, why);
}

static cd_err delegator_ok(const cd_ptx_staker *s, const cd_p_base *base, const cd_p_rules *rules, cd_errinfo *why)
{
    if (!s->is_legacy && s->stake->cnt == 0) {
        return cd_fail(why, CD_EINVAL, "no stake");
    }
    cd_err e = base_ok(base, rules, why);
    if (e != CD_OK) {
        return s->is_legacy ? e : cd_fail_under(why, e, "failed to verify BaseTx");
    }
    e = weight_ok(&s->who, why);
    e = e != CD_OK ? e : cd_fx_owners_ok(s->owner, why);
    if (e != CD_OK) {
        return cd_fail_under(why, e, "failed to verify validator or rewards owner");
    }
    return stake_ok(s, s->is_legacy ? &rules->asset_id : NULL, true, why);
}

/* --- the types --- */

static cd_err net_validator_ok(const cd_p_add_net_validator *t, const cd_p_rules *rules, cd_errinfo *why)
{
    if (cd_hash32_eq(&t->validator.net_id, &primary)) {
        return cd_fail(why, CD_EINVAL, "can't add primary network validator with AddNetValidatorTx");
    }
    CD_TRY(base_ok(&t->base, rules, why));
    CD_TRY(weight_ok(&t->validator.validator, why));
    return auth_ok(&t->net_auth, why);
}

static bool is_name_byte(u8 c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ';
}

static cd_err chain_ok(const cd_p_create_chain *t, const cd_p_rules *rules, cd_errinfo *why)
{
    const cd_hash32 *fx = t->fx_ids.v;
    if (cd_hash32_eq(&t->net_id, &primary)) {
        return cd_fail(why, CD_EINVAL, "new blockchain can't be validated by primary network");
    }
    if (t->name.n > NAME_MAX_LEN) {
        return cd_fail(why, CD_EINVAL, "name too long");
    }
    if (cd_hash32_is_zero(&t->vm_id)) {
        return cd_fail(why, CD_EINVAL, "invalid VM ID");
    }
    for (u32 i = 1; i < t->fx_ids.cnt; i++) {
        if (memcmp(&fx[i - 1], &fx[i], sizeof *fx) >= 0) {
            return cd_fail(why, CD_EINVAL, "feature extensions IDs must be sorted and unique");
        }
    }
    if (t->genesis.n > GENESIS_MAX) {
        return cd_fail(why, CD_EINVAL, "genesis too long");
    }
    for (usize i = 0; i < t->name.n; i++) {
        if (!is_name_byte(t->name.p[i])) {
            return cd_fail(why, CD_EINVAL, "illegal name character");
        }
    }
    CD_TRY(base_ok(&t->base, rules, why));
    return auth_ok(&t->net_auth, why);
}

static cd_err import_ok(const cd_p_import *t, const cd_p_rules *rules, cd_errinfo *why)
{
    if (t->imported.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "tx has no imported inputs");
    }
    CD_TRY(base_ok(&t->base, rules, why));
    CD_TRY(inputs_ok(&t->imported, why));
    return inputs_sorted(&t->imported, why);
}

static cd_err export_ok(const cd_p_export *t, const cd_p_rules *rules, cd_errinfo *why)
{
    const cd_p_output *v = t->exported.v;
    if (t->exported.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "no export outputs");
    }
    CD_TRY(base_ok(&t->base, rules, why));
    for (u32 i = 0; i < t->exported.cnt; i++) {
        cd_err e = output_ok(&v[i].out, why);
        if (e != CD_OK) {
            return cd_fail_under(why, e, "output failed verification");
        }
        if (v[i].out.is->id == CD_P_LOCK_OUT) {
            return cd_fail(why, CD_EINVAL, "wrong locktime reported");
        }
    }
    return outputs_sorted(&t->exported, why);
}

static cd_err l1_validator_ok(const cd_p_l1_validator *v, cd_errinfo *why)
{
    static const u8 empty[NODE_LEN];
    if (v->weight == 0) {
        return cd_fail(why, CD_EINVAL, "validator weight must be non-zero");
    }
    if (v->node_id.n != NODE_LEN) {
        return cd_fail(why, CD_EINVAL, "invalid hash length: expected %d bytes but got %zu", NODE_LEN, v->node_id.n);
    }
    if (memcmp(v->node_id.p, empty, NODE_LEN) == 0) {
        return cd_fail(why, CD_EINVAL, "validator nodeID cannot be empty");
    }
    CD_TRY(cd_p_pop_check(NULL, v->signer.key, v->signer.proof, why));
    CD_TRY(cd_p_l1_owner_check(&v->remaining_balance_owner, why));
    return cd_p_l1_owner_check(&v->deactivation_owner, why);
}

static cd_err conversion_ok(const cd_p_convert_net_to_l1 *t, const cd_p_rules *rules, cd_errinfo *why)
{
    const cd_p_l1_validator *v = t->validators.v;
    if (cd_hash32_eq(&t->net_id, &primary)) {
        return cd_fail(why, CD_EINVAL, "cannot convert a permissionless net");
    }
    if (t->address.n > ADDRESS_MAX) {
        return cd_fail(why, CD_EINVAL, "address is too long");
    }
    if (t->validators.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "conversion must include at least one validator");
    }
    for (u32 i = 1; i < t->validators.cnt; i++) {
        if (cd_bytes_cmp(v[i - 1].node_id, v[i].node_id) >= 0) {
            return cd_fail(why, CD_EINVAL, "conversion validators must be sorted and unique");
        }
    }
    CD_TRY(base_ok(&t->base, rules, why));
    for (u32 i = 0; i < t->validators.cnt; i++) {
        CD_TRY(l1_validator_ok(&v[i], why));
    }
    return auth_ok(&t->net_auth, why);
}

static cd_err removal_ok(const cd_p_remove_net_validator *t, const cd_p_rules *rules, cd_errinfo *why)
{
    if (cd_hash32_eq(&t->net_id, &primary)) {
        return cd_fail(why, CD_EINVAL, "can't remove primary network validator with RemoveNetValidatorTx");
    }
    CD_TRY(base_ok(&t->base, rules, why));
    return auth_ok(&t->net_auth, why);
}

static cd_err transfer_ok(const cd_p_transfer_net_ownership *t, const cd_p_rules *rules, cd_errinfo *why)
{
    if (cd_hash32_eq(&t->net_id, &primary)) {
        return cd_fail(why, CD_EINVAL, "cannot transfer ownership of a permissionless net");
    }
    CD_TRY(base_ok(&t->base, rules, why));
    CD_TRY(auth_ok(&t->net_auth, why));
    return cd_fx_owners_ok(t->new_owner.v, why);
}

cd_err cd_ptx_shape(const cd_p_tx *tx, const cd_p_rules *rules, cd_errinfo *why)
{
    const void *v = tx->body.v;
    cd_ptx_staker staker;
    switch ((cd_p_tx_type)tx->body.is->id) {
    case CD_P_BASE_TX:
        return base_ok(v, rules, why);
    case CD_P_ADD_VALIDATOR:
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR:
        (void)cd_ptx_staker_of(&staker, tx);
        return validator_ok(&staker, v, rules, why);
    case CD_P_ADD_DELEGATOR:
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR:
        (void)cd_ptx_staker_of(&staker, tx);
        return delegator_ok(&staker, v, rules, why);
    case CD_P_ADD_NET_VALIDATOR:
        return net_validator_ok(v, rules, why);
    case CD_P_CREATE_CHAIN:
        return chain_ok(v, rules, why);
    case CD_P_CREATE_NET: {
        const cd_p_create_net *t = v;
        CD_TRY(base_ok(&t->base, rules, why));
        return cd_fx_owners_ok(t->owner.v, why);
    }
    case CD_P_IMPORT:
        return import_ok(v, rules, why);
    case CD_P_EXPORT:
        return export_ok(v, rules, why);
    case CD_P_REMOVE_NET_VALIDATOR:
        return removal_ok(v, rules, why);
    case CD_P_TRANSFER_NET_OWNERSHIP:
        return transfer_ok(v, rules, why);
    case CD_P_CONVERT_NET_TO_L1:
        return conversion_ok(v, rules, why);
    case CD_P_REGISTER_L1_VALIDATOR:
    case CD_P_SET_L1_VALIDATOR_WEIGHT:
        return base_ok(v, rules, why);
    case CD_P_INCREASE_L1_BALANCE:
        if (((const cd_p_increase_l1_balance *)v)->balance == 0) {
            return cd_fail(why, CD_EINVAL, "balance must be greater than 0");
        }
        return base_ok(v, rules, why);
    case CD_P_DISABLE_L1_VALIDATOR:
        CD_TRY(base_ok(v, rules, why));
        return auth_ok(&((const cd_p_disable_l1_validator *)v)->auth, why);
    case CD_P_TRANSFORM_NET:
        return cd_fail(why, CD_EUNSUPPORTED, "TransformNetTx is not permitted post-Etna");
    case CD_P_ADVANCE_TIME:
    case CD_P_REWARD_VALIDATOR:
        break;
    }
    return cd_fail(why, CD_EUNSUPPORTED, "wrong transaction type");
}
