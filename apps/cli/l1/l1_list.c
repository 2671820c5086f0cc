/* `l1 list`: the L1s of a network. */
#include "codec/api_json.h"
#include "l1/l1.h"

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL",                      \
      .help = "the node that is asked")                                                                                \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT, LISTED_MAX = 1000 };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static cd_err put_chains(cd__remote *p, cd_arena *mem, cd_json_w *w, const char *net, cd_errinfo *why)
{
    cd_json v;
    const char *params = cd_arena_fmt(mem, "{\"subnetID\":\"%s\"}", net);
    CD_TRY(cd__remote_ask(p, &v, "/ext/bc/P", "platform.validates", params, why));
    cd_json_w_key(w, "blockchainIDs");
    cd_json_w_arr(w);
    for (cd_json_it it = cd_json_iter(cd_json_get(v, "blockchainIDs")); cd_json_next(&it);) {
        cd_bytes id;
        CD_TRY(cd_json_str(&id, it.val, why));
        cd_json_w_str(w, id);
    }
    cd_json_w_arr_end(w);
    return CD_OK;
}

/* How it is only a node of ours tells. */
static void put_state(cd__remote *p, cd_arena *mem, cd_json_w *w, const char *net)
{
    cd_json v;
    cd_bytes state = {0};
    cd_errinfo said = {0};
    u64 cnt = 0;
    const char *params = cd_arena_fmt(mem, "{\"subnetID\":\"%s\"}", net);
    if (cd__remote_ask(p, &v, "/ext/bc/P", "platform.getL1Health", params, &said) == CD_OK &&
        cd_json_str(&state, cd_json_get(v, "state"), NULL) == CD_OK &&
        cd_json_u64(&cnt, cd_json_get(v, "validatorCount"), NULL) == CD_OK) {
        cd_json_put_str(w, "state", state);
        cd_json_put_u64(w, "validators", cnt);
    }
}

/* A net that is no L1 is left out. */
static cd_err put_net(cd__remote *p, cd_arena *mem, cd_json_w *w, const char *net, cd_errinfo *why)
{
    cd_json v;
    cd_bytes manager = {0};
    cd_errinfo said = {0};
    const char *params = cd_arena_fmt(mem, "{\"subnetID\":\"%s\"}", net);
    cd_err e = cd__remote_ask(p, &v, "/ext/bc/P", "platform.getSubnet", params, &said);
    if (e == CD_EACCES || (e == CD_OK && !cd_json_has(cd_json_get(v, "managerAddress")))) {
        return CD_OK;
    }
    if (e != CD_OK) {
        *why = said;
        return e;
    }
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "subnetID", net);
    CD_TRY(put_chains(p, mem, w, net, why));
    CD_TRY(cd_json_str(&manager, cd_json_get(v, "managerAddress"), why));
    cd_json_put_str(w, "manager", manager);
    put_state(p, mem, w, net);
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err list(cd__remote *p, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    cd_json v;
    usize n = 0;
    CD_TRY(cd__remote_ask(p, &v, "/ext/bc/P", "platform.getSubnets", "{}", why));
    cd_json all = cd_json_has(cd_json_get(v, "nets")) ? cd_json_get(v, "nets") : cd_json_get(v, "subnets");
    cd_json_w_arr(w);
    for (cd_json_it it = cd_json_iter(all); cd_json_next(&it) && n < LISTED_MAX; n++) {
        cd_bytes id;
        CD_TRY(cd_json_str(&id, cd_json_get(it.val, "id"), why));
        CD_TRY(put_net(p, mem, w, cd_arena_str(mem, id), why));
    }
    cd_json_w_arr_end(w);
    return CD_OK;
}

static cd_err run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    cd__remote *p = NULL;
    CD_TRY(cd__remote_new(&p, mem, cd_args_str(a, OPT_RPC), why));
    cd_err e = list(p, mem, w, why);
    cd__remote_free(p);
    return e;
}

int cd__l1_list_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 list",
        .purpose = "Lists the L1s of a network: chains, manager, and how they are.",
        .usage = "[flags]",
        .example = "candela-cli l1 list --rpc=http://127.0.0.1:9650",
        .options = options,
        .option_cnt = CD_COUNT(options),
        .json = OPT_JSON,
    };
    return cd__json_cmd(&cmd, argc, argv, run);
}
