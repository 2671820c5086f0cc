/* Peers of three nodes on loopback: they find each other from one beacon, one goes and comes back, the set of
 * validators changes. The real clock decides when; nothing is asserted about how long it takes. */
#include "base/mem/mem.h"
#include "node/front/health.h"
#include "node/peers/peers.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NODES = 3, PATIENCE_MS = 60000, STEP_MS = 20 };

typedef struct member {
    cd_p2p_identity id;
    cd_metrics *metrics;
    cd_node_beacon beacon;
    cd_node_peers *peers;
    u16 port;
} member;

static cd_loop *loop;
static cd_timer *timer;
static member members[NODES];
static bool (*is_done)(void);
static u32 waited_ms;

/* --- a P-Chain at whose height n the first n members validate --- */

static u64 p_height;
static u32 reads;

static cd_err current(const cd_vm_validators *v, u64 *height)
{
    (void)v;
    *height = p_height;
    return CD_OK;
}

static cd_err at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height)
{
    (void)v;
    assert_true(cd_hash32_is_zero(subnet));
    cd_vm_validator *all = cd_arena_zalloc(a, NODES * sizeof *all);
    for (u64 i = 0; i < height; i++) {
        cd_bls_pk key;
        all[i] = (cd_vm_validator){.node_id = members[i].id.node_id, .weight = 1 + i, .has_key = true};
        assert_int_equal(cd_bls_pk_dec(&key, cd_bytes_of(members[i].id.bls_public, CD_BLS_PK_LEN)), CD_OK);
        cd_bls_pk_enc_raw(all[i].key, &key);
    }
    *out = all;
    *cnt = height;
    reads++;
    return CD_OK;
}

static cd_err uptime(const cd_vm_validators *v, u64 *up_s, u64 *span_s, const cd_node_id *node)
{
    (void)v;
    (void)node;
    *up_s = 75;
    *span_s = 100;
    return CD_OK;
}

static const cd_vm_validators p_chain = {.current = current, .at = at, .uptime = uptime};

static const cd_vm_validators *validators(void *ctx)
{
    (void)ctx;
    return p_height == 0 ? NULL : &p_chain;
}

/* --- nodes --- */

static const char *blocked;

