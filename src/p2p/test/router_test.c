/* Who gets a message: chains, handlers, those that asked; failures; messages of a node to itself. No network is
 * needed. */
#include "p2p/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEC CD_NS_PER_SEC

typedef struct watcher {
    u32 messages, failures, connected, disconnected;
    u32 op, request_id, failed_id, failed_response;
    i32 code;
    u64 expires_ns;
    char text[64];
    bool is_busy, is_closed;
    bool answers; /* answers a Get with a Put */
} watcher;

static const cd_node_id own = {{9}};
static const cd_node_id alice = {{1}};
static const cd_hash32 primary_chain = {{1}};
static const cd_hash32 other_chain = {{2}};
static const cd_hash32 subnet = {{5}};
static cd_clock_virtual vclock;
static cd_p2p_router *r;
static cd_p2p_owner owner;
static watcher first, second;

static bool validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *s, const cd_node_id *node)
{
    (void)ctx;
    (void)s;
    *out = (cd_p2p_validator){.weight = 1};
    return memcmp(node, &alice, sizeof alice) == 0;
}

static u64 weight(void *ctx, const cd_hash32 *s)
{
    (void)ctx;
    (void)s;
    return 100;
}

static bool is_busy(void *ctx)
{
    return ((watcher *)ctx)->is_busy;
}

static bool is_allowed(void *ctx, const cd_node_id *node)
{
    (void)node;
    return !((watcher *)ctx)->is_closed;
}

static void on_message(void *ctx, cd_p2p_in *in, u64 expires_ns)
{
    watcher *w = ctx;
    const cd_p2p_chain_msg *m = in->msg.body;
    w->messages++;
    w->op = in->msg.op;
    w->request_id = m->request_id;
    w->expires_ns = expires_ns;
    w->code = m->error_code;
    memset(w->text, 0, sizeof w->text);
    if (m->data.n < sizeof w->text && m->data.n != 0) {
        memcpy(w->text, m->data.p, m->data.n);
    }
    if (w->answers && in->msg.op == CD_P2P_GET) {
        cd_p2p_chain_msg put = {.request_id = m->request_id, .data = cd_bytes_str("a block")};
        cd_p2p_router_say(r, &primary_chain, &in->from, CD_P2P_PUT, &put);
        assert_int_equal(w->op, CD_P2P_GET); /* a message to ourselves is not told from within say */
    }
    cd_p2p_in_done(in);
}

static void on_failed(void *ctx, const cd_node_id *node, u32 request_id, u32 response)
{
    watcher *w = ctx;
    (void)node;
    w->failures++;
    w->failed_id = request_id;
    w->failed_response = response;
}

static void on_connected(void *ctx, const cd_node_id *node, const cd_p2p_peer_info *peer)
{
    (void)node;
    assert_non_null(peer);
    ((watcher *)ctx)->connected++;
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    (void)node;
    ((watcher *)ctx)->disconnected++;
}

static cd_p2p_chain chain_of(const cd_hash32 *id, watcher *w)
{
    return (cd_p2p_chain){.id = *id,
                          .ctx = w,
                          .is_busy = is_busy,
                          .is_allowed = is_allowed,
                          .message = on_message,
                          .failed = on_failed,
                          .connected = on_connected,
                          .disconnected = on_disconnected};
}

static void begin(cd_p2p_mux *mux)
{
    cd_clock_virtual_init(&vclock, 1000 * SEC);
    first = second = (watcher){.messages = 0};
    const cd_p2p_router_cfg cfg = {
        .own = own, .clock = &vclock.clock, .seed = 1, .staking = {.validator = validator, .weight = weight}};
    r = cd_p2p_router_new(&cfg);
    owner = cd_p2p_router_owner(r);
    cd_p2p_chain c = chain_of(&primary_chain, &first);
    c.mux = mux;
    assert_int_equal(cd_p2p_router_add(r, &c), CD_OK);
    assert_int_equal(cd_p2p_router_add(r, &c), CD_EEXIST);
    c = chain_of(&other_chain, &second);
    c.subnet = subnet;
    assert_int_equal(cd_p2p_router_add(r, &c), CD_OK);
}

