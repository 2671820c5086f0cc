/* Genesis of the primary network: genesis.json, genesis-lux.json, genesis-single-staker.json of
 * testdata/node-api/vectors. From the config come the bytes, the IDs and the transactions of the original. */
#include "vec.h"

#include "chains/platform/genesis/genesis.h"
#include "types/xtx.h"

static void check_id(vec *v, const char *what, const cd_hash32 *got, cd_json want)
{
    cd_bytes text = {0};
    cd_buf id = {0};
    (void)!cd_json_str(&text, want, NULL);
    cd_id_put(&id, got);
    vec_check(v, text.n != 0 && cd_bytes_eq(cd_buf_bytes(&id), text), "%s: %s", what, cd_buf_cstr(&id));
    cd_buf_fini(&id);
}

static void check_hex(vec *v, const char *what, cd_bytes got, cd_json want)
{
    cd_bytes b = {0};
    (void)!cd_json_hex(&b, &v->arena, want, NULL);
    vec_check(v, b.n != 0 && cd_bytes_eq(b, got), "%s: not the same bytes", what);
}

static void check_txs(vec *v, const char *what, const cd_linear_list *txs, cd_json want)
{
    vec_check(v, txs->cnt == cd_json_len(want), "%s: %u", what, txs->cnt);
    for (u32 i = 0; i < txs->cnt && i < cd_json_len(want); i++) {
        const cd_p_tx *tx = &((const cd_p_tx *)txs->v)[i];
        cd_hash32 id;
        cd_buf bytes = {0};
        cd_p_tx_id(&id, tx);
        cd_linear_put(&bytes, &cd_p_tx_table, tx);
        check_id(v, what, &id, cd_json_get(cd_json_at(want, i), "id"));
        check_hex(v, what, cd_buf_bytes(&bytes), cd_json_get(cd_json_at(want, i), "hex"));
        cd_buf_fini(&bytes);
    }
}

/* The network of a config: its number, the asset's words and decimals as the file was made with. */
static cd_network network_of(cd_json row, cd_network_family *family, bool is_lux)
{
    u64 id = 0;
    cd_bytes variant = {0};
    (void)!cd_json_u64(&id, cd_json_get(cd_json_get(row, "config"), "networkID"), NULL);
    cd_network net = cd_network_of((u32)id);
    *family = *cd_network_find(is_lux ? "mainnet" : "local")->family;
    net.family = family;
    net.decimals = 9;
    if (is_lux && cd_json_str(&variant, cd_json_get(row, "variant"), NULL) == CD_OK) {
        net.decimals = (u8)(variant.p[variant.n - 1] - '0');
    }
    return net;
}

