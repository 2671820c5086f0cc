#include "plugin/host/vm.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "plugin/host/tunnel.h"
#include "plugin/host/vm_priv.h"

#include <stdio.h>

enum {
    CALL_MS = 30000,
    INIT_MS = 600000, /* long enough for a chain that repairs what a crash left */
    HEALTH_MS = 5000,
    HTTP_MS = 40000,
    SMALL = 4 << 20,
    BACKOFF_MS = 200, /* from an event until the next one is waited for */
    HEARD = 0x100,
};

/* Unix seconds: the time of every upgrade on a new network, and of upgrades that are not scheduled. */
#define ACTIVE_S      1607144400
#define UNSCHEDULED_S 253399622400

static cd__plugin_vm *of(const cd_vm *vm)
{
    return (cd__plugin_vm *)(usize)vm;
}

cd_err cd__pvm_call(cd__plugin_vm *v, const char *method, const cd_proto_type *in_type, const void *in,
                    const cd_proto_type *out_type, void *out, cd_errinfo *why)
{
    cd_arena_reset(&v->mem);
    return cd_plugin_call(v->plugin, method, in_type, in, out_type, out, &v->mem, v->cfg.call_ms, why);
}

/* --- the last accepted block --- */

static cd_err take_last(cd_hash32 *id, const cd_wire_vm_last *last, cd_errinfo *why)
{
    return cd__pvm_id(id, last->last_accepted_id, "last accepted id", why);
}

static cd_err pvm_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    cd__plugin_vm *v = of(vm);
    const cd_wire_vm_set_state ask = {.state = state};
    cd_wire_vm_last said = {0};
    cd_hash32 last;
    CD_TRY(CD__PVM_ASK(v, "SetState", vm_set_state, &ask, vm_last, &said, why));
    CD_TRY(take_last(&last, &said, why));
    if (!cd_hash32_eq(&last, &v->blocks.last)) {
        if (v->blocks.verified_cnt != 0) {
            return cd_fail(why, CD_EINVAL, "the plugin has changed its last accepted block beside those it verified");
        }
        cd_blocks_restart(&v->blocks, &last, said.height);
    }
    v->state = state;
    bool may_listen = state == CD_VM_NORMAL || state == CD_VM_SYNCING;
    if (may_listen && !v->is_listening && v->listen_at_ns == UINT64_MAX) {
        v->listen_at_ns = 0;
        if (v->ctx.host != NULL && v->ctx.host->stir != NULL) {
            v->ctx.host->stir(v->ctx.host);
        }
    }
    return CD_OK;
}

static void pvm_last_accepted(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    *id = of(vm)->blocks.last;
    *height = of(vm)->blocks.last_height;
}

static cd_err pvm_id_at_height(cd_vm *vm, cd_hash32 *id, u64 height)
{
    return cd__pvm_blocks.id_at_height(of(vm), id, height);
}

/* --- blocks --- */

static cd_err pvm_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd__plugin_vm *v = of(vm);
    cd_wire_vm_build ask = {.p_chain_height = ctx->pchain_height, .has_p_chain_height = ctx->pchain_height != 0};
    cd_wire_vm_built said = {0};
    cd_vm_block *b;
    /* One block is asked for after one event, as in the original: asked more often, a plugin may build empty ones. */
    if (!v->may_build && v->ctx.host != NULL) {
        return CD_ENOENT;
    }
    v->may_build = false;
    cd_err e = CD__PVM_ASK(v, "BuildBlock", vm_build, &ask, vm_built, &said, why);
    if (e == CD_EIO) {
        /* Behind a block the plugin may say that there is more before it knows: what comes then need not wait. */
        v->listen_at_ns = v->has_built && v->listen_at_ns != UINT64_MAX ? 0 : v->listen_at_ns;
        v->has_built = false;
        return CD_ENOENT; /* why has the plugin's own words */
    }
    CD_TRY(e);
    CD_TRY(cd__pvm_block(v, &b, &said, said.bytes, why));
    cd_blocks_add(&v->blocks, out, b, false);
    v->has_built = true;
    v->listen_at_ns = v->listen_at_ns == UINT64_MAX ? UINT64_MAX : 0; /* listen: there may be more */
    return CD_OK;
}

static cd_err pvm_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    return cd_blocks_parse(&of(vm)->blocks, out, bytes, why);
}

static cd_err pvm_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    return cd_blocks_get(&of(vm)->blocks, out, id);
}

static void pvm_release(cd_vm *vm, cd_vm_block *b)
{
    cd_blocks_release(&of(vm)->blocks, b);
}

static cd_err pvm_verify(cd_vm *vm, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    return cd_blocks_verify(&of(vm)->blocks, b, ctx, why);
}

static cd_err pvm_accept(cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    return cd_blocks_accept(&of(vm)->blocks, b, batch, why);
}

