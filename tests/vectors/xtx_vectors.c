/* The X-Chain as it is written: testdata/node-api/vectors/xchain-txs.json, xchain-blocks.json, utxos.json and the X
 * genesis of genesis*.json. Each is read, measured, written back to the byte, hashed to its ID and shown as JSON; none
 * of its prefixes is one. */
#include "vec.h"

#include "codec/ids.h"
#include "crypto/hash/sha2.h"
#include "types/xtx.h"

static const cd_linear_place place = {.chain = "X", .prefix = "custom"};

/* Rows that the data holds of each file; fewer would be checked in vain. */
enum { TX_CNT = 9, BLOCK_CNT = 2, UTXO_CNT = 9, UTXO_P_CNT = 3 };

/* The recorder had no node that fills in extensions: its text has the zero ID in all places, and no null for empty
 * credentials of what was never read. Gives text with all IDs of extensions made zero. */
static void without_fx(cd_buf *out, cd_bytes text)
{
    static const char key[] = "\"fxID\":\"";
    static const char zero[] = "11111111111111111111111111111111LpoYY";
    cd_buf_clear(out);
    for (usize i = 0; i < text.n; i++) {
        cd_buf_u8(out, text.p[i]);
        if (out->n >= sizeof key - 1 && memcmp(out->p + out->n - (sizeof key - 1), key, sizeof key - 1) == 0) {
            cd_buf_str(out, zero);
            while (i + 1 < text.n && text.p[i + 1] != '"') {
                i++;
            }
        }
    }
}

static bool hex_of(vec *v, cd_bytes *out, cd_json row, const char *key)
{
    bool ok = cd_json_hex(out, &v->arena, cd_json_get(row, key), NULL) == CD_OK;
    vec_check(v, ok, "%s is no hex", key);
    return ok;
}

/* Reads, measures, writes back, refuses every part of it. v holds the value. */
static bool round_trip(vec *v, void *value, const cd_linear_type *t, cd_bytes bytes, const char *name)
{
    cd_errinfo why = {0};
    cd_buf out = {0};
    cd_err e = cd_linear_parse(value, t, &v->arena, bytes, 0, &why);
    vec_check(v, e == CD_OK, "%s: %s", name, why.msg);
    if (e != CD_OK) {
        return false;
    }
    vec_check(v, cd_linear_size(t, value) == bytes.n, "%s: size", name);
    cd_linear_put(&out, t, value);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), bytes), "%s: not the same bytes again", name);
    cd_buf_fini(&out);
    bool is_refused = true;
    void *cut = cd_arena_alloc(&v->arena, t->size);
    for (usize n = 0; n < bytes.n; n++) {
        memset(cut, 0, t->size);
        cd_bytes part = cd_bytes_sub(bytes, 0, n);
        is_refused = is_refused && cd_linear_parse(cut, t, &v->arena, part, 0, NULL) == CD_ESHORT;
    }
    vec_check(v, is_refused, "%s: a part of it is read", name);
    return true;
}

static void check_id(vec *v, cd_json row, const cd_hash32 *id, const char *name)
{
    cd_bytes want = {0};
    cd_buf text = {0};
    (void)!cd_json_str(&want, cd_json_get(row, "id"), NULL);
    cd_id_put(&text, id);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&text), want), "%s: ID", name);
    cd_buf_fini(&text);
}

static void check_json(vec *v, cd_json row, cd_bytes got, const char *name)
{
    cd_buf want = {0};
    cd_buf bare = {0};
    cd_json_raw(&want, cd_json_get(row, "json"));
    without_fx(&bare, got);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&bare), cd_buf_bytes(&want)), "%s: JSON is\n%s\nnot\n%s", name,
              cd_buf_cstr(&bare), cd_buf_cstr(&want));
    cd_buf_fini(&want);
    cd_buf_fini(&bare);
}

static const char *name_of(vec *v, cd_json row)
{
    cd_bytes name = {0};
    (void)!cd_json_str(&name, cd_json_get(row, "name"), NULL);
    return cd_arena_str(&v->arena, name);
}

static void check_tx(vec *v, cd_json row)
{
    cd_x_tx tx = {0};
    cd_bytes bytes;
    cd_bytes want_unsigned;
    cd_hash32 id;
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    const char *name = name_of(v, row);
    if (!hex_of(v, &bytes, row, "hex") || !hex_of(v, &want_unsigned, row, "unsignedHex") ||
        !round_trip(v, &tx, &cd_x_tx_table, bytes, name)) {
        return;
    }
    vec_check(v, cd_bytes_eq(cd_bytes_sub(bytes, 0, cd_x_unsigned_size(&tx)), want_unsigned), "%s: signed part", name);
    cd_x_tx_id(&id, &tx);
    check_id(v, row, &id, name);
    vec_check(v, cd_x_tx_base(&tx)->network_id == 1337, "%s: network", name);
    cd_x_tx_json(&w, &place, &tx, &id);
    check_json(v, row, cd_buf_bytes(&json), name);
    cd_buf_fini(&json);
}

