/* Services over real loopback connections: the loop runs in a thread of its own, the test is the client.
 * [spec:eth-rpc#1] */
#include "base/mem/mem.h"

#include "base/thread/pool.h"
#include "base/thread/thread.h"
#include "rpc/endpoint.h"

#include "rpc/named.h"
#include "rpc/param.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- the service --- */

static _Thread_local bool is_loop;
static _Thread_local bool is_owner;

static cd_err test_where(cd_rpc_call *call)
{
    cd_json_w_cstr(call->out, is_loop ? "loop" : is_owner ? "owner" : "worker");
    return CD_OK;
}

/* Answers on the loop when it is given a number, else only where it may wait. */
static cd_err test_try(cd_rpc_call *call)
{
    if (!cd_rpc_has_arg(call, 0) && call->lane == CD_RPC_TRY) {
        cd_json_w_cstr(call->out, "half an answer");
        return CD_EAGAIN;
    }
    return test_where(call);
}

/* A short text or a long one, between two of its own. */
static cd_err test_shared(cd_rpc_call *call)
{
    u64 n;
    cd_buf text = {0};
    CD_TRY(cd_json_u64(&n, cd_rpc_arg(call, 0), NULL));
    cd_buf_u8(&text, '"');
    cd_buf_fill(&text, 's', n);
    cd_buf_u8(&text, '"');
    cd_shared *s = cd_shared_take(&text);
    cd_json_w_arr(call->out);
    cd_json_w_null(call->out);
    cd_rpc_write_shared(call, s);
    cd_json_w_null(call->out);
    cd_json_w_arr_end(call->out);
    cd_shared_unref(s);
    return cd_rpc_has_arg(call, 1) ? cd_rpc_fail(call, CD_RPC_SERVER, "after all") : CD_OK;
}

static cd_err test_size(cd_rpc_call *call)
{
    cd_bytes text = {0};
    if (cd_json_str(&text, cd_json_at(call->params, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: not a string");
    }
    cd_json_w_u64(call->out, text.n);
    return CD_OK;
}

/* A call that waits until test_resume is called, or hardly at all when it is given a number. */
typedef struct parked {
    cd_mutex lock;
    cd_cond came;
    void (*resume)(void *arg);
    void *arg;
    bool is_short;
    atomic_uint drops;
} parked;

static parked waiting;

static void wait_arm(void *ctx, void (*resume)(void *arg), void *arg)
{
    parked *p = ctx;
    if (p->is_short) {
        resume(arg);
        return;
    }
    cd_mutex_lock(&p->lock);
    p->resume = resume;
    p->arg = arg;
    cd_cond_wake_all(&p->came);
    cd_mutex_unlock(&p->lock);
}

static void wait_drop(void *ctx)
{
    atomic_fetch_add(&((parked *)ctx)->drops, 1);
}

static cd_err test_wait(cd_rpc_call *call)
{
    cd_json_w_cstr(call->out, "awaited");
    if (call->wait == NULL) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "not in a batch");
    }
    if (call->wait->ctx != NULL) {
        call->wait->ctx = NULL;
        return CD_OK;
    }
    waiting.is_short = call->method->args != NULL || cd_rpc_has_arg(call, 0);
    *call->wait = (cd_rpc_wait){.arm = wait_arm, .drop = wait_drop, .ctx = &waiting};
    return CD_EAGAIN;
}

/* Lets the call that waits go on. */
static void wake(void)
{
    cd_mutex_lock(&waiting.lock);
    while (waiting.resume == NULL) {
        cd_cond_wait(&waiting.came, &waiting.lock);
    }
    void (*resume)(void *arg) = waiting.resume;
    waiting.resume = NULL;
    cd_mutex_unlock(&waiting.lock);
    resume(waiting.arg);
}

#define NODE_METHODS(X)                                                                                                \
    X("", node.name, "", node_name, FAST, NONE, "{}", "Nothing")                                                       \
    X("", node.act, "", node_act, FAST_ACTS, NONE, "{}", "Acts")                                                       \
    X("", node.wait, "", node_wait, READ, ARGS((U64, n, "n", OPTIONAL)), "String", "Waits")
NODE_METHODS(CD_RPC_NAMED_DECL)

