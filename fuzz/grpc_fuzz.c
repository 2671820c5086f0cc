/* Bytes of one side of a gRPC connection. The first byte says which side they are of and how the rest is cut into
 * pieces, the second how often the other side takes what is written, and which calls are answered late. Sockets, time
 * and threads are stand-ins, so that every run of an input is the same. Whatever comes in, limits hold, every call is
 * answered or told once, and nothing is left over. */
#include "base/mem/mem.h"
#include "grpc/client.h"
#include "grpc/server.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { STREAMS_MAX = 4, HEADER_MAX = 2048, MESSAGE_MAX = 8192, MEMORY_MAX = 32768, ASKS = 3 };

/* --- stand-ins for net/loop.h --- */

struct cd_tcp {
    const cd_tcp_events *events;
    void *ctx;
    bool is_closed;
    bool is_told; /* that it is closed */
    bool is_full; /* a write waits */
};

struct cd_timer {
    cd_timer_fn *fn;
    void *ctx;
    u64 at_ms; /* UINT64_MAX: it does not run */
    u64 repeat_ms;
    struct cd_timer *next;
};

static struct {
    u64 now_ms;
    cd_loop_task *first;
    cd_loop_task *last;
    cd_timer *timers;
    cd_tcp *tcp;
    cd_accept_fn *accept;
    void *accept_ctx;
    cd_connect_fn *connected;
    void *connect_ctx;
    u8 habits;
    u32 writes;
} world;

u64 cd_loop_now_ms(const cd_loop *l)
{
    (void)l;
    return world.now_ms;
}

bool cd_loop_is_here(const cd_loop *l)
{
    (void)l;
    return true;
}

void cd_loop_post(cd_loop *l, cd_loop_task *t)
{
    (void)l;
    t->next = NULL;
    if (world.first == NULL) {
        world.first = t;
    } else {
        world.last->next = t;
    }
    world.last = t;
}

cd_timer *cd_timer_new(cd_loop *l, cd_timer_fn *fn, void *ctx)
{
    cd_timer *t = cd_new(cd_timer);
    (void)l;
    *t = (cd_timer){.fn = fn, .ctx = ctx, .at_ms = UINT64_MAX, .next = world.timers};
    world.timers = t;
    return t;
}

void cd_timer_start(cd_timer *t, u64 delay_ms, u64 repeat_ms)
{
    t->at_ms = world.now_ms + delay_ms;
    t->repeat_ms = repeat_ms;
}

void cd_timer_stop(cd_timer *t)
{
    t->at_ms = UINT64_MAX;
}

void cd_timer_free(cd_timer *t)
{
    for (cd_timer **at = &world.timers; t != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == t) {
            *at = t->next;
            cd_free(t);
            return;
        }
    }
}

cd_err cd_listener_open(cd_listener **out, cd_loop *l, const char *host, u16 port, cd_accept_fn *accept, void *ctx,
                        cd_errinfo *why)
{
    (void)l;
    (void)host;
    (void)port;
    (void)why;
    world.accept = accept;
    world.accept_ctx = ctx;
    *out = NULL;
    return CD_OK;
}

void cd_listener_close(cd_listener *s)
{
    (void)s;
}

u16 cd_listener_port(const cd_listener *s)
{
    (void)s;
    return 1;
}

cd_connect *cd_connect_new(cd_loop *l, const char *host, u16 port, u32 timeout_ms, cd_connect_fn *fn, void *ctx)
{
    static u8 handle;
    (void)l;
    (void)host;
    (void)port;
    (void)timeout_ms;
    world.connected = fn;
    world.connect_ctx = ctx;
    return (cd_connect *)(void *)&handle;
}

void cd_connect_drop(cd_connect *c)
{
    (void)c;
    world.connected = NULL;
}

void cd_tcp_start(cd_tcp *t, const cd_tcp_events *events, void *ctx)
{
    t->events = events;
    t->ctx = ctx;
}

void cd_tcp_pause(cd_tcp *t)
{
    (void)t;
}

void cd_tcp_resume(cd_tcp *t)
{
    (void)t;
}

/* Bytes are looked at, so that what is borrowed must be there. */
cd_err cd_tcp_write(cd_tcp *t, const cd_bytes *parts, usize cnt)
{
    volatile u8 sum = 0;
    CD_ASSERT(!t->is_full && !t->is_closed && cnt <= CD_TCP_PARTS_MAX);
    for (usize i = 0; i < cnt; i++) {
        for (usize k = 0; k < parts[i].n; k++) {
            sum = (u8)(sum + parts[i].p[k]);
        }
    }
    t->is_full = (world.habits & 3) != 0 && ++world.writes % (world.habits & 3u) == 0;
    return t->is_full ? CD_EAGAIN : CD_OK;
}

void cd_tcp_close(cd_tcp *t)
{
    t->is_closed = true;
}

/* --- time passes --- */

static void tasks_run(void)
{
    while (world.first != NULL) {
        cd_loop_task *t = world.first;
        world.first = t->next;
        t->fn(t);
    }
}

static void timers_run(void)
{
    cd_timer *due = NULL;
    for (cd_timer *t = world.timers; t != NULL; t = t->next) {
        due = t->at_ms <= world.now_ms ? t : due;
    }
    if (due != NULL) {
        due->at_ms = due->repeat_ms == 0 ? UINT64_MAX : world.now_ms + due->repeat_ms;
        due->fn(due->ctx);
    }
}

