/* Questions to a node: together and in their order, each with its own answer, whatever the node says. */
#include "relay/lane.h"

#include "base/mem/buf.h"
#include "net/http/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ASKS = 5, PATIENCE_MS = 5000 };

typedef struct rig {
    cd_loop *loop;
    cd_http_client *http;
    cd_http_server *server;
    cd_timer *timer;
    cd_relay_lane *lane;
    char url[64];
    const char *says; /* what the node answers, NULL: nothing */
    u32 status;
    u32 posts;
    char bodies[2048];
    u32 left, good, errors;
    u32 order[ASKS];
    u32 told;
    char text[128];
    cd_http_req *held;
} rig;

static void on_post(void *ctx, cd_http_req *req)
{
    rig *g = ctx;
    cd_bytes body = cd_http_req_body(req);
    g->posts++;
    assert_true(strlen(g->bodies) + body.n < sizeof g->bodies);
    memcpy(g->bodies + strlen(g->bodies), body.p, body.n);
    if (g->says == NULL) {
        g->held = req;
        return;
    }
    cd_buf_str(cd_http_req_out(req), g->says);
    cd_http_reply(req, g->status, "application/json");
}

static void on_late(void *ctx)
{
    cd_loop_stop(((rig *)ctx)->loop);
}

static int make(void **state)
{
    rig *g = calloc(1, sizeof *g);
    g->status = 200;
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    assert_int_equal(cd_http_client_new(&g->http, g->loop, &(cd_http_client_cfg){0}, NULL), CD_OK);
    g->server = cd_http_server_new(g->loop, &(cd_http_cfg){0});
    cd_http_server_route(g->server,
                         &(cd_http_route){.path = "/", .methods = CD_HTTP_POST, .handler = on_post, .ctx = g});
    assert_int_equal(cd_http_server_listen(g->server, "127.0.0.1", 0, NULL), CD_OK);
    cd_buf b = {0};
    cd_buf_fmt(&b, "http://127.0.0.1:%u/", cd_http_server_port(g->server));
    memcpy(g->url, b.p, b.n);
    cd_buf_fini(&b);
    g->timer = cd_timer_new(g->loop, on_late, g);
    *state = g;
    return 0;
}

static int drop(void **state)
{
    rig *g = *state;
    cd_relay_lane_free(g->lane);
    if (g->held != NULL) {
        cd_http_reply(g->held, 200, NULL);
    }
    cd_http_client_free(g->http);
    cd_http_server_stop(g->server, 0, on_late, g);
    cd_loop_run(g->loop);
    cd_http_server_free(g->server);
    cd_timer_free(g->timer);
    cd_loop_free(g->loop);
    free(g);
    return 0;
}

static void on_reply(void *ctx, void *what, const cd_relay_reply *r)
{
    rig *g = ctx;
    g->order[g->told++] = *(const u32 *)what;
    g->good += r->is_answer && !r->is_error;
    g->errors += r->is_error;
    usize n = cd_min_u64(strlen(r->text), sizeof g->text - 1);
    memcpy(g->text, r->text, n);
    g->text[n] = '\0';
    if (--g->left == 0) {
        cd_loop_stop(g->loop);
    }
}

static void ask(rig *g, u32 cnt, u32 batch_max, u32 posts_max)
{
    static u32 numbers[ASKS] = {0, 1, 2, 3, 4};
    g->lane = cd_relay_lane_new(&(cd_relay_lane_cfg){.http = g->http,
                                                     .url = g->url,
                                                     .timeout_ms = 300,
                                                     .batch_max = batch_max,
                                                     .posts_max = posts_max,
                                                     .answer_max = 4096});
    g->left = cnt;
    for (u32 i = 0; i < cnt; i++) {
        cd_relay_lane_ask(g->lane, "eth_x", "[]", on_reply, g, &numbers[i]);
    }
    cd_timer_start(g->timer, PATIENCE_MS, 0);
    cd_relay_lane_flush(g->lane);
    cd_loop_run(g->loop);
    assert_int_equal(g->left, 0);
}

static void leave_together(void **state)
{
    rig *g = *state;
    /* In another order, one an error. */
    g->says = "[{\"id\":2,\"result\":\"0x2\"},{\"id\":0,\"result\":\"0x0\"},{\"id\":1,\"error\":{\"message\":\"no\"}}]";
    ask(g, 3, 8, 1);
    assert_int_equal(g->posts, 1);
    assert_int_equal(g->good, 2);
    assert_int_equal(g->errors, 1);
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(g->order[i], i);
    }
}

static void wait_for_room(void **state)
{
    rig *g = *state;
    g->says = "[{\"id\":0,\"result\":1},{\"id\":1,\"result\":1}]";
    ask(g, 5, 2, 1);
    assert_int_equal(g->posts, 3);
    assert_int_equal(g->good, 5);
    assert_int_equal(g->order[4], 4);
}

static void go_alone(void **state)
{
    rig *g = *state;
    g->says = "{\"id\":0,\"result\":1}";
    ask(g, 3, 1, 2);
    assert_int_equal(g->posts, 3);
    assert_int_equal(g->good, 3);
    assert_true(g->bodies[0] == '{');
}

/* None of these is an answer to both questions; nobody is told twice, and none is left out. */
static void strange_answers(void **state)
{
    static const struct {
        const char *says;
        u32 status;
        u32 good, errors;
    } rows[] = {
        {"", 200, 0, 0},
        {"[", 200, 0, 0},
        {"[]", 200, 0, 0},
        {"null", 200, 0, 0},
        {"{\"error\":{\"message\":\"no batches\"}}", 200, 0, 1},
        {"[{\"id\":7,\"result\":1},{\"id\":-1,\"result\":1},{\"result\":1},5,null]", 200, 0, 0},
        {"[{\"id\":0,\"result\":1},{\"id\":0,\"result\":1},{\"id\":1}]", 200, 1, 0},
        {"<html>", 502, 0, 0},
    };
    rig *g = *state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        g->says = rows[i].says;
        g->status = rows[i].status;
        g->good = g->errors = g->told = 0;
        ask(g, 2, 8, 1);
        assert_int_equal(g->told, 2);
        assert_int_equal(g->good, rows[i].good);
        assert_int_equal(g->errors, rows[i].errors);
        cd_relay_lane_free(g->lane);
        g->lane = NULL;
    }
}

static void one_that_hangs(void **state)
{
    rig *g = *state;
    ask(g, 2, 8, 1);
    assert_int_equal(g->good + g->errors, 0);
    assert_true(g->text[0] != '\0');
}

static void too_much_is_not_taken(void **state)
{
    static char text[8192];
    rig *g = *state;
    memset(text, ' ', sizeof text - 1);
    g->says = text;
    ask(g, 1, 8, 1);
    assert_int_equal(g->good + g->errors, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leave_together, make, drop),
        cmocka_unit_test_setup_teardown(wait_for_room, make, drop),
        cmocka_unit_test_setup_teardown(go_alone, make, drop),
        cmocka_unit_test_setup_teardown(strange_answers, make, drop),
        cmocka_unit_test_setup_teardown(one_that_hangs, make, drop),
        cmocka_unit_test_setup_teardown(too_much_is_not_taken, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
