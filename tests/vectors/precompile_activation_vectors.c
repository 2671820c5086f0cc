/* testdata/evm-chain: the state that activations lead to, by its root: at genesis (l1-genesis.json) and at
 * the blocks of an upgrade file (upgrade-activation.json). [spec:precompiles-core#10] [spec:evm-chain#7] */
#include "base/hex.h"
#include "lab/mapstate.h"
#include "precompile/policy.h"
#include "vec.h"

#include <string.h>

typedef struct world {
    vec v;
    cd_trie_build *build;
    cd_state *st;
} world;

/* The files' address family, and configurations that upstream's own checks would refuse. */
static cd_schedule *schedule_of(world *w, const cd_chain_config *chain, cd_json upgrades)
{
    cd_schedule *s = NULL;
    cd_errinfo why = {0};
    cd_err e = cd_schedule_new(&s,
                               &(cd_schedule_cfg){
                                   .chain = chain,
                                   .config = chain->json,
                                   .upgrades = upgrades,
                                   .addrs = CD_ADDRS_LEGACY,
                                   .unverified = true,
                               },
                               &why);
    vec_check(&w->v, e == CD_OK, "schedule: %s", why.msg);
    return s;
}

/* What the genesis document's accounts hold goes on top of what is there. */
static void alloc(cd_state *st, const cd_genesis *g)
{
    cd_state_begin_tx(st);
    for (usize i = 0; i < g->account_cnt; i++) {
        const cd_genesis_account *from = &g->accounts[i];
        cd_acct *a = cd_state_acct(st, &from->addr);
        cd_state_set_balance(st, a, &from->balance);
        cd_state_set_nonce(st, a, from->nonce);
        if (from->code.n != 0) {
            cd_state_set_code(st, a, from->code);
        }
        for (usize j = 0; j < from->slot_cnt; j++) {
            cd_u256 key = cd_u256_from_hash(&from->slots[j].key);
            cd_u256 value = cd_u256_from_hash(&from->slots[j].value);
            cd_state_set_slot(st, cd_state_slot(st, a, &key), &value);
        }
    }
    cd_state_end_tx(st, true);
}

static cd_mapstate *genesis_state(world *w, const cd_genesis *g, const cd_schedule *s, u64 time)
{
    cd_mapstate *empty = cd_mapstate_new(&w->v.arena, w->build, NULL, 0);
    cd_mapstate *m = NULL;
    cd_state_reset(w->st, &empty->src);
    cd_schedule_apply(s, w->st, NULL, time, 0);
    alloc(w->st, g);
    cd_err e = cd_mapstate_next(&m, &w->v.arena, w->build, empty, w->st);
    CD_ASSERT(e == CD_OK);
    return m;
}

static bool parse(world *w, cd_genesis *g, cd_json v)
{
    cd_buf text = {0};
    cd_errinfo why = {0};
    cd_json_raw(&text, v);
    cd_err e = cd_genesis_parse(g, &w->v.arena, cd_buf_bytes(&text), &why);
    cd_buf_fini(&text);
    vec_check(&w->v, e == CD_OK, "genesis: %s", why.msg);
    return e == CD_OK;
}

static bool same_root(const cd_mapstate *m, cd_json want)
{
    cd_hash32 root;
    return cd_json_fixed(root.b, 32, want, NULL) == CD_OK && cd_hash32_eq(&root, &m->root);
}

/* --- genesis --- */

static void run_genesis(world *w, cd_json j)
{
    cd_genesis g;
    cd_bytes name = {0};
    (void)!cd_json_str(&name, cd_json_get(j, "name"), NULL);
    if (!parse(w, &g, cd_json_get(j, "genesis"))) {
        return;
    }
    g.config.durango = (cd_when){.is_set = true, .at = g.header.time};
    cd_schedule *s = schedule_of(w, &g.config, (cd_json){0});
    if (s != NULL) {
        cd_mapstate *m = genesis_state(w, &g, s, g.header.time);
        vec_check(&w->v, same_root(m, cd_json_get(j, "stateRoot")), "%.*s: state root", (int)name.n,
                  (const char *)name.p);
    }
    cd_schedule_free(s);
}

/* --- upgrades --- */

/* The file's only state upgrade, so that the roots of later blocks can be compared. */
static void state_upgrade(world *w, cd_json j, u64 parent, u64 time)
{
    u64 at;
    bool ok = cd_json_u64(&at, cd_json_get(j, "blockTimestamp"), NULL) == CD_OK;
    CD_ASSERT(ok);
    if (at <= parent || at > time) {
        return;
    }
    cd_state_begin_tx(w->st);
    cd_json_it it = cd_json_iter(cd_json_get(j, "accounts"));
    while (cd_json_next(&it)) {
        cd_addr20 addr;
        cd_u256 credit;
        cd_bytes code = {0};
        ok = cd_hex_parse(addr.b, cd_bytes_sub(it.key, 2, 40)) == CD_OK &&
             cd_json_u256(&credit, cd_json_get(it.val, "balanceChange"), NULL) == CD_OK;
        CD_ASSERT(ok);
        cd_acct *a = cd_state_acct(w->st, &addr);
        cd_state_add_balance(w->st, a, &credit);
        if (cd_json_hex(&code, &w->v.arena, cd_json_get(it.val, "code"), NULL) == CD_OK) {
            cd_state_set_nonce(w->st, a, 1);
            cd_state_set_code(w->st, a, code);
        }
        cd_json_it slots = cd_json_iter(cd_json_get(it.val, "storage"));
        while (cd_json_next(&slots)) {
            cd_hash32 key;
            cd_hash32 value;
            ok = cd_hex_parse(key.b, cd_bytes_sub(slots.key, 2, 64)) == CD_OK &&
                 cd_json_fixed(value.b, 32, slots.val, NULL) == CD_OK;
            CD_ASSERT(ok);
            cd_u256 k = cd_u256_from_hash(&key);
            cd_u256 v = cd_u256_from_hash(&value);
            cd_state_set_slot(w->st, cd_state_slot(w->st, a, &k), &v);
        }
    }
    cd_state_end_tx(w->st, true);
}

