#include "chains/evmchain/evm_vm.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "chains/evmchain/evm_vm_priv.h"
#include "crypto/secp256k1.h"
#include "wallet/hd.h"

/* A block as the node sees it; the chain's own stays behind it until release. */
typedef struct vm_block {
    cd_vm_block pub; /* first */
    cd_chain_block *block;
} vm_block;

static cd_evm_vm *self(cd_vm *vm)
{
    return (cd_evm_vm *)vm;
}

static cd_vm_block *wrap(cd_chain_block *b)
{
    vm_block *v = cd_new(vm_block);
    v->block = b;
    v->pub = (cd_vm_block){
        .id = b->block.hash,
        .parent = b->block.header.parent_hash,
        .height = b->block.header.number,
        .time = b->block.header.time,
        .bytes = b->rlp,
    };
    return &v->pub;
}

static cd_chain_block *unwrap(cd_vm_block *b)
{
    return ((vm_block *)b)->block;
}

/* --- the head ----------------------------------------------------------------------------------- */

/* Lets pool and readers follow a new head. */
static cd_err follow_head(cd_evm_vm *e)
{
    const cd_chain_rules *r = cd_chain_rules_of(e->chain);
    const cd_header *h = &cd_chain_head(e->chain)->header;
    cd_txpool_head head = {
        .fork = cd_chain_rules_fork(r, h->number, h->time),
        .chain_id = r->chain_id,
        .gas_limit = h->gas_limit,
        .min_fee_cap = r->config.fee.min_base_fee,
    };
    cd_txpool_set_head(e->pool, &head, &e->head.world.src);
    return cd_txpool_settle(e->pool);
}

static u64 now_s(void)
{
    return cd_clock_wall_s(cd_clock_real());
}

/* --- blocks ------------------------------------------------------------------------------------- */

static cd_err vm_build(cd_vm *vm, cd_vm_block **out, cd_errinfo *why)
{
    cd_evm_vm *e = self(vm);
    cd_chain_block *b;
    u64 now = now_s();
    /* On the dev network every block gets a second of its own, however fast they come. */
    u64 least = cd_chain_head(e->chain)->header.time + (e->ctx.is_dev ? 1 : 0);
    CD_TRY(cd_chain_build(e->chain, &b, e->pool, cd_max_u64(now, least), why));
    *out = wrap(b);
    return CD_OK;
}

static cd_err vm_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    cd_chain_block *b;
    CD_TRY(cd_chain_parse(self(vm)->chain, &b, bytes, why));
    *out = wrap(b);
    return CD_OK;
}

static void vm_release(cd_vm *vm, cd_vm_block *block)
{
    cd_chain_drop(self(vm)->chain, unwrap(block));
    cd_free(block);
}

static cd_err vm_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    cd_evm_vm *e = self(vm);
    cd_arena a = {0};
    cd_block b;
    cd_err err = cd_chain_block_by_hash(e->chain, &b, NULL, &a, id);
    if (err == CD_OK) {
        cd_buf rlp = {0};
        cd_block_enc(&rlp, cd_chain_rules_of(e->chain)->layout, &b);
        err = vm_parse(&e->vm, out, cd_buf_bytes(&rlp), NULL);
        cd_buf_fini(&rlp);
    }
    cd_arena_fini(&a);
    return err;
}

static cd_err vm_verify(cd_vm *vm, cd_vm_block *block, cd_errinfo *why)
{
    cd_evm_vm *e = self(vm);
    /* The dev network's clock runs ahead when blocks come faster than one a second. */
    u64 now = e->ctx.is_dev ? block->time : now_s();
    return cd_chain_verify(e->chain, unwrap(block), now, why);
}

static cd_err vm_accept(cd_vm *vm, cd_vm_block *block, cd_errinfo *why)
{
    cd_evm_vm *e = self(vm);
    const cd_chain_block *b = unwrap(block);
    CD_TRY(cd_chain_accept(e->chain, unwrap(block), why));
    cd_log_info(e->ctx.log, "block accepted", CD_F("chain", "C"), CD_F("height", block->height),
                CD_F("txs", b->block.tx_cnt), CD_F("gas", b->block.header.gas_used));
    return follow_head(e);
}

static cd_err vm_reject(cd_vm *vm, cd_vm_block *block)
{
    (void)vm;
    (void)block; /* its view ends with release */
    return CD_OK;
}

