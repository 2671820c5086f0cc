/* bench-first-byte - from a transaction to the first byte of the webhook's request.
 *
 *   bench-first-byte NODE_PORT COUNT FROM TO
 *
 * Prints the port of its receiver, waits for a line, then sends COUNT transactions one by one through
 * eth_sendTransaction of a development network, which answers when the block is accepted. One JSON line:
 * microseconds from the request and from its answer to the first byte at the receiver; who receives is a process of
 * its own. A request that does not come within ten seconds is an error. [spec:webhooks#10] */
#include "bench/load/webhook_sink.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_NS = 20000000 };

#define PATIENCE_NS ((u64)10 * 1000000000)

static void die(const char *what)
{
    (void)fprintf(stderr, "bench-first-byte: %s\n", what);
    exit(1);
}

static u64 now_ns(void)
{
    return cd_clock_mono_ns(cd_clock_real());
}

static void rest(long ns)
{
    const struct timespec t = {.tv_nsec = ns};
    (void)nanosleep(&t, NULL);
}

static int connect_to(u16 port)
{
    const int on = 1;
    const struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof a) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
        die("no node");
    }
    return fd;
}

/* Sends one, and reads the answer: when it came. */
static u64 transact(int fd, const char *request, usize n)
{
    char answer[4096];
    usize got = 0;
    if (send(fd, request, n, MSG_NOSIGNAL) != (ssize_t)n) {
        die("the node is gone");
    }
    for (;;) {
        ssize_t k = recv(fd, answer + got, sizeof answer - 1 - got, 0);
        if (k <= 0) {
            die("the node is gone");
        }
        got += (usize)k;
        answer[got] = '\0';
        if (strstr(answer, "\"result\":\"0x") != NULL) {
            return now_ns();
        }
        if (strstr(answer, "\"error\"") != NULL || got == sizeof answer - 1) {
            die(answer);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *name, double *us, u32 cnt)
{
    qsort(us, cnt, sizeof *us, by_value);
    (void)printf("\"%s_us\":{\"p50\":%.0f,\"p90\":%.0f,\"p99\":%.0f,\"max\":%.0f}", name, us[cnt / 2], us[cnt * 9 / 10],
                 us[cnt * 99 / 100], us[cnt - 1]);
}

int main(int argc, char **argv)
{
    char body[300];
    char request[600];
    char line[10];
    if (argc != 5) {
        die("wants NODE_PORT COUNT FROM TO");
    }
    u32 cnt = (u32)strtoul(argv[2], NULL, 10);
    webhook_sink *sink = webhook_sink_start();
    (void)printf("%u\n", sink->port);
    (void)fflush(stdout);
    if (cnt == 0 || fgets(line, sizeof line, stdin) == NULL) {
        die("there is no webhook");
    }
    int fd = connect_to((u16)strtoul(argv[1], NULL, 10));
    int len = snprintf(body, sizeof body,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_sendTransaction\",\"params\":"
                       "[{\"from\":\"%s\",\"to\":\"%s\",\"value\":\"0x10\",\"gas\":\"0x5208\"}]}",
                       argv[3], argv[4]);
    int n = snprintf(request, sizeof request,
                     "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: %d\r\n\r\n%s",
                     len, body);
    double *from_request = cd_new_array(double, cnt);
    double *from_answer = cd_new_array(double, cnt);
    for (u32 i = 0; i < cnt; i++) {
        u64 first;
        atomic_store(&sink->first_ns, 0);
        u64 asked = now_ns();
        u64 answered = transact(fd, request, (usize)n);
        while ((first = atomic_load(&sink->first_ns)) == 0) {
            if (now_ns() - asked > PATIENCE_NS) {
                die("a request does not come");
            }
            rest(PAUSE_NS / 200);
        }
        from_request[i] = (double)(first - asked) / 1e3;
        from_answer[i] = first > answered ? (double)(first - answered) / 1e3 : 0;
        rest(PAUSE_NS);
    }
    (void)printf("{\"name\":\"first_byte\",\"transactions\":%u,", cnt);
    print_row("from_request", from_request, cnt);
    (void)printf(",");
    print_row("from_answer", from_answer, cnt);
    (void)printf("}\n");
    cd_free(from_request);
    cd_free(from_answer);
    (void)close(fd);
    webhook_sink_stop(sink);
    return 0;
}
