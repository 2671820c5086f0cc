#include "types/pwarp.h"

#include "crypto/hash/sha2.h"

#include <string.h>

static const cd_linear_field conversion_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_payload_conversion, id, "id", .len = 32, .form = CD_LINEAR_ID),
};
static const cd_linear_type conversion_type = CD_LINEAR_TYPE(cd_p_payload_conversion, conversion_fields);

static const cd_linear_field register_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_payload_register, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(BYTES, cd_p_payload_register, node_id, "nodeID"),
    CD_LINEAR_FIELD(FIXED, cd_p_payload_register, key, "blsPublicKey", .len = 48, .form = CD_LINEAR_NUMBERS),
    CD_LINEAR_FIELD(U64, cd_p_payload_register, expiry, "expiry"),
    CD_LINEAR_FIELD(STRUCT, cd_p_payload_register, remaining_balance_owner, "remainingBalanceOwner",
                    .of = &cd_p_l1_owner_type),
    CD_LINEAR_FIELD(STRUCT, cd_p_payload_register, disable_owner, "disableOwner", .of = &cd_p_l1_owner_type),
    CD_LINEAR_FIELD(U64, cd_p_payload_register, weight, "weight"),
};
static const cd_linear_type register_type = CD_LINEAR_TYPE(cd_p_payload_register, register_fields);

static const cd_linear_field registration_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_payload_registration, validation_id, "validationID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(BOOL, cd_p_payload_registration, is_registered, "registered"),
};
static const cd_linear_type registration_type = CD_LINEAR_TYPE(cd_p_payload_registration, registration_fields);

static const cd_linear_field weight_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_payload_weight, validation_id, "validationID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U64, cd_p_payload_weight, nonce, "nonce"),
    CD_LINEAR_FIELD(U64, cd_p_payload_weight, weight, "weight"),
};
static const cd_linear_type weight_type = CD_LINEAR_TYPE(cd_p_payload_weight, weight_fields);

static const cd_linear_case payload_cases[] = {
    {CD_P_PAYLOAD_CONVERSION, &conversion_type},
    {CD_P_PAYLOAD_REGISTER, &register_type},
    {CD_P_PAYLOAD_REGISTRATION, &registration_type},
    {CD_P_PAYLOAD_WEIGHT, &weight_type},
};
static const cd_linear_union payloads = CD_LINEAR_UNION(payload_cases);
static const cd_linear_field payload_fields[] = {
    CD_LINEAR_FIELD(UNION, cd_p_payload, body, "payload", .any = &payloads),
};
const cd_linear_type cd_p_payload_table = CD_LINEAR_TYPE(cd_p_payload, payload_fields);

cd_p_payload cd_p_payload_of(cd_p_payload_type type, void *v)
{
    for (usize i = 0; i < CD_COUNT(payload_cases); i++) {
        if (payload_cases[i].id == type) {
            return (cd_p_payload){.body = {.is = &payload_cases[i], .v = v}};
        }
    }
    CD_UNREACHABLE();
}

/* --- conversions --- */

static const cd_linear_field data_validator_fields[] = {
    CD_LINEAR_FIELD(BYTES, cd_p_conversion_validator, node_id, "nodeID"),
    CD_LINEAR_FIELD(FIXED, cd_p_conversion_validator, key, "blsPublicKey", .len = 48, .form = CD_LINEAR_NUMBERS),
    CD_LINEAR_FIELD(U64, cd_p_conversion_validator, weight, "weight"),
};
static const cd_linear_type data_validator_type = CD_LINEAR_TYPE(cd_p_conversion_validator, data_validator_fields);
static const cd_linear_field data_validator = {.kind = CD_LINEAR_STRUCT, .of = &data_validator_type};
static const cd_linear_field data_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_p_conversion_data, net_id, "netID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(FIXED, cd_p_conversion_data, manager_chain, "managerChainID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(BYTES, cd_p_conversion_data, manager_address, "managerAddress"),
    CD_LINEAR_FIELD(LIST, cd_p_conversion_data, validators, "validators", .elem = &data_validator),
};
const cd_linear_type cd_p_conversion_data_table = CD_LINEAR_TYPE(cd_p_conversion_data, data_fields);

void cd_p_conversion_id(cd_hash32 *out, const cd_p_convert_net_to_l1 *tx)
{
    cd_arena a = {0};
    cd_buf bytes = {0};
    const cd_p_l1_validator *v = tx->validators.v;
    cd_p_conversion_validator *all = cd_arena_array(&a, cd_p_conversion_validator, tx->validators.cnt);
    for (u32 i = 0; i < tx->validators.cnt; i++) {
        all[i].node_id = v[i].node_id;
        memcpy(all[i].key, v[i].signer.key, sizeof all[i].key);
        all[i].weight = v[i].weight;
    }
    const cd_p_conversion_data data = {.net_id = tx->net_id,
                                       .manager_chain = tx->chain_id,
                                       .manager_address = tx->address,
                                       .validators = {.v = all, .cnt = tx->validators.cnt}};
    cd_linear_put(&bytes, &cd_p_conversion_data_table, &data);
    cd_sha256(out, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    cd_arena_fini(&a);
}

void cd_p_validation_id(cd_hash32 *out, const cd_hash32 *net_id, u32 idx)
{
    u8 b[36];
    memcpy(b, net_id->b, sizeof net_id->b);
    cd_put_be32(b + sizeof net_id->b, idx);
    cd_sha256(out, cd_bytes_of(b, sizeof b));
}

/* --- justifications --- */

static const cd_proto_field index_fields[] = {
    CD_PROTO_FIELD(1, BYTES, cd_p_net_index, net_id),
    CD_PROTO_FIELD(2, U32, cd_p_net_index, index),
};
static const cd_proto_type index_table = CD_PROTO_TYPE(cd_p_net_index, index_fields, "SubnetIDIndex");
#define PREIMAGE .is_oneof = true, .which = offsetof(cd_p_justification, preimage)
static const cd_proto_field justification_fields[] = {
    CD_PROTO_FIELD(1, MSG, cd_p_justification, index, PREIMAGE, .of = &index_table),
    CD_PROTO_FIELD(2, BYTES, cd_p_justification, message, PREIMAGE),
};
const cd_proto_type cd_p_justification_table =
    CD_PROTO_TYPE(cd_p_justification, justification_fields, "L1ValidatorRegistrationJustification");
