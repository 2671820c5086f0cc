#include "chains/wallet/operate.h"

#include "chains/utxo/fx.h"
#include "chains/utxo/utxo.h"

_Static_assert(offsetof(cd_x_nft_mint_output, group_id) == 0 && offsetof(cd_x_nft_output, group_id) == 0,
               "the group of an NFT stands first");

static bool is_of(const cd_utxo *u, const cd_owners *owners, const cd_wallet_kind *kind)
{
    return owners != NULL && u->out.is->id == (u32)kind->output && cd_hash32_eq(&u->asset_id, &kind->asset_id) &&
           (kind->group == NULL || *(const u32 *)u->out.v == *kind->group);
}

const cd_utxo *cd_wallet_operable(cd_wallet_draft *d, cd_auth_input *in, const cd_wallet_purse *p,
                                  const cd_wallet_kind *kind)
{
    for (usize i = 0; i < p->utxo_cnt; i++) {
        const cd_utxo *u = &p->utxos[i];
        const cd_owners *owners = cd_utxo_owners(&u->out);
        if (!is_of(u, owners, kind)) {
            continue;
        }
        u32 *indices = cd_arena_array(p->mem, u32, owners->addrs.cnt);
        if (!cd_fx_match(indices, owners->addrs.cnt, owners, p->addrs, p->addr_cnt, p->now)) {
            continue;
        }
        cd_addr20 *who = cd_arena_array(p->mem, cd_addr20, owners->threshold);
        for (u32 k = 0; k < owners->threshold; k++) {
            who[k] = ((const cd_addr20 *)owners->addrs.v)[indices[k]];
        }
        in->sig_indices = (cd_linear_list){.v = indices, .cnt = owners->threshold};
        const cd_wallet_slot slot = {.type = kind->credential, .cnt = owners->threshold, .signers = who};
        cd_wallet_slots_add(d, p->mem, &slot, 1);
        return u;
    }
    return NULL;
}

void cd_wallet_operation(cd_wallet_draft *d, const cd_wallet_purse *p, const cd_x_base *base, const cd_utxo *u,
                         cd_x_type type, void *v)
{
    cd_x_operation *t = cd_arena_new(p->mem, cd_x_operation);
    cd_x_op *op = cd_arena_new(p->mem, cd_x_op);
    cd_x_utxo_id *id = cd_arena_new(p->mem, cd_x_utxo_id);
    *id = (cd_x_utxo_id){.tx_id = u->tx_id, .output_idx = u->output_idx};
    *op = (cd_x_op){.asset_id = u->asset_id, .utxo_ids = {.v = id, .cnt = 1}, .op = {.is = cd_x_case(type), .v = v}};
    t->base = *base;
    t->ops = (cd_linear_list){.v = op, .cnt = 1};
    d->body = (cd_linear_any){.is = cd_x_case(CD_X_OPERATION), .v = t};
}