static cd_err pvm_accepted(cd_vm *vm, cd_vm_block *b, cd_errinfo *why)
{
    return cd_blocks_accepted(&of(vm)->blocks, b, why);
}

static cd_err pvm_reject(cd_vm *vm, cd_vm_block *b)
{
    return cd_blocks_reject(&of(vm)->blocks, b);
}

/* Tells the plugin the preference; if the plugin is gone, the next call gives the error. */
static cd_err pvm_set_preference(cd_vm *vm, const cd_hash32 *id)
{
    cd__plugin_vm *v = of(vm);
    const cd_wire_vm_id ask = {.id = cd_bytes_of(id->b, sizeof id->b)};
    cd_errinfo why = {0};
    CD_TRY(cd_blocks_prefer(&v->blocks, id));
    if (cd__pvm_call(v, "/vm.VM/SetPreference", &cd_wire_vm_id_type, &ask, NULL, NULL, &why) != CD_OK) {
        cd_log_warn(v->ctx.log, "the plugin does not take a preference", CD_F("chain", v->ctx.name),
                    CD_F("error", why.msg));
    }
    return CD_OK;
}

/* --- events --- */

/* Notes an event and wakes the executor; on the plugin's loop. */
static void on_heard(void *ctx, u32 event)
{
    cd__plugin_vm *v = ctx;
    atomic_store(&v->event, HEARD | (event & 0xff));
    if (v->ctx.host != NULL && v->ctx.host->stir != NULL) {
        v->ctx.host->stir(v->ctx.host);
    }
}

static void on_waiting(void *ctx)
{
    const cd__plugin_vm *v = ctx;
    if (v->ctx.host != NULL && v->ctx.host->stir != NULL) {
        v->ctx.host->stir(v->ctx.host);
    }
}

/* Tells the engine an event. The next event is waited for a little later, so that the engine acts on this one first and
 * an event that comes again and again does not keep it busy. */
static void tell_event(cd__plugin_vm *v, u32 heard, u64 now)
{
    cd_vm_host *host = v->ctx.host;
    v->is_listening = false;
    v->listen_at_ns = now + BACKOFF_MS * CD_NS_PER_MS;
    v->may_build = v->may_build || (heard & 0xff) == CD_WIRE_BUILD_BLOCK;
    if (host != NULL && (heard & 0xff) == CD_WIRE_BUILD_BLOCK) {
        host->notify(host, CD_VM_WANTS_BLOCK);
    } else if (host != NULL && (heard & 0xff) == CD_WIRE_SYNC_FINISHED) {
        /* What follows tells where it stands now; an error shows there, too. */
        (void)!pvm_set_state(&v->vm, CD_VM_BOOTSTRAPPING, NULL);
        host->notify(host, CD_VM_SYNC_DONE);
    }
}

static u64 pvm_wake(cd_vm *vm)
{
    cd__plugin_vm *v = of(vm);
    char reason[CD_PLUGIN_REASON_MAX];
    u64 now = cd_clock_mono_ns(v->ctx.clock);
    cd__pvm_send(v);
    u32 heard = atomic_exchange(&v->event, 0);
    if (heard != 0) {
        tell_event(v, heard, now);
    }
    if (v->listen_at_ns != UINT64_MAX && v->listen_at_ns <= now && !cd_plugin_has_failed(v->plugin, reason)) {
        v->listen_at_ns = UINT64_MAX;
        v->is_listening = true;
        cd_plugin_listen(v->plugin, on_heard, v);
    }
    return cd_plugin_has_failed(v->plugin, reason) ? UINT64_MAX : v->listen_at_ns;
}

/* --- routes, version, health --- */

static const cd_vm_handler *pvm_handlers(cd_vm *vm, usize *cnt)
{
    return cd__tunnel_handlers(of(vm)->tunnel, cnt);
}

static const char *pvm_version(cd_vm *vm)
{
    return of(vm)->version;
}

/* Writes the plugin's own details when they are JSON, else an error; gives what is wrong, NULL: nothing. */
static const char *pvm_health(cd_vm *vm, cd_json_w *details)
{
    cd__plugin_vm *v = of(vm);
    cd_wire_vm_health said = {0};
    cd_errinfo why = {0};
    cd_json doc;
    char reason[CD_PLUGIN_REASON_MAX];
    cd_arena_reset(&v->mem);
    cd_err e = cd_plugin_call(v->plugin, "/vm.VM/Health", NULL, NULL, &cd_wire_vm_health_type, &said, &v->mem,
                              HEALTH_MS, &why);
    bool is_json = e == CD_OK && cd_json_parse(&doc, &v->mem, said.details, SMALL, NULL) == CD_OK;
    if (is_json) {
        cd_json_w_raw(details, said.details);
        return NULL;
    }
    cd_json_w_obj(details);
    cd_json_w_key(details, "error");
    cd_json_w_cstr(details, e == CD_OK ? "its health is no JSON" : why.msg);
    cd_json_w_obj_end(details);
    return cd_plugin_has_failed(v->plugin, reason) ? "the plugin has failed"
           : e != CD_OK                            ? "the plugin says that it is not well"
                                                   : NULL;
}

