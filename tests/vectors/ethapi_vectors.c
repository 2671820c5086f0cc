/* What the original's own tests say of blocks, headers and receipts (testdata/ethapi-samples): the same members in
 * the same order with values of the same kind, and null where it says null, for like blocks of a chain made here.
 * Values are not compared: they hang on keys that are not known. [spec:conformance#3] [spec:eth-rpc#4] */
#include "base/hex.h"
#include "chains/evmchain/dev/genesis.h"
#include "tests/vectors/evm_api.h"
#include "wallet/hd.h"

#include <string.h>

enum { CHAIN_ID = 1337, START = 1700000000, STEP = 10 };

static evm_api api;
static u8 key[32];

/* --- the chain --- */

/* A transaction in a block of its own; its hash in the arena. */
static const char *mine(vec *v, cd_tx tx, const char *code)
{
    cd_errinfo why = {0};
    cd_chain_block *b = NULL;
    cd_buf raw = {0};
    cd_chain *c = api.api.chain;
    u64 time = cd_chain_head(c)->header.time + STEP;
    tx.chain_id = CHAIN_ID;
    tx.is_protected = tx.type != CD_TX_LEGACY; /* as theirs */
    tx.nonce = cd_chain_head(c)->header.number;
    tx.gas_limit = 200000;
    tx.fee_cap = cd_u256_from_u64(1000000000000);
    tx.tip_cap = tx.type == CD_TX_DYNAMIC_FEE ? cd_u256_from_u64(1) : tx.fee_cap;
    bool ok = cd_hex_parse_prefixed(&tx.data, &v->arena, cd_bytes_str(code)) == CD_OK && cd_tx_sign(&tx, key) == CD_OK;
    cd_tx_enc(&raw, &tx);
    cd_clock_virtual_set_wall(&api.clock, time * CD_NS_PER_SEC);
    cd_hash32 hash = {.b = {0}};
    ok = ok && cd_txpool_add(api.api.pool, &hash, cd_buf_bytes(&raw), &why) == CD_OK &&
         cd_chain_build(c, &b, api.api.pool, time, &why) == CD_OK && cd_chain_accept(c, b, &why) == CD_OK;
    cd_chain_drop(c, b);
    ok = ok && cd_api_follow(&api.api) == CD_OK;
    vec_check(v, ok, "block %llu: %s", (unsigned long long)tx.nonce + 1, why.msg);
    cd_buf_fini(&raw);
    char *text = cd_arena_alloc(&v->arena, 65);
    cd_hex_fmt(text, cd_bytes_of(hash.b, 32));
    text[64] = '\0';
    return text;
}

/* Heights of the blocks by what is in them. */
enum { TRANSFER = 1, CREATION, CALL_WITH_LOG, CREATION_WITH_LIST, DYNAMIC, LATEST_BUT_ONE, LATEST };

static const char *hashes[LATEST + 1]; /* of the transactions */

static void make_chain(vec *v)
{
    static const char creation[] = "0x6011600c60003960116000f3"
                                   "602a600052600360026001602060"
                                   "00a300"; /* stores what logs a word with three topics */
    static cd_access_tuple list;
    cd_tx to = {.type = CD_TX_LEGACY, .to = {.b = {0x77}}, .value = cd_u256_from_u64(1000)};
    cd_tx make = {.type = CD_TX_LEGACY, .is_create = true};
    hashes[TRANSFER] = mine(v, to, "0x");
    hashes[CREATION] = mine(v, make, creation);
    cd_json receipt = cd_json_get(evm_api_ask(&api, v,
                                              cd_bytes_str(cd_arena_fmt(&v->arena,
                                                                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                                                                        "\"eth_getTransactionReceipt\",\"params\":"
                                                                        "[\"0x%s\"]}",
                                                                        hashes[CREATION]))),
                                  "result");
    cd_tx call = {.type = CD_TX_LEGACY};
    vec_check(v, cd_json_fixed(call.to.b, 20, cd_json_get(receipt, "contractAddress"), NULL) == CD_OK, "no contract");
    hashes[CALL_WITH_LOG] = mine(v, call, "0x");
    make.type = CD_TX_ACCESS_LIST;
    list.addr.b[0] = 1;
    make.access = &list;
    make.access_cnt = 1;
    hashes[CREATION_WITH_LIST] = mine(v, make, creation);
    cd_tx dynamic = to;
    dynamic.type = CD_TX_DYNAMIC_FEE;
    hashes[DYNAMIC] = mine(v, dynamic, "0x");
    hashes[LATEST_BUT_ONE] = mine(v, to, "0x");
    hashes[LATEST] = mine(v, to, "0x");
}

/* --- shapes --- */

