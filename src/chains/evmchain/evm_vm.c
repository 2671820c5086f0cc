#include "chains/evmchain/evm_vm.h"

#include "base/hex.h"
#include "base/log/log.h"
#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/version.h"
#include "chains/evmchain/atomic/atomic.h"
#include "chains/evmchain/blocks.h"
#include "chains/evmchain/dev/dev.h"
#include "chains/evmchain/feed/log_index.h"
#include "chains/evmchain/final.h"
#include "chains/evmchain/gossip.h"
#include "chains/evmchain/rpc/seat.h"
#include "chains/evmchain/rpc/sending/keys.h"
#include "chains/evmchain/state_sync.h"
#include "chains/evmchain/vm_metrics.h"
#include "chains/evmchain/warp.h"
#include "types/network.h"
#include "wallet/keystore.h"

#include <stdio.h>

/* The largest airdrop file. */
enum { AIRDROP_MAX = 256 << 20 };

typedef struct cd_evm_vm {
    cd_gossip_vm base; /* first: the node is given its address */
    cd_vm_ctx ctx;
    cd_evm_gossip gossip;
    cd_evm_warp warp;
    cd_evm_sync sync;
    cd_vm_config config;
    cd_arena config_arena; /* memory of what config and pool borrow */
    cd_api api;            /* the methods' object, which knows the chain, its pool and its feed */
    cd_evm_blocks blocks;
    cd_atomic *atomic; /* NULL: its blocks have no atomic transactions */
    cd_dev *dev;       /* NULL everywhere but on a development network */
    u64 ask_ns;        /* monotonic: when the engine is asked again for a block */
    bool is_started;   /* true once the engine has said that the chain is in state NORMAL */
    cd_vm_handler handlers[6];
    usize handlers_cnt;
    cd__vm_metrics metrics;
} cd_evm_vm;

static cd_evm_vm *self(cd_vm *vm)
{
    return (cd_evm_vm *)vm;
}

/* --- blocks --- */

static cd_blocks *blocks_of(cd_vm *vm)
{
    return &self(vm)->blocks.blocks;
}

static cd_err vm_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    cd_evm_vm *e = self(vm);
    if (e->atomic != NULL) {
        cd_atomic_bootstrapped(e->atomic, state == CD_VM_NORMAL);
    }
    e->gossip.is_on = state == CD_VM_NORMAL;
    cd_gossip_start(e->base.gossip, e->gossip.is_on);
    if (state != CD_VM_NORMAL || e->is_started) {
        return CD_OK;
    }
    e->is_started = true;
    return e->dev == NULL ? CD_OK : cd_dev_start(e->dev, why);
}

/* By the plan of who asked the engine for this block, or for transactions that wait. */
static cd_err vm_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd_evm_vm *e = self(vm);
    cd_api_plan *plan = e->api.plan;
    cd_chain_block *b;
    cd_build_cfg cfg;
    if (plan != NULL && plan->ready != NULL) {
        b = plan->ready;
        plan->ready = NULL;
    } else if (plan != NULL && plan->run != 0 && e->api.followers != NULL) {
        return CD_EUNSUPPORTED; /* a run has no bytes that others could be shown */
    } else if (plan != NULL && plan->run != 0) {
        CD_TRY(cd_chain_build_run(e->api.chain, &b, plan->run, plan->interval, &plan->cfg.wish, why));
    } else {
        if (plan != NULL) {
            cfg = plan->cfg;
        } else {
            cd_api_next(&e->api, &cfg);
            cfg.may_be_empty = false; /* who asks for nothing in particular would be given empty blocks without end */
        }
        cfg.pchain_height = ctx->pchain_height;
        cfg.parent = cd_evm_blocks_preferred(&e->blocks);
        if (cfg.parent != NULL) {
            cfg.wish.time = cd_max_u64(cfg.wish.time, cfg.parent->block.header.time);
        }
        CD_TRY(cd_chain_build_as(e->api.chain, &b, e->api.pool, &cfg, why));
    }
    cd_evm_blocks_add(&e->blocks, out, b);
    return CD_OK;
}

static cd_err vm_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    return cd_blocks_parse(blocks_of(vm), out, bytes, why);
}

