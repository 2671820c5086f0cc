#include "plugins.h"

#include "base/os/fileio.h"
#include "chains/platform/platform_vm.h"
#include "codec/base64.h"
#include "options.h"
#include "report.h"

/* --- what the node calls --- */

static cd_err sign_with(const cd_p2p_identity *self, u8 out[96], cd_bytes msg)
{
    cd_bls_sig sig;
    CD_TRY(cd_bls_sign(&sig, CD_BLS_POP, msg, (const cd_bls_sk *)(const void *)self->bls.p));
    cd_bls_sig_enc(out, &sig);
    return CD_OK;
}

static cd_err sign_here(const cd_vm_signer *s, u8 out[96], cd_bytes msg)
{
    return sign_with(((const cd__plugins *)(const void *)s)->self, out, msg);
}

static cd_err sign(void *ctx, u8 out[96], cd_bytes msg, cd_errinfo *why)
{
    cd_err e = sign_with(ctx, out, msg);
    return e == CD_OK ? e : cd_fail(why, e, "the node's BLS key: %s", cd_err_str(e));
}

typedef struct listing {
    void (*found)(void *arg, const cd_tracked_chain *c);
    void *arg;
} listing;

static void on_chain(void *ctx, const cd_platform_chain *c)
{
    const listing *l = ctx;
    const cd_tracked_chain t = {.id = c->id, .net_id = c->net_id, .vm_id = c->vm_id, .genesis = c->genesis};
    l->found(l->arg, &t);
}

static cd_err list(void *ctx, cd_vm *p, const cd_hash32 *net, void (*found)(void *arg, const cd_tracked_chain *c),
                   void *arg)
{
    listing l = {.found = found, .arg = arg};
    (void)ctx;
    return cd_platform_vm_chains(p, net, on_chain, &l);
}

/* The EVM of an L1 cannot see whether its node counts as the upstream family does. Behind a node of that family it
 * finds the Warp precompile elsewhere, and a chain has one genesis: it is told, unless the operator has. */
static cd_bytes with_profile(cd_arena *a, cd_bytes config, const cd_network *net)
{
    cd_json doc;
    cd_bytes text = config.n == 0 ? cd_bytes_str("{}") : config;
    if (cd_json_parse(&doc, a, text, 0, NULL) != CD_OK || cd_json_kind_of(doc) != CD_JSON_OBJ ||
        cd_json_has(cd_json_get(doc, "network-profile"))) {
        return config; /* the VM says what is wrong with it */
    }
    cd_buf out = {0};
    cd_buf raw = {0};
    cd_json_w w = {.out = &out};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "network-profile", net->family->name);
    for (cd_json_it it = cd_json_iter(doc); cd_json_next(&it);) {
        cd_buf_clear(&raw);
        cd_json_raw(&raw, it.val);
        cd_json_w_key_str(&w, it.key);
        cd_json_w_raw(&w, cd_buf_bytes(&raw));
    }
    cd_json_w_obj_end(&w);
    cd_bytes kept = cd_arena_dup(a, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    cd_buf_fini(&raw);
    return kept;
}

static void files(void *ctx, cd_bytes *config, cd_bytes *upgrades, cd_arena *a, const char *id, const cd_hash32 *vm_id)
{
    cd_hash32 evm;
    const cd__plugins *p = ctx;
    cd__chain_files f;
    if (cd__chain_files_load(&f, p->args, a, &id, 1)) {
        *config = f.config.text;
        *upgrades = f.upgrades.text;
    }
    if (cd_vm_id_of(&evm, cd_bytes_str("subnetevm")) == CD_OK && cd_hash32_eq(&evm, vm_id)) {
        *config = with_profile(a, *config, p->net);
    }
}

/* --- flags --- */

static void add_builtin(cd_plugin_alias *all, usize *cnt, cd_hash32 *ids, usize *id_cnt, const char *vm,
                        const char *alias)
{
    cd_hash32 id;
    cd_err e = cd_vm_id_of(&id, cd_bytes_str(vm));
    CD_ASSERT(e == CD_OK);
    ids[(*id_cnt)++] = id;
    all[(*cnt)++] = (cd_plugin_alias){.vm_id = id, .name = alias};
}

/* Reads the file of --vm-aliases-file, or its content from a flag; a file that no flag names may be missing. */
static bool read_aliases(cd__file *out, const cd_args *a, cd_arena *mem)
{
    const char *content = cd_args_str(a, OPT_VM_ALIASES_TEXT);
    *out = (cd__file){0};
    if (content[0] == '\0') {
        bool may_miss = cd_args_source(a, OPT_VM_ALIASES) == CD_ARG_FROM_DEFAULT;
        return cd__file_read(out, mem, cd_args_path(a, mem, OPT_VM_ALIASES), may_miss);
    }
    cd_buf text = {0};
    bool is_good = cd_base64_dec(&text, cd_bytes_str(content)) == CD_OK;
    if (is_good) {
        *out = (cd__file){.name = "--vm-aliases-file-content", .is_there = true};
        out->text = cd_arena_dup(mem, cd_buf_bytes(&text));
    } else {
        cd__report("error", NULL, "--vm-aliases-file-content is not base64", "");
    }
    cd_buf_fini(&text);
    return is_good;
}

