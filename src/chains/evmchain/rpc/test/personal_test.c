/* Accounts of the node: what personal_ and eth_ methods do with files of the keystore. [spec:eth-rpc#4] */
#include "base/hex.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "codec/json.h"
#include "consensus/test/seat.h"
#include "rpc/jsonrpc.h"
#include "store/kv.h"
#include "wallet/hd.h"
#include "wallet/keystore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHAIN_ID = 1337, START = 1700000000 };

/* The first account of the genesis, whose file the tests put into the keystore at next to no cost. */
#define RICH  "\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\""
#define OTHER "\"0x1111111111111111111111111111111111111111\""

typedef struct node {
    cd_vm *vm;
    cd_kv *kv;
    cd_buf genesis;
    seat seat;
    const cd_rpc_service *rpc;
    cd_arena mem;
    char dir[64];
} node;

static node n;

static const char *at(const char *name)
{
    return cd_arena_fmt(&n.mem, "%s/%s", n.dir, name);
}

static void put_rich_key(void)
{
    u8 seed[64];
    u8 secret[32];
    cd_buf file = {0};
    cd_rng rng = cd_rng_seeded(1);
    const cd_scrypt_cost tiny = {.n = 2, .r = 1, .p = 1};
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    assert_int_equal(cd_hd_account(secret, seed, 0), CD_OK);
    assert_int_equal(cd_keyfile_enc(&file, secret, cd_bytes_str("pw"), &tiny, &rng), CD_OK);
    assert_int_equal(cd_fs_mkdirs(cd_fs_real(), at("keystore"), 0700, NULL), CD_OK);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), at("keystore/UTC--a"), cd_buf_bytes(&file), 0600, NULL), CD_OK);
    cd_buf_fini(&file);
}

static void open_node(const char *config, u32 network_id, bool is_dev)
{
    cd_errinfo why = {0};
    usize cnt;
    n = (node){.kv = cd_kv_mem_open()};
    (void)snprintf(n.dir, sizeof n.dir, "/tmp/candela-personal-XXXXXX");
    assert_non_null(mkdtemp(n.dir));
    put_rich_key();
    seat_init(&n.seat, n.kv);
    assert_int_equal(cd_dev_genesis(&n.genesis, CHAIN_ID, START), CD_OK);
    cd_vm_ctx ctx = {
        .kv = n.kv,
        .host = &n.seat.host,
        .clock = cd_clock_real(),
        .name = "C",
        .genesis = cd_buf_bytes(&n.genesis),
        .network_id = network_id,
        .is_dev = is_dev,
        .dir = n.dir,
        .config = cd_bytes_str(config),
    };
    if (cd_evm_vm_open(&n.vm, &ctx, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(seat_start(&n.seat, n.vm, &why), CD_OK);
    n.rpc = n.vm->ops->handlers(n.vm, &cnt)[0].service;
}

static void close_node(void)
{
    seat_fini(&n.seat);
    n.vm->ops->close(n.vm);
    cd_kv_close(n.kv);
    cd_buf_fini(&n.genesis);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), n.dir, NULL), CD_OK);
    cd_arena_fini(&n.mem);
}

static const char *send_text(const char *request)
{
    cd_buf reply = {0};
    cd_rpc_serve(n.rpc, &reply, cd_bytes_str(request));
    char *text = cd_arena_str(&n.mem, cd_buf_bytes(&reply));
    cd_buf_fini(&reply);
    return text;
}

static const char *ask(const char *method, const char *params)
{
    return send_text(
        cd_arena_fmt(&n.mem, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params));
}

static void expect(const char *method, const char *params, const char *words)
{
    const char *got = ask(method, params);
    if (strstr(got, words) == NULL) {
        fail_msg("%s %s: %s, without %s", method, params, got, words);
    }
}

