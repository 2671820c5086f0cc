/* chains/xvm/genesis.h - the beginning of an X-Chain: its assets and its first block, from genesis bytes.
 *
 * The first asset pays fees, and its denomination is the network's unit. The block at height 0 is
 * the one that a chain had when it left its graph of vertices; its parent is the stop vertex. Threading: pure.
 * [spec:pchain-xchain#10] [spec:pchain-xchain#8] */
#ifndef CD_CHAINS_XVM_GENESIS_H
#define CD_CHAINS_XVM_GENESIS_H

#include "chains/xvm/state.h"

/* The time of the first block: every upgrade is active from then on. */
#define CD_XVM_LINEAR_SINCE 1607144400u

/* cd_xvm_genesis appends to b all that a new chain begins with; stop is the vertex at which its graph ended, zero for a
 * chain that never had one. Errors: CD_EINVAL and those of cd_linear_parse, with what is wrong. */
cd_err cd_xvm_genesis(cd_kv_batch *b, cd_bytes genesis, const cd_hash32 *chain_id, const cd_hash32 *stop,
                      cd_errinfo *why) CD_CHECK;

/* What a transaction costs, in base units. [spec:pchain-xchain#7.1] */
typedef struct cd_xvm_fees {
    u64 tx;
    u64 create_asset;
} cd_xvm_fees;

/* cd_xvm_fees_of gives what the network's row says, for a native asset of so many decimals. Errors: CD_EINVAL. */
cd_err cd_xvm_fees_of(cd_xvm_fees *out, u32 network_id, u8 denomination, cd_errinfo *why) CD_CHECK;

#endif
