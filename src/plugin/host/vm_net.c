#include "base/mem/mem.h"
#include "plugin/host/vm_priv.h"

/* The protocol's error code of a request that nobody answered in time. */
enum { APP_TIMEOUT = -1 };

/* How far a sync is: time for an answer, from one question to the next, bytes of an answer. */
enum { PROGRESS_MS = 1000, PROGRESS_EVERY_MS = 500, DETAILS_MAX = 1 << 20 };

static cd__plugin_vm *of(cd_vm *vm)
{
    return (cd__plugin_vm *)(void *)vm;
}

static cd_bytes id_bytes(const cd_node_id *id)
{
    return cd_bytes_of(id->b, sizeof id->b);
}

/* Passes a peer's message to the plugin; a refusal is only logged, it is no error of ours or the peer's. */
static void tell(cd__plugin_vm *v, const char *method, const cd_proto_type *type, const void *m)
{
    cd_errinfo why = {0};
    cd_err e = cd__pvm_call(v, method, type, m, NULL, NULL, &why);
    if (e != CD_OK) {
        cd_log_debug(v->ctx.log, "the plugin refuses a message", CD_F("chain", v->ctx.name), CD_F("method", method),
                     CD_F("error", why.msg));
    }
}

/* --- what peers send --- */

static void app_request(cd_vm *vm, const cd_node_id *from, u32 request_id, u64 deadline_ns, cd_bytes msg)
{
    enum { NS_PER_S = 1000000000 };
    cd__plugin_vm *v = of(vm);
    u64 now = cd_clock_mono_ns(v->ctx.clock);
    u64 wall = cd_clock_wall_ns(v->ctx.clock) + (deadline_ns > now ? deadline_ns - now : 0);
    cd_wire_vm_time deadline = {.seconds = (i64)(wall / NS_PER_S), .nanos = (i32)(wall % NS_PER_S)};
    const cd_wire_vm_app_request m = {
        .node_id = id_bytes(from), .request_id = request_id, .deadline = &deadline, .request = msg};
    tell(v, "/vm.VM/AppRequest", &cd_wire_vm_app_request_type, &m);
}

static void app_response(cd_vm *vm, const cd_node_id *from, u32 request_id, cd_bytes msg)
{
    const cd_wire_vm_app_response m = {.node_id = id_bytes(from), .request_id = request_id, .response = msg};
    tell(of(vm), "/vm.VM/AppResponse", &cd_wire_vm_app_response_type, &m);
}

static void app_failed(cd_vm *vm, const cd_node_id *from, u32 request_id, i32 code, cd_bytes message)
{
    const cd_wire_vm_app_failed m = {
        .node_id = id_bytes(from), .request_id = request_id, .error_code = code, .error_message = message};
    tell(of(vm), "/vm.VM/AppRequestFailed", &cd_wire_vm_app_failed_type, &m);
}

static void app_gossip(cd_vm *vm, const cd_node_id *from, cd_bytes msg)
{
    const cd_wire_vm_app_gossip m = {.node_id = id_bytes(from), .msg = msg};
    tell(of(vm), "/vm.VM/AppGossip", &cd_wire_vm_app_gossip_type, &m);
}

static void app_connected(cd_vm *vm, const cd_node_id *peer, const cd_vm_peer_version *version)
{
    const cd_wire_vm_connected m = {
        .node_id = id_bytes(peer),
        .name = version->name,
        .major = version->major,
        .minor = version->minor,
        .patch = version->patch,
    };
    tell(of(vm), "/vm.VM/Connected", &cd_wire_vm_connected_type, &m);
}

static void app_disconnected(cd_vm *vm, const cd_node_id *peer)
{
    const cd_wire_vm_id m = {.id = id_bytes(peer)};
    tell(of(vm), "/vm.VM/Disconnected", &cd_wire_vm_id_type, &m);
}

const cd_vm_app_ops cd__pvm_app = {
    .request = app_request,
    .response = app_response,
    .failed = app_failed,
    .gossip = app_gossip,
    .connected = app_connected,
    .disconnected = app_disconnected,
};

/* --- what the plugin sends --- */

static void send(cd__plugin_vm *v, const cd_plugin_word *w)
{
    const cd_vm_sender *s = v->ctx.sender;
    switch (w->kind) {
    case CD_PLUGIN_REQUEST:
        for (usize i = 0; i < w->to.node_cnt; i++) {
            if (s != NULL) {
                s->request(s, &w->to.nodes[i], w->request_id, w->msg);
            } else {
                app_failed(&v->vm, &w->to.nodes[i], w->request_id, APP_TIMEOUT, cd_bytes_str("timed out"));
            }
        }
        break;
    case CD_PLUGIN_RESPONSE:
        if (s != NULL) {
            s->response(s, w->to.nodes, w->request_id, w->msg);
        }
        break;
    case CD_PLUGIN_REFUSAL:
        if (s != NULL) {
            s->error(s, w->to.nodes, w->request_id, w->code, w->msg);
        }
        break;
    case CD_PLUGIN_GOSSIP:
        if (s != NULL) {
            s->gossip(s, &w->to, w->msg);
        }
        break;
    }
}

