#include "chains/xvm/genesis.h"

#include "chains/utxo/store.h"
#include "crypto/hash/sha2.h"
#include "types/network.h"

enum { GENESIS_MAX = INT32_MAX, STOP_VERTEX_VERSION = 1, DECIMALS_MIN = 3, DECIMALS_MAX = 18 };

/* A graph that never grew ends in a vertex without parents: version, chain, height, epoch. */
static void empty_stop_vertex(cd_hash32 *out, const cd_hash32 *chain_id)
{
    u8 b[2 + 32 + 8 + 4] = {0};
    cd_put_be16(b, STOP_VERTEX_VERSION);
    memcpy(b + 2, chain_id->b, 32);
    cd_sha256(out, cd_bytes_of(b, sizeof b));
}

static void put_first_block(cd_kv_batch *b, const cd_hash32 *chain_id, const cd_hash32 *stop)
{
    cd_x_standard_block body = {.parent = *stop, .time = CD_XVM_LINEAR_SINCE};
    cd_x_block block = {.body = {.is = cd_x_case(CD_X_STANDARD_BLOCK), .v = &body}};
    cd_buf bytes = {0};
    cd_hash32 id;
    if (cd_hash32_is_zero(stop)) {
        empty_stop_vertex(&body.parent, chain_id);
    }
    cd_linear_put(&bytes, &cd_x_block_table, &block);
    cd_sha256(&id, cd_buf_bytes(&bytes));
    cd_xvm_put_block(b, &id, 0, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
}

/* An asset of the genesis is a transaction that nobody signed. */
static cd_err put_asset(cd_kv_batch *b, cd_hash32 *id, cd_arena *a, cd_x_genesis_asset *asset, cd_errinfo *why)
{
    cd_xvm_tx t;
    cd_utxo *made;
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_CREATE_ASSET), .v = &asset->tx}};
    if (asset->tx.base.outs.cnt != 0) {
        return cd_fail(why, CD_EINVAL, "genesis asset must have non-empty state");
    }
    for (u32 i = 0; i < asset->tx.states.cnt; i++) {
        if (((const cd_x_initial_state *)asset->tx.states.v)[i].fx_index >= CD_X_FX_CNT) {
            return cd_fail(why, CD_EINVAL, "unknown feature extension");
        }
    }
    cd_xvm_tx_of(&t, a, &tx);
    cd_xvm_put_tx(b, &t);
    cd_xvm_put_alias(b, asset->alias, &t.id);
    usize cnt = cd_xvm_tx_makes(&made, a, &t);
    for (usize i = 0; i < cnt; i++) {
        cd_utxo_put(b, &cd_x_utxo_table, &made[i]);
    }
    *id = t.id;
    return CD_OK;
}

cd_err cd_xvm_genesis(cd_kv_batch *b, cd_bytes genesis, const cd_hash32 *chain_id, const cd_hash32 *stop,
                      cd_errinfo *why)
{
    cd_arena a = {0};
    cd_x_genesis g = {0};
    cd_xvm_origin origin = {0};
    cd_err e = cd_linear_parse(&g, &cd_x_genesis_table, &a, genesis, GENESIS_MAX, why);
    if (e == CD_OK && g.assets.cnt == 0) {
        e = cd_fail(why, CD_EINVAL, "a genesis of the X-Chain has an asset at least");
    }
    for (u32 i = 0; e == CD_OK && i < g.assets.cnt; i++) {
        cd_hash32 id;
        e = put_asset(b, &id, &a, &((cd_x_genesis_asset *)g.assets.v)[i], why);
        if (e == CD_OK && i == 0) {
            origin.fee_asset = id;
        }
    }
    if (e == CD_OK) {
        cd_sha256(&origin.genesis, genesis);
        cd_xvm_put_origin(b, &origin);
        put_first_block(b, chain_id, stop);
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_xvm_fees_of(cd_xvm_fees *out, u32 network_id, u8 denomination, cd_errinfo *why)
{
    cd_network n = cd_network_of(network_id);
    if (denomination < DECIMALS_MIN || denomination > DECIMALS_MAX) {
        return cd_fail(why, CD_EINVAL, "the asset that pays fees has %u decimals, not %d to %d", denomination,
                       DECIMALS_MIN, DECIMALS_MAX);
    }
    n.decimals = denomination; /* a network of one family may be run with the units of the other */
    *out = (cd_xvm_fees){.tx = cd_network_amount(&n, n.economy->tx_fee),
                         .create_asset = cd_network_amount(&n, n.economy->create_asset_fee)};
    return CD_OK;
}
