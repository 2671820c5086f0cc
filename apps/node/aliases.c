#include "aliases.h"

#include "codec/base64.h"
#include "codec/json.h"
#include "config.h"
#include "report.h"

enum { ALIASES_MAX = 4096 };

static bool refuse(cd_arena *mem, const cd__file *f, const char *text)
{
    cd__report("error", NULL, cd_arena_fmt(mem, "couldn't load node config: %s: %s", f->name, text),
               "it goes {\"CHAIN ID\": [\"name\", ...]}");
    return false;
}

static bool read_text(cd__file *out, const cd_args *a, cd_arena *mem)
{
    const char *content = cd_args_str(a, OPT_ALIASES_TEXT);
    if (content[0] == '\0') {
        bool is_told = cd_args_source(a, OPT_ALIASES) != CD_ARG_FROM_DEFAULT;
        return cd__file_read(out, mem, cd_args_path(a, mem, OPT_ALIASES), !is_told);
    }
    cd_buf raw = {0};
    *out = (cd__file){.name = "--chain-aliases-file-content", .is_there = true};
    bool is_good = cd_base64_dec(&raw, cd_bytes_str(content)) == CD_OK;
    out->text = cd_arena_dup(mem, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return is_good || refuse(mem, out, "that is not base64");
}

/* Adds the names of one chain behind those that are there. */
static bool add(cd_node_alias *v, usize *n, cd_arena *mem, const cd__file *f, const cd_json_it *row)
{
    cd_errinfo why = {0};
    cd_hash32 id;
    if (cd_id_parse(&id, row->key, &why) != CD_OK) {
        return refuse(
            mem, f,
            cd_arena_fmt(mem, "\"%.*s\": %s", (int)cd_min_u64(row->key.n, 80), (const char *)row->key.p, why.msg));
    }
    for (cd_json_it it = cd_json_iter(row->val); cd_json_next(&it);) {
        cd_bytes name;
        if (cd_json_str(&name, it.val, &why) != CD_OK || name.n == 0 || *n == ALIASES_MAX) {
            return refuse(mem, f, *n == ALIASES_MAX ? "too many names" : "a name is a text");
        }
        v[(*n)++] = (cd_node_alias){.chain = id, .name = cd_arena_dup(mem, name)};
    }
    return true;
}

bool cd__aliases_load(cd_node_cfg *out, const cd_args *a, cd_arena *mem)
{
    cd__file f = {.name = ""};
    cd_json doc;
    cd_errinfo why = {0};
    if (!read_text(&f, a, mem)) {
        return false;
    }
    if (!f.is_there) {
        return true;
    }
    if (cd_json_parse(&doc, mem, f.text, 0, &why) != CD_OK || cd_json_obj(doc, &why) != CD_OK) {
        return refuse(mem, &f, why.msg);
    }
    cd_node_alias *v = cd_arena_zalloc(mem, ALIASES_MAX * sizeof *v);
    usize n = 0;
    for (cd_json_it it = cd_json_iter(doc); cd_json_next(&it);) {
        if (!add(v, &n, mem, &f, &it)) {
            return false;
        }
    }
    out->aliases = v;
    out->alias_cnt = n;
    return true;
}
