#include "precompile/schedule.h"

#include "base/mem/mem.h"
#include "precompile/module_priv.h"
#include "precompile/policy.h"
#include "types/addr_text.h"

#include <stdio.h>
#include <stdlib.h>

/* An address and the module behind it; Warp may have two. */
typedef struct site {
    cd_addr20 addr;
    cd_module_id module;
} site;

enum { SITES_MAX = CD_MODULE_COUNT + 1 };

/* What is in force from one change to the next. */
typedef struct era {
    u64 from;
    const cd_module_config *active[CD_MODULE_COUNT]; /* NULL: not in force */
    cd_precompile_table *table;
    cd__mod_env envs[SITES_MAX];
} era;

struct cd_schedule {
    cd_arena arena;
    site sites[SITES_MAX]; /* ascending by address */
    usize site_cnt;
    cd_addr20 addrs[CD_MODULE_COUNT];
    const cd_module_config *genesis[CD_MODULE_COUNT];
    cd_module_config *upgrades; /* in the file's order */
    usize upgrade_cnt;
    era *eras; /* ascending; the first from 0 */
    usize era_cnt;
    cd_fee_config fee;
    bool allow_fee_recipients;
};

/* --- addresses --- */

/* is_reserved tells whether a lies in a range of addresses where modules may live
 * [spec:precompiles-core#1]. */
static bool is_reserved(const cd_addr20 *a)
{
    static const cd_addr20 zero;
    if (memcmp(a->b, zero.b, 17) == 0) {
        u32 low = (u32)a->b[17] << 16 | cd_be16(a->b + 18);
        return (low >= 0x010000 && low <= 0x01ffff) || (low >= 0x9000 && low <= 0x9fff) ||
               (low >= 0xb000 && low <= 0xbfff) || low == 0x0100;
    }
    return a->b[0] >= 1 && a->b[0] <= 9 && memcmp(a->b + 1, zero.b, 18) == 0;
}

static int site_cmp(const void *a, const void *b)
{
    const site *x = a;
    const site *y = b;
    return memcmp(x->addr.b, y->addr.b, sizeof x->addr.b);
}

static cd_err read_book(cd_addr20 *addr, const char *key, cd_json book, cd_errinfo *why)
{
    cd_json v = cd_json_get(book, key);
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_fixed(addr->b, sizeof addr->b, v, why));
    char text[CD_ADDR_TEXT_SIZE];
    if (cd_addr20_eq(addr, &CD_BLACKHOLE)) {
        return cd_fail(why, CD_EINVAL, "address %s overlaps with blackhole address", cd_addr_fmt(text, addr));
    }
    return is_reserved(addr) ? CD_OK
                             : cd_fail(why, CD_EINVAL, "address %s not in a reserved range", cd_addr_fmt(text, addr));
}

static cd_err place_modules(cd_schedule *s, const cd_schedule_cfg *cfg, cd_errinfo *why)
{
    cd_json book = cd_json_get(cfg->config, "addressBook");
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        const cd_module_info *m = cd_module_get((cd_module_id)i);
        s->addrs[i] = cfg->addrs == CD_ADDRS_LEGACY ? m->legacy : m->addr;
        CD_TRY(read_book(&s->addrs[i], m->key, book, why));
        s->sites[s->site_cnt++] = (site){.addr = s->addrs[i], .module = m->id};
    }
    const cd_module_info *warp = cd_module_get(CD_MODULE_WARP);
    if (cfg->addrs == CD_ADDRS_PRIMARY && !cd_addr20_eq(&s->addrs[CD_MODULE_WARP], &warp->legacy)) {
        s->sites[s->site_cnt++] = (site){.addr = warp->legacy, .module = CD_MODULE_WARP};
    }
    qsort(s->sites, s->site_cnt, sizeof *s->sites, site_cmp);
    for (usize i = 1; i < s->site_cnt; i++) {
        if (site_cmp(&s->sites[i - 1], &s->sites[i]) == 0) {
            char text[CD_ADDR_TEXT_SIZE];
            return cd_fail(why, CD_EINVAL, "address %s already used by a stateful precompile",
                           cd_addr_fmt(text, &s->sites[i].addr));
        }
    }
    return CD_OK;
}

/* --- configurations --- */

static cd_err unknown(cd_bytes key, cd_errinfo *why)
{
    return cd_fail(why, CD_EINVAL, "unknown precompile config: %.*s", (int)key.n, (const char *)key.p);
}

/* names_a_module tells whether a member of the genesis' config looks like a module's configuration, by the
 * end of its key. One that we do not know must not be ignored [spec:decisions#D33]. */
