/* The chain of a guest: what Initialize says, the store, the executor, and what stands in for the engine, which is the
 * node. */
#include "plugin/guest/db_priv.h"
#include "plugin/guest/guest_priv.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "codec/ids.h"
#include "codec/json.h"
#include "crypto/bls/bls.h"

#include <stdio.h>

enum { DB_MAX = 1 << 30 }; /* bytes of the node's database that are kept in memory */

void cd__guest_fail(cd_grpc_call *call, cd_err err, const cd_errinfo *why)
{
    const char *text = why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(err);
    cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str(text), (cd_bytes){0});
}

/* --- events for the node --- */

/* An event on its way from the executor to the loop. */
typedef struct event_task {
    cd_loop_task task; /* first */
    cd__seat *seat;
    cd_vm_event event;
} event_task;

typedef struct waiter {
    cd_list link;
    cd_grpc_call *call;
} waiter;

static void event_reply(cd_grpc_call *call, cd_vm_event event)
{
    const cd_wire_vm_event msg = {
        .message = event == CD_VM_WANTS_BLOCK ? CD_WIRE_BUILD_BLOCK : CD_WIRE_SYNC_FINISHED,
    };
    cd_buf out = {0};
    cd_grpc_call_on_gone(call, NULL, NULL);
    CD_WIRE_PUT(&out, vm_event, &msg);
    cd_grpc_reply(call, &out);
}

/* Answers waiting calls with the events that there are, one call for each event. */
static void event_tell(cd__seat *s)
{
    static const cd_vm_event kinds[] = {CD_VM_SYNC_DONE, CD_VM_WANTS_BLOCK};
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        u32 bit = 1u << kinds[i];
        cd_list *it = cd_list_first(&s->waiting);
        if (it != NULL && (s->events & bit) != 0) {
            waiter *w = cd_list_of(it, waiter, link);
            s->events &= ~bit;
            cd_list_del(it);
            event_reply(w->call, kinds[i]);
            cd_free(w);
        }
    }
}

static void on_event(cd_loop_task *t)
{
    event_task *e = (event_task *)(void *)t;
    e->seat->events |= 1u << e->event;
    event_tell(e->seat);
    cd_free(e);
}

static void on_waiter_gone(void *ctx)
{
    waiter *w = ctx;
    cd_grpc_call *call = w->call;
    cd_list_del(&w->link);
    cd_free(w);
    cd_grpc_fail(call, CD_GRPC_CANCELLED, cd_bytes_str("context canceled"), (cd_bytes){0});
}

void cd__guest_wait_event(cd_guest *g, cd_grpc_call *call)
{
    waiter *w = cd_new(waiter);
    w->call = call;
    cd_list_push_back(&g->seat.waiting, &w->link);
    cd_grpc_call_on_gone(call, on_waiter_gone, w);
    event_tell(&g->seat);
}

/* --- the engine's seat --- */

static cd_err seat_start(cd_engine *e, cd_vm *vm, cd_errinfo *why)
{
    (void)why;
    ((cd__seat *)(void *)e)->vm = vm;
    return CD_OK;
}

static void seat_notify(cd_engine *e, cd_vm_event event)
{
    cd__seat *s = (cd__seat *)(void *)e;
    event_task *t = cd_new(event_task);
    *t = (event_task){.task = {.fn = on_event}, .seat = s, .event = event};
    cd_loop_post(s->guest->loop, &t->task);
}

static void on_again(void *ctx)
{
    cd__seat *s = ctx;
    s->events |= 1u << CD_VM_WANTS_BLOCK;
    event_tell(s);
}

static void on_retry(cd_loop_task *t)
{
    enum { RETRY_MS = 500 }; /* as the original waits between two attempts */
    event_task *e = (event_task *)(void *)t;
    cd_timer_start(e->seat->again, RETRY_MS, 0);
    cd_free(e);
}

