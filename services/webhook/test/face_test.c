/* Requests and records of the three interfaces: fields, order, errors. */
#include "services/webhook/api/face.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ADDR "0x9011e888251ab053b7bd1cdb598db4f9ded94714"
#define HASH "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

static const char *chain_of(void *ctx, cd_bytes name)
{
    (void)ctx;
    return cd_bytes_eq(name, cd_bytes_str("lux")) || cd_bytes_eq(name, cd_bytes_str("96369")) ? "lux" : NULL;
}

typedef struct rig {
    cd_arena mem;
    cd_rng rng;
    cd_wh_read r;
    cd_wh_draft d;
    cd_buf text;
} rig;

static void rig_open(rig *g)
{
    *g = (rig){.rng = cd_rng_seeded(7)};
    g->r = (cd_wh_read){.mem = &g->mem, .rng = &g->rng, .chain = chain_of, .brand = "Svc"};
}

static void rig_close(rig *g)
{
    cd_buf_fini(&g->text);
    cd_arena_fini(&g->mem);
}

static cd_err create(rig *g, cd_wh_face face, const char *body)
{
    cd_json json;
    g->d = (cd_wh_draft){0};
    CD_TRY(cd_wh_read_body(&g->r, &json, cd_bytes_str(body)));
    return cd_wh_face_api_of(face)->create(&g->r, &g->d, json);
}

static cd_err patch(rig *g, cd_wh_face face, const char *body)
{
    cd_json json;
    g->d.given = 0;
    CD_TRY(cd_wh_read_body(&g->r, &json, cd_bytes_str(body)));
    return cd_wh_face_api_of(face)->patch(&g->r, &g->d, json);
}

static const char *record(rig *g, cd_wh_face face, u32 show)
{
    cd_json_w w = {.out = &g->text};
    cd_buf_clear(&g->text);
    cd_json_w_obj(&w);
    cd_wh_face_api_of(face)->record(&w, &g->d.hook, show, &g->mem);
    cd_json_w_obj_end(&w);
    return cd_buf_cstr(&g->text);
}

/* id and secret are drawn; the rest is given. */
static void fixed(rig *g, const char *id, const char *secret)
{
    g->d.hook.id = id;
    g->d.hook.secret = cd_bytes_str(secret);
    g->d.hook.created_ms = 1774173600123;
    g->d.hook.updated_ms = 1774173601000;
}

