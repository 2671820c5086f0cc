/* Warp over the conformance data: messages and signatures (p2p/warp.json), calls (warp-vectors.json),
 * predicates as access-list words and their gas (warp-predicates.json), header bytes
 * (predicate-results.json), and transactions of accepted blocks, from their predicate to their return value
 * (warp-blocks.json). [spec:warp#1] [spec:precompiles-core#9] */
#include "base/hex.h"
#include "evm/test/empty_source.h"
#include "evm/transition.h"
#include "precompile/warp_verify.h"
#include "types/tx_codec.h"
#include "vec.h"

#include <string.h>

static const cd_addr20 LEGACY = {.b = {[0] = 0x02, [19] = 0x05}};

/* --- reading --- */

static cd_bytes hex(vec *v, cd_json j)
{
    cd_bytes b = {0};
    cd_errinfo why = {0};
    if (cd_json_hex(&b, &v->arena, j, &why) != CD_OK) {
        vec_check(v, false, "%s", why.msg);
    }
    return b;
}

static u64 number(vec *v, cd_json j)
{
    u64 n = 0;
    cd_errinfo why = {0};
    if (cd_json_u64(&n, j, &why) != CD_OK) {
        vec_check(v, false, "%s", why.msg);
    }
    return n;
}

static cd_hash32 hash(vec *v, cd_json j)
{
    cd_hash32 h = {0};
    cd_errinfo why = {0};
    if (cd_json_fixed(h.b, 32, j, &why) != CD_OK) {
        vec_check(v, false, "%s", why.msg);
    }
    return h;
}

static const char *text(vec *v, cd_json j)
{
    cd_bytes b = {0};
    cd_errinfo why = {0};
    if (cd_json_str(&b, j, &why) != CD_OK) {
        vec_check(v, false, "%s", why.msg);
    }
    return cd_arena_str(&v->arena, b);
}

static bool flag(vec *v, cd_json j)
{
    bool b = false;
    cd_errinfo why = {0};
    if (cd_json_bool(&b, j, &why) != CD_OK) {
        vec_check(v, false, "%s", why.msg);
    }
    return b;
}

static const cd_hash32 *words(vec *v, usize *cnt, cd_json list)
{
    *cnt = cd_json_len(list);
    cd_hash32 *w = cd_arena_array(&v->arena, cd_hash32, *cnt);
    for (usize i = 0; i < *cnt; i++) {
        w[i] = hash(v, cd_json_at(list, i));
    }
    return w;
}

/* --- schedules --- */

static cd_schedule *warp_schedule(vec *v, bool granite, bool require_primary, u32 network_id, const cd_hash32 *chain_id)
{
    const cd_chain_config chain = {
        .durango.is_set = true,
        .shanghai.is_set = true,
        .granite.is_set = granite,
    };
    cd_json config;
    cd_schedule *s = NULL;
    cd_errinfo why = {0};
    const char *doc = require_primary ? "{\"warpConfig\":{\"blockTimestamp\":0,\"requirePrimaryNetworkSigners\":true}}"
                                      : "{\"warpConfig\":{\"blockTimestamp\":0}}";
    cd_err e = cd_json_parse(&config, &v->arena, cd_bytes_str(doc), 0, &why);
    CD_ASSERT(e == CD_OK);
    e = cd_schedule_new(&s,
                        &(cd_schedule_cfg){
                            .chain = &chain,
                            .config = config,
                            .addrs = CD_ADDRS_LEGACY,
                            .network_id = network_id,
                            .chain_id = *chain_id,
                        },
                        &why);
    CD_ASSERT(e == CD_OK);
    return s;
}

/* --- messages and signatures --- */

static void run_bitset(vec *v, cd_json j)
{
    bool flags[512] = {0};
    cd_bytes want = hex(v, cd_json_get(j, "bytes"));
    cd_json indices = cd_json_get(j, "indices");
    usize cnt = cd_json_len(indices);
    bool ok = cd_bits_is_minimal(want) && cd_bits_count(want) == cnt;
    for (usize i = 0; i < cnt; i++) {
        u64 idx = number(v, cd_json_at(indices, i));
        flags[idx] = true;
        ok = ok && cd_bits_has(want, idx) && !cd_bits_has(want, idx + 256);
        ok = ok && (i + 1 < cnt || cd_bits_len(want) == idx + 1);
    }
    cd_buf got = {0};
    cd_bits_put(&got, flags, CD_COUNT(flags));
    vec_check(v, ok && cd_bytes_eq(cd_buf_bytes(&got), want), "bitset of %zu", cnt);
    cd_buf_fini(&got);
}

