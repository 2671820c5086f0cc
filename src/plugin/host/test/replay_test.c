/* Replays our host's side of recorded sessions between the original's host and plugin. What the plugin asked is asked
 * of us, and must be answered with the same bytes; answers of its routes must reach the client as they did. */
#include "plugin/host/db.h"
#include "plugin/host/tunnel.h"
#include "plugin/host/world.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static cd_bytes hex_of(cd_arena *mem, cd_json call, const char *key)
{
    cd_bytes b = {0};
    cd_json v = cd_json_get(call, key);
    if (cd_json_has(v)) {
        assert_int_equal(cd_json_hex(&b, mem, v, NULL), CD_OK);
    }
    return b;
}

static void on_waiting(void *ctx)
{
    (void)ctx;
}

static const cd_plugin_method *find(const cd_plugin_method *rows, usize cnt, cd_bytes method)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_bytes_eq(cd_bytes_str(rows[i].path), method)) {
            return &rows[i];
        }
    }
    return NULL;
}

static void test_session(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_json root;
    if (!load(&root, &mem, "plugin_transcript.json")) {
        cd_arena_fini(&mem);
        skip();
    }
    const cd_plugin_world_cfg cfg = {.waiting = on_waiting};
    cd_kv *kv = cd_kv_mem_open();
    cd_plugin_db *db = cd_plugin_db_new(kv, NULL, NULL);
    cd_plugin_world *world = cd_plugin_world_new(&cfg);
    u32 cnt = 0;
    for (cd_json_it it = cd_json_iter(cd_json_get(root, "calls")); cd_json_next(&it);) {
        cd_bytes method;
        cd_bytes caller;
        usize n[2];
        const cd_plugin_method *rows[2] = {cd_plugin_db_methods(&n[0]), cd_plugin_world_methods(&n[1])};
        assert_int_equal(cd_json_str(&method, cd_json_get(it.val, "method"), NULL), CD_OK);
        assert_int_equal(cd_json_str(&caller, cd_json_get(it.val, "caller"), NULL), CD_OK);
        const cd_plugin_method *of_db = find(rows[0], n[0], method);
        const cd_plugin_method *row = of_db != NULL ? of_db : find(rows[1], n[1], method);
        if (!cd_bytes_eq(caller, cd_bytes_str("plugin")) || row == NULL) {
            continue;
        }
        cd_buf out = {0};
        cd_err e = row->serve(of_db != NULL ? (void *)db : (void *)world, &out, &mem,
                              hex_of(&mem, it.val, "request_hex"), NULL);
        if (e != CD_OK || !cd_bytes_eq(cd_buf_bytes(&out), hex_of(&mem, it.val, "response_hex"))) {
            fail_msg("call %u, %s: another answer", cnt, row->path);
        }
        cd_buf_fini(&out);
        cnt++;
    }
    assert_int_equal(cnt, 11);
    cd_plugin_word *w = cd_plugin_world_take(world);
    assert_non_null(w);
    assert_int_equal(w->kind, CD_PLUGIN_REFUSAL);
    assert_null(w->next);
    cd_free(w);
    cd_plugin_world_free(world);
    cd_plugin_db_free(db);
    cd_kv_close(kv);
    cd_arena_fini(&mem);
}

/* Compares what the client gets for an answer of a plugin's route with what the recorded client got. */
static void test_tunnel(void **state)
{
    (void)state;
    cd_arena mem = {0};
    cd_json root;
    u32 cnt = 0;
    if (!load(&root, &mem, "http_tunnel.json")) {
        cd_arena_fini(&mem);
        skip();
    }
    for (cd_json_it it = cd_json_iter(root); cd_json_next(&it);) {
        cd_bytes got;
        cd_bytes method;
        cd_json call = cd_json_at(cd_json_get(it.val, "calls"), 0);
        assert_int_equal(cd_json_str(&method, cd_json_get(call, "method"), NULL), CD_OK);
        if (!cd_bytes_eq(method, cd_bytes_str("/http.HTTP/HandleSimple")) || cd_json_has(cd_json_get(call, "error"))) {
            continue;
        }
        const cd_grpc_status ok = {0};
        cd_wire_http_answer a;
        u32 status = cd__tunnel_answer(&a, &mem, &ok, hex_of(&mem, call, "response_hex"));
        assert_int_equal(cd_json_str(&got, cd_json_get(it.val, "client_receives"), NULL), CD_OK);
        const char *head = cd_arena_fmt(&mem, "HTTP/1.1 %u ", status);
        assert_memory_equal(got.p, head, strlen(head));
        assert_true(got.n >= a.body.n && memcmp(got.p + got.n - a.body.n, a.body.p, a.body.n) == 0);
        cnt++;
    }
    assert_true(cnt >= 3);
    cd_arena_fini(&mem);
}

/* An answer of exactly 500 comes as an error with the answer inside. Other errors become an answer of 500, or 503 when
 * the plugin is gone. */
static void test_errors(void **state)
{
    (void)state;
    static const struct {
        u32 code;
        u32 status;
    } cases[] = {{CD_GRPC_UNKNOWN, 500}, {CD_GRPC_UNAVAILABLE, 503}, {CD_GRPC_CANCELLED, 503}, {500, 500}};
    cd_arena mem = {0};
    cd_buf inner = {0};
    cd_wire_http_answer a = {.code = 500, .body = cd_bytes_str("boom")};
    CD_WIRE_PUT(&inner, http_answer, &a);
    const cd_wire_rpc_any any = {.type_url = cd_bytes_str("type.googleapis.com/http.HandleSimpleHTTPResponse"),
                                 .value = cd_buf_bytes(&inner)};
    const cd_wire_rpc_status st = {.code = 500, .message = cd_bytes_str("boom"), .details = cd_wire_list(&any, 1)};
    cd_grpc_status error = {.code = 500};
    CD_WIRE_PUT(&error.details, rpc_status, &st);
    assert_int_equal(cd__tunnel_answer(&a, &mem, &error, (cd_bytes){0}), 500);
    assert_true(cd_bytes_eq(a.body, cd_bytes_str("boom")));
    cd_grpc_status_fini(&error);
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_grpc_status_set(&error, cases[i].code, cd_bytes_str("text"));
        assert_int_equal(cd__tunnel_answer(&a, &mem, &error, (cd_bytes){0}), cases[i].status);
        assert_true(cd_bytes_eq(a.body, cd_bytes_str("text")));
        cd_grpc_status_fini(&error);
    }
    static const i32 codes[] = {0, 99, 100, 199, 600, -1};
    for (usize i = 0; i < CD_COUNT(codes); i++) {
        cd_buf_clear(&inner);
        const cd_wire_http_answer odd = {.code = codes[i]};
        CD_WIRE_PUT(&inner, http_answer, &odd);
        assert_int_equal(cd__tunnel_answer(&a, &mem, &error, cd_buf_bytes(&inner)), 500);
    }
    assert_int_equal(cd__tunnel_answer(&a, &mem, &error, cd_bytes_str("\x0a\xff")), 500);
    cd_buf_fini(&inner);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_tunnel),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
