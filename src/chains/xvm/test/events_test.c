/* The events over a real connection: who asked for an address is told of what pays it, and of nothing else; a wrong
 * command is answered and ends the connection; leaving ends all. */
#include "chains/xvm/events.h"

#include "base/thread/thread.h"
#include "codec/api_json.h"
#include "net/ws/client.h"
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct world {
    xrig r;
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *hub; /* of the client */
    cd_ws *ws;
    cd_xvm_events *ev;
    cd_timer *patience;
    cd_buf said;
    usize said_cnt;
    usize wanted; /* messages, and the loop stops */
    bool is_closed;
    bool is_stopped;
    u16 code;
} world;

static void on_request(void *ctx, cd_http_req *req)
{
    cd_xvm_events_serve(((world *)ctx)->ev, req);
}

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    world *x = ctx;
    (void)w;
    assert_int_equal(kind, CD_WS_TEXT);
    cd_buf_put(&x->said, data);
    if (++x->said_cnt == x->wanted) {
        cd_loop_stop(x->loop);
    }
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    world *x = ctx;
    (void)reason;
    x->is_closed = true;
    x->code = code;
    x->ws = NULL;
    cd_loop_stop(x->loop);
}

static const cd_ws_events client_events = {.message = on_message, .closed = on_closed};

static void on_opened(void *ctx, cd_ws *w, const char *reason)
{
    world *x = ctx;
    assert_null(reason);
    x->ws = w;
    cd_loop_stop(x->loop);
}

static void too_late(void *ctx)
{
    (void)ctx;
    fail_msg("nothing came");
}

static void on_stopped(void *ctx)
{
    world *x = ctx;
    x->is_stopped = true;
    cd_loop_stop(x->loop);
}

static void dial(world *x)
{
    cd_ws_dial *d;
    char url[64];
    (void)snprintf(url, sizeof url, "ws://127.0.0.1:%u/events", cd_http_server_port(x->server));
    x->is_closed = false;
    assert_int_equal(cd_ws_dial_new(&d, x->hub, url, 20000, &client_events, on_opened, x, NULL), CD_OK);
    cd_loop_run(x->loop);
    assert_non_null(x->ws);
}

static void begin(world *x)
{
    const cd_http_cfg cfg = {.idle_timeout_ms = 0};
    memset(x, 0, sizeof *x);
    rig_init(&x->r, "");
    assert_int_equal(cd_loop_new(&x->loop, NULL), CD_OK);
    x->ev = cd_xvm_events_new(x->loop);
    x->server = cd_http_server_new(x->loop, &cfg);
    const cd_http_route route = {.path = "/events", .methods = CD_HTTP_ANY, .handler = on_request, .ctx = x};
    cd_http_server_route(x->server, &route);
    assert_int_equal(cd_http_server_listen(x->server, "127.0.0.1", 0, NULL), CD_OK);
    x->hub = cd_ws_hub_new(x->loop, NULL);
    x->patience = cd_timer_new(x->loop, too_late, x);
    cd_timer_start(x->patience, 60000, 0);
}

static void say(world *x, const char *text)
{
    assert_int_equal(cd_ws_send_bytes(x->ws, CD_WS_TEXT, cd_bytes_str(text)), CD_OK);
}

static void until(world *x, usize messages)
{
    x->wanted = messages;
    if (x->said_cnt < messages) {
        cd_loop_run(x->loop);
    }
}

static void stop_loop(void *ctx)
{
    cd_loop_stop(((world *)ctx)->loop);
}

/* A few rounds of the loop. */
static void rounds(world *x)
{
    cd_timer *t = cd_timer_new(x->loop, stop_loop, x);
    cd_timer_start(t, 2, 0);
    cd_loop_run(x->loop);
    cd_timer_free(t);
}

/* The n-th coin, paid to a key. */
static void pay(world *x, cd_hash32 *id, u32 n, int to)
{
    cd_buf bytes = {0};
    cd_arena a = {0};
    cd_xvm_tx t;
    rig_coin(&x->r, &bytes, n, to);
    assert_int_equal(cd_xvm_tx_parse(&t, &a, cd_buf_bytes(&bytes), NULL), CD_OK);
    cd_xvm_events_accepted(x->ev, &t);
    *id = t.id;
    cd_arena_fini(&a);
    cd_buf_fini(&bytes);
}