static const char *verdict(const cd_warp_message *m, u32 network, const cd_warp_set *set, u64 num, cd_errinfo *why)
{
    *why = (cd_errinfo){0};
    return cd_warp_check(m, network, set, num, 100, why) == CD_OK ? "<nil>" : why->msg;
}

static void run_message(vec *v, cd_json j, const cd_warp_set *set)
{
    const char *name = text(v, cd_json_get(j, "name"));
    cd_bytes signed_bytes = hex(v, cd_json_get(j, "signed_hex"));
    cd_bytes plain = hex(v, cd_json_get(j, "unsigned_hex"));
    cd_bytes payload = hex(v, cd_json_get(j, "payload_hex"));
    cd_hash32 want_id = hash(v, cd_json_get(j, "message_id"));
    cd_hash32 id;
    u32 network = (u32)number(v, cd_json_get(j, "network_id"));
    cd_warp_message m;
    cd_warp_unsigned u;
    if (cd_warp_message_dec(&m, signed_bytes) != CD_OK || cd_warp_unsigned_dec(&u, plain) != CD_OK) {
        vec_check(v, false, "%s: does not decode", name);
        return;
    }
    cd_buf out = {0};
    cd_warp_message_enc(&out, &m);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), signed_bytes), "%s: encoding", name);
    cd_buf_clear(&out);
    cd_warp_unsigned_enc(&out, &u);
    cd_warp_unsigned_id(&id, m.text);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), plain) && cd_bytes_eq(m.text, plain), "%s: unsigned encoding", name);
    vec_check(v, cd_hash32_eq(&id, &want_id), "%s: ID", name);
    vec_check(v, cd_bytes_eq(u.payload, payload) && u.network_id == network, "%s: fields", name);
    cd_buf_clear(&out);
    cd_warp_payload p;
    vec_check(v,
              cd_warp_payload_dec(&p, payload) == CD_OK && cd_warp_payload_enc(&out, &p) == CD_OK &&
                  cd_bytes_eq(cd_buf_bytes(&out), payload),
              "%s: payload", name);
    cd_buf_fini(&out);

    cd_errinfo why;
    vec_check(v, strcmp(verdict(&m, network, set, 67, &why), text(v, cd_json_get(j, "verify_67_100"))) == 0,
              "%s: 67 %%: %s", name, why.msg);
    vec_check(v, strcmp(verdict(&m, network, set, 100, &why), text(v, cd_json_get(j, "verify_100_100"))) == 0,
              "%s: 100 %%: %s", name, why.msg);
    vec_check(v, strcmp(verdict(&m, network + 1, set, 67, &why), text(v, cd_json_get(j, "verify_wrong_network"))) == 0,
              "%s: wrong network: %s", name, why.msg);
    m.signature[95] ^= 1;
    vec_check(v, strcmp(verdict(&m, network, set, 67, &why), "<nil>") != 0, "%s: forged", name);
}

static void run_messages(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "p2p/warp.json"))) {
        return;
    }
    cd_json list = cd_json_get(doc, "validators_canonical_order");
    usize cnt = cd_json_len(list);
    cd_warp_validator *validators = cd_arena_array(&v->arena, cd_warp_validator, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_json j = cd_json_at(list, i);
        cd_warp_validator *to = &validators[cnt - 1 - i]; /* the order must not matter */
        to->weight = number(v, cd_json_get(j, "weight"));
        to->has_key = cd_bls_pk_dec(&to->key, hex(v, cd_json_get(j, "public_key_compressed"))) == CD_OK;
        vec_check(v, to->has_key, "key %zu", i);
    }
    cd_warp_set set;
    cd_err e = cd_warp_set_make(&set, &v->arena, validators, cnt);
    vec_check(v, e == CD_OK && set.cnt == cnt && set.total == number(v, cd_json_get(doc, "total_weight")),
              "canonical set");
    for (usize i = 0; i < cnt; i++) {
        cd_bytes raw = hex(v, cd_json_get(cd_json_at(list, i), "public_key_uncompressed"));
        vec_check(v, cd_bytes_eq(raw, cd_bytes_of(set.members[i].raw, 96)), "place %zu", i);
    }
    cd_json_it it = cd_json_iter(cd_json_get(doc, "bitsets"));
    while (cd_json_next(&it)) {
        run_bitset(v, it.val);
    }
    it = cd_json_iter(cd_json_get(doc, "messages"));
    while (cd_json_next(&it)) {
        run_message(v, it.val, &set);
    }
}