cd_err node_name(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err node_wait(cd_rpc_call *call)
{
    return test_wait(call);
}

cd_err node_act(cd_rpc_call *call)
{
    return node_name(call);
}

static cd_rpc_topic *ticks;

static cd_err open_ticks(cd_rpc_call *call, cd_rpc_topic **out)
{
    (void)call;
    *out = cd_rpc_topic_ref(ticks);
    return CD_OK;
}

static const cd_rpc_kind kinds[] = {
    {.group = "", .space = "test", .name = "ticks", .open = open_ticks},
};

static const cd_rpc_method rows[] = {
    CD_RPC_ROW("", test_fast, test_where, FAST, 0, 0, "-> String", "Where it runs")
        CD_RPC_ROW("", test_read, test_where, READ, 0, 0, "-> String", "Where it runs")
            CD_RPC_ROW("", test_try, test_try, TRY, 0, 1, "n?: Int -> String", "Where it runs")
                CD_RPC_ROW("", test_shared, test_shared, TRY, 1, 2, "n: Int, x?: Int -> Any", "Text")
                    CD_RPC_ROW("", test_owner, test_where, OWNER, 0, 0, "-> String", "Where it runs")
                        CD_RPC_ROW("", test_act, test_where, OWNER_ACTS, 0, 0, "-> String", "Acts")
                            CD_RPC_ROW("", test_wait, test_wait, OWNER, 0, 1, "n?: Int -> String", "Waits")
                                CD_RPC_ROW("", test_size, test_size, FAST, 1, 1, "s: String -> Int", "How long")};

static const cd_rpc_method node_rows[] = {NODE_METHODS(CD_RPC_NAMED_ROW)};

/* --- the server --- */

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *ws;
    cd_pool *pool;
    cd_pool *owner; /* one thread */
    cd_thread thread;
    u16 port;
    atomic_bool is_busy;
    cd_rpc_table *tables[2];
    cd_rpc_service services[2];
    cd_rpc_endpoint *endpoints[2];
    cd_loop_task stop;
} rig;

static void run_job(void *arg)
{
    cd_rpc_job *job = arg;
    job->run(job);
}

static void run_owner(void *arg)
{
    is_owner = true;
    run_job(arg);
}

static cd_err run_lane(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    rig *g = ctx;
    if (atomic_load(&g->is_busy)) {
        return CD_EFULL;
    }
    return lane == CD_RPC_OWNER ? cd_pool_submit(g->owner, run_owner, job) : cd_pool_submit(g->pool, run_job, job);
}

static void loop_main(void *arg)
{
    is_loop = true;
    cd_loop_run(((rig *)arg)->loop);
}

/* A route with a star, whose owner knows one path below it. */
static void on_star(void *ctx, cd_http_req *req)
{
    const rig *g = ctx;
    if (cd_bytes_eq(cd_http_req_path(req), cd_bytes_str("/below/rpc"))) {
        cd_rpc_endpoint_serve(g->endpoints[0], req, CD_RPC_OVER_HTTP | CD_RPC_OVER_WS);
    } else {
        cd_http_reply_not_found(req);
    }
}

static usize star_body_max(void *ctx, cd_bytes path)
{
    (void)ctx;
    return cd_bytes_eq(path, cd_bytes_str("/below/rpc")) ? 64 : 0;
}

static void rig_open(rig *g)
{
    *g = (rig){0};
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    assert_int_equal(cd_pool_new(&g->pool, 2, 64, "worker", NULL), CD_OK);
    assert_int_equal(cd_pool_new(&g->owner, 1, 64, "owner", NULL), CD_OK);
    g->server = cd_http_server_new(g->loop, &(cd_http_cfg){.allowed_origins = "* https://friend.example"});
    g->ws = cd_ws_hub_new(g->loop, NULL);
    ticks = cd_rpc_topic_new(g->loop, NULL, NULL);
    for (usize i = 0; i < 2; i++) {
        g->tables[i] = cd_rpc_table_new(NULL, 0);
        g->services[i] = (cd_rpc_service){
            .form = i == 0 ? CD_RPC_ETH : CD_RPC_JSON2,
            .table = g->tables[i],
            .limits = CD_RPC_LIMITS_DEFAULT,
            .kinds = i == 0 ? kinds : NULL,
            .kinds_cnt = i == 0 ? CD_COUNT(kinds) : 0,
        };
        cd_rpc_endpoint_cfg cfg = {
            .loop = g->loop,
            .lanes = {.run = run_lane, .ctx = g},
            .service = &g->services[i],
            .ws = i == 0 ? g->ws : NULL,
        };
        g->endpoints[i] = cd_rpc_endpoint_new(&cfg);
    }
    g->services[0].limits.body_max = 1 << 20;
    cd_rpc_table_add(g->tables[0], rows, CD_COUNT(rows));
    cd_rpc_table_add(g->tables[1], node_rows, CD_COUNT(node_rows));
    cd_rpc_endpoint_route(g->endpoints[0], g->server, "/", CD_RPC_OVER_HTTP | CD_RPC_OVER_WS);
    cd_rpc_endpoint_route(g->endpoints[0], g->server, "/rpc", CD_RPC_OVER_HTTP);
    cd_rpc_endpoint_route(g->endpoints[0], g->server, "/ws", CD_RPC_OVER_WS);
    cd_rpc_endpoint_route(g->endpoints[1], g->server, "/node", CD_RPC_OVER_HTTP);
    const cd_http_route star = {
        .path = "/below/*",
        .methods = CD_HTTP_ANY,
        .handler = on_star,
        .ctx = g,
        .body_max_of = star_body_max,
    };
    cd_http_server_route(g->server, &star);
    assert_int_equal(cd_http_server_listen(g->server, "127.0.0.1", 0, NULL), CD_OK);
    g->port = cd_http_server_port(g->server);
    assert_int_equal(cd_thread_start(&g->thread, "loop", loop_main, g, NULL), CD_OK);
}

