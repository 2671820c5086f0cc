/* The methods of vm.VM. Most of them are jobs of the executor, in the order in which they come. */
#include "plugin/guest/guest_priv.h"

#include "base/mem/mem.h"
#include "base/version.h"

typedef struct job {
    cd_rpc_job job; /* first */
    cd_guest *guest;
    cd_grpc_call *call;
    cd__guest_fn *fn;
} job;

static void run(cd_rpc_job *base)
{
    job *j = (job *)(void *)base;
    cd_buf out = {0};
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_err err = j->fn(j->guest, &out, &mem, cd_grpc_call_msg(j->call), &why);
    if (err == CD_OK) {
        cd_grpc_reply(j->call, &out);
    } else {
        cd__guest_fail(j->call, err, &why);
    }
    cd_arena_fini(&mem);
    cd_buf_fini(&out);
    cd_free(j);
}

static void submit(cd_guest *g, cd_grpc_call *call, cd__guest_fn *fn)
{
    if (!g->is_open || g->is_shut_down) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str(g->is_shut_down ? "closed" : "not initialized"),
                     (cd_bytes){0});
        return;
    }
    job *j = cd_new(job);
    *j = (job){.job = {.run = run}, .guest = g, .call = call, .fn = fn};
    cd_err err = cd_executor_run_first(g->executor, &j->job);
    if (err != CD_OK) {
        cd_grpc_fail(call, err == CD_EFULL ? CD_GRPC_RESOURCE_EXHAUSTED : CD_GRPC_UNKNOWN,
                     cd_bytes_str(cd_err_str(err)), (cd_bytes){0});
        cd_free(j);
    }
}

/* --- blocks --- */

static cd_bytes id_bytes(const cd_hash32 *id)
{
    return cd_bytes_of(id->b, sizeof id->b);
}

static cd_err id_parse(cd_hash32 *out, cd_bytes id, cd_errinfo *why)
{
    if (id.n != sizeof out->b) {
        return cd_fail(why, CD_EFORMAT, "invalid hash length: expected 32 bytes but got %zu", id.n);
    }
    memcpy(out->b, id.p, sizeof out->b);
    return CD_OK;
}

static cd_err id_of_msg(cd_hash32 *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_id req = {0};
    CD_TRY(CD_WIRE_PARSE(&req, vm_id, mem, msg, why));
    return id_parse(out, req.id, why);
}

/* The message vm_built about b; time is the memory of its timestamp. */
static cd_wire_vm_built built_of(const cd_vm_block *b, cd_wire_vm_time *time, bool has_bytes)
{
    *time = (cd_wire_vm_time){.seconds = (i64)b->time};
    return (cd_wire_vm_built){
        .id = id_bytes(&b->id),
        .parent_id = id_bytes(&b->parent),
        .bytes = has_bytes ? b->bytes : (cd_bytes){0},
        .height = b->height,
        .timestamp = time,
        .verify_with_context = b->needs_context,
    };
}

static cd_err set_state(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_set_state req = {0};
    CD_TRY(CD_WIRE_PARSE(&req, vm_set_state, mem, msg, why));
    if (req.state < CD_VM_SYNCING || req.state > CD_VM_NORMAL) {
        return cd_fail(why, CD_EINVAL, "unknown state: %u", req.state);
    }
    CD_TRY(g->vm->ops->set_state(g->vm, (cd_vm_state)req.state, why));
    g->is_syncing = g->is_syncing && req.state == CD_VM_SYNCING;
    return cd__guest_last_put(g, out, why);
}

static cd_err build_block(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_build req = {0};
    cd_wire_vm_time time;
    cd_vm_block *b;
    CD_TRY(CD_WIRE_PARSE(&req, vm_build, mem, msg, why));
    const cd_vm_block_ctx ctx = {.pchain_height = req.p_chain_height};
    cd_err err = g->vm->ops->build(g->vm, &b, &ctx, why);
    if (err == CD_ENOENT) {
        return cd_fail(why, err, "no transactions to put into a block");
    }
    if (err != CD_OK) { /* for example too soon behind its parent: what waits is still to be built */
        cd__seat_retry(&g->seat);
        return err;
    }
    const cd_wire_vm_built built = built_of(b, &time, true);
    CD_WIRE_PUT(out, vm_built, &built);
    g->vm->ops->release(g->vm, b);
    /* More may wait than went into this block: the node is to ask again, and is told when nothing is left. */
    g->seat.engine.ops->notify(&g->seat.engine, CD_VM_WANTS_BLOCK);
    return CD_OK;
}

