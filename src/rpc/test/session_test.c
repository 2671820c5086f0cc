/* Sessions: answers and notifications in order, slow clients, quotas, clients that leave in the middle.
 * [spec:eth-rpc#7] [spec:architecture#8] */
#include "rpc/test/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- a feed that tests publish to --- */

static cd_rpc_topic *live;   /* what "live" listens to */
static cd_rpc_topic *behind; /* what "behind" listens to, before it is moved to live */
static int idle_cnt;
static int drained_cnt;

static void on_idle(void *ctx, cd_rpc_topic *t)
{
    (void)ctx;
    (void)t;
    idle_cnt++;
}

static void on_drained(void *ctx, cd_rpc_topic *t)
{
    (void)ctx;
    (void)t;
    drained_cnt++;
}

static const cd_rpc_topic_events events = {.idle = on_idle, .drained = on_drained};

static cd_err open_live(cd_rpc_call *call, cd_rpc_topic **out)
{
    if (cd_rpc_has_arg(call, 1) && cd_json_kind_of(cd_rpc_arg(call, 1)) != CD_JSON_BOOL) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 1: not a bool");
    }
    *out = cd_rpc_topic_ref(live);
    return CD_OK;
}

static cd_err open_behind(cd_rpc_call *call, cd_rpc_topic **out)
{
    (void)call;
    *out = cd_rpc_topic_ref(behind);
    return CD_OK;
}

static const cd_rpc_kind kinds[] = {
    {.group = "", .space = "t", .name = "live", .max = 1, .open = open_live},
    {.group = "", .space = "t", .name = "behind", .open = open_behind},
};

typedef struct fixture {
    cd_rpc_table *table;
    cd_rpc_service service;
    client *c;
} fixture;

static fixture *fixture_new(cd_rpc_hub_cfg cfg)
{
    fixture *f = cd_new(fixture);
    f->table = cd_rpc_table_new(NULL, 0);
    f->service = test_service(f->table);
    f->service.kinds = kinds;
    f->service.kinds_cnt = CD_COUNT(kinds);
    cfg.service = &f->service;
    f->c = client_new(cfg);
    idle_cnt = 0;
    drained_cnt = 0;
    live = cd_rpc_topic_new(f->c->loop, &events, NULL);
    behind = cd_rpc_topic_new(f->c->loop, &events, NULL);
    return f;
}

static void fixture_free(fixture *f)
{
    client_free(f->c);
    cd_rpc_topic_unref(live);
    cd_rpc_topic_unref(behind);
    cd_rpc_table_free(f->table);
    cd_free(f);
}

static void hear(client *c, const char *want)
{
    const char *got = client_hear(c);
    assert_non_null(got);
    assert_string_equal(got, want);
}

static void hear_nothing(client *c)
{
    client_turn(c, 5);
    assert_int_equal(c->read_cnt, c->said_cnt);
}

#define CALL(id, method, params) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define RESULT(id, result)       "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define ERROR(id, code, message)                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message "\"}"                     \
    "}"
#define NOTE(sub, result)                                                                                              \
    "{\"jsonrpc\":\"2.0\",\"method\":\"t_subscription\",\"params\":{\"subscription\":\"" sub "\",\"result\":" result   \
    "}}"

static void publish(cd_rpc_topic *t, u64 v)
{
    char cursor[16];
    (void)snprintf(cursor, sizeof cursor, "at-%llu", (unsigned long long)v);
    cd_rpc_topic_publish(t, note_u64(v, cursor));
}

/* --- tests --- */

