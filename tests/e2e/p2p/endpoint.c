/* One node of a network, for peers in other languages: listens on loopback, prints its port and its ID, and answers
 * what it is asked with what it was sent. Lines on standard input: "dial ADDRESS NODE" connects to another node, "ask
 * NODE N" sends N requests to it; what happens is printed, a line each. The end of the input ends it.
 *
 * usage: p2p_endpoint NETWORK-ID [plain] */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/thread/thread.h"
#include "p2p/tcp.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct endpoint {
    cd_loop *loop;
    cd_p2p_tcp *tcp;
    cd_p2p_identity id;
} endpoint;

/* A line on its way from the thread that reads to the loop's. */
typedef struct input {
    cd_loop_task task;
    endpoint *e;
    char line[512];
} input;

static const cd_hash32 chain = {{1}};

static void say_node(const char *what, const cd_node_id *node)
{
    cd_buf text = {0};
    cd_node_id_put(&text, node);
    (void)printf("%s %s\n", what, cd_buf_cstr(&text));
    (void)fflush(stdout);
    cd_buf_fini(&text);
}

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

static void on_connected(void *ctx, const cd_p2p_peer_info *peer)
{
    (void)ctx;
    say_node("connected", &peer->node);
}

static void on_disconnected(void *ctx, const cd_node_id *node)
{
    (void)ctx;
    say_node("disconnected", node);
}

/* The answer to a message, out of its own parts. */
static bool answer(cd_p2p_chain_msg *out, u32 *op, const cd_p2p_in *in)
{
    const cd_p2p_chain_msg *m = in->msg.body;
    *op = cd_p2p_op_response(in->msg.op);
    *out = (cd_p2p_chain_msg){.chain_id = m->chain_id, .request_id = m->request_id};
    switch (*op) {
    case CD_P2P_CHITS:
        out->preferred_id = out->accepted_id = out->preferred_id_at_height = cd_bytes_of(chain.b, sizeof chain.b);
        out->height = m->height + 1;
        return true;
    case CD_P2P_ANCESTORS:
    case CD_P2P_ACCEPTED:
        out->list = m->list.cnt != 0 ? m->list : (cd_proto_list){.v = (void *)(uintptr_t)&m->data, .cnt = 1};
        return true;
    case CD_P2P_PUT:
    case CD_P2P_APP_RESPONSE:
    case CD_P2P_ACCEPTED_FRONTIER:
        out->data = m->data.n != 0 ? m->data : cd_bytes_of(chain.b, sizeof chain.b);
        return true;
    default:
        return false;
    }
}

static void on_message(void *ctx, cd_p2p_in *in)
{
    endpoint *e = ctx;
    cd_p2p_chain_msg out;
    u32 op;
    const cd_p2p_chain_msg *m = in->msg.body;
    if (answer(&out, &op, in)) {
        (void)cd_p2p_net_send(cd_p2p_tcp_net(e->tcp), &in->from, &(cd_p2p_msg){.op = op, .body = &out});
    } else {
        (void)printf("got %s %u %zu\n", cd_p2p_op_name(in->msg.op), m->request_id, m->data.n);
        (void)fflush(stdout);
    }
    cd_p2p_in_done(in);
}

static void ask(endpoint *e, const cd_node_id *to, u64 cnt)
{
    u8 data[3000] = {0};
    for (u64 i = 0; i < cnt; i++) {
        cd_p2p_chain_msg m = {.chain_id = cd_bytes_of(chain.b, sizeof chain.b),
                              .request_id = (u32)i,
                              .deadline = 2 * CD_NS_PER_SEC,
                              .data = cd_bytes_of(data, sizeof data)};
        (void)cd_p2p_net_send(cd_p2p_tcp_net(e->tcp), to, &(cd_p2p_msg){.op = CD_P2P_APP_REQUEST, .body = &m});
    }
}

static void on_line(cd_loop_task *task)
{
    input *in = (input *)(void *)((u8 *)task - offsetof(input, task));
    endpoint *e = in->e;
    char verb[16];
    char first[128];
    char second[128];
    cd_p2p_ip ip;
    cd_node_id node;
    u64 cnt;
    if (sscanf(in->line, "%15s %127s %127s", verb, first, second) != 3) {
        cd_loop_stop(e->loop);
    } else if (strcmp(verb, "dial") == 0 && cd_p2p_ip_parse(&ip, cd_bytes_str(first)) == CD_OK &&
               cd_node_id_parse(&node, cd_bytes_str(second), NULL) == CD_OK) {
        cd_p2p_net_add(cd_p2p_tcp_net(e->tcp), &node, &ip);
        cd_p2p_tcp_wake(e->tcp);
    } else if (strcmp(verb, "ask") == 0 && cd_node_id_parse(&node, cd_bytes_str(first), NULL) == CD_OK &&
               cd_u64_parse(&cnt, cd_bytes_str(second)) == CD_OK) {
        ask(e, &node, cnt);
    } else {
        (void)printf("what? %s\n", in->line);
    }
    cd_free(in);
}

/* An empty line stands for the end. */
static void read_lines(void *ctx)
{
    bool has_more = true;
    while (has_more) {
        input *in = cd_new(input);
        in->e = ctx;
        in->task.fn = on_line;
        has_more = fgets(in->line, sizeof in->line, stdin) != NULL;
        if (!has_more) {
            in->line[0] = '\0';
        }
        cd_loop_post(in->e->loop, &in->task);
    }
}

int main(int argc, char **argv)
{
    endpoint e = {.loop = NULL};
    cd_errinfo why = {0};
    cd_thread reader;
    u64 network = 0;
    const cd_p2p_identity_files none = {.cert = NULL};
    if (argc < 2 || cd_u64_parse(&network, cd_bytes_str(argv[1])) != CD_OK) {
        (void)fprintf(stderr, "usage: p2p_endpoint NETWORK-ID [plain]\n");
        return 2;
    }
    cd_p2p_net_cfg net = {.link = {.network_id = (u32)network,
                                   .client = "candela",
                                   .version = {1, 13, 3},
                                   .version_min = {1, 13, 0},
                                   .version_min_prev = {1, 12, 0},
                                   .is_plain = argc > 2},
                          .id = &e.id,
                          .clock = cd_clock_real(),
                          .allow_private = true};
    cd_p2p_tcp_cfg cfg = {.host = "127.0.0.1"};
    const cd_p2p_owner owner = {.ctx = &e,
                                .validator = validator,
                                .weight = weight,
                                .connected = on_connected,
                                .disconnected = on_disconnected,
                                .message = on_message};
    cd_err err = cd_p2p_ip_addr_parse(&cfg.own, cd_bytes_str("127.0.0.1"));
    err =
        err != CD_OK ? err : cd_p2p_identity_open(&e.id, cd_fs_real(), &none, cd_clock_wall_ns(cd_clock_real()), &why);
    err = err != CD_OK ? err : cd_loop_new(&e.loop, &why);
    err = err != CD_OK ? err : cd_p2p_tcp_open(&e.tcp, e.loop, &cfg, &net, &owner, &why);
    err = err != CD_OK ? err : cd_thread_start(&reader, "lines", read_lines, &e, &why);
    if (err != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    (void)printf("listening %u\n", cd_p2p_tcp_port(e.tcp));
    say_node("node", &e.id.node_id);
    cd_loop_run(e.loop);
    cd_thread_join(&reader);
    cd_p2p_tcp_close(e.tcp);
    cd_loop_free(e.loop);
    cd_p2p_identity_close(&e.id);
    return 0;
}
