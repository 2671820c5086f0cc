/* A node with toy chains: routes, health and figures of each, one closed and opened again while the other serves; and
 * a node without threads, which does the same things twice. */
#include "base/os/fileio.h"
#include "base/thread/thread.h"
#include "codec/ids.h"
#include "node/node.h"
#include "node/test/toy_chain.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CALL(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":[" params "]}"
#define RESULT(value)        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" value "}"

static const char *const c_names[] = {"C", "evm"};
static const char *const b_names[] = {"B"};
static const char *const d_names[] = {"D"};
static const toy_wish broken = {.fails = true};

static const cd_node_chain_cfg chain_c = {.aliases = c_names, .alias_cnt = 2, .prefix = 'C', .vm = toy_factory};
static const cd_node_chain_cfg chain_b = {.aliases = b_names, .alias_cnt = 1, .vm = toy_factory};
static const cd_node_chain_cfg chain_d = {.aliases = d_names, .alias_cnt = 1, .vm = toy_factory, .dev = &broken};

/* --- a node that runs --- */

typedef struct rig {
    cd_node *n;
    cd_thread thread;
    u16 port;
} rig;

static void run_node(void *arg)
{
    (void)cd_node_run(((rig *)arg)->n);
}

static void rig_open(rig *r, const cd_node_cfg *cfg)
{
    cd_errinfo why = {0};
    *r = (rig){0};
    if (cd_node_open(&r->n, cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    r->port = cd_node_http_port(r->n);
    assert_int_equal(cd_thread_start(&r->thread, "node", run_node, r, NULL), CD_OK);
}

static u64 rig_close(rig *r)
{
    cd_node_stop(r->n);
    cd_thread_join(&r->thread);
    return cd_node_close(r->n);
}

/* --- a client --- */

static int dial(const rig *r)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(r->port)};
    struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void say(int fd, const char *method, const char *path, const char *body)
{
    cd_buf text = {0};
    cd_buf_fmt(&text,
               "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               method, path, strlen(body), body);
    assert_int_equal(send(fd, text.p, text.n, 0), text.n);
    cd_buf_fini(&text);
}

/* Reads an answer and gives its status; the body stays in got. */
static int hear(int fd, cd_buf *got)
{
    int status = 0;
    ssize_t n;
    cd_buf_clear(got);
    while ((n = recv(fd, cd_buf_reserve(got, 65536), 65536, 0)) > 0) {
        got->n += (usize)n;
    }
    (void)close(fd);
    const char *end = strstr(cd_buf_cstr(got), "\r\n\r\n");
    assert_non_null(end);
    assert_int_equal(sscanf(cd_buf_cstr(got), "HTTP/1.1 %d", &status), 1);
    usize head = (usize)(end + 4 - cd_buf_cstr(got));
    memmove(got->p, got->p + head, got->n - head);
    got->n -= head;
    return status;
}

static int ask(const rig *r, cd_buf *got, const char *method, const char *path, const char *body)
{
    int fd = dial(r);
    say(fd, method, path, body);
    return hear(fd, got);
}

static void expect(const rig *r, const char *path, const char *body, const char *want)
{
    cd_buf got = {0};
    assert_int_equal(ask(r, &got, "POST", path, body), 200);
    assert_string_equal(cd_buf_cstr(&got), want);
    cd_buf_fini(&got);
}

static void expect_none(const rig *r, const char *path)
{
    cd_buf got = {0};
    assert_int_equal(ask(r, &got, "POST", path, CALL("toy_height", "")), 404);
    assert_string_equal(cd_buf_cstr(&got), "404 page not found\n");
    cd_buf_fini(&got);
}

/* Opens a session, which has had one answer. */
static int session(const rig *r, const char *path)
{
    static const char call[] = CALL("toy_height", "");
    int fd = dial(r);
    char text[512];
    u8 frame[6 + sizeof call] = {0x81, 0x80 | (sizeof call - 1)};
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                     path);
    assert_int_equal(send(fd, text, (usize)n, 0), n);
    usize at = 0;
    while (at < 4 || memcmp(text + at - 4, "\r\n\r\n", 4) != 0) {
        assert_int_equal(recv(fd, text + at, 1, 0), 1);
        at++;
    }
    assert_memory_equal(text, "HTTP/1.1 101", 12);
    memcpy(frame + 6, call, sizeof call - 1);
    assert_int_equal(send(fd, frame, 6 + sizeof call - 1, 0), 6 + sizeof call - 1);
    assert_int_equal(recv(fd, text, 2, MSG_WAITALL), 2);
    assert_int_equal((u8)text[0], 0x81);
    assert_int_equal(recv(fd, text + 2, (usize)text[1], MSG_WAITALL), text[1]);
    return fd;
}

/* --- orders --- */

typedef struct answer {
    atomic_bool is_there;
    cd_err err;
    cd_errinfo why;
} answer;

static void on_told(void *ctx, cd_err err, const cd_errinfo *why)
{
    answer *a = ctx;
    a->err = err;
    a->why = *why;
    atomic_store(&a->is_there, true);
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static cd_err await(answer *a)
{
    for (u32 i = 0; i < 30000 && !atomic_load(&a->is_there); i++) {
        nap();
    }
    assert_true(atomic_load(&a->is_there));
    return a->err;
}

static cd_err open_chain(const rig *r, const cd_node_chain_cfg *cfg, answer *a)
{
    *a = (answer){.err = CD_OK};
    cd_node_open_chain(r->n, cfg, on_told, a);
    return await(a);
}

static cd_err close_chain(const rig *r, const char *name)
{
    answer a = {.err = CD_OK};
    cd_node_close_chain(r->n, name, on_told, &a);
    return await(&a);
}

/* --- tests --- */

static const cd_node_chain_cfg both[2] = {
    {.aliases = c_names, .alias_cnt = 2, .prefix = 'C', .vm = toy_factory},
    {.aliases = b_names, .alias_cnt = 1, .vm = toy_factory},
};

static cd_node_cfg two_chains_cfg(void)
{
    return (cd_node_cfg){
        .network = cd_network_find("dev"),
        .http = {.host = "127.0.0.1"},
        .shutdown_timeout_ms = 5000,
        .has_health = true,
        .has_metrics = true,
        .memory = 64 << 20,
        .workers = 1,
        .chains = both,
        .chain_cnt = 2,
    };
}

/* Every chain has its routes, by alias and id; the first is at the root. */
static void routes(void **state)
{
    (void)state;
    rig r;
    cd_buf got = {0};
    char path[128];
    cd_node_cfg cfg = two_chains_cfg();
    rig_open(&r, &cfg);
    expect(&r, "/v1/bc/C/rpc", CALL("toy_mine", "7"), RESULT("1"));
    expect(&r, "/ext/bc/evm/rpc", CALL("toy_mine", "8"), RESULT("2"));
    expect(&r, "/", CALL("toy_height", ""), RESULT("2"));
    expect(&r, "/v1/bc/B/rpc", CALL("toy_height", ""), RESULT("0"));
    expect(&r, "/v1/bc/B/rpc", CALL("toy_mine", "7"), RESULT("1"));
    cd_buf_fmt(&got, "/v1/bc/");
    cd_id_put(&got, cd_node_chain_id(cd_node_chain_of(r.n, "B")));
    (void)snprintf(path, sizeof path, "%s/rpc", cd_buf_cstr(&got));
    expect(&r, path, CALL("toy_height", ""), RESULT("1"));
    expect(&r, "/ext/bc/B/raw", "", "raw B");
    static const char *const nobody[] = {"/v1/bc/X/rpc", "/v1/bc/C",     "/v1/bc/C/",  "/v1/bc/C/none",
                                         "/v1/bc/",      "/v1/bc/c/rpc", "/v1/bc//rpc"};
    for (usize i = 0; i < CD_COUNT(nobody); i++) {
        expect_none(&r, nobody[i]);
    }
    assert_int_equal(ask(&r, &got, "PUT", "/v1/bc/C/rpc", ""), 405);
    assert_int_equal(ask(&r, &got, "GET", "/v1/health", ""), 200);
    assert_non_null(strstr(cd_buf_cstr(&got), "{\"checks\":{\"B\":{\"message\":{\"engine\":{\"consensus\":"
                                              "{\"lastAcceptedHeight\":1,"));
    assert_non_null(strstr(cd_buf_cstr(&got), "\"C\":{\"message\":{\"engine\":{\"consensus\":"
                                              "{\"lastAcceptedHeight\":2,"));
    assert_int_equal(ask(&r, &got, "GET", "/ext/metrics", ""), 200);
    static const char *const lines[] = {
        "\nlux_snowman_last_accepted_height{chain=\"C\"} 2\n", "\nlux_snowman_blks_accepted_count{chain=\"B\"} 1\n",
        "\nlux_rpc_calls_total{method=\"toy_mine\"} 3\n", "\nlux_toy_opened 1\n", "\nlux_toy_opened{chain=\"B\"} 1\n"};
    for (usize i = 0; i < CD_COUNT(lines); i++) {
        assert_non_null(strstr(cd_buf_cstr(&got), lines[i]));
    }
    assert_null(strstr(cd_buf_cstr(&got), "snowman_bs_")); /* whoever decides alone does not catch up */
    cd_buf_fini(&got);
    assert_int_equal(rig_close(&r), 2);
}

/* One chain closes while a request of its own still runs, and opens again; the other serves all the time. */
static void close_and_open(void **state)
{
    (void)state;
    rig r;
    cd_buf got = {0};
    cd_node_cfg cfg = two_chains_cfg();
    answer closed = {.err = CD_OK};
    answer opened;
    rig_open(&r, &cfg);
    expect(&r, "/v1/bc/B/rpc", CALL("toy_mine", "7"), RESULT("1"));
    toy_chain *b = toy_chain_of(cd_node_chain_vm(cd_node_chain_of(r.n, "B")));
    int slow = dial(&r);
    say(slow, "POST", "/v1/bc/B/rpc", CALL("toy_slow", ""));
    while (!atomic_load(&b->is_slow)) {
        nap();
    }
    int left = session(&r, "/v1/bc/B/rpc");
    int stays = session(&r, "/v1/bc/C/rpc");
    cd_node_close_chain(r.n, "B", on_told, &closed);
    u8 frame[4];
    assert_int_equal(recv(left, frame, 4, MSG_WAITALL), 4);
    assert_int_equal(frame[0], 0x88);
    assert_int_equal(cd_be16(frame + 2), 1001);
    (void)close(left);
    expect_none(&r, "/v1/bc/B/rpc");
    expect(&r, "/v1/bc/C/rpc", CALL("toy_mine", "9"), RESULT("1"));
    assert_false(atomic_load(&closed.is_there));
    assert_int_equal(open_chain(&r, &chain_b, &opened), CD_ELIMIT); /* the old one has not closed yet */
    atomic_store(&b->gate, true);
    assert_int_equal(hear(slow, &got), 200);
    assert_string_equal(cd_buf_cstr(&got), RESULT("\"B\""));
    assert_int_equal(await(&closed), CD_OK);
    assert_int_equal(close_chain(&r, "B"), CD_ENOENT);
    assert_int_equal(ask(&r, &got, "GET", "/v1/health", ""), 200);
    assert_null(strstr(cd_buf_cstr(&got), "\"B\""));
    assert_int_equal(ask(&r, &got, "GET", "/v1/metrics", ""), 200);
    assert_null(strstr(cd_buf_cstr(&got), "chain=\"B\""));
    assert_non_null(strstr(cd_buf_cstr(&got), "chain=\"C\""));
    assert_int_equal(open_chain(&r, &chain_c, &opened), CD_EEXIST);
    assert_int_equal(open_chain(&r, &chain_d, &opened), CD_ECORRUPT);
    assert_string_equal(opened.why.msg, "the toy is broken");
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(open_chain(&r, &chain_b, &opened), CD_OK);
        expect(&r, "/v1/bc/B/rpc", CALL("toy_height", ""), i == 0 ? RESULT("1") : RESULT("2"));
        if (i == 0) {
            expect(&r, "/v1/bc/B/rpc", CALL("toy_mine", "3"), RESULT("2"));
        }
        assert_int_equal(close_chain(&r, "B"), CD_OK);
    }
    /* The first chain closes, too; then nothing is at the root. */
    assert_int_equal(close_chain(&r, "evm"), CD_OK);
    assert_int_equal(recv(stays, frame, 4, MSG_WAITALL), 4);
    assert_int_equal(frame[0], 0x88);
    (void)close(stays);
    expect_none(&r, "/");
    assert_int_equal(ask(&r, &got, "GET", "/v1/health", ""), 200);
    cd_buf_fini(&got);
    assert_int_equal(rig_close(&r), 1);
}

/* A call that does not end by itself is told to, when its chain closes and when the node stops. */
static void calls_that_last(void **state)
{
    (void)state;
    for (usize k = 0; k < 2; k++) {
        rig r;
        cd_buf got = {0};
        cd_node_cfg cfg = two_chains_cfg();
        rig_open(&r, &cfg);
        toy_chain *b = toy_chain_of(cd_node_chain_vm(cd_node_chain_of(r.n, "B")));
        int slow = dial(&r);
        say(slow, "POST", "/v1/bc/B/rpc", CALL("toy_slow", ""));
        while (!atomic_load(&b->is_slow)) {
            nap();
        }
        if (k == 0) {
            assert_int_equal(close_chain(&r, "B"), CD_OK);
        } else {
            assert_int_equal(rig_close(&r), 0);
        }
        assert_int_equal(hear(slow, &got), 200);
        assert_non_null(strstr(cd_buf_cstr(&got), "request timed out"));
        if (k == 0) {
            assert_int_equal(rig_close(&r), 0);
        }
        cd_buf_fini(&got);
    }
}

static void bad_names(void **state)
{
    (void)state;
    static const char *const names[] = {"", "a/b", "..", "x y", "abcdefghijabcdefghijabcdefghijabc", "database"};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        const cd_node_chain_cfg bad = {.aliases = &names[i], .alias_cnt = 1, .vm = toy_factory};
        cd_node_cfg cfg = two_chains_cfg();
        cd_errinfo why = {0};
        cd_node *n = NULL;
        cfg.chains = &bad;
        cfg.chain_cnt = 1;
        assert_int_equal(cd_node_open(&n, &cfg, &why), i + 1 == CD_COUNT(names) ? CD_EEXIST : CD_EINVAL);
        assert_true(why.msg[0] != '\0');
    }
}