/* --- calls --- */

static bool same_log(vec *v, const cd_state *st, cd_json want)
{
    usize cnt;
    const cd_log *logs = cd_state_logs(st, &cnt);
    if (cnt != cd_json_len(want)) {
        return false;
    }
    for (usize i = 0; i < cnt; i++) {
        cd_json l = cd_json_at(want, i);
        cd_json topics = cd_json_get(l, "topics");
        bool same = cd_bytes_eq(hex(v, cd_json_get(l, "data")), logs[i].data) &&
                    cd_bytes_eq(hex(v, cd_json_get(l, "address")), cd_bytes_of(logs[i].addr.b, 20)) &&
                    cd_json_len(topics) == logs[i].topic_cnt;
        for (u32 t = 0; same && t < logs[i].topic_cnt; t++) {
            cd_hash32 topic = hash(v, cd_json_at(topics, t));
            same = cd_hash32_eq(&topic, &logs[i].topics[t]);
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

/* Predicates in front of the access list, and the block's word on them. */
static cd_tx_env tx_env_of(vec *v, cd_json predicates, cd_predicate_results *results, cd_bytes failed)
{
    usize cnt = cd_json_len(predicates);
    cd_tx_env env = {.hash = {.b = {0x77}}, .access_cnt = cnt};
    cd_access_tuple *tuples = cd_arena_array(&v->arena, cd_access_tuple, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_bytes b = hex(v, cd_json_at(predicates, i));
        cd_hash32 *keys = cd_arena_array(&v->arena, cd_hash32, b.n / 32);
        memcpy(keys, b.p, b.n);
        tuples[i] = (cd_access_tuple){.addr = LEGACY, .keys = keys, .key_cnt = b.n / 32};
    }
    env.access = tuples;
    cd_predicate_bits *bits = cd_arena_new(&v->arena, cd_predicate_bits);
    *bits = (cd_predicate_bits){.addr = LEGACY, .failed = failed};
    cd_predicate_results_add(results, &v->arena, &(cd_predicate_tx){.hash = env.hash, .items = bits, .cnt = 1});
    return env;
}

static void run_call(vec *v, cd_json j, usize idx, cd_state *st)
{
    bool granite = strcmp(text(v, cd_json_get(j, "rules")), "granite") == 0;
    cd_hash32 chain = hash(v, cd_json_get(j, "blockchainID"));
    cd_schedule *s = warp_schedule(v, granite, false, (u32)number(v, cd_json_get(j, "networkID")), &chain);
    cd_predicate_results results = {0};
    cd_tx_env tx = tx_env_of(v, cd_json_get(j, "predicates"), &results, hex(v, cd_json_get(j, "predicateResultBits")));
    cd_block_env block = {.number = 7, .predicates = &results};
    cd_state_reset(st, &nothing);
    cd_state_clear_logs(st);
    cd_state_begin_tx(st);
    cd_precompile_call call = {
        .input = hex(v, cd_json_get(j, "input")),
        .gas = number(v, cd_json_get(j, "gasSupplied")),
        .arena = &v->arena,
        .state = st,
        .block = &block,
        .tx = &tx,
        .self = LEGACY,
        .is_static = flag(v, cd_json_get(j, "readOnly")),
    };
    memcpy(call.caller.b, hex(v, cd_json_get(j, "caller")).p, 20);
    const cd_precompile *p = cd_precompile_find(cd_schedule_table(s, 0), &LEGACY);
    cd_precompile_outcome o = p->run(&call, p->cfg);
    const char *error = o == CD_PRE_OK           ? ""
                        : o == CD_PRE_OUT_OF_GAS ? "out of gas"
                        : call.reason != NULL    ? call.reason
                                                 : "?";
    const char *bad = strcmp(error, text(v, cd_json_get(j, "error"))) != 0          ? error
                      : call.gas != number(v, cd_json_get(j, "gasLeft"))            ? "gas"
                      : !cd_bytes_eq(call.output, hex(v, cd_json_get(j, "output"))) ? "output"
                      : !same_log(v, st, cd_json_get(j, "logs"))                    ? "logs"
                                                                                    : NULL;
    vec_check(v, bad == NULL, "call %zu: %s", idx, bad);
    cd_schedule_free(s);
}

static void run_calls(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "evm-chain/warp-vectors.json"))) {
        return;
    }
    cd_state *st = cd_state_new(&nothing);
    cd_json_it it = cd_json_iter(doc);
    for (usize i = 0; cd_json_next(&it); i++) {
        run_call(v, it.val, i, st);
    }
    cd_state_free(st);
}