static bool load_aliases(cd__plugins *out, const cd_args *a, cd_arena *mem)
{
    enum { BUILTIN = 3 };
    cd__file file;
    cd_plugin_alias *named = NULL;
    usize named_cnt = 0;
    cd_errinfo why = {0};
    if (!read_aliases(&file, a, mem)) {
        return false;
    }
    if (file.is_there && cd_plugin_aliases_parse(&named, &named_cnt, mem, file.text, &why) != CD_OK) {
        cd__report("error", NULL, cd_arena_fmt(mem, "%s: %s", file.name, why.msg),
                   "as in {\"<id of a VM>\": [\"name\"]}");
        return false;
    }
    cd_plugin_alias *all = cd_arena_array(mem, cd_plugin_alias, named_cnt + BUILTIN);
    cd_hash32 *ids = cd_arena_array(mem, cd_hash32, BUILTIN);
    usize cnt = 0;
    usize id_cnt = 0;
    add_builtin(all, &cnt, ids, &id_cnt, "platformvm", "platform");
    add_builtin(all, &cnt, ids, &id_cnt, "avm", "avm");
    add_builtin(all, &cnt, ids, &id_cnt, "evm", "evm");
    for (usize i = 0; i < named_cnt; i++) {
        all[cnt++] = named[i];
    }
    out->cfg.aliases = all;
    out->cfg.alias_cnt = cnt;
    out->cfg.builtin = ids;
    out->cfg.builtin_cnt = id_cnt;
    return true;
}

static bool load_dir(cd__plugins *out, const cd_args *a, cd_arena *mem)
{
    cd_errinfo why = {0};
    out->cfg.dir = cd_args_path(a, mem, OPT_PLUGIN_DIR);
    out->cfg.may_miss = cd_args_source(a, OPT_PLUGIN_DIR) == CD_ARG_FROM_DEFAULT;
    if (!out->cfg.may_miss && cd_plugin_dir_check(out->cfg.dir, &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "");
        return false;
    }
    return true;
}

static bool has_net(const cd_hash32 *nets, usize cnt, const cd_hash32 *net)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_hash32_eq(&nets[i], net)) {
            return true;
        }
    }
    return false;
}

static bool load_nets(cd__plugins *out, const cd_args *a, cd_arena *mem)
{
    const char *text = cd_args_str(a, OPT_TRACK);
    usize max = 1;
    for (const char *c = text; *c != '\0'; c++) {
        max += *c == ',';
    }
    cd_hash32 *nets = cd_arena_array(mem, cd_hash32, max);
    usize cnt = 0;
    for (const char *at = text; *at != '\0';) {
        usize n = strcspn(at, ",");
        cd_errinfo why = {0};
        if (n != 0 && cd_id_parse(&nets[cnt], cd_bytes_of(at, n), &why) != CD_OK) {
            cd__report("error", NULL,
                       cd_arena_fmt(mem, "couldn't parse subnetID \"%.*s\": %s", (int)cd_min_u64(n, 80), at, why.msg),
                       "ids of nets, with commas between them: --track-subnets=ID,ID");
            return false;
        }
        if (n != 0 && cd_hash32_is_zero(&nets[cnt])) {
            cd__report("error", NULL, "cannot track primary network", "it is always tracked");
            return false;
        }
        cnt += n != 0 && !has_net(nets, cnt, &nets[cnt]);
        at += n + (at[n] == ',');
    }
    if (cnt > CD_P2P_SUBNETS_MAX) {
        cd__report("error", NULL, cd_arena_fmt(mem, "cannot track %zu nets, at most %d", cnt, CD_P2P_SUBNETS_MAX),
                   "peers do not speak to a node that tracks more");
        return false;
    }
    out->tracked.nets = nets;
    out->tracked.net_cnt = cnt;
    cd__l1s_load(&out->l1s, a, &out->tracked);
    out->tracked.l1s = &out->l1s.cfg;
    return true;
}

bool cd__plugins_load(cd__plugins *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                      const cd_p2p_identity *self, cd_node_peers_cfg *peers, cd_node_chain_cfg *c_chain, bool has_pages)
{
    *out = (cd__plugins){.args = a, .net = net, .self = self, .signer = {.sign = sign_here}};
    memcpy(out->signer.key, self->bls_public, sizeof out->signer.key);
    out->tracked = (cd_tracked_cfg){
        .list = list,
        .files = files,
        .ctx = out,
        .signer = {.sign = sign, .ctx = (void *)(usize)self},
        .is_wrapped = !net->is_dev,
    };
    if (!load_dir(out, a, mem) || !load_aliases(out, a, mem) || !load_nets(out, a, mem) ||
        !cd__evm_plugin_load(&out->evm, a, mem, net, &out->cfg, c_chain, has_pages)) {
        return false;
    }
    out->tracked.own = out->evm.path == NULL ? NULL : &out->evm.own;
    out->has_tracked = out->tracked.net_cnt != 0 || out->tracked.own != NULL;
    peers->nets = out->tracked.nets;
    peers->net_cnt = out->tracked.net_cnt;
    return true;
}