static void records(void **state)
{
    rig g;
    (void)state;
    rig_open(&g);
    assert_int_equal(create(&g, CD_WH_A,
                            "{\"url\":\"https://example.com/hook\",\"chain\":\"96369\",\"more\":1,"
                            "\"events\":[\"transfer\",\"contract_event\",\"transfer\"],"
                            "\"filters\":{\"address\":"
                            "\"0x9011E888251AB053B7BD1CDB598DB4F9DED94714\"}}"),
                     CD_OK);
    assert_int_equal(strlen(g.d.hook.id), 13);
    assert_memory_equal(g.d.hook.id, "wh-", 3);
    assert_int_equal(g.d.hook.secret.n, 0);
    assert_int_equal(g.d.hook.filter.addresses.n, 1);
    fixed(&g, "wh-3f9c1a7be2", "");
    assert_string_equal(record(&g, CD_WH_A, 0), "{\"id\":\"wh-3f9c1a7be2\",\"url\":\"https://example.com/hook\","
                                                "\"events\":[\"transfer\",\"contract_event\"],\"chain\":\"lux\","
                                                "\"filters\":{\"address\":\"" ADDR "\"},\"status\":\"enabled\","
                                                "\"failureCount\":0,\"createdAt\":\"2026-03-22T10:00:00Z\","
                                                "\"updatedAt\":\"2026-03-22T10:00:01Z\"}");

    assert_int_equal(create(&g, CD_WH_B,
                            "{\"url\":\"https://e.org/\",\"chain\":\"lux\",\"event_type\":"
                            "\"address_activity\",\"config\":{\"addresses\":[\"" ADDR "\"]}}"),
                     CD_OK);
    assert_int_equal(strlen(g.d.hook.id), 15);
    assert_int_equal(g.d.hook.secret.n, 30);
    assert_memory_equal(g.d.hook.secret.p, "whsec_", 6);
    fixed(&g, "wh_abc", "whsec_x");
    assert_string_equal(record(&g, CD_WH_B, CD_WH_SHOW_SECRET),
                        "{\"id\":\"wh_abc\",\"url\":\"https://e.org/\",\"chain\":\"lux\","
                        "\"event_type\":\"address_activity\",\"config\":{\"addresses\":[\"" ADDR
                        "\"]},\"signing_secret\":\"whsec_x\",\"status\":\"active\","
                        "\"created_at\":\"2026-03-22T10:00:00Z\"}");
    assert_null(strstr(record(&g, CD_WH_B, CD_WH_SHOW_UPDATED), "whsec"));
    assert_non_null(strstr(record(&g, CD_WH_B, CD_WH_SHOW_UPDATED), "\"updated_at\":\"2026-03-22T10:00:01Z\""));

    assert_int_equal(create(&g, CD_WH_C,
                            "{\"name\":\"n\",\"url\":\"https://e.org/\",\"chain\":\"lux\","
                            "\"event_types\":[\"TOKEN_TRANSFER\",\"ADDRESS_ACTIVITY\"],"
                            "\"filters\":{\"tokenContract\":\"" ADDR "\",\"minValue\":\"007\"}}"),
                     CD_OK);
    assert_int_equal(strlen(g.d.hook.id), 36);
    assert_int_equal(g.d.hook.id[14], '4');
    assert_int_equal(g.d.hook.secret.n, 43);
    fixed(&g, "u", "s");
    assert_string_equal(record(&g, CD_WH_C, CD_WH_SHOW_SECRET),
                        "{\"id\":\"u\",\"name\":\"n\",\"url\":\"https://e.org/\",\"chain\":\"lux\","
                        "\"network\":\"mainnet\",\"event_type\":\"TOKEN_TRANSFER\","
                        "\"event_types\":[\"TOKEN_TRANSFER\",\"ADDRESS_ACTIVITY\"],"
                        "\"filters\":{\"tokenContract\":\"" ADDR "\",\"minValue\":\"7\"},"
                        "\"is_active\":true,\"failure_count\":0,\"last_triggered_at\":null,"
                        "\"created_at\":\"2026-03-22T10:00:00.123Z\",\"secret\":\"s\"}");
    rig_close(&g);
}

static void filters(void **state)
{
    rig g;
    const cd_wh_filter *f = &g.d.hook.filter;
    (void)state;
    rig_open(&g);
    assert_int_equal(create(&g, CD_WH_B,
                            "{\"url\":\"https://e.org/\",\"chain\":\"lux\",\"event_type\":\"log\","
                            "\"config\":{\"topics\":[null,\"" HASH "\",[\"" HASH "\",\"" HASH "\"],[]]}}"),
                     CD_OK);
    assert_int_equal(f->topics[0].n, 0);
    assert_int_equal(f->topics[1].n, 1);
    assert_int_equal(f->topics[2].n, 1); // same values count once, and are answered once
    assert_int_equal(f->topics[3].n, 0);
    assert_string_equal((const char *)cd_arena_str(&g.mem, g.d.hook.config),
                        "{\"topics\":[null,\"" HASH "\",[\"" HASH "\"],[]]}");
    assert_int_equal(create(&g, CD_WH_C,
                            "{\"name\":\"n\",\"url\":\"https://e.org/\",\"chain\":\"lux\","
                            "\"event_type\":\"PENDING_TRANSACTION\",\"filters\":"
                            "{\"functionSelector\":[\"0xA9059CBB\",\"f()\",\"transfer(address,uint256)\"],"
                            "\"from\":\"" ADDR "\"}}"),
                     CD_OK);
    assert_int_equal(f->selectors_cnt, 2);
    assert_int_equal(f->selectors[0], 0xa9059cbb);
    assert_int_equal(f->selectors[1], 0x26121ff0);
    assert_int_equal(f->from.n, 1);
    assert_string_equal((const char *)cd_arena_str(&g.mem, g.d.hook.config),
                        "{\"functionSelector\":[\"0xa9059cbb\",\"f()\"],\"from\":\"" ADDR "\"}");
    assert_int_equal(create(&g, CD_WH_C,
                            "{\"name\":\"n\",\"url\":\"https://e.org/\",\"chain\":\"lux\","
                            "\"event_type\":\"NFT_ACTIVITY\",\"filters\":{\"tokenId\":[1,\"256\"],"
                            "\"contract\":\"" ADDR "\",\"tokenContract\":[\"" ADDR "\"]}}"),
                     CD_OK);
    assert_int_equal(f->token_ids.n, 2);
    assert_int_equal(f->token_ids.p[1].b[30], 1);
    assert_int_equal(f->contracts.n, 1);
    // a wrong checksum is told, not refused
    assert_int_equal(create(&g, CD_WH_A,
                            "{\"url\":\"https://e.org/\",\"chain\":\"lux\",\"events\":[\"transfer\"],"
                            "\"filters\":{\"address\":"
                            "\"0x9011E888251ab053b7bd1cdb598db4f9ded94714\"}}"),
                     CD_OK);
    assert_int_equal(g.r.warnings_cnt, 1);
    assert_non_null(strstr(g.r.warnings[0], "wrong checksum"));
    rig_close(&g);
}

