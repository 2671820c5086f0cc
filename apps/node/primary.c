#include "primary.h"

#include "base/os/fileio.h"
#include "chains/platform/genesis/genesis.h"
#include "chains/platform/platform_vm.h"
#include "chains/xvm/xvm.h"

enum { FILE_MAX = 256 << 20 };

/* Writes a file that was not there. */
static cd_err keep(cd__primary *p, const char *path, cd_bytes text, cd_errinfo *why)
{
    p->made[p->made_cnt++] = path;
    return cd_fs_replace_file(cd_fs_real(), path, text, 0600, why);
}

void cd__primary_refused(cd__primary *p, cd_err err)
{
    for (usize i = 0; i < p->made_cnt && err == CD_EFOREIGN; i++) {
        (void)!cd_fs_remove_tree(cd_fs_real(), p->made[i], NULL);
    }
}

/* --- the C-Chain of a development network has a genesis of its own, which is embedded --- */

static const char *c_genesis_path(const cd__primary *p)
{
    return p->dir == NULL ? NULL : cd_arena_fmt(p->mem, "%s/genesis-C.json", p->dir);
}

static cd_err c_genesis_of(cd__primary *p, cd_bytes *out, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_err e = CD_ENOENT;
    const char *path = c_genesis_path(p);
    *out = (cd_bytes){0};
    if (p->c->genesis == NULL) {
        return CD_OK;
    }
    if (path != NULL) {
        e = cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, why);
    }
    if (e == CD_ENOENT) {
        e = p->c->genesis(p->c->genesis_ctx, &text, cd_clock_wall_s(p->clock), why);
        if (e == CD_OK && path != NULL) {
            e = keep(p, path, cd_buf_bytes(&text), why);
        }
    }
    if (e == CD_OK) {
        *out = cd_arena_dup(p->mem, cd_buf_bytes(&text));
    }
    cd_buf_fini(&text);
    return e;
}

/* --- the genesis of the P-Chain --- */

static cd_err build(cd__primary *p, cd_pgenesis *out, cd_errinfo *why)
{
    cd_pgenesis_config *config = cd_arena_zalloc(p->mem, sizeof *config);
    cd_bytes c_genesis;
    if (p->genesis.is_there) {
        CD_TRY(cd_pgenesis_config_parse(config, p->mem, p->genesis.text, p->network, why));
    } else {
        CD_TRY(c_genesis_of(p, &c_genesis, why));
        cd_pgenesis_config_builtin(config, p->mem, p->network, cd_clock_wall_s(p->clock), c_genesis);
    }
    return cd_pgenesis_build(out, p->mem, config, p->network, why);
}

/* Gives the genesis that the data began with; on the first start it is built and stored. */
static cd_err load(cd__primary *p, cd_pgenesis *out, cd_errinfo *why)
{
    if (p->dir == NULL) {
        return build(p, out, why);
    }
    cd_buf kept = {0};
    const char *path = cd_arena_fmt(p->mem, "%s/genesis-P.bin", p->dir);
    cd_err e = cd_fs_read_file(cd_fs_real(), &kept, path, FILE_MAX, why);
    if (e == CD_ENOENT) {
        e = build(p, out, why);
        e = e != CD_OK ? e : keep(p, path, out->bytes, why);
    } else if (e == CD_OK) {
        e = cd_pgenesis_read(out, p->mem, cd_arena_dup(p->mem, cd_buf_bytes(&kept)), why);
        cd_pgenesis given;
        if (e == CD_OK && p->genesis.is_there) {
            e = build(p, &given, why);
            if (e == CD_OK && !cd_hash32_eq(&given.hash, &out->hash)) {
                e = cd_fail(why, CD_EINVAL, "%.200s began with another genesis than %.100s", p->dir, p->genesis.name);
            }
        }
    }
    cd_buf_fini(&kept);
    return e;
}

