#include "chains/utxo/utxo.h"

#include "crypto/hash/sha2.h"
#include "types/xtx.h"

/* What is locked for staking, on the P-Chain only. An output's type ID means one kind on every chain.
 * [spec:pchain-xchain#2] */
enum { LOCKED_OUTPUT = 22 };

void cd_utxo_id(cd_hash32 *out, const cd_hash32 *tx_id, u32 output_idx)
{
    u8 b[40];
    cd_put_be64(b, output_idx);
    memcpy(b + 8, tx_id->b, 32);
    cd_sha256(out, cd_bytes_of(b, sizeof b));
}

static const cd_linear_any *unlocked(const cd_linear_any *out)
{
    return out->is->id == LOCKED_OUTPUT ? &((const cd_locked *)out->v)->inner : out;
}

const cd_owners *cd_utxo_owners(const cd_linear_any *out)
{
    out = unlocked(out);
    switch (out->is->id) {
    case CD_X_SECP_OUTPUT:
        return &((const cd_transfer_output *)out->v)->owners;
    case CD_X_NFT_MINT_OUTPUT:
        return &((const cd_x_nft_mint_output *)out->v)->owners;
    case CD_X_NFT_OUTPUT:
        return &((const cd_x_nft_output *)out->v)->owners;
    case CD_X_SECP_MINT_OUTPUT:
    case CD_X_PROPERTY_MINT_OUTPUT:
    case CD_X_PROPERTY_OUTPUT:
        return out->v;
    default:
        return NULL;
    }
}

bool cd_utxo_amount(u64 *amount, const cd_linear_any *out)
{
    out = unlocked(out);
    if (out->is->id != CD_X_SECP_OUTPUT) {
        return false;
    }
    *amount = ((const cd_transfer_output *)out->v)->amount;
    return true;
}

cd_err cd_utxo_parse(cd_utxo *out, const cd_linear_type *table, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_utxo u = {0};
    CD_TRY(cd_linear_parse(&u, table, a, text, 0, why));
    *out = u;
    return CD_OK;
}