#define A(rest) "{\"url\":\"https://e.org/\",\"chain\":\"lux\",\"events\":[\"transfer\"]" rest "}"
#define B(type, config)                                                                                                \
    "{\"url\":\"https://e.org/\",\"chain\":\"lux\",\"event_type\":\"" type "\",\"config\":" config "}"
#define C(type, filters)                                                                                               \
    "{\"name\":\"n\",\"url\":\"https://e.org/\",\"chain\":\"lux\",\"event_type\":\"" type "\",\"filters\":" filters "}"

static const struct {
    cd_wh_face face;
    const char *body;
    const char *code;
    const char *field;
    const char *kind; // of C's 422; NULL: it answers 400
} refused[] = {
    {CD_WH_A, "", "invalid_json", "", NULL},
    {CD_WH_A, "[]", "invalid_json", "", NULL},
    {CD_WH_A, "{\"url\":1,\"url\":1}", "invalid_json", "", NULL},
    {CD_WH_A, A(",\"filters\":{\"x\":[{\"a\":1,\"a\":2}]}"), "invalid_json", "", NULL},
    {CD_WH_A, "{}", "missing_field", "url", "missing"},
    {CD_WH_A, "{\"url\":7}", "invalid_value", "url", "string_type"},
    {CD_WH_A, "{\"url\":\"https://e.org/\"}", "missing_field", "events", "missing"},
    {CD_WH_A, "{\"url\":\"https://e.org/\",\"events\":\"transfer\"}", "invalid_value", "events", "list_type"},
    {CD_WH_A, "{\"url\":\"https://e.org/\",\"events\":[]}", "invalid_value", "events", "too_short"},
    {CD_WH_A, "{\"url\":\"https://e.org/\",\"events\":[\"log\"]}", "unknown_event_type", "events[0]", NULL},
    {CD_WH_A, "{\"url\":\"https://e.org/\",\"events\":[\"transfer\"],\"chain\":\"moon\"}", "unsupported_chain", "chain",
     NULL},
    {CD_WH_A, A(",\"filters\":7"), "invalid_value", "filters", "dict_type"},
    {CD_WH_A, A(",\"filters\":{\"address\":\"0x12\"}"), "invalid_value", "filters.address", "value_error"},
    {CD_WH_A, A(",\"filters\":{\"addresses\":[\"" ADDR "\",null]}"), "invalid_value", "filters.addresses[1]",
     "value_error"},
    {CD_WH_A, A(",\"filters\":{\"minValue\":\"-1\"}"), "invalid_value", "filters.minValue", "value_error"},
    {CD_WH_A, A(",\"filters\":{\"topics\":[null,null,null,null,null]}"), "invalid_value", "filters.topics",
     "list_type"},
    {CD_WH_A, A(",\"secret\":\"short\""), "invalid_value", "secret", "string_too_short"},
    {CD_WH_A, A(",\"ordering\":\"loose\""), "invalid_value", "ordering", "value_error"},
    {CD_WH_A, A(",\"headers\":{\"Host\":\"x\"}"), "invalid_value", "headers.Host", "value_error"},
    {CD_WH_A, A(",\"headers\":{\"X-svc-Mine\":\"x\"}"), "invalid_value", "headers.X-svc-Mine", "value_error"},
    {CD_WH_A, A(",\"headers\":{\"X-Mine\":\"a\\r\\nb\"}"), "invalid_value", "headers.X-Mine", "value_error"},
    {CD_WH_A, A(",\"headers\":{\"X Mine\":\"a\"}"), "invalid_value", "headers.X Mine", "value_error"},
    {CD_WH_A, A(",\"concurrency\":0"), "invalid_value", "concurrency", "value_error"},
    {CD_WH_B, B("address_activity", "{}"), "missing_field", "config.addresses", NULL},
    {CD_WH_B, B("token_transfer", "{}"), "missing_field", "config", NULL},
    {CD_WH_B, B("token_transfer", "{\"addresses\":[]}"), "missing_field", "config.addresses", NULL},
    {CD_WH_A, A(",\"filters\":{\"address\":[]}"), "missing_field", "filters.address", NULL},
    {CD_WH_A, A(",\"filters\":{\"adress\":\"" ADDR "\"}"), "invalid_value", "filters.adress", "extra_forbidden"},
    {CD_WH_C, C("TOKEN_TRANSFER", "{\"contract\":[]}"), "missing_field", "filters.contract", NULL},
    {CD_WH_B, B("mined_transaction", "{}"), "missing_field", "config.tx_hashes", NULL},
    {CD_WH_B, B("log", "{\"topics\":[null]}"), "missing_field", "config", NULL},
    {CD_WH_B, B("address_activity", "{\"addresses\":[\"" ADDR "\"],\"direction\":\"up\"}"), "invalid_value",
     "config.direction", "value_error"},
    {CD_WH_B, B("address_activity", "{\"token_ids\":[1]}"), "invalid_value", "config.token_ids", NULL},
    {CD_WH_C, "{\"url\":\"https://e.org/\"}", "missing_field", "name", "missing"},
    {CD_WH_C, C("transfer", "{}"), "unknown_event_type", "event_type", NULL},
    {CD_WH_C, C("NEW_BLOCK", "{\"minValue\":\"1\"}"), "invalid_value", "filters.minValue", NULL},
    {CD_WH_C, C("TOKEN_TRANSFER", "{\"functionSelector\":\"0x12345678\"}"), "invalid_value", "filters.functionSelector",
     NULL},
    {CD_WH_C, C("PENDING_TRANSACTION", "{\"functionSelector\":\"transfer\"}"), "invalid_value",
     "filters.functionSelector", "value_error"},
    {CD_WH_C, C("MINED_TRANSACTION", "{\"txHash\":\"" ADDR "\"}"), "invalid_value", "filters.txHash", "value_error"},
};

