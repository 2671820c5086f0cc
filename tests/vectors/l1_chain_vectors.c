/* Chains of the L1 profile recorded from the original (testdata/evm-chain): genesis blocks of 14 configurations
 * under three sets of upgrades and of its own main network, to the byte; the state after each step of an upgrade
 * file; blocks with one thing wrong, refused in the same words; the blocks of two recorded sessions.
 * [spec:evm-chain#7] [spec:evm-chain#8] [spec:evm-chain#1] */
#include "base/hex.h"
#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/core/view.h"
#include "tests/vectors/vec.h"

#include <string.h>

/* Sub-documents as text. */
static cd_bytes text_of(vec *v, cd_json doc)
{
    cd_buf text = {0};
    cd_json_raw(&text, doc);
    cd_bytes own = cd_arena_dup(&v->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return own;
}

static cd_bytes hex_of(vec *v, cd_json doc, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, cd_json_get(doc, key), NULL) == CD_OK, "no %s", key);
    return b;
}

static cd_bytes str_of(cd_json doc, const char *key)
{
    cd_bytes b = {0};
    return cd_json_str(&b, cd_json_get(doc, key), NULL) == CD_OK ? b : (cd_bytes){0};
}

/* What the recordings were made with: modules at the upstream family's addresses, its laxer Warp quorum. */
static cd_chain_cfg recorded(cd_kv *kv, cd_bytes genesis, const char *upgrades)
{
    return (cd_chain_cfg){
        .kv = kv,
        .genesis = genesis,
        .upgrades = cd_bytes_str(upgrades),
        .addrs = CD_ADDRS_LEGACY,
        .warp_quorum_min = 33,
        .unverified = true,
    };
}

/* Which upgrades are active from 1607144400 on, the time of the genesis; the others never come. */
static const char *upgrades_of(cd_bytes fork)
{
    static const struct {
        const char *fork;
        const char *file;
    } rows[] = {
        {"Durango", "{\"networkUpgradeOverrides\":{\"durangoTimestamp\":1607144400,"
                    "\"etnaTimestamp\":253399622400,\"fortunaTimestamp\":253399622400}}"},
        {"Fortuna", "{\"networkUpgradeOverrides\":{\"durangoTimestamp\":1607144400,"
                    "\"etnaTimestamp\":1607144400,\"fortunaTimestamp\":1607144400}}"},
        {"Granite", "{\"networkUpgradeOverrides\":{\"durangoTimestamp\":1607144400,"
                    "\"etnaTimestamp\":1607144400,\"fortunaTimestamp\":1607144400,"
                    "\"graniteTimestamp\":1607144400}}"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (cd_bytes_eq(fork, cd_bytes_str(rows[i].fork))) {
            return rows[i].file;
        }
    }
    return "";
}

/* --- genesis --- */

static void check_genesis(vec *v, const char *name, const cd_chain_cfg *cfg, cd_json want)
{
    cd_chain *c = NULL;
    cd_errinfo why = {0};
    if (cd_chain_open(&c, cfg, &why) != CD_OK) {
        vec_check(v, false, "%s: %s", name, why.msg);
        return;
    }
    const cd_block *b = cd_chain_head(c);
    cd_buf header = {0};
    cd_header_enc(&header, CD_HEADER_L1, &b->header);
    cd_bytes root = hex_of(v, want, "stateRoot");
    cd_bytes hash = hex_of(v, want, "blockHash");
    vec_check(v, cd_bytes_eq(root, cd_bytes_of(b->header.state_root.b, 32)), "%s: state root", name);
    vec_check(v, cd_bytes_eq(hex_of(v, want, "headerRLP"), cd_buf_bytes(&header)), "%s: header", name);
    vec_check(v, cd_bytes_eq(hash, cd_bytes_of(b->hash.b, 32)), "%s: hash", name);
    if (cd_json_has(cd_json_get(want, "blockRLP"))) {
        cd_view *view = cd_view_newest(c);
        vec_check(v, cd_bytes_eq(hex_of(v, want, "blockRLP"), cd_view_head(view)->rlp), "%s: block", name);
        cd_view_unref(view);
    }
    cd_buf_fini(&header);
    cd_chain_close(c);
}

static void run_genesis(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "evm-chain/l1-genesis.json"))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cd_bytes name = str_of(it.val, "name");
        cd_bytes fork = str_of(it.val, "fork");
        cd_kv *kv = cd_kv_mem_open();
        cd_chain_cfg cfg = recorded(kv, text_of(v, cd_json_get(it.val, "genesis")), upgrades_of(fork));
        check_genesis(
            v,
            cd_arena_fmt(&v->arena, "%.*s/%.*s", (int)name.n, (const char *)name.p, (int)fork.n, (const char *)fork.p),
            &cfg, it.val);
        cd_kv_close(kv);
    }
    if (vec_json(v, &doc, vec_path(v, "evm-chain/lux-mainnet-genesis.json"))) {
        cd_kv *kv = cd_kv_mem_open();
        cd_chain_cfg cfg = {
            .kv = kv,
            .genesis = text_of(v, cd_json_get(doc, "genesis")),
            .addrs = CD_ADDRS_LEGACY,
            .network_id = 1,
        };
        check_genesis(v, "main network", &cfg, doc);
        cd_kv_close(kv);
    }
}