void cd__seat_retry(cd__seat *s)
{
    event_task *t = cd_new(event_task);
    *t = (event_task){.task = {.fn = on_retry}, .seat = s};
    cd_loop_post(s->guest->loop, &t->task);
}

static cd_err seat_produce(cd_engine *e, cd_errinfo *why)
{
    (void)e;
    return cd_fail(why, CD_EUNSUPPORTED, "blocks are decided by the node that this plugin serves");
}

static cd_err seat_rewind(cd_engine *e, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    (void)job;
    (void)arg;
    return seat_produce(e, why);
}

static bool seat_step(cd_engine *e)
{
    (void)e;
    return false;
}

static void seat_stop(cd_engine *e)
{
    ((cd__seat *)(void *)e)->vm = NULL;
}

void cd__seat_init(cd__seat *s, cd_guest *g)
{
    static const cd_engine_ops ops = {
        .start = seat_start,
        .notify = seat_notify,
        .produce = seat_produce,
        .rewind = seat_rewind,
        .step = seat_step,
        .stop = seat_stop,
    };
    s->engine.ops = &ops;
    s->guest = g;
    s->again = cd_timer_new(g->loop, on_again, s);
    cd_list_init(&s->waiting);
}

/* --- what Initialize says --- */

static cd_err check_id(cd_bytes id, const char *name, usize n, cd_errinfo *why)
{
    return id.n == n ? CD_OK : cd_fail(why, CD_EFORMAT, "invalid %s: expected %zu bytes but got %zu", name, n, id.n);
}

static cd_err check_ids(cd_wire_vm_init *m, cd_errinfo *why)
{
    static const u8 primary[32];
    if (m->subnet_id.n == 0) { /* the other family's nodes have no such field [spec:plugin#10] */
        m->subnet_id = cd_bytes_of(primary, sizeof primary);
    }
    CD_TRY(check_id(m->subnet_id, "subnet ID", 32, why));
    CD_TRY(check_id(m->chain_id, "chain ID", 32, why));
    CD_TRY(check_id(m->node_id, "node ID", 20, why));
    CD_TRY(check_id(m->x_chain_id, "X-Chain ID", 32, why));
    CD_TRY(check_id(m->c_chain_id, "C-Chain ID", 32, why));
    CD_TRY(check_id(m->avax_asset_id, "asset ID", 32, why));
    cd_bls_pk pk;
    if (m->public_key.n != 48 || cd_bls_pk_dec(&pk, m->public_key) != CD_OK) {
        return cd_fail(why, CD_EKEY, "couldn't decompress public key");
    }
    return CD_OK;
}

/* Checks that every upgrade has a time. */
static cd_err check_upgrades(const cd_wire_vm_upgrades *u, cd_errinfo *why)
{
    const cd_wire_vm_time *const all[] = {
        u->apricot_phase_1_time,
        u->apricot_phase_2_time,
        u->apricot_phase_3_time,
        u->apricot_phase_4_time,
        u->apricot_phase_5_time,
        u->apricot_phase_6_time,
        u->apricot_phase_pre_6_time,
        u->apricot_phase_post_6_time,
        u->banff_time,
        u->cortina_time,
        u->durango_time,
        u->etna_time,
        u->fortuna_time,
        u->granite_time,
    };
    for (usize i = 0; i < CD_COUNT(all); i++) {
        if (all[i] == NULL) {
            return cd_fail(why, CD_EFORMAT, "invalid timestamp");
        }
    }
    return CD_OK;
}

/* A time as the rules have it: 0 when it is before 1970, never (UINT64_MAX) from a month before the end of 9999 on. */
static u64 when_of(const cd_wire_vm_time *t)
{
    static const i64 never = 253402214400; /* 9999-12-31 */
    static const i64 month = 2678400;
    return t->seconds < 0 ? 0 : t->seconds >= never - month ? UINT64_MAX : (u64)t->seconds;
}

