/* Messages between the P-Chain and L1s (l1-messages.json), and the shape of every transaction (pchain-txs.json).
 * [spec:pchain-xchain#2.4] [spec:pchain-xchain#4] */
#include "tests/vectors/vec.h"

#include "chains/platform/txs/shape.h"
#include "codec/ids.h"
#include "crypto/hash/sha2.h"
#include "types/pwarp.h"

static bool id_is(cd_json at, const cd_hash32 *id)
{
    cd_bytes want = {0};
    cd_buf got = {0};
    cd_id_put(&got, id);
    bool ok = cd_json_str(&want, at, NULL) == CD_OK && cd_bytes_eq(want, cd_buf_bytes(&got));
    cd_buf_fini(&got);
    return ok;
}

static void check_payload(vec *v, cd_json row)
{
    cd_bytes bytes = {0};
    cd_p_payload p = {{0}};
    cd_buf again = {0};
    cd_hash32 id;
    bool ok = cd_json_hex(&bytes, &v->arena, cd_json_get(row, "hex"), NULL) == CD_OK &&
              cd_linear_parse(&p, &cd_p_payload_table, &v->arena, bytes, 0, NULL) == CD_OK;
    vec_check(v, ok, "payload is read");
    if (!ok) {
        return;
    }
    cd_linear_put(&again, &cd_p_payload_table, &p);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&again), bytes), "payload of type %u is written as it was", p.body.is->id);
    cd_buf_fini(&again);
    if (cd_json_has(cd_json_get(row, "validationID"))) {
        cd_sha256(&id, bytes);
        vec_check(v, id_is(cd_json_get(row, "validationID"), &id), "validation ID of a registration");
    }
}

static void check_conversion(vec *v, cd_json all)
{
    cd_json row = cd_json_get(all, "conversionData");
    cd_bytes bytes = {0};
    cd_p_conversion_data d = {.validators = {0}};
    cd_p_l1_validator *vs;
    cd_hash32 id;
    bool ok = cd_json_hex(&bytes, &v->arena, cd_json_get(row, "hex"), NULL) == CD_OK &&
              cd_linear_parse(&d, &cd_p_conversion_data_table, &v->arena, bytes, 0, NULL) == CD_OK;
    vec_check(v, ok && d.validators.cnt != 0, "conversion is read");
    if (!ok) {
        return;
    }
    const cd_p_conversion_validator *from = d.validators.v;
    vs = cd_arena_array(&v->arena, cd_p_l1_validator, d.validators.cnt);
    for (u32 i = 0; i < d.validators.cnt; i++) {
        vs[i].node_id = from[i].node_id;
        memcpy(vs[i].signer.key, from[i].key, sizeof from[i].key);
        vs[i].weight = from[i].weight;
    }
    const cd_p_convert_net_to_l1 tx = {.net_id = d.net_id,
                                       .chain_id = d.manager_chain,
                                       .address = d.manager_address,
                                       .validators = {.v = vs, .cnt = d.validators.cnt}};
    cd_p_conversion_id(&id, &tx);
    vec_check(v, id_is(cd_json_get(row, "conversionID"), &id), "conversion ID");
    cd_p_validation_id(&id, &d.net_id, 0);
    vec_check(v, id_is(cd_json_get(cd_json_get(all, "initialValidationID"), "validationID"), &id), "first validator");
}

/* Each transaction of the vectors is well-formed on its network, and on no other one. */
static void check_shape(vec *v, cd_json row)
{
    cd_bytes name = {0};
    cd_bytes bytes = {0};
    cd_hash32 asset = {{0}};
    cd_p_tx tx = {.creds = {.cnt = 0}};
    cd_errinfo why = {0};
    (void)!cd_json_str(&name, cd_json_get(row, "name"), NULL);
    const char *shown = cd_arena_str(&v->arena, name);
    bool ok = cd_json_hex(&bytes, &v->arena, cd_json_get(row, "hex"), NULL) == CD_OK &&
              cd_linear_parse(&tx, &cd_p_tx_table, &v->arena, bytes, 0, NULL) == CD_OK;
    vec_check(v, ok, "%s: read", shown);
    u32 type = ok ? tx.body.is->id : 0;
    if (!ok || type == CD_P_ADVANCE_TIME || type == CD_P_REWARD_VALIDATOR || type == CD_P_TRANSFORM_NET) {
        vec_check(v, ok && cd_ptx_shape(&tx, &(cd_p_rules){.network_id = 1337}, NULL) == CD_EUNSUPPORTED, "%s", shown);
        return;
    }
    const cd_p_base *base = cd_ptx_base(&tx);
    if (base->outs.cnt != 0) {
        asset = ((const cd_p_output *)base->outs.v)->asset_id;
    }
    cd_network network = cd_network_of(1337);
    network.decimals = 9;
    network.family = cd_network_family_find("upstream");
    cd_p_rules rules = cd_p_rules_of(&network, &asset);
    vec_check(v, cd_ptx_shape(&tx, &rules, &why) == CD_OK, "%s: %s", shown, why.msg);
    rules.network_id = 1;
    cd_err e = cd_ptx_shape(&tx, &rules, &why);
    vec_check(v, e == CD_EINVAL && strstr(why.msg, "metadata failed verification: tx has wrong network ID") != NULL,
              "%s on another network: %s", shown, why.msg);
}

int main(void)
{
    vec v = {0};
    cd_json all;
    if (vec_json(&v, &all, vec_path(&v, "node-api/vectors/l1-messages.json"))) {
        cd_json_it it = cd_json_iter(cd_json_get(all, "payloads"));
        while (cd_json_next(&it)) {
            check_payload(&v, it.val);
        }
        check_conversion(&v, all);
    }
    if (vec_json(&v, &all, vec_path(&v, "node-api/vectors/pchain-txs.json"))) {
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            check_shape(&v, it.val);
        }
    }
    return vec_end(&v);
}
