#include "plugin/wire/wire.h"

#include "base/hex.h"
#include "base/os/fileio.h"
#include "codec/json.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The messages of a method. */
typedef struct row {
    const char *method;
    const cd_proto_type *asked; /* NULL: no message */
    const cd_proto_type *said;
} row;

#define T(msg) &cd_wire_##msg##_type

static const row rows[] = {
    {"/vm.runtime.Runtime/Initialize", T(run_hello), NULL},
    {"/vm.VM/Initialize", T(vm_init), T(vm_last)},
    {"/vm.VM/SetState", T(vm_set_state), T(vm_last)},
    {"/vm.VM/Version", NULL, T(vm_version)},
    {"/vm.VM/Health", NULL, T(vm_health)},
    {"/vm.VM/StateSyncEnabled", NULL, T(vm_sync_enabled)},
    {"/vm.VM/GetLastStateSummary", NULL, T(vm_summary_got)},
    {"/vm.VM/Connected", T(vm_connected), NULL},
    {"/vm.VM/Disconnected", T(vm_id), NULL},
    {"/vm.VM/GetBlock", T(vm_id), T(vm_block_got)},
    {"/vm.VM/GetBlockIDAtHeight", T(vm_height), T(vm_id_at)},
    {"/vm.VM/ParseBlock", T(vm_bytes), T(vm_built)},
    {"/vm.VM/SetPreference", T(vm_id), NULL},
    {"/vm.VM/WaitForEvent", NULL, T(vm_event)},
    {"/vm.VM/NewHTTPHandler", NULL, T(vm_header_route)},
    {"/vm.VM/CreateHandlers", NULL, T(vm_routes)},
    {"/vm.VM/GetAncestors", T(vm_ancestors_of), T(vm_blocks)},
    {"/vm.VM/BatchedParseBlock", T(vm_blocks), T(vm_parsed_many)},
    {"/vm.VM/AppRequest", T(vm_app_request), NULL},
    {"/vm.VM/BuildBlock", T(vm_build), T(vm_built)},
    {"/vm.VM/Shutdown", NULL, NULL},
    {"/vm.VM/Gather", NULL, NULL},
    {"/rpcdb.Database/Has", T(db_key), T(db_has)},
    {"/rpcdb.Database/Get", T(db_key), T(db_value)},
    {"/rpcdb.Database/WriteBatch", T(db_batch), T(db_err)},
    {"/rpcdb.Database/HealthCheck", NULL, T(db_health)},
    {"/rpcdb.Database/Close", NULL, T(db_err)},
    {"/appsender.AppSender/SendAppError", T(send_error), NULL},
    {"/http.HTTP/HandleSimple", T(http_simple), T(http_answer)},
    {"/http.HTTP/Handle", T(http_handle), T(http_handled)},
    {"/http.responsewriter.Writer/Write", T(writer_write), T(io_written)},
    {"/http.responsewriter.Writer/WriteHeader", T(writer_head), NULL},
    {"/http.responsewriter.Writer/Flush", NULL, NULL},
    {"/http.responsewriter.Writer/Hijack", NULL, T(writer_hijacked)},
    {"/io.reader.Reader/Read", T(io_read), T(io_got)},
    {"/io.writer.Writer/Write", T(io_write), T(io_written)},
    {"/net.conn.Conn/Read", T(io_read), T(io_got)},
    {"/net.conn.Conn/Write", T(io_write), T(io_written)},
    {"/net.conn.Conn/SetDeadline", T(conn_time), NULL},
    {"/net.conn.Conn/SetReadDeadline", T(conn_time), NULL},
    {"/net.conn.Conn/SetWriteDeadline", T(conn_time), NULL},
    {"/net.conn.Conn/Close", NULL, NULL},
};

static bool load(cd_json *out, cd_arena *mem, const char *name)
{
    const char *dir = getenv("CANDELA_TESTDATA");
    cd_buf text = {0};
    const char *path = cd_arena_fmt(mem, "%s/p2p/%s", dir == NULL ? "/nowhere" : dir, name);
    bool is_there = cd_fs_read_file(cd_fs_real(), &text, path, 1 << 24, NULL) == CD_OK;
    if (is_there) {
        assert_int_equal(cd_json_parse(out, mem, cd_arena_dup(mem, cd_buf_bytes(&text)), 0, NULL), CD_OK);
    } else {
        print_message("SKIP: no %s; CANDELA_TESTDATA says where golden data is\n", name);
    }
    cd_buf_fini(&text);
    return is_there;
}