static bool names_a_module(cd_bytes key, cd_json v)
{
    static const char end[] = "Config";
    usize n = sizeof end - 1;
    return key.n > n && memcmp(key.p + key.n - n, end, n) == 0 && !cd_bytes_eq(key, cd_bytes_str("feeConfig")) &&
           cd_json_kind_of(v) == CD_JSON_OBJ;
}

static cd_err parse_genesis(cd_schedule *s, cd_json config, cd_errinfo *why)
{
    cd_json own = cd_json_get(config, "genesisPrecompiles");
    bool is_own = cd_json_has(own);
    cd_json_it it = cd_json_iter(is_own ? own : config);
    while (cd_json_next(&it)) {
        const cd_module_info *m = cd_module_by_key(it.key);
        if (m == NULL && (is_own || names_a_module(it.key, it.val))) {
            return unknown(it.key, why);
        }
        if (m != NULL && cd_json_has(it.val)) {
            cd_module_config *c = cd_arena_new(&s->arena, cd_module_config);
            CD_TRY(cd_module_config_parse(c, &s->arena, m->id, it.val, why));
            s->genesis[m->id] = c;
        }
    }
    return CD_OK;
}

static cd_err parse_upgrade(cd_module_config *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    CD_TRY(cd_json_obj(v, why));
    usize keys = cd_json_len(v);
    if (keys == 0) {
        return cd_fail(why, CD_EINVAL, "PrecompileUpgrade cannot be empty");
    }
    if (keys > 1) {
        return cd_fail(why, CD_EINVAL, "PrecompileUpgrade must have exactly one key, got %zu", keys);
    }
    cd_json_it it = cd_json_iter(v);
    bool found = cd_json_next(&it);
    CD_ASSERT(found);
    const cd_module_info *m = cd_module_by_key(it.key);
    return m == NULL ? unknown(it.key, why) : cd_module_config_parse(out, a, m->id, it.val, why);
}

static cd_err parse_upgrades(cd_schedule *s, const cd_schedule_cfg *cfg, cd_errinfo *why)
{
    /* One place more, for the Warp that add_default_warp may add. */
    s->upgrades = cd_arena_array(&s->arena, cd_module_config, cd_json_len(cfg->upgrades) + 1);
    if (!cd_json_has(cfg->upgrades)) {
        return CD_OK;
    }
    CD_TRY(cd_json_arr(cfg->upgrades, why));
    cd_json_it it = cd_json_iter(cfg->upgrades);
    while (cd_json_next(&it)) {
        CD_TRY(parse_upgrade(&s->upgrades[s->upgrade_cnt], &s->arena, it.val, why));
        s->upgrade_cnt++;
    }
    return CD_OK;
}

/* --- verification --- */

/* The last entry of a module up to the one being checked. */
typedef struct last {
    bool is_set;
    bool disabled;
    u64 at;
} last;

static cd_err verify_upgrade(const cd_module_config *c, usize idx, const last *mine, const u64 *previous,
                             cd_errinfo *why)
{
    const char *key = cd_module_get(c->module)->key;
    bool disabled = !mine->is_set || mine->disabled;
    if (!c->at.is_set) {
        return cd_fail(why, CD_EINVAL, "PrecompileUpgrade (%s) at [%zu]: block timestamp cannot be nil ", key, idx);
    }
    if (previous != NULL && c->at.at < *previous) {
        return cd_fail(why, CD_EINVAL,
                       "PrecompileUpgrade (%s) at [%zu]: config block timestamp (%llu) < previous timestamp "
                       "(%llu)",
                       key, idx, (unsigned long long)c->at.at, (unsigned long long)*previous);
    }
    if (disabled == c->disable) {
        return cd_fail(why, CD_EINVAL, "PrecompileUpgrade (%s) at [%zu]: disable should be [%s]", key, idx,
                       disabled ? "false" : "true");
    }
    if (mine->is_set && c->at.at <= mine->at) {
        return cd_fail(why, CD_EINVAL,
                       "PrecompileUpgrade (%s) at [%zu]: config block timestamp (%llu) <= previous timestamp "
                       "(%llu) of same key",
                       key, idx, (unsigned long long)c->at.at, (unsigned long long)mine->at);
    }
    return CD_OK;
}

