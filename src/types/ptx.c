#include "types/ptx.h"

#include "crypto/hash/sha2.h"

/* --- what may stand where --- */

static const cd_linear_case transfer_output_case[] = {{7, &cd_transfer_output_type}};
static const cd_linear_case transfer_input_case[] = {{5, &cd_transfer_input_type}};
static const cd_linear_union transfer_outputs = CD_LINEAR_UNION(transfer_output_case);
static const cd_linear_union transfer_inputs = CD_LINEAR_UNION(transfer_input_case);

/* The ID of the extension secp256k1fx, to which locked outputs and inputs belong. */
static const cd_hash32 secp_fx = {{'s', 'e', 'c', 'p', '2', '5', '6', 'k', '1', 'f', 'x'}};

/* A locked output or input holds a plain one, never another lock. */
static const cd_linear_field lock_out_fields[] = {
    CD_LINEAR_FIELD(U64, cd_locked, locktime, "locktime"),
    CD_LINEAR_FIELD(UNION, cd_locked, inner, "output", .any = &transfer_outputs),
};
static const cd_linear_field lock_in_fields[] = {
    CD_LINEAR_FIELD(U64, cd_locked, locktime, "locktime"),
    CD_LINEAR_FIELD(UNION, cd_locked, inner, "input", .any = &transfer_inputs),
};
static const cd_linear_type lock_out_type = CD_LINEAR_TYPE(cd_locked, lock_out_fields, .fx_id = &secp_fx);
static const cd_linear_type lock_in_type = CD_LINEAR_TYPE(cd_locked, lock_in_fields, .fx_id = &secp_fx);

static const cd_linear_case output_cases[] = {{7, &cd_transfer_output_type}, {22, &lock_out_type}};
static const cd_linear_case input_cases[] = {{5, &cd_transfer_input_type}, {21, &lock_in_type}};
static const cd_linear_union outputs = CD_LINEAR_UNION(output_cases);
static const cd_linear_union inputs = CD_LINEAR_UNION(input_cases);

static const cd_linear_case owner_cases[] = {{11, &cd_owners_type}};
static const cd_linear_case auth_cases[] = {{10, &cd_auth_input_type}};
static const cd_linear_case credential_cases[] = {{9, &cd_credential_type}};
static const cd_linear_union owners = CD_LINEAR_UNION(owner_cases);
static const cd_linear_union auths = CD_LINEAR_UNION(auth_cases);
static const cd_linear_union credentials = CD_LINEAR_UNION(credential_cases);

static const cd_linear_field pop_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_pop, key, "publicKey", .len = 48),
    CD_LINEAR_FIELD(FIXED, cd_p_pop, proof, "proofOfPossession", .len = 96),
};
static const cd_linear_type pop_type = CD_LINEAR_TYPE(cd_p_pop, pop_fields);
static const cd_linear_type no_signer_type = {.cnt = 0};
static const cd_linear_case signer_cases[] = {{27, &no_signer_type}, {28, &pop_type}};
static const cd_linear_union signers = CD_LINEAR_UNION(signer_cases);

/* --- parts --- */

static const cd_linear_field output_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_output, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_p_output, out, "output", .any = &outputs, .fx_json = "fxID"),
};
const cd_linear_type cd_p_output_table = CD_LINEAR_TYPE(cd_p_output, output_fields);
static const cd_linear_field output_elem = {.kind = CD_LINEAR_STRUCT, .of = &cd_p_output_table};

static const cd_linear_field input_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_input, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U32, cd_p_input, output_idx, "outputIndex"),
    CD_LINEAR_FIELD(FIXED, cd_p_input, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_p_input, in, "input", .any = &inputs, .fx_json = "fxID"),
};
static const cd_linear_type input_type = CD_LINEAR_TYPE(cd_p_input, input_fields);
static const cd_linear_field input_elem = {.kind = CD_LINEAR_STRUCT, .of = &input_type};

