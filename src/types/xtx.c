#include "types/xtx.h"

#include "codec/api_json.h"
#include "crypto/hash/sha2.h"

/* IDs of the extensions: their names, filled up with zeros. */
static const cd_hash32 fx_ids[CD_X_FX_CNT] = {
    {{'s', 'e', 'c', 'p', '2', '5', '6', 'k', '1', 'f', 'x'}},
    {{'n', 'f', 't', 'f', 'x'}},
    {{'p', 'r', 'o', 'p', 'e', 'r', 't', 'y', 'f', 'x'}},
};

enum { SECP, NFT, PROPERTY };

static const cd_linear_field addr = {.kind = CD_LINEAR_FIXED, .len = 20, .form = CD_LINEAR_ADDRESS};
static const cd_linear_field signature = {.kind = CD_LINEAR_FIXED, .len = 65};
static const cd_linear_field number = {.kind = CD_LINEAR_U32};

/* --- outputs --- */

/* In JSON the members of the owners stand beside those of the output, sorted by name. */
static const cd_linear_field owners_fields[] = {
    CD_LINEAR_FIELD(U64, cd_owners, locktime, "locktime"),
    CD_LINEAR_FIELD(U32, cd_owners, threshold, "threshold"),
    CD_LINEAR_FIELD(LIST, cd_owners, addrs, "addresses", .elem = &addr),
};
static const u8 owners_order[] = {2, 0, 1};
static const cd_linear_type secp_mint_output_type =
    CD_LINEAR_TYPE(cd_owners, owners_fields, .json_order = owners_order, .fx_id = &fx_ids[SECP]);
static const cd_linear_type property_mint_output_type =
    CD_LINEAR_TYPE(cd_owners, owners_fields, .json_order = owners_order, .fx_id = &fx_ids[PROPERTY]);
static const cd_linear_type property_output_type =
    CD_LINEAR_TYPE(cd_owners, owners_fields, .json_order = owners_order, .fx_id = &fx_ids[PROPERTY]);

static const cd_linear_field nft_mint_output_fields[] = {
    CD_LINEAR_FIELD(U32, cd_x_nft_mint_output, group_id, "groupID"),
    CD_LINEAR_FIELD(U64, cd_x_nft_mint_output, owners.locktime, "locktime"),
    CD_LINEAR_FIELD(U32, cd_x_nft_mint_output, owners.threshold, "threshold"),
    CD_LINEAR_FIELD(LIST, cd_x_nft_mint_output, owners.addrs, "addresses", .elem = &addr),
};
static const u8 nft_mint_output_order[] = {3, 0, 1, 2};
static const cd_linear_type nft_mint_output_type = CD_LINEAR_TYPE(
    cd_x_nft_mint_output, nft_mint_output_fields, .json_order = nft_mint_output_order, .fx_id = &fx_ids[NFT]);

static const cd_linear_field nft_output_fields[] = {
    CD_LINEAR_FIELD(U32, cd_x_nft_output, group_id, "groupID"),
    CD_LINEAR_FIELD(BYTES, cd_x_nft_output, payload, "payload"),
    CD_LINEAR_FIELD(U64, cd_x_nft_output, owners.locktime, "locktime"),
    CD_LINEAR_FIELD(U32, cd_x_nft_output, owners.threshold, "threshold"),
    CD_LINEAR_FIELD(LIST, cd_x_nft_output, owners.addrs, "addresses", .elem = &addr),
};
static const u8 nft_output_order[] = {4, 0, 2, 1, 3};
static const cd_linear_type nft_output_type =
    CD_LINEAR_TYPE(cd_x_nft_output, nft_output_fields, .json_order = nft_output_order, .fx_id = &fx_ids[NFT]);

/* --- operations --- */

static const cd_linear_field indices_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_auth_input, sig_indices, "signatureIndices", .elem = &number),
};
static const cd_linear_type property_burn_type =
    CD_LINEAR_TYPE(cd_auth_input, indices_fields, .fx_id = &fx_ids[PROPERTY]);

