/* Blocks with an import and an export that the original's chain accepted, in each era from Cortina on
 * (testdata/evm-chain/cchain-atomic.json): they verify with the header, state and hash that stand in them, shared
 * memory holds afterwards what the original's did, and both transactions are found. [spec:evm-chain#9] */
#include "tests/vectors/vec.h"

#include "base/hex.h"
#include "chains/evmchain/atomic/atomic.h"
#include "chains/evmchain/core/view.h"
#include "chains/evmchain/feed/json.h"
#include "chains/utxo/utxo.h"
#include "codec/base64.h"
#include "crypto/ec/secp256k1.h"
#include "vm/shared/memory.h"

enum { FROM = 1607144400, AMOUNT = 50000000, KEYS = 3, GWEI = 1000000000 };

/* The first of the well-known test keys: their accounts had ten tokens each, as the recorded state root says. */
static const char *const keys[KEYS] = {
    "8c2bae69b0e1f6f3a5e784504ee93279226f997c5a6771b9bd6b881a8fee1e9d",
    "b1ed77ad48555d49f03a7465f0685a7d86bfd5f3a3ccf1be01971ea8dec5471c",
    "51a5e21237263396a5dfce60496d0ca3829d23fd33c38e6d13ae53b4810df9ca",
};

static void public_key(u8 out[64], usize i)
{
    u8 secret[32];
    if (cd_hex_parse(secret, cd_bytes_str(keys[i])) != CD_OK || cd_secp256k1_pub(out, secret) != CD_OK) {
        abort();
    }
}

static cd_bytes hex_of(vec *v, cd_json row, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, cd_json_get(row, key), NULL) == CD_OK, "no %s", key);
    return b;
}

static cd_hash32 hash_of(vec *v, cd_json row, const char *key)
{
    cd_hash32 h = {{0}};
    vec_check(v, cd_json_fixed(h.b, 32, cd_json_get(row, key), NULL) == CD_OK, "no %s", key);
    return h;
}

/* The genesis that the recording was made with; code is that of the blackhole's contract. */
static void put_genesis(cd_buf *out, cd_bytes code)
{
    cd_buf_str(out,
               "{\"config\":{\"chainId\":43112},\"nonce\":\"0x0\",\"timestamp\":\"0x5fcb13d0\",\"extraData\":\"0x\","
               "\"gasLimit\":\"0x5f5e100\",\"difficulty\":\"0x0\",\"alloc\":{");
    for (usize i = 0; i < KEYS; i++) {
        u8 pub[64];
        cd_addr20 addr;
        char hex[41] = {0};
        public_key(pub, i);
        cd_secp256k1_addr(&addr, pub);
        cd_hex_fmt(hex, cd_bytes_of(addr.b, 20));
        cd_buf_fmt(out, "\"%s\":{\"balance\":\"10000000000000000000\"},", hex);
    }
    cd_buf_str(out, "\"0100000000000000000000000000000000000000\":{\"balance\":\"0x0\",\"code\":\"");
    cd_buf_put(out, code);
    cd_buf_str(out, "\"}}}");
}

/* Which upgrades an era has from the genesis on; false: this chain does not run that era. */
static bool times_of(cd_upgrade_times *out, cd_bytes fork)
{
    static const char *const eras[] = {"Cortina", "Durango", "Etna", "Fortuna", "Granite"};
    const cd_when then = {.is_set = true, .at = FROM};
    const cd_when never = {.is_set = true, .at = UINT64_MAX};
    for (usize i = 0; i < CD_COUNT(eras); i++) {
        if (cd_bytes_eq(fork, cd_bytes_str(eras[i]))) {
            *out = (cd_upgrade_times){
                .phases = then,
                .durango = i >= 1 ? then : never,
                .etna = i >= 2 ? then : never,
                .fortuna = i >= 3 ? then : never,
                .granite = i >= 4 ? then : never,
            };
            return true;
        }
    }
    return false;
}

/* --- one era --- */

typedef struct era {
    vec *v;
    const char *name;
    cd_kv *store;
    cd_kv *own;
    cd_kv *part;
    cd_vm_memory of_c;
    cd_vm_memory of_x;
    cd_hash32 x_chain_id;
    cd_hash32 c_chain_id;
    cd_atomic *atomic;
    cd_chain *chain;
} era;

static void no_block(void *ctx)
{
    (void)ctx;
}

