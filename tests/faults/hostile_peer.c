/* A peer that gets through the handshake and then says whatever it likes to a node: messages of every kind about every
 * chain, with bytes that mean nothing or nearly something, far more than anybody asked for; it never answers. With
 * "quiet" it says nothing, and stays. Prints "connected" and "disconnected" as they happen; ends with its input.
 *
 * usage: hostile_peer NETWORK-ID ADDRESS NODE-ID [quiet | CHAIN-ID …] */
#include "base/num_text.h"
#include "base/os/rng.h"
#include "base/thread/thread.h"
#include "codec/ids.h"
#include "p2p/tcp.h"

#include <stdio.h>

enum { CHAINS_MAX = 8, EACH_MS = 2, AT_ONCE = 16, DATA_MAX = 60000, HANDLERS = 3 };

static const u32 ops[] = {CD_P2P_GET_ACCEPTED_FRONTIER,
                          CD_P2P_ACCEPTED_FRONTIER,
                          CD_P2P_GET_ACCEPTED,
                          CD_P2P_ACCEPTED,
                          CD_P2P_GET_ANCESTORS,
                          CD_P2P_ANCESTORS,
                          CD_P2P_GET,
                          CD_P2P_PUT,
                          CD_P2P_PUSH_QUERY,
                          CD_P2P_PULL_QUERY,
                          CD_P2P_CHITS,
                          CD_P2P_GET_STATE_SUMMARY_FRONTIER,
                          CD_P2P_APP_REQUEST,
                          CD_P2P_APP_RESPONSE,
                          CD_P2P_APP_GOSSIP,
                          CD_P2P_APP_REQUEST,
                          CD_P2P_APP_GOSSIP,
                          CD_P2P_APP_GOSSIP};

/* Of the SDK's gossip and of Warp signatures, and of finality, as variable-length numbers before the payload. */
static const u32 handlers[HANDLERS] = {0, 1, 9630};

typedef struct peer {
    cd_loop *loop;
    cd_p2p_tcp *tcp;
    cd_timer *timer;
    cd_p2p_identity id;
    cd_node_id victim;
    cd_hash32 chains[CHAINS_MAX];
    usize chain_cnt;
    cd_rng rng;
    u32 request;
    bool is_connected;
} peer;

static bool validator(void *ctx, cd_p2p_validator *out, const cd_hash32 *subnet, const cd_node_id *node)
{
    (void)ctx;
    (void)out;
    (void)subnet;
    (void)node;
    return false;
}

static u64 weight(void *ctx, const cd_hash32 *subnet)
{
    (void)ctx;
    (void)subnet;
    return 0;
}

static void tell(peer *p, bool is_connected)
{
    p->is_connected = is_connected;
    (void)printf("%s\n", is_connected ? "connected" : "disconnected");
    (void)fflush(stdout);
}

static void on_connected(void *ctx, const cd_p2p_peer_info *info)
{
    (void)info;
    tell(ctx, true);
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    (void)node;
    tell(ctx, false);
}

static void on_message(void *ctx, cd_p2p_in *in)
{
    (void)ctx;
    cd_p2p_in_done(in);
}

/* Bytes that mean nothing; short ones mostly. */
static cd_bytes nonsense(peer *p, u8 *room, usize max)
{
    usize n = (usize)cd_rng_below(&p->rng, cd_rng_below(&p->rng, 8) == 0 ? max : 200);
    for (usize i = 0; i < n; i++) {
        room[i] = cd_rng_below(&p->rng, 4) == 0 ? (u8)cd_rng_u64(&p->rng) : (u8)i;
    }
    return cd_bytes_of(room, n);
}

static void put_varint(cd_buf *b, u32 v)
{
    for (; v >= 0x80; v >>= 7) {
        cd_buf_u8(b, (u8)(v | 0x80));
    }
    cd_buf_u8(b, (u8)v);
}

