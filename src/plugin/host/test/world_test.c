#include "plugin/host/world.h"

#include "base/mem/mem.h"
#include "plugin/wire/wire.h"
#include "types/warp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct rig {
    cd_vm_validators validators; /* first */
    cd_plugin_world *world;
    cd_arena mem;
    cd_buf out;
    cd_errinfo why;
    u32 waiting;
} rig;

static const cd_hash32 chain = {.b = {5}};
static const cd_hash32 net = {.b = {6}};

static cd_err find(void *ctx, cd_hash32 *out, cd_bytes name)
{
    (void)ctx;
    *out = chain;
    return cd_bytes_eq(name, cd_bytes_str("T")) ? CD_OK : CD_ENOENT;
}

static void list(void *ctx, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *id)
{
    (void)ctx;
    *cnt = cd_hash32_eq(id, &chain) ? 2 : 0;
    *out = cd_arena_array(a, cd_bytes, 2);
    (*out)[0] = cd_bytes_str("T");
    (*out)[1] = cd_bytes_str("other");
}

static cd_err sign(void *ctx, u8 out[96], cd_bytes msg, cd_errinfo *why)
{
    cd_warp_unsigned m;
    (void)ctx;
    (void)why;
    assert_int_equal(cd_warp_unsigned_dec(&m, msg), CD_OK);
    assert_int_equal(m.network_id, 1337);
    assert_true(cd_bytes_eq(m.payload, cd_bytes_str("say")));
    memset(out, 9, 96);
    return CD_OK;
}

static cd_err height(const cd_vm_validators *v, u64 *out)
{
    (void)v;
    *out = 77;
    return CD_OK;
}

static cd_err subnet_of(const cd_vm_validators *v, cd_hash32 *out, const cd_hash32 *id)
{
    (void)v;
    *out = net;
    return cd_hash32_eq(id, &chain) ? CD_OK : CD_ENOENT;
}

static cd_err at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a, const cd_hash32 *id,
                 u64 h)
{
    (void)v;
    (void)id;
    cd_vm_validator *all = cd_arena_array(a, cd_vm_validator, 2);
    all[0] = (cd_vm_validator){.node_id = {.b = {1}}, .weight = 10, .has_key = true, .key = {3}};
    all[1] = (cd_vm_validator){.node_id = {.b = {2}}, .weight = 20};
    *out = all;
    *cnt = 2;
    return h <= 77 ? CD_OK : CD_ERANGE;
}

static void on_waiting(void *ctx)
{
    ((rig *)ctx)->waiting++;
}

static void begin(rig *r)
{
    *r = (rig){.validators = {.current = height, .minimum = height, .subnet_of = subnet_of, .at = at}};
    const cd_plugin_world_cfg cfg = {
        .network_id = 1337,
        .chain_id = chain,
        .validators = &r->validators,
        .names = {.find = find, .list = list},
        .signer = {.sign = sign},
        .waiting = on_waiting,
        .ctx = r,
    };
    r->world = cd_plugin_world_new(&cfg);
}

static void end(rig *r)
{
    cd_plugin_world_free(r->world);
    cd_buf_fini(&r->out);
    cd_arena_fini(&r->mem);
}

static cd_err call(rig *r, const char *path, const cd_proto_type *type, const void *m)
{
    usize n;
    cd_buf msg = {0};
    const cd_plugin_method *rows = cd_plugin_world_methods(&n);
    cd_err e = CD_ENOENT;
    if (type != NULL) {
        cd_proto_put(&msg, type, m);
    }
    cd_buf_clear(&r->out);
    r->why = (cd_errinfo){0};
    for (usize i = 0; i < n; i++) {
        if (strcmp(rows[i].path, path) == 0) {
            e = rows[i].serve(r->world, &r->out, &r->mem, cd_buf_bytes(&msg), &r->why);
        }
    }
    cd_buf_fini(&msg);
    return e;
}

static void test_names(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    cd_wire_alias_name name = {.alias = cd_bytes_str("T")};
    cd_wire_alias_id id = {0};
    assert_int_equal(call(&r, "/aliasreader.AliasReader/Lookup", &cd_wire_alias_name_type, &name), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&id, alias_id, &r.mem, cd_buf_bytes(&r.out), NULL), CD_OK);
    assert_memory_equal(id.id.p, chain.b, 32);
    name.alias = cd_bytes_str("Y");
    assert_int_equal(call(&r, "/aliasreader.AliasReader/Lookup", &cd_wire_alias_name_type, &name), CD_ENOENT);
    assert_string_equal(r.why.msg, "there is no chain with alias/ID 'Y'");
    id.id = cd_bytes_of(chain.b, 32);
    assert_int_equal(call(&r, "/aliasreader.AliasReader/PrimaryAlias", &cd_wire_alias_id_type, &id), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&name, alias_name, &r.mem, cd_buf_bytes(&r.out), NULL), CD_OK);
    assert_true(cd_bytes_eq(name.alias, cd_bytes_str("T")));
    assert_int_equal(call(&r, "/aliasreader.AliasReader/Aliases", &cd_wire_alias_id_type, &id), CD_OK);
    id.id = cd_bytes_of(net.b, 32);
    assert_int_equal(call(&r, "/aliasreader.AliasReader/PrimaryAlias", &cd_wire_alias_id_type, &id), CD_ENOENT);
    id.id.n = 31;
    assert_int_equal(call(&r, "/aliasreader.AliasReader/Aliases", &cd_wire_alias_id_type, &id), CD_EFORMAT);
    end(&r);
}

