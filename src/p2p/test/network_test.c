/* Networks in a virtual world: connections in memory, a clock that is moved. They find each other and come back; and
 * what attackers may take is bounded: bytes, messages, processor time, connections, each with a test. */
#include "base/mem/mem.h"
#include "base/table/list.h"
#include "p2p/router.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEC      CD_NS_PER_SEC
#define START_NS (1795266684 * SEC)

enum { NODES_MAX = 40, PIPE_MAX = 256 * 1024, HELD_MAX = 8192 };

typedef struct pipe_end pipe_end;

/* One side of a connection; in has the bytes that wait to be read by it. */
struct pipe_end {
    cd_p2p_conn conn; /* first */
    cd_list all;
    pipe_end *other;
    cd_p2p_peer *peer; /* NULL: closed, or the test plays this side */
    cd_buf in;
    bool is_paused;
    bool is_flying; /* the other side waits for `written` */
    bool is_closed;
};

typedef struct member {
    cd_p2p_identity id;
    cd_p2p_net *net;       /* NULL: the member is down */
    cd_p2p_router *router; /* NULL: the test itself is the owner */
    u64 next_ns;
    u32 weight;
    u32 connected, disconnected;
    u32 messages;
    bool holds;
    cd_p2p_in *held[HELD_MAX];
    u32 held_cnt;
    u32 dials;
    u64 dialed_ns[64];
} member;

static cd_clock_virtual vclock;
static member *members[NODES_MAX];
static u32 members_cnt;
static cd_list pipes;
static bool is_unreachable; /* every dial fails */
static cd_p2p_net_cfg base;

static u64 now_ns(void)
{
    return cd_clock_mono_ns(&vclock.clock);
}

/* --- connections --- */

static cd_err pipe_write(cd_p2p_conn *c, cd_shared *const *frames, usize cnt)
{
    pipe_end *e = (pipe_end *)(void *)c;
    for (usize i = 0; i < cnt && !e->other->is_closed; i++) {
        cd_buf_put(&e->other->in, cd_shared_bytes(frames[i]));
    }
    e->other->is_flying = e->other->in.n > PIPE_MAX && !e->other->is_closed;
    return e->other->is_flying ? CD_EAGAIN : CD_OK;
}

static void pipe_pause(cd_p2p_conn *c, bool is_paused)
{
    ((pipe_end *)(void *)c)->is_paused = is_paused;
}

static void pipe_close(cd_p2p_conn *c)
{
    pipe_end *e = (pipe_end *)(void *)c;
    e->is_closed = true;
    e->peer = NULL;
    cd_buf_fini(&e->in);
}

static pipe_end *pipe_new(void)
{
    pipe_end *ends[2];
    for (u32 i = 0; i < 2; i++) {
        ends[i] = cd_new(pipe_end);
        ends[i]->conn = (cd_p2p_conn){.write = pipe_write, .pause = pipe_pause, .close = pipe_close};
        cd_list_push_back(&pipes, &ends[i]->all);
    }
    ends[0]->other = ends[1];
    ends[1]->other = ends[0];
    return ends[0];
}

/* Moves waiting bytes, at most 64 KiB as a socket would; false: nothing moved. */
static bool pipe_move(pipe_end *e)
{
    u8 chunk[64 * 1024];
    usize n = cd_min_u64(e->in.n, sizeof chunk);
    if (e->peer == NULL || e->is_paused) {
        return false;
    }
    if (n == 0) {
        if (e->other->is_closed) {
            cd_p2p_peer_over(e->peer);
            return true;
        }
        return false;
    }
    memcpy(chunk, e->in.p, n);
    memmove(e->in.p, e->in.p + n, e->in.n - n);
    e->in.n -= n;
    cd_p2p_peer_data(e->peer, cd_bytes_of(chunk, n));
    if (e->is_flying && e->in.n <= PIPE_MAX) {
        e->is_flying = false;
        if (e->other->peer != NULL) {
            cd_p2p_peer_written(e->other->peer, CD_OK);
        }
    }
    return true;
}