static void refusals(void **state)
{
    (void)state;
    for (usize i = 0; i < CD_COUNT(refused); i++) {
        rig g;
        rig_open(&g);
        assert_int_not_equal(create(&g, refused[i].face, refused[i].body), CD_OK);
        assert_string_equal(g.r.problem.code, refused[i].code);
        assert_string_equal(g.r.problem.field, refused[i].field);
        if (refused[i].kind == NULL) {
            assert_null(g.r.problem.kind);
        } else {
            assert_string_equal(g.r.problem.kind, refused[i].kind);
        }
        assert_true(g.r.problem.message[0] != '\0');
        rig_close(&g);
    }
}

static void error_bodies(void **state)
{
    cd_buf out = {0};
    cd_wh_problem p = {.status = 400, .code = "c", .field = "url", .message = "m", .kind = "k"};
    (void)state;
    cd_wh_error_body(&out, CD_WH_B, &p);
    assert_string_equal(cd_buf_cstr(&out), "{\"error\":{\"code\":\"c\",\"message\":\"m\",\"field\":\"url\"}}\n");
    cd_buf_clear(&out);
    cd_wh_error_body(&out, CD_WH_C, &p);
    assert_string_equal(cd_buf_cstr(&out), "{\"detail\":\"m\"}\n");
    p.status = 422;
    p.field = "filters.address[2]";
    cd_buf_clear(&out);
    cd_wh_error_body(&out, CD_WH_C, &p);
    assert_string_equal(cd_buf_cstr(&out), "{\"detail\":[{\"loc\":[\"body\",\"filters\",\"address\","
                                           "2],\"msg\":\"m\",\"type\":\"k\"}]}\n");
    cd_buf_fini(&out);
}

