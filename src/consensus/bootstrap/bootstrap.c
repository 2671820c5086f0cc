#include "consensus/bootstrap/bootstrap_priv.h"

#include "base/mem/mem.h"

/* A chain that waits for the others of its network looks for new blocks after this time. */
#define LOOK_AGAIN_NS (10 * CD_NS_PER_SEC)
#define TELL_NS       (10 * CD_NS_PER_SEC)

static const char *const step_names[] = {
    [CD_BOOTSTRAP_WAITS] = "waiting",
    [CD_BOOTSTRAP_SUMMARIES] = "asking for states",
    [CD_BOOTSTRAP_WEIGHS] = "asking which state is accepted",
    [CD_BOOTSTRAP_SYNCS] = "syncing state",
    [CD_BOOTSTRAP_FRONTIER] = "asking for the frontier",
    [CD_BOOTSTRAP_AGREES] = "asking what is accepted",
    [CD_BOOTSTRAP_FETCHES] = "fetching blocks",
    [CD_BOOTSTRAP_EXECUTES] = "executing blocks",
    [CD_BOOTSTRAP_SYNCED] = "waiting for other chains",
    [CD_BOOTSTRAP_RUNS] = "running",
    [CD_BOOTSTRAP_HALTED] = "halted",
};

const char *cd_bootstrap_step_name(cd_bootstrap_step step)
{
    return step_names[step];
}

/* --- steps --- */

void cd__boot_step(bootstrap *s, cd_bootstrap_step step)
{
    s->step = step;
    s->step_ns = s->now_ns;
    s->step_base = step == CD_BOOTSTRAP_EXECUTES ? s->executed : s->fetched;
}

void cd__boot_again(bootstrap *s, u64 after_ns)
{
    s->retry_ns = s->now_ns + after_ns;
    s->missing_cnt = 0;
    s->asked_cnt = 0;
    s->open = 0;
    cd__boot_step(s, CD_BOOTSTRAP_WAITS);
}

void cd__boot_halt(bootstrap *s, const char *what, cd_err e, const cd_errinfo *why)
{
    cd_log_error(s->cfg.log, what, CD_F("chain", s->cfg.name),
                 CD_F("error", why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(e)));
    cd__boot_step(s, CD_BOOTSTRAP_HALTED);
}

static void run(bootstrap *s)
{
    cd_errinfo why = {0};
    cd_err e = s->cfg.engine->ops->start(s->cfg.engine, s->vm, &why);
    if (e != CD_OK) {
        cd__boot_halt(s, "the engine does not start", e, &why);
        return;
    }
    cd__boot_step(s, CD_BOOTSTRAP_RUNS);
    cd_log_info(s->cfg.log, "the chain has caught up: consensus begins", CD_F("chain", s->cfg.name),
                CD_F("fetched", s->fetched), CD_F("executed", s->executed));
    s->cfg.running(s->cfg.ctx);
}

/* --- time --- */

static u64 left_s(const bootstrap *s, u64 done, u64 left)
{
    u64 took = s->now_ns - s->step_ns;
    u64 rate_base = done - s->step_base;
    if (rate_base == 0 || took == 0 || left == 0) {
        return 0;
    }
    return (u64)((double)left * (double)took / (double)rate_base / (double)CD_NS_PER_SEC) + 1;
}

cd_bootstrap_progress cd_bootstrap_progress_get(const cd_engine *e)
{
    const bootstrap *s = (const bootstrap *)(const void *)e;
    cd_bootstrap_progress p = {.step = s->step, .fetched = s->fetched, .executed = s->executed};
    if (s->vm != NULL && s->step == CD_BOOTSTRAP_SYNCS && s->vm->ops->sync->progress != NULL) {
        s->vm->ops->sync->progress(s->vm, &p.state);
        p.left_s = p.state.left_s;
    }
    if (s->vm == NULL || (s->step != CD_BOOTSTRAP_FETCHES && s->step != CD_BOOTSTRAP_EXECUTES)) {
        return p;
    }
    cd_hash32 id;
    u64 height;
    u64 total = cd_fetched_total(&s->blocks);
    s->vm->ops->last_accepted(s->vm, &id, &height);
    u64 top = cd_fetched_top(&s->blocks);
    u64 above = top > height ? top - height : 0;
    p.to_execute = above;
    if (s->step == CD_BOOTSTRAP_FETCHES) {
        p.to_fetch = above > total ? above - total : 0;
        p.left_s = left_s(s, s->fetched, p.to_fetch);
    } else {
        p.left_s = left_s(s, s->executed, p.to_execute);
    }
    return p;
}