static void round_run(u64 ms)
{
    cd_tcp *t = world.tcp;
    world.now_ms += ms;
    tasks_run();
    timers_run();
    if (t->is_full && !t->is_closed) {
        t->is_full = false;
        t->events->written(t->ctx, CD_OK);
    }
    tasks_run();
    if (t->is_closed && !t->is_told && t->events != NULL) {
        t->is_told = true;
        t->events->closed(t->ctx);
    }
    tasks_run();
}

static void feed(const u8 *data, usize size, usize piece)
{
    cd_tcp *t = world.tcp;
    for (usize at = 0; at < size && !t->is_closed; at += piece) {
        t->events->data(t->ctx, cd_bytes_of(data + at, cd_min_u64(piece, size - at)));
        round_run(7);
    }
    if (!t->is_closed) {
        t->events->end(t->ctx, CD_OK);
    }
    round_run(7);
}

/* --- a server --- */

static cd_grpc_call *held[STREAMS_MAX];
static u32 held_cnt;
static u32 gone_cnt;
static bool is_done;

static void on_gone(void *ctx)
{
    (void)ctx;
    gone_cnt++;
}

static void serve(void *ctx, cd_grpc_call *call)
{
    cd_bytes v;
    (void)ctx;
    CD_ASSERT(cd_grpc_call_msg(call).n <= MESSAGE_MAX);
    (void)cd_grpc_call_metadata(call, "x", &v);
    if ((world.habits & 4) != 0) {
        CD_ASSERT(held_cnt < STREAMS_MAX);
        held[held_cnt++] = call;
        cd_grpc_call_on_gone(call, on_gone, NULL);
    } else if ((world.habits & 8) != 0) {
        cd_grpc_fail(call, 500, cd_grpc_call_msg(call), cd_grpc_call_msg(call));
    } else {
        cd_buf msg = cd_grpc_call_take(call);
        cd_buf_fill(&msg, 'x', (usize)(world.habits >> 4) * 1000);
        cd_grpc_reply(call, &msg);
    }
}

static void on_done(void *ctx)
{
    (void)ctx;
    is_done = true;
}

static void run_server(const u8 *data, usize size, usize piece)
{
    static const cd_grpc_method methods[] = {{"/t.T/M", serve}};
    cd_grpc_server_cfg cfg = cd_grpc_server_cfg_default();
    cd_grpc_server *s = NULL;
    cfg.streams_max = STREAMS_MAX;
    cfg.header_max = HEADER_MAX;
    cfg.message_max = MESSAGE_MAX;
    cfg.memory_max = MEMORY_MAX;
    held_cnt = 0;
    is_done = false;
    cd_err err = cd_grpc_server_open(&s, NULL, &cfg, "", 0, NULL);
    CD_ASSERT(err == CD_OK);
    cd_grpc_server_add(s, methods, CD_COUNT(methods), NULL);
    world.accept(world.accept_ctx, world.tcp);
    feed(data, size, piece);
    cd_grpc_server_close(s, 0, on_done, NULL);
    while (held_cnt != 0) {
        cd_grpc_reply(held[--held_cnt], NULL);
    }
    round_run(1);
    round_run(1);
    CD_ASSERT(is_done);
}

/* --- a client --- */

static u32 told_cnt;

static void on_told(cd_grpc_ask *a)
{
    CD_ASSERT(a->reply.n <= MESSAGE_MAX && (a->status.code == 0 || a->reply.n == 0));
    cd_grpc_ask_fini(a);
    told_cnt++;
}

static void run_client(const u8 *data, usize size, usize piece)
{
    cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    cd_grpc_client *c = NULL;
    cd_grpc_ask asks[ASKS] = {0};
    cfg.header_max = HEADER_MAX;
    cfg.message_max = MESSAGE_MAX;
    cfg.memory_max = MEMORY_MAX;
    told_cnt = 0;
    cd_err err = cd_grpc_client_new(&c, NULL, &cfg, "h:1", NULL);
    CD_ASSERT(err == CD_OK);
    for (usize i = 0; i < ASKS; i++) {
        asks[i] = (cd_grpc_ask){.path = "/t.T/M", .timeout_ms = i * 50, .done = on_told};
        cd_buf_fill(&asks[i].msg, 'a', i * 6000);
        cd_grpc_ask_start(c, &asks[i]);
    }
    world.now_ms++;
    timers_run();
    CD_ASSERT(world.connected != NULL);
    world.connected(world.connect_ctx, world.tcp, CD_OK);
    world.connected = NULL;
    round_run(0);
    feed(data, size, piece);
    cd_grpc_client_free(c);
    round_run(1);
    round_run(1);
    CD_ASSERT(told_cnt == ASKS);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_tcp tcp = {0};
    if (size < 2) {
        return 0;
    }
    world.tcp = &tcp;
    world.habits = data[1];
    world.writes = 0;
    world.now_ms = 1000;
    usize piece = (data[0] & 0x7f) == 0 ? size : (usize)(data[0] & 0x7f) * 3;
    if ((data[0] & 0x80) != 0) {
        run_client(data + 2, size - 2, piece);
    } else {
        run_server(data + 2, size - 2, piece);
    }
    CD_ASSERT(world.timers == NULL && world.first == NULL);
    return 0;
}