static const char *check_account(world *w, const cd_mapstate *m, cd_bytes key, cd_json want)
{
    cd_addr20 addr;
    bool exists;
    cd_bytes code;
    cd_u256 balance;
    cd_hash32 root;
    u64 nonce;
    if (cd_hex_parse(addr.b, cd_bytes_sub(key, 2, 40)) != CD_OK ||
        cd_json_bool(&exists, cd_json_get(want, "exists"), NULL) != CD_OK ||
        cd_json_hex(&code, &w->v.arena, cd_json_get(want, "code"), NULL) != CD_OK ||
        cd_json_u256(&balance, cd_json_get(want, "balance"), NULL) != CD_OK ||
        cd_json_u64(&nonce, cd_json_get(want, "nonce"), NULL) != CD_OK ||
        cd_json_fixed(root.b, 32, cd_json_get(want, "storageRoot"), NULL) != CD_OK) {
        return "unreadable";
    }
    const cd_map_account *a = cd_mapstate_find(m, &addr);
    if (a == NULL || !exists) {
        return (a != NULL) == exists ? NULL : "existence";
    }
    return !cd_bytes_eq(code, a->code)                  ? "code"
           : nonce != a->acc.nonce                      ? "nonce"
           : !cd_u256_eq(&balance, &a->acc.balance)     ? "balance"
           : !cd_hash32_eq(&root, &a->acc.storage_root) ? "storage"
                                                        : NULL;
}

static cd_mapstate *run_step(world *w, const cd_schedule *s, const cd_mapstate *base, cd_json step,
                             cd_json state_upgrades)
{
    u64 number;
    u64 parent;
    u64 time;
    bool ok = cd_json_u64(&number, cd_json_get(step, "number"), NULL) == CD_OK &&
              cd_json_u64(&parent, cd_json_get(step, "parentTime"), NULL) == CD_OK &&
              cd_json_u64(&time, cd_json_get(step, "time"), NULL) == CD_OK;
    CD_ASSERT(ok);
    cd_mapstate *m = NULL;
    cd_mapstate *from = cd_arena_new(&w->v.arena, cd_mapstate);
    *from = *base;
    cd_state_reset(w->st, &from->src);
    cd_schedule_apply(s, w->st, &parent, time, number);
    cd_json_it it = cd_json_iter(state_upgrades);
    while (cd_json_next(&it)) {
        state_upgrade(w, it.val, parent, time);
    }
    cd_err e = cd_mapstate_next(&m, &w->v.arena, w->build, from, w->st);
    CD_ASSERT(e == CD_OK);
    vec_check(&w->v, same_root(m, cd_json_get(step, "stateRoot")), "block %llu: state root",
              (unsigned long long)number);
    it = cd_json_iter(cd_json_get(step, "accounts"));
    while (cd_json_next(&it)) {
        const char *bad = check_account(w, m, it.key, it.val);
        vec_check(&w->v, bad == NULL, "block %llu: %.*s: %s", (unsigned long long)number, (int)it.key.n,
                  (const char *)it.key.p, bad);
    }
    return m;
}

static void run_upgrades(world *w, cd_json doc)
{
    cd_genesis g;
    cd_json bytes = cd_json_get(doc, "upgradeBytes");
    if (!parse(w, &g, cd_json_get(doc, "genesis"))) {
        return;
    }
    g.config.durango.is_set = true;
    cd_schedule *s = schedule_of(w, &g.config, cd_json_get(bytes, "precompileUpgrades"));
    u64 start;
    bool ok = cd_json_u64(&start, cd_json_get(doc, "genesisTimestampOverride"), NULL) == CD_OK;
    CD_ASSERT(ok);
    cd_mapstate *m = genesis_state(w, &g, s, start);
    vec_check(&w->v, same_root(m, cd_json_get(doc, "genesisStateRoot")), "genesis root");
    cd_json_it it = cd_json_iter(cd_json_get(doc, "steps"));
    while (cd_json_next(&it)) {
        m = run_step(w, s, m, it.val, cd_json_get(bytes, "stateUpgrades"));
    }
    cd_schedule_free(s);
}

int main(void)
{
    world w = {.build = cd_trie_build_new(NULL, NULL)};
    cd_mapstate *empty = cd_mapstate_new(&w.v.arena, w.build, NULL, 0);
    cd_json doc;
    w.st = cd_state_new(&empty->src);
    if (vec_json(&w.v, &doc, vec_path(&w.v, "evm-chain/l1-genesis.json"))) {
        cd_json_it it = cd_json_iter(doc);
        while (cd_json_next(&it)) {
            run_genesis(&w, it.val);
        }
    }
    if (vec_json(&w.v, &doc, vec_path(&w.v, "evm-chain/upgrade-activation.json"))) {
        run_upgrades(&w, doc);
    }
    cd_state_free(w.st);
    cd_trie_build_free(w.build);
    return vec_end(&w.v);
}