static void tell_progress(bootstrap *s)
{
    if (s->now_ns - s->told_ns < TELL_NS) {
        return;
    }
    const cd_bootstrap_progress p = cd_bootstrap_progress_get(&s->engine);
    s->told_ns = s->now_ns;
    if (s->step == CD_BOOTSTRAP_SYNCS) {
        cd_log_info(s->cfg.log, "syncing state", CD_F("chain", s->cfg.name), CD_F("height", s->sync_height),
                    CD_F("items", p.state.items), CD_F("permille", (u64)p.state.permille),
                    CD_F("seconds_left", p.left_s));
        return;
    }
    cd_log_info(s->cfg.log, "catching up", CD_F("chain", s->cfg.name), CD_F("step", cd_bootstrap_step_name(p.step)),
                CD_F("fetched", p.fetched), CD_F("to_fetch", p.to_fetch), CD_F("executed", p.executed),
                CD_F("to_execute", p.to_execute), CD_F("seconds_left", p.left_s));
}

void cd_bootstrap_tick(cd_engine *e, u64 now_ns)
{
    bootstrap *s = bootstrap_of(e);
    if (s->vm == NULL || s->step == CD_BOOTSTRAP_RUNS || s->step == CD_BOOTSTRAP_HALTED) {
        return;
    }
    s->told_ns = s->now_ns == 0 ? now_ns : s->told_ns;
    s->now_ns = now_ns;
    if (s->step == CD_BOOTSTRAP_WAITS) {
        cd__boot_try_begin(s);
    } else if (s->step == CD_BOOTSTRAP_FETCHES) {
        cd__boot_ask(s);
    }
    cd__boot_look_at_sync(s);
    if (s->step == CD_BOOTSTRAP_SYNCED) {
        if (s->cfg.may_run(s->cfg.ctx)) {
            run(s);
        } else if (now_ns - s->step_ns >= LOOK_AGAIN_NS) {
            cd__boot_again(s, 0);
        }
    }
    tell_progress(s);
}

/* --- the seat --- */

static bool is_running(const bootstrap *s)
{
    return s->step == CD_BOOTSTRAP_RUNS;
}

/* The other engine's counts are shown as this engine's, since callers look here; blocks of the bootstrap are added. */
static void follow(bootstrap *s)
{
    if (is_running(s)) {
        cd_engine_stats *own = &s->engine.stats;
        const cd_engine_stats *of = &s->cfg.engine->stats;
        *own = *of;
        own->verified += s->executed;
        own->accepted += s->executed;
    }
}

static cd_err boot_start(cd_engine *e, cd_vm *vm, cd_errinfo *why)
{
    bootstrap *s = bootstrap_of(e);
    s->vm = vm;
    s->wants_state = cd__boot_wants_state(s);
    cd_err err = vm->ops->set_state(vm, s->wants_state ? CD_VM_SYNCING : CD_VM_BOOTSTRAPPING, why);
    if (err != CD_OK) {
        s->vm = NULL;
        return err;
    }
    cd__boot_step(s, CD_BOOTSTRAP_WAITS);
    return CD_OK;
}

static void boot_notify(cd_engine *e, cd_vm_event event)
{
    bootstrap *s = bootstrap_of(e);
    cd_engine *engine = s->cfg.engine;
    if (event == CD_VM_SYNC_DONE && !is_running(s)) {
        s->is_sync_over = true;
        return;
    }
    engine->ops->notify(engine, event);
}

static cd_err boot_produce(cd_engine *e, cd_errinfo *why)
{
    const bootstrap *s = bootstrap_of(e);
    return is_running(s) ? s->cfg.engine->ops->produce(s->cfg.engine, why)
                         : cd_fail(why, CD_EUNSUPPORTED, "the chain is not done bootstrapping");
}

static cd_err boot_rewind(cd_engine *e, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    const bootstrap *s = bootstrap_of(e);
    return is_running(s) ? s->cfg.engine->ops->rewind(s->cfg.engine, job, arg, why)
                         : cd_fail(why, CD_EUNSUPPORTED, "the chain is not done bootstrapping");
}

static bool boot_do(cd_engine *e)
{
    bootstrap *s = bootstrap_of(e);
    bool has_more = false;
    cd__boot_look_at_sync(s);
    if (s->step == CD_BOOTSTRAP_EXECUTES) {
        has_more = cd__boot_execute(s);
    } else if (is_running(s)) {
        has_more = s->cfg.engine->ops->step(s->cfg.engine);
    }
    follow(s);
    return has_more;
}

static void boot_stop(cd_engine *e)
{
    bootstrap *s = bootstrap_of(e);
    if (is_running(s)) {
        s->cfg.engine->ops->stop(s->cfg.engine);
    }
    follow(s);
    s->step = CD_BOOTSTRAP_WAITS;
    s->vm = NULL;
}