static const cd_linear_field secp_mint_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_secp_mint, input, "mintInput", .of = &cd_auth_input_type),
    CD_LINEAR_FIELD(STRUCT, cd_x_secp_mint, mint_output, "mintOutput", .of = &cd_owners_type),
    CD_LINEAR_FIELD(STRUCT, cd_x_secp_mint, output, "transferOutput", .of = &cd_transfer_output_type),
};
static const cd_linear_type secp_mint_type = CD_LINEAR_TYPE(cd_x_secp_mint, secp_mint_fields, .fx_id = &fx_ids[SECP]);

static const cd_linear_field owners_elem = {.kind = CD_LINEAR_STRUCT, .of = &cd_owners_type};
static const cd_linear_field nft_mint_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_nft_mint, input, "mintInput", .of = &cd_auth_input_type),
    CD_LINEAR_FIELD(U32, cd_x_nft_mint, group_id, "groupID"),
    CD_LINEAR_FIELD(BYTES, cd_x_nft_mint, payload, "payload"),
    CD_LINEAR_FIELD(LIST, cd_x_nft_mint, outputs, "outputs", .elem = &owners_elem),
};
static const cd_linear_type nft_mint_type = CD_LINEAR_TYPE(cd_x_nft_mint, nft_mint_fields, .fx_id = &fx_ids[NFT]);

static const cd_linear_field nft_transfer_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_nft_transfer, input, "input", .of = &cd_auth_input_type),
    CD_LINEAR_FIELD(STRUCT, cd_x_nft_transfer, output, "output", .of = &nft_output_type),
};
static const cd_linear_type nft_transfer_type =
    CD_LINEAR_TYPE(cd_x_nft_transfer, nft_transfer_fields, .fx_id = &fx_ids[NFT]);

static const cd_linear_field property_mint_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_property_mint, input, "mintInput", .of = &cd_auth_input_type),
    CD_LINEAR_FIELD(STRUCT, cd_x_property_mint, mint_output, "mintOutput", .of = &cd_owners_type),
    CD_LINEAR_FIELD(STRUCT, cd_x_property_mint, owned_output, "ownedOutput", .of = &cd_owners_type),
};
static const cd_linear_type property_mint_type =
    CD_LINEAR_TYPE(cd_x_property_mint, property_mint_fields, .fx_id = &fx_ids[PROPERTY]);

/* --- credentials --- */

static const cd_linear_field credential_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_credential, sigs, "signatures", .elem = &signature),
};
static const cd_linear_type secp_credential_type =
    CD_LINEAR_TYPE(cd_credential, credential_fields, .fx_id = &fx_ids[SECP]);
static const cd_linear_type nft_credential_type =
    CD_LINEAR_TYPE(cd_credential, credential_fields, .fx_id = &fx_ids[NFT]);
static const cd_linear_type property_credential_type =
    CD_LINEAR_TYPE(cd_credential, credential_fields, .fx_id = &fx_ids[PROPERTY]);

/* --- what may stand where --- */

static const cd_linear_case input_cases[] = {{CD_X_SECP_INPUT, &cd_transfer_input_type}};
static const cd_linear_case output_cases[] = {{CD_X_SECP_OUTPUT, &cd_transfer_output_type}};
static const cd_linear_case state_cases[] = {
    {CD_X_SECP_MINT_OUTPUT, &secp_mint_output_type},         {CD_X_SECP_OUTPUT, &cd_transfer_output_type},
    {CD_X_NFT_MINT_OUTPUT, &nft_mint_output_type},           {CD_X_NFT_OUTPUT, &nft_output_type},
    {CD_X_PROPERTY_MINT_OUTPUT, &property_mint_output_type}, {CD_X_PROPERTY_OUTPUT, &property_output_type},
};
static const cd_linear_case op_cases[] = {
    {CD_X_SECP_MINT, &secp_mint_type},         {CD_X_NFT_MINT, &nft_mint_type},
    {CD_X_NFT_TRANSFER, &nft_transfer_type},   {CD_X_PROPERTY_MINT, &property_mint_type},
    {CD_X_PROPERTY_BURN, &property_burn_type},
};
static const cd_linear_case credential_cases[] = {
    {CD_X_SECP_CREDENTIAL, &secp_credential_type},
    {CD_X_NFT_CREDENTIAL, &nft_credential_type},
    {CD_X_PROPERTY_CREDENTIAL, &property_credential_type},
};
static const cd_linear_union inputs = CD_LINEAR_UNION(input_cases);
static const cd_linear_union outputs = CD_LINEAR_UNION(output_cases);
static const cd_linear_union states = CD_LINEAR_UNION(state_cases);
static const cd_linear_union ops = CD_LINEAR_UNION(op_cases);
static const cd_linear_union credentials = CD_LINEAR_UNION(credential_cases);

