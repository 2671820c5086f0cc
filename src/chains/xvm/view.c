#include "chains/xvm/view.h"

#include "chains/xvm/xvm_priv.h"

/* Reads a block by its ID. */
static cd_err read_block(const cd_xvm_frozen *v, cd_x_block *out, usize *size, cd_arena *a, const cd_hash32 *id)
{
    cd_buf bytes = {0};
    cd_err e = cd_xvm_get_block(v->kv, &bytes, id);
    if (e == CD_OK) {
        *size = bytes.n;
        e = cd_linear_parse(out, &cd_x_block_table, a, cd_arena_dup(a, cd_buf_bytes(&bytes)), bytes.n, NULL);
        e = e == CD_OK && out->body.is->id == CD_X_STANDARD_BLOCK ? CD_OK : CD_ECORRUPT;
    }
    cd_buf_fini(&bytes);
    return e;
}

static cd_err read_head(cd_xvm_frozen *v)
{
    cd_arena a = {0};
    cd_x_block block;
    usize size;
    cd_xvm_origin origin;
    CD_TRY(cd_xvm_get_origin(v->kv, &origin));
    v->fee_asset = origin.fee_asset;
    CD_TRY(cd_xvm_get_last(v->kv, &v->last));
    cd_err e = read_block(v, &block, &size, &a, &v->last);
    if (e == CD_OK) {
        const cd_x_standard_block *b = block.body.v;
        v->height = b->height;
        v->time = b->time;
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_xvm_view_open(cd_xvm_frozen *out, cd_vm *vm)
{
    cd__xvm *x = cd__xvm_of(vm);
    *out = (cd_xvm_frozen){
        .network = x->ctx.primary == NULL ? NULL : x->ctx.primary->network,
        .shared = x->ctx.shared,
        .lists_txs = x->rules.lists_txs,
    };
    CD_TRY(cd_kv_snapshot(&out->kv, x->ctx.kv));
    cd_err e = read_head(out);
    if (e != CD_OK) {
        cd_xvm_view_close(out);
    }
    return e;
}

void cd_xvm_view_close(cd_xvm_frozen *v)
{
    cd_kv_close(v->kv);
    *v = (cd_xvm_frozen){.kv = NULL};
}

cd_err cd_xvm_view_block(const cd_xvm_frozen *v, const cd_x_standard_block **out, cd_x_block *whole, cd_hash32 *id,
                         usize *size, cd_arena *a, u64 height)
{
    CD_TRY(cd_xvm_get_height(v->kv, id, height));
    CD_TRY(read_block(v, whole, size, a, id));
    *out = whole->body.v;
    return CD_OK;
}
