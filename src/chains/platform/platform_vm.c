#include "chains/platform/platform_vm.h"

#include "base/mem/mem.h"
#include "base/version.h"
#include "chains/platform/claims.h"
#include "chains/platform/gossip.h"
#include "chains/platform/service/service.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/view.h"
#include "warp/service.h"

/* The VM with all that it owns. */
typedef struct platform_vm {
    cd_gossip_vm base; /* first */
    cd_vm_ctx ctx;
    cd_platform_gossip gossip;
    cd_arena arena; /* of the genesis */
    cd_network network;
    cd_p_rules rules;
    cd_pchain *chain;
    cd_pgenesis genesis;
    cd_platform_service *service;
    cd_warp *warp;
    cd_warp_service *warp_service;
    cd_vm_handler handlers[2];
    u64 save_at_ns; /* uptimes, so that a kill costs little */
} platform_vm;

enum { SAVE_S = 300 };

static platform_vm *self(cd_vm *vm)
{
    return (platform_vm *)(void *)vm;
}

static cd_blocks *blocks_of(cd_vm *vm)
{
    return cd_pchain_blocks(self(vm)->chain);
}

/* --- blocks --- */

static cd_err vm_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    cd_err e = cd_pchain_bootstrapped(self(vm)->chain, state == CD_VM_NORMAL);
    cd_gossip_start(self(vm)->base.gossip, e == CD_OK && state == CD_VM_NORMAL);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "%s", cd_err_str(e));
}

static cd_err vm_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    return cd_pchain_build(self(vm)->chain, out, ctx, why);
}

static cd_err vm_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    return cd_blocks_parse(blocks_of(vm), out, bytes, why);
}

static cd_err vm_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    return cd_blocks_get(blocks_of(vm), out, id);
}

