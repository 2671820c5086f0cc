/* Live rows: what comes after a page was made is told, once, as rows. */
#include "explorer/test/rig.h"

/* Reads from a stream until text holds what is wanted. */
static void wait_for(int fd, cd_buf *text, const char *what)
{
    while (strstr(cd_buf_cstr(text), what) == NULL) {
        ssize_t n = recv(fd, cd_buf_reserve(text, 65536), 65536, 0);
        if (n <= 0) {
            fail_msg("no %s in: %s", what, cd_buf_cstr(text));
        }
        text->n += (usize)n;
    }
}

static int listen_to(const char *query, cd_buf *text)
{
    int fd = rig_connect();
    cd_buf ask = {0};
    cd_buf_fmt(&ask, "GET /explorer/live?%s HTTP/1.1\r\nHost: localhost\r\n\r\n", query);
    assert_int_equal(send(fd, ask.p, ask.n, MSG_NOSIGNAL), ask.n);
    cd_buf_fini(&ask);
    wait_for(fd, text, "text/event-stream");
    return fd;
}

static int listen_at(u64 height, cd_buf *text)
{
    return listen_to(cd_arena_fmt(&g.node.arena, "at=%llu", (unsigned long long)height), text);
}

static usize count(const char *text, const char *part)
{
    usize n = 0;
    for (; (text = strstr(text, part)) != NULL; text++) {
        n++;
    }
    return n;
}

static void test_rows(void **state)
{
    (void)state;
    cd_buf text = {0};
    cd_buf late = {0};
    const char *row = NULL;
    const char *first = rig_send(",\"to\":\"" BOB "\",\"value\":\"0x1\"");
    /* This page was made before the first block. */
    int fd = listen_at(0, &text);
    wait_for(fd, &text, "event: height");
    row = cd_arena_fmt(&g.node.arena, "event: txs\ndata: {\"id\":\"%s\",\"html\":\"<tr", first);
    rig_says(cd_buf_cstr(&text), row);
    rig_says(cd_buf_cstr(&text), "event: blocks\ndata: {\"id\":\"1\",\"html\":\"<tr data-id=");
    rig_says(cd_buf_cstr(&text), "event: top\n");
    const char *second = rig_send(",\"to\":\"" BOB "\",\"value\":\"0x2\"");
    wait_for(fd, &text, "data: {\"id\":\"2\"");
    wait_for(fd, &text, second);
    assert_int_equal(count(cd_buf_cstr(&text), "data: {\"id\":\"1\""), 1);
    /* Another one hears of what comes, not of what its page shows. */
    int other = listen_at(2, &late);
    (void)rig_send(",\"to\":\"" BOB "\",\"value\":\"0x3\"");
    wait_for(fd, &text, "data: {\"id\":\"3\"");
    wait_for(other, &late, "data: {\"id\":\"3\"");
    assert_null(strstr(cd_buf_cstr(&late), "data: {\"id\":\"2\""));
    (void)close(fd);
    (void)close(other);
    cd_buf_fini(&text);
    cd_buf_fini(&late);
}

/* A thousand blocks at once are the rows that stand on a page; a way back tells to begin anew. */
static void test_bounds(void **state)
{
    (void)state;
    cd_buf text = {0};
    cd_bytes id;
    int fd = listen_at(3, &text);
    assert_int_equal(cd_json_str(&id, rpc_node_get(&g.node, "evm_snapshot", "[]"), NULL), CD_OK);
    const char *snapshot = cd_arena_fmt(&g.node.arena, "[\"%.*s\"]", (int)id.n, (const char *)id.p);
    (void)rpc_node_get(&g.node, "hardhat_mine", "[\"0x3e8\"]");
    wait_for(fd, &text, "data: {\"id\":\"1003\"");
    assert_true(count(cd_buf_cstr(&text), "event: blocks") < 36); // they come in a few steps
    assert_null(strstr(cd_buf_cstr(&text), "data: {\"id\":\"500\""));
    (void)rpc_node_get(&g.node, "evm_revert", snapshot);
    wait_for(fd, &text, "event: gap");
    (void)close(fd);
    cd_buf_fini(&text);
}

/* Who looks at what waits hears that it changed, and nobody else. */
static void test_pool(void **state)
{
    (void)state;
    cd_buf text = {0};
    cd_buf other = {0};
    rig_says(rig_html("/pool", "200"), "/live?at=");
    rig_says(cd_buf_cstr(&g.page), "&amp;pool=1#pool\"");
    (void)rpc_node_get(&g.node, "evm_setAutomine", "[false]");
    int fd = listen_to("at=3&pool=1", &text);
    int deaf = listen_at(3, &other);
    wait_for(fd, &text, "event: pool");
    const char *hash = rig_send(",\"to\":\"" BOB "\",\"value\":\"0x4\"");
    while (count(cd_buf_cstr(&text), "event: pool") < 2) {
        ssize_t n = recv(fd, cd_buf_reserve(&text, 65536), 65536, 0);
        assert_true(n > 0);
        text.n += (usize)n;
    }
    rig_says(rig_html(cd_arena_fmt(&g.node.arena, "/tx/%s", hash), "200"), "&amp;pool=1#pool\"");
    (void)rpc_node_ask(&g.node, "evm_mine", "[]");
    wait_for(deaf, &other, hash);
    assert_null(strstr(cd_buf_cstr(&other), "event: pool"));
    (void)rpc_node_get(&g.node, "evm_setAutomine", "[true]");
    (void)close(fd);
    (void)close(deaf);
    cd_buf_fini(&text);
    cd_buf_fini(&other);
}

/* Likewise who looks at what is signed. */
static void test_finality(void **state)
{
    (void)state;
    cd_buf text = {0};
    cd_buf other = {0};
    rig_report = "{}";
    int fd = listen_to("at=3&finality=1", &text);
    int deaf = listen_to("at=3&pool=1", &other);
    wait_for(fd, &text, "event: finality");
    rig_mark = 2;
    while (count(cd_buf_cstr(&text), "event: finality") < 2) {
        ssize_t n = recv(fd, cd_buf_reserve(&text, 65536), 65536, 0);
        assert_true(n > 0);
        text.n += (usize)n;
    }
    (void)rpc_node_ask(&g.node, "evm_mine", "[]");
    wait_for(deaf, &other, "event: height");
    assert_null(strstr(cd_buf_cstr(&other), "event: finality"));
    assert_null(strstr(cd_buf_cstr(&text), "event: pool"));
    rig_report = NULL;
    (void)close(fd);
    (void)close(deaf);
    cd_buf_fini(&text);
    cd_buf_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_pool), cmocka_unit_test(test_finality)};
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
