/* A whole node of the development network, opened in this process, and strangers on its sockets: HTTP/1, HTTP/2,
 * WebSockets with and without deflate; bytes that are cut, half-closed and reset connections. An input is a list of
 * steps: a byte with the step (low half) and the connection (two bits above), then what the step needs. Whatever they
 * do, somebody else is answered rightly after each input, and now and then what they held is given back. */
#include "base/thread/thread.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/dev/options.h"
#include "chains/evmchain/evm_vm.h"
#include "net/ws/deflate.h"
#include "node/node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { CONNS = 4, STEPS_MAX = 64, PIECE_MAX = 8192, HELD_MAX = 1 << 20, TURNS = 64, PATIENCE_S = 30 };
enum { WINDOW_BITS = 15, GENESIS_TIME = 1700000000, SHORT_MS = 2, LONG_MS = 50 };

static const char *const routes[] = {
    "/",
    "/v1/bc/C/rpc",
    "/v1/bc/C/ws",
    "/ext/bc/C/rpc",
    "/v1/health",
    "/v1/metrics",
    "/v1/info",
    "/v1/keystore",
    "/v1/index/C",
    "/v1/admin",
    "/v1/bc/C/admin",
    "/v1/health/liveness",
    "/v1/bc/C/x",
    "/v1/bc/C/../../..",
    "*",
    "",
    "/v1/bc/C/rpc?a=%zz",
    "//v1//bc",
};

/* --- the node --- */

static cd_node *node;
static cd_thread node_thread;
static u16 port;

static cd_err make_genesis(void *ctx, cd_buf *out, u64 now, cd_errinfo *why)
{
    (void)ctx;
    (void)now;
    (void)why;
    return cd_dev_genesis(out, cd_network_find("dev")->evm_chain_id, GENESIS_TIME);
}

static void run_node(void *arg)
{
    (void)cd_node_run(arg);
}