/* --- a node without threads --- */

static void tell_mine(cd_node *n, const char *chain, const char *want)
{
    cd_buf reply = {0};
    assert_int_equal(cd_node_ask(n, chain, "/rpc", &reply, cd_bytes_str(CALL("toy_mine", "5"))), CD_OK);
    assert_string_equal(cd_buf_cstr(&reply), want);
    cd_buf_fini(&reply);
}

/* Moves the clock from one thing that is due to the next, up to an end. */
static void run_until(cd_node *n, cd_clock_virtual *clock, u64 end)
{
    for (;;) {
        u64 next = cd_node_step(n);
        u64 now = cd_clock_mono_ns(&clock->clock);
        assert_true(next > now);
        cd_clock_virtual_advance(clock, cd_min_u64(next, end) - now);
        if (next > end) {
            return;
        }
    }
}

/* Two chains that make blocks at their own pace; one is closed in between, the node is ended and goes on. */
static void simulate(cd_buf *log, u64 seed)
{
    const toy_wish wishes[2] = {
        {.every_ns = 1000000007, .log = log},
        {.every_ns = 700000001, .log = log},
    };
    cd_node_chain_cfg chains[2] = {both[0], both[1]};
    chains[0].dev = &wishes[0];
    chains[1].dev = &wishes[1];
    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 1700000000 * CD_NS_PER_SEC);
    cd_node_cfg cfg = two_chains_cfg();
    cfg.clock = &clock.clock;
    cfg.seed = seed;
    cfg.is_stepped = true;
    cfg.kv = cd_kv_mem_open();
    cfg.chains = chains;
    for (u32 life = 0; life < 2; life++) {
        cd_node *n;
        answer a = {.err = CD_OK};
        cd_errinfo why = {0};
        assert_int_equal(cd_node_open(&n, &cfg, &why), CD_OK);
        run_until(n, &clock, clock.mono + 10 * CD_NS_PER_SEC);
        tell_mine(n, "C", life == 0 ? RESULT("10") : RESULT("32"));
        cd_node_close_chain(n, "B", on_told, &a);
        assert_true(atomic_load(&a.is_there) && a.err == CD_OK);
        run_until(n, &clock, clock.mono + 5 * CD_NS_PER_SEC);
        a = (answer){.err = CD_OK};
        cd_node_open_chain(n, &chains[1], on_told, &a);
        assert_true(atomic_load(&a.is_there) && a.err == CD_OK);
        run_until(n, &clock, clock.mono + 7 * CD_NS_PER_SEC);
        cd_buf health = {0};
        assert_true(cd_node_health(n, &health));
        cd_buf_put(log, cd_buf_bytes(&health));
        cd_buf_fini(&health);
        (void)cd_node_close(n);
    }
    cd_kv_close(cfg.kv);
}