static const cd_engine_ops ops = {
    .start = boot_start,
    .notify = boot_notify,
    .produce = boot_produce,
    .rewind = boot_rewind,
    .step = boot_do,
    .stop = boot_stop,
};

cd_err cd_bootstrap_new(cd_engine **out, const cd_bootstrap_cfg *cfg, cd_errinfo *why)
{
    bootstrap *s = cd_new(bootstrap);
    cd_err e = cd_fetched_open(&s->blocks, cfg->kv);
    if (e != CD_OK) {
        cd_free(s);
        return cd_fail(why, e, "blocks that were fetched cannot be read: %s", cd_err_str(e));
    }
    s->engine.ops = &ops;
    s->cfg = *cfg;
    s->last_executed = UINT64_MAX;
    cd_hmap_init(&s->peers, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(source));
    *out = &s->engine;
    return CD_OK;
}

void cd_bootstrap_free(cd_engine *e)
{
    if (e == NULL) {
        return;
    }
    bootstrap *s = bootstrap_of(e);
    CD_ASSERT(s->vm == NULL);
    cd_fetched_close(&s->blocks);
    cd_hmap_fini(&s->peers);
    cd_voters_fini(&s->beacons);
    cd_free(s->asked);
    cd_arena_fini(&s->summary_arena);
    cd_kv_batch_fini(&s->batch);
    cd_buf_fini(&s->block);
    cd_free(s);
}

cd_vm *cd_bootstrap_vm(const cd_engine *e)
{
    return ((const bootstrap *)(const void *)e)->vm;
}

/* --- what peers say --- */

void cd_bootstrap_connected(cd_engine *e, const cd_node_id *peer)
{
    bootstrap *s = bootstrap_of(e);
    (void)cd_hmap_put(&s->peers, NULL, peer);
}

void cd_bootstrap_disconnected(cd_engine *e, const cd_node_id *peer)
{
    (void)cd_hmap_del(&bootstrap_of(e)->peers, peer);
}

/* Whether answers to this request are awaited, in this step. */
static bool is_awaited(const bootstrap *s, cd_bootstrap_step step, u32 request)
{
    return s->vm != NULL && s->step == step && s->request == request;
}

void cd_bootstrap_frontier(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *id)
{
    bootstrap *s = bootstrap_of(e);
    if (is_awaited(s, CD_BOOTSTRAP_FRONTIER, request)) {
        cd__boot_on_frontier(s, from, id);
    }
}

void cd_bootstrap_accepted(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *ids, u32 cnt)
{
    bootstrap *s = bootstrap_of(e);
    if (is_awaited(s, CD_BOOTSTRAP_AGREES, request)) {
        cd__boot_on_accepted(s, from, ids, cnt, false);
    }
}

void cd_bootstrap_summary_frontier(cd_engine *e, const cd_node_id *from, u32 request, cd_bytes summary)
{
    bootstrap *s = bootstrap_of(e);
    if (is_awaited(s, CD_BOOTSTRAP_SUMMARIES, request)) {
        cd__boot_on_summary(s, from, summary, false);
    }
}

void cd_bootstrap_summaries(cd_engine *e, const cd_node_id *from, u32 request, const cd_hash32 *ids, u32 cnt)
{
    bootstrap *s = bootstrap_of(e);
    if (is_awaited(s, CD_BOOTSTRAP_WEIGHS, request)) {
        cd__boot_on_accepted(s, from, ids, cnt, false);
    }
}

void cd_bootstrap_ancestors(cd_engine *e, const cd_node_id *from, u32 request, const cd_bytes *blocks, u32 cnt,
                            u64 now_ns)
{
    bootstrap *s = bootstrap_of(e);
    if (s->vm != NULL && s->step == CD_BOOTSTRAP_FETCHES) {
        s->now_ns = now_ns;
        cd__boot_on_ancestors(s, from, request, blocks, cnt);
    }
}

void cd_bootstrap_failed(cd_engine *e, const cd_node_id *from, u32 request)
{
    bootstrap *s = bootstrap_of(e);
    if (is_awaited(s, CD_BOOTSTRAP_FRONTIER, request)) {
        cd__boot_on_frontier(s, from, NULL);
    } else if (is_awaited(s, CD_BOOTSTRAP_SUMMARIES, request)) {
        cd__boot_on_summary(s, from, (cd_bytes){0}, true);
    } else if (is_awaited(s, CD_BOOTSTRAP_AGREES, request) || is_awaited(s, CD_BOOTSTRAP_WEIGHS, request)) {
        cd__boot_on_accepted(s, from, NULL, 0, true);
    } else if (s->vm != NULL && s->step == CD_BOOTSTRAP_FETCHES) {
        cd__boot_on_ancestors(s, from, request, NULL, 0);
    }
}