static void vm_release(cd_vm *vm, cd_vm_block *block)
{
    cd_blocks_release(blocks_of(vm), block);
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

static cd_err vm_reject(cd_vm *vm, cd_vm_block *block)
{
    return cd_blocks_reject(blocks_of(vm), block);
}

static cd_err vm_prefer(cd_vm *vm, const cd_hash32 *id)
{
    return cd_blocks_prefer(blocks_of(vm), id);
}

static void vm_last(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    const cd_blocks *bs = blocks_of(vm);
    *id = bs->last;
    *height = bs->last_height;
}

static cd_err vm_id_at_height(cd_vm *vm, cd_hash32 *id, u64 height)
{
    const cd_pstate s = cd_pchain_accepted(self(vm)->chain);
    return cd_pstate_block_id_get(&s, id, height);
}

static cd_err vm_options(cd_vm *vm, cd_vm_block *out[2], cd_vm_block *block, cd_errinfo *why)
{
    return cd_pchain_options(self(vm)->chain, out, block, why);
}

/* --- peers: here they only come and go, which decides over rewards --- */

static void app_connected(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version)
{
    cd_uptime_connected(cd_pchain_uptime(self(vm)->chain), peer);
    cd_gossip_on_connected(vm, peer, version);
}

static void app_disconnected(cd_vm *vm, const cd_node_id *peer)
{
    (void)!cd_uptime_disconnected(cd_pchain_uptime(self(vm)->chain), peer);
    cd_gossip_on_disconnected(vm, peer);
}

static const cd_vm_app_ops app_ops = {
    .request = cd_gossip_on_request,
    .response = cd_gossip_on_response,
    .failed = cd_gossip_on_failed,
    .gossip = cd_gossip_on_gossip,
    .connected = app_connected,
    .disconnected = app_disconnected,
};

/* --- methods --- */

/* Aliases of the chains that were there from the beginning: their name, "X-Chain", and its first letter. */
static cd_err service_chain_of(void *ctx, cd_hash32 *out, cd_bytes alias)
{
    const platform_vm *p = ctx;
    for (usize i = 0; i < p->genesis.chain_cnt; i++) {
        const cd_pgenesis_chain *c = &p->genesis.chains[i];
        bool is_letter = alias.n == 1 && c->name.n != 0 && alias.p[0] == c->name.p[0];
        if (is_letter || cd_bytes_eq(alias, c->name)) {
            *out = c->id;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

/* Chains of the primary network run on every node; what else runs here is not this chain's to know. */
static cd_platform_runs service_runs(void *ctx, const cd_hash32 *chain)
{
    const platform_vm *p = ctx;
    for (usize i = 0; i < p->genesis.chain_cnt; i++) {
        if (cd_hash32_eq(&p->genesis.chains[i].id, chain)) {
            return CD_PLATFORM_VALIDATES;
        }
    }
    return CD_PLATFORM_RUNS_NOT;
}

static cd_err service_issue(void *ctx, cd_hash32 *id, cd_bytes tx, cd_errinfo *why)
{
    return cd_platform_vm_issue(&((platform_vm *)ctx)->base.vm, id, tx, why);
}

/* What a reader hands over to the owner. */
typedef struct handed {
    platform_vm *p;
    cd_hash32 *id;
    cd_bytes tx;
    cd_errinfo *why;
    cd_err err;
} handed;

static void issue_handed(void *arg)
{
    handed *h = arg;
    h->err = service_issue(h->p, h->id, h->tx, h->why);
}

static cd_err service_send(void *ctx, cd_hash32 *id, cd_bytes tx, cd_errinfo *why)
{
    platform_vm *p = ctx;
    cd_vm_host *host = p->ctx.host;
    handed h = {.p = p, .id = id, .tx = tx, .why = why};
    if (host == NULL || host->run == NULL) {
        issue_handed(&h);
        return h.err;
    }
    cd_err e = host->run(host, issue_handed, &h);
    return e == CD_OK ? h.err : cd_fail(why, e, "the chain takes nothing now: %s", cd_err_str(e));
}

static cd_p_status service_pending(void *ctx, cd_bytes *reason, cd_arena *a, const cd_hash32 *tx_id)
{
    return cd_p_pool_pending(cd_pchain_pool(((platform_vm *)ctx)->chain), reason, a, tx_id);
}

static void open_service(platform_vm *p)
{
    const cd_platform_cfg cfg = {.network = &p->network,
                                 .asset_id = p->genesis.asset_id,
                                 .base = p->ctx.kv,
                                 .validators = cd_sets_validators(cd_pchain_sets(p->chain)),
                                 .uptime = cd_pchain_uptime(p->chain),
                                 .shared = p->ctx.shared,
                                 .clock = p->ctx.clock,
                                 .seed = p->ctx.rng == NULL ? 0 : cd_rng_u64(p->ctx.rng),
                                 .min_validator_stake = p->rules.min_validator_stake,
                                 .min_delegator_stake = p->rules.min_delegator_stake,
                                 .gas = &p->rules.gas,
                                 .l1_fee = &p->rules.l1,
                                 .ctx = p,
                                 .chain_of = service_chain_of,
                                 .runs = service_runs,
                                 .issue = service_issue,
                                 .send = service_send,
                                 .users = p->ctx.users,
                                 .pending = service_pending};
    p->service = cd_platform_service_new(&cfg);
    p->handlers[0] = (cd_vm_handler){.route = "", .over = CD_VM_HTTP, .service = cd_platform_service_rpc(p->service)};
}

/* --- what it signs for managers of L1s --- */

static i32 judge(void *ctx, const cd_warp_unsigned *m, cd_bytes justification, cd_errinfo *why)
{
    const cd_pstate s = cd_pchain_accepted(((platform_vm *)ctx)->chain);
    return cd_p_claim_judge(&s, m, justification, why);
}

static void open_warp(platform_vm *p)
{
    p->warp = cd_warp_new(&(cd_warp_cfg){.ctx = &p->ctx, .gossip = p->base.gossip, .judge = judge, .judge_ctx = p});
    p->warp_service = cd_warp_service_new(p->warp);
    p->handlers[1] =
        (cd_vm_handler){.route = "/warp", .over = CD_VM_HTTP, .service = cd_warp_service_rpc(p->warp_service)};
}

/* --- the rest --- */

static const cd_vm_handler *vm_handlers(cd_vm *vm, usize *cnt)
{
    *cnt = CD_COUNT(self(vm)->handlers);
    return self(vm)->handlers;
}

static const char *vm_version(cd_vm *vm)
{
    (void)vm;
    return CD_VERSION;
}

static const char *vm_health(cd_vm *vm, cd_json_w *details)
{
    (void)vm;
    cd_json_w_null(details);
    return NULL;
}

static void want_block(const platform_vm *p)
{
    if (p->ctx.host != NULL) {
        p->ctx.host->notify(p->ctx.host, CD_VM_WANTS_BLOCK);
    }
}

static u64 save_uptimes(platform_vm *p)
{
    u64 now = cd_clock_mono_ns(p->ctx.clock);
    if (now >= p->save_at_ns) {
        if (p->save_at_ns != 0) {
            (void)!cd_uptime_save(cd_pchain_uptime(p->chain)); /* the next time will do */
        }
        p->save_at_ns = now + SAVE_S * CD_NS_PER_SEC;
    }
    return p->save_at_ns;
}

/* Asks again at the next change of stakers; every second while a block is due that was not made. */
static u64 vm_wake(cd_vm *vm)
{
    platform_vm *p = self(vm);
    u64 now_s = cd_clock_wall_s(p->ctx.clock);
    u64 at_s = now_s;
    bool is_due = false;
    if (cd_pchain_is_due(p->chain, &is_due, &at_s, now_s) != CD_OK) {
        at_s = now_s;
    }
    if (is_due) {
        want_block(p);
    }
    u64 wait_s = is_due || at_s <= now_s ? 1 : at_s - now_s;
    u64 next = cd_clock_mono_ns(p->ctx.clock) + wait_s * CD_NS_PER_SEC;
    next = cd_min_u64(next, save_uptimes(p));
    next = cd_min_u64(next, cd_warp_wake(p->warp));
    return cd_min_u64(next, cd_gossip_wake(p->base.gossip));
}

static void vm_close(cd_vm *vm)
{
    platform_vm *p = self(vm);
    cd_platform_service_free(p->service);
    cd_warp_service_free(p->warp_service);
    cd_warp_free(p->warp);
    cd_gossip_free(p->base.gossip);
    cd_pchain_close(p->chain);
    cd_arena_fini(&p->arena);
    cd_free(p);
}

static const cd_vm_ops ops = {
    .name = "platform",
    .set_state = vm_set_state,
    .build = vm_build,
    .parse = vm_parse,
    .get = vm_get,
    .release = vm_release,
    .verify = vm_verify,
    .accept = vm_accept,
    .accepted = vm_accepted,
    .reject = vm_reject,
    .set_preference = vm_prefer,
    .last_accepted = vm_last,
    .id_at_height = vm_id_at_height,
    .options = vm_options,
    .app = &app_ops,
    .handlers = vm_handlers,
    .version = vm_version,
    .health = vm_health,
    .wake = vm_wake,
    .close = vm_close,
};

/* --- opening --- */

static cd_err read_config(platform_vm *p, cd_json *staking, cd_bytes text, cd_errinfo *why)
{
    enum { DECIMALS_MAX = 9 }; /* what exists has to fit 64 bits */
    cd_json all;
    cd_bytes name;
    u64 decimals;
    if (text.n == 0) {
        return CD_OK;
    }
    CD_TRY(cd_json_parse(&all, &p->arena, text, 0, why));
    cd_json profile = cd_json_get(all, "network-profile");
    if (cd_json_has(profile)) {
        CD_TRY(cd_json_str(&name, profile, why));
        const cd_network_family *family = cd_network_family_find(cd_arena_str(&p->arena, name));
        if (family == NULL) {
            return cd_fail(why, CD_EINVAL, "unknown network-profile");
        }
        p->network.family = family;
    }
    cd_json digits = cd_json_get(all, "decimals");
    if (cd_json_has(digits)) {
        CD_TRY(cd_json_u64(&decimals, digits, why));
        if (decimals > DECIMALS_MAX) {
            return cd_fail(why, CD_EINVAL, "decimals of the native asset: at most %d", DECIMALS_MAX);
        }
        p->network.decimals = (u8)decimals;
    }
    *staking = cd_json_get(all, "staking");
    return CD_OK;
}

static cd_err open_chain(platform_vm *p, cd_errinfo *why)
{
    const cd_vm_ctx *ctx = &p->ctx;
    p->network = cd_network_of(ctx->network_id);
    cd_json staking = {0};
    CD_TRY(read_config(p, &staking, ctx->config, why));
    CD_TRY(cd_pgenesis_read(&p->genesis, &p->arena, ctx->genesis, why));
    p->rules = cd_p_rules_of(&p->network, &p->genesis.asset_id);
    CD_TRY(cd_p_rules_read(&p->rules, staking, why));
    const cd_pchain_cfg cfg = {.kv = ctx->kv,
                               .rules = &p->rules,
                               .clock = ctx->clock,
                               .shared = ctx->shared,
                               .validators = ctx->validators,
                               .genesis = ctx->genesis};
    CD_TRY(cd_pchain_open(&p->chain, &cfg, why));
    cd_uptime_connected(cd_pchain_uptime(p->chain), &ctx->node_id); /* and never goes */
    p->base.gossip = cd_gossip_new(&p->ctx);
    cd_platform_gossip_open(&p->gossip, p->base.gossip, p->chain, ctx->host);
    open_service(p);
    open_warp(p);
    return CD_OK;
}

cd_err cd_platform_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    platform_vm *p = cd_new(platform_vm);
    p->base.vm.ops = &ops;
    p->ctx = *ctx;
    cd_err e = open_chain(p, why);
    if (e != CD_OK) {
        vm_close(&p->base.vm);
        return e;
    }
    *out = &p->base.vm;
    return CD_OK;
}

const cd_vm_validators *cd_platform_vm_validators(cd_vm *vm)
{
    return cd_sets_validators(cd_pchain_sets(self(vm)->chain));
}

cd_pchain *cd_platform_vm_chain(cd_vm *vm)
{
    return self(vm)->chain;
}

cd_err cd_platform_vm_issue(cd_vm *vm, cd_hash32 *id, cd_bytes tx, cd_errinfo *why)
{
    bool is_new;
    CD_TRY(cd_pchain_issue(self(vm)->chain, id, &is_new, tx, why));
    if (is_new) {
        cd_platform_gossip_own(&self(vm)->gossip, id);
    }
    return CD_OK;
}

/* --- L1s --- */

cd_err cd_platform_vm_l1(cd_vm *vm, cd_l1_facts *f, cd_arena *a, const cd_hash32 *net)
{
    platform_vm *p = self(vm);
    const cd_pstate s = cd_pchain_accepted(p->chain);
    cd_l1_member *v;
    CD_TRY(cd_l1_gather(f, &v, a, &s, &p->rules.l1, net, cd_clock_wall_s(p->ctx.clock)));
    cd_l1_look_around(f, v, cd_pchain_uptime(p->chain));
    return CD_OK;
}

/* --- pages --- */

cd_err cd_platform_view_open(cd_platform_view *out, cd_vm *vm)
{
    platform_vm *p = self(vm);
    *out = (cd_platform_view){
        .network = &p->network,
        .rules = cd_pchain_rules(p->chain),
        .shared = p->ctx.shared,
        .uptime = cd_pchain_uptime(p->chain),
    };
    CD_TRY(cd_kv_snapshot(&out->state.kv, p->ctx.kv));
    cd_err e = cd_pstate_last_get(&out->state, &out->last);
    e = e != CD_OK ? e : cd_pstate_num_get(&out->state, &out->height, CD_PSTATE_LAST_HEIGHT);
    e = e != CD_OK ? e : cd_pstate_num_get(&out->state, &out->time, CD_PSTATE_TIME);
    if (e != CD_OK) {
        cd_platform_view_close(out);
    }
    return e;
}
