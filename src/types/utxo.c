#include "types/utxo.h"

/* The ID of the extension that all types here belong to: "secp256k1fx" and zeros. */
static const cd_hash32 secp_fx = {{'s', 'e', 'c', 'p', '2', '5', '6', 'k', '1', 'f', 'x'}};

static const cd_linear_field addr = {.kind = CD_LINEAR_FIXED, .len = 20, .form = CD_LINEAR_ADDRESS};
static const cd_linear_field number = {.kind = CD_LINEAR_U32};
static const cd_linear_field signature = {.kind = CD_LINEAR_FIXED, .len = 65};

static const cd_linear_field owners_fields[] = {
    CD_LINEAR_FIELD(U64, cd_owners, locktime, "locktime"),
    CD_LINEAR_FIELD(U32, cd_owners, threshold, "threshold"),
    CD_LINEAR_FIELD(LIST, cd_owners, addrs, "addresses", .elem = &addr),
};
static const u8 owners_order[] = {2, 0, 1};
const cd_linear_type cd_owners_type = CD_LINEAR_TYPE(cd_owners, owners_fields, .json_order = owners_order);

/* In JSON the members of the owners stand beside the amount, sorted by name. */
static const cd_linear_field output_fields[] = {
    CD_LINEAR_FIELD(U64, cd_transfer_output, amount, "amount"),
    CD_LINEAR_FIELD(U64, cd_transfer_output, owners.locktime, "locktime"),
    CD_LINEAR_FIELD(U32, cd_transfer_output, owners.threshold, "threshold"),
    CD_LINEAR_FIELD(LIST, cd_transfer_output, owners.addrs, "addresses", .elem = &addr),
};
static const u8 output_order[] = {3, 0, 1, 2};
const cd_linear_type cd_transfer_output_type =
    CD_LINEAR_TYPE(cd_transfer_output, output_fields, .json_order = output_order, .fx_id = &secp_fx);

static const cd_linear_field input_fields[] = {
    CD_LINEAR_FIELD(U64, cd_transfer_input, amount, "amount"),
    CD_LINEAR_FIELD(LIST, cd_transfer_input, sig_indices, "signatureIndices", .elem = &number),
};
const cd_linear_type cd_transfer_input_type = CD_LINEAR_TYPE(cd_transfer_input, input_fields, .fx_id = &secp_fx);

static const cd_linear_field auth_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_auth_input, sig_indices, "signatureIndices", .elem = &number),
};
const cd_linear_type cd_auth_input_type = CD_LINEAR_TYPE(cd_auth_input, auth_fields);

static const cd_linear_field credential_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_credential, sigs, "signatures", .elem = &signature),
};
const cd_linear_type cd_credential_type = CD_LINEAR_TYPE(cd_credential, credential_fields);