static const cd_linear_field base_fields[] = {
    CD_LINEAR_FIELD(U32, cd_p_base, network_id, "networkID"),
    CD_LINEAR_FIELD(FIXED, cd_p_base, chain_id, "blockchainID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_p_base, outs, "outputs", .elem = &output_elem),
    CD_LINEAR_FIELD(LIST, cd_p_base, ins, "inputs", .elem = &input_elem),
    CD_LINEAR_FIELD(BYTES, cd_p_base, memo, "memo"),
};
static const cd_linear_type base_type = CD_LINEAR_TYPE(cd_p_base, base_fields);

static const cd_linear_field validator_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_validator, node_id, "nodeID", .len = 20, .form = CD_LINEAR_NODE),
    CD_LINEAR_FIELD(U64, cd_p_validator, start, "start"),
    CD_LINEAR_FIELD(U64, cd_p_validator, end, "end"),
    CD_LINEAR_FIELD(U64, cd_p_validator, weight, "weight"),
};
static const cd_linear_type validator_type = CD_LINEAR_TYPE(cd_p_validator, validator_fields);

static const cd_linear_field net_validator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_net_validator, validator, "", .of = &validator_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_net_validator, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
};
static const cd_linear_type net_validator_type = CD_LINEAR_TYPE(cd_p_net_validator, net_validator_fields);

static const cd_linear_field short_id = {.kind = CD_LINEAR_FIXED, .len = 20, .form = CD_LINEAR_SHORT};
static const cd_linear_field l1_owner_fields[] = {
    CD_LINEAR_FIELD(U32, cd_p_l1_owner, threshold, "threshold"),
    CD_LINEAR_FIELD(LIST, cd_p_l1_owner, addrs, "addresses", .elem = &short_id),
};
const cd_linear_type cd_p_l1_owner_type = CD_LINEAR_TYPE(cd_p_l1_owner, l1_owner_fields);

static const cd_linear_field l1_validator_fields[] = {
    CD_LINEAR_FIELD(BYTES, cd_p_l1_validator, node_id, "nodeID"),
    CD_LINEAR_FIELD(U64, cd_p_l1_validator, weight, "weight"),
    CD_LINEAR_FIELD(U64, cd_p_l1_validator, balance, "balance"),
    CD_LINEAR_FIELD(STRUCT, cd_p_l1_validator, signer, "signer", .of = &pop_type),
    CD_LINEAR_FIELD(STRUCT, cd_p_l1_validator, remaining_balance_owner, "remainingBalanceOwner",
                    .of = &cd_p_l1_owner_type),
    CD_LINEAR_FIELD(STRUCT, cd_p_l1_validator, deactivation_owner, "deactivationOwner", .of = &cd_p_l1_owner_type),
};
static const cd_linear_type l1_validator_type = CD_LINEAR_TYPE(cd_p_l1_validator, l1_validator_fields);
static const cd_linear_field l1_validator_elem = {.kind = CD_LINEAR_STRUCT, .of = &l1_validator_type};

static const cd_linear_field id_elem = {.kind = CD_LINEAR_FIXED, .len = 32, .form = CD_LINEAR_ID};

/* --- transactions --- */

static const cd_linear_field add_validator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_add_validator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(STRUCT, cd_p_add_validator, validator, "validator", .of = &validator_type),
    CD_LINEAR_FIELD(LIST, cd_p_add_validator, stake, "stake", .elem = &output_elem),
    CD_LINEAR_FIELD(UNION, cd_p_add_validator, rewards_owner, "rewardsOwner", .any = &owners),
    CD_LINEAR_FIELD(U32, cd_p_add_validator, shares, "shares"),
};
static const cd_linear_type add_validator_type = CD_LINEAR_TYPE(cd_p_add_validator, add_validator_fields);

static const cd_linear_field add_net_validator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_add_net_validator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(STRUCT, cd_p_add_net_validator, validator, "validator", .of = &net_validator_type),
    CD_LINEAR_FIELD(UNION, cd_p_add_net_validator, net_auth, "netAuthorization", .any = &auths),
};
static const cd_linear_type add_net_validator_type = CD_LINEAR_TYPE(cd_p_add_net_validator, add_net_validator_fields);

static const cd_linear_field add_delegator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_add_delegator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(STRUCT, cd_p_add_delegator, validator, "validator", .of = &validator_type),
    CD_LINEAR_FIELD(LIST, cd_p_add_delegator, stake, "stake", .elem = &output_elem),
    CD_LINEAR_FIELD(UNION, cd_p_add_delegator, rewards_owner, "rewardsOwner", .any = &owners),
};
static const cd_linear_type add_delegator_type = CD_LINEAR_TYPE(cd_p_add_delegator, add_delegator_fields);