static void on_stopped(void *ctx)
{
    cd_loop_stop(((rig *)ctx)->loop);
}

static void on_stop(cd_loop_task *t)
{
    rig *g = (rig *)(void *)((u8 *)t - offsetof(rig, stop));
    cd_http_server_stop(g->server, 1000, on_stopped, g);
}

static void rig_close(rig *g)
{
    g->stop.fn = on_stop;
    cd_loop_post(g->loop, &g->stop);
    cd_thread_join(&g->thread);
    cd_pool_free(g->pool);
    cd_pool_free(g->owner);
    cd_http_server_free(g->server);
    for (usize i = 0; i < 2; i++) {
        cd_rpc_endpoint_free(g->endpoints[i]);
        cd_rpc_table_free(g->tables[i]);
    }
    cd_ws_hub_free(g->ws);
    cd_rpc_topic_unref(ticks);
    cd_loop_free(g->loop);
}

/* --- the client --- */

static int dial(const rig *g)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(g->port)};
    struct timeval patience = {.tv_sec = 10};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void say(int fd, cd_bytes text)
{
    for (usize at = 0; at < text.n;) {
        ssize_t n = send(fd, text.p + at, text.n - at, 0);
        assert_true(n > 0);
        at += (usize)n;
    }
}

/* Reads one answer, head and body. */
static void hear(int fd, cd_buf *out)
{
    usize want = SIZE_MAX;
    out->n = 0;
    while (out->n < want) {
        u8 *at = cd_buf_reserve(out, 65536);
        ssize_t n = recv(fd, at, 65536, 0);
        assert_true(n > 0);
        out->n += (usize)n;
        const char *text = cd_buf_cstr(out);
        const char *end = strstr(text, "\r\n\r\n");
        const char *len = strstr(text, "Content-Length: ");
        u64 body = 0;
        if (end != NULL && len != NULL && len < end) {
            assert_int_equal(sscanf(len, "Content-Length: %lu", &body), 1);
        }
        want = end == NULL ? SIZE_MAX : (usize)(end - text) + 4 + body;
    }
}

