/* Names against a name server of our own on loopback: addresses, none, silence; what comes of connections. */
#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "net/dns_priv.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SILENT = 64, HEADER_LEN = 12, RECORD_LEN = 16 };

typedef struct name_server {
    int fd;
    cd_thread thread;
    _Atomic bool is_over;
    char address[32];
} name_server;

static cd_loop *loop;
static name_server server;

/* The addresses that a first label stands for; -1: no answer at all. */
static int addresses_of(const u8 *label, u8 out[4][4])
{
    static const u8 two[2][4] = {{127, 0, 0, 2}, {127, 0, 0, 3}};
    if (label[0] == 3 && memcmp(label + 1, "two", 3) == 0) {
        memcpy(out, two, sizeof two);
        return 2;
    }
    return label[0] == 6 && memcmp(label + 1, "silent", 6) == 0 ? -1 : 0;
}

/* Makes the question in msg its answer [RFC 1035 4.1]; 0: says nothing. */
static usize answer(u8 *msg, usize n, usize cap)
{
    u8 found[4][4] = {0};
    int cnt = n > HEADER_LEN ? addresses_of(msg + HEADER_LEN, found) : -1;
    usize end = HEADER_LEN;
    while (end < n && msg[end] != 0) {
        end += msg[end] + 1u;
    }
    end += 5; /* the root, type and class */
    if (cnt < 0 || end > n || end + RECORD_LEN * (usize)4 > cap) {
        return 0;
    }
    bool is_a = msg[end - 3] == 1;
    msg[2] = 0x81;
    msg[3] = cnt == 0 ? 0x83 : 0x80; /* no such name */
    memset(msg + 6, 0, 6);
    msg[7] = is_a ? (u8)cnt : 0;
    for (int i = 0; is_a && i < cnt; i++) {
        const u8 record[RECORD_LEN] = {0xc0, HEADER_LEN, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4};
        memcpy(msg + end, record, sizeof record);
        memcpy(msg + end + 12, found[i], 4);
        end += RECORD_LEN;
    }
    return end;
}

static void serve(void *arg)
{
    name_server *s = arg;
    u8 msg[1024];
    struct sockaddr_in from;
    for (;;) {
        socklen_t len = sizeof from;
        ssize_t n = recvfrom(s->fd, msg, 512, 0, (struct sockaddr *)&from, &len);
        if (atomic_load(&s->is_over)) {
            return;
        }
        usize out = n > 0 ? answer(msg, (usize)n, sizeof msg) : 0;
        if (out != 0) {
            (void)sendto(s->fd, msg, out, 0, (struct sockaddr *)&from, len);
        }
    }
}

static void server_start(name_server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    s->fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&a, sizeof a) == 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    (void)snprintf(s->address, sizeof s->address, "127.0.0.1:%u", ntohs(a.sin_port));
    assert_int_equal(cd_thread_start(&s->thread, "dns", serve, s, NULL), CD_OK);
}

static void server_stop(name_server *s)
{
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    atomic_store(&s->is_over, true);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    assert_int_equal(sendto(s->fd, "", 1, 0, (struct sockaddr *)&a, n), 1);
    cd_thread_join(&s->thread);
    (void)close(s->fd);
}

typedef struct heard {
    u32 times;
    u32 awaited; /* the loop stops then */
    cd_err err;
    usize cnt;
    cd_ip first, last;
} heard;

static void hear(void *ctx, cd_err err, const cd_ip *found, usize cnt)
{
    heard *h = ctx;
    h->err = err;
    h->cnt = cnt;
    if (cnt > 0) {
        h->first = found[0];
        h->last = found[cnt - 1];
    }
    if (++h->times == h->awaited) {
        cd_loop_stop(loop);
    }
}

static void must_not_hear(void *ctx, cd_err err, const cd_ip *found, usize cnt)
{
    (void)ctx;
    (void)err;
    (void)found;
    (void)cnt;
    fail_msg("a dropped look-up was told");
}

static heard look_up(const char *host)
{
    heard h = {.awaited = 1};
    cd_lookup *p = cd_lookup_new(loop, host, hear, &h);
    assert_non_null(p);
    assert_int_equal(h.times, 0);
    cd_loop_run(loop);
    return h;
}