static void patches(void **state)
{
    rig g;
    (void)state;
    rig_open(&g);
    assert_int_equal(create(&g, CD_WH_B, B("address_activity", "{\"addresses\":[\"" ADDR "\"]}")), CD_OK);
    assert_int_equal(patch(&g, CD_WH_B, "{\"status\":\"paused\"}"), CD_OK);
    assert_int_equal(g.d.given, CD_WH_GIVEN_STATUS);
    assert_int_equal(g.d.hook.status, CD_WH_PAUSED);
    assert_int_equal(patch(&g, CD_WH_B, "{\"status\":\"active\",\"replay\":\"skipped\"}"), CD_OK);
    assert_int_equal(g.d.again, CD_WH_AGAIN_SKIPPED);
    assert_int_equal(patch(&g, CD_WH_B, "{\"chain\":\"lux\"}"), CD_EINVAL);
    assert_string_equal(g.r.problem.code, "immutable_field");
    assert_int_equal(patch(&g, CD_WH_B, "{\"status\":\"disabled\"}"), CD_EINVAL);
    assert_int_equal(patch(&g, CD_WH_B, "{\"config\":{}}"), CD_EINVAL);
    assert_int_equal(patch(&g, CD_WH_B, "{\"replay\":\"some\"}"), CD_EINVAL);
    assert_int_equal(create(&g, CD_WH_A, A(",\"ordering\":\"strict\"")), CD_OK);
    assert_int_equal(patch(&g, CD_WH_A, "{\"status\":\"disabled\",\"concurrency\":2}"), CD_OK);
    assert_int_equal(g.d.given, CD_WH_GIVEN_STATUS | CD_WH_GIVEN_SETTINGS);
    assert_string_equal((const char *)cd_arena_str(&g.mem, g.d.hook.settings),
                        "{\"events\":[\"transfer\"],\"ordering\":\"strict\",\"concurrency\":2}");
    assert_non_null(strstr(record(&g, CD_WH_A, 0), "\"status\":\"disabled\""));
    assert_non_null(strstr(record(&g, CD_WH_A, 0), "\"ordering\":\"strict\",\"concurrency\":2}"));
    assert_int_equal(create(&g, CD_WH_C, C("NEW_BLOCK", "null")), CD_OK);
    assert_int_equal(patch(&g, CD_WH_C, "{\"is_active\":false,\"name\":\"m\"}"), CD_OK);
    assert_int_equal(g.d.given, CD_WH_GIVEN_STATUS | CD_WH_GIVEN_NAME);
    assert_int_equal(g.d.hook.status, CD_WH_DISABLED);
    assert_int_equal(patch(&g, CD_WH_C, "{\"is_active\":1}"), CD_EINVAL);
    rig_close(&g);
}

static void bulk_config(void **state)
{
    rig g;
    cd_addr20 *many;
    (void)state;
    rig_open(&g);
    many = cd_arena_array(&g.mem, cd_addr20, 1001);
    cd_bytes one = cd_wh_config_addresses(&g.mem, cd_bytes_str("{\"addresses\":[],\"min_value\":\"1\"}"), "addresses",
                                          (cd_wh_addrs){.p = many, .n = 1});
    assert_string_equal((const char *)cd_arena_str(&g.mem, one),
                        "{\"addresses\":[\"0x0000000000000000000000000000000000000000\"],\"min_value\":\"1\"}");
    cd_bytes cut = cd_wh_config_addresses(&g.mem, one, "addresses", (cd_wh_addrs){.p = many, .n = 1001});
    assert_non_null(strstr((const char *)cd_arena_str(&g.mem, cut), "],\"addresses_count\":1001,\"min_value\""));
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records),      cmocka_unit_test(filters), cmocka_unit_test(refusals),
        cmocka_unit_test(error_bodies), cmocka_unit_test(patches), cmocka_unit_test(bulk_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