static void subscribe_and_leave(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    publish(live, 1); /* before anybody listens */
    client_turn(c, 1);
    client_say(c, CALL("1", "t_subscribe", "[\"live\",true]"));
    hear(c, RESULT("1", "\"0x1\""));
    client_say(c, CALL("2", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("2", "\"0x2\""));
    publish(live, 2);
    hear(c, NOTE("0x1", "2"));
    hear(c, NOTE("0x2", "2"));
    client_turn(c, 1);
    assert_int_equal(c->corks, 0);
    client_say(c, CALL("3", "t_unsubscribe", "[\"0x1\"]"));
    hear(c, RESULT("3", "true"));
    assert_int_equal(idle_cnt, 0);
    client_say(c, CALL("4", "t_unsubscribe", "[\"0x1\"]"));
    hear(c, ERROR("4", "-32000", "subscription not found"));
    publish(live, 3);
    hear(c, NOTE("0x2", "3"));
    client_say(c, "[" CALL("5", "t_unsubscribe", "[\"0x2\"]") "," CALL("6", "t_subscribe", "[\"live\"]") "]");
    hear(c, "[" RESULT("5", "true") "," RESULT("6", "\"0x3\"") "]");
    assert_int_equal(idle_cnt, 1);
    publish(live, 4);
    hear(c, NOTE("0x3", "4"));
    assert_int_equal(cd_rpc_topic_pending(live), 0);
    fixture_free(f);
    assert_int_equal(idle_cnt, 2);
}

static void refused_subscriptions(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {CALL("1", "t_subscribe", "[\"nosuch\"]"),
         ERROR("1", "-32601", "no \\\"nosuch\\\" subscription in t namespace")},
        {CALL("1", "other_subscribe", "[\"live\"]"),
         ERROR("1", "-32601", "no \\\"live\\\" subscription in other namespace")},
        {CALL("1", "t_subscribe", "[]"), ERROR("1", "-32602", "expected subscription name as first argument")},
        {CALL("1", "t_subscribe", "{}"), ERROR("1", "-32602", "non-array args")},
        {CALL("1", "t_subscribe", "[\"live\",1]"), ERROR("1", "-32602", "invalid argument 1: not a bool")},
        {CALL("1", "t_subscribe", "[\"live\",true,3]"), ERROR("1", "-32602", "too many arguments, want at most 2")},
        {CALL("1", "t_unsubscribe", "[]"), ERROR("1", "-32602", "missing value for required argument 0")},
    };
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        client_say(f->c, cases[i].in);
        hear(f->c, cases[i].out);
    }
    /* Over HTTP there is nobody to notify. */
    cd_buf reply = {0};
    cd_rpc_serve(&f->service, &reply, cd_bytes_str(CALL("1", "t_subscribe", "[\"live\"]")));
    assert_string_equal(cd_buf_cstr(&reply), ERROR("1", "-32601", "notifications not supported"));
    reply.n = 0;
    cd_rpc_serve(&f->service, &reply, cd_bytes_str(CALL("1", "t_unsubscribe", "[\"0x1\"]")));
    assert_string_equal(cd_buf_cstr(&reply), ERROR("1", "-32000", "subscription not found"));
    cd_buf_fini(&reply);
    fixture_free(f);
}

/* Notifications that come while the answer with the id is still at work follow it. */
static void answer_before_notifications(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    c->holds_jobs = true;
    client_say(c, "[" CALL("1", "t_subscribe", "[\"live\"]") "," CALL("2", "test_echoWithCtx", "[\"x\",3]") "]");
    publish(live, 1);
    publish(live, 2);
    hear_nothing(c);
    client_release(c);
    hear(c, "[" RESULT("1", "\"0x1\"") "," RESULT("2", "{\"String\":\"x\",\"Int\":3,\"Args\":null}") "]");
    hear(c, NOTE("0x1", "1"));
    hear(c, NOTE("0x1", "2"));
    assert_int_equal(cd_rpc_topic_pending(live), 0);
    fixture_free(f);
}

