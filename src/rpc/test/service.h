/* rpc/test/service.h - the service that go-ethereum's recorded dialogues talk to (test_*, nftest_*), and a client
 * without a network: a wire that keeps what is said, threads for the lanes. Test code: included by one file each. */
#ifndef CD_RPC_TEST_SERVICE_H
#define CD_RPC_TEST_SERVICE_H

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/thread/thread.h"
#include "rpc/openrpc.h"
#include "rpc/param.h"
#include "rpc/session.h"

#include <stdio.h>

enum { SAID_MAX = 4096, JOBS_MAX = 4096 };

/* --- a client, on the test's thread --- */

typedef struct client {
    cd_loop *loop;
    cd_timer *patience;
    cd_rpc_lanes lanes;
    cd_rpc_hub *hub;
    cd_rpc_session *session;
    cd_buf said[SAID_MAX]; /* messages from the server */
    usize said_cnt;
    usize read_cnt;
    usize room; /* messages that the wire still takes */
    u32 corks;
    bool is_paused;
    u16 closed; /* with this status */
    char reason[128];
    cd_mutex lanes_mu; /* of the three below: a job may send itself on from its thread */
    cd_thread threads[JOBS_MAX];
    usize threads_cnt;
    cd_rpc_job *held[JOBS_MAX]; /* jobs that wait for client_release */
    usize held_cnt;
    bool holds_jobs;
    bool is_busy; /* the lanes refuse */
} client;

static inline cd_err client_send(void *wire, cd_bytes head, cd_ws_payload *body)
{
    client *c = wire;
    if (c->room == 0) {
        return CD_EFULL;
    }
    c->room--;
    CD_ASSERT(c->said_cnt < SAID_MAX && head.n <= CD_WS_HEAD_MAX);
    cd_buf *b = &c->said[c->said_cnt++];
    cd_buf_put(b, head);
    if (body != NULL) {
        cd_buf_put(b, cd_ws_payload_bytes(body));
    }
    cd_loop_stop(c->loop);
    return CD_OK;
}

static inline void client_cork(void *wire)
{
    ((client *)wire)->corks++;
}

static inline void client_uncork(void *wire)
{
    CD_ASSERT(((client *)wire)->corks-- != 0);
}

static inline void client_pause(void *wire)
{
    ((client *)wire)->is_paused = true;
}

static inline void client_resume(void *wire)
{
    ((client *)wire)->is_paused = false;
}

static inline void client_close(void *wire, u16 code, const char *reason)
{
    client *c = wire;
    c->closed = code;
    (void)snprintf(c->reason, sizeof c->reason, "%s", reason);
}

/* What a handler wants to ask when its own answer has gone. */
typedef struct later {
    cd_rpc_session *session;
    char *method;
    char *params;
} later;

static _Thread_local later asks_later;

static inline void ignore_answer(void *ctx, cd_json result, cd_json error)
{
    (void)ctx;
    (void)result;
    (void)error;
}

static inline void client_thread(void *arg)
{
    cd_rpc_job *job = arg;
    asks_later = (later){0};
    job->run(job);
    if (asks_later.session != NULL) {
        cd_rpc_session_ask(asks_later.session, asks_later.method, cd_bytes_str(asks_later.params), ignore_answer, NULL);
        cd_free(asks_later.method);
        cd_free(asks_later.params);
    }
}

/* With lanes_mu. */
static inline void client_start(client *c, cd_rpc_job *job)
{
    CD_ASSERT(c->threads_cnt < JOBS_MAX);
    CD_ASSERT(cd_thread_start(&c->threads[c->threads_cnt++], "lane", client_thread, job, NULL) == CD_OK);
}

static inline cd_err client_lane(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    client *c = ctx;
    CD_ASSERT(lane != CD_RPC_FAST);
    if (c->is_busy) {
        return CD_EFULL;
    }
    cd_mutex_lock(&c->lanes_mu);
    if (c->holds_jobs) {
        c->held[c->held_cnt++] = job;
    } else {
        client_start(c, job);
    }
    cd_mutex_unlock(&c->lanes_mu);
    return CD_OK;
}

/* Lets the held jobs run. */
static inline void client_release(client *c)
{
    cd_mutex_lock(&c->lanes_mu);
    c->holds_jobs = false;
    for (usize i = 0; i < c->held_cnt; i++) {
        client_start(c, c->held[i]);
    }
    c->held_cnt = 0;
    cd_mutex_unlock(&c->lanes_mu);
}

static inline bool client_has_thread(client *c, usize i)
{
    cd_mutex_lock(&c->lanes_mu);
    bool has = i < c->threads_cnt;
    cd_mutex_unlock(&c->lanes_mu);
    return has;
}

