/* `l1 remove-validator`, `l1 set-weight`, `l1 top-up`: a validator goes, weighs more or less, or is paid for. */
#include "codec/api_json.h"
#include "l1/l1.h"
#include "l1/l1_change.h"
#include "l1/l1_words.h"

// clang-format off
#define TOP(X)                                                                                                         \
    X(OPT_AMOUNT, .name = "amount", .type = CD_ARG_STR, .dflt = "1", .meta = "AMOUNT", .group = "The payment",         \
      .help = "for each, in whole tokens")                                                                             \
    X(OPT_ALL, .name = "all", .type = CD_ARG_BOOL, .help = "all validators of the L1")
#define WEIGH(X)                                                                                                       \
    X(OPT_WEIGHT, .name = "weight", .type = CD_ARG_U64, .dflt = "100", .min = 1, .max = 1000000000, .meta = "N",       \
      .group = "The validator", .help = "its weight from now on")
// clang-format on

enum {
    BEFORE_TOP = L1_CNT - 1,
    TOP(CD_ARG_ID) OPT_TOP_CNT,
    BEFORE_WEIGH = L1_CNT - 1,
    WEIGH(CD_ARG_ID) OPT_WEIGH_CNT,
};
static const cd_arg_def top_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW) TOP(CD_ARG_ROW)};
static const cd_arg_def weigh_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW) WEIGH(CD_ARG_ROW)};
static const cd_arg_def plain_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW)};

/* --- one goes --- */

static cd_err remove_validator(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_hash32 net;
    cd_hash32 id;
    cd_node_id node;
    cd_l1_facts f;
    cd_l1_member *v;
    cd__l1_manager m;
    cd__l1_validation found = {0};
    CD_TRY(cd__l1_words_net(j, &net, words, cnt, 2, "remove-validator NAME|NET-ID NodeID-…|VALIDATION-ID", why));
    CD_TRY(cd__l1_words_manager(j, &m, &net, why));
    CD_TRY(cd__l1_read(&f, &v, j->world.node, j->mem, &net, why));
    cd_err e = cd__l1_words_find(&id, &f, words[1], why);
    if (e == CD_ENOENT) { /* gone on the P-Chain: the manager may still wait for that */
        CD_TRY(cd_node_id_parse(&node, cd_bytes_str(words[1]), why));
        CD_TRY(cd__l1_manager_find(&m, &found, &node, why));
        id = found.id;
        e = found.status != CD__L1_UNKNOWN ? CD_OK
                                           : cd_fail(why, CD_ENOENT, "%.60s does not validate this L1", words[1]);
    }
    CD_TRY(e);
    CD_TRY(cd__l1_remove(&m, j, &id, why));
    cd_json_put_cstr(j->w, "subnetID", cd__l1_id_text(j, &net));
    cd_json_put_id(j->w, "validationID", &id);
    cd_json_put_cstr(j->w, "status", "removed");
    return CD_OK;
}

/* One that the P-Chain has. */
static cd_err known(cd_hash32 *out, const cd_l1_facts *f, const char *word, cd_errinfo *why)
{
    cd_err e = cd__l1_words_find(out, f, word, why);
    return e == CD_ENOENT ? cd_fail(why, e, "%.60s does not validate this L1", word) : e;
}

/* --- another weight --- */

static cd_err set_weight(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_hash32 net;
    cd_hash32 id;
    cd_l1_facts f;
    cd_l1_member *v;
    cd__l1_manager m;
    u64 weight = cd_args_u64(j->args, OPT_WEIGHT);
    CD_TRY(cd__l1_words_net(j, &net, words, cnt, 2, "set-weight NAME|NET-ID NodeID-…|VALIDATION-ID --weight=N", why));
    CD_TRY(cd__l1_words_manager(j, &m, &net, why));
    if (m.is_pos) {
        return cd_fail(why, CD_EINVAL, "the weight of this L1's validators is what they stake");
    }
    CD_TRY(cd__l1_read(&f, &v, j->world.node, j->mem, &net, why));
    CD_TRY(known(&id, &f, words[1], why));
    CD_TRY(cd__l1_weigh(&m, j, &id, weight, why));
    cd_json_put_cstr(j->w, "subnetID", cd__l1_id_text(j, &net));
    cd_json_put_id(j->w, "validationID", &id);
    cd_json_put_dec(j->w, "weight", weight);
    return CD_OK;
}

