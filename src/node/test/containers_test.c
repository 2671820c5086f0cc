#include "node/chain/containers.h"

#include "node/api/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static cd_kv *store;
static cd_clock_virtual virtual_clock;
static cd_containers *containers;
static const cd_hash32 chain = {.b = {7}};

static void open_containers(void)
{
    assert_int_equal(cd_containers_open(&containers, store, &chain, &virtual_clock.clock), CD_OK);
}

static int set_up(void **state)
{
    (void)state;
    store = cd_kv_mem_open();
    cd_clock_virtual_init(&virtual_clock, 1700000000 * CD_NS_PER_SEC);
    open_containers();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cd_containers_free(containers);
    cd_kv_close(store);
    return 0;
}

static cd_vm_block block(u64 height, u8 branch)
{
    static u8 text[64][2];
    text[height % 64][0] = (u8)height;
    text[height % 64][1] = branch;
    return (cd_vm_block){
        .id = {.b = {(u8)height, branch}}, .height = height, .span = 1, .bytes = cd_bytes_of(text[height % 64], 2)};
}

static void accept(cd_vm_block b, bool lands)
{
    cd_kv_batch batch = {0};
    assert_int_equal(cd_containers_append(containers, &batch, &b), CD_OK);
    if (lands) {
        assert_int_equal(cd_kv_commit(store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
        cd_containers_landed(containers);
    }
    cd_kv_batch_fini(&batch);
}

static void expect(u64 index, u64 height, u8 branch)
{
    cd_buf buf = {0};
    cd_container c;
    u64 found;
    assert_int_equal(cd_containers_get(containers, &c, &buf, index), CD_OK);
    assert_int_equal(c.height, height);
    assert_int_equal(c.id.b[1], branch);
    assert_int_equal(c.bytes.n, 2);
    assert_int_equal(c.bytes.p[0], height);
    assert_int_equal(cd_containers_index_of(containers, &found, &c.id), CD_OK);
    assert_int_equal(found, index);
    cd_buf_fini(&buf);
}

static void in_order_and_after_a_restart(void **state)
{
    (void)state;
    for (u64 h = 1; h <= 20; h++) {
        accept(block(h, 0), true);
    }
    accept(block(21, 9), false); /* the store refused the batch */
    assert_int_equal(cd_containers_cnt(containers), 20);
    accept(block(21, 0), true);
    cd_containers_free(containers);
    open_containers();
    assert_int_equal(cd_containers_cnt(containers), 21);
    expect(0, 1, 0);
    expect(20, 21, 0);
    accept(block(22, 0), true);
    expect(21, 22, 0);
}

static void taken_back(void **state)
{
    (void)state;
    for (u64 h = 1; h <= 10; h++) {
        accept(block(h, 0), true);
    }
    accept(block(6, 1), true);
    assert_int_equal(cd_containers_cnt(containers), 6);
    expect(4, 5, 0);
    expect(5, 6, 1);
    u64 index;
    assert_int_equal(cd_containers_index_of(containers, &index, &(cd_hash32){.b = {6, 0}}), CD_ENOENT);
    assert_int_equal(cd_containers_index_of(containers, &index, &(cd_hash32){.b = {9, 0}}), CD_ENOENT);
    /* A block that brings empty blocks with it begins below its height. */
    cd_vm_block run = block(40, 2);
    run.span = 36;
    accept(run, true);
    assert_int_equal(cd_containers_cnt(containers), 5);
    expect(3, 4, 0);
    expect(4, 40, 2);
}

/* --- the service --- */

static void ask(const cd_index_api *api, const char *method, const char *params, const char *want)
{
    cd_buf body = {0};
    cd_buf reply = {0};
    cd_buf_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"index.%s\",\"params\":%s}", method, params);
    cd_rpc_serve(cd_index_api_service(api), &reply, cd_buf_bytes(&body));
    if (strstr(cd_buf_cstr(&reply), want) == NULL) {
        fail_msg("%s: \"%s\" is not in %s", method, want, cd_buf_cstr(&reply));
    }
    cd_buf_fini(&body);
    cd_buf_fini(&reply);
}

static void what_the_service_says(void **state)
{
    (void)state;
    cd_index_api *none = cd_index_api_new(NULL);
    cd_index_api *api = cd_index_api_new(containers);
    ask(api, "getLastAccepted", "{}", "no containers have been accepted");
    for (u64 h = 1; h <= 3; h++) {
        accept(block(h, 0), true);
    }
    ask(none, "getLastAccepted", "{}", "no containers have been accepted");
    ask(none, "getContainerByIndex", "{\"index\":0}", "no container at index 0");
    ask(api, "getLastAccepted", "{\"encoding\":\"json\"}", "unsupported encoding in method");
    ask(api, "getLastAccepted", "{\"encoding\":\"hexnc\"}",
        "\"bytes\":\"0x0300\",\"timestamp\":\"2023-11-14T22:13:20Z\",\"encoding\":\"hexnc\",\"index\":\"2\"}");
    ask(api, "getContainerByIndex", "{\"index\":\"1\",\"encoding\":\"hexnc\"}", "\"bytes\":\"0x0200\"");
    ask(api, "getContainerByIndex", "{\"index\":9999}", "no container at index 9999");
    ask(api, "getContainerRange", "{\"startIndex\":0,\"numToFetch\":0}", "numToFetch must be in [1,1024] but is 0");
    ask(api, "getContainerRange", "{\"startIndex\":0,\"numToFetch\":1025}", "must be in [1,1024] but is 1025");
    ask(api, "getContainerRange", "{\"startIndex\":99,\"numToFetch\":1}",
        "start index (99) \\u003e last accepted index (2)");
    ask(api, "getContainerRange", "{\"startIndex\":1,\"numToFetch\":9}", "\"index\":\"1\"},{");
    ask(api, "getContainerRange", "{\"startIndex\":1,\"numToFetch\":9}", "\"index\":\"2\"}]}");
    ask(api, "isAccepted", "{\"id\":\"11111111111111111111111111111111LpoYY\"}", "\"isAccepted\":false");
    ask(api, "getIndex", "{\"id\":\"11111111111111111111111111111111LpoYY\"}", "not found");
    cd_index_api_free(api);
    cd_index_api_free(none);
}

/* Large containers end an answer early: the client asks again after the last one. */
static void large_ones(void **state)
{
    enum { LEN = 5 << 20 };
    static u8 bytes[LEN];
    (void)state;
    cd_index_api *api = cd_index_api_new(containers);
    for (u64 h = 1; h <= 6; h++) {
        cd_vm_block b = block(h, 0);
        b.bytes = cd_bytes_of(bytes, LEN);
        accept(b, true);
    }
    cd_buf reply = {0};
    cd_rpc_serve(cd_index_api_service(api), &reply,
                 cd_bytes_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"index.getContainerRange\",\"params\":{"
                              "\"startIndex\":0,\"numToFetch\":6,\"encoding\":\"hex\"}}"));
    assert_non_null(strstr(cd_buf_cstr(&reply), "\"index\":\"3\"")); /* the fourth goes beyond 16 MiB, */
    assert_null(strstr(cd_buf_cstr(&reply), "\"index\":\"4\""));     /* so there is no fifth */
    assert_true(reply.n > (usize)8 * LEN && reply.n < (usize)9 * LEN);
    cd_buf_fini(&reply);
    cd_index_api_free(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_order_and_after_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_service_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_ones, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