static const cd_linear_field create_chain_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_create_chain, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_create_chain, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(STRING, cd_p_create_chain, name, "chainName"),
    CD_LINEAR_FIELD(FIXED, cd_p_create_chain, vm_id, "vmID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_p_create_chain, fx_ids, "fxIDs", .elem = &id_elem),
    CD_LINEAR_FIELD(BYTES, cd_p_create_chain, genesis, "genesisData", .form = CD_LINEAR_BASE64),
    CD_LINEAR_FIELD(UNION, cd_p_create_chain, net_auth, "netAuthorization", .any = &auths),
};
static const cd_linear_type create_chain_type = CD_LINEAR_TYPE(cd_p_create_chain, create_chain_fields);

static const cd_linear_field create_net_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_create_net, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(UNION, cd_p_create_net, owner, "owner", .any = &owners),
};
static const cd_linear_type create_net_type = CD_LINEAR_TYPE(cd_p_create_net, create_net_fields);

static const cd_linear_field import_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_import, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_import, source_chain, "sourceChain", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_p_import, imported, "importedInputs", .elem = &input_elem),
};
static const cd_linear_type import_type = CD_LINEAR_TYPE(cd_p_import, import_fields);

static const cd_linear_field export_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_export, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_export, destination_chain, "destinationChain", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_p_export, exported, "exportedOutputs", .elem = &output_elem),
};
static const cd_linear_type export_type = CD_LINEAR_TYPE(cd_p_export, export_fields);

static const cd_linear_field advance_time_fields[] = {
    CD_LINEAR_FIELD(U64, cd_p_advance_time, time, "time"),
};
static const cd_linear_type advance_time_type = CD_LINEAR_TYPE(cd_p_advance_time, advance_time_fields);

static const cd_linear_field reward_validator_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_reward_validator, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
};
static const cd_linear_type reward_validator_type = CD_LINEAR_TYPE(cd_p_reward_validator, reward_validator_fields);

static const cd_linear_field remove_net_validator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_remove_net_validator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_remove_net_validator, node_id, "nodeID", .len = 20, .form = CD_LINEAR_NODE),
    CD_LINEAR_FIELD(FIXED, cd_p_remove_net_validator, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_p_remove_net_validator, net_auth, "netAuthorization", .any = &auths),
};
static const cd_linear_type remove_net_validator_type =
    CD_LINEAR_TYPE(cd_p_remove_net_validator, remove_net_validator_fields);

static const cd_linear_field transform_net_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_transform_net, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_transform_net, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(FIXED, cd_p_transform_net, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U64, cd_p_transform_net, initial_supply, "initialSupply"),
    CD_LINEAR_FIELD(U64, cd_p_transform_net, maximum_supply, "maximumSupply"),
    CD_LINEAR_FIELD(U64, cd_p_transform_net, min_consumption_rate, "minConsumptionRate"),
    CD_LINEAR_FIELD(U64, cd_p_transform_net, max_consumption_rate, "maxConsumptionRate"),
    CD_LINEAR_FIELD(U64, cd_p_transform_net, min_validator_stake, "minValidatorStake"),
    CD_LINEAR_FIELD(U64, cd_p_transform_net, max_validator_stake, "maxValidatorStake"),
    CD_LINEAR_FIELD(U32, cd_p_transform_net, min_stake_duration, "minStakeDuration"),
    CD_LINEAR_FIELD(U32, cd_p_transform_net, max_stake_duration, "maxStakeDuration"),
    CD_LINEAR_FIELD(U32, cd_p_transform_net, min_delegation_fee, "minDelegationFee"),
    CD_LINEAR_FIELD(U64, cd_p_transform_net, min_delegator_stake, "minDelegatorStake"),
    CD_LINEAR_FIELD(U8, cd_p_transform_net, max_weight_factor, "maxValidatorWeightFactor"),
    CD_LINEAR_FIELD(U32, cd_p_transform_net, uptime_requirement, "uptimeRequirement"),
    CD_LINEAR_FIELD(UNION, cd_p_transform_net, net_auth, "netAuthorization", .any = &auths),
};
static const cd_linear_type transform_net_type = CD_LINEAR_TYPE(cd_p_transform_net, transform_net_fields);

