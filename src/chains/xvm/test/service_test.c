/* The methods of the X-Chain with what clients may get wrong, pages, lists, and what waits upon what waits. The
 * original's words are checked against its dialogues (tests/vectors/xvm_vectors.c). */
#include "codec/encoding.h"
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* Asks a method at a route; the answer holds this. */
static const char *ask(xrig *r, cd_buf *out, const char *route, const char *method, const char *params)
{
    usize cnt;
    cd_buf body = {0};
    const cd_vm_handler *h = r->vm->ops->handlers(r->vm, &cnt);
    cd_buf_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    cd_buf_clear(out);
    for (usize i = 0; i < cnt; i++) {
        if (strcmp(h[i].route, route) == 0) {
            cd_rpc_serve(h[i].service, out, cd_buf_bytes(&body));
        }
    }
    cd_buf_fini(&body);
    return cd_buf_cstr(out);
}

static void answers(xrig *r, const char *route, const char *method, const char *params, const char *part)
{
    cd_buf out = {0};
    const char *got = ask(r, &out, route, method, params);
    if (strstr(got, part) == NULL) {
        fail_msg("%s %s: %s", method, params, got);
    }
    cd_buf_fini(&out);
}

static char *addr_text(const xrig *r, cd_arena *a, int key)
{
    cd_buf b = {0};
    cd_chain_addr_put(&b, "X", "local", &r->addr[key]);
    char *text = cd_arena_str(a, cd_buf_bytes(&b));
    cd_buf_fini(&b);
    return text;
}

static void words(void **state)
{
    (void)state;
    static xrig r;
    cd_arena a = {0};
    rig_init(&r, "");
    const char *me = addr_text(&r, &a, 0);
    answers(&r, "", "xvm.getHeight", "{}", "\"height\":\"0\"");
    answers(&r, "", "avm.getHeight", "{}", "\"height\":\"0\"");
    answers(&r, "", "xvm.getBlock", "{}",
            "couldn't get block with id 11111111111111111111111111111111LpoYY: not found");
    answers(&r, "", "xvm.getTx", cd_arena_fmt(&a, "{\"txID\":\"%s\"}", "x"), "couldn't unmarshal an argument");
    answers(&r, "", "xvm.getUTXOs", "{\"addresses\":[\"X-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28\"]}",
            "expected hrp \\\"local\\\" but got \\\"lux\\\"");
    answers(&r, "", "xvm.getUTXOs", "{\"addresses\":[\"Q-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28\"]}",
            "there is no ID with alias Q");
    answers(&r, "", "xvm.getUTXOs", cd_arena_fmt(&a, "{\"addresses\":[\"%s\"],\"sourceChain\":\"?\"}", me),
            "problem parsing source chainID \\\"?\\\": there is no ID with alias ?");
    answers(&r, "", "xvm.getUTXOs",
            cd_arena_fmt(&a, "{\"addresses\":[\"%s\"],\"startIndex\":{\"address\":\"%s\",\"utxo\":\"?\"}}", me, me),
            "couldn't parse start index utxo: ");
    answers(&r, "", "xvm.getUTXOs", cd_arena_fmt(&a, "{\"addresses\":[\"%s\"],\"encoding\":\"json\"}", me),
            "unsupported encoding");
    answers(&r, "", "xvm.getUTXOs", cd_arena_fmt(&a, "{\"addresses\":[\"%s\"],\"sourceChain\":\"P\"}", me),
            "\"numFetched\":\"0\"");
    answers(&r, "", "xvm.getUTXOs", cd_arena_fmt(&a, "{\"addresses\":[\"%s\"],\"sourceChain\":\"C\"}", me),
            "\"numFetched\":\"0\"");
    answers(&r, "", "xvm.getAddressTxs", cd_arena_fmt(&a, "{\"address\":\"%s\",\"pageSize\":1025}", me),
            "maximum allowed (1024)");
    answers(&r, "", "xvm.getAssetDescription", "{\"assetID\":\"COIN\"}", "\"name\":\"Coin\"");
    answers(&r, "", "xvm.send", "{\"username\":\"<me>\"}", "problem retrieving user \\\"\\u003cme\\u003e\\\"");
    answers(&r, "/wallet", "wallet.sendMultiple", "{}", "problem retrieving user");
    /* More addresses than are taken. */
    cd_buf many = {0};
    cd_buf_str(&many, "{\"addresses\":[");
    for (int i = 0; i < 1025; i++) {
        cd_buf_fmt(&many, "%s\"%s\"", i == 0 ? "" : ",", me);
    }
    cd_buf_str(&many, "]}");
    answers(&r, "", "xvm.getUTXOs", cd_buf_cstr(&many), "number of addresses given, 1025, exceeds maximum, 1024");
    cd_buf_fini(&many);
    cd_arena_fini(&a);
    rig_fini(&r);
}

