#include "plugin/host/plugin.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "base/version.h"
#include "grpc/server.h"
#include "plugin/host/process.h"
#include "plugin/wire/wire.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    HELLO_MS = 5000,
    PING_MS = 10000,
    SHUTDOWN_MS = 5000,
    SERVER_GRACE_MS = 1000,
    MESSAGE_MAX = 256 << 20,
    MEMORY_MAX = 512 << 20,
    DOUBT_MS = 500,  /* from a broken connection to failure: mostly the process ends, the better reason */
    SMALL = 1 << 20, /* bytes; memory that a larger call took is given back */
    ENGINE,
    DB,
    SERVICES,
    SERVERS,
};

#define HOST "127.0.0.1"

/* Methods that a server offers, and the rows that gRPC is given for them. */
typedef struct served {
    cd_plugin *plugin;
    cd_plugin_offer offer;
    cd_grpc_method *methods;
} served;

typedef enum hello {
    AWAITED,
    GOOD,
    REFUSED,
} hello;

struct cd_plugin {
    cd_plugin_cfg cfg;
    cd_loop *loop;
    cd_thread thread;
    bool is_running; /* the thread runs */
    cd_plugin_process *process;
    cd_grpc_server *servers[SERVERS]; /* NULL: not offered, or closed */
    char addrs[SERVERS][CD_PLUGIN_ADDR_MAX];
    served served[1 + CD_PLUGIN_OFFERS_MAX];
    usize served_cnt;
    cd_arena mem;           /* memory of the call that is being served */
    cd_grpc_client *client; /* client of vm.VM; from the handshake on */
    cd_grpc_client *dialled[CD_PLUGIN_CLIENTS_MAX];
    usize dialled_cnt;
    cd_timer *doubt; /* runs since the connection broke */
    u32 guests;
    bool is_closing; /* close_all has run: closing is valid */
    void (*on_cut)(void *ctx);
    void *on_cut_ctx;
    u32 closing; /* servers that are not closed yet */
    cd_grpc_ask listening;
    bool is_listening;
    void (*heard)(void *ctx, u32 event);
    void *heard_ctx;
    cd_loop_task listen;
    cd_loop_task cut;
    cd_mutex lock; /* protects the rest */
    cd_cond told;
    hello hello;
    u32 version; /* protocol version that the plugin speaks */
    bool has_failed;
    bool is_stopping; /* it is being stopped: the end of its process is no failure */
    char reason[CD_PLUGIN_REASON_MAX];
};

/* --- what the plugin asks --- */

static const cd_plugin_method *row_of(const cd_plugin_offer *o, const char *path)
{
    for (usize i = 0; i < o->cnt; i++) {
        if (strcmp(o->rows[i].path, path) == 0) {
            return &o->rows[i];
        }
    }
    CD_UNREACHABLE();
}

static void refuse(cd_grpc_call *call, cd_err e, const cd_errinfo *why)
{
    u32 code = e == CD_EUNSUPPORTED ? CD_GRPC_UNIMPLEMENTED : CD_GRPC_UNKNOWN;
    cd_grpc_fail(call, code, cd_bytes_str(why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(e)), (cd_bytes){0});
}

static void on_call(void *ctx, cd_grpc_call *call)
{
    served *s = ctx;
    cd_buf out = {0};
    cd_errinfo why = {0};
    cd_bytes msg = cd_grpc_call_msg(call);
    bool is_small = msg.n <= SMALL;
    cd_err e = row_of(&s->offer, cd_grpc_call_path(call))->serve(s->offer.ctx, &out, &s->plugin->mem, msg, &why);
    is_small = is_small && out.n <= SMALL;
    if (e == CD_OK) {
        cd_grpc_reply(call, &out);
    } else {
        refuse(call, e, &why);
    }
    cd_buf_fini(&out);
    if (is_small) {
        cd_arena_reset(&s->plugin->mem);
    } else {
        cd_arena_fini(&s->plugin->mem);
    }
}