static const cd_linear_field add_permissionless_validator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_add_permissionless_validator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(STRUCT, cd_p_add_permissionless_validator, validator, "validator", .of = &validator_type),
    CD_LINEAR_FIELD(FIXED, cd_p_add_permissionless_validator, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_p_add_permissionless_validator, signer, "signer", .any = &signers),
    CD_LINEAR_FIELD(LIST, cd_p_add_permissionless_validator, stake, "stake", .elem = &output_elem),
    CD_LINEAR_FIELD(UNION, cd_p_add_permissionless_validator, validation_owner, "validationRewardsOwner",
                    .any = &owners),
    CD_LINEAR_FIELD(UNION, cd_p_add_permissionless_validator, delegation_owner, "delegationRewardsOwner",
                    .any = &owners),
    CD_LINEAR_FIELD(U32, cd_p_add_permissionless_validator, shares, "shares"),
};
static const cd_linear_type add_permissionless_validator_type =
    CD_LINEAR_TYPE(cd_p_add_permissionless_validator, add_permissionless_validator_fields);

static const cd_linear_field add_permissionless_delegator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_add_permissionless_delegator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(STRUCT, cd_p_add_permissionless_delegator, validator, "validator", .of = &validator_type),
    CD_LINEAR_FIELD(FIXED, cd_p_add_permissionless_delegator, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_p_add_permissionless_delegator, stake, "stake", .elem = &output_elem),
    CD_LINEAR_FIELD(UNION, cd_p_add_permissionless_delegator, rewards_owner, "rewardsOwner", .any = &owners),
};
static const cd_linear_type add_permissionless_delegator_type =
    CD_LINEAR_TYPE(cd_p_add_permissionless_delegator, add_permissionless_delegator_fields);

static const cd_linear_field transfer_net_ownership_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_transfer_net_ownership, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_transfer_net_ownership, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_p_transfer_net_ownership, net_auth, "netAuthorization", .any = &auths),
    CD_LINEAR_FIELD(UNION, cd_p_transfer_net_ownership, new_owner, "newOwner", .any = &owners),
};
static const cd_linear_type transfer_net_ownership_type =
    CD_LINEAR_TYPE(cd_p_transfer_net_ownership, transfer_net_ownership_fields);

static const cd_linear_field convert_net_to_l1_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_convert_net_to_l1, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_convert_net_to_l1, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(FIXED, cd_p_convert_net_to_l1, chain_id, "chainID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(BYTES, cd_p_convert_net_to_l1, address, "address"),
    CD_LINEAR_FIELD(LIST, cd_p_convert_net_to_l1, validators, "validators", .elem = &l1_validator_elem),
    CD_LINEAR_FIELD(UNION, cd_p_convert_net_to_l1, net_auth, "netAuthorization", .any = &auths),
};
static const cd_linear_type convert_net_to_l1_type = CD_LINEAR_TYPE(cd_p_convert_net_to_l1, convert_net_to_l1_fields);

static const cd_linear_field register_l1_validator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_register_l1_validator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(U64, cd_p_register_l1_validator, balance, "balance"),
    CD_LINEAR_FIELD(FIXED, cd_p_register_l1_validator, pop, "proofOfPossession", .len = 96, .form = CD_LINEAR_NUMBERS),
    CD_LINEAR_FIELD(BYTES, cd_p_register_l1_validator, message, "message"),
};
static const cd_linear_type register_l1_validator_type =
    CD_LINEAR_TYPE(cd_p_register_l1_validator, register_l1_validator_fields);

static const cd_linear_field set_l1_validator_weight_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_set_l1_validator_weight, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(BYTES, cd_p_set_l1_validator_weight, message, "message"),
};
static const cd_linear_type set_l1_validator_weight_type =
    CD_LINEAR_TYPE(cd_p_set_l1_validator_weight, set_l1_validator_weight_fields);

static const cd_linear_field increase_l1_balance_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_increase_l1_balance, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_increase_l1_balance, validation_id, "validationID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U64, cd_p_increase_l1_balance, balance, "balance"),
};
static const cd_linear_type increase_l1_balance_type =
    CD_LINEAR_TYPE(cd_p_increase_l1_balance, increase_l1_balance_fields);

static const cd_linear_field disable_l1_validator_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_p_disable_l1_validator, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_p_disable_l1_validator, validation_id, "validationID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_p_disable_l1_validator, auth, "disableAuthorization", .any = &auths),
};
static const cd_linear_type disable_l1_validator_type =
    CD_LINEAR_TYPE(cd_p_disable_l1_validator, disable_l1_validator_fields);

/* --- the whole --- */

