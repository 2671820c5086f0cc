/* The explorer of a small real chain behind a real server: the chain on the test's thread, the loop on another. Test
 * code: included by one file each. */
#ifndef CD_EXPLORER_TEST_RIG_H
#define CD_EXPLORER_TEST_RIG_H

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/thread/thread.h"
#include "chains/evmchain/test/rpc_node.h"
#include "codec/abi.h"
#include "explorer/explorer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

typedef struct rig {
    rpc_node node;
    cd_loop *loop;
    cd_http_server *server;
    cd_index *index;
    cd_explorer *x;
    cd_thread thread;
    cd_loop_task stop;
    cd_buf page; /* the last answer */
} rig;

static rig g;

__attribute__((unused)) static cd_ui_final rig_final; /* what the node says of final blocks */

__attribute__((unused)) static cd_abis *rig_abis;

static void rig_tell_final(void *ctx, cd_ui_final *out)
{
    (void)ctx;
    *out = rig_final;
}

static cd_err rig_run(void *ctx, void (*job)(void *arg), void *arg)
{
    (void)ctx;
    job(arg);
    return CD_OK;
}

static cd_err rig_pool(void *ctx, void (*job)(void *arg, cd_txpool *pool), void *arg)
{
    (void)ctx;
    return cd_evm_vm_with_pool(g.node.vm, job, arg);
}

static void rig_state(void *ctx, cd_buf *out)
{
    (void)ctx;
    cd_buf_str(out, "{\"uptimeMs\":3723000,\"memory\":64000000,\"memoryBudget\":1073741824,\"disk\":"
                    "1234567,\"requests\":42,\"requestBytes\":0,\"readsWaiting\":0,\"threads\":2,"
                    "\"inMemory\":false,\"health\":{\"checks\":{\"C\":{\"duration\":1200},"
                    "\"diskspace\":{\"error\":\"remaining space is <low>\",\"duration\":5000,"
                    "\"contiguousFailures\":3,\"timeOfFirstFailure\":\"2026-11-21T14:04:46Z\"}},"
                    "\"healthy\":false}}");
}

__attribute__((unused)) static const char *rig_report; /* what the node says of certificates; NULL: nothing */
__attribute__((unused)) static _Atomic u64 rig_mark = 1;

static u64 rig_finality(void *ctx, cd_buf *report)
{
    (void)ctx;
    if (report != NULL && rig_report != NULL) {
        cd_buf_str(report, rig_report);
    }
    return rig_report == NULL ? 0 : rig_mark;
}

static void rig_serve(void *ctx, cd_http_req *r)
{
    (void)ctx;
    if (!cd_explorer_serve_here(g.x, r)) {
        cd_explorer_serve(g.x, r);
    }
}

static void rig_news(void *ctx)
{
    (void)ctx;
    cd_explorer_news(g.x);
}

static void rig_loop(void *arg)
{
    (void)arg;
    cd_loop_run(g.loop);
}

static int rig_open(void **state)
{
    (void)state;
    const cd_http_cfg http = {.body_max = 1 << 21};
    rpc_node_open(&g.node, true, NULL);
    const cd_index_cfg index = {.chain = cd_evm_vm_chain(g.node.vm), .kv = g.node.kv};
    assert_int_equal(cd_index_open(&g.index, &index, NULL), CD_OK);
    assert_int_equal(cd_loop_new(&g.loop, NULL), CD_OK);
    g.server = cd_http_server_new(g.loop, &http);
    const cd_explorer_cfg cfg = {
        .chain = cd_evm_vm_chain(g.node.vm),
        .clock = cd_clock_real(),
        .ask_ns = 600 * CD_NS_PER_SEC, /* a sanitizer takes its time */
        .network = "dev",
        .index = g.index,
        .abis = rig_abis,
        .loop = g.loop,
        .run = rig_run,
        .with_pool = rig_pool,
        .node_state = rig_state,
        .finality = rig_finality,
        .final = {.get = rig_tell_final},
    };
    g.x = cd_explorer_new(&cfg);
    cd_evm_vm_watch(g.node.vm, rig_news, NULL);
    const cd_http_route route = {.path = "/explorer*", .methods = CD_HTTP_GET | CD_HTTP_POST, .handler = rig_serve};
    cd_http_server_route(g.server, &route);
    assert_int_equal(cd_http_server_listen(g.server, "127.0.0.1", 0, NULL), CD_OK);
    assert_int_equal(cd_thread_start(&g.thread, "loop", rig_loop, NULL, NULL), CD_OK);
    return 0;
}