static cd_err verify(const cd_schedule *s, const cd_schedule_cfg *cfg, cd_errinfo *why)
{
    cd_module_limits limits = {
        .durango = cfg->chain->durango,
        .warp_quorum_min = cfg->warp_quorum_min != 0 ? cfg->warp_quorum_min : CD_WARP_QUORUM_MIN,
    };
    last seen[CD_MODULE_COUNT] = {0};
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        const cd_module_config *c = s->genesis[i];
        if (c == NULL) {
            continue;
        }
        CD_TRY(cd_module_config_verify(c, &limits, why));
        seen[i] = (last){.is_set = c->at.is_set, .at = c->at.at};
    }
    const u64 *previous = NULL;
    for (usize i = 0; i < s->upgrade_cnt; i++) {
        const cd_module_config *c = &s->upgrades[i];
        CD_TRY(verify_upgrade(c, i, &seen[c->module], previous, why));
        CD_TRY(cd_module_config_verify(c, &limits, why));
        seen[c->module] = (last){.is_set = true, .disabled = c->disable, .at = c->at.at};
        previous = &c->at.at;
    }
    return CD_OK;
}

/* add_default_warp switches Warp on with Durango, as the C profile wants it, unless a file configures it. */
static void add_default_warp(cd_schedule *s, const cd_chain_config *chain)
{
    bool is_configured = s->genesis[CD_MODULE_WARP] != NULL || !chain->durango.is_set;
    for (usize i = 0; i < s->upgrade_cnt; i++) {
        is_configured = is_configured || s->upgrades[i].module == CD_MODULE_WARP;
    }
    if (!is_configured) {
        s->upgrades[s->upgrade_cnt++] = (cd_module_config){.module = CD_MODULE_WARP, .at = chain->durango};
    }
}

/* --- eras --- */

/* entry gives configuration idx: 0 is that of the genesis document, the next ones are the upgrade file's.
 * NULL when it is not of this module. *end tells that idx is past the last one. */
static const cd_module_config *entry(const cd_schedule *s, cd_module_id id, usize idx, bool *end)
{
    *end = idx > s->upgrade_cnt;
    if (*end) {
        return NULL;
    }
    const cd_module_config *c = idx == 0 ? s->genesis[id] : &s->upgrades[idx - 1];
    return c != NULL && c->module == id && c->at.is_set ? c : NULL;
}

static const cd_module_config *active_at(const cd_schedule *s, cd_module_id id, u64 time)
{
    const cd_module_config *newest = NULL;
    bool end;
    for (usize i = 0; i <= s->upgrade_cnt; i++) {
        const cd_module_config *c = entry(s, id, i, &end);
        newest = c != NULL && c->at.at <= time ? c : newest;
    }
    return newest != NULL && !newest->disable ? newest : NULL;
}

static bool holds(const cd_when *w, u64 time)
{
    return w->is_set && w->at <= time;
}

/* Chains with modules know three forks by time; all earlier forks hold from the start. */
static cd_fork fork_at(const cd_chain_config *c, u64 time)
{
    return holds(&c->cancun, time) ? CD_CANCUN : holds(&c->shanghai, time) ? CD_SHANGHAI : CD_LONDON;
}

static void add_site(era *e, usize idx, const cd_schedule *s, const cd_schedule_cfg *cfg)
{
    const site *at = &s->sites[idx];
    const cd_module_info *m = cd_module_get(at->module);
    if (e->active[at->module] == NULL) {
        return;
    }
    e->envs[idx] = (cd__mod_env){
        .config = e->active[at->module],
        .addr = at->addr,
        .is_durango = holds(&cfg->chain->durango, e->from),
        .is_granite = holds(&cfg->chain->granite, e->from),
        .network_id = cfg->network_id,
        .chain_id = cfg->chain_id,
    };
    cd_err err = cd_precompile_table_add(e->table, &(cd_precompile){
                                                       .addr = at->addr,
                                                       .name = m->key,
                                                       .run = cd__mod_run,
                                                       .cfg = &e->envs[idx],
                                                       .is_stateful = true,
                                                       .predicate_gas = m->is_predicate ? cd__warp_predicate_gas : NULL,
                                                   });
    CD_ASSERT(err == CD_OK); /* the reserved ranges do not reach Ethereum's addresses */
    if (m->id == CD_MODULE_DEPLOYER) {
        cd_precompile_table_gate(e->table, CD_GATE_CREATE, &at->addr);
    } else if (m->id == CD_MODULE_TX_ALLOW) {
        cd_precompile_table_gate(e->table, CD_GATE_SEND, &at->addr);
    }
}

static void open_era(era *e, const cd_schedule *s, const cd_schedule_cfg *cfg)
{
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        e->active[i] = active_at(s, (cd_module_id)i, e->from);
    }
    e->table = cd_precompile_table_new(fork_at(cfg->chain, e->from));
    if (cfg->instead != NULL) {
        cd_precompile_table_remove(e->table, &cfg->instead->addr);
        cd_err err = cd_precompile_table_add(e->table, cfg->instead);
        CD_ASSERT(err == CD_OK); /* its place has just become free */
    }
    for (usize i = 0; i < s->site_cnt; i++) {
        add_site(e, i, s, cfg);
    }
}

