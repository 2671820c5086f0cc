#include "chains.h"

#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "codec/base64.h"
#include "explorer/explorer.h"
#include "options.h"
#include "report.h"
#include "staking.h"

static cd_err make_genesis(void *ctx, cd_buf *out, u64 now, cd_errinfo *why)
{
    const cd__chain *c = ctx;
    (void)why;
    if (!c->genesis.is_there && c->genesis_time == 0 && c->dev.state.n != 0) {
        /* An error in a dump is reported later, when the dump is loaded. */
        if (cd_dev_state_genesis(out, c->dev.state, NULL) == CD_OK) {
            return CD_OK;
        }
    }
    if (!c->genesis.is_there) {
        return cd_dev_genesis(out, c->evm_chain_id, c->genesis_time != 0 ? c->genesis_time : now);
    }
    cd_buf_put(out, c->genesis.text);
    return CD_OK;
}

static bool load_c(cd__chain *c, const cd_args *a, cd_arena *mem, const cd_network *net)
{
    static const char *const names[] = {"C", "evm"};
    const char *genesis = cd_args_path(a, mem, OPT_DEV_GENESIS);
    c->names[0] = names[0];
    c->names[1] = names[1];
    c->genesis_time = cd_args_u64(a, OPT_DEV_TIME);
    c->evm_chain_id = net->evm_chain_id;
    return cd__chain_files_load(&c->files, a, mem, names, CD_COUNT(names)) &&
           (genesis[0] == '\0' || cd__file_read(&c->genesis, mem, genesis, false)) &&
           cd__dev_options_load(&c->dev, a, mem);
}

/* Loads a chain of --chain=NAME=FILE; it has the development options of the C-Chain, but a state of its own. */
static bool load_other(cd__chain *c, const cd_args *a, cd_arena *mem, const char *text, const cd_dev_options *dev)
{
    const char *eq = strchr(text, '=');
    if (eq == NULL || eq == text || eq[1] == '\0') {
        cd__report("error", NULL, cd_arena_fmt(mem, "--chain=%.80s: a name and a genesis are needed", text),
                   "as in --chain=B=genesis.json");
        return false;
    }
    c->names[0] = cd_arena_str(mem, cd_bytes_of(text, (usize)(eq - text)));
    if (cd_explorer_has_page(c->names[0])) {
        cd__report("error", NULL, cd_arena_fmt(mem, "--chain: \"%.40s\" is a page of the explorer", c->names[0]),
                   "another name for the chain");
        return false;
    }
    c->dev = (cd_dev_options){
        .throws_on_revert = dev->throws_on_revert,
        .abis = dev->abis,
        .abi_cnt = dev->abi_cnt,
        .state_name = "",
    };
    return cd__chain_files_load(&c->files, a, mem, c->names, 1) && cd__file_read(&c->genesis, mem, eq + 1, false);
}

static void cfg_of(cd_node_chain_cfg *out, cd__chain *c, cd_arena *mem, const cd__explorer_cfg *pages, bool is_first,
                   bool is_dev, u32 validators)
{
    cd__explorer_cfg told = pages == NULL ? (cd__explorer_cfg){0} : *pages;
    if (is_dev) {
        told.abis = c->dev.abis;
        told.abi_cnt = c->dev.abi_cnt;
    }
    *out = (cd_node_chain_cfg){
        .aliases = c->names,
        .is_wrapped = is_first && !is_dev,
        .alias_cnt = is_first ? 2 : 1,
        .prefix = is_first ? 'C' : 0,
        .vm = cd_evm_vm_open,
        .genesis = is_dev ? make_genesis : NULL,
        .genesis_ctx = c,
        .config = c->files.config.text,
        .upgrades = c->files.upgrades.text,
        .dev = is_dev ? &c->dev : NULL,
        .validator_cnt = is_dev ? validators : 1,
        .pages = pages == NULL ? NULL : cd__explorer_pages(mem, &told, is_first ? NULL : c->names[0]),
    };
}