/* --- what the configuration says --- */

static cd_err read_settings(cd_guest *g, cd_errinfo *why)
{
    cd__guest_settings *s = &g->settings;
    cd_json doc;
    cd_bytes type = {0};
    if (g->init.config_bytes.n == 0) {
        return CD_OK;
    }
    CD_TRY(cd_json_parse(&doc, &g->mem, g->init.config_bytes, 0, why));
    cd_json own = cd_json_get(doc, "use-standalone-database");
    if (cd_json_has(cd_json_get(doc, "database-type"))) {
        CD_TRY(cd_json_str(&type, cd_json_get(doc, "database-type"), why));
    }
    s->is_standalone = cd_bytes_eq(type, cd_bytes_str("standalone"));
    if (cd_json_has(own)) {
        CD_TRY(cd_json_bool(&s->is_standalone, own, why));
    }
    if (cd_json_has(cd_json_get(doc, CD_GUEST_FINALITY))) {
        CD_TRY(cd_json_bool(&s->has_finality, cd_json_get(doc, CD_GUEST_FINALITY), why));
    }
    if (cd_json_has(cd_json_get(doc, "database-path"))) {
        CD_TRY(cd_json_str(&s->path, cd_json_get(doc, "database-path"), why));
    }
    if (cd_json_has(cd_json_get(doc, "network-profile"))) {
        CD_TRY(cd_json_str(&s->profile, cd_json_get(doc, "network-profile"), why));
    }
    return CD_OK;
}

static cd_err network_of(cd_guest *g, cd_errinfo *why)
{
    const char *family = g->cfg->family;
    g->network = cd_network_of(g->init.network_id);
    if (g->settings.profile.n != 0) {
        family = cd_arena_str(&g->mem, g->settings.profile);
    }
    return family == NULL ? CD_OK : cd_network_profile(&g->network, family, why);
}

static cd_hash32 hash_of(cd_bytes b)
{
    cd_hash32 h;
    memcpy(h.b, b.p, sizeof h.b);
    return h;
}

static void fill_ctx(cd_guest *g)
{
    const cd_wire_vm_init *m = &g->init;
    const cd_wire_vm_upgrades *u = m->network_upgrades;
    cd_node_id node_id;
    memcpy(node_id.b, m->node_id.p, sizeof node_id.b);
    g->primary = (cd_vm_primary){
        .x_chain_id = hash_of(m->x_chain_id),
        .c_chain_id = hash_of(m->c_chain_id),
        .asset_id = hash_of(m->avax_asset_id),
        .network = &g->network,
    };
    g->ctx = (cd_vm_ctx){
        .log = g->cfg->log,
        .pool = g->pool,
        .host = cd_executor_host(g->executor),
        .loop = g->loop,
        .clock = cd_clock_real(),
        .rng = &g->rng,
        .shared = &g->shared.shared,
        .sender = &g->world.sender,
        .validators = &g->world.validators,
        .signer = &g->world.signer,
        .primary = &g->primary,
        .genesis = m->genesis_bytes,
        .config = m->config_bytes,
        .upgrades = m->upgrade_bytes,
        .upgrade_times =
            {
                .is_given = true,
                .phases = when_of(u->cortina_time),
                .durango = when_of(u->durango_time),
                .etna = when_of(u->etna_time),
                .fortuna = when_of(u->fortuna_time),
                .granite = when_of(u->granite_time),
            },
        .network_id = m->network_id,
        .subnet_id = hash_of(m->subnet_id),
        .chain_id = hash_of(m->chain_id),
        .node_id = node_id,
        .name = g->cfg->name,
        .has_finality = g->settings.has_finality,
        .metrics = g->vm_metrics,
        .dir = m->chain_data_dir.n == 0 ? NULL : cd_arena_str(&g->mem, m->chain_data_dir),
        .cache_bytes = g->budget.state,
        .trie_bytes = g->budget.tries,
        .text_bytes = g->budget.texts,
    };
}

