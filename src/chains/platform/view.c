#include "chains/platform/view.h"

void cd_platform_view_close(cd_platform_view *v)
{
    cd_kv_close(v->state.kv);
    *v = (cd_platform_view){0};
}

cd_err cd_platform_view_block(const cd_platform_view *v, cd_p_block *out, cd_hash32 *id, usize *size, cd_arena *a,
                              u64 height)
{
    cd_bytes bytes;
    CD_TRY(cd_pstate_block_id_get(&v->state, id, height));
    CD_TRY(cd_pstate_block_get(&v->state, &bytes, a, id));
    *size = bytes.n;
    return cd_linear_parse(out, &cd_p_block_table, a, bytes, bytes.n, NULL) == CD_OK ? CD_OK : CD_ECORRUPT;
}

cd_err cd_platform_view_tx(const cd_platform_view *v, cd_p_tx *out, cd_p_status *status, cd_bytes *bytes, cd_arena *a,
                           const cd_hash32 *id)
{
    CD_TRY(cd_pstate_tx_get(&v->state, bytes, status, a, id));
    return cd_linear_parse(out, &cd_p_tx_table, a, *bytes, bytes->n, NULL) == CD_OK ? CD_OK : CD_ECORRUPT;
}

static bool has_own_tx(const cd_p_block *b)
{
    cd_p_block_type kind = cd_p_block_kind(b);
    return kind == CD_P_APRICOT_PROPOSAL || kind == CD_P_APRICOT_ATOMIC || kind == CD_P_BANFF_PROPOSAL;
}

usize cd_platform_view_block_txs(const cd_p_block *b)
{
    const cd_p_block_body *body = b->body.v;
    return body->txs.cnt + (has_own_tx(b) ? 1 : 0);
}

const cd_p_tx *cd_platform_view_block_tx(const cd_p_block *b, usize i)
{
    const cd_p_block_body *body = b->body.v;
    return i < body->txs.cnt ? &((const cd_p_tx *)body->txs.v)[i] : &body->tx;
}

const cd_p_base *cd_platform_tx_base(const cd_p_tx *tx)
{
    bool is_plain = tx->body.is->id != CD_P_ADVANCE_TIME && tx->body.is->id != CD_P_REWARD_VALIDATOR;
    return is_plain ? tx->body.v : NULL; // every other one begins with it
}
