#include "consensus/proposer/proposer_priv.h"

#include "base/log/log.h"
#include "base/mem/mem.h"
#include "base/table/list.h"

static proposer *of_vm(cd_vm *vm)
{
    return (proposer *)(void *)vm;
}

static proposer *of_host(cd_vm_host *host)
{
    return cd_list_of(host, proposer, host);
}

/* --- where the chain stands --- */

/* Follows the VM to another last accepted block, while no outer block is undecided. */
static cd_err follow(proposer *p, cd_errinfo *why)
{
    outer_block *last = NULL;
    cd_vm_block *taken;
    CD_TRY(cd__index_repair(p, &last, why));
    cd_hash32 id = last->pub.id;
    u64 height = last->pub.height;
    cd_blocks_restart(&p->blocks, &id, height);
    cd_blocks_add(&p->blocks, &taken, &last->pub, false);
    cd_blocks_release(&p->blocks, &p->last->pub);
    p->last = outer_of(taken);
    p->turn.is_known = false;
    cd__proposer_moved(p);
    return CD_OK;
}

static void reject_undecided(proposer *p)
{
    void *at;
    for (usize it = 0; cd_hmap_next(&p->undecided, &it, NULL, &at);) {
        cd_vm_block *b = *(cd_vm_block **)at;
        cd_err e = p->inner->ops->reject(p->inner, b);
        CD_ASSERT(e == CD_OK);
        p->inner->ops->release(p->inner, b);
    }
    cd_hmap_clear(&p->undecided);
}

/* --- the host of the VM below --- */

/* The VM's last accepted block has changed. No block can be undecided: the VM syncs before any is verified. */
static void sync_done(proposer *p)
{
    cd_errinfo why = {0};
    cd_err e = p->blocks.verified_cnt == 0 ? follow(p, &why) : cd_fail(&why, CD_EBUSY, "blocks are undecided");
    if (e != CD_OK) {
        cd_log_error(p->ctx.log, "the proposer index does not follow the sync", CD_F("chain", p->ctx.name),
                     CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
    }
}

static void host_notify(cd_vm_host *host, cd_vm_event event)
{
    proposer *p = of_host(host);
    switch (event) {
    case CD_VM_WANTS_BLOCK:
        /* A VM may want a block already while it is being opened. */
        p->turn.is_wanted = true;
        if (p->last != NULL) {
            cd__proposer_want(p);
        }
        return;
    case CD_VM_SYNC_DONE:
        sync_done(p);
        p->ctx.host->notify(p->ctx.host, event);
        return;
    }
}

static cd_err host_produce(cd_vm_host *host, cd_errinfo *why)
{
    const proposer *p = of_host(host);
    return p->ctx.host->produce(p->ctx.host, why);
}

typedef struct rewind_job {
    proposer *p;
    cd_err (*job)(void *arg, cd_errinfo *why);
    void *arg;
} rewind_job;

static cd_err rewind_and_follow(void *arg, cd_errinfo *why)
{
    const rewind_job *r = arg;
    reject_undecided(r->p);
    cd_err e = r->job(r->arg, why);
    cd_err followed = follow(r->p, e == CD_OK ? why : NULL);
    return e != CD_OK ? e : followed;
}

static cd_err host_rewind(cd_vm_host *host, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    proposer *p = of_host(host);
    rewind_job r = {.p = p, .job = job, .arg = arg};
    return p->ctx.host->rewind(p->ctx.host, rewind_and_follow, &r, why);
}

static void host_stir(cd_vm_host *host)
{
    const proposer *p = of_host(host);
    p->ctx.host->stir(p->ctx.host);
}

static cd_err host_run(cd_vm_host *host, void (*job)(void *arg), void *arg)
{
    const proposer *p = of_host(host);
    return p->ctx.host->run(p->ctx.host, job, arg);
}

/* --- the VM: what is ours --- */

static cd_err proposer_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    proposer *p = of_vm(vm);
    CD_TRY(p->inner->ops->set_state(p->inner, state, why));
    p->state = state;
    return CD_OK;
}

static cd_err proposer_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    return cd_blocks_parse(&of_vm(vm)->blocks, out, bytes, why);
}