static void stepped_twice(void **state)
{
    (void)state;
    cd_buf logs[3] = {{0}};
    simulate(&logs[0], 1);
    simulate(&logs[1], 1);
    simulate(&logs[2], 2);
    assert_true(logs[0].n > 3000);
    assert_string_equal(cd_buf_cstr(&logs[0]), cd_buf_cstr(&logs[1]));
    assert_string_not_equal(cd_buf_cstr(&logs[0]), cd_buf_cstr(&logs[2]));
    for (usize i = 0; i < CD_COUNT(logs); i++) {
        cd_buf_fini(&logs[i]);
    }
}

/* A chain's data in the store stays its own, whatever other chains there are and in whatever order they come. */
static void own_parts(void **state)
{
    (void)state;
    static const char *const names[] = {"N0", "N1", "N2", "N3"};
    static const u32 orders[][4] = {{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}};
    cd_kv *kv = cd_kv_mem_open();
    for (u32 life = 0; life < CD_COUNT(orders); life++) {
        cd_node_chain_cfg chains[4];
        cd_clock_virtual clock;
        cd_node *n;
        for (usize i = 0; i < 4; i++) {
            chains[i] = (cd_node_chain_cfg){.aliases = &names[orders[life][i]], .alias_cnt = 1, .vm = toy_factory};
        }
        cd_clock_virtual_init(&clock, 0);
        cd_node_cfg cfg = two_chains_cfg();
        cfg.clock = &clock.clock;
        cfg.is_stepped = true;
        cfg.kv = kv;
        cfg.chains = chains + life; /* one chain fewer each time */
        cfg.chain_cnt = 4 - life;
        assert_int_equal(cd_node_open(&n, &cfg, NULL), CD_OK);
        for (u32 i = life; i < 4; i++) {
            u32 which = orders[life][i];
            toy_chain *c = toy_chain_of(cd_node_chain_vm(cd_node_chain_of(n, names[which])));
            if (life == 0) {
                for (u32 k = 0; k <= which; k++) {
                    c->t->wanted = 100 + k;
                    assert_int_equal(c->ctx.host->produce(c->ctx.host, NULL), CD_OK);
                }
            }
            assert_int_equal(c->t->blocks.last_height, which + 1);
        }
        (void)cd_node_close(n);
    }
    cd_kv_close(kv);
}

