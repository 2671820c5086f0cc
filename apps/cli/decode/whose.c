#include "chains/platform/genesis/genesis.h"
#include "decode/kinds.h"
#include "types/ctx.h"
#include "types/pblock.h"
#include "types/xtx.h"

_Static_assert(sizeof(cd_p_tx) == sizeof(cd__signed_tx), "as of the P-Chain");
_Static_assert(sizeof(cd_x_tx) == sizeof(cd__signed_tx), "as of the X-Chain");
_Static_assert(sizeof(cd_c_tx) == sizeof(cd__signed_tx), "as of the C-Chain");

/* Reads the ID of its network off a transaction; false: it names none, as those that the P-Chain itself makes. */
static bool network_of_tx(u32 *out, const cd__signed_tx *tx)
{
    const u8 *at = tx->body.v;
    if (tx->body.is == NULL) {
        return false;
    }
    const cd_linear_field *f = tx->body.is->type->fields;
    while (f->kind == CD_LINEAR_STRUCT) {
        at += f->offset;
        f = f->of->fields;
    }
    if (f->kind != CD_LINEAR_U32 || f->json == NULL || strcmp(f->json, "networkID") != 0) {
        return false;
    }
    memcpy(out, at + f->offset, sizeof *out);
    return true;
}

static bool network_of_list(u32 *out, const cd_linear_list *txs)
{
    const cd__signed_tx *all = txs->v;
    bool found = false;
    for (u32 i = 0; i < txs->cnt && !found; i++) {
        found = network_of_tx(out, &all[i]);
    }
    return found;
}

static bool network_of(u32 *out, const cd__kind *k, const void *v)
{
    if (k->role == CD__TX || k->role == CD__UNSIGNED) {
        return network_of_tx(out, v);
    }
    if (k->table == &cd_pgenesis_table) {
        return network_of_list(out, &((const cd_pgenesis_state *)v)->chains);
    }
    if (k->table == &cd_x_genesis_table) {
        const cd_linear_list *assets = &((const cd_x_genesis *)v)->assets;
        if (assets->cnt != 0) {
            *out = ((const cd_x_genesis_asset *)assets->v)->tx.base.network_id;
        }
        return assets->cnt != 0;
    }
    if (k->table == &cd_x_block_table) {
        return network_of_list(out, &((const cd_x_standard_block *)((const cd_x_block *)v)->body.v)->txs);
    }
    if (k->table == &cd_p_block_table) {
        const cd_p_block_body *body = cd_p_block_body_of(v);
        return network_of_list(out, &body->txs) || network_of_tx(out, (const cd__signed_tx *)&body->tx);
    }
    return false;
}

cd_network cd__network_for(const cd__show *s, const cd__kind *k, const void *v)
{
    u32 id = 0;
    return s->network != NULL ? *s->network : cd_network_of(network_of(&id, k, v) ? id : 1);
}