/* --- members --- */

static bool validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *subnet, const cd_node_id *node)
{
    (void)ctx;
    for (u32 i = 0; i < members_cnt && cd_hash32_is_zero(subnet); i++) {
        if (members[i]->weight != 0 && memcmp(node, &members[i]->id.node_id, sizeof *node) == 0) {
            *out = (cd_p2p_validator){.weight = members[i]->weight};
            return true;
        }
    }
    return false;
}

static u64 weight(void *ctx, const cd_hash32 *subnet)
{
    u64 sum = 0;
    (void)ctx;
    for (u32 i = 0; i < members_cnt && cd_hash32_is_zero(subnet); i++) {
        sum += members[i]->weight;
    }
    return sum;
}

static void on_connected(void *ctx, const cd_p2p_peer_info *peer)
{
    (void)peer;
    ((member *)ctx)->connected++;
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    (void)node;
    ((member *)ctx)->disconnected++;
}

static void on_message(void *ctx, cd_p2p_in *in)
{
    member *m = ctx;
    m->messages++;
    if (m->holds) {
        assert_true(m->held_cnt < HELD_MAX);
        m->held[m->held_cnt++] = in;
    } else {
        cd_p2p_in_done(in);
    }
}

static cd_p2p_ip address_of(u32 i)
{
    cd_p2p_ip ip;
    char text[32];
    (void)snprintf(text, sizeof text, "10.0.0.%u:9651", i + 1);
    assert_int_equal(cd_p2p_ip_parse(&ip, cd_bytes_str(text)), CD_OK);
    return ip;
}

static void on_dial(void *ctx, const cd_node_id *ticket, const cd_p2p_ip *ip)
{
    member *from = ctx;
    if (from->dials < CD_COUNT(from->dialed_ns)) {
        from->dialed_ns[from->dials] = now_ns();
    }
    from->dials++;
    for (u32 i = 0; i < members_cnt && !is_unreachable; i++) {
        cd_p2p_ip there = address_of(i);
        if (members[i]->net == NULL || !cd_p2p_ip_eq(&there, ip) || members[i] == from) {
            continue;
        }
        pipe_end *e = pipe_new();
        e->peer = cd_p2p_net_opened(from->net, &e->conn, cd_buf_bytes(&members[i]->id.cert), ticket);
        e->is_closed = e->peer == NULL;
        pipe_end *o = e->other;
        o->peer = cd_p2p_net_opened(members[i]->net, &o->conn, cd_buf_bytes(&from->id.cert), NULL);
        o->is_closed = o->peer == NULL;
        members[i]->next_ns = now_ns();
        from->next_ns = now_ns();
        return;
    }
    cd_p2p_net_failed(from->net, ticket);
}

static void member_up(u32 i)
{
    member *m = members[i];
    cd_p2p_ip own = address_of(i);
    cd_p2p_net_cfg cfg = base;
    cfg.id = &m->id;
    cfg.clock = &vclock.clock;
    cfg.seed = 1000 + i;
    cfg.link = (cd_p2p_link_cfg){.network_id = 7,
                                 .client = "candela",
                                 .version = {1, 13, 3},
                                 .version_min = {1, 13, 0},
                                 .version_min_prev = {1, 12, 0},
                                 .is_plain = true};
    cd_p2p_owner owner = {.ctx = m,
                          .validator = validator,
                          .weight = weight,
                          .connected = on_connected,
                          .disconnected = on_disconnected,
                          .message = on_message};
    const cd_p2p_transport transport = {.ctx = m, .dial = on_dial};
    if (m->router != NULL) {
        owner = cd_p2p_router_owner(m->router);
    }
    m->net = cd_p2p_net_new(&cfg, &owner, &transport, &own);
    m->next_ns = 0;
}

static void release_held(member *m)
{
    while (m->held_cnt != 0) {
        cd_p2p_in_done(m->held[--m->held_cnt]);
    }
}