/* A thread may start one more before it ends, so the count is asked again behind each. */
static inline void client_join(client *c)
{
    for (usize i = 0; client_has_thread(c, i); i++) {
        cd_thread_join(&c->threads[i]);
    }
    c->threads_cnt = 0;
}

static inline void client_stop(void *ctx)
{
    cd_loop_stop(ctx);
}

static inline void client_ids(void *ctx, u8 id[16])
{
    u8 *last = ctx;
    memset(id, 0, 16);
    id[15] = ++*last;
}

static const cd_rpc_wire client_wire = {
    .send = client_send,
    .cork = client_cork,
    .uncork = client_uncork,
    .pause = client_pause,
    .resume = client_resume,
    .close = client_close,
};

/* cfg names the service and what is not default. */
static inline client *client_new(cd_rpc_hub_cfg cfg)
{
    static u8 last_id;
    client *c = cd_new(client);
    last_id = 0;
    cd_mutex_init(&c->lanes_mu);
    CD_ASSERT(cd_loop_new(&c->loop, NULL) == CD_OK);
    c->patience = cd_timer_new(c->loop, client_stop, c->loop);
    c->lanes = (cd_rpc_lanes){.run = client_lane, .ctx = c};
    c->room = SAID_MAX;
    cfg.lanes = &c->lanes;
    cfg.home = c->loop;
    cfg.new_id = client_ids;
    cfg.id_ctx = &last_id;
    c->hub = cd_rpc_hub_new(&cfg);
    c->session = cd_rpc_session_new(c->hub, &client_wire, c, (cd_bytes){0});
    return c;
}

/* Lets the loop do what waits to be done, for at most ms. */
static inline void client_turn(client *c, u64 ms)
{
    cd_timer_start(c->patience, ms, 0);
    cd_loop_run(c->loop);
    cd_timer_stop(c->patience);
}

/* The next message from the server, or NULL when none comes. */
static inline const char *client_hear(client *c)
{
    for (int i = 0; i < 100 && c->read_cnt == c->said_cnt; i++) {
        client_turn(c, 20);
    }
    return c->read_cnt == c->said_cnt ? NULL : cd_buf_cstr(&c->said[c->read_cnt++]);
}

static inline void client_say(client *c, const char *text)
{
    cd_rpc_session_message(c->session, cd_bytes_str(text));
}

static inline void client_free(client *c)
{
    if (c->session != NULL) {
        cd_rpc_session_end(c->session);
    }
    client_join(c);
    while (cd_rpc_hub_cnt(c->hub) != 0) {
        client_turn(c, 1);
    }
    client_turn(c, 1);
    cd_rpc_hub_free(c->hub);
    cd_timer_free(c->patience);
    cd_loop_free(c->loop);
    for (usize i = 0; i < c->said_cnt; i++) {
        cd_buf_fini(&c->said[i]);
    }
    cd_mutex_fini(&c->lanes_mu);
    cd_free(c);
}

/* --- handlers --- */

