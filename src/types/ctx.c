#include "types/ctx.h"

static const cd_linear_case output_cases[] = {{7, &cd_transfer_output_type}};
static const cd_linear_case input_cases[] = {{5, &cd_transfer_input_type}};
static const cd_linear_case credential_cases[] = {{9, &cd_credential_type}};
static const cd_linear_union outputs = CD_LINEAR_UNION(output_cases);
static const cd_linear_union inputs = CD_LINEAR_UNION(input_cases);
static const cd_linear_union credentials = CD_LINEAR_UNION(credential_cases);

/* --- parts --- */

static const cd_linear_field input_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_c_input, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U32, cd_c_input, output_idx, "outputIndex"),
    CD_LINEAR_FIELD(FIXED, cd_c_input, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_c_input, in, "input", .any = &inputs, .fx_json = "fxID"),
};
static const cd_linear_type input_type = CD_LINEAR_TYPE(cd_c_input, input_fields);
static const cd_linear_field input_elem = {.kind = CD_LINEAR_STRUCT, .of = &input_type};

static const cd_linear_field output_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_c_output, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_c_output, out, "output", .any = &outputs, .fx_json = "fxID"),
};
const cd_linear_type cd_c_output_table = CD_LINEAR_TYPE(cd_c_output, output_fields);
static const cd_linear_field output_elem = {.kind = CD_LINEAR_STRUCT, .of = &cd_c_output_table};

static const cd_linear_field credit_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_c_credit, addr, "address", .len = 20),
    CD_LINEAR_FIELD(U64, cd_c_credit, amount, "amount"),
    CD_LINEAR_FIELD(FIXED, cd_c_credit, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
};
static const cd_linear_type credit_type = CD_LINEAR_TYPE(cd_c_credit, credit_fields);
static const cd_linear_field credit_elem = {.kind = CD_LINEAR_STRUCT, .of = &credit_type};

static const cd_linear_field debit_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_c_debit, addr, "address", .len = 20),
    CD_LINEAR_FIELD(U64, cd_c_debit, amount, "amount"),
    CD_LINEAR_FIELD(FIXED, cd_c_debit, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U64, cd_c_debit, nonce, "nonce"),
};
static const cd_linear_type debit_type = CD_LINEAR_TYPE(cd_c_debit, debit_fields);
static const cd_linear_field debit_elem = {.kind = CD_LINEAR_STRUCT, .of = &debit_type};

/* --- transactions --- */

static const cd_linear_field import_fields[] = {
    CD_LINEAR_FIELD(U32, cd_c_import, network_id, "networkID"),
    CD_LINEAR_FIELD(FIXED, cd_c_import, chain_id, "blockchainID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(FIXED, cd_c_import, source_chain, "sourceChain", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_c_import, imported, "importedInputs", .elem = &input_elem),
    CD_LINEAR_FIELD(LIST, cd_c_import, outs, "outputs", .elem = &credit_elem),
};
static const cd_linear_type import_type = CD_LINEAR_TYPE(cd_c_import, import_fields);

static const cd_linear_field export_fields[] = {
    CD_LINEAR_FIELD(U32, cd_c_export, network_id, "networkID"),
    CD_LINEAR_FIELD(FIXED, cd_c_export, chain_id, "blockchainID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(FIXED, cd_c_export, destination_chain, "destinationChain", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_c_export, ins, "inputs", .elem = &debit_elem),
    CD_LINEAR_FIELD(LIST, cd_c_export, exported, "exportedOutputs", .elem = &output_elem),
};
static const cd_linear_type export_type = CD_LINEAR_TYPE(cd_c_export, export_fields);

static const cd_linear_case body_cases[] = {{CD_C_IMPORT, &import_type}, {CD_C_EXPORT, &export_type}};
static const cd_linear_union bodies = CD_LINEAR_UNION(body_cases);
static const cd_linear_field credential_elem = {.kind = CD_LINEAR_UNION, .any = &credentials};

static const cd_linear_field tx_fields[] = {
    CD_LINEAR_FIELD(UNION, cd_c_tx, body, "unsignedTx", .any = &bodies),
    CD_LINEAR_FIELD(LIST, cd_c_tx, creds, "credentials", .elem = &credential_elem),
};
const cd_linear_type cd_c_tx_table = CD_LINEAR_TYPE(cd_c_tx, tx_fields);

const cd_linear_type cd_c_unsigned_table = {.fields = tx_fields, .cnt = 1, .size = sizeof(cd_c_tx)};

static const cd_linear_field tx_elem = {.kind = CD_LINEAR_STRUCT, .of = &cd_c_tx_table};
static const cd_linear_field batch_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_c_batch, txs, "txs", .elem = &tx_elem),
};
const cd_linear_type cd_c_batch_table = CD_LINEAR_TYPE(cd_c_batch, batch_fields);

static const cd_linear_field utxo_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_utxo, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U32, cd_utxo, output_idx, "outputIndex"),
    CD_LINEAR_FIELD(FIXED, cd_utxo, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_utxo, out, "output", .any = &outputs, .fx_json = "fxID"),
};
const cd_linear_type cd_c_utxo_table = CD_LINEAR_TYPE(cd_utxo, utxo_fields);
