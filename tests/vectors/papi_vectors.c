/* The recorded dialogues of platform.*: net12345-platform.json on the genesis that is built in, net1337-platform.json
 * behind the five rewards that emptied its validator set. papi_differ.def lists what is not the same. */
#include "vec.h"

#include "chains/platform/genesis/genesis.h"
#include "chains/platform/service/service.h"
#include "chains/platform/state/stakers.h"
#include "chains/utxo/store.h"
#include "crypto/hash/sha2.h"
#include "types/pblock.h"

/* A node: what the service stands on. */
typedef struct rig {
    vec *v;
    cd_network net;
    cd_pgenesis genesis;
    cd_kv *kv;
    cd_clock_virtual clock;
    cd_sets *sets;
    cd_uptime *uptime;
    cd_l1_fee_config l1_fee;
    bool validates; /* this node's chains are validated by it */
    cd_platform_service *service;
} rig;

static cd_err chain_of(void *ctx, cd_hash32 *out, cd_bytes alias)
{
    const rig *r = ctx;
    static const char *const names[][2] = {{"X", "avm"}, {"C", "evm"}};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_bytes_eq(alias, cd_bytes_str(names[i][0]))) {
            *out = cd_pgenesis_find(&r->genesis, names[i][1])->id;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

static cd_platform_runs runs(void *ctx, const cd_hash32 *chain)
{
    const rig *r = ctx;
    for (usize i = 0; i < r->genesis.chain_cnt; i++) {
        if (cd_hash32_eq(&r->genesis.chains[i].id, chain)) {
            return r->validates ? CD_PLATFORM_VALIDATES : CD_PLATFORM_SYNCS;
        }
    }
    return CD_PLATFORM_RUNS_NOT;
}

static void apply(rig *r)
{
    const cd_network_economy *e = r->net.economy;
    const cd_reward_cfg rewards = {.max_rate = e->max_consumption_rate,
                                   .min_rate = e->min_consumption_rate,
                                   .period_s = e->minting_period_s,
                                   .cap = cd_network_amount(&r->net, e->supply_cap)};
    cd_pstate s = {.kv = r->kv};
    vec_check(r->v, cd_pgenesis_apply(&r->genesis, &s, &rewards, NULL) == CD_OK, "genesis");
}

static void serve(rig *r)
{
    const cd_network_economy *e = r->net.economy;
    r->l1_fee = (cd_l1_fee_config){
        .capacity = e->l1_capacity, .target = e->l1_target, .min_price = e->l1_min_price, .k = e->l1_k};
    r->sets = cd_sets_new(r->kv, &r->clock.clock);
    const cd_platform_cfg cfg = {.network = &r->net,
                                 .min_validator_stake = cd_network_amount(&r->net, r->net.economy->min_validator_stake),
                                 .min_delegator_stake = cd_network_amount(&r->net, r->net.economy->min_delegator_stake),
                                 .asset_id = r->genesis.asset_id,
                                 .base = r->kv,
                                 .validators = cd_sets_validators(r->sets),
                                 .uptime = r->uptime,
                                 .clock = &r->clock.clock,
                                 .seed = 1,
                                 .gas = &cd_gas_config_default,
                                 .l1_fee = &r->l1_fee,
                                 .ctx = r,
                                 .chain_of = chain_of,
                                 .runs = runs};
    r->service = cd_platform_service_new(&cfg);
}

static void fini(rig *r)
{
    cd_platform_service_free(r->service);
    cd_sets_free(r->sets);
    cd_uptime_free(r->uptime);
    cd_kv_close(r->kv);
}

/* --- replay --- */

static const char *reason_of(const char *file, cd_bytes request, vec *v)
{
    static const char *const rows[][4] = {
#define X(file_, method_, part_, reason_) {(file_), (method_), (part_), (reason_)},
#include "papi_differ.def"
#undef X
    };
    const char *text = cd_arena_str(&v->arena, request);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (strcmp(rows[i][0], file) == 0 && strstr(text, rows[i][1]) != NULL && strstr(text, rows[i][2]) != NULL) {
            return rows[i][3];
        }
    }
    return NULL;
}

static cd_bytes trimmed(cd_bytes b)
{
    while (b.n != 0 && b.p[b.n - 1] == '\n') {
        b.n--;
    }
    return b;
}

