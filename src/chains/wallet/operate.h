/* chains/wallet/operate.h - operations of the X-Chain on outputs that are no plain amounts: rights to mint, NFTs.
 *
 *   purse ──► operable: an output of the kind, who signs ──► operation: body with it ──► fund (fund.h)
 *
 * Threading: pure. [spec:pchain-xchain#8] */
#ifndef CD_CHAINS_WALLET_OPERATE_H
#define CD_CHAINS_WALLET_OPERATE_H

#include "chains/wallet/fund.h"
#include "types/xtx.h"

/* Which output is wanted. */
typedef struct cd_wallet_kind {
    cd_x_type output;
    cd_x_type credential; /* of its extension */
    cd_hash32 asset_id;
    const u32 *group; /* of an NFT; NULL: any */
} cd_wallet_kind;

/* cd_wallet_operable finds an output of a kind in the purse that its addresses may use now: who signs goes into `in`
 * and into a slot of d. NULL: there is none. */
const cd_utxo *cd_wallet_operable(cd_wallet_draft *d, cd_auth_input *in, const cd_wallet_purse *p,
                                  const cd_wallet_kind *kind);

/* cd_wallet_operation makes d's body: one operation of a type on u, v borrowed. */
void cd_wallet_operation(cd_wallet_draft *d, const cd_wallet_purse *p, const cd_x_base *base, const cd_utxo *u,
                         cd_x_type type, void *v);

#endif