static cd_err proposer_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    return cd_blocks_get(&of_vm(vm)->blocks, out, id);
}

static void proposer_release(cd_vm *vm, cd_vm_block *b)
{
    cd_blocks_release(&of_vm(vm)->blocks, b);
}

static cd_err proposer_verify(cd_vm *vm, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    return cd_blocks_verify(&of_vm(vm)->blocks, b, ctx, why);
}

static cd_err proposer_accept(cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    return cd_blocks_accept(&of_vm(vm)->blocks, b, batch, why);
}

static cd_err proposer_accepted(cd_vm *vm, cd_vm_block *b, cd_errinfo *why)
{
    proposer *p = of_vm(vm);
    cd_err e = cd_blocks_accepted(&p->blocks, b, why);
    cd__proposer_moved(p);
    return e;
}

static cd_err proposer_reject(cd_vm *vm, cd_vm_block *b)
{
    proposer *p = of_vm(vm);
    cd_err e = cd_blocks_reject(&p->blocks, b);
    cd__proposer_moved(p);
    return e;
}

static cd_err proposer_prefer(cd_vm *vm, const cd_hash32 *id)
{
    proposer *p = of_vm(vm);
    CD_TRY(cd_blocks_prefer(&p->blocks, id));
    cd_vm_block *b = cd_blocks_preferred(&p->blocks);
    const outer_block *o = b == NULL ? p->last : outer_of(b);
    cd__proposer_moved(p);
    return p->inner->ops->set_preference(p->inner, &o->inner->id);
}

static void proposer_last(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    const proposer *p = of_vm(vm);
    *id = p->blocks.last;
    *height = p->blocks.last_height;
}

static cd_err proposer_id_at(cd_vm *vm, cd_hash32 *id, u64 height)
{
    return cd__index_at(of_vm(vm), id, height);
}

static u64 proposer_wake(cd_vm *vm)
{
    proposer *p = of_vm(vm);
    u64 inner = p->inner->ops->wake == NULL ? UINT64_MAX : p->inner->ops->wake(p->inner);
    return cd_min_u64(inner, cd__proposer_due(p));
}

static void proposer_close(cd_vm *vm)
{
    proposer *p = of_vm(vm);
    void *at;
    for (usize it = 0; cd_hmap_next(&p->undecided, &it, NULL, &at);) {
        p->inner->ops->release(p->inner, *(cd_vm_block **)at);
    }
    cd_hmap_fini(&p->undecided);
    cd_blocks_fini(&p->blocks);
    p->inner->ops->close(p->inner);
    cd_windower_free(p->windower);
    cd_kv_batch_fini(&p->batch);
    cd_free(p);
}

/* --- the VM: what is handed on --- */

static const cd_vm_handler *proposer_handlers(cd_vm *vm, usize *cnt)
{
    const proposer *p = of_vm(vm);
    return p->inner->ops->handlers(p->inner, cnt);
}

static const char *proposer_version(cd_vm *vm)
{
    const proposer *p = of_vm(vm);
    return p->inner->ops->version(p->inner);
}

static const char *proposer_health(cd_vm *vm, cd_json_w *details)
{
    const proposer *p = of_vm(vm);
    return p->inner->ops->health(p->inner, details);
}

static void app_request(cd_vm *vm, const cd_node_id *from, u32 request_id, u64 deadline_ns, cd_bytes msg)
{
    const proposer *p = of_vm(vm);
    p->inner->ops->app->request(p->inner, from, request_id, deadline_ns, msg);
}

static void app_response(cd_vm *vm, const cd_node_id *from, u32 request_id, cd_bytes msg)
{
    const proposer *p = of_vm(vm);
    p->inner->ops->app->response(p->inner, from, request_id, msg);
}

static void app_failed(cd_vm *vm, const cd_node_id *from, u32 request_id, i32 code, cd_bytes message)
{
    const proposer *p = of_vm(vm);
    p->inner->ops->app->failed(p->inner, from, request_id, code, message);
}

static void app_gossip(cd_vm *vm, const cd_node_id *from, cd_bytes msg)
{
    const proposer *p = of_vm(vm);
    p->inner->ops->app->gossip(p->inner, from, msg);
}

