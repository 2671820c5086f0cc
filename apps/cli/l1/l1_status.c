/* `l1 status`: who validates an L1, with which share of the weight, and for how many days each balance lasts. */
#include "base/os/clock.h"
#include "codec/api_json.h"
#include "commands.h"
#include "l1/l1.h"
#include "l1/l1_plan.h"

#include <time.h>

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL",                      \
      .help = "the node that is asked: best one that tracks the L1")                                                   \
    X(OPT_WITHIN, .name = "within", .type = CD_ARG_DURATION, .dflt = "168h", .meta = "TIME",                           \
      .help = "validators whose balances end so soon are marked")                                                      \
    X(OPT_STATE, .name = "state-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/l1", .meta = "DIR",                 \
      .help = "where NAME.json says of L1s that were made here what they are")                                         \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT, PATIENCE_MS = 5000, DAY_S = 86400 };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

/* In the order of the list; a balance that has ended lasts 0 days. What nobody forecasts, or lasts for ten years, is
 * null: cd__l1_read gives CD_L1_FAR_S for both. */
static void put_member(cd_json_w *w, cd_arena *mem, const cd_l1_member *m, const cd_l1_facts *f, u64 total)
{
    static const char *const reach[] = {"unknown", "connected", "unreachable"};
    double share = total == 0 ? 0 : (double)m->weight * 100 / (double)total;
    cd_json_w_obj(w);
    cd_json_put_node_id(w, "nodeID", &m->node_id);
    cd_json_put_id(w, "validationID", &m->validation_id);
    cd_json_put_dec(w, "weight", m->weight);
    cd_json_put_cstr(w, "share", cd_arena_fmt(mem, "%.1f%%", share));
    cd_json_put_dec(w, "balance", m->balance);
    if (m->left_s < CD_L1_FAR_S) {
        cd_json_put_u64(w, "daysLeft", m->left_s / DAY_S);
    } else {
        cd_json_put_null(w, "daysLeft");
    }
    cd_json_put_bool(w, "topUp", m->left_s <= f->within_s);
    cd_json_put_bool(w, "votes", cd_l1_votes(m));
    cd_json_put_cstr(w, "reach", reach[f->has_reach ? m->reach : CD_L1_REACH_UNKNOWN]);
    cd_json_w_obj_end(w);
}

static cd_err status(const cd_args *a, cd__remote *p, const char *text, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    cd_hash32 net;
    cd_l1_facts f;
    cd_l1_member *v;
    cd_l1_health h;
    CD_TRY(cd__l1_net_read(&net, NULL, mem, cd_args_path(a, mem, OPT_STATE), text, why));
    CD_TRY(cd__l1_read(&f, &v, p, mem, &net, why));
    f.within_s = cd_args_u64(a, OPT_WITHIN) / CD_NS_PER_SEC;
    f.now_s = (u64)time(NULL);
    cd_l1_diagnose(&h, mem, &f);
    cd_json_w_obj(w);
    cd_json_put_id(w, "subnetID", &net);
    cd_l1_health_put(w, mem, &h, &f, false);
    cd_json_w_key(w, "validators");
    cd_json_w_arr(w);
    for (usize i = 0; i < f.cnt; i++) {
        put_member(w, mem, &v[i], &f, h.standing.total);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    const char *const *words;
    cd__remote *p = NULL;
    if (cd_args_words(a, &words) != 1) {
        return cd_fail(why, CD_EINVAL, "that command goes: candela-cli l1 status [flags] NAME|NET-ID");
    }
    CD_TRY(cd__remote_new(&p, mem, cd_args_str(a, OPT_RPC), why));
    cd__remote_patience(p, PATIENCE_MS);
    cd_err e = status(a, p, words[0], mem, w, why);
    cd__remote_free(p);
    return e;
}

int cd__l1_status_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 status",
        .purpose = "Lists the validators of an L1: shares of the weight, balances, days that these last, quorum.",
        .usage = "[flags] NAME|NET-ID",
        .example = "candela-cli l1 status 2b175h… --rpc=http://127.0.0.1:9650",
        .options = options,
        .option_cnt = CD_COUNT(options),
        .json = OPT_JSON,
        .words_max = 1,
    };
    return cd__json_cmd(&cmd, argc, argv, run);
}