/* Asks as a page of origin does; NULL: as no browser. */
static void ask_from(int fd, cd_buf *out, const char *origin, const char *method, const char *path, const char *type,
                     cd_bytes body)
{
    cd_buf text = {0};
    cd_buf_fmt(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path);
    if (origin != NULL) {
        cd_buf_fmt(&text, "Origin: %s\r\n", origin);
    }
    if (type != NULL) {
        cd_buf_fmt(&text, "Content-Type: %s\r\n", type);
    }
    if (body.n != 0) {
        cd_buf_fmt(&text, "Content-Length: %zu\r\n", body.n);
    }
    cd_buf_str(&text, "\r\n");
    cd_buf_put(&text, body);
    say(fd, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    hear(fd, out);
}

static void ask(int fd, cd_buf *out, const char *method, const char *path, const char *type, cd_bytes body)
{
    ask_from(fd, out, NULL, method, path, type, body);
}

static void expect(const cd_buf *got, const char *status, const char *header, const char *body)
{
    const char *text = cd_buf_cstr((cd_buf *)(usize)got);
    assert_memory_equal(text, status, strlen(status));
    if (header != NULL) {
        assert_non_null(strstr(text, header));
    }
    assert_string_equal(strstr(text, "\r\n\r\n") + 4, body);
}

#define CALL(method)   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\"}"
#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define JSON           "application/json"

static void over_http(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        const char *path;
        const char *type;
        const char *body;
        const char *status;
        const char *header;
        const char *answer;
    } cases[] = {
        {"POST", "/rpc", JSON, CALL("test_fast"), "HTTP/1.1 200", "Content-Type: application/json\r\n",
         RESULT("\"loop\"")},
        {"POST", "/", "application/json; charset=utf-8", CALL("test_read"), "HTTP/1.1 200", NULL, RESULT("\"worker\"")},
        {"POST", "/rpc", "Application/JSON-RPC", CALL("test_owner"), "HTTP/1.1 200", NULL, RESULT("\"owner\"")},
        {"POST", "/rpc", JSON,
         "[" CALL("test_owner") "," CALL("test_read") "," CALL("test_fast") "," CALL("test_owner") "," CALL(
             "test_try") "]",
         "HTTP/1.1 200", NULL,
         "[" RESULT("\"owner\"") "," RESULT("\"worker\"") "," RESULT("\"worker\"") "," RESULT("\"owner\"") "," RESULT(
             "\"worker\"") "]"},
        {"POST", "/rpc", JSON, "{\"jsonrpc\":\"2.0\",\"method\":\"test_fast\"}", "HTTP/1.1 200", NULL, ""},
        {"POST", "/rpc", "text/plain", CALL("test_fast"), "HTTP/1.1 415", NULL,
         "invalid content type, only application/json is supported\n"},
        {"POST", "/rpc", NULL, CALL("test_fast"), "HTTP/1.1 415", NULL,
         "invalid content type, only application/json is supported\n"},
        {"GET", "/rpc", NULL, "", "HTTP/1.1 200", NULL, ""},
        {"DELETE", "/rpc", JSON, "", "HTTP/1.1 405", NULL, "method not allowed\n"},
        {"GET", "/ws", NULL, "", "HTTP/1.1 400", NULL, NULL},
        {"POST", "/node", JSON, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node.name\"}", "HTTP/1.1 200",
         "Content-Type: application/json; charset=utf-8\r\n", "{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":1}\n"},
        {"GET", "/node", NULL, "", "HTTP/1.1 405", "Content-Type: text/plain; charset=utf-8\r\n",
         "rpc: POST method required, received GET"},
        {"POST", "/node", "text/html", "{}", "HTTP/1.1 415", NULL, "rpc: unrecognized Content-Type: text/html"},
        {"POST", "/node", NULL, "{}", "HTTP/1.1 415", NULL, "rpc: unrecognized Content-Type: "},
    };
    rig g;
    cd_buf got = {0};
    rig_open(&g);
    int fd = dial(&g);
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        ask(fd, &got, cases[i].method, cases[i].path, cases[i].type, cd_bytes_str(cases[i].body));
        if (cases[i].answer != NULL) {
            expect(&got, cases[i].status, cases[i].header, cases[i].answer);
        }
    }
    (void)close(fd);
    cd_buf_fini(&got);
    rig_close(&g);
}