static void offer(cd_plugin *p, cd_grpc_server *server, const cd_plugin_offer *o)
{
    if (o->cnt == 0) {
        return;
    }
    served *s = &p->served[p->served_cnt++];
    *s = (served){.plugin = p, .offer = *o, .methods = cd_new_array(cd_grpc_method, o->cnt)};
    for (usize i = 0; i < o->cnt; i++) {
        s->methods[i] = (cd_grpc_method){.path = o->rows[i].path, .serve = on_call};
    }
    cd_grpc_server_add(server, s->methods, o->cnt, s);
}

static cd_err open_server(cd_plugin *p, u32 which, cd_errinfo *why)
{
    cd_grpc_server_cfg cfg = cd_grpc_server_cfg_default();
    cfg.message_max = MESSAGE_MAX;
    cfg.memory_max = MEMORY_MAX;
    CD_TRY(cd_grpc_server_open(&p->servers[which], p->loop, &cfg, HOST, 0, why));
    (void)snprintf(p->addrs[which], sizeof p->addrs[which], "%s:%u", HOST, cd_grpc_server_port(p->servers[which]));
    return CD_OK;
}

/* --- the handshake --- */

/* Refuses another protocol version in the words of the original; why gets as much of them as fits. */
static cd_err mismatch(const cd_plugin *p, u32 version, cd_buf *out, cd_errinfo *why)
{
    cd_buf_fmt(out,
               "handshake failed: RPCChainVM protocol version mismatch between node and Virtual Machine plugin. node "
               "version v%s implements RPCChainVM protocol version %d. The VM located at %s implements RPCChainVM "
               "protocol version %u. Please make sure that there is an exact match of the protocol versions. This can "
               "be achieved by updating your VM or running an older/newer version of node. Please be advised that some "
               "virtual machines may not yet support the latest RPCChainVM protocol version",
               CD_VERSION, CD_WIRE_PROTOCOL, p->cfg.path, version);
    return cd_fail(why, CD_EUNSUPPORTED, "%s", cd_buf_cstr(out));
}

static void settle(cd_plugin *p, hello h, u32 version)
{
    cd_mutex_lock(&p->lock);
    if (p->hello == AWAITED) {
        p->hello = h;
        p->version = version;
        cd_cond_wake_all(&p->told);
    }
    cd_mutex_unlock(&p->lock);
}

cd_grpc_client_cfg cd_plugin_client_cfg(const cd_plugin *p)
{
    cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    cfg.message_max = MESSAGE_MAX;
    cfg.memory_max = MEMORY_MAX;
    cfg.ping_ms = p->cfg.ping_ms;
    cfg.ping_timeout_ms = p->cfg.ping_ms;
    return cfg;
}

static cd_err make_client(cd_plugin *p, cd_grpc_client **out, cd_bytes addr, cd_errinfo *why)
{
    char text[CD_PLUGIN_ADDR_MAX];
    const cd_grpc_client_cfg cfg = cd_plugin_client_cfg(p);
    if (addr.n >= sizeof text) {
        return cd_fail(why, CD_EFORMAT, "an address of %zu bytes", addr.n);
    }
    memcpy(text, addr.p, addr.n);
    text[addr.n] = '\0';
    return cd_grpc_client_new(out, p->loop, &cfg, text, why);
}

typedef struct dial {
    cd_plugin *plugin;
    cd_grpc_client **out;
    cd_bytes addr;
    cd_errinfo *why;
    cd_err err;
} dial;

static void do_dial(void *arg)
{
    dial *d = arg;
    cd_plugin *p = d->plugin;
    if (p->dialled_cnt == CD_PLUGIN_CLIENTS_MAX) {
        d->err = cd_fail(d->why, CD_ELIMIT, "more than %d addresses", CD_PLUGIN_CLIENTS_MAX);
        return;
    }
    d->err = make_client(p, d->out, d->addr, d->why);
    if (d->err == CD_OK) {
        p->dialled[p->dialled_cnt++] = *d->out;
    }
}

cd_err cd_plugin_dial(cd_plugin *p, cd_grpc_client **out, cd_bytes addr, cd_errinfo *why)
{
    dial d = {.plugin = p, .out = out, .addr = addr, .why = why};
    cd_plugin_run(p, do_dial, &d);
    return d.err;
}