#define ON                                                                                                             \
    "{\"eth-apis\":[\"eth\",\"internal-blockchain\",\"internal-transaction\","                                         \
    "\"internal-account\",\"internal-tx-pool\",\"personal\"]"

static void accounts_are_files(void **state)
{
    (void)state;
    open_node(ON "}", 9, false);
    expect("eth_accounts", "[]", "\"result\":[" RICH "]");
    expect("personal_listAccounts", "[]", "\"result\":[" RICH "]");
    expect("personal_listWallets", "[]",
           cd_arena_fmt(&n.mem,
                        "\"result\":[{\"url\":\"keystore://%s/keystore/UTC--a\",\"status\":"
                        "\"Locked\",\"accounts\":[{\"address\":" RICH ",\"url\":\"keystore://%s/keystore/UTC--a\"}]}]",
                        n.dir, n.dir));
    const char *url = cd_arena_fmt(&n.mem, "\"keystore://%s/keystore/UTC--a\"", n.dir);
    expect("personal_openWallet", cd_arena_fmt(&n.mem, "[%s]", url), "\"result\":null");
    expect("personal_openWallet", "[\"keystore:///nowhere\"]", "unknown wallet");
    expect("personal_deriveAccount", cd_arena_fmt(&n.mem, "[%s,\"m/0\"]", url), "not supported");
    expect("personal_initializeWallet", cd_arena_fmt(&n.mem, "[%s]", url), "not support init");
    expect("personal_unpair", cd_arena_fmt(&n.mem, "[%s,\"1\"]", url), "not support pairing");
    expect("personal_importRawKey", "[\"0x12\",\"pw\"]", "invalid length, need 256 bits");
    expect("personal_importRawKey", "[\"zz\",\"pw\"]", "invalid hex character");
    expect("personal_importRawKey", "[1,\"pw\"]", "-32602");
    expect("personal_importRawKey", "[\"0000000000000000000000000000000000000000000000000000000000000000\",\"\"]",
           "not a private key");
    expect("personal_importRawKey", "[\"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80\",\"pw\"]",
           "account already exists");
    expect("personal_newAccount", "[\"pw2\"]", "\"result\":\"0x");
    const char *all = ask("eth_accounts", "[]");
    assert_true(strlen(all) > 120); /* two of them */
    close_node();
}

static void unlocking_is_forbidden_unless_allowed(void **state)
{
    (void)state;
    open_node(ON "}", 9, false);
    expect("personal_unlockAccount", "[" RICH ",\"pw\"]", "account unlock with HTTP access is forb");
    expect("eth_sign", "[" RICH ",\"0x00\"]", "authentication needed: password or unlock");
    expect("eth_sign", "[" OTHER ",\"0x00\"]", "unknown account");
    close_node();

    open_node(ON ",\"keystore-insecure-unlock-allowed\":true}", 9, false);
    expect("personal_unlockAccount", "[" RICH ",\"bad\"]", "could not decrypt key with given password");
    expect("personal_unlockAccount", "[" OTHER ",\"pw\"]", "no key for given address or file");
    expect("personal_unlockAccount", "[" RICH ",\"pw\",9223372037]", "unlock duration too large");
    expect("personal_unlockAccount", "[" RICH ",\"pw\",\"x\"]", "-32602");
    expect("eth_sign", "[" RICH ",\"0x00\"]", "authentication needed");
    expect("personal_unlockAccount", "[" RICH ",\"pw\",0]", "\"result\":true");
    expect("personal_listWallets", "[]", "\"status\":\"Unlocked\"");
    expect("eth_sign", "[" RICH ",\"0x00\"]", "\"result\":\"0x");
    assert_true(n.vm->ops->wake(n.vm) == UINT64_MAX);
    expect("personal_lockAccount", "[" RICH "]", "\"result\":true");
    expect("eth_sign", "[" RICH ",\"0x00\"]", "authentication needed");
    expect("personal_unlockAccount", "[" RICH ",\"pw\",null]", "\"result\":true");
    assert_true(n.vm->ops->wake(n.vm) != UINT64_MAX); /* somebody comes to wipe it */
    close_node();
}

