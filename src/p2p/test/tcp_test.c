/* Networks on loopback: twenty nodes find each other from one beacon, one is killed and comes back; a stranger floods,
 * a crowd connects and says nothing. The real clock decides when; no test asserts how long anything takes. */
#include "base/mem/mem.h"
#include "p2p/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NODES = 20, PATIENCE_MS = 120000, STEP_MS = 20, CROWD = 300 };

typedef struct member {
    cd_p2p_identity id;
    cd_bls_pk key;
    cd_p2p_tcp *tcp;
    cd_metrics *metrics;
    u16 port;
    u32 connected;
    u32 disconnected;
    u32 messages;
    u32 bytes;
} member;

static cd_loop *loop;
static cd_timer *timer;
static member members[NODES];
static u32 members_cnt;
static bool (*is_done)(void);
static u32 waited_ms;

/* --- whom the networks work for --- */

static bool validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *subnet, const cd_node_id *node)
{
    (void)ctx;
    for (u32 i = 0; i < members_cnt && cd_hash32_is_zero(subnet); i++) {
        if (memcmp(node, &members[i].id.node_id, sizeof *node) == 0) {
            *out = (cd_p2p_validator){.weight = 1, .has_key = true, .id = {{(u8)(i + 1)}}};
            out->key = members[i].key;
            return true;
        }
    }
    return false;
}

static u64 weight(void *ctx, const cd_hash32 *subnet)
{
    (void)ctx;
    return cd_hash32_is_zero(subnet) ? members_cnt : 0;
}

static u32 uptime(void *ctx, const cd_node_id *node)
{
    (void)ctx;
    (void)node;
    return 90;
}

static void on_connected(void *ctx, const cd_p2p_peer_info *peer)
{
    assert_int_equal(peer->version.minor, 13);
    ((member *)ctx)->connected++;
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    (void)node;
    ((member *)ctx)->disconnected++;
}

static void on_message(void *ctx, cd_p2p_in *in)
{
    const cd_p2p_chain_msg *m = in->msg.body;
    ((member *)ctx)->messages++;
    ((member *)ctx)->bytes += (u32)m->data.n;
    cd_p2p_in_done(in);
}

static void member_open(member *m)
{
    cd_errinfo why = {0};
    cd_p2p_ip local;
    assert_int_equal(cd_p2p_ip_addr_parse(&local, cd_bytes_str("127.0.0.1")), CD_OK);
    m->metrics = cd_metrics_new("");
    const cd_p2p_net_cfg net = {.link = {.network_id = 1337,
                                         .client = "candela",
                                         .version = {1, 13, 3},
                                         .version_min = {1, 13, 0},
                                         .version_min_prev = {1, 12, 0},
                                         .ping_ns = 100 * CD_NS_PER_MS},
                                .id = &m->id,
                                .clock = cd_clock_real(),
                                .metrics = m->metrics,
                                .allow_private = true,
                                .delay_min_ns = 20 * CD_NS_PER_MS,
                                .delay_max_ns = 200 * CD_NS_PER_MS,
                                .gossip_ns = 50 * CD_NS_PER_MS,
                                .conn_rate = 10000,
                                .dial_rate = 1000};
    const cd_p2p_tcp_cfg cfg = {.host = "127.0.0.1", .port = m->port, .own = local, .handshake_timeout_ms = 2000};
    const cd_p2p_owner owner = {.ctx = m,
                                .validator = validator,
                                .weight = weight,
                                .uptime = uptime,
                                .connected = on_connected,
                                .disconnected = on_disconnected,
                                .message = on_message};
    cd_err e = cd_p2p_tcp_open(&m->tcp, loop, &cfg, &net, &owner, &why);
    if (e != CD_OK) {
        fail_msg("%s", why.msg);
    }
    m->port = cd_p2p_tcp_port(m->tcp);
}

static void member_close(member *m)
{
    cd_p2p_tcp_close(m->tcp);
    m->tcp = NULL;
    cd_metrics_free(m->metrics);
    m->metrics = NULL;
}