/* --- predicates --- */

static void check_gas(vec *v, const cd_hash32 *w, usize cnt, bool granite, u64 want)
{
    static const cd_hash32 chain;
    cd_schedule *s = warp_schedule(v, granite, false, 0, &chain);
    const cd_precompile *p = cd_precompile_find(cd_schedule_table(s, 0), &LEGACY);
    u64 gas = 0;
    bool ok = p->predicate_gas(&gas, w, cnt, p->cfg);
    vec_check(v, ok && gas == want, "predicate gas %llu, not %llu", (unsigned long long)gas, (unsigned long long)want);
    /* Without its last word the message is cut. */
    vec_check(v, !p->predicate_gas(&gas, w, cnt - 1, p->cfg), "a cut predicate has a price");
    /* As one tuple of a transaction's access list, in place of 2400 and 1900 a key. */
    const cd_access_tuple tuples[] = {{.addr = LEGACY, .keys = w, .key_cnt = cnt}, {.keys = w, .key_cnt = 1}};
    cd_tx tx = {.type = CD_TX_DYNAMIC_FEE, .access = tuples, .access_cnt = 2};
    vec_check(v,
              cd_tx_intrinsic_gas(&gas, &tx, CD_SHANGHAI, cd_schedule_table(s, 0)) == CD_TX_VALID &&
                  gas == 21000 + want + 2400 + 1900,
              "intrinsic gas %llu", (unsigned long long)gas);
    tx.access_cnt = 1;
    vec_check(v, cd_tx_intrinsic_gas(&gas, &tx, CD_SHANGHAI, NULL) == CD_TX_VALID && gas == 21000 + 2400 + 1900 * cnt,
              "gas of an ordinary tuple");
    cd_schedule_free(s);
}

static void run_predicate(vec *v, cd_json j)
{
    usize cnt;
    const cd_hash32 *w = words(v, &cnt, cd_json_get(j, "slots"));
    cd_json whole = cd_json_get(j, "bytes");
    cd_bytes want = hex(v, cd_json_has(whole) ? whole : cd_json_get(j, "warpMessage"));
    cd_bytes got;
    cd_buf packed = {0};
    cd_predicate_pack(&packed, want);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&packed), cd_bytes_of(w, 32 * cnt)), "packing %zu bytes", want.n);
    cd_buf_fini(&packed);
    vec_check(v, cd_predicate_unpack(&got, w, cnt, NULL) == CD_OK && cd_bytes_eq(got, want), "unpacking %zu bytes",
              want.n);
    if (!cd_json_has(whole)) {
        check_gas(v, w, cnt, false, number(v, cd_json_get(j, "predicateGas_fortuna")));
        check_gas(v, w, cnt, true, number(v, cd_json_get(j, "predicateGas_granite")));
    }
}

static void run_predicates(vec *v)
{
    cd_json doc;
    if (vec_json(v, &doc, vec_path(v, "evm-chain/warp-predicates.json"))) {
        cd_json_it it = cd_json_iter(doc);
        while (cd_json_next(&it)) {
            run_predicate(v, it.val);
        }
    }
}

/* --- results in a header --- */

/* Builds the results of the map {tx: {address: [bits]}}, last transaction first. */
static cd_predicate_results results_of(vec *v, cd_json map)
{
    cd_predicate_results r = {0};
    usize cnt = cd_json_len(map);
    cd_predicate_tx *txs = cd_arena_array(&v->arena, cd_predicate_tx, cnt);
    cd_json_it it = cd_json_iter(map);
    for (usize i = 0; cd_json_next(&it); i++) {
        cd_predicate_bits *items = cd_arena_array(&v->arena, cd_predicate_bits, cd_json_len(it.val));
        CD_ASSERT(cd_hex_parse(txs[i].hash.b, cd_bytes_sub(it.key, 2, 64)) == CD_OK);
        cd_json_it by_addr = cd_json_iter(it.val);
        usize n = 0;
        while (cd_json_next(&by_addr)) {
            bool flags[64] = {0};
            cd_json_it bits = cd_json_iter(by_addr.val);
            while (cd_json_next(&bits)) {
                flags[number(v, bits.val)] = true;
            }
            cd_buf set = {0};
            cd_bits_put(&set, flags, CD_COUNT(flags));
            CD_ASSERT(cd_hex_parse(items[n].addr.b, cd_bytes_sub(by_addr.key, 2, 40)) == CD_OK);
            items[n++].failed = cd_arena_dup(&v->arena, cd_buf_bytes(&set));
            cd_buf_fini(&set);
        }
        txs[i].items = items;
        txs[i].cnt = n;
    }
    while (cnt-- != 0) {
        cd_predicate_results_add(&r, &v->arena, &txs[cnt]);
    }
    return r;
}