static void drop_recent(cd_guest *g, u32 idx)
{
    cd__recent *r = &g->recent;
    cd_vm_block *old = r->all[idx];
    r->cnt--;
    r->bytes -= old->bytes.n;
    memmove(r->all + idx, r->all + idx + 1, (r->cnt - idx) * sizeof(cd_vm_block *));
    g->vm->ops->release(g->vm, old);
}

/* Takes over one use of a block that was parsed. What is here when the VM is closed goes with it. */
static void keep_recent(cd_guest *g, cd_vm_block *b)
{
    cd__recent *r = &g->recent;
    while (r->cnt != 0 && (r->cnt == CD__RECENT_MAX || r->bytes + b->bytes.n > CD__RECENT_BYTES)) {
        drop_recent(g, 0);
    }
    r->all[r->cnt++] = b;
    r->bytes += b->bytes.n;
}

/* The block is verified, which keeps it, or rejected. */
static void forget_recent(cd_guest *g, const cd_hash32 *id)
{
    for (u32 i = g->recent.cnt; i > 0; i--) {
        if (cd_hash32_eq(&g->recent.all[i - 1]->id, id)) {
            drop_recent(g, i - 1);
        }
    }
}

static cd_err parse_block(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_bytes req = {0};
    cd_wire_vm_time time;
    cd_vm_block *b;
    CD_TRY(CD_WIRE_PARSE(&req, vm_bytes, mem, msg, why));
    CD_TRY(g->vm->ops->parse(g->vm, &b, req.bytes, why));
    const cd_wire_vm_built parsed = built_of(b, &time, false);
    CD_WIRE_PUT(out, vm_built, &parsed);
    keep_recent(g, b);
    return CD_OK;
}

static cd_err batched_parse(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_blocks req = {0};
    CD_TRY(CD_WIRE_PARSE(&req, vm_blocks, mem, msg, why));
    u32 cnt = req.blks_bytes.cnt;
    const cd_bytes *in = req.blks_bytes.v;
    cd_vm_block **blocks = cd_arena_array(mem, cd_vm_block *, cnt);
    cd_wire_vm_built *rows = cd_arena_array(mem, cd_wire_vm_built, cnt);
    cd_wire_vm_time *times = cd_arena_array(mem, cd_wire_vm_time, cnt);
    cd_err err = CD_OK;
    u32 done = 0;
    while (done < cnt && (err = g->vm->ops->parse(g->vm, &blocks[done], in[done], why)) == CD_OK) {
        rows[done] = built_of(blocks[done], &times[done], false);
        done++;
    }
    if (err == CD_OK) {
        const cd_wire_vm_parsed_many all = {.response = cd_wire_list(rows, cnt)};
        CD_WIRE_PUT(out, vm_parsed_many, &all);
    }
    for (u32 i = 0; i < done; i++) {
        keep_recent(g, blocks[i]);
    }
    return err;
}

static cd_err get_block(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_block_got got = {0};
    cd_wire_vm_time time;
    cd_hash32 id;
    cd_vm_block *b;
    CD_TRY(id_of_msg(&id, mem, msg, why));
    cd_err err = g->vm->ops->get(g->vm, &b, &id);
    if (err == CD_ENOENT) {
        got.err = CD_WIRE_NOT_FOUND;
        CD_WIRE_PUT(out, vm_block_got, &got);
        return CD_OK;
    }
    CD_TRY(err);
    time = (cd_wire_vm_time){.seconds = (i64)b->time};
    got = (cd_wire_vm_block_got){
        .parent_id = id_bytes(&b->parent),
        .bytes = b->bytes,
        .height = b->height,
        .timestamp = &time,
        .verify_with_context = b->needs_context,
    };
    CD_WIRE_PUT(out, vm_block_got, &got);
    g->vm->ops->release(g->vm, b);
    return CD_OK;
}