static void befriend(member *m, const member *beacon)
{
    cd_p2p_ip ip;
    char text[32];
    (void)snprintf(text, sizeof text, "127.0.0.1:%u", beacon->port);
    assert_int_equal(cd_p2p_ip_parse(&ip, cd_bytes_str(text)), CD_OK);
    cd_p2p_net_add(cd_p2p_tcp_net(m->tcp), &beacon->id.node_id, &ip);
    cd_p2p_tcp_wake(m->tcp);
}

/* --- waiting --- */

static void on_step(void *ctx)
{
    (void)ctx;
    waited_ms += STEP_MS;
    if (is_done() || waited_ms >= PATIENCE_MS) {
        cd_loop_stop(loop);
    }
}

static void wait_until(bool (*done)(void))
{
    is_done = done;
    waited_ms = 0;
    cd_timer_start(timer, STEP_MS, STEP_MS);
    cd_loop_run(loop);
    cd_timer_stop(timer);
    assert_true(done());
}

static bool all_have(u32 want)
{
    for (u32 i = 0; i < members_cnt; i++) {
        if (members[i].tcp != NULL && cd_p2p_net_cnt(cd_p2p_tcp_net(members[i].tcp)) != want) {
            return false;
        }
    }
    return true;
}

static bool all_meet(void)
{
    return all_have(members_cnt - 1);
}

static bool one_is_missed(void)
{
    return all_have(members_cnt - 2);
}

static void begin(u32 cnt)
{
    const cd_p2p_identity_files none = {.cert = NULL};
    assert_int_equal(cd_loop_new(&loop, NULL), CD_OK);
    timer = cd_timer_new(loop, on_step, NULL);
    members_cnt = cnt;
    for (u32 i = 0; i < cnt; i++) {
        members[i] = (member){.port = 0};
        cd_err e = cd_p2p_identity_open(&members[i].id, cd_fs_real(), &none, cd_clock_wall_ns(cd_clock_real()), NULL);
        assert_int_equal(e, CD_OK);
        assert_int_equal(cd_bls_pk_dec(&members[i].key, cd_bytes_of(members[i].id.bls_public, 48)), CD_OK);
    }
    for (u32 i = 0; i < cnt; i++) {
        member_open(&members[i]);
    }
    for (u32 i = 1; i < cnt; i++) {
        befriend(&members[i], &members[0]);
    }
}

static void end(void)
{
    for (u32 i = 0; i < members_cnt; i++) {
        if (members[i].tcp != NULL) {
            member_close(&members[i]);
        }
    }
    cd_timer_free(timer);
    cd_loop_free(loop);
    for (u32 i = 0; i < members_cnt; i++) {
        cd_p2p_identity_close(&members[i].id);
    }
}

/* --- the network --- */

static bool gossip_arrived(void)
{
    u32 sum = 0;
    for (u32 i = 0; i < members_cnt; i++) {
        sum += members[i].bytes;
    }
    return sum == 10 * 50000;
}

static bool uptimes_known(void)
{
    cd_p2p_own_uptime up;
    return cd_p2p_net_uptime(cd_p2p_tcp_net(members[3].tcp), &up) == CD_OK && up.weighted_average > 90 &&
           up.rewarding_stake > 99;
}

