#include "base/hex.h"
#include "chains/evmchain/core/config/vm_config.h"
#include "codec/json.h"
#include "commands.h"
#include "options.h"
#include "report.h"

#include <stdio.h>

void cd__findings_print(const cd__file *f, const cd_findings *findings, bool with_warnings)
{
    static const char *const severities[] = {
        [CD_FINDING_ERROR] = "error",
        [CD_FINDING_WARNING] = "warning",
        [CD_FINDING_NOTE] = "note",
    };
    for (usize i = 0; i < findings->cnt; i++) {
        const cd_finding *one = &findings->items[i];
        cd__place at = {.file = f->name, .text = f->text, .line = one->line, .column = one->column};
        char message[400];
        if (one->level != CD_FINDING_ERROR && !with_warnings) {
            continue;
        }
        (void)snprintf(message, sizeof message, "%s%s%s", one->key, one->key[0] == '\0' ? "" : ": ", one->message);
        cd__report(severities[one->level], &at, message, one->suggestion);
    }
}

/* Prints the last line of a check and gives the exit code. */
static int conclude(const char *name, const cd_findings *findings, const char *good)
{
    usize others = findings->cnt < findings->errors ? 0 : findings->cnt - findings->errors;
    if (findings->errors != 0) {
        (void)printf("%s: %zu error%s\n", name, findings->errors, findings->errors == 1 ? "" : "s");
        return 1;
    }
    (void)printf("%s: good%s%s", name, good[0] == '\0' ? "" : ", ", good);
    if (others != 0) {
        (void)printf(" (%zu remark%s)", others, others == 1 ? "" : "s");
    }
    (void)printf("\n");
    return 0;
}

int cd__genesis_check_cmd(const char *path)
{
    cd_arena mem = {0};
    cd__file f;
    cd_findings findings = {.cnt = 0};
    cd_genesis_facts facts = {.is_good = false};
    int code = 1;
    if (cd__file_read(&f, &mem, path, false)) {
        const cd_chain_cfg net = {.addrs = CD_ADDRS_PRIMARY};
        char hash[65] = {0};
        char root[65] = {0};
        cd_genesis_check(&findings, &facts, &mem, f.text, &net);
        cd__findings_print(&f, &findings, true);
        cd_hex_fmt(hash, cd_bytes_of(facts.hash.b, 32));
        cd_hex_fmt(root, cd_bytes_of(facts.state_root.b, 32));
        code = conclude(path, &findings,
                        cd_arena_fmt(&mem, "chain id %llu, %zu account%s\n  block  0x%s\n  state  0x%s",
                                     (unsigned long long)facts.chain_id, facts.accounts, facts.accounts == 1 ? "" : "s",
                                     hash, root));
    }
    cd_arena_fini(&mem);
    return code;
}

/* --- configuration --- */

typedef enum kind {
    KIND_NODE,
    KIND_VM,
    KIND_UPGRADES,
} kind;

static bool is_flag(cd_bytes key)
{
    for (usize i = 0; i < OPT_CNT; i++) {
        if (cd_bytes_eq(key, cd_bytes_str(cd__options[i].name))) {
            return true;
        }
    }
    return false;
}

/* Tells the kind of a file by most of its keys. A file that is no object counts as the node's, which reports it. */
static kind kind_of(cd_arena *mem, cd_bytes text)
{
    static const char *const upgrades[] = {"networkUpgradeOverrides", "precompileUpgrades", "stateUpgrades"};
    usize cnt[3] = {0};
    cd_json doc;
    if (cd_json_parse(&doc, mem, text, 0, NULL) != CD_OK) {
        return KIND_NODE;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cnt[KIND_NODE] += is_flag(it.key);
        cnt[KIND_VM] += cd_vm_config_has(it.key);
        for (usize i = 0; i < CD_COUNT(upgrades); i++) {
            cnt[KIND_UPGRADES] += cd_bytes_eq(it.key, cd_bytes_str(upgrades[i]));
        }
    }
    return cnt[KIND_UPGRADES] > cnt[KIND_NODE] && cnt[KIND_UPGRADES] > cnt[KIND_VM] ? KIND_UPGRADES
           : cnt[KIND_VM] > cnt[KIND_NODE]                                          ? KIND_VM
                                                                                    : KIND_NODE;
}