static cd_err set_preference(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_hash32 id;
    (void)out;
    CD_TRY(id_of_msg(&id, mem, msg, why));
    cd_err err = g->vm->ops->set_preference(g->vm, &id);
    return err == CD_ENOENT ? cd_fail(why, err, "not found") : err;
}

static cd_err block_verify(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_verify req = {0};
    cd_vm_block *b;
    CD_TRY(CD_WIRE_PARSE(&req, vm_verify, mem, msg, why));
    const cd_vm_block_ctx ctx = {.pchain_height = req.p_chain_height};
    CD_TRY(g->vm->ops->parse(g->vm, &b, req.bytes, why));
    cd_err err = g->vm->ops->verify(g->vm, b, &ctx, why);
    if (err == CD_OK) {
        cd_wire_vm_time time = {.seconds = (i64)b->time};
        const cd_wire_vm_verified answer = {.timestamp = &time};
        g->seat.engine.stats.verified++;
        CD_WIRE_PUT(out, vm_verified, &answer);
        forget_recent(g, &b->id);
    }
    g->vm->ops->release(g->vm, b);
    return err;
}

static cd_err block_accept(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_commit_door door = {.store = g->kv, .chain = g->kv, .sync = CD_KV_SYNC};
    cd_hash32 id;
    cd_vm_block *b;
    bool is_in = false;
    (void)out;
    CD_TRY(id_of_msg(&id, mem, msg, why));
    cd_err err = g->vm->ops->get(g->vm, &b, &id);
    if (err == CD_ENOENT) {
        return cd_fail(why, err, "not found");
    }
    CD_TRY(err);
    if (b->status != CD_VM_ACCEPTED) { /* a node that ended in between asks again, and hears OK */
        err = cd_commit_door_accept(&door, g->vm, b, &g->batch, &is_in, why);
        cd_buf_clear(&g->shared.pending);
        g->seat.engine.stats.accepted += is_in ? 1 : 0;
    }
    g->vm->ops->release(g->vm, b);
    return err;
}

static cd_err block_reject(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_hash32 id;
    cd_vm_block *b;
    (void)out;
    CD_TRY(id_of_msg(&id, mem, msg, why));
    forget_recent(g, &id);
    cd_err err = g->vm->ops->get(g->vm, &b, &id);
    if (err == CD_ENOENT) {
        return CD_OK; /* not verified, or gone with its parent: nothing is left to drop */
    }
    CD_TRY(err);
    if (b->status == CD_VM_VERIFIED) {
        err = g->vm->ops->reject(g->vm, b);
        g->seat.engine.stats.rejected++;
    }
    g->vm->ops->release(g->vm, b);
    return err;
}

static cd_err id_at_height(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_height req = {0};
    cd_hash32 id = {0};
    CD_TRY(CD_WIRE_PARSE(&req, vm_height, mem, msg, why));
    cd_err err = g->vm->ops->id_at_height(g->vm, &id, req.height);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    const cd_wire_vm_id_at answer = {.blk_id = id_bytes(&id), .err = err == CD_OK ? 0 : CD_WIRE_NOT_FOUND};
    CD_WIRE_PUT(out, vm_id_at, &answer);
    return CD_OK;
}

/* Collects the bytes of a block and its ancestors, parent by parent, as long as the limits allow. */
static cd_err get_ancestors(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    enum { CNT_MAX = 4096, LENGTH = 4 };
    cd_wire_vm_ancestors_of req = {0};
    cd_hash32 id;
    CD_TRY(CD_WIRE_PARSE(&req, vm_ancestors_of, mem, msg, why));
    CD_TRY(id_parse(&id, req.blk_id, why));
    u32 max = (u32)cd_min_u64(CNT_MAX, req.max_blocks_num < 0 ? 0 : (u64)req.max_blocks_num);
    usize left = req.max_blocks_size < 0 ? 0 : (usize)req.max_blocks_size;
    u64 end =
        cd_clock_mono_ns(g->ctx.clock) + (u64)(req.max_blocks_retrival_time < 0 ? 0 : req.max_blocks_retrival_time);
    cd_bytes *blocks = cd_arena_array(mem, cd_bytes, max);
    u32 cnt = 0;
    cd_vm_block *b;
    while (cnt < max && g->vm->ops->get(g->vm, &b, &id) == CD_OK) {
        bool fits = b->bytes.n + LENGTH <= left && (cnt == 0 || cd_clock_mono_ns(g->ctx.clock) < end);
        if (fits) {
            left -= b->bytes.n + LENGTH;
            blocks[cnt++] = cd_arena_dup(mem, b->bytes);
            id = b->parent;
        }
        bool is_first = b->height == 0;
        g->vm->ops->release(g->vm, b);
        if (!fits || is_first) {
            break;
        }
    }
    const cd_wire_vm_blocks answer = {.blks_bytes = cd_wire_list(blocks, cnt)};
    CD_WIRE_PUT(out, vm_blocks, &answer);
    return CD_OK;
}