static void twenty(void **state)
{
    (void)state;
    static const cd_hash32 primary;
    cd_buf data = {0};
    begin(NODES);
    wait_until(all_meet);
    wait_until(uptimes_known);
    cd_buf_fill(&data, 'g', 50000); /* random enough for the wire: it is compressed */
    cd_p2p_chain_msg gossip = {.chain_id = cd_bytes_of(primary.b, 32), .data = cd_buf_bytes(&data)};
    const cd_p2p_sample to = {.validators = 7, .peers = 3, .non_validators = 2};
    const cd_p2p_msg m = {.op = CD_P2P_APP_GOSSIP, .body = &gossip};
    assert_int_equal(cd_p2p_net_gossip(cd_p2p_tcp_net(members[5].tcp), &primary, &to, &m), 10);
    wait_until(gossip_arrived);
    const cd_node_id named[] = {members[0].id.node_id, members[1].id.node_id, members[5].id.node_id, {{7}}};
    const cd_p2p_sample with_named = {.peers = 3, .nodes = named, .nodes_cnt = CD_COUNT(named)};
    assert_int_equal(cd_p2p_net_gossip(cd_p2p_tcp_net(members[5].tcp), &primary, &with_named, &m), 5);
    member_close(&members[7]);
    wait_until(one_is_missed);
    u32 before = members[2].connected;
    member_open(&members[7]); /* at its old address; it knows only its beacon */
    befriend(&members[7], &members[0]);
    wait_until(all_meet);
    assert_true(members[2].connected > before);
    cd_buf_fini(&data);
    end();
}

/* --- strangers --- */

static int sockets[CROWD];

static bool crowd_is_gone(void)
{
    u32 open = 0;
    for (u32 i = 0; i < CROWD; i++) {
        char c;
        if (sockets[i] >= 0) {
            ssize_t n = recv(sockets[i], &c, 1, MSG_DONTWAIT);
            if (n == 0 || (n < 0 && errno != EAGAIN)) {
                (void)close(sockets[i]);
                sockets[i] = -1;
            }
        }
        open += sockets[i] >= 0;
    }
    return open == 0;
}

/* Connections that say nothing, or nothing of TLS, are closed after their time; peers that are connected notice
 * nothing. */
static void crowd(void **state)
{
    (void)state;
    begin(2);
    wait_until(all_meet);
    for (u32 i = 0; i < CROWD; i++) {
        struct sockaddr_in to = {
            .sin_family = AF_INET, .sin_port = htons(members[0].port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
        sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_true(sockets[i] >= 0);
        int rc = connect(sockets[i], (const struct sockaddr *)&to, sizeof to);
        assert_true(rc == 0 || errno == EINPROGRESS);
        if (i % 3 == 0) {
            (void)send(sockets[i], "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
        } else if (i % 3 == 1) {
            (void)send(sockets[i], "\x16\x03\x01", 3, MSG_NOSIGNAL);
        }
    }
    wait_until(crowd_is_gone);
    assert_true(all_meet());
    assert_int_equal(members[1].disconnected, 0);
    end();
}

/* A node without stake sends messages that cannot be parsed: a counter grows, and the node stays connected. */
static cd_p2p_peer_info last_info;
static cd_counter *failed_to_parse;

static void see(void *ctx, const cd_p2p_peer_info *peer)
{
    (void)ctx;
    last_info = *peer;
}

static bool all_rubbish_seen(void)
{
    return cd_counter_get(failed_to_parse) >= 1000;
}

static void rubbish(void **state)
{
    (void)state;
    begin(2);
    wait_until(all_meet);
    failed_to_parse = cd_metrics_counter(members[0].metrics, "network_msgs_failed_to_parse",
                                         "Frames that were not understood.", NULL, 0);
    static const cd_hash32 primary;
    const cd_p2p_sample to = {.peers = 1};
    for (u32 i = 0; i < 1000; i++) { /* text that is not UTF-8 */
        cd_p2p_chain_msg m = {.chain_id = cd_bytes_of(primary.b, 32), .data = cd_bytes_of("\xff\xfe", 2)};
        (void)cd_p2p_net_gossip(cd_p2p_tcp_net(members[1].tcp), &primary, &to,
                                &(cd_p2p_msg){.op = CD_P2P_APP_ERROR, .body = &m});
    }
    wait_until(all_rubbish_seen);
    assert_true(all_meet());
    cd_p2p_net_each(cd_p2p_tcp_net(members[0].tcp), see, NULL);
    assert_int_equal(last_info.end, CD_P2P_END_NONE);
    assert_int_equal(members[0].messages + members[0].disconnected, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(twenty), cmocka_unit_test(crowd), cmocka_unit_test(rubbish)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
