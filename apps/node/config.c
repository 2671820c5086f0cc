#include "config.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/fileio.h"
#include "chains/evmchain/core/config/check.h"
#include "chains/evmchain/core/config/vm_config.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "commands.h"
#include "options.h"
#include "report.h"

enum { FILE_MAX = 64 << 20 };

bool cd__file_read_max(cd__file *out, cd_arena *mem, const char *path, bool may_miss, usize max)
{
    cd_buf text = {0};
    cd_errinfo why = {0};
    *out = (cd__file){.name = path};
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, max, &why);
    if (e == CD_OK) {
        out->text = cd_arena_dup(mem, cd_buf_bytes(&text));
        out->is_there = true;
    } else if (e != CD_ENOENT || !may_miss) {
        cd__report("error", NULL, why.msg, "");
    }
    cd_buf_fini(&text);
    return e == CD_OK || (e == CD_ENOENT && may_miss);
}

bool cd__file_read(cd__file *out, cd_arena *mem, const char *path, bool may_miss)
{
    return cd__file_read_max(out, mem, path, may_miss, FILE_MAX);
}

static bool decode(cd__file *out, cd_arena *mem, const char *name, cd_bytes text)
{
    cd_buf bytes = {0};
    cd_err e = cd_base64_dec(&bytes, text);
    *out = (cd__file){.name = name, .is_there = true};
    out->text = cd_arena_dup(mem, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    if (e != CD_OK) {
        cd__report("error", NULL, cd_arena_fmt(mem, "%s is not base64", name), "");
    }
    return e == CD_OK;
}

/* Reports what the JSON reader found. */
static void report_json(const cd__file *f, const cd_errinfo *why)
{
    const char *at = strstr(why->msg, " at byte ");
    u64 offset = 0;
    cd__place place = {.file = f->name, .text = f->text};
    if (at != NULL && cd_u64_parse(&offset, cd_bytes_str(at + 9)) == CD_OK) {
        place = cd__place_offset(f->name, f->text, offset);
    }
    cd__report("error", &place, why->msg, "");
}

/* --- the node's own --- */

/* Writes a JSON value as the text that the flag would have. */
static void text_of(cd_buf *out, cd_json v)
{
    cd_bytes s;
    if (cd_json_str(&s, v, NULL) == CD_OK) {
        cd_buf_put(out, s);
    } else if (cd_json_kind_of(v) == CD_JSON_ARR) {
        cd_json_it it = cd_json_iter(v);
        for (bool is_next = false; cd_json_next(&it); is_next = true) {
            cd_buf_str(out, is_next ? "," : "");
            if (cd_json_str(&s, it.val, NULL) == CD_OK) {
                cd_buf_put(out, s);
            } else {
                cd_json_raw(out, it.val);
            }
        }
    } else {
        cd_json_raw(out, v);
    }
}

bool cd__config_apply(cd_args *a, cd_arena *mem, const cd__file *f, cd__config_miss *misses, void *ctx)
{
    cd_json doc;
    cd_errinfo why = {0};
    cd_err e = cd_json_parse(&doc, mem, f->text, 0, &why);
    if (e == CD_OK && cd_json_kind_of(doc) != CD_JSON_OBJ) {
        e = cd_fail(&why, CD_ETYPE, "the file must be a JSON object of flags and their values");
    }
    if (e != CD_OK) {
        report_json(f, &why);
        return false;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cd_buf text = {0};
        const char *key = cd_arena_str(mem, it.key);
        text_of(&text, it.val);
        e = strlen(key) == it.key.n ? cd_args_file_value(a, key, cd_buf_bytes(&text), &why) : CD_ENOENT;
        cd_buf_fini(&text);
        if (e == CD_ENOENT) {
            misses(ctx, f, it.key);
        } else if (e != CD_OK) {
            cd__place at = {.file = f->name, .text = f->text};
            cd_buf path = {0};
            cd_json_path(&path, it.val);
            (void)cd_json_locate(&at.line, &at.column, f->text, cd_buf_cstr(&path));
            cd_buf_fini(&path);
            cd__place_value(&at);
            cd__report("error", &at, why.msg, "");
            return false;
        }
    }
    return true;
}

void cd__config_unknown(cd_arena *mem, const cd__file *f, cd_bytes key)
{
    const char *names[OPT_CNT];
    const char *name = cd_arena_str(mem, key);
    cd__place at = {.file = f->name, .text = f->text};
    cd_buf advice = {0};
    (void)cd_json_locate(&at.line, &at.column, f->text, name);
    for (usize i = 0; i < OPT_CNT; i++) {
        names[i] = cd__options[i].name;
    }
    if (cd_vm_config_has(key)) {
        cd_buf_str(&advice, "it belongs into the VM configuration: C/config.json below --chain-config-dir");
    } else if (!cd_args_suggest(&advice, "", name, names, OPT_CNT)) {
        cd_buf_str(&advice, "all flags: candela help");
    }
    cd__report("error", &at, cd_arena_fmt(mem, "%s: no flag of this program", name), cd_buf_cstr(&advice));
    cd_buf_fini(&advice);
}

/* Counts keys that nobody knows. */
typedef struct unknown {
    cd_arena *mem;
    usize cnt;
} unknown;

static void on_unknown(void *ctx, const cd__file *f, cd_bytes key)
{
    unknown *u = ctx;
    u->cnt++;
    cd__config_unknown(u->mem, f, key);
}

bool cd__config_load(cd_args *a, cd_arena *mem)
{
    cd__file f;
    const char *content = cd_args_str(a, OPT_CONFIG_CONTENT);
    const char *path = cd_args_path(a, mem, OPT_CONFIG_FILE);
    if (content[0] != '\0') {
        if (!decode(&f, mem, "config-file-content", cd_bytes_str(content))) {
            return false;
        }
    } else if (path[0] == '\0') {
        return true;
    } else if (!cd__file_read(&f, mem, path, false)) {
        return false;
    }
    unknown u = {.mem = mem};
    return cd__config_apply(a, mem, &f, on_unknown, &u) && u.cnt == 0;
}

/* --- a chain's files --- */

static bool content_load(cd__chain_files *out, cd_arena *mem, const char *content, const char *const *names, usize cnt)
{
    cd__file f;
    cd_json doc;
    cd_errinfo why = {0};
    if (!decode(&f, mem, "chain-config-content", cd_bytes_str(content))) {
        return false;
    }
    if (cd_json_parse(&doc, mem, f.text, 0, &why) != CD_OK) {
        report_json(&f, &why);
        return false;
    }
    for (usize i = 0; i < cnt; i++) {
        cd_bytes text;
        cd_json chain = cd_json_get(doc, names[i]);
        if (cd_json_str(&text, cd_json_get(chain, "Config"), NULL) == CD_OK &&
            !decode(&out->config, mem, "chain-config-content: Config", text)) {
            return false;
        }
        if (cd_json_str(&text, cd_json_get(chain, "Upgrade"), NULL) == CD_OK &&
            !decode(&out->upgrades, mem, "chain-config-content: Upgrade", text)) {
            return false;
        }
    }
    return true;
}

static bool dir_load(cd__file *out, cd_arena *mem, const char *dir, const char *what, const char *const *names,
                     usize cnt)
{
    static const char *const ends[] = {".json", ""};
    for (usize i = 0; i < cnt * CD_COUNT(ends) && !out->is_there; i++) {
        const char *name = names[i / CD_COUNT(ends)];
        const char *path = cd_arena_fmt(mem, "%s/%s/%s%s", dir, name, what, ends[i % CD_COUNT(ends)]);
        if (!cd__file_read(out, mem, path, true)) {
            return false;
        }
    }
    return true;
}

bool cd__chain_files_load(cd__chain_files *out, const cd_args *a, cd_arena *mem, const char *const *names, usize cnt)
{
    const char *content = cd_args_str(a, OPT_CHAIN_CONTENT);
    const char *dir = cd_args_path(a, mem, OPT_CHAIN_DIR);
    *out = (cd__chain_files){.config = {.name = ""}, .upgrades = {.name = ""}};
    if (content[0] != '\0') {
        return content_load(out, mem, content, names, cnt);
    }
    cd_fs_stat st;
    if (cd_args_source(a, OPT_CHAIN_DIR) != CD_ARG_FROM_DEFAULT &&
        (cd_fs_stat_get(cd_fs_real(), &st, dir, NULL) != CD_OK || st.kind != CD_FS_DIR)) {
        cd__report("error", NULL, cd_arena_fmt(mem, "--chain-config-dir: %s is no directory", dir), "");
        return false;
    }
    return dir_load(&out->config, mem, dir, "config", names, cnt) &&
           dir_load(&out->upgrades, mem, dir, "upgrade", names, cnt);
}

bool cd__chain_files_good(const cd__chain_files *f, cd_arena *mem, bool with_warnings)
{
    cd_findings config = {.cnt = 0};
    cd_findings upgrades = {.cnt = 0};
    if (f->config.is_there) {
        cd_vm_config_check(&config, mem, f->config.text);
        cd__findings_print(&f->config, &config, with_warnings);
    }
    if (f->upgrades.is_there) {
        cd_upgrades_check(&upgrades, mem, f->upgrades.text);
        cd__findings_print(&f->upgrades, &upgrades, with_warnings);
    }
    return config.errors == 0 && upgrades.errors == 0;
}