static void answers(void **state)
{
    (void)state;
    heard h = look_up("two.test");
    assert_int_equal(h.err, CD_OK);
    assert_int_equal(h.cnt, 2);
    assert_int_equal(h.first.n, 4);
    assert_memory_not_equal(h.first.b, h.last.b, 4);
    h = look_up("nowhere.test");
    assert_int_equal(h.err, CD_ENOENT);
    assert_int_equal(h.cnt, 0);
    /* What needs no server. */
    h = look_up("192.0.2.7");
    assert_int_equal(h.err, CD_OK);
    assert_memory_equal(h.first.b, ((const u8[]){192, 0, 2, 7}), 4);
    h = look_up("2001:db8::7");
    assert_int_equal(h.err, CD_OK);
    assert_int_equal(h.first.n, 16);
    h = look_up("localhost");
    assert_int_equal(h.err, CD_OK);
}

/* Names that nobody answers for, as many as you like, and one that is answered: it does not wait for them. */
static void silence(void **state)
{
    (void)state;
    heard late = {.awaited = SILENT};
    for (u32 i = 0; i < SILENT; i++) {
        char host[32];
        (void)snprintf(host, sizeof host, "silent.n%u.test", i);
        assert_non_null(cd_lookup_new(loop, host, hear, &late));
    }
    heard h = look_up("two.test");
    assert_int_equal(h.err, CD_OK);
    assert_int_equal(late.times, 0);
    cd_loop_run(loop);
    assert_int_equal(late.times, SILENT);
    assert_int_equal(late.err, CD_ETIMEOUT);
}

static void dropped(void **state)
{
    (void)state;
    cd_lookup_drop(NULL);
    cd_lookup_drop(cd_lookup_new(loop, "two.test", must_not_hear, NULL));
    cd_lookup_drop(cd_lookup_new(loop, "192.0.2.7", must_not_hear, NULL)); /* answered already */
    cd_lookup_drop(cd_lookup_new(loop, "silent.test", must_not_hear, NULL));
    heard h = look_up("two.test");
    assert_int_equal(h.err, CD_OK);
}

/* --- connections --- */

typedef struct dialled {
    cd_err err;
    bool is_connected;
} dialled;

static void on_accept(void *ctx, cd_tcp *tcp)
{
    (void)ctx;
    cd_tcp_close(tcp);
}

static void on_connect(void *ctx, cd_tcp *tcp, cd_err err)
{
    dialled *d = ctx;
    d->err = err;
    d->is_connected = tcp != NULL;
    if (tcp != NULL) {
        cd_tcp_close(tcp);
    }
    cd_loop_stop(loop);
}

static dialled dial(const char *host, u16 port)
{
    dialled d = {0};
    assert_non_null(cd_connect_new(loop, host, port, 20000, on_connect, &d));
    cd_loop_run(loop);
    return d;
}

/* Whichever of two addresses refuses, the other is tried; when both do, that is the answer. */
static void next_address(void **state)
{
    (void)state;
    static const char *const rows[] = {"127.0.0.2", "127.0.0.3"};
    u16 port = 0;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_listener *l;
        cd_errinfo why = {0};
        assert_int_equal(cd_listener_open(&l, loop, rows[i], 0, on_accept, NULL, &why), CD_OK);
        port = cd_listener_port(l);
        dialled d = dial("two.test", port);
        assert_true(d.is_connected);
        cd_listener_close(l);
    }
    dialled d = dial("two.test", port);
    assert_false(d.is_connected);
    assert_int_equal(d.err, CD_EIO);
    assert_int_equal(dial("nowhere.test", 1).err, CD_ENOENT);
}

/* A loop that ends with open questions, some of a resolver whose configuration has changed. */
static void freed(void **state)
{
    (void)state;
    cd_errinfo why = {0};
    cd_loop *l;
    assert_int_equal(cd_loop_new(&l, &why), CD_OK);
    cd__dns_servers_set(l, server.address, 60000);
    assert_non_null(cd_lookup_new(l, "silent.test", must_not_hear, NULL));
    cd__dns_servers_set(l, server.address, 60000);
    assert_non_null(cd_lookup_new(l, "silent.test", must_not_hear, NULL));
    cd_loop_free(l);
}

int main(void)
{
    cd_errinfo why = {0};
    if (cd_loop_new(&loop, &why) != CD_OK) {
        return 1;
    }
    server_start(&server);
    cd__dns_servers_set(loop, server.address, 100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),      cmocka_unit_test(silence), cmocka_unit_test(dropped),
        cmocka_unit_test(next_address), cmocka_unit_test(freed),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cd_loop_free(loop);
    server_stop(&server);
    return failed;
}