/* --- what it is paid from --- */

static cd_err pay(cd__l1_job *j, const cd_hash32 *id, cd_errinfo *why)
{
    const char *const words[] = {cd_arena_fmt(j->mem, "--validation-id=%s", cd__l1_id_text(j, id)),
                                 cd_arena_fmt(j->mem, "--amount=%s", cd_args_str(j->args, OPT_AMOUNT))};
    CD_TRY(cd__l1_do(j, "increase-l1-balance", words, CD_COUNT(words), why));
    cd_json_w_id(j->w, id);
    return CD_OK;
}

static cd_err top_up(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_hash32 net;
    cd_hash32 id;
    cd_l1_facts f;
    cd_l1_member *v;
    bool is_all = cd_args_bool(j->args, OPT_ALL);
    CD_TRY(cd__l1_words_net(j, &net, words, cnt, is_all ? 1 : 2,
                            "top-up NAME|NET-ID NodeID-…|VALIDATION-ID|--all --amount=1", why));
    CD_TRY(cd__l1_read(&f, &v, j->world.node, j->mem, &net, why));
    if (!is_all) {
        CD_TRY(known(&id, &f, words[1], why));
    }
    cd_json_put_cstr(j->w, "subnetID", cd__l1_id_text(j, &net));
    cd_json_put_cstr(j->w, "amount", cd_args_str(j->args, OPT_AMOUNT));
    cd_json_w_key(j->w, "validationIDs");
    cd_json_w_arr(j->w);
    if (!is_all) {
        CD_TRY(pay(j, &id, why));
    }
    for (usize i = 0; is_all && i < f.cnt; i++) {
        CD_TRY(pay(j, &f.v[i].validation_id, why));
    }
    cd_json_w_arr_end(j->w);
    return CD_OK;
}

/* --- the commands --- */

static cd_err run_remove(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, remove_validator, why);
}

static cd_err run_weigh(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, set_weight, why);
}

static cd_err run_top_up(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, top_up, why);
}

int cd__l1_remove_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 remove-validator",
        .purpose = "Has the manager of an L1 let a validator go, and the P-Chain, too; goes on where it stopped.",
        .usage = "[flags] NAME|NET-ID NodeID-…|VALIDATION-ID",
        .example = "candela-cli l1 remove-validator mine NodeID-7Xhw2… --key-file=owner.txt",
        .options = plain_options,
        .option_cnt = L1_CNT,
        .json = L1_JSON,
        .words_max = 2,
    };
    return cd__json_cmd(&cmd, argc, argv, run_remove);
}

int cd__l1_weigh_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 set-weight",
        .purpose = "Has the manager of an L1 give a validator another weight, and the P-Chain, too; goes on where it "
                   "stopped.",
        .usage = "[flags] NAME|NET-ID NodeID-…|VALIDATION-ID",
        .example = "candela-cli l1 set-weight mine NodeID-7Xhw2… --weight=50 --key-file=owner.txt",
        .options = weigh_options,
        .option_cnt = OPT_WEIGH_CNT,
        .json = L1_JSON,
        .words_max = 2,
    };
    return cd__json_cmd(&cmd, argc, argv, run_weigh);
}

int cd__l1_top_up_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 top-up",
        .purpose = "Pays for validators of an L1: their balance on the P-Chain grows.",
        .usage = "[flags] NAME|NET-ID NodeID-…|VALIDATION-ID|--all",
        .example = "candela-cli l1 top-up mine --all --amount=5 --key-file=key.txt",
        .options = top_options,
        .option_cnt = OPT_TOP_CNT,
        .json = L1_JSON,
        .words_max = 2,
    };
    return cd__json_cmd(&cmd, argc, argv, run_top_up);
}