static void end(void)
{
    cd_p2p_router_free(r);
}

/* A message from a peer. */
static void come(const cd_node_id *from, u32 op, cd_p2p_chain_msg m)
{
    if (m.chain_id.n == 0) {
        m.chain_id = cd_bytes_of(primary_chain.b, 32);
    }
    cd_p2p_in *in = cd_p2p_in_own(from, &(cd_p2p_msg){.op = op, .body = &m}, cd_clock_mono_ns(&vclock.clock));
    assert_non_null(in);
    owner.message(owner.ctx, in);
}

static void asked(void **state)
{
    (void)state;
    begin(NULL);
    come(&alice, CD_P2P_GET, (cd_p2p_chain_msg){.request_id = 3, .deadline = 5 * SEC});
    assert_int_equal(first.messages, 1);
    assert_int_equal(first.request_id, 3);
    assert_int_equal(first.expires_ns, 5 * SEC);
    come(&alice, CD_P2P_PULL_QUERY, (cd_p2p_chain_msg){.deadline = UINT64_MAX});
    assert_int_equal(first.expires_ns, 10 * SEC); /* deadlines of peers are cut to this */
    come(&alice, CD_P2P_APP_GOSSIP, (cd_p2p_chain_msg){.deadline = 1});
    assert_true(first.expires_ns == UINT64_MAX);
    come(&alice, CD_P2P_GET, (cd_p2p_chain_msg){.chain_id = cd_bytes_of(other_chain.b, 32)});
    assert_int_equal(second.messages, 1);
    come(&alice, CD_P2P_GET, (cd_p2p_chain_msg){.chain_id = cd_bytes_of(subnet.b, 32)}); /* there is no such chain */
    come(&alice, CD_P2P_GET, (cd_p2p_chain_msg){.chain_id = cd_bytes_of(primary_chain.b, 31)});
    come(&alice, CD_P2P_CHITS, (cd_p2p_chain_msg){.request_id = 3}); /* it was not asked for */
    first.is_busy = true;
    come(&alice, CD_P2P_GET, (cd_p2p_chain_msg){.request_id = 3});
    first.is_busy = false;
    first.is_closed = true;
    come(&alice, CD_P2P_GET, (cd_p2p_chain_msg){.request_id = 3});
    assert_int_equal(first.messages, 3);
    assert_int_equal(second.messages, 1);
    end();
}

static void to_itself(void **state)
{
    (void)state;
    begin(NULL);
    cd_p2p_chain_msg get = {.request_id = 8};
    first.answers = true;
    cd_p2p_router_ask(r, &primary_chain, &own, CD_P2P_GET, &get);
    assert_int_equal(first.messages, 0);
    (void)cd_p2p_router_tick(r);
    assert_int_equal(first.op, CD_P2P_GET);
    (void)cd_p2p_router_tick(r);
    assert_int_equal(first.op, CD_P2P_PUT);
    assert_string_equal(first.text, "a block");
    assert_int_equal(first.messages, 2);
    come(&own, CD_P2P_PUT, (cd_p2p_chain_msg){.request_id = 8}); /* answered already */
    assert_int_equal(first.messages, 2);
    assert_int_equal(cd_p2p_requests_cnt(cd_p2p_router_requests(r)), 0);
    end();
}

