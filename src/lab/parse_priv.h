/* lab/parse_priv.h - pieces of test documents that several runners read. */
#ifndef CD_LAB_PARSE_PRIV_H
#define CD_LAB_PARSE_PRIV_H

#include "codec/json.h"
#include "evm/rules/rules.h"
#include "types/genesis.h"
#include "types/tx.h"

/* Read an optional value: an absent or null one leaves *out as it is. */
cd_err cd__lab_opt_u64(u64 *out, cd_json v, cd_errinfo *why) CD_CHECK;
cd_err cd__lab_opt_u256(cd_u256 *out, cd_json v, cd_errinfo *why) CD_CHECK;

/* A list of 32-byte hashes; an absent one is empty. */
cd_err cd__lab_hashes(const cd_hash32 **out, usize *cnt, cd_arena *a, cd_json v, cd_errinfo *why) CD_CHECK;

/* A list of {address, storageKeys}; an absent one is empty. */
cd_err cd__lab_access_list(cd_tx *tx, cd_arena *a, cd_json v, cd_errinfo *why) CD_CHECK;

/* A list of authorizations with their signatures; an absent one is empty. */
cd_err cd__lab_auths(cd_tx *tx, cd_arena *a, cd_json v, cd_errinfo *why) CD_CHECK;

/* Read the "config" of a test: the chain id (1 unless given) and the blob schedule of a fork (Ethereum's
 * unless given). */
cd_err cd__lab_chain_id(u64 *out, cd_json config, cd_errinfo *why) CD_CHECK;
cd_err cd__lab_blob_schedule(cd_blob_schedule *out, cd_json config, cd_fork fork, cd_errinfo *why) CD_CHECK;

#endif