static void catching_up(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    client_say(c, CALL("1", "t_subscribe", "[\"behind\"]"));
    hear(c, RESULT("1", "\"0x1\""));
    c->room = 2; /* some still wait when the move comes */
    for (u64 i = 1; i <= 3; i++) {
        publish(behind, i);
    }
    publish(live, 3); /* was told from the store already */
    cd_rpc_topic_move(behind, live);
    publish(live, 4);
    publish(behind, 99); /* nobody is left there */
    client_turn(c, 5);
    assert_int_equal(idle_cnt, 1);
    assert_int_equal(cd_rpc_topic_pending(behind), 0);
    assert_int_equal(cd_rpc_topic_pending(live), 2);
    c->room = SAID_MAX;
    cd_rpc_session_writable(c->session);
    hear(c, NOTE("0x1", "1"));
    hear(c, NOTE("0x1", "2"));
    hear(c, NOTE("0x1", "3"));
    hear(c, NOTE("0x1", "4"));
    hear_nothing(c);
    assert_int_equal(cd_rpc_topic_pending(live), 0);
    fixture_free(f);
}

static void pacing(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    client_say(c, CALL("1", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("1", "\"0x1\""));
    c->room = 0;
    for (u64 i = 0; i < (u64)2 * CD_RPC_TOPIC_LOW; i++) {
        publish(live, i);
    }
    client_turn(c, 5);
    assert_int_equal(cd_rpc_topic_pending(live), 2 * CD_RPC_TOPIC_LOW);
    assert_int_equal(drained_cnt, 0);
    c->room = CD_RPC_TOPIC_LOW;
    cd_rpc_session_writable(c->session);
    assert_int_equal(drained_cnt, 1);
    assert_int_equal(cd_rpc_topic_pending(live), CD_RPC_TOPIC_LOW);
    /* What an ended subscription leaves in the queue is not told, and counts no more. */
    client_say(c, CALL("2", "t_unsubscribe", "[\"0x1\"]"));
    client_turn(c, 5);
    assert_int_equal(cd_rpc_topic_pending(live), 0);
    c->room = SAID_MAX;
    cd_rpc_session_writable(c->session);
    c->read_cnt += CD_RPC_TOPIC_LOW;
    hear(c, RESULT("2", "true"));
    hear_nothing(c);
    fixture_free(f);
}

/* One client, and all together, have so many subscriptions at most; whoever ends one may have another. */
static void too_many_subscriptions(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){.subs_max = 3, .subs_all_max = 4});
    client *c = f->c;
    client_say(c, "[" CALL("1", "t_subscribe", "[\"live\"]") "," CALL("2", "t_subscribe", "[\"live\"]") "," CALL(
                      "3", "t_subscribe", "[\"live\"]") "," CALL("4", "t_subscribe", "[\"live\"]") "]");
    hear(c, "[" RESULT("1", "\"0x1\"") "," RESULT("2", "\"0x2\"") "," RESULT("3", "\"0x3\"") "," ERROR(
                "4", "-32005", "too many subscriptions on one connection, at most 3") "]");
    client_say(c, CALL("5", "t_unsubscribe", "[\"0x2\"]"));
    hear(c, RESULT("5", "true"));
    client_say(c, CALL("6", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("6", "\"0x4\""));
    client_say(c, CALL("7", "t_subscribe", "[\"live\"]"));
    hear(c, ERROR("7", "-32005", "too many subscriptions on one connection, at most 3"));

    /* Others come and go on the same service. */
    cd_rpc_session *mine = c->session;
    cd_rpc_session *other = cd_rpc_session_new(c->hub, &client_wire, c, (cd_bytes){0});
    c->session = other;
    client_say(c, CALL("8", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("8", "\"0x5\""));
    client_say(c, CALL("9", "t_subscribe", "[\"live\"]"));
    hear(c, ERROR("9", "-32005", "too many subscriptions on this node, at most 4"));
    cd_rpc_session_end(mine);
    client_say(c, CALL("10", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("10", "\"0x6\""));
    fixture_free(f);
}

/* What ended ones leave in the queue is passed over, wherever it stands, and the rest keeps its order. */
static void ended_in_the_queue(void **state)
{
    (void)state;
    enum { SUBS = 50, NOTES = 20 };
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    char text[160];
    for (int i = 0; i < SUBS; i++) {
        client_say(c, CALL("1", "t_subscribe", "[\"live\"]"));
        assert_non_null(client_hear(c));
    }
    c->room = 0;
    for (u64 n = 0; n < NOTES; n++) {
        publish(live, n);
    }
    client_turn(c, 5);
    assert_int_equal(cd_rpc_topic_pending(live), SUBS * NOTES);
    for (int i = 1; i < SUBS; i++) { /* all but the last */
        (void)snprintf(text, sizeof text, CALL("2", "t_unsubscribe", "[\"0x%x\"]"), (unsigned)i);
        client_say(c, text);
    }
    client_turn(c, 5);
    assert_int_equal(cd_rpc_topic_pending(live), NOTES);
    c->room = SAID_MAX;
    cd_rpc_session_writable(c->session);
    for (u64 n = 0; n < NOTES; n++) {
        (void)snprintf(text, sizeof text, NOTE("0x%x", "%llu"), SUBS, (unsigned long long)n);
        hear(c, text);
    }
    for (int i = 1; i < SUBS; i++) {
        hear(c, RESULT("2", "true"));
    }
    hear_nothing(c);
    /* Some more, of which the client hears nothing because it goes. */
    c->room = 0;
    publish(live, 99);
    client_turn(c, 5);
    client_say(c, CALL("3", "t_unsubscribe", "[\"0x32\"]"));
    client_turn(c, 5);
    assert_int_equal(cd_rpc_topic_pending(live), 0);
    fixture_free(f);
}

static void slow_client(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){.queue_max = 10});
    client *c = f->c;
    client_say(c, CALL("1", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("1", "\"0x1\""));
    c->room = 5;
    for (u64 i = 1; i <= 15; i++) {
        publish(live, i);
    }
    client_turn(c, 5);
    assert_int_equal(c->closed, 0);
    publish(live, 16);
    client_turn(c, 5);
    /* Five are with the transport; the sixth is the first that is not. */
    assert_int_equal(c->closed, CD_WS_TRY_LATER);
    assert_string_equal(c->reason, "too slow, resume at at-6");
    for (u64 i = 17; i < 100; i++) {
        publish(live, i);
    }
    client_turn(c, 5);
    assert_int_equal(cd_rpc_topic_pending(live), 0);
    assert_int_equal(c->said_cnt, 6);
    fixture_free(f);
}

static void slow_client_by_bytes(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){.queue_bytes = 1000});
    client *c = f->c;
    client_say(c, CALL("1", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("1", "\"0x1\""));
    c->room = 0;
    for (int i = 0; i < 2; i++) {
        cd_buf text = {0};
        cd_buf_u8(&text, '"');
        cd_buf_fill(&text, 'x', 600);
        cd_buf_u8(&text, '"');
        assert_int_equal(c->closed, 0);
        cd_rpc_topic_publish(live, cd_rpc_note_new(&text, ""));
        client_turn(c, 5);
    }
    assert_int_equal(c->closed, CD_WS_TRY_LATER);
    assert_string_equal(c->reason, "too slow");
    fixture_free(f);
}