static void check_block(vec *v, cd_json row)
{
    cd_x_block block = {0};
    cd_bytes bytes;
    cd_hash32 id;
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    const char *name = name_of(v, row);
    if (!hex_of(v, &bytes, row, "hex") || !round_trip(v, &block, &cd_x_block_table, bytes, name)) {
        return;
    }
    cd_sha256(&id, bytes);
    check_id(v, row, &id, name);
    cd_x_block_json(&w, &place, &block, &id);
    check_json(v, row, cd_buf_bytes(&json), name);
    cd_buf_fini(&json);
}

/* UTXOs of both chains stand in one file. */
static unsigned check_utxo(vec *v, cd_json row)
{
    cd_utxo utxo = {0};
    cd_bytes bytes;
    cd_bytes chain = {0};
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    cd_linear_place here = place;
    const char *name = name_of(v, row);
    (void)!cd_json_str(&chain, cd_json_get(row, "chain"), NULL);
    bool is_x = cd_bytes_eq(chain, cd_bytes_str("X"));
    const cd_linear_type *t = is_x ? &cd_x_utxo_table : &cd_p_utxo_table;
    here.chain = is_x ? "X" : "P";
    if (hex_of(v, &bytes, row, "hex") && round_trip(v, &utxo, t, bytes, name)) {
        cd_linear_json(&w, &here, t, &utxo);
        check_json(v, row, cd_buf_bytes(&json), name);
    }
    cd_buf_fini(&json);
    return is_x ? 0 : 1;
}

/* The asset of the genesis is the transaction as if it were signed by nobody. */
static void check_genesis(vec *v, cd_json row, const char *name)
{
    cd_x_genesis genesis = {0};
    cd_bytes bytes;
    cd_bytes asset_id;
    cd_hash32 id;
    cd_json_it it = cd_json_iter(cd_json_get(row, "chains"));
    bool has = cd_json_next(&it);
    vec_check(v, has, "%s: no chain", name);
    if (!has || !hex_of(v, &bytes, it.val, "genesisDataHex") || !hex_of(v, &asset_id, row, "assetIDHex") ||
        !round_trip(v, &genesis, &cd_x_genesis_table, bytes, name)) {
        return;
    }
    cd_x_genesis_asset *asset = genesis.assets.v;
    vec_check(v, genesis.assets.cnt == 1, "%s: %u assets", name, genesis.assets.cnt);
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_CREATE_ASSET), .v = &asset->tx}};
    cd_x_tx_id(&id, &tx);
    vec_check(v, cd_bytes_eq(cd_bytes_of(id.b, 32), asset_id), "%s: ID of the asset", name);
}

static bool each(vec *v, cd_json *all, const char *file)
{
    return vec_json(v, all, vec_path(v, cd_arena_fmt(&v->arena, "node-api/vectors/%s.json", file)));
}

int main(void)
{
    static const char *const genesis[] = {"genesis", "genesis-lux", "genesis-single-staker"};
    vec v = {0};
    cd_json all;
    unsigned p_cnt = 0;
    cd_json_it it;
    if (each(&v, &all, "xchain-txs")) {
        for (it = cd_json_iter(all); cd_json_next(&it);) {
            check_tx(&v, it.val);
        }
        vec_check(&v, cd_json_len(all) == TX_CNT, "%zu transactions", cd_json_len(all));
    }
    if (each(&v, &all, "xchain-blocks")) {
        for (it = cd_json_iter(all); cd_json_next(&it);) {
            check_block(&v, it.val);
        }
        vec_check(&v, cd_json_len(all) == BLOCK_CNT, "%zu blocks", cd_json_len(all));
    }
    if (each(&v, &all, "utxos")) {
        for (it = cd_json_iter(all); cd_json_next(&it);) {
            p_cnt += check_utxo(&v, it.val);
        }
        vec_check(&v, cd_json_len(all) == UTXO_CNT && p_cnt == UTXO_P_CNT, "%zu UTXOs", cd_json_len(all));
    }
    for (usize i = 0; i < CD_COUNT(genesis); i++) {
        if (each(&v, &all, genesis[i])) {
            for (it = cd_json_iter(all); cd_json_next(&it);) {
                check_genesis(&v, it.val, genesis[i]);
            }
        }
    }
    return vec_end(&v);
}
