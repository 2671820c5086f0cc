#include "chains/xvm/xvm.h"

#include "base/mem/mem.h"
#include "base/version.h"
#include "chains/xvm/genesis.h"
#include "chains/xvm/service_priv.h"
#include "crypto/hash/sha2.h"

/* --- transactions --- */

static cd_err check(const cd__xvm *x, const cd_xvm_tx *t, cd_arena *a, cd_errinfo *why)
{
    cd_xvm_effect effect;
    const cd_xvm_view view = {.rules = &x->rules,
                              .kv = x->ctx.kv,
                              .fx = x->fx,
                              .now = cd_clock_wall_ns(x->ctx.clock) / CD_NS_PER_SEC,
                              .arena = a};
    return cd_xvm_check(&view, &effect, t, why);
}

static cd_err take(cd__xvm *x, const cd_xvm_tx *t, cd_arena *a, bool is_checked, const cd_node_id *peer,
                   cd_errinfo *why)
{
    if (x->state != CD_VM_NORMAL) {
        return cd_fail(why, CD_EAGAIN, "chain not synced");
    }
    if (peer != NULL && cd_xvm_pool_reason(x->pool, &t->id) != NULL) {
        return CD_EBUSY;
    }
    CD_TRY(cd_xvm_form(&x->rules, t, why));
    CD_TRY(is_checked ? check(x, t, a, why) : CD_OK);
    CD_TRY(cd_xvm_pool_add(x->pool, t, peer, why));
    cd_gossip_known(x->topic, &t->id);
    if (x->ctx.host != NULL) {
        x->ctx.host->notify(x->ctx.host, CD_VM_WANTS_BLOCK);
    }
    return CD_OK;
}

cd_err cd__xvm_take(cd__xvm *x, cd_hash32 *out, bool *is_new, cd_bytes bytes, bool is_checked, const cd_node_id *peer,
                    cd_errinfo *why)
{
    cd_arena a = {0};
    cd_xvm_tx t;
    cd_err e = cd_xvm_tx_parse(&t, &a, bytes, why);
    *is_new = e == CD_OK && !cd_xvm_pool_has(x->pool, &t.id);
    if (e == CD_OK) {
        *out = t.id;
    }
    if (*is_new) {
        e = take(x, &t, &a, is_checked, peer, why);
    }
    cd_arena_fini(&a);
    return e;
}

cd_err cd_xvm_issue(cd_vm *vm, cd_hash32 *out, cd_bytes bytes, bool is_checked, cd_errinfo *why)
{
    cd__xvm *x = cd__xvm_of(vm);
    bool is_new;
    CD_TRY(cd__xvm_take(x, out, &is_new, bytes, is_checked, NULL, why));
    if (is_new) {
        cd_gossip_push_out(x->topic, out);
    }
    return CD_OK;
}

/* --- the vtable --- */

static void want_block(cd__xvm *x)
{
    if (x->state == CD_VM_NORMAL && cd_xvm_pool_cnt(x->pool) > 0 && x->ctx.host != NULL) {
        x->ctx.host->notify(x->ctx.host, CD_VM_WANTS_BLOCK);
    }
}

static cd_err vm_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    (void)why;
    cd__xvm_of(vm)->state = state;
    cd_gossip_start(cd__xvm_of(vm)->base.gossip, state == CD_VM_NORMAL);
    want_block(cd__xvm_of(vm));
    return CD_OK;
}

static cd_err vm_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    (void)ctx;
    return cd__xvm_build(cd__xvm_of(vm), out, why);
}

static cd_err vm_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    return cd_blocks_parse(&cd__xvm_of(vm)->blocks, out, bytes, why);
}

static cd_err vm_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    return cd_blocks_get(&cd__xvm_of(vm)->blocks, out, id);
}

static void vm_release(cd_vm *vm, cd_vm_block *block)
{
    cd_blocks_release(&cd__xvm_of(vm)->blocks, block);
}

static cd_err vm_verify(cd_vm *vm, cd_vm_block *block, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    return cd_blocks_verify(&cd__xvm_of(vm)->blocks, block, ctx, why);
}

