/* An EVM chain behind its methods, without a node: what tests of answers share. Test code: included by one file
 * each. */
#ifndef CD_CHAINS_EVMCHAIN_TEST_RPC_NODE_H
#define CD_CHAINS_EVMCHAIN_TEST_RPC_NODE_H

#include "base/log/log.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "consensus/test/seat.h"
#include "rpc/jsonrpc.h"
#include "store/kv.h"
#include "vm/vm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000 };

/* Two of the funded accounts of the development network, without quotes. */
#define ALICE "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
#define BOB   "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

typedef struct rpc_node {
    cd_vm *vm;
    cd_kv *kv;
    cd_buf genesis;
    seat seat;
    cd_logger *log;
    const cd_rpc_service *rpc;
    cd_arena arena; /* of the answers */
} rpc_node;

/* The node that is opened next is told which blocks are final. */
__attribute__((unused)) static bool rpc_node_has_finality;

/* dir NULL: there is no data directory; loop NULL: there are no sessions; clock gives the times of blocks. */
static void rpc_node_open_at(rpc_node *n, bool is_dev, const char *dir, struct cd_loop *loop, const cd_clock *clock)
{
    cd_errinfo why = {0};
    usize cnt;
    *n = (rpc_node){.kv = cd_kv_mem_open()};
    seat_init(&n->seat, n->kv);
    assert_int_equal(cd_dev_genesis(&n->genesis, CHAIN_ID, START), CD_OK);
    assert_int_equal(cd_log_open(&n->log, &(cd_log_cfg){.fd = STDERR_FILENO, .level = CD_LOG_OFF}, &why), CD_OK);
    cd_vm_ctx ctx = {
        .log = n->log,
        .kv = n->kv,
        .host = &n->seat.host,
        .clock = clock,
        .name = "C",
        .genesis = cd_buf_bytes(&n->genesis),
        .has_finality = rpc_node_has_finality,
        .is_dev = is_dev,
        .dir = dir,
        .loop = loop,
        .config = cd_bytes_str("{\"eth-apis\":[\"eth\",\"eth-filter\",\"internal-eth\",\"internal-blockchain\","
                               "\"internal-transaction\",\"internal-debug\",\"debug\",\"debug-tracer\","
                               "\"debug-file-tracer\",\"admin\"],\"log-level\":\"error\"}"),
    };
    if (cd_evm_vm_open(&n->vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(seat_start(&n->seat, n->vm, &why), CD_OK);
    n->rpc = n->vm->ops->handlers(n->vm, &cnt)[0].service;
}

static void rpc_node_open_on(rpc_node *n, bool is_dev, const char *dir, struct cd_loop *loop)
{
    rpc_node_open_at(n, is_dev, dir, loop, cd_clock_real());
}

__attribute__((unused)) static void rpc_node_open(rpc_node *n, bool is_dev, const char *dir)
{
    rpc_node_open_on(n, is_dev, dir, NULL);
}

static void rpc_node_close(rpc_node *n)
{
    seat_fini(&n->seat);
    n->vm->ops->close(n->vm);
    cd_log_close(n->log);
    cd_kv_close(n->kv);
    cd_buf_fini(&n->genesis);
    cd_arena_fini(&n->arena);
}

/* The answer to a call. */
static cd_json rpc_node_ask(rpc_node *n, const char *method, const char *params)
{
    cd_buf reply = {0};
    cd_json doc;
    const char *request =
        cd_arena_fmt(&n->arena, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    cd_rpc_serve(n->rpc, &reply, cd_bytes_str(request));
    cd_bytes text = cd_arena_dup(&n->arena, cd_buf_bytes(&reply));
    cd_buf_fini(&reply);
    if (cd_json_parse(&doc, &n->arena, text, 0, NULL) != CD_OK) {
        fail_msg("%s answered with %.*s", request, (int)text.n, (const char *)text.p);
    }
    return doc;
}

/* A value as compact text. */
static const char *rpc_node_text(rpc_node *n, cd_json v)
{
    cd_buf text = {0};
    if (cd_json_kind_of(v) != CD_JSON_NONE) {
        cd_json_raw(&text, v);
    }
    const char *own = cd_arena_str(&n->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return own;
}

/* The result of a call that must succeed. */
__attribute__((unused)) static cd_json rpc_node_get(rpc_node *n, const char *method, const char *params)
{
    cd_json answer = rpc_node_ask(n, method, params);
    if (!cd_json_has(cd_json_get(answer, "result"))) {
        fail_msg("%s %s: %s", method, params, rpc_node_text(n, answer));
    }
    return cd_json_get(answer, "result");
}

/* A call that must fail with this code and these words. */
__attribute__((unused)) static void rpc_node_fails(rpc_node *n, const char *method, const char *params,
                                                   const char *code, const char *words)
{
    cd_json error = cd_json_get(rpc_node_ask(n, method, params), "error");
    const char *quoted = cd_arena_fmt(&n->arena, "\"%s\"", words);
    assert_string_equal(rpc_node_text(n, cd_json_get(error, "message")), quoted);
    assert_string_equal(rpc_node_text(n, cd_json_get(error, "code")), code);
}

/* A member that must be there, as text. */
__attribute__((unused)) static const char *rpc_node_member(rpc_node *n, cd_json v, const char *name)
{
    if (cd_json_kind_of(cd_json_get(v, name)) == CD_JSON_NONE) {
        fail_msg("no %s in %s", name, rpc_node_text(n, v));
    }
    return rpc_node_text(n, cd_json_get(v, name));
}

#endif