/* --- messages of other nodes --- */

static cd_err node_parse(cd_node_id *out, cd_bytes id, cd_errinfo *why)
{
    if (id.n != sizeof out->b) {
        return cd_fail(why, CD_EFORMAT, "invalid node ID: expected 20 bytes but got %zu", id.n);
    }
    memcpy(out->b, id.p, sizeof out->b);
    return CD_OK;
}

/* What takes messages of peers: NULL as long as the VM has nothing to answer them through. */
static const cd_vm_app_ops *app_of(const cd_guest *g)
{
    return g->ctx.sender == NULL ? NULL : g->vm->ops->app;
}

static cd_err connected(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_connected req = {0};
    cd_node_id id;
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&req, vm_connected, mem, msg, why));
    CD_TRY(node_parse(&id, req.node_id, why));
    if (app_of(g) != NULL) {
        const cd_vm_peer_version version = {
            .name = req.name, .major = req.major, .minor = req.minor, .patch = req.patch};
        app_of(g)->connected(g->vm, &id, &version);
    }
    return CD_OK;
}

static cd_err disconnected(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_connected req = {0};
    cd_node_id id;
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&req, vm_connected, mem, msg, why));
    CD_TRY(node_parse(&id, req.node_id, why));
    if (app_of(g) != NULL) {
        app_of(g)->disconnected(g->vm, &id);
    }
    return CD_OK;
}

/* Refuses a request for a VM that takes no messages, so that the other node need not wait. */
static cd_err refuse_request(cd_guest *g, const cd_wire_vm_app_request *req, cd_errinfo *why)
{
    enum { UNREGISTERED_HANDLER = -2 };
    const cd_wire_send_error error = {
        .node_id = req->node_id,
        .request_id = req->request_id,
        .error_code = UNREGISTERED_HANDLER,
        .error_message = cd_bytes_str("unregistered handler"),
    };
    cd_buf msg = {0};
    cd_buf reply = {0};
    CD_WIRE_PUT(&msg, send_error, &error);
    cd_err err = cd_grpc_call_wait(g->services, &reply, "/appsender.AppSender/SendAppError", &msg, 0, NULL, why);
    cd_buf_fini(&msg);
    cd_buf_fini(&reply);
    return err;
}

static cd_err app_request(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_app_request req = {0};
    cd_node_id id;
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&req, vm_app_request, mem, msg, why));
    CD_TRY(node_parse(&id, req.node_id, why));
    if (req.deadline == NULL) {
        return cd_fail(why, CD_EFORMAT, "invalid timestamp");
    }
    if (app_of(g) == NULL) {
        return refuse_request(g, &req, why);
    }
    u64 wall = cd_clock_wall_ns(g->ctx.clock);
    u64 at = (u64)(req.deadline->seconds < 0 ? 0 : req.deadline->seconds) * CD_NS_PER_SEC;
    u64 left = at > wall ? at - wall : 0;
    app_of(g)->request(g->vm, &id, req.request_id, cd_clock_mono_ns(g->ctx.clock) + left, req.request);
    return CD_OK;
}

static cd_err app_failed(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_app_failed req = {0};
    cd_node_id id;
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&req, vm_app_failed, mem, msg, why));
    CD_TRY(node_parse(&id, req.node_id, why));
    if (app_of(g) != NULL) {
        app_of(g)->failed(g->vm, &id, req.request_id, req.error_code, req.error_message);
    }
    return CD_OK;
}

static cd_err app_response(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_app_response req = {0};
    cd_node_id id;
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&req, vm_app_response, mem, msg, why));
    CD_TRY(node_parse(&id, req.node_id, why));
    if (app_of(g) != NULL) {
        app_of(g)->response(g->vm, &id, req.request_id, req.response);
    }
    return CD_OK;
}