static void rig_stopped(void *ctx)
{
    (void)ctx;
    cd_loop_stop(g.loop);
}

static void rig_stop(cd_loop_task *t)
{
    (void)t;
    cd_http_server_stop(g.server, 1000, rig_stopped, NULL);
}

static int rig_close(void **state)
{
    (void)state;
    g.stop.fn = rig_stop;
    cd_loop_post(g.loop, &g.stop);
    cd_thread_join(&g.thread);
    cd_explorer_free(g.x);
    cd_http_server_free(g.server);
    rpc_node_close(&g.node);
    cd_index_free(g.index);
    cd_loop_free(g.loop);
    cd_buf_fini(&g.page);
    return 0;
}

/* --- asking --- */

static int rig_connect(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    const struct timeval limit = {.tv_sec = 20};
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    addr.sin_port = htons(cd_http_server_port(g.server));
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0) {
        fail_msg("connect: %s", strerror(errno));
    }
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    return fd;
}

/* What the server says until it ends, as a string; the status in front. */
static const char *rig_ask(const char *method, const char *path, const char *type, cd_bytes body)
{
    cd_buf text = {0};
    int fd = rig_connect();
    cd_buf_fmt(&text,
               "%s /explorer%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n",
               method, path, type, body.n);
    cd_buf_put(&text, body);
    for (usize sent = 0; sent < text.n;) {
        ssize_t n = send(fd, text.p + sent, text.n - sent, MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (usize)n;
    }
    cd_buf_fini(&text);
    cd_buf_clear(&g.page);
    for (;;) {
        ssize_t n = recv(fd, cd_buf_reserve(&g.page, 65536), 65536, 0);
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) { /* a fuzzer's alarm clock interrupts */
            fail_msg("recv: %s", strerror(errno));
        }
        g.page.n += n > 0 ? (usize)n : 0;
    }
    (void)close(fd);
    return cd_buf_cstr(&g.page);
}

/* A page's markup, of a status. */
static const char *rig_html(const char *path, const char *status)
{
    const char *text = rig_ask("GET", path, "text/plain", (cd_bytes){0});
    if (strncmp(text + 9, status, 3) != 0) {
        fail_msg("%s: %.80s", path, text);
    }
    return text;
}

/* What a person reads in <main>: without tags and references, blanks taken together. In the node's arena. */
static const char *rig_plain(const char *html)
{
    static const struct {
        const char *name;
        char c;
    } refs[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}};
    const char *at = strstr(html, "<main");
    char *out = cd_arena_alloc(&g.node.arena, strlen(html) + 1);
    usize n = 0;
    while (at != NULL && *at != '\0') {
        char c = *at++;
        if (c == '<') {
            at = strchr(at, '>') + 1;
            c = ' ';
        }
        for (usize i = 0; c == '&' && i < CD_COUNT(refs); i++) {
            if (strncmp(at - 1, refs[i].name, strlen(refs[i].name)) == 0) {
                at += strlen(refs[i].name) - 1;
                c = refs[i].c;
                break;
            }
        }
        if (c != ' ' || (n != 0 && out[n - 1] != ' ')) {
            out[n++] = c;
        }
    }
    out[n] = '\0';
    return out;
}

__attribute__((unused)) static const char *rig_get(const char *path)
{
    return rig_plain(rig_html(path, "200"));
}

__attribute__((unused)) static void rig_says(const char *page, const char *fact)
{
    if (strstr(page, fact) == NULL) {
        fail_msg("no \"%s\" in: %s", fact, page);
    }
}

/* --- the chain --- */

/* Sends from ALICE and gives the hash; members: ",\"to\":…" and like. */
__attribute__((unused)) static const char *rig_send(const char *members)
{
    char *text = cd_arena_fmt(&g.node.arena, "[{\"from\":\"%s\",\"gas\":\"0x4c4b40\"%s}]", ALICE, members);
    cd_json answer = rpc_node_ask(&g.node, "eth_sendTransaction", text);
    cd_bytes hash;
    cd_json result = cd_json_get(answer, "result");
    if (!cd_json_has(result)) { // it failed, but is in a block
        result = cd_json_get(cd_json_get(cd_json_get(answer, "error"), "data"), "txHash");
    }
    if (cd_json_str(&hash, result, NULL) != CD_OK) {
        fail_msg("%s: %s", text, rpc_node_text(&g.node, answer));
    }
    return cd_arena_str(&g.node.arena, hash);
}