static cd_err vm_accept(cd_vm *vm, cd_vm_block *block, cd_kv_batch *batch, cd_errinfo *why)
{
    return cd_blocks_accept(&cd__xvm_of(vm)->blocks, block, batch, why);
}

static cd_err vm_accepted(cd_vm *vm, cd_vm_block *block, cd_errinfo *why)
{
    cd_err e = cd_blocks_accepted(&cd__xvm_of(vm)->blocks, block, why);
    want_block(cd__xvm_of(vm));
    return e;
}

static cd_err vm_reject(cd_vm *vm, cd_vm_block *block)
{
    return cd_blocks_reject(&cd__xvm_of(vm)->blocks, block);
}

static cd_err vm_set_preference(cd_vm *vm, const cd_hash32 *id)
{
    return cd_blocks_prefer(&cd__xvm_of(vm)->blocks, id);
}

static void vm_last_accepted(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    *id = cd__xvm_of(vm)->blocks.last;
    *height = cd__xvm_of(vm)->blocks.last_height;
}

static cd_err vm_id_at_height(cd_vm *vm, cd_hash32 *id, u64 height)
{
    return cd_xvm_get_height(cd__xvm_of(vm)->ctx.kv, id, height);
}

static const cd_vm_handler *vm_handlers(cd_vm *vm, usize *cnt)
{
    return cd__xvm_service_handlers(cd__xvm_of(vm)->service, cnt);
}

static const char *vm_version(cd_vm *vm)
{
    (void)vm;
    return CD_VERSION;
}

static u64 vm_wake(cd_vm *vm)
{
    return cd_gossip_wake(cd__xvm_of(vm)->base.gossip);
}

static void vm_close(cd_vm *vm)
{
    cd__xvm *x = cd__xvm_of(vm);
    cd__xvm_service_free(x->service);
    if (x->blocks.owner != NULL) {
        cd_blocks_fini(&x->blocks);
    }
    cd_overlay_free(x->states);
    cd_gossip_free(x->base.gossip);
    cd_xvm_pool_free(x->pool);
    cd_fx_free(x->fx);
    cd_free(x);
}

static const cd_vm_ops ops = {
    .name = "xvm",
    .set_state = vm_set_state,
    .build = vm_build,
    .parse = vm_parse,
    .get = vm_get,
    .release = vm_release,
    .verify = vm_verify,
    .accept = vm_accept,
    .accepted = vm_accepted,
    .reject = vm_reject,
    .set_preference = vm_set_preference,
    .last_accepted = vm_last_accepted,
    .id_at_height = vm_id_at_height,
    .app = &cd_gossip_app_ops,
    .handlers = vm_handlers,
    .version = vm_version,
    .wake = vm_wake,
    .close = vm_close,
};

/* --- opening --- */

/* Reads where the graph of vertices of an old network ended; a network that never had one names none. */
static cd_err read_stop(const cd__xvm *x, cd_hash32 *stop, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_json v;
    cd_bytes text;
    *stop = (cd_hash32){{0}};
    if (x->ctx.upgrades.n == 0) {
        return CD_OK;
    }
    cd_err e = cd_json_parse(&v, &a, x->ctx.upgrades, 0, why);
    v = e == CD_OK ? cd_json_get(v, "cortinaXChainStopVertexID") : v;
    if (e == CD_OK && cd_json_has(v)) {
        e = cd_json_str(&text, v, why);
        e = e != CD_OK ? e : cd_id_parse(stop, text, why);
    }
    cd_arena_fini(&a);
    return e;
}

/* Writes a new chain. A crash before the end leaves an empty store: it is one batch. */
static cd_err begin(cd__xvm *x, cd_errinfo *why)
{
    cd_hash32 stop;
    cd_kv_batch b = {0};
    CD_TRY(read_stop(x, &stop, why));
    cd_kv_batch_for(&b, x->ctx.kv);
    cd_err e = cd_xvm_genesis(&b, x->ctx.genesis, &x->ctx.chain_id, &stop, why);
    e = e != CD_OK ? e : cd_kv_commit(x->ctx.kv, &b, CD_KV_SYNC, why);
    cd_kv_batch_fini(&b);
    return e;
}