static void replay(rig *r, const char *file, usize want)
{
    vec *v = r->v;
    cd_json all;
    usize cnt = 0;
    if (!vec_json(v, &all, vec_path(v, cd_arena_fmt(&v->arena, "node-api/transcripts/%s.json", file)))) {
        return;
    }
    cd_json_it it = cd_json_iter(all);
    while (cd_json_next(&it)) {
        cd_bytes request = {0};
        cd_bytes answer = {0};
        cd_buf got = {0};
        (void)!cd_json_str(&request, cd_json_get(cd_json_get(it.val, "request"), "body"), NULL);
        (void)!cd_json_str(&answer, cd_json_get(cd_json_get(it.val, "response"), "body"), NULL);
        cd_rpc_serve(cd_platform_service_rpc(r->service), &got, request);
        const char *reason = reason_of(file, request, v);
        bool is_same = cd_bytes_eq(trimmed(cd_buf_bytes(&got)), trimmed(answer));
        vec_check(v, is_same == (reason == NULL), "%s: %.*s\n  %s\n  %.*s", file, (int)request.n,
                  (const char *)request.p, cd_buf_cstr(&got), (int)answer.n, (const char *)answer.p);
        cd_buf_fini(&got);
        cnt++;
    }
    vec_check(v, cnt == want, "%s: %zu exchanges", file, cnt);
}

/* --- network 12345, at its genesis --- */

static void local(vec *v)
{
    rig r = {.v = v, .net = cd_network_of(12345), .kv = cd_kv_mem_open(), .validates = true};
    cd_pgenesis_config c;
    const u64 now = 1795265950;
    cd_pgenesis_config_builtin(&c, &v->arena, &r.net, now, (cd_bytes){0});
    cd_err e = cd_pgenesis_build(&r.genesis, &v->arena, &c, &r.net, NULL);
    vec_check(v, e == CD_OK, "network 12345");
    cd_clock_virtual_init(&r.clock, now * CD_NS_PER_SEC);
    r.uptime = cd_uptime_new(r.kv, &r.clock.clock);
    apply(&r);
    e = cd_uptime_start(r.uptime);
    vec_check(v, e == CD_OK, "uptime");
    cd_uptime_connected(r.uptime, &c.stakers[0].node_id); /* the node itself, and later its one peer */
    cd_clock_virtual_advance(&r.clock, 9 * CD_NS_PER_SEC);
    cd_uptime_connected(r.uptime, &c.stakers[1].node_id);
    cd_clock_virtual_advance(&r.clock, 34 * CD_NS_PER_SEC);
    serve(&r);
    replay(&r, "net12345-platform", 78);
    fini(&r);
}

/* --- network 1337, behind ten blocks --- */

/* The block at a height, as it was recorded. */
static cd_bytes recorded_block(rig *r, cd_json all, u64 height)
{
    const char *want = cd_arena_fmt(&r->v->arena, "\"platform.getBlockByHeight\",\"params\":{\"height\":%llu}}",
                                    (unsigned long long)height);
    cd_json_it it = cd_json_iter(all);
    while (cd_json_next(&it)) {
        cd_bytes request = {0};
        cd_bytes answer = {0};
        cd_json reply;
        cd_bytes block = {0};
        (void)!cd_json_str(&request, cd_json_get(cd_json_get(it.val, "request"), "body"), NULL);
        if (strstr(cd_arena_str(&r->v->arena, request), want) == NULL) {
            continue;
        }
        (void)!cd_json_str(&answer, cd_json_get(cd_json_get(it.val, "response"), "body"), NULL);
        if (cd_json_parse(&reply, &r->v->arena, answer, 0, NULL) == CD_OK &&
            cd_json_hex(&block, &r->v->arena, cd_json_get(cd_json_get(reply, "result"), "block"), NULL) == CD_OK) {
            return cd_bytes_sub(block, 0, block.n - 4); /* the checksum */
        }
    }
    return (cd_bytes){0};
}

static void put_utxo(rig *r, const cd_pstate *s, const cd_hash32 *tx_id, u32 idx, const cd_linear_any *out)
{
    cd_kv_batch b = {0};
    cd_utxo u = {.tx_id = *tx_id, .output_idx = idx, .asset_id = r->genesis.asset_id, .out = *out};
    cd_utxo_put(&b, &cd_p_utxo_table, &u);
    vec_check(r->v, cd_kv_commit(s->kv, &b, CD_KV_NOSYNC, NULL) == CD_OK, "UTXO");
    cd_kv_batch_fini(&b);
}