static void member_open(u32 i, u32 min_connected)
{
    cd_errinfo why = {0};
    member *m = &members[i];
    cd_node_peers_cfg cfg = {.id = &m->id, .host = "127.0.0.1", .port = m->port, .allow_private = true};
    const cd_node_peers_env env = {.network = cd_network_find("local"),
                                   .loop = loop,
                                   .clock = cd_clock_real(),
                                   .metrics = m->metrics,
                                   .validators = validators};
    assert_int_equal(cd_p2p_ip_addr_parse(&cfg.own, cd_bytes_str("127.0.0.1")), CD_OK);
    cfg.min_connected = min_connected;
    cfg.blocked = blocked;
    if (i != 0) {
        m->beacon = (cd_node_beacon){.ip = cd_node_peers_own(members[0].peers), .node = members[0].id.node_id};
        cfg.beacons = &m->beacon;
        cfg.beacon_cnt = 1;
    }
    m->peers = cd_node_peers_new(&cfg, &env);
    if (cd_node_peers_open(m->peers, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    m->port = cd_node_peers_port(m->peers);
    assert_int_equal(cd_node_peers_own(m->peers).port, m->port);
}

static usize listed(u32 i, cd_buf *out, const cd_node_id *ids, usize cnt)
{
    cd_json_w w = {.out = out};
    cd_json_w_arr(&w);
    usize n = cd_node_peers_list(members[i].peers, &w, ids, cnt);
    cd_json_w_arr_end(&w);
    return n;
}

static usize count(u32 i)
{
    cd_buf text = {0};
    usize n = members[i].peers == NULL ? 0 : listed(i, &text, NULL, 0);
    cd_buf_fini(&text);
    return n;
}

static void on_timer(void *ctx)
{
    (void)ctx;
    waited_ms += STEP_MS;
    if (is_done() || waited_ms >= PATIENCE_MS) {
        cd_loop_stop(loop);
    }
}

static void wait_for(bool (*done)(void))
{
    is_done = done;
    waited_ms = 0;
    cd_loop_run(loop);
    assert_true(done());
}

static bool are_all_there(void)
{
    return count(0) == 2 && count(1) == 2 && count(2) == 2;
}

static bool is_last_gone(void)
{
    return count(0) == 1 && count(1) == 1;
}

static bool is_middle_gone(void)
{
    return count(0) == 1 && count(2) == 1;
}

static bool is_set_known(void)
{
    cd_info_uptime up;
    return cd_node_peers_uptime(members[2].peers, &up);
}

static bool is_set_forgotten(void)
{
    return !is_set_known();
}

static void check_text(u32 i, u32 peer)
{
    cd_buf text = {0};
    cd_buf want = {0};
    assert_int_equal(listed(i, &text, &members[peer].id.node_id, 1), 1);
    cd_buf_fmt(&want, "[{\"ip\":\"127.0.0.1:%u\",\"publicIP\":\"127.0.0.1:%u\",\"nodeID\":\"", members[peer].port,
               members[peer].port);
    cd_node_id_put(&want, &members[peer].id.node_id);
    cd_buf_str(&want, "\",\"version\":\"candela/1.13.3\",\"lastSent\":\"20");
    assert_memory_equal(cd_buf_cstr(&text), cd_buf_cstr(&want), want.n);
    assert_non_null(strstr(cd_buf_cstr(&text), "\"trackedSubnets\":[\"11111111111111111111111111111111LpoYY\"],"
                                               "\"benched\":[]}]"));
    cd_buf_fini(&text);
    cd_buf_fini(&want);
}

/* Runs a check. Its message must begin with want; wrong NULL: all must be well. */
static void check(cd_health_check *fn, u32 i, const char *want, const char *wrong)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    const char *said = fn(members[i].peers, &w);
    assert_string_equal(said == NULL ? "" : said, wrong == NULL ? "" : wrong);
    if (strncmp(cd_buf_cstr(&text), want, strlen(want)) != 0) {
        fail_msg("%s", cd_buf_cstr(&text));
    }
    cd_buf_fini(&text);
}

static void check_health(u32 i, const char *want, const char *wrong)
{
    check(cd_node_peers_health, i, want, wrong);
}

static void check_stake(u32 i, const char *want, bool is_enough)
{
    static const cd_hash32 chain = {{'X'}};
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    assert_int_equal(cd_node_peers_connected(members[i].peers, &chain, &w) >= 0.8, is_enough);
    cd_json_w_obj_end(&w);
    if (strstr(cd_buf_cstr(&text), want) == NULL) {
        fail_msg("%s", cd_buf_cstr(&text));
    }
    cd_buf_fini(&text);
}

static void test_find_each_other(void **state)
{
    (void)state;
    p_height = 2;
    for (u32 i = 0; i < NODES; i++) {
        member_open(i, i);
    }
    check_health(0, "{\"connectedPeers\":0,\"sendFailRate\":0}", NULL);
    check_health(2, "{\"connectedPeers\":0,\"sendFailRate\":0}",
                 "network layer is unhealthy reason: not connected to a minimum of 2 peer(s) only 0, "
                 "no messages received from network, no messages sent to network");
    wait_for(are_all_there);
    check_text(0, 2);
    check_text(2, 1);
    check_health(2, "{\"connectedPeers\":2,\"sendFailRate\":0,\"timeSinceLastMsgReceived\":\"", NULL);
    check(cd_node_peers_router_health, 2, "{\"longestRunningRequest\":\"0s\",\"outstandingRequests\":0}", NULL);
    cd_buf text = {0};
    assert_int_equal(listed(1, &text, &members[1].id.node_id, 1), 0); /* nobody is a peer of its own */
    cd_buf_fini(&text);
    cd_metrics_fmt(members[0].metrics, &text);
    assert_non_null(strstr(cd_buf_cstr(&text), "network_peers 2\n"));
    cd_buf_fini(&text);
}

static bool are_apart(void)
{
    return count(0) == 1 && count(1) == 1 && count(2) == 2;
}

/* The first does not speak to the second any more, and then does again; what it cannot read changes nothing. */
static void test_blocked(void **state)
{
    (void)state;
    char dir[] = "/tmp/candela-peers-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/blocked", dir);
    cd_buf text = {0};
    cd_node_id_put(&text, &members[1].id.node_id);
    cd_buf_str(&text, "\n\n");
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&text), 0600, NULL), CD_OK);
    cd_node_peers_close(members[0].peers);
    blocked = path;
    member_open(0, 0);
    blocked = NULL;
    wait_for(are_apart);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str("NodeID-x\n"), 0600, NULL), CD_OK);
    cd_node_peers_reload(members[0].peers);
    assert_int_equal(count(0), 1);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, (cd_bytes){0}, 0600, NULL), CD_OK);
    cd_node_peers_reload(members[0].peers);
    wait_for(are_all_there);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&text), 0600, NULL), CD_OK);
    cd_node_peers_reload(members[0].peers); /* while they are connected */
    wait_for(are_apart);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), path, NULL), CD_OK);
    cd_node_peers_reload(members[0].peers); /* there is no such file: nothing changes */
    assert_int_equal(count(0), 1);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, (cd_bytes){0}, 0600, NULL), CD_OK);
    cd_node_peers_reload(members[0].peers);
    wait_for(are_all_there);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), dir, NULL), CD_OK);
    cd_node_peers_close(members[0].peers); /* the file's name goes with this function */
    member_open(0, 0);
    wait_for(are_all_there);
    cd_buf_fini(&text);
}