static bool genesis_of(cd__file *out, const cd_args *a, cd_arena *mem, const cd_network *net)
{
    const char *path = cd_args_path(a, mem, OPT_GENESIS);
    const char *text = cd_args_str(a, OPT_GENESIS_TEXT);
    *out = (cd__file){0};
    if (path[0] == '\0' && text[0] == '\0') {
        return true;
    }
    if (cd_network_find(net->name) != NULL && net->id != 1337) {
        cd__report("error", NULL,
                   cd_arena_fmt(mem,
                                "couldn't load node config: unable to load genesis file: overrides standard network "
                                "genesis config: %s",
                                net->name),
                   "");
        return false;
    }
    if (text[0] == '\0') {
        return cd__file_read(out, mem, path, false);
    }
    cd_buf raw = {0};
    bool is_good = cd_base64_dec(&raw, cd_bytes_str(text)) == CD_OK;
    if (is_good) {
        *out = (cd__file){.name = "--genesis-file-content", .is_there = true};
        out->text = cd_arena_dup(mem, cd_buf_bytes(&raw));
    } else {
        cd__report("error", NULL, "--genesis-file-content is not base64", "");
    }
    cd_buf_fini(&raw);
    return is_good;
}

static bool load_primary(cd__chains *out, const cd_args *a, cd_arena *mem, const cd_network *net)
{
    out->primary = (cd__primary){
        .mem = mem,
        .network = net,
        .clock = cd_clock_real(),
        .is_alone = net->is_dev || !cd_args_bool(a, OPT_SYBIL) || !cd_args_bool(a, OPT_STAKING),
        .c_genesis = out->items[0].genesis,
        .c = &out->cfgs[0],
        .p = &out->cfgs[1],
        .x = &out->cfgs[2],
    };
    cd__primary_rows(&out->primary);
    static const char *const x_names[] = {"X", "xvm", "avm"};
    cd__chain_files x;
    if (!cd__chain_files_load(&x, a, mem, x_names, CD_COUNT(x_names))) {
        return false;
    }
    out->primary.x->config = x.config.text;
    out->primary.x->upgrades = x.upgrades.text;
    return genesis_of(&out->primary.genesis, a, mem, net) && cd__staking_rules(&out->primary.staking, a, mem, net);
}

bool cd__chains_load(cd__chains *out, const cd_args *a, cd_arena *mem, const cd_network *net,
                     const cd__explorer_cfg *pages, bool with_warnings)
{
    const char *const *others;
    if (cd_args_u64(a, OPT_VALIDATORS) > 1 && !net->is_dev) {
        cd__report("error", NULL, "--validators is for the dev network",
                   "several processes of another one: candela-cli network up --nodes 5");
        return false;
    }
    usize cnt = 1 + cd_args_list(a, OPT_CHAIN, &others);
    *out = (cd__chains){.cnt = cnt};
    out->items = cd_arena_zalloc(mem, cnt * sizeof *out->items);
    out->cfg_cnt = cnt + 2;
    out->cfgs = cd_arena_zalloc(mem, out->cfg_cnt * sizeof *out->cfgs);
    for (usize i = 0; i < cnt; i++) {
        cd__chain *c = &out->items[i];
        bool is_good = i == 0 ? load_c(c, a, mem, net) : load_other(c, a, mem, others[i - 1], &out->items[0].dev);
        if (!is_good || !cd__chain_files_good(&c->files, mem, with_warnings)) {
            return false;
        }
        cfg_of(&out->cfgs[i == 0 ? 0 : i + 2], c, mem, pages, i == 0, net->is_dev, (u32)cd_args_u64(a, OPT_VALIDATORS));
    }
    bool is_good = load_primary(out, a, mem, net);
    if (is_good && pages != NULL) {
        cd_primary_ids(pages->primary, &out->primary.ids);
        out->primary.p->pages = cd__primary_pages(mem, pages->primary, CD_PRIMARY_P);
        out->primary.x->pages = cd__primary_pages(mem, pages->primary, CD_PRIMARY_X);
    }
    return is_good;
}