/* --- an upgrade file, step by step --- */

/* The genesis with another time and upgrades that leave Cancun out, as it was recorded. */
static cd_bytes dated(vec *v, cd_json genesis, u64 time)
{
    cd_bytes text = text_of(v, genesis);
    const char *at = strstr(cd_arena_str(&v->arena, text), "\"timestamp\":\"0x0\"");
    CD_ASSERT(at != NULL);
    const char *start = at;
    while (*start != '\0') {
        start++;
    }
    usize rest = (usize)(start - at) - strlen("\"timestamp\":\"0x0\"");
    return cd_bytes_str(cd_arena_fmt(&v->arena, "%.*s\"timestamp\":\"0x%llx\"%.*s",
                                     (int)(text.n - rest - strlen("\"timestamp\":\"0x0\"")), (const char *)text.p,
                                     (unsigned long long)time, (int)rest, at + strlen("\"timestamp\":\"0x0\"")));
}

static void check_account(vec *v, cd_state_source *src, u64 step, cd_bytes key, cd_json want)
{
    cd_addr20 addr;
    cd_account acct = {0};
    cd_bytes code = {0};
    bool found = false;
    bool exists = false;
    bool ok = cd_genesis_addr_parse(&addr, key) == CD_OK &&
              cd_json_bool(&exists, cd_json_get(want, "exists"), NULL) == CD_OK &&
              src->account(src, &acct, &found, &addr) == CD_OK && found == exists;
    if (ok && found) {
        u64 nonce = 0;
        cd_u256 balance = cd_u256_zero();
        cd_bytes want_code = {0};
        cd_hash32 root = {0};
        ok = cd_json_u64(&nonce, cd_json_get(want, "nonce"), NULL) == CD_OK &&
             cd_json_u256(&balance, cd_json_get(want, "balance"), NULL) == CD_OK &&
             cd_json_hex(&want_code, &v->arena, cd_json_get(want, "code"), NULL) == CD_OK &&
             cd_json_fixed(root.b, 32, cd_json_get(want, "storageRoot"), NULL) == CD_OK &&
             (cd_hash32_eq(&acct.code_hash, &CD_HASH_EMPTY_CODE) || src->code(src, &code, &acct.code_hash) == CD_OK) &&
             nonce == acct.nonce && cd_u256_eq(&balance, &acct.balance) && cd_bytes_eq(code, want_code) &&
             cd_hash32_eq(&root, &acct.storage_root);
    }
    vec_check(v, ok, "step %llu: account %.*s", (unsigned long long)step, (int)key.n, (const char *)key.p);
}