/* --- begin and end --- */

static void pvm_close(cd_vm *vm)
{
    cd__plugin_vm *v = of(vm);
    cd__tunnel_end(v->tunnel);
    cd_plugin_stop(v->plugin);
    cd__tunnel_free(v->tunnel);
    if (v->blocks.ops != NULL) {
        cd_blocks_fini(&v->blocks);
    }
    cd__pvm_caches_free(v);
    cd_plugin_world_free(v->world);
    cd_plugin_db_free(v->db);
    cd_arena_fini(&v->mem);
    cd_free(v->dir);
    cd_free(v);
}

static const cd_vm_ops pvm_ops = {
    .name = "plugin",
    .set_state = pvm_set_state,
    .build = pvm_build,
    .parse = pvm_parse,
    .get = pvm_get,
    .release = pvm_release,
    .verify = pvm_verify,
    .accept = pvm_accept,
    .accepted = pvm_accepted,
    .reject = pvm_reject,
    .set_preference = pvm_set_preference,
    .last_accepted = pvm_last_accepted,
    .id_at_height = pvm_id_at_height,
    .ancestors = cd__pvm_ancestors,
    .parse_many = cd__pvm_parse_many,
    .sync = &cd__pvm_sync,
    .app = &cd__pvm_app,
    .handlers = pvm_handlers,
    .version = pvm_version,
    .health = pvm_health,
    .wake = pvm_wake,
    .close = pvm_close,
};

static cd_wire_vm_time time_of(const cd_vm_ctx *c, u64 given, i64 usual)
{
    return (cd_wire_vm_time){.seconds = !c->upgrade_times.is_given ? usual
                                        : given >= UNSCHEDULED_S   ? UNSCHEDULED_S
                                                                   : (i64)given};
}

static cd_err initialize(cd__plugin_vm *v, cd_errinfo *why)
{
    static const cd_hash32 none = {0};
    const cd_vm_ctx *c = &v->ctx;
    const cd_vm_primary *p = c->primary;
    const cd_vm_upgrade_times *t = &c->upgrade_times;
    cd_wire_vm_time on = time_of(c, t->phases, ACTIVE_S);
    cd_wire_vm_time durango = time_of(c, t->durango, ACTIVE_S);
    cd_wire_vm_time etna = time_of(c, t->etna, ACTIVE_S);
    cd_wire_vm_time fortuna = time_of(c, t->fortuna, ACTIVE_S);
    cd_wire_vm_time granite = time_of(c, t->granite, UNSCHEDULED_S);
    cd_wire_vm_upgrades upgrades = {&on,      &on,   &on,      &on,     0,   &on,
                                    &on,      &on,   &on,      &on,     &on, cd_bytes_of(none.b, 32),
                                    &durango, &etna, &fortuna, &granite};
    const cd_wire_vm_init ask = {
        .network_id = c->network_id,
        .subnet_id = cd_bytes_of(c->subnet_id.b, 32),
        .chain_id = cd_bytes_of(c->chain_id.b, 32),
        .node_id = cd_bytes_of(c->node_id.b, sizeof c->node_id.b),
        .public_key = v->cfg.bls_key,
        .x_chain_id = cd_bytes_of(p == NULL ? none.b : p->x_chain_id.b, 32),
        .c_chain_id = cd_bytes_of(p == NULL ? none.b : p->c_chain_id.b, 32),
        .avax_asset_id = cd_bytes_of(p == NULL ? none.b : p->asset_id.b, 32),
        .chain_data_dir = cd_bytes_str(v->dir),
        .genesis_bytes = c->genesis,
        .upgrade_bytes = c->upgrades,
        .config_bytes = c->config,
        .db_server_addr = cd_bytes_str(cd_plugin_db_addr(v->plugin)),
        .server_addr = cd_bytes_str(cd_plugin_services_addr(v->plugin)),
        .network_upgrades = &upgrades,
    };
    cd_wire_vm_last said = {0};
    cd_hash32 last;
    CD_TRY(cd_plugin_call(v->plugin, "/vm.VM/Initialize", &cd_wire_vm_init_type, &ask, &cd_wire_vm_last_type, &said,
                          &v->mem, INIT_MS, why));
    CD_TRY(take_last(&last, &said, why));
    cd_blocks_init(&v->blocks, &cd__pvm_blocks, v, &last, said.height);
    return CD_OK;
}