static cd_err app_gossip(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_vm_app_gossip req = {0};
    cd_node_id id;
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&req, vm_app_gossip, mem, msg, why));
    CD_TRY(node_parse(&id, req.node_id, why));
    if (app_of(g) != NULL) {
        app_of(g)->gossip(g->vm, &id, req.msg);
    }
    return CD_OK;
}

/* --- about the VM --- */

static cd_err health(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_buf own = {0};
    cd_buf json = {0};
    cd_json_w details = {.out = &own};
    cd_wire_db_health db = {0};
    cd_buf reply = {0};
    cd_buf nothing = {0};
    (void)msg;
    const char *wrong = g->vm->ops->health == NULL ? NULL : g->vm->ops->health(g->vm, &details);
    cd_err err = wrong == NULL ? CD_OK : cd_fail(why, CD_EIO, "%s", wrong);
    err =
        err != CD_OK ? err : cd_grpc_call_wait(g->db, &reply, "/rpcdb.Database/HealthCheck", &nothing, 5000, NULL, why);
    err = err != CD_OK ? err : CD_WIRE_PARSE(&db, db_health, mem, cd_buf_bytes(&reply), why);
    if (err == CD_OK) {
        cd_json_w w = {.out = &json};
        cd_json_w_obj(&w);
        cd_json_w_key(&w, "database");
        cd_json_w_raw(&w, db.details.n == 0 ? cd_bytes_str("null") : db.details);
        cd_json_w_key(&w, "health");
        cd_json_w_raw(&w, own.n == 0 ? cd_bytes_str("null") : cd_buf_bytes(&own));
        cd__guest_put_progress(g, &w);
        cd_json_w_obj_end(&w);
        const cd_wire_vm_health answer = {.details = cd_buf_bytes(&json)};
        CD_WIRE_PUT(out, vm_health, &answer);
    }
    cd_buf_fini(&own);
    cd_buf_fini(&json);
    cd_buf_fini(&reply);
    return err;
}

static cd_err version(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_buf text = {0};
    (void)mem;
    (void)msg;
    (void)why;
    cd_buf_fmt(&text, "v%s", g->vm->ops->version(g->vm));
    const cd_wire_vm_version answer = {.version = cd_buf_bytes(&text)};
    CD_WIRE_PUT(out, vm_version, &answer);
    cd_buf_fini(&text);
    return CD_OK;
}

static cd_err gather(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_buf text = {0};
    (void)mem;
    (void)msg;
    (void)why;
    cd_metrics_fmt(g->metrics, &text);
    cd__gather_put(out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return CD_OK;
}

/* --- on the loop --- */

static void serve_init(void *ctx, cd_grpc_call *call)
{
    cd__guest_init(ctx, call);
}

static void serve_shutdown(void *ctx, cd_grpc_call *call)
{
    cd__guest_close(ctx, call);
}

static void serve_wait(void *ctx, cd_grpc_call *call)
{
    cd__guest_wait_event(ctx, call);
}

/* The VM's routes are known when it is open, and do not change: the tunnel is opened once. */
static void serve_handlers(void *ctx, cd_grpc_call *call)
{
    cd_guest *g = ctx;
    cd_errinfo why = {0};
    cd_buf out = {0};
    cd_err err = CD_OK;
    if (!g->is_open || g->is_shut_down) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str("not initialized"), (cd_bytes){0});
        return;
    }
    if (g->tunnel == NULL) {
        err = cd__tunnel_open(&g->tunnel, g, &why);
    }
    if (err != CD_OK) {
        cd__guest_fail(call, err, &why);
        return;
    }
    cd__tunnel_answer(g->tunnel, &out);
    cd_grpc_reply(call, &out);
}

/* We have no handler that is chosen by a header. */
static void serve_header_handler(void *ctx, cd_grpc_call *call)
{
    (void)ctx;
    cd_grpc_reply(call, NULL);
}

#define ON_EXECUTOR(name, fn)                                                                                          \
    static void serve_##name(void *ctx, cd_grpc_call *call)                                                            \
    {                                                                                                                  \
        submit(ctx, call, fn);                                                                                         \
    }
