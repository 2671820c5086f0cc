#include "chains/evmchain/core/config/check.h"

#include "base/num_text.h"
#include "base/table/hmap.h"
#include "base/text.h"
#include "chains/evmchain/core/config/vm_config.h"
#include "chains/evmchain/core/view.h"

#include <stdio.h>
#include <stdlib.h>

/* --- places --- */

typedef enum place {
    PLACE_GENESIS,
    PLACE_CHAIN,
    PLACE_FEES,
    PLACE_ACCOUNT,
    PLACE_UPGRADE,
    PLACE_TIMES,
    PLACE_STATE,
    PLACE_STATE_ACCOUNT,
    PLACE_MODULE,
    PLACE_REWARD,
    PLACE_VM,
    PLACE_COUNT
} place;

/* As in "belongs …". */
static const char *const place_names[PLACE_COUNT] = {
    [PLACE_GENESIS] = "at the top of the genesis",
    [PLACE_CHAIN] = "into \"config\" of the genesis",
    [PLACE_FEES] = "into \"config.feeConfig\" of the genesis",
    [PLACE_ACCOUNT] = "into an account of \"alloc\" in the genesis",
    [PLACE_UPGRADE] = "at the top of the upgrade file",
    [PLACE_TIMES] = "into \"networkUpgradeOverrides\" of the upgrade file",
    [PLACE_STATE] = "into an entry of \"stateUpgrades\" in the upgrade file",
    [PLACE_STATE_ACCOUNT] = "into an account of \"stateUpgrades\" in the upgrade file",
    [PLACE_MODULE] = "into the object of a precompile",
    [PLACE_REWARD] = "into \"initialRewardConfig\" of rewardManagerConfig",
    [PLACE_VM] = "into the VM configuration",
};

typedef struct known_key {
    place place;
    const char *key;
} known_key;

static const known_key known_keys[] = {
#define X(place_, key_) {.place = PLACE_##place_, .key = (key_)},
#include "chains/evmchain/core/config/keys.def"
#define X(kind, field, key_, alias, dflt) {.place = PLACE_VM, .key = (key_)},
#include "chains/evmchain/core/config/vm_config.def"
};

/* --- findings --- */

/* One examination. */
typedef struct exam {
    cd_findings *out;
    cd_arena *a;
    cd_bytes text;
} exam;

static void find(exam *x, cd_finding_level level, const char *key, const char *message, const char *suggestion)
{
    cd_findings *f = x->out;
    f->errors += level == CD_FINDING_ERROR ? 1 : 0;
    if (f->cnt == CD_FINDINGS_MAX) {
        return;
    }
    cd_finding *one = &f->items[f->cnt++];
    *one = (cd_finding){
        .level = level,
        .key = cd_arena_str(x->a, cd_bytes_str(key)),
        .message = cd_arena_str(x->a, cd_bytes_str(message)),
        .suggestion = cd_arena_str(x->a, cd_bytes_str(suggestion)),
    };
    if (key[0] != '\0') {
        (void)cd_json_locate(&one->line, &one->column, x->text, key);
    }
}

static const char *path_of(exam *x, cd_json v)
{
    cd_buf path = {0};
    cd_json_path(&path, v);
    const char *own = cd_arena_str(x->a, cd_buf_bytes(&path));
    cd_buf_fini(&path);
    return own;
}

/* A syntax error says "… at byte N". */
static void find_syntax(exam *x, const char *message)
{
    static const char marker[] = " at byte ";
    const char *at = strstr(message, marker);
    u64 offset = 0;
    find(x, CD_FINDING_ERROR, "", message, "");
    if (at == NULL || x->out->cnt == 0 || cd_u64_parse(&offset, cd_bytes_str(at + sizeof marker - 1)) != CD_OK) {
        return;
    }
    cd_finding *one = &x->out->items[x->out->cnt - 1];
    one->line = 1;
    one->column = 1;
    for (u64 i = 0; i < offset && i < x->text.n; i++) {
        one->column++;
        if (x->text.p[i] == '\n') {
            one->line++;
            one->column = 1;
        }
    }
}