/* What the X-Chain had left: the one output that the import takes. */
static void put_utxo(era *e, const cd_hash32 *tx_id, const cd_hash32 *asset_id)
{
    static const cd_linear_case transfer = {7, &cd_transfer_output_type};
    u8 pub[64];
    cd_addr20 owner;
    cd_hash32 id;
    cd_buf value = {0};
    cd_kv_batch batch = {0};
    public_key(pub, 0);
    cd_secp256k1_short_addr(&owner, pub);
    cd_transfer_output out = {.amount = AMOUNT, .owners = {.threshold = 1, .addrs = {.v = &owner, .cnt = 1}}};
    const cd_utxo u = {.tx_id = *tx_id, .asset_id = *asset_id, .out = {.is = &transfer, .v = &out}};
    cd_utxo_id(&id, tx_id, 0);
    cd_linear_put(&value, &cd_c_utxo_table, &u);
    const cd_bytes trait = cd_bytes_of(owner.b, 20);
    const cd_vm_shared_elem put = {
        .key = cd_bytes_of(id.b, 32), .value = cd_buf_bytes(&value), .traits = &trait, .trait_cnt = 1};
    const cd_vm_shared_change change = {.peer = e->c_chain_id, .puts = &put, .put_cnt = 1};
    vec_check(e->v,
              e->of_x.shared.apply(&e->of_x.shared, &batch, &change, 1) == CD_OK &&
                  cd_kv_commit(e->store, &batch, CD_KV_NOSYNC, NULL) == CD_OK,
              "%s: no output to import", e->name);
    cd_kv_batch_fini(&batch);
    cd_buf_fini(&value);
}

static bool open_era(era *e, cd_json row, const cd_upgrade_times *times, cd_bytes genesis)
{
    cd_errinfo why = {0};
    u64 network_id = 0;
    e->store = cd_kv_mem_open();
    e->own = cd_kv_prefix_open(e->store, cd_bytes_str("C"));
    e->part = cd_kv_prefix_open(e->store, cd_bytes_str("M"));
    e->c_chain_id = hash_of(e->v, row, "cChainID");
    e->x_chain_id = hash_of(e->v, row, "xChainID");
    cd_vm_memory_init(&e->of_c, e->part, &e->c_chain_id);
    cd_vm_memory_init(&e->of_x, e->part, &e->x_chain_id);
    vec_check(e->v, cd_json_u64(&network_id, cd_json_get(row, "networkID"), NULL) == CD_OK, "no network");
    const cd_atomic_cfg cfg = {
        .net =
            {
                .network_id = (u32)network_id,
                .chain_id = e->c_chain_id,
                .x_chain_id = e->x_chain_id,
                .asset_id = hash_of(e->v, row, "assetID"),
                .rate = GWEI,
                .prefix = "custom",
            },
        .kv = e->own,
        .shared = &e->of_c.shared,
        .clock = cd_clock_real(),
        .wanted = no_block,
    };
    e->atomic = cd_atomic_open(&cfg);
    cd_atomic_bootstrapped(e->atomic, true);
    const cd_chain_cfg chain = {
        .kv = e->own,
        .genesis = genesis,
        .network = times,
        .addrs = CD_ADDRS_LEGACY,
        .ext = cd_atomic_ext(e->atomic),
        .warp_quorum_min = 33,
        .unverified = true,
    };
    cd_err err = cd_chain_open(&e->chain, &chain, &why);
    vec_check(e->v, err == CD_OK, "%s: %s", e->name, why.msg);
    err = err == CD_OK ? cd_atomic_use(e->atomic, e->chain, &why) : err;
    vec_check(e->v, err == CD_OK, "%s: %s", e->name, why.msg);
    return err == CD_OK;
}

static void close_era(era *e)
{
    cd_chain_close(e->chain);
    cd_atomic_close(e->atomic);
    cd_kv_close(e->part);
    cd_kv_close(e->own);
    cd_kv_close(e->store);
}