/* --- shared memory --- */

static cd_node *open_pair(cd_kv *kv, cd_clock_virtual *clock, const cd_hash32 *ids, const toy_wish *wish)
{
    static const char *const names[] = {"C", "X"};
    static cd_node_chain_cfg chains[2];
    static cd_node_cfg cfg;
    cd_node *n;
    for (u32 i = 0; i < 2; i++) {
        chains[i] = (cd_node_chain_cfg){
            .id = ids[i], .aliases = &names[i], .alias_cnt = 1, .vm = toy_factory, .dev = i == 0 ? wish : NULL};
    }
    cfg = two_chains_cfg();
    cfg.clock = &clock->clock;
    cfg.is_stepped = true;
    cfg.kv = kv;
    cfg.chains = chains;
    cfg.chain_cnt = 2;
    assert_int_equal(cd_node_open(&n, &cfg, NULL), CD_OK);
    return n;
}

static cd_err look(cd_node *n, const char *chain, const cd_hash32 *peer, const cd_hash32 *key)
{
    cd_arena a = {0};
    cd_bytes out;
    const cd_vm_shared *s = toy_chain_of(cd_node_chain_vm(cd_node_chain_of(n, chain)))->ctx.shared;
    cd_err e = s->get(s, &out, &a, peer, cd_bytes_of(key->b, 32));
    cd_arena_fini(&a);
    return e;
}