static void run_results(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "evm-chain/predicate-results.json"))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    for (usize i = 0; cd_json_next(&it); i++) {
        cd_bytes want = hex(v, cd_json_get(it.val, "encoded"));
        cd_predicate_results built = results_of(v, cd_json_get(it.val, "failedBits"));
        cd_predicate_results read;
        cd_buf out = {0};
        cd_predicate_results_enc(&out, &built);
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), want), "results %zu: encoding", i);
        cd_buf_clear(&out);
        bool ok = cd_predicate_results_dec(&read, &v->arena, want) == CD_OK;
        if (ok) {
            cd_predicate_results_enc(&out, &read);
        }
        vec_check(v, ok && cd_bytes_eq(cd_buf_bytes(&out), want), "results %zu: decoding", i);
        cd_buf_fini(&out);
        /* Every bit answers as the map says. */
        cd_json_it by_tx = cd_json_iter(cd_json_get(it.val, "failedBits"));
        while (ok && cd_json_next(&by_tx)) {
            cd_hash32 tx;
            CD_ASSERT(cd_hex_parse(tx.b, cd_bytes_sub(by_tx.key, 2, 64)) == CD_OK);
            cd_json_it by_addr = cd_json_iter(by_tx.val);
            while (cd_json_next(&by_addr)) {
                cd_addr20 addr;
                u64 set = 0;
                CD_ASSERT(cd_hex_parse(addr.b, cd_bytes_sub(by_addr.key, 2, 40)) == CD_OK);
                cd_json_it bits = cd_json_iter(by_addr.val);
                while (cd_json_next(&bits)) {
                    set |= (u64)1 << number(v, bits.val);
                }
                for (u64 b = 0; b < 64; b++) {
                    ok = ok && cd_predicate_failed(&read, &tx, &addr, b) == ((set >> b & 1) != 0);
                }
            }
        }
        vec_check(v, ok, "results %zu: bits", i);
    }
}

/* --- whole transactions --- */

/* Knows the validators of one subnet only. */
typedef struct block_host {
    cd_warp_host host;
    cd_hash32 source_subnet;
    cd_hash32 expected; /* the subnet whose validators have signed */
    cd_warp_set set;
    u64 height;
} block_host;

static cd_err subnet_of(cd_warp_host *h, cd_hash32 *out, const cd_hash32 *chain)
{
    (void)chain;
    *out = ((block_host *)h)->source_subnet;
    return CD_OK;
}

static cd_err validators_of(cd_warp_host *h, cd_warp_set *out, cd_arena *a, const cd_hash32 *subnet, u64 height)
{
    block_host *b = (block_host *)h;
    (void)a;
    if (!cd_hash32_eq(subnet, &b->expected) || height != b->height) {
        return CD_ENOENT;
    }
    *out = b->set;
    return CD_OK;
}

static block_host host_of(vec *v, cd_json j)
{
    bool from_primary = flag(v, cd_json_get(j, "sourceIsPrimaryNetwork"));
    block_host h = {
        .host =
            {
                .network_id = (u32)number(v, cd_json_get(j, "networkID")),
                .subnet = hash(v, cd_json_get(j, "receivingSubnet")),
                .subnet_of = subnet_of,
                .validators = validators_of,
            },
        .height = number(v, cd_json_get(j, "pChainHeight")),
    };
    if (!from_primary) {
        h.source_subnet.b[0] = 0x5b; /* any other than the primary network's */
    }
    if (!flag(v, cd_json_get(j, "signedByPrimary"))) {
        h.expected = from_primary ? h.host.subnet : h.source_subnet;
    }
    cd_json list = cd_json_get(j, "validators");
    usize cnt = cd_json_len(list);
    cd_warp_validator *validators = cd_arena_array(&v->arena, cd_warp_validator, cnt);
    for (usize i = 0; i < cnt; i++) {
        validators[i].has_key = cd_bls_pk_dec(&validators[i].key, hex(v, cd_json_at(list, i))) == CD_OK;
        validators[i].weight = number(v, cd_json_get(j, "weightEach"));
        vec_check(v, validators[i].has_key, "validator %zu", i);
    }
    vec_check(v, cd_warp_set_make(&h.set, &v->arena, validators, cnt) == CD_OK, "set");
    return h;
}