static inline void put_value(cd_json_w *w, cd_json v)
{
    cd_buf raw = {0};
    cd_json_raw(&raw, v);
    cd_json_w_raw(w, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
}

static inline cd_err test_echo(cd_rpc_call *call)
{
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_w_key(w, "String");
    put_value(w, cd_rpc_arg(call, 0));
    cd_json_w_key(w, "Int");
    put_value(w, cd_rpc_arg(call, 1));
    cd_json_w_key(w, "Args");
    if (cd_rpc_has_arg(call, 2)) {
        put_value(w, cd_rpc_arg(call, 2));
    } else {
        cd_json_w_null(w);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

static inline cd_err test_nothing(cd_rpc_call *call)
{
    cd_json_w_null(call->out);
    return CD_OK;
}

static inline cd_err test_marshal_error(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_INTERNAL,
                       "json: error calling MarshalText for type *rpc.MarshalErrObj: marshal error");
}

static inline cd_err test_panic(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_INTERNAL, "method handler crashed");
}

/* An answer of the client that a handler waits for. */
typedef struct answer {
    cd_mutex lock;
    cd_cond come;
    cd_buf text;
    bool is_there;
} answer;

static inline void on_answer(void *ctx, cd_json result, cd_json error)
{
    answer *a = ctx;
    (void)error;
    cd_mutex_lock(&a->lock);
    cd_json_raw(&a->text, result);
    a->is_there = true;
    cd_cond_wake_one(&a->come);
    cd_mutex_unlock(&a->lock);
}

static inline cd_err test_call_me_back(cd_rpc_call *call)
{
    answer a = {0};
    cd_bytes method;
    cd_buf params = {0};
    CD_TRY(cd_json_str(&method, cd_rpc_arg(call, 0), NULL));
    cd_json_raw(&params, cd_rpc_arg(call, 1));
    cd_mutex_init(&a.lock);
    cd_cond_init(&a.come);
    cd_rpc_session_ask(call->session, cd_arena_str(call->arena, method), cd_buf_bytes(&params), on_answer, &a);
    cd_mutex_lock(&a.lock);
    while (!a.is_there) {
        cd_cond_wait(&a.come, &a.lock);
    }
    cd_mutex_unlock(&a.lock);
    bool has_left = a.text.n == 0;
    if (!has_left) {
        cd_json_w_raw(call->out, cd_buf_bytes(&a.text));
    }
    cd_buf_fini(&a.text);
    cd_buf_fini(&params);
    cd_cond_fini(&a.come);
    cd_mutex_fini(&a.lock);
    return has_left ? CD_ECLOSED : CD_OK;
}

static inline char *dup_cstr(cd_bytes b)
{
    char *s = cd_alloc(b.n + 1);
    memcpy(s, b.p, b.n);
    s[b.n] = '\0';
    return s;
}

static inline cd_err test_call_me_back_later(cd_rpc_call *call)
{
    cd_bytes method;
    cd_buf params = {0};
    CD_TRY(cd_json_str(&method, cd_rpc_arg(call, 0), NULL));
    cd_json_raw(&params, cd_rpc_arg(call, 1));
    asks_later = (later){
        .session = call->session,
        .method = dup_cstr(method),
        .params = dup_cstr(cd_buf_bytes(&params)),
    };
    cd_buf_fini(&params);
    return test_nothing(call);
}

static inline cd_err nftest_echo(cd_rpc_call *call)
{
    put_value(call->out, cd_rpc_arg(call, 0));
    return CD_OK;
}

static inline cd_rpc_note *note_u64(u64 v, const char *cursor)
{
    cd_buf text = {0};
    cd_buf_fmt(&text, "%llu", (unsigned long long)v);
    return cd_rpc_note_new(&text, cursor);
}

static cd_loop *nftest_home; /* where the topics of the kind below live */

/* n notifications: val, val + 1 … */
static inline cd_err nftest_some(cd_rpc_call *call, cd_rpc_topic **out)
{
    u64 n;
    u64 val;
    if (cd_json_u64(&n, cd_rpc_arg(call, 1), NULL) != CD_OK || cd_json_u64(&val, cd_rpc_arg(call, 2), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 1: not a number");
    }
    *out = cd_rpc_topic_new(nftest_home, NULL, NULL);
    for (u64 i = 0; i < n; i++) {
        cd_rpc_topic_publish(*out, note_u64(val + i, ""));
    }
    return CD_OK;
}

static const cd_rpc_kind test_kinds[] = {
    {.group = "",
     .space = "nftest",
     .name = "someSubscription",
     .required = 2,
     .max = 2,
     .open = nftest_some,
     .schema = "n: Int, val: Int -> Int",
     .summary = "n numbers, from val on"},
};

#define TEST_METHODS(X)                                                                                                \
    X("", test_echo, test_echo, FAST, 2, 3, "s: String, n: Int, args?: {S: String} -> Object",                         \
      "Gives back what it is given")                                                                                   \
    X("", test_echoWithCtx, test_echo, READ, 2, 3, "s: String, n: Int, args?: {S: String} -> Object", "Likewise")      \
    X("", test_noArgsRets, test_nothing, OWNER, 0, 0, "-> Any", "Nothing")                                             \
    X("", test_marshalError, test_marshal_error, FAST, 0, 0, "-> Any", "Fails")                                        \
    X("", test_panic, test_panic, FAST, 0, 0, "-> Any", "Fails")                                                       \
    X("", test_callMeBack, test_call_me_back, READ, 2, 2, "method: String, params: Any[] -> Any", "Asks the client")   \
    X("", test_callMeBackLater, test_call_me_back_later, READ, 2, 2, "method: String, params: Any[] -> Any",           \
      "Asks the client afterwards")                                                                                    \
    X("", nftest_echo, nftest_echo, FAST, 1, 1, "n: Int -> Int", "Gives back a number")

static const cd_rpc_method test_methods[] = {TEST_METHODS(CD_RPC_ROW)};

/* The service over a table of the caller's. */
static inline cd_rpc_service test_service(cd_rpc_table *t)
{
    cd_rpc_table_add(t, test_methods, CD_COUNT(test_methods));
    cd_rpc_table_add_own(t);
    return (cd_rpc_service){
        .form = CD_RPC_ETH,
        .table = t,
        .limits = CD_RPC_LIMITS_DEFAULT,
        .kinds = test_kinds,
        .kinds_cnt = CD_COUNT(test_kinds),
    };
}

#endif