/* Members with the kinds of their values; elements of arrays that are alike count once. */
static void put_shape(cd_buf *out, cd_json v)
{
    cd_json_it it = cd_json_iter(v);
    cd_bytes text = {0};
    cd_buf last = {0};
    switch (cd_json_kind_of(v)) {
    case CD_JSON_OBJ:
        cd_buf_u8(out, '{');
        while (cd_json_next(&it)) {
            cd_buf_put(out, it.key);
            cd_buf_u8(out, ':');
            /* Numbers of a signature have leading zeros left out. */
            if (it.key.n == 1) {
                cd_buf_str(out, "text");
            } else {
                put_shape(out, it.val);
            }
            cd_buf_u8(out, ',');
        }
        cd_buf_u8(out, '}');
        break;
    case CD_JSON_ARR:
        cd_buf_u8(out, '[');
        while (cd_json_next(&it)) {
            cd_buf one = {0};
            put_shape(&one, it.val);
            if (!cd_bytes_eq(cd_buf_bytes(&one), cd_buf_bytes(&last))) {
                cd_buf_put(out, cd_buf_bytes(&one));
            }
            cd_buf_fini(&last);
            last = one;
        }
        cd_buf_u8(out, ']');
        break;
    case CD_JSON_STR:
        (void)!cd_json_str(&text, v, NULL);
        cd_buf_str(out, text.n == 66 ? "hash" : text.n == 42 ? "address" : text.n == 514 ? "bloom" : "text");
        break;
    case CD_JSON_NONE:
        cd_buf_str(out, "nothing");
        break;
    case CD_JSON_NULL:
        cd_buf_str(out, "null");
        break;
    case CD_JSON_BOOL:
        cd_buf_str(out, "bool");
        break;
    case CD_JSON_NUM:
        cd_buf_str(out, "number");
        break;
    }
    cd_buf_fini(&last);
}