static cd_err on_hello(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_plugin *p = ctx;
    cd_wire_run_hello m = {0};
    cd_buf text = {0};
    (void)out;
    cd_mutex_lock(&p->lock);
    hello h = p->hello;
    u32 version = p->version;
    cd_mutex_unlock(&p->lock);
    if (h == GOOD) {
        return CD_OK; /* a second hello changes nothing */
    }
    if (h == REFUSED) {
        cd_err again = mismatch(p, version, &text, why);
        cd_buf_fini(&text);
        return again;
    }
    CD_TRY(CD_WIRE_PARSE(&m, run_hello, mem, msg, why));
    if (m.protocol_version != CD_WIRE_PROTOCOL) {
        cd_err e = mismatch(p, m.protocol_version, &text, why);
        cd_buf_fini(&text);
        settle(p, REFUSED, m.protocol_version);
        return e;
    }
    CD_TRY(make_client(p, &p->client, m.addr, why));
    settle(p, GOOD, m.protocol_version);
    return CD_OK;
}

static const cd_plugin_method hello_methods[] = {{"/vm.runtime.Runtime/Initialize", on_hello}};

static cd_err await_hello(cd_plugin *p, cd_errinfo *why)
{
    u64 end = cd_clock_mono_ns(cd_clock_real()) + p->cfg.hello_ms * CD_NS_PER_MS;
    cd_buf text = {0};
    cd_err e = CD_OK;
    cd_mutex_lock(&p->lock);
    while (p->hello == AWAITED && !p->has_failed) {
        u64 now = cd_clock_mono_ns(cd_clock_real());
        if (now >= end) {
            break;
        }
        (void)cd_cond_wait_ms(&p->told, &p->lock, (end - now) / CD_NS_PER_MS + 1);
    }
    if (p->hello == REFUSED) {
        e = mismatch(p, p->version, &text, why);
    } else if (p->has_failed) {
        e = cd_fail(why, CD_ECLOSED, "handshake failed: vm process not found: %s", p->reason);
    } else if (p->hello == AWAITED) {
        e = cd_fail(why, CD_ETIMEOUT, "handshake failed: vm process not found: no word within %u ms", p->cfg.hello_ms);
    }
    cd_mutex_unlock(&p->lock);
    cd_buf_fini(&text);
    return e;
}

/* --- the end of the plugin --- */

static void on_cut(cd_loop_task *t)
{
    cd_plugin *p = cd_list_of(t, cd_plugin, cut);
    if (p->client != NULL) {
        cd_grpc_client_close(p->client);
    }
    for (usize i = 0; i < p->dialled_cnt; i++) {
        cd_grpc_client_close(p->dialled[i]);
    }
    if (p->on_cut != NULL) {
        p->on_cut(p->on_cut_ctx);
    }
}

void cd_plugin_fail(cd_plugin *p, const char *reason)
{
    cd_mutex_lock(&p->lock);
    bool is_first = !p->has_failed;
    bool is_told = is_first && !p->is_stopping;
    if (is_first) {
        p->has_failed = true;
        (void)snprintf(p->reason, sizeof p->reason, "%s", reason);
        cd_cond_wake_all(&p->told);
    }
    bool has_process = p->process != NULL;
    cd_mutex_unlock(&p->lock);
    if (!is_first) {
        return;
    }
    cd_loop_post(p->loop, &p->cut);
    if (has_process) {
        cd_plugin_process_kill(p->process);
    }
    if (is_told) {
        cd_log_warn(p->cfg.log, "the plugin has failed", CD_F("chain", p->cfg.name), CD_F("path", p->cfg.path),
                    CD_F("reason", reason));
        if (p->cfg.failed != NULL) {
            p->cfg.failed(p->cfg.ctx, reason);
        }
    }
}

bool cd_plugin_has_failed(cd_plugin *p, char reason[CD_PLUGIN_REASON_MAX])
{
    cd_mutex_lock(&p->lock);
    bool has = p->has_failed;
    if (has) {
        memcpy(reason, p->reason, sizeof p->reason);
    }
    cd_mutex_unlock(&p->lock);
    return has;
}