/* Messages that are about one key although they do not begin with its path; of two spellings the one that is there. */
static const char *key_of_message(cd_bytes text, const char *message)
{
    static const struct {
        const char *words;
        const char *key;
        const char *other;
    } rows[] = {
        {"gas limit in fee config", "gasLimit", NULL},
        {"expected standard allocation", "airdropHash", NULL},
        {"blobSchedule", "config.blobSchedule", NULL},
        {"gasLimit", "config.feeConfig.gasLimit", NULL},
        {"targetBlockRate", "config.feeConfig.targetBlockRate", NULL},
        {"minBaseFee", "config.feeConfig.minBaseFee", NULL},
        {"targetGas", "config.feeConfig.targetGas", NULL},
        {"baseFeeChangeDenominator", "config.feeConfig.baseFeeChangeDenominator", NULL},
        {"minBlockGasCost", "config.feeConfig.minBlockGasCost", NULL},
        {"maxBlockGasCost", "config.feeConfig.maxBlockGasCost", NULL},
        {"blockGasCostStep", "config.feeConfig.blockGasCostStep", NULL},
        {"but quasarTimestamp", "config.quasarTimestamp", "config.etnaTimestamp"},
        {"but fortunaTimestamp", "config.fortunaTimestamp", NULL},
        {"but graniteTimestamp", "config.graniteTimestamp", NULL},
        {"but durangoTimestamp", "config.durangoTimestamp", NULL},
        {"EVM fork", "config.evmTimestamp", "config.subnetEVMTimestamp"},
        {"Durango fork", "config.durangoTimestamp", NULL},
        {"Quasar fork", "config.quasarTimestamp", "config.etnaTimestamp"},
        {"Fortuna fork", "config.fortunaTimestamp", NULL},
        {"Granite fork", "config.graniteTimestamp", NULL},
        {"offline pruning", "offline-pruning-enabled", NULL},
        {"populate missing tries", "populate-missing-tries", NULL},
        {"state-sync-commit-interval", "state-sync-commit-interval", NULL},
        {"commit interval", "commit-interval", NULL},
        {"state history", "state-history", NULL},
        {"push-gossip-percent-stake", "push-gossip-percent-stake", NULL},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (strstr(message, rows[i].words) != NULL) {
            u64 line;
            u64 column;
            bool is_other = rows[i].other != NULL && cd_json_locate(&line, &column, text, rows[i].other);
            return is_other ? rows[i].other : rows[i].key;
        }
    }
    return "";
}

/* What the program's own parsers and checks say: "path: reason", or a sentence. */
static void find_error(exam *x, const cd_errinfo *why)
{
    const char *colon = strstr(why->msg, ": ");
    u64 line;
    u64 column;
    if (strncmp(why->msg, "JSON", 4) == 0) {
        find_syntax(x, why->msg);
        return;
    }
    if (colon != NULL) {
        usize n = (usize)(colon - why->msg);
        const char *path = cd_arena_str(x->a, cd_bytes_of(why->msg, n));
        /* A missing key has no place; its object does. */
        bool is_path = memchr(why->msg, ' ', n) == NULL;
        if (is_path && (cd_json_locate(&line, &column, x->text, path) || strcmp(colon + 2, "missing") == 0)) {
            find(x, CD_FINDING_ERROR, path, colon + 2, "");
            return;
        }
    }
    find(x, CD_FINDING_ERROR, key_of_message(x->text, why->msg), why->msg, "");
}

/* --- keys --- */

/* Letters and digits in lower case; what people mix up is left out. */
static usize squash(char *out, usize cap, cd_bytes key)
{
    usize n = 0;
    for (usize i = 0; i < key.n && n + 1 < cap; i++) {
        if (key.p[i] != '-' && key.p[i] != '_') {
            out[n++] = (char)cd_text_lower(key.p[i]);
        }
    }
    out[n] = '\0';
    return n;
}

enum { KEY_MAX = 64, NEAR = 2 };

