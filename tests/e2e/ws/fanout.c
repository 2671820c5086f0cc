/* What a notification costs: one server thread, many clients on loopback that only read.
 *
 *   ws_fanout [CONNECTIONS [DEFLATE]]    prints one JSON line: server CPU per delivered notification, alone
 *                                        and in batches of 401 (a block's head and 400 logs), and heap per
 *                                        idle connection. DEFLATE 1: the clients ask for compression. */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "base/thread/thread.h"
#include "net/ws/ws.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNS_MAX = 10000, ROUNDS = 20, BATCH = 401 };

typedef struct fan {
    cd_loop *loop;
    cd_http_server *server;
    cd_ws_hub *hub;
    cd_ws *conns[CONNS_MAX];
    _Atomic usize conns_cnt;
    usize batch;
    cd_ws_payload *body;
    cd_loop_task send, stop;
    _Atomic u64 cpu_ns;    /* of the loop thread, when it was last idle */
    _Atomic u64 bytes_out; /* of this round, once it is queued; 0 before */
} fan;

static fan f;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    (void)ctx;
    (void)w;
    (void)kind;
    (void)data;
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    (void)ctx;
    (void)code;
    (void)reason;
}

static void on_request(void *ctx, cd_http_req *r)
{
    static const cd_ws_events events = {.message = on_message, .closed = on_closed};
    (void)ctx;
    cd_ws *w = cd_ws_accept(f.hub, r, &events, NULL);
    if (w != NULL) {
        f.conns[f.conns_cnt] = w;
        atomic_fetch_add(&f.conns_cnt, 1);
    }
}

/* Every connection gets its batch: a head of its own each, the same body. */
static void send_all(cd_loop_task *t)
{
    (void)t;
    u64 bytes = 0;
    for (usize i = 0; i < f.conns_cnt; i++) {
        char head[128];
        int n = snprintf(head, sizeof head,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\"params\":{"
                         "\"subscription\":\"0x%032zx\",\"result\":",
                         i);
        cd_ws_cork(f.conns[i]);
        for (usize k = 0; k < f.batch; k++) {
            usize before = cd_ws_queued(f.conns[i]);
            if (cd_ws_send(f.conns[i], CD_WS_TEXT, cd_bytes_of(head, (usize)n), f.body) != CD_OK) {
                die("send");
            }
            bytes += cd_ws_queued(f.conns[i]) - before;
        }
        cd_ws_uncork(f.conns[i]);
    }
    atomic_store(&f.bytes_out, bytes);
}

static u64 thread_cpu_ns(pthread_t thread)
{
    clockid_t clock;
    struct timespec ts;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &ts) != 0) {
        die("clock");
    }
    return (u64)ts.tv_sec * CD_NS_PER_SEC + (u64)ts.tv_nsec;
}

static void loop_main(void *arg)
{
    (void)arg;
    cd_loop_run(f.loop);
}

static void on_stopped(void *ctx)
{
    (void)ctx;
    cd_loop_stop(f.loop);
}

static void stop_task(cd_loop_task *t)
{
    (void)t;
    cd_http_server_stop(f.server, 100, on_stopped, NULL);
}

static int dial(u16 port, bool deflate)
{
    char request[400];
    char answer[1000];
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    addr.sin_port = htons(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int n = snprintf(request, sizeof request,
                     "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
                     deflate ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "");
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || send(fd, request, (usize)n, 0) != n ||
        recv(fd, answer, sizeof answer, 0) <= 0) {
        die("connect");
    }
    return fd;
}

/* Reads and drops until `want` bytes have come. */
static void drain(int epoll, u64 want)
{
    static u8 sink[1 << 18];
    while (want != 0) {
        struct epoll_event ready[256];
        int n = epoll_wait(epoll, ready, 256, 10000);
        if (n <= 0) {
            die("nothing comes");
        }
        for (int i = 0; i < n; i++) {
            ssize_t got = recv(ready[i].data.fd, sink, sizeof sink, MSG_DONTWAIT);
            want -= got > 0 ? (u64)got : 0;
        }
    }
}