static bool is_only_validator(const cd__primary *p, const cd_pgenesis *g)
{
    const cd_linear_list *all = &g->state.validators;
    const cd_p_tx *tx = all->v;
    if (all->cnt != 1 || tx->body.is->id != CD_P_ADD_PERMISSIONLESS_VALIDATOR) {
        return false;
    }
    const cd_p_add_permissionless_validator *v = tx->body.v;
    return memcmp(v->validator.node_id.b, p->node_id.b, sizeof p->node_id.b) == 0;
}

/* Turns peers on when others validate: nothing can be decided without them. */
static void choose(const cd__primary *p, const cd_pgenesis *g)
{
    if (!p->is_alone && !is_only_validator(p, g)) {
        p->peers->is_off = false;
        p->peers->decides = true;
    }
}

/* --- rows --- */

static const cd_vm_validators *validators_of(cd_vm *vm)
{
    return cd_platform_vm_validators(vm);
}

void cd__primary_rows(cd__primary *p)
{
    static const char *const p_names[] = {"P", "platform"};
    static const char *const x_names[] = {"X", "xvm", "avm"};
    *p->p = (cd_node_chain_cfg){
        .has_id = true,
        .aliases = p_names,
        .alias_cnt = CD_COUNT(p_names),
        .vm = cd_platform_vm_open,
        .is_wrapped = true,
        .is_light = true,
        .validators = validators_of,
    };
    *p->x = (cd_node_chain_cfg){
        .has_id = true,
        .aliases = x_names,
        .alias_cnt = CD_COUNT(x_names),
        .vm = cd_xvm_open,
        .is_wrapped = true,
        .is_light = true,
    };
}

static cd_err complete(cd_node_chain_cfg *row, const cd_pgenesis_chain *chain, const char *vm, cd_hash32 *id,
                       cd_errinfo *why)
{
    if (chain == NULL) {
        return cd_fail(why, CD_EINVAL, "the genesis has no chain of the VM %s", vm);
    }
    row->id = *id = chain->id;
    row->has_id = true;
    row->genesis = NULL;
    row->genesis_bytes = chain->genesis;
    return CD_OK;
}

/* Compares the file of the C-Chain's genesis with the one inside the P-Chain's genesis, which the chain goes by: they
 * must not differ. The file is for people and tools; one that was removed is written again. */
static cd_err check_c_genesis(cd__primary *p, const cd_pgenesis *g, cd_errinfo *why)
{
    cd_buf text = {0};
    const char *path = c_genesis_path(p);
    const cd_pgenesis_chain *c = cd_pgenesis_find(g, "evm");
    if (p->c->genesis == NULL || path == NULL || c == NULL) {
        return CD_OK;
    }
    if (p->c_genesis.is_there && !cd_bytes_eq(p->c_genesis.text, c->genesis)) {
        return cd_fail(why, CD_EFOREIGN, "%.150s began with another genesis than %.80s", p->dir, p->c_genesis.name);
    }
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, why);
    if (e == CD_ENOENT) {
        e = cd_fs_replace_file(cd_fs_real(), path, c->genesis, 0600, why);
    } else if (e == CD_OK && !cd_bytes_eq(cd_buf_bytes(&text), c->genesis)) {
        e = cd_fail(why, CD_EFOREIGN, "%.200s is not what the data began with", path);
    }
    cd_buf_fini(&text);
    return e;
}

cd_err cd__primary_prepare(void *ctx, cd_errinfo *why)
{
    cd__primary *p = ctx;
    cd_pgenesis *g = cd_arena_zalloc(p->mem, sizeof *g);
    CD_TRY(load(p, g, why));
    choose(p, g);
    CD_TRY(check_c_genesis(p, g, why));
    p->p->genesis_bytes = g->bytes;
    p->p->config = cd_bytes_str(cd_arena_fmt(p->mem, "{\"network-profile\":\"%s\",\"decimals\":%u,\"staking\":%s}",
                                             p->network->family->name, p->network->decimals, p->staking));
    p->ids.asset_id = g->asset_id;
    p->ids.network = p->network;
    CD_TRY(complete(p->x, cd_pgenesis_find(g, "avm"), "avm", &p->ids.x_chain_id, why));
    return complete(p->c, cd_pgenesis_find(g, "evm"), "evm", &p->ids.c_chain_id, why);
}