static void vm_release(cd_vm *vm, cd_vm_block *block)
{
    cd_blocks_release(blocks_of(vm), block);
}

static cd_err vm_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    return cd_blocks_get(blocks_of(vm), out, id);
}

static cd_err vm_verify(cd_vm *vm, cd_vm_block *block, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    return cd_blocks_verify(blocks_of(vm), block, ctx, why);
}

static cd_err vm_accept(cd_vm *vm, cd_vm_block *block, cd_kv_batch *batch, cd_errinfo *why)
{
    return cd_blocks_accept(blocks_of(vm), block, batch, why);
}

static cd_err vm_accepted(cd_vm *vm, cd_vm_block *block, cd_errinfo *why)
{
    return cd_blocks_accepted(blocks_of(vm), block, why);
}

/* A block that was asked for by a plan is told to who asked, who also lets pool and readers follow. */
static cd_err on_accepted(void *ctx, const cd_chain_block *b)
{
    cd_evm_vm *e = ctx;
    const cd_api_plan *plan = e->api.plan;
    if (plan != NULL) {
        if (plan->made != NULL) {
            plan->made(plan->ctx, b);
        }
        return CD_OK;
    }
    /* A chain that catches up has many of them, and the node says how far it is; of a follower's the lead has told. */
    cd_log_at(e->ctx.log, e->gossip.is_on && e->api.lead == NULL ? CD_LOG_INFO : CD_LOG_DEBUG, "block accepted",
              CD_F("chain", e->ctx.name), CD_F("height", b->block.header.number), CD_F("txs", b->block.tx_cnt),
              CD_F("gas", b->block.header.gas_used));
    return cd_api_follow(&e->api);
}

static cd_err vm_reject(cd_vm *vm, cd_vm_block *block)
{
    return cd_blocks_reject(blocks_of(vm), block);
}

static cd_err vm_set_preference(cd_vm *vm, const cd_hash32 *id)
{
    return cd_blocks_prefer(blocks_of(vm), id);
}

static void vm_last_accepted(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    *id = blocks_of(vm)->last;
    *height = blocks_of(vm)->last_height;
}

static cd_err vm_id_at_height(cd_vm *vm, cd_hash32 *id, u64 height)
{
    const cd_blocks *bs = blocks_of(vm);
    return bs->ops->id_at_height(bs->owner, id, height);
}

/* --- state sync --- */

static void vm_request(cd_vm *vm, const cd_node_id *from, u32 request_id, u64 deadline_ns, cd_bytes msg)
{
    const cd_evm_vm *e = self(vm);
    const cd_vm_sender *sender = e->ctx.sender;
    if (sender == NULL || !cd_evm_sync_answer(e->sync.server, sender, from, request_id, deadline_ns, msg)) {
        cd_gossip_on_request(vm, from, request_id, deadline_ns, msg);
    }
}

static void vm_response(cd_vm *vm, const cd_node_id *from, u32 request_id, cd_bytes msg)
{
    cd_sync_client *c = self(vm)->sync.client;
    if (c == NULL || !cd_sync_client_response(c, from, request_id, msg)) {
        cd_gossip_on_response(vm, from, request_id, msg);
    }
}

static void vm_failed(cd_vm *vm, const cd_node_id *from, u32 request_id, i32 code, cd_bytes message)
{
    cd_sync_client *c = self(vm)->sync.client;
    if (c == NULL || !cd_sync_client_failed(c, from, request_id)) {
        cd_gossip_on_failed(vm, from, request_id, code, message);
    }
}

static void vm_connected(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version)
{
    if (self(vm)->sync.client != NULL) {
        cd_sync_client_connected(self(vm)->sync.client, peer);
    }
    cd_gossip_on_connected(vm, peer, version);
}

static void vm_disconnected(cd_vm *vm, const cd_node_id *peer)
{
    if (self(vm)->sync.client != NULL) {
        cd_sync_client_disconnected(self(vm)->sync.client, peer);
    }
    cd_gossip_on_disconnected(vm, peer);
}

static bool vm_sync_is_enabled(cd_vm *vm)
{
    return cd_evm_sync_is_enabled(&self(vm)->sync);
}

static cd_err vm_summary_ongoing(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    return cd_evm_sync_ongoing(&self(vm)->sync, out, a);
}