/* One answer may wait, not two: whoever adds the second leaves. */
static void slow_client_by_answers(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){.answers_max = 300});
    client *c = f->c;
    char echo[300];
    (void)snprintf(echo, sizeof echo,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_echo\",\"params\":[\"%0200d\",1]}", 1);
    c->room = 0;
    client_say(c, echo);
    client_turn(c, 5);
    assert_int_equal(c->closed, 0);
    client_say(c, echo);
    client_turn(c, 5);
    assert_int_equal(c->closed, CD_WS_TRY_LATER);
    assert_string_equal(c->reason, "too slow");
    fixture_free(f);
}

static void many_calls_pause(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){.calls_max = 2});
    client *c = f->c;
    c->holds_jobs = true;
    client_say(c, CALL("1", "test_noArgsRets", "[]"));
    assert_false(c->is_paused);
    client_say(c, CALL("2", "test_noArgsRets", "[]"));
    assert_true(c->is_paused);
    client_release(c);
    assert_non_null(client_hear(c));
    assert_non_null(client_hear(c));
    assert_false(c->is_paused);
    fixture_free(f);
}

static void busy_lanes(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    c->is_busy = true;
    client_say(c, CALL("1", "test_noArgsRets", "[]"));
    hear(c, ERROR("1", "-32005", "too many requests are waiting"));
    /* A subscription whose answer is a refusal does not exist. */
    client_say(c, "[" CALL("1", "t_subscribe", "[\"live\"]") "," CALL("2", "test_noArgsRets", "[]") "]");
    hear(c, "[" ERROR("1", "-32005", "too many requests are waiting") "," ERROR("2", "-32005",
                                                                                "too many requests are waiting") "]");
    assert_int_equal(idle_cnt, 1);
    publish(live, 1);
    hear_nothing(c);
    client_say(c, CALL("3", "test_echo", "[\"x\",3]"));
    hear(c, RESULT("3", "{\"String\":\"x\",\"Int\":3,\"Args\":null}"));
    fixture_free(f);
}