/* A recorded block is verified and accepted; its transaction is found. */
static void take_block(era *e, cd_json one, const char *kind)
{
    cd_chain_block *b;
    cd_kv_batch batch = {0};
    cd_errinfo why = {0};
    cd_buf bytes = {0};
    u64 height = 0;
    cd_hash32 want = hash_of(e->v, one, "blockHash");
    cd_hash32 tx_id = hash_of(e->v, one, "txIDHex");
    cd_err err = cd_chain_parse(e->chain, &b, hex_of(e->v, one, "blockBytes"), &why);
    vec_check(e->v, err == CD_OK, "%s %s: %s", e->name, kind, why.msg);
    if (err != CD_OK) {
        return;
    }
    u64 now_ms = b->block.header.time * 1000;
    err = cd_chain_verify(e->chain, b, now_ms, &why);
    vec_check(e->v, err == CD_OK, "%s %s: %s", e->name, kind, why.msg);
    if (err == CD_OK) {
        vec_check(e->v, cd_hash32_eq(&b->block.hash, &want), "%s %s: hash", e->name, kind);
        cd_kv_batch_for(&batch, e->own);
        err = cd_chain_accept_put(e->chain, b, &batch, &why);
        err = err != CD_OK ? err : cd_kv_commit(e->store, &batch, CD_KV_NOSYNC, &why);
        err = err != CD_OK ? err : cd_chain_accepted(e->chain, b, &why);
        vec_check(e->v, err == CD_OK, "%s %s: %s", e->name, kind, why.msg);
        err = cd_atomic_record(e->atomic, &height, &bytes, &tx_id);
        vec_check(e->v,
                  err == CD_OK && height == cd_chain_head(e->chain)->header.number &&
                      cd_bytes_eq(cd_buf_bytes(&bytes), hex_of(e->v, one, "signedBytes")),
                  "%s %s: record", e->name, kind);
    }
    cd_buf_fini(&bytes);
    cd_kv_batch_fini(&batch);
    cd_chain_drop(e->chain, b);
}

static void decode(vec *v, cd_buf *out, cd_json text)
{
    cd_bytes t = {0};
    cd_buf_clear(out);
    vec_check(v, cd_json_str(&t, text, NULL) == CD_OK && cd_base64_dec(out, t) == CD_OK, "no base64");
}

/* What the export left: one element, with this value, found by these traits. */
static void check_memory(era *e, cd_json requests)
{
    cd_buf key = {0};
    cd_buf value = {0};
    cd_buf trait = {0};
    cd_bytes got = {0};
    cd_bytes *found = NULL;
    usize cnt = 0;
    cd_vm_shared_cursor at = {0};
    const cd_vm_shared *x = &e->of_x.shared;
    cd_json put = cd_json_at(cd_json_get(requests, "PutRequests"), 0);
    decode(e->v, &key, cd_json_get(put, "Key"));
    decode(e->v, &value, cd_json_get(put, "Value"));
    decode(e->v, &trait, cd_json_at(cd_json_get(put, "Traits"), 0));
    cd_err err = x->get(x, &got, &e->v->arena, &e->c_chain_id, cd_buf_bytes(&key));
    vec_check(e->v, err == CD_OK && cd_bytes_eq(got, cd_buf_bytes(&value)), "%s: element", e->name);
    const cd_bytes traits = cd_buf_bytes(&trait);
    err = x->indexed(x, &found, &cnt, &e->v->arena, &e->c_chain_id, &traits, 1, &at, 10);
    vec_check(e->v, err == CD_OK && cnt == 1 && cd_bytes_eq(found[0], cd_buf_bytes(&value)), "%s: trait", e->name);
    cd_buf_fini(&key);
    cd_buf_fini(&value);
    cd_buf_fini(&trait);
}

/* --- the block as a method shows it --- */

/* The session ran at other times than the block that is replayed. */
static bool is_timed(cd_bytes key)
{
    static const char *const timed[] = {"hash", "parentHash", "timestamp", "timestampMilliseconds", "extraData"};
    bool is = false;
    for (usize i = 0; i < CD_COUNT(timed); i++) {
        is = is || cd_bytes_eq(key, cd_bytes_str(timed[i]));
    }
    return is;
}

static void check_members(era *e, cd_json shown, cd_json want)
{
    vec_check(e->v, cd_json_len(want) == cd_json_len(shown), "%s: %zu members, not %zu", e->name, cd_json_len(shown),
              cd_json_len(want));
    cd_json_it it = cd_json_iter(want);
    while (cd_json_next(&it)) {
        cd_buf have = {0};
        cd_buf text = {0};
        const char *key = cd_arena_str(&e->v->arena, it.key);
        cd_json mine = cd_json_get(shown, key);
        if (cd_json_has(mine)) {
            cd_json_raw(&have, mine);
        }
        cd_json_raw(&text, it.val);
        vec_check(e->v, is_timed(it.key) ? have.n != 0 : cd_bytes_eq(cd_buf_bytes(&have), cd_buf_bytes(&text)),
                  "%s: %s is %s, not %s", e->name, key, cd_buf_cstr(&have), cd_buf_cstr(&text));
        cd_buf_fini(&have);
        cd_buf_fini(&text);
    }
}

