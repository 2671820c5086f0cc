/* The dialogues of rpc-compat: the recorded chain in the Ethereum profile, block 20 as its head, every request
 * answered as recorded. Compared are values; messages of errors are free, results marked speconly need the same
 * shape, and blockTimestamp may be there or not. [spec:conformance#3] */
#include "chains/evmchain/core/import.h"
#include "tests/vectors/simulate.h"

#include <string.h>

static evm_api api;

/* Kinds, and members, are the same. */
static bool same_shape(cd_json a, cd_json b)
{
    return cd_json_kind_of(a) == cd_json_kind_of(b) && cd_json_len(a) == cd_json_len(b);
}

/* Members that may be missing or differ; those of blobs in the fee history were recorded with another schedule. */
static bool is_free(cd_bytes key)
{
    static const char *const keys[] = {"blockTimestamp", "baseFeePerBlobGas", "blobGasUsedRatio"};
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        if (cd_bytes_eq(key, cd_bytes_str(keys[i]))) {
            return true;
        }
    }
    return false;
}

static bool same(vec *v, cd_json a, cd_json b);

/* Every member of a is in b with the same value. */
static bool same_members(vec *v, cd_json a, cd_json b)
{
    cd_json_it it = cd_json_iter(a);
    while (cd_json_next(&it)) {
        if (!is_free(it.key) && !same(v, it.val, cd_json_get(b, cd_arena_str(&v->arena, it.key)))) {
            return false;
        }
    }
    return true;
}

static bool same(vec *v, cd_json a, cd_json b)
{
    if (cd_json_kind_of(a) != cd_json_kind_of(b)) {
        return false;
    }
    if (cd_json_kind_of(a) == CD_JSON_OBJ) {
        return same_members(v, a, b) && same_members(v, b, a);
    }
    if (cd_json_kind_of(a) == CD_JSON_ARR) {
        bool ok = cd_json_len(a) == cd_json_len(b);
        for (usize i = 0; ok && i < cd_json_len(a); i++) {
            ok = same(v, cd_json_at(a, i), cd_json_at(b, i));
        }
        return ok;
    }
    return cd_bytes_eq(evm_api_text(v, a), evm_api_text(v, b));
}

static bool same_answer(vec *v, cd_json want, cd_json got, bool shape_only)
{
    cd_json error = cd_json_get(want, "error");
    if (cd_json_has(error)) {
        cd_json mine = cd_json_get(got, "error");
        return same(v, cd_json_get(error, "code"), cd_json_get(mine, "code")) &&
               same(v, cd_json_get(error, "data"), cd_json_get(mine, "data"));
    }
    cd_json a = cd_json_get(want, "result");
    cd_json b = cd_json_get(got, "result");
    return shape_only ? same_shape(a, b) : same(v, a, b);
}

static void run_dialogue(vec *v, const char *path, cd_bytes text)
{
    bool shape_only = strstr(cd_arena_str(&v->arena, text), "speconly") != NULL;
    cd_json got = {0};
    for (usize at = 0; at < text.n;) {
        const u8 *end = memchr(text.p + at, '\n', text.n - at);
        cd_bytes line = cd_bytes_sub(text, at, (end == NULL ? text.n : (usize)(end - text.p)) - at);
        at += line.n + 1;
        if (line.n < 3) {
            continue;
        }
        cd_bytes body = cd_bytes_sub(line, 3, line.n - 3);
        if (memcmp(line.p, ">> ", 3) == 0) {
            got = evm_api_ask(&api, v, body);
        } else if (memcmp(line.p, "<< ", 3) == 0) {
            cd_json want;
            bool ok = cd_json_parse(&want, &v->arena, body, 0, NULL) == CD_OK && same_answer(v, want, got, shape_only);
            cd_bytes mine = evm_api_text(v, got);
            vec_check(v, ok, "%s: %.*s", path, (int)cd_min_u64(mine.n, 2000), (const char *)mine.p);
        }
    }
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    vec *v = ctx;
    cd_bytes text;
    usize n = strlen(path);
    if (strstr(path, "send-blob-tx") != NULL) {
        return CD_OK; /* blobs are no part of any network that has a pool here */
    }
    if (kind == CD_FS_FILE && n > 3 && strcmp(path + n - 3, ".io") == 0 && vec_read(v, &text, path)) {
        run_dialogue(v, path, text);
    }
    return CD_OK;
}

/* The pool's rules: no next header is made in this profile. */
static void follow(void)
{
    const cd_header *h = &cd_chain_head(api.api.chain)->header;
    cd_txpool_head head = {
        .fork = CD_CANCUN,
        .chain_id = cd_chain_rules_of(api.api.chain)->chain_id,
        .gas_limit = h->gas_limit,
        .base_fee = h->base_fee,
        .time = h->time,
    };
    cd_txpool_set_head(api.api.pool, &head, &api.api.head.world.src);
}