/* Ends the staker whose turn it is: its stake comes back, its reward is paid. */
static void reward(rig *r, const cd_pstate *s, const cd_p_tx *reward_tx)
{
    const cd_p_reward_validator *said = reward_tx->body.v;
    cd_p_staker t;
    cd_bytes bytes;
    cd_p_tx tx;
    cd_err e = cd_pstate_staker_first(s, &t, CD_P_CURRENT);
    vec_check(r->v, e == CD_OK && cd_hash32_eq(&t.tx_id, &said->tx_id), "whose turn it is");
    e = e != CD_OK ? e : cd_pstate_tx_get(s, &bytes, NULL, &r->v->arena, &t.tx_id);
    e = e != CD_OK ? e : cd_linear_parse(&tx, &cd_p_tx_table, &r->v->arena, bytes, 0, NULL);
    vec_check(r->v, e == CD_OK, "a staker's transaction");
    if (e != CD_OK) {
        return;
    }
    const cd_p_add_permissionless_validator *add = tx.body.v;
    cd_transfer_output paid = {.amount = t.potential_reward, .owners = *(const cd_owners *)add->validation_owner.v};
    const cd_linear_any paid_out = {.is = cd_p_case(7), .v = &paid};
    put_utxo(r, s, &t.tx_id, 0, &((const cd_p_output *)add->stake.v)->out);
    put_utxo(r, s, &t.tx_id, 1, &paid_out);
    e = cd_pstate_staker_del(s, &t);
    vec_check(r->v, e == CD_OK, "a staker ends");
}

static void rewards(rig *r)
{
    cd_json all;
    if (!vec_json(r->v, &all, vec_path(r->v, "node-api/transcripts/net1337-reward-lifecycle.json"))) {
        return;
    }
    for (u64 h = 1; h <= 10; h++) {
        cd_pstate s = {.kv = r->kv, .height = h};
        cd_bytes bytes = recorded_block(r, all, h);
        cd_p_block block;
        cd_hash32 id;
        cd_err e = cd_linear_parse(&block, &cd_p_block_table, &r->v->arena, bytes, 0, NULL);
        vec_check(r->v, e == CD_OK, "block %llu", (unsigned long long)h);
        if (e != CD_OK) {
            return;
        }
        const cd_p_block_body *body = cd_p_block_body_of(&block);
        if (cd_p_block_kind(&block) == CD_P_BANFF_PROPOSAL) {
            reward(r, &s, &body->tx);
        }
        cd_sha256(&id, bytes);
        e = cd_pstate_num_set(&s, CD_PSTATE_TIME, body->time);
        e = e != CD_OK ? e : cd_pstate_block_put(&s, &id, h, bytes);
        e = e != CD_OK ? e : cd_pstate_last_set(&s, &id, h);
        e = e != CD_OK ? e : cd_pstate_num_set(&s, CD_PSTATE_FEE_CAPACITY, 1000000);
        vec_check(r->v, e == CD_OK, "height %llu", (unsigned long long)h);
    }
}

static void custom(vec *v)
{
    cd_network net = cd_network_of(1337);
    net.family = cd_network_of(12345).family;
    net.decimals = 9;
    rig r = {.v = v, .net = net, .kv = cd_kv_mem_open()};
    cd_json files;
    cd_pgenesis_config c;
    cd_buf text = {0};
    if (vec_json(v, &files, vec_path(v, "node-api/vectors/genesis.json"))) {
        cd_json_raw(&text, cd_json_get(cd_json_at(files, 1), "config"));
        cd_err e = cd_pgenesis_config_parse(&c, &v->arena, cd_buf_bytes(&text), &r.net, NULL);
        e = e != CD_OK ? e : cd_pgenesis_build(&r.genesis, &v->arena, &c, &r.net, NULL);
        vec_check(v, e == CD_OK, "network 1337");
        cd_clock_virtual_init(&r.clock, 1795265950 * CD_NS_PER_SEC);
        r.uptime = cd_uptime_new(r.kv, &r.clock.clock);
        apply(&r);
        rewards(&r);
        serve(&r);
        replay(&r, "net1337-platform", 78);
    }
    cd_buf_fini(&text);
    fini(&r);
}

int main(void)
{
    vec v = {0};
    local(&v);
    custom(&v);
    return vec_end(&v);
}