/* What was signed is what ecRecover finds; all ways give the same signature. */
static void signatures(void **state)
{
    (void)state;
    static const char typed[] =
        "{\"types\":{\"EIP712Domain\":[{\"name\":\"name\",\"type\":\"string\"}],\"M\":[{\"name\":"
        "\"x\",\"type\":\"uint256\"}]},\"primaryType\":\"M\",\"domain\":{\"name\":\"d\"},"
        "\"message\":{\"x\":\"1\"}}";
    open_node(ON ",\"keystore-insecure-unlock-allowed\":true}", 9, false);
    const char *mine = ask("personal_sign", "[\"0x616263\"," RICH ",\"pw\"]");
    expect("personal_sign", "[\"0x616263\"," RICH ",\"bad\"]", "could not decrypt key");
    expect("personal_sign", "[\"0x616263\"," RICH "]", "authentication needed");
    expect("personal_sign", "[\"0x616263\"," OTHER ",\"pw\"]", "unknown account");
    expect("eth_signTypedData_v4", cd_arena_fmt(&n.mem, "[" RICH ",%s]", typed), "authentication");
    expect("personal_unlockAccount", "[" RICH ",\"pw\"]", "true");
    assert_string_equal(ask("eth_sign", "[" RICH ",\"0x616263\"]"), mine);
    assert_string_equal(ask("personal_sign", "[\"0x616263\"," RICH "]"), mine);
    expect("eth_signTypedData_v4", cd_arena_fmt(&n.mem, "[" RICH ",%s]", typed), "\"result\":\"0x");
    const char *sig = strstr(mine, "\"0x");
    assert_non_null(sig);
    expect("personal_ecRecover", cd_arena_fmt(&n.mem, "[\"0x616263\",%.134s]", sig), "\"result\":" RICH);
    expect("personal_ecRecover", "[\"0x616263\",\"0x00\"]", "signature must be 65 bytes long");
    expect("personal_ecRecover", cd_arena_fmt(&n.mem, "[\"0x616263\",\"0x%0128d00\"]", 0), "V is not 27 or 28");
    expect("personal_ecRecover", cd_arena_fmt(&n.mem, "[\"0x616263\",\"0x%0128d1b\"]", 0), "recovery failed");
    close_node();
}

static void transactions(void **state)
{
    (void)state;
    open_node(ON ",\"keystore-insecure-unlock-allowed\":true}", 9, false);
    static const char tx[] = "{\"from\":" RICH ",\"to\":" OTHER ",\"value\":\"0x1\"}";
    static const char whole[] = "{\"from\":" RICH ",\"to\":" OTHER ",\"gas\":\"0x5208\",\"nonce\":"
                                "\"0x5\",\"gasPrice\":\"0x77359400\"}";
    expect("personal_sendTransaction", cd_arena_fmt(&n.mem, "[%s,\"bad\"]", tx), "could not decr");
    expect("personal_sendTransaction", "[{\"from\":" OTHER "},\"pw\"]", "contract creation");
    expect("personal_sendTransaction", "[{\"from\":" OTHER ",\"to\":" OTHER "},\"pw\"]", "unknown account");
    expect("personal_sendTransaction", cd_arena_fmt(&n.mem, "[%s,\"pw\"]", tx), "\"result\":\"0x");
    expect("txpool_status", "[]", "\"pending\":\"0x1\"");
    expect("eth_sendTransaction", cd_arena_fmt(&n.mem, "[%s]", tx), "authentication needed");
    expect("personal_unlockAccount", "[" RICH ",\"pw\"]", "true");
    expect("eth_sendTransaction", cd_arena_fmt(&n.mem, "[%s]", tx), "\"result\":\"0x");
    expect("txpool_status", "[]", "\"pending\":\"0x2\"");
    expect("eth_pendingTransactions", "[]", "\"nonce\":\"0x1\"");
    expect("personal_signTransaction", cd_arena_fmt(&n.mem, "[%s,\"pw\"]", tx), "gas not specified");
    const char *mine = ask("personal_signTransaction", cd_arena_fmt(&n.mem, "[%s,\"pw\"]", whole));
    assert_non_null(strstr(mine, "\"raw\":\"0x"));
    assert_string_equal(ask("eth_signTransaction", cd_arena_fmt(&n.mem, "[%s]", whole)), mine);
    close_node();
}