static const cd_linear_case body_cases[] = {
    {34, &base_type},
    {12, &add_validator_type},
    {13, &add_net_validator_type},
    {14, &add_delegator_type},
    {15, &create_chain_type},
    {16, &create_net_type},
    {17, &import_type},
    {18, &export_type},
    {19, &advance_time_type},
    {20, &reward_validator_type},
    {23, &remove_net_validator_type},
    {24, &transform_net_type},
    {25, &add_permissionless_validator_type},
    {26, &add_permissionless_delegator_type},
    {33, &transfer_net_ownership_type},
    {35, &convert_net_to_l1_type},
    {36, &register_l1_validator_type},
    {37, &set_l1_validator_weight_type},
    {38, &increase_l1_balance_type},
    {39, &disable_l1_validator_type},
};
static const cd_linear_union bodies = CD_LINEAR_UNION(body_cases);
static const cd_linear_field credential_elem = {.kind = CD_LINEAR_UNION, .any = &credentials};

static const cd_linear_field tx_fields[] = {
    CD_LINEAR_FIELD(UNION, cd_p_tx, body, "unsignedTx", .any = &bodies),
    CD_LINEAR_FIELD(LIST, cd_p_tx, creds, "credentials", .elem = &credential_elem),
};
const cd_linear_type cd_p_tx_table = CD_LINEAR_TYPE(cd_p_tx, tx_fields);

/* --- values that were not read --- */

static cd_linear_any any_of(const cd_linear_case *cases, usize cnt, u32 id, void *v)
{
    for (usize i = 0; i < cnt; i++) {
        if (cases[i].id == id) {
            return (cd_linear_any){.is = &cases[i], .v = v};
        }
    }
    CD_UNREACHABLE();
}

cd_linear_any cd_p_body(cd_p_tx_type type, void *v)
{
    return any_of(body_cases, CD_COUNT(body_cases), type, v);
}

cd_linear_any cd_p_part(cd_p_part_type type, void *v)
{
    switch (type) {
    case CD_P_TRANSFER_INPUT:
    case CD_P_LOCK_IN:
        return any_of(input_cases, CD_COUNT(input_cases), type, v);
    case CD_P_TRANSFER_OUTPUT:
    case CD_P_LOCK_OUT:
        return any_of(output_cases, CD_COUNT(output_cases), type, v);
    case CD_P_CREDENTIAL:
        return any_of(credential_cases, CD_COUNT(credential_cases), type, v);
    case CD_P_AUTH:
        return any_of(auth_cases, CD_COUNT(auth_cases), type, v);
    case CD_P_OWNERS:
        return any_of(owner_cases, CD_COUNT(owner_cases), type, v);
    case CD_P_NO_SIGNER:
    case CD_P_SIGNER_POP:
        return any_of(signer_cases, CD_COUNT(signer_cases), type, v);
    }
    CD_UNREACHABLE();
}

/* --- unspent outputs --- */

static const cd_linear_field utxo_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_utxo, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U32, cd_utxo, output_idx, "outputIndex"),
    CD_LINEAR_FIELD(FIXED, cd_utxo, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_utxo, out, "output", .any = &outputs),
};
const cd_linear_type cd_p_utxo_table = CD_LINEAR_TYPE(cd_utxo, utxo_fields);

/* --- handling --- */

const cd_linear_case *cd_p_case(u32 type)
{
    static const cd_linear_union *const all[] = {&bodies, &outputs, &inputs, &owners, &auths, &credentials, &signers};
    for (usize i = 0; i < CD_COUNT(all); i++) {
        for (u32 j = 0; j < all[i]->cnt; j++) {
            if (all[i]->cases[j].id == type) {
                return &all[i]->cases[j];
            }
        }
    }
    CD_UNREACHABLE();
}

void cd_p_tx_id(cd_hash32 *out, const cd_p_tx *tx)
{
    cd_buf bytes = {0};
    cd_linear_put(&bytes, &cd_p_tx_table, tx);
    cd_sha256(out, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
}

void cd_p_tx_json(cd_json_w *w, const cd_linear_place *place, const cd_p_tx *tx, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    cd_json_w_obj(w);
    cd_linear_json_members(w, place, &cd_p_tx_table, tx);
    cd_json_put_str(w, "id", cd_buf_bytes(&text));
    cd_json_w_obj_end(w);
    cd_buf_fini(&text);
}