/* A call waits without a thread, and is called again; over both forms, and when no thread has room for it then. */
static void waits(void **state)
{
    (void)state;
    rig g;
    cd_buf got = {0};
    cd_mutex_init(&waiting.lock);
    cd_cond_init(&waiting.came);
    rig_open(&g);
    int fd = dial(&g);
    int other = dial(&g);
    ask(fd, &got, "POST", "/rpc", JSON,
        cd_bytes_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_wait\",\"params\":[1]}"));
    expect(&got, "HTTP/1.1 200", NULL, RESULT("\"awaited\""));
    ask(fd, &got, "POST", "/node", JSON,
        cd_bytes_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node.wait\",\"params\":{}}"));
    expect(&got, "HTTP/1.1 200", NULL, "{\"jsonrpc\":\"2.0\",\"result\":\"awaited\",\"id\":1}\n");
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str("[" CALL("test_wait") "]"));
    expect(&got, "HTTP/1.1 200", NULL,
           "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"not in a batch\"}}]");
    for (u32 i = 0; i < 2; i++) {
        say(fd, cd_bytes_str("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             "Content-Length: 45\r\n\r\n" CALL("test_wait")));
        ask(other, &got, "POST", "/rpc", JSON, cd_bytes_str(CALL("test_owner"))); /* the owner's thread is free */
        expect(&got, "HTTP/1.1 200", NULL, RESULT("\"owner\""));
        atomic_store(&g.is_busy, i == 1);
        wake();
        hear(fd, &got);
        assert_int_equal(atomic_load(&waiting.drops), i);
        if (i == 0) {
            expect(&got, "HTTP/1.1 200", NULL, RESULT("\"awaited\""));
        }
    }
    expect(&got, "HTTP/1.1 503", NULL,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,\"message\":\"too many "
           "requests are waiting\"}}");
    (void)close(fd);
    (void)close(other);
    cd_buf_fini(&got);
    rig_close(&g);
    cd_mutex_fini(&waiting.lock);
    cd_cond_fini(&waiting.came);
}

#define TRY_CALL(params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_try\",\"params\":" params "}"

static void tries(void **state)
{
    (void)state;
    rig g;
    cd_buf got = {0};
    rig_open(&g);
    int fd = dial(&g);
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str(TRY_CALL("[1]")));
    expect(&got, "HTTP/1.1 200", NULL, RESULT("\"loop\""));
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str(TRY_CALL("[]")));
    expect(&got, "HTTP/1.1 200", NULL, RESULT("\"worker\""));
    assert_int_equal(cd_rpc_method_calls(cd_rpc_table_find(g.tables[0], cd_bytes_str("test_try"))), 2);
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str("[" TRY_CALL("[1]") "]"));
    expect(&got, "HTTP/1.1 200", NULL, "[" RESULT("\"worker\"") "]");
    atomic_store(&g.is_busy, true);
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str(TRY_CALL("[]")));
    expect(&got, "HTTP/1.1 503", NULL,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,\"message\":\"too many "
           "requests are waiting\"}}");
    (void)close(fd);
    cd_buf_fini(&got);
    rig_close(&g);
}

/* Shared texts arrive as if they had been copied: alone, many in a batch, beside a failure and in notifications. */
static void shared_texts(void **state)
{
    enum { CALLS = 40 };
    (void)state;
    rig g;
    cd_buf got = {0};
    cd_buf batch = {0};
    cd_buf want = {0};
    rig_open(&g);
    int fd = dial(&g);
    for (u64 size = 0; size <= 100000; size += 50000) {
        cd_buf_clear(&batch);
        cd_buf_clear(&want);
        for (int i = 0; i < CALLS; i++) {
            cd_buf_fmt(&batch, "%s{\"jsonrpc\":\"2.0\"%s,\"method\":\"test_shared\",\"params\":[%llu%s]}",
                       i == 0 ? "[" : ",", i == 1 ? "" : ",\"id\":7", (unsigned long long)size, i == 2 ? ",1" : "");
            if (i == 1) {
                continue;
            }
            cd_buf_str(&want, i == 0 ? "[" : ",");
            cd_buf_str(&want, "{\"jsonrpc\":\"2.0\",\"id\":7,");
            if (i == 2) {
                cd_buf_str(&want, "\"error\":{\"code\":-32000,\"message\":\"after all\"}}");
                continue;
            }
            cd_buf_str(&want, "\"result\":[null,\"");
            cd_buf_fill(&want, 's', size);
            cd_buf_str(&want, "\",null]}");
        }
        cd_buf_u8(&batch, ']');
        cd_buf_u8(&want, ']');
        ask(fd, &got, "POST", "/rpc", JSON, cd_buf_bytes(&batch));
        expect(&got, "HTTP/1.1 200", NULL, cd_buf_cstr(&want));
    }
    (void)close(fd);
    cd_buf_fini(&want);
    cd_buf_fini(&batch);
    cd_buf_fini(&got);
    rig_close(&g);
}

static void long_bodies(void **state)
{
    (void)state;
    rig g;
    cd_buf got = {0};
    cd_buf body = {0};
    rig_open(&g);
    int fd = dial(&g);
    cd_buf_str(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_size\",\"params\":[\"");
    cd_buf_fill(&body, 'x', 500000);
    cd_buf_str(&body, "\"]}");
    ask(fd, &got, "POST", "/rpc", JSON, cd_buf_bytes(&body));
    expect(&got, "HTTP/1.1 200", NULL, RESULT("500000"));
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str(CALL("test_fast")));
    expect(&got, "HTTP/1.1 200", NULL, RESULT("\"loop\""));
    cd_buf_fill(&body, ' ', 1 << 20);
    ask(fd, &got, "POST", "/rpc", JSON, cd_buf_bytes(&body));
    char want[64];
    (void)snprintf(want, sizeof want, "content length too large (%zu>1048576)", body.n);
    assert_memory_equal(got.p, "HTTP/1.1 413", 12);
    assert_non_null(strstr(cd_buf_cstr(&got), want));
    (void)close(fd);
    cd_buf_fini(&body);
    cd_buf_fini(&got);
    rig_close(&g);
}