/* The number of letters to change, add or drop between two words; both shorter than KEY_MAX. */
static usize distance(const char *a, usize an, const char *b, usize bn)
{
    usize row[KEY_MAX + 1];
    for (usize j = 0; j <= bn; j++) {
        row[j] = j;
    }
    for (usize i = 1; i <= an; i++) {
        usize diagonal = row[0];
        row[0] = i;
        for (usize j = 1; j <= bn; j++) {
            usize change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = cd_min_u64(change, cd_min_u64(row[j], row[j - 1]) + 1);
        }
    }
    return row[bn];
}

/* The key of that place that key was meant to be, or NULL. */
static const char *meant(place p, cd_bytes key)
{
    char want[KEY_MAX];
    usize n = squash(want, sizeof want, key);
    const char *best = NULL;
    usize best_distance = NEAR + 1;
    for (usize i = 0; i < CD_COUNT(known_keys); i++) {
        char have[KEY_MAX];
        usize m = squash(have, sizeof have, cd_bytes_str(known_keys[i].key));
        usize d = known_keys[i].place == p ? distance(want, n, have, m) : NEAR + 1;
        if (d < best_distance && d * 3 < n) {
            best = known_keys[i].key;
            best_distance = d;
        }
    }
    return best;
}

static bool belongs(place p, cd_bytes key)
{
    for (usize i = 0; i < CD_COUNT(known_keys); i++) {
        if (known_keys[i].place == p && cd_bytes_eq(key, cd_bytes_str(known_keys[i].key))) {
            return true;
        }
    }
    return (p == PLACE_CHAIN && cd_module_by_key(key) != NULL) || (p == PLACE_VM && cd_vm_config_has(key));
}

/* Where key would be right, or PLACE_COUNT. */
static place right_place(cd_bytes key)
{
    for (usize p = 0; p < PLACE_COUNT; p++) {
        if (belongs((place)p, key)) {
            return (place)p;
        }
    }
    return PLACE_COUNT;
}

/* Names every key of an object that does not belong there. */
static void check_keys(exam *x, cd_json obj, place p)
{
    cd_json_it it = cd_json_iter(obj);
    while (cd_json_next(&it)) {
        if (!it.is_obj || belongs(p, it.key)) {
            continue;
        }
        const char *suggestion = "remove it, or correct its name";
        const char *near_key = meant(p, it.key);
        place right = right_place(it.key);
        if (near_key != NULL) {
            suggestion = cd_arena_fmt(x->a, "did you mean \"%s\"?", near_key);
        } else if (right != PLACE_COUNT) {
            suggestion = cd_arena_fmt(x->a, "it belongs %s", place_names[right]);
        }
        find(x, CD_FINDING_WARNING, path_of(x, it.val),
             near_key == NULL && right != PLACE_COUNT ? "in the wrong place, without effect here"
                                                      : "unknown key, without effect",
             suggestion);
    }
}

static void check_module(exam *x, cd_json module)
{
    check_keys(x, module, PLACE_MODULE);
    check_keys(x, cd_json_get(module, "initialFeeConfig"), PLACE_FEES);
    check_keys(x, cd_json_get(module, "initialRewardConfig"), PLACE_REWARD);
}

/* The modules among the keys of an object. */
static void check_modules(exam *x, cd_json obj)
{
    cd_json_it it = cd_json_iter(obj);
    while (cd_json_next(&it)) {
        if (it.is_obj && cd_module_by_key(it.key) != NULL) {
            check_module(x, it.val);
        }
    }
}

/* --- genesis --- */

/* Two keys for one thing: the upgrade's own wins [spec:decisions#D8]. */
static void check_pair(exam *x, cd_json config, const char *theirs, const char *ours, const char *ours_too)
{
    u64 a;
    u64 b;
    cd_json own = cd_json_get(config, ours);
    if (!cd_json_has(own) && ours_too != NULL) {
        own = cd_json_get(config, ours_too);
    }
    cd_json other = cd_json_get(config, theirs);
    if (cd_json_has(own) && cd_json_has(other) && cd_json_u64(&a, own, NULL) == CD_OK &&
        cd_json_u64(&b, other, NULL) == CD_OK && a != b) {
        find(x, CD_FINDING_WARNING, path_of(x, other),
             cd_arena_fmt(x->a, "differs from \"%s\", which wins", path_of(x, own)),
             "give both the same time, or leave this one out");
    }
}