static cd_bytes encoded(vec *v, const cd_predicate_results *r)
{
    cd_buf out = {0};
    cd_predicate_results_enc(&out, r);
    cd_bytes b = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return b;
}

static void check(vec *v, cd_predicate_results *out, const cd_schedule *s, const cd_tx *tx, cd_warp_host *host,
                  u64 height)
{
    const cd_predicates_ctx ctx = {.schedule = s, .host = host, .height = height};
    vec_check(v, cd_predicates_check(out, &v->arena, &ctx, tx, 1, NULL) == CD_OK, "checks predicates");
}

static void run_block(vec *v, cd_json j, cd_evm *evm, cd_state *st)
{
    enum { WINDOW = 80 };
    const char *name = text(v, cd_json_get(j, "case"));
    cd_hash32 chain = {0};
    bool require = strstr(name, "with_RequirePrimary") != NULL;
    cd_schedule *s = warp_schedule(v, false, require, 10, &chain);
    block_host host = host_of(v, j);
    cd_tx tx;
    cd_errinfo why = {0};
    bool ok =
        cd_tx_dec(&tx, &v->arena, hex(v, cd_json_get(j, "tx")), &why) == CD_OK && cd_tx_recover(&tx, true) == CD_OK;
    vec_check(v, ok, "%s: transaction: %s", name, why.msg);

    cd_predicate_results good = {0};
    cd_predicate_results bad = {0};
    cd_bytes extra = hex(v, cd_json_get(j, "extraData"));
    vec_check(v, cd_predicates_has(s, 0, &tx), "%s: no predicates seen", name);
    check(v, &good, s, &tx, &host.host, host.height);
    vec_check(v, cd_bytes_eq(encoded(v, &good), cd_bytes_sub(extra, WINDOW, extra.n - WINDOW)),
              "%s: results in the header", name);
    /* Nobody there to vouch for the message: its bit is set. */
    check(v, &bad, s, &tx, NULL, host.height);
    vec_check(v, cd_predicate_failed(&bad, &tx.hash, &LEGACY, 0), "%s: passes without host", name);
    bad = (cd_predicate_results){0};
    host.height++;
    check(v, &bad, s, &tx, &host.host, host.height - 1);
    vec_check(v, cd_predicate_failed(&bad, &tx.hash, &LEGACY, 0), "%s: passes at any height", name);

    cd_block_env env = {.chain_id = tx.chain_id, .predicates = &good};
    cd_tx_result res;
    u64 pool = 10000000;
    cd_state_reset(st, &nothing);
    cd_schedule_apply(s, st, NULL, 0, 0);
    cd_evm_set_block(evm, CD_SHANGHAI, CD_PROFILE_L1, &env, st, cd_schedule_table(s, 0));
    cd_tx_invalid invalid = cd_tx_apply(evm, &res, &pool, &tx, &(cd_tx_relax){.nonce = true, .balance = true});
    vec_check(v, invalid == CD_TX_VALID && res.status == CD_EVM_OK, "%s: %s", name, cd_tx_invalid_str(invalid));
    vec_check(v, res.gas_used == number(v, cd_json_get(j, "gasUsed")), "%s: gas used %llu", name,
              (unsigned long long)res.gas_used);
    vec_check(v, cd_bytes_eq(res.output, hex(v, cd_json_get(j, "returnValue"))), "%s: output", name);
    cd_schedule_free(s);
}

static void run_blocks(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "evm-chain/warp-blocks.json"))) {
        return;
    }
    cd_evm *evm = cd_evm_new();
    cd_state *st = cd_state_new(&nothing);
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        run_block(v, it.val, evm, st);
    }
    cd_state_free(st);
    cd_evm_free(evm);
}

int main(void)
{
    vec v = {0};
    run_messages(&v);
    run_calls(&v);
    run_predicates(&v);
    run_results(&v);
    run_blocks(&v);
    return vec_end(&v);
}