static int time_cmp(const void *a, const void *b)
{
    u64 x = *(const u64 *)a;
    u64 y = *(const u64 *)b;
    return (x > y) - (x < y);
}

/* make_eras starts a new era at each time when a fork or a module changes. */
static void make_eras(cd_schedule *s, const cd_schedule_cfg *cfg)
{
    const cd_chain_config *c = cfg->chain;
    const cd_when forks[] = {c->durango, c->shanghai, c->cancun, c->granite};
    usize cap = 1 + CD_COUNT(forks) + CD_MODULE_COUNT + s->upgrade_cnt;
    u64 *times = cd_arena_array(&s->arena, u64, cap);
    usize cnt = 1; /* times[0] = 0 */
    for (usize i = 0; i < CD_COUNT(forks); i++) {
        times[cnt] = forks[i].at;
        cnt += forks[i].is_set ? 1 : 0;
    }
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        if (s->genesis[i] != NULL && s->genesis[i]->at.is_set) {
            times[cnt++] = s->genesis[i]->at.at;
        }
    }
    for (usize i = 0; i < s->upgrade_cnt; i++) {
        times[cnt] = s->upgrades[i].at.at;
        cnt += s->upgrades[i].at.is_set ? 1 : 0;
    }
    qsort(times, cnt, sizeof *times, time_cmp);
    s->eras = cd_arena_array(&s->arena, era, cnt);
    for (usize i = 0; i < cnt; i++) {
        if (i == 0 || times[i] != times[i - 1]) {
            era *e = &s->eras[s->era_cnt++];
            e->from = times[i];
            open_era(e, s, cfg);
        }
    }
}

static const era *era_at(const cd_schedule *s, u64 time)
{
    usize i = s->era_cnt;
    while (s->eras[i - 1].from > time) { /* most calls are about the newest era */
        i--;
    }
    return &s->eras[i - 1];
}

/* --- life --- */

cd_err cd_schedule_new(cd_schedule **out, const cd_schedule_cfg *cfg, cd_errinfo *why)
{
    cd_schedule *s = cd_new(cd_schedule);
    s->fee = cfg->chain->fee;
    s->allow_fee_recipients = cfg->chain->allow_fee_recipients;
    cd_err e = place_modules(s, cfg, why);
    e = e != CD_OK ? e : parse_genesis(s, cfg->config, why);
    e = e != CD_OK ? e : parse_upgrades(s, cfg, why);
    if (e == CD_OK && !cfg->unverified) {
        e = verify(s, cfg, why);
    }
    if (e != CD_OK) {
        cd_schedule_free(s);
        return e;
    }
    if (cfg->warp_at_durango) {
        add_default_warp(s, cfg->chain);
    }
    make_eras(s, cfg);
    *out = s;
    return CD_OK;
}

void cd_schedule_free(cd_schedule *s)
{
    if (s == NULL) {
        return;
    }
    for (usize i = 0; i < s->era_cnt; i++) {
        cd_precompile_table_free(s->eras[i].table);
    }
    cd_arena_fini(&s->arena);
    cd_free(s);
}

/* --- questions --- */

const cd_precompile_table *cd_schedule_table(const cd_schedule *s, u64 time)
{
    return era_at(s, time)->table;
}

const cd_module_config *cd_schedule_active(const cd_schedule *s, cd_module_id id, u64 time)
{
    return era_at(s, time)->active[id];
}

const cd_module_config *cd_schedule_genesis(const cd_schedule *s, cd_module_id id)
{
    return s->genesis[id];
}

const cd_addr20 *cd_schedule_addr(const cd_schedule *s, cd_module_id id)
{
    return &s->addrs[id];
}

bool cd_schedule_find(const cd_schedule *s, cd_module_id *out, const cd_addr20 *addr, u64 time)
{
    for (usize i = 0; i < s->site_cnt; i++) {
        if (cd_addr20_eq(&s->sites[i].addr, addr)) {
            *out = s->sites[i].module;
            return era_at(s, time)->active[*out] != NULL;
        }
    }
    return false;
}

const cd_fee_config *cd__schedule_fee(const cd_schedule *s)
{
    return &s->fee;
}

bool cd__schedule_allow_fee_recipients(const cd_schedule *s)
{
    return s->allow_fee_recipients;
}

/* --- changes --- */

cd_schedule_it cd_schedule_changes(const cd_schedule *s, const u64 *parent_time, u64 time)
{
    return (cd_schedule_it){.s = s, .parent_time = parent_time, .time = time};
}

