/* Our gRPC as other people's tools see it: the interop service of the gRPC project, as far as unary calls go, and a
 * client that asks such a service.
 *
 * usage: endpoint serve            prints "port N", serves until its standard input ends
 *        endpoint call ADDRESS     asks a server; prints "ok NAME" or "FAIL NAME: reason"
 *        endpoint bench CALLS      both sides in one process: prints processor time a call, bytes a second */
#include "base/mem/arena.h"
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "base/thread/thread.h"
#include "codec/proto.h"
#include "grpc/client.h"
#include "grpc/server.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- messages of grpc.testing --- */

typedef struct payload {
    u32 type;
    cd_bytes body;
} payload;

typedef struct echo_status {
    i32 code;
    cd_bytes message;
} echo_status;

typedef struct simple_request {
    i32 response_size;
    payload *payload;
    echo_status *response_status;
} simple_request;

typedef struct simple_response {
    payload *payload;
} simple_response;

static const cd_proto_field payload_fields[] = {
    CD_PROTO_FIELD(1, ENUM, payload, type),
    CD_PROTO_FIELD(2, BYTES, payload, body),
};
static const cd_proto_type payload_type = CD_PROTO_TYPE(payload, payload_fields, "Payload");

static const cd_proto_field status_fields[] = {
    CD_PROTO_FIELD(1, I32, echo_status, code),
    CD_PROTO_FIELD(2, STRING, echo_status, message),
};
static const cd_proto_type status_type = CD_PROTO_TYPE(echo_status, status_fields, "EchoStatus");

static const cd_proto_field request_fields[] = {
    CD_PROTO_FIELD(2, I32, simple_request, response_size),
    CD_PROTO_FIELD(3, MSG, simple_request, payload, .of = &payload_type),
    CD_PROTO_FIELD(7, MSG, simple_request, response_status, .of = &status_type),
};
static const cd_proto_type request_type = CD_PROTO_TYPE(simple_request, request_fields, "SimpleRequest");

static const cd_proto_field response_fields[] = {
    CD_PROTO_FIELD(1, MSG, simple_response, payload, .of = &payload_type),
};
static const cd_proto_type response_type = CD_PROTO_TYPE(simple_response, response_fields, "SimpleResponse");

/* --- the service --- */

enum { RESPONSE_MAX = 64 << 20 };

static void serve_empty(void *ctx, cd_grpc_call *call)
{
    (void)ctx;
    cd_grpc_reply(call, NULL);
}

static void echo_metadata(cd_grpc_call *call)
{
    cd_bytes v;
    if (cd_grpc_call_metadata(call, "x-grpc-test-echo-initial", &v)) {
        cd_grpc_call_put(call, "x-grpc-test-echo-initial", v, false);
    }
    if (cd_grpc_call_metadata(call, "x-grpc-test-echo-trailing-bin", &v)) {
        cd_grpc_call_put(call, "x-grpc-test-echo-trailing-bin", v, true);
    }
}

static void serve_unary(void *ctx, cd_grpc_call *call)
{
    simple_request req = {0};
    cd_arena mem = {0};
    cd_errinfo why = {0};
    (void)ctx;
    echo_metadata(call);
    cd_err err = cd_proto_parse(&req, &request_type, &mem, cd_grpc_call_msg(call), &why);
    if (err != CD_OK || req.response_size < 0 || req.response_size > RESPONSE_MAX) {
        cd_grpc_fail(call, CD_GRPC_INVALID_ARGUMENT, cd_bytes_str("malformed request"), (cd_bytes){0});
    } else if (req.response_status != NULL && req.response_status->code != 0) {
        cd_grpc_fail(call, (u32)req.response_status->code, req.response_status->message, (cd_bytes){0});
    } else {
        usize n = (usize)req.response_size;
        payload p = {.body = cd_bytes_of(cd_arena_zalloc(&mem, n + 1), n)};
        const simple_response answer = {.payload = &p};
        cd_buf out = {0};
        cd_proto_put(&out, &response_type, &answer);
        cd_grpc_reply(call, &out);
    }
    cd_arena_fini(&mem);
}

static const cd_grpc_method methods[] = {
    {"/grpc.testing.TestService/EmptyCall", serve_empty},
    {"/grpc.testing.TestService/UnaryCall", serve_unary},
};

/* --- loops on threads --- */

typedef struct side {
    cd_loop *loop;
    cd_thread thread;
} side;

static void run(void *arg)
{
    cd_loop_run(((side *)arg)->loop);
}

static void side_start(side *s, const char *name)
{
    if (cd_thread_start(&s->thread, name, run, s, NULL) != CD_OK) {
        (void)fprintf(stderr, "no thread\n");
        _exit(1);
    }
}

