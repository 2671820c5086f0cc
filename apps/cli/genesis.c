/* `genesis`: reads a genesis file as a node would, and shows what it makes. */
#include "chains/platform/genesis/genesis.h"
#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "codec/api_json.h"
#include "commands.h"
#include "types/xtx.h"

#define OPTIONS(X)                                                                                                     \
    X(OPT_NETWORK, .name = "network-id", .type = CD_ARG_STR, .dflt = "mainnet", .meta = "NETWORK",                     \
      .help = "the network that it is for")                                                                            \
    X(OPT_PROFILE, .name = "network-profile", .type = CD_ARG_STR, .meta = "FAMILY",                                    \
      .help = "product or upstream, as the nodes get it; as the network does when not given")                          \
    X(OPT_BYTES, .name = "bytes", .type = CD_ARG_BOOL, .help = "with the bytes that the P-Chain begins with")          \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static void put_chains(cd_json_w *w, const cd_pgenesis *g)
{
    cd_json_w_key(w, "chains");
    cd_json_w_arr(w);
    for (usize i = 0; i < g->chain_cnt; i++) {
        const cd_pgenesis_chain *c = &g->chains[i];
        cd_json_w_obj(w);
        cd_json_put_str(w, "name", c->name);
        cd_json_put_id(w, "id", &c->id);
        cd_json_put_id(w, "vmID", &c->vm_id);
        cd_json_put_u64(w, "genesisBytes", c->genesis.n);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

static void put_validators(cd_json_w *w, const cd_pgenesis_config *c)
{
    cd_json_w_key(w, "validators");
    cd_json_w_arr(w);
    for (usize i = 0; i < c->staker_cnt; i++) {
        cd_json_w_node_id(w, &c->stakers[i].node_id);
    }
    cd_json_w_arr_end(w);
}

static void put_all(cd_json_w *w, const cd_args *a, const cd_network *net, const cd_pgenesis_config *c,
                    const cd_pgenesis *g)
{
    cd_json_w_obj(w);
    cd_json_put_u64(w, "networkID", net->id);
    cd_json_put_cstr(w, "family", net->family->name);
    cd_json_put_u64(w, "decimals", net->decimals);
    cd_json_put_hash(w, "hash", &g->hash);
    cd_json_put_id(w, "blockID", &g->block_id);
    cd_json_put_id(w, "assetID", &g->asset_id);
    cd_json_put_time(w, "startTime", g->state.time * CD_NS_PER_SEC);
    cd_json_put_dec(w, "supply", g->state.supply);
    cd_json_put_u64(w, "allocations", c->allocation_cnt);
    put_validators(w, c);
    put_chains(w, g);
    if (cd_args_bool(a, OPT_BYTES)) {
        cd_json_put_hex(w, "bytes", g->bytes);
    }
    cd_json_w_obj_end(w);
}

static cd_err show(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    const char *const *words;
    cd_network_any any;
    cd_pgenesis g;
    cd_pgenesis_config config;
    cd_buf text = {0};
    const char *profile = cd_args_str(a, OPT_PROFILE);
    CD_TRY(cd_network_parse(&any, cd_args_str(a, OPT_NETWORK), why));
    if (profile[0] != '\0') {
        CD_TRY(cd_network_profile(&any.network, profile, why));
    }
    cd_err e = CD_OK;
    if (cd_args_words(a, &words) == 1) {
        e = cd_fs_read_file(cd_fs_real(), &text, words[0], CD_PGENESIS_TEXT_MAX, why);
        e = e != CD_OK ? e : cd_pgenesis_config_parse(&config, mem, cd_buf_bytes(&text), &any.network, why);
    } else {
        cd_pgenesis_config_builtin(&config, mem, &any.network, cd_clock_wall_s(cd_clock_real()), (cd_bytes){0});
    }
    e = e != CD_OK ? e : cd_pgenesis_build(&g, mem, &config, &any.network, why);
    if (e == CD_OK) {
        put_all(w, a, &any.network, &config, &g);
    }
    cd_buf_fini(&text);
    return e;
}

int cd__genesis_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli genesis",
        .purpose = "checks a genesis file and tells what it makes: IDs of chains and asset, supply, validators",
        .usage = "candela-cli genesis [flags] FILE\n"
                 "candela-cli genesis [flags]          what is built in",
        .example = "candela-cli genesis --network-id=1337 genesis.json",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = 1,
    };
    return cd__json_cmd(&cmd, argc, argv, show);
}