static cd_err vm_summary_last(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    return cd_evm_sync_last(&self(vm)->sync, out, a);
}

static cd_err vm_summary_at(cd_vm *vm, cd_vm_summary *out, cd_arena *a, u64 height)
{
    return cd_evm_sync_at(&self(vm)->sync, out, a, height);
}

static cd_err vm_summary_parse(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    return cd_evm_sync_parse(&self(vm)->sync, out, a, bytes, why);
}

static cd_err vm_summary_accept(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why)
{
    return cd_evm_sync_accept(&self(vm)->sync, mode, s, why);
}

static void vm_sync_progress(cd_vm *vm, cd_vm_sync_progress *out)
{
    cd_evm_sync_progress(&self(vm)->sync, out);
}

static const cd_vm_sync_ops sync_ops = {
    .is_enabled = vm_sync_is_enabled,
    .ongoing = vm_summary_ongoing,
    .last = vm_summary_last,
    .at = vm_summary_at,
    .parse = vm_summary_parse,
    .accept = vm_summary_accept,
    .progress = vm_sync_progress,
};

static void vm_gossip(cd_vm *vm, const cd_node_id *from, cd_bytes msg)
{
    cd_evm_vm *e = self(vm);
    if (!cd_evm_final_hear(&e->api, &e->ctx, from, msg)) {
        cd_gossip_on_gossip(vm, from, msg);
    }
}

static const cd_vm_app_ops app_ops = {
    .request = vm_request,
    .response = vm_response,
    .failed = vm_failed,
    .gossip = vm_gossip,
    .connected = vm_connected,
    .disconnected = vm_disconnected,
};

/* --- service --- */

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

/* What waits may fit a later block: gas and its price come back with time, turns to propose pass. As long as something
 * waits the engine is asked so often. */
#define ASK_AGAIN_NS (500 * CD_NS_PER_MS)

static u64 ask_again(cd_evm_vm *e)
{
    usize waiting = cd_txpool_pending_cnt(e->api.pool);
    waiting += e->atomic == NULL ? 0 : cd_atomic_pool_cnt(cd_atomic_pool_of(e->atomic));
    if (!e->gossip.is_on || waiting == 0) {
        return UINT64_MAX;
    }
    u64 now = cd_clock_mono_ns(e->ctx.clock);
    if (now >= e->ask_ns) {
        e->ask_ns = now + ASK_AGAIN_NS;
        e->ctx.host->notify(e->ctx.host, CD_VM_WANTS_BLOCK);
    }
    return e->ask_ns;
}

static u64 vm_wake(cd_vm *vm)
{
    cd_evm_vm *e = self(vm);
    cd__vm_metrics_follow(&e->metrics, &e->api);
    u64 next = e->dev == NULL ? ask_again(e) : cd_dev_wake(e->dev);
    next = cd_min_u64(next, cd_gossip_wake(e->base.gossip));
    next = cd_min_u64(next, cd_warp_wake(e->warp.warp));
    next = cd_min_u64(next, cd_evm_sync_wake(&e->sync));
    return e->api.keystore == NULL ? next : cd_min_u64(next, cd_keystore_expire(e->api.keystore));
}

/* The lead's accounts and wishes are a follower's, too. */
static void follow(cd_evm_vm *e)
{
    cd_api *lead = &self(e->ctx.lead)->api;
    e->api.lead = lead;
    e->api.dev = lead->dev;
    e->api.accounts = lead->accounts;
    e->api.account_cnt = lead->account_cnt;
    e->blocks.lead = &self(e->ctx.lead)->blocks;
    e->api.next = lead->followers;
    lead->followers = &e->api;
}

static void unfollow(cd_evm_vm *e)
{
    cd_api **at = &e->api.lead->followers;
    while (*at != &e->api) {
        at = &(*at)->next;
    }
    *at = e->api.next;
}

