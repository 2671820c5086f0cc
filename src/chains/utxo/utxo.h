/* chains/utxo/utxo.h - unspent outputs: their IDs, their owners, what they are worth.
 *
 * One structure for all chains; which outputs may stand in one is said by the chain's table (cd_p_utxo_table,
 * cd_x_utxo_table). Threading: pure. [spec:pchain-xchain#3] */
#ifndef CD_CHAINS_UTXO_UTXO_H
#define CD_CHAINS_UTXO_UTXO_H

#include "types/utxo.h"

/* cd_utxo_id is the input ID, the name under which an output of a transaction is kept and spent:
 * SHA-256 of index (big-endian, 64 bits) ‖ transaction ID. */
void cd_utxo_id(cd_hash32 *out, const cd_hash32 *tx_id, u32 output_idx);

/* cd_utxo_owners borrows the owners of an output of any kind, NULL when it has none (a mint of no use). What is locked
 * for staking belongs to the owners inside. */
const cd_owners *cd_utxo_owners(const cd_linear_any *out);

/* cd_utxo_amount gives what a transfer output holds, locked or not; false for other kinds. */
bool cd_utxo_amount(u64 *amount, const cd_linear_any *out);

/* cd_utxo_parse reads a UTXO as it is kept, sent to other chains and shown. Errors: those of cd_linear_parse. */
cd_err cd_utxo_parse(cd_utxo *out, const cd_linear_type *table, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