/* What a contract answers to a selector; its other calls emit log, when it is not empty, and succeed. */
typedef struct rig_answer {
    const char *signature;
    cd_bytes data;
    bool must_fail;
} rig_answer;

/* Appends an instruction with two bytes behind it. */
static void rig_push2(cd_buf *code, usize v)
{
    cd_buf_u8(code, 0x61);
    cd_buf_u8(code, (u8)(v >> 8));
    cd_buf_u8(code, (u8)v);
}

/* [if selector == s goto answer]… else tail; answers: codecopy data, return or revert; data. */
static void rig_assemble(cd_buf *code, const rig_answer *all, usize cnt, cd_bytes tail)
{
    enum { TEST = 16, ANSWER = 14 };
    static const u8 load[] = {0x60, 0x00, 0x35, 0x60, 0xe0, 0x1c};
    usize answers = cnt * TEST + tail.n;
    usize data = answers + cnt * ANSWER;
    for (usize i = 0; i < cnt; i++) {
        u8 selector[4];
        cd_buf_put(code, cd_bytes_of(load, sizeof load));
        cd_abi_selector(selector, all[i].signature);
        cd_buf_u8(code, 0x63);
        cd_buf_put(code, cd_bytes_of(selector, 4));
        cd_buf_u8(code, 0x14);
        rig_push2(code, answers + i * ANSWER);
        cd_buf_u8(code, 0x57);
    }
    cd_buf_put(code, tail);
    for (usize i = 0; i < cnt; i++) {
        cd_buf_u8(code, 0x5b);
        rig_push2(code, all[i].data.n);
        rig_push2(code, data);
        cd_buf_u8(code, 0x5f);
        cd_buf_u8(code, 0x39);
        rig_push2(code, all[i].data.n);
        cd_buf_u8(code, 0x5f);
        cd_buf_u8(code, all[i].must_fail ? 0xfd : 0xf3);
        data += all[i].data.n;
    }
    for (usize i = 0; i < cnt; i++) {
        cd_buf_put(code, all[i].data);
    }
}

/* Deploys it and gives its address. */
__attribute__((unused)) static const char *rig_deploy(const rig_answer *all, usize cnt, cd_bytes tail)
{
    cd_buf code = {0};
    cd_buf init = {0};
    cd_bytes addr;
    rig_assemble(&code, all, cnt, tail);
    rig_push2(&init, code.n);
    cd_buf_put(&init, cd_bytes_str("\x80\x60\x0a\x5f\x39\x5f\xf3"));
    cd_buf_put(&init, cd_buf_bytes(&code));
    char *hex = cd_arena_alloc(&g.node.arena, 2 * init.n + 1);
    cd_hex_fmt(hex, cd_buf_bytes(&init));
    hex[2 * init.n] = '\0';
    const char *hash = rig_send(cd_arena_fmt(&g.node.arena, ",\"data\":\"0x%s\"", hex));
    cd_json receipt = rpc_node_get(&g.node, "eth_getTransactionReceipt", cd_arena_fmt(&g.node.arena, "[\"%s\"]", hash));
    assert_int_equal(cd_json_str(&addr, cd_json_get(receipt, "contractAddress"), NULL), CD_OK);
    cd_buf_fini(&code);
    cd_buf_fini(&init);
    return cd_arena_str(&g.node.arena, addr);
}

/* A string as Solidity returns it. */
__attribute__((unused)) static cd_bytes rig_string(const char *text, usize n)
{
    usize padded = (n + 31) / 32 * 32;
    u8 *out = cd_arena_zalloc(&g.node.arena, 64 + padded);
    out[31] = 0x20;
    cd_put_be64(out + 56, n);
    memcpy(out + 64, text, n);
    return cd_bytes_of(out, 64 + padded);
}

__attribute__((unused)) static cd_bytes rig_word(u64 v)
{
    u8 *out = cd_arena_zalloc(&g.node.arena, 32);
    cd_put_be64(out + 24, v);
    return cd_bytes_of(out, 32);
}

#endif