typedef struct misses {
    cd_arena *mem;
    usize cnt; /* keys that nobody knows */
} misses;

static void on_miss(void *ctx, const cd__file *f, cd_bytes key)
{
    misses *m = ctx;
    m->cnt++;
    cd__config_unknown(m->mem, f, key);
}

/* Notes the keys that only other nodes have a use for, and gives their number. */
static usize note_elsewhere(cd_arena *mem, const cd__file *f)
{
    cd_json doc;
    usize cnt = 0;
    if (cd_json_parse(&doc, mem, f->text, 0, NULL) != CD_OK) {
        return 0;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        const char *reason = cd__elsewhere_reason(it.key);
        if (reason != NULL) {
            cd__place at = {.file = f->name, .text = f->text};
            const char *name = cd_arena_str(mem, it.key);
            (void)cd_json_locate(&at.line, &at.column, f->text, name);
            cd__report("note", &at, cd_arena_fmt(mem, "%s: has no effect here: %s", name, reason), "");
            cnt++;
        }
    }
    return cnt;
}

/* An empty environment: what is checked must not depend on the environment of the program that checks. */
static const char *no_env(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

static int check_node_file(cd_arena *mem, const cd__file *f)
{
    const cd_args_info info = {.program = "candela", .env = no_env};
    cd_args *a = cd_args_new(&info, cd__options, OPT_CNT);
    misses m = {.mem = mem};
    cd_findings none = {.cnt = 0};
    none.errors = cd__config_apply(a, mem, f, on_miss, &m) ? 0 : 1;
    none.errors += m.cnt;
    none.cnt = none.errors + note_elsewhere(mem, f);
    cd_args_free(a);
    return conclude(f->name, &none, "a node's configuration");
}

static int check_file(cd_arena *mem, const cd__file *f, kind k)
{
    cd_findings findings = {.cnt = 0};
    switch (k) {
    case KIND_NODE:
        return check_node_file(mem, f);
    case KIND_VM:
        cd_vm_config_check(&findings, mem, f->text);
        cd__findings_print(f, &findings, true);
        return conclude(f->name, &findings, "a VM configuration");
    case KIND_UPGRADES:
        cd_upgrades_check(&findings, mem, f->text);
        cd__findings_print(f, &findings, true);
        return conclude(f->name, &findings, "an upgrade file");
    }
    CD_UNREACHABLE();
}

int cd__config_check_cmd(cd_args *a, const char *path)
{
    static const char *const names[] = {"C", "evm"};
    cd_arena mem = {0};
    cd__file f;
    int code = 0;
    if (path != NULL) {
        code = cd__file_read(&f, &mem, path, false) ? check_file(&mem, &f, kind_of(&mem, f.text)) : 1;
    } else {
        const char *own = cd_args_path(a, &mem, OPT_CONFIG_FILE);
        cd__chain_files chain;
        if (own[0] != '\0') {
            code = cd__file_read(&f, &mem, own, false) ? check_file(&mem, &f, KIND_NODE) : 1;
        }
        if (!cd__config_load(a, &mem) || !cd__chain_files_load(&chain, a, &mem, names, CD_COUNT(names))) {
            code = 1;
        } else {
            code |= chain.config.is_there ? check_file(&mem, &chain.config, KIND_VM) : 0;
            code |= chain.upgrades.is_there ? check_file(&mem, &chain.upgrades, KIND_UPGRADES) : 0;
            if (own[0] == '\0' && !chain.config.is_there && !chain.upgrades.is_there) {
                (void)printf("no configuration files: flags, environment and defaults decide\n");
            }
        }
    }
    cd_arena_fini(&mem);
    return code;
}