/* --- parts --- */

static const cd_linear_field output_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_x_output, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_x_output, out, "output", .any = &outputs, .fx_json = "fxID"),
};
static const cd_linear_type output_type = CD_LINEAR_TYPE(cd_x_output, output_fields);
static const cd_linear_field output_elem = {.kind = CD_LINEAR_STRUCT, .of = &output_type};

static const cd_linear_field input_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_x_input, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U32, cd_x_input, output_idx, "outputIndex"),
    CD_LINEAR_FIELD(FIXED, cd_x_input, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_x_input, in, "input", .any = &inputs, .fx_json = "fxID"),
};
static const cd_linear_type input_type = CD_LINEAR_TYPE(cd_x_input, input_fields);
static const cd_linear_field input_elem = {.kind = CD_LINEAR_STRUCT, .of = &input_type};

static const cd_linear_field base_fields[] = {
    CD_LINEAR_FIELD(U32, cd_x_base, network_id, "networkID"),
    CD_LINEAR_FIELD(FIXED, cd_x_base, chain_id, "blockchainID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_x_base, outs, "outputs", .elem = &output_elem),
    CD_LINEAR_FIELD(LIST, cd_x_base, ins, "inputs", .elem = &input_elem),
    CD_LINEAR_FIELD(BYTES, cd_x_base, memo, "memo"),
};
static const cd_linear_type base_type = CD_LINEAR_TYPE(cd_x_base, base_fields);

static const cd_linear_field state_elem = {.kind = CD_LINEAR_UNION, .any = &states};
static const cd_linear_field initial_state_fields[] = {
    CD_LINEAR_FIELD(U32, cd_x_initial_state, fx_index, "fxIndex", .fx_json = "fxID", .fx_ids = fx_ids,
                    .len = CD_X_FX_CNT),
    CD_LINEAR_FIELD(LIST, cd_x_initial_state, outs, "outputs", .elem = &state_elem),
};
static const cd_linear_type initial_state_type = CD_LINEAR_TYPE(cd_x_initial_state, initial_state_fields);
static const cd_linear_field initial_state_elem = {.kind = CD_LINEAR_STRUCT, .of = &initial_state_type};

static const cd_linear_field utxo_id_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_x_utxo_id, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U32, cd_x_utxo_id, output_idx, "outputIndex"),
};
static const cd_linear_type utxo_id_type = CD_LINEAR_TYPE(cd_x_utxo_id, utxo_id_fields);
static const cd_linear_field utxo_id_elem = {.kind = CD_LINEAR_STRUCT, .of = &utxo_id_type};

static const cd_linear_field op_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_x_op, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_x_op, utxo_ids, "inputIDs", .elem = &utxo_id_elem),
    CD_LINEAR_FIELD(UNION, cd_x_op, op, "operation", .any = &ops, .fx_json = "fxID"),
};
static const cd_linear_type op_type = CD_LINEAR_TYPE(cd_x_op, op_fields);
static const cd_linear_field op_elem = {.kind = CD_LINEAR_STRUCT, .of = &op_type};

/* --- transactions --- */