static void vm_close(cd_vm *vm)
{
    cd_evm_vm *e = self(vm);
    if (e->api.lead != NULL) {
        unfollow(e);
    }
    cd_dev_close(e->dev);
    if (e->api.chain != NULL) {
        cd_evm_blocks_fini(&e->blocks);
    }
    cd_txpool_free(e->api.pool);
    cd_evm_sync_close(&e->sync);
    cd_api_close(&e->api);
    cd_evm_warp_close(&e->warp);
    if (e->api.chain != NULL) {
        cd_world_source_fini(&e->api.head.world);
    }
    cd_chain_close(e->api.chain);
    cd_atomic_close(e->atomic);
    cd_gossip_free(e->base.gossip);
    cd_keystore_close(e->api.keystore);
    cd_arena_fini(&e->config_arena);
    cd_free(e);
}

static const cd_vm_ops ops = {
    .name = "evm",
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
    .sync = &sync_ops,
    .app = &app_ops,
    .handlers = vm_handlers,
    .version = vm_version,
    .wake = vm_wake,
    .close = vm_close,
};

/* --- opening --- */

static void add_route(cd_evm_vm *e, const char *route, u32 over, const cd_rpc_service *service)
{
    CD_ASSERT(e->handlers_cnt < CD_COUNT(e->handlers));
    e->handlers[e->handlers_cnt++] = (cd_vm_handler){.route = route, .over = over, .service = service};
}

/* What is served at which route. */
static cd_err open_service(cd_evm_vm *e, cd_errinfo *why)
{
    cd_api_cfg cfg = {
        .clock = e->ctx.clock,
        .gas_cap = e->config.rpc_gas_cap,
        .proof_window = e->config.proof_window,
        .home = e->ctx.loop,
        .text_bytes = e->ctx.text_bytes,
        .is_product = true,
    };
    CD_TRY(cd_api_open(&e->api, &cfg, why));
    CD_TRY(cd_keys_open(&e->api, why));
    add_route(e, "/rpc", CD_VM_HTTP, &e->api.service.rpc);
    add_route(e, "/ws", CD_VM_WS, &e->api.service.rpc);
    if (e->config.admin_api) {
        add_route(e, "/admin", CD_VM_HTTP | CD_VM_LOCAL, &e->api.service.admin);
    }
    if (e->atomic != NULL) {
        add_route(e, "/lux", CD_VM_HTTP, cd_atomic_service(e->atomic));
        add_route(e, "/avax", CD_VM_HTTP, cd_atomic_service(e->atomic));
    }
    if (e->config.warp_api) {
        add_route(e, "/warp", CD_VM_HTTP, cd_warp_service_rpc(e->warp.service));
    }
    return CD_OK;
}

/* The list of hashes that "allow-unprotected-tx-hashes" names. */
static cd_err read_hashes(const cd_hash32 **out, cd_arena *a, const cd_str_list *texts, cd_errinfo *why)
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
    cd_evm_vm *e = ctx;
    cd_evm_gossip_pending(&e->gossip, t);
    cd_api_pending_tx(&e->api, t);
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
        .clock = e->ctx.clock,
        .events = {.pending = on_pending, .ctx = e},
    };
    CD_TRY(read_hashes(&cfg.unprotected, &e->config_arena, &c->unprotected_hashes, why));
    e->api.pool = cd_txpool_new(&cfg);
    return CD_OK;
}

static void on_indexed(void *ctx, u64 height, u64 head)
{
    const cd_evm_vm *e = ctx;
    cd_log_info(e->ctx.log, "indexing logs", CD_F("chain", e->ctx.name), CD_F("height", height), CD_F("head", head));
}

/* --- atomic transactions --- */

static void on_atomic_wanted(void *ctx)
{
    cd_vm_host *host = ((cd_evm_vm *)ctx)->ctx.host;
    host->notify(host, CD_VM_WANTS_BLOCK);
}

static void on_atomic_waits(void *ctx, const cd_hash32 *id, bool is_own)
{
    cd_evm_gossip_atomic(&((cd_evm_vm *)ctx)->gossip, id, is_own);
}

static cd_chain_block *on_atomic_preferred(void *ctx)
{
    return cd_evm_blocks_preferred(&((cd_evm_vm *)ctx)->blocks);
}

/* Base units have the native asset's decimals, wei have 18 [spec:decisions#D1]. */
static u64 rate_of(u8 decimals)
{
    u64 rate = 1;
    for (u32 i = decimals; i < 18; i++) {
        rate *= 10;
    }
    return rate;
}