/* A password is never checked on the thread that owns the chain. */
static void batches(void **state)
{
    (void)state;
    open_node(ON ",\"keystore-insecure-unlock-allowed\":true}", 9, false);
    static const char unlock[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"personal_unlockAccount\",\"params\":[" RICH ",\"pw\"]}";
    static const char accounts[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"eth_accounts\",\"params\":[]}";
    static const char send[] = "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"eth_"
                               "sendRawTransaction\",\"params\":[\"0x00\"]}";
    assert_non_null(strstr(send_text(cd_arena_fmt(&n.mem, "[%s,%s]", unlock, accounts)), "\"result\":true"));
    const char *both = send_text(cd_arena_fmt(&n.mem, "[%s,%s,%s]", send, unlock, send));
    assert_non_null(strstr(both, "\"id\":1,\"result\":true"));
    assert_non_null(strstr(both, "\"id\":3,\"error\""));
    close_node();
}

static void known_keys_are_no_keys(void **state)
{
    (void)state;
    open_node(ON "}", 1, false);
    expect("personal_importRawKey", "[\"59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d\",\"pw\"]",
           "refusing to use a publicly known key on network ");
    expect("personal_importRawKey", "[\"56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027\",\"pw\"]",
           "refusing to use a publicly known key on network ");
    close_node();
}

/* Without the group there is nothing; without a directory there is no keystore; the development network's own keys sign
 * without a password, or with any. */
static void other_ways_to_run(void **state)
{
    (void)state;
    cd_errinfo why = {0};
    cd_vm *vm;
    open_node("{}", 9, false);
    expect("personal_listAccounts", "[]", "-32601");
    expect("personal_sign", "[\"0x00\"," RICH "]", "-32601");
    expect("eth_sign", "[" RICH ",\"0x00\"]", "unknown account");
    close_node();

    open_node(ON "}", 1337, true);
    expect("eth_accounts", "[]", RICH);
    expect("personal_sign", "[\"0x00\"," RICH "]", "\"result\":\"0x");
    expect("personal_sign", "[\"0x00\"," RICH ",\"\"]", "\"result\":\"0x");
    close_node();

    n = (node){.kv = cd_kv_mem_open()};
    seat_init(&n.seat, n.kv);
    assert_int_equal(cd_dev_genesis(&n.genesis, CHAIN_ID, START), CD_OK);
    cd_vm_ctx ctx = {
        .kv = n.kv,
        .host = &n.seat.host,
        .clock = cd_clock_real(),
        .name = "C",
        .genesis = cd_buf_bytes(&n.genesis),
    };
    ctx.config = cd_bytes_str("{\"keystore-external-signer\":\"http://127.0.0.1:1\"}");
    assert_int_equal(cd_evm_vm_open(&vm, &ctx, &why), CD_EUNSUPPORTED);
    assert_non_null(strstr(why.msg, "keystore-external-signer: "));
    ctx.config = cd_bytes_str(ON "}");
    assert_int_equal(cd_evm_vm_open(&n.vm, &ctx, &why), CD_OK);
    assert_int_equal(seat_start(&n.seat, n.vm, &why), CD_OK);
    usize cnt;
    n.rpc = n.vm->ops->handlers(n.vm, &cnt)[0].service;
    expect("personal_listAccounts", "[]", "\"result\":[]");
    expect("personal_newAccount", "[\"pw\"]", "no keystore: set \\\"keystore-directory\\\"");
    seat_fini(&n.seat);
    n.vm->ops->close(n.vm);
    cd_kv_close(n.kv);
    cd_buf_fini(&n.genesis);
    cd_arena_fini(&n.mem);
}

static void prices_and_heights(void **state)
{
    (void)state;
    open_node("{}", 9, false);
    expect("eth_suggestPriceOptions", "[]",
           "\"result\":{\"slow\":{\"maxPriorityFeePerGas\":\"0x1\",\"maxFeePerGas\":\"0x");
    expect("eth_getBlockByNumber", "[\"0x5\",false]", "cannot query unfinalized data");
    close_node();
    open_node("{\"allow-unfinalized-queries\":true,\"tx-pool-price-limit\":5,"
              "\"price-options-max-tip\":7}",
              9, false);
    expect("eth_suggestPriceOptions", "[]", "\"fast\":{\"maxPriorityFeePerGas\":\"0x5\"");
    expect("eth_getBlockByNumber", "[\"0x5\",false]", "\"result\":null");
    expect("eth_getBlockByNumber", "[\"0x0\",false]", "\"number\":\"0x0\"");
    close_node();
    open_node("{\"price-options-max-tip\":1000000,\"price-options-fast-fee-percentage\":300}", 1337, true);
    expect("eth_suggestPriceOptions", "[]", "\"fast\":{\"maxPriorityFeePerGas\":\"0xf4240\"");
    close_node();
}

/* A height that there is not, after one that there is: what lies about from the latter is not an answer. */
static void heights_that_there_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        const char *params;
        const char *answer;
    } rows[] = {
        {"eth_getBlockByNumber", "[\"%s\",false]", "\"result\":null"},
        {"eth_getBlockByNumber", "[\"%s\",true]", "\"result\":null"},
        {"eth_getHeaderByNumber", "[\"%s\"]", "\"result\":null"},
        {"eth_getBlockReceipts", "[\"%s\"]", "\"result\":null"},
        {"eth_getBlockTransactionCountByNumber", "[\"%s\"]", "\"result\":null"},
        {"eth_getTransactionByBlockNumberAndIndex", "[\"%s\",\"0x0\"]", "\"result\":null"},
        {"eth_getBalance", "[\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\",\"%s\"]", "header not found"},
        {"debug_getAccessibleState", "[\"%s\",\"0x0\"]", "header not found"},
        {"debug_getAccessibleState", "[\"0x0\",\"%s\"]", "header not found"},
    };
    open_node("{\"allow-unfinalized-queries\":true,\"eth-apis\":[\"eth\",\"internal-eth\",\"internal-blockchain\","
              "\"internal-transaction\",\"debug\"]}",
              9, false);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        char there[120];
        char missing[120];
        (void)snprintf(there, sizeof there, "%.*s0x0%s", (int)(strchr(rows[i].params, '%') - rows[i].params),
                       rows[i].params, strchr(rows[i].params, '%') + 2);
        (void)snprintf(missing, sizeof missing, "%.*s0x5%s", (int)(strchr(rows[i].params, '%') - rows[i].params),
                       rows[i].params, strchr(rows[i].params, '%') + 2);
        (void)ask(rows[i].method, there);
        expect(rows[i].method, missing, rows[i].answer);
    }
    close_node();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_are_files),
        cmocka_unit_test(unlocking_is_forbidden_unless_allowed),
        cmocka_unit_test(signatures),
        cmocka_unit_test(transactions),
        cmocka_unit_test(batches),
        cmocka_unit_test(known_keys_are_no_keys),
        cmocka_unit_test(other_ways_to_run),
        cmocka_unit_test(prices_and_heights),
        cmocka_unit_test(heights_that_there_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