static void on_ended(void *ctx, const char *how)
{
    char text[CD_PLUGIN_REASON_MAX];
    (void)snprintf(text, sizeof text, "its process ended: %s", how);
    cd_plugin_fail(ctx, text);
}

/* --- the loop of the plugin --- */

static void run_loop(void *arg)
{
    cd_loop_run(((cd_plugin *)arg)->loop);
}

typedef struct errand {
    cd_loop_task task; /* first */
    void (*fn)(void *arg);
    void *arg;
    cd_mutex lock; /* protects is_done */
    cd_cond done;
    bool is_done;
} errand;

static void on_errand(cd_loop_task *t)
{
    errand *e = (errand *)(void *)t;
    e->fn(e->arg);
    cd_mutex_lock(&e->lock);
    e->is_done = true;
    cd_cond_wake_one(&e->done);
    cd_mutex_unlock(&e->lock);
}

void cd_plugin_run(cd_plugin *p, void (*fn)(void *arg), void *arg)
{
    if (!p->is_running || cd_loop_is_here(p->loop)) {
        fn(arg);
        return;
    }
    errand e = {.task.fn = on_errand, .fn = fn, .arg = arg};
    cd_mutex_init(&e.lock);
    cd_cond_init(&e.done);
    cd_loop_post(p->loop, &e.task);
    cd_mutex_lock(&e.lock);
    while (!e.is_done) {
        cd_cond_wait(&e.done, &e.lock);
    }
    cd_mutex_unlock(&e.lock);
    cd_cond_fini(&e.done);
    cd_mutex_fini(&e.lock);
}

cd_loop *cd_plugin_loop(cd_plugin *p)
{
    return p->loop;
}

/* --- what we ask --- */

static const char connection_gone[] = "the connection to it is gone";

static void on_doubt(void *ctx)
{
    cd_plugin_fail(ctx, connection_gone);
}

/* Fails a plugin whose connection is gone, unless a better reason comes within DOUBT_MS. */
static void fail_soon(cd_plugin *p)
{
    cd_mutex_lock(&p->lock);
    if (!p->has_failed) {
        (void)cd_cond_wait_ms(&p->told, &p->lock, DOUBT_MS);
    }
    cd_mutex_unlock(&p->lock);
    cd_plugin_fail(p, connection_gone);
}

/* Gives our error for a call that failed; a plugin that does not answer or cannot be reached has failed. */
static cd_err judge(cd_plugin *p, const char *method, cd_err e, u32 timeout_ms, cd_errinfo *why)
{
    char text[CD_PLUGIN_REASON_MAX];
    if (e == CD_ETIMEOUT) {
        (void)snprintf(text, sizeof text, "no answer to %s within %u ms", method, timeout_ms);
        cd_plugin_fail(p, text);
    } else if (e == CD_ECLOSED) {
        fail_soon(p);
    }
    if ((e == CD_ETIMEOUT || e == CD_ECLOSED) && cd_plugin_has_failed(p, text)) {
        return cd_fail(why, CD_ECLOSED, "the plugin has failed: %s", text);
    }
    return e;
}

cd_err cd_plugin_call(cd_plugin *p, const char *method, const cd_proto_type *in_type, const void *in,
                      const cd_proto_type *out_type, void *out, cd_arena *mem, u32 timeout_ms, cd_errinfo *why)
{
    char reason[CD_PLUGIN_REASON_MAX];
    cd_buf msg = {0};
    cd_buf reply = {0};
    if (cd_plugin_has_failed(p, reason)) {
        return cd_fail(why, CD_ECLOSED, "the plugin has failed: %s", reason);
    }
    if (in_type != NULL) {
        cd_proto_put(&msg, in_type, in);
    }
    cd_err e = cd_grpc_call_wait(p->client, &reply, method, &msg, timeout_ms, NULL, why);
    if (e == CD_OK && out_type != NULL) {
        e = cd_proto_parse(out, out_type, mem, cd_arena_dup(mem, cd_buf_bytes(&reply)), why);
    } else if (e != CD_OK) {
        e = judge(p, method, e, timeout_ms, why);
    }
    cd_buf_fini(&msg);
    cd_buf_fini(&reply);
    return e;
}