/* The number behind a key, in an answer. */
static cd_bytes value_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    at += strlen(key);
    const char *end = strchr(at, '"');
    assert_non_null(end);
    return cd_bytes_of(at, (usize)(end - at));
}

/* All coins, page by page: as many as there are, and every page ends where the next begins. */
static void pages(void **state)
{
    (void)state;
    static xrig r;
    cd_arena a = {0};
    cd_buf out = {0};
    rig_init(&r, "");
    const char *me = addr_text(&r, &a, 0);
    const char *start = "";
    u32 total = 0;
    u32 got;
    do {
        const char *text = ask(&r, &out, "", "xvm.getUTXOs",
                               cd_arena_fmt(&a, "{\"addresses\":[\"%s\"],\"limit\":\"10\"%s}", me, start));
        cd_bytes cnt = value_of(text, "\"numFetched\":\"");
        got = 0;
        for (usize i = 0; i < cnt.n; i++) {
            got = got * 10 + (u32)(cnt.p[i] - '0');
        }
        assert_true(got <= 10);
        total += got;
        cd_bytes utxo = value_of(text, "\"utxo\":\"");
        start = cd_arena_fmt(&a, ",\"startIndex\":{\"address\":\"%s\",\"utxo\":\"%.*s\"}", me, (int)utxo.n,
                             (const char *)utxo.p);
    } while (got == 10);
    assert_int_equal(total, RIG_COINS + 1);
    cd_buf_fini(&out);
    cd_arena_fini(&a);
    rig_fini(&r);
}

static const char *tx_param(const cd_buf *tx, cd_arena *a)
{
    cd_buf hex = {0};
    cd_encoding_put(&hex, CD_ENCODING_HEX, cd_buf_bytes(tx));
    char *text = cd_arena_fmt(a, "{\"tx\":\"%s\"}", cd_buf_cstr(&hex));
    cd_buf_fini(&hex);
    return text;
}

/* A transaction that spends what another makes that waits: the wallet takes it, issueTx does not. Both come into one
 * block, and are listed for the addresses they touch. */
static void chained_and_listed(void **state)
{
    (void)state;
    static xrig r;
    cd_arena a = {0};
    cd_buf first = {0};
    cd_buf second = {0};
    rig_transfer t;
    cd_xvm_tx read;
    rig_init(&r, "{\"index-transactions\":true}");
    rig_coin(&r, &first, 0, 0);
    assert_int_equal(cd_xvm_tx_parse(&read, &a, cd_buf_bytes(&first), NULL), CD_OK);
    rig_transfer_init(&r, &t, &read.id, 0, RIG_COIN - RIG_FEE, RIG_FEE, 1);
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &t.base}};
    rig_sign(&r, &second, &tx, NULL, 1, 0);
    answers(&r, "", "xvm.issueTx", tx_param(&first, &a), "\"txID\"");
    answers(&r, "", "xvm.issueTx", tx_param(&first, &a), "\"txID\""); /* again is no error */
    answers(&r, "", "xvm.issueTx", tx_param(&second, &a), "not found");
    answers(&r, "/wallet", "wallet.issueTx", tx_param(&second, &a), "\"txID\"");
    assert_int_equal(rig_step(&r), CD_OK);
    answers(&r, "", "xvm.getHeight", "{}", "\"height\":\"1\"");
    const char *me = addr_text(&r, &a, 0);
    const char *other = addr_text(&r, &a, 1);
    answers(&r, "", "xvm.getAddressTxs", cd_arena_fmt(&a, "{\"address\":\"%s\",\"assetID\":\"COIN\"}", me),
            "\"cursor\":\"2\"");
    answers(&r, "", "xvm.getAddressTxs", cd_arena_fmt(&a, "{\"address\":\"%s\",\"assetID\":\"COIN\"}", other),
            "\"cursor\":\"1\"");
    answers(&r, "", "xvm.getAddressTxs",
            cd_arena_fmt(&a, "{\"address\":\"%s\",\"assetID\":\"COIN\",\"cursor\":1,\"pageSize\":\"1\"}", me),
            "\"cursor\":\"2\"");
    answers(&r, "", "xvm.getBalance", cd_arena_fmt(&a, "{\"address\":\"%s\",\"assetID\":\"COIN\"}", other),
            "\"balance\":\"999998000000\"");
    cd_buf_fini(&first);
    cd_buf_fini(&second);
    cd_arena_fini(&a);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(pages),
        cmocka_unit_test(chained_and_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