/* The C-Chain of a primary network has them, whatever its genesis selects [spec:decisions#D7]. */
static void open_atomic(cd_evm_vm *e)
{
    const cd_vm_primary *p = e->ctx.primary;
    if (p == NULL || e->ctx.shared == NULL || !cd_hash32_eq(&p->c_chain_id, &e->ctx.chain_id)) {
        return;
    }
    const cd_atomic_cfg cfg = {
        .net =
            {
                .network_id = e->ctx.network_id,
                .chain_id = e->ctx.chain_id,
                .x_chain_id = p->x_chain_id,
                .asset_id = p->asset_id,
                .rate = rate_of(p->network->decimals),
                .prefix = p->network->prefix,
            },
        .kv = e->ctx.kv,
        .shared = e->ctx.shared,
        .trie_interval = e->config.commit_interval,
        .clock = e->ctx.clock,
        .users = e->ctx.users,
        .host = e->ctx.host,
        .wanted = on_atomic_wanted,
        .waits = on_atomic_waits,
        .preferred = on_atomic_preferred,
        .ctx = e,
    };
    e->atomic = cd_atomic_open(&cfg);
}

/* The C-Chain of the upstream family has the addresses of its peers, Warp's too: they are in the genesis block. */
static cd_module_addrs addrs_of(const cd_vm_primary *p)
{
    return p != NULL && p->network->family->upstream_modules ? CD_ADDRS_LEGACY : CD_ADDRS_PRIMARY;
}

static cd_when when_of(u64 at)
{
    return (cd_when){.is_set = at != UINT64_MAX, .at = at == UINT64_MAX ? 0 : at};
}

/* NULL: the node does not say. */
static const cd_upgrade_times *times_of(cd_upgrade_times *out, const cd_vm_upgrade_times *t)
{
    *out = (cd_upgrade_times){
        .durango = when_of(t->durango),
        .etna = when_of(t->etna),
        .fortuna = when_of(t->fortuna),
        .granite = when_of(t->granite),
        .phases = when_of(t->phases),
    };
    return t->is_given ? out : NULL;
}

/* A development network goes back. */
static bool offers_summaries(const cd_evm_vm *e)
{
    return !e->ctx.is_dev;
}

static cd_err open_chain(cd_evm_vm *e, cd_errinfo *why)
{
    const cd_vm_config *c = &e->config;
    cd_bytes recipient = {0};
    cd_addr20 fee_recipient;
    cd_upgrade_times times;
    cd_chain_cfg cfg = {
        .kv = e->ctx.kv,
        .genesis = e->ctx.genesis,
        .upgrades = e->ctx.upgrades,
        .network = times_of(&times, &e->ctx.upgrade_times),
        .network_id = e->ctx.network_id,
        .blockchain_id = e->ctx.chain_id,
        .addrs = addrs_of(e->ctx.primary),
        .is_dev = e->ctx.is_dev,
        .skip_upgrade_check = c->skip_upgrade_check,
        .pool = e->ctx.pool,
        .sync = CD_KV_SYNC,
        .commit_interval = c->commit_interval,
        .history = e->ctx.is_dev || !c->pruning ? UINT64_MAX : c->state_history,
        .summaries = offers_summaries(e) ? c->state_sync_commit_interval : 0,
        .preimages = c->preimages || e->ctx.is_dev,
        .index = c->skip_log_indexing ? NULL : &cd_log_index,
        .trie_bytes = e->ctx.trie_bytes,
        .cache_bytes = e->ctx.cache_bytes,
        .ext = e->atomic == NULL ? NULL : cd_atomic_ext(e->atomic),
        .warp = e->ctx.is_dev ? NULL : &e->warp.host,
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
        if (cd_hex_parse_prefixed(&recipient, &e->config_arena, c->fee_recipient) != CD_OK || recipient.n != 20) {
            return cd_fail(why, CD_EINVAL, "feeRecipient: not an address");
        }
        memcpy(fee_recipient.b, recipient.p, 20);
        cfg.fee_recipient = &fee_recipient;
    }
    CD_TRY(cd_chain_open(&e->api.chain, &cfg, why));
    cd_evm_warp_use(&e->warp, e->api.chain);
    e->api.warp = e->warp.warp;
    if (e->atomic != NULL) {
        CD_TRY(cd_atomic_use(e->atomic, e->api.chain, why));
    }
    if (c->skip_log_indexing) {
        return cd_log_index_drop(e->ctx.kv, why);
    }
    return cd_log_index_complete(e->ctx.kv, cd_chain_rules_of(e->api.chain)->layout,
                                 cd_chain_head(e->api.chain)->header.number, on_indexed, e, why);
}