static void check_alloc(exam *x, cd_json alloc)
{
    cd_json_it it = cd_json_iter(alloc);
    usize cnt = cd_json_len(alloc);
    cd_hmap seen;
    cd_hmap_init(&seen, CD_HASH_KEYED, sizeof(cd_addr20), 0);
    cd_hmap_reserve(&seen, cnt);
    while (cd_json_next(&it) && it.is_obj) {
        cd_addr20 addr;
        bool is_new = true;
        if (cd_genesis_addr_parse(&addr, it.key) == CD_OK) {
            (void)cd_hmap_put(&seen, &is_new, &addr);
        }
        if (!is_new) {
            find(x, CD_FINDING_WARNING, path_of(x, it.val), "this address is there twice; the last one counts",
                 "keep one of them");
        }
        check_keys(x, it.val, PLACE_ACCOUNT);
    }
    cd_hmap_fini(&seen);
}

static void check_genesis_keys(exam *x, cd_json doc)
{
    cd_json config = cd_json_get(doc, "config");
    check_keys(x, doc, PLACE_GENESIS);
    check_keys(x, config, PLACE_CHAIN);
    check_keys(x, cd_json_get(config, "feeConfig"), PLACE_FEES);
    cd_json listed = cd_json_get(config, "genesisPrecompiles");
    check_modules(x, config);
    check_modules(x, listed);
    if (cd_json_has(listed)) {
        cd_json_it it = cd_json_iter(config);
        while (cd_json_next(&it)) {
            if (cd_module_by_key(it.key) != NULL) {
                find(x, CD_FINDING_WARNING, path_of(x, it.val),
                     "ignored, because \"config.genesisPrecompiles\" is there",
                     "move it into \"config.genesisPrecompiles\"");
            }
        }
    }
    check_pair(x, config, "shanghaiTime", "durangoTimestamp", NULL);
    check_pair(x, config, "cancunTime", "quasarTimestamp", "etnaTimestamp");
    if (cd_json_has(config) && !cd_json_has(cd_json_get(config, "blobSchedule"))) {
        find(x, CD_FINDING_NOTE, "config",
             "no \"blobSchedule\": cancun {target 3, max 6, baseFeeUpdateFraction 3338477} is taken", "");
    }
    check_alloc(x, cd_json_get(doc, "alloc"));
}

/* Parses the text; false after telling why it cannot be. */
static bool parse(exam *x, cd_json *doc)
{
    cd_errinfo why = {0};
    cd_err e = cd_json_parse(doc, x->a, x->text, 0, &why);
    if (e == CD_OK) {
        e = cd_json_obj(*doc, &why);
    }
    if (e != CD_OK) {
        find_error(x, &why);
    }
    return e == CD_OK;
}

void cd_genesis_check(cd_findings *out, cd_genesis_facts *facts, cd_arena *a, cd_bytes text, const cd_chain_cfg *net)
{
    exam x = {.out = out, .a = a, .text = text};
    cd_json doc;
    cd_errinfo why = {0};
    cd_chain *c = NULL;
    if (!parse(&x, &doc)) {
        return;
    }
    check_genesis_keys(&x, doc);
    /* The genesis is made in earnest, in memory. */
    cd_chain_cfg cfg = *net;
    cfg.kv = cd_kv_mem_open();
    cfg.genesis = text;
    cd_err e = cd_chain_open(&c, &cfg, &why);
    if (e != CD_OK) {
        find_error(&x, &why);
    } else if (facts != NULL) {
        *facts = (cd_genesis_facts){
            .is_good = true,
            .hash = cd_chain_head(c)->hash,
            .state_root = cd_chain_head(c)->header.state_root,
            .chain_id = cd_chain_rules_of(c)->chain_id,
            .accounts = cd_json_len(cd_json_get(doc, "alloc")),
        };
    }
    cd_chain_close(c);
    cd_kv_close(cfg.kv);
}

