/* chains/xvm/tx.h - a transaction of the X-Chain with its bytes and names, and the outputs it makes.
 *
 * Threading: pure. [spec:pchain-xchain#8] */
#ifndef CD_CHAINS_XVM_TX_H
#define CD_CHAINS_XVM_TX_H

#include "chains/utxo/utxo.h"
#include "types/xtx.h"

/* A transaction, its bytes and what they are called. */
typedef struct cd_xvm_tx {
    cd_x_tx tx;
    cd_hash32 id;
    cd_hash32 hash; /* what its owners sign */
    cd_bytes bytes;
} cd_xvm_tx;

/* cd_xvm_tx_parse reads a transaction; everything lies in the arena, bytes are borrowed. Errors: those of
 * cd_linear_parse. */
cd_err cd_xvm_tx_parse(cd_xvm_tx *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why) CD_CHECK;

/* cd_xvm_tx_of names one that was read as part of something, or made; its bytes go to the arena. */
void cd_xvm_tx_of(cd_xvm_tx *out, cd_arena *a, const cd_x_tx *tx);

/* cd_xvm_tx_spends gives the inputs that a transaction takes from this chain: those of its base, then those of its
 * operations. cd_xvm_tx_imports gives those that it takes from another one, and which; none: false. */
usize cd_xvm_tx_spends(cd_hash32 **ids, cd_arena *a, const cd_xvm_tx *t);
bool cd_xvm_tx_imports(cd_hash32 *peer, cd_hash32 **ids, usize *cnt, cd_arena *a, const cd_xvm_tx *t);

/* cd_xvm_tx_makes gives the outputs that stay on this chain as UTXOs, in the order of their indices; cd_xvm_tx_exports
 * those that go to another one, and which; none: false. */
usize cd_xvm_tx_makes(cd_utxo **out, cd_arena *a, const cd_xvm_tx *t);
bool cd_xvm_tx_exports(cd_hash32 *peer, cd_utxo **out, usize *cnt, cd_arena *a, const cd_xvm_tx *t);

#endif