static void long_messages(void **state)
{
    (void)state;
    enum { LEN = 200000 };
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    cd_buf text = {0};
    cd_buf_str(&text, "[" CALL("1", "t_subscribe", "[\"live\"]") "," CALL("2", "test_noArgsRets", "[]") ",");
    cd_buf_str(&text, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nftest_echo\",\"params\":[\"");
    cd_buf_fill(&text, 'x', LEN);
    cd_buf_str(&text, "\"]}]");
    client_say(c, cd_buf_cstr(&text));
    const char *got = client_hear(c);
    assert_non_null(got);
    assert_true(strlen(got) > LEN);
    assert_memory_equal(got, "[" RESULT("1", "\"0x1\"") "," RESULT("2", "null") ",", 77);
    publish(live, 1);
    hear(c, NOTE("0x1", "1"));
    c->is_busy = true;
    client_say(c, cd_buf_cstr(&text));
    hear(c, ERROR("null", "-32005", "too many requests are waiting"));
    cd_buf_fini(&text);
    fixture_free(f);
}

static void leaving_with_calls(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    c->holds_jobs = true;
    client_say(c, "[" CALL("1", "t_subscribe", "[\"live\"]") "," CALL("2", "test_noArgsRets", "[]") "]");
    client_say(c, CALL("3", "test_echoWithCtx", "[\"x\",3]"));
    client_turn(c, 5);
    publish(live, 1);
    client_turn(c, 5);
    cd_rpc_session_end(c->session);
    c->session = NULL;
    assert_int_equal(idle_cnt, 1);
    assert_int_equal(cd_rpc_hub_cnt(c->hub), 1);
    client_release(c);
    client_join(c);
    client_turn(c, 5);
    assert_int_equal(cd_rpc_hub_cnt(c->hub), 0);
    assert_int_equal(c->said_cnt, 0);
    fixture_free(f);
}

static void leaving_with_a_question(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    client_say(c, CALL("1", "test_callMeBack", "[\"foo\",[1]]"));
    hear(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"foo\",\"params\":[1]}");
    cd_rpc_session_end(c->session);
    c->session = NULL;
    client_join(c);
    client_turn(c, 5);
    assert_int_equal(cd_rpc_hub_cnt(c->hub), 0);
    fixture_free(f);
}

static cd_err test_work(cd_rpc_call *call)
{
    u64 until = cd_clock_thread_ns() + 20 * CD_NS_PER_MS;
    while (cd_clock_thread_ns() < until) {
    }
    cd_json_w_null(call->out);
    return CD_OK;
}