static void on_heard(cd_grpc_ask *a)
{
    cd_plugin *p = cd_list_of(a, cd_plugin, listening);
    cd_wire_vm_event m = {0};
    cd_arena mem = {0};
    bool is_good =
        a->status.code == CD_GRPC_OK && CD_WIRE_PARSE(&m, vm_event, &mem, cd_buf_bytes(&a->reply), NULL) == CD_OK;
    bool is_over = a->status.code == CD_GRPC_CANCELLED || a->status.code == CD_GRPC_UNAVAILABLE;
    if (a->status.code == CD_GRPC_UNAVAILABLE && p->doubt != NULL) {
        cd_timer_start(p->doubt, DOUBT_MS, 0);
    }
    cd_arena_fini(&mem);
    cd_grpc_ask_fini(a);
    p->is_listening = false;
    if (!is_over) {
        p->heard(p->heard_ctx, is_good ? m.message : 0);
    }
}

static void on_listen(cd_loop_task *t)
{
    cd_plugin *p = cd_list_of(t, cd_plugin, listen);
    CD_ASSERT(!p->is_listening);
    p->is_listening = true;
    p->listening = (cd_grpc_ask){.path = "/vm.VM/WaitForEvent", .fails_fast = true, .done = on_heard};
    cd_grpc_ask_start(p->client, &p->listening);
}

void cd_plugin_listen(cd_plugin *p, void (*heard)(void *ctx, u32 event), void *ctx)
{
    p->heard = heard;
    p->heard_ctx = ctx;
    cd_loop_post(p->loop, &p->listen);
}

/* --- start and stop --- */

static cd_err begin(cd_plugin *p, cd_errinfo *why)
{
    const cd_plugin_offer engine = {.rows = hello_methods, .cnt = CD_COUNT(hello_methods), .ctx = p};
    const cd_plugin_process_cfg process = {
        .path = p->cfg.path,
        .engine = p->addrs[ENGINE],
        .name = p->cfg.name,
        .log = p->cfg.log,
        .term_ms = p->cfg.term_ms,
        .ended = on_ended,
        .ctx = p,
    };
    CD_TRY(open_server(p, ENGINE, why));
    offer(p, p->servers[ENGINE], &engine);
    if (p->cfg.db[0].cnt != 0) {
        CD_TRY(open_server(p, DB, why));
        offer(p, p->servers[DB], &p->cfg.db[0]);
    }
    if (p->cfg.services[0].cnt != 0) {
        CD_TRY(open_server(p, SERVICES, why));
        for (usize i = 0; i < CD_COUNT(p->cfg.services); i++) {
            offer(p, p->servers[SERVICES], &p->cfg.services[i]);
        }
    }
    CD_TRY(cd_thread_start(&p->thread, "plugin-loop", run_loop, p, why));
    p->is_running = true;
    cd_plugin_process *started = NULL;
    CD_TRY(cd_plugin_process_start(&started, &process, why));
    cd_mutex_lock(&p->lock);
    p->process = started;
    bool is_late = p->has_failed; /* the process has ended already */
    cd_mutex_unlock(&p->lock);
    if (is_late) {
        cd_plugin_process_kill(started);
    }
    return await_hello(p, why);
}

static void on_closed(void *ctx)
{
    cd_plugin *p = ctx;
    if (--p->closing == 0) {
        cd_loop_stop(p->loop);
    }
}

void cd_plugin_guest(cd_plugin *p)
{
    p->guests++;
    p->closing += p->is_closing;
}

void cd_plugin_guest_left(cd_plugin *p)
{
    p->guests--;
    if (p->is_closing) {
        on_closed(p);
    }
}

