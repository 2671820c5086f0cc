/* Recorded sessions of the original (testdata/evm-chain/rpc-transcript-l1-*): every request of its main route sent
 * again at the same height, every answer the same to the byte. What differs for a reason is listed here and in
 * docs/rpc-differences.md. [spec:conformance#3] [spec:eth-rpc#4] */
#include "base/hex.h"
#include "tests/vectors/simulate.h"

#include <string.h>

static evm_api api;

/* Requests with these words may be answered otherwise. */
static const struct {
    const char *words;
    const char *why;
} differences[] = {
    {"\"web3_clientVersion\"", "names this program"},
    {"\"rpc_modules\"", "names the namespaces that are there"},
    {"\"eth_getChainConfig\"", "upgrades that this network does not have are not named"},
    {"\"eth_newFilter\"", "random id"},
    {"\"eth_newBlockFilter\"", "random id"},
    {"\"eth_newPendingTransactionFilter\"", "random id"},
    {"\"eth_getFilterChanges\"", "asks for a random id"},
    {"\"eth_getFilterLogs\"", "asks for a random id"},
    {"\"eth_uninstallFilter\"", "asks for a random id"},
    {"\"eth_subscribe\"", "unknown to a service without sessions, as this one is"},
    {"\"warp_", "another service"},
    {"\"admin.getVMConfig\"", "has keys of its own"},
    {"\"debug_printBlock\"", "the original shows its memory"},
    {"\"debug_getModifiedAccountsByNumber\"", "needs no preimages here"},
    {"[\"0x03c0\"]", "words of the original's decoder"},
    {"\"prestateTracer\"", "codeHash, as go-ethereum has it since"},
    {"\"withLog\":true", "index of a log, as go-ethereum has it since"},
    {"{count: 0", "no JavaScript"},
};

/* Our Granite has Fortuna before it; the original's L1 chains never do. */
static bool is_other_fortuna(const char *file, const char *request)
{
    return strstr(file, "granite") != NULL && strstr(request, "\"eth_getActiveRulesAt\"") != NULL;
}

static bool may_differ(vec *v, const char *file, cd_bytes request)
{
    const char *text = cd_arena_str(&v->arena, request);
    for (usize i = 0; i < CD_COUNT(differences); i++) {
        if (strstr(text, differences[i].words) != NULL) {
            return true;
        }
    }
    return is_other_fortuna(file, text);
}

static cd_bytes str_of(cd_json doc, const char *key)
{
    cd_bytes b = {0};
    return cd_json_str(&b, cd_json_get(doc, key), NULL) == CD_OK ? b : (cd_bytes){0};
}

/* --- the chain --- */