static void cpu_quota(void **state)
{
    (void)state;
    static const cd_rpc_method rows[] = {CD_RPC_ROW("", test_work, test_work, READ, 0, 0, "-> Any", "Takes 20 ms")};
    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 0);
    cd_rpc_hub_cfg cfg = {.clock = &clock.clock, .cpu_refill_ns = 200 * CD_NS_PER_MS, .cpu_max_ns = 10 * CD_NS_PER_MS};
    fixture *f = fixture_new(cfg);
    client *c = f->c;
    cd_rpc_table_add(f->table, rows, 1);
    /* 10 ms are saved up, about 20 are spent: the missing 10 need 50 ms to come back, a thousand calls' 200 s. */
    client_say(c, CALL("1", "test_work", "[]"));
    hear(c, RESULT("1", "null"));
    client_turn(c, 1);
    assert_true(c->is_paused);
    client_turn(c, 100);
    assert_true(c->is_paused);
    cd_clock_virtual_advance(&clock, 200 * CD_NS_PER_SEC);
    for (int i = 0; i < 1000 && c->is_paused; i++) {
        client_turn(c, 5);
    }
    assert_false(c->is_paused);
    fixture_free(f);
}

/* Several threads publish at once; every listener hears each thread's notes in order, none twice, none missing. */
enum { PUBLISHERS = 3, NOTES = 300 };

static void publisher(void *arg)
{
    u64 base = (u64)(usize)arg * 1000;
    for (u64 i = 0; i < NOTES; i++) {
        publish(live, base + i);
    }
}

static void publishing_threads(void **state)
{
    (void)state;
    fixture *f = fixture_new((cd_rpc_hub_cfg){0});
    client *c = f->c;
    u64 next[2][PUBLISHERS] = {{0}};
    cd_thread threads[PUBLISHERS];
    client_say(c, CALL("1", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("1", "\"0x1\""));
    client_say(c, CALL("2", "t_subscribe", "[\"live\"]"));
    hear(c, RESULT("2", "\"0x2\""));
    for (usize i = 0; i < PUBLISHERS; i++) {
        assert_int_equal(cd_thread_start(&threads[i], "publisher", publisher, (void *)i, NULL), CD_OK);
    }
    for (usize i = 0; i < (usize)2 * PUBLISHERS * NOTES; i++) {
        const char *got = client_hear(c);
        unsigned sub;
        unsigned v;
        assert_non_null(got);
        assert_int_equal(sscanf(got,
                                "{\"jsonrpc\":\"2.0\",\"method\":\"t_subscription\",\"params\":{"
                                "\"subscription\":\"0x%u\",\"result\":%u}}",
                                &sub, &v),
                         2);
        assert_in_range(sub, 1, 2);
        assert_int_equal(next[sub - 1][v / 1000]++, v % 1000);
    }
    for (usize i = 0; i < PUBLISHERS; i++) {
        cd_thread_join(&threads[i]);
    }
    client_turn(c, 5);
    assert_int_equal(cd_rpc_topic_pending(live), 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subscribe_and_leave),
        cmocka_unit_test(refused_subscriptions),
        cmocka_unit_test(answer_before_notifications),
        cmocka_unit_test(catching_up),
        cmocka_unit_test(pacing),
        cmocka_unit_test(slow_client),
        cmocka_unit_test(too_many_subscriptions),
        cmocka_unit_test(ended_in_the_queue),
        cmocka_unit_test(slow_client_by_bytes),
        cmocka_unit_test(slow_client_by_answers),
        cmocka_unit_test(many_calls_pause),
        cmocka_unit_test(busy_lanes),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(leaving_with_calls),
        cmocka_unit_test(leaving_with_a_question),
        cmocka_unit_test(cpu_quota),
        cmocka_unit_test(publishing_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
