/* bench-subscribers - many WebSocket clients that subscribe to new heads and to a token's logs, and count.
 *
 *   bench-subscribers PORT CONNECTIONS TOKEN TOPIC
 *
 * Prints "ready" when all have subscribed. For each line N on standard input it then reads until every connection
 * has had one head and N logs, and prints the CLOCK_MONOTONIC time of the last in ns. Anything that is not such a
 * notification ends it with an error. Frames are looked at, not parsed as JSON: it must cost less than the server. */
#include "base/base.h"
#include "base/mem/mem.h"
#include "base/num_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNS_MAX = 10000,
    START_MAX = 192,  /* as much of a message is kept: subscription id included */
    FRAME_HEAD = 14,  /* the longest header of a frame, with the mask that servers never send */
    PATIENCE = 60000, /* ms without a byte */
    OP_TEXT = 1,
    OP_PING = 9,
};

typedef struct conn {
    int fd;
    u8 head[FRAME_HEAD];
    usize head_n;
    char start[START_MAX + 1];
    usize start_n;
    u64 left; /* of the payload */
    bool in_payload;
    char ids[2][80]; /* of the heads and the logs: "subscription":"0x…" */
    u64 heads, logs;
} conn;

static conn *conns;
static usize conns_cnt;
static usize behind; /* connections that still wait for something */
static u64 wanted_logs;

static void die(const char *what)
{
    (void)fprintf(stderr, "bench-subscribers: %s%s%s\n", what, errno != 0 ? ": " : "",
                  errno != 0 ? strerror(errno) : "");
    exit(1);
}

/* --- opening --- */

static void send_all(int fd, const void *data, usize n)
{
    if (send(fd, data, n, MSG_NOSIGNAL) != (ssize_t)n) {
        die("send");
    }
}

/* One frame; its mask is zero, which the protocol allows. */
static void send_frame(int fd, u8 opcode, const char *payload, usize n)
{
    u8 frame[1024] = {(u8)(0x80 | opcode)};
    usize at = 2;
    if (n + 8 > sizeof frame) {
        die("frame too long");
    }
    frame[1] = (u8)(0x80 | (n < 126 ? n : 126));
    if (n >= 126) {
        frame[2] = (u8)(n >> 8);
        frame[3] = (u8)n;
        at = 4;
    }
    memcpy(frame + at + 4, payload, n);
    send_all(fd, frame, at + 4 + n);
}

static void recv_all(int fd, void *data, usize n)
{
    if (recv(fd, data, n, MSG_WAITALL) != (ssize_t)n) {
        die("the server closed a connection");
    }
}

static void open_conn(conn *c, u16 port)
{
    char text[512];
    char answer[1024];
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    addr.sin_port = htons(port);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof addr) != 0) {
        die("connect");
    }
    int n = snprintf(text, sizeof text,
                     "GET / HTTP/1.1\r\nHost: localhost:%u\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                     port);
    send_all(c->fd, text, (usize)n);
    usize got = 0; /* the answer ends with an empty line; nothing follows it before we ask */
    do {
        ssize_t more = recv(c->fd, answer + got, sizeof answer - 1 - got, 0);
        if (more <= 0) {
            die("no answer to the upgrade");
        }
        got += (usize)more;
        answer[got] = '\0';
    } while (strstr(answer, "\r\n\r\n") == NULL);
    if (strncmp(answer, "HTTP/1.1 101", 12) != 0) {
        die("the server speaks no WebSocket");
    }
}

/* Asks for a subscription; what notifications of it will carry. */
static void subscribe(conn *c, char id[80], const char *params)
{
    char text[512];
    u8 head[4];
    int n = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_subscribe\",\"params\":[%s]}",
                     params);
    send_frame(c->fd, OP_TEXT, text, (usize)n);
    recv_all(c->fd, head, 2);
    if (head[0] != (0x80 | OP_TEXT) || head[1] > 126) {
        die("no answer to eth_subscribe");
    }
    usize size = head[1];
    if (size == 126) {
        recv_all(c->fd, head + 2, 2);
        size = (usize)head[2] << 8 | head[3];
    }
    if (size >= sizeof text) {
        die("long answer to eth_subscribe");
    }
    recv_all(c->fd, text, size);
    text[size] = '\0';
    const char *result = strstr(text, "\"result\":\"");
    usize len = result == NULL ? 0 : strcspn(result + 10, "\"");
    if (len == 0 || len > 50) {
        die(text);
    }
    (void)snprintf(id, 80, "\"subscription\":\"%.*s\"", (int)len, result + 10);
}