static void app_connected(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version)
{
    const proposer *p = of_vm(vm);
    p->inner->ops->app->connected(p->inner, peer, version);
}

static void app_disconnected(cd_vm *vm, const cd_node_id *peer)
{
    const proposer *p = of_vm(vm);
    p->inner->ops->app->disconnected(p->inner, peer);
}

static const cd_vm_app_ops app_ops = {
    .request = app_request,
    .response = app_response,
    .failed = app_failed,
    .gossip = app_gossip,
    .connected = app_connected,
    .disconnected = app_disconnected,
};

static const cd_vm_ops common_ops = {
    .set_state = proposer_set_state,
    .build = cd__proposer_build,
    .parse = proposer_parse,
    .get = proposer_get,
    .release = proposer_release,
    .verify = proposer_verify,
    .accept = proposer_accept,
    .accepted = proposer_accepted,
    .reject = proposer_reject,
    .set_preference = proposer_prefer,
    .last_accepted = proposer_last,
    .id_at_height = proposer_id_at,
    .options = cd__proposer_options,
    .handlers = proposer_handlers,
    .version = proposer_version,
    .wake = proposer_wake,
    .close = proposer_close,
};

/* The wrapper has only those operations that the VM below has, too. */
static void set_ops(proposer *p)
{
    const cd_vm_ops *inner = p->inner->ops;
    p->ops = common_ops;
    p->ops.name = inner->name;
    p->ops.sync = inner->sync == NULL ? NULL : &cd__summary_ops;
    p->ops.app = inner->app == NULL ? NULL : &app_ops;
    p->ops.health = inner->health == NULL ? NULL : proposer_health;
    p->vm.ops = &p->ops;
}

static void set_host(proposer *p)
{
    p->host = (cd_vm_host){.notify = host_notify, .produce = host_produce, .rewind = host_rewind};
    p->host.run = p->ctx.host == NULL || p->ctx.host->run == NULL ? NULL : host_run;
    p->host.stir = p->ctx.host == NULL || p->ctx.host->stir == NULL ? NULL : host_stir;
}

static cd_err begin(proposer *p, cd_errinfo *why)
{
    outer_block *last = NULL;
    cd_vm_block *taken;
    CD_TRY(cd__index_repair(p, &last, why));
    cd_blocks_init(&p->blocks, &cd__outer_ops, p, &last->pub.id, last->pub.height);
    cd_blocks_add(&p->blocks, &taken, &last->pub, false);
    p->last = outer_of(taken);
    return CD_OK;
}

cd_err cd_proposer_open(cd_vm **out, const cd_proposer_cfg *cfg, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    proposer *p = cd_new(proposer);
    cd_vm_ctx inner_ctx = *ctx;
    p->cfg = *cfg;
    p->ctx = *ctx;
    set_host(p);
    inner_ctx.host = &p->host;
    cd_hmap_init(&p->undecided, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(cd_vm_block *));
    cd_err e = cfg->inner(&p->inner, &inner_ctx, why);
    if (e != CD_OK) {
        cd_free(p);
        return e;
    }
    set_ops(p);
    p->windower = cd_windower_new(cfg->staking == NULL ? NULL : ctx->validators, &ctx->subnet_id, &ctx->chain_id);
    e = begin(p, why);
    if (e != CD_OK) {
        p->inner->ops->close(p->inner);
        cd_windower_free(p->windower);
        cd_kv_batch_fini(&p->batch);
        cd_free(p);
        return e;
    }
    *out = &p->vm;
    return CD_OK;
}

cd_err cd_proposer_look(cd_vm *vm, cd_proposer_sight *out, const cd_vm_block *b)
{
    const outer_block *o = (const outer_block *)(const void *)b;
    i64 time;
    *out = (cd_proposer_sight){.inner = o->inner};
    return cd__outer_stamp((proposer *)(void *)vm, o, &time, &out->pchain_height);
}

cd_vm *cd_proposer_inner(cd_vm *vm)
{
    return ((const proposer *)(const void *)vm)->inner;
}