static cd_grpc_server *server_open(cd_loop *l)
{
    const cd_grpc_server_cfg cfg = cd_grpc_server_cfg_default();
    cd_grpc_server *s;
    cd_errinfo why = {0};
    if (cd_grpc_server_open(&s, l, &cfg, "127.0.0.1", 0, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        _exit(1);
    }
    cd_grpc_server_add(s, methods, CD_COUNT(methods), NULL);
    return s;
}

static int serve(void)
{
    side s = {0};
    char c;
    if (cd_loop_new(&s.loop, NULL) != CD_OK) {
        return 1;
    }
    (void)printf("port %u\n", cd_grpc_server_port(server_open(s.loop)));
    (void)fflush(stdout);
    side_start(&s, "server");
    while (read(0, &c, 1) > 0) {
    }
    _exit(0);
}

/* --- the client --- */

static int failures;

static void check(const char *name, bool ok, const cd_errinfo *why)
{
    failures += ok ? 0 : 1;
    (void)printf(ok ? "ok %s\n" : "FAIL %s: %s\n", name, why->msg);
}

static cd_err ask(cd_grpc_client *c, cd_buf *reply, const char *path, const simple_request *req, u64 timeout_ms,
                  cd_grpc_status *st, cd_errinfo *why)
{
    cd_buf msg = {0};
    if (req != NULL) {
        cd_proto_put(&msg, &request_type, req);
    }
    return cd_grpc_call_wait(c, reply, path, &msg, timeout_ms, st, why);
}

static const char unary[] = "/grpc.testing.TestService/UnaryCall";

static void ask_large(cd_grpc_client *c)
{
    enum { REQUEST = 271828, RESPONSE = 314159 };
    cd_arena mem = {0};
    cd_buf reply = {0};
    cd_errinfo why = {0};
    simple_response answer = {0};
    payload p = {.body = cd_bytes_of(cd_arena_zalloc(&mem, REQUEST), REQUEST)};
    const simple_request req = {.response_size = RESPONSE, .payload = &p};
    cd_err err = ask(c, &reply, unary, &req, 0, NULL, &why);
    err = err != CD_OK ? err : cd_proto_parse(&answer, &response_type, &mem, cd_buf_bytes(&reply), &why);
    check("large_unary", err == CD_OK && answer.payload != NULL && answer.payload->body.n == RESPONSE, &why);
    cd_buf_fini(&reply);
    cd_arena_fini(&mem);
}

static void ask_status(cd_grpc_client *c, const char *name, const char *text)
{
    echo_status echo = {.code = 2, .message = cd_bytes_str(text)};
    const simple_request req = {.response_status = &echo};
    cd_buf reply = {0};
    cd_grpc_status st = {0};
    cd_errinfo why = {0};
    cd_err err = ask(c, &reply, unary, &req, 0, &st, &why);
    check(name, err == CD_EIO && st.code == 2 && cd_bytes_eq(cd_buf_bytes(&st.message), cd_bytes_str(text)), &why);
    cd_grpc_status_fini(&st);
    cd_buf_fini(&reply);
}

static void ask_code(cd_grpc_client *c, const char *name, const char *path, cd_err want, u64 timeout_ms)
{
    cd_buf reply = {0};
    cd_errinfo why = {0};
    check(name, ask(c, &reply, path, NULL, timeout_ms, NULL, &why) == want, &why);
    cd_buf_fini(&reply);
}

static int call(const char *addr)
{
    const cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    side s = {0};
    cd_grpc_client *c;
    cd_errinfo why = {0};
    if (cd_loop_new(&s.loop, &why) != CD_OK || cd_grpc_client_new(&c, s.loop, &cfg, addr, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    side_start(&s, "client");
    ask_code(c, "empty_unary", "/grpc.testing.TestService/EmptyCall", CD_OK, 0);
    ask_large(c);
    ask_status(c, "status_code_and_message", "test status message");
    ask_status(c, "special_status_message",
               "\t\ntest with whitespace\r\nand Unicode BMP \xe2\x98\xba and non-BMP \xf0\x9f\x98\x88\t\n");
    ask_code(c, "unimplemented_method", "/grpc.testing.TestService/UnimplementedCall", CD_EUNSUPPORTED, 0);
    ask_code(c, "unimplemented_service", "/grpc.testing.UnimplementedService/UnimplementedCall", CD_EUNSUPPORTED, 0);
    ask_code(c, "with_deadline", "/grpc.testing.TestService/EmptyCall", CD_OK, 10000);
    (void)fflush(stdout);
    _exit(failures == 0 ? 0 : 1);
}

/* --- what it costs --- */

static u64 cpu_us(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (u64)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + (u64)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void bench_large(cd_grpc_client *c)
{
    enum { SIZE = 16 << 20, ROUNDS = 60, WARM = 5 };
    u64 taken_ns = 0;
    u64 taken_us = 0;
    for (u32 i = 0; i < ROUNDS + WARM; i++) {
        payload p = {0};
        cd_buf body = {0};
        cd_buf reply = {0};
        cd_errinfo why = {0};
        cd_buf_fill(&body, 'x', SIZE);
        p.body = cd_buf_bytes(&body);
        const simple_request req = {.payload = &p};
        cd_buf msg = {0};
        cd_proto_put(&msg, &request_type, &req);
        u64 from = cd_clock_mono_ns(cd_clock_real());
        u64 cpu = cpu_us();
        if (cd_grpc_call_wait(c, &reply, unary, &msg, 0, NULL, &why) != CD_OK) {
            (void)fprintf(stderr, "%s\n", why.msg);
            _exit(1);
        }
        taken_ns += i >= WARM ? cd_clock_mono_ns(cd_clock_real()) - from : 0;
        taken_us += i >= WARM ? cpu_us() - cpu : 0;
        cd_buf_fini(&body);
        cd_buf_fini(&reply);
    }
    (void)printf("large_mb_per_s %llu\n", (unsigned long long)((u64)SIZE * ROUNDS * 1000 / taken_ns));
    (void)printf("large_mb_per_cpu_s %llu\n", (unsigned long long)((u64)SIZE * ROUNDS / taken_us));
}

/* Calls one behind the other, each begun by the end of the one before: no thread waits. */
typedef struct chain {
    cd_grpc_ask ask; /* first */
    cd_loop_task task;
    cd_grpc_client *client;
    u64 left;
    cd_mutex lock;
    cd_cond over;
    bool is_over;
} chain;

static void chain_next(chain *c);

static void on_link(cd_grpc_ask *a)
{
    chain *c = (chain *)a;
    bool ok = a->status.code == CD_GRPC_OK;
    cd_grpc_ask_fini(a);
    if (ok && c->left-- != 0) {
        chain_next(c);
        return;
    }
    cd_mutex_lock(&c->lock);
    c->is_over = true;
    cd_cond_wake_one(&c->over);
    cd_mutex_unlock(&c->lock);
}

static void chain_next(chain *c)
{
    c->ask = (cd_grpc_ask){.path = "/grpc.testing.TestService/EmptyCall", .done = on_link};
    cd_buf_fill(&c->ask.msg, 'x', 100);
    cd_grpc_ask_start(c->client, &c->ask);
}

static void on_chain(cd_loop_task *t)
{
    chain_next((chain *)(void *)((char *)t - offsetof(chain, task)));
}

static void bench_chains(cd_loop *l, cd_grpc_client *client, u64 calls, u32 cnt)
{
    chain *c = cd_new_array(chain, cnt);
    u64 cpu = cpu_us();
    for (u32 i = 0; i < cnt; i++) {
        c[i] = (chain){.task = {.fn = on_chain}, .client = client, .left = calls / cnt};
        cd_mutex_init(&c[i].lock);
        cd_cond_init(&c[i].over);
        cd_loop_post(l, &c[i].task);
    }
    for (u32 i = 0; i < cnt; i++) {
        cd_mutex_lock(&c[i].lock);
        while (!c[i].is_over) {
            cd_cond_wait(&c[i].over, &c[i].lock);
        }
        cd_mutex_unlock(&c[i].lock);
    }
    (void)printf("cpu_ns_per_call_%u_at_a_time %llu\n", cnt, (unsigned long long)((cpu_us() - cpu) * 1000 / calls));
}

static void bench_waiting(cd_grpc_client *c, u64 calls)
{
    u64 cpu = cpu_us();
    u64 wall = cd_clock_mono_ns(cd_clock_real());
    for (u64 i = 0; i < calls; i++) {
        cd_buf reply = {0};
        cd_buf msg = {0};
        cd_errinfo why = {0};
        cd_buf_fill(&msg, 'x', 100);
        if (cd_grpc_call_wait(c, &reply, "/grpc.testing.TestService/EmptyCall", &msg, 0, NULL, &why) != CD_OK) {
            (void)fprintf(stderr, "%s\n", why.msg);
            _exit(1);
        }
        cd_buf_fini(&reply);
    }
    (void)printf("cpu_ns_per_call_of_a_thread %llu\n", (unsigned long long)((cpu_us() - cpu) * 1000 / calls));
    (void)printf("wall_ns_per_call_of_a_thread %llu\n",
                 (unsigned long long)((cd_clock_mono_ns(cd_clock_real()) - wall) / calls));
}

static int bench(u64 calls)
{
    const cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    side server = {0};
    side client = {0};
    cd_grpc_client *c;
    char addr[32];
    cd_errinfo why = {0};
    cd_mem_tune();
    if (cd_loop_new(&server.loop, &why) != CD_OK || cd_loop_new(&client.loop, &why) != CD_OK) {
        return 1;
    }
    (void)snprintf(addr, sizeof addr, "127.0.0.1:%u", cd_grpc_server_port(server_open(server.loop)));
    if (cd_grpc_client_new(&c, client.loop, &cfg, addr, &why) != CD_OK) {
        return 1;
    }
    side_start(&server, "server");
    side_start(&client, "client");
    bench_chains(client.loop, c, calls, 1);
    bench_chains(client.loop, c, calls, 32);
    bench_waiting(c, calls);
    bench_large(c);
    (void)fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    u64 calls = 0;
    if (argc == 2 && strcmp(argv[1], "serve") == 0) {
        return serve();
    }
    if (argc == 3 && strcmp(argv[1], "call") == 0) {
        return call(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "bench") == 0 && cd_u64_parse(&calls, cd_bytes_str(argv[2])) == CD_OK &&
        calls >= 10) {
        return bench(calls);
    }
    (void)fprintf(stderr, "usage: endpoint serve | call ADDRESS | bench CALLS\n");
    return 2;
}
