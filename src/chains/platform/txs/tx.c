#include "chains/platform/txs/tx.h"

#include "chains/utxo/utxo.h"
#include "crypto/hash/sha2.h"

usize cd_ptx_unsigned_len(const cd_p_tx *tx, usize signed_len)
{
    usize creds = 4; /* their number */
    for (u32 i = 0; i < tx->creds.cnt; i++) {
        const cd_credential *c = ((const cd_linear_any *)tx->creds.v)[i].v;
        creds += 4 + 4 + (usize)c->sigs.cnt * sizeof(cd_signature);
    }
    CD_ASSERT(creds < signed_len);
    return signed_len - creds;
}

static void hash_all(cd_ptx *t)
{
    cd_sha256(&t->id, t->bytes);
    cd_sha256(&t->hash, cd_bytes_sub(t->bytes, 0, cd_ptx_unsigned_len(&t->tx, t->bytes.n)));
}

cd_err cd_ptx_parse(cd_ptx *out, cd_arena *a, cd_bytes bytes, usize max, cd_errinfo *why)
{
    cd_ptx t = {.bytes = bytes};
    CD_TRY(cd_linear_parse(&t.tx, &cd_p_tx_table, a, bytes, max, why));
    hash_all(&t);
    *out = t;
    return CD_OK;
}

void cd_ptx_make(cd_ptx *out, cd_arena *a, const cd_p_tx *tx)
{
    cd_buf bytes = {0};
    cd_linear_put(&bytes, &cd_p_tx_table, tx);
    *out = (cd_ptx){.bytes = cd_arena_dup(a, cd_buf_bytes(&bytes)), .tx = *tx};
    cd_buf_fini(&bytes);
    hash_all(out);
}

const cd_p_base *cd_ptx_base(const cd_p_tx *tx)
{
    u32 type = tx->body.is->id;
    return type == CD_P_ADVANCE_TIME || type == CD_P_REWARD_VALIDATOR ? NULL : tx->body.v; /* its first member */
}

bool cd_ptx_is_warp(cd_bytes *message, const cd_p_tx *tx)
{
    if (tx->body.is->id == CD_P_REGISTER_L1_VALIDATOR) {
        *message = ((const cd_p_register_l1_validator *)tx->body.v)->message;
        return true;
    }
    if (tx->body.is->id == CD_P_SET_L1_VALIDATOR_WEIGHT) {
        *message = ((const cd_p_set_l1_validator_weight *)tx->body.v)->message;
        return true;
    }
    return false;
}

void cd_ptx_inputs(cd_hash32 **out, usize *cnt, cd_arena *a, const cd_p_tx *tx)
{
    static const cd_linear_list none;
    const cd_p_base *base = cd_ptx_base(tx);
    const cd_linear_list *own = base == NULL ? &none : &base->ins;
    const cd_p_import *import = tx->body.is->id == CD_P_IMPORT ? tx->body.v : NULL;
    const cd_linear_list *imported = import == NULL ? &none : &import->imported;
    usize n = 0;
    *out = cd_arena_array(a, cd_hash32, (usize)own->cnt + imported->cnt);
    for (u32 i = 0; i < own->cnt; i++) {
        const cd_p_input *in = (const cd_p_input *)own->v + i;
        cd_utxo_id(&(*out)[n++], &in->tx_id, in->output_idx);
    }
    for (u32 i = 0; i < imported->cnt; i++) {
        const cd_p_input *in = (const cd_p_input *)imported->v + i;
        cd_utxo_id(&(*out)[n++], &in->tx_id, in->output_idx);
    }
    *cnt = n;
}

bool cd_ptx_staker_of(cd_ptx_staker *out, const cd_p_tx *tx)
{
    static const cd_hash32 primary;
    const void *v = tx->body.v;
    switch ((cd_p_tx_type)tx->body.is->id) {
    case CD_P_ADD_VALIDATOR: {
        const cd_p_add_validator *t = v;
        *out = (cd_ptx_staker){.who = t->validator,
                               .stake = &t->stake,
                               .owner = t->rewards_owner.v,
                               .delegation_owner = t->rewards_owner.v,
                               .shares = t->shares,
                               .is_legacy = true,
                               .pending = CD_P_PENDING_VALIDATOR,
                               .current = CD_P_CURRENT_VALIDATOR};
        return true;
    }
    case CD_P_ADD_DELEGATOR: {
        const cd_p_add_delegator *t = v;
        *out = (cd_ptx_staker){.who = t->validator,
                               .stake = &t->stake,
                               .owner = t->rewards_owner.v,
                               .is_legacy = true,
                               .pending = CD_P_PENDING_DELEGATOR_APRICOT,
                               .current = CD_P_CURRENT_DELEGATOR};
        return true;
    }
    case CD_P_ADD_NET_VALIDATOR: {
        const cd_p_add_net_validator *t = v;
        *out = (cd_ptx_staker){.who = t->validator.validator,
                               .net_id = t->validator.net_id,
                               .pending = CD_P_PENDING_PERMISSIONED,
                               .current = CD_P_CURRENT_PERMISSIONED};
        return true;
    }
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR: {
        const cd_p_add_permissionless_validator *t = v;
        bool is_primary = cd_hash32_eq(&t->net_id, &primary);
        *out = (cd_ptx_staker){.who = t->validator,
                               .net_id = t->net_id,
                               .stake = &t->stake,
                               .owner = t->validation_owner.v,
                               .delegation_owner = t->delegation_owner.v,
                               .pop = t->signer.is->id == CD_P_SIGNER_POP ? t->signer.v : NULL,
                               .shares = t->shares,
                               .pending = is_primary ? CD_P_PENDING_VALIDATOR : CD_P_PENDING_NET_VALIDATOR,
                               .current = is_primary ? CD_P_CURRENT_VALIDATOR : CD_P_CURRENT_NET_VALIDATOR};
        return true;
    }
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR: {
        const cd_p_add_permissionless_delegator *t = v;
        bool is_primary = cd_hash32_eq(&t->net_id, &primary);
        *out = (cd_ptx_staker){.who = t->validator,
                               .net_id = t->net_id,
                               .stake = &t->stake,
                               .owner = t->rewards_owner.v,
                               .pending = is_primary ? CD_P_PENDING_DELEGATOR : CD_P_PENDING_NET_DELEGATOR,
                               .current = is_primary ? CD_P_CURRENT_DELEGATOR : CD_P_CURRENT_NET_DELEGATOR};
        return true;
    }
    case CD_P_BASE_TX:
    case CD_P_CREATE_CHAIN:
    case CD_P_CREATE_NET:
    case CD_P_IMPORT:
    case CD_P_EXPORT:
    case CD_P_ADVANCE_TIME:
    case CD_P_REWARD_VALIDATOR:
    case CD_P_REMOVE_NET_VALIDATOR:
    case CD_P_TRANSFORM_NET:
    case CD_P_TRANSFER_NET_OWNERSHIP:
    case CD_P_CONVERT_NET_TO_L1:
    case CD_P_REGISTER_L1_VALIDATOR:
    case CD_P_SET_L1_VALIDATOR_WEIGHT:
    case CD_P_INCREASE_L1_BALANCE:
    case CD_P_DISABLE_L1_VALIDATOR:
        break;
    }
    return false;
}