bool cd_schedule_next(cd_schedule_it *it)
{
    const cd_schedule *s = it->s;
    while (it->site < s->site_cnt) {
        const site *at = &s->sites[it->site];
        bool end;
        const cd_module_config *c = entry(s, at->module, it->entry++, &end);
        if (end) {
            it->site++;
            it->entry = 0;
        } else if (c != NULL && c->at.at <= it->time && (it->parent_time == NULL || *it->parent_time < c->at.at)) {
            it->addr = &at->addr;
            it->config = c;
            return true;
        }
    }
    return false;
}

void cd_schedule_apply(const cd_schedule *s, cd_state *st, const u64 *parent_time, u64 time, u64 number)
{
    static const u8 code = 1; /* so that Solidity's check of EXTCODESIZE lets calls through */
    cd_schedule_it it = cd_schedule_changes(s, parent_time, time);
    while (cd_schedule_next(&it)) {
        cd_acct *a = cd_state_acct(st, it.addr);
        cd_state_begin_tx(st);
        if (it.config->disable) {
            cd_u256 none = cd_u256_zero();
            cd_state_set_balance(st, a, &none);
            cd_state_destroy(st, a);
        } else {
            cd_state_set_nonce(st, a, 1);
            cd_state_set_code(st, a, cd_bytes_of(&code, 1));
            cd__mod_activate(&(cd__mod_activation){
                .st = st,
                .acct = a,
                .config = it.config,
                .fee = &s->fee,
                .allow_fee_recipients = s->allow_fee_recipients,
                .number = number,
            });
        }
        cd_state_end_tx(st, true); /* at once: a later entry may switch the module on again */
    }
}

/* --- a changed upgrade file --- */

/* in_force gives entry number idx among a module's entries that have come into force by time, or NULL. */
static const cd_module_config *in_force(const cd_schedule *s, cd_module_id id, usize idx, u64 time)
{
    bool end;
    for (usize i = 0; i <= s->upgrade_cnt; i++) {
        const cd_module_config *c = entry(s, id, i, &end);
        if (c != NULL && c->at.at <= time && idx-- == 0) {
            return c;
        }
    }
    return NULL;
}

static cd_err mismatch(const char *what, usize idx, const cd_module_config *stored, const cd_module_config *wanted,
                       cd_errinfo *why)
{
    char have[24] = "nil";
    char want[24] = "nil";
    u64 rewind = UINT64_MAX;
    if (stored != NULL) {
        (void)snprintf(have, sizeof have, "%llu", (unsigned long long)stored->at.at);
        rewind = stored->at.at;
    }
    if (wanted != NULL) {
        (void)snprintf(want, sizeof want, "%llu", (unsigned long long)wanted->at.at);
        rewind = cd_min_u64(rewind, wanted->at.at);
    }
    return cd_fail(why, CD_EINVAL,
                   "mismatching %sPrecompileUpgrade[%zu] in database (have timestamp %s, want "
                   "timestamp %s, rewindto timestamp %llu)",
                   what, idx, have, want, (unsigned long long)(rewind == 0 ? 0 : rewind - 1));
}

cd_err cd_schedule_compatible(const cd_schedule *old, const cd_schedule *now, u64 time, cd_errinfo *why)
{
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        for (usize k = 0;; k++) {
            const cd_module_config *was = in_force(old, (cd_module_id)i, k, time);
            const cd_module_config *is = in_force(now, (cd_module_id)i, k, time);
            if (was == NULL && is == NULL) {
                break;
            }
            if (was == NULL || is == NULL || !cd_module_config_eq(was, is)) {
                const char *what = is == NULL ? "missing " : was == NULL ? "cannot retroactively enable " : "";
                return mismatch(what, k, was, is, why);
            }
        }
    }
    return CD_OK;
}

/* --- JSON --- */

void cd_schedule_json_active(cd_json_w *w, const cd_schedule *s, u64 time)
{
    const era *e = era_at(s, time);
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        if (e->active[i] != NULL) {
            cd_json_w_key(w, cd_module_get((cd_module_id)i)->key);
            cd_module_config_json(w, e->active[i]);
        }
    }
    cd_json_w_obj_end(w);
}

void cd_schedule_json_upgrades(cd_json_w *w, const cd_schedule *s)
{
    cd_json_w_arr(w);
    for (usize i = 0; i < s->upgrade_cnt; i++) {
        cd_json_w_obj(w);
        cd_json_w_key(w, cd_module_get(s->upgrades[i].module)->key);
        cd_module_config_json(w, &s->upgrades[i]);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}