/* --- on the executor --- */

static void on_unsent(void *ctx, const cd_node_id *to, u32 request_id, i32 code, cd_bytes message)
{
    const cd_guest *g = ctx;
    if (g->vm != NULL && g->vm->ops->app != NULL) {
        g->vm->ops->app->failed(g->vm, to, request_id, code, message);
    }
}

static cd_err open_store(cd_guest *g, cd_errinfo *why)
{
    const cd__guest_settings *s = &g->settings;
    const char *dir = NULL;
    if (!s->is_standalone) {
        return cd__guest_db_open(&g->kv, g->db, &g->shared, DB_MAX, why);
    }
    if (s->path.n != 0) {
        dir = cd_arena_str(&g->mem, s->path);
    } else if (g->ctx.dir != NULL) {
        dir = cd_arena_fmt(&g->mem, "%s/db", g->ctx.dir);
    } else {
        return cd_fail(why, CD_EINVAL, "a store of its own needs \"database-path\": the node gave no folder");
    }
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, 0700, why));
    return cd__guest_own_open(&g->kv, g->db, &g->shared, dir, g->budget.store, why);
}

static cd_err on_open(void *ctx, cd_vm **out, cd_errinfo *why)
{
    cd_guest *g = ctx;
    cd__guest_shared_init(&g->shared, g->services);
    cd__guest_world_init(&g->world, g->services, g->init.public_key);
    g->world.failed = on_unsent;
    g->world.ctx = g;
    CD_TRY(open_store(g, why));
    g->ctx.kv = g->kv;
    CD_TRY(g->cfg->vm(out, &g->ctx, why));
    g->vm = *out;
    return CD_OK;
}

cd_err cd__guest_last_put(cd_guest *g, cd_buf *out, cd_errinfo *why)
{
    cd_vm *vm = g->vm;
    cd_vm_block *b;
    cd_hash32 id;
    u64 height;
    vm->ops->last_accepted(vm, &id, &height);
    cd_err err = vm->ops->get(vm, &b, &id);
    if (err != CD_OK) {
        return cd_fail(why, err, "the last accepted block: %s", cd_err_str(err));
    }
    cd_wire_vm_time time = {.seconds = (i64)b->time};
    const cd_wire_vm_last last = {
        .last_accepted_id = cd_bytes_of(b->id.b, 32),
        .last_accepted_parent_id = cd_bytes_of(b->parent.b, 32),
        .height = b->height,
        .bytes = b->bytes,
        .timestamp = &time,
    };
    CD_WIRE_PUT(out, vm_last, &last);
    vm->ops->release(vm, b);
    return CD_OK;
}

static void on_opened_here(cd_loop_task *t)
{
    cd_guest *g = (cd_guest *)(void *)((char *)t - offsetof(cd_guest, opened));
    cd_grpc_call *call = g->opening;
    g->opening = NULL;
    if (g->open_err == CD_OK) {
        g->is_open = true;
        cd_log_info(g->cfg->log, "chain open", CD_F("vm", g->cfg->name),
                    CD_F("store", g->settings.is_standalone ? "own" : "of the node"));
        cd_grpc_reply(call, &g->open_answer);
    } else {
        cd_log_error(g->cfg->log, "chain not opened", CD_F("why", (const char *)g->open_why.msg));
        cd__guest_fail(call, g->open_err, &g->open_why);
        cd_buf_fini(&g->open_answer);
    }
}

static void on_opened(void *ctx, cd_err err, const cd_errinfo *why)
{
    cd_guest *g = ctx;
    g->open_why = *why;
    g->open_err = err != CD_OK ? err : cd__guest_last_put(g, &g->open_answer, &g->open_why);
    g->opened.fn = on_opened_here;
    cd_loop_post(g->loop, &g->opened);
}

/* --- the end --- */