static cd_err open_dev(cd_evm_vm *e)
{
    cd_dev_cfg cfg = {
        .api = &e->api,
        .kv = e->ctx.kv,
        .rng = e->ctx.rng,
        .genesis = e->ctx.genesis,
        .options = e->ctx.dev,
    };
    if (e->ctx.lead != NULL) {
        follow(e);
        return CD_OK;
    }
    return e->ctx.is_dev ? cd_dev_open(&e->dev, &cfg) : CD_OK;
}

/* What methods work on, but for what is still to be opened. */
static void fill_api(cd_evm_vm *e)
{
    e->api = (cd_api){
        .config = &e->config,
        .arena = &e->config_arena,
        .blocks = &e->blocks.blocks,
        .host = e->ctx.host,
        .clock = e->ctx.clock,
        .workers = e->ctx.pool,
        .log = e->ctx.log,
        .dir = e->ctx.dir,
        .network_id = e->ctx.network_id,
        .has_finality = e->ctx.has_finality,
        .is_dev = e->ctx.is_dev,
    };
}

cd_err cd_evm_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    cd_evm_vm *e = cd_new(cd_evm_vm);
    e->base.vm.ops = &ops;
    e->ctx = *ctx;
    e->base.gossip = cd_gossip_new(&e->ctx);
    fill_api(e);
    cd_err err = cd_vm_config_parse(&e->config, &e->config_arena, ctx->config, why);
    err = err != CD_OK ? err : open_pool(e, why);
    if (err == CD_OK) {
        open_atomic(e);
        cd_evm_gossip_open(&e->gossip, e->base.gossip, e->api.pool, e->atomic, ctx->host);
    }
    err = err != CD_OK ? err : cd_evm_warp_open(&e->warp, &e->ctx, e->base.gossip, &e->config, why);
    err = err != CD_OK ? err : open_chain(e, why);
    if (err == CD_OK) {
        e->blocks.chain = e->api.chain;
        e->blocks.clock = ctx->clock;
        e->blocks.accepted = on_accepted;
        e->blocks.ctx = e;
        cd_evm_blocks_init(&e->blocks);
        cd_chain_source_init(&e->api.head, e->api.chain, NULL);
        err = open_dev(e);
    }
    if (err == CD_OK) {
        err = cd_evm_sync_open(&e->sync, &e->api, &e->ctx, e->atomic,
                               offers_summaries(e) ? e->config.state_sync_commit_interval : 0, why);
    }
    err = err != CD_OK ? err : cd_api_follow(&e->api);
    if (err == CD_OK && ctx->lead == NULL) {
        usize back;
        err = cd_txpool_load(e->api.pool, &back, why);
    }
    err = err != CD_OK ? err : open_service(e, why);
    if (err != CD_OK) {
        vm_close(&e->base.vm);
        return err;
    }
    cd__vm_metrics_open(&e->metrics, ctx->metrics, &e->api);
    *out = &e->base.vm;
    return CD_OK;
}

bool cd_evm_vm_is(const cd_vm *vm)
{
    return vm->ops == &ops;
}

const cd_atomic *cd_evm_vm_atomic(cd_vm *vm)
{
    return self(vm)->atomic;
}

struct cd_chain *cd_evm_vm_chain(cd_vm *vm)
{
    return self(vm)->api.chain;
}

struct cd_kv *cd_evm_vm_kv(cd_vm *vm)
{
    return self(vm)->ctx.kv;
}

void cd_evm_vm_watch(cd_vm *vm, void (*news)(void *ctx), void *ctx)
{
    self(vm)->api.news = news;
    self(vm)->api.news_ctx = ctx;
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
    pool_job j = {.pool = e->api.pool, .job = job, .arg = arg};
    if (e->ctx.host->run == NULL) {
        on_owner(&j);
        return CD_OK;
    }
    return e->ctx.host->run(e->ctx.host, on_owner, &j);
}