static void member_down(member *m)
{
    release_held(m);
    cd_p2p_net_free(m->net);
    m->net = NULL;
    cd_p2p_router_free(m->router);
    m->router = NULL;
}

static void begin(u32 cnt)
{
    const cd_p2p_identity_files none = {.cert = NULL};
    cd_clock_virtual_init(&vclock, START_NS);
    cd_list_init(&pipes);
    is_unreachable = false;
    base = (cd_p2p_net_cfg){.allow_private = true};
    members_cnt = cnt;
    for (u32 i = 0; i < cnt; i++) {
        members[i] = cd_new(member);
        members[i]->weight = 1;
        assert_int_equal(cd_p2p_identity_open(&members[i]->id, cd_fs_real(), &none, START_NS, NULL), CD_OK);
    }
}

static void all_up(void)
{
    for (u32 i = 0; i < members_cnt; i++) {
        member_up(i);
    }
}

static void befriend(u32 i, u32 beacon)
{
    cd_p2p_ip ip = address_of(beacon);
    cd_p2p_net_add(members[i]->net, &members[beacon]->id.node_id, &ip);
    members[i]->next_ns = 0;
}

static void end(void)
{
    for (u32 i = 0; i < members_cnt; i++) {
        member_down(members[i]);
    }
    cd_list_each_safe(it, &pipes)
    {
        pipe_end *e = cd_list_of(it, pipe_end, all);
        cd_buf_fini(&e->in);
        cd_free(e);
    }
    for (u32 i = 0; i < members_cnt; i++) {
        cd_p2p_identity_close(&members[i]->id);
        cd_free(members[i]);
    }
}

/* --- the world --- */

static void settle(void)
{
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        cd_list_each(it, &pipes)
        {
            has_moved |= pipe_move(cd_list_of(it, pipe_end, all));
        }
    }
}

/* Lets ns nanoseconds pass, from one event to the next, in steps of at most 100 ms. */
static void run(u64 ns)
{
    u64 until = now_ns() + ns;
    while (now_ns() < until) {
        u64 next = cd_min_u64(until, now_ns() + SEC / 10);
        for (u32 i = 0; i < members_cnt; i++) {
            if (members[i]->net != NULL && members[i]->next_ns <= now_ns()) {
                members[i]->next_ns = cd_p2p_net_tick(members[i]->net);
            }
        }
        settle();
        for (u32 i = 0; i < members_cnt; i++) {
            next = members[i]->net == NULL ? next
                                           : cd_min_u64(next, cd_max_u64(members[i]->next_ns, now_ns() + SEC / 1000));
        }
        cd_clock_virtual_advance(&vclock, next - now_ns());
    }
}

static bool all_have(u32 cnt)
{
    for (u32 i = 0; i < members_cnt; i++) {
        if (members[i]->net != NULL && cd_p2p_net_cnt(members[i]->net) != cnt) {
            return false;
        }
    }
    return true;
}

static void gossip(u32 from, usize size, u32 cnt)
{
    static const cd_hash32 primary;
    cd_buf data = {0};
    cd_buf_fill(&data, 'x', size);
    cd_p2p_chain_msg m = {.chain_id = cd_bytes_of(primary.b, 32), .data = cd_buf_bytes(&data)};
    for (u32 i = 0; i < cnt; i++) {
        (void)cd_p2p_net_send(members[from]->net, &members[0]->id.node_id,
                              &(cd_p2p_msg){.op = CD_P2P_APP_GOSSIP, .body = &m});
    }
    cd_buf_fini(&data);
}

/* --- finding each other --- */

static void meeting(void **state)
{
    (void)state;
    begin(NODES_MAX);
    all_up();
    for (u32 i = 1; i < members_cnt; i++) {
        befriend(i, 0);
    }
    run(120 * SEC);
    assert_true(all_have(members_cnt - 1));
    for (u32 i = 3; i < 13; i++) { /* a quarter dies at once */
        member_down(members[i]);
    }
    run(5 * SEC);
    assert_true(all_have(members_cnt - 11));
    for (u32 i = 3; i < 13; i++) {
        member_up(i);
        befriend(i, i - 1);
    }
    run(300 * SEC);
    assert_true(all_have(members_cnt - 1));
    end();
}

