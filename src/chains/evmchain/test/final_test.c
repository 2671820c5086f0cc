/* "safe" and "finalized": they follow the certificates that the chain's own node tells, never go back, and nobody else
 * moves them. */
#include "chains/evmchain/test/rpc_node.h"
#include "codec/json.h"
#include "finality/messages.h"
#include "p2p/sdk.h"

#include <stdio.h>

static const cd_node_id own; /* the node of the tests has the zero ID, as its chain has */
static const cd_node_id peer = {.b = {7}};

static cd_json ask(rpc_node *n, const char *body)
{
    cd_buf reply = {0};
    cd_json doc;
    cd_rpc_serve(n->rpc, &reply, cd_bytes_str(body));
    assert_int_equal(cd_json_parse(&doc, &n->arena, cd_arena_dup(&n->arena, cd_buf_bytes(&reply)), 0, NULL), CD_OK);
    cd_buf_fini(&reply);
    return doc;
}

static u64 height_of(rpc_node *n, const char *tag)
{
    char body[160];
    u64 height;
    (void)snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBlockByNumber\",\"params\":[\"%s\",false]}", tag);
    cd_json block = cd_json_get(ask(n, body), "result");
    assert_int_equal(cd_json_qty_u64(&height, cd_json_get(block, "number"), NULL), CD_OK);
    return height;
}

static void expect(rpc_node *n, u64 height)
{
    assert_int_equal(height_of(n, "safe"), height);
    assert_int_equal(height_of(n, "finalized"), height);
}

static void mine(rpc_node *n, u32 cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        (void)ask(n, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"evm_mine\",\"params\":[]}");
    }
}

/* What a certificate says; what is zero is as it should be. */
typedef struct saying {
    u64 height;
    cd_fin_type type;
    u64 handler;
    cd_fin_kind kind;
    bool is_of_other_chain;
    bool is_of_other_block;
    usize cut; /* bytes that are missing at the end */
} saying;

static void say(rpc_node *n, const cd_node_id *from, const saying *s)
{
    static u8 stamp[CD_FIN_MLDSA_BYTES];
    static const u8 bls[CD_BLS_SIG_LEN];
    static const u8 bits[1] = {1};
    cd_buf cert_bytes = {0};
    cd_buf body = {0};
    cd_buf message = {0};
    cd_fin_cert cert = {
        .type = s->type, .total = 3, .signed_by = 3, .bits = cd_bytes_of(bits, 1), .bls = cd_bytes_of(bls, sizeof bls)};
    cert.mldsa = s->type == CD_FIN_MLDSA ? cd_bytes_of(stamp, sizeof stamp) : (cd_bytes){0};
    cert.chain.b[0] = s->is_of_other_chain ? 1 : 0;
    assert_int_equal(n->vm->ops->id_at_height(n->vm, &cert.msg.block, s->height), CD_OK);
    cert.msg.block.b[31] ^= s->is_of_other_block ? 1 : 0;
    cd_fin_cert_put(&cert_bytes, &cert);
    const cd_fin_says says = {.kind = s->kind != 0 ? s->kind : CD_FIN_SAYS_CERT,
                              .chain = cert.chain,
                              .msg = cert.msg,
                              .bytes = cd_buf_bytes(&cert_bytes)};
    cd_fin_says_put(&body, &says);
    cd_p2p_app_put(&message, s->handler != 0 ? s->handler : CD_FIN_HANDLER, cd_buf_bytes(&body));
    n->vm->ops->app->gossip(n->vm, from, cd_bytes_of(message.p, message.n - s->cut));
    cd_buf_fini(&message);
    cd_buf_fini(&body);
    cd_buf_fini(&cert_bytes);
}

/* A host that never tells anything: every accepted block counts as final, until it tells the first. */
static void nobody_tells(void **state)
{
    (void)state;
    rpc_node n;
    rpc_node_has_finality = false;
    rpc_node_open(&n, true, NULL);
    expect(&n, 0);
    mine(&n, 5);
    expect(&n, 5);
    say(&n, &own, &(saying){.height = 2, .type = CD_FIN_MLDSA});
    expect(&n, 2);
    rpc_node_close(&n);
}

static void as_the_node_tells(void **state)
{
    (void)state;
    rpc_node n;
    rpc_node_has_finality = true;
    rpc_node_open(&n, true, NULL);
    mine(&n, 5);
    expect(&n, 0);
    say(&n, &own, &(saying){.height = 3, .type = CD_FIN_MLDSA});
    expect(&n, 3);
    say(&n, &own, &(saying){.height = 2, .type = CD_FIN_MLDSA}); /* late */
    expect(&n, 3);
    say(&n, &own, &(saying){.height = 5, .type = CD_FIN_MLDSA});
    expect(&n, 5);
    mine(&n, 2);
    expect(&n, 5);
    assert_int_equal(height_of(&n, "latest"), 7);
    /* every method that takes a block */
    const char *traced = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"debug_traceBlockByNumber\",\"params\":[\"safe\"]}";
    assert_true(cd_json_kind_of(cd_json_get(ask(&n, traced), "result")) == CD_JSON_ARR);
    rpc_node_close(&n);
}

static void whom_nobody_believes(void **state)
{
    (void)state;
    static const saying rows[] = {
        {.height = 4, .type = CD_FIN_BLS},
        {.height = 4, .type = CD_FIN_MLDSA, .is_of_other_chain = true},
        {.height = 4, .type = CD_FIN_MLDSA, .is_of_other_block = true},
        {.height = 4, .type = CD_FIN_MLDSA, .cut = 1},
        {.height = 4, .type = CD_FIN_MLDSA, .cut = 3400},
        {.height = 4, .type = CD_FIN_MLDSA, .handler = CD_FIN_HANDLER + 1},
        {.height = 4, .type = CD_FIN_MLDSA, .kind = CD_FIN_SAYS_WANTED},
    };
    rpc_node n;
    rpc_node_has_finality = true;
    rpc_node_open(&n, true, NULL);
    mine(&n, 5);
    say(&n, &peer, &(saying){.height = 4, .type = CD_FIN_MLDSA}); /* it is true, but not its to say */
    expect(&n, 0);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        say(&n, &own, &rows[i]);
        say(&n, &peer, &rows[i]);
        expect(&n, 0);
    }
    rpc_node_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_tells),
        cmocka_unit_test(as_the_node_tells),
        cmocka_unit_test(whom_nobody_believes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