/* --- reading --- */

static void on_frame(conn *c)
{
    u8 opcode = c->head[0] & 15;
    c->start[c->start_n] = '\0';
    if (opcode == OP_PING) {
        send_frame(c->fd, OP_PING + 1, c->start, c->start_n);
        return;
    }
    bool is_log = strstr(c->start, c->ids[1]) != NULL;
    if (opcode != OP_TEXT || strstr(c->start, "\"eth_subscription\"") == NULL ||
        (!is_log && strstr(c->start, c->ids[0]) == NULL)) {
        die("not a notification");
    }
    u64 *count = is_log ? &c->logs : &c->heads;
    *count += 1;
    if (c->heads > 1 || c->logs > wanted_logs) {
        die("a notification too many");
    }
    behind -= c->heads == 1 && c->logs == wanted_logs;
}

/* Bytes the header has, from what is known of it. */
static usize head_size(const conn *c)
{
    if (c->head_n < 2) {
        return 2;
    }
    u8 len = c->head[1] & 127;
    return len < 126 ? 2 : len == 126 ? 4 : 10;
}

static void feed(conn *c, const u8 *data, usize n)
{
    while (n != 0 || (c->in_payload && c->left == 0)) {
        if (!c->in_payload) {
            c->head[c->head_n++] = *data++;
            n--;
            usize size = head_size(c);
            if (c->head_n < size) {
                continue;
            }
            c->left = size == 2 ? c->head[1] & 127u : 0;
            for (usize i = 2; i < size; i++) {
                c->left = c->left << 8 | c->head[i];
            }
            c->in_payload = true;
            c->start_n = 0;
        }
        usize part = c->left < n ? (usize)c->left : n;
        usize keep = part < START_MAX - c->start_n ? part : START_MAX - c->start_n;
        memcpy(c->start + c->start_n, data, keep);
        c->start_n += keep;
        c->left -= part;
        data += part;
        n -= part;
        if (c->left == 0) {
            on_frame(c);
            c->in_payload = false;
            c->head_n = 0;
        }
    }
}

static void read_block(int epoll)
{
    static u8 data[1 << 18];
    behind = conns_cnt;
    for (usize i = 0; i < conns_cnt; i++) {
        conns[i].heads = 0;
        conns[i].logs = 0;
    }
    while (behind != 0) {
        struct epoll_event ready[256];
        int cnt = epoll_wait(epoll, ready, 256, PATIENCE);
        if (cnt == 0) {
            die("notifications are missing");
        }
        for (int i = 0; i < cnt; i++) {
            conn *c = ready[i].data.ptr;
            ssize_t n = recv(c->fd, data, sizeof data, MSG_DONTWAIT);
            if (n == 0 || (n < 0 && errno != EAGAIN)) {
                die("the server closed a connection");
            }
            feed(c, data, n > 0 ? (usize)n : 0);
        }
    }
}

int main(int argc, char **argv)
{
    u64 port = 0;
    u64 cnt = 0;
    char params[400];
    char line[64];
    struct rlimit files;
    if (argc != 5 || cd_u64_parse(&port, cd_bytes_str(argv[1])) != CD_OK || port > 65535 ||
        cd_u64_parse(&cnt, cd_bytes_str(argv[2])) != CD_OK || cnt == 0 || cnt > CONNS_MAX) {
        (void)fprintf(stderr, "usage: bench-subscribers PORT CONNECTIONS TOKEN TOPIC\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)snprintf(params, sizeof params, "\"logs\",{\"address\":\"%s\",\"topics\":[\"%s\"]}", argv[3], argv[4]);
    conns_cnt = cnt;
    conns = cd_new_array(conn, cnt);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (usize i = 0; i < conns_cnt; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &conns[i]};
        open_conn(&conns[i], (u16)port);
        subscribe(&conns[i], conns[i].ids[0], "\"newHeads\"");
        subscribe(&conns[i], conns[i].ids[1], params);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, conns[i].fd, &e) != 0) {
            die("epoll");
        }
    }
    errno = 0;
    (void)puts("ready");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct timespec now;
        line[strcspn(line, "\n")] = '\0';
        if (cd_u64_parse(&wanted_logs, cd_bytes_str(line)) != CD_OK) {
            die("a number of logs expected");
        }
        read_block(epoll);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        (void)printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
        (void)fflush(stdout);
    }
    for (usize i = 0; i < conns_cnt; i++) {
        (void)close(conns[i].fd);
    }
    (void)close(epoll);
    cd_free(conns);
    return 0;
}