static void speak(peer *p)
{
    static u8 room[DATA_MAX];
    cd_buf data = {0};
    cd_bytes ids[4];
    cd_hash32 id;
    u32 op = ops[cd_rng_below(&p->rng, CD_COUNT(ops))];
    if (op == CD_P2P_APP_REQUEST || op == CD_P2P_APP_GOSSIP) {
        put_varint(&data, handlers[cd_rng_below(&p->rng, HANDLERS)]);
    }
    cd_buf_put(&data, nonsense(p, room, sizeof room));
    for (usize i = 0; i < sizeof id.b; i++) {
        id.b[i] = (u8)cd_rng_u64(&p->rng);
    }
    bool wants_id = op == CD_P2P_GET || op == CD_P2P_GET_ANCESTORS || op == CD_P2P_PULL_QUERY;
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        ids[i] = cd_bytes_of(id.b, sizeof id.b);
    }
    const cd_hash32 *chain = &p->chains[cd_rng_below(&p->rng, p->chain_cnt)];
    cd_p2p_chain_msg m = {.chain_id = cd_bytes_of(chain->b, sizeof chain->b),
                          .request_id = p->request++,
                          .deadline = cd_rng_below(&p->rng, 4) == 0 ? UINT64_MAX : 10 * CD_NS_PER_SEC,
                          .data = wants_id ? ids[0] : cd_buf_bytes(&data),
                          .list = {.v = ids, .cnt = (u32)cd_rng_below(&p->rng, CD_COUNT(ids) + 1)},
                          .height = cd_rng_u64(&p->rng),
                          .engine_type = 2,
                          .preferred_id = ids[0],
                          .accepted_id = ids[1],
                          .preferred_id_at_height = ids[2]};
    (void)!cd_p2p_net_send(cd_p2p_tcp_net(p->tcp), &p->victim, &(cd_p2p_msg){.op = op, .body = &m});
    cd_buf_fini(&data);
}

static void on_time(void *ctx)
{
    peer *p = ctx;
    for (u32 i = 0; i < AT_ONCE && p->is_connected && p->chain_cnt != 0; i++) {
        speak(p);
    }
}

static void read_input(void *ctx)
{
    while (getchar() != EOF) {
    }
    cd_loop_stop(((peer *)ctx)->loop);
}

static bool take_chains(peer *p, char **names, int cnt)
{
    for (int i = 0; i < cnt && p->chain_cnt < CHAINS_MAX; i++) {
        if (strcmp(names[i], "quiet") == 0) {
            return true;
        }
        if (cd_id_parse(&p->chains[p->chain_cnt++], cd_bytes_str(names[i]), NULL) != CD_OK) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static peer p;
    cd_errinfo why = {0};
    cd_thread reader;
    cd_p2p_ip ip;
    u64 network = 0;
    const cd_p2p_identity_files none = {.cert = NULL};
    if (argc < 5 || cd_u64_parse(&network, cd_bytes_str(argv[1])) != CD_OK ||
        cd_p2p_ip_parse(&ip, cd_bytes_str(argv[2])) != CD_OK ||
        cd_node_id_parse(&p.victim, cd_bytes_str(argv[3]), NULL) != CD_OK || !take_chains(&p, argv + 4, argc - 4)) {
        (void)fprintf(stderr, "usage: hostile_peer NETWORK-ID ADDRESS NODE-ID [quiet | CHAIN-ID ...]\n");
        return 2;
    }
    p.rng = cd_rng_os();
    cd_p2p_net_cfg net = {.link = {.network_id = (u32)network,
                                   .client = "candela",
                                   .version = {1, 13, 3},
                                   .version_min = {1, 13, 0},
                                   .version_min_prev = {1, 12, 0}},
                          .id = &p.id,
                          .clock = cd_clock_real(),
                          .allow_private = true};
    cd_p2p_tcp_cfg cfg = {.host = "127.0.0.1"};
    const cd_p2p_owner owner = {.ctx = &p,
                                .validator = validator,
                                .weight = weight,
                                .connected = on_connected,
                                .disconnected = on_disconnected,
                                .message = on_message};
    cd_err err = cd_p2p_ip_addr_parse(&cfg.own, cd_bytes_str("127.0.0.1"));
    if (err == CD_OK) {
        err = cd_p2p_identity_open(&p.id, cd_fs_real(), &none, cd_clock_wall_ns(cd_clock_real()), &why);
    }
    if (err == CD_OK) {
        err = cd_loop_new(&p.loop, &why);
    }
    if (err == CD_OK) {
        err = cd_p2p_tcp_open(&p.tcp, p.loop, &cfg, &net, &owner, &why);
    }
    if (err == CD_OK) {
        err = cd_thread_start(&reader, "input", read_input, &p, &why);
    }
    if (err != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    cd_p2p_net_add(cd_p2p_tcp_net(p.tcp), &p.victim, &ip);
    cd_p2p_tcp_wake(p.tcp);
    p.timer = cd_timer_new(p.loop, on_time, &p);
    cd_timer_start(p.timer, EACH_MS, EACH_MS);
    cd_loop_run(p.loop);
    cd_thread_join(&reader);
    cd_timer_free(p.timer);
    cd_p2p_tcp_close(p.tcp);
    cd_loop_free(p.loop);
    cd_p2p_identity_close(&p.id);
    return 0;
}