static void on_db_closed(cd_grpc_ask *a)
{
    cd_guest *g = (cd_guest *)(void *)((char *)a - offsetof(cd_guest, close_db));
    cd_grpc_ask_fini(a);
    cd_grpc_reply(g->closing, NULL);
    g->closing = NULL;
}

/* On the loop, when the VM is closed and its thread has ended: closes the database. */
static void on_ended_here(cd_loop_task *t)
{
    cd_guest *g = (cd_guest *)(void *)((char *)t - offsetof(cd_guest, ended));
    cd_executor_join(g->executor);
    cd_kv_close(g->kv);
    g->kv = NULL;
    g->close_db = (cd_grpc_ask){
        .path = "/rpcdb.Database/Close",
        .timeout_ms = 5000,
        .fails_fast = true,
        .done = on_db_closed,
    };
    cd_grpc_ask_start(g->db, &g->close_db);
}

static void on_ended(void *ctx)
{
    cd_guest *g = ctx;
    g->ended.fn = on_ended_here;
    cd_loop_post(g->loop, &g->ended);
}

/* Waits until clients that stay have left, then closes the VM below them. */
void cd__guest_leaving(void *ctx)
{
    cd_guest *g = ctx;
    if (g->tunnel == NULL || cd__tunnel_is_idle(g->tunnel)) {
        cd_timer_stop(g->leaving);
        cd_executor_end(g->executor);
    }
}

void cd__guest_close(cd_guest *g, cd_grpc_call *call)
{
    enum { LOOK_MS = 5 };
    if (g->is_shut_down || g->opening != NULL) {
        cd_grpc_reply(call, NULL); /* asked a second time, or too early: nothing to do */
        return;
    }
    g->is_shut_down = true;
    if (!g->is_open) {
        cd_grpc_reply(call, NULL);
        return;
    }
    g->closing = call;
    if (g->tunnel != NULL) {
        cd__tunnel_leave(g->tunnel);
    }
    cd_timer_start(g->leaving, 0, LOOK_MS);
}

/* --- the begin --- */

static cd_err begin(cd_guest *g, cd_errinfo *why)
{
    const cd_grpc_client_cfg client = cd_grpc_client_cfg_default();
    cd_wire_vm_init *m = &g->init;
    CD_TRY(check_ids(m, why));
    if (m->network_upgrades == NULL) {
        return cd_fail(why, CD_EFORMAT, "invalid timestamp");
    }
    CD_TRY(check_upgrades(m->network_upgrades, why));
    CD_TRY(read_settings(g, why));
    CD_TRY(network_of(g, why));
    CD_TRY(cd_grpc_client_new(&g->db, g->loop, &client, cd_arena_str(&g->mem, m->db_server_addr), why));
    CD_TRY(cd_grpc_client_new(&g->services, g->loop, &client, cd_arena_str(&g->mem, m->server_addr), why));
    const cd_executor_cfg cfg = {
        .name = g->cfg->name,
        .clock = cd_clock_real(),
        .engine = &g->seat.engine,
        .open = on_open,
        .opened = on_opened,
        .ended = on_ended,
        .ctx = g,
    };
    g->executor = cd_executor_new(&cfg);
    fill_ctx(g);
    return cd_executor_start(g->executor, why);
}

void cd__guest_init(cd_guest *g, cd_grpc_call *call)
{
    cd_errinfo why = {0};
    if (g->executor != NULL || g->db != NULL) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str("already initialized"), (cd_bytes){0});
        return;
    }
    cd_bytes text = cd_arena_dup(&g->mem, cd_grpc_call_msg(call));
    cd_err err = CD_WIRE_PARSE(&g->init, vm_init, &g->mem, text, &why);
    g->opening = call;
    err = err != CD_OK ? err : begin(g, &why);
    if (err != CD_OK) {
        g->opening = NULL;
        cd__guest_fail(call, err, &why);
    }
}