static void backoff(void **state)
{
    (void)state;
    begin(2);
    all_up();
    is_unreachable = true;
    members[0]->weight = members[1]->weight = 0;
    befriend(1, 0);
    run(1800 * SEC);
    member *m = members[1];
    assert_true(m->dials > 25 && m->dials < 64); /* the delay has grown to a minute in the end */
    assert_true(m->dialed_ns[1] - m->dialed_ns[0] >= SEC);
    for (u32 i = 1; i + 1 < m->dials; i++) {
        u64 a = m->dialed_ns[i] - m->dialed_ns[i - 1];
        u64 b = m->dialed_ns[i + 1] - m->dialed_ns[i];
        assert_true(b + SEC >= a && b <= 61 * SEC);
    }
    is_unreachable = false;
    run(61 * SEC);
    assert_true(all_have(1));
    end();
}

static void not_dialed(void **state)
{
    (void)state;
    begin(2);
    base.allow_private = false;
    all_up();
    befriend(1, 0);
    run(10 * SEC);
    assert_int_equal(members[1]->dials, 0);
    end();
}

/* --- who may come in --- */

static void accepting(void **state)
{
    (void)state;
    begin(1);
    all_up();
    cd_p2p_net *n = members[0]->net;
    cd_p2p_ip from = address_of(9);
    cd_p2p_ip local;
    assert_int_equal(cd_p2p_ip_addr_parse(&local, cd_bytes_str("127.0.0.1")), CD_OK);
    assert_true(cd_p2p_net_may_accept(n, &from));
    assert_false(cd_p2p_net_may_accept(n, &from)); /* the address was here a moment ago */
    cd_clock_virtual_advance(&vclock, 10 * SEC);
    assert_true(cd_p2p_net_may_accept(n, &from));
    u32 cnt = 0;
    cd_clock_virtual_advance(&vclock, 10 * SEC);
    while (cd_p2p_net_may_accept(n, &local)) {
        cnt++;
    }
    assert_int_equal(cnt, 256);      /* as many as one second allows */
    for (u32 i = 0; i < 6000; i++) { /* the number of remembered addresses is bounded: beyond it new ones must wait */
        cd_clock_virtual_advance(&vclock, SEC / 600);
        cd_put_be32(from.addr + 12, 0x0b000000 + i);
        cnt += cd_p2p_net_may_accept(n, &from);
    }
    assert_true(cnt < 256 + 2560 + 1);
    cd_clock_virtual_advance(&vclock, 20 * SEC);
    assert_true(cd_p2p_net_may_accept(n, &from));
    end();
}

static void refused(void **state)
{
    (void)state;
    begin(4);
    base.peers_max = 2;
    members[3]->weight = 0;
    all_up();
    cd_p2p_net *n = members[0]->net;
    pipe_end *e[5];
    for (u32 i = 0; i < 5; i++) {
        e[i] = pipe_new();
    }
    assert_null(cd_p2p_net_opened(n, &e[0]->conn, cd_buf_bytes(&members[0]->id.cert), NULL)); /* our own certificate */
    assert_null(cd_p2p_net_opened(n, &e[0]->conn, cd_bytes_str("no certificate"), NULL));
    e[1]->peer = cd_p2p_net_opened(n, &e[1]->conn, cd_buf_bytes(&members[1]->id.cert), NULL);
    assert_non_null(e[1]->peer);
    assert_null(cd_p2p_net_opened(n, &e[2]->conn, cd_buf_bytes(&members[1]->id.cert), NULL)); /* there already */
    e[3]->peer = cd_p2p_net_opened(n, &e[3]->conn, cd_buf_bytes(&members[2]->id.cert), NULL);
    assert_non_null(e[3]->peer);
    assert_null(cd_p2p_net_opened(n, &e[4]->conn, cd_buf_bytes(&members[3]->id.cert), NULL)); /* one too many */
    cd_p2p_ip from = address_of(9);
    assert_false(cd_p2p_net_may_accept(n, &from));
    run(40 * SEC); /* the other sides say nothing: half-open connections end */
    assert_true(e[1]->is_closed && e[3]->is_closed);
    assert_true(cd_p2p_net_may_accept(n, &from));
    end();
}