/* What a block of C leaves for X is there with the block, and only for X, also after a restart of the node. */
static void shared_memory(void **state)
{
    (void)state;
    const cd_hash32 ids[2] = {{{1}}, {{2}}};
    const toy_wish wish = {.peer = &ids[1]};
    cd_kv *kv = cd_kv_mem_open();
    cd_clock_virtual clock;
    cd_clock_virtual_init(&clock, 0);
    cd_node *n = open_pair(kv, &clock, ids, &wish);
    toy_chain *c = toy_chain_of(cd_node_chain_vm(cd_node_chain_of(n, "C")));
    c->t->wanted = 77;
    assert_int_equal(c->ctx.host->produce(c->ctx.host, NULL), CD_OK);
    const cd_hash32 key = c->t->blocks.last;
    for (u32 life = 0; life < 2; life++) {
        assert_int_equal(look(n, "X", &ids[0], &key), CD_OK);
        assert_int_equal(look(n, "C", &ids[1], &key), CD_ENOENT);
        (void)cd_node_close(n);
        n = open_pair(kv, &clock, ids, &wish);
    }
    (void)cd_node_close(n);
    cd_kv_close(kv);
}

/* What a test counts of a chain's genesis and pages. */
typedef struct counted {
    u32 made, opened, left, closed;
} counted;