/* Blocks without transactions, which only a development network makes, show the activations alone. */
static void run_upgrades(vec *v)
{
    cd_json doc;
    u64 genesis_time = 0;
    cd_errinfo why = {0};
    cd_chain *c = NULL;
    if (!vec_json(v, &doc, vec_path(v, "evm-chain/upgrade-activation.json"))) {
        return;
    }
    vec_check(v, cd_json_u64(&genesis_time, cd_json_get(doc, "genesisTimestampOverride"), NULL) == CD_OK, "no time");
    cd_kv *kv = cd_kv_mem_open();
    cd_bytes genesis = dated(v, cd_json_get(doc, "genesis"), genesis_time);
    cd_chain_cfg cfg = recorded(kv, genesis, "");
    cfg.upgrades = text_of(v, cd_json_get(doc, "upgradeBytes"));
    cfg.is_dev = true;
    cfg.history = UINT64_MAX;
    if (cd_chain_open(&c, &cfg, &why) != CD_OK) {
        vec_check(v, false, "%s", why.msg);
        cd_kv_close(kv);
        return;
    }
    vec_check(v,
              cd_bytes_eq(hex_of(v, doc, "genesisStateRoot"), cd_bytes_of(cd_chain_head(c)->header.state_root.b, 32)),
              "genesis state root");
    cd_json_it it = cd_json_iter(cd_json_get(doc, "steps"));
    for (u64 step = 1; cd_json_next(&it); step++) {
        cd_header_wish wish = {0};
        cd_chain_source src;
        vec_check(v, cd_json_u64(&wish.time, cd_json_get(it.val, "time"), NULL) == CD_OK, "time");
        if (cd_chain_mine_empty(c, 1, 1, &wish, &why) != CD_OK) {
            vec_check(v, false, "step %llu: %s", (unsigned long long)step, why.msg);
            break;
        }
        vec_check(v,
                  cd_bytes_eq(hex_of(v, it.val, "stateRoot"), cd_bytes_of(cd_chain_head(c)->header.state_root.b, 32)),
                  "step %llu: state root", (unsigned long long)step);
        cd_chain_source_init(&src, c, NULL);
        cd_json_it acct = cd_json_iter(cd_json_get(it.val, "accounts"));
        while (cd_json_next(&acct)) {
            check_account(v, &src.world.src, step, acct.key, acct.val);
        }
        cd_world_source_fini(&src.world);
    }
    cd_chain_close(c);
    cd_kv_close(kv);
}

/* --- blocks with one thing wrong --- */

/* The chain of one fork: its genesis and the accepted first block. */
static cd_chain *open_context(vec *v, cd_json doc, cd_bytes fork, cd_kv *kv)
{
    cd_errinfo why = {0};
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        if (!cd_json_has(cd_json_get(it.val, "genesis")) || !cd_bytes_eq(str_of(it.val, "fork"), fork)) {
            continue;
        }
        cd_chain *c = NULL;
        cd_chain_block *b = NULL;
        cd_chain_cfg cfg = recorded(kv, str_of(it.val, "genesis"), upgrades_of(fork));
        if (cd_chain_open(&c, &cfg, &why) == CD_OK &&
            cd_chain_parse(c, &b, hex_of(v, it.val, "parentBlock"), &why) == CD_OK &&
            cd_chain_verify(c, b, b->block.header.time * 1000, &why) == CD_OK && cd_chain_accept(c, b, &why) == CD_OK) {
            cd_chain_drop(c, b);
            return c;
        }
        vec_check(v, false, "context %.*s: %s", (int)fork.n, (const char *)fork.p, why.msg);
        return NULL;
    }
    return NULL;
}

/* The wall clock at which it was recorded: the message tells. */
static u64 recorded_now_ms(cd_bytes expect, const cd_block *b)
{
    static const char marker[] = "> allowed ";
    u64 now = 0;
    for (usize i = 0; i + sizeof marker - 1 < expect.n; i++) {
        if (memcmp(expect.p + i, marker, sizeof marker - 1) == 0) {
            for (i += sizeof marker - 1; i < expect.n; i++) {
                now = now * 10 + (u64)(expect.p[i] - '0');
            }
            return now - 10000;
        }
    }
    return b->header.time * 1000;
}

/* Longer messages are cut. */
static bool is_text(const cd_errinfo *why, cd_bytes expect)
{
    usize n = strlen(why->msg);
    return n == sizeof why->msg - 1 ? n < expect.n && memcmp(why->msg, expect.p, n) == 0
                                    : cd_bytes_eq(cd_bytes_str(why->msg), expect);
}

static void check_block(vec *v, cd_chain *c, cd_json row, const char *name)
{
    cd_bytes parse_error = str_of(row, "parseError");
    cd_bytes verify_error = str_of(row, "verifyError");
    cd_errinfo why = {0};
    cd_chain_block *b = NULL;
    cd_err e = cd_chain_parse(c, &b, hex_of(v, row, "block"), &why);
    if (parse_error.n != 0) {
        vec_check(v, e != CD_OK && is_text(&why, parse_error), "%s: \"%s\", not \"%.*s\"", name, why.msg,
                  (int)parse_error.n, (const char *)parse_error.p);
    } else if (e != CD_OK) {
        vec_check(v, false, "%s: does not parse: %s", name, why.msg);
    } else {
        e = cd_chain_verify(c, b, recorded_now_ms(verify_error, &b->block), &why);
        vec_check(v, verify_error.n == 0 ? e == CD_OK : e != CD_OK && is_text(&why, verify_error),
                  "%s: \"%s\", not \"%.*s\"", name, why.msg, (int)verify_error.n, (const char *)verify_error.p);
    }
    if (e == CD_OK || parse_error.n == 0) {
        cd_chain_drop(c, b);
    }
}