static void test_goes_and_comes_back(void **state)
{
    (void)state;
    cd_node_peers_close(members[2].peers);
    members[2].peers = NULL;
    wait_for(is_last_gone);
    member_open(2, 0);
    wait_for(are_all_there);
}

/* The third one validates from the next height on; until then nobody can say how long it was there. */
static void test_validators_change(void **state)
{
    (void)state;
    cd_info_uptime up;
    assert_false(is_set_known());
    assert_true(cd_node_peers_uptime(members[0].peers, &up));
    assert_true(up.average > 0 && up.average <= 1000000 && up.rewarding <= 1000000);
    check(cd_node_peers_bls_health, 2, "\"node is not a validator\"", NULL);
    u32 before = reads;
    p_height = 3;
    wait_for(is_set_known);
    check(cd_node_peers_bls_health, 2, "\"node has the correct BLS key\"", NULL);
    check_stake(2, "{\"disconnectedValidators\":[],\"percentConnected\":1}", true);
    assert_true(reads > before && reads <= before + NODES); /* one reading each, however often they look */
    cd_node_peers_close(members[1].peers);
    members[1].peers = NULL;
    wait_for(is_middle_gone);
    check_stake(2, "],\"percentConnected\":0.66", false);
    p_height = 2;
    wait_for(is_set_forgotten);
}

static int open_all(void **state)
{
    (void)state;
    const cd_p2p_identity_files none = {.cert = NULL};
    cd_errinfo why = {0};
    if (cd_loop_new(&loop, &why) != CD_OK) {
        return 1;
    }
    timer = cd_timer_new(loop, on_timer, NULL);
    cd_timer_start(timer, STEP_MS, STEP_MS);
    for (u32 i = 0; i < NODES; i++) {
        members[i].metrics = cd_metrics_new("");
        if (cd_p2p_identity_open(&members[i].id, cd_fs_real(), &none, cd_clock_wall_ns(cd_clock_real()), &why) !=
            CD_OK) {
            return 1;
        }
    }
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (u32 i = 0; i < NODES; i++) {
        cd_node_peers_close(members[i].peers);
    }
    cd_timer_free(timer);
    cd_loop_free(loop);
    for (u32 i = 0; i < NODES; i++) {
        cd_metrics_free(members[i].metrics);
        cd_p2p_identity_close(&members[i].id);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_each_other),
        cmocka_unit_test(test_blocked),
        cmocka_unit_test(test_goes_and_comes_back),
        cmocka_unit_test(test_validators_change),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
