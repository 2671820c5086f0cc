/* chains/evmchain/rpc/sending/typed_data.h - what is signed of structured data in JSON (EIP-712). Threading: pure. */
#ifndef CD_CHAINS_EVMCHAIN_RPC_TYPED_DATA_H
#define CD_CHAINS_EVMCHAIN_RPC_TYPED_DATA_H

#include "codec/json.h"

/* cd_typed_data_hash gives the digest of doc: {types, primaryType, domain, message}. Errors: CD_EFORMAT with what is
 * wrong, CD_EDEPTH when structures nest too deep. */
cd_err cd_typed_data_hash(cd_hash32 *out, cd_arena *a, cd_json doc, cd_errinfo *why) CD_CHECK;

#endif