static double measure(pthread_t server, int epoll, usize batch)
{
    u64 before = 0;
    f.batch = batch;
    for (u32 round = 0; round <= ROUNDS; round++) {
        if (round == 1) {
            before = thread_cpu_ns(server); /* the first one warms up */
        }
        atomic_store(&f.bytes_out, 0);
        f.send.fn = send_all;
        cd_loop_post(f.loop, &f.send);
        while (atomic_load(&f.bytes_out) == 0) {
            (void)usleep(200);
        }
        drain(epoll, f.bytes_out);
    }
    return (double)(thread_cpu_ns(server) - before) / (double)(ROUNDS * f.conns_cnt * batch * 1000);
}

int main(int argc, char **argv)
{
    u64 cnt = 1000;
    u64 deflate = 0;
    cd_thread thread;
    const cd_http_cfg http = {.conns_max = CONNS_MAX};
    const cd_ws_cfg ws = {.ping_ms = 3600 * 1000}; /* the clients never answer */
    const cd_http_route route = {.path = "/", .methods = CD_HTTP_GET, .handler = on_request};
    if ((argc > 1 && cd_u64_parse(&cnt, cd_bytes_str(argv[1])) != CD_OK) ||
        (argc > 2 && cd_u64_parse(&deflate, cd_bytes_str(argv[2])) != CD_OK) || cnt == 0 || cnt > CONNS_MAX) {
        (void)fprintf(stderr, "usage: ws_fanout [CONNECTIONS [DEFLATE]]\n");
        return 2;
    }
    if (cd_loop_new(&f.loop, NULL) != CD_OK) {
        die("loop");
    }
    f.server = cd_http_server_new(f.loop, &http);
    f.hub = cd_ws_hub_new(f.loop, &ws);
    cd_http_server_route(f.server, &route);
    if (cd_http_server_listen(f.server, "127.0.0.1", 0, NULL) != CD_OK ||
        cd_thread_start(&thread, "loop", loop_main, NULL, NULL) != CD_OK) {
        die("listen");
    }
    cd_buf text = {0};
    cd_buf_str(&text, "{\"address\":\"0x5fbdb2315678afecb367f032d93f642f64180aa3\",\"topics\":[");
    for (u32 i = 0; i < 3; i++) {
        cd_buf_fmt(&text, "%s\"0x%056x%08x\"", i == 0 ? "" : ",", i, i * 0x9e3779b9);
    }
    cd_buf_fmt(&text, "],\"data\":\"0x%064x\",\"blockNumber\":\"0x1b4\",\"transactionIndex\":\"0x0\"}}}", 12345);
    usize body_n = text.n;
    f.body = cd_ws_payload_take(&text);

    int epoll = epoll_create1(0);
    int *fds = cd_new_array(int, cnt);
    usize heap = mallinfo2().uordblks;
    for (u64 i = 0; i < cnt; i++) {
        struct epoll_event e = {.events = EPOLLIN};
        fds[i] = dial(cd_http_server_port(f.server), deflate != 0);
        e.data.fd = fds[i];
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &e) != 0) {
            die("epoll");
        }
    }
    while (atomic_load(&f.conns_cnt) != cnt) {
        (void)usleep(1000);
    }
    double idle = (double)(mallinfo2().uordblks - heap) / (double)cnt;
    double alone = measure(thread.id, epoll, 1);
    double batched = measure(thread.id, epoll, BATCH);
    (void)printf("{\"bench\":\"ws\",\"connections\":%llu,\"deflate\":%llu,\"body_bytes\":%zu,"
                 "\"cpu_us\":%.2f,\"cpu_us_batched\":%.2f,\"idle_heap_bytes\":%.0f}\n",
                 (unsigned long long)cnt, (unsigned long long)deflate, body_n, alone, batched, idle);
    f.stop.fn = stop_task;
    cd_loop_post(f.loop, &f.stop);
    cd_thread_join(&thread);
    for (u64 i = 0; i < cnt; i++) {
        (void)close(fds[i]);
    }
    cd_ws_payload_unref(f.body);
    cd_http_server_free(f.server);
    cd_ws_hub_free(f.hub);
    cd_loop_free(f.loop);
    cd_free(fds);
    return 0;
}
