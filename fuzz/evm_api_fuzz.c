/* A method of a chain's JSON-RPC, a space, its parameters as JSON: whatever they are, there is an answer. The chain
 * is a small one of the development network, the same before every call. Methods that write files are left out. */
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "codec/json.h"
#include "consensus/test/seat.h"
#include "rpc/jsonrpc.h"
#include "store/kv.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { CHAIN_ID = 1337, START = 1700000000 };

typedef struct method {
    const char *name;
    const char *lane;
} method;

static const method methods[] = {
#define X(group_, name_, fn_, lane_, ...) {#name_, #lane_},
#include "chains/evmchain/rpc/methods.def"
#undef X
};

static const cd_rpc_service *service;

static const method *method_named(cd_bytes name)
{
    for (usize i = 0; i < CD_COUNT(methods); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(methods[i].name))) {
            return strncmp(methods[i].name, "admin_", 6) == 0 ? NULL : &methods[i];
        }
    }
    return NULL;
}

static void ask(cd_buf *reply, const char *name, cd_bytes params)
{
    cd_buf body = {0};
    cd_buf_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":", name);
    cd_buf_put(&body, params);
    cd_buf_u8(&body, '}');
    cd_buf_clear(reply);
    cd_rpc_serve(service, reply, cd_buf_bytes(&body));
    cd_buf_fini(&body);
}

/* An answer of the kind that every call gets: a result or an error. */
static void check(cd_bytes reply)
{
    cd_arena a = {0};
    cd_json doc;
    CD_ASSERT(cd_json_parse(&doc, &a, reply, 0, NULL) == CD_OK);
    bool has_result = cd_json_kind_of(cd_json_get(doc, "result")) != CD_JSON_NONE;
    bool has_error = cd_json_kind_of(cd_json_get(doc, "error")) == CD_JSON_OBJ;
    CD_ASSERT(has_result != has_error);
    cd_arena_fini(&a);
}

static void must(const char *name, const char *params)
{
    cd_buf reply = {0};
    ask(&reply, name, cd_bytes_str(params));
    if (strstr(cd_buf_cstr(&reply), "\"error\"") != NULL) {
        (void)fprintf(stderr, "%s: %s\n", name, cd_buf_cstr(&reply));
        abort();
    }
    cd_buf_fini(&reply);
}

/* A contract that keeps its caller's word in slot 0, logs it and gives it back; two calls of it, a payment. */
static void make_chain(void)
{
    static seat s;
    cd_kv *kv = cd_kv_mem_open();
    static const char deploy[] = "[{\"from\":\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\",\"gas\":\"0x30000\","
                                 "\"data\":\"0x6014600a5f3960145ff35f355f555f355f525f3560205fa160205ff300000000\"}]";
    static const char call[] = "[{\"from\":\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\",\"gas\":\"0x30000\",\"to\":"
                               "\"0x5fbdb2315678afecb367f032d93f642f64180aa3\",\"data\":"
                               "\"0x0000000000000000000000000000000000000000000000000000000000000007\"}]";
    static const char pay[] = "[{\"from\":\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\",\"gas\":\"0x5208\",\"to\":"
                              "\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\",\"value\":\"0x5\"}]";
    static const char config[] =
        "{\"rpc-gas-cap\":100000,\"eth-apis\":[\"eth\",\"eth-filter\",\"net\",\"web3\",\"internal-"
        "eth\","
        "\"internal-blockchain\",\"internal-transaction\",\"internal-account\",\"internal-tx-"
        "pool\","
        "\"internal-debug\",\"debug\",\"debug-tracer\",\"debug-handler\"]}";
    static cd_buf genesis;
    cd_vm *vm;
    usize cnt;
    cd_errinfo why = {0};
    CD_ASSERT(cd_dev_genesis(&genesis, CHAIN_ID, START) == CD_OK);
    cd_vm_ctx ctx = {
        .kv = kv,
        .host = &s.host,
        .clock = cd_clock_real(),
        .name = "C",
        .genesis = cd_buf_bytes(&genesis),
        .config = cd_bytes_str(config),
        .network_id = CHAIN_ID,
        .is_dev = true,
    };
    seat_init(&s, kv);
    if (cd_evm_vm_open(&vm, &ctx, &why) != CD_OK || seat_start(&s, vm, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        abort();
    }
    service = vm->ops->handlers(vm, &cnt)->service;
    must("eth_sendTransaction", deploy);
    must("eth_sendTransaction", call);
    must("eth_sendTransaction", call);
    must("eth_sendTransaction", pay);
    must("evm_snapshot", "[]");
}

/* The chain and the pool as they were. */
static void undo(void)
{
    static u32 snapshot = 1;
    char params[32];
    (void)snprintf(params, sizeof params, "[\"0x%x\"]", snapshot++);
    must("evm_revert", params);
    must("evm_snapshot", "[]");
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    const u8 *space = memchr(data, ' ', size);
    if (service == NULL) {
        make_chain();
    }
    usize n = space == NULL ? size : (usize)(space - data);
    const method *m = method_named(cd_bytes_of(data, n));
    cd_bytes params = cd_bytes_sub(cd_bytes_of(data, size), n, size - n);
    cd_arena a = {0};
    cd_json doc;
    /* What is no JSON would be the request's fault, and could name another method. */
    if (m != NULL && cd_json_parse(&doc, &a, params, 0, NULL) == CD_OK) {
        cd_buf reply = {0};
        ask(&reply, m->name, params);
        check(cd_buf_bytes(&reply));
        cd_buf_fini(&reply);
        if (strncmp(m->lane, "OWNER", 5) == 0) {
            undo();
        }
    }
    cd_arena_fini(&a);
    return 0;
}