static void put_version(char out[CD_PLUGIN_VERSION_MAX], cd_bytes text)
{
    (void)snprintf(out, CD_PLUGIN_VERSION_MAX, "%.*s", (int)cd_min_u64(text.n, CD_PLUGIN_VERSION_MAX - 1),
                   (const char *)text.p);
}

static cd_err ask_more(cd__plugin_vm *v, cd_errinfo *why)
{
    cd_wire_vm_version version = {0};
    cd_wire_vm_sync_enabled sync = {0};
    CD_TRY(cd__pvm_call(v, "/vm.VM/Version", NULL, NULL, &cd_wire_vm_version_type, &version, why));
    put_version(v->version, version.version);
    CD_TRY(cd__pvm_call(v, "/vm.VM/StateSyncEnabled", NULL, NULL, &cd_wire_vm_sync_enabled_type, &sync, why));
    v->syncs = sync.enabled && sync.err == 0;
    return cd__tunnel_new(&v->tunnel, v, why);
}

static void on_failed(void *ctx, const char *reason)
{
    cd__plugin_vm *v = ctx;
    if (v->cfg.failed != NULL) {
        v->cfg.failed(v->cfg.ctx, reason);
    }
    on_waiting(v);
}

static cd_err start(cd__plugin_vm *v, cd_errinfo *why)
{
    cd_plugin_cfg cfg = {.path = v->cfg.path, .name = v->ctx.name, .log = v->ctx.log, .failed = on_failed, .ctx = v};
    const cd_plugin_world_cfg world = {
        .network_id = v->ctx.network_id,
        .chain_id = v->ctx.chain_id,
        .validators = v->ctx.validators,
        .names = v->cfg.names,
        .signer = v->cfg.signer,
        .waiting = on_waiting,
        .ctx = v,
    };
    v->db = cd_plugin_db_new(v->ctx.kv, v->cfg.store, v->ctx.shared);
    v->world = cd_plugin_world_new(&world);
    cfg.db[0] = (cd_plugin_offer){.ctx = v->db};
    cfg.db[0].rows = cd_plugin_db_methods(&cfg.db[0].cnt);
    cfg.services[0] = (cd_plugin_offer){.ctx = v->db};
    cfg.services[0].rows = cd_plugin_shared_methods(&cfg.services[0].cnt);
    cfg.services[1] = (cd_plugin_offer){.ctx = v->world};
    cfg.services[1].rows = cd_plugin_world_methods(&cfg.services[1].cnt);
    return cd_plugin_start(&v->plugin, &cfg, why);
}

static char *dup_str(const char *s)
{
    usize n = strlen(s) + 1;
    return memcpy(cd_alloc(n), s, n);
}

cd_err cd_plugin_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    const cd_plugin_vm_cfg *cfg = ctx->dev;
    CD_ASSERT(cfg != NULL);
    if (cfg->bls_key.n == 0) {
        return cd_fail(why, CD_EUNSUPPORTED, "a plugin needs a node with a BLS key, and this one has none");
    }
    if (ctx->dir != NULL) {
        CD_TRY(cd_fs_mkdirs(cd_fs_real(), ctx->dir, 0700, why));
    }
    cd__plugin_vm *v = cd_new(cd__plugin_vm);
    v->vm.ops = &pvm_ops;
    v->ctx = *ctx;
    v->cfg = *cfg;
    v->cfg.call_ms = cfg->call_ms == 0 ? CALL_MS : cfg->call_ms;
    v->cfg.http_ms = cfg->http_ms == 0 ? HTTP_MS : cfg->http_ms;
    v->listen_at_ns = UINT64_MAX;
    v->dir = dup_str(ctx->dir == NULL ? "" : ctx->dir);
    cd__pvm_caches_new(v);
    cd_err e = start(v, why);
    e = e != CD_OK ? e : initialize(v, why);
    e = e != CD_OK ? e : ask_more(v, why);
    if (e != CD_OK) {
        pvm_close(&v->vm);
        return e;
    }
    *out = &v->vm;
    return CD_OK;
}

cd_err cd_plugin_probe(char out[CD_PLUGIN_VERSION_MAX], const char *path, cd_logger *log, cd_errinfo *why)
{
    const cd_plugin_cfg cfg = {.path = path, .name = "", .log = log};
    cd_plugin *p;
    cd_arena mem = {0};
    cd_wire_vm_version said = {0};
    CD_TRY(cd_plugin_start(&p, &cfg, why));
    cd_err e = cd_plugin_call(p, "/vm.VM/Version", NULL, NULL, &cd_wire_vm_version_type, &said, &mem, HEALTH_MS, why);
    if (e == CD_OK) {
        put_version(out, said.version);
    }
    cd_plugin_stop(p);
    cd_arena_fini(&mem);
    return e;
}