static void busy(void **state)
{
    (void)state;
    rig g;
    cd_buf got = {0};
    rig_open(&g);
    int fd = dial(&g);
    atomic_store(&g.is_busy, true);
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str(CALL("test_read")));
    expect(&got, "HTTP/1.1 503", NULL,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,\"message\":\"too many requests "
           "are waiting\"}}");
    ask(fd, &got, "POST", "/rpc", JSON, cd_bytes_str(CALL("test_fast")));
    expect(&got, "HTTP/1.1 200", NULL, RESULT("\"loop\""));
    (void)close(fd);
    cd_buf_fini(&got);
    rig_close(&g);
}

/* --- WebSocket --- */

static void ws_open_from(int fd, cd_buf *got, const char *origin, const char *path)
{
    cd_buf text = {0};
    cd_buf_fmt(&text,
               "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "
               "websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
               "dGhlIHNhbXBsZSBub25jZQ==\r\n%s%s\r\n\r\n",
               path, origin == NULL ? "X: y" : "Origin: ", origin == NULL ? "" : origin);
    say(fd, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    hear(fd, got);
    assert_memory_equal(got->p, "HTTP/1.1 101", 12);
}

static void ws_open(int fd, cd_buf *got, const char *path)
{
    ws_open_from(fd, got, NULL, path);
}

/* A text message of fewer than 126 bytes, with a mask of zeros. */
static void ws_say(int fd, const char *text)
{
    cd_buf frame = {0};
    usize n = strlen(text);
    assert_true(n < 126);
    cd_buf_u8(&frame, 0x81);
    cd_buf_u8(&frame, (u8)(0x80 | n));
    cd_buf_fill(&frame, 0, 4);
    cd_buf_str(&frame, text);
    say(fd, cd_buf_bytes(&frame));
    cd_buf_fini(&frame);
}

static void read_n(int fd, u8 *out, usize n)
{
    for (usize at = 0; at < n;) {
        ssize_t got = recv(fd, out + at, n - at, 0);
        assert_true(got > 0);
        at += (usize)got;
    }
}

static void ws_expect(int fd, const char *want)
{
    u8 head[2];
    u8 len[2];
    char text[1024];
    read_n(fd, head, 2);
    assert_int_equal(head[0], 0x81);
    usize n = head[1];
    if (n == 126) {
        read_n(fd, len, 2);
        n = cd_be16(len);
    }
    assert_true(n < sizeof text);
    read_n(fd, (u8 *)text, n);
    text[n] = '\0';
    assert_string_equal(text, want);
}

static void over_ws(void **state)
{
    (void)state;
    static const char *const paths[] = {"/ws", "/"};
    rig g;
    cd_buf got = {0};
    rig_open(&g);
    for (usize i = 0; i < CD_COUNT(paths); i++) {
        int fd = dial(&g);
        ws_open(fd, &got, paths[i]);
        ws_say(fd, CALL("test_fast"));
        ws_expect(fd, RESULT("\"loop\""));
        ws_say(fd, CALL("test_read"));
        ws_expect(fd, RESULT("\"worker\""));
        ws_say(fd, "{bad");
        ws_expect(fd, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
                      "\"invalid character 'b' looking for beginning of object key string\"}}");
        ws_say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_subscribe\",\"params\":[\"ticks\"]}");
        u8 head[2];
        char id[128];
        read_n(fd, head, 2);
        read_n(fd, (u8 *)id, head[1]);
        id[head[1]] = '\0';
        assert_memory_equal(id, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x", 36);
        *strchr(id + 36, '"') = '\0';
        for (int k = 0; k < 3; k++) {
            cd_buf text = {0};
            char want[256];
            cd_buf_fmt(&text, "%d", k);
            cd_rpc_topic_publish(ticks, cd_rpc_note_new(&text, ""));
            (void)snprintf(want, sizeof want,
                           "{\"jsonrpc\":\"2.0\",\"method\":\"test_subscription\",\"params\":{"
                           "\"subscription\":\"0x%s\",\"result\":%d}}",
                           id + 36, k);
            ws_expect(fd, want);
        }
        (void)close(fd);
    }
    cd_buf_fini(&got);
    rig_close(&g);
}

/* --- pages of strangers --- */

#define EVIL "https://evil.example"
#define REFUSED(id, method)                                                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":4100,\"message\":\"" method                                \
    " acts without a signature: not for pages of \\\"" EVIL "\\\", unless --http-allowed-origins names them\"}}"

/* One field of HPACK without an index. */
static void put_field(cd_buf *b, const char *name, const char *value)
{
    cd_buf_u8(b, 0);
    cd_buf_u8(b, (u8)strlen(name));
    cd_buf_str(b, name);
    cd_buf_u8(b, (u8)strlen(value));
    cd_buf_str(b, value);
}

static void put_frame(cd_buf *out, u8 type, u8 flags, u8 id, cd_bytes payload)
{
    const u8 head[] = {0, (u8)(payload.n >> 8), (u8)payload.n, type, flags, 0, 0, 0, id};
    cd_buf_put(out, cd_bytes_of(head, sizeof head));
    cd_buf_put(out, payload);
}

/* Posts text as a page of EVIL over HTTP/2; the answer's body goes to out. */
static void ask_http2(const rig *g, cd_buf *out, const char *text)
{
    enum { DATA, HEADERS, SETTINGS = 4 };
    cd_buf b = {0};
    cd_buf fields = {0};
    u8 head[9];
    int fd = dial(g);
    put_field(&fields, ":method", "POST");
    put_field(&fields, ":scheme", "http");
    put_field(&fields, ":path", "/rpc");
    put_field(&fields, ":authority", "localhost");
    put_field(&fields, "content-type", JSON);
    put_field(&fields, "origin", EVIL);
    cd_buf_str(&b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    put_frame(&b, SETTINGS, 0, 0, (cd_bytes){0});
    put_frame(&b, HEADERS, 4, 1, cd_buf_bytes(&fields));
    put_frame(&b, DATA, 1, 1, cd_bytes_str(text));
    say(fd, cd_buf_bytes(&b));
    do {
        read_n(fd, head, sizeof head);
        cd_buf_clear(out);
        usize n = cd_be32(head) >> 8;
        read_n(fd, cd_buf_extend(out, n), n);
    } while (head[3] != DATA);
    (void)close(fd);
    cd_buf_fini(&b);
    cd_buf_fini(&fields);
}

/* They may read, and act through nothing: not alone, not in a batch, not over WebSocket, not over HTTP/2. What is no
 * page, and whom the configuration names, may. [spec:decisions#D50] */
static void strangers(void **state)
{
    (void)state;
    static const char *const friends[] = {NULL, "http://localhost:3000", "https://friend.example",
                                          "chrome-extension://abc"};
    static const char two[] = "[" CALL("test_act") "," CALL("test_fast") "]";
    rig g;
    cd_buf got = {0};
    rig_open(&g);
    int fd = dial(&g);
    ask_from(fd, &got, EVIL, "POST", "/rpc", JSON, cd_bytes_str(CALL("test_fast")));
    expect(&got, "HTTP/1.1 200", "Access-Control-Allow-Origin: *\r\n", RESULT("\"loop\""));
    ask_from(fd, &got, EVIL, "POST", "/", JSON, cd_bytes_str(CALL("test_act")));
    expect(&got, "HTTP/1.1 200", NULL, REFUSED("1", "test_act"));
    ask_from(fd, &got, EVIL, "POST", "/rpc", JSON, cd_bytes_str(two));
    expect(&got, "HTTP/1.1 200", NULL, "[" REFUSED("1", "test_act") "," RESULT("\"owner\"") "]");
    ask_from(fd, &got, EVIL, "POST", "/rpc", "text/plain", cd_bytes_str(CALL("test_act")));
    expect(&got, "HTTP/1.1 415", NULL, "invalid content type, only application/json is supported\n");
    ask_from(fd, &got, EVIL, "POST", "/node", JSON,
             cd_bytes_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node.act\"}"));
    assert_non_null(strstr(cd_buf_cstr(&got), "\"code\":4100,"));
    ask_from(fd, &got, EVIL, "POST", "/node", JSON,
             cd_bytes_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node.name\"}"));
    assert_non_null(strstr(cd_buf_cstr(&got), "\"result\":{}"));
    ask_from(fd, &got, "null", "POST", "/rpc", JSON, cd_bytes_str(CALL("test_act")));
    assert_non_null(strstr(cd_buf_cstr(&got), "\"code\":4100,"));
    (void)close(fd);
    ask_http2(&g, &got, CALL("test_act"));
    assert_string_equal(cd_buf_cstr(&got), REFUSED("1", "test_act"));
    ask_http2(&g, &got, CALL("test_fast"));
    assert_string_equal(cd_buf_cstr(&got), RESULT("\"loop\""));
    fd = dial(&g);
    ws_open_from(fd, &got, EVIL, "/ws");
    ws_say(fd, CALL("test_act"));
    ws_expect(fd, REFUSED("1", "test_act"));
    ws_say(fd, CALL("test_fast"));
    ws_expect(fd, RESULT("\"loop\""));
    (void)close(fd);
    for (usize i = 0; i < CD_COUNT(friends); i++) {
        fd = dial(&g);
        ask_from(fd, &got, friends[i], "POST", "/rpc", JSON, cd_bytes_str(CALL("test_act")));
        expect(&got, "HTTP/1.1 200", NULL, RESULT("\"owner\""));
        (void)close(fd);
        fd = dial(&g);
        ws_open_from(fd, &got, friends[i], "/ws");
        ws_say(fd, CALL("test_act"));
        ws_expect(fd, RESULT("\"owner\""));
        (void)close(fd);
    }
    cd_buf_fini(&got);
    rig_close(&g);
}

