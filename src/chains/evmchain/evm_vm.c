#include "chains/evmchain/evm_vm.h"

#include "base/clock.h"
#include "base/fileio.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "chains/evmchain/api/keys.h"
#include "chains/evmchain/dev/dev.h"
#include "chains/evmchain/evm_vm_priv.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/feed/log_index.h"
#include "crypto/secp256k1.h"
#include "wallet/hd.h"

/* The largest airdrop file. */
enum { AIRDROP_MAX = 256 << 20 };

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

static u64 now_s(void)
{
    return cd_clock_wall_s(cd_clock_real());
}

/* --- the head ----------------------------------------------------------------------------------- */

void cd__vm_next(const cd_evm_vm *e, cd_build_cfg *out)
{
    if (e->dev_net != NULL) {
        cd__dev_next(e->dev_net, out);
    } else {
        u64 head = cd_chain_head(e->chain)->header.time;
        *out = (cd_build_cfg){.wish.time = cd_max_u64(now_s(), head)};
    }
}

cd_err cd__vm_follow(cd_evm_vm *e)
{
    const cd_chain_rules *r = cd_chain_rules_of(e->chain);
    cd_build_cfg cfg;
    cd_arena a = {0};
    cd_header next;
    cd_child_rules child;
    cd__vm_next(e, &cfg);
    cd_err err = cd_chain_child(e->chain, &child);
    if (err == CD_OK) {
        err = cd_chain_next_header_as(e->chain, &next, &a, &cfg.wish, NULL);
    }
    if (err == CD_OK) {
        /* On the dev network somebody may choose a base fee of zero: what is too low for the next block is told there. */
        cd_u256 least = e->ctx.is_dev ? cd_u256_zero() : child.fee.min_base_fee;
        cd_txpool_head head = {
            .fork = cd_chain_rules_fork(r, next.number, next.time),
            .chain_id = r->chain_id,
            .gas_limit = next.gas_limit,
            .min_fee_cap = least,
            .base_fee = next.base_fee,
            .schedule = r->schedule,
            .time = next.time,
        };
        cd_txpool_set_head(e->pool, &head, &e->head.world.src);
        err = cd_txpool_settle(e->pool);
    }
    cd_arena_fini(&a);
    cd_feed_news(e->feed);
    if (e->news != NULL) {
        e->news(e->news_ctx);
    }
    return err;
}

cd_err cd__vm_sent(cd_rpc_call *call, const cd_hash32 *hash)
{
    cd_evm_vm *e = cd__vm_of(call);
    if (e->dev_net != NULL) {
        return cd__dev_sent(call, hash);
    }
    e->ctx.host->wants_block(e->ctx.host);
    e->ctx.host->settle(e->ctx.host);
    return CD_OK;
}

cd_err cd__vm_on_owner(cd_rpc_call *call, void (*job)(void *arg), void *arg)
{
    cd_vm_host *host = cd__vm_of(call)->ctx.host;
    if (call->lane == CD_RPC_OWNER || host->run == NULL) {
        job(arg);
        return CD_OK;
    }
    cd_err e = host->run(host, job, arg);
    return e == CD_OK ? CD_OK
                      : cd_rpc_fail(call, CD_RPC_BUSY, "%s",
                                    e == CD_ECLOSED ? "the server is stopping"
                                                    : "too many requests are waiting");
}

/* --- blocks ------------------------------------------------------------------------------------- */

static cd_err vm_build(cd_vm *vm, cd_vm_block **out, cd_errinfo *why)
{
    cd_evm_vm *e = self(vm);
    cd_chain_block *b;
    cd_build_cfg cfg;
    cd__vm_next(e, &cfg);
    cfg.may_be_empty = false;
    CD_TRY(cd_chain_build_as(e->chain, &b, e->pool, &cfg, why));
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
    u64 now_ms = cd_clock_wall_ns(cd_clock_real()) / CD_NS_PER_MS;
    return cd_chain_verify(e->chain, unwrap(block), now_ms, why);
}