static void test_validators(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    cd_wire_val_height h = {0};
    cd_wire_val_id id = {.id = cd_bytes_of(chain.b, 32)};
    cd_wire_val_set set = {0};
    cd_wire_val_at ask = {.height = 77, .subnet_id = cd_bytes_of(net.b, 32)};
    assert_int_equal(call(&r, "/validatorstate.ValidatorState/GetCurrentHeight", NULL, NULL), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&h, val_height, &r.mem, cd_buf_bytes(&r.out), NULL), CD_OK);
    assert_int_equal(h.height, 77);
    assert_int_equal(call(&r, "/validatorstate.ValidatorState/GetMinimumHeight", NULL, NULL), CD_OK);
    /* The method has one name in each family. */
    assert_int_equal(call(&r, "/validatorstate.ValidatorState/GetSubnetID", &cd_wire_val_id_type, &id), CD_OK);
    assert_int_equal(call(&r, "/validatorstate.ValidatorState/GetNetID", &cd_wire_val_id_type, &id), CD_OK);
    assert_int_equal(call(&r, "/validatorstate.ValidatorState/GetValidatorSet", &cd_wire_val_at_type, &ask), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&set, val_set, &r.mem, cd_buf_bytes(&r.out), NULL), CD_OK);
    assert_int_equal(set.validators.cnt, 2);
    const cd_wire_validator *v = set.validators.v;
    assert_int_equal(v[0].public_key.n, 96);
    assert_int_equal(v[1].public_key.n, 0);
    assert_int_equal(v[1].weight, 20);
    ask.height = 78;
    assert_int_equal(call(&r, "/validatorstate.ValidatorState/GetValidatorSet", &cd_wire_val_at_type, &ask), CD_ERANGE);
    assert_int_equal(call(&r, "/validatorstate.ValidatorState/GetCurrentValidatorSet", NULL, NULL), CD_EUNSUPPORTED);
    end(&r);
}

static void test_sign(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    cd_wire_warp_sign m = {
        .network_id = 1337, .source_chain_id = cd_bytes_of(chain.b, 32), .payload = cd_bytes_str("say")};
    cd_wire_warp_signature got = {0};
    assert_int_equal(call(&r, "/warp.Signer/Sign", &cd_wire_warp_sign_type, &m), CD_OK);
    assert_int_equal(CD_WIRE_PARSE(&got, warp_signature, &r.mem, cd_buf_bytes(&r.out), NULL), CD_OK);
    assert_int_equal(got.signature.n, 96);
    m.network_id = 1;
    assert_int_equal(call(&r, "/warp.Signer/Sign", &cd_wire_warp_sign_type, &m), CD_EINVAL);
    assert_string_equal(r.why.msg, "wrong networkID");
    m.source_chain_id = cd_bytes_of(net.b, 32);
    assert_int_equal(call(&r, "/warp.Signer/Sign", &cd_wire_warp_sign_type, &m), CD_EINVAL);
    assert_string_equal(r.why.msg, "wrong sourceChainID");
    end(&r);
}

static void free_words(cd_plugin_word *w)
{
    while (w != NULL) {
        cd_plugin_word *next = w->next;
        cd_free(w);
        w = next;
    }
}

static void test_words(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    const u8 nodes[2][20] = {{1}, {2}};
    const cd_bytes ids[] = {cd_bytes_of(nodes[0], 20), cd_bytes_of(nodes[1], 20)};
    cd_wire_send_request m = {.node_ids = cd_wire_list(ids, 2), .request_id = 7, .request = cd_bytes_str("hello")};
    const cd_wire_send_error refusal = {.node_id = ids[1], .request_id = 8, .error_code = -1};
    assert_int_equal(call(&r, "/appsender.AppSender/SendAppRequest", &cd_wire_send_request_type, &m), CD_OK);
    assert_int_equal(call(&r, "/appsender.AppSender/SendAppError", &cd_wire_send_error_type, &refusal), CD_OK);
    assert_int_equal(r.waiting, 2);
    cd_plugin_word *w = cd_plugin_world_take(r.world);
    assert_int_equal(w->kind, CD_PLUGIN_REQUEST);
    assert_int_equal(w->to.node_cnt, 2);
    assert_int_equal(w->to.nodes[1].b[0], 2);
    assert_true(cd_bytes_eq(w->msg, cd_bytes_str("hello")));
    assert_int_equal(w->next->code, -1);
    free_words(w);
    assert_null(cd_plugin_world_take(r.world));
    /* The mailbox is bounded; once its words are taken there is room again. */
    for (u32 i = 0; i < CD_PLUGIN_WORDS_MAX; i++) {
        assert_int_equal(call(&r, "/appsender.AppSender/SendAppRequest", &cd_wire_send_request_type, &m), CD_OK);
    }
    assert_int_equal(call(&r, "/appsender.AppSender/SendAppRequest", &cd_wire_send_request_type, &m), CD_EFULL);
    free_words(cd_plugin_world_take(r.world));
    assert_int_equal(call(&r, "/appsender.AppSender/SendAppRequest", &cd_wire_send_request_type, &m), CD_OK);
    const cd_bytes bad = cd_bytes_of(nodes[0], 19);
    m.node_ids = cd_wire_list(&bad, 1);
    assert_int_equal(call(&r, "/appsender.AppSender/SendAppRequest", &cd_wire_send_request_type, &m), CD_EFORMAT);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_validators),
        cmocka_unit_test(test_sign),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