static cd_err make_genesis(void *ctx, cd_buf *out, u64 now, cd_errinfo *why)
{
    (void)now;
    (void)why;
    cd_buf_fmt(out, "genesis %u", ++((counted *)ctx)->made);
    return CD_OK;
}

static void pages_open(void *ctx, cd_vm *vm, const cd_node_hands *hands)
{
    counted *n = ctx;
    assert_non_null(vm);
    assert_non_null(hands->loop);
    n->opened++;
}

static void pages_serve(void *ctx, cd_http_req *req)
{
    (void)ctx;
    cd_buf_str(cd_http_req_out(req), "a page");
    cd_http_reply(req, 200, "text/plain");
}

static bool pages_serve_here(void *ctx, cd_http_req *req)
{
    (void)ctx;
    (void)req;
    return false;
}

static void pages_leave(void *ctx)
{
    ((counted *)ctx)->left++;
}

static void pages_close(void *ctx)
{
    ((counted *)ctx)->closed++;
}

/* A genesis is made once in the life of a data directory, or of a store; pages open and close with their chain. */
static void genesis_and_pages(void **state)
{
    (void)state;
    char dir[] = "/tmp/candela-node-XXXXXX";
    assert_non_null(mkdtemp(dir));
    counted n = {0};
    cd_kv *kv = cd_kv_mem_open();
    const cd_node_pages pages = {.root = "/pages",
                                 .open = pages_open,
                                 .serve_here = pages_serve_here,
                                 .serve = pages_serve,
                                 .leave = pages_leave,
                                 .close = pages_close,
                                 .ctx = &n};
    cd_node_chain_cfg chain = chain_c;
    chain.genesis = make_genesis;
    chain.genesis_ctx = &n;
    chain.pages = &pages;
    for (u32 life = 0; life < 4; life++) {
        rig r;
        cd_buf got = {0};
        cd_node_cfg cfg = two_chains_cfg();
        cfg.chains = &chain;
        cfg.chain_cnt = 1;
        cfg.pages_root = "/pages";
        cfg.data_dir = life < 2 ? dir : NULL;
        cfg.kv = life < 2 ? NULL : kv;
        rig_open(&r, &cfg);
        const toy_chain *c = toy_chain_of(cd_node_chain_vm(cd_node_chain_of(r.n, "C")));
        assert_true(cd_bytes_eq(c->ctx.genesis, cd_bytes_str(life < 2 ? "genesis 1" : "genesis 2")));
        assert_int_equal(ask(&r, &got, "GET", "/pages/x", ""), 200);
        assert_string_equal(cd_buf_cstr(&got), "a page");
        cd_buf_fini(&got);
        if (life == 1) {
            assert_int_equal(close_chain(&r, "C"), CD_OK);
            assert_int_equal(n.left, 1);
        }
        (void)rig_close(&r);
        assert_int_equal(n.made, life < 2 ? 1 : 2);
        assert_int_equal(n.opened, life + 1);
        assert_int_equal(n.closed, life + 1);
    }
    cd_kv_close(kv);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), dir, NULL), CD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes),        cmocka_unit_test(close_and_open),    cmocka_unit_test(calls_that_last),
        cmocka_unit_test(bad_names),     cmocka_unit_test(stepped_twice),     cmocka_unit_test(own_parts),
        cmocka_unit_test(shared_memory), cmocka_unit_test(genesis_and_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