void cd__pvm_send(cd__plugin_vm *v)
{
    for (cd_plugin_word *w = cd_plugin_world_take(v->world); w != NULL;) {
        cd_plugin_word *next = w->next;
        send(v, w);
        cd_free(w);
        w = next;
    }
}

/* --- state sync --- */

static bool sync_enabled(cd_vm *vm)
{
    return of(vm)->syncs;
}

/* Gives our error for an error code that travels in an answer. */
static cd_err err_of(u32 code)
{
    return code == 0 ? CD_OK : code == CD_WIRE_CLOSED ? CD_ECLOSED : CD_ENOENT;
}

static cd_err take_summary(cd_vm_summary *out, cd_arena *a, cd_bytes id, u64 height, cd_bytes bytes)
{
    CD_TRY(cd__pvm_id(&out->id, id, "summary id", NULL));
    out->height = height;
    out->bytes = cd_arena_dup(a, bytes);
    return CD_OK;
}

static cd_err ask_summary(cd_vm *vm, cd_vm_summary *out, cd_arena *a, const char *method)
{
    cd_wire_vm_summary_got said = {0};
    CD_TRY(cd__pvm_call(of(vm), method, NULL, NULL, &cd_wire_vm_summary_got_type, &said, NULL));
    CD_TRY(err_of(said.err));
    return take_summary(out, a, said.id, said.height, said.bytes);
}

static cd_err sync_ongoing(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    return ask_summary(vm, out, a, "/vm.VM/GetOngoingSyncStateSummary");
}

static cd_err sync_last(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    return ask_summary(vm, out, a, "/vm.VM/GetLastStateSummary");
}

static cd_err sync_at(cd_vm *vm, cd_vm_summary *out, cd_arena *a, u64 height)
{
    const cd_wire_vm_height ask = {.height = height};
    cd_wire_vm_summary_at said = {0};
    CD_TRY(CD__PVM_ASK(of(vm), "GetStateSummary", vm_height, &ask, vm_summary_at, &said, NULL));
    CD_TRY(err_of(said.err));
    return take_summary(out, a, said.id, height, said.bytes);
}

static cd_err sync_parse(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    const cd_wire_vm_bytes ask = {.bytes = bytes};
    cd_wire_vm_summary_parsed said = {0};
    cd_err e = CD__PVM_ASK(of(vm), "ParseStateSummary", vm_bytes, &ask, vm_summary_parsed, &said, why);
    if (e != CD_OK) {
        return e == CD_EIO ? CD_EFORMAT : e;
    }
    CD_TRY(err_of(said.err));
    return take_summary(out, a, said.id, said.height, bytes);
}

static cd_err sync_accept(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why)
{
    const cd_wire_vm_bytes ask = {.bytes = s->bytes};
    cd_wire_vm_summary_accepted said = {0};
    CD_TRY(CD__PVM_ASK(of(vm), "StateSummaryAccept", vm_bytes, &ask, vm_summary_accepted, &said, why));
    CD_TRY(err_of(said.err));
    if (said.mode < CD_VM_SYNC_SKIPPED || said.mode > CD_VM_SYNC_DYNAMIC) {
        return cd_fail(why, CD_EFORMAT, "the plugin syncs in a way %u that nobody knows", said.mode);
    }
    *mode = (cd_vm_sync_mode)said.mode;
    return CD_OK;
}

static void read_u64(u64 *out, cd_json doc, const char *key)
{
    cd_json at = cd_json_get(doc, key);
    if (cd_json_has(at) && cd_json_u64(out, at, NULL) != CD_OK) {
        *out = 0;
    }
}

/* The protocol has no question for this: our own plugins tell it with their health, others do not, which is 0. */
static cd_vm_sync_progress ask_progress(cd__plugin_vm *v)
{
    cd_wire_vm_health said = {0};
    cd_vm_sync_progress p = {0};
    cd_json doc;
    u64 permille = 0;
    cd_arena_reset(&v->mem);
    cd_err e = cd_plugin_call(v->plugin, "/vm.VM/Health", NULL, NULL, &cd_wire_vm_health_type, &said, &v->mem,
                              PROGRESS_MS, NULL);
    if (e != CD_OK || cd_json_parse(&doc, &v->mem, said.details, DETAILS_MAX, NULL) != CD_OK) {
        return p;
    }
    cd_json sync = cd_json_get(doc, CD_WIRE_SYNC_KEY);
    read_u64(&p.items, sync, "items");
    read_u64(&permille, sync, "permille");
    read_u64(&p.left_s, sync, "secondsLeft");
    p.permille = (u32)cd_min_u64(permille, 1000);
    return p;
}

static void sync_progress(cd_vm *vm, cd_vm_sync_progress *out)
{
    cd__plugin_vm *v = of(vm);
    u64 now = cd_clock_mono_ns(v->ctx.clock);
    if (now >= v->progress_ns) {
        v->progress = ask_progress(v);
        v->progress_ns = now + PROGRESS_EVERY_MS * CD_NS_PER_MS;
    }
    *out = v->progress;
}

const cd_vm_sync_ops cd__pvm_sync = {
    .is_enabled = sync_enabled,
    .ongoing = sync_ongoing,
    .last = sync_last,
    .at = sync_at,
    .parse = sync_parse,
    .accept = sync_accept,
    .progress = sync_progress,
};
