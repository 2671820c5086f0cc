#include "chains/platform/genesis/genesis.h"

#include "chains/platform/genesis/genesis_priv.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/state/stakers.h"
#include "chains/utxo/store.h"
#include "crypto/bls/bls.h"
#include "crypto/hash/sha2.h"
#include "types/pblock.h"
#include "types/xtx.h"

/* The limit of the original's genesis codec, 2^31 - 1. */
#define GENESIS_BYTES_MAX ((usize)INT32_MAX)

/* --- the table --- */

static const cd_linear_field utxo_fields[] = {
    CD_LINEAR_FIELD(STRUCT, cd_pgenesis_utxo, utxo, "utxo", .of = &cd_p_utxo_table),
    CD_LINEAR_FIELD(BYTES, cd_pgenesis_utxo, message, "message"),
};
static const cd_linear_type utxo_type = CD_LINEAR_TYPE(cd_pgenesis_utxo, utxo_fields);
static const cd_linear_field utxo_elem = {.kind = CD_LINEAR_STRUCT, .of = &utxo_type};
static const cd_linear_field tx_elem = {.kind = CD_LINEAR_STRUCT, .of = &cd_p_tx_table};
static const cd_linear_field genesis_fields[] = {
    CD_LINEAR_FIELD(LIST, cd_pgenesis_state, utxos, "utxos", .elem = &utxo_elem),
    CD_LINEAR_FIELD(LIST, cd_pgenesis_state, validators, "validators", .elem = &tx_elem),
    CD_LINEAR_FIELD(LIST, cd_pgenesis_state, chains, "chains", .elem = &tx_elem),
    CD_LINEAR_FIELD(U64, cd_pgenesis_state, time, "timestamp"),
    CD_LINEAR_FIELD(U64, cd_pgenesis_state, supply, "initialSupply"),
    CD_LINEAR_FIELD(STRING, cd_pgenesis_state, message, "message"),
};
const cd_linear_type cd_pgenesis_table = CD_LINEAR_TYPE(cd_pgenesis_state, genesis_fields);

/* --- reading --- */

cd_err cd__pgenesis_asset_of(cd_hash32 *out, cd_arena *a, cd_bytes x_genesis, cd_errinfo *why)
{
    cd_x_genesis g;
    CD_TRY(cd_linear_parse(&g, &cd_x_genesis_table, a, x_genesis, GENESIS_BYTES_MAX, why));
    if (g.assets.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "the genesis of the X-Chain has no asset");
    }
    cd_x_genesis_asset *first = g.assets.v;
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_CREATE_ASSET), .v = &first->tx}};
    cd_x_tx_id(out, &tx);
    return CD_OK;
}

const cd_pgenesis_chain *cd_pgenesis_find(const cd_pgenesis *g, const char *vm)
{
    cd_hash32 id = {{0}};
    memcpy(id.b, vm, strnlen(vm, sizeof id.b));
    for (usize i = 0; i < g->chain_cnt; i++) {
        if (cd_hash32_eq(&g->chains[i].vm_id, &id)) {
            return &g->chains[i];
        }
    }
    return NULL;
}

static cd_err read_chains(cd_pgenesis *g, cd_arena *a, cd_errinfo *why)
{
    const cd_p_tx *txs = g->state.chains.v;
    g->chain_cnt = g->state.chains.cnt;
    g->chains = cd_arena_array(a, cd_pgenesis_chain, g->chain_cnt);
    for (usize i = 0; i < g->chain_cnt; i++) {
        if (txs[i].body.is->id != CD_P_CREATE_CHAIN) {
            return cd_fail(why, CD_EINVAL, "transaction %zu of the genesis does not create a chain", i);
        }
        const cd_p_create_chain *c = txs[i].body.v;
        g->chains[i] = (cd_pgenesis_chain){.vm_id = c->vm_id, .name = c->name, .genesis = c->genesis};
        cd_p_tx_id(&g->chains[i].id, &txs[i]);
    }
    const cd_pgenesis_chain *x = cd_pgenesis_find(g, "avm");
    return x == NULL ? CD_OK : cd__pgenesis_asset_of(&g->asset_id, a, x->genesis, why);
}

static cd_err check_validators(const cd_pgenesis *g, cd_errinfo *why)
{
    const cd_p_tx *txs = g->state.validators.v;
    for (u32 i = 0; i < g->state.validators.cnt; i++) {
        u32 type = txs[i].body.is->id;
        if (type != CD_P_ADD_VALIDATOR && type != CD_P_ADD_PERMISSIONLESS_VALIDATOR) {
            return cd_fail(why, CD_EINVAL, "transaction %u of the genesis does not add a validator", i);
        }
    }
    return CD_OK;
}