static void check(vec *v, cd_json row, const char *file, bool is_lux)
{
    cd_network_family family;
    cd_network net = network_of(row, &family, is_lux);
    cd_buf text = {0};
    cd_pgenesis_config c;
    cd_pgenesis g = {.chain_cnt = 0};
    cd_errinfo why = {0};
    cd_json_raw(&text, cd_json_get(row, "config"));
    cd_err e = cd_pgenesis_config_parse(&c, &v->arena, cd_buf_bytes(&text), &net, &why);
    cd_buf_fini(&text);
    e = e != CD_OK ? e : cd_pgenesis_build(&g, &v->arena, &c, &net, &why);
    vec_check(v, e == CD_OK, "%s: %s", file, why.msg);
    if (e != CD_OK) {
        return;
    }
    check_hex(v, "genesis", g.bytes, cd_json_get(row, "genesisHex"));
    check_id(v, "hash", &g.hash, cd_json_get(row, "genesisHashID"));
    check_id(v, "asset", &g.asset_id, cd_json_get(row, "assetID"));
    check_hex(v, "block", cd_bytes_of(g.block, sizeof g.block), cd_json_get(cd_json_get(row, "genesisBlock"), "hex"));
    check_id(v, "block", &g.block_id, cd_json_get(cd_json_get(row, "genesisBlock"), "id"));
    check_txs(v, "validators", &g.state.validators, cd_json_get(row, "validators"));
    check_txs(v, "chains", &g.state.chains, cd_json_get(row, "chains"));
    vec_check(v, g.chain_cnt == 2 && cd_pgenesis_find(&g, "avm") == &g.chains[0], "%s: chains", file);
    for (usize i = 0; i < g.chain_cnt; i++) {
        cd_json chain = cd_json_at(cd_json_get(row, "chains"), i);
        check_hex(v, "chain's genesis", g.chains[i].genesis, cd_json_get(chain, "genesisDataHex"));
    }
    for (u32 i = 0; i < g.state.utxos.cnt; i++) {
        cd_buf bytes = {0};
        const cd_pgenesis_utxo *u = &((const cd_pgenesis_utxo *)g.state.utxos.v)[i];
        cd_linear_put(&bytes, &cd_p_utxo_table, &u->utxo);
        cd_put_be32(cd_buf_extend(&bytes, 4), (u32)u->message.n);
        cd_buf_put(&bytes, u->message);
        check_hex(v, "UTXO", cd_buf_bytes(&bytes), cd_json_get(cd_json_at(cd_json_get(row, "utxos"), i), "hex"));
        cd_buf_fini(&bytes);
    }
    u64 supply = 0;
    (void)!cd_json_u64(&supply, cd_json_get(row, "initialSupply"), NULL);
    vec_check(v, g.state.supply == supply, "%s: supply", file);
}

/* The stakers that are built in are those of the list of well-known ones, and so is the whole of network 12345. */
static void check_builtin(vec *v)
{
    cd_json stakers;
    cd_json files;
    cd_network net = cd_network_of(12345);
    cd_pgenesis_config c;
    cd_pgenesis g;
    if (!vec_json(v, &stakers, vec_path(v, "node-api/vectors/local-stakers.json")) ||
        !vec_json(v, &files, vec_path(v, "node-api/vectors/genesis.json"))) {
        return;
    }
    cd_pgenesis_config_builtin(&c, &v->arena, &net, 1721016001, (cd_bytes){0});
    vec_check(v, c.staker_cnt == cd_json_len(stakers), "built-in stakers");
    for (usize i = 0; i < c.staker_cnt; i++) {
        cd_json s = cd_json_at(stakers, i);
        cd_buf id = {0};
        cd_bytes text = {0};
        (void)!cd_json_str(&text, cd_json_get(s, "nodeID"), NULL);
        cd_node_id_put(&id, &c.stakers[i].node_id);
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&id), text), "staker %zu", i);
        cd_buf_fini(&id);
        check_hex(v, "key", cd_bytes_of(c.stakers[i].key, 48), cd_json_get(s, "publicKey"));
        check_hex(v, "proof", cd_bytes_of(c.stakers[i].proof, 96), cd_json_get(s, "proofOfPossession"));
    }
    cd_err e = cd_pgenesis_build(&g, &v->arena, &c, &net, NULL);
    vec_check(v, e == CD_OK, "built-in genesis");
    if (e == CD_OK) {
        check_hex(v, "built-in genesis", g.bytes, cd_json_get(cd_json_at(files, 0), "genesisHex"));
    }
    cd_pgenesis_config_builtin(&c, &v->arena, &net, 1795265950, (cd_bytes){0});
    vec_check(v, c.start_time == 1791000000, "the start moves on");
}

int main(void)
{
    static const struct {
        const char *file;
        bool is_lux;
    } files[] = {{"genesis.json", false}, {"genesis-lux.json", true}, {"genesis-single-staker.json", false}};
    vec v = {0};
    for (usize i = 0; i < CD_COUNT(files); i++) {
        cd_json all;
        const char *path = vec_path(&v, cd_arena_fmt(&v.arena, "node-api/vectors/%s", files[i].file));
        if (vec_json(&v, &all, path)) {
            cd_json_it it = cd_json_iter(all);
            while (cd_json_next(&it)) {
                check(&v, it.val, files[i].file, files[i].is_lux);
            }
        }
    }
    check_builtin(&v);
    return vec_end(&v);
}