static cd_err check_origin(cd__xvm *x, cd_xvm_origin *origin, cd_errinfo *why)
{
    cd_hash32 genesis;
    CD_TRY(cd_xvm_get_origin(x->ctx.kv, origin));
    cd_sha256(&genesis, x->ctx.genesis);
    if (!cd_hash32_eq(&genesis, &origin->genesis)) {
        return cd_fail(why, CD_EINVAL, "the store holds an X-Chain of another genesis");
    }
    return CD_OK;
}

/* Fees are counted in the unit of the asset that pays them. */
static cd_err set_fees(cd__xvm *x, const cd_hash32 *fee_asset, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_xvm_tx t = {.bytes = {0}};
    cd_xvm_fees fees = {.tx = 0};
    cd_err e = cd_xvm_get_tx(x->ctx.kv, &t, &a, fee_asset);
    if (e == CD_OK && t.tx.body.is->id != CD_X_CREATE_ASSET) {
        e = cd_fail(why, CD_ECORRUPT, "not an asset");
    }
    if (e == CD_OK) {
        const cd_x_create_asset *tx = t.tx.body.v;
        e = cd_xvm_fees_of(&fees, x->ctx.network_id, tx->denomination, why);
    }
    x->rules.tx_fee = fees.tx;
    x->rules.create_asset_fee = fees.create_asset;
    cd_arena_fini(&a);
    return e;
}

static cd_err set_rules(cd__xvm *x, const cd_xvm_origin *origin, cd_errinfo *why)
{
    x->rules = (cd_xvm_rules){.network_id = x->ctx.network_id,
                              .chain_id = x->ctx.chain_id,
                              .subnet_id = x->ctx.subnet_id,
                              .fee_asset = origin->fee_asset,
                              .shared = x->ctx.shared,
                              .validators = x->ctx.validators,
                              .lists_txs = x->rules.lists_txs};
    CD_TRY(cd_xvm_get_asset(x->ctx.kv, &x->rules.fee_asset_fxs, &origin->fee_asset));
    return set_fees(x, &origin->fee_asset, why);
}

static cd_err read_config(cd__xvm *x, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_json v;
    cd_err e = CD_OK;
    if (x->ctx.config.n > 0) {
        e = cd_json_parse(&v, &a, x->ctx.config, 0, why);
        v = e == CD_OK ? cd_json_get(v, "index-transactions") : v;
        if (e == CD_OK && cd_json_has(v)) {
            e = cd_json_bool(&x->rules.lists_txs, v, why);
        }
    }
    cd_arena_fini(&a);
    return e;
}

static cd_err find_last(cd__xvm *x, cd_hash32 *id, u64 *height)
{
    cd_vm_block *b = NULL;
    CD_TRY(cd_xvm_get_last(x->ctx.kv, id));
    CD_TRY(cd__xvm_blocks.load(x, &b, id));
    *height = b->height;
    x->last_time = b->time;
    cd__xvm_blocks.free(x, b);
    return CD_OK;
}

cd_err cd_xvm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    cd__xvm *x = cd_new(cd__xvm);
    cd_xvm_origin origin;
    cd_hash32 last;
    u64 height = 0;
    *x = (cd__xvm){.base.vm.ops = &ops, .ctx = *ctx, .state = CD_VM_BOOTSTRAPPING, .pool = cd_xvm_pool_new()};
    x->fx = cd_fx_new(0);
    cd__xvm_gossip_open(x);
    x->states = cd_overlay_new(ctx->kv);
    cd_err e = read_config(x, why);
    if (e == CD_OK && cd_xvm_get_last(ctx->kv, &last) == CD_ENOENT) {
        e = begin(x, why);
    }
    e = e != CD_OK ? e : check_origin(x, &origin, why);
    e = e != CD_OK ? e : set_rules(x, &origin, why);
    e = e != CD_OK ? e : find_last(x, &last, &height);
    if (e != CD_OK) {
        vm_close(&x->base.vm);
        return e;
    }
    cd_blocks_init(&x->blocks, &cd__xvm_blocks, x, &last, height);
    x->service = cd__xvm_service_new(x);
    *out = &x->base.vm;
    return CD_OK;
}