/* An id as the network writes it: base 58 of 32 bytes and a checksum of four, which is not looked at. */
static bool parse_id(cd_hash32 *out, cd_bytes text)
{
    static const char digits[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    u8 bytes[36] = {0};
    for (usize i = 0; i < text.n; i++) {
        const char *digit = text.p[i] == 0 ? NULL : strchr(digits, text.p[i]);
        unsigned carry = digit == NULL ? 0 : (unsigned)(digit - digits);
        if (digit == NULL) {
            return false;
        }
        for (usize j = sizeof bytes; j > 0; j--) {
            carry += bytes[j - 1] * 58u;
            bytes[j - 1] = (u8)carry;
            carry >>= 8;
        }
        if (carry != 0) {
            return false;
        }
    }
    memcpy(out->b, bytes, 32);
    return true;
}

static bool open_session(vec *v, cd_json line)
{
    u64 network = 0;
    bool is_granite = cd_bytes_eq(str_of(line, "fork"), cd_bytes_str("Granite"));
    cd_chain_cfg cfg = {
        .kv = cd_kv_mem_open(),
        .genesis = evm_api_text(v, cd_json_get(line, "genesis")),
        .upgrades = cd_bytes_str(is_granite ? "{\"networkUpgradeOverrides\":{\"durangoTimestamp\":1607144400,"
                                              "\"etnaTimestamp\":1607144400,\"fortunaTimestamp\":1607144400,"
                                              "\"graniteTimestamp\":1607144400}}"
                                            : "{\"networkUpgradeOverrides\":{\"durangoTimestamp\":1607144400,"
                                              "\"etnaTimestamp\":1607144400,\"fortunaTimestamp\":253399622400}}"),
        .addrs = CD_ADDRS_LEGACY,
        .warp_quorum_min = 33,
        .unverified = true,
        .history = UINT64_MAX,
    };
    vec_check(v,
              parse_id(&cfg.blockchain_id, str_of(line, "chainID")) &&
                  cd_json_u64(&network, cd_json_get(line, "networkID"), NULL) == CD_OK,
              "ids");
    cfg.network_id = (u32)network;
    return evm_api_open(&api, v, cfg, evm_api_text(v, cd_json_get(line, "vmConfig")));
}

static void take_block(vec *v, cd_json line)
{
    cd_chain *c = api.api.chain;
    cd_errinfo why = {0};
    cd_chain_block *b = NULL;
    cd_bytes rlp = {0};
    cd_err e = cd_json_hex(&rlp, &v->arena, cd_json_get(line, "bytes"), NULL);
    e = e == CD_OK ? cd_chain_parse(c, &b, rlp, &why) : e;
    if (e == CD_OK) {
        e = cd_chain_verify(c, b, b->block.header.time * 1000, &why);
        e = e == CD_OK ? cd_chain_accept(c, b, &why) : e;
        cd_chain_drop(c, b);
    }
    e = e == CD_OK ? cd_api_follow(&api.api) : e;
    vec_check(v, e == CD_OK, "block: %s", why.msg);
    cd_clock_virtual_set_wall(&api.clock, cd_chain_head(c)->header.time * CD_NS_PER_SEC);
}

/* --- the dialogue --- */

static void compare(vec *v, const char *file, cd_json line)
{
    cd_json request = cd_json_get(line, "request");
    cd_bytes body = evm_api_text(v, request);
    cd_bytes want = evm_api_text(v, cd_json_get(line, "response"));
    bool is_admin = cd_bytes_eq(str_of(line, "path"), cd_bytes_str("/admin"));
    if ((!is_admin && !cd_bytes_eq(str_of(line, "path"), cd_bytes_str("/rpc"))) ||
        cd_json_kind_of(request) == CD_JSON_NONE || may_differ(v, file, body)) {
        return;
    }
    /* What is no JSON was recorded as a string. */
    cd_json error = cd_json_get(cd_json_get(line, "response"), "error");
    bool is_broken = cd_bytes_eq(evm_api_text(v, cd_json_get(error, "code")), cd_bytes_str("-32700"));
    if (is_broken && cd_json_str(&body, request, NULL) != CD_OK) {
        return;
    }
    const cd_rpc_service *service = is_admin ? &api.api.service.admin : &api.api.service.rpc;
    cd_bytes got = evm_api_text(v, evm_api_ask_at(v, service, body));
    if (cd_bytes_eq(want, cd_bytes_str("\"\""))) {
        want = (cd_bytes){0};
    }
    vec_check(v, cd_bytes_eq(want, got), "%s: %.*s\n  want %.*s\n  got  %.*s", file, (int)cd_min_u64(body.n, 400),
              (const char *)body.p, (int)cd_min_u64(want.n, 1500), (const char *)want.p, (int)cd_min_u64(got.n, 1500),
              (const char *)got.p);
}

static void run_session(vec *v, const char *file)
{
    cd_bytes text;
    bool is_open = false;
    if (!vec_read(v, &text, vec_path(v, file))) {
        return;
    }
    for (usize at = 0; at < text.n;) {
        const u8 *end = memchr(text.p + at, '\n', text.n - at);
        cd_bytes one = cd_bytes_sub(text, at, (end == NULL ? text.n : (usize)(end - text.p)) - at);
        cd_json line;
        at += one.n + 1;
        if (one.n == 0 || cd_json_parse(&line, &v->arena, one, 0, NULL) != CD_OK) {
            continue;
        }
        if (cd_json_has(cd_json_get(line, "genesis"))) {
            is_open = open_session(v, line);
        } else if (is_open && cd_json_has(cd_json_get(line, "bytes"))) {
            take_block(v, line);
        } else if (is_open) {
            compare(v, file, line);
        }
    }
    simulate_chain(&api, v);
    evm_api_close(&api);
}

int main(void)
{
    vec v = {0};
    run_session(&v, "evm-chain/rpc-transcript-l1-fortuna.jsonl");
    run_session(&v, "evm-chain/rpc-transcript-l1-granite.jsonl");
    return vec_end(&v);
}