/* A stranger who comes and goes several times before the network looks after what has ended: it is forgotten once. */
static void in_and_out(void **state)
{
    (void)state;
    begin(2);
    members[1]->weight = 0;
    member_up(0);
    cd_p2p_net *n = members[0]->net;
    for (u32 i = 0; i < 3; i++) {
        pipe_end *e = pipe_new();
        e->peer = cd_p2p_net_opened(n, &e->conn, cd_buf_bytes(&members[1]->id.cert), NULL);
        assert_non_null(e->peer);
        cd_p2p_peer_over(e->peer);
        assert_true(e->is_closed);
    }
    /* nor is it forgotten while a link of it has not been looked after: a dial that came to nothing */
    cd_p2p_net_failed(n, &members[1]->id.node_id);
    run(SEC);
    pipe_end *e = pipe_new();
    e->peer = cd_p2p_net_opened(n, &e->conn, cd_buf_bytes(&members[1]->id.cert), NULL);
    assert_non_null(e->peer);
    end();
}

static void validators_only(void **state)
{
    (void)state;
    begin(2);
    base.validators_only = true;
    members[1]->weight = 0;
    all_up();
    befriend(1, 0); /* member 1 wants member 0, but not the other way round */
    run(5 * SEC);
    assert_int_equal(cd_p2p_net_cnt(members[0]->net), 0);
    members[1]->weight = 1;
    run(70 * SEC);
    assert_true(all_have(1));
    members[1]->weight = 0; /* member 1 loses its stake: seen before the next ping */
    run(30 * SEC);
    assert_int_equal(cd_p2p_net_cnt(members[0]->net), 0);
    end();
}

/* --- what attackers may take --- */

/* Three nodes without stake flood a slow one; a node with stake is heard all the same, and when the slow one goes on,
 * all messages do. */
static void flood(void **state)
{
    (void)state;
    begin(5);
    members[1]->weight = members[2]->weight = members[3]->weight = 0;
    all_up();
    for (u32 i = 1; i < 5; i++) {
        befriend(i, 0);
    }
    run(10 * SEC);
    assert_int_equal(cd_p2p_net_cnt(members[0]->net), 4);
    members[0]->holds = true;
    for (u32 round = 0; round < 10; round++) {
        for (u32 i = 1; i < 4; i++) {
            gossip(i, 500000, 4);
        }
        run(10 * SEC);
    }
    usize held = 0;
    for (u32 i = 0; i < members[0]->held_cnt; i++) {
        held += members[0]->held[i]->text.n;
    }
    assert_true(held > 4ull * 500000 && held <= 6u << 20);
    u32 before = members[0]->messages;
    gossip(4, 500000, 1);
    run(10 * SEC);
    assert_int_equal(members[0]->messages, before + 1);
    assert_int_equal(members[0]->disconnected, 0);
    members[0]->holds = false;
    release_held(members[0]);
    run(600 * SEC);
    assert_true(members[0]->messages > before + 3);
    end();
}

/* The bandwidth of a peer: two megabytes at once, then half a megabyte a second. */
static void bandwidth(void **state)
{
    (void)state;
    begin(2);
    all_up();
    befriend(1, 0);
    run(5 * SEC);
    gossip(1, 250000, 40); /* ten megabytes; the sender drops what has no room */
    run(SEC);
    u32 first = members[0]->messages;
    assert_true(first >= 8 && first <= 11);
    run(3 * SEC);
    assert_true(members[0]->messages - first >= 5 && members[0]->messages - first <= 7);
    end();
}