cd_err cd_pgenesis_read(cd_pgenesis *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    cd_pgenesis g = {.bytes = bytes};
    CD_TRY(cd_linear_parse(&g.state, &cd_pgenesis_table, a, bytes, GENESIS_BYTES_MAX, why));
    CD_TRY(read_chains(&g, a, why));
    CD_TRY(check_validators(&g, why));
    cd_sha256(&g.hash, bytes);
    cd_p_block_body body = {.parent = g.hash};
    cd_p_block block = cd_p_block_of(CD_P_APRICOT_COMMIT, &body);
    cd_buf text = {0};
    cd_linear_put(&text, &cd_p_block_table, &block);
    CD_ASSERT(text.n == sizeof g.block);
    memcpy(g.block, text.p, text.n);
    cd_buf_fini(&text);
    cd_sha256(&g.block_id, cd_bytes_of(g.block, sizeof g.block));
    *out = g;
    return CD_OK;
}

/* --- applying --- */

static cd_err apply_tx(const cd_pstate *s, const cd_hash32 *id, const cd_p_tx *tx)
{
    cd_buf bytes = {0};
    cd_linear_put(&bytes, &cd_p_tx_table, tx);
    cd_err e = cd_pstate_tx_put(s, id, cd_buf_bytes(&bytes), CD_P_STATUS_COMMITTED);
    cd_buf_fini(&bytes);
    return e;
}

static cd_err apply_utxos(const cd_pgenesis *g, const cd_pstate *s)
{
    const cd_pgenesis_utxo *v = g->state.utxos.v;
    cd_kv_batch b = {0};
    for (u32 i = 0; i < g->state.utxos.cnt; i++) {
        cd_utxo_put(&b, &cd_p_utxo_table, &v[i].utxo);
    }
    cd_err e = cd_kv_commit(s->kv, &b, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&b);
    return e;
}

static cd_err staker_of(cd_p_staker *out, const cd_p_tx *tx, cd_errinfo *why)
{
    const cd_p_validator *v;
    *out = (cd_p_staker){.priority = CD_P_CURRENT_VALIDATOR};
    cd_p_tx_id(&out->tx_id, tx);
    if (tx->body.is->id == CD_P_ADD_VALIDATOR) {
        v = &((const cd_p_add_validator *)tx->body.v)->validator;
    } else {
        const cd_p_add_permissionless_validator *t = tx->body.v;
        v = &t->validator;
        out->has_key = t->signer.is->id == 28;
        cd_bls_pk pk;
        if (out->has_key) {
            const cd_p_pop *pop = t->signer.v;
            if (cd_bls_pk_dec(&pk, cd_bytes_of(pop->key, sizeof pop->key)) != CD_OK) {
                return cd_fail(why, CD_EINVAL, "the genesis has a validator whose key is no key");
            }
            cd_bls_pk_enc_raw(out->key, &pk);
        }
    }
    out->node_id = v->node_id;
    out->weight = v->weight;
    out->start = v->start;
    out->end = v->end;
    return v->end > v->start ? CD_OK : cd_fail(why, CD_EINVAL, "the genesis has a validator that ends too early");
}

/* Each reward raises what exists for the next. */
static cd_err apply_validators(const cd_pgenesis *g, const cd_pstate *s, const cd_reward_cfg *rewards, cd_errinfo *why)
{
    static const cd_hash32 primary;
    const cd_p_tx *txs = g->state.validators.v;
    u64 supply = g->state.supply;
    for (u32 i = 0; i < g->state.validators.cnt; i++) {
        cd_p_staker t;
        CD_TRY(staker_of(&t, &txs[i], why));
        t.potential_reward = cd_reward(rewards, t.end - t.start, t.weight, supply);
        supply += t.potential_reward;
        CD_TRY(cd_pstate_staker_put(s, &t));
        CD_TRY(apply_tx(s, &t.tx_id, &txs[i]));
    }
    return cd_pstate_supply_set(s, &primary, supply);
}

static cd_err apply_chains(const cd_pgenesis *g, const cd_pstate *s)
{
    const cd_p_tx *txs = g->state.chains.v;
    for (usize i = 0; i < g->chain_cnt; i++) {
        cd_p_chain c = {.id = g->chains[i].id, .vm_id = g->chains[i].vm_id};
        if (g->chains[i].name.n >= sizeof c.name) {
            return CD_ELIMIT;
        }
        memcpy(c.name, g->chains[i].name.p, g->chains[i].name.n);
        CD_TRY(cd_pstate_chain_put(s, &c));
        CD_TRY(apply_tx(s, &c.id, &txs[i]));
    }
    return CD_OK;
}

cd_err cd_pgenesis_apply(const cd_pgenesis *g, const cd_pstate *s, const cd_reward_cfg *rewards, cd_errinfo *why)
{
    cd_pstate at = {.kv = s->kv, .height = 0};
    CD_TRY(apply_utxos(g, &at));
    CD_TRY(apply_validators(g, &at, rewards, why));
    CD_TRY(apply_chains(g, &at));
    CD_TRY(cd_pstate_num_set(&at, CD_PSTATE_TIME, g->state.time));
    CD_TRY(cd_pstate_block_put(&at, &g->block_id, 0, cd_bytes_of(g->block, sizeof g->block)));
    return cd_pstate_last_set(&at, &g->block_id, 0);
}