static void check_block_shown(era *e, cd_json call)
{
    cd_bytes text = {0};
    cd_json answer;
    cd_json shown;
    cd_buf out = {0};
    cd_json_w w = {.out = &out};
    cd_view *view = cd_view_newest(e->chain);
    const cd_accepted *head = cd_view_head(view);
    cd_api_block(&w, &head->block, cd_chain_rules_of(e->chain), head->rlp.n, true);
    cd_bytes own = cd_arena_dup(&e->v->arena, cd_buf_bytes(&out));
    bool ok = cd_json_str(&text, cd_json_get(call, "response"), NULL) == CD_OK &&
              cd_json_parse(&answer, &e->v->arena, text, 0, NULL) == CD_OK &&
              cd_json_parse(&shown, &e->v->arena, own, 0, NULL) == CD_OK;
    vec_check(e->v, ok, "%s: no block shown", e->name);
    if (ok) {
        check_members(e, shown, cd_json_get(answer, "result"));
    }
    cd_view_unref(view);
    cd_buf_fini(&out);
}

static void check_shown(era *e, cd_json rpc)
{
    usize cnt = 0;
    cd_json_it it = cd_json_iter(rpc);
    while (cd_json_next(&it)) {
        cd_bytes method = {0};
        (void)!cd_json_str(&method, cd_json_get(cd_json_get(it.val, "request"), "method"), NULL);
        if (cd_bytes_eq(method, cd_bytes_str("eth_getBlockByNumber"))) {
            check_block_shown(e, it.val);
            cnt++;
        }
    }
    vec_check(e->v, cnt == 1, "%s: %zu blocks were asked for", e->name, cnt);
}

/* --- all eras --- */

static void check_era(vec *v, cd_json row, cd_bytes genesis)
{
    cd_bytes fork = {0};
    cd_upgrade_times times;
    cd_atomic_tx t;
    cd_json import = cd_json_get(row, "import");
    cd_json export = cd_json_get(row, "export");
    (void)!cd_json_str(&fork, cd_json_get(row, "fork"), NULL);
    era e = {.v = v, .name = cd_arena_str(&v->arena, fork)};
    if (!times_of(&times, fork)) {
        return;
    }
    if (open_era(&e, row, &times, genesis) &&
        cd_atomic_parse(&t, &v->arena, hex_of(v, import, "signedBytes"), NULL) == CD_OK) {
        const cd_c_input *in = cd_atomic_import(&t)->imported.v;
        cd_hash32 asset_id = hash_of(v, row, "assetID");
        cd_bytes gone = {0};
        put_utxo(&e, &in->tx_id, &asset_id);
        take_block(&e, import, "import");
        vec_check(v,
                  e.of_c.shared.get(&e.of_c.shared, &gone, &v->arena, &e.x_chain_id, cd_bytes_of(t.inputs[0].b, 32)) ==
                      CD_ENOENT,
                  "%s: the output is still there", e.name);
        take_block(&e, export, "export");
        check_memory(&e, cd_json_get(export, "atomicRequests"));
        check_shown(&e, cd_json_get(row, "rpc"));
    }
    close_era(&e);
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    cd_json others = {0};
    cd_bytes code = {0};
    cd_buf genesis = {0};
    if (vec_json(&v, &all, vec_path(&v, "evm-chain/cchain-atomic.json")) &&
        vec_json(&v, &others, vec_path(&v, "evm-chain/cchain-genesis.json"))) {
        cd_json alloc = cd_json_get(cd_json_get(cd_json_at(others, 0), "genesis"), "alloc");
        cd_json blackhole = cd_json_get(alloc, "0100000000000000000000000000000000000000");
        vec_check(&v, cd_json_str(&code, cd_json_get(blackhole, "code"), NULL) == CD_OK, "no code");
        put_genesis(&genesis, code);
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            check_era(&v, it.val, cd_buf_bytes(&genesis));
        }
        vec_check(&v, cd_json_len(all) == 9, "%zu eras", cd_json_len(all));
    }
    cd_buf_fini(&genesis);
    return vec_end(&v);
}