static void end(world *x)
{
    cd_xvm_events_leave(x->ev);
    while (!x->is_closed && x->ws != NULL) {
        cd_loop_run(x->loop);
    }
    while (!cd_xvm_events_is_idle(x->ev)) {
        rounds(x);
    }
    cd_http_server_stop(x->server, 1000, on_stopped, x);
    while (!x->is_stopped) {
        cd_loop_run(x->loop);
    }
    cd_http_server_free(x->server);
    cd_ws_hub_free(x->hub);
    cd_timer_free(x->patience);
    cd_xvm_events_close(x->ev);
    cd_loop_free(x->loop);
    cd_buf_fini(&x->said);
    rig_fini(&x->r);
}

static void told_of_ones_own(void **state)
{
    (void)state;
    static world x;
    cd_buf text = {0};
    cd_buf want = {0};
    cd_hash32 id;
    cd_json_w w = {.out = &want};
    begin(&x);
    dial(&x);
    pay(&x, &id, 0, 1); /* before anything was asked for */
    say(&x, "{\"newSet\":{}}");
    cd_buf_str(&text, "{\"addAddresses\":{\"addresses\":[\"");
    cd_chain_addr_put(&text, "X", "local", &x.r.addr[1]);
    cd_buf_str(&text, "\"]}}");
    say(&x, cd_buf_cstr(&text));
    while (x.said_cnt == 0) { /* until the server has heard what was asked for */
        pay(&x, &id, 1, 0);   /* to somebody else */
        pay(&x, &id, 2, 1);
        rounds(&x);
    }
    cd_buf_clear(&want);
    cd_json_w_obj(&w);
    cd_json_put_id(&w, "txID", &id);
    cd_json_w_obj_end(&w);
    assert_memory_equal(x.said.p, want.p, want.n);
    assert_false(cd_xvm_events_is_idle(x.ev));
    end(&x);
    assert_int_equal(x.code, CD_WS_GOING_AWAY);
    cd_buf_fini(&text);
    cd_buf_fini(&want);
}

enum { FROM = 3, TO = 40 };

/* Pays coins on a thread of its own. */
typedef struct payer {
    world *x;
    cd_hash32 ids[TO];
} payer;

static void pay_all(void *ctx)
{
    payer *p = ctx;
    for (u32 n = FROM; n < TO; n++) {
        pay(p->x, &p->ids[n], n, 1);
    }
}

static bool was_told(world *x, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    bool found = strstr(cd_buf_cstr(&x->said), cd_buf_cstr(&text)) != NULL;
    cd_buf_fini(&text);
    return found;
}

/* Blocks are accepted on another thread than the listeners'. */
static void told_from_another_thread(void **state)
{
    (void)state;
    static world x;
    cd_thread t;
    cd_buf text = {0};
    cd_hash32 id;
    begin(&x);
    dial(&x);
    say(&x, "{\"newBloom\":{\"maxElements\":\"10\",\"collisionProb\":\"0.01\"}}");
    cd_buf_str(&text, "{\"addAddresses\":{\"addresses\":[\"");
    cd_chain_addr_put(&text, "X", "local", &x.r.addr[1]);
    cd_buf_str(&text, "\"]}}");
    say(&x, cd_buf_cstr(&text));
    while (x.said_cnt == 0) {
        pay(&x, &id, 0, 1);
        rounds(&x);
    }
    static payer p = {.x = &x};
    assert_int_equal(cd_thread_start(&t, "accepts", pay_all, &p, NULL), CD_OK);
    for (usize i = 0; i < 10; i++) {
        rounds(&x); /* the listener is served meanwhile */
    }
    cd_thread_join(&t);
    for (u32 n = FROM; n < TO; n++) {
        while (!was_told(&x, &p.ids[n])) {
            rounds(&x);
        }
    }
    end(&x);
    cd_buf_fini(&text);
}

static void wrong_commands_end_it(void **state)
{
    (void)state;
    static world x;
    begin(&x);
    dial(&x);
    say(&x, "{\"addAddresses\":{\"addresses\":[]}}");
    until(&x, 1);
    assert_string_equal(cd_buf_cstr(&x.said), "{\"error\":\"address append failed filter not initialized\"}");
    while (!x.is_closed) {
        cd_loop_run(x.loop);
    }
    assert_int_equal(x.code, CD_WS_NORMAL);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_of_ones_own),
        cmocka_unit_test(told_from_another_thread),
        cmocka_unit_test(wrong_commands_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