static void unfinished(void **state)
{
    (void)state;
    begin(2);
    all_up();
    befriend(1, 0);
    run(5 * SEC);
    members[0]->holds = true;
    gossip(1, 10, 5000);
    run(5 * SEC);
    assert_int_equal(members[0]->messages, CD_P2P_UNFINISHED_MAX);
    release_held(members[0]);
    run(5 * SEC);
    assert_int_equal(members[0]->messages, 2 * CD_P2P_UNFINISHED_MAX);
    members[0]->holds = false;
    release_held(members[0]);
    run(5 * SEC);
    assert_int_equal(members[0]->messages, 5000);
    end();
}

static void greedy(void **state)
{
    (void)state;
    begin(3);
    members[1]->weight = 0;
    all_up();
    befriend(1, 0);
    befriend(2, 0);
    run(5 * SEC);
    cd_p2p_net_used(members[0]->net, &members[1]->id.node_id, 60 * SEC);
    gossip(1, 10, 1);
    gossip(2, 10, 1);
    run(2 * SEC);
    assert_int_equal(members[0]->messages, 1); /* the one of the other member */
    run(120 * SEC);
    assert_int_equal(members[0]->messages, 2); /* the greedy member's message has waited its time */
    end();
}

/* --- the bench, with a router over it --- */

static u32 failures;
static i32 present; /* number of peers that the chain takes for connected */

static void chain_message(void *ctx, cd_p2p_in *in, u64 expires_ns)
{
    (void)ctx;
    (void)expires_ns;
    cd_p2p_in_done(in);
}

static void chain_failed(void *ctx, const cd_node_id *node, u32 request_id, u32 response)
{
    (void)ctx;
    (void)node;
    (void)request_id;
    (void)response;
    failures++;
}

static void chain_connected(void *ctx, const cd_node_id *node, const cd_p2p_peer_info *peer)
{
    (void)ctx;
    assert_memory_equal(&peer->node, node, sizeof *node);
    present++;
}

static void chain_disconnected(void *ctx, const cd_node_id *node)
{
    (void)ctx;
    (void)node;
    present--;
}

/* A validator that is connected and never answers counts as gone for the chain after a while; later it is tried
 * again. */
static void benched(void **state)
{
    (void)state;
    begin(12);
    failures = 0;
    present = 0;
    const cd_p2p_router_cfg cfg = {.own = members[0]->id.node_id,
                                   .clock = &vclock.clock,
                                   .seed = 3,
                                   .staking = {.validator = validator, .weight = weight}};
    const cd_p2p_chain chain = {.id = {{1}},
                                .message = chain_message,
                                .failed = chain_failed,
                                .connected = chain_connected,
                                .disconnected = chain_disconnected};
    members[0]->router = cd_p2p_router_new(&cfg);
    assert_int_equal(cd_p2p_router_add(members[0]->router, &chain), CD_OK);
    all_up();
    cd_p2p_router_bind(members[0]->router, members[0]->net);
    befriend(1, 0);
    run(5 * SEC);
    assert_int_equal(present, 1);
    bool was_benched = false;
    for (u32 i = 0; i < 1200 && !(was_benched && present == 1); i++) {
        cd_p2p_chain_msg m = {.request_id = i};
        cd_p2p_router_ask(members[0]->router, &chain.id, &members[1]->id.node_id, CD_P2P_PULL_QUERY, &m);
        run(SEC);
        (void)cd_p2p_router_tick(members[0]->router);
        was_benched |= present == 0;
        assert_true(cd_p2p_net_is_connected(members[0]->net, &members[1]->id.node_id));
    }
    assert_true(was_benched && failures > 150);
    assert_int_equal(present, 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meeting),    cmocka_unit_test(backoff),   cmocka_unit_test(not_dialed),
        cmocka_unit_test(accepting),  cmocka_unit_test(refused),   cmocka_unit_test(validators_only),
        cmocka_unit_test(flood),      cmocka_unit_test(bandwidth), cmocka_unit_test(unfinished),
        cmocka_unit_test(in_and_out), cmocka_unit_test(greedy),    cmocka_unit_test(benched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