ON_EXECUTOR(set_state, set_state)
ON_EXECUTOR(build_block, build_block)
ON_EXECUTOR(parse_block, parse_block)
ON_EXECUTOR(batched_parse, batched_parse)
ON_EXECUTOR(get_block, get_block)
ON_EXECUTOR(set_preference, set_preference)
ON_EXECUTOR(block_verify, block_verify)
ON_EXECUTOR(block_accept, block_accept)
ON_EXECUTOR(block_reject, block_reject)
ON_EXECUTOR(id_at_height, id_at_height)
ON_EXECUTOR(get_ancestors, get_ancestors)
ON_EXECUTOR(sync_enabled, cd__guest_sync_enabled)
ON_EXECUTOR(ongoing_summary, cd__guest_ongoing_summary)
ON_EXECUTOR(last_summary, cd__guest_last_summary)
ON_EXECUTOR(parse_summary, cd__guest_parse_summary)
ON_EXECUTOR(get_summary, cd__guest_get_summary)
ON_EXECUTOR(accept_summary, cd__guest_accept_summary)
ON_EXECUTOR(connected, connected)
ON_EXECUTOR(disconnected, disconnected)
ON_EXECUTOR(app_request, app_request)
ON_EXECUTOR(app_failed, app_failed)
ON_EXECUTOR(app_response, app_response)
ON_EXECUTOR(app_gossip, app_gossip)
ON_EXECUTOR(health, health)
ON_EXECUTOR(open_version, version)

/* Gives the version of the VM or, when a node asks before it opens one to check the plugin, of the program. */
static void serve_version(void *ctx, cd_grpc_call *call)
{
    const cd_guest *g = ctx;
    if (g->is_open) {
        serve_open_version(ctx, call);
        return;
    }
    cd_buf out = {0};
    const cd_wire_vm_version answer = {.version = cd_bytes_str("v" CD_VERSION)};
    CD_WIRE_PUT(&out, vm_version, &answer);
    cd_grpc_reply(call, &out);
    cd_buf_fini(&out);
}
ON_EXECUTOR(gather, gather)

const cd_grpc_method cd__guest_methods[] = {
    {"/vm.VM/Initialize", serve_init},
    {"/vm.VM/SetState", serve_set_state},
    {"/vm.VM/Shutdown", serve_shutdown},
    {"/vm.VM/CreateHandlers", serve_handlers},
    {"/vm.VM/NewHTTPHandler", serve_header_handler},
    {"/vm.VM/WaitForEvent", serve_wait},
    {"/vm.VM/Connected", serve_connected},
    {"/vm.VM/Disconnected", serve_disconnected},
    {"/vm.VM/BuildBlock", serve_build_block},
    {"/vm.VM/ParseBlock", serve_parse_block},
    {"/vm.VM/GetBlock", serve_get_block},
    {"/vm.VM/SetPreference", serve_set_preference},
    {"/vm.VM/Health", serve_health},
    {"/vm.VM/Version", serve_version},
    {"/vm.VM/AppRequest", serve_app_request},
    {"/vm.VM/AppRequestFailed", serve_app_failed},
    {"/vm.VM/AppResponse", serve_app_response},
    {"/vm.VM/AppGossip", serve_app_gossip},
    {"/vm.VM/Gather", serve_gather},
    {"/vm.VM/GetAncestors", serve_get_ancestors},
    {"/vm.VM/BatchedParseBlock", serve_batched_parse},
    {"/vm.VM/GetBlockIDAtHeight", serve_id_at_height},
    {"/vm.VM/StateSyncEnabled", serve_sync_enabled},
    {"/vm.VM/GetOngoingSyncStateSummary", serve_ongoing_summary},
    {"/vm.VM/GetLastStateSummary", serve_last_summary},
    {"/vm.VM/ParseStateSummary", serve_parse_summary},
    {"/vm.VM/GetStateSummary", serve_get_summary},
    {"/vm.VM/BlockVerify", serve_block_verify},
    {"/vm.VM/BlockAccept", serve_block_accept},
    {"/vm.VM/BlockReject", serve_block_reject},
    {"/vm.VM/StateSummaryAccept", serve_accept_summary},
};
const usize cd__guest_methods_cnt = CD_COUNT(cd__guest_methods);