/* What the loop is told to do, and what it says. */
typedef struct errand {
    cd_loop_task task;
    rig *g;
    bool leaves;
    atomic_int said; /* -1: nothing yet */
} errand;

static void run_errand(cd_loop_task *t)
{
    errand *e = (errand *)(void *)t;
    if (e->leaves) {
        cd_rpc_endpoint_leave(e->g->endpoints[0]);
    }
    atomic_store(&e->said, cd_rpc_endpoint_is_idle(e->g->endpoints[0]) ? 1 : 0);
}

static bool is_idle(rig *g, bool leaves)
{
    errand e = {.task.fn = run_errand, .g = g, .leaves = leaves, .said = -1};
    cd_loop_post(g->loop, &e.task);
    while (atomic_load(&e.said) < 0) {
        (void)usleep(1000);
    }
    return atomic_load(&e.said) == 1;
}

/* An endpoint behind somebody else's route is the same endpoint; sessions that are told to leave do, and then it is
 * idle. */
static void below_a_star(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/below/rpc"};
    rig g;
    cd_buf got[2] = {{0}};
    rig_open(&g);
    int fd = dial(&g);
    assert_true(is_idle(&g, false));
    ask(fd, &got[0], "POST", "/below/rpc", JSON, cd_bytes_str(CALL("test_fast")));
    expect(&got[0], "HTTP/1.1 200", NULL, RESULT("\"loop\""));
    ask(fd, &got[0], "POST", "/below/rpc", JSON, cd_bytes_str(CALL("test_read")));
    expect(&got[0], "HTTP/1.1 200", NULL, RESULT("\"worker\""));
    assert_true(is_idle(&g, false));
    for (usize i = 0; i < CD_COUNT(paths); i++) {
        ask(fd, &got[i], "PUT", paths[i], JSON, cd_bytes_str("{}"));
        expect(&got[i], "HTTP/1.1 405", "Allow: GET, HEAD, POST\r\n", "method not allowed\n");
    }
    assert_int_equal(got[0].n, got[1].n);
    ask(fd, &got[0], "POST", "/below/other", JSON, cd_bytes_str("{}"));
    expect(&got[0], "HTTP/1.1 404", NULL, "404 page not found\n");
    int ws = dial(&g);
    u8 frame[4];
    ws_open(ws, &got[0], "/below/rpc");
    ws_say(ws, CALL("test_fast"));
    ws_expect(ws, RESULT("\"loop\""));
    assert_false(is_idle(&g, false));
    assert_false(is_idle(&g, true));
    read_n(ws, frame, 4);
    assert_int_equal(frame[0], 0x88);
    assert_int_equal(cd_be16(frame + 2), CD_WS_GOING_AWAY);
    (void)close(ws);
    for (u32 i = 0; i < 10000 && !is_idle(&g, false); i++) {
        (void)usleep(1000);
    }
    assert_true(is_idle(&g, false));
    /* A body beyond the path's own bound. */
    ask(fd, &got[0], "POST", "/below/rpc", JSON,
        cd_bytes_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_fast\",\"params\":[]}                "));
    assert_memory_equal(got[0].p, "HTTP/1.1 413", 12);
    (void)close(fd);
    cd_buf_fini(&got[0]);
    cd_buf_fini(&got[1]);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_http),    cmocka_unit_test(waits),       cmocka_unit_test(tries),
        cmocka_unit_test(shared_texts), cmocka_unit_test(long_bodies), cmocka_unit_test(busy),
        cmocka_unit_test(over_ws),      cmocka_unit_test(strangers),   cmocka_unit_test(below_a_star),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