void cd_plugin_on_cut(cd_plugin *p, void (*fn)(void *ctx), void *ctx)
{
    char reason[CD_PLUGIN_REASON_MAX];
    p->on_cut = fn;
    p->on_cut_ctx = ctx;
    if (cd_plugin_has_failed(p, reason)) {
        fn(ctx);
    }
}

/* Closes the engine's server, which is of no use after the handshake; calls that run may finish. */
static void close_engine(void *arg)
{
    cd_plugin *p = arg;
    cd_grpc_server_close(p->servers[ENGINE], SERVER_GRACE_MS, NULL, NULL);
    p->servers[ENGINE] = NULL;
}

static void close_all(void *arg)
{
    cd_plugin *p = arg;
    cd_timer_free(p->doubt);
    p->doubt = NULL;
    cd_grpc_client_free(p->client);
    p->client = NULL;
    for (usize i = 0; i < p->dialled_cnt; i++) {
        cd_grpc_client_free(p->dialled[i]);
    }
    p->dialled_cnt = 0;
    p->is_closing = true;
    p->closing = 1 + p->guests;
    for (usize i = 0; i < CD_COUNT(p->servers); i++) {
        if (p->servers[i] != NULL) {
            p->closing++;
            cd_grpc_server_close(p->servers[i], 0, on_closed, p);
            p->servers[i] = NULL;
        }
    }
    on_closed(p);
}

static void ask_to_end(cd_plugin *p)
{
    char reason[CD_PLUGIN_REASON_MAX];
    cd_errinfo why = {0};
    cd_arena mem = {0};
    if (p->client != NULL && !cd_plugin_has_failed(p, reason)) {
        cd_err e = cd_plugin_call(p, "/vm.VM/Shutdown", NULL, NULL, NULL, NULL, &mem, SHUTDOWN_MS, &why);
        if (e != CD_OK) {
            cd_log_warn(p->cfg.log, "the plugin did not shut down", CD_F("chain", p->cfg.name),
                        CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
        }
    }
    cd_arena_fini(&mem);
}

void cd_plugin_stop(cd_plugin *p)
{
    if (p == NULL) {
        return;
    }
    cd_mutex_lock(&p->lock);
    p->is_stopping = true;
    cd_mutex_unlock(&p->lock);
    ask_to_end(p);
    cd_plugin_run(p, close_all, p);
    if (p->is_running) {
        cd_thread_join(&p->thread);
    } else if (p->closing != 0) {
        cd_loop_run(p->loop);
    }
    cd_plugin_process_free(p->process);
    cd_loop_free(p->loop); /* tasks that were posted meanwhile need not run */
    for (usize i = 0; i < p->served_cnt; i++) {
        cd_free(p->served[i].methods);
    }
    cd_arena_fini(&p->mem);
    cd_cond_fini(&p->told);
    cd_mutex_fini(&p->lock);
    cd_free(p);
}

static u32 or_else(u32 value, u32 usual)
{
    return value == 0 ? usual : value;
}

cd_err cd_plugin_start(cd_plugin **out, const cd_plugin_cfg *cfg, cd_errinfo *why)
{
    cd_plugin *p = cd_new(cd_plugin);
    p->cfg = *cfg;
    p->cfg.hello_ms = or_else(cfg->hello_ms, HELLO_MS);
    p->cfg.ping_ms = or_else(cfg->ping_ms, PING_MS);
    p->cut.fn = on_cut;
    p->listen.fn = on_listen;
    cd_err e = cd_loop_new(&p->loop, why);
    if (e != CD_OK) {
        cd_free(p);
        return e;
    }
    cd_mutex_init(&p->lock);
    cd_cond_init(&p->told);
    p->doubt = cd_timer_new(p->loop, on_doubt, p);
    e = begin(p, why);
    if (e != CD_OK) {
        cd_plugin_fail(p, "no handshake");
        cd_plugin_stop(p);
        return e;
    }
    cd_plugin_run(p, close_engine, p);
    *out = p;
    return CD_OK;
}

const char *cd_plugin_db_addr(const cd_plugin *p)
{
    return p->addrs[DB];
}

const char *cd_plugin_services_addr(const cd_plugin *p)
{
    return p->addrs[SERVICES];
}
