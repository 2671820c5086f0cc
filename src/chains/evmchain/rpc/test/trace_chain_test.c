/* debug_traceChain: told block by block, to clients that take their time, leave early, or are still there at the
 * end. */
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "chains/evmchain/test/rpc_node.h"
#include "net/loop.h"
#include "rpc/session.h"

#include <stdatomic.h>

enum { BLOCKS = 210, INBOX = 2000, CLIENTS = 6 };

/* Its session lives on the home thread. */
typedef struct client {
    struct home *home;
    cd_rpc_session *session;
    const char *request;
    char *inbox[INBOX];
    usize room; /* messages that it takes; then it reads no more */
    _Atomic usize cnt;
} client;

typedef struct home {
    cd_loop *loop;
    cd_rpc_hub *hub;
    cd_thread thread;
    cd_loop_task task;
    void (*does)(struct home *h);
    _Atomic bool is_done;
    client clients[CLIENTS];
} home;

static rpc_node node;
static home place;

static cd_err wire_send(void *ctx, cd_bytes head, cd_ws_payload *body)
{
    client *c = ctx;
    usize cnt = atomic_load(&c->cnt);
    if (cnt >= c->room) {
        return CD_EFULL;
    }
    cd_buf text = {0};
    cd_buf_put(&text, head);
    if (body != NULL) {
        cd_buf_put(&text, cd_ws_payload_bytes(body));
    }
    c->inbox[cnt] = strdup(cd_buf_cstr(&text));
    cd_buf_fini(&text);
    atomic_store(&c->cnt, cnt + 1);
    return CD_OK;
}

static void wire_nothing(void *ctx)
{
    (void)ctx;
}

static void wire_close(void *ctx, u16 code, const char *reason)
{
    (void)ctx;
    fail_msg("sent away: %u %s", code, reason);
}

static const cd_rpc_wire wire = {
    .send = wire_send,
    .cork = wire_nothing,
    .uncork = wire_nothing,
    .pause = wire_nothing,
    .resume = wire_nothing,
    .close = wire_close,
};

static cd_err run_here(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    (void)ctx;
    (void)lane;
    job->run(job);
    return CD_OK;
}

static void run_loop(void *arg)
{
    cd_loop_run(arg);
}

static void on_task(cd_loop_task *t)
{
    home *h = cd_list_of(t, home, task);
    h->does(h);
    atomic_store(&h->is_done, true);
}

/* Does something on the home thread. */
static void at_home(void (*does)(home *h))
{
    place.does = does;
    place.task.fn = on_task;
    atomic_store(&place.is_done, false);
    cd_loop_post(place.loop, &place.task);
    while (!atomic_load(&place.is_done)) {
        (void)usleep(100);
    }
}

static void stop(home *h)
{
    cd_loop_stop(h->loop);
}

static void dial(home *h)
{
    for (usize i = 0; i < CLIENTS; i++) {
        client *c = &h->clients[i];
        if (c->request != NULL && c->session == NULL) {
            c->session = cd_rpc_session_new(h->hub, &wire, c, (cd_bytes){0});
            cd_rpc_session_message(c->session, cd_bytes_str(c->request));
        }
    }
}

static void hang_up(home *h)
{
    for (usize i = 0; i < CLIENTS; i++) {
        client *c = &h->clients[i];
        if (c->session != NULL) {
            cd_rpc_session_end(c->session);
            c->session = NULL;
            c->request = NULL;
        }
    }
}

static void make_room(home *h)
{
    for (usize i = 0; i < CLIENTS; i++) {
        if (h->clients[i].session != NULL) {
            h->clients[i].room = INBOX;
            cd_rpc_session_writable(h->clients[i].session);
        }
    }
}

static void wait_for(usize i, usize cnt)
{
    for (usize ms = 0; atomic_load(&place.clients[i].cnt) < cnt; ms++) {
        assert_true(ms < 120000);
        (void)usleep(1000);
    }
}

static void want(usize i, const char *params, usize room)
{
    client *c = &place.clients[i];
    for (usize k = 0; k < atomic_load(&c->cnt); k++) {
        free(c->inbox[k]);
    }
    c->home = &place;
    atomic_store(&c->cnt, 0);
    c->room = room;
    c->request = cd_arena_fmt(&node.arena,
                              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"debug_subscribe\","
                              "\"params\":[\"traceChain\",%s]}",
                              params);
}

static cd_json told(usize i, usize k)
{
    cd_json doc;
    assert_int_equal(cd_json_parse(&doc, &node.arena, cd_bytes_str(place.clients[i].inbox[k]), 0, NULL), CD_OK);
    return doc;
}