/* Blocks above the head are none, and no error, as with every Ethereum node. */
static void heights_above(vec *v)
{
    static const char *const calls[] = {
        "\"eth_getBlockByNumber\",\"params\":[\"0x64\",false]",
        "\"eth_getHeaderByNumber\",\"params\":[\"0x64\"]",
        "\"eth_getBlockReceipts\",\"params\":[\"0x64\"]",
        "\"eth_getBlockTransactionCountByNumber\",\"params\":[\"0x64\"]",
        "\"eth_getUncleCountByBlockNumber\",\"params\":[\"0x64\"]",
        "\"eth_getTransactionByBlockNumberAndIndex\",\"params\":[\"0x64\",\"0x0\"]",
    };
    for (usize i = 0; i < CD_COUNT(calls); i++) {
        const char *body = cd_arena_fmt(&v->arena, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":%s}", calls[i]);
        cd_json got = evm_api_ask(&api, v, cd_bytes_str(body));
        vec_check(v, cd_json_kind_of(cd_json_get(got, "result")) == CD_JSON_NULL, "%s: %s", calls[i],
                  cd_arena_str(&v->arena, evm_api_text(v, got)));
    }
    cd_json got = evm_api_ask(
        &api, v,
        cd_bytes_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_getBalance\",\"params\":[\"0x0000000000000000000"
                     "000000000000000000000\",\"0x64\"]}"));
    vec_check(v, strstr(cd_arena_str(&v->arena, evm_api_text(v, got)), "header not found") != NULL, "eth_getBalance");
}

/* Under Prague data has a floor: 21000 and 10 for each of 4 tokens a byte, though running it costs 16 a byte. */
static void estimate_above_floor(vec *v)
{
    static const char genesis[] =
        "{\"config\":{\"chainId\":1,\"homesteadBlock\":0,\"eip150Block\":0,\"eip155Block\":0,"
        "\"eip158Block\":0,\"byzantiumBlock\":0,\"constantinopleBlock\":0,\"petersburgBlock\":0,"
        "\"istanbulBlock\":0,\"berlinBlock\":0,\"londonBlock\":0,\"mergeNetsplitBlock\":0,"
        "\"terminalTotalDifficulty\":0,\"shanghaiTime\":0,\"cancunTime\":0,\"pragueTime\":0},"
        "\"gasLimit\":\"0x1c9c380\",\"difficulty\":\"0x0\",\"alloc\":{}}";
    static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_estimateGas\",\"params\":[{"
                                  "\"to\":\"0x00000000000000000000000000000000000000aa\",\"data\":\"0x%s\"%s}]}";
    cd_buf data = {0};
    cd_chain_cfg cfg = {
        .kv = cd_kv_mem_open(),
        .genesis = cd_bytes_str(genesis),
        .is_ethereum = true,
        .history = UINT64_MAX,
    };
    for (int i = 0; i < 1000; i++) {
        cd_buf_str(&data, "11");
    }
    if (evm_api_open(&api, v, cfg, cd_bytes_str("{}"))) {
        const char *text = cd_buf_cstr(&data);
        cd_json enough = evm_api_ask(&api, v, cd_bytes_str(cd_arena_fmt(&v->arena, request, text, "")));
        vec_check(v,
                  cd_bytes_eq(evm_api_text(v, cd_json_get(enough, "result")),
                              cd_bytes_str("\"0xf181\"")), /* the search stops within 1.5 % of 61000 */
                  "estimate at the floor: %.*s", (int)evm_api_text(v, enough).n,
                  (const char *)evm_api_text(v, enough).p);
        cd_json little =
            evm_api_ask(&api, v, cd_bytes_str(cd_arena_fmt(&v->arena, request, text, ",\"gas\":\"0xee47\"")));
        vec_check(v,
                  cd_bytes_eq(evm_api_text(v, cd_json_get(cd_json_get(little, "error"), "message")),
                              cd_bytes_str("\"gas required exceeds allowance (60999)\"")),
                  "estimate below the floor: %.*s", (int)evm_api_text(v, little).n,
                  (const char *)evm_api_text(v, little).p);
    }
    evm_api_close(&api);
    cd_buf_fini(&data);
}

int main(void)
{
    vec v = {0};
    cd_bytes genesis;
    cd_bytes rlps;
    cd_errinfo why = {0};
    if (!vec_read(&v, &genesis, vec_path(&v, "rpc-compat/genesis.json")) ||
        !vec_read(&v, &rlps, vec_path(&v, "rpc-compat/chain.rlp"))) {
        return vec_end(&v);
    }
    cd_chain_cfg cfg = {
        .kv = cd_kv_mem_open(),
        .genesis = genesis,
        .is_ethereum = true,
        .history = UINT64_MAX,
    };
    static const char config[] = "{\"eth-apis\":[\"eth\",\"eth-filter\",\"net\",\"web3\",\"debug\",\"debug-tracer\","
                                 "\"internal-debug\","
                                 "\"internal-eth\",\"internal-blockchain\",\"internal-transaction\"]}";
    if (evm_api_open(&api, &v, cfg, cd_bytes_str(config))) {
        cd_err e = cd_chain_import(api.api.chain, rlps, NULL, UINT64_MAX / 2, &why);
        vec_check(&v, e == CD_OK && cd_chain_head(api.api.chain)->header.number == 20, "import: %s", why.msg);
        follow();
        vec_walk(&v, "rpc-compat", visit);
        heights_above(&v);
        simulate_chain(&api, &v);
    }
    evm_api_close(&api);
    estimate_above_floor(&v);
    return vec_end(&v);
}