/* A message that is read and written again is the same. */
static void same(cd_arena *mem, const cd_proto_type *type, cd_json hex, const char *method)
{
    cd_bytes bytes = {0};
    cd_buf again = {0};
    cd_errinfo why = {0};
    if (cd_json_has(hex)) {
        assert_int_equal(cd_json_hex(&bytes, mem, hex, NULL), CD_OK);
    }
    if (type == NULL) {
        assert_int_equal(bytes.n, 0);
        return;
    }
    void *msg = cd_arena_zalloc(mem, type->size);
    if (cd_proto_parse(msg, type, mem, bytes, &why) != CD_OK) {
        fail_msg("%s: %s", method, why.msg);
    }
    cd_proto_put(&again, type, msg);
    if (!cd_bytes_eq(cd_buf_bytes(&again), bytes)) {
        fail_msg("%s: %s is written otherwise than it was read", method, type->name);
    }
    cd_buf_fini(&again);
}

static usize check_calls(cd_arena *mem, cd_json calls)
{
    usize cnt = 0;
    for (cd_json_it it = cd_json_iter(calls); cd_json_next(&it); cnt++) {
        cd_bytes method;
        const row *found = NULL;
        assert_int_equal(cd_json_str(&method, cd_json_get(it.val, "method"), NULL), CD_OK);
        for (usize i = 0; i < CD_COUNT(rows); i++) {
            found = cd_bytes_eq(method, cd_bytes_str(rows[i].method)) ? &rows[i] : found;
        }
        if (found == NULL) {
            fail_msg("%.*s", (int)method.n, (const char *)method.p);
            return 0;
        }
        same(mem, found->asked, cd_json_get(it.val, "request_hex"), found->method);
        if (!cd_json_has(cd_json_get(it.val, "error"))) {
            same(mem, found->said, cd_json_get(it.val, "response_hex"), found->method);
        }
    }
    return cnt;
}

static void test_transcript(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_json root;
    if (!load(&root, &mem, "plugin_transcript.json")) {
        cd_arena_fini(&mem);
        skip();
    }
    assert_int_equal(check_calls(&mem, cd_json_get(root, "calls")), 38);
    cd_arena_fini(&mem);
}

static void test_tunnel(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_json root;
    usize cnt = 0;
    if (!load(&root, &mem, "http_tunnel.json")) {
        cd_arena_fini(&mem);
        skip();
    }
    for (cd_json_it it = cd_json_iter(root); cd_json_next(&it);) {
        cnt += check_calls(&mem, cd_json_get(it.val, "calls"));
    }
    assert_true(cnt >= 10);
    cd_arena_fini(&mem);
}

/* The tables can be searched: field numbers ascend, and each name leads to its own table. */
static void test_tables(void **state)
{
    (void)state;
    usize cnt;
    const cd_wire_name *all = cd_wire_names(&cnt);
    assert_true(cnt > 60);
    for (usize i = 0; i < cnt; i++) {
        for (u32 k = 1; k < all[i].type->cnt; k++) {
            assert_true(all[i].type->fields[k - 1].number < all[i].type->fields[k].number);
        }
        for (usize k = 0; k < i; k++) {
            assert_string_not_equal(all[i].name, all[k].name);
        }
    }
}

/* An optional number is written even when it is zero. */
static void test_optional(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_buf out = {0};
    cd_wire_vm_build m = {.has_p_chain_height = 1};
    CD_WIRE_PUT(&out, vm_build, &m);
    assert_int_equal(out.n, 2);
    cd_wire_vm_build back = {0};
    assert_int_equal(CD_WIRE_PARSE(&back, vm_build, &mem, cd_buf_bytes(&out), NULL), CD_OK);
    assert_int_equal(back.has_p_chain_height, 1);
    assert_int_equal(back.p_chain_height, 0);
    cd_buf_fini(&out);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transcript),
        cmocka_unit_test(test_tunnel),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_optional),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