static cd_err vm_accept(cd_vm *vm, cd_vm_block *block, cd_errinfo *why)
{
    cd_evm_vm *e = self(vm);
    const cd_chain_block *b = unwrap(block);
    CD_TRY(cd_chain_accept(e->chain, unwrap(block), why));
    cd_log_info(e->ctx.log, "block accepted", CD_F("chain", "C"), CD_F("height", block->height),
                CD_F("txs", b->block.tx_cnt), CD_F("gas", b->block.header.gas_used));
    return cd__vm_follow(e);
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

static const cd_vm_handler *vm_handlers(cd_vm *vm, usize *cnt)
{
    cd_evm_vm *e = self(vm);
    *cnt = e->handlers_cnt;
    return e->handlers;
}

static const char *vm_version(cd_vm *vm)
{
    (void)vm;
    return CD_VERSION;
}

static u64 vm_wake(cd_vm *vm)
{
    cd_evm_vm *e = self(vm);
    cd__vm_metrics_follow(e);
    u64 next = e->dev_net == NULL ? UINT64_MAX : cd__dev_wake(e->dev_net);
    return e->keystore == NULL ? next : cd_min_u64(next, cd_keystore_expire(e->keystore));
}

static void vm_close(cd_vm *vm)
{
    cd_evm_vm *e = self(vm);
    cd__dev_close(e->dev_net);
    cd_txpool_free(e->pool);
    cd__api_close(e);
    if (e->chain != NULL) {
        cd_world_source_fini(&e->head.world);
    }
    cd_chain_close(e->chain);
    cd_keystore_close(e->keystore);
    cd_arena_fini(&e->config_arena);
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
    .wake = vm_wake,
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

/* What is served at which route. */
static cd_err open_service(cd_evm_vm *e, cd_errinfo *why)
{
    cd__api_cfg cfg = {
        .clock = cd_clock_real(),
        .gas_cap = e->config.rpc_gas_cap,
        .proof_window = e->config.proof_window,
        .home = e->ctx.loop,
        .text_bytes = e->ctx.text_bytes,
        .is_product = true,
    };
    CD_TRY(cd__api_open(e, &cfg, why));
    CD_TRY(cd__keys_open(e, why));
    e->handlers[0] = (cd_vm_handler){.route = "/rpc", .over = CD_VM_HTTP, .service = &e->api.rpc};
    e->handlers[1] = (cd_vm_handler){.route = "/ws", .over = CD_VM_WS, .service = &e->api.rpc};
    e->handlers[2] = (cd_vm_handler){
        .route = "/admin", .over = CD_VM_HTTP | CD_VM_LOCAL, .service = &e->api.admin};
    e->handlers_cnt = e->config.admin_api ? 3 : 2;
    return CD_OK;
}

/* The list of hashes that "allow-unprotected-tx-hashes" names. */
static cd_err read_hashes(const cd_hash32 **out, cd_arena *a, const cd_str_list *texts,
                          cd_errinfo *why)
{
    cd_hash32 *hashes = cd_arena_array(a, cd_hash32, texts->cnt);
    for (usize i = 0; i < texts->cnt; i++) {
        cd_bytes bytes;
        if (cd_hex_parse_prefixed(&bytes, a, texts->items[i]) != CD_OK || bytes.n != 32) {
            return cd_fail(why, CD_EINVAL, "allow-unprotected-tx-hashes[%zu]: not a hash", i);
        }
        memcpy(hashes[i].b, bytes.p, 32);
    }
    *out = hashes;
    return CD_OK;
}

static void on_pending(void *ctx, const cd_pool_tx *t)
{
    cd_feed_pending(((cd_evm_vm *)ctx)->feed, t);
}

static cd_err open_pool(cd_evm_vm *e, cd_errinfo *why)
{
    const cd_vm_config *c = &e->config;
    cd_txpool_cfg cfg = {
        .account_slots = c->pool_account_slots,
        .global_slots = c->pool_global_slots,
        .account_queue = c->pool_account_queue,
        .global_queue = c->pool_global_queue,
        .lifetime_s = c->pool_lifetime / CD_NS_PER_SEC,
        .price_bump = c->pool_price_bump,
        .tip_min = c->pool_price_limit,
        .takes_no_tip = e->ctx.is_dev && c->pool_price_limit <= 1,
        .fee_cap = c->rpc_tx_fee_cap,
        .allow_unprotected = c->allow_unprotected,
        .unprotected_cnt = c->unprotected_hashes.cnt,
        .spares_local = c->local_txs,
        .keeps_stuck = e->ctx.is_dev,
        .journal = e->ctx.kv,
        .events = {.pending = on_pending, .ctx = e},
    };
    CD_TRY(read_hashes(&cfg.unprotected, &e->config_arena, &c->unprotected_hashes, why));
    e->pool = cd_txpool_new(&cfg);
    return CD_OK;
}

static void on_indexed(void *ctx, u64 height, u64 head)
{
    const cd_evm_vm *e = ctx;
    cd_log_info(e->ctx.log, "indexing logs", CD_F("chain", "C"), CD_F("height", height),
                CD_F("head", head));
}

static cd_err open_chain(cd_evm_vm *e, cd_errinfo *why)
{
    const cd_vm_config *c = &e->config;
    cd_bytes recipient = {0};
    cd_addr20 fee_recipient;
    cd_chain_cfg cfg = {
        .kv = e->ctx.kv,
        .genesis = e->ctx.genesis,
        .upgrades = e->ctx.upgrades,
        .network_id = e->ctx.network_id,
        .blockchain_id = e->ctx.chain_id,
        .addrs = CD_ADDRS_PRIMARY,
        .is_dev = e->ctx.is_dev,
        .skip_upgrade_check = c->skip_upgrade_check,
        .pool = e->ctx.pool,
        .sync = CD_KV_SYNC,
        .commit_interval = c->commit_interval,
        .history = e->ctx.is_dev || !c->pruning ? UINT64_MAX : c->state_history,
        .preimages = c->preimages || e->ctx.is_dev,
        .index = c->skip_log_indexing ? NULL : &cd_log_index,
        .trie_bytes = e->ctx.trie_bytes,
        .cache_bytes = e->ctx.cache_bytes,
    };
    if (c->airdrop.n != 0) {
        cd_buf file = {0};
        const char *path = cd_arena_str(&e->config_arena, c->airdrop);
        cd_err err = cd_fs_read_file(cd_fs_real(), &file, path, AIRDROP_MAX, why);
        cfg.airdrop = cd_arena_dup(&e->config_arena, cd_buf_bytes(&file));
        cd_buf_fini(&file);
        CD_TRY(err);
    }
    if (c->fee_recipient.n != 0) {
        if (cd_hex_parse_prefixed(&recipient, &e->config_arena, c->fee_recipient) != CD_OK ||
            recipient.n != 20) {
            return cd_fail(why, CD_EINVAL, "feeRecipient: not an address");
        }
        memcpy(fee_recipient.b, recipient.p, 20);
        cfg.fee_recipient = &fee_recipient;
    }
    CD_TRY(cd_chain_open(&e->chain, &cfg, why));
    if (c->skip_log_indexing) {
        return cd_log_index_drop(e->ctx.kv, why);
    }
    return cd_log_index_complete(e->ctx.kv, cd_chain_rules_of(e->chain)->layout,
                                 cd_chain_head(e->chain)->header.number, on_indexed, e, why);
}

cd_err cd_evm_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    cd_evm_vm *e = cd_new(cd_evm_vm);
    e->vm.ops = &ops;
    e->ctx = *ctx;
    cd_err err = cd_vm_config_parse(&e->config, &e->config_arena, ctx->config, why);
    err = err != CD_OK ? err : open_pool(e, why);
    err = err != CD_OK ? err : open_chain(e, why);
    if (err == CD_OK) {
        cd_chain_source_init(&e->head, e->chain, NULL);
        err = ctx->is_dev ? cd__dev_open(&e->dev_net, e) : CD_OK;
    }
    err = err != CD_OK ? err : cd__vm_follow(e);
    if (err == CD_OK) {
        usize back;
        err = cd_txpool_load(e->pool, &back, why);
    }
    if (err == CD_OK && ctx->is_dev) {
        err = unlock_dev_accounts(e);
    }
    if (err == CD_OK && ctx->is_dev) {
        err = cd__dev_start(e->dev_net, why);
    }
    err = err != CD_OK ? err : open_service(e, why);
    if (err != CD_OK) {
        vm_close(&e->vm);
        return err;
    }
    cd__vm_metrics_open(e);
    *out = &e->vm;
    return CD_OK;
}

struct cd_chain *cd_evm_vm_chain(cd_vm *vm)
{
    return ((cd_evm_vm *)(void *)vm)->chain;
}

struct cd_kv *cd_evm_vm_kv(cd_vm *vm)
{
    return self(vm)->ctx.kv;
}

void cd_evm_vm_watch(cd_vm *vm, void (*news)(void *ctx), void *ctx)
{
    self(vm)->news = news;
    self(vm)->news_ctx = ctx;
}

typedef struct pool_job {
    cd_txpool *pool;
    void (*job)(void *arg, cd_txpool *pool);
    void *arg;
} pool_job;

static void on_owner(void *arg)
{
    const pool_job *j = arg;
    j->job(j->arg, j->pool);
}

cd_err cd_evm_vm_with_pool(cd_vm *vm, void (*job)(void *arg, cd_txpool *pool), void *arg)
{
    cd_evm_vm *e = self(vm);
    pool_job j = {.pool = e->pool, .job = job, .arg = arg};
    if (e->ctx.host->run == NULL) {
        on_owner(&j);
        return CD_OK;
    }
    return e->ctx.host->run(e->ctx.host, on_owner, &j);
}