static void run_invalid_blocks(vec *v)
{
    static const char *const forks[] = {"Durango", "Fortuna"};
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "evm-chain/l1-invalid-blocks.json"))) {
        return;
    }
    for (usize i = 0; i < CD_COUNT(forks); i++) {
        cd_bytes fork = cd_bytes_str(forks[i]);
        cd_kv *kv = cd_kv_mem_open();
        cd_chain *c = open_context(v, doc, fork, kv);
        cd_json_it it = cd_json_iter(doc);
        while (c != NULL && cd_json_next(&it)) {
            cd_bytes mutation = str_of(it.val, "mutation");
            if (cd_bytes_eq(str_of(it.val, "fork"), fork) && !cd_json_has(cd_json_get(it.val, "genesis"))) {
                check_block(v, c, it.val,
                            cd_arena_fmt(&v->arena, "%s/%.*s", forks[i], (int)mutation.n, (const char *)mutation.p));
            }
        }
        cd_chain_close(c);
        cd_kv_close(kv);
    }
}

/* --- whole chains --- */

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

static void take_recorded(vec *v, cd_chain *c, const char *name, cd_json line)
{
    cd_errinfo why = {0};
    cd_chain_block *b = NULL;
    cd_err e = cd_chain_parse(c, &b, hex_of(v, line, "bytes"), &why);
    if (e == CD_OK) {
        e = cd_chain_verify(c, b, b->block.header.time * 1000, &why);
    }
    if (e == CD_OK) {
        e = cd_chain_accept(c, b, &why);
    }
    vec_check(v, e == CD_OK, "%s block %llu: %s", name, b == NULL ? 0ull : (unsigned long long)b->block.header.number,
              why.msg);
    if (b != NULL) {
        cd_chain_drop(c, b);
    }
}

/* The blocks of a recorded session: transfers, deployments, calls of every precompile. */
static void run_transcript(vec *v, const char *file)
{
    cd_bytes text;
    cd_chain *c = NULL;
    cd_kv *kv = cd_kv_mem_open();
    if (!vec_read(v, &text, vec_path(v, file))) {
        cd_kv_close(kv);
        return;
    }
    for (usize at = 0; at < text.n;) {
        const u8 *end = memchr(text.p + at, '\n', text.n - at);
        usize n = (end == NULL ? text.n : (usize)(end - text.p)) - at;
        cd_json line;
        cd_bytes one = cd_bytes_sub(text, at, n);
        at += n + 1;
        if (n == 0 || cd_json_parse(&line, &v->arena, one, 0, NULL) != CD_OK) {
            continue;
        }
        if (cd_json_has(cd_json_get(line, "genesis"))) {
            cd_errinfo why = {0};
            u64 network = 0;
            cd_chain_cfg cfg =
                recorded(kv, text_of(v, cd_json_get(line, "genesis")), upgrades_of(str_of(line, "fork")));
            vec_check(v,
                      parse_id(&cfg.blockchain_id, str_of(line, "chainID")) &&
                          cd_json_u64(&network, cd_json_get(line, "networkID"), NULL) == CD_OK,
                      "%s: ids", file);
            cfg.network_id = (u32)network;
            vec_check(v, cd_chain_open(&c, &cfg, &why) == CD_OK, "%s: %s", file, why.msg);
        } else if (c != NULL && cd_json_has(cd_json_get(line, "bytes"))) {
            take_recorded(v, c, file, line);
        }
    }
    vec_check(v, c != NULL && cd_chain_head(c)->header.number == 4, "%s: not all blocks", file);
    cd_chain_close(c);
    cd_kv_close(kv);
}

int main(void)
{
    vec v = {0};
    run_genesis(&v);
    run_upgrades(&v);
    run_invalid_blocks(&v);
    run_transcript(&v, "evm-chain/rpc-transcript-l1-fortuna.jsonl");
    run_transcript(&v, "evm-chain/rpc-transcript-l1-granite.jsonl");
    return vec_end(&v);
}
