#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/os/term.h"
#include "commands.h"
#include "report.h"

#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Reads /v1/metrics once a second and shows what changed. */

enum { ANSWER_MAX = 4 << 20, WAIT_MS = 5000, SAMPLES_MAX = 2048, ROWS = 8, TEXT_MAX = 96 };

typedef struct sample {
    char name[TEXT_MAX];  /* without "lux_" in front */
    char label[TEXT_MAX]; /* the value of the first label, or "" */
    double value;
} sample;

typedef struct scrape {
    u64 at_ns;
    usize cnt;
    sample samples[SAMPLES_MAX];
} scrape;

/* --- asking the node --- */

static int dial(const char *host, u16 port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    const struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    char service[8];
    int fd = -1;
    (void)snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &list) != 0) {
        return -1;
    }
    for (const struct addrinfo *one = list; one != NULL && fd < 0; one = one->ai_next) {
        fd = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
        if (fd >= 0) {
            (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
            (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
            if (connect(fd, one->ai_addr, one->ai_addrlen) != 0) {
                (void)close(fd);
                fd = -1;
            }
        }
    }
    freeaddrinfo(list);
    return fd;
}

/* Asks the node for the text of its metrics; false: no answer. */
static bool ask(cd_buf *out, const char *host, u16 port)
{
    char request[300];
    int fd = dial(host, port);
    if (fd < 0) {
        return false;
    }
    /* HTTP/1.0: the answer ends with the connection. */
    int n = snprintf(request, sizeof request, "GET /v1/metrics HTTP/1.0\r\nHost: %.200s\r\n\r\n", host);
    bool is_good = send(fd, request, (usize)n, MSG_NOSIGNAL) == n;
    while (is_good && out->n < ANSWER_MAX) {
        u8 part[16384];
        ssize_t got = recv(fd, part, sizeof part, 0);
        if (got <= 0) {
            is_good = got == 0;
            break;
        }
        cd_buf_put(out, cd_bytes_of(part, (usize)got));
    }
    (void)close(fd);
    return is_good && out->n > 12 && memcmp(out->p + 8, " 200", 4) == 0;
}

/* Reads a line of the text form: name{label="value",…} number. false: it is none. */
static bool parse_line(sample *out, const char *line)
{
    usize n = strcspn(line, "{ ");
    const char *at = line + n;
    if (strncmp(line, "lux_", 4) != 0 || n - 4 >= TEXT_MAX) {
        return false;
    }
    (void)snprintf(out->name, TEXT_MAX, "%.*s", (int)(n - 4), line + 4);
    out->label[0] = '\0';
    if (*at == '{') {
        const char *open = strchr(at, '"');
        const char *close = open == NULL ? NULL : strchr(open + 1, '"');
        at = strchr(at, '}');
        if (close == NULL || at == NULL) {
            return false;
        }
        (void)snprintf(out->label, TEXT_MAX, "%.*s", (int)(close - open - 1), open + 1);
        at++;
    }
    char *end;
    out->value = strtod(at, &end);
    return end != at;
}

static bool take(scrape *out, const char *host, u16 port)
{
    cd_buf text = {0};
    out->cnt = 0;
    bool is_good = ask(&text, host, port);
    out->at_ns = cd_clock_mono_ns(cd_clock_real());
    if (is_good) {
        char *save = NULL;
        char *copy = (char *)(usize)cd_buf_cstr(&text);
        for (char *line = strtok_r(copy, "\n", &save); line != NULL && out->cnt < SAMPLES_MAX;
             line = strtok_r(NULL, "\n", &save)) {
            out->cnt += parse_line(&out->samples[out->cnt], line);
        }
    }
    cd_buf_fini(&text);
    return is_good;
}

/* --- showing --- */

static const sample *find(const scrape *s, const char *name, const char *label)
{
    for (usize i = 0; i < s->cnt; i++) {
        if (strcmp(s->samples[i].name, name) == 0 && strcmp(s->samples[i].label, label) == 0) {
            return &s->samples[i];
        }
    }
    return NULL;
}

/* The value of a metric; 0 when the node does not give it. */
static double value_of(const scrape *s, const char *name, const char *label)
{
    const sample *one = find(s, name, label);
    return one == NULL ? 0 : one->value;
}

typedef struct rate {
    const char *label;
    double per_s;
    double all;
} rate;

static int by_rate(const void *a, const void *b)
{
    const rate *x = a;
    const rate *y = b;
    if (x->per_s != y->per_s) {
        return x->per_s < y->per_s ? 1 : -1;
    }
    return x->all < y->all ? 1 : x->all > y->all ? -1 : strcmp(x->label, y->label);
}

/* How much each label of a metric gained per second, the fastest first; at most max rows. */
static usize rates_of(rate *out, usize max, const scrape *now, const scrape *before, const char *name)
{
    static rate all[SAMPLES_MAX];
    usize cnt = 0;
    double s = (double)(now->at_ns - before->at_ns) / 1e9;
    for (usize i = 0; i < now->cnt; i++) {
        const sample *one = &now->samples[i];
        if (strcmp(one->name, name) == 0) {
            double gain = one->value - value_of(before, name, one->label);
            all[cnt++] = (rate){one->label, s > 0 ? gain / s : 0, one->value};
        }
    }
    qsort(all, cnt, sizeof all[0], by_rate);
    cnt = cnt < max ? cnt : max;
    memcpy(out, all, cnt * sizeof all[0]);
    return cnt;
}

static void show(const scrape *now, const scrape *before)
{
    static const char *const shares[] = {"store", "state", "tries", "texts", "requests"};
    rate rows[ROWS];
    double s = (double)(now->at_ns - before->at_ns) / 1e9;
    double requests = value_of(now, "rpc_requests_total", "") - value_of(before, "rpc_requests_total", "");
    double height = value_of(now, "snowman_last_accepted_height", "C");
    double blocks = height - value_of(before, "snowman_last_accepted_height", "C");
    const sample *index = find(now, "evm_log_index_enabled", "");
    bool has_index = index == NULL || index->value > 0;
    (void)printf("C %.0f   %.1f blocks/s   %.0f requests/s   pool %.0f + %.0f   waiting reads %.0f%s\n\n", height,
                 s > 0 ? blocks / s : 0, s > 0 ? requests / s : 0, value_of(now, "evm_eth_txpool_pending", ""),
                 value_of(now, "evm_eth_txpool_queued", ""), value_of(now, "rpc_reads_waiting", ""),
                 has_index ? "" : "   no log index");
    usize cnt = rates_of(rows, ROWS, now, before, "process_thread_cpu_milliseconds");
    (void)printf("%-28s  %8s  %10s\n", "THREAD", "CPU", "SO FAR");
    for (usize i = 0; i < cnt; i++) {
        (void)printf("%-28s  %6.1f %%  %8.1f s\n", rows[i].label, rows[i].per_s / 10, rows[i].all / 1000);
    }
    (void)printf("\n%-28s  %8s  %10s\n", "MEMORY, MB", "USED", "BUDGET");
    (void)printf("%-28s  %8.1f\n", "process", value_of(now, "process_resident_memory_bytes", "") / 1e6);
    for (usize i = 0; i < CD_COUNT(shares); i++) {
        char used[24] = "";
        const sample *one = find(now, "memory_used_bytes", shares[i]);
        if (one != NULL) {
            (void)snprintf(used, sizeof used, "%.1f", one->value / 1e6);
        }
        (void)printf("%-28s  %8s  %10.1f\n", shares[i], used, value_of(now, "memory_budget_bytes", shares[i]) / 1e6);
    }
    cnt = rates_of(rows, ROWS, now, before, "rpc_calls_total");
    (void)printf("\n%-28s  %8s  %10s\n", "METHOD", "CALLS/S", "SO FAR");
    for (usize i = 0; i < cnt; i++) {
        (void)printf("%-28s  %8.1f  %10.0f\n", rows[i].label, rows[i].per_s, rows[i].all);
    }
    (void)fflush(stdout);
}

static volatile sig_atomic_t is_over;

static void on_interrupt(int signum)
{
    (void)signum;
    is_over = 1;
}

int cd__top_cmd(const char *host, u16 port)
{
    bool is_live = cd_term_is_tty(STDOUT_FILENO);
    scrape *now = cd_new(scrape);
    scrape *before = cd_new(scrape);
    const struct sigaction action = {.sa_handler = on_interrupt};
    int code = 0;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    /* When the output is not a terminal, one table is printed: two samples make one. */
    for (usize round = 0; is_over == 0 && (is_live || round < 2); round++) {
        scrape *oldest = before;
        before = now;
        now = oldest;
        if (!take(now, host, port)) {
            char message[200];
            (void)snprintf(message, sizeof message, "no node gives its metrics at %.100s port %u", host, port);
            cd__report("error", NULL, message, "another port: candela top --http-port=PORT");
            code = 1;
            break;
        }
        if (round != 0) {
            (void)fputs(is_live ? "\x1b[H\x1b[2J" : "", stdout);
            show(now, before);
        }
        if (is_over == 0 && (is_live || round == 0)) {
            (void)poll(NULL, 0, 1000);
        }
    }
    cd_free(now);
    cd_free(before);
    return code;
}
