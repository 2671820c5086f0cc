/* Chains of the C profile recorded from the original: the genesis blocks of testdata/evm-chain/cchain-genesis.json
 * under three sets of upgrades, to the byte. [spec:evm-chain#7] */
#include "tests/vectors/vec.h"

#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/core/view.h"

enum { FROM = 1607144400 };

/* Which upgrades come at 1607144400; the others never do. */
static cd_upgrade_times times_of(cd_bytes name)
{
    const cd_when then = {.is_set = true, .at = FROM};
    const cd_when never = {.is_set = true, .at = UINT64_MAX};
    cd_upgrade_times t = {.durango = never, .etna = never, .fortuna = never, .phases = never};
    bool is_granite = cd_bytes_eq(name, cd_bytes_str("Granite"));
    if (is_granite || cd_bytes_eq(name, cd_bytes_str("Fortuna"))) {
        t = (cd_upgrade_times){.durango = then, .etna = then, .fortuna = then, .phases = then};
    }
    t.granite = is_granite ? then : never;
    return t;
}

static cd_bytes hex_of(vec *v, cd_json row, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, cd_json_get(row, key), NULL) == CD_OK, "no %s", key);
    return b;
}

static void check_genesis(vec *v, cd_json row)
{
    cd_bytes label = {0};
    cd_bytes upgrades = {0};
    cd_buf genesis = {0};
    cd_errinfo why = {0};
    cd_chain *c = NULL;
    cd_kv *kv = cd_kv_mem_open();
    (void)!cd_json_str(&label, cd_json_get(row, "name"), NULL);
    (void)!cd_json_str(&upgrades, cd_json_get(row, "upgradesActiveFromTimestamp1607144400"), NULL);
    const char *name = cd_arena_fmt(&v->arena, "%.*s/%.*s", (int)label.n, (const char *)label.p, (int)upgrades.n,
                                    (const char *)upgrades.p);
    cd_json_raw(&genesis, cd_json_get(row, "genesis"));
    const cd_upgrade_times times = times_of(upgrades);
    const cd_chain_cfg cfg = {
        .kv = kv,
        .genesis = cd_buf_bytes(&genesis),
        .network = &times,
        .addrs = CD_ADDRS_LEGACY,
        .warp_quorum_min = 33,
        .unverified = true,
    };
    cd_err e = cd_chain_open(&c, &cfg, &why);
    vec_check(v, e == CD_OK, "%s: %s", name, why.msg);
    if (e == CD_OK) {
        const cd_block *b = cd_chain_head(c);
        cd_view *view = cd_view_newest(c);
        vec_check(v, cd_bytes_eq(hex_of(v, row, "stateRoot"), cd_bytes_of(b->header.state_root.b, 32)), "%s: state",
                  name);
        vec_check(v, cd_bytes_eq(hex_of(v, row, "blockHash"), cd_bytes_of(b->hash.b, 32)), "%s: hash", name);
        vec_check(v, cd_bytes_eq(hex_of(v, row, "blockRLP"), cd_view_head(view)->rlp), "%s: block", name);
        cd_view_unref(view);
        cd_chain_close(c);
    }
    cd_kv_close(kv);
    cd_buf_fini(&genesis);
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    if (vec_json(&v, &all, vec_path(&v, "evm-chain/cchain-genesis.json"))) {
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            check_genesis(&v, it.val);
        }
        vec_check(&v, cd_json_len(all) == 12, "%zu genesis blocks", cd_json_len(all));
    }
    return vec_end(&v);
}