static const cd_linear_field create_asset_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_create_asset, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(STRING, cd_x_create_asset, name, "name"),
    CD_LINEAR_FIELD(STRING, cd_x_create_asset, symbol, "symbol"),
    CD_LINEAR_FIELD(U8, cd_x_create_asset, denomination, "denomination"),
    CD_LINEAR_FIELD(LIST, cd_x_create_asset, states, "initialStates", .elem = &initial_state_elem),
};
static const cd_linear_type create_asset_type = CD_LINEAR_TYPE(cd_x_create_asset, create_asset_fields);

static const cd_linear_field operation_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_operation, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(LIST, cd_x_operation, ops, "operations", .elem = &op_elem),
};
static const cd_linear_type operation_type = CD_LINEAR_TYPE(cd_x_operation, operation_fields);

static const cd_linear_field import_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_import, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_x_import, source_chain, "sourceChain", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_x_import, imported, "importedInputs", .elem = &input_elem),
};
static const cd_linear_type import_type = CD_LINEAR_TYPE(cd_x_import, import_fields);

static const cd_linear_field export_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_x_export, base, "", .of = &base_type, .form = CD_LINEAR_INLINE),
    CD_LINEAR_FIELD(FIXED, cd_x_export, destination_chain, "destinationChain", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_x_export, exported, "exportedOutputs", .elem = &output_elem),
};
static const cd_linear_type export_type = CD_LINEAR_TYPE(cd_x_export, export_fields);

static const cd_linear_case tx_cases[] = {
    {CD_X_BASE_TX, &base_type},        {CD_X_CREATE_ASSET, &create_asset_type},
    {CD_X_OPERATION, &operation_type}, {CD_X_IMPORT, &import_type},
    {CD_X_EXPORT, &export_type},
};
static const cd_linear_union txs = CD_LINEAR_UNION(tx_cases);

/* In JSON a credential stands in an object of its own, beside the ID of its extension. */
static const cd_linear_field credential_members[] = {
    {.kind = CD_LINEAR_UNION, .json = "credential", .any = &credentials, .fx_json = "fxID"},
};
static const cd_linear_type credential_type = CD_LINEAR_TYPE(cd_linear_any, credential_members);
static const cd_linear_field credential_elem = {.kind = CD_LINEAR_STRUCT, .of = &credential_type};

static const cd_linear_field tx_fields[] = {
    CD_LINEAR_FIELD(UNION, cd_x_tx, body, "unsignedTx", .any = &txs),
    CD_LINEAR_FIELD(LIST, cd_x_tx, creds, "credentials", .elem = &credential_elem),
};
const cd_linear_type cd_x_tx_table = CD_LINEAR_TYPE(cd_x_tx, tx_fields);

/* The part of a transaction that is signed: everything but the signatures. */
static const cd_linear_type unsigned_type = {.fields = tx_fields, .cnt = 1, .size = sizeof(cd_x_tx)};

/* --- blocks, unspent outputs, genesis --- */

/* cd_x_block_json writes the transactions itself, as it adds their IDs. */
static const cd_linear_field tx_elem = {.kind = CD_LINEAR_STRUCT, .of = &cd_x_tx_table};
static const cd_linear_field standard_block_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_x_standard_block, parent, "parentID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U64, cd_x_standard_block, height, "height"),
    CD_LINEAR_FIELD(U64, cd_x_standard_block, time, "time"),
    CD_LINEAR_FIELD(FIXED, cd_x_standard_block, merkle_root, "merkleRoot", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(LIST, cd_x_standard_block, txs, NULL, .elem = &tx_elem),
};
static const cd_linear_type standard_block_type = CD_LINEAR_TYPE(cd_x_standard_block, standard_block_fields);
static const cd_linear_case block_cases[] = {{CD_X_STANDARD_BLOCK, &standard_block_type}};
static const cd_linear_union blocks = CD_LINEAR_UNION(block_cases);
static const cd_linear_field block_fields[] = {
    CD_LINEAR_FIELD(UNION, cd_x_block, body, "block", .any = &blocks),
};
const cd_linear_type cd_x_block_table = CD_LINEAR_TYPE(cd_x_block, block_fields);