static void open_node(void)
{
    static const char *const names[] = {"C", "evm"};
    static const cd_dev_options dev = {.state_name = ""};
    static const char config[] =
        "{\"rpc-gas-cap\":100000,\"api-max-duration\":1000000000,\"eth-apis\":[\"eth\",\"eth-filter\","
        "\"net\",\"web3\",\"internal-eth\",\"internal-blockchain\",\"internal-transaction\","
        "\"internal-account\",\"internal-tx-pool\",\"internal-debug\",\"debug\",\"debug-tracer\"]}";
    static const cd_node_chain_cfg chain = {.aliases = names,
                                            .alias_cnt = 2,
                                            .prefix = 'C',
                                            .vm = cd_evm_vm_open,
                                            .genesis = make_genesis,
                                            .config = {(const u8 *)config, sizeof config - 1},
                                            .dev = &dev};
    static cd_node_cfg cfg;
    cd_errinfo why = {0};
    cfg = (cd_node_cfg){.network = cd_network_find("dev"),
                        .http = {.host = "127.0.0.1",
                                 .read_timeout_ms = 1000,
                                 .header_timeout_ms = 1000,
                                 .write_timeout_ms = 1000,
                                 .idle_timeout_ms = 2000},
                        .has_info = true,
                        .has_health = true,
                        .has_metrics = true,
                        .has_index = true,
                        .has_keystore = true,
                        .memory = 64 << 20,
                        .workers = 1,
                        .chains = &chain,
                        .chain_cnt = 1};
    (void)signal(SIGPIPE, SIG_IGN);
    CD_ASSERT(cd_log_open(&cfg.log, &(cd_log_cfg){.fd = STDERR_FILENO, .level = CD_LOG_OFF}, &why) == CD_OK);
    if (cd_node_open(&node, &cfg, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        abort();
    }
    port = cd_node_http_port(node);
    CD_ASSERT(cd_thread_start(&node_thread, "node", run_node, node, NULL) == CD_OK);
}

/* --- connections --- */

typedef struct conn {
    int fd; /* -1: none */
    u32 stream;
} conn;

static conn conns[CONNS];
static cd_ws_deflater *deflater;

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CD_ASSERT(fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

static void hang_up(conn *c, bool is_reset)
{
    if (c->fd >= 0) {
        const struct linger now = {.l_onoff = 1};
        if (is_reset) {
            (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        (void)close(c->fd);
    }
    *c = (conn){.fd = -1};
}

static void say(conn *c, cd_bytes data)
{
    if (c->fd < 0) {
        *c = (conn){.fd = dial()};
    }
    (void)!send(c->fd, data.p, data.n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void say_buf(conn *c, cd_buf *b)
{
    say(c, cd_buf_bytes(b));
    cd_buf_fini(b);
}

static void hear(conn *c, int wait_ms)
{
    u8 got[PIECE_MAX];
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (c->fd >= 0 && poll(&p, 1, wait_ms) > 0) {
        (void)!recv(c->fd, got, sizeof got, MSG_DONTWAIT);
    }
}

/* --- steps --- */

typedef struct script {
    cd_bytes in;
} script;

static u8 take_u8(script *s)
{
    if (s->in.n == 0) {
        return 0;
    }
    u8 v = s->in.p[0];
    s->in = cd_bytes_sub(s->in, 1, s->in.n - 1);
    return v;
}

/* A piece behind its length in two bytes, or as much of it as there is. */
static cd_bytes take_piece(script *s)
{
    usize high = take_u8(s);
    usize n = high << 8 | take_u8(s);
    n = n < PIECE_MAX ? n : PIECE_MAX;
    n = n < s->in.n ? n : s->in.n;
    cd_bytes piece = cd_bytes_sub(s->in, 0, n);
    s->in = cd_bytes_sub(s->in, n, s->in.n - n);
    return piece;
}

static const char *take_route(script *s)
{
    return routes[take_u8(s) % CD_COUNT(routes)];
}

static void post(conn *c, script *s)
{
    const char *route = take_route(s);
    cd_bytes body = take_piece(s);
    cd_buf b = {0};
    cd_buf_fmt(&b,
               "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
               route, body.n);
    cd_buf_put(&b, body);
    say_buf(c, &b);
}

static void chunk(conn *c, script *s)
{
    cd_bytes body = take_piece(s);
    cd_buf b = {0};
    cd_buf_fmt(&b, "%zx\r\n", body.n);
    cd_buf_put(&b, body);
    cd_buf_put(&b, cd_bytes_str("\r\n"));
    say_buf(c, &b);
}

static void put_frame(cd_buf *b, u8 type, u8 flags, u32 stream, cd_bytes payload)
{
    cd_buf_u8(b, (u8)(payload.n >> 16));
    cd_buf_u8(b, (u8)(payload.n >> 8));
    cd_buf_u8(b, (u8)payload.n);
    cd_buf_u8(b, type);
    cd_buf_u8(b, flags);
    cd_buf_u8(b, (u8)(stream >> 24));
    cd_buf_u8(b, (u8)(stream >> 16));
    cd_buf_u8(b, (u8)(stream >> 8));
    cd_buf_u8(b, (u8)stream);
    cd_buf_put(b, payload);
}

enum { H2_DATA = 0, H2_HEADERS = 1, H2_SETTINGS = 4, END_STREAM = 1, END_HEADERS = 4 };

static void h2_hello(conn *c)
{
    cd_buf b = {0};
    cd_buf_put(&b, cd_bytes_str("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    put_frame(&b, H2_SETTINGS, 0, 0, (cd_bytes){0});
    say_buf(c, &b);
    c->stream = 1;
}

static void put_text(cd_buf *b, const char *text)
{
    cd_buf_u8(b, (u8)strlen(text)); /* all below 127 */
    cd_buf_put(b, cd_bytes_str(text));
}

/* A request on the next stream: method POST, scheme http, path and authority as literals [RFC 7541 6.2]. */
static void h2_post(conn *c, script *s)
{
    u8 how = take_u8(s);
    const char *route = take_route(s);
    cd_bytes body = take_piece(s);
    cd_buf head = {0};
    cd_buf b = {0};
    cd_buf_put(&head, cd_bytes_str("\x83\x86\x04"));
    put_text(&head, route);
    cd_buf_u8(&head, 0x01);
    put_text(&head, "localhost");
    put_frame(&b, H2_HEADERS, END_HEADERS, c->stream, cd_buf_bytes(&head));
    put_frame(&b, H2_DATA, how % 2 == 0 ? END_STREAM : 0, c->stream, body);
    c->stream += 2;
    cd_buf_fini(&head);
    say_buf(c, &b);
}

static void h2_frame(conn *c, script *s)
{
    u8 type = take_u8(s);
    u8 flags = take_u8(s);
    u32 stream = take_u8(s);
    cd_bytes payload = take_piece(s);
    cd_buf b = {0};
    put_frame(&b, type, flags, stream, payload);
    say_buf(c, &b);
}

static void ws_open(conn *c, script *s)
{
    bool has_deflate = take_u8(s) % 2 != 0;
    const char *route = take_route(s);
    cd_buf b = {0};
    cd_buf_fmt(&b,
               "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
               route, has_deflate ? "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n" : "");
    say_buf(c, &b);
    hear(c, LONG_MS);
}

/* A masked frame; how & 1: its payload is compressed. */
static void ws_frame(conn *c, script *s)
{
    static const u8 mask[4] = {0x12, 0x34, 0x56, 0x78};
    u8 first = take_u8(s);
    u8 how = take_u8(s);
    cd_bytes plain = take_piece(s);
    cd_buf packed = {0};
    cd_buf b = {0};
    if ((how & 1) != 0) {
        cd_ws_deflate(deflater, &packed, WINDOW_BITS, plain);
        plain = cd_buf_bytes(&packed);
    }
    cd_buf_u8(&b, first);
    cd_buf_u8(&b, 0x80 | 126);
    cd_buf_u8(&b, (u8)(plain.n >> 8));
    cd_buf_u8(&b, (u8)plain.n);
    cd_buf_put(&b, cd_bytes_of(mask, sizeof mask));
    for (usize i = 0; i < plain.n; i++) {
        cd_buf_u8(&b, plain.p[i] ^ mask[i % sizeof mask]);
    }
    cd_buf_fini(&packed);
    say_buf(c, &b);
}

static void step(script *s)
{
    u8 what = take_u8(s);
    conn *c = &conns[what >> 4 & (CONNS - 1)];
    switch (what & 15) {
    case 0:
        hang_up(c, false);
        c->fd = dial();
        break;
    case 1:
        say(c, take_piece(s));
        break;
    case 2:
        post(c, s);
        break;
    case 3:
        h2_hello(c);
        break;
    case 4:
        h2_frame(c, s);
        break;
    case 5:
        ws_open(c, s);
        break;
    case 6:
        ws_frame(c, s);
        break;
    case 7:
        hear(c, SHORT_MS);
        break;
    case 8:
        if (c->fd >= 0) {
            (void)shutdown(c->fd, SHUT_WR);
        }
        break;
    case 9:
        hang_up(c, true);
        break;
    case 10:
        hang_up(c, false);
        break;
    case 11:
        hear(c, LONG_MS);
        break;
    case 12:
        chunk(c, s);
        break;
    case 13:
        h2_post(c, s);
        break;
    default: /* a piece byte by byte */
        for (cd_bytes piece = take_piece(s); piece.n != 0; piece = cd_bytes_sub(piece, 1, piece.n - 1)) {
            say(c, cd_bytes_sub(piece, 0, 1));
        }
        break;
    }
}

/* --- somebody else --- */

static void ask(cd_buf *got, const char *request)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    conn c = {.fd = dial()};
    ssize_t n = 0;
    CD_ASSERT(setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    say(&c, cd_bytes_str(request));
    cd_buf_clear(got);
    while ((n = recv(c.fd, cd_buf_reserve(got, PIECE_MAX), PIECE_MAX, 0)) > 0) {
        got->n += (usize)n;
    }
    if (n != 0) {
        perror("somebody else is not answered");
        abort();
    }
    hang_up(&c, false);
}

static void is_served(cd_buf *got)
{
    ask(got, "POST /v1/bc/C/rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
             "application/json\r\nContent-Length: 51\r\n\r\n"
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"eth_blockNumber\"}");
    if (strstr(cd_buf_cstr(got), "HTTP/1.1 200 ") == NULL ||
        strstr(cd_buf_cstr(got), "\"id\":7,\"result\":\"0x") == NULL) {
        (void)fprintf(stderr, "%s\n", cd_buf_cstr(got));
        abort();
    }
}

static long figure(cd_buf *got, const char *name)
{
    const char *at = strstr(cd_buf_cstr(got), name);
    if (at == NULL) {
        (void)fprintf(stderr, "%s is not in %s\n", name, cd_buf_cstr(got));
        abort();
    }
    return strtol(at + strlen(name), NULL, 10);
}

/* All have gone: nothing that was theirs is kept. */
static void is_given_back(cd_buf *got)
{
    for (int tries = 0;; tries++) {
        ask(got, "GET /v1/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        long open = figure(got, "\nlux_http_connections ");
        long held = figure(got, "\nlux_memory_used_bytes{share=\"requests\"} ");
        if (open <= 1 && held < HELD_MAX) {
            return;
        }
        if (tries == PATIENCE_S * 100) {
            (void)fprintf(stderr, "%ld connections, %ld bytes are kept for nobody\n", open, held);
            abort();
        }
        (void)usleep(10000);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static u32 turn;
    script s = {.in = cd_bytes_of(data, size)};
    cd_buf got = {0};
    if (node == NULL) {
        open_node();
        deflater = cd_ws_deflater_new();
    }
    for (usize i = 0; i < CONNS; i++) {
        conns[i] = (conn){.fd = -1};
    }
    for (u32 i = 0; i < STEPS_MAX && s.in.n != 0; i++) {
        step(&s);
    }
    is_served(&got);
    for (usize i = 0; i < CONNS; i++) {
        hang_up(&conns[i], i % 2 != 0);
    }
    if (++turn % TURNS == 0) {
        is_given_back(&got);
    }
    cd_buf_fini(&got);
    return 0;
}