/* --- VM configuration, upgrade file --- */

/* A configuration as text with every key, the given ones or all as they are by themselves. */
static cd_json with_defaults(exam *x, const cd_vm_config *c)
{
    cd_buf text = {0};
    cd_json doc;
    cd_json_w w = {.out = &text};
    cd_vm_config_json(&w, c);
    cd_err e = cd_json_parse(&doc, x->a, cd_arena_dup(x->a, cd_buf_bytes(&text)), 0, NULL);
    CD_ASSERT(e == CD_OK);
    cd_buf_fini(&text);
    return doc;
}

/* Names the keys that were set to something and have no effect. */
static void check_moot(exam *x, cd_json doc, const cd_vm_config *parsed)
{
    static const struct {
        const char *key;
        const char *why;
    } rows[] = {
#define X(key_, why_) {.key = (key_), .why = "without effect: " why_},
#include "chains/evmchain/core/config/moot.def"
    };
    cd_vm_config dflt;
    cd_err e = cd_vm_config_parse(&dflt, x->a, (cd_bytes){0}, NULL);
    CD_ASSERT(e == CD_OK);
    cd_json before = with_defaults(x, &dflt);
    cd_json after = with_defaults(x, parsed);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf a = {0};
        cd_buf b = {0};
        cd_json_raw(&a, cd_json_get(before, rows[i].key));
        cd_json_raw(&b, cd_json_get(after, rows[i].key));
        if (!cd_bytes_eq(cd_buf_bytes(&a), cd_buf_bytes(&b))) {
            /* Under whichever of its names it was given. */
            const char *key = rows[i].key;
            key = cd_json_has(cd_json_get(doc, key)) ? key : cd_vm_config_alias(key);
            find(x, CD_FINDING_NOTE, key, rows[i].why, "");
        }
        cd_buf_fini(&a);
        cd_buf_fini(&b);
    }
}

void cd_vm_config_check(cd_findings *out, cd_arena *a, cd_bytes text)
{
    exam x = {.out = out, .a = a, .text = text};
    cd_json doc;
    cd_vm_config parsed;
    cd_errinfo why = {0};
    if (!parse(&x, &doc)) {
        return;
    }
    check_keys(&x, doc, PLACE_VM);
    if (cd_json_has(cd_json_get(doc, "tx-lookup-limit"))) {
        find(&x, CD_FINDING_WARNING, "tx-lookup-limit", "deprecated", "use \"transaction-history\"");
    }
    if (cd_vm_config_parse(&parsed, a, text, &why) != CD_OK) {
        find_error(&x, &why);
    } else {
        check_moot(&x, doc, &parsed);
    }
}

void cd_upgrades_check(cd_findings *out, cd_arena *a, cd_bytes text)
{
    exam x = {.out = out, .a = a, .text = text};
    cd_json doc;
    cd_upgrades parsed;
    cd_errinfo why = {0};
    if (!parse(&x, &doc)) {
        return;
    }
    check_keys(&x, doc, PLACE_UPGRADE);
    check_keys(&x, cd_json_get(doc, "networkUpgradeOverrides"), PLACE_TIMES);
    cd_json_it it = cd_json_iter(cd_json_get(doc, "stateUpgrades"));
    while (cd_json_next(&it)) {
        check_keys(&x, it.val, PLACE_STATE);
        cd_json_it acct = cd_json_iter(cd_json_get(it.val, "accounts"));
        while (cd_json_next(&acct)) {
            check_keys(&x, acct.val, PLACE_STATE_ACCOUNT);
        }
    }
    it = cd_json_iter(cd_json_get(doc, "precompileUpgrades"));
    while (cd_json_next(&it)) {
        check_modules(&x, it.val);
    }
    if (cd_upgrades_parse(&parsed, a, text, &why) != CD_OK) {
        find_error(&x, &why);
    }
}