static const cd_linear_field utxo_fields[] = {
    CD_LINEAR_FIELD(FIXED, cd_utxo, tx_id, "txID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(U32, cd_utxo, output_idx, "outputIndex"),
    CD_LINEAR_FIELD(FIXED, cd_utxo, asset_id, "assetID", .len = 32, .form = CD_LINEAR_ID),
    CD_LINEAR_FIELD(UNION, cd_utxo, out, "output", .any = &states),
};
const cd_linear_type cd_x_utxo_table = CD_LINEAR_TYPE(cd_utxo, utxo_fields);

static const cd_linear_field genesis_asset_fields[] = {
    CD_LINEAR_FIELD(STRING, cd_x_genesis_asset, alias, "alias"),
    CD_LINEAR_FIELD(STRUCT, cd_x_genesis_asset, tx, "", .of = &create_asset_type, .form = CD_LINEAR_INLINE),
};
static const cd_linear_type genesis_asset_type = CD_LINEAR_TYPE(cd_x_genesis_asset, genesis_asset_fields);
static const cd_linear_field genesis_asset_elem = {.kind = CD_LINEAR_STRUCT, .of = &genesis_asset_type};
static const cd_linear_field genesis_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_x_genesis, assets, "genesisAssets", .elem = &genesis_asset_elem),
};
const cd_linear_type cd_x_genesis_table = CD_LINEAR_TYPE(cd_x_genesis, genesis_fields);

/* --- functions --- */

usize cd_x_unsigned_size(const cd_x_tx *tx)
{
    return cd_linear_size(&unsigned_type, tx);
}

const cd_x_base *cd_x_tx_base(const cd_x_tx *tx)
{
    return tx->body.v; /* each of these structures begins with a cd_x_base */
}

const cd_linear_case *cd_x_case(cd_x_type type)
{
    static const cd_linear_union *const all[] = {&txs, &inputs, &states, &ops, &credentials, &blocks};
    for (usize i = 0; i < CD_COUNT(all); i++) {
        for (u32 k = 0; k < all[i]->cnt; k++) {
            if (all[i]->cases[k].id == (u32)type) {
                return &all[i]->cases[k];
            }
        }
    }
    CD_UNREACHABLE();
}

void cd_x_tx_id(cd_hash32 *out, const cd_x_tx *tx)
{
    cd_buf b = {0};
    cd_linear_put(&b, &cd_x_tx_table, tx);
    cd_sha256(out, cd_buf_bytes(&b));
    cd_buf_fini(&b);
}

void cd_x_tx_json(cd_json_w *w, const cd_linear_place *place, const cd_x_tx *tx, const cd_hash32 *id)
{
    cd_json_w_obj(w);
    cd_linear_json_members(w, place, &cd_x_tx_table, tx);
    cd_json_put_id(w, "id", id);
    cd_json_w_obj_end(w);
}

void cd_x_block_json(cd_json_w *w, const cd_linear_place *place, const cd_x_block *b, const cd_hash32 *id)
{
    const cd_x_standard_block *s = b->body.v;
    const cd_x_tx *tx = s->txs.v;
    cd_json_w_obj(w);
    cd_linear_json_members(w, place, b->body.is->type, s);
    cd_json_w_key(w, "txs");
    if (s->txs.cnt == 0) {
        cd_json_w_null(w);
    } else {
        cd_json_w_arr(w);
        for (u32 i = 0; i < s->txs.cnt; i++) {
            cd_hash32 tx_id;
            cd_x_tx_id(&tx_id, &tx[i]);
            cd_x_tx_json(w, place, &tx[i], &tx_id);
        }
        cd_json_w_arr_end(w);
    }
    cd_json_put_id(w, "id", id);
    cd_json_w_obj_end(w);
}