static int set_up(void **state)
{
    (void)state;
    if (cd_loop_new(&place.loop, NULL) != CD_OK) {
        return 1;
    }
    rpc_node_open_on(&node, true, NULL, place.loop);
    for (usize i = 0; i < BLOCKS; i++) {
        /* Every third block is empty, and the last one. */
        if (i % 3 == 2 || i == BLOCKS - 1) {
            (void)rpc_node_ask(&node, "evm_mine", "[]");
        } else {
            (void)rpc_node_get(&node, "eth_sendTransaction",
                               "[{\"from\":\"" ALICE "\",\"to\":\"" BOB "\",\"value\":\"0x1\"}]");
        }
    }
    place.hub = cd_rpc_hub_new(&(cd_rpc_hub_cfg){
        .service = node.rpc,
        .lanes = &(cd_rpc_lanes){.run = run_here},
        .home = place.loop,
    });
    return cd_thread_start(&place.thread, "home", run_loop, place.loop, NULL) != CD_OK;
}

static int tear_down(void **state)
{
    (void)state;
    at_home(stop);
    cd_thread_join(&place.thread);
    rpc_node_close(&node);
    place.does = stop; /* what is still on its way home */
    cd_loop_post(place.loop, &place.task);
    cd_loop_run(place.loop);
    usize left = cd_rpc_hub_cnt(place.hub);
    cd_rpc_hub_free(place.hub);
    cd_loop_free(place.loop);
    for (usize i = 0; i < CLIENTS; i++) {
        for (usize k = 0; k < atomic_load(&place.clients[i].cnt); k++) {
            free(place.clients[i].inbox[k]);
        }
    }
    return left != 0;
}

/* (start, end] in order, as debug_traceBlockByNumber traces them; one client reads slowly. */
static void every_block_once(void **state)
{
    (void)state;
    usize full = BLOCKS * 2 / 3; /* blocks behind the first that hold something, and the last */
                                 /* blocks that hold something, behind the first, and the last */
    const char *params = cd_arena_fmt(&node.arena, "\"0x1\",\"0x%x\",{\"tracer\":\"callTracer\"}", (unsigned)BLOCKS);
    want(0, params, INBOX);
    want(1, params, 3);
    at_home(dial);
    wait_for(0, 1 + full);
    assert_int_equal(atomic_load(&place.clients[1].cnt), 3);
    at_home(make_room);
    wait_for(1, 1 + full);
    u64 before = 1;
    for (usize k = 1; k <= full; k++) {
        cd_json note = told(0, k);
        cd_json result = cd_json_get(cd_json_get(note, "params"), "result");
        cd_json same = cd_json_get(cd_json_get(told(1, k), "params"), "result");
        u64 number;
        assert_string_equal(rpc_node_member(&node, note, "method"), "\"debug_subscription\"");
        assert_string_equal(rpc_node_text(&node, result), rpc_node_text(&node, same));
        assert_int_equal(cd_json_u64(&number, cd_json_get(result, "block"), NULL), CD_OK);
        assert_true(number > before);
        before = number;
        if (k % 40 == 1 || k == full) {
            cd_json traces = rpc_node_get(
                &node, "debug_traceBlockByNumber",
                cd_arena_fmt(&node.arena, "[\"0x%llx\",{\"tracer\":\"callTracer\"}]", (unsigned long long)number));
            assert_string_equal(rpc_node_member(&node, result, "traces"), rpc_node_text(&node, traces));
        }
    }
    assert_int_equal(before, BLOCKS);
    at_home(hang_up);
}

static void whoever_leaves_is_forgotten(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        want(0, "\"0x0\",\"latest\"", INBOX);
        want(1, "\"0x0\",\"latest\"", 2);
        at_home(dial);
        wait_for(0, 10);
        at_home(hang_up);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        const char *error;
    } rows[] = {
        {"\"0x5\",\"0x5\"", "{\"code\":-32000,\"message\":\"end block (#5) needs to come after start block (#5)\"}"},
        {"\"0x5\",\"0x4\"", "{\"code\":-32000,\"message\":\"end block (#4) needs to come after start block (#5)\"}"},
        {"\"0x5\"", "{\"code\":-32602,\"message\":\"missing value for required argument 2\"}"},
        {"\"0x5\",\"0xffff\"", "{\"code\":-32000,\"message\":\"cannot query unfinalized data\"}"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        want(0, rows[i].params, INBOX);
        at_home(dial);
        wait_for(0, 1);
        assert_string_equal(rpc_node_member(&node, told(0, 0), "error"), rows[i].error);
        at_home(hang_up);
    }
    for (usize i = 0; i < 4; i++) {
        want(i, "\"0x0\",\"latest\"", INBOX);
    }
    at_home(dial);
    want(4, "\"0x0\",\"latest\"", INBOX);
    at_home(dial);
    wait_for(4, 1);
    assert_string_equal(rpc_node_member(&node, told(4, 0), "error"),
                        "{\"code\":-32000,\"message\":\"4 chains are being traced already\"}");
    at_home(hang_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_once),
        cmocka_unit_test(whoever_leaves_is_forgotten),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