static void failing(void **state)
{
    (void)state;
    begin(NULL);
    cd_p2p_chain_msg m = {.request_id = 4};
    cd_p2p_router_ask(r, &primary_chain, &alice, CD_P2P_PULL_QUERY, &m); /* alice is not connected */
    assert_int_equal(first.failures, 0);
    (void)cd_p2p_router_tick(r);
    assert_int_equal(first.failures, 1);
    assert_int_equal(first.failed_response, CD_P2P_CHITS);
    m.request_id = 5;
    cd_p2p_router_ask(r, &primary_chain, &own, CD_P2P_GET_ANCESTORS, &m);
    cd_p2p_router_ask(r, &primary_chain, &own, CD_P2P_GET_ANCESTORS, &m); /* the same request again fails */
    (void)cd_p2p_router_tick(r);
    assert_int_equal(first.failures, 2);
    come(&alice, CD_P2P_ANCESTORS, (cd_p2p_chain_msg){.request_id = 5}); /* own was asked, not alice */
    assert_int_equal(first.op, CD_P2P_GET_ANCESTORS);
    u64 next = cd_p2p_router_tick(r);
    cd_clock_virtual_advance(&vclock, next - cd_clock_mono_ns(&vclock.clock));
    (void)cd_p2p_router_tick(r);
    assert_int_equal(first.failures, 3); /* own did not answer in time */
    assert_int_equal(first.failed_id, 5);
    cd_p2p_router_ask(r, &other_chain, &alice, CD_P2P_GET, &m);
    cd_p2p_router_ask(r, &primary_chain, &own, CD_P2P_GET, &m);
    cd_p2p_router_remove(r, &other_chain);
    cd_p2p_router_remove(r, &primary_chain);
    (void)cd_p2p_router_tick(r);
    assert_int_equal(first.failures + second.failures, 3); /* the chain is gone: no failure is told */
    end();
}

static i32 shout(void *ctx, cd_buf *response, const cd_node_id *from, cd_bytes body)
{
    (void)ctx;
    (void)from;
    cd_buf_put(response, body);
    cd_buf_str(response, "!");
    return body.n == 0 ? 5 : CD_P2P_APP_OK;
}

static void app_messages(void **state)
{
    (void)state;
    cd_p2p_mux mux = {.cnt = 0};
    const cd_p2p_handler h = {.id = 1, .request = shout};
    assert_int_equal(cd_p2p_mux_add(&mux, &h, 0), CD_OK);
    begin(&mux);
    static const struct {
        const char *ask;
        u32 op;
        i32 code;
        const char *answer;
    } rows[] = {{"\1hello", CD_P2P_APP_RESPONSE, 0, "hello!"},
                {"\2hello", CD_P2P_APP_ERROR, -2, "unregistered handler"},
                {"\1", CD_P2P_APP_ERROR, 5, "!"}};
    for (u32 i = 0; i < CD_COUNT(rows); i++) {
        cd_p2p_chain_msg m = {.request_id = 2 * i + 1, .data = cd_bytes_str(rows[i].ask)};
        cd_p2p_router_ask(r, &primary_chain, &own, CD_P2P_APP_REQUEST, &m);
        (void)cd_p2p_router_tick(r);
        (void)cd_p2p_router_tick(r);
        assert_int_equal(first.messages, i + 1);
        assert_int_equal(first.op, rows[i].op);
        assert_int_equal(first.request_id, 2 * i + 1);
        assert_int_equal(first.code, rows[i].code);
        assert_string_equal(first.text, rows[i].answer);
    }
    come(&alice, CD_P2P_APP_GOSSIP, (cd_p2p_chain_msg){.data = cd_bytes_str("\1x")});
    assert_int_equal(first.messages, CD_COUNT(rows));
    end();
    cd_p2p_mux_fini(&mux);
}

static void presence(void **state)
{
    (void)state;
    begin(NULL);
    cd_p2p_peer_info peer = {.node = alice};
    owner.connected(owner.ctx, &peer);
    assert_int_equal(first.connected, 1);
    assert_int_equal(second.connected, 0);
    peer.subnets[0] = subnet;
    peer.subnets_cnt = 1;
    owner.connected(owner.ctx, &peer);
    assert_int_equal(first.connected, 2);
    assert_int_equal(second.connected, 1);
    owner.disconnected(owner.ctx, &alice);
    assert_int_equal(first.disconnected, 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asked), cmocka_unit_test(to_itself), cmocka_unit_test(failing),
                                       cmocka_unit_test(app_messages), cmocka_unit_test(presence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