static cd_err vm_set_preference(cd_vm *vm, const cd_hash32 *id)
{
    (void)vm;
    (void)id; /* blocks are built on the accepted head */
    return CD_OK;
}

static void vm_last_accepted(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    const cd_block *head = cd_chain_head(self(vm)->chain);
    *id = head->hash;
    *height = head->header.number;
}

static cd_err vm_id_at_height(cd_vm *vm, cd_hash32 *id, u64 height)
{
    cd_arena a = {0};
    cd_block b;
    cd_err e = cd_chain_block_at(self(vm)->chain, &b, NULL, &a, height);
    if (e == CD_OK) {
        *id = b.hash;
    }
    cd_arena_fini(&a);
    return e;
}

/* --- service ------------------------------------------------------------------------------------ */

static void serve_rpc(cd_vm *vm, cd_buf *reply, cd_bytes body)
{
    cd_rpc_serve(self(vm)->methods, reply, vm, body, NULL);
}

static const cd_vm_handler *vm_handlers(cd_vm *vm, usize *cnt)
{
    static const cd_vm_handler handlers[] = {{.route = "/rpc", .serve = serve_rpc}};
    (void)vm;
    *cnt = CD_COUNT(handlers);
    return handlers;
}

static const char *vm_version(cd_vm *vm)
{
    (void)vm;
    return CD_VERSION;
}

static void vm_close(cd_vm *vm)
{
    cd_evm_vm *e = self(vm);
    cd_txpool_free(e->pool);
    cd_rpc_table_free(e->methods);
    if (e->call_st != NULL) {
        cd_state_free(e->call_st);
        cd_evm_free(e->call_evm);
        cd_world_source_fini(&e->head.world);
    }
    cd_chain_close(e->chain);
    cd_free(e);
}

static const cd_vm_ops ops = {
    .name = "evm",
    .build = vm_build,
    .parse = vm_parse,
    .get = vm_get,
    .release = vm_release,
    .verify = vm_verify,
    .accept = vm_accept,
    .reject = vm_reject,
    .set_preference = vm_set_preference,
    .last_accepted = vm_last_accepted,
    .id_at_height = vm_id_at_height,
    .handlers = vm_handlers,
    .version = vm_version,
    .close = vm_close,
};

/* --- opening ------------------------------------------------------------------------------------ */

static cd_err unlock_dev_accounts(cd_evm_vm *e)
{
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < CD__DEV_ACCOUNTS; i++) {
        u8 pub[64];
        CD_TRY(cd_hd_account(e->dev[i].secret, seed, i));
        CD_TRY(cd_secp256k1_pub(pub, e->dev[i].secret));
        cd_secp256k1_addr(&e->dev[i].addr, pub);
    }
    e->dev_cnt = CD__DEV_ACCOUNTS;
    return CD_OK;
}

static cd_rpc_table *make_methods(void)
{
    cd_rpc_table *t = cd_rpc_table_new();
    cd_rpc_table_add(t, cd__api_chain, cd__api_chain_cnt);
    cd_rpc_table_add(t, cd__api_block, cd__api_block_cnt);
    cd_rpc_table_add(t, cd__api_logs, cd__api_logs_cnt);
    cd_rpc_table_add(t, cd__api_state, cd__api_state_cnt);
    cd_rpc_table_add(t, cd__api_call, cd__api_call_cnt);
    cd_rpc_table_add(t, cd__api_send, cd__api_send_cnt);
    return t;
}

cd_err cd_evm_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    cd_evm_vm *e = cd_new(cd_evm_vm);
    e->vm.ops = &ops;
    e->ctx = *ctx;
    e->methods = make_methods();
    e->pool = cd_txpool_new(&(cd_txpool_cfg){0});
    cd_chain_cfg cfg = {
        .kv = ctx->kv,
        .genesis = ctx->genesis,
        .pool = ctx->pool,
        .sync = CD_KV_SYNC,
        .allow_empty = false,
    };
    cd_err err = cd_chain_open(&e->chain, &cfg, why);
    if (err == CD_OK) {
        cd_chain_source_init(&e->head, e->chain, NULL);
        e->call_evm = cd_evm_new();
        e->call_st = cd_state_new(&e->head.world.src);
        err = follow_head(e);
    }
    if (err == CD_OK && ctx->is_dev) {
        err = unlock_dev_accounts(e);
    }
    if (err != CD_OK) {
        vm_close(&e->vm);
        return err;
    }
    *out = &e->vm;
    return CD_OK;
}