/* Without the times of logs, which recorded sessions do not have either (docs/rpc-differences.md). */
static const char *shape_of(vec *v, cd_json doc)
{
    static const char gone[] = "blockTimestamp:text,";
    cd_buf out = {0};
    put_shape(&out, doc);
    char *text = cd_arena_str(&v->arena, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    for (char *at; (at = strstr(text, gone)) != NULL;) {
        memmove(at, at + sizeof gone - 1, strlen(at + sizeof gone - 1) + 1);
    }
    return text;
}

/* --- samples --- */

enum { NUMBER = 1, HASH, TX, NO_HASH, EMPTY_HASH };

/* A sample and how to ask for the like: by height, hash of a height, hash of its transaction, or an unknown one. */
static const struct {
    const char *name;
    int by;
    u64 height;
    bool is_full;
} samples[] = {
    {"eth_getBlockByHash-hash-1", HASH, TRANSFER, false},
    {"eth_getBlockByHash-hash-empty-fullTx", EMPTY_HASH, 0, true},
    {"eth_getBlockByHash-hash-genesis", HASH, 0, false},
    {"eth_getBlockByHash-hash-latest-1-fullTx", HASH, LATEST_BUT_ONE, true},
    {"eth_getBlockByHash-hash-latest", HASH, LATEST, false},
    {"eth_getBlockByHash-hash-pending-fullTx", NO_HASH, 0, true},
    {"eth_getBlockByHash-hash-pending", NO_HASH, 0, false},
    {"eth_getBlockByNumber-number-0", NUMBER, 0, false},
    {"eth_getBlockByNumber-number-1", NUMBER, TRANSFER, false},
    {"eth_getBlockByNumber-number-latest+1", NUMBER, LATEST + 1, true},
    {"eth_getBlockByNumber-number-latest-1", NUMBER, LATEST_BUT_ONE, true},
    {"eth_getBlockByNumber-tag-latest", NUMBER, LATEST, false},
    {"eth_getBlockReceipts-block-notfound", NUMBER, LATEST + 1, false},
    {"eth_getBlockReceipts-block-with-contract-create-tx", NUMBER, CREATION, false},
    {"eth_getBlockReceipts-block-with-dynamic-fee-tx", NUMBER, DYNAMIC, false},
    {"eth_getBlockReceipts-block-with-legacy-contract-call-tx", NUMBER, CALL_WITH_LOG, false},
    {"eth_getBlockReceipts-block-with-legacy-transfer-tx", NUMBER, TRANSFER, false},
    {"eth_getBlockReceipts-hash-empty", EMPTY_HASH, 0, false},
    {"eth_getBlockReceipts-hash-notfound", NO_HASH, 0, false},
    {"eth_getBlockReceipts-number-0", NUMBER, 0, false},
    {"eth_getBlockReceipts-number-1", NUMBER, 0, false}, /* a block without transactions */
    {"eth_getBlockReceipts-tag-earliest", NUMBER, 0, false},
    {"eth_getHeaderByHash-hash-0", HASH, 0, false},
    {"eth_getHeaderByHash-hash-1", HASH, TRANSFER, false},
    {"eth_getHeaderByHash-hash-empty", EMPTY_HASH, 0, false},
    {"eth_getHeaderByHash-hash-latest-1", HASH, LATEST_BUT_ONE, false},
    {"eth_getHeaderByHash-hash-latest", HASH, LATEST, false},
    {"eth_getHeaderByHash-hash-pending", NO_HASH, 0, false},
    {"eth_getHeaderByNumber-number-0", NUMBER, 0, false},
    {"eth_getHeaderByNumber-number-1", NUMBER, TRANSFER, false},
    {"eth_getHeaderByNumber-number-latest+1", NUMBER, LATEST + 1, false},
    {"eth_getHeaderByNumber-number-latest-1", NUMBER, LATEST_BUT_ONE, false},
    {"eth_getHeaderByNumber-tag-latest", NUMBER, LATEST, false},
    {"eth_getTransactionReceipt-blob-tx", NO_HASH, 0, false}, /* the sample is null */
    {"eth_getTransactionReceipt-create-contract-tx", TX, CREATION, false},
    {"eth_getTransactionReceipt-create-contract-with-access-list", TX, CREATION_WITH_LIST, false},
    {"eth_getTransactionReceipt-dynamic-tx-with-logs", TX, DYNAMIC, false},
    {"eth_getTransactionReceipt-normal-transfer-tx", TX, TRANSFER, false},
    {"eth_getTransactionReceipt-txhash-empty", EMPTY_HASH, 0, false},
    {"eth_getTransactionReceipt-txhash-notfound", NO_HASH, 0, false},
    {"eth_getTransactionReceipt-with-logs", TX, CALL_WITH_LOG, false},
};

/* Samples without a like here: networks of ours have no blobs, and what is pending is the last accepted block
 * [spec:eth-rpc#3]. */
static const char *const left_out[] = {
    "eth_getBlockReceipts-block-with-blob-tx", "eth_getBlockReceipts-tag-latest",
    "eth_getBlockByNumber-tag-pending-fullTx", "eth_getBlockByNumber-tag-pending",
    "eth_getHeaderByNumber-tag-pending",
};

static const char *reference(vec *v, usize idx)
{
    char text[65] = {0};
    switch (samples[idx].by) {
    case NUMBER:
        return cd_arena_fmt(&v->arena, "0x%llx", (unsigned long long)samples[idx].height);
    case HASH: {
        cd_arena a = {0};
        cd_block b;
        vec_check(v, cd_chain_block_at(api.api.chain, &b, NULL, &a, samples[idx].height) == CD_OK, "no block");
        cd_hex_fmt(text, cd_bytes_of(b.hash.b, 32));
        cd_arena_fini(&a);
        return cd_arena_fmt(&v->arena, "0x%s", text);
    }
    case TX:
        return cd_arena_fmt(&v->arena, "0x%s", hashes[samples[idx].height]);
    case NO_HASH:
        return cd_arena_fmt(&v->arena, "0x%064x", 0xdeadbeef);
    default:
        return cd_arena_fmt(&v->arena, "0x%064x", 0);
    }
}

static void compare(vec *v, usize idx)
{
    cd_json want;
    const char *name = samples[idx].name;
    const char *dash = strchr(name, '-');
    bool has_full = strncmp(name, "eth_getBlockBy", 14) == 0;
    const char *path = cd_arena_fmt(&v->arena, "ethapi-samples/%s.json", name);
    if (!vec_json(v, &want, vec_path(v, path))) {
        return;
    }
    const char *request =
        cd_arena_fmt(&v->arena, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%.*s\",\"params\":[\"%s\"%s]}",
                     (int)(dash - name), name, reference(v, idx),
                     !has_full              ? ""
                     : samples[idx].is_full ? ",true"
                                            : ",false");
    cd_json answer = evm_api_ask(&api, v, cd_bytes_str(request));
    const char *shape = shape_of(v, want);
    const char *got = shape_of(v, cd_json_get(answer, "result"));
    vec_check(v, strcmp(shape, got) == 0, "%s\n  want %s\n  got  %s", name, shape, got);
}

static cd_err is_known(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    const char *name = strrchr(path, '/') + 1;
    usize n = strlen(name);
    bool is_sample = kind == CD_FS_FILE && n > 5 && strcmp(name + n - 5, ".json") == 0;
    bool found = !is_sample;
    for (usize i = 0; !found && i < CD_COUNT(samples); i++) {
        found = strlen(samples[i].name) == n - 5 && strncmp(samples[i].name, name, n - 5) == 0;
    }
    for (usize i = 0; !found && i < CD_COUNT(left_out); i++) {
        found = strlen(left_out[i]) == n - 5 && strncmp(left_out[i], name, n - 5) == 0;
    }
    vec_check(v, found, "%s is not looked at", name);
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    u8 seed[64];
    cd_buf genesis = {0};
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    bool ok = cd_hd_account(key, seed, 0) == CD_OK && cd_dev_genesis(&genesis, CHAIN_ID, START) == CD_OK;
    const cd_chain_cfg cfg = {.kv = cd_kv_mem_open(), .genesis = cd_buf_bytes(&genesis), .history = UINT64_MAX};
    if (ok && evm_api_open(&api, &v, cfg,
                           cd_bytes_str("{\"allow-unfinalized-queries\":true,\"allow-unprotected-txs\":true}"))) {
        make_chain(&v);
        vec_walk(&v, "ethapi-samples", is_known);
        for (usize i = 0; i < CD_COUNT(samples); i++) {
            compare(&v, i);
        }
        evm_api_close(&api);
    }
    cd_buf_fini(&genesis);
    return vec_end(&v);
}
